"""Transcripts from files, matched by id."""

from __future__ import annotations

import json

import polars as pl
import pytest

from voxaudit.errors import VoxauditError
from voxaudit.recognize import AnswersById, Recognizer, RecognizerError, Transcript, make_recognizer, require
from voxaudit.recognize.transcripts import read_transcripts


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        return path

    return write


def from_file(path):
    return make_recognizer("transcripts", path=str(path))


NEMO = "\n".join(
    json.dumps(line)
    for line in (
        {
            "audio_filepath": "clips/a.wav",
            "duration": 1.0,
            "text": "the reference",
            "pred_text": "a prediction",
        },
        {"audio_filepath": "clips/b.wav", "duration": 1.0, "text": "another", "pred_text": ""},
        {"audio_filepath": "clips/c.wav", "duration": 1.0, "text": "third", "pred_text": None},
    )
)


@pytest.mark.parametrize(
    ("name", "content", "texts"),
    [
        ("h.csv", "id,text\n007,hello there\nb,\n", {"007": "hello there", "b": ""}),
        ("h.csv", 'Utterance,speaker,Hypothesis,text\n1,x,"yes, sir",ref\n', {"1": "yes, sir"}),
        ("h.tsv", "utt_id\ttranscript\na\tb c\n", {"a": "b c"}),
        ("h.jsonl", '{"id": "a", "text": "x"}\n{"id": "b", "text": "y"}\n', {"a": "x", "b": "y"}),
        ("h.jsonl", '{"id": 1, "text": "x"}\n', {"1": "x"}),
        ("nemo.json", NEMO, {"clips/a.wav": "a prediction", "clips/b.wav": ""}),
        (
            "h.trn",
            ";; made by hand\nhello (again) there (spk1-utt1)\n\n(spk1-utt2)\n",
            {"spk1-utt1": "hello (again) there", "spk1-utt2": ""},
        ),
        ("h.trn", "\ufeffyes (a)\n", {"a": "yes"}),
    ],
)
def test_formats(write, name, content, texts):
    assert read_transcripts(write(name, content)) == texts


def test_parquet_and_named_columns(tmp_path):
    path = tmp_path / "h.parquet"
    pl.DataFrame({"key": ["a", "b"], "text": ["ref", "ref"], "out": ["x", "y"]}).write_parquet(path)
    assert read_transcripts(path, id="key", text="out") == {"a": "x", "b": "y"}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "h.csv",
            "id,text\na,x\nb,y\na,z\n",
            r"h.csv: utterance 'a' has two transcripts \(rows 1 and 3\); keep one",
        ),
        (
            "h.csv",
            "id,words\na,x\n",
            "h.csv: which column is the text. Say text=COLUMN. Columns there: id, words",
        ),
        ("h.csv", "name,text\na,x\n", "which column is the id"),
        ("h.csv", "id,text\n,x\n", "row 1 has no utterance id"),
        ("h.csv", "", "h.csv: the file is empty"),
        ("h.csv", "id,text\na,x\0y\n", "h.csv: row 1, 'a': the recognizer's text has a NUL"),
        ("h.trn", "hello (a)\nhello\n", r"h\.trn: 1 line is not 'words \(id\)' \(line 2: 'hello'\); fix"),
        ("h.trn", ";; only a comment\n", "h.trn: the file is empty"),
        ("h.xyz", "a", "unknown table format"),
    ],
)
def test_mistakes_name_file_and_row(write, name, content, message):
    recognizer = make_recognizer(f"transcripts:{write(name, content)}")
    with pytest.raises(VoxauditError, match=message) as caught:
        require(recognizer)
    assert "\n" not in str(caught.value)


def test_a_named_column_that_is_missing(write):
    recognizer = make_recognizer("transcripts", path=str(write("h.csv", "id,text\na,b\n")), text="txt")
    with pytest.raises(VoxauditError, match=r"no column 'txt'\. Did you mean: text"):
        require(recognizer)


def test_a_missing_file():
    with pytest.raises(RecognizerError, match=r"nowhere\.csv: cannot read this file"):
        make_recognizer("transcripts:nowhere.csv").fingerprint()
    with pytest.raises(RecognizerError, match=r"nowhere\.csv: cannot read this file"):
        require(make_recognizer("transcripts:nowhere.csv"))


def test_lookup_matches_ids_paths_and_names(write):
    recognizer = make_recognizer(f"transcripts:{write('nemo.json', NEMO)}")
    assert isinstance(recognizer, AnswersById)
    assert isinstance(recognizer, Recognizer)
    found = recognizer.lookup(["clips/a.wav", "clips/a", "a", "/data/clips/b.flac", "clips\\b.wav", "c", "d"])
    assert found == {
        "clips/a.wav": Transcript("a prediction"),
        "clips/a": Transcript("a prediction"),
        "a": Transcript("a prediction"),
        "/data/clips/b.flac": Transcript(""),
        "clips\\b.wav": Transcript(""),
    }


def test_names_that_are_not_unique_match_nothing(write):
    recognizer = from_file(write("h.csv", "path,text\nx/a.wav,one\ny/a.wav,two\n"))
    assert recognizer.lookup(["a", "x/a", "y/a.wav"]) == {
        "x/a": Transcript("one"),
        "y/a.wav": Transcript("two"),
    }


def test_ids_with_dots_are_left_alone(write):
    recognizer = from_file(write("h.csv", "id,text\nv1.2,x\n"))
    assert recognizer.lookup(["v1.2", "v1"]) == {"v1.2": Transcript("x")}


def test_a_changed_file_is_read_again_and_has_another_fingerprint(write):
    recognizer = from_file(write("h.csv", "id,text\na,x\n"))
    before = recognizer.fingerprint()
    assert recognizer.lookup(["a"])["a"].text == "x"
    write("h.csv", "id,text\na,longer\n")
    assert recognizer.lookup(["a"])["a"].text == "longer"
    assert recognizer.fingerprint() != before


def test_it_cannot_hear(write):
    with pytest.raises(RecognizerError, match="looked up by id"):
        from_file(write("h.csv", "id,text\na,x\n")).load()


def test_columns_that_hold_no_text_are_left_alone(tmp_path):
    """Lists of words beside a text are what most recognizers write."""
    rows = [{"id": "a", "text": "hi", "words": [{"word": "hi", "start": 0.1}], "tokens": [1, 2]}]
    (tmp_path / "heard.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert read_transcripts(tmp_path / "heard.jsonl") == {"a": "hi"}
    pl.DataFrame([{**rows[0], "bytes": b"\xff"}]).write_parquet(tmp_path / "heard.parquet")
    assert read_transcripts(tmp_path / "heard.parquet") == {"a": "hi"}
    (tmp_path / "heard.jsonl").write_text('{"id": "a", "text": ["hi"]}')
    with pytest.raises(RecognizerError, match="which column is the text"):
        read_transcripts(tmp_path / "heard.jsonl")
