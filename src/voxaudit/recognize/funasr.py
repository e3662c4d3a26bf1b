"""FunASR: SenseVoice, Paraformer and the other recognizers of that toolkit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from voxaudit.audio import Samples
from voxaudit.recognize.base import Transcriber
from voxaudit.recognize.local import LocalModel
from voxaudit.recognize.settings import longest, revision, setting, threads

_MARK = re.compile(r"<\|[^|<>]*\|>")


@dataclass(frozen=True)
class FunASR(LocalModel):
    description = "FunASR: SenseVoice, Paraformer and others, from a folder or a name at the Hub."
    engine = "funasr"
    requires = ("funasr", "torch")
    versions = ("funasr", "torch")

    model: str = setting(
        "hf:FunAudioLLM/SenseVoiceSmall", help="a folder with config.yaml, or hf:ORG/NAME", path=True
    )
    revision: str = revision()
    language: str = setting("", help="SenseVoice: zh, yue, en, ja, ko; empty lets the model decide")
    use_itn: bool = setting(False, help="SenseVoice: punctuation, and numbers in digits")
    longest: float = longest()
    device: str = setting("cpu", help="cpu, cuda or cuda:1")
    threads: int = threads()

    def open(self, path: Path) -> Transcriber:
        """Load the model. Nothing is looked up elsewhere: neither updates, nor code beside the weights."""
        from funasr import AutoModel
        from funasr.utils.postprocess_utils import rich_transcription_postprocess

        model: Any = AutoModel(
            model=str(path),
            device=self.device,
            ncpu=self.threads,
            disable_update=True,
            disable_pbar=True,
            disable_log=True,
            trust_remote_code=False,
        )

        def hear(samples: Samples) -> str:
            chosen = {"language": self.language or "auto", "use_itn": self.use_itn}
            (answer,) = model.generate(input=[samples], fs=self.rate, cache={}, **chosen)
            # SenseVoice marks what it hears besides words, <|en|><|HAPPY|>, which would become pictures.
            return str(rich_transcription_postprocess(_MARK.sub("", answer["text"])))

        return self.one_by_one(hear)
