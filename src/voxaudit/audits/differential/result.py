"""What the differential audit finds in one corpus: the paper's counts beside the violations that survive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voxaudit.answer import Note, Refusal
from voxaudit.audits.differential.sums import FloatArray, Grid
from voxaudit.audits.differential.testing import Comparison
from voxaudit.perturb.scenario_id import ScenarioId

Booleans = NDArray[np.bool_]

CELL = ("group", "against", "pair", "scenario")
"""What a violation is about, its tolerance aside."""


@dataclass(frozen=True)
class Chance:
    """Violations that the plain rule counts for a group when speakers' labels are shuffled.

    `mean` and `upper` (95th percentile) of the shuffled counts; `p`, the share of them at or above the real count.
    """

    mean: float
    upper: float
    p: float


@dataclass(frozen=True)
class View:
    """One way of asking: distances between recognizers, or word error rates (then a pair is one recognizer)."""

    groups: tuple[str, ...]
    pairs: tuple[str, ...]
    scenarios: tuple[ScenarioId, ...]
    taus: tuple[float, ...]
    degradations: pl.DataFrame
    """One row per group, pair and scenario: `distance`, `clean` (null for a table of distances), `degradation`."""
    violations: pl.DataFrame
    """One row per group, against, pair, scenario and tau with a gap beyond tau: `gap` with `low` and `high`, `p`,
    `p_adjusted`, `verdict` (`shown`, `not_shown`, or `refused` where it could not be tested)."""
    family: int
    comparisons: tuple[Comparison, ...]
    chance: Mapping[str, Chance] | None

    @property
    def tested(self) -> bool:
        """Whether any question could be tested."""
        return self.family > 0

    @property
    def surviving(self) -> pl.DataFrame:
        """The violations that survive, each cell (`CELL`) once, at the largest tau that the data carry."""
        rows = self.violations.filter(pl.col("verdict") == "shown")
        cells = rows.sort("tau", descending=True, maintain_order=True).unique(
            CELL, keep="first", maintain_order=True
        )
        return cells.sort("tau", "gap", descending=True, maintain_order=True)

    def counts(self) -> pl.DataFrame:
        """Return violations by group, all and those that survive: `by` and `value` say of what, zeros included.

        Taus are nested, so a gap beyond all of them counts once for each, as in the paper's Table 4.
        """
        perturbations = dict.fromkeys(scenario.perturbation for scenario in self.scenarios)
        kinds: dict[str, tuple[list[str], pl.Expr]] = {
            "all": ([""], pl.lit("")),
            "tolerance": (
                [show_tau(tau) for tau in self.taus],
                pl.col("tau").replace_strict(
                    list(self.taus), [show_tau(tau) for tau in self.taus], return_dtype=pl.String
                ),
            ),
            "pair": (list(self.pairs), pl.col("pair")),
            "perturbation": (list(perturbations), pl.col("perturbation")),
            "scenario": ([scenario.id for scenario in self.scenarios], pl.col("scenario")),
        }
        parts = []
        for by, (values, value) in kinds.items():
            found = self.violations.group_by("group", value=value).agg(
                violations=pl.len().cast(pl.Int64),
                surviving=(pl.col("verdict") == "shown").sum().cast(pl.Int64),
            )
            cells = [(by, value, group) for value, group in product(values, self.groups)]
            grid = pl.DataFrame(
                cells, schema=dict.fromkeys(("by", "value", "group"), pl.String), orient="row"
            )
            parts.append(grid.join(found, on=["group", "value"], how="left", maintain_order="left"))
        table = pl.concat(parts).with_columns(pl.col("violations", "surviving").fill_null(0))
        return table if self.tested else table.with_columns(surviving=pl.lit(None, dtype=pl.Int64))

    def totals(self, column: str = "violations") -> dict[str, int]:
        """Return the violations of each group, or with `surviving` those that survive."""
        table = self.counts().filter(pl.col("by") == "all")
        return dict(table.select("group", pl.col(column).fill_null(0)).iter_rows())

    def claimed(self) -> set[tuple[str, str, str]]:
        """Return the (group, against, scenario) with a violation that survives."""
        return set(self.surviving.select("group", "against", "scenario").iter_rows())


@dataclass(frozen=True)
class Differential:
    """All that is found in one corpus: distances between recognizers, word error rates where asked, their agreement."""

    corpus: str
    attribute: str
    view: View
    fdr: float
    speakers: Mapping[str, int] | None = None
    normalizer: str | None = None
    wer: View | None = None
    agreement: Agreement | None = None
    left_out: Mapping[str, int] | None = None
    refusals: tuple[Refusal, ...] = ()
    notes: tuple[Note, ...] = ()


def show_tau(tau: float) -> str:
    """Return tau as people write it: 0.01, 0.1."""
    return f"{tau:g}"


@dataclass(frozen=True)
class Overlap:
    """Cells that both views flag, that only one does, that neither does; `kappa` is Cohen's, None where undefined."""

    both: int
    only_differential: int
    only_wer: int
    neither: int
    kappa: float | None


