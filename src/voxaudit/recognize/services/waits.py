"""How long a service asks us to wait: the standard's header, the vendors' own, and the body."""

from __future__ import annotations

import email.utils
import re
import time
from collections.abc import Mapping
from email.message import Message

_DELAY = re.compile(rb'"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"')
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def asked_wait(headers: Message | Mapping[str, str], body: bytes = b"") -> float | None:
    """Return the seconds that an answer asks us to wait, or None.

    Looked at in this order: `retry-after-ms` and `x-ms-retry-after-ms` (Azure), `Retry-After` (RFC 9110, section
    10.2.3), `x-ratelimit-reset-requests` and `-tokens` where nothing remains (OpenAI), `retryDelay` in the body
    (google.rpc.RetryInfo).
    """
    for name in ("retry-after-ms", "x-ms-retry-after-ms"):
        wait = _number(headers.get(name))
        if wait is not None:
            return wait / 1000
    wait = retry_after(headers.get("Retry-After"), headers.get("Date"))
    if wait is not None:
        return wait
    resets = [
        _duration(headers.get(f"x-ratelimit-reset-{what}"))
        for what in ("requests", "tokens")
        if _number(headers.get(f"x-ratelimit-remaining-{what}")) == 0
    ]
    known = [reset for reset in resets if reset is not None]
    if known:
        return max(known)
    delay = _DELAY.search(body)
    return float(delay[1]) if delay else None


def retry_after(value: str | None, date: str | None = None) -> float | None:
    """Return the seconds of a Retry-After header (seconds or a date), or None.

    A date is measured from the answer's own `date`, where it has one: the clocks need not agree.
    """
    if value is None:
        return None
    number = _number(value)
    if number is not None:
        return number
    until = _time(value)
    if until is None:
        return None
    now = _time(date)
    return max(0.0, until - (time.time() if now is None else now))


def _number(value: str | None) -> float | None:
    text = (value or "").strip()
    return float(text) if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text) else None


def _duration(value: str | None) -> float | None:
    """Return the seconds of `20ms`, `1s` or `6m0s`."""
    text = (value or "").strip()
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def _time(value: str | None) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(value or "").timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
