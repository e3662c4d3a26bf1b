"""The plan: which trials a run consists of, and which of them are still to be heard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from itertools import islice
from pathlib import Path

import polars as pl

from voxaudit.audio import AudioError, content_hash, require_size
from voxaudit.corpus import Corpus, Utterance, base_language
from voxaudit.files import RemoteError, stamp, url_of
from voxaudit.options import Limits
from voxaudit.perturb import CLEAN, Scenario
from voxaudit.perturb.given import Given
from voxaudit.recognize import AnswersById, Recognizer
from voxaudit.run.order import balanced
from voxaudit.run.store import Store
from voxaudit.run.trial import Outcome, Trial, recognizer_digest, trial_key

CHUNK = 32
"""Utterances that are looked up at a time: memory stays the same for any corpus, and answers that come in meanwhile
are not left uncommitted for long."""


@dataclass(frozen=True)
class Plan:
    """The grid of a run: every utterance, under every scenario, heard by every recognizer.

    `natural` holds further corpora by role: each is a scenario of its own, heard as it is.
    """

    corpus: Corpus
    recognizers: dict[str, Recognizer]
    scenarios: tuple[Scenario, ...]
    seed: int = 0
    natural: Mapping[str, Corpus] = field(default_factory=dict)

    def scenarios_of(self, recognizer: str) -> tuple[Scenario, ...]:
        """Return the scenarios a recognizer can answer: transcripts from a file are of clean speech only."""
        if isinstance(self.recognizers[recognizer], AnswersById):
            return tuple(scenario for scenario in self.scenarios if scenario.id == CLEAN)
        return self.scenarios

    def scenarios_by_id(self, recognizer: str) -> dict[str, Scenario]:
        """Return all that a recognizer hears, natural scenarios too, by id."""
        return {scenario.id: scenario for _, part in self.parts_of(recognizer) for scenario in part}

    def by_language(self, recognizer: str) -> list[Plan]:
        """Return the part of a recognizer, or one for each language where it can be told which one is spoken."""
        told = self.recognizers[recognizer]
        parts = [self.corpus, *self.natural.values()]
        known = [part.table["language"] for part in parts if "language" in part.table.columns]
        languages = sorted({one for some in known for one in some.drop_nulls().unique().to_list()})
        if not languages or in_language(told, languages[0]) is told:
            return [replace(self, recognizers={recognizer: told})]
        plans = [
            Plan(
                _speaking(self.corpus, language),
                {recognizer: in_language(told, language)},
                self.scenarios,
                self.seed,
                {role: _speaking(part, language) for role, part in self.natural.items()},
            )
            for language in (*languages, None)
        ]
        return [plan for plan in plans if plan.trials_of(recognizer)]

    def trials_of(self, recognizer: str) -> int:
        """Return how many trials a recognizer has."""
        return sum(len(corpus) * len(scenarios) for corpus, scenarios in self.parts_of(recognizer))

    def parts_of(self, recognizer: str) -> list[tuple[Corpus, tuple[Scenario, ...]]]:
        """Return the corpora a recognizer hears, each with its scenarios; speech in a language it lacks is left out."""
        told = self.recognizers[recognizer]
        corpus, scenarios = _known_to(told, self.corpus), self.scenarios_of(recognizer)
        given = {one: one.perturbation for one in scenarios if isinstance(one.perturbation, Given)}
        clean = (corpus, tuple(one for one in scenarios if one not in given))
        if isinstance(told, AnswersById):
            return [clean]
        ids = pl.col("id")
        made = [
            (replace(corpus, table=corpus.table.filter(ids.is_in(list(by.source.files)))), (one,))
            for one, by in given.items()
        ]
        natural = ((_known_to(told, corpus), role) for role, corpus in self.natural.items())
        return [clean, *made, *((corpus, (Scenario(role, None),)) for corpus, role in natural)]


def in_language(recognizer: Recognizer, language: str | None) -> Recognizer:
    """Return a recognizer that is told what is spoken (`es`, also of `es-MX`), where it can be and was told nothing.

    That is where it has an empty setting `language`, unless its `takes_language` is false.

    >>> from voxaudit.recognize import make_recognizer
    >>> in_language(make_recognizer("openai:language="), "es-MX").language
    'es'
    """
    unset = is_dataclass(recognizer) and getattr(recognizer, "language", None) == ""
    if language is None or not unset or not getattr(recognizer, "takes_language", True):
        return recognizer
    told: Recognizer = replace(recognizer, language=base_language(language))  # type: ignore[type-var]
    return told


def languages_of(recognizer: Recognizer) -> tuple[str, ...]:
    """Return the only languages that a recognizer knows (its attribute `languages`); empty where it may know any.

    >>> from voxaudit.recognize import make_recognizer
    >>> languages_of(make_recognizer("pocketsphinx")), languages_of(make_recognizer("openai"))
    (('en',), ())
    """
    return tuple(getattr(recognizer, "languages", ()))


def _known_to(recognizer: Recognizer, corpus: Corpus) -> Corpus:
    """Return the utterances in a language that a recognizer knows, and those whose language is not known."""
    known = languages_of(recognizer)
    if not known or "language" not in corpus.table.columns:
        return corpus
    spoken = corpus.table["language"]
    foreign = [one for one in spoken.drop_nulls().unique().to_list() if base_language(one) not in known]
    if not foreign:
        return corpus
    return replace(corpus, table=corpus.table.filter(spoken.is_null() | ~spoken.is_in(foreign)))


def _speaking(corpus: Corpus, language: str | None) -> Corpus:
    """Return the utterances of a corpus in a language; None are those whose language is not known."""
    if "language" not in corpus.table.columns:
        return corpus if language is None else replace(corpus, table=corpus.table.clear())
    own = pl.col("language")
    wanted = own.is_null() if language is None else own == language
    return replace(corpus, table=corpus.table.filter(wanted))


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some utterances' trials: those to be heard, those known to fail without hearing, and how many are done."""

    trials: list[Trial]
    failed: list[Outcome]
    finished: int


