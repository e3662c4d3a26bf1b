from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from voxaudit.audits.score import audit as command
from voxaudit.cli.main import main

Write = Callable[[str, str], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def to_file(name: str, text: str) -> str:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    return to_file


@pytest.fixture
def plain(write: Write) -> list[str]:
    said = write("ref.txt", "Turn the lamp off.\nIt is five o'clock\n\nI, um, want tea\n")
    heard = write("hyp.txt", "turn a lamp off\nit is 5 oclock\nthank you\ni want tea\n")
    return [said, heard]


def as_json(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["score", *arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert isinstance(document, dict)
    return document


def rows(document: dict[str, Any], id_: str) -> list[dict[str, Any]]:
    """Return the rows of a table of an answer, by column."""
    (table,) = (table for table in document["tables"] if table["id"] == id_)
    return [dict(zip(table["names"], row, strict=True)) for row in table["rows"]]


def said(document: dict[str, Any]) -> list[str]:
    """Return the notes of an answer."""
    return [note["text"] for note in document["notes"]]


def measures(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the measures of an answer by name."""
    return {row["measure"]: row for row in rows(document, "measures")}


def test_what_is_printed(plain: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", *plain, "--alignments", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "4 utterances, text normalized with basic@1"
    words = [" ".join(line.split()) for line in lines]
    assert "WER, word error rate 41.7 % 5" in words
    assert words[words.index("WER, word error rate 41.7 % 5") + 1 :][:3] == [
        "substitutions 16.7 % 2",
        "deletions 8.3 % 1",
        "insertions 16.7 % 2",
    ]
    text = "\n".join(words)
    assert "1 reference without words: what was heard there counts as insertions" in text
    assert "No interval for the WER: there is no speaker column" in text
    assert "(see --columns)" in text
    for line in ("substituted five 5 1", "substituted the a 1", "deleted um - 1", "inserted - thank 1"):
        assert line in words
    assert "The normalizer decides the WER: 27.3 % with spoken-en@1, 45.5 % with whisper-en@1" in text
    # Two utterances have two errors; the first of them is shown.
    place = words.index("3 2 errors, 0 words REF: ***** ***")
    assert [line.rstrip() for line in lines[place + 1 : place + 3]] == [
        "  3                               HYP: thank you",
        "  3                                    I     I",
    ]
    assert "41.7 % of the words are wrong: 5 errors in 12 words of 4 utterances." in text


def test_the_json_document(plain: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    document = as_json([*plain, "--alignments", "2"], capsys)
    assert document["question"]["normalizer"] == "basic@1"
    finding, moved = document["findings"]
    assert moved["id"] == "score/normalizer_difference"
    assert (finding["utterances"], finding["words"], finding["estimate"]) == (4, 12, pytest.approx(5 / 12))
    found = measures(document)
    assert [found[name]["errors"] for name in ("wer", "substitutions", "deletions", "insertions")] == [
        5,
        2,
        1,
        2,
    ]
    assert found["wer"]["rate"] == finding["estimate"]
    assert found["mer"]["rate"] == pytest.approx(5 / 14)
    assert found["wil"]["rate"] == pytest.approx(1 - (9 / 12) * (9 / 13))
    # turn the lamp off: the > a is 3, five > 5 is 4, thank you 9, "um " 3; 17 + 17 + 0 + 13 characters.
    assert (found["cer"]["rate"], found["cer"]["errors"]) == (pytest.approx(19 / 47), 19)
    assert {"kind": "deleted", "word": "um", "heard": None, "count": 1} in rows(document, "frequent")
    assert [rate["normalizer"] for rate in rows(document, "normalizers")] == [
        "basic@1",
        "whisper-en@1",
        "keep-fillers@1",
        "spoken-en@1",
        "none@1",
    ]
    lines = rows(document, "alignments")
    assert list(dict.fromkeys(line["utterance"] for line in lines)) == ["3", "1"]
    assert lines[-1]["line"] == "          S"
    assert lines[-1]["hypothesis"] == "turn a lamp off"


def test_another_normalizer(plain: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    document = as_json([*plain, "--normalizer", "whisper-en"], capsys)
    assert document["question"]["normalizer"] == "whisper-en@1"
    first = rows(document, "normalizers")[0]
    assert (first["normalizer"], first["wer"]) == ("whisper-en@1", document["findings"][0]["estimate"])


def test_groups_and_an_interval_over_speakers(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    said = "red blue green gray"
    lines = "".join(
        f"u{number},{said},{said if number % 3 else 'red blue'},s{number % 6},{'xy'[number % 2]}\n"
        for number in range(24)
    )
    table = write("t.csv", f"id,text,hyp,speaker_id,words\n{lines}")
    document = as_json([table, "--by", "words"], capsys)
    groups = rows(document, "groups")
    (finding,) = document["findings"]
    assert [group["attribute_words"] for group in groups] == ["x", "y"]
    assert [group["words"] for group in groups] == [48, 48]
    assert sum(group["errors"] for group in groups) == 16
    assert finding["speakers"] == 6
    assert finding["low"] < finding["estimate"] < finding["high"]
    assert groups[0]["low"] is None  # three speakers in a group are too few
    assert not [note for note in document["notes"] if note["code"] == "no_interval"]
    assert main(["score", table, "--by", "words"]) == 0
    printed = capsys.readouterr().out
    assert "In brackets: the 95 % interval, speakers being the sample." in printed
    assert "By words" in printed


def test_few_speakers_give_no_interval_and_say_so(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    table = write("t.csv", "id,text,hyp,who\n1,a,b,s\n2,a,a,t\n")
    document = as_json([table, "--columns", "speaker=who"], capsys)
    assert "No interval for the WER: there are 2 speakers; at least 5 are needed." in said(document)
    assert (document["findings"][0]["estimate"], document["findings"][0]["low"]) == (0.5, None)


def test_json_is_alone_on_standard_output_and_has_the_notes(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    ours, theirs = write("ref.csv", "id,text\na,x\nb,y\n"), write("hyp.csv", "id,text\na,x\n")
    assert main(["score", ours, theirs, "--missing", "empty", "--json"]) == 0
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert measures(document)["deletions"]["errors"] == 1
    assert said(document)[0] == "1 of 2 references have no hypothesis ('b'): counted as deletions"
    assert err == ""


def test_transcripts_cannot_drive_the_terminal(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    nasty = "\x1b]0;owned\x07 \x1b[2J\x9b31m \u202eevil"
    table = write(
        "t.jsonl", json.dumps({"id": f"u{nasty}", "text": f"plain {nasty}", "hyp": nasty, "by": nasty}) + "\n"
    )
    assert main(["score", table, "--normalizer", "none", "--by", "by", "--alignments", "3"]) == 0
    out, err = capsys.readouterr()
    assert "owned" in out
    assert not [character for character in (out + err).replace("\n", "") if not character.isprintable()]
    other = write("u.jsonl", json.dumps({"id": nasty, "text": "x"}) + "\n")
    assert main(["score", table, other]) == 2
    assert capsys.readouterr().err.replace("\n", "").isprintable()


def test_only_empty_references_have_no_rate(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    ours, theirs = write("ref.txt", "\n...\n"), write("hyp.txt", "uh\n\n")
    document = as_json([ours, theirs], capsys)
    found = measures(document)
    (finding,) = document["findings"]
    assert (finding["words"], finding["verdict"], finding["code"]) == (0, "refused", "no_references")
    assert (found["insertions"]["errors"], found["wer"]["rate"], found["cer"]["rate"]) == (1, None, None)
    assert main(["score", ours, theirs]) == 0
    assert "There are no reference words." in capsys.readouterr().out


def test_large_inputs_are_sampled_for_the_side_tables(
    plain: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "SENSITIVITY_ROWS", 2)
    monkeypatch.setattr(command, "EDIT_ROWS", 3)
    document = as_json(plain, capsys)
    (finding,) = document["findings"]
    assert (finding["utterances"], finding["words"]) == (4, 12)
    titles = {table["id"]: (table["title"], table["note"]) for table in document["tables"]}
    assert titles["normalizers"][0] == "The same transcripts under every normalizer (2 utterances)"
    assert titles["frequent"][1] == "Of a sample of 2 utterances."


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--normalizer", "basik"], "Unknown normalizer 'basik'. Did you mean: basic?"),
        (["--by", "accent"], "no column 'accent'"),
        (["--columns", "speaker=who"], "no column 'who'"),
        (["--columns", "sentence=x"], "'sentence' is not a column here"),
    ],
)
def test_mistakes_are_one_line(
    plain: list[str], arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["score", *plain, *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.count("\n") == 1


def test_a_missing_file_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", str(tmp_path / "nothing.csv")]) == 2
    assert "nothing.csv: no such file" in capsys.readouterr().err


def test_sentences_that_count_as_words_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "said.txt").write_text("你好世界\nhello\n", encoding="utf-8")
    (tmp_path / "heard.txt").write_text("你好是界\nhello\n", encoding="utf-8")
    files = [str(tmp_path / "said.txt"), str(tmp_path / "heard.txt"), "--json"]
    document = as_json(files[:-1], capsys)
    assert any("1 of 2 references have no spaces between words" in text for text in said(document))
    assert document["findings"][0]["estimate"] == pytest.approx(1 / 2)
    document = as_json([*files[:-1], "--normalizer", "unspaced"], capsys)
    assert not [note for note in document["notes"] if note["code"] == "unspaced"]
    assert document["findings"][0]["estimate"] == pytest.approx(1 / 5)


def test_without_an_error_the_interval_says_how_much_was_heard(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = "".join(f"u{number},one two,one two,s{number}\n" for number in range(6))
    document = as_json([write("t.csv", f"id,text,hyp,speaker_id\n{lines}")], capsys)
    finding = document["findings"][0]
    # Six utterances of six speakers.
    assert (finding["estimate"], finding["low"]) == (0.0, 0.0)
    assert finding["high"] == pytest.approx(1 - 0.025 ** (1 / 6))
    assert any(
        text.startswith("where no error was made, the upper limit comes from") for text in said(document)
    )
