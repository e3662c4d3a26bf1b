import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voxaudit.errors import VoxauditError
from voxaudit.stats.rates import (
    Pulls,
    compare_sides,
    level_together,
    log_limits,
    log_ratio,
    lower_limits_together,
    mean_of,
    mean_pulls,
    pulls,
    rate_intervals,
)


def table(errors, words, condition="a"):
    return pl.DataFrame(
        {
            "condition": [condition] * len(errors),
            "speaker": [f"s{n}" for n in range(len(errors))],
            "errors": errors,
            "words": words,
        }
    )


def limits(rows, **options):
    row = rate_intervals(rows, ["condition"], **options).row(0, named=True)
    return row["ci_low"], row["ci_high"]


def test_speakers_who_say_equally_much_give_the_t_interval_of_the_log():
    # Rates 0.1, 0.2, 0.3, 0.2, 0.2: mean 0.2, variance 0.005, standard error sqrt(0.005 / 5) = 0.0316, 15.8 % of the
    # mean; t(4, 0.975) = 2.7764, so the factor is exp(0.4390) = 1.5511.
    assert limits(table([1, 2, 3, 2, 2], [10] * 5)) == pytest.approx((0.2 / 1.5511, 0.2 * 1.5511), rel=1e-4)


def test_unequal_words_equal_the_matrices_they_stand_for():
    generator = np.random.default_rng(1)
    words = generator.integers(5, 90, (9, 1)).astype(float)
    errors = generator.poisson(0.2 * words).astype(float)
    h = (words / words.sum())[:, 0]
    s = h + h**2 / np.sum(h**2)
    maker = np.eye(9) - np.outer(h, np.ones(9))
    covariance = (maker * s) @ maker.T
    factor = s / np.diag(covariance)
    expected = np.sum(factor * (errors[:, 0] / errors.sum() - h) ** 2)
    pull, df = pulls(errors, words)[1].corrected()
    assert np.sum(pull**2) == pytest.approx(expected)
    assert df[0] == pytest.approx(s.sum() ** 2 / np.sum(np.outer(factor, factor) * covariance**2))
    assert df[0] < 8.0  # fewer than of nine speakers who say equally much


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000))
def test_order_other_conditions_and_units_change_nothing(seed):
    generator = np.random.default_rng(seed)
    words = generator.integers(1, 60, 8)
    rows = table(1 + generator.poisson(0.2 * words), words)
    low, high = limits(rows)
    assert low < rows["errors"].sum() / rows["words"].sum() < high
    nothing = rows.with_columns(pl.col("errors", "words") * 0)  # a second utterance of everybody, empty
    split = pl.concat([rows, nothing])
    other = table(generator.poisson(3.0, 12), [10] * 12, "b")
    for same in (rows.sample(fraction=1.0, shuffle=True, seed=seed), split, pl.concat([rows, other])):
        assert limits(same) == (low, high)
    assert limits(rows.with_columns(pl.col("words") * 7)) == pytest.approx((low / 7, high / 7))
    assert limits(rows, confidence=0.99)[1] > high


@pytest.mark.parametrize(
    ("change", "speakers"),
    [
        (lambda t: t.head(4), 4),
        (lambda t: t.with_columns(speaker=pl.lit(None, pl.String)), 0),
        (lambda t: pl.concat([t, t.head(1).with_columns(speaker=pl.lit(None, pl.String))]), 6),
        (lambda t: t.with_columns(words=pl.lit(0)), 6),
        (lambda t: t.with_columns(errors=pl.lit(0)), 6),
        (lambda t: t.with_columns(words=pl.when(pl.col("speaker") == "s0").then(50).otherwise(0)), 6),
    ],
    ids=["four speakers", "no speakers", "a row without", "no words", "no errors", "one has all words"],
)
def test_no_interval_where_the_data_cannot_carry_one(change, speakers):
    row = rate_intervals(change(table([1, 2, 3, 0, 2, 1], [10] * 6)), ["condition"]).row(0, named=True)
    assert row == {"condition": "a", "speakers": speakers, "ci_low": None, "ci_high": None}


