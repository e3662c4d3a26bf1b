"""`voxaudit stutter` as a user meets it: real alignment, a real recognizer's place taken by a function."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import soundfile

from voxaudit.cli.main import main

pytest.importorskip("pocketsphinx", reason="forced alignment needs voxaudit[pocketsphinx]")
pytest.importorskip("py_nanotts", reason="the speech is made by voxaudit[speak]")

TEXT = "the weather in the mountain village"


@pytest.fixture(scope="module")
def spoken(tmp_path_factory):
    from voxaudit.audio import write
    from voxaudit.speak.base import Voice, speak

    folder = tmp_path_factory.mktemp("stutter")
    lines = ["id,path,text,speaker"]
    for number, pitch in enumerate((0.9, 1.0, 1.1)):
        write(folder / f"{number}.wav", speak(Voice(pitch=pitch), TEXT))
        lines.append(f"u{number},{number}.wav,{TEXT},s{number}")
    soundfile.write(folder / "silence.wav", np.zeros(8000, np.float32), 16000)
    lines.append(f"quiet,silence.wav,{TEXT},s9")
    (folder / "manifest.csv").write_text("\n".join(lines) + "\n")
    (folder / "damaged").mkdir()
    (folder / "damaged" / "stutter.json").write_text("{")
    return folder


def run(spoken: Path, out: Path, *more: str) -> int:
    corpus, fixed = str(spoken / "manifest.csv"), ["--workers", "1", "--no-cache", "--budget", "2"]
    return main(["stutter", corpus, "--recognizers", "moonshine", "--out", str(out), *fixed, *more])


@pytest.mark.slow
def test_an_audit_from_end_to_end(spoken, tmp_path, capsys):
    pytest.importorskip("moonshine_voice")
    assert run(spoken, tmp_path / "out", "--json", "--dose", "0,30") == 0
    answer = json.loads(capsys.readouterr().out)
    found = json.loads((tmp_path / "out" / "stutter.json").read_text())
    assert found["utterances"] == 3
    assert list(found["skipped"]) == ["quiet"]
    assert "silent" in found["skipped"]["quiet"]
    one = found["recognizers"]["moonshine"]
    assert {"wer", "mer", "wil", "wer_original", "p"} <= set(one)
    # The paper's test is there for comparison, under a name that says so, and under no other.
    assert "p_u_published" in one
    assert "p_u" not in one
    assert one["cases"] == 6
    assert [point["rate"] for point in found["dose"]] == [0, 30]
    tables = {table["id"]: table for table in answer["tables"]}
    assert sum(row[-1] for row in tables["faults"]["rows"]) == len(found["suspicious"])
    costs = dict(zip(tables["costs"]["names"], tables["costs"]["rows"][0], strict=True))
    assert {"wer", "mer", "wil", "wer_original", "p", "p_adjusted", "p_u_published"} <= set(costs)
    assert costs["wer"] == one["wer"]
    cases = pl.read_parquet(tmp_path / "out" / "cases.parquet")
    assert cases.filter(pl.col("chain") == "").height == 3
    # Counts for other audits: the same errors, by scenario.
    scores = pl.read_parquet(tmp_path / "out" / "scores.parquet")
    assert scores["scenario"].unique().sort().to_list() == ["30", "block", "clean", "prolongation"]
    errors = scores.select(
        "scenario", "words", errors=pl.sum_horizontal("substitutions", "deletions", "insertions")
    )
    summed = {
        name: (e, w) for name, e, w in errors.group_by("scenario").agg(pl.col("errors", "words").sum()).rows()
    }
    assert summed["clean"][0] / summed["clean"][1] == one["wer_original"]
    assert summed["block"][0] / summed["block"][1] == found["kinds"]["block"]["moonshine"]["wer"]
    assert summed["30"][0] / summed["30"][1] == found["dose"][1]["wer"]
    assert main(["robustness", str(tmp_path / "out"), "--json"]) == 0
    assert capsys.readouterr().out
    # The same again: nothing is heard, the answer is the same. So it is when it is read back.
    assert run(spoken, tmp_path / "out", "--json", "--dose", "0,30") == 0
    assert json.loads(capsys.readouterr().out) == answer
    assert json.loads((tmp_path / "out" / "stutter.json").read_text()) == found
    assert main(["stutter", str(tmp_path / "out"), "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert (again["findings"], again["tables"]) == (answer["findings"], answer["tables"])


def test_one_file(spoken, tmp_path, capsys):
    source, target = str(spoken / "0.wav"), str(tmp_path / "out.wav")
    arguments = ["perturb", source, target, "stutter:block,word_repetition", "--says", TEXT]
    assert main([*arguments, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["intended"] == TEXT
    assert len(said["surface"].split()) > len(TEXT.split())
    length = soundfile.info(target).duration
    assert length == pytest.approx(said["seconds"])
    assert length > said["seconds_before"]
    first = Path(target).read_bytes()
    assert main(arguments) == 0
    assert Path(target).read_bytes() == first


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["stutter", "manifest.csv"], "name a folder for what is found (see --out)"),
        (["stutter", "manifest.csv", "--out", "o", "--kinds", "blok"], "Did you mean: block"),
        (["stutter", "manifest.csv", "--out", "o", "--dose", "x"], "--dose: takes numbers with commas"),
        (["stutter", "manifest.csv", "--out", "o", "--dose", "501"], "from 0 to 500 stuttered moments"),
        (["perturb", "0.wav", "o.wav", "stutter:blok", "--says", "x"], "Did you mean: block"),
        (["perturb", "0.wav", "o.wav", "stutter:", "--says", "x"], "no kind of stuttering chosen"),
        (["perturb", "0.wav", "o.wav", "stutter:block,strength=2", "--says", "x"], "the only setting"),
        # A comma also stands between the settings of one recognizer.
        (
            ["stutter", "manifest.csv", "--out", "o", "--recognizers", "moonshine:model=tiny,threds=2,vosk"],
            "recognizer 'moonshine': unknown setting 'threds'",
        ),
        (["stutter", "nowhere.csv", "--out", "o"], "no such file"),
        (["stutter", "", "--out", "o"], "CORPUS is empty, perhaps a variable that is not set"),
        (["stutter", "manifest.csv", "--out", "o", "--seeds", "9-0"], "such as 0-9, not '9-0'"),
        (["stutter", "manifest.csv", "--out", "o", "--attributes", "accent"], "no attribute 'accent'"),
        (
            ["stutter", "replay", "manifest.csv", "--out", "o"],
            "manifest.csv: no stutter audit in this folder",
        ),
        (["stutter", "replay", "damaged"], "name a folder for what is heard (see --out)"),
        (["stutter", "replay", "damaged", "--out", "o"], "stutter.json: not the findings of a stutter audit"),
        (
            ["stutter", "replay", "damaged", "--out", "o", "--seeds", "0-9"],
            "a replay takes its cases as they are",
        ),
        (
            ["stutter", "manifest.csv", "--out", "o", "--timings", "nowhere"],
            "nowhere: no such file or folder",
        ),
        (["stutter", "manifest.csv", "--out", "o", "--timings", "0.wav"], "unknown alignment format"),
        (["perturb", "0.wav", "o.wav", "stutter:block"], "its words must be known: --says TEXT"),
        (["perturb", "manifest.csv", "o", "stutter:block", "--says", "x"], "one file at a time"),
        (["perturb", "0.wav", "o.wav", "stutter:block", "--says", "日本語"], "no pronunciation"),
        (["perturb", "silence.wav", "o.wav", "stutter:block", "--says", "x"], "silent"),
    ],
)
def test_mistakes_are_one_line(spoken, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(spoken)
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
