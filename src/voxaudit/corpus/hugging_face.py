"""Hugging Face datasets with the audio inside: Parquet or Arrow shards on disk, or streamed as hf:org/name."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import parse_qsl

import polars as pl

from voxaudit.audio import SUFFIXES
from voxaudit.corpus.base import CorpusError, Problem
from voxaudit.corpus.folder import glimpse
from voxaudit.corpus.rows import Reader, Rows, table_of
from voxaudit.errors import VoxauditError, one_line
from voxaudit.files import cache_folder
from voxaudit.registry import unknown
from voxaudit.tables import DAMAGE, scan_parquet, write_atomically

BATCH = 256
"""Rows whose audio is held in memory at a time."""
_NAME = "row:name"  # what the source calls a recording
_SHARD = re.compile(r"(.+?)-\d+-of-\d+(?:-\w+)?")


def detect(path: Path) -> bool:
    """Say whether this is an hf: address, or has shards with a column that holds {bytes, path}."""
    if address(path) is not None:
        return True
    shards = _shards(path)
    try:
        return bool(shards) and _audio_column(_schema(shards[0])) is not None
    except DAMAGE:
        return False


def rows(path: Path) -> Rows:
    """Read the table; the audio is unpacked once, by content, into the cache folder of voxaudit."""
    place = address(path)
    if place is not None:
        table = table_of(_record(row, sound) for row, sound in stream_records(place))
        return _as_rows(table, Path.cwd(), [])
    shards = _shards(path)
    if not shards:
        raise CorpusError(f"{path}: no .parquet or .arrow files with audio inside")
    root = path if path.is_dir() else path.parent
    parts = []
    for file in shards:
        try:
            parts.append(_shard(file, root))
        except DAMAGE as error:
            raise CorpusError(f"{file}: cannot be read ({one_line(error, 200)})") from error
    return _as_rows(pl.concat([part for part, _ in parts], how="diagonal_relaxed"), root, parts[0][1])


def _as_rows(table: pl.DataFrame, root: Path, left_out: list[str]) -> Rows:
    message = "columns left out: they hold no single values ({})"
    problems = (Problem("unreadable_column", message.format(", ".join(left_out)), False),) if left_out else ()
    numbers = pl.int_range(1, table.height + 1, dtype=pl.UInt32, eager=True)
    if (
        "id" in table.columns and table["id"].is_duplicated().any()
    ):  # FLEURS: the sentence's, not the recording's
        table = table.rename({"id": "source_id"})
    if "id" not in table.columns:
        table = table.with_columns(_ids(table).alias("id"))
    table = table.drop(_NAME)
    return Rows(table, root, columns={"audio": "audio"}, numbers=numbers, empty_text=True, problems=problems)


def _ids(table: pl.DataFrame) -> pl.Series:
    """Return the recordings' own names where they tell them apart, else split and number: not where they lie here."""
    stems = table[_NAME].str.extract(r"([^/\\]*?)(?:\.\w+)?$", 1)
    if not (stems.null_count() or stems.is_duplicated().any()):
        return stems
    split = pl.col("split") if "split" in table.columns else pl.lit("row")
    return table.select(pl.format("{}-{}", split.fill_null("row"), pl.int_range(1, pl.len() + 1))).to_series()


def _shards(path: Path) -> list[Path]:
    if path.is_dir():
        names = sorted(name for name in glimpse(path) if name.endswith((".parquet", ".arrow")))
        return [path / name for name in names if not name.rsplit("/", 1)[-1].startswith((".", "cache-"))]
    return [path] if path.suffix in (".parquet", ".arrow") and path.is_file() else []


def _schema(file: Path) -> dict[str, Any]:
    return dict(
        scan_parquet(file).collect_schema()
        if file.suffix == ".parquet"
        else pl.read_ipc_stream(file, n_rows=1).schema
    )


def _audio_column(schema: dict[str, Any]) -> str | None:
    """Return the column that is a struct of `bytes` and `path`, the one called audio before others."""
    inside = [
        name
        for name, kind in schema.items()
        if isinstance(kind, pl.Struct) and {"bytes", "path"} <= {field.name for field in kind.fields}
    ]
    return "audio" if "audio" in inside else next(iter(inside), None)


def _shard(file: Path, root: Path) -> tuple[pl.DataFrame, list[str]]:
    """Return a shard's plain columns, its split, and the audio as files; a list of these is kept for the next time."""
    schema = _schema(file)
    column = _audio_column(schema)
    if column is None:
        raise CorpusError(f"{file}: no column holds audio as {{bytes, path}}")
    nested = [name for name, kind in schema.items() if kind.is_nested() or kind == pl.Binary]
    status = file.stat()
    key = hashlib.sha256(
        f"{file.resolve()}\n{status.st_size}\n{status.st_mtime_ns}\n{column}".encode()
    ).hexdigest()
    index = unpacked_folder() / "index" / f"{key}.parquet"
    try:
        files = pl.read_parquet(index).select("audio", _NAME)
        if not all(name is None or Path(name).is_file() for name in files["audio"]):
            raise FileNotFoundError
    except (OSError, pl.exceptions.PolarsError):
        entries = (entry for part in _batches(file, column) for entry in _unpacked(part, file.parent))
        kinds = {"audio": pl.String, _NAME: pl.String}
        files = pl.DataFrame(list(entries), schema=kinds, orient="row")
        index.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(index, files.write_parquet)
    plain = [name for name in schema if name not in nested]
    table = (
        scan_parquet(file, plain=True).collect()
        if file.suffix == ".parquet"
        else pl.read_ipc_stream(file, columns=plain)
    )
    table = table.rename({"audio": "source_audio"} if "audio" in plain else {})
    table = pl.concat([table, files], how="horizontal") if plain else files
    split = _split(file, root)
    if split and "split" not in table.columns:
        table = table.with_columns(split=pl.lit(split))
    return table, [name for name in nested if name != column]


