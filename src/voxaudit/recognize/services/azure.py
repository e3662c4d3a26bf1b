"""Azure Speech: the REST interface for short audio, or fast transcription."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from voxaudit.audio import Audio
from voxaudit.errors import one_line
from voxaudit.recognize.base import Transcript, UtteranceError
from voxaudit.recognize.services.answers import WHOLE, confidence_of, heard
from voxaudit.recognize.services.caller import Call, PassingError
from voxaudit.recognize.services.service import Service, key_in
from voxaudit.recognize.services.wire import post_form, post_wav, with_query
from voxaudit.recognize.settings import setting

_REGION = re.compile(r"[a-z0-9-]{2,40}")
SILENT = ("NoMatch", "InitialSilenceTimeout", "BabbleTimeout")
"""Recognition statuses that mean: nothing was said that could be understood."""
FORMS = {"display": "Display", "lexical": "Lexical", "itn": "ITN"}
_HOSTS = {"short": "stt.speech.microsoft.com", "fast": "api.cognitive.microsoft.com"}


@dataclass(frozen=True)
class Azure(Service):
    """Documented in "Speech to text REST API for short audio" and "Use the fast transcription API" of Azure's
    Speech service.
    """

    description = "Azure Speech to text: fast transcription, or the REST interface for short audio."
    main = "region"
    engine = "azure"
    signed = ("Ocp-Apim-Subscription-Key", "{}")

    url: str = setting("", help="base URL, if it is not that of the region")
    key_env: str = key_in("AZURE_SPEECH_KEY")
    region: str = setting("", help="region of your Speech resource, such as westeurope")
    api: str = setting(
        "fast",
        help="fast (fast transcription, with word times), or short (short audio, up to 60 s)",
        choices=tuple(_HOSTS),
    )
    language: str = setting("en-US", help="language of the speech")
    form: str = setting("display", help="text as display, or of api short also lexical (bare words) or itn")
    api_version: str = setting("2024-11-15", help="version of the fast interface")

    def problems(self) -> Iterator[str]:
        """Yield what is wrong with the settings."""
        if not self.url and not _REGION.fullmatch(self.region):
            yield "give the region of your Speech resource, such as region=westeurope"
        yield from super().problems()
        if self.form not in (FORMS if self.api == "short" else ("display",)):
            yield "form must be display, or with api=short also lexical or itn"

    @property
    def longest(self) -> float | None:  # type: ignore[override]
        """The short interface takes up to 60 s."""
        return 60.0 if self.api == "short" else None

    @property
    def base(self) -> str:
        """The region's own address unless another is given."""
        return self.url.rstrip("/") or f"https://{self.region}.{_HOSTS[self.api]}"

    def hear(self, call: Call, audio: Audio) -> Transcript:
        """Send the WAV file by the interface that was chosen."""
        return self._hear_short(call, audio) if self.api == "short" else self._hear_fast(call, audio)

    def _hear_short(self, call: Call, audio: Audio) -> Transcript:
        pairs = self.pairs(language=self.language, format="detailed", profanity="raw")
        url = with_query(f"{self.base}/speech/recognition/conversation/cognitiveservices/v1", pairs)
        request = post_wav(url, audio, f"audio/wav; codecs=audio/pcm; samplerate={audio.rate}")
        return parse_short(call.json(request, check=_check), FORMS[self.form])

    def _hear_fast(self, call: Call, audio: Audio) -> Transcript:
        url = with_query(
            f"{self.base}/speechtotext/transcriptions:transcribe", [("api-version", self.api_version)]
        )
        definition = json.dumps(self.order(locales=[self.language], profanityFilterMode="None"))
        return parse_fast(call.json(post_form(url, [("definition", definition)], "audio", audio)))


def _check(document: dict[str, Any]) -> None:
    """An internal error comes with HTTP 200."""
    status = document.get("RecognitionStatus")
    if status == "Error":
        raise PassingError("azure: RecognitionStatus is Error")
    if status not in ("Success", *SILENT):
        raise UtteranceError(f"azure: RecognitionStatus is {one_line(str(status), WHOLE)}")


def parse_short(document: dict[str, Any], form: str) -> Transcript:
    """Return the best of `NBest` in the form asked for; statuses of silence are an empty text."""
    if document["RecognitionStatus"] in SILENT:
        return Transcript("")
    best = document["NBest"][0]
    return heard(best[form], confidence=best.get("Confidence"))


def parse_fast(document: dict[str, Any]) -> Transcript:
    """Return the combined phrases; none is silence. Times come in milliseconds."""
    text = " ".join(phrase["text"] for phrase in document["combinedPhrases"])
    phrases = document.get("phrases") or []
    words = [
        {
            "text": word["text"],
            "start": word["offsetMilliseconds"] / 1000,
            "end": (word["offsetMilliseconds"] + word["durationMilliseconds"]) / 1000,
        }
        for phrase in phrases
        for word in phrase.get("words") or []
    ]
    sure = confidence_of((phrase.get("confidence"), len(phrase.get("words") or [])) for phrase in phrases)
    return heard(text, words, sure)
