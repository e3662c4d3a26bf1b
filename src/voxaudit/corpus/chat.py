"""CHAT transcripts (.cha), as TalkBank and FluencyBank publish them: who speaks, and times in the recording."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from voxaudit.corpus.base import CorpusError, Problem
from voxaudit.corpus.folder import glimpse
from voxaudit.corpus.recordings import audio_by_name
from voxaudit.corpus.rows import FILE, LINE, Reader, Rows, rows_of
from voxaudit.corpus.text_files import read_lines

_BULLET = re.compile("\x15_?(\\d+)_(\\d+)_?\x15")
_UNCLEAR = re.compile(r"\b(?:xxx|yyy|www)\b")
_REMOVED = re.compile(
    r"\[[^\]]{0,500}\]"  # codes and remarks: [/], [//], [* s], [= laughs]
    r"|↫[^↫]*↫"  # a repeated sound: ↫s-s↫snake
    r"|&[+=~*]\S*"  # a fragment, a gesture: &+sn, &=laughs
    r"|\(\.+\)|\(\d[\d:.]*\)"  # pauses: (.), (..), (1.5)
    r"|\+\S*"  # how an utterance ends or goes on: +..., +/.
    r"|[‡„≠^<>]|(?<=\w):+|(?<!\S)0\S*"  # marks within words, and words that were left out (0is)
)
_FIELDS = ("language", "corpus", "code", "age", "sex", "group", "status", "role")


def detect(path: Path) -> bool:
    """Say whether this is a .cha file or a folder with some."""
    return any(name.endswith(".cha") for name in glimpse(path)) if path.is_dir() else bool(_files(path))


def rows(path: Path) -> Rows:
    """Read every utterance with times: what was said, without codes, pauses and fragments of words.

    Filled pauses (&-um) and repeated words stay, as they were said; repeated sounds, prolongations and blocks do not.
    Utterances with words that were not understood (xxx) are left out, and those without times.
    """
    files = _files(path)
    if not files:
        raise CorpusError(f"{path}: no .cha files in this folder")
    root = path if path.is_dir() else path.absolute().parent
    audio = audio_by_name(root)
    left_out: dict[str, list[str]] = {"no times": [], "words not understood (xxx)": []}
    records = (record for file in files for record in _records(file, root, audio, left_out))
    rows = rows_of(records, root, unit="line", harmonize={"gender": "sex", "age": "age"})
    problems = (
        Problem(
            "unclear_text",
            f"{len(places):,} utterances left out: {why} (first: {places[0]})",
            False,
            len(places),
        )
        for why, places in left_out.items()
        if places
    )
    return rows.noting(tuple(problems))


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted({*path.glob("*.cha"), *path.glob("*/*.cha"), *path.glob("*/*/*.cha")})
    return [path] if path.suffix == ".cha" and path.is_file() else []


def _records(
    file: Path, root: Path, audio: dict[str, str], left_out: dict[str, list[str]]
) -> Iterator[dict[str, object]]:
    people: dict[str, dict[str, str]] = {}
    media, place = file.stem, file.relative_to(root).as_posix() if file.is_relative_to(root) else file.name
    for number, line in _whole_lines(file):
        head, _, rest = line.partition(":")
        if head == "@ID":
            values = dict(zip(_FIELDS, (part.strip() for part in rest.split("|")), strict=False))
            people[values.pop("code", "")] = values
        elif head == "@Media":
            media = rest.split(",")[0].strip().strip('"')
        elif head.startswith("*"):
            times = _BULLET.findall(rest)
            where = f"{place}:{number}"
            if not times or _UNCLEAR.search(rest):
                left_out["words not understood (xxx)" if times else "no times"].append(where)
                continue
            start, end = int(times[0][0]) / 1000, int(times[-1][1]) / 1000
            if text := spoken(_BULLET.sub(" ", rest)):
                yield {
                    "id": f"{file.stem}-{head[1:]}-{number}",
                    "audio": audio.get(media, f"{media}.wav"),
                    "speaker": f"{file.stem}-{head[1:]}",
                    "text": text,
                    "start": start,
                    "end": end,
                    **people.get(head[1:], {}),
                    LINE: number,
                    FILE: place,
                }


def spoken(text: str) -> str:
    """Return the words of a CHAT utterance as they were said, without codes, pauses and fragments."""
    words = _REMOVED.sub("", text).split()
    kept = (word.removeprefix("&-").split("@")[0].replace("_", " ") for word in words)
    return " ".join(re.sub(r"[()]", "", word) for word in kept if re.search(r"\w", word))


def _whole_lines(file: Path) -> Iterator[tuple[int, str]]:
    """Yield lines with those that continue them (a tab before), and the number of the first."""
    number, whole = 0, ""
    for place, line in enumerate(read_lines(file), start=1):
        if line.startswith("\t"):
            whole += " " + line.strip()
            continue
        if whole:
            yield number, whole
        number, whole = place, line
    if whole:
        yield number, whole


READER = Reader(
    name="chat",
    description="CHAT transcripts (.cha) of TalkBank, FluencyBank ... with times, and the media they name",
    example="FluencyBank/Voices-AWS with *.cha and *.wav",
    detect=detect,
    rows=rows,
)
