"""What kind of mistake it is: ASTER's five kinds of fault, read from the words (Table V).

| kind | example: intended, heard |
|---|---|
| word_injection | we can convert a type: we can convert *i* a type |
| incorrect_word | she never spoke: she *neverso* spoke |
| word_repetition | he plays for Pisa: *hehehe* plays for Pisa |
| word_omission | they both agree on the same: they both agree the same |
| syllable_repetition | together they had five sons: together they had *fiive* sons |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from voxaudit.score.align import align_words

KINDS = ("word_injection", "incorrect_word", "word_repetition", "word_omission", "syllable_repetition")
"""The five kinds, in the order of the paper's table."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One mistake: its kind, the intended words and the words heard instead.

    `span` is where it stands in the transcript, first word and one past the last; an omission has an empty span
    at the place where the word is missing.
    """

    kind: str
    intended: tuple[str, ...]
    heard: tuple[str, ...]
    span: tuple[int, int]


def find_faults(intended: str, heard: str) -> tuple[Fault, ...]:
    """Return the faults of a transcript against what the person meant to say, in the order of the transcript.

    Both texts are normalised already. Where repetitions can be taken out of the transcript so that the intended words
    remain, they are repetitions; what is left is aligned word by word.
    """
    faults: list[Fault] = []
    words = heard.split()
    for edit in align_words(intended, heard):
        first = edit.hypothesis_start
        if edit.kind == "delete":
            faults.append(Fault("word_omission", edit.reference, (), (first, first)))
        elif edit.kind == "insert":
            faults += _inserted(words, first, len(edit.hypothesis))
        elif edit.kind == "substitute":
            faults += [
                Fault(_substituted(meant, instead), (meant,), (instead,), (first + i, first + i + 1))
                for i, (meant, instead) in enumerate(zip(edit.reference, edit.hypothesis, strict=True))
            ]
    return tuple(_joined(faults))


def main_kind(faults: Sequence[Fault]) -> str | None:
    """Return the kind most words are affected by; the paper's order decides between equals. None without faults."""
    if not faults:
        return None
    weight = {kind: sum(max(1, len(f.heard)) for f in faults if f.kind == kind) for kind in KINDS}
    return max(KINDS, key=lambda kind: weight[kind])


def _inserted(words: Sequence[str], first: int, count: int) -> list[Fault]:
    """Return the faults of a run of inserted words, `count` of them from `first` on."""
    faults: list[Fault] = []
    position, end = first, first + count
    while position < end:
        size = _repeated_run(words, position, first, end)
        if size:
            kind = "word_repetition"
        elif any(_is_piece(words[position], whole) for whole in words[end : end + 1]):
            kind, size = "syllable_repetition", 1
        elif words[position : position + 1] in (
            words[position + 1 : position + 2],
            words[position - 1 : position],
        ):
            kind, size = "word_repetition", 1
        else:
            kind, size = "word_injection", 1
        faults.append(Fault(kind, (), tuple(words[position : position + size]), (position, position + size)))
        position += size
    return faults


def _repeated_run(words: Sequence[str], position: int, first: int, end: int) -> int:
    """Return the length of the longest run of inserted words that the words around the insertion say too."""
    for length in range(end - position, 0, -1):
        run = words[position : position + length]
        before = words[max(first - length, 0) : first]
        if run in (words[end : end + length], before):
            return length
    return 0


def _is_piece(piece: str, whole: str) -> bool:
    letters = piece.strip("-'")
    if not letters or len(letters) >= len(whole):
        return False
    if whole.startswith(letters) or _repeats(letters, whole[: len(letters)]):
        return True
    # A recogniser spells a sound its own way: "ki" heard before "kids" may be written "key".
    return len(letters) <= 4 and len(whole) > 3 and letters[:2] == whole[:2]


def _substituted(meant: str, heard: str) -> str:
    """Return the kind of a word heard instead of another."""
    count, rest = divmod(len(heard), len(meant))
    if count >= 2 and not rest and heard == meant * count:
        return "word_repetition"
    if _repeats(heard, meant) or heard.replace("-", "") == meant or _has_stutter(heard, meant):
        return "syllable_repetition"
    return "incorrect_word"


def _repeats(heard: str, meant: str) -> bool:
    """Say whether `heard` is `meant` with one part of it said more than once: five, fi-i-ve; door, dodoor."""
    extra = len(heard) - len(meant)
    if extra <= 0:
        return False
    for stop in range(1, len(meant) + 1):
        for start in range(stop):
            part = meant[start:stop]
            times, rest = divmod(extra, len(part))
            if not rest and heard == meant[:stop] + part * times + meant[stop:]:
                return True
    return False


def _has_stutter(heard: str, meant: str) -> bool:
    """Say whether a hyphenated word stutters its way to the intended one: d-d-door, wea-weather."""
    *pieces, last = [piece for piece in heard.split("-") if piece] or [heard]
    return bool(pieces) and last == meant and all(meant.startswith(piece) for piece in pieces)


def _joined(faults: Sequence[Fault]) -> list[Fault]:
    """Join neighbouring faults of one kind: three wrong words in a row are one fault of three words."""
    joined: list[Fault] = []
    for fault in faults:
        last = joined[-1] if joined else None
        if last is not None and last.kind == fault.kind and last.span[1] == fault.span[0]:
            joined[-1] = Fault(
                fault.kind,
                last.intended + fault.intended,
                last.heard + fault.heard,
                (last.span[0], fault.span[1]),
            )
        else:
            joined.append(fault)
    return joined
