"""What the parity audit is asked: which column is which, and what counts as a gap, as enough and as an outlier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from voxaudit.errors import VoxauditError

MISSING = "(missing)"
"""The group of speakers whose attribute is not known: one of its own, never dropped."""
OTHER = "other"
"""The group that rare groups are merged into."""
MEAN = "(mean of recognizers)"
"""The name under which each speaker's mean over all recognizers is analysed."""

GAP = 0.1
"""The gap asked about unless told otherwise, or half the word error rate if less (Herron et al., section 3.4.1).

A difference of word error rates as a fraction: ten percentage points."""
MIN_SNR = 10.0
"""Recordings under this many dB are left out (Herron et al., section 5.3)."""
OUTLIER_Z = 3.0
"""Speakers and utterances beyond this many standard deviations are shown with and without."""
AGE_CUTS = (18.0, 30.0, 45.0, 65.0)
"""Lower ends of the bands that ages in years are put into."""

QUALITY = {"snr": "recording quality (SNR, dB)"}
COMPLEXITY = {
    "text_words": "words an utterance",
    "unknown_words": "share of words outside the dictionary",
    "word_frequency": "word frequency (log10 per million)",
    "perplexity_bits": "perplexity (bits a word)",
}
NAMES = QUALITY | COMPLEXITY
"""The measures that are looked at, and what they are called."""


RESERVED = frozenset(NAMES) | {
    *("recognizer", "speaker", "utterance", "utterances", "errors", "words", "rate_sum", "wer", "noise", "z"),
    *("plain_utterances", "plain_sum", "wer_utterance_mean", "wer_pooled", "place", "outliers", "sd"),
    *("speakers", "mean", "m2", "speakers_all", "mean_all", "m2_all", "sigma", "sigma_df", "sigma_all"),
    *("q5", "q25", "q50", "q75", "q95"),
}
"""Names of our own columns; an attribute of that name is called `attribute_NAME` in the results."""


def percentage_points(difference: float) -> str:
    """Return a difference of word error rates for people: 0.1 is `10 percentage points of word error rate`."""
    return f"{100.0 * difference:.3g} percentage points of word error rate"


def safe_name(attribute: str) -> str:
    """Return the name of an attribute in the results."""
    return f"attribute_{attribute}" if attribute in RESERVED else attribute


@dataclass(frozen=True)
class Columns:
    """Which column of a table is which.

    `errors` None: a column `errors` if there is one, else substitutions + deletions + insertions. `wer` names columns
    of word error rates, one a recognizer; errors are then `round(wer * words)`. `speaker_pattern` is a regular
    expression whose first group is the speaker where it matches. With `surrogate`, all attributes together stand in
    for a speaker column that does not exist.
    """

    speaker: str = "speaker"
    errors: str | None = None
    words: str = "words"
    recognizer: str = "recognizer"
    utterance: str = "utterance"
    wer: tuple[str, ...] = ()
    speaker_pattern: str | None = None
    surrogate: bool = False


@dataclass(frozen=True)
class Settings:
    """How the audit judges. `gap` is an absolute difference of word error rates (0.1: ten percentage points).

    None chooses (see `GAP`).
    """

    confidence: float = 0.95
    power: float = 0.8
    gap: float | None = None
    merge_below: int = 0
    bands: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    age: str | None = None
    scenario: str | None = None
    min_snr: float | None = MIN_SNR
    outlier_z: float = OUTLIER_Z
    correction: Literal["holm", "bh"] = "holm"

    def __post_init__(self) -> None:
        for name, value in (("confidence", self.confidence), ("power", self.power)):
            if not 0.0 < value < 1.0:
                raise VoxauditError(f"{name} must lie between 0 and 1, not {value:g}")
        if self.gap is not None and not 0.0 < self.gap < float("inf"):
            raise VoxauditError(
                f"the gap must be above 0 (0.1 is ten percentage points of word error rate), not {self.gap:g}"
            )
        if self.correction not in ("holm", "bh"):
            raise VoxauditError(f"the correction is 'holm' or 'bh', not '{self.correction}'")
        if not self.outlier_z > 0.0:
            raise VoxauditError(f"outliers are counted beyond a positive z, not {self.outlier_z:g}")

    def with_safe_names(self) -> Settings:
        """Return the same settings with attributes called as in the results."""
        bands = {safe_name(name): cuts for name, cuts in self.bands.items()}
        return replace(self, bands=bands, age=None if self.age is None else safe_name(self.age))

    @property
    def alpha(self) -> float:
        """The level of all tests."""
        return 1.0 - self.confidence


@dataclass(frozen=True)
class Refusal:
    """A conclusion that the data cannot carry: what was asked, why it is refused, and what would help."""

    what: str
    why: str
    remedy: str = ""


@dataclass(frozen=True)
class Caution:
    """Something that every conclusion about `attribute` has to be read with; None: about all of them."""

    attribute: str | None
    text: str
