"""The guide's example is run as it stands, and prints what the guide shows."""

from __future__ import annotations

import json
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
    return [
        " ".join(line.split()) for line in text.splitlines() if re.match(r"\s+(clean|babble|accent) ", line)
    ]


def test_the_example_prints_what_the_guide_shows(guide: str, capsys: pytest.CaptureFixture[str]) -> None:
    commands = re.findall(r"^    voxaudit (disparity calls\.csv .*)$", guide, re.MULTILINE)
    assert len(commands) == 2
    printed = []
    for command in commands:
        assert main(command.split()) == 0
        printed += numbers(capsys.readouterr().out)
    shown = numbers(guide)
    assert len(shown) == 9
    assert set(shown) <= set(printed)


def test_sentences_and_limits_of_the_guide(guide: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = re.findall(r"^    voxaudit (disparity calls\.csv .*)$", guide, re.MULTILINE)[0]
    assert main([*command.split(), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    words = " ".join(guide.split())
    for finding in answer["findings"]:
        assert finding["measure"] != "wer_ratio" or finding["sentence"] in words
    table = next(one for one in answer["tables"] if one["id"] == "baseline")
    clean = dict(zip(table["names"], table["rows"][0], strict=True))
    assert f"({clean['utterances_low']:.2f} to {clean['utterances_high']:.2f};" in words


def test_the_python_example_runs(guide: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(re.findall(r"```python\n(.*?)```", guide, re.DOTALL)[1], {})
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[:2]] == [["clean", "B"], ["babble", "B"]]
    assert lines[1].split()[2].startswith("1.46")
    assert lines[1].endswith("shown")


def test_every_option_of_the_guide_exists(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["disparity", "--help"])
    known = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    table = GUIDE.read_text(encoding="utf-8").split("| option |")[1].split("##")[0]
    assert set(re.findall(r"`(--[a-z-]+)", table)) <= known
