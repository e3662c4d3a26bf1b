"""The signal-to-noise estimate against noise added at a known level."""

import numpy as np
import polars as pl
import pytest

from voxaudit.audio import Audio, read
from voxaudit.score.snr import LOWEST, estimate_snr


def talk(seconds=4.0, rate=16_000, seed=0):
    """Bursts of a voice-like sound with pauses between them."""
    generator = np.random.default_rng(seed)
    time = np.arange(int(seconds * rate)) / rate
    voice = sum(np.sin(2 * np.pi * 120 * k * time + generator.uniform(0, 6)) / k for k in range(1, 20))
    return voice * (np.sin(2 * np.pi * 0.8 * time) > 0) * np.abs(np.sin(2 * np.pi * 4 * time))


def noisy(speech, snr, noise):
    noise = noise * np.sqrt((speech @ speech) / (noise @ noise) * 10 ** (-snr / 10))
    return Audio((0.1 * (speech + noise)).astype(np.float32), 16_000)


@pytest.mark.parametrize("snr", [0, 10, 20, 30])
def test_white_noise_at_a_known_level(snr):
    speech = talk()
    noise = np.random.default_rng(1).standard_normal(len(speech))
    assert estimate_snr(noisy(speech, snr, noise)) == pytest.approx(snr, abs=2.0)


def test_louder_is_no_cleaner():
    audio = noisy(talk(), 15, np.random.default_rng(1).standard_normal(64_000))
    assert estimate_snr(Audio(audio.samples * 0.01, audio.rate)) == pytest.approx(
        estimate_snr(audio), abs=0.01
    )
    offset = Audio(audio.samples + np.float32(0.3), audio.rate)
    assert estimate_snr(offset) == pytest.approx(estimate_snr(audio), abs=0.01)


def test_what_has_no_ratio():
    assert estimate_snr(Audio(np.zeros(16_000, dtype=np.float32), 16_000)) is None
    assert estimate_snr(Audio(np.ones(1_000, dtype=np.float32), 16_000)) is None
    noise = np.random.default_rng(1).standard_normal(32_000).astype(np.float32)
    assert LOWEST <= estimate_snr(Audio(noise, 16_000)) < 0


def test_silence_put_in_by_an_editor_is_not_the_room():
    speech = talk().astype(np.float32)
    noise = np.random.default_rng(1).standard_normal(len(speech))
    plain = noisy(speech, 10, noise)
    longer = Audio(np.concatenate([np.zeros(32_000, np.float32), plain.samples]), 16_000)
    assert estimate_snr(longer) == pytest.approx(estimate_snr(plain), abs=1.0)


def test_real_speech(shared_data):
    """16 actors: the documented accuracy, and a clean clip without pauses is not taken for a noisy one."""
    manifest = pl.read_csv(shared_data / "ravdess" / "manifest.csv")
    clips = [
        read(shared_data / "ravdess" / path, rate=16_000).samples.astype(float)
        for path in manifest["path"][::8]
    ]
    generator = np.random.default_rng(3)
    for snr in (0, 10, 20, 30):
        found = [estimate_snr(noisy(clip, snr, generator.standard_normal(len(clip)))) for clip in clips]
        assert np.mean(found) == pytest.approx(snr, abs=1.5)
        assert np.std(found) < 1.0
    rain = next(
        row["path"]
        for row in pl.read_csv(shared_data / "esc50" / "manifest.csv").iter_rows(named=True)
        if row["category"] == "rain"
    )
    rain = read(shared_data / "esc50" / rain, rate=16_000).samples.astype(float)
    found = [estimate_snr(noisy(clip, 10, np.resize(rain, len(clip)))) for clip in clips]
    assert np.mean(found) == pytest.approx(10, abs=1.5)
    for clip in clips:
        loud = np.flatnonzero(np.abs(clip) > 0.05 * np.abs(clip).max())
        tight = clip[loud[0] : loud[-1]]
        assert estimate_snr(Audio(tight.astype(np.float32), 16_000)) > 10
