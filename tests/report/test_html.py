"""The HTML report as text: sound markup, no way in for what users wrote, every number in its place."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_document import EVIL, hostile_document, sample_document

from voxaudit.report.document import (
    Bars,
    Cell,
    Column,
    Curves,
    Document,
    Figure,
    Finding,
    Forest,
    ForestRow,
    HeatMap,
    Section,
    Series,
    Table,
)
from voxaudit.report.html import render_html
from voxaudit.report.html.cases import diff_html
from voxaudit.report.html.escape import Ids, attribute, json_text, shorten, text, visible
from voxaudit.report.html.figures.forest import forest_html
from voxaudit.report.html.figures.svg import fit, log_ticks, nice_ticks, width_of
from voxaudit.report.html.tables import table_html
from voxaudit.report.html.values import MINUS, NONE, shown

VOID = {"meta", "input", "br", "img", "hr", "link"}
BLOCKS = {"details", "div", "ul", "table", "dl", "section", "article"}
EMPTY = Table("empty", "Empty", (Column("a", "A"),), ())


class Page(HTMLParser):
    """Reads a page strictly: every element closed in order, every attribute noted."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.blocks: list[tuple[str, dict[str, str | None], str]] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert len({name for name, _ in attrs}) == len(attrs), f"an attribute twice in {tag}"
        self.tags.append((tag, dict(attrs)))
        if tag in BLOCKS:  # a browser would close these before it opens the block
            assert not {"p", "span", "h1", "h2", "h3", "h4", "caption", "figcaption"} & set(self.open[-3:]), (
                self.open
            )
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("script", "style"):
            self.blocks.append((*self.tags[-1], data))
        else:
            self.text.append(data)

    def values(self, name: str) -> list[str | None]:
        return [attrs[name] for _, attrs in self.tags if name in attrs]


@pytest.fixture(scope="module")
def sample() -> str:
    return render_html(sample_document())


@pytest.fixture(scope="module")
def hostile() -> str:
    return render_html(hostile_document())


@pytest.mark.parametrize("name", ["sample", "hostile"])
def test_markup_is_sound_and_self_contained(name, request):
    page = Page(request.getfixturevalue(name))
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    assert all(re.fullmatch(r"[a-z][a-z0-9_-]*", id_) for id_ in ids)
    assert not [key for _, attrs in page.tags for key in attrs if key.startswith("on") or key == "style"]
    for name in ("href", "src", "action", "data", "srcset", "poster", "xlink:href", "background"):
        for value in page.values(name):
            assert value.startswith(("#", "data:audio/")), (name, value[:60])
    pointed = [value[1:] for value in page.values("href") if value.startswith("#")]
    pointed += [id_ for value in page.values("aria-labelledby") for id_ in value.split()]
    assert set(pointed) <= set(ids)
    headings = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h[1-6]", tag)]
    assert headings[0] == 1
    assert headings.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(headings))


