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

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from voxaudit.score.align import Edit, align_words

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

    Both texts are normalized already. They are aligned word by word; inserted words that say the intended word beside
    them again, or a piece of it, are repetitions; others are injections, unless they touch a substituted word: then
    one word was heard as several, and all of them are incorrect.
    """
    faults: list[Fault] = []
    words = heard.split()
    edits = align_words(intended, heard)
    for number, edit in enumerate(edits):
        first = edit.hypothesis_start
        if edit.kind == "delete":
            faults.append(Fault("word_omission", edit.reference, (), (first, first)))
        elif edit.kind == "insert":
            beside = edits[max(number - 1, 0) : number] + edits[number + 1 : number + 2]
            split = any(other.kind == "substitute" for other in beside)
            near = _near(edits, number)
            faults += _inserted(words, first, len(edit.hypothesis), near, split=split)
        elif edit.kind == "substitute":
            faults += [
                Fault(_substituted(meant, instead), (meant,), (instead,), (first + i, first + i + 1))
                for i, (meant, instead) in enumerate(zip(edit.reference, edit.hypothesis, strict=True))
            ]
    return tuple(_joined(faults))


def main_kind(faults: Sequence[Fault]) -> str | None:
    """Return the kind most words are affected by, of equals the more telling one. None without faults."""
    if not faults:
        return None
    weight = {kind: sum(max(1, len(f.heard)) for f in faults if f.kind == kind) for kind in KINDS}
    return max(_TELLING, key=lambda kind: weight[kind])


_TELLING = ("word_repetition", "syllable_repetition", "word_omission", "incorrect_word", "word_injection")


SEVERITIES = ("unusable", "meaning_changed", "words_lost", "words_added", "none")
"""How bad an answer is, the worst first: a command that cannot be carried out, one that says something else, one that
lacks a small word, one with words too many, and one without a fault."""
_TURNING = "no not never none nothing nobody cannot without on off up down"
_NEGATIONS = frozenset(_TURNING.split())


def fault_severity(intended: str, heard: str, small_words: Collection[str] = ()) -> str:
    """Return how bad an answer is for somebody who meant `intended`; both texts are normalized.

    Unusable: nothing, or less than half of the words, came through. Meaning changed: a word that carries meaning (not
    one of `small_words`), or one that turns it round (not, on, off), is gone or another. Words lost: only small words
    are. Words added: all that was meant is there, and more.

    >>> fault_severity("turn on the light", "turn off the light", {"the", "on", "off"})
    'meaning_changed'
    >>> fault_severity("turn on the light", "turn turn on the light")
    'words_added'
    """
    meant, edits = intended.split(), align_words(intended, heard)
    lost = [word for edit in edits if edit.kind in ("delete", "substitute") for word in edit.reference]
    if meant and (not heard.strip() or len(meant) - len(lost) < len(meant) / 2):
        return "unusable"
    instead = [word for edit in edits if edit.kind != "equal" for word in edit.hypothesis]
    turned = any(word in _NEGATIONS or word.endswith("n't") for word in (*lost, *instead))
    if turned or any(word not in small_words for word in lost):
        return "meaning_changed"
    return "words_lost" if lost else "words_added" if instead else "none"


def _near(edits: Sequence[Edit], number: int) -> tuple[str, ...]:
    """Return the intended words just before and just after an insertion."""
    before = edits[number - 1].reference[-1:] if number else ()
    after = edits[number + 1].reference[:1] if number + 1 < len(edits) else ()
    return (*before, *after)


def _inserted(
    words: Sequence[str], first: int, count: int, near: tuple[str, ...], *, split: bool
) -> list[Fault]:
    """Return the faults of a run of inserted words, `count` of them from `first` on."""
    faults: list[Fault] = []
    position, end = first, first + count
    while position < end:
        size = _repeated_run(words, position, first, end) or 1
        word = words[position]
        if size > 1 or word in near or [word] in (words[first - 1 : first], words[end : end + 1]):
            kind = "word_repetition"
        elif any(_is_piece(word, whole) for whole in near):
            kind = "syllable_repetition"
        else:
            kind = "incorrect_word" if split else "word_injection"
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
    """Say whether a word is a piece of the one beside it: wea of weather, king of talking, taught of talking."""
    letters = piece.strip("-'")
    if not letters or letters == whole:
        return False
    if len(letters) < len(whole) and (
        whole.startswith(letters) or (len(letters) > 2 and whole.endswith(letters))
    ):
        return True
    part = whole[: max(2, len(letters) // 2)]
    if len(letters) % len(part) == 0 and letters == part * (len(letters) // len(part)):  # tata of talking
        return True
    # A recognizer spells a sound its own way: "tal" of "talking" may be written "taught".
    return len(whole) > 3 and len(letters) <= len(whole) and letters[:2] == whole[:2]


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
    """Join neighboring faults of one kind: three wrong words in a row are one fault of three words."""
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
