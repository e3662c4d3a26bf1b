"""How much noise an attack may add: norms from signal-to-noise ratios, kept exactly by the audio that comes out."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from voxaudit.audio import Samples

Norm = Literal["l2", "linf"]
NORMS: tuple[Norm, ...] = ("l2", "linf")

_SHRINK = 1.0 - 2.0**-22  # two units of float32's last place: what rounding can add


def norm_of(samples: NDArray[Any], norm: Norm) -> float:
    """Return the L2 or L-infinity norm of samples."""
    values = samples.astype(np.float64)
    if not len(values):
        return 0.0
    return float(np.sqrt(np.sum(values**2))) if norm == "l2" else float(np.max(np.abs(values)))


def radius(samples: Samples, snr: float, norm: Norm = "l2") -> float:
    """Return the largest norm of noise at `snr` dB: `eps = 10^(-SNR/20) ||x||` (SRB appendix A, Eq. 1 and 2).

    With L2 norms this is the SNR as everybody means it. With L-infinity it bounds the noise's peak against the
    speech's peak, and the SNR in power may be lower.
    """
    return float(10.0 ** (-snr / 20.0)) * norm_of(samples, norm)


def measured(samples: Samples, disturbed: Samples, norm: Norm = "l2") -> float | None:
    """Return `20 log10(||x|| / ||y - x||)` in dB; None where the speech or the noise is silent."""
    speech = norm_of(samples, norm)
    noise = norm_of(disturbed.astype(np.float64) - samples, norm)
    return None if speech == 0.0 or noise == 0.0 else 20.0 * float(np.log10(speech / noise))


def fit(samples: Samples, noise: NDArray[Any], snr: float, norm: Norm = "l2") -> Samples:
    """Return `samples + noise` as float32 within full scale, its noise shrunk until the bound holds exactly.

    Limiting to full scale comes first and rounding is counted: what is measured on the audio is never above
    the bound. Speech that exceeds full scale itself keeps its own peak as the limit.
    """
    limit = max(1.0, norm_of(samples, "linf"))
    allowed = radius(samples, snr, norm)
    scale = 1.0
    for _ in range(60):
        disturbed: Samples = np.clip(samples + scale * noise.astype(np.float64), -limit, limit).astype(
            np.float32
        )
        size = norm_of(disturbed.astype(np.float64) - samples, norm)
        at = measured(samples, disturbed, norm)
        if size <= allowed and (at is None or at >= snr):
            return disturbed
        scale *= min(allowed / size, 1.0) * _SHRINK if allowed > 0.0 else 0.0
    return samples.copy()
