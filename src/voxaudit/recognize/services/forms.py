"""Requests as services take them: the recording as it is, in a form, or JSON; and queries."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from voxaudit.audio import Audio
from voxaudit.recognize.pcm import wav_bytes
from voxaudit.recognize.services.wire import Request


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
