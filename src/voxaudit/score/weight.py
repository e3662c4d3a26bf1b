# ruff: noqa: RUF001 - letters of other scripts are what it is about
"""Words by weight: a wrong digit, letter, name or "not" costs more than a wrong "the"; and which errors matter.

Both texts are in their spoken form (`score.spoken`), so that "seven three four" and "734" are the same three digits.
Every word has one class, and every error of the alignment belongs to one: that of the word that was said, or, where a
word was only added, of the word added. Errors of the classes add up to those of the WER.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voxaudit.corpus.languages import FUNCTION_WORDS
from voxaudit.errors import VoxauditError
from voxaudit.score.pairs import Pairs, Stretches, Words, places

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]
CountArray = NDArray[np.int32]

CLASSES = ("terms", "numbers", "letters", "names", "negations", "content", "function")
"""Classes of words, the first that fits: of the user's own list, digits, letters that are spelled, names, negations,
other words that carry meaning, and words of the closed classes with answers and greetings."""
HEAVY = CLASSES[:5]
"""The classes whose words are keywords: what they say cannot be guessed from the words around them."""
AGREED = 0.5
"""The share of the other recognizers that hear the same instead of the reference from which on it is in doubt."""

_EXACT = {
    "terms",
    "numbers",
    "letters",
}  # one too many is wrong, also where it says again what stands beside it
MOSTLY = 3
"""Losing one word in so many, or more, is to lose the utterance, whatever the words."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


@dataclass(frozen=True)
class Lexicon:
    """The closed words of a language, in the spoken form."""

    function: frozenset[str] = frozenset()
    negations: frozenset[str] = frozenset()
    answers: frozenset[str] = frozenset()
    """Yes, no, greetings and exclamations: lost from a longer sentence, or said in another word, they change little."""
    letters: frozenset[str] = frozenset()
    """Words of one letter."""
    plain: bool = False
    """True where accents tell hardly any words apart."""
    capitals: bool = True
    """True where a capital inside a sentence marks a name."""
    characters: bool = False
    """True where every character is a word: recognizers then share their choice among those that sound alike."""
    persons: Mapping[str, str] = field(default_factory=dict)
    """Whom pronouns mean: another one in their place is somebody else."""
    asked: frozenset[str] = frozenset()
    """Modal verbs and question words: without them something else, or nothing, is asked for."""


_PERSONS = "i me my mine|we us our ours|you your yours|he him his|she her hers|they them"
LEXICONS: Mapping[str, Lexicon] = {
    "en": Lexicon(
        FUNCTION_WORDS,
        _words("no not never none nothing nobody nor neither without"),
        _words(
            "yes yeah yep yup no nope okay oh ah wow hi hey hello bye goodbye well right alright please crap"
        ),
        _words("a i o"),
        plain=True,
        persons={word: own for own in _PERSONS.split("|") for word in own.split()},
        asked=_words(
            "can could may might must shall should will would how what when where which who whose why"
        ),
    ),
    "es": Lexicon(
        _words(
            "el la los las un una unos unas lo y e o u de del a al en con por para que se me te le les nos mi tu su"
            " mis tus sus es son está están ser estar fue era hay ha he han yo tú él ella usted ustedes ellos esto eso"
            " este esta ese esa estos como más pero si ya muy también"
        ),
        _words("no nunca nada nadie ningún ninguna ni sin tampoco"),
        _words("sí si no okay ah ay oh eh ajá aha hola bueno pues adiós gracias claro bien ya"),
        _words("a e o u y"),
        plain=True,
    ),
    "tr": Lexicon(
        _words(
            "ve ile bir bu şu o da de ki mi mı mu mü ben sen biz siz onlar bana sana size benim senin için gibi çok"
            " daha en kadar ama ya"
        ),
        _words("hayır yok değil hiç"),
        _words("evet hayır tamam tabii tabi peki merhaba teşekkürler lütfen ha hı aa ya olur dilerim"),
        _words("o"),
    ),
    "vi": Lexicon(
        _words(
            "là của và với thì mà ở cho các những cái này đó đấy kia ấy để ra vào lên ạ à nhé nha nhỉ vậy thế rồi được"
            " cũng đã đang sẽ có phải em anh chị tôi mình bạn cộng"
        ),
        _words("chưa chẳng đừng"),
        _words("vâng dạ ừ alo okay chào ơi"),
        _words("à ạ ơ ừ"),
    ),
    "zh": Lexicon(
        frozenset("的了呢吧吗啊呀嘛得地着过是在和就也都还这那个你您我他她"),
        frozenset("不没别"),
        frozenset("嗯哎喂哦好对"),
        capitals=False,
        characters=True,
    ),
}
"""What is known of languages, by code. Without an entry all words but digits and letters are content."""


