"""Pairs of texts as numbers: every distinct text is split into words once, every distinct pair aligned once.

What an audit asks of pairs (errors by class of word, inserted runs, who agrees) is then arithmetic on arrays, and comes
back to trials by their number: a run of a million trials costs as much as its different answers do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voxaudit.score.kernel import Codes, Integers, Spans, errors_and_hits, number_words, unmatched

_WORDS = 1_500_000  # of the pairs aligned at a time: bounds memory
_TEXTS = 32_768  # whose words are gone through at a time
_FEW = 2_000  # texts that a dictionary numbers sooner than a table is asked


def numbered(texts: pl.Series) -> tuple[pl.Series, Integers]:
    """Return the distinct texts of a column and the number of each row's text among them; -1 where there is none.

    >>> distinct, number = numbered(pl.Series(["yes", None, "no", "yes"]))
    >>> bool(number[0] == number[3] != number[2]), int(number[1]), sorted(distinct)
    (True, -1, ['no', 'yes'])
    """
    if len(texts) < _FEW:
        places: dict[str, int] = {}
        count = [-1 if text is None else places.setdefault(text, len(places)) for text in texts.to_list()]
        return pl.Series(texts.name, list(places), dtype=pl.String), np.array(count, dtype=np.int64)
    known = texts.is_not_null().to_numpy()
    there = texts.drop_nulls()
    number = there.hash().rank("dense").to_numpy().astype(np.int64) - 1
    first = np.empty(number.max(initial=-1) + 1, dtype=np.int64)
    first[number[::-1]] = np.arange(len(there))[::-1]  # the last one written is the first there is
    distinct = there.gather(first)
    if not (distinct.gather(number) == there).all():  # two texts with one hash
        distinct = there.unique()
        number = there.cast(pl.Enum(distinct)).to_physical().to_numpy()
    found = np.full(len(texts), -1, dtype=np.int64)
    found[known] = number
    return distinct, found


@dataclass(frozen=True, eq=False)
class Stretches:
    """Where pairs differ, pair by pair and from left to right: words said from `start`, words heard from `first` on.

    `stop` and `last` are one past the last word; either side may be empty.
    """

    pair: Integers
    start: Integers
    stop: Integers
    first: Integers
    last: Integers

    def __len__(self) -> int:
        return len(self.pair)

    def __getitem__(self, some: NDArray[np.bool_] | Integers) -> Stretches:
        return Stretches(*(getattr(self, name)[some] for name in self.__dataclass_fields__))

    def rows(self) -> Iterator[tuple[int, int, int, int, int]]:
        """Yield pair, start, stop, first and last of each."""
        columns = (getattr(self, name).tolist() for name in self.__dataclass_fields__)
        yield from zip(*columns, strict=True)


@dataclass(frozen=True, eq=False)
class Pairs:
    """The distinct pairs of two columns of normalized text (a null reference: no pair).

    `words` are those of the distinct texts; `said_text`, `heard_text` and `pair` number, row by row, its texts and its
    pair (-1: none); `said` and `heard` number the texts of each pair.
    """

    words: Words
    said_text: Integers
    heard_text: Integers
    pair: Integers
    said: Integers
    heard: Integers

    @classmethod
    def of(cls, said: pl.Series, heard: pl.Series) -> Pairs:
        """Return the pairs of two columns of text whose words have one space between them.

        >>> pairs = Pairs.of(pl.Series(["turn it off"] * 2 + [None]), pl.Series(["turn off now"] * 2 + ["on"]))
        >>> len(pairs), pairs.pair.tolist(), [int(n) for n in pairs.words.spans.lengths[pairs.heard]]
        (1, [0, 0, -1], [3])
        >>> found = pairs.stretches
        >>> [(int(found.start[0]), int(found.stop[0]), int(found.first[0]), int(found.last[0]))]
        [(1, 3, 1, 3)]
        """
        texts, number = numbered(pl.concat([said.cast(pl.String), heard.cast(pl.String)]))
        return cls.between(Words.of(texts), number[: len(said)], number[len(said) :])

    @classmethod
    def between(cls, words: Words, left: Integers, right: Integers) -> Pairs:
        """Return the pairs of texts that are given by their numbers among those of `words`, no two of them equal."""
        known = (left >= 0) & (right >= 0)
        size = max(len(words), 1)
        keys, back = np.unique(left[known] * size + right[known], return_inverse=True)
        pair = np.full(len(left), -1, dtype=np.int64)
        pair[known] = back
        one, other = np.divmod(keys, size)
        return cls(words, left, right, pair, one, other)

    def __len__(self) -> int:
        return len(self.said)

    def take(self, rows: Integers) -> Pairs:
        """Return the pairs of some rows; what is known of words and stretches is not found again."""
        if len(rows) == len(self.pair):
            return self
        used, pair = np.unique(np.append(self.pair[rows], -1), return_inverse=True)
        used, pair = used[1:], pair[:-1].astype(np.int64) - 1
        some = Pairs(
            self.words, self.said_text[rows], self.heard_text[rows], pair, self.said[used], self.heard[used]
        )
        number = np.full(len(self.said), -1, dtype=np.int64)
        number[used] = np.arange(len(used))
        found = self.stretches
        own = number[found.pair]
        kept = found[own >= 0]
        some.__dict__["stretches"] = replace(kept, pair=own[own >= 0])
        return some

    @cached_property
    def stretches(self) -> Stretches:
        """Where the pairs differ, by the alignment that errors are counted with."""
        parts = [np.zeros((5, 0), dtype=np.int32)]
        words = self.words
        for rows in words.blocks(self.said, self.heard):
            own, ends = unmatched(words.codes, words.spans[self.said[rows]], words.spans[self.heard[rows]])
            parts.append(np.stack([rows[own], *ends]).astype(np.int32))
        return Stretches(*np.concatenate(parts, axis=1))

    def changes(self) -> tuple[Integers, Integers, Integers]:
        """Return all edits of that alignment: the pair, the code of the word said and of the word heard; -1 is none.

        Between two matches a best alignment has deletions or insertions beside its substitutions, never both; the one
        that is counted deletes last and inserts first (`kernel`).
        """
        found, codes, starts = self.stretches, self.words.codes, self.words.spans.starts
        said, heard = starts[self.said[found.pair]], starts[self.heard[found.pair]]
        both = np.minimum(found.stop - found.start, found.last - found.first)
        middle, change = said + found.start + both, heard + found.last - both
        one, other = places(said + found.start, middle), places(change, heard + found.last)
        gone, new = places(middle, said + found.stop), places(heard + found.first, change)
        lengths = both, found.stop - found.start - both, found.last - found.first - both
        return (
            np.concatenate([np.repeat(found.pair, length) for length in lengths]),
            np.concatenate([codes[one], codes[gone], np.full(len(new), -1)]),
            np.concatenate([codes[other], np.full(len(gone), -1), codes[new]]),
        )


@dataclass(frozen=True, eq=False)
class Words:
    """The words of texts as numbers: `vocabulary[code]`; `spans` says where among the codes a text lies."""

    codes: Codes
    spans: Spans
    vocabulary: list[str]

    @classmethod
    def of(cls, texts: pl.Series) -> Words:
        """Return the words of texts, which have one space between them."""
        codes, lengths, vocabulary = number_words(texts.to_list())
        return cls(codes, Spans(np.cumsum(lengths) - lengths, lengths), vocabulary)

    @classmethod
    def together(cls, parts: Sequence[Words]) -> Words:
        """Return the words of several lots of texts, one behind the other."""
        if len(parts) == 1:
            return parts[0]
        numbers: dict[str, int] = {}
        codes = [part._codes_in(numbers) for part in parts]
        offsets = np.cumsum([0, *map(len, codes)]).tolist()
        spans = Spans.joined([part.spans for part in parts], offsets)
        return cls(np.concatenate(codes), spans, list(numbers))

    def _codes_in(self, numbers: dict[str, int]) -> Codes:
        """Return the codes of the words in a larger vocabulary, to which they are added."""
        if not numbers:
            numbers.update(zip(self.vocabulary, range(len(self.vocabulary)), strict=True))
            return self.codes
        own = [numbers.setdefault(word, len(numbers)) for word in self.vocabulary]
        return np.array(own, dtype=np.int32)[self.codes]

    def __len__(self) -> int:
        return len(self.spans.lengths)

    def in_a_row(self) -> Words:
        """Return the same with the codes of each text right behind those of the one before it."""
        codes = [self.codes[where] for _, where, _ in self.parts()]
        lengths = self.spans.lengths
        return replace(
            self,
            codes=np.concatenate([self.codes[:0], *codes]),
            spans=Spans(np.cumsum(lengths) - lengths, lengths),
        )

    def lines(self) -> str:
        """Return the texts as lines, with one space between words."""
        column = pl.Series([*(f"{word} " for word in self.vocabulary), "\n"], dtype=pl.String)
        # A newline stands behind the words of each line.
        order = np.insert(self.in_a_row().codes, np.cumsum(self.spans.lengths)[:-1], len(self.vocabulary))
        return str(column.gather(order).str.join("").item()).replace(" \n", "\n").removesuffix(" ")

    def distinct(self) -> tuple[Words, Integers]:
        """Return the words of the different texts, and the number of each text among them.

        >>> words, number = Words.of(pl.Series(["turn it off", "on", "turn it off", ""])).distinct()
        >>> len(words), bool(number[0] == number[2]), [" ".join(words.text(one)) for one in number.tolist()]
        (3, True, ['turn it off', 'on', 'turn it off', ''])
        """
        starts, lengths = self.spans.starts, self.spans.lengths
        sizes = len(self.vocabulary), int(lengths.max(initial=0))
        generator = np.random.default_rng(0)
        while True:  # until no two different texts have the same sum: once, nearly always
            weight, factor = (generator.integers(2**63, size=size, dtype=np.uint64) for size in sizes)
            sums = np.zeros(len(self), dtype=np.uint64)
            for some, where, size in self.parts():
                place = places(np.zeros_like(size), size)
                sums[some] = of_each(np.add, weight[self.codes[where]] * factor[place], size)
            _, number = np.unique(sums, return_inverse=True)
            every, other = np.arange(len(self)), np.empty(len(self), dtype=np.int64)
            other[number[::-1]] = every[::-1]  # the last one written is the first there is
            other = other[number]
            new = other == every
            rows = np.flatnonzero(~new)
            if (lengths[rows] == lengths[other[rows]]).all():
                one, same = (
                    places(starts[texts], starts[texts] + lengths[rows]) for texts in (rows, other[rows])
                )
                if (self.codes[one] == self.codes[same]).all():
                    # In the order in which they stand: words are mostly gone through one after the other.
                    return replace(self, spans=self.spans[np.flatnonzero(new)]), (np.cumsum(new) - 1)[other]

    def parts(self) -> Iterator[tuple[slice, slice | Integers, Integers]]:
        """Yield texts, as many as the processor's cache holds, with where their words are and how many each has."""
        for first in range(0, len(self), _TEXTS):
            some = slice(first, first + _TEXTS)
            start, size = self.spans.starts[some], self.spans.lengths[some]
            stop = start + size
            in_a_row = (start[1:] == stop[:-1]).all()
            yield some, slice(start[0], stop[-1]) if in_a_row else places(start, stop), size

    def blocks(self, said: Integers, heard: Integers) -> Iterator[Integers]:
        """Yield which of some pairs of texts differ, so many at a time that memory stays bounded."""
        rows, lengths = np.flatnonzero(said != heard), self.spans.lengths
        ends = np.cumsum(lengths[said[rows]] + lengths[heard[rows]])
        while len(rows):
            some = max(1, int(np.searchsorted(ends, _WORDS)))
            yield rows[:some]
            rows, ends = rows[some:], ends[some:] - ends[some - 1]

    def text(self, number: int, first: int = 0, last: int | None = None) -> list[str]:
        """Return the words of a text, or some of them."""
        start = int(self.spans.starts[number])
        stop = start + (int(self.spans.lengths[number]) if last is None else last)
        return [self.vocabulary[code] for code in self.codes[start + first : stop].tolist()]


