"""Answers and reports for programs: what commands print as JSON and `findings.json` holds. One schema describes both.

In a report every finding is written once, in the list of all findings; the answers of its chapters name theirs by id.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date, time, timedelta
from importlib import resources
from typing import Any

import polars as pl

from voxaudit import __version__
from voxaudit.answer import FINDING_FIELDS, Answer, Figure, Finding, Note, Refusal, Table, Tables
from voxaudit.render.document import Case, Chapter, GateResult, Report, labels_of, sentence_of

FORMAT = 2
"""Version of the layout of `findings.json`."""
_RECORDS = ("rows", "columns", "findings", "figures", "notes", "refusals", "gates", "summary")
"""Lists of which every item stands on a line of its own."""
_KEYS: dict[type, str] = {
    Answer: "audit title question findings tables figures notes refusals lead",
    Chapter: "id title lead answers tables cases notes refusals",
    Case: "utterance recognizer scenario speaker attributes reference clean heard wer surface events",
    Finding: " ".join(("audit", *FINDING_FIELDS)),
    GateResult: "name passed judged limit estimate finding sentence",
    Figure: "id title alt table",
    Note: "code text facts see",
    Refusal: "code about text facts remedy see",
}
"""What JSON has of a value, in its order: attributes under their own names."""


def answer_dict(answer: Answer) -> dict[str, Any]:
    """Return an answer as plain data: the document that an audit prints as JSON."""
    document: dict[str, Any] = plain(answer)
    return document


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
            "gates": report.gates,
            "findings": report.findings,
        }
    )
    document["chapters"] = [
        {**plain(replace(one, answers=())), "answers": [_by_id(answer) for answer in one.answers]}
        for one in report.chapters
    ]
    return document


def to_json(document: Answer | Report | Mapping[str, Any] | list[Any]) -> str:
    """Return JSON of an answer, a report or plain data: one finding, or one row of a table, on a line.

    NaN and infinities become null: JSON has neither. What cannot be printed is an escape, which reads back the same.
    """
    document = report_dict(document) if isinstance(document, Report) else plain(document)
    return "".join(_lines(document, "")) + "\n"


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
    if type(value) in _KEYS:
        return {name: plain(getattr(value, name)) for name in _KEYS[type(value)].split()}
    if isinstance(value, Tables):
        return [_table(table) for table in value.shown]
    if isinstance(value, Table):
        return _table(value)
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


def _by_id(answer: Answer) -> dict[str, Any]:
    """Return an answer that names its findings by their ids."""
    return {**plain(replace(answer, findings=())), "findings": [finding.id for finding in answer.findings]}


def _table(table: Table) -> dict[str, Any]:
    document: dict[str, Any] = {
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
        "rows": _rows(table.frame),
    }
    return document


def _rows(frame: pl.DataFrame) -> list[Any]:
    """Return the rows of a table; columns of texts, whole numbers and numbers are made plain as a whole."""
    simple = all(
        kind.is_integer() or kind.is_float() or kind in (pl.String, pl.Boolean) for kind in frame.dtypes
    )
    if not simple:
        rows: list[Any] = plain(frame.rows())
        return rows
    numbers = pl.col(pl.Float32, pl.Float64)
    return list(map(list, frame.with_columns(pl.when(numbers.is_finite()).then(numbers)).rows()))


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
