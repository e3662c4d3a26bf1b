"""References and hypotheses from the files people have: plain text, .trn, CSV, TSV, JSON lines, Parquet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars as pl

from voxaudit.corpus.base import quote
from voxaudit.corpus.columns import USUAL_NAMES
from voxaudit.corpus.delimited import read_delimited
from voxaudit.corpus.json_lines import read_json_lines
from voxaudit.corpus.nist import read_trn
from voxaudit.corpus.read import TIMED, is_timed, read_timed
from voxaudit.corpus.text_files import read_column
from voxaudit.errors import VoxauditError, one_line
from voxaudit.score.table import SCORE_COLUMNS, attribute_names
from voxaudit.tables import ENDINGS, read_table, require_columns

Missing = Literal["error", "empty", "skip"]

HYPOTHESIS_NAMES = (
    *("hypothesis", "hyp", "hyp_text", "pred_text", "prediction", "predicted_text", "predicted", "pred"),
    *("recognized", "recognized_text", "asr", "asr_text", "output"),
)
REFERENCE_NAMES = ("reference", "ref", "ref_text", "reference_text", *USUAL_NAMES["text"])
ID_NAMES = (*USUAL_NAMES["id"], *USUAL_NAMES["audio"])
"""Names that columns are found by, in any case, best first. `text` is a hypothesis only in a file of its own."""

GRID = ("scenario", "recognizer")
"""Columns of a transcripts table: an id may come once for every combination of their values."""

_SHOWN = 5
_ID, _SAID, _HEARD = "voxaudit:id", "voxaudit:said", "voxaudit:heard"  # names no file's column has


@dataclass(frozen=True)
class Pairs:
    """References and hypotheses, row by row, with their ids and all other columns of the files.

    `notes` says in words what was left out or filled in.
    """

    ids: pl.Series
    references: pl.Series
    hypotheses: pl.Series
    columns: pl.DataFrame
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)

    def sample(self, most: int) -> Pairs:
        """Return pairs at even distances, at most `most` of them."""
        step = -(-len(self) // most)
        if step <= 1:
            return self
        ids, said, heard = (
            # By way of Python: a gathered column shares the bytes of all texts with the one it was taken from.
            pl.Series(part.name, part.gather_every(step).to_list(), dtype=pl.String)
            for part in (self.ids, self.references, self.hypotheses)
        )
        return Pairs(ids, said, heard, self.columns.gather_every(step), self.notes)


def read_pairs(
    reference_file: str | Path,
    hypothesis_file: str | Path | None = None,
    *,
    id: str | None = None,
    reference: str | None = None,
    hypothesis: str | None = None,
    missing: Missing = "error",
) -> Pairs:
    """Read references and hypotheses from two files, or from one table that has both.

    Plain text is matched line by line, everything else by id. `id`, `reference` and `hypothesis` name columns;
    without them the usual names are looked for. `missing` says what a reference without a hypothesis is: an
    error, an empty hypothesis (all its words are deletions), or skipped.
    """
    said = Path(reference_file)
    if hypothesis_file is None:
        return _one_table(said, id, reference, hypothesis, missing)
    heard = Path(hypothesis_file)
    plain = [path for path in (said, heard) if _is_plain(path)]
    if len(plain) == 2:
        return _line_by_line(said, heard)
    if plain:
        other = heard if plain[0] is said else said
        raise VoxauditError(
            f"{plain[0]} is plain text, matched line by line, but {other} is matched by id;"
            f" give two text files, or two of .trn, {', '.join(ENDINGS)}"
        )
    return _by_id(
        _source(said, _SAID, "reference", id, reference, REFERENCE_NAMES),
        _source(heard, _HEARD, "hypothesis", id, hypothesis, (*HYPOTHESIS_NAMES, *USUAL_NAMES["text"])),
        missing,
    )


@dataclass(frozen=True)
class _Source:
    """A file with ids: `table` has the ids and the texts under our names, and the file's other columns."""

    path: Path
    table: pl.DataFrame


def _is_plain(path: Path) -> bool:
    return path.suffix.lower() not in (".trn", *TIMED, *ENDINGS)


