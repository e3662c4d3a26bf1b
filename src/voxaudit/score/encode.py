"""Words as numbers: the texts of a batch become one array of codes, equal where the words are.

The codes are found for all words at once, on the UTF-8 bytes of the texts, which costs a tenth of splitting every
text into Python strings. They are exact: words share a code if and only if they are the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]
Keys = NDArray[np.uint64]

SLOT_BITS = 18  # of a hash table for words of up to eight bytes, and of another for longer ones
LONG_WORD = 64  # bytes; longer "words" are told apart by a dictionary, not eight bytes at a time

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
    return codes, begin, np.append(newlines, len(codes)) - begin


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
