"""What every build of Whisper answers: segments with their tokens' probabilities and, if asked, words."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from voxaudit.recognize.base import Transcript, Word

TASKS = ("transcribe", "translate")
ONE_ANSWER = {"temperature": 0.0, "condition_on_previous_text": False}
"""One temperature: the fall-back to higher ones draws at random. Nothing is conditioned on earlier text, so that one
misheard stretch does not spoil the next."""


def english_only(model: str) -> tuple[str, ...]:
    """Return the language of the models for English alone, whose names end in `.en`; nothing (any) of the others."""
    return ("en",) if model.removesuffix(".pt").endswith(".en") else ()


def read_segments(text: str, segments: Iterable[Any]) -> Transcript:
    """Return the transcript; its confidence is the geometric mean of the tokens' probabilities.

    Segments and words are mappings (openai-whisper, mlx-whisper) or objects (faster-whisper) with the same names.
    """
    parts = [_plain(segment) for segment in segments]
    words = tuple(
        Word(word["word"].strip(), float(word["start"]), float(word["end"]), float(word["probability"]))
        for part in parts
        for word in map(_plain, part.get("words") or ())
    )
    tokens = [max(1, len(part["tokens"])) for part in parts]
    total = sum(part["avg_logprob"] * count for part, count in zip(parts, tokens, strict=True))
    return Transcript(text.strip(), words, math.exp(total / sum(tokens)) if tokens else None)


def _plain(part: Any) -> dict[str, Any]:
    return part if isinstance(part, dict) else vars(part)
