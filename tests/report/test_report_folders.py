"""Chapters that read what other audits left in a folder: stuttered speech and attacks."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict

import pytest

from voxaudit.audits.attack.result import Tried, summarize
from voxaudit.audits.stutter.folder import Suspicious, false_positive_rate, fault_counts, write_queue
from voxaudit.audits.stutter.folder import forget_refusal, write_refusal
from voxaudit.errors import VoxauditError
from voxaudit.report.build import SYNTHETIC, build_report
from voxaudit.report.findings import find_table


def section(document, id_):
    return next(one for one in document.sections if one.id == id_)


CHANGE = {
    "wer": 0.4,
    "wer_original": 0.1,
    "werd": 0.3,
    "low": 0.2,
    "high": 0.4,
    "p": 0.001,
    "cases": 8,
    "speakers": 6,
}
CASE = Suspicious(
    "u1",
    "one",
    "block:word=1",
    "turn it off",
    "turn it it off",
    "burn <it> off",
    "turn it off",
    0.3,
    "incorrect_word",
    (),
)


@pytest.fixture
def stutter(tmp_path):
    folder = tmp_path / "st"
    folder.mkdir()
    document = {
        "settings": {},
        "utterances": 4,
        "cases": 8,
        "recognizers": {"one": CHANGE, "two": {**CHANGE, "werd": 0.01, "low": -0.1, "high": 0.1, "p": 0.7}},
        "kinds": {
            "block": {"one": {**CHANGE, "cases": 3}},
            "word_repetition": {"one": {**CHANGE, "cases": 0}},
        },
        "suspicious": [
            {
                "utterance": CASE.utterance,
                "recognizer": CASE.recognizer,
                "chain": CASE.chain,
                "intended": CASE.intended,
                "surface": CASE.surface,
                "transcripts": {"original": CASE.original, "case": CASE.transcript},
                "similarity": CASE.similarity,
                "fault": CASE.fault,
                "span": None,
            }
        ],
        "faults": fault_counts([CASE]),
        "faults_by_recognizer": {"one": fault_counts([CASE])},
        "labels": false_positive_rate([]),
        "dose": [
            {"recognizer": "one", "rate": rate, "events": rate, "wer": rate / 100, "low": None, "high": None}
            for rate in (0.0, 10.0)
        ],
        "skipped": {"u9": "no text", "u8": "no text"},
    }
    (folder / "stutter.json").write_text(json.dumps(document))
    write_queue(folder, [CASE])
    return folder


def test_a_stutter_audit_is_read_with_its_labels(make_run, drops, stutter, validate):
    run = make_run(drops)
    before = build_report(run, stutter=stutter)
    findings = {one.id: one for one in before.findings if one.audit == "stutter"}
    assert findings["stutter/one/werd"].verdict == "shown"
    assert findings["stutter/two/werd"].verdict == "not_shown"
    assert findings["stutter/false_positives"].verdict == "refused"
    assert find_table(before, "kinds").rows[0][:2] == ("block", "one")
    assert len(find_table(before, "kinds").rows) == 1
    assert find_table(before, "suspicious").rows[0][4] == "burn <it> off"
    assert section(before, "stutter").notes == ("Left out: 2 utterances (no text).",)
    queue = stutter / "suspicious.jsonl"
    queue.write_text(queue.read_text().replace('"label": ""', '"label": "fine"'))
    after = build_report(run, stutter=stutter)
    rate = next(one for one in after.findings if one.id == "stutter/false_positives")
    assert rate.estimate == 1.0
    assert "Of 1 suspicious cases that people judged, 100.0 %" in rate.sentence


def test_a_cost_has_to_survive_that_several_recognizers_were_asked(make_run, drops, stutter):
    """The interval of both leaves out 0; of p = 0.03 and 0.04, Holm makes 0.06 twice."""
    run, path = make_run(drops), stutter / "stutter.json"
    document = json.loads(path.read_text())
    document["recognizers"] = {"one": {**CHANGE, "p": 0.03}, "two": {**CHANGE, "p": 0.04}}
    path.write_text(json.dumps(document))
    findings = {one.id: one for one in build_report(run, stutter=stutter).findings}
    for name in ("one", "two"):
        found = findings[f"stutter/{name}/werd"]
        assert (found.verdict, found.p) == ("not_shown", pytest.approx(0.06))
        assert "but p = 0.060 after Holm's correction, so no cost is shown" in found.sentence


def test_it_is_found_beside_the_run(make_run, drops, stutter):
    run = make_run(drops)
    assert section(build_report(run), "stutter").refusals
    shutil.copytree(stutter, run.folder / "stutter")
    assert not section(build_report(run), "stutter").refusals


def test_what_stuttering_costs_is_drawn_with_intervals(make_run, drops, stutter):
    """One kind of cases has a cost by its interval, but not after Holm's adjustment for two tests."""
    run, path = make_run(drops), stutter / "stutter.json"
    document = json.loads(path.read_text())
    document["kinds"] = {
        "block": {"one": {**CHANGE, "p": 0.03}, "two": {**CHANGE, "low": None, "high": None, "p": None}},
        "word_repetition": {"one": {**CHANGE, "p": 0.01}, "two": {**CHANGE, "cases": 0}},
    }
    document["suspicious"][0] |= {"surface": "turn it it off"}
    path.write_text(json.dumps(document))
    chapter = section(build_report(run, stutter=stutter), "stutter")
    rows = {row.label: row.shown for row in chapter.figures[0].drawing.rows}
    assert rows == {
        "one, all kinds": True,
        "two, all kinds": False,
        "one, block": True,
        "one, word repetition": True,
    }
    document["kinds"]["block"]["one"]["p"] = 0.06
    path.write_text(json.dumps(document))
    chapter = section(build_report(run, stutter=stutter), "stutter")
    assert {row.label for row in chapter.figures[0].drawing.rows if not row.shown} == {
        "two, all kinds",
        "one, block",
    }
    assert (
        "somebody who means “turn it off” and says “turn it it off” is heard by one as “burn <it> off”"
        in (chapter.lead[1])
    )


