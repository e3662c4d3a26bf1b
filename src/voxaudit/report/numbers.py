"""Rates as people read them: the same on the terminal and in files."""

from __future__ import annotations


def percent(rate: float | None) -> str:
    """Return a rate as a percentage with one decimal, or a dash where there is none."""
    return "-" if rate is None else f"{100 * rate:.1f} %"


def percent_interval(rate: float | None, low: float | None, high: float | None) -> str:
    """Return `12.3 % (10.1 to 14.9)`, or the rate alone where there is no interval."""
    return (
        percent(rate)
        if low is None or high is None
        else f"{percent(rate)} ({100 * low:.1f} to {100 * high:.1f})"
    )
