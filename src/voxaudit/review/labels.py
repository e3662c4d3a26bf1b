"""What the labels amount to: decisions, agreement, and the files that other parts of voxaudit read."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from voxaudit.answer import Table, tabulate
from voxaudit.audits.stutter.folder import (
    LABELS,
    QUEUE,
    false_positive_rate,
    read_labels,
    read_queue,
    save_queue,
)
from voxaudit.errors import VoxauditError
from voxaudit.review.cases import trial_keys
from voxaudit.review.store import SOURCES, STORE, STUTTER, TRIALS, Given, LabelStore
from voxaudit.run.lock import hold
from voxaudit.stats.agreement import MISSING, kappa_interval, pair_agreement, rating_counts
from voxaudit.tables import write_atomically, write_json

SUMMARY = "review.json"
GIVEN = ("source", "case", "reviewer", "label", "kind", "comment", "final", "time")
COLUMNS = (*GIVEN, "decision", "decided_by")


@dataclass(frozen=True)
class Decision:
    """What a case's labels amount to: the label, or None while it is open; `by` is final, majority, single or tie."""

    label: str | None
    by: str
    votes: Mapping[str, int]


def decide(given: Sequence[Given]) -> Decision:
    """Return the decision on one case from the last word of each reviewer, oldest first.

    The last label given as final settles it; else the label that more reviewers gave than any other.
    """
    votes = Counter(one.label for one in given)
    shown = {label: votes[label] for label in LABELS if votes[label]}
    settled = [one.label for one in given if one.final]
    if settled:
        return Decision(settled[-1], "final", shown)
    if not votes:
        return Decision(None, "open", shown)
    most = max(votes.values())
    first = [label for label in LABELS if votes[label] == most]
    if len(first) > 1:
        return Decision(None, "tie", shown)
    return Decision(first[0], "single" if len(given) == 1 else "majority", shown)


def decisions(given: Iterable[Given]) -> dict[tuple[str, str], Decision]:
    """Return {(source, case): decision}."""
    by_case: dict[tuple[str, str], list[Given]] = {}
    for one in given:
        by_case.setdefault((one.source, one.case), []).append(one)
    return {case: decide(labels) for case, labels in by_case.items()}


def agreement(given: Sequence[Given]) -> dict[str, Any]:
    """Return how far reviewers agree on the cases of one source: Fleiss' kappa, and pair by pair.

    Final labels are left out: somebody who settles a case has seen what the others said.
    """
    blind = [one for one in given if not one.final]
    reviewers = sorted({one.reviewer for one in blind})
    cases = sorted({one.case for one in blind})
    ratings = np.full((len(cases), len(reviewers)), MISSING)
    rows, columns = ({name: n for n, name in enumerate(names)} for names in (cases, reviewers))
    for one in blind:
        ratings[rows[one.case], columns[one.reviewer]] = LABELS.index(one.label)
    return {
        "reviewers": {name: int((ratings[:, n] != MISSING).sum()) for n, name in enumerate(reviewers)},
        "kappa": asdict(kappa_interval(rating_counts(ratings, len(LABELS)))),
        "pairs": [asdict(pair) for pair in pair_agreement(ratings, reviewers, len(LABELS))],
    }


def read_review(folder: str | Path) -> pl.DataFrame:
    """Return the labels of a folder, one row per reviewer and case, with the decision on the case.

    Columns: source, case, reviewer, label, kind, comment, final, time, decision (null while open), decided_by. A
    folder that nobody reviewed gives no rows.
    """
    given = LabelStore(folder).current() if (Path(folder) / STORE).exists() else []
    settled = decisions(given)
    rows = [
        (*(getattr(one, name) for name in GIVEN), how.label, how.by)
        for one in given
        for how in (settled[one.source, one.case],)
    ]
    schema = dict.fromkeys(COLUMNS, pl.String) | {"final": pl.Boolean}
    return pl.DataFrame(rows, schema=schema, orient="row")


def summary(folder: str | Path) -> dict[str, Any]:
    """Return, by source, the reviewers, the decided labels, the share of false alarms, and the agreement.

    Of trials, `judged` counts the decided labels by recognizer and scenario: the report shows them beside its claims.
    """
    given = LabelStore(folder).current() if (Path(folder) / STORE).exists() else []
    found = {}
    for source in SOURCES:
        own = [one for one in given if one.source == source]
        settled = decisions(own)
        labels = [one.label for one in settled.values() if one.label]
        found[source] = {
            "cases": len(settled),
            "open": sum(one.label is None for one in settled.values()),
            "false_positives": false_positive_rate(labels),
            **agreement(own),
        }
        if source == TRIALS:
            found[source]["judged"] = _judged(settled)
    return found


