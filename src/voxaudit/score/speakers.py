"""Errors and words of whole speakers: heard now, or taken from a run that has heard everything already."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voxaudit.corpus import Utterance
from voxaudit.run.order import Hear, Order
from voxaudit.run.session import Session
from voxaudit.run.trial import Outcome
from voxaudit.score.normalize import Normalizer
from voxaudit.score.table import count_errors

FloatArray = NDArray[np.float64]
Cell = tuple[str, str]
"""A recognizer, and the scenario under which it hears."""


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
        for name in dict.fromkeys(cells[cell][0] for cell, _ in wanted):
            asked = [
                (place, utterances[id_], cells[cell][1])
                for place, (cell, speaker) in enumerate(wanted)
                if cells[cell][0] == name
                for id_ in order.utterances[speaker]
            ]
            outcomes = session.hear([(utterance, scenario) for _, utterance, scenario in asked], [name])[name]
            said(name, outcomes)
            at = np.array([place for place, _, _ in asked])
            heard = [outcome.text for outcome in outcomes]
            wrong, spoken = count_errors([utterance.text for _, utterance, _ in asked], heard, rule)
            np.add.at(errors, at, wrong)
            np.add.at(words, at, spoken)
            np.add.at(answered, at, np.array([text is not None for text in heard], dtype=np.float64))
        return _expand(errors, words, answered, wanted, order)

    return hear


def replaying(counts: pl.DataFrame, cells: Sequence[Cell], order: Order) -> Hear:
    """Return how to take speakers from the counts of a finished run as if they were heard now."""
    cell_of = {cell: place for place, cell in enumerate(cells)}
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
