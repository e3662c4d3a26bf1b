"""The queue of a stutter audit as cases: what a recognizer no longer hears as the original."""

from __future__ import annotations

import json
import threading
from functools import cached_property
from pathlib import Path
from typing import Any

from voxaudit.audits.stutter.folder import QUEUE, Replay, read_recordings
from voxaudit.audits.stutter.taxonomy import KINDS
from voxaudit.errors import VoxauditError, one_line
from voxaudit.review.cases import CHANGED, ORIGINAL, Facets, Filters, Page, Sound, word_diff

TEXTS = ("id", "utterance", "recognizer", "chain", "intended", "surface", "original", "transcript")


class Suspects:
    """The suspicious cases of a stutter audit's folder, least similar first. A queue written anew is read again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._read: tuple[tuple[int, int], dict[str, dict[str, Any]]] | None = None

    @property
    def _cases(self) -> dict[str, dict[str, Any]]:
        path = self.folder / QUEUE
        with self._lock:
            try:
                status = path.stat()
                mark = (status.st_mtime_ns, status.st_size)
                if self._read is None or self._read[0] != mark:
                    self._read = (mark, read_queue(path))
            except OSError as error:
                raise VoxauditError(f"{path}: cannot read this review queue ({one_line(error)})") from error
            return self._read[1]

    @cached_property
    def _replay(self) -> Replay | None:
        return read_recordings(self.folder)

    @property
    def total(self) -> int:
        """How many suspicious cases there are."""
        return len(self._cases)

    def facets(self) -> Facets:
        """Return the recognizers and kinds of fault."""
        cases = self._cases.values()
        kinds = {case["kind"] for case in cases}
        return Facets(
            recognizers=sorted({case["recognizer"] for case in cases}),
            kinds=[kind for kind in KINDS if kind in kinds],
        )

    def page(self, filters: Filters, first: int, size: int) -> Page:
        """Return one page of the cases that match, in the order of the queue."""
        found = [case for case in self._cases.values() if _matches(case, filters)]
        return Page(len(found), [_line(case) for case in found[first : first + size]])

    def case(self, id_: str) -> dict[str, Any] | None:
        """Return one case in full."""
        case = self._cases.get(id_)
        if case is None:
            return None
        replay = self._replay
        there = replay is not None and case["utterance"] in replay.recordings
        return {
            **_line(case),
            "failure": None,
            "speaker": replay.recordings[case["utterance"]].utterance.speaker if replay and there else None,
            "attributes": {},
            "clean": case["original"],
            "against": "reference",
            "surface": case["surface"],
            "diff": word_diff(case["intended"], case["transcript"]),
            "clean_diff": word_diff(case["intended"], case["original"]),
            "sides": [ORIGINAL, CHANGED] if there else [],
            "silent": ""
            if there
            else "run the stutter audit again with this version of voxaudit to listen (nothing is heard twice)",
        }

    def sound(self, id_: str, side: str) -> Sound | None:
        """Return the recording, or the recording after the chain, with the places where it was edited."""
        case, replay = self._cases.get(id_), self._replay
        if case is None or replay is None or case["utterance"] not in replay.recordings:
            return None
        if side == ORIGINAL:
            return Sound(replay.original(case["utterance"]))
        audio, edits = replay.stuttered(case["utterance"], case["chain"])
        names = [part.partition(":")[0] for part in case["chain"].split(";") if part.strip()]
        spans: list[tuple[int, int, str]] = []
        for edit, name in zip(edits, names, strict=True):
            # An edit moves the places of those before it that lie behind it.
            spans = [
                (a + edit.growth, b + edit.growth, what) if a >= edit.stop else (a, b, what)
                for a, b, what in spans
            ]
            spans.append((edit.start, edit.start + len(edit.samples), name))
        rate = audio.rate
        return Sound(audio, tuple((a / rate, b / rate, what) for a, b, what in sorted(spans)))


def read_queue(path: Path) -> dict[str, dict[str, Any]]:
    """Return {id: case} of a review queue; a line that is no case raises one line."""
    cases: dict[str, dict[str, Any]] = {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise VoxauditError(f"{path}: this review queue is not UTF-8") from error
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
            case: dict[str, Any] = {name: str(row[name]) for name in TEXTS}
            case["similarity"] = float(row["similarity"])
            case["kind"] = row["fault"] if row.get("fault") in KINDS else ""
            case["label"] = str(row.get("label") or "")
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise VoxauditError(f"{path}: line {number} is not a case of a review queue") from error
        cases[case["id"]] = case
    return cases


def _line(case: dict[str, Any]) -> dict[str, Any]:
    similarity = case["similarity"]
    return {
        "id": case["id"],
        "recognizer": case["recognizer"],
        "scenario": case["chain"],
        "utterance": case["utterance"],
        "said": case["intended"],
        "heard": case["transcript"],
        "failed": False,
        "similarity": similarity if abs(similarity) < float("inf") else None,
        "kind": case["kind"],
    }


def _matches(case: dict[str, Any], filters: Filters) -> bool:
    if filters.recognizer and case["recognizer"] != filters.recognizer:
        return False
    if filters.kind and case["kind"] != filters.kind:
        return False
    if filters.only is not None and case["id"] not in filters.only:
        return False
    if case["id"] in filters.without:
        return False
    wanted = filters.text.lower()
    return not wanted or any(
        wanted in case[name].lower() for name in ("intended", "surface", "transcript", "utterance")
    )
