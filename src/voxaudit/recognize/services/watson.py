"""IBM Watson Speech to Text: one request with the recording, one answer."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from voxaudit.audio import Audio
from voxaudit.recognize.base import Transcript
from voxaudit.recognize.services.answers import confidence_of, heard
from voxaudit.recognize.services.caller import Call
from voxaudit.recognize.services.secret import Secret
from voxaudit.recognize.services.service import Service, key_in
from voxaudit.recognize.services.wire import post_wav, with_query
from voxaudit.recognize.settings import setting


@dataclass(frozen=True)
class Watson(Service):
    """Documented in "Recognize audio" of the IBM Cloud API docs and in "Response metadata" of its guide. IBM is asked
    not to keep the recordings for its own use.
    """

    description = "IBM Watson Speech to Text, `POST /v1/recognize`."
    engine = "watson"

    url: str = setting("", help="URL of your instance, from its credentials; /v1/recognize is added")
    key_env: str = key_in("WATSON_API_KEY")
    model: str = setting("en-US", help="the model's name at the service; en-US is its large model")
    smart_formatting: bool = setting(False, help="write dates, numbers and the like in their usual form")

    def problems(self) -> Iterator[str]:
        """Yield what is wrong with the settings."""
        if not self.url:
            yield "give the URL of your instance as url; it is in the instance's credentials"
        yield from super().problems()

    def credentials(self, key: Secret) -> dict[str, str]:
        """Basic access with the user `apikey`."""
        pair = base64.b64encode(f"apikey:{key.reveal()}".encode()).decode()
        return {"Authorization": f"Basic {pair}"}

    def hear(self, call: Call, audio: Audio) -> Transcript:
        """Send the WAV file as it is."""
        pairs = self.pairs(
            model=self.model,
            timestamps="true",
            word_confidence="true",
            profanity_filter="false",
            smart_formatting=str(self.smart_formatting).lower(),
        )
        private = {"X-Watson-Learning-Opt-Out": "true"}
        return parse_answer(
            call.json(post_wav(with_query(f"{self.base}/v1/recognize", pairs), audio, **private))
        )


def parse_answer(document: dict[str, Any]) -> Transcript:
    """Return the best alternatives of all results, joined; no result is silence.

    Confidences are averaged over results by their words.
    """
    best = [result["alternatives"][0] for result in document.get("results") or []]
    words = []
    for part in best:
        sure = [pair[1] for pair in part.get("word_confidence") or []]
        times = part.get("timestamps") or []
        for number, (text, start, end) in enumerate(times):
            confidence = sure[number] if len(sure) == len(times) else None
            words.append({"text": text, "start": start, "end": end, "confidence": confidence})
    text = " ".join(part["transcript"].strip() for part in best)
    told = ((part.get("confidence"), len(part["transcript"].split())) for part in best)
    return heard(text, words, confidence_of(told))
