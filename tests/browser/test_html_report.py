"""The HTML report in a real browser, opened from disk as its readers do."""

from __future__ import annotations

import csv
import io
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "render"))

from sample_report import hostile_report, sample_report

from voxaudit.answer import Curves, HeatMap, Tables, tabulate
from voxaudit.render.document import Chapter, Report
from voxaudit.render.html import answer_html, render_html

NOTEBOOK = '<p class="note card grid line" id="cell">of the notebook</p><h2 id="head">Heading</h2>'
"""What a notebook has beside answers: an answer must not change it."""
BOTH = pytest.mark.parametrize("scheme", ["light", "dark"])


def shorter(report):
    """The same page with fewer rows and panels: checks of every element take their time."""

    def cut(table):
        return replace(table, frame=table.frame.head(11))

    def figure(one):
        drawing = one.drawing
        if isinstance(drawing, Curves):
            drawing = replace(drawing, panels=drawing.panels[:4])
        if isinstance(drawing, HeatMap):
            drawing = replace(drawing, rows=drawing.rows[:5], measures={"wer": "WER", "werd": "Added WER"})
        return replace(one, drawing=drawing)

    def answer(one):
        return replace(
            one, figures=tuple(map(figure, one.figures)), tables=Tables(map(cut, one.tables.shown))
        )

    return replace(
        report,
        chapters=tuple(
            replace(one, answers=tuple(map(answer, one.answers)), tables=tuple(map(cut, one.tables)))
            for one in report.chapters
        ),
    )


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """Addresses of reports on disk, by name."""
    odd = tabulate(
        "odd/../values",
        "Odd values",
        [
            {"text": "=1+1", "rate": 0.123456789012, "low": 0.1, "high": 0.25, "more": [1, 2]},
            {"text": 'say "hi", you', "rate": -0.5, "low": None, "high": None, "more": None},
            {"text": "two\nlines", "rate": None, "low": float("nan"), "high": float("inf"), "more": []},
            {"text": "@cmd", "rate": 10.0, "low": 0.0, "high": 1.0, "more": [-3]},
        ],
        [("text", "Text"), ("rate", "Rate", "percent", "low", "high")],
    )
    checks = tabulate(
        "checks",
        "What these data allow",
        [
            {
                "practice": f"practice {number}",
                "status": "caution",
                "why": f"`voxaudit parity RUN` {'says why at some length, ' * 5}and so on",
            }
            for number in range(3)
        ],
        [("practice",), ("status",), ("why",)],
    )
    reports = {
        "sample": sample_report(),
        "short": shorter(sample_report()),
        "hostile": hostile_report(),
        "checks": Report("Checks", "", (), (Chapter("s", "S", tables=(checks,)),)),
        "odd": Report("Odd", "", (), (Chapter("s", "S", tables=(odd,)),)),
    }
    pages = {name: render_html(report) for name, report in reports.items()}
    answers = [answer for chapter in reports["sample"].chapters for answer in chapter.answers]
    notebook = "<hr>".join(map(answer_html, answers))
    pages["notebook"] = (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>N</title>{NOTEBOOK}{notebook}"
    )
    folder = tmp_path_factory.mktemp("reports")
    for name, page in pages.items():
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    return {name: (folder / f"{name}.html").as_uri() for name in pages}


@pytest.fixture
def report(browser_page, files):
    browser_page.page.goto(files["sample"])
    return browser_page


def lay_out(page):
    """Lay out what is far from the window as well."""
    page.evaluate(
        "document.querySelectorAll('figure, .case, .block, .small').forEach((one) => {"
        " one.style.contentVisibility = 'visible'; })"
    )


def open_folds(page):
    """Open what folds away, but for tables, of which every row costs time."""
    page.evaluate("document.querySelectorAll('details:not(.numbers)').forEach((one) => { one.open = true; })")
    lay_out(page)


def table(page, title):
    box = page.locator("[data-table]").filter(has=page.locator("caption", has_text=title))
    box.evaluate(
        "(one) => { for (let up = one; up; up = up.parentElement) if (up.tagName === 'DETAILS') up.open = true; }"
    )
    box.scroll_into_view_if_needed()
    box.get_by_role("button", name="Download CSV").wait_for()
    return box


def column(box, place):
    return box.locator("tbody tr").evaluate_all(
        "(rows, at) => rows.map((row) => row.cells[at].textContent)", place
    )


