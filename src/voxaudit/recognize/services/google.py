"""Google Cloud Speech-to-Text: one request with the recording in it, one answer."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from voxaudit.audio import Audio, pcm16
from voxaudit.recognize.base import Transcript
from voxaudit.recognize.services.answers import confidence_of, heard
from voxaudit.recognize.services.caller import Call, Rules
from voxaudit.recognize.services.secret import Secret
from voxaudit.recognize.services.service import Service, key_in
from voxaudit.recognize.services.wire import post_json
from voxaudit.recognize.settings import setting

_RECOGNIZER = re.compile(r"projects/[\w.:-]+/locations/[\w-]+/recognizers/[\w-]+")
_DURATION = re.compile(r"(\d+(?:\.\d+)?)s")


@dataclass(frozen=True)
class Google(Service):
    """Documented in "Method: speech.recognize" (v1) and "Method: projects.locations.recognizers.recognize" (v2) of
    the Cloud Speech-to-Text REST reference. Both take at most a minute of audio.
    """

    description = (
        "Google Cloud Speech-to-Text: `speech:recognize` of v1, or of v2 where a recognizer is named."
    )
    engine = "google"
    longest = 60.0
    aside = frozenset({"auth"})
    rules = Rules(
        stops=(
            "API_KEY_INVALID", "API key not valid", "API key expired", "SERVICE_DISABLED", "BILLING_DISABLED",
            "ACCESS_TOKEN_EXPIRED", "UNAUTHENTICATED",
        ),
        passes=("RESOURCE_EXHAUSTED",),
    )  # fmt: skip

    url: str = setting("https://speech.googleapis.com", help="base URL; v2 has others for its regions")
    billing_step: float = setting(
        15.0, help="seconds that a request is rounded up to on the bill; 1 for v2", at_least=0
    )
    key_env: str = key_in(
        "GOOGLE_API_KEY", "environment variable that holds the key or token; never written anywhere"
    )
    auth: str = setting(
        "key",
        help="what the variable holds: key (an API key) or token (an OAuth access token)",
        choices=("key", "token"),
    )
    model: str = setting("latest_short", help="the model's name at the service")
    language: str = setting("en-US", help="language of the speech")
    punctuation: bool = setting(False, help="let the service put commas and full stops")
    recognizer: str = setting(
        "", help="for v2: projects/PROJECT/locations/LOCATION/recognizers/_ ; empty for v1"
    )

    def problems(self) -> Iterator[str]:
        """Yield what is wrong with the settings."""
        yield from super().problems()
        if self.recognizer and not _RECOGNIZER.fullmatch(self.recognizer):
            yield "recognizer must be projects/PROJECT/locations/LOCATION/recognizers/ID, where ID may be _"

    def credentials(self, key: Secret) -> dict[str, str]:
        """An API key, or a token."""
        return {"X-Goog-Api-Key": key.reveal()} if self.auth == "key" else super().credentials(key)

    def hear(self, call: Call, audio: Audio) -> Transcript:
        """Send 16-bit samples, base64 in JSON."""
        samples = base64.b64encode(pcm16(audio.samples).astype("<i2").tobytes()).decode()
        sound = {"encoding": "LINEAR16", "sampleRateHertz": audio.rate, "audioChannelCount": 1}
        features = {
            "enableWordTimeOffsets": True,
            "enableWordConfidence": True,
            "enableAutomaticPunctuation": self.punctuation,
            "profanityFilter": False,
        }
        if self.recognizer:
            url = f"{self.base}/v2/{self.recognizer}:recognize"
            config = {
                "explicitDecodingConfig": sound,
                "languageCodes": [self.language],
                "model": self.model,
                "features": self.order(**features),
            }
            body: dict[str, Any] = {"config": config, "content": samples}
        else:
            url = f"{self.base}/v1/speech:recognize"
            config = self.order(**sound, languageCode=self.language, model=self.model, **features)
            body = {"config": config, "audio": {"content": samples}}
        return parse_answer(call.json(post_json(url, body)))


def parse_answer(document: dict[str, Any]) -> Transcript:
    """Return the best alternatives of all results, joined; no result is silence.

    Confidences are averaged over results by their words, as far as the service tells them.
    """
    best = [result["alternatives"][0] for result in document.get("results", []) if result.get("alternatives")]
    texts = [part.get("transcript", "").strip() for part in best]
    words = [_word(word) for part in best for word in part.get("words", [])]
    # 0 stands for "not told".
    sure = confidence_of(
        (part.get("confidence") or None, len(text.split())) for part, text in zip(best, texts, strict=True)
    )
    return heard(" ".join(filter(None, texts)), words, sure)


def _word(word: dict[str, Any]) -> dict[str, Any]:
    start = _seconds(word.get("startTime", word.get("startOffset", "0s")))
    end = _seconds(word.get("endTime", word.get("endOffset", "0s")))
    # An offset of zero is left out of the JSON, and a few models give words no times at all.
    return {
        "text": word["word"],
        "start": start,
        "end": max(start, end),
        "confidence": word.get("confidence"),
    }


def _seconds(text: str) -> float:
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"no duration: {text}")
    return float(match[1])
