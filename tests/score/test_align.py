from __future__ import annotations

import doctest
import random
from collections.abc import Iterator

import jiwer
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voxaudit.errors import VoxauditError
from voxaudit.score import align
from voxaudit.score.align import (
    COUNT_COLUMNS,
    align_words,
    character_errors,
    count_characters,
    count_words,
    differences,
    stream_word_counts,
    word_counts,
)
from voxaudit.score.counts import Counts
from voxaudit.score.pairs import Pairs, Words, pair_edits

AWKWARD = [
    ("", ""),
    ("", "thank you"),
    ("thank you", ""),
    ("   ", "\t\n"),
    ("a", "a"),
    ("a a a a a", "a a a"),
    ("a b a b a b", "b a b a b a"),
    ("the the the cat", "the cat cat cat"),
    ("a b c d e f g h", "h g f e d c b a"),
    ("straße café naïve", "strasse cafe naïve"),
    ("caf\u00e9", "cafe\u0301"),
    ("हिन्दी में", "हिंदी में"),
    ("مَرْحَبًا بك", "مرحبا بك"),
    ("👍🏽 👨‍👩‍👧 ok", "👍 👨‍👩‍👧 ok"),
    ("你好 世界", "你好 世"),
    ("a\x00b a", "ab a\x00b"),
    ("\x00 \x01", "\x00"),
    ("\ud800 x", "\udfff x"),
    ("\U0010ffff \U00010000", "\U00010000 \uffff"),
    ("internationalisation of internationalization", "internationalization of internationalisation"),
    ("a" * 8 + " " + "a" * 9, "a" * 9 + " " + "a" * 8),
    ("x" * 500 + "a b", "x" * 500 + "b b"),
    ("  spaces   around  and between ", "spaces around and  between"),
]


def random_pairs(number: int, seed: int) -> Iterator[tuple[str, str]]:
    """Yield half pairs that are mostly alike, from many words, and half that are unlike, from few."""
    generator = random.Random(seed)
    many = ["".join(generator.choices("aeiounrst", k=generator.randint(1, 20))) for _ in range(5000)]
    for index in range(number):
        if index % 2:
            few = "abcdefgh"[: generator.randint(1, 8)]
            said = generator.choices(few, k=generator.randint(1, 15))
            yield " ".join(said), " ".join(generator.choices(few, k=generator.randint(0, 15)))
        else:
            said = generator.choices(many, k=generator.randint(1, 25))
            heard = [word for word in said if generator.random() > 0.06]
            for _ in range(generator.randint(0, 4)):
                heard.insert(generator.randint(0, len(heard)), generator.choice(many))
            yield " ".join(said), " ".join(heard)


def jiwer_counts(references: list[str], hypotheses: list[str]) -> list[tuple[int, ...]]:
    """Return jiwer's hits, substitutions, deletions, insertions of every pair, from one batched call."""
    rows = []
    for chunks in jiwer.process_words(references, hypotheses).alignments:
        found = {"equal": 0, "substitute": 0, "delete": 0, "insert": 0}
        for chunk in chunks:
            found[chunk.type] += max(
                chunk.ref_end_idx - chunk.ref_start_idx, chunk.hyp_end_idx - chunk.hyp_start_idx
            )
        rows.append(tuple(found.values()))
    return rows


def row(counts: Counts) -> tuple[int, ...]:
    return counts.hits, counts.substitutions, counts.deletions, counts.insertions


def edit_distance(left: list[str], right: list[str]) -> int:
    """Return the word edit distance by the textbook's recurrence."""
    line = list(range(len(right) + 1))
    for i, said in enumerate(left, start=1):
        previous, line = line, [i]
        for j, heard in enumerate(right, start=1):
            line.append(min(previous[j] + 1, line[-1] + 1, previous[j - 1] + (said != heard)))
    return line[-1]


@pytest.mark.slow
def test_counts_equal_jiwers_on_a_hundred_thousand_random_pairs() -> None:
    references, hypotheses = map(list, zip(*random_pairs(100_000, seed=7), strict=True))
    assert word_counts(references, hypotheses).rows() == jiwer_counts(references, hypotheses)


