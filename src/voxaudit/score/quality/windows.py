"""Which windows of a recording DNSMOS looks at. Its models take 9.01 s, one window a second."""

from __future__ import annotations

import numpy as np

from voxaudit.audio import Samples
from voxaudit.errors import VoxauditError
from voxaudit.registry import suggest

RATE = 16_000
SECONDS = 9.01
LENGTH = 144_160
"""Samples of a window."""

RULES = {
    "every": "every hop of one second",
    "speechmos": "as the package speechmos: hops lost to rounding are left out (from 17 s on)",
}
"""Rules by name. They agree on recordings under 17 s."""


def repeat_short(samples: Samples) -> Samples:
    """Return the samples doubled until they fill a window, as DNSMOS's authors do."""
    if len(samples) == 0:
        raise VoxauditError("no samples to measure")
    doublings = max(0, int(np.ceil(np.log2(LENGTH / len(samples)))))
    return np.tile(samples, 2**doublings) if doublings else samples


def window_hops(length: int, rule: str = "every") -> list[int]:
    """Return the second at which each window starts, for a recording of `length` samples that fills at least one."""
    check_rule(rule)
    hops = range(max(0, int(length // RATE - SECONDS)) + 1)
    if rule == "every":
        return list(hops)
    # The package asks for [i, i + 9.01) seconds in floating point; where that is a sample short it drops the window.
    return [hop for hop in hops if int((hop + SECONDS) * RATE) - hop * RATE >= LENGTH]


def check_rule(rule: str) -> None:
    """Raise one line unless `rule` is the name of a window rule."""
    if rule not in RULES:
        raise VoxauditError(
            f"Unknown window rule '{rule}'.{suggest(rule, list(RULES))} Available: {', '.join(RULES)}"
        )
