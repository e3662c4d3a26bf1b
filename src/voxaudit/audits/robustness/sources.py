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
from voxaudit.score.quality.difficulty import FEWEST_SCENARIOS
from voxaudit.tables import read_table

PUBLISHED, MEASURED, NONE = "published", "measured", "none"
QUALITY = "quality.parquet"
"""The qualities of a run's audio, beside its scores."""


def read_many(paths: Sequence[str | Path]) -> pl.DataFrame:
    """Return the scores of several runs or files as one table.

    Of several, a column `draw` tells the runs' seeds apart (files: their own `draw` or `seed`, else their place in
    the list). Durations of utterances are added from a run's corpus where a scenario without speech needs them.
    """
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
        # Difficulties are relative to each other: of one or two scenarios there are none.
        if choice == MEASURED or quality["scenario"].n_unique() >= FEWEST_SCENARIOS:
            return difficulties(quality), f"measured ({measured})"
    if choice in (None, PUBLISHED):
        table = published_difficulties()
        some = table.filter(pl.col("scenario").is_in([name for name in scenarios if name != CLEAN]))
        if choice is None and some.is_empty():
            return None, NONE
        return table, "published (Speech Robust Bench, Table 3)"
    return read_table(str(choice)), str(choice)


def _with_durations(table: pl.DataFrame, path: Path) -> pl.DataFrame:
    if "duration" in table.columns or not is_run(path) or not (path / "corpus.parquet").exists():
        return table
    names = table["scenario"].unique().cast(pl.String).to_list()
    if all(setting.speech for setting in describe_all(name for name in names if name).values()):
        return table
    corpus = read_table(path / "corpus.parquet")
    if "duration" not in corpus.columns:
        return table
    durations = corpus.select(utterance=pl.col("id").cast(table.schema["utterance"]), duration="duration")
    return table.join(durations, on="utterance", how="left", maintain_order="left")
