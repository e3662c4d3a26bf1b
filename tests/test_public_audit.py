"""The study in the repository: its pages show its answers, and its scores still give them."""

from __future__ import annotations

import json
import math
import runpy
import shlex
from pathlib import Path

import pytest

from voxaudit.cli.main import main

STUDY = Path(__file__).resolve().parents[1] / "studies" / "2026-public"
if not STUDY.is_dir():
    pytest.skip("the study is not part of this installation", allow_module_level=True)
study = runpy.run_path(str(STUDY / "study.py"))
QUESTIONS = {question["name"]: question for question in study["questions"]()}
FROM_SCORES = [name for name, one in QUESTIONS.items() if shlex.split(one["ask"])[1].startswith("scores/")]
QUICK = "accents-gap"


def test_the_pages_show_the_answers_on_file():
    before = {page: page.read_text("utf-8") for page in study["PAGES"].glob("*.md")}
    assert len(before) > 3
    blocks = {name: study["block"](question) for name, question in QUESTIONS.items()}
    shown = "".join(before.values())
    for name, block in blocks.items():
        assert f"<!-- study {name} -->\n{block}<!-- /study -->" in shown, name


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == QUICK else pytest.mark.slow) for name in FROM_SCORES]
)
def test_the_scores_give_the_answers_on_file(name, monkeypatch, capsys):
    monkeypatch.chdir(STUDY)
    assert main([*shlex.split(QUESTIONS[name]["ask"]), "--json"]) in (0, 1)
    now = {one["id"]: one for one in json.loads(capsys.readouterr().out)["findings"]}
    kept = {
        one["id"]: one
        for one in json.loads((STUDY / "answers" / f"{name}.json").read_text("utf-8"))["findings"]
    }
    assert now.keys() == kept.keys()
    for id_, one in kept.items():
        assert now[id_]["verdict"] == one["verdict"], id_
        assert now[id_]["sentence"] == one["sentence"], id_
        for key in ("estimate", "low", "high", "p", "p_adjusted"):
            assert _same(now[id_][key], one[key]), (id_, key)


def _same(now: float | None, kept: float | None) -> bool:
    """Whether two numbers are the same but for the last digits, which another processor may round otherwise."""
    return now == kept or (
        now is not None and kept is not None and math.isclose(now, kept, rel_tol=1e-9, abs_tol=1e-12)
    )
