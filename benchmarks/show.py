"""The one table: for a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.machine import machine_text
from benchmarks.measure import Row, Spread
from benchmarks.pages import fill, places
from benchmarks.record import Done, Record

HEAD = ("benchmark", "what", "unit", "ours", "beside", "theirs", "ratio [lowest..highest]", "note")
PLACE = "benchmarks "
"""Places in pages are called `benchmarks all`, `benchmarks machine` or `benchmarks NAME`."""


def number(value: float) -> str:
    """Return a figure with three digits."""
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{float(f'{value:.3g}'):g}"


def spread_text(spread: Spread | None) -> str:
    """Return a median with the range around it; a figure that was taken once stands alone."""
    if spread is None:
        return ""
    if spread.times == 1:
        return number(spread.median)
    return f"{number(spread.median)} [{number(spread.low)}..{number(spread.high)}]"


def row_cells(row: Row) -> list[str]:
    """Return the cells of a row, behind the benchmark's name."""
    if row.skipped:
        return [row.what, row.unit, "", row.peer, "", f"skipped: {row.skipped}", row.note]
    beside = {"peer": row.peer, "floor": f"floor: {row.peer}", "none": "no peer"}[row.kind]
    ours = number(row.ours.median) if row.ours and row.ratio else spread_text(row.ours)
    theirs = number(row.theirs.median) if row.theirs else ""
    return [row.what, row.unit, ours, beside, theirs, spread_text(row.ratio), row.note]


def done_cells(one: Done) -> list[list[str]]:
    """Return the lines of a benchmark."""
    lines = [[one.name, *row_cells(row)] for row in one.rows]
    if one.failed:
        lines.append([one.name, "", "", "", "", "", f"failed: {one.failed}", ""])
    return lines


def terminal(done: Iterable[Done]) -> str:
    """Return the table with columns in line."""
    lines = [list(HEAD), *(line for one in done for line in done_cells(one))]
    widths = [max(len(line[place]) for line in lines) for place in range(len(HEAD))]
    padded = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
    return "\n".join(padded)


def markdown(done: Iterable[Done], *, names: bool = True) -> str:
    """Return the table as Markdown, with or without the column of names."""
    first = 0 if names else 1
    lines = [f"| {' | '.join(HEAD[first:])} |", "|---" * (len(HEAD) - first) + "|"]
    lines += [
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line[first:]) + " |"
        for one in done
        for line in done_cells(one)
    ]
    return "\n".join(lines)


def machine_words(record: Record) -> str:
    """Return where and when, and how steady the machine was."""
    about = record.about
    steady = about["noise"]
    small = sum(one.size == "quick" for one in record.done.values())
    words = (
        f"{about['date']}, voxaudit {about['voxaudit']}: {machine_text(about['machine'])}. "
        f"Load average {about['load_start']:g} before and {about['load_end']:g} after. "
        f"A fixed piece of work, repeated between the benchmarks: {steady['cpu_ms']:g} ms of CPU, "
        f"{100 * steady['cpu_spread']:.0f} % from its 10th to its 90th percentile, "
        f"wall over CPU time {steady['wall_over_cpu']:g}. "
        f"Versions: {', '.join(f'{name} {one}' for name, one in about['versions'].items())}."
    )
    return f"{words} {small} of {len(record.done)} benchmarks at small sizes (`--quick`)." if small else words


def fill_page(text: str, record: Record) -> str:
    """Return a page with its places filled from a record; what the record lacks stays as it is."""
    for place in places(text, PLACE):
        name = place.removeprefix(PLACE)
        if name == "machine":
            text = fill(text, place, machine_words(record))
        elif name == "all":
            text = fill(text, place, markdown(record.done.values()))
        elif name in record.done:
            text = fill(text, place, markdown([record.done[name]], names=False))
    return text
