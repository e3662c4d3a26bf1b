"""A report as a newcomer reads it: commands stand as code, refusals name a remedy, scenarios are explained."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_document import sample_document

from voxaudit.audits.parity.options import MEAN
from voxaudit.perturb import PERTURBATIONS
from voxaudit.report.build import build_report
from voxaudit.report.document import (
    Bars,
    Cell,
    Column,
    Curves,
    Document,
    Figure,
    Finding,
    HeatMap,
    Refusal,
    Section,
    Series,
    Table,
)
from voxaudit.report.glossary import aside, in_words, unit_of
from voxaudit.report.html import render_html
from voxaudit.report.html.escape import Ids, marked
from voxaudit.report.html.figures.curves import curves_html
from voxaudit.report.html.figures.heatmap import heatmap_html
from voxaudit.report.html.tables import table_html
from voxaudit.report.markdown import to_markdown
from voxaudit.report.numbers import headings, in_points
from voxaudit.report.remedies import remedy_for

EMPTY = Table("t", "T", (), ())


def chapter(document, id_):
    return next(section for section in document.sections if section.id == id_)


def test_what_stands_between_backticks_is_code_wherever_sentences_are():
    said = "try `voxaudit run <file> --out a&b` first"
    finding = Finding("a", "a", "refused", said, "m", recognizer="r", headline=True)
    section = Section("s", "S", (said,), (finding,), notes=(said,), refusals=(Refusal("q", said, said),))
    document = Document("T", "", (said,), (section,))
    page = render_html(document)
    assert "`" not in page.split("</script></head>")[1]
    # Summary, lead, finding, note, and the refusal with its remedy, twice: in its chapter and at the end.
    assert page.count("<code>voxaudit run &lt;file&gt; --out a&amp;b</code>") == 4 + 2 * 2
    assert "try \\`voxaudit run &lt;file&gt; --out a&amp;b\\` first" in to_markdown(document)


def test_a_backtick_alone_and_what_people_said_stay_as_they_are():
    assert marked("a ` b") == "<bdi>a ` b</bdi>"
    assert marked("`a\nb`") == "<bdi>`a\nb`</bdi>"
    heard = Table("t", "T", tuple(Column(str(n), str(n)) for n in range(5)), (("`x`", "", "", "", ""),))
    assert "<bdi>`x`</bdi>" in table_html(heard, Ids())


@given(st.text(alphabet="`<>&\"' ab\n", max_size=40))
def test_code_is_escaped_whatever_is_in_it(text):
    inside = marked(text).removeprefix("<bdi>").removesuffix("</bdi>")
    assert not set("<>\"'") & set(inside.replace("<code>", "").replace("</code>", ""))
    assert inside.count("<code>") == inside.count("</code>")


def test_a_line_does_not_break_numbers():
    assert marked("12.3 % (10.1 to 14.9), p = 0.01 or p < 0.001") == (
        "<bdi>12.3\u00a0% (10.1\u00a0to\u00a014.9), p\u00a0=\u00a00.01 or p\u00a0<\u00a00.001</bdi>".replace(
            "<\u00a0", "&lt;\u00a0"
        )
    )


def test_every_refusal_says_what_would_enable_it(make_run, drops):
    """Runs that lack one thing each; the report of none leaves a reader without a way on."""
    two = {f"s{n}": {"accent": "ab"[n % 2]} for n in range(4)}
    one = {f"s{n}": {"accent": "a"} for n in range(12)}
    runs = (
        (make_run(drops, name="plain"), ()),
        (make_run(drops, name="whole"), ("accent",)),
        (make_run(drops, name="clean", scenarios=("clean",)), ("accent",)),
        (make_run(drops, name="silent", text=None), ("accent",)),
        (make_run(drops, name="few", people=two), ("accent",)),
        (make_run(drops, name="group", people=one), ("accent",)),
        (make_run(drops, name="nobody", speakers=False), ("accent",)),
        (make_run(drops, name="single", recognizers=("one",)), ("accent",)),
        (make_run(lambda *_: "turn the lamp off now", name="perfect"), ("accent",)),
    )
    refusals = [
        refusal
        for run, attributes in runs
        for section in build_report(run, attributes=attributes, audio_megabytes=0).sections
        for refusal in section.refusals
    ]
    assert len(refusals) > 20
    assert [refusal for refusal in refusals if not refusal.remedy] == []
    assert not [one for one in refusals if one.reason.endswith(";") or "help:" in one.reason]


def test_difficulties_that_are_not_known_can_be_measured():
    assert "`voxaudit quality RUN`" in remedy_for("robustness", "no difficulty is known")
    assert "reference texts" in remedy_for("disparity", "no clean speech with a reference text was heard")
    assert "`clean`" in remedy_for("robustness", "no row has the scenario 'clean'")
    assert remedy_for("nowhere", "odd") == "more speech, by more speakers"


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
    assert unit_of("lp:theta=700") == "Hz"
    assert unit_of("amp:theta=0.5") == ""


@pytest.mark.parametrize("name", PERTURBATIONS.names())
def test_every_perturbation_is_explained_without_loose_ends(name):
    kind = PERTURBATIONS.load(name)
    words = in_words(f"{name}:1" if kind.severities else f"{name}:theta=0.5")
    assert words.endswith(".")
    assert "`" not in words
    assert "SRB" not in words
    assert "theta" not in words


def test_the_worst_scenario_is_explained_where_it_is_named(make_run, drops):
    document = build_report(make_run(drops), attributes=["accent"])
    assert "in its worst scenario, gaussian_noise:2 (white Gaussian noise at 20 dB:" in document.summary[0]
    rows = {row[0]: row[1] for row in next(t for t in chapter(document, "reproduce").tables).rows}
    assert rows["telephone"].startswith("Only 300 to 3400 Hz")


def test_an_interval_beyond_the_axis_is_marked():
    def drawn(*cells):
        curves = Curves((("p", tuple("abc"[: len(cells)]), (Series("s", cells),)),), "word error rate")
        return curves_html(Figure("f", "F", "alt", curves, EMPTY), curves, Ids())

    inside = drawn(Cell(0.5, 0.4, 0.6), Cell(0.9, 0.8, 1.0))
    assert "beyond" not in inside
    wide = drawn(Cell(0.5, 0.4, 0.6), Cell(1.0, 0.1, 3.8))
    assert wide.count('class="beyond') == 1
    assert "goes on beyond the axis (150 %)" in wide
    assert "1: 100.0 % (10.0 to 380.0)" not in wide  # the tip names the place, not its number
    assert "s, b: 100.0 % (10.0 to 380.0)" in wide
    far = drawn(Cell(5.0, 4.0, 6.0), Cell(0.1, 0.0, 0.2))
    assert far.count('class="beyond') == 1
    assert "(300 %)" in far


def test_a_map_names_its_columns_and_units():
    cells = {name: ((Cell(0.123, 0.1, 0.2),),) for name in ("wer", "werd")}
    heat = HeatMap(("row",), ("",), ("1",), {"wer": "WER", "werd": "WERD"}, cells)
    drawn = heatmap_html(Figure("f", "F", "alt", heat, EMPTY), heat, Ids(), {"wer": 1.0, "werd": 1.0})
    rate, added = drawn.split('class="panel p1"')
    assert ">severity</tspan>" in rate
    assert "of the words are wrong" in rate
    assert ">100 %</tspan>" in rate
    assert "12.3 % (10.0 to 20.0)" in rate
    assert "percentage points" in added
    assert ">100</tspan>" in added
    assert "+12.3 (+10.0 to +20.0) points" in added


def test_intervals_have_the_unit_of_what_they_belong_to():
    columns = (
        Column("wer", "WER", "percent"),
        Column("a", "95 % interval", "interval"),
        Column("gap", "gap", "points"),
        Column("b", "95 % interval", "interval"),
        Column("p", "p", "p"),
        Column("c", "points lost", "points"),
    )
    assert headings(columns) == [
        "WER",
        "95 % interval, %",
        "gap, points",
        "95 % interval, points",
        "p",
        "points lost",
    ]
    assert in_points(0.125, 0.1, 0.151) == "12.5 percentage points (10.0 to 15.1)"
    assert in_points(0.1) == "10.0 percentage points"


def test_scenarios_with_one_setting_each_are_bars_not_an_empty_map(make_run, drops):
    run = make_run(drops, scenarios=("clean", "gaussian_noise:2", "telephone"))
    figures = chapter(build_report(run), "robustness").figures
    assert not any(isinstance(one.drawing, HeatMap) for one in figures)
    (bars,) = (one.drawing for one in figures if one.id == "every-scenario")
    assert isinstance(bars, Bars)
    assert bars.labels[0] == "clean"
    assert {one.label for one in bars.series} == {"one", "two"}
    assert all(cell is not None for one in bars.series for cell in one.points)


def test_parity_speaks_of_each_recognizer_before_their_mean(make_run, drops):
    section = chapter(build_report(make_run(drops), attributes=["accent"]), "parity")
    gaps = [one.recognizer for one in section.findings if one.measure == "gap"]
    assert gaps == ["one", "two", None]
    assert "percentage points" in section.findings[0].sentence
    assert [one.label for one in section.figures[0].drawing.series] == ["one", "two"]
    for table in (section.figures[0].table, *section.tables[1:]):
        names = list(dict.fromkeys(row[0] for row in table.rows))
        assert names == ["one", "two", MEAN]
    speakers = [one for one in section.findings if one.measure == "speakers"]
    assert all(re.match(r"(one|two): too few speakers", one.sentence) for one in speakers)


def test_the_checklist_has_no_gap_without_a_unit(make_run, drops):
    section = chapter(build_report(make_run(drops), attributes=["accent"]), "parity")
    (table,) = (one for one in section.tables if one.id == "checklist")
    said = " ".join(row[2] for row in table.rows)
    assert re.findall(r"gap of [\d.]+ percentage points", said)
    assert said.count("gap of ") == len(re.findall(r"gap of [\d.]+ percentage points", said))
    assert "text_words" not in said
    assert "(--" not in said


def test_long_texts_in_a_narrow_table_become_a_list_on_a_phone():
    columns = (Column("practice", "practice"), Column("status", "status"), Column("why", "why"))
    page = table_html(Table("t", "T", columns, (("a", "pass", "because " * 20),)), Ids())
    assert '<table class="stack" role="table">' in page
    assert ("because " * 20).strip() in page  # nothing is cut
    assert 'class="stack"' not in table_html(Table("t", "T", columns, (("a", "pass", "short"),)), Ids())


def test_the_page_opens_with_the_recognizers_and_sorts_its_sentences_by_question():
    page = render_html(sample_document())
    assert page.index('id="glance"') < page.index('id="summary"') < page.index('id="s-')
    assert "How to read this" in page
    answered = Finding("a", "accuracy", "measured", "It hears.", "wer", headline=True)
    open_ = Finding("b", "disparity", "refused", "Nobody knows.", "wer_ratio", headline=True)
    document = Document(
        "T", "", ("It hears.", "Nobody knows."), (Section("s", "S", findings=(answered, open_)),)
    )
    page = render_html(document)
    first, second = (
        page.index("<h3>How well it hears</h3>"),
        page.index("<h3>What these data cannot tell</h3>"),
    )
    assert first < page.index("It hears.") < second < page.index("Nobody knows.")


def test_the_terminal_says_what_would_enable_an_answer_and_leaves_out_what_nobody_asked(
    make_run, drops, capsys
):
    from voxaudit.cli.main import main

    assert main(["report", str(make_run(drops).folder), "--no-audio"]) == 0
    said = [line for line in capsys.readouterr().out.splitlines() if line.startswith("- Not answered: ")]
    assert any("no difficulty is known. To get it: measure it" in line for line in said)
    assert not any("adversarial" in line or "stuttered" in line for line in said)
