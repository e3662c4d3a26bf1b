"""Any service with OpenAI's `/v1/audio/transcriptions`: the cloud's, or a server of your own."""

from __future__ import annotations

import ipaddress
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit, urlunsplit

from voxaudit.audio import Audio
from voxaudit.errors import one_line
from voxaudit.recognize.base import RecognizerError, Transcriber, Transcript, UtteranceError, as_transcript
from voxaudit.recognize.pcm import at_least, wav_bytes
from voxaudit.recognize.settings import setting

if TYPE_CHECKING:
    from voxaudit.recognize.http_post import Endpoint

_SECRET = re.compile(r"key|token|secret|sig|password|auth", re.IGNORECASE)
_SHORTEST = 0.1
"""Seconds: services refuse less; silence is added."""


@dataclass(frozen=True)
class OpenAI:
    """A service with OpenAI's /v1/audio/transcriptions: in the cloud or on your own machine."""

    main: ClassVar[str] = "model"

    model: str = setting("whisper-1", help="the model's name at the service")
    url: str = setting("https://api.openai.com/v1", help="base URL; /audio/transcriptions is added")
    language: str = setting("", help="language of the speech, such as en; empty lets the service decide")
    prompt: str = setting("", help="text that sets style or vocabulary")
    temperature: float = setting(0.0, help="0 for the most likely answer")
    response_format: str = setting("json", help="json, or verbose_json for word times")
    rate: int = setting(16_000, help="sample rate of the audio sent, in Hz")
    concurrency: int = setting(4, help="requests at a time per worker")
    timeout: float = setting(60.0, help="seconds to wait for an answer")
    retries: int = setting(3, help="further tries when the service is busy or unreachable")
    key_env: str = setting(
        "OPENAI_API_KEY", help="environment variable that holds the key; never written anywhere"
    )
    version: str = setting("", help="yours to raise when the service changes behind the same name")

    def __post_init__(self) -> None:
        problem = _problem_with_url(self.url)
        if not problem and self.response_format not in ("json", "verbose_json"):
            problem = (
                f"response_format must be json or verbose_json, not '{one_line(self.response_format, 40)}'"
            )
        for name, least in (("concurrency", 1), ("retries", 0), ("rate", 1000), ("temperature", 0)):
            if not problem and getattr(self, name) < least:
                problem = f"{name} must be at least {least}, not {getattr(self, name):g}"
        if not problem and self.timeout <= 0:
            problem = f"timeout must be above 0 seconds, not {self.timeout:g}"
        if problem:
            raise RecognizerError(f"recognizer 'openai': {problem}")

    @property
    def batch_size(self) -> int:
        """As many as are asked at a time."""
        return self.concurrency

    def require(self) -> None:
        """Raise one line if the key is missing; a server on this machine may do without."""
        self._key()

    def fingerprint(self) -> dict[str, str]:
        """The service, the model and what is sent with the audio. Never the key, nor the URL's query."""
        sent = ("model", "language", "prompt", "temperature", "response_format", "rate", "version")
        return {
            "engine": "openai",
            "url": _plain(self.url),
            **{name: str(getattr(self, name)) for name in sent},
        }

    def load(self) -> Transcriber:
        """Return the function that sends audio; nothing is asked of the service yet."""
        from voxaudit.recognize.http_post import Endpoint

        parts = urlsplit(self.url)
        path = parts.path.rstrip("/")
        if not path.endswith("/audio/transcriptions"):
            path += "/audio/transcriptions"
        url = urlunsplit(parts._replace(path=path))
        return _Client(self, Endpoint(url, _plain(url), self._key(), self.timeout, self.retries))

    def _key(self) -> str:
        key = os.environ.get(self.key_env, "").strip() if self.key_env else ""
        if not key and not _local(self.url):
            raise RecognizerError(
                f"recognizer 'openai': {_plain(self.url)} needs a key; put it in the environment variable"
                f" {self.key_env or 'OPENAI_API_KEY'}"
            )
        if not key.isascii() or not key.isprintable() or " " in key:
            raise RecognizerError(
                f"recognizer 'openai': {self.key_env} holds no valid key (spaces or odd characters)"
            )
        return key


class _Client:
    def __init__(self, settings: OpenAI, endpoint: Endpoint) -> None:
        self._settings = settings
        self._endpoint = endpoint
        self._fields = _form(settings)

    def __call__(self, batch: Sequence[Audio]) -> list[Transcript | UtteranceError]:
        if len(batch) == 1:
            return [self._hear(batch[0])]
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(self._settings.concurrency) as pool:
            return list(pool.map(self._hear, batch))

    def _hear(self, audio: Audio) -> Transcript | UtteranceError:
        from voxaudit.recognize.http_post import post

        # What others of the batch got, and perhaps cost, is not thrown away because one failed.
        try:
            audio = Audio(at_least(audio.samples, int(_SHORTEST * audio.rate)), audio.rate)
            return parse_answer(post(self._endpoint, self._fields, wav_bytes(audio)))
        except UtteranceError as error:
            return error


def _form(settings: OpenAI) -> list[tuple[str, str]]:
    fields = [
        ("model", settings.model),
        ("response_format", settings.response_format),
        ("temperature", f"{settings.temperature:g}"),
    ]
    fields += [(name, value) for name in ("language", "prompt") if (value := getattr(settings, name))]
    if settings.response_format == "verbose_json":
        fields.append(("timestamp_granularities[]", "word"))
        fields.append(("timestamp_granularities[]", "segment"))
    return fields


def parse_answer(document: Mapping[str, Any]) -> Transcript:
    """Return the transcript in a service's answer: `text`, and of `verbose_json` words and confidence."""
    if "text" not in document:
        raise UtteranceError(f"the service's answer has no 'text': {one_line(str(dict(document)), 120)}")
    words = document.get("words") or []
    segments = document.get("segments") or []
    return as_transcript({"text": document["text"], "words": words, "confidence": _confidence(segments)})


def _confidence(segments: Any) -> float | None:
    """Return the probability per token over all segments, weighted by their tokens, where the service tells it."""
    try:
        weighted = [(float(s["avg_logprob"]), max(1, len(s["tokens"]))) for s in segments]
        return math.exp(sum(p * n for p, n in weighted) / sum(n for _, n in weighted)) if weighted else None
    except (KeyError, TypeError, ValueError, OverflowError):
        return None


def _problem_with_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        return f"url is not valid ({one_line(error, 80)})"
    if parts.scheme not in ("http", "https") or not host:
        return "url must start with http:// or https:// and name a host"
    secrets = any(_SECRET.search(pair.partition("=")[0]) for pair in parts.query.split("&"))
    if parts.username or parts.password or secrets:
        return "url holds a password or key; put it in the environment variable named by key_env"
    return ""


def _plain(url: str) -> str:
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{host}{port}{parts.path}".rstrip("/")


def _local(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return False
