"""What the robustness audit found: one table a question."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import polars as pl


@dataclass(frozen=True)
class Refusal:
    """Something that was not answered, and why."""

    about: str
    reason: str


@dataclass(frozen=True)
class Robustness:
    """All answers. Rates and their differences are fractions; `docs/robustness.md` describes the columns.

    Where a table of scores has several languages or corpora, tables have a column `language`, and `corpora` repeats
    `levels` for every corpus apart; otherwise results are means over corpora.
    """

    measure: str
    """What recognizers are ranked by: `nwerd`, or `werd` without difficulties."""
    levels: pl.DataFrame
    """WER, CER, WERD, NWER and NWERD with intervals: scenario, perturbation, category, overall."""
    corpora: pl.DataFrame
    curves: pl.DataFrame
    trends: pl.DataFrame
    ranking: pl.DataFrame
    comparisons: pl.DataFrame
    groups: pl.DataFrame
    """LWERR by attribute."""
    stability: pl.DataFrame
    """Spread over random draws of the same perturbation, beside the sampling error."""
    inserted: pl.DataFrame
    """Words heard where nobody spoke, a minute."""
    correlates: pl.DataFrame
    families: pl.DataFrame
    """Robustness by the levels of categorical model facts."""
    pareto: pl.DataFrame
    difficulty: pl.DataFrame
    difficulty_source: str
    notes: tuple[str, ...]
    refusals: tuple[Refusal, ...]
    settings: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, ready for JSON."""
        tables = (
            *("levels", "corpora", "curves", "trends", "ranking", "comparisons", "groups", "stability"),
            *("inserted", "correlates", "families", "pareto"),
        )
        return {
            "measure": self.measure,
            "settings": self.settings,
            "difficulty": {"source": self.difficulty_source, "scenarios": self.difficulty.to_dicts()},
            **{name: getattr(self, name).to_dicts() for name in tables},
            "notes": list(self.notes),
            "refusals": [asdict(refusal) for refusal in self.refusals],
        }
