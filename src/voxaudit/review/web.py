"""The server core: one request a connection, on this machine only, and nothing without the token.

What an app must not get wrong is done here, once: who may ask (a token in the link, then a cookie), from where
(`Host` against DNS rebinding; `Origin`, `Sec-Fetch-Site`, a JSON body and a header of our own for whatever changes
something), how much (sizes, time, connections), and what the browser may do with an answer (a strict content
security policy). An app is a function from `Request` to `Response`.
"""

from __future__ import annotations

import contextlib
import io
import ipaddress
import json
import re
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from html import escape
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qsl, unquote_to_bytes, urlsplit

from voxaudit.errors import VoxauditError, one_line
from voxaudit.render.published import without_folders


class HttpError(Exception):
    """Ends a request with a status and one line for the person who reads it."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass(frozen=True)
class Request:
    """A request that the core has let in. Header names are in lower case; `path` and `query` are decoded once.

    `who` is what `authorize` returned for the token: the participant of a study, empty for the one token of a review.
    """

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    cookies: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    who: str = ""

    def json(self) -> dict[str, Any]:
        """Return the body as a JSON object; anything else ends the request with 400."""
        try:
            document = json.loads(self.body)
        except (ValueError, RecursionError) as error:
            raise HttpError(400, "the body is not JSON") from error
        if not isinstance(document, dict):
            raise HttpError(400, "the body is not a JSON object")
        return document


@dataclass(frozen=True)
class Response:
    """What goes back. With `ranges`, the core answers HTTP range requests, so that audio can be sought in."""

    status: int = 200
    body: bytes = b""
    content_type: str = "text/plain; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)
    ranges: bool = False


Handler = Callable[[Request], Response]
"""An app: a function from a request to a response. A GET must not change anything."""


def json_response(document: Any) -> Response:
    """Return a document as JSON. NaN and infinity are not JSON: the app must not send them."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # A lone surrogate (a broken file name) must not end the request: it is shown as a question mark.
    return Response(200, text.encode("utf-8", "replace"), "application/json; charset=utf-8")


CONTENT_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


def asset(package: str, name: str) -> Response:
    """Return a packaged file. `name` comes from the app's own list of names, never from a request."""
    content = files(package).joinpath("assets", name).read_bytes()
    return Response(200, content, CONTENT_TYPES[name.rpartition(".")[2]])


HEADER = "x-voxaudit"
"""A request that changes something carries this header: a form of another site cannot set it."""

READ_SECONDS = 15.0
"""A request must have arrived whole within this time, however it is dripped."""

WRITE_SECONDS = 60.0
"""An answer must have been taken within this time; a browser that pauses audio asks again by range."""

MAX_URL = 4096
MAX_HEADERS = 32_768
MAX_FIELDS = 32

SECURITY = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True)
class Policy:
    """What a connection needs to know of its server."""

    handler: Handler
    authorize: Callable[[str], str | None]
    host: str
    port: int
    names: tuple[str, ...]
    max_body: int
    log: Callable[[str], None] | None

    @property
    def cookie(self) -> str:
        """The cookie's name; cookies do not know ports, so two servers on one machine need two names."""
        return f"voxaudit_{self.port}"

    def knows(self, host: str) -> bool:
        """Say whether a `Host` header names this server: a name that an attacker's DNS points here does not."""
        host = host.lower()
        if host in {name.lower() for name in self.names}:
            return True
        name, colon, port = host.rpartition(":")
        if not colon or port != str(self.port):
            name, port = host, "80"
        if port != str(self.port):
            return False
        if name in ("127.0.0.1", "localhost", "[::1]", self.host.lower(), f"[{self.host.lower()}]"):
            return True
        if name in {known.lower() for known in self.names}:
            return True
        return self.host in ("0.0.0.0", "::") and _is_address(name)


def _is_address(name: str) -> bool:
    # No DNS stands behind an address, so it cannot have been rebound.
    try:
        ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


class _Deadline(io.RawIOBase):
    """A socket that can be read until a moment, not for so long a piece: dripping does not help."""

    def __init__(self, connection: socket.socket, seconds: float) -> None:
        self._connection = connection
        self._end = time.monotonic() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)


