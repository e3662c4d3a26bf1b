"""Corpora of people who stutter, as published: SEP-28k, FluencyBank Timestamped, UCLASS, AS-70; and LibriStutter."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from voxaudit.corpus.base import CorpusError
from voxaudit.corpus.chat import chat_utterance, coded_or_not, is_unclear, whole_lines
from voxaudit.corpus.delimited import delimited_header, read_delimited
from voxaudit.corpus.disfluent import CODED, EVENT_LIST, SURFACE, Event, Said, written_events
from voxaudit.corpus.folder import audio_files, glimpse
from voxaudit.corpus.json_lines import as_object, read_json
from voxaudit.corpus.recordings import audio_by_name
from voxaudit.corpus.rows import FILE, LINE, Reader, Rows, rows_of
from voxaudit.corpus.text_files import read_lines
from voxaudit.errors import one_line

SEP_LABELS = ("SEP-28k-Extended_clips.csv", "SEP-28k_labels.csv", "fluencybank_labels.csv")
MAJORITY = 2
"""Of three listeners, how many must have heard an event."""
_SEP_EVENTS = {
    "Block": "block",
    "Prolongation": "prolongation",
    "SoundRep": "sound_repetition",
    "WordRep": "word_repetition",
    "Interjection": "interjection",
}


def _sep_file(path: Path) -> Path | None:
    files = [path] if path.is_file() else [path / name for name in SEP_LABELS]
    return next((file for file in files if {"EpId", "SoundRep"} <= set(delimited_header(file))), None)


def _sep28k(_: Path, file: Path) -> Rows:
    """Read the clips: `events` that two of three listeners heard, and all their votes; there is no text."""
    found = read_delimited(file)
    audio = audio_by_name(file.parent)

    def records() -> Iterator[dict[str, object]]:
        for number, row in zip(found.numbers, found.table.iter_rows(named=True), strict=True):
            row = {key.strip(): (value or "").strip() for key, value in row.items()}
            clip = "_".join(row.get(key, "") for key in ("Show", "EpId", "ClipId"))
            votes = {key: int(row[key]) for key in _SEP_EVENTS if row.get(key, "").isdecimal()}
            events = [Event(_SEP_EVENTS[key]) for key, count in votes.items() if count >= MAJORITY]
            yield {
                "id": clip,
                "audio": audio.get(clip, f"{clip}.wav"),
                "speaker": row.get("Speaker") or row.get("speaker") or None,
                "show": row.get("Show"),
                "split": row.get("SEP28k-E") or row.get("split") or None,
                EVENT_LIST: written_events(events),
                CODED: "yes",
                **{f"votes_{_SEP_EVENTS[key]}": count for key, count in votes.items()},
                LINE: number,
                FILE: file.name,
            }

    return rows_of(records(), file.parent).noting(found.problems)


def _metadata(path: Path) -> Path | None:
    file = path / "metadata.csv"
    return file if {"segid", "verbatim", "intended"} <= set(delimited_header(file)) else None


def _timestamped(path: Path, file: Path) -> Rows:
    """Read the segments: what is meant, what can be heard, and the events that words are marked with."""
    found = read_delimited(file)
    audio = audio_by_name(path)

    def records() -> Iterator[dict[str, object]]:
        for number, row in zip(found.numbers, found.table.iter_rows(named=True), strict=True):
            segment = (row["segid"] or "").strip()
            marks = path / "csvs" / f"{segment}.csv"
            inside = segment and not set(segment) & set("/\\") and marks.is_file()
            yield {
                "id": segment,
                "audio": audio.get(segment, f"wavs/{segment}.wav"),
                "speaker": re.split(r"[-_]", segment)[0] or None,
                "text": row["intended"],
                SURFACE: row["verbatim"],
                EVENT_LIST: written_events(_marked(marks)) if inside else None,
                CODED: "yes" if inside else "no",
                LINE: number,
                FILE: file.name,
            }

    return rows_of(records(), path).noting(found.problems)


def _marked(file: Path) -> list[Event]:
    """Return the events of a segment: neighbors with the same mark are one, of so many iterations."""
    kinds = {"pw": "sound_repetition", "rp": "word_repetition", "fp": "interjection", "rv": "revision"}
    events: list[Event] = []
    before = ""
    for row in read_delimited(file).table.iter_rows(named=True):
        marked = {key for key in kinds if (row.get(key) or "").strip().lower() in ("1", "1.0", "true", "yes")}
        mark = next((kind for key, kind in kinds.items() if key in marked), "")
        if mark and mark == before and mark in ("sound_repetition", "word_repetition", "revision"):
            more = events[-1].iterations + (mark != "revision")
            events[-1] = Event(mark, more)
        elif mark:
            events.append(Event(mark))
        before = mark
    return events


_UCLASS = re.compile(r"([MF])_(\d+)_(\d+)y(\d+)m_(\d+)")


def _uclass_names(path: Path) -> dict[str, str]:
    return {stem: place for stem, place in audio_by_name(path).items() if _UCLASS.fullmatch(stem)}


def _uclass(path: Path, names: dict[str, str]) -> Rows:
    """Read the recordings with their speaker, sex, age and take, from their names; texts from .orth or .cha beside."""
    texts = {
        file.stem: file
        for ending in ("orth", "cha")
        for file in sorted({*path.glob(f"*.{ending}"), *path.glob(f"*/*.{ending}")}, reverse=True)
    }

    unclear: list[str] = []

    def records() -> Iterator[dict[str, object]]:
        for stem, place in sorted(names.items()):
            sex, person, years, months, take = _UCLASS.fullmatch(stem).groups()  # type: ignore[union-attr]
            said = _uclass_text(texts[stem]) if stem in texts else {}
            if said is None:
                unclear.append(place)
                continue
            yield {
                "id": stem,
                "audio": place,
                "speaker": f"{sex}_{person}",
                "sex": sex,
                "age": round(int(years) + int(months) / 12, 1),
                "take": take,
                **said,
            }

    rows = rows_of(records(), path, harmonize={"gender": "sex"})
    return rows.leaving_out(unclear, "words not understood (xxx)", "recordings")


def _uclass_text(file: Path) -> Mapping[str, object] | None:
    """Return what is said in a recording; None where some of it was not understood."""
    if file.suffix == ".orth":
        return {"text": " ".join(" ".join(read_lines(file)).split())}
    lines = [line for _, line in whole_lines(file) if line.startswith("*")]
    if any(map(is_unclear, lines)):
        return None
    said = [chat_utterance(line.partition(":")[2]) for line in lines]
    return {
        "text": " ".join(one.intended for one in said if one.intended),
        SURFACE: " ".join(one.surface for one in said if one.surface),
        EVENT_LIST: written_events(event for one in said for event in one.events),
        CODED: coded_or_not(lines),
    }


_LIBRISTUTTER = "LibriStutter Annotations"
_LIBRISTUTTER_EVENTS = {
    "1": "interjection",
    "2": "sound_repetition",
    "3": "word_repetition",
    "4": "phrase_repetition",
    "5": "prolongation",
}


def _libristutter_files(path: Path) -> list[Path]:
    """Return the annotations, SPEAKER/CHAPTER/NAME.csv, of the corpus or of all its parts."""
    folders = (path / _LIBRISTUTTER, *sorted(path.glob(f"*/{_LIBRISTUTTER}")))
    return [file for folder in folders for file in sorted(folder.glob("*/*/*.csv"))]


def _libristutter(path: Path, files: list[Path]) -> Rows:
    """Read LibriSpeech with stuttering put in: words as meant, and what a line called STUTTER is."""
    audio = audio_by_name(path)

    def records() -> Iterator[dict[str, object]]:
        for file in files:
            try:
                rows = [row for row in csv.reader(read_lines(file)) if len(row) == 4]
            except csv.Error as error:
                raise CorpusError(f"{file}: cannot be read ({one_line(error)})") from error
            events = [
                _LIBRISTUTTER_EVENTS[row[3].strip()] for row in rows if row[3].strip() in _LIBRISTUTTER_EVENTS
            ]
            yield {
                "id": file.stem,
                "audio": audio.get(file.stem, f"{file.stem}.flac"),
                "speaker": file.parent.parent.name,
                "text": " ".join(row[0].strip() for row in rows if row[0].strip() != "STUTTER"),
                EVENT_LIST: written_events(Event(kind) for kind in events),
                CODED: "yes",
                FILE: str(file.relative_to(path)),
            }

    return rows_of(records(), path)


_AS70_MARKS = {
    "b": "block",
    "p": "prolongation",
    "r": "sound_repetition",
    "i": "interjection",
}
_AS70_TOKEN = re.compile(r"/([bpri])|([A-Za-z']+|.)", re.DOTALL)
_AS70_LINE = re.compile(r"\s*(\d+(?:\.\d+)?)\s+(\d+(?:\.\d+)?)\s+(\S.*)")
_AS70_LEVELS = "level_split.json"


def as70_utterance(text: str) -> Said:
    """Return what is meant, what can be heard, and the events of an utterance of AS-70.

    What is said again stands in brackets; `/b`, `/p`, `/r` stand behind what is blocked, held or begun again, `/i`
    behind a filler.

    >>> said = as70_utterance("嗯/i我[我/p我]想/b去")
    >>> said.intended, said.surface, written_events(said.events)
    ('我想去', '嗯我我我想去', 'interjection:1 prolongation:1 word_repetition:2 block:1')
    """
    meant: list[str] = []
    heard: list[str] = []
    again: list[str] = []
    events: list[Event] = []
    into = meant
    for mark, unit in _AS70_TOKEN.findall(text):
        if mark:
            events.append(Event(_AS70_MARKS[mark]))
            if mark == "i" and into:
                into.pop()
        elif unit == "[":
            into = again = []
        elif unit == "]":
            if again:
                events.append(Event("word_repetition", _times_again(again, meant)))
            into, again = meant, []
        elif unit != "*":
            into.append(unit)
            heard.append(unit)
    intended, surface = (" ".join("".join(one).split()) for one in (meant, heard))
    return Said(intended, surface, tuple(events))


def _times_again(again: list[str], meant: list[str]) -> int:
    """Return how often something is said again: the longest piece that was just said, else the shortest that repeats.

    >>> _times_again(list("妈妈"), list("我妈妈")), _times_again(list("我我"), list("我"))
    (1, 2)
    """
    count = len(again)
    # Divisors first: a line can be as long as somebody likes.
    sizes = [
        size for size in range(1, count + 1) if count % size == 0 and again == again[:size] * (count // size)
    ]
    just_said = [size for size in sizes if meant[-size:] == again[:size]]
    return count // (max(just_said) if just_said else min(sizes))


def _as70_files(path: Path) -> list[Path]:
    """Return the annotations, SPEAKER/NAME.txt with lines of start, end and text, here or one folder below."""
    speaker = "[0-9]" * 4
    files = {*path.glob(f"{speaker}/*.txt"), *path.glob(f"*/{speaker}/*.txt")} if path.is_dir() else set()
    return sorted(files) if files and _is_as70(min(files)) else []


def _is_as70(file: Path) -> bool:
    try:
        with file.open("rb") as opened:
            lines = opened.read(4096).decode("utf-8-sig", "replace").splitlines()
    except OSError:
        return False
    return any(_AS70_LINE.match(line) for line in lines)


def _as70(path: Path, files: list[Path]) -> Rows:
    """Read the turns of those who stutter: what is meant, what can be heard, events, style and severity."""
    audio = {Path(place).parent.name: place for place in sorted(audio_files(path), reverse=True)}
    about = _as70_levels(path)
    hidden: list[str] = []
    interviewer: list[str] = []

    def records() -> Iterator[dict[str, object]]:
        for file in files:
            speaker, place = file.parent.name, file.relative_to(path).as_posix()
            if file.stem.startswith("D") and "B" in file.stem:
                interviewer.append(place)
                continue
            for number, line in enumerate(read_lines(file), start=1):
                found = _AS70_LINE.match(line)
                if found is None:
                    continue
                start, end, text = found.groups()
                if re.search(r"<[^>]*>", text):  # a name that was taken out, or two people at once
                    hidden.append(f"{place}, line {number}")
                    continue
                said = as70_utterance(text)
                yield {
                    "id": f"{speaker}_{file.stem}_{number:04d}",
                    "audio": audio.get(speaker, f"{speaker}/{file.stem}.wav"),
                    "start": start,
                    "duration": f"{float(end) - float(start):.6f}",
                    "speaker": speaker,
                    "language": "zh",
                    "text": said.intended,
                    SURFACE: said.surface,
                    EVENT_LIST: written_events(said.events),
                    CODED: "yes",
                    "style": "conversation" if file.stem.startswith("D") else "command",
                    **about.get(speaker, {}),
                    LINE: number,
                    FILE: place,
                }

    rows = rows_of(records(), path)
    rows = rows.leaving_out(hidden, "something said is not written down (personal data, two people at once)")
    return rows.leaving_out(interviewer, "they are the interviewer's, who is not named", "files")


def _as70_levels(path: Path) -> dict[str, dict[str, str]]:
    """Return severity and split of the speakers, where the file lies here that the authors' code comes with."""
    file = path / _AS70_LEVELS
    levels = as_object(read_json(file)) if file.is_file() else {}
    return {
        str(speaker): {"severity": str(severity), "split": str(split)}
        for severity, splits in levels.items()
        if isinstance(splits, dict)
        for split, speakers in splits.items()
        if isinstance(speakers, list)
        for speaker in speakers
    }


