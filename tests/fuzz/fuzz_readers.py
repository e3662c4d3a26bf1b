"""A coverage-guided fuzzer over the readers of strangers' files. Not collected by pytest; it needs Atheris:

    python -m venv /tmp/fuzz && /tmp/fuzz/bin/pip install atheris .
    mkdir /tmp/found && /tmp/fuzz/bin/python tests/fuzz/fuzz_readers.py x.cha -max_total_time=480 -max_len=4096 /tmp/found

The first word is a reader, one of `READERS`; what it found of interest is kept in the folder, which is first filled with
its good file of `SEEDS`. Whatever is not a `VoxauditError` of one line is a crash; the input that made it is written to
the working folder, and belongs into `CRASHES` of test_crashes.py once it is mended.
"""

from __future__ import annotations

import io
import sys
import tarfile
import tempfile
import zlib
from collections.abc import Callable
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path

FUZZING = __name__ == "__main__"
atheris = import_module("atheris") if FUZZING else None
with atheris.instrument_imports(include=["voxaudit", "tomllib"]) if FUZZING else nullcontext():
    for name in import_module("voxaudit.corpus.rows").FORMATS.names():
        import_module("voxaudit.corpus.rows").FORMATS.load(name)
    for name in ("audio", "align", "config", "recognize", "run.folder", "score.files", "tables"):
        import_module(f"voxaudit.{name}")

from voxaudit import audio  # noqa: E402
from voxaudit.align import read_alignments  # noqa: E402
from voxaudit.config import load_config  # noqa: E402
from voxaudit.corpus import read_corpus  # noqa: E402
from voxaudit.corpus.published.ami import read_xml  # noqa: E402
from voxaudit.corpus.rows import FORMATS  # noqa: E402
from voxaudit.errors import VoxauditError  # noqa: E402
from voxaudit.options import Limits  # noqa: E402
from voxaudit.recognize.transcripts import read_transcripts  # noqa: E402
from voxaudit.run.folder import read_config  # noqa: E402
from voxaudit.score.files import read_pairs  # noqa: E402
from voxaudit.tables import read_table  # noqa: E402

SMALL = Limits(longest=60, largest=1)
WHOLE = 1 if not FUZZING else 16
"""Of how many inputs one is read as a corpus in full: the checks after reading take ten times as long as reading."""


def _corpus(name: str) -> Callable[[Path], object]:
    def both(path: Path) -> object:
        if zlib.crc32(path.read_bytes()) % WHOLE == 0:
            return read_corpus(path, format=name)
        return FORMATS.load(name).rows(path)

    return both


READERS: dict[str, Callable[[Path], object]] = {
    "manifest.csv": _corpus("manifest"),
    "manifest.tsv": _corpus("manifest"),
    "manifest.jsonl": _corpus("nemo"),
    "cuts.jsonl": _corpus("lhotse"),
    "x.cha": _corpus("chat"),
    "x.stm": _corpus("stm"),
    "x.ctm": _corpus("ctm"),
    "x.trn": _corpus("trn"),
    "x.json": _corpus("seglst"),
    "x.tar": _corpus("webdataset"),
    "x.xml": read_xml,
    "audit.toml": load_config,
    "heard.csv": read_transcripts,
    "heard.txt": lambda path: read_pairs(path, path),
    "words.TextGrid": read_alignments,
    "words.ctm": read_alignments,
    "words.jsonl": read_alignments,
    "table.csv": read_table,
    "run.json": lambda path: read_config(path.parent),
    "a.wav": lambda path: audio.read(path, rate=16_000, limits=SMALL),
    "a.flac": lambda path: audio.read(path, rate=16_000, limits=SMALL),
}


