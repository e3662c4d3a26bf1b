"""Edit distance and hits of many pairs of short sequences at once, pair beside pair in numpy.

An alignment of least edits is often not the only one, and its hits are then not unique. The one counted here is the
one that rapidfuzz traces, and jiwer with it: what begins or ends alike is matched first; then, from the end, a
deletion is taken where it is among the best, else a substitution, else an insertion, else a match.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Editops, Levenshtein

# Words as numbers: the texts of a batch become one array of codes, equal where the words are.
#
# The codes are found for all words at once, on the UTF-8 bytes of the texts, which costs a tenth of splitting every
# text into Python strings. They are exact: words share a code if and only if they are the same bytes.

Indices = NDArray[np.int64]
Keys = NDArray[np.uint64]

SLOT_BITS = 18  # of a hash table for words of up to eight bytes, and of another for longer ones
LONG_WORD = 64  # bytes; longer "words" are told apart by a dictionary, not eight bytes at a time

_NUMBERED = 8192  # texts numbered at a time: larger batches leave the processor's cache
_NEWLINE_KEY = np.uint64(0xFFFFFFFFFFFFFF0A)
_ODD_SPACES = "\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_IS_SPACE = np.zeros(256, dtype=np.bool_)
_IS_SPACE[[ord(character) for character in "\t\v\f\r\x1c\x1d\x1e\x1f "]] = True
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: spreads keys over the top bits
# A word shorter than 8 bytes is filled up with 0xFF, a byte that UTF-8 never uses.
_FILL = np.array([(2**64 - 1) >> 8 * k << 8 * k if k < 8 else 0 for k in range(9)], dtype=np.uint64)


def scratch() -> Keys:
    """Return the working table of `encode_words`, made once for many batches."""
    # Made twice, on purpose: having seen one block of this size freed, glibc keeps smaller ones for reuse
    # instead of returning them to the system after every batch, which would double the time.
    np.empty(2 << SLOT_BITS, dtype=np.uint64)
    return np.empty(2 << SLOT_BITS, dtype=np.uint64)


def encode_words(texts: Sequence[str], table: Keys) -> tuple[NDArray[np.int32], Indices, Indices]:
    """Return the codes of all words, and for each text where its words start among them and how many they are.

    Words are what `str.split()` gives. Codes are comparable within one call only.
    """
    codes, begin, sizes, *_ = _encoded(texts, table)
    return codes, begin, sizes


def number_words(texts: Sequence[str]) -> tuple[NDArray[np.int32], Indices, list[str]]:
    """Return the words of texts, one text behind the other, as numbers of a vocabulary, and how many each text has.

    Words are what `str.split()` gives.
    """
    table, numbers = scratch(), dict[bytes, int]()
    # The word of up to eight bytes that was last numbered in a slot: most words of a batch were in the one before.
    keys = np.full(1 << SLOT_BITS if len(texts) > _NUMBERED else 1, _NEWLINE_KEY)
    number_of = np.empty(len(keys), dtype=np.int32)
    parts, lengths = [np.zeros(0, dtype=np.int32)], [np.zeros(0, dtype=np.int64)]
    for first in range(0, len(texts), _NUMBERED):
        codes, begin, sizes, key, starts, ends, data = _encoded(texts[first : first + _NUMBERED], table)
        inside = np.ones(len(codes), dtype=np.bool_)
        inside[begin[1:] - 1] = False  # what stands between two texts
        # The last word written to a code's place stands for all of them.
        own = np.empty(int(codes.max(initial=-1)) + 1, dtype=np.int32)
        own[codes] = np.arange(len(codes))
        last = np.flatnonzero(inside & (own[codes] == np.arange(len(codes))))
        slot, key = codes[last], key[last]
        number = number_of.take(slot, mode="clip")
        new = np.flatnonzero((slot >= len(keys)) | (keys.take(slot, mode="clip") != key))
        number[new] = [
            numbers.setdefault(data[start:end], len(numbers))
            for start, end in zip(starts[last[new]].tolist(), ends[last[new]].tolist(), strict=True)
        ]
        own[slot] = number
        short = slot < len(keys)
        keys[slot[short]], number_of[slot[short]] = key[short], number[short]
        parts.append(own[codes[inside]])
        lengths.append(sizes)
    words = [word.decode("utf-8", "surrogatepass") for word in numbers]
    return np.concatenate(parts), np.concatenate(lengths), words


def _encoded(
    texts: Sequence[str], table: Keys
) -> tuple[NDArray[np.int32], Indices, Indices, Keys, Indices, Indices, bytes]:
    """Return what `encode_words` does, each word's first eight bytes, and where it is among the bytes of all texts."""
    data = _joined(texts).encode("utf-8", "surrogatepass")
    bytes_ = np.frombuffer(data, dtype=np.uint8, count=len(data) & ~7)
    space = bytes_ <= 32
    space &= bytes_ != 10
    if ((bytes_ < 28) & (bytes_ - 9 > 4)).any():  # control characters that are no white space
        space = _IS_SPACE[bytes_]
    edges = np.flatnonzero(space[1:] != space[:-1])
    starts = edges[0::2] + 1
    lengths = edges[1::2] - edges[0::2]

    load = _loader(bytes_)
    key = load(starts, lengths)
    hashed = key * _MULTIPLIER
    long = np.flatnonzero(lengths > 8)
    steps = _steps(long, lengths)
    for at, words in steps:
        mixed = hashed[words]
        mixed ^= mixed >> np.uint64(29)
        mixed ^= load(starts[words] + at, lengths[words] - at)
        hashed[words] = mixed * _MULTIPLIER
    hashed >>= np.uint64(64 - SLOT_BITS)
    slot = hashed.view(np.int64)
    slot[long] += 1 << SLOT_BITS

    # The last word written to a slot owns it; every other word there must be the same. A short word is its key.
    table[slot] = key
    differs = table.take(slot) != key
    slots = slot[long]
    table[slots] = long
    owner = table[slots].astype(np.int64)
    differs[long] = (
        (key[owner] != key[long]) | (lengths[owner] != lengths[long]) | (lengths[long] > LONG_WORD)
    )
    for at, words in steps:
        rest = lengths[words] - at
        owner = table[slot[words]].astype(np.int64)
        differs[words] |= load(starts[words] + at, rest) != load(starts[owner] + at, rest)

    codes = slot.astype(np.int32)
    others: dict[bytes, int] = {}
    for word in np.flatnonzero(differs).tolist():  # the losers of a slot
        start = int(starts[word])
        codes[word] = others.setdefault(data[start : start + int(lengths[word])], len(table) + len(others))
    # Between the words of two texts stands the newline that joins them.
    newlines = np.flatnonzero(key == _NEWLINE_KEY)
    begin = np.concatenate(([0], newlines + 1))
    return codes, begin, np.append(newlines, len(codes)) - begin, key, starts, starts + lengths, data