@dataclass(frozen=True)
class Weights:
    """What gives words of a language their class: its lexicon, names in lower case, and the user's own terms."""

    lexicon: Lexicon = field(default_factory=Lexicon)
    names: frozenset[str] = frozenset()
    terms: frozenset[tuple[str, ...]] = frozenset()
    """Words and phrases, in the spoken form."""

    @cached_property
    def _first(self) -> dict[str, list[tuple[str, ...]]]:
        found: dict[str, list[tuple[str, ...]]] = {}
        for term in sorted(self.terms, key=len, reverse=True):
            found.setdefault(term[0], []).append(term)
        return found

    @property
    def first_words(self) -> Collection[str]:
        """The first words of the terms."""
        return self._first.keys()

    def places(self, words: Sequence[str]) -> list[tuple[int, int]]:
        """Return where terms of the user's list stand, the longest first where several fit; they do not overlap."""
        found: list[tuple[int, int]] = []
        start = 0
        while self.terms and start < len(words):
            fits = (
                len(term)
                for term in self._first.get(words[start], ())
                if tuple(words[start : start + len(term)]) == term
            )
            size = next(fits, 0)
            found += [(start, start + size)] if size else []
            start += size or 1
        return found

    def class_of(self, word: str) -> str:
        """Return the class of a word by itself.

        >>> weights = Weights(LEXICONS["en"], frozenset({"ashley"}))
        >>> [weights.class_of(word) for word in "not ashley the card c 7".split()]
        ['negations', 'names', 'function', 'content', 'letters', 'numbers']
        """
        lexicon = self.lexicon
        if word[0].isdigit():
            return "numbers"
        if len(word) == 1 and word.isascii() and word not in lexicon.letters:
            return "letters"
        if word in self.names:
            return "names"
        if word in lexicon.negations:
            return "negations"
        return "function" if word in lexicon.function or word in lexicon.answers else "content"


MOST_TERMS = 100_000
"""Characters of a file of terms that are read."""


