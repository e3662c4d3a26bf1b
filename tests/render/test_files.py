"""summary.md, findings.json and junit.xml: views of one report that people and programs can read."""

from __future__ import annotations

import datetime
import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from sample_report import EVIL, hostile_report, sample_report

from voxaudit.answer import (
    FINDING_FIELDS,
    Answer,
    Finding,
    Note,
    Refusal,
    Tables,
    finding_id,
    tabulate,
)
from voxaudit.render.document import Chapter, GateResult, Question, Report
from voxaudit.render.json import answer_dict, plain, report_dict, schema, to_json
from voxaudit.render.junit import to_junit, valid_xml
from voxaudit.render.markdown import MOST_ROWS, escape, to_markdown


@pytest.fixture
def validate():
    """Return a function that checks JSON against the published schema."""
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(schema())
    validator = jsonschema.Draft202012Validator(schema())

    def check(text: str):
        document = json.loads(text)
        validator.validate(document)
        return document

    return check


def front_matter(text: str):
    yaml = pytest.importorskip("yaml")
    assert text.startswith("---\n")
    return yaml.safe_load(text[4:].partition("\n---\n")[0])


def wer(audit, name, scenario, estimate):
    return Finding(
        finding_id(audit, name, scenario, "wer"),
        "wer",
        "measured",
        "s",
        estimate,
        recognizer=name,
        scenario=scenario,
    )


def report_of(*answers, **fields):
    fields = {"title": "t", "subtitle": "s", "summary": (), **fields}
    return Report(chapters=(Chapter("c", "C", answers),), **fields)


def test_the_metadata_are_those_of_a_model_card():
    findings = (
        wer("accuracy", "one", "clean", 0.0416),
        wer("accuracy", "one", "rir:1", 0.5),
        wer("robustness", "one", "overall", 0.3),
        wer("accuracy", "two", "clean", 0.1),
    )
    groups = replace(wer("accuracy", "one", "clean", 0.7), id="accuracy/north", attribute="a", group="north")
    german = replace(wer("accuracy", "two", "clean", 0.2), id="accuracy/two/de", language="de")
    report = report_of(
        Answer("x", "X", findings=(*findings, groups, german)), config={"corpus": {"name": "toy"}}
    )
    index = front_matter(to_markdown(report))["model-index"]
    assert [model["name"] for model in index] == ["one", "two"]
    clean, overall = index[0]["results"]
    assert clean["task"]["type"] == "automatic-speech-recognition"
    assert clean["dataset"] == {"name": "toy", "type": "toy", "config": "clean"}
    assert clean["metrics"] == [{"type": "wer", "name": "WER (clean)", "value": 4.16}]
    assert overall["dataset"]["config"] == "mean of all disturbances"
    assert overall["metrics"][0]["value"] == 30.0
    assert [one["dataset"]["config"] for one in index[1]["results"]] == ["clean", "clean, de"]


@pytest.mark.parametrize("name", ['a"b\\c', "a: b # c", "\x00\x85\u2028\ufeff", "😀\ud800", "'", "- x"])
def test_any_name_is_valid_yaml(name):
    answer = Answer("accuracy", "A", findings=(wer("accuracy", name, "clean", 0.5),))
    report = report_of(answer, config={"corpus": {"name": name}})
    (model,) = front_matter(to_markdown(report))["model-index"]
    assert model["name"] == name.replace("\ud800", "\ufffd")


def test_metadata_mention_nobody_and_show_nothing_where_they_are_read_as_markdown():
    """A comment on a pull request is the whole file."""
    name = "<img src=http://x/y> @team [a](https://x) `b` ![c](d) *e* #1 ~f~ |"
    answer = Answer("accuracy", "A", findings=(wer("accuracy", name, "clean", 0.5),))
    text = to_markdown(report_of(answer, config={"corpus": {"name": name}}))
    assert front_matter(text)["model-index"][0]["name"] == name
    assert not set("<>@[]`*#~|") & set(text[4:].partition("\n---\n")[0])
    assert "://" not in text


def test_without_a_rate_there_is_no_metadata():
    assert to_markdown(Report("t", "s", (Question("", ("One.",)),), ())).startswith("# t\n\ns.\n\n- One.\n")


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


def rates(scenarios, group=None):
    rows = [
        {
            "recognizer": name,
            "scenario": scenario,
            "wer": n / 100 + (name == "two") / 3,
            "low": 0.0,
            "high": 1.0,
        }
        | ({"accent": group} if group else {})
        for n, scenario in enumerate(scenarios)
        for name in ("one", "two")
    ]
    columns = [("recognizer",), ("scenario",), ("wer", "WER", "percent", "low", "high")]
    columns += [("accent",)] if group else []
    return tabulate("rates", "Word error rate", rows, columns)


def blocks(report):
    return [block.splitlines() for block in to_markdown(report).split("\n\n") if block.startswith("|")]


