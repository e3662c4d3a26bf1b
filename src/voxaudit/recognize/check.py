"""Put a recognizer to the test: does an answer depend on its own audio only, and does odd audio do no harm?"""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from voxaudit.audio import SUFFIXES, Audio, read, resample
from voxaudit.errors import VoxauditError, one_line
from voxaudit.recognize.base import AnswersById, Recognizer, RecognizerError, Transcriber, as_transcripts

RATE = 16_000


@dataclass(frozen=True, slots=True)
class Check:
    """One check: what was done, and every difference or fault found; none means that it passed."""

    name: str
    problems: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """True when nothing was found."""
        return not self.problems


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What the checks found, and how fast the recognizer was on the clips one by one.

    Times in seconds; real-time factors in seconds per second of audio. CPU time counts child processes.
    """

    checks: tuple[Check, ...]
    clips: int
    audio_seconds: float
    distinct_answers: int
    load_seconds: float
    rtf: float
    cpu_rtf: float

    @property
    def passed(self) -> bool:
        """True when every check passed."""
        return all(check.passed for check in self.checks)


def check_recognizer(
    recognizer: Recognizer,
    clips: Sequence[Audio] | Mapping[str, Audio],
    *,
    long_seconds: float = 60.0,
    report: Callable[[Check], None] | None = None,
) -> CheckResult:
    """Let a recognizer hear the clips alone, in batches, in other orders, after odd audio, and freshly loaded.

    Its texts must be the same each time. Silence, one sample, `long_seconds` of audio and full-scale noise must
    get an answer. `report` is called with each check as it is done.
    """
    if isinstance(recognizer, AnswersById):
        raise RecognizerError(
            "transcripts from a file depend on nothing but the file: there is nothing to check"
        )
    named = (
        dict(clips) if isinstance(clips, Mapping) else {f"clip {n}": c for n, c in enumerate(clips, start=1)}
    )
    if len(named) < 2:
        raise VoxauditError(f"checking a recognizer takes at least 2 different clips, not {len(named)}")
    ready = {
        name: clip if recognizer.rate is None else resample(clip, recognizer.rate)
        for name, clip in named.items()
    }
    bench = _Bench(recognizer, ready, long_seconds)
    checks = []
    for check in bench.run():
        checks.append(check)
        if report is not None:
            report(check)
    seconds = sum(clip.duration for clip in ready.values())
    return CheckResult(
        checks=tuple(checks),
        clips=len(ready),
        audio_seconds=seconds,
        distinct_answers=len({text for text in bench.texts.values() if text}),
        load_seconds=bench.load_seconds,
        rtf=bench.seconds / seconds,
        cpu_rtf=bench.cpu_seconds / seconds,
    )


class _Bench:
    def __init__(self, recognizer: Recognizer, clips: Mapping[str, Audio], long_seconds: float) -> None:
        self._recognizer = recognizer
        self._clips = clips
        self._odd = _odd_audio(clips, recognizer.rate, long_seconds)
        self.texts: dict[str, str] = {}
        self.load_seconds = self.seconds = self.cpu_seconds = 0.0

    def run(self) -> Iterator[Check]:
        yield Check("settings", tuple(self._settings()))
        start = time.perf_counter()
        transcribe = self._recognizer.load()
        self.load_seconds = time.perf_counter() - start
        before = {name: clip.samples.copy() for name, clip in self._clips.items()}
        yield self._alone(transcribe)
        if len(self.texts) < len(self._clips):
            return  # there is nothing to compare with
        names = list(self._clips)
        shuffled = [names[number] for number in np.random.default_rng(0).permutation(len(names))]
        yield self._same("one batch of all", transcribe, [names])
        yield self._same("batches of 3 and 2, shuffled", transcribe, _batches(shuffled, (3, 2)))
        yield self._same("the same clip three times", transcribe, [[names[0]], [names[0]] * 2])
        yield from self._odd_ones(transcribe, names)
        yield self._same(
            "freshly loaded, reversed order", self._recognizer.load(), _batches(names[::-1], (1,))
        )
        changed = [
            name for name, samples in before.items() if not np.array_equal(samples, self._clips[name].samples)
        ]
        yield Check(
            "audio left as it was", tuple(f"{name}: the recognizer changed the samples" for name in changed)
        )

    def _settings(self) -> Iterator[str]:
        fingerprint = self._recognizer.fingerprint()
        pairs = fingerprint.items() if isinstance(fingerprint, dict) else [("", None)]
        if not all(isinstance(key, str) and isinstance(value, str) for key, value in pairs):
            yield "fingerprint() must return a dict of text to text"
        if self._recognizer.batch_size < 1:
            yield f"batch_size must be at least 1, not {self._recognizer.batch_size}"
        try:
            copy: Any = pickle.loads(pickle.dumps(self._recognizer))
        except Exception as error:
            yield f"cannot be sent to worker processes ({one_line(error, 160)})"
            return
        if copy != self._recognizer:
            yield "a pickled copy is not equal: make it a frozen dataclass"
        if copy.fingerprint() != fingerprint:
            yield "fingerprint() is not the same for a copy: equal settings must give equal fingerprints"

    def _alone(self, transcribe: Transcriber) -> Check:
        problems = []
        start, cpu = time.perf_counter(), _cpu_seconds()
        for name, clip in self._clips.items():
            try:
                self.texts[name] = as_transcripts(transcribe([clip]), 1)[0].text
            except Exception as error:
                problems.append(f"{name}: {_describe(error)}")
        self.seconds, self.cpu_seconds = time.perf_counter() - start, _cpu_seconds() - cpu
        return Check("one by one", tuple(problems))

    def _same(self, check: str, transcribe: Transcriber, batches: Sequence[Sequence[str]]) -> Check:
        return Check(check, tuple(self._differences(transcribe, batches)))

    def _differences(self, transcribe: Transcriber, batches: Sequence[Sequence[str]]) -> Iterator[str]:
        for batch in batches:
            try:
                answers = as_transcripts(transcribe([self._clips[name] for name in batch]), len(batch))
            except Exception as error:
                yield f"{', '.join(batch)}: {_describe(error)}"
                continue
            for name, answer in zip(batch, answers, strict=True):
                if answer.text != self.texts[name]:
                    yield f"{name}: '{one_line(answer.text, 80)}', alone it was '{one_line(self.texts[name], 80)}'"

    def _odd_ones(self, transcribe: Transcriber, names: Sequence[str]) -> Iterator[Check]:
        for number, (what, audio) in enumerate(self._odd.items()):
            problems = []
            try:
                as_transcripts(transcribe([audio]), 1)
            except Exception as error:
                problems.append(_describe(error))
            following = names[number % len(names)]
            problems += self._differences(transcribe, [[following]])
            yield Check(f"{what}, then {following}", tuple(problems))


def _odd_audio(clips: Mapping[str, Audio], rate: int | None, long_seconds: float) -> dict[str, Audio]:
    rate = rate or RATE
    joined = np.concatenate([resample(clip, rate).samples for clip in clips.values()])
    length = max(1, int(long_seconds * rate))
    noise = np.random.default_rng(0).uniform(-1.0, 1.0, rate)
    odd = {
        "1 s of silence": np.zeros(rate),
        "one sample": np.full(1, 0.5),
        "1 s of full-scale noise": noise,
        f"{long_seconds:g} s of audio": np.resize(joined, length),
    }
    return {what: Audio(samples.astype(np.float32), rate) for what, samples in odd.items()}


def _batches(names: Sequence[str], sizes: Sequence[int]) -> list[Sequence[str]]:
    batches, first = [], 0
    for size in cycle(sizes):
        batches.append(names[first : first + size])
        first += size
        if first >= len(names):
            break
    return batches


def _cpu_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _describe(error: Exception) -> str:
    kind = "" if isinstance(error, VoxauditError) else f"{type(error).__name__}: "
    return f"{kind}{one_line(error, 200)}"


# Audio to check a recognizer with: synthetic speech and made-up sounds.

VOICES = Path(__file__).parents[1] / "speak" / "voices"
"""The demo's recordings: speech that is there wherever voxaudit is."""