def unfinished(
    plan: Plan, recognizer: str, store: Store, *, retry_failed: bool, limits: Limits = Limits()
) -> Iterator[Chunk]:
    """Yield what the store lacks of one recognizer's trials, a chunk of utterances at a time."""
    for corpus, scenarios in plan.parts_of(recognizer):
        yield from _unfinished(plan, corpus, scenarios, recognizer, store, retry_failed, limits)


def _unfinished(
    plan: Plan,
    corpus: Corpus,
    scenarios: tuple[Scenario, ...],
    recognizer: str,
    store: Store,
    retry_failed: bool,
    limits: Limits,
) -> Iterator[Chunk]:
    digest = recognizer_digest(plan.recognizers[recognizer].fingerprint())
    by_id = isinstance(plan.recognizers[recognizer], AnswersById)
    utterances = iter(corpus if by_id else balanced(corpus, plan.seed))
    while some := list(islice(utterances, CHUNK)):
        paths = sorted({str(utterance.audio) for utterance in some})
        hashes = {} if by_id else hash_recordings(store, paths, limits)
        done = store.finished(recognizer, [utterance.id for utterance in some], failed=not retry_failed)
        chunk = Chunk([], [], 0)
        finished = 0
        for utterance in some:
            content = hashes.get(str(utterance.audio), "")
            for scenario in scenarios:
                trial = trial_of(utterance, scenario, content, plan.seed, digest)
                if done.get((trial.utterance, trial.scenario)) == trial.key:
                    finished += 1
                elif content.startswith(UNREADABLE):
                    chunk.failed.append(Outcome(trial, None, failure=content))
                else:
                    chunk.trials.append(trial)
        yield Chunk(chunk.trials, chunk.failed, finished)


def trial_of(utterance: Utterance, scenario: Scenario, content: str, seed: int, digest: str) -> Trial:
    """Return the trial of an utterance: `content` is the recording's hash, `digest` the recognizer's."""
    mark = scenario.fingerprint(seed=seed, utterance=utterance.id)
    key = trial_key(content or utterance.id, utterance.start, utterance.duration, mark, digest)
    audio = str(utterance.audio)
    return Trial(utterance.id, scenario.id, audio, utterance.start, utterance.duration, key)


UNREADABLE = "audio: "
"""How the reason starts where a recording cannot be read."""


def hash_recordings(store: Store, paths: Sequence[str], limits: Limits) -> dict[str, str]:
    """Return {path: content hash}, or {path: "audio: reason"} for a recording that cannot be read."""
    known = store.audio_hashes(paths)
    hashes, fresh = {}, []
    for path in paths:
        try:
            state = _state(path)
            if state is not None:
                require_size(path, state[0], limits)
            if path in known and known[path][:2] == state:
                hashes[path] = known[path][2]
            else:
                hashes[path] = content_hash(path, limits)
                if state is not None:
                    fresh.append((path, *state, hashes[path]))
        except (AudioError, RemoteError) as error:
            hashes[path] = f"{UNREADABLE}{error}"
        except OSError as error:
            hashes[path] = f"{UNREADABLE}{path}: {error.strerror or error}"
    if fresh:
        store.add_audio_hashes(fresh)
    return hashes


def _state(path: str) -> tuple[int, int] | None:
    """Return the size of a recording and a number that changes with it; None where nobody can tell."""
    url = url_of(path)
    if url is not None:
        return stamp(url)
    status = Path(path).stat()
    return status.st_size, status.st_mtime_ns
