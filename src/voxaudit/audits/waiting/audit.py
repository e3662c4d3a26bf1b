"""Waiting: seconds per answer and per second of audio, and what recognizers say while they listen.

Percentiles are those of trials, with limits that take speakers as the sample; groups are compared by their means. A
trial without an answer stays in the sample: it is later than any answer, so that percentiles that fall on one are given
as "at least" the limit, and counts as the limit in means.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Unpack

import numpy as np
import polars as pl

from voxaudit.answer import Answer, Finding, Note, Table, finding_id, number_or_none, refuse, tabulate
from voxaudit.audits.audit import asks
from voxaudit.audits.ratios import Compared, Ratio, compare_groups, group_finding
from voxaudit.audits.scores import Filters, Scores, Source, read_trials
from voxaudit.audits.waiting.listening import (
    NAME,
    beside_whole,
    between,
    key_columns,
    listened,
    live_findings,
    live_table,
    parts,
    speaker_numbers,
    traced,
)
from voxaudit.errors import VoxauditError
from voxaudit.stats.quantiles import quantile, quantile_limits
from voxaudit.wording import counted

SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
LEAD = (
    "How long an answer takes: the median, and what one answer in twenty and one in a hundred exceeds, in seconds and"
    " per second of audio. In brackets: the 95 % interval, speakers being the sample. A trial without an answer is"
    " later than all others."
)
SAID = {
    "seconds_ratio": ("takes {longer} to answer", "long per answer"),
    "speed_ratio": ("takes {longer} per second of audio", "long"),
    "first_text_ratio": ("takes {longer} until the first text", "long"),
    "taken_back_ratio": ("takes {more} words back", "many per final word"),
    "cut_off_ratio": ("cuts people off {more} times", "often"),
}
"""What is said of a comparison by its measure, and the unit of its ratio."""
RATIOS = (
    Ratio("seconds_ratio", "counted_s", "trials", above_least=True),
    Ratio("speed_ratio", "counted_s", "audio_s", above_least=True),
)
LIVE_RATIOS = (
    Ratio("first_text_ratio", "first_s", "first_s_trials", above_least=True),
    Ratio("taken_back_ratio", "taken_back", "final_words", "taken_back"),
    Ratio("cut_off_ratio", "cuts", "traces", "cuts"),
)


@asks(NAME)
def waiting(
    source: Source,
    *,
    attributes: str | Sequence[str] = (),
    give_up: float | None = None,
    whole: str | None = None,
    vad: bool = False,
    confidence: float = 0.95,
    seed: int = 0,
    **filters: Unpack[Filters],
) -> Answer:
    """Return how long answers take, by recognizer, scenario and group, and compare groups.

    The source is a run; a table with utterance, `seconds` or `latency_ms`, and what there is of recognizer, scenario,
    speaker, duration (seconds of audio), failure and attributes; or a trace (`recognize.streaming.trace`). Waiting
    begins with the end of the recording, with `vad` of speech. A failed trial counts as `give_up` seconds at least: by
    default the longest waiting of its recognizer, which is the time limit of a run where a trial reached it. Of
    traces, the first text is timed from the beginning, words that were taken back are counted per final word, and final
    texts after which the speaker went on: there people were cut off. The error rate of a recognizer that listens is set
    beside that of `whole`, which hears whole recordings.

    >>> rows = {"utterance": list("abcd"), "latency_ms": [100, 300, 200, 0], "failure": ["", "", "", "lost"]}
    >>> for finding in waiting(pl.DataFrame(rows), give_up=5).findings[:2]:
    ...     print(finding.sentence)
    Half of the answers of recognizer come within 0.20 seconds (4 trials, 1 without an answer).
    95 % of the answers of recognizer come within 5.00 seconds or more (4 trials, 1 without an answer).
    """
    read = read_trials(source, more=("seconds", "failure", "trace"), **filters)
    trials, notes = _timed(read, give_up, vad)
    asked = [attributes] if isinstance(attributes, str) else list(attributes)
    people = trials["speaker"].unique().drop_nulls().sort()
    grouped = trials.with_columns(
        _speaker=pl.col("speaker").replace_strict(people, range(len(people)), default=None),
        **{f"@{name}": pl.col(read.column(name)).cast(pl.String) for name in asked},
    )
    by = {
        "recognizers": ["recognizer"],
        **({"scenarios": ["recognizer", "scenario"]} if len(read.scenarios) > 1 else {}),
        **{f"groups-{name}": ["recognizer", f"@{name}"] for name in asked},
    }
    tables: list[Table] = []
    findings: list[Finding] = []
    for id_, keys in by.items():
        title = f"by {keys[-1].removeprefix('@')}"
        frame = _percentiles(grouped, keys, confidence)
        if frame.height:  # of audio that was sent faster than it was spoken there are no times
            frame = read.in_order(frame)
            tables.append(_table(id_, f"Waiting {title}", frame, keys))
            findings += [] if len(keys) > 1 else list(_findings(frame, confidence))
        if trials["traces"].sum():
            frame = read.in_order(listened(grouped.filter(pl.col("traces") > 0), keys, confidence))
            tables.append(live_table(f"listening-{id_}", f"While listening, {title}", frame, keys))
            findings += [] if len(keys) > 1 else list(live_findings(frame, confidence))
    findings += list(beside_whole(read, trials, whole, confidence, seed))
    ratios = (*RATIOS, *LIVE_RATIOS) if trials["traces"].sum() else RATIOS
    compared, refusals = compare_groups(read, trials, asked, ratios, seed)
    return Answer(
        audit=NAME,
        title="Waiting",
        findings=(*findings, *map(_compared, compared)),
        tables=tables,  # type: ignore[arg-type]
        notes=tuple(notes),
        refusals=tuple(refusals),
        lead=LEAD,
        detail=trials,
    )


def _timed(read: Scores, limit: float | None, vad: bool) -> tuple[pl.DataFrame, list[Note]]:
    """Return the trials whose waiting is known, with what is summed of each.

    `waited_s` is infinite without an answer, `counted_s` has the limit in its place. Of traces (`traces` is 1 for a
    trial that has one): `first_s`, `final_s`, `taken_back`, `final_words`, `cuts`; null where it cannot be told.
    """
    frame = read.frame
    if not {"seconds", "latency_ms", "trace"} & set(frame.columns):
        text = "there are no times: neither `seconds` nor `latency_ms`, nor a trace"
        raise refuse("not_measured", text, about=read.where, remedy="name their column", see=("columns",))
    frame = traced(read, vad)
    column = next((name for name in ("seconds", "latency_ms") if name in frame.columns), None)
    seconds = np.full(frame.height, np.nan) if column is None else read.numbers(column)
    seconds = seconds / 1000.0 if column == "latency_ms" else seconds
    if (seconds < 0.0).any():
        raise VoxauditError(f"{read.where}: row {int((seconds < 0.0).argmax()) + 1}: a time below 0")
    audio = read.numbers("duration") if "duration" in frame.columns else np.full(frame.height, np.nan)
    failure = pl.col("failure") if "failure" in frame.columns else pl.lit("")
    frame = frame.with_columns(
        failed=failure.cast(pl.String).fill_null("") != "",
        audio_s=pl.Series(audio).fill_nan(None).fill_null(frame["sent_s"]),
        # One that listens is waited for until its last word is final, not as long as it works.
        waited_s=pl.when(pl.col("final_s").count().over("recognizer") > 0)
        .then("final_s")
        .otherwise(pl.Series(seconds))
        .fill_nan(None),
        trials=pl.lit(1.0),
    )
    longest = pl.col("waited_s").max().over("recognizer") if limit is None else pl.lit(float(limit))
    counted_s = pl.when("failed").then(longest.fill_null(0.0)).otherwise("waited_s")
    frame = frame.with_columns(
        counted_s=counted_s,
        waited_s=pl.when("failed").then(float("inf")).otherwise("waited_s"),
        first_s_trials=pl.col("first_s").is_not_null().cast(pl.Float64),
    )
    is_known = frame.select(pl.col("waited_s").is_not_null() | (pl.col("traces") > 0)).to_series()
    known = frame if is_known.all() else frame.filter(is_known)  # a copy takes as much as all trials
    if known.is_empty():
        raise refuse("not_measured", "no trial has a time", about=read.where, remedy="measure the times")
    notes = []
    if left := frame.height - known.height:
        notes.append(
            Note("not_measured", f"{counted(left, 'trial')} without a time left out", {"trials": left})
        )
    untimed = known.filter((pl.col("traces") > 0) & pl.col("first_s").is_null() & (pl.col("final_words") > 0))
    if untimed.height:
        text = f"{counted(untimed.height, 'trace')} with audio sent faster than it was spoken: no times of it"
        notes.append(Note("not_live", text, {"trials": untimed.height}))
    return known, notes


# The numbers


def _percentiles(trials: pl.DataFrame, keys: Sequence[str], confidence: float) -> pl.DataFrame:
    """Return the percentiles of waiting for every combination of `keys`, in seconds and per second of audio.

    A percentile that falls on a trial without an answer is the limit, with `at_least`.
    """
    rows = []
    columns = ("failed", "waited_s", "counted_s", "audio_s")
    asked = trials.select(*keys, "_speaker", *columns).filter(pl.col("waited_s").is_not_null())
    for about, (speaker, failed, waited, counted_s, audio) in parts(asked, keys, *columns):
        row = about | {"failed": int(failed.sum()), "at_least": ""}
        numbers = speaker_numbers(speaker)
        for name, share in SHARES.items():
            found = quantile_limits(waited, numbers, share, confidence)
            row[name] = float(counted_s.max()) if np.isinf(found[0]) else found[0]
            row["at_least"] += f"{name} " if np.isinf(found[0]) else ""
            row |= {f"{name}_low": number_or_none(found[1]), f"{name}_high": number_or_none(found[2])}
        timed = audio > 0.0
        row["speed"] = row["speed_p95"] = None
        if timed.any():
            row["speed"] = float(counted_s[timed].sum()) / float(audio[timed].sum())
            speed = np.sort(waited[timed] / audio[timed])
            row["speed_p95"] = number_or_none(quantile(speed, 0.95))
        rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None)


# What is said of it


def _findings(frame: pl.DataFrame, confidence: float) -> Iterator[Finding]:
    share = {"p50": "Half", "p95": "95 %", "p99": "99 %"}
    for row in frame.iter_rows(named=True):
        lost = f", {row['failed']:,} without an answer" if row["failed"] else ""
        for name in SHARES:
            more = " or more" if name in row["at_least"] else ""
            limits = between(row[f"{name}_low"], row[f"{name}_high"])
            yield Finding(
                finding_id(NAME, row["recognizer"], f"{name}_seconds"),
                f"{name}_seconds",
                "measured",
                f"{share[name]} of the answers of {row['recognizer']} come within {row[name]:.2f}{limits} seconds{more}"
                f" ({counted(row['trials'], 'trial')}{lost}).",
                estimate=row[name],
                low=row[f"{name}_low"],
                high=row[f"{name}_high"],
                level=confidence,
                unit="seconds",
                recognizer=row["recognizer"],
                speakers=row["speakers"] or None,
                utterances=row["trials"],
                headline=name == "p95",
            )


def _compared(one: Compared) -> Finding:
    said, unit = SAID[one[0].measure]
    verb, _, rest = said.partition(" ")
    return group_finding(NAME, one, said, f"is not shown to {verb.removesuffix('s')} {rest}", unit)


def _table(id_: str, title: str, frame: pl.DataFrame, keys: Sequence[str]) -> Table:
    columns = [
        *key_columns(keys),
        *((name, f"{name}, s", "ratio", f"{name}_low", f"{name}_high") for name in SHARES),
        ("speed", "seconds per second of audio", "ratio"),
        ("speed_p95", "its p95", "ratio"),
        "trials",
        ("failed", "without an answer", "count"),
        "speakers",
    ]
    note = "Percentiles that fall on trials without an answer are the limit." if frame["failed"].sum() else ""
    return tabulate(id_, title, frame, columns, note=note)
