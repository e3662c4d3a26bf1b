"""Two views of the same groups, by distances between recognizers and by word error rates: comparisons and verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
import polars as pl

from voxaudit.perturb.scenario_id import ScenarioId, show_setting
from voxaudit.stats.agreement import Overlap, overlap, rank_correlation
from voxaudit.stats.bootstrap import FEWEST_SPEAKERS
from voxaudit.stats.cells import FloatArray
from voxaudit.stats.speaker_permutations import (
    Compared,
    Grid,
    SpeakerSums,
    chance_totals,
    compare_groups,
    find_violations,
)

TAUS = (0.01, 0.05, 0.1, 0.15)
"""The tolerances of the paper. The smallest is what a gap is tested against."""

SHUFFLES = 999
"""Of the speakers, to say what the plain rule counts by chance."""

CELL = ("group", "against", "pair", "scenario")
"""What a violation is about, its tolerance aside."""


@dataclass(frozen=True)
class Chance:
    """Violations that the plain rule counts for a group when speakers' labels are shuffled.

    There is no test of the total: a count has no standard error to be divided by, and where the smaller group is the
    one whose speakers differ much its p-values are too small.
    """

    mean: float
    upper: float
    """The 95th percentile."""


@dataclass(frozen=True)
class View:
    """One way of asking: distances between recognizers, or word error rates (then a pair is one recognizer)."""

    groups: tuple[str, ...]
    pairs: tuple[str, ...]
    scenarios: tuple[ScenarioId, ...]
    taus: tuple[float, ...]
    degradations: pl.DataFrame
    """One row per group, pair and scenario: `distance`, `clean` (null for a table of distances), `degradation`."""
    comparisons: pl.DataFrame
    """Every two groups, `group` the one with the larger value: `gap` with `low` and `high`, `p`, `p_adjusted`,
    `verdict` (with its `code` where refused). `of` says of what: the degradation in a `scenario`, in `all` of them with
    all pairs pooled, or the distance on `clean` speech; `value` and `value_against` are the groups' own, `clean` and
    `clean_against` where they start."""
    violations: pl.DataFrame
    """The paper's: one row per group, against, pair, scenario and tau with a gap beyond tau. `verdict` is `shown` where
    the gap survives the test and its lower limit is beyond tau."""
    chance: Mapping[str, Chance] | None

    @property
    def tested(self) -> bool:
        """Whether any question could be tested."""
        return self.comparisons["p"].count() > 0

    def of(self, what: str) -> pl.DataFrame:
        """Return the comparisons of a kind: `scenario`, `all` or `clean`."""
        return self.comparisons.filter(pl.col("of") == what)

    @property
    def surviving(self) -> pl.DataFrame:
        """The comparisons in a scenario that survive, the largest gap first."""
        rows = self.of("scenario").filter(pl.col("verdict") == "shown")
        return rows.sort("gap", descending=True, maintain_order=True)

    def counts(self) -> pl.DataFrame:
        """Return violations by group, all and those that survive: `by` and `value` say of what, zeros included.

        Taus are nested, so a gap beyond all of them counts once for each, as in the paper's Table 4.
        """
        scenarios = self.scenarios
        kinds: dict[str, tuple[list[str], pl.Expr]] = {
            "all": ([""], pl.lit("")),
            "tolerance": (
                shown := [f"{tau:g}" for tau in self.taus],
                pl.col("tau").replace_strict(list(self.taus), shown, return_dtype=pl.String),
            ),
            "pair": (list(self.pairs), pl.col("pair")),
            "perturbation": (list(dict.fromkeys(c.perturbation for c in scenarios)), pl.col("perturbation")),
            "scenario": ([scenario.id for scenario in scenarios], pl.col("scenario")),
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


@dataclass(frozen=True)
class Agreement:
    """The two views side by side.

    A cell is (group, against, pair, scenario). Its WER gap is the mean of the pair's two recognizers. `spearman` is
    the rank correlation of the gaps over cells, and `overlap` compares the cells beyond each tau. `significant`
    compares the (group, against, scenario) with any that survives.
    """

    cells: int
    spearman: float | None
    overlap: dict[str, Overlap]
    significant: Overlap | None


def agree(between: Grid, truth: Grid, view: View, wer: View) -> Agreement:
    """Compare degradations of distances with degradations of word error rates, cell by cell."""
    couples = list(combinations(range(len(truth.pairs)), 2))
    rates = np.stack(
        [(truth.degradations[:, a] + truth.degradations[:, b]) / 2.0 for a, b in couples], axis=1
    )
    ours, theirs = between.gaps(), rates[:, None] - rates[None, :]
    first, second = np.triu_indices(len(between.groups), 1)
    known = np.isfinite(ours) & np.isfinite(theirs)
    known[np.diag_indices(len(between.groups))] = False
    significant = None
    if view.tested:
        groups, scenarios = between.groups, [scenario.id for scenario in between.scenarios]
        cells = [(g, h, c) for g, h, c in product(groups, groups, scenarios) if g != h]
        claimed = (set(one.surviving.select("group", "against", "scenario").rows()) for one in (view, wer))
        significant = overlap(*(np.array([cell in claims for cell in cells]) for claims in claimed))
    return Agreement(
        int(known.sum()) // 2,
        rank_correlation(ours[first, second], theirs[first, second]),
        {f"{tau:g}": overlap(ours[known] > tau, theirs[known] > tau) for tau in view.taus},
        significant,
    )


def ask(
    *views: SpeakerSums,
    taus: tuple[float, ...] = TAUS,
    confidence: float = 0.95,
    seed: int = 0,
    shuffles: int | None = None,
) -> tuple[View, ...]:
    """Apply Algorithm 1 to sums per speaker and test the gaps, in all views together where speakers are known.

    In a scenario the gap must exceed the smallest tau, as a violation does; over all of them and on clean speech, 0.

    In the first view clean distances are compared, too, and where one is shown to be larger, the group with the smaller
    one is not said to be hurt more: recognizers that are far apart already hardly drift any further.
    """
    first = views[0]
    cells = [_cells(sums, clean=sums is first) for sums in views]
    compared = None
    if first.untestable is None:
        together = np.concatenate([values for values, _ in cells], axis=1)
        compared = compare_groups(
            together,
            first.group_of,
            len(first.groups),
            tau=np.array([taus[0] if kind == "scenario" else 0.0 for _, own in cells for kind, _, _ in own]),
            level=1.0 - confidence,
            seed=seed,
            permutations=shuffles,
        )
    answers, start = [], 0
    for sums, (values, labels) in zip(views, cells, strict=True):
        some = slice(start, start + len(labels))
        comparisons = _comparisons(sums, values, labels, compared, some, 1.0 - confidence)
        start = some.stop
        chance = None
        if sums.untestable is None and min(sums.sizes()) >= FEWEST_SPEAKERS:
            counts = chance_totals(sums, taus, permutations=min(shuffles or SHUFFLES, SHUFFLES), seed=seed)
            chance = {
                group: Chance(float(own[1:].mean()), float(np.quantile(own[1:], 0.95)))
                for group, own in zip(sums.groups, counts.T, strict=True)
            }
        answers.append(view_of(sums.grid(), taus, comparisons, sums.distances(), chance))
    return tuple(answers)


def _cells(sums: SpeakerSums, *, clean: bool) -> tuple[FloatArray, list[tuple[str, str | None, str | None]]]:
    """Return the sums behind every comparison (axes kind, cell, speaker) and what it is of: kind, pair, scenario."""
    each = sums.stacked()
    parts = [each, each.sum(axis=1, keepdims=True)]
    labels: list[tuple[str, str | None, str | None]] = [
        ("scenario", pair, scenario.id) for pair, scenario in product(sums.pairs, sums.scenarios)
    ]
    labels.append(("all", None, None))
    if clean:
        edits, words = sums.clean_edits.sum(axis=1), sums.clean_words.sum(axis=1)
        parts.append(np.stack([edits, words, np.zeros_like(edits), words]))
        labels += [("clean", pair, None) for pair in sums.pairs]
    return np.concatenate(parts, axis=1), labels


_TEXT = ("group", "against", "of", "pair", "scenario")
_NUMBERS = ("gap", "low", "high", "p", "p_adjusted", "value", "value_against", "clean", "clean_against")


def _comparisons(
    sums: SpeakerSums,
    values: FloatArray,
    labels: Sequence[tuple[str, str | None, str | None]],
    compared: Compared | None,
    some: slice,
    alpha: float,
) -> pl.DataFrame:
    """Return the table of comparisons of one view (see `View`)."""
    member = (sums.group_of == np.arange(len(sums.groups))[:, None]).astype(np.float64)
    a, w, c, v = values @ member.T
    with np.errstate(invalid="ignore", divide="ignore"):
        starts = c / v
        growth = a / w - starts
    couples = list(combinations(range(len(sums.groups)), 2))
    one, other = ([couple[side] for couple in couples] for side in (0, 1))
    shape = (len(couples), len(labels))
    gap = (growth[:, one] - growth[:, other]).T
    turned = gap < 0.0
    unknown = np.full(shape, np.nan)
    low, high, p, adjusted, in_points = (
        unknown if compared is None else getattr(compared, name)[:, some]
        for name in ("low", "high", "p", "p_adjusted", "p_in_points")
    )
    shown = adjusted <= alpha
    barred = (in_points <= alpha) & (p > alpha)
    for place, (clean, on, _) in enumerate(labels):
        if clean == "clean":
            # Whoever starts better, in either direction, is not named in what rests on this pair.
            named_better = shown[:, [place]] & (turned != turned[:, [place]])
            barred |= (
                shown & named_better & np.array([kind == "all" or pair == on for kind, pair, _ in labels])
            )
    verdict = np.select([np.isnan(p), barred, shown], ["refused", "refused", "shown"], default="not_shown")
    code = np.select([np.isnan(p), barred], ["too_few_speakers", "unlike_clean"], default="")
    names = np.array(sums.groups, dtype=object)
    firsts, seconds = (np.broadcast_to(names[side][:, None], shape) for side in (one, other))

    def both(of_groups: FloatArray) -> tuple[FloatArray, FloatArray]:
        here, there = of_groups[:, one].T, of_groups[:, other].T
        return np.where(turned, there, here), np.where(turned, here, there)

    texts = [np.where(turned, seconds, firsts), np.where(turned, firsts, seconds)]
    texts += [np.broadcast_to(np.array(column, dtype=object), shape) for column in zip(*labels, strict=True)]
    numbers = [np.abs(gap), np.where(turned, -high, low), np.where(turned, -low, high), p, adjusted]
    numbers += [*both(growth), *both(starts)]
    return pl.DataFrame(
        {
            name: pl.Series(column.ravel().tolist(), dtype=pl.String)
            for name, column in zip(_TEXT, texts, strict=True)
        }
        | {name: column.ravel() for name, column in zip(_NUMBERS, numbers, strict=True)}
        | {"verdict": verdict.ravel().tolist(), "code": code.ravel().tolist()}
    ).with_columns(pl.col(_NUMBERS).fill_nan(None), pl.col("code").replace("", None))


_NONE = pl.DataFrame(
    schema=dict.fromkeys(_TEXT, pl.String)
    | dict.fromkeys(_NUMBERS, pl.Float64)
    | dict.fromkeys(("verdict", "code"), pl.String)
)


def view_of(
    grid: Grid,
    taus: tuple[float, ...],
    comparisons: pl.DataFrame = _NONE,
    distances: tuple[FloatArray, FloatArray] | None = None,
    chance: dict[str, Chance] | None = None,
) -> View:
    """Return what was found by name; what is not known is null."""
    found = find_violations(grid, taus)
    scenarios = grid.scenarios
    columns = {
        "group": (list(grid.groups), found.group),
        "against": (list(grid.groups), found.against),
        "pair": (list(grid.pairs), found.pair),
        "scenario": ([scenario.id for scenario in scenarios], found.scenario),
        "perturbation": ([scenario.perturbation for scenario in scenarios], found.scenario),
        "setting": ([show_setting(scenario.setting) for scenario in scenarios], found.scenario),
    }
    violations = pl.DataFrame(
        {name: pl.Series(values, dtype=pl.String).gather(place) for name, (values, place) in columns.items()}
    ).with_columns(tau=np.asarray(taus)[found.tau], gap=found.gap)
    tested = comparisons.filter(pl.col("of") == "scenario").select(
        *CELL, "low", "high", "p", "p_adjusted", "verdict"
    )
    violations = violations.join(tested, on=CELL, how="left", maintain_order="left").with_columns(
        verdict=pl.when((pl.col("verdict") == "shown") & ~(pl.col("low") > pl.col("tau")))
        .then(pl.lit("not_shown"))
        .otherwise(pl.col("verdict").fill_null("refused"))
    )
    cells = [(g, p, c.id) for g, p, c in product(grid.groups, grid.pairs, scenarios)]
    disturbed, clean = distances or (None, None)
    parts = {"distance": disturbed, "clean": clean, "degradation": grid.degradations}
    frame = pl.DataFrame(cells, schema=dict.fromkeys(("group", "pair", "scenario"), pl.String), orient="row")
    return View(
        grid.groups,
        grid.pairs,
        scenarios,
        taus,
        frame.with_columns(
            pl.Series(
                name, [None] * len(cells) if values is None else values.ravel(), dtype=pl.Float64
            ).fill_nan(None)
            for name, values in parts.items()
        ),
        comparisons,
        violations,
        chance,
    )
