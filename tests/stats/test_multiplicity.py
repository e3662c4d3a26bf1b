import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student

from voxaudit.stats.multiplicity import benjamini_hochberg, farther_together, holm


def test_by_hand() -> None:
    p = [0.01, 0.04, 0.03, 0.005]
    np.testing.assert_allclose(holm(p), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(benjamini_hochberg(p), [0.02, 0.04, 0.04, 0.02])


def test_a_refused_test_is_in_no_family() -> None:
    assert holm([0.02, None, float("nan"), 0.03]) == [0.04, None, None, 0.04]
    assert benjamini_hochberg([None]) == [None]
    assert holm([]) == []


def test_limits_of_several_lie_as_far_as_bonferronis() -> None:
    assert farther_together(7.0, 1) == 1.0
    farther = student.ppf(1 - 0.05 / 3, 7) / student.ppf(0.95, 7)
    np.testing.assert_allclose(farther_together(np.array([7.0]), 3, 0.9), [farther])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_between_no_correction_and_bonferroni(p: list[float]) -> None:
    for raw, step_up, step_down in zip(p, benjamini_hochberg(p), holm(p), strict=True):
        assert step_up is not None
        assert step_down is not None
        assert raw <= step_up + 1e-12
        assert step_up <= step_down + 1e-12
        assert step_down <= min(1.0, raw * len(p)) + 1e-12
    order = np.argsort(p, kind="stable")
    assert np.all(np.diff(np.array(holm(p), dtype=float)[order]) >= -1e-12)
