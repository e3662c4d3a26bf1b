"""Kokoro's speakers: who they are, what sounds a text is made of, and what cannot be said."""

from __future__ import annotations

import numpy as np
import pytest

from voxaudit.errors import VoxauditError
from voxaudit.recognize.weights.fetch import KNOWN, fetched
from voxaudit.speak import kokoro, texts
from voxaudit.speak.base import Voice, speak

DORA = Voice("kokoro", "es-ES", name="ef_dora")


def test_the_speakers_are_those_that_are_fetched():
    assert [len(names) for names in kokoro.VOICES.values()] == [20, 8, 3]
    assert kokoro.VOICES["es-ES"] == ("ef_dora", "em_alex", "em_santa")


def test_twelve_of_them_read_english_and_pico_joins_where_there_are_few(monkeypatch, tmp_path):
    monkeypatch.setattr(texts, "fetched", lambda model: tmp_path)
    english = texts.voices_of("en-AU")
    assert len({voice.name for voice in english}) == 12
    assert {(voice.engine, voice.name[0], voice.name[1]) for voice in english} == {
        ("kokoro", place, kind) for place in "ab" for kind in "fm"
    }
    spanish = texts.voices_of("es-MX")
    assert [voice.engine for voice in spanish] == ["kokoro"] * 3 + ["pico"] * 9
    assert len(set(spanish)) == 12
    assert {voice.engine for voice in texts.voices_of("de")} == {"pico"}


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("ingrese", "inɡɾˈese"),
        ("extensión", "ekstensjˈon"),
        ("contraseña", "kontɾasˈeɲa"),
        ("llave", "ʎˈaβe"),
        ("perro", "pˈero"),
        ("rey", "rˈeɪ"),
        ("hoy", "ˈoɪ"),
        ("yo", "ʝˈo"),
        ("cigüeña", "θiɣwˈeɲa"),
        ("gato", "ɡˈato"),
        ("agua", "ˈaɣwa"),
        ("país", "paˈis"),
        ("último", "ˈultimo"),
        ("que", "ke"),
    ],
)
def test_spanish_is_said_as_it_is_written(word, said):
    assert kokoro.spanish(word) == said


def test_english_words_that_no_dictionary_has_are_said_by_rule(monkeypatch, tmp_path):
    monkeypatch.setattr(kokoro, "fetched", lambda model: tmp_path)
    monkeypatch.setattr(kokoro, "_dictionaries", lambda *_: ({"six": "sˈɪks", "read": {"DEFAULT": "ɹˈid"}},))
    assert kokoro.sounds("Read six Zorbits, to the 2 U.S. people!", "en-US").startswith("ɹˈid sˈɪks zˈɔɹ")
    assert kokoro.sounds("a", "en-US") == "ɐ"
    with pytest.raises(VoxauditError, match="kokoro cannot say 'привет' in 'six привет': write it in words"):
        kokoro.sounds("six привет", "en-US")


@pytest.mark.parametrize(
    ("voice", "text", "said"),
    [
        (Voice("kokoro", "en-US", name="am_adm"), "hello", "no such speaker. Did you mean: am_adam"),
        (Voice("kokoro", "es-ES", name="am_adam"), "hola", "no such speaker"),
        (Voice("kokoro", "es-ES", name="ef_dora", pitch=0.9), "hola", "pitch and tract cannot be set"),
        (Voice("kokoro", "es-ES", name="ef_dora", speed=3), "hola", "a speed between 0.5 and 2, not 3"),
        (DORA, "hola " * 2000, "characters: split it"),
        (DORA, "hola 42", "cannot say '42' in 'hola 42': write it in words"),
        (DORA, "...", "nothing to say"),
    ],
)
def test_what_cannot_be_said_is_one_line(monkeypatch, tmp_path, voice, text, said):
    monkeypatch.setattr(kokoro, "fetched", lambda model: tmp_path)
    with pytest.raises(VoxauditError) as error:
        speak(voice, text)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_without_the_model_the_command_that_fetches_it_is_named(monkeypatch):
    monkeypatch.setattr(kokoro, "fetched", lambda model: None)
    with pytest.raises(VoxauditError, match="voxaudit models fetch kokoro"):
        speak(DORA, "hola")


def test_long_texts_are_cut_between_sentences_and_words():
    sentence = "kˈantan lˈas ˈaβes."
    pieces = kokoro._pieces(" ".join([sentence] * 60))
    assert all(len(piece) <= kokoro._LONGEST for piece in pieces)
    assert all(piece.endswith(".") for piece in pieces)
    assert " ".join(pieces) == " ".join([sentence] * 60)
    assert max(map(len, kokoro._pieces("la " * 400))) <= kokoro._LONGEST


@pytest.mark.slow
@pytest.mark.skipif(fetched(KNOWN["kokoro"]) is None, reason="needs: voxaudit models fetch kokoro")
def test_speakers_differ_are_understood_and_say_the_same_each_time():
    pytest.importorskip("onnxruntime")
    from voxaudit.audio import resample
    from voxaudit.recognize import make_recognizer

    hear = make_recognizer("moonshine").load()
    said = {}
    for voice in texts.voices_of("en")[:3]:
        said[voice.name] = speak(voice, "Kids are talking by the door.")
        assert hear([resample(said[voice.name], 16_000)])[0].text == "Kids are talking by the door."
    assert len({len(one.samples) for one in said.values()}) > 1
    again = speak(texts.voices_of("en")[0], "Kids are talking by the door.")
    assert np.array_equal(again.samples, next(iter(said.values())).samples)
