"""Stratified differences from summaries equal least squares on speakers, HC2 and Bell-McCaffrey the long way."""

import numpy as np
import pytest

from voxaudit.stats.group_means import stratified_differences
from voxaudit.stats.ttests import t_test


def study(generator, sizes, spread=0.1, scale=None):
    """Return rates, whether each speaker is of the group, and the stratum, for sizes [(group, others), ...]."""
    group = np.concatenate([[True] * a + [False] * b for a, b in sizes])
    stratum = np.repeat(np.arange(len(sizes)), [a + b for a, b in sizes])
    sd = spread if scale is None else np.asarray(scale)[stratum]
    return 0.2 + 0.05 * stratum + sd * generator.standard_normal(len(group)), group, stratum


def summaries(rates, group, stratum):
    parts = []
    for side in (group, ~group):
        values = [rates[side & (stratum == place)] for place in range(stratum.max() + 1)]
        parts += [
            np.array([float(len(one)) for one in values]),
            np.array([one.mean() for one in values]),
            np.array([((one - one.mean()) ** 2).sum() for one in values]),
        ]
    return parts


def long_way(rates, group, stratum):
    design = np.column_stack([group, *(stratum == place for place in range(stratum.max() + 1))]).astype(float)
    inverse = np.linalg.inv(design.T @ design)
    hat = design @ inverse @ design.T
    residual = rates - hat @ rates
    influence = (inverse @ design.T)[0] / np.sqrt(1 - np.diag(hat))
    variance = (influence**2 * residual**2).sum()
    # The variance estimate is a quadratic form in the errors: its mean and spread if they all have variance 1.
    form = (np.eye(len(rates)) - hat) * influence
    inner = form.T @ form
    return (inverse @ design.T @ rates)[0], variance, np.trace(inner) ** 2 / (inner**2).sum()


@pytest.mark.parametrize(
    "sizes", [[(3, 2), (1, 4)], [(1, 1), (2, 1), (1, 5), (4, 4)], [(7, 9)], [(1, 30), (30, 1), (2, 2)]]
)
def test_equals_least_squares_on_speakers(sizes):
    rates, group, stratum = study(np.random.default_rng(1), sizes)
    codes = np.zeros(len(sizes), dtype=np.int64)
    found = stratified_differences(codes, *summaries(rates, group, stratum))
    estimate, variance, df = long_way(rates, group, stratum)
    assert found.estimate[0] == pytest.approx(estimate)
    assert found.variance[0] == pytest.approx(variance)
    assert found.df[0] == pytest.approx(df)


def test_comparisons_do_not_mix():
    generator = np.random.default_rng(2)
    first, second = (
        summaries(*study(generator, sizes)) for sizes in ([(3, 4), (2, 2)], [(5, 2), (3, 3), (1, 2)])
    )
    together = stratified_differences(
        np.array([0, 0, 1, 1, 1]), *(np.concatenate(pair) for pair in zip(first, second, strict=True))
    )
    for place, parts in enumerate((first, second)):
        alone = stratified_differences(np.zeros(len(parts[0]), dtype=np.int64), *parts)
        assert together.estimate[place] == alone.estimate[0]
        assert together.df[place] == pytest.approx(alone.df[0])


def test_one_speaker_who_decides_is_refused():
    found = stratified_differences(np.array([0]), *summaries(*study(np.random.default_rng(3), [(1, 6)])))
    assert np.isnan(found.variance[0])
    # With a second stratum there is something to compare the person with.
    found = stratified_differences(
        np.array([0, 0]), *summaries(*study(np.random.default_rng(3), [(1, 6), (1, 6)]))
    )
    assert np.isfinite(found.variance[0])


@pytest.mark.parametrize(
    ("sizes", "scale"),
    [
        ([(1, 3), (2, 2), (4, 1), (3, 3), (1, 1), (2, 4), (3, 1), (2, 2)], [0.1] * 8),
        ([(2, 5)] * 6, np.linspace(0.03, 0.25, 6)),
        ([(100, 2), (4, 100)], [0.05, 0.3]),  # where a pooled variance gives 13 % false alarms
    ],
)
def test_false_alarms(sizes, scale):
    generator = np.random.default_rng(4)
    repeats = 1500
    parts = [summaries(*study(generator, sizes, scale=scale)) for _ in range(repeats)]
    codes = np.repeat(np.arange(repeats), len(sizes))
    found = stratified_differences(codes, *(np.concatenate(column) for column in zip(*parts, strict=True)))
    p = t_test(found.estimate, found.variance, found.df).p
    assert 0.02 < np.mean(p < 0.05) < 0.068
