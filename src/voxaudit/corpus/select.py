"""A part of a corpus: by plain clauses (`accent`, `accent!~united states`, `dnsmos>=3.4`), or by speakers in turn."""

from __future__ import annotations

import hashlib
import math
import os
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

import polars as pl

from voxaudit.corpus.base import COLUMNS, Corpus, CorpusError, Problem, quote
from voxaudit.corpus.describe import durations
from voxaudit.errors import VoxauditError
from voxaudit.registry import suggest, unknown
from voxaudit.tables import own_name, write_table

SRB_ACCENTED = ("accent", "accent!~united states", "accent!~american", "dnsmos>=3.4")
"""The Speech Robust Bench's choice of clean accented speech: an accent is given, it is not American, DNSMOS >= 3.4."""

_CLAUSE = re.compile(r"\s*(!?)\s*([^!=<>~]+?)\s*(?:(!=|!~|>=|<=|=|~|>|<)\s*(.*?)\s*)?", re.DOTALL)
_FORM = "NAME, !NAME, NAME=VALUE, NAME=VALUE|VALUE, NAME!=VALUE, NAME~PART, NAME!~PART, NAME>=NUMBER (also <=, >, <)"

MOST_VALUES = 6
"""Values of a column that are named where a choice leaves nothing."""


@dataclass(frozen=True)
class Clause:
    """One condition on a column. Without `operator`: a value is given, or (`absent`) none is.

    `=` and `!=` compare whole values as they are spelled, or with each of several (`usa|uk`), `~` and `!~` look for a
    part in any case, the others compare numbers. Where a column has no value, every comparison fails: `accent!=us`
    never lets an unknown accent pass.
    """

    column: str
    operator: str = ""
    value: str = ""
    absent: bool = False

    @property
    def values(self) -> list[str]:
        """The whole values that `=` and `!=` compare with: a value may itself have a stroke in it."""
        return list(dict.fromkeys([self.value, *map(str.strip, self.value.split("|"))]))


def parse_clause(text: str) -> Clause:
    """Return the clause that a text says; anything else raises one line."""
    found = _CLAUSE.fullmatch(text)
    if found is None or (found[1] and found[3]):
        raise CorpusError(f"{quote(text)}: not a clause. Write {_FORM}")
    clause = Clause(found[2], found[3] or "", found[4] or "", bool(found[1]))
    if clause.operator and not clause.value:
        raise CorpusError(
            f"{quote(text)}: compares with nothing; for rows without a value write !{clause.column}"
        )
    if clause.operator in (">=", "<=", ">", "<"):
        _number(clause.value, text)
    return clause


def clauses_of(clauses: Sequence[str | Clause], there: Iterable[str]) -> list[Clause]:
    """Return the clauses, each about a column as it is called here: a published table's `locale` is `language`."""
    names = list(there)
    parsed = [clause if isinstance(clause, Clause) else parse_clause(clause) for clause in clauses]
    return [replace(clause, column=own_name(clause.column, names)) for clause in parsed]


def select(corpus: Corpus, clauses: Sequence[str | Clause]) -> Corpus:
    """Return the corpus of the rows that meet every clause; a note says how many.

    Columns are ours (`speaker`, `duration` ...), attributes, or `words`: how many the reference text has. An unknown
    column, a number compared with what is no number, and a choice that leaves nothing raise `CorpusError`.
    """
    if not clauses:
        return corpus
    parsed = clauses_of(clauses, corpus.table.columns)
    table = _with_known(corpus, {clause.column for clause in parsed})
    kept, notes = choose_rows(table, parsed, corpus.name, noun="utterances")
    return replace(corpus, table=kept.select(corpus.table.columns), problems=(*corpus.problems, *notes))


def _with_known(corpus: Corpus, wanted: Collection[str]) -> pl.DataFrame:
    """Return the table with what is known of every utterance though no column says it, where it is asked for.

    `words` are those of the reference text, between blanks; `duration` that of the recording where none is given;
    `corpus` the name of the corpus.
    """
    table = corpus.table
    if "words" in wanted and "words" not in table.columns:
        table = table.with_columns(words=pl.col("text").str.extract_all(r"\S+").list.len())
    if "duration" in wanted and table["duration"].null_count():
        table = table.with_columns(duration=durations(table))
    if "corpus" in wanted and "corpus" not in table.columns:
        table = table.with_columns(corpus=pl.lit(corpus.name))
    return table


