"""The one reader of scores: from a run, a path, or a table in memory to what every audit takes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np
import polars as pl

from voxaudit.answer import Note, Refusal, RefusedError, refuse
from voxaudit.corpus.select import choose_rows, clauses_of, condition
from voxaudit.errors import VoxauditError, one_line
from voxaudit.perturb import CLEAN
from voxaudit.perturb.scenario_id import is_original
from voxaudit.recognize.streaming.trace import as_trials, is_trace
from voxaudit.registry import unknown
from voxaudit.run.folder import Run, open_run, read_config
from voxaudit.score.measures import ALL_MEASURES
from voxaudit.score.run import run_durations, run_measures
from voxaudit.score.table import ATTRIBUTE_PREFIX, SCORE_COLUMNS, attribute_names
from voxaudit.stats.cells import IntArray
from voxaudit.stats.labels import FloatArray, Labels, labels_of
from voxaudit.tables import (
    Frame,
    as_frame,
    collect,
    in_parts,
    own_name,
    own_names,
    read_table,
    renamed,
    require_columns,
    scan_table,
)
from voxaudit.wording import counted, listed

Source = Any
"""A run, the path of a run's folder or of a table, a polars, pandas or Arrow table, `Scores`, or a list of these."""

Names = str | Sequence[str] | None
"""One name, several, or None for all."""

MOST_COUNTED = 1e12
"""Nobody says more words in a trial; sums of more would not be exact."""

MOST_GROUPS = 24
"""An attribute with more groups than this is not compared group by group."""

KEYS = ("utterance", "scenario", "recognizer", "text")
"""The columns of a transcripts table that an audit without references needs."""

COUNTS = ("substitutions", "deletions", "insertions")

ROWS_AT_A_TIME = 120_000
"""Transcripts held in memory at a time where they are gone through scenario by scenario: some 30 MB of text."""

DRAWS = ("draw", "seed")
"""Columns that tell random draws of the same perturbation apart."""

_KNOWN = {
    *SCORE_COLUMNS,
    *DRAWS,
    *ALL_MEASURES,
    *("seconds", "latency_ms", "failure", "confidence", "word_times", "trace"),
    "errors",
    "corpus",
    "language",
    "text",
    "reference",
    "source",
}


class Rows(TypedDict, total=False):
    """Which rows are asked about: names to keep, and clauses such as `age>=18`, all of which must hold."""

    recognizer: Names
    scenario: Names
    corpus: Names
    language: Names
    where: Sequence[str]


class Filters(Rows, total=False):
    """What every audit of scores takes: which rows, and which column of a table is which ({ours: theirs}).

    An audit declares `**filters: Unpack[Filters]`; `asks` shows them in its signature.
    """

    columns: Mapping[str, str] | None