def _judged(settled: Mapping[tuple[str, str], Decision]) -> list[dict[str, Any]]:
    """Return the decided labels of trials, counted by recognizer and scenario."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for (_, case), decision in settled.items():
        keys = trial_keys(case)
        if keys is not None and decision.label is not None:
            counts.setdefault(keys[:2], Counter())[decision.label] += 1
    return [
        {"recognizer": recognizer, "scenario": scenario, **{label: labels[label] for label in LABELS}}
        for (recognizer, scenario), labels in counts.items()
    ]


def agreement_tables(folder: str | Path) -> list[Table]:
    """Return how far reviewers agree, in a table of sources and one of pairs of reviewers; none without labels."""
    found = {source: one for source, one in summary(folder).items() if one["cases"]}
    if not found:
        return []
    sources = [
        {
            "source": source,
            **{name: one[name] for name in ("cases", "open", "false_positives")},
            **{name: one["kappa"][name] for name in ("low", "high", "refusal")},
            "kappa": one["kappa"]["value"],
            "judged_by_several": one["kappa"]["cases"],
        }
        for source, one in found.items()
    ]
    pairs = [
        {"source": source, "reviewers": f"{pair['first']} and {pair['second']}", **pair}
        for source, one in found.items()
        for pair in one["pairs"]
    ]
    shown = (
        "source; cases: cases, count; open: open, count; judged_by_several: judged by several, count;"
        " kappa[low,high]: Fleiss' kappa, ratio; refusal: why not"
    )
    tables = [tabulate("agreement", "Agreement of reviewers", sources, shown)]
    if pairs:
        shown = (
            "source; reviewers; cases: cases of both, count; share[low,high]: agree on, percent;"
            " kappa: Cohen's kappa, ratio"
        )
        tables.append(tabulate("pairs", "Pairs of reviewers", pairs, shown))
    return tables


def export_labels(folder: str | Path, path: str | Path) -> int:
    """Write the labels to a file (.csv or .jsonl) and return how many there are."""
    path = Path(path)
    ending = path.suffix.lower().removeprefix(".")
    table = read_review(folder)
    content = exported(table, ending, path)
    write_atomically(path, lambda target: target.write_bytes(content))
    return table.height


def exported(table: pl.DataFrame, ending: str, where: str | Path = "labels") -> bytes:
    """Return labels as the bytes of a `csv` or `jsonl` file.

    In CSV, a text that a spreadsheet would run as a formula gets an apostrophe in front; JSON lines are exact.
    """
    if ending == "jsonl":
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in table.iter_rows(named=True))
        return "".join(lines).encode("utf-8", "replace")
    if ending != "csv":
        raise VoxauditError(f"{where}: labels are exported as .csv or .jsonl")
    # What stands unseen before a sign (a byte order mark, white space of any kind) and its wide forms count, too.
    formula = (
        r"^([\s\p{C}\p{Z}]*[=+\-@\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}\x{FE62}\x{FE63}\x{FE66}\x{FE6B}]|[\t\r])"
    )
    safe = table.with_columns(pl.col(pl.String).str.replace(formula, "'$1"))
    return safe.write_csv().encode("utf-8")


def apply_labels(folder: str | Path, queue: Path | None) -> int:
    """Write `review.json`, and the decided labels into the review queue; return how many of its labels changed.

    The queue's folder is held like a run's, so that a stutter audit at work there is not disturbed. Cases that are
    not decided keep the label that they have.
    """
    folder = Path(folder)
    write_json(folder / SUMMARY, summary(folder))
    if queue is None:
        return 0
    path = queue / QUEUE
    settled = {
        case: one.label
        for (source, case), one in decisions(LabelStore(folder).current()).items()
        if source == STUTTER and one.label
    }
    with hold(queue):
        before = read_labels(path)
        if all(before.get(case) == label for case, label in settled.items()):
            return 0
        rows = read_queue(path)
        save_queue(path, [row | {"label": settled.get(row["id"]) or row["label"]} for row in rows])
    return sum(settled.get(row["id"], row["label"]) != row["label"] for row in rows)
