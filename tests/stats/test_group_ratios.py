from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from voxaudit.stats.group_ratios import CHANGE, RATE, Adjusted, Rates, Shares, guard_p, interval, judge
from voxaudit.stats.permutations import Shuffles, among, critical, equal_tailed, margins, step_down, sums_of


def speakers(seed: int, first: int, second: int, *, ratio: float = 1.0, cells: int = 1, spread: float = 0.5):
    """Make errors, words (people x cells) and who is in the first group."""
    generator = np.random.default_rng(seed)
    group = np.arange(first + second) < first
    words = generator.integers(20, 300, (len(group), cells)).astype(float)
    own = np.exp(spread * generator.standard_normal((len(group), 1)))
    rate = 0.1 * own * np.where(group, ratio, 1.0)[:, None]
    return generator.poisson(words * rate).astype(float), words, group


def rates(errors, words, group, shuffles=None) -> Rates:
    sums = np.stack([errors, words])
    mask = group[None, :, None]
    return Rates(sums * mask, sums * ~mask, shuffles or Shuffles(len(group), 499, seed=3))


def log_ratio(errors, words, group):
    """Return the log ratio over its standard error, as the definition has it."""
    parts = []
    for own in (group, ~group):
        e, w = errors[own], words[own]
        pull = e / e.sum() - w / w.sum()
        parts.append((np.log(e.sum() / w.sum()), len(e) / (len(e) - 1) * (pull**2).sum()))
    return (parts[0][0] - parts[1][0]) / np.sqrt(parts[0][1] + parts[1][1])


def test_every_shuffle_is_the_definition_by_hand() -> None:
    errors, words, group = speakers(1, 6, 11, cells=2)
    shuffles = Shuffles(17, 40, seed=5)
    found = rates(errors, words, group, shuffles).statistics(np.array([1.0, 1.7]))
    ((_, block),) = shuffles.blocks()
    for row, order in enumerate(block):
        for cell, ratio in enumerate((1.0, 1.7)):
            tilted = errors[:, cell] / np.where(group, ratio, 1.0)
            np.testing.assert_allclose(
                found[row, cell], log_ratio(tilted, words[:, cell], group[order]), rtol=1e-9, atol=1e-12
            )


def test_a_speaker_on_both_sides_counts_once() -> None:
    generator = np.random.default_rng(2)
    ours, theirs = (
        np.stack([generator.poisson(9, (12, 1)), generator.integers(40, 90, (12, 1))]).astype(float)
        for _ in range(2)
    )
    found = Rates(ours, theirs, Shuffles(12, 200, seed=1)).statistics(np.ones(1))[0, 0]
    pulls = [side[0, :, 0] / side[0].sum() - side[1, :, 0] / side[1].sum() for side in (ours, theirs)]
    own = sum(12 / 11 * (pull**2).sum() for pull in pulls)
    variance = own - 2 * (pulls[0] * pulls[1]).sum()
    rate = np.log(ours[0].sum() / ours[1].sum()) - np.log(theirs[0].sum() / theirs[1].sum())
    np.testing.assert_allclose(found, rate / np.sqrt(variance))


def test_exchanging_the_groups_turns_the_ratio_round() -> None:
    errors, words, group = speakers(3, 8, 20, ratio=1.8)
    [[forth]], [[back]] = (judge([rates(errors, words, own)]) for own in (group, ~group))
    assert forth.ratio == pytest.approx(1 / back.ratio)
    assert forth.p == pytest.approx(back.p, abs=0.01)
    assert (forth.low or 0) * (back.high or 0) == pytest.approx(1, rel=0.02)


def test_the_interval_leaves_out_what_the_test_rejects() -> None:
    agree = 0
    for seed in range(40):
        errors, words, group = speakers(100 + seed, 8, 16, ratio=1.6, cells=1)
        [[found]] = judge([rates(errors, words, group)])
        assert (found.low or 0) < found.ratio < (found.high or np.inf)
        agree += ((found.p or 1) <= 0.05) == (not (found.low or 0) <= 1.0 <= (found.high or np.inf))
        for limit, side in ((found.low, -1), (found.high, 1)):
            one = rates(errors, words, group)
            outside = np.array([(limit or 1) * np.exp(side * 2e-3)])
            p = np.fmax(equal_tailed(one.statistics(outside)), one.guard(outside))
            assert p[0] <= 0.05 + 0.01
    assert agree == 40


