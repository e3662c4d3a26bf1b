"""Alignments that another aligner wrote, whatever the file: by name of the recording."""

from __future__ import annotations

import codecs
import gzip
import json
import math
import re
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from voxaudit.align.pronounce import pronounce
from voxaudit.align.syllables import manner, word_from_phones
from voxaudit.align.timings import AlignmentError, Phone, Syllable, Timings, Word
from voxaudit.errors import one_line

ENDINGS = (".textgrid", ".ctm", ".jsonl", ".jsonl.gz")


def read_alignments(path: str | Path) -> dict[str, Timings | str]:
    """Return timings by name from a TextGrid or a folder of them (the name is the file's), a CTM or a lhotse file.

    The Montreal Forced Aligner writes a folder of TextGrids, with one folder per speaker. A TextGrid among several that
    cannot be read costs itself: its value is one line that says why.
    """
    path = Path(path)
    if not path.exists():
        raise AlignmentError(f"{path}: no such file or folder")
    if path.is_dir():
        return _folder(path)
    name = path.name.lower()
    if name.endswith(".textgrid"):
        return {path.stem: read_textgrid(path)}
    if name.endswith(".ctm"):
        return dict(read_ctm(path))
    if name.endswith((".jsonl", ".jsonl.gz")):
        return dict(read_lhotse(path))
    raise AlignmentError(
        f"{path}: unknown alignment format. Give a folder of TextGrids or one of {', '.join(ENDINGS)}"
    )


def _folder(path: Path) -> dict[str, Timings | str]:
    grids = sorted(file for file in path.rglob("*") if file.suffix.lower() == ".textgrid")
    if not grids:
        raise AlignmentError(f"{path}: no TextGrid in this folder")
    found: dict[str, Timings | str] = {}
    for grid in grids:
        if grid.stem in found:
            raise AlignmentError(f"{path}: there are two files called {grid.name}; names must be unique")
        try:
            found[grid.stem] = read_textgrid(grid)
        except AlignmentError as error:
            found[grid.stem] = one_line(error)
    return found


# Read Praat TextGrids, long and short, with the word and phone tiers that the Montreal Forced Aligner writes.

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
    tiers, duration = _parse_textgrid(path)
    chosen = _textgrid_tier(tiers, words, _WORDS, path)
    if chosen is None:
        raise AlignmentError(f"{path}: no tier with words; name it: one of {', '.join(tiers) or 'none'}")
    parts = _textgrid_tier(tiers, phones, _PHONES, path)
    return timings_from_intervals(chosen, parts or [], duration, str(path))


def _textgrid_tier(
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


def _parse_textgrid(path: Path) -> tuple[dict[str, list[Interval]], float]:
    tokens = _textgrid_tokens(path)
    try:
        if (next(tokens), next(tokens)) != ("ooTextFile", "TextGrid"):
            raise AlignmentError(f"{path}: not a TextGrid")
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


def _textgrid_tokens(path: Path) -> Iterator[str]:
    try:
        data = path.read_bytes()
        wide = data.startswith((codecs.BOM_UTF16_BE, codecs.BOM_UTF16_LE))
        text = data.decode("utf-16" if wide else "utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise AlignmentError(f"{path}: cannot read this TextGrid ({error})") from error
    for match in _TOKEN.finditer(text):
        quoted, number, flag = match.groups()
        yield quoted.replace('""', '"') if quoted is not None else number or flag


# Read CTM files: one word or phone per line, with its start and length, as Kaldi and NeMo write them.


def read_ctm(path: str | Path, phones: str | Path | None = None) -> dict[str, Timings]:
    """Return the timings of every recording in a CTM file (`recording channel start length word [confidence]`).

    Times are in seconds. `phones` is a second CTM with the phones; without it the syllables of a word share
    its time by the dictionary. The length of a recording is not in the file: it is taken as the last end.
    """
    words = _read_ctm(Path(path))
    parts = _read_ctm(Path(phones)) if phones is not None else {}
    return {
        name: timings_from_intervals(
            rows, parts.get(name, []), max(row.end for row in rows), f"{path}: {name}"
        )
        for name, rows in words.items()
    }


def _read_ctm(path: Path) -> dict[str, list[Interval]]:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise AlignmentError(f"{path}: cannot read this CTM file ({error})") from error
    rows: dict[str, list[Interval]] = defaultdict(list)
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith(";;"):
            continue
        fields = line.split()
        try:
            start, length = float(fields[2]), float(fields[3])
            text = fields[4]
        except (IndexError, ValueError):
            start = length = math.nan
            text = ""
        if not (0 <= start < math.inf and 0 <= length < math.inf):
            raise AlignmentError(
                f"{path}, line {number}: expected 'recording channel start length word', not '{line[:60]}'"
            )
        rows[fields[0]].append(Interval(start, start + length, text))
    if not rows:
        raise AlignmentError(f"{path}: no word in this CTM file")
    return {name: sorted(group, key=lambda row: (row.start, row.end)) for name, group in rows.items()}


# Read the alignments in lhotse's supervisions: one JSON object per line, plain or gzipped.


def read_lhotse(path: str | Path) -> dict[str, Timings]:
    """Return the timings of every supervision with an alignment, by its id.

    Reads a supervisions file or a cuts file (JSONL). Alignments are lists `[symbol, start, duration, ...]` or
    objects, under `word` and, where there is one, `phone`. lhotse counts their times from the start of the
    recording (in cuts: of the cut); the timings returned count from the start of the supervision, that is of
    what is heard.
    """
    path = Path(path)
    timings: dict[str, Timings] = {}
    for number, item in _json_lines(path):
        for supervision in item.get("supervisions", [item]):
            where = f"{path}, line {number}"
            try:
                name, start = str(supervision["id"]), float(supervision["start"])
                duration = float(supervision["duration"])
                alignment = supervision.get("alignment") or {}
                tiers = {
                    tier: [_lhotse_interval(row, start) for row in rows] for tier, rows in alignment.items()
                }
            except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
                raise AlignmentError(f"{where}: not a lhotse supervision ({one_line(error, 60)})") from error
            if "word" in tiers:
                phones = tiers.get("phone", [])
                timings[name] = timings_from_intervals(tiers["word"], phones, duration, f"{where}: {name}")
    if not timings:
        raise AlignmentError(f"{path}: no supervision here has a 'word' alignment")
    return timings


def _lhotse_interval(row: Any, origin: float) -> Interval:
    if isinstance(row, Mapping):
        symbol, start, length = row["symbol"], row["start"], row["duration"]
    else:
        symbol, start, length = row[0], row[1], row[2]
    first = float(start) - origin
    # Rounding may put an edge a hair outside the supervision.
    return Interval(max(round(first, 6), 0.0), max(round(first + float(length), 6), 0.0), str(symbol))


LONGEST_LINE = 1 << 24
"""Characters of a line that are read: a few compressed ones can be a line without end."""


def _json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        with (
            gzip.open(path, "rt", encoding="utf-8")
            if path.suffix == ".gz"
            else path.open(encoding="utf-8") as file
        ):
            for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE), ""), 1):
                if not line.strip():
                    continue
                try:
                    item = json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise AlignmentError(
                        f"{path}, line {number}: not JSON ({one_line(error, 60)})"
                    ) from error
                if not isinstance(item, dict):
                    raise AlignmentError(
                        f"{path}, line {number}: expected an object, not {type(item).__name__}"
                    )
                yield number, item
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise AlignmentError(f"{path}: cannot read this file ({one_line(error, 100)})") from error


