"""The ranking of recognizers: by what disturbed speech costs them, with ties where the data cannot tell."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np

from voxaudit.audits.robustness.levels import Node
from voxaudit.audits.robustness.resample import Resample, finite, spread, t_factor
from voxaudit.stats.bootstrap import FEWEST_SPEAKERS


def rank(
    overall: Mapping[str, Node], measure: str, resample: Resample, **labels: Any
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the rows of the ranking and of the comparisons behind it; smaller is better.

    The same speakers are drawn for both sides of a comparison. Intervals hold for all pairs at once: their width is
    the quantile of the largest standardised deviation among the pairs (single-step max-t), widened for few speakers.
    A recognizer's rank is one more than the number that are shown to be better, so those that cannot be told apart
    from the best all share rank 1; `rank_worst` allows for everyone not shown to be worse.
    """
    names = sorted(overall, key=lambda name: (np.nan_to_num(overall[name][measure][0], nan=np.inf), name))
    speakers = min(overall[name].speakers for name in names)
    known = speakers >= FEWEST_SPEAKERS
    pairs = list(combinations(names, 2))
    differences = [overall[a][measure] - overall[b][measure] for a, b in pairs]
    errors = [spread(difference) for difference in differences]
    half = _widths(differences, errors, speakers, resample.confidence) if known and pairs else []
    better: dict[str, set[str]] = {name: set() for name in names}
    compared = []
    for place, (a, b) in enumerate(pairs):
        estimate = float(differences[place][0])
        low = estimate - half[place] if half else None
        high = estimate + half[place] if half else None
        differ = low is not None and high is not None and not low <= 0.0 <= high
        if differ:
            winner, loser = (a, b) if estimate < 0 else (b, a)
            better[loser].add(winner)
        compared.append(
            {
                **labels,
                "recognizer": a,
                "against": b,
                "measure": measure,
                "difference": finite(estimate),
                "difference_low": low,
                "difference_high": high,
                "verdict": "refused: fewer than five known speakers"
                if not half
                else "better"
                if differ and estimate < 0
                else "worse"
                if differ
                else "no difference shown",
            }
        )
    rows = []
    for name in names:
        node = overall[name]
        low, high = resample.limits(node[measure], node.speakers)
        worse = sum(name in others for others in better.values())
        rows.append(
            {
                **labels,
                "recognizer": name,
                "rank": len(better[name]) + 1 if known or len(names) == 1 else None,
                "rank_worst": len(names) - worse if known or len(names) == 1 else None,
                "measure": measure,
                "estimate": finite(node[measure][0]),
                "low": low,
                "high": high,
                "scenarios": node.scenarios if measure == "werd" else node.normalized,
                "speakers": node.speakers or None,
            }
        )
    rows.sort(key=lambda row: row["rank"] or 0)
    return rows, compared


def _widths(differences: list[Any], errors: list[float], speakers: int, confidence: float) -> list[float]:
    drawn = [
        np.abs(difference[1:] - difference[0]) / error if error > 0 else np.zeros(len(difference) - 1)
        for difference, error in zip(differences, errors, strict=True)
    ]
    largest = np.nanmax(np.nan_to_num(np.stack(drawn), nan=0.0), axis=0)
    width = float(np.quantile(largest, confidence)) * t_factor(speakers, confidence)
    return [width * error if error > 0 else 0.0 for error in errors]
