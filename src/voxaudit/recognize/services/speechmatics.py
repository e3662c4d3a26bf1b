"""Speechmatics: a job with the recording, asked until it is done, its transcript, and deleted."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from voxaudit.audio import Audio
from voxaudit.recognize.base import Transcript
from voxaudit.recognize.services.answers import confidence_of, heard
from voxaudit.recognize.services.caller import Call
from voxaudit.recognize.services.service import JobService, key_in
from voxaudit.recognize.services.wire import Request, post_form
from voxaudit.recognize.settings import setting


@dataclass(frozen=True)
class Speechmatics(JobService):
    """Documented in "Batch transcription", input and output, of the Speechmatics documentation."""

    description = "Speechmatics' batch jobs, `/v2/jobs`."
    engine = "speechmatics"
    jobs = "/v2/jobs"
    pending = ("created", "running")
    done = "done"

    url: str = setting("https://asr.api.speechmatics.com", help="base URL of your region; /v2 is added")
    key_env: str = key_in("SPEECHMATICS_API_KEY")
    model: str = setting("enhanced", help="the model's name at the service: enhanced, standard")
    language: str = setting("en", help="language of the speech")

    def start(self, call: Call, audio: Audio) -> dict[str, Any]:
        """Send a form with the recording and the configuration."""
        chosen = self.order(language=self.language, model=self.model)
        config = json.dumps({"type": "transcription", "transcription_config": chosen})
        return call.json(post_form(f"{self.base}{self.jobs}", [("config", config)], "data_file", audio))

    def read(self, call: Call, one: str, job: dict[str, Any]) -> Transcript:
        """Fetch the transcript."""
        return parse_answer(call.json(Request("GET", f"{one}/transcript?format=json-v2")))


def parse_answer(document: dict[str, Any]) -> Transcript:
    """Return the best alternatives in a row; a punctuation mark follows its word without a space."""
    text, words = "", []
    for item in document["results"]:
        best = item["alternatives"][0]
        text += ("" if item.get("attaches_to") == "previous" else " ") + best["content"]
        if item["type"] != "punctuation":
            times = {"start": item["start_time"], "end": item["end_time"]}
            words.append({"text": best["content"], **times, "confidence": best.get("confidence")})
    return heard(text.strip(), words, confidence_of((word["confidence"], 1) for word in words))
