import numpy as np
import pytest
from scipy.linalg import fractional_matrix_power
from scipy.stats import f as f_distribution

from voxaudit.stats.cells import collapse
from voxaudit.stats.dispersion import dispersion
from voxaudit.stats.poisson_glmm import MixedFit
from voxaudit.stats.quadrature import wide_rule
from voxaudit.stats.regression import Regression, Settings, regress
from voxaudit.stats.robust import robust_test, speaker_freedom, speaker_sandwich


def model_of(seed: int = 0, *, spread: float = 0.0) -> tuple[Regression, tuple[np.ndarray, ...]]:
    generator = np.random.default_rng(seed)
    speaker = np.repeat(np.arange(16), 6)
    case, x = (speaker % 2).astype(float), generator.integers(0, 3, 96).astype(float)
    words = generator.integers(5, 25, 96).astype(float)
    rate = 0.15 * np.exp(generator.normal(0, 0.5, 16)[speaker])
    if spread:
        rate *= generator.gamma(1 / spread, spread, 96)
    errors = generator.poisson(words * rate).astype(float)
    design = np.column_stack([np.ones(96), case, x])
    return regress(collapse(errors, words, speaker, design)), (errors, words, speaker, design)


def parts_of(model: Regression, data: tuple[np.ndarray, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Scores and information of every speaker by finite differences of the likelihood."""
    errors, words, speaker, design = data
    fit = model.fit
    assert isinstance(fit, MixedFit)
    point = np.append(fit.coefficients, np.log(fit.sigma))

    def score(theta: np.ndarray, one: int) -> np.ndarray:
        def of_speaker(at: np.ndarray) -> float:
            here = speaker == one
            linear = design[here] @ at[:-1]
            eta = np.log((words[here] * np.exp(linear)).sum())
            integral = wide_rule(np.array([errors[here].sum()]), np.array([eta]), float(at[-1]))
            return float(errors[here] @ linear + integral.value[0])

        steps = 1e-4 * np.eye(len(theta))
        return np.array([(of_speaker(theta + step) - of_speaker(theta - step)) / 2e-4 for step in steps])

    people, size = range(int(speaker.max()) + 1), len(point)
    scores = np.array([score(point, one) for one in people])
    steps = 1e-4 * np.eye(size)
    curved = np.array(
        [[(score(point - step, one) - score(point + step, one)) / 2e-4 for step in steps] for one in people]
    )
    return scores, 0.5 * (curved + curved.transpose(0, 2, 1))


def leverage(information: np.ndarray) -> np.ndarray:
    """What blows up each speaker's score of the three coefficients."""
    inner = information[:, :3, :3]
    bread = np.linalg.inv(inner.sum(axis=0))
    return np.array([np.real(fractional_matrix_power(np.eye(3) - own @ bread, -0.5)) for own in inner])


def test_scores_are_blown_up_by_leverage() -> None:
    model, data = model_of()
    scores, information = parts_of(model, data)
    np.testing.assert_allclose(scores.sum(axis=0), 0.0, atol=1e-5)
    total = information.sum(axis=0)
    covariance = np.linalg.inv(total)[:3, :3]
    np.testing.assert_allclose(covariance, model.fit.covariance, rtol=1e-4)
    efficient = scores[:, :3] - np.outer(scores[:, 3], total[:3, 3] / total[3, 3])
    corrected = np.einsum("nij,nj->ni", leverage(information), efficient)
    expected = covariance @ (corrected.T @ corrected) @ covariance
    np.testing.assert_allclose(speaker_sandwich(model).covariance, expected, rtol=1e-3, atol=1e-6)


def test_degrees_of_freedom_are_satterthwaites() -> None:
    model, data = model_of()
    _, information = parts_of(model, data)
    inner, blown = information[:, :3, :3], leverage(information)
    bread = np.linalg.inv(inner.sum(axis=0))
    covariance = np.linalg.inv(information.sum(axis=0))[:3, :3]
    people = range(len(inner))
    # What a speaker's true score does to everybody's fitted one.
    residual = np.array([[float(i == j) * np.eye(3) - inner[i] @ bread for j in people] for i in people])
    found = speaker_sandwich(model).freedom
    for place in range(3):
        rows = np.einsum("a,iab,ijbc->ijc", covariance[place], blown, residual)
        moved = np.einsum("ikb,kbc,jkc->ij", rows, inner, rows)
        np.testing.assert_allclose(found[place], np.trace(moved) ** 2 / np.trace(moved @ moved), rtol=1e-3)
    assert found[1] < 14.0  # never more than speakers allow: 16 less the intercept and the group


def test_the_smaller_group_decides() -> None:
    generator = np.random.default_rng(4)
    speaker = np.repeat(np.arange(44), 12)
    case = (speaker < 4).astype(float)
    words = np.full(len(speaker), 10.0)
    errors = generator.poisson(2.0 * np.exp(generator.normal(0, 0.4, 44)[speaker])).astype(float)
    model = regress(collapse(errors, words, speaker, np.column_stack([np.ones(len(case)), case])))
    intercept, group = speaker_sandwich(model).freedom
    assert 30.0 < intercept < 40.0
    assert 3.0 < group < 5.0
    assert speaker_freedom(model) == 42


def test_many_speakers_need_no_correction() -> None:
    generator = np.random.default_rng(8)
    speaker = np.repeat(np.arange(1500), 4)
    case = (speaker % 2).astype(float)
    errors = generator.poisson(1.5 * np.exp(generator.normal(0, 0.4, 1500)[speaker])).astype(float)
    model = regress(collapse(errors, np.full(6000, 10.0), speaker, np.column_stack([np.ones(6000), case])))
    sandwich = speaker_sandwich(model)
    np.testing.assert_allclose(sandwich.covariance, model.fit.covariance, rtol=0.1)
    assert sandwich.freedom[1] > 1300.0


def test_batches_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    model, _ = model_of(3, spread=0.5)
    whole = speaker_sandwich(model)
    joint = robust_test(model, (1, 2), whole)
    monkeypatch.setattr("voxaudit.stats.robust._CHUNK", 40)
    parts = speaker_sandwich(model)
    np.testing.assert_allclose(parts.covariance, whole.covariance, rtol=1e-12)
    np.testing.assert_allclose(parts.freedom, whole.freedom, rtol=1e-12)
    again = robust_test(model, (1, 2), parts)
    assert joint is not None
    assert again is not None
    np.testing.assert_allclose(again.p, joint.p, rtol=1e-10)


def test_beyond_a_size_degrees_of_freedom_are_a_little_too_few(monkeypatch: pytest.MonkeyPatch) -> None:
    model, _ = model_of(3)
    exact = robust_test(model, (1, 2), speaker_sandwich(model))
    monkeypatch.setattr("voxaudit.stats.robust._WIDEST", 0)
    bound = robust_test(model, (1, 2), speaker_sandwich(model))
    assert exact is not None
    assert bound is not None
    assert 0.7 * exact.df_speakers < bound.df_speakers <= exact.df_speakers


@pytest.mark.parametrize("people", [3, 6])  # fewer and more speakers than contrasts times coordinates
def test_the_bound_is_as_close_with_many_groups(people: int, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(people)
    speaker = np.repeat(np.arange(5 * people), 20)
    group = speaker % 5
    errors = generator.poisson(2.0 * np.exp(generator.normal(0, 0.4, 5 * people)[speaker])).astype(float)
    design = np.column_stack([np.ones(len(group)), *(group == one for one in range(1, 5))]).astype(float)
    model = regress(collapse(errors, np.full(len(group), 10.0), speaker, design))
    sandwich = speaker_sandwich(model)
    exact = robust_test(model, (1, 2, 3, 4), sandwich)
    monkeypatch.setattr("voxaudit.stats.robust._WIDEST", 0)
    bound = robust_test(model, (1, 2, 3, 4), sandwich)
    assert exact is not None
    assert bound is not None
    assert 0.7 * exact.df_speakers < bound.df_speakers <= exact.df_speakers * (1.0 + 1e-9)


def test_the_joint_test_is_hotellings() -> None:
    model, _ = model_of(1)
    sandwich = speaker_sandwich(model)
    beta = model.fit.coefficients[1:]
    squared = float(beta @ np.linalg.solve(sandwich.covariance[1:, 1:], beta))
    found = robust_test(model, (1, 2), sandwich)
    assert found is not None
    assert found.df == 2
    df = found.df_speakers
    assert sandwich.freedom[1:].min() - 2.0 < df < 14.0
    np.testing.assert_allclose(found.p, f_distribution.sf(squared * df / ((df + 1) * 2), 2, df), rtol=1e-9)


def test_a_joint_test_does_not_depend_on_the_coding() -> None:
    _, (errors, words, speaker, _) = model_of(5)
    level = speaker % 3
    tests = []
    for first in range(3):
        others = [(level == one).astype(float) for one in range(3) if one != first]
        coded = regress(collapse(errors, words, speaker, np.column_stack([np.ones(96), *others])))
        tests.append(robust_test(coded, (1, 2), speaker_sandwich(coded)))
    assert all(test is not None for test in tests)
    for test in tests[1:]:
        assert test is not None
        assert tests[0] is not None
        np.testing.assert_allclose([test.f, test.df_speakers], [tests[0].f, tests[0].df_speakers], rtol=1e-5)


def test_one_coefficient_is_a_t_test() -> None:
    model, _ = model_of(1)
    sandwich = speaker_sandwich(model)
    found = robust_test(model, (2,), sandwich)
    assert found is not None
    np.testing.assert_allclose(found.f, model.fit.coefficients[2] ** 2 / sandwich.covariance[2, 2])
    np.testing.assert_allclose(found.df_speakers, sandwich.freedom[2])


def test_without_speakers_there_is_no_sandwich() -> None:
    model, _ = model_of()
    with pytest.raises(TypeError, match="needs a model with speakers"):
        speaker_sandwich(regress(model.source, Settings(random=False)))


def test_dispersion_from_totals_is_that_of_the_utterances() -> None:
    model, (errors, words, speaker, design) = model_of(2, spread=1.0)
    fit = model.fit
    assert isinstance(fit, MixedFit)
    mean = words * np.exp(design @ fit.coefficients + fit.modes[speaker])
    at_mode = np.bincount(speaker, mean)
    spent = 3 + (at_mode / (at_mode + fit.sigma**-2)).sum()
    found = dispersion(model)
    np.testing.assert_allclose(found.mixed, ((errors - mean) ** 2 / mean).sum() / (96 - spent), rtol=1e-10)
    plain = dispersion(regress(model.source, Settings(random=False)))
    assert plain.mixed is None
    np.testing.assert_allclose(plain.poisson, found.poisson, rtol=1e-9)
    assert found.poisson > found.mixed > 1.3


def test_poisson_errors_are_not_overdispersed() -> None:
    ratios = [dispersion(model_of(seed)[0]).mixed for seed in range(12)]
    assert 0.9 < float(np.mean(np.array(ratios, dtype=float))) < 1.1
