"""From references and hypotheses that people have to the `scores` table that every audit reads."""

from __future__ import annotations

import polars as pl

from voxaudit.corpus.columns import USUAL_NAMES
from voxaudit.score.files import Pairs
from voxaudit.score.normalize import Normalizer
from voxaudit.score.table import SCORE_COLUMNS, attribute_names, score_columns


def scores_of(
    pairs: Pairs, normalizer: str | Normalizer, *, recognizer: str = "recognizer", speaker: str | None = None
) -> pl.DataFrame:
    """Return a `scores` table of pairs: one row each, the files' other columns as attributes.

    `speaker` names their column of speakers, else it is found by its usual names; without one, speakers are unknown.
    Columns `scenario` and `recognizer` of the files are kept; else all is clean speech heard by `recognizer`.
    """
    about = pairs.columns
    usual = {column.lower(): column for column in reversed(about.columns)}
    column = speaker or next((usual[name] for name in USUAL_NAMES["speaker"] if name in usual), None)
    size = len(pairs)
    trial = pl.DataFrame(
        {
            "utterance": pairs.ids.cast(pl.String),
            "speaker": about[column].cast(pl.String) if column else pl.Series([None] * size, dtype=pl.String),
            "scenario": about["scenario"].cast(pl.String)
            if "scenario" in about.columns
            else pl.Series(["clean"] * size, dtype=pl.String),
            "recognizer": about["recognizer"].cast(pl.String)
            if "recognizer" in about.columns
            else pl.Series([recognizer] * size, dtype=pl.String),
        }
    )
    counts = score_columns(pairs.references, pairs.hypotheses, normalizer)
    table = pl.concat([trial, counts], how="horizontal").select(SCORE_COLUMNS)
    rest = [name for name in about.columns if name not in ("scenario", "recognizer", column)]
    names = attribute_names(rest)
    others = about.select(pl.col(name).alias(given) for name, given in names.items())
    return pl.concat([table, others], how="horizontal") if names else table
