"""Nothing of the machine that a report was made on stands in its files."""

from __future__ import annotations

import json

import pytest

from voxaudit.report.build import build_report, write_report
from voxaudit.report.document import (
    Case,
    Column,
    Document,
    Figure,
    Finding,
    Forest,
    GateResult,
    Refusal,
    Section,
    Table,
)
from voxaudit.report.published import published, without_folders
from voxaudit.run import Run
from voxaudit.run.folder import read_config, write_config

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
    shown = published(Document("t", "s", (), (), config=config), [HOME]).config
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


def test_every_text_of_a_document_is_looked_at():
    path = f"{HOME}/x.wav"
    table = Table("t", path, (Column("a", "A"),), ((path,),), path)
    figure = Figure("f", "F", "F", Forest((), "x"), table)
    finding = Finding("i", "a", "refused", path, "m")
    case = Case(path, "r", "clean", None, {}, None, None, None, (), None)
    section = Section(
        "s", "S", (path,), (finding,), (figure,), (table,), (case,), (path,), (Refusal(path, path, path),)
    )
    gate = GateResult("g", False, path)
    document = Document(path, path, (path,), (section,), (gate,), (("what", path),), {"a": [path]})
    assert "jane" not in repr(replace_titles(published(document, [HOME])))


def replace_titles(document):
    """The title of a table is the report's own word."""
    from dataclasses import replace

    def plain(table):
        return replace(table, title="")

    sections = tuple(
        replace(
            one,
            tables=tuple(map(plain, one.tables)),
            figures=tuple(replace(figure, table=plain(figure.table)) for figure in one.figures),
        )
        for one in document.sections
    )
    return replace(document, sections=sections)


def test_no_file_of_a_report_says_where_the_run_lies(make_run, drops, tmp_path):
    run = make_run(drops)
    config = read_config(run.folder)
    config["corpus"]["source"] = f"{run.folder.parent}/data/manifest.csv"
    config["sources"] = {
        "rir": {"description": "rooms", "fingerprint": "x", "folder": str(run.folder.parent / "rooms")}
    }
    write_config(run.folder, config)
    files = write_report(build_report(Run(run.folder), attributes=["accent"]), tmp_path / "out")
    for path in files.values():
        assert str(run.folder.parent) not in path.read_text(encoding="utf-8"), path.name
    assert json.loads(files["findings.json"].read_text(encoding="utf-8"))["run"]["sources"] == {
        "rir": "rooms"
    }
    assert "manifest.csv" in files["report.html"].read_text(encoding="utf-8")
