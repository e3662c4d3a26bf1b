"""The server core: one request a connection, on this machine only, and nothing without the token.

What an app must not get wrong is done here, once: who may ask (a token in the link, then a cookie), from where
(`Host` against DNS rebinding; `Origin`, `Sec-Fetch-Site`, a JSON body and a header of our own for whatever changes
something), how much (sizes, time, connections), and what the browser may do with an answer (a strict content
security policy). An app is a function from `Request` to `Response`.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import ThreadingHTTPServer

from voxaudit.errors import VoxauditError
from voxaudit.review.connection import Connection, Policy
from voxaudit.review.messages import Handler, HttpError, Request, Response, asset, json_response

__all__ = [
    "Handler",
    "HttpError",
    "Request",
    "Response",
    "Running",
    "asset",
    "json_response",
    "loopback",
    "one_token",
    "running",
    "until_interrupted",
]

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
    any_host: bool = False,
    max_body: int = 65_536,
    log: Callable[[str], None] | None = None,
) -> Iterator[Running]:
    """Serve `handler` in the background for the length of a `with` block.

    `port` 0 takes a free one. Without `authorize`, one token lets people in: `token`, or a random one. With
    `authorize`, every person has a token of their own, and `Request.who` says whose it was. `names` are further
    host names under which the server may be asked (a study behind a proxy). An address other than this machine's
    needs `any_host`: the audio and the texts of a run are then readable for whoever has the link. `max_body` is in
    bytes. `log` gets one line for each request that failed inside.
    """
    if not loopback(host) and not any_host:
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
            f"{host} port {port}: cannot listen there ({error.strerror or error}). Choose another port", see=("port",)
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
