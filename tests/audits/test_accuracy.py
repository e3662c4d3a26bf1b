import polars as pl
import pytest

from voxaudit.audits.accuracy import accuracy
from voxaudit.errors import VoxauditError


def scores(rows):
    names = [
        "recognizer",
        "scenario",
        "speaker",
        "substitutions",
        "deletions",
        "insertions",
        "words",
        "characters",
    ]
    table = pl.DataFrame(rows, schema=[*names, "character_errors", "group"], orient="row")
    return table.with_columns(hits=pl.col("words") - pl.col("substitutions") - pl.col("deletions"))


def test_rates_are_ratios_of_sums_not_means_of_rates():
    table = scores(
        [
            ("r", "clean", "a", 1, 0, 0, 2, 10, 1, "x"),
            ("r", "clean", "b", 0, 1, 1, 18, 90, 4, None),
            ("q", "clean", "a", 0, 0, 3, 0, 0, 9, "x"),
        ]
    )
    got = accuracy(table).rows(named=True)
    assert got[0]["wer"] == pytest.approx(3 / 20)
    assert got[0]["cer"] == pytest.approx(5 / 100)
    assert (got[0]["utterances"], got[0]["speakers"], got[0]["words"], got[0]["errors"]) == (2, 2, 20, 3)
    assert got[1]["errors"] == 3
    assert got[1]["wer"] is None
    by_group = accuracy(table, ["recognizer", "group"])
    assert by_group.filter(pl.col("group").is_null())["wer"].item() == pytest.approx(2 / 18)


def test_a_missing_column_is_named():
    with pytest.raises(VoxauditError, match="no column 'accent'"):
        accuracy(scores([("r", "clean", "a", 0, 0, 0, 1, 1, 0, "x")]), ["accent"])


def made_up(speakers=9):
    rows = []
    for scenario, most in (("clean", 3), ("echo:1", 5), ("echo:2", 7)):
        for n in range(speakers):
            for number in range(1 + n % 3):
                wrong = (3 * n + number) % most
                rows.append(("r", scenario, f"s{n}", wrong, 0, 0, 10, 50, wrong, "x"))
    table = scores(rows)
    order = pl.int_range(pl.len()).over("scenario", "speaker")
    return table.with_columns(utterance=pl.format("{}-{}", "speaker", order))


def test_every_command_gives_the_same_rate_the_same_interval():
    """`score`, `run` and `robustness` read other tables in another order: the interval is that of the speakers."""
    from voxaudit.audits.robustness import robustness

    table = made_up()
    limits = {
        row["scenario"]: (row["ci_low"], row["ci_high"]) for row in accuracy(table).iter_rows(named=True)
    }
    alone = table.filter(pl.col("scenario") == "echo:2").sample(fraction=1.0, shuffle=True, seed=1)
    again = accuracy(alone, ["scenario"]).row(0, named=True)
    assert (again["ci_low"], again["ci_high"]) == limits["echo:2"]
    levels = robustness(table).levels.filter(pl.col("level") == "scenario")
    for row in levels.iter_rows(named=True):
        assert (row["wer_low"], row["wer_high"]) == pytest.approx(limits[row["name"]])


def test_what_scenarios_surely_reach_is_less_than_what_one_does():
    from voxaudit.audits.accuracy import surely_at_least

    table = made_up()
    single = dict(accuracy(table).select("scenario", "ci_low").iter_rows())
    for scenario, low in surely_at_least(table).iter_rows():
        assert 0.0 < low < single[scenario]