class Connection(BaseHTTPRequestHandler):
    """Reads one request, answers it, and closes: nothing can be smuggled behind it."""

    protocol_version = "HTTP/1.1"
    rbufsize = 0

    def setup(self) -> None:
        """Bound the time in which the request must arrive."""
        super().setup()
        self.rfile = io.BufferedReader(_Deadline(self.connection, READ_SECONDS))

    def handle(self) -> None:
        """Serve one request."""
        self.close_connection = True
        self._sent = False
        with contextlib.suppress(OSError):
            self.handle_one_request()

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer what the parser refuses: one line, no page, nothing of what was sent."""
        status = 405 if code == 501 else int(code)
        if not self._sent:
            self._send(Response(status, b"this request is not understood\n"))

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: the addresses of requests can hold a token."""

    def version_string(self) -> str:
        """Return a name without versions."""
        return "voxaudit"

    def _answer(self) -> None:
        policy: Policy = self.server.policy  # type: ignore[attr-defined]
        try:
            response = self._respond(policy)
        except HttpError as error:
            response = Response(error.status, f"{error.message}\n".encode("utf-8", "replace"))
        except VoxauditError as error:
            self._log(policy, error)
            response = Response(422, f"{without_folders()(one_line(error))}\n".encode("utf-8", "replace"))
        except (TimeoutError, ConnectionError):
            raise
        except Exception as error:
            self._log(policy, error)
            response = Response(500, b"something went wrong inside; the terminal says what\n")
        self._send(response)

    do_GET = do_HEAD = do_POST = _answer  # noqa: N815 - of a HEAD, no body is sent

    def _log(self, policy: Policy, error: Exception) -> None:
        if policy.log:
            kind = "" if isinstance(error, VoxauditError) else f"{type(error).__name__}: "
            policy.log(f"{self.command} {urlsplit(self.path).path[:200]}: {kind}{one_line(error)}")

    def _respond(self, policy: Policy) -> Response:
        request = self._read(policy)
        token = request.query.get("token")
        if token is not None and request.method != "POST":
            if not re.fullmatch(r"[\w-]{1,200}", token, re.ASCII) or policy.authorize(token) is None:
                raise HttpError(403, "this link is not valid; take the one that the terminal shows")
            return self._let_in(policy, token, request)
        who = policy.authorize(request.cookies.get(policy.cookie, ""))
        if who is None:
            raise HttpError(403, "no access without the link that the terminal shows")
        request = replace(request, who=who)
        if request.method == "POST":
            self._check_origin(request)
            request = replace(request, body=self._body(policy))
        response = policy.handler(request)
        return ranged(request, response) if response.ranges and response.status == 200 else response

    def _read(self, policy: Policy) -> Request:
        if len(self.path) > MAX_URL:
            raise HttpError(414, "the address is too long")
        headers: dict[str, str] = {}
        size = 0
        for key, value in self.headers.items():
            size += len(key) + len(value)
            key = key.lower()
            if key in headers and key in ("host", "origin", "content-length", "content-type", "cookie"):
                raise HttpError(400, f"the header {key} occurs twice")
            headers[key] = value
        if size > MAX_HEADERS:
            raise HttpError(431, "the headers are too long")
        if not policy.knows(headers.get("host", "")):
            raise HttpError(403, "this server is not known under that name")
        if "transfer-encoding" in headers:
            raise HttpError(411, "send the body with a Content-Length")
        parts = urlsplit(self.path)
        if parts.scheme or parts.netloc or not parts.path.startswith("/"):
            raise HttpError(400, "the address is not a path")
        return Request(
            self.command, decoded(parts.path), query_of(parts.query), headers, cookies_of(headers), b""
        )

    def _let_in(self, policy: Policy, token: str, request: Request) -> Response:
        cookie = f"{policy.cookie}={token}; HttpOnly; SameSite=Strict; Path=/"
        headers = {"Set-Cookie": cookie}
        target = "/" + request.path.lstrip("/")
        if not re.fullmatch(r"[\w./-]*", target, re.ASCII):
            target = "/"
        if request.headers.get("sec-fetch-site", "none") in ("none", "same-origin"):
            return Response(303, headers={**headers, "Location": target})
        # From another site (a link in web mail) a redirect would not carry the strict cookie; our own page does.
        page = (
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>voxaudit</title>'
            f'<meta http-equiv="refresh" content="0;url={escape(target)}"><p><a href="{escape(target)}">Go on</a></p>'
        )
        return Response(200, page.encode(), "text/html; charset=utf-8", headers)

    def _check_origin(self, request: Request) -> None:
        host = request.headers["host"].lower()
        origin = request.headers.get("origin", "").lower()
        if origin not in (f"http://{host}", f"https://{host}"):
            raise HttpError(403, "this request comes from another site")
        if request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
            raise HttpError(403, "this request comes from another site")
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise HttpError(415, "send JSON")
        if HEADER not in request.headers:
            raise HttpError(403, f"the header {HEADER} is missing")

    def _body(self, policy: Policy) -> bytes:
        length = self.headers.get("content-length", "")
        if not re.fullmatch(r"[0-9]{1,12}", length):
            raise HttpError(411, "send the body with a Content-Length")
        if int(length) > policy.max_body:
            raise HttpError(413, f"the body is longer than {policy.max_body} bytes")
        body = self.rfile.read(int(length))
        if len(body) != int(length):
            raise HttpError(400, "the body is shorter than its Content-Length")
        return body

    def _send(self, response: Response) -> None:
        self._sent = True
        self.connection.settimeout(WRITE_SECONDS)
        self.send_response(response.status)
        headers = {
            **SECURITY,
            "Content-Type": response.content_type,
            **response.headers,
            "Content-Length": str(len(response.body)),
            "Connection": "close",
        }
        if response.status == 405:
            headers["Allow"] = "GET, HEAD, POST"
        for key, value in headers.items():
            self.send_header(key, re.sub(r"[^\x20-\x7e]", "?", value))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(response.body)
        if response.status >= 400:
            self._drain()

    def _drain(self) -> None:
        # Closing on bytes that nobody read makes the client lose our answer: take what is on its way, briefly.
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            self.connection.settimeout(0.5)
            end = time.monotonic() + 1.0
            while time.monotonic() < end and self.connection.recv(65_536):
                pass


