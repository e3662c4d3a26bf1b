"""Deepgram: one request with the recording, one answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from voxaudit.audio import Audio
from voxaudit.recognize.base import Transcript
from voxaudit.recognize.services.answers import heard, words_of
from voxaudit.recognize.services.caller import Call, Rules
from voxaudit.recognize.services.service import Service, key_in
from voxaudit.recognize.services.wire import post_wav, with_query
from voxaudit.recognize.settings import setting


@dataclass(frozen=True)
class Deepgram(Service):
    """Documented in "Transcribe pre-recorded audio" and "Errors" of the Deepgram API reference."""

    description = "Deepgram's pre-recorded audio, `POST /v1/listen`."
    engine = "deepgram"
    signed = ("Authorization", "Token {}")
    rules = Rules(stops=("INVALID_AUTH", "ASR_PAYMENT_REQUIRED", "INSUFFICIENT_PERMISSIONS"))

    url: str = setting("https://api.deepgram.com", help="base URL; /v1/listen is added")
    key_env: str = key_in("DEEPGRAM_API_KEY")
    model: str = setting("nova-3", help="the model's name at the service")
    language: str = setting("en", help="language of the speech")

    def hear(self, call: Call, audio: Audio) -> Transcript:
        """Send the WAV file as it is."""
        pairs = self.pairs(model=self.model, language=self.language)
        return parse_answer(call.json(post_wav(with_query(f"{self.base}/v1/listen", pairs), audio)))


def parse_answer(document: dict[str, Any]) -> Transcript:
    """Return the first channel's best alternative; none is silence."""
    alternatives = document["results"]["channels"][0]["alternatives"]
    if not alternatives:
        return Transcript("")
    best = alternatives[0]
    return heard(best["transcript"], words_of(best.get("words")), best.get("confidence"))
