# ruff: noqa: RUF001 - letters of other scripts are what it is about
"""The spoken form: a text as it is said aloud, letter by letter and digit by digit where it was written otherwise.

Services write what they hear in different ways: "C N 7 3 4", "CN 734" and "cn-734" are the same speech, and so are
"Ashley.Brown@email.com" and "Ashley dot Brown at email dot com", "seven hundred thirty-four" and "734". A number comes
out as its digits, an acronym as its letters, an address as the words that are said for its marks. What a language says
is a `Speech`, a table; the grammar of numbers is one for all of them.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import polars as pl

from voxaudit.score.kernel import Spans, number_words
from voxaudit.score.pairs import Words


@dataclass(frozen=True)
class Speech:
    """What a language says for numbers and marks, and which of its words are written in several ways."""

    numbers: Mapping[str, int]
    """Words for numbers that are not products: 0 to 99, in some languages the hundreds."""
    scales: Mapping[str, int]
    """Words that multiply what stands before them (hundred, thousand)."""
    marks: Mapping[str, str]
    """What is said for `@ . _ -` inside addresses, and for `+ & % # ° $ € £` beside words and numbers."""
    ordinals: Mapping[str, int] = field(default_factory=dict)
    suffix: str = r"(?!)()"
    """How a number in digits is made an ordinal: 21st."""
    joins: Mapping[str, int] = field(default_factory=dict)
    """Words inside a number that say nothing (two hundred *and* five), and the least scale or tens before them."""
    ten_joins: bool = False
    """True where units stand behind ten as behind the other tens: ten two is twelve."""
    articles: frozenset[str] = frozenset()
    """Words for one before a scale: *a* hundred."""
    zeros: frozenset[str] = frozenset()
    """Words that are a zero between digits only: oh."""
    times: Mapping[str, int] = field(default_factory=dict)
    """Words that repeat the digit behind them: double."""
    fillers: frozenset[str] = frozenset()
    variants: Mapping[str, str] = field(default_factory=dict)
    """Patterns of what is written in several ways, in lower case, and the one that is kept."""
    words: frozenset[str] = frozenset()
    """Acronyms that are said as words (PIN), and words of consonants only (hmm): they are not spelled."""
    initials: frozenset[str] = frozenset()
    """Acronyms that are spelled, and look like words in lower case: id."""
    thousands: str = ","
    """What groups the digits of large numbers."""
    characters: bool = False
    """True where words have no spaces between them: every character is one."""

    @cached_property
    def rules(self) -> tuple[tuple[re.Pattern[str], str], ...]:
        """The variants, ready for use."""
        return tuple((re.compile(pattern), kept) for pattern, kept in self.variants.items())

    def lines(self, text: str) -> str:
        """Return lines of ASCII, each as it is said aloud."""
        return self.words_of(text).lines()

    def words_of(self, text: str) -> Words:
        """Return the words of lines of ASCII, each as it is said aloud."""
        return self._by_word.words_of(text)

    @cached_property
    def _by_word(self) -> ByWord:
        across = [pattern for pattern in self.variants if " " in pattern or r"\s" in pattern]
        return ByWord(lambda text: _said(text, self), self._alone, across)

    def _alone(self, word: str) -> str | None:
        plain = word.lower().rstrip(".,!?")
        said = _said(word, self) if _PLAIN.fullmatch(word) else None
        return said if said in (plain, " ".join(plain), "") else None


class ByWord(dict[str, str]):
    """A rule for texts, done to lines word by word where that is enough, a hundred times as fast as asking the rule.

    Most lines are words that come out the same in any company: `alone` returns what a word becomes, None where its
    neighbors could matter. A line with such a word, or with one of the patterns `across` words, is left to `rule`.
    """

    def __init__(
        self, rule: Callable[[str], str], alone: Callable[[str], str | None], across: Iterable[str]
    ) -> None:
        super().__init__()
        self.rule, self.alone = rule, alone
        self.across = [(re.compile(pattern), _pieces(pattern)) for pattern in across]

    def __missing__(self, word: str) -> str:
        said = self.alone(word)
        self[word] = _HARD if said is None else said
        return self[word]

    def words_of(self, text: str) -> Words:
        """Return the words of lines of ASCII, each as the rule has it."""
        lines = text.split("\n")
        codes, sizes, words = number_words(lines)
        said = [self[word] for word in words]
        ends = np.cumsum(sizes)
        place = np.flatnonzero(np.array([one == _HARD for one in said], dtype=bool)[codes])
        hard = set(np.searchsorted(ends, place, side="right").tolist())
        vocabulary, lower = " ".join(words).lower(), text.lower()
        for pattern, pieces in self.across:
            # A piece is looked for among the words, then in all lines at once, fifty times as fast as a pattern is.
            if there := [
                piece
                for piece in pieces
                if all(part in vocabulary for part in piece.split()) and piece in lower
            ]:
                hard.update(
                    number
                    for number, line in enumerate(lower.split("\n"))
                    if any(piece in line for piece in there) and pattern.search(line)
                )
        # Most words become one word (a hard one too: its line is done anew), others none or several.
        numbers: dict[str, int] = {}
        own = [[numbers.setdefault(part, len(numbers)) for part in one.split()] for one in said]
        many = np.array([len(one) for one in own], dtype=np.int32)[codes]
        several = np.flatnonzero(many > 1)
        more = [code for word in codes[several].tolist() for code in own[word][1:]]
        codes = np.array([one[0] if one else -1 for one in own], dtype=np.int32)[codes]
        codes = np.insert(codes, np.repeat(several + 1, many[several] - 1), more)
        codes = codes[codes >= 0]
        stops = np.append(0, np.cumsum(many, dtype=np.int64))[np.append(0, ends)]
        found = Words(codes, Spans(stops[:-1], np.diff(stops)), list(numbers))
        if not hard:
            return found
        rows = np.array(sorted(hard))
        found = Words.together([found, Words.of(pl.Series([self.rule(lines[row]) for row in rows.tolist()]))])
        order = np.arange(len(lines))
        order[rows] = np.arange(len(lines), len(found))
        return replace(found, spans=found.spans[order])


_HARD = "\0"

LARGEST = 10_000
"""The largest scale that is multiplied: a million stays a word, as in "1.5 million"."""

_TLD = r"(?:com|org|net|edu|gov|io|co|mx|tr|vn|cn|uk|de|fr|es)"
_EMAIL = re.compile(r"\be-mail", re.IGNORECASE)
_OKAY = re.compile(r"\b(?:ok|o\.k\.|okey)\b", re.IGNORECASE)
_DOTTED = re.compile(r"\b(?:[A-Za-z]\.){2,}")  # U.S.A.
# Lengths are bounded: a transcript of a hundred thousand dots must not take quadratic time.
_ADDRESS = re.compile(
    rf"[\w.+-]{{1,64}}@\w\S{{0,250}}|\bwww\.\S{{1,250}}|\b[\w.-]{{1,64}}\.{_TLD}\b(?:/\S{{0,250}})?"
    r"|\b[a-z]{2,64}[._][a-z]{2,64}\b",
    re.IGNORECASE,
)
_MARKED = re.compile(r"[._@]\w|www\.")  # nothing else can be an address, or hold dots
_CODE = re.compile(r"\b([A-Za-z]{1,3})-?(?=\d{2})|\b([A-Z]{2,3})[ -](?=\d)")  # CN734, CN 734
_ACRONYM = re.compile(r"\b[A-Z]{2,5}\b(?!')")
_PLURAL = re.compile(r"\b([A-Z]{2,5})s\b")
_CONSONANTS = re.compile(r"\b[bcdfghjklmnpqrstvwxz]{2,4}\b")
_DIGIT = re.compile(r"\d")
_CLOCK = re.compile(r"\b(\d{1,2}):([0-5]\d)\b")
_MONEY = re.compile(r"([$€£])\s?(\d+(?:\.\d+)?)(?:\s(thousand|million|billion|trillion|mil|millones))?")
_DECIMAL = re.compile(r"(?<=\d)[.](?=\d)")
_TOKEN = re.compile(r"\d+(?:th|s)\b|\d+|[^\W\d_]+(?:'[^\W\d_]+)*")
_ASCII = re.compile(r"[a-z0-9']+|[^a-z0-9']")
_PLAIN = re.compile(r"[A-Za-z][a-z]*[.,!?]?")
_APOSTROPHES = str.maketrans(dict.fromkeys("`´‘’‛ʼ′＇", "'"))


def spoken_form(text: str, speech: Speech) -> str:
    """Return a text as it is said aloud, in lower case.

    >>> from voxaudit.score.spoken import ENGLISH, spoken_form
    >>> spoken_form("It's CN734-785, ashley.brown@email.com.", ENGLISH)
    'it is c n 7 3 4 7 8 5 ashley dot brown at email dot com'
    >>> spoken_form("$1,205.50 at 3:30 PM on the twenty-first", ENGLISH)
    '1 2 0 5 dollars 5 0 cents at 3 3 0 p m on the 2 1th'
    """
    return _said(text, speech) if "\n" in text else " ".join(speech.words_of(text).text(0))


def _pieces(pattern: str) -> Sequence[str]:
    """Return pieces of text one of which stands in whatever a pattern matches; the empty one stands everywhere.

    >>> _pieces(r"\bdollars? and (?=[a-z]+ cents?)"), _pieces(r"(?<=\\d)(\\s?)([ap])m\b")[:2]
    (('dollar',), '01')
    """
    if pattern.startswith(r"(?<=\d)"):
        return string.digits
    return (max(_NOT_LITERAL.split(pattern), key=len),) if "|" not in pattern else ("",)


_NOT_LITERAL = re.compile(
    r"\\.|\[[^]]*\](?:[*+?]|\{[^}]*\})?|\((?:[^()]|\([^()]*\))*\)[*+?]?|.[*+?]|[\\()\[\].^$]"
)


def _said(text: str, speech: Speech) -> str:
    text = unicodedata.normalize("NFKC", text).translate(_APOSTROPHES)
    marked = _MARKED.search(text)
    if marked:
        text = _DOTTED.sub(lambda found: found[0].replace(".", " "), text)
    text = _OKAY.sub("okay", _EMAIL.sub("email", text))
    if marked:
        text = _ADDRESS.sub(lambda found: _address(found[0], speech), text)
    text = _spelled(text, speech).lower().replace("i\u0307", "i")
    if _DIGIT.search(text):
        text = _amounts(text, speech)
    for pattern, kept in speech.rules:
        text = pattern.sub(kept, text)
    text = _CONSONANTS.sub(lambda found: found[0] if found[0] in speech.words else " ".join(found[0]), text)
    for mark in "+&%#°":
        if mark in text and mark in speech.marks:
            text = text.replace(mark, f" {speech.marks[mark]} ")
    tokens = _TOKEN.findall(text)
    if speech.characters:
        tokens = [part for token in tokens for part in _ASCII.findall(token)]
    said = _numbers([token for token in tokens if token not in speech.fillers], speech)
    return " ".join(" ".join(token) if token in speech.initials else token for token in said)


def _address(text: str, speech: Speech) -> str:
    """Return an e-mail or web address with its marks as words; a mark that ends a sentence is none of it."""
    core = text.rstrip(".,;:!?)")
    marks = {mark: speech.marks[mark] for mark in "@._-/" if mark in speech.marks}
    return "".join(f" {marks[one]} " if one in marks else one for one in core).lower() + text[len(core) :]


def _spelled(text: str, speech: Speech) -> str:
    """Return a text with acronyms and codes as letters."""

    def letters(found: re.Match[str]) -> str:
        word = found[0].strip(" -")
        return found[0] if word.lower() in speech.words else f"{' '.join(word)} "

    text = _CODE.sub(letters, text)
    if text.isupper():  # everything is in capitals: no acronym can be told from a word
        return text
    text = _PLURAL.sub(r"\1 s", text)
    return _ACRONYM.sub(letters, text)


def _amounts(text: str, speech: Speech) -> str:
    """Return a text with times, amounts of money and decimals as words and digits."""
    group = re.escape(speech.thousands)
    text = re.sub(
        rf"(?<!\d)\d{{1,3}}(?:{group}\d{{3}})+(?!\d)", lambda found: _grouped(found[0], speech), text
    )
    text = _CLOCK.sub(
        lambda found: f"{found[1]} {found[2]}" if found[2] != "00" else f"{found[1]} o'clock", text
    )

    def money(found: re.Match[str]) -> str:
        name, scale = speech.marks[found[1]], found[3]
        whole, _, part = found[2].partition(".")
        if scale:
            return f"{found[2]} {scale} {name}"
        cents = f" {part} {speech.marks['cents']}" if part.strip("0") else ""
        return f"{whole} {name}{cents}"

    text = _MONEY.sub(money, text)
    text = _DECIMAL.sub(f" {speech.marks['point']} ", text)
    return re.sub(speech.suffix, r"\1th", text)


def _grouped(number: str, speech: Speech) -> str:
    """Return a number without marks between its digits; millions are said as such."""
    parts = number.split(speech.thousands)
    if len(parts) == 3 and "million" in speech.scales:
        rest = "".join(parts[1:]).lstrip("0")
        return f"{parts[0]} million {rest}".rstrip()
    return "".join(parts)


def _numbers(tokens: Sequence[str], speech: Speech) -> list[str]:
    """Return the tokens with every number as its digits, one by one; an ordinal ends in `th`."""
    said: list[str] = []
    place, size = 0, len(tokens)
    while place < size:
        token = tokens[place]
        if token in speech.times and place + 1 < size and (digit := _digit(tokens[place + 1], speech)):
            said += [digit] * speech.times[token]
            place += 2
        elif token in speech.zeros and said and said[-1].isdigit() and _ends(tokens, place, speech):
            said.append("0")
            place += 1
        elif _starts(tokens, place, speech):
            value, ending, place = _number(tokens, place, speech)
            said += [*value[:-1], value[-1] + ending]
        else:
            said.append(token)
            place += 1
    return said


def _digit(token: str, speech: Speech) -> str | None:
    value = speech.numbers.get(token, 10)
    return token if len(token) == 1 and token.isdigit() else str(value) if value < 10 else None


def _ends(tokens: Sequence[str], place: int, speech: Speech) -> bool:
    """Say whether a number follows the words for zero that stand here."""
    behind = next(
        (place_ for place_ in range(place, len(tokens)) if tokens[place_] not in speech.zeros), len(tokens)
    )
    return _starts(tokens, behind, speech)


def _starts(tokens: Sequence[str], place: int, speech: Speech) -> bool:
    """Say whether a number begins here."""
    if place >= len(tokens):
        return False
    token = tokens[place]
    if token[0].isdigit() or token in speech.numbers or token in speech.ordinals:
        return True
    following = tokens[place + 1] if place + 1 < len(tokens) else ""
    known = token if token not in speech.articles else following
    return speech.scales.get(known, LARGEST + 1) <= LARGEST


def _number(tokens: Sequence[str], place: int, speech: Speech) -> tuple[str, str, int]:
    """Read the number that begins here: its digits, its ending (`th`, `s`, none) and the place behind it.

    A word joins the number where grammar lets it: a unit behind tens or a scale, tens behind a scale, a scale behind
    a number or a larger scale's. "Twenty twenty-six" are two numbers, which have the digits of one.
    """
    first = tokens[place]
    if first[0].isdigit():
        digits = first.rstrip("ths")
        behind = speech.scales.get(tokens[place + 1], 0) if place + 1 < len(tokens) else 0
        if digits != first or not 100 <= behind <= LARGEST or len(digits) > 3:
            return digits, first[len(digits) :], place + 1
        total, current, room, place = 0, int(digits), 1, place + 1
    elif first in speech.articles:
        total, current, room, place = 0, 1, 1, place + 1
    elif first in speech.scales:
        total, current, room = 0, 1, 1
    else:
        total, current, room = 0, 0, 1000
    # `room` is what may still be added: anything at the start, below the last scale, below ten behind tens.
    limit = 10**9
    begun = current > 0 and first not in speech.scales
    while place < len(tokens):
        token = tokens[place]
        value = speech.numbers.get(token, speech.ordinals.get(token))
        scale = speech.scales.get(token)
        if value is not None and value < room and (value > 0 or not begun):
            current += value
            room = 100 if value >= 100 else 10 if _takes_unit(value, speech) else 1
            begun = True
            if token in speech.ordinals:
                return str(total + current), "th", place + 1
        elif scale is not None and scale <= LARGEST and scale < limit and (current or not begun):
            if scale >= 1000:
                total, current, limit, room = total + max(current, 1) * scale, 0, scale, scale
            else:
                low = current % 1000 if scale == 100 else current % 10 or current
                if low == 0 or (scale == 100 and low >= 100) or (scale == 10 and not 1 < low < 10):
                    if begun:
                        break
                    low, current = 1, 1
                current += low * (scale - 1)
                room = min(scale, 100)
            begun = True
        elif not (room >= speech.joins.get(token, room + 1) and _continues(tokens, place + 1, room, speech)):
            break
        place += 1
    return str(total + current), "", place


def _takes_unit(value: int, speech: Speech) -> bool:
    """Say whether a unit can stand behind a number: twenty, but not ten."""
    return value % 10 == 0 and (value >= 20 or (speech.ten_joins and value == 10))


def _continues(tokens: Sequence[str], place: int, room: int, speech: Speech) -> bool:
    """Say whether a word that can be added to the number stands here."""
    token = tokens[place] if place < len(tokens) else ""
    return 0 < speech.numbers.get(token, speech.ordinals.get(token, 0)) < room


def _words(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _counting(words: str, first: int = 0, step: int = 1) -> dict[str, int]:
    return {word: first + step * number for number, word in enumerate(words.split())}


_ENGLISH_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
)
_ENGLISH_ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth"
    " sixteenth seventeenth eighteenth nineteenth"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"

ENGLISH = Speech(
    numbers=_counting(f"{_ENGLISH_UNITS} seventeen eighteen nineteen") | _counting(_TENS, 20, 10),
    scales={"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12},
    ordinals=_counting(_ENGLISH_ORDINALS, 1)
    | _counting(" ".join(f"{ten[:-1]}ieth" for ten in _TENS.split()), 20, 10),
    suffix=r"\b(\d+)(?:st|nd|rd|th)\b",
    joins={"and": 100},
    articles=frozenset({"a"}),
    zeros=frozenset({"oh", "o"}),
    times={"double": 2, "triple": 3},
    fillers=_words("hm hmm mm mmm mhm mhmm uh uhh um umm er erm ah"),
    marks={
        **{"@": "at", ".": "dot", "_": "underscore", "-": "dash", "/": "slash", "point": "point"},
        **{"+": "plus", "&": "and", "%": "percent", "#": "number", "°": "degrees"},
        **{"$": "dollars", "€": "euros", "£": "pounds", "cents": "cents"},
    },
    variants={
        r"\balright\b": "all right",
        r"\be mail": "email",
        r"\bper cent\b": "percent",
        r"\bdollars? and (?=[a-z0-9-]+ (?:[a-z0-9]+ )?cents?\b)": "dollars ",
        r"\bo ?clock\b": "o'clock",
        r"\bo'clock\s+(?=[ap]\.?\s?m\b)": "",
        r"\bpm\b|\bp\.m\b\.?": "p m",
        r"\ba\.m\b\.?": "a m",
        r"(?<=\d)(\s?)([ap])m\b": r" \2 m",
        r"(?<!\S)'?k(?:ay)?(?=[.,!?])": "okay",
        r"(?<!\S)[a-z]{1,2}--?(?=\s)": "",
        r"\b([a-z])-(?=\1[a-z])": "",
        r"'?\b(?:cuz|cause)\b": "because",
        r"\b(?:apt|apartment)\b\.?": "apartment",
        r"\b(?:won't)\b": "will not",
        r"\b(?:can't|cannot)\b": "can not",
        r"\blet's\b": "let us",
        r"\bgonna\b": "going to",
        r"\bwanna\b": "want to",
        r"\bgotta\b": "got to",
        r"\bkinda\b": "kind of",
        r"n't\b": " not",
        r"'re\b": " are",
        r"'(?:s|is)\b": " is",
        r"'d\b": " would",
        r"'ll\b": " will",
        r"'ve\b": " have",
        r"'m\b": " am",
        r"\bmr\b\.?": "mister",
        r"\bmrs\b\.?": "missus",
        r"\bdr\b\.?": "doctor",
    },
    words=_words(
        "mr mrs ms dr st jr sr vs th nd rd hm hmm mm mmm mhm mhmm shh psst pin sim zip nasa covid ok us it is in or"
        " and the not yes no rhythm crypt nth hymn ft lb km cm kg"
    ),
    initials=frozenset({"id", "usa", "uk", "atm"}),
)
"""English, as services and transcribers of calls write it."""

_ADDRESS_MARKS = {"_": "_", "-": "-", "/": "/", "$": "$", "€": "€", "£": "£", "cents": ""}

SPANISH = Speech(
    numbers=_counting(
        "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete"
        " dieciocho diecinueve veinte veintiuno veintidós veintitrés veinticuatro veinticinco veintiséis veintisiete"
        " veintiocho veintinueve"
    )
    | _counting("treinta cuarenta cincuenta sesenta setenta ochenta noventa", 30, 10)
    | _counting(
        "cien doscientos trescientos cuatrocientos quinientos seiscientos setecientos ochocientos", 100, 100
    )
    | {"ciento": 100, "novecientos": 900},
    scales={"mil": 1000, "millón": 10**6, "millones": 10**6},
    joins={"y": 10},
    times={"doble": 2, "triple": 3},
    fillers=_words("eh ehm em mm mmm hmm ah mhm"),
    marks=_ADDRESS_MARKS
    | {"@": "arroba", ".": "punto", "_": "guión bajo", "-": "guión", "/": "diagonal", "point": "punto"}
    | {"+": "más", "%": "por ciento", "$": "pesos", "€": "euros", "cents": "centavos", "&": "y"},
    variants={r"\bguion\b": "guión"},
    words=frozenset({"sr", "srta", "dr", "ya", "no", "me", "de", "mm", "mmm", "mhm", "hmm"}),
)
"""Spanish, with Mexican marks and money."""

TURKISH = Speech(
    numbers=_counting("sıfır bir iki üç dört beş altı yedi sekiz dokuz")
    | _counting("on yirmi otuz kırk elli altmış yetmiş seksen doksan", 10, 10),
    scales={"yüz": 100, "bin": 1000, "milyon": 10**6},
    ten_joins=True,
    times={"çift": 2},
    fillers=_words("ıı ııı ee hım hıhı eee hmm mm"),
    marks=_ADDRESS_MARKS
    | {"@": "et", ".": "nokta", "_": "alt çizgi", "-": "tire", "/": "bölü", "point": "virgül"}
    | {"+": "artı", "%": "yüzde", "&": "ve"},
    variants={r"\bat\b(?= \w+ nokta)": "et"},
    words=frozenset({"ve", "hmm", "iban"}),
    thousands=".",
)
"""Turkish."""

VIETNAMESE = Speech(
    numbers=_counting("không một hai ba bốn năm sáu bảy tám chín mười") | {"lăm": 5, "mốt": 1, "tư": 4},
    scales={"mươi": 10, "trăm": 100, "nghìn": 1000, "ngàn": 1000, "triệu": 10**6},
    joins={"lẻ": 100, "linh": 100},
    ten_joins=True,
    fillers=_words("ờ ừm ừ à hmm ơ"),
    marks=_ADDRESS_MARKS
    | {"@": "at", ".": "chấm", "_": "gạch dưới", "-": "gạch", "point": "phẩy", "+": "cộng", "%": "phần trăm"},
    variants={r"\ba còng\b": "at"},
    words=_words("hmm th ph tr ch ng kh nh"),
    thousands=".",
)
"""Vietnamese."""

MANDARIN = Speech(
    numbers=_counting("零 一 二 三 四 五 六 七 八 九") | {"〇": 0, "幺": 1, "两": 2},
    scales={"十": 10, "百": 100, "千": 1000, "万": 10_000},
    joins={"零": 100},
    fillers=_words("嗯 呃 啊 哦 额"),
    marks=_ADDRESS_MARKS | {"@": "at", ".": "dot", "point": "点", "+": "加"},
    words=frozenset({"hmm"}),
    characters=True,
)
"""Mandarin, in simplified characters."""

LANGUAGES = {"en": "English", "es": "Spanish", "tr": "Turkish", "vi": "Vietnamese", "zh": "Mandarin"}
SPEECHES = {"en": ENGLISH, "es": SPANISH, "tr": TURKISH, "vi": VIETNAMESE, "zh": MANDARIN}
"""The languages whose spoken form is known, by code."""
