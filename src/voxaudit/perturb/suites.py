"""Suites: named lists of scenarios."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Suite:
    """A named list of scenario ids; `clean` is always heard too and need not be listed."""

    name: str
    description: str
    scenarios: tuple[str, ...]


SUITES = {
    suite.name: suite
    for suite in (
        Suite(
            "quick",
            "one scenario of each family, at a setting people still understand",
            ("gaussian_noise:2", "gain:1", "clipping:theta=0.05"),
        ),
    )
}
