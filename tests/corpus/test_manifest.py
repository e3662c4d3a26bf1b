"""CSV, TSV, JSON lines and Parquet manifests, as people write them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from voxaudit.corpus import CorpusError, Utterance, parse_columns, read_corpus
from voxaudit.corpus.base import COLUMNS
from voxaudit.corpus.columns import USUAL_NAMES, plan_columns

PLAIN = "path,text,speaker,gender,duration\na.wav,Hello there,s1,F,1.5\nb.wav,Bye,s2,M,2\n"


def kinds(corpus_or_error) -> list[str]:
    return [problem.kind for problem in corpus_or_error.problems]


def test_a_csv_becomes_utterances_with_attributes(wavs):
    root = wavs("a.wav", "b.wav")
    (root / "manifest.csv").write_text(PLAIN)
    corpus = read_corpus(root / "manifest.csv")
    assert (corpus.format, corpus.name, len(corpus)) == ("manifest", root.name, 2)
    assert corpus.table.columns == [*COLUMNS, "gender"]
    assert corpus.columns == {"audio": "path", "speaker": "speaker", "text": "text", "duration": "duration"}
    assert corpus.problems == ()
    assert corpus.skipped == 0
    first = next(iter(corpus))
    assert first == Utterance("a", root / "a.wav", "s1", "Hello there", 0.0, None, {"gender": "F"})
    # The folder with it means the same.
    assert read_corpus(root).table.equals(corpus.table)


def test_all_four_kinds_of_table_read_the_same(wavs):
    root = wavs("a.wav", "b.wav")
    table = pl.read_csv(PLAIN.encode(), infer_schema=False)
    (root / "m.csv").write_text(PLAIN)
    (root / "m.tsv").write_text(PLAIN.replace(",", "\t"))
    table.write_ndjson(root / "m.jsonl")
    table.with_columns(pl.col("duration").cast(pl.Float64)).write_parquet(root / "m.parquet")
    (root / "semicolons.csv").write_text(PLAIN.replace(",", ";"))
    (root / "array.json").write_text("[" + ",".join((root / "m.jsonl").read_text().splitlines()) + "]")
    wanted = read_corpus(root / "m.csv").table
    for name in ("m.tsv", "m.jsonl", "m.parquet", "semicolons.csv", "array.json"):
        assert read_corpus(root / name).table.equals(wanted), name


@pytest.mark.parametrize(
    ("ours", "name"), [(ours, name) for ours, names in USUAL_NAMES.items() for name in names]
)
def test_columns_are_found_by_their_usual_names_in_any_case(ours, name):
    for spelling in (name, name.upper(), name.replace("_", " ").title()):
        plan = plan_columns([spelling, "gender"], "m.csv")
        assert plan.fields == {ours: spelling}
        assert plan.attributes == {"gender": "gender"}
        assert plan.problems == ()


def test_no_usual_name_stands_for_two_columns():
    names = [name for usual in USUAL_NAMES.values() for name in usual]
    assert len(names) == len(set(names))


def test_an_ambiguous_column_is_said_and_the_most_usual_taken():
    plan = plan_columns(["sentence", "Text", "path"], "m.csv")
    assert plan.fields == {"text": "Text", "audio": "path"}
    assert plan.attributes == {"sentence": "sentence"}
    (problem,) = plan.problems
    assert problem.kind == "ambiguous_column"
    assert not problem.fatal
    assert problem.message.startswith("columns 'Text' and 'sentence' could both be the text; read 'Text'")


def test_columns_can_be_mapped(wavs):
    root = wavs("a.wav")
    (root / "m.csv").write_text("recording,what,client_id,accents,text\na.wav,yes,c1,Scots,other\n")
    corpus = read_corpus(root / "m.csv", columns={"audio": "recording", "text": "what", "accent": "accents"})
    row = corpus.table.row(0, named=True)
    assert (row["text"], row["speaker"], row["accent"]) == ("yes", "c1", "Scots")
    # The file's own `text` is kept under another name, and that is said.
    assert row["source_text"] == "other"
    assert kinds(corpus) == ["column_name_taken"]


def test_one_column_may_serve_twice_and_a_column_may_be_refused(wavs):
    root = wavs("a.wav", "b.wav")
    (root / "m.csv").write_text("path,id\na.wav,1\nb.wav,1\n")
    assert read_corpus(root / "m.csv", columns={"id": "path"}).table["id"].to_list() == ["a.wav", "b.wav"]
    corpus = read_corpus(root / "m.csv", columns={"id": ""})
    assert corpus.table["id"].to_list() == ["a", "b"]
    assert corpus.table["source_id"].to_list() == ["1", "1"]


def test_a_mapped_column_that_is_not_there_is_one_line_with_near_misses(wavs):
    root = wavs("a.wav")
    (root / "m.csv").write_text("path,sentence\na.wav,x\n")
    with pytest.raises(CorpusError) as caught:
        read_corpus(root / "m.csv", columns={"text": "sentense", "speaker": "who"})
    assert str(caught.value) == (
        f"{root}/m.csv: no column 'sentense' (for text), 'who' (for speaker). Did you mean: sentence?"
        " Columns there: path, sentence"
    )


def test_no_audio_column_is_one_line(wavs):
    root = wavs("a.wav")
    (root / "m.csv").write_text("where,text\na.wav,x\n")
    with pytest.raises(
        CorpusError, match=r"m\.csv: no column looks like .*the setting `columns`: audio=COLUMN.*where, text"
    ):
        read_corpus(root / "m.csv")


def test_parse_columns():
    assert parse_columns("text=sentence, speaker = client_id,") == {
        "text": "sentence",
        "speaker": "client_id",
    }
    assert parse_columns("id=") == {"id": ""}
    for wrong in ("text", "=x", "text:sentence"):
        with pytest.raises(CorpusError, match="NAME=COLUMN"):
            parse_columns(wrong)


def test_byte_order_mark_windows_lines_spaces_and_empty_values(wavs):
    root = wavs("a.wav", "b.wav")
    (root / "m.csv").write_bytes(
        "\ufeffpath, text ,speaker,gender\r\n a.wav , Grüße ,s1,\r\n\r\nb.wav,x,s1,  \r\n".encode()
    )
    corpus = read_corpus(root / "m.csv")
    assert corpus.table["text"].to_list() == ["Grüße", "x"]
    assert corpus.table["gender"].to_list() == [None, None]
    (root / "m.jsonl").write_bytes(b'\xef\xbb\xbf{"path": "a.wav", "text": "x"}\r\n\r\n{"path": "b.wav"}\r\n')
    assert read_corpus(root / "m.jsonl").table["text"].to_list() == ["x", None]


def test_values_keep_their_spelling(wavs):
    root = wavs("a.wav", "b.wav")
    (root / "m.jsonl").write_text(
        '{"id": 7.10, "path": "a.wav", "old": true, "tags": ["x", "ü"], "big": 12345678901234567890}\n'
        '{"id": "007", "path": "b.wav", "old": null, "late": "\\ud800"}\n'
    )
    table = read_corpus(root / "m.jsonl").table
    assert table["id"].to_list() == ["7.10", "007"]
    assert table["old"].to_list() == ["true", None]
    assert table["tags"].to_list() == ['["x", "ü"]', None]
    assert table["big"].to_list() == ["12345678901234567890", None]
    assert table["late"].to_list() == [None, "���"]


def test_quoted_fields_may_hold_separators_quotes_and_line_breaks(wavs):
    root = wavs("a.wav", "b.wav")
    (root / "m.csv").write_text('path,text\na.wav,"one, ""two""\nthree"\nb.wav,x\nc.wav,y\n')
    corpus = read_corpus(root / "m.csv", skip_bad_rows=True)
    assert corpus.table["text"].to_list() == ['one, "two"\nthree', "x"]
    assert corpus.problems[0].rows == ("4",)  # as a spreadsheet counts, not as lines


def test_tabs_without_quoting(wavs):
    root = wavs("a.wav", "b.wav")
    (root / "m.tsv").write_text('path\ttext\na.wav\t"Yes," he said\nb.wav\t"quoted"\n')
    assert read_corpus(root / "m.tsv").table["text"].to_list() == ['"Yes," he said', '"quoted"']
    (root / "q.tsv").write_text('path\ttext\na.wav\t"a ""b"""\n')
    assert read_corpus(root / "q.tsv").table["text"].to_list() == ['a "b"']


