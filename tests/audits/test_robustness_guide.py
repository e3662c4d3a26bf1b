"""The guide's example, run as printed."""

import json
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
    exec(re.findall(r"```python\n(.*?)```", guide, re.DOTALL)[-1], {})
    assert "robustness/small/overall/werd 0.13" in capsys.readouterr().out


def test_rates_of_several_corpora_are_compared_with_the_named_ones(guide, capsys):
    exec(re.findall(r"```python\n(.*?)```", guide, re.DOTALL)[1], {})
    (line,) = re.findall(r"\n    voxaudit (robustness rates\.csv .*)\n", guide)
    assert main(line.split()) == 0
    answer = json.loads(capsys.readouterr().out)
    (table,) = (table for table in answer["tables"] if table["id"] == "scenarios")
    rows = [dict(zip(table["names"], row, strict=True)) for row in table["rows"]]
    costs = {(row["language"], row["scenario"]): 100 * row["werd"] for row in rows}
    assert costs["en", "accented"] == pytest.approx(3.7)
    assert costs["en", "echo:1"] == pytest.approx((0.8 + 1.4) / 2)
    assert costs["es", "accented"] == pytest.approx(2.0)


def test_every_option_of_the_guide_exists(capsys):
    with pytest.raises(SystemExit):
        main(["robustness", "--help"])
    known = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    table = GUIDE.read_text(encoding="utf-8").split("| option |")[1].split("##")[0]
    assert set(re.findall(r"`(--[a-z-]+)", table)) == known - {"--help"}