@pytest.mark.parametrize("coefficients", [RATE, CHANGE])
def test_limits_are_those_of_all_shuffles(coefficients) -> None:
    """Only shuffles near the critical one are worked out in the search; working out all of them finds the same."""
    for seed, (first, second), spread in ((1, (6, 8), 0.9), (2, (10, 30), 0.5), (3, (50, 50), 0.2)):
        errors, words, group = speakers(seed, first, second, ratio=1.3, cells=12, spread=spread)
        errors[:, :3] = np.minimum(errors[:, :3], 1.0)  # hardly any
        clean = errors[:, [5]] + 1.0
        columns = [errors, words, *([clean + 0.0 * words, words] if coefficients == CHANGE else [])]
        sums, mask = np.stack(columns), group[None, :, None]
        one = Rates(sums * mask, sums * ~mask, Shuffles(len(group), 9_999, seed=3), coefficients)
        every = {name: getattr(one, name) for name in ("ratio", "center", "freedom", "statistics", "guard")}
        np.testing.assert_allclose(interval(one), interval(SimpleNamespace(**every)), rtol=1e-12)


def test_counts_are_summed_exactly_whatever_the_precision() -> None:
    generator = np.random.default_rng(11)
    chosen = generator.random((40, 300)) < 0.5
    counts = generator.integers(0, 300_000, (5, 40)).astype(float)
    counts[3] += 0.1  # no counts
    counts[4] *= 1_000.0  # too large for single precision
    found = sums_of(counts, chosen)
    np.testing.assert_array_equal(found[[0, 1, 2, 4]], (counts @ chosen)[[0, 1, 2, 4]])
    np.testing.assert_allclose(found[3], counts[3] @ chosen, rtol=1e-12)


def test_the_guard_is_welch_where_nothing_is_seen() -> None:
    # With equal rates nothing is enlarged: Welch's test of two means of logs with these variances.
    p = guard_p(*(np.array([one]) for one in (0.0, 0.04, 0.09, 7.0, 20.0)))
    assert p[0] == pytest.approx(1.0)
    low = guard_p(*(np.array([one]) for one in (0.4, 0.04, 0.09, 7.0, 20.0)))[0]
    skew = np.exp(0.4)
    a, b = 0.04 / skew, 0.09 * skew
    df = (a + b) ** 2 / (a**2 / 7 + b**2 / 20)
    assert low == pytest.approx(2 * stats.t.sf(0.4 / np.sqrt(a + b), df))


def test_shares_near_their_ceiling_are_compared_as_they_are() -> None:
    generator = np.random.default_rng(7)
    asked, group = np.full((40, 1), 20.0), np.arange(40) >= 28
    cases = generator.binomial(20, np.where(group, 0.75, 0.93))[:, None].astype(float)
    sums = np.stack([cases, asked])
    mark = group[None, :, None]
    one = Shares(sums * mark, sums * ~mark, Shuffles(40))
    # Everybody was asked as often: Welch's test of speakers' shares, the spread of those nearer to 100 % enlarged.
    shares = [cases[own, 0] / 20.0 for own in (group, ~group)]
    a, b = (own.var(ddof=1) / len(own) for own in shares)
    skew = (1.0 - shares[1].mean()) / (1.0 - shares[0].mean())
    assert 0.25 < skew < 1.0
    a, b = a * skew, b / skew
    df = (a + b) ** 2 / (a**2 / 11 + b**2 / 27)
    by_hand = 2 * stats.t.sf(abs(shares[0].mean() - shares[1].mean()) / np.sqrt(a + b), df)
    assert one.guard(np.ones(1))[0] == pytest.approx(by_hand)
    [[found]] = judge([one])
    assert (found.low or 0) < found.ratio < (found.high or 0) < 1.0
    sums[0] = sums[1]
    [[full]] = judge([Shares(sums * mark, sums * ~mark, Shuffles(40))])
    assert full.ratio == 1.0
    assert (full.p or 1.0) == 1.0


def test_a_group_without_errors_has_a_limit() -> None:
    errors, words, group = speakers(4, 10, 30)
    errors[group] = 0.0
    [[found]] = judge([rates(errors, words, group)])
    assert (found.ratio, found.low) == (0.0, 0.0)
    assert 0.0 < (found.high or 0) < 1.0
    assert (found.p or 1) < 0.05
    errors[:] = 0.0
    [[nothing]] = judge([rates(errors, words, group)])
    assert (nothing.p, nothing.p_adjusted, nothing.low) == (None, None, None)