def decoded(path: str) -> str:
    """Return a path decoded once; one with control characters, backslashes or `..` ends the request."""
    try:
        text = unquote_to_bytes(path).decode("utf-8")
    except (UnicodeDecodeError, UnicodeEncodeError) as error:
        raise HttpError(400, "the address is not UTF-8") from error
    if any(ord(character) < 32 or character in "\\\x7f" for character in text) or ".." in text.split("/"):
        raise HttpError(400, "the address is not a path of this server")
    return text


def query_of(text: str) -> dict[str, str]:
    """Return the fields of a query; one that comes twice ends the request."""
    try:
        pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except (ValueError, UnicodeError) as error:
        raise HttpError(400, "the query is not understood") from error
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise HttpError(400, "a field of the query occurs twice")
    return fields


def cookies_of(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the cookies of a request; broken ones count as none."""
    try:
        return {key: morsel.value for key, morsel in SimpleCookie(headers.get("cookie", "")).items()}
    except CookieError:
        return {}


def ranged(request: Request, response: Response) -> Response:
    """Return the part of a response that a `Range` header asks for: 206, or 416 outside of it.

    Several ranges, or what is not a range of bytes, get the whole: a server may ignore the header.
    """
    headers = {**response.headers, "Accept-Ranges": "bytes"}
    whole = replace(response, headers=headers)
    match = re.fullmatch(r"bytes=([0-9]{0,15})-([0-9]{0,15})", request.headers.get("range", "").strip())
    if match is None or request.method == "POST" or match.group(1) == match.group(2) == "":
        return whole
    size = len(response.body)
    if match.group(1):
        first = int(match.group(1))
        last = min(int(match.group(2)), size - 1) if match.group(2) else size - 1
        if match.group(2) and int(match.group(2)) < first:
            return whole
    else:
        first, last = max(size - int(match.group(2)), 0), size - 1
    if first > last:
        return Response(416, headers={"Content-Range": f"bytes */{size}"})
    headers["Content-Range"] = f"bytes {first}-{last}/{size}"
    return replace(response, status=206, body=response.body[first : last + 1], headers=headers)


MAX_CONNECTIONS = 64
"""Connections served at a time; one more is closed unanswered."""

Authorize = Callable[[str], str | None]
"""Says whom a token belongs to, or None for nobody. It must compare in constant time."""


@dataclass(frozen=True)
class Running:
    """A server that answers: its address, and the link that lets a person in."""

    host: str
    port: int
    token: str | None

    @property
    def url(self) -> str:
        """The address without a token. A server on every address is reached here by the loopback one."""
        shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        return f"http://{f'[{shown}]' if ':' in shown else shown}:{self.port}/"

    @property
    def link(self) -> str:
        """The address to open: with the token, where one token lets everybody in."""
        return self.url if self.token is None else f"{self.url}?token={self.token}"


def one_token(token: str) -> Authorize:
    """Return an `authorize` that lets in whoever has this token."""
    expected = token.encode()

    def authorize(given: str) -> str | None:
        return "" if secrets.compare_digest(given.encode("utf-8", "replace"), expected) else None

    return authorize


def loopback(host: str) -> bool:
    """Say whether an address can only be reached from this machine."""
    return host in ("127.0.0.1", "localhost", "::1")


@contextmanager
def running(
    handler: Handler,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    token: str | None = None,
    authorize: Authorize | None = None,
    names: Sequence[str] = (),
    allow_remote: bool = False,
    max_body: int = 65_536,
    log: Callable[[str], None] | None = None,
) -> Iterator[Running]:
    """Serve `handler` in the background for the length of a `with` block.

    `port` 0 takes a free one. Without `authorize`, one token lets people in: `token`, or a random one. With
    `authorize`, every person has a token of their own, and `Request.who` says whose it was. `names` are further
    host names under which the server may be asked (a study behind a proxy). An address other than this machine's
    needs `allow_remote`: the audio and the texts of a run are then readable for whoever has the link. `max_body` is in
    bytes. `log` gets one line for each request that failed inside.
    """
    if not loopback(host) and not allow_remote:
        raise VoxauditError(
            f"{host}: other machines could then reach this server; allow that, or listen on this machine only",
            see=("allow_remote", "host"),
        )
    if not 0 <= port <= 65_535:
        raise VoxauditError(f"the port must lie between 0 and 65535, not {port}")
    if authorize is None:
        token = token or secrets.token_urlsafe(24)
        authorize = one_token(token)
    else:
        token = None
    try:
        server = _Server(host, port)
    except OSError as error:
        raise VoxauditError(
            f"{host} port {port}: cannot listen there ({error.strerror or error}). Choose another port",
            see=("port",),
        ) from error
    server.policy = Policy(handler, authorize, host, server.server_port, tuple(names), max_body, log)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
    thread.start()
    try:
        yield Running(host, server.server_port, token)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def until_interrupted() -> None:
    """Wait for Ctrl-C."""
    never = threading.Event()
    try:
        # In pieces: a signal that another thread catches (polars has its own) does not end a wait without end.
        while not never.wait(0.5):
            pass
    except KeyboardInterrupt:
        return


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # a browser that keeps audio open must not hold up Ctrl-C
    request_queue_size = 64
    policy: Policy

    def __init__(self, host: str, port: int) -> None:
        import socket

        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._slots = threading.BoundedSemaphore(MAX_CONNECTIONS)
        super().__init__((host, port), Connection)

    def server_bind(self) -> None:
        # The base class asks the name service for our own name: slow, and nobody needs it.
        import socketserver

        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def process_request(self, request: object, client_address: object) -> None:
        if self._slots.acquire(blocking=False):
            super().process_request(request, client_address)  # type: ignore[arg-type]
        else:
            self.shutdown_request(request)  # type: ignore[arg-type]

    def process_request_thread(self, request: object, client_address: object) -> None:
        try:
            super().process_request_thread(request, client_address)  # type: ignore[arg-type]
        finally:
            self._slots.release()

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: a client that left in the middle is no news, and faults inside are logged where they happen."""
