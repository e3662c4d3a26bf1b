"""The breaking-point audit: one staircase per speaker and recognizer, then groups of speakers compared.

What was heard is judged and left in the folder's `breaking.json`. The answer is made from that file, so that it is the
same when it is heard and whenever it is read again.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from voxaudit.answer import (
    Answer,
    Finding,
    Note,
    Refusal,
    Table,
    Tables,
    Verdict,
    command_line,
    finding_id,
    refuse,
    tabulate,
)
from voxaudit.audits.audit import asks
from voxaudit.audits.breaking import RECORD
from voxaudit.audits.breaking.axes import Axis, Settings, find_axis
from voxaudit.audits.breaking.groups import NEVER, NO_HARM, Difference, Point, adjust, summarize_groups
from voxaudit.audits.breaking.staircase import Ask, Track, misfit, order_of_harm, run_tracks, thresholds
from voxaudit.audits.hearing import corpus_to_hear, finished
from voxaudit.audits.scores import MOST_GROUPS, is_run
from voxaudit.corpus import Corpus, Utterance
from voxaudit.errors import VoxauditError, one_line
from voxaudit.options import ON_DEMAND, RunOptions, takes_options
from voxaudit.perturb import CLEAN
from voxaudit.perturb.sources import Source, open_sources
from voxaudit.recognize import AnswersById, Recognizer
from voxaudit.registry import suggest
from voxaudit.run.progress import Progress
from voxaudit.run.runner import RecognizerLike, named_recognizers
from voxaudit.run.session import Session
from voxaudit.score.normalize import Normalizer
from voxaudit.score.normalize import normalizer as find_normalizer
from voxaudit.score.table import score_columns
from voxaudit.stats.bootstrap import FEWEST_SPEAKERS
from voxaudit.stats.psychometric import FloatArray
from voxaudit.tables import write_atomically
from voxaudit.wording import counted, listed, p_value, spoken

NAME, TITLE = "breaking", "Breaking points"
FAMILY = "comparisons"
ALL = "all speakers"
FEWEST_TRIALS = 4
"""Trials of a speaker below which there is no threshold: the two ends and a few between."""


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
    harsh; those of `axes.RANGES` if not given). With `rise`, the level is the error rate of the group's clean speech
    plus `rise`; both are shares of words. A group's breaking point is the mean over its speakers, in the parameter's
    unit, with a 95 % interval from resampled speakers; those who never reach the level, or have at the mild end, are
    censored (Tobin 1958). Groups are compared by permuting speakers, with Holm's correction over all comparisons. The
    options of `RunOptions` can be given together as `options`, and some by their names (`workers=2`).
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
    mild_harsh = None if ends is None else (float(ends[0]), float(ends[1]))
    rule = find_normalizer(normalizer)
    engines = _listening(recognizers)
    corpus = corpus_to_hear(source, format=format, columns=columns, skip_bad_rows=skip_bad_rows)
    opened = open_sources(sources or {}, {perturbation.partition(":")[0]}, corpus)
    axis = find_axis(perturbation, parameter, ends=mild_harsh, sources=opened)
    people = _speakers(corpus, attribute, rule, options.seed)
    folder = Path(out)
    found = _hear(folder, engines, people, axis, Settings(opened), level, rise, budget, rule, options)
    question: dict[str, Any] = {"recognizers": list(engines), "perturbation": perturbation}
    question |= {"parameter": axis.parameter}
    question |= {"ends": [axis.mild, axis.harsh], "level": level, "rise": rise, "attribute": attribute}
    question |= {"budget": budget, "normalizer": normalizer, "seed": options.seed}
    _write(folder, replace(found, attribute=attribute, question=question))
    answer = _answer(replace(_read(folder), heard=found.heard))
    beside = "RUN" if folder.name == NAME and is_run(folder.absolute().parent) else folder.name
    command = command_line(NAME, [beside], {})
    written = Note("written", f"written to {folder}: {RECORD}", {"folder": str(folder)})
    return replace(
        answer,
        findings=tuple(replace(one, command=command) for one in answer.findings),
        notes=(*answer.notes, written),
    )


def _check(level: float, rise: float | None, budget: int, ends: Sequence[float] | None) -> None:
    if not 0.0 < level < 1.0:
        raise VoxauditError(
            f"level must lie between 0 and 1 (a share of words), not {level:g}", see=("level",)
        )
    if rise is not None and not 0.0 < rise < 1.0:
        raise VoxauditError(f"rise must lie between 0 and 1 (a share of words), not {rise:g}", see=("rise",))
    if budget < FEWEST_TRIALS:
        raise VoxauditError(
            f"budget must be at least {FEWEST_TRIALS} trials per speaker, not {budget}", see=("budget",)
        )
    if ends is not None and len(ends) != 2:
        raise VoxauditError(
            f"the ends are two numbers, the mild and the harsh one: 40,-10, not {len(ends)}", see=("ends",)
        )


def _listening(recognizers: Sequence[RecognizerLike] | Mapping[str, RecognizerLike]) -> dict[str, Recognizer]:
    engines = named_recognizers(recognizers)
    for name, recognizer in engines.items():
        if isinstance(recognizer, AnswersById):
            raise VoxauditError(
                f"recognizer '{name}' only looks up transcripts; a staircase needs one that listens"
            )
    return engines


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

    @property
    def ask(self) -> Ask:
        """How the staircases ask: a speaker's utterances take turns."""

        def ask(asked: Sequence[tuple[int, int, float]]) -> tuple[FloatArray, FloatArray]:
            trials = []
            for speaker, trial, place in asked:
                own = self.people[speaker].utterances
                trials.append((own[trial % len(own)], self.axis.scenario(place)))
            return self.hear(trials)

        return ask

    def hear(self, trials: Sequence[tuple[Utterance, str]]) -> tuple[FloatArray, FloatArray]:
        """Return the wrong words and the words of every trial; 0 and 0 where it failed."""
        outcomes = self.session.hear(trials)[self.name]
        self.trials += len(trials)
        self.bars.advance(len(trials), heard=True)
        good = [outcome.transcript is not None for outcome in outcomes]
        texts = [outcome.transcript.text if outcome.transcript else "" for outcome in outcomes]
        references = [utterance.text or "" for utterance, _ in trials]
        counts = score_columns(pl.Series(references), pl.Series(texts), self.rule)
        wrong = counts["substitutions"] + counts["deletions"] + counts["insertions"]
        heard = np.array(good, dtype=np.float64)
        return wrong.to_numpy() * heard, counts["words"].to_numpy() * heard


