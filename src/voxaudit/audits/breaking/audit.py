"""The breaking-point audit: one staircase a speaker and recognizer, then groups of speakers compared."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from voxaudit.audits.breaking.axes import Axis, Settings, find_axis
from voxaudit.audits.breaking.result import Breaking, Difference, Point, adjust, summarize_groups
from voxaudit.audits.breaking.tracks import Ask, Track, misfit, order_of_harm, run_tracks, thresholds
from voxaudit.corpus import Corpus, Utterance
from voxaudit.errors import VoxauditError
from voxaudit.options import ON_DEMAND, RunOptions, takes_options
from voxaudit.perturb import CLEAN
from voxaudit.perturb.sources import Source, open_sources
from voxaudit.recognize import AnswersById
from voxaudit.registry import suggest
from voxaudit.run.runner import RecognizerLike, named_recognizers
from voxaudit.run.session import Session
from voxaudit.score.normalize import Normalizer
from voxaudit.score.normalize import normalizer as find_normalizer
from voxaudit.score.table import score_columns
from voxaudit.stats.psychometric import FloatArray
from voxaudit.tables import write_atomically

FINDINGS = "breaking.json"
ALL = "all speakers"
FEWEST_TRIALS = 4
"""Trials of a speaker below which there is no threshold: the two ends and a few between."""


@dataclass(frozen=True)
class Speaker:
    """A speaker, the group, and the utterances in the order in which they are heard."""

    name: str
    group: str
    utterances: tuple[Utterance, ...]


@takes_options(*ON_DEMAND)
def breaking_points(
    corpus: Corpus,
    recognizers: Sequence[RecognizerLike] | Mapping[str, RecognizerLike],
    perturbation: str = "gaussian_noise",
    *,
    out: str | Path,
    parameter: str | None = None,
    ends: tuple[float, float] | None = None,
    level: float = 0.5,
    rise: float | None = None,
    attribute: str | None = None,
    budget: int = 12,
    normalizer: str = "basic",
    sources: Mapping[str, Source | str | Path] | None = None,
    progress: Callable[[int], None] | None = None,
    options: RunOptions | None = None,
    **given: Any,
) -> Breaking:
    """Find the setting of a perturbation at which the word error rate reaches `level`, for the groups of `attribute`.

    Every speaker gets a staircase of `budget` trials a recognizer. With `rise`, the level is what the group's clean
    speech has plus `rise` (both shares of words). `ends` are the parameter's mild and harsh end where they are not
    the usual ones. The folder `out` holds the store and `breaking.json`; the same call again hears nothing twice.
    `progress` is called with numbers of trials. The options of a run are those of `RunOptions`, together or by name
    (`workers=2`).
    """
    options = RunOptions.of(options, **given)
    options.require_on_demand()
    if not 0.0 < level < 1.0:
        raise VoxauditError(f"level must lie between 0 and 1 (a share of words), not {level:g}")
    if rise is not None and not 0.0 < rise < 1.0:
        raise VoxauditError(f"rise must lie between 0 and 1 (a share of words), not {rise:g}")
    if budget < FEWEST_TRIALS:
        raise VoxauditError(f"budget must be at least {FEWEST_TRIALS} trials a speaker, not {budget}")
    opened = open_sources(sources or {}, {perturbation.partition(":")[0]}, corpus)
    axis = find_axis(perturbation, parameter, ends=ends, sources=opened)
    rule = find_normalizer(normalizer)
    people = _speakers(corpus, attribute, rule, options.seed)
    named = named_recognizers(recognizers)
    points: list[Point] = []
    differences: list[Difference] = []
    rows: list[dict[str, Any]] = []
    warnings: list[str] = []
    trials = heard = 0
    for name, recognizer in named.items():
        if isinstance(recognizer, AnswersById):
            raise VoxauditError(
                f"recognizer '{name}' only looks up transcripts; a staircase needs one that listens"
            )
        one = {name: recognizer}
        with Session(Path(out), one, Settings(opened), options) as session:
            ear = _Ear(session, name, people, axis, rule, progress or (lambda _: None))
            levels = _levels(people, level, rise, ear)
            tracks = run_tracks([levels[person.group] for person in people], budget, ear.ask)
            trials, heard = trials + ear.trials, heard + session.heard
        found = _judge(name, axis, people, tracks, levels, np.random.Generator(np.random.PCG64(options.seed)))
        points += found.points
        differences += found.differences
        rows += found.rows
        warnings += found.warnings
    result = Breaking(
        axis, attribute, tuple(points), adjust(differences), tuple(rows), tuple(warnings), trials, heard
    )
    document = json.dumps(result.findings, indent=1, ensure_ascii=False) + "\n"
    write_atomically(Path(out) / FINDINGS, lambda path: path.write_text(document, encoding="utf-8"))
    return result


@dataclass
class _Ear:
    """One recognizer that hears speakers at places on the axis, and counts."""

    session: Session
    name: str
    people: Sequence[Speaker]
    axis: Axis
    rule: Normalizer
    tell: Callable[[int], None]
    trials: int = 0

    @property
    def ask(self) -> Ask:
        """How the tracks ask: a speaker's utterances take turns."""

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
        self.tell(len(trials))
        good = [outcome.transcript is not None for outcome in outcomes]
        texts = [outcome.transcript.text if outcome.transcript else "" for outcome in outcomes]
        references = [utterance.text or "" for utterance, _ in trials]
        counts = score_columns(pl.Series(references), pl.Series(texts), self.rule)
        wrong = counts["substitutions"] + counts["deletions"] + counts["insertions"]
        heard = np.array(good, dtype=np.float64)
        return wrong.to_numpy() * heard, counts["words"].to_numpy() * heard