def _joined(texts: Sequence[str]) -> str:
    """Return all texts in one, a lone newline as a word between two, padded: reads may go beyond the last word."""
    joined = " \n ".join(texts)
    if joined.count("\n") != len(texts) - 1:
        joined = " \n ".join([text.replace("\n", " ") for text in texts])
    if not joined.isascii():
        for character in _ODD_SPACES:
            if character in joined:
                joined = joined.replace(character, " ")
    return f" {joined}{' ' * (LONG_WORD + 24)}"


def _loader(bytes_: NDArray[np.uint8]) -> Callable[[Indices, Indices], Keys]:
    aligned = bytes_.view("<u8")

    def load(starts: Indices, lengths: Indices) -> Keys:
        """Return the eight bytes at each start, those beyond the word's length filled up."""
        block = starts >> 3
        shift = (starts.view(np.uint64) & np.uint64(7)) << np.uint64(3)
        low: Keys = aligned.take(block)
        low >>= shift
        block += 1
        high = aligned.take(block)
        high <<= np.uint64(64) - shift  # numpy defines a shift by 64 as 0
        low |= high
        low |= _FILL.take(np.minimum(lengths, 8))
        return low

    return load


def _steps(long: Indices, lengths: Indices) -> list[tuple[int, Indices]]:
    """Return, for bytes 8, 16, ... which of the long words reach beyond them, the longest ones left out."""
    words = long[lengths[long] <= LONG_WORD]
    steps = []
    at = 8
    while len(words):
        steps.append((at, words))
        at += 8
        words = words[lengths[words] > at]
    return steps


Integers = NDArray[np.int64]
Codes = NDArray[np.int32]

LONGEST = 60  # words that fit the packing below; longer pairs are left to rapidfuzz
_AFFIX = 64  # words looked at for a common beginning or end; rapidfuzz finds what goes beyond
_STEP = 4  # pairs whose hypotheses differ by fewer words share a table

# A cell of the table is one 16-bit number: the distance, above two bits that rank the ways into the cell,
# above the hits of the best way. The least of the three ways is then the best one, ties decided by rank.
_EDIT = 1 << 8
_RANK = 1 << 6
_DELETE = np.int16(_EDIT)
_SUBSTITUTE = np.int16(_EDIT + _RANK)
_INSERT = np.int16(_EDIT + 2 * _RANK)
_MATCH = np.int16(3 * _RANK + 1)
_UNRANKED = np.int16(~(3 * _RANK))


