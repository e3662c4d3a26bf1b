"""What the differential audit found: the paper's counts beside the violations that survive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from voxaudit.audits.differential.agreement import Agreement
from voxaudit.audits.differential.testing import Comparison
from voxaudit.audits.differential.violations import tally
from voxaudit.perturb.scenario_id import ScenarioId

VIOLATION_SCHEMA: dict[str, type[pl.DataType]] = {
    "group": pl.String,
    "against": pl.String,
    "pair": pl.String,
    "scenario": pl.String,
    "perturbation": pl.String,
    "setting": pl.String,
    "tau": pl.Float64,
    "gap": pl.Float64,
    "ci_low": pl.Float64,
    "ci_high": pl.Float64,
    "p": pl.Float64,
    "q": pl.Float64,
    "significant": pl.Boolean,
}


@dataclass(frozen=True)
class Chance:
    """Violations that the plain rule counts for a group when speakers' labels are shuffled.

    `mean` and `upper` (95th percentile) of the shuffled counts; `p`, the share of them at or above the real count.
    """

    mean: float
    upper: float
    p: float


@dataclass(frozen=True)
class View:
    """One way of asking: distances between recognizers, or word error rates (then a pair is one recognizer)."""

    groups: tuple[str, ...]
    pairs: tuple[str, ...]
    scenarios: tuple[ScenarioId, ...]
    taus: tuple[float, ...]
    degradations: pl.DataFrame
    """One row a group, pair and scenario: `distance`, `original` (None for a table of distances), `degradation`."""
    violations: pl.DataFrame
    """One row a group, against, pair, scenario and tau with a gap beyond tau; `p` and the rest null if untested."""
    family: int
    comparisons: tuple[Comparison, ...]
    chance: Mapping[str, Chance] | None

    def counts(self, *, significant: bool = False) -> dict[str, Any]:
        """Return totals, by_tau, by_pair, by_perturbation and by_setting: the paper's counts, or what survives."""
        table = (
            self.violations.filter(pl.col("significant").fill_null(False)) if significant else self.violations
        )
        return dict(tally(self.groups, self.taus, self.pairs, self.scenarios, table))

    @property
    def tested(self) -> bool:
        """Whether any question could be tested."""
        return self.family > 0

    def claimed(self) -> set[tuple[str, str, str]]:
        """Return the (group, against, scenario) with a significant violation."""
        rows = self.violations.filter(pl.col("significant").fill_null(False))
        return set(rows.select("group", "against", "scenario").iter_rows())


@dataclass(frozen=True)
class Findings:
    """All answers about one corpus."""

    corpus: str
    attribute: str
    view: View
    wer: View | None
    agreement: Agreement | None
    speakers: Mapping[str, int] | None
    normalizer: str | None
    fdr: float
    left_out: Mapping[str, int]
    refusals: tuple[str, ...]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        view = self.view
        document: dict[str, Any] = {
            **view.counts(),
            "significant": view.counts(significant=True) if view.tested else None,
            "chance": None if view.chance is None else {name: asdict(c) for name, c in view.chance.items()},
            "violations": _rows(view),
            "comparisons": [asdict(comparison) for comparison in view.comparisons],
            "about": {
                "corpus": self.corpus or None,
                "attribute": self.attribute,
                "groups": list(view.groups),
                "speakers": None if self.speakers is None else dict(self.speakers),
                "pairs": list(view.pairs),
                "scenarios": [scenario.id for scenario in view.scenarios],
                "taus": list(view.taus),
                "fdr": self.fdr,
                "questions": view.family,
                "normalizer": self.normalizer,
                "left_out": dict(self.left_out),
                "refusals": list(self.refusals),
                "notes": list(self.notes),
            },
            "degradations": view.degradations.to_dicts(),
            "wer": None,
            "agreement": None if self.agreement is None else self.agreement.to_dict(),
        }
        if self.wer is not None:
            wer = self.wer
            document["wer"] = {
                **wer.counts(),
                "significant": wer.counts(significant=True) if wer.tested else None,
                "chance": None if wer.chance is None else {name: asdict(c) for name, c in wer.chance.items()},
                "violations": _rows(wer),
                "degradations": wer.degradations.to_dicts(),
            }
        return document


def merged(all_findings: list[Findings]) -> dict[str, Any]:
    """Return one document about several corpora: each on its own, and their counts side by side at the top.

    Groups are only ever compared within a corpus. A group's name that several corpora share is written
    `corpus: group` at the top.
    """
    if len(all_findings) == 1:
        return all_findings[0].to_dict()
    names = [group for findings in all_findings for group in findings.view.groups]
    shared = {name for name in names if names.count(name) > 1}
    parts = {findings.corpus: findings.to_dict() for findings in all_findings}
    top: dict[str, Any] = {}
    for corpus, part in parts.items():
        for key in ("totals", "by_tau", "by_pair", "by_perturbation", "by_setting"):
            _merge(top.setdefault(key, {}), part[key], corpus, shared)
    top["violations"] = [
        {"corpus": corpus, **row} for corpus, part in parts.items() for row in part["violations"]
    ]
    return {**top, "corpora": parts}


def _merge(into: dict[str, Any], part: Mapping[str, Any], corpus: str, shared: set[str]) -> None:
    for key, value in part.items():
        if isinstance(value, Mapping):
            _merge(into.setdefault(key, {}), value, corpus, shared)
        else:
            into[f"{corpus}: {key}" if key in shared else key] = value


def _rows(view: View) -> list[dict[str, Any]]:
    settings = {scenario.id: scenario.setting for scenario in view.scenarios}
    return [{**row, "setting": settings[row["scenario"]]} for row in view.violations.to_dicts()]
