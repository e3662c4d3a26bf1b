"""LWERR: the logarithm of the ratio of two groups' word error rates, per scenario and category."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from voxaudit.answer import Refusal
from voxaudit.audits.robustness.levels import ALL, ATTACKED, finite, group_scenarios
from voxaudit.audits.robustness.trials import Trials
from voxaudit.perturb import CLEAN
from voxaudit.perturb.settings import Setting
from voxaudit.stats.bootstrap import FEWEST_SPEAKERS
from voxaudit.stats.cells import FloatArray
from voxaudit.stats.multiplicity import holm
from voxaudit.stats.rates import LogRatio, Pulls, log_ratio, mean_pulls, pulls, rate_intervals
from voxaudit.wording import counted, listed

REST = "the rest"

Nodes = dict[tuple[str, str], FloatArray]
"""What is averaged, by level and name: the weights of the scenarios."""


def group_rows(
    trials: Trials, attribute: str, *, confidence: float
) -> tuple[list[dict[str, Any]], list[Refusal]]:
    """Return LWERR rows of one attribute, and what was refused.

    `LWERR = log2(WER of a group / WER of the other)` (SRB Eq. 5). Of two groups the first by name is divided by the
    second; of more, each by all others together. Above the scenarios, word error rates are averaged before the ratio
    is taken, as for the paper's Figure 7. `change` is LWERR less LWERR of clean speech. Intervals and p-values take
    speakers as the sample (`stats.rates`): each group has a variance of its own, as in Welch's test.
    """
    column = f"attribute:{attribute}"
    table = trials.spoken.filter(pl.col(column).is_not_null())
    rows = trials.utterance_means(table, [column]).rename({column: "level"})
    sums = rows.group_by([*trials.unit, "scenario", "level", "person"]).agg(pl.col("errors", "words").sum())
    sums = sums.with_columns(pl.col(name).cast(pl.String) for name in [*trials.unit, "scenario", "level"])
    found: list[dict[str, Any]] = []
    refusals: dict[tuple[str, str], Refusal] = {}
    for key, part in sorted(sums.group_by(trials.unit), key=lambda item: str(item[0])):
        labels = dict(zip(trials.unit, key, strict=True))
        for group, other, ours, theirs in _sides(part):
            about = f"{attribute} {group}" + "".join(f", {labels[place]}" for place in trials.places)
            few = _too_few(about, ((group, ours), (other, theirs)), trials)
            if few is not None:
                refusals.setdefault((about, few.text), few)
                continue
            fewest = min(ours["person"].n_unique(), theirs["person"].n_unique())
            compared = _compare(ours, theirs, trials.people.height, trials.settings)
            silent = sorted(name for (_, name), value in compared.items() if not np.isfinite(value.log2))
            if silent:
                text = f"one side has no errors ({listed(silent, 3)})"
                about = f"{labels['recognizer']}: {about}"
                refusals.setdefault((about, text), Refusal("too_few_errors", about, text))
            about_row = {**labels, "attribute": attribute, "group": group, "against": other}
            found += [
                {**about_row, "level": level, "name": name, "speakers": fewest, **value.row(confidence)}
                for (level, name), value in compared.items()
                if np.isfinite(value.log2)
            ]
    _adjust(found)
    return found, _merged(attribute, list(refusals.values()))


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


def _too_few(about: str, sides: Iterable[tuple[str, pl.DataFrame]], trials: Trials) -> Refusal | None:
    for name, side in sides:
        people = set(side["person"].unique().to_list())
        if people & trials.unnamed:
            return Refusal("no_speakers", about, f"some speakers of '{name}' are unnamed")
        if len(people) < FEWEST_SPEAKERS:
            text = f"'{name}' has {counted(len(people), 'speaker')}; at least {FEWEST_SPEAKERS} are needed"
            facts = {"group": name, "speakers": len(people), "needed": FEWEST_SPEAKERS}
            return Refusal("too_few_speakers", about, text, facts)
    return None


def _merged(attribute: str, refusals: list[Refusal]) -> list[Refusal]:
    """Return the refusals, those of several small groups in one line."""
    small = {one.facts["group"]: one.facts["speakers"] for one in refusals if one.code == "too_few_speakers"}
    if len(small) < 2:
        return refusals
    groups = listed([f"{group} ({speakers})" for group, speakers in small.items()], 8)
    text = f"groups of fewer than {FEWEST_SPEAKERS} speakers are not compared: {groups}"
    facts = {"groups": small, "needed": FEWEST_SPEAKERS}
    others = [one for one in refusals if one.code != "too_few_speakers"]
    return [Refusal("too_few_speakers", attribute, text, facts), *others]


@dataclass(frozen=True)
class _Compared:
    """LWERR of one level and name, and its change from clean speech, where there is some."""

    ratio: LogRatio
    change: LogRatio | None

    @property
    def log2(self) -> float:
        return self.ratio.estimate / math.log(2.0)

    def row(self, confidence: float) -> dict[str, float | None]:
        row: dict[str, float | None] = {}
        for name, value in (("lwerr", self.ratio), ("change", self.change)):
            ends = (None, None) if value is None else value.limits(confidence)
            row[name] = None if value is None else finite(value.estimate / math.log(2.0))
            for side, end in zip(("low", "high"), ends, strict=True):
                row[f"{name}_{side}"] = None if end is None else finite(end / math.log(2.0))
        return row | {"p": self.ratio.p}


def _compare(
    ours: pl.DataFrame, theirs: pl.DataFrame, people: int, settings: Mapping[str, Setting]
) -> dict[tuple[str, str], _Compared]:
    """Return {(level, name): the comparison} over all scenarios that both sides were heard in."""
    shared = sorted(set(ours["scenario"].to_list()) & set(theirs["scenario"].to_list()))
    if not shared:
        return {}
    nodes = _nodes(shared, settings)
    weights = np.stack(list(nodes.values()), axis=1)
    (our_rates, our_pulls), (their_rates, their_pulls) = (
        mean_pulls(*pulls(*_sums(side, shared, people)), weights) for side in (ours, theirs)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(our_rates) - np.log(their_rates)
    plain = log_ratio(logs, our_pulls, their_pulls)
    clean = list(nodes).index(("scenario", CLEAN)) if CLEAN in shared else None
    if clean is None or not np.isfinite(logs[clean]):
        return {key: _Compared(plain[index], None) for index, key in enumerate(nodes)}
    with np.errstate(invalid="ignore"):
        moved = logs - logs[clean]
    change = log_ratio(moved, *(_since(side, clean) for side in (our_pulls, their_pulls)))
    return {
        key: _Compared(plain[index], None if index == clean else change[index])
        for index, key in enumerate(nodes)
    }


def _nodes(scenarios: list[str], settings: Mapping[str, Setting]) -> Nodes:
    """Return scenarios, then categories (means over perturbations of means over settings), then all of them."""
    own = dict(zip(scenarios, np.eye(len(scenarios)), strict=True))
    nodes: Nodes = {("scenario", name): own[name] for name in scenarios}
    whole: dict[bool, list[FloatArray]] = {False: [], True: []}
    for category, members in group_scenarios(scenarios, settings).items():
        inside = [np.mean([own[name] for name in some], axis=0) for some in members.values()]
        nodes["category", category] = np.mean(inside, axis=0)
        attack = all(settings[name].attack for some in members.values() for name in some)
        whole[attack].append(nodes["category", category])
    for attack, name in ((False, ALL), (True, ATTACKED)):
        if whole[attack]:
            nodes["overall", name] = np.mean(whole[attack], axis=0)
    return nodes


def _sums(side: pl.DataFrame, scenarios: list[str], people: int) -> tuple[FloatArray, FloatArray]:
    """Return errors and words, people x scenarios."""
    places = pl.DataFrame({"scenario": scenarios}).with_row_index("place")
    cells = side.join(places, on="scenario").group_by("person", "place").agg(pl.col("errors", "words").sum())
    at = (cells["person"].to_numpy(), cells["place"].to_numpy())
    errors, words = np.zeros((2, people, len(scenarios)))
    errors[at], words[at] = cells["errors"].to_numpy(), cells["words"].to_numpy()
    return errors, words


def _since(side: Pulls, clean: int) -> Pulls:
    """Return the pulls on the change from clean speech: the same people are on both sides of it."""
    return Pulls(side.pull - side.pull[:, [clean]], (side.share + side.share[:, [clean]]) / 2.0)


def _adjust(rows: list[dict[str, Any]]) -> None:
    """Add Holm's p-values, over all rows of one level, and the verdict they give."""
    for level in ("scenario", "category", "overall"):
        some = [row for row in rows if row["level"] == level]
        for row, adjusted in zip(some, holm([row["p"] for row in some]), strict=True):
            row["p_adjusted"] = adjusted
            row["verdict"] = "shown" if adjusted is not None and adjusted < 0.05 else "not_shown"


