"""`voxaudit parity` and `voxaudit power` as a user runs them."""

import json
import re

import numpy as np
import polars as pl
import pytest

from voxaudit import audio
from voxaudit.cli.main import main


@pytest.fixture
def scores(tmp_path):
    generator = np.random.default_rng(2)
    rows = [
        {
            "utterance": f"u{speaker}-{number}",
            "speaker": f"s{speaker}",
            "scenario": "clean",
            "recognizer": recognizer,
            "substitutions": int(generator.poisson(2 + 2 * (speaker % 2))),
            "deletions": 0,
            "insertions": 0,
            "words": 20,
            "gender": "fm"[speaker % 2],
            "age": 20 + speaker,
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


def test_json(capsys, scores):
    code, out, _ = run(capsys, "parity", scores, "--attributes", "gender,age", "--json")
    assert code == 0
    document = json.loads(out)
    wanted = {
        "attribute",
        "group",
        "speakers",
        "wer_speaker_mean",
        "wer_pooled",
        "err_rel",
        "ci_low",
        "ci_high",
    }
    wanted |= {"p", "enough_speakers", "speakers_needed", "p_adjusted", "wer_utterance_mean"}
    assert wanted <= set(document["univariate"][0])
    assert {"attribute", "gap"} <= set(document["gaps"][0])
    for name in ("conditional", "intersectional", "regression", "checklist", "refusals"):
        assert isinstance(document[name], list)
    assert {"practice", "status", "why", "recognizer"} == set(document["checklist"][0])
    assert len({check["practice"] for check in document["checklist"]}) == 10
    # What differs between recognizers is said of each of them, never of their mean.
    assert {check["recognizer"] for check in document["checklist"]} <= {None, "x", "y"}
    for name in ("univariate", "gaps", "pairs", "conditional", "intersectional", "regression", "sigma"):
        order = list(dict.fromkeys(line["recognizer"] for line in document[name]))
        assert order == ["x", "y", "(mean of recognizers)"], name
    assert document["about"]["groups"]["age"] == ["18-29", "30-44", "45-64"]
    men = next(
        row
        for row in document["univariate"]
        if row["group"] == "m" and row["recognizer"] == "(mean of recognizers)"
    )
    assert men["err_rel"] > 0
    assert men["ci_low"] <= men["err_rel"] <= men["ci_high"]


def test_tables_for_people(capsys, scores):
    code, out, _ = run(capsys, "parity", scores, "--attributes", "gender,age")
    assert code == 0
    for part in ("Groups (Eq. 2 to 4)", "Best against worst", "fixed (Eq. 6)", "Checklist", "canary"):
        assert part in out
    # A short print speaks of every recognizer by itself; their mean stands last in the table of gaps only.
    assert "asked about: a gap of" in out
    assert "percentage points of word error rate" in out
    before, _, after = out.partition("Best against worst")
    assert "(mean of" not in before
    assert after.index(" y ") < after.index("(mean of")
    code, full, _ = run(
        capsys, "parity", scores, "--attributes", "gender,age", "--full", "--bands", "age=18,65"
    )
    assert code == 0
    assert "Pairs of groups" in full
    assert "(mean of" in full.partition("Best against worst")[0]
    assert "18-64" not in full.split("Checklist")[0]  # one band is nothing to compare
    assert "one group only" in full


def test_a_run_folder_brings_its_audio_and_texts(capsys, scores, tmp_path):
    generator = np.random.default_rng(5)
    folder = tmp_path / "run"
    folder.mkdir()
    table = pl.read_parquet(scores)
    table.write_parquet(folder / "scores.parquet")
    ids = table["utterance"].unique(maintain_order=True).to_list()
    envelope = np.abs(np.sin(np.arange(16_000) / 1_500)) ** 4
    for place in range(4):
        noise = generator.standard_normal(16_000) * (0.001 if place else 0.5)
        samples = 0.2 * envelope * np.sin(np.arange(16_000) / 8) + 0.1 * noise
        audio.write(folder / f"{place}.wav", audio.Audio(samples.astype(np.float32), 16_000))
    pl.DataFrame(
        {
            "id": ids,
            # Every 40th utterance has the noisy recording.
            "audio": [f"{0 if place % 40 == 0 else 1 + place % 3}.wav" for place in range(len(ids))],
            "speaker": [name.partition("-")[0][1:] for name in ids],
            "text": [
                "turn on the light" if place % 2 else "close the kitchen window" for place in range(len(ids))
            ],
            "start": 0.0,
            "duration": pl.Series([None] * len(ids), dtype=pl.Float64),
            "gender": "x",
        }
    ).write_parquet(folder / "corpus.parquet")
    code, out, _ = run(capsys, "parity", folder, "--attributes", "gender", "--json")
    assert code == 0
    document = json.loads(out)
    assert document["about"]["left_out"] == {"signal-to-noise ratio under 10 dB": 6}
    assert {row["measure"] for row in document["balance_tests"]} >= {"snr", "text_words", "perplexity_bits"}
    assert "estimated from the audio" in document["about"]["measured_with"]["snr"]
    code, out, _ = run(capsys, "parity", folder, "--attributes", "gender", "--json", "--no-audio")
    statuses = {check["practice"]: check for check in json.loads(out)["checklist"]}
    assert statuses["equal recording quality (3.1)"]["status"] == "cannot be checked"
    assert "--no-audio" in statuses["equal recording quality (3.1)"]["why"]


def test_figures(capsys, scores, tmp_path):
    pytest.importorskip("matplotlib")
    table = pl.read_parquet(scores).with_columns(
        snr=20 + pl.int_range(pl.len()) % 9, text=pl.lit("a $5 text"), gender=pl.col("gender") + "$x$"
    )
    table.write_parquet(tmp_path / "more.parquet")
    code, _, err = run(
        capsys, "parity", tmp_path / "more.parquet", "--attributes", "gender,age", "--plots", tmp_path / "f"
    )
    assert code == 0
    names = {path.name for path in (tmp_path / "f").iterdir()}
    wanted = {"quality", "complexity"}
    wanted |= {f"{name}{of}" for name in ("groups", "conditional", "speakers") for of in ("", "_x", "_y")}
    assert names == {f"parity_{name}.{ending}" for name in wanted for ending in ("pdf", "png")}
    assert all(path.stat().st_size > 5_000 for path in (tmp_path / "f").iterdir())
    assert err.count("written: ") == 22


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.csv", "--attributes", "a"], "no such file"),
        (["{scores}", "--attributes", "gende"], "Did you mean: gender"),
        (["{scores}", "--attributes", "gender", "--bands", "age=x"], "--bands takes"),
        (["{scores}", "--attributes", "gender", "--min-snr", "loud"], "--min-snr takes"),
        (["{scores}", "--attributes", "gender", "--speaker", "who"], "no column 'who' of speakers"),
        (["{folder}", "--attributes", "gender"], "no scores.parquet|scores.parquet"),
    ],
)
def test_bad_input_is_one_line(capsys, scores, tmp_path, arguments, message):
    (tmp_path / "empty").mkdir()
    filled = [text.format(scores=scores, folder=tmp_path / "empty") for text in arguments]
    code, out, err = run(capsys, "parity", *filled)
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert re.search(message, err)


