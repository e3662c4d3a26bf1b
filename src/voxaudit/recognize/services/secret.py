"""Keys: read from the environment where they are used, shown nowhere."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterable
from typing import NoReturn
from urllib.parse import quote

from voxaudit.errors import one_line
from voxaudit.recognize.base import RecognizerError

# Capitals only: a key that somebody wrote in place of the variable's name is not repeated, nor stored.
_NAME = re.compile(r"[A-Z_][A-Z0-9_]{0,63}")
_AMAZON = re.compile(r"(AKIA|ASIA)[A-Z0-9]{12,}")
SHORTEST = 6
"""Characters. Shorter secrets are refused: to hide them would tear holes into any message."""


class Secret:
    """A key that prints as stars and cannot be pickled, so that it stays in the process that read it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the key itself, for a request's header."""
        return self._value

    def __repr__(self) -> str:
        return "Secret(***)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key is not pickled: worker processes read it from their own environment")

    def within(self, text: str) -> bool:
        """Return True if the text holds the key, in any form that `hide` knows."""
        return any(form in text for form in self._forms())

    def hide(self, text: str) -> str:
        """Return the text with stars in place of the key, also quoted for a URL, backward, in base64 or in hex."""
        for form in self._forms():
            text = text.replace(form, "***")
        return text

    def _forms(self) -> list[str]:
        raw = self._value.encode()
        basic = base64.b64encode(b"apikey:" + raw).decode()
        whole = [
            self._value,
            quote(self._value, safe=""),
            basic,
            self._value[::-1],
            raw.hex(),
            raw.hex().upper(),
        ]
        # In base64 the same bytes look different at each of three places; what depends on the neighbors is cut off.
        encoded = []
        for before in range(3):
            text = base64.b64encode(b"\0" * before + raw).decode().rstrip("=")
            encoded.append(text[(4 * before + 2) // 3 : len(text) - (len(text) % 4 > 0)])
        return [*whole, *encoded, *(text.translate({43: "-", 47: "_"}) for text in encoded)]


def hide_all(secrets: Iterable[Secret], text: str) -> str:
    """Return text as one line without any of the secrets, which some services repeat in their complaints."""
    for secret in secrets:
        text = secret.hide(text)
    return one_line(text, 400)  # last, so that no cut leaves half a key unrecognized


def problem_with_variable(name: str, setting: str) -> str:
    """Return why this cannot be the name of an environment variable, or nothing; the text is not repeated."""
    if _NAME.fullmatch(name) and not _AMAZON.match(name):
        return ""
    return (
        f"{setting} must be the name of an environment variable in capitals, such as MY_KEY;"
        " the key itself belongs into that variable"
    )


def read_secret(variable: str, who: str) -> Secret | None:
    """Return the key in an environment variable, or None if it is not set; an unusable one raises one line."""
    value = os.environ.get(variable, "").strip() if variable else ""
    if not value:
        return None
    if not value.isascii() or not value.isprintable() or " " in value or len(value) < SHORTEST:
        raise RecognizerError(
            f"{who}: {variable} holds no valid key (spaces or odd characters, or under {SHORTEST} of them)"
        )
    return Secret(value)
