"""What is measured of a recording under a scenario: four groups of numbers, each on its own or not at all."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module

import numpy as np

from voxaudit.audio import Audio, Samples, resample
from voxaudit.errors import VoxauditError, missing_extra, one_line
from voxaudit.recognize.files import installed, package_version
from voxaudit.score.quality.dnsmos import load_dnsmos
from voxaudit.score.snr import SHORTEST, estimate_snr

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "p808": ("dnsmos",),
    "p835": ("overall", "signal", "background"),
    "pesq": ("pesq",),
    "snr": ("snr",),
}
"""The groups, and the columns that each fills."""

_SNR_VERSION = 1  # raise when `estimate_snr` gives other numbers than before


@dataclass(frozen=True, slots=True)
class Measured:
    """The numbers of one group, or why there are none."""

    group: str
    values: tuple[float, ...] | None
    reason: str | None = None


def fingerprint(group: str, rule: str) -> str:
    """Return what, besides the two recordings, decides a group's numbers: weights, versions, the window rule."""
    if group in ("p808", "p835"):
        return f"{group} {load_dnsmos(rule).fingerprint()}"
    return pesq_version() if group == "pesq" else f"snr {_SNR_VERSION}"


def measure(clean: Audio | None, heard: Audio, groups: Iterable[str], rule: str) -> list[Measured]:
    """Return the groups' numbers for the audio `heard`, and its `clean` twin where there is one."""
    # What exceeds full scale saturates, as it would in a file.
    heard = Audio(np.clip(heard.samples, np.float32(-1.0), np.float32(1.0)), heard.rate)
    return [_measure_group(group, clean, heard, rule) for group in groups]


def failed(groups: Iterable[str], error: BaseException | str) -> list[Measured]:
    """Return the groups without numbers, for the same reason."""
    return [Measured(group, None, one_line(error)) for group in groups]


def _measure_group(group: str, clean: Audio | None, heard: Audio, rule: str) -> Measured:
    try:
        return Measured(group, _values(group, clean, heard, rule))
    except VoxauditError as error:
        return Measured(group, None, one_line(error))
    except Exception as error:  # a stranger's error costs this number only
        return Measured(group, None, f"{type(error).__name__}: {one_line(error, 200)}")


def _values(group: str, clean: Audio | None, heard: Audio, rule: str) -> tuple[float, ...]:
    if group == "pesq":
        if clean is None:
            raise VoxauditError("no clean twin")
        return (pesq_score(clean, heard),)
    if not heard.samples.any():
        raise VoxauditError("silent")
    if group == "p808":
        return (load_dnsmos(rule).p808(heard),)
    if group == "p835":
        scores = load_dnsmos(rule).p835(heard)
        return (scores.overall, scores.signal, scores.background)
    snr = estimate_snr(heard)
    if snr is None:
        raise VoxauditError(
            f"shorter than {SHORTEST:g} s" if heard.duration < SHORTEST else "hardly any sound"
        )
    return (snr,)


# PESQ: how much worse a recording sounds than its clean twin, 1.0 to 4.64 (ITU-T P.862), by the package `pesq`.
#
# Recordings of 16 kHz and more are compared at 16 kHz by the wide-band model (P.862.2), slower ones at 8 kHz by the
# narrow-band model. PESQ finds delays but no change of tempo: against a twin that was sped up, slowed down or shifted
# in pitch it reads near its lowest, and Speech Robust Bench takes that reading as it is. So do we.

WIDE, NARROW = 16_000, 8_000
"""Rates (Hz) of the wide-band and the narrow-band model."""

LONGEST = 20.0
"""Seconds compared at a time. The package's code has room for 50 stretches of speech and crashes beyond them."""


class PesqRefusedError(VoxauditError):
    """Two recordings that PESQ cannot compare; the message says why."""


def require_pesq() -> None:
    """Raise one line that says what to install where the package is missing."""
    if not installed("pesq"):
        raise missing_extra("pesq", "quality")


def pesq_version() -> str:
    """Return what decides the scores: the package's version and how long recordings are cut."""
    return f"pesq {package_version('pesq')} pieces {LONGEST:g}"


def pesq_score(clean: Audio, heard: Audio) -> float:
    """Return the PESQ score (MOS-LQO) of `heard` against its clean twin.

    Where either is longer than 20 s, both are cut into the same number of equal pieces and the mean over pieces is
    returned, without those in which nobody speaks. `PesqRefusedError` says why there is no score: silence, less than
    a quarter of a second, no speech found.
    """
    require_pesq()
    rate = WIDE if clean.rate >= WIDE else NARROW
    reference, degraded = resample(clean, rate).samples, resample(heard, rate).samples
    for samples in (reference, degraded):
        if not np.isfinite(samples).all():
            raise PesqRefusedError("NaN or infinite samples")
        if len(samples) < rate // 4:
            raise PesqRefusedError("shorter than a quarter of a second")
    pieces = max(1, math.ceil(max(len(reference), len(degraded)) / (LONGEST * rate)))
    scores, reason = [], PesqRefusedError("no speech found")
    for one, other in zip(np.array_split(reference, pieces), np.array_split(degraded, pieces), strict=True):
        try:
            scores.append(_compare(one, other, rate))
        except PesqRefusedError as error:
            reason = error
    if not scores:
        raise reason
    return float(np.mean(scores))


def _compare(reference: Samples, degraded: Samples, rate: int) -> float:
    package = import_module("pesq")
    if not reference.any():
        raise PesqRefusedError("the clean twin is silent")
    if not degraded.any():
        raise PesqRefusedError("silent")
    mode = "wb" if rate == WIDE else "nb"
    try:
        score = float(package.pesq(rate, reference, degraded, mode))
    except (RuntimeError, ValueError) as error:
        text = error.args[0] if error.args else ""
        reason = text.decode(errors="replace") if isinstance(text, bytes) else str(error)
        raise PesqRefusedError(one_line(reason.lower(), 120)) from error
    if not math.isfinite(score):
        raise PesqRefusedError("the score is not a number")
    return score
