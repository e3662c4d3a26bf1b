"""Every verdict that the tool prints: false alarms where nothing is to be found stay within what is promised."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from voxaudit.audits.audit import AUDITS as REGISTERED

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # the benchmarks are no part of the installed package

from benchmarks.verdicts.__main__ import EXPERIMENTS, RESULTS  # noqa: E402
from benchmarks.verdicts.experiment import Tally, Verdict, rate_text, repeat  # noqa: E402
from benchmarks.verdicts.meaning import MEANING  # noqa: E402
from benchmarks.verdicts.results import Results, read_results  # noqa: E402
from benchmarks.verdicts.table import FAR  # noqa: E402

AUDITS = 40
VERDICTS = {one.id: one for experiment in EXPERIMENTS for one in experiment.verdicts}
DOCUMENT = (ROOT / "docs" / "verdicts.md").read_text(encoding="utf-8")


def test_sums_of_three_audits_by_hand():
    tally = Tally().plus([True, False]).plus([False, None]).plus([])
    assert (tally.audits, tally.answered, tally.any_) == (3, 2, 1)
    assert (tally.said, tally.asked) == (1, 3)
    assert tally.any_rate()[0] == pytest.approx(1 / 3)
    assert tally.each_rate()[0] == pytest.approx(1 / 3)
    # said - asked / 3 is 1/3 and -1/3: their standard error over the mean of 1.5 questions
    assert tally.each_error() == pytest.approx((2 / 9 / 1 / 2) ** 0.5 / 1.5)


def test_excess_counts_standard_errors_above_nominal():
    verdict = Verdict("x", "", "", 0.05, "any")
    tally = Tally(audits=100, answered=100, any_=10, said=10, asked=100)
    assert tally.excess(verdict) == pytest.approx(0.05 / (0.05 * 0.95 / 100) ** 0.5)


def test_going_on_gives_what_all_at_once_gives():
    experiment = next(one for one in EXPERIMENTS if one.name == "localize validation")
    once = repeat(experiment, "8 + 8", 2.0, 6)
    twice = repeat(experiment, "8 + 8", 2.0, 6, repeat(experiment, "8 + 8", 2.0, 2))
    assert once == twice
    assert any(tally.said for tally in once.values())


def test_figures_survive_their_file(tmp_path):
    experiment = next(one for one in EXPERIMENTS if one.name == "agreement of reviewers")
    results = Results()
    results.keep(experiment, "8 + 8", 0.5, repeat(experiment, "8 + 8", 0.5, 3), 1.0)
    results.write(tmp_path / "figures.json")
    assert read_results(tmp_path / "figures.json").cells == results.cells


def test_every_audit_has_a_verdict_here():
    named = {name.partition(".")[0] for name in VERDICTS}
    # These measure and claim nothing; error rates are judged by gates.
    assert {*REGISTERED.names()} - named == {"accuracy", "score", "quality", "power"}
    assert "gate" in named


def test_every_verdict_is_explained_and_in_the_document():
    assert set(MEANING) == set(VERDICTS)
    missing = [name for name in VERDICTS if f"`{name}`" not in DOCUMENT]
    assert not missing


def test_committed_figures_hold_or_are_documented():
    results = read_results(RESULTS)
    for experiment in EXPERIMENTS:
        for setting in experiment.settings:
            tallies = results.tallies(experiment, setting, experiment.null)
            for verdict in experiment.verdicts:
                tally = tallies[verdict.id]
                assert tally.excess(verdict, documented=True) <= FAR, (
                    f"{verdict.id}, {setting}: {rate_text(tally, verdict)}"
                )
        for effect in experiment.effects:
            tallies = results.tallies(experiment, experiment.power_at, effect)
            assert all(tallies[verdict.id].audits for verdict in experiment.verdicts)


def test_what_is_planted_is_found():
    results = read_results(RESULTS)
    for experiment in EXPERIMENTS:
        for verdict in experiment.verdicts:
            null = results.tallies(experiment, experiment.power_at, experiment.null)[verdict.id]
            found = [
                results.tallies(experiment, experiment.power_at, effect)[verdict.id].rate(verdict)[0]
                for effect in experiment.effects
            ]
            assert max(found) > null.rate(verdict)[0], verdict.id


def test_an_exception_has_a_reason_and_a_number():
    for verdict in VERDICTS.values():
        assert bool(verdict.exception) == (verdict.up_to > verdict.nominal), verdict.id


@pytest.mark.slow
@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda one: one.name)
def test_false_alarms_stay_within_what_is_promised(experiment):
    setting = "16 + 16" if "16 + 16" in experiment.settings else experiment.settings[0]
    found = repeat(experiment, setting, experiment.null, AUDITS, seed=2)
    for verdict in experiment.verdicts:
        tally = found[verdict.id]
        assert tally.excess(verdict, documented=True) <= FAR, f"{verdict.id}: {rate_text(tally, verdict)}"
