"""A listening study in a real browser, from the link to the thanks, as two people."""

import numpy as np
import soundfile

from voxaudit.corpus import read_corpus
from voxaudit.review.study.analyze import analyze_study
from voxaudit.review.study.app import by_link, study_app
from voxaudit.review.study.create import create_comprehensibility, create_realism
from voxaudit.review.study.study import open_answers, participants
from voxaudit.review.web import running


def corpus(folder, pitch=200.0, count=3):
    folder.mkdir()
    lines = ["path,speaker"]
    for number in range(count):
        time = np.arange(2400) / 16_000
        soundfile.write(
            folder / f"{number}.wav", 0.2 * np.sin(2 * np.pi * (pitch + 30 * number) * time), 16_000
        )
        lines.append(f"{number}.wav,s{number}")
    (folder / "manifest.csv").write_text("\n".join(lines) + "\n")
    return read_corpus(folder / "manifest.csv")


def listen(page):
    played = """id => new Promise((done) => {
      const audio = document.getElementById(id);
      audio.addEventListener("ended", done);
      audio.play();
    })"""
    for side in "ab":
        page.evaluate(played, side)


def choose(page, name, value):
    page.locator(f"input[name={name}][value='{value}']").check()


def test_two_people_rate_a_study_from_start_to_end(tmp_path, new_page):
    study = create_comprehensibility(corpus(tmp_path / "c"), ["lowpass:1", "gain:2"], out=tmp_path / "study")
    people = participants(study, 2)
    with (
        open_answers(study.folder) as answers,
        running(study_app(study, people, answers), authorize=by_link(people)) as server,
    ):
        for number, (person, width, scheme) in enumerate(
            zip(people, (1280, 360), ("light", "dark"), strict=True)
        ):
            watched = new_page(width=width, scheme=scheme)
            page = watched.page
            page.goto(f"{server.url}?token={person.token}")
            page.wait_for_selector("#start")
            assert "token" not in page.url
            assert watched.serious() == []
            page.click("#start")
            for place, item in enumerate(study.order_for(number)):
                page.locator("#progress", has_text=f"{place} of").wait_for()
                choose(page, "rating", {"high": 10, "low": 1}.get(item.check, 6 + number))
                page.click("#next")  # too early: both must be heard first
                assert "listen to both" in page.text_content("#hint")
                listen(page)
                if place == 0:
                    assert watched.serious() == []
                    assert watched.overflow <= 0
                if place == 2:  # leaves and comes back
                    page.reload()
                    page.wait_for_selector("#ask:not([hidden])")
                    listen(page)
                    choose(page, "rating", {"high": 10, "low": 1}.get(item.check, 6 + number))
                page.click("#next")
            page.wait_for_selector("#thanks:not([hidden])")
            assert watched.serious() == []
            assert watched.errors == []
            assert watched.foreign == []
    found = analyze_study(study)
    assert (found.finished, found.inattentive) == (2, ())
    assert {cell.mean for cell in found.result.cells} == {6.5}
    assert found.ratings is not None
    assert found.ratings["participant"].unique().sort().to_list() == ["p001", "p002"]


def test_pairs_are_told_apart_with_the_keyboard_alone(tmp_path, new_page):
    study = create_realism(
        corpus(tmp_path / "r"), corpus(tmp_path / "g", 600.0), out=tmp_path / "study", pairs=2
    )
    people = participants(study, 1)
    with (
        open_answers(study.folder) as answers,
        running(study_app(study, people, answers), authorize=by_link(people)) as server,
    ):
        watched = new_page()
        page = watched.page
        page.goto(f"{server.url}?token={people[0].token}")
        page.wait_for_selector("#start")
        page.focus("#start")
        page.keyboard.press("Enter")
        for place, item in enumerate(study.order_for(0)):
            page.locator("#progress", has_text=f"{place} of").wait_for()
            listen(page)
            right = (item.real or 0) ^ study.swapped(0, item)
            page.focus(f"input[name=choice][value='{right}']")
            page.keyboard.press("Space")
            page.focus("input[name=confidence][value='0']")
            page.keyboard.press("Space")
            for _ in range(4):
                page.keyboard.press("ArrowRight")
            assert watched.serious() == []
            page.focus("#next")
            page.keyboard.press("Enter")
        page.wait_for_selector("#thanks:not([hidden])")
        assert watched.errors == []
    found = analyze_study(study)
    assert found.result.accuracy == 1.0
    assert found.result.confidence == 1.0
