"""mlx-whisper runs on Apple's chips only: what it is called with, against a stand-in of its signature and answer."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np

from voxaudit.audio import Audio
from voxaudit.recognize import Word, make_recognizer


def test_mlx_whisper_is_called_as_it_is_written(tmp_path, monkeypatch):
    asked = []

    def transcribe(audio, *, path_or_hf_repo, verbose=None, temperature=(0.0, 0.2), **options):
        asked.append((len(audio), audio.dtype, path_or_hf_repo, temperature, options))
        word = {"word": " yes", "start": 0.1, "end": 0.4, "probability": 0.9}
        segment = {"tokens": [1, 2], "avg_logprob": np.log(0.5), "words": [word]}
        return {"text": " yes ", "segments": [segment], "language": "en"}

    module = ModuleType("mlx_whisper")
    module.transcribe, module.__spec__ = transcribe, ModuleType("spec")
    monkeypatch.setitem(sys.modules, "mlx_whisper", module)
    (tmp_path / "weights.npz").write_bytes(b"weights")
    recognizer = make_recognizer(f"mlx_whisper:{tmp_path},language=en,words=true")
    (answer,) = recognizer.load()([Audio(np.zeros(10, np.float32), 16_000)])
    assert (answer.text, answer.words) == ("yes", (Word("yes", 0.1, 0.4, 0.9),))
    assert abs(answer.confidence - 0.5) < 1e-9
    told = {
        "language": "en",
        "task": "transcribe",
        "word_timestamps": True,
        "condition_on_previous_text": False,
    }
    assert asked == [(1600, np.float32, str(tmp_path), 0.0, told)]
    assert recognizer.fingerprint()["language"] == "en"
