"""The guide's example, run as printed."""

import re
from pathlib import Path

import pytest

from voxaudit.cli.main import main

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "robustness.md"


@pytest.fixture
def guide(tmp_path, monkeypatch):
    text = GUIDE.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "140")
    exec(re.search(r"```python\n(.*?)```", text, re.DOTALL)[1], {})
    return text


def test_the_guide_prints_what_the_command_prints(guide, capsys):
    assert "\n    voxaudit robustness scores.csv\n" in guide
    assert main(["robustness", "scores.csv"]) == 0
    printed = [line.strip() for line in capsys.readouterr().out.splitlines() if line.strip()]
    shown = [line.strip() for line in guide.splitlines() if line.startswith("    ")]
    assert len(printed) > 20
    assert [line for line in printed if line not in shown] == []


def test_the_python_example_runs(guide, capsys):
    exec(re.findall(r"```python\n(.*?)```", guide, re.DOTALL)[1], {})
    assert "robustness/small/overall/werd 0.13" in capsys.readouterr().out


def test_every_option_of_the_guide_exists(capsys):
    with pytest.raises(SystemExit):
        main(["robustness", "--help"])
    known = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    table = GUIDE.read_text(encoding="utf-8").split("| option |")[1].split("##")[0]
    assert set(re.findall(r"`(--[a-z-]+)", table)) == known - {"--help"}