def test_power_alone(capsys):
    code, out, _ = run(capsys, "power", "--gap", 0.1, "--sigma", 0.15, "--speakers", "20,40", "--json")
    assert code == 0
    planned = json.loads(out)["planned"]
    assert planned["eq1"]["exact"] == pytest.approx(35.32, abs=0.01)
    assert (planned["eq1"]["speakers"], planned["t_test"]["speakers"]) == (36, 37)
    assert planned["present"]["power_t"] == pytest.approx(0.665, abs=0.01)
    code, out, _ = run(capsys, "power", "--gap", 0.1, "--sigma", 0.15, "--ratio", 3, "--one-sided")
    assert code == 0
    assert "19 and 56 speakers" in out


def test_power_of_a_pilot(capsys, scores):
    code, out, _ = run(
        capsys, "power", scores, "--attributes", "gender", "--gap", 0.05, "--simulate", 200, "--json"
    )
    assert code == 0
    table = json.loads(out)["table"]
    assert list(dict.fromkeys(row["recognizer"] for row in table["groups"])) == [
        *("x", "y", "(mean of recognizers)")
    ]
    assert len(table["simulated"]) == 4
    row = table["simulated"][0]
    assert 0 <= row["power_low"] <= row["power"] <= row["power_high"] <= 1
    # Speakers of one group hardly differ in this table, so a few show five points.
    assert 2 <= row["speakers_needed"] <= 40


def test_power_by_simulation_alone(capsys):
    code, out, _ = run(capsys, "power", "--base-wer", 0.2, "--simulate", 200)
    assert code == 0
    assert "speakers find a gap of 10 percentage points" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "say how much speakers differ"),
        (["--sigma", "0.1", "--speakers", "one"], "--speakers takes"),
        (["--sigma", "0.1", "--simulate"], "--base-wer"),
        (["table.csv"], "--attributes"),
        (["--sigma", "-1"], "sigma"),
    ],
)
def test_power_refuses(capsys, arguments, message):
    code, _, err = run(capsys, "power", *arguments)
    assert code == 2
    assert message in err
