"""Whisper through mlx-whisper, on the graphics processor of a Mac with an Apple chip."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from voxaudit.audio import Samples
from voxaudit.recognize.base import Transcriber, Transcript
from voxaudit.recognize.local import LocalModel
from voxaudit.recognize.segments import ONE_ANSWER, TASKS, read_segments
from voxaudit.recognize.settings import revision, setting


@dataclass(frozen=True)
class MlxWhisper(LocalModel):
    description = "Whisper through mlx-whisper: 99 languages, on Macs with Apple chips."
    engine = "mlx_whisper"
    requires = ("mlx_whisper",)
    versions = ("mlx-whisper", "mlx")
    shortest = 0.1

    model: str = setting("hf:mlx-community/whisper-tiny", help="a folder, or hf:ORG/NAME", path=True)
    revision: str = revision()
    language: str = setting("", help="language of the speech, such as en; empty lets the model decide")
    task: str = setting("transcribe", help="transcribe, or translate into English", choices=TASKS)
    words: bool = setting(False, help="word times, too (slower)")

    def open(self, path: Path) -> Transcriber:
        """Return the function that hears; the package keeps the model it loads first."""
        import mlx_whisper

        def hear(samples: Samples) -> Transcript:
            answer = mlx_whisper.transcribe(
                samples,
                path_or_hf_repo=str(path),
                language=self.language or None,
                task=self.task,
                word_timestamps=self.words,
                **ONE_ANSWER,
            )
            return read_segments(answer["text"], answer["segments"])

        return self.one_by_one(hear)