@dataclass(frozen=True, eq=False)
class Scores:
    """A table of trials and what is known about it. `frame` has one row per trial.

    `where` names it in messages; `run` is the run it came from, if any. `notes` say what a filter did.
    """

    frame: pl.DataFrame
    where: str = "table"
    run: Run | None = None
    folder: Path | None = None
    """Where relative paths in the table start: the folder of the file it came from."""
    notes: tuple[str, ...] = field(default=())
    others: tuple[Run, ...] = ()
    """Further runs, where several sources were put together."""

    @classmethod
    def of(
        cls,
        source: Source,
        *,
        columns: Mapping[str, str] | None = None,
        texts: bool = False,
        **asked: Unpack[Rows],
    ) -> Scores:
        """Read scores and keep the rows that are asked about.

        `recognizer`, `scenario`, `corpus` and `language` are names to keep; `where` are clauses such as `age>=18`, all
        of which must hold. `columns` says which column of a table is which ({ours: theirs}). With `texts`, transcripts
        are read in place of counts: utterance, scenario, recognizer, text (null where the recognizer failed), speaker,
        reference, attributes. Several sources are put together, with a column `source`, and a column `draw` that tells
        random draws apart: a table's own `draw` or `seed`, else the seed of its run, else its place among the sources.

        >>> table = pl.DataFrame({"recognizer": ["a", "b"], "words": [10, 20], "errors": [1, 4]})
        >>> Scores.of(table, recognizer="b").frame["words"].to_list()
        [20]
        """
        if isinstance(source, list | tuple):
            _require_once(source)
            read = _together([cls.of(one, columns=columns, texts=texts) for one in source])
            columns = None  # done for each of them
        elif texts:
            read = Transcripts.of(source, columns=columns).require(*KEYS).scores()
            columns = None
        else:
            read = _read(source)
        if columns:
            read = replace(read, frame=renamed(read.frame, columns, read.where))
        return read._with_names().select(**asked)

    def _with_names(self) -> Scores:
        """Return it with recognizers and scenarios that are called 1, 2 ... under their names as text."""
        schema = {name: self.frame.schema[name] for name in KEYS[1:3] if name in self.frame.columns}
        for name, kind in schema.items():
            if kind.is_nested():
                raise VoxauditError(f"{self.where}: column '{name}' holds {kind}, not names")
        numbers = [name for name, kind in schema.items() if kind.is_numeric() or kind == pl.Boolean]
        return (
            replace(self, frame=self.frame.with_columns(pl.col(numbers).cast(pl.String))) if numbers else self
        )

    def select(self, **asked: Unpack[Rows]) -> Scores:
        """Return the rows that are asked about; a name that no row has raises one line."""
        names, clauses = _choices(asked)
        frame, notes = self.frame, []
        for column, wanted in names.items():
            frame = self._keep(frame, column, wanted)
        if clauses:
            named = {clause.column for clause in clauses_of(clauses, frame.columns)} - set(frame.columns)
            if "duration" in named:
                frame = replace(self, frame=frame).with_durations().frame
            elif named & set(ALL_MEASURES):
                frame = replace(self, frame=frame).with_measures().frame
            frame, said = choose_rows(frame, clauses, self.where)
            notes = [problem.message for problem in said]
        return self if frame is self.frame else replace(self, frame=frame, notes=(*self.notes, *notes))

    def with_durations(self) -> Scores:
        """Return the scores with the seconds of every utterance, from the corpora of runs, where no column has them."""
        frame = self.frame
        known = [
            run.corpus.select(
                utterance=pl.col("id").cast(frame.schema["utterance"]),
                duration=run_durations(run),
                source=pl.lit(str(run.folder)),
            )
            for run in self.runs
            if (run.folder / "corpus.parquet").exists()
        ]
        if "duration" in frame.columns or not known:
            return self
        keys = ["utterance", *(["source"] if "source" in frame.columns else [])]
        lengths = pl.concat(known).select(*keys, "duration")
        return replace(self, frame=frame.join(lengths, on=keys, how="left", maintain_order="left"))

    def with_measures(self) -> Scores:
        """Return the scores with the measures of texts and recordings (`ALL_MEASURES`), where a run can tell them.

        A run that was scored before there were any has them taken now, once.
        """
        if self.run is None or self.others or all(name in self.frame.columns for name in ALL_MEASURES):
            return self
        measures = run_measures(self.run)
        new = [name for name in measures.columns if name not in self.frame.columns]
        key = pl.col("utterance").cast(self.frame.schema["utterance"])
        known = measures.select(key, *new)
        return replace(self, frame=self.frame.join(known, on="utterance", how="left", maintain_order="left"))

    def with_texts(self) -> Scores:
        """Return the scores with a column `reference`, what was to be said, where the run's corpus has it."""
        if "reference" in self.frame.columns or self.run is None or self.others:
            return self
        texts = self.run.corpus.select(
            utterance=pl.col("id").cast(self.frame.schema["utterance"]), reference="text"
        )
        return replace(self, frame=self.frame.join(texts, on="utterance", how="left", maintain_order="left"))

    def not_measured(self, name: str) -> str | None:
        """Return why a measure of texts or recordings has no values, and what would enable it."""
        if self.run is None:
            return None
        known = read_config(self.run.folder).get("measures", {})
        return dict(known.get("missing", {})).get(name)

    def _keep(self, frame: pl.DataFrame, column: str, names: list[str]) -> pl.DataFrame:
        _require_choice(column, frame.columns, self.where)
        text = frame[column].cast(pl.String)
        _require_names(names, text.unique(maintain_order=True).drop_nulls().to_list(), column, self.where)
        return frame.filter(text.is_in(names))

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs it came from: none, one, or several that were put together."""
        return ((self.run,) if self.run is not None else ()) + self.others

    @cached_property
    def recognizers(self) -> list[str]:
        """The recognizers that have rows, in the run's order, else in order of appearance."""
        return self._names("recognizer")

    @cached_property
    def scenarios(self) -> list[str]:
        """The scenarios that have rows, in the run's order, else in order of appearance."""
        return self._names("scenario")

    def _names(self, column: str) -> list[str]:
        if column not in self.frame.columns:
            return []
        there = self.frame[column].cast(pl.String).unique(maintain_order=True).drop_nulls().to_list()
        order = self.run.config.get(f"{column}s", ()) if self.run else ()
        return list(dict.fromkeys([*(name for name in order if name in set(there)), *there]))

    @cached_property
    def clean(self) -> Scores:
        """The rows of clean speech; all of them where the table has no scenarios."""
        if "scenario" not in self.frame.columns:
            return self
        return replace(self, frame=self.frame.filter(pl.col("scenario").cast(pl.String) == CLEAN))

    @cached_property
    def attributes(self) -> list[str]:
        """The columns that describe speakers or utterances: candidates for groups and controls."""
        return _attributes(self.run, self.frame.columns)

    def column(self, name: str) -> str:
        """Return what an attribute is called in the frame; an unknown one raises one line.

        An attribute that would hide a column of ours (`words`) has a prefix there.
        """
        return _column(name, self.frame.columns, self.attributes, self.where)

    def groups(self, attribute: str) -> list[str]:
        """Return the groups of an attribute, those with most speakers (then most rows) first."""
        column = self.column(attribute)
        if column not in self._groups:
            self._groups[column] = self._grouped(column)
        return list(self._groups[column])

    @cached_property
    def _groups(self) -> dict[str, list[str]]:
        """The groups by column, once they were asked for: every audit of a report asks again."""
        return {}

    def _grouped(self, column: str) -> list[str]:
        group = pl.col(column).cast(pl.String).alias("group")
        people = [pl.col("speaker")] if column != "speaker" and "speaker" in self.frame.columns else []
        lazy = self.frame.lazy().select(group, *people).group_by(pl.all()).agg(rows=pl.len())
        # A row for each speaker of a group; without speakers, all groups have one.
        sizes = in_parts(lazy).group_by("group").agg(people=pl.len(), rows=pl.col("rows").sum())
        sizes = sizes.drop_nulls("group")
        return sizes.sort("people", "rows", "group", descending=[True, True, False])["group"].to_list()

    def is_comparable(self, attribute: str) -> bool:
        """Say whether the groups of an attribute can be compared one by one."""
        return 2 <= len(self.groups(attribute)) <= MOST_GROUPS

    def in_order(self, table: pl.DataFrame) -> pl.DataFrame:
        """Return a table's rows with recognizers and scenarios in the order of `recognizers` and `scenarios`."""
        keys = []
        for column, names in (("recognizer", self.recognizers), ("scenario", self.scenarios)):
            if column in table.columns:
                rank = {name: index for index, name in enumerate(names)}
                key = pl.col(column).cast(pl.String)
                keys.append(key.replace_strict(rank, default=len(rank), return_dtype=pl.Int64))
        return table.sort(keys, maintain_order=True) if keys else table

    def comparable(self, attribute: str) -> list[str]:
        """Return the groups of an attribute, those with most speakers first; fewer than two or too many are refused."""
        groups = self.groups(attribute)
        if len(groups) < 2 and (lacking := self.without_texts(attribute)) is not None:
            raise RefusedError(lacking)
        require_comparable(groups, attribute)
        return groups

    def without_texts(self, attribute: str) -> Refusal | None:
        """Return why groups that the run's corpus has are not among the scores: they lack reference texts."""
        if self.run is None:
            return None
        column, corpus = self.column(attribute), about_utterances(self.run.corpus)
        if column not in corpus.columns:
            return None
        lacking = corpus.filter(pl.col("reference").is_null())[column].cast(pl.String).drop_nulls()
        unscored = sorted(set(lacking) - set(self.groups(attribute)))
        if not unscored:
            return None
        text = f"the utterances of {listed(unscored)} have no reference text"
        return Refusal("no_references", attribute, text, {"groups": unscored})

    @property
    def on_whom(self) -> str:
        """What follows a rate of a run: `, for 9 speakers`, or `, for the 16 of 164 speakers whose words are known`."""
        if self.run is None or self.others or "speaker" not in self.frame.columns:
            return ""
        corpus = self.run.corpus.head(int(self.run.config["corpus"]["utterances"]))
        everybody = corpus["speaker"].drop_nulls().n_unique()
        with_texts = corpus.drop_nulls("text")["speaker"].drop_nulls().n_unique()
        scored = self.frame["speaker"].drop_nulls().n_unique()
        if scored == with_texts < everybody:
            return f", for the {scored:,} of {everybody:,} speakers whose words are known"
        return f", for {counted(scored, 'speaker')}" if scored else ""

    def require(self, *columns: str) -> Scores:
        """Return itself; columns that are missing raise one line that names them all, and what is near."""
        require_columns(self.frame, columns, self.where)
        return self

    def errors(self) -> FloatArray:
        """Return word errors per row, nan where there are none: the column `errors`, or the sum of its three kinds."""
        if "errors" in self.frame.columns or not set(COUNTS) <= set(self.frame.columns):
            return self.counts("errors")
        errors = self.counts(COUNTS[0])
        for name in COUNTS[1:]:
            errors += self.counts(name)
        return errors

    def counts(self, name: str) -> FloatArray:
        """Return a column of counts as floats, nan where there is none; other values are refused with their row."""
        self.require(name)
        column = self.frame[name]
        if column.dtype.is_integer() and not column.null_count():  # what tables of counts hold
            values = column.to_numpy().astype(np.float64)
            if not values.min(initial=0.0) < 0.0 and values.max(initial=0.0) <= MOST_COUNTED:
                return values
        numbers = self.numbers(name)
        for wrong, what in (
            (numbers < 0, "is negative; counts are 0 or more"),
            (numbers > MOST_COUNTED, "is not a count"),
            (
                numbers != np.round(numbers),
                "is not a whole number; give counts of errors and words, not rates",
            ),
        ):
            wrong &= ~np.isnan(numbers)
            if wrong.any():
                row = int(wrong.argmax())
                raise VoxauditError(
                    f"{self.where}: row {row + 1:,}, column '{name}': {numbers[row]:g} {what}"
                )
        return numbers

    def numbers(self, name: str) -> FloatArray:
        """Return a column of numbers, nan where there is none; what is no number is refused with its row."""
        self.require(name)
        column = self.frame[name]
        if column.dtype == pl.String:
            text = column.str.strip_chars()
            numbers = text.cast(pl.Float64, strict=False)
            bad = numbers.is_null() & (text != "")
            if bad.any():
                row = int(bad.fill_null(False).arg_max() or 0)
                raise VoxauditError(
                    f"{self.where}: row {row + 1:,}, column '{name}': '{one_line(text[row], 60)}' is not a number"
                )
            column = numbers
        elif not (column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null)):
            raise VoxauditError(f"{self.where}: column '{name}' holds {column.dtype}, not numbers")
        return column.cast(pl.Float64).to_numpy().astype(np.float64)

    def labels(self, name: str, *, ordered: bool = False) -> Labels:
        """Return a column's labels; the names are sorted (numbers by value) where `ordered`."""
        return labels_of(self.frame[name], ordered=ordered)


