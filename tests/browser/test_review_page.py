"""The review page in a real browser: two reviewers label, audio plays, nothing hostile runs, no barrier."""

import re
import runpy
from pathlib import Path

import pytest

from voxaudit.review.app import review_app
from voxaudit.review.store import Given, LabelStore
from voxaudit.review.web import running

MADE = runpy.run_path(str(Path(__file__).parents[1] / "review" / "made_run.py"))


@pytest.fixture
def folder(tmp_path):
    home = MADE["write_run"](tmp_path / "run")
    MADE["write_stutter"](home / "stutter")
    return home


def open_page(watched, server, view=""):
    page = watched.page
    page.goto(server.link)
    if view:
        page.click(f"[data-view={view}]")
    page.wait_for_selector("#case .player .note:not(:empty)" if view != "agreement" else ".card")
    return page


def name(page, reviewer):
    page.fill("#reviewer", reviewer)
    page.press("#reviewer", "Enter")
    page.wait_for_selector("button.label:not([disabled])")
    page.evaluate("document.activeElement.blur()")


def saved(page, text):
    page.wait_for_function("text => document.getElementById('saved')?.textContent === text", arg=text)


def test_two_reviewers_label_a_case(folder, new_page):
    with running(review_app(folder)) as server:
        anna = new_page()
        page = open_page(anna, server)
        assert "token" not in page.url
        assert page.locator("button.label").first.is_disabled()  # no name, no label
        name(page, "anna")
        case = page.evaluate("new URLSearchParams(location.hash.slice(1)).get('id')")
        page.keyboard.press("1")
        saved(page, "Saved: real fault")
        page.fill("#comment", "the last word is gone")
        page.press("#comment", "Tab")
        page.wait_for_function("() => document.querySelectorAll('.dot.real_fault').length === 1")

        ben = new_page()
        other = open_page(ben, server)
        name(other, "ben")
        assert other.locator("#others").inner_text() == ""  # unseen before the own label
        other.click("button.label.fine")
        saved(other, "Saved: fine")
        assert "anna" in other.locator("#others").inner_text()
        assert "tied" in other.locator("#others").inner_text()
        other.check("#final")
        other.wait_for_function(
            "() => document.getElementById('others').textContent.includes('Decision: fine (final)')"
        )

        labels = {(one.reviewer, one.label, one.final) for one in LabelStore(folder).current("stutter")}
        assert labels == {("anna", "real_fault", False), ("ben", "fine", True)}
        kept = next(one for one in LabelStore(folder).current() if one.reviewer == "anna")
        assert (kept.case, kept.kind, kept.comment) == (case, "word_repetition", "the last word is gone")
        assert anna.errors == ben.errors == []
        assert anna.foreign == []


def test_keys_listen_label_and_move(folder, new_page):
    with running(review_app(folder, reviewer="anna")) as server:
        watched = new_page()
        page = open_page(watched, server)
        first = page.locator("#cases [aria-current]").inner_text()
        page.keyboard.press(" ")
        page.wait_for_function("() => parseFloat(document.querySelectorAll('.time')[1].textContent) > 0.2")
        page.keyboard.press("x")
        page.wait_for_function("() => parseFloat(document.querySelectorAll('.time')[0].textContent) > 0.2")
        page.keyboard.press("j")
        page.wait_for_function("() => document.querySelectorAll('#cases button')[1].ariaCurrent === 'true'")
        assert page.locator("#cases [aria-current]").inner_text() != first
        page.keyboard.press("k")
        page.wait_for_function("() => document.querySelectorAll('#cases button')[0].ariaCurrent === 'true'")
        # Until the case has come, the field is that of the one before; it is drawn anew with the case.
        page.wait_for_function("() => !document.getElementById('case').hasAttribute('aria-busy')")
        page.focus("#comment")
        page.keyboard.type("123 jk x n?")  # in a field, keys are letters
        assert page.locator("#saved").inner_text() == ""
        assert not page.locator("#help").is_visible()
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("2")
        saved(page, "Saved: malformed")
        page.keyboard.press("0")
        saved(page, "Label taken back")
        page.keyboard.press("?")
        assert page.locator("#help").is_visible()
        page.keyboard.press("Escape")
        page.keyboard.press("3")
        saved(page, "Saved: fine")
        page.keyboard.press("n")
        page.wait_for_function("() => document.querySelectorAll('#cases button')[1].ariaCurrent === 'true'")
        assert LabelStore(folder).current()[0].comment == "123 jk x n?"
        assert watched.errors == []


def test_click_on_the_picture_seeks(folder, new_page):
    with running(review_app(folder)) as server:
        page = open_page(new_page(), server)
        box = page.locator(".pictures").nth(0).bounding_box()
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 20)
        page.wait_for_function("() => document.querySelector('.time').textContent === '0.5 s'")
        assert page.locator(".spectrogram").nth(0).evaluate("image => image.naturalWidth") > 10


