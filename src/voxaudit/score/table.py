"""The `scores` table: transcripts and references in, one row of counts per trial out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voxaudit.corpus.base import COLUMNS as CORPUS_COLUMNS
from voxaudit.errors import VoxauditError, one_line
from voxaudit.score.align import COUNT_COLUMNS, character_errors, word_counts
from voxaudit.score.counts import Counts
from voxaudit.score.normalize import Normalizer, normalize_column
from voxaudit.score.normalize import normalizer as find_normalizer
from voxaudit.tables import require_columns

TRIAL_COLUMNS = ("utterance", "speaker", "scenario", "recognizer")
SCORE_COLUMNS = (*TRIAL_COLUMNS, *COUNT_COLUMNS, "words", "characters", "character_errors")
"""The columns of a `scores` table that have a meaning; all others are attributes of the utterances."""

ATTRIBUTE_PREFIX = "attribute_"
"""Put before the name of an attribute that would otherwise hide a column of ours (`attribute_words`)."""

FAILED = "the recognizer failed"
NO_TRANSCRIPT = "there is no transcript"
NO_REFERENCE = "the utterance has no reference text"
NOT_IN_CORPUS = "the utterance is not in the corpus"


@dataclass(frozen=True)
class Scored:
    """A `scores` table, and what is not in it.

    `unscored` says how many trials were left out and why; `wordless` how many of those scored have a reference
    without a word (silence, or nothing but marks): everything heard there is an insertion.
    """

    scores: pl.DataFrame
    normalizer: str
    unscored: Mapping[str, int]
    wordless: int


def score_transcripts(
    transcripts: pl.DataFrame,
    corpus: pl.DataFrame,
    normalizer: str | Normalizer = "basic",
    *,
    silent: Collection[str] = (),
) -> Scored:
    """Score transcripts against the references of a corpus table. Rows keep their order.

    `transcripts` has the columns utterance, scenario, recognizer, text and failure; `corpus` has id, speaker and
    text, and attributes. A null reference is no reference and is not scored; an empty one is scored.
    A table of any length can be scored in pieces: rows do not depend on each other. In `silent` scenarios nothing is
    said, whatever the reference: every word heard there is an insertion.
    """
    rule = find_normalizer(normalizer)
    require_columns(transcripts, ("utterance", "scenario", "recognizer", "text", "failure"), "transcripts")
    require_columns(corpus, ("id", "speaker", "text"), "corpus")
    if corpus["id"].n_unique() < corpus.height:
        twice = corpus.filter(pl.col("id").is_duplicated())["id"][0]
        raise VoxauditError(
            f"corpus: the id '{one_line(str(twice), 80)}' names several utterances; ids must be unique"
        )
    rows = pl.DataFrame({"utterance": corpus["id"].cast(pl.String)}).with_row_index("row")
    key = transcripts.select(pl.col("utterance").cast(pl.String))
    row = key.join(rows, on="utterance", how="left", maintain_order="left")["row"]
    texts = transcripts.select(
        pl.col("failure").cast(pl.String).fill_null(""),
        pl.col("text").cast(pl.String),
        reference=pl.when(pl.col("scenario").cast(pl.String).is_in(list(silent)) & row.is_not_null())
        .then(pl.lit(""))
        .otherwise(corpus["text"].cast(pl.String).gather(row)),
        row=row,
    )
    reason = (
        pl.when(pl.col("failure") != "")
        .then(pl.lit(FAILED))
        .when(pl.col("row").is_null())
        .then(pl.lit(NOT_IN_CORPUS))
        .when(pl.col("reference").is_null())
        .then(pl.lit(NO_REFERENCE))
        .when(pl.col("text").is_null())
        .then(pl.lit(NO_TRANSCRIPT))
    )
    reasons = texts.select(reason.alias("reason"))["reason"]
    scored = reasons.is_null()
    texts, about = texts.filter(scored), corpus[texts["row"].filter(scored)]
    names = attribute_names(corpus.columns)
    parts = [
        transcripts.select(pl.col("utterance", "scenario", "recognizer").cast(pl.String)).filter(scored),
        about.select("speaker"),
        score_columns(texts["reference"], texts["text"], rule),
    ]
    counts = pl.concat(parts, how="horizontal").select(SCORE_COLUMNS)
    attributes = about.select(pl.col(column).alias(name) for column, name in names.items())
    table = pl.concat([counts, attributes], how="horizontal") if names else counts
    left_out = reasons.drop_nulls().value_counts(sort=True)
    return Scored(table, rule.id, dict(left_out.iter_rows()), int((table["words"] == 0).sum()))


def score_columns(
    references: pl.Series, hypotheses: pl.Series, normalizer: str | Normalizer = "basic"
) -> pl.DataFrame:
    """Return the counts of two columns of raw text, row by row: the numeric columns of `SCORE_COLUMNS`.

    All are counted on the normalized text. `words` and `characters` are the reference's.
    """
    rule = find_normalizer(normalizer)
    pairs = pl.DataFrame({"said": references, "heard": hypotheses})
    parts = [
        count_columns(*(normalize_column(part[name], rule) for name in part.columns))
        for part in pairs.iter_slices(_ROWS)
    ]
    return pl.concat(parts) if parts else count_columns(references, hypotheses)


_ROWS = 65_536
"""Pairs normalized and counted at a time: bounds memory."""


def count_errors(
    said: Sequence[str | None], heard: Sequence[str | None], normalizer: str | Normalizer = "basic"
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the wrong words and the words of each trial; 0 and 0 where nothing could be heard (None).

    >>> count_errors(["one two", "three"], ["one", None])
    (array([1., 0.]), array([2., 0.]))
    """
    texts = pl.DataFrame({"said": said, "heard": heard}, schema={"said": pl.String, "heard": pl.String})
    counts = score_columns(texts["said"].fill_null(""), texts["heard"].fill_null(""), normalizer)
    wrong = counts["substitutions"] + counts["deletions"] + counts["insertions"]
    answered = texts["heard"].is_not_null().to_numpy()
    return wrong.to_numpy() * answered.astype(np.float64), counts["words"].to_numpy() * answered.astype(
        np.float64
    )


