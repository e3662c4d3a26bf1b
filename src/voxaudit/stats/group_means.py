"""Mean word error rates of groups of speakers compared (Herron et al., Eq. 1 to 6): every speaker counts once.

What is compared is the mean of the speakers' rates (Eq. 3). The test is that of `stats.group_ratios` with rates in
place of errors: the log ratio of two means, studentized, with speakers shuffled between the groups, a guard against
unlike and skewed spread, and one family of all questions. With other attributes held fixed, speakers are shuffled
within strata of those who share them. A difference in points has the limits that follow from those of the ratio, so
that it excludes 0 exactly where the test rejects. The column of an attribute is `@NAME`, so that no name can hide one
of ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voxaudit.errors import VoxauditError
from voxaudit.stats.cells import FloatArray, IntArray
from voxaudit.stats.group_ratios import guard_p, interval
from voxaudit.stats.permutations import (
    FEWEST_PERMUTATIONS,
    PERMUTATIONS,
    Shuffles,
    equal_tailed,
    margins,
    step_down,
)
from voxaudit.stats.power import smallest_gap, speakers_needed, whole_speakers
from voxaudit.stats.speaker_means import combine, pooled_sigma, rest_of, summarize_groups, variance
from voxaudit.stats.ttests import kish_freedom
from voxaudit.stats.unseen import without_errors
from voxaudit.tables import total

Order = Mapping[str, Sequence[str]]
"""Attributes and their groups, in the order they are shown."""
Gaps = Mapping[str, float]
"""The gap that each recognizer is asked about: a difference of word error rates."""

KEYS = ("recognizer", "attribute")
MEANS = ("wer", "wer_utterance_mean", "wer_pooled")
"""Three ways of averaging: over speakers, over utterances, over words."""
MOST_PAIRED = 24
"""Groups of one attribute that are compared pair by pair."""
FEWEST_CROSSED, MOST_CROSSED = 5, 50
"""Crossed groups of fewer speakers are not tested, and no more of them than this, the largest."""

_WORK = 5e7  # speakers x shuffles x questions: bounds time
_SUMS = 2e5  # sums at a time: bounds memory
_PLAIN = 4  # columns of sums where there are no strata
_HALF, _HALF_VARIANCE = 0.5, 2.0  # errors counted where a group has none, and the variance of their logarithm
_TINY = 1e-12
_FULL_LEVERAGE = 1e-9
_ANGLES = np.linspace(0.0, 2.0 * np.pi, 1441)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How groups are judged: the level of intervals, and the power that counts as enough."""

    confidence: float = 0.95
    power: float = 0.8

    def __post_init__(self) -> None:
        for name, value in (("confidence", self.confidence), ("power", self.power)):
            if not 0.0 < value < 1.0:
                raise VoxauditError(f"{name} must lie between 0 and 1, not {value:g}", see=(name,))

    @property
    def alpha(self) -> float:
        """The level of all tests."""
        return 1.0 - self.confidence

    def enough(
        self, n: FloatArray, rest: FloatArray, sigma: FloatArray, gap: FloatArray
    ) -> dict[str, pl.Series]:
        """Return what Eq. 1 says about groups of `n` speakers against `rest`; nothing where nobody differs.

        Columns: sigma; speakers_needed (each side, for `gap`); enough_speakers (both sides reach it); more_needed (in
        this group); smallest_gap (that these speakers would show).
        """
        level: dict[str, Any] = {"confidence": self.confidence, "power": self.power}
        rows: list[tuple[int | None, bool, int | None, float | None]] = []
        for size, others, spread, wanted in zip(n, rest, sigma, gap, strict=True):
            if not (np.isfinite(spread) and spread > _TINY and wanted > 0 and others > 0):
                rows.append((None, False, None, None))
                continue
            needed = whole_speakers(speakers_needed(wanted, spread, **level))
            smallest = smallest_gap(size, others, spread, **level)
            rows.append((needed, min(size, others) >= needed, max(0, needed - int(size)), smallest))
        names = ("speakers_needed", "enough_speakers", "more_needed", "smallest_gap")
        types = (pl.Int64, pl.Boolean, pl.Int64, pl.Float64)
        found = {
            name: pl.Series([row[place] for row in rows], dtype=kind)
            for place, (name, kind) in enumerate(zip(names, types, strict=True))
        }
        return {"sigma": floats(sigma), **found}


def floats(values: FloatArray) -> pl.Series:
    """Return a column of numbers; what is not finite is null."""
    return pl.Series(np.where(np.isfinite(values), values, np.nan), dtype=pl.Float64).fill_nan(None)


