"""CHAT transcripts (.cha), as TalkBank and FluencyBank publish them: who speaks, and times in the recording."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from voxaudit.corpus.disfluent import CODED, EVENT_LIST, SURFACE, Event, Said, written_events
from voxaudit.corpus.folder import glimpse
from voxaudit.corpus.recordings import audio_by_name
from voxaudit.corpus.rows import FILE, LINE, Reader, Rows, rows_of
from voxaudit.corpus.text_files import read_lines

_BULLET = re.compile("\x15_?(\\d+)_(\\d+)_?\x15")
_UNCLEAR = re.compile(r"\b(?:xxx|yyy|www)\b")
_TOKEN = re.compile(r"\[[^\]]{0,500}\]|[<>]|[^\s<>\[\]]+")
_PAUSE = re.compile(r"\((?:\.+|\d[\d:.]*)\)")
_MARKS = re.compile("[‡„⌈⌉⌊⌋↑↓→∙∬\\u2039\\u203a\\u204e]")
_CODED = re.compile(r"↫|≠|(?<!\S)\^\w|\w\^\w|[^\W\d_]:+[^\W\d_]")
"""Marks that only a coder of stuttering makes: a file without any may hold stuttering all the same."""
_FIELDS = ("language", "corpus", "code", "age", "sex", "group", "status", "role")


def _detect(path: Path) -> bool:
    return any(name.endswith(".cha") for name in glimpse(path)) if path.is_dir() else bool(_files(path))


def _read(path: Path, files: list[Path]) -> Rows:
    """Read every utterance with times: what is meant, what can be heard (`surface`) and the disfluencies (`events`).

    `coded` says whether somebody marked repeated sounds, blocks and prolongations in the file: where nobody did, there
    may be some. Utterances with words that were not understood (xxx) are left out, and those without times.
    """
    root = path if path.is_dir() else path.absolute().parent
    audio = audio_by_name(root)
    left_out: dict[str, list[str]] = {"no times": [], "words not understood (xxx)": []}
    records = (record for file in files for record in _records(file, root, audio, left_out))
    rows = rows_of(records, root, unit="line", harmonize={"gender": "sex", "age": "age"})
    for why, places in left_out.items():
        rows = rows.leaving_out(places, why, "utterances")
    return rows


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted({*path.glob("*.cha"), *path.glob("*/*.cha"), *path.glob("*/*/*.cha")})
    return [path] if path.suffix == ".cha" and path.is_file() else []


def _records(
    file: Path, root: Path, audio: dict[str, str], left_out: dict[str, list[str]]
) -> Iterator[dict[str, object]]:
    people: dict[str, dict[str, str]] = {}
    coded = coded_or_not(line for _, line in whole_lines(file))
    media, place = file.stem, file.relative_to(root).as_posix() if file.is_relative_to(root) else file.name
    for number, line in whole_lines(file):
        head, _, rest = line.partition(":")
        if head == "@ID":
            values = dict(zip(_FIELDS, (part.strip() for part in rest.split("|")), strict=False))
            people[values.pop("code", "")] = values
        elif head == "@Media":
            media = rest.split(",")[0].strip().strip('"')
        elif head.startswith("*"):
            times = _BULLET.findall(rest)
            where = f"{place}:{number}"
            if not times or is_unclear(rest):
                left_out["words not understood (xxx)" if times else "no times"].append(where)
                continue
            start, end = int(times[0][0]) / 1000, int(times[-1][1]) / 1000
            said = chat_utterance(rest)
            if said.surface:
                yield {
                    "id": f"{file.stem}-{head[1:]}-{number}",
                    "audio": audio.get(media, f"{media}.wav"),
                    "speaker": f"{file.stem}-{head[1:]}",
                    "text": said.intended,
                    SURFACE: said.surface,
                    EVENT_LIST: written_events(said.events),
                    CODED: coded,
                    "start": start,
                    "end": end,
                    **people.get(head[1:], {}),
                    LINE: number,
                    FILE: place,
                }


def coded_or_not(lines: Iterable[str]) -> str:
    """Say whether anybody marked sounds in the lines of speakers: yes or no."""
    return "yes" if any(_CODED.search(line) for line in lines if line[:1] == "*") else "no"


def is_unclear(text: str) -> bool:
    """Whether words of an utterance were not understood (xxx)."""
    return bool(_UNCLEAR.search(text))


def chat_utterance(text: str) -> Said:
    """Return what an utterance in CHAT means, what can be heard in it, and its disfluencies.

    >>> said = chat_utterance("&-um I ↫w-w↫want [/] want to s:ee the &+sn snake .")
    >>> said.intended, said.surface
    ('I want to see the snake', 'um I w- w- want want to see the sn- snake')
    >>> [event.kind for event in said.events]
    ['interjection', 'sound_repetition', 'word_repetition', 'prolongation', 'fragment']
    """
    whole = _joined(_parts(_TOKEN.findall(_MARKS.sub(" ", _BULLET.sub(" ", text))), 0, 0)[0])
    return Said(" ".join(whole.intended), " ".join(whole.surface), whole.events)


@dataclass(frozen=True)
class _Part:
    """A word or a group in angle brackets; `again` is what it retraces to, as long as that may go on."""

    intended: tuple[str, ...] = ()
    surface: tuple[str, ...] = ()
    events: tuple[Event, ...] = ()
    again: tuple[str, ...] | None = None


_DEEPEST = 50


def _parts(tokens: list[str], at: int, depth: int) -> tuple[list[_Part], int]:
    """Return the parts from a token on, up to the bracket that closes the group, and where to read on."""
    parts: list[_Part] = []
    while at < len(tokens):
        token = tokens[at]
        at += 1
        if token == "<" and depth < _DEEPEST:
            inner, at = _parts(tokens, at, depth + 1)
            parts.append(_joined(inner))
        elif token == ">":
            if depth:
                return parts, at
        elif token.startswith("["):
            _apply(token[1:-1].strip(), parts)
        elif token != "<" and (part := _word(token)) is not None:
            parts.append(part)
    return parts, at


def _joined(parts: list[_Part]) -> _Part:
    return _Part(
        tuple(word for part in parts for word in part.intended),
        tuple(word for part in parts for word in part.surface),
        tuple(event for part in parts for event in part.events),
    )


def _apply(code: str, parts: list[_Part]) -> None:
    """Apply a code in square brackets to the part before it."""
    if not parts:
        return
    last = parts[-1]
    if code in ("/", "/?"):
        meant = last.intended
        if not meant:  # a filler or a fragment that comes again is no repetition of a word
            return
        before = parts[-2] if len(parts) > 1 else None
        if before is not None and before.again == meant and before.events:
            # The same again: one event with one more iteration.
            event = replace(before.events[-1], iterations=before.events[-1].iterations + 1)
            parts[-2] = replace(before, events=before.events[:-1], again=None)
            parts[-1] = _Part((), last.surface, (*last.events, event), meant)
        else:
            kind = "word_repetition" if len(meant) == 1 else "phrase_repetition"
            parts[-1] = _Part((), last.surface, (*last.events, Event(kind)), meant)
    elif code in ("//", "///", "/-"):
        parts[-1] = _Part((), last.surface, (*last.events, Event("revision")))
    elif code.startswith(": ") or code.startswith(":: "):
        target = _joined([part for word in code.split()[1:] if (part := _word(word)) is not None])
        parts[-1] = replace(last, intended=target.intended)
    elif (times := re.fullmatch(r"x (\d{1,2})", code)) and last.intended and int(times[1]) > 1:
        kind = "word_repetition" if len(last.intended) == 1 else "phrase_repetition"
        more = int(times[1])
        parts[-1] = _Part(last.intended, last.surface * more, (*last.events, Event(kind, more - 1)))


def _word(token: str) -> _Part | None:
    """Return a word with the marks inside it taken out; None for what is no word."""
    if token.startswith(("&=", "&*", "&~", "+", "0", "%")) or _PAUSE.fullmatch(token):
        return None
    if token.startswith("&-"):
        words = tuple(_plain(token[2:]).split())
        return _Part((), words, (Event("interjection"),)) if words else None
    if token.startswith("&"):
        piece = _plain(token.lstrip("&+"))
        return _Part((), (f"{piece}-",), (Event("fragment"),)) if piece else None
    events: list[Event] = []
    pieces: list[str] = []
    # From left to right: the first mark opens a repeated sound, the next one closes it.
    spans = token.split("↫")
    for number in range(1, len(spans), 2):
        copies = [_plain(piece) for piece in spans[number].split("-") if _plain(piece)]
        if copies and number + 1 < len(spans):
            pieces += [f"{copy}-" for copy in copies]
            events.append(Event("sound_repetition", len(copies)))
    rest = "".join(spans[::2]) if len(spans) % 2 else "".join(spans[::2]) + spans[-1]
    if rest.startswith(("≠", "^")):
        events.append(Event("block"))
        rest = rest[1:]
    if "≠" in rest or re.search(r"\w\^\w", rest):
        events.append(Event("broken_word"))
    if re.search(r"[^\W\d_]:+", rest):
        events.append(Event("prolongation"))
    words = tuple(_plain(rest).split())
    if not words:
        return _Part((), tuple(pieces), tuple(events)) if pieces else None
    return _Part(words, (*pieces, *words), tuple(events))


def _plain(token: str) -> str:
    """Return the letters of a word: no marks, no kind of word (@), what was left out filled in."""
    word = re.sub(r"[≠^↫:()+]|(?<=\w)\$\w+", "", token.split("@")[0]).replace("_", " ").strip('.,?!;"“”')
    return word if re.search(r"\w", word) else ""


def whole_lines(file: Path) -> Iterator[tuple[int, str]]:
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


READER = Reader.where(
    _files,
    _read,
    name="chat",
    description="CHAT transcripts (.cha) of TalkBank, FluencyBank ... with times, and the media they name",
    example="FluencyBank/Voices-AWS with *.cha and *.wav",
    missing="no .cha files in this folder",
    detect=_detect,
)
