"""The one reader of scores and transcripts: from anywhere, with the same filters, in memory or piece by piece."""

from __future__ import annotations

import polars as pl
import pytest
from whole_corpus import whole

from voxaudit.audits.scores import KEYS, Scores, Transcripts
from voxaudit.errors import VoxauditError

TABLE = pl.DataFrame(
    {
        "utterance": ["007", "007", "008", "008", "009"],
        "scenario": ["clean", "noise:2", "clean", "noise:2", "clean"],
        "recognizer": ["a", "a", "a", "b", "b"],
        "text": ["one", "on", "two", "too", "three"],
        "failure": [None, "", None, "it crashed", None],
        "speaker": ["s1", "s1", "s2", "s2", None],
        "age": ["30", "30", "17", "17", None],
        "corpus": ["x", "x", "y", "y", "y"],
    }
)


def rows(read: Transcripts, *columns: str) -> list[tuple[object, ...]]:
    return read.collect(*(columns or KEYS)).rows()


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_files_say_what_the_table_says(tmp_path, ending) -> None:
    path = tmp_path / f"t.{ending}"
    {"csv": TABLE.write_csv, "parquet": TABLE.write_parquet, "jsonl": TABLE.write_ndjson}[ending](path)
    read = Transcripts.of(path)
    assert rows(read) == rows(Transcripts.of(TABLE))
    assert rows(read)[3] == ("008", "noise:2", "b", None)  # it failed
    assert read.where == str(path)
    assert "failure" not in read.names
    whole = Scores.of(path, texts=True)
    assert whole.frame.select(KEYS).rows() == rows(read)
    assert whole.folder == tmp_path


def test_rows_are_chosen_as_everywhere_else() -> None:
    assert rows(Transcripts.of(TABLE, recognizer="b"), "text") == [(None,), ("three",)]
    assert rows(Transcripts.of(TABLE, corpus=["x"]), "text") == [("one",), ("on",)]
    older = Transcripts.of(TABLE, where=["age>=18"])
    assert rows(older, "utterance") == [("007",), ("007",)]
    assert older.notes == ("2 of 5 rows chosen: age>=18",)
    for chosen in ({"recognizer": "b"}, {"corpus": "x"}, {"where": ["age>=18"]}, {"scenario": "noise:2"}):
        kept = Scores.of(TABLE, texts=True, **chosen).frame
        if "scenario" not in chosen:
            assert kept.select(KEYS).rows() == rows(Transcripts.of(TABLE, **chosen))
        else:
            assert set(kept["scenario"]) == {"noise:2"}


def test_clean_speech_stays_beside_chosen_scenarios() -> None:
    more = pl.concat([TABLE, TABLE.with_columns(scenario=pl.col("scenario").replace("noise:2", "hp:1"))])
    assert set(Transcripts.of(more, scenario="hp:1").collect("scenario")["scenario"]) == {"clean", "hp:1"}


def test_columns_are_renamed_before_anything_is_asked_of_them() -> None:
    theirs = TABLE.rename({"text": "heard", "speaker": "who", "recognizer": "asr"})
    read = Transcripts.of(theirs, columns={"text": "heard", "speaker": "who"}, recognizer="a")
    assert rows(read, "speaker", "text") == [("s1", "one"), ("s1", "on"), ("s2", "two")]
    assert Scores.of(theirs, texts=True, columns={"text": "heard"}).frame["text"].null_count() == 0


def test_a_published_table_may_be_asked_by_its_own_names() -> None:
    theirs = TABLE.rename({"recognizer": "asr"}).with_columns(locale=pl.lit("en-US"))
    assert Scores.of(theirs, texts=True).column("locale") == "language"
    assert Scores.of(theirs, texts=True, columns={"language": "locale"}).frame[
        "language"
    ].unique().to_list() == ["en-US"]


def test_scenarios_come_in_pieces_and_add_up(monkeypatch) -> None:
    read = Transcripts.of(TABLE)
    counts = dict(
        read.kinds().group_by("scenario", maintain_order=True).agg(pl.col("rows").sum()).iter_rows()
    )
    assert counts == {"clean": 3, "noise:2": 2}
    [(names, whole)] = read.batches(counts)
    assert (names, whole.height, whole.columns) == (("clean", "noise:2"), 5, list(KEYS))
    monkeypatch.setattr("voxaudit.audits.scores.ROWS_AT_A_TIME", 4)
    pieces = list(read.batches(counts))
    assert [(names, part.height) for names, part in pieces] == [(("clean",), 3), (("noise:2",), 2)]


def test_what_is_known_of_utterances() -> None:
    about = Transcripts.of(TABLE).utterances(group="age", reference="reference")
    assert about.rows() == [("007", "30", None), ("008", "17", None), ("009", None, None)]


