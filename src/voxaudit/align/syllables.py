"""Syllables from phones by the maximal onset principle, and the letters that belong to each of them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from voxaudit.align.timings import Phone, Syllable, Word

VOWELS = frozenset(["AA", "AE", "AH", "AO", "AW", "AY", "EH", "ER", "EY", "IH", "IY", "OW", "OY", "UH", "UW"])
"""ARPABET vowels: each is the nucleus of one syllable."""

STOPS = frozenset(["P", "B", "T", "D", "K", "G", "CH", "JH"])
"""Stops and affricates: a closure and a burst, which cannot be held on."""

_SINGLE = "P B T D K G CH JH F V TH DH S Z SH ZH HH M N L R W Y"
_DOUBLE = (
    "P L,P R,P Y,B L,B R,B Y,T R,T W,D R,D W,K L,K R,K W,K Y,G L,G R,G W,F L,F R,F Y,V Y,TH R,TH W,SH R,"
    "S P,S T,S K,S F,S M,S N,S L,S W,HH Y,HH W,M Y"
)
_TRIPLE = "S P L,S P R,S P Y,S T R,S K R,S K W,S K L,S K Y"
ONSETS = frozenset(
    tuple(cluster.split()) for cluster in (*_SINGLE.split(), *_DOUBLE.split(","), *_TRIPLE.split(","))
)
"""The consonants that may begin an English syllable; NG may not."""


_FRICATIVES = frozenset(["F", "TH", "S", "SH", "HH"])
_VOICED = frozenset(["V", "DH", "Z", "ZH", "M", "N", "NG", "L", "R", "W", "Y"])
# First letters of phones in the International Phonetic Alphabet, as other aligners write them.
_IPA_STOPS = frozenset("pbtdkgcqʔɟʈɖɢɡ")  # noqa: RUF001
_IPA_FRICATIVES = frozenset("fθsʃʂçxχħhɸɕ")
_IPA_VOWELS = frozenset("iyɨʉɯuɪʏʊeøɘɵɤoəɛœɜɞʌɔæɐaɶɑɒɚɝ")  # noqa: RUF001


def manner(phone: str) -> str:
    """Return how a phone is made: plosive (and affricate), fricative (without voice), voiced, vowel; "" if unknown.

    ARPABET and, for other languages, the International Phonetic Alphabet.

    >>> [manner(phone) for phone in ("T", "S", "M", "AH", "t͡s", "ʃ", "ø")]
    ['plosive', 'fricative', 'voiced', 'vowel', 'plosive', 'fricative', 'vowel']
    """
    name = without_stress(phone)
    for kind, known in (
        ("vowel", VOWELS),
        ("plosive", STOPS),
        ("fricative", _FRICATIVES),
        ("voiced", _VOICED),
    ):
        if name in known:
            return kind
    first = phone.lower().lstrip("ˈˌ'\"")[:1]
    for kind, known in (("plosive", _IPA_STOPS), ("fricative", _IPA_FRICATIVES), ("vowel", _IPA_VOWELS)):
        if first in known:
            return kind
    return "voiced" if first.isalpha() else ""


def without_stress(phone: str) -> str:
    """Return an ARPABET phone in capitals without its stress digit: `AH0` is `AH`."""
    return phone.upper().rstrip("012")


def syllabify(phones: Sequence[str]) -> list[tuple[int, int]]:
    """Return the syllables of a word as ranges (first, past the last) of its phones.

    Between two vowels the next syllable takes as many consonants as can begin an English syllable. A word
    without a vowel (`hm`) is one syllable.
    """
    names = [without_stress(phone) for phone in phones]
    nuclei = [i for i, name in enumerate(names) if manner(name) == "vowel"]
    starts = [0]
    for left, right in itertools.pairwise(nuclei):
        cut = right
        while cut > left + 1 and tuple(names[cut - 1 : right]) in ONSETS:
            cut -= 1
        starts.append(cut)
    return list(zip(starts, [*starts[1:], len(names)], strict=True)) if names else []


def spell(word: str, count: int) -> list[str]:
    """Return the letters of a word cut into `count` pieces, one a syllable: for showing, as in `wea- weather`.

    Vowel letters are grouped (a final silent e makes no group, but -le does); where they do not come out as
    many as the syllables, the letters are shared out evenly.
    """
    if count <= 1:
        return [word]
    groups = [match.span() for match in re.finditer(r"[aeiouy]+", word.lower())]
    if len(groups) > count and word.lower().endswith("e") and groups[-1] == (len(word) - 1, len(word)):
        groups.pop()
    if len(groups) != count:
        cuts = [round(i * len(word) / count) for i in range(1, count)]
    else:
        cuts = [_cut(word.lower(), a[1], b[0]) for a, b in itertools.pairwise(groups)]
    edges = [0, *cuts, len(word)]
    return [word[a:b] for a, b in itertools.pairwise(edges)]


_DIGRAPHS = frozenset(["th", "sh", "ch", "ph", "wh", "gh", "ck"])
_ONSETS = "bl br cl cr dr fl fr gl gr pl pr qu sc sk sl sm sn sp st sw tr tw wr"
_LETTER_ONSETS = frozenset(_ONSETS.split())


def _cut(word: str, after: int, before: int) -> int:
    consonants = word[after:before]
    if len(consonants) <= 1:
        return after
    if consonants == "ck":
        return before
    if consonants in _DIGRAPHS or (len(consonants) == 2 and consonants in _LETTER_ONSETS):
        return after
    if before == len(word) - 1 and word.endswith("le"):
        return before - 2
    return before - 2 if consonants[-2:] in _DIGRAPHS | _LETTER_ONSETS else before - 1


def word_from_phones(text: str, phones: Sequence[Phone]) -> Word:
    """Return a word with syllables by maximal onset over its timed phones."""
    clean = [Phone(without_stress(phone.name), phone.start, phone.end) for phone in phones]
    ranges = syllabify([phone.name for phone in clean])
    letters = spell(text, len(ranges))
    syllables = tuple(
        Syllable(piece, clean[a].start, clean[b - 1].end, tuple(clean[a:b]))
        for piece, (a, b) in zip(letters, ranges, strict=True)
    )
    return Word(text, clean[0].start, clean[-1].end, syllables)
