"""Ask a service until it answers or will not: what is worth another try, what costs a trial, what ends the run."""

from __future__ import annotations

import email.utils
import random
import re
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from email.message import Message
from typing import Any, NoReturn, TypeVar

from voxaudit.recognize.base import RecognizerError, RefusedUtteranceError, UtteranceError
from voxaudit.recognize.services.answers import NotJson, document, is_page, message, told
from voxaudit.recognize.services.gate import Clock, Gate
from voxaudit.recognize.services.secret import Secret, hide_all
from voxaudit.recognize.services.wire import Reply, Request, WireError, exchange

T = TypeVar("T")

CONGESTED = frozenset({429, 503, 529})
PASSING = CONGESTED | {408, 409, 425}
ENDED = frozenset({401, 402})
"""No key, no money: nothing will work any more."""
REFUSED = frozenset({403, 404, 405, 410})
MOST_REFUSALS = 3
"""So many refusals in a row end the recognizer, even one that has answered before."""
FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0
TIDY_SECONDS = 4.0


@dataclass(frozen=True)
class Patience:
    """How long to wait, in seconds: for one answer, and for an utterance with all its tries."""

    timeout: float
    total: float
    retries: int


@dataclass(frozen=True)
class Rules:
    """What a vendor's refusals mean where the status does not tell: words in their bodies."""

    stops: tuple[str, ...] = ()
    passes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Access:
    """Who asks: how a request is signed, and the secrets that no message may repeat."""

    headers: Callable[[Request], Mapping[str, str]] = field(repr=False)
    secrets: Sequence[Secret] = ()


class PassingError(Exception):
    """Worth another try, perhaps after `wait` seconds. `blind` failures never showed that a service is there."""

    def __init__(
        self, message: str, *, wait: float | None = None, congested: bool = False, blind: bool = False
    ) -> None:
        super().__init__(message)
        self.wait = wait
        self.congested = congested
        self.blind = blind


class Caller:
    """One service as a worker sees it: what all its threads know about it."""

    def __init__(
        self,
        gate: Gate,
        patience: Patience,
        access: Access,
        rules: Rules,
        *,
        clock: Clock,
        seed: int,
    ) -> None:
        self.gate = gate
        self.patience = patience
        self.access = access
        self.rules = rules
        self.clock = clock
        self._random = random.Random(seed)  # spreads the tries of many workers in time, nothing else
        self._lock = threading.Lock()
        self._answered = False
        self._refusals = 0
        self._end = ""

    @property
    def answered(self) -> bool:
        """True once the service has answered anything as it should."""
        return self._answered

    def jitter(self) -> float:
        """Return a number from 0 to 1."""
        with self._lock:
            return self._random.random()

    def succeeded(self) -> None:
        """Note an answer as it should be."""
        with self._lock:
            self._answered = True
            self._refusals = 0
        self.gate.succeeded()

    def refuse(self, text: str, *, ends: bool) -> NoReturn:
        """Raise for a request that was refused: `UtteranceError`, or `RecognizerError` where no audio would help."""
        text = self.safe(text)
        with self._lock:
            self._refusals += 1
            if ends or not self._answered or self._refusals >= MOST_REFUSALS:
                self._end = self._end or text
                raise RecognizerError(self._end)
        raise UtteranceError(text)

    def check(self) -> None:
        """Raise again what ended the recognizer: nothing more is sent."""
        if self._end:
            raise RecognizerError(self._end)

    def safe(self, text: str) -> str:
        """Return text as one line without secrets."""
        return hide_all(self.access.secrets, text)


