"""From a table of scores to counts, speakers, groups and controls; what is wrong with a table is said here."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voxaudit.errors import VoxauditError, one_line
from voxaudit.stats.cells import FloatArray, IntArray
from voxaudit.tables import require_columns

COUNTS = ("substitutions", "deletions", "insertions")
MOST_VALUES = 100
"""More values of an attribute, sensitive or control, are a mistake (an id, a number, free text)."""
_FEW = 4096
"""Up to so many rows a dictionary is faster than a query."""
_UNTIDY = re.compile(r"\n\s|\s\n")
"""In names joined by newlines: one that is empty, or has space around it."""


@dataclass(frozen=True)
class Question:
    """Which columns mean what: the sensitive attribute whose gap is measured, the control attributes held fixed ...

    A control named `C(column)` is categorical even where it looks like numbers.
    """

    attribute: str
    errors: str = "errors"
    words: str = "words"
    speaker: str | None = "speaker"
    controls: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    interaction: str | None = None


@dataclass(frozen=True)
class Labels:
    """A column of labels: a code for every row (-1 where there is none) and the names by code, in order."""

    codes: IntArray
    names: tuple[str, ...]

    def at(self, rows: IntArray | None) -> Labels:
        """Return the labels of some rows, without the names that do not occur there."""
        if rows is None:
            return self
        codes = self.codes[rows]
        counts = np.bincount(codes[codes >= 0], minlength=len(self.names))
        if counts.all():
            return Labels(codes, self.names)
        rank = np.append(np.cumsum(counts > 0) - 1, -1)
        return Labels(rank[codes], tuple(n for n, c in zip(self.names, counts, strict=True) if c))


@dataclass(frozen=True)
class Numeric:
    """A control attribute in numbers, one an utterance; nan where there is none."""

    column: str
    values: FloatArray

    def at(self, rows: IntArray | None) -> Numeric:
        """Return the values of some rows."""
        return self if rows is None else Numeric(self.column, self.values[rows])

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which rows have no value."""
        return np.isnan(self.values)


