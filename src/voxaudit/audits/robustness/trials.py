"""From a `scores` table to sums per speaker: what all measures of the audit are computed from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from voxaudit.audits.robustness.settings import Setting, describe_all
from voxaudit.errors import VoxauditError, one_line
from voxaudit.perturb import CLEAN
from voxaudit.score.table import TRIAL_COLUMNS
from voxaudit.tables import require_columns

PARTS: tuple[str, ...] = ("substitutions", "deletions", "insertions")
COUNTS = ("errors", "words", "character_errors", "characters")
PLACES = ("language", "corpus")
"""Columns that can set results apart; pooled unless asked for."""
DRAWS = ("draw", "seed")
"""Columns that tell random draws of the same perturbation apart."""
UNNAMED = "(missing)"


@dataclass(frozen=True)
class Trials:
    """A checked table: one row an utterance, scenario and recognizer (and draw).

    Columns: recognizer, the `places`, scenario, `person` (a number; the same speaker name in two corpora is two
    people), utterance, the counts, `duration` (seconds, where known), `draw` (where there are several)
    and the attributes. `pooled` has the columns that could be places, with how many values; `people` has person and
    `stratum`; `unnamed` the people without a name.
    """

    table: pl.DataFrame
    places: tuple[str, ...]
    pooled: dict[str, int]
    draw: bool
    people: pl.DataFrame
    unnamed: frozenset[int]
    settings: dict[str, Setting]
    recognizers: tuple[str, ...]
    has_duration: bool

    @property
    def unit(self) -> list[str]:
        """What a scenario is judged within: the recognizer and the places."""
        return ["recognizer", *self.places]


def read_trials(
    scores: pl.DataFrame,
    attributes: tuple[str, ...],
    by: Sequence[str] = (),
    where: str | Path = "scores",
) -> Trials:
    """Check a `scores` table and return it in the form the audit works on.

    `by` are the columns among `PLACES` that set results apart where they have several values; others are pooled.
    """
    if scores.is_empty():
        raise VoxauditError(
            f"{where}: the table has no rows: nothing was scored (no reference texts, or no trial was answered)"
        )
    require_columns(scores, ["utterance", "speaker", "scenario", "recognizer", "words", *attributes], where)
    own = next((name for name in attributes if name in TRIAL_COLUMNS), None)
    if own is not None:
        raise VoxauditError(
            f"{where}: column '{own}' says which trial a row is. Name an attribute of the speakers"
        )
    counted = PARTS
    if "errors" in scores.columns and not all(part in scores.columns for part in PARTS):
        counted = ("errors",)
    require_columns(scores, counted, where)
    _check_numbers(scores, (*counted, *COUNTS[1:], "duration"), where)
    errors = pl.sum_horizontal(*(pl.col(part).cast(pl.Float64) for part in counted), ignore_nulls=False)
    characters = [name for name in COUNTS[2:] if name in scores.columns]
    nothing = pl.lit(None, dtype=pl.Float64)
    places = _places(scores, by, where)
    draw = next((name for name in DRAWS if name in scores.columns and scores[name].n_unique() > 1), None)
    has_duration = "duration" in scores.columns
    table = scores.select(
        pl.col("recognizer", "scenario").cast(pl.String).cast(pl.Categorical),
        *(pl.col(name).cast(pl.String).fill_null(UNNAMED).cast(pl.Categorical) for name in places),
        _home(scores),
        *(pl.col(name).cast(pl.String).cast(pl.Categorical) for name in ("utterance", "speaker")),
        errors.alias("errors"),
        pl.col("words").cast(pl.Float64),
        *((pl.col(n).cast(pl.Float64) if n in characters else nothing.alias(n)) for n in COUNTS[2:]),
        *([pl.col("duration").cast(pl.Float64)] if has_duration else []),
        *([pl.col(draw).cast(pl.String).cast(pl.Categorical).alias("draw")] if draw else []),
        *(
            pl.col(name).cast(pl.String).cast(pl.Categorical).alias(f"attribute:{name}")
            for name in attributes
        ),
    )
    _check_values(table, where)
    pooled = {
        name: count
        for name in PLACES
        if name in scores.columns and name not in places and (count := scores[name].n_unique()) > 1
    }
    _check_once(table, places, pooled, draw is not None, where)
    settings = _settings(table)
    if CLEAN not in settings:
        raise VoxauditError(
            f"{where}: no row has the scenario '{CLEAN}'. Robustness is measured against clean speech;"
            f" scenarios there: {one_line(', '.join(settings), 120)}"
        )
    people = _people(table)
    keys = ["home", "speaker"]
    joined = table.join(people.select(*keys, "person"), on=keys, how="left", nulls_equal=True)
    return Trials(
        table=joined.drop(keys),
        places=places,
        pooled=pooled,
        draw=draw is not None,
        people=people.select("person", "stratum"),
        unnamed=frozenset(people.filter(pl.col("speaker").is_null())["person"].to_list()),
        settings=settings,
        recognizers=tuple(sorted(table["recognizer"].unique().cast(pl.String).to_list())),
        has_duration=has_duration,
    )


def _places(scores: pl.DataFrame, by: Sequence[str], where: str | Path) -> tuple[str, ...]:
    unknown = [name for name in by if name not in PLACES]
    if unknown:
        raise VoxauditError(
            f"results can be set apart by {' and '.join(PLACES)}, not by '{one_line(unknown[0], 80)}'."
            " Groups of speakers are compared with attributes (--attributes)"
        )
    require_columns(scores, list(by), where)
    return tuple(name for name in PLACES if name in by and scores[name].n_unique() > 1)


def _check_numbers(scores: pl.DataFrame, names: Sequence[str], where: str | Path) -> None:
    """Raise one line where a column of counts or seconds holds something else."""
    for name in names:
        if name not in scores.columns or scores[name].dtype.is_numeric():
            continue
        column = scores[name]
        wrong = column.is_not_null()
        if column.dtype == pl.String:
            wrong &= column.cast(pl.Float64, strict=False).is_null()
        if wrong.any():
            row = int(wrong.arg_max() or 0) + 1
            found = one_line(str(column[row - 1]), 40)
            raise VoxauditError(f"{where}: row {row}, column '{name}': '{found}' is not a number")


def _check_values(table: pl.DataFrame, where: str | Path) -> None:
    for name in ("recognizer", "scenario", "utterance", "errors", "words"):
        column = table[name]
        if column.dtype == pl.Categorical:
            bad = column.is_null()
        else:
            bad = ~((column >= 0) & column.is_finite()).fill_null(False)
        if bad.any():
            row = int(bad.arg_max() or 0) + 1
            found = table[name][row - 1]
            what = "no value" if found is None else f"'{found}'"
            need = "one" if column.dtype == pl.Categorical else "a count of 0 or more"
            raise VoxauditError(f"{where}: row {row}, column '{name}': {what}; every trial needs {need}")


def _check_once(
    table: pl.DataFrame, places: tuple[str, ...], pooled: Iterable[str], draw: bool, where: str | Path
) -> None:
    keys = ["recognizer", *places, "scenario", "home", "speaker", "utterance", *(["draw"] if draw else [])]
    if table.select(pl.struct(keys).n_unique()).item() == table.height:
        return
    twice = table.group_by(keys).len().filter(pl.col("len") > 1).sort(keys).row(0, named=True)
    # Speakers of two corpora are two people anyway.
    split = ", split languages with --by language" if "language" in pooled else ""
    raise VoxauditError(
        f"{where}: {twice['len']} rows for utterance '{twice['utterance']}', scenario '{twice['scenario']}',"
        f" recognizer '{twice['recognizer']}'. Keep one{split}, or tell random draws apart in a column 'draw'"
    )


def _settings(table: pl.DataFrame) -> dict[str, Setting]:
    """Return the settings of all scenarios. One without a single reference word is silence, whatever its name."""
    words = table.group_by("scenario").agg(pl.col("words").sum()).sort(pl.col("scenario").cast(pl.String))
    counted = {str(scenario): float(count) for scenario, count in words.iter_rows()}
    settings = describe_all(counted)
    return {
        name: Setting(**{**setting.__dict__, "speech": setting.speech and counted[name] > 0})
        for name, setting in settings.items()
    }


def _home(scores: pl.DataFrame) -> pl.Expr:
    """Return where a speaker's name is valid: the corpus, also where results are not set apart by it."""
    if "corpus" not in scores.columns:
        return pl.lit("").cast(pl.Categorical).alias("home")
    return pl.col("corpus").cast(pl.String).fill_null(UNNAMED).cast(pl.Categorical).alias("home")


def _people(table: pl.DataFrame) -> pl.DataFrame:
    """Return the speakers with the stratum each is drawn within.

    Speakers of clean speech are one sample (a corpus each, where there are several); people who are only heard in
    another role, such as accented speech, are another: the two sides of an unpaired comparison vary independently.
    """
    scenario = pl.col("scenario").cast(pl.String)
    role = scenario.str.split(":").list.first()
    people = table.group_by("home", "speaker").agg(clean=(scenario == CLEAN).any(), role=role.min())
    people = people.sort(pl.col("home", "speaker").cast(pl.String), nulls_last=True)
    stratum = pl.when(pl.col("clean")).then(pl.lit(CLEAN)).otherwise(pl.col("role"))
    return people.with_row_index("person").with_columns(
        stratum=stratum + "\0" + pl.col("home").cast(pl.String), person=pl.col("person").cast(pl.Int64)
    )
