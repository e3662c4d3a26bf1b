"""Measures of recordings against sounds whose truth is known, and as columns of a run's scores."""

import numpy as np
import polars as pl
import pytest
import soundfile
from scipy.signal import fftconvolve

from voxaudit.audio import Audio, read
from voxaudit.run.folder import Run, read_config, write_config
from voxaudit.score import measures as measuring
from voxaudit.score.measures import ALL_MEASURES, measure_recording, measure_utterances
from voxaudit.score.run import score_run

RATE = 16_000


def talk(seconds=3.0, pitch=120.0, seed=0):
    """Bursts of a voice-like sound with pauses between them, up to 7 kHz."""
    generator = np.random.default_rng(seed)
    time = np.arange(int(seconds * RATE)) / RATE
    count = int(7000 / pitch)
    voice = sum(np.sin(2 * np.pi * pitch * k * time + generator.uniform(0, 6)) / k for k in range(1, count))
    voice = voice * (np.sin(2 * np.pi * 0.8 * time) > 0) * np.abs(np.sin(2 * np.pi * 4 * time))
    return 0.3 * voice / np.abs(voice).max()


def measured(samples):
    return measure_recording(Audio(np.asarray(samples, dtype=np.float32), RATE))


@pytest.mark.parametrize("pitch", [95.0, 180.0, 260.0])
def test_pitch(pitch):
    assert measured(talk(pitch=pitch))["pitch"] == pytest.approx(pitch, rel=0.02)


def test_noise_has_no_pitch():
    assert measured(np.random.default_rng(1).normal(0, 0.1, RATE))["pitch"] is None


def test_bandwidth_is_where_a_filter_cuts():
    noise = np.random.default_rng(1).normal(0, 0.1, 4 * RATE)
    spectrum = np.fft.rfft(noise)
    spectrum[np.fft.rfftfreq(len(noise), 1 / RATE) > 3400] = 0
    assert measured(np.fft.irfft(spectrum))["bandwidth"] == pytest.approx(3400, rel=0.03)
    assert measured(noise)["bandwidth"] > 7500


def test_clipping_is_counted_and_loudness_is_not():
    voice = talk()
    assert measured(voice)["clipping"] == 0.0
    cut = np.clip(voice, -0.1, 0.1)
    share = np.mean(np.abs(cut) >= 0.1)
    assert measured(cut)["clipping"] == pytest.approx(share, rel=0.2)
    assert measured(0.1 * cut)["clipping"] == pytest.approx(share, rel=0.2)


def test_a_room_makes_decays_longer(shared_data):
    """Real speech in simulated rooms, men and women: the order is right, and the voice plays little part."""
    manifest = pl.read_csv(shared_data / "accents" / "manifest.csv")
    found = {}
    generator = np.random.default_rng(1)
    for gender in ("male", "female"):
        for path in manifest.filter(pl.col("gender") == gender)["path"][:10:2]:
            voice = read(shared_data / "accents" / path, duration=10.0).samples
            for room in (0.0, 0.3, 0.6):
                time = np.arange(max(1, int(room * RATE))) / RATE
                tail = generator.standard_normal(len(time)) * 10.0 ** (-3.0 * time / max(room, 1e-3))
                tail[0] += 3.0
                wet = fftconvolve(voice, tail)[: len(voice)]
                reverberation = measured(0.5 * wet / np.abs(wet).max())["reverberation"]
                found.setdefault((gender, room), []).append(reverberation)
    mean = {key: np.mean([one for one in values if one is not None]) for key, values in found.items()}
    for gender in ("male", "female"):
        assert mean[gender, 0.0] + 0.05 < mean[gender, 0.3] < mean[gender, 0.6]
    assert mean["male", 0.0] == pytest.approx(mean["female", 0.0], rel=0.35)  # SRMR: 0.6 times


