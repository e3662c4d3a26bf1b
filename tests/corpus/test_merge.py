"""Several corpora in one run: nothing of one is taken for something of another."""

from __future__ import annotations

import tomllib

import pytest

from voxaudit.cli.main import main
from voxaudit.config import load_config
from voxaudit.corpus import labeled, merge_corpora, read_corpus
from voxaudit.corpus.merge import names_of
from voxaudit.errors import VoxauditError


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
    one, other = labeled(read_corpus("one"), "en", rename=True), labeled(read_corpus("two"))
    table = merge_corpora([one, other]).table
    assert table["id"].to_list() == ["one/a", "one/b", "two/a"]
    assert table["speaker"].to_list() == ["one/s1", "one/s2", "two/s1"]
    assert table["corpus"].to_list() == ["one", "one", "two"]
    assert table["language"].to_list() == ["en", "en", None]
    assert table["text"].to_list() == ["yes", "no", None]
    assert table["gender"].to_list() == ["f", "m", None]
    assert table["city"].to_list() == [None, None, "Rochester"]
    assert table["source_corpus"].to_list() == ["old", "old", None]


def test_one_corpus_stays_as_it_is_and_keeps_a_column_of_its_own(two):
    one = labeled(read_corpus("one"))
    assert one.table["corpus"].to_list() == ["old", "old"]
    assert merge_corpora([one]) is one


def test_corpora_that_are_called_alike_get_a_number(two):
    corpora = [read_corpus("one"), read_corpus("one"), read_corpus("two", name="../o\n\"ne'")]
    assert names_of(corpora) == ["one", "one-2", "o_ne"]


def test_init_writes_a_section_for_each_of_several_corpora(two, capsys):
    (two / "sub").mkdir()
    assert main(["init", "one", "two", "sub/mine.toml"]) == 0
    assert "2 corpora, 3 utterances, 3 speakers" in capsys.readouterr().out
    written = tomllib.loads((two / "sub" / "mine.toml").read_text())
    assert "corpus" not in written
    assert [(one["name"], one["path"]) for one in written["corpora"]] == [
        ("one", "../one"),
        ("two", "../two"),
    ]
    # A gap between corpora is a gap of texts and microphones: nobody is asked to compare them as groups.
    assert [one["attributes"] for one in written["corpora"]] == [["gender"], []]
    config = load_config(two / "sub" / "mine.toml")
    assert (config.corpus.name, [one.name for one in config.corpora]) == ("one", ["two"])
    assert config.attributes == ("gender",)
    assert main(["init", "one", "two", "sub/mine.toml"]) == 2
    assert "mine.toml: already exists" in capsys.readouterr().err


def test_problems_of_several_corpora_are_said_with_their_names(two, capsys):
    with (two / "two" / "manifest.csv").open("a") as file:
        file.write("gone.wav,s2,Rochester\n")
    assert main(["init", "one", "two", "--skip-bad-rows"]) == 0
    said = capsys.readouterr()
    assert "3 utterances" in said.out
    assert "note: two: 1 audio file does not exist (row 3: 'gone.wav'" in said.err
    corpora = tomllib.loads((two / "audit.toml").read_text())["corpora"]
    assert [one["skip_bad_rows"] for one in corpora] == [True, True]


def test_given_audio_is_read_from_the_scenarios_section(two):
    (two / "audit.toml").write_text(
        '[corpus]\npath = "one"\n[recognizers.moonshine]\n[scenarios]\nuse = ["echo:1"]\n'
        '[scenarios.given]\n"pgd:1" = "made/pgd"\n[sources]\nmusic = "songs"\n'
    )
    config = load_config(two / "audit.toml")
    assert config.scenarios == ("echo:1",)
    assert config.heard_from == {"music": two / "songs", "pgd:1": two / "made" / "pgd"}
    (two / "audit.toml").write_text(
        '[corpus]\npath = "one"\n[recognizers.moonshine]\n[scenarios.given]\n"pgd:1" = 3\n'
    )
    with pytest.raises(VoxauditError, match=r"scenarios\.given"):
        load_config(two / "audit.toml")
