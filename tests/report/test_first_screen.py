"""The first screen: five questions, each answered by findings, and nothing that contradicts another line."""

from __future__ import annotations

import polars as pl
import pytest
from toy_runs import WORDS, write_run

from voxaudit.answer import Finding
from voxaudit.render.document import sentence_of
from voxaudit.report.build import MOST_OPEN, OPEN, build_report, first_screen, write_report
from voxaudit.run.folder import Run
from voxaudit.score.run import score_run
from voxaudit.stats.group_means import FEWEST_CROSSED


def screen(report):
    """The first screen as {question: sentences}."""
    return {one.title: list(map(sentence_of, one.answers)) for one in report.summary}


def loses(lost):
    """A recognizer that loses `lost(recognizer, scenario, speaker, number)` words of five."""

    def heard(*trial):
        return " ".join(WORDS[: max(len(WORDS) - lost(*trial), 0)])

    return heard


def without_texts(run, condition):
    """The run again, scored without the reference texts of some utterances."""
    path = run.folder / "corpus.parquet"
    corpus = pl.read_parquet(path).with_columns(text=pl.when(~condition).then(pl.col("text")))
    corpus.write_parquet(path)
    score_run(Run(run.folder))
    return Run(run.folder)


@pytest.fixture(scope="module")
def two_corpora(tmp_path_factory):
    """Twelve speakers who read, with texts, and twenty who talk, in three cities, without."""

    def lost(recognizer, scenario, speaker, number):
        place = int(speaker[1:])
        return (recognizer == "two") + (scenario != "clean") + (place % 2 and place < 12) + (place % 5 == 0)

    people = {
        f"s{n}": {"corpus": "read", "accent": "ns"[n % 2], "city": None}
        if n < 12
        else {"corpus": "talk", "accent": None, "city": ("York", "Leeds", "Hull")[n % 3]}
        for n in range(32)
    }
    run = write_run(tmp_path_factory.mktemp("corpora") / "run", loses(lost), people=people)
    run = without_texts(run, pl.col("corpus") == "talk")
    return build_report(run, attributes=["accent", "city"])


def test_numbers_of_a_part_of_the_corpus_say_of_which(two_corpora):
    said = screen(two_corpora)
    part = ", for the 12 of 32 speakers whose words are known"
    assert f"one is better than two over 4 scenarios{part}: WER" in said["Which recognizer?"][0]
    rates = [line for line in said["Where does it break?"] if "word error rate" in line or " gets " in line]
    assert len(rates) == 4
    assert all(part in line for line in rates)
    assert said[OPEN][0] == (
        "40 of 64 utterances have no reference text (talk has none at all): they were heard but not scored."
    )
    assert said[OPEN][1] == (
        "No conclusion about gaps by city: the utterances of Hull, Leeds, York have no reference text."
    )
    assert any("(city)" in line and "disagree on" in line for line in said["For whom?"])


def test_the_remedy_fits_what_is_missing(two_corpora):
    """Three cities lack texts: speech of a second group would not help."""
    about = {
        one.code: one.remedy
        for chapter in two_corpora.chapters
        for one in chapter.all_refusals
        if one.about == "city" and chapter.id in ("disparity", "parity", "robustness", "accuracy")
    }
    assert set(about) == {"no_references"}
    assert "reference texts" in about["no_references"]


def test_without_references_the_headline_is_how_much_recognizers_disagree(make_run, drops):
    people = {f"s{n}": {"accent": "ns"[n % 2]} for n in range(24)}

    def heard(recognizer, scenario, speaker, number):
        lost = 2 if recognizer == "two" and int(speaker[1:]) % 2 else int(speaker[1:]) % 3 == 0
        return " ".join(WORDS[: len(WORDS) - lost])

    report = build_report(make_run(heard, people=people, text=None), attributes=["accent"])
    said = screen(report)
    assert next(iter(said)) == "How much do recognizers disagree?"
    (line,) = said["How much do recognizers disagree?"]
    assert "one and two disagree on " in line
    assert "s speakers (accent)" in line
    assert "12 and 12 speakers" in line
    assert ": a gap is shown, p = " in line
    assert "Which recognizer?" not in said


def test_one_recognizer_is_not_compared_with_others(make_run, drops):
    report = build_report(make_run(drops, recognizers=("one",)), attributes=["accent"])
    said = screen(report)
    assert next(iter(said)) == "How well does it hear?"
    assert said["How well does it hear?"][0].startswith("one gets 4.2 % (")
    assert "on clean speech, for 12 speakers." in said["How well does it hear?"][0]


def test_a_tie_is_called_a_tie_with_what_is_not_excluded(make_run, only):
    only("versus")

    def lost(recognizer, scenario, speaker, number):
        return (int(speaker[1:]) + (recognizer == "two")) % 2

    (line,) = screen(build_report(make_run(loses(lost))))["Which recognizer?"]
    assert line.startswith("one and two tie over 4 scenarios, for 12 speakers: WER 10.0 % and 10.0 %, p = ")
    assert "percentage points is not excluded" in line.partition(". ")[0]


