"""Mean rates of two groups of speakers: what is estimated, its limits, and how often the test is wrong or right."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from voxaudit.stats.group_means import Means, Plan, Sample, Several, compare, difference_limits, pairs_of
from voxaudit.stats.permutations import Shuffles


def sample_of(rates, words=200.0, **groups):
    rates = np.asarray(rates, dtype=float).reshape(len(rates), -1)
    people = {"speaker": [str(n) for n in range(len(rates))]}
    people |= {f"@{name}": [str(one) for one in values] for name, values in groups.items()}
    names = tuple(f"r{n}" for n in range(rates.shape[1]))
    return Sample(pl.DataFrame(people), names, rates, np.full(rates.shape, words))


def order_of(sample):
    names = [name[1:] for name in sample.people.columns if name.startswith("@")]
    return {name: tuple(sample.people[f"@{name}"].unique().sort()) for name in names}


def study(generator, sizes, spread=0.1):
    """Return rates, whether each speaker is of the group, and the stratum, for sizes [(group, others), ...]."""
    first = np.concatenate([[True] * a + [False] * b for a, b in sizes])
    stratum = np.repeat(np.arange(len(sizes)), [a + b for a, b in sizes])
    return np.abs(0.2 + 0.05 * stratum + spread * generator.standard_normal(len(first))), first, stratum


def means_of(rates, first, stratum, shuffles=None):
    rates = rates[:, None] if rates.ndim == 1 else rates
    return Means(
        rates,
        np.full(rates.shape, 100.0),
        first,
        stratum,
        np.arange(len(first)),
        shuffles or Shuffles(len(first), 50, seed=3, strata=stratum),
    )


@pytest.mark.parametrize("sizes", [[(3, 2), (1, 4)], [(1, 1), (2, 1), (1, 5), (4, 4)], [(7, 9)]])
def test_the_difference_is_that_of_least_squares_with_an_effect_of_every_stratum(sizes):
    rates, first, stratum = study(np.random.default_rng(1), sizes)
    design = np.column_stack([first, *(stratum == place for place in range(len(sizes)))]).astype(float)
    expected = np.linalg.lstsq(design, rates, rcond=None)[0][0]
    means, _ = means_of(rates, first, stratum).moments
    assert means[0, 0] - means[1, 0] == pytest.approx(expected)


def test_one_stratum_is_the_log_ratio_of_two_means():
    generator = np.random.default_rng(2)
    rates, first, stratum = study(generator, [(7, 9)])
    groups = means_of(rates, first, stratum)
    means, spread = groups.moments
    for place, side in enumerate((rates[first], rates[~first])):
        assert means[place, 0] == pytest.approx(side.mean())
        assert spread[place, 0] == pytest.approx(side.var(ddof=1) / len(side) / side.mean() ** 2)
    statistics = Several([groups]).statistics(np.ones(1))
    assert statistics[0, 0] == pytest.approx(np.log(means[0, 0] / means[1, 0]) / np.sqrt(spread.sum()))
    # A shuffle is the statistic of speakers who changed sides.
    for number, order in enumerate(next(iter(groups.shuffles.blocks()))[1][:5]):
        again, more = means_of(rates, first[order], stratum).moments
        expected = np.log(again[0, 0] / again[1, 0]) / np.sqrt(more.sum())
        assert statistics[number, 0] == pytest.approx(expected)


@pytest.mark.parametrize("ratio", [1.0, 0.7, 2.5])
def test_shuffles_within_strata_under_a_ratio_are_statistics_of_divided_rates(ratio):
    rates, first, stratum = study(np.random.default_rng(4), [(3, 4), (2, 5), (6, 2)])
    groups = means_of(rates, first, stratum)
    statistics = Several([groups]).statistics(np.array([ratio]))[:, 0]
    divided = np.where(first, rates / ratio, rates)
    for number, order in enumerate(next(iter(groups.shuffles.blocks()))[1][:6]):
        again, more = means_of(divided, first[order], stratum).moments
        assert statistics[number] == pytest.approx(np.log(again[0, 0] / again[1, 0]) / np.sqrt(more.sum()))


def test_pairs_of_speakers_are_not_taken_for_surer_than_they_are():
    # Strata of two: the variance of the log ratio is that of the differences, by hand.
    generator = np.random.default_rng(5)
    first, stratum = np.tile([True, False], 400), np.repeat(np.arange(400), 2)
    rates = 0.2 + 0.05 * generator.standard_normal(800)
    _, spread = means_of(rates, first, stratum).moments
    difference = (rates[first] - rates[~first]).std(ddof=1) / np.sqrt(400) / 0.2
    assert np.sqrt(spread.sum()) == pytest.approx(difference, rel=0.05)


def test_one_speaker_who_decides_is_not_tested():
    for sizes, tested in (([(1, 60)], 0), ([(1, 6), (1, 6)], 1), ([(2, 3)], 0), ([(4, 4)], 1)):
        rates, first, stratum = study(np.random.default_rng(3), sizes)
        assert len(means_of(rates, first, stratum).testable(0.05)) == tested
    alike = means_of(np.full(16, 0.25), np.arange(16) < 8, np.zeros(16, dtype=np.int64))
    assert len(alike.testable(0.05)) == 0


positive = st.floats(0.01, 1.0)


@given(
    positive, positive, st.floats(1e-4, 0.5), st.floats(1e-4, 0.5), st.floats(0.01, 2.0), st.floats(0.01, 2.0)
)
def test_a_difference_excludes_zero_where_the_ratio_excludes_one(a, b, v, w, down, up):
    ratio = a / b
    low, high = ratio * np.exp(-down), ratio * np.exp(up)
    limits = difference_limits(np.array([[a], [b]]), np.array([[v], [w]]), np.array([low]), np.array([high]))
    assert limits[0][0] <= a - b <= limits[1][0]
    for limit, of_ratio in zip(limits, (low, high), strict=True):
        if abs(np.log(of_ratio)) > 0.02:
            assert np.sign(limit[0]) == np.sign(np.log(of_ratio))


def test_a_group_without_errors_has_limits():
    limits = difference_limits(
        np.array([[0.001], [0.2]]), np.array([[2.0], [0.01]]), np.array([0.0]), np.array([0.05])
    )
    assert limits[0][0] < -0.2 < limits[1][0] < 0.0


QUICK = {"limits": False, "permutations": 299}
"""Fewer shuffles: enough to say how often p is below 0.05."""


def claims(world, sizes, audits, seed=1):
    """Return the share of audits that claim a difference, ours and Welch's on the same rates."""
    generator = np.random.default_rng(seed)
    ours, welch = 0, 0
    group = np.repeat([0, 1], sizes)
    for _ in range(audits):
        rates = world(generator, group)
        sample = sample_of(rates, g=group)
        found = compare(sample, pairs_of(sample, order_of(sample)), Plan(), **QUICK)
        ours += (found["p_adjusted"] <= 0.05).sum()
        welch += stats.ttest_ind(rates[group == 1], rates[group == 0], equal_var=False).pvalue <= 0.05
    return ours / audits, welch / audits