def test_silence_and_blips_have_a_duration_only():
    for samples in (np.zeros(RATE), np.ones(1000)):
        found = measured(samples)
        assert found.pop("duration") == len(samples) / RATE
        assert set(found.values()) == {None}


def corpus_of(tmp_path, languages=None):
    rows = []
    for number, text in enumerate(
        ["turn on the light", "turn on the light", "perplex jocular sphinxes", None]
    ):
        soundfile.write(tmp_path / f"{number}.wav", talk(1.0, 100.0 + 30 * number), RATE)
        rows.append({"id": f"u{number}", "audio": str(tmp_path / f"{number}.wav"), "speaker": f"s{number}"})
        rows[-1] |= {"text": text, "start": None, "duration": None}
    table = pl.DataFrame(rows, schema_overrides={"start": pl.Float64, "duration": pl.Float64})
    return table if languages is None else table.with_columns(language=pl.Series(languages))


def test_utterances_have_all_measures(tmp_path):
    found = measure_utterances(corpus_of(tmp_path))
    assert found.table.columns == ["utterance", *ALL_MEASURES]
    assert found.table["speaking_rate"].to_list()[:3] == [4.0, 4.0, 3.0]
    assert found.table["text_words"].to_list() == [4.0, 4.0, 3.0, None]
    assert found.table["pitch"].null_count() == 0


def test_texts_are_measured_language_by_language(tmp_path):
    """German beside English must not take the English model from the English texts."""
    pytest.importorskip("pocketsphinx")
    german = corpus_of(tmp_path, ["en", "en", "de", "de"]).with_columns(
        text=pl.Series(
            ["turn on the light", "open the door", "mach die Heizung höher", "schalte das Licht ein"]
        )
    )
    found = measure_utterances(german).table
    alone = measure_utterances(german.head(2)).table
    assert found["perplexity_bits"].to_list()[:2] == alone["perplexity_bits"].to_list()
    assert found["unknown_words"].to_list()[2:] == [None, None]


def test_what_no_utterance_has_says_why(tmp_path, monkeypatch):
    bare = corpus_of(tmp_path).with_columns(text=pl.lit(None, dtype=pl.String), audio=pl.lit("gone.wav"))
    found = measure_utterances(bare)
    assert found.missing["snr"] == "no recording could be read"
    assert found.missing["speaking_rate"] == "there are no reference texts"
    monkeypatch.setattr(measuring, "MOST_RECORDINGS", 3)
    found = measure_utterances(corpus_of(tmp_path))
    assert "4 recordings, of which no more than 3" in found.missing["snr"]
    assert found.table["text_words"].count() == 3


def test_a_run_is_measured_once_and_its_own_columns_stay(tmp_path, monkeypatch):
    corpus = corpus_of(tmp_path).with_columns(snr=pl.lit("high"))
    corpus.write_parquet(tmp_path / "corpus.parquet")
    rows = {
        "utterance": corpus["id"],
        "scenario": "clean",
        "recognizer": "a",
        "text": "turn on",
        "failure": None,
    }
    pl.DataFrame(rows, schema_overrides={"failure": pl.String}).write_parquet(
        tmp_path / "transcripts.parquet"
    )
    about = {"name": "toy", "source": "", "format": "manifest", "utterances": 4, "speakers": 4, "skipped": 0}
    write_config(tmp_path, {"corpus": about, "recognizers": {}, "scenarios": ["clean"], "seed": 0})
    scores = score_run(Run(tmp_path))
    assert scores["snr"].to_list() == ["high"] * 3
    assert scores["pitch"].count() == 3
    monkeypatch.setattr("voxaudit.score.run.measure_utterances", None)
    assert score_run(Run(tmp_path)).equals(scores)
    assert read_config(tmp_path)["measures"]["sources"]["pitch"] == "measured from the recordings"
    corpus.with_columns(text=pl.lit("other words")).write_parquet(tmp_path / "corpus.parquet")
    with pytest.raises(TypeError):  # other texts: measured again
        score_run(Run(tmp_path))