def numbers(table: pl.DataFrame, *names: str) -> list[FloatArray]:
    """Return columns as arrays, nan where there is none."""
    return [
        table[name].cast(pl.Float64).fill_null(float("nan")).to_numpy().astype(np.float64) for name in names
    ]


def crossed_label(attributes: Sequence[str]) -> pl.Expr:
    """Return how a combination of groups is called: `gender=f, age=18-29`."""
    return pl.concat_str([pl.lit(f"{name}=") + pl.col(f"@{name}") for name in attributes], separator=", ")


def determines(people: pl.DataFrame, other: str, name: str) -> bool:
    """Say whether every group of `other` occurs with one group of `name` only."""
    kinds = people.select(f"@{other}", f"@{name}").unique().group_by(f"@{other}").agg(pl.len().alias("kinds"))
    return bool((kinds["kinds"] == 1).all())


# Groups described


def describe_groups(speakers: pl.DataFrame, order: Order, gaps: Gaps, plan: Plan) -> pl.DataFrame:
    """Return every group of every attribute: its rates (Eq. 2 and 3), the relative error (Eq. 4) and what Eq. 1 says.

    `wer` has the limits of a mean on the log scale, or an upper one that comes from how much was heard where nobody met
    an error; `err_rel` is in percent of the mean of all speakers.
    """
    from voxaudit.numeric import stdtrit

    groups = _summaries(speakers, order)
    n, mean, m2 = numbers(groups, "speakers", "mean", "m2")
    rest = rest_of(groups, KEYS)
    own = variance(n, m2)
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = stdtrit(n - 1.0, 0.5 + plan.confidence / 2.0) * np.sqrt(own / n) / mean
        relative = 100.0 * (mean - rest.overall) / rest.overall
    utterances, squares = numbers(groups, "utterances", "squares")
    silent = without_errors(utterances, squares, plan.confidence)
    asked = groups["recognizer"].replace_strict(list(gaps), list(gaps.values()), return_dtype=pl.Float64)
    sigma = groups.join(pooled_sigma(groups, KEYS), on=KEYS, how="left", maintain_order="left")
    return groups.select(*KEYS, "group", "speakers", "utterances", "words").with_columns(
        speakers_against=pl.Series(rest.n).cast(pl.Int64),
        wer=floats(mean),
        wer_low=floats(np.where(mean > 0.0, mean * np.exp(-reach), 0.0)),
        wer_high=floats(np.where(mean > 0.0, mean * np.exp(reach), silent)),
        wer_utterance_mean=groups["wer_utterance_mean"],
        wer_pooled=groups["wer_pooled"],
        sd=floats(np.sqrt(own)),
        err_rel=floats(relative),
        **plan.enough(n, rest.n, numbers(sigma, "sigma")[0], asked.to_numpy()),
    )


def _summaries(speakers: pl.DataFrame, order: Order) -> pl.DataFrame:
    """Return one row per recognizer, attribute and group: speakers, mean and m2, and the other two averages."""
    parts = []
    for name, groups in order.items():
        by = ["recognizer", f"@{name}"]
        counts = speakers.group_by(by).agg(
            utterances=pl.col("utterances").sum(),
            squares=(pl.col("utterances") ** 2).sum(),
            words=pl.col("words").sum(),
            wer_utterance_mean=total("rate_sum") / pl.col("utterances").sum(),  # Eq. 2
            wer_pooled=pl.col("errors").sum() / pl.col("words").sum(),
        )
        rank = pl.DataFrame({by[1]: groups, "rank": range(len(groups))}, schema_overrides={by[1]: pl.String})
        table = summarize_groups(speakers, by).join(counts, on=by).join(rank, on=by[1])
        parts.append(
            table.sort("recognizer", "rank").select(
                "recognizer",
                pl.lit(name).alias("attribute"),
                pl.col(by[1]).alias("group"),
                pl.col("speakers").cast(pl.Int64),
                "mean",
                "m2",
                pl.col("utterances", "words").round().cast(pl.Int64),
                "squares",
                "wer_utterance_mean",
                "wer_pooled",
            )
        )
    return pl.concat(parts)


# Two groups tested