def make_run(folder) -> None:
    known = {"id": ["007", "008"], "speaker": ["s1", "s2"], "text": ["one", None], "reference": ["r", "s"]}
    whole(pl.DataFrame({**known, "words": ["few", "many"]})).write_parquet(folder / "corpus.parquet")
    TABLE.select(*KEYS, "failure", seconds=pl.lit(0.1)).write_parquet(folder / "transcripts.parquet")
    counts = {"utterance": ["007"], "scenario": ["clean"], "recognizer": ["a"], "words": [1]}
    pl.DataFrame(counts).write_parquet(folder / "scores.parquet")
    config = (
        '{"format": 1, "corpus": {}, "recognizers": {"a": {}, "b": {}}, "scenarios": ["clean"], "seed": 1}'
    )
    (folder / "run.json").write_text(config)


def test_a_run_knows_its_speakers_and_attributes_that_are_called_like_columns_of_ours(tmp_path) -> None:
    make_run(tmp_path)
    read = Transcripts.of(tmp_path)
    assert rows(read, "utterance", "speaker", "reference")[2:] == [
        ("008", "s2", None),
        ("008", "s2", None),
        ("009", None, None),
    ]
    assert (read.column("words"), read.column("reference")) == ("attribute_words", "attribute_reference")
    assert read.collect("attribute_reference")["attribute_reference"].to_list()[:2] == ["r", "r"]
    with pytest.raises(VoxauditError, match="Did you mean: words"):
        read.column("word")


def test_scores_of_a_run_lead_to_its_texts_unless_rows_were_chosen(tmp_path) -> None:
    make_run(tmp_path)
    scores = Scores.of(tmp_path)
    assert Transcripts.of(scores).collect("text").height == 5
    chosen = Scores(scores.frame.head(0), scores.where, scores.run, scores.folder)
    with pytest.raises(VoxauditError, match="counts of errors, and texts are needed"):
        Transcripts.of(chosen)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"recognizer": "c"}, "no recognizer 'c'. There: a, b"),
        ({"scenario": "noise:3"}, "Did you mean: noise:2"),
        ({"language": "en"}, "no column 'language', so nothing can be chosen by it"),
        ({"where": ["accent=us"]}, "no column 'accent' to choose by"),
        ({"where": ["age>=99"]}, "none of 5 rows meets: age>=99"),
        ({"columns": {"text": "heard"}}, "no column 'heard'"),
    ],
)
def test_what_is_not_there_is_said_in_one_line(options, message) -> None:
    with pytest.raises(VoxauditError) as caught:
        Transcripts.of(TABLE, **options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_bad_files(tmp_path) -> None:
    (tmp_path / "t.parquet").write_text("nonsense")
    for bad, message in (
        (tmp_path / "t.parquet", "cannot read this table"),
        (tmp_path / "lost.parquet", "no such file"),
        (tmp_path, "neither a run's folder nor a table"),
        (TABLE.drop("text"), "no column 'text'"),
        (TABLE.with_columns(scenario=pl.lit(None, pl.String)), "row 1: column scenario is empty"),
    ):
        with pytest.raises(VoxauditError, match=message):
            Scores.of(bad, texts=True)


def test_several_sources_are_told_apart_by_their_draws(tmp_path):
    one = pl.DataFrame({"recognizer": ["a"], "words": [10], "errors": [1]})
    one.write_csv(tmp_path / "one.csv")
    both = Scores.of([tmp_path / "one.csv", one.with_columns(seed=7), one.with_columns(draw=pl.lit("x"))])
    assert both.frame["draw"].to_list() == ["table 1", "7", "x"]
    assert both.frame["source"].to_list() == [str(tmp_path / "one.csv"), "table", "table"]
    assert both.attributes == []
    assert both.runs == ()
    with pytest.raises(VoxauditError, match="given twice"):
        Scores.of([tmp_path / "one.csv", tmp_path / "one.csv"])
    with pytest.raises(VoxauditError, match="do not fit together"):
        Scores.of([one, one.with_columns(words=pl.lit([1]))])


def test_columns_are_renamed_in_each_of_several_sources():
    one = pl.DataFrame({"asr_name": ["a"], "words": [10]})
    both = Scores.of([one, one], columns={"recognizer": "asr_name"})
    assert both.frame["recognizer"].to_list() == ["a", "a"]


def test_recognizers_and_scenarios_that_are_numbers_are_names() -> None:
    table = pl.DataFrame(
        {"recognizer": [1, 2], "scenario": [True, True], "words": [10, 20], "errors": [1, 4]}
    )
    read = Scores.of(table, recognizer="2")
    assert (read.recognizers, read.scenarios) == (["2"], ["true"])
    assert read.frame.filter(pl.col("recognizer") == "2")["words"].to_list() == [20]
    with pytest.raises(VoxauditError, match="column 'recognizer' holds List"):
        Scores.of(table.with_columns(pl.concat_list("recognizer")))


def test_counts_beyond_all_speech_are_none() -> None:
    table = pl.DataFrame({"recognizer": ["a", "a"], "words": [10, 2**62]})
    with pytest.raises(VoxauditError, match=r"row 2, column 'words': 4.61169e\+18 is not a count"):
        Scores.of(table).counts("words")
