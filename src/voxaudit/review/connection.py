"""One connection: read a request within limits, check it, ask the app, answer."""

from __future__ import annotations

import contextlib
import io
import ipaddress
import re
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from html import escape
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qsl, unquote_to_bytes, urlsplit

from voxaudit.errors import VoxauditError, one_line
from voxaudit.render.published import without_folders
from voxaudit.review.messages import Handler, HttpError, Request, Response

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

    def do_GET(self) -> None:
        """Answer a GET."""
        self._answer()

    def do_HEAD(self) -> None:
        """Answer a HEAD as a GET without its body."""
        self._answer()

    def do_POST(self) -> None:
        """Answer a POST."""
        self._answer()

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
                raise HttpError(400, f"the header {key} is there twice")
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
        raise HttpError(400, "a field of the query is there twice")
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
