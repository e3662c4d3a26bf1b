"""A report as a newcomer reads it: commands stand as code, refusals name a remedy, scenarios are explained."""

from __future__ import annotations

import re

import pytest

from voxaudit.answer import Bars, HeatMap
from voxaudit.perturb import PERTURBATIONS
from voxaudit.perturb.describe import aside, in_words
from voxaudit.render.document import sentence_of
from voxaudit.report.build import build_report
from voxaudit.stats.speaker_means import MEAN


def chapter(report, id_):
    return next(one for one in report.chapters if one.id == id_)


@pytest.mark.slow
def test_every_refusal_says_what_would_enable_it(report, plain_report, make_run, drops):
    """Runs that lack one thing each; the report of none leaves a reader without a way on."""
    two = {f"s{n}": {"accent": "ab"[n % 2]} for n in range(4)}
    one = {f"s{n}": {"accent": "a"} for n in range(12)}
    runs = (
        make_run(drops, name="clean", scenarios=("clean",)),
        make_run(drops, name="silent", text=None),
        make_run(drops, name="few", people=two),
        make_run(drops, name="group", people=one),
        make_run(drops, name="nobody", speakers=False),
        make_run(drops, name="single", recognizers=("one",)),
        make_run(lambda *_: "turn the lamp off now", name="perfect"),
    )
    lacking = (build_report(run, attributes=["accent"], audio_megabytes=0) for run in runs)
    refusals = [
        refusal
        for each in (plain_report, report, *lacking)
        for one in each.chapters
        for refusal in one.all_refusals
    ]
    assert len(refusals) > 20
    assert [refusal for refusal in refusals if not refusal.remedy] == []
    assert not [one for one in refusals if one.text.endswith(";") or "help:" in one.text]


def test_scenarios_are_explained_with_their_setting():
    assert in_words("gaussian_noise:2") == (
        "White Gaussian noise at 20 dB: a hissing line or a cheap microphone."
    )
    assert in_words("noise:theta=6") == "White Gaussian noise at 6 dB SNR, power over the whole clip."
    assert in_words("scale:theta=0.5").endswith("2 times longer and lower in pitch.")
    assert in_words("clean") == "The recording as it is."
    assert in_words("unheard_of:3") == ""
    assert aside("echo:1") == " (add one echo after 125 ms: a large hall)"
    assert aside("clean") == ""
    assert aside("mp3:2").startswith(" (MP3 at a constant 32 kbit/s, the nearest of 16, 24, ... 160: ")
    # Ids of tables that came from anywhere: no severity, no number.
    assert (
        in_words("gaussian_noise:0000000019")
        == in_words("gaussian_noise:7")
        == in_words("gaussian_noise:snr=nan")
    )


@pytest.mark.parametrize("name", PERTURBATIONS.names())
def test_every_perturbation_is_explained_without_loose_ends(name):
    kind = PERTURBATIONS.load(name)
    words = in_words(f"{name}:1" if kind.severities else f"{name}:theta=0.5")
    assert words.endswith(".")
    assert "`" not in words
    assert "SRB" not in words
    assert "theta" not in words


def test_the_worst_scenario_is_explained_where_it_is_named(report):
    assert any(
        "under gaussian_noise:2, its worst scenario (white Gaussian noise at 20 dB:" in sentence_of(item)
        for question in report.summary
        for item in question.answers
    )
    rows = {row[0]: row[1] for row in next(t for t in chapter(report, "reproduce").tables).rows}
    assert rows["telephone"].startswith("Only 300 to 3400 Hz")


def test_scenarios_with_one_setting_each_are_bars_not_an_empty_map(make_run, drops, only):
    only("robustness")
    run = make_run(drops, scenarios=("clean", "gaussian_noise:2", "telephone"))
    figures = chapter(build_report(run), "robustness").figures
    assert not any(isinstance(one.drawing, HeatMap) for one, _ in figures)
    (bars,) = (one.drawing for one, _ in figures if one.id == "scenarios")
    assert isinstance(bars, Bars)
    assert bars.labels[0] == "clean"
    assert {one.label for one in bars.series} == {"one", "two"}
    assert all(cell is not None for one in bars.series for cell in one.points)


def test_parity_speaks_of_each_recognizer_before_their_mean(report):
    section = chapter(report, "parity")
    (answer,) = section.answers
    gaps = [one for one in answer.findings if one.measure == "wer_gap"]
    assert [one.recognizer for one in gaps] == ["one", "two", None]
    assert all("averaged over speakers" in one.sentence for one in gaps)
    assert [one.label for one in answer.figure("groups").drawing.series] == ["one", "two"]
    for name in ("groups", "gaps", "pairs"):
        assert answer.tables[name]["recognizer"].unique(maintain_order=True).to_list() == ["one", "two", MEAN]


def test_the_checklist_has_no_gap_without_a_unit(report):
    section = chapter(report, "parity")
    (table,) = (one for one in section.all_tables if one.id == "checklist")
    said = " ".join(str(value) for row in table.rows for value in row)
    assert re.findall(r"a gap of [\d.]+ percentage points needs about \d+ speakers", said)
    assert said.count("gap of ") == len(re.findall(r"gap of [\d.]+ percentage points", said))
    assert "text_words" not in said
    assert "(--" not in said


def test_the_terminal_says_what_would_enable_an_answer_and_leaves_out_what_nobody_asked(
    make_run, drops, capsys, only
):
    from voxaudit.cli.main import main

    only("robustness", "stutter", "attack")
    assert main(["report", str(make_run(drops).folder), "--audio-megabytes", "0"]) == 0
    said = [line for line in capsys.readouterr().out.splitlines() if line.startswith("- Not answered: ")]
    assert any("no difficulty is known. To get it: measure the quality" in line for line in said)
    assert not any("adversarial" in line or "stuttered" in line for line in said)