def download(page, box):
    with page.expect_download() as saved:
        box.get_by_role("button", name="Download CSV").click()
    content = saved.value.path().read_text(encoding="utf-8-sig")
    return saved.value.suggested_filename, list(csv.reader(io.StringIO(content, newline="")))


@pytest.mark.parametrize("name", ["sample", "hostile", "odd"])
def test_it_asks_for_nothing_and_complains_of_nothing(browser_page, files, name):
    page = browser_page.page
    page.goto(files[name])
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    page.evaluate("scrollTo({ top: document.body.scrollHeight, behavior: 'instant' })")
    page.wait_for_timeout(200)
    assert browser_page.requests == [files[name]]
    assert browser_page.errors == []


def test_hostile_text_runs_nothing_and_hides_nothing(browser_page, files):
    page = browser_page.page
    page.on("dialog", lambda dialog: pytest.fail(f"a dialog opened: {dialog.message}"))
    page.goto(files["hostile"])
    assert page.locator("img, iframe, object, embed, form, link, base").count() == 0
    assert page.locator("h1").is_visible()
    assert page.locator("h1").inner_text().startswith('"><script>alert(1)</script>')
    assert browser_page.overflow == 0


def test_a_page_is_short_with_its_folds_closed(report):
    lay_out(report.page)
    assert report.page.evaluate("document.documentElement.scrollHeight") <= 12_000


def test_all_figures_have_size(report):
    open_folds(report.page)
    sizes = report.page.locator("svg.drawing:visible").evaluate_all(
        "(all) => all.map((one) => { const box = one.getBoundingClientRect(); return [box.width, box.height]; })"
    )
    assert len(sizes) == 6 * 2 + 25 + 1 + 1 + 2 + 1
    assert all(width > 100 and height > 40 for width, height in sizes)


def cut_texts(drawings):
    """Return the texts that stand out of their drawings."""
    return drawings.evaluate_all(
        """(all) => all.flatMap((one) => {
          const box = one.getBoundingClientRect();
          return [...one.querySelectorAll("text")].filter((text) => {
            const inner = text.getBoundingClientRect();
            return inner.width && (inner.left < box.left - 1 || inner.right > box.right + 1
              || inner.top < box.top - 2 || inner.bottom > box.bottom + 2);
          }).map((text) => text.textContent);
        })"""
    )


def test_no_text_leaves_its_drawing(report):
    open_folds(report.page)
    assert cut_texts(report.page.locator("svg.drawing:visible")) == []


def test_figures_fit_a_phone_and_their_words_can_be_read(new_page, files):
    page = new_page(width=390).page
    page.goto(files["sample"])
    open_folds(page)
    drawn = page.locator(".on-narrow svg.drawing:visible")
    assert drawn.count() == 4  # a forest, two of bars, and points
    assert page.locator(".on-wide svg.drawing:visible").count() == 0
    for right, scale in drawn.evaluate_all(
        "(all) => all.map((one) => [one.getBoundingClientRect().right, one.getBoundingClientRect().width"
        " / one.viewBox.baseVal.width])"
    ):
        assert right <= 390
        assert 0.85 < scale < 1.6
    assert cut_texts(drawn) == []


def test_a_list_of_texts_is_a_list_on_a_phone(new_page, files):
    page = new_page(width=390).page
    page.goto(files["checks"])
    rows = page.locator("table.stack tbody tr")
    assert rows.count() == 3
    assert rows.first.evaluate("(one) => getComputedStyle(one).display") == "block"
    assert rows.first.bounding_box()["height"] < 190  # as columns it took twice that
    assert page.get_by_role("columnheader").locator("button").count() == 0  # nothing hidden takes the focus
    assert page.locator("table.stack code").first.inner_text() == "voxaudit parity RUN"


def test_measures_switch_in_all_heat_maps_at_once(report):
    page = report.page
    open_folds(page)
    first = page.locator(".heat").first
    assert first.locator(".p0").is_visible()
    first.get_by_role("radio", name="Added WER").check()
    for heat in page.locator(".heat").all():
        assert heat.locator(".p1").is_visible()
        assert not heat.locator(".p0").is_visible()


def test_measures_switch_without_scripts(new_page, files):
    page = new_page(javascript=False).page
    page.goto(files["sample"])
    heat = page.locator(".heat").first
    heat.get_by_role("radio", name="Added WER").check()
    assert heat.locator(".p1").is_visible()
    page.locator("summary", has_text="more table").first.click()
    page.get_by_text("All trials by scenario and speaker (900 rows)").click()
    assert page.get_by_text("The first 300 of 900 rows").is_visible()