@dataclass(frozen=True)
class Categorical:
    """A control attribute in labels."""

    column: str
    labels: Labels

    def at(self, rows: IntArray | None) -> Categorical:
        """Return the labels of some rows."""
        return Categorical(self.column, self.labels.at(rows))

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which rows have no label."""
        return np.asarray(self.labels.codes < 0)


Control = Numeric | Categorical


@dataclass(frozen=True)
class Frame:
    """The utterances of one fit."""

    group: dict[str, Any]
    """The values of the columns that split the table."""
    errors: FloatArray
    words: FloatArray
    attribute: Labels
    speaker: Labels | None
    controls: tuple[Control, ...]
    interaction: Categorical | None
    left_out: dict[str, int] = field(default_factory=dict)
    """How many utterances were left out, by the reason."""


def frames(
    table: pl.DataFrame, question: Question, where: str = "table", extra: Sequence[Control] = ()
) -> Iterator[Frame]:
    """Check the table and yield one frame for every combination of `question.by`, in order of appearance.

    `extra` are control attributes that are not columns of the table.
    """
    _check_names(table, question, where)
    errors, words = _errors(table, question, where), _counts(table[question.words], question.words, where)
    attribute = _labels(table[question.attribute], ordered=True)
    if len(attribute.names) < 2:
        found = f"only the value '{attribute.names[0]}'" if attribute.names else "no value"
        raise VoxauditError(
            f"{where}: column '{question.attribute}' has {found}; a gap needs at least two groups"
        )
    if len(attribute.names) > MOST_VALUES:
        raise VoxauditError(
            f"{where}: column '{question.attribute}' has {len(attribute.names):,} values, too many to compare as"
            " groups. Merge them into fewer, or name the column in --controls if they are numbers"
        )
    speaker = None if question.speaker is None else _speakers(table[question.speaker], where)
    controls = [*(_control(table, name, where) for name in question.controls), *extra]
    for one in controls:
        if isinstance(one, Categorical) and len(one.labels.names) > MOST_VALUES:
            raise VoxauditError(
                f"{where}: control attribute '{one.column}' has {len(one.labels.names):,} different labels, too many"
                " to hold fixed. Merge them into fewer"
            )
    interaction = None
    if question.interaction:
        interaction = Categorical(question.interaction, _labels(table[question.interaction], ordered=True))
    reasons = {
        "no counts": np.isnan(errors) | np.isnan(words),
        "no reference words": words == 0,
        f"no value of {question.attribute}": attribute.codes < 0,
    }
    for one in (*controls, *([interaction] if interaction else [])):
        reasons[f"no value of {one.column}"] = one.missing
    if (reasons["no counts"] | reasons["no reference words"]).all():
        raise VoxauditError(
            f"{where}: column '{question.words}': no utterance has reference words, so there is no error rate"
        )
    any_reason = np.logical_or.reduce(list(reasons.values()))
    for group, rows in _groups(table, question.by):
        left_out, keep = _left_out(reasons, any_reason, rows)
        yield Frame(
            group=group,
            errors=errors if keep is None else errors[keep],
            words=words if keep is None else words[keep],
            attribute=attribute.at(keep),
            speaker=None if speaker is None else speaker.at(keep),
            controls=tuple(one.at(keep) for one in controls),
            interaction=None if interaction is None else interaction.at(keep),
            left_out=left_out,
        )


def _groups(table: pl.DataFrame, by: Sequence[str]) -> Iterator[tuple[dict[str, Any], IntArray | None]]:
    if not by:
        yield {}, None
        return
    split = table.select(by).with_row_index("_row")
    for key, part in split.group_by(list(by), maintain_order=True):
        yield dict(zip(by, key, strict=True)), part["_row"].to_numpy().astype(np.int64)


def _left_out(
    reasons: dict[str, NDArray[np.bool_]], any_reason: NDArray[np.bool_], rows: IntArray | None
) -> tuple[dict[str, int], IntArray | None]:
    """Return how many rows fall to each reason (the first that holds), and the rows that stay."""
    if not any_reason.any():
        return {}, rows
    rows = np.arange(len(any_reason)) if rows is None else rows
    left, found = np.ones(len(rows), dtype=bool), {}
    for reason, holds in reasons.items():
        hit = holds[rows] & left
        if hit.any():
            found[reason] = int(hit.sum())
            left &= ~hit
    return found, rows[left]


def _check_names(table: pl.DataFrame, question: Question, where: str) -> None:
    controls = [_plain(name) for name in question.controls]
    interaction = [question.interaction] if question.interaction else []
    speaker = [question.speaker] if question.speaker is not None else []
    roles = [
        ("the sensitive attribute", question.attribute),
        *(("a control attribute", name) for name in controls),
    ]
    roles += [("the interaction", name) for name in interaction]
    roles += [("a column to split by", name) for name in question.by]
    roles += [("the speaker", name) for name in speaker]
    roles += [("the errors", question.errors), ("the words", question.words)]
    seen: dict[str, str] = {}
    for role, name in roles:
        if name in seen:
            raise VoxauditError(f"{where}: column '{name}' cannot be {seen[name]} and {role} at once")
        seen[name] = role
    errors = [] if _sums_up(table, question) else [question.errors]
    require_columns(
        table, [*errors, question.words, question.attribute, *controls, *interaction, *question.by], where
    )
    if speaker and speaker[0] not in table.columns:
        raise VoxauditError(
            f"{where}: no column '{speaker[0]}' for the speaker. Utterances of one speaker are not independent: name"
            " the column with --speaker, or give --no-random and read the intervals as too narrow"
        )
    if not table.height:
        raise VoxauditError(
            f"{where}: the table has no rows: nothing was scored (no reference texts, or no trial was answered)"
        )


def _sums_up(table: pl.DataFrame, question: Question) -> bool:
    """Tell whether errors are to be added up from a `scores` table's columns."""
    return question.errors == "errors" and "errors" not in table.columns and set(COUNTS) <= set(table.columns)


def _errors(table: pl.DataFrame, question: Question, where: str) -> FloatArray:
    if not _sums_up(table, question):
        return _counts(table[question.errors], question.errors, where)
    one, two, three = (_counts(table[name], name, where) for name in COUNTS)
    return one + two + three


def _counts(column: pl.Series, name: str, where: str) -> FloatArray:
    """Return counts as floats, nan where there is none; other values are refused with their row."""
    if column.dtype.is_integer() and not column.null_count():  # what tables of counts hold
        counts = column.to_numpy().astype(np.float64)
        if not counts.min(initial=0.0) < 0.0:
            return counts
    numbers = _numbers(column, name, where)
    for wrong, what in (
        (numbers < 0, "is negative; counts are 0 or more"),
        (np.isinf(numbers), "is not a count"),
        (numbers != np.round(numbers), "is not a whole number; give counts of errors and words, not rates"),
    ):
        wrong &= ~np.isnan(numbers)
        if wrong.any():
            row = int(wrong.argmax())
            raise VoxauditError(f"{where}: row {row + 1:,}, column '{name}': {numbers[row]:g} {what}")
    return numbers


def _numbers(column: pl.Series, name: str, where: str) -> FloatArray:
    if column.dtype == pl.String:
        text = column.str.strip_chars()
        numbers = text.cast(pl.Float64, strict=False)
        bad = numbers.is_null() & (text != "")
        if bad.any():
            row = int(bad.fill_null(False).arg_max() or 0)
            raise VoxauditError(
                f"{where}: row {row + 1:,}, column '{name}': '{one_line(text[row], 60)}' is not a number"
            )
        column = numbers
    elif not (column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null)):
        raise VoxauditError(f"{where}: column '{name}' holds {column.dtype}, not numbers")
    return column.cast(pl.Float64).to_numpy().astype(np.float64)


