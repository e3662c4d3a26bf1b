"""Read and write the tables users have: CSV, TSV, JSON lines and Parquet, by file ending."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import polars as pl

from voxaudit.errors import VoxauditError, one_line
from voxaudit.registry import suggest

ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet")

OTHER_NAMES = {
    "asr": "recognizer",
    "asr_pair": "pair",
    "transformation": "perturbation",
    "theta": "setting",
    "dataset": "corpus",
    "locale": "language",
}
"""Columns of published tables (AequeVox, calls heard by services), and what they are called here."""

DAMAGE = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError)
"""What reading a table can raise; a damaged Parquet file makes polars panic, too."""

Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)


def total(*columns: str) -> pl.Expr:
    """Return the sums of columns within a group, numbers being added one after the other in the order of the rows.

    `sum` adds in as many parts as there are threads: of fractions, its last digit differs from machine to machine.

    >>> table = pl.DataFrame({"of": ["a", "a", "b"], "hours": [0.5, None, 2.0]})
    >>> table.group_by("of", maintain_order=True).agg(total("hours")).rows()
    [('a', 0.5), ('b', 2.0)]
    """
    return pl.col(*columns).fill_null(0).cum_sum().last()


def added(table: pl.DataFrame, *columns: str) -> pl.Expr:
    """Return the sums of columns of a table within a group as `total` does; whole numbers, faster, in any order."""
    return pl.col(*columns).sum() if all(_are_whole(table[name]) for name in columns) else total(*columns)


def _are_whole(numbers: pl.Series) -> bool:
    kind = numbers.dtype
    return kind.is_integer() or (kind.is_float() and bool((numbers == numbers.floor()).all()))


def mean_of(*columns: str) -> pl.Expr:
    """Return the means of columns within a group, what is missing left out; added up as `total` does."""
    known = pl.col(*columns).count()
    return pl.when(known > 0).then(total(*columns) / known)


def read_table(path: str | Path, *, strings: bool = False, whole: bool = False) -> pl.DataFrame:
    """Read a table; the ending decides the format.

    With `strings`, nothing is guessed: every value stays the text it was (ids such as `007` survive), and columns that
    hold none (lists of words) are left out. With `whole`, every column of a Parquet file is one piece in memory, which
    polars would else make of all columns whenever it groups rows by some.
    `.json` is read as JSON lines, as NeMo writes it. An unreadable file raises one line that names it.
    """
    path = Path(path)
    ending = path.suffix.lower()
    if not path.exists():
        raise VoxauditError(f"{path}: no such file")
    if path.is_dir():
        raise VoxauditError(f"{path}: is a folder, not a table")
    if not path.is_file():  # a device or a pipe would be read for ever
        raise VoxauditError(f"{path}: is not a file")
    if path.stat().st_size == 0:
        raise VoxauditError(f"{path}: the file is empty")
    try:
        if ending == ".parquet":
            lazy = scan_parquet(path, plain=strings)
            # One column after the other, so that only one is in memory twice.
            columns = [pl.nth(place) for place in range(len(lazy.collect_schema()))] if whole else []
            parts = [lazy.select(column).collect().rechunk() for column in columns]
            table = pl.concat(parts, how="horizontal") if whole else lazy.collect()
        elif _is_compressed(path):
            raise VoxauditError(f"{path}: the file is compressed. Decompress it first.")
        elif ending in (".csv", ".tsv"):
            table = pl.read_csv(
                path,
                separator="\t" if ending == ".tsv" else ",",
                infer_schema=not strings,
                infer_schema_length=None,
                glob=False,
            )
        elif ending in (".jsonl", ".ndjson", ".json"):
            with path.open("rb") as file:  # by its path, `[a]` in it would be a pattern
                table = pl.read_ndjson(file, infer_schema_length=None)
        else:
            hint = " Decompress it first." if ending in (".gz", ".zip", ".zst", ".bz2", ".xz") else ""
            raise VoxauditError(
                f"{path}: unknown table format '{ending}'.{hint} Use one of {', '.join(ENDINGS)}"
            )
    except DAMAGE as error:
        raise _unreadable(path, error) from error
    # A length of time is in seconds here, as everywhere; it cannot be written as text otherwise.
    table = table.with_columns(pl.col(pl.Duration).dt.total_microseconds() / 1e6)
    if strings:
        table = table.drop(unwritable(table.schema)).with_columns(
            pl.exclude(pl.String).cast(pl.String, strict=False)
        )
    return table


MOST_CELLS = 200_000_000
"""Rows times columns of a Parquet file: a few kilobytes can say the same value a billion times."""
CELLS_A_BYTE = 20
"""A larger file may hold more, so many values per byte: scores of a run take about 4 bytes for 13 columns."""

_COMPRESSED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x78\x01", b"\x78\x9c", b"\x78\xda")
"""How gzip, zstd and zlib begin: polars would unpack them, to whatever size that is."""


def _is_compressed(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4).startswith(_COMPRESSED)


def scan_parquet(path: Path, *, plain: bool = False) -> pl.LazyFrame:
    """Return a Parquet file to be read, with `plain` without the columns that hold no single values.

    One with more values than can be read raises one line, damage whatever polars raises.
    """
    lazy = pl.scan_parquet(path, glob=False)
    kept = lazy.drop(unwritable(lazy.collect_schema())) if plain else lazy
    rows, columns = lazy.select(pl.len()).collect().item(), len(kept.collect_schema())
    most = max(MOST_CELLS, CELLS_A_BYTE * path.stat().st_size)
    if rows * columns > most:
        raise VoxauditError(
            f"{path}: {rows:,} rows of {columns:,} columns are more than are read ({most:,} values)"
        )
    return kept


def unwritable(schema: Mapping[str, Any]) -> list[str]:
    """Return the columns whose values are no text and cannot be written as one: lists, objects, bytes."""
    return [name for name, kind in schema.items() if kind.is_nested() or kind in (pl.Binary, pl.Object)]


def read_json(path: Path) -> Any:
    """Return the content of a JSON file; what cannot be read, whoever wrote it, raises one line that names it."""
    if path.exists() and not path.is_file():
        raise VoxauditError(f"{path}: is not a file")
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:  # a ValueError too where a number is too long
        raise VoxauditError(f"{path}: cannot read this file ({one_line(error)})") from error


def scan_table(path: Path, types: Mapping[str, Sequence[Any]]) -> pl.LazyFrame:
    """Return a Parquet file to be read in parts, after a check of its columns; use `collect` to read it."""
    if not path.is_file():
        raise VoxauditError(f"{path}: no such file")
    try:
        lazy = scan_parquet(path)
        schema = lazy.collect_schema()
    except DAMAGE as error:
        raise _unreadable(path, error) from error
    require_types(schema, types, path)
    return lazy


def collect(lazy: pl.LazyFrame, where: str | Path) -> pl.DataFrame:
    """Read what a lazy table asks for; damage that is noticed only now raises one line."""
    try:
        return lazy.collect()
    except DAMAGE as error:
        raise _unreadable(where, error) from error


def in_parts(lazy: pl.LazyFrame) -> pl.DataFrame:
    """Return what a lazy table asks for, some rows after the others, so that sums of many rows take no memory.

    Only for whole numbers: fractions are added in an order of their own.
    """
    return lazy.collect(engine="streaming")


def require_types(schema: Mapping[str, Any], types: Mapping[str, Sequence[Any]], where: str | Path) -> None:
    """Raise one line where a table lacks one of these columns, or a column has none of its types.

    A column of nothing but nulls may have any type; one whose name ends in `?` here may be missing.

    >>> require_types({"words": pl.Int64, "text": pl.Null}, {"words": (pl.Int64,), "text": (pl.String,)}, "scores")
    >>> require_types({"words": pl.String}, {"words": (pl.Int64,)}, "scores")
    Traceback (most recent call last):
    voxaudit.errors.VoxauditError: scores: column 'words' holds String, not Int64: damaged, or another program's
    """
    needed = [name for name in types if not name.endswith("?")]
    require_columns(pl.DataFrame(schema=dict.fromkeys(schema, pl.Null)), needed, where)
    for column, allowed in types.items():
        name = column.removesuffix("?")
        if name in schema and schema[name] not in (*allowed, pl.Null):
            raise VoxauditError(
                f"{where}: column '{name}' holds {schema[name]}, not {allowed[0]}: damaged, or another program's"
            )


def _unreadable(where: str | Path, error: BaseException) -> VoxauditError:
    return VoxauditError(f"{where}: cannot read this table: {one_line(error, 200)}")


def require_columns(table: pl.DataFrame, columns: Sequence[str], where: str | Path) -> None:
    """Raise one line that lists every column of `columns` that `table` lacks, with near misses."""
    missing = [column for column in columns if column not in table.columns]
    if missing:
        hints = "".join(suggest(column, table.columns) for column in missing)
        raise VoxauditError(
            f"{where}: no column {', '.join(repr(column) for column in missing)}.{hints}"
            f" Columns there: {', '.join(table.columns)}"
        )


def require_single(names: pl.Series, where: str | Path) -> None:
    """Raise one line where a name stands in several rows of a column."""
    if names.is_duplicated().any():
        twice = one_line(str(names.filter(names.is_duplicated())[0]), 80)
        raise VoxauditError(f"{where}: {names.name} '{twice}' has several rows; keep one")


def plain_names(table: Frame) -> Frame:
    """Return a table whose columns each have a name of their own: polars takes `*` and `^e.*$` for several columns.

    >>> plain_names(pl.DataFrame({"*": [1], "words": [3]})).columns
    ['column *', 'words']
    """
    names = table.collect_schema().names()
    patterns = [name for name in names if name == "*" or (name.startswith("^") and name.endswith("$"))]
    return table.rename({name: f"column {name}" for name in patterns}) if patterns else table


def own_names(table: Frame) -> Frame:
    """Return a published table under our names of columns; a column that is there under both is left alone."""
    table = plain_names(table)
    there = set(table.collect_schema().names())
    return table.rename({old: new for old, new in OTHER_NAMES.items() if old in there and new not in there})


def own_name(name: str, there: Iterable[str]) -> str:
    """Return what a column is called here that a user calls by its name in a published table.

    >>> own_name("locale", ["language", "words"]), own_name("locale", ["locale"])
    ('language', 'locale')
    """
    names = set(there)
    return OTHER_NAMES[name] if name not in names and OTHER_NAMES.get(name) in names else name


def as_frame(table: Any) -> pl.DataFrame:
    """Return a polars, pandas or Arrow table as a polars frame.

    >>> as_frame({"words": [3, 4]}).height
    2
    """
    if isinstance(table, pl.DataFrame):
        return table
    if isinstance(table, pl.LazyFrame):
        return table.collect()
    try:
        if hasattr(table, "__arrow_c_stream__"):
            return pl.DataFrame(table)
        if isinstance(table, Mapping):
            return pl.DataFrame(dict(table))
    except (ImportError, TypeError, pl.exceptions.PolarsError):
        pass  # pandas without pyarrow cannot hand over Arrow: its columns can be read one by one
    if hasattr(table, "columns") and hasattr(table, "to_dict"):
        return pl.DataFrame(
            {str(name): list(table[name]) for name in table.columns}, strict=False
        ).with_columns(pl.selectors.float().fill_nan(None))
    raise VoxauditError(
        f"scores come from a run, a path, or a polars, pandas or Arrow table, not from {type(table).__name__}"
    )


def renamed(frame: Frame, columns: Mapping[str, str], where: str) -> Frame:
    """Return the frame with the columns of a user's table under our names; what stood there before is dropped."""
    there = frame.collect_schema().names()
    columns = {ours: own_name(theirs, there) for ours, theirs in columns.items()}
    require_columns(pl.DataFrame(schema=dict.fromkeys(there, pl.Null)), list(columns.values()), where)
    moved = {theirs: ours for ours, theirs in columns.items() if theirs != ours}
    return frame.drop([ours for ours in moved.values() if ours in there]).rename(moved)


