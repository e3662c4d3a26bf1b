"""AssemblyAI: upload the recording, order a transcript, ask until it is done, delete it there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from voxaudit.audio import Audio
from voxaudit.recognize.base import Transcript
from voxaudit.recognize.services.answers import heard, words_of
from voxaudit.recognize.services.caller import Call, Rules
from voxaudit.recognize.services.service import JobService, key_in
from voxaudit.recognize.services.wire import post_json, post_wav
from voxaudit.recognize.settings import setting


@dataclass(frozen=True)
class AssemblyAI(JobService):
    """Documented in "Upload a media file", "Transcribe audio", "Get transcript" and "Delete transcript" of the
    AssemblyAI API reference. The transcript is deleted there once it is here.
    """

    description = "AssemblyAI's pre-recorded audio, `/v2/upload` and `/v2/transcript`."
    engine = "assemblyai"
    shortest = 0.2
    rules = Rules(stops=("Invalid API key", "account balance"))
    signed = ("Authorization", "{}")
    jobs = "/v2/transcript"
    pending = ("queued", "processing")
    done = "completed"
    silence = ("no spoken audio",)

    url: str = setting(
        "https://api.assemblyai.com", help="base URL; Europe's is https://api.eu.assemblyai.com"
    )
    key_env: str = key_in("ASSEMBLYAI_API_KEY")
    model: str = setting("universal-2", help="the model's name at the service")
    language: str = setting("en_us", help="language of the speech")
    format_text: bool = setting(False, help="let the service write punctuation, capitals and numbers")
    disfluencies: bool = setting(False, help="keep filler words such as um")

    def start(self, call: Call, audio: Audio) -> dict[str, Any]:
        """Upload, and order with the address of the upload."""
        upload = post_wav(f"{self.base}/v2/upload", audio, "application/octet-stream")
        order = self.order(
            audio_url=call.json(upload)["upload_url"],
            speech_models=[self.model],
            language_code=self.language,
            punctuate=self.format_text,
            format_text=self.format_text,
            disfluencies=self.disfluencies,
            filter_profanity=False,
        )
        return call.json(post_json(f"{self.base}{self.jobs}", order))

    def read(self, call: Call, one: str, job: dict[str, Any]) -> Transcript:
        """Return the text that came with the job. Times come in milliseconds."""
        words = words_of(job.get("words"), "text start end confidence", 0.001)
        return heard(job["text"] or "", words, job.get("confidence"))
