"""A part of a corpus by clauses, and the manifest written of it."""

from __future__ import annotations

import polars as pl
import pytest

from voxaudit.cli.main import main
from voxaudit.corpus import CorpusError, read_corpus, select, write_manifest
from voxaudit.corpus.select import SRB_ACCENTED, Clause, parse_clause


@pytest.fixture
def corpus(wavs):
    root = wavs("a.wav", "b.wav", "c.wav", "d.wav")
    (root / "m.csv").write_text(
        "path,speaker,text,gender,accent,dnsmos,age\n"
        "a.wav,s1,one,female,United States English,3.9,20\n"
        "b.wav,s2,two,male,Scottish English,3.4,30\n"
        "c.wav,s3,three,female,,3.8,x\n"
        "d.wav,s4,four,female,India,3.39,40\n"
    )
    return read_corpus(root / "m.csv")


def chosen(corpus, *clauses):
    return select(corpus, clauses).table["id"].to_list()


@pytest.mark.parametrize(
    ("clause", "ids"),
    [
        ("gender=female", "acd"),
        ("gender != female", "b"),
        ("speaker=s2|s4", "bd"),
        ("speaker!=s2 | s4", "ac"),
        ("accent", "abd"),
        ("!accent", "c"),
        ("accent!=India", "ab"),
        ("accent~ENGLISH", "ab"),
        ("accent!~english", "d"),
        ("dnsmos>=3.4", "abc"),
        ("dnsmos > 3.4", "ac"),
        ("dnsmos<3.4", "d"),
        ("dnsmos<=3.4", "bd"),
        ("speaker=s2", "b"),
    ],
)
def test_each_kind_of_clause(corpus, clause, ids):
    assert chosen(corpus, clause) == list(ids)


def test_words_durations_and_the_corpus_are_known_though_no_column_says_them(corpus, wavs):
    (wavs() / "long.csv").write_text("path,text\na.wav,one two three\nb.wav, one  two \nc.wav,\n")
    spoken = read_corpus(wavs() / "long.csv")
    assert chosen(spoken, "words>=3") == ["a"]
    assert chosen(spoken, "words<3") == ["b"]  # c has no text
    assert select(spoken, ["words>=3"]).table.columns == spoken.table.columns
    assert chosen(corpus, "duration>0") == list("abcd")
    assert chosen(corpus, "corpus=m", "gender=male") == ["b"]


def test_all_clauses_must_hold_and_the_note_says_how_many(corpus):
    assert chosen(corpus, *SRB_ACCENTED) == ["b"]
    part = select(corpus, ["gender=female", "dnsmos>=3.4"])
    assert part.problems[-1].message == "2 of 4 utterances chosen: gender=female and dnsmos>=3.4"
    assert select(corpus, []) is corpus


def test_a_value_that_is_nowhere_is_noted_with_what_may_be_meant(corpus):
    part = select(corpus, ["accent!=Indai"])
    assert len(part) == 3
    assert part.problems[-2].message == "no row has accent 'Indai'. Did you mean: India?"
    with pytest.raises(CorpusError, match="none of 4 utterances meets: gender=femal") as caught:
        select(corpus, ["gender=femal"])
    assert str(caught.value).endswith(". gender has the values 'female', 'male'")
    part = select(corpus, ["speaker=s2|s9"])
    assert [one.message.partition(".")[0] for one in part.problems[-2:]] == [
        "no row has speaker 's9'",
        "1 of 4 utterances chosen: speaker=s2|s9",
    ]
    # Where each clause alone has rows, values would say nothing.
    with pytest.raises(CorpusError, match=r"meets: gender=male and gender=female$"):
        select(corpus, ["gender=male", "gender=female"])


@pytest.mark.parametrize(
    ("clause", "message"),
    [
        ("gendre=female", r"no column 'gendre' to choose by\. Did you mean: gender\?"),
        ("age>=25", r"age>=25: 1 values are not numbers \(first: 'x'\)"),
        ("dnsmos>=high", "'high' is not a number"),
        ("dnsmos>=nan", "'nan' is not a number"),
        ("gender=", "compares with nothing; for rows without a value write !gender"),
        ("!gender=x", "not a clause"),
        ("=x", "not a clause"),
        ("", "not a clause"),
    ],
)
def test_bad_clauses(corpus, clause, message):
    with pytest.raises(CorpusError, match=message) as caught:
        select(corpus, [clause])
    assert "\n" not in str(caught.value)


def test_clauses_are_values(corpus):
    assert parse_clause(" accent  !~ united states ") == Clause("accent", "!~", "united states")
    assert parse_clause("text=a=b") == Clause("text", "=", "a=b")
    assert chosen(corpus, Clause("gender", "=", "male")) == ["b"]


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_a_manifest_can_be_read_again(corpus, wavs, tmp_path_factory, ending):
    inside = wavs() / f"part.{ending}"
    write_manifest(corpus, inside)
    assert read_corpus(inside).table.equals(corpus.table)
    outside = tmp_path_factory.mktemp("elsewhere") / f"part.{ending}"
    write_manifest(corpus, outside)
    assert read_corpus(outside).table["audio"].to_list() == corpus.table["audio"].to_list()
    first = pl.read_csv(inside)["audio"][0] if ending == "csv" else "a.wav"
    assert first == "a.wav"


def test_a_manifest_in_no_folder_or_of_no_kind(corpus, tmp_path):
    with pytest.raises(CorpusError, match="no such folder"):
        write_manifest(corpus, tmp_path / "no/m.csv")
    with pytest.raises(CorpusError, match=r"ends in one of \.csv"):
        write_manifest(corpus, tmp_path / "m.xlsx")


def test_the_command(corpus, wavs, capsys, asked):
    root = wavs()
    out = root / "accented.csv"
    answer = asked("select", root / "m.csv", "--srb-accented", "--export", out)
    (row,) = answer.tables["chosen"]
    assert (row["chosen"], row["utterances"], row["measured"]) == (1, 4, 0)
    assert answer.notes["written"] == {"file": str(out)}
    assert read_corpus(out).table["id"].to_list() == ["b"]
    assert main(["select", str(root / "m.csv"), "--where", "gender=female"]) == 0
    assert "3 of 4 utterances chosen" in capsys.readouterr().out
    assert main(["select", str(root / "m.csv")]) == 2
    assert "nothing to choose by" in capsys.readouterr().err
    assert asked("inspect", root / "m.csv", "--where", "gender=female").tables["corpus"][0]["utterances"] == 3


def test_the_command_measures_quality_where_it_is_asked_for(tmp_path, monkeypatch, asked):
    pytest.importorskip("speechmos")
    import numpy as np
    import soundfile

    monkeypatch.setenv("VOXAUDIT_CACHE", str(tmp_path / "cache"))
    generator = np.random.default_rng(0)
    for name in ("a", "b"):
        soundfile.write(
            tmp_path / f"{name}.wav", 0.1 * generator.standard_normal(16000).astype(np.float32), 16000
        )
    (tmp_path / "m.csv").write_text("path,speaker,accent\na.wav,s1,Scottish\nb.wav,s2,\n")
    out = tmp_path / "out.parquet"
    command = [
        "select",
        str(tmp_path / "m.csv"),
        "--where",
        "accent",
        "--where",
        "dnsmos>=1",
        "--workers",
        "1",
    ]
    (row,) = asked(*command, "--export", out).tables["chosen"]
    assert (row["measured"], row["chosen"]) == (1, 1)  # the one without an accent was not listened to
    assert 1 <= float(read_corpus(out).table["dnsmos"][0]) <= 5