def bad_few(generator, group, ratio=1.0):
    """One speaker in eight is five times as bad."""
    own = np.where(generator.random(len(group)) < 0.12, 5.0, 1.0) * np.exp(
        0.25 * generator.standard_normal(len(group))
    )
    return 0.1 * own * np.where(group == 1, ratio, 1.0)


def unlike(generator, group):
    """Equal means, the first group's speakers alike and the second's not."""
    spread = np.where(group == 0, 0.25, 0.9)
    return 0.15 * np.exp(spread * generator.standard_normal(len(group)) - spread**2 / 2)


@pytest.mark.slow
def test_false_alarms_where_a_few_speakers_are_much_worse():
    ours, welch = claims(bad_few, (60, 6), 400)
    assert ours < 0.075  # nominal and 2.3 standard errors
    assert welch > 0.1


@pytest.mark.slow
def test_false_alarms_where_groups_differ_in_spread():
    ours, _ = claims(unlike, (16, 16), 400)
    assert ours < 0.075


def test_power_is_no_less_than_welchs():
    ours, welch = claims(lambda *some: bad_few(*some, ratio=2.0), (40, 8), 200)
    assert ours > 0.3
    assert ours > 2 * welch


def test_strata_take_out_what_they_differ_by():
    generator = np.random.default_rng(6)
    home, group = np.repeat([0, 1], 30), np.tile([0, 0, 1, 0, 1, 1], 10)
    shown = {"plain": 0, "fixed": 0}
    for _ in range(60):
        rates = (
            0.1
            * np.where(home == 1, 6.0, 1.0)
            * np.where(group == 1, 1.5, 1.0)
            * np.exp(0.3 * generator.normal(size=60))
        )
        sample = sample_of(rates, g=group, home=home)
        order = {"g": ("0", "1")}
        for name, held in (("plain", None), ("fixed", {"g": ("home",)})):
            found = compare(sample, pairs_of(sample, order, held), Plan(), **QUICK)
            shown[name] += int(found["p"].item() <= 0.05)
    assert shown["fixed"] > 40 > shown["plain"]


def test_the_interval_covers():
    generator = np.random.default_rng(8)
    group = np.repeat([0, 1], (20, 14))
    inside, truth = 0, 0.15 * 0.6
    for _ in range(40):
        rates = 0.15 * np.exp(0.5 * generator.standard_normal(34) - 0.125) * np.where(group == 1, 1.6, 1.0)
        sample = sample_of(rates, g=group)
        row = compare(sample, pairs_of(sample, order_of(sample)), Plan()).row(0, named=True)
        inside += row["low"] <= -truth <= row["high"]
    assert inside >= 34


def test_a_recognizer_that_missed_speakers_is_compared_on_those_it_heard():
    generator = np.random.default_rng(9)
    rates = 0.2 * np.exp(0.3 * generator.standard_normal((24, 2)))
    group = np.arange(24) % 2
    both = sample_of(rates, g=group)
    rates[:4, 1] = np.nan
    found = compare(both, pairs_of(both, order_of(both)), Plan())
    assert found["speakers"].to_list() == [12, 10]
    assert found["estimate"][1] == pytest.approx(rates[4::2, 1].mean() - rates[5::2, 1].mean())
