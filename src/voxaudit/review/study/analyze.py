"""From the answers of a study to what they say: attention first, then the analysis of its kind."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from voxaudit.errors import VoxauditError, one_line
from voxaudit.review.study.answers import open_answers
from voxaudit.review.study.ratings import RATINGS, Comprehensibility, analyze_ratings
from voxaudit.review.study.realism import Judgement, Realism, analyze_judgements, weight_of
from voxaudit.review.study.study import Item, Study, is_answer
from voxaudit.tables import write_atomically

ATTENTIVE_HIGH = 8
ATTENTIVE_LOW = 3
FORGIVEN = 1
"""Attention checks that somebody may fail: one slip is human."""


@dataclass(frozen=True)
class Analysis:
    """What a study found, and who was left out for failing more than one attention check."""

    result: Comprehensibility | Realism
    finished: int
    """Participants who answered everything."""
    started: int
    inattentive: tuple[str, ...]
    ratings: pl.DataFrame | None
    """The ratings that count, as the differential audit reads them (`ratings`); None for other kinds of study."""

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "started": self.started,
            "finished": self.finished,
            "inattentive": list(self.inattentive),
            **self.result.to_dict(),
        }


def analyze_study(study: Study, *, keep_inattentive: bool = False, exclude: Iterable[str] = ()) -> Analysis:
    """Return the analysis of all answers so far; a study can be looked at while it runs."""
    items = {item.id: item for item in study.items}
    with open_answers(study.folder) as store:
        rows = [(who, items[item], answer) for who, item, answer in store.all() if item in items]
    if not rows:
        raise VoxauditError(
            f"{study.folder}: nobody has answered yet. `voxaudit study serve` shows the links"
        )
    for who, item, answer in rows:
        if not is_answer(study.kind, answer):
            raise VoxauditError(
                f"{study.folder}: answers.sqlite: the answer of {one_line(who, 40)} to item"
                f" {one_line(item.id, 40)} is none that this study takes"
            )
    failed: dict[str, int] = {}
    answered: dict[str, int] = {}
    for who, item, answer in rows:
        answered[who] = answered.get(who, 0) + 1
        failed[who] = failed.get(who, 0) + (not attentive(item, answer))
    inattentive = tuple(sorted(who for who, count in failed.items() if count > FORGIVEN))
    left = set() if keep_inattentive else set(inattentive)
    kept = [(who, item, answer) for who, item, answer in rows if who not in left and not item.check]
    if not kept:
        raise VoxauditError(
            f"{study.folder}: no answer is left without those who failed the attention checks"
        )
    asked = study.each + len(study.checks)
    ratings = _ratings(study, kept) if study.kind == "comprehensibility" else None
    result = _realism(kept) if ratings is None else analyze_ratings(ratings, exclude)
    finished = sum(count >= asked for count in answered.values())
    return Analysis(result, finished, len(answered), inattentive, ratings)


def attentive(item: Item, answer: dict[str, Any]) -> bool:
    """Say whether an answer is what somebody who listens gives; every answer to a question proper is."""
    if item.check == "high":
        return bool(answer["rating"] >= ATTENTIVE_HIGH)
    if item.check == "low":
        return bool(answer["rating"] <= ATTENTIVE_LOW)
    return item.check != "real" or answer["choice"] == item.real


def write_ratings(ratings: pl.DataFrame, path: str | Path) -> None:
    """Write ratings as CSV for the differential audit."""
    write_atomically(Path(path), ratings.write_csv)


def _ratings(study: Study, kept: list[tuple[str, Item, dict[str, Any]]]) -> pl.DataFrame:
    place = {item.id: number for number, item in enumerate(study.items)}
    ordered = sorted(kept, key=lambda row: (place[row[1].id], row[0]))
    rows = [(item.perturbation, item.setting, who, float(answer["rating"])) for who, item, answer in ordered]
    return pl.DataFrame(
        rows,
        schema=dict(zip(RATINGS, (pl.String, pl.String, pl.String, pl.Float64), strict=True)),
        orient="row",
    )


def _realism(kept: list[tuple[str, Item, dict[str, Any]]]) -> Realism:
    return analyze_judgements(
        [
            Judgement(
                item.utterance,
                who,
                answer["choice"],
                answer["choice"] == item.real,
                weight_of(answer["confidence"]),
            )
            for who, item, answer in kept
        ]
    )
