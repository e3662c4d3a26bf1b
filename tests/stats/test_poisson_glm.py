import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import poisson

from voxaudit.stats.cells import Cells, collapse
from voxaudit.stats.poisson_glm import fit_poisson


def cells_of(errors: list[float], words: list[float], design: list[list[float]]) -> Cells:
    return collapse(
        np.array(errors), np.array(words), np.zeros(len(errors), dtype=int), np.array(design, float)
    )


def test_two_groups_have_a_closed_form() -> None:
    fit = fit_poisson(cells_of([3, 5, 6, 10], [40, 60, 50, 70], [[1, 0], [1, 0], [1, 1], [1, 1]]))
    rates = 8 / 100, 16 / 120
    np.testing.assert_allclose(fit.coefficients, [np.log(rates[0]), np.log(rates[1] / rates[0])], rtol=1e-10)
    np.testing.assert_allclose(fit.standard_errors, [np.sqrt(1 / 8), np.sqrt(1 / 8 + 1 / 16)], rtol=1e-5)
    by_hand = poisson.logpmf([3, 5], [40 * 0.08, 60 * 0.08]).sum()
    by_hand += poisson.logpmf([6, 10], np.array([50, 70]) * rates[1]).sum()
    np.testing.assert_allclose(fit.loglik, by_hand, rtol=1e-12)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_the_score_is_zero_at_the_fit(seed: int) -> None:
    generator = np.random.default_rng(seed)
    words = generator.integers(1, 60, 80).astype(float)
    x = generator.normal(0, 1, 80)
    errors = generator.poisson(words * np.exp(-1.5 + 0.3 * x)).astype(float)
    design = np.column_stack([np.ones(80), x, generator.integers(1940, 2005, 80)])
    fit = fit_poisson(collapse(errors, words, np.zeros(80, dtype=int), design))
    residual = errors - words * np.exp(design @ fit.coefficients)
    np.testing.assert_allclose(design.T @ residual / np.linalg.norm(design, axis=0), 0.0, atol=1e-6)
