"""Where the rounds get their counts: recognizers that listen now, or a run that has heard everything already."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import polars as pl

from voxaudit.audits.scores import Scores
from voxaudit.audits.sequential.order import Cell, Order
from voxaudit.audits.sequential.rounds import Hear
from voxaudit.corpus import Corpus, Utterance
from voxaudit.errors import VoxauditError
from voxaudit.registry import suggest
from voxaudit.run.session import Session
from voxaudit.run.trial import Outcome
from voxaudit.score.normalize import Normalizer
from voxaudit.score.table import score_columns
from voxaudit.stats.anytime import FloatArray


def utterances_of(corpus: Corpus, rule: Normalizer, attribute: str | None) -> pl.DataFrame:
    """Return id, speaker, words of the reference, and the attribute's group, of utterances that have a reference."""
    if attribute is not None and attribute not in corpus.attributes:
        raise VoxauditError(
            f"{corpus.source or corpus.name}: no attribute '{attribute}'.{suggest(attribute, corpus.attributes)}"
            f" Attributes there: {', '.join(corpus.attributes) or 'none'}",
            see=("attribute",),
        )
    table = corpus.table.filter(pl.col("text").is_not_null())
    words = score_columns(table["text"], table["text"], rule)["words"]
    group = [] if attribute is None else [pl.col(attribute).alias("group")]
    return table.select("id", "speaker", *group).with_columns(words.alias("words"))


def counts_of(scores: Scores, attribute: str | None) -> pl.DataFrame:
    """Return recognizer, scenario, utterance, speaker, errors, words, and the attribute's group, of scored trials."""
    scores.require("utterance", "speaker", "scenario", "recognizer", "words")
    group = [] if attribute is None else [pl.col(scores.column(attribute)).alias("group")]
    names = pl.col("recognizer", "scenario", "utterance", "speaker").cast(pl.String)
    counts = {"errors": pl.Series(scores.errors()), "words": pl.Series(scores.counts("words"))}
    frame = scores.frame.select(names, *group).with_columns(**counts)
    return frame.filter(pl.col("words").is_not_nan() & pl.col("errors").is_not_nan())


def cells_of(counts: pl.DataFrame) -> list[Cell]:
    """Return the cells that have words."""
    some = counts.group_by("recognizer", "scenario", maintain_order=True).agg(pl.col("words").sum())
    return [Cell(name, scenario) for name, scenario, words in some.iter_rows() if words > 0]


def listening(
    session: Session,
    cells: Sequence[Cell],
    order: Order,
    utterances: Mapping[str, Utterance],
    rule: Normalizer,
    said: Callable[[str, Sequence[Outcome]], None],
) -> Hear:
    """Return how to hear speakers in a session; `said` is told what each recognizer answered.

    A round is one batch a recognizer, so that its workers stay busy.
    """

    def hear(wanted: Sequence[tuple[int, int]]) -> tuple[FloatArray, FloatArray]:
        errors, words, answered = np.zeros((3, len(wanted)))
        for name in dict.fromkeys(cells[cell].recognizer for cell, _ in wanted):
            asked = [
                (place, utterances[id_], cells[cell].scenario)
                for place, (cell, speaker) in enumerate(wanted)
                if cells[cell].recognizer == name
                for id_ in order.utterances[speaker]
            ]
            outcomes = session.hear([(utterance, scenario) for _, utterance, scenario in asked], [name])[name]
            said(name, outcomes)
            good = [
                (place, utterance.text or "", outcome.transcript.text)
                for (place, utterance, _), outcome in zip(asked, outcomes, strict=True)
                if outcome.transcript is not None
            ]
            if not good:
                continue
            at = np.array([place for place, _, _ in good])
            texts = pl.DataFrame(good, schema=["place", "said", "heard"], orient="row")
            counts = score_columns(texts["said"], texts["heard"], rule)
            wrong = counts["substitutions"] + counts["deletions"] + counts["insertions"]
            np.add.at(errors, at, wrong.to_numpy())
            np.add.at(words, at, counts["words"].to_numpy())
            np.add.at(answered, at, 1.0)
        return _expand(errors, words, answered, wanted, order)

    return hear


def replaying(counts: pl.DataFrame, cells: Sequence[Cell], order: Order) -> Hear:
    """Return how to take speakers from the counts of a finished run as if they were heard now."""
    cell_of = {(cell.recognizer, cell.scenario): place for place, cell in enumerate(cells)}
    speaker_of = {id_: place for place, ids in enumerate(order.utterances) for id_ in ids}
    sums = np.zeros((3, len(cells), len(order.speakers)))
    rows = counts.select("recognizer", "scenario", "utterance", "errors", "words")
    for recognizer, scenario, utterance, errors, words in rows.iter_rows():
        cell, speaker = cell_of.get((recognizer, scenario)), speaker_of.get(utterance)
        if cell is not None and speaker is not None:
            sums[:, cell, speaker] += errors, words, 1.0

    def hear(wanted: Sequence[tuple[int, int]]) -> tuple[FloatArray, FloatArray]:
        at = tuple(np.array(wanted).T)
        errors, words, answered = sums[:, at[0], at[1]]
        return _expand(errors, words, answered, wanted, order)

    return hear


def _expand(
    errors: FloatArray,
    words: FloatArray,
    answered: FloatArray,
    wanted: Sequence[tuple[int, int]],
    order: Order,
) -> tuple[FloatArray, FloatArray]:
    """Return the counts of some of a speaker's utterances as if all had been heard: the target stays the same."""
    said = np.array([order.said[speaker] for _, speaker in wanted], dtype=np.float64)
    share = said / np.maximum(answered, 1.0)
    return errors * share, words * share
