"""Letters to sounds for English words that are in no dictionary: good enough to find a name or a new word."""

from __future__ import annotations

import re

_V = "[aeiouy]"
_C = "[bcdfghjklmnpqrstvwxz]"

# (letters, what must stand before, what must follow, phones); the first that fits is taken. "^" and "$" are the
# ends of the word, so "^" before `kn` means only at the beginning.
_RULES: tuple[tuple[str, str, str, str], ...] = (
    ("ssion", "", "", "SH AH N"),
    ("tion", "", "", "SH AH N"),
    ("sion", "", "", "ZH AH N"),
    ("cious", "", "", "SH AH S"),
    ("tious", "", "", "SH AH S"),
    ("tial", "", "", "SH AH L"),
    ("cial", "", "", "SH AH L"),
    ("ture", "", "", "CH ER"),
    ("ough", "", "", "AO"),
    ("augh", "", "", "AO"),
    ("eigh", "", "", "EY"),
    ("igh", "", "", "AY"),
    ("tsch", "", "", "CH"),
    ("sch", "", "", "SH"),
    ("tch", "", "", "CH"),
    ("dge", "", "", "JH"),
    ("ous", "", "$", "AH S"),
    ("age", _C, "$", "IH JH"),
    ("ate", _C + "{1,2}", "$", "EY T"),
    ("que", "", "$", "K"),
    ("gue", "", "$", "G"),
    ("eau", "", "", "OW"),
    ("kn", "^", "", "N"),
    ("gn", "^", "", "N"),
    ("wr", "^", "", "R"),
    ("ps", "^", "", "S"),
    ("pn", "^", "", "N"),
    ("rh", "", "", "R"),
    ("mc", "^", "", "M AH K"),
    ("mb", "", "$", "M"),
    ("ck", "", "", "K"),
    ("ph", "", "", "F"),
    ("sh", "", "", "SH"),
    ("th", "", "", "TH"),
    ("ch", "", "[lr]", "K"),
    ("ch", "", "", "CH"),
    ("wh", "", "", "W"),
    ("gh", "^", "", "G"),
    ("gh", "", "", ""),
    ("qu", "", "", "K W"),
    ("sc", "", "[eiy]", "S"),
    ("cc", "", "[eiy]", "K S"),
    ("ng", "", "$", "NG"),
    ("ng", "", "[^eiy]", "NG G"),
    ("nk", "", "", "NG K"),
    ("le", _C, "$", "AH L"),
    ("les", _C, "$", "AH L Z"),
    ("tz", "", "", "T S"),
    ("zz", "", "", "Z"),
    *(
        (double * 2, "", "", phone)
        for double, phone in zip(
            "bdfgklmnprst", ["B", "D", "F", "G", "K", "L", "M", "N", "P", "R", "S", "T"], strict=True
        )
    ),
    ("eer", "", "", "IH R"),
    ("ear", "", "", "IH R"),
    ("air", "", "", "EH R"),
    ("are", "", "$", "EH R"),
    ("ore", "", "$", "AO R"),
    ("oor", "", "", "AO R"),
    ("our", "", "", "AO R"),
    ("ire", "", "$", "AY ER"),
    ("ure", "", "$", "Y UH R"),
    ("ee", "", "", "IY"),
    ("ea", "", "", "IY"),
    ("oo", "", "", "UW"),
    ("ou", "", "", "AW"),
    ("ow", "", "$", "OW"),
    ("ow", "", "", "AW"),
    ("oi", "", "", "OY"),
    ("oy", "", "", "OY"),
    ("ai", "", "", "EY"),
    ("ay", "", "", "EY"),
    ("ei", "", "", "AY"),
    ("ey", "", "$", "IY"),
    ("ie", "", "$", "IY"),
    ("ie", "", "", "IY"),
    ("ue", "", "$", "UW"),
    ("ew", "", "", "UW"),
    ("au", "", "", "AO"),
    ("aw", "", "", "AO"),
    ("oa", "", "", "OW"),
    ("oe", "", "$", "OW"),
    ("ia", "", "", "IY AH"),
    ("io", "", "", "IY OW"),
    ("iu", "", "", "IY AH"),
    ("ar", "", f"(?!{_V})", "AA R"),
    ("or", "", f"(?!{_V})", "AO R"),
    ("er", "", f"(?!{_V})", "ER"),
    ("ir", "", f"(?!{_V})", "ER"),
    ("ur", "", f"(?!{_V})", "ER"),
    # A silent e makes the vowel before one consonant say its name.
    ("a", "", f"{_C}e(s|d|r)?$", "EY"),
    ("i", "", f"{_C}e(s|d|r)?$", "AY"),
    ("o", "", f"{_C}e(s|d|r)?$", "OW"),
    ("u", "", f"{_C}e(s|d|r)?$", "UW"),
    ("e", "", f"{_C}e(s)?$", "IY"),
    ("es", "[sxzc]|sh|ch|g", "$", "IH Z"),
    ("es", f"{_V}.*{_C}", "$", "Z"),
    ("ed", f"{_V}.*[td]", "$", "IH D"),
    ("ed", f"{_V}.*[pkfsxc]|{_V}.*sh|{_V}.*ch", "$", "T"),
    ("ed", f"{_V}.*{_C}", "$", "D"),
    ("e", f"{_V}.*", "$", ""),
    ("e", f"{_V}.*", "(ly|ment|ful|less|ness)s?$", ""),
    ("a", "", "$", "AH"),
    ("e", "", "$", "IY"),
    ("i", "", "$", "IY"),
    ("o", "", "$", "OW"),
    ("u", "", "$", "UW"),
    ("y", f"^{_C}+", "$", "AY"),
    ("y", "^", "", "Y"),
    ("y", "", "$", "IY"),
    ("a", f"^{_C}+", f"{_C}[aiouy]", "AA"),
    ("e", f"^{_C}+", f"{_C}[aiou]", "IY"),
    ("o", "", f"{_C}[aiouy]", "OW"),
    ("u", "", f"{_C}[aiou]", "UW"),
    ("a", f"{_V}.*", "", "AH"),
    ("a", "", "", "AE"),
    ("e", "", "", "EH"),
    ("i", "", "", "IH"),
    ("o", f"{_V}.*", "", "AH"),
    ("o", "", "", "AA"),
    ("u", "", "", "AH"),
    ("y", "", "", "IH"),
    ("c", "", "[eiy]", "S"),
    ("g", "", "[ey]", "JH"),
    ("s", _V, _V, "Z"),
    ("s", "[bdglmnrvw]|[aeiouy]e", "$", "Z"),
    ("x", "^", "", "Z"),
    ("h", _V, f"({_C}|$)", ""),
    ("w", _V, f"({_C}|$)", ""),
    *zip(
        "bcdfghjklmnpqrstvwxz",
        [""] * 20,
        [""] * 20,
        [
            "B",
            "K",
            "D",
            "F",
            "G",
            "HH",
            "JH",
            "K",
            "L",
            "M",
            "N",
            "P",
            "K",
            "R",
            "S",
            "T",
            "V",
            "W",
            "K S",
            "Z",
        ],
        strict=True,
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

_NAMES = dict(
    zip(
        "abcdefghijklmnopqrstuvwxyz",
        [
            "EY",
            "B IY",
            "S IY",
            "D IY",
            "IY",
            "EH F",
            "JH IY",
            "EY CH",
            "AY",
            "JH EY",
            "K EY",
            "EH L",
            "EH M",
            "EH N",
            "OW",
            "P IY",
            "K Y UW",
            "AA R",
            "EH S",
            "T IY",
            "Y UW",
            "V IY",
            "D AH B AH L Y UW",
            "EH K S",
            "W AY",
            "Z IY",
        ],
        strict=True,
    )
)


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
    for letters, needed, following, phones in _COMPILED:
        if not rest.startswith(letters):
            continue
        if needed is not None and not (needed.search(before)):
            continue
        if following is not None and not following.match(rest[len(letters) :]):
            continue
        return letters, phones
    return rest[0], []
