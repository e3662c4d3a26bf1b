"""What a worker keeps between trials."""

from __future__ import annotations

import numpy as np
import soundfile

from voxaudit import audio
from voxaudit.perturb import parse_scenarios
from voxaudit.run.trial import Trial
from voxaudit.run.worker import Job, _decoded, _prepare


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
