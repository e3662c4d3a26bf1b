"""Timings carried through edits, written and read back."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voxaudit.align import AlignmentError, Phone, Syllable, Timings, Word
from voxaudit.perturb.time_pitch import Scale


def weather() -> Timings:
    the = Word(
        "the", 0.1, 0.2, (Syllable("the", 0.1, 0.2, (Phone("DH", 0.1, 0.15), Phone("AH", 0.15, 0.2))),)
    )
    wea = Syllable("wea", 0.2, 0.4, (Phone("W", 0.2, 0.3), Phone("EH", 0.3, 0.4)))
    ther = Syllable("ther", 0.4, 0.6, (Phone("DH", 0.4, 0.5), Phone("ER", 0.5, 0.6)))
    return Timings((the, Word("weather", 0.2, 0.6, (wea, ther))), 1.0)


def test_text_and_phones():
    timings = weather()
    assert timings.text == timings.surface == "the weather"
    assert [p.name for p in timings.words[1].phones] == ["W", "EH", "DH", "ER"]


def test_opened_splits_at_the_boundary_whichever_side_the_cut_lies():
    for at in (0.397, 0.403):
        word = weather().opened(0.4, at, 0.1).words[1]
        assert word.start == 0.2
        assert word.syllables[0].end == min(at, 0.4)
        assert word.syllables[1].start == pytest.approx(max(at, 0.4) + 0.1)
        assert word.end == pytest.approx(0.7)


def test_stretched_moves_what_follows_and_spreads_what_is_inside():
    after = weather().stretched(0.3, 0.4, 0.2)
    assert after.duration == pytest.approx(1.2)
    first, second = after.words[1].syllables
    assert (first.start, first.end) == pytest.approx((0.2, 0.6))
    assert second.phones[1].start == pytest.approx(0.7)
    assert after.words[0] == weather().words[0]


def test_shifted_and_mapped_by_a_perturbation():
    assert weather().shifted(0.5).words[0].start == pytest.approx(0.6)
    slow = weather().mapped(Scale(theta=0.5).map_time)
    assert slow.duration == 2.0
    assert slow.words[1].syllables[1].phones[1].end == pytest.approx(1.2)


def test_surface_shows_repeated_syllables_at_the_start_and_inside():
    word = weather().words[1]
    wea, ther = word.syllables
    copy = Syllable("wea", 0.2, 0.2, event="sound_repetition")
    assert Word("weather", 0.2, 0.6, (copy, copy, wea, ther)).surface == "wea- wea- weather"
    again = Syllable("ther", 0.4, 0.4, event="sound_repetition")
    assert Word("weather", 0.2, 0.6, (wea, again, ther)).surface == "wea-ther-ther"


@pytest.mark.slow
@given(st.lists(st.floats(0, 100, allow_nan=False), min_size=2, max_size=8), st.text(max_size=5))
def test_json_reads_back_the_same(edges, text):
    edges = sorted(edges)
    words = tuple(
        Word(text, a, b, (Syllable(text, a, b, (Phone("AH", a, b),)),), "interjection")
        for a, b in itertools.pairwise(edges)
    )
    timings = Timings(words, edges[-1])
    assert Timings.from_json(timings.to_json()) == timings


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"words": [[1]], "duration": 1}', "[" * 100_000])
def test_other_json_is_refused_in_one_line(text):
    with pytest.raises(AlignmentError, match="not timings") as error:
        Timings.from_json(text)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("start", "end"), [(0.5, 0.4), (0.5, 2.0), (-0.5, 0.1)])
def test_words_out_of_order_or_outside_are_refused(start, end):
    with pytest.raises(AlignmentError, match="does not lie"):
        Timings((Word("a", start, end),), 1.0)
