from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from voxaudit.score import kernel
from voxaudit.score.kernel import LONGEST, Spans, errors_and_hits

Pair = tuple[list[int], list[int]]


def laid_out(pairs: list[Pair]) -> tuple[np.ndarray, Spans, Spans]:
    """Return pairs as the kernel takes them, all sequences one behind the other."""
    sequences = [sequence for pair in pairs for sequence in pair]
    lengths = np.array([len(sequence) for sequence in sequences], dtype=np.int64)
    starts = np.cumsum(lengths) - lengths
    codes = np.array([code for sequence in sequences for code in sequence], dtype=np.int32)
    return codes, Spans(starts[0::2], lengths[0::2]), Spans(starts[1::2], lengths[1::2])


def by_rapidfuzz(pairs: list[Pair]) -> list[tuple[int, int]]:
    edits = [Levenshtein.editops(*pair) for pair in pairs]
    return [(len(edit), sum(block.size for block in edit.as_matching_blocks())) for edit in edits]


def by_kernel(pairs: list[Pair]) -> list[tuple[int, int]]:
    errors, hits = errors_and_hits(*laid_out(pairs))
    return list(zip(errors.tolist(), hits.tolist(), strict=True))


@pytest.fixture
def no_rapidfuzz(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every pair that fits go through the table, however few they are."""
    monkeypatch.setattr(kernel, "_outliers", lambda lengths, width: 0)


@pytest.mark.usefixtures("no_rapidfuzz")
@pytest.mark.parametrize("longest", [3, 8, 20, LONGEST, 2 * LONGEST])
@pytest.mark.parametrize("letters", [1, 2, 3, 6, 50])
def test_the_alignment_is_the_one_of_rapidfuzz(letters: int, longest: int) -> None:
    generator = random.Random(longest * 100 + letters)
    pairs = [
        tuple(generator.choices(range(letters), k=generator.randint(0, longest)) for _ in range(2))
        for _ in range(8000 // longest)
    ]
    assert by_kernel(pairs) == by_rapidfuzz(pairs)


@pytest.mark.usefixtures("no_rapidfuzz")
def test_every_short_pair_of_three_letters() -> None:
    sequences = [[]]
    for _ in range(4):
        sequences += [[*sequence, letter] for sequence in sequences[:] for letter in range(3)]
    unique = [list(sequence) for sequence in sorted({tuple(sequence) for sequence in sequences})]
    pairs = [(left, right) for left in unique for right in unique]
    assert len(pairs) == 121**2
    assert by_kernel(pairs) == by_rapidfuzz(pairs)


codes = st.lists(st.integers(0, 3), max_size=2 * LONGEST)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(codes, codes), min_size=1, max_size=12))
def test_long_and_short_pairs_together(pairs: list[Pair]) -> None:
    assert by_kernel(pairs) == by_rapidfuzz(pairs)


def test_what_begins_and_ends_alike_beyond_what_is_looked_at() -> None:
    alike = list(range(500))
    pairs = [
        (alike, [*alike[:200], 999, *alike[201:]]),
        (alike, alike + alike),
        ([7] * 100, [7] * 150),
        (alike + [7] * 90, [7] * 90 + alike),
    ]
    assert by_kernel(pairs) == by_rapidfuzz(pairs)


def test_few_pairs_are_left_to_rapidfuzz_and_many_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = []
    single = kernel._by_rapidfuzz
    monkeypatch.setattr(kernel, "_by_rapidfuzz", lambda *arguments: alone.append(1) or single(*arguments))
    pair: Pair = ([1, 2, 3, 4], [4, 3, 2, 1])
    long: Pair = (list(range(50)), [4, 3, 2, 1])
    assert by_kernel([pair] * 3) == by_rapidfuzz([pair] * 3)
    assert len(alone) == 3
    assert by_kernel([pair] * 100 + [long]) == by_rapidfuzz([pair] * 100 + [long])
    assert len(alone) == 4


def test_no_pairs() -> None:
    assert by_kernel([([], [])]) == [(0, 0)]
    empty = Spans(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    errors, hits = errors_and_hits(np.zeros(0, dtype=np.int32), empty, empty)
    assert (len(errors), len(hits)) == (0, 0)
