"""A document from tiny runs made by hand: what is said, and what is refused instead of raised."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from voxaudit.errors import VoxauditError
from voxaudit.report.build import CHAPTERS, build_report, write_report
from voxaudit.report.document import HeatMap
from voxaudit.report.findings import find_table


def chapter(document, id_):
    return next(section for section in document.sections if section.id == id_)


def written(document, folder, validate):
    """Write all files, check that each can be read, and return findings.json."""
    files = write_report(document, folder)
    assert set(files) == {"report.html", "summary.md", "findings.json", "junit.xml"}
    ElementTree.fromstring(files["junit.xml"].read_bytes())
    assert files["report.html"].read_text(encoding="utf-8").lstrip().lower().startswith("<!doctype html")
    return validate(files["findings.json"].read_text(encoding="utf-8"))


def test_the_chapters_stand_in_their_order_and_say_the_headlines(make_run, drops, validate):
    run = make_run(drops)
    document = build_report(run, attributes=["accent"])
    assert [section.id for section in document.sections] == list(CHAPTERS)
    found = written(document, run.folder, validate)
    assert len({one["id"] for one in found["findings"]}) == len(found["findings"])
    assert set(document.summary) == {one["sentence"] for one in found["findings"] if one["headline"]}
    assert any(
        "one gets 4.2 % (" in line and "worst scenario, gaussian_noise:2 (" in line
        for line in document.summary
    )


def test_clean_rates_are_ratios_of_sums_by_hand(make_run, drops):
    """Twelve speakers, two sentences of five words: those with (speaker + number) % 5 == 0 lose one word."""
    document = build_report(make_run(drops), attributes=["accent"])
    lost = sum((speaker + number) % 5 == 0 for speaker in range(12) for number in range(2))
    finding = next(one for one in document.findings if one.id == "accuracy/one/clean/wer")
    assert finding.estimate == pytest.approx(lost / 120)
    assert finding.low is not None
    assert finding.low <= finding.estimate <= finding.high
    table = find_table(document, "scenarios")
    row = dict(zip([column.name for column in table.columns], table.rows[0], strict=True))
    assert row["wer"] == pytest.approx(lost / 120)
    assert row["interval"] == (finding.low, finding.high)


def test_a_heat_map_places_scenarios_by_severity(make_run, drops):
    document = build_report(make_run(drops), attributes=["accent"])
    figure = next(one for one in chapter(document, "robustness").figures if isinstance(one.drawing, HeatMap))
    drawing = figure.drawing
    assert drawing.columns == ("1", "2", "one setting")
    assert set(drawing.rows) == {"gaussian_noise", "telephone"}
    noise = drawing.cells["wer"][drawing.rows.index("gaussian_noise")]
    assert noise[0].value < noise[1].value
    assert noise[2] is None
    assert "nwerd" in drawing.measures  # published difficulties
    telephone = drawing.cells["nwerd"][drawing.rows.index("telephone")]
    assert telephone == (None, None, None)


def test_curves_have_a_line_for_each_group(make_run, drops):
    document = build_report(make_run(drops), attributes=["accent"])
    figure = next(one for one in chapter(document, "robustness").figures if one.id == "curves-0-0")
    ((title, ticks, series),) = figure.drawing.panels
    assert title == "gaussian_noise"
    assert ticks == ("clean", "1", "2")
    assert {one.label for one in series} == {"north", "south"}
    north = next(one for one in series if one.label == "north")
    south = next(one for one in series if one.label == "south")
    assert north.points[2].value > south.points[2].value


def test_without_attributes_curves_are_by_recognizer_and_groups_are_refused(make_run, drops, validate):
    run = make_run(drops)
    document = build_report(run)
    figure = next(one for one in chapter(document, "robustness").figures if one.id == "curves")
    assert {one.label for one in figure.drawing.panels[0][2]} == {"one", "two"}
    for id_ in ("disparity", "parity", "differential"):
        (refusal,) = chapter(document, id_).refusals
        assert "accent" in refusal.reason
        assert "`voxaudit report RUN --attributes accent`" in refusal.remedy
    written(document, run.folder, validate)


def test_an_unknown_attribute_is_one_line(make_run, drops):
    with pytest.raises(VoxauditError, match=r"no attribute 'acent'. Did you mean: accent"):
        build_report(make_run(drops), attributes=["acent"])


def test_one_speaker_gives_no_interval_and_no_conclusion(make_run, drops, validate):
    run = make_run(drops, people={"s1": {"accent": "north"}})
    document = build_report(run, attributes=["accent"])
    assert (
        "No interval is shown where fewer than five speakers are known, or no error was made."
        in document.summary
    )
    assert any(line.startswith("No conclusion about accent: it has one group") for line in document.summary)
    assert all(one.low is None for one in document.findings if one.audit == "accuracy")
    written(document, run.folder, validate)


def test_two_groups_of_one_speaker_are_refused(make_run, drops, validate):
    run = make_run(drops, people={"s1": {"accent": "north"}, "s2": {"accent": "south"}})
    document = build_report(run, attributes=["accent"])
    verdicts = {one.verdict for one in document.findings if one.audit in ("disparity", "differential")}
    assert verdicts <= {"refused"}
    written(document, run.folder, validate)


def test_without_references_only_the_differential_audit_and_the_words_speak(make_run, drops, validate):
    run = make_run(drops, text=None)
    document = build_report(run, attributes=["accent"])
    assert "24 of 24 utterances have no reference text: they were heard but not scored." in document.summary
    for id_ in ("robustness", "parity", "cases"):
        assert chapter(document, id_).refusals
    assert any(one.audit == "differential" for one in document.findings)
    assert chapter(document, "words").tables
    written(document, run.folder, validate)


def test_without_speakers_there_are_rates_and_refusals(make_run, drops, validate):
    run = make_run(drops, speakers=False)
    document = build_report(run, attributes=["accent"])
    assert any(one.id == "accuracy/one/clean/wer" and one.estimate is not None for one in document.findings)
    assert not [one for one in document.findings if one.verdict == "shown"]
    written(document, run.folder, validate)


def test_a_run_without_errors(make_run, validate):
    run = make_run(lambda *_: "turn the lamp off now")
    document = build_report(run, attributes=["accent"])
    assert any(line.startswith("one gets 0.0 % ") for line in document.summary)
    assert not [one for one in document.findings if one.verdict == "shown"]
    assert chapter(document, "cases").refusals
    written(document, run.folder, validate)


def test_a_run_in_which_everything_failed(make_run, validate):
    run = make_run(lambda *_: RuntimeError("recognizer: RuntimeError: no <licence>\x1b"))
    document = build_report(run, attributes=["accent"])
    assert (
        "one: 96 trials failed, the first with: recognizer: RuntimeError: no <licence>\x1b."
        in document.summary
    )
    assert not [one for one in document.findings if one.verdict == "shown"]
    written(document, run.folder, validate)


def test_words_in_silence_are_counted_by_the_minute(make_run, drops):
    def heard(recognizer, scenario, speaker, number):
        return "thank you" if scenario == "silence" else drops(recognizer, scenario, speaker, number)

    document = build_report(
        make_run(heard, scenarios=("clean", "gaussian_noise:1", "silence")), attributes=["accent"]
    )
    finding = next(one for one in document.findings if one.measure == "words_per_minute")
    assert finding.estimate == pytest.approx(60.0)  # two words in two seconds
    assert finding.sentence in document.summary
    assert find_table(document, "silence").rows[0][2] == pytest.approx(60.0)
    silent = [case for case in chapter(document, "cases").cases if case.scenario == "silence"]
    assert {case.wer for case in silent} == {None}
    assert silent[0].diff == (("insertion", "", "thank"), ("insertion", "", "you"))


def test_one_recognizer_and_clean_speech_only(make_run, drops, validate):
    run = make_run(drops, scenarios=("clean",), recognizers=("one",))
    document = build_report(run, attributes=["accent"])
    reasons = {section.id: [one.reason for one in section.refusals] for section in document.sections}
    assert "only clean speech was heard" in reasons["robustness"][0]
    assert "one recognizer" in reasons["differential"][0]
    assert "only clean speech" in reasons["words"][0]
    written(document, run.folder, validate)


HOSTILE = "</script><img src=x onerror=alert(1)>|`*_[a](b)\"'&\x00\x07\u202e{0}%s@all #1 http://x.y 😀"


def test_hostile_names_everywhere(make_run, validate):
    people = {f"{HOSTILE}{n}": {HOSTILE: f"{HOSTILE}{n % 2}"} for n in range(12)}

    def heard(recognizer, scenario, speaker, number):
        return HOSTILE if scenario == "clean" or number else "x"

    run = make_run(
        heard,
        people=people,
        text=f"{HOSTILE} turn the lamp off",
        recognizers=(HOSTILE, "two"),
        scenarios=("clean", HOSTILE, "gaussian_noise:1"),
        corpus_name=HOSTILE,
        ids="{speaker}{number}",
    )
    document = build_report(run, attributes=[HOSTILE])
    found = written(document, run.folder, validate)
    assert found["run"]["recognizers"] == [HOSTILE, "two"]
    html = (run.folder / "report.html").read_text(encoding="utf-8")
    assert "<img src=x" not in html
    summary = (run.folder / "summary.md").read_text(encoding="utf-8")
    body = summary.partition("\n---\n")[2]
    assert "<img" not in body
    assert "http://" not in body
    assert "\x00" not in summary


def test_files_are_written_elsewhere_and_replaced_whole(make_run, drops, tmp_path, validate):
    document = build_report(make_run(drops), attributes=["accent"])
    first = write_report(document, tmp_path / "a" / "b")
    again = write_report(document, tmp_path / "a" / "b")
    assert {path.name for path in (tmp_path / "a" / "b").iterdir()} == set(first) == set(again)


def test_the_same_run_gives_the_same_document(make_run, drops):
    run = make_run(drops)
    assert build_report(run, attributes=["accent"]) == build_report(run, attributes=["accent"])


def test_a_group_without_errors_is_no_yardstick(make_run):
    """Only the north is misheard: its ratio to nothing is infinite, the south's to the north is nought."""

    def heard(recognizer, scenario, speaker, number):
        place = int(speaker[1:])
        return "turn the lamp off" if place % 2 and (place + number) % 3 else "turn the lamp off now"

    document = build_report(make_run(heard, recognizers=("one",)), attributes=["accent"])
    (finding,) = (one for one in document.findings if one.audit == "disparity")
    assert finding.group == "south"
    assert finding.estimate == pytest.approx(0.0)
    assert finding.high < 1.0


