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
from functools import cached_property, lru_cache
from pathlib import Path

from voxaudit.corpus.languages import FUNCTION_WORDS
from voxaudit.errors import VoxauditError
from voxaudit.score.align import differences

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

    @cached_property
    def _known(self) -> dict[str, str]:
        """The class of every word met so far."""
        return {}

    def classes(self, words: Sequence[str]) -> list[str]:
        """Return the class of each word.

        >>> Weights(LEXICONS["en"], frozenset({"ashley"})).classes("not ashley the card c 7".split())
        ['negations', 'names', 'function', 'content', 'letters', 'numbers']
        """
        known = self._known
        found = [known[word] if word in known else self._class_of(word) for word in words]
        spelled = ("numbers", "letters")
        for index in range(1, len(words) - 1):
            # "A" is a letter in "c n a 7", an article in "a card".
            if (
                words[index] in self.lexicon.letters
                and found[index - 1] in spelled
                and found[index + 1] in spelled
            ):
                found[index] = "letters"
        for start, stop in self.places(words):
            found[start:stop] = ["terms"] * (stop - start)
        return found

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

    def _class_of(self, word: str) -> str:
        lexicon = self.lexicon
        if word[0].isdigit():
            found = "numbers"
        elif len(word) == 1 and word.isascii() and word not in lexicon.letters:
            found = "letters"
        elif word in self.names:
            found = "names"
        elif word in lexicon.negations:
            found = "negations"
        else:
            found = "function" if word in lexicon.function or word in lexicon.answers else "content"
        self._known[word] = found
        return found


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


_CAPITAL = re.compile(r"(?<=[\w,;] )[^\W\d_a-z][^\W\d_]{2,}")
_LOWER = re.compile(r"[^\W\d_]{3,}")


