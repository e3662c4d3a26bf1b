"""Corpora, audio and results on other filesystems, by URL."""

from __future__ import annotations

import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from voxaudit import audio, files
from voxaudit.config import load_config
from voxaudit.corpus import CorpusError, read_corpus
from voxaudit.errors import VoxauditError
from voxaudit.options import Limits
from voxaudit.run import run_trials


@pytest.mark.parametrize(
    ("path", "url"),
    [
        ("s3://bucket/a b/c.wav", "s3://bucket/a b/c.wav"),
        (Path("s3://bucket/c.wav"), "s3://bucket/c.wav"),
        (Path("file:///data/c.wav"), "file:///data/c.wav"),
        ("memory://c.wav", "memory://c.wav"),
        ("memory:///c.wav", "memory:///c.wav"),
        (Path("abfs://where@account/c.wav"), "abfs://where@account/c.wav"),
        ("/data/c.wav", None),
        ("c:/data/c.wav", None),
        ("hf:someone/corpus", None),
        ("folder/s3://x", None),
        ("", None),
    ],
)
def test_urls_are_told_from_paths(path, url):
    assert files.url_of(path) == url


@given(
    st.lists(st.text("abc-_.", min_size=1), min_size=2, max_size=4).filter(lambda p: not {".", ".."} & set(p))
)
def test_a_url_survives_pathlib(parts):
    url = "s3://" + "/".join(parts)
    assert files.url_of(Path(url)) == url


def test_without_fsspec_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(
        VoxauditError, match=r"s3://b/m\.csv: URLs need fsspec: pip install 'voxaudit\[remote\]'"
    ):
        read_corpus("s3://b/m.csv")


def clip(samples: int) -> np.ndarray:
    return (0.1 * np.random.default_rng(samples).standard_normal(samples)).astype(np.float32)


@pytest.fixture
def memory():
    """An empty filesystem in this process's memory."""
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed: pip install 'voxaudit[remote]'")
    system = fsspec.filesystem("memory")
    system.store.clear()
    system.pseudo_dirs[:] = [""]
    return system


@pytest.fixture
def folder(tmp_path):
    """A corpus of twelve clips; its manifest has one column `path`."""
    pytest.importorskip("fsspec", reason="fsspec is not installed: pip install 'voxaudit[remote]'")
    home = tmp_path / "corpus"
    home.mkdir()
    for number in range(12):
        soundfile.write(home / f"c{number}.wav", clip(1600 + number), 16000, subtype="FLOAT")
    rows = [f"c{number}.wav,s{number % 3},word {number}" for number in range(12)]
    (home / "manifest.csv").write_text("\n".join(["path,speaker,text", *rows]) + "\n")
    return home


def test_a_corpus_elsewhere_is_read_like_one_here(folder, memory):
    memory.put(str(folder), "/data/corpus", recursive=True)
    there, here = read_corpus("memory://data/corpus/manifest.csv"), read_corpus(folder / "manifest.csv")
    assert there.table.drop("audio").equals(here.table.drop("audio"))
    assert there.table["audio"][3] == "memory://data/corpus/c3.wav"
    assert (there.name, there.source, there.format) == (
        "corpus",
        "memory://data/corpus/manifest.csv",
        "manifest",
    )
    for far, near in zip(there, here, strict=True):
        assert np.array_equal(audio.read(far.audio).samples, audio.read(near.audio).samples)
        assert audio.content_hash(far.audio) == audio.content_hash(near.audio)


def test_a_manifest_here_can_name_audio_there(folder, memory, tmp_path):
    memory.put(str(folder), "/data", recursive=True)
    manifest = tmp_path / "mixed.csv"
    manifest.write_text(f"path\nmemory://data/c1.wav\n{folder}/c2.wav\nmemory://data/c3.wav\n")
    corpus = read_corpus(manifest)
    assert corpus.table["audio"].to_list() == [
        "memory://data/c1.wav",
        f"{folder}/c2.wav",
        "memory://data/c3.wav",
    ]
    assert corpus.table["id"][0] == "memory://data/c1"


