"""Limits of ratios of sums that allow for a speaker of a kind not heard.

Speakers are the sample, and the worst ones are few: where one in eight is five times as hard to understand, a sample of
twenty often has one or none, and every interval that knows only the speakers heard ends too early. Gaffke's (2005)
limit of a mean weighs the sample at random (a Bayesian bootstrap: exponential weights) with one value more, the largest
that is possible. Error rates have no largest value; here it is a speaker `FARTHER` times as bad as the worst one heard,
who says as much as the others do on average; but no worse than `MOST` errors per word, unless somebody heard was.

The limit is a quantile of a ratio of sums of exponential variables. It needs no draws: the ratio exceeds r where a
sum of exponential variables times `e_i - r w_i` exceeds 0, whose probability the saddlepoint of its cumulant
generating function `-sum(log(1 - s d_i))` gives to a few percent of itself (Lugannani and Rice 1980;
Barndorff-Nielsen 1986). So limits depend on no seed, on no order of rows and on no other condition.
"""

from __future__ import annotations

import numpy as np

from voxaudit.stats.cells import FloatArray, IntArray

FARTHER = 2.5
"""How many times as bad as the worst speaker heard one may be that was not."""
MOST = 1.5
"""Errors per word that one not heard has at most, where nobody heard had more: all words are wrong, and for every
second one another is made up. With 1 in its place limits of 110 heavy-tailed speakers miss 7.4 % instead of 2.9."""
BORROWED = 0.25
"""Words, in units of what a speaker says on average, that everybody is lent at the rate of all: a speaker of three
words tells little of how bad speakers can be."""
ALIKE = 0.1
"""How alike two utterances of a speaker are taken to be (a correlation) where no errors show it."""

_STEPS = 60  # of the searches for a limit and for a saddlepoint; fewer than ten are needed
_CLOSE = 1e-8  # to the limit, in units of the largest ratio
_SETTLED = 1e-6  # to the saddlepoint: its error is squared in the limit


def none_heard(speakers: int, confidence: float = 0.95) -> float:
    """Return what share of all speakers may be of a kind that none of those heard is of.

    >>> round(none_heard(8), 2)
    0.37
    """
    return 1.0 - float(((1.0 - confidence) / 2.0) ** (1.0 / speakers))


def without_errors(utterances: FloatArray, squares: FloatArray, confidence: float) -> FloatArray:
    """Return the upper limits of rates of conditions in which nobody met an error.

    `utterances` are all that were heard, `squares` the sum of the squares of every speaker's number. So many
    utterances without an error leave open that `1 - 0.025 ** (1 / m)` of them have some, at 95 %; taken for a rate of
    errors, that is on the safe side. Utterances of a speaker are alike: of k, each counts `1 / (1 + ALIKE (k - 1))`.

    >>> without_errors(np.array([80.0]), np.array([800.0]), 0.95).round(3).tolist()
    [0.084]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        each = squares / utterances  # of a speaker, as an utterance sees it
        worth = utterances / (1.0 + ALIKE * (each - 1.0))
        return np.where(utterances > 0.0, 1.0 - ((1.0 - confidence) / 2.0) ** (1.0 / worth), np.nan)


def farthest_rates(
    errors: FloatArray, words: FloatArray, code: IntArray, size: int, most: FloatArray | float = MOST
) -> FloatArray:
    """Return the rate of the speaker not heard, for each condition: `FARTHER` times that of the worst one heard.

    It is `most` at most where nobody heard has more: in the unit of the rates, infinite where there is no such bound.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        whole = np.bincount(code, words, size)
        borrowed = BORROWED * whole / np.bincount(code, words > 0.0, size)
        rate = np.bincount(code, errors, size) / whole
        own = (errors + (rate * borrowed)[code]) / (words + borrowed[code])
    worst = np.zeros(size)
    np.fmax.at(worst, code, np.where(words > 0.0, own, 0.0))
    return np.where(worst <= most, np.minimum(FARTHER * worst, most), FARTHER * worst)


