"""Several corpora as one manifest: nothing of one is taken for something of another."""

from __future__ import annotations

import tomllib

import pytest

from voxaudit.cli.main import main
from voxaudit.corpus import merge_corpora, read_corpus


@pytest.fixture
def two(wavs, monkeypatch):
    root = wavs("one/a.wav", "one/b.wav", "two/a.wav")
    (root / "one" / "manifest.csv").write_text(
        "path,speaker,text,gender,corpus\na.wav,s1,yes,f,old\nb.wav,s2,no,m,old\n"
    )
    (root / "two" / "manifest.csv").write_text("path,speaker,city\na.wav,s1,Rochester\n")
    monkeypatch.chdir(root)
    return root


def test_ids_and_speakers_of_two_corpora_never_meet(two):
    table = merge_corpora([read_corpus("one"), read_corpus("two")]).table
    assert table["id"].to_list() == ["one/a", "one/b", "two/a"]
    assert table["speaker"].to_list() == ["one/s1", "one/s2", "two/s1"]
    assert table["corpus"].to_list() == ["one", "one", "two"]
    assert table["text"].to_list() == ["yes", "no", None]
    assert table["gender"].to_list() == ["f", "m", None]
    assert table["city"].to_list() == [None, None, "Rochester"]
    assert table["source_corpus"].to_list() == ["old", "old", None]


def test_corpora_that_are_called_alike_get_a_number(two):
    table = merge_corpora(
        [read_corpus("one"), read_corpus("one"), read_corpus("two", name="../o\n\"ne'")]
    ).table
    assert table["corpus"].unique(maintain_order=True).to_list() == ["one", "one-2", "o_ne"]
    assert table["id"].n_unique() == 5


def test_init_writes_one_manifest_for_several_corpora(two, capsys):
    (two / "sub").mkdir()
    assert main(["init", "one", "two", "sub/mine.toml"]) == 0
    out = capsys.readouterr().out
    assert "2 corpora as one" in out
    assert "3 utterances, 3 speakers" in out
    written = tomllib.loads((two / "sub" / "mine.toml").read_text())
    assert written["corpus"]["path"] == "one+two.jsonl"
    # A gap between corpora is a gap of texts and microphones: nobody is asked to compare them as groups.
    assert written["corpus"]["attributes"] == ["gender"]
    read = read_corpus(two / "sub" / "one+two.jsonl")
    assert read.name == "one+two"
    assert read.table["id"].to_list() == ["one/a", "one/b", "two/a"]
    assert all(utterance.audio.is_file() for utterance in read)
    assert main(["init", "one", "two", "sub/other.toml"]) == 2
    assert "one+two.jsonl: exists already" in capsys.readouterr().err


def test_a_bad_row_in_one_of_several_stops_init_unless_it_is_left_out(two, capsys):
    with (two / "two" / "manifest.csv").open("a") as file:
        file.write("gone.wav,s2,Rochester\n")
    assert main(["init", "one", "two"]) == 2
    assert "1 audio file does not exist (row 3: 'gone.wav'" in capsys.readouterr().err
    assert not (two / "audit.toml").exists()
    assert main(["init", "one", "two", "--skip-bad-rows"]) == 0
    assert "3 utterances" in capsys.readouterr().out
    assert main(["init", "two", "--skip-bad-rows", "--force"]) == 0
    assert tomllib.loads((two / "audit.toml").read_text())["corpus"]["skip_bad_rows"] is True
