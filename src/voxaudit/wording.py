"""How numbers, names and lists are written in words: the same in every sentence, table and file."""

from __future__ import annotations

import math
from collections.abc import Iterable

MISSING = "(missing)"
"""How an attribute without a value is called."""


def percent(rate: float | None) -> str:
    """Return a rate as a percentage with one decimal, or a dash where there is none."""
    return "-" if rate is None else f"{100 * rate:.1f} %"


def percent_interval(rate: float | None, low: float | None, high: float | None) -> str:
    """Return `12.3 % (10.1 to 14.9)`, or the rate alone where there is no interval."""
    return percent(rate) + ("" if low is None or high is None else f" ({100 * low:.1f} to {100 * high:.1f})")


def points_interval(difference: float | None, low: float | None, high: float | None) -> str:
    """Return a difference of rates in points: `12.3 (10.1 to 14.9)`, or alone where there is no interval.

    >>> points_interval(0.068, -0.0001, 0.138)
    '6.8 (0.0 to 13.8)'
    """
    if difference is None:
        return "-"
    value, *limits = (
        "0.0" if (text := f"{100 * (one or 0.0):.1f}") == "-0.0" else text for one in (difference, low, high)
    )
    return value if low is None or high is None else f"{value} ({' to '.join(limits)})"


def in_points(difference: float | None, low: float | None = None, high: float | None = None) -> str:
    """Return a difference of rates with its unit: `12.3 percentage points (10.1 to 14.9)`."""
    value, bracket, limits = points_interval(difference, low, high).partition(" ")
    return f"{value} percentage points{bracket}{limits}"


def not_excluded(limit: float | None, what: str = "a gap") -> str:
    """Return what is left open where nothing is shown, of a difference of rates whose farther limit is `limit`.

    >>> not_excluded(-0.045), not_excluded(None, "a cost")
    ('a gap of up to 4.5 percentage points is not excluded', 'a cost of any size is not excluded')
    """
    size = "any size" if limit is None else f"up to {in_points(abs(limit))}"
    return f"{what} of {size} is not excluded"


def signed(difference: float) -> str:
    """Return a difference of rates in points, with its sign.

    >>> signed(0.012), signed(-0.0004)
    ('+1.2', '0.0')
    """
    text = f"{100 * difference:+.1f}"
    return "0.0" if text[1:] == "0.0" else text


def signed_limits(low: float | None, high: float | None) -> str:
    """Return ` (+0.3 to +2.1)`, to follow a difference in points; nothing where there is no interval."""
    return "" if low is None or high is None else f" ({signed(low)} to {signed(high)})"


def ratio_interval(ratio: float | None, low: float | None, high: float | None) -> str:
    """Return `1.25 (0.97 to 1.61)`; a limit that is not known is a question mark.

    >>> ratio_interval(3.58, 0.0, float("inf"))
    '3.58 (0.00 to no limit)'
    """
    if ratio is None:
        return "-"
    limits = (
        "?" if limit is None else "no limit" if limit == math.inf else f"{limit:.2f}" for limit in (low, high)
    )
    return f"{ratio:.2f} ({' to '.join(limits)})"


def p_cell(p: float | None) -> str:
    """Return a p-value as tables have it: `0.012`, `0.0004`, `<0.0001`, or a dash."""
    if p is None:
        return "-"
    return "<0.0001" if p < 0.0001 else f"{p:.4f}" if p < 0.001 else f"{p:.3f}"


def p_value(p: float | None) -> str:
    """Return a p-value as sentences have it: `p = 0.012`, `p < 0.0001`, or a dash."""
    text = p_cell(p)
    return text if p is None else f"p < {text[1:]}" if text.startswith("<") else f"p = {text}"


def named(group: object) -> str:
    """Return a group of an attribute as text."""
    return MISSING if group is None else str(group)


def speakers_of(group: object, attribute: str | None = None) -> str:
    """Return the people of a group, as sentences have them; the attribute is named with the first of several groups.

    >>> f"for {speakers_of('north', 'accent')} than for {speakers_of('south')}"
    'for north speakers (accent) than for south speakers'
    """
    return f"{named(group)} speakers" + (f" ({attribute})" if attribute else "")


def spoken(name: str) -> str:
    """Return a name of the code as people write it: `time_pitch` is `time pitch`."""
    return name.replace("_", " ")


def listed(names: Iterable[object], most: int = 6) -> str:
    """Return names with commas, the first of them and how many more there are."""
    texts = [str(name) for name in names]
    shown = ", ".join(texts[:most])
    return shown if len(texts) <= most else f"{shown} and {len(texts) - most} more"


def counted(count: int, noun: str) -> str:
    """Return `1 pair`, `2 pairs`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def as_or_than(ratio: float | None) -> str:
    """Return the word between the two that `times_as_many` compares: as many as, fewer than.

    >>> as_or_than(2.0), as_or_than(0.62), as_or_than(0.999)
    ('as', 'than', 'as')
    """
    return "as" if ratio is None or ratio >= 1.0 or f"{ratio:.2f}" == "1.00" else "than"


def times_as_many(ratio: float | None, low: float | None, high: float | None) -> str:
    """Return a ratio of errors as a sentence has it; fewer errors are said as a share.

    >>> times_as_many(2.72, 0.95, 7.79)
    '2.72 times as many errors (0.95 to 7.79)'
    >>> times_as_many(0.62, 0.4, 0.9)
    '38 % fewer errors (0.62 times as many, 0.40 to 0.90)'
    >>> times_as_many(float("inf"), 3.1, float("inf"))
    'at least 3.10 times as many errors'
    """
    if ratio == math.inf and low is not None:
        return f"at least {low:.2f} times as many errors"
    value, _, limits = ratio_interval(ratio, low, high).partition(" (")
    if ratio is None or as_or_than(ratio) == "as":
        return f"{value} times as many errors ({limits}"
    return f"{100 * (1 - ratio):.0f} % fewer errors ({value} times as many, {limits}"