def group_rates(trials: Trials, *, confidence: float) -> pl.DataFrame:
    """Return the error rate of every group of every attribute, by recognizer (and place) and scenario.

    Columns: recognizer, places, attribute, group, scenario, utterances, speakers, words, wer, low, high.
    """
    by = [*trials.unit, "scenario", "group"]
    frames = []
    for attribute in trials.groups:
        column = f"attribute:{attribute}"
        rows = trials.utterance_means(trials.spoken.filter(pl.col(column).is_not_null()), [column])
        # Speakers are few beside their utterances: everything below is done with their sums.
        table = rows.group_by([*by[:-1], column, "person"]).agg(
            pl.col("errors", "words").sum(), utterances=pl.len().cast(pl.Int64)
        )
        table = table.with_columns(
            *(pl.col(name).cast(pl.String) for name in by[:-1]),
            group=pl.col(column).cast(pl.String),
            # Nobody is everybody: a speaker without a name gives no interval.
            person=pl.when(~pl.col("person").is_in(list(trials.unnamed))).then(pl.col("person")),
        )
        rates = table.group_by(by).agg(
            pl.col("utterances", "words").sum(), wer=pl.col("errors").sum() / pl.col("words").sum()
        )
        found = rate_intervals(table, by, speaker="person", confidence=confidence)
        frames.append(
            rates.join(found.rename({"ci_low": "low", "ci_high": "high"}), on=by)
            .sort(by)
            .select(
                *trials.unit,
                pl.lit(attribute).alias("attribute"),
                *("group", "scenario", "utterances", pl.col("speakers").cast(pl.Int64)),
                *("words", pl.col("wer").fill_nan(None), "low", "high"),
            )
        )
    return pl.concat(frames) if frames else pl.DataFrame()
