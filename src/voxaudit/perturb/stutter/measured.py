"""What was measured of real stuttering: one place for every number that the realistic mode and its checks rest on.

Sources: **C** the time marks of three clinicians on FluencyBank adults (CASA: 36 interviews, 30 readings); **T**
FluencyBank Timestamped (37 speakers, 38,548 intended words); **N** Natke et al. 2004; **J** the published analysis of
SLASS; **S** SEP-28k and FluencyBank labels (Lea et al. 2021). Lengths are in seconds. **G** marks a guess.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

LEVELS = (0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 0.95)


@dataclass(frozen=True)
class Quantiles:
    """A distribution of lengths, known by its quantiles at `LEVELS`; straight lines between them."""

    about: str
    source: str
    values: tuple[float, ...]
    least: float = 0.0
    most: float = math.inf
    """What can be put into a recording: draws end here."""

    def at(self, level: float) -> float:
        """Return the quantile at a level from 0 to 1, within `least` and `most`.

        >>> LENGTHS["block"].at(0.5)
        0.65
        """
        values = self.values
        if level < LEVELS[0]:
            found = values[0] * level / LEVELS[0]
        elif level > LEVELS[-1]:  # the tail falls as it does from the 75 % quantile to the 95 % one
            found = values[-1] + self._slope * math.log((1 - LEVELS[-1]) / max(1 - level, 1e-6))
        else:
            found = float(np.interp(level, LEVELS, values))
        return min(max(found, self.least), self.most)

    @property
    def _slope(self) -> float:
        return (self.values[-1] - self.values[LEVELS.index(0.75)]) / math.log(5)

    def below(self, length: float) -> float:
        """Return the share of real ones that are at most this long.

        >>> round(LENGTHS["block"].below(1.24), 3)
        0.75
        """
        values = self.values
        if length < values[0]:
            return LEVELS[0] * max(length, 0.0) / values[0] if values[0] > 0 else 0.0
        if length >= values[-1]:
            return 1 - (1 - LEVELS[-1]) * math.exp(-(length - values[-1]) / self._slope)
        last = bisect_right(values, length) - 1  # of levels with the same value (gaps of 0), the highest
        span = values[last + 1] - values[last]
        return LEVELS[last] + (LEVELS[last + 1] - LEVELS[last]) * (length - values[last]) / span

    def under(self, length: float) -> float:
        """Return the share of real ones that are shorter: less than `below` where many have the same length."""
        first = bisect_left(self.values, length)
        at = self.below(length)
        same = first < len(self.values) and self.values[first] == length
        return 0.0 if same and length == 0 else LEVELS[first] if same else at

    def tail(self, length: float) -> float:
        """Return the two-sided tail probability of a length: 1 in the middle, near 0 where real ones hardly are."""
        return min(1.0, 2 * min(self.below(length), 1 - self.under(length)))

    def draw(self, generator: np.random.Generator) -> float:
        """Return a length drawn from the distribution."""
        return self.at(float(generator.random()))


@dataclass(frozen=True)
class Counts:
    """A distribution of whole numbers, by how often each was seen."""

    about: str
    source: str
    seen: Mapping[int, int]

    def draw(self, generator: np.random.Generator) -> int:
        """Return a number drawn from the distribution."""
        numbers = list(self.seen)
        shares = np.array(list(self.seen.values()), dtype=float)
        return int(numbers[int(generator.choice(len(numbers), p=shares / shares.sum()))])

    def below(self, number: float) -> float:
        """Return the share of real ones that are at most this many."""
        return sum(n for k, n in self.seen.items() if k <= number) / sum(self.seen.values())

    def tail(self, number: float) -> float:
        """Return the two-sided tail probability of a number."""
        over = sum(n for k, n in self.seen.items() if k >= number) / sum(self.seen.values())
        return min(1.0, 2 * min(self.below(number), over))


LENGTHS: dict[str, Quantiles] = {
    "block": Quantiles(
        "block",
        "C",
        (0.121, 0.19, 0.3, 0.35, 0.4, 0.51, 0.65, 0.83, 1.07, 1.24, 1.43, 2.15, 2.92),
        0.15,
        5.0,
    ),
    "prolongation": Quantiles(
        "prolonged sound",
        "C",
        (0.21, 0.256, 0.33, 0.362, 0.39, 0.46, 0.55, 0.67, 0.85, 0.96, 1.123, 1.8, 2.42),
        0.2,
        3.0,
    ),
    "fragment": Quantiles(
        "repeated sound",
        "T",
        (0.03, 0.1, 0.15, 0.17, 0.18, 0.22, 0.26, 0.3, 0.36, 0.39, 0.44, 0.69, 1.05),
        0.06,
        1.0,
    ),
    "fragment_gap": Quantiles(
        "gap after a repeated sound",
        "T",
        (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.02, 0.07, 0.18, 0.24, 0.31, 0.56, 0.92),
        0.0,
        1.5,
    ),
    "word_gap": Quantiles(
        "gap between the copies of a word",
        "T",
        (0.0, 0.0, 0.0, 0.01, 0.02, 0.05, 0.07, 0.13, 0.22, 0.31, 0.39, 0.68, 0.92),
        0.0,
        1.5,
    ),
    "um": Quantiles(
        "um", "T", (0.21, 0.26, 0.32, 0.35, 0.38, 0.43, 0.47, 0.52, 0.57, 0.6, 0.62, 0.71, 0.79), 0.15, 1.2
    ),
    "uh": Quantiles(
        "uh", "T", (0.12, 0.16, 0.21, 0.22, 0.24, 0.26, 0.29, 0.33, 0.38, 0.4, 0.44, 0.52, 0.61), 0.1, 1.0
    ),
    "gap_before_filler": Quantiles(
        "gap before a filler",
        "T",
        (0.0, 0.0, 0.01, 0.03, 0.04, 0.08, 0.18, 0.31, 0.44, 0.52, 0.6, 0.9, 1.18),
        0.0,
        2.0,
    ),
    "gap_after_filler": Quantiles(
        "gap after a filler",
        "T",
        (0.0, 0.0, 0.02, 0.03, 0.05, 0.13, 0.24, 0.39, 0.58, 0.68, 0.85, 1.25, 1.87),
        0.0,
        2.5,
    ),
}
"""Lengths of real events and gaps, by name. The prolongation is drawn from its quantiles: the log-normal fitted to them
and cut at 0.25 s lies 0.13 away from them, more than the checks allow."""

ITERATIONS: dict[str, Counts] = {
    "fragment_iterations": Counts(
        "repetitions of a sound",
        "T",
        {1: 831, 2: 272, 3: 86, 4: 36, 5: 13, 6: 2, 7: 3, 8: 1, 9: 1},
    ),
    "word_iterations": Counts(
        "repetitions of a word", "T", {1: 675, 2: 133, 3: 27, 4: 19, 5: 4, 6: 1, 8: 1, 9: 1}
    ),
}

MEASURES: dict[str, Quantiles | Counts] = {**LENGTHS, **ITERATIONS}
"""All distributions that an event's lengths, gaps and iterations are compared with."""

