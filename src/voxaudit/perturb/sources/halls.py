"""The built-in responses of `real_rir`: their settings and what was measured of them."""

from __future__ import annotations

from typing import NamedTuple


class Hall(NamedTuple):
    """A simulated response: RT60 in seconds, direct-to-reverberant ratio in dB, and its measured SRMR."""

    rt60: float
    drr: float
    srmr: float


HALLS: tuple[Hall, ...] = (
    Hall(1.49, -2.2, 2.2),
    Hall(1.79, -5.0, 1.57),
    Hall(1.76, -8.2, 1.33),
    Hall(1.5, -9.0, 1.45),
    Hall(1.9, -9.0, 1.48),
    Hall(2.24, -8.1, 1.86),
    Hall(1.19, -5.8, 2.32),
    Hall(0.96, -6.5, 2.45),
    Hall(1.08, -1.0, 1.98),
    Hall(1.55, 0.2, 2.01),
    Hall(0.86, -7.0, 2.17),
    Hall(1.33, -3.4, 2.09),
    Hall(0.78, -6.2, 2.58),
    Hall(1.17, -7.3, 2.09),
    Hall(1.0, 0.5, 3.08),
    Hall(1.29, 2.4, 2.96),
    Hall(0.6, -0.7, 3.1),
    Hall(0.52, -1.5, 3.45),
    Hall(0.95, 3.9, 3.46),
    Hall(0.78, 3.0, 3.43),
    Hall(0.54, 0.1, 3.17),
    Hall(0.98, 5.2, 3.65),
    Hall(0.63, 4.5, 4.0),
    Hall(0.63, 5.0, 3.8),
    Hall(0.73, 5.6, 4.16),
    Hall(0.54, 1.6, 3.81),
    Hall(0.42, 0.7, 4.6),
    Hall(0.6, 5.6, 3.84),
    Hall(0.41, 6.5, 5.61),
    Hall(0.34, 3.7, 5.31),
    Hall(0.33, 5.7, 7.2),
    Hall(0.36, 1.3, 5.17),
    Hall(0.29, 1.3, 5.23),
    Hall(0.49, 5.5, 4.54),
    Hall(0.25, 5.9, 6.54),
    Hall(0.54, 8.9, 6.15),
    Hall(0.51, 10.3, 5.77),
    Hall(0.32, 11.2, 7.84),
    Hall(0.49, 11.4, 7.21),
    Hall(0.31, 9.1, 7.21),
    Hall(0.24, 4.0, 6.47),
    Hall(0.2, 4.8, 7.34),
    Hall(0.23, 7.9, 6.48),
    Hall(0.16, 3.8, 9.59),
    Hall(0.18, 12.0, 9.24),
    Hall(0.17, 13.3, 8.6),
    Hall(0.18, 13.7, 9.1),
    Hall(0.17, 10.4, 8.34),
)
"""Seeded by their number: append, never reorder."""
