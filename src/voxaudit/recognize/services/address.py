"""Addresses of services: which may be used, and how they may be shown."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

from voxaudit.errors import one_line

_SECRET = re.compile(
    r"(?<![a-z])(api|access|secret|auth)?"
    r"(key|token|secret|sig|signature|password|pwd|auth|authorization|credentials?)(?![a-z])",
    re.IGNORECASE,
)
_INSIDE = (".localhost", ".local", ".internal", ".lan", ".home.arpa")


def problem_with_url(url: str, what: str = "url") -> str:
    """Return why an address cannot be used, or nothing. The address itself is not repeated: it may hold a key."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        return f"{what} is not valid ({one_line(error, 80)})"
    if parts.scheme not in ("http", "https") or not host:
        return f"{what} must start with http:// or https:// and name a host"
    if any(not character.isprintable() or character.isspace() for character in url):
        return f"{what} has a space or an odd character"
    if parts.username or parts.password or holds_secret(parts.query):
        return f"{what} holds a password or key; put it in the environment variable named by key_env"
    if parts.scheme == "http" and not is_private(url):
        return f"{what} must be https:// outside your own network: http sends recordings and key in the open"
    return ""


def holds_secret(query: str) -> bool:
    """Return True if a query has a parameter whose name says that it is a secret."""
    return any(_SECRET.search(pair.partition("=")[0]) for pair in query.split("&"))


def plain(url: str) -> str:
    """Return an address without query, user and password: what may be shown and remembered."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{host_of(url)}{parts.path}".rstrip("/")


def host_of(url: str) -> str:
    """Return `host` or `host:port` of an address, as it goes into the header Host."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
    standard = {"http": 80, "https": 443}.get(parts.scheme)
    return f"{host}:{parts.port}" if parts.port and parts.port != standard else host


def is_private(url: str) -> bool:
    """Return True for this machine and for names and numbers that exist only inside a network of one's own."""
    host = urlsplit(url).hostname or ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return bool(host) and ("." not in host or host.endswith(_INSIDE))
    return address.is_private or address.is_loopback
