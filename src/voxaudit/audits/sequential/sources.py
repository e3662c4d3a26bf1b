"""Where the rounds get their counts: recognizers that listen now, or a run that has heard everything already."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from voxaudit.audits.sequential.order import Order
from voxaudit.audits.sequential.rounds import Hear
from voxaudit.corpus import Corpus, Utterance
from voxaudit.run.session import Session
from voxaudit.run.trial import Outcome
from voxaudit.score.normalize import Normalizer
from voxaudit.score.table import attribute_names, score_columns
from voxaudit.stats.anytime import FloatArray
from voxaudit.tables import require_columns


@dataclass(frozen=True)
class Cell:
    """A recognizer under a scenario."""

    recognizer: str
    scenario: str


def utterance_table(corpus: Corpus, rule: Normalizer) -> pl.DataFrame:
    """Return id, speaker, words of the reference, and the attributes, of the utterances that have a reference."""
    table = corpus.table.filter(pl.col("text").is_not_null())
    words = score_columns(table["text"], table["text"], rule)["words"]
    about = [pl.col(column).alias(name) for column, name in attribute_names(table.columns).items()]
    return table.select("id", "speaker", *about).with_columns(words.alias("words"))


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


def replaying(scores: pl.DataFrame, cells: Sequence[Cell], order: Order) -> Hear:
    """Return how to take speakers from the `scores` of a finished run as if they were heard now."""
    cell_of = {(cell.recognizer, cell.scenario): place for place, cell in enumerate(cells)}
    speaker_of = {id_: place for place, ids in enumerate(order.utterances) for id_ in ids}
    sums = np.zeros((3, len(cells), len(order.speakers)))
    wrong = pl.col("substitutions") + pl.col("deletions") + pl.col("insertions")
    rows = scores.select("recognizer", "scenario", pl.col("utterance").cast(pl.String), wrong, "words")
    for recognizer, scenario, utterance, errors, words in rows.iter_rows():
        cell, speaker = cell_of.get((recognizer, scenario)), speaker_of.get(utterance)
        if cell is not None and speaker is not None:
            sums[:, cell, speaker] += errors, words, 1.0

    def hear(wanted: Sequence[tuple[int, int]]) -> tuple[FloatArray, FloatArray]:
        at = tuple(np.array(wanted).T)
        errors, words, answered = sums[:, at[0], at[1]]
        return _expand(errors, words, answered, wanted, order)

    return hear


def cells_of(scores: pl.DataFrame, where: str) -> list[Cell]:
    """Return the cells of a `scores` table that have words."""
    counts = ("utterance", "speaker", "scenario", "recognizer", "words")
    require_columns(scores, (*counts, "substitutions", "deletions", "insertions"), where)
    some = scores.group_by("recognizer", "scenario", maintain_order=True).agg(pl.col("words").sum())
    return [Cell(str(name), str(scenario)) for name, scenario, words in some.iter_rows() if words > 0]


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
