"""The setting at which a listener fails: psychometric curves, as in audiometry, with a recognizer as the listener.

Settings lie on an axis of harm, 0 at the mild end and 1 at the harsh end. One *track* is one speaker: what was heard of
him or her at which settings, as wrong words out of words. A staircase hears every speaker at the ends of the axis, then
where the errors are expected to reach the level.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

Ask = Callable[[Sequence[tuple[int, int, float]]], tuple[FloatArray, FloatArray]]
"""From (speaker, number of the trial, place on the axis) to wrong words and words; 0 words where nothing was heard."""

STEPS = 200
"""Settings that can be asked for: the axis in so many steps, so that trials can be found in the cache again."""

TEMPER = 2.0
"""Words of one utterance fail together: so many count as one."""

_QUANTILES = (0.5, 0.3, 0.7)
_CERTAIN = 0.98


@dataclass(frozen=True)
class Curves:
    """The candidate curves of a speaker: where errors reach `level`, how steeply, and how many there are at first.

    `p(u) = floor + (1 - floor) sigmoid((u - threshold) / width + c)` with c such that `p(threshold) = level`. The
    thresholds reach beyond the axis on both sides: a speaker may break sooner or later than it shows.
    """

    level: float

    @cached_property
    def thresholds(self) -> FloatArray:
        """Return the candidates for the setting at which errors reach the level."""
        return np.linspace(-0.5, 1.5, 161)

    @cached_property
    def _shapes(self) -> tuple[FloatArray, FloatArray]:
        widths = np.array([0.015, 0.03, 0.06, 0.12])
        floors = self.level * np.array([0.05, 0.3, 0.6, 0.85])
        grid = np.meshgrid(widths, floors, indexing="ij")
        return grid[0].ravel(), grid[1].ravel()

    def __call__(self, settings: FloatArray) -> FloatArray:
        """Return the share of wrong words of every candidate at every setting: settings x thresholds x shapes."""
        widths, floors = self._shapes
        inner = (self.level - floors) / (1.0 - floors)
        offset = np.log(inner / (1.0 - inner))
        where = (settings[:, None, None] - self.thresholds[:, None]) / widths + offset
        share = floors + (1.0 - floors) / (1.0 + np.exp(-np.clip(where, -60.0, 60.0)))
        return np.asarray(np.clip(share, 0.005, 0.98), dtype=np.float64)

    def log_likelihood(self, settings: FloatArray, wrong: FloatArray, words: FloatArray) -> FloatArray:
        """Return the log-likelihood of every candidate for one track: thresholds x shapes."""
        p = self(settings)
        wrong = np.minimum(wrong, words)  # insertions can make more errors than there are words
        part = wrong[:, None, None] * np.log(p) + (words - wrong)[:, None, None] * np.log1p(-p)
        return np.asarray(part.sum(axis=0) / TEMPER, dtype=np.float64)


def posterior(log_likelihood: FloatArray, shapes: FloatArray | None = None) -> FloatArray:
    """Return the probability of every candidate, all thresholds being alike beforehand and the `shapes` weighted."""
    weighted = log_likelihood if shapes is None else log_likelihood + np.log(shapes)
    probability = np.exp(weighted - weighted.max())
    return np.asarray(probability / probability.sum(), dtype=np.float64)


def next_setting(curves: Curves, log_likelihood: FloatArray, trial: int) -> float:
    """Return where to listen next: the ends first, then where the errors are expected to reach the level.

    The threshold's median takes turns with its 30 and 70 % quantiles, which tell how steep the curve is.
    """
    if trial < 2:
        return float(trial)
    mass = posterior(log_likelihood).sum(axis=1).cumsum()
    wanted = _QUANTILES[(trial - 2) % len(_QUANTILES)]
    at = float(curves.thresholds[min(int(np.searchsorted(mass, wanted)), len(mass) - 1)])
    return round(min(max(at, 0.0), 1.0) * STEPS) / STEPS


def beyond(curves: Curves, log_likelihood: FloatArray) -> bool:
    """Say whether a speaker's threshold is almost surely off the axis: listening on would tell nothing more."""
    mass = posterior(log_likelihood).sum(axis=1)
    return bool(
        mass[curves.thresholds > 1.0].sum() > _CERTAIN or mass[curves.thresholds < 0.0].sum() > _CERTAIN
    )


def fit_thresholds(curves: Curves, tracks: Sequence[FloatArray]) -> FloatArray:
    """Return the threshold of every track, given the log-likelihoods of the tracks.

    How steep curves are and where they start is learned from all tracks together (nonparametric empirical Bayes by EM);
    the threshold itself is each speaker's own, with no pull towards the others'.
    """
    shapes = np.full(tracks[0].shape[1], 1.0 / tracks[0].shape[1])
    for _ in range(30):
        shapes = np.mean([posterior(track, shapes).sum(axis=0) for track in tracks], axis=0)
        shapes = np.maximum(shapes, 1e-6)
    found = [posterior(track, shapes).sum(axis=1) @ curves.thresholds for track in tracks]
    return np.array(found, dtype=np.float64)


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
    """Return how far, as a share of words, errors are from rising: the largest fall between neighboring stretches.

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
