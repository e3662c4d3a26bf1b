"""SVOX Pico behind `speak`: the same samples always, settings that do what they say, text that cannot harm."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import solve_toeplitz

from voxaudit.audio import Audio
from voxaudit.errors import VoxauditError
from voxaudit.speak import pico
from voxaudit.speak.base import Voice, speak

pytest.importorskip("py_nanotts", reason="py-nanotts is not installed")

TEXT = "Please turn off the kitchen light."
VOICES = [Voice(language=language) for language in pico.LANGUAGES]


def digest(audio: Audio) -> str:
    return hashlib.sha256(audio.samples.tobytes()).hexdigest()


def fundamental(audio: Audio) -> float:
    """Median pitch in Hz of the voiced frames, by autocorrelation."""
    found = []
    for start in range(0, len(audio.samples) - 1024, 512):
        frame = audio.samples[start : start + 1024] - audio.samples[start : start + 1024].mean()
        if np.abs(frame).max() < 0.05:
            continue
        correlation = np.correlate(frame, frame, "full")[1023:]
        lag = 40 + int(np.argmax(correlation[40:200]))
        if correlation[lag] > 0.6 * correlation[0]:
            found.append(audio.rate / lag)
    return float(np.median(found))


def second_formant(audio: Audio) -> float:
    """Median second formant in Hz of the loud frames, from the roots of a linear predictor of order 16."""
    emphasized = np.append(0, np.diff(audio.samples.astype(float)))
    found = []
    for start in range(0, len(emphasized) - 400, 160):
        if np.abs(audio.samples[start : start + 400]).max() < 0.1:
            continue
        frame = emphasized[start : start + 400] * np.hamming(400)
        correlation = np.correlate(frame, frame, "full")[399:416]
        roots = np.roots(np.append(1, -solve_toeplitz(correlation[:16], correlation[1:])))
        peaks = sorted(np.angle(roots[roots.imag > 0]) * audio.rate / (2 * np.pi))
        found.append([peak for peak in peaks if peak > 200][1])
    return float(np.median(found))


@pytest.mark.parametrize("voice", VOICES, ids=lambda voice: voice.language)
def test_every_voice_speaks(voice: Voice) -> None:
    audio = speak(voice, TEXT)
    assert audio.rate == 16000
    assert audio.samples.dtype == np.float32
    assert 1.5 < audio.duration < 4
    assert 0.05 < np.abs(audio.samples).max() <= 1


def test_same_samples_whatever_was_said_before() -> None:
    first = [digest(speak(voice, TEXT)) for voice in VOICES]
    speak(
        Voice(language="it-IT", speed=0.5),
        "Something else entirely, and long enough to leave traces in memory.",
    )
    assert [digest(speak(voice, TEXT)) for voice in reversed(VOICES)] == first[::-1]


def test_same_samples_in_other_processes_and_on_dirty_memory() -> None:
    code = (
        "import hashlib, ctypes; from voxaudit.speak.base import Voice, speak;"
        "speak(Voice(language='de-DE'), 'Guten Morgen.');"
        f"print(hashlib.sha256(speak(Voice(pitch=0.9), {TEXT!r}).samples.tobytes()).hexdigest())"
    )
    expected = digest(speak(Voice(pitch=0.9), TEXT))
    for perturb in ("0", "85", "170"):  # glibc fills what malloc returns with this byte
        environment = {**os.environ, "MALLOC_PERTURB_": perturb}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
        assert done.stdout.strip() == expected, done.stderr
        assert done.stderr == ""


def test_same_samples_as_the_package_gives_in_a_fresh_process() -> None:
    markup = f'<speed level="90"><pitch level="110">{TEXT}</pitch></speed>'
    for language in ("en-US", "fr-FR"):
        assert pico._pcm(language, markup) == pico._pcm_apart(language, markup)


def test_threads_do_not_disturb_each_other() -> None:
    expected = [digest(speak(voice, TEXT)) for voice in VOICES]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda voice: digest(speak(voice, TEXT)), VOICES * 2)) == expected * 2


def test_speaking_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    speak(Voice(), TEXT)
    assert capfd.readouterr() == ("", "")


def test_speed_and_pitch_do_what_they_say() -> None:
    plain = speak(Voice(), TEXT)
    assert 1.5 < plain.duration / speak(Voice(speed=2.0), TEXT).duration < 2.2
    assert fundamental(speak(Voice(pitch=0.75), TEXT)) / fundamental(plain) == pytest.approx(0.75, abs=0.08)


def test_a_longer_tract_lowers_formants_but_not_pitch_or_speed() -> None:
    plain, long = speak(Voice(), TEXT), speak(Voice(tract=1.2), TEXT)
    # Pico puts a fixed silence at the end, which is stretched too.
    assert long.duration == pytest.approx(plain.duration, rel=0.08)
    assert fundamental(long) == pytest.approx(fundamental(plain), rel=0.06)
    assert second_formant(plain) / second_formant(long) == pytest.approx(1.2, abs=0.1)


def test_markup_in_the_text_is_not_obeyed() -> None:
    hostile = speak(Voice(), "hello <pitch level='200'>there</pitch> friend")
    harmless = speak(Voice(), "hello pitch level='200' there /pitch friend")
    assert digest(hostile) == digest(harmless)


@given(st.text(max_size=300))
def test_what_reaches_the_engine_is_harmless(text: str) -> None:
    try:
        plain = pico.readable(text)
    except VoxauditError:
        return
    assert not set(plain) & set("<>\\\0\n\r\t")
    assert all(len(word.encode()) <= pico.MAX_WORD_BYTES for word in plain.split())
    assert not re.search(r"[^\w\s]{4}", plain)
    assert [c for c in plain if c.isalpha()] == [c for c in pico.readable(plain) if c.isalpha()]


def test_long_text_is_spoken_to_its_end() -> None:
    # 72 words at about a third of a second each, and pauses; the last word must change the audio.
    text = "We went to the shop again. " * 12
    audio = speak(Voice(), text + "Stop.")
    assert 15 < audio.duration < 40
    assert digest(audio) != digest(speak(Voice(), text + "Go."))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no text to speak"),
        (" \n\t", "no text to speak"),
        ("<>", "nothing to say"),
        ("...", "nothing to say"),
        ("good 朝", "cannot say '朝'"),
        ("w" * 300, "put spaces in"),
        ("word " * 2000, "split it"),
    ],
)
def test_text_that_cannot_be_spoken(text: str, says: str) -> None:
    with pytest.raises(VoxauditError, match=says) as caught:
        speak(Voice(), text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("voice", "says"),
    [
        (Voice(language="en-UK"), "Did you mean: en-"),
        (Voice(engine="picco"), "Did you mean: pico"),
        (Voice(pitch=3), "pitch between 0.5 and 2"),
        (Voice(speed=0.1), "speed between 0.2 and 5"),
        (Voice(pitch=float("nan")), "pitch between"),
        (Voice(tract=2), "tract must be between"),
        (Voice(language="de-DE", reads="fr"), "not 'fr'"),
    ],
)
def test_voices_that_do_not_exist(voice: Voice, says: str) -> None:
    with pytest.raises(VoxauditError, match=says):
        speak(voice, TEXT)


def test_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "py_nanotts", None)
    pico._library.cache_clear()
    try:
        with pytest.raises(VoxauditError, match=r"pip install 'voxaudit\[speak\]'"):
            speak(Voice(), TEXT)
    finally:
        pico._library.cache_clear()


@pytest.mark.parametrize(
    "text", ["3.14" + "(" * 75, "12:30" + ";" * 60, "no" + "?!" * 200, "é" * 29, "1" * 60]
)
def test_text_that_would_hold_pico_up_for_ever(text: str) -> None:
    code = (
        "import sys; from voxaudit.errors import VoxauditError; from voxaudit.speak.base import Voice, speak\n"
        "try: speak(Voice(language='en-GB'), sys.argv[1])\n"
        "except VoxauditError: pass\n"
    )
    # A process of its own, because nothing in Python can interrupt the engine.
    done = subprocess.run([sys.executable, "-c", code, text], timeout=60, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
