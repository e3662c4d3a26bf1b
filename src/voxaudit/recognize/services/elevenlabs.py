"""ElevenLabs Scribe: one request with the recording in a form, one answer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from voxaudit.audio import Audio
from voxaudit.recognize.base import Transcript
from voxaudit.recognize.services.answers import confidence_of, heard, words_of
from voxaudit.recognize.services.caller import Call, Rules
from voxaudit.recognize.services.service import Service, key_in
from voxaudit.recognize.services.wire import post_form
from voxaudit.recognize.settings import setting


@dataclass(frozen=True)
class ElevenLabs(Service):
    """Documented in "Create transcript" of the ElevenLabs API reference."""

    description = "ElevenLabs Scribe, `POST /v1/speech-to-text`."
    engine = "elevenlabs"
    signed = ("xi-api-key", "{}")
    rules = Rules(stops=("invalid_api_key", "quota_exceeded"), passes=("system_busy",))

    url: str = setting("https://api.elevenlabs.io", help="base URL; /v1/speech-to-text is added")
    key_env: str = key_in("ELEVENLABS_API_KEY")
    model: str = setting("scribe_v2", help="the model's name at the service")
    language: str = setting("", help="language of the speech, such as en; empty lets the service decide")
    temperature: float = setting(0.0, help="0 for the most likely answer", at_least=0)

    def hear(self, call: Call, audio: Audio) -> Transcript:
        """Send a form; laughter and the like are not put into words."""
        fields = self.pairs(
            model_id=self.model,
            language_code=self.language,
            temperature=f"{self.temperature:g}",
            tag_audio_events="false",
            timestamps_granularity="word",
        )
        return parse_answer(call.json(post_form(f"{self.base}/v1/speech-to-text", fields, "file", audio)))


def parse_answer(document: dict[str, Any]) -> Transcript:
    """Return the text; of its pieces those that are words. Confidences come as logarithms."""
    said = [word for word in document.get("words") or [] if word["type"] == "word"]
    sure = [{**word, "sure": math.exp(word["logprob"])} for word in said]
    words = words_of(sure, "text start end sure")
    return heard(document["text"], words, confidence_of((word["confidence"], 1) for word in words))