def upper_limits(
    above: FloatArray,
    below: FloatArray,
    code: IntArray,
    size: int,
    unseen: FloatArray,
    confidence: float,
) -> FloatArray:
    """Return the upper limits of `sum(above) / sum(below)` of conditions, numbered 0 to `size` - 1 in `code`.

    Rows are speakers, sorted by condition; `unseen` is the ratio of the speaker not heard, for each condition. nan
    where nothing was said. Of ten speakers who say equally much, one always wrong, where nobody can be worse, it is
    the limit of Clopper and Pearson's of one in ten:

    >>> above, below = np.r_[1.0, np.zeros(9)], np.ones(10)
    >>> code = np.zeros(10, dtype=np.int64)
    >>> limit = upper_limits(above, below, code, 1, np.array([1.0]), 0.95)
    >>> round(float(limit[0]), 2)
    0.45
    """
    if not len(above):
        return np.full(size, np.nan)
    from voxaudit.numeric import ndtri

    def total(values: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(code, values, size), dtype=np.float64)

    target = float(ndtri(0.5 + confidence / 2.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        speakers = total((below > 0.0).astype(np.float64))
        whole = total(below)
        e, w = above / whole[code], below / whole[code]
        share = 1.0 / speakers  # of the one not heard, in the words of those heard
        center = (total(e) + unseen * share) / (1.0 + share)
        deviation = e - center[code] * w
        spread = np.sqrt(total(deviation**2) + (share * (unseen - center)) ** 2) / (1.0 + share)
        known = np.isfinite(center) & (spread > 0.0)
        # Nobody's ratio is higher, and no weighted mean of theirs.
        top = unseen.copy()
        np.maximum.at(top, code[below > 0.0], (above / below)[below > 0.0])
        low, high = center.copy(), top.copy()
        r = np.where(center + target * spread < top, center + target * spread, (center + top) / 2.0)
    tilt = np.full(size, 0.5)
    asked = np.flatnonzero(known)
    for _ in range(_STEPS):
        if not len(asked):
            break
        # Only what is still searched for is worked on: few conditions need many steps.
        number = np.full(size, -1)
        number[asked] = np.arange(len(asked))
        own = number[code]
        mine = own >= 0
        signed, slope, tilt[asked] = _signed_root(
            e[mine], w[mine], own[mine], r[asked], unseen[asked], share[asked], tilt[asked]
        )
        gap, here = signed - target, r[asked]
        low[asked] = np.where(gap <= 0.0, here, low[asked])
        high[asked] = np.where(gap > 0.0, here, high[asked])
        with np.errstate(divide="ignore", invalid="ignore"):
            step = here - gap / slope
        step = np.where((step > low[asked]) & (step < high[asked]), step, (low[asked] + high[asked]) / 2.0)
        r[asked] = step
        asked = asked[np.abs(step - here) > _CLOSE * (top - center)[asked]]
    return np.where(known, r, np.nan)


def _signed_root(
    e: FloatArray,
    w: FloatArray,
    code: IntArray,
    r: FloatArray,
    unseen: FloatArray,
    share: FloatArray,
    tilt: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the standard normal quantile of the probability that the ratio is below r, its slope in r, and the tilt.

    The tilt is the saddlepoint in units of the largest that there is, so that it lies between 0 and 1.
    """
    size = len(r)

    def total(values: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(code, values, size), dtype=np.float64)

    first = np.flatnonzero(np.diff(code, prepend=-1))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        d, own = e - r[code] * w, share * (unseen - r)
        # In units of the largest deviation, so that the tilt lies between 0 and 1.
        largest = np.maximum(np.maximum.reduceat(d, first), own)
        d, own = d / largest[code], own / largest
        floor, ceiling = np.zeros(size), np.ones(size)
        settled = np.zeros(size, dtype=bool)
        for _ in range(_STEPS):
            left, last = 1.0 - tilt[code] * d, 1.0 - tilt * own
            ratio = d / left
            mean, second = total(ratio) + own / last, total(ratio * ratio) + (own / last) ** 2
            floor = np.where(mean <= 0.0, tilt, floor)
            ceiling = np.where(mean > 0.0, tilt, ceiling)
            step = tilt - mean / second
            step = np.where((step > floor) & (step < ceiling), step, (floor + ceiling) / 2.0)
            close = np.abs(step - tilt) <= _SETTLED * np.minimum(tilt, 1.0 - tilt)
            tilt = np.where(settled, tilt, step)
            settled = settled | close
            if settled.all():
                break
        left, last = 1.0 - tilt[code] * d, 1.0 - tilt * own
        second = total((d / left) ** 2) + (own / last) ** 2
        root = np.sqrt(2.0 * (total(np.log(left)) + np.log(last)))
        signed = root + np.log(tilt * np.sqrt(second) / root) / root
        slope = tilt * (total(w / left) + share / last) / (largest * root)
    return signed, slope, tilt