def _line_by_line(said: Path, heard: Path) -> Pairs:
    references, hypotheses = read_column(said), read_column(heard)
    if len(references) != len(hypotheses):
        raise VoxauditError(
            f"{said} has {len(references)} lines but {heard} has {len(hypotheses)}:"
            " plain text is matched line by line, with an empty line for an utterance without words"
        )
    if references.is_empty():
        raise VoxauditError(f"{said} and {heard} are empty: there is nothing to score")
    ids = pl.int_range(1, len(references) + 1, eager=True).cast(pl.String).alias("id")
    return Pairs(ids, references, hypotheses, pl.DataFrame())


def _one_table(
    path: Path, id: str | None, reference: str | None, hypothesis: str | None, missing: Missing
) -> Pairs:
    if path.suffix.lower() not in ENDINGS:
        raise VoxauditError(f"{path}: has references only; name the file of hypotheses too")
    table = _table(path)
    heard = _column(path, table.columns, "hypothesis", hypothesis, HYPOTHESIS_NAMES)
    others = [column for column in table.columns if column != heard]
    said = _column(path, others, "reference", reference, REFERENCE_NAMES)
    if id is not None:
        require_columns(table, [id], path)
    key = id or _find(table.columns, ID_NAMES)
    rows = pl.int_range(1, table.height + 1, eager=True).cast(pl.String)
    frame = table.drop(said, heard).with_columns(
        (rows if key is None else table[key].cast(pl.String).fill_null(rows)).alias(_ID),
        table[said].cast(pl.String).alias(_SAID),
        _transcribed(table, heard).alias(_HEARD),
    )
    return _decided(frame, path, missing, [])


def _by_id(said: _Source, heard: _Source, missing: Missing) -> Pairs:
    grid = [column for column in GRID if column in heard.table.columns and column not in said.table.columns]
    problems = [*_repeated(said, [_ID], "reference"), *_repeated(heard, [_ID, *grid], "hypothesis")]
    if problems:
        raise VoxauditError(f"{'; '.join(problems)}. Ids must be unique; name another column", see=("id",))
    cells = heard.table.select(grid).unique(maintain_order=True) if grid else None
    expected = said.table if cells is None else said.table.join(cells, how="cross")
    extra = [column for column in heard.table.columns if column not in (*said.table.columns, *grid)]
    found = heard.table.select(_ID, *grid, *extra)
    frame = expected.join(found, on=[_ID, *grid], how="left", maintain_order="left", nulls_equal=True)
    unknown = heard.table.join(said.table, on=_ID, how="anti")[_ID]
    notes = []
    if len(unknown) == heard.table.height:
        raise VoxauditError(
            f"{heard.path}: no id is one of {said.path}'s ({quote(unknown[0])} against"
            f" {quote(said.table[_ID][0])}); name the column that matches them",
            see=("id",),
        )
    if len(unknown):
        notes.append(f"{len(unknown)} hypotheses have no reference and are not scored ({_some(unknown)})")
    return _decided(frame, heard.path, missing, notes)


def _decided(frame: pl.DataFrame, path: Path, missing: Missing, notes: list[str]) -> Pairs:
    """Return the pairs of a frame with ids and texts, with a decision about those that are null."""
    unsaid = frame[_SAID].is_null()
    if unsaid.any():
        notes.append(f"{unsaid.sum()} utterances have no reference text and are not scored")
        frame = frame.filter(~unsaid)
    unheard = frame[_HEARD].is_null()
    if unheard.any():
        which = f"{unheard.sum()} of {frame.height} references have no hypothesis ({_some(frame[_ID].filter(unheard))})"
        if missing == "error":
            raise VoxauditError(
                f"{path}: {which}; add them, or choose 'empty' (their words count as deletions)"
                " or 'skip' (they are left out)",
                see=("missing",),
            )
        notes.append(f"{which}: {'counted as deletions' if missing == 'empty' else 'left out'}")
        frame = (
            frame.with_columns(pl.col(_HEARD).fill_null("")) if missing == "empty" else frame.filter(~unheard)
        )
    if frame.is_empty():
        raise VoxauditError(f"{path}: there is nothing to score ({'; '.join(notes) or 'no rows'})")
    return Pairs(frame[_ID], frame[_SAID], frame[_HEARD], frame.drop(_ID, _SAID, _HEARD), tuple(notes))


