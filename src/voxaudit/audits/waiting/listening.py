"""While a recognizer listens: the first text, the last word, words taken back, people cut off, and the errors of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from voxaudit.answer import Finding, Table, finding_id, tabulate
from voxaudit.audits.scores import Scores
from voxaudit.errors import VoxauditError
from voxaudit.recognize.streaming.trace import told
from voxaudit.score.run import normalizer_of
from voxaudit.score.speech_activity import end_of_speech, of_recordings
from voxaudit.score.table import score_columns
from voxaudit.stats.bootstrap import change_interval
from voxaudit.stats.cells import FloatArray, IntArray
from voxaudit.stats.quantiles import quantile_limits
from voxaudit.stats.rates import rate_intervals
from voxaudit.wording import in_points

NAME = "waiting"
STREAMING = "_streaming"
"""What the name of a recognizer that listens ends with where that of its twin does not."""


def traced(read: Scores, vad: bool) -> pl.DataFrame:
    """Return the trials with what their traces tell; null where there is none, or it cannot be told.

    `traces` is 1 for a trial that has one, else 0; `sent_s` are the seconds of its audio, `first_s` those until the
    first text, `final_s` those from the end of the audio (with `vad`, of speech) until the last word was final.
    """
    frame = read.frame
    if "trace" not in frame.columns or frame["trace"].null_count() == frame.height:
        names = ("sent_s", "first_s", "final_s", "taken_back", "final_words", "cuts")
        unknown = {name: pl.lit(None) for name in names}  # of no type, and no size
        return frame.with_columns(pl.lit(0.0).alias("traces"), **unknown)
    traces = frame["trace"].to_list()
    try:
        heard = [None if one is None else told(one) for one in traces]
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise VoxauditError(
            f"{read.where}: a trace is no list of [sent_s, received_s, text, final]"
        ) from error
    ends = of_recordings(read.run, set(frame["utterance"]), end_of_speech) if vad else {}
    last = [
        None if one is None or one.last_s is None else max(one.last_s - ends.get(id_, one.audio_s), 0.0)
        for id_, one in zip(frame["utterance"], heard, strict=True)
    ]
    own: dict[str, list[Any]] = {
        "traces": [int(one is not None) for one in heard],
        "sent_s": [one and one.audio_s for one in heard],
        "first_s": [one and one.first_s for one in heard],
        "final_s": last,
        "taken_back": [one and one.taken_back for one in heard],
        "final_words": [one and one.words for one in heard],
        "cuts": [one and one.cuts for one in heard],
    }
    return frame.with_columns(pl.Series(name, values, pl.Float64) for name, values in own.items())


def speaker_numbers(speaker: FloatArray) -> IntArray | None:
    """Return speakers (`_speaker`) as numbers without gaps, in order; None where one is unknown."""
    if np.isnan(speaker).any():
        return None
    numbers = speaker.astype(np.int64)
    return (np.cumsum(np.bincount(numbers) > 0) - 1)[numbers]


def parts(trials: pl.DataFrame, keys: Sequence[str], *columns: str) -> Iterator[tuple[dict[str, Any], Any]]:
    """Yield every combination of `keys`, with how many trials and speakers it has, and columns of its trials as arrays.

    The first array is `_speaker`, the speakers' numbers.
    """
    lists = trials.group_by(keys, maintain_order=True).agg(pl.col("_speaker").cast(pl.Float64), *columns)
    for row in zip(*lists.get_columns(), strict=True):
        speaker, *values = (one.to_numpy() for one in row[len(keys) :])
        people = np.count_nonzero(np.bincount(speaker[~np.isnan(speaker)].astype(np.int64)))
        yield (
            dict(zip(keys, row, strict=False)) | {"trials": len(speaker), "speakers": people},
            (speaker, *values),
        )


def listened(trials: pl.DataFrame, keys: Sequence[str], confidence: float) -> pl.DataFrame:
    """Return what traces tell for every combination of `keys`."""
    rows = []
    for row, (speaker, *timed) in parts(trials, keys, "first_s", "final_s"):
        for name, seconds in zip(("first", "final"), timed, strict=True):
            there = ~np.isnan(seconds)
            for share in (0.5, 0.95):
                found: tuple[Any, Any, Any] = (None, None, None)
                if there.any():
                    who = speaker_numbers(speaker[there])
                    found = quantile_limits(seconds[there], who, share, confidence)
                key = f"{name}_p{100 * share:.0f}"
                row |= {key: found[0], f"{key}_low": found[1], f"{key}_high": found[2]}
        rows.append(row)
    frame = pl.DataFrame(rows, infer_schema_length=None)
    for name, top, below in (("taken", "taken_back", "final_words"), ("cut", "cuts", "traces")):
        sums = trials.group_by(keys, maintain_order=True).agg(
            **{name: pl.col(top).sum() / pl.col(below).sum()}
        )
        limits = rate_intervals(trials, keys, errors=top, words=below, most=np.inf, confidence=confidence)
        limits = limits.drop("speakers").rename({"ci_low": f"{name}_low", "ci_high": f"{name}_high"})
        frame = frame.join(sums, on=keys, nulls_equal=True, maintain_order="left", how="left")
        frame = frame.join(limits, on=keys, nulls_equal=True, maintain_order="left", how="left")
    return frame


def beside_whole(
    read: Scores, trials: pl.DataFrame, batch: str | None, confidence: float, seed: int
) -> Iterator[Finding]:
    """Set the errors of recognizers that listen beside those of one that hears whole recordings, in the same audio."""
    if not {"reference", "text"} <= set(trials.columns) or not trials["traces"].sum():
        return
    rule = normalizer_of(read.run)
    for name in read.recognizers:
        twin = batch or name.removesuffix(STREAMING)
        both = [
            trials.filter(pl.col("recognizer") == one, pl.col("text").is_not_null()) for one in (name, twin)
        ]
        if twin == name or not (both[0]["traces"].sum() and both[1].height):
            continue
        pairs = both[0].join(
            both[1].select("utterance", "scenario", other="text"), on=["utterance", "scenario"]
        )
        pairs = pairs.filter(pl.col("reference").is_not_null())
        if pairs.is_empty() or pairs["speaker"].null_count():
            continue
        counts = [score_columns(pairs["reference"], pairs[column], rule) for column in ("text", "other")]
        errors = [
            one.select(pl.sum_horizontal("substitutions", "deletions", "insertions")).to_series()
            for one in counts
        ]
        sums = (
            pairs.select(
                "speaker",
                words=counts[0]["words"],
                live=errors[0],
                whole=errors[1],
                change=errors[0] - errors[1],
            )
            .group_by("speaker", maintain_order=True)
            .sum()
        )
        change, words = (sums[column].to_numpy().astype(np.float64) for column in ("change", "words"))
        if not words.sum():
            continue
        low, high = change_interval(change, words, confidence=confidence, seed=seed)
        rates = [100.0 * float(sums[column].sum()) / words.sum() for column in ("live", "whole")]
        shown = low is not None and high is not None and not low <= 0.0 <= high
        estimate = float(change.sum() / words.sum())
        yield Finding(
            finding_id(NAME, name, twin, "streaming_wer_change"),
            "streaming_wer_change",
            "shown" if shown else "not_shown",
            f"{name} makes {rates[0]:.1f} % word errors while listening, {twin} {rates[1]:.1f} % with whole recordings:"
            f" {in_points(estimate, low, high)} apart{'' if shown else ', not shown to differ'}.",
            estimate=estimate,
            low=low,
            high=high,
            level=confidence,
            recognizer=name,
            against=twin,
            speakers=sums.height,
            utterances=pairs.height,
            words=int(words.sum()),
        )


def between(low: float | None, high: float | None) -> str:
    """Return ` (0.10 to no limit)`, to follow a number of seconds; nothing where there are no limits."""
    if low is None and high is None:
        return ""
    ends = ("?" if low is None else f"{low:.2f}", "no limit" if high is None else f"{high:.2f}")
    return f" ({' to '.join(ends)})"


def live_findings(frame: pl.DataFrame, confidence: float) -> Iterator[Finding]:
    """Yield what traces tell of every recognizer."""
    texts = {
        "first_p50": (
            "first_text_seconds",
            "shows the first text {value} seconds after the beginning (median)",
            "seconds",
        ),
        "taken": ("taken_back", "takes back {value} words per final word", "ratio"),
        "cut": ("cut_off", "declares an utterance over {value} times while the speaker goes on", "ratio"),
    }
    for row in frame.iter_rows(named=True):
        for name, (measure, text, unit) in texts.items():
            if row[name] is None:
                continue
            low, high = row[f"{name}_low"], row[f"{name}_high"]
            yield Finding(
                finding_id(NAME, row["recognizer"], measure),
                measure,
                "measured",
                f"{row['recognizer']} {text.format(value=f'{row[name]:.2f}' + between(low, high))}.",
                estimate=row[name],
                low=low,
                high=high,
                level=confidence,
                unit=unit,
                recognizer=row["recognizer"],
                speakers=row["speakers"] or None,
                utterances=row["trials"],
            )


def live_table(id_: str, title: str, frame: pl.DataFrame, keys: Sequence[str]) -> Table:
    """Return the table of what traces tell."""
    shown = {
        "first_p50": "first text, s (median)",
        "first_p95": "p95",
        "final_p50": "last word final after the end, s (median)",
        "final_p95": "its p95",
        "taken": "words taken back per final word",
        "cut": "cut off, per utterance",
    }
    columns = [
        *key_columns(keys),
        *((name, text, "ratio", f"{name}_low", f"{name}_high") for name, text in shown.items()),
    ]
    return tabulate(id_, title, frame, [*columns, "trials", "speakers"])


def key_columns(keys: Sequence[str]) -> list[tuple[str, str]]:
    """Return the columns that say what a row is about."""
    return [(name, name.removeprefix("@")) for name in keys]
