"""Answers and reports for programs: what commands print as JSON and `findings.json` holds. One schema describes both.

In a report every finding is written once, in the list of all findings; the answers of its chapters name theirs by id.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from datetime import date, time, timedelta
from importlib import resources
from typing import Any

from voxaudit import __version__
from voxaudit.answer import FINDING_FIELDS, Answer, Figure, Finding, Note, Refusal, Table
from voxaudit.render.document import Case, Chapter, GateResult, Report, labels_of, sentence_of

FORMAT = 2
"""Version of the layout of `findings.json`."""
_RECORDS = ("rows", "columns", "findings", "figures", "notes", "refusals", "gates", "summary")
"""Lists of which every item stands on a line of its own."""


def answer_dict(answer: Answer) -> dict[str, Any]:
    """Return an answer as plain data: the document that an audit prints as JSON."""
    return _answer(answer, [_finding(finding) for finding in answer.findings])


def report_dict(report: Report) -> dict[str, Any]:
    """Return a report as plain data: the content of `findings.json`."""
    config = report.config
    corpus = config.get("corpus", {})
    document: dict[str, Any] = plain(
        {
            "format": FORMAT,
            "voxaudit": __version__,
            "title": report.title,
            "passed": report.passed,
            "run": {
                "created": config.get("created"),
                "voxaudit": config.get("voxaudit"),
                "corpus": {
                    name: corpus.get(name) for name in ("name", "format", "utterances", "speakers", "skipped")
                },
                "recognizers": list(config.get("recognizers", {})),
                "scenarios": list(config.get("scenarios", ())),
                "not_heard": dict(config.get("not_heard", {})),
                "sources": {name: one["description"] for name, one in config.get("sources", {}).items()},
                "seed": config.get("seed"),
                "normalizer": config.get("normalizer"),
                "versions": dict(config.get("versions", {})),
            },
            "summary": [
                {
                    "question": question.title,
                    "finding": item.id if isinstance(item, Finding) else None,
                    "sentence": sentence_of(item),
                    **({"reviewers": said} if (said := labels_of(item, report)) else {}),
                }
                for question in report.summary
                for item in question.answers
            ],
            "gates": [_gate(gate) for gate in report.gates],
            "findings": [_finding(finding) for finding in report.findings],
            "chapters": [_chapter(chapter) for chapter in report.chapters],
        }
    )
    return document


def to_json(document: Answer | Report | Mapping[str, Any] | list[Any]) -> str:
    """Return JSON of an answer, a report or plain data: one finding, or one row of a table, on a line.

    NaN and infinities become null: JSON has neither. What cannot be printed is an escape, which reads back the same.
    """
    if isinstance(document, Answer):
        document = answer_dict(document)
    elif isinstance(document, Report):
        document = report_dict(document)
    return "".join(_lines(plain(document), "")) + "\n"


def schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of every answer and of `findings.json`."""
    text = resources.files("voxaudit.render").joinpath("schema.json").read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text)
    return document


def plain(value: Any) -> Any:
    """Return what JSON can hold: NaN and infinities are None, what it has no form for is text."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if hasattr(value, "item"):  # a number of numpy's
        return plain(value.item())
    return str(value)


def _answer(answer: Answer, findings: list[Any]) -> dict[str, Any]:
    document: dict[str, Any] = plain(
        {
            "audit": answer.audit,
            "title": answer.title,
            "question": answer.question,
            "findings": findings,
            "tables": [_table(table) for table in answer.tables.shown],
            "figures": [_figure(figure) for figure in answer.figures],
            "notes": [_note(note) for note in answer.notes],
            "refusals": [_refusal(refusal) for refusal in answer.refusals],
            "lead": answer.lead,
        }
    )
    return document


def _chapter(chapter: Chapter) -> dict[str, Any]:
    return {
        "id": chapter.id,
        "title": chapter.title,
        "lead": list(chapter.lead),
        "answers": [_answer(one, [finding.id for finding in one.findings]) for one in chapter.answers],
        "tables": [_table(table) for table in chapter.tables],
        "cases": [_case(case) for case in chapter.cases],
        "notes": [_note(note) for note in chapter.notes],
        "refusals": [_refusal(refusal) for refusal in chapter.refusals],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {"audit": finding.audit, **{name: getattr(finding, name) for name in FINDING_FIELDS}}


def _gate(gate: GateResult) -> dict[str, Any]:
    return {
        "name": gate.name,
        "passed": gate.passed,
        "judged": gate.judged,
        "limit": gate.limit,
        "estimate": gate.estimate,
        "finding": gate.finding,
        "sentence": gate.sentence,
    }


def _table(table: Table) -> dict[str, Any]:
    return {
        "id": table.id,
        "title": table.title,
        "note": table.note,
        "columns": [
            {
                "name": column.name,
                "title": column.heading,
                "kind": column.kind,
                "low": column.low or None,
                "high": column.high or None,
            }
            for column in table.columns
        ],
        "names": table.frame.columns,
        "rows": [list(row) for row in table.frame.iter_rows()],
    }


def _figure(figure: Figure) -> dict[str, Any]:
    return {"id": figure.id, "title": figure.title, "alt": figure.alt, "table": figure.table}


def _note(note: Note) -> dict[str, Any]:
    return {"code": note.code, "text": note.text, "facts": note.facts, "see": note.see}


def _refusal(refusal: Refusal) -> dict[str, Any]:
    return {
        "code": refusal.code,
        "about": refusal.about,
        "text": refusal.text,
        "facts": refusal.facts,
        "remedy": refusal.remedy,
        "see": refusal.see,
    }


def _case(case: Case) -> dict[str, Any]:
    """Return a case as plain data, without its audio."""
    return {
        "utterance": case.utterance,
        "recognizer": case.recognizer,
        "scenario": case.scenario,
        "speaker": case.speaker,
        "attributes": dict(case.attributes),
        "reference": case.reference,
        "clean": case.clean,
        "heard": case.heard,
        "wer": case.wer,
        "surface": case.surface,
        "events": [what for _, _, what in case.marks],
    }


def _lines(value: Any, indent: str, key: str | None = None) -> Iterator[str]:
    """Yield JSON in which every record, and whatever holds no further container, stands on one line."""
    if not _expanded(value, key):
        yield _dumped(value)
        return
    opened, closed = "{}" if isinstance(value, dict) else "[]"
    items = value.items() if isinstance(value, dict) else ((None, item) for item in value)
    yield opened
    deeper = f"{indent} "
    for number, (name, item) in enumerate(items):
        yield f"{',' if number else ''}\n{deeper}"
        if name is not None:
            yield f"{_dumped(name)}: "
        if key in _RECORDS and isinstance(value, list):
            yield _dumped(item)
        else:
            yield from _lines(item, deeper, name)
    yield f"\n{indent}{closed}"


def _dumped(value: Any) -> str:
    """Return JSON on one line; what could drive a terminal or is no valid Unicode is an escape."""
    text = json.dumps(value, ensure_ascii=False)
    return (
        text if text.isprintable() else "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)
    )


def _expanded(value: Any, key: str | None) -> bool:
    if isinstance(value, list):
        return bool(value) and (key in _RECORDS or any(isinstance(item, dict | list) for item in value))
    return isinstance(value, dict) and any(isinstance(item, dict | list) for item in value.values())