@dataclass(frozen=True)
class _Found:
    points: list[Point]
    differences: list[Difference]
    rows: list[dict[str, Any]]
    warnings: list[str]


def _judge(
    name: str,
    axis: Axis,
    people: Sequence[Speaker],
    tracks: Sequence[Track],
    levels: Mapping[str, float],
    generator: np.random.Generator,
) -> _Found:
    """Return what one recognizer's tracks say."""
    usable = [number for number, track in enumerate(tracks) if len(track) >= FEWEST_TRIALS]
    if not usable:
        raise VoxauditError(
            f"recognizer '{name}' answered almost nothing: see the failures in the folder's store"
        )
    places = np.full(len(people), np.nan)
    warnings = []
    for value in sorted(set(levels.values())):
        own = [number for number in usable if levels[people[number].group] == value]
        if own:
            places[own] = thresholds([tracks[number] for number in own], value)
            fall = misfit([tracks[number] for number in own], places[own])
            if fall > 0.0:
                warnings.append(
                    f"{name}: errors do not only rise along {axis.parameter}: they fall by {100 * fall:.0f} points"
                    " somewhere, so that there may be several breaking points"
                )
    rise, t = order_of_harm([tracks[number] for number in usable])
    refused = ""
    if not rise > 0.0 or t < 2.0:
        refused = (
            f"{axis.text(1.0)} is no harder than {axis.text(0.0)}"
            f" ({100 * rise:+.0f} points): turn the range round or widen it"
        )
    groups = {
        group: places[[n for n in usable if people[n].group == group]]
        for group in dict.fromkeys(person.group for person in people)
    }
    points, differences = summarize_groups(name, axis, groups, levels, refused, generator)
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
        warnings.append(
            f"{name}: {lost} speakers left out, fewer than {FEWEST_TRIALS} of their trials were answered"
        )
    return _Found(points, differences, rows, warnings)


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
                " points more are out of reach. Take a smaller rise"
            )
        levels[group] = clean + rise
    return levels


def _speakers(corpus: Corpus, attribute: str | None, rule: Normalizer, seed: int) -> list[Speaker]:
    where = corpus.source or corpus.name
    if attribute is not None and attribute not in corpus.attributes:
        raise VoxauditError(
            f"{where}: no attribute '{attribute}'.{suggest(attribute, corpus.attributes)}"
            f" Attributes there: {', '.join(corpus.attributes) or 'none'}"
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
                " speaker: choose an attribute of the speaker"
            )
        own.setdefault(utterance.speaker, []).append(utterance)
    if not own:
        raise VoxauditError(
            f"{where}: no utterance has a speaker, a reference text and a group. Breaking points are per speaker:"
            f" {_lacking(corpus, attribute)}"
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
