"""Scenarios without speech: a recognizer must say nothing, and is judged by the words it makes up."""

from __future__ import annotations

from typing import Any

import polars as pl

from voxaudit.audits.robustness.result import Refusal
from voxaudit.audits.robustness.trials import Trials
from voxaudit.stats.rates import rate_intervals


def inserted_words(trials: Trials, *, confidence: float) -> tuple[pl.DataFrame, list[Refusal]]:
    """Return inserted words a minute of audio, per recognizer and scenario without speech, with intervals."""
    silent = sorted(name for name, setting in trials.settings.items() if not setting.speech)
    by = [*trials.unit, "scenario"]
    refusals = []
    table = trials.table.filter(pl.col("scenario").cast(pl.String).is_in(silent))
    for name in silent:
        rows = table.filter(pl.col("scenario") == name)
        reason = _unfit(rows, trials)
        if reason:
            refusals.append(Refusal(name, reason))
            table = table.filter(pl.col("scenario") != name)
    empty: dict[str, Any] = dict.fromkeys(by, pl.String) | {"utterances": pl.Int64, "speakers": pl.Int64}
    empty |= dict.fromkeys(("words", "minutes", "per_minute", "low", "high"), pl.Float64)
    if table.is_empty():
        return pl.DataFrame(schema=empty), refusals
    table = table.with_columns(
        *(pl.col(name).cast(pl.String) for name in by),
        minutes=pl.col("duration") / 60.0,
        # Nobody is everybody: a speaker without a name gives no interval.
        person=pl.when(~pl.col("person").is_in(list(trials.unnamed))).then(pl.col("person")),
    )
    rates = table.group_by(by).agg(
        utterances=pl.len().cast(pl.Int64), words=pl.col("errors").sum(), minutes=pl.col("minutes").sum()
    )
    limits = rate_intervals(table, by, words="minutes", speaker="person", confidence=confidence)
    rates = rates.with_columns(per_minute=pl.col("words") / pl.col("minutes")).join(limits, on=by)
    rates = rates.rename({"ci_low": "low", "ci_high": "high"}).sort(by)
    return rates.select(pl.col(name).cast(kind) for name, kind in empty.items()), refusals


def _unfit(rows: pl.DataFrame, trials: Trials) -> str:
    if rows["words"].sum() > 0:
        return "nothing is left of what was said, yet it is scored against the reference text; score the run again"
    if not trials.has_duration or rows["duration"].null_count() or not rows["duration"].sum() > 0:
        return "words a minute need a column 'duration' (seconds of audio) without gaps"
    return ""