def test_large_runs_are_asked_less_and_say_so(make_run, drops, monkeypatch):
    from voxaudit.report import context
    from voxaudit.report.sections import words

    run = make_run(drops)
    assert (
        "tolerances 1, 5, 10, 15 percentage points;"
        in find_table(build_report(run, attributes=["accent"]), "violations-0").note
    )
    monkeypatch.setattr(context, "MOST_QUESTIONS", 10)
    monkeypatch.setattr(words, "MOST_TRIALS", 10)
    document = build_report(run, attributes=["accent"])
    assert "tolerances 5, 10 percentage points;" in find_table(document, "violations-0").note
    assert chapter(document, "words").notes[0].startswith("Of 4 scenarios, 3: clean speech and the harshest")
    assert {row[7] for row in find_table(document, "lost-words").rows} == {"", "2"}


def test_a_long_table_is_cut_and_says_where_the_rest_is():
    import polars as pl

    from voxaudit.report.parts import table_of

    table = table_of("t", "T", pl.DataFrame({"n": range(5)}), [("n", "n", "count")], most=3, note="All.")
    assert table.rows == ((0,), (1,), (2,))
    assert table.note == "All. The first 3 of 5 rows; all of them follow from scores.parquet."


def test_what_holds_for_several_attributes_is_said_once(make_run, drops):
    people = {f"s{n}": {"accent": "ns"[n % 2], "age": "yo"[n // 6]} for n in range(12)}
    document = build_report(make_run(drops, text=None, people=people), attributes=["accent", "age"])
    said = [line for line in document.summary if line.startswith("No conclusion about")]
    assert said == ["No conclusion about accent, age: no clean speech with a reference text was heard."]
    assert not [table for table in chapter(document, "accuracy").tables if table.id.startswith("groups-")]


def test_measured_difficulties_are_used_and_named_without_a_path(make_run, drops, tmp_path):
    import polars as pl

    run = make_run(drops)
    rows = [
        (utterance, utterance.partition("-")[0], scenario, 4.0 - place, 4.0 - place, 20.0)
        for utterance in run.corpus["id"]
        for place, scenario in enumerate(run.config["scenarios"])
    ]
    names = ("utterance", "speaker", "scenario", "dnsmos", "pesq", "snr")
    pl.DataFrame(rows, schema=list(names), orient="row").write_parquet(run.folder / "quality.parquet")
    document = build_report(run, attributes=["accent"])
    lead = " ".join(chapter(document, "robustness").lead)
    assert "measured in this run" in lead
    text = "\n".join(one.sentence for one in document.findings)
    assert str(tmp_path) not in text + lead
    heat = next(one for one in chapter(document, "robustness").figures if isinstance(one.drawing, HeatMap))
    telephone = heat.drawing.cells["nwerd"][heat.drawing.rows.index("telephone")]
    assert telephone[-1] is not None  # it has no published difficulty
