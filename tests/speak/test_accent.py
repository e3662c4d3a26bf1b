"""English in the sounds of another language."""

from __future__ import annotations

import re

import pytest

from voxaudit.errors import VoxauditError
from voxaudit.speak import pico
from voxaudit.speak.accent import PRONUNCIATIONS, SOUNDS, accented
from voxaudit.speak.base import Voice, speak
from voxaudit.speak.corpus import SENTENCES

ARPABET = {
    *("AA", "AE", "AH", "AO", "AW", "AY", "EH", "ER", "EY", "IH", "IY", "OW", "OY", "UH", "UW"),
    *("B", "CH", "D", "DH", "F", "G", "HH", "JH", "K", "L", "M", "N", "NG", "P", "R", "S", "SH"),
    *("T", "TH", "V", "W", "Y", "Z", "ZH"),
}


def test_german_has_no_th_and_hardens_final_consonants() -> None:
    assert accented("the", "de-DE") == "d@"
    assert accented("send", "de-DE") == '"sEnt'
    assert accented("leaves", "de-DE") == '"li:fs'


def test_spanish_puts_e_before_s_and_consonant() -> None:
    assert accented("station", "es-ES").startswith('e"st')
    assert accented("send", "es-ES").startswith('"s')


def test_french_and_italian_drop_h() -> None:
    assert not re.search("[hx]", accented("has", "fr-FR") + accented("has", "it-IT"))


def test_stress_falls_before_the_stressed_syllable() -> None:
    assert accented("kitchen", "de-DE").startswith('"k')
    assert accented("my", "de-DE") == "ma_I"
    assert accented("repeat", "it-IT") == '4i"pit'


def test_every_word_of_the_corpus_is_known() -> None:
    words = {word for text in SENTENCES for word in re.findall(r"[a-z']+", text.lower())}
    assert words <= set(PRONUNCIATIONS)


@pytest.mark.slow
@pytest.mark.parametrize("language", list(SOUNDS))
def test_every_english_sound_has_an_audible_one(language: str) -> None:
    """Pico leaves out a symbol that its language lacks and says nothing: taking it away must change the audio."""
    pytest.importorskip("py_nanotts", reason="py-nanotts is not installed")
    vowel = "I" if language == "de-DE" else "i"

    def said(sound: str) -> bytes:
        return pico._pcm(language, f"<phoneme ph='m{vowel}{sound}{vowel}t'/>")

    assert set(SOUNDS[language]) == {*ARPABET, "AH0", "ER0"}
    for sound in {*SOUNDS[language].values()} - {""}:
        for symbol in re.finditer(r"(?:[^\W_]|@)(?:_(?:[^\W_]|\^))?:?", sound):
            without = sound[: symbol.start()] + sound[symbol.end() :]
            assert said(sound) != said(without), (language, sound, symbol.group())


def test_an_accent_is_heard() -> None:
    pytest.importorskip("py_nanotts", reason="py-nanotts is not installed")
    letters = speak(Voice(language="it-IT"), SENTENCES[0])
    sounds = speak(Voice(language="it-IT", reads="en"), SENTENCES[0])
    assert len(letters.samples) != len(sounds.samples)


def test_a_voice_reads_its_own_language_as_it_is() -> None:
    pytest.importorskip("py_nanotts", reason="py-nanotts is not installed")
    own, same = speak(Voice(), SENTENCES[0]), speak(Voice(reads="en"), SENTENCES[0])
    assert (own.samples == same.samples).all()


def test_unknown_words_and_languages_are_refused() -> None:
    with pytest.raises(
        VoxauditError, match=r"no pronunciation for the word 'kitchem'.*Did you mean: kitchen"
    ):
        accented("kitchem", "de-DE")
    with pytest.raises(VoxauditError, match="no English accent for the language 'pt-PT'"):
        accented("kitchen", "pt-PT")
