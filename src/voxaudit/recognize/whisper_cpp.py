"""whisper.cpp's own server: `whisper-server -m ggml-base.en.bin`, asked through its `/inference`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from voxaudit.audio import Audio
from voxaudit.errors import one_line
from voxaudit.recognize.base import Transcript, UtteranceError, as_transcript
from voxaudit.recognize.services.caller import Call
from voxaudit.recognize.services.service import Service, concurrency_of
from voxaudit.recognize.services.wire import post_form
from voxaudit.recognize.settings import setting


@dataclass(frozen=True)
class WhisperCpp(Service):
    """Documented in `examples/server` of the whisper.cpp repository."""

    description = "A running whisper.cpp server (whisper-server), asked through its /inference."
    main = "url"
    engine = "whisper_cpp"
    shortest = 1.1
    """Seconds: the program skips what is shorter than about a second; silence is added."""

    url: str = setting("http://127.0.0.1:8080", help="where the server listens; /inference is added")
    concurrency: int = concurrency_of(1, "requests at a time per worker; the server hears one at a time")
    model: str = setting(
        "", help="the model the server was started with: it does not tell, the cache must know"
    )
    language: str = setting("", help="language of the speech, such as en, or auto; empty: the server's own")
    prompt: str = setting("", help="text that sets style or vocabulary")

    def hear(self, call: Call, audio: Audio) -> Transcript:
        """Send a form with the recording; the answer has its text."""
        # Without an increment there is no second, random try at a higher temperature.
        fields = self.pairs(
            response_format="json",
            temperature="0.0",
            temperature_inc="0.0",
            language=self.language,
            prompt=self.prompt,
        )
        return parse_answer(call.json(post_form(self.at("/inference"), fields, "file", audio)))


def parse_answer(document: Mapping[str, Any]) -> Transcript:
    """Return the transcript in the server's answer: `text` has a line for each segment."""
    text = document.get("text")
    if not isinstance(text, str):
        raise UtteranceError(f"the server's answer has no 'text': {one_line(str(dict(document)), 120)}")
    return as_transcript(" ".join(text.split()))
