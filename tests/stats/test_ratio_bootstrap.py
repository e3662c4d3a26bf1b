import numpy as np

from voxaudit.stats.ratio_bootstrap import ratio_bootstrap


def groups(seed: int, speakers: int, each: int, sigma: float) -> tuple[np.ndarray, ...]:
    generator = np.random.default_rng(seed)
    speaker = np.repeat(np.arange(2 * speakers), each)
    words = generator.integers(4, 30, len(speaker)).astype(float)
    errors = generator.poisson(
        words * 0.2 * np.exp(generator.normal(0, sigma, 2 * speakers)[speaker])
    ).astype(float)
    return errors, words, speaker >= speakers, speaker


def test_the_ratio_is_of_sums() -> None:
    errors, words = np.array([1.0, 3.0, 2.0, 6.0]), np.array([10.0, 30.0, 20.0, 20.0])
    case = np.array([False, False, True, True])
    found = ratio_bootstrap(errors, words, case, ~case, None, resamples=50)
    np.testing.assert_allclose(found.ratio, (8 / 40) / (4 / 40))
    assert found.speakers is None


def test_utterances_agree_with_the_delta_method() -> None:
    errors, words, case, speaker = groups(1, 40, 50, 0.0)
    found = ratio_bootstrap(errors, words, case, ~case, speaker, resamples=4000)
    variance = 0.0
    for here in (case, ~case):
        rate = errors[here].sum() / words[here].sum()
        variance += ((errors[here] - rate * words[here]) ** 2).sum() / errors[here].sum() ** 2
    expected = found.ratio * np.exp(np.array([-1.96, 1.96]) * np.sqrt(variance))
    assert found.utterances is not None
    np.testing.assert_allclose([found.utterances.ci_low, found.utterances.ci_high], expected, rtol=0.01)


def test_speakers_who_differ_widen_the_speaker_interval_only() -> None:
    errors, words, case, speaker = groups(2, 30, 40, 0.6)
    found = ratio_bootstrap(errors, words, case, ~case, speaker)
    assert found.speakers is not None
    assert found.utterances is not None
    utterances, speakers = (np.log(one.ci_high / one.ci_low) for one in (found.utterances, found.speakers))
    assert speakers > 2.5 * utterances


def test_drawing_kinds_or_utterances_is_the_same_experiment() -> None:
    errors, words, case, _ = groups(3, 20, 100, 0.0)
    words = np.full(len(errors), 10.0)  # few kinds: the multinomial shortcut
    unlike = words + np.arange(len(words)) * 1e-9  # all different: the plain way
    short = ratio_bootstrap(errors, words, case, ~case, None, resamples=4000).utterances
    plain = ratio_bootstrap(errors, unlike, case, ~case, None, resamples=4000).utterances
    assert short is not None
    assert plain is not None
    width = short.ci_high - short.ci_low
    assert abs(short.ci_low - plain.ci_low) < 0.05 * width
    assert abs(short.ci_high - plain.ci_high) < 0.05 * width


def test_same_seed_same_interval() -> None:
    errors, words, case, speaker = groups(4, 8, 5, 0.3)
    one, two, other = (
        ratio_bootstrap(errors, words, case, ~case, speaker, resamples=200, seed=seed) for seed in (7, 7, 8)
    )
    assert one == two
    assert one != other


def test_speakers_in_both_groups_are_drawn_together() -> None:
    generator = np.random.default_rng(5)
    speaker = np.repeat(np.arange(20), 40)
    case = np.arange(800) % 2 == 0
    words = np.full(800, 20.0)
    # Huge differences between speakers cancel, because each is in both groups.
    errors = generator.poisson(words * 0.2 * np.exp(generator.normal(0, 1.5, 20)[speaker])).astype(float)
    found = ratio_bootstrap(errors, words, case, ~case, speaker)
    assert found.speakers is not None
    assert found.speakers.ci_high / found.speakers.ci_low < 1.6


def test_four_speakers_get_no_interval() -> None:
    errors, words, case, speaker = groups(6, 4, 10, 0.3)
    found = ratio_bootstrap(errors, words, case, ~case, speaker, resamples=100)
    assert found.speakers is None
    assert found.utterances is not None


def test_a_group_without_errors_has_ratio_zero() -> None:
    errors, words, case, speaker = groups(6, 8, 10, 0.3)
    errors[case] = 0
    found = ratio_bootstrap(errors, words, case, ~case, speaker, resamples=100)
    assert found.ratio == 0
    assert found.utterances is not None
    assert (found.utterances.ci_low, found.utterances.ci_high) == (0, 0)
