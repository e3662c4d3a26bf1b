"""How alike texts are: by their letters, and by sentence embeddings where these were fetched."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voxaudit.errors import VoxauditError
from voxaudit.recognize.weights.fetch import fetched, known_model
from voxaudit.score.meaning import MINILM, NGRAMS, Meaning, best_model, encoder, minilm, word_pieces

PAIRS = [
    ("please repeat the last message", "please repeat the last message again", True),
    ("please repeat the last message", "please p p p repeat the last message", True),
    ("send a message to my mother", "sand a massage two my mother", False),
    ("i lost my phone at the station", "the family has a small black dog", False),
    ("i lost my phone at the station", "", False),
]
"""Texts and whether they are alike enough (0.8) not to be suspicious."""


def test_letters_tell_what_was_misheard_without_any_model():
    meaning = Meaning(encoder(NGRAMS))
    for one, other, alike in PAIRS:
        assert (meaning.similarity(one, other) >= 0.8) == alike, (one, other)
    # The same to the last bit in every process: a checksum names the places, not Python's hash.
    assert np.flatnonzero(encoder(NGRAMS)(["ox"])[0]).tolist() == [589, 858, 896]


@given(st.lists(st.text(), max_size=5))
def test_any_text_has_a_vector_of_length_one_or_none(texts):
    lengths = np.linalg.norm(encoder(NGRAMS)(texts), axis=1)
    assert np.all(np.isclose(lengths, 1.0) | (lengths == 0.0))


def test_without_the_model_letters_are_taken_and_the_model_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv("VOXAUDIT_MODELS", str(tmp_path))
    assert best_model() == NGRAMS
    with pytest.raises(VoxauditError, match=r"Fetch it with: voxaudit models fetch minilm, or use ngrams"):
        minilm()


@pytest.fixture
def folder():
    pytest.importorskip("onnxruntime")
    found = fetched(known_model(MINILM))
    return found or pytest.skip("not here: voxaudit models fetch minilm")


def test_sentence_embeddings_know_what_is_alike(folder):
    light, lamp, court = minilm()(
        ["turn on the light", "switch the lamp on", "the supreme court ruled today"]
    )
    np.testing.assert_allclose(np.linalg.norm([light, lamp, court], axis=1), 1.0)
    assert light @ lamp > 0.6 > 0.4 > light @ court
    np.testing.assert_array_equal(minilm()(["turn on the light"])[0], light)
    assert best_model() == MINILM


def test_pieces_are_those_of_the_tokenizers_library(folder):
    library = pytest.importorskip("tokenizers").Tokenizer.from_file(str(folder / "tokenizer.json"))
    library.no_padding()
    vocabulary = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]

    # Tables of Unicode are of other years: what is not assigned in one may be in the other.
    letters = st.characters(max_codepoint=0x52F, exclude_categories=("Cn", "Cs"))

    @given(
        st.text(letters, max_size=60) | st.text("abcdefgh '.-\u00e9\u00df\u4e2d\u3042\u0130", max_size=300)
    )
    def alike(text):
        assert word_pieces(text, vocabulary) == library.encode(text).ids

    alike()
    for text in (
        "Don't stop-me now!",
        "caf\u00e9 na\u00efve",
        "x" * 101,
        "word " * 200,
        "\u4f60\u597d a\u200bb",
    ):
        assert word_pieces(text, vocabulary) == library.encode(text).ids
