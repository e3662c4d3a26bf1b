"""What an answer says: its JSON, and the message inside a refusal."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from voxaudit.errors import one_line
from voxaudit.recognize.base import Transcript, as_transcript
from voxaudit.recognize.services.wire import Reply

WHOLE = 10_000
"""Characters of a message that are kept until secrets are taken out: a cut could leave half a key unrecognized."""

_XML = re.compile(r"<(Code|Message)>([^<]*)</\1>")
_TELLING = (
    *("message", "Message", "err_msg", "error_message", "msg", "detail", "details", "FailureReason"),
    *("failure_detail", "failure"),
)
_CODES = ("code", "status", "err_code", "error_code", "category", "__type", "type")


class NotJson(Exception):  # noqa: N818 - says what the answer is
    """An answer that is not a JSON object. `page`: it is a web page, from a proxy or a wrong address.

    `again`: another try could help, as with an answer that was cut short.
    """

    def __init__(self, message: str, *, page: bool = False, again: bool = True) -> None:
        super().__init__(message)
        self.page = page
        self.again = again


def document(reply: Reply, hide: Callable[[str], str]) -> dict[str, Any]:
    """Return the JSON object of an answer, whatever content type it claims to be; raise `NotJson`.

    `hide` takes secrets out of what is shown of an answer that is not JSON.
    """
    try:
        value = json.loads(reply.body)
    except (ValueError, RecursionError):  # UnicodeDecodeError is a ValueError
        text = reply.body[:WHOLE].decode("utf-8", "replace")
        shown = one_line(hide(text), 60) or "nothing"
        if is_page(text):
            raise NotJson(f"answered with a web page: {shown}", page=True) from None
        kind = reply.headers.get_content_type() if "Content-Type" in reply.headers else ""
        claimed = f" ({kind})" if kind and "json" not in kind else ""
        raise NotJson(f"did not answer with JSON{claimed}: {shown}") from None
    if not isinstance(value, dict):
        raise NotJson(f"answered with a JSON {type(value).__name__}, not an object", again=False)
    return value


def is_page(text: str) -> bool:
    """Return True if a text begins like HTML."""
    return text.lstrip("\ufeff \r\n\t").lower().startswith(("<!doctype html", "<html", "<head", "<body"))


def message(body: bytes) -> str:
    """Return the message inside a refusal: JSON of any vendor, S3's XML or plain text; nothing for a web page."""
    text = body.decode("utf-8", "replace")
    try:
        return told(json.loads(body))
    except (ValueError, RecursionError):
        pass
    found = [value for _, value in _XML.findall(text)]
    if found:
        return one_line(": ".join(found), WHOLE)
    return "" if text.lstrip().startswith("<") else one_line(text, WHOLE)


def told(value: Any) -> str:
    """Return the message of an error as services write it: text, or an object with a message and a code."""
    if isinstance(value, dict):
        inner = value.get("error") or value.get("errors")
        if isinstance(inner, dict | list):
            return told(inner)
        parts = [str(value[key]) for key in _TELLING if isinstance(value.get(key), str) and value[key]]
        if isinstance(inner, str) and inner:
            return one_line(" ".join(dict.fromkeys([inner, *parts])), WHOLE)
        if not parts and "detail" in value:
            return told(value["detail"])
        parts += [str(value[key]) for key in _CODES if isinstance(value.get(key), str | int) and value[key]]
        return one_line(" ".join(dict.fromkeys(parts)) or str(value), WHOLE)
    if isinstance(value, list) and value:
        return told(value[0])
    return one_line(str(value), WHOLE)


def heard(text: str, words: Iterable[Mapping[str, Any]] = (), confidence: float | None = None) -> Transcript:
    """Return a transcript of what a service told; nothing said has no confidence."""
    return as_transcript({"text": text, "words": list(words), "confidence": confidence if text else None})


def words_of(
    items: Iterable[Mapping[str, Any]] | None, keys: str = "word start end confidence", scale: float = 1.0
) -> list[dict[str, Any]]:
    """Return words under our names: `keys` are the service's, `scale` the seconds of its unit of time.

    >>> words_of([{"text": "yes", "start": 40, "end": 360}], "text start end confidence", 0.001)
    [{'text': 'yes', 'start': 0.04, 'end': 0.36, 'confidence': None}]
    """
    text, start, end, sure = keys.split()
    return [
        {
            "text": item[text],
            "start": float(item[start]) * scale,
            "end": float(item[end]) * scale,
            "confidence": item.get(sure),
        }
        for item in items or ()
    ]


def confidence_of(parts: Iterable[tuple[float | None, int]]) -> float | None:
    """Return the mean confidence of parts, each (confidence, words), by their words; None where none is told.

    >>> confidence_of([(0.5, 2), (1.0, 2), (None, 9)])
    0.75
    """
    told = [(float(sure), max(1, words)) for sure, words in parts if sure is not None]
    return sum(sure * words for sure, words in told) / sum(words for _, words in told) if told else None
