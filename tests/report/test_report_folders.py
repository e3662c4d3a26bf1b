"""Chapters that read what other audits left in the run's folder: stuttered speech and attacks."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path += [str(Path(__file__).parents[1] / name) for name in ("audits", "review")]

from kept_audits import write_attack, write_stutter_audit
from made_run import write_stutter

from voxaudit.audits.attack.audit import attack
from voxaudit.audits.stutter.audit import stutter
from voxaudit.audits.stutter.folder import forget_refusal, write_refusal
from voxaudit.errors import VoxauditError
from voxaudit.render.html import render_html
from voxaudit.report.build import SYNTHETIC, build_report


@pytest.fixture(autouse=True)
def _kept_and_one_more(only):
    only("accuracy", "stutter", "attack")


def chapter(report, id_):
    return next((one for one in report.chapters if one.id == id_), None)


@pytest.mark.parametrize(("name", "ask"), [("stutter", stutter), ("attack", attack)])
def test_a_report_says_what_the_audit_says(plain_report, make_run, drops, name, ask):
    assert chapter(plain_report, name) is None
    run = make_run(drops)
    (write_stutter_audit if name == "stutter" else write_attack)(run.folder / name)
    found = chapter(build_report(run), name)
    assert found.refusals == ()
    assert list(found.findings) == list(ask(run).findings)
    assert {one.command for one in found.findings} == {f"voxaudit {name} RUN"}


def test_a_report_plays_stuttered_cases_and_marks_what_was_put_in(make_run, drops):
    run = make_run(drops)
    folder = write_stutter_audit(run.folder / "stutter")
    (silent,) = chapter(build_report(run), "stutter").cases
    assert (silent.audio, silent.marks) == (
        None,
        ((0.0, 0.0, "block, 0.10 s: longer than 4 % of real ones"),),
    )
    write_stutter(folder)
    document = json.loads((folder / "stutter.json").read_text())
    document["suspicious"][0] |= {"utterance": "clip", "chain": "block:word=1,syllable=0,ms=1240.0"}
    (folder / "stutter.json").write_text(json.dumps(document))
    report = build_report(run, audio_megabytes=0.5)
    (case,) = chapter(report, "stutter").cases
    assert case.audio[:4] == case.original[:4] == b"OggS"
    ((first, last, what),) = case.marks
    assert what == "block, 1.24 s: longer than 75 % of real ones"
    assert (first, last) == pytest.approx((0.4 / 2.24, 1.64 / 2.24), abs=0.01)
    page = render_html(report)
    for said in (what, '<svg class="marks"', "<dt>Said</dt>", "turn it it off", "Heard stuttered"):
        assert said in page


@pytest.mark.slow
def test_a_refusal_takes_the_place_of_findings(make_run, drops):
    run = make_run(drops)
    folder = write_stutter_audit(run.folder / "stutter")
    write_refusal(folder, VoxauditError("no recording can be stuttered\n(silent)"))
    found = chapter(build_report(run), "stutter")
    assert [one.text for one in found.refusals] == ["no recording can be stuttered (silent)"]
    assert list(found.findings) == []
    forget_refusal(folder)
    assert chapter(build_report(run), "stutter").findings


def test_damaged_folders_cost_their_chapters_only(make_run, drops):
    run = make_run(drops)
    for name in ("stutter", "attack"):
        (run.folder / name).mkdir()
        (run.folder / name / f"{name}.json").write_text("{")
    report = build_report(run)
    for name, what in (("stutter", "a stutter audit"), ("attack", "an attack")):
        (refusal,) = chapter(report, name).refusals
        assert refusal.code == "unreadable"
        assert f"not the findings of {what}" in refusal.text
    assert chapter(report, "accuracy").findings


def test_a_report_on_synthetic_voices_says_so(make_run, drops):
    people = {f"s{n}": {"synthetic": "yes"} for n in range(6)}
    assert SYNTHETIC in build_report(make_run(drops, people=people)).subtitle
    mixed = people | {"s0": {"synthetic": "no"}}
    assert SYNTHETIC not in build_report(make_run(drops, people=mixed, name="mixed")).subtitle