def test_ragged_rows_are_named_and_can_be_skipped(wavs):
    root = wavs("a.wav", "b.wav", "c.wav")
    (root / "m.csv").write_text("path,text\na.wav,x\nb.wav\nc.wav,y,z\na.wav,x,,\n")
    with pytest.raises(CorpusError) as caught:
        read_corpus(root / "m.csv")
    assert "2 rows do not have the 2 fields of the header (rows 3, 4: '1 field', '3 fields')" in str(
        caught.value
    )
    assert caught.value.problems[0].rows == ("3", "4")
    corpus = read_corpus(root / "m.csv", skip_bad_rows=True)
    assert corpus.table["audio"].to_list() == [f"{root}/a.wav"]
    assert corpus.skipped == 3  # the two, and the second a.wav


def test_bad_json_lines_are_named_and_can_be_skipped(wavs):
    root = wavs("a.wav", "b.wav")
    (root / "m.jsonl").write_text(
        '{"path": "a.wav"}\n{"path": \n[1]\n"x"\n{"path": "b.wav"}\n' + "[" * 5000 + "\n"
    )
    with pytest.raises(CorpusError, match=r"4 lines are not JSON objects \(lines 2, 3, 4 and 1 more: "):
        read_corpus(root / "m.jsonl")
    corpus = read_corpus(root / "m.jsonl", skip_bad_rows=True)
    assert (len(corpus), corpus.skipped) == (2, 4)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("m.csv", b"path,text\na.wav,caf\xe9\n", "not UTF-8 (line 2, byte 0xe9); convert with iconv"),
        (
            "m.jsonl",
            b'{"path": "a.wav"}\n{"path": "\xff"}\n',
            "not UTF-8 (line 2, byte 0xff); convert with iconv",
        ),
        ("m.csv", "path\na.wav\n".encode("utf-16"), "not UTF-8 but UTF-16; convert with iconv -f UTF-16"),
        ("m.csv", b"path,text\n", "there are no rows: nothing to hear"),
        ("m.jsonl", b"\n", "there are no rows: nothing to hear"),
        ("m.json", b"[]", "there are no rows: nothing to hear"),
        ("m.csv", b"", "the file is empty; its first row must name the columns"),
        ("m.csv", b"\n\n", "the file is empty; its first row must name the columns"),
        (
            "m.csv",
            b'path,text\na.wav,x\nb.wav,"y\nc.wav,z\n',
            "row 3 (line 3): a quote is opened but never closed",
        ),
        ("m.csv", b'path,text\na.wav,"x" y\n', "row 2 (line 2): a quote is closed in the middle of a field"),
        ("m.csv", b'path,text\na.wav,"' + b"x" * 200_000, "row 2 (line 2): a field is far too long"),
        ("m.tsv", b'path\ttext\na.wav\t"' + b"x" * 200_000, "row 2 (line 2): a field is far too long"),
        (
            "m.csv",
            b"path,text,text\na.wav,x,y\n",
            "more than one column is called 'text'; rename one of them",
        ),
        ("m.json", b'[{"path": "a.wav"}', "not valid JSON"),
        ("m.parquet", b"PAR1 not at all", "cannot read this table"),
    ],
)
def test_a_broken_file_is_one_clear_line(wavs, name, content, message):
    root = wavs("a.wav")
    (root / name).write_bytes(content)
    for skip in (False, True):
        with pytest.raises(CorpusError) as caught:
            read_corpus(root / name, skip_bad_rows=skip)
        assert str(caught.value).startswith(f"{root / name}: ")
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)