def require_comparable(groups: Sequence[str], attribute: str) -> None:
    """Refuse groups of an attribute that cannot be compared one by one: fewer than two, or too many."""
    if not groups:
        text = f"no utterance has a value for `{attribute}`"
        raise refuse("one_group", text, about=attribute, see=("attribute",), groups=0)
    if len(groups) == 1:
        text = f"only the group '{groups[0]}' occurs; a comparison needs two"
        raise refuse("one_group", text, about=attribute, see=("attribute",), groups=1)
    if len(groups) > MOST_GROUPS:
        text = f"it has {len(groups):,} groups, more than the {MOST_GROUPS} that are compared one by one"
        raise refuse("too_many_groups", text, about=attribute, see=("attribute",), groups=len(groups))


def in_several_groups(speakers: Sequence[str], attribute: str, about: str = "") -> Refusal:
    """Return why groups are not compared that share speakers, where whole speakers are moved between groups.

    Error rates are compared all the same, a speaker in two groups with himself (`stats.group_ratios`).
    """
    text = (
        f"speaker '{one_line(str(speakers[0]), 60)}' is in several groups of '{attribute}' ({len(speakers):,} such):"
        " groups are compared by whole speakers, each in one of them"
    )
    facts = {"speakers": len(speakers)}
    return Refusal("speakers_in_several_groups", about or attribute, text, facts, see=("attribute",))


