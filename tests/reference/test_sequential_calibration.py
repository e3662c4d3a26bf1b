"""Whoever looks after every speaker must not see more than was promised: simulated audits with a known truth."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # simulated worlds are no part of the package

from benchmarks.studies.breaking import Listeners, simulate_group
from benchmarks.studies.sequential import World, simulate

from voxaudit.audits.sequential.audit import Goal, sequential
from voxaudit.stats.censored import mean_interval

pytestmark = pytest.mark.slow

AUDITS = 500
TABLE = Path(__file__).resolve().parents[3] / "shared" / "reference" / "koenecke" / "matched_wer.csv"


def upper(shares):
    """The lowest value that a share at most nominal would exceed by chance in 1 of 40 experiments."""
    return 0.05 + 1.96 * np.std(shares) / np.sqrt(len(shares))


@pytest.mark.parametrize("spreads", [(0.4, 0.4), (0.6, 0.6), (0.8, 0.8), (0.4, 0.8)])
def test_false_alarms_at_any_time_stay_below_nominal(spreads):
    world = World((1.0,) * 8, speakers=60, spreads=spreads, longer=1.5 if spreads[0] != spreads[1] else 1.0)
    cells, families = [], []
    for audit in range(AUDITS):
        goal = Goal(fdr=False, give_up=False, margin=None)
        cells.append(np.mean(simulate(world, goal, np.random.default_rng([audit, 1])).shown))
        goal = Goal(give_up=False, margin=None)
        families.append(float(any(simulate(world, goal, np.random.default_rng([audit, 1])).shown)))
    assert np.mean(cells) <= upper(cells)
    assert np.mean(families) <= upper(families)  # without any gap, a false share is a false alarm


def test_false_claims_of_likeness_stay_below_nominal():
    claimed = []
    for audit in range(AUDITS // 2):
        generator = np.random.default_rng([audit, 2])
        rate = float(generator.uniform(0.1, 0.2))
        world = World(((rate + 0.05) / rate,) * 8, rates=(rate, rate), spreads=(0.4, 0.4))
        claimed.append(np.mean(simulate(world, Goal(fdr=False, give_up=False), generator).alike))
    assert np.mean(claimed) <= upper(claimed)


def test_three_times_fewer_trials_and_few_false_claims_among_planted_gaps():
    ratios = (1.0,) * 10 + (1.25, 1.5, 1.5, 2.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0)
    null = np.array(ratios) == 1.0
    trials = grid = 0.0
    same, false, strong = [], [], []
    for audit in range(100):
        world = World(ratios, speakers=100)
        one = simulate(world, Goal(), np.random.default_rng([audit, 3]), per_speaker=4)
        trials += one.trials.sum()
        grid += one.grid * len(ratios)
        shown = np.array(one.shown)
        same.append(np.mean(shown == np.array(one.full)))
        false.append(shown[null].sum() / max(shown.sum(), 1))
        strong.append(shown[-7:].mean())
    assert grid / trials > 3.0
    assert np.mean(same) > 0.85
    assert np.mean(false) <= upper(false)
    assert np.mean(strong) > 0.85


def test_koenecke_race_gap_at_a_ninth_of_the_cost():
    """Five commercial recognizers, 98 speakers: the published gap with ten snippets a speaker, stopped early."""
    if not TABLE.exists():
        pytest.skip("no reference data here: the optional folder ../shared/reference is missing")
    table = pl.read_csv(TABLE).with_columns(
        speaker=pl.col("basefile").str.replace(r"^((?:DCB|PRV|ROC)_.+)_\d+$", "$1"),
        race=pl.when(pl.col("black_flag") == 1).then(pl.lit("Black")).otherwise(pl.lit("White")),
    )
    none = pl.lit(0)
    scores = pl.concat(
        [
            table.select(
                utterance="segment_filename",
                speaker="speaker",
                scenario=pl.lit("clean"),
                recognizer=pl.lit(name),
                substitutions=(pl.col(f"clean_{name}_wer") * pl.col("wordcount")).round().cast(pl.Int64),
                deletions=none,
                insertions=none,
                words="wordcount",
                race="race",
            )
            for name in ("google", "ibm", "amazon", "msft", "apple")
        ]
    )
    saved, shown = [], []
    for seed in range(20):
        found = sequential(scores, attribute="race", per_speaker=10, seed=seed).detail
        saved.append(found.grid / found.trials)
        shown.append(sum(gap.verdict == "shown" for gap in found.gaps))
        assert all(gap.gap < 0 for gap in found.gaps if gap.verdict == "shown")  # White less Black
    assert min(saved) > 5.0
    assert np.mean(shown) > 4.0


@pytest.mark.parametrize("people", [Listeners(), Listeners(width=0.1), Listeners(middle=0.92)])
def test_intervals_of_breaking_points_cover(people):
    truth, covered, found = people.truth(0.5), 0, []
    for number in range(200):
        generator = np.random.default_rng([number, 4])
        places, _ = simulate_group(people, generator)
        value, low, high = mean_interval(places, 0.0, 1.0)
        covered += low <= truth <= high
        found.append(value)
    assert covered / 200 >= 0.95 - 2.5 * np.sqrt(0.95 * 0.05 / 200) - 0.02
    assert np.mean(found) == pytest.approx(truth, abs=0.01)  # half a dB on an axis of 50 dB
