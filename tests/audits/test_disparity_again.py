"""The same gaps, both ways: without speakers far out, and with speakers that are estimated from voices."""

import numpy as np
import polars as pl
import pytest
import soundfile

from voxaudit.answer import RefusedError
from voxaudit.audits.disparity import frames
from voxaudit.audits.disparity.audit import disparity
from voxaudit.errors import VoxauditError


def spoken(rates, utterances=4):
    """Return a table: every speaker says 4 x 100 words, errors as given."""
    rows = [
        {"speaker": f"s{n}", "accent": "ab"[n % 2], "words": 100, "errors": rate}
        for n, rate in enumerate(rates)
        for _ in range(utterances)
    ]
    return pl.DataFrame(rows)


def test_outliers_are_named_and_removed_on_request_with_both_answers():
    rates = [10 + n // 2 % 5 for n in range(60)]
    rates[7] = 95
    table = spoken(rates)
    plain = disparity(table, attribute="accent")
    assert "again" not in plain.tables
    assert {note.facts["speaker"] for note in plain.notes if note.code == "far_speaker"} == {"s7"}
    [figure] = [one for one in plain.figures if one.id == "speakers-accent"]
    assert figure.drawing.names[-1] == "s7"
    both = disparity(table, attribute="accent", without_outliers=True)
    before, after = both.tables["again"].to_dicts()
    assert (before["how"], after["how"]) == ("as above", "without s7")
    assert before["wer_ratio"] == both.findings[0].estimate == plain.findings[0].estimate
    assert before["wer_ratio"] > 1.1
    assert after["wer_ratio"] == pytest.approx(1.0, abs=0.05)
    assert after["speakers"] == before["speakers"] - 1
    assert "without s7: no verdict changes" in [note.text for note in both.notes]
    nobody = disparity(
        spoken([10 + n // 2 % 5 for n in range(60)]), attribute="accent", without_outliers=True
    )
    assert "no_outliers" in {note.code for note in nobody.notes}


@pytest.fixture
def recordings(tmp_path, monkeypatch):
    """A table without speakers, whose recordings say by their loudness who speaks."""
    rows = []
    for n in range(24):
        for take in range(3):
            path = tmp_path / f"{n}-{take}.wav"
            soundfile.write(path, np.full(1600, (n + 1) / 100.0), 16_000)
            errors = 10 + n // 2 % 3 + 12 * (n % 2) + take
            rows.append({"audio": path.name, "accent": "ab"[n % 2], "words": 100, "errors": errors})
    pl.DataFrame(rows).write_csv(tmp_path / "scores.csv")

    def voice(audio):
        number = round(float(audio.samples.mean()) * 100) - 1
        return np.random.default_rng(number).normal(size=256).astype(np.float32)

    monkeypatch.setattr(frames, "embed", voice)
    monkeypatch.setattr(frames, "fetched", lambda model: tmp_path)
    return tmp_path / "scores.csv"


def test_speakers_are_estimated_marked_and_varied(recordings):
    answer = disparity(recordings, attribute="accent", estimate_speakers=0)
    assert all(one.sentence.endswith(" Speakers are estimated.") for one in answer.findings)
    first = answer.findings[0]
    assert (first.verdict, first.speakers, first.speakers_against) == ("shown", 12, 12)
    [note] = [note for note in answer.notes if note.code == "estimated_speakers"]
    assert "24 were told apart by their voices" in note.text
    assert answer.tables["again"]["how"].to_list() == [
        "as above",
        "12 estimated speakers",
        "48 estimated speakers",
    ]
    asked = disparity(recordings, attribute="accent", estimate_speakers=6)
    assert asked.findings[0].speakers + asked.findings[0].speakers_against <= 12


def test_who_is_known_is_not_estimated(recordings):
    known = pl.read_csv(recordings).with_columns(speaker=pl.lit("s"))
    with pytest.raises(VoxauditError, match="none need be estimated"):
        disparity(known, attribute="accent", estimate_speakers=0)


@pytest.mark.slow
def test_without_the_encoder_it_refuses(recordings, monkeypatch):
    monkeypatch.setattr(frames, "fetched", lambda model: None)
    with pytest.raises(RefusedError) as error:
        disparity(recordings, attribute="accent", estimate_speakers=0)
    assert error.value.refusal.remedy == "voxaudit models fetch resemblyzer"