def write_atomically(path: Path, write: Callable[[Path], object], *, mode: int = 0o666) -> None:
    """Call `write(temporary)` and move the result to `path`, so that a reader never sees half a file.

    `mode` is who may read it, less what the umask forbids. A full disk or another write error leaves what was there
    and raises one line.
    """
    try:
        temporary = _reserve(path, mode)
        try:
            write(temporary)
            temporary.replace(path)
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise VoxauditError(f"{path}: cannot write ({reason or one_line(error, 200)})") from error


def write_json(path: Path, document: Any, *, indent: int = 1) -> None:
    """Write plain data as JSON, whole or not at all."""
    text = json.dumps(document, indent=indent, ensure_ascii=False) + "\n"
    write_atomically(path, lambda target: target.write_text(text, encoding="utf-8"))


def write_table(table: pl.DataFrame, path: Path) -> None:
    """Write a table as the path's ending says: `.csv`, `.tsv`, `.jsonl` or `.parquet`."""
    writers: dict[str, Callable[[Path], object]] = {
        ".csv": table.write_csv,
        ".tsv": lambda place: table.write_csv(place, separator="\t"),
        ".jsonl": table.write_ndjson,
        ".parquet": table.write_parquet,
    }
    write_atomically(path, writers[path.suffix.lower()])


