"""A table as it came becomes trials: recognizer, speaker, utterance, errors, words and the attributes asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from voxaudit.audits.parity.options import NAMES, Columns, Settings, safe_name
from voxaudit.errors import VoxauditError, one_line
from voxaudit.tables import require_columns

ROW = "__row"
EDITS = ("substitutions", "deletions", "insertions")


@dataclass(frozen=True)
class Trials:
    """One row a trial, and what was left out on the way. Attributes carry the prefix `@`."""

    table: pl.DataFrame
    attributes: tuple[str, ...]
    measures: tuple[str, ...]
    """Columns about the recording or its text (see `options.NAMES`); they carry the prefix `#`."""
    surrogate: tuple[str, ...]
    """The attributes that stand in for the speaker; empty where speakers are known."""
    left_out: dict[str, int]
    notes: tuple[str, ...]


def make_trials(
    table: pl.DataFrame, attributes: Sequence[str], columns: Columns, settings: Settings, where: str = "table"
) -> Trials:
    """Check a table and bring it into one form. What cannot be used is counted; what makes no sense is refused."""
    attributes = tuple(dict.fromkeys(attributes))
    if not attributes:
        raise VoxauditError(
            f"{where}: no attributes to compare. Name them with --attributes. {_candidates(table)}"
        )
    require_columns(table, attributes, where)
    notes: list[str] = []
    table = table.with_row_index(ROW)
    measures = [name for name in NAMES if name in table.columns and table.schema[name].is_numeric()]
    table = _one_scenario(table, settings.scenario, where, notes)
    identified = columns.utterance in table.columns
    table = _with_errors(table, columns, where)
    speaker, surrogate = _speaker(table, attributes, columns, where)
    recognizer = pl.col(columns.recognizer) if columns.recognizer in table.columns else pl.lit("all")
    trials = table.select(
        recognizer.cast(pl.String).fill_null("(no name)").alias("recognizer"),
        speaker.alias("speaker"),
        pl.col(columns.utterance if identified else ROW).cast(pl.String).alias("utterance"),
        _count(table, "__errors").alias("errors"),
        _count(table, columns.words).alias("words"),
        *(_clean(table, name).alias(f"@{safe_name(name)}") for name in attributes),
        *(pl.col(name).cast(pl.Float64).fill_nan(None).alias(f"#{name}") for name in measures),
    )
    _check_counts(trials, table[ROW], columns, where)
    unusable = {
        "no count of errors or words": pl.col("errors").is_null() | pl.col("words").is_null(),
        "no reference words": pl.col("words") == 0,
        "no speaker": pl.col("speaker").is_null(),
    }
    left_out: dict[str, int] = {}
    for reason, condition in unusable.items():
        kept = trials.filter(~condition.fill_null(False))
        if kept.height < trials.height:
            left_out[reason] = trials.height - kept.height
        trials = kept
    if "snr" in measures and settings.min_snr is not None:
        loud = trials.filter(~(pl.col("#snr") < settings.min_snr).fill_null(False))
        if loud.height < trials.height:
            left_out[f"signal-to-noise ratio under {settings.min_snr:g} dB"] = trials.height - loud.height
        trials = loud
    if not trials.height:
        why = "; ".join(f"{count} rows: {reason}" for reason, count in left_out.items()) or "it has no rows"
        raise VoxauditError(f"{where}: no row can be used ({why})")
    repeated = _repeated(trials) if identified else 0
    if repeated:
        notes.append(
            f"{repeated} rows repeat an utterance of the same recognizer and speaker; each row counts"
        )
    names = tuple(safe_name(name) for name in attributes)
    return Trials(trials, names, tuple(measures), surrogate, left_out, tuple(notes))


def _clean(table: pl.DataFrame, name: str) -> pl.Expr:
    """Return a column without blanks around its texts; an empty text is a missing value."""
    kind = table.schema[name]
    if kind.is_nested():
        raise VoxauditError(f"column '{name}' holds lists or records, not groups. Name another attribute")
    if kind.is_numeric() or kind == pl.Boolean or kind.is_temporal():
        return pl.col(name)
    text = pl.col(name).cast(pl.String).str.strip_chars()
    return pl.when(text != "").then(text)


def _candidates(table: pl.DataFrame) -> str:
    from voxaudit.score.table import SCORE_COLUMNS

    names = [
        name for name in table.columns if name not in SCORE_COLUMNS and 2 <= table[name].n_unique() <= 50
    ]
    return f"Columns that could be: {', '.join(names[:20])}" if names else "No column looks like one"


def _one_scenario(table: pl.DataFrame, scenario: str | None, where: str, notes: list[str]) -> pl.DataFrame:
    if "scenario" not in table.columns:
        if scenario is not None:
            raise VoxauditError(f"{where}: no column 'scenario' to choose '{scenario}' from")
        return table
    found = table["scenario"].cast(pl.String).unique().drop_nulls().sort().to_list()
    chosen = scenario or ("clean" if "clean" in found else found[0] if len(found) == 1 else None)
    if chosen is None and found:
        raise VoxauditError(
            f"{where}: {len(found)} scenarios and none is 'clean'. Choose one with --scenario: {', '.join(found[:10])}"
        )
    if chosen is not None and chosen not in found:
        raise VoxauditError(f"{where}: no scenario '{chosen}'. Scenarios there: {', '.join(found[:10])}")
    if chosen is None or len(found) == 1:
        return table
    notes.append(f"scenario '{chosen}' out of {len(found)}; choose another with --scenario")
    return table.filter(pl.col("scenario").cast(pl.String) == chosen)


def _with_errors(table: pl.DataFrame, columns: Columns, where: str) -> pl.DataFrame:
    """Add `__errors`; with columns of rates, also make one row a recognizer."""
    require_columns(table, [columns.words], where)
    _numeric(table, columns.words, where)
    if columns.wer:
        require_columns(table, columns.wer, where)
        for name in columns.wer:
            _numeric(table, name, where)
        others = [name for name in table.columns if name not in columns.wer and name != columns.recognizer]
        table = table.unpivot(columns.wer, index=others, variable_name=columns.recognizer, value_name="__wer")
        names = recognizer_names(columns.wer)
        table = table.with_columns(pl.col(columns.recognizer).replace(list(columns.wer), names))
        return table.with_columns((pl.col("__wer") * pl.col(columns.words)).round().alias("__errors"))
    given = columns.errors or ("errors" if "errors" in table.columns else None)
    if given is not None:
        require_columns(table, [given], where)
        _numeric(table, given, where)
        return table.with_columns(pl.col(given).alias("__errors"))
    if not all(edit in table.columns for edit in EDITS):
        raise VoxauditError(
            f"{where}: no column of errors. Name it with --errors (counts) or --wer (rates)."
            f" Columns there: {', '.join(table.columns)}"
        )
    for edit in EDITS:
        _numeric(table, edit, where)
    return table.with_columns(pl.sum_horizontal(EDITS, ignore_nulls=False).alias("__errors"))


def recognizer_names(columns: Sequence[str]) -> list[str]:
    """Return what distinguishes column names: `clean_google_wer`, `clean_ibm_wer` are google and ibm."""
    parts = [name.split("_") for name in columns]
    shortest = min(len(part) for part in parts)
    if len(columns) < 2 or len(set(columns)) < len(columns):
        return list(columns)
    start = end = 0
    while start < shortest - 1 and len({part[start] for part in parts}) == 1:
        start += 1
    while end < shortest - 1 - start and len({part[-1 - end] for part in parts}) == 1:
        end += 1
    return ["_".join(part[start : len(part) - end]) for part in parts]


def _numeric(table: pl.DataFrame, name: str, where: str) -> None:
    if not table.schema[name].is_numeric():
        example = table[name].drop_nulls().cast(pl.String)
        seen = f", for example '{one_line(example[0], 40)}'" if len(example) else ""
        raise VoxauditError(f"{where}: column '{name}' does not hold numbers{seen}. Name another column")


def _count(table: pl.DataFrame, name: str) -> pl.Expr:
    """Return a column of counts; what is not a number is missing."""
    return pl.col(name).fill_nan(None) if table.schema[name].is_float() else pl.col(name)


def _check_counts(trials: pl.DataFrame, rows: pl.Series, columns: Columns, where: str) -> None:
    for name, shown in (("errors", columns.errors or "errors"), ("words", columns.words)):
        value = pl.col(name).cast(pl.Float64)
        wrong = (
            trials.select(name)
            .with_columns(rows)
            .filter((value < 0) | value.is_infinite() | (value != value.round()))
        )
        if wrong.height:
            number = wrong[name][0]
            hint = (
                " Is it a rate? Then use --wer"
                if name == "errors" and 0 < number < 3
                else " Mend or remove it"
            )
            raise VoxauditError(
                f"{where}: row {wrong[ROW][0] + 1}: column '{shown}' is {number}; counts are whole and not"
                f" negative ({wrong.height} such rows).{hint}"
            )


def _speaker(
    table: pl.DataFrame, attributes: Sequence[str], columns: Columns, where: str
) -> tuple[pl.Expr, tuple[str, ...]]:
    if columns.surrogate:
        if columns.speaker in table.columns:
            raise VoxauditError(
                f"{where}: column '{columns.speaker}' has the speakers; leave out --surrogate-speaker, which is for"
                " tables without them"
            )
        parts = [pl.col(name).cast(pl.String).fill_null("(missing)") for name in attributes]
        return pl.concat_str(parts, separator=" | "), tuple(attributes)
    if columns.speaker not in table.columns:
        raise VoxauditError(
            f"{where}: no column '{columns.speaker}' of speakers, and utterances of one speaker are not independent."
            f" Name the column with --speaker; where speakers are not known, --surrogate-speaker lets all attributes"
            f" together stand in for one and marks every result so. Columns there: {', '.join(table.columns)}"
        )
    speaker = pl.col(columns.speaker).cast(pl.String)
    if columns.speaker_pattern:
        try:
            groups = re.compile(columns.speaker_pattern).groups
            if groups < 1:
                raise VoxauditError(
                    f"--speaker-pattern '{columns.speaker_pattern}' has no group (...) to take the speaker from"
                )
            found = speaker.str.extract(columns.speaker_pattern, 1)
            table.lazy().head(1).select(found).collect()
        except (re.error, pl.exceptions.PolarsError) as error:
            raise VoxauditError(
                f"--speaker-pattern '{columns.speaker_pattern}' is no regular expression ({one_line(error, 150)})"
            ) from error
        speaker = found.fill_null(speaker)
    return pl.when(speaker.str.strip_chars() != "").then(speaker), ()


def _repeated(trials: pl.DataFrame) -> int:
    key = trials.select(pl.struct("recognizer", "speaker", "utterance").hash().alias("key"))["key"]
    return len(key) - int(key.n_unique())