def choose_rows(
    table: pl.DataFrame, clauses: Sequence[str | Clause], where: str, *, noun: str = "rows"
) -> tuple[pl.DataFrame, list[Problem]]:
    """Return the rows of a table that meet every clause, and notes: how many, and values that no row has.

    `where` names the table in errors, `noun` what its rows are.
    """
    parsed = clauses_of(clauses, table.columns)
    notes = [problem for clause in parsed for problem in _check(table, clause, where)]
    kept = table.filter(pl.all_horizontal([condition(clause) for clause in parsed]))
    said = " and ".join(_said(clause) for clause in parsed)
    if kept.is_empty():
        raise CorpusError(f"{where}: none of {table.height:,} {noun} meets: {said}{_values(table, parsed)}")
    note = Problem("selected", f"{kept.height:,} of {table.height:,} {noun} chosen: {said}", False)
    return kept, [*notes, note]


def condition(clause: Clause) -> pl.Expr:
    """Return what a clause asks of a row, false where the column has no value."""
    column = pl.col(clause.column)
    text = column.cast(pl.String)
    value = clause.value
    match clause.operator:
        case "":
            return column.is_null() if clause.absent else column.is_not_null()
        case "=":
            found = text.is_in(clause.values)
        case "!=":
            found = ~text.is_in(clause.values)
        case "~":
            found = text.str.to_lowercase().str.contains(value.lower(), literal=True)
        case "!~":
            found = ~text.str.to_lowercase().str.contains(value.lower(), literal=True)
        case operator:
            number, limit = column.cast(pl.Float64), float(value)
            found = {
                ">=": number >= limit,
                "<=": number <= limit,
                ">": number > limit,
                "<": number < limit,
            }[operator]
            found = found & number.is_not_nan()
    return found.fill_null(False)


def _check(table: pl.DataFrame, clause: Clause, where: str) -> list[Problem]:
    """Raise where a clause cannot be meant; note a whole value that no row has: most often a misspelling."""
    if clause.column not in table.columns:
        known = ", ".join(table.columns)
        hint = suggest(clause.column, table.columns)
        if clause.column == "dnsmos":
            hint = " `voxaudit select` measures it and writes a manifest that has it."
        raise CorpusError(f"{where}: no column {clause.column!r} to choose by.{hint} Columns: {known[:500]}")
    column = table[clause.column]
    if clause.operator in (">=", "<=", ">", "<"):
        broken = column.filter(column.is_not_null() & column.cast(pl.Float64, strict=False).is_null())
        if len(broken):
            value = quote(str(broken[0]))
            raise CorpusError(
                f"{where}: {_said(clause)}: {len(broken):,} values are not numbers (first: {value})"
            )
    levels = column.cast(pl.String).unique().drop_nulls()
    if clause.operator not in ("=", "!=") or clause.value in levels:
        return []
    missing = [value for value in clause.values[1:] or clause.values if value not in levels]
    hints = [suggest(value, levels.sort().head(10_000).to_list()) for value in missing]
    return [
        Problem("no_such_value", f"no row has {clause.column} {quote(value)}.{hint}", False)
        for value, hint in zip(missing, hints, strict=True)
    ]


def _values(table: pl.DataFrame, clauses: Sequence[Clause]) -> str:
    """Return the commonest values of the first column that has none of the value asked for, or nothing."""
    for clause in clauses:
        if clause.operator not in ("=", "~") or table.select(condition(clause).any()).item():
            continue
        counts = table[clause.column].cast(pl.String).drop_nulls().value_counts(name="rows")
        levels = counts.sort("rows", clause.column, descending=[True, False])[clause.column].to_list()
        more = f" and {len(levels) - MOST_VALUES:,} more" if len(levels) > MOST_VALUES else ""
        shown = ", ".join(quote(level) for level in levels[:MOST_VALUES])
        return (
            f". {clause.column} has the values {shown}{more}" if levels else f". {clause.column} has no value"
        )
    return ""


