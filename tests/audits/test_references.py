"""References in doubt: what most recognizers hear instead, and what that does to the error rates."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from voxaudit.answer import RefusedError
from voxaudit.audits.references.audit import corrected, doubted, references
from voxaudit.cli.main import main

HEARD = {
    # utterance: reference, then what x, y and z wrote
    "a": ("turn the lamp off", "turn the light off", "turn the light off", "turn the lamp off"),
    "b": ("open the door", "please open the door", "open the door", "open a door"),
    "c": ("it is 7 3 4", "it is seven three four", "it's 734", "it is 7 3 5"),
}


def table() -> pl.DataFrame:
    rows = [
        {
            "utterance": id_,
            "reference": said,
            "recognizer": name,
            "text": text,
            "gender": "f" if id_ == "a" else "m",
        }
        for id_, (said, *texts) in HEARD.items()
        for name, text in zip("xyz", texts, strict=True)
    ]
    return pl.DataFrame(rows)


def test_only_what_most_hear_alike_is_in_doubt() -> None:
    answer = references(table(), attributes="gender")
    assert answer.tables["spans"].select(
        "utterance", "reference says", "most hear", "agree", "of"
    ).rows() == [("a", "lamp", "light", 2, 3)]
    assert answer.finding("references/doubted").estimate == pytest.approx(1 / 3)
    rates = {row["recognizer"]: row for row in answer.tables["rates"].to_dicts()}
    assert (rates["x"]["wer"], rates["x"]["wer_after"]) == pytest.approx((2 / 12, 1 / 12))
    assert (rates["z"]["wer"], rates["z"]["wer_after"]) == pytest.approx((2 / 12, 3 / 12))
    groups = answer.tables["groups-gender"].filter(pl.col("recognizer") == "x")
    assert groups["change"].to_list() == pytest.approx([-0.25, 0.0])


def test_spans_that_overlap_are_corrected_once() -> None:
    said, heard = "one two three four", "one five six four"
    rows = {"utterance": ["a"] * 4, "scenario": ["clean"] * 4, "recognizer": list("wxyz")}
    frame = pl.DataFrame(rows | {"said": [said] * 4, "heard": [heard, heard, heard, said]})
    spans = doubted(frame)
    assert spans.height == 1
    assert corrected(frame, spans)["errors_after"].to_list() == [0, 0, 0, 2]


def test_two_recognizers_are_too_few() -> None:
    with pytest.raises(RefusedError, match="2 recognizers"):
        references(table().filter(pl.col("recognizer") != "z"))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "heard.csv"
    table().write_csv(path)
    before = path.read_bytes()
    assert main(["references", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["findings"][0]["id"] == "references/doubted"
    assert path.read_bytes() == before
