"""What is measured of a recording under a scenario: four groups of numbers, each on its own or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from voxaudit.audio import Audio
from voxaudit.errors import VoxauditError, one_line
from voxaudit.score.quality.dnsmos import load_dnsmos
from voxaudit.score.quality.pesq import pesq_score, pesq_version
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