def test_tables_sort_both_ways_with_missing_values_last(report):
    page = report.page
    page.get_by_text("Numbers of this figure").first.click()
    box = table(page, "Word error rate by scenario, moonshine")
    head = box.locator("thead th").nth(3)
    assert head.get_attribute("aria-sort") == "none"
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    up = column(box, 3)
    assert all(re.fullmatch(r"[\d.]+ % \([\d.]+ to [\d.]+\)", value) for value in up[:-1])
    numbers = [float(value.partition(" %")[0]) for value in up[:-1]]
    assert numbers == sorted(numbers)
    assert up[-1] == "\u2013"
    head.get_by_role("button").press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    down = column(box, 3)
    assert [float(value.partition(" %")[0]) for value in down[:-1]] == sorted(numbers, reverse=True)
    assert down[-1] == "\u2013"


def test_tables_filter(report):
    page = report.page
    page.get_by_text("Numbers of this figure").first.click()
    box = table(page, "Word error rate by scenario, moonshine")
    assert box.get_by_role("status").inner_text() == "100 rows"
    box.get_by_label("Filter").fill("CROSS")
    assert column(box, 0) == ["crosstalk"] * 4
    assert box.get_by_role("status").inner_text() == "4 of 100 rows"
    box.get_by_label("Filter").fill("")
    assert len(column(box, 0)) == 100


def test_large_tables_page_sort_and_filter_as_a_whole(report):
    box = table(report.page, "All trials by scenario and speaker")
    assert len(column(box, 0)) == 100
    box.get_by_role("button", name="Next rows").click()
    assert box.get_by_role("status").inner_text() == "101 to 200 of 900 rows"
    box.locator("thead th").nth(3).get_by_role("button").click()
    box.locator("thead th").nth(3).get_by_role("button").click()
    assert column(box, 3)[:70] == ["12"] * 69 + ["11"]  # 69 of 900 rows have the most errors, 12
    box.get_by_label("Filter").fill("speaker-07")
    assert set(column(box, 2)) == {"speaker-07"}
    assert box.get_by_role("status").inner_text() == "1 to 23 of 23 rows (900 in all)"
    assert box.get_by_role("button", name="Next rows").is_disabled()


def test_download_has_raw_numbers_of_all_rows(report):
    name, rows = download(report.page, table(report.page, "All trials by scenario and speaker"))
    assert name == "trials.csv"
    assert rows[0] == ["recognizer", "scenario", "speaker", "errors", "words", "wer"]
    assert len(rows) == 901
    assert [float(value) for value in rows[6][3:]] == [5, 45, 5 / 45]


def test_download_is_safe_to_open_in_a_spreadsheet(browser_page, files):
    page = browser_page.page
    page.goto(files["odd"])
    name, rows = download(page, table(page, "Odd values"))
    assert name == "odd-..-values.csv"
    assert rows == [
        ["text", "rate", "low", "high", "more"],
        ["'=1+1", "0.123456789012", "0.1", "0.25", "1 2"],
        ['say "hi", you', "-0.5", "", "", ""],
        ["two\nlines", "", "", "inf", ""],
        ["'@cmd", "10", "0", "1", "'-3"],
    ]
    assert browser_page.errors == []


def test_audio_plays_one_at_a_time(report):
    page = report.page
    players = page.locator("audio")
    assert players.count() == 6
    assert players.evaluate_all("(all) => all.every((one) => one.readyState === 0)")  # nothing decoded yet
    until = "(one) => new Promise((done) => {{ one.addEventListener('{}', () => done(one.currentTime)); one.play(); }})"
    players.nth(0).evaluate("(one) => { one.loop = true; }")
    assert players.nth(0).evaluate(until.format("timeupdate")) >= 0
    assert players.nth(3).evaluate(until.format("ended")) == pytest.approx(0.4, abs=0.05)
    assert players.nth(0).evaluate("(one) => one.paused")
    assert report.errors == []


def test_theme_follows_the_system_until_chosen(new_page, files):
    page = new_page(scheme="dark").page
    page.goto(files["sample"])
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    page.get_by_role("button", name="Theme: system").click()
    light = page.evaluate(ground)
    assert light != dark
    page.reload()
    assert page.evaluate(ground) == light
    page.get_by_role("button", name="Theme: light").click()
    assert page.evaluate(ground) == dark


@pytest.mark.parametrize("name", ["sample", "hostile"])
@pytest.mark.parametrize("width", [360, 768, 1280])
def test_no_width_scrolls_the_page_sideways(new_page, files, width, name):
    watched = new_page(width=width, height=740)
    watched.page.goto(files[name])
    watched.page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert watched.overflow == 0


