"""Text normalizers: named, versioned functions that decide which differences in writing are not errors.

A rate without the name of its normalizer says little: numbers, contractions, hyphens and fillers alone can move
a word error rate by half. To add one, write a function from text to text and put a `Normalizer` in `NORMALIZERS`.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from typing import Any

import numpy as np
import polars as pl

from voxaudit.errors import VoxauditError, one_line
from voxaudit.registry import suggest
from voxaudit.score.kernel import Integers
from voxaudit.score.pairs import Words, numbered
from voxaudit.score.spoken import LANGUAGES, SPEECHES, ByWord, spoken_form


@dataclass(frozen=True)
class Normalizer:
    """A rule from text to text. Raise `version` when the same text comes out differently than before."""

    name: str
    version: int
    description: str
    function: Callable[[str], str]
    lines: Callable[[str], str] | None = None
    """The same for lines of ASCII, each of which comes out as it would by itself: many texts are one call."""
    words_of: Callable[[str], Words] | None = None
    """The words of such lines, where they are found one by one."""

    @property
    def id(self) -> str:
        """Name and version, `basic@1`: what a result is labeled with."""
        return f"{self.name}@{self.version}"

    def __call__(self, text: str) -> str:
        """Return the normalized text; words are separated by one space, and there is none around them."""
        return " ".join(self.function(text).split())


def normalizer(name: str | Normalizer) -> Normalizer:
    """Return the normalizer called `name`, with or without its version (`basic`, `basic@1`)."""
    if isinstance(name, Normalizer):
        return name
    plain, _, version = name.partition("@")
    found = NORMALIZERS.get(plain)
    if found is None:
        names = list(NORMALIZERS)
        raise VoxauditError(
            f"Unknown normalizer '{one_line(name, 80)}'.{suggest(plain, names)} Available: {', '.join(names)}"
        )
    if version and version != str(found.version):
        raise VoxauditError(
            f"Normalizer '{one_line(name, 80)}' is not in this version of voxaudit, which has {found.id}."
            f" Use {found.name}, or the version of voxaudit that had it"
        )
    return found


def language_of(rule: Normalizer) -> str | None:
    """Return the code of the one language that a normalizer is made for, None where it is for any.

    >>> language_of(normalizer("whisper-en")), language_of(normalizer("basic"))
    ('en', None)
    """
    code = rule.name.rpartition("-")[2]
    return code if code in LANGUAGES else None


def normalize_column(texts: pl.Series, chosen: str | Normalizer) -> pl.Series:
    """Return a column of texts normalized; null stays null. Where many are alike, each is normalized once."""
    rule = normalizer(chosen)
    if (
        len(texts) < _LINES_FROM
        or texts.null_count()
        or rule.lines is None
        or texts.to_frame().select(pl.first().approx_n_unique()).item() < _MOSTLY * len(texts)
    ):
        distinct, number = numbered(texts)
        place = pl.Series(number, dtype=pl.Int64).replace(-1, None)
        return _normalized(distinct, rule).gather(place).alias(texts.name)
    return _normalized(texts, rule)


def normalize_words(texts: pl.Series, chosen: str | Normalizer) -> Words:
    """Return the words of texts, normalized.

    >>> words = normalize_words(pl.Series(["It's off.", "Number 21"]), "spoken-en")
    >>> words.text(0), words.text(1)
    (['it', 'is', 'off'], ['number', '2', '1'])
    """
    rule = normalizer(chosen)
    if rule.words_of is None or len(texts) < _LINES_FROM:
        return Words.of(_normalized(texts, rule))
    plain = _plain(texts)
    lines = texts.filter(plain).to_frame().iter_slices(_LINES)
    parts = [rule.words_of(part.to_series().str.join("\n").item()) for part in lines]
    others = pl.Series(map(rule, texts.filter(~plain).to_list()), dtype=pl.String)
    words = Words.together([*parts, Words.of(others)])
    return replace(words, spans=words.spans[_places(plain)])


def _normalized(texts: pl.Series, rule: Normalizer) -> pl.Series:
    lines = rule.lines
    if len(texts) < _LINES_FROM:
        return pl.Series(texts.name, map(rule, texts.to_list()), dtype=pl.String)
    plain = _plain(texts)
    if lines is None or not plain.any():
        return pl.Series(texts.name, map(rule, texts.to_list()), dtype=pl.String)
    together = [_lines(part, lines) for part in texts.filter(plain).to_frame().iter_slices(_LINES)]
    if plain.all():
        return pl.concat(together)
    rest = pl.Series(texts.name, map(rule, texts.filter(~plain).to_list()), dtype=pl.String)
    return pl.concat([*together, rest]).gather(_places(plain))


def _plain(texts: pl.Series) -> pl.Series:
    """Say which texts are a line of ASCII."""
    return (texts.str.len_bytes() == texts.str.len_chars()) & ~texts.str.contains("\n", literal=True)


def _places(plain: pl.Series) -> Integers:
    """Return where each text stands once the plain ones have been put before the others."""
    return pl.concat([plain.arg_true(), (~plain).arg_true()]).arg_sort().to_numpy().astype(np.int64)


_MOSTLY = 0.8
"""The share of different texts from which on looking for equal ones costs more than it saves."""
_LINES_FROM = 100
"""From so many texts on, joining them pays."""
_LINES = 100_000
"""Texts that are normalized in one call: bounds memory."""


def _lines(texts: pl.DataFrame, function: Callable[[str], str]) -> pl.Series:
    column = texts.to_series()
    lines = function(column.str.join("\n").item())
    if "  " in lines:
        lines = _SPACES.sub(" ", lines)
    for space in (" \n", "\n "):
        if space in lines:
            lines = lines.replace(space, "\n")
    lines = lines.strip(" ")
    return pl.Series([lines]).str.split("\n").explode().alias(column.name)


_APOSTROPHES = frozenset("'`\u00b4\u2018\u2019\u201b\u02bc\u02bb\u2032\uff07")
_SEPARATORS = frozenset("/\\…‥•।॥፡་༌")
_ELLIPSIS = re.compile(r"\.{2,}")
_SPACES = re.compile("  +")


class _Marks(dict[int, str | None]):
    """What becomes of each character, worked out when it is first met.

    None takes one away, as the empty text would, which `str.translate` is four times slower with.
    """

    def __missing__(self, code: int) -> str | None:
        self[code] = _replacement(chr(code))
        return self[code]


def _replacement(character: str) -> str | None:
    category = unicodedata.category(character)
    if character in _APOSTROPHES:
        return None
    if character.isspace() or category[0] in "SZ" or category in ("Pd", "Pc", "Ps", "Pe", "Pi", "Pf"):
        return " "
    if character in _SEPARATORS:
        return " "
    # Po: the marks that are left. Cc, Cf, Cs: invisible. Me and variation selectors: dress of emoji and keycaps.
    invisible = category in ("Po", "Cc", "Cf", "Cs", "Me")
    return None if invisible or "VARIATION SELECTOR" in unicodedata.name(character, "") else character


_MARKS = _Marks({ord("\n"): "\n"})  # white space like any other in the end, and lines stay apart


def _basic(text: str) -> str:
    if ".." in text:
        text = _ELLIPSIS.sub(" ", text)
    text = text.translate(_MARKS).lower()
    if text.isascii():
        return text
    # Compatibility forms can hold marks of their own ("⑴" is "(1)") and taking marks away can join letter and accent.
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).translate(_MARKS).lower())


_FILLERS = {
    "um": r"u+h*m+",
    "uh": r"u+h+",
    "erm": r"e+r+m+",
    "er": r"e+r+",
    "ah": r"a+h+",
    "eh": r"e+h+",
    "hm": r"h+m+",
    "mm": r"m{2,}",
    "mhm": r"m+h+m+",
}
_FILLER = re.compile(
    rf"(?<!\S)(?:{'|'.join(f'(?P<{name}>{form})' for name, form in _FILLERS.items())})(?!\S)"
)


def _keep_fillers(text: str) -> str:
    return _FILLER.sub(lambda found: str(found.lastgroup), _basic(text))


UNSPACED = "unspaced"
"""The normalizer for text without spaces between its words."""
_UNSPACED = (
    (0x0E01, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x2E80, 0x2FDF),
    (0x3005, 0x3007),
    (0x3031, 0x30FF),  # Hiragana, Katakana
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xA9E0, 0xA9FE),
    (0xAA60, 0xAA7F),
    (0xF900, 0xFAFF),
    (0xFF66, 0xFF9F),  # half-width Katakana
    (0x20000, 0x3FFFF),
)
"""First and last character of the scripts that put no spaces between words; most are Chinese."""
_LETTERS = "".join(f"{chr(first)}-{chr(last)}" for first, last in _UNSPACED)
_CARRIED = "".join(
    chr(code)
    for first, last in _UNSPACED
    for code in range(first, min(last, 0xFFFF) + 1)
    if unicodedata.category(chr(code))[0] == "M"
)
_CHARACTER = re.compile(f"[{_LETTERS}][{_CARRIED}]*")
"""A character of such a script with the vowel signs and tone marks that it carries."""


def without_spaces(text: str) -> bool:
    """Say whether two characters stand together that belong to scripts without spaces between words."""
    found = _CHARACTER.search(text)
    return found is not None and any(
        one.end() == other.start()
        for one, other in itertools.pairwise(_CHARACTER.finditer(text, found.start()))
    )


def count_unspaced(texts: pl.Series) -> int:
    """Return how many texts of a column are without spaces between words."""
    # No such script is ASCII: the others need not be looked at one by one.
    return sum(map(without_spaces, texts.filter(texts.str.len_bytes() != texts.str.len_chars()).drop_nulls()))


def _unspaced(text: str) -> str:
    return _CHARACTER.sub(r" \g<0> ", _basic(text))


@cache
def _whisper() -> Any:
    from whisper_normalizer.english import EnglishTextNormalizer

    return EnglishTextNormalizer()


@lru_cache(
    maxsize=65_536
)  # a hundred times the cost of the others: references come back in every chunk of a run
def _whisper_en(text: str) -> str:
    try:
        return str(_whisper()(_tamed(text)))
    except (AssertionError, ValueError):  # a number of thousands of digits, which it cannot read: no speech
        return _basic(text)


def _whisper_lines(text: str) -> str:
    return _whisper_by_word().words_of(text).lines()


@cache
def _whisper_by_word() -> ByWord:
    rules = _whisper()
    spelling = rules.standardize_spellings.mapping
    # Beside another number each of these can become something else; "and" only beside one of them.
    company = {*rules.standardize_numbers.words, "half"} - {"and"}
    rewritten = re.compile("|".join([rules.ignore_patterns, "'", *rules.replacers]))

    def alone(word: str) -> str | None:
        plain = word.lower().rstrip(".,!?")
        if plain in company or not _WHOLE_WORD.fullmatch(word):
            return None
        if plain not in spelling and not rewritten.search(plain):
            return plain
        said = str(rules(word))
        return None if _DIGIT.search(said) or company.intersection(said.split()) else said

    # Any number of spaces may stand between the words, and the second may begin otherwise: "gotta" is "got to" by then.
    across = [pattern.removesuffix(r"\b").replace(" ", " +") for pattern in rules.replacers if " " in pattern]
    return ByWord(_whisper_en, alone, across)


_DIGIT = re.compile("[0-9]")
_WHOLE_WORD = re.compile(r"(?![HMUhmu]+')[A-Za-z]+(?:'[A-Za-z]+)?[.,!?]?")
"""A word with the mark behind it. A filler with an apostrophe goes, and leaves the rest to the word before it."""


def _tamed(text: str) -> str:
    """Return the text without what takes OpenAI's patterns quadratic time, and comes to nothing there.

    A recognizer that returns a hundred thousand spaces or opening brackets must not hang the scoring.
    """
    for openers, closers in (("<[", ">]"), ("(", ")")):
        end = 1 + max(text.rfind(closer) for closer in closers)
        if sum(text.count(opener, end) for opener in openers) > 100:
            text = text[:end] + text[end:].translate({ord(opener): " " for opener in openers})
    return " ".join(text.split())


def _none(text: str) -> str:
    return text.translate(_BLANKS)


_BLANKS = str.maketrans(dict.fromkeys("\t\v\f\r\x1c\x1d\x1e\x1f", " "))


NORMALIZERS: dict[str, Normalizer] = {
    rule.name: rule
    for rule in (
        Normalizer(
            "basic",
            1,
            "lower case, no punctuation or symbols (as Speech Robust Bench); any script",
            _basic,
            lines=_basic,
            words_of=ByWord(_basic, _basic, ()).words_of,
        ),
        Normalizer(
            "whisper-en",
            1,
            "OpenAI's English rules: also numbers, contractions and spelling; drops um, uh and (asides)",
            _whisper_en,
            lines=_whisper_lines,
            words_of=lambda text: _whisper_by_word().words_of(text),
        ),
        Normalizer(
            "keep-fillers",
            1,
            "as basic; um, uh, er, repetitions and cut-off words stay, drawn-out fillers are spelled one way",
            _keep_fillers,
            lines=_keep_fillers,
        ),
        Normalizer(
            UNSPACED,
            1,
            "as basic; in Chinese, Japanese, Thai, Lao, Khmer, Burmese every character counts as a word",
            _unspaced,
            lines=_unspaced,
        ),
        *(
            Normalizer(
                f"spoken-{language}",
                1,
                f"as it is said aloud, {name}: numbers digit by digit, acronyms as letters, addresses, times, amounts;"
                " drops um and uh",
                partial(spoken_form, speech=SPEECHES[language]),
                lines=SPEECHES[language].lines,
                words_of=SPEECHES[language].words_of,
            )
            for language, name in LANGUAGES.items()
        ),
        Normalizer("none", 1, "the text as it is; only white space is evened out", _none, lines=_none),
    )
}
"""All normalizers by name."""
