"""The setting at which a listener fails: psychometric curves, as in audiometry, with a recognizer as the listener.

Settings lie on an axis of harm, 0 at the mild end and 1 at the harsh end. One *track* is one speaker: what was heard of
him or her at which settings, as wrong words out of words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

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
