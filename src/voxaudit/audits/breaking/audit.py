"""The breaking-point audit: one staircase per speaker and recognizer, then groups of speakers compared.

What was heard is judged and left in the folder's `breaking.json`. The answer is made from that file, so that it is the
same when it is heard and whenever it is read again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from voxaudit.answer import (
    Answer,
    Finding,
    Note,
    Refusal,
    RefusedError,
    Table,
    Tables,
    Verdict,
    finding_id,
    refuse,
    tabulate,
)
from voxaudit.audits.audit import asks
from voxaudit.audits.breaking import RECORD
from voxaudit.audits.hearing import (
    as_written,
    corpus_to_hear,
    finished,
    listening,
    reading,
    write_found,
)
from voxaudit.audits.scores import MOST_GROUPS, in_several_groups
from voxaudit.corpus import Corpus, Utterance
from voxaudit.corpus.select import require_attributes
from voxaudit.errors import VoxauditError
from voxaudit.options import ON_DEMAND, RunOptions, takes_options
from voxaudit.perturb import CLEAN
from voxaudit.perturb.axis import Axis, EverySetting, find_axis
from voxaudit.perturb.sources import Source, open_sources
from voxaudit.run.order import rank
from voxaudit.run.progress import Progress
from voxaudit.run.runner import RecognizerLike
from voxaudit.run.session import Session
from voxaudit.score.normalize import Normalizer
from voxaudit.score.normalize import normalizer as find_normalizer
from voxaudit.score.table import count_errors
from voxaudit.stats.bootstrap import FEWEST_SPEAKERS
from voxaudit.stats.censored import compare_groups, mean_interval
from voxaudit.stats.permutations import LEVEL
from voxaudit.stats.psychometric import FloatArray, Track, misfit, order_of_harm, run_tracks, thresholds
from voxaudit.wording import counted, listed, p_value, speakers_of, spoken

NAME, TITLE = "breaking", "Breaking points"
FAMILY = "comparisons"
ALL = "all speakers"
FEWEST_TRIALS = 4
"""Trials of a speaker below which there is no threshold: the two ends and a few between."""
NO_HARM, NEVER, ALWAYS, TOO_FEW = "no_harm", "never", "always", "too_few_speakers"
"""Why a group has no value: the harsh end is no harder than the mild one; more than half of the speakers stay below the
level at the harsh end; or have reached it at the mild one; or there are too few speakers."""


@dataclass(frozen=True)
class Point:
    """The breaking point of a group's speech: the parameter's value at which its errors reach `level`.

    `never` and `always` count speakers whose errors stay below the level at the harsh end, and reach it at the mild
    one. Limits end with the range. `why_not` is a code where there is no value.
    """

    recognizer: str
    group: str
    level: float
    value: float | None
    low: float | None
    high: float | None
    speakers: int
    never: int
    always: int
    why_not: str | None


@dataclass(frozen=True)
class Difference:
    """How far the breaking points of two groups are apart: a difference of values, or on a log axis their ratio.

    `p` and the limits are those of this comparison alone (None: no limit), `p_adjusted` holds for all comparisons of
    the audit together; `shown` where that is at most 0.05.
    """

    recognizer: str
    group: str
    against: str
    value: float
    low: float | None
    high: float | None
    p: float
    p_adjusted: float
    shown: bool
    speakers: int
    speakers_against: int


@dataclass(frozen=True)
class Breaking:
    """What was found, as `breaking.json` keeps it.

    `speakers` has a row per recognizer and speaker: group, value (None off the axis), trials. `rises` is by how much
    the share of wrong words is higher at the harsh end than at the mild one, by recognizer. `heard` counts the trials
    that took a recognizer's time now.
    """

    axis: Axis
    attribute: str | None
    points: tuple[Point, ...]
    differences: tuple[Difference, ...]
    speakers: tuple[Mapping[str, Any], ...]
    rises: Mapping[str, float | None]
    notes: tuple[Note, ...]
    trials: int
    question: Mapping[str, Any]
    heard: int = 0


@asks(NAME)
@takes_options("progress", *ON_DEMAND)
def breaking(
    source: Any,
    recognizers: Sequence[RecognizerLike] | Mapping[str, RecognizerLike] = ("moonshine", "pocketsphinx"),
    *,
    perturbation: str = "gaussian_noise",
    parameter: str | None = None,
    ends: Sequence[float] | None = None,
    level: float = 0.5,
    rise: float | None = None,
    attribute: str | None = None,
    budget: int = 12,
    out: str | Path | None = None,
    normalizer: str = "basic",
    sources: Mapping[str, Source | str | Path] | None = None,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    skip_bad_rows: bool = False,
    options: RunOptions | None = None,
    **given: Any,
) -> Answer:
    """Find the setting of a perturbation at which the word error rate reaches `level`, for the groups of `attribute`.

    `source` is a corpus with speakers and reference texts, or the path of one: it is heard, and the folder `out` holds
    the store and `breaking.json`; the same call again hears nothing twice. A finished audit's folder, or a run with
    one in its folder `breaking`, is read again and nothing is heard.

    Every speaker gets a staircase of `budget` trials per recognizer between the `ends` of the `parameter` (mild,
    harsh; the usual ones of `perturb.axis`). With `rise`, the level is the error rate of the group's clean speech
    plus `rise`; both are shares of words. A group's breaking point is the mean over its speakers, in the parameter's
    unit, with a 95 % interval over speakers; those who never reach the level, or have at the mild end, are censored
    (Tobin 1958). Groups are compared by permuting speakers, the difference being studentized; recognizers and pairs of
    groups are one family (`stats.censored`). The options of `RunOptions` can be given together as `options`, and some
    by their names (`workers=2`).
    """
    folder = finished(source, NAME, RECORD)
    if folder is not None:
        if out is not None:
            raise VoxauditError(
                "a finished audit is read again, nothing is heard: give a corpus to hear one", see=("out",)
            )
        return _answer(_read(folder))
    options = RunOptions.of(options, **given)
    options.require_on_demand()
    _check(level, rise, budget, ends)
    if out is None:
        raise VoxauditError("name a folder for what is found", see=("out",))
    rule = find_normalizer(normalizer)
    engines = listening(recognizers, "a staircase")
    corpus = corpus_to_hear(source, format=format, columns=columns, skip_bad_rows=skip_bad_rows)
    opened = open_sources(sources or {}, {perturbation.partition(":")[0]}, corpus)
    mild_harsh = None if ends is None else (float(ends[0]), float(ends[1]))
    axis = find_axis(perturbation, parameter, ends=mild_harsh, sources=opened)
    people = _speakers(corpus, attribute, rule, options.seed)
    question = {
        **{"recognizers": list(engines), "perturbation": perturbation, "parameter": axis.parameter},
        **{"ends": [axis.mild, axis.harsh], "level": level, "rise": rise, "attribute": attribute},
        **{"budget": budget, "normalizer": normalizer, "seed": options.seed},
    }
    found = Breaking(axis, attribute, (), (), (), {}, (), 0, question)
    places: dict[str, FloatArray] = {}
    with Progress(options.progress) as bars:
        for name, recognizer in engines.items():
            bars.begin(f"{name}: trials, at most", len(people) * budget)
            with Session(out, {name: recognizer}, EverySetting(opened), options) as session:
                ear = _Ear(session, name, people, axis, rule, bars)
                levels = _levels(people, level, rise, ear)
                tracks = run_tracks([levels[person.group] for person in people], budget, ear.ask)
            found, places[name] = _judge(found, name, people, tracks, levels)
            found = replace(found, trials=found.trials + ear.trials, heard=found.heard + session.heard)
    folder = Path(out)
    groups = [person.group for person in people]
    found = replace(found, differences=compare_points(axis, found.points, places, groups, options.seed))
    write_found(folder / RECORD, found)
    return as_written(_answer(replace(_read(folder), heard=found.heard)), folder, RECORD)


def _check(level: float, rise: float | None, budget: int, ends: Sequence[float] | None) -> None:
    for name, share in (("level", level), ("rise", rise)):
        if share is not None and not 0.0 < share < 1.0:
            raise VoxauditError(
                f"{name} must lie between 0 and 1 (a share of words), not {share:g}", see=(name,)
            )
    if budget < FEWEST_TRIALS:
        raise VoxauditError(
            f"budget must be at least {FEWEST_TRIALS} trials per speaker, not {budget}", see=("budget",)
        )
    if ends is not None and len(ends) != 2:
        raise VoxauditError(
            f"the ends are two numbers, the mild and the harsh one: 40,-10, not {len(ends)}", see=("ends",)
        )


# Hearing


@dataclass(frozen=True)
class Speaker:
    """A speaker, the group, and the utterances in the order in which they are heard."""

    name: str
    group: str
    utterances: tuple[Utterance, ...]


@dataclass
class _Ear:
    """One recognizer that hears speakers at places on the axis, and counts."""

    session: Session
    name: str
    people: Sequence[Speaker]
    axis: Axis
    rule: Normalizer
    bars: Progress
    trials: int = 0

    def ask(self, asked: Sequence[tuple[int, int, float]]) -> tuple[FloatArray, FloatArray]:
        """Answer a step of the staircases: a speaker's utterances take turns."""
        trials = []
        for speaker, trial, place in asked:
            own = self.people[speaker].utterances
            trials.append((own[trial % len(own)], self.axis.scenario(place)))
        return self.hear(trials)

    def hear(self, trials: Sequence[tuple[Utterance, str]]) -> tuple[FloatArray, FloatArray]:
        """Return the wrong words and the words of every trial; 0 and 0 where it failed."""
        outcomes = self.session.hear(trials)[self.name]
        self.trials += len(trials)
        self.bars.advance(len(trials), heard=True)
        said = [utterance.text for utterance, _ in trials]
        return count_errors(said, [outcome.text for outcome in outcomes], self.rule)


