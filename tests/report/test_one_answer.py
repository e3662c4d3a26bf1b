"""One question, one answer: what a report says is what its commands print, to the last digit."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import voxaudit
from voxaudit import audio
from voxaudit.answer import FINDING_FIELDS
from voxaudit.cli.main import main
from voxaudit.report.build import build_report, remembered, write_report
from voxaudit.run import open_run

COMPARED = (
    "id",
    "estimate",
    "low",
    "high",
    "p",
    "p_adjusted",
    "family",
    "verdict",
    "sentence",
    "speakers",
    "words",
)
ACCENTS = Path(__file__).resolve().parents[3] / "shared" / "data" / "accents" / "manifest.csv"


def findings_by_command(folder: Path) -> dict[str, dict[str, dict]]:
    """Return the findings of a report, as findings.json has them, by the command that prints them again."""
    document = json.loads((folder / "findings.json").read_text(encoding="utf-8"))
    by_command: dict[str, dict[str, dict]] = {}
    for finding in document["findings"]:
        assert finding["command"].startswith(f"voxaudit {finding['audit']} RUN"), finding["id"]
        assert set(FINDING_FIELDS) <= set(finding)
        by_command.setdefault(finding["command"], {})[finding["id"]] = finding
    return by_command


def asked_again(command: str, folder: Path, capsys) -> dict[str, dict]:
    """Run a finding's command on the run and return the findings that it prints, by id."""
    words = [str(folder) if word == "RUN" else word for word in shlex.split(command)[1:]]
    assert main([*words, "--json"]) == 0, command
    return {finding["id"]: finding for finding in json.loads(capsys.readouterr().out)["findings"]}


def check_commands(folder: Path, capsys) -> set[str]:
    """Ask every question of a report again on the command line; return the audits that were asked."""
    audits = set()
    capsys.readouterr()
    for command, findings in findings_by_command(folder).items():
        again = asked_again(command, folder, capsys)
        for id_, finding in findings.items():
            assert id_ in again, f"{command} does not print {id_}"
            for name in COMPARED:
                assert again[id_][name] == finding[name], f"{id_}: {name}"
            audits.add(finding["audit"])
    return audits


def check_gates_and_summary(folder: Path) -> None:
    """What gates and the first screen say is what findings say."""
    document = json.loads((folder / "findings.json").read_text(encoding="utf-8"))
    findings = {finding["id"]: finding for finding in document["findings"]}
    for gate in document["gates"]:
        if gate["judged"] and gate["finding"] in findings:
            finding = findings[gate["finding"]]
            assert gate["estimate"] in (finding["estimate"], finding["low"], finding["high"])
    assert document["summary"]
    for item in document["summary"]:
        assert findings[item["finding"]]["sentence"] == item["sentence"]
        assert findings[item["finding"]]["headline"]


@pytest.mark.slow
def test_every_finding_of_a_report_is_printed_again_by_its_command(make_run, drops, capsys):
    run = make_run(drops)
    write_report(build_report(run, attributes=["accent"]), run.folder)
    audits = check_commands(run.folder, capsys)
    assert {"accuracy", "robustness", "disparity", "parity", "differential", "localize"} <= audits
    check_gates_and_summary(run.folder)


def test_findings_have_one_id_each(report):
    ids = [finding.id for finding in report.findings]
    assert len(set(ids)) == len(ids)
    assert all(finding.command for finding in report.findings)


def test_the_demo_says_one_thing_everywhere(capsys):
    if "VOXAUDIT_DEMO" not in os.environ:
        pytest.skip("VOXAUDIT_DEMO does not name the folder of a demo")
    folder = Path(os.environ["VOXAUDIT_DEMO"]) / "run-synthetic"
    assert "stutter" in check_commands(folder, capsys)
    check_gates_and_summary(folder)


@pytest.mark.slow
def test_real_people_get_one_answer(tmp_path, capsys, monkeypatch):
    """110 people who read one passage; gates of every kind beside the findings they look at."""
    if not ACCENTS.exists():
        pytest.skip("needs ../shared/data/accents")
    (tmp_path / "audit.toml").write_text(
        f"""
[corpus]
path = {json.dumps(str(ACCENTS))}
attributes = ["native_language", "gender"]
[recognizers.moonshine]
[scenarios]
use = ["rir:2"]
[run]
out = "run"
[gates]
clean_wer = 0.5
worst_wer = 0.9
worst_group_ratio = {{ limit = 20, bound = "point" }}
max_failures = 0.5
""",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    assert main(["run", "audit.toml"]) == 0
    assert remembered(open_run("run"))[0] == ("native_language", "gender")
    check_commands(Path("run"), capsys)
    check_gates_and_summary(Path("run"))


TALKER = """
def hear(samples, rate):
    return "yes" if samples[0] > 0 else "good day"
"""


@pytest.mark.slow
def test_words_where_nobody_speaks_are_one_number_whatever_a_manifest_says_of_lengths(tmp_path):
    """Recordings last 1.004 s, and the manifest says 1.3: two audits count minutes, and both have measured them."""
    rows = []
    for number in range(12):
        path = tmp_path / f"{number}.wav"
        audio.write(path, audio.Audio(np.full(16_064, 0.1, np.float32), 16_000))
        rows.append({"path": str(path), "text": "good day", "speaker": f"s{number % 6}", "duration": 1.3})
    pl.DataFrame(rows).write_csv(tmp_path / "manifest.csv")
    corpus = voxaudit.read_corpus(tmp_path / "manifest.csv")
    (tmp_path / "talker.py").write_text(TALKER)
    run = voxaudit.run_trials(
        corpus,
        {"talker": f"python:{tmp_path / 'talker.py'}:hear"},
        ["noise_only:2"],
        out=tmp_path / "run",
        cache=False,
        progress=False,
        workers=1,
    )
    voxaudit.score_run(run)
    one = voxaudit.robustness(run).finding("robustness/talker/noise_only:2/words_per_minute")
    other = voxaudit.hallucination(run).finding("hallucination/talker/silence_words_per_minute")
    assert (one.estimate, one.low, one.high) == (other.estimate, other.low, other.high)
    assert one.estimate == pytest.approx(other.words / (12 * 1.004 / 60))
