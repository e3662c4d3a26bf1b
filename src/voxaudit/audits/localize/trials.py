"""What is counted: the transcripts of a recognizer, clean speech beside every disturbance of it, or counts of words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from voxaudit.answer import refuse
from voxaudit.audits.scores import KEYS, ROWS_AT_A_TIME, Transcripts, require_comparable
from voxaudit.errors import VoxauditError, one_line
from voxaudit.perturb.scenario_id import (
    ORIGINALS,
    is_original,
    places_excluded,
    read_scenario_id,
    read_setting,
    show_setting,
)
from voxaudit.score.lost_words import CELL, Clean, IntArray, Words, lost_entries, words_of
from voxaudit.score.normalize import Normalizer, normalize_column
from voxaudit.tables import collect, require_columns

EVERYBODY = "all"
"""The group of all utterances where no column of groups is named."""

REFERENCE = "reference"

Disturbance = tuple[str, str]
"""A perturbation and its setting, as text."""


@dataclass(frozen=True, eq=False)
class Heard:
    """One recognizer: its utterances with clean transcripts, and the scenario of every disturbance."""

    recognizer: str
    utterances: pl.DataFrame
    scenarios: dict[Disturbance, str]

    @property
    def settings(self) -> dict[str, list[str]]:
        """The settings of every perturbation."""
        found: dict[str, list[str]] = {}
        for perturbation, setting in self.scenarios:
            found.setdefault(perturbation, []).append(setting)
        return found

    @property
    def ids(self) -> pl.DataFrame:
        """The id of the scenario of every perturbation and setting."""
        rows = [(*cell, scenario) for cell, scenario in self.scenarios.items()]
        names = ("perturbation", "setting", "scenario")
        return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")


@dataclass(frozen=True, eq=False)
class Trials:
    """A checked table of transcripts, of which some perturbations at a time are in memory."""

    lazy: pl.LazyFrame
    where: str
    recognizers: tuple[Heard, ...]
    people: pl.DataFrame
    """Every speaker with the group, once: `number`, `group`, `speaker` (empty where unknown)."""
    speakers_known: bool
    speakers_in_one_group: bool
    ungrouped: int

    @property
    def groups(self) -> pl.Series:
        """The groups, sorted."""
        return self.people["group"].unique().sort()

    def disturbed(
        self, heard: Heard, rule: Normalizer, said: Clean
    ) -> Iterator[tuple[str, dict[str, tuple[Words, IntArray]]]]:
        """Yield perturbations with the words of their normalized texts by setting, in the order of the clean ones, and
        which of those were lost.

        Of a file as many are read at a time as are no more than `ROWS_AT_A_TIME`, one at least; those become words
        together, as a call for each scenario costs more than its texts do.
        """
        clean = heard.utterances.select("utterance").with_row_index("row")
        at_a_time = max(1, ROWS_AT_A_TIME // max(1, clean.height))
        waiting = list(heard.settings.items())
        while waiting:
            sizes = np.cumsum([len(settings) for _, settings in waiting])
            count = max(1, int(np.searchsorted(sizes, at_a_time, side="right")))
            some, waiting = waiting[:count], waiting[count:]
            ids = [heard.scenarios[name, setting] for name, settings in some for setting in settings]
            own = (pl.col("recognizer") == heard.recognizer) & pl.col("scenario").is_in(ids)
            answers = collect(self.lazy.filter(own).select("scenario", "utterance", heard="text"), self.where)
            answers = answers.join(clean, on="utterance", maintain_order="left")
            number = answers["scenario"].cast(pl.String).cast(pl.Enum(ids)).to_physical().to_numpy()
            at = np.full(len(ids) * clean.height, -1)
            at[number.astype(np.int64) * clean.height + answers["row"].to_numpy()] = np.arange(answers.height)
            texts = answers["heard"].gather(pl.Series(at).replace(-1, None))
            words, _ = words_of(texts, rule, said.vocabulary)
            starts = range(0, len(at), max(1, clean.height))
            lost = zip(starts, lost_entries(said, words), strict=True)
            for name, settings in some:
                yield (
                    name,
                    {
                        setting: (words.texts(start, start + clean.height), entries)
                        for setting, (start, entries) in zip(settings, lost, strict=False)
                    },
                )

    def reference_words(self, rule: Normalizer) -> set[str]:
        """Return every word of the reference texts, normalized."""
        distinct = collect(self.lazy.select(pl.col(REFERENCE).drop_nulls().unique()), self.where)
        texts = normalize_column(distinct[REFERENCE], rule).to_list()
        return {word for text in texts for word in text.split()}


def arrange(read: Transcripts, *, attribute: str | None, exclude: Iterable[str]) -> Trials:
    """Check a table of transcripts and arrange it by recognizer and scenario.

    A recognizer without any clean transcript, a column of groups that is not there, or a trial that occurs twice
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
    lazy = read.lazy.select(
        *KEYS,
        group=pl.lit(EVERYBODY) if column is None else pl.col(column).cast(pl.String).str.strip_chars(),
        **{
            name: pl.col(name).cast(pl.String) if name in read.names else missing
            for name in ("speaker", REFERENCE)
        },
    )
    grouped = pl.col("group").is_not_null() & (pl.col("group") != "")
    ungrouped = collect(lazy.filter(~grouped).select(pl.col("utterance").n_unique()), where).item()
    lazy = lazy.filter(grouped)
    if attribute is not None:
        groups = collect(lazy.select(pl.col("group").unique().sort()), where)
        require_comparable(groups["group"].to_list(), attribute)
    utterance = pl.col("utterance")
    kinds = collect(
        lazy.group_by("recognizer", "scenario", maintain_order=True).agg(
            twice=utterance.filter(utterance.is_duplicated()).first()
        ),
        where,
    )
    if kinds.is_empty():
        raise VoxauditError(f"{where}: no transcripts")
    for recognizer, scenario, twice in kinds.filter(pl.col("twice").is_not_null()).iter_rows():
        raise VoxauditError(
            f"{where}: utterance '{one_line(twice, 60)}' occurs twice for {one_line(recognizer, 40)} and"
            f" {one_line(scenario, 40)}. Leave one row for each trial"
        )
    found = [
        _heard(name, own["scenario"].to_list(), lazy, where)
        for (name,), own in kinds.group_by("recognizer", maintain_order=True)
    ]
    heard = [one for one in found if one.scenarios]
    if not heard:
        text = "only clean speech there: what gets lost is measured between clean and disturbed speech"
        raise refuse("nothing_disturbed", text, about="words")
    kept = set(remaining(list(dict.fromkeys(cell for one in heard for cell in one.scenarios)), exclude))
    if not kept:
        raise VoxauditError(f"{where}: nothing is left to compare with clean speech", see=("exclude",))
    people = pl.concat([one.utterances.select("speaker", "group") for one in heard]).unique()
    known = people["speaker"].null_count() == 0
    return Trials(
        lazy,
        where,
        tuple(
            replace(one, scenarios={cell: id_ for cell, id_ in one.scenarios.items() if cell in kept})
            for one in heard
        ),
        people.sort("group", "speaker")
        .with_columns(pl.col("speaker").fill_null(""))
        .with_row_index("number"),
        known,
        known and people["speaker"].n_unique() == people.height,
        ungrouped,
    )


