"""AssemblyAI: upload the recording, order a transcript, ask until it is done, delete it there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from voxaudit.audio import Audio
from voxaudit.errors import one_line
from voxaudit.recognize.base import Transcript, UtteranceError, as_transcript
from voxaudit.recognize.pcm import wav_bytes
from voxaudit.recognize.services.answers import WHOLE
from voxaudit.recognize.services.caller import Call, Rules
from voxaudit.recognize.services.secret import Secret
from voxaudit.recognize.services.service import Service
from voxaudit.recognize.services.wire import Request
from voxaudit.recognize.settings import setting

_ID = re.compile(r"[A-Za-z0-9-]{1,100}")
NOTHING_SAID = "no spoken audio"
"""Words of the error that stands for silence."""


@dataclass(frozen=True)
class AssemblyAI(Service):
    """The recognizer `assemblyai`: its fields are its settings.

    Documented in "Upload a media file", "Transcribe audio", "Get transcript" and "Delete transcript" of the
    AssemblyAI API reference. The transcript is deleted there once it is here.
    """

    description: ClassVar[str] = "AssemblyAI's pre-recorded audio, `/v2/upload` and `/v2/transcript`."
    main: ClassVar[str] = "model"
    engine: ClassVar[str] = "assemblyai"
    shortest: ClassVar[float] = 0.2
    rules: ClassVar[Rules] = Rules(stops=("Invalid API key", "account balance"))
    aside: ClassVar[frozenset[str]] = frozenset({"poll", "keep"})

    url: str = setting(
        "https://api.assemblyai.com", help="base URL; Europe's is https://api.eu.assemblyai.com"
    )
    key_env: str = setting(
        "ASSEMBLYAI_API_KEY", help="environment variable that holds the key; never written anywhere"
    )
    model: str = setting("universal-2", help="the model's name at the service")
    language: str = setting("en_us", help="language of the speech")
    format_text: bool = setting(False, help="let the service write punctuation, capitals and numbers")
    disfluencies: bool = setting(False, help="keep filler words such as um")
    poll: float = setting(1.0, help="seconds between two looks at a transcript that is not done")
    keep: bool = setting(False, help="leave the transcript at the service")

    def problems(self) -> Iterator[str]:
        """Yield what is wrong with the settings."""
        yield from super().problems()
        if self.poll <= 0:
            yield f"poll must be above 0 seconds, not {self.poll:g}"

    def credentials(self, key: Secret) -> dict[str, str]:
        """The bare key."""
        return {"Authorization": key.reveal()}

    def hear(self, call: Call, audio: Audio) -> Transcript:
        """Upload, order, look until it is done, delete."""
        upload = Request(
            "POST", f"{self.base}/v2/upload", {"Content-Type": "application/octet-stream"}, wav_bytes(audio)
        )
        order = {
            "audio_url": call.json(upload)["upload_url"],
            "speech_models": [self.model],
            "language_code": self.language,
            "punctuate": self.format_text,
            "format_text": self.format_text,
            "disfluencies": self.disfluencies,
            "filter_profanity": False,
        }
        transcripts = f"{self.base}/v2/transcript"
        headers = {"Content-Type": "application/json"}
        job = call.json(Request("POST", transcripts, headers, json.dumps(order).encode()), check=_status)
        if not _ID.fullmatch(job["id"]):
            raise ValueError("id")
        one = f"{transcripts}/{job['id']}"
        try:
            while job["status"] not in ("completed", "error"):
                call.pause(self.poll, f"{one}: still {one_line(job['status'], WHOLE)}, not done")
                job = call.json(Request("GET", one), check=_status)
            return parse_answer(job)
        finally:
            if not self.keep:
                call.tidy(Request("DELETE", one), "the transcript")


def _status(document: dict[str, Any]) -> None:
    """A job that failed is an answer like any other, with `error` in it; without a status it is a refusal."""
    if not isinstance(document.get("status"), str):
        raise UtteranceError(f"assemblyai: {one_line(str(document.get('error') or 'no status'), WHOLE)}")


def parse_answer(job: dict[str, Any]) -> Transcript:
    """Return the text of a finished job. Times come in milliseconds."""
    if job["status"] == "error":
        reason = str(job.get("error") or "without a reason")
        if NOTHING_SAID in reason:
            return Transcript("")
        raise UtteranceError(f"assemblyai: the transcript failed: {one_line(reason, WHOLE)}")
    words = [
        {
            "text": w["text"],
            "start": w["start"] / 1000,
            "end": w["end"] / 1000,
            "confidence": w.get("confidence"),
        }
        for w in job.get("words") or []
    ]
    text = job["text"] or ""
    return as_transcript(
        {"text": text, "words": words, "confidence": job.get("confidence") if text else None}
    )
