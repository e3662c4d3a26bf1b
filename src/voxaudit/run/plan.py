"""The plan: which trials a run consists of, and which of them are still to be heard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from voxaudit.audio import AudioError, content_hash
from voxaudit.corpus import Corpus, Utterance
from voxaudit.files import RemoteError, stamp, url_of
from voxaudit.perturb import CLEAN, Scenario
from voxaudit.recognize import AnswersById, Recognizer
from voxaudit.run.store import Store
from voxaudit.run.trial import Outcome, Trial, recognizer_digest, trial_key

CHUNK = 128
"""Utterances that are looked up at a time: memory stays the same for any corpus."""


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

    def trials_of(self, recognizer: str) -> int:
        """Return how many trials a recognizer has."""
        return sum(len(corpus) * len(scenarios) for corpus, scenarios in self.parts_of(recognizer))

    def parts_of(self, recognizer: str) -> list[tuple[Corpus, tuple[Scenario, ...]]]:
        """Return the corpora a recognizer hears, each with its scenarios."""
        clean = (self.corpus, self.scenarios_of(recognizer))
        if isinstance(self.recognizers[recognizer], AnswersById):
            return [clean]
        return [clean, *((corpus, (Scenario(role, None),)) for role, corpus in self.natural.items())]


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some utterances' trials: those to be heard, those known to fail without hearing, and how many are done."""

    trials: list[Trial]
    failed: list[Outcome]
    finished: int


def unfinished(plan: Plan, recognizer: str, store: Store, *, retry_failed: bool) -> Iterator[Chunk]:
    """Yield what the store lacks of one recognizer's trials, a chunk of utterances at a time."""
    for corpus, scenarios in plan.parts_of(recognizer):
        yield from _unfinished(plan, corpus, scenarios, recognizer, store, retry_failed)


def _unfinished(
    plan: Plan,
    corpus: Corpus,
    scenarios: tuple[Scenario, ...],
    recognizer: str,
    store: Store,
    retry_failed: bool,
) -> Iterator[Chunk]:
    digest = recognizer_digest(plan.recognizers[recognizer].fingerprint())
    by_id = isinstance(plan.recognizers[recognizer], AnswersById)
    utterances = iter(corpus)
    while some := list(islice(utterances, CHUNK)):
        hashes = {} if by_id else hash_recordings(store, sorted({str(utterance.audio) for utterance in some}))
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


def hash_recordings(store: Store, paths: Sequence[str]) -> dict[str, str]:
    """Return {path: content hash}, or {path: "audio: reason"} for a recording that cannot be read."""
    known = store.audio_hashes(paths)
    hashes, fresh = {}, []
    for path in paths:
        try:
            state = _state(path)
            if path in known and known[path][:2] == state:
                hashes[path] = known[path][2]
            else:
                hashes[path] = content_hash(path)
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