@dataclass(frozen=True)
class Sample:
    """Speakers as the sample: their mean rates and their words, speakers x recognizers; nan where not heard.

    `people` has their groups, a row each in the same order.
    """

    people: pl.DataFrame
    recognizers: tuple[str, ...]
    rates: FloatArray
    words: FloatArray

    @staticmethod
    def of(speakers: pl.DataFrame, people: pl.DataFrame, recognizers: Sequence[str]) -> Sample:
        """Return the sample of a table with a row per recognizer and speaker (`wer`, `words`)."""
        row = people.select("speaker").with_row_index("row")
        place = speakers.select("speaker").join(row, on="speaker", how="left", maintain_order="left")["row"]
        number = {name: index for index, name in enumerate(recognizers)}
        column = speakers["recognizer"].replace_strict(number, return_dtype=pl.Int64).to_numpy()
        found = []
        for name in ("wer", "words"):
            matrix = np.full((people.height, len(recognizers)), np.nan)
            matrix[place.to_numpy(), column] = speakers[name].to_numpy()
            found.append(matrix)
        return Sample(people, tuple(recognizers), *found)

    def groups(self, attribute: str) -> NDArray[np.str_]:
        """Return the group of every speaker."""
        return self.people[f"@{attribute}"].to_numpy().astype(str)

    def strata(self, attributes: Sequence[str]) -> IntArray:
        """Return numbers of the combinations of groups that speakers share."""
        keys = self.people.select(pl.struct(f"@{name}" for name in attributes).rank("dense").alias("key"))
        return keys["key"].to_numpy().astype(np.int64)


@dataclass(frozen=True)
class Question:
    """Do two groups differ? `first` and `second` say who is in them; `strata` within which speakers are compared."""

    attribute: str
    group: str
    against: str
    first: NDArray[np.bool_]
    second: NDArray[np.bool_]
    strata: IntArray | None = None


def pairs_of(sample: Sample, order: Order, held: Mapping[str, Sequence[str]] | None = None) -> list[Question]:
    """Return every two groups of every attribute, those with the most speakers if there are many.

    With `held`, the attributes held fixed for each, as questions within strata; attributes without any are left out.
    """
    questions = []
    for name, groups in order.items():
        if held is not None and not held.get(name):
            continue
        strata = None if held is None else sample.strata(held[name])
        own = sample.groups(name)
        sizes = {group: int((own == group).sum()) for group in groups}
        largest = sorted(groups, key=lambda group: -sizes[group])[:MOST_PAIRED]
        for group, against in combinations([group for group in groups if group in set(largest)], 2):
            questions.append(Question(name, group, against, own == group, own == against, strata))
    return questions


def compare(
    sample: Sample,
    questions: Sequence[Question],
    plan: Plan,
    *,
    limits: bool = True,
    permutations: int = PERMUTATIONS,
) -> pl.DataFrame:
    """Answer questions for every recognizer, all as one family in which attributes have equal shares.

    A row has recognizer, attribute, group and against; speakers and the mean rate of both (strata weighted alike);
    `estimate`, their difference, with `low` and `high`; `ratio` of the means with its limits; p alone and in the
    family. p is null where nobody differs, where one speaker decides, and where so few speakers cannot reach the level
    however they are shuffled. Many speakers and questions are shuffled less often, never under 999 times.
    """
    count = len(sample.rates)
    affordable = int(_WORK / max(count * len(questions), 1))
    draws = min(permutations, max(affordable, FEWEST_PERMUTATIONS))
    shuffled: dict[int, Shuffles] = {}
    rows: list[dict[str, Any]] = []
    parts: list[tuple[IntArray, Means]] = []
    for question in questions:
        shuffles = shuffled.setdefault(id(question.strata), Shuffles(count, draws, strata=question.strata))
        for cells, means in _means(sample, question, shuffles):
            if len(open_ := means.testable(plan.alpha)):
                parts.append((len(rows) + open_, means.cells(open_)))
            rows += ({"recognizer": sample.recognizers[cell]} for cell in cells)
            for row, values in zip(rows[-len(cells) :], means.moments[0].T.tolist(), strict=True):
                row |= {"attribute": question.attribute, "group": question.group, "against": question.against}
                row |= {"speakers": int(means.first.sum()), "speakers_against": int((~means.first).sum())}
                row |= {"wer": values[0], "wer_against": values[1], "estimate": values[0] - values[1]}
                row |= dict.fromkeys(_TESTED)
    attributes: dict[str, list[_Margins]] = {}
    for places, several in _at_a_time(parts, draws):
        tests = several.tests(plan.alpha, limits)
        for place, values in zip(
            places, np.stack([tests[name] for name in _TESTED[:-1]], axis=1), strict=True
        ):
            rows[place] |= dict(zip(_TESTED, values.tolist(), strict=False))
        for name in dict.fromkeys(rows[place]["attribute"] for place in places):
            own = np.array([rows[place]["attribute"] == name for place in places])
            margin = (places[own], tests["scaled"][:, own], tests["margin"][own])
            attributes.setdefault(name, []).append(margin)
    for places, p in _together(attributes.values()):
        for place, one in zip(places, p.tolist(), strict=True):
            rows[place]["p_adjusted"] = max(one, rows[place]["p"])
    if not rows:
        return pl.DataFrame()
    names = {name: number for number, name in enumerate(sample.recognizers)}
    rows.sort(key=lambda row: names[row["recognizer"]])
    table = pl.DataFrame(rows, infer_schema_length=None, schema_overrides=dict.fromkeys(_NUMBERS, pl.Float64))
    known = (pl.when(pl.col(name).is_finite()).then(name).alias(name) for name in _NUMBERS)
    return table.with_columns(*known)


