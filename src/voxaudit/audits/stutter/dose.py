"""Dose and response: how errors grow with the number of stuttered moments per 100 words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from voxaudit.audits.stutter.cases import NORMALIZER, Recording
from voxaudit.perturb import CLEAN, trial_generator
from voxaudit.perturb.stutter import Clip, StutterError, sample_chain
from voxaudit.run.session import Session
from voxaudit.score.align import word_counts
from voxaudit.score.normalize import normalizer
from voxaudit.stats.rates import rate_intervals


@dataclass(frozen=True)
class DosePoint:
    """The word error rate of one recognizer at one rate; `events` is what was put in per 100 words."""

    recognizer: str
    rate: float
    events: float
    wer: float
    low: float | None
    high: float | None
    words: int
    speakers: int


@dataclass(frozen=True)
class Dose:
    """A dose response: the points by recognizer and rate, and the mixture of kinds that was used."""

    points: tuple[DosePoint, ...]
    mixture: str

    def to_list(self) -> list[dict[str, Any]]:
        """Return the points as plain values."""
        return [{**asdict(point), "mixture": self.mixture} for point in self.points]


def dose_response(
    recordings: Sequence[Recording],
    session: Session,
    doses: Sequence[float],
    mixture: str,
    *,
    seed: int = 0,
    severity: int | None = None,
    clips: Sequence[Clip] = (),
) -> Dose:
    """Hear every recording once at each rate (events per 100 words; 0 is the original) and score it as intended."""
    normalize = normalizer(NORMALIZER)
    rows = []
    for dose in doses:
        asked, events = [], {}
        for recording in recordings:
            generator = trial_generator(seed, f"stutter-dose:{dose:g}:{mixture}", recording.utterance.id)
            try:
                chain = sample_chain(recording.timings, mixture, dose, severity, generator, clips=clips)
            except StutterError:  # no place for any kind of the mixture: said by the search already
                continue
            asked.append((recording.utterance, str(chain) or CLEAN))
            events[recording.utterance.id] = len(chain)
        texts = {recording.utterance.id: normalize(recording.text) for recording in recordings}
        for name, outcomes in session.hear(asked).items():
            rows += [
                (
                    name,
                    dose,
                    utterance.id,
                    utterance.speaker,
                    texts[utterance.id],
                    normalize(t.text),
                    events[utterance.id],
                )
                for (utterance, _), outcome in zip(asked, outcomes, strict=True)
                if (t := outcome.transcript) is not None
            ]
    names = ("recognizer", "rate", "utterance", "speaker", "said", "heard", "events")
    table = pl.DataFrame(rows, schema=list(names), orient="row")
    if table.is_empty():
        return Dose((), mixture)
    counted = pl.concat([table, word_counts(table["said"], table["heard"])], how="horizontal").with_columns(
        errors=pl.sum_horizontal("substitutions", "deletions", "insertions"),
        words=pl.sum_horizontal("hits", "substitutions", "deletions"),
    )
    limits = rate_intervals(counted, ["recognizer", "rate"])
    sums = counted.group_by("recognizer", "rate", maintain_order=True).agg(
        pl.col("errors", "words", "events").sum()
    )
    points = tuple(
        DosePoint(
            row["recognizer"],
            row["rate"],
            100 * row["events"] / row["words"] if row["words"] else 0.0,
            row["errors"] / row["words"] if row["words"] else float("nan"),
            row["ci_low"],
            row["ci_high"],
            row["words"],
            row["speakers"],
        )
        for row in sums.join(limits, on=["recognizer", "rate"], maintain_order="left").iter_rows(named=True)
    )
    return Dose(points, mixture)
