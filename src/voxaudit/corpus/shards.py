"""Recordings in tar shards, read where they lie: WebDataset, lhotse Shar, NeMo's tarred datasets.

Only the headers of a shard are read here. A recording is addressed by its place in the file (`files.member_url`), and
those bytes alone are read when it is heard: nothing is unpacked.
"""

from __future__ import annotations

import json
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, cast

from voxaudit.audio import SUFFIXES
from voxaudit.corpus.base import CorpusError
from voxaudit.corpus.json_lines import json_keys, read_json_lines
from voxaudit.corpus.lhotse import cut_records
from voxaudit.corpus.rows import FILE, LINE, Reader, Rows, rows_of
from voxaudit.corpus.text_files import Misfits, readable
from voxaudit.errors import one_line
from voxaudit.files import member_url

LARGEST_TEXT = 1 << 20
"""Bytes: what is said about a recording is shorter."""
_TEXT = (".txt", ".text", ".transcript", ".lab")


_NO_TAR = (tarfile.TarError, ValueError, LookupError, ArithmeticError, RecursionError)
"""What `tarfile` raises of headers that were damaged, or made to do damage."""


class _Modest:
    """A file of which nobody reads much at a time: extended headers say how long they are, and are believed."""

    def __init__(self, file: IO[bytes]) -> None:
        self.seek, self.tell, self._file = file.seek, file.tell, file

    def read(self, size: int) -> bytes:
        if size > LARGEST_TEXT + tarfile.BLOCKSIZE:
            raise tarfile.ReadError(f"a header of {size:,} bytes")
        return self._file.read(size)


def members(shard: Path, misfits: Misfits) -> Iterator[tuple[str, str, bytes | None]]:
    """Yield (name, address, content) of a shard's plain files; the content only of small files that are no audio."""
    with readable(shard), shard.open("rb") as file:
        try:
            with tarfile.open(fileobj=cast("IO[bytes]", _Modest(file)), mode="r:") as tar:
                whole = shard.stat().st_size
                for entry in tar:
                    there = 0 <= entry.size <= whole - entry.offset_data
                    if not entry.isreg() or entry.issparse() or not there:
                        if not entry.isdir():
                            misfits.add(shard.name, one_line(entry.name, 60))
                        continue
                    name = entry.name.removeprefix("./")
                    wanted = PurePosixPath(name).suffix.lower() not in SUFFIXES and entry.size <= LARGEST_TEXT
                    plain = tar.extractfile(entry) if wanted else None
                    url = member_url(shard, entry.offset_data, entry.size, name)
                    yield name, url, None if plain is None else plain.read()
                file.seek(
                    tar.offset
                )  # a header that makes no sense ends the list as zeros do, and nothing is said
                if (rest := file.read(tarfile.BLOCKSIZE)).strip(b"\0"):
                    misfits.add(shard.name, one_line(rest[:40].decode("latin-1"), 60))
        except _NO_TAR as error:
            hint = "; decompress it first" if shard.suffix in (".gz", ".tgz", ".zst") else ""
            raise CorpusError(f"{shard}: not a plain tar file ({one_line(error, 80)}){hint}") from None


def _shards(path: Path, pattern: str = "*.tar") -> list[Path]:
    if path.is_file():
        return [path] if path.suffix == ".tar" else []
    return sorted(file for file in path.glob(pattern) if file.is_file())


def _noted(rows: Rows, misfits: Misfits) -> Rows:
    words = "[entry is not a whole plain file|entries are not whole plain files]"
    return rows.noting(misfits.problem("bad_member", words, "shard"))


def _webdataset(path: Path, shards: list[Path]) -> Rows:
    """Read samples: files of one name up to the first dot. `.txt` is the text; the keys of `.json` are columns."""
    misfits = Misfits()
    records = [record for shard in shards for record in _samples(shard, misfits)]
    home = path if path.is_dir() else path.parent
    # `json` of a sample has the columns that people give it: they are found by their usual names.
    rows = rows_of(records, home)
    return _noted(
        Rows(
            rows.table,
            home,
            {"id": "id", "audio": "audio"},
            files=rows.files,
            unit="sample",
            empty_text=True,
        ),
        misfits,
    )


def _samples(shard: Path, misfits: Misfits) -> Iterator[dict[str, object]]:
    key, sample = "", dict[str, object]()
    for name, url, content in members(shard, misfits):
        folder, _, last = name.rpartition("/")
        stem, _, ending = last.partition(".")
        if (here := f"{folder}/{stem}".lstrip("/")) != key:
            if "audio" in sample:
                yield sample
            key, sample = here, {"id": here, FILE: shard.name}
        sample |= _part(f".{ending.lower()}", url, content)
    if "audio" in sample:
        yield sample


