"""A document from tiny runs made by hand: what is said, and what is refused instead of raised."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from voxaudit.answer import HeatMap
from voxaudit.errors import VoxauditError
from voxaudit.render.document import sentence_of
from voxaudit.render.json import to_json
from voxaudit.report.build import build_report, write_report
from voxaudit.review.cases import trial_id
from voxaudit.review.labels import apply_labels
from voxaudit.review.store import Given, LabelStore


def chapter(document, id_):
    return next(chapter for chapter in document.chapters if chapter.id == id_)


def said(document):
    return [sentence_of(item) for question in document.summary for item in question.answers]


def written(document, folder, validate):
    """Write all files, check that each can be read, and return findings.json."""
    files = write_report(document, folder)
    assert set(files) == {"report.html", "summary.md", "findings.json", "junit.xml"}
    ElementTree.fromstring(files["junit.xml"].read_bytes())
    assert files["report.html"].read_text(encoding="utf-8").lstrip().lower().startswith("<!doctype html")
    return validate(files["findings.json"].read_text(encoding="utf-8"))


def test_the_chapters_stand_in_their_order_and_say_the_headlines(report, tmp_path, validate):
    document = report
    assert [chapter.id for chapter in document.chapters] == [
        *("accuracy", "versus", "robustness", "disparity", "parity", "differential", "localize"),
        *("hallucination", "keywords", "waiting", "cases", "reproduce"),
    ]
    found = written(document, tmp_path, validate)
    assert len({one["id"] for one in found["findings"]}) == len(found["findings"])
    assert set(said(document)) <= {one["sentence"] for one in found["findings"] if one["headline"]}
    assert [question.title for question in document.summary][:3] == [
        "Which recognizer?",
        "Where does it break?",
        "For whom?",
    ]
    assert said(document)[0].startswith("one is better than two over 4 scenarios, for 12 speakers: WER ")
    assert any("under gaussian_noise:2, its worst scenario (" in line for line in said(document))


def test_clean_rates_are_ratios_of_sums_by_hand(report):
    """Twelve speakers, two sentences of five words: those with (speaker + number) % 5 == 0 lose one word."""
    lost = sum((speaker + number) % 5 == 0 for speaker in range(12) for number in range(2))
    finding = next(one for one in report.findings if one.id == "accuracy/one/clean/wer")
    assert finding.estimate == pytest.approx(lost / 120)
    assert finding.low is not None
    assert finding.low <= finding.estimate <= finding.high
    row = report.table("rates").frame.row(0, named=True)
    assert (row["wer"], row["low"], row["high"]) == (finding.estimate, finding.low, finding.high)


def test_a_heat_map_places_scenarios_by_severity(report):
    figure = next(one for one, _ in chapter(report, "robustness").figures if isinstance(one.drawing, HeatMap))
    drawing = figure.drawing
    assert drawing.columns == ("1", "2", "one setting")
    assert set(drawing.rows) == {"gaussian_noise", "telephone"}
    noise = drawing.cells["wer"][drawing.rows.index("gaussian_noise")]
    assert noise[0].value < noise[1].value
    assert noise[2] is None
    assert "nwerd" in drawing.measures  # published difficulties
    telephone = drawing.cells["nwerd"][drawing.rows.index("telephone")]
    assert telephone == (None, None, None)


def test_curves_have_a_line_for_each_group(report):
    figure = next(one for one, _ in chapter(report, "robustness").figures if one.id == "curves-accent-one")
    ((title, ticks, series),) = figure.drawing.panels
    assert title == "gaussian_noise"
    assert ticks == ("clean", "1", "2")
    assert {one.label for one in series} == {"north", "south"}
    north = next(one for one in series if one.label == "north")
    south = next(one for one in series if one.label == "south")
    assert north.points[2].value > south.points[2].value


def test_without_attributes_curves_are_by_recognizer_and_groups_are_refused(plain_report, tmp_path, validate):
    document = plain_report
    figure = next(one for one, _ in chapter(document, "robustness").figures if one.id == "curves")
    assert {one.label for one in figure.drawing.panels[0][2]} == {"one", "two"}
    (refusal,) = chapter(document, "disparity").all_refusals
    assert (refusal.code, refusal.facts["attributes"]) == ("no_attribute", ["accent"])
    assert refusal.see == ("attributes",)
    assert not {"parity", "differential"} & {one.id for one in document.chapters}
    written(document, tmp_path, validate)


def test_an_unknown_attribute_is_one_line(toy):
    with pytest.raises(VoxauditError, match=r"no attribute 'acent'. Did you mean: accent"):
        build_report(toy, attributes=["acent"])


@pytest.mark.slow
def test_one_speaker_gives_no_interval_and_no_conclusion(make_run, drops, validate):
    run = make_run(drops, people={"s1": {"accent": "north"}})
    document = build_report(run, attributes=["accent"])
    assert "no_interval" in {note.code for note in chapter(document, "accuracy").all_notes}
    assert [one.code for one in chapter(document, "disparity").all_refusals] == ["one_group"]
    # Of a rate nothing can be said; where there are no errors, how much was heard bounds them.
    rates = [one for one in document.findings if one.measure in ("wer", "worst_wer")]
    assert all(one.low is None for one in rates if one.estimate)
    assert all(one.low == 0.0 < one.high for one in rates if one.estimate == 0.0)
    written(document, run.folder, validate)


@pytest.mark.slow
def test_two_groups_of_one_speaker_are_refused(make_run, drops, validate):
    run = make_run(drops, people={"s1": {"accent": "north"}, "s2": {"accent": "south"}})
    document = build_report(run, attributes=["accent"])
    verdicts = {one.verdict for one in document.findings if one.audit in ("disparity", "differential")}
    assert verdicts <= {"refused"}
    written(document, run.folder, validate)


@pytest.mark.slow
def test_without_references_only_the_differential_audit_and_the_words_speak(make_run, drops, validate):
    run = make_run(drops, text=None)
    document = build_report(run, attributes=["accent"])
    assert "24 of 24 utterances have no reference text: they were heard but not scored." in said(document)
    for id_ in ("robustness", "parity", "cases"):
        assert chapter(document, id_).all_refusals
    assert any(one.audit == "differential" for one in document.findings)
    assert chapter(document, "localize").all_tables
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
    assert any(line.startswith("one gets 0.0 % ") for line in said(document))
    assert not [one for one in document.findings if one.verdict == "shown"]
    assert chapter(document, "cases").all_refusals
    written(document, run.folder, validate)


def test_a_run_in_which_everything_failed(make_run, validate):
    run = make_run(lambda *_: RuntimeError("recognizer: RuntimeError: no <license>\x1b"))
    document = build_report(run, attributes=["accent"])
    assert "one: 96 trials failed, the first with: recognizer: RuntimeError: no <license>\x1b." in said(
        document
    )
    assert not [one for one in document.findings if one.verdict == "shown"]
    written(document, run.folder, validate)


def test_words_in_silence_are_counted_by_the_minute(make_run, drops, only):
    only("robustness")

    def heard(recognizer, scenario, speaker, number):
        return "thank you" if scenario == "silence" else drops(recognizer, scenario, speaker, number)

    document = build_report(
        make_run(heard, scenarios=("clean", "gaussian_noise:1", "silence")), attributes=["accent"]
    )
    finding = next(one for one in document.findings if one.measure == "words_per_minute")
    assert finding.estimate == pytest.approx(60.0)  # two words in two seconds
    assert finding.sentence in said(document)
    assert document.table("silence").frame["words_per_minute"][0] == pytest.approx(60.0)
    silent = [case for case in chapter(document, "cases").cases if case.scenario == "silence"]
    assert {case.wer for case in silent} == {None}
    assert silent[0].diff == (("insertion", "", "thank"), ("insertion", "", "you"))


@pytest.mark.slow
def test_one_recognizer_and_clean_speech_only(make_run, drops, validate):
    run = make_run(drops, scenarios=("clean",), recognizers=("one",))
    document = build_report(run, attributes=["accent"])
    codes = {one.id: [refusal.code for refusal in one.all_refusals] for one in document.chapters}
    assert codes["robustness"] == ["nothing_disturbed"]
    assert codes["differential"] == ["too_few_recognizers"]
    assert codes["localize"] == ["nothing_disturbed"]
    written(document, run.folder, validate)


HOSTILE = "</script><img src=x onerror=alert(1)>|`*_[a](b)\"'&\x00\x07\u202e{0}%s@all #1 http://x.y 😀"


@pytest.mark.slow
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


def test_files_are_written_elsewhere_and_replaced_whole(report, tmp_path):
    first = write_report(report, tmp_path / "a" / "b")
    again = write_report(report, tmp_path / "a" / "b")
    assert {path.name for path in (tmp_path / "a" / "b").iterdir()} == set(first) == set(again)


@pytest.mark.slow
def test_the_same_run_gives_the_same_document(toy, report):
    assert to_json(build_report(toy, attributes=["accent"])) == to_json(report)


def test_a_group_without_errors_is_no_yardstick(make_run, only):
    """Only the north is misheard: its ratio to nothing is infinite, the south's to the north is nought."""
    only("disparity")

    def heard(recognizer, scenario, speaker, number):
        place = int(speaker[1:])
        return "turn the lamp off" if place % 2 and (place + number) % 3 else "turn the lamp off now"

    document = build_report(make_run(heard, recognizers=("one",)), attributes=["accent"])
    (finding,) = (one for one in document.findings if one.measure == "typical_speaker_ratio")
    assert finding.group == "south"
    assert finding.estimate == pytest.approx(0.0)
    assert finding.high < 1.0