def _hear(
    folder: Path,
    engines: Mapping[str, Recognizer],
    people: Sequence[Speaker],
    axis: Axis,
    scenarios: Settings,
    level: float,
    rise: float | None,
    budget: int,
    rule: Normalizer,
    options: RunOptions,
) -> Breaking:
    """Let every recognizer hear every speaker's staircase, and judge what it says."""
    found: list[Breaking] = []
    with Progress(options.progress) as bars:
        for name, recognizer in engines.items():
            bars.begin(f"{name}: trials, at most", len(people) * budget)
            with Session(folder, {name: recognizer}, scenarios, options) as session:
                ear = _Ear(session, name, people, axis, rule, bars)
                levels = _levels(people, level, rise, ear)
                tracks = run_tracks([levels[person.group] for person in people], budget, ear.ask)
                heard = session.heard
            generator = np.random.Generator(np.random.PCG64(options.seed))
            judged = _judge(name, axis, people, tracks, levels, generator)
            found.append(replace(judged, trials=ear.trials, heard=heard))
    return replace(
        found[0],
        points=tuple(point for one in found for point in one.points),
        differences=adjust([difference for one in found for difference in one.differences]),
        speakers=tuple(row for one in found for row in one.speakers),
        rises={name: rise for one in found for name, rise in one.rises.items()},
        notes=tuple(note for one in found for note in one.notes),
        trials=sum(one.trials for one in found),
        heard=sum(one.heard for one in found),
    )


