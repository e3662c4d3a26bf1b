"""Trials that two sides share (runs, or recognizers), and what differs between the sides, slice by slice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voxaudit.errors import VoxauditError, one_line
from voxaudit.registry import unknown
from voxaudit.stats.bootstrap import by_people, speaker_cells
from voxaudit.stats.sign_flips import FloatArray, flip_limits, least_p, sign_flips
from voxaudit.wording import named

KEYS = ("utterance", "scenario", "recognizer")
LABELS = ("recognizer", "against", "scenario", "attribute", "group")
"""What names a slice; null where it is not restricted by it. `against` is the other of two recognizers."""

Way = Mapping[str, pl.Expr]
"""A way to slice a table: what makes some of LABELS."""

_SUMS = ("trials", "words", "before", "after")
_WORTH_ASKING, _MOST, _AGAINST = 0.1, 0.5, 0.2
"""Shares of a change that one utterance makes: below which nothing rests on it, above which it is most of the change,
and above which it is worth saying that it went the other way."""


@dataclass(frozen=True)
class PairedTrials:
    """The shared trials: KEYS, speaker, words, before, after (errors of each side), then the groups of attributes.

    `recognizers` maps each of the run before to its counterpart after; in the table they have the name after.
    """

    table: pl.DataFrame
    recognizers: dict[str, str]
    attributes: tuple[str, ...]
    only_before: int
    only_after: int


def match_recognizers(
    before: Sequence[str], after: Sequence[str], given: Mapping[str, str]
) -> dict[str, str]:
    """Return which recognizer before is compared with which after.

    `given` says it for some; the others of the same name belong together; two runs with one each are compared whatever
    the names.
    """
    if given:
        for names, there, side in ((given, before, "before"), (given.values(), after, "after")):
            for name in names:
                if name not in there:
                    raise unknown(f"the run {side} has no recognizer", name, there, "renamed")
        if len(set(given.values())) < len(given):
            raise VoxauditError(
                "a recognizer after is compared with two before; compare them one by one", see=("renamed",)
            )
    same = [name for name in before if name in after and name not in (*given, *given.values())]
    if given or same:
        return {**given, **{name: name for name in same}}
    if len(before) == len(after) == 1:
        return {before[0]: after[0]}
    raise VoxauditError(
        f"no recognizer is in both runs ({', '.join(before)}; {', '.join(after)}). Say which belong together:"
        f" {before[0]}={after[0]}",
        see=("renamed",),
    )


def choose_recognizers(matched: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """Return the pairs of recognizers that are asked about, by either name."""
    known = list(dict.fromkeys(name for pair in matched.items() for name in pair))
    for name in names:
        if name not in known:
            raise unknown("the runs share no recognizer", name, known, "recognizer")
    return {old: new for old, new in matched.items() if old in names or new in names}


def pair_trials(
    before: pl.DataFrame,
    after: pl.DataFrame,
    about: pl.DataFrame,
    groups: Mapping[str, pl.Series],
    recognizers: dict[str, str],
) -> PairedTrials:
    """Return the trials that two tables (KEYS, words, errors) share.

    `about` has KEYS and `speaker` of the trials after, `groups` the group of each of its rows by attribute.
    """
    left = (
        before.filter(pl.col("recognizer").is_in(list(recognizers)))
        .with_columns(pl.col("recognizer").replace(recognizers))
        .rename({"errors": "before", "words": "words_before"})
    )
    right = after.filter(pl.col("recognizer").is_in(list(recognizers.values()))).rename({"errors": "after"})
    about = about.with_columns(own.alias(_group(number)) for number, own in enumerate(groups.values()))
    shared = right.join(about, on=KEYS, how="left", maintain_order="left").join(
        left, on=KEYS, how="inner", maintain_order="left"
    )
    if shared.is_empty():
        raise VoxauditError(
            "the two runs share no trial: no utterance was heard in the same scenario in both"
        )
    apart = shared.filter(pl.col("words") != pl.col("words_before"))
    if apart.height:
        raise VoxauditError(
            f"{apart.height} of {shared.height} shared trials count other reference words in the two runs (such as"
            f" utterance '{one_line(str(apart['utterance'][0]), 60)}'): score both with the same references and"
            " normalizer"
        )
    if shared["speaker"].null_count():
        raise VoxauditError(
            "a comparison needs to know who speaks: give every utterance a speaker (differences between"
            " utterances of one person say little about another)"
        )
    alone = left.height - shared.height, right.height - shared.height
    return PairedTrials(shared.drop("words_before"), recognizers, tuple(groups), *alone)


def _group(number: int) -> str:
    """Return the column of an attribute's groups: a user's own names could be those of our columns."""
    return f"group_{number}"


def ways_to_slice(pairs: PairedTrials) -> list[Way]:
    """Return how the trials of two runs are cut: all of a recognizer, by scenario, and by group of each attribute."""
    whole: Way = {"recognizer": pl.col("recognizer")}
    ways = [whole]
    if pairs.table["scenario"].n_unique() > 1:
        ways.append({**whole, "scenario": pl.col("scenario")})
    return [*ways, *(by_group(whole, number, name) for number, name in enumerate(pairs.attributes))]


def by_group(whole: Way, number: int, attribute: str) -> Way:
    """Return a way that is cut further, by the groups of an attribute: the column `group_0` of a table, and so on."""
    return {**whole, "attribute": pl.lit(attribute), "group": pl.col(_group(number))}


# What changed in which slice


@dataclass(frozen=True)
class Slice:
    """A part of the trials that both sides have. Rates, their difference and what is visible are fractions.

    `difference` is after minus before and `ratio` after over before; their limits are of this slice alone, at the level
    that belongs to `alpha`: they leave out no change exactly where `p`, two-sided, does. `p_adjusted` holds for all
    slices together. `visible` is the smallest change that would have been shown four times in five; None where so few
    speakers could never show one by themselves. All are None where the verdict is `refused`: too few speakers.

    `utterance` has the largest change (`utterance_errors`) of a slice in which a change is shown, and
    `difference_without` is what is left without it: `holds` says whether that is shown as well.
    """

    recognizer: str
    against: str | None
    scenario: str | None
    attribute: str | None
    group: str | None
    trials: int
    speakers: int
    words: int
    wer_before: float | None
    wer_after: float | None
    difference: float | None
    low: float | None = None
    high: float | None = None
    ratio: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None
    visible: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    verdict: Literal["shown", "not_shown", "alike", "refused"] = "refused"
    utterance: str | None = None
    utterance_errors: int | None = None
    difference_without: float | None = None
    holds: bool | None = None

    @property
    def label(self) -> str:
        """The slice in words: `native (accent)`, a scenario, or all trials."""
        parts = [] if self.scenario is None else [self.scenario]
        if self.attribute is not None:
            parts.append(f"{named(self.group)} ({self.attribute})")
        return ", ".join(parts) or "all trials"

    @property
    def whole(self) -> bool:
        """True for all trials of a recognizer: what is asked first."""
        return self.scenario is None and self.attribute is None

    @property
    def worse(self) -> bool:
        """True where it is shown to have got worse."""
        return self.verdict == "shown" and (self.difference or 0.0) > 0.0

    @property
    def better(self) -> bool:
        """True where it is shown to have got better."""
        return self.verdict == "shown" and (self.difference or 0.0) < 0.0

    @property
    def excludes(self) -> float | None:
        """The largest change that is not ruled out; None where a side has no limit: then none is too large."""
        if self.low is None or self.high is None:
            return None
        return max(self.low, self.high, key=abs)

    @property
    def rests_on_one(self) -> bool:
        """True where the utterance with the largest change decides, makes most of it, or goes clearly against it."""
        if self.utterance_errors is None or self.difference is None:
            return False
        share = self.utterance_errors / round(self.difference * self.words)
        return self.holds is False or share > _MOST or share < -_AGAINST


def judge_slices(
    table: pl.DataFrame,
    ways: Sequence[Way],
    *,
    alpha: float = 0.05,
    margin: float = 0.0,
    ratios: bool = False,
    seed: int = 0,
) -> list[Slice]:
    """Return what changed in every slice of paired trials: utterance, speaker, words, before, after (errors).

    A row may stand for several trials, as a column `trials` says. The first of `ways` is what is asked first (see
    `sign_flips.fallback`). Slices stand in the order of the ways, by label. With `ratios`, ratios have limits, too.
    """
    if "trials" not in table.columns:
        table = table.with_columns(trials=pl.lit(1, dtype=pl.Int64))
    sums = _sum_slices(table, ways, "speaker")
    facts = sums.group_by(LABELS, maintain_order=True).agg(
        pl.col(_SUMS).sum(), speakers=(pl.col("words") > 0).sum()
    )
    able = pl.Series([least_p(count) <= alpha for count in facts["speakers"]], dtype=pl.Boolean)
    tested = facts.filter(able).select(LABELS).with_row_index("_condition")
    cells = speaker_cells(sums, tested, LABELS, ("before", "after", "words"), "speaker")
    before, after, words = by_people(cells, ("before", "after", "words"), tested.height)
    whole = tested.select(pl.all_horizontal(pl.col(LABELS[2:]).is_null())).to_series().to_numpy()
    ask = _Ask(whole, alpha, margin, seed)
    results: dict[str, Any] = ask(after - before, words)
    if tested.height:
        limits = flip_limits(before, after, words, confidence=1.0 - alpha, seed=seed)
        results |= dict(zip(("low", "high"), limits, strict=True))
        if ratios:
            limits = flip_limits(before, after, words, ratio=True, confidence=1.0 - alpha, seed=seed)
            results |= dict(zip(("ratio_low", "ratio_high"), limits, strict=True))
    per_slice = [
        {name: _known(values[place]) for name, values in results.items()} for place in range(tested.height)
    ]
    judged = iter(per_slice)
    slices = [
        _slice(row, next(judged) if usable else {})
        for row, usable in zip(facts.iter_rows(named=True), able, strict=True)
    ]
    people = cells.select("speaker", "_speaker").unique()
    return _without_largest(slices, table, ways, tested, people, (after - before, words), ask)


@dataclass(frozen=True)
class _Ask:
    """The question put to a family of slices: again and again, where an utterance is left out."""

    whole: NDArray[np.bool_]
    alpha: float
    margin: float
    seed: int

    def __call__(self, change: FloatArray, words: FloatArray) -> dict[str, Any]:
        # Who is in no slice that can be tested would only make the flips longer.
        there = (words > 0).any(axis=1) | (change != 0).any(axis=1)
        change, words = change[there], words[there]
        options: Any = {"first": self.whole, "alpha": self.alpha, "seed": self.seed}
        flips = sign_flips(change, words, margin=self.margin, **options)
        speakers = (words > 0).sum(axis=0)
        never = np.array([least_p(int(count)) for count in speakers]) > flips.level
        verdict = np.where(flips.p_family <= self.alpha, "shown", "not_shown")
        if self.margin:
            # Beyond -margin upwards and beyond +margin downwards, each side at half of alpha, as a change is: no more
            # than alpha for any false claim of likeness.
            within = sign_flips(change, words, margin=-self.margin, **options).p_family_both
            verdict = np.where((verdict == "not_shown") & (within <= self.alpha), "alike", verdict)
        visible = np.where(never, np.nan, flips.visible + self.margin)
        return {"p": flips.p, "p_adjusted": flips.p_family, "visible": visible, "verdict": verdict}


def _slice(row: Mapping[str, Any], found: Mapping[str, Any]) -> Slice:
    words, old, new = row["words"], row["before"], row["after"]
    return Slice(
        **{name: row[name] for name in (*LABELS, "trials", "speakers", "words")},
        wer_before=old / words if words else None,
        wer_after=new / words if words else None,
        difference=(new - old) / words if words else None,
        ratio=new / old if old else None,
        **found,
    )


def _known(value: Any) -> Any:
    """Return a number, None in place of nan; a word as it is."""
    return str(value) if isinstance(value, str) else float(value) if np.isfinite(value) else None


def _without_largest(
    slices: list[Slice],
    table: pl.DataFrame,
    ways: Sequence[Way],
    tested: pl.DataFrame,
    people: pl.DataFrame,
    matrices: tuple[FloatArray, FloatArray],
    ask: _Ask,
) -> list[Slice]:
    """Return the slices in which a change is shown with what is left of it without the utterance that changed most.

    The whole comparison is asked again without it, where it makes a tenth of the change or more: a smaller one may
    decide what was undecided anyhow, but nothing rests on it.
    """
    shown = [one for one in slices if one.verdict == "shown"]
    if not shown:
        return slices
    found = [_slice_key(one) for one in shown]
    parts = _sum_slices(table, ways, "speaker", "utterance")
    labels = pl.DataFrame(found, schema=dict.fromkeys(LABELS, pl.String), orient="row")
    largest = (
        parts.join(labels, on=LABELS, nulls_equal=True)
        .with_columns(change=pl.col("after") - pl.col("before"))
        .sort(pl.col("change").abs(), "utterance", descending=[True, False])
        .unique(LABELS, keep="first", maintain_order=True)
    )
    of = {tuple(row[name] for name in LABELS): row for row in largest.iter_rows(named=True)}
    again: dict[str, list[Slice]] = {}
    for one in shown:
        row = of[_slice_key(one)]
        if abs(row["change"]) >= _WORTH_ASKING * abs(round((one.difference or 0.0) * one.words)):
            again.setdefault(row["utterance"], []).append(one)
    places = {tuple(row[:-1]): row[-1] for row in tested.select(*LABELS, "_condition").iter_rows()}
    replaced = {}
    for utterance, those in again.items():
        change, words = (matrix.copy() for matrix in matrices)
        own = parts.filter(pl.col("utterance") == utterance).join(tested, on=LABELS, nulls_equal=True)
        for row in own.join(people, on="speaker").iter_rows(named=True):
            at = row["_speaker"], row["_condition"]
            change[at] -= row["after"] - row["before"]
            words[at] -= row["words"]
        asked = ask(change, words)
        for one in those:
            place = places[_slice_key(one)]
            left = words[:, place].sum()
            without = float(change[:, place].sum() / left) if left else None
            holds = asked["verdict"][place] == "shown" and (without or 0.0) * (one.difference or 0.0) > 0.0
            replaced[_slice_key(one)] = replace(
                one,
                utterance=utterance,
                utterance_errors=of[_slice_key(one)]["change"],
                difference_without=without,
                holds=bool(holds),
            )
    return [replaced.get(_slice_key(one), one) for one in slices]


def _slice_key(one: Slice) -> tuple[str | None, ...]:
    return one.recognizer, one.against, one.scenario, one.attribute, one.group


def _sum_slices(table: pl.DataFrame, ways: Sequence[Way], *of: str) -> pl.DataFrame:
    """Return a row per slice and speaker (or whatever `of` names): LABELS, `of`, trials, words, before, after."""
    none: dict[str, Any] = dict.fromkeys(LABELS, pl.lit(None, dtype=pl.String))
    parts = []
    for way in ways:
        # Labels are computed first: a column of the table may have the name of one.
        keys = table.select(*of, *_SUMS, **{f"_{n}": e for n, e in {**none, **way}.items()})
        parts.append(
            keys.rename({f"_{name}": name for name in LABELS})
            .filter(pl.lit(value=True) if "scenario" not in way else pl.col("scenario").is_not_null())
            .group_by(*LABELS, *of)
            .agg(pl.col(_SUMS).sum())
            .sort(*LABELS, *of, nulls_last=True)
        )
    return pl.concat(parts)
