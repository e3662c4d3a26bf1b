"""What the chapters of a report share: a run, the groups to compare, and every audit's answer, asked once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from voxaudit.audits.accuracy import accuracy
from voxaudit.audits.differential import TAUS, differential
from voxaudit.audits.differential import Findings as Differential
from voxaudit.audits.disparity import disparity
from voxaudit.audits.disparity.result import Disparity
from voxaudit.audits.inputs import read_transcripts
from voxaudit.audits.robustness import Robustness, robustness
from voxaudit.audits.robustness.settings import Setting, describe_all
from voxaudit.audits.robustness.sources import choose_difficulty, read_many
from voxaudit.errors import VoxauditError
from voxaudit.perturb import CLEAN
from voxaudit.registry import suggest
from voxaudit.report.parts import attempt
from voxaudit.run import Run
from voxaudit.score.table import attribute_names

MOST_GROUPS = 24
"""An attribute with more groups than this is not compared group by group."""

MOST_QUESTIONS = 10_000
"""Questions of one attribute (groups x pairs of recognizers x scenarios x tolerances) that are tested one by one."""

NO_REFERENCES = "no reference text was scored"


@dataclass(frozen=True)
class Context:
    """A run and what is asked of it. `attributes` are named as in the corpus; `stutter` and `attack` are folders."""

    run: Run
    attributes: tuple[str, ...]
    stutter: Path
    attack: Path
    audio_bytes: int = 0

    def __post_init__(self) -> None:
        known = list(attribute_names(self.run.corpus.columns))
        for name in self.attributes:
            if name not in known:
                raise VoxauditError(
                    f"{self.run.folder}: no attribute '{name}'.{suggest(name, known)}"
                    f" Attributes there: {', '.join(known) or 'none'}"
                )

    @property
    def config(self) -> dict[str, Any]:
        """`run.json`."""
        return self.run.config

    @property
    def recognizers(self) -> list[str]:
        """Names of the recognizers, in the run's order."""
        return list(self.config["recognizers"])

    @cached_property
    def column(self) -> dict[str, str]:
        """What each attribute is called in the tables of scores and transcripts."""
        names = attribute_names(self.run.corpus.columns)
        return {name: names[name] for name in self.attributes}

    @cached_property
    def scores(self) -> pl.DataFrame:
        """The scores, with the length of utterances where a scenario without speech needs it."""
        return read_many([self.run.folder])

    @cached_property
    def clean(self) -> pl.DataFrame:
        """The scores of clean speech."""
        return self.scores.filter(pl.col("scenario") == CLEAN)

    @cached_property
    def transcripts(self) -> pl.DataFrame:
        """Transcripts with what is known of their utterances, without references: no audit here needs them."""
        wanted = ["utterance", "scenario", "recognizer", "text", "speaker", *self.column.values()]
        return read_transcripts(self.run.folder).select(wanted)

    @cached_property
    def settings(self) -> dict[str, Setting]:
        """What the scenario ids of the run say."""
        return describe_all(self.config["scenarios"])

    @cached_property
    def rates(self) -> pl.DataFrame:
        """Error rates by recognizer and scenario, in the run's order."""
        return self._ordered(accuracy(self.scores))

    @cached_property
    def groups(self) -> dict[str, pl.DataFrame]:
        """Error rates by recognizer, scenario and group of every attribute; the group's column is `group`."""
        return {
            name: self._ordered(accuracy(self.scores, ("recognizer", "scenario", column)))
            .rename({column: "group"})
            .with_columns(pl.col("group").cast(pl.String))
            for name, column in self.column.items()
        }

    @cached_property
    def group_names(self) -> dict[str, list[str]]:
        """The groups of every attribute among the utterances of the corpus, those with most speakers first."""
        found: dict[str, list[str]] = {}
        for name in self.attributes:
            people = (
                self.run.corpus.select(pl.col(name).cast(pl.String).alias("group"), "speaker")
                .drop_nulls("group")
                .group_by("group")
                .agg(pl.col("speaker").n_unique(), rows=pl.len())
                .sort("speaker", "rows", "group", descending=[True, True, False])
            )
            found[name] = people["group"].to_list()
        return found

    def unfit(self, attribute: str) -> str | None:
        """Return why the groups of an attribute are not compared, or None where they can be."""
        count = len(self.group_names[attribute])
        if count < 2:
            return f"it has {'one group' if count else 'no value'} in this corpus; a comparison needs two"
        if count > MOST_GROUPS:
            return (
                f"it has {count} groups, more than the {MOST_GROUPS} that are compared one by one;"
                " give the corpus a coarser column, such as bands of age"
            )
        return None

    @cached_property
    def robustness(self) -> Robustness | VoxauditError:
        """What disturbed speech costs; languages are pooled, as in all other chapters."""
        return attempt(self._robustness)

    def _robustness(self) -> Robustness:
        if self.scores.is_empty():
            raise VoxauditError(NO_REFERENCES)
        difficulty, source = choose_difficulty(None, [self.run.folder], self.config["scenarios"])
        if source.startswith("measured"):  # whose machine it was is nobody's business
            source = "measured in this run"
        return robustness(
            self.scores,
            difficulty=difficulty,
            difficulty_source=source,
            attributes=[self.column[name] for name in self.attributes if self.unfit(name) is None],
            where=self.run.folder,
        )

    @cached_property
    def disparities(self) -> dict[str, Disparity | VoxauditError]:
        """Ratios of the error rates of groups on clean speech, by attribute."""
        return {name: attempt(lambda name=name: self._disparity(name)) for name in self.attributes}  # type: ignore[misc]

    def _disparity(self, name: str) -> Disparity:
        why = self.unfit(name)
        if why is not None:
            raise VoxauditError(why)
        if self.clean.is_empty():
            raise VoxauditError("no clean speech with a reference text was heard")
        return disparity(
            self.clean,
            attribute=self.column[name],
            reference=self._reference(name),
            by=("recognizer",),
            interval="robust",  # the one that keeps its promise with few speakers
            resamples=0,
            where="clean speech",
        )

    def _reference(self, name: str) -> str | None:
        """Return the group that others are compared with.

        Of two it is the better served that has errors at all: the test is the same, the sentence easier to read. Of
        more it is the one with most speakers that has errors: to pick the best of several would make the others look
        worse than they are.
        """
        column = self.column[name]
        rates = accuracy(self.clean, [column]).filter(pl.col(column).is_not_null())
        rates = rates.with_columns(pl.col(column).cast(pl.String)).sort("wer", column)
        wrong = rates.filter(pl.col("errors") > 0)[column].to_list()
        if rates.height == 2:
            return wrong[0] if wrong else None
        return next((group for group in self.group_names[name] if group in wrong), None)

    @cached_property
    def differentials(self) -> dict[str, Differential | VoxauditError]:
        """Violations between groups without references, by attribute."""
        return {name: attempt(lambda name=name: self._differential(name)) for name in self.attributes}  # type: ignore[misc]

    def _differential(self, name: str) -> Differential:
        why = self.unfit(name)
        if why is not None:
            raise VoxauditError(why)
        return differential(self.transcripts, self.column[name], taus=self._taus(name))[0]

    def _taus(self, name: str) -> tuple[float, ...]:
        """Return the tolerances asked about: the paper's four, or the middle two where the grid is large."""
        groups, recognizers = len(self.group_names[name]), len(self.recognizers)
        cells = groups * (groups - 1) * recognizers * (recognizers - 1) // 2 * len(self.config["scenarios"])
        return TAUS if cells * len(TAUS) <= MOST_QUESTIONS else TAUS[1:3]

    def _ordered(self, rates: pl.DataFrame) -> pl.DataFrame:
        """Return rows with recognizers and scenarios in the run's order."""
        return (
            rates.with_columns(
                _rank(column, names)
                for column, names in (
                    ("recognizer", self.recognizers),
                    ("scenario", self.config["scenarios"]),
                )
            )
            .sort("_recognizer", "_scenario", maintain_order=True)
            .drop("_recognizer", "_scenario")
        )


def _rank(column: str, names: Sequence[str]) -> pl.Expr:
    places = list(range(len(names)))
    return (
        pl.col(column).replace_strict(list(names), places, default=len(names), return_dtype=pl.Int64)
    ).alias(f"_{column}")
