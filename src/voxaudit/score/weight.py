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
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voxaudit.corpus.languages import FUNCTION_WORDS
from voxaudit.errors import VoxauditError
from voxaudit.score.pairs import Pairs, Stretches, Words, of_each, places

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]
CountArray = NDArray[np.signedinteger[Any]]

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
    words, found = pairs.words, pairs.stretches
    meanings = _Meanings(words, _kinds(words, weights), weights)
    of_text = meanings.by_text()
    said, heard = of_text[pairs.said], of_text[pairs.heard]
    kept, errors = said.copy(), np.empty_like(said)
    serious, matters = np.empty(len(pairs), dtype=bool), np.empty(len(found), dtype=bool)
    for first in range(0, len(pairs), _AT_A_TIME):
        some = slice(first, first + _AT_A_TIME)
        start, stop = np.searchsorted(found.pair, [some.start, some.stop])
        own = np.arange(start, stop)
        gone, more, serious[some], matters[own] = _judged(
            replace(found[own], pair=found.pair[own] - first), pairs.said[some], pairs.heard[some], meanings
        )
        kept[some] -= gone
        errors[some] = gone + more
    added = found.start == found.stop
    return Weighed(said, heard, kept, errors, serious, found[added], matters[added])


def _judged(
    found: Stretches, said: IntArray, heard: IntArray, meanings: _Meanings
) -> tuple[CountArray, CountArray, BoolArray, BoolArray]:
    """Return the words lost and added of some pairs by class, which pairs are serious, and which stretches matter."""
    spans = meanings.words.spans
    whose, theirs = spans.starts[said[found.pair]], spans.starts[heard[found.pair]]
    lost, new = (whose + found.start, whose + found.stop), (theirs + found.first, theirs + found.last)
    size = lost[1] - lost[0]
    nothing_lost, nothing_new = size == 0, new[0] == new[1]
    # Substitutions count once, by the word that was said; what is more than was said is added.
    beyond = np.minimum(new[0] + size, new[1])
    gone = meanings.by_class(np.repeat(found.pair, size), places(*lost), len(said))
    more = meanings.by_class(np.repeat(found.pair, new[1] - beyond), places(beyond, new[1]), len(said))
    was, became = meanings.within(*lost), meanings.within(*new)
    text = np.where(nothing_lost, heard[found.pair], said[found.pair])
    place = [np.where(nothing_lost, theirs, ours) for ours, theirs in zip(lost, new, strict=True)]
    again = (nothing_lost | nothing_new) & _again(meanings.words, text, *place)
    real = ~meanings.same_writing(lost, new)
    matters = real & _matters(was, became, nothing_lost, nothing_new, again, meanings.persons)
    # "A" for "the" is no loss.
    counts = real & (nothing_new | (((was | became) & _OPEN) > 0))
    many = np.bincount(found.pair, np.where(counts, size, 0), len(said))
    answers_only = np.bincount(found.pair, counts & ((was & _NO_ANSWER) > 0), len(said)) == 0
    silent = spans.lengths[heard] == 0
    serious = (many > 0) & (spans.lengths[said] <= MOSTLY * many) & (silent | ~answers_only)
    serious[found.pair[matters & ~nothing_lost]] = True
    return gone, more, serious, matters


def _matters(
    was: IntArray,
    became: IntArray,
    nothing_lost: BoolArray,
    nothing_new: BoolArray,
    again: BoolArray,
    persons: int,
) -> BoolArray:
    """Say which stretches change what is meant, by what there is among the words lost and new."""
    added = ((became & _EXACTLY) > 0) | (((became & _MEANT) > 0) & ~again)
    # "Yeah" for "yes" says the same; "no" does not.
    greeting = ((was | became) & _NO_ANSWER) == 0
    turned = ((was ^ became) & _NEGATION) > 0
    another = ((was ^ became) & persons) > 0  # "your" for "the"
    # "Is" for "yes" answers no more.
    changed = ~nothing_new & (another | (((was & _NO_ANSWER) | (became & _ANSWER)) == 0))
    # "I talk to an agent" for "may I talk to an agent": no grammar gives such words back.
    unasked = nothing_new & ((was & _ASKED) > 0) & ~again
    weighty = (((was | became) & _WEIGHTY) > 0) & (~nothing_new | ((was & _EXACTLY) > 0) | ~again)
    return np.where(nothing_lost, added, np.where(greeting, turned, changed | unasked | weighty))


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


def _kinds(words: Words, weights: Weights) -> NDArray[np.int8]:
    """Return the class of every word of all texts, as its number in `CLASSES`."""
    number = {name: place for place, name in enumerate(CLASSES)}
    of_word = np.array([number[weights.class_of(word)] for word in words.vocabulary], dtype=np.int8)
    kind = of_word[words.codes]
    starts, ends = words.spans.starts, words.spans.starts + words.spans.lengths
    spelled = [number["numbers"], number["letters"]]
    # "A" is a letter in "c n a 7", an article in "a card". From left to right: one letter makes the next one.
    letter = _flags(words, weights.lexicon.letters)
    letter[:-1] &= np.isin(kind[1:], spelled)
    letter[starts[ends > starts]] = False
    letter[ends[ends > starts] - 1] = False
    for place in np.flatnonzero(letter).tolist():
        if kind[place - 1] in spelled:
            kind[place] = number["letters"]
    for text in _with_any(words, weights.first_words):
        start = int(starts[text])
        for first, last in weights.places(words.text(text)):
            kind[start + first : start + last] = number["terms"]
    return kind