def unchanged_notes(runs: Iterable[Run], scenarios: Sequence[str]) -> list[Note]:
    """Return how many recordings a scenario left as they are, where it did: clean speech under another name."""
    return [
        Note(
            "unchanged",
            f"{name} left {100 * counts['unchanged'] / counts['of']:.0f} % of the recordings as they are"
            f" ({counts['unchanged']} of {counts['of']})",
            {"scenario": name, **counts},
        )
        for run in runs
        for name, counts in run.config.get("unchanged", {}).items()
        if name in scenarios and counts["unchanged"]
    ]


def is_run(path: object) -> bool:
    """Say whether a source is a run, or the path of its folder."""
    return isinstance(path, Run) or (isinstance(path, str | Path) and (Path(path) / "run.json").is_file())


@dataclass(frozen=True, eq=False)
class Transcripts:
    """Trials as texts, of a run or a table of any length: nothing is in memory before it is asked for.

    `lazy` has one row per trial: utterance, scenario, recognizer, text (null where the recognizer failed), speaker,
    reference, attributes; `names` are its columns.
    """

    lazy: pl.LazyFrame
    names: tuple[str, ...]
    where: str = "table"
    run: Run | None = None
    folder: Path | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        source: Source,
        *,
        columns: Mapping[str, str] | None = None,
        more: Sequence[str] = (),
        **asked: Unpack[Rows],
    ) -> Transcripts:
        """Open transcripts and keep the rows that are asked about, as `Scores.of` does.

        `scenario` names disturbed scenarios: clean speech, which they are compared with, always stays. A table of
        something else is opened, too; `require` says what it lacks. `more` names further columns of a run's
        transcripts; `failure` is kept, in a table as well, where it is among them.

        >>> table = {"utterance": [1], "scenario": ["clean"], "recognizer": ["a"], "text": ["yes"], "age": [30]}
        >>> Transcripts.of(pl.DataFrame(table), where=["age>=18"]).collect("utterance", "text").row(0)
        ('1', 'yes')
        """
        read = _opened(source, more)
        if columns:
            lazy = renamed(read.lazy, columns, read.where)
            read = replace(read, lazy=lazy, names=tuple(lazy.collect_schema().names()))
        there = [name for name in KEYS if name in read.names]
        read = replace(read, lazy=read.lazy.with_columns(pl.col(there).cast(pl.String)))
        # Many audits read the same run, whose rows are looked at once.
        known = source.found if isinstance(source, Run) and not columns else {}
        if len(there) == len(KEYS) and not known.get("filled"):
            read._require_filled()
            known["filled"] = True
        names, clauses = _choices(asked)
        for column, wanted in names.items():
            read = read._keep(column, wanted)
        return read._meet(clauses) if clauses else read

    def _require_filled(self) -> None:
        """Raise one line where a row does not say which utterance, scenario or recognizer it is about."""
        names = KEYS[:-1]
        missing = self._collected(self.lazy.select(pl.col(names).is_null().arg_true().first()))
        for name, row in zip(names, missing.row(0), strict=True):
            if row is not None:
                raise VoxauditError(
                    f"{self.where}, row {row + 1}: column {name} is empty; fill it in or leave the row out"
                )

    def _keep(self, column: str, names: list[str]) -> Transcripts:
        _require_choice(column, self.names, self.where)
        text = pl.col(column).cast(pl.String)
        known = self._collected(self.lazy.select(text.unique(maintain_order=True)))[column]
        _require_names(names, known.drop_nulls().to_list(), column, self.where)
        if column == "scenario":
            names = [*names, *(name for name in known.drop_nulls().to_list() if is_original(name))]
        return replace(self, lazy=self.lazy.filter(text.is_in(names)))

    def _meet(self, clauses: Sequence[str]) -> Transcripts:
        parsed = clauses_of(clauses, self.names)
        wanted = list(dict.fromkeys(clause.column for clause in parsed))
        known = set(wanted) <= set(self.names)
        table = self._collected(self.lazy.select(wanted) if known else self.lazy.head(0))
        _, said = choose_rows(table, parsed, self.where)
        kept = self.lazy.filter(pl.all_horizontal([condition(clause) for clause in parsed]))
        return replace(self, lazy=kept, notes=(*self.notes, *(problem.message for problem in said)))

    def _collected(self, lazy: pl.LazyFrame) -> pl.DataFrame:
        return collect(lazy, self.where)

    def collect(self, *columns: str, **named: pl.Expr) -> pl.DataFrame:
        """Return some columns of all rows, and what is made of them."""
        return self._collected(self.lazy.select(*columns, **named))

    @property
    def clean(self) -> Transcripts:
        """The rows of clean speech; all of them where there are no scenarios."""
        if "scenario" not in self.names:
            return self
        return replace(self, lazy=self.lazy.filter(pl.col("scenario").cast(pl.String) == CLEAN))

    def scores(self) -> Scores:
        """Return everything, in memory; names that the scores of a run hold, too, are there once."""
        frame = self._collected(self.lazy)
        known: Scores | None = None if self.run is None else self.run.found.get("scores")
        if known is not None and known.frame.height == frame.height:
            there = [one for one in known.frame.iter_columns() if one.name in frame.columns]
            frame = frame.with_columns(one for one in there if one.equals(frame[one.name], check_dtypes=True))
        return Scores(frame, self.where, self.run, self.folder, self.notes)

    def require(self, *columns: str) -> Transcripts:
        """Return itself; columns that are missing raise one line that names them all, and what is near."""
        require_columns(pl.DataFrame(schema=dict.fromkeys(self.names, pl.Null)), columns, self.where)
        return self

    def column(self, name: str) -> str:
        """Return what an attribute is called here; an unknown one raises one line (see `Scores.column`)."""
        return _column(name, self.names, _attributes(self.run, self.names), self.where)

    def utterances(self, **columns: str) -> pl.DataFrame:
        """Return the different rows of `utterance` and some columns ({name: column}) as text, in order of appearance.

        A column that is not there is null. Others may differ from trial to trial: to keep them would be to keep the
        whole table.
        """
        missing = pl.lit(None, dtype=pl.String)
        about = {
            name: pl.col(column).cast(pl.String) if column in self.names else missing
            for name, column in columns.items()
        }
        return self._collected(self.lazy.select("utterance", **about).unique(maintain_order=True))

    def kinds(self) -> pl.DataFrame:
        """Return how many trials (`rows`) there are of each scenario and recognizer, in order of appearance."""
        kinds = self.lazy.group_by("scenario", "recognizer", maintain_order=True).agg(rows=pl.len())
        return self._collected(kinds)

    def batches(self, scenarios: Mapping[str, int]) -> Iterator[tuple[tuple[str, ...], pl.DataFrame]]:
        """Yield the trials (`KEYS`) of scenarios, given with their numbers of rows: as many at a time as are no more
        than `ROWS_AT_A_TIME`, one at least.
        """
        waiting: list[str] = []
        rows = 0
        for scenario, count in scenarios.items():
            if waiting and rows + count > ROWS_AT_A_TIME:
                yield tuple(waiting), self._of_scenarios(waiting)
                waiting, rows = [], 0
            waiting.append(scenario)
            rows += count
        yield tuple(waiting), self._of_scenarios(waiting)

    def _of_scenarios(self, scenarios: Sequence[str]) -> pl.DataFrame:
        return self._collected(self.lazy.filter(pl.col("scenario").is_in(list(scenarios))).select(KEYS))


