"""Any service with OpenAI's `/v1/audio/transcriptions`: the cloud's, or a server of your own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from voxaudit.audio import Audio
from voxaudit.errors import one_line
from voxaudit.recognize.base import Transcript, UtteranceError, as_transcript
from voxaudit.recognize.services.answers import WHOLE
from voxaudit.recognize.services.caller import Call, Rules
from voxaudit.recognize.services.service import Service, key_in
from voxaudit.recognize.services.wire import post_form
from voxaudit.recognize.settings import setting


@dataclass(frozen=True)
class OpenAI(Service):
    """Documented in "Create transcription" of the OpenAI API reference."""

    description = "A service with OpenAI's /v1/audio/transcriptions: in the cloud or on your own machine."
    engine = "openai"
    takes_query = True
    rules = Rules(stops=("insufficient_quota", "invalid_api_key"))

    url: str = setting("https://api.openai.com/v1", help="base URL; /audio/transcriptions is added")
    key_env: str = key_in("OPENAI_API_KEY")
    model: str = setting("whisper-1", help="the model's name at the service")
    language: str = setting("", help="language of the speech, such as en; empty lets the service decide")
    prompt: str = setting("", help="text that sets style or vocabulary")
    temperature: float = setting(0.0, help="0 for the most likely answer", at_least=0)
    response_format: str = setting(
        "json", help="json, or verbose_json for word times", choices=("json", "verbose_json")
    )

    def hear(self, call: Call, audio: Audio) -> Transcript:
        """Send a form with the recording; the answer has its text."""
        fields = self.pairs(
            model=self.model,
            response_format=self.response_format,
            temperature=f"{self.temperature:g}",
            language=self.language,
            prompt=self.prompt,
        )
        if self.response_format == "verbose_json":
            fields += [("timestamp_granularities[]", unit) for unit in ("word", "segment")]
        return parse_answer(call.json(post_form(self.at("/audio/transcriptions"), fields, "file", audio)))


def parse_answer(document: Mapping[str, Any]) -> Transcript:
    """Return the transcript in a service's answer: `text`, and of `verbose_json` words and confidence."""
    if "text" not in document:
        raise UtteranceError(f"the service's answer has no 'text': {one_line(str(dict(document)), WHOLE)}")
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