def read_terms(path: str | Path) -> tuple[str, ...]:
    """Return the words and phrases in a file, one per line; empty lines and lines that start with # are left out."""
    try:
        with Path(path).open(encoding="utf-8") as file:
            text = file.read(MOST_TERMS + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise VoxauditError(
            f"{path}: a file of keywords cannot be read ({error})", see=("keywords",)
        ) from error
    if len(text) > MOST_TERMS:
        raise VoxauditError(f"{path}: more than {MOST_TERMS:,} characters of keywords", see=("keywords",))
    lines = (line.strip() for line in text.splitlines())
    return tuple(dict.fromkeys(line for line in lines if line and not line.startswith("#")))


_CAPITAL = re.compile(
    r" (?<=[\w,;] )([^\W\d_a-z][^\W\d_]{2,})"
)  # begins with a blank: those are found quickly
_LOWER = re.compile(r"[^\W\d_]{3,}")


def names_in(texts: Iterable[str], lexicon: Lexicon) -> frozenset[str]:
    """Return the words, in lower case, that are written with a capital inside sentences more often than without.

    >>> sorted(names_in(["My name is Ashley. Hi Anna.", "Ashley is here."], LEXICONS["en"]))
    ['anna', 'ashley']
    """
    if not lexicon.capitals:
        return frozenset()
    joined = "\n".join(texts)  # no pattern reaches from one text into the next
    found = (word for word in _CAPITAL.findall(joined) if word[0].isupper() and word[1:].islower())
    large = Counter(word.lower() for word in found)
    small = Counter(_LOWER.findall(joined)) if large else Counter[str]()
    closed = lexicon.function | lexicon.negations | lexicon.answers
    return frozenset(word for word, times in large.items() if times > small[word] and word not in closed)


@dataclass(frozen=True, eq=False)
class Weighed:
    """Pairs of texts by class of word (pairs x `CLASSES`), and which errors matter.

    `heard` counts the words of the transcripts by class: of those, `kept` are right. `serious` says which pairs have an
    error that matters whatever other recognizers heard; `added` are the stretches with words that were only added, and
    `weighty` which of them matter unless others heard them, too.
    """

    said: CountArray
    heard: CountArray
    kept: CountArray
    errors: CountArray
    serious: BoolArray
    added: Stretches
    weighty: BoolArray


def weigh(pairs: Pairs, weights: Weights) -> Weighed:
    """Return the counts of pairs by class, and which errors matter.

    It matters that a word with meaning was lost, added or became another, and that a third of what was said is gone.
    Not: other writing (spaces, accents where they tell few words apart), words said again, closed words (but for who
    is meant, and an answer that is none any more), one greeting for another, and added words that most of the others
    heard, too: those are missing in the reference.

    >>> heard = ["check my new car please", "yes check my a new card", ""]
    >>> pairs = Pairs.of(pl.Series(["check my new card please"] * 3), pl.Series(heard))
    >>> found = weigh(pairs, Weights(LEXICONS["en"]))
    >>> found.serious[pairs.pair].tolist(), found.errors[pairs.pair].sum(axis=1).tolist()
    ([True, False, True], [1, 3, 5])
    """
    words, spans = pairs.words, pairs.words.spans
    kind = _kinds(words, weights)
    # Half as wide as usual: of a million trials, seven classes four times are what memory goes into.
    of_text: CountArray = (
        np.bincount(
            np.repeat(np.arange(len(spans.lengths)), spans.lengths) * len(CLASSES) + kind,
            minlength=len(spans.lengths) * len(CLASSES),
        )
        .astype(np.int32)
        .reshape(-1, len(CLASSES))
    )
    said, heard = of_text[pairs.said], of_text[pairs.heard]
    found = pairs.stretches
    whose, theirs = spans.starts[pairs.said[found.pair]], spans.starts[pairs.heard[found.pair]]
    lost, new = (whose + found.start, whose + found.stop), (theirs + found.first, theirs + found.last)
    # Substitutions count once, by the word that was said; what is more than was said is added.
    beyond = np.minimum(new[0] + (lost[1] - lost[0]), new[1])
    gone = _classes_in(kind, *lost, found.pair, len(pairs))
    errors = gone + _classes_in(kind, beyond, new[1], found.pair, len(pairs))
    judged = _Judged(words, kind, weights, lost, new)
    real = ~judged.same_writing()
    nothing_lost = lost[0] == lost[1]
    matters = judged.matters(nothing_lost, _again(pairs, found, nothing_lost, lost, new))
    # "A" for "the" is no loss.
    counts = real & ~judged.small_change()
    size = np.where(counts, lost[1] - lost[0], 0)
    many = np.bincount(found.pair, size, len(pairs))
    more = np.bincount(found.pair, np.where(counts, size - judged.answers[0], 0), len(pairs))
    silent = spans.lengths[pairs.heard] == 0
    serious = (many > 0) & (spans.lengths[pairs.said] <= MOSTLY * many) & (silent | (more > 0))
    serious[found.pair[real & matters & ~nothing_lost]] = True
    return Weighed(
        said, heard, said - gone, errors, serious, found[nothing_lost], (real & matters)[nothing_lost]
    )


def agreed(added: pl.DataFrame, trials: pl.DataFrame) -> pl.Series:
    """Say which added stretches at least half of two or more other recognizers have, too: the reference is in doubt.

    `trials` has one row per answer: `cell`, the audio it is about, and `recognizer`; `added` has these, too, with
    `start` and `new`, where what was added.
    """
    same, asked = ["cell", "start", "new"], ["cell"]
    others = [
        added.join(rows.group_by(keys).agg(n=pl.len()), on=keys, how="left", maintain_order="left")["n"]
        - added.join(
            rows.group_by(*keys, "recognizer").agg(n=pl.len()),
            on=[*keys, "recognizer"],
            how="left",
            maintain_order="left",
        )["n"]
        for rows, keys in ((added, same), (trials, asked))
    ]
    return (others[1] >= 2) & (others[0] >= AGREED * others[1])


def _kinds(words: Words, weights: Weights) -> IntArray:
    """Return the class of every word of all texts, as its number in `CLASSES`."""
    number = {name: place for place, name in enumerate(CLASSES)}
    kind = np.array([number[weights.class_of(word)] for word in words.vocabulary], dtype=np.int64)[
        words.codes
    ]
    letter = _flags(words, weights.lexicon.letters)
    inside = np.ones(len(kind), dtype=bool)
    filled = words.spans.lengths > 0
    inside[words.spans.starts[filled]] = False
    inside[(words.spans.starts + words.spans.lengths - 1)[filled]] = False
    letters, spelled = number["letters"], [number["numbers"], number["letters"]]
    # "A" is a letter in "c n a 7", an article in "a card". From left to right: one letter makes the next one.
    for place in np.flatnonzero(letter & inside).tolist():
        if kind[place - 1] in spelled and kind[place + 1] in spelled:
            kind[place] = letters
    for text in np.flatnonzero(_in_texts(_flags(words, weights.first_words), words)).tolist():
        start = int(words.spans.starts[text])
        for first, last in weights.places(words.text(text)):
            kind[start + first : start + last] = number["terms"]
    return kind


def _chosen(words: Words, chosen: Collection[str]) -> BoolArray:
    """Say of every word of the vocabulary whether it is one of some."""
    return np.array([word in chosen for word in words.vocabulary], dtype=bool)


def _flags(words: Words, chosen: Collection[str]) -> BoolArray:
    """Say of every word of all texts whether it is one of some."""
    return _chosen(words, chosen)[words.codes]


def _in_texts(flag: BoolArray, words: Words) -> IntArray:
    return _in_ranges(flag, words.spans.starts, words.spans.starts + words.spans.lengths)


def _in_ranges(values: NDArray[Any], start: IntArray, stop: IntArray) -> IntArray:
    """Return the sums of values from `start` up to `stop`."""
    sums = np.zeros(len(values) + 1, dtype=np.int64)
    np.cumsum(values, out=sums[1:])
    return np.asarray(sums[stop] - sums[start])


def _classes_in(kind: IntArray, start: IntArray, stop: IntArray, pair: IntArray, pairs: int) -> CountArray:
    """Return how many words of each class stand in stretches, pairs x classes."""
    key = np.repeat(pair, stop - start) * len(CLASSES) + kind[places(start, stop)]
    return np.bincount(key, minlength=pairs * len(CLASSES)).reshape(-1, len(CLASSES)).astype(np.int32)


def _again(
    pairs: Pairs, found: Stretches, nothing_lost: BoolArray, lost: Sequence[IntArray], new: Sequence[IntArray]
) -> BoolArray:
    """Say whether words that one text has more of only say again what stands beside them in it."""
    codes, spans = pairs.words.codes, pairs.words.spans
    text = np.where(nothing_lost, pairs.heard[found.pair], pairs.said[found.pair])
    start, stop = (np.where(nothing_lost, theirs, ours) for ours, theirs in zip(lost, new, strict=True))
    size = stop - start
    first, end = spans.starts[text], spans.starts[text] + spans.lengths[text]
    alone = nothing_lost | (new[0] == new[1])
    again = np.zeros(len(start), dtype=bool)
    for beside in (start - size, stop):
        rows = np.flatnonzero(alone & (beside >= first) & (beside + size <= end))
        step = 0
        while len(rows):
            rows = rows[codes[start[rows] + step] == codes[beside[rows] + step]]
            step += 1
            again[rows[size[rows] == step]] = True
            rows = rows[size[rows] > step]
    return again


class _Judged:
    """Stretches, as ranges of the words of all texts that were lost and that are new, and what they are made of."""

    def __init__(
        self,
        words: Words,
        kind: IntArray,
        weights: Weights,
        lost: Sequence[IntArray],
        new: Sequence[IntArray],
    ) -> None:
        self.words, self.weights, self.sides = words, weights, (lost, new)
        self.sizes = [side[1] - side[0] for side in self.sides]
        self.places = [places(*side) for side in self.sides]
        self.codes = [words.codes[own] for own in self.places]
        lexicon = weights.lexicon
        self.answers = self._count_in(lexicon.answers)
        self.closed = self._count_in(lexicon.function | lexicon.answers)
        self.negations = self._count_in(lexicon.negations)
        self.asked = self._count_in(lexicon.asked.union(lexicon.persons))
        meant = [kind[own] != CLASSES.index("function") for own in self.places]
        self.weighty = self._sums(meant)
        answers = _chosen(words, lexicon.answers)
        self.meant = self._sums([own & ~answers[codes] for own, codes in zip(meant, self.codes, strict=True)])
        exact = [CLASSES.index(name) for name in _EXACT]
        self.exact = self._sums([np.isin(kind[own], exact) for own in self.places])

    def _sums(self, values: Sequence[NDArray[Any]]) -> list[IntArray]:
        """Return the sums of a value of the words lost, and of the words new, by stretch."""
        ends = [np.cumsum(size) for size in self.sizes]
        return [
            _in_ranges(own, end - size, end) for own, end, size in zip(values, ends, self.sizes, strict=True)
        ]

    def _count(self, of_word: NDArray[Any]) -> list[IntArray]:
        """Return the sums of what words of the vocabulary are, among those lost and those new."""
        return self._sums([of_word[codes] for codes in self.codes])

    def _count_in(self, chosen: Collection[str]) -> list[IntArray]:
        """Return how many of some words are among those lost and those new."""
        return self._count(_chosen(self.words, chosen))

    def small_change(self) -> BoolArray:
        """Say where closed words took the place of closed words."""
        all_closed = sum(self.closed) == sum(self.sizes)
        return np.asarray((self.sizes[1] > 0) & all_closed)

    def matters(self, nothing_lost: BoolArray, again: BoolArray) -> BoolArray:
        """Say which stretches change what is meant."""
        lost, new = self.sizes
        persons = self.weights.lexicon.persons
        another = np.zeros(len(lost), dtype=bool)  # "your" for "the"
        for person in set(persons.values()):
            was, became = self._count_in({one for one in persons if persons[one] == person})
            another |= (was > 0) != (became > 0)
        added = (self.exact[1] > 0) | ((self.meant[1] > 0) & ~again)
        # "Yeah" for "yes" says the same; "no" does not.
        greeting = (self.answers[0] == lost) & (self.answers[1] == new)
        turned = (self.negations[0] > 0) != (self.negations[1] > 0)
        # "Is" for "yes" answers no more.
        changed = (new > 0) & (another | ((self.answers[0] == lost) & (self.answers[1] == 0)))
        # "I talk to an agent" for "may I talk to an agent": no grammar gives such words back.
        unasked = (new == 0) & (self.asked[0] > 0) & ~again
        weighty = (self.weighty[0] + self.weighty[1] > 0) & ((new > 0) | (self.exact[0] > 0) | ~again)
        return np.where(nothing_lost, added, np.where(greeting, turned, changed | unasked | weighty))

    def same_writing(self) -> BoolArray:
        """Say where the same letters were written with other spaces or accents."""
        plain = self.weights.lexicon.plain
        folded = [_folded(word, plain) for word in self.words.vocabulary]
        same = np.ones(len(self.sizes[0]), dtype=bool)
        # The same letters have the same sums: few others are left to be compared.
        for measure in (len, _sum, _sum_of_squares):
            lost, new = self._count(np.array([measure(word) for word in folded], dtype=np.int64))
            same &= lost == new
        for row in np.flatnonzero(same).tolist():
            one, other = (
                "".join(folded[code] for code in self.words.codes[side[0][row] : side[1][row]])
                for side in self.sides
            )
            same[row] = one == other
        return same


def _sum(text: str) -> int:
    return sum(map(ord, text))


def _sum_of_squares(text: str) -> int:
    return sum(ord(one) ** 2 for one in text)


def _folded(word: str, plain: bool) -> str:
    text = word.replace("'", "")
    if not plain or text.isascii():
        return text
    return "".join(one for one in unicodedata.normalize("NFD", text) if not unicodedata.combining(one))
