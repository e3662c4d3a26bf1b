"""The guide's example is run as it stands, and prints what the guide shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from voxaudit.cli.main import main

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "disparity.md"


@pytest.fixture
def guide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    text = GUIDE.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    exec(re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0], {})
    return text


def numbers(text: str) -> list[str]:
    """Return the table rows of a text as words, without rules and blank space."""
    return [" ".join(line.split()) for line in text.splitlines() if re.match(r"\s+(clean|babble) ", line)]


def test_the_example_prints_what_the_guide_shows(guide: str, capsys: pytest.CaptureFixture[str]) -> None:
    commands = re.findall(r"^    voxaudit (disparity calls\.csv .*)$", guide, re.MULTILINE)
    assert len(commands) == 2
    printed = []
    for command in commands:
        assert main(command.split()) == 0
        printed += numbers(capsys.readouterr().out)
    shown = numbers(guide)
    assert len(shown) == 7
    assert set(shown) <= set(printed)


def test_the_python_example_runs(guide: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(re.findall(r"```python\n(.*?)```", guide, re.DOTALL)[1], {})
    assert "{'scenario': 'babble'} B 1.5" in capsys.readouterr().out


def test_every_option_of_the_guide_exists(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["disparity", "--help"])
    known = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    table = GUIDE.read_text(encoding="utf-8").split("| option |")[1].split("##")[0]
    assert set(re.findall(r"`(--[a-z-]+)", table)) <= known
