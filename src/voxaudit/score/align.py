"""Align reference and hypothesis: counts of words and characters, one pair or millions, and the edits to show.

An alignment of least edits is often not the only one, and its hits are then not unique. The choice made here
is rapidfuzz's, which is also jiwer's: counts are equal to `jiwer.process_words` and `process_characters`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rapidfuzz.distance import LCSseq, Levenshtein
from rapidfuzz.process import cpdist

from voxaudit.errors import VoxauditError
from voxaudit.score.counts import Counts
from voxaudit.score.encode import Keys, encode_words, scratch

COUNT_COLUMNS = ("hits", "substitutions", "deletions", "insertions")
"""The columns of a table of counts, 64-bit integers, so that sums over any number of rows hold."""

Texts = Sequence[str] | pl.Series
Kind = Literal["equal", "substitute", "delete", "insert"]

_PAIRS = 2048  # pairs encoded at a time: larger batches leave the processor's cache
_CHARACTERS = 400_000  # ... and at most about so many characters, unless one pair alone has more
_KINDS: dict[str, Kind] = {"equal": "equal", "replace": "substitute", "delete": "delete", "insert": "insert"}

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Edit:
    """A stretch of an alignment: words of the reference, words of the hypothesis and where they start.

    A substitution pairs its words one by one; a deletion has no hypothesis words, an insertion no reference words.
    """

    kind: Kind
    reference: tuple[str, ...]
    hypothesis: tuple[str, ...]
    reference_start: int
    hypothesis_start: int


def count_words(reference: str, hypothesis: str) -> Counts:
    """Return the word counts of one pair. Words are what white space separates; nothing is normalised here.

    >>> count_words("the cat sat on the mat", "the cat sit on mat")
    Counts(hits=4, substitutions=1, deletions=1, insertions=0)
    >>> count_words("", "thank you")
    Counts(hits=0, substitutions=0, deletions=0, insertions=2)
    """
    words = reference.split(), hypothesis.split()
    return _count_pair(*_as_integers(*words))


def count_characters(reference: str, hypothesis: str) -> Counts:
    """Return the character counts of one pair: code points, with one space between words and none around them."""
    return _count_pair(" ".join(reference.split()), " ".join(hypothesis.split()))


def align_words(reference: str, hypothesis: str) -> tuple[Edit, ...]:
    """Return the alignment behind `count_words` as stretches from left to right, to show or to tally.

    >>> [(edit.kind, edit.reference, edit.hypothesis) for edit in align_words("turn it off", "turn off now")]
    [('equal', ('turn',), ('turn',)), ('substitute', ('it', 'off'), ('off', 'now'))]
    """
    words, heard = reference.split(), hypothesis.split()
    return tuple(
        Edit(
            _KINDS[op.tag],
            tuple(words[op.src_start : op.src_end]),
            tuple(heard[op.dest_start : op.dest_end]),
            *at,
        )
        for op in Levenshtein.opcodes(*_as_integers(words, heard))
        for at in [(op.src_start, op.dest_start)]
    )


def word_counts(references: Texts, hypotheses: Texts) -> pl.DataFrame:
    """Return the word counts of many pairs, row by row: a table with `COUNT_COLUMNS`.

    Equal to `count_words` on every pair, at about a microsecond each.
    """
    left, right = _lists(references, hypotheses)
    blocks = list(_word_blocks(left, right))
    if not blocks:
        return pl.DataFrame(schema=dict.fromkeys(COUNT_COLUMNS, pl.Int64))
    return pl.DataFrame(
        np.concatenate(blocks, axis=1), schema=dict.fromkeys(COUNT_COLUMNS, pl.Int64), orient="col"
    )


def stream_word_counts(pairs: Iterable[tuple[str, str]], rows: int = 65_536) -> Iterator[pl.DataFrame]:
    """Yield the word counts of any number of (reference, hypothesis) pairs, `rows` at a time, in bounded memory."""
    source = iter(pairs)
    while chunk := list(islice(source, rows)):
        references, hypotheses = zip(*chunk, strict=True)
        yield word_counts(references, hypotheses)


def character_errors(
    references: Texts, hypotheses: Texts, *, normalized: bool = False
) -> tuple[Integers, Integers]:
    """Return, row by row, the reference's characters and the errors among them, as `count_characters` does.

    `normalized` says that a normaliser has evened out the white space already.
    """
    left, right = _lists(references, hypotheses)
    if not normalized:
        left, right = list(map(_single_spaced, left)), list(map(_single_spaced, right))
    lengths = np.fromiter(map(len, left), dtype=np.int64, count=len(left))
    return lengths, _distances(left, right)


def _count_pair(reference: str | Sequence[int], hypothesis: str | Sequence[int]) -> Counts:
    edits = Levenshtein.editops(reference, hypothesis)
    substitutions = deletions = insertions = 0
    for edit in edits.as_list():
        if edit[0] == "replace":
            substitutions += 1
        elif edit[0] == "delete":
            deletions += 1
        else:
            insertions += 1
    return Counts(len(reference) - substitutions - deletions, substitutions, deletions, insertions)


def _as_integers(words: Sequence[str], heard: Sequence[str]) -> tuple[list[int], list[int]]:
    """Return words as integers: rapidfuzz compares hashes, and only those of small integers never collide."""
    numbers: dict[str, int] = {}
    return (
        [numbers.setdefault(word, len(numbers)) for word in words],
        [numbers.setdefault(word, len(numbers)) for word in heard],
    )


def _lists(references: Texts, hypotheses: Texts) -> tuple[Sequence[str], Sequence[str]]:
    if len(references) != len(hypotheses):
        raise VoxauditError(
            f"{len(references)} references but {len(hypotheses)} hypotheses: they must come in pairs"
        )
    left = _list(references, "reference")
    return left, _list(hypotheses, "hypothesis")


def _list(texts: Texts, what: str) -> Sequence[str]:
    listed: Sequence[str] = texts.to_list() if isinstance(texts, pl.Series) else texts
    if set(map(type, listed)) - {str}:  # several times faster than asking every text
        for row, text in enumerate(listed):
            if not isinstance(text, str):
                raise VoxauditError(
                    f"row {row}: the {what} is {type(text).__name__}, not text; leave such rows out"
                )
    return listed


def _word_blocks(references: Sequence[str], hypotheses: Sequence[str]) -> Iterator[NDArray[np.int64]]:
    table = scratch()
    first = 0
    while first < len(references):
        last = min(first + _PAIRS, len(references))
        while last > first + 1 and _size(references, hypotheses, first, last) > _CHARACTERS:
            last = first + (last - first) // 2
        yield _count_block(references[first:last], hypotheses[first:last], table)
        first = last


def _size(references: Sequence[str], hypotheses: Sequence[str], first: int, last: int) -> int:
    return sum(map(len, references[first:last])) + sum(map(len, hypotheses[first:last]))


def _count_block(references: Sequence[str], hypotheses: Sequence[str], table: Keys) -> NDArray[np.int64]:
    """Return an array of four rows, `COUNT_COLUMNS`, with a column for each pair."""
    pairs = len(references)
    encoded = encode_words([*references, *hypotheses], table)
    if encoded is None and pairs == 1:
        counts = count_words(references[0], hypotheses[0])
        row = (counts.hits, counts.substitutions, counts.deletions, counts.insertions)
        return np.array(row, dtype=np.int64)[:, np.newaxis]
    if encoded is None:
        half = pairs // 2
        parts = slice(0, half), slice(half, pairs)
        return np.concatenate([_count_block(references[p], hypotheses[p], table) for p in parts], axis=1)
    strings, lengths = encoded
    said, heard = lengths[:pairs], lengths[pairs:]
    errors, hits = _errors_and_hits(strings[:pairs], strings[pairs:], said, heard)
    # From N = H+S+D, M = H+S+I and E = S+D+I.
    return np.stack([hits, said + heard - 2 * hits - errors, errors - heard + hits, errors - said + hits])


def _errors_and_hits(
    left: list[str], right: list[str], said: Integers, heard: Integers
) -> tuple[Integers, Integers]:
    """Return the edit distance E of each pair and the hits H of the alignment that rapidfuzz chooses.

    H = max(N, M) - E + k for some k >= 0 with 2k <= E - |N - M|, and H is at most the longest common
    subsequence. Where that leaves k = 0 only, H is known without an alignment; the few others are aligned.
    """
    errors = _distances(left, right)
    hits = np.maximum(said, heard) - errors
    open_ = np.flatnonzero(errors - np.abs(said - heard) >= 2)
    if len(open_):
        rows = open_.tolist()
        common = cpdist(
            [left[row] for row in rows],
            [right[row] for row in rows],
            scorer=LCSseq.similarity,
            dtype=np.int32,
        )
        open_ = open_[common > hits[open_]]
        hits[open_] = [_aligned_hits(left[row], right[row]) for row in open_.tolist()]
    return errors, hits


def _aligned_hits(left: str, right: str) -> int:
    # Turning a's into b's by the same edits leaves an "a" exactly where the pair agrees.
    edits = Levenshtein.editops(left, right)
    return edits.apply("a" * len(left), "b" * len(right)).count("a")


def _distances(left: Sequence[str], right: Sequence[str]) -> Integers:
    if not left:
        return np.zeros(0, dtype=np.int64)
    return cpdist(left, right, scorer=Levenshtein.distance, dtype=np.int32).astype(np.int64)


def _single_spaced(text: str) -> str:
    return " ".join(text.split())
