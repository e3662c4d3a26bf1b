"""Text complexity: counts by hand, the corpus as its own yardstick, and English where PocketSphinx is installed."""

import math

import polars as pl
import pytest

from voxaudit.errors import VoxauditError
from voxaudit.score import measures as complexity
from voxaudit.score.measures import MEASURES, text_complexity, words_of


@pytest.fixture
def no_english(monkeypatch):
    monkeypatch.setattr(complexity, "_english", lambda: None)


def test_words():
    assert words_of("Don’t panic, it's 42 o'clock -- #7!") == ["don't", "panic", "it's", "o'clock"]  # noqa: RUF001
    assert words_of("") == []
    assert words_of("日本語 ok") == ["日本語", "ok"]


def test_rows_keep_their_place(no_english):
    found = text_complexity(pl.Series(["a b", None, "", "a b", "c"]))
    assert found.table.columns == list(MEASURES)
    assert found.table["text_words"].to_list() == [2.0, None, 0.0, 2.0, 1.0]
    assert found.table["perplexity_bits"].is_null().to_list() == [False, True, True, False, False]
    assert found.table.row(0) == found.table.row(3)


def test_a_dictionary_of_ones_own(tmp_path, no_english):
    (tmp_path / "words.txt").write_text("turn T ER N\non\nThe(2) DH AH\nlight\n")
    found = text_complexity(pl.Series(["Turn on the flurb", "flurb zorg"]), tmp_path / "words.txt")
    assert found.table["unknown_words"].to_list() == [0.25, 1.0]
    assert "words.txt" in found.sources["unknown_words"]
    with pytest.raises(VoxauditError, match="cannot read this dictionary"):
        text_complexity(pl.Series(["a"]), tmp_path / "none.txt")
    (tmp_path / "empty.txt").write_text("\n \n")
    with pytest.raises(VoxauditError, match="no words in this dictionary"):
        text_complexity(pl.Series(["a"]), tmp_path / "empty.txt")


def test_without_a_dictionary_it_says_so(no_english):
    found = text_complexity(pl.Series(["a b"]))
    assert "no dictionary" in found.missing["unknown_words"]
    assert "corpus" in found.sources["perplexity_bits"]


def test_the_corpus_judges_a_text_by_the_others(no_english):
    # For "a b" the other text "a c" leaves: a 1, c 1 of 2 words, 4 kinds with the unseen one: add one to each.
    found = text_complexity(pl.Series(["a b", "a c"]))
    alone_a, alone_b = 2 / 6, 1 / 6
    expected = math.log10(1e6 * alone_a) / 2 + math.log10(1e6 * alone_b) / 2
    assert found.table["word_frequency"][0] == pytest.approx(expected)
    # After <s> the other text has "a" once of once; after "a" it has "b" none of once.
    bits = -(math.log2(0.6 * 1.0 + 0.4 * alone_a) + math.log2(0.6 * 0.0 + 0.4 * alone_b)) / 2
    assert found.table["perplexity_bits"][0] == pytest.approx(bits)


def test_an_odd_text_is_harder(no_english):
    usual = [
        f"please turn {way} the {thing}" for way in ("on", "off", "up") for thing in ("light", "radio", "fan")
    ]
    found = text_complexity(pl.Series([*usual, "quixotic zephyrs perplex jocular sphinxes"])).table
    assert found["perplexity_bits"].arg_max() == len(usual)
    assert found["word_frequency"].arg_min() == len(usual)


def test_english():
    pytest.importorskip("pocketsphinx")
    found = text_complexity(
        pl.Series(
            [
                "I don't know what you are talking about",
                "colorless green ideas sleep furiously",
                "the flurb is here",
            ]
        )
    )
    easy, odd, unknown = found.table.iter_rows(named=True)
    assert "PocketSphinx" in found.sources["perplexity_bits"]
    assert easy["perplexity_bits"] < odd["perplexity_bits"]
    assert easy["word_frequency"] > odd["word_frequency"]
    assert (easy["unknown_words"], unknown["unknown_words"]) == (0.0, 0.25)


def test_other_languages_are_not_judged_by_english():
    pytest.importorskip("pocketsphinx")
    found = text_complexity(pl.Series(["bitte schalte das Licht ein", "mach die Heizung höher"]))
    assert "not in the English dictionary" in found.missing["unknown_words"]
    assert "corpus" in found.sources["perplexity_bits"]
