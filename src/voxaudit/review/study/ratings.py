"""Comprehensibility: what people's ratings of disturbed speech say (AequeVox, RQ2)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from voxaudit.answer import Answer, Finding, Note, tabulate
from voxaudit.errors import VoxauditError
from voxaudit.perturb.scenario_id import places_excluded
from voxaudit.review.study.study import HIGHEST, LOWEST, finding
from voxaudit.stats.agreement import MISSING, Kappa, kappa_interval, rating_counts
from voxaudit.stats.multiplicity import holm
from voxaudit.stats.ttests import one_sample
from voxaudit.tables import own_names, read_table, require_columns
from voxaudit.wording import counted, p_value, percent

RATINGS = ("perturbation", "setting", "participant", "rating")
"""The columns of a file of ratings: what the differential audit reads (`ratings`)."""
COMPREHENSIBLE = 7.0


@dataclass(frozen=True)
class Cell:
    """A scenario's mean rating (1 to 10) with a 95 % interval over participants that stays on the scale.

    `degradation` is what is lost against the original, in percent: `10 (10 - mean)`.
    """

    perturbation: str
    setting: str
    participants: int
    mean: float
    low: float | None
    high: float | None
    degradation: float


@dataclass(frozen=True)
class Drop:
    """From the mildest to the strongest setting of a perturbation, in points of the degradation in percent.

    The t-test is paired over the participants who rated both; `p_adjusted` is Holm's over perturbations.
    """

    perturbation: str
    mildest: str
    strongest: str
    degradation_mildest: float
    degradation_strongest: float
    drop: float
    low: float | None
    high: float | None
    t: float | None
    p: float | None
    p_adjusted: float | None


@dataclass(frozen=True)
class Comprehensibility:
    """All answers of a comprehensibility study. `kappa_linear` and `kappa_quadratic`: agreement of participants."""

    cells: tuple[Cell, ...]
    drops: tuple[Drop, ...]
    ratings: int
    participants: int
    lowest: Cell
    above: float
    """Share of scenarios with a mean rating above 7."""
    degradation_mildest: float
    degradation_strongest: float
    kappa_linear: Kappa
    kappa_quadratic: Kappa

    def answer(self) -> Answer:
        """Return everything in tables and sentences."""
        # One setting alone is neither mild nor strong.
        drops = [drop for drop in self.drops if drop.mildest != drop.strongest]
        tables = [
            tabulate(
                "ratings",
                "How comprehensible people find it, from 1 to 10",
                [asdict(cell) for cell in self.cells],
                "perturbation; setting; mean[low,high]: mean rating, ratio; degradation: degradation, %, ratio;"
                " participants: participants, count",
            )
        ]
        if drops:
            tables.append(
                tabulate(
                    "drops",
                    "Degradation from the mildest to the strongest setting (paired t-test)",
                    [asdict(drop) for drop in drops],
                    "perturbation; mildest; strongest; degradation_mildest: %, mildest, ratio; degradation_strongest:"
                    " %, strongest, ratio; drop[low,high]: points lost, ratio; t: t, ratio; p; p_adjusted",
                )
            )
        return Answer(
            "study",
            "Listening study: comprehensibility",
            {"kind": "comprehensibility"},
            (*self._overall(bool(drops)), *map(_drop_finding, drops), *self._agreement()),
            tables,  # type: ignore[arg-type]
            notes=(
                Note(
                    "ratings",
                    f"{counted(self.ratings, 'rating')} by {counted(self.participants, 'participant')} of"
                    f" {counted(len(self.cells), 'scenario')}",
                    {
                        "ratings": self.ratings,
                        "participants": self.participants,
                        "scenarios": len(self.cells),
                    },
                ),
            ),
        )

    def _overall(self, dropped: bool) -> list[Finding]:
        low = self.lowest
        scenario = f"{low.perturbation} {low.setting}".strip()
        found = [
            finding(
                "mean_rating",
                "measured",
                f"The lowest mean rating is {low.mean:.2f} of {HIGHEST}, of {scenario}.",
                low.mean,
                low.low,
                low.high,
                unit="rating",
                scenario=scenario,
                about=("lowest",),
                headline=True,
            ),
            finding(
                "share_above_7",
                "measured",
                f"{percent(self.above)} of the scenarios have a mean rating above {COMPREHENSIBLE:g}.",
                self.above,
                headline=True,
            ),
        ]
        if dropped:
            lost = self.degradation_strongest - self.degradation_mildest
            found.append(
                finding(
                    "mean_drop",
                    "measured",
                    f"Over perturbations, mean degradation is {self.degradation_mildest:.2f} % at the mildest setting"
                    f" and {self.degradation_strongest:.2f} % at the strongest, {lost:.2f} points more.",
                    lost,
                    unit="points of degradation",
                    headline=True,
                )
            )
        return found

    def _agreement(self) -> list[Finding]:
        found = []
        for weights, kappa in (("linear", self.kappa_linear), ("quadratic", self.kappa_quadratic)):
            what = f"Agreement of participants, Fleiss' kappa with {weights} weights"
            limits = "" if kappa.low is None else f" ({kappa.low:.3f} to {kappa.high:.3f})"
            found.append(
                finding(
                    f"kappa_{weights}",
                    "refused" if kappa.value is None else "measured",
                    f"{what}: {kappa.refusal}."
                    if kappa.value is None
                    else f"{what}: {kappa.value:.3f}{limits}.",
                    kappa.value,
                    kappa.low,
                    kappa.high,
                    unit="kappa",
                    headline=True,
                )
            )
        return found


def _drop_finding(drop: Drop) -> Finding:
    """Return what is lost from the mildest to the strongest setting of a perturbation, and whether that is shown."""
    steps = f"from {drop.mildest}, its mildest setting, to {drop.strongest}, its strongest"
    limits = (
        ""
        if drop.low is None
        else f" ({drop.low:.2f} to {drop.high:.2f}, {p_value(drop.p_adjusted)} by Holm)"
    )
    shown = drop.p_adjusted is not None and drop.p_adjusted < 0.05
    less = "lose" if drop.drop >= 0 else "gain"
    said = f"{drop.perturbation}: listeners {less} {abs(drop.drop):.2f} points of comprehensibility {steps}{limits}"
    verdict = "shown" if shown else "refused" if drop.p is None else "not_shown"
    excludes, chance = None, ""
    if verdict == "refused":
        chance = "; too few people rated both to say whether it is chance"
    elif verdict == "not_shown":
        excludes = max(drop.low or 0.0, drop.high or 0.0, key=abs)
        chance = (
            f"; this is not shown to be more than chance, and {abs(excludes):.2f} points are not excluded"
        )
    return finding(
        "drop",
        verdict,
        f"{said}{chance}.",
        drop.drop,
        drop.low,
        drop.high,
        unit="points of degradation",
        p=drop.p,
        p_adjusted=drop.p_adjusted,
        family="perturbations",
        group=drop.perturbation,
        about=(drop.perturbation,),
        excludes=excludes,
    )


def read_ratings_table(path: str | Path) -> pl.DataFrame:
    """Read ratings that somebody collected: columns perturbation, setting, participant, rating (1 to 10).

    AequeVox's names of columns will do.
    """
    table = own_names(read_table(path, strings=Path(path).suffix.lower() in (".csv", ".tsv")))
    require_columns(table, RATINGS, path)
    table = table.select(
        pl.col("perturbation", "setting", "participant").cast(pl.String).str.strip_chars(),
        pl.col("rating").cast(pl.Float64, strict=False),
    )
    inside = pl.col("rating").is_between(LOWEST, HIGHEST).fill_null(False)
    bad = table.select((~inside).arg_true().first()).item()
    if bad is not None:
        raise VoxauditError(
            f"{path}, row {bad + 1}, column rating: a rating lies between {LOWEST} and {HIGHEST}"
        )
    if table.is_empty():
        raise VoxauditError(f"{path}: no ratings in this table")
    return table


def analyze_ratings(table: pl.DataFrame, exclude: Iterable[str] = ()) -> Comprehensibility:
    """Return means, degradations and agreement of a table of ratings (columns `RATINGS`).

    Settings of a perturbation are taken in the order of the table, the mildest first. Several ratings of a
    participant in one cell (several recordings) are averaged first: people are the sample. `exclude` names
    scenarios, or perturbations alone.
    """
    cells_there = table.select("perturbation", "setting").unique(maintain_order=True)
    left = places_excluded([(name or "", setting) for name, setting in cells_there.iter_rows()], exclude)
    kept = cells_there.filter([place not in left for place in range(cells_there.height)])
    own = table.join(
        kept, on=["perturbation", "setting"], how="semi", nulls_equal=True, maintain_order="left"
    )
    counted = own.height
    own = own.group_by("perturbation", "setting", "participant", maintain_order=True).agg(
        pl.col("rating").mean()
    )
    if own.is_empty():
        raise VoxauditError("no ratings are left")
    cells = tuple(
        _cell(str(name), str(setting or ""), part)
        for (name, setting), part in own.group_by("perturbation", "setting", maintain_order=True)
    )
    drops = _drops(own, cells)
    counts = rating_counts(_matrix(own), HIGHEST - LOWEST + 1)
    return Comprehensibility(
        cells=cells,
        drops=drops,
        ratings=counted,
        participants=own["participant"].n_unique(),
        lowest=min(cells, key=lambda cell: cell.mean),
        above=sum(cell.mean > COMPREHENSIBLE for cell in cells) / len(cells),
        degradation_mildest=float(np.mean([drop.degradation_mildest for drop in drops])),
        degradation_strongest=float(np.mean([drop.degradation_strongest for drop in drops])),
        kappa_linear=kappa_interval(counts, "linear"),
        kappa_quadratic=kappa_interval(counts, "quadratic"),
    )


def _cell(perturbation: str, setting: str, part: pl.DataFrame) -> Cell:
    ratings = part["rating"].to_numpy()
    mean = float(np.mean(ratings))
    low, high = mean_limits(ratings, LOWEST, HIGHEST)
    return Cell(perturbation, setting, len(ratings), mean, low, high, 10.0 * (HIGHEST - mean))


def _drops(own: pl.DataFrame, cells: tuple[Cell, ...]) -> tuple[Drop, ...]:
    by_name: dict[str, list[Cell]] = {}
    for cell in cells:
        by_name.setdefault(cell.perturbation, []).append(cell)
    found = []
    for name, settings in by_name.items():
        first, last = settings[0], settings[-1]
        sides = [
            own.filter(
                (pl.col("perturbation") == name) & (pl.col("setting").fill_null("") == cell.setting)
            ).select("participant", "rating")
            for cell in (first, last)
        ]
        both = sides[0].join(sides[1], on="participant", suffix="_last")
        less = 10.0 * (both["rating"] - both["rating_last"]).to_numpy()
        low, high, t, p = _over_people(less) if len(settings) > 1 else (None, None, None, None)
        before, after = first.degradation, last.degradation
        ends = (name, first.setting, last.setting, before, after)
        found.append(Drop(*ends, after - before, low, high, t, p, None))
    adjusted = holm([one.p for one in found])
    return tuple(replace(one, p_adjusted=p) for one, p in zip(found, adjusted, strict=True))


DRAWS = 20_000
MANY = 500
"""With more people than this the mean is as good as normal, unless next to nobody leaves the end of the scale."""


def mean_limits(
    values: np.ndarray[Any, Any], lowest: float, highest: float, level: float = 0.95
) -> tuple[float | None, float | None]:
    """Return the limits of a mean of values between `lowest` and `highest`; none for fewer than two values.

    Gaffke's bound (2005; Learned-Miller and Thomas 2019, arXiv:1905.06208): the values get random weights of a flat
    Dirichlet distribution, and so does one more value at the end of the scale, in place of what was not seen. It never
    leaves the scale, needs no spread (ten people who all say 10), is that of Clopper and Pearson where the values are
    0 and 1, and a t interval's where there are many.

    >>> low, high = mean_limits(np.array([10.0, 10.0, 10.0]), 1, 10)
    >>> round(low, 1), round(high, 1)
    (3.7, 10.0)
    """
    if len(values) < 2:
        return None, None
    beyond = (1.0 - level) / 2.0
    if len(values) > MANY:
        from voxaudit.numeric import ndtri

        spread = float(np.std(values, ddof=1)) / np.sqrt(len(values)) * float(ndtri(1.0 - beyond))
        mean, unseen = float(np.mean(values)), 1.0 - beyond ** (1.0 / len(values))
        low = mean - max(spread, unseen * (mean - lowest))
        high = mean + max(spread, unseen * (highest - mean))
        return max(low, lowest), min(high, highest)
    weights = _flat_weights(len(values) + 1)
    low = float(np.quantile(weights @ np.append(values, lowest), beyond))
    high = float(np.quantile(weights @ np.append(values, highest), 1.0 - beyond))
    return max(low, lowest), min(high, highest)  # sums of weights are 1 up to rounding


@lru_cache(maxsize=4)
def _flat_weights(count: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the same draws of `count` weights that add up to 1, every such weighting as likely as another."""
    draws = np.random.Generator(np.random.PCG64(count)).standard_exponential((DRAWS, count))
    weights: np.ndarray[Any, np.dtype[np.float64]] = draws / draws.sum(axis=1, keepdims=True)
    return weights


