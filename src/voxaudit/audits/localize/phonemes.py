"""From words to sounds: the pronunciations of the CMU dictionary that comes with pocketsphinx."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import polars as pl

from voxaudit.align.pronounce import dictionary
from voxaudit.errors import VoxauditError
from voxaudit.stats.cells import FloatArray

NO_DICTIONARY = "no phonemes: their dictionary comes with pocketsphinx, in the extra 'voxaudit[pocketsphinx]'"


@dataclass(frozen=True, eq=False)
class Sounds:
    """How often each phoneme occurs in each word (words x phonemes), and which words the dictionary has."""

    phonemes: tuple[str, ...]
    times: FloatArray
    known: FloatArray


@cache
def pronunciations() -> dict[str, tuple[str, ...]]:
    """Return the first pronunciation of every word in ARPAbet, without stress; 'don't' is also found as 'dont'."""
    found = {word: tuple(sounds.split()) for word, sounds in dictionary().items()}
    if not found:
        raise VoxauditError(NO_DICTIONARY)
    for word in [word for word in found if "'" in word]:
        found.setdefault(word.replace("'", ""), found[word])
    return found


def sounds_of(vocabulary: pl.Series) -> Sounds:
    """Return the sounds of a vocabulary; a word that is not in the dictionary has none."""
    known = pronunciations()
    spoken = [known.get(word, ()) for word in vocabulary.to_list()]
    phonemes = tuple(sorted({sound for sounds in known.values() for sound in sounds}))
    number = {phoneme: place for place, phoneme in enumerate(phonemes)}
    times = np.zeros((len(spoken), len(phonemes)))
    for word, sounds in enumerate(spoken):
        for sound in sounds:
            times[word, number[sound]] += 1
    return Sounds(phonemes, times, np.array([float(bool(sounds)) for sounds in spoken]))
