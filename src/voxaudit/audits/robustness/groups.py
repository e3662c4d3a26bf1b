"""LWERR: the logarithm of the ratio of two groups' word error rates, per scenario and category."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from voxaudit.audits.robustness.cells import spoken, utterance_means
from voxaudit.audits.robustness.levels import ALL, ATTACKED, group_scenarios
from voxaudit.audits.robustness.resample import (
    Resample,
    finite,
    limits,
    ratio,
    resample_people,
    spread,
    t_p_value,
)
from voxaudit.audits.robustness.result import Refusal
from voxaudit.audits.robustness.settings import Setting
from voxaudit.audits.robustness.trials import Trials
from voxaudit.perturb import CLEAN
from voxaudit.stats.bootstrap import FEWEST_SPEAKERS
from voxaudit.stats.cells import FloatArray
from voxaudit.stats.multiplicity import holm

REST = "the rest"
SHOWN, UNDECIDED = "gap shown", "no gap shown"


def group_rows(
    trials: Trials, attribute: str, *, resamples: int, seed: int, confidence: float
) -> tuple[list[dict[str, Any]], list[Refusal]]:
    """Return LWERR rows of one attribute, and what was refused.

    `LWERR = log2(WER of a group / WER of the other)` (SRB Eq. 5). Of two groups the first by name is divided by the
    second; of more, each by all others together. Above the scenarios, word error rates are averaged before the ratio
    is taken, as for the paper's Figure 7. `change` is LWERR less LWERR of clean speech.
    """
    column = f"attribute:{attribute}"
    table = spoken(trials).filter(pl.col(column).is_not_null())
    rows = utterance_means(table, trials, [column]).rename({column: "level"})
    if rows["level"].n_unique() < 2:
        return [], [Refusal(attribute, "it has fewer than two groups")]
    sums = rows.group_by([*trials.unit, "scenario", "level", "person"]).agg(pl.col("errors", "words").sum())
    sums = sums.with_columns(pl.col(name).cast(pl.String) for name in [*trials.unit, "scenario", "level"])
    # A group is a sample of its own: people are drawn within it, so that its size stays what it is.
    own = sums.group_by("person").agg(pl.col("level").unique().sort().str.join("\0").alias("groups"))
    people = trials.people.join(own, on="person", how="left").select(
        "person", stratum=pl.col("stratum") + "\0" + pl.col("groups").fill_null("")
    )
    resample = resample_people(people, resamples, seed, confidence)
    found: list[dict[str, Any]] = []
    refusals: dict[tuple[str, str], Refusal] = {}
    for key, part in sorted(sums.group_by(trials.unit), key=lambda item: str(item[0])):
        labels = dict(zip(trials.unit, key, strict=True))
        for group, other, ours, theirs in _sides(part):
            about = f"{attribute} {group}" + "".join(f", {labels[place]}" for place in trials.places)
            few = _too_few(group, other, ours, theirs, trials)
            if few:
                refusals.setdefault((about, few), Refusal(about, few))
                continue
            fewest = min(ours["person"].n_unique(), theirs["person"].n_unique())
            values = _log_ratios(ours, theirs, resample, trials.settings)
            silent = sorted(name for _, name in values if not np.isfinite(values[_, name][0]))
            if silent:
                reason = (
                    f"one side has no errors ({', '.join(silent[:3])}{', ...' if len(silent) > 3 else ''})"
                )
                refusals.setdefault((about, reason), Refusal(f"{labels['recognizer']}: {about}", reason))
            baseline = values.get(("scenario", CLEAN))
            found += [
                _row(labels, attribute, group, other, level, name, value, baseline, fewest, resample)
                for (level, name), value in values.items()
                if np.isfinite(value[0])
            ]
    _adjust(found)
    return found, list(refusals.values())


def _sides(part: pl.DataFrame) -> list[tuple[str, str, pl.DataFrame, pl.DataFrame]]:
    levels = sorted(part["level"].unique().to_list())
    if len(levels) < 2:
        return []
    chosen = levels[:1] if len(levels) == 2 else levels
    return [
        (
            level,
            levels[1] if len(levels) == 2 else REST,
            part.filter(pl.col("level") == level),
            part.filter(pl.col("level") != level),
        )
        for level in chosen
    ]


def _too_few(group: str, other: str, ours: pl.DataFrame, theirs: pl.DataFrame, trials: Trials) -> str:
    for name, side in ((group, ours), (other, theirs)):
        people = set(side["person"].unique().to_list())
        if people & trials.unnamed:
            return f"some speakers of '{name}' are unnamed"
        if len(people) < FEWEST_SPEAKERS:
            return f"'{name}' has {len(people)} speakers; at least {FEWEST_SPEAKERS} are needed"
    return ""


def _log_ratios(
    ours: pl.DataFrame, theirs: pl.DataFrame, resample: Resample, settings: Mapping[str, Setting]
) -> dict[tuple[str, str], FloatArray]:
    """Return {(level, name): log2 ratio}, row 0 the estimate, of all scenarios that both sides were heard in."""
    shared = sorted(set(ours["scenario"].to_list()) & set(theirs["scenario"].to_list()))
    sides = [_rates(side, shared, resample) for side in (ours, theirs)]
    nodes: dict[tuple[str, str], tuple[FloatArray, FloatArray]] = {
        ("scenario", name): (sides[0][:, place], sides[1][:, place]) for place, name in enumerate(shared)
    }
    whole: dict[bool, list[tuple[FloatArray, FloatArray]]] = {False: [], True: []}
    for category, members in group_scenarios(shared, settings).items():
        inside = [_mean([nodes["scenario", s] for s in some]) for some in members.values()]
        nodes["category", category] = _mean(inside)
        attack = all(settings[s].attack for some in members.values() for s in some)
        whole[attack].append(nodes["category", category])
    for attack, name in ((False, ALL), (True, ATTACKED)):
        if whole[attack]:
            nodes["overall", name] = _mean(whole[attack])
    with np.errstate(divide="ignore", invalid="ignore"):
        return {key: np.log2(a / b) for key, (a, b) in nodes.items()}


def _mean(parts: list[tuple[FloatArray, FloatArray]]) -> tuple[FloatArray, FloatArray]:
    return np.mean([a for a, _ in parts], axis=0), np.mean([b for _, b in parts], axis=0)


def _rates(side: pl.DataFrame, scenarios: list[str], resample: Resample) -> FloatArray:
    places = pl.DataFrame({"scenario": scenarios}).with_row_index("place")
    cells = side.join(places, on="scenario").group_by("person", "place").agg(pl.col("errors", "words").sum())
    at = (cells["person"].to_numpy(), cells["place"].to_numpy())
    errors, words = np.zeros((2, resample.people, len(scenarios)))
    errors[at], words[at] = cells["errors"].to_numpy(), cells["words"].to_numpy()
    return ratio(resample.weights @ errors, resample.weights @ words)


def _row(
    labels: Mapping[str, str],
    attribute: str,
    group: str,
    other: str,
    level: str,
    name: str,
    value: FloatArray,
    baseline: FloatArray | None,
    speakers: int,
    resample: Resample,
) -> dict[str, Any]:
    low, high = limits(value, speakers, resample.confidence)
    change: tuple[float | None, ...] = (None, None, None)
    if baseline is not None and np.isfinite(baseline[0]) and name != CLEAN:
        with np.errstate(invalid="ignore"):
            moved = value - baseline
        change = (finite(moved[0]), *limits(moved, speakers, resample.confidence))
    return {
        **labels,
        "attribute": attribute,
        "group": group,
        "against": other,
        "level": level,
        "name": name,
        "speakers": speakers,
        "lwerr": float(value[0]),
        "lwerr_low": low,
        "lwerr_high": high,
        "change": change[0],
        "change_low": change[1],
        "change_high": change[2],
        # Without two limits some draws are infinite, and their spread says too little.
        "p": None if low is None or high is None else t_p_value(float(value[0]), spread(value), speakers),
    }


def _adjust(rows: list[dict[str, Any]]) -> None:
    """Add Holm's p-values, over all rows of one level, and the verdict they give."""
    for level in ("scenario", "category", "overall"):
        some = [row for row in rows if row["level"] == level]
        for row, adjusted in zip(some, holm([row["p"] for row in some]), strict=True):
            row["p_holm"] = adjusted
            row["verdict"] = SHOWN if adjusted is not None and adjusted < 0.05 else UNDECIDED
