"""Requests and responses, as the apps see them: plain values, nothing of sockets."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any


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