def _judge(
    name: str,
    axis: Axis,
    people: Sequence[Speaker],
    tracks: Sequence[Track],
    levels: Mapping[str, float],
    generator: np.random.Generator,
) -> Breaking:
    """Return what one recognizer's tracks say; its p-values are not adjusted yet."""
    usable = [number for number, track in enumerate(tracks) if len(track) >= FEWEST_TRIALS]
    if not usable:
        raise VoxauditError(
            f"recognizer '{name}' answered almost nothing: see the failures in the folder's store"
        )
    places = np.full(len(people), np.nan)
    notes = []
    for value in sorted(set(levels.values())):
        own = [number for number in usable if levels[people[number].group] == value]
        if own:
            places[own] = thresholds([tracks[number] for number in own], value)
            fall = misfit([tracks[number] for number in own], places[own])
            if fall > 0.0:
                text = (
                    f"{name}: errors do not only rise along {axis.parameter}: they fall by {100 * fall:.0f} points"
                    " somewhere, so that there may be several breaking points"
                )
                notes.append(Note("errors_fall", text, {"recognizer": name, "fall": fall}))
    rise, t = order_of_harm([tracks[number] for number in usable])
    groups = {
        group: places[[n for n in usable if people[n].group == group]]
        for group in dict.fromkeys(person.group for person in people)
    }
    points, differences = summarize_groups(name, axis, groups, levels, rise > 0.0 and t >= 2.0, generator)
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
    lost = len(people) - len(usable)
    if lost:
        text = f"{name}: {counted(lost, 'speaker')} left out, fewer than {FEWEST_TRIALS} of their trials were answered"
        notes.append(Note("speakers_left_out", text, {"recognizer": name, "speakers": lost}))
    rises = {name: rise if math.isfinite(rise) else None}
    return Breaking(axis, None, tuple(points), tuple(differences), tuple(rows), rises, tuple(notes), 0, {})


def _levels(people: Sequence[Speaker], level: float, rise: float | None, ear: _Ear) -> dict[str, float]:
    """Return the share of wrong words that each group's staircases aim at."""
    groups = dict.fromkeys(person.group for person in people)
    if rise is None:
        return dict.fromkeys(groups, level)
    levels = {}
    for group in groups:
        trials = [(u, CLEAN) for person in people if person.group == group for u in person.utterances]
        wrong, words = ear.hear(trials)
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
    if attribute is not None and attribute not in corpus.attributes:
        raise VoxauditError(
            f"{where}: no attribute '{attribute}'.{suggest(attribute, corpus.attributes)}"
            f" Attributes there: {', '.join(corpus.attributes) or 'none'}",
            see=("attribute",),
        )
    own: dict[str, list[Utterance]] = {}
    groups: dict[str, str] = {}
    for utterance in corpus:
        group = ALL if attribute is None else utterance.attributes[attribute]
        if utterance.speaker is None or group is None or not rule(utterance.text or ""):
            continue
        if groups.setdefault(utterance.speaker, str(group)) != str(group):
            raise VoxauditError(
                f"{where}: speaker '{utterance.speaker}' is in several groups of '{attribute}'. Groups are compared by"
                " speaker: choose an attribute of the speaker",
                see=("attribute",),
            )
        own.setdefault(utterance.speaker, []).append(utterance)
    if not own:
        raise VoxauditError(
            f"{where}: no utterance has a speaker, a reference text and a group. Breaking points are per speaker:"
            f" {_lacking(corpus, attribute)}"
        )
    names = sorted(set(groups.values()))
    if attribute is not None and not 1 < len(names) <= MOST_GROUPS:
        few = len(names) == 1
        text = f"only the group '{names[0]}' occurs" if few else f"it has {len(names):,} groups"
        limit = "a comparison needs two" if few else f"{MOST_GROUPS} are compared one by one at most"
        raise refuse(
            "one_group" if few else "too_many_groups",
            f"{text}; {limit}",
            about=attribute,
            see=("attribute",),
            groups=len(names),
        )
    people = [Speaker(name, groups[name], _shuffled(own[name], seed)) for name in sorted(own)]
    return sorted(people, key=lambda person: person.group)


