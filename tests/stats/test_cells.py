import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln

from voxaudit.stats.cells import collapse
from voxaudit.stats.poisson_glmm import evaluate
from voxaudit.stats.quadrature import gauss_hermite


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), speakers=st.integers(1, 8), within=st.booleans())
def test_collapsing_changes_no_likelihood(seed: int, speakers: int, within: bool) -> None:
    generator = np.random.default_rng(seed)
    rows = speakers + int(generator.integers(0, 30))
    speaker = generator.permutation(np.resize(np.arange(speakers), rows))
    words = generator.integers(1, 4, rows).astype(float)
    errors = generator.poisson(0.8, rows).astype(float)
    level = generator.integers(0, 2, speakers)[speaker]
    other = generator.integers(0, 3, rows) if within else generator.integers(0, 3, speakers)[speaker]
    design = np.column_stack([np.ones(rows), level, other]).astype(float)
    beta, tau = generator.normal(0, 0.5, 3), -0.5
    cells = collapse(errors, words, speaker, design)
    rule = gauss_hermite(7)
    found = evaluate(cells, cells.design, np.zeros(len(cells.errors)), beta, tau, rule).loglik

    linear = design @ beta
    totals = np.bincount(speaker, errors, speakers)
    expected = np.bincount(speaker, words * np.exp(linear), speakers)
    by_hand = rule(totals, np.log(expected), tau).value.sum()
    by_hand += errors @ (linear + np.log(words)) - gammaln(errors + 1).sum()
    np.testing.assert_allclose(found, by_hand, rtol=1e-11)
    assert cells.utterances == rows
    assert cells.speakers == speakers
    np.testing.assert_allclose(cells.weight @ cells.squares, (errors**2 / words).sum())


def test_speakers_alike_share_a_block() -> None:
    cells = collapse(
        np.array([1.0, 2.0, 3.0, 0.0, 3.0]),
        np.array([5.0, 5.0, 10.0, 4.0, 10.0]),
        np.array([0, 0, 1, 2, 3]),
        np.ones((5, 1)),
    )
    # Speakers 0, 1 and 3 have 3 errors in 10 words each, in two utterances or in one.
    assert sorted(zip(cells.errors, cells.words, cells.weight, strict=True)) == [
        (0.0, 4.0, 1.0),
        (3.0, 10.0, 3.0),
    ]
    assert cells.block_of_speaker[0] == cells.block_of_speaker[1] == cells.block_of_speaker[3]
    assert cells.one_cell_each


def test_covariates_within_speakers_keep_cells_apart() -> None:
    design = np.column_stack([np.ones(4), [0.0, 1.0, 1.0, 0.0]])
    cells = collapse(np.array([1.0, 2.0, 4.0, 8.0]), np.full(4, 10.0), np.array([0, 0, 0, 1]), design)
    assert len(cells.errors) == 3
    assert cells.starts.tolist() == [0, 2]
    assert not cells.one_cell_each
    assert cells.constant_within.tolist() == [True, False]
    np.testing.assert_allclose(cells.block_errors, [7.0, 8.0])


def test_leaving_cells_out_forgets_speakers_without_any() -> None:
    cells = collapse(np.array([1.0, 0.0, 2.0]), np.full(3, 10.0), np.array([0, 1, 2]), np.ones((3, 1)))
    left = cells.without(cells.errors == 0.0, [0])
    assert left.errors.tolist() == [1.0, 2.0]
    assert left.block_of_speaker.tolist() == [0, -1, 1]
