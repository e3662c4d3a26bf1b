"""`findings.json`: everything a document says, for programs. `findings.schema.json` describes it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import asdict
from importlib import resources
from typing import Any

from voxaudit import __version__
from voxaudit.report.document import Case, Document, Section, Table

FORMAT = 1
"""Version of the layout of `findings.json`."""


def to_dict(document: Document) -> dict[str, Any]:
    """Return a document as plain data: the content of `findings.json`."""
    config = document.config
    corpus = config.get("corpus", {})
    plain: dict[str, Any] = finite(
        {
            "format": FORMAT,
            "voxaudit": __version__,
            "title": document.title,
            "passed": document.passed,
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
            "summary": list(document.summary),
            "gates": [asdict(gate) for gate in document.gates],
            "findings": [asdict(finding) for finding in document.findings],
            "sections": [_section(section) for section in document.sections],
        }
    )
    return plain


def to_json(document: Document) -> str:
    """Return `findings.json`: one finding, or one row of a table, a line."""
    return "".join(_lines(to_dict(document), "")) + "\n"


def schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of `findings.json`."""
    text = resources.files("voxaudit.report").joinpath("findings.schema.json").read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text)
    return document


def tables_of(section: Section) -> tuple[Table, ...]:
    """Return all tables of a chapter: those of its figures, then the others."""
    return (*(figure.table for figure in section.figures), *section.tables)


def find_table(document: Document, id_: str) -> Table | None:
    """Return a table of the document by its id."""
    return next((t for section in document.sections for t in tables_of(section) if t.id == id_), None)


def _section(section: Section) -> dict[str, Any]:
    return {
        "id": section.id,
        "title": section.title,
        "lead": list(section.lead),
        "notes": list(section.notes),
        "refusals": [asdict(one) for one in section.refusals],
        "tables": [_table(table) for table in tables_of(section)],
        "cases": [_case(case) for case in section.cases],
    }


def _table(table: Table) -> dict[str, Any]:
    return {
        "id": table.id,
        "title": table.title,
        "note": table.note,
        "columns": [asdict(column) for column in table.columns],
        "rows": [list(row) for row in table.rows],
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
    }


def finite(value: Any) -> Any:
    """Return plain data in which NaN and infinity are null: JSON has neither."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value


def _lines(value: Any, indent: str) -> Iterator[str]:
    """Yield JSON in which what holds no container, or rows of plain values, stands on one line."""
    if not _expanded(value):
        yield json.dumps(value, ensure_ascii=False)
        return
    opened, closed = "{}" if isinstance(value, dict) else "[]"
    items = value.items() if isinstance(value, dict) else ((None, item) for item in value)
    yield opened
    deeper = f"{indent} "
    for place, (key, item) in enumerate(items):
        yield f"{',' if place else ''}\n{deeper}"
        if key is not None:
            yield f"{json.dumps(key, ensure_ascii=False)}: "
        yield from _lines(item, deeper)
    yield f"\n{indent}{closed}"


def _expanded(value: Any) -> bool:
    if isinstance(value, dict):
        return any(isinstance(item, dict | list) for item in value.values())
    # A row of a table may hold intervals: pairs of numbers.
    return isinstance(value, list) and any(
        isinstance(item, dict) or (isinstance(item, list) and not (len(item) == 2 and not _nested(item)))
        for item in value
    )


def _nested(items: list[Any]) -> bool:
    return any(isinstance(item, dict | list) for item in items)