def names_in(texts: Iterable[str], lexicon: Lexicon) -> frozenset[str]:
    """Return the words, in lower case, that are written with a capital inside sentences more often than without.

    >>> sorted(names_in(["My name is Ashley. Hi Anna.", "Ashley is here."], LEXICONS["en"]))
    ['anna', 'ashley']
    """
    if not lexicon.capitals:
        return frozenset()
    large: Counter[str] = Counter()
    small: Counter[str] = Counter()
    for text in texts:
        found = [word for word in _CAPITAL.findall(text) if word[0].isupper() and word[1:].islower()]
        large.update(word.lower() for word in found)
        small.update(word for word in _LOWER.findall(text) if word.islower())
    closed = lexicon.function | lexicon.negations | lexicon.answers
    return frozenset(word for word, times in large.items() if times > small[word] and word not in closed)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Words that were said and what was heard in their place, with where they start; one of both may be nothing."""

    start: int
    lost: tuple[str, ...]
    heard_start: int
    new: tuple[str, ...]


@dataclass(frozen=True)
class Weighed:
    """A transcript against its reference: words said, errors and words kept by class, and where they differ.

    `heard` counts the words of the transcript by class: of those, `kept` are right.
    """

    said: Mapping[str, int]
    heard: Mapping[str, int]
    kept: Mapping[str, int]
    errors: Mapping[str, int]
    stretches: tuple[Stretch, ...]


@lru_cache(maxsize=65_536)
def stretches(said: str, heard: str) -> tuple[Stretch, ...]:
    """Return where two normalized texts differ, from left to right.

    >>> stretches("turn it off", "turn off now")
    (Stretch(start=1, lost=('it', 'off'), heard_start=1, new=('off', 'now')),)
    """
    if said == heard:
        return ()
    words, answer = said.split(), heard.split()
    return tuple(
        Stretch(start, tuple(words[start:stop]), first, tuple(answer[first:last]))
        for start, stop, first, last in differences(words, answer)
    )


def weigh(said: str, heard: str, weights: Weights) -> Weighed:
    """Return the counts of a pair by class.

    >>> found = weigh("c n 7 3 4 please", "c m 7 3 4", Weights(LEXICONS["en"]))
    >>> found.said["letters"], found.errors
    (2, Counter({'letters': 1, 'function': 1}))
    """
    words, answer = said.split(), heard.split()
    own = weights.classes(words)
    if said == heard:
        counts = Counter(own)
        return Weighed(counts, counts, counts, Counter(), ())
    theirs = weights.classes(answer)
    errors: Counter[str] = Counter()
    kept = Counter(own)
    found = stretches(said, heard)
    for one in found:
        lost = own[one.start : one.start + len(one.lost)]
        new = theirs[one.heard_start : one.heard_start + len(one.new)]
        kept.subtract(lost)
        errors.update(lost)
        # Substitutions count once, by the word that was said; what is more than was said is added.
        errors.update(new[len(lost) :])
    return Weighed(Counter(own), Counter(theirs), kept, errors, found)


def agreed(one: Stretch, others: Sequence[Collection[Stretch]]) -> bool:
    """Say whether at least half of two or more other recognizers hear the same there: the reference is in doubt."""
    if len(others) < 2:
        return False
    same = sum(
        any((o.start, o.lost, o.new) == (one.start, one.lost, one.new) for o in other) for other in others
    )
    return same >= AGREED * len(others)


def serious(
    found: Weighed, said: str, heard: str, weights: Weights, others: Sequence[Collection[Stretch]] = ()
) -> bool:
    """Say whether a transcript has an error that matters, `others` being how those of other recognizers differ.

    It matters that a word with meaning was lost, added or became another, and that a third of what was said is gone.
    Not: other writing (spaces, accents where they tell few words apart), words said again, closed words (but for who
    is meant, and an answer that is none any more), one greeting for another, and added words that most of the others
    heard, too: those are missing in the reference (`agreed`).

    >>> weights = Weights(LEXICONS["en"])
    >>> [
    ...     serious(weigh("check my new card please", heard, weights), "check my new card please", heard, weights)
    ...     for heard in ("check my new car please", "yes check my a new card", "")
    ... ]
    [True, False, True]
    """
    if not found.stretches:
        return False
    words, answer = said.split(), heard.split()
    lexicon = weights.lexicon
    real = [
        one
        for one in found.stretches
        if not _same_writing(one.lost, one.new, lexicon) and not (not one.lost and agreed(one, others))
    ]
    closed = lexicon.function | lexicon.answers
    # "A" for "the" is no loss.
    lost = [
        word for one in real for word in one.lost if not (one.new and closed.issuperset(one.lost + one.new))
    ]
    gone = len(words) <= MOSTLY * len(lost) and (not heard or not lexicon.answers.issuperset(lost))
    return (bool(lost) and gone) or any(_matters(one, words, answer, weights) for one in real)


def _matters(one: Stretch, words: Sequence[str], answer: Sequence[str], weights: Weights) -> bool:
    lexicon = weights.lexicon
    lost = weights.classes(words)[one.start : one.start + len(one.lost)]
    new = weights.classes(answer)[one.heard_start : one.heard_start + len(one.new)]
    if not one.lost:
        meant = any(
            kind != "function" and word not in lexicon.answers
            for word, kind in zip(one.new, new, strict=True)
        )
        return bool(_EXACT & set(new)) or (meant and not _again(one, answer))
    if set(one.lost) <= lexicon.answers and set(one.new) <= lexicon.answers:
        # "Yeah" for "yes" says the same; "no" does not.
        return bool(set(one.lost) & lexicon.negations) != bool(set(one.new) & lexicon.negations)
    was, became = ([lexicon.persons.get(word, "") for word in side] for side in (one.lost, one.new))
    another = set(was) - {""} != set(became) - {""}  # "your" for "the"
    if one.new and (another or (lexicon.answers.issuperset(one.lost) and not lexicon.answers & set(one.new))):
        return True  # or "is" for "yes"
    if (
        not one.new
        and not lexicon.asked.union(lexicon.persons).isdisjoint(one.lost)
        and not _again(one, words)
    ):
        return True  # "I talk to an agent" for "may I talk to an agent": no grammar gives such words back
    weighty = any(kind != "function" for kind in (*lost, *new))
    return weighty and bool(one.new or _EXACT & set(lost) or not _again(one, words))


def _again(one: Stretch, words: Sequence[str]) -> bool:
    """Say whether words that one text has more of only say again what stands beside them in it."""
    piece, start = (one.new, one.heard_start) if one.new else (one.lost, one.start)
    stop = start + len(piece)
    beside = (tuple(words[max(start - len(piece), 0) : start]), tuple(words[stop : stop + len(piece)]))
    return piece in beside


def _same_writing(lost: Sequence[str], new: Sequence[str], lexicon: Lexicon) -> bool:
    return _folded(lost, lexicon.plain) == _folded(new, lexicon.plain)


def _folded(words: Sequence[str], plain: bool) -> str:
    text = "".join(words).replace("'", "")
    if not plain or text.isascii():
        return text
    return "".join(one for one in unicodedata.normalize("NFD", text) if not unicodedata.combining(one))
