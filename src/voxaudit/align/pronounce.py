"""How words are said: the dictionary first, then its parts and endings, then letters to sounds."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from importlib import util
from pathlib import Path
from string import ascii_lowercase

Lookup = Callable[[str], "list[str] | None"]
"""A pronunciation dictionary: a word in small letters in, its phones or None out."""

_QUOTES = str.maketrans({"\u2019": "'", "\u2018": "'", "\u02bc": "'", "`": "'"})
_DASHES = re.compile(r"[-\u2010-\u2015/_\u2026]+|\.{2,}")
_BEFORE = re.compile(r"[^\w$£€&%@+=']*")
_AFTER = re.compile(r"[^\w%&@+=']*")


def spoken_words(text: str) -> list[tuple[str, list[str]]]:
    """Return the words of a text as (as written, the dictionary words it is said with).

    `well-known` is said as two words but stays one; `42` is `forty two`; `U.S.` is two letters. Punctuation that
    is not said is left out. Signs and letters that English has no sound for come out as they are, unpronounceable.
    """
    words = []
    for token in text.translate(_QUOTES).split():
        shown = _bare(token)
        parts = [word for part in _DASHES.split(shown) for word in _said(part)]
        if parts:
            words.append((shown, parts))
    return words


def _bare(token: str) -> str:
    """Return a token without the marks around it; from behind, so that a long row of marks is gone through once."""
    backwards = _BEFORE.sub("", token, count=1)[::-1]
    return _AFTER.sub("", backwards, count=1)[::-1]


def _said(part: str) -> list[str]:
    part = _bare(part)
    if not any(c.isalnum() for c in part) and spoken_number(part) is None:
        return []
    if (number := spoken_number(part)) is not None:
        return number
    if re.fullmatch(r"(?:[A-Za-z]\.)+[A-Za-z]?", part):
        return [letter.lower() + "." for letter in part if letter != "."]
    pieces = re.findall(r"\d[\d,]*(?:\.\d+)?|[^\d]+", part)
    words: list[str] = []
    for piece in pieces:
        number = spoken_number(piece)
        folded = _fold(piece)
        words += number if number is not None else [folded] if folded else []
    return words


def _fold(word: str) -> str:
    special = word.lower().replace("ß", "ss").replace("æ", "ae").replace("ø", "o").replace("ł", "l")
    plain = unicodedata.normalize("NFKD", special)
    kept = "".join(c for c in plain if not unicodedata.combining(c) and (c.isalpha() or c == "'"))
    return kept if any(c.isalpha() for c in kept) else ""


def pronounce(text: str) -> list[str]:
    """Return the phones of a word as written (ARPABET without stress), or nothing where English has no sound for it."""
    phones: list[str] = []
    for _, words in spoken_words(text):
        for word in words:
            found = dictionary().get(word)
            more = found.split() if found is not None else guess(word, _look_up)
            if not more:
                return []
            phones += more
    return phones


def guess(word: str, look_up: Lookup) -> list[str]:
    """Return the phones of a word that is not in the dictionary; nothing where it is in no Latin letters.

    First the dictionary's words with an ending or two of them together (`smartphones`), then letters to sounds.
    """
    if not re.fullmatch(r"[a-z'.]+", word):
        return []
    return _inflected(word, look_up) or _compound(word, look_up) or letters_to_phones(word)


_HISSES = frozenset(["S", "Z", "SH", "ZH", "CH", "JH"])
_VOICELESS = frozenset(["P", "T", "K", "F", "TH"])


def _inflected(word: str, look_up: Lookup) -> list[str] | None:
    for ending in ("'s", "s'", "s", "ed", "ing", "ly", "'"):
        stem = word.removesuffix(ending)
        if stem == word or len(stem) < 2:
            continue
        silent_e = [stem + "e"] if ending in ("ed", "ing") else []
        single = [stem[:-1]] if ending in ("ed", "ing") and len(stem) > 3 and stem[-1] == stem[-2] else []
        for candidate in (*silent_e, stem, *single):
            phones = look_up(candidate)
            if phones is None:
                continue
            if ending in ("'s", "s'", "s"):
                last = phones[-1]
                more = ["IH", "Z"] if last in _HISSES else ["S"] if last in _VOICELESS else ["Z"]
            elif ending == "ed":
                last = phones[-1]
                more = (
                    ["IH", "D"]
                    if last in ("T", "D")
                    else ["T"]
                    if last in _VOICELESS | {"S", "SH", "CH"}
                    else ["D"]
                )
            else:
                more = {"ing": ["IH", "NG"], "ly": ["L", "IY"], "'": []}[ending]
            return phones + more
    return None


def _compound(word: str, look_up: Lookup) -> list[str] | None:
    # The most even cut wins: `smart` + `phone` rather than `smartp` + `hone`.
    for cut in sorted(range(3, len(word) - 2), key=lambda i: (abs(2 * i - len(word)), i)):
        head = look_up(word[:cut])
        if head is None:
            continue
        tail = look_up(word[cut:]) or _inflected(word[cut:], look_up)
        if tail is not None:
            return head + tail
    return None


def _look_up(word: str) -> list[str] | None:
    found = dictionary().get(word)
    return None if found is None else found.split()


def dictionary() -> dict[str, str]:
    """Return the first pronunciation of every word in the dictionary inside the pocketsphinx package.

    Empty where the package is not installed: letters to sounds are all there is then.
    """
    words = _dictionary()
    if not words:
        _dictionary.cache_clear()  # that it is not there now does not mean that it never will be
    return words


@lru_cache(maxsize=1)
def _dictionary() -> dict[str, str]:
    path = dictionary_path()
    if path is None or not path.is_file():
        return {}
    with path.open(encoding="utf-8") as file:
        lines = [line.partition(" ") for line in file]
    first = [(word, phones) for word, _, phones in lines if "(" not in word]
    # Without stress, all phones in one call: half of the time.
    phones = "".join(phones for _, phones in first).upper().translate(_STRESS).split("\n")
    return dict(zip((word for word, _ in first), phones, strict=False))


_STRESS = str.maketrans("", "", "012")


def dictionary_path() -> Path | None:
    """Return where the pocketsphinx package keeps its English dictionary, None where it is not installed."""
    spec = util.find_spec("pocketsphinx")
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / "model" / "en-us" / "cmudict-en-us.dict"


# Numbers and signs as English words, for aligning text that writes `42` where people say `forty two`.

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    " seventeen eighteen nineteen"
)
_UNITS = _SMALL.split()
_TENS = ["zero", "ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_SCALES = ((10**12, "trillion"), (10**9, "billion"), (10**6, "million"), (1000, "thousand"), (100, "hundred"))
_ORDINALS = {
    "one": "first",
    "two": "second",
    "three": "third",
    "five": "fifth",
    "eight": "eighth",
    "nine": "ninth",
    "twelve": "twelfth",
}
_SIGNS = {"&": "and", "%": "percent", "+": "plus", "@": "at", "=": "equals"}
_MONEY = {"$": "dollars", "£": "pounds", "€": "euros"}
_NUMBER = re.compile(r"([$£€]?)(\d[\d,]*)(\.\d+)?(st|nd|rd|th|s)?(%?)")


def cardinal(number: int) -> list[str]:
    """Return a whole number below 10**15 in words: 142 is `one hundred forty two`."""
    if number < 20:
        return [_UNITS[number]]
    if number < 100:
        return [_TENS[number // 10], *([_UNITS[number % 10]] if number % 10 else [])]
    scale, name = next(pair for pair in _SCALES if number >= pair[0])
    rest = cardinal(number % scale) if number % scale else []
    return [*cardinal(number // scale), name, *rest]


def spoken_number(token: str) -> list[str] | None:
    """Return a token with digits or signs (`1984`, `3rd`, `2.5`, `$5`, `10%`, `&`) in words; None for any other."""
    if token in _SIGNS:
        return [_SIGNS[token]]
    match = _NUMBER.fullmatch(token)
    if match is None:
        return None
    money, digits, decimals, ending, percent = match.groups()
    plain = digits.replace(",", "")
    words = _whole(plain, grouped="," in digits or bool(money) or bool(decimals))
    if decimals:
        words += ["point", *(_UNITS[int(digit)] for digit in decimals[1:])]
    if ending == "s":
        words[-1] = words[-1][:-1] + "ies" if words[-1].endswith("y") else words[-1] + "s"
    elif ending:
        words[-1] = _ordinal(words[-1])
    if money:
        words.append(_MONEY[money])
    return [*words, "percent"] if percent else words


def _whole(digits: str, *, grouped: bool) -> list[str]:
    if len(digits) > 15 or (digits.startswith("0") and len(digits) > 1):
        return [_UNITS[int(digit)] for digit in digits]
    number = int(digits)
    # Four digits without a comma are mostly years: nineteen eighty four.
    if not grouped and len(digits) == 4 and (1100 <= number < 2000 or 2010 <= number < 2100) and number % 100:
        low = number % 100
        return [*cardinal(number // 100), *(["oh"] if low < 10 else []), *cardinal(low)]
    return cardinal(number)


def _ordinal(word: str) -> str:
    if word in _ORDINALS:
        return _ORDINALS[word]
    return word[:-1] + "ieth" if word.endswith("y") else word + ("h" if word.endswith("t") else "th")


# Letters to sounds for English words that are in no dictionary: good enough to find a name or a new word.

_V = "[aeiouy]"
_C = "[bcdfghjklmnpqrstvwxz]"


def _rules(before: str, after: str, text: str) -> list[tuple[str, str, str, str]]:
    """Return rules of one context, written as letters and their phones with commas between: `igh AY, tch CH`."""
    parts = (rule.partition(" ") for rule in text.split(", "))
    return [(letters, before, after, phones) for letters, _, phones in parts]


# What must stand before, what must follow, then letters with their phones; the first that fits is taken. "^" and "$"
# are the ends of the word, so "^" before `kn` means only at the beginning.
_RULES = (
    *_rules(
        "",
        "",
        "ssion SH AH N, tion SH AH N, sion ZH AH N, cious SH AH S, tious SH AH S, tial SH AH L, cial SH AH L, "
        "ture CH ER, ough AO, augh AO, eigh EY, igh AY, tsch CH, sch SH, tch CH, dge JH",
    ),
    *_rules("", "$", "ous AH S"),
    *_rules(_C, "$", "age IH JH"),
    *_rules(f"{_C}{{1,2}}", "$", "ate EY T"),
    *_rules("", "$", "que K, gue G"),
    *_rules("", "", "eau OW"),
    *_rules("^", "", "kn N, gn N, wr R, ps S, pn N"),
    *_rules("", "", "rh R"),
    *_rules("^", "", "mc M AH K"),
    *_rules("", "$", "mb M"),
    *_rules("", "", "ck K, ph F, sh SH, th TH"),
    *_rules("", "[lr]", "ch K"),
    *_rules("", "", "ch CH, wh W"),
    *_rules("^", "", "gh G"),
    *_rules("", "", "gh, qu K W"),
    *_rules("", "[eiy]", "sc S, cc K S"),
    *_rules("", "$", "ng NG"),
    *_rules("", "[^eiy]", "ng NG G"),
    *_rules("", "", "nk NG K"),
    *_rules(_C, "$", "le AH L, les AH L Z"),
    *_rules(
        "",
        "",
        "tz T S, zz Z, bb B, dd D, ff F, gg G, kk K, ll L, mm M, nn N, pp P, rr R, ss S, tt T, eer IH R, "
        "ear IH R, air EH R",
    ),
    *_rules("", "$", "are EH R, ore AO R"),
    *_rules("", "", "oor AO R, our AO R"),
    *_rules("", "$", "ire AY ER, ure Y UH R"),
    *_rules("", "", "ee IY, ea IY, oo UW, ou AW"),
    *_rules("", "$", "ow OW"),
    *_rules("", "", "ow AW, oi OY, oy OY, ai EY, ay EY, ei AY"),
    *_rules("", "$", "ey IY, ie IY"),
    *_rules("", "", "ie IY"),
    *_rules("", "$", "ue UW"),
    *_rules("", "", "ew UW, au AO, aw AO, oa OW"),
    *_rules("", "$", "oe OW"),
    *_rules("", "", "ia IY AH, io IY OW, iu IY AH"),
    *_rules("", f"(?!{_V})", "ar AA R, or AO R, er ER, ir ER, ur ER"),
    # A silent e makes the vowel before one consonant say its name.
    *_rules("", f"{_C}e(s|d|r)?$", "a EY, i AY, o OW, u UW"),
    *_rules("", f"{_C}e(s)?$", "e IY"),
    *_rules("[sxzc]|sh|ch|g", "$", "es IH Z"),
    *_rules(f"{_V}.*{_C}", "$", "es Z"),
    *_rules(f"{_V}.*[td]", "$", "ed IH D"),
    *_rules(f"{_V}.*[pkfsxc]|{_V}.*sh|{_V}.*ch", "$", "ed T"),
    *_rules(f"{_V}.*{_C}", "$", "ed D"),
    *_rules(f"{_V}.*", "$", "e"),
    *_rules(f"{_V}.*", "(ly|ment|ful|less|ness)s?$", "e"),
    *_rules("", "$", "a AH, e IY, i IY, o OW, u UW"),
    *_rules(f"^{_C}+", "$", "y AY"),
    *_rules("^", "", "y Y"),
    *_rules("", "$", "y IY"),
    *_rules(f"^{_C}+", f"{_C}[aiouy]", "a AA"),
    *_rules(f"^{_C}+", f"{_C}[aiou]", "e IY"),
    *_rules("", f"{_C}[aiouy]", "o OW"),
    *_rules("", f"{_C}[aiou]", "u UW"),
    *_rules(f"{_V}.*", "", "a AH"),
    *_rules("", "", "a AE, e EH, i IH"),
    *_rules(f"{_V}.*", "", "o AH"),
    *_rules("", "", "o AA, u AH, y IH"),
    *_rules("", "[eiy]", "c S"),
    *_rules("", "[ey]", "g JH"),
    *_rules(_V, _V, "s Z"),
    *_rules(f"[bdglmnrvw]|{_V}e", "$", "s Z"),
    *_rules("^", "", "x Z"),
    *_rules(_V, f"({_C}|$)", "h, w"),
    *_rules(
        "",
        "",
        "b B, c K, d D, f F, g G, h HH, j JH, k K, l L, m M, n N, p P, q K, r R, s S, t T, v V, w W, x K S, "
        "z Z",
    ),
)

_COMPILED = tuple(
    (
        letters,
        re.compile(f"(?:{before})$") if before else None,
        re.compile(after) if after else None,
        phones.split(),
    )
    for letters, before, after, phones in _RULES
)
_BY_LETTER = {
    letter: [rule for rule in _COMPILED if letter.startswith(rule[0][:1])] for letter in ascii_lowercase
}

_LETTERS = (
    "a EY, b B IY, c S IY, d D IY, e IY, f EH F, g JH IY, h EY CH, i AY, j JH EY, k K EY, l EH L, m EH M, "
    "n EH N, o OW, p P IY, q K Y UW, r AA R, s EH S, t T IY, u Y UW, v V IY, w D AH B AH L Y UW, x EH K S, "
    "y W AY, z Z IY"
)
_NAMES = {letter: phones for letter, _, _, phones in _rules("", "", _LETTERS)}


def letters_to_phones(word: str) -> list[str]:
    """Return the likely phones (ARPABET without stress) of a word in the letters a to z; others are passed over.

    A word without a vowel letter is read out letter by letter (`bbc`).
    """
    word = re.sub("[^a-z]", "", word.lower())
    if not re.search(_V, word):
        return [phone for letter in word for phone in _NAMES[letter].split()]
    phones: list[str] = []
    at = 0
    while at < len(word):
        letters, sounds = _match(word, at)
        phones += sounds
        at += len(letters)
    return phones


def _match(word: str, at: int) -> tuple[str, list[str]]:
    before, rest = word[:at], word[at:]
    for letters, needed, following, phones in _BY_LETTER[word[at]]:
        if not rest.startswith(letters):
            continue
        if needed is not None and not (needed.search(before)):
            continue
        if following is not None and not following.match(rest[len(letters) :]):
            continue
        return letters, phones
    return rest[0], []
