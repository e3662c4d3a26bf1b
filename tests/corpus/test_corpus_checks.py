"""Everything that can be wrong with rows, reported together; and what skipping them leaves."""

from __future__ import annotations

import pickle

import polars as pl
import pytest

from voxaudit.corpus import CorpusError, examine_corpus, read_corpus
from voxaudit.errors import VoxauditError

EVERY_BAD_ROW = "\n".join(
    [
        "id,path,text,speaker,start,duration,hits",
        "a,a.wav,hi,s1,0,1,x",  # 2: good
        "b,b.wav,  ,s1,,,x",  # 3: good, blank text
        "c,nope.wav,hi,,0,1,x",  # 4: no such file, no speaker
        "a,b.wav,hi,s2,soon,-1,x",  # 5: duplicate id, bad start, bad duration
        ",b.wav,hi,s2,0,nan,x",  # 6: no id, bad duration
        "q,,hi,s2,0,1,x",  # 7: no audio
        "r,b.wav",  # 8: ragged
        "x\x01y,b.wav,,s2,-1,0,x",  # 9: control character, bad start, bad duration, no text
        "d,folder,hi,s2,inf,inf,x",  # 10: a folder, bad start, bad duration
        "e,b.wav,hi,s2,1.5,0.25,x",  # 11: good
    ]
)


@pytest.fixture
def bad(wavs):
    root = wavs("a.wav", "b.wav")
    (root / "folder").mkdir()
    (root / "m.csv").write_text(EVERY_BAD_ROW)
    return root


def test_all_problems_are_raised_at_once_with_their_rows_and_the_remedy(bad):
    with pytest.raises(CorpusError) as caught:
        read_corpus(bad / "m.csv")
    assert isinstance(caught.value, VoxauditError)
    assert str(caught.value) == (
        f"{bad}/m.csv: 14 problems: "
        "1 row does not have the 7 fields of the header (row 8: '2 fields'); "
        "1 row names no audio (row 7); "
        f"2 audio files do not exist (rows 4, 10: 'nope.wav', 'folder'; looked in {bad}); "
        "1 row has no id (row 6); "
        r"1 id has control characters (row 9: 'x\x01y'); "
        "3 starts are not numbers of seconds from 0 on (rows 5, 9, 10: 'soon', '-1', 'inf'); "
        "4 durations are not numbers of seconds above 0 (rows 5, 6, 9 and 1 more: '-1', 'nan', '0', ...); "
        "1 duplicate id (rows 2 and 5: 'a'). "
        "Fix them, or leave the bad rows out with the setting `skip_bad_rows`"
    )
    found = {problem.kind: problem for problem in caught.value.problems}
    assert {kind for kind, problem in found.items() if not problem.fatal} == {
        "missing_speaker",
        "missing_text",
        "blank_text",
        "column_name_taken",
    }
    assert found["bad_duration"].count == 4
    assert found["bad_duration"].rows == ("5", "6", "9", "10")
    assert found["blank_text"].message == "1 text is only white space (row 3)"
    assert found["missing_text"].message == "1 row has no text: not transcribed, so not scored (row 9)"
    assert found["missing_speaker"].message == "1 row has no speaker (row 4)"


def test_the_error_survives_a_process_border(bad):
    with pytest.raises(CorpusError) as caught:
        read_corpus(bad / "m.csv")
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    assert again.problems == caught.value.problems


def test_skipping_leaves_the_good_rows_and_keeps_the_problems(bad):
    corpus = read_corpus(bad / "m.csv", skip_bad_rows=True)
    assert corpus.table["id"].to_list() == ["a", "b", "e"]
    assert corpus.table["start"].to_list() == [0.0, None, 1.5]
    assert corpus.table["duration"].to_list() == [1.0, None, 0.25]
    assert corpus.table["text"].to_list() == ["hi", None, "hi"]
    assert corpus.skipped == 7
    assert not any(problem.fatal for problem in corpus.problems)
    fatal = [problem for problem in examine_corpus(bad / "m.csv").problems if problem.fatal]
    assert [problem.message for problem in fatal] == [
        problem.message for problem in corpus.problems if problem.kind in {entry.kind for entry in fatal}
    ]


def test_when_no_row_is_good_skipping_does_not_help(wavs):
    root = wavs("a.wav")
    (root / "m.csv").write_text("path\nx.wav\ny.wav\n")
    for skip in (False, True):
        with pytest.raises(CorpusError, match=r"2 audio files do not exist .*; no good row is left$"):
            read_corpus(root / "m.csv", skip_bad_rows=skip)


