"""Who is heard next: speakers and utterances in a random order fixed by the seed, groups filling evenly."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl

    from voxaudit.corpus import Corpus


def rank(seed: int, *names: str) -> bytes:
    """Return what to sort by for a random order.

    By hash, not by shuffling: adding a speaker to a corpus leaves the order of the others as it is.
    """
    return hashlib.sha256("\0".join((str(seed), *names)).encode("utf-8", "surrogatepass")).digest()


def balanced(corpus: Corpus, seed: int) -> Corpus:
    """Return a corpus in an order of which every beginning is a fair sample: one recording of each speaker, then more.

    What a stopped run has heard, or was billed for, is then about everybody alike, and a machine that slows down on
    the way does so for all groups. Segments of one recording stay together: it is opened once.
    """
    import polars as pl

    first = corpus.table.select("audio", "speaker", "id").unique("audio", keep="first", maintain_order=True)
    keys = pl.Series("key", [rank(seed, "recording", id_) for id_ in first["id"]], pl.Binary)
    by_speaker = pl.col("speaker").fill_null(pl.col("id"))
    rounds = (
        first.with_columns(keys).sort("key").with_columns(round=pl.col("id").cum_count().over(by_speaker))
    )
    places = rounds.sort("round", "key").select("audio", place=pl.int_range(pl.len()))
    place = corpus.table.select("audio").join(places, on="audio", how="left", maintain_order="left")["place"]
    return replace(corpus, table=corpus.table[np.argsort(place.to_numpy(), kind="stable")])


Hear = Callable[[Sequence[tuple[int, int]]], tuple[NDArray[np.float64], NDArray[np.float64]]]
"""From (cell, speaker) pairs to the errors and words of each; a speaker of whom nothing could be heard has 0 words."""


@dataclass(frozen=True)
class Order:
    """The speakers of a corpus in the order in which they are heard.

    `groups[g]` are rows of `speakers`; the r-th of every group is heard in round r. `utterances[s]` are the ids of
    speaker s that are heard, out of `said[s]`, and `words[s]` the reference words of all he or she says.
    Groups that are too small are `left_out`.
    """

    names: tuple[str, ...]
    speakers: tuple[str, ...]
    groups: tuple[tuple[int, ...], ...]
    utterances: tuple[tuple[str, ...], ...]
    said: tuple[int, ...]
    words: NDArray[np.float64]
    left_out: tuple[str, ...] = ()

    @property
    def rounds(self) -> int:
        """Return how many rounds there are at most."""
        return max(len(group) for group in self.groups)

    def pairs(self, group: int) -> int:
        """Return how many pairs with the first group, the reference, a group can give."""
        return min(len(self.groups[0]), len(self.groups[group]))

    def mean_words(self) -> NDArray[np.float64]:
        """Return the mean number of reference words per speaker, by group."""
        return np.array([self.words[list(group)].mean() for group in self.groups])


def order_speakers(
    utterances: pl.DataFrame, groups: Sequence[str], *, seed: int = 0, per_speaker: int | None = None
) -> Order:
    """Return the order for utterances (id, speaker, words of the reference, group) of the speakers of some `groups`.

    With `per_speaker`, so many utterances of each are drawn.
    """
    own: dict[str, list[str]] = {}
    words: dict[str, float] = {}
    members: dict[str, dict[str, None]] = {group: {} for group in groups}
    for id_, speaker, count, group in utterances.select("id", "speaker", "words", "group").iter_rows():
        if group in members:
            members[group][str(speaker)] = None
            own.setdefault(str(speaker), []).append(id_)
            words[str(speaker)] = words.get(str(speaker), 0.0) + count
    by_group = [sorted(some, key=lambda name: rank(seed, "speaker", name)) for some in members.values()]
    speakers = [name for some in by_group for name in some]
    ends = np.cumsum([len(some) for some in by_group]).tolist()
    return Order(
        tuple(groups),
        tuple(speakers),
        tuple(tuple(range(end - len(some), end)) for some, end in zip(by_group, ends, strict=True)),
        tuple(
            tuple(sorted(own[name], key=lambda id_: rank(seed, "utterance", id_))[:per_speaker])
            for name in speakers
        ),
        tuple(len(own[name]) for name in speakers),
        np.array([words[name] for name in speakers]),
    )
