"""Difficulty: how much a scenario harms the sound, on one scale for all of them (Speech Robust Bench, section 3.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voxaudit.corpus import base_language
from voxaudit.errors import VoxauditError
from voxaudit.perturb import CLEAN
from voxaudit.tables import as_frame, read_table, require_columns, require_single

MEAN, SPREAD = 50.0, 25.0
"""Mean and standard deviation that each measure has over the scenarios."""

FEWEST_SCENARIOS = 3
"""With fewer scenarios there is no scale to put them on."""

FEWEST_CLUSTERS = 5
"""With fewer speakers utterances are resampled instead; with fewer utterances there is no interval."""

PUBLISHED, MEASURED, NONE = "published", "measured", "none"
MEASURED_HERE = "measured in this run"
MEASURED_THERE = "measured in these runs, the mean over them"
PUBLISHED_IN = "published (Speech Robust Bench, Table 3)"
QUALITY = "quality.parquet"
"""The qualities of a run's audio, beside its scores."""

Floats = NDArray[np.float64]
Rate = TypeVar("Rate", float, NDArray[np.float64])
Value = TypeVar("Value", float, NDArray[np.float64])


def nwerd(werd: Rate, difficulty: float) -> Rate:
    """Return the normalized degradation `NWERD = 100 * WERD / difficulty`, in the unit of `werd`.

    Errors under easy scenarios weigh more. Averages over a category are plain means of this (SRB section 3.2).
    """
    if not difficulty > 0.0:
        raise VoxauditError(f"a difficulty must be above 0 to divide by it, not {difficulty:g}")
    return 100.0 * werd / difficulty