def _speakers(column: pl.Series, where: str) -> Labels:
    labels = _labels(column)
    missing = labels.codes < 0
    if missing.any():
        raise VoxauditError(
            f"{where}: row {int(missing.argmax()) + 1:,}, column '{column.name}': no speaker ({int(missing.sum()):,}"
            " such rows). Fill it in, leave these rows out, or give --no-random"
        )
    return labels


def _control(table: pl.DataFrame, name: str, where: str) -> Control:
    column = table[_plain(name)]
    if name != _plain(name) or column.dtype in (pl.Boolean, pl.Categorical, pl.Enum):
        return Categorical(_plain(name), _labels(column, ordered=True))
    if column.dtype == pl.String:
        text = column.str.strip_chars()
        known = text.is_not_null() & (text != "")
        other = known & text.cast(pl.Float64, strict=False).is_null()
        if not known.any() or 2 * int(other.sum()) >= int(known.sum()):
            return Categorical(name, _labels(column, ordered=True))
        if other.any():
            row = int(other.arg_max() or 0)
            raise VoxauditError(
                f"{where}: row {row + 1:,}, column '{name}': '{one_line(text[row], 60)}' among numbers. Leave the"
                f" field empty where the value is unknown, or write C({name}) to compare its values as categories"
            )
    numbers = _numbers(column, name, where)
    if np.isinf(numbers).any():
        raise VoxauditError(
            f"{where}: row {int(np.isinf(numbers).argmax()) + 1:,}, column '{name}': an infinite value"
        )
    return Numeric(name, numbers)


def _labels(column: pl.Series, *, ordered: bool = False) -> Labels:
    """Return a column's labels: text without the space around it; an empty one is missing.

    The names are sorted (numbers by value) where `ordered`, else in order of appearance.
    """
    if column.dtype.is_float():
        column = column.fill_nan(None)
        if (column == column.round(0)).all():  # 1.0 and 0.0 of a table with gaps are the labels 1 and 0
            column = column.cast(pl.Int64)
    if column.dtype != pl.String:
        column = column.cast(pl.String)
    codes, found = _coded(column)
    # Names are mostly clean: look at all of them at once before touching each.
    joined = "\n".join(found)
    texts = [text.strip() for text in found] if _UNTIDY.search(f"\n{joined}\n") else found
    names = texts
    if texts is not found:
        names = list(dict.fromkeys(text for text in texts if text))
    if ordered:
        names = _sorted(names)
    if names == texts:
        return Labels(codes, tuple(names))
    place = {name: code for code, name in enumerate(names)}
    recode = np.array([*(place.get(text, -1) for text in texts), -1], dtype=np.int64)
    return Labels(recode[codes], tuple(names))


def _coded(column: pl.Series) -> tuple[IntArray, list[str]]:
    """Return a code for every text (-1 for null) and the texts by code."""
    if len(column) > 500:
        runs = column.rle().struct.unnest()
        if 4 * runs.height <= len(
            column
        ):  # sorted by speaker, as tables mostly are: code the runs, not the rows
            codes, found = _coded(runs["value"])
            return np.repeat(codes, runs["len"].to_numpy()), found
    if len(column) <= _FEW:
        return _coded_by_hand(column)
    # A dense rank through a frame: the fastest of several ways on tables of a thousand to a million rows.
    ranks = column.to_frame().select(pl.first().rank("dense")).to_series()
    if ranks.null_count():
        ranks = ranks.fill_null(0)
    codes = ranks.to_numpy().astype(np.int64) - 1
    if not len(codes) or codes.max() < 0:
        return codes, []
    place = np.zeros(int(codes.max()) + 2, dtype=np.int64)
    place[codes] = np.arange(len(codes))  # nulls go to the spare last place
    return codes, column.gather(place[:-1]).to_list()


def _coded_by_hand(column: pl.Series) -> tuple[IntArray, list[str]]:
    texts = column.to_list()
    found = list(dict.fromkeys(texts))
    if column.null_count():
        found.remove(None)
    if len(found) == len(texts):
        return np.arange(len(found)), found
    place = {text: code for code, text in enumerate(found)}
    place[None] = -1
    return np.array([place[text] for text in texts], dtype=np.int64), found


def _sorted(names: list[str]) -> list[str]:
    try:
        return sorted(names, key=float)
    except ValueError:
        return sorted(names)


def _plain(name: str) -> str:
    return name[2:-1].strip() if name.startswith("C(") and name.endswith(")") else name
