"""English with a foreign accent: each English sound becomes one that the voice's own language has.

Left to itself a German, Spanish, French or Italian voice reads English by the spelling rules of its language, which
nobody understands. Given the sounds instead, it does what a learner does: no `th`, an `r` of its own, full vowels
for weak ones, hard final consonants in German, an `e` before `st` in Spanish.

English sounds are written in ARPAbet with the stress digits 0 and 1, the others in X-SAMPA as Pico reads it
(`t_S` is one sound, `tS` would be two; a symbol that a language lacks is dropped without a word).
"""

from __future__ import annotations

from functools import cache

from voxaudit.errors import VoxauditError
from voxaudit.registry import suggest

_VOWELS = frozenset(
    {"AA", "AE", "AH", "AO", "AW", "AY", "EH", "ER", "EY", "IH", "IY", "OW", "OY", "UH", "UW"}
)
_HARDENED = {"b": "p", "d": "t", "g": "k", "v": "f", "z": "s", "d_Z": "t_S"}

_KNOWN = (
    "a AH0, again AH0 G EH1 N, at AE0 T, black B L AE1 K, bus B AH1 S, coffee K AO1 F IY0, dog D AO1 G, "
    "family F AE1 M AH0 L IY0, for F AO0 R, forgot F ER0 G AA1 T, from F R AH0 M, has HH AE0 Z, i AY0, in IH0 N, "
    "is IH0 Z, kitchen K IH1 CH AH0 N, last L AE1 S T, late L EY1 T, leaves L IY1 V Z, lost L AO1 S T, "
    "message M EH1 S IH0 JH, mother M AH1 DH ER0, music M Y UW1 Z IH0 K, my M AY0, next N EH1 K S T, pay P EY1, "
    "phone F OW1 N, platform P L AE1 T F AO0 R M, please P L IY1 Z, repeat R IH0 P IY1 T, school S K UW1 L, "
    "send S EH1 N D, small S M AO1 L, station S T EY1 SH AH0 N, stop S T AA1 P, the DH AH0, to T AH0, "
    "train T R EY1 N"
)
PRONUNCIATIONS = {
    word: tuple(sounds.split()) for word, _, sounds in (entry.partition(" ") for entry in _KNOWN.split(", "))
}
"""The words the accented voices know, in General American."""


def _table(vowels: str, consonants: str) -> dict[str, str]:
    return dict(pair.split("=") for pair in (vowels + " " + consonants).split())


SOUNDS = {
    "de-DE": _table(
        "AA=O AE=a AH=a AH0=@ AO=o: AW=a_U AY=a_I EH=E ER=9 ER0=6 EY=e: IH=I IY=i: OW=o: OY=O_Y UH=U UW=u:",
        "B=b CH=t_S D=d DH=d F=f G=g HH=h JH=d_Z K=k L=l M=m N=n NG=N P=p"
        " R=R S=s SH=S T=t TH=s V=v W=v Y=j Z=z ZH=Z",
    ),
    "es-ES": _table(
        "AA=o AE=a AH=o AH0=e AO=o AW=au_^ AY=ai_^ EH=e ER=or ER0=e4 EY=ei_^ IH=i IY=i OW=ou_^ OY=oi_^ UH=u UW=u",
        "B=b CH=t_S D=d DH=D F=f G=g HH=x JH=t_S K=k L=l M=m N=n NG=N P=p"
        " R=4 S=s SH=t_S T=t TH=T V=B W=gu_^ Y=j Z=s ZH=j",
    ),
    "fr-FR": _table(
        "AA=a AE=a AH=a AH0=9 AO=O AW=aw AY=aj EH=E ER=9R ER0=9 EY=E IH=i IY=i OW=o OY=Oj UH=u UW=u",
        "B=b CH=t_S D=d DH=d F=f G=g HH= JH=d_Z K=k L=l M=m N=n NG=N P=p"
        " R=R S=s SH=S T=t TH=s V=v W=w Y=j Z=z ZH=Z",
    ),
    "it-IT": _table(
        "AA=a AE=a AH=a AH0=e AO=o AW=au_^ AY=ai_^ EH=E ER=e4 ER0=a EY=Ei_^ IH=i IY=i OW=o OY=oi_^ UH=u UW=u",
        "B=b CH=t_S D=d DH=d F=f G=g HH= JH=d_Z K=k L=l M=m N=n NG=N P=p"
        " R=4 S=s SH=S T=t TH=t V=v W=u_^ Y=i Z=z ZH=S",
    ),
}
"""ARPAbet to X-SAMPA by language; `AH0` and `ER0` are the weak vowels of `a`bout and moth`er`. HH is silent in some.

Among the sounds a learner might choose, those were taken that Moonshine and PocketSphinx understand best: how far the
accents lie from native speech is a choice made here, not a fact about anybody.
"""


@cache
def accented(word: str, language: str) -> str:
    """Return an English word (lower case) in the sounds of `language`, with `"` before the stressed syllable."""
    if language not in SOUNDS:
        known = ", ".join(SOUNDS)
        raise VoxauditError(f"no English accent for the language '{language}'. Available: {known}")
    if word not in PRONUNCIATIONS:
        raise VoxauditError(
            f"no pronunciation for the word '{word[:40]}', so no accent.{suggest(word, list(PRONUNCIATIONS))}"
            f" The accented voices know {len(PRONUNCIATIONS)} words: see voxaudit.speak.accent.PRONUNCIATIONS"
        )
    table = SOUNDS[language]
    english = PRONUNCIATIONS[word]
    sounds = [table.get(sound) or table[sound.rstrip("01")] for sound in english]
    vowel = [sound.rstrip("01") in _VOWELS for sound in english]
    stressed = next((place for place, sound in enumerate(english) if sound.endswith("1")), None)
    if language == "de-DE":
        for place in range(len(sounds) - 1, -1, -1):
            if vowel[place]:
                break
            sounds[place] = _HARDENED.get(sounds[place], sounds[place])
    if stressed is not None:
        start = _syllable_start(vowel, stressed)
        sounds[start] = '"' + sounds[start]
    if language == "es-ES" and english[0] == "S" and len(english) > 1 and not vowel[1]:
        sounds.insert(0, "e")
    return "".join(sounds)


def _syllable_start(vowel: list[bool], stressed: int) -> int:
    """Return where the stressed syllable begins: all consonants of a word's onset, else the last one."""
    start = stressed
    while start > 0 and not vowel[start - 1]:
        start -= 1
    return start if start == 0 else max(start, stressed - 1)
