"""What is counted: the transcripts of a recognizer, clean speech beside every disturbance of it, or counts of words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from voxaudit.answer import refuse
from voxaudit.audits.localize.drops import CELL
from voxaudit.audits.scores import KEYS, Transcripts, require_comparable
from voxaudit.errors import VoxauditError, one_line
from voxaudit.perturb.scenario_id import (
    ORIGINALS,
    is_original,
    places_excluded,
    read_scenario_id,
    read_setting,
    show_setting,
)
from voxaudit.score.normalize import Normalizer, normalize_column
from voxaudit.stats.cells import IntArray
from voxaudit.tables import require_columns

EVERYBODY = "all"
"""The group of all utterances where no column of groups is named."""

REFERENCE = "reference"


@dataclass(frozen=True, eq=False)
class Heard:
    """One recognizer: its utterances with clean transcripts, the rows of its other scenarios, and their ids."""

    recognizer: str
    utterances: pl.DataFrame
    scenarios: dict[str, IntArray]
    ids: pl.DataFrame


@dataclass(frozen=True, eq=False)
class Trials:
    """A checked table of transcripts; `settings` are the perturbations and settings of each recognizer."""

    table: pl.DataFrame
    recognizers: tuple[Heard, ...]
    settings: dict[str, dict[str, list[str]]]
    speakers_known: bool
    speakers_in_one_group: bool
    ungrouped: int

    def texts(self, heard: Heard, perturbation: str, setting: str, rule: Normalizer) -> pl.Series:
        """Return a scenario's normalized texts in the order of the clean ones; null without an answer."""
        rows = heard.scenarios[_id(perturbation, setting)]
        answers = self.table[rows].select("utterance", pl.col("text").alias("heard"))
        joined = heard.utterances.select("utterance").join(
            answers, on="utterance", how="left", maintain_order="left"
        )
        return normalize_column(joined["heard"], rule)


def arrange(read: Transcripts, *, attribute: str | None, exclude: Iterable[str]) -> Trials:
    """Check a table of transcripts and arrange it by recognizer and scenario.

    A recognizer without any clean transcript, a column of groups that is not there, or a trial that is there twice
    raises one line. Utterances without a group are left out.
    """
    where = read.require(*KEYS).where
    column = None if attribute is None else read.column(attribute)
    if column in KEYS[1:]:
        raise VoxauditError(
            f"{where}: column '{attribute}' says nothing about a speaker; group by one that does, such as gender",
            see=("attribute",),
        )
    missing = pl.lit(None, pl.String)
    table = read.collect(
        *KEYS,
        group=pl.lit(EVERYBODY) if column is None else pl.col(column).cast(pl.String).str.strip_chars(),
        **{
            name: pl.col(name).cast(pl.String) if name in read.names else missing
            for name in ("speaker", REFERENCE)
        },
    )
    grouped = pl.col("group").is_not_null() & (pl.col("group") != "")
    ungrouped = table.filter(~grouped)["utterance"].n_unique()
    table = table.filter(grouped)
    if attribute is not None:
        require_comparable(table["group"].unique().sort().to_list(), attribute)
    if table.is_empty():
        raise VoxauditError(f"{where}: no transcripts")
    places = (
        table.with_row_index("row")
        .group_by("recognizer", "scenario", maintain_order=True)
        .agg("row", pl.col("utterance").n_unique().alias("distinct"))
    )
    heard: list[Heard] = []
    settings: dict[str, dict[str, list[str]]] = {}
    for name in places["recognizer"].unique(maintain_order=True).to_list():
        own = places.filter(pl.col("recognizer") == name)
        _check_once(own, table, where)
        rows = dict(own.select("scenario", "row").iter_rows())
        clean = table[np.array(rows.pop(_original(rows, name, where)))]
        scenarios = {_id(*read_scenario_id(scenario).cell): np.array(row) for scenario, row in rows.items()}
        if len(scenarios) < len(rows):
            raise VoxauditError(
                f"{where}: several scenarios of recognizer '{one_line(name, 60)}' are the same perturbation and"
                f" setting ({_same(rows)}). Leave one of them"
            )
        if scenarios:
            heard.append(Heard(name, clean, scenarios, _ids(rows)))
            settings[name] = _settings(rows)
    if not heard:
        text = "only clean speech there: what gets lost is measured between clean and disturbed speech"
        raise refuse("nothing_disturbed", text, about="words")
    everything: dict[str, list[str]] = {}
    for own_settings in settings.values():
        for perturbation, some in own_settings.items():
            known = everything.setdefault(perturbation, [])
            known.extend(setting for setting in some if setting not in known)
    kept = remaining(everything, exclude)
    for name, own_settings in settings.items():
        settings[name] = {
            perturbation: left
            for perturbation, some in own_settings.items()
            if (left := [setting for setting in some if setting in kept.get(perturbation, ())])
        }
    if not any(settings.values()):
        raise VoxauditError(f"{where}: nothing is left to compare with clean speech", see=("exclude",))
    people = pl.concat([one.utterances.select("speaker", "group") for one in heard]).unique()
    known_speakers = people["speaker"].null_count() == 0
    return Trials(
        table,
        tuple(heard),
        settings,
        known_speakers,
        known_speakers and people["speaker"].n_unique() == people.height,
        ungrouped,
    )