def _levels(people: Sequence[Speaker], level: float, rise: float | None, ear: _Ear) -> dict[str, float]:
    """Return the share of wrong words that each group's staircases aim at."""
    levels = dict.fromkeys((person.group for person in people), level)
    if rise is None:
        return levels
    for group in levels:
        wrong, words = ear.hear(
            [(u, CLEAN) for person in people if person.group == group for u in person.utterances]
        )
        clean = float(wrong.sum() / max(words.sum(), 1.0))
        if clean + rise >= 1.0:
            raise VoxauditError(
                f"{ear.name} gets {100 * clean:.0f} % of the words of '{group}' wrong on clean speech: {100 * rise:g}"
                " points more are out of reach. Take a smaller rise",
                see=("rise",),
            )
        levels[group] = clean + rise
    return levels


def _speakers(corpus: Corpus, attribute: str | None, rule: Normalizer, seed: int) -> list[Speaker]:
    where = corpus.source or corpus.name
    require_attributes(corpus, [attribute] if attribute else [], "attribute")
    own: dict[str, list[Utterance]] = {}
    groups: dict[str, str] = {}
    several: dict[str, None] = {}
    for utterance in corpus:
        group = ALL if attribute is None else utterance.attributes[attribute]
        if utterance.speaker is None or group is None or not rule(utterance.text or ""):
            continue
        if groups.setdefault(utterance.speaker, str(group)) != str(group):
            several[utterance.speaker] = None
        own.setdefault(utterance.speaker, []).append(utterance)
    if several:
        raise RefusedError(in_several_groups(list(several), str(attribute), where))
    if not own:
        raise VoxauditError(
            f"{where}: no utterance has a speaker, a reference text and a group. Breaking points are per speaker:"
            f" {_lacking(corpus, attribute)}"
        )
    names = sorted(set(groups.values()))
    if attribute is not None and not 1 < len(names) <= MOST_GROUPS:
        few = len(names) == 1
        code = "one_group" if few else "too_many_groups"
        text = f"only the group '{names[0]}' occurs" if few else f"it has {len(names):,} groups"
        limit = "a comparison needs two" if few else f"{MOST_GROUPS} are compared one by one at most"
        raise refuse(code, f"{text}; {limit}", about=attribute, see=("attribute",), groups=len(names))
    return [
        Speaker(name, groups[name], tuple(sorted(own[name], key=lambda one: rank(seed, one.id))))
        for name in sorted(own, key=lambda name: (groups[name], name))
    ]