def _lacking(corpus: Corpus, attribute: str | None) -> str:
    """Return what to add to a corpus of which no utterance can be used."""
    table = corpus.table
    have = {"speaker": "a column `speaker`", "text": "a column `text` (what was said)"}
    lost = [words for name, words in have.items() if table[name].null_count() == table.height]
    if attribute is not None and table[attribute].null_count() == table.height:
        lost.append(f"values of `{attribute}`")
    return f"add {' and '.join(lost)}" if lost else "fill them in for the same rows of the manifest"


def _shuffled(utterances: Sequence[Utterance], seed: int) -> tuple[Utterance, ...]:
    def rank(utterance: Utterance) -> bytes:
        return hashlib.sha256(f"{seed}\0{utterance.id}".encode("utf-8", "surrogatepass")).digest()

    return tuple(sorted(utterances, key=rank))


# What is kept in the folder


def _write(folder: Path, found: Breaking) -> None:
    document = asdict(found)
    del document["heard"]
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    write_atomically(folder / RECORD, lambda path: path.write_text(text, encoding="utf-8"))


def _read(folder: Path) -> Breaking:
    """Return what a folder keeps; one that is damaged, or of another version, is refused."""
    path = folder / RECORD
    if not path.is_file():
        raise refuse(
            "not_asked", f"no {RECORD} in this folder: no breaking points were looked for", about=str(folder)
        )
    try:
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
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise refuse(
            "unreadable", f"{RECORD} cannot be read ({one_line(error, 100)})", about=str(folder)
        ) from error


_SPEAKER = ("recognizer", "speaker", "group", "value", "never", "always", "trials")


# What is said of it


