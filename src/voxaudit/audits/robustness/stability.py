"""Stability: how much a result moves when a random perturbation is drawn again, beside other speakers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from voxaudit.audits.robustness.cells import spoken
from voxaudit.audits.robustness.levels import ALL, ATTACKED, Node, group_scenarios
from voxaudit.audits.robustness.resample import spread
from voxaudit.audits.robustness.settings import Setting
from voxaudit.audits.robustness.trials import Trials
from voxaudit.perturb import CLEAN


def draw_rates(trials: Trials) -> pl.DataFrame:
    """Return the word error rate of every draw: recognizer, language (where there are several), scenario, draw, wer.

    Only utterances heard in all draws of a scenario count. Rates are means over corpora. Perturbations that are
    known to draw nothing at random are left out.
    """
    by = [name for name in trials.unit if name != "corpus"]
    random = [name for name, setting in trials.settings.items() if setting.random and name != CLEAN]
    cell = [*trials.unit, "scenario"]
    table = spoken(trials).filter(pl.col("scenario").cast(pl.String).is_in(random))
    table = table.with_columns(draws=pl.col("draw").n_unique().over(cell)).filter(pl.col("draws") > 1)
    table = table.filter(pl.len().over([*cell, "person", "utterance"]) == pl.col("draws"))
    rates = table.group_by([*cell, "draw"]).agg(wer=pl.col("errors").sum() / pl.col("words").sum())
    rates = rates.group_by([*by, "scenario", "draw"]).agg(pl.col("wer").mean())
    return rates.with_columns(pl.col(name).cast(pl.String) for name in [*by, "scenario", "draw"]).sort(
        [*by, "scenario", "draw"]
    )


def stability_rows(
    rates: pl.DataFrame,
    nodes: Mapping[str, Node],
    overall: Mapping[str, Node],
    settings: Mapping[str, Setting],
    **labels: Any,
) -> list[dict[str, Any]]:
    """Return the spread of WER over draws of one recognizer: of every scenario, then overall.

    `draw_sd` is the standard deviation over draws, `sampling_sd` that over speakers (the bootstrap's). Overall takes
    the scenarios that have every draw, and is compared with the sampling error of all scenarios.
    """
    by_draw: dict[str, dict[str, float]] = {}
    for scenario, draw, wer in rates.select("scenario", "draw", "wer").iter_rows():
        by_draw.setdefault(scenario, {})[draw] = wer
    rows = [
        _row("scenario", name, list(values.values()), spread(nodes[name]["wer"]), labels)
        for name, values in by_draw.items()
        if len(values) > 1 and name in nodes
    ]
    draws = sorted(set().union(*by_draw.values())) if by_draw else []
    whole = [name for name, values in by_draw.items() if len(values) == len(draws)]
    for attack, name in ((False, ALL), (True, ATTACKED)):
        tree = group_scenarios([s for s in whole if settings[s].attack == attack], settings)
        if not tree or name not in overall:
            continue
        means = [
            float(
                np.mean(
                    [
                        np.mean([np.mean([by_draw[s][draw] for s in some]) for some in members.values()])
                        for members in tree.values()
                    ]
                )
            )
            for draw in draws
        ]
        rows.append(_row("overall", name, means, spread(overall[name]["wer"]), labels))
    return rows


def _row(
    level: str, name: str, values: list[float], sampling: float, labels: dict[str, Any]
) -> dict[str, Any]:
    return {
        **labels,
        "level": level,
        "name": name,
        "draws": len(values),
        "wer": float(np.mean(values)),
        "wer_min": float(np.min(values)),
        "wer_max": float(np.max(values)),
        "draw_sd": float(np.std(values, ddof=1)),
        "sampling_sd": sampling if np.isfinite(sampling) else None,
    }
