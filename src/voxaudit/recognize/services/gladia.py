"""Gladia: upload the recording, order a transcript, ask until it is done, delete it there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from voxaudit.audio import Audio
from voxaudit.recognize.base import Transcript
from voxaudit.recognize.services.answers import confidence_of, heard, words_of
from voxaudit.recognize.services.caller import Call
from voxaudit.recognize.services.service import JobService, key_in
from voxaudit.recognize.services.wire import post_form, post_json
from voxaudit.recognize.settings import setting


@dataclass(frozen=True)
class Gladia(JobService):
    """Documented in "Pre-recorded flow" of the Gladia API reference, version 2."""

    description = "Gladia's pre-recorded audio, `/v2/upload` and `/v2/pre-recorded`."
    engine = "gladia"
    signed = ("x-gladia-key", "{}")
    jobs = "/v2/pre-recorded"
    pending = ("queued", "processing")
    done = "done"

    url: str = setting("https://api.gladia.io", help="base URL")
    key_env: str = key_in("GLADIA_API_KEY")
    model: str = setting("solaria-1", help="the model's name at the service")
    language: str = setting("", help="language of the speech, such as en; empty lets the service decide")

    def start(self, call: Call, audio: Audio) -> dict[str, Any]:
        """Upload, and order with the address of the upload."""
        upload = call.json(post_form(f"{self.base}/v2/upload", [], "audio", audio))
        languages = {"languages": [self.language] if self.language else []}
        order = self.order(audio_url=upload["audio_url"], model=self.model, language_config=languages)
        return call.json(post_json(f"{self.base}{self.jobs}", order))

    def read(self, call: Call, one: str, job: dict[str, Any]) -> Transcript:
        """Return the text that came with the job."""
        found = job["result"]["transcription"]
        spoken = found.get("utterances") or []
        words = [word for part in spoken for word in words_of(part.get("words"))]
        sure = confidence_of((part.get("confidence"), len(part.get("words") or ())) for part in spoken)
        return heard(found["full_transcript"], words, sure)