def speakers_of(utterances: pl.DataFrame, groups: pl.Series) -> tuple[IntArray, IntArray]:
    """Return the number of each utterance's speaker, and the group of each number.

    Speakers are numbered within groups; where they are unknown, each group is one.
    """
    coded = utterances.select(
        pl.col("group").cast(pl.Enum(groups)).to_physical().cast(pl.Int64),
        pl.col("speaker").fill_null(""),
    )
    pairs = coded.unique(maintain_order=True).with_row_index("number")
    number = coded.join(pairs, on=["group", "speaker"], maintain_order="left")["number"]
    return number.to_numpy().astype(np.int64), pairs["group"].to_numpy().astype(np.int64)


def reference_words_of(table: pl.DataFrame, rule: Normalizer) -> set[str]:
    """Return every word of the reference texts, normalized."""
    return set(_split(normalize_column(table[REFERENCE].drop_nulls().unique(), rule)))


def _split(texts: pl.Series) -> Iterator[str]:
    for text in texts.to_list():
        yield from text.split()


def _original(scenarios: Iterable[str], recognizer: str, where: str) -> str:
    found = [scenario for scenario in scenarios if is_original(scenario)]
    if len(found) > 1:
        raise VoxauditError(
            f"{where}: recognizer '{one_line(recognizer, 60)}' has several scenarios ({', '.join(found)}) of clean"
            " speech; leave one of them"
        )
    if not found:
        text = (
            f"recognizer '{one_line(recognizer, 60)}' has no transcripts of clean speech (scenario '{ORIGINALS[0]}'):"
            " what is lost is measured from it"
        )
        raise refuse("no_clean_speech", text, about="words")
    return found[0]


def _same(scenarios: Iterable[str]) -> str:
    """Return the ids of the first scenarios that mean the same."""
    by_meaning: dict[str, list[str]] = {}
    for scenario in scenarios:
        by_meaning.setdefault(_id(*read_scenario_id(scenario).cell), []).append(scenario)
    return one_line(next(", ".join(ids) for ids in by_meaning.values() if len(ids) > 1), 120)


def _id(perturbation: str, setting: str) -> str:
    return f"{perturbation}:{setting}"


def _ids(scenarios: Iterable[str]) -> pl.DataFrame:
    rows = [(*read_scenario_id(scenario).cell, scenario) for scenario in scenarios]
    return pl.DataFrame(
        rows, schema=dict.fromkeys(("perturbation", "setting", "scenario"), pl.String), orient="row"
    )


def _settings(scenarios: Iterable[str]) -> dict[str, list[str]]:
    settings: dict[str, list[str]] = {}
    for scenario in scenarios:
        perturbation, setting = read_scenario_id(scenario).cell
        settings.setdefault(perturbation, []).append(setting)
    return settings


def _check_once(own: pl.DataFrame, table: pl.DataFrame, where: str) -> None:
    for name, scenario, rows, distinct in own.iter_rows():
        if distinct < len(rows):
            some = table[np.array(rows)]
            twice = some.filter(pl.col("utterance").is_duplicated())["utterance"][0]
            raise VoxauditError(
                f"{where}: utterance '{one_line(str(twice), 60)}' is there twice for {one_line(name, 40)} and"
                f" {one_line(scenario, 40)}. Leave one row for each trial"
            )


def remaining(present: Mapping[str, Sequence[str]], exclude: Iterable[str]) -> dict[str, list[str]]:
    """Return the perturbations and settings without those that `exclude` names (see `places_excluded`)."""
    cells = [(perturbation, setting) for perturbation, settings in present.items() for setting in settings]
    excluded = places_excluded(cells, exclude)
    kept: dict[str, list[str]] = {}
    for place, (perturbation, setting) in enumerate(cells):
        if place not in excluded:
            kept.setdefault(perturbation, []).append(setting)
    return kept


COLUMNS = ("recognizer", "perturbation", "setting", "group", "word", "count")


def is_counted(columns: Iterable[str]) -> bool:
    """Say whether a table with these columns holds counts of words rather than transcripts."""
    return {"word", "count"} <= set(columns)


