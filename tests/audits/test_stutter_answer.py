"""What a finished stutter audit says, read again from its folder."""

from __future__ import annotations

import json
import re

import pytest
from kept_audits import CASE, cost, write_stutter_audit

from voxaudit.answer import RefusedError
from voxaudit.audits.scores import Scores
from voxaudit.audits.stutter import AUDIT
from voxaudit.audits.stutter.audit import stutter
from voxaudit.audits.stutter.folder import forget_refusal, write_refusal
from voxaudit.cli.main import main
from voxaudit.errors import VoxauditError
from voxaudit.run.folder import write_config


@pytest.fixture
def folder(tmp_path):
    return write_stutter_audit(tmp_path / "st")


def named(answer):
    return {one.id: one for one in answer.findings}


def test_it_is_read_with_its_labels(folder):
    answer = stutter(folder)
    found = named(answer)
    assert found["stutter/one/werd"].verdict == "shown"
    assert found["stutter/two/werd"].verdict == "not_shown"
    assert found["stutter/two/werd"].excludes == 0.1  # the limit farther from 0
    assert found["stutter/false_positives"].verdict == "refused"
    assert found["stutter/false_positives"].code == "not_judged"
    assert {one.command for one in answer.findings} == {"voxaudit stutter st"}
    assert answer.tables["costs"].select("recognizer", "kind").rows() == [
        ("one", "all kinds"),
        ("two", "all kinds"),
        ("one", "block"),
    ]
    assert answer.tables["suspicious"]["transcript"].to_list() == ["burn <it> off"]
    assert answer.tables["scoring"].row(0, named=True) == {
        "recognizer": "one",
        "against": "intended",
        "fillers": "kept",
        "wer": 0.4,
        "mer": 0.3,
        "wil": 0.5,
        "words": 70,
    }
    notes = {note.code: note for note in answer.notes}
    assert notes["left_out"].text == "left out: 2 utterances (no text)"
    assert notes["left_out"].facts == {"reason": "no text", "count": 2}
    said = "somebody who means “turn it off” and says “turn it it off” is heard by one as “burn <it> off”"
    assert said in notes["example"].text
    assert answer.question["budget"] == 2
    assert answer.question["dose"] == [0.0, 10.0]
    assert answer.detail.suspicious[0].span == (0, 1)
    queue = folder / "suspicious.jsonl"
    queue.write_text(queue.read_text().replace('"label": ""', '"label": "fine"'))
    rate = named(stutter(folder))["stutter/false_positives"]
    assert (rate.estimate, rate.verdict) == (1.0, "measured")
    assert "Of 1 suspicious cases that people judged, 100.0 %" in rate.sentence
    elsewhere = folder.parent / "judged.jsonl"
    elsewhere.write_text(queue.read_text().replace('"label": "fine"', '"label": "real_fault"'))
    assert named(stutter(folder, labels=elsewhere))["stutter/false_positives"].estimate == 0.0


def test_a_cost_has_to_survive_that_several_recognizers_were_asked(tmp_path):
    """The interval of both leaves out 0; of p = 0.03 and 0.04, Holm makes 0.06 twice."""
    folder = write_stutter_audit(tmp_path, recognizers={"one": cost(p=0.03), "two": cost(p=0.04)})
    found = named(stutter(folder))
    for name, p in (("one", 0.03), ("two", 0.04)):
        one = found[f"stutter/{name}/werd"]
        assert (one.verdict, one.p, one.p_adjusted) == ("not_shown", p, pytest.approx(0.06))
        assert one.family == "recognizers"
        assert "but p = 0.060 after Holm's correction, so no cost is shown" in one.sentence


def test_what_stuttering_costs_is_drawn_with_intervals(tmp_path):
    """One kind of cases has a cost by its interval, but not after Holm's adjustment for two tests."""
    kinds = {
        "block": {"one": cost(p=0.03), "two": cost(low=None, high=None, p=None)},
        "word_repetition": {"one": cost(p=0.01), "two": cost(cases=0)},
    }
    answer = stutter(write_stutter_audit(tmp_path, kinds=kinds))
    drawn = {row.label: row.shown for row in answer.figure("costs").drawing.rows}
    assert drawn == {
        "one, all kinds": True,
        "two, all kinds": False,
        "one, block": True,
        "one, word repetition": True,
    }
    rows = (
        answer.tables["costs"]
        .filter(family="kinds")
        .select("kind", "recognizer", "p", "p_adjusted", "verdict")
    )
    assert rows.rows() == [
        ("block", "one", 0.03, 0.03, "shown"),
        ("block", "two", None, None, "refused"),
        ("word repetition", "one", 0.01, 0.02, "shown"),
    ]
    kinds["block"]["one"]["p"] = 0.06
    answer = stutter(write_stutter_audit(tmp_path, kinds=kinds))
    not_shown = {row.label for row in answer.figure("costs").drawing.rows if not row.shown}
    assert not_shown == {"two, all kinds", "one, block"}
    (panel,) = answer.figure("dose").drawing.panels
    assert panel[1] == ("0", "10")
    assert answer.figure("dose").table == "dose"


