"""The guide's example, run as printed."""

import re
from pathlib import Path

import pytest

from voxaudit.cli import robustness as command

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "robustness.md"


@pytest.mark.skipif(not GUIDE.exists(), reason="the guide is not there")
def test_the_guide_prints_what_the_command_prints(tmp_path, monkeypatch, capsys):
    import argparse

    text = GUIDE.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    exec(re.search(r"```python\n(.*?)```", text, re.DOTALL)[1], {})
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    assert command.run(parser.parse_args(["scores.csv", "--worst", "2"])) == 0
    printed = [line.strip() for line in capsys.readouterr().out.splitlines() if line.strip()]
    shown = [line.strip() for line in text.splitlines() if line.startswith("    ")]
    assert len(printed) > 20
    assert [line for line in printed if line not in shown] == []