def read_counts(
    table: pl.DataFrame,
    where: str,
    *,
    exclude: Iterable[str] = (),
    vocabulary: Iterable[str] | None = None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return (originals, counts) as `word_drops` takes them.

    `table` has recognizer, perturbation, setting, group, word and count, with clean speech as the perturbation
    `Original`. Every group needs the same settings, and nothing may be counted twice.
    """
    require_columns(table, COLUMNS, where)
    table = _typed(table.select(COLUMNS), where)
    if vocabulary is not None:
        table = table.filter(pl.col("word").is_in(list(vocabulary)))
        if table.is_empty():
            raise VoxauditError(
                f"{where}: none of the words asked for is counted there; write them as it does"
            )
    twice = table.filter(pl.struct(COLUMNS[:-1]).is_duplicated())
    if twice.height:
        row = ", ".join(str(value) for value in twice.row(0)[:-1])
        raise VoxauditError(
            f"{where}: counted twice: {one_line(row, 150)}. Leave one row for each word and cell"
        )
    clean = pl.col("perturbation").str.to_lowercase().is_in(ORIGINALS)
    originals, counts = table.filter(clean), table.filter(~clean)
    if originals.is_empty():
        raise VoxauditError(
            f"{where}: no rows of clean speech. Add them with 'Original' as the perturbation and an empty setting"
        )
    if counts.is_empty():
        raise VoxauditError(
            f"{where}: no rows besides clean speech: a drop needs a disturbance to compare with"
        )
    counts = _without(counts, exclude, where)
    _check_cells(originals, counts, where)
    cells = counts.select(CELL).unique(maintain_order=True)
    base = originals.select("recognizer", "group", "word", pl.col("count").alias("original"))
    return cells.join(base, on=["recognizer", "group"], maintain_order="left_right"), counts


def _typed(table: pl.DataFrame, where: str) -> pl.DataFrame:
    counted = table["count"].cast(pl.Float64, strict=False)
    bad = counted.is_null() | ~counted.is_finite() | (counted < 0) | (counted != counted.round())
    if bad.any():
        row = bad.arg_true()[0]
        raise VoxauditError(
            f"{where}: row {row + 2}, column 'count': '{one_line(str(table['count'][row]), 40)}' is not a whole number"
            " of times a word was heard"
        )
    names = ("recognizer", "perturbation", "group", "word")
    setting = table["setting"].cast(pl.String).fill_null("")
    spelt = {value: show_setting(read_setting(value)) for value in setting.unique().to_list()}
    typed = table.with_columns(
        *(pl.col(name).cast(pl.String).str.strip_chars() for name in names),
        setting.replace_strict(spelt, return_dtype=pl.String).alias("setting"),
        counted.cast(pl.Int64).alias("count"),
    )
    empty = typed.select(pl.any_horizontal(pl.col(names).is_null() | (pl.col(names) == "")))
    if empty.to_series().any():
        row = empty.to_series().arg_true()[0]
        raise VoxauditError(
            f"{where}: row {row + 2}: one of {', '.join(names)} is empty; fill it in or leave the row out"
        )
    return typed


def _without(counts: pl.DataFrame, exclude: Iterable[str], where: str) -> pl.DataFrame:
    present = counts.select("perturbation", "setting").unique(maintain_order=True)
    grouped = present.group_by("perturbation", maintain_order=True).agg("setting")
    settings = remaining(dict(grouped.iter_rows()), exclude)
    if not settings:
        raise VoxauditError(f"{where}: nothing is left to compare with clean speech", see=("exclude",))
    kept = [(name, setting) for name, settings in settings.items() for setting in settings]
    wanted = pl.DataFrame(kept, schema={"perturbation": pl.String, "setting": pl.String}, orient="row")
    return counts.join(wanted, on=["perturbation", "setting"], how="semi", maintain_order="left")


def _check_cells(originals: pl.DataFrame, counts: pl.DataFrame, where: str) -> None:
    """Refuse a group that a recognizer has no clean speech for, or that lacks a setting: 0 is not unknown."""
    who = counts.select("recognizer", "group").unique(maintain_order=True)
    lacking = who.join(originals, on=["recognizer", "group"], how="anti", maintain_order="left")
    if lacking.height:
        recognizer, group = lacking.row(0)
        raise VoxauditError(
            f"{where}: no rows of clean speech for {recognizer} and group {group}. Add them as 'Original'"
        )
    heard = counts.select("recognizer", "perturbation", "setting").unique(maintain_order=True)
    cells = heard.join(who, on="recognizer", maintain_order="left_right")
    columns = ["recognizer", "perturbation", "setting", "group"]
    missing = cells.join(counts, on=columns, how="anti", maintain_order="left")
    if missing.height:
        recognizer, perturbation, setting, group = missing.select(columns).row(0)
        raise VoxauditError(
            f"{where}: {recognizer} has no counts for group {group} at {perturbation} {setting}."
            f" Add rows (a count may be 0), or leave {perturbation}:{setting} out",
            see=("exclude",),
        )