def _number(text: str, clause: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise CorpusError(f"{quote(clause)}: {quote(text)} is not a number")
    return number


def _said(clause: Clause) -> str:
    return f"{'!' if clause.absent else ''}{clause.column}{clause.operator}{clause.value}"


def require_attributes(corpus: Corpus, names: Sequence[str], argument: str) -> None:
    """Raise one line, which names the `argument` to see, where a corpus lacks an attribute."""
    for name in names:
        if name not in corpus.attributes:
            raise unknown(f"{corpus.source or corpus.name}: no attribute", name, corpus.attributes, argument)


def choose_utterances(corpus: Corpus, count: int, *, attributes: Sequence[str] = (), seed: int = 0) -> Corpus:
    """Return at most `count` utterances, the same for the same seed, whatever the order of the corpus.

    Groups of the `attributes` take turns, within a group its speakers, so that the speakers, who are the sample, are
    as many as can be. Utterances with a reference text come first: the others can only be aligned with a guess.
    """
    if count < 1:
        raise VoxauditError(f"the number of utterances must be at least 1, not {count}", see=("utterances",))
    require_attributes(corpus, attributes, "attributes")
    table = corpus.table
    if table.height <= count:
        return corpus
    keys = table.select("id", "speaker", "text", *attributes)
    groups: dict[tuple[str, ...], dict[str, list[str]]] = {}
    told = keys.with_columns(told=pl.col("text").fill_null("").str.strip_chars() != "")
    ranked = sorted(
        ((not row["told"], _rank(seed, row["id"]), row) for row in told.iter_rows(named=True)),
        key=lambda one: one[:2],
    )
    for _, _, row in ranked:
        group = tuple(str(row[name]) for name in attributes)
        # An unknown speaker is taken for a person of their own.
        speaker = row["id"] if row["speaker"] is None else f"={row['speaker']}"
        groups.setdefault(group, {}).setdefault(speaker, []).append(row["id"])
    lines = [
        _in_turn(list(groups[group].values()))
        for group in sorted(groups, key=lambda group: _rank(seed, repr(group)))
    ]
    chosen = _in_turn(lines)[:count]
    return replace(corpus, table=table.filter(pl.col("id").is_in(chosen)))


def _in_turn(lines: Sequence[Sequence[str]]) -> list[str]:
    """Return the first of every line, then the second of every line, and so on."""
    return [id_ for turn in zip_longest(*lines) for id_ in turn if id_ is not None]


def _rank(seed: int, name: str) -> bytes:
    # The word in the middle is what it was first drawn for; another one would draw other utterances.
    return hashlib.sha256(f"{seed}\0stutter\0{name}".encode("utf-8", "surrogatepass")).digest()


# A corpus as a manifest that voxaudit, and others, can read again.


MANIFESTS = (".csv", ".tsv", ".jsonl", ".parquet")


def check_manifest_path(path: str | Path) -> Path:
    """Return the path if a manifest can be written there, else raise one line."""
    path = Path(path)
    if path.suffix.lower() not in MANIFESTS:
        raise CorpusError(f"{path}: a manifest ends in one of {', '.join(MANIFESTS)}")
    if not path.absolute().parent.is_dir():
        raise CorpusError(f"{path}: no such folder as {path.absolute().parent}")
    return path


def write_manifest(corpus: Corpus, path: str | Path) -> None:
    """Write a row per utterance: our columns that have values, then the attributes.

    Audio below the manifest's folder is named relative to it, other audio by its full path. CSV and TSV cannot tell an
    empty text (nobody speaks) from none; .jsonl and .parquet can.
    """
    path = check_manifest_path(path)
    root = os.path.realpath(path.absolute().parent)
    table = corpus.table
    unused = [name for name in COLUMNS if name not in ("id", "audio") and not table[name].count()]
    prefix = root.rstrip(os.sep) + os.sep
    below = pl.col("audio").str.starts_with(prefix)
    short = pl.when(below).then(pl.col("audio").str.strip_prefix(prefix)).otherwise("audio")
    table = table.drop(unused).with_columns(short.alias("audio"))
    write_table(table, path)
