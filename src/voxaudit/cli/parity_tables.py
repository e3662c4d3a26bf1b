"""The parity audit printed for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from voxaudit.cli.output import print_table, printable
from voxaudit.report.numbers import percent, percent_interval
from voxaudit.wording import p_cell

if TYPE_CHECKING:
    import polars as pl

    from voxaudit.audits.parity import Check, Findings

SHOWN = 5
"""Rows of the long lists that are printed without --full."""


def show(found: Findings, title: str, *, full: bool) -> None:
    """Print the findings; short tables speak of every recognizer by itself, `full` also of their mean, last."""
    _about(found, title)
    _groups(found, full)
    _gaps(found)
    if full:
        _pairs(found)
    _conditional(found, full)
    _intersections(found, full)
    _regression(found, full)
    _outliers(found, full)
    _balance(found, full)
    print_table(
        "Checklist (Herron et al., section 3)",
        ["practice", "status", "why"],
        [[_practice(check), check.status, check.why] for check in found.checklist],
    )
    for caution in found.cautions:
        print(printable(f"caution: {caution.text}"))
    for refusal in found.refusals[: None if full else 20]:
        needed = f". Needed: {refusal.remedy}" if refusal.remedy else ""
        print(printable(f"refused: {refusal.what}: {refusal.why}{needed}"))
    if len(found.refusals) > 20 and not full:
        print(f"refused: {len(found.refusals) - 20} more (--full)")


def _practice(check: Check) -> str:
    return check.practice if check.recognizer is None else f"{check.practice}: {check.recognizer}"


def _about(found: Findings, title: str) -> None:
    from voxaudit.audits.parity.options import percentage_points

    single = _single(found)
    who = f"{found.people.height:,} {'surrogate speakers' if found.surrogate else 'speakers'}"
    heard = (
        f"recognizer {single[0]}" if len(single) == 1 else f"{len(single)} recognizers ({', '.join(single)})"
    )
    print(printable(f"{title}: {who}, {heard}"))
    gaps = {name: percentage_points(found.gaps_asked[name]) for name in single}
    if len(set(gaps.values())) == 1:
        print(f"asked about: a gap of {gaps[single[0]]}")
    else:
        print(
            printable("asked about: a gap of " + ", ".join(f"{gap} ({name})" for name, gap in gaps.items()))
        )
    for reason, count in found.left_out.items():
        print(printable(f"left out: {count:,} rows ({reason})"))
    for line in found.notes:
        print(printable(f"note: {line}"))
    print()


def _single(found: Findings) -> list[str]:
    """Return the recognizers without their mean, which is a claim about speakers and not about any of them."""
    from voxaudit.audits.parity.options import MEAN

    return [name for name in found.recognizers if name != MEAN]


def _rows(found: Findings, table: pl.DataFrame, full: bool) -> list[dict[str, Any]]:
    import polars as pl

    if not table.height:
        return []
    return (table if full else table.filter(pl.col("recognizer").is_in(_single(found)))).to_dicts()


def _print(
    found: Findings, title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], full: bool
) -> None:
    """Print a table; its rows start with the recognizer, which is left out where there is one."""
    kept = [list(row) for row in rows]
    if not kept:
        return
    if full or len(found.recognizers) > 1:
        print_table(title, ["recognizer", *columns], kept)
    else:
        print_table(title, columns, [row[1:] for row in kept])


def _groups(found: Findings, full: bool) -> None:
    columns = [
        "attribute",
        "group",
        "speakers",
        "WER by speaker",
        "by utterance",
        "pooled",
        "Err_rel against all",
    ]
    columns += ["p", "adjusted", "needed", "smallest gap (% points)", "verdict"]
    rows = [
        [
            *(row[name] for name in ("recognizer", "attribute", "group", "speakers")),
            percent_interval(row["wer_speaker_mean"], row["wer_low"], row["wer_high"]),
            percent(row["wer_utterance_mean"]),
            percent(row["wer_pooled"]),
            _relative(row["err_rel"], row["ci_low"], row["ci_high"]),
            p_cell(row["p"]),
            p_cell(row["p_adjusted"]),
            _number(row["speakers_needed"]),
            _plain_points(row["smallest_gap"]),
            _verdict(row),
        ]
        for row in _rows(found, found.univariate, full)
    ]
    _print(found, "Groups (Eq. 2 to 4)", columns, rows, full)


def _gaps(found: Findings) -> None:
    rows = [
        [
            row["recognizer"],
            row["attribute"],
            "-" if row["best"] is None else f"{row['best']} / {row['worst']}",
            _relative(row["gap"], None, None),
            _points(row["gap_wer"], row["gap_low"], row["gap_high"]),
            _points(row["gap_utterance_mean"], None, None),
            _points(row["gap_pooled"], None, None),
            p_cell(row["p"]),
            p_cell(row["p_adjusted"]),
            "yes" if row["choice_matters"] else "no",
        ]
        for row in found.gaps.to_dicts()
    ]
    columns = [
        "attribute",
        "best / worst",
        "gap (Eq. 5)",
        "in % points of WER",
        "by utterance",
        "pooled",
        "p",
        "adjusted",
    ]
    _print(found, "Best against worst group", [*columns, "averaging decides"], rows, True)


def _pairs(found: Findings) -> None:
    rows = [
        [
            row["recognizer"],
            row["attribute"],
            f"{row['first']} - {row['second']}",
            f"{row['speakers']}, {row['second_speakers']}",
            _points(row["difference"], row["difference_low"], row["difference_high"]),
            p_cell(row["p"]),
            p_cell(row["p_adjusted"]),
            _verdict(row),
        ]
        for row in found.pairs.to_dicts()
    ]
    _print(
        found,
        "Pairs of groups",
        ["attribute", "pair", "speakers", "difference (% points)", "p", "adjusted", "verdict"],
        rows,
        True,
    )


def _conditional(found: Findings, full: bool) -> None:
    columns = [
        "attribute",
        "group",
        "strata",
        "speakers used",
        "mean Err_rel",
        "difference to the rest (% points)",
    ]
    columns += ["p", "adjusted", "p of strata", "verdict"]
    rows = [
        [
            *(row[name] for name in ("recognizer", "attribute", "group", "strata")),
            f"{row['speakers_used']} of {row['speakers']}",
            _relative(row["err_rel"], None, None),
            _points(row["difference"], row["difference_low"], row["difference_high"]),
            p_cell(row["p"]),
            p_cell(row["p_adjusted"]),
            p_cell(row["strata_p"]),
            _verdict(row),
        ]
        for row in _rows(found, found.conditional, full)
    ]
    _print(found, "With all other attributes fixed (Eq. 6)", columns, rows, full)


def _intersections(found: Findings, full: bool) -> None:
    rows = _rows(found, found.intersectional, full)
    ranked = [row for row in rows if row["enough_speakers"]]
    others = [row for row in rows if not row["enough_speakers"]]
    columns = ["group", "speakers", "WER by speaker", "Err_rel against all", "p", "adjusted", "verdict"]

    def cells(row: dict[str, Any]) -> list[Any]:
        return [
            _crossed(row["group"]),
            row["speakers"],
            percent(row["wer_speaker_mean"]),
            _relative(row["err_rel"], row["ci_low"], row["ci_high"]),
            p_cell(row["p"]),
            p_cell(row["p_adjusted"]),
            _verdict(row),
        ]

    shown = ranked if full else _ends(ranked)
    _print(
        found,
        "Intersectional groups with enough speakers, the worst first",
        ["rank", *columns],
        [[row["recognizer"], row["rank"], *cells(row)] for row in shown],
        full,
    )
    # Those that differ all the same come first.
    listed = others if full else [row for name in _single(found) for row in _of(others, name)[:SHOWN]]
    _print(
        found,
        f"Intersectional groups without enough speakers ({len(others)})",
        columns,
        [[row["recognizer"], *cells(row)] for row in listed],
        full,
    )
    if len(listed) < len(others):
        print(f"  ... and {len(others) - len(listed)} more (--full, --json)\n")


def _of(rows: list[dict[str, Any]], recognizer: str) -> list[dict[str, Any]]:
    return [row for row in rows if row["recognizer"] == recognizer]


def _ends(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the first and the last rows of each recognizer, all where there are few."""
    kept = []
    for name in dict.fromkeys(row["recognizer"] for row in rows):
        own = _of(rows, name)
        kept += own if len(own) <= 2 * SHOWN else [*own[:SHOWN], *own[-SHOWN:]]
    return kept