def _lacking(corpus: Corpus, attribute: str | None) -> str:
    """Return what to add to a corpus of which no utterance can be used."""
    table = corpus.table
    have = {"speaker": "a column `speaker`", "text": "a column `text` (what was said)"}
    lost = [words for name, words in have.items() if table[name].null_count() == table.height]
    if attribute is not None and table[attribute].null_count() == table.height:
        lost.append(f"values of `{attribute}`")
    return f"add {' and '.join(lost)}" if lost else "fill them in for the same rows of the manifest"


# Judging


def _judge(
    found: Breaking,
    name: str,
    people: Sequence[Speaker],
    tracks: Sequence[Track],
    levels: Mapping[str, float],
) -> tuple[Breaking, FloatArray]:
    """Return what was found with what one recognizer's tracks say of groups, and of speakers (nan: nothing)."""
    axis, notes = found.axis, []
    usable = [number for number, track in enumerate(tracks) if len(track) >= FEWEST_TRIALS]
    if not usable:
        raise VoxauditError(
            f"recognizer '{name}' answered almost nothing: see the failures in the folder's store"
        )
    places = np.full(len(people), np.nan)
    for value in sorted(set(levels.values())):
        own = [number for number in usable if levels[people[number].group] == value]
        if not own:
            continue
        places[own] = thresholds([tracks[number] for number in own], value)
        fall = misfit([tracks[number] for number in own], places[own])
        if fall > 0.0:
            text = (
                f"{name}: errors do not only rise along {axis.parameter}: they fall by {100 * fall:.0f} points"
                " somewhere, so that there may be several breaking points"
            )
            notes.append(Note("errors_fall", text, {"recognizer": name, "fall": fall}))
    rise, t = order_of_harm([tracks[number] for number in usable])
    groups = {group: places[[n for n in usable if people[n].group == group]] for group in levels}
    points = summarize_groups(name, axis, groups, levels, rise > 0.0 and t >= 2.0)
    rows = [
        {
            "recognizer": name,
            "speaker": people[n].name,
            "group": people[n].group,
            "value": axis.value(float(places[n])) if 0.0 < places[n] < 1.0 else None,
            "never": bool(places[n] >= 1.0),
            "always": bool(places[n] <= 0.0),
            "trials": len(tracks[n]),
        }
        for n in usable
    ]
    if lost := len(people) - len(usable):
        text = f"{name}: {counted(lost, 'speaker')} left out, fewer than {FEWEST_TRIALS} of their trials were answered"
        notes.append(Note("speakers_left_out", text, {"recognizer": name, "speakers": lost}))
    found = replace(
        found,
        points=(*found.points, *points),
        speakers=(*found.speakers, *rows),
        rises={**found.rises, name: rise if math.isfinite(rise) else None},
        notes=(*found.notes, *notes),
    )
    return found, places