# Words and phones as plain intervals, as other aligners write them, put together to timings.

_SILENCES = re.compile(r"|<.*>|\[.*\]|\{.*\}|sil|sp|spn|eps|nsn|#.*", re.IGNORECASE)
_NEAR = 0.005


@dataclass(frozen=True, slots=True)
class Interval:
    """A label from `start` to `end` in seconds."""

    start: float
    end: float
    label: str


def timings_from_intervals(
    words: Sequence[Interval], phones: Sequence[Interval], duration: float, where: str
) -> Timings:
    """Return timings from words and phones in time order; labels of silence and noise are left out.

    A phone belongs to the word that contains its middle. Phones are ARPABET (a stress digit may follow) or, for
    other languages, IPA; words without a vowel among them fall back on the dictionary's syllables, sharing the word's
    time evenly.
    `where` names the source in errors.
    """
    spoken = [word for word in words if not _SILENCES.fullmatch(word.label.strip())]
    if not spoken:
        raise AlignmentError(f"{where}: no word in this alignment")
    sounds = [phone for phone in phones if not _SILENCES.fullmatch(phone.label.strip())]
    usable = any(manner(phone.label) == "vowel" for phone in sounds)
    try:
        built, at = [], 0
        for word in spoken:
            inside, at = _inside(word, sounds, at) if usable else ([], at)
            built.append(_word(word, inside))
        return Timings(tuple(_in_order(built)), duration)
    except AlignmentError as error:
        raise AlignmentError(f"{where}: {one_line(error)}") from error


def _inside(word: Interval, sounds: Sequence[Interval], at: int) -> tuple[list[Interval], int]:
    while at < len(sounds) and _middle(sounds[at]) < word.start:
        at += 1
    first = at
    while at < len(sounds) and _middle(sounds[at]) <= word.end:
        at += 1
    return list(sounds[first:at]), at


def _middle(interval: Interval) -> float:
    return (interval.start + interval.end) / 2


def _word(word: Interval, inside: Sequence[Interval]) -> Word:
    label = word.label.strip()
    if not any(manner(phone.label) == "vowel" for phone in inside):
        return word_alone(label, word.start, word.end)
    return word_from_phones(
        label,
        [Phone(p.label, max(p.start, word.start), max(min(p.end, word.end), word.start)) for p in inside],
    )


def _in_order(words: Sequence[Word]) -> list[Word]:
    """Return the words with overlaps of rounding (a few milliseconds) taken away."""
    ordered: list[Word] = []
    for word in words:
        if ordered and 0 < ordered[-1].end - word.start <= _NEAR:
            edge = ordered[-1].end
            syllables = tuple(
                type(s)(s.text, max(s.start, edge), max(s.end, edge), s.phones, s.event)
                for s in word.syllables
            )
            word = Word(word.text, edge, max(word.end, edge), syllables, word.event)
        ordered.append(word)
    return ordered


def word_alone(text: str, start: float, end: float) -> Word:
    """Return a word whose phones have no times: the dictionary's phones, each given the same share of the word.

    A word that no dictionary or rule can pronounce is one syllable without phones.
    """
    names = pronounce(text)
    if not names:
        return Word(text, start, end, (Syllable(text, start, end),))
    step = (end - start) / len(names)
    edges = [start + i * step for i in range(len(names))] + [end]
    phones = [Phone(name, a, b) for name, a, b in zip(names, edges, edges[1:], strict=False)]
    return word_from_phones(text, phones)
