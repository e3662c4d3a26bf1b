"""Tests with speakers as the sample: is a word lost more than the words beside it, or more in one group?

For speaker s let X_s be the share of the word's m_s occurrences that were lost, and q_s what that share would be if the
losses of each utterance had fallen on its words at random (lost words / words). Under the null hypothesis X_s has mean
q_s and the variance q_s (1 - q_s) (1 + (m_s - 1) rho) / m_s, rho being how much the occurrences of one speaker hang
together: 0 where each is lost or kept on its own, 1 where all are lost or none. A speaker is worth
`m_s / (1 + (m_s - 1) rho)` yes-or-no draws, rounded down: the sum over speakers of draws times X_s spreads at most as
much as the sum of so many independent draws with chances q_s, and that distribution (Poisson-binomial) gives the
p-value. With rho 1 a speaker is one draw, however often he or she says the word.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voxaudit.score.lost_words import Heard, Sample, Sounds, sums
from voxaudit.stats.bootstrap import FEWEST_SPEAKERS
from voxaudit.stats.cells import FloatArray, IntArray

_BLOCK = 4_000_000  # chances worked on at a time: bounds memory
_ROUNDING = 1e-9

MOST_DRAWS = 256
"""Draws that all speakers of a word are worth at most; each is worth one, however many they are."""


def hanging_together(
    cell: IntArray,
    cells: int,
    speaker: IntArray,
    said: NDArray[Any],
    lost: FloatArray,
    expected: FloatArray,
) -> FloatArray:
    """Return rho for each of `cells` words of a group: how much the occurrences of one speaker are lost together.

    Rows are as in `excess_loss`; `said` occurrences of which `lost` were lost and `expected` would be by chance. By
    moments: what the losses of speakers vary about the word's own rate beyond independent draws, over what they could
    at most. The larger of two estimates: the word's own, and the upper 95 % limit (speakers being the sample) of that
    from all words together, since a word with few speakers says little about its own.
    """
    from scipy.special import stdtrit

    speakers = np.bincount(cell, minlength=cells)
    ratio = np.bincount(cell, lost, cells) / np.maximum(np.bincount(cell, expected, cells), _ROUNDING)
    chance = np.minimum(ratio[cell] * expected / said, 1.0)
    alone = said * chance * (1.0 - chance)
    # One figure, the word's rate, is taken from the same speakers.
    count = speakers[cell]
    seen = (lost - said * chance) ** 2 * np.where(count > 1, count / np.maximum(count - 1.0, 1.0), 0.0)
    beyond, most = np.where(count > 1, seen - alone, 0.0), np.where(count > 1, alone * (said - 1.0), 0.0)
    within, whole = np.bincount(cell, beyond, cells), np.bincount(cell, most, cells)
    own = np.where(whole > _ROUNDING, within / np.maximum(whole, _ROUNDING), 0.0)
    people = int(speaker.max(initial=-1)) + 1
    parts, wholes = np.bincount(speaker, beyond, people), np.bincount(speaker, most, people)
    told = np.flatnonzero(wholes > 0.0)
    if len(told) < FEWEST_SPEAKERS:
        return np.ones(cells)
    pooled = parts[told].sum() / wholes[told].sum()
    off = parts[told] - pooled * wholes[told]
    error = np.sqrt((off**2).sum() * len(told) / (len(told) - 1.0)) / wholes[told].sum()
    upper = pooled + stdtrit(len(told) - 1.0, 0.95) * error
    return np.asarray(np.clip(np.maximum(own, upper), 0.0, 1.0))


def draws_worth(cell: IntArray, cells: int, said: NDArray[Any], rho: FloatArray) -> IntArray:
    """Return how many independent draws each speaker's occurrences of a word are worth: whole numbers from 1.

    No more than `MOST_DRAWS` for all speakers of a word together (or one each), which bounds the work; beyond that
    many, more would tell little.
    """
    worth = said / (1.0 + (said - 1.0) * rho[cell])
    most = np.maximum(MOST_DRAWS // np.maximum(np.bincount(cell, minlength=cells), 1), 1)
    whole = np.minimum(np.floor(worth + _ROUNDING), most[cell])
    return np.asarray(np.maximum(whole, 1), dtype=np.int64)


def excess_loss(
    cell: IntArray, cells: int, share: FloatArray, chance: FloatArray, draws: IntArray | None = None
) -> FloatArray:
    """Return, for each of `cells` words of a group, the p-value that its speakers lost it no more than other words.

    `cell` says which word (of which group) a row belongs to, a row for each speaker who said it; `share` is X_s,
    `chance` q_s and `draws` what the speaker is worth (one without it: nothing is assumed about how occurrences hang
    together). Between whole numbers of draws the tail is interpolated. NaN with fewer than five speakers; 1 where
    the loss is not even half a standard deviation above what is expected (the p-value would be large anyway).
    """
    speakers = np.bincount(cell, minlength=cells)
    times = np.ones(len(cell), dtype=np.int64) if draws is None else draws
    total = np.asarray(np.bincount(cell, times * share, cells), dtype=np.float64) + _ROUNDING
    mean = np.bincount(cell, times * chance, cells)
    deviation = np.sqrt(np.bincount(cell, times * chance * (1.0 - chance), cells))
    p = np.where(speakers >= FEWEST_SPEAKERS, 1.0, np.nan)
    worth = (speakers >= FEWEST_SPEAKERS) & (total > mean + 0.5 * deviation + _ROUNDING)
    order = np.argsort(cell, kind="stable")
    drawn = np.repeat(chance[order], times[order])
    count = np.bincount(cell, times, cells).astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(count)])
    # Words with like numbers of draws share a table.
    chosen = np.flatnonzero(worth)[np.argsort(count[worth], kind="stable")]
    while len(chosen):
        width = 2 * int(count[chosen[0]]) + 8
        alike = int(np.searchsorted(count[chosen], width, side="right"))
        some = chosen[: min(alike, max(1, _BLOCK // width))]
        longest = int(count[some].max())
        chances = np.zeros((len(some), longest))
        filled = np.arange(longest) < count[some][:, np.newaxis]
        at = (starts[some][:, np.newaxis] + np.arange(longest))[filled]
        chances[filled] = drawn[at]
        whole = np.floor(total[some]).astype(np.int64)
        part = total[some] - whole
        distribution = poisson_binomial(chances)
        p[some] = (1.0 - part) * _tail(distribution, whole) + part * _tail(distribution, whole + 1)
        chosen = chosen[len(some) :]
    return p


def poisson_binomial(chances: FloatArray) -> FloatArray:
    """Return, row by row, the chance of 0, 1, 2 ... successes in independent draws with these chances."""
    rows, draws = chances.shape
    distribution = np.zeros((rows, draws + 1))
    distribution[:, 0] = 1.0
    for draw in range(draws):
        q = chances[:, draw, np.newaxis]
        moved = distribution[:, : draw + 1] * q
        distribution[:, : draw + 1] *= 1.0 - q
        distribution[:, 1 : draw + 2] += moved
    return distribution


def _tail(distribution: FloatArray, at_least: IntArray) -> FloatArray:
    beyond = np.arange(distribution.shape[1]) >= at_least[:, np.newaxis]
    return np.asarray(np.minimum((distribution * beyond).sum(axis=1), 1.0))


def group_excess(
    word: IntArray, words: int, group: IntArray, groups: int, mostly_lost: NDArray[np.bool_]
) -> FloatArray:
    """Return the p-value that a group's speakers lose a word no more often than all other speakers (Fisher, one-sided).

    A row for each speaker who said the word: did he or she lose it in at least half of its occurrences? The result has
    a row for each group and a column for each word; NaN with fewer than five speakers on either side.
    """
    from scipy.stats import hypergeom

    cell = group * words + word
    said = np.bincount(cell, minlength=groups * words).reshape(groups, words)
    lost = np.bincount(cell[mostly_lost], minlength=groups * words).reshape(groups, words)
    everyone, all_lost = said.sum(axis=0), lost.sum(axis=0)
    enough = (said >= FEWEST_SPEAKERS) & (everyone - said >= FEWEST_SPEAKERS)
    p = np.full((groups, words), np.nan)
    at = np.nonzero(enough)
    if len(at[0]):
        p[at] = hypergeom.sf(lost[at] - 1, everyone[at[1]], all_lost[at[1]], said[at])
    return np.asarray(np.minimum(p, 1.0))


def excess_p(
    cell: IntArray, cells: int, speaker: IntArray, said: NDArray[Any], lost: FloatArray, expected: FloatArray
) -> FloatArray:
    """Return the p-values of `excess_loss`, speakers being worth what their occurrences hang together."""
    draws = draws_worth(cell, cells, said, hanging_together(cell, cells, speaker, said, lost, expected))
    return excess_loss(cell, cells, lost / said, np.minimum(expected / said, 1.0), draws)


@dataclass
class Tally:
    """Adds up the scenarios of a perturbation; then has tables with a row for each (group, word) that was said."""

    part: Sample
    groups: pl.Series
    allowed: NDArray[np.bool_]
    """Which words of the vocabulary are counted."""
    sounds: Sounds | None = None
    speakers_known: bool = True
    speakers_in_one_group: bool = True
    most_examples: int = 0
    """Examples of a lost word that are kept for a scenario."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Columns that every table gets: the recognizer and the perturbation."""

    def __post_init__(self) -> None:
        self._size = len(self.part.clean.vocabulary)
        cells = self.part.cell
        present = np.unique(cells)
        self._cells = present[self.allowed[present % self._size]]
        self._of_pair = np.searchsorted(present, cells)
        self._kept = np.searchsorted(present, self._cells)
        self._all = len(present)
        self._settings: list[str] = []
        self._examples: list[tuple[IntArray, IntArray]] = []
        # One array a scenario.
        self._counts: list[IntArray] = []
        self._lost: list[FloatArray] = []
        self._p: list[FloatArray] = []
        self._p_group: list[FloatArray] = []
        self._sound_lost: list[FloatArray] = []
        self._sound_p: list[FloatArray] = []

    @property
    def is_empty(self) -> bool:
        """No word was said that is allowed."""
        return not len(self._cells)

    def add(self, setting: str, heard: Heard) -> None:
        """Add one scenario."""
        self._settings.append(setting)
        self._counts.append(heard.counts.ravel()[self._cells])
        self._lost.append(self._by_cell(heard.lost_pairs))
        p, p_group = self._tested(heard)
        self._p.append(p[self._kept])
        self._p_group.append(p_group.ravel()[self._cells])
        entries = np.flatnonzero((heard.lost > 0) & self.allowed[self.part.word])
        self._examples.append(self._first(entries))
        if self.sounds is not None:
            self._add_sounds(heard, self.sounds)

    def _by_cell(self, of_pair: NDArray[Any]) -> FloatArray:
        """Sum a value of (speaker, word) pairs over the speakers of each (group, word)."""
        return sums(self._of_pair, of_pair, self._all)[self._kept]

    def _tested(self, heard: Heard) -> tuple[FloatArray, FloatArray]:
        part, groups = self.part, int(self.part.clean.group_of.max()) + 1
        p, p_group = np.full(self._all, np.nan), np.full((groups, self._size), np.nan)
        if self.speakers_known:
            counts = (part.said, heard.lost_pairs, heard.expected)
            p = excess_p(self._of_pair, self._all, part.pair_speaker, *counts)
        if self.speakers_in_one_group and groups > 1:
            group, mostly = part.clean.group_of[part.pair_speaker], heard.lost_pairs / part.said >= 0.5
            p_group = group_excess(part.pair_word, self._size, group, groups, mostly)
        return p, p_group

    def _first(self, entries: IntArray) -> tuple[IntArray, IntArray]:
        """Return rows and words of the first entries of each (group, word), as many as are kept."""
        key = self.part.clean.group[self.part.row[entries]] * self._size + self.part.word[entries]
        order = np.argsort(key, kind="stable")
        _, starts = np.unique(key[order], return_index=True)
        rank = np.arange(len(order)) - np.repeat(starts, np.diff([*starts, len(order)]))
        chosen = np.sort(entries[order[rank < self.most_examples]])
        return self.part.row[chosen], self.part.word[chosen]

    def _add_sounds(self, heard: Heard, sounds: Sounds) -> None:
        counts = [self._by_sound(v, sounds) for v in (self.part.said, heard.lost_pairs, heard.expected)]
        self._sound_lost.append(self._by_group(counts[1]))
        p = np.full(len(self.groups) * len(sounds.phonemes), np.nan)
        if self.speakers_known:
            speaker, sound = np.nonzero(counts[0])
            cell = self.part.clean.group_of[speaker] * len(sounds.phonemes) + sound
            p = excess_p(cell, p.size, speaker, *(values[speaker, sound] for values in counts))
        self._sound_p.append(p)

    def _by_sound(self, values: Any, sounds: Sounds) -> FloatArray:
        """Sum a value of (speaker, word) pairs over the words in which each sound occurs, as often as it does."""
        from scipy.sparse import csr_array

        shape = (len(self.part.clean.group_of), self._size)
        places = (self.part.pair_speaker, self.part.pair_word)
        return np.asarray(csr_array((np.asarray(values, float), places), shape=shape) @ sounds.times)

    def _by_group(self, by_speaker: FloatArray) -> FloatArray:
        totals = np.zeros((len(self.groups), by_speaker.shape[1]))
        np.add.at(totals, self.part.clean.group_of, by_speaker)
        return totals

    def _labeled(self, columns: Mapping[str, Any]) -> pl.DataFrame:
        return pl.DataFrame(columns).with_columns(
            pl.lit(value).alias(key) for key, value in self.labels.items()
        )

    def counts(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return (originals, counts) as `word_drops` takes them."""
        group, word = np.divmod(self._cells, self._size)
        names = {"group": self.groups.gather(group), "word": self.part.clean.vocabulary.gather(word)}
        base = self._labeled(names)
        heard = [
            base.with_columns(pl.lit(setting).alias("setting"), pl.Series("count", counts))
            for setting, counts in zip(self._settings, self._counts, strict=True)
        ]
        original = pl.Series("original", self._by_cell(self.part.said).astype(np.int64))
        return base.with_columns(original), pl.concat(heard)

    def losses(self) -> pl.DataFrame:
        """Return, for each (group, word), how many said it, how often it was lost at the worst setting, the tests."""
        entries = self.part.clean.group[self.part.row] * self._size + self.part.word
        place = np.searchsorted(self._cells, entries)
        place = np.where(
            self._cells[np.minimum(place, len(self._cells) - 1)] == entries, place, len(self._cells)
        )
        speakers = np.bincount(self._of_pair, minlength=self._all)[self._kept]
        most, worst = self._worst(self._lost)
        return pl.DataFrame(
            {
                "utterances": np.bincount(place, minlength=len(self._cells) + 1)[:-1],
                "speakers": pl.Series(
                    speakers if self.speakers_known else [None] * len(speakers), dtype=pl.Int64
                ),
                "lost": most.astype(np.int64),
                "lost_rate": most / self._by_cell(self.part.said),
                "lost_setting": worst,
                "p": _over_settings(self._p),
                "p_group": _over_settings(self._p_group),
            }
        )

    def _worst(self, lost: list[FloatArray]) -> tuple[FloatArray, list[str]]:
        """Return the largest losses over the settings, and at which they are."""
        table = np.stack([values.ravel() for values in lost])
        return table.max(axis=0), [self._settings[number] for number in table.argmax(axis=0)]

    def phonemes(self) -> pl.DataFrame:
        """Return, for each (group, phoneme), its occurrences in clean words, those in lost words, the test."""
        assert self.sounds is not None
        said = self._by_group(self._by_sound(self.part.said, self.sounds)).ravel()
        names = list(self.sounds.phonemes)
        most, worst = self._worst(self._sound_lost)
        table = self._labeled(
            {
                "group": np.repeat(self.groups.to_numpy(), len(names)),
                "phoneme": names * len(self.groups),
                "said": said.astype(np.int64),
                "lost": most.astype(np.int64),
                "lost_setting": worst,
                "p": _over_settings(self._sound_p),
            }
        )
        rate = (pl.col("lost") / pl.col("said")).alias("lost_rate")
        said_at_all = table.filter(pl.col("said") > 0)
        return said_at_all.select(*self.labels, "group", "phoneme", "said", "lost", rate, "lost_setting", "p")

    def examples(self, utterances: pl.Series) -> pl.DataFrame:
        """Return utterances in which a word was lost: group, word, setting, utterance, and the labels."""
        parts = [
            self._labeled(
                {
                    "group": self.groups.gather(self.part.clean.group[rows]),
                    "word": self.part.clean.vocabulary.gather(words),
                    "setting": pl.Series([setting] * len(rows), dtype=pl.String),
                    "utterance": utterances.gather(rows),
                }
            )
            for setting, (rows, words) in zip(self._settings, self._examples, strict=True)
        ]
        return pl.concat(parts)


def _over_settings(p: list[FloatArray]) -> pl.Series:
    """Return the least p-value over the settings times their number (Bonferroni); null where there was no test."""
    # Who said a word does not depend on the setting: it is tested under all of them or under none.
    return pl.Series(np.minimum(np.stack(p).min(axis=0) * len(p), 1.0)).fill_nan(None)
