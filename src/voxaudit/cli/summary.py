"""Print what a report says: two kinds of tables and the sentences, or all of it as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from voxaudit.cli.output import note, print_json, print_table, printable

if TYPE_CHECKING:
    from voxaudit.report.document import Document, Table

MOST_ROWS = 60
"""Rows of a table on the terminal; longer ones are in the report."""

MOST_REFUSALS = 4
"""Questions without an answer that are named on the terminal; the report has all of them."""


def show(document: Document, folder: Path, files: Mapping[str, Path], *, as_json: bool) -> int:
    """Print a document and where it was written; return the exit code: 1 where a gate failed."""
    from voxaudit.report.findings import find_table, to_dict
    from voxaudit.report.gates import failed

    if as_json:
        print_json({"folder": str(folder), **to_dict(document)})
    else:
        rates = find_table(document, "scenarios")
        if rates is not None and rates.rows:
            _rates_table(rates)
        for section in document.sections:
            for table in section.tables:
                if table.id.startswith("groups-"):
                    _group_table(table)
        for sentence in document.summary:
            print(f"- {printable(sentence)}")
        _refusals(document)
        for gate in document.gates:
            result = "cannot be judged" if gate.skipped else "pass" if gate.passed else "FAIL"
            print(f"- gate {printable(gate.name)}: {result}. {printable(gate.sentence)}")
        names = [name for name in files if name != "report.html"]
        note(f"Written to {folder}: {', '.join(names)}, and the tables they are made from")
        note(f"Report: {files['report.html']}")
    lost = failed(document.gates)
    if lost is not None:
        note(f"voxaudit: {printable(lost)}")
    return 0 if lost is None else 1


def _refusals(document: Document) -> None:
    """Say what was asked and not answered, and what would enable it; what was not asked is in the report."""
    refusals = (refusal for section in document.sections for refusal in section.refusals)
    lost = list(dict.fromkeys(one for one in refusals if not one.reason.startswith("not asked")))
    for one in lost[:MOST_REFUSALS]:
        help_ = f". To get it: {one.remedy}" if one.remedy else ""
        print(f"- Not answered: {printable(one.about)}: {printable(one.reason + help_)}")
    if len(lost) > MOST_REFUSALS:
        more = len(lost) - MOST_REFUSALS
        print(f"- Not answered: {more} more question{'' if more == 1 else 's'}; the report says why.")


def _values(table: Table) -> list[dict[str, str]]:
    """Return the rows as text by column; the interval is joined to the rate."""
    from voxaudit.report.numbers import percent_interval, show_value

    rows = []
    for row in table.rows:
        named = {column.name: value for column, value in zip(table.columns, row, strict=True)}
        texts = {column.name: show_value(named[column.name], column.kind) for column in table.columns}
        low, high = named["interval"] or (None, None)
        rows.append({**texts, "wer": percent_interval(named["wer"], low, high)})
    return rows


def _rates_table(table: Table) -> None:
    names = ["recognizer", "scenario", "wer", "cer", "words", "speakers"]
    heads = ["recognizer", "scenario", "WER (95 % interval)", "CER", "words", "speakers"]
    rows = _values(table)
    if len(rows) > MOST_ROWS:
        rows = [row for row in rows if row["scenario"] == "clean"]
    print_table(table.title, heads, [[row[name] for name in names] for row in rows])
    if len(rows) < len(table.rows):
        print(f"  Clean speech only: {len(table.rows)} rows are in the report.\n")


def _group_table(table: Table) -> None:
    """Print one row per recognizer and scenario, with a column per group."""
    speakers: dict[str, int] = {}
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for row in _values(table):
        group, count = row["group"], int(row["speakers"].replace(",", "").replace("-", "0"))
        speakers[group] = max(count, speakers.get(group, 0))
        cells.setdefault((row["recognizer"], row["scenario"]), {})[group] = row["wer"]
    heads = [f"{group}, {count} speaker{'' if count == 1 else 's'}" for group, count in speakers.items()]
    if len(cells) > MOST_ROWS:
        cells = {key: by for key, by in cells.items() if key[1] == "clean"}
    rows = [[*key, *(by.get(group, "-") for group in speakers)] for key, by in cells.items()]
    print_table(f"{table.title} (95 % interval)", ["recognizer", "scenario", *heads], rows)