def _source(
    path: Path, text_name: str, what: str, id: str | None, text: str | None, names: Sequence[str]
) -> _Source:
    if path.suffix.lower() == ".trn":
        return _Source(path, read_trn(path).rename({"id": _ID, "text": text_name}))
    if is_timed(path):
        return _Source(path, read_timed(path).rename({"id": _ID, "text": text_name}))
    table = _table(path)
    words = _column(path, table.columns, what, text, names)
    # A column given as `id` may be the other file's; here the usual names serve then.
    key = id if id in table.columns else _column(path, table.columns, "id", None, ID_NAMES)
    keys = table[key].cast(pl.String)
    empty = (keys.is_null() | (keys.str.strip_chars() == "")).arg_true()
    if len(empty):
        raise VoxauditError(
            f"{path}: {len(empty)} rows have no id in column '{key}' (first: row {empty[0] + 1})"
        )
    texts = _transcribed(table, words)
    return _Source(path, table.drop({key, words}).with_columns(keys.alias(_ID), texts.alias(text_name)))


def _transcribed(table: pl.DataFrame, column: str) -> pl.Series:
    """Return a column of texts, null where a `failure` is recorded beside it."""
    failed = (
        pl.col("failure").cast(pl.String).fill_null("") != "" if "failure" in table.columns else pl.lit(False)
    )
    return table.select(pl.when(~failed).then(pl.col(column).cast(pl.String)).alias("text"))["text"]


def _table(path: Path) -> pl.DataFrame:
    if not path.exists():
        raise VoxauditError(f"{path}: no such file")
    if path.suffix.lower() == ".parquet":
        table = read_table(path)
    else:
        read = read_delimited if path.suffix.lower() in (".csv", ".tsv") else read_json_lines
        source = read(path)
        if source.problems:
            raise VoxauditError(
                f"{path}: {'; '.join(problem.message for problem in source.problems)}; fix the file"
            )
        table = source.table
    if table.is_empty():
        raise VoxauditError(f"{path}: the table has no rows")
    return table


def _repeated(source: _Source, key: Sequence[str], what: str) -> list[str]:
    repeated = source.table.filter(pl.struct(key).is_duplicated())
    if repeated.is_empty():
        return []
    return [
        f"{source.path}: {repeated.height} {what} rows share an id ({_some(repeated[_ID].unique(maintain_order=True))})"
    ]


def _column(path: Path, columns: Sequence[str], what: str, chosen: str | None, names: Sequence[str]) -> str:
    if chosen is not None:
        require_columns(pl.DataFrame(schema=list(columns)), [chosen], path)
        return chosen
    found = _find(columns, names)
    if found is None:
        raise VoxauditError(
            f"{path}: which column is the {what}? Name it."
            f" Columns there: {one_line(', '.join(columns), 300)}",
            see=(what,),
        )
    return found


def _find(columns: Sequence[str], names: Sequence[str]) -> str | None:
    spelled = {
        column.strip().lower().replace(" ", "_").replace("-", "_"): column for column in reversed(columns)
    }
    return next((spelled[name] for name in names if name in spelled), None)


def _some(ids: pl.Series) -> str:
    more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
    return ", ".join(quote(value) for value in ids.head(_SHOWN).to_list()) + more


def scores_of(
    counts: pl.DataFrame,
    ids: pl.Series,
    about: pl.DataFrame,
    *,
    recognizer: str = "recognizer",
    speaker: str | None = None,
) -> pl.DataFrame:
    """Return a `scores` table of counted pairs: one row each, the files' other columns (`about`) as attributes.

    `speaker` names their column of speakers, else it is found by its usual names; without one, speakers are unknown.
    Columns `scenario` and `recognizer` of the files are kept; else all is clean speech heard by `recognizer`.
    """
    usual = {column.lower(): column for column in reversed(about.columns)}
    column = speaker or next((usual[name] for name in USUAL_NAMES["speaker"] if name in usual), None)
    size = len(ids)
    trial = pl.DataFrame(
        {
            "utterance": ids.cast(pl.String),
            "speaker": about[column].cast(pl.String)
            if column
            else pl.repeat(None, size, dtype=pl.String, eager=True),
            "scenario": about["scenario"].cast(pl.String)
            if "scenario" in about.columns
            else pl.repeat("clean", size, eager=True),
            "recognizer": about["recognizer"].cast(pl.String)
            if "recognizer" in about.columns
            else pl.repeat(recognizer, size, eager=True),
        }
    )
    table = pl.concat([trial, counts], how="horizontal").select(SCORE_COLUMNS)
    rest = [name for name in about.columns if name not in ("scenario", "recognizer", column)]
    names = attribute_names(rest)
    others = about.select(pl.col(name).alias(given) for name, given in names.items())
    return pl.concat([table, others], how="horizontal") if names else table