def summarize_groups(
    recognizer: str,
    axis: Axis,
    places: Mapping[str, FloatArray],
    levels: Mapping[str, float],
    harmful: bool,
) -> list[Point]:
    """Return the breaking points of the groups (`places` on the axis by group), if the range is `harmful`."""
    points = []
    for group, own in places.items():
        sides = int((own >= 1.0).sum()), int((own <= 0.0).sum())
        why_not = _why_not(len(own), *sides) if harmful else NO_HARM
        value = low = high = None
        if why_not is None:
            # What lies off the axis was not heard: limits end with it.
            on_axis = np.clip(mean_interval(own, 0.0, 1.0), 0.0, 1.0)
            value, *ends = (axis.value(float(place)) for place in on_axis)
            low, high = sorted(ends)
        points.append(Point(recognizer, group, levels[group], value, low, high, len(own), *sides, why_not))
    return points


def compare_points(
    axis: Axis,
    points: Sequence[Point],
    places: Mapping[str, FloatArray],
    groups: Sequence[str],
    seed: int = 0,
) -> tuple[Difference, ...]:
    """Return the differences of each two groups that have a breaking point, by recognizer; they are one family.

    `places` are those of all speakers on the axis, by recognizer (nan: not known); `groups` are theirs.
    """
    names = list(dict.fromkeys(groups))
    pairs = []
    for row, recognizer in enumerate(places):
        known = [one for one in points if one.recognizer == recognizer and one.value is not None]
        pairs += [(row, one, other) for one, other in combinations(known, 2)]
    gaps = compare_groups(
        np.array(list(places.values())),
        np.array([names.index(group) for group in groups]),
        [(row, names.index(one.group), names.index(other.group)) for row, one, other in pairs],
        0.0,
        1.0,
        seed=seed,
    )
    differences = []
    for gap, (_, one, other) in zip(gaps, pairs, strict=True):
        ends = (axis.difference(end) if math.isfinite(end) else None for end in (gap.low, gap.high))
        low, high = ends if axis.harsh > axis.mild else reversed([*ends])
        shown = gap.p_adjusted <= LEVEL
        numbers = axis.difference(gap.gap), low, high, gap.p, gap.p_adjusted, shown
        sizes = one.speakers, other.speakers
        differences.append(Difference(one.recognizer, one.group, other.group, *numbers, *sizes))
    return tuple(differences)