@dataclass(frozen=True)
class Agreement:
    """The two views side by side.

    A cell is (group, against, pair, scenario). Its WER gap is the mean of the pair's two recognizers. `spearman` is
    the rank correlation of the gaps over cells, `spearman_degradation` that of the degradations of each group, and
    `overlap` compares the cells beyond each tau. `significant` compares the (group, against, scenario) with any
    significant violation.
    """

    cells: int
    spearman: float | None
    spearman_by_pair: dict[str, float | None]
    spearman_degradation: dict[str, float | None]
    overlap: dict[str, Overlap]
    significant: Overlap | None
    worst_group: str | None
    worst_group_wer: str | None
    same_worst_group: bool | None


def agree(
    between: Grid,
    truth: Grid,
    taus: tuple[float, ...],
    totals: dict[str, int],
    totals_wer: dict[str, int],
    claimed: tuple[set[tuple[str, str, str]], set[tuple[str, str, str]]] | None,
) -> Agreement:
    """Compare degradations of distances with degradations of word error rates, cell by cell."""
    couples = list(combinations(range(len(truth.pairs)), 2))
    wer = np.stack([(truth.degradations[:, a] + truth.degradations[:, b]) / 2.0 for a, b in couples], axis=1)
    ours, theirs = between.gaps(), wer[:, None] - wer[None, :]
    first, second = np.triu_indices(len(between.groups), 1)
    x, y = ours[first, second], theirs[first, second]
    known = np.isfinite(ours) & np.isfinite(theirs)
    known[np.arange(len(between.groups)), np.arange(len(between.groups))] = False
    worst, worst_wer = _worst(totals), _worst(totals_wer)
    return Agreement(
        int(known.sum()) // 2,
        _spearman(x, y),
        {pair: _spearman(x[:, place], y[:, place]) for place, pair in enumerate(between.pairs)},
        {
            group: _spearman(between.degradations[place], wer[place])
            for place, group in enumerate(between.groups)
        },
        {show_tau(tau): _overlap(ours[known] > tau, theirs[known] > tau) for tau in taus},
        None if claimed is None else _claims(between, *claimed),
        worst,
        worst_wer,
        None if worst is None or worst_wer is None else worst == worst_wer,
    )


def _claims(grid: Grid, ours: set[tuple[str, str, str]], theirs: set[tuple[str, str, str]]) -> Overlap:
    asked = [
        (g, h, scenario.id) for g in grid.groups for h in grid.groups if g != h for scenario in grid.scenarios
    ]
    return _overlap(np.array([key in ours for key in asked]), np.array([key in theirs for key in asked]))


def _overlap(ours: Booleans, theirs: Booleans) -> Overlap:
    both, neither = int((ours & theirs).sum()), int((~ours & ~theirs).sum())
    left, right, size = int((ours & ~theirs).sum()), int((~ours & theirs).sum()), len(ours)
    kappa = None
    if size:
        agreed = (both + neither) / size
        chance = ((both + left) * (both + right) + (neither + left) * (neither + right)) / size**2
        kappa = (agreed - chance) / (1.0 - chance) if chance < 1.0 else None
    return Overlap(both, left, right, neither, kappa)


def _worst(totals: dict[str, int]) -> str | None:
    """Return the group with most violations, None where there is a tie or nothing."""
    most = max(totals.values())
    worst = [group for group, total in totals.items() if total == most]
    return worst[0] if most and len(worst) == 1 else None


def _spearman(x: FloatArray, y: FloatArray) -> float | None:
    from scipy.stats import rankdata

    known = np.isfinite(x) & np.isfinite(y)
    if known.sum() < 3:
        return None
    a, b = rankdata(x[known]), rankdata(y[known])
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return None
    return float(np.corrcoef(a, b)[0, 1])