_TESTED = ("low", "high", "ratio", "ratio_low", "ratio_high", "p", "p_adjusted")
_NUMBERS = ("wer", "wer_against", "estimate", *_TESTED)


def _means(sample: Sample, question: Question, shuffles: Shuffles) -> Iterator[tuple[list[int], Means]]:
    """Yield the two groups of a question in the cells that heard the same speakers."""
    heard = ~np.isnan(sample.rates)
    patterns: dict[bytes, list[int]] = {}
    for cell in range(heard.shape[1]):
        patterns.setdefault(heard[:, cell].tobytes(), []).append(cell)
    strata = np.zeros(len(heard), dtype=np.int64) if question.strata is None else question.strata
    for cells in patterns.values():
        sides = [side & heard[:, cells[0]] for side in (question.first, question.second)]
        # Strata in which both groups have speakers.
        counts = [np.bincount(strata[side], minlength=int(strata.max()) + 1) for side in sides]
        inside = (sides[0] | sides[1]) & ((counts[0] > 0) & (counts[1] > 0))[strata]
        members = np.flatnonzero(inside)
        if not len(members):
            continue
        there = np.unique(strata[members], return_inverse=True)[1].reshape(-1)
        rates, words = (values[members][:, cells] for values in (sample.rates, sample.words))
        yield cells, Means(rates, words, question.first[members], there, members, shuffles)


_Margins = tuple[IntArray, NDArray[np.float32], NDArray[np.float32]]
"""Places of rows, their margins after every shuffle, and the observed ones."""


def _together(attributes: Iterable[Sequence[_Margins]]) -> Iterator[tuple[IntArray, FloatArray]]:
    """Yield p-values of all tests as one family: every attribute has the same share, however many groups it has.

    Margins are put on a scale that attributes have in common: how often the largest of an attribute's is as large.
    """
    places, scaled, observed = [], [], []
    for parts in attributes:
        shuffled, own = np.hstack([part[1] for part in parts]), np.concatenate([part[2] for part in parts])
        largest = np.sort(shuffled.max(axis=1))

        def rarity(
            margins: NDArray[np.float32], largest: NDArray[np.float32] = largest
        ) -> NDArray[np.float32]:
            below = np.searchsorted(largest, margins * np.float32(1.0 - 1e-5))
            rare = -np.log((len(largest) - np.minimum(below, len(largest) - 1)) / len(largest))
            return np.where(np.isnan(margins), np.nan, rare).astype(np.float32)

        places.append(np.concatenate([part[0] for part in parts]))
        scaled.append(rarity(shuffled))
        observed.append(rarity(own))
    if places:
        yield np.concatenate(places), step_down(np.hstack(scaled), np.concatenate(observed))


def _at_a_time(parts: Sequence[tuple[IntArray, Means]], draws: int) -> Iterator[tuple[IntArray, Several]]:
    """Yield questions that are tested at once, with the places of their rows: as many as memory allows."""
    for stratified in (False, True):
        own = [part for part in parts if bool(part[1].strata.any()) == stratified]
        while own:
            sizes = np.cumsum([len(places) for places, _ in own])
            count = max(1, int(np.searchsorted(sizes, _SUMS / (draws + 1), side="right")))
            some, own = own[:count], own[count:]
            yield np.concatenate([places for places, _ in some]), Several([means for _, means in some])