def test_small_tables_are_shown_whole_and_large_ones_by_what_tells_most():
    small = rates(("clean", "rir:1", "rir:2"))
    (table,) = blocks(report_of(Answer("accuracy", "A", tables=Tables([small]))))
    assert table[0] == "| recognizer | scenario | WER |"
    assert table[3] == "| two | clean | 33.3 % (0.0 to 100.0) |"
    assert len(table) == 2 + 6
    scenarios = ("clean", *(f"rir:{n}" for n in range(1, 60)))
    large = report_of(Answer("accuracy", "A", tables=Tables([rates(scenarios)])))
    (table,) = blocks(large)
    told = [tuple(cell.strip() for cell in row.split("|")[1:3]) for row in table[2:]]
    worst = ["clean", "rir:59", "rir:58", "rir:57"]
    assert told == [(name, scenario) for name in ("one", "two") for scenario in worst]
    assert "(clean speech and the worst scenarios; all 120 rows are in findings.json)" in to_markdown(large)
    groups = report_of(Answer("disparity", "A", tables=Tables([rates(scenarios, "north")])))
    (table,) = blocks(groups)
    assert len(table) == 2 + 2
    assert "(clean speech; all 120 rows are in findings.json)" in to_markdown(groups)
    other = tabulate("x", "X", [{"n": n} for n in range(MOST_ROWS + 1)], [("n", "n", "count")])
    (table,) = blocks(report_of(Answer("disparity", "A", tables=Tables([other]))))
    assert len(table) == 2 + MOST_ROWS


def test_folded_tables_and_those_of_other_audits_are_not_in_the_summary():
    table = rates(("clean",))
    folded = replace(table, id="folded", title="Folded", folded=True)
    second = replace(table, id="second", title="Second")
    report = report_of(
        Answer("accuracy", "A", tables=Tables([folded, table, second])),
        Answer("parity", "B", tables=Tables([second])),
    )
    assert len(blocks(report)) == 1
    assert "Folded" not in to_markdown(report)
    assert "Second" not in to_markdown(report)


def test_gates_are_in_the_summary():
    text = to_markdown(sample_report())
    assert "| clean_wer | pass | moonshine: 11.2 % of at most 15 %. |" in text
    assert "| group_ratio | FAIL | moonshine, accent Indian" in text
    assert "| stutter_added_wer | not judged | The stutter audit lacks" in text


def gate(**changes):
    return GateResult(**{"name": "g", "passed": True, "sentence": "It holds.", **changes})


def test_junit_has_a_case_for_each_gate():
    gates = (
        gate(),
        gate(name="f", passed=False, sentence="Too <much> & \x00\x1b more."),
        gate(name="e\ud800", passed=None, judged=False, sentence="Cannot."),
        gate(name="s", passed=False, judged=False, sentence="Cannot; strict."),
    )
    root = ElementTree.fromstring(to_junit(Report("t\x07", "s", (), (), gates=gates)).encode())
    (suite,) = root
    assert {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "4",
        "failures": "2",
        "errors": "0",
        "skipped": "1",
    }
    fine, lost, unknown, strict = suite
    assert [child.tag for child in fine] == ["system-out"]
    assert lost.find("failure").get("message") == "Too <much> & \ufffd\ufffd more."
    assert [child.tag for child in unknown] == ["skipped"]
    assert unknown.find("skipped").get("message") == unknown.find("skipped").text == "Cannot."
    assert strict.find("failure").get("type") == "not judged"
    assert unknown.get("name") == "e\ufffd"


def test_no_gates_are_an_empty_suite():
    (suite,) = ElementTree.fromstring(to_junit(Report("t", "s", (), ())).encode())
    assert suite.get("tests") == "0"


def test_what_xml_allows():
    assert valid_xml("a\tb\nc\x0b\ufffe😀") == "a\tb\nc\ufffd\ufffd😀"