def _heard(name: str, scenarios: Sequence[str], lazy: pl.LazyFrame, where: str) -> Heard:
    """Return what one recognizer heard; clean speech must be there once, and every disturbance once."""
    who = one_line(name, 60)
    originals = [scenario for scenario in scenarios if is_original(scenario)]
    if len(originals) > 1:
        raise VoxauditError(
            f"{where}: recognizer '{who}' has several scenarios ({', '.join(originals)}) of clean speech; leave one of"
            " them"
        )
    if not originals:
        text = (
            f"recognizer '{who}' has no transcripts of clean speech (scenario '{ORIGINALS[0]}'): what is lost is"
            " measured from it"
        )
        raise refuse("no_clean_speech", text, about="words")
    clean = collect(lazy.filter(recognizer=name, scenario=originals[0]), where)
    meant: dict[Disturbance, list[str]] = {}
    for scenario in (one for one in scenarios if one not in originals):
        meant.setdefault(read_scenario_id(scenario).cell, []).append(scenario)
    same = next((", ".join(ids) for ids in meant.values() if len(ids) > 1), None)
    if same is not None:
        raise VoxauditError(
            f"{where}: several scenarios of recognizer '{who}' are the same perturbation and setting"
            f" ({one_line(same, 120)}). Leave one of them"
        )
    return Heard(name, clean, {cell: ids[0] for cell, ids in meant.items()})


def speakers_of(utterances: pl.DataFrame, trials: Trials) -> tuple[IntArray, IntArray]:
    """Return the number of each utterance's speaker, the same for all recognizers, and the group of each number.

    Speakers are numbered within groups; where they are unknown, each group is one.
    """
    coded = utterances.select("group", pl.col("speaker").fill_null(""))
    number = coded.join(trials.people, on=["group", "speaker"], maintain_order="left")["number"]
    group = trials.people["group"].cast(pl.Enum(trials.groups)).to_physical()
    return number.to_numpy().astype(np.int64), group.to_numpy().astype(np.int64)


def remaining(cells: Sequence[Disturbance], exclude: Iterable[str]) -> list[Disturbance]:
    """Return the perturbations and settings without those that `exclude` names (see `places_excluded`)."""
    excluded = places_excluded(cells, exclude)
    return [cell for place, cell in enumerate(cells) if place not in excluded]


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
    cells = counts.select("perturbation", "setting").unique(maintain_order=True)
    kept = remaining(cells.rows(), exclude)
    if not kept:
        raise VoxauditError(f"{where}: nothing is left to compare with clean speech", see=("exclude",))
    wanted = pl.DataFrame(kept, schema=cells.schema, orient="row")
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
