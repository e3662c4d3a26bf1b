import numpy as np
import pytest
from scipy.stats import kendalltau, theilslopes

from voxaudit.stats.theil_sen import pareto_front, theil_sen


def test_an_odd_unit_does_not_move_the_slope():
    x = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    y = np.array([2.0, 4.0, 6.0, 8.0, 10.0, 100.0])
    line = theil_sen(x, y)
    assert (line.slope, line.by_decade) == (2.0, False)
    assert (line.low, line.high) == theilslopes(y, x)[2:]
    assert line.tau == pytest.approx(1.0)
    assert line.p == kendalltau(x, y).pvalue


def test_numbers_that_span_a_factor_of_ten_go_by_their_logarithm():
    x = np.array([1e6, 1e7, 1e8, 1e9])
    line = theil_sen(x, np.array([0.4, 0.3, 0.2, 0.1]))
    assert line.by_decade
    assert line.slope == pytest.approx(-0.1)
    assert not theil_sen(x - 1e6, np.arange(4.0)).by_decade  # 0 has no logarithm


def test_the_front_keeps_equals_and_drops_who_is_beaten():
    x = np.array([1.0, 1.0, 2.0, 2.0, 3.0])
    y = np.array([4.0, 4.0, 3.0, 5.0, 3.0])
    assert pareto_front(x, y).tolist() == [True, True, True, False, False]