def _why_not(speakers: int, never: int, always: int) -> str | None:
    if speakers < FEWEST_SPEAKERS:
        return TOO_FEW
    if 2 * never > speakers:
        return NEVER
    return ALWAYS if 2 * always > speakers else None


def _read(folder: Path) -> Breaking:
    """Return what a folder keeps; one that is damaged, or of another version, is refused."""
    path = folder / RECORD
    if not path.is_file():
        text = f"no {RECORD} in this folder: no breaking points were looked for"
        raise refuse("not_asked", text, about=str(folder))
    with reading(path, "a breaking audit", str(folder)):
        kept = json.loads(path.read_text(encoding="utf-8"))
        return Breaking(
            axis=Axis(**kept["axis"]),
            attribute=kept["attribute"],
            points=tuple(Point(**one) for one in kept["points"]),
            differences=tuple(Difference(**one) for one in kept["differences"]),
            speakers=tuple({key: one[key] for key in _SPEAKER} for one in kept["speakers"]),
            rises={name: None if rise is None else float(rise) for name, rise in kept["rises"].items()},
            notes=tuple(Note(one["code"], str(one["text"]), dict(one["facts"])) for one in kept["notes"]),
            trials=int(kept["trials"]),
            question=dict(kept["question"]),
        )


_SPEAKER = ("recognizer", "speaker", "group", "value", "never", "always", "trials")


# What is said of it


def _answer(found: Breaking) -> Answer:
    words = _Words(found.axis, found.attribute)
    points = [words.point(one) for one in found.points]
    differences = [words.difference(one) for one in found.differences]
    tables = [_point_table(found, words, points), _speaker_table(found, words)]
    if differences:
        tables.insert(1, _difference_table(words, differences))
    return Answer(
        audit=NAME,
        title=TITLE,
        question=found.question,
        findings=(*points, *differences),
        tables=Tables(tables),
        notes=(*found.notes, Note("trials", f"{found.trials:,} trials were heard", {"trials": found.trials})),
        refusals=tuple(_refusals(found)),
        lead=(
            "A speaker's breaking point is the setting at which so many words are wrong, found by a staircase; a"
            " group's is the mean over its speakers, with a 95 % interval. Groups are compared by permuting speakers;"
            " p holds for all comparisons together."
        ),
        detail=found,
    )


