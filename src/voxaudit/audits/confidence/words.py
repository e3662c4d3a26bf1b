"""Which words are right, and how sure of each a recognizer said it was."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache

import numpy as np
import polars as pl

from voxaudit.answer import Note, refuse
from voxaudit.audits.scores import Scores
from voxaudit.errors import VoxauditError
from voxaudit.score.align import align_words, word_counts
from voxaudit.score.normalize import Normalizer, normalize_column
from voxaudit.score.run import silent_scenarios
from voxaudit.stats.cells import FloatArray, IntArray


def judged_words(
    read: Scores, rule: Normalizer, attributes: Sequence[str]
) -> tuple[pl.DataFrame, list[Note]]:
    """Return right and wrong words by confidence, a row for each word, or for each answer with one confidence."""
    frame, notes = read.require("text", "reference").frame, list[Note]()
    if not {"confidence", "word_times"} & set(frame.columns):
        text = "there are no confidences: neither `confidence` nor `word_times`"
        raise refuse("not_measured", text, about=read.where, remedy="name their column", see=("columns",))
    silent = silent_scenarios(frame["scenario"].unique().to_list())
    frame = frame.with_columns(
        speaker=pl.col("speaker") if "speaker" in frame.columns else pl.lit(None, pl.String),
        **{f"@{name}": pl.col(read.column(name)).cast(pl.String) for name in attributes},
        reference=pl.when(pl.col("scenario").is_in(silent)).then(pl.lit("")).otherwise("reference"),
        sure=pl.Series(
            read.numbers("confidence") if "confidence" in frame.columns else np.full(frame.height, np.nan)
        ),
    )
    frame = frame.filter(pl.col("text").is_not_null() & pl.col("reference").is_not_null())
    said, heard = (normalize_column(frame[name], rule) for name in ("reference", "text"))
    places, sizes, sures, flags = _by_word(read, frame, said.to_list(), rule)
    alone = np.setdiff1d(np.flatnonzero(~np.isnan(frame["sure"].to_numpy())), places)
    counts = word_counts(said[alone], heard[alone])
    right, wrong = counts["hits"].to_numpy(), (counts["substitutions"] + counts["insertions"]).to_numpy()
    kept = ["recognizer", "scenario", "utterance", "speaker", *(f"@{name}" for name in attributes)]
    rows = frame.select(kept)[np.concatenate([np.repeat(places, sizes), alone])].with_columns(
        sure=pl.Series(np.concatenate([sures, frame["sure"].to_numpy()[alone]])),
        right=pl.Series(np.concatenate([flags, right])),
        wrong=pl.Series(np.concatenate([1.0 - flags, wrong])),
    )
    rows = rows.filter(pl.col("right") + pl.col("wrong") > 0.0)
    heard_of = set(rows["recognizer"].unique())
    silent_ones = [name for name in read.recognizers if name not in heard_of]
    odd = rows.filter((pl.col("sure") < 0.0) | (pl.col("sure") > 1.0))["recognizer"].unique().to_list()
    for names, code, text in (
        (silent_ones, "no_confidence", "without confidences"),
        (odd, "no_probabilities", "left out: its confidences do not lie between 0 and 1"),
    ):
        notes += [Note(code, f"{name}: {text}", {"recognizer": name}) for name in names]
    rows = rows.filter(~pl.col("recognizer").is_in(odd))
    if rows.is_empty():
        raise refuse(
            "not_measured", "no answer has a confidence", about=read.where, remedy="use engines that tell it"
        )
    return rows, notes


def _by_word(
    read: Scores, frame: pl.DataFrame, said: Sequence[str], rule: Normalizer
) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
    """Return the rows whose words have confidences, and how many; then of every word confidence and rightness."""
    one = cache(lambda word: tuple(rule(word).split()))
    places, sizes, sures, flags = list[int](), list[int](), list[float](), list[bool]()
    for row, timed in enumerate(frame["word_times"] if "word_times" in frame.columns else ()):
        if timed is None:
            continue
        try:
            words = [(str(word[0]), float(word[3])) for word in json.loads(timed) if word[3] is not None]
        except (ValueError, TypeError, LookupError, RecursionError) as error:
            text = "word_times is no list of [word, start, end, confidence]"
            raise VoxauditError(f"{read.where}: utterance '{frame['utterance'][row]}': {text}") from error
        tokens = [one(word) for word, _ in words]
        own = _right(said[row], [token for some in tokens for token in some])
        if own:
            places.append(row)
            sizes.append(len(own))
            sures += [sure for (_, sure), some in zip(words, tokens, strict=True) for _ in some]
            flags += own
    return (
        np.array(places, dtype=np.int64),
        np.array(sizes, dtype=np.int64),
        np.array(sures, dtype=np.float64),
        np.array(flags, dtype=np.float64),
    )


def _right(reference: str, tokens: Sequence[str]) -> list[bool]:
    """Say of every word heard whether it was said, by the alignment of the whole."""
    text = " ".join(tokens)
    if text == reference:
        return [True] * len(tokens)
    return [edit.kind == "equal" for edit in align_words(reference, text) for _ in edit.hypothesis]
