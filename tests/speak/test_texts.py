"""Texts read aloud for the synthetic role: whose voices, and how they are named."""

from __future__ import annotations

import polars as pl
import pytest

from voxaudit.errors import VoxauditError
from voxaudit.speak.texts import CHANGES, matched_voices, speak_texts, voices_of


@pytest.mark.parametrize(
    ("language", "own"), [(None, {"en-US", "en-GB"}), ("en-AU", {"en-US", "en-GB"}), ("es-MX", {"es-ES"})]
)
def test_every_language_has_twelve_speakers_of_its_own(language, own):
    voices = voices_of(language)
    assert len(set(voices)) == 12
    assert {voice.language for voice in voices} == own


def test_a_language_without_voices_says_which_have_some():
    with pytest.raises(
        VoxauditError, match="no synthetic voice speaks 'sw': there are voices for en, de, es"
    ):
        voices_of("sw")


def test_each_voice_is_named_in_the_manifest(tmp_path):
    pytest.importorskip("py_nanotts")
    voices = voices_of("es")[:3]
    table = pl.read_csv(speak_texts(["Hola.", "Buenos d\u00edas."], tmp_path / "said", voices=voices))
    assert table.height == 6
    assert table["speaker"].unique().sort().to_list() == ["es-ES-1", "es-ES-2", "es-ES-3"]
    assert set(table["voice"]) == {str(voice) for voice in voices}


@pytest.mark.parametrize("change", CHANGES)
def test_matched_voices_differ_in_one_property(change):
    voices, about = matched_voices(change, "en")
    assert [one["speaker"] for one in about[::2]] == [one["speaker"] for one in about[1::2]]
    assert {(one[change], two[change]) for one, two in zip(about[::2], about[1::2], strict=True)} == {
        CHANGES[change]
    }
    own = {"pitch": {"pitch"}, "rate": {"speed"}, "accent": {"language", "reads"}}[change]
    for first, second in zip(voices[::2], voices[1::2], strict=True):
        names = ("language", "pitch", "speed", "tract", "reads")
        assert {name for name in names if getattr(first, name) != getattr(second, name)} == own


def test_what_no_voice_changes_is_said():
    with pytest.raises(VoxauditError, match=r"no voice changes its 'pich'\. Did you mean: pitch"):
        matched_voices("pich", "en")


def test_matched_voices_read_the_same_texts_as_the_same_speaker(tmp_path):
    pytest.importorskip("py_nanotts")
    voices, about = matched_voices("rate", "en")
    path = speak_texts(["Good day."], tmp_path / "said", voices=voices[:4], about=about[:4])
    table = pl.read_csv(path)
    assert table.select("speaker", "rate").rows() == [
        *(("voice-1", "slow"), ("voice-1", "fast"), ("voice-2", "slow"), ("voice-2", "fast"))
    ]
