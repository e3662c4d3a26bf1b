"""Numbers and signs as English words, for aligning text that writes `42` where people say `forty two`."""

from __future__ import annotations

import re

_UNITS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
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
    """Return a token with digits or signs (`1984`, `3rd`, `2.5`, `$5`, `10%`, `&`) in words, None if it is none."""
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