@pytest.mark.parametrize(("said", "heard"), AWKWARD)
def test_counts_equal_jiwers_on_awkward_pairs(said: str, heard: str) -> None:
    # jiwer splits at spaces only and does not take several kinds of white space for one.
    spaced = " ".join(said.split()), " ".join(heard.split())
    wanted = jiwer_counts([spaced[0]], [spaced[1]])
    assert [row(count_words(said, heard))] == wanted
    assert word_counts([said], [heard]).rows() == wanted


def test_awkward_pairs_score_the_same_in_one_batch() -> None:
    table = word_counts([said for said, _ in AWKWARD], [heard for _, heard in AWKWARD])
    assert table.rows() == [row(count_words(*pair)) for pair in AWKWARD]


def test_very_long_pairs_equal_jiwers() -> None:
    generator = random.Random(3)
    words = [f"w{number}" for number in range(300)]
    said = generator.choices(words, k=20_000)
    heard = [
        generator.choice(words) if generator.random() < 0.2 else word
        for word in said
        if generator.random() > 0.1
    ]
    pair = " ".join(said), " ".join(heard)
    wanted = jiwer_counts([pair[0]], [pair[1]])
    assert word_counts([pair[0], "a b"], [pair[1], "a"]).rows() == [*wanted, (1, 0, 1, 0)]
    assert [row(count_words(*pair))] == wanted


def test_one_megabyte_without_a_space_is_one_word() -> None:
    assert word_counts(["a b", "c"], ["x" * 1_000_000, "x" * 1_000_000 + " c"]).rows() == [
        (0, 1, 1, 0),
        (1, 0, 0, 1),
    ]


@pytest.mark.parametrize(("said", "heard"), [pair for pair in AWKWARD if pair[0].strip()])
def test_character_counts_equal_jiwers(said: str, heard: str) -> None:
    said, heard = " ".join(said.split()), " ".join(heard.split())
    theirs = jiwer.process_characters(said, heard)
    assert row(count_characters(said, heard)) == (
        theirs.hits,
        theirs.substitutions,
        theirs.deletions,
        theirs.insertions,
    )


def test_character_counts_equal_jiwers_on_random_pairs() -> None:
    pairs = list(random_pairs(2000, seed=11))
    references, hypotheses = map(list, zip(*pairs, strict=True))
    theirs = jiwer.process_characters(references, hypotheses)
    ours = sum((count_characters(*pair) for pair in pairs), Counts.zero())
    assert row(ours) == (theirs.hits, theirs.substitutions, theirs.deletions, theirs.insertions)
    characters, errors = character_errors(references, hypotheses)
    assert (characters.sum(), errors.sum()) == (ours.words, ours.errors)


def test_characters_count_one_space_between_words() -> None:
    assert count_characters(" a   b ", "ab") == Counts(hits=2, deletions=1)
    assert [column.tolist() for column in character_errors([" a   b "], ["ab"])] == [[3], [1]]


def test_characters_are_code_points() -> None:
    assert count_characters("e\u0301", "\u00e9") == Counts(substitutions=1, deletions=1)


texts = st.lists(st.text("abcé 你\x00\u0301", max_size=3), max_size=12).map(" ".join)
pairs = st.lists(st.tuples(texts, texts), max_size=20)


@settings(max_examples=300, deadline=None)
@given(texts, texts)
def test_counts_fit_the_texts_and_the_distance(said: str, heard: str) -> None:
    counts = count_words(said, heard)
    assert counts.words == len(said.split())
    assert counts.hypothesis_words == len(heard.split())
    assert counts.errors == edit_distance(said.split(), heard.split())
    # Which of several best alignments is chosen may depend on the direction, its length does not.
    assert count_words(heard, said).errors == counts.errors


@settings(max_examples=200, deadline=None)
@given(pairs)
def test_a_batch_counts_as_pair_by_pair(batch: list[tuple[str, str]]) -> None:
    table = word_counts([said for said, _ in batch], [heard for _, heard in batch])
    assert table.rows() == [row(count_words(*pair)) for pair in batch]
    assert table.schema == dict.fromkeys(COUNT_COLUMNS, pl.Int64)


