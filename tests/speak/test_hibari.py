"""The Hibari voice: the same samples every time, offline, and clear refusals."""

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest

from voxaudit.errors import VoxauditError
from voxaudit.recognize.files import installed
from voxaudit.speak.base import Voice, speak

VOICE = Voice("hibari")
TEXT = "My sister bought three lemons at the market."

needs_hibari = pytest.mark.skipif(not installed("hibari"), reason="hibari-tts is not installed")


def digest(audio):
    return hashlib.sha256(audio.samples.tobytes()).hexdigest()


@needs_hibari
def test_speech_comes_out():
    audio = speak(VOICE, TEXT)
    assert audio.rate == 24_000
    assert 1.5 < audio.duration < 6
    assert 0.02 < float(np.abs(audio.samples).max()) <= 1.5
    assert speak(Voice("hibari", speed=1.5), TEXT).duration < 0.85 * audio.duration


@needs_hibari
def test_the_same_samples_after_anything_and_in_another_process():
    first = digest(speak(VOICE, TEXT))
    speak(VOICE, "Something else, and longer, in between.")
    assert digest(speak(VOICE, TEXT)) == first
    code = (
        "import hashlib; from voxaudit.speak.base import Voice, speak;"
        f"print(hashlib.sha256(speak(Voice('hibari'), {TEXT!r}).samples.tobytes()).hexdigest())"
    )
    # A proxy that does not answer: nothing may be fetched.
    environment = {**os.environ, "https_proxy": "http://127.0.0.1:9", "HIBARI_HOME": os.devnull}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout.strip() == first


@pytest.mark.parametrize(
    ("voice", "text", "message"),
    [
        (Voice("hibari", language="de-DE"), "Guten Tag", "en-US only"),
        (Voice("hibari", pitch=1.2), TEXT, "pitch and tract cannot be set"),
        (Voice("hibari", tract=1.1), TEXT, "pitch and tract cannot be set"),
        (Voice("hibari", speed=3.0), TEXT, "speed between 0.5 and 2"),
        (VOICE, "...", "nothing to say"),
        (VOICE, "слово", "use Latin letters"),
        (VOICE, "a" * 6000, "split it"),
    ],
)
def test_refusals(voice, text, message):
    with pytest.raises(VoxauditError, match=message):
        speak(voice, text)
