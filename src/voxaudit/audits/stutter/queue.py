"""The review queue: suspicious cases for people to judge, and what their labels say about the oracle."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from voxaudit.audits.stutter.cases import Case
from voxaudit.audits.stutter.taxonomy import KINDS, find_faults, main_kind
from voxaudit.errors import VoxauditError, one_line
from voxaudit.stats.proportions import wilson_of
from voxaudit.tables import write_atomically

QUEUE = "suspicious.jsonl"
LABELS = ("real_fault", "malformed", "fine")
"""What a person can say of a suspicious case: a fault of the recognizer, a case nobody could understand, no fault."""


@dataclass(frozen=True)
class Suspicious:
    """A case that one recognizer no longer hears as the original, with the kind of fault and where it is."""

    utterance: str
    recognizer: str
    chain: str
    intended: str
    surface: str
    transcript: str
    original: str
    similarity: float
    fault: str | None
    faults: tuple[dict[str, Any], ...]

    @property
    def id(self) -> str:
        """What a label refers to."""
        return f"{self.recognizer}|{self.utterance}|{self.chain}"

    @property
    def span(self) -> tuple[int, int] | None:
        """Where the main fault stands in the transcript, in words: first, and one past the last."""
        return next((one["span"] for one in self.faults if one["kind"] == self.fault), None)


def suspicious_cases(
    cases: Iterable[Case], originals: dict[str, dict[str, str | None]], threshold: float
) -> list[Suspicious]:
    """Return every (case, recognizer) whose transcript is less similar than `threshold`, least similar first."""
    found = []
    for case in cases:
        for name in case.suspicious(threshold):
            heard = case.transcripts[name] or ""
            faults = find_faults(case.intended, heard)
            found.append(
                Suspicious(
                    case.utterance,
                    name,
                    case.chain,
                    case.intended,
                    case.surface,
                    heard,
                    originals[case.utterance][name] or "",
                    case.similarity[name],
                    main_kind(faults),
                    tuple(
                        {"kind": f.kind, "intended": f.intended, "heard": f.heard, "span": f.span}
                        for f in faults
                    ),
                )
            )
    return sorted(found, key=lambda one: (one.similarity, one.id))


def fault_counts(found: Iterable[Suspicious]) -> dict[str, int]:
    """Return how many suspicious cases have each main kind of fault, all five named."""
    counted = Counter(one.fault for one in found)
    return {kind: counted[kind] for kind in KINDS}


def write_queue(folder: Path, found: Sequence[Suspicious]) -> Path:
    """Write the queue, one JSON object a line; labels that people gave an earlier one are kept.

    A case that has a label but is no longer suspicious (another seed, another threshold) stays at the end.
    """
    path = folder / QUEUE
    before = read_labels(path) if path.exists() else {}
    ids = {one.id for one in found}
    judged = [line for line in _lines(path) if (id_ := json.loads(line)["id"]) in before and id_ not in ids]
    lines = [
        json.dumps(
            {
                "id": one.id,
                "utterance": one.utterance,
                "recognizer": one.recognizer,
                "chain": one.chain,
                "intended": one.intended,
                "surface": one.surface,
                "original": one.original,
                "transcript": one.transcript,
                "similarity": round(one.similarity, 6),
                "fault": one.fault,
                "faults": one.faults,
                "label": before.get(one.id, ""),
            },
            ensure_ascii=False,
        )
        for one in found
    ]
    text = "".join(f"{line}\n" for line in (*lines, *judged))
    write_atomically(path, lambda target: target.write_text(text, encoding="utf-8"))
    return path


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def read_labels(path: str | Path) -> dict[str, str]:
    """Return {case id: label} of a queue that people have labelled; cases without a label are left out."""
    path = Path(path)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise VoxauditError(f"{path}: cannot read this review queue ({one_line(error)})") from error
    labels: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
            id_, label = row["id"], row.get("label") or ""
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise VoxauditError(f"{path}: line {number} is not a case of a review queue") from error
        if label and label not in LABELS:
            raise VoxauditError(
                f"{path}: line {number}: unknown label '{one_line(label, 40)}'. Use one of {', '.join(LABELS)}"
            )
        if label:
            labels[str(id_)] = label
    return labels


def false_positive_rate(labels: Iterable[str]) -> dict[str, Any]:
    """Return how often a suspicious case was no fault of the recognizer (the paper: 31.43 %), with a 95 % interval.

    Malformed and fine cases are false positives. The interval is Wilson's; labels of one recording are not
    independent, so take it for the least it could be.
    """
    counted = Counter(labels)
    total = sum(counted.values())
    if not total:
        return {"labelled": 0, "rate": None, "low": None, "high": None}
    wrong = counted["malformed"] + counted["fine"]
    low, high = wilson_of(wrong, total)
    return {
        "labelled": total,
        **{label: counted[label] for label in LABELS},
        "rate": wrong / total,
        "low": low,
        "high": high,
    }