@dataclass(frozen=True)
class Means:
    """Two groups' mean rates in some cells, strata weighted alike.

    The means are `sum of w_s m_gs / sum of w_s` over strata s, `w_s = n1 n0 / n`: their ratio is Mantel and Haenszel's,
    their difference that of least squares with an effect of every stratum, and with one stratum both are those of plain
    means. A speaker's residual is taken from his stratum's mean, times what his group differs by on the whole, and
    speakers are shuffled within strata. `rates` and `words` are members x cells, `members` places among all speakers.

    >>> rates, first = np.array([[0.1], [0.2], [0.3], [0.2], [0.4]]), np.array([False, False, False, True, True])
    >>> groups = Means(rates, np.full((5, 1), 100.0), first, np.zeros(5, dtype=int), np.arange(5), Shuffles(5))
    >>> groups.moments[0].round(6).tolist(), groups.moments[1].round(6).tolist()
    ([[0.3], [0.2]], [[0.111111], [0.083333]])
    """

    rates: FloatArray
    words: FloatArray
    first: NDArray[np.bool_]
    strata: IntArray
    members: IntArray
    shuffles: Shuffles

    def cells(self, chosen: IntArray) -> Means:
        """Return the comparison in some of the cells."""
        return replace(self, rates=self.rates[:, chosen], words=self.words[:, chosen])

    def testable(self, level: float) -> IntArray:
        """Return the cells in which a test could reject: speakers differ, none decides alone, there are enough."""
        from voxaudit.numeric import gammaln

        n, ours = np.bincount(self.strata), np.bincount(self.strata, self.first)
        arrangements = (gammaln(n + 1.0) - gammaln(ours + 1.0) - gammaln(n - ours + 1.0)).sum()
        decided = np.isnan(np.where(self.first, *self._weights[1])).any()
        if decided or arrangements < np.log(2.0 / level) - 1e-9:
            return np.empty(0, dtype=np.int64)
        apart = self.rates - _by_stratum(self.rates, self.strata) / n[self.strata][:, None]
        return np.flatnonzero(np.abs(apart).max(axis=0) > _TINY)

    @cached_property
    def _weights(self) -> tuple[FloatArray, FloatArray]:
        """What a speaker counts in the first and in the second group, and what a residual's square does there.

        Of its stratum's weight `n1 n0 / n` as much falls on every speaker of a group. A square is enlarged for what the
        speaker pulls the means that it is taken from (as in HC2 variances); nan where he is all of them.
        """
        n, ours = (
            np.bincount(self.strata, some)[self.strata] for some in (np.ones(len(self.first)), self.first)
        )
        weight = np.stack([n - ours, ours]) / n
        free = 1.0 - 1.0 / n - weight**2 / weight[0][self.first].sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            return weight, np.where(free > _FULL_LEVERAGE, weight**2 / free, np.nan)

    @cached_property
    def _columns(self) -> list[FloatArray]:
        """What is summed over the members of each group: columns x members x cells, for the first and the second.

        Everything is a polynomial in the factor that the first group's own rates are multiplied by, its coefficients
        one after the other: rates; their squares; and where there are strata rates times stratum's mean, its square,
        and the stratum's mean.
        """
        n = np.bincount(self.strata)[self.strata][:, None]
        ours = self.rates * self.first[:, None]
        other = self.rates - ours
        here, there = (_by_stratum(part, self.strata) / n for part in (other, ours))
        found = []
        for weight, square in zip(*self._weights, strict=True):
            w, h = weight[:, None], np.nan_to_num(square)[:, None]
            columns = [w * other, w * ours, h * other**2, h * ours**2]
            if self.strata.any():
                columns += [h * other * here, h * (other * there + ours * here), h * ours * there]
                columns += [h * here**2, 2.0 * h * here * there, h * there**2, w * here, w * there]
            found.append(np.stack(columns))
        return found

    def sums(self) -> FloatArray:
        """Return sums over each group's places: group, column, cells, shuffles (the first leaves all in place)."""
        (first, second), cells = self._columns, self.rates.shape[1]
        wide = np.hstack([*first, *second]).T
        sums = np.empty((2, len(first), cells, self.shuffles.permutations + 1))
        for rows, block in self.shuffles.blocks():
            kept = (wide @ self._first_after(block).T).reshape(2, len(first), cells, -1)
            sums[0, ..., rows] = kept[0]
            sums[1, ..., rows] = second.sum(axis=1)[..., None] - kept[1]
        return sums

    def _first_after(self, block: NDArray[np.int32]) -> FloatArray:
        """Return who is in the first group after each shuffle of all speakers: 1 or 0, shuffles x members.

        Of a stratum's members as many as the first group has, those that come first in the shuffled order: every choice
        is as likely, and the one that leaves everybody in place is what was observed. It costs what the members do.
        """
        order = np.lexsort((~self.first, self.strata))
        behind = len(order) + self.shuffles.speakers  # more than any place
        # Half as wide where all strata fit: half the time of taking and sorting.
        narrow: Any = np.int32 if behind * (int(self.strata.max()) + 1) < 2**31 else np.int64
        place = np.arange(len(order), behind, dtype=narrow)
        place[self.members[order]] = np.arange(len(order))
        came = place.take(block.take(self.members, axis=1, mode="clip"), mode="clip")
        # All strata in one sort, each behind the one before: where it begins, and how many of it are in the first.
        came += (self.strata * behind).astype(narrow)
        begins = np.searchsorted(self.strata[order], np.arange(int(self.strata.max()) + 1))
        last = np.sort(came, axis=1)[:, begins + np.bincount(self.strata, self.first).astype(np.int64) - 1]
        return np.asarray(came <= last[:, self.strata], dtype=np.float64)

    @cached_property
    def counts(self) -> FloatArray:
        """Numbers of speakers of the two groups, 2 x cells; nan where strata make residuals what they are."""
        count = [self.first.sum(), (~self.first).sum()] if not self.strata.any() else [np.nan, np.nan]
        return np.repeat(np.array(count, dtype=np.float64)[:, None], self.rates.shape[1], axis=1)

    @cached_property
    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Means of the two groups, and the variances of their logarithms, 2 x cells."""
        first, second = self._columns
        sums = np.stack([first[:, self.first].sum(axis=1), second[:, ~self.first].sum(axis=1)])
        with np.errstate(divide="ignore", invalid="ignore"):
            total, spread = _totals(sums, np.ones(self.rates.shape[1]), self.counts)
        means = total / self._weights[0][0][self.first].sum()
        return means, np.where(means > 0.0, spread, _HALF_VARIANCE)

    @cached_property
    def filled(self) -> FloatArray:
        """The means, with half an error where a group has none."""
        least = [_HALF / self.words[side].sum(axis=0) for side in (self.first, ~self.first)]
        return np.where(self.moments[0] > 0.0, self.moments[0], np.stack(least))

    @cached_property
    def freedoms(self) -> FloatArray:
        """Kish's numbers of speakers less one, of the two groups, 2 x cells."""
        sides = self._weights[0][0][self.first], self._weights[0][1][~self.first]
        found = [kish_freedom(side.sum(), (side**2).sum()) for side in sides]
        return np.repeat(np.array(found)[:, None], self.rates.shape[1], axis=1)


