"""A coverage-guided fuzzer over the readers of strangers' files. Not collected by pytest; it needs Atheris:

    python -m venv /tmp/fuzz && /tmp/fuzz/bin/pip install atheris .
    /tmp/fuzz/bin/python tests/fuzz/fuzz_readers.py -max_total_time=600 -max_len=4096 -rss_limit_mb=2000 CORPUS_FOLDER

The first byte of an input chooses the reader. Whatever is not a `VoxauditError` of one line is a crash; the input that
made it is written to the working folder, and belongs into `CRASHES` of test_crashes.py once it is mended.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path

FUZZING = __name__ == "__main__"
atheris = import_module("atheris") if FUZZING else None
with atheris.instrument_imports(include=["voxaudit"]) if FUZZING else nullcontext():
    for name in import_module("voxaudit.corpus.rows").FORMATS.names():
        import_module("voxaudit.corpus.rows").FORMATS.load(name)
    for name in ("audio", "align", "config", "recognize", "run.folder", "score.files", "tables"):
        import_module(f"voxaudit.{name}")

from voxaudit import audio  # noqa: E402
from voxaudit.align import read_alignments  # noqa: E402
from voxaudit.config import load_config  # noqa: E402
from voxaudit.corpus import read_corpus  # noqa: E402
from voxaudit.errors import VoxauditError  # noqa: E402
from voxaudit.options import Limits  # noqa: E402
from voxaudit.recognize import make_recognizer  # noqa: E402
from voxaudit.run.folder import read_config  # noqa: E402
from voxaudit.score.files import read_pairs  # noqa: E402
from voxaudit.tables import read_table  # noqa: E402

SMALL = Limits(longest=60, largest=1)


def _config_of_a_run(path: Path) -> object:
    return read_config(path.parent)


READERS: list[tuple[str, Callable[[Path], object]]] = [
    ("manifest.csv", read_corpus),
    ("manifest.tsv", read_corpus),
    ("manifest.jsonl", read_corpus),
    ("cuts.jsonl", lambda path: read_corpus(path, format="lhotse")),
    ("x.cha", read_corpus),
    ("x.stm", read_corpus),
    ("x.ctm", read_corpus),
    ("x.trn", read_corpus),
    ("x.json", lambda path: read_corpus(path, format="seglst")),
    ("x.xml", read_corpus),
    ("audit.toml", load_config),
    ("heard.csv", lambda path: make_recognizer(f"transcripts:{path}").load()),
    ("heard.txt", lambda path: read_pairs(path, path)),
    ("words.TextGrid", read_alignments),
    ("words.ctm", read_alignments),
    ("words.jsonl", read_alignments),
    ("table.csv", read_table),
    ("run.json", _config_of_a_run),
    ("a.wav", lambda path: audio.read(path, rate=16_000, limits=SMALL)),
    ("a.flac", lambda path: audio.read(path, rate=16_000, limits=SMALL)),
]


def read(data: bytes, folder: Path) -> None:
    """Hand the data to the reader that its first byte chooses; a refusal must be one line."""
    name, reader = READERS[data[0] % len(READERS)]
    path = folder / name
    path.write_bytes(data[1:])
    try:
        reader(path)
    except VoxauditError as error:
        said = str(error)
        assert said.strip()
        assert len(said) < 20_000
    finally:
        path.unlink()


if FUZZING:
    with tempfile.TemporaryDirectory() as home:
        inner = Path(home) / "inner"  # some readers look for recordings in the folder above
        inner.mkdir()
        atheris.Setup(sys.argv, lambda data: read(data, inner) if data else None)
        atheris.Fuzz()
