"""The baseline: the ratio of two empirical word error rates, with bootstrap intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voxaudit.stats.bootstrap import FEWEST_SPEAKERS, widened_tail
from voxaudit.stats.cells import FloatArray, IntArray

_BLOCK = 4_000_000  # numbers drawn at a time: bounds memory


@dataclass(frozen=True)
class Limits:
    """A 95 % percentile interval."""

    ci_low: float
    ci_high: float


@dataclass(frozen=True)
class RatioBootstrap:
    """WER of a group over WER of the reference group.

    `utterances` resamples utterances, as is widely done and as Liu et al. (2022) do for their baseline: it takes the
    utterances of one speaker for independent and is therefore too narrow. `speakers` resamples speakers; None with
    fewer than five in either group.
    """

    ratio: float
    utterances: Limits | None
    speakers: Limits | None


def ratio_bootstrap(
    errors: FloatArray,
    words: FloatArray,
    case: NDArray[np.bool_],
    control: NDArray[np.bool_],
    speaker: IntArray | None,
    *,
    resamples: int = 2000,
    seed: int = 0,
) -> RatioBootstrap:
    """Return the WER ratio of the utterances `case` over those of `control` (masks) with bootstrap intervals."""
    generator = np.random.Generator(np.random.PCG64(seed))
    parts = [(errors[mask], words[mask]) for mask in (case, control)]
    totals = [(float(e.sum()), float(w.sum())) for e, w in parts]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = float(np.float64(totals[0][0] / totals[0][1]) / np.float64(totals[1][0] / totals[1][1]))
        drawn = [_resampled_rates(e, w, resamples, generator) for e, w in parts]
        utterances = _limits(drawn[0] / drawn[1], 0.025)
        speakers = None
        if speaker is not None:
            groups = [
                _speaker_sums(e, w, speaker[m]) for (e, w), m in zip(parts, (case, control), strict=True)
            ]
            fewest = min(len(group[0]) for group in groups)
            if fewest >= FEWEST_SPEAKERS:
                rates = _speaker_rates(groups, resamples, generator)
                speakers = _limits(rates[0] / rates[1], widened_tail(fewest, 0.95))
    return RatioBootstrap(ratio, utterances, speakers)


def _resampled_rates(
    errors: FloatArray, words: FloatArray, resamples: int, generator: np.random.Generator
) -> FloatArray:
    """Draw as many utterances as there are, with replacement, `resamples` times; return the error rates."""
    if not len(errors):
        return np.full(resamples, np.nan)
    pair = words * (errors.max() + 1.0) + errors  # counts are whole numbers, so this names the pair
    _, first, counts = np.unique(pair, return_index=True, return_counts=True)
    if len(first) * 10 < len(errors):  # few different utterances: draw how often each kind occurs
        draws = generator.multinomial(len(errors), counts / len(errors), size=resamples).astype(np.float64)
        return np.asarray((draws @ errors[first]) / (draws @ words[first]))
    return _resample(errors, words, resamples, generator)


def _resample(
    errors: FloatArray, words: FloatArray, resamples: int, generator: np.random.Generator
) -> FloatArray:
    rates, size = [], len(errors)
    for first in range(0, resamples, step := max(1, _BLOCK // size)):
        draws = generator.integers(0, size, (min(step, resamples - first), size))
        rates.append(errors[draws].sum(axis=1) / words[draws].sum(axis=1))
    return np.concatenate(rates)


def _speaker_sums(
    errors: FloatArray, words: FloatArray, speaker: IntArray
) -> tuple[IntArray, FloatArray, FloatArray]:
    who, code = np.unique(speaker, return_inverse=True)
    return who, np.asarray(np.bincount(code, errors), float), np.asarray(np.bincount(code, words), float)


def _speaker_rates(
    groups: list[tuple[IntArray, FloatArray, FloatArray]], resamples: int, generator: np.random.Generator
) -> list[FloatArray]:
    shared = np.intersect1d(groups[0][0], groups[1][0])
    if not len(shared):  # other people in each group: each is a sample of its own
        return [_resampled_rates(errors, words, resamples, generator) for _, errors, words in groups]
    # The same people in both groups are drawn together.
    everyone = np.union1d(groups[0][0], groups[1][0])
    sums = np.zeros((4, len(everyone)))
    for place, (who, errors, words) in enumerate(groups):
        at = np.searchsorted(everyone, who)
        sums[2 * place, at], sums[2 * place + 1, at] = errors, words
    totals = []
    for first in range(0, resamples, step := max(1, _BLOCK // len(everyone))):
        draws = generator.integers(0, len(everyone), (min(step, resamples - first), len(everyone)))
        totals.append(np.stack([row[draws].sum(axis=1) for row in sums]))
    drawn = np.concatenate(totals, axis=1)
    return [drawn[0] / drawn[1], drawn[2] / drawn[3]]


def _limits(ratios: FloatArray, tail: float) -> Limits | None:
    known = ratios[~np.isnan(ratios)]
    if len(known) < len(ratios) // 2:
        return None
    low, high = np.quantile(
        known, [tail, 1.0 - tail], method="inverted_cdf"
    )  # quantiles that may be infinite
    return Limits(float(low), float(high))