@settings(max_examples=200, deadline=None)
@given(texts, texts)
def test_an_alignment_spells_both_texts_and_gives_the_counts(said: str, heard: str) -> None:
    edits = align_words(said, heard)
    assert [word for edit in edits for word in edit.reference] == said.split()
    assert [word for edit in edits for word in edit.hypothesis] == heard.split()
    sizes = {"equal": 0, "substitute": 0, "delete": 0, "insert": 0}
    for edit in edits:
        sizes[edit.kind] += max(len(edit.reference), len(edit.hypothesis))
        assert said.split()[edit.reference_start :][: len(edit.reference)] == list(edit.reference)
        assert heard.split()[edit.hypothesis_start :][: len(edit.hypothesis)] == list(edit.hypothesis)
        assert (edit.reference == edit.hypothesis) == (edit.kind == "equal")
    assert tuple(sizes.values()) == row(count_words(said, heard))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.text(), st.text()), max_size=8))
def test_any_text_at_all_counts_as_pair_by_pair(batch: list[tuple[str, str]]) -> None:
    table = word_counts([said for said, _ in batch], [heard for _, heard in batch])
    assert table.rows() == [row(count_words(*pair)) for pair in batch]


def test_columns_and_lists_and_streams_agree() -> None:
    batch = list(random_pairs(5000, seed=5))
    references, hypotheses = map(list, zip(*batch, strict=True))
    table = word_counts(references, hypotheses)
    assert word_counts(pl.Series(references), pl.Series(hypotheses)).equals(table)
    parts = list(stream_word_counts(iter(batch), rows=999))
    assert [part.height for part in parts] == [999] * 5 + [5]
    assert pl.concat(parts).equals(table)


def test_long_texts_are_taken_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = list(random_pairs(300, seed=9))
    references, hypotheses = map(list, zip(*batch, strict=True))
    whole = word_counts(references, hypotheses)
    monkeypatch.setattr(align, "_CHARACTERS", 200)
    sizes = []
    encode = align.encode_words
    monkeypatch.setattr(
        align, "encode_words", lambda texts, table: sizes.append(len(texts)) or encode(texts, table)
    )
    assert word_counts(references, hypotheses).equals(whole)
    equal = sum(said == heard for said, heard in batch)
    assert sum(sizes) == 600 - equal  # what is equal is encoded once
    assert equal > 0
    assert max(sizes) < 100


def test_nothing_to_count() -> None:
    assert word_counts([], []).height == 0
    assert [len(column) for column in character_errors([], [])] == [0, 0]
    assert list(stream_word_counts([])) == []


@pytest.mark.parametrize("count", [word_counts, character_errors])
def test_what_is_not_text_is_named(count: object) -> None:
    assert callable(count)
    with pytest.raises(VoxauditError, match="row 2: the hypothesis is NoneType"):
        count(["a", "b", "c"], ["a", "b", None])
    with pytest.raises(VoxauditError, match="2 references but 1 hypotheses"):
        count(["a", "b"], ["a"])


def test_documented_examples() -> None:
    result = doctest.testmod(align)
    assert result.attempted == 5
    assert result.failed == 0


def test_texts_compared_by_their_places():
    texts = Words.of(pl.Series(["a b c", "a b", ""]))
    left, right = np.array([[0, 1, 2], [0, -1, 1]]), np.array([[1, 0, 2], [2, 0, 1]])
    first, longer = pair_edits(left, right, texts), pair_edits(left, right, texts, longer=True)
    assert first.known.tolist() == [[True, True, True], [True, False, True]]
    assert first.edits.tolist() == longer.edits.tolist() == [[1, 1, 0], [3, 0, 0]]
    assert first.words.tolist() == [[3, 2, 0], [3, 0, 2]]
    assert longer.words.tolist() == [[3, 3, 0], [3, 0, 2]]


def test_pairs_aligned_together_differ_where_each_by_itself_does():
    draw = random.Random(4)
    pairs = []
    for size, words in ((8, 3), (14, 30), (70, 6)):  # many best alignments, few, and longer than a table
        for _ in range(300):
            said = [f"w{draw.randrange(words)}" for _ in range(draw.randrange(size))]
            heard = [word for word in said if draw.random() > 0.2]
            if draw.random() < 0.5:
                heard = [word if draw.random() > 0.3 else f"w{draw.randrange(words)}" for word in heard]
            pairs.append((" ".join(said), " ".join(heard)))
    together = Pairs.of(pl.Series([said for said, _ in pairs]), pl.Series([heard for _, heard in pairs]))
    found = together.stretches
    for (said, heard), number in zip(pairs, together.pair, strict=True):
        own = found[found.pair == number]
        columns = (own.start, own.stop, own.first, own.last)
        assert list(zip(*(column.tolist() for column in columns), strict=True)) == differences(
            said.split(), heard.split()
        )
