"""`voxaudit report` as a user meets it."""

from __future__ import annotations

import json
import re

import pytest

from voxaudit.cli.main import main
from voxaudit.cli.output import printable
from voxaudit.config import Gate, Gates
from voxaudit.report.build import remember


def command(*arguments) -> int:
    """Run the command."""
    return main(["report", *map(str, arguments)])


def test_a_report_is_built_again_as_the_run_was_asked(make_run, drops, capsys, validate, only):
    only("accuracy", "disparity")
    run = remember(make_run(drops), ["accent"], Gates({"clean_wer": Gate(0.1)}))
    assert command(run.folder) == 1
    out, err = capsys.readouterr()
    assert "Word error rate by accent on clean speech\n" in out
    assert "gate clean_wer/two: FAIL" in out
    assert f"Report: {run.folder / 'report.html'}" in err
    assert "voxaudit: 1 of 2 gates failed: two gets " in err
    found = validate((run.folder / "findings.json").read_text())
    assert not found["passed"]
    assert any(one["attribute"] == "accent" for one in found["findings"])


def test_flags_override_what_is_remembered(make_run, drops, capsys, tmp_path, only):
    only("accuracy")
    run = remember(make_run(drops), ["accent"], Gates({"clean_wer": Gate(0.1)}))
    (tmp_path / "gates.toml").write_text("[gates]\nclean_wer = 0.9\n")
    out = tmp_path / "elsewhere"
    assert command(run.folder, "--attributes", "", "--gates", tmp_path / "gates.toml", "--out", out) == 0
    assert "on clean speech\n" not in capsys.readouterr().out
    assert (out / "report.html").exists()
    assert not (run.folder / "report.html").exists()


def test_json_is_findings_and_the_folder(make_run, drops, capsys, validate, only):
    only("accuracy", "disparity")
    run = make_run(drops)
    assert command(run.folder, "--attributes", "accent", "--json", "--audio-megabytes", "0") == 0
    printed = validate(capsys.readouterr().out)
    assert printed.pop("folder") == str(run.folder)
    assert printed == json.loads((run.folder / "findings.json").read_text())


def test_the_schema_is_printed(capsys):
    assert command("--schema") == 0
    schema = json.loads(capsys.readouterr().out)
    assert schema["$schema"].endswith("2020-12/schema")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name the folder of a run"),
        (("{tmp}/nothing",), "not a run folder"),
        (("{run}", "--attributes", "nothing"), "no attribute 'nothing'"),
        (("{run}", "--gates", "{tmp}/none.toml"), "no such file"),
        (("{run}", "--audio-megabytes", "-1"), "must be from 0 to 1,000, not -1"),
    ],
)
def test_mistakes_are_one_line(make_run, drops, tmp_path, capsys, arguments, message):
    run = make_run(drops, utterances=1)
    assert command(*(text.format(tmp=tmp_path, run=run.folder) for text in arguments)) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (run.folder / "report.html").exists()


@pytest.mark.slow
def test_nothing_drives_the_terminal(make_run, capsys):
    run = make_run(
        lambda *_: "\x1b[31mred", people={f"s{n}": {"\x1b[32m": "\x1b[33m" + "ab"[n % 2]} for n in range(6)}
    )
    command(run.folder, "--attributes", "\x1b[32m")
    assert "\x1b" not in capsys.readouterr().out
    assert printable("\x1b") not in ("\x1b", "")


def test_many_scenarios_are_cut_on_the_terminal(make_run, drops, capsys, only):
    only("accuracy")
    names = ("gaussian_noise", "echo", "gain", "bass", "phaser", "treble", "tremolo", "chorus")
    scenarios = ("clean", *(f"{name}:{n}" for name in names for n in (1, 2, 3, 4)))
    run = make_run(drops, scenarios=scenarios, utterances=1)
    assert command(run.folder, "--attributes", "accent") == 0
    out = capsys.readouterr().out
    assert "The first 24 of 66 rows; all are in the report." in out
    assert "two" in out
    assert not re.search(r"two +chorus:4", out)


def test_where_it_says_it_wrote_is_where_it_wrote(toy, capsys, tmp_path, only):
    only("accuracy")
    run, out = toy, tmp_path / "elsewhere"
    assert command(run.folder, "--audio-megabytes", "0", "--out", out) == 0
    assert f"Written to {out}: " in capsys.readouterr().err


@pytest.mark.slow
def test_documents_to_hand_in_are_written_when_asked_for(toy, tmp_path, only):
    arguments = (toy.folder, "--attributes", "accent", "--out")
    assert command(*arguments, tmp_path / "all", "--statements") == 0
    names = {path.name for path in (tmp_path / "all").iterdir()}
    assert names >= {"model-card-one.md", "model-card-two.md", "statement.md", "methods.md"}
    said = (tmp_path / "all" / "statement.md").read_text(encoding="utf-8")
    assert "- accent: " in said
    assert "(6 speakers)" in said
    assert str(toy.folder.parent) not in said
    only("accuracy")
    assert command(*arguments, tmp_path / "plain") == 0
    assert not (tmp_path / "plain" / "statement.md").exists()
