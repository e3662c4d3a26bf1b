"""A reference without words is not a missing reference, where the source can tell them apart."""

import json

import numpy as np
import polars as pl
import pytest
import soundfile

from voxaudit.corpus import read_corpus


@pytest.fixture
def clip(tmp_path):
    soundfile.write(tmp_path / "a.wav", np.zeros(1600, np.float32), 16000)
    return tmp_path


@pytest.mark.parametrize("audio", ["path", "audio_filepath"], ids=["manifest", "nemo"])
def test_json_tells_silence_from_no_transcript(clip, audio):
    rows = [
        {"id": n, audio: "a.wav", "duration": 0.1, "text": t}
        for n, t in [("x", ""), ("y", None), ("z", "hi")]
    ]
    (clip / "m.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    corpus = read_corpus(clip / "m.jsonl")
    assert corpus.table["text"].to_list() == ["", None, "hi"]
    assert {problem.kind for problem in corpus.problems} >= {"empty_text", "missing_text"}


def test_a_manifest_for_inference_has_no_references(clip):
    (clip / "m.jsonl").write_text('{"audio_filepath": "a.wav", "duration": 0.1, "text": ""}\n')
    assert read_corpus(clip / "m.jsonl").table["text"].to_list() == [None]


def test_parquet_does_too_and_csv_cannot(clip):
    table = pl.DataFrame({"path": ["a.wav"] * 3, "id": ["x", "y", "z"], "text": ["", None, "hi"]})
    table.write_parquet(clip / "m.parquet")
    assert read_corpus(clip / "m.parquet").table["text"].to_list() == ["", None, "hi"]
    table.write_csv(clip / "m.csv")
    assert read_corpus(clip / "m.csv").table["text"].to_list() == [None, None, "hi"]


def test_a_duration_without_a_start_only_informs(clip):
    (clip / "m.csv").write_text("path,id,start,duration\na.wav,x,,0.05\na.wav,y,0,0.05\n")
    whole, segment = read_corpus(clip / "m.csv")
    assert whole.duration is None
    assert (segment.start, segment.duration) == (0.0, 0.05)


def test_a_script_without_spaces_is_said(clip):
    rows = ["id,path,text", "x,a.wav,你好世界", "y,a.wav,hello 世 界", "z,a.wav,สวัสดี ครับ"]
    (clip / "m.csv").write_text("\n".join(rows), encoding="utf-8")
    found = {problem.kind: problem for problem in read_corpus(clip / "m.csv").problems}
    assert found["unspaced_text"].count == 2
    assert not found["unspaced_text"].fatal
    assert "normalizer 'unspaced'" in found["unspaced_text"].message
