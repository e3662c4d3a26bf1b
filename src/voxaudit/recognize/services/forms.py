"""Bodies of requests: a form with a file, and queries."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from urllib.parse import parse_qsl, urlencode


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


def with_query(url: str, pairs: Sequence[tuple[str, str]], more: str = "") -> str:
    """Return an address with a query: the pairs that have a value, then those of `more` (`a=1&b=2`)."""
    query = urlencode(
        [(key, value) for key, value in pairs if value] + parse_qsl(more, keep_blank_values=True)
    )
    return f"{url}?{query}" if query else url
