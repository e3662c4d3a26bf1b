"""What is spoken, as the folders of multilingual corpora say it."""

from __future__ import annotations

import re

NAMES = {
    "english": "en",
    "german": "de",
    "dutch": "nl",
    "french": "fr",
    "spanish": "es",
    "italian": "it",
    "portuguese": "pt",
    "polish": "pl",
}
"""The languages of Multilingual LibriSpeech, whose folders have their names."""
_WORDS = (
    "a about above across after again against all along although am among an and another any anybody anyone"
    " anything are around as at be because been before behind being below beneath beside besides between beyond"
    " both but by can cannot could did do does doing down during each either enough every everybody everyone"
    " everything few for from had has have having he her here hers herself him himself his how i if in inside into"
    " is it its itself just least less like many may me might mine more most much must my myself near neither no"
    " nobody none nor not nothing of off on once one onto or other others ought our ours ourselves out over own"
    " rather same several shall she should since so some somebody someone something such than that the their"
    " theirs them themselves then there these they this those though through till to too toward towards under"
    " until up upon us very was we were what whatever when where whether which while who whom whose why will with"
    " within without would yet you your yours yourself yourselves i'm i've i'll i'd you're you've you'll he's"
    " she's it's we're we've we'll they're they've they'll that's there's don't doesn't didn't can't couldn't"
    " won't wouldn't isn't aren't wasn't weren't hasn't haven't hadn't"
)
FUNCTION_WORDS = frozenset(_WORDS.split())
"""English words of the closed classes: articles, pronouns, prepositions, conjunctions, auxiliaries, determiners."""


def base_language(language: str) -> str:
    """Return the language of a tag without its region.

    >>> base_language("es-MX"), base_language("en_us")
    ('es', 'en')
    """
    return language.replace("_", "-").partition("-")[0].lower()


def language_code(folder: str) -> str | None:
    """Return the language that the name of a folder stands for; None where it is no language.

    >>> language_code("en_us"), language_code("spanish"), language_code("sv-SE"), language_code("my corpus")
    ('en', 'es', 'sv', None)
    """
    name = folder.lower()
    if name in NAMES:
        return NAMES[name]
    return base_language(name) if re.fullmatch(r"[a-z]{2,3}([-_][a-z]{2,4}|[-_]\d{3})*", name) else None