@dataclass(frozen=True)
class _Words:
    """How points and differences on an axis are said."""

    axis: Axis
    attribute: str | None

    @property
    def unit(self) -> str:
        return self.axis.unit or self.axis.parameter

    @property
    def under(self) -> str:
        return f"under {spoken(self.axis.perturbation)}{f' ({self.axis.fixed})' if self.axis.fixed else ''}"

    def value(self, value: float) -> str:
        return f"{self.axis.number(value)} {self.unit}"

    def group(self, group: str) -> str:
        return group if self.attribute is None else speakers_of(group, self.attribute)

    def finding(self, measure: str, one: Point | Difference, group: str | None, **more: Any) -> Finding:
        """Return the finding about one recognizer and group."""
        scenario = ":".join(filter(None, (self.axis.perturbation, self.axis.fixed)))
        names = (one.recognizer, scenario, self.attribute, group, more.get("against"))
        about: dict[str, Any] = {
            "recognizer": one.recognizer,
            "scenario": scenario,
            "attribute": self.attribute,
            "group": group,
            "speakers": one.speakers,
            **{"estimate": one.value, "low": one.low, "high": one.high, "unit": self.unit},
        }
        return Finding(id=finding_id(NAME, *names, measure), measure=measure, **(about | more))

    def point(self, point: Point) -> Finding:
        verdict: Verdict = "refused" if point.why_not in (TOO_FEW, NO_HARM) else "measured"
        limits = {}
        if verdict == "measured" and point.value is None:
            # Beyond an end of the range: that much is known.
            end = self.axis.harsh if point.why_not == NEVER else self.axis.mild
            above = (self.axis.harsh > self.axis.mild) == (point.why_not == NEVER)
            limits = {"low" if above else "high": end}
        return self.finding(
            "breaking_point",
            point,
            None if self.attribute is None else point.group,
            verdict=verdict,
            code=point.why_not if verdict == "refused" else None,
            sentence=self._point_sentence(point),
            **limits,
        )

    def _point_sentence(self, point: Point) -> str:
        who, name, people = self.group(point.group), point.recognizer, counted(point.speakers, "speaker")
        gets = f"{100 * point.level:.0f} % of the words wrong {self.under}"
        none = f"{name} has no breaking point {self.under} for {who}:"
        aside = (
            f"{point.group} ({self.attribute}), {people}" if self.attribute else f"{point.speakers} speakers"
        )
        aside += f"; {point.never} of them never" if point.never else ""
        aside += f"; {point.always} of them at the mild end already" if point.always else ""
        if point.value is not None and point.low is not None and point.high is not None:
            beyond = " or beyond" if {point.low, point.high} & {self.axis.mild, self.axis.harsh} else ""
            limits = f"{self.axis.number(point.low)} to {self.axis.number(point.high)}{beyond}"
            return f"{name} gets {gets} at {self.value(point.value)} ({limits}): {aside}."
        if point.why_not == NEVER:
            return f"{name} does not get {gets} as far as {self.value(self.axis.harsh)}: {aside}."
        if point.why_not == NO_HARM:
            return f"{none} {self.value(self.axis.harsh)} is no harder than {self.value(self.axis.mild)}."
        if point.why_not == TOO_FEW:
            return f"{none} {people}, and at least {FEWEST_SPEAKERS} are needed."
        return f"{name} gets {gets} at {self.value(self.axis.mild)} already: {aside}."

    def difference(self, one: Difference) -> Finding:
        return self.finding(
            "breaking_point_ratio" if self.axis.log else "breaking_point_difference",
            one,
            one.group,
            verdict="shown" if one.shown else "not_shown",
            sentence=self._difference_sentence(one),
            unit="ratio" if self.axis.log else self.unit,
            p=one.p,
            p_adjusted=one.p_adjusted,
            family=FAMILY,
            against=one.against,
            speakers_against=one.speakers_against,
            excludes=None if one.shown else self._largest(one),
        )

    def _largest(self, one: Difference) -> float | None:
        """Return the difference farthest from none that is not excluded; None where there is no end to them."""
        if one.low is None or one.high is None:
            return None
        return max(one.low, one.high, key=lambda end: abs(math.log(end)) if self.axis.log else abs(end))

    def _gap(self, value: float) -> str:
        return f"{value:.2f} times" if self.axis.log else f"{value:+.1f} {self.unit}"

    def _difference_sentence(self, one: Difference) -> str:
        low, high = (
            "no limit" if end is None else f"{end:.2f}" if self.axis.log else f"{end:+.1f}"
            for end in (one.low, one.high)
        )
        sure = f"{self._gap(one.value)} ({low} to {high}), {p_value(one.p_adjusted)}"
        whom = f"for {self.group(one.group)} than for {speakers_of(one.against)} {self.under}"
        if not one.shown:
            largest = self._largest(one)
            up_to = (
                "no difference is excluded"
                if largest is None
                else f"up to {self._gap(largest)} is not excluded"
            )
            return f"{one.recognizer} is not shown to break sooner or later {whom}: {sure}; {up_to}."
        sooner = (one.value < (1.0 if self.axis.log else 0.0)) == (self.axis.harsh > self.axis.mild)
        return f"{one.recognizer} breaks {'sooner' if sooner else 'later'} {whom}: {sure}."


