from __future__ import annotations

import doctest

import jiwer
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voxaudit.score import counts as counts_module
from voxaudit.score.counts import Counts

numbers = st.integers(0, 1000)
any_counts = st.builds(Counts, numbers, numbers, numbers, numbers)


def test_rates_by_hand() -> None:
    counts = Counts(hits=6, substitutions=2, deletions=2, insertions=2)
    assert (counts.words, counts.hypothesis_words, counts.errors) == (10, 10, 6)
    assert counts.wer == 0.6
    assert counts.mer == 0.5
    assert counts.wil == pytest.approx(1 - 0.6 * 0.6)


def test_wer_can_exceed_one_but_mer_cannot() -> None:
    counts = Counts(hits=1, insertions=4)
    assert counts.wer == 4.0
    assert counts.mer == 0.8


def test_an_empty_reference_has_errors_but_no_error_rate() -> None:
    counts = Counts(insertions=3)
    assert (counts.words, counts.errors, counts.wer) == (0, 3, None)
    assert (counts.mer, counts.wil) == (1.0, 1.0)


def test_an_empty_hypothesis_loses_everything() -> None:
    counts = Counts(deletions=3)
    assert (counts.wer, counts.mer, counts.wil) == (1.0, 1.0, 1.0)


def test_nothing_has_no_rates() -> None:
    assert Counts.zero() == Counts(0, 0, 0, 0)
    assert (Counts.zero().wer, Counts.zero().mer, Counts.zero().wil) == (None, None, None)


@given(any_counts, any_counts, any_counts)
def test_counts_add_up(a: Counts, b: Counts, c: Counts) -> None:
    assert a + Counts.zero() == a
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert (a + b).words == a.words + b.words
    assert (a + b).errors == a.errors + b.errors
    assert sum([a, b, c], Counts.zero()).hypothesis_words == sum(x.hypothesis_words for x in (a, b, c))


@given(any_counts)
def test_rates_stay_in_their_bounds(counts: Counts) -> None:
    for rate in (counts.mer, counts.wil):
        assert rate is None or 0.0 <= rate <= 1.0
    assert counts.wer is None or counts.mer is None or counts.wer >= counts.mer


def test_the_rate_of_a_sum_is_not_the_mean_of_rates() -> None:
    short, long = Counts(substitutions=1), Counts(hits=9)
    assert (short.wer, long.wer, (short + long).wer) == (1.0, 0.0, 0.1)


@pytest.mark.parametrize(
    ("said", "heard"), [("a b c d", "a x c d e"), ("a b", ""), ("a", "a"), ("a b c", "x y z w")]
)
def test_rates_are_jiwers(said: str, heard: str) -> None:
    theirs = jiwer.process_words(said, heard)
    ours = Counts(theirs.hits, theirs.substitutions, theirs.deletions, theirs.insertions)
    assert (ours.wer, ours.mer, ours.wil) == pytest.approx((theirs.wer, theirs.mer, theirs.wil))


def test_documented_examples() -> None:
    result = doctest.testmod(counts_module)
    assert result.attempted == 2
    assert result.failed == 0
