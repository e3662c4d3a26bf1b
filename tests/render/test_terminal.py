"""An answer as people read it on a terminal and from `print`."""

from __future__ import annotations

import pytest
from sample_report import EVIL, hostile_report, sample_report

from voxaudit.answer import MOST_SAID, Answer, Column, Finding, Note, Refusal, Tables, tabulate
from voxaudit.render.document import Chapter, GateResult, Question, Report
from voxaudit.render.terminal import (
    MOST_LISTED,
    MOST_REFUSALS,
    MOST_ROWS,
    answer_text,
    print_answer,
    print_report,
)


def answer(**fields):
    rows = [
        {
            "group": "north",
            "wer": 0.1,
            "low": 0.08,
            "high": 0.12,
            "gap": -0.02,
            "p": None,
            "verdict": "measured",
        },
        {
            "group": "south",
            "wer": 0.2,
            "low": 0.1,
            "high": None,
            "gap": 0.1,
            "p": 1e-6,
            "verdict": "not_shown",
        },
        {"group": "east", "wer": None, "low": None, "high": None, "gap": None, "p": 0.2, "verdict": "alike"},
    ]
    columns = [
        ("group",),
        ("wer", "WER", "percent", "low", "high"),
        ("gap", "", "points"),
        ("p", "", "p"),
        ("verdict",),
    ]
    table = tabulate("groups", "Word error rate by accent", rows, columns, note="Speakers are the sample.")
    return Answer(**{"audit": "disparity", "title": "Groups", "tables": Tables([table]), **fields})


def test_a_table_has_intervals_in_one_cell_and_numbers_to_the_right():
    lines = answer_text(answer()).splitlines()
    assert lines[0] == "Groups"
    assert lines[1] == "Word error rate by accent"
    assert lines[3].split() == ["group", "WER", "gap,", "points", "p", "verdict"]
    north, south, east = lines[5:8]
    assert north.split("  ")[1] == "north"
    assert "10.0 % (8.0 to 12.0)" in north
    assert "20.0 % (10.0 to ?)" in south
    assert north.index("-2.0") + 4 == south.index("+10.0") + 5  # set to the right
    assert "<0.0001" in south
    assert east.split() == ["east", "-", "-", "0.200", "alike"]
    assert "not shown" in south
    assert "  Speakers are the sample." in lines


def test_a_title_is_not_said_twice():
    assert answer_text(answer(title="Word error rate by accent")).count("Word error rate by accent") == 1


def test_notes_and_refusals_follow_and_the_conclusion_is_last():
    findings = (
        Finding("a/0", "m", "measured", "Stands in the table."),
        Finding("a/1", "m", "not_shown", "First."),
        Finding("a/2", "m", "shown", "Second.", headline=True),
    )
    said = answer_text(
        answer(
            findings=findings,
            notes=(Note("n", "the reference is north", see=("reference", "no_random")),),
            refusals=(
                Refusal("too_few_speakers", "west", "2 speakers; 5 are needed.", see=("attribute",)),
                Refusal("not_asked", "", "nobody asked"),
            ),
        )
    )
    assert "Stands in the table" not in said
    assert said.splitlines()[-6:] == [
        "note: the reference is north (see the arguments `reference`, `no_random`)",
        "Not answered: west: 2 speakers; 5 are needed. To get it: record more speakers of these groups"
        " (see the argument `attribute`)",
        "Not answered: nobody asked",
        "1 more finding: in `findings`",
        "- First.",
        "- Second.",
    ]


def test_the_command_line_names_flags_and_python_arguments(capsys):
    one = answer(notes=(Note("n", "chosen", see=("no_random", "reference")),))
    assert answer_text(one, flags=True).endswith("note: chosen (see --no-random, --reference)")
    print_answer(one)
    out = capsys.readouterr().out
    assert out.rstrip().endswith("note: chosen (see --no-random, --reference)")
    assert str(one) == answer_text(one)
    assert str(one).endswith("note: chosen (see the arguments `no_random`, `reference`)")


def test_long_tables_are_cut_and_folded_ones_left_out():
    rows = [{"n": 1000 + n} for n in range(MOST_ROWS + 1)]
    long = tabulate("long", "Long", rows, [("n", "", "count")])
    folded = tabulate("folded", "Folded", rows[:1], [("n", "", "count")], folded=True)
    said = (Finding("a/1", "m", "shown", "Said."),)
    text = answer_text(Answer("a", "A", findings=said, tables=Tables([long, folded])))
    assert "1,023" in text
    assert "1,024" not in text
    assert 'The first 24 of 25 rows; all are in `tables["long"]`' in text
    assert text.endswith("More tables: folded (in `tables`)\n\n- Said.")
    flags = answer_text(Answer("a", "A", findings=said, tables=Tables([long, folded])), flags=True)
    assert "The first 24 of 25 rows; all are in the JSON." in flags
    assert "More tables: folded (in the JSON)" in flags


def test_a_list_is_longer_than_the_tables_beside_findings():
    rows = [{"n": 1000 + n} for n in range(MOST_LISTED + 1)]
    text = answer_text(
        Answer("a", "A", tables=Tables([tabulate("long", "Long", rows, [("n", "", "count")])]))
    )
    assert "1,059" in text
    assert "1,060" not in text
    assert 'The first 60 of 61 rows; all are in `tables["long"]`' in text