def _regression(found: Findings, full: bool) -> None:
    columns = ["model", "term", "coefficients", "F", "p", "adjusted", "R2"]
    rows = [
        [
            *(row[name] for name in ("recognizer", "model", "term", "columns")),
            "-" if row["f"] is None else f"{row['f']:.2f}",
            p_cell(row["p"]),
            p_cell(row["p_adjusted"]),
            f"{row['r_squared']:.3f}",
        ]
        for row in _rows(found, found.regression_tests, full)
    ]
    _print(found, "Regression of speakers' WER on all attributes (Eq. 7, 8)", columns, rows, full)
    if full:
        terms = [
            [
                *(row[name] for name in ("recognizer", "model", "name")),
                _points(row["estimate"], row["ci_low"], row["ci_high"]),
                p_cell(row["p"]),
                p_cell(row["p_adjusted"]),
            ]
            for row in found.regression.to_dicts()
        ]
        _print(found, "Coefficients", ["model", "term", "% points of WER", "p", "adjusted"], terms, True)


def _outliers(found: Findings, full: bool) -> None:
    rows = _rows(found, found.outlier_speakers, full)
    _print(
        found,
        f"Outlying speakers (|z| > {found.settings.outlier_z:g})",
        ["speaker", *found.attributes, "WER", "z"],
        [
            [
                row["recognizer"],
                row["speaker"],
                *(row[name] for name in found.attributes),
                percent(row["wer"]),
                f"{row['z']:+.1f}",
            ]
            for row in (rows if full else rows[: 2 * SHOWN])
        ],
        full,
    )
    if found.outlier_utterance_count:
        print(f"{found.outlier_utterance_count:,} utterances lie that far from their speaker's mean")
    changed = [row for row in _rows(found, found.outlier_comparison, full) if full or row["changes"]]
    _print(
        found,
        "With and without outliers" + ("" if full else ", where it changes the verdict"),
        ["attribute", "group", "Err_rel", "adjusted p", "without: Err_rel", "adjusted p", "changes"],
        [
            [
                *(row[name] for name in ("recognizer", "attribute", "group")),
                _relative(row["err_rel"], None, None),
                p_cell(row["p_adjusted"]),
                _relative(row["err_rel_without"], None, None),
                p_cell(row["p_adjusted_without"]),
                "yes" if row["changes"] else "no",
            ]
            for row in changed
        ],
        full,
    )


