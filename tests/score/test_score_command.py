from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from voxaudit.cli import score as command
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


def test_what_is_printed(plain: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", *plain, "--alignments", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "4 utterances, 12 reference words, text normalized with basic@1"
    assert lines[1] == "References without words: 1; what was heard there counts as insertions"
    assert "WER  41.7 %  word error rate" in lines
    assert [line.split() for line in lines[4:7]] == [
        ["16.7", "%", "substitutions", "(2)"],
        ["8.3", "%", "deletions", "(1)"],
        ["16.7", "%", "insertions", "(2)"],
    ]
    text = "\n".join(lines)
    assert "No interval for the WER: there is no speaker column" in text
    assert "substituted: five > 5 (1), the > a (1)" in text
    assert "deleted:     um (1)" in text
    assert "inserted:    thank (1), you (1)" in text
    assert "The choice of normalizer moves the WER by more than 10 %" in text
    # Two utterances have two errors; the first of them is shown.
    assert lines[-4:] == [
        "3: 2 errors, 0 reference words",
        "REF: ***** ***",
        "HYP: thank you",
        "     I     I",
    ]


def test_the_json_document(plain: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    document = as_json([*plain, "--alignments", "2"], capsys)
    assert document["normalizer"] == "basic@1"
    assert [document[name] for name in ("utterances", "words", "hits", "errors", "wordless")] == [
        4,
        12,
        9,
        5,
        1,
    ]
    assert [document[name] for name in ("substitutions", "deletions", "insertions")] == [2, 1, 2]
    assert document["wer"] == pytest.approx(5 / 12)
    assert document["mer"] == pytest.approx(5 / 14)
    assert document["wil"] == pytest.approx(1 - (9 / 12) * (9 / 13))
    # turn the lamp off: the > a is 3, five > 5 is 4, thank you 9, "um " 3; 17 + 17 + 0 + 13 characters.
    assert (document["characters"], document["character_errors"]) == (47, 19)
    assert document["frequent"]["deletions"] == [{"word": "um", "count": 1}]
    assert [rate["normalizer"] for rate in document["normalizers"]["rates"]] == [
        "basic@1",
        "whisper-en@1",
        "keep-fillers@1",
        "none@1",
    ]
    assert [item["id"] for item in document["alignments"]] == ["3", "1"]
    assert document["alignments"][1]["edits"][1] == {
        "kind": "substitute",
        "reference": ["the"],
        "hypothesis": ["a"],
        "reference_start": 1,
        "hypothesis_start": 1,
    }


def test_another_normalizer(plain: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    document = as_json([*plain, "--normalizer", "whisper-en"], capsys)
    assert document["normalizer"] == "whisper-en@1"
    assert document["normalizers"]["rates"][0]["normalizer"] == "whisper-en@1"
    assert document["normalizers"]["rates"][0]["wer"] == document["wer"]


def test_groups_and_an_interval_over_speakers(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    said = "one two three four"
    rows = "".join(
        f"u{number},{said},{said if number % 3 else 'one two'},s{number % 6},{'xy'[number % 2]}\n"
        for number in range(24)
    )
    table = write("t.csv", f"id,text,hyp,speaker_id,words\n{rows}")
    document = as_json([table, "--by", "words"], capsys)
    assert [group["group"] for group in document["groups"]] == [{"words": "x"}, {"words": "y"}]
    assert [group["words"] for group in document["groups"]] == [48, 48]
    assert sum(group["errors"] for group in document["groups"]) == document["errors"] == 16
    assert document["speakers"] == 6
    assert document["no_interval"] is None
    assert document["wer_low"] < document["wer"] < document["wer_high"]
    assert document["groups"][0]["wer_low"] is None  # three speakers in a group are too few
    assert main(["score", table, "--by", "words"]) == 0
    printed = capsys.readouterr().out
    assert "In brackets: 95 % interval of the WER, 6 speakers being the sample." in printed
    assert "By words" in printed


def test_few_speakers_give_no_interval_and_say_so(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    table = write("t.csv", "id,text,hyp,who\n1,a,b,s\n2,a,a,t\n")
    document = as_json([table, "--speaker", "who"], capsys)
    assert document["no_interval"] == "column 'who' has 2 speakers; at least 5 are needed"
    assert (document["wer"], document["wer_low"]) == (0.5, None)


def test_json_is_alone_on_standard_output_and_notes_go_elsewhere(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    said, heard = write("ref.csv", "id,text\na,x\nb,y\n"), write("hyp.csv", "id,text\na,x\n")
    assert main(["score", said, heard, "--missing", "empty", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["deletions"] == 1
    assert json.loads(out)["notes"] == ["1 of 2 references have no hypothesis ('b'): counted as deletions"]
    assert err == "note: 1 of 2 references have no hypothesis ('b'): counted as deletions\n"


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
    said, heard = write("ref.txt", "\n...\n"), write("hyp.txt", "uh\n\n")
    document = as_json([said, heard], capsys)
    assert (document["words"], document["insertions"], document["wer"], document["cer"]) == (0, 1, None, None)
    assert main(["score", said, heard]) == 0
    assert "WER  -" in capsys.readouterr().out


def test_large_inputs_are_sampled_for_the_side_tables(
    plain: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "SENSITIVITY_ROWS", 2)
    monkeypatch.setattr(command, "EDIT_ROWS", 3)
    document = as_json(plain, capsys)
    assert (document["utterances"], document["words"]) == (4, 12)
    assert document["normalizers"]["utterances"] == 2
    assert document["frequent"]["utterances"] == 2
    assert main(["score", *plain]) == 0
    printed = capsys.readouterr().out
    assert "on a sample of 2 utterances" in printed
    assert "(of a sample of 2 utterances)" in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--normalizer", "basik"], "Unknown normalizer 'basik'. Did you mean: basic?"),
        (["--by", "accent"], "no column 'accent'"),
        (["--speaker", "who"], "no column 'who'"),
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
    assert main(["score", *files]) == 0
    printed = capsys.readouterr()
    assert "1 of 2 references have no spaces between words" in printed.err
    assert json.loads(printed.out)["wer"] == pytest.approx(1 / 2)
    assert main(["score", *files, "--normalizer", "unspaced"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert json.loads(printed.out)["wer"] == pytest.approx(1 / 5)


def test_without_an_error_there_is_no_interval_and_the_reason_is_given(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(f"u{number},one two,one two,s{number}\n" for number in range(6))
    document = as_json([write("t.csv", f"id,text,hyp,speaker_id\n{rows}")], capsys)
    assert (document["wer"], document["wer_low"]) == (0.0, None)
    assert document["no_interval"].startswith("no error was made")