def test_of_rows_that_share_an_id_the_first_stays(wavs):
    root = wavs("a.wav")
    ids = ["a", "b", "a", "c", "b", "a", "a", "d", "d", "e", "e"]
    (root / "m.csv").write_text("id,path,n\n" + "".join(f"{name},a.wav,{n}\n" for n, name in enumerate(ids)))
    with pytest.raises(CorpusError) as caught:
        read_corpus(root / "m.csv")
    assert "4 duplicate ids (rows 2, 4 and 2 more: 'a'; rows 3 and 6: 'b'; rows 9 and 10: 'd'; ...)" in str(
        caught.value
    )
    corpus = read_corpus(root / "m.csv", skip_bad_rows=True)
    assert corpus.table.select("id", "n").rows() == [
        ("a", "0"),
        ("b", "1"),
        ("c", "3"),
        ("d", "7"),
        ("e", "9"),
    ]
    assert corpus.skipped == 6


def test_three_of_an_id_are_all_named(wavs):
    root = wavs("a.wav")
    (root / "m.csv").write_text("id,path\na,a.wav\na,a.wav\na,a.wav\n")
    with pytest.raises(CorpusError, match=r"1 duplicate id \(rows 2, 3 and 4: 'a'\)"):
        read_corpus(root / "m.csv")


def test_many_bad_rows_make_a_short_message(wavs):
    root = wavs("a.wav")
    long = "x" * 500
    (root / "m.csv").write_text(
        "id,path\n" + "".join(f"{n},{long}{n}.wav\n" for n in range(5000)) + "ok,a.wav\n"
    )
    with pytest.raises(CorpusError) as caught:
        read_corpus(root / "m.csv")
    assert len(str(caught.value)) < 700
    assert "5,000 audio files do not exist (rows 2, 3, 4 and 4,997 more: " in str(caught.value)
    assert len(caught.value.problems[0].rows) == 20


def test_no_speaker_and_no_text_are_notes_said_once(wavs):
    root = wavs("a.wav", "b.wav")
    (root / "m.csv").write_text("path,city\na.wav,x\nb.wav,y\n")
    corpus = read_corpus(root / "m.csv")
    assert [(problem.kind, problem.fatal) for problem in corpus.problems] == [
        ("no_speaker", False),
        ("no_text", False),
    ]
    assert "the setting `columns`: speaker=COLUMN" in corpus.problems[0].message
    (root / "m.csv").write_text("path,speaker,text\na.wav,,\nb.wav,,\n")
    corpus = read_corpus(root / "m.csv")
    assert [problem.message.split(":")[0] for problem in corpus.problems] == [
        "no row has a speaker",
        "no row has a text",
    ]


def test_an_end_gives_the_duration(wavs):
    root = wavs("a.wav")
    (root / "m.csv").write_text(
        "id,path,start,end\n1,a.wav,1.5,2\n2,a.wav,,3\n3,a.wav,1,\n4,a.wav,2,1\n5,a.wav,1,x\n"
    )
    corpus = read_corpus(root / "m.csv", skip_bad_rows=True)
    assert corpus.table["duration"].to_list() == [0.5, 3.0, None]
    assert "2 ends are not numbers of seconds after the start (rows 5, 6: '1', 'x')" in [
        problem.message for problem in corpus.problems
    ]


def test_numbers_may_be_numbers(wavs):
    root = wavs("a.wav")
    pl.DataFrame(
        {"path": ["a.wav"] * 3, "offset": [0, 1, 2], "duration": [0.1, float("nan"), 2.0]}
    ).write_parquet(root / "m.parquet")
    corpus = read_corpus(root / "m.parquet", skip_bad_rows=True)
    assert corpus.table.select("id", "start", "duration").rows() == [("a@0.0", 0.0, 0.1), ("a@2.0", 2.0, 2.0)]
    assert corpus.problems[0].message.startswith(
        "1 duration is not a number of seconds above 0 (row 2: 'NaN')"
    )


def test_attribute_names_of_later_tables_are_taken(wavs):
    root = wavs("a.wav")
    (root / "m.csv").write_text("path,words,recognizer,source_words\na.wav,3,x,y\n")
    corpus = read_corpus(root / "m.csv")
    assert corpus.attributes == ["source_words", "source_recognizer", "source_source_words"]
    assert corpus.table["source_words"].to_list() == ["3"]


def test_without_looking_for_audio(wavs):
    root = wavs("a.wav")
    (root / "m.csv").write_text("path\nnot/here.wav\n")
    corpus = read_corpus(root / "m.csv", check_audio=False)
    assert corpus.table["audio"].to_list() == [f"{root}/not/here.wav"]
    assert corpus.skipped == 0