def _split(file: Path, root: Path) -> str | None:
    """Return the split that a shard's name says (test-00000-of-00002), or its folder's (save_to_disk)."""
    found = _SHARD.fullmatch(file.stem)
    if found and found[1] != "data":
        return found[1]
    return file.parent.name if file.parent != root and file.suffix == ".arrow" else None


def _batches(file: Path, column: str) -> Iterator[pl.Series]:
    if file.suffix == ".arrow":  # a stream can only be read as a whole; shards of it are small
        yield pl.read_ipc_stream(file, columns=[column])[column]
        return
    lazy = scan_parquet(file).select(column)
    place = 0
    while len(part := lazy.slice(place, BATCH).collect()[column]):
        yield part
        place += BATCH


def _unpacked(entries: Iterable[Any], beside: Path) -> Iterator[tuple[str | None, str | None]]:
    """Yield where each recording is now, and what the source calls it; one by one: many can be one in the file."""
    folder = unpacked_folder()
    for entry in entries:
        content, name = (entry or {}).get("bytes"), (entry or {}).get("path")
        if content:
            yield str(unpack(content, name, folder)), name
        else:  # the audio was not put inside
            yield os.path.join(beside, name) if name else None, name  # noqa: PTH118


def _record(row: dict[str, Any], sound: str) -> dict[str, object]:
    ((audio, name),) = _unpacked([row.pop(sound)], Path.cwd())
    plain = {key: value for key, value in row.items() if not isinstance(value, dict | list | bytes)}
    renamed = {("source_audio" if key == "audio" else key): value for key, value in plain.items()}
    return renamed | {"audio": audio, _NAME: name}


READER = Reader(
    name="hugging_face",
    description="a Hugging Face dataset with audio inside: .parquet, save_to_disk folder, or hf:org/name?split=test",
    example="data/test-00000-of-00001.parquet, or hf:google/fleurs?config=en_us&split=test&limit=200",
    detect=detect,
    rows=rows,
)


# Recordings that lie inside a table: written once to files of their own, named by their content.

_MAGIC = {
    b"RIFF": ".wav",
    b"fLaC": ".flac",
    b"OggS": ".ogg",
    b"ID3": ".mp3",
    b"\xff\xfb": ".mp3",
    b"\xff\xf3": ".mp3",
    b"FORM": ".aiff",
}


def unpacked_folder() -> Path:
    """Return where unpacked audio is kept: `audio` in voxaudit's cache folder."""
    return cache_folder() / "audio"


def unpack(content: bytes, name: str | None, folder: Path) -> Path:
    """Return the file of this content below `folder`, written if it is not there.

    `name` is what the source calls it: only its ending is used, so that no name can lead out of the folder.
    """
    known = PurePosixPath(name or "").suffix.lower()
    ending = next((ending for magic, ending in _MAGIC.items() if content.startswith(magic)), known)
    digest = hashlib.sha256(content).hexdigest()
    path = folder / digest[:2] / f"{digest}{ending if ending in SUFFIXES else '.wav'}"
    if not path.is_file() or path.stat().st_size != len(content):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, lambda temporary: temporary.write_bytes(content))
        except (OSError, VoxauditError) as error:
            raise CorpusError(f"{folder}: cannot unpack audio here ({error}); set VOXAUDIT_CACHE") from error
    return path


# Datasets of the Hub by address, hf:org/name?split=test, streamed through the `datasets` package.


SCHEME = "hf:"
SETTINGS = ("split", "config", "revision", "limit")
"""What an address can say behind its question mark; `split` is test if it does not."""


def address(path: Path) -> str | None:
    """Return "org/name?split=test" of a path that is an hf: address, else None.

    It may have been joined to a folder, and may be written as the Hub does (hf://datasets/org/name).
    """
    text = path.as_posix()
    place = 0 if text.startswith(SCHEME) else text.find("/" + SCHEME) + 1
    if not text.startswith(SCHEME, place) or path.exists():
        return None
    return text[place + len(SCHEME) :].removeprefix("/datasets/")


def stream_records(place: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the rows of a dataset, the audio as {bytes, path}, with the name of its column."""
    name, _, query = place.partition("?")
    settings = dict(parse_qsl(query))
    for key in settings:
        if key not in SETTINGS:
            raise unknown(f"hf:{place}: unknown", key, SETTINGS, there="Known", error=CorpusError)
    if not settings.get("limit", "1").isdigit():
        raise CorpusError(f"hf:{place}: limit is a number of rows")
    try:
        datasets = import_module("datasets")
    except ImportError:
        raise CorpusError(
            f"hf:{place}: needs the datasets package. Install it: pip install datasets"
        ) from None
    try:
        split, revision = settings.get("split", "test"), settings.get("revision")
        stream = datasets.load_dataset(
            name, settings.get("config"), split=split, revision=revision, streaming=True
        )
        features = stream.features or {}
        sound = next((key for key, kind in features.items() if isinstance(kind, datasets.Audio)), None)
        if sound is None:
            raise CorpusError(f"hf:{place}: no column is audio. Columns: {', '.join(features)}")
        stream = stream.cast_column(sound, datasets.Audio(decode=False))
        for row in stream.take(int(settings["limit"])) if "limit" in settings else stream:
            yield row, sound
    except CorpusError:
        raise
    except Exception as error:  # the package raises many kinds: no network, no such split, no access
        raise CorpusError(f"hf:{place}: cannot be read ({one_line(error, 300)})") from error
