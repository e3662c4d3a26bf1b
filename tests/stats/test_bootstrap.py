import numpy as np
import polars as pl
import pytest

from voxaudit.errors import VoxauditError
from voxaudit.stats.bootstrap import Resample, ratio_intervals, speaker_weights, standard_error


def simulate(generator, speakers=8, utterances=20, spread=0.5, condition="a"):
    rows = []
    for speaker in range(speakers):
        rate = 0.2 * np.exp(generator.normal(-(spread**2) / 2, spread))
        words = generator.integers(5, 15, utterances)
        rows.append(
            pl.DataFrame(
                {
                    "condition": condition,
                    "speaker": f"s{speaker}",
                    "errors": generator.poisson(words * rate).astype(np.int64),
                    "words": words,
                }
            )
        )
    return pl.concat(rows)


def test_limits_equal_a_plain_loop_over_the_same_draws():
    table = simulate(np.random.default_rng(1), speakers=12)
    got = ratio_intervals(table, ["condition"], resamples=500, seed=3)
    sums = table.group_by("speaker", maintain_order=True).agg(pl.col("errors").sum(), pl.col("words").sum())
    weights = speaker_weights(12, 500, np.random.Generator(np.random.PCG64(3)))
    rates = [
        (row * sums["errors"].to_numpy()).sum() / (row * sums["words"].to_numpy()).sum() for row in weights
    ]
    # 12 speakers: t(11, 0.975) = 2.200985, times sqrt(12/11) = 2.298848, Phi(-2.298848) = 0.010756
    low, high = np.quantile(rates, [0.010756, 1 - 0.010756])
    assert got["ci_low"].item() == pytest.approx(low, rel=1e-4)
    assert got["ci_high"].item() == pytest.approx(high, rel=1e-4)


def test_the_interval_covers_as_often_as_it_says():
    generator = np.random.default_rng(2)
    hits = 0
    for repetition in range(300):
        table = simulate(generator, speakers=10)
        row = ratio_intervals(table, ["condition"], resamples=400, seed=repetition).row(0, named=True)
        hits += row["ci_low"] <= 0.2 <= row["ci_high"]
    # Nominal 285; skewed rates of ten speakers cost a little. Utterances as the sample would cover 150 or so.
    assert 265 <= hits <= 298


def test_every_condition_gets_its_own_row_in_order():
    generator = np.random.default_rng(3)
    table = pl.concat([simulate(generator, condition="b"), simulate(generator, condition="a", spread=0.0)])
    got = ratio_intervals(table, ["condition"])
    assert got["condition"].to_list() == ["b", "a"]
    assert got["speakers"].to_list() == [8, 8]
    wide, narrow = (got["ci_high"] - got["ci_low"]).to_list()
    assert wide > narrow > 0


@pytest.mark.parametrize(
    ("change", "speakers"),
    [
        (lambda t: t.filter(pl.col("speaker").is_in(["s0", "s1", "s2", "s3"])), 4),
        (lambda t: t.with_columns(speaker=pl.lit(None, pl.String)), 0),
        (lambda t: pl.concat([t, t.head(1).with_columns(speaker=pl.lit(None, pl.String))]), 8),
        (lambda t: t.with_columns(words=pl.lit(0, pl.Int64)), 8),
    ],
    ids=["four speakers", "no speakers", "one row without speaker", "no words"],
)
def test_no_interval_where_the_data_cannot_carry_one(change, speakers):
    got = ratio_intervals(change(simulate(np.random.default_rng(4))), ["condition"]).row(0, named=True)
    assert got == {"condition": "a", "speakers": speakers, "ci_low": None, "ci_high": None}


def test_missing_levels_are_a_level():
    table = simulate(np.random.default_rng(5)).with_columns(condition=pl.lit(None, pl.String))
    assert ratio_intervals(table, ["condition"])["ci_low"].null_count() == 0


def test_a_senseless_confidence_is_refused():
    with pytest.raises(VoxauditError, match="between 0 and 1"):
        ratio_intervals(simulate(np.random.default_rng(6)), ["condition"], confidence=95)


def test_row_zero_is_the_estimate_and_everybody_is_drawn_as_often():
    weights = Resample.within(["a", "b", "a", "b"], 500, 0, 0.95).weights
    assert (weights[0] == 1).all()
    assert (weights[:, [0, 2]].sum(axis=1) == 2).all()
    assert (weights[:, [1, 3]].sum(axis=1) == 2).all()
    assert np.allclose(weights.mean(axis=0), 1.0, atol=0.1)


def test_rates_of_draws_without_words_are_unknown():
    drawn = Resample(np.array([[1.0, 1.0], [2.0, 0.0], [0.0, 2.0]]), 0.95)
    rates = drawn.rates(np.array([[1.0], [0.0]]), np.array([[4.0], [0.0]]))
    np.testing.assert_array_equal(rates, [[0.25], [0.25], [np.nan]])


def test_limits_are_percentiles_that_few_speakers_widen():
    values = np.concatenate([[50.0], np.arange(1.0, 100.0)])
    resample = Resample(np.ones((100, 1)), 0.8)
    assert resample.limits(values, 10**6) == pytest.approx((10.0, 90.0), abs=1e-3)
    low, high = resample.limits(values, 6)
    assert low < 9.0
    assert high > 91.0
    # Four at once: each at 95 %.
    assert resample.limits(values, 10**6, tests=4) == pytest.approx((2.5, 97.5), abs=1e-3)
    assert resample.limits(values, 4) == (None, None)
    assert resample.limits(np.where(values < 60, np.nan, values), 10**6) == (None, None)
    assert resample.limits(np.where(values > 80, np.inf, values), 10**6)[1] is None
    assert standard_error(values) == pytest.approx(np.std(np.arange(1.0, 100.0), ddof=1))


def test_one_difference_has_the_width_of_its_own_quantile():
    generator = np.random.default_rng(0)
    draws = np.concatenate([[0.0], generator.normal(0.0, 2.0, 20_000)])
    resample = Resample(np.ones((1, 1)), 0.95)
    (alone,) = resample.widths_together([draws], 10**6)
    assert alone == pytest.approx(1.96 * 2.0, rel=0.03)
    others = [np.concatenate([[0.0], generator.normal(0.0, 2.0, 20_000)]) for _ in range(3)]
    together = resample.widths_together([draws, *others], 10**6)
    assert together[0] == pytest.approx(2.49 * 2.0, rel=0.03)  # four at once: 0.95 ** (1 / 4) of each
    assert resample.widths_together([draws, draws], 10**6) == pytest.approx([alone, alone])
    assert resample.widths_together([np.zeros(100)], 9) == [0.0]
