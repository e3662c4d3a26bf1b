"""One HTTP request and its answer: bounded in time and size, encrypted, redirected nowhere."""

from __future__ import annotations

import base64
import contextlib
import functools
import http.client
import json
import secrets
import socket
import ssl
import threading
import time
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from email.message import Message
from typing import Any, Literal
from urllib.parse import SplitResult, unquote, urlencode, urlsplit

from voxaudit.audio import Audio
from voxaudit.errors import one_line
from voxaudit.recognize.pcm import wav_bytes
from voxaudit.recognize.services.address import plain

LARGEST_ANSWER = 20_000_000
"""Bytes: no answer about an utterance is larger."""


@dataclass(frozen=True)
class Request:
    """What is asked. `authorize` is False for addresses that carry their own signature: the key stays here."""

    method: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes | None = field(default=None, repr=False)
    authorize: bool = True

    @property
    def name(self) -> str:
        """The address as it may be shown."""
        return plain(self.url)


@dataclass(frozen=True)
class Reply:
    """What came back, whole."""

    status: int
    reason: str
    headers: Message
    body: bytes = field(repr=False)


class WireError(Exception):
    """No whole answer came: the message says why, `kind` what sort of failure it was."""

    def __init__(
        self, message: str, kind: Literal["late", "cut", "unreachable", "untrusted", "large"]
    ) -> None:
        super().__init__(message)
        self.kind = kind


def exchange(request: Request, seconds: float, most: int = LARGEST_ANSWER) -> Reply:
    """Send a request and return its answer, or raise `WireError`.

    `seconds` bounds the whole: connecting, sending, and an answer that drips in byte by byte. No redirect is
    followed, no cookie kept, no compressed answer accepted; the certificate of an https address is checked.
    """
    end = time.monotonic() + seconds
    late = WireError(f"no answer within {seconds:.3g} s", "late")
    cut = threading.Event()
    watch: threading.Timer | None = None
    parts = urlsplit(request.url)
    connection = _connection(parts, seconds)
    try:
        connection.connect()
        watch = threading.Timer(max(0.0, end - time.monotonic()), _cut, (connection.sock, cut))
        watch.daemon = True
        watch.start()
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        # A service that refuses may close before it has read all; what it said is still there to be read.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            connection.request(request.method, target, request.body, dict(request.headers))
        with connection.getresponse() as response:
            reply = _read(response, most)
        if cut.is_set():  # the end that was read is the one that we made
            raise late
        return reply
    except ssl.SSLCertVerificationError as error:
        raise WireError(
            f"its certificate is not trusted ({one_line(error.verify_message, 80)})", "untrusted"
        ) from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        if cut.is_set() or isinstance(error, TimeoutError):
            raise late from None
        raise _wire_error(error) from None
    finally:
        if watch is not None:
            watch.cancel()
        connection.close()


def _wire_error(error: Exception) -> WireError:
    if isinstance(error, http.client.IncompleteRead):
        return WireError("the answer broke off", "cut")
    if isinstance(error, http.client.RemoteDisconnected):
        return WireError("the connection was closed without an answer", "cut")
    if isinstance(error, ConnectionResetError | BrokenPipeError):
        return WireError("the connection was reset", "cut")
    if isinstance(error, http.client.HTTPException | ValueError):
        return WireError(f"the answer is not HTTP ({type(error).__name__})", "cut")
    text = getattr(error, "strerror", None) or one_line(error, 120)
    return WireError(f"cannot be reached ({text})", "unreachable")


def _read(response: http.client.HTTPResponse, most: int) -> Reply:
    body = response.read(most + 1)
    if len(body) > most:
        raise WireError(f"the answer is larger than {most:,} bytes", "large")
    if response.length:  # promised, and did not come
        raise http.client.IncompleteRead(b"")
    return Reply(response.status, one_line(response.reason or "", 10_000), response.headers, body)


def _cut(sock: socket.socket, cut: threading.Event) -> None:
    """End a connection under the thread that waits for it."""
    cut.set()
    with contextlib.suppress(OSError):
        # The plain socket's own: that of an encrypted one would change the object while it is in use.
        socket.socket.shutdown(sock, socket.SHUT_RDWR)


def _connection(parts: SplitResult, seconds: float) -> http.client.HTTPConnection:
    host = parts.hostname or ""
    if parts.scheme == "http":  # only inside one's own network: past any proxy
        return http.client.HTTPConnection(host, parts.port, timeout=seconds)
    proxy = urllib.request.getproxies().get("https", "")
    if not proxy or urllib.request.proxy_bypass(host):
        return http.client.HTTPSConnection(host, parts.port, timeout=seconds, context=_trust())
    through = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    tunnel = http.client.HTTPSConnection(
        through.hostname or "", through.port or 8080, timeout=seconds, context=_trust()
    )
    headers = {}
    if through.username:
        pair = f"{unquote(through.username)}:{unquote(through.password or '')}"
        headers["Proxy-Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    tunnel.set_tunnel(host, parts.port or 443, headers)
    return tunnel


@functools.lru_cache(maxsize=1)
def _trust() -> ssl.SSLContext:
    return ssl.create_default_context()


# Requests as services take them: the recording as it is, in a form, or JSON; and queries.


def post_wav(url: str, audio: Audio, kind: str = "audio/wav", **headers: str) -> Request:
    """Return the request with the WAV file as its body."""
    return Request("POST", url, {"Content-Type": kind, **headers}, wav_bytes(audio))


def post_form(url: str, fields: Sequence[tuple[str, str]], name: str, audio: Audio) -> Request:
    """Return the request with a form: the fields, and the file `audio.wav` under `name`."""
    body, content_type = multipart(fields, name, wav_bytes(audio))
    return Request("POST", url, {"Content-Type": content_type}, body)


def post_json(url: str, document: Mapping[str, Any], **headers: str) -> Request:
    """Return the request with a JSON object."""
    return Request(
        "POST", url, {"Content-Type": "application/json", **headers}, json.dumps(document).encode()
    )


def multipart(fields: Sequence[tuple[str, str]], name: str, wav: bytes) -> tuple[bytes, str]:
    """Return a multipart/form-data body with the fields and the file `audio.wav`, and its content type."""
    boundary = f"voxaudit-{secrets.token_hex(16)}"
    parts = [f'Content-Disposition: form-data; name="{key}"\r\n\r\n{value}'.encode() for key, value in fields]
    head = (
        f'Content-Disposition: form-data; name="{name}"; filename="audio.wav"\r\n'
        "Content-Type: audio/wav\r\n\r\n"
    )
    parts.append(head.encode() + wav)
    mark = f"--{boundary}\r\n".encode()
    body = b"".join(mark + part + b"\r\n" for part in parts) + f"--{boundary}--\r\n".encode()
    return body, f"multipart/form-data; boundary={boundary}"


def with_query(url: str, pairs: Sequence[tuple[str, str]]) -> str:
    """Return an address with a query."""
    return f"{url}?{urlencode(pairs)}" if pairs else url
