from __future__ import annotations

import random

import pytest

from voxaudit.score.invented import (
    LONGEST_LOOP,
    Loop,
    fewest_times,
    find_loops,
    heard_by_most,
    heard_by_nobody_else,
    unsupported,
    witnesses,
    words_too_many,
)


@pytest.mark.parametrize(
    ("said", "heard", "found"),
    [
        ("open the door", "open the door", []),
        ("open the door", "", []),
        ("i know what you mean", "eye no watt yew mien", []),
        ("they expect snow tonight", "they inspect show tonight", []),
        ("she found a coin", "she found a coin castle sad unicorn", [(4, 7)]),
        ("she found a coin", "castle sad unicorn she found a coin", [(0, 3)]),
        ("she found a coin", "she found a coin unicorn", []),  # one word is a mishearing
        ("let me see", "let me let me let me see", []),  # a repetition
        ("", "thank you for watching", [(0, 4)]),
    ],
)
def test_unsupported_stretches(said: str, heard: str, found: list[tuple[int, int]]) -> None:
    assert [(one.start, one.stop) for one in unsupported(said, heard)] == found


def test_shorter_stretches_count_where_they_are_asked_for() -> None:
    said, heard = "she found a coin", "she found a coin sad unicorn"
    assert unsupported(said, heard) == []
    assert [one.words for one in unsupported(said, heard, fewest=2)] == [2]


def test_without_references_only_what_nobody_else_heard_counts() -> None:
    heard = "open the door thank you for watching"
    assert [one.start for one in heard_by_nobody_else(heard, ["open the door", "open a door"])] == [3]
    assert heard_by_nobody_else(heard, ["open the door", "the door thank you for watching"]) == []
    assert heard_by_nobody_else(heard, []) == []
    assert witnesses(heard, ["", "the", "open a door"]) == ["open a door"]


def test_most_others_put_the_reference_in_doubt() -> None:
    heard = "open the door thank you for watching"
    (stretch,) = unsupported("open the door", heard)
    same, without = unsupported(heard, heard), unsupported("open the door", heard)
    assert heard_by_most(stretch, [same, same, without])
    assert not heard_by_most(stretch, [same, without, without])
    assert not heard_by_most(stretch, [same])  # one other is no majority


@pytest.mark.parametrize("size", range(1, LONGEST_LOOP + 1))
def test_loops_of_every_length_are_found(size: int) -> None:
    generator = random.Random(size)
    piece = [f"w{generator.randrange(10**6)}" for _ in range(size)]
    times = fewest_times(size)
    text = ["so", *piece * times, "then"]
    assert find_loops(" ".join(text)) == [Loop(1, size, times)]
    assert find_loops(" ".join(["so", *piece * (times - 1), "then"])) == []


def test_a_loop_that_was_said_is_none() -> None:
    text = "no " * 9 + "stop"
    assert find_loops(text)
    assert find_loops(text, "no " * 8 + "stop") == []
    assert find_loops(text, "no no stop")


def test_digits_in_a_row_are_numbers() -> None:
    assert find_loops("0 " * 8) == []
    assert find_loops("0 " * 16) == [Loop(0, 1, 16)]


def test_several_loops_do_not_overlap() -> None:
    text = "a " * 8 + "and " + "b c " * 6
    assert find_loops(text) == [Loop(0, 1, 8), Loop(9, 2, 6)]
    assert [loop.words for loop in find_loops(text)] == [7, 10]


def test_speaking_rates() -> None:
    assert words_too_many("word " * 12, 2.0) == 0  # six words per second
    assert words_too_many("word " * 60, 2.0) == 40  # room for 80 of 240 letters
    assert words_too_many("", 0.1) == 0
