"""Nothing of the machine that a report was made on stands in its files."""

from __future__ import annotations

import polars as pl
import pytest

from voxaudit.answer import (
    Answer,
    Figure,
    Finding,
    Forest,
    Note,
    Refusal,
    Tables,
    tabulate,
)
from voxaudit.render.document import Case, Chapter, GateResult, Question, Report
from voxaudit.render.json import to_json
from voxaudit.render.published import published, without_folders

HOME = "/home/jane doe/secret-project"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/data/speech/a.wav: cannot read this file", "a.wav: cannot read this file"),
        ("cannot read '/data/speech/a.wav'", "cannot read 'a.wav'"),
        ("/a/b/d.wav: gone, see '/etc/x/conf'", "d.wav: gone, see 'conf'"),
        (f"{HOME}/runs/first/a.wav is gone", "runs/first/a.wav is gone"),
        ("~/models/tiny.onnx is missing", "tiny.onnx is missing"),
        (r"C:\Users\jane\a.wav is gone", "a.wav is gone"),
        (r"\\server\jane\speech\a.wav is gone", "a.wav is gone"),
        (r"\\?\C:\Users\jane\a.wav is gone", "a.wav is gone"),
        ("//server/jane/a.wav is gone", "a.wav is gone"),
        ("transcripts:/data/jane/a.csv", "transcripts:a.csv"),
        ("see file:///data/speech/a.wav", "see a.wav"),
        ("../../data/speech/a-01.wav", "a-01.wav"),
        (f"../..{HOME}/x/a-01", "x/a-01"),
        ("folder /data/speech/ is empty", "folder speech is empty"),
        ("http://10.0.0.7:8000/v1/audio: refused", "(private address)/v1/audio: refused"),
        ("see 'http://[::1]:80/v1/audio'", "see '(private address)/v1/audio'"),
        ("see 'http://[fe80/v1'", "see '(address)'"),
        # What is no path of this machine stays.
        ("https://example.org/a/b is an address", "https://example.org/a/b is an address"),
        ("and/or, 3/4, RUN/stutter, a/b/c", "and/or, 3/4, RUN/stutter, a/b/c"),
        ("`voxaudit report RUN --out a/b`", "`voxaudit report RUN --out a/b`"),
        ("wait ... and ../ so on", "wait ... and ../ so on"),
        ("10 dB / 20 dB", "10 dB / 20 dB"),
        ("no slash", "no slash"),
    ],
)
def test_paths_in_sentences_keep_their_names_only(text, shown):
    assert without_folders([HOME])(text) == shown


def test_folders_at_home_are_nobodys_business_either(monkeypatch):
    monkeypatch.setenv("HOME", "/home/jane doe")
    words = without_folders([HOME])
    assert words("/home/jane doe/clients/acme/a.wav is gone") == "a.wav is gone"
    assert words("nothing in /home/jane doe, nor in '/home/jane doe/'") == "nothing in ~, nor in '~/'"
    assert words(f"{HOME}/runs/a.wav is gone") == "runs/a.wav is gone"


def test_the_configuration_keeps_what_a_reader_can_use():
    config = {
        "corpus": {"name": "speech", "source": f"{HOME}/corpus/manifest.csv"},
        "sources": {"rir": {"description": "rooms", "folder": "/data/rooms"}},
        "recognizers": {
            "a": {"settings": {"model": "/opt/models/tiny", "url": "http://10.0.0.7:8000/v1", "beams": 5}},
            "b": {"settings": {"model": r"D:\models\large", "url": "https://example.org/v1", "hmm": ""}},
            "c": {"settings": {"command": ["/opt/bin/asr", "--model=tiny"], "root": "/"}},
        },
    }
    shown = published(Report("t", "s", (), (), config=config), [HOME]).config
    assert shown["corpus"] == {"name": "speech", "source": "corpus/manifest.csv"}
    assert shown["sources"] == {"rir": {"description": "rooms"}}
    assert shown["recognizers"]["a"]["settings"] == {
        "model": "tiny",
        "url": "(private address)/v1",
        "beams": 5,
    }
    assert shown["recognizers"]["b"]["settings"] == {
        "model": "large",
        "url": "https://example.org/v1",
        "hmm": "",
    }
    assert shown["recognizers"]["c"]["settings"] == {"command": ["asr", "--model=tiny"], "root": "."}


def test_every_text_of_a_report_is_looked_at():
    path = f"{HOME}/x.wav"
    rows = [{"a": path, "n": 1, "list": "no path"}, {"a": None, "n": 2, "list": f"see '{path}'"}]
    table = tabulate("t", path, rows, [("a", "A")], note=path)
    figure = Figure("f", path, path, Forest((), "x"), "t")
    finding = Finding("i", "m", "refused", path, command=f"voxaudit score {path}")
    case = Case(path, "r", "clean", None, {}, None, None, None, (), None)
    note, refusal = Note("n", path, {"where": path}), Refusal("c", path, path, {"where": [path]}, path)
    detail = object()
    answer = Answer(
        "a", path, {"corpus": path}, (finding,), Tables([table]), (figure,), (note,), (refusal,), path, detail
    )
    chapter = Chapter("s", "S", (answer,), (path,), (case,), (table,), (note,), (refusal,))
    gate = GateResult("g", False, path)
    report = Report(
        path, path, (Question("", (path, finding)),), (chapter,), (gate,), (("what", path),), {"a": [path]}
    )
    shown = published(report, [HOME])
    (told,) = shown.chapters[0].answers
    assert "jane" not in repr(shown)
    assert "jane" not in to_json(shown)
    assert "jane" not in repr((told.findings, told.figures, told.notes, told.refusals, told.lead, told.title))
    assert told.tables["t"]["a"].to_list() == ["x.wav", None]
    assert told.tables["t"]["list"].to_list() == ["no path", "see 'x.wav'"]
    assert told.tables["t"]["n"].dtype == pl.Int64
    assert told.findings[0].command == "voxaudit score x.wav"
    assert told.detail is detail


def test_a_table_without_paths_keeps_its_frame():
    table = tabulate("t", "T", [{"a": "and/or"}], [("a", "A")])
    report = published(Report("t", "s", (), (Chapter("c", "C", tables=(table,)),)))
    assert report.chapters[0].tables[0].frame is table.frame
