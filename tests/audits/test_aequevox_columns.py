"""Tables with AequeVox's names of columns say the same as with voxaudit's."""

import polars as pl

from voxaudit.audits.differential.audit import differential
from voxaudit.audits.localize.audit import localize
from voxaudit.perturb.comprehensibility import read_ratings
from voxaudit.review.study.ratings import read_ratings_table
from voxaudit.tables import OTHER_NAMES, own_names

THEIRS = {ours: theirs for theirs, ours in OTHER_NAMES.items()}


def renamed(table: pl.DataFrame) -> pl.DataFrame:
    return table.rename({name: THEIRS[name] for name in table.columns if name in THEIRS})


def test_distances():
    table = pl.DataFrame(
        {
            "corpus": ["one"] * 4 + ["two"] * 4,
            "pair": ["A_B"] * 8,
            "perturbation": ["Original", "Original", "Noise", "Noise"] * 2,
            "setting": [None, None, 2.0, 2.0] * 2,
            "group": ["g", "h"] * 4,
            "distance": [0.1, 0.1, 0.5, 0.2, 0.1, 0.1, 0.2, 0.4],
        }
    )
    theirs = renamed(table)
    assert set(theirs.columns) == {"dataset", "asr_pair", "transformation", "theta", "group", "distance"}
    answers = [differential(one, tau=[0.1], full=True) for one in (table, theirs)]
    assert answers[0].to_dict() == answers[1].to_dict()
    groups = answers[1].tables["groups"]
    assert groups.select("corpus", "group", "violations").rows() == [
        *(("one", "g", 1), ("one", "h", 0)),
        *(("two", "g", 0), ("two", "h", 1)),
    ]
    assert answers[1].question["attribute"] == "group"
    assert [finding.corpus for finding in answers[1].findings] == ["one", "two"]
    second = differential(theirs, tau=[0.1], corpus="two")
    assert [found.corpus for found in second.detail] == ["two"]


def test_word_counts():
    table = pl.DataFrame(
        [("r", "Original", "", "g", "please", 5), ("r", "Noise", "2", "g", "please", 1)],
        schema=["recognizer", "perturbation", "setting", "group", "word", "count"],
        orient="row",
    )
    found = [localize(one).detail.words for one in (table, renamed(table))]
    assert found[0].equals(found[1])
    assert found[1].row(0, named=True)["drop"] == 4


def test_ratings(tmp_path):
    table = pl.DataFrame({"perturbation": ["hp"], "setting": ["1"], "participant": ["x"], "rating": [8.0]})
    paths = [tmp_path / "ours.csv", tmp_path / "theirs.csv"]
    for path, one in zip(paths, (table, renamed(table)), strict=True):
        one.write_csv(path)
        assert read_ratings(path).of("hp", 1.0) == 8.0
        assert read_ratings_table(path).equals(table)
    assert "transformation,theta" in paths[1].read_text()


def test_a_name_that_is_there_already_is_not_taken_twice():
    both = pl.DataFrame({"recognizer": ["a"], "asr": ["b"], "theta": [1]})
    assert own_names(both).columns == ["recognizer", "asr", "setting"]