class Several:
    """Comparisons tested at once: one `Comparison` (`stats.group_ratios`) with the cells of all of them."""

    def __init__(self, parts: Sequence[Means]) -> None:
        self._sums = np.concatenate([part.sums() for part in parts], axis=2)
        self._counts, self._freedoms, self._means, self._filled, self._spread = (
            np.hstack(values)
            for values in zip(
                *(
                    (part.counts, part.freedoms, part.moments[0], part.filled, part.moments[1])
                    for part in parts
                ),
                strict=True,
            )
        )
        self._guarded = np.stack([self.center(), *self._spread, *self._freedoms])

    def ratio(self) -> FloatArray:
        """Return the ratios: infinite where only the second group has no errors, nan where nobody has any."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self._means[0] / self._means[1])

    def center(self) -> FloatArray:
        """Return the logarithms of the ratios, half an error being counted where there was none."""
        return np.asarray(np.log(self._filled[0] / self._filled[1]))

    def freedom(self) -> FloatArray:
        """Return the degrees of freedom of the smaller group."""
        return np.asarray(self._freedoms.min(axis=0))

    def guard(self, ratio: FloatArray, cells: IntArray | None = None) -> FloatArray:
        """Return the p-values of a Welch test of the log ratio whose variances allow for skewed spread."""
        center, *others = self._guarded if cells is None else self._guarded[:, cells]
        return guard_p(center - np.log(ratio), *others)

    def statistics(self, ratio: FloatArray, cells: IntArray | None = None) -> FloatArray:
        """Return studentized log ratios, shuffles x cells; infinite where one side has no errors."""
        # A cell's shuffles lie side by side: to take some cells is to copy whole stretches.
        some, counts = self._sums, self._counts
        if cells is not None and len(cells) < self._means.shape[1]:
            some, counts = some.take(cells, axis=2), counts[:, cells]
        total, spread = _totals(some, (1.0 / ratio)[:, None], counts[..., None])
        with np.errstate(divide="ignore", invalid="ignore"):
            log = np.log(np.maximum(total[0], 0.0) / np.maximum(total[1], 0.0))
            found = log / np.sqrt(np.maximum(spread.sum(axis=0), _TINY**2))
            return np.asarray(np.where(np.isinf(log), log, found)).T

    def tests(self, level: float, limits: bool = True) -> dict[str, Any]:
        """Return the columns of tests for every cell, and their margins (`stats.permutations.margins`)."""
        one = np.ones(self._means.shape[1])
        statistics, guard = self.statistics(one), self.guard(one)
        scaled, margin = margins(statistics, guard, level)
        p = np.fmax(equal_tailed(statistics), guard)
        ratio_low, ratio_high = interval(self, level) if limits else (np.nan * one, np.nan * one)
        low, high = difference_limits(self._filled, self._spread, ratio_low, ratio_high)
        # Limits of a ratio are found to some digits only: what the test says of no difference holds to the last one.
        kept, above = p > level, self._means[0] > self._means[1]
        low = np.where(kept, np.minimum(low, 0.0), np.where(above, np.maximum(low, 0.0), low))
        high = np.where(kept, np.maximum(high, 0.0), np.where(above, high, np.minimum(high, 0.0)))
        found = {
            "low": low,
            "high": high,
            "ratio": self.ratio(),
            "ratio_low": ratio_low,
            "ratio_high": ratio_high,
        }
        return {**found, "p": p, "scaled": scaled, "margin": margin}


def _totals(sums: FloatArray, factor: FloatArray, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the groups' weighted sums of rates and the variances of their logarithms (see `Means`)."""
    terms = sums.swapaxes(0, 1)
    total, squares = terms[0] + factor * terms[1], terms[2] + factor**2 * terms[3]
    with np.errstate(divide="ignore", invalid="ignore"):
        if len(terms) == _PLAIN:  # all speakers of a group count the same: residuals are those from its mean
            spread = squares / total**2 - 1.0 / (counts - 1.0)
        else:
            crossed, means = (
                terms[place] + factor * (terms[place + 1] + factor * terms[place + 2]) for place in (4, 7)
            )
            times = total / (terms[10] + factor * terms[11])
            spread = (squares - 2.0 * times * crossed + times**2 * means) / total**2
    return total, np.maximum(spread, 0.0)


