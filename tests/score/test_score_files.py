from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from voxaudit.errors import VoxauditError
from voxaudit.score.files import Pairs, read_pairs

Write = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def to_file(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return to_file


def rows(pairs: Pairs) -> list[tuple[str, str, str]]:
    return list(zip(pairs.ids.to_list(), pairs.references.to_list(), pairs.hypotheses.to_list(), strict=True))


def test_plain_text_is_matched_line_by_line(write: Write) -> None:
    said = write("ref.txt", "\ufeffone two\r\n\nthree\u2028four\n")
    heard = write("hyp", "one\nx\nthree")
    assert rows(read_pairs(said, heard)) == [
        ("1", "one two", "one"),
        ("2", "", "x"),
        ("3", "three\u2028four", "three"),
    ]


def test_unequal_numbers_of_lines_are_an_error_with_both(write: Write) -> None:
    with pytest.raises(VoxauditError, match=r"ref\.txt has 3 lines but .*hyp\.txt has 2"):
        read_pairs(write("ref.txt", "a\nb\nc\n"), write("hyp.txt", "a\nb\n"))


def test_trn_is_matched_by_id_in_any_order(write: Write) -> None:
    said = write("ref.trn", ";; a comment\nhello world (s1-u1)\n\n(s1-u2)\nit (is) fine (s1-u3)\n")
    heard = write("hyp.trn", "it is fine (s1-u3)\nhello (s1-u1)\nnoise (s1-u2)\n")
    assert rows(read_pairs(said, heard)) == [
        ("s1-u1", "hello world", "hello"),
        ("s1-u2", "", "noise"),
        ("s1-u3", "it (is) fine", "it is fine"),
    ]


def test_a_trn_line_without_id_is_named(write: Write) -> None:
    with pytest.raises(
        VoxauditError, match=r"ref\.trn: 1 line is not 'words \(id\)' \(line 2: 'no id\\x1b here'\); fix"
    ):
        read_pairs(write("ref.trn", "a (1)\nno id\x1b here\n"), write("hyp.trn", "a (1)\n"))


def test_tables_of_two_formats_match(write: Write, tmp_path: Path) -> None:
    said = write("ref.csv", 'Utterance ID,Sentence,speaker,accent\n007,"Hello, ""you""",s1,x\n008,,s2,y\n')
    heard = tmp_path / "hyp.parquet"
    pl.DataFrame(
        {"utt_id": ["008", "007"], "hypothesis": ["noise", "hello"], "confidence": [0.5, 0.9]}
    ).write_parquet(heard)
    pairs = read_pairs(said, heard)
    assert rows(pairs) == [("007", 'Hello, "you"', "hello"), ("008", "", "noise")]
    assert pairs.columns.to_dict(as_series=False) == {
        "speaker": ["s1", "s2"],
        "accent": ["x", "y"],
        "confidence": [0.9, 0.5],
    }


def test_numbers_as_ids_match_across_formats(write: Write) -> None:
    said = write("ref.jsonl", '{"id": 1, "text": "a"}\n{"id": 2, "text": "b"}\n')
    heard = write("hyp.tsv", 'id\ttext\n2\tb "quoted\n1\ta\n')
    assert rows(read_pairs(said, heard)) == [("1", "a", "a"), ("2", "b", 'b "quoted')]


def test_trn_against_csv(write: Write) -> None:
    pairs = read_pairs(write("ref.trn", "a b (u1)\n"), write("hyp.csv", "id,text\nu1,a\n"))
    assert rows(pairs) == [("u1", "a b", "a")]


def test_a_nemo_manifest_has_both(write: Write) -> None:
    one = write(
        "manifest.json",
        '{"audio_filepath": "a.wav", "duration": 1.5, "text": "hello", "pred_text": ""}\n'
        '{"audio_filepath": "a.wav", "duration": 2.0, "text": "world", "pred_text": "word"}\n',
    )
    pairs = read_pairs(one)
    assert rows(pairs) == [("a.wav", "hello", ""), ("a.wav", "world", "word")]
    assert "duration" in pairs.columns.columns


def test_a_nemo_manifest_as_hypothesis_file_gives_pred_text(write: Write) -> None:
    heard = write("hyp.json", '{"audio_filepath": "a.wav", "text": "reference", "pred_text": "heard"}\n')
    assert rows(read_pairs(write("ref.csv", "path,text\na.wav,said\n"), heard)) == [
        ("a.wav", "said", "heard")
    ]


def test_columns_can_be_named(write: Write) -> None:
    one = write("t.csv", "key,text,gold,system_b\n1,x,said,heard\n")
    pairs = read_pairs(one, id="key", reference="gold", hypothesis="system_b")
    assert rows(pairs) == [("1", "said", "heard")]


def test_the_id_can_be_called_differently_in_the_other_file(write: Write) -> None:
    said, heard = write("ref.csv", "id,name,text\n9,u1,a\n"), write("hyp.csv", "id,text\nu1,b\n")
    assert rows(read_pairs(said, heard, id="name")) == [("u1", "a", "b")]


@pytest.mark.parametrize(
    ("header", "arguments", "message"),
    [
        (
            "id,text",
            {},
            r"which column is the hypothesis\? Name it\..* id, text \(see the argument `hypothesis`\)",
        ),
        ("id,hypothesis", {}, r"which column is the reference\?"),
        ("id,text,hyp", {"reference": "txt"}, r"no column 'txt'\. Did you mean: text"),
        ("id,text,hyp", {"id": "uid"}, r"no column 'uid'"),
    ],
)
def test_a_column_that_is_not_found(
    write: Write, header: str, arguments: dict[str, str], message: str
) -> None:
    with pytest.raises(VoxauditError, match=message):
        read_pairs(
            write("t.csv", f"{header}\n" + ",".join("abc"[: header.count(",") + 1]) + "\n"), **arguments
        )


def test_a_transcripts_table_may_repeat_ids_for_scenarios(write: Write) -> None:
    said = write("corpus.csv", "id,text,speaker\nu1,a b,s1\nu2,c,s2\n")
    heard = write(
        "transcripts.csv",
        "utterance,scenario,recognizer,text,failure\nu1,clean,r,a b,\nu2,clean,r,c,\nu1,noise,r,a,\nu2,noise,r,,\n",
    )
    pairs = read_pairs(said, heard)
    assert rows(pairs) == [("u1", "a b", "a b"), ("u1", "a b", "a"), ("u2", "c", "c"), ("u2", "c", "")]
    assert pairs.columns["scenario"].to_list() == ["clean", "noise"] * 2


def test_a_failed_trial_has_no_hypothesis(write: Write) -> None:
    said = write("corpus.csv", "id,text\nu1,a b\nu2,c\n")
    heard = write(
        "t.csv", "utterance,scenario,recognizer,text,failure\nu1,clean,r,,timed out\nu2,clean,r,c,\n"
    )
    with pytest.raises(VoxauditError, match=r"1 of 2 references have no hypothesis \('u1'\)"):
        read_pairs(said, heard)
    assert rows(read_pairs(said, heard, missing="empty")) == [("u1", "a b", ""), ("u2", "c", "c")]


def test_a_gap_in_the_grid_is_missing(write: Write) -> None:
    said = write("corpus.csv", "id,text\nu1,a\nu2,b\n")
    heard = write("t.csv", "utterance,scenario,text\nu1,clean,a\nu2,clean,b\nu1,noise,a\n")
    with pytest.raises(VoxauditError, match=r"1 of 4 references have no hypothesis \('u2'\)"):
        read_pairs(said, heard)


def test_missing_hypotheses_are_refused_filled_or_skipped(write: Write) -> None:
    said = write("ref.csv", "id,text\n" + "".join(f"u{number},word\n" for number in range(8)))
    heard = write("hyp.csv", "id,text\nu0,word\nextra,word\n")
    with pytest.raises(VoxauditError) as refused:
        read_pairs(said, heard)
    assert str(refused.value).endswith(
        "hyp.csv: 7 of 8 references have no hypothesis ('u1', 'u2', 'u3', 'u4', 'u5' and 2 more); add them, or choose"
        " 'empty' (their words count as deletions) or 'skip' (they are left out) (see the argument `missing`)"
    )
    filled = read_pairs(said, heard, missing="empty")
    assert filled.hypotheses.to_list() == ["word"] + [""] * 7
    assert filled.notes == (
        "1 hypotheses have no reference and are not scored ('extra')",
        "7 of 8 references have no hypothesis ('u1', 'u2', 'u3', 'u4', 'u5' and 2 more): counted as deletions",
    )
    skipped = read_pairs(said, heard, missing="skip")
    assert rows(skipped) == [("u0", "word", "word")]
    assert skipped.notes[1].endswith(": left out")


def test_repeated_ids_of_both_files_are_reported_together(write: Write) -> None:
    said, heard = write("ref.csv", "id,text\na,1\na,2\nb,3\n"), write("hyp.csv", "id,text\na,1\nb,2\nb,3\n")
    with pytest.raises(
        VoxauditError, match=r"2 reference rows share an id \('a'\); .*2 hypothesis rows .*\('b'\)"
    ):
        read_pairs(said, heard)


def test_files_that_do_not_belong_together(write: Write) -> None:
    with pytest.raises(VoxauditError, match=r"no id is one of .*'x' against 'a'"):
        read_pairs(write("ref.csv", "id,text\na,1\n"), write("hyp.csv", "id,text\nx,1\n"))


def test_a_null_reference_is_not_scored_and_said_so(write: Write) -> None:
    one = write("t.jsonl", '{"id": "a", "text": null, "hyp": "x"}\n{"id": "b", "text": "", "hyp": "x"}\n')
    pairs = read_pairs(one)
    assert rows(pairs) == [("b", "", "x")]
    assert pairs.notes == ("1 utterances have no reference text and are not scored",)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", "id,text,hyp\n", "the table has no rows"),
        ("t.csv", "", "empty"),
        ("t.csv", "id,text,hyp\na,b\n", "fields of the header"),
        ("t.jsonl", '{"id": 1, "text": "a", "hyp": "b"}\n{oops\n', "not a JSON object"),
        ("t.jsonl", '{"text": null, "hyp": "b"}\n', "nothing to score"),
        ("t.txt", "a\n", "name the file of hypotheses too"),
        ("t.trn", "a (b)\n", "name the file of hypotheses too"),
    ],
)
def test_one_file_that_cannot_be_scored(write: Write, name: str, content: str, message: str) -> None:
    with pytest.raises(VoxauditError, match=message) as raised:
        read_pairs(write(name, content))
    assert name in str(raised.value)
    assert "\n" not in str(raised.value)


def test_other_refusals_name_the_file(write: Write, tmp_path: Path) -> None:
    table, text = write("t.csv", "id,text\n,a\nx,b\n"), write("t.txt", "a\n")
    with pytest.raises(VoxauditError, match=r"t\.csv: 1 rows have no id in column 'id' \(first: row 1\)"):
        read_pairs(table, table)
    with pytest.raises(
        VoxauditError, match=r"t\.txt is plain text, matched line by line, but .*t\.csv is matched by id"
    ):
        read_pairs(text, table)
    with pytest.raises(VoxauditError, match=r"gone\.csv: no such file"):
        read_pairs(tmp_path / "gone.csv")
    with pytest.raises(VoxauditError, match=r"gone\.txt"):
        read_pairs(text, tmp_path / "gone.txt")
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9\n")
    with pytest.raises(VoxauditError, match=r"latin\.txt: not UTF-8"):
        read_pairs(text, tmp_path / "latin.txt")
    with pytest.raises(VoxauditError, match="are empty"):
        read_pairs(write("e1.txt", ""), write("e2.txt", ""))
