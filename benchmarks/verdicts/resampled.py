"""Worlds made of real speakers: people are drawn from a study, with all they said, and put into groups by chance.

Koenecke's data are not here: an environment variable (or an option of the command) says where they are. Without them
that world is left out, and the reason is printed. The readers of the accents are those of the public audit.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
from benchmarks.verdicts.worlds import Array

KOENECKE, ACCENTS = "Koenecke", "accents"
PLACES: Mapping[str, str] = {KOENECKE: "VERDICTS_KOENECKE", ACCENTS: "VERDICTS_ACCENTS"}
"""World to the environment variable that names its file or folder."""
HERE = {ACCENTS: Path(__file__).parents[2] / "studies" / "2026-public" / "scores" / "disturbed.parquet"}
"""Where no variable says so."""
ABOUT: Mapping[str, str] = {
    KOENECKE: "98 speakers of Koenecke et al. (2020) with their segments and five recognizers, race by lot",
    ACCENTS: "110 speakers of the Speech Accent Archive, a text each, clean and disturbed speech, groups by lot",
}
AS_THEY_ARE: Mapping[str, str] = {KOENECKE: "Koenecke's races", ACCENTS: "accents as they are"}
"""The same with the groups that people have: something to find."""


class NoDataError(RuntimeError):
    """The data of a world are not on this machine."""


@dataclass(frozen=True)
class Pool:
    """Real speakers: which utterances are whose, words, errors (columns x utterances), and the speakers' real groups.

    A column is a recognizer or a scenario; `group` is 0 or 1, -1 for speakers of neither.
    """

    starts: Array
    counts: Array
    words: Array
    errors: Array
    group: Array

    @property
    def wer(self) -> float:
        """Errors per word over all speakers and columns, every speaker as likely as another to be drawn."""
        return float(self.errors.mean(axis=0).sum() / self.words.sum())

    @property
    def mean_rates(self) -> Array:
        """Means over speakers of their mean rates over utterances, by column."""
        rates = np.add.reduceat(self.errors / self.words, self.starts, axis=1) / self.counts
        means: Array = rates.mean(axis=1)
        return means


@cache
def pool(world: str) -> Pool:
    """Read the speakers of a world; `NoDataError` says what is missing."""
    variable = PLACES[world]
    where = os.environ.get(variable) or HERE.get(world)
    if not where:
        raise NoDataError(f"{world}: {variable} does not say where its data are")
    path = Path(where)
    if not path.exists():
        raise NoDataError(f"{world}: no file or folder at {variable}")
    return _koenecke(path) if world == KOENECKE else _accents(path)


def missing(world: str) -> str:
    """Return why a world cannot be had here; empty where it can."""
    base = next((name for name, other in AS_THEY_ARE.items() if other == world), world)
    if base not in PLACES:
        return ""
    try:
        pool(base)
    except NoDataError as reason:
        return str(reason)
    return ""


def _koenecke(path: Path) -> Pool:
    """Read the published table: a row per segment, a rate per recognizer; parts of a recording are one speaker's."""
    table = pl.read_csv(path)
    parts = pl.col("source").is_in(["DCB", "PRV", "ROC"])
    own = pl.col("basefile")
    table = table.with_columns(speaker=pl.when(parts).then(own.str.replace(r"_\d+$", "")).otherwise(own))
    rates = [name for name in table.columns if name.startswith("clean_") and name.endswith("_wer")]
    errors = table.select((pl.col(rates) * pl.col("wordcount")).round()).to_numpy().T
    return _pooled(table["speaker"], table["wordcount"].to_numpy(), errors, table["black_flag"].to_numpy())


def _accents(path: Path) -> Pool:
    """Read the scores of a run: its columns are recognizers and scenarios; English against Mandarin speakers."""
    table = pl.read_parquet(path / "scores.parquet" if path.is_dir() else path)
    if "errors" not in table.columns:
        table = table.with_columns(errors=pl.sum_horizontal("substitutions", "deletions", "insertions"))
    cell = pl.concat_str("recognizer", pl.lit("/"), "scenario")
    keys = ["utterance", "speaker", "words", "native_language"]
    wide = table.with_columns(cell=cell).pivot("cell", index=keys, values="errors").drop_nulls().sort(keys)
    errors = wide.drop(keys).to_numpy().T
    language = wide["native_language"].replace_strict(
        {"english": 0, "mandarin": 1}, default=-1, return_dtype=pl.Int64
    )
    return _pooled(wide["speaker"], wide["words"].to_numpy(), errors, language.to_numpy())


def _pooled(speaker: pl.Series, words: Array, errors: Array, group: Array) -> Pool:
    names, code = np.unique(speaker.to_numpy(), return_inverse=True)
    order = np.argsort(code, kind="stable")
    counts = np.bincount(code, minlength=len(names))
    starts = np.cumsum(counts) - counts
    return Pool(
        starts,
        counts,
        words[order].astype(np.int64),
        errors[:, order].astype(np.int64),
        group[order][starts].astype(np.int64),
    )


def draw_speakers(generator: np.random.Generator, pool: Pool, sizes: tuple[int, int], *, real: bool) -> Array:
    """Return which speakers of the pool are drawn, with replacement: from all, or each group from its own."""
    if not real:
        return generator.integers(0, len(pool.counts), sum(sizes))
    parts = [generator.choice(np.flatnonzero(pool.group == one), size) for one, size in enumerate(sizes)]
    return np.concatenate(parts)


def utterances_of(
    generator: np.random.Generator, pool: Pool, drawn: Array, most: int | None
) -> tuple[Array, Array]:
    """Return the number of utterances of everyone drawn, and their places in the pool; `most` at random of each."""
    places = []
    for one in drawn:
        own = np.arange(pool.starts[one], pool.starts[one] + pool.counts[one])
        if most is not None and len(own) > most:
            own = np.sort(generator.choice(own, most, replace=False))
        places.append(own)
    return np.array([len(one) for one in places]), np.concatenate(places)