def _by_stratum(values: FloatArray, strata: IntArray) -> FloatArray:
    """Return the sum over the stratum of every member, members x cells."""
    sums = np.zeros((int(strata.max()) + 1, values.shape[1]))
    np.add.at(sums, strata, values)
    return np.asarray(sums[strata])


def difference_limits(
    means: FloatArray, spread: FloatArray, ratio_low: FloatArray, ratio_high: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the limits of differences of two means (2 x cells) from those of their ratios.

    `spread` are the variances of the means' logarithms. A limit of the ratio lies so many standard errors from it; as
    far out, pairs of means form an ellipse on the log scale, and the limit is the extreme of their differences on it.
    So the difference excludes 0 exactly where the ratio excludes 1. Where the ratio has no limit on a side (a group
    without errors), one mean is taken as 0 and the other as far out as on the other side.

    >>> low, high = difference_limits(np.array([[0.2], [0.1]]), np.full((2, 1), 0.02), np.array([1.0]), np.array([4.0]))
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.0], [0.233])
    """
    first, second = np.log(means)
    error = np.sqrt(np.maximum(spread.sum(axis=0), _TINY))
    a, b = (np.sqrt(np.maximum(one, _TINY / 2.0)) for one in spread)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        down = np.maximum((first - second - np.log(ratio_low)) / error, 0.0)
        up = np.maximum((np.log(ratio_high) - first + second) / error, 0.0)

        def differences(far: FloatArray) -> FloatArray:
            sine, cosine = np.sin(_ANGLES)[:, None], np.cos(_ANGLES)[:, None]
            return np.asarray(np.exp(first + far * a * sine) - np.exp(second + far * b * cosine))

        low = np.where(np.isinf(down), -np.exp(second + up * b), differences(down).min(axis=0))
        high = np.where(np.isinf(up), np.exp(first + down * a), differences(up).max(axis=0))
    return low, high


def describe_strata(cells: pl.DataFrame, name: str, held: Sequence[str]) -> pl.DataFrame:
    """Return one row per stratum (combination of `held`) and group of `name`: Eq. 4 within the stratum (Eq. 6).

    `cells` has recognizer, all attributes, and speakers, mean and m2 of each combination. Strata with a single group
    are left out.
    """
    within = ["recognizer", *(f"@{other}" for other in held)]
    groups = combine(cells, [*within, f"@{name}"])
    rest = rest_of(groups, within)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = 100.0 * (groups["mean"].to_numpy() - rest.overall) / rest.overall
    table = groups.select(
        "recognizer",
        pl.lit(name).alias("attribute"),
        pl.col(f"@{name}").alias("group"),
        crossed_label(held).alias("stratum"),
        pl.col("speakers").cast(pl.Int64),
        pl.col("mean").alias("wer"),
    )
    others = pl.Series(rest.n).cast(pl.Int64)
    return table.with_columns(speakers_against=others, err_rel=floats(relative)).filter(others > 0)


# Best against worst, and crossed


def best_and_worst(groups: pl.DataFrame, pairs: pl.DataFrame, fixed: pl.DataFrame) -> pl.DataFrame:
    """Return, for each attribute, the two groups that are farthest apart, the worse one first.

    They are looked for among pairs that could be tested, where there are any; groups of one speaker take no part.
    `fixed` has the same pairs with all else held fixed. `groups` is the table of `describe_groups`, of which `gap` is
    Eq. 5, in percent of the mean of all speakers; `choice_matters`: utterance means or pooled rates name others.
    """
    several = groups.filter(pl.col("speakers") >= 2)
    names = pl.col("group")
    order = {name: names.sort_by(name, maintain_order=True) for name in MEANS}
    ends = [
        getattr(order[MEANS[0]], end)() != getattr(order[name], end)()
        for end in ("first", "last")
        for name in MEANS[1:]
    ]
    relative = several.group_by(KEYS, maintain_order=True).agg(
        groups=pl.len(),
        gap=pl.col("err_rel").max() - pl.col("err_rel").min(),
        choice_matters=pl.any_horizontal(*ends),
    )
    if not pairs.height:
        return pairs
    return relative.join(farthest(pairs, fixed, "fixed"), on=KEYS, how="inner", maintain_order="left")


def farthest(pairs: pl.DataFrame, beside: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return the two groups of each attribute that are farthest apart, with what another table says of them.

    Its columns are called `NAME_estimate` and so on.
    """
    if not pairs.height:
        return pairs
    table = (
        both_ways(pairs)
        .filter(pl.col("estimate") >= 0.0, pl.min_horizontal("speakers", "speakers_against") >= 2)
        .sort(pl.col("p").is_null(), -pl.col("estimate"), maintain_order=True)
        .group_by(KEYS, maintain_order=True)
        .first()
    )
    if not beside.height:
        return table
    keys = [*KEYS, "group", "against"]
    held = ("estimate", "low", "high", "p", "p_adjusted", "verdict")
    columns = (pl.col(column).alias(f"{name}_{column}") for column in held if column in beside.columns)
    return table.join(both_ways(beside).select(*keys, *columns), on=keys, how="left", maintain_order="left")


