"""Made-up worlds are what they are said to be, and audits decide as the functions do that are tried in them."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

sys.path.insert(
    0, str(Path(__file__).resolve().parents[2])
)  # the benchmarks are no part of the installed package

from benchmarks.verdicts import disturbance, early, explained, groups, kinds, words
from benchmarks.verdicts import parity as parities
from benchmarks.verdicts.simple import paired, welch
from benchmarks.verdicts.world import (
    RATE,
    RECOGNIZERS,
    as_table,
    by_speaker,
    counts,
    draw_people,
    joined,
    setting,
    texts_of,
    transcripts,
)
from benchmarks.verdicts.worlds import HETERO, KIND, TURNED, WORLDS
from scipy import stats

from voxaudit.audits.accuracy.audit import accuracy
from voxaudit.audits.breaking.audit import compare_points, summarize_groups
from voxaudit.audits.compare.audit import compare
from voxaudit.audits.differential.audit import differential
from voxaudit.audits.differential.measure import measure_disagreement
from voxaudit.audits.disparity.audit import disparity
from voxaudit.audits.localize.audit import localize
from voxaudit.audits.parity.audit import parity
from voxaudit.audits.robustness.audit import robustness
from voxaudit.audits.robustness.measure import told_apart
from voxaudit.audits.scores import Transcripts
from voxaudit.audits.versus.audit import versus
from voxaudit.score import word_counts
from voxaudit.score.normalize import normalizer
from voxaudit.stats.paired import RESAMPLES, paired_change
from voxaudit.stats.permutations import Shuffles
from voxaudit.stats.sign_flips import FLIPS
from voxaudit.stats.word_tests import PERMUTATIONS


@pytest.mark.parametrize("world", WORLDS)
def test_groups_of_a_world_have_the_true_error_rate(world):
    people = draw_people(np.random.default_rng(3), setting(world, "4000 + 4000"), most=12)
    errors, words = by_speaker(people, counts(np.random.default_rng(4), people, ["clean"]))
    for group in (0, 1):
        own = people.group == group
        rates = errors[:, 0, own].sum(axis=1) / words[own].sum()
        pulls = (errors[:, 0, own] - rates[:, None] * words[own]) / words[own].sum()
        error = np.sqrt((pulls**2).sum(axis=1))
        assert np.abs(rates - people.wer) == pytest.approx(0.0, abs=4.0 * error.max())


def test_what_makes_the_worlds_hard():
    def drawn(world):
        return draw_people(np.random.default_rng(5), setting(world, "3000 + 3000"))

    logs = {name: np.log(drawn(name).own[0]) for name in ("t3", "mix", HETERO, TURNED, KIND)}
    assert stats.kurtosis(logs["t3"]) > 3.0
    assert abs(stats.kurtosis(logs[KIND])) < 0.3
    assert np.mean(logs["mix"] > np.log(2.5)) == pytest.approx(0.12, abs=0.02)
    for name, (first, second) in {HETERO: (0.25, 0.9), TURNED: (0.9, 0.25)}.items():
        assert logs[name][:3000].std() == pytest.approx(first, rel=0.05)
        assert logs[name][3000:].std() == pytest.approx(second, rel=0.05)
    said = np.bincount(drawn("uneq").speaker)
    assert (said.min(), said.max() > 450, np.median(said)) == (1, True, pytest.approx(22, abs=3))
    # The two recognizers find mostly the same speakers hard.
    assert np.corrcoef(np.log(drawn(KIND).own))[0, 1] == pytest.approx(0.64, abs=0.03)
    expected = np.full(200_000, 1.35)
    zinb, burst = (WORLDS[name].errors(np.random.default_rng(6), expected) for name in ("zinb", "burst"))
    assert np.mean(zinb == 0) > 0.7
    assert zinb.mean() == pytest.approx(1.35, rel=0.03)
    assert np.mean(burst >= 50) == pytest.approx(0.004, abs=0.0006)
    negative = WORLDS["t3"].errors(np.random.default_rng(7), expected)
    assert negative.var() == pytest.approx(1.35 + 1.35**2 / 2.0, rel=0.05)


def test_simple_tests_are_those_of_scipy():
    values = np.random.default_rng(8).gamma(2.0, 1.0, (3, 14))
    second = np.arange(14) >= 6
    theirs = stats.ttest_ind(values[:, second], values[:, ~second], axis=1, equal_var=False).pvalue
    assert welch(values, second.astype(int)) == pytest.approx(theirs, rel=1e-12)
    assert paired(values - 2.0) == pytest.approx(stats.ttest_1samp(values, 2.0, axis=1).pvalue, rel=1e-12)


# Decisions on the same data, to the last digit.

SIZES = "6 + 14"
ALL = 9_999
"""Shuffles of an audit."""


@pytest.mark.parametrize("world", ["mix", "burst"])
def test_gaps_of_many_audits_are_those_of_the_audit(world):
    made = [groups._clean(np.random.default_rng([1, n]), setting(world, SIZES), 1.7) for n in range(4)]
    alone, together = groups.gap_p(made, Shuffles(20))
    for (people, counted), p, adjusted in zip(made, alone, together, strict=True):
        found = disparity(as_table(people, ["clean"], counted), attribute="group").detail.gaps
        assert [one.p for one in found] == p.tolist()
        assert [one.p_adjusted for one in found] == adjusted.tolist()
        # What the gate starts from is the test turned round.
        assert [not one.low <= 1.0 <= one.high for one in found] == (p <= 0.05).tolist()


def test_what_explains_a_gap_is_decided_as_in_the_audit():
    generator = np.random.default_rng(3)
    tables = [
        explained._table(generator, setting(KIND, "16 + 16"), **planted)
        for planted in ({"text": 2.5}, {"noise": 2.5}, {"voice": 2.5})
    ]
    whole = [explained.whole(table) for table in tables]
    assert whole == [explained.decided(table) for table in tables]
    assert whole == [["text"], ["recording"], ["unexplained"]]


def test_six_attributes_are_those_of_the_audit():
    made = groups._six(np.random.default_rng([7, 1]), setting("zinb", SIZES), 1.7)
    people, counted, second = made
    names = [f"attribute{n}" for n in range(len(second))]
    of_speaker = pl.DataFrame(
        {"speaker": [f"s{n}" for n in range(20)], **dict(zip(names, second, strict=True))}
    )
    table = as_table(people, ["clean"], counted).join(of_speaker, on="speaker")
    found = {
        (one.attribute, one.by["recognizer"]): one.p_adjusted
        for one in disparity(table, attribute=names).detail.gaps
    }
    expected = groups.six_p(made, Shuffles(20)).reshape(len(names), -1)
    for name, row in zip(names, expected, strict=True):
        assert [found[name, recognizer] for recognizer in groups.RECOGNIZERS] == row.tolist()


def test_changes_of_many_audits_are_those_of_the_audit():
    where = setting("t3", SIZES)
    made = [groups._disturbed(np.random.default_rng([2, n]), where, 1.7, groups.TWO) for n in range(2)]
    for (people, counted), adjusted in zip(made, groups.change_p(made, Shuffles(20)), strict=True):
        table = as_table(people, groups.TWO, counted)
        found = disparity(table, attribute="group", interaction="scenario").detail.changes
        assert [one.p_adjusted for one in found] == adjusted.tolist()


def test_group_gaps_under_disturbance_are_those_of_the_audit():
    where = setting("zinb", SIZES)
    made = [groups._disturbed(np.random.default_rng([3, 1]), where, 1.5, groups.ALL)]
    levels, ratios, changes = groups.lwerr_p(made, Shuffles(20), parts=True)
    [(people, counted)] = made
    table = as_table(people, groups.ALL, counted)
    rows = robustness(table, attributes=["group"], difficulty="none").detail.groups
    for column, values in (("p_adjusted", ratios[0]), ("change_p_adjusted", changes[0])):
        for level in groups.LEVELS:
            own = [None if np.isnan(p) else p for p, at in zip(values, levels, strict=True) if at == level]
            assert rows.filter(level=level)[column].to_list() == own
    # Means over all disturbances do not depend on what else is asked.
    _, alone, _ = groups.lwerr_p(made, Shuffles(20), parts=False)
    first = np.array(levels) == "overall"
    assert alone[0, first].tolist() == ratios[0, first].tolist()


def test_slices_of_two_versions_are_those_of_the_audit():
    made = disturbance._versions(np.random.default_rng([4, 1]), setting("uneq", SIZES), 1.2)
    people, before, after = made
    tables = [as_table(people, disturbance.BEFORE, one) for one in (before, after)]
    slices = compare(*tables, attributes=["group"], seed=5).detail.slices
    found = disturbance.compare_p(made, 5, FLIPS)
    assert sorted(found.p_family) == sorted(one.p_adjusted for one in slices)
    assert sorted(found.estimate) == sorted(one.difference for one in slices)
    whole = sorted(one.p_adjusted for one in slices if one.whole)
    assert sorted(found.p_family[found.first]) == whole


def test_slices_of_two_recognizers_are_those_of_the_audit():
    people, counted = disturbance._two(np.random.default_rng([5, 1]), setting("t3", SIZES), 1.2)
    table = as_table(people, disturbance.BEFORE, counted)
    slices = versus(table, attributes=["group"], seed=5).detail.slices
    found = disturbance.versus_p(people, counted, 5, FLIPS)
    assert sorted(found.p_family) == sorted(one.p_adjusted for one in slices)
    assert len(slices) == len(found.p)


@pytest.mark.parametrize("draw", [groups._apart, groups._unlike_start])
def test_distances_are_judged_as_in_the_audit(draw):
    made = draw(np.random.default_rng([6, 1]), setting("burst", SIZES), 2.0)
    table = transcripts(*made)
    sums = measure_disagreement(Transcripts.of(table), "group", normalizer("basic")).between
    [found] = differential(table, attribute="group", seed=5).detail
    told = found.view.comparisons.select("of", "group", "verdict").rows()
    assert groups.told_of(sums, 5, None) == told
    # What is counted in place of aligned: the same words, and edits that are a little more at most.
    ours = groups.distances(made)
    place = [ours.speakers.index(name) for name in sums.speakers]
    assert np.array_equal(ours.words[..., place], sums.words)
    assert np.array_equal(ours.group_of[place], sums.group_of)
    assert (ours.edits[..., place] >= sums.edits).all()
    assert ours.edits.sum() < 1.3 * sums.edits.sum()


@pytest.mark.parametrize("world", [KIND, "burst"])
def test_breaking_points_are_judged_as_in_the_audit(world):
    group, places = early._places(np.random.default_rng([12, 1]), setting(world, SIZES), 1.0)
    points = []
    for name, place in zip(RECOGNIZERS, places, strict=True):
        own = {label: place[group == code] for code, label in enumerate("ab")}
        points += summarize_groups(name, early.AXIS, own, dict.fromkeys(own, 0.5), True)
    found = dict(zip(RECOGNIZERS, places, strict=True))
    theirs = compare_points(early.AXIS, points, found, ["ab"[code] for code in group], 5)
    assert [one.p_adjusted for one in theirs] == early.breaking_p(group, places, 5, 9_999)


def test_an_unlike_start_takes_the_same_share_from_both():
    people, _, heard = groups._unlike_start(np.random.default_rng(9), setting(KIND, "400 + 400"), 1.0)
    second = people.group[np.repeat(people.speaker, people.words)] == 1
    kept = {(one.number, one.scenario): one.kept for one in heard}
    for own, lost in ((~second, groups.LESS), (second, groups.MORE)):
        clean, noise = (kept[0, name][own].mean() for name in ("clean", groups.FOUR[0]))
        assert clean == pytest.approx(1.0 - lost, abs=0.03)
        assert noise / clean == pytest.approx(1.0 - groups.SHARE, abs=0.04)
    assert people.mean == pytest.approx(1.0)
    assert people.wer == RATE


def test_costs_of_disturbances_are_those_of_the_audit():
    where = setting("uneq", SIZES)
    people, counted = disturbance._curve(np.random.default_rng([7, 1]), where, 1.3)
    found = robustness(as_table(people, disturbance.ALL, counted), difficulty="none").detail
    resample = disturbance._resample(20, 2000, 0)
    overall = {}
    measured = disturbance.nodes_of(people, counted, resample)
    for name, (nodes, means) in zip(RECOGNIZERS, measured, strict=True):
        rows = {(row["level"], row["name"]): row for row in found.levels.filter(recognizer=name).to_dicts()}
        for node in means:
            row = rows[node.level, node.name]
            assert node.limits("werd", resample) == (row["werd_low"], row["werd_high"])
            overall |= {name: node} if node.level == "overall" else {}
        curves = disturbance.curves(nodes, found.settings)
        trends = [disturbance.trend_row(curve, found.settings, resample) for curve in curves]
        theirs = found.trends.filter(recognizer=name).to_dicts()
        assert [row | {"recognizer": name} for row in trends] == theirs
    (row,) = found.comparisons.to_dicts()
    (ours,) = told_apart([(overall[row["recognizer"]], overall[row["against"]])], "werd", resample)
    assert ours == {name: row[name] for name in ours}


@pytest.mark.parametrize("world", ["zinb", "burst"])
def test_limits_of_rates_are_those_of_the_audit(world):
    made = [disturbance._at_limit(np.random.default_rng([8, n]), setting(world, SIZES), 1.0) for n in (1, 2)]
    for (people, counted), (clean, worst) in zip(made, disturbance.rate_limits(made), strict=True):
        answer = accuracy(as_table(people, disturbance.ALL, counted))
        for name, own, worst_own in zip(RECOGNIZERS, clean, worst, strict=True):
            finding = answer.finding(f"accuracy/{name}/clean/wer")
            assert (finding.low, finding.high) == own
            finding = answer.finding(f"accuracy/{name}/worst_wer")
            assert (finding.low, finding.high) == worst_own


@pytest.mark.parametrize("world", [KIND, "burst"])
def test_costs_of_stuttering_are_those_of_the_audit(world):
    people, spoken = disturbance._stuttered(np.random.default_rng([9, 1]), setting(world, "8 + 8"), 1.2)
    for _, heard in spoken:
        parts = [
            pl.DataFrame(
                {
                    "utterance": [f"u{n}" for n in range(len(people.speaker))],
                    "speaker": [f"s{n}" for n in people.speaker],
                    "errors": disturbance.errors_of(people, one),
                    "words": people.words,
                }
            ).with_columns(after=pl.lit(case > 0))
            for case, one in enumerate(heard)
        ]
        found = paired_change(pl.concat(parts), seed=4)
        ours = disturbance.stutter_cost(people, heard, disturbance._resample(16, RESAMPLES, 4))
        assert (found.low, found.high, found.p, found.p_u_published) == pytest.approx(ours)


def test_words_missed_are_the_errors_that_texts_have():
    people, [(words, heard), _] = disturbance._attacked(
        np.random.default_rng([10, 1]), setting(KIND, SIZES), 1.2
    )
    said = joined(np.repeat(np.arange(len(people.speaker)), people.words), words, len(people.speaker))
    for one in heard:
        counted = word_counts(said, texts_of(people, words, one))
        errors = counted["substitutions"] + counted["deletions"] + counted["insertions"]
        assert errors.to_list() == disturbance.errors_of(people, one).tolist()


@pytest.mark.parametrize(("asked", "column"), [("word", "p_adjusted"), ("group", "p_group_adjusted")])
def test_words_lost_are_nearly_those_of_the_audit(asked, column):
    made = words._drawn(np.random.default_rng([11, 1]), setting(KIND, "16 + 16"), 8.0, asked=asked)
    found = localize(transcripts(*made), attribute="group").detail.words
    tallies = words.tallies(made)
    lost = pl.concat([tally.losses() for tally in tallies])
    assert lost["speakers"].to_list() == found["speakers"].to_list()
    assert np.mean(lost["lost"].to_numpy() == found["lost"].to_numpy()) > 0.9
    ours = np.sort(words.word_p(tallies, asked, PERMUTATIONS))
    theirs = np.sort(found[column].drop_nulls().to_numpy())
    # The planted word comes first in both, and little else is near.
    assert max(ours[0], theirs[0]) < 0.05


def same_p(ours, theirs, *keys):
    """Say whether two tables have the same p-values in the same rows, whatever their order.

    Speakers' utterances are added up in another order: the last digits may differ.
    """
    ours, theirs = (table.sort(keys) for table in (ours, theirs))
    same_rows = ours.select(keys).equals(theirs.select(keys))
    return same_rows and ours["p_adjusted"].to_list() == pytest.approx(
        theirs["p_adjusted"].to_list(), rel=1e-10
    )


@pytest.mark.slow
@pytest.mark.parametrize("world", ["zinb", "burst"])
def test_means_of_speakers_are_judged_as_in_the_audit(world):
    made = parities._drawn(np.random.default_rng([13, 1]), setting(world, "8 + 14"), 1.8, planted="group")
    tables = parity(parities._table(made), attributes=["group", "region"]).tables
    keys = ("recognizer", "attribute", "group", "against")
    assert same_p(parities.pairs_found(made, ALL), tables["pairs"], *keys)
    assert same_p(parities.fixed_found(made, ALL), tables["conditional"], *keys)
    crossed = tables["intersectional"].filter(pl.col("p").is_not_null())
    assert same_p(parities.crossed_found(made, ALL), crossed, "recognizer", "group")
    tests = parities.regressions_found(made)
    assert same_p(tests, tables["regression_tests"], "recognizer", "model", "term")


def test_likeness_and_ages_are_judged_as_in_the_audit():
    made = parities._drawn(np.random.default_rng([14, 1]), setting(KIND, "14 + 14"), 0.0, planted="gap")
    ours = parities.alike_found(made, ALL)
    theirs = parity(parities._table(made), attributes=["group"], gap=parities.MARGIN).tables["pairs"]
    assert ours["verdict"].to_list() == theirs["verdict"].to_list()
    assert ours["low"].to_list() == pytest.approx(theirs["low"].to_list(), rel=1e-9)
    bands = parity(parities._table(made), attributes=["age"], age="age").tables["canary"]
    assert same_p(parities.canary_found(made, ALL), bands, "recognizer", "group", "against")


@pytest.mark.slow
def test_comparisons_of_kinds_are_those_of_the_audit():
    where = setting(KIND, "8 + 8")
    for seed, ratio in ((1, 1.0), (2, 2.0)):
        (ours,) = kinds._together({0: np.random.default_rng(seed)}, where, ratio)
        assert ours == kinds._compared(np.random.default_rng(seed), where, ratio)
    assert any(ours["stutter.kinds"])
    assert [len(ours[f"stutter.{name}"]) for name in ("kinds", "recognizers", "selections")] == [10, 1, 1]


@pytest.mark.parametrize("asked", ["waiting", "confidence"])
def test_answers_are_judged_at_once_as_in_their_audits(asked):
    from benchmarks.verdicts import answers

    where = setting("mix", "8 + 8")
    audit, draw, sums, ratios = {
        "waiting": (answers.waiting, answers.wait, answers.waited, answers.WAITED[:2]),
        "confidence": (answers.confidence, answers.trust, answers.trusted, answers.TRUSTED),
    }[asked]
    made = draw(np.random.default_rng(3), where, 1.5)
    found = [one for one in audit(answers.table(made), attributes="group").findings if one.attribute]
    own = {(one.recognizer, one.measure): one.p_adjusted for one in found}
    keys = [(name, ratio.measure) for name in RECOGNIZERS for ratio in ratios]
    p = answers.group_p([made], sums, ratios, Shuffles(where.people))[0]
    assert [own[key] for key in keys] == pytest.approx(list(p), abs=1e-9)
