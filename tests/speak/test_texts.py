"""Texts read aloud for the synthetic role: whose voices, and how they are named."""

from __future__ import annotations

import polars as pl
import pytest

from voxaudit.errors import VoxauditError
from voxaudit.speak.texts import speak_texts, voices_of


@pytest.fixture(autouse=True)
def only_pico(monkeypatch, tmp_path):
    monkeypatch.setenv("VOXAUDIT_MODELS", str(tmp_path / "models"))


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
