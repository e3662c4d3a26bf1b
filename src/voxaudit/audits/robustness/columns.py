"""The columns of the audit's tables: the same whether a table has rows or not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from voxaudit.audits.robustness.levels import MEASURES

_MEASURED = tuple(f"{measure}{end}" for measure in MEASURES for end in ("", "_low", "_high"))
COLUMNS: dict[str, tuple[str, ...]] = {
    "levels": (
        *("level", "name", "category", "perturbation", "scenarios", "normalized", "utterances", "speakers"),
        *("paired", "difficulty", "clean_wer", *_MEASURED),
    ),
    "curves": (
        *("perturbation", "step", "scenario", "severity", "parameter", "value", "wer", "wer_low", "wer_high"),
    ),
    "trends": ("perturbation", "steps", "slope", "slope_low", "slope_high", "verdict", "reversals"),
    "ranking": (
        *("name", "rank", "rank_worst", "measure", "estimate", "low", "high", "clean_wer", "wer"),
        *("werd", "werd_low", "werd_high", "scenarios", "speakers"),
    ),
    "comparisons": (
        *("name", "against", "measure", "difference", "difference_low", "difference_high", "verdict"),
    ),
    "groups": (
        *("attribute", "group", "against", "level", "name", "speakers", "lwerr", "lwerr_low", "lwerr_high"),
        *("change", "change_low", "change_high", "p", "p_holm", "verdict"),
    ),
    "stability": (*("level", "name", "draws", "wer", "wer_min", "wer_max", "draw_sd", "sampling_sd"),),
    "correlates": (
        *(
            "fact",
            "measure",
            "recognizers",
            "scale",
            "slope",
            "slope_low",
            "slope_high",
            "tau",
            "p",
            "p_holm",
        ),
        "verdict",
    ),
    "families": ("fact", "level", "measure", "recognizers", "median", "best", "worst"),
    "pareto": ("fact", "recognizer", "value", "measure", "estimate", "optimal"),
}
"""Columns after the labels (recognizer, language, corpus), by table."""

_TEXT = (
    *(
        "recognizer",
        "language",
        "corpus",
        "level",
        "name",
        "category",
        "perturbation",
        "scenario",
        "parameter",
    ),
    *("verdict", "measure", "against", "attribute", "group", "fact", "scale"),
)
_WHOLE = (
    *("scenarios", "normalized", "utterances", "speakers", "step", "steps", "severity", "rank", "rank_worst"),
    *("draws", "recognizers"),
)
_TYPES: dict[str, Any] = {
    **dict.fromkeys(_TEXT, pl.String),
    **dict.fromkeys(_WHOLE, pl.Int64),
    **dict.fromkeys(("paired", "optimal"), pl.Boolean),
    "reversals": pl.List(pl.String),
}


def frame(name: str, labels: Sequence[str], rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Return the rows of a table of `COLUMNS`, `labels` first; all other columns are numbers."""
    columns = [*labels, *(column for column in COLUMNS[name] if column not in labels)]
    return pl.DataFrame(rows, schema={column: _TYPES.get(column, pl.Float64) for column in columns})