class Call:
    """The requests about one utterance. Their patience begins with the first that is let through the gate."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._end: float | None = None

    def json(
        self,
        request: Request,
        *,
        check: Callable[[dict[str, Any]], None] | None = None,
        fine: tuple[str, ...] = (),
    ) -> dict[str, Any]:
        """Ask and return the JSON object of the answer, after `check` (which may raise `PassingError`).

        An error inside a successful answer is an error. A refusal that holds a word of `fine` counts as {}.
        """

        def read(reply: Reply) -> dict[str, Any]:
            if reply.status >= 300:
                return {}
            found = document(reply, self._caller.safe)
            if check is None:
                self._no_error(request, found)
            else:
                check(found)
            return found

        return self._ask(request, read, fine)

    def send(self, request: Request) -> None:
        """Ask and ignore what is in the answer, as long as it is a success and no web page of a proxy's."""

        def read(reply: Reply) -> None:
            if is_page(reply.body[:200].decode("utf-8", "replace")):
                raise NotJson("answered with a web page", page=True)

        self._ask(request, read, ())

    def pause(self, seconds: float, waiting_for: str) -> None:
        """Wait between two looks at a job; raise `UtteranceError` when patience is over."""
        clock = self._caller.clock
        if self._end is not None and clock.now() + seconds > self._end:
            raise UtteranceError(f"{waiting_for} within {self._caller.patience.total:g} s")
        clock.sleep(seconds)

    def tidy(self, request: Request, what: str) -> None:
        """Remove what was left at the service, with two tries; a failure is a line in the worker's log."""
        problem = self._tidied(request) and self._tidied(request)
        if problem:
            line = self._caller.safe(f"{request.name}: {what} could not be deleted: {problem}")
            print(line, file=sys.stderr, flush=True)

    def _tidied(self, request: Request) -> str:
        try:
            reply = exchange(self._signed(request), min(TIDY_SECONDS, self._caller.patience.timeout))
        except WireError as error:
            return str(error)
        gone = reply.status < 300 or reply.status == 404
        return "" if gone else f"HTTP {reply.status} {message(reply.body)}"

    def _ask(self, request: Request, read: Callable[[Reply], T], fine: tuple[str, ...]) -> T:
        caller, tries, blind = self._caller, 0, True
        while True:
            with caller.gate.slot() as started:
                caller.check()
                left = self._left(started)
                tries += 1
                try:
                    answer = read(self._once(request, min(caller.patience.timeout, max(left, 0.001)), fine))
                except PassingError as error:
                    failure = error
                except NotJson as error:
                    text = f"{request.name}: {error}"
                    if not error.again:
                        raise UtteranceError(caller.safe(text)) from None
                    failure = PassingError(text, blind=error.page)
                else:
                    caller.succeeded()
                    return answer
                if failure.congested:
                    caller.gate.congested(started, failure.wait)
            blind = blind and failure.blind
            self._wait(failure, tries, blind)

    def _left(self, now: float) -> float:
        if self._end is None:
            self._end = now + self._caller.patience.total
        return self._end - now

    def _wait(self, failure: PassingError, tries: int, blind: bool) -> None:
        """Wait before the next try, or give up."""
        caller, patience = self._caller, self._caller.patience
        text = caller.safe(f"{failure}{f' after {tries} tries' if tries > 1 else ''}")
        if failure.wait is not None and failure.wait > patience.total:
            caller.refuse(
                f"{text}; it asks to wait {failure.wait:.0f} s: run the same command again after that",
                ends=True,
            )
        wait = failure.wait
        if wait is None:
            # Between half and all of 0.5, 1, 2 ... s: many workers that failed together do not come back together.
            wait = min(FIRST_WAIT * 2 ** (tries - 1), LONGEST_WAIT) * (0.5 + 0.5 * caller.jitter())
        elif wait > 0:
            wait += min(1.0, 0.1 * wait) * caller.jitter()
        if tries > patience.retries or wait >= self._left(caller.clock.now()):
            if blind and not caller.answered:
                caller.refuse(text, ends=True)
            raise UtteranceError(text) from None
        caller.clock.sleep(wait)

    def _signed(self, request: Request) -> Request:
        headers = {"Accept": "application/json", "User-Agent": "voxaudit", **request.headers}
        if request.authorize:
            headers |= self._caller.access.headers(
                Request(request.method, request.url, headers, request.body)
            )
        return Request(request.method, request.url, headers, request.body)

    def _once(self, request: Request, seconds: float, fine: tuple[str, ...]) -> Reply:
        try:
            reply = exchange(self._signed(request), seconds)
        except WireError as error:
            text = f"{request.name}: {error}"
            if error.kind == "untrusted":
                self._caller.refuse(text, ends=True)
            if error.kind == "large":
                raise RefusedUtteranceError(self._caller.safe(text)) from None
            raise PassingError(text, blind=error.kind == "unreachable") from None
        if reply.status >= 300 and not _holds(reply.body, fine):
            self._refused(request, reply)
        return reply

    def _refused(self, request: Request, reply: Reply) -> NoReturn:
        caller, status = self._caller, reply.status
        told_text = message(reply.body[:100_000])
        text = f"{request.name}: HTTP {status} {reply.reason}{': ' + told_text if told_text else ''}"
        if 300 <= status < 400:
            caller.refuse(f"{text}. It redirects; give the address it redirects to as url", ends=True)
        if _holds(reply.body, caller.rules.stops) or status in ENDED:
            caller.refuse(text, ends=True)
        throttled = _holds(reply.body, caller.rules.passes)
        if throttled or status in PASSING or (status >= 500 and status not in (501, 505)):
            raise PassingError(
                text,
                wait=asked_wait(reply.headers, reply.body[:100_000]),
                congested=throttled or status in CONGESTED,
            )
        if status in REFUSED:
            caller.refuse(text, ends=False)
        raise RefusedUtteranceError(caller.safe(text))

    def _no_error(self, request: Request, found: dict[str, Any]) -> None:
        """Raise for an error inside an answer that claims to be a success."""
        error = found.get("error") or found.get("err_msg")
        if not error:
            return
        text = f"{request.name}: answered with an error inside: {told(found)}"
        code = error.get("code") if isinstance(error, dict) else found.get("code")
        if _holds(str(error).encode(), self._caller.rules.stops):
            self._caller.refuse(text, ends=True)
        if isinstance(code, int) and (code in PASSING or 500 <= code < 600):
            raise PassingError(text, congested=code in CONGESTED)
        raise UtteranceError(self._caller.safe(text))


def _holds(body: bytes, words: tuple[str, ...]) -> bool:
    start = body[:100_000]
    return any(word.encode() in start for word in words)


# How long a service asks us to wait: the standard's header, the vendors' own, and the body.

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
