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
