"""Quality: the question and the words. What is measured, and how, is in `voxaudit.score.quality`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from voxaudit.answer import (
    Answer,
    Bars,
    Cell,
    Figure,
    Finding,
    Note,
    Refusal,
    Series,
    Table,
    finding_id,
    tabulate,
)
from voxaudit.audio import SUFFIXES
from voxaudit.audits.audit import asks
from voxaudit.audits.scores import Names, is_run
from voxaudit.corpus import Corpus, read_corpus
from voxaudit.errors import VoxauditError
from voxaudit.perturb import CLEAN
from voxaudit.perturb.describe import aside, in_short
from voxaudit.perturb.settings import changes_timing
from voxaudit.run import Run
from voxaudit.score.quality import difficulties, measure_quality
from voxaudit.score.quality.difficulty import FEWEST_SCENARIOS
from voxaudit.score.quality.measures import COLUMNS
from voxaudit.tables import mean_of, write_table
from voxaudit.wording import counted, listed

ALL = 2**62
"""More utterances than any corpus has."""
TITLES = {
    "dnsmos": "DNSMOS",
    **dict.fromkeys(("overall", "signal", "background"), ""),
    "pesq": "PESQ",
    "snr": "SNR (dB)",
}
LEAD = (
    "DNSMOS and PESQ say how good a recording sounds, to listeners and beside its clean twin, from 1 to about 5. Both,"
    " averaged over the utterances of a scenario and put on one scale with mean 50 and standard deviation 25 over the"
    " scenarios, are its difficulty (Speech Robust Bench, section 3.2): it is relative to the scenarios measured with"
    " it."
)


@asks("quality")
def quality(
    source: Any,
    *,
    scenarios: Names = None,
    utterances: int | str | None = None,
    p835: bool = False,
    windows: str = "every",
    seed: int = 0,
    workers: int | None = None,
    rows: str | Path | None = None,
    store: str | Path | None = None,
    progress: bool = True,
) -> Answer:
    """Measure how recordings sound under scenarios (DNSMOS, PESQ, SNR in dB), and how difficult that makes each.

    `source` is a run or its folder, a corpus or its path, or audio files. `scenarios` are ids and suites; a run's own
    if not given, else clean speech only. `utterances` are so many, spread over the speakers, or `all`; without a number
    as many as the intervals of the difficulties need. What was measured before is not measured again. A run keeps its
    own seed, and the table of its scenarios as `quality.parquet`, where the audit `robustness` finds it. `rows` writes
    one row per utterance and scenario to a file; `detail` is that table.

        voxaudit.quality("runs/first").tables["scenarios"]
    """
    out = _writable(rows)
    corpus = _opened(source)
    asked = [scenarios] if isinstance(scenarios, str) else None if scenarios is None else list(scenarios)
    table = measure_quality(
        corpus,
        asked,
        utterances=_count(utterances),
        p835=p835,
        windows=windows,
        seed=seed,
        workers=workers,
        store=store,
        progress=progress,
    )
    if out is not None:
        write_table(table, out)
    frame, refusals = _by_scenario(table)
    total = counted(corpus.corpus.height if isinstance(corpus, Run) else len(corpus), "utterance")
    return Answer(
        audit="quality",
        title=f"Quality of {table['utterance'].n_unique():,} of {total}",
        findings=tuple(_findings(frame)),
        tables=(_table(frame),),  # type: ignore[arg-type]
        figures=tuple(_figures(frame)),
        notes=tuple(_notes(table, frame)),
        refusals=tuple(refusals),
        lead=LEAD,
        detail=table,
    )


# What is measured


def _opened(source: Any) -> Run | Corpus:
    """Return what is measured: a run, a corpus, or audio files as a corpus of their own."""
    given: Sequence[Any] = source if isinstance(source, list | tuple) else [source]
    if len(given) == 1 and isinstance(given[0], Run | Corpus):
        return given[0]
    files = [Path(one) for one in given if isinstance(one, str | Path)]
    if len(files) < len(given) or not files:
        raise VoxauditError("quality is measured for a run, a corpus, or audio files by their paths")
    if all(path.suffix.lower() in SUFFIXES and not path.is_dir() for path in files):
        return Corpus.of_files(files)
    if len(files) > 1:
        raise VoxauditError(f"{files[0]}: give one run, one corpus, or audio files only")
    return Run(files[0]) if is_run(files[0]) else read_corpus(files[0])


def _count(utterances: int | str | None) -> int | None:
    if not isinstance(utterances, str):
        return utterances
    if utterances == "all":
        return ALL
    if not utterances.isdecimal():
        raise VoxauditError(f"utterances are a number or all, not '{utterances}'", see=("utterances",))
    return min(int(utterances), ALL)


def _writable(path: str | Path | None) -> Path | None:
    """Return where rows are written; a place that cannot be is said before anything is measured."""
    if path is None:
        return None
    out = Path(path)
    if out.suffix.lower() not in (".csv", ".tsv", ".parquet"):
        raise VoxauditError(f"{out}: unknown table format. Use .csv, .tsv or .parquet", see=("rows",))
    if not out.absolute().parent.is_dir():
        raise VoxauditError(f"{out}: no such folder as {out.absolute().parent}", see=("rows",))
    return out


def _by_scenario(table: pl.DataFrame) -> tuple[pl.DataFrame, list[Refusal]]:
    """Return a row for every scenario: mean scores, difficulty, low, high, utterances, rows with something missing."""
    numbers = [column for group in COLUMNS.values() for column in group if column in table.columns]
    frame = table.group_by("scenario", maintain_order=True).agg(
        pl.col("dnsmos").count().alias("utterances"), mean_of(*numbers), pl.col("missing").count()
    )
    # What it does without what that is like: a terminal is narrow.
    does = [in_short(name).partition(": ")[0] for name in frame["scenario"]]
    frame = frame.with_columns(does=pl.Series(does, dtype=pl.String))
    try:
        found = difficulties(table)
    except VoxauditError as error:
        nothing = [pl.lit(None, pl.Float64).alias(name) for name in ("difficulty", "low", "high")]
        return frame.with_columns(*nothing), [_no_difficulty(frame, error)]
    chosen = found.select("scenario", "difficulty", "low", "high", "clusters", "resampled")
    return frame.join(chosen, on="scenario", how="left", maintain_order="left"), []


def _no_difficulty(frame: pl.DataFrame, error: VoxauditError) -> Refusal:
    few = frame.filter(pl.col("utterances") > 0).height
    if few >= FEWEST_SCENARIOS:
        return Refusal("undefined", "difficulty", str(error))
    text = f"it is relative: it needs at least {FEWEST_SCENARIOS} scenarios with a DNSMOS, not {few}"
    return Refusal("too_few_scenarios", "difficulty", text, {"scenarios": few, "needed": FEWEST_SCENARIOS})


# The words


def _findings(frame: pl.DataFrame) -> Iterator[Finding]:
    clean = next((row["dnsmos"] for row in frame.iter_rows(named=True) if row["scenario"] == CLEAN), None)
    count = counted(frame["difficulty"].count(), "scenario")
    hardest = frame["difficulty"].max()
    for row in frame.iter_rows(named=True):
        name = row["scenario"]
        shared: dict[str, Any] = {"scenario": name, "utterances": row["utterances"], "verdict": "measured"}
        what = "clean speech" if name == CLEAN else f"{name}{aside(name)}"
        if row["dnsmos"] is not None:
            rated = f"Listeners would rate {what} {row['dnsmos']:.2f} of 5 (DNSMOS)"
            beside = "" if clean is None or name == CLEAN else f", clean speech {clean:.2f}"
            shared |= {"sentence": f"{rated}{beside}.", "unit": "mean opinion score, 1 to 5"}
            yield Finding(finding_id("quality", name, "dnsmos"), "dnsmos", estimate=row["dnsmos"], **shared)
        if row["difficulty"] is not None:
            limits = "" if row["low"] is None else f" ({row['low']:.1f} to {row['high']:.1f})"
            hard = f"{row['difficulty']:.1f}{limits}"
            shared |= {"sentence": f"The difficulty of {what} is {hard} among {count}; 50 is the mean."}
            yield Finding(
                finding_id("quality", name, "difficulty"),
                "difficulty",
                estimate=row["difficulty"],
                low=row["low"],
                high=row["high"],
                speakers=row["clusters"] if row["resampled"] == "speakers" else None,
                headline=row["difficulty"] == hardest,
                **(shared | {"unit": "points of difficulty"}),
            )


def _table(frame: pl.DataFrame) -> Table:
    scores = [(name, title, "ratio") for name, title in TITLES.items() if name in frame.columns]
    hard = ("difficulty", "", "ratio", "low", "high")
    columns = ["scenario", ("does", "what it does"), *scores, hard, "utterances"]
    if frame["missing"].sum():
        columns.append(("missing", "with something missing", "count"))
    return tabulate("scenarios", "How each scenario sounds", frame, columns)


def _figures(frame: pl.DataFrame) -> Iterator[Figure]:
    known = frame.filter(pl.col("difficulty").is_not_null()).sort("difficulty", maintain_order=True)
    if known.is_empty():
        return
    cells = tuple(Cell(row["difficulty"], row["low"], row["high"]) for row in known.iter_rows(named=True))
    alt = f"Bars of the difficulty of {counted(known.height, 'scenario')}, the easiest first."
    bars = Bars(tuple(known["scenario"].to_list()), (Series("difficulty", cells),), "difficulty", "number")
    yield Figure("difficulty", "Difficulty", alt, bars, "scenarios")


def _notes(table: pl.DataFrame, frame: pl.DataFrame) -> Iterator[Note]:
    known = frame.filter(pl.col("low").is_not_null())
    if known.height:
        widest = float(((known["high"] - known["low"]) / 2).to_numpy().max())
        by = known["resampled"][0]
        limits = f"95 % intervals by resampling {by}, the widest ±{widest:.1f} points"
        text = f"difficulty is relative to these scenarios; {limits}"
        yield Note("relative", text, {"resampled": by, "widest": widest})
    retimed = [name for name in frame["scenario"] if changes_timing(name)]
    if retimed and "pesq" in frame.columns and frame["pesq"].count():
        text = f"PESQ cannot follow a change of timing and reads low there: {listed(retimed, 12)}"
        yield Note("retimed", text, {"scenarios": retimed})
    reasons = table["missing"].drop_nulls().value_counts(sort=True, name="count")
    for reason, count in reasons.head(5).iter_rows():
        yield Note("missing", f"not measured in {counted(count, 'row')}: {reason}", {"rows": count})