def _run_of(source: Source) -> Source:
    return open_run(source) if not isinstance(source, Run) and is_run(source) else source


def read_trials(
    source: Source,
    *,
    columns: Mapping[str, str] | None = None,
    more: Sequence[str] = (),
    **asked: Unpack[Rows],
) -> Scores:
    """Return trials for audits that ask about single answers, with durations: one recognizer, clean speech and unknown
    speakers where a table names none.
    """
    source = _run_of(source)
    if isinstance(source, Run) and not columns:
        # Several audits of a report ask for the same trials.
        if (known := source.found.get("trials")) is None:
            known = source.found["trials"] = _trials(source, None, ())
        return _with_columns(known, source, more).select(**asked)
    return _trials(source, columns, more).select(**asked)


def _with_columns(trials: Scores, run: Run, more: Sequence[str]) -> Scores:
    """Return the trials of a run, one per row of its transcripts, with further columns of these."""
    there = run.scan("transcripts").collect_schema().names()
    own = [name for name in more if name in there]
    if not own:
        return trials
    found = run.answers(lambda lazy: lazy.select(own)).rechunk()
    frame = trials.frame.select(*KEYS, *found, pl.exclude(*KEYS, *own))
    return replace(trials, frame=frame)


def _trials(source: Source, columns: Mapping[str, str] | None, more: Sequence[str]) -> Scores:
    opened = Transcripts.of(source, columns=columns, more=more)
    usual = {"scenario": CLEAN, "recognizer": "recognizer", "speaker": None}
    missing = {name: pl.lit(value, pl.String) for name, value in usual.items() if name not in opened.names}
    opened = replace(opened, lazy=opened.lazy.with_columns(**missing), names=(*opened.names, *missing))
    read = opened.require("utterance").scores().with_durations()
    return replace(read, frame=read.frame.rechunk())  # else every query makes one piece of all columns anew