_FIELDS = (
    *("recognizer", "scenario", "attribute", "group", "against", "estimate", "low", "high", "unit"),
    *("p", "p_adjusted", "family", "verdict", "code", "speakers", "speakers_against"),
)


def _row(finding: Finding) -> dict[str, Any]:
    return {name: getattr(finding, name) for name in _FIELDS}


def _point_table(found: Breaking, words: _Words, findings: Sequence[Finding]) -> Table:
    unit = found.axis.unit
    what = spoken(found.axis.parameter) + ("" if unit in ("", found.axis.parameter) else f", {unit}")
    rows = [
        _row(finding)
        | {name: getattr(one, name) for name in ("group", "level", "never", "always")}
        | {"breaking_point": _cell(one, words)}
        for finding, one in zip(findings, found.points, strict=True)
    ]
    columns = [
        *("recognizer", "group", ("level", "WER that is breaking", "percent"), ("breaking_point", what)),
        *("speakers", ("never", "never broken", "count"), ("always", "always broken", "count")),
    ]
    title = f"Breaking points {words.under}: {what} (95 % interval over speakers)"
    return tabulate("points", title, rows, columns)


def _cell(point: Point, words: _Words) -> str:
    """Return a breaking point as the table shows it, with as many decimals as its axis has."""
    number = words.axis.number
    if point.value is not None and point.low is not None and point.high is not None:
        return f"{number(point.value)} ({number(point.low)} to {number(point.high)})"
    if point.why_not in (TOO_FEW, NO_HARM):
        return "-"
    never = point.why_not == NEVER
    return f"beyond {number(words.axis.harsh)}" if never else f"before {number(words.axis.mild)}"


def _difference_table(words: _Words, findings: Sequence[Finding]) -> Table:
    what = "ratio" if words.axis.log else f"difference, {words.unit}"
    columns = f"recognizer; group; against; estimate[low,high]: {what}, ratio; p_adjusted; verdict"
    return tabulate("differences", "Groups compared", [_row(one) for one in findings], columns)


def _speaker_table(found: Breaking, words: _Words) -> Table:
    columns = ["recognizer", "speaker", "group", ("value", words.unit, "number")]
    columns += [("never", "never broken"), ("always", "always broken"), "trials"]
    rows = pl.DataFrame([dict(one) for one in found.speakers], infer_schema_length=None)
    return tabulate("speakers", "Breaking points of speakers", rows, columns, folded=True)


def _refusals(found: Breaking) -> list[Refusal]:
    refusals = []
    for name in dict.fromkeys(point.recognizer for point in found.points):
        own = [point for point in found.points if point.recognizer == name]
        if own[0].why_not == NO_HARM:
            rise = found.rises.get(name)
            by = "" if rise is None else f" ({100 * rise:+.0f} points)"
            text = f"{found.axis.text(1.0)} is no harder than {found.axis.text(0.0)}{by}"
            refusals.append(Refusal(NO_HARM, name, text, {"rise": rise}, see=("ends",)))
        if few := {point.group: point.speakers for point in own if point.why_not == TOO_FEW}:
            groups = listed(f"{group} ({count})" for group, count in few.items())
            text = f"speakers of {groups}: at least {FEWEST_SPEAKERS} are needed"
            refusals.append(Refusal(TOO_FEW, name, text, {"groups": few, "needed": FEWEST_SPEAKERS}))
    return refusals
