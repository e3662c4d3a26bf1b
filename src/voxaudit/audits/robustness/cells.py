"""Cells: a recognizer in a scenario (of a language and corpus), as sums per speaker beside those of clean speech."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from voxaudit.audits.robustness.resample import Resample, ratio
from voxaudit.audits.robustness.trials import COUNTS, Trials
from voxaudit.perturb import CLEAN
from voxaudit.stats.bootstrap import FEWEST_SPEAKERS
from voxaudit.stats.cells import FloatArray
from voxaudit.stats.rates import Pulls, pulls

TWINS = 0.5
"""A scenario whose utterances have a clean twin in at least this share is compared on the twins alone."""

_SUMS = (*COUNTS, "clean_errors", "clean_words")


@dataclass(frozen=True)
class Cell:
    """Error rates of one scenario; row 0 of each array is the estimate, the others are bootstrap draws.

    `clean` is the rate on clean speech that the scenario is compared with: of the same utterances where `paired`.
    `speakers` is the smaller number of people on either side, 0 where some are unnamed. `left_out` counts
    utterances without a clean twin. `pulls` are those of all people on `wer` and `cer`, a column each.
    """

    scenario: str
    place: tuple[str, ...]
    wer: FloatArray
    cer: FloatArray
    clean: FloatArray
    paired: bool
    speakers: int
    utterances: int
    left_out: int
    pulls: Mapping[str, Pulls]

    @property
    def interval(self) -> bool:
        """Say whether there are enough known speakers for an interval."""
        return self.speakers >= FEWEST_SPEAKERS


def build_cells(trials: Trials, recognizer: str, resample: Resample) -> list[Cell]:
    """Return the cells of one recognizer: all scenarios with speech, clean among them."""
    mine = spoken(trials).filter(pl.col("recognizer") == recognizer)
    places = list(trials.places)
    rows = utterance_means(mine, trials, [])
    key = [*places, "person", "utterance"]
    clean = rows.filter(pl.col("scenario") == CLEAN).select(
        *key, clean_errors=pl.col("errors"), clean_words=pl.col("words")
    )
    rows = rows.join(clean, on=key, how="left")
    twin = pl.col("clean_words").is_not_null()
    rows = rows.with_columns(paired=twin.mean().over([*places, "scenario"]) >= TWINS)
    cell = [*places, "scenario", "paired"]
    kept = rows.filter(~pl.col("paired") | twin)
    lost = rows.filter(pl.col("paired") & ~twin).group_by(cell).agg(left_out=pl.len())
    sums = kept.group_by([*cell, "person"]).agg(*(pl.col(name).sum() for name in _SUMS), utterances=pl.len())
    keys = sums.group_by(cell).agg(pl.col("utterances").sum(), speakers=pl.len())
    keys = keys.join(lost, on=cell, how="left").with_columns(pl.col("left_out").fill_null(0))
    keys = keys.sort([pl.col(name).cast(pl.String) for name in cell[:-1]]).with_row_index("cell")
    sums = sums.join(keys.select("cell", *cell), on=cell)
    dense = _dense(sums, resample.people, keys.height)
    strangers = np.zeros(keys.height, dtype=bool)
    strangers[sums.filter(pl.col("person").is_in(list(trials.unnamed)))["cell"].to_numpy()] = True
    wer = ratio(resample.weights @ dense["errors"], resample.weights @ dense["words"])
    cer = ratio(resample.weights @ dense["character_errors"], resample.weights @ dense["characters"])
    shares = {
        "wer": pulls(dense["errors"], dense["words"])[1],
        "cer": pulls(dense["character_errors"], dense["characters"])[1],
    }
    before = ratio(resample.weights @ dense["clean_errors"], resample.weights @ dense["clean_words"])
    cells = [
        Cell(
            scenario=str(row["scenario"]),
            place=tuple(str(row[name]) for name in places),
            wer=wer[:, row["cell"]],
            cer=cer[:, row["cell"]],
            clean=before[:, row["cell"]],
            paired=row["paired"],
            speakers=0 if strangers[row["cell"]] else row["speakers"],
            utterances=row["utterances"],
            left_out=row["left_out"],
            pulls={name: own.column(row["cell"]) for name, own in shares.items()},
        )
        for row in keys.iter_rows(named=True)
    ]
    return [cell if cell.paired else _against_home(cell, cells, trials.places) for cell in cells]


def spoken(trials: Trials) -> pl.DataFrame:
    """Return the rows whose scenario leaves something to be recognised."""
    silent = [name for name, setting in trials.settings.items() if not setting.speech]
    return trials.table.filter(~pl.col("scenario").cast(pl.String).is_in(silent)) if silent else trials.table


def utterance_means(table: pl.DataFrame, trials: Trials, extra: list[str]) -> pl.DataFrame:
    """Return one row an utterance: random draws are averaged, so that none counts twice."""
    columns = [*trials.unit, "scenario", "person", "utterance", *extra]
    if not trials.draw:
        return table.select(*columns, *COUNTS)
    return table.group_by(columns).agg(pl.col(name).mean() for name in COUNTS)


def _dense(sums: pl.DataFrame, people: int, cells: int) -> dict[str, FloatArray]:
    at = (sums["person"].to_numpy(), sums["cell"].to_numpy())
    dense = {}
    for name in _SUMS:
        dense[name] = np.zeros((people, cells))
        dense[name][at] = sums[name].fill_null(0.0).to_numpy()
    return dense


def _against_home(cell: Cell, cells: list[Cell], places: tuple[str, ...]) -> Cell:
    """Return a cell of other utterances with the clean speech it is compared with.

    That is clean speech of its own corpus where there is some, else the mean over the corpora of its language.
    """
    clean = [other for other in cells if other.scenario == CLEAN]
    home = [other for other in clean if other.place == cell.place]
    if not home:
        language = [place for name, place in zip(places, cell.place, strict=True) if name == "language"]
        home = [
            other
            for other in clean
            if [place for name, place in zip(places, other.place, strict=True) if name == "language"]
            == language
        ]
    rates = np.full_like(cell.wer, np.nan) if not home else np.mean([other.clean for other in home], axis=0)
    fewest = min([cell.speakers, *(other.speakers for other in home)])
    return Cell(**{**cell.__dict__, "clean": rates, "speakers": fewest})
