"""How many speakers a comparison needs, and what the speakers one has can show (Herron et al., Eq. 1).

Speakers are the sample: `sigma` is the standard deviation of word error rates *between speakers*, `gap` the
difference between two groups' mean rates. More utterances per speaker make sigma smaller only down to what people
differ by.
"""

from __future__ import annotations

import math

from voxaudit.errors import VoxauditError


def speakers_needed(
    gap: float,
    sigma: float,
    *,
    confidence: float = 0.95,
    power: float = 0.8,
    two_sided: bool = True,
    ratio: float = 1.0,
    other_sigma: float | None = None,
) -> float:
    """Return the number n that the speakers of the first group must exceed (Eq. 1):

        n > (sigma^2 + other_sigma^2 / ratio) (z_alpha + z_beta)^2 / gap^2

    The second group has `ratio` times as many speakers; with ratio 1 and one sigma this is the paper's
    `2 (z_alpha + z_beta)^2 sigma^2 / gap^2`. The paper's example (gap 0.1, sigma 0.15, about 35 speakers) is the
    two-sided test, although its text calls it one-sided: one-sided gives 27.8, two-sided 35.3.
    """
    _check(gap, sigma, confidence, power, ratio)
    other = sigma if other_sigma is None else other_sigma
    return (sigma**2 + other**2 / ratio) * (_z_sum(confidence, power, two_sided) / gap) ** 2


def whole_speakers(needed: float) -> int:
    """Return the smallest whole number of speakers above `needed`, and never fewer than two."""
    return max(2, math.floor(needed * (1.0 + 1e-12)) + 1)


def smallest_gap(
    speakers: float,
    other_speakers: float,
    sigma: float,
    *,
    confidence: float = 0.95,
    power: float = 0.8,
    two_sided: bool = True,
    other_sigma: float | None = None,
) -> float:
    """Return the smallest gap that groups of these sizes would show with the given power (Eq. 1 turned round)."""
    _check(1.0, sigma, confidence, power, 1.0)
    other = sigma if other_sigma is None else other_sigma
    if speakers <= 0 or other_speakers <= 0:
        return math.inf
    return _z_sum(confidence, power, two_sided) * math.sqrt(sigma**2 / speakers + other**2 / other_speakers)


def power_z(
    gap: float,
    sigma: float,
    speakers: float,
    other_speakers: float,
    *,
    confidence: float = 0.95,
    two_sided: bool = True,
) -> float:
    """Return the chance that a z-test (sigma known) finds the gap."""
    _check(gap, sigma, confidence, 0.5, 1.0)
    from voxaudit.numeric import ndtr, ndtri

    if sigma == 0.0:
        return 1.0
    shift = gap / (sigma * math.sqrt(1.0 / speakers + 1.0 / other_speakers))
    if not two_sided:
        return float(ndtr(shift - ndtri(confidence)))
    z = ndtri(0.5 + confidence / 2.0)
    return float(ndtr(shift - z) + ndtr(-shift - z))


def power_t(
    gap: float,
    sigma: float,
    speakers: float,
    other_speakers: float,
    *,
    confidence: float = 0.95,
    two_sided: bool = True,
) -> float:
    """Return the chance that a two-sample t-test (sigma estimated, equal in both groups) finds the gap."""
    _check(gap, sigma, confidence, 0.5, 1.0)
    from voxaudit.numeric import nct_sf, nctdtr, stdtrit

    if sigma == 0.0:
        return 1.0
    df = speakers + other_speakers - 2.0
    if df <= 0.0:
        return 0.0
    shift = gap / (sigma * math.sqrt(1.0 / speakers + 1.0 / other_speakers))
    if not two_sided:
        return nct_sf(stdtrit(df, confidence), df, shift)
    t = stdtrit(df, 0.5 + confidence / 2.0)
    below = float(nctdtr(df, shift, -t))
    return nct_sf(t, df, shift) + (below if math.isfinite(below) else 0.0)


def speakers_needed_t(
    gap: float,
    sigma: float,
    *,
    confidence: float = 0.95,
    power: float = 0.8,
    two_sided: bool = True,
    ratio: float = 1.0,
) -> float:
    """Return the same as `speakers_needed` for a t-test: a little more, because sigma has to be estimated too."""
    from voxaudit.numeric import brentq

    start = speakers_needed(gap, sigma, confidence=confidence, power=power, two_sided=two_sided, ratio=ratio)

    def short_of(n: float) -> float:
        return power_t(gap, sigma, n, ratio * n, confidence=confidence, two_sided=two_sided) - power

    fewest = 2.0 / (1.0 + ratio) + 1e-3  # one degree of freedom is approached here
    if sigma == 0.0 or short_of(fewest) >= 0.0:
        return fewest
    return brentq(short_of, fewest, 2.0 * start + 50.0, xtol=1e-6)


def _z_sum(confidence: float, power: float, two_sided: bool) -> float:
    from voxaudit.numeric import ndtri

    return float(ndtri(0.5 + confidence / 2.0 if two_sided else confidence) + ndtri(power))


def _check(gap: float, sigma: float, confidence: float, power: float, ratio: float) -> None:
    for name, value in (("confidence", confidence), ("power", power)):
        if not 0.0 < value < 1.0:
            raise VoxauditError(f"{name} must lie between 0 and 1, not {value:g}")
    if power <= 1.0 - confidence:
        raise VoxauditError(
            f"power {power:g} is no more than the chance of a false alarm, {1.0 - confidence:g}"
        )
    if not (gap > 0.0 and math.isfinite(gap)):
        raise VoxauditError(
            f"the gap must be above 0 (0.1 is ten percentage points of word error rate), not {gap:g}"
        )
    if not (sigma >= 0.0 and math.isfinite(sigma)):
        raise VoxauditError(
            f"sigma, the standard deviation between speakers, must be 0 or more, not {sigma:g}"
        )
    if not (ratio > 0.0 and math.isfinite(ratio)):
        raise VoxauditError(f"the ratio of the groups' sizes must be above 0, not {ratio:g}")