FIRST_COPY = (math.log(1.22), math.log(1.67 / 1.22) / 0.6745)
"""The first copy of a repeated word against the last: log-normal, median 1.22, quartiles 0.89 to 1.67 (T)."""

UM_SHARE = 0.53
"""Of fillers, how many are um; the others are uh (T)."""

# Where: the rates of stuttered words, per cent (T).
FUNCTION_WORD, CONTENT_BY_SYLLABLES = 1.5, (2.6, 5.4, 10.7, 10.0)
"""Sounds: of function words 1.5 %, of words with 1, 2, 3 and 4 or more syllables 1.9, 5.4, 10.7 and 10.0 % (T). The
2.6 % of content words with one syllable follow from the 1.9 % where 65 % of such words are function words (G)."""
WORD_REPETITION = {"function": 3.7, "content": 0.7}
FIRST_WORD = 2.4
"""How many times as often the first word of a segment is repeated (T)."""
FIRST_SYLLABLE, FIRST_SOUND = 0.978, 0.765
"""Share of events on the first syllable (N) and on the first sound (C)."""
BLOCK_INSIDE = 0.05
COMBINED = 0.10
"""Share of stuttered words with two events (C; J has 35 %)."""
RUNS = 0.20
"""Share of events that extend a run of stuttered words (J)."""
STRONG_TENSION = 0.34
"""Share of blocks with strong tension (C)."""
FRAGMENT_WITH_VOWEL = {"plosive": 0.30, "other": 0.28}

RATES = Quantiles(
    "core events per 100 words, by speaker",
    "C",
    # 25, 50, 75 and 90 % are measured (3, 7, 12, 24); the others lie on straight lines between and beyond them (G).
    (0.6, 1.2, 2.4, 3.0, 3.8, 5.4, 7.0, 9.0, 11.0, 12.0, 16.0, 24.0, 30.0),
)


@dataclass(frozen=True)
class Profile:
    """How much somebody stutters: core events per 100 words, and the shares of the kinds."""

    name: str
    rate: float
    shares: Mapping[str, float]


def _profile(name: str, rate: float, *percent: float) -> Profile:
    kinds = ("block", "prolongation", "sound_repetition", "word_repetition")
    return Profile(name, rate, {k: p / sum(percent) for k, p in zip(kinds, percent, strict=True)})


PROFILES: dict[str, Profile] = {
    one.name: one
    for one in (
        _profile("mild", 3.0, 26, 14, 20, 28),
        _profile("moderate", 8.0, 34.5, 16.5, 26, 16.5),
        _profile("severe", 20.0, 43, 19, 32, 5),
    )
}
"""Mild and severe have the kinds of people with fewer than 5 and with more than 20 events per 100 words (C, few people
at the top), without the repetitions of several words (12 and 2 %); moderate lies midway."""
SPEAKERS_DIFFER = 0.25
"""Rates are drawn per speaker: log-normal about the profile's, with this spread (G)."""
FILLER_RATE = 5.0
"""Fillers per 100 words of a conversation (T: 5.1); none when reading."""
STYLES = ("read", "conversation")


def kolmogorov(name: str, values: list[float]) -> float:
    """Return the Kolmogorov distance of values to what was measured: the largest difference of the two shares below.

    Between quantiles the reference is only known to rise, so it is compared at the quantiles and, for numbers, at each.

    >>> round(kolmogorov("word_iterations", [1, 1, 1, 2]), 3)
    0.062
    """
    measure = MEASURES[name]
    drawn = np.sort(np.asarray(values, dtype=float))
    if isinstance(measure, Counts):
        points = [(float(k), measure.below(k)) for k in measure.seen]
    else:
        # Of levels that share a value (many gaps are 0) only the highest says how many are at most that long.
        pairs = [*zip(measure.values, LEVELS, strict=True), (math.inf, 1.0)]
        points = [(value, level) for (value, level), (later, _) in pairwise(pairs) if later > value]
    shares = np.searchsorted(drawn, [value + 1e-9 for value, _ in points], side="right") / max(len(drawn), 1)
    return float(np.max(np.abs(shares - np.array([level for _, level in points]))))