def check_clips() -> dict[str, Audio]:
    """Return different clips of 1 to 5 s: eight of the demo's synthetic voices, and sounds."""
    speech = {file.name: read(file, rate=RATE) for file in sorted(VOICES.glob("*.flac"))[::8]}
    return {**speech, **_sounds()}


def clips_of(path: str | Path | None, limit: int) -> dict[str, Audio]:
    """Return at most `limit` clips of a folder of recordings, parts of one recording, or the built-in clips."""
    if path is None:
        return dict(list(check_clips().items())[:limit])
    path = Path(path)
    if not path.is_dir():
        # One recording is enough: its halves and its quieter self are other audio.
        audio = read(path)
        half = max(1, len(audio.samples) // 2)
        cuts = {
            path.name: audio.samples,
            f"{path.name}, first half": audio.samples[:half],
            f"{path.name}, second half": audio.samples[half:] * 0.5,
        }
        return {name: Audio(cut, audio.rate) for name, cut in cuts.items() if len(cut)}
    files = sorted(file for file in path.rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file())
    if len(files) < 2:
        raise VoxauditError(f"{path}: {len(files)} recordings there; checking takes at least 2")
    step = max(1, len(files) // limit)
    return {str(file.relative_to(path)): read(file) for file in files[::step][:limit]}


def _sounds() -> dict[str, Audio]:
    generator = np.random.default_rng(0)
    time = np.arange(2 * RATE) / RATE
    noise = generator.standard_normal(len(time))
    bursts = noise * (np.sin(2 * np.pi * 3 * time) > 0.3)
    vowel = sum(np.sin(2 * np.pi * 120 * k * time) / k for k in range(1, 30))
    sounds = {
        "tone": np.sin(2 * np.pi * 440 * time),
        "sweep": np.sin(2 * np.pi * (100 * time + 900 * time**2)),
        "buzz": vowel / 3,
        "noise": noise / 10,
        "noise bursts": bursts / 5,
        "clicks": (np.arange(len(time)) % 4000 == 0) * 0.9,
        "hum in noise": 0.3 * np.sin(2 * np.pi * 50 * time) + noise / 30,
        "fading noise": noise / 5 * np.linspace(1, 0, len(time)),
    }
    return {name: Audio((0.5 * wave).astype(np.float32), RATE) for name, wave in sounds.items()}