def _reserve(path: Path, mode: int) -> Path:
    """Make an empty file beside `path`.

    Where others may write, a link that lies under a name they can guess would be followed: so the name is drawn, and
    the file must be new.
    """
    temporary = path.with_name(f".{path.name[:40]}.{secrets.token_hex(8)}.tmp")
    os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
    return temporary


def appended(path: Path) -> BinaryIO:
    """Open a log to add to it; a link that lies there is not followed, for it may lead anywhere."""
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
        return os.fdopen(os.open(path, flags, 0o666), "ab")
    except OSError as error:
        raise VoxauditError(f"{path}: cannot write ({error.strerror or one_line(error, 200)})") from error


def remove_half_written(folder: Path) -> None:
    """Remove what `write_atomically` left in a folder where its process was killed; nobody else may write there now."""
    for path in folder.glob(".*." + "[0-9a-f]" * 16 + ".tmp"):
        with suppress(OSError):
            path.unlink()


def write_parquet(
    path: Path, chunks: Iterable[pl.DataFrame], schema: Mapping[str, pl.DataType | type[pl.DataType]]
) -> None:
    """Write the chunks of a table to one Parquet file, in order and in bounded memory."""
    from polars.io.plugins import register_io_source

    def source(*_: object) -> Iterator[pl.DataFrame]:
        yield from chunks

    lazy = register_io_source(source, schema=pl.Schema(schema))
    write_atomically(path, lazy.sink_parquet)