def test_parquet_columns_that_are_no_text_are_left_out_and_said(wavs):
    root = wavs("a.wav")
    table = pl.DataFrame({"path": ["a.wav"], "words": [["x"]], "raw": [b"x"], "age": [30]})
    table.write_parquet(root / "m.parquet")
    corpus = read_corpus(root / "m.parquet")
    assert corpus.attributes == ["age"]
    assert kinds(corpus)[:2] == ["unreadable_column", "unreadable_column"]
    pl.DataFrame({"audio": [{"bytes": b"x", "path": "a.wav"}]}).write_parquet(root / "hf.parquet")
    with pytest.raises(CorpusError, match="holds the recordings themselves"):
        read_corpus(root / "hf.parquet", format="manifest")


def test_what_is_not_there_or_not_known(wavs, tmp_path: Path):
    root = wavs("a.wav")
    (root / "manifest.csv").write_text("path\na.wav\n")
    with pytest.raises(CorpusError, match=r"no such file or folder\. Did you mean: manifest\.csv\?"):
        read_corpus(root / "manifets.csv")
    with pytest.raises(CorpusError, match="no such file or folder"):
        read_corpus(root / "no" / "where")
    with pytest.raises(CorpusError, match="no corpus is named"):
        read_corpus("")
    with pytest.raises(CorpusError, match="cannot be used as a path"):
        read_corpus("a\0b")
    (root / "notes.txt").write_text("hello")
    with pytest.raises(
        CorpusError, match=r"notes\.txt: this file is not a corpus that voxaudit knows. Formats: librispeech"
    ):
        read_corpus(root / "notes.txt")
    with pytest.raises(CorpusError, match="a manifest ends in one of"):
        read_corpus(root / "notes.txt", format="manifest")
    (root / "empty").mkdir()
    with pytest.raises(CorpusError, match="this folder is not a corpus"):
        read_corpus(root / "empty")