def test_what_holds_for_several_attributes_is_said_once(make_run, drops, only):
    only("accuracy", "disparity")
    people = {f"s{n}": {"accent": "ns"[n % 2], "age": "yo"[n // 6]} for n in range(12)}
    document = build_report(make_run(drops, text=None, people=people), attributes=["accent", "age"])
    assert [one.code for one in chapter(document, "disparity").all_refusals] == ["no_references"]
    assert [answer.question["by"] for answer in chapter(document, "accuracy").answers] == [None]


def test_measured_difficulties_are_used_and_named_without_a_path(make_run, drops, tmp_path, only):
    import polars as pl

    only("robustness")

    run = make_run(drops)
    rows = [
        (utterance, utterance.partition("-")[0], scenario, 4.0 - place, 4.0 - place, 20.0)
        for utterance in run.corpus["id"]
        for place, scenario in enumerate(run.config["scenarios"])
    ]
    names = ("utterance", "speaker", "scenario", "dnsmos", "pesq", "snr")
    pl.DataFrame(rows, schema=list(names), orient="row").write_parquet(run.folder / "quality.parquet")
    document = build_report(run, attributes=["accent"])
    lead = " ".join(note.text for note in chapter(document, "robustness").all_notes)
    assert "measured" in lead
    text = "\n".join(one.sentence for one in document.findings)
    assert str(tmp_path) not in text + lead
    heat = next(one for one, _ in chapter(document, "robustness").figures if isinstance(one.drawing, HeatMap))
    telephone = heat.drawing.cells["nwerd"][heat.drawing.rows.index("telephone")]
    assert telephone[-1] is not None  # it has no published difficulty


@pytest.mark.slow
def test_labels_of_reviewers_stand_where_the_claim_they_judge_stands(make_run, drops, validate, only):
    run = make_run(drops)
    labels = (
        ("one", "gaussian_noise:2", "s0-0", "real_fault"),
        ("one", "gaussian_noise:2", "s1-0", "real_fault"),
        ("one", "gaussian_noise:2", "s2-0", "malformed"),
        ("two", "clean", "s0-0", "real_fault"),
        ("nobody", "<script>", "s0-0", "fine"),
    )
    store = LabelStore(run.folder)
    for recognizer, scenario, utterance, label in labels:
        store.add(Given("anna", "trials", trial_id(recognizer, scenario, utterance), label))
    apply_labels(run.folder, None)
    document = build_report(run, attributes=["accent"])
    worst = "Reviewers judged 3 of these trials: 2 real faults, 1 malformed (nobody could understand it)."
    clean = "Reviewers judged 1 of these trials: 1 real fault."
    found = written(document, run.folder, validate)
    claims = {one["sentence"]: one.get("reviewers") for one in found["summary"]}
    assert list(filter(None, claims.values())) == [worst]
    (claim,) = (sentence for sentence, said in claims.items() if said == worst)
    assert claim.startswith("one gets ")
    assert "under gaussian_noise:2" in claim
    lines = (run.folder / "summary.md").read_text().splitlines()
    place = next(
        number for number, line in enumerate(lines) if line.startswith("- one gets") and "gaussian" in line
    )
    assert lines[place + 1] == f"  - {worst}"
    page = (run.folder / "report.html").read_text()
    assert worst in page
    assert page.index('id="s-accuracy"') < page.index(clean)  # its claim is in the chapter only
    (run.folder / "review.json").write_text('{"trials": {"judged": [{"recognizer": 1}]}}')
    only("accuracy")
    assert build_report(run, attributes=["accent"]).labels == {}