def test_an_answer_has_the_keys_of_every_answer(validate):
    table = tabulate(
        "groups",
        "Groups",
        [
            {
                "group": "a",
                "wer": float("nan"),
                "low": float("-inf"),
                "high": 0.5,
                "when": datetime.date(2026, 1, 2),
            }
        ],
        [("group",), ("wer", "WER", "percent", "low", "high")],
        note="n",
    )
    finding = Finding("disparity/a", "wer", "measured", "s", float("nan"), float("-inf"), float("inf"))
    answer = Answer(
        "disparity",
        "T",
        {"where": Path("a/b"), "controls": ("x",), "n": np.int64(3), "share": np.float64("nan"), "set": {1}},
        (finding,),
        Tables([table]),
        notes=(Note("c", "t", {"n": 1}, ("reference",)),),
        refusals=(Refusal("one_group", "gender", "t"),),
        lead="l",
    )
    document = validate(to_json(answer))
    assert document == answer_dict(answer) == answer.to_dict()
    assert list(document) == [
        "audit", "title", "question", "findings", "tables", "figures", "notes", "refusals", "lead"
    ]  # fmt: skip
    assert document["question"] == {
        "where": "a/b", "controls": ["x"], "n": 3, "share": None, "set": [1]
    }  # fmt: skip
    (one,) = document["findings"]
    assert list(one) == ["audit", *FINDING_FIELDS]
    assert (one["audit"], one["estimate"], one["low"], one["high"]) == ("disparity", None, None, None)
    (shown,) = document["tables"]
    assert shown["names"] == ["group", "wer", "low", "high", "when"]
    assert shown["rows"] == [["a", None, None, 0.5, "2026-01-02"]]
    assert shown["columns"][1] == {
        "name": "wer", "title": "WER", "kind": "percent", "low": "low", "high": "high"
    }  # fmt: skip
    assert shown["columns"][0]["low"] is None
    assert document["notes"] == [{"code": "c", "text": "t", "facts": {"n": 1}, "see": ["reference"]}]
    assert document["refusals"][0]["remedy"].startswith("add speech of a second group")


def test_a_report_writes_every_finding_once(validate):
    report = sample_report()
    text = to_json(report)
    found = validate(text)
    assert found == json.loads(json.dumps(report_dict(report)))
    assert found["format"] == 2
    assert not found["passed"]
    assert [one["id"] for one in found["findings"]] == [one.id for one in report.findings]
    named = [
        id_ for chapter in found["chapters"] for answer in chapter["answers"] for id_ in answer["findings"]
    ]
    assert named == [one["id"] for one in found["findings"]]
    first, second = report.summary[0].answers
    asked = {"question": "Where does it break?"}
    assert found["summary"][0] == {**asked, "finding": first.id, "sentence": first.sentence}
    assert found["summary"][1] == {**asked, "finding": None, "sentence": second}
    assert found["gates"][0]["finding"] == found["findings"][0]["id"]
    assert found["gates"][2]["judged"] is False
    lines = text.splitlines()
    assert sum('"headline": ' in line for line in lines) == len(report.findings)
    rows = [line for line in lines if line.lstrip().startswith('["crosstalk", "Noise", 4, ')]
    assert len(rows) == 2  # one line for each row of a table
    (groups,) = found["chapters"][1]["answers"]
    assert groups["figures"][0]["table"] == groups["tables"][0]["id"] == "ratios"


@pytest.mark.slow
def test_whatever_a_report_holds_reads_back_the_same_and_prints(validate):
    text = to_json(hostile_report())
    assert all(line.isprintable() for line in text.splitlines())
    assert validate(text)["title"] == EVIL
    assert validate(text)["chapters"][0]["answers"][0]["tables"][0]["rows"][1][1] is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.pop("gates"),
        lambda d: d.update(format=1),
        lambda d: d.update(extra=1),
        lambda d: d["findings"][0].update(verdict="undecided"),
        lambda d: d["findings"][0].pop("low"),
        lambda d: d["findings"][0].update(more=1),
        lambda d: d["chapters"][0]["answers"][0]["findings"].append({}),
        lambda d: d["chapters"][0]["answers"][0]["tables"][0]["columns"][0].update(kind="interval"),
        lambda d: d["chapters"][0]["answers"][0]["tables"][0]["rows"].append({}),
        lambda d: d["chapters"][0].pop("answers"),
        lambda d: d["gates"][0].update(skipped=False),
    ],
)
def test_the_schema_refuses_what_is_not_a_findings_file(validate, change):
    jsonschema = pytest.importorskip("jsonschema")
    found = report_dict(sample_report())
    validate(json.dumps(found))
    change(found)
    with pytest.raises(jsonschema.ValidationError):
        validate(json.dumps(found))


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.pop("question"),
        lambda d: d.update(extra=1),
        lambda d: d["findings"].append("disparity/id"),
        lambda d: d["findings"][0].update(headline="yes"),
        lambda d: d["refusals"][0].pop("code"),
        lambda d: d["tables"][0].pop("names"),
    ],
)
def test_the_schema_refuses_what_is_not_an_answer(validate, change):
    jsonschema = pytest.importorskip("jsonschema")
    (answer,) = sample_report().chapters[1].answers
    found = answer_dict(answer)
    validate(json.dumps(found))
    change(found)
    with pytest.raises(jsonschema.ValidationError):
        validate(json.dumps(found))


def test_the_schema_knows_every_field_of_a_finding():
    known = schema()["$defs"]["finding"]
    assert known["required"] == list(known["properties"]) == ["audit", *FINDING_FIELDS]


def test_nested_values_of_a_frame_are_plain():
    frame = pl.DataFrame({"list": [[1.0, float("nan")]], "struct": [{"a": float("inf")}]})
    assert plain(frame.row(0)) == [[1.0, None], {"a": None}]