def test_sentences_say_more_fewer_and_how_sure(tmp_path):
    recognizers = {
        "one": cost(),
        "two": cost(werd=-0.01, low=-0.1, high=0.08, wer=0.09, p=0.7),
        "three": cost(low=None, high=None, p=None),
        "four": cost(low=None, high=None, p=None, speakers=4),
    }
    answer = stutter(write_stutter_audit(tmp_path, recognizers=recognizers))
    tails = [one.sentence.split(" instead of ")[1] for one in answer.findings if one.headline]
    assert tails == [
        "10.0 %: 30.0 percentage points more (20.0 to 40.0), in 8 recordings of 6 speakers.",
        "10.0 %: 1.0 percentage points fewer (-8.0 to 10.0), so no cost is shown; one of up to 8.0 percentage points is"
        " not excluded (8 recordings of 6 speakers).",
        "10.0 %: 30.0 percentage points more; how sure that is cannot be said without known speakers (8 recordings).",
        "10.0 %: 30.0 percentage points more; how sure that is cannot be said with 4 speakers, fewer than 5 (8"
        " recordings).",
    ]
    found = named(answer)
    assert found["stutter/two/werd"].excludes == -0.1
    assert [found[f"stutter/{name}/werd"].code for name in recognizers] == [
        None,
        None,
        "no_speakers",
        "too_few_speakers",
    ]


def make_run(folder, recognizers=("one", "two")):
    folder.mkdir()
    config = {"recognizers": {name: {} for name in recognizers}, "scenarios": ["clean"]}
    write_config(folder, {**config, "corpus": {"name": "made", "utterances": 1}, "seed": 0})
    return folder


def test_it_is_found_in_the_folder_of_a_run(tmp_path, capsys):
    run = make_run(tmp_path / "run", ("one", "two", "three"))
    with pytest.raises(RefusedError) as none:
        stutter(run)
    assert none.value.refusal.code == "not_asked"
    assert "add a section `[stutter]`" in none.value.refusal.remedy
    write_stutter_audit(run / "stutter")
    answer = stutter(run)
    assert {one.command for one in answer.findings} == {"voxaudit stutter RUN"}
    assert [note.text for note in answer.notes if note.code == "no_part"] == ["not part of this audit: three"]
    assert main(["stutter", str(run), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["findings"] == answer.to_dict()["findings"]
    assert main(["stutter", str(run)]) == 0
    assert "On speech made to stutter, one gets 40.0 % of the words wrong" in capsys.readouterr().out


def test_a_report_asks_where_something_was_made(tmp_path):
    def asked(folder):
        return list(AUDIT.questions(Scores(frame=None, folder=folder), ()))

    assert asked(tmp_path) == []
    (tmp_path / "stutter").mkdir()
    assert asked(tmp_path) == []
    write_refusal(tmp_path / "stutter", VoxauditError("nothing"))
    assert asked(tmp_path) == [{}]
    forget_refusal(tmp_path / "stutter")
    write_stutter_audit(tmp_path / "stutter")
    assert asked(tmp_path) == [{}]


def test_a_refusal_takes_the_place_of_findings(folder):
    write_refusal(folder, VoxauditError("no recording can be stuttered\n(silent)"))
    with pytest.raises(RefusedError) as refused:
        stutter(folder)
    assert refused.value.refusal.text == "no recording can be stuttered (silent)"
    assert refused.value.refusal.code == "not_made"
    forget_refusal(folder)
    assert stutter(folder).findings


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        '{"utterances": 1}',
        '{"utterances": 1, "cases": 2, "recognizers": [1]}',
        "[" * 100_000,
    ],
)
def test_findings_that_are_none_are_refused(folder, content):
    (folder / "stutter.json").write_text(content)
    with pytest.raises(RefusedError, match="not the findings of a stutter audit") as refused:
        stutter(folder)
    assert refused.value.refusal.code == "unreadable"


@pytest.mark.parametrize("part", [{"werd": "much"}, {"speakers": None}, {"p": "small"}, {"wer": [1]}])
def test_numbers_that_are_none_are_refused(tmp_path, part):
    folder = write_stutter_audit(tmp_path, recognizers={"one": cost(**part)})
    with pytest.raises(RefusedError, match="not the findings of a stutter audit"):
        stutter(folder)


def test_a_queue_with_a_wrong_label_is_refused(folder):
    queue = folder / "suspicious.jsonl"
    queue.write_text(queue.read_text().replace('"label": ""', '"label": "maybe"'))
    with pytest.raises(RefusedError, match="unknown label 'maybe'"):
        stutter(folder)


def test_what_is_finished_is_not_heard_again(folder, capsys):
    for more in (["--budget", "9"], ["--seeds", "0-2"], ["--dose", "5"], ["--utterances", "3"]):
        assert main(["stutter", str(folder), *more]) == 2
        assert "nothing is heard: give a corpus" in capsys.readouterr().err
    # With another folder it is a replay, which needs the recordings.
    assert main(["stutter", "replay", str(folder), "--out", str(folder / "x")]) == 2
    assert "no recordings.parquet" in capsys.readouterr().err


def test_figures_and_text_are_shown(folder, tmp_path, capsys):
    assert main(["stutter", str(folder), "--plot", str(tmp_path / "costs.svg")]) == 0
    out = capsys.readouterr().out
    assert re.search(r"one\s+all kinds\s+10.0 %\s+40.0 %\s+\+30.0 \(\+20.0 to \+40.0\)\s+0.002\s+shown", out)
    assert (tmp_path / "costs.svg").read_text().startswith("<svg")
    assert CASE.surface in str(stutter(folder))