SEP28K = Reader.where(
    _sep_file,
    _sep28k,
    name="sep28k",
    description="SEP-28k: 3 s clips of people who stutter, with the events that two of three listeners heard; no text",
    example="SEP-28k with SEP-28k_labels.csv and clips/*.wav",
    missing=f"none of {', '.join(SEP_LABELS)} in this folder",
)
TIMESTAMPED = Reader.where(
    _metadata,
    _timestamped,
    name="fluencybank_timestamped",
    description="FluencyBank Timestamped: metadata.csv (verbatim, intended), csvs/ with marks of words, wavs/",
    example="fluencybank-timestamped",
    missing="no metadata.csv with segid, verbatim and intended in this folder",
)
UCLASS = Reader.where(
    _uclass_names,
    _uclass,
    name="uclass",
    description="UCLASS: M_0078_16y5m_1.wav (sex, person, age, take), with .orth or .cha where there is a text",
    example="UCLASS/release2",
    missing="no recording called like M_0078_16y5m_1 in this folder",
    detect=lambda path: any(_UCLASS.fullmatch(Path(name).stem) for name in glimpse(path)),
)
LIBRISTUTTER = Reader.where(
    _libristutter_files,
    _libristutter,
    name="libristutter",
    description="LibriStutter: LibriSpeech with stuttering put in (nobody here stutters), with the events of each file",
    example="LibriStutter with LibriStutter Annotations/ and LibriStutter Audio/",
    missing=f"no folder {_LIBRISTUTTER}/ with SPEAKER/CHAPTER/NAME.csv in this folder or below it",
    detect=lambda path: any(path.glob(_LIBRISTUTTER)) or any(path.glob(f"*/{_LIBRISTUTTER}")),
)
AS70 = Reader.where(
    _as70_files,
    _as70,
    name="as70",
    description="AS-70 (AISHELL-6A): Mandarin conversations and commands of people who stutter, with marks of events",
    example=f"AS-70 with annotation/0001/*.txt and audio/0001/*.wav; {_AS70_LEVELS} for severity",
    missing="no NNNN/NAME.txt with lines of start, end and text in this folder or one below it",
)
