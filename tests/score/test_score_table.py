from __future__ import annotations

import polars as pl
import pytest

from voxaudit.errors import VoxauditError
from voxaudit.score import total
from voxaudit.score.counts import Counts
from voxaudit.score.table import (
    FAILED,
    NO_REFERENCE,
    NO_TRANSCRIPT,
    NOT_IN_CORPUS,
    SCORE_COLUMNS,
    score_columns,
    score_schema,
    score_transcripts,
)


def corpus(**more: list[str | None]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "id": ["a", "b", "c", "d"],
            "audio": ["a.wav", "b.wav", "c.wav", "d.wav"],
            "speaker": ["s1", "s2", None, "s1"],
            "text": ["Hello, world!", None, "...", ""],
            "start": [0.0] * 4,
            "duration": [None, 1.0, 1.0, 1.0],
            "accent": ["x", "y", "x", None],
            **more,
        }
    )


def transcripts(*rows: tuple[str, str | None, str | None]) -> pl.DataFrame:
    return pl.DataFrame(
        [(utterance, "clean", "r", text, 0.5, failure) for utterance, text, failure in rows],
        schema={
            "utterance": pl.String,
            "scenario": pl.String,
            "recognizer": pl.String,
            "text": pl.String,
            "seconds": pl.Float64,
            "failure": pl.String,
        },
        orient="row",
    )


def test_one_row_a_trial_in_the_order_of_the_transcripts() -> None:
    result = score_transcripts(
        transcripts(("c", "uh huh", None), ("a", "hello word", ""), ("d", "", None)), corpus()
    )
    assert result.scores.columns == [*SCORE_COLUMNS, "accent"]
    assert result.scores.rows() == [
        ("c", None, "clean", "r", 0, 0, 0, 2, 0, 0, 6, "x"),
        ("a", "s1", "clean", "r", 1, 1, 0, 0, 2, 11, 1, "x"),
        ("d", "s1", "clean", "r", 0, 0, 0, 0, 0, 0, 0, None),
    ]
    assert (result.normalizer, result.wordless, result.unscored) == ("basic@1", 2, {})


def test_what_cannot_be_scored_is_counted_by_reason() -> None:
    table = transcripts(
        ("a", "hello", "timed out"),
        ("a", None, "crashed"),
        ("b", "hi", None),
        ("zz", "hi", None),
        ("a", None, None),
        ("a", "hello world", None),
    )
    result = score_transcripts(table, corpus())
    assert result.unscored == {FAILED: 2, NO_REFERENCE: 1, NOT_IN_CORPUS: 1, NO_TRANSCRIPT: 1}
    assert result.scores["hits"].to_list() == [2]


def test_the_normalizer_is_the_one_asked_for() -> None:
    table = transcripts(("a", "hello world", None))
    assert score_transcripts(table, corpus(), "none").scores["hits"].to_list() == [0]
    assert score_transcripts(table, corpus(), "none").normalizer == "none@1"


def test_attributes_cannot_hide_columns() -> None:
    values = ["1", "2", "3", "4"]
    more = corpus(
        words=values, attribute_words=values, scenario=values, failure=values, row=values, reference=values
    )
    result = score_transcripts(transcripts(("a", "hello world", None)), more)
    assert result.scores.columns[len(SCORE_COLUMNS) :] == [
        "accent",
        "attribute_attribute_words",
        "attribute_words",
        "attribute_scenario",
        "failure",
        "row",
        "reference",
    ]
    assert result.scores["words"].to_list() == [2]
    assert result.scores["attribute_scenario"].to_list() == ["1"]


@pytest.mark.parametrize("rows", [[("a", "hello", None)], []])
def test_the_schema_is_known_beforehand(rows: list[tuple[str, str | None, str | None]]) -> None:
    table = corpus(words=["1", "2", "3", "4"])
    assert score_transcripts(transcripts(*rows), table).scores.schema == score_schema(table)


def test_pieces_score_as_the_whole() -> None:
    table = transcripts(*[("acd"[index % 3], f"hello {'world ' * (index % 4)}", None) for index in range(50)])
    whole = score_transcripts(table, corpus()).scores
    pieces = [score_transcripts(part, corpus()).scores for part in table.iter_slices(7)]
    assert pl.concat(pieces).equals(whole)
    assert total(whole) == sum(map(total, pieces), Counts.zero())


def test_columns_of_raw_text() -> None:
    table = score_columns(pl.Series(["A b.", "c"]), pl.Series(["a", "C d"]))
    assert table.rows() == [(1, 0, 1, 0, 2, 3, 2), (1, 0, 0, 1, 1, 1, 2)]


def test_ids_of_the_corpus_must_be_unique() -> None:
    table = pl.concat([corpus(), corpus().head(1)])
    with pytest.raises(VoxauditError, match="the id 'a' names several utterances"):
        score_transcripts(transcripts(("a", "x", None)), table)


def test_a_missing_column_is_named() -> None:
    with pytest.raises(VoxauditError, match="transcripts: no column 'failure'"):
        score_transcripts(transcripts().drop("failure"), corpus())