def _shard() -> bytes:
    """Return a shard of one sample: a recording, its text and its attributes."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        parts = {"a.wav": b"RIFF", "a.txt": b"good day", "a.json": b'{"speaker": "s1", "gender": "f"}'}
        for name, content in parts.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return file.getvalue().rstrip(b"\0") + bytes(512)


# Good files, from which a fuzzer finds the corners of a reader sooner than from nothing.
SEEDS: dict[str, bytes] = {
    "manifest.csv": b"id,path,text,speaker,start,duration,language\na,g.wav,good day,s1,0,1.5,en\nb,g.wav,,s2,,,de\n",
    "manifest.tsv": b"client_id\tpath\tsentence\tage\tgender\taccents\tlocale\ns1\tg.wav\tgood day\ttwenties\tmale\t\ten\n",
    "manifest.jsonl": b'{"audio_filepath": "g.wav", "text": "good day", "duration": 1.5, "speaker": "s1", "offset": 0.5}\n',
    "cuts.jsonl": b'{"id": "c", "start": 0, "duration": 1.5, "channel": 0, "supervisions": [{"id": "s", "recording_id": "r",'
    b' "start": 0, "duration": 1, "text": "good day", "speaker": "s1", "language": "en"}], "recording": {"id": "r",'
    b' "sources": [{"type": "file", "channels": [0], "source": "g.wav"}], "sampling_rate": 16000, "num_samples": 24000,'
    b' "duration": 1.5}, "type": "MonoCut"}\n',
    "x.cha": b"@UTF8\n@Begin\n@Languages:\teng\n@Participants:\tPAR Participant\n@ID:\teng|c|PAR|34;06.|male|||Participant|||\n"
    b"@Media:\tg, audio\n*PAR:\t&-um the <the cat> [/] c@u\xe2\x86\xabc-c\xe2\x86\xabcat (.) sat [*] . \x150_1500\x15\n%mor:\tdet|the\n@End\n",
    "x.stm": b";; comment\ng A s1 0.00 1.50 <o,f0,male> good day {uh / @}\ng A s2 1.50 2.00 ignore_time_segment_in_scoring\n",
    "x.ctm": b"g A 0.00 0.50 good 0.9\ng A 0.50 0.50 day\n",
    "x.trn": b"{uh / @} good day (g)\n",
    "x.json": b'[{"session_id": "g", "start_time": 0, "end_time": "1.5", "words": "good day", "speaker": "s1"}]',
    "x.tar": _shard(),
    "x.xml": b'<?xml version="1.0"?><Trans audio_filename="a"><Speakers><Speaker id="s1" name="x" type="male"/></Speakers><Episode>'
    b'<Section startTime="0" endTime="2"><Turn speaker="s1" startTime="0" endTime="2"><Sync time="0"/>good day</Turn></Section></Episode></Trans>',
    "audit.toml": b'[corpus]\npath = "m.csv"\nattributes = ["gender"]\n[[corpora]]\npath = "n.csv"\nrole = "accented"\n[recognizers.x]\nengine = "moonshine"\n'
    b'[scenarios]\nuse = ["quick", "gaussian_noise:1"]\n[run]\nout = "r"\nseed = 1\n[gates]\nclean_wer = 0.2\n[limits]\nlongest = 60\n',
    "heard.csv": b"id,text\na,good day\nb,\n",
    "heard.txt": b"a good day\nb no\n",
    "words.TextGrid": b'File type = "ooTextFile"\nObject class = "TextGrid"\n\nxmin = 0\nxmax = 1\ntiers? <exists>\nsize = 1\nitem []:\n    item [1]:\n'
    b'        class = "IntervalTier"\n        name = "words"\n        xmin = 0\n        xmax = 1\n        intervals: size = 1\n'
    b'        intervals [1]:\n            xmin = 0\n            xmax = 1\n            text = "good"\n',
    "words.ctm": b"a 1 0.00 0.50 good 0.9\na 1 0.50 0.50 day\n",
    "words.jsonl": b'{"id": "s", "start": 0, "duration": 1, "alignment": {"word": [["good", 0, 0.5], ["day", 0.5, 0.5, 0.9]]}}\n',
    "table.csv": b"recognizer,corpus,language,scenario,errors,words\nx,L,en,clean,1,20\n",
    "run.json": b'{"format": 1, "seed": 0, "corpus": {"path": "m.csv"}, "recognizers": {}, "scenarios": ["clean"], "normalizer": "basic"}',
    "a.wav": b"RIFF\x34\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0\2\0\x10\0data\x10\0\0\0" + bytes(range(16)),
    "a.flac": b'fLaC\0\0\0"\x10\0\x10\0\0\0\x17\0\0\x17\x01\xf4\0\xf0\0\0\0@\xca\xe4<\xac\x93\xb2S\xa05s|\xfd~_E\x85\x84\0\0( \0\0\0reference'
    b' libFLAC 1.4.3 20230623\0\0\0\0\xff\xf8d\x08\0?^\x15w6\xde\x04\0\xff\xff\xff\xff\xff\xff\xff\xfc\xf5\x93',
}  # fmt: skip


def read(name: str, data: bytes, folder: Path) -> None:
    """Hand the data to a reader; a refusal must be one line."""
    path = folder / name
    path.write_bytes(data)
    try:
        READERS[name](path)
    except VoxauditError as error:
        said = str(error)
        assert said.strip()
        assert len(said) < 20_000
    finally:
        path.unlink()


if FUZZING:
    name = sys.argv.pop(1)
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=memory) as home:
        inner = Path(home) / "inner"  # some readers look for recordings in the folder above
        inner.mkdir()
        (inner / "g.wav").write_bytes(SEEDS["a.wav"])  # the recording that the seeds of corpora name
        for given in map(Path, sys.argv[1:]):
            if given.is_dir() and not any(given.iterdir()):
                (given / name).write_bytes(SEEDS[name])
        atheris.Setup(sys.argv, lambda data: read(name, data, inner))
        atheris.Fuzz()