def usable_trials(
    read: Scores, steps: Sequence[tuple[str, str, pl.Expr]]
) -> tuple[pl.DataFrame, IntArray, list[Note]]:
    """Return the answers that pass every step, their rows, and notes of how many do not.

    A step is a code, what those are that do not pass, and who passes. An empty cell of a table is an answer without
    words; in a run it is none.
    """
    frame, notes = read.frame, []
    rows = np.arange(frame.height)
    if read.run is None:
        frame = frame.with_columns(pl.col("text").fill_null(""))
    for code, what, passes in (("failures", "without an answer", pl.col("text").is_not_null()), *steps):
        kept = frame.select(passes).to_series().fill_null(False)
        if out := frame.height - int(kept.sum()):
            notes.append(Note(code, f"{counted(out, 'trial')} {what} left out", {"trials": out}))
            frame, rows = frame.filter(kept), rows[kept.to_numpy()]
    return frame, rows, notes


def _opened(source: Source, more: Sequence[str] = ()) -> Transcripts:
    if isinstance(source, Transcripts):
        return source
    if isinstance(source, list | tuple):
        source = Scores.of(source, texts=True)
    if isinstance(source, Scores):
        if source.run is None or "text" in source.frame.columns:
            frame = source.frame
            return Transcripts(
                frame.lazy(), tuple(frame.columns), source.where, source.run, source.folder, source.notes
            )
        if source.frame is not source.run.scores:
            raise VoxauditError(
                f"{source.where}: these scores are counts of errors, and texts are needed; give the run itself"
            )
        source = source.run
    source = _run_of(source)
    if isinstance(source, Run):
        about = about_utterances(source.corpus)
        lazy = answered(source.scan("transcripts"), keep="failure" in more)
        there = lazy.collect_schema().names()
        own = [*KEYS, *(name for name in more if name in there)]
        lazy = lazy.select(own).join(about.lazy(), on="utterance", how="left", maintain_order="left")
        names = (*own, *about.columns[1:])
        return Transcripts(lazy, names, str(source.folder), source, source.folder)
    where, folder = "table", None
    if isinstance(source, str | Path):
        path, where = Path(source), str(source)
        folder = path.parent
        if path.is_dir():
            raise VoxauditError(
                f"{path}: neither a run's folder nor a table. Give a table, or a finished run"
            )
        # Of transcripts in text files nothing is guessed: the id 007 is not 7.
        plain = path.suffix.lower() in (".csv", ".tsv")
        whole = path.suffix.lower() != ".parquet" or not path.is_file() or not path.stat().st_size
        lazy = read_table(path, strings=plain).lazy() if whole else scan_table(path, {})
    else:
        lazy = source if isinstance(source, pl.LazyFrame) else as_frame(source).lazy()
    if is_trace(lazy.collect_schema().names()):
        lazy = as_trials(collect(lazy, where), where).lazy()
    lazy = answered(own_names(lazy), keep="failure" in more)
    return Transcripts(lazy, tuple(lazy.collect_schema().names()), where, None, folder)


