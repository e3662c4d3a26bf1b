"""Inputs by which the fuzzer of fuzz_readers.py found crashes, each mended."""

from __future__ import annotations

import pytest
from fuzz_readers import READERS, SEEDS, read

CRASHES: list[tuple[str, bytes]] = [
    ("audit.toml", b"x = " + b"[" * 20_000),
    ("audit.toml", b"[run]\nseed = " + b"9" * 10_000),
    ("audit.toml", b'[recognizers.x]\nengine = "moonshine"\n'),
    ("manifest.tsv", b"path\t*\t^pa.*$\ta\ng.wav\tx\ty\tz\n"),
    ("words.jsonl", b"[" * 20_000),
    ("run.json", b"[" * 200_000),
    ("run.json", b'{"format": 1, "seed": null}'),
    ("run.json", b'{"format": ' + b"1" * 5_000 + b"}"),
]


@pytest.mark.parametrize(("name", "data"), CRASHES, ids=range(len(CRASHES)))
def test_what_crashed_once_is_read_or_refused(tmp_path, name, data):
    read(name, data, tmp_path)


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize(
    "data", [None, b"", b"\0", b"\xff\xfe", b"[" * 5_000, b"{" * 5_000, b'"' * 999, b"\n" * 999]
)
def test_every_reader_reads_or_refuses(tmp_path, name, data):
    read(name, SEEDS[name] if data is None else data, tmp_path)
