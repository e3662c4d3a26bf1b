"""Agreement between raters, against worked examples and statsmodels."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voxaudit.errors import VoxauditError
from voxaudit.stats.agreement import (
    agreement_weights,
    fleiss_kappa,
    kappa_interval,
    overlap,
    pair_agreement,
    rank_correlation,
    rating_counts,
)

# Fleiss (1971), table 1: 30 patients, 6 psychiatrists, 5 diagnoses.
FLEISS = np.array(
    [
        *([0, 0, 0, 6, 0], [0, 3, 0, 0, 3], [0, 1, 4, 0, 1], [0, 0, 0, 0, 6], [0, 3, 0, 3, 0]),
        *([2, 0, 4, 0, 0], [0, 0, 4, 0, 2], [2, 0, 3, 1, 0], [2, 0, 0, 4, 0], [0, 0, 0, 0, 6]),
        *([1, 0, 0, 5, 0], [1, 1, 0, 4, 0], [0, 3, 3, 0, 0], [1, 0, 0, 5, 0], [0, 2, 0, 3, 1]),
        *([0, 0, 5, 0, 1], [3, 0, 0, 1, 2], [5, 1, 0, 0, 0], [0, 2, 0, 4, 0], [1, 0, 2, 0, 3]),
        *([0, 0, 0, 0, 6], [0, 1, 0, 5, 0], [0, 2, 0, 1, 3], [2, 0, 0, 4, 0], [1, 0, 0, 4, 1]),
        *([0, 5, 0, 1, 0], [4, 0, 0, 0, 2], [0, 2, 0, 4, 0], [1, 0, 5, 0, 0], [0, 0, 0, 0, 6]),
    ],
    dtype=float,
)


def test_the_example_of_fleiss():
    kappa = kappa_interval(FLEISS)
    assert kappa.value == pytest.approx(0.430, abs=5e-4)
    assert kappa.observed == pytest.approx(0.5556, abs=5e-5)
    assert kappa.expected == pytest.approx(0.2201, abs=2e-4)  # the paper squares rounded shares
    assert FLEISS.sum(axis=0).tolist() == [26, 26, 30, 55, 43]
    assert (kappa.cases, kappa.refusal) == (30, None)
    assert 0.25 < kappa.low < kappa.value < kappa.high < 0.6


@given(st.integers(0, 10_000), st.integers(2, 40), st.integers(2, 6), st.integers(2, 6))
@settings(max_examples=60, deadline=None)
def test_equal_numbers_of_raters_give_what_statsmodels_gives(seed, cases, raters, categories):
    inter_rater = pytest.importorskip("statsmodels.stats.inter_rater")
    generator = np.random.default_rng(seed)
    counts = rating_counts(generator.integers(0, categories, (cases, raters)), categories)
    if (counts.sum(axis=0) > 0).sum() < 2:
        assert np.isnan(fleiss_kappa(counts))
    else:
        assert fleiss_kappa(counts) == pytest.approx(inter_rater.fleiss_kappa(counts), abs=1e-12)


def brute_force(counts, near):
    """Partial agreement of all ordered pairs of different raters, case by case."""
    observed, shares = [], []
    for row in counts.astype(int):
        people = [category for category, number in enumerate(row) for _ in range(number)]
        if not people:
            continue
        shares.append(row / len(people))
        pairs = list(itertools.permutations(people, 2))
        if pairs:
            observed.append(np.mean([near[one, two] for one, two in pairs]))
    total = np.mean(shares, axis=0)
    expected = sum(near[k, m] * total[k] * total[m] for k in range(len(total)) for m in range(len(total)))
    return (np.mean(observed) - expected) / (1 - expected)


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_unequal_raters_and_weights_follow_the_definition(weights):
    counts = np.array(
        [[3, 0, 0, 1], [0, 1, 0, 0], [0, 2, 1, 0], [0, 0, 0, 0], [0, 0, 0, 5], [1, 0, 1, 0]], float
    )
    near = agreement_weights(4, weights)
    assert fleiss_kappa(counts, weights) == pytest.approx(brute_force(counts, near), abs=1e-12)


def test_weights_of_an_ordered_scale():
    assert agreement_weights(3, "linear").tolist() == [[1, 0.5, 0], [0.5, 1, 0.5], [0, 0.5, 1]]
    assert agreement_weights(3, "quadratic").tolist() == [[1, 0.75, 0], [0.75, 1, 0.75], [0, 0.75, 1]]
    assert agreement_weights(2, "linear").tolist() == agreement_weights(2, None).tolist()
    with pytest.raises(VoxauditError, match="linear or quadratic"):
        agreement_weights(3, "cubic")


def test_a_near_miss_counts_for_more_than_a_far_one():
    scale = np.arange(10)
    near = rating_counts(np.stack([scale, np.minimum(scale + 1, 9)], axis=1), 10)
    far = rating_counts(np.stack([scale, 9 - scale], axis=1), 10)
    assert fleiss_kappa(near) < 0.1
    assert fleiss_kappa(near, "linear") > 0.6
    assert fleiss_kappa(near, "quadratic") > 0.9
    assert fleiss_kappa(far, "quadratic") == pytest.approx(-1.0)


def test_perfect_agreement_is_one():
    counts = np.array([[4, 0], [0, 4], [4, 0], [0, 4], [0, 4], [4, 0]], float)
    for weights in (None, "linear", "quadratic"):
        assert fleiss_kappa(counts, weights) == 1.0
    kappa = kappa_interval(counts)
    assert (kappa.value, kappa.low, kappa.high) == (1.0, 1.0, 1.0)


def test_what_cannot_be_said_is_refused():
    assert kappa_interval(np.zeros((0, 3))).refusal == "no case was judged by two people"
    assert kappa_interval(np.array([[1.0, 0], [0, 1]])).refusal == "no case was judged by two people"
    assert np.isnan(fleiss_kappa(np.array([[1.0, 0], [0, 1]])))
    same = kappa_interval(np.full((9, 1), 2.0) * [1, 0, 0])
    assert same.value is None
    assert same.refusal.startswith("all judgments are the same")
    few = kappa_interval(np.array([[2.0, 0], [0, 2], [1, 1]]))
    assert (few.value, few.cases) == (None, 3)
    assert few.refusal == "only 3 of the at least 5 cases that it takes were judged by two people"
    with pytest.raises(VoxauditError, match="not negative"):
        fleiss_kappa(np.array([[-1.0, 2.0]]))
    with pytest.raises(VoxauditError, match="from 0 to 2"):
        rating_counts(np.array([[0, 3]]), 3)


def test_the_interval_covers_and_narrows():
    generator = np.random.default_rng(1)

    def drawn(cases):
        truth = generator.integers(0, 3, cases)
        noisy = generator.random((cases, 3)) < 0.3
        ratings = np.where(noisy, generator.integers(0, 3, (cases, 3)), truth[:, None])
        return rating_counts(ratings, 3)

    truth = 0.7**2  # two raters both see the truth with 0.7 each, else they draw at random
    wide, narrow = kappa_interval(drawn(30)), kappa_interval(drawn(1000))
    assert narrow.low < truth < narrow.high
    assert narrow.high - narrow.low < wide.high - wide.low
    assert kappa_interval(FLEISS, seed=3) == kappa_interval(FLEISS, seed=3)


def test_pairs():
    ratings = np.array([[0, 0, -1], [1, 1, 1], [2, 0, -1], [-1, 0, 0], [0, 0, -1]])
    one, two, three = pair_agreement(ratings, ["a", "b", "c"], 3)
    assert (one.first, one.second, one.cases, one.agreed, one.share) == ("a", "b", 4, 3, 0.75)
    # Observed 3/4; by chance (2 x 3 + 1 x 1) / 16 = 7/16.
    assert one.kappa == pytest.approx((3 / 4 - 7 / 16) / (1 - 7 / 16))
    assert one.low == pytest.approx(0.3006, abs=1e-4)
    assert (two.cases, two.kappa) == (1, None)
    assert (three.cases, three.agreed, three.kappa) == (2, 2, 1.0)
    assert pair_agreement(np.array([[0, -1], [-1, 1]]), ["a", "b"], 3)[0].share is None


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_cohens_kappa_is_that_of_statsmodels(weights):
    inter_rater = pytest.importorskip("statsmodels.stats.inter_rater")
    ratings = np.random.default_rng(7).integers(0, 4, (50, 2))
    table, _ = inter_rater.to_table(ratings, bins=4)
    expected = inter_rater.cohens_kappa(
        table, wt=weights and {"linear": "linear", "quadratic": "fc"}[weights], return_results=False
    )
    assert pair_agreement(ratings, ["a", "b"], 4, weights)[0].kappa == pytest.approx(expected, abs=1e-12)


def test_two_rules_that_flag_cases():
    first, second = np.array([1, 1, 1, 0, 0, 0], dtype=bool), np.array([1, 1, 0, 1, 0, 0], dtype=bool)
    found = overlap(first, second)
    assert (found.both, found.only_first, found.only_second, found.neither) == (2, 1, 1, 2)
    assert found.kappa == pytest.approx((4 / 6 - 0.5) / 0.5)
    assert overlap(first, np.ones(6, dtype=bool)).kappa == pytest.approx(0.0)
    assert overlap(np.ones(6, dtype=bool), np.ones(6, dtype=bool)).kappa is None
    assert overlap(first[:0], second[:0]).kappa is None


def test_rank_correlation_over_what_is_known():
    x = np.array([1.0, 2.0, 3.0, 4.0, np.nan])
    assert rank_correlation(x, np.array([1.0, 10.0, 100.0, 50.0, 3.0])) == pytest.approx(0.8)
    assert rank_correlation(x[:2], x[:2]) is None
    assert rank_correlation(x, np.ones(5)) is None
