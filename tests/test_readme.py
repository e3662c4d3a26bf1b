"""What the README and the docs promise is there: commands, links, and the ten lines of Python."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import soundfile

from voxaudit.audits.audit import AUDITS
from voxaudit.cli.main import COMMANDS

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])


def commands(text: str) -> list[str]:
    """Return the voxaudit commands of a page: indented lines, and those in backticks or tables."""
    lines = re.findall(r"^ {4}(?:.*&& )?(voxaudit .*)$", text, re.MULTILINE)
    return lines + re.findall(r"`(voxaudit [a-z][^`]*)`", text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_exists(page):
    for line in commands(page.read_text(encoding="utf-8")):
        words = shlex.split(line.rstrip("\\"), comments=True)
        known = {*COMMANDS, *AUDITS.names(), "sentences"}  # docs/extending.md adds the last
        assert words[1] in known or words[1].startswith("-"), line


def test_the_two_commands_are_there_once():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(re.findall(r"^    pip install .*&& voxaudit demo$", text, re.MULTILINE)) == 1
    assert len(re.findall(r"^    pip install .*&& python -m pytest", text, re.MULTILINE)) == 1


@pytest.mark.slow
def test_the_ten_lines_of_python_run(tmp_path, monkeypatch, capsys):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("pocketsphinx")
    pytest.importorskip("py_nanotts")
    from voxaudit.speak.corpus import make_synthetic_corpus

    lines = make_synthetic_corpus(tmp_path / "corpus").read_text().splitlines()
    few = [lines[0].replace("accent", "gender", 1), lines[1], lines[-1]]
    (tmp_path / "corpus" / "manifest.csv").write_text("\n".join(few) + "\n")
    for path in (tmp_path / "corpus" / line.split(",")[1] for line in few[1:]):
        samples, rate = soundfile.read(path)
        soundfile.write(path, samples[: rate // 2], rate)  # a word or two: the code is the point
    code = re.search(r"```python\n(import voxaudit\n.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[1]
    assert len(code.strip().splitlines()) <= 10
    monkeypatch.chdir(tmp_path / "corpus")
    monkeypatch.setenv("VOXAUDIT_CACHE", str(tmp_path / "cache"))
    exec(compile(code, "README.md", "exec"), {})
    out = capsys.readouterr().out
    assert "moonshine" in out
    assert "pocketsphinx" in out
    assert "gender" in out