def _choices(asked: Mapping[str, Any]) -> tuple[dict[str, list[str]], list[str]]:
    """Return the names to keep by column, and the clauses that must hold."""
    given = {
        name: [one] if isinstance(one, str) else list(one) for name, one in asked.items() if one is not None
    }
    clauses = given.pop("where", [])
    return given, clauses


def _attributes(run: Run | None, names: Sequence[str]) -> list[str]:
    if run is not None:
        return list(attribute_names(run.corpus.columns))
    return [name for name in names if name not in _KNOWN]


def _require_choice(column: str, names: Sequence[str], where: str) -> None:
    if column not in names:
        raise VoxauditError(f"{where}: no column '{column}', so nothing can be chosen by it", see=(column,))


def _require_names(names: Sequence[str], known: list[str], column: str, where: str) -> None:
    for name in names:
        if name not in known:
            raise unknown(f"{where}: no {column}", name, known, column)


def _column(name: str, names: Sequence[str], attributes: Sequence[str], where: str) -> str:
    if name in (*SCORE_COLUMNS, "reference") and ATTRIBUTE_PREFIX + name in names:
        return ATTRIBUTE_PREFIX + name
    name = own_name(name, names)
    if name not in names:
        raise unknown(f"{where}: no column", name, attributes or names)
    return name