def _balance(found: Findings, full: bool) -> None:
    if not found.balance_tests.height:
        return
    print_table(
        "Balance of recordings and texts between groups (Kruskal-Wallis on speakers)",
        ["measure", "attribute", "lowest", "highest", "in SDs", "p", "adjusted", "balanced"],
        [
            [
                row["measure"],
                row["attribute"],
                _group_mean(row["lowest"], row["lowest_mean"]),
                _group_mean(row["highest"], row["highest_mean"]),
                "-" if row["largest_difference"] is None else f"{row['largest_difference']:.2f}",
                p_cell(row["p"]),
                p_cell(row["p_adjusted"]),
                "yes" if row["balanced"] else "NO",
            ]
            for row in found.balance_tests.to_dicts()
        ],
    )


def _verdict(row: dict[str, Any]) -> str:
    return f"{row['verdict']} (caution)" if row["cautions"] else str(row["verdict"])


def _group_mean(group: str | None, mean: float | None) -> str:
    return "-" if group is None or mean is None else f"{group} ({mean:.3g})"


def _crossed(group: dict[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in group.items())


def _relative(value: float | None, low: float | None, high: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:+.1f} %" + ("" if low is None or high is None else f" ({low:+.1f} to {high:+.1f})")


def _points(value: float | None, low: float | None, high: float | None) -> str:
    if value is None:
        return "-"
    limits = "" if low is None or high is None else f" ({100 * low:+.1f} to {100 * high:+.1f})"
    return f"{100 * value:+.1f}{limits}"


def _plain_points(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"


def _number(value: int | None) -> str:
    return "-" if value is None else str(value)
