"""The five kinds of fault."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voxaudit.score.align import count_words
from voxaudit.score.faults import KINDS, SEVERITIES, fault_severity, find_faults, main_kind

TABLE_V = [
    ("we can convert a type", "we can convert i a type", "word_injection", (3, 4)),
    ("she never spoke", "she neverso spoke", "incorrect_word", (1, 2)),
    ("he plays for pisa", "hehehe plays for pisa", "word_repetition", (0, 1)),
    ("they both agree on the same", "they both agree the same", "word_omission", (3, 3)),
    ("together they had five sons", "together they had fiive sons", "syllable_repetition", (3, 4)),
]


@pytest.mark.parametrize(("intended", "heard", "kind", "span"), TABLE_V)
def test_the_papers_examples_come_out_as_printed(intended, heard, kind, span):
    faults = find_faults(intended, heard)
    assert [fault.kind for fault in faults] == [kind]
    assert faults[0].span == span
    assert main_kind(faults) == kind


@pytest.mark.parametrize(
    ("heard", "kinds"),
    [
        ("how is the weather", []),
        ("how is the the the weather", ["word_repetition"]),
        ("how is how is the weather", ["word_repetition"]),
        ("how is the wea wea weather", ["syllable_repetition"]),
        ("how is the wea-weather", ["syllable_repetition"]),
        ("how is um the uh weather", ["word_injection", "word_injection"]),
        ("how is weather", ["word_omission"]),
        ("how was the leather", ["incorrect_word", "incorrect_word"]),
        ("", ["word_omission"]),
    ],
)
def test_by_hand(heard, kinds):
    assert [fault.kind for fault in find_faults("how is the weather", heard)] == kinds


def test_most_words_decide_the_main_kind():
    faults = find_faults("how is the weather", "how is is is the whether")
    assert [(fault.kind, fault.heard) for fault in faults] == [
        ("word_repetition", ("is", "is")),
        ("incorrect_word", ("whether",)),
    ]
    assert main_kind(faults) == "word_repetition"
    assert main_kind(()) is None


words = st.lists(st.sampled_from(["a", "the", "weather", "wea", "five", "fi", "um"]), max_size=6).map(
    " ".join
)


@given(words, words)
def test_every_error_belongs_to_one_fault(intended, heard):
    faults = find_faults(intended, heard)
    counts = count_words(intended, heard)
    covered = sum(max(len(fault.heard), len(fault.intended)) for fault in faults)
    assert covered == counts.errors
    assert all(fault.kind in KINDS for fault in faults)
    spans = [fault.span for fault in faults]
    assert spans == sorted(spans)
    assert all(heard.split()[slice(*fault.span)] == list(fault.heard) for fault in faults)


def test_agreement_with_hand_labels():
    """Real transcripts of stuttered cases, labeled before the rule saw them (held-out) or while it was made."""
    path = Path(__file__).parent / "data" / "stutter_labels.csv"
    rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    assert {row["label"] for row in rows} == set(KINDS)
    agreed = {"development": [0, 0], "held-out": [0, 0]}
    for row in rows:
        agreed[row["part"]][0] += main_kind(find_faults(row["intended"], row["heard"])) == row["label"]
        agreed[row["part"]][1] += 1
    assert agreed["development"] == [57, 64]
    assert agreed["held-out"] == [39, 47]


@pytest.mark.parametrize(
    ("heard", "severity"),
    [
        ("turn on the light", "none"),
        ("turn turn on the light", "words_added"),
        ("turn on light", "words_lost"),
        ("turn off the light", "meaning_changed"),
        ("turn on the night", "meaning_changed"),
        ("turn not on the light", "meaning_changed"),
        ("the", "unusable"),
        ("", "unusable"),
    ],
)
def test_how_bad_an_answer_is_for_the_person(heard, severity):
    small = {"the", "on", "off", "a"}
    assert fault_severity("turn on the light", heard, small) == severity
    assert severity in SEVERITIES