def _read(source: Source) -> Scores:
    if isinstance(source, Scores):
        return source
    source = _run_of(source)
    if isinstance(source, Run):
        if not (source.folder / "scores.parquet").exists():
            raise VoxauditError(f"{source.folder}: no scores.parquet in this folder. Finish the run first")
        if (known := source.found.get("scores")) is None:
            # One for all audits of a run: what it has counted, none of them counts again.
            known = source.found["scores"] = Scores(source.scores, str(source.folder), source, source.folder)
        return known
    if not isinstance(source, str | Path):
        return Scores(own_names(as_frame(source)))
    path = Path(source)
    if not path.is_dir():
        return Scores(own_names(read_table(path)), str(source), folder=path.parent)
    if not (path / "scores.parquet").exists():
        raise VoxauditError(f"{path}: neither a run's folder nor a table. Give a table, or a finished run")
    return Scores(read_table(path / "scores.parquet"), str(source), folder=path)


def about_utterances(corpus: pl.DataFrame) -> pl.DataFrame:
    """Return what the table of a run's corpus knows: utterance, speaker, reference, then the attributes."""
    return corpus.select(
        pl.col("id").alias("utterance"),
        pl.col("speaker"),
        pl.col("text").alias("reference"),
        *(
            pl.col(column).alias(ATTRIBUTE_PREFIX + name if name == "reference" else name)
            for column, name in attribute_names(corpus.columns).items()
        ),
    )


def answered(table: Frame, *, keep: bool = False) -> Frame:
    """Return transcripts whose text is null where a column `failure` says that the recognizer failed; without it,
    unless it is to be kept.
    """
    if not {"failure", "text"} <= set(table.collect_schema().names()):
        return table
    failed = pl.col("failure").cast(pl.String).fill_null("") != ""
    table = table.with_columns(pl.when(~failed).then(pl.col("text")).alias("text"))
    return table if keep else table.drop("failure")


def _together(parts: Sequence[Scores]) -> Scores:
    if len(parts) == 1:
        return parts[0]
    if not parts:
        raise VoxauditError("no scores were given")
    where = ", ".join(part.where for part in parts)
    frames = [
        part.frame.with_columns(source=pl.lit(part.where), draw=_draw(part, place))
        for place, part in enumerate(parts, start=1)
    ]
    runs = [run for part in parts for run in part.runs]
    try:
        together = pl.concat(frames, how="diagonal_relaxed")
    except pl.exceptions.PolarsError as error:
        raise VoxauditError(
            f"{where}: these tables do not fit together: columns of the same name hold different kinds of values"
        ) from error
    return Scores(together, where, runs[0] if runs else None, parts[0].folder, others=tuple(runs[1:]))


def _draw(part: Scores, place: int) -> pl.Expr:
    own = next((name for name in DRAWS if name in part.frame.columns), None)
    if own is not None:
        return pl.col(own).cast(pl.String)
    return pl.lit(f"table {place}" if part.run is None else str(part.run.config.get("seed", place)))


def _require_once(sources: Sequence[Source]) -> None:
    paths = [
        os.path.realpath(one) for one in sources if isinstance(one, str | Path)
    ]  # also of a link to itself
    twice = next((path for place, path in enumerate(paths) if path in paths[:place]), None)
    if twice is not None:
        raise VoxauditError(f"{twice}: this is given twice; it would count as another random draw of itself")
