"""`voxaudit power`: from numbers alone, from a pilot, and by simulation."""

import json
import re

import numpy as np
import polars as pl
import pytest

from voxaudit.audits.parity.audit import parity
from voxaudit.audits.power.audit import power
from voxaudit.cli.main import main
from voxaudit.errors import VoxauditError
from voxaudit.stats.speaker_means import MEAN


@pytest.fixture
def scores(tmp_path):
    generator = np.random.default_rng(2)
    rows = [
        {
            "utterance": f"u{speaker}-{number}",
            "speaker": f"s{speaker}",
            "scenario": "clean",
            "recognizer": recognizer,
            "errors": int(generator.poisson(2 + 2 * (speaker % 2))),
            "words": 20,
            "gender": "fm"[speaker % 2],
        }
        for speaker in range(40)
        for number in range(3)
        for recognizer in ("x", "y")
    ]
    path = tmp_path / "scores.parquet"
    pl.DataFrame(rows).write_parquet(path)
    return path


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_from_numbers_alone(capsys):
    code, out, _ = run(capsys, "power", "--gap", 0.1, "--sigma", 0.15, "--speakers", "20,40", "--json")
    assert code == 0
    findings = {finding["id"]: finding for finding in json.loads(out)["findings"]}
    assert findings["power/eq1/speakers_needed"]["estimate"] == 36
    assert findings["power/t_test/speakers_needed"]["estimate"] == 37
    assert findings["power/smallest_gap"]["estimate"] == pytest.approx(0.1151, abs=1e-4)
    rows = power(gap=0.1, sigma=0.15, speakers=(20, 40)).tables["planned"].to_dicts()
    assert rows[0]["exact"] == pytest.approx(35.32, abs=0.01)
    assert rows[-1]["power"] == pytest.approx(0.665, abs=0.01)
    assert findings["power/smallest_gap"]["command"] == (
        "voxaudit power --gap 0.1 --sigma 0.15 --speakers 20.0,40.0"
    )
    code, out, _ = run(capsys, "power", "--gap", 0.1, "--sigma", 0.15, "--ratio", 3, "--one-sided")
    assert code == 0
    assert "19 and 56 speakers" in out
    assert "one-sided" in out


def test_of_a_pilot(capsys, scores):
    answer = power(scores, attributes=["gender"], gap=0.05, simulations=200)
    groups = answer.tables["groups"]
    assert groups["recognizer"].unique(maintain_order=True).to_list() == ["x", "y", MEAN]
    # What parity says of the same speakers.
    same = ["recognizer", "group", "speakers", "sigma", "speakers_needed", "more_needed", "smallest_gap"]
    assert groups.select(same).equals(
        parity(scores, attributes=["gender"], gap=0.05).tables["groups"].select(same)
    )
    simulated = answer.tables["simulated"].to_dicts()
    assert len(simulated) == 4
    for row in simulated:
        assert 0 <= row["low"] <= row["power"] <= row["high"] <= 1
        # Speakers of one group hardly differ in this table, so a few show five points.
        assert 2 <= row["speakers_needed"] <= 40
    finding = answer.finding("power/x/clean/gender/m/eq1/speakers_needed")
    assert finding.estimate == groups.filter(recognizer="x", group="m")["speakers_needed"][0]
    assert (finding.speakers, finding.speakers_against, finding.verdict) == (20, 20, "measured")
    assert finding.command == "voxaudit power scores.parquet --gap 0.05 --attributes gender --simulations 200"
    code, out, _ = run(capsys, "power", scores, "--attributes", "gender", "--gap", 0.05, "--simulations", 200)
    assert code == 0
    assert finding.sentence in out


def test_by_simulation_alone(capsys):
    code, out, _ = run(capsys, "power", "--base-wer", 0.2, "--simulations", 200)
    assert code == 0
    assert "speakers find a gap of 5.0 percentage points" in out
    (finding,) = power(base_wer=0.2, simulations=200, speakers=(30, 30), gap=0.1).findings
    assert (finding.speakers, finding.speakers_against) == (30, 30)
    assert finding.low <= finding.estimate <= finding.high
    refusal = power(base_wer=0.2, simulations=10, gap=1e-6).refusals[0]
    assert refusal.code == "too_few_speakers"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "say how much speakers differ.*--sigma, --base-wer"),
        (["--sigma", "0.1", "--speakers", "one"], "--speakers"),
        (["--sigma", "0.1", "--speakers", "1,5"], "at least 2, not 1, 5 .*--speakers"),
        (["--sigma", "0.1", "--speakers", "2.5"], "whole numbers"),
        (["--sigma", "0.1", "--simulations", "9"], "--base-wer"),
        (["{scores}"], "--attributes"),
        (["{scores}", "--attributes", "gender", "--one-sided"], "two-sided"),
        (["table.csv"], "no such file"),
        (["--sigma", "-1"], "sigma"),
    ],
)
def test_what_cannot_be_answered_is_one_line(capsys, scores, arguments, message):
    code, out, err = run(capsys, "power", *(text.format(scores=scores) for text in arguments))
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert re.search(message, err)


def test_numbers_that_make_no_sense():
    for bad in ({"sigma": 0.1, "gap": 0.0}, {"sigma": 0.1, "confidence": 1.0}, {"sigma": 0.1, "ratio": 0.0}):
        with pytest.raises(VoxauditError):
            power(**bad)