def difficulties(
    quality: pl.DataFrame,
    *,
    dnsmos: str = "dnsmos",
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> pl.DataFrame:
    """Return the difficulty of every scenario in a quality table (columns utterance, scenario, dnsmos, pesq, speaker).

    Scores are averaged over a scenario's utterances, taken times -1 and normalized over the scenarios to mean 50 and
    (population) standard deviation 25; the difficulty is the mean of DNSMOS's and PESQ's, or DNSMOS's alone where
    there is no PESQ, as for `clean` and natural speech. It is relative to the scenarios in the table: leave one out
    and all others move. `dnsmos` names the column to use (`overall` is the P.835 model's).

    Columns: scenario, difficulty, dnsmos_normalized, pesq_normalized, utterances, low, high, clusters, resampled. The
    limits hold at `confidence`, by a Bayesian bootstrap of speakers, or of utterances where fewer than five speakers
    are known (`resampled` says which, `clusters` how many); all scenarios share the draws, as they share the speakers.
    Null limits mean fewer than five. Scenarios without any DNSMOS are left out; fewer than three are refused.
    """
    require_columns(quality, ["utterance", "scenario", dnsmos], "quality table")
    if not 0.0 < confidence < 1.0:
        raise VoxauditError(f"confidence must lie between 0 and 1, not {confidence:g}")
    table = quality.filter(pl.col(dnsmos).is_not_null())
    names = table["scenario"].unique(maintain_order=True).to_list()
    if len(names) < FEWEST_SCENARIOS:
        raise VoxauditError(
            f"difficulty is relative: it needs at least {FEWEST_SCENARIOS} scenarios with a DNSMOS, not {len(names)}."
            " Measure more, or use the published difficulties"
        )
    cluster, resampled = _clusters(table)
    scenario = table["scenario"].replace_strict(names, range(len(names)), return_dtype=pl.Int64).to_numpy()
    groups = int(cluster.max()) + 1
    generator = np.random.Generator(np.random.PCG64(seed))
    # The first row weighs all alike: the estimate. No draw loses a speaker, so no scenario is ever left without one.
    weights = np.vstack([np.ones(groups), generator.standard_exponential((resamples, groups))])
    columns = [dnsmos, *(["pesq"] if "pesq" in table.columns and table["pesq"].count() else [])]
    scaled = {
        column: _normalized(table[column], scenario, cluster, weights, len(names)) for column in columns
    }
    parts = np.stack(list(scaled.values()))
    given = np.isfinite(parts)
    drawn = np.where(given, parts, 0.0).sum(axis=0) / given.sum(axis=0)
    clusters = np.array([len(np.unique(cluster[scenario == number])) for number in range(len(names))])
    reach = _reach(drawn[1:], clusters, confidence)
    pesq = scaled.get("pesq", np.full_like(drawn, np.nan))[0]
    return pl.DataFrame(
        {
            "scenario": names,
            "difficulty": drawn[0],
            "dnsmos_normalized": scaled[dnsmos][0],
            "pesq_normalized": pesq,
            "utterances": np.bincount(scenario, minlength=len(names)),
            "low": drawn[0] - reach,
            "high": drawn[0] + reach,
            "clusters": clusters,
            "resampled": resampled,
        }
    ).with_columns(pl.col("pesq_normalized", "low", "high").fill_nan(None))


def difficulties_drawn(
    quality: pl.DataFrame,
    column: str,
    number: Mapping[str, int],
    sums: Callable[[Floats], Floats],
    *,
    dnsmos: str = "dnsmos",
) -> dict[str, Floats]:
    """Return the difficulty of every scenario in every draw of clusters, as `difficulties` would measure it there.

    `number` says which cluster a value of `column` is; `sums` turns a matrix of clusters x scenarios into sums over the
    clusters drawn, draws x scenarios. nan where a draw leaves no scale to put scenarios on.
    """
    table = quality.filter(pl.col(dnsmos).is_not_null())
    names = table["scenario"].unique(maintain_order=True).to_list()
    scenario = table["scenario"].replace_strict(names, range(len(names)), return_dtype=pl.Int64).to_numpy()
    cluster = np.array([number[name] for name in table[column].to_list()])
    total, measures = np.zeros(len(names)), np.zeros(len(names))
    for name in (dnsmos, *(["pesq"] if "pesq" in table.columns and table["pesq"].count() else [])):
        known = table[name].is_not_null().to_numpy()
        cells = (cluster[known], scenario[known])
        above, below = np.zeros((2, max(number.values()) + 1, len(names)))
        np.add.at(above, cells, table[name].to_numpy()[known])
        np.add.at(below, cells, 1.0)
        given = below.any(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            means = sums(above[:, given]) / sums(below[:, given])
            spread = means.std(axis=1, keepdims=True)
            own = MEAN + SPREAD * (means.mean(axis=1, keepdims=True) - means) / spread
        scaled = np.zeros((len(means), len(names)))
        scaled[:, given] = np.where(np.isfinite(own), own, np.nan)
        total, measures = total + scaled, measures + given
    return {name: (total / measures)[:, place] for place, name in enumerate(names)}


def _clusters(table: pl.DataFrame) -> tuple[NDArray[np.int64], str]:
    """Return the cluster of every row, and what the clusters are."""
    if "speaker" in table.columns:
        speakers = table["speaker"]
        if speakers.null_count() == 0 and speakers.n_unique() >= FEWEST_CLUSTERS:
            return (speakers.rank("dense").cast(pl.Int64) - 1).to_numpy(), "speakers"
    return (table["utterance"].rank("dense").cast(pl.Int64) - 1).to_numpy(), "utterances"


def _normalized(
    scores: pl.Series, scenario: NDArray[np.int64], cluster: NDArray[np.int64], weights: Floats, count: int
) -> Floats:
    """Return `50 + 25 (-x - mean) / sd` over scenarios, of the weighted mean x of every scenario: draws x scenarios."""
    known = scores.is_not_null().to_numpy()
    sums = np.zeros((weights.shape[1], count))
    numbers = np.zeros((weights.shape[1], count))
    np.add.at(sums, (cluster[known], scenario[known]), scores.to_numpy()[known])
    np.add.at(numbers, (cluster[known], scenario[known]), 1.0)
    with np.errstate(invalid="ignore"):
        means = (weights @ sums) / (weights @ numbers)
    spread = np.nanstd(means, axis=1, keepdims=True)
    if not (spread > 0.0).all():
        raise VoxauditError(f"all scenarios have the same {scores.name}: there is no scale to put them on")
    normalized: Floats = MEAN + SPREAD * (np.nanmean(means, axis=1, keepdims=True) - means) / spread
    return normalized


def _reach(drawn: Floats, clusters: NDArray[np.int64], confidence: float) -> Floats:
    """Return half the width of each interval: the draws' standard deviation times the t distribution's quantile."""
    from voxaudit.numeric import stdtrit

    few = clusters < FEWEST_CLUSTERS
    number = np.where(few, FEWEST_CLUSTERS, clusters).astype(np.float64)
    # Exponential weights spread a mean by sqrt(s2 / (n + 1)) of the population variance; a sample mean varies by n - 1.
    widened = drawn.std(axis=0) * np.sqrt((number + 1.0) / (number - 1.0))
    reach: Floats = np.where(few, np.nan, widened * stdtrit(number - 1.0, 0.5 + confidence / 2.0))
    return reach


# The difficulties that Speech Robust Bench published, under our scenario ids.

LANGUAGES = ("en", "es")


def published_difficulties(language: str = "en") -> pl.DataFrame:
    """Return Table 3 of Shah et al. (Speech Robust Bench, 2025).

    `language` chooses between the paper's two accented and synthetic sets (`en`, `es`); everything else is the
    paper's average over its corpora. Attacks have none: they are reported as plain WERD. The PESQ column has mean
    62.5, not the 50 of the text, so these are about 6 points higher than `difficulties` would give.
    Columns: scenario, difficulty, dnsmos_normalized, pesq_normalized.
    """
    if language not in LANGUAGES:
        raise VoxauditError(f"published difficulties are for {' and '.join(LANGUAGES)}, not '{language}'")
    return _of_language(_table3(), language)


def _table3() -> pl.DataFrame:
    text = resources.files(__package__).joinpath("srb_table3.csv").read_bytes()
    return pl.read_csv(text, schema_overrides={"pesq_normalized": pl.Float64})


def _of_language(table: pl.DataFrame, language: str | None) -> pl.DataFrame:
    """Return the rows that hold in a language (`es`, also of `es-MX`): its own, and those of no language."""
    if "language" not in table.columns:
        return table
    own = pl.col("language").cast(pl.String).str.to_lowercase()
    return table.filter(own.is_null() | (own == base_language(language or ""))).drop("language")


def choose_difficulties(
    choice: Any, folders: Iterable[Path], scenarios: Sequence[str], languages: Mapping[str, str | None]
) -> tuple[dict[str, dict[str, float | None]] | None, str]:
    """Return {label: {scenario: difficulty}}, None where nothing is divided by one, and where they are from.

    `choice` is `published`, `measured`, `none`, a file or a table (columns scenario and difficulty, and language where
    they differ by it), or None: measured where `folders` of runs have qualities (the mean over them), else published
    where one of `scenarios` has one. `languages` are {label: language}. Of an unknown language (empty) the published
    ones are the English ones; None is several languages at once, which have only the difficulties that all languages
    share.
    """
    table, origin = _chosen(choice, folders, scenarios)
    if table is None:
        return None, origin
    require_columns(table, ["scenario", "difficulty"], origin)
    values = table["difficulty"]
    if not values.dtype.is_numeric():
        raise VoxauditError(f"{origin}: column 'difficulty' must hold numbers, not {values.dtype}")
    table = table.with_columns(pl.col("scenario").cast(pl.String), pl.col("difficulty").cast(pl.Float64))
    found = {}
    for label, language in languages.items():
        unknown = LANGUAGES[0] if origin == PUBLISHED_IN else ""
        own = _of_language(table, unknown if language == "" else language)
        require_single(own["scenario"], origin)
        found[label] = dict(own.select("scenario", "difficulty").iter_rows())
    return found, origin


def quality_of(origin: str, folders: Iterable[Path]) -> list[pl.DataFrame]:
    """Return the qualities that difficulties of this origin (see `choose_difficulties`) were measured on, if any."""
    return (
        [read_table(path) for path in _quality(folders)] if origin in (MEASURED_HERE, MEASURED_THERE) else []
    )


def _quality(folders: Iterable[Path]) -> list[Path]:
    return [folder / QUALITY for folder in folders if (folder / QUALITY).exists()]


def average(parts: Sequence[Mapping[str, Value]]) -> dict[str, Value]:
    """Return the mean of every scenario over the runs that have it.

    >>> average([{"echo:1": 40.0, "gain:1": 20.0}, {"echo:1": 50.0}])
    {'echo:1': 45.0, 'gain:1': 20.0}
    """
    values: dict[str, list[Value]] = {}
    for part in parts:
        for scenario, value in part.items():
            values.setdefault(scenario, []).append(value)
    return {scenario: sum(some[1:], some[0]) / len(some) for scenario, some in values.items()}


def _chosen(
    choice: Any, folders: Iterable[Path], scenarios: Sequence[str]
) -> tuple[pl.DataFrame | None, str]:
    if not (choice is None or isinstance(choice, str | Path)):
        return as_frame(choice), "as given"
    measured = _quality(folders)
    if choice == NONE:
        return None, NONE
    if choice == MEASURED and not measured:
        raise VoxauditError(
            f"no {QUALITY} beside the scores. Measure the quality of the run's audio first (the audit `quality`), or"
            " use the published difficulties",
            see=("difficulty",),
        )
    if measured and choice in (None, MEASURED):
        try:
            own = [difficulties(read_table(path)).select("scenario", "difficulty") for path in measured]
            mean = average([dict(one.iter_rows()) for one in own])
            table = pl.DataFrame({"scenario": list(mean), "difficulty": list(mean.values())})
            return table, MEASURED_HERE if len(own) == 1 else MEASURED_THERE
        except VoxauditError:  # too few scenarios: difficulties are relative to each other
            if choice == MEASURED:
                raise
    if choice in (None, PUBLISHED):
        table = _table3()
        if choice is None and not set(table["scenario"]) & (set(scenarios) - {CLEAN}):
            return None, NONE
        return table, PUBLISHED_IN
    return read_table(choice), str(choice)
