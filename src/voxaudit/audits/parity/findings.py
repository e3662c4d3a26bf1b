"""What the parity audit found: tables, the checklist, cautions and refusals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from voxaudit.audits.parity.options import Caution, Refusal, Settings

if TYPE_CHECKING:
    from voxaudit.audits.parity.checklist import Check


@dataclass(frozen=True)
class Findings:
    """All answers; one table a question, one row an answer. `docs/parity.md` describes the columns.

    Every table has the recognizers by themselves first and their mean last: most audits are about one of them.
    """

    settings: Settings
    attributes: tuple[str, ...]
    order: dict[str, tuple[str, ...]]
    recognizers: tuple[str, ...]
    main: str
    """The recognizer that figures and `checklist` speak of: the mean of all where there are several."""
    surrogate: tuple[str, ...]
    age: str | None
    merged: dict[str, tuple[str, ...]]
    gaps_asked: dict[str, float]
    left_out: dict[str, int]
    sources: dict[str, str]
    missing: dict[str, str]
    notes: tuple[str, ...]
    speakers: pl.DataFrame
    """One row a recognizer and speaker: counts, mean rate, groups."""
    people: pl.DataFrame
    """One row a speaker: groups and measures."""
    sigma: pl.DataFrame
    """Spread between speakers by recognizer, and what of it more utterances could not remove."""
    univariate: pl.DataFrame
    gaps: pl.DataFrame
    pairs: pl.DataFrame
    conditional: pl.DataFrame
    conditional_strata: pl.DataFrame
    conditional_gaps: pl.DataFrame
    held: dict[str, tuple[str, ...]]
    intersectional: pl.DataFrame
    regression: pl.DataFrame
    regression_tests: pl.DataFrame
    outlier_speakers: pl.DataFrame
    outlier_shares: pl.DataFrame
    outlier_utterances: pl.DataFrame
    outlier_utterance_count: int
    outlier_comparison: pl.DataFrame
    balance: pl.DataFrame
    balance_tests: pl.DataFrame
    canary: pl.DataFrame
    cautions: tuple[Caution, ...]
    refusals: tuple[Refusal, ...]
    checklist: tuple[Check, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the speakers as plain data, ready for JSON."""
        tables = (
            *("univariate", "gaps", "pairs", "conditional", "conditional_strata", "conditional_gaps"),
            *("intersectional", "regression", "regression_tests", "balance", "balance_tests", "canary"),
        )
        return {
            "about": {
                "attributes": list(self.attributes),
                "groups": {name: list(groups) for name, groups in self.order.items()},
                "recognizers": list(self.recognizers),
                "speakers": self.people.height,
                "speakers_are": "surrogate" if self.surrogate else "known",
                "surrogate_of": list(self.surrogate),
                "gap_asked": self.gaps_asked,
                "left_out": self.left_out,
                "merged": {name: list(groups) for name, groups in self.merged.items()},
                "held_fixed": {name: list(others) for name, others in self.held.items()},
                "measured_with": self.sources,
                "not_measured": self.missing,
                "notes": list(self.notes),
                "settings": {**asdict(self.settings), "bands": dict(self.settings.bands)},
            },
            "sigma": self.sigma.to_dicts(),
            **{name: getattr(self, name).to_dicts() for name in tables},
            "outliers": {
                "speakers": self.outlier_speakers.to_dicts(),
                "by_group": self.outlier_shares.to_dicts(),
                "utterances": self.outlier_utterances.to_dicts(),
                "utterance_count": self.outlier_utterance_count,
                "comparison": self.outlier_comparison.to_dicts(),
            },
            "checklist": [asdict(check) for check in self.checklist],
            "cautions": [asdict(caution) for caution in self.cautions],
            "refusals": [asdict(refusal) for refusal in self.refusals],
        }


def own_first(found: Findings) -> Findings:
    """Return the findings with the rows of every table in the order of `found.recognizers`, their mean last."""
    places = {name: place for place, name in enumerate(found.recognizers)}
    place = pl.col("recognizer").replace_strict(places, return_dtype=pl.Int64)
    tables: dict[str, Any] = {
        field.name: table.sort(place, maintain_order=True)
        for field in fields(found)
        if isinstance(table := getattr(found, field.name), pl.DataFrame) and "recognizer" in table.columns
    }
    return replace(found, **tables)


def with_cautions(table: pl.DataFrame, cautions: Sequence[Caution]) -> pl.DataFrame:
    """Add a column that lists what each row has to be read with: cautions about its attribute, and about all.

    A table without a column `attribute` (intersectional groups, regression terms) is touched by any of them.
    """
    if not table.height:
        return table
    everywhere = [caution.text for caution in cautions if caution.attribute is None]
    lists: list[list[str]] = []
    if "attribute" in table.columns:
        own: dict[str, list[str]] = {}
        for caution in cautions:
            if caution.attribute is not None:
                own.setdefault(caution.attribute, []).append(caution.text)
        lists = [everywhere + own.get(name, []) for name in table["attribute"].to_list()]
    elif "term" in table.columns:
        for term in table["term"].to_list():
            parts = set(term.split(" x "))
            lists.append(everywhere + [c.text for c in cautions if c.attribute in parts])
    else:
        lists = [[caution.text for caution in cautions]] * table.height
    return table.with_columns(pl.Series("cautions", lists, dtype=pl.List(pl.String)))
