"""Words for what is wrong: which rows, which values, how many, in one short line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from voxaudit.corpus.base import CorpusError, Problem

SHOWN = 3
"""How many rows a message names."""
KEPT = 20
"""How many rows a `Problem` names."""

NO_ROWS = "no_rows"
REMEDY = "Fix them, or leave the bad rows out with the setting `skip_bad_rows`"


def row_problem(
    kind: str,
    words: str,
    count: int,
    rows: Sequence[str] = (),
    values: Sequence[str | None] = (),
    *,
    unit: str = "row",
    note: str = "",
    fatal: bool = True,
) -> Problem:
    """Return the problem of `count` rows: "2 audio files do not exist (rows 4, 9: 'x.wav', 'y.wav')".

    `words` are those after the number, singular and plural where they differ: `[file does|files do] not exist`; `rows`
    and `values` need hold only the first few.
    """
    places = _places(rows[:SHOWN], count, unit)
    shown = [quote(value) for value in values[:SHOWN] if value]
    quoted = ", ".join(dict.fromkeys(shown))
    if quoted and len(values) > SHOWN:
        quoted += ", ..."
    inside = "; ".join(part for part in (": ".join(part for part in (places, quoted) if part), note) if part)
    said = re.sub(r"\[([^|\[\]]*)\|([^\[\]]*)\]", r"\1" if count == 1 else r"\2", words)
    message = f"{count:,} {said}" + (f" ({inside})" if inside else "")
    return Problem(kind, message, fatal, count, tuple(rows[:KEPT]))


def quote(value: str, limit: int = 60) -> str:
    """Return a value in quotes, shortened, with control characters escaped: it stays on its line."""
    return repr(value if len(value) <= limit else value[: limit - 3] + "...")


def refusal(where: str, problems: Sequence[Problem]) -> CorpusError:
    """Return the error that lists every fatal problem of a corpus at once, with the remedy."""
    fatal = [problem for problem in problems if problem.fatal]
    total = sum(problem.count for problem in fatal)
    head = f"{total:,} problem{'s' if total != 1 else ''}: " if any(p.kind != NO_ROWS for p in fatal) else ""
    remedy = "" if any(problem.kind == NO_ROWS for problem in fatal) else f". {REMEDY}"
    return CorpusError(f"{where}: {head}{'; '.join(p.message for p in fatal)}{remedy}", tuple(problems))


def _places(rows: Sequence[str], count: int, unit: str) -> str:
    if not rows:
        return ""
    more = f" and {count - len(rows):,} more" if count > len(rows) else ""
    if any(":" in row for row in rows):  # these name their file themselves
        return ", ".join(rows) + more
    return f"{unit}{'s' if count > 1 else ''} {', '.join(rows)}{more}"
