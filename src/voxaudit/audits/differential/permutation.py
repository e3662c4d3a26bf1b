"""Is a gap more than chance among speakers? Whole speakers change groups, all scenarios together.

The claim behind a violation is that the gap exceeds tau, so that is what is tested: tau per word is taken off the
disturbed edits of the base group's speakers, and the remaining gap must be larger than when speakers are dealt to the
two groups at random. A speaker's clean and disturbed sums move together. The gap is divided by its standard error
(linearised, speakers as the sample): the test is exact where the groups differ by nothing but tau, and stays right for
many speakers where they also differ in size and spread (Chung and Romano 2013).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from voxaudit.audits.differential.sums import FloatArray, IntArray, SpeakerSums

ENUMERATED = 20_000
"""Up to so many ways of dealing the speakers, every one is tried."""

_PRODUCT = 250_000
"""Multiplications in a matrix product. Larger ones leave the processor's cache, and BLAS splits them over threads that
wait for each other: on a busy machine that is many times slower than one thread."""
_SHAPE = (128, 64)
"""At most so many permutations and claims are worked on at a time."""
_TIE = 1e-9


@dataclass(frozen=True)
class Claims:
    """Claims about two groups: `against[k]` 0 says that the first group is the worse one, 1 the second."""

    pair: IntArray
    scenario: IntArray
    against: IntArray
    tau: FloatArray

    def __len__(self) -> int:
        return len(self.pair)

    def __getitem__(self, places: IntArray) -> Claims:
        return Claims(self.pair[places], self.scenario[places], self.against[places], self.tau[places])


def is_exact(first: int, second: int) -> bool:
    """Say whether groups of so many speakers are small enough to try every way of dealing them."""
    return comb(first + second, first) <= ENUMERATED


def exceedances(
    sums: SpeakerSums,
    first: int,
    second: int,
    claims: Claims,
    permutations: int,
    generator: np.random.Generator,
) -> tuple[IntArray, int]:
    """Return, for every claim, how many ways of dealing the speakers reach its statistic, and how many were tried.

    Where all ways are tried the real one is among them: p is the ratio. Otherwise p is (count + 1) / (tried + 1).
    """
    speakers = np.concatenate([sums.members(first), sums.members(second)])
    size = int((sums.group_of == first).sum())
    real = np.zeros((1, len(speakers)))
    real[0, :size] = 1.0
    rows, step = _block(len(speakers))
    chunks = [
        _moments(sums, speakers, size, claims[np.arange(start, min(start + step, len(claims)))])
        for start in range(0, len(claims), step)
    ]
    signs = [
        np.where(claims.against[start : start + step] == 0, 1.0, -1.0)
        for start in range(0, len(claims), step)
    ]
    observed = [sign * _studentised(real, chunk, size) for chunk, sign in zip(chunks, signs, strict=True)]
    bars = [
        statistic - _TIE * (1.0 + np.abs(np.where(np.isfinite(statistic), statistic, 0.0)))
        for statistic in observed
    ]
    counts = [np.zeros(bar.shape[1], dtype=np.int64) for bar in bars]
    tried = 0
    for dealt in _deals(len(speakers), size, permutations, rows, generator):
        tried += len(dealt)
        for chunk, sign, bar, count in zip(chunks, signs, bars, counts, strict=True):
            # What cannot be computed counts against the claim: nan is not below the bar.
            count += (~(sign * _studentised(dealt, chunk, size) < bar)).sum(axis=0)
    return np.concatenate(counts) if counts else np.zeros(0, dtype=np.int64), tried


def _block(speakers: int) -> tuple[int, int]:
    """Return how many permutations and claims are worked on at a time."""
    cells = _PRODUCT // speakers
    if cells < 256:  # so many speakers that threads pay
        return _SHAPE
    rows = min(_SHAPE[0], int(cells**0.5))
    return rows, min(_SHAPE[1], cells // rows)


def _deals(
    speakers: int, size: int, permutations: int, rows: int, generator: np.random.Generator
) -> Iterator[FloatArray]:
    """Yield blocks of rows, each with `size` ones among `speakers` places."""
    if is_exact(size, speakers - size):
        chosen = np.array(list(combinations(range(speakers), size)), dtype=np.int64)
        dealt = np.zeros((len(chosen), speakers))
        np.put_along_axis(dealt, chosen, 1.0, axis=1)
        for start in range(0, len(dealt), rows):
            yield dealt[start : start + rows]
        return
    pattern = np.zeros((1, speakers), dtype=np.int8)
    pattern[0, :size] = 1
    for start in range(0, permutations, rows):
        block = np.repeat(pattern, min(rows, permutations - start), axis=0)
        yield generator.permuted(block, axis=1).astype(np.float64)


def _moments(sums: SpeakerSums, speakers: IntArray, size: int, claims: Claims) -> FloatArray:
    """Return the first and second moments of every speaker for every claim: axes moment, speaker, claim."""
    at = (claims.pair, claims.scenario)
    a, w, c, v = (
        values[at][:, speakers].T for values in (sums.edits, sums.words, sums.clean_edits, sums.clean_words)
    )
    first = np.arange(len(speakers))[:, None] < size
    base = np.where(claims.against[None, :] == 0, first, ~first)
    a = a - claims.tau[None, :] * base * w
    # Taking the common ratio off both groups changes no gap and keeps the squares small.
    with np.errstate(invalid="ignore", divide="ignore"):
        a = a - w * (a.sum(axis=0) / w.sum(axis=0))
        c = c - v * (c.sum(axis=0) / v.sum(axis=0))
    return np.stack([a, w, c, v, a * a, a * w, w * w, c * c, c * v, v * v, a * c, a * v, w * c, w * v])


def _studentised(dealt: FloatArray, moments: FloatArray, size: int) -> FloatArray:
    """Return (D(ones) - D(others)) / its standard error: axes deal, claim."""
    speakers = moments.shape[1]
    ones = dealt @ moments  # one product a moment: axes moment, deal, claim
    others = moments.sum(axis=1)[:, None, :] - ones
    with np.errstate(invalid="ignore", divide="ignore"):
        gap, variance = _side(ones, size)
        less, more = _side(others, speakers - size)
        gap = gap - less
        variance = variance + more
        statistic = gap / np.sqrt(np.maximum(variance, 0.0))
    flat = ~(variance > 1e-18)
    if flat.any():
        # Speakers who are all alike: any gap is infinitely many standard errors wide.
        endless = np.where(np.abs(gap) > 1e-12, np.copysign(np.inf, gap), 0.0)
        statistic = np.where(flat & np.isfinite(gap), endless, statistic)
    return np.asarray(statistic)


def _side(moments: FloatArray, speakers: int) -> tuple[FloatArray, FloatArray]:
    """Return D of one side and its variance, from what each speaker moves the two ratios by."""
    a, w, c, v, aa, aw, ww, cc, cv, vv, ac, av, wc, wv = moments
    by_w, by_v = 1.0 / w, 1.0 / v
    d, e = a * by_w, c * by_v
    variance = (aa - d * (2.0 * aw - d * ww)) * (by_w * by_w)
    variance += (cc - e * (2.0 * cv - e * vv)) * (by_v * by_v)
    variance -= (ac - e * av - d * (wc - e * wv)) * (2.0 * by_w * by_v)
    variance *= speakers / (speakers - 1.0)
    return d - e, variance


def chance_totals(
    sums: SpeakerSums, taus: tuple[float, ...], permutations: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Return how many violations the plain rule counts when the labels of all speakers are shuffled.

    Axes permutation, group: what the rule reports where groups mean nothing.
    """
    groups, speakers = len(sums.groups), len(sums.speakers)
    values = np.stack([sums.edits, sums.words, sums.clean_edits, sums.clean_words])
    columns = values.reshape(-1, speakers).T
    out = np.zeros((permutations, groups), dtype=np.int64)
    rows = max(8, min(256, 4_000_000 // columns.shape[1]))
    for start in range(0, permutations, rows):
        labels = np.repeat(sums.group_of[None, :], min(rows, permutations - start), axis=0)
        labels = generator.permuted(labels, axis=1)
        degraded = []
        for group in range(groups):
            a, w, c, v = (
                ((labels == group).astype(np.float64) @ columns).reshape(len(labels), 4, -1).swapaxes(0, 1)
            )
            with np.errstate(invalid="ignore", divide="ignore"):
                degraded.append(a / w - c / v)
        for group, own in enumerate(degraded):
            for other in (theirs for place, theirs in enumerate(degraded) if place != group):
                gap = own - other
                for tau in taus:
                    out[start : start + len(labels), group] += (gap > tau).sum(axis=1)
    return out
