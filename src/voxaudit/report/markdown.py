"""`summary.md`: what fits a pull request or a model card, with Hugging Face's metadata on top."""

from __future__ import annotations

import re
from collections.abc import Iterable

from voxaudit.perturb import CLEAN
from voxaudit.report.document import Document, Finding, Table
from voxaudit.report.findings import find_table
from voxaudit.report.invisible import printable
from voxaudit.report.numbers import headings, show_value

MOST_ROWS = 40
"""Rows of a table in the summary."""

WORST = 3
"""Scenarios of a recognizer that are named where there are too many for a table."""


def to_markdown(document: Document) -> str:
    """Return the summary: metadata, sentences, gates and compact tables."""
    facts = "; ".join(f"{what} {value}" for what, value in document.facts)
    lines = [
        *_model_index(document),
        f"# {escape(document.title)}",
        "",
        f"{escape(document.subtitle.rstrip('.'))}.",
        "",
        *(f"- {escape(sentence)}" for sentence in document.summary),
        "",
        *_gates(document),
        *_scenarios(document),
        *_groups(document),
        *_ratios(document),
        f"{escape(facts)}. Intervals are 95 %; speakers are the sample.",
    ]
    return "\n".join(lines) + "\n"


def _gates(document: Document) -> list[str]:
    if not document.gates:
        return []
    words = {True: "pass", False: "FAIL"}
    rows = [
        (gate.name, "cannot be judged: FAIL" if gate.skipped else words[gate.passed], gate.sentence)
        for gate in document.gates
    ]
    return ["## Gates", "", *_lines(("gate", "result", "what was found"), rows), ""]


def _scenarios(document: Document) -> list[str]:
    table = find_table(document, "scenarios")
    if table is None or not table.rows:
        return []
    if len(table.rows) <= MOST_ROWS:
        return [f"## {escape(table.title)}", "", *_table(table), ""]
    shown = []
    categories = find_table(document, "categories-table")
    if categories is not None and len(categories.rows) <= MOST_ROWS:
        shown += ["## What disturbances cost", "", *_table(categories), ""]
    at = [column.name for column in table.columns].index("wer")
    chosen: list[tuple[object, ...]] = []
    for name in dict.fromkeys(row[0] for row in table.rows):
        own = [row for row in table.rows if row[0] == name and row[at] is not None]
        clean = [row for row in own if row[1] == CLEAN]
        worst = sorted((row for row in own if row[1] != CLEAN), key=lambda row: -row[at])[:WORST]
        chosen += [*clean, *worst]
    part = Table(table.id, table.title, table.columns, tuple(chosen[:MOST_ROWS]))
    title = f"Clean speech and the worst scenarios (all {len(table.rows)} rows are in findings.json)"
    return [*shown, f"## {title}", "", *_table(part), ""]


def _groups(document: Document) -> list[str]:
    lines: list[str] = []
    for section in document.sections:
        for table in section.tables:
            if not table.id.startswith("groups-"):
                continue
            rows = (
                table.rows if len(table.rows) <= MOST_ROWS else tuple(r for r in table.rows if r[1] == CLEAN)
            )
            note = "" if len(rows) == len(table.rows) else ", clean speech"
            part = Table(table.id, table.title, table.columns, rows[:MOST_ROWS])
            lines += [f"## {escape(table.title)}{note}", "", *_table(part), ""]
    return lines


def _ratios(document: Document) -> list[str]:
    lines: list[str] = []
    for section in document.sections:
        if section.id != "disparity":
            continue
        for figure in section.figures:
            table = figure.table
            part = Table(table.id, table.title, table.columns, table.rows[:MOST_ROWS])
            lines += [f"## {escape(table.title)}", "", *_table(part), ""]
    return lines


def _table(table: Table) -> list[str]:
    heads = headings(table.columns)
    rows = [
        [show_value(value, column.kind) for value, column in zip(row, table.columns, strict=True)]
        for row in table.rows
    ]
    return _lines(heads, rows)


def _lines(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    names = list(heads)
    lines = ["| " + " | ".join(map(_inline, names)) + " |", "|" + "---|" * len(names)]
    return lines + ["| " + " | ".join(map(_inline, row)) + " |" for row in rows]


def escape(text: str) -> str:
    """Return text that stays text in Markdown, on one line: no markup, no mention of anybody, no link.

    A mark that would begin a list, a heading or a quotation at the start of a line is none there either.
    """
    return re.sub(
        r"^([-+]|#+|=+)(?=\s|$)", r"\\\1", re.sub(r"^(\d+)([.)])(?=\s|$)", r"\1\\\2", _inline(text))
    )


def _inline(text: str) -> str:
    flat = " ".join(printable(text, " ").split())
    flat = flat.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    flat = re.sub(r"([\\`*\[\]|~])", r"\\\1", flat)
    # Underscores inside a word are no emphasis: names of scenarios stay readable.
    flat = re.sub(r"(?<![^\W_])_|_(?![^\W_])", r"\\_", flat)
    flat = re.sub(r"#(?=\w)", "&#35;", flat)
    flat = re.sub(r"(?<!\w)@(?=\w)", "&#64;", flat)
    flat = re.sub(r"(?i)(https?|ftp|mailto):(?=\S)", r"\1&#58;", flat)
    return re.sub(r"(?i)\bwww\.", "www&#46;", flat)


def _model_index(document: Document) -> list[str]:
    """Return the metadata of a Hugging Face model card: word error rates in percent."""
    results: dict[str, list[tuple[str, float]]] = {}
    for finding in document.findings:
        label = _sensible(finding)
        if label is not None and finding.recognizer is not None and finding.estimate is not None:
            results.setdefault(finding.recognizer, []).append((label, 100 * finding.estimate))
    if not results:
        return []
    dataset = _yaml(str(document.config.get("corpus", {}).get("name", "corpus")))
    lines = ["---", "model-index:"]
    for name, values in results.items():
        lines += [f"- name: {_yaml(name)}", "  results:"]
        for label, value in values:
            lines += [
                "  - task:",
                "      type: automatic-speech-recognition",
                "      name: Automatic Speech Recognition",
                "    dataset:",
                f"      name: {dataset}",
                f"      type: {dataset}",
                f"      config: {_yaml(label)}",
                "    metrics:",
                "    - type: wer",
                f"      name: {_yaml(f'WER ({label})')}",
                f"      value: {value:.2f}",
            ]
    return [*lines, "---", ""]


def _sensible(finding: Finding) -> str | None:
    """Return what a word error rate is of, where it belongs into the metadata: clean speech and all disturbances."""
    if finding.measure != "wer":
        return None
    if finding.audit == "accuracy" and finding.scenario == CLEAN:
        return CLEAN
    return (
        "mean of all disturbances"
        if finding.audit == "robustness" and finding.scenario == "overall"
        else None
    )


def _yaml(text: str) -> str:
    """Return a double-quoted YAML string, whatever is in it."""
    return '"' + "".join(map(_yaml_character, text)) + '"'


def _yaml_character(character: str) -> str:
    code = ord(character)
    if character in '"\\':
        return f"\\{character}"
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    if character.isprintable():
        return character
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
