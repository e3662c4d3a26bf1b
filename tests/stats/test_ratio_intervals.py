"""A lower limit for several ratios at once is wider on the log scale, by quantiles of t."""

import math

import pytest
from scipy.stats import t

from voxaudit.stats.ratio_intervals import lower_together


def test_one_ratio_keeps_its_limit():
    assert lower_together(2.0, 1.5, 1, 12) == 1.5


def test_four_ratios_are_bonferroni_on_the_log_scale():
    together = lower_together(2.0, 1.5, 4, 12)
    assert together is not None
    grown = t.ppf(1 - 0.025 / 4, 11) / t.ppf(0.975, 11)
    assert math.log(2.0 / together) == pytest.approx(grown * math.log(2.0 / 1.5))


@pytest.mark.parametrize(("ratio", "low"), [(math.inf, 1.5), (2.0, None), (2.0, 0.0)])
def test_a_limit_that_cannot_move_stays(ratio, low):
    assert lower_together(ratio, low, 4, 12) == low
