"""Where transcripts come from: a run's folder, a table on disk or in memory; read a few scenarios at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from voxaudit.audits.inputs import (
    TRANSCRIPT_KEYS,
    about_utterances,
    answered,
    is_run,
    read_transcripts,
    require_trials,
)
from voxaudit.errors import VoxauditError, one_line
from voxaudit.perturb.scenario_id import is_original
from voxaudit.registry import suggest
from voxaudit.run.folder import open_run
from voxaudit.tables import require_columns

ROWS_AT_A_TIME = 400_000
"""Transcripts held in memory at a time, about 100 MB with their texts."""


@dataclass(frozen=True)
class Source:
    """Transcripts and what is known of their utterances.

    `trials` has the columns utterance, scenario, recognizer, text; `about` has utterance, group, speaker and
    reference, the last two null where nothing is known.
    """

    where: str
    trials: pl.LazyFrame
    about: pl.DataFrame
    recognizers: tuple[str, ...]
    clean: str
    scenarios: tuple[tuple[str, int], ...]
    """Disturbed scenarios with their numbers of rows, in order of appearance."""

    def batches(self) -> Iterator[tuple[tuple[str, ...], pl.DataFrame]]:
        """Yield scenarios and their trials, the clean one first and alone."""
        yield (self.clean,), self._collect((self.clean,))
        waiting: list[str] = []
        rows = 0
        for scenario, count in self.scenarios:
            if waiting and rows + count > ROWS_AT_A_TIME:
                yield tuple(waiting), self._collect(tuple(waiting))
                waiting, rows = [], 0
            waiting.append(scenario)
            rows += count
        yield tuple(waiting), self._collect(tuple(waiting))

    def _collect(self, scenarios: tuple[str, ...]) -> pl.DataFrame:
        return self.trials.filter(pl.col("scenario").is_in(scenarios)).collect()


def open_source(
    table: str | Path | pl.DataFrame, attribute: str, *, speaker: str = "speaker", clean: str | None = None
) -> Source:
    """Open transcripts: a run's folder, a file or a table with the columns of `read_transcripts`."""
    where, trials, about, columns = _parts(table, ("utterance", attribute, speaker, "reference"))
    if attribute not in columns:
        raise VoxauditError(
            f"{where}: no column '{one_line(attribute, 80)}' to group by.{suggest(attribute, columns)}"
            f" Columns there: {', '.join(columns)}"
        )
    unknown = pl.lit(None, dtype=pl.String)
    wanted = {"group": attribute, "speaker": speaker, "reference": "reference"}
    known = about.select(
        pl.col("utterance").cast(pl.String),
        *(
            (pl.col(column).cast(pl.String) if column in columns else unknown).alias(name)
            for name, column in wanted.items()
        ),
    )
    require_trials(trials, where)
    kinds = trials.group_by("scenario", "recognizer", maintain_order=True).len().collect()
    if kinds.height == 0:
        raise VoxauditError(f"{where}: there are no transcripts in it")
    recognizers = tuple(sorted(kinds["recognizer"].drop_nulls().unique().to_list()))
    if len(recognizers) < 2:
        raise VoxauditError(
            f"{where}: all transcripts are by one recognizer ({', '.join(recognizers) or 'unnamed'}). Differential"
            " testing compares two or more: add another recognizer's transcripts"
        )
    counts = kinds.group_by("scenario", maintain_order=True).agg(pl.col("len").sum())
    rows: dict[str, int] = {str(name): int(count) for name, count in counts.iter_rows()}
    original = _clean_scenario(where, list(rows), clean)
    disturbed = tuple((name, count) for name, count in rows.items() if name != original)
    if not disturbed:
        raise VoxauditError(
            f"{where}: there is only undisturbed speech (scenario '{original}'). Run with a suite, e.g. aequevox"
        )
    return Source(where, trials, _once(where, known, attribute), recognizers, original, disturbed)


def _once(where: str, known: pl.DataFrame, attribute: str) -> pl.DataFrame:
    """Return one row an utterance; its reference may stand in some of its rows only, as those of clean speech."""
    kinds = {
        "group": f"values in column '{one_line(attribute, 80)}'",
        "speaker": "speakers",
        "reference": "references",
    }
    for column, what in kinds.items():
        pairs = known.select("utterance", column).unique()
        pairs = pairs.drop_nulls() if column == "reference" else pairs
        if pairs["utterance"].n_unique() < pairs.height:
            twice = pairs.filter(pl.col("utterance").is_duplicated())["utterance"].sort()[0]
            raise VoxauditError(
                f"{where}: utterance '{one_line(str(twice), 80)}' has several {what}; ids must be unique"
            )
    return known.group_by("utterance", maintain_order=True).agg(
        pl.col("group", "speaker").first(), pl.col("reference").drop_nulls().first()
    )


def _parts(
    table: str | Path | pl.DataFrame, wanted: Collection[str]
) -> tuple[str, pl.LazyFrame, pl.DataFrame, list[str]]:
    """Return a name, the trials, what is `wanted` about utterances (perhaps with repeated rows), all such columns."""
    if isinstance(table, pl.DataFrame):
        where, whole = "the table", table.lazy()
        require_columns(table, TRANSCRIPT_KEYS, where)
    elif is_run(table):
        run = open_run(table)
        about = about_utterances(run.corpus)
        return str(table), _trials(pl.scan_parquet(run.folder / "transcripts.parquet")), about, about.columns
    elif Path(table).suffix.lower() == ".parquet" and Path(table).is_file():
        where, whole = str(table), pl.scan_parquet(table)
        try:
            require_columns(whole.head(0).collect(), TRANSCRIPT_KEYS, table)
        except pl.exceptions.PolarsError as error:
            raise VoxauditError(f"{table}: cannot read this table: {one_line(error, 200)}") from error
    else:
        where, whole = str(table), read_transcripts(table).lazy()
    columns = [
        name
        for name in whole.collect_schema().names()
        if name not in ("scenario", "recognizer", "text", "seconds", "failure")
    ]
    # Other columns may differ from trial to trial: to keep them would be to keep the whole table.
    about = whole.select(name for name in columns if name in wanted).unique(maintain_order=True).collect()
    return where, _trials(whole), about, columns


def _trials(whole: pl.LazyFrame) -> pl.LazyFrame:
    return answered(whole).select(pl.col(TRANSCRIPT_KEYS).cast(pl.String))


def _clean_scenario(where: str, scenarios: list[str], asked: str | None) -> str:
    if asked is not None:
        if asked not in scenarios:
            raise VoxauditError(
                f"{where}: no scenario '{one_line(asked, 80)}'.{suggest(asked, scenarios)}"
                f" Scenarios there: {one_line(', '.join(scenarios), 400)}"
            )
        return asked
    found = [name for name in scenarios if is_original(name)]
    if len(found) != 1:
        what = (
            f"several scenarios are undisturbed ({', '.join(found)})"
            if found
            else "no scenario is called clean"
        )
        raise VoxauditError(
            f"{where}: {what}; degradation is measured from it. Name it with --clean; scenarios there:"
            f" {one_line(', '.join(scenarios), 400)}"
        )
    return found[0]
