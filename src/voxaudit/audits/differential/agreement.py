"""Does testing without truth find what testing with truth finds? Distances beside word error rates."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voxaudit.audits.differential.sums import FloatArray
from voxaudit.audits.differential.violations import Grid, show_tau

Booleans = NDArray[np.bool_]


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

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


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