@dataclass(frozen=True)
class Spans:
    """Where sequences lie in an array of codes: their starts and lengths."""

    starts: Integers
    lengths: Integers

    def __getitem__(self, rows: Integers) -> Spans:
        return Spans(self.starts[rows], self.lengths[rows])

    @staticmethod
    def joined(parts: Sequence[Spans], offsets: Iterable[int]) -> Spans:
        """Return the spans of arrays that are put one behind the other, each at its offset."""
        starts = [part.starts + offset for part, offset in zip(parts, offsets, strict=False)]
        return Spans(np.concatenate(starts), np.concatenate([part.lengths for part in parts]))


@dataclass(frozen=True)
class Batch:
    """Pairs of sequences in one array of codes. A pair that shares its span is equal."""

    codes: Codes
    said: Spans
    heard: Spans


def errors_and_hits(codes: Codes, said: Spans, heard: Spans) -> tuple[Integers, Integers]:
    """Return the edit distance of each pair and the hits of its alignment."""
    before, after, said, heard = _inside(codes, said, heard)
    hits = before + after
    errors = np.maximum(said.lengths, heard.lengths)  # right where one side is used up
    tables, alone = _tables(said, heard)
    for group in tables:
        errors[group], found = _side_by_side(codes, said[group], heard[group])
        hits[group] += found
    for row in alone.tolist():
        edits = _by_rapidfuzz(codes, said, heard, row)
        errors[row] = len(edits)
        hits[row] += sum([block.size for block in edits.as_matching_blocks()])
    return errors, hits


def unmatched(codes: Codes, said: Spans, heard: Spans) -> tuple[Integers, Integers]:
    """Return the stretches between matches of the same alignment: whose they are, and four columns.

    Those are the first and one past the last word said, then heard. Stretches come pair by pair, from left to right.
    """
    before, _, said, heard = _inside(codes, said, heard)
    tables, alone = _tables(said, heard)
    # Matched words (pair, said, heard). Ends stand for the matches around what lies inside.
    pairs = np.flatnonzero(said.lengths + heard.lengths)
    minus, zero = np.full(len(pairs), -1), np.zeros(len(pairs), dtype=np.int64)
    found = [
        np.stack([pairs, minus, minus, zero]),
        np.stack([pairs, said.lengths[pairs], heard.lengths[pairs], zero + 1]),
    ]
    for group in tables:
        choices = np.empty(
            (int(said.lengths[group[0]]), int(heard.lengths[group].max()), len(group)), dtype=np.int8
        )
        _side_by_side(codes, said[group], heard[group], choices)
        row, one, other = _traced(choices, said.lengths[group], heard.lengths[group])
        found.append(np.stack([group[row], one, other, np.zeros_like(row)]))
    for row in alone.tolist():
        blocks = _by_rapidfuzz(codes, said, heard, row).as_matching_blocks()
        same = [(row, block.a + n, block.b + n, 0) for block in blocks for n in range(block.size)]
        found.append(np.array(same, dtype=np.int64).reshape(-1, 4).T)
    row, one, other, last = np.concatenate(found, axis=1)
    order = np.argsort(row * (codes.size + 2) + one)  # no word of a pair is matched twice
    row, one, other, last = (values.take(order) for values in (row, one, other, last))
    # The word behind a match, and the next match: what lies between is a stretch. None begins behind a pair's end.
    here = np.flatnonzero((last[:-1] == 0) & ((np.diff(one) > 1) | (np.diff(other) > 1)))
    own = row[here]
    ends = np.stack([one[here] + 1, one[here + 1], other[here] + 1, other[here + 1]])
    return own, ends + before[own]


def _inside(codes: Codes, said: Spans, heard: Spans) -> tuple[Integers, Integers, Spans, Spans]:
    """Return how many words agree at the beginning and at the end, and what lies between."""
    both = np.minimum(said.lengths, heard.lengths)
    before = _common(codes, said.starts, heard.starts, both, 1)
    after = _common(
        codes, said.starts + said.lengths - 1, heard.starts + heard.lengths - 1, both - before, -1
    )
    said, heard = (Spans(side.starts + before, side.lengths - before - after) for side in (said, heard))
    return before, after, said, heard


def _tables(said: Spans, heard: Spans) -> tuple[list[Integers], Integers]:
    """Return the pairs with words on both sides: those that share a table, longest reference first, and the others."""
    rows = np.flatnonzero(np.minimum(said.lengths, heard.lengths))
    fits = np.maximum(said.lengths, heard.lengths)[rows] <= LONGEST
    tables, alone = [], [rows[~fits]]
    rows = rows[fits]
    width = (heard.lengths[rows] - 1) // _STEP
    order = np.argsort((width * 64 - said.lengths[rows]).astype(np.int16), kind="stable")
    rows, width = rows[order], width[order]
    for first, last in _runs(width):
        group = rows[first:last]
        few = _outliers(said.lengths[group], int(heard.lengths[group].max()))
        alone.append(group[:few])
        if few < len(group):
            tables.append(group[few:])
    return tables, np.concatenate(alone)