def test_a_senseless_confidence_is_refused():
    with pytest.raises(VoxauditError, match="between 0 and 1"):
        rate_intervals(table([1] * 6, [10] * 6), ["condition"], confidence=95)


def test_two_groups_who_say_equally_much_are_welchs_test_of_relative_rates():
    from scipy.stats import ttest_ind

    first, second = np.array([3.0, 5, 9, 4, 7, 2]), np.array([8.0, 12, 5, 9, 10, 7, 14])
    rows = np.zeros((2, 13, 1))
    rows[0, :6, 0], rows[1, 6:, 0] = first, second
    sides = [pulls(one, np.where(one > 0, 40.0, 0.0)) for one in rows]
    found = log_ratio(np.log(sides[0][0] / sides[1][0]), sides[0][1], sides[1][1])[0]
    assert found.estimate == pytest.approx(np.log(first.mean() / second.mean()))
    # Relative rates have mean 1 on both sides; their Welch error and degrees of freedom are those of the log ratio.
    welch = ttest_ind(first / first.mean(), second / second.mean() + 1.0, equal_var=False)
    assert np.sqrt(found.variance) == pytest.approx(abs(1.0 / welch.statistic))
    assert found.df == pytest.approx(welch.df)
    back = log_ratio(np.log(sides[1][0] / sides[0][0]), sides[1][1], sides[0][1])[0]
    assert back.p == pytest.approx(found.p)
    assert back.limits(0.95) == pytest.approx([-end for end in reversed(found.limits(0.95))])


def test_the_same_people_on_both_sides_are_paired():
    generator = np.random.default_rng(2)
    hard = np.exp(generator.normal(0.0, 0.8, (12, 1)))
    before, after = np.round(30 * hard), np.round(33 * hard)
    words = np.full((12, 1), 200.0)
    one, two = pulls(after, words), pulls(before, words)
    paired = log_ratio(np.log(one[0] / two[0]), one[1], two[1])[0]
    assert paired.p < 0.001  # speakers differ much, what happens to them hardly does
    assert paired.df == pytest.approx(11.0)
    same = log_ratio(np.zeros(1), one[1], one[1])[0]
    assert same.p is None
    assert same.limits(0.95) == (0.0, 0.0)


def test_sides_are_compared_in_means_and_against_one_of_them():
    there = np.array([[1.0]] * 3 + [[0.0]] * 3)
    errors = np.array([[1.0, 2.0], [1.0, 4.0], [2.0, 2.0], [2.0, 8.0], [3.0, 7.0], [1.0, 9.0]])
    words = np.full((6, 2), 10.0)
    sides = [(errors * side, words * side) for side in (there, 1.0 - there)]
    weights = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]])
    found = compare_sides(sides, weights, 0)
    # Rates 4/30 and 8/30 against 6/30 and 24/30.
    ratios = np.log([4 / 6, 8 / 24, 12 / 30])
    assert [plain.estimate for plain, _ in found] == pytest.approx(ratios)
    assert found[0][1] is None
    assert [change.estimate for _, change in found[1:]] == pytest.approx(ratios[1:] - ratios[0])
    assert all(change is None for _, change in compare_sides(sides, weights, None))
    errors[:3, 0] = 0.0  # the one they are set against has no ratio
    sides[0] = (errors * there, words * there)
    assert all(change is None for _, change in compare_sides(sides, weights, 0))


def test_a_mean_of_rates_moves_as_its_parts_do():
    """A speaker left out moves the mean of two rates by about his pull on its logarithm."""
    generator = np.random.default_rng(3)
    words = generator.integers(200, 400, (60, 2)).astype(float)
    errors = generator.poisson(words * [0.1, 0.4]).astype(float)
    rates, parts = pulls(errors, words)
    mean, own = mean_pulls(rates, parts, np.full((2, 1), 0.5))
    assert mean[0] == pytest.approx(rates.mean())
    without = np.mean(np.delete(errors, 7, 0).sum(axis=0) / np.delete(words, 7, 0).sum(axis=0))
    assert np.log(mean[0] / without) == pytest.approx(own.pull[7, 0], rel=0.05)
    again = mean_of(list(rates), [parts.column(0), parts.column(1)])
    assert np.allclose(again.pull, own.pull)
    assert np.allclose(own.share.sum(axis=0), 1.0)


