"""Whatever people give a command: one clear line, exit code 2, nothing half-written, never a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import soundfile

from voxaudit.audits.audit import AUDITS
from voxaudit.cli.main import COMMANDS, main

RATE = 16_000


@pytest.fixture(scope="module")
def bad(tmp_path_factory) -> Path:
    """A folder of things that go wrong."""
    home = tmp_path_factory.mktemp("bad")
    speech = 0.1 * np.sin(np.arange(RATE) / 20)
    soundfile.write(home / "good.wav", speech, RATE)
    soundfile.write(home / "nan.wav", np.full(800, np.nan, dtype=np.float32), RATE, subtype="FLOAT")
    soundfile.write(home / "none.wav", np.zeros(0), RATE)
    (home / "broken.wav").write_bytes(b"RIFF\x24\x00\x00\x00WAVEfmt ")
    (home / "zero.wav").write_bytes(b"")
    (home / "empty.csv").write_text("")
    (home / "head.csv").write_text("path,text,speaker\n")
    (home / "garbage.csv").write_bytes(bytes(range(256)) * 4)
    (home / "garbage.parquet").write_bytes(b"PAR1 this is not one")
    (home / "garbage.jsonl").write_text('{"a": 1}\n{"a": \n')
    (home / "other.csv").write_text("color,size\nred,3\n")
    (home / "twice.csv").write_text("id,path,text\na,good.wav,x\na,good.wav,y\n")
    (home / "missing.csv").write_text("path,text\nnowhere.wav,x\n")
    (home / "outside.csv").write_text("path,text\n../../../../etc/passwd,x\n")
    (home / "good.csv").write_text("path,text,speaker,gender\ngood.wav,hello there,s1,f\n")
    (home / "noid.csv").write_text("id,text\n,hello\n")
    (home / "not.toml").write_text("this is = = no toml\n")
    (home / "unknown.toml").write_text('[corpus]\npath = "good.csv"\n[recognizer.moonshine]\n')
    (home / "nothing.toml").write_text('[corpus]\npath = "good.csv"\n')
    (home / "engine.toml").write_text('[corpus]\npath = "good.csv"\n[recognizers.moonshin]\n')
    (home / "lost.toml").write_text('[corpus]\npath = "lost.csv"\n[recognizers.moonshine]\n')
    (home / "attribute.toml").write_text(
        '[corpus]\npath = "good.csv"\nattributes = ["gendre"]\n[recognizers.moonshine]\n'
    )
    (home / "gate.toml").write_text(
        '[corpus]\npath = "good.csv"\n[recognizers.moonshine]\n[gates]\nclean_wre = 0.1\n'
    )
    (home / "folder").mkdir()
    (home / "halfrun").mkdir()
    (home / "halfrun" / "run.json").write_text(json.dumps({"format": 1, "seed": 0}))
    (home / "damaged").mkdir()
    (home / "damaged" / "run.json").write_text(json.dumps({"format": 1, "seed": 0}))
    pl.DataFrame({"utterance": ["a"]}).write_parquet(home / "damaged" / "transcripts.parquet")
    (home / "oldrun").mkdir()
    (home / "oldrun" / "run.json").write_text(json.dumps({"format": 99}))
    (home / "brokenrun").mkdir()
    (home / "brokenrun" / "run.json").write_text("{")
    counts = {"hits": 3, "substitutions": 1, "deletions": 0, "insertions": 0, "words": 4, "characters": 9}
    rows = {
        "utterance": [f"u{n}" for n in range(8)],
        "speaker": [f"s{n % 4}" for n in range(8)],
        "scenario": ["clean"] * 8,
        "recognizer": ["a"] * 8,
        **{name: [value] * 8 for name, value in counts.items()},
        "character_errors": [1] * 8,
        "gender": ["f", "m"] * 4,
    }
    scores = pl.DataFrame(rows)
    scores.write_csv(home / "scores.csv")
    scores.drop("speaker").write_csv(home / "nospeaker.csv")
    scores.with_columns(words=pl.lit(-3)).write_csv(home / "negative.csv")
    scores.with_columns(words=pl.lit("many")).write_csv(home / "text.csv")
    return home


CASES = [
    ("init {bad}/lost.csv", "no such file"),
    ("init {bad}/other.csv", ""),
    ("init {bad}/good.csv --format kaldy", "kaldi"),
    ("run {bad}/lost.toml.missing", "no such file"),
    ("run {bad}/not.toml", "not valid TOML"),
    ("run {bad}/unknown.toml", "recognizers"),
    ("run {bad}/nothing.toml", "no recognizer"),
    ("run {bad}/engine.toml", "moonshine"),
    ("run {bad}/lost.toml", "lost.csv"),
    ("run {bad}/attribute.toml", "gender"),
    ("run {bad}/gate.toml", "clean_wer"),
    ("run {bad}/folder", "folder"),
    ("report {bad}/nowhere", "run"),
    ("report {bad}/folder", "run"),
    ("report {bad}/halfrun", "not finished"),
    ("report {bad}/damaged", "damaged"),
    ("report {bad}/oldrun", "another version"),
    ("report {bad}/brokenrun", "run.json"),
    ("compare {bad}/scores.csv {bad}/nowhere.csv", "no such file"),
    ("compare {bad}/scores.csv {bad}/other.csv", "no column"),
    ("compare {bad}/nospeaker.csv {bad}/nospeaker.csv", "speaker"),
    ("compare {bad}/scores.csv {bad}/scores.csv --attributes gendre", "gender"),
    ("versus {bad}/nowhere.csv", "no such file"),
    ("versus {bad}/nospeaker.csv", "speaker"),
    ("versus {bad}/scores.csv one", "two different recognizers"),
    ("review {bad}/nowhere", "no such folder"),
    ("review {bad}/folder", "run"),
    ("study create {bad}/lost.csv --out {out}/s", "no such file"),
    ("study serve {bad}/folder", "not a study"),
    ("study analyze {bad}/other.csv", "perturbation"),
    ("study analyze {bad}/empty.csv", "empty"),
    ("perturb {bad}/good.wav {out}/x.wav gausian_noise:1", "gaussian_noise"),
    ("perturb {bad}/good.wav {out}/x.wav gaussian_noise:9", "gaussian_noise:4"),
    ("perturb {bad}/broken.wav {out}/x.wav gain:1", "broken.wav"),
    ("perturb {bad}/zero.wav {out}/x.wav gain:1", "zero.wav"),
    ("perturb {bad}/none.wav {out}/x.wav gain:1", "none.wav"),
    ("perturb {bad}/nan.wav {out}/x.wav gain:1", "NaN"),
    ("perturb {bad}/lost.wav {out}/x.wav gain:1", "no such"),
    ("perturb {bad}/missing.csv {out}/x gain:1", "nowhere.wav"),
    ("score {bad}/lost.csv {bad}/good.csv", "no such file"),
    ("score {bad}/empty.csv {bad}/good.csv", "empty"),
    ("score {bad}/other.csv {bad}/other.csv", ""),
    ("score {bad}/good.csv {bad}/good.csv --normalizer wisper", "whisper"),
    ("quality {bad}/lost", "no such"),
    ("robustness {bad}/other.csv", "no column"),
    ("robustness {bad}/garbage.parquet", "cannot read"),
    ("robustness {bad}/scores.csv --resamples 3", "at least 100"),
    ("robustness {bad}/halfrun", "not finished"),
    ("disparity {bad}/scores.csv --attribute gendre", "gender"),
    ("disparity {bad}/negative.csv --attribute gender", ""),
    ("disparity {bad}/text.csv --attribute gender", ""),
    ("disparity {bad}/garbage.jsonl --attribute gender", "cannot read"),
    ("parity {bad}/scores.csv --attributes gendre", "gender"),
    ("parity {bad}/nospeaker.csv --attributes gender", "speaker"),
    ("parity {bad}/garbage.csv --attributes gender", ""),
    ("differential {bad}/other.csv --attribute gender", "no column"),
    ("differential {bad}/lost.csv --attribute gender", "no such file"),
    ("localize {bad}/other.csv --attribute gender", "no column"),
    ("localize {bad}/halfrun --attribute gender", ""),
    ("stutter {bad}/lost.csv --out {out}/st", "no such file"),
    ("stutter {bad}/good.csv", "--out"),
    ("stutter {bad}/good.csv --recognizers moonshin --out {out}/st", "moonshine"),
    ("stutter {bad}/good.csv --kinds blok --out {out}/st", "block"),
    ("attack {bad}/lost.csv --recognizers moonshine --method blackbox --out {out}/at", "no such file"),
    ("attack {bad}/good.csv --recognizers moonshin --method blackbox --out {out}/at", ""),
    ("breaking {bad}/lost.csv --out {out}/b", "no such file"),
    ("breaking {bad}/good.csv --perturbation gausian_noise --out {out}/b", "gaussian_noise"),
    ("sequential {bad}/nowhere.toml --attribute gender", "no such"),
    ("sequential {bad}/scores.csv --attribute gendre", "gender"),
    ("sequential {bad}/scores.csv", "precision"),
    ("power nothing.csv --attributes gender", ""),
    ("power {bad}/other.csv --attributes gender", ""),
    ("inspect {bad}/lost.csv", "no such file"),
    ("inspect {bad}/empty.csv", "empty"),
    ("inspect {bad}/garbage.csv", ""),
    ("select {bad}/lost.csv --where gender=f --export {out}/m.csv", "no such file"),
    ("select {bad}/good.csv --where gendre=f --export {out}/m.csv", "gender"),
    ("models fetch vosk-smal", "vosk"),
    ("recognizers check moonshin", "moonshine"),
    ("recognizers check command:", "command"),
    ("list scenarioes", "scenarios"),
    ("completion bsh", "bash"),
    ("slices {bad}/nowhere.csv", "no such file"),
    ("slices {bad}/nospeaker.csv", "speaker"),
    ("disfluent {bad}/nowhere.csv", "no such file"),
    ("hallucination {bad}/nowhere.csv", "no such file"),
    ("hallucination {bad}/scores.csv", "text"),
    ("keywords {bad}/nowhere.csv", "no such file"),
    ("references {bad}/scores.csv", "reference"),
    ("keywords {bad}/scores.csv", "reference"),
    ("versus {bad}/nowhere.csv {bad}/scores.csv {bad}/good.csv", "no such file"),
    ("waiting {bad}/nowhere.csv", "no such file"),
    ("waiting {bad}/scores.csv", "there are no times"),
    ("confidence {bad}/nowhere.csv", "no such file"),
    ("confidence {bad}/scores.csv", "text"),
    ("accuracy {bad}/scores.csv --by gendre", "gender"),
    ("demo --out {bad}/good.wav", "good.wav"),
    ("demo --voices alien", "human"),
]


def tree(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_size for path in folder.rglob("*")}


@pytest.mark.parametrize(("line", "message"), CASES, ids=[line for line, _ in CASES])
def test_one_clear_line(bad, tmp_path, monkeypatch, capsys, line, message):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VOXAUDIT_CACHE", str(tmp_path / "cache"))
    before = tree(bad)
    out = tmp_path / "out"
    out.mkdir()
    try:
        code = main(line.format(bad=bad, out=out).split())
    except SystemExit as left:  # argparse says what is wrong with flags and choices
        code = left.code
    said = capsys.readouterr()
    assert code == 2, said
    last = said.err.strip().splitlines()[-1]
    assert "Traceback" not in said.err
    assert "error:" in last
    assert message in last
    assert said.out == ""
    assert tree(bad) == before
    assert list(out.rglob("*")) == []


def test_every_command_is_tried():
    assert {line.split()[0] for line, _ in CASES} == {*COMMANDS, *AUDITS.names()}


@pytest.mark.parametrize(
    "name", ["accuracy", "report", "run", "review", "inspect", "score good.csv", "stutter"]
)
def test_an_empty_name_is_not_the_working_folder(name, capsys):
    assert main([*name.split(), ""]) == 2
    said = capsys.readouterr().err
    assert f"`voxaudit {name.split()[0]}`: " in said
    assert "is empty, perhaps a variable that is not set" in said
