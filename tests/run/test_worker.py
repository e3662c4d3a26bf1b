"""What a worker keeps between trials, and what it hears together."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile
from toy_recognizers import Toy

from voxaudit import audio
from voxaudit.options import Limits
from voxaudit.perturb import parse_scenarios
from voxaudit.recognize.base import Transcript
from voxaudit.run import run_trials
from voxaudit.run.trial import Trial
from voxaudit.run.worker import Job, _decoded, _prepare, hear


class Anything:
    rate = None


def test_a_recording_is_decoded_once_and_nobody_writes_into_the_next_trials(tmp_path, monkeypatch):
    path = tmp_path / "clip.wav"
    soundfile.write(path, np.linspace(-0.5, 0.5, 800, dtype=np.float32), 16_000, subtype="FLOAT")
    read, seen = audio.read, []
    monkeypatch.setattr(audio, "read", lambda *given, **named: seen.append(given) or read(*given, **named))
    _decoded.cache_clear()
    job = Job(Anything(), {one.id: one for one in parse_scenarios(["clean"])}, seed=0)
    trial = Trial("u1", "clean", str(path), 0.0, None, b"key")
    first = _prepare(job, trial)
    expected = first.samples.copy()
    first.samples[:] = 0.0
    assert np.array_equal(_prepare(job, trial).samples, expected)
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("most", "parts"),
    [(0.0, [[1, 2, 3, 6]]), (9.0, [[1, 2, 3], [6]]), (8.9, [[1, 2], [3], [6]]), (1.5, [[1], [2], [3], [6]])],
)
def test_a_batch_of_more_seconds_than_fit_is_heard_in_parts(tmp_path, most, parts):
    class Bounded(Anything):
        batch_seconds = most

    trials = []
    for seconds in (1, 2, 3, 6):
        path = tmp_path / f"{seconds}.wav"
        soundfile.write(path, np.zeros(100 * seconds, np.float32), 100)
        trials.append(Trial(f"u{seconds}", "clean", str(path), 0.0, None, b"key"))
    scenarios = {one.id: one for one in parse_scenarios(["clean"])}
    calls = []

    def transcribe(batch):
        calls.append([round(clip.duration) for clip in batch])
        return [Transcript(f"{clip.duration:g} s") for clip in batch]

    limits = Limits(lowest_rate=100)
    answers = [one for some in hear(Job(Bounded(), scenarios, 0, limits), transcribe, trials) for one in some]
    assert calls == parts
    assert [(one.trial.utterance, one.transcript.text) for one in answers] == [
        (f"u{seconds}", f"{seconds} s") for seconds in (1, 2, 3, 6)
    ]


@pytest.mark.parametrize("batch", [1, 4])
def test_clips_of_like_length_are_heard_together(make_corpus, tmp_path, batch):
    journal = tmp_path / "journal"
    toy = Toy(batch_size=batch, journal=str(journal))
    run = run_trials(make_corpus(12), {"toy": toy}, ["clean"], out=tmp_path / "run", workers=1, cache=False)
    heard = [int(line) for line in Path(journal).read_text().split()]
    assert sorted(heard) == list(range(101, 113))
    assert (heard == sorted(heard)) == (batch > 1)
    assert run.transcripts["text"].to_list() == [
        f"heard {101 + int(id_[1:])} samples" for id_ in run.transcripts["utterance"]
    ]
