"""Where the table comes from: a file with any columns, or the folder of a run with its audio and texts beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from voxaudit.audits.inputs import read_scores
from voxaudit.audits.parity.audit import parity
from voxaudit.audits.parity.findings import Findings
from voxaudit.audits.parity.measures import NO_AUDIO, QUALITY_PART, Measured, add_measures
from voxaudit.audits.parity.options import Columns, Settings
from voxaudit.tables import read_table, require_columns

SKIPPED = "it was not asked for (--no-audio)"


def audit_file(
    path: str | Path,
    attributes: Sequence[str],
    *,
    columns: Columns = Columns(),  # noqa: B008 (frozen)
    settings: Settings = Settings(),  # noqa: B008 (frozen)
    text: str | None = None,
    audio: str | None = None,
    measure_audio: bool = True,
    dictionary: str | Path | None = None,
) -> Findings:
    """Audit a table (CSV, TSV, JSON lines, Parquet) or a run folder.

    `text` and `audio` name columns of reference texts and of paths to recordings (relative to the table); a run folder
    has both. Without `measure_audio` no recording is opened.
    """
    measured = read_measured(
        path,
        needed=[*attributes, *columns.wer],
        text=text,
        audio=audio,
        measure_audio=measure_audio,
        dictionary=dictionary,
    )
    return parity(measured, attributes, columns=columns, settings=settings, where=str(path))


def read_measured(
    path: str | Path,
    *,
    needed: Sequence[str] = (),
    text: str | None = None,
    audio: str | None = None,
    measure_audio: bool = True,
    dictionary: str | Path | None = None,
) -> Measured:
    """Read a table or a run's scores, with the measures of recordings and texts as columns where they are to be had.

    A column of `needed` that is not there is said before anything is measured.
    """
    path = Path(path)
    table = read_scores(path)
    require_columns(table, needed, path)
    if path.is_dir():
        return _from_run(path, table, measure_audio, dictionary)
    require_columns(table, [name for name in (text, audio) if name is not None], path)
    text = text or next((name for name in ("text", "reference") if name in table.columns), None)
    measured = add_measures(
        table, text=text, audio=audio if measure_audio else None, folder=path.parent, dictionary=dictionary
    )
    return measured if measure_audio else _skipped(measured)


def _from_run(
    folder: Path, table: pl.DataFrame, measure_audio: bool, dictionary: str | Path | None
) -> Measured:
    if not (folder / "corpus.parquet").exists():
        return add_measures(table)
    corpus = read_table(folder / "corpus.parquet").rename({"id": "utterance"})
    heard = corpus.join(table.select("utterance").unique(), on="utterance", how="semi")
    measured = add_measures(
        heard.select("utterance", "audio", "text", "start", "duration"),
        text="text" if heard["text"].count() else None,
        audio="audio" if measure_audio else None,
        folder=folder,
        start="start",
        duration="duration",
        dictionary=dictionary,
    )
    new = [name for name in measured.table.columns if name not in (*heard.columns, *table.columns)]
    joined = table.join(
        measured.table.select("utterance", *new), on="utterance", how="left", maintain_order="left"
    )
    found = replace(measured, table=joined)
    return found if measure_audio else _skipped(found)


def _skipped(measured: Measured) -> Measured:
    why = {name: SKIPPED if reason == NO_AUDIO else reason for name, reason in measured.missing.items()}
    return replace(measured, missing={**measured.missing, **why}) if QUALITY_PART in why else measured
