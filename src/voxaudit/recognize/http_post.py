"""One audio file to a web service and its JSON answer back; every way to fail is one line without secrets."""

from __future__ import annotations

import email.utils
import http.client
import json
import secrets
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from voxaudit.errors import one_line
from voxaudit.recognize.base import RecognizerError, UtteranceError

LARGEST_ANSWER = 20_000_000
LONGEST_WAIT = 60.0
BUSY = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
REFUSED = frozenset({401, 403, 404, 405})


@dataclass(frozen=True)
class Endpoint:
    """Where to send audio: the URL, the same as it may be shown, the key, and patience in seconds and tries."""

    url: str
    name: str
    key: str = field(repr=False)
    timeout: float
    retries: int


class _LaterError(Exception):
    """Worth another try, perhaps after `wait` seconds."""

    def __init__(self, message: str, wait: float | None = None) -> None:
        super().__init__(message)
        self.wait = wait


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the key to somebody else."""

    def redirect_request(self, *arguments: Any) -> None:
        """Follow nothing."""


def post(endpoint: Endpoint, fields: Sequence[tuple[str, str]], wav: bytes) -> dict[str, Any]:
    """Send a form with a WAV file and return the JSON object that comes back.

    A busy or unreachable service is asked again, after as long as it asks for (at most 60 s) or 0.5, 1, 2 ... s.
    Raises `UtteranceError`; `RecognizerError` where the service would refuse any audio (key, address).
    """
    body, content_type = multipart(fields, wav)
    headers = {"Content-Type": content_type, "Accept": "application/json", "User-Agent": "voxaudit"}
    if endpoint.key:
        headers["Authorization"] = f"Bearer {endpoint.key}"
    for attempt in range(endpoint.retries + 1):
        try:
            return _ask(endpoint, body, headers)
        except _LaterError as error:
            if attempt == endpoint.retries:
                tries = f" after {attempt + 1} tries" if attempt else ""
                raise UtteranceError(_safe(endpoint, f"{error}{tries}")) from None
            time.sleep(min(0.5 * 2**attempt if error.wait is None else error.wait, LONGEST_WAIT))
    raise AssertionError("unreachable")


def multipart(fields: Sequence[tuple[str, str]], wav: bytes) -> tuple[bytes, str]:
    """Return a multipart/form-data body with the fields and the file `audio.wav`, and its content type."""
    boundary = f"voxaudit-{secrets.token_hex(16)}"
    parts = [
        f'Content-Disposition: form-data; name="{name}"\r\n\r\n{value}'.encode() for name, value in fields
    ]
    head = (
        'Content-Disposition: form-data; name="file"; filename="audio.wav"\r\nContent-Type: audio/wav\r\n\r\n'
    )
    parts.append(head.encode() + wav)
    mark = f"--{boundary}\r\n".encode()
    body = b"".join(mark + part + b"\r\n" for part in parts) + f"--{boundary}--\r\n".encode()
    return body, f"multipart/form-data; boundary={boundary}"


def _ask(endpoint: Endpoint, body: bytes, headers: dict[str, str]) -> dict[str, Any]:
    request = urllib.request.Request(endpoint.url, data=body, headers=headers, method="POST")
    opener = urllib.request.build_opener(_NoRedirect)
    where = endpoint.name
    try:
        with opener.open(request, timeout=endpoint.timeout) as response:
            answer = response.read(LARGEST_ANSWER + 1)
            promised = response.headers.get("Content-Length", "")
    except urllib.error.HTTPError as error:
        with error:
            _refused(endpoint, error)
    except http.client.IncompleteRead as error:
        raise _LaterError(f"{where}: the answer broke off") from error
    except TimeoutError as error:
        raise _LaterError(f"{where}: no answer within {endpoint.timeout:g} s") from error
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        if isinstance(reason, TimeoutError):
            raise _LaterError(f"{where}: no answer within {endpoint.timeout:g} s") from error
        text = getattr(reason, "strerror", None) or one_line(
            reason if str(reason) else type(reason).__name__, 160
        )
        raise _LaterError(f"{where}: cannot be reached ({text})") from error
    if promised.isdigit() and len(answer) < min(int(promised), LARGEST_ANSWER):
        raise _LaterError(f"{where}: the answer broke off")
    if len(answer) > LARGEST_ANSWER:
        raise UtteranceError(f"{where}: the answer is larger than {LARGEST_ANSWER:,} bytes")
    return _document(endpoint, answer)


def _refused(endpoint: Endpoint, error: urllib.error.HTTPError) -> NoReturn:
    try:
        text = _message(error.read(100_000))
    except (OSError, http.client.HTTPException):
        text = ""
    line = f"{endpoint.name}: HTTP {error.code} {error.reason}{': ' + text if text else ''}"
    if error.code in BUSY and "insufficient_quota" not in text:
        raise _LaterError(line, retry_after(error.headers.get("Retry-After")))
    if 300 <= error.code < 400:
        raise RecognizerError(
            _safe(endpoint, f"{line}. It redirects; give the address it redirects to as url")
        )
    if error.code in REFUSED:
        raise RecognizerError(_safe(endpoint, line))
    raise UtteranceError(_safe(endpoint, line))


def retry_after(value: str | None) -> float | None:
    """Return the seconds of a Retry-After header (seconds or a date), or None."""
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


def _document(endpoint: Endpoint, answer: bytes) -> dict[str, Any]:
    try:
        document = json.loads(answer)
    except ValueError:  # UnicodeDecodeError is one, too
        shown = one_line(answer[:200].decode("utf-8", "replace"), 60)
        kind = "a web page" if shown.lstrip().lower().startswith(("<!doctype", "<html")) else "no JSON"
        raise UtteranceError(
            _safe(endpoint, f"{endpoint.name}: answered with {kind}: {shown or 'nothing'}")
        ) from None
    if not isinstance(document, dict):
        raise UtteranceError(
            f"{endpoint.name}: answered with a JSON {type(document).__name__}, not an object"
        )
    if document.get("error"):
        raise UtteranceError(_safe(endpoint, f"{endpoint.name}: {_message(answer)}"))
    return document


def _message(answer: bytes) -> str:
    """Return the message inside an error's body, or nothing where it is a web page."""
    try:
        document = json.loads(answer)
    except ValueError:
        text = one_line(answer.decode("utf-8", "replace"), 160)
        return "" if text.lstrip().startswith("<") else text
    error = (
        document.get("error", document.get("detail", document)) if isinstance(document, dict) else document
    )
    if isinstance(error, dict):
        parts = [str(error[key]) for key in ("message", "code") if error.get(key)]
        return one_line(" ".join(parts) or str(error), 300)
    return one_line(str(error), 300)


def _safe(endpoint: Endpoint, text: str) -> str:
    """Return text without the key, which some services repeat in their complaints."""
    return one_line(text.replace(endpoint.key, "***") if endpoint.key else text, 400)
