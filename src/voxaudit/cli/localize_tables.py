"""What `voxaudit localize` prints for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from voxaudit.audits.localize.drops import mean_over
from voxaudit.cli.output import print_table, printable
from voxaudit.report.numbers import percent
from voxaudit.wording import p_cell, p_value

if TYPE_CHECKING:
    from voxaudit.audits.localize import Localization
    from voxaudit.audits.localize.validate import Comparison, Validation


_CELL = ("recognizer", "group", "perturbation", "word")


def show(found: Localization, *, top: int) -> None:
    """Print average drops, the words that are lost most, and the sounds."""
    for name in ("recognizer", "perturbation"):
        _averages(found, name)
    _words(found, top)
    if found.phonemes is not None:
        _phonemes(found, found.phonemes, top)
    if found.left_out:
        most = max(found.left_out, key=lambda row: row["utterances"])
        print(
            f"Not counted where a scenario has no answer: up to {most['utterances']} utterances"
            f" ({printable(most['recognizer'])}, {printable(most['perturbation'])})."
        )
    print(f"Non-robust: dropped more than {found.omega:g} times. Tests: {_tested(found)}")


def _averages(found: Localization, by: str) -> None:
    table = mean_over(found.averages, by, "group")
    groups = found.averages["group"].unique().sort().to_list()
    values = {(row, group): value for row, group, value in table.iter_rows()}
    names = table[by].unique(maintain_order=True).to_list()
    rows = [[name, *(_number(values.get((name, group))) for group in groups)] for name in names]
    print_table(f"Average drop of a word, by {by}", [by, *groups], rows)


def _words(found: Localization, top: int) -> None:
    words = found.words
    if "q" in words.columns:
        order = words.sort(
            "q", "p", "drop", descending=[False, False, True], nulls_last=True, maintain_order=True
        )
        title = "Words lost, the surest first"
        columns = [*_CELL, "said", "speakers", "drop", "lost", "at", "q", "q group"]
        rows = [
            [
                *(
                    *_cell(row),
                    row["original"],
                    _dash(row["speakers"]),
                    row["drop"],
                    percent(row["lost_rate"]),
                ),
                *(row["lost_setting"], p_cell(row["q"]), p_cell(row["q_group"])),
            ]
            for row in order.head(top).to_dicts()
        ]
    else:
        order = words.sort("drop", descending=True, maintain_order=True)
        title = "Words lost most"
        columns = [*_CELL, "said", "minimum", "drop", "at"]
        rows = [
            [*_cell(row), row["original"], row["minimum"], row["drop"], row["setting"]]
            for row in order.head(top).to_dicts()
        ]
    print_table(f"{title} ({len(rows)} of {words.height})", columns, rows)


def _phonemes(found: Localization, table: pl.DataFrame, top: int) -> None:
    order = table.sort("q", "lost_rate", descending=[False, True], nulls_last=True, maintain_order=True)
    rows: list[list[Any]] = [
        [
            *(row["recognizer"], row["group"], row["perturbation"], row["phoneme"], row["said"]),
            *(percent(row["lost_rate"]), row["lost_setting"], p_cell(row["q"])),
        ]
        for row in order.head(max(1, top // 2)).to_dicts()
    ]
    columns = ("recognizer", "group", "perturbation", "phoneme", "said", "in lost words", "at", "q")
    print_table(f"Sounds of lost words ({len(rows)} of {table.height})", columns, rows)


def _tested(found: Localization) -> str:
    if "q" not in found.words.columns or found.words["q"].null_count() == found.words.height:
        return "none."
    significant = found.words.filter(pl.col("q") <= found.fdr).height
    between = found.words.filter(pl.col("q_group") <= found.fdr).height
    tested = found.words.height - found.words["q"].null_count()
    return (
        f"{significant} of {tested} words are lost more than the words beside them, {between} more than in other groups"
        f" (false-discovery rate {found.fdr:g})."
    )


def show_validation(result: Validation) -> None:
    """Print an experiment: word by word, and the two comparisons."""
    rows = [
        [
            *(word.word, word.kind, word.part_of_speech, word.occurrences, percent(word.rate)),
            *(word.sentences, word.errors, word.clean_errors),
        ]
        for word in result.words
    ]
    columns = (
        "word",
        "localiser says",
        "used as",
        "said",
        "lost there",
        "sentences",
        "errors",
        "errors clean",
    )
    print_table(f"Validation: {result.recognizer}, {result.voice}, {result.scenario}", columns, rows)
    _comparison("Errors in noise", result.errors)
    _comparison("Of those heard without noise, lost in noise", result.lost)


def _comparison(title: str, result: Comparison) -> None:
    print(
        f"{title}: non-robust {result.non_robust_errors} of {result.non_robust_sentences},"
        f" robust {result.robust_errors} of {result.robust_sentences}; ratio {_number(result.ratio)}"
        f" (95 %: {_number(result.sentences_low)} to {_number(result.sentences_high)} by sentence,"
        f" {_number(result.words_low)} to {_number(result.words_high)} by word);"
        f" the published test, which takes sentences for independent: Fisher {p_value(result.p)}"
    )


def _cell(row: dict[str, Any]) -> list[Any]:
    return [row["recognizer"], row["group"], row["perturbation"], row["word"]]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _dash(value: Any) -> str:
    return "-" if value is None else str(value)