def both_ways(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return every pair seen from either side."""
    if not pairs.height:
        return pairs
    swapped = {"group": "against", "speakers": "speakers_against", "wer": "wer_against"}
    turned = pairs.with_columns(
        *(pl.col(b).alias(a) for one in swapped.items() for a, b in (one, one[::-1])),
        estimate=-pl.col("estimate"),
        low=-pl.col("high"),
        high=-pl.col("low"),
        ratio=1.0 / pl.col("ratio"),
        ratio_low=1.0 / pl.col("ratio_high"),
        ratio_high=1.0 / pl.col("ratio_low"),
    )
    return pl.concat([pairs, turned.select(pairs.columns)])


def crossed_questions(sample: Sample, attributes: Sequence[str]) -> list[Question]:
    """Return every combination of groups against everybody else, the largest of those with enough speakers to test."""
    labels = sample.people.select(crossed_label(attributes).alias("group"))["group"]
    sizes = labels.value_counts(sort=True).filter(pl.col("count") >= FEWEST_CROSSED).head(MOST_CROSSED)
    own = labels.to_numpy().astype(str)
    name = " x ".join(attributes)
    return [
        Question(name, group, "all others", own == group, own != group)
        for group in sorted(sizes["group"].to_list())
        if (own != group).sum() >= FEWEST_CROSSED
    ]