def _part(ending: str, url: str, content: bytes | None) -> dict[str, object]:
    if ending in SUFFIXES:
        return {"audio": url}
    if content is None:
        return {}
    text = content.decode("utf-8", "replace").strip()
    if ending in _TEXT:
        return {"text": text}
    if ending != ".json":
        return {}
    try:
        about = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return (
        {key: value for key, value in about.items() if key not in ("id", "audio")}
        if isinstance(about, dict)
        else {}
    )


def _shar(path: Path) -> Rows:
    """Read the cuts of each shard and find their recordings, by name, in the shard of the same number."""
    misfits, others = Misfits(), Misfits()
    records = []
    for cuts in _shar_cuts(path):
        number = cuts.name.split(".")[1]
        recordings = [*path.glob(f"recording.{number}.tar"), *path.glob(f"audio.{number}.tar")]
        found = {
            name.rpartition(".")[0]: url
            for shard in recordings
            for name, url, _ in members(shard, misfits)
            if PurePosixPath(name).suffix.lower() in SUFFIXES
        }
        records += [record | {FILE: cuts.name} for record in cut_records(cuts, misfits, others, found)]
    rows = rows_of(records, path, unit="line", empty_text=True)
    lost = "[cut has no recording in its shard|cuts have no recording in their shard]"
    return _noted(rows, misfits).noting(others.problem("no_file", lost))


def _shar_cuts(path: Path) -> list[Path]:
    return sorted(path.glob("cuts.*.jsonl.gz")) or sorted(path.glob("cuts.*.jsonl")) if path.is_dir() else []


def _nemo(path: Path) -> Rows:
    """Read the manifest; `shard_id` says in which `audio_N.tar` a recording is, under its name."""
    home, manifests = _nemo_manifests(path)
    if not manifests:
        raise CorpusError(f"{path}: no manifest with shard_id beside audio_N.tar")
    misfits, records = Misfits(), []
    found: dict[str, dict[str, str]] = {}
    for shard in _shards(home):
        number = (re.findall(r"\d+", shard.stem) or [""])[-1]
        found[number] = {name: url for name, url, _ in members(shard, misfits)}
    for manifest in manifests:
        read = read_json_lines(manifest)
        for row, line in zip(read.table.iter_rows(named=True), read.numbers, strict=True):
            name, inside = row.get("audio_filepath") or "", found.get(str(row.get("shard_id")), {})
            # Segments of one recording are told apart by -sub1, -sub2 in the manifest.
            plain = re.sub(r"-sub\d+(?=\.\w+$)", "", name)
            audio = inside.get(name) or inside.get(plain) or inside.get(plain.replace("/", "_"))
            told = {key: value for key, value in row.items() if key not in ("audio_filepath", "offset")}
            records.append(
                told | {"id": name.rpartition(".")[0], "audio": audio, LINE: line, FILE: manifest.name}
                | ({"start": row["offset"]} if row.get("offset") else {})
            )  # fmt: skip
    rows = rows_of(records, home, unit="line", empty_text=True)
    return _noted(
        Rows(rows.table, home, numbers=rows.numbers, files=rows.files, unit="line", empty_text=True), misfits
    )


def _nemo_manifests(path: Path) -> tuple[Path, list[Path]]:
    home = path if path.is_dir() else path.parent
    files = (
        sorted([*home.glob("*manifest*.json"), *home.glob("sharded_manifests/*.json")])
        if path.is_dir()
        else [path]
    )
    whole = [file for file in files if {"audio_filepath", "shard_id"} <= set(json_keys(file))]
    return home, [file for file in whole if file.parent == home] or whole


SHAR = Reader(
    name="shar",
    description="lhotse Shar: cuts.000000.jsonl.gz with recording.000000.tar, read in place",
    example="a folder with cuts.000000.jsonl.gz, recording.000000.tar ...",
    detect=lambda path: bool(_shar_cuts(path)) and bool(_shards(path)),
    rows=_shar,
)
NEMO = Reader(
    name="nemo_tarred",
    description="a NeMo tarred dataset: tarred_audio_manifest.json with audio_0.tar ..., read in place",
    example="a folder with tarred_audio_manifest.json and audio_0.tar ...",
    detect=lambda path: bool(_nemo_manifests(path)[1]) and bool(_shards(_nemo_manifests(path)[0])),
    rows=_nemo,
)
WEBDATASET = Reader.where(
    _shards,
    _webdataset,
    name="webdataset",
    description="WebDataset shards: .tar files with KEY.wav beside KEY.txt or KEY.json, read in place",
    example="shard-000000.tar, or a folder of shards",
    missing="no .tar file here",
)