def _over_people(
    values: np.ndarray[Any, Any],
) -> tuple[float | None, float | None, float | None, float | None]:
    """Return interval, t and p of differences of degradations over people; none for fewer than two or without spread.

    Differences of degradations lie between -90 and 90; the interval is that of the test, within them.
    """
    if len(values) < 2:
        return None, None, None, None
    test = one_sample(len(values), float(np.mean(values)), float(np.var(values, ddof=1)), 0.0)
    most = 10.0 * (HIGHEST - LOWEST)
    limits = (max(float(test.low), -most), min(float(test.high), most))
    numbers = (*limits, float(test.t), float(test.p))
    low, high, t, p = (number if np.isfinite(number) else None for number in numbers)
    return low, high, t, p


def _matrix(own: pl.DataFrame) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return ratings as cells x participants, whole numbers from 0; a mean of several is rounded."""
    cells = own.select("perturbation", "setting").unique(maintain_order=True).with_row_index("row")
    people = own.select("participant").unique(maintain_order=True).with_row_index("column")
    placed = own.join(cells, on=["perturbation", "setting"], nulls_equal=True).join(people, on="participant")
    matrix = np.full((cells.height, people.height), MISSING, dtype=np.int64)
    rating = np.floor(placed["rating"].to_numpy() + 0.5).astype(np.int64) - LOWEST
    matrix[placed["row"].to_numpy(), placed["column"].to_numpy()] = rating
    return matrix
