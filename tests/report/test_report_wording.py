"""What a report says in words: counts agree with nouns, averages say what they average, units are there."""

from __future__ import annotations

import polars as pl
import pytest

from voxaudit.config import Gate, Gates
from voxaudit.errors import VoxauditError
from voxaudit.render.document import Report, sentence_of
from voxaudit.report.build import build_report, write_report


def said(report):
    return [sentence_of(item) for question in report.summary for item in question.answers]


def chapter(report, id_):
    return next(one for one in report.chapters if one.id == id_)


def test_every_heading_has_words(report):
    tables = [table for one in report.chapters for table in one.all_tables]
    assert tables
    assert all(column.heading.strip() for table in tables for column in table.columns)


def test_an_average_over_categories_says_so(plain_report):
    """Two scenarios of noise, one of the telephone: the mean over categories is not that over scenarios."""
    report = plain_report
    frame = report.table("rates").frame.filter(pl.col("recognizer") == "one")
    rates = dict(frame.select("scenario", "wer").iter_rows())
    noise = (rates["gaussian_noise:1"] + rates["gaussian_noise:2"]) / 2 - rates["clean"]
    telephone = rates["telephone"] - rates["clean"]
    finding = next(one for one in report.findings if one.id == "robustness/one/overall/werd")
    assert finding.estimate == pytest.approx((noise + telephone) / 2)
    assert noise != pytest.approx(telephone)
    assert "on average over 2 categories of disturbance (3 scenarios); most under" in finding.sentence
    assert "verages count every category equally" in " ".join(chapter(report, "robustness").all_leads)
    # A cost has an interval of its own, not one that allows for all the others: it is no claim.
    costs = [
        one
        for one in report.findings
        if one.measure in ("werd", "nwerd") and one.recognizer and "ranking" not in one.id
    ]
    assert {one.verdict for one in costs} == {"measured"}


def test_recognizers_that_cannot_be_told_apart_are_joined_by_and(make_run, only):
    only("robustness")
    report = build_report(make_run(lambda *_: "turn the lamp off"))
    assert any(
        line.startswith("one and two cannot be told apart under disturbance")
        for line in (one.sentence for one in report.findings)
    )


def test_one_utterance_has_no_reference(make_run, drops, only):
    only("accuracy")
    run = make_run(drops)
    corpus = pl.read_parquet(run.folder / "corpus.parquet").with_row_index("row")
    corpus = corpus.with_columns(text=pl.when(pl.col("row") > 0).then("text")).drop("row")
    corpus.write_parquet(run.folder / "corpus.parquet")
    report = build_report(type(run)(run.folder))
    sentence = "1 of 24 utterances has no reference text: it was heard but not scored."
    assert sentence in said(report)


def test_a_shown_gap_is_called_shown(make_run, only):
    only("disparity")

    def heard(recognizer, scenario, speaker, number):
        place = int(speaker[1:])
        return " ".join(
            ["turn", "the", "lamp", "off", "now"][
                : (1 if place % 2 else 4) - (place % 4 == 0 and number == 0)
            ]
        )

    people = {f"s{n}": {"accent": "ns"[n % 2]} for n in range(24)}
    report = build_report(make_run(heard, recognizers=("one",), people=people), attributes=["accent"])
    finding = next(one for one in report.findings if one.audit == "disparity" and one.verdict == "shown")
    assert finding.sentence.endswith(": a gap is shown.")


def lopsided(recognizer, scenario, speaker, number):
    """Two speakers a group who are alike to the word: nothing varies, so a t interval would have no width."""
    return " ".join(["turn", "the", "lamp", "off", "now"][: 2 if speaker in ("s0", "s1") else 3])


def test_two_speakers_a_group_fail_no_gate_and_are_not_called_a_matter_of_many_comparisons(make_run, only):
    only("disparity")
    people = {f"s{n}": {"accent": "ab"[n // 2]} for n in range(4)}
    run = make_run(lopsided, recognizers=("one",), people=people, utterances=3)
    gates = Gates({"worst_group_ratio": Gate(1.2, "lower")})
    report = build_report(run, attributes=["accent"], gates=gates)
    finding = next(one for one in report.findings if one.audit == "disparity")
    assert (finding.measure, finding.verdict) == ("wer_ratio", "not_shown")
    assert finding.p == pytest.approx(1 / 3, abs=0.02)  # four speakers fall in two halves in six ways
    assert finding.sentence.endswith(": no gap is shown, and with so few speakers none is excluded.")
    assert report.gates[0].passed
    assert report.gates[0].estimate < 1.0


def test_what_cannot_be_judged_names_one_reason(make_run, drops, only):
    only("differential")
    people = {f"s{n}": {"accent": "abc"[n % 3]} for n in range(6)}
    run = make_run(drops, people=people)
    (gate,) = build_report(run, attributes=["accent"], gates=Gates({"differential": Gate(0.0)})).gates
    assert not gate.judged
    assert gate.sentence.endswith("a test needs 5 speakers in each group.")


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(VoxauditError, match="cannot make this folder"):
            write_report(Report("t", "s", (), ()), folder)
