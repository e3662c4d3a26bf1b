"""Align reference and hypothesis: counts of words and characters, one pair or millions, and the edits to show.

Counts are equal to `jiwer.process_words` and `jiwer.process_characters`, also where several alignments are best.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cpdist

from voxaudit.errors import VoxauditError
from voxaudit.score.counts import Counts
from voxaudit.score.kernel import Batch, Integers, Keys, Spans, encode_words, errors_and_hits, scratch

COUNT_COLUMNS = ("hits", "substitutions", "deletions", "insertions")
"""The columns of a table of counts, 64-bit integers, so that sums over any number of rows hold."""

Texts = Sequence[str] | pl.Series
Kind = Literal["equal", "substitute", "delete", "insert"]

_ENCODED = 2048  # pairs encoded at a time: larger batches leave the processor's cache
_ALIGNED = 65_536  # pairs aligned at a time: smaller batches leave numpy too little to do in a call
_CHARACTERS = 400_000  # encoded at a time; up to four times as many words are aligned at a time
_KINDS: dict[str, Kind] = {"equal": "equal", "replace": "substitute", "delete": "delete", "insert": "insert"}


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

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Words said and heard side by side, the empty one where there is none."""
        return list(zip_longest(self.reference, self.hypothesis, fillvalue=""))


def count_words(reference: str, hypothesis: str) -> Counts:
    """Return the word counts of one pair. Words are what white space separates; nothing is normalized here.

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
    # opcodes and editops trace the same alignment: what is shown is what was counted.
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


def differences(words: Sequence[str], heard: Sequence[str]) -> list[tuple[int, int, int, int]]:
    """Return the stretches without a match in the same alignment: first and one past the last word said, and heard.

    >>> differences(["turn", "it", "off"], ["turn", "off", "now"])
    [(1, 3, 1, 3)]
    """
    found: list[tuple[int, int, int, int]] = []
    behind = None  # the last stretch, where nothing was matched since
    steps: list[Any] = Levenshtein.opcodes(*_as_integers(words, heard)).as_list()
    for tag, start, stop, first, last in steps:
        if tag == "equal":
            behind = None
            continue
        if behind is not None:
            start, _, first, _ = found.pop()
        behind = (start, stop, first, last)
        found.append(behind)
    return found


def changed_words(reference: str, hypothesis: str) -> list[tuple[str | None, str | None]]:
    """Return the words said and heard of the edits of `align_words`, without its stretches, at a third of the cost.

    >>> changed_words("turn it off please", "turn off now")
    [('it', None), ('please', 'now')]
    """
    words, heard = reference.split(), hypothesis.split()
    return [
        (None if kind == "insert" else words[at], None if kind == "delete" else heard[to])
        for kind, at, to in _edits(words, heard)
    ]


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

    `normalized` says that a normalizer has evened out the white space already.
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


def _edits(words: Sequence[str], heard: Sequence[str]) -> list[tuple[str, int, int]]:
    return Levenshtein.editops(*_as_integers(words, heard)).as_list()  # type: ignore[return-value]


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
    """Yield arrays of four rows, `COUNT_COLUMNS`, with a column for each pair, in order."""
    table = scratch()
    batches: list[Batch] = []
    pairs = words = first = 0
    while first < len(references):
        last = _last(references, hypotheses, first)
        batches.append(_encoded(references[first:last], hypotheses[first:last], table))
        pairs += last - first
        words += len(batches[-1].codes)
        first = last
        if pairs >= _ALIGNED or words >= 4 * _CHARACTERS or first == len(references):
            yield _counted(batches)
            batches, pairs, words = [], 0, 0


def _last(references: Sequence[str], hypotheses: Sequence[str], first: int) -> int:
    """Return where the batch that starts at `first` ends."""
    last = min(first + _ENCODED, len(references))
    # Halved until it fits: a few sums over whole slices and no running count, text by text, in Python.
    while last > first + 1:
        if sum(map(len, references[first:last])) + sum(map(len, hypotheses[first:last])) <= _CHARACTERS:
            break
        last = first + (last - first) // 2
    return last


def _encoded(references: Sequence[str], hypotheses: Sequence[str], table: Keys) -> Batch:
    """Return the codes of a batch and where the words of its references and hypotheses lie.

    Most transcripts of clear speech are right: those are not encoded a second time.
    """
    changed = [
        row for row, (said, heard) in enumerate(zip(references, hypotheses, strict=True)) if said != heard
    ]
    codes, starts, lengths = encode_words([*references, *[hypotheses[row] for row in changed]], table)
    pairs = len(references)
    said = Spans(starts[:pairs], lengths[:pairs])
    heard = Spans(said.starts.copy(), said.lengths.copy())
    heard.starts[changed] = starts[pairs:]
    heard.lengths[changed] = lengths[pairs:]
    return Batch(codes, said, heard)


def _counted(batches: Sequence[Batch]) -> NDArray[np.int64]:
    codes = np.concatenate([batch.codes for batch in batches])
    offsets = np.cumsum([0, *(len(batch.codes) for batch in batches)]).tolist()
    said = Spans.joined([batch.said for batch in batches], offsets)
    heard = Spans.joined([batch.heard for batch in batches], offsets)
    # Pairs that share their span are equal: all hits, nothing to align.
    errors, hits = np.zeros_like(said.lengths), said.lengths.copy()
    changed = np.flatnonzero(said.starts != heard.starts)
    errors[changed], hits[changed] = errors_and_hits(codes, said[changed], heard[changed])
    # From N = H+S+D, M = H+S+I and E = S+D+I.
    n, m = said.lengths, heard.lengths
    return np.stack([hits, n + m - 2 * hits - errors, errors - m + hits, errors - n + hits])


def _distances(left: Sequence[str], right: Sequence[str]) -> Integers:
    if not left:
        return np.zeros(0, dtype=np.int64)
    return cpdist(left, right, scorer=Levenshtein.distance, dtype=np.int32).astype(np.int64)


def _single_spaced(text: str) -> str:
    return " ".join(text.split())