def places(start: Integers, stop: Integers) -> Integers:
    """Return all numbers from each start up to its stop."""
    length = stop - start
    found: Integers = np.arange(length.sum()) + np.repeat(start - (np.cumsum(length) - length), length)
    return found


def of_each(function: np.ufunc, values: NDArray[Any], size: Integers) -> NDArray[Any]:
    """Return what a function makes of so many values each, 0 of none.

    >>> of_each(np.add, np.array([5, 6, 7]), np.array([2, 0, 1])).tolist()
    [11, 0, 7]
    """
    found = np.zeros(len(size), dtype=values.dtype)
    found[size > 0] = function.reduceat(values, (np.cumsum(size) - size)[size > 0])
    return found


@dataclass(frozen=True)
class PairEdits:
    """How far texts are apart, pair by pair: word edits, words, and whether there is a value; arrays of one shape."""

    edits: NDArray[np.int32]
    words: NDArray[np.int32]
    known: NDArray[np.bool_]

    def take(self, rows: Integers) -> PairEdits:
        """Return those at some places of the last axis."""
        if np.array_equal(rows, np.arange(self.known.shape[-1])):
            return self
        return PairEdits(self.edits[..., rows], self.words[..., rows], self.known[..., rows])


def pair_edits(left: Integers, right: Integers, words: Words, *, longer: bool = False) -> PairEdits:
    """Compare texts that are given as places among those of `words` (-1: none), every distinct pair once.

    `words` of a pair are those of the left text, or with `longer` those of the longer; two empty texts are 0 edits of 0
    words.

    >>> words = Words.of(pl.Series(["turn it off", "turn off now please"]))
    >>> found = pair_edits(np.array([0, 0, -1]), np.array([1, 0, 1]), words)
    >>> found.edits.tolist(), found.words.tolist(), found.known.tolist()
    ([3, 0, 0], [3, 3, 0], [True, True, False])
    """
    known = (left >= 0) & (right >= 0)
    size = max(1, len(words))
    keys, back = np.unique(left[known] * size + right[known], return_inverse=True)
    said, heard = np.divmod(keys, size)
    edits = np.zeros(len(keys), dtype=np.int32)
    for rows in words.blocks(said, heard):
        edits[rows], _ = errors_and_hits(words.codes, words.spans[said[rows]], words.spans[heard[rows]])
    length = words.spans.lengths[said]
    if longer:
        length = np.maximum(length, words.spans.lengths[heard])
    found = np.zeros((2, *left.shape), dtype=np.int32)
    found[0, known], found[1, known] = edits[back], length[back]
    return PairEdits(found[0], found[1], known)
