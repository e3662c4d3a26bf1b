"""Every verdict that the tool prints: false alarms where nothing is to be found stay within what is promised."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from voxaudit.audits.audit import AUDITS as REGISTERED

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # the benchmarks are no part of the installed package

from benchmarks.verdicts import explained  # noqa: E402
from benchmarks.verdicts.experiment import FIRST_SCREEN, Known, Tally, Verdict, rate_text, repeat  # noqa: E402
from benchmarks.verdicts.meaning import MEANING  # noqa: E402
from benchmarks.verdicts.measure import EXPERIMENTS, RESULTS, asked, measure  # noqa: E402
from benchmarks.verdicts.resampled import PLACES, missing  # noqa: E402
from benchmarks.verdicts.results import Results, read_results  # noqa: E402
from benchmarks.verdicts.table import FAR, measured, worst, worst_table  # noqa: E402
from benchmarks.verdicts.world import HARD, KIND, TURNED, crossed, setting  # noqa: E402

AUDITS = 40
VERDICTS = {one.id: one for experiment in EXPERIMENTS for one in experiment.verdicts}
DOCUMENT = (ROOT / "docs" / "verdicts.md").read_text(encoding="utf-8")


def experiment_of(name):
    return next(one for one in EXPERIMENTS if one.name == name)


def test_sums_of_three_audits_by_hand():
    tally = Tally().plus([True, False]).plus([False, None]).plus([])
    assert (tally.audits, tally.answered, tally.any_) == (3, 2, 1)
    assert (tally.said, tally.asked) == (1, 3)
    assert tally.any_rate()[0] == pytest.approx(1 / 3)
    assert tally.each_rate()[0] == pytest.approx(1 / 3)
    # said - asked / 3 is 1/3 and -1/3: their standard error over the mean of 1.5 questions
    assert tally.each_error() == pytest.approx((2 / 9 / 1 / 2) ** 0.5 / 1.5)
    assert tally.and_(tally) == Tally(6, 4, 2, 2, 6, 2, 4, 10)


def test_excess_counts_standard_errors_above_nominal():
    verdict = Verdict("x", "", "", 0.05, "any")
    tally = Tally(audits=100, answered=100, any_=10, said=10, asked=100)
    assert tally.excess(verdict) == pytest.approx(0.05 / (0.05 * 0.95 / 100) ** 0.5)
    assert tally.excess(verdict, 0.1) == pytest.approx(0.0)


def test_an_exception_holds_where_it_is_written_down():
    verdict = Verdict("x", "", "", 0.05, "any", known=(Known((TURNED, "t3, 8 + 8"), 0.07, "why"),))
    assert verdict.promised(setting(TURNED, "6 + 60")) == 0.07
    assert verdict.promised(setting("t3", "8+8")) == 0.07
    assert verdict.promised(setting("t3", "16+16")) == 0.05


def test_turned_is_a_world_of_its_own_only_where_groups_are_unequal():
    names = [one.name for one in crossed(HARD, ("8 + 8", "6 + 60"))]
    assert f"{TURNED}, 6 + 60" in names
    assert f"{TURNED}, 8 + 8" not in names
    assert len(names) == 2 * len(HARD) - 1


@pytest.mark.parametrize("name", ["localize validation", "disparity"])
def test_parts_give_what_all_at_once_gives(name):
    experiment, where = experiment_of(name), setting(KIND, "8 + 8")
    once = repeat(experiment, where, 2.0, 0, 6)
    parts = [repeat(experiment, where, 2.0, 0, 2), repeat(experiment, where, 2.0, 2, 6)]
    assert once == {key: parts[0][key].and_(parts[1][key]) for key in once}
    assert any(tally.said for tally in once.values())


@pytest.mark.slow
def test_figures_survive_their_file_and_go_on(tmp_path):
    experiment, where = experiment_of("agreement of reviewers"), setting(KIND, "8 + 8")
    path = tmp_path / "figures.json"
    results = Results()
    results.add(experiment, where, 0.5, repeat(experiment, where, 0.5, 0, 3), 1.0)
    results.write(path)
    read = read_results(path)
    assert read.cells == results.cells
    options = {"worlds": [KIND], "sizes": ["8 + 8"], "audits": 8}
    todo = [one for one in asked(read, [experiment], **options) if one[2] == experiment.null]
    assert [one[3:] for one in todo] == [(0, 8)]
    assert measure(read, todo, path, jobs=1) == 0
    again = read_results(path)
    assert again.done(experiment, where, experiment.null) == 8
    found = repeat(experiment, where, experiment.null, 0, 8)
    assert again.tallies(experiment, where, experiment.null) == found
    assert all(one[2] != experiment.null for one in asked(again, [experiment], **options))


def test_a_cell_with_other_verdicts_begins_anew():
    experiment, where = experiment_of("agreement of reviewers"), setting(KIND, "8 + 8")
    results = Results()
    results.add(experiment, where, 0.0, {"an older verdict": Tally(audits=400)}, 1.0)
    assert results.done(experiment, where, 0.0) == 0
    results.add(experiment, where, 0.0, repeat(experiment, where, 0.0, 0, 2), 1.0)
    assert list(results.tallies(experiment, where, 0.0)) == ["review.kappa"]


def test_the_worst_world_is_named_with_its_rate():
    experiment = experiment_of("disparity")
    results = Results()
    for world, claims in (("t3", 4), ("mix", 30), ("zinb", 9)):
        cell = {
            one.id: Tally(audits=200, answered=200, any_=claims, said=claims, asked=200)
            for one in experiment.all_verdicts
        }
        results.add(experiment, setting(world, "6 + 60"), 1.0, cell, 1.0)
    verdict = experiment.verdicts[0]
    found = measured(experiment, verdict, results)
    assert worst(verdict, found).where.name == "mix, 6 + 60"
    [line] = [one for one in worst_table(EXPERIMENTS, results, first=True).splitlines() if verdict.id in one]
    assert "| **15 (11 to 21)** | mix, 6 + 60 | 200 x 3 | 4.5 |" in line


def test_every_audit_has_a_verdict_here():
    named = {name.partition(".")[0] for name in VERDICTS}
    # These measure and claim nothing; error rates are judged by gates.
    nothing = {"accuracy", "score", "quality", "power", "references"}
    # These claim by tests that have rows, and have none of their own yet: the page says so.
    without = {"disfluent"}
    assert {*REGISTERED.names()} - named == nothing | without
    assert all(f"`{name}`" in DOCUMENT.split("## What has no rate here")[1] for name in without)
    assert "gate" in named


def test_every_verdict_is_explained_and_in_the_document():
    assert set(MEANING) == set(VERDICTS)
    missing = [name for name in VERDICTS if f"`{name}`" not in DOCUMENT]
    assert not missing


def test_every_verdict_about_speakers_is_tried_in_every_world():
    for experiment in EXPERIMENTS:
        if experiment.units == "speakers":
            # Texts and recordings that cause errors can be planted in made-up worlds only.
            made_up = experiment in explained.EXPERIMENTS
            assert experiment.worlds == (explained.WORLDS if made_up else HARD), experiment.name
            unequal = {"6 + 60", "8 + 40"} & set(experiment.sizes)
            assert unequal or experiment.name == "parity crossed", experiment.name


def test_committed_figures_hold_or_are_documented():
    results = read_results(RESULTS)
    for experiment in EXPERIMENTS:
        for where in experiment.settings:
            tallies = results.tallies(experiment, where, experiment.null)
            for verdict in experiment.verdicts:
                tally = tallies.get(verdict.id, Tally())
                if not tally.audits:  # the page says that it is not measured
                    continue
                assert tally.excess(verdict, verdict.promised(where)) <= FAR, (
                    f"{verdict.id}, {where.name}: {rate_text(tally, verdict)}"
                )


def test_what_is_planted_is_found():
    results = read_results(RESULTS)
    for experiment in EXPERIMENTS:
        for verdict in experiment.verdicts:
            null = results.tallies(experiment, experiment.settings[1], experiment.null).get(
                verdict.id, Tally()
            )
            planted = [
                results.tallies(experiment, experiment.power_at, effect).get(verdict.id, Tally())
                for effect in experiment.effects
            ]
            if not null.audits or not all(one.audits for one in planted):
                continue
            found = [one.rate(verdict)[0] for one in planted]
            # No disturbance is planted that would hurt the better group more.
            if verdict.id != "differential.better":
                assert max(found) > null.rate(verdict)[0], verdict.id


def test_the_headline_of_groups_is_measured_everywhere():
    results = read_results(RESULTS)
    (experiment,) = (one for one in EXPERIMENTS if one.name == "disparity")
    for where in experiment.settings:
        assert results.tallies(experiment, where, experiment.null)["disparity.gap"].audits >= FIRST_SCREEN


def test_an_exception_has_a_reason_and_is_above_nominal():
    for verdict in VERDICTS.values():
        for one in verdict.known:
            assert one.why, verdict.id
            assert one.up_to > verdict.nominal, verdict.id
            assert one.places, verdict.id


def test_verdicts_of_the_first_screen_are_asked_more_often():
    first = {one.id for each in EXPERIMENTS if each.audits == FIRST_SCREEN for one in each.verdicts}
    assert {"disparity.gap", "robustness.cost_overall", "robustness.group_overall"} <= first
    assert {
        "compare.worse",
        "versus.overall",
        "differential.shown",
        "stutter.shown",
        "gate.clean_upper",
    } <= first


@pytest.mark.parametrize("name", PLACES)
def test_worlds_of_real_speakers_are_left_out_with_a_reason(name, monkeypatch):
    from benchmarks.verdicts import resampled

    resampled.pool.cache_clear()
    monkeypatch.delenv(PLACES[name], raising=False)
    assert missing(name) == "" if name in resampled.HERE else PLACES[name] in missing(name)
    resampled.pool.cache_clear()
    monkeypatch.setenv(PLACES[name], str(ROOT / "no such file"))
    assert "no file" in missing(name)
    assert missing(KIND) == ""
    resampled.pool.cache_clear()


def test_speakers_of_a_table_are_drawn_with_all_they_said(tmp_path, monkeypatch):
    from benchmarks.verdicts import resampled
    from benchmarks.verdicts.world import counts, draw_people

    rows = []
    for speaker in range(12):
        for part in range(1 + speaker % 3):
            base = f"DCB_{speaker}_{part}" if speaker < 6 else f"HUM_{speaker}"
            source, flag = ("DCB", 1) if speaker < 6 else ("HUM", 0)
            rows.append((base, flag, source, 10 + speaker, *(k / 10 for k in range(1, 6))))
    names = ["basefile", "black_flag", "source", "wordcount"]
    names += [f"clean_{one}_wer" for one in ("google", "ibm", "amazon", "msft", "apple")]
    pl.DataFrame(rows, schema=names, orient="row").write_csv(tmp_path / "table.csv")
    monkeypatch.setenv(PLACES["Koenecke"], str(tmp_path / "table.csv"))
    resampled.pool.cache_clear()
    pool = resampled.pool("Koenecke")
    assert sorted(pool.counts) == [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]
    assert pool.group.sum() == 6
    people = draw_people(np.random.default_rng(1), setting("Koenecke's races", "3 + 4"))
    # Words tell who it is: 10 to 15 are of the second group in the file.
    who = np.array([people.words[people.speaker == n][0] for n in range(7)])
    assert (who[:3] >= 16).all()
    assert (who[3:] < 16).all()
    # Each column has its own rate; exchanged, all have the same on average.
    errors = counts(np.random.default_rng(2), people, ["clean", "lowpass:1"])
    assert (errors[0, 0] <= errors[0, 1]).all()
    assert (errors[0, 0] == np.round(0.1 * people.words)).all()
    alike = [
        counts(np.random.default_rng(n), people, ["clean", "lowpass:1"], alike=True).sum(axis=2)
        for n in range(200)
    ]
    rates = np.mean(alike, axis=0) / people.words.sum()
    assert rates == pytest.approx(np.full((2, 2), 0.3), abs=0.02)
    resampled.pool.cache_clear()


@pytest.mark.slow
@pytest.mark.parametrize("world", [KIND, "mix", TURNED])
@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda one: one.name)
def test_false_alarms_stay_within_what_is_promised(experiment, world):
    found = [one for one in experiment.settings if one.world == world]
    if not found:
        pytest.skip("this world is none for it")
    where = found[min(1, len(found) - 1)]
    tallies = repeat(experiment, where, experiment.null, 0, AUDITS, seed=2)
    for verdict in experiment.verdicts:
        tally = tallies[verdict.id]
        excess = tally.excess(verdict, verdict.promised(where))
        assert excess <= FAR, f"{verdict.id}: {rate_text(tally, verdict)}"
