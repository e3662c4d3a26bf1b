"""Datasets of the Hugging Face Hub by address, hf:org/name?split=test, streamed through the `datasets` package."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from voxaudit.corpus.base import CorpusError
from voxaudit.errors import one_line
from voxaudit.registry import suggest

SCHEME = "hf:"
SETTINGS = ("split", "config", "revision", "limit")
"""What an address can say behind its question mark; `split` is test if it does not."""


def address(path: Path) -> str | None:
    """Return "org/name?split=test" of a path that is an hf: address, else None.

    It may have been joined to a folder, and may be written as the Hub does (hf://datasets/org/name).
    """
    text = path.as_posix()
    place = 0 if text.startswith(SCHEME) else text.find("/" + SCHEME) + 1
    if not text.startswith(SCHEME, place) or path.exists():
        return None
    return text[place + len(SCHEME) :].removeprefix("/datasets/")


def stream_records(place: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the rows of a dataset, the audio as {bytes, path}, with the name of its column."""
    name, _, query = place.partition("?")
    settings = dict(parse_qsl(query))
    for key in settings:
        if key not in SETTINGS:
            known = ", ".join(SETTINGS)
            raise CorpusError(f"hf:{place}: unknown '{key}'.{suggest(key, list(SETTINGS))} Known: {known}")
    if not settings.get("limit", "1").isdigit():
        raise CorpusError(f"hf:{place}: limit is a number of rows")
    try:
        datasets = import_module("datasets")
    except ImportError:
        raise CorpusError(
            f"hf:{place}: needs the datasets package. Install it: pip install datasets"
        ) from None
    try:
        split, revision = settings.get("split", "test"), settings.get("revision")
        stream = datasets.load_dataset(
            name, settings.get("config"), split=split, revision=revision, streaming=True
        )
        features = stream.features or {}
        sound = next((key for key, kind in features.items() if isinstance(kind, datasets.Audio)), None)
        if sound is None:
            raise CorpusError(f"hf:{place}: no column is audio. Columns: {', '.join(features)}")
        stream = stream.cast_column(sound, datasets.Audio(decode=False))
        for row in stream.take(int(settings["limit"])) if "limit" in settings else stream:
            yield row, sound
    except CorpusError:
        raise
    except Exception as error:  # the package raises many kinds: no network, no such split, no access
        raise CorpusError(f"hf:{place}: cannot be read ({one_line(error, 300)})") from error
