"""AMI: NXT annotations (`words/`, `segments/`) with `ES2002a/audio/ES2002a.Headset-0.wav` and .Array1-01.wav."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from voxaudit.corpus.base import CorpusError, Problem
from voxaudit.corpus.recordings import audio_by_name, with_overlap
from voxaudit.corpus.rows import FILE, LINE, Reader, Rows, rows_of
from voxaudit.errors import one_line

_PLACES = ("", "annotations", "manual", "ami_public_manual_1.6.2", "ami_public_manual_1.6.1")
_IDS = re.compile(r"id\(([^)]*)\)")
AGENTS = "ABCDE"


NEAR = Problem("near_field", "the headsets are read; for the first array name the format ami_far", False)


def _rows(path: Path, microphone: str | None) -> Rows:
    """Read every segment as a microphone heard it; None: the speaker's own headset."""
    folder = _annotations(path)
    if folder is None:
        raise CorpusError(f"{path}: no segments/*.segments.xml with words/ here or in annotations/")
    audio = audio_by_name(path)
    people = _people(folder / "corpusResources")
    files = sorted((folder / "segments").glob("*.segments.xml"))
    heard = {name.split(".")[0] for name in audio}
    wanted = [file for file in files if file.name.split(".")[0] in heard] or files
    records = (record for file in wanted for record in _segments(file, people, audio, microphone))
    rows = rows_of(records, path, unit="segment", harmonize={"gender": "gender"})
    if len(wanted) < len(files):
        silent = {file.name.split(".")[0] for file in files} - heard
        message = f"{len(silent):,} meetings left out: their audio is not here"
        rows = rows.noting((Problem("no_recording", message, False, len(silent)),))
    return replace(rows, table=with_overlap(rows.table, "meeting")) if rows.table.width else rows


def _annotations(path: Path) -> Path | None:
    folders = (path / place for place in _PLACES)
    return next(
        (f for f in folders if (f / "words").is_dir() and next(f.glob("segments/*.segments.xml"), None)), None
    )


@dataclass(frozen=True)
class _Person:
    """A participant: the name in all meetings, the number of the headset in this one, and the first language."""

    name: str
    headset: str
    language: str | None = None

    @property
    def gender(self) -> str | None:
        """F or M, with which the names of participants start (FEE005); None of a name made up here (ES2002a.A)."""
        return self.name[0] if self.name[:1] in ("F", "M") and "." not in self.name else None


def _people(folder: Path) -> dict[tuple[str, str], _Person]:
    """Return the participants by (meeting, agent)."""
    meetings, participants = (folder / f"{name}.xml" for name in ("meetings", "participants"))
    languages = {}
    if participants.is_file():
        found = read_xml(participants).iter("participant")
        languages = {one.get("nite:id"): one.get("native_language") for one in found}
    return {
        (str(meeting.get("observation")), str(one.get("nxt_agent"))): _Person(
            str(one.get("global_name")), str(one.get("channel")), languages.get(one.get("global_name"))
        )
        for meeting in (read_xml(meetings).iter("meeting") if meetings.is_file() else ())
        for one in meeting.iter("speaker")
    }


def _segments(
    file: Path, people: dict[tuple[str, str], _Person], audio: dict[str, str], microphone: str | None
) -> Iterator[dict[str, object]]:
    meeting, agent = file.name.split(".")[:2]
    words = file.parent.parent / "words" / f"{meeting}.{agent}.words.xml"
    said = list(read_xml(words)) if words.is_file() else []
    place = {word.get("nite:id"): number for number, word in enumerate(said)}
    person = people.get((meeting, agent), _Person(f"{meeting}.{agent}", str(AGENTS.find(agent))))
    name = f"{meeting}.{microphone or f'Headset-{person.headset}'}"
    for number, segment in enumerate(read_xml(file).iter("segment"), start=1):
        text = _text(segment, said, place)
        if text:
            yield {
                "id": f"{meeting}-{agent}-{number}",
                "audio": audio.get(name, f"{meeting}/audio/{name}.wav"),
                "speaker": person.name,
                "text": text,
                "start": segment.get("transcriber_start"),
                "end": segment.get("transcriber_end"),
                "meeting": meeting,
                "gender": person.gender,
                "native_language": person.language,
                LINE: number,
                FILE: file.name,
            }


def _text(segment: Element, said: list[Element], place: dict[str | None, int]) -> str:
    """Return the words of a segment in order, without punctuation marks, laughter and other sounds."""
    words = []
    for child in segment.iter("nite:child"):
        ends = [place[id] for id in _IDS.findall(str(child.get("href"))) if id in place]
        if ends:
            words += said[ends[0] : ends[-1] + 1]
    return " ".join(
        (word.text or "").strip() for word in words if word.tag == "w" and word.get("punc") != "true"
    ).strip()


def read_xml(path: Path) -> Element:
    """Return the root of an XML file. Names keep their prefix as written (`nite:id`); a DOCTYPE is refused."""

    def refuse(*_: object) -> None:
        raise CorpusError(
            f"{path}: has a DOCTYPE, which is not read (entities could grow without end); remove it"
        )

    builder = TreeBuilder()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = lambda tag, attributes: builder.start(tag, attributes)
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    # Entities are declared in a document type only: without one, nothing can expand or name another file.
    parser.StartDoctypeDeclHandler = refuse
    if path.exists() and not path.is_file():  # a device or a pipe would be read for ever
        raise CorpusError(f"{path}: is not a file")
    try:
        with path.open("rb") as file:
            parser.ParseFile(file)
    except OSError as error:
        raise CorpusError(f"{path}: cannot read this file ({error.strerror or error})") from error
    except (expat.ExpatError, LookupError) as error:
        raise CorpusError(f"{path}: not valid XML ({one_line(error, 100)})") from None
    return builder.close()


READER = Reader(
    name="ami",
    description="AMI, near field: words/, segments/ (NXT) and the headsets ES2002a/audio/ES2002a.Headset-0.wav",
    example="amicorpus with annotations/ and ES2002a/audio/",
    detect=lambda path: _annotations(path) is not None,
    rows=lambda path: _rows(path, None).noting((NEAR,)),
)
FAR_READER = replace(
    READER,
    name="ami_far",
    description="AMI, far field: the same segments in ES2002a/audio/ES2002a.Array1-01.wav",
    example="amicorpus, with the format ami_far named",
    detect=lambda _: False,
    rows=lambda path: _rows(path, "Array1-01"),
)