def test_controls_that_say_nothing_change_nothing() -> None:
    generator = np.random.default_rng(6)
    errors, words, group = speakers(6, 15, 25, ratio=1.5)
    plain = rates(errors, words, group)
    design = np.ones((40, 1))
    adjusted = Adjusted(
        errors[:, 0], words[:, 0], design, group.astype(int), np.arange(40), Shuffles(40, 499, seed=3)
    )
    np.testing.assert_allclose(adjusted.ratio(), plain.ratio(), rtol=1e-9)
    np.testing.assert_allclose(adjusted.adjusted_words(), words[:, 0])
    # The score's spread is taken where the groups are alike, the ratio's where they are as observed: near one another.
    np.testing.assert_allclose(
        equal_tailed(adjusted.statistics(np.ones(1))), equal_tailed(plain.statistics(np.ones(1))), atol=0.06
    )
    noise = np.column_stack([design, generator.standard_normal(40)])
    more = Adjusted(errors[:, 0], words[:, 0], noise, group.astype(int), np.arange(40), adjusted.shuffles)
    assert abs(np.log(more.ratio()[0] / plain.ratio()[0])) < 0.1


def test_the_adjusted_ratio_is_that_of_adjusted_rates() -> None:
    generator = np.random.default_rng(7)
    people = np.repeat(np.arange(50), 8)
    group = people < 20
    hard = (generator.random(400) < np.where(group, 0.7, 0.3)).astype(float)
    words = generator.integers(5, 20, 400).astype(float)
    errors = generator.poisson(words * 0.1 * np.exp(0.9 * hard)).astype(float)
    design = np.column_stack([np.ones(400), hard])
    one = Adjusted(errors, words, design, group.astype(int), people, Shuffles(50, 999))
    adjusted = one.adjusted_words()
    assert adjusted.sum() == pytest.approx(words.sum())
    again = (errors[group].sum() / adjusted[group].sum()) / (errors[~group].sum() / adjusted[~group].sum())
    assert one.ratio()[0] == pytest.approx(again)
    raw = (errors[group].sum() / words[group].sum()) / (errors[~group].sum() / words[~group].sum())
    assert abs(np.log(again)) < 0.15 < np.log(raw)
    [[found]] = judge([one])
    assert (found.low or 0) < 1 < (found.high or 0)


def test_a_change_is_a_ratio_of_ratios() -> None:
    clean, words, group = speakers(8, 12, 12)
    noisy = clean * np.where(group, 3.0, 1.5)[:, None]
    sums = np.stack([noisy, words, clean, words])
    mask = group[None, :, None]
    one = Rates(sums * mask, sums * ~mask, Shuffles(24, 499), CHANGE)
    assert one.ratio()[0] == pytest.approx(2.0)
    low, high = interval(one)
    assert low[0] == pytest.approx(
        2.0, rel=1e-2
    )  # nobody differs from the rest of the group: no spread at all
    assert high[0] == pytest.approx(2.0, rel=1e-2)


def test_pairs_among_more_groups_are_shuffled_among_themselves() -> None:
    shuffles = Shuffles(9, 4000, seed=2)
    ((_, block),) = shuffles.blocks()
    members = np.array([0, 3, 4, 8])
    found = among(block, members)
    assert (np.sort(found, axis=1) == members).all()
    counts = np.unique(found[1:], axis=0, return_counts=True)[1]
    assert len(counts) == 24
    assert stats.chisquare(counts).pvalue > 0.001


def test_shuffles_stay_within_strata_and_are_the_same_every_time() -> None:
    strata = np.array([0, 0, 1, 1, 1, 2])
    first, again = (
        np.vstack([block for _, block in Shuffles(6, 50, seed=4, strata=strata).blocks()]) for _ in range(2)
    )
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(first[0], np.arange(6))
    assert (strata[first] == strata).all()
    assert len(np.unique(first, axis=0)) > 6


def test_what_critical_rejects_equal_tails_reject() -> None:
    generator = np.random.default_rng(9)
    for observed in (-3.0, -1.5, 0.0, 1.9, 2.2, 3.5):
        statistics = generator.standard_normal((400, 3)).round(1)
        statistics[0] = observed
        p = equal_tailed(statistics)
        rejected = np.minimum(critical(statistics, 0.05, 1.0), critical(statistics, 0.05, -1.0)) <= 0.0
        np.testing.assert_array_equal(p <= 0.05, rejected)


def test_a_family_is_judged_as_westfall_and_young_have_it() -> None:
    generator = np.random.default_rng(10)
    statistics = generator.standard_normal((1000, 6))
    statistics[0] = [4.5, 0.1, -4.0, 2.4, 0.5, np.nan]
    scaled, observed = margins(statistics)
    p = step_down(scaled, observed)
    assert np.isnan(p[5])
    assert p[0] <= 0.002
    assert p[2] <= 0.004
    order = np.argsort(-observed[:5])
    for place, question in enumerate(order):
        left = order[place:]
        plain = (scaled[:, left].max(axis=1) >= observed[question] - 1e-5).mean()
        assert p[question] >= plain - 1e-12
    # Six questions cost less than six times the p, and more than none.
    alone = equal_tailed(statistics)
    assert alone[3] < p[3] < 6 * alone[3]


