"""The HTML report as text: sound markup, no way in for what users wrote, every number in its place."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_report import EVIL, hostile_report, sample_report

from voxaudit.answer import (
    Answer,
    Bars,
    Cell,
    Column,
    Curves,
    Figure,
    Finding,
    Forest,
    ForestRow,
    HeatMap,
    Note,
    Points,
    Refusal,
    Series,
    Tables,
    tabulate,
)
from voxaudit.render.document import Case, Chapter, Question, Report
from voxaudit.render.escape import Ids, attribute, json_text, marked, shorten, text, visible
from voxaudit.render.figures.curves import curves_html
from voxaudit.render.figures.forest import draw_forest
from voxaudit.render.figures.heatmap import heatmap_html
from voxaudit.render.figures.svg import fit, log_ticks, nice_ticks, on_page, width_of
from voxaudit.render.html import answer_html, render_html
from voxaudit.render.html.page import SHORT_ROWS, case_list, diff_html, table_list
from voxaudit.render.html.tables import MOST_ROWS, OPEN_ROWS, folded_table, table_html
from voxaudit.render.numbers import MINUS, NONE, cell_text, headings, shown, with_interval

VOID = {"meta", "input", "br", "img", "hr", "link"}
BLOCKS = {"details", "div", "ul", "table", "dl", "section", "article"}
EMPTY = tabulate("empty", "Empty", [], [("a", "A")])


def rows_of(*columns, rows, id_="t"):
    """A table of tuples."""
    names = [column[0] for column in columns]
    return tabulate(id_, "T", [dict(zip(names, row, strict=True)) for row in rows], columns)


def page_of(*answers, **chapter):
    return render_html(Report("d", "", (), (Chapter("s", "S", answers, **chapter),)))


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
    return render_html(sample_report())


@pytest.fixture(scope="module")
def hostile() -> str:
    return render_html(hostile_report())


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
    tame = Page(render_html(hostile_report("tame " * 2200)))
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
    evil = EVIL.replace("\ud800", "")
    assert data["names"] == [evil, f"{evil}2", "low", "high", "verdict", "list"]
    assert data["columns"] == [[0, False], [1, True], [1, True], [4, False], [5, False]]
    assert data["rows"][0] == [evil, None, None, "inf", "shown", [evil]]
    assert data["rows"][1] == [evil, "-inf", 0.0, None, evil, []]
    assert data["rows"][2] == [None, "inf", None, "inf", None, None]
    assert data["rows"][3] == ["short", 1e300, None, None, "no_verdict", [evil, None]]
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
        (-0.0001, "points", "0.0"),
        (0.0001, "points", "0.0"),
        (-0.0001, "percent", "0.0 %"),
        (["a", "b"], "text", "a, b"),
        (math.inf, "ratio", "∞"),
        (True, "text", "yes"),
        ("n/a", "percent", "n/a"),
    ],
)
def test_values_as_people_read_them(value, kind, words):
    assert shown(value, kind) == words
    plain = words.replace(NONE, "-").replace(MINUS, "-").replace("∞", "inf")
    assert shown(value, kind, plain=True) == plain


@pytest.mark.parametrize(
    ("cell", "kind", "words"),
    [
        (Cell(0.123, 0.1, 0.2), "percent", "12.3 % (10.0 to 20.0)"),
        (Cell(0.123, 0.1, None), "percent", "12.3 % (10.0 to ?)"),
        (Cell(0.123), "percent", "12.3 %"),
        (Cell(0.1, 0.05, math.inf), "percent", "10.0 % (5.0 to ∞)"),
        (Cell(None, 0.1, 0.2), "percent", NONE),
        (Cell(math.nan, 0.1, 0.2), "ratio", NONE),
        (Cell(1.25, 0.97, 1.614), "ratio", "1.25 (0.97 to 1.61)"),
        (Cell(-0.02, -0.05, 0.01), "points", f"{MINUS}2.0 ({MINUS}5.0 to +1.0)"),
        (Cell(1200, 1000, 1400.0), "count", "1,200 (1,000 to 1,400)"),
    ],
)
def test_a_value_with_its_interval(cell, kind, words):
    assert with_interval(cell, kind) == words


def test_a_cell_of_a_table_has_its_limits_and_a_verdict_its_word():
    both = Column("wer", "WER", "percent", "low", "high")
    assert cell_text((0.1, 0.05, 0.2), both, plain=True) == "10.0 % (5.0 to 20.0)"
    assert cell_text((0.1, 0.2), Column("wer", "WER", "percent", high="high")) == "10.0 % (? to 20.0)"
    assert cell_text("not_shown", Column("verdict")) == "not shown"
    assert cell_text("not_shown", Column("word")) == "not_shown"


def test_points_have_their_unit_in_the_heading():
    columns = (
        Column("wer", "WER", "percent"),
        Column("gap", kind="points"),
        Column("c", "points lost", "points"),
        Column("p_adjusted", kind="p"),
    )
    assert headings(columns) == ["WER", "gap, points", "points lost", "p adjusted"]


def test_tables_have_captions_scopes_and_all_numbers():
    table = rows_of(("who", "Who"), ("wer", "WER", "percent"), rows=[("a", 0.123), ("b", None)])
    page = Page(table_html(table, Ids()))
    assert [attrs["scope"] for tag, attrs in page.tags if tag == "th"] == ["col", "col", "row", "row"]
    assert "T" in page.text
    assert "12.3 %" in page.text
    assert page.values("tabindex") == ["0"]


def test_large_tables_show_a_page_and_carry_the_rest():
    table = rows_of(("n", "N", "count"), rows=[(number,) for number in range(MOST_ROWS + 5)])
    page = Page(table_html(table, Ids()))
    assert sum(tag == "tr" for tag, _ in page.tags) == 301
    data = json.loads(page.blocks[0][2])
    assert len(data["rows"]) == len(data["shown"]) == MOST_ROWS == 1000
    assert data["shown"][999] == ["999"]
    assert "The first 1,000 of 1,005 rows; all are in findings.json." in page.text


def test_intervals_stand_in_one_cell_that_is_sorted_by_its_estimate():
    table = tabulate(
        "t",
        "T",
        [{"low": 0.1, "who": "a", "wer": 0.123, "high": 0.2, "hidden": 7}],
        [("who",), ("wer", "WER", "percent", "low", "high")],
    )
    page = Page(table_html(table, Ids()))
    assert "12.3 % (10.0 to 20.0)" in page.text
    assert sum(tag in ("td", "th") for tag, _ in page.tags) == 4
    data = json.loads(page.blocks[0][2])
    assert data["names"] == ["low", "who", "wer", "high", "hidden"]
    assert data["columns"] == [[1, False], [2, True]]
    assert data["rows"] == [[0.1, "a", 0.123, 0.2, 7]]


def test_words_of_a_diff_are_marked_by_more_than_color():
    page = Page(
        diff_html(
            (("=", "a", "a"), ("deletion", "b", ""), ("insertion", "", "c"), ("substitution", "d", "e"))
        )
    )
    assert [tag for tag, _ in page.tags if tag in ("del", "ins")] == ["del", "ins", "del", "ins"]
    assert "".join(page.text) == "a missed: b added: c said: d heard: e"


def figure(drawing, id_="f") -> Figure:
    return Figure(id_, "F", "What it shows.", drawing, "empty")


def drawn(*drawings) -> Answer:
    return Answer(
        "a",
        "A",
        tables=Tables([EMPTY]),
        figures=tuple(figure(one, f"f{n}") for n, one in enumerate(drawings)),
    )


def draw(drawing) -> Page:
    return Page(page_of(drawn(drawing)))


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
        Points(tuple(map(float, range(count))), tuple(n / 7 for n in range(count)), names, "x", "y"),
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


def test_heat_maps_of_a_chapter_share_their_ramp():
    def heat(value):
        return HeatMap(("a",), ("g",), ("1",), {"wer": "WER"}, {"wer": ((Cell(value),),)})

    page = Page(page_of(drawn(heat(0.1)), drawn(heat(0.9))))
    shades = [attrs["class"] for tag, attrs in page.tags if tag == "text" and "v " in attrs.get("class", "")]
    assert shades == ["v q1", "v q9"]


def test_what_a_checklist_says_has_a_shape():
    table = rows_of(("check", "Check"), ("status", "Status"), rows=[("a", "caution"), ("b", "<b>")])
    page = Page(table_html(table, Ids()))
    assert page.values("href") == ["#i-caution"]
    assert {"caution", "<b>"} <= set(page.text)


@pytest.mark.parametrize(("first", "shapes"), [("slice", ["#i-failed", "#i-not_shown"]), ("group", [])])
def test_a_verdict_has_a_shape_in_a_comparison_of_runs_only(first, shapes):
    table = rows_of((first,), ("verdict",), rows=[("a", "worse"), ("b", "tie")])
    assert Page(table_html(table, Ids())).values("href") == shapes


def test_verdicts_of_findings_have_their_shape_in_every_table():
    table = rows_of(("group",), ("verdict",), rows=[("a", "not_shown"), ("b", "alike"), ("c", "certain")])
    page = Page(table_html(table, Ids()))
    assert page.values("href") == ["#i-not_shown", "#i-alike"]
    assert {"not shown", "alike", "certain"} <= set(page.text)
    assert "not_shown" not in page.text


def test_forest_arrows_only_where_an_interval_leaves():
    def arrows(*rows):
        drawn = on_page(figure(None), draw_forest(Forest(rows, "x")), Ids())
        wide, narrow = (len(re.findall(r'class="arrow', part)) for part in drawn.split('class="on-narrow"'))
        assert wide == narrow
        return wide

    assert arrows(ForestRow("a", Cell(1.5, 1.1, 2.0), True)) == 0
    assert arrows(ForestRow("a", Cell(1.5, 0.0, 2.0), True)) == 1
    assert arrows(ForestRow("a", Cell(1.5, 0.0, math.inf), True)) == 2
    assert arrows(ForestRow("a", Cell(1e9, 1e8, 1e10), True)) == 1


def test_forest_says_shown_by_shape():
    rows = (ForestRow("a", Cell(2.0, 1.5, 3.0), True), ForestRow("b", Cell(1.0, 0.5, 2.0), False))
    drawn = on_page(figure(None), draw_forest(Forest(rows, "x")), Ids()).split("</ul>")[1]
    for part in drawn.split('class="on-narrow"'):
        assert len(re.findall(r'<path class="est shown"', part)) == 1
        assert len(re.findall(r'<circle class="est"', part)) == 1
        assert "a: 2.00 (1.50 to 3.00), a difference is shown" in part


def test_linear_forest_is_in_points():
    forest = Forest((ForestRow("a", Cell(0.02, -0.01, 0.05), False),), "x", 0.0, log=False)
    assert f"+2.0 ({MINUS}1.0 to +5.0)" in on_page(figure(None), draw_forest(forest), Ids())


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


def test_an_empty_report_is_a_page():
    page = Page(render_html(Report("Nothing", "", (), ())))
    assert "Nothing" in page.text


def test_a_full_suite_of_three_recognizers_stays_small():
    names = tuple(f"scenario_{n}" for n in range(114))
    cells = tuple(tuple(Cell(0.123456789, 0.1, 0.2) for _ in range(4)) for _ in names)
    measures = {"wer": "WER", "werd": "WERD", "nwerd": "NWERD"}
    table = rows_of(
        ("a", "A"),
        *((f"c{n}", "C", "percent") for n in range(12)),
        rows=[(name, *[0.123456789] * 12) for name in names],
    )
    heat = HeatMap(
        names,
        tuple(f"family {n // 10}" for n in range(114)),
        ("1", "2", "3", "4"),
        measures,
        dict.fromkeys(measures, cells),
    )
    answers = (
        Answer("a", "A", tables=Tables([table]), figures=(Figure(f"h{n}", "H", "alt", heat, "t"),))
        for n in range(3)
    )
    assert len(page_of(*answers)) < 3_000_000


def test_a_table_stands_once_whether_figures_show_it_or_not():
    first = rows_of(("a",), rows=[("x",)], id_="one")
    second = rows_of(("a",), rows=[("y",)], id_="two")
    bars = Bars(("a",), (Series("s", (Cell(0.1),)),), "y")
    figures = (Figure("f", "F", "alt", bars, "one"), Figure("g", "G", "alt", bars, "one"))
    answer = Answer("a", "A", tables=Tables([first, second]), figures=figures)
    page = page_of(answer, tables=(replace(second, id="three", folded=True),))
    assert page.count("data-table>") == 3
    assert page.count("Numbers of this figure") == 1
    assert '<a href="#f-f--n">' in page  # the second figure leads to the numbers under the first
    assert (
        page.index('id="f-f--n"')
        < page.index('id="t-one"')
        < page.index('id="f-g"')
        < page.index('id="t-two"')
    )
    assert page.count("(1 row)") == 2  # beside a figure, further tables fold away


def test_how_to_ask_again_is_said_once_and_out_of_the_way():
    asked = "voxaudit disparity RUN --attribute '<accent>'"
    findings = tuple(
        Finding(f"disparity/{n}", "wer_ratio", "shown", f"Gap {n}.", command=asked) for n in range(3)
    )
    page = page_of(Answer("disparity", "D", findings=findings))
    (fold,) = re.findall(r'<details class="fold numbers again">.*?</details>', page)
    assert fold.count("<li>") == 1
    assert "voxaudit disparity RUN --attribute &#x27;&lt;accent&gt;&#x27;" in fold
    assert Page(page).values("title").count(f"Ask again: {asked}") == 3
    assert "Ask again" not in page_of(Answer("a", "A", findings=(Finding("a/1", "m", "shown", "s"),)))


def test_what_stands_between_backticks_is_code_wherever_sentences_are():
    said = "try `voxaudit run <file> --out a&b` first"
    finding = Finding("a/b", "m", "refused", said, recognizer="r", headline=True)
    answer = Answer(
        "a",
        "A",
        findings=(finding,),
        notes=(Note("n", said),),
        refusals=(Refusal("c", "q", said, remedy=said),),
        lead=said,
    )
    page = render_html(Report("T", "", (Question("", (said,)),), (Chapter("s", "S", (answer,)),)))
    assert "`" not in page.split("</script></head>")[1]
    # Summary, lead, finding, note, and the refusal with its remedy.
    assert page.count("<code>voxaudit run &lt;file&gt; --out a&amp;b</code>") == 4 + 2


def test_a_backtick_alone_and_what_people_said_stay_as_they_are():
    assert marked("a ` b") == "<bdi>a ` b</bdi>"
    assert marked("`a\nb`") == "<bdi>`a\nb`</bdi>"
    heard = rows_of(*((str(n),) for n in range(5)), rows=[("`x`", "", "", "", "")])
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


def test_an_interval_beyond_the_axis_is_marked():
    def drawn(*cells):
        curves = Curves((("p", tuple("abc"[: len(cells)]), (Series("s", cells),)),), "word error rate")
        return curves_html(figure(curves), curves, Ids())

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
    drawn = heatmap_html(figure(heat), heat, Ids(), {"wer": 1.0, "werd": 1.0})
    rate, added = drawn.split('class="panel p1"')
    assert ">severity</tspan>" in rate
    assert "of the words are wrong" in rate
    assert ">100 %</tspan>" in rate
    assert "12.3 % (10.0 to 20.0)" in rate
    assert "percentage points" in added
    assert ">100</tspan>" in added
    assert "+12.3 (+10.0 to +20.0) points" in added


def test_points_have_the_shape_of_their_group_and_a_line_to_compare_with():
    points = Points(
        (0.0, 1.0, 2.0), (1.0, math.nan, 3.0), ("a", "a", "b"), "x", "y", ((0.0, 0.0), (2.0, 2.0))
    )
    wide = page_of(drawn(points)).split('class="on-wide"')[1].split('class="on-narrow"')[0]
    assert len(re.findall(r'<circle class="mark s0"', wide)) == 1  # what is no number is no point
    assert len(re.findall(r'<rect class="mark s1"', wide)) == 1
    assert "<title>b: 2, 3</title>" in wide
    assert wide.count('<line class="none"') == 1


def test_long_texts_in_a_narrow_table_become_a_list_on_a_phone():
    columns = (("practice",), ("status",), ("why",))
    page = table_html(rows_of(*columns, rows=[("a", "pass", "because " * 20)]), Ids())
    assert '<table class="stack" role="table">' in page
    assert ("because " * 20).strip() in page  # nothing is cut
    assert 'class="stack"' not in table_html(rows_of(*columns, rows=[("a", "pass", "short")]), Ids())


def test_the_page_opens_with_questions_that_link_to_their_chapters(sample):
    assert sample.index('id="summary"') < sample.index('id="gates"') < sample.index('id="s-')
    assert "How to read this" in sample
    answered = Finding("accuracy/a", "wer", "measured", "It hears.", headline=True)
    more = Finding("accuracy/b", "wer", "measured", "It hears more.", headline=True)
    questions = (
        Question("Where <br> does it break?", (answered, more), ("accuracy", "gone"), first=1),
        Question("What these data cannot tell", ("Nobody knows.",)),
    )
    chapters = (
        Chapter("accuracy", "Accuracy", (Answer("accuracy", "A", findings=(answered,)),)),
        Chapter("gone", "Gone", refusals=(Refusal("no_references", "gone", "no text was given"),)),
    )
    page = render_html(Report("T", "", questions, chapters))
    screen = page[page.index('id="summary"') : page.index("</section>")]
    assert "<h3><bdi>Where &lt;br&gt; does it break?</bdi></h3>" in screen
    assert re.findall(r'<a href="#([^"]+)">', screen) == ["s-accuracy"]
    order = ["It hears.", "<summary>1 more</summary>", "It hears more.", "Nobody knows."]
    assert [screen.index(words) for words in order] == sorted(screen.index(words) for words in order)
    # A chapter that answers nothing is a line among what could not be concluded.
    assert 'id="s-gone"' not in page
    assert "no text was given" in page[page.index('id="unanswered"') :]


def table(id_, title, height, **fields):
    return replace(rows_of(("a",), rows=[(n,) for n in range(height)], id_=id_), title=title, **fields)


def test_long_further_tables_of_an_answer_fold_behind_their_title():
    tables = [
        table("first", "The first", OPEN_ROWS + 1),
        table("long", "A <long> one", OPEN_ROWS + 1),
        table("short", "A short one", OPEN_ROWS),
    ]
    page = table_list(tables, (), Ids())
    assert page.count('<details class="fold numbers"><summary><bdi>') == 1
    assert "<summary><bdi>A &lt;long&gt; one</bdi> (21 rows)</summary>" in page
    assert page.index('id="t-first"') < page.index("<summary><bdi>A &lt;long&gt; one")
    assert 'class="vh"><bdi>A &lt;long&gt; one' in folded_table(tables[1], Ids())
    assert "(1 row)</summary>" in folded_table(table("one", "One", 1), Ids())


def test_a_chapter_has_one_short_table_in_sight_and_the_others_behind_one_fold():
    tables = [
        table("long", "A long one", SHORT_ROWS + 1),
        table("kept", "Folded by its audit", 1, folded=True),
        table("short", "A short one", SHORT_ROWS),
        table("other", "Another short one", 1),
    ]
    page = page_of(Answer("a", "A", tables=Tables(tables)))
    fold = page.index("<summary>3 more tables</summary>")
    assert page.index('id="t-short"') < fold
    assert all(fold < page.index(f'id="t-{id_}"') for id_ in ("long", "kept", "other"))


def test_a_chapter_has_one_figure_and_four_claims_in_sight():
    shown = tuple(Finding(f"a/{n}", "m", "shown", f"Claim {n}.") for n in range(6))
    bars = Bars(("x",), (Series("s", (Cell(0.5),)),), "y")
    figures = tuple(Figure(f"f{n}", f"Figure {n}", "alt", bars, "t") for n in range(3))
    page = page_of(Answer("a", "A", findings=shown, figures=figures, tables=Tables([table("t", "T", 1)])))
    claims, drawings = (
        page.index("<summary>2 further findings</summary>"),
        page.index("2 more figures</summary>"),
    )
    assert page.index("Claim 3.") < claims < page.index("Claim 4.")
    assert page.index("Figure 0") < drawings < page.index("Figure 1")


def test_a_column_in_points_says_so_in_its_heading():
    page = table_html(
        rows_of(("gap", "", "points"), ("b", "points lost", "points"), rows=[(0.1, 0.2)]), Ids()
    )
    assert ">gap, points</bdi></th>" in page
    assert ">points lost</bdi></th>" in page


def test_a_case_says_what_its_scenario_does():
    case = Case("u", "r", "rir:2", None, {}, "said", None, "heard", (), 0.5)
    assert "A <small> room." in Page(case_list((case,), {"rir:2": "A <small> room."})).text
    assert "<br>" not in case_list((case,), {})


@pytest.mark.slow
@pytest.mark.parametrize("make", [sample_report, hostile_report])
def test_an_answer_in_a_notebook_leaves_the_page_alone(make):
    for answer in (answer for chapter in make().chapters for answer in chapter.answers):
        fragment = answer_html(answer)
        page = Page(fragment)
        assert page.tags[0] == ("div", {"class": "voxaudit"})
        (style,) = [data for tag, _, data in page.blocks if tag == "style"]
        assert style.startswith(".voxaudit {")
        assert style.count("{") == style.count("}")
        depth = 0  # every rule is inside that of the answer
        for place, mark in enumerate(style):
            depth += (mark == "{") - (mark == "}")
            assert depth > 0 or place < style.index("{") or place == len(style) - 1
        assert not [tag for tag, _ in page.tags if tag == "script"]
        assert not [key for _, attrs in page.tags for key in attrs if key.startswith("on") or key == "style"]
        ids = [id_ for id_ in page.values("id") if not re.fullmatch(r"[ip]-\w+", id_)]
        assert len(ids) == len(set(ids))
        assert all(re.fullmatch(r"a[0-9a-f]{8}-[a-z0-9_-]+", id_) for id_ in ids)
        assert all(value.startswith("#") for value in page.values("href"))
        assert {value[1:] for value in page.values("href")} <= set(page.values("id"))


def test_an_answer_in_a_notebook_has_all_of_it():
    (answer,) = sample_report().chapters[1].answers
    words = " ".join(Page(answer._repr_html_()).text)
    assert words.count("Error rates of groups") == 1
    for said in (answer.lead, answer.findings[0].sentence, "Adjusted for 8 comparisons", "To get it:"):
        assert said in words.replace("\u00a0", " ")
    assert "1.62 (1.19 to 2.21)" in words
    large = rows_of(("n", "N", "count"), rows=[(n,) for n in range(400)])
    page = Page(answer_html(Answer("a", "A", tables=Tables([replace(large, folded=True)]))))
    assert sum(tag == "tr" for tag, _ in page.tags) == 301
    assert "The first 300 of 400 rows" in " ".join(page.text)