def test_sentences_say_more_fewer_and_how_sure(make_run, drops, stutter):
    path = stutter / "stutter.json"
    document = json.loads(path.read_text())
    document["recognizers"] = {
        "one": CHANGE,
        "two": {**CHANGE, "werd": -0.01, "low": -0.1, "high": 0.08, "wer": 0.09, "p": 0.7},
        "three": {**CHANGE, "low": None, "high": None, "p": None},
    }
    path.write_text(json.dumps(document))
    said = [one.sentence for one in build_report(make_run(drops), stutter=stutter).findings if one.headline]
    tails = [sentence.split(" instead of ")[1] for sentence in said if "instead of" in sentence]
    assert tails == [
        "10.0 %: 30.0 percentage points (20.0 to 40.0) more (8 made cases of 6 speakers).",
        "10.0 %: 1.0 percentage points (-8.0 to 10.0) fewer, so no cost is shown (8 made cases of 6 speakers).",
        "10.0 %: 30.0 percentage points more, but the speakers are too few or unknown, so how sure that is cannot be"
        " said (8 made cases of 6 speakers).",
    ]


def test_a_refusal_takes_the_place_of_findings(make_run, drops, stutter):
    run = make_run(drops)
    shutil.copytree(stutter, run.folder / "stutter")
    write_refusal(run.folder / "stutter", VoxauditError("no recording can be stuttered\n(silent)"))
    chapter = section(build_report(run), "stutter")
    assert [one.reason for one in chapter.refusals] == ["no recording can be stuttered (silent)"]
    assert chapter.findings == ()
    forget_refusal(run.folder / "stutter")
    assert section(build_report(run), "stutter").findings


def test_a_report_on_synthetic_voices_says_so(make_run, drops):
    people = {f"s{n}": {"synthetic": "yes"} for n in range(6)}
    assert SYNTHETIC in build_report(make_run(drops, people=people)).subtitle
    mixed = people | {"s0": {"synthetic": "no"}}
    assert SYNTHETIC not in build_report(make_run(drops, people=mixed, name="mixed")).subtitle


def test_recognizers_without_stuttered_speech_are_named(make_run, drops, stutter):
    path = stutter / "stutter.json"
    document = json.loads(path.read_text())
    document["recognizers"].pop("two")
    path.write_text(json.dumps(document))
    run = make_run(drops)
    notes = section(build_report(run, stutter=stutter), "stutter").notes
    absent = [name for name in run.config["recognizers"] if name != "one"]
    assert (f"Not part of this audit: {', '.join(absent)}." in notes) == bool(absent)
    assert absent


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"recordings": 1}', '{"recordings": 1, "cases": 2, "recognizers": [1]}']
)
def test_findings_that_are_none_are_refused(make_run, drops, tmp_path, content):
    for name in ("stutter", "attack"):
        (tmp_path / f"{name}.json").write_text(content)
    document = build_report(make_run(drops), stutter=tmp_path, attack=tmp_path)
    assert "not the findings of a stutter audit" in section(document, "stutter").refusals[0].reason
    assert "not the findings of an attack" in section(document, "attack").refusals[0].reason


def test_a_queue_with_a_wrong_label_is_refused(make_run, drops, stutter):
    queue = stutter / "suspicious.jsonl"
    queue.write_text(queue.read_text().replace('"label": ""', '"label": "maybe"'))
    (refusal,) = section(build_report(make_run(drops), stutter=stutter), "stutter").refusals
    assert "unknown label 'maybe'" in refusal.reason


def test_an_attack_is_read(make_run, drops, tmp_path):
    """Ten utterances of five words: clean right, three words wrong under attack, one in plain noise."""
    tried = [
        Tried(f"u{n}", f"s{n}", "a b c d e", "a b c d e", "a b x y z", "a b c d x", snr=20.0, success=True)
        for n in range(10)
    ]
    options = {"recognizer": "one", "method": "pgd", "queries": 1, "seconds": 1.0, "settings": {}}
    rows = [
        summarize(
            tried,
            scenario=f"pgd:{n}",
            snr=snr,
            transfer={"two": {"wer_clean": 0.0, "wer_attacked": 0.5, "werd": 0.5}},
            **options,
        )
        for n, snr in ((1, 40.0), (2, 30.0))
    ]
    text = json.dumps({"attacks": [asdict(row) for row in rows], "left_out": {"no text": 2}, "notes": []})
    (tmp_path / "attack.json").write_text(text)
    document = build_report(make_run(drops), attack=tmp_path)
    findings = [one for one in document.findings if one.audit == "attack"]
    assert [one.estimate for one in findings] == pytest.approx([0.6, 0.6])
    assert [one.headline for one in findings] == [True, False]  # the quieter noise says more
    assert "from 0.0 % to 60.0 %; plain noise of that level gives 20.0 %" in findings[0].sentence
    assert find_table(document, "transfer").rows[0][:3] == ("one", "pgd:1", "two")
    assert section(document, "attack").notes == ("Left out: 2 utterances (no text).",)
