"""Which recordings are made to stutter: many speakers, every group, the same every time."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from voxaudit.corpus import Corpus
from voxaudit.corpus.select import choose_utterances


def corpus(rows: list[tuple[str, str | None, str | None, str]]) -> Corpus:
    table = pl.DataFrame(
        {
            "id": [row[0] for row in rows],
            "audio": [f"{row[0]}.wav" for row in rows],
            "speaker": [row[1] for row in rows],
            "text": [row[2] for row in rows],
            "start": [None] * len(rows),
            "duration": [None] * len(rows),
            "accent": [row[3] for row in rows],
        },
        schema_overrides={
            "speaker": pl.String,
            "text": pl.String,
            "start": pl.Float64,
            "duration": pl.Float64,
        },
    )
    return Corpus("made", "csv", table)


TEN = [(f"u{n}", f"s{n // 2}", "some words", "far" if n >= 8 else "near") for n in range(10)]
"""Five speakers with two recordings each; only the last of them is from far."""


def test_groups_take_turns_and_speakers_within_them():
    chosen = choose_utterances(corpus(TEN), 4, attributes=("accent",)).table
    assert chosen["accent"].to_list().count("far") == 2
    assert chosen.filter(pl.col("accent") == "near")["speaker"].n_unique() == 2


def test_recordings_with_a_text_come_first():
    rows = [(id_, "one", "words" if id_ == "u7" else None, "near") for id_, _, _, _ in TEN]
    assert choose_utterances(corpus(rows), 1).table["id"].to_list() == ["u7"]


def test_unknown_speakers_are_people_of_their_own():
    rows = [("a", None, "x", "n"), ("b", None, "x", "n"), *((f"c{n}", "c", "x", "n") for n in range(20))]
    assert {"a", "b"} <= set(choose_utterances(corpus(rows), 3).table["id"].to_list())


@given(
    count=st.integers(1, 12),
    seed=st.integers(0, 5),
    order=st.permutations(range(10)),
)
def test_as_many_speakers_as_can_be_in_any_order_of_the_corpus(count, seed, order):
    chosen = choose_utterances(corpus(TEN), count, seed=seed).table
    assert chosen.height == min(count, 10)
    assert chosen["speaker"].n_unique() == min(count, 5)
    shuffled = choose_utterances(corpus([TEN[place] for place in order]), count, seed=seed).table
    assert sorted(shuffled["id"]) == sorted(chosen["id"])