def test_filters_and_a_reload_keep_their_place(folder, new_page):
    with running(review_app(folder)) as server:
        watched = new_page()
        page = open_page(watched, server, "trials")
        page.select_option("#filter-scenario", "clipping:theta=0.05")
        page.wait_for_function("() => document.getElementById('total').textContent === '12 cases'")
        page.fill("#filter-text", "sister")
        page.wait_for_function("() => document.getElementById('total').textContent === '4 cases'")
        page.locator("#cases button").nth(2).click()
        page.wait_for_function("() => document.querySelectorAll('#cases button')[2].ariaCurrent === 'true'")
        page.reload()
        page.wait_for_function("() => document.querySelectorAll('#cases button')[2]?.ariaCurrent === 'true'")
        assert page.locator("#total").inner_text() == "4 cases"
        assert page.locator("#filter-scenario").input_value() == "clipping:theta=0.05"
        assert watched.errors == []


def test_a_hostile_run_runs_nothing(tmp_path, new_page):
    home = MADE["write_run"](tmp_path / "run<img src=x onerror=alert(9)>", hostile=True)
    MADE["write_stutter"](home / "stutter", hostile=True)
    for one in review_ids(home):
        LabelStore(home).add(
            Given("<b onmouseover=alert(1)>", "stutter", one, "fine", comment=MADE["HOSTILE"][1])
        )
    with running(review_app(home, reviewer="anna")) as server:
        watched = new_page()
        dialogs = []
        watched.page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
        page = open_page(watched, server)
        for view in ("stutter", "trials"):
            page.click(f"[data-view={view}]")
            page.wait_for_selector(f"[data-view={view}][aria-current]")
            page.wait_for_selector("button.label:not([disabled])")
            for _ in range(5):
                page.keyboard.press("3")
                saved(page, "Saved: fine")
                page.keyboard.press("j")
                page.wait_for_function(
                    "() => document.getElementById('saved')?.textContent !== 'Saved: fine'"
                )
                page.wait_for_selector("button.label:not([disabled])")
            text = page.locator("main").inner_text()
            assert "<img src=x onerror=alert(1)>" in text
            assert not re.search("[\u202a-\u202e\u2066-\u2069]", text)
        page.click("[data-view=agreement]")
        page.wait_for_selector(".card")
        assert "<b onmouseover=alert(1)>" in page.locator("main").inner_text()
        assert page.locator("main img:not(.spectrogram), main script, main b[onmouseover]").count() == 0
        assert dialogs == []
        assert watched.errors == []
        assert watched.foreign == []


def review_ids(home):
    import json

    lines = (home / "stutter" / "suspicious.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["id"] for line in lines]


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
def test_no_serious_barrier_and_no_overflow(folder, new_page, scheme, width):
    for number, one in enumerate(review_ids(folder)):
        LabelStore(folder).add(Given("ben", "stutter", one, "fine"))
        LabelStore(folder).add(Given("carl", "stutter", one, "fine" if number % 2 else "malformed"))
    with running(review_app(folder, reviewer="anna")) as server:
        watched = new_page(width=width, scheme=scheme)
        page = open_page(watched, server)
        assert watched.serious() == []
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("1")
        saved(page, "Saved: real fault")
        assert watched.serious() == []
        assert watched.overflow == 0
        page.click("[data-view=trials]")
        page.wait_for_selector("#filter-scenario", state="attached")
        page.wait_for_selector(".player .note:not(:empty)")
        assert watched.serious() == []
        page.click("[data-view=agreement]")
        page.wait_for_selector(".card table")
        assert watched.serious() == []
        assert watched.overflow == 0
        page.keyboard.press("?")
        assert watched.serious() == []
        assert watched.errors == []


def test_a_recording_that_is_gone_is_said_on_the_page(folder, new_page):
    for clip in (folder / "audio").iterdir():
        clip.unlink()
    with running(review_app(folder)) as server:
        page = open_page(new_page(), server, "trials")
        page.wait_for_selector(".silent")
        text = page.locator(".silent").first.inner_text()
        assert "no such audio file" in text
        assert str(folder) not in text


def test_the_page_says_when_the_server_is_gone(folder, new_page):
    watched = new_page()
    with running(review_app(folder, reviewer="anna")) as server:
        page = open_page(watched, server)
    page.keyboard.press("1")
    page.wait_for_function(
        "() => document.getElementById('status').textContent.startsWith('Not saved: the server does not answer')"
    )
    assert page.locator("#saved").inner_text() == ""


def test_keys_label_as_soon_as_the_name_is_given(folder, new_page):
    page = new_page().page
    with running(review_app(folder)) as server:
        page.goto(server.link)
        page.locator("button.label").first.wait_for()
        page.fill("#reviewer", "anna")
        page.press("#reviewer", "Enter")
        page.locator("#case:focus").wait_for()
        page.keyboard.press("3")
        page.get_by_text("Saved: fine").wait_for()
        assert page.input_value("#reviewer") == "anna"


def test_long_texts_leave_the_labels_in_reach(folder, new_page):
    page = new_page().page
    with running(review_app(folder, reviewer="anna")) as server:
        page.goto(server.link)
        said = page.locator(".texts dd").first
        said.wait_for()
        said.evaluate("place => { place.textContent = 'w'.repeat(10000); }")
        assert said.bounding_box()["height"] < 300
