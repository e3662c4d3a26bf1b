"""The search for stuttered test cases that recognizers disagree on and people still understand (ASTER, Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path

from voxaudit.align import Timings, align_corpus
from voxaudit.audio import AudioError
from voxaudit.corpus import Corpus, Utterance
from voxaudit.errors import VoxauditError, one_line
from voxaudit.options import RunOptions
from voxaudit.perturb import CLEAN, trial_generator
from voxaudit.perturb.stutter import (
    KINDS,
    SEVERITIES,
    Chain,
    Clip,
    StutterError,
    applicable,
    check_kinds,
    sample_operation,
)
from voxaudit.perturb.stutter.recordings import Recording
from voxaudit.perturb.stutter.scenarios import StutterScenarios
from voxaudit.recognize import Recognizer, Transcript
from voxaudit.run.session import Session
from voxaudit.score.meaning import MINILM, Meaning
from voxaudit.score.normalize import Normalizer, normalizer

SELECTIONS = ("moo", "random")
NORMALIZER = "keep-fillers"
"""Fillers stay when text is normalized here: deleting them would hide what interjections do."""


@dataclass(frozen=True)
class Settings:
    """How the search goes (Liu et al. 2023, Algorithm 1).

    `budget` is the number of new cases per utterance, `kinds` are those of stuttering (the paper's mutators);
    `selection` keeps the Pareto front (`moo`) or everything (`random`) as seeds; a transcript less similar than
    `threshold` to what the recognizer said of the original is suspicious; `severity` 1 to 4 limits how strong a moment
    of stuttering is (None: the paper's whole range).
    """

    budget: int = 50
    kinds: tuple[str, ...] = tuple(KINDS)
    selection: str = "moo"
    seed: int = 0
    threshold: float = 0.8
    severity: int | None = None
    embeddings: str = MINILM

    def __post_init__(self) -> None:
        if not 1 <= self.budget <= 10_000:
            raise VoxauditError(
                f"the budget must be from 1 to 10,000 cases per utterance, not {self.budget}", see=("budget",)
            )
        if self.seed < 0:
            raise VoxauditError(f"seed must be at least 0, not {self.seed}")
        if self.selection not in SELECTIONS:
            raise VoxauditError(f"unknown selection '{self.selection}'. Choose moo or random")
        if self.severity is not None and self.severity not in SEVERITIES:
            raise VoxauditError(f"severity must be from 1 to {len(SEVERITIES)}, not {self.severity}")
        if not 0.0 < self.threshold <= 1.0:
            raise VoxauditError(f"the threshold must be above 0 and at most 1, not {self.threshold:g}")
        check_kinds(self.kinds)


@dataclass(frozen=True)
class Case:
    """One test case and what became of it.

    `chain` replays it from the original; `parent` is the chain it was made from, `kind` the stuttering added to that.
    `surface` is what a listener would write down, with the repetitions. `transcripts` are as returned, None where a
    recognizer failed. `m1` is the mean pairwise similarity of the transcripts (Eq. 1), `m2` the similarity of the
    surface text to the intended one (Eq. 2). `similarity` compares each transcript with the same recognizer's
    transcript of the original.
    """

    utterance: str
    speaker: str | None
    chain: str
    parent: str
    kind: str
    intended: str
    surface: str
    transcripts: Mapping[str, str | None]
    m1: float
    m2: float
    similarity: Mapping[str, float] = field(default_factory=dict)
    kept: bool = False

    def suspicious(self, threshold: float) -> tuple[str, ...]:
        """Return the recognizers whose transcript no longer says the same."""
        return tuple(name for name, value in self.similarity.items() if value < threshold)


def align_recordings(
    corpus: Corpus,
    recognizers: Mapping[str, Recognizer],
    folder: Path,
    options: RunOptions,
    given: Mapping[str, Timings | str],
) -> tuple[list[Recording], dict[str, str]]:
    """Align what no other aligner did; texts that are missing are taken from the first recognizer's transcripts."""
    utterances = list(corpus)
    brought = {u.id: timings for u in utterances if (timings := _brought(u, given)) is not None}
    if given and not brought:
        raise VoxauditError(
            f"none of the {len(given)} timings is called like an utterance or its audio file"
            f" (first: '{one_line(next(iter(given)), 60)}')"
        )
    rest = [u for u in utterances if u.id not in brought]
    texts = {id_: timings.text for id_, timings in brought.items() if isinstance(timings, Timings)}
    texts |= {u.id: u.text for u in utterances if u.text}
    untold = [u for u in rest if not u.text]
    if untold:
        name, first = next(iter(recognizers.items()))
        with Session(folder, {name: first}, StutterScenarios({}), options) as session:
            heard = session.hear([(u, CLEAN) for u in untold])[name]
        texts |= {
            u.id: o.transcript.text for u, o in zip(untold, heard, strict=True) if o.transcript is not None
        }
    normalize = normalizer(NORMALIZER)
    recordings, skipped = [], {}
    found = dict(brought)
    if rest:
        found |= {u.id: answer for u, answer in align_corpus(rest, texts=texts, workers=options.processes)}
    for utterance in utterances:
        timings, text = found[utterance.id], texts.get(utterance.id, "")
        if isinstance(timings, str):
            skipped[utterance.id] = timings
        elif utterance.id in brought and normalize(timings.text) != normalize(text):
            skipped[utterance.id] = "the timings that were given have other words than the text"
        else:
            recordings.append(Recording(utterance, timings, text))
    return recordings, skipped


def _brought(utterance: Utterance, given: Mapping[str, Timings | str]) -> Timings | str | None:
    whole = utterance.start == 0 and utterance.duration is None
    return given.get(utterance.id) or (given.get(utterance.audio.stem) if whole else None)


def heard_alike(
    recordings: Sequence[Recording], session: Session, skipped: dict[str, str]
) -> list[Recording]:
    """Return the recordings that all recognizers hear as their text; `skipped` gets the others."""
    normalize = normalizer(NORMALIZER)
    heard = session.hear([(r.utterance, CLEAN) for r in recordings])
    kept = []
    for number, recording in enumerate(recordings):
        said = {_text(outcomes[number].transcript, normalize) for outcomes in heard.values()}
        if said == {normalize(recording.text)}:
            kept.append(recording)
        else:
            skipped[recording.utterance.id] = "the recognizers do not all hear the original as its text"
    if not kept:
        raise VoxauditError("no recording is heard alike by all recognizers", see=("only_agreed",))
    return kept


@dataclass(frozen=True)
class Found:
    """What a search found: all cases in the order they were made, and the transcripts of the originals."""

    cases: tuple[Case, ...]
    originals: Mapping[str, Mapping[str, str | None]]
    skipped: Mapping[str, str]


def search(
    recordings: Sequence[Recording],
    session: Session,
    meaning: Meaning,
    settings: Settings,
    *,
    clips: Sequence[Clip] = (),
    progress: Callable[[int], None] | None = None,
) -> Found:
    """Make `settings.budget` new cases of every recording and hear them.

    All recordings go forward together, a case of each at a time, so that the recognizers are kept busy. What is drawn
    depends on the seed, the recording and the transcripts only: a search that was stopped goes on to the same end.
    """
    normalize = normalizer(NORMALIZER)
    heard = session.hear([(recording.utterance, CLEAN) for recording in recordings])
    pools: list[_Pool] = []
    skipped: dict[str, str] = {}
    originals: dict[str, dict[str, str | None]] = {}
    for number, recording in enumerate(recordings):
        said = {name: _text(outcomes[number].transcript, normalize) for name, outcomes in heard.items()}
        id_ = recording.utterance.id
        originals[id_] = said
        kinds = [kind for kind in settings.kinds if kind in applicable(recording.timings, clips)]
        if not kinds:
            skipped[id_] = f"no place for {', '.join(settings.kinds)} in this recording"
            continue
        if all(text is None for text in said.values()):
            skipped[id_] = "no recognizer answered on the original"
            continue
        try:
            pools.append(_Pool(recording, kinds, said, normalize(recording.text), meaning))
        except AudioError as error:
            skipped[id_] = str(error)
    cases: list[Case] = []
    for turn in range(settings.budget):
        made = []
        for pool in pools:
            id_ = pool.recording.utterance.id
            generator = trial_generator(settings.seed, f"stutter:{settings.selection}:{turn}", id_)
            parent = pool.seeds[int(generator.integers(len(pool.seeds)))]
            kind = pool.kinds[int(generator.integers(len(pool.kinds)))]
            try:
                operation = sample_operation(
                    kind, pool.recording.timings, generator, settings.severity, clips=clips
                )
                chain = Chain.parse(parent.chain).then(operation)
                surface = normalize(pool.after(chain, clips).surface)
            except StutterError:
                continue  # a place that an earlier edit used up: this turn is lost, the next draws anew
            made.append((pool, parent, kind, str(chain), surface))
        asked = [(pool.recording.utterance, case) for pool, _, _, case, _ in made]
        answers = session.hear(asked)
        for number, (pool, parent, kind, case, surface) in enumerate(made):
            texts = {
                name: _text(outcomes[number].transcript, normalize) for name, outcomes in answers.items()
            }
            cases.append(pool.case(case, parent.chain, kind, surface, texts))
            pool.update(cases[-1], keep_all=settings.selection == "random")
        if progress is not None:
            progress(len(pools))
    kept = {(pool.recording.utterance.id, seed.chain) for pool in pools for seed in pool.seeds}
    marked = tuple(replace(case, kept=(case.utterance, case.chain) in kept) for case in cases)
    return Found(marked, originals, skipped)


def agreement(texts: Sequence[str], meaning: Meaning) -> float:
    """Return the mean pairwise similarity of transcripts, `M1` (Eq. 1); 1 where there is but one."""
    pairs = list(combinations(texts, 2))
    if not pairs:
        return 1.0
    meaning.add(texts)
    return sum(meaning.similarity(*pair) for pair in pairs) / len(pairs)


def front(points: Sequence[tuple[float, float]]) -> list[bool]:
    """Say of each (m1, m2) whether it lies on the Pareto front: no other has a smaller m1 and a larger m2 (Eq. 4)."""
    return [not any(m1 < own1 and m2 > own2 for m1, m2 in points) for own1, own2 in points]


class _Pool:
    """The seeds of one recording."""

    def __init__(
        self,
        recording: Recording,
        kinds: Sequence[str],
        original: Mapping[str, str | None],
        intended: str,
        meaning: Meaning,
    ) -> None:
        self.recording, self.kinds = recording, kinds
        self._audio = recording.audio()
        self._original, self._intended, self._meaning = original, intended, meaning
        self.seeds = [self.case("", "", "", intended, original)]

    def after(self, chain: Chain, clips: Sequence[Clip]) -> Timings:
        """Return the timings after a chain."""
        _, timings = chain(self._audio.samples, self._audio.rate, self.recording.timings, clips)
        return timings

    def update(self, case: Case, *, keep_all: bool) -> None:
        """Put a case among the seeds; unless all are kept, those that another one dominates leave."""
        if not any(seed.chain == case.chain for seed in self.seeds):
            self.seeds.append(case)
        if not keep_all:
            on_front = front([(seed.m1, seed.m2) for seed in self.seeds])
            self.seeds = [seed for seed, stays in zip(self.seeds, on_front, strict=True) if stays]

    def case(self, chain: str, parent: str, kind: str, surface: str, texts: Mapping[str, str | None]) -> Case:
        """Return the case with its two objectives and how much each recognizer still says the same."""
        answered = [text for text in texts.values() if text is not None]
        similarity = {
            name: self._meaning.similarity(text, before)
            for name, text in texts.items()
            if text is not None and (before := self._original[name]) is not None
        }
        # With one recognizer there is nobody to disagree with: it is compared with itself before.
        m1 = agreement(answered, self._meaning) if len(texts) > 1 else min(similarity.values(), default=1.0)
        utterance = self.recording.utterance
        return Case(
            utterance.id,
            utterance.speaker,
            chain,
            parent,
            kind,
            self._intended,
            surface,
            dict(texts),
            m1,
            self._meaning.similarity(surface, self._intended),
            similarity,
        )


def _text(transcript: Transcript | None, normalize: Normalizer) -> str | None:
    return None if transcript is None else normalize(transcript.text)
