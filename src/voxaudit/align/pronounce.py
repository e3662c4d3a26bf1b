"""How words are said: the dictionary first, then its parts and endings, then letters to sounds."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from importlib import util
from pathlib import Path

from voxaudit.align.letters import letters_to_phones
from voxaudit.align.numbers import spoken_number
from voxaudit.align.syllables import without_stress

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


@lru_cache(maxsize=1)
def dictionary() -> dict[str, str]:
    """Return the first pronunciation of every word in the dictionary inside the pocketsphinx package.

    Empty where the package is not installed: letters to sounds are all there is then.
    """
    path = dictionary_path()
    if path is None or not path.is_file():
        return {}
    words: dict[str, str] = {}
    with path.open(encoding="utf-8") as file:
        for line in file:
            word, _, phones = line.partition(" ")
            if "(" not in word:
                words[word] = " ".join(map(without_stress, phones.split()))
    return words


def dictionary_path() -> Path | None:
    """Return where the pocketsphinx package keeps its English dictionary, None where it is not installed."""
    spec = util.find_spec("pocketsphinx")
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / "model" / "en-us" / "cmudict-en-us.dict"