def accents(folder, sizes=(26, 36, 48)):
    """Groups c, b and a of these sizes: c loses most words, then b; nobody else is in it."""
    groups = [group for group, size in zip("cba", sizes, strict=True) for _ in range(size)]
    people = {f"s{n}": {"accent": group} for n, group in enumerate(groups)}

    def lost(recognizer, scenario, speaker, number):
        place = int(speaker[1:])
        return {"a": place % 7 == 0, "b": place % 2, "c": 2 + place % 2}[groups[place]]

    run = write_run(folder, loses(lost), people=people, recognizers=("one",), scenarios=("clean",))
    report = build_report(run, attributes=["accent"])
    write_report(report, run.folder)
    return report, (run.folder / "summary.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def three_accents(tmp_path_factory):
    return accents(tmp_path_factory.mktemp("accents") / "run")


def test_every_group_with_a_gap_shown_is_there_the_widest_gap_first(three_accents):
    report, _ = three_accents
    lines = screen(report)["For whom?"]
    assert [line.partition(" for ")[2][:1] for line in lines[:2]] == ["c", "b"]
    assert all(line.endswith("a gap is shown.") for line in lines[:2])
    assert "26 and 48 speakers" in lines[0]


def test_a_group_with_a_gap_shown_is_not_called_too_small_to_show_one(three_accents):
    report, summary = three_accents
    shown = {one.group for one in report.findings if one.audit == "disparity" and one.verdict == "shown"}
    assert {"c", "b"} <= shown
    assert "too few" not in summary
    assert "more speakers" not in summary
    checks = report.table("checklist").frame
    said = " ".join(checks["why"].to_list())
    assert "to show a gap" not in said
    assert " more)" not in said


@pytest.mark.slow
def test_groups_of_36_and_26_speakers_are_not_rare(three_accents, tmp_path):
    report, _ = three_accents
    checks = report.table("checklist").frame
    (why,) = checks.filter(pl.col("practice").str.starts_with("rare groups"))["why"]
    assert "merged" not in why
    small, _ = accents(tmp_path / "small", sizes=(FEWEST_CROSSED - 1, FEWEST_CROSSED - 1, 20))
    (why,) = small.table("checklist").frame.filter(pl.col("practice").str.starts_with("rare"))["why"]
    assert "could be merged" in why
    assert "accent = c" in why


def test_what_is_refused_has_no_number_in_front_of_it(make_run):
    """Nobody makes an error: no sentence says that nothing is 0.0 points more and then refuses to."""
    people = {f"s{n}": {"accent": "ns"[n % 2]} for n in range(4)}
    report = build_report(make_run(lambda *_: " ".join(WORDS), people=people), attributes=["accent"])
    refused = [one.sentence for one in report.findings if one.verdict == "refused"]
    assert refused
    assert not [line for line in refused if "0.0 percentage points" in line or line.endswith("refused.")]


@pytest.mark.slow
def test_words_that_nobody_said_are_a_question_only_where_silence_was_heard(
    plain_report, make_run, drops, only
):
    only("robustness", "hallucination")
    title = "Does it make things up?"
    assert title not in screen(plain_report)

    def heard(recognizer, scenario, speaker, number):
        if scenario == "silence":
            return "thank you" if recognizer == "two" else ""
        return drops(recognizer, scenario, speaker, number)

    run = make_run(heard, scenarios=("clean", "gaussian_noise:1", "silence"))
    nothing, something = screen(build_report(run))[title]
    assert nothing.startswith("one hears no words")
    assert something.startswith("two hears 60.0")


def headline(id_, verdict="shown", **fields):
    measure = id_.rpartition("/")[2]
    return Finding(id_, measure, verdict, f"{id_}.", headline=True, **fields)


def test_of_an_attribute_without_a_gap_what_leaves_most_open_is_said():
    near, far = (
        headline(f"disparity/{name}/age/wer_ratio", "not_shown", attribute="age", unit="ratio", excludes=size)
        for name, size in (("one", 1.5), ("two", 0.25))
    )
    shown = headline("disparity/one/accent/wer_ratio", attribute="accent", estimate=2.0, unit="ratio")
    (question,) = first_screen([near, far, shown])
    assert question.answers == (shown, far)
    assert question.chapters == ("disparity",)


def test_what_an_audit_of_another_package_says_is_there_and_three_lines_at_most_are_open():
    open_ = [headline(f"versus/{n}/best", "refused", code="one_group") for n in range(MOST_OPEN + 2)]
    other = headline("dialects/one/score")
    screen_ = first_screen([*open_, other])
    assert [(one.title, len(one.answers)) for one in screen_] == [
        ("What else was found?", 1),
        (OPEN, MOST_OPEN),
    ]
