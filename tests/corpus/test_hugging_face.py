"""Datasets with the audio inside: Parquet, Arrow, and addresses of the Hub."""

from __future__ import annotations

import io

import numpy as np
import polars as pl
import pytest
import soundfile

from voxaudit.audio import read
from voxaudit.corpus import CorpusError, read_corpus
from voxaudit.corpus.hugging_face import unpack


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("VOXAUDIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "audio"


def sound(level: float, kind: str = "WAV") -> bytes:
    out = io.BytesIO()
    soundfile.write(out, np.full(160, level, dtype=np.float32), 16000, format=kind)
    return out.getvalue()


def table(*levels: float) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "audio": [{"bytes": sound(level), "path": f"../../{level}.wav"} for level in levels],
            "text": [f"level {level}" for level in levels],
            "speaker_id": list(range(len(levels))),
            "tags": [["x"]] * len(levels),
        }
    )


def test_parquet_shards_are_unpacked_once(tmp_path, cache):
    data = tmp_path / "set/data"
    data.mkdir(parents=True)
    table(0.1, 0.2).write_parquet(data / "test-00000-of-00001.parquet")
    table(0.2, 0.3).write_parquet(data / "train-00000-of-00001.parquet")
    corpus = read_corpus(tmp_path / "set")
    assert corpus.format == "hugging_face"
    assert corpus.table["id"].to_list() == [
        "test-1",
        "test-2",
        "train-3",
        "train-4",
    ]  # the names are not unique
    assert corpus.table.select("speaker", "text", "split").rows()[:2] == [
        ("0", "level 0.1", "test"),
        ("1", "level 0.2", "test"),
    ]
    first = next(iter(corpus))
    assert np.allclose(read(first.audio).samples, 0.1, atol=1e-4)
    files = sorted(cache.glob("??/*.wav"))
    assert len(files) == 3  # the same recording in two splits is one file
    assert all(file.is_relative_to(cache) for file in files)
    times = {file: file.stat().st_mtime_ns for file in files}
    assert read_corpus(tmp_path / "set").table.equals(corpus.table)
    assert {file: file.stat().st_mtime_ns for file in files} == times
    files[0].unlink()  # somebody cleaned the cache
    assert read_corpus(tmp_path / "set").table.equals(corpus.table)
    assert files[0].is_file()


def test_audio_that_is_not_inside_and_columns_that_hold_more(tmp_path, wavs):
    root = wavs("a.wav")
    frame = pl.DataFrame(
        {"audio": [{"bytes": None, "path": "a.wav"}, {"bytes": sound(0.1, "FLAC"), "path": None}]}
    )
    frame.with_columns(extra=pl.Series([[1], [2]])).write_parquet(root / "x.parquet")
    corpus = read_corpus(root / "x.parquet")
    assert corpus.table["audio"].str.extract(r"\.(\w+)$").to_list() == ["wav", "flac"]
    assert "columns left out: they hold no single values (extra)" in [p.message for p in corpus.problems]
    pl.DataFrame(
        {"audio": [{"bytes": None, "path": None}]}, schema={"audio": frame.schema["audio"]}
    ).write_parquet(root / "y.parquet")
    with pytest.raises(CorpusError, match="1 row names no audio"):
        read_corpus(root / "y.parquet")


def test_arrow_as_save_to_disk_writes_it(tmp_path):
    folder = tmp_path / "saved/test"
    folder.mkdir(parents=True)
    table(0.1, 0.2).write_ipc_stream(folder / "data-00000-of-00001.arrow")
    (folder / "state.json").write_text("{}")
    corpus = read_corpus(tmp_path / "saved")
    assert (corpus.format, corpus.table["split"].to_list()) == ("hugging_face", ["test", "test"])
    assert all(utterance.audio.is_file() for utterance in corpus)
    assert corpus.table["id"].to_list() == ["0.1", "0.2"]  # the recordings' own names
    assert read_corpus(folder).table["text"].to_list() == ["level 0.1", "level 0.2"]


def test_broken_shards(tmp_path):
    (tmp_path / "x.parquet").write_bytes(b"PAR1 broken")
    with pytest.raises(CorpusError) as caught:
        read_corpus(tmp_path / "x.parquet")
    assert "x.parquet" in str(caught.value)
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "y.parquet")
    with pytest.raises(CorpusError, match=r"no column holds audio as \{bytes, path\}"):
        read_corpus(tmp_path / "y.parquet", format="hugging_face")


def test_a_name_inside_cannot_lead_out_of_the_cache(tmp_path):
    path = unpack(b"RIFFxxxx", "../../../etc/cron.d/evil.sh", tmp_path / "c")
    assert path.is_relative_to(tmp_path / "c")
    assert path.suffix == ".wav"
    assert unpack(b"????", "x.exe", tmp_path / "c").suffix == ".wav"
    assert unpack(b"????", "x.OPUS", tmp_path / "c").suffix == ".opus"
    (tmp_path / "file").write_text("")
    with pytest.raises(CorpusError, match="set VOXAUDIT_CACHE"):
        unpack(b"x", None, tmp_path / "file" / "c")


def test_an_address_without_the_package_says_what_to_install(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(
        CorpusError, match=r"hf:org/name\?split=test: needs the datasets package\. Install it: pip"
    ):
        read_corpus("hf:org/name?split=test")
    with pytest.raises(CorpusError, match=r"unknown 'spilt'\. Did you mean: split\?"):
        read_corpus("hf:org/name?spilt=test")
    with pytest.raises(CorpusError, match="limit is a number"):
        read_corpus("/somewhere/hf:org/name?limit=x")
    with pytest.raises(CorpusError, match=r"hf:org/name\?split=dev: needs"):
        read_corpus("hf://datasets/org/name?split=dev")


def test_a_stream_through_the_real_package(tmp_path):
    datasets = pytest.importorskip("datasets")
    folder = tmp_path / "repo"
    folder.mkdir()
    rows = [
        {"audio": {"bytes": sound(level), "path": None}, "text": f"t {level}", "id": 7}
        for level in (0.1, 0.2, 0.3)
    ]
    # Casting, not encoding: that would need torch.
    made = datasets.Dataset.from_list(rows).cast_column("audio", datasets.Audio(decode=False))
    made.to_parquet(folder / "test-00000-of-00001.parquet")
    corpus = read_corpus(f"hf:{folder}?split=test&limit=2")
    assert (corpus.format, corpus.name) == ("hugging_face", "repo")
    assert corpus.table.select("id", "source_id", "text").rows() == [
        ("row-1", "7", "t 0.1"),
        ("row-2", "7", "t 0.2"),
    ]
    assert all(utterance.audio.is_file() for utterance in corpus)
    assert corpus.source == f"hf:{folder}?split=test&limit=2"
    with pytest.raises(CorpusError, match=r"cannot be read \(.*nowhere"):
        read_corpus(f"hf:{folder}?split=nowhere")
    saved = tmp_path / "saved"
    made.save_to_disk(saved)
    assert read_corpus(saved).table["text"].to_list() == ["t 0.1", "t 0.2", "t 0.3"]
