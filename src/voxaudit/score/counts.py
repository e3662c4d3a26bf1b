"""Counts: hits, substitutions, deletions and insertions, which add up; rates are views of them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Counts:
    """What an alignment found, in words or in characters.

    Counts of several utterances are added before a rate is taken, so a rate is always a ratio of sums.
    A rate is a fraction (0.15 is 15 %) and is None where its denominator is zero: an empty reference has
    errors, all of them insertions, but no error rate of its own.

    >>> Counts(hits=8, substitutions=1, deletions=1) + Counts(insertions=2)
    Counts(hits=8, substitutions=1, deletions=1, insertions=2)
    >>> _.wer
    0.4
    """

    hits: int = 0
    substitutions: int = 0
    deletions: int = 0
    insertions: int = 0

    @classmethod
    def zero(cls) -> Counts:
        """Return the counts of nothing, where a sum starts."""
        return cls()

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.hits + other.hits,
            self.substitutions + other.substitutions,
            self.deletions + other.deletions,
            self.insertions + other.insertions,
        )

    @property
    def words(self) -> int:
        """Words (or characters) of the reference."""
        return self.hits + self.substitutions + self.deletions

    @property
    def hypothesis_words(self) -> int:
        """Words (or characters) of the hypothesis."""
        return self.hits + self.substitutions + self.insertions

    @property
    def errors(self) -> int:
        """Substitutions, deletions and insertions together: the edit distance."""
        return self.substitutions + self.deletions + self.insertions

    @property
    def wer(self) -> float | None:
        """Error rate (S + D + I) / (H + S + D); on character counts this is the CER. None without reference."""
        return self.errors / self.words if self.words else None

    @property
    def mer(self) -> float | None:
        """Match error rate (S + D + I) / (H + S + D + I) (Morris et al. 2004). None where nothing was said."""
        aligned = self.hits + self.errors
        return self.errors / aligned if aligned else None

    @property
    def wil(self) -> float | None:
        """Word information lost 1 - (H / N_ref) (H / N_hyp) (Morris et al. 2004); 1 where one side is empty.

        None where both sides are empty.
        """
        if not self.words and not self.hypothesis_words:
            return None
        if not self.words or not self.hypothesis_words:
            return 1.0
        return 1.0 - (self.hits / self.words) * (self.hits / self.hypothesis_words)