def _common(codes: Codes, left: Integers, right: Integers, most: Integers, step: int) -> Integers:
    """Return how many codes agree from `left` and `right` on, in the direction of `step`, up to `most`."""
    length = np.zeros(len(most), dtype=np.int64)
    rows = np.flatnonzero(most > 0)
    left, right, most = left[rows], right[rows], most[rows]
    for number in range(1, _AFFIX + 1):
        if not len(rows):
            break
        same = codes.take(left) == codes.take(right)
        length[rows[same]] = number
        same &= most > number
        on = np.flatnonzero(same)
        rows, left, right, most = rows.take(on), left.take(on), right.take(on), most.take(on)
        left += step
        right += step
    return length


def _runs(values: Integers) -> list[tuple[int, int]]:
    """Return the stretches of equal values."""
    edges = np.flatnonzero(np.diff(values)) + 1
    bounds = [0, *edges.tolist(), len(values)]
    return list(pairwise(bounds)) if len(values) else []


def _outliers(lengths: Integers, width: int) -> int:
    """Return how many of the longest pairs are too few to fill the further rows of a table.

    A row costs about `6 + 3 * width` calls of numpy however few pairs it serves; rapidfuzz takes as long
    for about half as many pairs.
    """
    worth = 3 + 3 * width // 2
    if len(lengths) < worth:
        return len(lengths)
    return int((lengths > lengths[worth - 1]).sum())


def _side_by_side(
    codes: Codes, said: Spans, heard: Spans, choices: NDArray[np.int8] | None = None
) -> tuple[Integers, Integers]:
    """Return distances and hits of pairs that are sorted by the length of `said`, longest first.

    `choices` is filled with the rank of the way into every cell, said x heard x pairs.
    """
    pairs = len(said.lengths)
    width, height = int(heard.lengths.max()), int(said.lengths[0])
    # What is read beyond the end of a shorter hypothesis fills columns that nobody looks at.
    words = codes.take(heard.starts + np.arange(width)[:, np.newaxis], mode="clip")
    above = np.empty((width + 1, pairs), dtype=np.int16)
    above[:] = (np.arange(width + 1) * _EDIT)[:, np.newaxis]
    row = np.empty_like(above)
    result = np.empty(pairs, dtype=np.int64)
    reach = pairs - np.searchsorted(said.lengths[::-1], np.arange(height + 2))
    for number in range(1, height + 1):
        live, next_live = int(reach[number]), int(reach[number + 1])
        same = words[:, :live] == codes.take(said.starts[:live] + (number - 1))
        best = np.multiply(same, _MATCH - _SUBSTITUTE)
        best += _SUBSTITUTE
        best += above[:-1, :live]
        np.minimum(best, above[1:, :live] + _DELETE, out=best)
        row[0, :live] = number * _EDIT
        # Only an insertion needs the cell to its left, so only that runs column by column.
        for column in range(width):
            cell = row[column + 1, :live]
            np.add(row[column, :live], _INSERT, out=cell)
            np.minimum(cell, best[column], out=cell)
            if choices is not None:
                np.right_shift(cell, 6, out=choices[number - 1, column, :live], casting="unsafe")
            np.bitwise_and(cell, _UNRANKED, out=cell)
        if next_live < live:  # these references end here
            result[next_live:live] = row[heard.lengths[next_live:live], np.arange(next_live, live)]
        above, row = row, above
    return result // _EDIT, result % _RANK


def _traced(
    choices: NDArray[np.int8], heights: Integers, widths: Integers
) -> tuple[Integers, Integers, Integers]:
    """Return the matches (pair, word said, word heard) on the way back through tables, of all pairs at once."""
    size, columns = len(heights), choices.shape[1]
    flat = choices.ravel()
    pairs = np.arange(size)
    said, heard = heights - 1, widths - 1
    found: list[list[Integers]] = [[], [], []]
    while len(pairs):
        way = flat.take((said * columns + heard) * size + pairs) & 3
        same = np.flatnonzero(way == 3)
        for some, values in zip(found, (pairs, said, heard), strict=True):
            some.append(values.take(same))
        said, heard = said - (way != 2), heard - (way != 0)
        inside = np.flatnonzero((said >= 0) & (heard >= 0))
        if len(inside) < len(pairs):
            pairs, said, heard = pairs.take(inside), said.take(inside), heard.take(inside)
    row, one, other = (np.concatenate(some) for some in found)
    return row, one, other


def _by_rapidfuzz(codes: Codes, said: Spans, heard: Spans, row: int) -> Editops:
    left, right = (
        codes[spans.starts[row] : spans.starts[row] + spans.lengths[row]].tolist() for spans in (said, heard)
    )
    return Levenshtein.editops(left, right)