def _answer(found: Breaking) -> Answer:
    words = _Words(found.axis, found.attribute)
    differences = (_difference_table(found, words),) if found.differences else ()
    return Answer(
        audit=NAME,
        title=TITLE,
        question=found.question,
        findings=(
            *(words.point(point) for point in found.points),
            *(words.difference(one) for one in found.differences),
        ),
        tables=Tables((_point_table(found, words), *differences, _speaker_table(found, words))),
        notes=(
            *found.notes,
            Note("trials", f"{found.trials:,} trials were heard", {"trials": found.trials}),
        ),
        refusals=_refusals(found),
        lead=(
            "A speaker's breaking point is the setting at which so many words are wrong, found by a staircase; a"
            " group's is the mean over its speakers, with a 95 % interval. Groups are compared by permuting speakers,"
            " with Holm's correction over all comparisons."
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
    def scenario(self) -> str:
        return ":".join(filter(None, (self.axis.perturbation, self.axis.fixed)))

    @property
    def under(self) -> str:
        return f"under {spoken(self.axis.perturbation)}{f' ({self.axis.fixed})' if self.axis.fixed else ''}"

    def value(self, value: float) -> str:
        return f"{self.axis.number(value)} {self.unit}"

    def group(self, group: str) -> str:
        return group if self.attribute is None else f"{group} ({self.attribute})"

    def point(self, point: Point) -> Finding:
        verdict: Verdict = "refused" if point.why_not in ("too_few_speakers", NO_HARM) else "measured"
        low, high = point.low, point.high
        if verdict == "measured" and point.value is None:
            # Beyond an end of the range: that much is known.
            end = self.axis.harsh if point.why_not == NEVER else self.axis.mild
            above = (self.axis.harsh > self.axis.mild) == (point.why_not == NEVER)
            low, high = (end, None) if above else (None, end)
        group = None if self.attribute is None else point.group
        return Finding(
            id=finding_id(NAME, point.recognizer, self.scenario, self.attribute, group, "breaking_point"),
            measure="breaking_point",
            verdict=verdict,
            code=point.why_not if verdict == "refused" else None,
            sentence=self._point_sentence(point),
            estimate=point.value,
            low=low,
            high=high,
            unit=self.unit,
            recognizer=point.recognizer,
            scenario=self.scenario,
            attribute=self.attribute,
            group=group,
            speakers=point.speakers,
        )

    def _point_sentence(self, point: Point) -> str:
        who = self.group(point.group)
        level = f"{100 * point.level:.0f} % of the words wrong {self.under}"
        aside = "; ".join(
            [
                f"{who}, {counted(point.speakers, 'speaker')}"
                if self.attribute
                else f"{point.speakers} speakers",
                *([f"{point.never} of them never"] if point.never else []),
                *([f"{point.always} of them at the mild end already"] if point.always else []),
            ]
        )
        if point.value is not None and point.low is not None and point.high is not None:
            beyond = " or beyond" if {point.low, point.high} & {self.axis.mild, self.axis.harsh} else ""
            limits = f"{self.axis.number(point.low)} to {self.axis.number(point.high)}{beyond}"
            return f"{point.recognizer} gets {level} at {self.value(point.value)} ({limits}): {aside}."
        if point.why_not == NEVER:
            return (
                f"{point.recognizer} does not get {level} as far as {self.value(self.axis.harsh)}: {aside}."
            )
        if point.why_not == NO_HARM:
            return (
                f"{point.recognizer} has no breaking point {self.under} for {who}:"
                f" {self.value(self.axis.harsh)} is no harder than {self.value(self.axis.mild)}."
            )
        if point.why_not == "too_few_speakers":
            return (
                f"{point.recognizer} has no breaking point {self.under} for {who}:"
                f" {counted(point.speakers, 'speaker')}, and at least {FEWEST_SPEAKERS} are needed."
            )
        return f"{point.recognizer} gets {level} at {self.value(self.axis.mild)} already: {aside}."

    def difference(self, one: Difference) -> Finding:
        none = 1.0 if self.axis.log else 0.0
        verdict: Verdict = "shown" if one.shown else "not_shown"

        def distance(limit: float) -> float:
            return abs(math.log(limit)) if self.axis.log else abs(limit)

        ratio = "ratio" if self.axis.log else "difference"
        measure = f"breaking_point_{ratio}"
        return Finding(
            id=finding_id(
                NAME, one.recognizer, self.scenario, self.attribute, one.group, one.against, measure
            ),
            measure=measure,
            verdict=verdict,
            sentence=self._difference_sentence(one, none),
            estimate=one.value,
            low=one.low,
            high=one.high,
            unit="ratio" if self.axis.log else self.unit,
            p=one.p,
            p_adjusted=one.p_adjusted,
            family=FAMILY,
            recognizer=one.recognizer,
            scenario=self.scenario,
            attribute=self.attribute,
            group=one.group,
            against=one.against,
            speakers=one.speakers,
            speakers_against=one.speakers_against,
            excludes=None if one.shown else max(one.low, one.high, key=distance),
        )

    def _difference_sentence(self, one: Difference, none: float) -> str:
        size = f"{one.value:.2f} times ({one.low:.2f} to {one.high:.2f})"
        if not self.axis.log:
            size = f"{one.value:+.1f} {self.unit} ({one.low:+.1f} to {one.high:+.1f})"
        sure = f"{size}, {p_value(one.p_adjusted)}"
        if not one.shown:
            return (
                f"Whether {one.recognizer} breaks sooner for {self.group(one.group)} or for {one.against}"
                f" {self.under} is not shown: {sure}."
            )
        sooner = (one.value < none) == (self.axis.harsh > self.axis.mild)
        return (
            f"{one.recognizer} breaks {'sooner' if sooner else 'later'} for {self.group(one.group)} than for"
            f" {one.against} {self.under}: {sure}."
        )


_FIELDS = (
    *("recognizer", "scenario", "attribute", "group", "against", "estimate", "low", "high", "unit"),
    *("p", "p_adjusted", "family", "verdict", "code", "speakers", "speakers_against"),
)


def _row(finding: Finding, **more: Any) -> dict[str, Any]:
    return {name: getattr(finding, name) for name in _FIELDS} | more


def _point_table(found: Breaking, words: _Words) -> Table:
    unit = found.axis.unit
    what = spoken(found.axis.parameter) + ("" if unit in ("", found.axis.parameter) else f", {unit}")
    rows = [
        _row(
            words.point(one),
            group=one.group,
            level=one.level,
            never=one.never,
            always=one.always,
            breaking_point=_cell(one, words),
        )
        for one in found.points
    ]
    return tabulate(
        "points",
        f"Breaking points {words.under}: {what} (95 % interval over speakers)",
        rows,
        [
            ("recognizer",),
            ("group",),
            ("level", "WER that is breaking", "percent"),
            ("breaking_point", what),
            ("speakers", "speakers", "count"),
            ("never", "never broken", "count"),
            ("always", "always broken", "count"),
        ],
    )


def _cell(point: Point, words: _Words) -> str:
    """Return a breaking point as the table shows it, with as many decimals as its axis has."""
    number = words.axis.number
    if point.value is not None and point.low is not None and point.high is not None:
        return f"{number(point.value)} ({number(point.low)} to {number(point.high)})"
    if point.why_not in ("too_few_speakers", NO_HARM):
        return "-"
    end = words.axis.harsh if point.why_not == NEVER else words.axis.mild
    return f"{'beyond' if point.why_not == NEVER else 'before'} {number(end)}"


def _difference_table(found: Breaking, words: _Words) -> Table:
    rows = [_row(words.difference(one)) for one in found.differences]
    what = "ratio" if found.axis.log else f"difference, {words.unit}"
    return tabulate(
        "differences",
        "Groups compared",
        rows,
        [
            ("recognizer",),
            ("group",),
            ("against",),
            ("estimate", what, "ratio", "low", "high"),
            ("p_adjusted", "p, adjusted", "p"),
            ("verdict",),
        ],
    )


def _speaker_table(found: Breaking, words: _Words) -> Table:
    columns = [("recognizer",), ("speaker",), ("group",), ("value", words.unit, "number")]
    shown = [*columns, ("never", "never broken"), ("always", "always broken"), ("trials", "trials", "count")]
    rows = pl.DataFrame([dict(one) for one in found.speakers], infer_schema_length=None)
    return tabulate("speakers", "Breaking points of speakers", rows, shown, folded=True)


def _refusals(found: Breaking) -> tuple[Refusal, ...]:
    refusals = []
    for name in dict.fromkeys(point.recognizer for point in found.points):
        own = [point for point in found.points if point.recognizer == name]
        if own[0].why_not == NO_HARM:
            rise = found.rises.get(name)
            by = "" if rise is None else f" ({100 * rise:+.0f} points)"
            text = f"{found.axis.text(1.0)} is no harder than {found.axis.text(0.0)}{by}"
            refusals.append(Refusal(NO_HARM, name, text, {"rise": rise}, see=("ends",)))
        few = [point for point in own if point.why_not == "too_few_speakers"]
        if few:
            text = f"{listed(f'{one.group} ({one.speakers})' for one in few)}: at least {FEWEST_SPEAKERS} are needed"
            facts = {"groups": {one.group: one.speakers for one in few}, "needed": FEWEST_SPEAKERS}
            refusals.append(Refusal("too_few_speakers", name, f"speakers of {text}", facts))
    return tuple(refusals)
