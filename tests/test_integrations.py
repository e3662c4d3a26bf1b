"""What other programs read of us: the steps of the GitHub Action, tab completion, citation, container."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
import soundfile
import yaml

from voxaudit.cli.completion import SHELLS
from voxaudit.cli.main import COMMANDS, main

ROOT = Path(__file__).parents[1]
TOML = """
[corpus]
path = "manifest.csv"
attributes = ["accent"]
[recognizers.echo]
engine = "command"
command = "WORDS"
[scenarios]
use = ["gain:1"]
[gates]
clean_wer = LIMIT
[run]
workers = 1
cache = false
"""


@pytest.fixture
def audited(tmp_path):
    """A small corpus, an environment as GitHub has it, and what runs a step of the Action by its name."""
    rows = ["path,text,speaker,accent"]
    for number in range(12):
        tone = 0.3 * np.sin(np.arange(8000 + number) / 9)
        soundfile.write(tmp_path / f"c{number}.wav", tone, 16000)
        rows.append(f"c{number}.wav,one two,s{number % 6},{'ab'[number % 2]}")
    (tmp_path / "manifest.csv").write_text("\n".join(rows) + "\n")
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    steps = {step["name"]: step for step in action["runs"]["steps"] if "run" in step}
    script = tmp_path / "bin" / "voxaudit"
    script.parent.mkdir()
    script.write_text(
        f"#!{sys.executable}\nimport sys\nfrom voxaudit.cli.main import main\nsys.exit(main())\n"
    )
    script.chmod(0o755)

    def step(name: str, **values: str) -> tuple[int, dict[str, str]]:
        assert set(steps[name].get("env", {})) == set(values)
        out, summary = tmp_path / "output", tmp_path / "summary"
        out.write_text("")
        files = {"GITHUB_OUTPUT": str(out), "GITHUB_STEP_SUMMARY": str(summary)}
        path = f"{script.parent}:{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", steps[name]["run"]],
            cwd=tmp_path,
            env={**os.environ, **files, **values, "PATH": path},
            capture_output=True,
            check=False,
        )
        return done.returncode, dict(line.split("=", 1) for line in out.read_text().split())

    return step


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="the Action's steps are for bash")
def test_the_steps_of_the_action_audit_compare_and_judge(audited, tmp_path):
    def audit(out: str, words: str, limit: float) -> tuple[int, dict[str, str]]:
        text = TOML.replace("WORDS", f"printf '{words}' {{audio}}").replace("LIMIT", str(limit))
        (tmp_path / "audit.toml").write_text(text)
        return audited("Audit", CONFIG="audit.toml", OUT=out)

    assert audit("base", "one two", 0.5) == (0, {"code": "0"})
    assert audited("Compare", BASELINE="base", OUT="base")[1] == {"code": "0"}
    assert audit("worse", "one", 0.1) == (0, {"code": "1"})  # a gate failed, which the last step says
    assert audited("Compare", BASELINE="base", OUT="worse") == (0, {"code": "1"})
    assert audited("Summarize", OUT="worse")[0] == 0
    said = (tmp_path / "summary").read_text()
    assert "worse" in said
    assert said == (tmp_path / "worse" / "comment.md").read_text()
    assert audited("Judge", AUDIT="0", COMPARE="0") == (0, {"passed": "true"})
    assert audited("Judge", AUDIT="1", COMPARE="0") == (1, {"passed": "false"})
    assert audited("Judge", AUDIT="0", COMPARE="1") == (1, {"passed": "false"})
    (tmp_path / "audit.toml").write_text("nonsense")
    code, found = audited("Audit", CONFIG="audit.toml", OUT="broken")
    assert code != 0
    assert found == {"code": "2"}


def test_what_strangers_wrote_reaches_the_action_as_values_only():
    """An expression within a script would be run as part of it."""
    for step in yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]:
        assert "${{" not in step.get("run", "")


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_commands_and_flags(tmp_path, capsys):
    assert main(["completion", "bash"]) == 0
    (tmp_path / "complete").write_text(capsys.readouterr().out)
    script = (
        'source "$1"; complete_line() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=();'
        ' $(complete -p voxaudit | sed "s/.*-F \\([^ ]*\\).*/\\1/"); echo "${COMPREPLY[@]}"; };'
        " complete_line voxaudit inspe; complete_line voxaudit disparity --attri"
    )
    done = subprocess.run(
        ["bash", "-c", script, "bash", str(tmp_path / "complete")], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["inspect", "--attribute"]


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_gets_every_command(shell, capsys):
    assert main(["completion", shell]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in COMMANDS)


def test_pins_and_licenses_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["license"] == project["license"]
    ruff = next(one for one in project["optional-dependencies"]["dev"] if one.startswith("ruff"))
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    assert set(re.findall(r"ruff==[\d.]+", hooks)) == {ruff}


def test_the_container_copies_only_what_is_not_ignored():
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().split() if line.startswith("!")}
    copied = re.findall(r"^COPY (.+) \S+$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert {name for line in copied for name in line.split()} == allowed
    assert all((ROOT / name).exists() for name in allowed)