def test_a_question_in_which_nothing_ever_differs_costs_the_others_nothing() -> None:
    generator = np.random.default_rng(12)
    statistics = generator.standard_normal((500, 2))
    statistics[0] = [4.0, 0.0]
    statistics[:, 1] = 0.0
    p = step_down(*margins(statistics))
    assert p[0] <= 0.002
    assert p[1] == 1.0


def test_lower_limits_that_hold_together_are_bonferroni_on_the_log_scale() -> None:
    errors, _, group = speakers(14, 12, 12, ratio=2.0, cells=4)
    words = np.full(errors.shape, 100.0)
    [[alone]] = judge([rates(errors[:, :1], words[:, :1], group)])
    assert alone.lowest == alone.low
    [together] = judge([rates(errors, words, group)])
    grown = stats.t.ppf(1 - 0.025 / 4, 11) / stats.t.ppf(0.975, 11)
    for one in together:
        assert one.ratio > 1.0
        assert np.log(one.ratio / one.lowest) == pytest.approx(grown * np.log(one.ratio / one.low))
    errors[~group] = 0.0  # an infinite ratio's limit stays
    [endless] = judge([rates(errors, words, group)])
    assert [one.lowest for one in endless] == [one.low for one in endless]


def test_two_against_two_set_no_bar_for_the_others() -> None:
    errors, words, group = speakers(13, 20, 20, ratio=2.0)
    few = np.zeros(40, dtype=bool)
    few[[0, 1]] = True
    sums = np.stack([errors, words])
    four = np.isin(np.arange(40), [0, 1, 20, 21])
    tiny = Rates(sums * few[None, :, None], sums * (four & ~few)[None, :, None], Shuffles(40, 1999))
    [[alone]] = judge([rates(errors, words, group, Shuffles(40, 1999))])
    [[beside], [hopeless]] = judge([rates(errors, words, group, Shuffles(40, 1999)), tiny])
    assert beside.p_adjusted == pytest.approx(alone.p_adjusted)
    assert (hopeless.p or 0) > 0.3


@pytest.mark.parametrize(("world", "sizes"), [("even", (12, 12)), ("wide", (20, 20)), ("few", (6, 40))])
def test_false_alarms_stay_near_nominal(world: str, sizes: tuple[int, int]) -> None:
    generator = np.random.default_rng([11, *sizes])
    audits, count = 1200, sum(sizes)
    group = np.arange(count) < sizes[0]
    spread = np.where(group, 0.9, 0.25) if world == "wide" else np.full(count, 0.5)
    own = np.exp(spread[:, None] * generator.standard_normal((count, audits)) - spread[:, None] ** 2 / 2)
    words = generator.integers(30, 200, (count, audits)).astype(float)
    errors = generator.poisson(0.15 * own * words).astype(float)
    p = []
    for start in range(0, audits, 200):
        some = slice(start, start + 200)
        one = rates(errors[:, some], words[:, some], group, Shuffles(count, 299, seed=start))
        p.append(np.fmax(equal_tailed(one.statistics(np.ones(200))), one.guard(np.ones(200))))
    rate = np.mean(np.concatenate(p) <= 0.05)
    assert 0.02 < rate < 0.05 + 3 * np.sqrt(0.05 * 0.95 / audits)


@pytest.mark.slow
@pytest.mark.parametrize("shared", [(0, 0, 16), (8, 8, 8), (4, 30, 6)])
@pytest.mark.parametrize("world", ["even", "wide", "mix"])
def test_speakers_on_both_sides_raise_no_false_alarms(world: str, shared: tuple[int, int, int]) -> None:
    """Speakers of the first group only, of the second only, and of both."""
    audits, count, kind = 600, sum(shared), np.repeat([0, 1, 2], shared)[:, None]
    generator = np.random.default_rng([12, *shared])
    own = np.exp({"even": 0.5, "wide": 0.9, "mix": 0.25}[world] * generator.standard_normal((count, audits)))
    if world == "mix":
        own *= np.where(generator.random((count, audits)) < 0.12, 5.0, 1.0)
    sides = []
    for there in (kind != 1, kind != 0):
        words = 10.0 * (1 + generator.poisson(6, (count, audits))) * there
        # A speaker is heard a little better or worse on one side than on the other.
        moved = np.exp(0.2 * generator.standard_normal((count, audits)))
        sides.append(np.stack([generator.poisson(0.15 * own * moved * words).astype(float), words]))
    found = Rates(sides[0], sides[1], Shuffles(count, 299))
    p = np.fmax(equal_tailed(found.statistics(np.ones(audits))), found.guard(np.ones(audits)))
    assert np.mean(p <= 0.05) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / audits)