def count_columns(said: pl.Series, heard: pl.Series) -> pl.DataFrame:
    """Return the counts of two columns of text that is normalized already."""
    texts = said.to_list(), heard.to_list()
    characters, errors = character_errors(*texts, normalized=True)
    return word_counts(*texts).with_columns(
        (pl.col("hits") + pl.col("substitutions") + pl.col("deletions")).alias("words"),
        pl.Series("characters", characters),
        pl.Series("character_errors", errors),
    )


def score_schema(corpus: pl.DataFrame) -> dict[str, pl.DataType]:
    """Return the names and types of the `scores` table that belongs to a corpus table."""
    schema: dict[str, pl.DataType] = {}
    for name in SCORE_COLUMNS:
        schema[name] = pl.String() if name in TRIAL_COLUMNS else pl.Int64()
    schema["speaker"] = corpus.schema["speaker"]
    return schema | {name: corpus.schema[column] for column, name in attribute_names(corpus.columns).items()}


def attribute_names(columns: Sequence[str]) -> dict[str, str]:
    """Return the attributes among a corpus table's columns and what they are called in a `scores` table."""
    names: dict[str, str] = {}
    for column in columns:
        if column in CORPUS_COLUMNS:
            continue
        name = column
        while name in SCORE_COLUMNS or name in names.values() or (name != column and name in columns):
            name = ATTRIBUTE_PREFIX + name
        names[column] = name
    return names


def total(scores: pl.DataFrame) -> Counts:
    """Return the word counts of a whole `scores` table."""
    hits, substitutions, deletions, insertions = scores.select(pl.col(*COUNT_COLUMNS).sum()).row(0)
    return Counts(hits, substitutions, deletions, insertions)
