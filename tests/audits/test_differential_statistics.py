"""Tests, intervals and false-discovery control of the differential audit: by hand, by enumeration, by simulation."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from voxaudit.audits.differential.audit import TAUS, ask
from voxaudit.perturb.scenario_id import read_scenario_id
from voxaudit.stats.speaker_permutations import (
    Claims,
    SpeakerSums,
    exceedances,
    find_violations,
    gap_intervals,
    judge_violations,
)


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


def judged(sums, taus=TAUS, seed=0, fdr=0.05):
    grid = sums.grid()
    found = find_violations(grid, taus)
    return found, judge_violations(sums, grid, found, taus, fdr=fdr, seed=seed)


def plain_p(sums, scenario, tau, base, other) -> float:
    """Every way of dealing the speakers, one at a time, with a linearised standard error."""
    own, theirs = list(sums.members(base)), list(sums.members(other))
    a = sums.edits[0, scenario].copy()
    a[own] -= tau * sums.words[0, scenario][own]
    w, c, v = sums.words[0, scenario], sums.clean_edits[0, scenario], sums.clean_words[0, scenario]

    def side(who):
        who = list(who)
        d, e = a[who].sum() / w[who].sum(), c[who].sum() / v[who].sum()
        moved = (a[who] - d * w[who]) / w[who].sum() - (c[who] - e * v[who]) / v[who].sum()
        return d - e, (moved**2).sum() * len(who) / (len(who) - 1)

    def statistic(chosen):
        (x, first), (y, second) = side(chosen), side([k for k in own + theirs if k not in chosen])
        return (x - y) / np.sqrt(first + second)

    real = statistic(own)
    drawn = [statistic(chosen) for chosen in combinations(own + theirs, len(own))]
    return float(np.mean([value >= real - 1e-9 for value in drawn]))


def test_small_groups_are_enumerated_and_equal_a_plain_loop() -> None:
    sums = simulated(np.random.default_rng(3), (5, 6), gap=0.1, scenarios=3)
    found, tested = judged(sums, (0.0, 0.05))
    assert len(found) >= 3
    for k in range(len(found)):
        tau = (0.0, 0.05)[found.tau[k]]
        expected = plain_p(sums, found.scenario[k], tau, found.group[k], found.against[k])
        assert tested.p[k] == pytest.approx(expected, abs=1e-12)
    [comparison] = tested.comparisons
    assert (comparison.exact, comparison.permutations) == (True, 462)
    assert comparison.smallest_p == pytest.approx(1 / 462)


def test_drawn_permutations_come_close_to_all_of_them(monkeypatch) -> None:
    sums = simulated(np.random.default_rng(4), (6, 7), gap=0.1, scenarios=4)
    _, exact = judged(sums)
    monkeypatch.setattr("voxaudit.stats.speaker_permutations.ENUMERATED", 0)
    _, drawn = judged(sums)
    assert not drawn.comparisons[0].exact
    # So few questions need no further draws: 10,000 ways, the real one among them.
    assert drawn.comparisons[0].smallest_p == pytest.approx(1e-4)
    assert np.abs(exact.p - drawn.p).max() < 0.02
    assert drawn.p.min() > 0


def test_a_larger_tau_is_a_stronger_claim() -> None:
    sums = simulated(np.random.default_rng(5), (9, 9), gap=0.2)
    found, tested = judged(sums)
    for scenario in range(12):
        ours = (found.scenario == scenario) & (found.group == 0)
        assert (np.diff(tested.p[ours]) >= 0).all()


def test_groups_of_clones_apart_from_each_other_have_the_smallest_p() -> None:
    """No spread at all: the standard error is 0 and the gap endless, not an error or nan."""
    shape = (1, 1, 10)
    group_of = np.repeat([0, 1], 5)
    edits = np.where(group_of == 0, 5.0, 1.0).reshape(shape)
    ten = np.full(shape, 10.0)
    scenarios = (read_scenario_id("hp:1"),)
    sums = SpeakerSums(
        ("X_Y",), scenarios, ("g", "h"), tuple("0123456789"), group_of, edits, ten, np.ones(shape), ten
    )
    counts, tried = exceedances(
        sums, 0, 1, Claims(*(np.array([0]) for _ in range(3)), np.array([0.1])), 99, np.random.default_rng(0)
    )
    assert (counts.tolist(), tried) == ([1], 252)
    alike = SpeakerSums(
        ("X_Y",), scenarios, ("g", "h"), tuple("0123456789"), group_of, ten / 2, ten, np.ones(shape), ten
    )
    found, tested = judged(alike)
    assert len(found) == 0
    assert tested.family == 8


def test_a_group_of_few_speakers_is_refused_and_the_others_tested() -> None:
    sums = simulated(np.random.default_rng(6), (6, 6, 1, 4), gap=0.3)
    found, tested = judged(sums)
    refused = {(c.group, c.against): c.refusal for c in tested.comparisons if c.refusal}
    assert set(refused) == {("g0", "g2"), ("g1", "g2"), ("g0", "g3"), ("g1", "g3"), ("g2", "g3")}
    assert refused["g0", "g2"] == "g2 has 1 speaker; a test needs 5 in each group"
    involved = np.maximum(found.group, found.against) < 2
    assert np.isfinite(tested.p[involved]).all()
    assert np.isnan(tested.p[~involved]).all()
    assert not tested.significant[~involved].any()
    assert tested.family == 2 * 12 * 4
    view = ask(sums, TAUS)
    assert view.chance is None
    untested = view.violations.filter(view.violations["p"].is_null())
    assert set(untested["verdict"]) == {"refused"}
    assert untested.height == (~involved).sum()


def test_a_lone_finding_gets_the_permutations_it_needs() -> None:
    """One strong cell among 600 questions, which a floor of 1 in 10,000 would hide."""
    generator = np.random.default_rng(7)
    sums = simulated(generator, (30, 30), scenarios=300, words=20)
    sums.edits[0, 17, :30] = np.round(0.97 * sums.words[0, 17, :30])
    sums.edits[0, 17, 30:] = np.round(0.2 * sums.words[0, 17, 30:])
    found, tested = judged(sums, (0.01,))
    strong = (found.scenario == 17) & (found.group == 0)
    assert tested.significant[strong].all()
    assert tested.p[strong][0] <= 0.05 / tested.family
    assert tested.significant.sum() <= 3


def test_intervals_hold_the_gap_and_turn_with_the_direction() -> None:
    sums = simulated(np.random.default_rng(8), (40, 30, 4), gap=0.1)
    low, high = gap_intervals(sums, confidence=0.95, resamples=500, generator=np.random.default_rng(1))
    gaps = sums.grid().gaps()
    assert ((low[0, 1] < gaps[0, 1]) & (gaps[0, 1] < high[0, 1])).all()
    np.testing.assert_allclose(low[1, 0], -high[0, 1])
    assert np.isnan(low[0, 2]).all()
    assert np.isnan(low[0, 0]).all()


def test_same_seed_same_answer() -> None:
    sums = simulated(np.random.default_rng(9), (12, 12), gap=0.1)
    assert ask(sums, TAUS, seed=3).violations.equals(ask(sums, TAUS, seed=3).violations)


def null_audits(repetitions, sizes, spreads=None, seed=1):
    generator = np.random.default_rng(seed)
    flagged = claimed = 0
    for repetition in range(repetitions):
        found, tested = judged(simulated(generator, sizes, spreads=spreads), seed=repetition)
        flagged += len(found) > 0
        claimed += bool(tested.significant.any())
    return flagged / repetitions, claimed / repetitions


def power(speakers, repetitions, gap=0.15, seed=2) -> float:
    generator = np.random.default_rng(seed)
    shares = []
    for repetition in range(repetitions):
        found, tested = judged(simulated(generator, (speakers, speakers), gap=gap), seed=repetition)
        shares.append((tested.significant & (found.tau == 0) & (found.group == 0)).sum() / 12)
    return float(np.mean(shares))


def test_the_plain_rule_flags_null_audits_and_the_test_does_not() -> None:
    flagged, claimed = null_audits(30, (7, 7))
    assert flagged > 0.9
    assert (
        claimed <= 0.15
    )  # 30 audits at 0.05: more than four happen once in 40 times, and the test is conservative


def test_power_grows_with_speakers() -> None:
    few, many = power(8, 6), power(30, 6)
    assert many > 0.8
    assert few < many - 0.2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "spreads"),
    [((8, 8), None), ((12, 12), None), ((30, 10), (0.3, 0.9)), ((10, 30), (0.3, 0.9)), ((15, 15, 15), None)],
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
