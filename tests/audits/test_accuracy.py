import polars as pl
import pytest

from voxaudit import accuracy
from voxaudit.audits.accuracy.audit import surely_at_least
from voxaudit.audits.scores import Scores
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
    got = accuracy(table).tables["rates"].rows(named=True)
    assert got[0]["wer"] == pytest.approx(3 / 20)
    assert got[0]["cer"] == pytest.approx(5 / 100)
    assert (got[0]["utterances"], got[0]["speakers"], got[0]["words"], got[0]["errors"]) == (2, 2, 20, 3)
    assert got[1]["errors"] == 3
    assert got[1]["wer"] is None
    by_group = accuracy(table, ["recognizer", "group"]).tables["rates"]
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
    from voxaudit import robustness

    table = made_up()
    rates = accuracy(table).tables["rates"]
    limits = {row["scenario"]: (row["low"], row["high"]) for row in rates.iter_rows(named=True)}
    alone = table.filter(pl.col("scenario") == "echo:2").sample(fraction=1.0, shuffle=True, seed=1)
    again = accuracy(alone, ["scenario"]).tables["rates"].row(0, named=True)
    assert (again["low"], again["high"]) == limits["echo:2"]
    levels = robustness(table).detail.levels.filter(pl.col("level") == "scenario")
    for row in levels.iter_rows(named=True):
        assert (row["wer_low"], row["wer_high"]) == pytest.approx(limits[row["name"]])


def test_what_scenarios_surely_reach_is_less_than_what_one_does():
    table = made_up()
    single = dict(accuracy(table).tables["rates"].select("scenario", "low").iter_rows())
    scenarios = ["echo:1", "echo:2"]
    together = surely_at_least(Scores.of(table), "r", scenarios)
    for scenario, low in together.iter_rows():
        assert 0.0 < low < single[scenario]
    worst = accuracy(table).finding("accuracy/r/worst_wer")
    assert worst.scenario == "echo:2"
    assert worst.low == together["low"].max()


def test_by_is_one_column_several_or_none():
    table = made_up()
    speakers = accuracy(table, by="speaker")
    assert speakers.tables["rates"].height == 9
    assert [finding.group for finding in speakers.findings][:2] == ["s0", "s1"]
    whole = accuracy(table, by=[])
    (row,) = whole.tables["rates"].iter_rows(named=True)
    assert row["wer"] == pytest.approx(table["substitutions"].sum() / table["words"].sum())
    assert whole.findings[0].estimate == row["wer"]
    assert whole.findings[0].sentence.endswith("of the words are wrong over 3 scenarios.")
    assert [note.code for note in whole.notes] == ["pooled", "few_speakers"]
    clean = accuracy(table, by=[], scenario="clean")
    assert clean.findings[0].sentence.endswith("of the words are wrong.")
    assert [note.code for note in clean.notes] == ["few_speakers"]
    assert accuracy(table, by="group").tables["rates"]["group"].to_list() == ["x"]


def test_a_table_of_any_kind_will_do(tmp_path):
    table = made_up()
    table.write_parquet(tmp_path / "scores.parquet")
    expected = accuracy(table).tables["rates"]
    assert accuracy(tmp_path / "scores.parquet").tables["rates"].equals(expected)
    assert accuracy(str(tmp_path / "scores.parquet")).tables["rates"].equals(expected)
    assert accuracy(table.lazy()).tables["rates"].equals(expected)
    pandas = pytest.importorskip("pandas")
    assert accuracy(pandas.DataFrame(table.to_dict(as_series=False))).tables["rates"].equals(expected)
    with pytest.raises(VoxauditError, match="not from int"):
        accuracy(3)


def test_one_utterance_that_makes_much_of_a_rate_is_named():
    rows = [("r", "clean", f"s{n}", 1, 0, 0, 10, 50, 1, "x") for n in range(12)]
    table = scores(rows).with_columns(utterance=pl.format("u{}", pl.int_range(pl.len())))
    burst = table.with_columns(
        insertions=pl.when(pl.col("utterance") == "u3").then(7).otherwise(pl.col("insertions"))
    )
    answer = accuracy(burst)
    said = "one utterance, u3, makes 42.1 % of the errors"  # 8 of 19
    assert answer.finding("accuracy/r/clean/wer").sentence.endswith(f"; {said}.")
    notes = {note.code: note for note in answer.notes}
    assert notes["one_utterance"].facts["utterance"] == "u3"
    assert notes["few_speakers"].text == "12 speakers: up to 26 % of speakers may be of a kind not heard"
    row = answer.tables["concentration"].row(0, named=True)
    assert (row["worst_speaker"], row["worst_speaker_share"]) == ("s3", pytest.approx(8 / 19))
    plain = accuracy(table)
    assert "one utterance" not in plain.findings[0].sentence
    assert "one_utterance" not in {note.code for note in plain.notes}


def test_a_rate_of_zero_has_an_upper_limit_whoever_spoke():
    rows = [("r", "clean", f"s{n % 2}", 0, 0, 0, 10, 50, 0, "x") for n in range(40)]
    answer = accuracy(scores(rows))
    finding = answer.findings[0]
    # 40 utterances, 20 of a speaker: worth 40 / 2.9 = 13.8.
    assert (finding.estimate, finding.low) == (0.0, 0.0)
    assert finding.high == pytest.approx(1 - 0.025 ** (2.9 / 40))
    assert finding.sentence == "r gets 0.0 % (0.0 to 23.5) of the words wrong on clean speech."
    assert "no_errors" in {note.code for note in answer.notes}