def _with_any(words: Words, chosen: Collection[str]) -> list[int]:
    """Return which texts have one of some words."""
    if not chosen:
        return []
    filled = np.flatnonzero(words.spans.lengths)
    filled = filled[np.argsort(words.spans.starts[filled])]
    place = np.searchsorted(words.spans.starts[filled], np.flatnonzero(_flags(words, chosen)), side="right")
    return sorted(set(filled[place - 1].tolist()))


def _flags(words: Words, chosen: Collection[str]) -> BoolArray:
    """Say of every word of all texts whether it is one of some."""
    return np.array([word in chosen for word in words.vocabulary], dtype=bool)[words.codes]


def _again(words: Words, text: IntArray, start: IntArray, stop: IntArray) -> BoolArray:
    """Say whether words of texts only say again what stands beside them."""
    codes, first, size = words.codes, words.spans.starts[text], stop - start
    end = first + words.spans.lengths[text]
    again = np.zeros(len(start), dtype=bool)
    for beside in (start - size, stop):
        rows = np.flatnonzero((beside >= first) & (beside + size <= end))
        step = 0
        while len(rows):
            rows = rows[codes[start[rows] + step] == codes[beside[rows] + step]]
            step += 1
            again[rows[size[rows] == step]] = True
            rows = rows[size[rows] > step]
    return again


_AT_A_TIME = 32_768
"""Texts or pairs that are gone through at a time: bounds memory, and their words stay in the processor's cache."""

_ANSWER, _NO_ANSWER, _OPEN, _NEGATION, _ASKED, _EXACTLY, _WEIGHTY, _MEANT, *_WHOM = (
    1 << place for place in range(31)
)
"""What a word is, as bits: an answer or none, of no closed class, a negation, asked for, of a class where one too many
is wrong, of a class with meaning, the same and no answer; and whom it means."""


class _Meanings:
    """What the words of all texts are, and of which class."""

    def __init__(self, words: Words, kind: NDArray[np.int8], weights: Weights) -> None:
        lexicon = weights.lexicon
        self.words, self.kind = words, kind
        # As wide as two texts need: of a million trials, seven classes four times are what memory goes into.
        self.narrow = np.min_scalar_type(-2 * int(words.spans.lengths.max(initial=0)))
        self.folded = [_folded(word, lexicon.plain) for word in words.vocabulary]
        # The same letters have the same sums: few others are left to be compared.
        sums = [sum(ord(one) ** 5 for one in word) % 2**63 for word in self.folded]
        self.letters = np.array(sums, dtype=np.int64)
        bit_of = dict(zip(sorted(set(lexicon.persons.values())), _WHOM, strict=False))
        self.persons = sum(bit_of.values())
        closed = lexicon.function | lexicon.answers
        of_word = [
            (_ANSWER if word in lexicon.answers else _NO_ANSWER)
            | (_OPEN if word not in closed else 0)
            | (_NEGATION if word in lexicon.negations else 0)
            | (_ASKED if word in lexicon.asked or word in lexicon.persons else 0)
            | (bit_of[lexicon.persons[word]] if word in lexicon.persons else 0)
            for word in words.vocabulary
        ]
        self.bits = np.tile(np.array(of_word, dtype=np.int32), (len(CLASSES), 1))  # by class and word
        for bits, name in zip(self.bits, CLASSES, strict=True):
            bits |= _EXACTLY if name in _EXACT else 0
            if name != "function":
                bits |= np.where(bits & _NO_ANSWER, _WEIGHTY | _MEANT, _WEIGHTY).astype(np.int32)

    def by_class(self, row: IntArray, where: IntArray | slice, rows: int) -> CountArray:
        """Return how many words of each class there are by row, rows x classes."""
        key = row * len(CLASSES) + self.kind[where]
        return np.bincount(key, minlength=rows * len(CLASSES)).reshape(-1, len(CLASSES)).astype(self.narrow)

    def by_text(self) -> CountArray:
        """Return how many words of each class there are in texts, texts x classes."""
        found = np.empty((len(self.words), len(CLASSES)), dtype=self.narrow)
        for some, where, size in self.words.parts():
            found[some] = self.by_class(np.repeat(np.arange(len(size)), size), where, len(size))
        return found

    def within(self, start: IntArray, stop: IntArray) -> IntArray:
        """Return what there is among the words of stretches."""
        own = places(start, stop)
        return of_each(np.bitwise_or, self.bits[self.kind[own], self.words.codes[own]], stop - start)

    def same_writing(self, lost: Sequence[IntArray], new: Sequence[IntArray]) -> BoolArray:
        """Say where the same letters were written with other spaces or accents."""
        codes = self.words.codes
        one, other = (
            of_each(np.add, self.letters[codes[places(*side)]], side[1] - side[0]) for side in (lost, new)
        )
        same: BoolArray = one == other
        for row in np.flatnonzero(same).tolist():
            texts = [
                "".join(map(self.folded.__getitem__, codes[side[0][row] : side[1][row]]))
                for side in (lost, new)
            ]
            same[row] = texts[0] == texts[1]
        return same


def _folded(word: str, plain: bool) -> str:
    text = word.replace("'", "")
    if not plain or text.isascii():
        return text
    return "".join(one for one in unicodedata.normalize("NFD", text) if not unicodedata.combining(one))
