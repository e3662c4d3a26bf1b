"""What people hand in: a model-card section, an accessibility and fairness statement, a methods paragraph."""

from __future__ import annotations

from dataclasses import replace

import pytest
import yaml

from voxaudit.answer import Answer, Finding, Refusal, Tables, finding_id, tabulate
from voxaudit.render.document import Chapter, GateResult, Report
from voxaudit.render.markdown import dataset_of
from voxaudit.render.statements import WORKS, methods, model_card, statement, statements

CONFIG = {
    "created": "2026-03-01T10:00:00+0000",
    "voxaudit": "0.1.0",
    "corpus": {
        "name": "calls",
        "format": "manifest",
        "source": "calls.csv",
        "utterances": 40,
        "speakers": 20,
    },
    "recognizers": {
        "one": {"fingerprint": {"engine": "toy", "version": "2.1", "model": "0123456789ab" + "0" * 40}},
        "two": {"fingerprint": {}},
    },
    "scenarios": ["clean", "echo:1"],
    "seed": 7,
    "normalizer": "basic@1",
}


def made(config=CONFIG, names=("one", "two")):
    def rate(name, scenario="clean", **more):
        id_ = finding_id("accuracy", name, scenario, "wer")
        sentence = f"{name} gets 10.0 % of the words wrong under {scenario}."
        return Finding(
            id_, "wer", "measured", sentence, 0.1, recognizer=name, scenario=scenario, headline=True, **more
        )

    gap = Finding(
        finding_id("disparity", names[0], "clean", "accent", "north", "wer_ratio"),
        "wer_ratio",
        "shown",
        f"{names[0]} makes twice as many errors for north (accent) as for south.",
        2.0,
        1.2,
        3.1,
        unit="ratio",
        p=0.01,
        p_adjusted=0.01,
        family="groups",
        recognizer=names[0],
        scenario="clean",
        attribute="accent",
        group="north",
        against="south",
        speakers=9,
        speakers_against=11,
        headline=True,
    )
    open_ = Finding(
        finding_id("parity", "age"),
        "gap",
        "refused",
        "Age cannot be compared.",
        code="no_attribute",
        headline=True,
    )
    table = tabulate(
        "wer",
        "Word error rate",
        [{"recognizer": name, "scenario": "clean", "wer": 0.1} for name in names],
        ["recognizer", "scenario", ("wer", "WER", "percent")],
    )
    accuracy = Answer("accuracy", "Accuracy", {}, tuple(map(rate, names)), Tables([table]))
    disparity = Answer("disparity", "Groups", {}, (gap,))
    parity = Answer("parity", "Parity", {}, (open_,))
    refusal = Refusal("no_references", "robustness", "no text was scored", remedy="reference texts")
    chapters = (
        Chapter("accuracy", "Accuracy", (accuracy,)),
        Chapter("robustness", "Robustness", refusals=(refusal,)),
        Chapter("disparity", "Groups", (disparity,)),
        Chapter("parity", "Parity", (parity,)),
    )
    findings = tuple(finding for chapter in chapters for finding in chapter.findings)
    gates = (GateResult("clean_wer", True, f"{names[0]}: 10.0 % of at most 15.0 %"),)
    return Report(
        "Audit",
        "one, two: 40 utterances",
        findings,
        chapters,
        gates,
        config=config,
        labels={gap.id: "Reviewers agree."},
    )


def sections(text):
    """Return the text below each heading."""
    found, name = {}, ""
    for line in text.splitlines():
        if line.startswith("#"):
            name = line.lstrip("# ")
        found[name] = found.get(name, "") + line + "\n"
    return found


def test_the_statement_says_what_on_whom_what_was_found_and_what_not():
    found = sections(statement(made()))
    tested = found["What was tested"]
    assert (
        "one (engine toy, version 2.1, model 0123456789ab...), two were audited with voxaudit 0.1.0."
        in tested
    )
    assert "in 1 further scenario: echo:1. It was heard on 2026-03-01." in tested
    whom = found["On whom"]
    assert "40 utterances by 20 speakers of the corpus calls." in whom
    assert "- accent: north (9 speakers), south (11 speakers)" in whom
    assert (
        "- one makes twice as many errors for north (accent) as for south.\n  - Reviewers agree."
        in (found["Whom it serves worse"])
    )
    assert "two gets 10.0 %" in found["All speakers, clean and disturbed"]
    assert "- pass: one: 10.0 % of at most 15.0 %" in found["Limits that were set beforehand"]
    missing = found["What was not tested"]
    for line in (
        "- Differences by gender were not tested.",
        "- Stuttered speech was not tested.",
        "- Age cannot be compared.",
        "- robustness: no text was scored. To get it: reference texts.",
    ):
        assert line in missing
    assert "Differences by accent" not in missing
    assert "Nothing was found that can be said here" in found["People who stutter"]