@pytest.mark.parametrize("rows", [2, 20])
def test_audio_that_is_not_there_is_named(memory, rows):
    lines = "".join(f"c{number}.wav\n" for number in range(rows))
    memory.pipe("/far/manifest.csv", f"path\n{lines}".encode())
    memory.pipe("/far/c0.wav", b"x")
    with pytest.raises(
        CorpusError, match=rf"{rows - 1} audio files? do(es)? not exist .*looked in memory://far"
    ) as e:
        read_corpus("memory://far/manifest.csv")
    assert "c1.wav" in str(e.value)


def test_what_has_no_end_is_not_read(memory, tmp_path):
    os.mkfifo(tmp_path / "pipe.wav")
    for place in (f"file://{tmp_path}/pipe.wav", "file:///dev/zero", "local:///dev/zero"):
        (tmp_path / "manifest.csv").write_text(f"path,text\n{place},hello\n")
        with pytest.raises(CorpusError, match="audio file does not exist"):
            read_corpus(tmp_path / "manifest.csv")
        for use in (audio.content_hash, audio.read):
            with pytest.raises(audio.AudioError, match="no such file"):
                use(place)
    inside = f"tar://{tmp_path}/pipe.wav@0+{10**17}/a.wav"
    with pytest.raises(audio.AudioError, match="no such file"):
        audio.content_hash(inside)
    soundfile.write(tmp_path / "a.wav", np.zeros(800), 16_000)
    assert audio.read(f"tar://{tmp_path}/a.wav@0+{10**17}/a.wav").duration == 0.05
    assert audio.content_hash(f"tar://{tmp_path}/a.wav@0+{10**17}/a.wav") == audio.content_hash(
        tmp_path / "a.wav"
    )
    memory.pipe("/long.wav", bytes(3_000_000))
    with pytest.raises(audio.AudioError, match=r"more than 2 MB \(`largest`\)"):
        audio.content_hash("memory://long.wav", Limits(largest=2))


