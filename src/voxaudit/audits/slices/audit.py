"""Slices: candidates from what was measured, a search in half of the speakers, a test in the other half."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Unpack

import numpy as np
import polars as pl

from voxaudit.answer import (
    Answer,
    Column,
    Finding,
    Note,
    RefusedError,
    Table,
    finding_id,
    refuse,
    tabulate,
)
from voxaudit.audits.audit import asks
from voxaudit.audits.scores import MOST_GROUPS, Filters, Names, Scores, Source
from voxaudit.audits.slices import FEWEST
from voxaudit.score.measures import ALL_MEASURES
from voxaudit.stats.cells import FloatArray, IntArray
from voxaudit.stats.group_ratios import Judged, Rates, judge
from voxaudit.stats.permutations import LEVEL, Shuffles
from voxaudit.wording import as_or_than, counted, listed, percent, times_as_many

SEARCHED = {
    "speaking_rate": ("slow speech", "fast speech"),
    "snr": ("noisy recordings", "clean recordings"),
    "reverberation": ("dry rooms", "reverberant rooms"),
    "bandwidth": ("narrow bandwidth", "wide bandwidth"),
    "pitch": ("low voices", "high voices"),
    "duration": ("short utterances", "long utterances"),
    "word_frequency": ("rare words", "common words"),
    "perplexity_bits": ("predictable texts", "unusual texts"),
}
"""Measures that are cut into a lowest and a highest third, and what those are called."""
ALIKE = 0.8
"""Slices that share so much of their utterances are one: the simpler is kept."""
LISTENED = 12
"""Utterances to listen to, of the confirmed slices."""
MORE = 1.2
"""A ratio from which more speech of a slice that is not confirmed is worth recording."""
LEAD = (
    "Kinds of speech are made of what was measured and of the attributes that were named, alone and two by two. Half of"
    " the speakers are searched for kinds that get more errors than all other speech; the other half, which the search"
    " never saw, decides: whole speakers are shuffled, and all candidates are judged together."
)


@dataclass(frozen=True)
class Slice:
    """A kind of speech: its conditions in words, and the rows that meet them."""

    name: str
    columns: tuple[str, ...]
    rows: np.ndarray[Any, Any]


@dataclass(frozen=True)
class Found:
    """A candidate in the half that decides."""

    by: dict[str, Any]
    slice: Slice
    searched: float
    """Its ratio in the half that was searched, which is too high by having been chosen."""
    ratio: float
    judged: Judged
    wer: float
    wer_others: float
    speakers: int
    utterances: int
    words: int
    candidates: int

    @property
    def shown(self) -> bool:
        """Whether it is confirmed: worse than all other speech."""
        return self.judged.p_adjusted is not None and self.judged.p_adjusted <= LEVEL and self.ratio > 1.0


@asks("slices")
def slices(
    source: Source,
    *,
    attributes: Names = (),
    fewest: int = FEWEST,
    most: int = 10,
    seed: int = 0,
    **filters: Unpack[Filters],
) -> Answer:
    """Find kinds of speech that a recognizer serves worse than all other speech, without anybody having labeled them.

    Candidates are the lowest and the highest third of each measure of texts and recordings (`SEARCHED`), and the groups
    of `attributes`, alone and crossed two deep. In half of the speakers the `most` with the highest studentized ratio
    of error rates are picked, those that mostly hold the same utterances once; in the other half they are tested as
    `disparity` tests groups, together (shuffled speakers, max statistic, step-down). A speaker with speech inside and
    outside is exchanged with himself. Slices with fewer than `fewest` speakers in either half are not looked at.

    >>> generator = np.random.default_rng(1)
    >>> rate = generator.uniform(1.0, 4.0, 600)
    >>> errors = generator.poisson(np.where(rate > 3.0, 3.0, 1.0))
    >>> table = {"speaker": [f"s{n // 10}" for n in range(600)], "words": 10, "errors": errors, "speaking_rate": rate}
    >>> answer = slices(pl.DataFrame(table))
    >>> answer.findings[0].group, answer.findings[0].verdict
    ('fast speech', 'shown')
    """
    names = (attributes,) if isinstance(attributes, str) else tuple(attributes or ())
    scenario = filters.pop("scenario", None)
    scores = Scores.of(source, **filters)
    scores = (scores.select(scenario=scenario) if scenario is not None else scores.clean).with_measures()
    scores.require("speaker", "words", *(scores.column(name) for name in names))
    notes = [Note("selected", text) for text in scores.notes]
    found: list[Found] = []
    empty: list[RefusedError] = []
    searched = 0
    for by, part in _parts(scores):
        try:
            own, count = _search(part, by, names, fewest, most, seed)
        except RefusedError as error:
            empty.append(error)
            continue
        found += own
        searched = max(searched, count)
    if empty and not searched:
        raise empty[0]
    notes += _not_measured(scores)
    text = f"{counted(searched, 'slice')} searched in half of the speakers; the other half decides"
    notes.append(Note("searched", text, {"slices": searched}))
    # What to record more of: kinds of speech that look worse in both halves and are not confirmed.
    open_ = [one for one in found if not one.shown and one.ratio >= MORE and one.searched >= MORE]
    if open_:
        said = listed(f"{one.slice.name} ({one.speakers} speakers)" for one in open_)
        text = f"worth recording more of, as they look worse in both halves without being confirmed: {said}"
        notes.append(Note("record_more", text, {"slices": [one.slice.name for one in open_]}))
    return Answer(
        audit="slices",
        title="Who is failed without a label",
        findings=tuple(_findings(found, searched)),
        tables=[one for one in (_table(found), _listen(scores, found)) if one.frame.height],  # type: ignore[arg-type]
        notes=tuple(notes),
        lead=LEAD,
        detail=tuple(found),
    )


def _parts(scores: Scores) -> Iterator[tuple[dict[str, Any], Scores]]:
    keys = [name for name in ("recognizer", "scenario") if name in scores.frame.columns]
    if not keys:
        yield {}, scores
        return
    for key, part in scores.frame.group_by(keys, maintain_order=True):
        yield dict(zip(keys, key, strict=True)), replace(scores, frame=part)


def _not_measured(scores: Scores) -> Iterator[Note]:
    frame = scores.frame
    absent = [name for name in SEARCHED if name not in frame.columns or not frame[name].count()]
    if why := {name: scores.not_measured(name) for name in absent}:
        said = [f"{ALL_MEASURES[name]}{f' ({text})' if text else ''}" for name, text in why.items()]
        yield Note("not_measured", f"not searched, as not measured: {listed(said)}", {"measures": list(why)})


# The search


def _search(
    scores: Scores, by: dict[str, Any], names: Sequence[str], fewest: int, most: int, seed: int
) -> tuple[list[Found], int]:
    errors, words = scores.errors(), scores.counts("words")
    labels = scores.labels("speaker")
    usable = ~np.isnan(errors) & (words > 0) & (labels.codes >= 0)
    people = len(labels.names)
    if len(np.unique(labels.codes[usable])) < 4 * fewest:
        text = f"{counted(people, 'speaker')} are too few to search in one half and decide in another: {4 * fewest}"
        raise refuse("too_few_speakers", f"{text} are needed", about=scores.where, speakers=people)
    half = np.random.default_rng([seed, people]).permutation(people) < people // 2
    searching = usable & half[labels.codes]
    deciding = usable & ~half[labels.codes]
    singles = _singles(scores, names, searching)
    crossed = (
        Slice(f"{one.name}, {other.name}", (*one.columns, *other.columns), one.rows & other.rows)
        for one, other in combinations(singles, 2)
        if one.columns != other.columns
    )
    candidates = [*singles, *crossed]
    first = _Half(errors, words, labels.codes, searching, people)
    second = _Half(errors, words, labels.codes, deciding, people)
    ranked = []
    for one in candidates:
        found = first.contrast(one.rows)
        if found is None or min(found.speakers, second.speakers(one.rows)) < fewest:
            continue
        ranked.append((found.t, found.ratio, one))
    if not ranked:
        text = "no slice has enough speakers in both halves, or nothing was measured"
        raise refuse("too_few_speakers", text, about=scores.where, speakers=people)
    ranked.sort(key=lambda item: -item[0])
    picked: list[tuple[float, Slice]] = []
    for t, ratio, one in ranked:
        if t <= 0.0 or len(picked) == most:
            break
        here = [(one.rows & usable, other.rows & usable) for _, other in picked]
        if not any((rows & others).sum() / max((rows | others).sum(), 1) > ALIKE for rows, others in here):
            picked.append((ratio, one))
    shuffles = Shuffles.affordable(people, seed=seed)
    comparisons = [second.rates(one.rows, shuffles) for _, one in picked]
    judged = judge(comparisons)
    found_here = [
        Found(by, one, searched, float(ratios.ratio()[0]), cell, *second.facts(one.rows), len(ranked))
        for (searched, one), ratios, [cell] in zip(picked, comparisons, judged, strict=True)
    ]
    return found_here, len(ranked)


def _singles(scores: Scores, names: Sequence[str], searching: np.ndarray[Any, Any]) -> list[Slice]:
    """Return slices of one condition; thirds are those of the half that is searched."""
    found = []
    frame = scores.frame
    for name, (low, high) in SEARCHED.items():
        if name not in frame.columns or not frame.schema[name].is_numeric():
            continue
        values = frame[name].cast(pl.Float64).to_numpy()
        known = values[searching & ~np.isnan(values)]
        if len(known) < 9 or np.ptp(known) <= 1e-9 * np.abs(known).max():
            continue
        cuts = np.quantile(known, [1 / 3, 2 / 3])
        with np.errstate(invalid="ignore"):
            found.append(Slice(low, (name,), values < cuts[0]))
            found.append(Slice(high, (name,), values > cuts[1]))
    for name in names:
        labels = scores.labels(scores.column(name))
        if not 2 <= len(labels.names) <= MOST_GROUPS:
            text = f"it has {counted(len(labels.names), 'group')}: from 2 to {MOST_GROUPS} can be searched"
            raise refuse("too_many_groups" if len(labels.names) > 1 else "one_group", text, about=name)
        found += [
            Slice(f"{name} = {group}", (name,), labels.codes == code)
            for code, group in enumerate(labels.names)
        ]
    return found


@dataclass(frozen=True)
class _Contrast:
    t: float
    ratio: float
    speakers: int


class _Half:
    """The utterances of some speakers, and slices of them against the rest."""

    def __init__(
        self,
        errors: FloatArray,
        words: FloatArray,
        speaker: IntArray,
        rows: np.ndarray[Any, Any],
        people: int,
    ) -> None:
        self.rows, self.people = rows, people
        self.errors, self.words, self.speaker = errors[rows], words[rows], speaker[rows]
        self.total = self._sums(np.ones(len(self.errors), dtype=bool))

    def _sums(self, inside: np.ndarray[Any, Any]) -> FloatArray:
        codes = self.speaker[inside]
        return np.stack([np.bincount(codes, one[inside], self.people) for one in (self.errors, self.words)])

    def speakers(self, rows: np.ndarray[Any, Any]) -> int:
        """Return how many speakers are inside."""
        return len(np.unique(self.speaker[rows[self.rows]]))

    def contrast(self, rows: np.ndarray[Any, Any]) -> _Contrast | None:
        """Return the studentized log ratio of the rate inside over that outside; None where there is none."""
        inside = self._sums(rows[self.rows])
        outside = self.total - inside
        sums = [one.sum(axis=1) for one in (inside, outside)]
        if min(sums[0].min(), sums[1].min()) <= 0.0:
            return None
        pulls = (
            inside[0] / sums[0][0]
            - inside[1] / sums[0][1]
            - outside[0] / sums[1][0]
            + outside[1] / sums[1][1]
        )
        log = float(np.log(sums[0][0] / sums[0][1]) - np.log(sums[1][0] / sums[1][1]))
        spread = float(np.sqrt((pulls**2).sum()))
        people = int((inside[1] > 0.0).sum())
        return _Contrast(log / spread, float(np.exp(log)), people) if spread > 0.0 else None

    def rates(self, rows: np.ndarray[Any, Any], shuffles: Shuffles) -> Rates:
        """Return the comparison of inside with outside, to be judged."""
        inside = self._sums(rows[self.rows])
        return Rates(inside[:, :, None], (self.total - inside)[:, :, None], shuffles)

    def facts(self, rows: np.ndarray[Any, Any]) -> tuple[float, float, int, int, int]:
        """Return the rates inside and outside, and the speakers, utterances and words inside."""
        here = rows[self.rows]
        inside = self._sums(here)
        outside = (self.total - inside).sum(axis=1)
        errors, words = inside.sum(axis=1)
        people = int((inside[1] > 0).sum())
        return errors / words, outside[0] / outside[1], people, int(here.sum()), int(words)


# The words


def _who(by: Mapping[str, Any]) -> str:
    return str(by.get("recognizer") or "The recognizer")


def _findings(found: Sequence[Found], searched: int) -> Iterator[Finding]:
    parts: dict[tuple[Any, ...], list[Found]] = {}
    for one in found:
        parts.setdefault(tuple(one.by.values()), []).append(one)
    for some in parts.values():
        confirmed = [one for one in some if one.shown]
        if not confirmed:
            first = some[0]
            excludes = max((one.judged.high or math.inf for one in some), default=math.inf)
            size = f"up to {excludes:.2f} times" if math.isfinite(excludes) else "any number of times"
            sentence = (
                f"{_who(first.by)}: no kind of speech is confirmed to be served worse than the rest, of"
                f" {counted(first.candidates, 'slice')} searched ({counted(len(some), 'candidate')} tested);"
                f" {size} as many errors are not excluded."
            )
            about: dict[str, Any] = {
                "unit": "ratio",
                "headline": True,
                "excludes": excludes,
                **_keys(first.by),
            }
            id_ = finding_id("slices", *first.by.values(), "slice_ratio")
            yield Finding(id_, "slice_ratio", "not_shown", sentence, **about)
        for one in sorted(some, key=lambda item: (not item.shown, -item.ratio)):
            many = times_as_many(one.ratio, one.judged.low, one.judged.high)
            end = "confirmed" if one.shown else "not confirmed"
            sentence = (
                f"{_who(one.by)} makes {many} per word in {one.slice.name} {as_or_than(one.ratio)} in all other speech"
                f" ({percent(one.wer)} against {percent(one.wer_others)} of the words; {one.speakers} speakers): {end}"
                " in the half of the speakers that was not searched."
            )
            yield Finding(
                finding_id("slices", *one.by.values(), one.slice.name, "slice_ratio"),
                "slice_ratio",
                "shown" if one.shown else "not_shown",
                sentence,
                estimate=one.ratio,
                low=one.judged.low,
                high=one.judged.high,
                p=one.judged.p,
                p_adjusted=one.judged.p_adjusted,
                family=f"{counted(len(some), 'candidate')} of {counted(one.candidates, 'slice')}",
                attribute=" x ".join(one.slice.columns),
                group=one.slice.name,
                against="all other speech",
                speakers=one.speakers,
                utterances=one.utterances,
                words=one.words,
                headline=one.shown,
                unit="ratio",
                **_keys(one.by),
            )


def _keys(by: Mapping[str, Any]) -> dict[str, Any]:
    return {name: str(value) for name, value in by.items() if value is not None}


def _table(found: Sequence[Found]) -> Table:
    rows = [
        {
            **one.by,
            "slice": one.slice.name,
            "speakers": one.speakers,
            "utterances": one.utterances,
            "wer": one.wer,
            "wer_others": one.wer_others,
            "searched": one.searched,
            "ratio": one.ratio,
            "low": one.judged.low,
            "high": one.judged.high,
            "p": one.judged.p,
            "p_adjusted": one.judged.p_adjusted,
            "verdict": "confirmed" if one.shown else "not confirmed",
        }
        for one in found
    ]
    split = list(found[0].by) if found else []
    columns: list[Any] = [*split, "slice", "speakers", "utterances", ("wer", "WER", "percent")]
    columns += [
        ("wer_others", "all other speech", "percent"),
        Column("searched", "ratio where searched", "ratio"),
    ]
    columns += [Column("ratio", "ratio", "ratio", "low", "high"), "p", "p_adjusted", "verdict"]
    note = (
        "All but 'ratio where searched' is of the half of the speakers that decides. p, adjusted, holds for all"
        " candidates of a recognizer and scenario together."
    )
    return tabulate("slices", "Kinds of speech", rows, columns, note=note)


def _listen(scores: Scores, found: Sequence[Found]) -> Table:
    """Return utterances of the confirmed slices with most errors per word: what to listen to."""
    rows: list[dict[str, Any]] = []
    if "utterance" in scores.frame.columns:
        parts = {tuple(by.values()): part for by, part in _parts(scores)}
        confirmed = [one for one in found if one.shown]
        each = max(1, LISTENED // max(len(confirmed), 1))
        for one in confirmed:
            part = parts[tuple(one.by.values())]
            errors, words = part.errors(), part.counts("words")
            with np.errstate(divide="ignore", invalid="ignore"):
                rate = np.where(one.slice.rows & (words > 0), errors / words, -1.0)
            for place in np.argsort(-rate, kind="stable")[:each]:
                if rate[place] > 0.0:
                    about = part.frame.row(int(place), named=True)
                    row = {**one.by, "slice": one.slice.name, "utterance": str(about["utterance"])}
                    rows.append(row | {"speaker": about["speaker"], "wer": float(rate[place])})
    split = list(found[0].by) if found else []
    columns = [*split, "slice", "utterance", "speaker", ("wer", "WER", "percent")]
    return tabulate("listen", "What to listen to", rows, columns)
