"""Tests and intervals of the differential audit: by hand, by enumeration, by simulation."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import t as student

from voxaudit.audits.differential.views import TAUS, ask
from voxaudit.perturb.scenario_id import read_scenario_id
from voxaudit.stats.speaker_permutations import SpeakerSums, chance_totals, compare_groups, find_violations


def simulated(generator, sizes, *, gap=0.0, scenarios=12, spreads=None, words=60) -> SpeakerSums:
    """Speakers with error rates of their own, clean and disturbed; the first group loses `gap` more."""
    people = sum(sizes)
    group_of = np.repeat(np.arange(len(sizes)), sizes)
    spread = np.array(spreads or [0.5] * len(sizes))[group_of]
    talent, frailty = (np.exp(spread * generator.standard_normal(people) - spread**2 / 2) for _ in range(2))
    size = generator.poisson(words, (1, scenarios, people)) + 1
    clean_size = np.repeat(size[:, :1], scenarios, axis=1)
    clean_rate = np.clip(0.15 * talent, 0, 0.95)
    strength = np.linspace(0.05, 0.4, scenarios)[None, :, None]
    rate = np.clip(0.15 * talent + strength * frailty + gap * (group_of == 0), 0, 0.97)
    clean = np.repeat(generator.binomial(clean_size[:, :1], clean_rate), scenarios, axis=1)
    return SpeakerSums(
        ("X_Y",),
        tuple(read_scenario_id(f"t{k % 4}:{k}") for k in range(scenarios)),
        tuple(f"g{k}" for k in range(len(sizes))),
        tuple(str(k) for k in range(people)),
        group_of,
        generator.binomial(size, rate).astype(float),
        size.astype(float),
        clean.astype(float),
        clean_size.astype(float),
    )


def compared(sums, tau=0.0, seed=0, permutations=999):
    return compare_groups(
        sums.stacked(), sums.group_of, len(sums.groups), tau=tau, seed=seed, permutations=permutations
    )


def growth(sums, scenario, who, tau=0.0, base=()):
    """Return D and the share of the room lost of some speakers, with variances, one speaker at a time."""
    who = list(who)
    a = sums.edits[0, scenario] - tau * np.isin(np.arange(len(sums.speakers)), base) * sums.words[0, scenario]
    w, c, v = sums.words[0, scenario], sums.clean_edits[0, scenario], sums.clean_words[0, scenario]
    d, e = a[who].sum() / w[who].sum(), c[who].sum() / v[who].sum()
    now, then = (a[who] - d * w[who]) / w[who].sum(), (c[who] - e * v[who]) / v[who].sum()
    few = len(who) / (len(who) - 1)
    share = (d - e) / (1 - e)
    moved = now / (1 - e) - (1 - share) * then / (1 - e)
    return d - e, few * ((now - then) ** 2).sum(), share, few * (moved**2).sum()


def tails(sums, scenario, tau, kind):
    """Return T of the real groups and of every way of dealing the speakers, in points (0) or room (2)."""
    first, second = list(sums.members(0)), list(sums.members(1))
    base = first if growth(sums, scenario, first)[0] > growth(sums, scenario, second)[0] else second

    def statistic(chosen):
        rest = [k for k in first + second if k not in chosen]
        one, other = (growth(sums, scenario, who, tau, base) for who in (chosen, rest))
        return (one[kind] - other[kind]) / np.sqrt(one[kind + 1] + other[kind + 1])

    return statistic(first), np.array(
        [statistic(chosen) for chosen in combinations(first + second, len(first))]
    )


def two_sided(real, drawn):
    return min(1.0, 2 * min((drawn >= real - 1e-9).mean(), (drawn <= real + 1e-9).mean()))


def guard(sums, scenario, tau, kind):
    """Return the p-value of the Welch test with spreads enlarged, as the formulas say it."""
    first, second = sums.members(0), sums.members(1)
    base = first if growth(sums, scenario, first)[0] > growth(sums, scenario, second)[0] else second
    one, other = (growth(sums, scenario, who, tau, base) for who in (first, second))
    ratio = np.clip(one[kind] / other[kind], 0.5, 2.0) ** 2
    parts = np.array([one[kind + 1] / ratio, other[kind + 1] * ratio])
    words = [sums.words[0, scenario][who] for who in (first, second)]
    kish = np.array([w.sum() ** 2 / (w * w).sum() - 1 for w in words])
    df = parts.sum() ** 2 / (parts**2 / kish).sum()
    return 2 * student.sf(abs(one[kind] - other[kind]) / np.sqrt(parts.sum()), df)


@pytest.mark.slow
@pytest.mark.parametrize("tau", [0.0, 0.02])
def test_p_values_are_those_of_every_way_of_dealing_the_speakers(tau) -> None:
    """The larger of the p in points, of the guard, and of both on the room left where the better group is named."""
    sums = simulated(np.random.default_rng(3), (5, 6), gap=0.1, scenarios=8)
    found = compared(sums, tau, permutations=9_999)
    rooms = 0
    for scenario in range(8):
        gap = growth(sums, scenario, sums.members(0))[0] - growth(sums, scenario, sums.members(1))[0]
        assert found.gap[0, scenario] == pytest.approx(gap)
        if abs(gap) <= tau:
            assert found.p[0, scenario] == pytest.approx(1.0)
            continue
        expected = max(two_sided(*tails(sums, scenario, tau, 0)), guard(sums, scenario, tau, 0))
        assert found.p_in_points[0, scenario] == pytest.approx(expected, abs=0.015)
        _, clean = sums.distances()
        if (clean[0, 0, scenario] < clean[1, 0, scenario]) == (gap > 0):
            rooms += 1
            room = tails(sums, scenario, tau, 2)
            assert np.sign(room[0]) == np.sign(gap)
            expected = max(expected, two_sided(*room), guard(sums, scenario, tau, 2))
        assert found.p[0, scenario] == pytest.approx(expected, abs=0.015)
    assert rooms > 0


def test_limits_leave_out_tau_where_it_is_rejected() -> None:
    generator = np.random.default_rng(12)
    rejected = 0
    for repetition in range(40):
        sums = simulated(generator, (9, 14), gap=0.1, scenarios=6, spreads=(0.3, 0.7))
        found = compared(sums, 0.02, seed=repetition)
        outside = (found.low > 0.02) | (found.high < -0.02)
        np.testing.assert_array_equal(outside, found.p_in_points <= 0.05)
        assert ((found.low < found.gap) & (found.gap < found.high)).all()
        rejected += outside.sum()
    assert 20 < rejected < 220


def test_a_larger_tau_is_a_stronger_claim() -> None:
    sums = simulated(np.random.default_rng(5), (9, 9), gap=0.2)
    p = np.stack([compared(sums, tau).p[0] for tau in TAUS])
    assert (np.diff(p, axis=0) >= -0.01).all()
    assert (p[-1] > p[0]).any()


def test_groups_of_clones_apart_from_each_other_have_the_smallest_p() -> None:
    """No spread at all: the standard error is 0 and the gap endless, not an error or nan."""
    ten = np.full(10, 10.0)
    edits = np.where(np.arange(10) < 5, 5.0, 1.0)
    cells = np.stack([edits, ten, np.ones(10), ten])[:, None]
    found = compare_groups(cells, np.repeat([0, 1], 5), 2, tau=0.1, permutations=9_999)
    # Of 252 ways of dealing, two part the clones.
    assert found.p[0, 0] == pytest.approx(2 / 252, abs=0.004)
    assert (found.low[0, 0], found.high[0, 0]) == pytest.approx((0.4, 0.4))
    cells[0] = 5.0
    assert compare_groups(cells, np.repeat([0, 1], 5), 2).p[0, 0] == 1.0


def test_a_cell_in_which_all_are_alike_bars_no_other() -> None:
    sums = simulated(np.random.default_rng(5), (9, 9), gap=0.4, scenarios=2)
    sums.edits[0, 1], sums.clean_edits[0, 1] = 0.0, 0.0
    found = compared(sums)
    assert found.p_adjusted[0, 0] <= 0.01
    assert found.p_adjusted[0, 1] == 1.0


def test_a_group_of_few_speakers_is_refused_and_the_others_tested() -> None:
    sums = simulated(np.random.default_rng(6), (6, 6, 1, 4), gap=0.3)
    [view] = ask(sums)
    tested = view.comparisons.filter(view.comparisons["p"].is_not_null())
    assert {tuple(sorted(row)) for row in tested.select("group", "against").rows()} == {("g0", "g1")}
    assert tested.height == 12 + 1 + 1  # every scenario, all of them, clean speech
    refused = view.comparisons.filter(view.comparisons["p"].is_null())
    assert refused.height == 5 * 14
    assert set(refused["verdict"]) == {"refused"}
    assert set(refused["code"]) == {"too_few_speakers"}
    assert refused["gap"].null_count() == 0
    assert view.chance is None
    untested = view.violations.filter(view.violations["p"].is_null())
    assert set(untested["verdict"]) == {"refused"}
    assert {"g2", "g3"} >= set(untested.select("group", "against").max_horizontal()) - {"g0", "g1"}


def test_nothing_is_surer_among_others_than_by_itself() -> None:
    found = compared(simulated(np.random.default_rng(5), (9, 9, 8), gap=0.6, scenarios=3))
    assert found.p.min() == pytest.approx(2 / (found.permutations + 1))  # two tails; the family counts one
    assert (found.p_adjusted >= found.p).all()


def test_a_cell_in_which_few_were_heard_is_refused() -> None:
    sums = simulated(np.random.default_rng(6), (6, 6), scenarios=2)
    for values in (sums.edits, sums.words, sums.clean_edits, sums.clean_words):
        values[0, 0, :2] = 0.0
    found = compared(sums)
    assert np.isnan(found.p[0, 0])
    assert np.isnan(found.low[0, 0])
    assert np.isfinite(found.p[0, 1])
    assert found.p_adjusted[0, 1] == pytest.approx(found.p[0, 1], abs=0.002)  # it is a family of its own


def test_a_lone_finding_among_many_questions_is_found() -> None:
    generator = np.random.default_rng(7)
    sums = simulated(generator, (30, 30), scenarios=300, words=20)
    sums.edits[0, 17, :30] = np.round(0.97 * sums.words[0, 17, :30])
    sums.edits[0, 17, 30:] = np.round(0.2 * sums.words[0, 17, 30:])
    found = compared(sums, 0.01, permutations=None)
    assert found.permutations == 9_999
    assert np.flatnonzero(found.p_adjusted[0] <= 0.05).tolist() == [17]


def test_with_more_questions_there_are_fewer_shuffles(monkeypatch) -> None:
    sums = simulated(np.random.default_rng(7), (30, 30), scenarios=30)
    monkeypatch.setattr("voxaudit.stats.permutations._JUDGED", 30 * 2_000)
    assert compared(sums, permutations=None).permutations == 2_000
    monkeypatch.setattr("voxaudit.stats.permutations._JUDGED", 30)
    assert compared(sums, permutations=None).permutations == 999


def test_blocks_change_nothing(monkeypatch) -> None:
    sums = simulated(np.random.default_rng(8), (8, 9, 7))
    whole = compared(sums)
    monkeypatch.setattr("voxaudit.stats.speaker_permutations._BLOCK", 4_000)
    np.testing.assert_allclose(compared(sums).p_adjusted, whole.p_adjusted)


def test_the_first_row_of_chance_is_the_rule_itself() -> None:
    sums = simulated(np.random.default_rng(9), (12, 12, 9), gap=0.1)
    counts = chance_totals(sums, TAUS, permutations=50)
    found = find_violations(sums.grid(), TAUS)
    assert counts.shape == (51, 3)
    assert counts[0].tolist() == np.bincount(found.group, minlength=3).tolist()
    assert (counts[1:] != counts[0]).any()


def test_a_tolerance_is_for_scenarios_not_for_all_of_them_nor_for_clean_speech() -> None:
    sums = simulated(np.random.default_rng(9), (20, 20), gap=0.2)
    [small], [large] = ask(sums, taus=(0.0,)), ask(sums, taus=(0.5,))
    assert small.surviving.height > 0 == large.surviving.height
    for kind in ("all", "clean"):
        assert small.of(kind)["p"].to_list() == large.of(kind)["p"].to_list()
    assert large.of("all")["verdict"].to_list() == ["shown"]


def test_same_seed_same_answer() -> None:
    sums = simulated(np.random.default_rng(9), (12, 12), gap=0.1)
    [one], [again] = ask(sums, seed=3), ask(sums, seed=3)
    assert one.comparisons.equals(again.comparisons)
    assert one.chance == again.chance


# Error rates by simulation


def null_audits(repetitions, sizes, spreads=None, seed=1):
    """Return the share of audits with any violation by the rule, and with any claim."""
    generator = np.random.default_rng(seed)
    flagged = claimed = 0
    for repetition in range(repetitions):
        sums = simulated(generator, sizes, spreads=spreads)
        flagged += len(find_violations(sums.grid(), TAUS)) > 0
        claimed += bool((compared(sums, TAUS[0], seed=repetition).p_adjusted <= 0.05).any())
    return flagged / repetitions, claimed / repetitions


def power(speakers, repetitions, gap=0.15, seed=2) -> float:
    generator = np.random.default_rng(seed)
    shares = []
    for repetition in range(repetitions):
        sums = simulated(generator, (speakers, speakers), gap=gap)
        found = compared(sums, TAUS[0], seed=repetition)
        shares.append(((found.p_adjusted[0] <= 0.05) & (found.gap[0] > 0)).mean())
    return float(np.mean(shares))


def test_the_plain_rule_flags_null_audits_and_the_test_does_not() -> None:
    flagged, claimed = null_audits(60, (7, 7))
    assert flagged > 0.9
    assert claimed <= 0.12  # 60 audits at 0.05: more than seven happen once in 50 times


def test_power_grows_with_speakers() -> None:
    few, many = power(8, 6), power(30, 6)
    assert many > 0.8
    assert few < many - 0.2


HURT = {
    "additive": lambda p, k: np.clip(p + 0.09 * k, 0, 0.97),
    "multiplicative": lambda p, k: np.clip(p * (1 + 0.3 * k), 0, 0.97),
    "logit": lambda p, k: expit(logit(p) + 0.8 * k),
    "room": lambda p, k: 1 - (1 - p) * np.exp(-0.35 * k),
}


def unlike(generator, sizes, hurt, *, clean=(0.08, 0.4), deletions=False, more=(1.0, 1.0)):
    """Two groups of which recognizers lose 8 and 40 % of the clean words; disturbances hurt alike on one scale.

    Returned are distances between two recognizers, and word errors of both. Lost words are heard as something else
    (distances reach 1), or not at all (they saturate below it).
    """
    people, scenarios = sum(sizes), 4
    group_of = np.repeat([0, 1], sizes)
    words = generator.integers(30, 90, people)
    common = generator.standard_normal(people)
    loss = [
        expit(logit(np.array(clean)[group_of]) + 0.4 * common + 0.3 * generator.standard_normal(people))
        for _ in range(2)
    ]
    parts = []
    for k in range(scenarios + 1):
        now = loss
        if k:
            moved = [expit(logit(p) + 0.15 * generator.standard_normal(people)) for p in loss]
            now = [hurt(p, k * np.array(more)[group_of]) for p in moved]
        kept = generator.binomial(words, 1 - now[0])
        both = generator.binomial(kept, 1 - now[1])
        other = both + generator.binomial(words - kept, 1 - now[1])
        longer = np.maximum(kept, other)
        edits = np.minimum(kept + other - 2 * both, longer) if deletions else words - both
        parts.append((edits, longer if deletions else words, words - kept, words - other))
    then, disturbed = parts[0], parts[1:]

    def sums(pairs, edits, over):
        values = [
            np.stack([[one[k] for one in disturbed] for k in edits]),
            np.stack([[one[over] if over else words for one in disturbed] for _ in edits]),
            np.stack([[then[k]] * scenarios for k in edits]),
            np.stack([[then[over] if over else words] * scenarios for _ in edits]),
        ]
        scenario = tuple(read_scenario_id(f"noise:{k}") for k in range(scenarios))
        who = tuple(map(str, range(people)))
        return SpeakerSums(
            pairs, scenario, ("better", "worse"), who, group_of, *(v.astype(float) for v in values)
        )

    return sums(("x_y",), (0,), 1), sums(("x", "y"), (2, 3), 0)


def named(repetitions, hurt, seed, sizes=(16, 16), **options):
    """Return the shares of audits that name the better and the worse group: by distances, by error rates."""
    generator = np.random.default_rng(seed)
    counts = np.zeros((2, 2))
    for repetition in range(repetitions):
        views = ask(*unlike(generator, sizes, hurt, **options), seed=repetition, shuffles=199)
        for place, view in enumerate(views):
            shown = view.comparisons.filter(
                (view.comparisons["verdict"] == "shown") & (view.comparisons["of"] != "clean")
            )
            counts[place] += [group in set(shown["group"]) for group in ("better", "worse")]
    return counts / repetitions


@pytest.mark.slow
@pytest.mark.parametrize("scale", list(HURT))
@pytest.mark.parametrize("deletions", [False, True])
def test_the_better_group_is_not_named_because_the_worse_has_no_room_left(scale, deletions) -> None:
    rates = named(12, HURT[scale], seed=4, deletions=deletions)
    assert rates[:, 0].max() <= 0.1


def test_whoever_is_really_hurt_more_is_named() -> None:
    def by_logit(p, k):
        return expit(logit(p) + 0.6 * k)

    worse = named(8, by_logit, seed=5, more=(0.3, 1.5))
    assert (worse[:, 1] == 1.0).all()
    assert (worse[:, 0] == 0.0).all()
    better = named(8, by_logit, seed=6, more=(2.5, 0.1))
    assert better[1, 0] == 1.0  # by error rates
    assert better[0, 0] == 0.0  # without references it is left open


def test_what_is_left_open_says_why() -> None:
    views = ask(*unlike(np.random.default_rng(8), (16, 16), HURT["additive"]))
    [clean] = views[0].of("clean").to_dicts()
    assert (clean["group"], clean["verdict"]) == ("worse", "shown")
    assert clean["low"] < 0.49 < clean["high"]  # 1 - (1 - 0.4)^2 less 1 - (1 - 0.08)^2
    [over_all] = views[0].of("all").to_dicts()
    assert (over_all["group"], over_all["verdict"], over_all["code"]) == ("better", "refused", "unlike_clean")
    assert over_all["low"] > 0.01


@pytest.mark.slow
@pytest.mark.parametrize("scale", list(HURT))
@pytest.mark.parametrize("deletions", [False, True])
@pytest.mark.parametrize("sizes", [(8, 8), (16, 16), (8, 40), (40, 8)])
def test_the_better_group_is_named_in_at_most_5_in_100_audits(scale, deletions, sizes) -> None:
    rates = named(200, HURT[scale], seed=14, deletions=deletions, sizes=sizes)
    assert rates[:, 0].max() <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "spreads"),
    [
        ((8, 8), None),
        ((12, 12), None),
        ((30, 10), (0.3, 0.9)),
        ((10, 30), (0.3, 0.9)),
        ((6, 60), (0.3, 0.8)),
        ((6, 60), (0.8, 0.3)),
        ((8, 40), None),
        ((15, 15, 15), None),
    ],
)
def test_calibration(sizes, spreads) -> None:
    """Any claim at all in at most 5 % of null audits, also where groups differ in size and spread."""
    flagged, claimed = null_audits(300, sizes, spreads, seed=11)
    assert flagged > 0.9
    assert claimed <= 0.05 + 2.6 * np.sqrt(0.05 * 0.95 / 300)


@pytest.mark.slow
def test_power_by_speakers() -> None:
    shares = [power(speakers, 40) for speakers in (6, 10, 20, 40)]
    assert shares == sorted(shares)
    assert shares[-1] > 0.8
