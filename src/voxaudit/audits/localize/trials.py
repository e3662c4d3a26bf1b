"""The transcripts of one recogniser, laid out for counting: clean speech beside every disturbance of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from voxaudit.audits.inputs import TRANSCRIPT_KEYS, require_trials
from voxaudit.audits.localize.settings import remaining
from voxaudit.errors import VoxauditError, one_line
from voxaudit.perturb.scenario_id import ORIGINALS, is_original, read_scenario_id
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
        """Return a scenario's normalised texts in the order of the clean ones; null without an answer."""
        rows = heard.scenarios[_id(perturbation, setting)]
        answers = self.table[rows].select("utterance", pl.col("text").alias("heard"))
        joined = heard.utterances.select("utterance").join(
            answers, on="utterance", how="left", maintain_order="left"
        )
        return normalize_column(joined["heard"], rule)


def arrange(
    table: pl.DataFrame, where: str | Path, *, attribute: str | None, exclude: Iterable[str]
) -> Trials:
    """Check a table of transcripts and arrange it by recognizer and scenario.

    A recognizer without any clean transcript, a column of groups that is not there, or a trial that is there twice
    raises one line. Utterances without a group are left out.
    """
    require_columns(table, [*TRANSCRIPT_KEYS, *([attribute] if attribute else [])], where)
    if attribute in TRANSCRIPT_KEYS[1:]:
        raise VoxauditError(
            f"{where}: column '{attribute}' says nothing about a speaker; group by one that does, e.g. gender"
        )
    require_trials(table.lazy(), where)
    kinds = pl.col(attribute).cast(pl.String).str.strip_chars() if attribute else pl.lit(EVERYBODY)
    speaker = pl.col("speaker").cast(pl.String) if "speaker" in table.columns else pl.lit(None, pl.String)
    reference = pl.col(REFERENCE).cast(pl.String) if REFERENCE in table.columns else pl.lit(None, pl.String)
    table = table.select(
        pl.col(TRANSCRIPT_KEYS).cast(pl.String),
        kinds.alias("group"),
        speaker.alias("speaker"),
        reference.alias(REFERENCE),
    )
    grouped = pl.col("group").is_not_null() & (pl.col("group") != "")
    ungrouped = table.filter(~grouped)["utterance"].n_unique()
    table = table.filter(grouped)
    if table.is_empty():
        raise VoxauditError(
            f"{where}: no transcripts{f' with a value in column {attribute!r}' if attribute else ''}"
        )
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
        raise VoxauditError(f"{where}: only clean speech there: a drop needs a disturbance to compare with")
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
        raise VoxauditError(f"{where}: nothing is left after --exclude")
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


def reference_words(table: pl.DataFrame, rule: Normalizer) -> set[str]:
    """Return every word of the reference texts, normalised."""
    return set(_split(normalize_column(table[REFERENCE].drop_nulls().unique(), rule)))


def _split(texts: pl.Series) -> Iterator[str]:
    for text in texts.to_list():
        yield from text.split()


def _original(scenarios: Iterable[str], recognizer: str, where: str | Path) -> str:
    found = [scenario for scenario in scenarios if is_original(scenario)]
    if len(found) != 1:
        what = f"several scenarios ({', '.join(found)})" if found else "no transcripts"
        raise VoxauditError(
            f"{where}: recognizer '{one_line(recognizer, 60)}' has {what} of clean speech (scenario"
            f" '{ORIGINALS[0]}'): what is lost is measured from it. There must be one"
        )
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


def _check_once(own: pl.DataFrame, table: pl.DataFrame, where: str | Path) -> None:
    for name, scenario, rows, distinct in own.iter_rows():
        if distinct < len(rows):
            some = table[np.array(rows)]
            twice = some.filter(pl.col("utterance").is_duplicated())["utterance"][0]
            raise VoxauditError(
                f"{where}: utterance '{one_line(str(twice), 60)}' is there twice for {one_line(name, 40)} and"
                f" {one_line(scenario, 40)}. Leave one row for each trial"
            )
