"""Deepgram: one request with the recording, one answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from voxaudit.audio import Audio
from voxaudit.recognize.base import Transcript, as_transcript
from voxaudit.recognize.pcm import wav_bytes
from voxaudit.recognize.services.address import holds_secret
from voxaudit.recognize.services.caller import Call, Rules
from voxaudit.recognize.services.forms import with_query
from voxaudit.recognize.services.secret import Secret
from voxaudit.recognize.services.service import Service
from voxaudit.recognize.services.wire import Request
from voxaudit.recognize.settings import setting


@dataclass(frozen=True)
class Deepgram(Service):
    """The recognizer `deepgram`: its fields are its settings.

    Documented in "Transcribe pre-recorded audio" and "Errors" of the Deepgram API reference.
    """

    description: ClassVar[str] = "Deepgram's pre-recorded audio, `POST /v1/listen`."
    main: ClassVar[str] = "model"
    engine: ClassVar[str] = "deepgram"
    rules: ClassVar[Rules] = Rules(stops=("INVALID_AUTH", "ASR_PAYMENT_REQUIRED", "INSUFFICIENT_PERMISSIONS"))

    url: str = setting("https://api.deepgram.com", help="base URL; /v1/listen is added")
    key_env: str = setting(
        "DEEPGRAM_API_KEY", help="environment variable that holds the key; never written anywhere"
    )
    model: str = setting("nova-3", help="the model's name at the service")
    language: str = setting("en", help="language of the speech")
    options: str = setting(
        "", help="further parameters of the query, such as smart_format=true&filler_words=true"
    )

    def problems(self) -> Iterator[str]:
        """Yield what is wrong with the settings."""
        yield from super().problems()
        if holds_secret(self.options):
            yield "options holds a key; put it in the environment variable named by key_env"

    def credentials(self, key: Secret) -> dict[str, str]:
        """Deepgram's own scheme."""
        return {"Authorization": f"Token {key.reveal()}"}

    def hear(self, call: Call, audio: Audio) -> Transcript:
        """Send the WAV file as it is."""
        pairs = [("model", self.model), ("language", self.language)]
        url = with_query(f"{self.base}/v1/listen", pairs, self.options)
        return parse_answer(call.json(Request("POST", url, {"Content-Type": "audio/wav"}, wav_bytes(audio))))


def parse_answer(document: dict[str, Any]) -> Transcript:
    """Return the first channel's best alternative; none is silence."""
    alternatives = document["results"]["channels"][0]["alternatives"]
    if not alternatives:
        return Transcript("")
    best = alternatives[0]
    words = [
        {"text": w["word"], "start": w["start"], "end": w["end"], "confidence": w.get("confidence")}
        for w in best.get("words") or []
    ]
    text = best["transcript"]
    return as_transcript(
        {"text": text, "words": words, "confidence": best.get("confidence") if text else None}
    )
