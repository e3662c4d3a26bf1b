"""In which order a corpus is heard: every beginning is a fair sample of its speakers."""

from pathlib import Path

import polars as pl

from voxaudit.corpus import Corpus
from voxaudit.run.order import balanced


def _corpus(rows: list[tuple[str, str, str | None]]) -> Corpus:
    table = pl.DataFrame(rows, schema=["id", "audio", "speaker"], orient="row")
    empty = [
        pl.lit(None, pl.String).alias("text"),
        *(pl.lit(None, pl.Float64).alias(n) for n in ("start", "duration")),
    ]
    return Corpus("some", "manifest", table.with_columns(*empty, place=pl.lit("here")))


def test_every_speaker_is_heard_once_before_anybody_is_heard_twice():
    rows = [
        (f"{name}{n}", f"{name}{n}.wav", name) for name in "abcdef" for n in range(6 if name == "a" else 3)
    ]
    heard = list(balanced(_corpus(rows), seed=0))
    for turn in range(3):
        assert sorted(one.speaker or "" for one in heard[6 * turn : 6 * turn + 6]) == list("abcdef")
    assert [one.speaker for one in heard[18:]] == ["a"] * 3
    assert sorted(one.id for one in heard) == sorted(id_ for id_, *_ in rows)
    assert {one.attributes["place"] for one in heard} == {"here"}


def test_the_order_is_the_seed_s_and_not_the_file_s():
    rows = [(f"{n}", f"{n}.wav", f"{n % 7}") for n in range(40)]
    order = [one.id for one in balanced(_corpus(rows), seed=0)]
    assert order == [one.id for one in balanced(_corpus(rows[::-1]), seed=0)]
    assert order != [one.id for one in balanced(_corpus(rows), seed=1)]
    assert order != [id_ for id_, *_ in rows]


def test_segments_of_a_recording_stay_together_and_speakers_may_be_unknown():
    rows = [(f"{part}-{n}", f"{part}.flac", None) for n in range(4) for part in "xyz"]
    heard = [one.audio for one in balanced(_corpus(rows), seed=0)]
    assert [heard[at : at + 4] for at in (0, 4, 8)] == [[Path(heard[at])] * 4 for at in (0, 4, 8)]