@pytest.mark.parametrize("name", ["sample", "hostile"])
def test_only_our_style_and_script_may_run(name, request):
    page = Page(request.getfixturevalue(name))
    policy = next(attrs["content"] for tag, attrs in page.tags if "http-equiv" in attrs and tag == "meta")
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none'; ")
    running = [(tag, data) for tag, attrs, data in page.blocks if attrs.get("type") != "application/json"]
    assert [tag for tag, _ in running] == ["style", "script"]
    for tag, data in running:
        hashed = base64.b64encode(hashlib.sha256(data.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{hashed}'" in policy
    assert "http://" not in "".join(data for _, data in running)
    assert "https://" not in "".join(data for _, data in running)


def test_hostile_text_brings_no_element_of_its_own(hostile):
    tame = Page(render_html(hostile_document("tame " * 2200)))
    page = Page(hostile)
    assert {tag for tag, _ in page.tags} == {tag for tag, _ in tame.tags}
    assert sum(tag == "script" for tag, _ in page.tags) == sum(tag == "script" for tag, _ in tame.tags)
    assert not any(tag == "img" for tag, _ in page.tags)
    shown_text = "".join(page.text)
    assert "<script>alert(1)</script>" in shown_text
    assert "[U+202E]" in shown_text
    assert not set(shown_text) & set("\x00\x07\x1b\u202e\u202c\u2066\u2069\u2028\ud800")
    hostile.encode("utf-8")


def test_json_blocks_hold_the_raw_values(hostile):
    blocks = [data for _, attrs, data in Page(hostile).blocks if attrs.get("type") == "application/json"]
    data = json.loads(blocks[0])
    assert data["rows"][0] == [EVIL, None, [None, "inf"]]
    assert data["rows"][2] == [None, "inf", None]
    assert data["rows"][3] == ["short", None, None]
    assert not any(mark in block for block in blocks for mark in "<>&\u2028\u2029")


@given(
    st.text(
        alphabet=st.one_of(st.characters(), st.sampled_from("<>&\"'`=/-\u202e\u2069\x00\ud800")), max_size=60
    )
)
@settings(max_examples=200, deadline=None)
def test_no_text_escapes(words):
    page = Page(f'<p title="{attribute(words)}">{text(words)}{text(words, 10)}</p>')
    assert page.values("title")[0] == visible(words)
    assert {tag for tag, _ in page.tags} <= {"p", "bdi"}
    assert json.loads(json_text([words])) == [words]
    assert "".join(Page(f"<p>{text(words)}</p>").text) == visible(words)


def test_visible_controls_and_shortening():
    assert visible("a\x00\x7f\x85\u202eb\r\nc\tד") == "a\u2400\u2421\ufffd[U+202E]b\nc\tד"
    assert shorten("x" * 99, 99) == "x" * 99
    assert shorten("a" * 100 + "z" * 100, 20) == "a" * 14 + "…" + "z" * 5
    assert text("é & <b>") == "<bdi>é &amp; &lt;b&gt;</bdi>"
    assert 'title="' + "w" * 500 in text("w" * 500, 50)


def test_ids_are_unique_and_stable():
    ids = Ids()
    given_ = [ids.new("t", name) for name in ("A b", "a-b", "", "<>", "Ω", "a-b")]
    assert given_ == ["t-a-b", "t-a-b-2", "t-x", "t-x-2", "t-x-3", "t-a-b-3"]


@pytest.mark.parametrize(
    ("value", "kind", "words"),
    [
        (None, "percent", NONE),
        (math.nan, "number", NONE),
        (0.1234, "percent", "12.3 %"),
        (-0.05, "points", f"{MINUS}5.0"),
        (0.05, "points", "+5.0"),
        (1234567, "count", "1,234,567"),
        (1.005, "ratio", "1.00"),
        (4321.4, "ratio", "4321.40"),
        (1e12, "ratio", "1.0e+12"),
        (0.00001, "p", "<0.0001"),
        (0.0432, "p", "0.043"),
        ((0.1, 0.2), "interval", "10.0 to 20.0"),
        ((0.1, math.inf), "interval", "10.0 to ∞"),
        ((None, None), "interval", NONE),
        (math.inf, "ratio", "∞"),
        (True, "text", "yes"),
        ("n/a", "percent", "n/a"),
    ],
)
def test_values_as_people_read_them(value, kind, words):
    assert shown(value, kind) == words


def test_tables_have_captions_scopes_and_all_numbers():
    table = Table(
        "t", "Rates", (Column("who", "Who"), Column("wer", "WER", "percent")), (("a", 0.123), ("b", None))
    )
    page = Page(table_html(table, Ids()))
    assert [attrs["scope"] for tag, attrs in page.tags if tag == "th"] == ["col", "col", "row", "row"]
    assert "Rates" in page.text
    assert "12.3 %" in page.text
    assert page.values("tabindex") == ["0"]


def test_large_tables_show_a_page_and_carry_the_rest():
    table = Table("t", "T", (Column("n", "N", "count"),), tuple((number,) for number in range(1000)))
    page = Page(table_html(table, Ids()))
    assert sum(tag == "tr" for tag, _ in page.tags) == 301
    data = json.loads(page.blocks[0][2])
    assert len(data["rows"]) == len(data["shown"]) == 1000
    assert data["shown"][999] == ["999"]


def test_words_of_a_diff_are_marked_by_more_than_colour():
    page = Page(
        diff_html(
            (("=", "a", "a"), ("deletion", "b", ""), ("insertion", "", "c"), ("substitution", "d", "e"))
        )
    )
    assert [tag for tag, _ in page.tags if tag in ("del", "ins")] == ["del", "ins", "del", "ins"]
    assert "".join(page.text) == "a missed: b added: c said: d heard: e"


def figure(drawing) -> Figure:
    return Figure("f", "F", "What it shows.", drawing, EMPTY)


def draw(drawing) -> Page:
    section = Section("s", "S", figures=(figure(drawing),))
    return Page(render_html(Document("d", "", (), (section,))))


def coordinates(page: Page) -> list[float]:
    names = ("x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "width", "height")
    inside = [attrs for tag, attrs in page.tags if tag in ("rect", "line", "circle", "text", "tspan")]
    return [float(attrs[name]) for attrs in inside for name in names if name in attrs]


@pytest.mark.parametrize("count", [0, 1, 30, 114])
def test_figures_of_any_size_are_drawn(count):
    cells = tuple(Cell(n / 10, n / 20, n / 5) if n % 3 else None for n in range(count))
    names = tuple(f"name {n}" for n in range(count))
    drawings = (
        HeatMap(names, names, ("1",), {"wer": "WER"}, {"wer": tuple((cell,) for cell in cells)}),
        HeatMap(("a",), ("g",), names, {"wer": "WER"}, {"wer": (cells,)}),
        Curves(tuple((name, names, (Series("s", cells),)) for name in names[:5]), "WER"),
        Forest(
            tuple(ForestRow(name, cell or Cell(None), True) for name, cell in zip(names, cells, strict=True)),
            "x",
        ),
        Bars(names, tuple(Series(f"s{n}", cells) for n in range(min(count, 9))), "y"),
    )
    for drawing in drawings:
        page = draw(drawing)
        pictures = [attrs for tag, attrs in page.tags if tag == "svg" and attrs.get("role") == "img"]
        assert bool(pictures) == (count > 0)
        assert all(math.isfinite(place) and abs(place) < 1e5 for place in coordinates(page))


def test_heat_map_cells_carry_numbers_and_shades():
    heat = HeatMap(
        ("a",),
        ("g",),
        ("1", "2", "3", "4"),
        {"wer": "WER"},
        {"wer": ((Cell(0.0), Cell(1.0), Cell(-0.1), None),)},
    )
    page = draw(heat)
    shades = [attrs["class"] for tag, attrs in page.tags if tag == "text" and "v " in attrs.get("class", "")]
    assert shades == ["v q0", "v q10", "v qn", "v q-none"]
    assert {"0.0", "100", f"{MINUS}10", "a, 1: 0.0 %", "a, 4: not heard"} <= set(page.text)


def test_heat_maps_of_a_section_share_their_ramp():
    def heat(value):
        return figure(HeatMap(("a",), ("g",), ("1",), {"wer": "WER"}, {"wer": ((Cell(value),),)}))

    page = Page(render_html(Document("d", "", (), (Section("s", "S", figures=(heat(0.1), heat(0.9))),))))
    shades = [attrs["class"] for tag, attrs in page.tags if tag == "text" and "v " in attrs.get("class", "")]
    assert shades == ["v q1", "v q9"]


def test_what_a_checklist_says_has_a_shape():
    table = Table(
        "t", "T", (Column("check", "Check"), Column("status", "Status")), (("a", "caution"), ("b", "<b>"))
    )
    page = Page(table_html(table, Ids()))
    assert page.values("href") == ["#i-undecided"]
    assert {"caution", "<b>"} <= set(page.text)


@pytest.mark.parametrize(("first", "shapes"), [("slice", ["#i-failed", "#i-not_shown"]), ("group", [])])
def test_a_verdict_has_a_shape_in_a_comparison_of_runs_only(first, shapes):
    columns = (Column(first, first), Column("verdict", "verdict"))
    page = Page(table_html(Table("t", "T", columns, (("a", "worse"), ("b", "tie"))), Ids()))
    assert page.values("href") == shapes


def test_forest_arrows_only_where_an_interval_leaves():
    def arrows(*rows):
        drawn = forest_html(figure(None), Forest(rows, "x"), Ids())
        wide, narrow = (len(re.findall(r'class="arrow', part)) for part in drawn.split('class="on-narrow"'))
        assert wide == narrow
        return wide

    assert arrows(ForestRow("a", Cell(1.5, 1.1, 2.0), True)) == 0
    assert arrows(ForestRow("a", Cell(1.5, 0.0, 2.0), True)) == 1
    assert arrows(ForestRow("a", Cell(1.5, 0.0, math.inf), True)) == 2
    assert arrows(ForestRow("a", Cell(1e9, 1e8, 1e10), True)) == 1


def test_forest_says_shown_by_shape():
    rows = (ForestRow("a", Cell(2.0, 1.5, 3.0), True), ForestRow("b", Cell(1.0, 0.5, 2.0), False))
    drawn = forest_html(figure(None), Forest(rows, "x"), Ids()).split("</ul>")[1]
    for part in drawn.split('class="on-narrow"'):
        assert len(re.findall(r'<path class="est shown"', part)) == 1
        assert len(re.findall(r'<circle class="est"', part)) == 1
        assert "a: 2.00 (1.50 to 3.00), a difference is shown" in part


def test_linear_forest_is_in_points():
    forest = Forest((ForestRow("a", Cell(0.02, -0.01, 0.05), False),), "x", 0.0, log=False)
    assert f"+2.0 ({MINUS}1.0 to +5.0)" in forest_html(figure(None), forest, Ids())


@given(st.text(min_size=1, max_size=300), st.integers(1, 3), st.floats(40, 300))
@settings(deadline=None)
def test_labels_fit(words, lines, width):
    found = fit(words, width, lines)
    assert len(found) <= lines
    assert all(width_of(line) <= width + 0.1 for line in found)


def test_labels_break_where_names_break():
    assert fit("environment noise", 80, 2) == ["environment", "noise"]
    assert fit("gaussian_noise:snr=10", 110, 2) == ["gaussian_noise:", "snr=10"]
    assert fit("w" * 10_000, 100, 1)[0].endswith("…")


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_axes_cover_the_data(low, span):
    ticks = nice_ticks(low, low + span)
    assert ticks[0] <= low + 1e-6 * span
    assert ticks[-1] >= low + span - 1e-6 * span - 1e-9 * abs(low)
    assert 2 <= len(ticks) <= 12


def test_log_axes_have_round_numbers():
    assert log_ticks(0.4, 12) == [0.5, 1.0, 2.0, 5.0, 10.0]
    assert log_ticks(0.001, 1000) == pytest.approx([0.001, 0.01, 0.1, 1, 10, 100, 1000])


def test_cards_name_the_worst_scenario_and_the_loudest_gap():
    def finding(**fields):
        base = {
            "id": "x",
            "audit": "a",
            "verdict": "measured",
            "sentence": "s",
            "measure": "wer",
            "recognizer": "r",
        }
        return Finding(**(base | fields))

    findings = (
        finding(estimate=0.1, low=0.08, high=0.12, scenario="clean"),
        finding(estimate=0.4, scenario="rir:1"),
        finding(estimate=0.7, low=0.0, high=0.9, scenario="rir:4"),
        finding(estimate=0.8, scenario="overall"),  # a mean over other utterances
        finding(
            estimate=0.99,
            scenario="clean",
            attribute="accent",
            group="x",
            sentence="no gap",
            verdict="not_shown",
        ),
        finding(
            estimate=1.2,
            unit="ratio",
            measure="ratio",
            attribute="accent",
            sentence="small gap",
            verdict="shown",
        ),
        finding(
            estimate=0.3,
            unit="ratio",
            measure="ratio",
            attribute="accent",
            sentence="big gap",
            verdict="shown",
        ),
        finding(estimate=9, measure="words", attribute="accent", sentence="lost words", verdict="shown"),
    )
    page = render_html(Document("d", "", (), (Section("s", "S", findings=findings),)))
    card = page.split('<article class="card">')[1].split("</article>")[0]
    words = " ".join(Page(f"<div>{card}</div>").text)
    assert re.search(r"10\.0 %.*\(8\.0 to 12\.0\).*rir:4.*70\.0 %.*shown.*big gap", words)
    assert re.search(r'class="m-interval" x1="0" x2="270"', card)  # a limit of 0 is a limit
    assert "small gap" not in words
    assert "lost words" not in words


def test_an_empty_document_is_a_page():
    page = Page(render_html(Document("Nothing", "", (), ())))
    assert "Nothing" in page.text


def test_a_full_suite_of_three_recognizers_stays_small():
    names = tuple(f"scenario_{n}" for n in range(114))
    cells = tuple(tuple(Cell(0.123456789, 0.1, 0.2) for _ in range(4)) for _ in names)
    measures = {"wer": "WER", "werd": "WERD", "nwerd": "NWERD"}
    table = Table(
        "t",
        "T",
        (Column("a", "A"), *(Column(f"c{n}", "C", "percent") for n in range(12))),
        tuple((name, *[0.123456789] * 12) for name in names),
    )
    heat = HeatMap(
        names,
        tuple(f"family {n // 10}" for n in range(114)),
        ("1", "2", "3", "4"),
        measures,
        dict.fromkeys(measures, cells),
    )
    figures = tuple(Figure(f"h{n}", "H", "alt", heat, table) for n in range(3))
    page = render_html(Document("d", "", (), (Section("s", "S", figures=figures),)))
    assert len(page) < 3_000_000