def test_of_many_findings_three_are_said_headlines_and_claims_first():
    verdicts = ["not_shown"] * 20 + ["alike", "shown", "measured"]
    findings = tuple(
        Finding(f"a/{n}", "m", verdict, f"S{n}.", headline=n == 22) for n, verdict in enumerate(verdicts)
    )
    lines = answer_text(Answer("a", "A", findings=findings)).splitlines()
    assert lines[1:] == ["20 more findings: in `findings`", "- S20.", "- S21.", "- S22."]
    exact = answer_text(Answer("a", "A", findings=findings[:MOST_SAID])).splitlines()
    assert exact[1:] == [f"- S{n}." for n in range(MOST_SAID)]


def test_of_each_question_one_answer_is_said_before_a_second():
    kinds = [*["wer"] * 4, "ranking", *["gap"] * 4, "slope"]
    findings = tuple(
        Finding(f"a/{n}", kind, "shown" if n == 7 else "measured", f"S{n}.", headline=kind != "slope")
        for n, kind in enumerate(kinds)
    )
    assert [one.id for one in Answer("a", "A", findings=findings).conclusion] == ["a/0", "a/4", "a/7"]


def test_measurements_are_said_where_nothing_else_is():
    findings = tuple(Finding(f"a/{n}", "m", "measured", f"S{n}.") for n in range(3))
    assert answer_text(Answer("a", "A", findings=findings)).splitlines()[1:] == ["- S0.", "- S1.", "- S2."]


def test_width_is_honored():
    words = "so many short words that no line can hold them all " * 10
    table = tabulate("t", "T", [{"a": words}], [Column("a")])
    lines = answer_text(Answer("a", "A", tables=Tables([table])), width=70).splitlines()
    assert 60 < max(map(len, lines)) <= 70


@pytest.mark.slow
@pytest.mark.parametrize("make", [sample_report, hostile_report])
def test_nothing_can_drive_a_terminal(make):
    for answer in (answer for chapter in make().chapters for answer in chapter.answers):
        text = answer_text(answer, flags=True)
        assert all(line.isprintable() for line in text.split("\n"))
        assert "\n\n\n" not in text
    assert EVIL[:20] in answer_text(hostile_report().chapters[0].answers[0])


def test_a_small_p_value_is_not_nought():
    rows = [{"p": 0.00001}, {"p": 0.0004}, {"p": 0.25}]
    text = answer_text(Answer("a", "A", tables=Tables([tabulate("t", "T", rows, [("p", "p", "p")])])))
    assert text.split()[-3:] == ["<0.0001", "0.0004", "0.250"]


@pytest.mark.parametrize(
    ("more", "words"), [(1, "1 more question; the report"), (2, "2 more questions; the report")]
)
def test_one_more_question_is_singular(capsys, more, words):
    asked = tuple(
        Refusal("one_group", f"q{n}", "why", see=("attributes",)) for n in range(MOST_REFUSALS + more)
    )
    not_asked = Refusal("not_asked", "stuttered speech", "nobody asked")
    print_report(Report("t", "s", (), (Chapter("c", "C", refusals=(not_asked, *asked)),)))
    out = capsys.readouterr().out
    assert f"- Not answered: {words}" in out
    assert "- Not answered: q3: why. To get it: add speech of a second group" in out
    assert "(see --attributes)" in out
    assert "q4" not in out
    assert "nobody asked" not in out


def test_what_the_summary_leaves_open_is_not_said_again(capsys):
    said = Finding("d/x", "wer_growth", "refused", "Nobody can say.", code="unlike_clean", attribute="accent")
    refusals = tuple(Refusal("unlike_clean", name, f"open for {name}") for name in ("accent", "age"))
    chapter = Chapter("c", "C", refusals=refusals)
    print_report(Report("t", "s", (Question("What these data cannot tell", (said,), ("c",)),), (chapter,)))
    out = capsys.readouterr().out
    assert "- Nobody can say." in out
    assert "open for age" in out
    assert "open for accent" not in out


def test_a_report_says_its_rates_its_summary_and_its_gates_first(capsys):
    def rates(*scenarios, by=()):
        rows = [
            {"recognizer": "one", "scenario": name, "accent": "north", "wer": 0.1 + n / 10}
            for n, name in enumerate(scenarios)
        ]
        columns = [("scenario",), *((one,) for one in by), ("wer", "WER", "percent")]
        return Answer("accuracy", "A", tables=Tables([tabulate("rates", "Word error rate", rows, columns)]))

    finding = Finding("a/1", "m", "shown", "A gap is shown.")
    gates = (
        GateResult("holds", True, "fine."),
        GateResult("lost", False, "too much."),
        GateResult("open", None, "who knows.", judged=False),
    )
    answers = (rates("clean", "rir:1"), rates("clean", "rir:1", by=("accent",)))
    print_report(
        Report("t", "s", (Question("Why?", (finding, "Words.")),), (Chapter("c", "C", answers),), gates)
    )
    out = capsys.readouterr().out
    first, groups = out.split("Word error rate on clean speech")
    assert "rir:1" in first
    assert "rir:1" not in groups  # of groups, clean speech is enough
    assert out.splitlines()[-6:] == [
        "Why?",
        "- A gap is shown.",
        "- Words.",
        "- gate holds: pass. fine.",
        "- gate lost: FAIL. too much.",
        "- gate open: not judged. who knows.",
    ]