def test_a_model_card_is_about_one_recognizer():
    cards = statements(made())
    assert set(cards) == {"model-card-one.md", "model-card-two.md", "statement.md", "methods.md"}
    card = cards["model-card-two.md"]
    (model,) = yaml.safe_load(card.split("---")[1])["model-index"]
    assert model["name"] == "two"
    assert model["results"][0]["dataset"] == {"name": "calls", "type": "calls", "config": "clean"}
    assert "| two | clean | 10.0 % |" in card
    assert "one" not in sections(card)["Word error rate"]
    assert "twice as many" not in card
    assert "twice as many" in cards["model-card-one.md"]
    assert "Differences by gender were not tested." in sections(card)["What this does not show"]


def test_the_methods_cite_what_was_asked_and_nothing_else():
    text = methods(made())
    assert "Gaps between groups on clean speech are ratios of their word error rates." in text
    assert "from the seed 7" in text
    assert "Groups were compared by accent." in text
    assert "adjusted within each family" in text
    # Robustness and parity refused: their works are not cited.
    assert not any(work in text for work in WORKS.values())
    ratio = Finding(
        finding_id("disparity", "one", "typical_speaker_ratio"), "typical_speaker_ratio", "measured", "x", 1.5
    )
    report = made()
    more = Chapter("more", "More", (Answer("disparity", "Groups", {}, (ratio,)),))
    text = methods(replace(report, chapters=(*report.chapters, more)))
    assert "mixed-effects Poisson regression (1)." in text
    assert f"1. {WORKS['liu']}" in text


@pytest.mark.parametrize(
    ("corpus", "found"),
    [
        ({"name": "my calls", "format": "manifest"}, {"name": "my calls", "type": "my-calls"}),
        (
            {"name": "dev-clean", "format": "librispeech"},
            {"name": "LibriSpeech (dev-clean)", "type": "openslr/librispeech_asr"},
        ),
        ({"name": "ravdess", "format": "ravdess"}, {"name": "RAVDESS", "type": "ravdess"}),
        (
            {"name": "fleurs", "source": "hf:google/fleurs?config=en_us&split=test&limit=200"},
            {"name": "fleurs", "type": "google/fleurs", "config": "en_us", "split": "test"},
        ),
        ({"name": "☃"}, {"name": "☃", "type": "corpus"}),
        ({}, {"name": "corpus", "type": "corpus"}),
    ],
)
def test_the_corpus_has_its_real_name_and_type(corpus, found):
    assert dataset_of({"corpus": corpus}) == found


EVIL = (
    "../x</script><img src=x onerror=alert(1)>\n# head\n- item | `code` @all \u202e [a](http://evil.example)"
)


def test_hostile_names_stay_text_and_in_their_folder():
    config = {
        **CONFIG,
        "corpus": {**CONFIG["corpus"], "name": EVIL},
        "recognizers": {EVIL: {"fingerprint": {"engine": EVIL}}, "../X": {}, "../x": {}},
        "scenarios": ["clean", EVIL],
        "normalizer": EVIL,
    }
    made_of = statements(made(config, (EVIL, "../x")))
    assert len(made_of) == 5
    for name, text in made_of.items():
        assert "/" not in name
        assert not name.startswith(".")
        body = text.split("---\n", 2)[-1] if text.startswith("---") else text
        assert "<img" not in body
        assert "http:" not in body
        assert "[a]" not in body
        assert "\u202e" not in text
        assert not any(line.startswith(("# head", "- item")) for line in body.splitlines())
    card = next(text for name, text in made_of.items() if name.startswith("model-card-x_script"))
    (model,) = yaml.safe_load(card.split("\n---\n")[0])["model-index"]
    assert model["name"] == EVIL


def test_a_report_of_nothing_still_gives_documents():
    found = statements(Report("t", "s", (), ()))
    assert set(found) == {"statement.md", "methods.md"}
    assert "Differences by age were not tested." in found["statement.md"]
    assert model_card(Report("t", "s", (), ()), "none").startswith("## Robustness")
