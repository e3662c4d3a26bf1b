"""The robustness audit on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from voxaudit.audits.robustness.levels import ALL, ATTACKED
from voxaudit.cli.output import print_table, printable
from voxaudit.report.numbers import percent, percent_interval
from voxaudit.wording import p_cell

if TYPE_CHECKING:
    from voxaudit.audits.robustness import Robustness

NAMES = {"werd": "WERD", "nwerd": "NWERD"}


def print_findings(found: Robustness, *, worst: int = 5) -> None:
    """Print the ranking, the categories, the worst scenarios, the other tables that have rows, and the refusals."""
    _overall(found)
    _categories(found)
    _worst(found, worst)
    _trends(found)
    _groups(found)
    _inserted(found)
    _stability(found)
    _facts(found)
    if found.refusals:
        print("Not answered:")
        for refusal in found.refusals:
            print(f"- {printable(refusal.about)}: {printable(refusal.reason)}")


def _labels(table: pl.DataFrame) -> list[str]:
    return [name for name in ("language", "corpus") if name in table.columns]


def _overall(found: Robustness) -> None:
    for name, title in ((ALL, "Robustness"), (ATTACKED, "Attacks")):
        ranks = found.ranking.filter(pl.col("name") == name)
        if ranks.is_empty():
            continue
        labels = _labels(ranks)
        by = NAMES[ranks["measure"][0]]
        shown = ["WERD"] if by == "WERD" else ["WERD", "NWERD"]
        rows = [
            [
                *(row[label] for label in labels),
                _rank(row["rank"], row["rank_worst"]),
                row["recognizer"],
                percent(row["clean_wer"]),
                percent(row["wer"]),
                _measured(row, "werd"),
                *([_normalised(row)] if len(shown) > 1 else []),
                row["scenarios"],
                row["speakers"] or "-",
            ]
            for row in ranks.iter_rows(named=True)
        ]
        print_table(
            f"{title}: ranked by {by}, the less the better",
            [*labels, "rank", "recognizer", "clean WER", "WER", *shown, "scenarios", "speakers"],
            rows,
        )


def _rank(best: int | None, worst: int | None) -> str:
    return "-" if best is None else str(best) if best == worst else f"{best} to {worst}"


def _measured(row: dict[str, Any], measure: str) -> str:
    return percent_interval(row[measure], row[f"{measure}_low"], row[f"{measure}_high"])


def _normalised(row: dict[str, Any]) -> str:
    """Return what a recognizer is ranked by where that is NWERD; a language may have no difficulties."""
    return percent_interval(row["estimate"], row["low"], row["high"]) if row["measure"] == "nwerd" else "-"


def _categories(found: Robustness) -> None:
    table = found.levels.filter(pl.col("level") == "category")
    if table.is_empty():
        return
    recognizers = table["recognizer"].unique(maintain_order=True).to_list()
    labels = _labels(table)
    rows = []
    for key, part in table.group_by([*labels, "name"], maintain_order=True):
        own = {row["recognizer"]: row for row in part.iter_rows(named=True)}
        cells = []
        for recognizer in recognizers:
            row = own.get(recognizer)
            if row is None:
                cells.append("-")
                continue
            plain = row["nwerd"] is None and found.measure == "nwerd"
            measure = "werd" if plain else found.measure
            text = _measured(row, measure) if len(recognizers) <= 4 else percent(row[measure])
            cells.append(f"{text} *" if plain else text)
        rows.append([*(str(part) for part in key), *cells])
    starred = any(str(cell).endswith("*") for row in rows for cell in row)
    print_table(
        f"By category: {NAMES[found.measure]}{' (* plain WERD: not normalised)' if starred else ''}",
        [*labels, "category", *recognizers],
        rows,
    )


def _worst(found: Robustness, count: int) -> None:
    table = found.levels.filter((pl.col("level") == "scenario") & (pl.col("name") != "clean"))
    keys = ["recognizer", *_labels(table)]
    rows = [
        [
            *(row[key] for key in keys),
            row["name"],
            row["category"],
            percent(row["clean_wer"]),
            percent_interval(row["wer"], row["wer_low"], row["wer_high"]),
            _measured(row, "werd"),
        ]
        for _, part in table.group_by(keys, maintain_order=True)
        for row in part.sort("werd", descending=True, nulls_last=True).head(count).iter_rows(named=True)
    ]
    if rows:
        print_table("Worst scenarios", [*keys, "scenario", "category", "clean WER", "WER", "WERD"], rows)


def _trends(found: Robustness) -> None:
    keys = ["recognizer", *_labels(found.trends)]
    for key, part in found.trends.group_by(keys, maintain_order=True):
        verdicts = part["verdict"].to_list()
        by = {
            verdict: part.filter(pl.col("verdict") == verdict)["perturbation"].to_list()
            for verdict in verdicts
        }
        line = f"{', '.join(str(value) for value in key)}: WER grows with severity for {len(by.get('grows', []))} of"
        line += f" {part.height} perturbations"
        others = {verdict: names for verdict, names in by.items() if verdict != "grows"}
        line += "".join(
            f"; {verdict}: {', '.join(sorted(names))}" for verdict, names in sorted(others.items())
        )
        turned = [name for names in part["reversals"].to_list() for name in names]
        line += f". WER falls from {', '.join(turned)}" if turned else ""
        print(printable(f"{line}."))
    if found.trends.height:
        print()


def _groups(found: Robustness) -> None:
    table = found.groups
    if table.is_empty():
        return
    labels = ["recognizer", *_labels(table)]
    shown = table.filter(
        (pl.col("level") == "category") | (pl.col("level") == "overall") | (pl.col("name") == "clean")
    )
    print_table(
        "Groups: LWERR, log2 of the ratio of word error rates (1: twice the errors; change: less that of clean speech)",
        [*labels, "attribute", "group", "against", "where", "LWERR", "change", "p Holm", "verdict"],
        [
            [
                *(row[label] for label in labels),
                row["attribute"],
                row["group"],
                row["against"],
                row["name"],
                _number(row["lwerr"], row["lwerr_low"], row["lwerr_high"]),
                _number(row["change"], row["change_low"], row["change_high"]),
                p_cell(row["p_holm"]),
                row["verdict"],
            ]
            for row in shown.iter_rows(named=True)
        ],
    )
    single = table.filter(pl.col("level") == "scenario")
    gaps = single.filter(pl.col("verdict") == "gap shown").height
    print(
        f"A gap is shown in {gaps} of {single.height} single scenarios (p-values adjusted over them); --json has all."
    )
    print()


def _number(value: float | None, low: float | None, high: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:+.2f}" + (f" ({low:+.2f} to {high:+.2f})" if low is not None and high is not None else "")


def _inserted(found: Robustness) -> None:
    table = found.inserted
    if table.is_empty():
        return
    labels = ["recognizer", *_labels(table)]
    print_table(
        "Words heard where nobody speaks, a minute of audio",
        [*labels, "scenario", "words a minute", "95 % interval", "minutes"],
        [
            [
                *(row[label] for label in labels),
                row["scenario"],
                f"{row['per_minute']:.1f}",
                "-" if row["low"] is None else f"{row['low']:.1f} to {row['high']:.1f}",
                f"{row['minutes']:.1f}",
            ]
            for row in table.iter_rows(named=True)
        ],
    )


def _stability(found: Robustness) -> None:
    table = found.stability
    if table.is_empty():
        return
    labels = ["recognizer", *_labels(table)]
    overall = table.filter(pl.col("level") == "overall")
    single = table.filter(pl.col("level") == "scenario").sort("draw_sd", descending=True).head(5)
    print_table(
        "Stability: standard deviation of WER over random draws, beside that over speakers (least stable scenarios)",
        [*labels, "where", "draws", "WER", "over draws", "over speakers"],
        [
            [
                *(row[label] for label in labels),
                row["name"],
                row["draws"],
                percent(row["wer"]),
                percent(row["draw_sd"]),
                percent(row["sampling_sd"]),
            ]
            for row in pl.concat([overall, single]).iter_rows(named=True)
        ],
    )


def _facts(found: Robustness) -> None:
    by = NAMES[found.measure]
    labels = _labels(found.correlates)
    if found.correlates.height:
        print_table(
            f"What goes with {by} over recognizers (Theil-Sen slope, percentage points)",
            [*labels, "fact", "recognizers", "slope", "per", "tau", "p Holm", "verdict"],
            [
                [
                    *(row[label] for label in labels),
                    row["fact"],
                    row["recognizers"],
                    _points(row["slope"], row["slope_low"], row["slope_high"]),
                    row["scale"],
                    "-" if row["tau"] is None else f"{row['tau']:+.2f}",
                    p_cell(row["p_holm"]),
                    row["verdict"],
                ]
                for row in found.correlates.iter_rows(named=True)
            ],
        )
    if found.families.height:
        print_table(
            f"{by} by kind of recognizer",
            [*labels, "fact", "value", "recognizers", "median", "best", "worst"],
            [
                [
                    *(row[label] for label in labels),
                    row["fact"],
                    row["level"],
                    row["recognizers"],
                    *(percent(row[name]) for name in ("median", "best", "worst")),
                ]
                for row in found.families.iter_rows(named=True)
            ],
        )
    for key, part in found.pareto.group_by([*labels, "fact"], maintain_order=True):
        front = part.filter(pl.col("optimal"))["recognizer"].to_list()
        where = "".join(f"{value}: " for value in key[:-1])
        print(printable(f"{where}No recognizer beats these in both {key[-1]} and {by}: {', '.join(front)}."))
    if found.pareto.height:
        print()


def _points(value: float, low: float | None, high: float | None) -> str:
    parts: Sequence[float | None] = (low, high)
    span = "" if None in parts else f" ({100 * (low or 0.0):+.3g} to {100 * (high or 0.0):+.3g})"
    return f"{100 * value:+.3g}{span}"
