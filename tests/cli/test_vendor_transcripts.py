"""Somebody else's transcripts, and no audio: a whole run, or a scores table for the audits."""

import json

import polars as pl
import pytest

from voxaudit.cli.main import main


@pytest.fixture
def vendor(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VOXAUDIT_CACHE", str(tmp_path / "cache"))
    lines, heard = ["path,text,speaker,gender"], ["path,text"]
    for number in range(24):
        lines.append(f"audio/{number}.wav,one two three four,s{number % 12},{'fm'[number % 2]}")
        heard.append(f"audio/{number}.wav,one two three {'for' if number % 3 else 'four'}")
    (tmp_path / "manifest.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "vendor.csv").write_text("\n".join(heard) + "\n")
    return tmp_path


def test_a_run_of_transcripts_needs_no_audio(vendor, capsys):
    (vendor / "audit.toml").write_text(
        '[corpus]\npath = "manifest.csv"\nattributes = ["gender"]\n[recognizers.vendor]\nengine = "transcripts"\n'
        'path = "vendor.csv"\n[run]\nout = "run"\n'
    )
    assert main(["run", "audit.toml", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    clean = next(
        one for one in document["findings"] if one["measure"] == "wer" and one["scenario"] == "clean"
    )
    assert clean["estimate"] == pytest.approx(16 / 96)
    assert (vendor / "run" / "report.html").exists()


def test_scores_of_transcripts_are_what_the_audits_read(vendor, capsys):
    arguments = ["score", "manifest.csv", "vendor.csv", "--scores", "scores.parquet", "--name", "vendor"]
    assert main([*arguments, "--columns", "id=path"]) == 0
    scores = pl.read_parquet(vendor / "scores.parquet")
    assert scores.height == 24
    assert scores["recognizer"].unique().to_list() == ["vendor"]
    assert scores["substitutions"].sum() == 16
    capsys.readouterr()
    assert main(["disparity", "scores.parquet", "--attribute", "gender", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    (groups,) = (table for table in answer["tables"] if table["id"] == "groups")
    place = groups["names"].index("utterances")
    assert sum(row[place] for row in groups["rows"]) == 24
    assert {one["recognizer"] for one in answer["findings"]} == {"vendor"}


def test_a_scores_table_has_a_known_ending(vendor, capsys):
    assert (
        main(["score", "manifest.csv", "vendor.csv", "--columns", "id=path", "--scores", "scores.xlsx"]) == 2
    )
    assert ".parquet" in capsys.readouterr().err