def test_contents_fold_on_a_phone_and_stay_on_a_desktop(new_page, files):
    phone = new_page(width=360).page
    phone.goto(files["sample"])
    link = phone.get_by_role("navigation").get_by_role("link", name="Worst cases")
    assert not link.is_visible()
    phone.get_by_text("Contents", exact=True).click()
    link.click()
    assert phone.url.endswith("#s-cases")
    desktop = new_page().page
    desktop.goto(files["sample"])
    desktop.get_by_role("navigation").get_by_role("link", name="Worst cases").click()
    desktop.locator("nav a[aria-current]", has_text="Worst cases").wait_for()


def test_keyboard_reaches_the_report_at_once(report):
    page = report.page
    page.keyboard.press("Tab")
    link = page.get_by_role("link", name="Skip to the report")
    assert link.evaluate("(one) => one === document.activeElement && one.getBoundingClientRect().top >= 0")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


@BOTH
@pytest.mark.parametrize("width", [390, 1280])
def test_no_serious_barrier(new_page, files, scheme, width):
    watched = new_page(width=width, scheme=scheme)
    watched.page.goto(files["short"])
    # One fold of each kind: their tables are alike, and every row costs time.
    for kind in ("figure:has(.wide) .numbers", "section > .fold", "#appendix .fold"):
        watched.page.locator(f"{kind} > summary").first.click()
    table(watched.page, "Error-rate ratios")
    assert watched.serious() == []


def test_paper_has_all_figures_and_is_light_and_long_numbers_only_where_opened(new_page, files):
    watched = new_page(scheme="dark")
    page = watched.page
    page.goto(files["sample"])
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.querySelector('h1')).color") == "rgb(24, 27, 34)"
    assert not page.get_by_role("navigation").is_visible()
    assert page.locator("main figure").count() > 3
    assert all(one.is_visible() for one in page.locator("main figure").all())
    assert not page.locator(".numbers table").first.is_visible()
    page.locator(".numbers:has(table)").first.evaluate("details => { details.open = true; }")
    assert page.locator(".numbers table").first.is_visible()
    page.emulate_media(media="screen")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open], .numbers)").count() == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator(".numbers[open]").count() == 1
    assert len(page.pdf()) > 50_000


def test_an_answer_in_a_notebook_is_drawn_and_changes_nothing_else(browser_page, files):
    page = browser_page.page
    page.goto(files["notebook"])
    assert browser_page.requests == [files["notebook"]]
    assert browser_page.errors == []
    drawn = page.locator(".voxaudit svg.drawing:visible")
    assert drawn.count() == 6 * 2 + 25 + 1 + 1 + 2 + 1
    assert cut_texts(drawn) == []
    paint = "(one) => getComputedStyle(one).fill"
    assert page.locator(".voxaudit .bar.s0").first.evaluate(paint) == "rgb(11, 98, 168)"
    assert (
        page.locator(".voxaudit .badge.v-shown").first.evaluate("(one) => getComputedStyle(one).color")
        == "rgb(143, 29, 92)"
    )
    heat = page.locator(".heat").first
    heat.get_by_role("radio", name="Added WER").check()  # without a script
    assert heat.locator(".p1").is_visible()
    assert not heat.locator(".p0").is_visible()
    page.get_by_text("Numbers of this figure").first.click()
    assert page.locator(".voxaudit table").first.is_visible()
    # The same notebook without answers looks the same.
    style = "(one) => [...getComputedStyle(one)].map((name) => getComputedStyle(one)[name]).join()"
    with_answers = [page.locator(f"#{id_}").evaluate(style) for id_ in ("cell", "head")]
    page.evaluate("document.querySelectorAll('.voxaudit, hr').forEach((one) => one.remove())")
    assert [page.locator(f"#{id_}").evaluate(style) for id_ in ("cell", "head")] == with_answers


def test_links_of_the_contents_land_where_they_point(new_page, files):
    page = new_page().page
    page.emulate_media(reduced_motion="no-preference")
    page.goto(files["sample"])
    for link in page.locator(".toc a").all():
        link.click()
        page.wait_for_timeout(100)
        top, last = page.evaluate(
            "[document.querySelector(location.hash).getBoundingClientRect().top,"
            " scrollY + innerHeight >= document.documentElement.scrollHeight - 2]"
        )
        assert 0 <= top < 40 or last