def test_a_rate_without_words_spoils_only_the_means_that_it_belongs_to():
    errors, words = (
        np.array([[1.0, 2.0, 1.0], [3.0, 1.0, 0.0]]),
        np.array([[10.0, 20.0, 0.0], [10.0, 30.0, 0.0]]),
    )
    means, own = mean_pulls(*pulls(errors, words), np.column_stack([np.eye(3), np.ones(3) / 3]))
    alone, known = mean_pulls(*pulls(errors[:, :2], words[:, :2]), np.eye(2))
    assert means[:2] == pytest.approx(alone)
    assert np.isnan(means[2:]).all()
    assert np.allclose(own.pull[:, :2], known.pull)
    assert np.allclose(own.share[:, :2], known.share)


def test_a_level_for_all_lies_between_bonferronis_and_the_level_of_one():
    pull = np.random.default_rng(4).standard_normal((200, 1))
    assert level_together(pull, 0.025) == 0.025
    assert level_together(np.hstack([pull] * 5), 0.025) == pytest.approx(0.025, abs=0.003)
    apart = level_together(np.eye(8), 0.025)
    assert apart == pytest.approx(1.0 - 0.975 ** (1 / 8), rel=0.15)


def test_lower_limits_together_lie_below_single_ones():
    generator = np.random.default_rng(5)
    words = generator.integers(20, 90, 10)
    own = np.exp(generator.normal(0.0, 0.5, 10))
    parts = [table(generator.poisson(0.2 * own * words), words, name) for name in "abcd"]
    rows = pl.concat([*parts, table([1, 2], [9, 9], "few")])
    single, together = rate_intervals(rows, ["condition"]), lower_limits_together(rows, ["condition"])
    assert together["condition"].to_list() == single["condition"].to_list()
    assert together["low"].to_list()[4] is None
    assert (together["low"] < single["ci_low"])[:4].all()
    alone = lower_limits_together(parts[0], ["condition"])["low"].item()
    assert alone == pytest.approx(single["ci_low"][0])


def worlds(generator, speakers, audits, spread=0.5):
    """Errors and words of many made-up audits, a column each: skewed speakers who say unequally much."""
    said = 1 + generator.geometric(1 / 7, (speakers, audits))
    words = (said + generator.poisson(8.0 * said)).astype(float)
    own = np.exp(spread * generator.standard_normal(words.shape) - spread**2 / 2)
    return generator.poisson(0.15 * own * words).astype(float), words


@pytest.mark.parametrize("speakers", [8, 16, 32, 80])
def test_intervals_of_skewed_speakers_keep_their_promise(speakers):
    rate, parts = pulls(*worlds(np.random.default_rng(6), speakers, 4000))
    pull, df = parts.corrected()
    low, high = log_limits(rate, np.sum(pull**2, axis=0), df, 0.95)
    # Percentiles of resampled speakers, widened for their number, miss 5 to 8 % above up to 32 speakers.
    assert np.mean(high < 0.15) < 0.042
    assert np.mean(low > 0.15) < 0.03
    assert 0.94 < np.mean((low <= 0.15) & (high >= 0.15)) < 0.975


@pytest.mark.parametrize(
    ("sizes", "spreads", "most"), [((16, 16), (0.5, 0.5), 0.06), ((8, 40), (0.5, 0.5), 0.07)]
)
def test_equal_groups_are_rarely_called_different(sizes, spreads, most):
    generator = np.random.default_rng(7)
    rates, sides, first = [], [], 0
    for size, spread in zip(sizes, spreads, strict=True):
        errors, words = worlds(generator, size, 3000, spread)
        rate, own = pulls(errors, words)
        whole = np.zeros((2, sum(sizes), 3000))
        whole[:, first : first + size] = own.pull, own.share
        rates.append(rate)
        sides.append(Pulls(*whole))
        first += size
    p = np.array([one.p for one in log_ratio(np.log(rates[0] / rates[1]), *sides)])
    assert 0.025 < np.mean(p < 0.05) < most
