"""The search for stuttered test cases that recognizers disagree on and that are real (after ASTER, Algorithm 1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from voxaudit.align import Timings, align_corpus
from voxaudit.audio import Audio, AudioError
from voxaudit.corpus import Corpus, Utterance
from voxaudit.errors import VoxauditError, one_line
from voxaudit.options import RunOptions
from voxaudit.perturb import CLEAN, trial_generator
from voxaudit.perturb.stutter.base import Clip, Edit, Operation, StutterError
from voxaudit.perturb.stutter.chain import KINDS, Chain, StutterScenarios
from voxaudit.perturb.stutter.checks import PlaceCheck, own_step, realism, sound_checks
from voxaudit.perturb.stutter.realistic import FILLER_WORDS
from voxaudit.perturb.stutter.recordings import Recording
from voxaudit.perturb.stutter.sample import SEVERITIES, applicable, check_kinds, check_mode, sample_operation
from voxaudit.perturb.stutter.sounds import pitch_of
from voxaudit.recognize import Recognizer
from voxaudit.run.session import Session
from voxaudit.run.trial import Outcome
from voxaudit.score.meaning import MINILM, Meaning
from voxaudit.score.normalize import Normalizer, normalizer

SELECTIONS = ("moo", "random", "random_subset")
TRIES = 6
"""How often an event that fails a check is drawn anew before its turn is given up."""
NORMALIZER = "keep-fillers"
"""Fillers stay when text is normalized here: deleting them would hide what interjections do."""


@dataclass(frozen=True)
class Settings:
    """How the search goes (after Liu et al. 2023, Algorithm 1).

    `budget` is the number of new cases per utterance and seed, `kinds` are those of stuttering (the paper's
    mutators). `mode` is how they are made: `realistic`, as measured, or `aster`, as published. `selection` keeps as
    seeds of further cases the Pareto front (`moo`), everything (`random`), or a random draw from the original and all
    cases, as many as the front has (`random_subset`, the paper's comparison). The front is that of M1 and R under
    weak dominance in the mode `realistic`, of M1 and M2 under strict dominance (Eq. 4) in `aster`. Each of `seeds` is
    a search of its own. A transcript less similar than `threshold` both to what the recognizer said of the original
    and to what is meant is suspicious; `severity` 1 to 4 limits how strong a moment of stuttering is (None: the whole
    range).
    """

    budget: int = 50
    kinds: tuple[str, ...] = tuple(KINDS)
    selection: str = "moo"
    seeds: tuple[int, ...] = (0,)
    threshold: float = 0.8
    severity: int | None = None
    embeddings: str = MINILM
    mode: str = "realistic"

    def __post_init__(self) -> None:
        if not 1 <= self.budget <= 10_000:
            raise VoxauditError(
                f"the budget must be from 1 to 10,000 cases per utterance, not {self.budget}", see=("budget",)
            )
        if not self.seeds or min(self.seeds) < 0:
            raise VoxauditError("seeds must be whole numbers from 0 on", see=("seeds",))
        if self.selection not in SELECTIONS:
            raise VoxauditError(
                f"unknown selection '{self.selection}'. Choose moo, random or random_subset",
                see=("selection",),
            )
        if self.severity is not None and self.severity not in SEVERITIES:
            raise VoxauditError(f"severity must be from 1 to {len(SEVERITIES)}, not {self.severity}")
        if not 0.0 < self.threshold <= 1.0:
            raise VoxauditError(f"the threshold must be above 0 and at most 1, not {self.threshold:g}")
        check_kinds(self.kinds)
        check_mode(self.mode)


@dataclass(frozen=True)
class Case:
    """One test case and what became of it.

    `chain` replays it from the original; `parent` is the chain it was made from, `kind` the stuttering added to that.
    `surface` is what a listener would write down, with the repetitions. `transcripts` are as returned, None where a
    recognizer failed. `m1` is the mean pairwise similarity of the transcripts (Eq. 1), `m2` the similarity of the
    surface text to the intended one (Eq. 2), `r` how unlike real stuttering it is (`checks.realism`; 0 is usual).
    `similarity` compares each transcript with the same recognizer's transcript of the original, `similarity_intended`
    with what is meant.
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
    r: float = 0.0
    similarity_intended: Mapping[str, float] = field(default_factory=dict)
    seed: int = 0

    def suspicious(self, threshold: float) -> tuple[str, ...]:
        """Return the recognizers whose transcript says neither what they heard without stuttering nor what is meant."""
        meant = self.similarity_intended
        return tuple(
            name
            for name, value in self.similarity.items()
            if max(value, meant.get(name, value)) < threshold and self.transcripts[name] != self.intended
        )


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
        if set(_said(heard, number, normalize).values()) == {normalize(recording.text)}:
            kept.append(recording)
        else:
            skipped[recording.utterance.id] = "the recognizers do not all hear the original as its text"
    if not kept:
        raise VoxauditError("no recording is heard alike by all recognizers", see=("only_agreed",))
    return kept


@dataclass(frozen=True)
class Found:
    """What a search found: all cases in the order they were made, and the transcripts of the originals.

    `rejected` counts, by check, the events that failed it and were drawn anew; `drawn` is how many there were in all.
    `placed` says whether words were looked for.
    """

    cases: tuple[Case, ...]
    originals: Mapping[str, Mapping[str, str | None]]
    skipped: Mapping[str, str]
    rejected: Mapping[str, int] = field(default_factory=dict)
    drawn: int = 0
    placed: bool = True


def speakers_fillers(recordings: Sequence[Recording]) -> list[Clip]:
    """Return every um, uh, er and erm that is a word of the recordings, as a filler of its speaker."""
    found = []
    for recording in recordings:
        words = [recording.timings.words[at] for at in recording.timings.intended]
        tokens = [word for word in words if word.text.lower().strip(".,") in FILLER_WORDS]
        if not tokens or recording.utterance.speaker is None:
            continue
        audio = recording.audio()
        for word in tokens:
            sound = audio.samples[round(word.start * audio.rate) : round(word.end * audio.rate)]
            if len(sound) >= 0.08 * audio.rate:
                text = word.text.lower().strip(".,")
                found.append(Clip(text, Audio(sound, audio.rate), recording.utterance.speaker))
    return found


def clips_for(recording: Recording, clips: Sequence[Clip]) -> tuple[Clip, ...]:
    """Return the fillers for a recording: its speaker's own where there are any, else those of no person."""
    own = tuple(
        clip for clip in clips if clip.speaker is not None and clip.speaker == recording.utterance.speaker
    )
    return own or tuple(clip for clip in clips if clip.speaker is None)


def search(
    recordings: Sequence[Recording],
    session: Session,
    meaning: Meaning,
    settings: Settings,
    *,
    clips: Sequence[Clip] = (),
    place: PlaceCheck | None = None,
    progress: Callable[[int], None] | None = None,
) -> Found:
    """Make `settings.budget` new cases of every recording, for each seed, and hear them.

    All recordings go forward together, a case of each at a time, so that the recognizers are kept busy. What is drawn
    depends on the seed, the recording and the transcripts only: a search that was stopped goes on to the same end.
    The first turns put each kind once into the original: kinds can then be compared on the same recordings with the
    same number of events. In the mode `realistic` an event that fails a check is drawn anew; `place` looks for the
    words where they must be.
    """
    normalize = normalizer(NORMALIZER)
    heard = session.hear([(recording.utterance, CLEAN) for recording in recordings])
    skipped: dict[str, str] = {}
    originals: dict[str, dict[str, str | None]] = {}
    usable = []
    for number, recording in enumerate(recordings):
        said = _said(heard, number, normalize)
        id_ = recording.utterance.id
        originals[id_] = said
        own = clips_for(recording, clips)
        kinds = [kind for kind in settings.kinds if kind in applicable(recording.timings, own, settings.mode)]
        if not kinds:
            skipped[id_] = f"no place for {', '.join(settings.kinds)} in this recording"
        elif all(text is None for text in said.values()):
            skipped[id_] = "no recognizer answered on the original"
        else:
            try:
                recording.audio()
                usable.append((recording, kinds, said, own))
            except AudioError as error:
                skipped[id_] = str(error)
    counter: Counter[str] = Counter()
    cases: list[Case] = []
    for seed in settings.seeds:
        pools = [
            _Pool(*about, normalize(about[0].text), meaning, settings, seed, place, counter)
            for about in usable
        ]
        made = _one_search(pools, session, settings, seed, normalize, progress)
        kept = {(pool.recording.utterance.id, one.chain) for pool in pools for one in pool.seeds}
        cases += [replace(case, kept=(case.utterance, case.chain) in kept) for case in made]
    drawn = counter.pop("drawn", 0)
    return Found(tuple(cases), originals, skipped, dict(counter), drawn, place is not None)


def _one_search(
    pools: Sequence[_Pool],
    session: Session,
    settings: Settings,
    seed: int,
    normalize: Normalizer,
    progress: Callable[[int], None] | None,
) -> list[Case]:
    cases: list[Case] = []
    for turn in range(settings.budget):
        made = []
        for pool in pools:
            generator = trial_generator(
                seed, f"stutter:{settings.mode}:{settings.selection}:{turn}", pool.recording.utterance.id
            )
            if turn < len(pool.kinds):
                parent, kind = pool.root, pool.kinds[turn]
            else:
                parent = pool.seeds[int(generator.integers(len(pool.seeds)))]
                kind = pool.kinds[int(generator.integers(len(pool.kinds)))]
            drawn = pool.draw(parent, kind, generator)
            if drawn is not None:  # else the turn is lost, the next draws anew
                made.append((pool, parent, kind, drawn, generator))
        answers = session.hear([(pool.recording.utterance, drawn.chain) for pool, _, _, drawn, _ in made])
        for number, (pool, parent, kind, drawn, generator) in enumerate(made):
            cases.append(pool.case(drawn, parent.chain, kind, _said(answers, number, normalize)))
            pool.update(cases[-1], generator)
        if progress is not None:
            progress(len(pools))
    return cases


def replay(
    recordings: Sequence[Recording],
    cases: pl.DataFrame,
    session: Session,
    meaning: Meaning,
    *,
    progress: Callable[[int], None] | None = None,
) -> Found:
    """Hear a fixed set of cases (utterance, chain, kind, kept, surface, seed, m2, r) and score it as a search does."""
    normalize = normalizer(NORMALIZER)
    by_id = {recording.utterance.id: recording for recording in recordings}
    heard = session.hear([(recording.utterance, CLEAN) for recording in recordings])
    originals = {
        recording.utterance.id: _said(heard, number, normalize) for number, recording in enumerate(recordings)
    }
    found: list[Case] = []
    for part in cases.iter_slices(200):
        rows = list(part.iter_rows(named=True))
        answers = session.hear([(by_id[row["utterance"]].utterance, row["chain"]) for row in rows])
        for number, row in enumerate(rows):
            texts = _said(answers, number, normalize)
            recording = by_id[row["utterance"]]
            intended = normalize(recording.text)
            found.append(_case(recording, intended, originals[row["utterance"]], meaning, row, texts))
        if progress is not None:
            progress(len(rows))
    return Found(tuple(found), originals, {})


def _case(
    recording: Recording,
    intended: str,
    original: Mapping[str, str | None],
    meaning: Meaning,
    row: Mapping[str, Any],
    texts: Mapping[str, str | None],
) -> Case:
    """Return a case with its aims and how much each recognizer still says the same."""
    answered = [text for text in texts.values() if text is not None]
    alike = meaning.similarity
    similarity = {
        name: alike(text, before)
        for name, text in texts.items()
        if text is not None and (before := original[name]) is not None
    }
    meant = {name: alike(text, intended) for name, text in texts.items() if text is not None}
    # With one recognizer there is nobody to disagree with: it is compared with itself before.
    m1 = agreement(answered, meaning) if len(texts) > 1 else min(similarity.values(), default=1.0)
    return Case(
        recording.utterance.id,
        recording.utterance.speaker,
        row["chain"],
        row.get("parent", ""),
        row["kind"],
        intended,
        row["surface"],
        dict(texts),
        m1,
        alike(row["surface"], intended),
        similarity,
        row.get("kept", False),
        row["r"],
        meant,
        row["seed"],
    )


def agreement(texts: Sequence[str], meaning: Meaning) -> float:
    """Return the mean pairwise similarity of transcripts, `M1` (Eq. 1); 1 where there is but one."""
    pairs = list(combinations(texts, 2))
    if not pairs:
        return 1.0
    meaning.add(texts)
    return sum(meaning.similarity(*pair) for pair in pairs) / len(pairs)


def front(points: Sequence[tuple[float, float]], *, strict: bool = False) -> list[bool]:
    """Say of each pair of aims, both to be small, whether it lies on the Pareto front.

    A point leaves where another is no worse in both and better in one (weak dominance); `strict` only where another is
    better in both, as Eq. 4 has it: then points with a common value all stay.

    >>> front([(0.5, 1.0), (0.5, 2.0), (0.4, 3.0)])
    [True, False, True]
    >>> front([(0.5, 1.0), (0.5, 2.0), (0.4, 3.0)], strict=True)
    [True, True, True]
    """
    x, y = (np.array([point[side] for point in points]) for side in (0, 1))
    found = []
    for a, b in points:
        better = (x < a) & (y < b) if strict else (x <= a) & (y <= b) & ((x < a) | (y < b))
        found.append(not bool(better.any()))
    return found


def aims(case: Case, mode: str) -> tuple[float, float]:
    """Return the two aims of the search, both to be small: M1, and R (`realistic`) or minus M2 (`aster`)."""
    return (case.m1, case.r) if mode == "realistic" else (case.m1, -case.m2)


@dataclass(frozen=True)
class _Drawn:
    """A case before it is heard."""

    chain: str
    surface: str
    r: float
    loss: float = 0.0


@dataclass
class _Pool:
    """The seeds of one recording; `own` are fillers for it."""

    recording: Recording
    kinds: Sequence[str]
    original: Mapping[str, str | None]
    own: Sequence[Clip]
    intended: str
    meaning: Meaning
    settings: Settings
    seed: int
    place: PlaceCheck | None
    counter: Counter[str]

    def __post_init__(self) -> None:
        self._audio = self.recording.audio()
        self._step = own_step(self._audio.samples)
        synthetic = any(clip.speaker is None for clip in self.own)
        self._pitch = pitch_of(self._audio.samples, self._audio.rate) if synthetic else None
        self._losses = {"": 0.0}
        self._normalize = normalizer(NORMALIZER)
        self.root = self.case(_Drawn("", self.intended, 0.0), "", "", self.original)
        self.seeds = [self.root]
        self._all = [self.root]

    def draw(self, parent: Case, kind: str, generator: np.random.Generator) -> _Drawn | None:
        """Return the parent with one more event of a kind; None where none that passes the checks is found."""
        before = Chain.parse(parent.chain)
        realistic = self.settings.mode == "realistic"
        taken = [operation.target for operation in before.operations] if realistic else []
        same = int(generator.integers(1 << 31))
        for _ in range(TRIES if realistic else 1):
            # What is drawn anew is the place: lengths that fail more often must not become rarer.
            lengths = np.random.Generator(np.random.PCG64(same)) if realistic else None
            try:
                operation = sample_operation(
                    kind,
                    self.recording.timings,
                    generator,
                    self.settings.severity,
                    mode=self.settings.mode,
                    clips=self.own,
                    avoid=taken,
                    pitch=self._pitch,
                    lengths=lengths,
                )
                if realistic and operation.target in taken:
                    return None  # at most one event per word, and no word is left
                chain = before.then(operation)
                found = self._after(chain, operation, self._losses.get(parent.chain, 0.0))
            except StutterError:
                found = None  # a place that an earlier edit used up
            if found is not None:
                self._losses[found.chain] = found.loss
                return found
        return None

    def _after(self, chain: Chain, operation: Operation, loss: float) -> _Drawn | None:
        samples, rate, timings = self._audio.samples, self._audio.rate, self.recording.timings
        edits: list[Edit] = []
        for one in chain.operations[:-1]:
            edits.append(one.edit(samples, rate, timings, self.own))
            samples, timings = edits[-1].apply(samples), edits[-1].timings
        last = operation.edit(samples, rate, timings, self.own)
        edits.append(last)
        if self.settings.mode == "realistic":
            self.counter["drawn"] += 1
            failed = sound_checks(samples, rate, last, self._step)
            if not failed and self.place is not None:
                after = Audio(last.apply(samples), rate)
                there, lost = self.place(Audio(samples, rate), timings, after, last.timings, operation)
                loss += lost
                failed = [] if there else ["place"]
            if failed:
                self.counter.update(failed)
                return None
        words = len(self.recording.timings.intended)
        surface = self._normalize(last.timings.surface)
        return _Drawn(str(chain), surface, realism(edits, words, loss / len(edits)), loss)

    def update(self, case: Case, generator: np.random.Generator) -> None:
        """Put a case among the seeds; which of them stay is what the selection says."""
        if any(one.chain == case.chain for one in self._all):
            return
        self._all.append(case)
        selection, mode = self.settings.selection, self.settings.mode
        if selection == "random":
            self.seeds = self._all
            return
        pool = [*self.seeds, case] if selection == "moo" else self._all
        on_front = front([aims(one, mode) for one in pool], strict=mode == "aster")
        if selection == "moo":
            self.seeds = [one for one, stays in zip(pool, on_front, strict=True) if stays]
        else:
            chosen = generator.choice(len(self._all), size=sum(on_front), replace=False)
            self.seeds = [self._all[int(number)] for number in sorted(chosen)]

    def case(self, drawn: _Drawn, parent: str, kind: str, texts: Mapping[str, str | None]) -> Case:
        """Return the case with its aims and how much each recognizer still says the same."""
        about = {"chain": drawn.chain, "parent": parent, "kind": kind, "surface": drawn.surface}
        row = {**about, "r": drawn.r, "seed": self.seed}
        return _case(self.recording, self.intended, self.original, self.meaning, row, texts)


def _said(
    heard: Mapping[str, Sequence[Outcome]], number: int, normalize: Normalizer
) -> dict[str, str | None]:
    """Return what each recognizer said of one of the recordings it heard, made alike; None where it failed."""
    answers = {name: outcomes[number].transcript for name, outcomes in heard.items()}
    return {name: None if one is None else normalize(one.text) for name, one in answers.items()}
