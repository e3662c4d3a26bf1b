"""summary.md, findings.json and junit.xml: views of one report that people and programs can read."""

from __future__ import annotations

import json

import pytest

from voxaudit.config import Gate, Gates
from voxaudit.render.json import report_dict, to_json
from voxaudit.render.markdown import MOST_ROWS, to_markdown
from voxaudit.report.build import build_report


def front_matter(text: str):
    yaml = pytest.importorskip("yaml")
    assert text.startswith("---\n")
    return yaml.safe_load(text[4:].partition("\n---\n")[0])


def test_the_metadata_are_those_of_a_model_card(report):
    index = front_matter(to_markdown(report))["model-index"]
    assert [model["name"] for model in index] == ["one", "two"]
    clean, overall = index[0]["results"]
    assert clean["task"]["type"] == "automatic-speech-recognition"
    assert clean["dataset"]["name"] == "toy"
    assert clean["dataset"]["config"] == "clean"
    assert clean["metrics"][0]["type"] == "wer"
    assert clean["metrics"][0]["value"] == pytest.approx(100 * 5 / 120, abs=0.01)
    mean = next(one for one in report.findings if one.id == "robustness/one/overall/wer")
    assert overall["metrics"][0]["value"] == pytest.approx(100 * mean.estimate, abs=0.01)


def test_gates_are_in_the_summary(toy, only):
    only("accuracy", "robustness")
    gates = Gates({"clean_wer": Gate(0.1), "category_nwerd": Gate(0.0, "upper")})
    text = to_markdown(build_report(toy, gates=gates))
    assert "| clean_wer/one | pass | one gets 4.2 % " in text
    assert "| clean_wer/two | FAIL | two gets " in text


@pytest.mark.slow
def test_small_runs_are_shown_whole_and_large_ones_by_what_tells_most(report, make_run, drops):
    small = to_markdown(report)
    assert "| one | gaussian_noise:1 | " in small
    assert "| one | clean | north | " in small
    scenarios = ("clean", *(f"{name}:{n}" for name in ("gaussian_noise", "echo", "gain", "bass", "phaser", "treble")
                            for n in (1, 2, 3, 4)))  # fmt: skip
    large = to_markdown(
        build_report(make_run(drops, scenarios=scenarios, name="large"), attributes=["accent"])
    )
    tables = [block for block in large.split("\n\n") if block.startswith("|")]
    assert all(len(table.splitlines()) <= MOST_ROWS + 2 for table in tables)
    assert "the worst scenarios" in large
    assert large.count("\n") < 200


def test_json_has_one_line_for_each_finding(report, validate):
    text = to_json(report)
    assert validate(text) == json.loads(json.dumps(report_dict(report)))
    assert sum('"headline": ' in line for line in text.splitlines()) == len(report.findings)
