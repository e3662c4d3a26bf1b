"""Recorded disfluent speech: rates against what is meant and heard, by kind and rate, beside generated cases."""

from __future__ import annotations

import json

import polars as pl
import pytest

from voxaudit.audits.disfluent.audit import disfluent
from voxaudit.cli.main import main
from voxaudit.errors import VoxauditError

SAID = [
    # what is meant, what can be heard, events, coded, what was answered
    ("I want to go", "I w- w- want to go", "sound_repetition:2", "yes", "I water want to go"),
    ("I want to go", "I I want to go", "word_repetition:1", "yes", "I I want to go"),
    ("please call me now", "please call me now", "none", "yes", "please call me now"),
    ("the dog ran home", "the dog ran home", None, "no", "the dog ran"),
]


def table(speakers: int = 6) -> pl.DataFrame:
    rows = [
        {
            "utterance": f"{who}-{number}",
            "scenario": "clean",
            "recognizer": "mine",
            "text": heard,
            "speaker": f"s{who}",
            "reference": meant,
            "surface": surface,
            "events": events,
            "coded": coded,
        }
        for who in range(speakers)
        for number, (meant, surface, events, coded, heard) in enumerate(SAID)
    ]
    return pl.DataFrame(rows)


def rows(answer, name):
    return answer.tables[name].to_dicts()


def test_rates_are_against_what_is_meant_and_what_can_be_heard():
    answer = disfluent(table())
    found = {(row["by"], row["group"]): row for row in rows(answer, "rates")}
    assert found["", "all utterances"]["wer"] == pytest.approx(3 / 16)
    assert found["kind", "sound repetition"]["wer"] == pytest.approx(1 / 4)
    assert found["kind", "word repetition"]["wer"] == pytest.approx(1 / 4)
    assert found["kind", "word repetition"]["wer_surface"] == 0  # it was written down as it was said
    assert found["", "coded, no event"]["wer"] == 0
    # What nobody coded is not among the fluent, whatever it holds.
    assert found["", "not coded"]["utterances"] == 6
    assert found["events per 100 words", "over 20"]["utterances"] == 12
    assert answer.notes[0].code == "not_coded"
    (finding,) = answer.findings
    assert (finding.verdict, finding.speakers) == ("measured", 6)
    assert finding.low <= finding.estimate <= finding.high


def cases(folder, heard, kind="word_repetition", speakers=6):
    folder.mkdir(exist_ok=True)
    made = [
        {
            "utterance": f"u{who}",
            "speaker": f"g{who}",
            "recognizer": "mine",
            "chain": chain,
            "kind": kind,
            "intended": "I want to go",
            "heard": text,
        }
        for who in range(speakers)
        for chain, text in (("", "I want to go"), (f"{kind}:word=0", heard), ("a;b", "nothing"))
    ]
    pl.DataFrame(made).write_parquet(folder / "cases.parquet")
    return folder


def test_generated_cases_that_fail_alike_overlap_and_others_do_not(tmp_path):
    (alike,) = rows(disfluent(table(), beside=cases(tmp_path / "a", "I I want to go")), "agreement")
    assert (alike["kind"], alike["agreement"], alike["cases"], alike["utterances"]) == (
        "word repetition",
        1.0,
        6,
        6,
    )
    (other,) = rows(disfluent(table(), beside=cases(tmp_path / "b", "I want to go")), "agreement")
    assert (other["agreement"], other["real_faulty"], other["made_faulty"]) == (0.0, 1.0, 0.0)
    (few,) = rows(disfluent(table(3), beside=cases(tmp_path / "c", "I I want to go")), "agreement")
    assert few["low"] is None
    with pytest.raises(VoxauditError, match="not the folder of a stutter audit"):
        disfluent(table(), beside=tmp_path)


def test_it_is_a_command_and_says_what_a_table_lacks(tmp_path, capsys):
    path = tmp_path / "heard.csv"
    table().write_csv(path)
    assert main(["disfluent", str(path), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["audit"] == "disfluent"
    assert [one["id"] for one in answer["tables"]] == ["rates"]
    table().drop("surface").write_csv(path)
    assert main(["disfluent", str(path)]) == 2
    assert "surface" in capsys.readouterr().err


def test_a_kind_that_there_is_not_is_told_and_nobody_is_fluent_by_it(tmp_path, capsys):
    path = tmp_path / "heard.csv"
    table().with_columns(events=pl.lit("Block:1")).write_csv(path)
    assert main(["disfluent", str(path)]) == 2
    error = capsys.readouterr().err
    assert "column `events`: no kind of event 'Block'. Did you mean: block?" in error
    assert error.count("\n") == 1


def test_speakers_that_nobody_knows_are_not_one():
    answer = disfluent(table().drop("speaker"))
    assert answer.lead.startswith("24 utterances of unknown speakers,")
    assert "of unknown speakers" in answer.findings[0].sentence
    assert answer.findings[0].low is None
