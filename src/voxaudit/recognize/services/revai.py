"""Rev AI: a job with the recording, asked until it is done, its transcript, and deleted."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from voxaudit.audio import Audio
from voxaudit.recognize.base import Transcript
from voxaudit.recognize.services.answers import confidence_of, heard, words_of
from voxaudit.recognize.services.caller import Call
from voxaudit.recognize.services.service import JobService, key_in
from voxaudit.recognize.services.wire import Request, post_form
from voxaudit.recognize.settings import setting


@dataclass(frozen=True)
class RevAI(JobService):
    """Documented in "Asynchronous Speech-to-Text API" of the Rev AI reference."""

    description = "Rev AI's asynchronous jobs, `/speechtotext/v1/jobs`."
    engine = "revai"
    shortest = 2.0
    jobs = "/speechtotext/v1/jobs"
    pending = ("in_progress",)
    done = "transcribed"

    url: str = setting("https://api.rev.ai", help="base URL; Europe's is https://ec1.api.rev.ai")
    key_env: str = key_in("REVAI_ACCESS_TOKEN")
    model: str = setting("machine", help="the transcriber's name at the service")
    language: str = setting("en", help="language of the speech")

    def start(self, call: Call, audio: Audio) -> dict[str, Any]:
        """Send a form with the recording and the options."""
        chosen = {"transcriber": self.model, "language": self.language, "skip_diarization": True}
        options = json.dumps(self.order(**chosen, filter_profanity=False, remove_disfluencies=False))
        return call.json(post_form(f"{self.base}{self.jobs}", [("options", options)], "media", audio))

    def read(self, call: Call, one: str, job: dict[str, Any]) -> Transcript:
        """Fetch the transcript."""
        accept = {"Accept": "application/vnd.rev.transcript.v1.0+json"}
        return parse_answer(call.json(Request("GET", f"{one}/transcript", accept)))


def parse_answer(document: dict[str, Any]) -> Transcript:
    """Return the elements in a row: spaces between words are elements of their own."""
    elements = [element for part in document["monologues"] for element in part["elements"]]
    spoken = [element for element in elements if element["type"] == "text" and "ts" in element]
    words = words_of(spoken, "value ts end_ts confidence")
    text = "".join(element["value"] for element in elements).strip()
    return heard(text, words, confidence_of((word["confidence"], 1) for word in words))
