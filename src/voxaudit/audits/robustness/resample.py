"""The bootstrap of the audit: one set of speaker draws for all conditions, so that differences are paired."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from voxaudit.stats.bootstrap import FEWEST_SPEAKERS, speaker_weights, widened_tail
from voxaudit.stats.cells import FloatArray


@dataclass(frozen=True)
class Resample:
    """How often each person is drawn, a row a resample; row 0 is everybody once, which gives the estimate."""

    weights: FloatArray
    confidence: float

    @property
    def people(self) -> int:
        """The number of people."""
        return int(self.weights.shape[1])

    def limits(self, values: FloatArray, speakers: int) -> tuple[float | None, float | None]:
        """Return the percentile interval of draws (`values[1:]`), widened for few speakers; None without one."""
        return limits(values, speakers, self.confidence)


def resample_people(people: pl.DataFrame, resamples: int, seed: int, confidence: float) -> Resample:
    """Draw people (columns person, stratum) with replacement within their strata, `resamples` times."""
    generator = np.random.Generator(np.random.PCG64(seed))
    weights = np.ones((resamples + 1, people.height))
    for _, group in sorted(people.group_by("stratum"), key=lambda item: str(item[0])):
        members = np.sort(group["person"].to_numpy())
        weights[1:, members] = speaker_weights(len(members), resamples, generator)
    return Resample(weights, confidence)


def limits(values: FloatArray, speakers: int, confidence: float) -> tuple[float | None, float | None]:
    """Return the percentile limits of `values[1:]`, widened to the t distribution's for few speakers.

    None with fewer than five speakers, or where most draws have no value; a limit that is infinite is None too.
    """
    drawn = values[1:]
    drawn = drawn[~np.isnan(drawn)]
    if speakers < FEWEST_SPEAKERS or 2 * len(drawn) < len(values) - 1 or not len(drawn):
        return None, None
    tail = widened_tail(speakers, confidence)
    if np.isfinite(drawn).all():
        low, high = np.quantile(drawn, [tail, 1.0 - tail], method="weibull")  # fair with few draws in a tail
    else:
        low, high = np.quantile(drawn, [tail, 1.0 - tail], method="inverted_cdf")
    return finite(low), finite(high)


def spread(values: FloatArray) -> float:
    """Return the bootstrap standard error: the standard deviation of the finite draws."""
    drawn = values[1:]
    drawn = drawn[np.isfinite(drawn)]
    return float(np.std(drawn, ddof=1)) if len(drawn) > 1 else float("nan")


def t_factor(speakers: int, confidence: float) -> float:
    """Return by how much intervals of the normal distribution widen where `speakers` people were drawn."""
    from scipy.special import ndtri, stdtrit

    upper = 0.5 + confidence / 2.0
    return float(np.sqrt(speakers / (speakers - 1)) * stdtrit(speakers - 1, upper) / ndtri(upper))


def ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    """Return `above / below`; 0/0 and x/0 are not a number: no words were drawn."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(below > 0.0, above / below, np.nan)


def finite(value: float) -> float | None:
    """Return a number, or None in place of infinity and NaN."""
    return float(value) if np.isfinite(value) else None
