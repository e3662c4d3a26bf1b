"""summary.md, findings.json and junit.xml: views of one document that people and programs can read."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from voxaudit.config import Gate, Gates
from voxaudit.report.build import build_report
from voxaudit.report.document import Document, Finding, GateResult, Section
from voxaudit.report.findings import to_dict, to_json
from voxaudit.report.junit import to_junit, valid_xml
from voxaudit.report.markdown import MOST_ROWS, escape, to_markdown
from voxaudit.report.numbers import points_interval, ratio_interval, show_value


def front_matter(text: str):
    yaml = pytest.importorskip("yaml")
    assert text.startswith("---\n")
    return yaml.safe_load(text[4:].partition("\n---\n")[0])


def test_the_metadata_are_those_of_a_model_card(make_run, drops):
    document = build_report(make_run(drops), attributes=["accent"])
    index = front_matter(to_markdown(document))["model-index"]
    assert [model["name"] for model in index] == ["one", "two"]
    clean, overall = index[0]["results"]
    assert clean["task"]["type"] == "automatic-speech-recognition"
    assert clean["dataset"]["name"] == "toy"
    assert clean["dataset"]["config"] == "clean"
    assert clean["metrics"][0]["type"] == "wer"
    assert clean["metrics"][0]["value"] == pytest.approx(100 * 5 / 120, abs=0.01)
    mean = next(one for one in document.findings if one.id == "robustness/one/overall/wer")
    assert overall["metrics"][0]["value"] == pytest.approx(100 * mean.estimate, abs=0.01)


@pytest.mark.parametrize("name", ['a"b\\c', "a: b # c", "\x00\x85\u2028\ufeff", "😀\ud800", "'", "- x"])
def test_any_name_is_valid_yaml(name):
    finding = Finding("x", "accuracy", "measured", "s", "wer", 0.5, recognizer=name, scenario="clean")
    document = Document(
        "t", "s", (), (Section("accuracy", "a", findings=(finding,)),), config={"corpus": {"name": name}}
    )
    (model,) = front_matter(to_markdown(document))["model-index"]
    assert model["name"] == name.replace("\ud800", "\ufffd")


def test_without_a_rate_there_is_no_metadata():
    assert to_markdown(Document("t", "s", ("One.",), ())).startswith("# t\n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<b>&", "&lt;b&gt;&amp;"),
        ("a|b", "a\\|b"),
        ("*x* `y` [z](u)", "\\*x\\* \\`y\\` \\[z\\](u)"),
        ("gaussian_noise:2", "gaussian_noise:2"),
        ("_x_ __y__", "\\_x\\_ \\_\\_y\\_\\_"),
        ("ask @somebody about basic@1", "ask &#64;somebody about basic@1"),
        ("fixes #12", "fixes &#35;12"),
        ("http://x.y www.z.w", "http&#58;//x.y www&#46;z.w"),
        ("two\nlines\x1b", "two lines"),
        ("- x", "\\- x"),
        ("1. x", "1\\. x"),
        ("# x", "\\# x"),
        ("-5.0 to 1.0", "-5.0 to 1.0"),
    ],
)
def test_text_stays_text_in_markdown(text, expected):
    assert escape(text) == expected


def test_small_runs_are_shown_whole_and_large_ones_by_category(make_run, drops):
    small = to_markdown(build_report(make_run(drops), attributes=["accent"]))
    assert "| one | gaussian_noise:1 | " in small
    assert "| one | clean | accent | north | " in small
    scenarios = ("clean", *(f"{name}:{n}" for name in ("gaussian_noise", "echo", "gain", "bass", "phaser", "treble")
                            for n in (1, 2, 3, 4)))  # fmt: skip
    large = to_markdown(
        build_report(make_run(drops, scenarios=scenarios, name="large"), attributes=["accent"])
    )
    tables = [block for block in large.split("\n\n") if block.startswith("|")]
    assert all(len(table.splitlines()) <= MOST_ROWS + 2 for table in tables)
    assert "## What disturbances cost" in large
    assert "the worst scenarios" in large
    assert large.count("\n") < 200


def test_gates_are_in_the_summary(make_run, drops):
    gates = Gates({"clean_wer": Gate(0.1), "category_nwerd": Gate(0.0, "upper")})
    text = to_markdown(build_report(make_run(drops), gates=gates))
    assert "| clean_wer/one | pass | one gets 4.2 % " in text
    assert "| clean_wer/two | FAIL | two gets " in text


def gate(**changes):
    return GateResult(**{"name": "g", "passed": True, "sentence": "It holds.", **changes})


def test_junit_has_a_case_for_each_gate():
    gates = (
        gate(),
        gate(name="f", passed=False, sentence="Too <much> & \x00\x1b more."),
        gate(name="e\ud800", passed=False, skipped=True, sentence="Cannot."),
    )
    root = ElementTree.fromstring(to_junit(Document("t\x07", "s", (), (), gates=gates)).encode())
    (suite,) = root
    assert {key: suite.get(key) for key in ("tests", "failures", "errors")} == {
        "tests": "3",
        "failures": "1",
        "errors": "1",
    }
    fine, lost, unknown = suite
    assert fine.find("failure") is None
    assert lost.find("failure").get("message") == "Too <much> & \ufffd\ufffd more."
    assert unknown.find("error").text == "Cannot."
    assert unknown.get("name") == "e\ufffd"


def test_no_gates_are_an_empty_suite():
    (suite,) = ElementTree.fromstring(to_junit(Document("t", "s", (), ())).encode())
    assert suite.get("tests") == "0"


def test_what_xml_allows():
    assert valid_xml("a\tb\nc\x0b\ufffe😀") == "a\tb\nc\ufffd\ufffd😀"


def test_json_has_no_nan_and_one_line_a_finding(make_run, drops, validate):
    document = build_report(make_run(drops), attributes=["accent"])
    text = to_json(document)
    found = validate(text)
    assert found == json.loads(json.dumps(to_dict(document)))
    lines = text.splitlines()
    assert sum('"headline": ' in line for line in lines) == len(document.findings)
    odd = Finding("x", "a", "measured", "s", "m", float("nan"), float("-inf"), float("inf"))
    plain = to_dict(Document("t", "s", (), (Section("a", "a", findings=(odd,)),)))
    assert plain["findings"][0]["estimate"] is None
    assert plain["findings"][0]["low"] is None


def test_the_schema_refuses_what_is_not_a_findings_file(make_run, drops, validate):
    jsonschema = pytest.importorskip("jsonschema")
    found = to_dict(build_report(make_run(drops)))
    for change in (
        lambda d: d.pop("gates"),
        lambda d: d.update(format=2),
        lambda d: d.update(extra=1),
        lambda d: d["findings"][0].update(verdict="certain"),
        lambda d: d["findings"][0].pop("low"),
        lambda d: d["sections"][0]["tables"][0]["rows"].append([{}]),
        lambda d: d["sections"][0]["tables"][0]["rows"].append([[0.1]]),
    ):
        broken = json.loads(json.dumps(found))
        change(broken)
        with pytest.raises(jsonschema.ValidationError):
            validate(json.dumps(broken))


def test_numbers_as_people_read_them():
    assert points_interval(0.125, 0.1, 0.151) == "12.5 (10.0 to 15.1)"
    assert points_interval(None, None, None) == "-"
    assert ratio_interval(2.0, None, 3.456) == "2.00 (? to 3.46)"
    assert show_value(0.1234, "percent") == "12.3 %"
    assert show_value((0.1, None), "interval") == "10.0 to ?"
    assert show_value(None, "count") == "-"
    assert show_value(12345, "count") == "12,345"
    assert show_value(0.00001, "p") == "<0.0001"
    assert show_value(0.5, "ratio") == "0.50"
    assert show_value("x|y", "text") == "x|y"
