"""Suites: named lists of scenarios."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Suite:
    """A named list of scenario ids; `clean` is always heard too and need not be listed."""

    name: str
    description: str
    scenarios: tuple[str, ...]


AEQUEVOX = {
    "amp": (2.0, 0.5, 0.4, 0.3, 0.2, 0.1),
    "clipping": (0.05, 0.04, 0.03, 0.02, 0.01),
    "drop": (5, 10, 15, 20, 25),
    "frame": (10, 20, 30, 40, 50),
    "hp": (500, 600, 700, 800, 900),
    "lp": (900, 800, 700, 600, 500),
    "noise": (10, 8, 6, 4, 2),
    "scale": (0.9, 0.8, 0.7, 0.6, 0.5),
}
"""The thetas of AequeVox's Table 2, from the least to the most destructive, and Amp 2.0 of its text."""

SUITES = {
    suite.name: suite
    for suite in (
        Suite(
            "quick",
            "one scenario of each family, at a setting people still understand",
            ("gaussian_noise:2", "gain:1", "clipping:theta=0.05"),
        ),
        Suite(
            "aequevox",
            "AequeVox's eight transformations at 41 thetas",
            tuple(f"{name}:theta={theta:.12g}" for name, thetas in AEQUEVOX.items() for theta in thetas),
        ),
    )
}
