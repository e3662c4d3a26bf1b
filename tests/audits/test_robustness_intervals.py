"""Do the intervals and ranks of the robustness audit keep their promise?"""

import numpy as np
import polars as pl
import pytest

from voxaudit.audits.robustness.audit import robustness
from voxaudit.audits.robustness.levels import Node, build_cells
from voxaudit.audits.robustness.measure import rank
from voxaudit.audits.robustness.trials import read_trials
from voxaudit.audits.scores import Scores
from voxaudit.stats.bootstrap import Resample
from voxaudit.stats.rates import Pulls

WORDS = 200


def world(generator, *, speakers=12, natural=0, utterances=4):
    """Speakers differ in how hard they are, on clean speech and, in part alike, under noise."""
    rows = []
    for i in range(speakers):
        hard = generator.normal(0.0, 0.4)
        clean = 0.08 * np.exp(hard)
        noisy = min(0.95, clean + 0.15 * np.exp(0.5 * hard + generator.normal(0.0, 0.3)))
        for j in range(utterances):
            for scenario, rate in (("clean", clean), ("gaussian_noise:3", noisy)):
                rows.append(("r", scenario, f"s{i}", f"s{i}-{j}", generator.binomial(WORDS, rate), WORDS))
    for i in range(natural):
        rate = 0.12 * np.exp(generator.normal(0.0, 0.5))
        rows += [
            ("r", "accented", f"n{i}", f"n{i}-{j}", generator.binomial(WORDS, rate), WORDS) for j in range(4)
        ]
    return pl.DataFrame(
        rows, schema=["recognizer", "scenario", "speaker", "utterance", "errors", "words"], orient="row"
    )


def truth():
    """The expected WERD of the world above: means over speakers, as every speaker says equally many words."""
    hard = 0.4
    clean = 0.08 * np.exp(hard**2 / 2)
    noise = 0.15 * np.exp((0.25 * hard**2 + 0.09) / 2)
    return noise, 0.12 * np.exp(0.125) - clean


@pytest.mark.slow
@pytest.mark.parametrize(("scenario", "which", "natural"), [("gaussian_noise:3", 0, 0), ("accented", 1, 14)])
def test_intervals_of_the_degradation_cover(scenario, which, natural):
    generator = np.random.default_rng(11)
    target, repeats, hit = truth()[which], 500, 0
    for _ in range(repeats):
        found = robustness(world(generator, natural=natural), difficulty="none").detail.levels
        row = found.filter((pl.col("level") == "scenario") & (pl.col("name") == scenario)).row(0, named=True)
        hit += row["werd_low"] <= target <= row["werd_high"]
    # 95 % promised, and more where no speaker is unlike the others: the upper limit allows for one who is.
    assert 0.94 <= hit / repeats <= 0.995


def test_clean_and_disturbed_speech_of_the_same_people_move_together():
    trials, _ = read_trials(Scores(world(np.random.default_rng(3), natural=14)))
    resample = Resample.within(trials.people["stratum"].to_list(), 2000, 0, 0.95)
    cells = {c.scenario: c for c in build_cells(trials, "r", resample)}

    def together(cell):
        return np.corrcoef(cell.wer[1:2001], cell.clean[1:2001])[0, 1]

    assert cells["gaussian_noise:3"].paired
    assert together(cells["gaussian_noise:3"]) > 0.4
    assert not cells["accented"].paired
    assert abs(together(cells["accented"])) < 0.07  # other people: drawn on their own


def node(own, resample):
    """Return what is known of a recognizer that disturbed speech costs so much, speaker by speaker."""
    share = np.full((len(own), 1), 1.0 / len(own))
    values = {"werd": resample.rates(own[:, None], np.ones((len(own), 1)))[:, 0]}
    values["said"] = resample.sums(share)[:, 0]
    changes = {"werd": Pulls((own[:, None] - own.mean()) * share, share)}
    weights = {"werd": np.ones(1)}
    return Node("overall", "all", values, len(own), 3, 0, True, 10, changes=changes, weights=weights)


def ranked(resample, **costs):
    return rank({name: node(own, resample) for name, own in costs.items()}, "werd", resample)


def test_recognizers_that_cannot_be_told_apart_share_a_rank():
    generator = np.random.default_rng(0)
    noise = generator.normal(0.0, 0.01, (4, 30))
    noise = 0.055 * (noise - noise.mean(axis=1, keepdims=True)) / noise.std(axis=1, keepdims=True)
    own = dict(zip("abcd", noise + np.array([[0.10], [0.12], [0.145], [0.40]]), strict=True))
    rows, compared = ranked(Resample.within(["x"] * 30, 3000, 0, 0.95), **own)
    assert {row["recognizer"]: (row["rank"], row["rank_worst"]) for row in rows} == {
        "a": (1, 2),  # b cannot be told from a, nor c from b, but c from a
        "b": (1, 3),
        "c": (2, 3),
        "d": (4, 4),
    }
    verdicts = {(row["recognizer"], row["against"]): row["verdict"] for row in compared}
    assert verdicts["a", "b"] == "not_shown"
    assert verdicts["a", "c"] == "shown"
    assert all((row["verdict"] == "shown") == (row["high"] < 0.0) for row in compared)


def test_differences_are_paired_so_shared_luck_cancels():
    generator = np.random.default_rng(0)
    luck, own = generator.normal(0.0, 0.3, 30), generator.normal(0.0, 0.005, (2, 30))
    resample = Resample.within(["x"] * 30, 2000, 0, 0.95)
    rows, _ = ranked(resample, a=0.10 + luck + own[0], b=0.11 + luck + own[1])
    assert [row["rank"] for row in rows] == [1, 2]
    assert rows[0]["high"] > rows[1]["low"]  # their own intervals overlap


def test_equal_recognizers_are_rarely_called_different():
    """Four recognizers of the same quality: any false claim among the six pairs in at most about 5 %."""
    generator = np.random.default_rng(5)
    repeats, false = 150, 0
    for seed in range(repeats):
        costs = generator.normal(0.0, 0.05, (15, 1)) + generator.normal(0.2, 0.03, (15, 4))
        rows, _ = ranked(
            Resample.within(["x"] * 15, 500, seed, 0.95), **dict(zip("abcd", costs.T, strict=True))
        )
        false += any(row["rank"] > 1 for row in rows)
    assert false / repeats <= 0.09


def test_recognizers_are_ranked_on_what_all_of_them_heard():
    columns = ["recognizer", "scenario", "speaker", "utterance", "errors", "words"]
    rows = [
        (name, scenario, f"s{i}", f"s{i}", errors + i % 2, 100)
        for name, scenario, errors in (
            *(("a", "clean", 5), ("a", "echo:1", 20), ("a", "music:4", 90)),
            *(("b", "clean", 5), ("b", "echo:1", 50)),
        )
        for i in range(8)
    ]
    found = robustness(pl.DataFrame(rows, schema=columns, orient="row"), difficulty="none").detail
    got = {row["recognizer"]: (row["rank"], row["estimate"]) for row in found.ranking.iter_rows(named=True)}
    assert got["a"] == (1, pytest.approx(0.15))
    assert got["b"] == (2, pytest.approx(0.45))
    assert any("music:4 not heard by every recognizer" in note.text for note in found.notes)
