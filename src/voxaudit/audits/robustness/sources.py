"""Where the audit's tables come from: runs and files of scores, and the difficulties that belong to them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from voxaudit.audits.inputs import is_run, read_scores
from voxaudit.audits.robustness.settings import describe_all
from voxaudit.audits.robustness.trials import DRAWS
from voxaudit.errors import VoxauditError
from voxaudit.perturb import CLEAN
from voxaudit.run.folder import read_config
from voxaudit.score.quality import difficulties, published_difficulties
from voxaudit.tables import read_table

PUBLISHED, MEASURED, NONE = "published", "measured", "none"
QUALITY = "quality.parquet"
"""The qualities of a run's audio, beside its scores."""


def read_many(paths: Sequence[str | Path]) -> pl.DataFrame:
    """Return the scores of several runs or files as one table.

    Of several, a column `draw` tells the runs' seeds apart (files: their own `draw` or `seed`, else their place in
    the list). Durations of utterances are added from a run's corpus where a scenario without speech needs them.
    """
    files = [Path(path).resolve() for path in paths if not is_run(path)]
    twice = next((path for place, path in enumerate(files) if path in files[:place]), None)
    if twice is not None:
        raise VoxauditError(
            f"{twice}: this table is given twice; it would count as another random draw of itself"
        )
    tables = []
    for place, path in enumerate(paths, start=1):
        table = _with_durations(read_scores(path), Path(path))
        if len(paths) > 1 and not any(name in table.columns for name in DRAWS):
            draw = str(read_config(Path(path)).get("seed", place)) if is_run(path) else f"file {place}"
            table = table.with_columns(draw=pl.lit(draw))
        elif len(paths) > 1:
            own = next(name for name in DRAWS if name in table.columns)
            table = table.with_columns(draw=pl.col(own).cast(pl.String))
        tables.append(table)
    if len(tables) == 1:
        return tables[0]
    try:
        return pl.concat(tables, how="diagonal_relaxed")
    except pl.exceptions.PolarsError as error:
        raise VoxauditError(
            f"{', '.join(str(path) for path in paths)}: these tables do not fit together: columns of the same name"
            " hold different kinds of values"
        ) from error


def noise_sources(paths: Sequence[str | Path]) -> dict[str, str]:
    """Return where the noise and rooms of runs came from, by perturbation: built in, a folder, other speakers."""
    found: dict[str, list[str]] = {}
    for path in paths:
        for name, entry in read_config(Path(path)).get("sources", {}).items() if is_run(path) else ():
            found.setdefault(name, []).append(str(entry["description"]))
    return {name: "; ".join(dict.fromkeys(described)) for name, described in found.items()}


def slots_left_out(paths: Sequence[str | Path]) -> list[str]:
    """Return the scenarios that runs were asked for but could not hear: slots that nothing filled."""
    left = [id_ for path in paths if is_run(path) for id_ in read_config(Path(path)).get("not_heard", {})]
    return list(dict.fromkeys(left))


def choose_difficulty(
    choice: str | None, paths: Sequence[str | Path], scenarios: Sequence[str]
) -> tuple[pl.DataFrame | None, str]:
    """Return a table of difficulties (scenario, difficulty) and where it is from.

    `choice` is `published`, `measured`, `none`, a file, or None: measured where a run has qualities, else published
    where a scenario of the table has one.
    """
    runs = [Path(path) for path in paths if is_run(path)]
    measured = next((run / QUALITY for run in runs if (run / QUALITY).exists()), None)
    if choice == NONE:
        return None, NONE
    if choice == MEASURED and measured is None:
        raise VoxauditError(
            f"{', '.join(str(path) for path in paths)}: no {QUALITY} there. Measure the quality of the run's audio"
            " first, or use --difficulty published"
        )
    if measured is not None and choice in (None, MEASURED):
        quality = read_table(measured)
        try:
            return difficulties(quality), f"measured ({measured})"
        except VoxauditError:  # too few scenarios: difficulties are relative to each other
            if choice == MEASURED:
                raise
    if choice in (None, PUBLISHED):
        table = published_difficulties()
        some = table.filter(pl.col("scenario").is_in([name for name in scenarios if name != CLEAN]))
        if choice is None and some.is_empty():
            return None, NONE
        return table, "published (Speech Robust Bench, Table 3)"
    return read_table(str(choice)), str(choice)


def _seconds(corpus: pl.DataFrame) -> pl.Series:
    """Return how long utterances last: as the corpus says, else as long as the recording is; null without either."""
    known = corpus["duration"].cast(pl.Float64)
    if not known.null_count() or "audio" not in corpus.columns:
        return known
    rows = zip(known, corpus["audio"], corpus["start"], strict=True)
    return pl.Series(
        [_length(audio, start) if one is None else one for one, audio, start in rows], dtype=pl.Float64
    )


def _length(path: str, start: float | None) -> float | None:
    import soundfile

    try:
        about = soundfile.info(path)
    except (soundfile.SoundFileError, OSError, RuntimeError, TypeError):
        return None
    return max(float(about.frames / about.samplerate) - (start or 0.0), 0.0)


def _with_durations(table: pl.DataFrame, path: Path) -> pl.DataFrame:
    if "duration" in table.columns or not is_run(path) or not (path / "corpus.parquet").exists():
        return table
    names = table["scenario"].unique().cast(pl.String).to_list()
    if all(setting.speech for setting in describe_all(name for name in names if name).values()):
        return table
    corpus = read_table(path / "corpus.parquet")
    if "duration" not in corpus.columns:
        return table
    durations = corpus.select(
        utterance=pl.col("id").cast(table.schema["utterance"]), duration=_seconds(corpus)
    )
    return table.join(durations, on="utterance", how="left", maintain_order="left")
