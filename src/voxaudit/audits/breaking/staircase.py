"""Staircases: every speaker is heard at the ends of the axis, then where the errors are expected to reach the level."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from voxaudit.stats.psychometric import Curves, FloatArray, beyond, fit_thresholds, next_setting

Ask = Callable[[Sequence[tuple[int, int, float]]], tuple[FloatArray, FloatArray]]
"""From (speaker, number of the trial, place on the axis) to wrong words and words; 0 words where nothing was heard."""


@dataclass(frozen=True)
class Track:
    """What was heard of one speaker: places on the axis, wrong words and words."""

    places: FloatArray
    wrong: FloatArray
    words: FloatArray

    def __len__(self) -> int:
        return len(self.places)


def run_tracks(levels: Sequence[float], budget: int, ask: Ask) -> list[Track]:
    """Return a track per speaker, `levels` being the share of wrong words that each one's staircase aims at.

    All speakers take their next step together, so that a recognizer always has a batch to hear. A speaker whose
    threshold is almost surely off the axis is heard no further than half the budget.
    """
    curves = {level: Curves(level) for level in set(levels)}
    heard: list[list[tuple[float, float, float]]] = [[] for _ in levels]
    known = [np.zeros((len(curves[level].thresholds), 16)) for level in levels]
    done = [False] * len(levels)
    for trial in range(budget):
        asked = [
            (speaker, trial, next_setting(curves[level], known[speaker], trial))
            for speaker, level in enumerate(levels)
            if not done[speaker]
        ]
        if not asked:
            break
        wrong, words = ask(asked)
        for (speaker, _, place), k, w in zip(asked, wrong.tolist(), words.tolist(), strict=True):
            if w <= 0:
                continue
            heard[speaker].append((place, k, w))
            curve = curves[levels[speaker]]
            known[speaker] += curve.log_likelihood(np.array([place]), np.array([k]), np.array([w]))
            done[speaker] = trial + 1 >= max(4, budget // 2) and beyond(curve, known[speaker])
    return [Track(*np.array(rows).reshape(-1, 3).T) for rows in heard]


def thresholds(tracks: Sequence[Track], level: float) -> FloatArray:
    """Return where on the axis each speaker's errors reach the level; beyond 0 or 1 means off the axis."""
    curves = Curves(level)
    likelihoods = [curves.log_likelihood(track.places, track.wrong, track.words) for track in tracks]
    return fit_thresholds(curves, likelihoods)


def order_of_harm(tracks: Sequence[Track]) -> tuple[float, float]:
    """Return by how much the share of wrong words is higher at the harsh end than at the mild one, and its t value.

    Over speakers; what is not clearly above 0 has no breaking point.
    """
    rises = np.array([rise for track in tracks if (rise := _rise(track)) is not None])
    if len(rises) < 2:
        return float("nan"), 0.0
    error = max(float(rises.std(ddof=1)), 1e-6) / np.sqrt(len(rises))
    return float(rises.mean()), float(rises.mean() / error)


def misfit(tracks: Sequence[Track], places: FloatArray) -> float:
    """Return how far, as a share of words, errors are from rising: the largest fall between neighbouring stretches.

    Trials are sorted into five stretches by their distance from the speaker's own threshold. A fall counts where it is
    three standard errors large; 0 where there is none.
    """
    edges = np.array([-0.2, -0.05, 0.05, 0.2])
    stretches: list[list[float]] = [[] for _ in range(len(edges) + 1)]
    for track, place in zip(tracks, places.tolist(), strict=True):
        where = np.searchsorted(edges, track.places - place)
        for stretch in np.unique(where):
            own = where == stretch
            share = np.minimum(track.wrong[own], track.words[own]).sum() / track.words[own].sum()
            stretches[int(stretch)].append(float(share))
    known = [np.array(shares) for shares in stretches if len(shares) >= 5]
    worst = 0.0
    for mild, harsh in pairwise(known):
        fall = float(mild.mean() - harsh.mean())
        error = float(np.sqrt(mild.var(ddof=1) / len(mild) + harsh.var(ddof=1) / len(harsh)))
        if fall > 3.0 * error:
            worst = max(worst, fall)
    return worst


def _rise(track: Track) -> float | None:
    mild, harsh = track.places <= 0.0, track.places >= 1.0
    if not mild.any() or not harsh.any():
        return None
    shares = [
        float(np.minimum(track.wrong[own], track.words[own]).sum() / track.words[own].sum())
        for own in (mild, harsh)
    ]
    return shares[1] - shares[0]
