from __future__ import annotations

import doctest
import random
from collections import Counter

import polars as pl
import pytest

from voxaudit.score import show
from voxaudit.score.align import align_words
from voxaudit.score.compare import frequent_edits, normalizer_sensitivity
from voxaudit.score.normalize import NORMALIZERS
from voxaudit.score.show import alignment_block, display_width


def test_every_normalizer_is_applied_to_the_same_text() -> None:
    said, heard = pl.Series(["I'm, um, here at five", "Stop!"]), pl.Series(["i am here at 5", "stop"])
    rates = {rate.normalizer: rate for rate in normalizer_sensitivity(said, heard, "basic")}
    assert list(rates) == ["basic@1", "whisper-en@1", "keep-fillers@1", "spoken-en@1", "none@1"]
    # basic: "im um here at five" against "i am here at 5": three substitutions in 6 words with "stop".
    assert (rates["basic@1"].words, rates["basic@1"].wer, rates["basic@1"].change) == (6, 0.5, 0.0)
    assert (rates["whisper-en@1"].words, rates["whisper-en@1"].wer, rates["whisper-en@1"].change) == (
        6,
        0.0,
        -1.0,
    )
    # none: I'm, > i; um, > am; five > 5; Stop! > stop.
    assert rates["none@1"].wer == pytest.approx(4 / 6)
    assert rates["none@1"].change == pytest.approx(1 / 3)


def test_characters_are_counted_beside_where_there_are_no_spaces() -> None:
    rates = {
        rate.normalizer: rate
        for rate in normalizer_sensitivity(pl.Series(["你好世界"]), pl.Series(["你好是界"]))
    }
    assert (rates["basic@1"].words, rates["basic@1"].wer) == (1, 1.0)
    assert (rates["unspaced@1"].words, rates["unspaced@1"].wer) == (4, 0.25)


def test_the_chosen_normalizer_comes_first_and_changes_are_relative_to_it() -> None:
    rates = normalizer_sensitivity(pl.Series(["A b"]), pl.Series(["a b"]), "none", [NORMALIZERS["basic"]])
    assert [(rate.normalizer, rate.wer, rate.change) for rate in rates] == [
        ("none@1", 0.5, 0.0),
        ("basic@1", 0.0, -1.0),
    ]


def test_no_relative_change_where_there_is_no_error_or_no_word() -> None:
    rates = normalizer_sensitivity(pl.Series(["A"]), pl.Series(["a"]), "basic", [NORMALIZERS["none"]])
    assert [(rate.wer, rate.change) for rate in rates] == [(0.0, None), (1.0, None)]
    (rate,) = normalizer_sensitivity(pl.Series([""]), pl.Series(["a"]), "basic", [NORMALIZERS["basic"]])
    assert (rate.words, rate.wer, rate.cer, rate.change) == (0, None, None, None)


def test_frequent_edits_are_counted_and_ordered() -> None:
    said = ["the cat sat", "the dog sat", "a cat", "same", "b"]
    heard = ["a cat", "a dog", "a cat now", "same", ""]
    found = frequent_edits(said, heard, most=2)
    assert found.substitutions == (("the", "a", 2),)
    assert found.deletions == (("sat", 2), ("b", 1))
    assert found.insertions == (("now", 1),)
    assert found.utterances == 4


def test_an_alignment_in_columns() -> None:
    edits = align_words("turn the small lamp off", "please turn a small lamp")
    assert alignment_block(edits) == (
        "REF: ****** turn the small lamp off\n"
        "HYP: please turn a   small lamp ***\n"
        "     I           S              D"
    )


def test_an_alignment_is_folded_to_the_width() -> None:
    block = alignment_block(align_words("aaa bbb ccc ddd", "aaa bbx ccc ddd"), width=14)
    assert block == "REF: aaa bbb\nHYP: aaa bbx\n         S\nREF: ccc ddd\nHYP: ccc ddd"
    wide = alignment_block(align_words("a" * 30, "b"), width=10)
    assert wide.splitlines()[0] == "REF: " + "a" * 30


def test_columns_hold_for_wide_and_combining_characters() -> None:
    assert (display_width("你好"), display_width("e\u0301"), display_width("abc")) == (4, 1, 3)
    lines = alignment_block(align_words("你好 x", "ab x")).splitlines()
    assert lines[:2] == ["REF: 你好 x", "HYP: ab   x"]


def test_nothing_to_show() -> None:
    assert alignment_block(()) == "REF:\nHYP:"


def test_documented_examples() -> None:
    result = doctest.testmod(show)
    assert result.attempted == 2
    assert result.failed == 0


def test_frequent_edits_are_those_of_the_alignment_that_is_shown() -> None:
    generator = random.Random(0)
    said, heard = (
        [" ".join(generator.choices("abcde", k=generator.randint(0, 9))) for _ in range(400)] for _ in "12"
    )
    counted: Counter[tuple[str, str]] = Counter()
    for one, other in zip(said, heard, strict=True):
        for edit in align_words(one, other):
            counted.update(edit.pairs if edit.kind != "equal" else ())
    found = frequent_edits(said, heard, most=1000)
    assert {(word, other): n for word, other, n in found.substitutions} == {
        pair: n for pair, n in counted.items() if all(pair)
    }
    assert dict(found.deletions) == {word: n for (word, other), n in counted.items() if not other}
    assert dict(found.insertions) == {other: n for (word, other), n in counted.items() if not word}
