"""Read Praat TextGrids, long and short, with the word and phone tiers that the Montreal Forced Aligner writes."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from pathlib import Path

from voxaudit.align.base import AlignmentError
from voxaudit.align.intervals import Interval, timings_from_intervals
from voxaudit.align.timings import Timings

_WORDS = ("words", "word", "ort", "kan")
_PHONES = ("phones", "phone", "segments", "mau", "phonemes")
# In both notations what matters are the quoted texts and the free-standing numbers and flags, in the same order;
# the long one only adds labels such as `xmin =` and `intervals [3]:`.
_TOKEN = re.compile(
    r'"((?:[^"]|"")*)"|(?<![\w\[.+-])([+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)(?![\w\]])|(<exists>|<absent>)'
)


def read_textgrid(path: str | Path, *, words: str = "", phones: str = "") -> Timings:
    """Return the timings in a TextGrid; its own times in seconds.

    `words` and `phones` name the tiers; left out, a tier called `words` or `phones` is looked for, also with a
    speaker before it (`anna - words`). Without phones the syllables share a word's time by the dictionary.
    """
    path = Path(path)
    tiers, duration = _parse(path)
    chosen = _tier(tiers, words, _WORDS, path)
    if chosen is None:
        raise AlignmentError(f"{path}: no tier with words; name it: one of {', '.join(tiers) or 'none'}")
    parts = _tier(tiers, phones, _PHONES, path)
    return timings_from_intervals(chosen, parts or [], duration, str(path))


def _tier(
    tiers: dict[str, list[Interval]], name: str, usual: tuple[str, ...], path: Path
) -> list[Interval] | None:
    if name:
        if name not in tiers:
            raise AlignmentError(f"{path}: no interval tier '{name}'; there is {', '.join(tiers) or 'none'}")
        return tiers[name]
    matching = [tier for tier in tiers if re.split(r"\s-\s", tier)[-1].strip().lower() in usual]
    if len(matching) > 1:
        raise AlignmentError(f"{path}: several tiers fit ({', '.join(matching)}): name one")
    return tiers[matching[0]] if matching else None


def _parse(path: Path) -> tuple[dict[str, list[Interval]], float]:
    tokens = _tokens(path)
    try:
        if (next(tokens), next(tokens)) != ("ooTextFile", "TextGrid"):
            raise AlignmentError(f"{path}: this is no TextGrid")
        next(tokens)
        duration = float(next(tokens))
        tiers: dict[str, list[Interval]] = {}
        if next(tokens) == "<absent>":
            return tiers, duration
        for _ in range(int(next(tokens))):
            kind, name = next(tokens), next(tokens)
            next(tokens), next(tokens)
            count = int(next(tokens))
            if kind == "IntervalTier":
                tiers[name] = [
                    Interval(float(next(tokens)), float(next(tokens)), next(tokens)) for _ in range(count)
                ]
            else:
                for _ in range(2 * count):
                    next(tokens)
        return tiers, duration
    except (StopIteration, ValueError, RuntimeError) as error:
        raise AlignmentError(f"{path}: this TextGrid is broken or cut short") from error


def _tokens(path: Path) -> Iterator[str]:
    try:
        data = path.read_bytes()
        wide = data.startswith((codecs.BOM_UTF16_BE, codecs.BOM_UTF16_LE))
        text = data.decode("utf-16" if wide else "utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise AlignmentError(f"{path}: cannot read this TextGrid ({error})") from error
    for match in _TOKEN.finditer(text):
        quoted, number, flag = match.groups()
        yield quoted.replace('""', '"') if quoted is not None else number or flag