def test_a_server_that_sends_without_end_is_left(memory):
    """Asked for a part, it sends what it likes."""
    sent = []

    class Endless(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            for _ in range(60):
                try:
                    self.wfile.write(bytes(1_000_000))
                except OSError:
                    return
                sent.append(1)

        def log_message(self, *_):
            pass

    pytest.importorskip("aiohttp", reason="HTTP by fsspec needs aiohttp")
    with ThreadingHTTPServer(("127.0.0.1", 0), Endless) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/a.wav"
        for use, message in (
            (audio.read, "larger than the limit of 2 MB"),
            (audio.content_hash, "more than 2 MB"),
        ):
            sent.clear()
            with pytest.raises(audio.AudioError, match=message):
                use(url, limits=Limits(largest=2))
            assert len(sent) < 30
        server.shutdown()


INSTRUCTIONS = """{"version": 1, "templates": {}, "refs": {}, "gen": [{"url": "x",
"dimensions": {"i": {"start": 0, "stop": 1}}, "key": "{{ cycler.__init__.__globals__.os.mkdir('OWNED') }}"}]}"""


@pytest.mark.parametrize("outer", ["reference", "zip", "filecache", "dir"])
def test_no_filesystem_is_laid_over_a_file_of_a_strangers(memory, tmp_path, outer):
    """`reference://` renders templates of the file below it: with fsspec of 2024, that runs code."""
    (tmp_path / "x.json").write_text(INSTRUCTIONS.replace("OWNED", str(tmp_path / "owned")).replace("\n", ""))
    url = f"{outer}://a.wav::file://{tmp_path}/x.json"
    (tmp_path / "manifest.csv").write_text(f"path,text\n{url},hello\n")
    with pytest.raises(VoxauditError, match=r"a filesystem inside another \(`::`\) is not opened"):
        read_corpus(tmp_path / "manifest.csv")
    for use in (audio.read, audio.content_hash, files.stamp, files.require):
        with pytest.raises(VoxauditError, match="inside another"):
            use(url)
    assert not (tmp_path / "owned").exists()


def test_mistakes_are_one_line(memory):
    memory.pipe("/broken.csv", b'path,text\n"a.wav,b\n')
    memory.pipe("/noise.wav", b"not audio")
    for wrong, reason in (
        ("memory://none.csv", "memory://none.csv: no such file"),
        ("memory://broken.csv", "memory://broken.csv: row 2"),
        ("memory://folder", "only manifests are read"),
        ("nosuch://x/m.csv", "nosuch://x/m.csv: cannot read .*nosuch"),
    ):
        with pytest.raises(VoxauditError, match=reason) as caught:
            read_corpus(wrong)
        assert "\n" not in str(caught.value)
    with pytest.raises(audio.AudioError, match=r"^memory://noise\.wav: cannot read this audio \([^<]*\)\.$"):
        audio.read("memory://noise.wav")
    with pytest.raises(audio.AudioError, match=r"^memory://gone\.wav: no such file$"):
        audio.read("memory://gone.wav")
    with pytest.raises(audio.AudioError, match=r"^memory://gone\.wav: no such file$"):
        audio.content_hash("memory://gone.wav")


def write_audit(folder: Path, corpus: str, run: str) -> Path:
    (folder / "hears.py").write_text("def hear(samples, rate):\n    return f'word {len(samples)}'\n")
    path = folder / "audit.toml"
    path.write_text(
        f'[corpus]\npath = "{corpus}"\n[recognizers.mine]\nengine = "python"\ncallable = "hears.py:hear"\n'
        f'[scenarios]\nuse = ["gaussian_noise:2"]\n[run]\nworkers = 1\ncache = false\n{run}'
    )
    return path


def test_a_whole_audit_by_url_gives_the_same_tables_and_is_published(folder, memory, tmp_path):
    from voxaudit.pipeline import run_audit

    tables = {}
    for name, corpus in (("here", str(folder / "manifest.csv")), ("there", f"file://{folder}/manifest.csv")):
        home = tmp_path / name
        home.mkdir()
        config = load_config(write_audit(home, corpus, 'publish = "memory://results/first"\n'))
        audit = run_audit(config, progress=False)
        assert audit.run.failures.is_empty()
        tables[name] = (audit.run.transcripts.drop("seconds"), audit.run.scores)
    assert tables["here"][0].equals(tables["there"][0])
    assert tables["here"][1].equals(tables["there"][1])
    published = {path.rpartition("/")[2] for path in memory.find("/results/first")}
    assert {"run.json", "transcripts.parquet", "scores.parquet", "report.html", "summary.md"} <= published
    assert not published & {"lock", "trials.sqlite", "workers.log"}
    with memory.open("/results/first/scores.parquet") as file:
        assert pl.read_parquet(file).equals(tables["there"][1])


def test_a_repeated_run_by_url_hears_nothing_again_and_a_changed_file_is_heard(folder, tmp_path):
    corpus = read_corpus(f"file://{folder}/manifest.csv")
    (tmp_path / "hears.py").write_text("def hear(samples, rate):\n    return f'word {len(samples)}'\n")
    recognizer = {"engine": "python", "callable": f"{tmp_path}/hears.py:hear"}

    def run():
        return run_trials(
            corpus, {"mine": recognizer}, out=tmp_path / "run", scenarios=[], cache=False, progress=False
        )

    first = run().transcripts
    assert run().transcripts.equals(first)  # the seconds, too: nothing was heard
    soundfile.write(folder / "c3.wav", clip(500), 16000, subtype="FLOAT")
    (folder / "c5.wav").unlink()
    second = run().transcripts.sort("utterance")
    changed = second.filter(pl.col("utterance") == "c3")
    assert changed["text"].item() == "word 500"
    lost = second.filter(pl.col("utterance") == "c5")
    assert lost["failure"].item() == f"audio: file://{folder}/c5.wav: no such file"
    others = ~pl.col("utterance").is_in(["c3", "c5"])
    assert second.filter(others).equals(first.sort("utterance").filter(others))


def test_a_run_works_on_this_machine(folder, tmp_path):
    audit = write_audit(tmp_path, str(folder / "manifest.csv"), 'out = "s3://bucket/run"\n')
    from voxaudit.pipeline import run_audit

    with pytest.raises(VoxauditError, match="s3://bucket/run: a run works in a folder on this machine"):
        run_audit(load_config(audit), progress=False)


@pytest.mark.parametrize("where", ["results", "nosuch://bucket"])
def test_a_place_that_cannot_be_published_to_is_said_before_anything_is_heard(folder, tmp_path, where):
    from voxaudit.pipeline import run_audit

    audit = write_audit(tmp_path, str(folder / "manifest.csv"), f'publish = "{where}"\n')
    with pytest.raises(VoxauditError, match=where):
        run_audit(load_config(audit), progress=False)
    assert not (tmp_path / "runs").exists()
