"""What goes with robustness over recognizers: size, training hours, architecture, accuracy on clean speech."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from voxaudit.answer import Refusal
from voxaudit.audits.robustness.levels import finite
from voxaudit.errors import VoxauditError, one_line
from voxaudit.stats.multiplicity import holm
from voxaudit.tables import require_columns

FEWEST_RECOGNIZERS = 6
"""With fewer, a line through them is drawn by chance more often than not."""
CLEAN_WER = "clean_wer"
_MORE = "let more recognizers hear the same, and say this of each"
_DECADE = 10.0
"""Numbers that span at least this ratio (parameters, hours) are compared by their logarithm."""


@dataclass(frozen=True)
class Correlates:
    """Slopes of numeric facts, medians by categorical ones, and the recognizers that none beats on both counts."""

    slopes: list[dict[str, Any]] = field(default_factory=list)
    families: list[dict[str, Any]] = field(default_factory=list)
    pareto: list[dict[str, Any]] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)

    def extend(self, more: Correlates) -> None:
        """Add what was found in another language."""
        for name in ("slopes", "families", "pareto", "refusals"):
            getattr(self, name).extend(getattr(more, name))


def read_facts(table: pl.DataFrame, recognizers: tuple[str, ...], where: str | Path) -> pl.DataFrame:
    """Check a table of facts about recognizers: a column `recognizer` and any others, one row per recognizer."""
    require_columns(table, ["recognizer"], where)
    facts = table.with_columns(pl.col("recognizer").cast(pl.String))
    if facts["recognizer"].is_duplicated().any():
        twice = facts.filter(pl.col("recognizer").is_duplicated())["recognizer"][0]
        raise VoxauditError(f"{where}: recognizer '{one_line(str(twice), 80)}' has several rows; keep one")
    if not set(facts["recognizer"].to_list()) & set(recognizers):
        raise VoxauditError(
            f"{where}: none of its recognizers is in the scores, which have {one_line(', '.join(recognizers), 120)}"
        )
    return facts


def correlate(
    facts: pl.DataFrame, robust: Mapping[str, float], clean: Mapping[str, float], measure: str, **labels: Any
) -> Correlates:
    """Relate facts of recognizers to their overall measure (smaller is better).

    Numeric facts: Theil and Sen's slope (the median of slopes through all pairs, which a few odd recognizers do not
    move) with its 95 % interval, Kendall's tau and its p-value, adjusted by Holm. The recognizers are taken for a
    sample; their own sampling error is not added. Accuracy on clean speech is always among the facts.
    """
    found = Correlates()
    names = [name for name in robust if np.isfinite(robust[name])]
    own = pl.DataFrame(
        {"recognizer": names, CLEAN_WER: [clean[name] for name in names]},
        schema={"recognizer": pl.String, CLEAN_WER: pl.Float64},
    )
    table = own.join(facts.drop(CLEAN_WER, strict=False), on="recognizer", how="left", maintain_order="left")
    for fact in table.columns[1:]:
        column = table[fact]
        numeric = column.dtype.is_numeric() and column.dtype != pl.Boolean
        known = column.is_not_null() & (column.is_finite() if column.dtype.is_float() else True)
        some = table.filter(known)
        y = np.array([robust[name] for name in some["recognizer"]])
        if numeric:
            x = some[fact].cast(pl.Float64).to_numpy()
            found.pareto.extend(_front(fact, some["recognizer"].to_list(), x, y, measure, labels))
        if some.height < FEWEST_RECOGNIZERS:
            text = f"{some.height} recognizers with this fact; at least {FEWEST_RECOGNIZERS} are needed"
            found.refusals.append(Refusal("too_few_recognizers", f"correlate {fact}", text, remedy=_MORE))
        elif some[fact].n_unique() < 2:
            text = "all recognizers have the same value"
            found.refusals.append(Refusal("undefined", f"correlate {fact}", text))
        elif numeric:
            found.slopes.append(_slope(fact, x, y, measure, labels))
        else:
            found.families.extend(_families(fact, some[fact].cast(pl.String).to_list(), y, measure, labels))
    for row, adjusted in zip(found.slopes, holm([row["p"] for row in found.slopes]), strict=True):
        row["p_adjusted"] = adjusted
        row["verdict"] = "shown" if adjusted is not None and adjusted < 0.05 else "not_shown"
    return found


def _slope(fact: str, x: Any, y: Any, measure: str, labels: dict[str, Any]) -> dict[str, Any]:
    from scipy.stats import kendalltau, theilslopes

    logarithm = bool(x.min() > 0 and x.max() / x.min() >= _DECADE)
    line = theilslopes(y, np.log10(x) if logarithm else x)
    tau = kendalltau(x, y)
    return {
        **labels,
        "fact": fact,
        "measure": measure,
        "recognizers": len(x),
        "scale": "a factor of ten" if logarithm else "a unit",
        "slope": float(line.slope),
        "low": finite(line.low_slope),
        "high": finite(line.high_slope),
        "tau": finite(tau.statistic),
        "p": finite(tau.pvalue),
    }


def _families(
    fact: str, levels: list[str], y: Any, measure: str, labels: dict[str, Any]
) -> list[dict[str, Any]]:
    rows = []
    for level in sorted(set(levels)):
        own = y[[value == level for value in levels]]
        rows.append(
            {
                **labels,
                "fact": fact,
                "level": level,
                "measure": measure,
                "recognizers": len(own),
                "median": float(np.median(own)),
                "best": float(own.min()),
                "worst": float(own.max()),
            }
        )
    return rows


def _front(
    fact: str, names: list[str], x: Any, y: Any, measure: str, labels: dict[str, Any]
) -> list[dict[str, Any]]:
    """Return all recognizers, marking those that no other beats in the fact without losing in robustness."""
    rows = []
    for place, name in enumerate(names):
        no_worse = (x <= x[place]) & (y <= y[place])
        beaten = bool((no_worse & ((x < x[place]) | (y < y[place]))).any())
        rows.append(
            {
                **labels,
                "fact": fact,
                "recognizer": name,
                "value": float(x[place]),
                "measure": measure,
                "estimate": float(y[place]),
                "optimal": not beaten,
            }
        )
    return sorted(rows, key=lambda row: (row["value"], row["estimate"]))
