import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voxaudit.errors import VoxauditError
from voxaudit.stats.rates import (
    level_together,
    limits_of,
    lower_limits_together,
    lower_log_limits,
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


def test_speakers_who_say_equally_much_give_the_t_limit_of_the_log_and_one_with_somebody_worse():
    # Rates 0.1, 0.2, 0.3, 0.2, 0.2: mean 0.2, variance 0.005, standard error sqrt(0.005 / 5) = 0.0316, 15.8 % of the
    # mean; t(4, 0.975) = 2.7764, so the factor is exp(0.4390) = 1.5511.
    low, high = limits(table([1, 2, 3, 2, 2], [10] * 5))
    assert low == pytest.approx(0.2 / 1.5511, rel=1e-4)
    # The worst speaker's rate with a quarter of ten words at 0.2 beside: 3.5 / 12.5 = 0.28; one not heard has 0.7.
    weights = np.random.default_rng(1).standard_exponential((200_000, 6))
    drawn = weights @ [0.1, 0.2, 0.3, 0.2, 0.2, 2.5 * 0.28] / weights.sum(axis=1)
    assert high == pytest.approx(np.quantile(drawn, 0.975), rel=0.02)


@pytest.mark.parametrize("speakers", [5, 12, 60])
def test_upper_limits_are_those_of_random_weights(speakers):
    """The saddlepoint replaces draws: many of them agree, also where one speaker says and errs most."""
    generator = np.random.default_rng(speakers)
    words = np.exp(generator.normal(3.0, 1.0, speakers)).round() + 1.0
    errors = generator.negative_binomial(0.5, 0.1, speakers) + 1.0
    _, high = limits(table(errors, words))
    lent = 0.25 * words.mean()
    worst = np.max((errors + errors.sum() / words.sum() * lent) / (words + lent))
    weights = generator.standard_exponential((100_000, speakers + 1))
    farthest = min(2.5 * worst, 1.5) if worst <= 1.5 else 2.5 * worst  # where nobody has more
    above = weights @ np.append(errors, farthest * words.mean())
    drawn = above / (weights @ np.append(words, words.mean()))
    assert np.mean(drawn > high) == pytest.approx(0.025, abs=0.0025)


def test_no_errors_have_an_upper_limit_that_says_how_much_was_heard():
    speakers = [f"s{n}" for n in range(8) for _ in range(10)]
    none = pl.DataFrame({"condition": "a", "speaker": speakers, "errors": 0, "words": 9})
    # 80 utterances, ten of a speaker: worth 80 / 1.9 = 42.1 independent ones; 1 - 0.025 ** (1 / 42.1) = 0.0839.
    assert limits(none) == (0.0, pytest.approx(0.0839, abs=1e-4))
    alone = none.with_columns(speaker=pl.lit("one"))
    unknown = none.with_columns(speaker=pl.lit(None, pl.String))
    # 80 of one speaker: worth 80 / 8.9 = 8.99.
    assert limits(alone) == limits(unknown) == (0.0, pytest.approx(0.3366, abs=1e-4))
    sums = none.group_by("condition", "speaker").agg(pl.col("errors", "words").sum(), said=pl.len())
    assert limits(sums, utterances="said") == limits(none)
    assert limits(none, confidence=0.99)[1] > limits(none)[1]
    empty = pl.concat([none, none.with_columns(words=pl.lit(0))])
    assert limits(empty) == limits(none)


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
    # Rates so low that the one not heard does not lose all words.
    low, high = limits(rows.with_columns(pl.col("words") * 40))
    assert limits(rows.with_columns(pl.col("words") * 280)) == pytest.approx((low / 7, high / 7))
    assert limits(rows.with_columns(pl.col("words") * 40), confidence=0.99)[1] > high


def test_nobody_is_taken_to_be_much_worse_than_lost_unless_somebody_was():
    rows = table([9, 8, 9, 10, 8, 9], [10] * 6)
    assert limits(rows)[1] < 1.2
    assert limits(rows, most=np.inf)[1] > 1.4
    assert limits(table([9, 8, 9, 30, 8, 9], [10] * 6))[1] > 1.5


@pytest.mark.parametrize(
    ("change", "speakers"),
    [
        (lambda t: t.head(4), 4),
        (lambda t: t.with_columns(speaker=pl.lit(None, pl.String)), 0),
        (lambda t: pl.concat([t, t.head(1).with_columns(speaker=pl.lit(None, pl.String))]), 6),
        (lambda t: t.with_columns(words=pl.lit(0)), 6),
        (lambda t: t.with_columns(words=pl.when(pl.col("speaker") == "s0").then(50).otherwise(0)), 6),
    ],
    ids=["four speakers", "no speakers", "a row without", "no words", "one has all words"],
)
def test_no_interval_where_the_data_cannot_carry_one(change, speakers):
    row = rate_intervals(change(table([1, 2, 3, 0, 2, 1], [10] * 6)), ["condition"]).row(0, named=True)
    assert row == {"condition": "a", "speakers": speakers, "ci_low": None, "ci_high": None}


def test_a_senseless_confidence_is_refused():
    with pytest.raises(VoxauditError, match="between 0 and 1"):
        rate_intervals(table([1] * 6, [10] * 6), ["condition"], confidence=95)


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


def test_a_mean_of_equal_parts_has_the_limits_of_one():
    generator = np.random.default_rng(8)
    words = generator.integers(20, 60, (9, 1)).astype(float)
    errors = generator.poisson(0.2 * words).astype(float) + 1.0
    rate, parts = pulls(errors, words)
    one = limits(table(errors[:, 0], words[:, 0]))
    twice = mean_of([rate[0]] * 2, [parts] * 2)
    for same in (parts, twice):
        low, high = limits_of(rate, same, 0.95)
        assert (low[0], high[0]) == pytest.approx(one)


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


def audits(generator, speakers, count, bad=0.0, bursts=0.0):
    """Errors and words of many made-up audits, a column each.

    `bad` of the speakers are five times as bad; `bursts` of the utterances have 50 to 250 words too many.
    """
    said = 1 + generator.poisson(9.0, (speakers, count))
    words = (said + generator.poisson(8.0 * said)).astype(float)
    own = np.exp(0.5 * generator.standard_normal(words.shape))
    own = own * np.where(generator.random(words.shape) < bad, 5.0, 1.0)
    errors = generator.poisson(0.15 * own * words)
    for _ in range(4):  # of one speaker; more hardly ever happen
        hit = generator.random(words.shape) < bursts * said / 4
        errors = errors + hit * generator.integers(50, 250, words.shape)
    return errors.astype(float), words, 0.15 * np.exp(0.125) * (1.0 + 4.0 * bad) + 149.5 * bursts / 9.0


def limits_of_all(errors, words):
    count = errors.shape[1]
    names = np.repeat(np.arange(count), len(errors))
    rows = {"condition": names, "speaker": np.tile(np.arange(len(errors)), count)}
    rows |= {"errors": errors.T.ravel(), "words": words.T.ravel()}
    return rate_intervals(pl.DataFrame(rows), ["condition"])


@pytest.mark.parametrize("speakers", [8, 16, 40])
@pytest.mark.parametrize(
    ("world", "most"),
    [({}, 0.02), ({"bad": 0.12}, 0.035), ({"bursts": 0.004}, 0.085)],
    ids=["", "bad", "bursts"],
)
def test_limits_keep_their_promise_where_few_make_most_errors(speakers, world, most):
    """Nominal 2.5 % a side; limits on the log scale end too early in 14 to 32 % of such audits.

    Bursts are the limit of what can be promised: with 40 speakers one audit in five has not heard any.
    """
    errors, words, truth = audits(np.random.default_rng(6), speakers, 1500, **world)
    found = limits_of_all(errors, words)
    assert (found["ci_high"] < truth).mean() < most
    assert (found["ci_low"] > truth).mean() < 0.035
    rate, parts = pulls(errors, words)
    pull, df = parts.corrected()
    low = lower_log_limits(rate, np.sum(pull**2, axis=0), df, 0.95)
    assert np.allclose(found["ci_low"].to_numpy(), low)
    # They are of use: where nobody is unlike the others, the rate is hardly ever twice what was measured.
    if not world and speakers >= 16:
        assert np.median(found["ci_high"].to_numpy() / rate) < 2.0


@pytest.mark.slow
def test_the_worst_of_many_scenarios_is_rarely_above_what_all_of_them_are():
    """Six scenarios alike, the same 12 speakers: the largest of the limits together is too high in at most 2.5 %."""
    generator = np.random.default_rng(9)
    above = 0
    for _ in range(200):
        own = np.exp(0.5 * generator.standard_normal(12) - 0.125)
        words = generator.integers(40, 120, 12)
        parts = [table(generator.poisson(0.15 * own * words), words, name) for name in "abcdef"]
        above += lower_limits_together(pl.concat(parts), ["condition"])["low"].max() > 0.15
    assert above <= 10
