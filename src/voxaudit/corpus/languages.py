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
