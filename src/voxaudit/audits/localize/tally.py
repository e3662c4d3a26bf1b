"""The sums of one recognizer and perturbation: counts, losses and tests, setting by setting, and their sounds."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voxaudit.align.pronounce import dictionary
from voxaudit.audits.localize.exact import draws_worth, excess_loss, group_excess, hanging_together
from voxaudit.audits.localize.occurrences import Heard, Sample, sums
from voxaudit.errors import VoxauditError
from voxaudit.stats.cells import FloatArray, IntArray

NO_DICTIONARY = "no phonemes: their dictionary comes with pocketsphinx, in the extra 'voxaudit[pocketsphinx]'"


@dataclass(frozen=True, eq=False)
class Sounds:
    """How often each phoneme occurs in each word (words x phonemes), and which words the dictionary has."""

    phonemes: tuple[str, ...]
    times: FloatArray
    known: FloatArray


@dataclass(frozen=True)
class Options:
    """Which tests the data allow, and how many examples of a lost word are kept for a scenario."""

    speakers_known: bool
    speakers_in_one_group: bool
    examples: int


@dataclass
class Tally:
    """Adds up scenario after scenario; afterwards gives tables with a row for each (group, word) that was said."""

    part: Sample
    groups: pl.Series
    allowed: NDArray[np.bool_]
    sounds: Sounds | None
    options: Options
    _settings: list[str] = field(default_factory=list)
    _counts: list[IntArray] = field(default_factory=list)
    _lost: list[FloatArray] = field(default_factory=list)
    _p: list[FloatArray] = field(default_factory=list)
    _p_group: list[FloatArray] = field(default_factory=list)
    _examples: list[tuple[str, IntArray, IntArray]] = field(default_factory=list)
    _sound_lost: list[FloatArray] = field(default_factory=list)
    _sound_p: list[FloatArray] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._size = len(self.part.clean.vocabulary)
        cells = self.part.cell
        present = np.unique(cells)
        self._cells = present[self.allowed[present % self._size]]
        self._of_pair = np.searchsorted(present, cells)
        self._kept = np.searchsorted(present, self._cells)
        self._all = len(present)

    @property
    def is_empty(self) -> bool:
        """No word was said that is allowed."""
        return not len(self._cells)

    def add(self, setting: str, heard: Heard) -> None:
        """Add one scenario."""
        self._settings.append(setting)
        self._counts.append(heard.counts.ravel()[self._cells])
        self._lost.append(sums(self._of_pair, heard.lost_pairs, self._all)[self._kept])
        p, p_group = self._tested(heard)
        self._p.append(p[self._kept])
        self._p_group.append(p_group.ravel()[self._cells])
        entries = np.flatnonzero((heard.lost > 0) & self.allowed[self.part.word])
        self._examples.append((setting, *self._first(entries)))
        if self.sounds is not None:
            self._add_sounds(heard, self.sounds)

    def _tested(self, heard: Heard) -> tuple[FloatArray, FloatArray]:
        groups = int(self.part.clean.group_of.max()) + 1
        p, p_group = np.full(self._all, np.nan), np.full((groups, self._size), np.nan)
        share, chance = heard.lost_pairs / self.part.said, heard.expected / self.part.said
        if self.options.speakers_known:
            said, lost = self.part.said, heard.lost_pairs
            of_pair, size = self._of_pair, self._all
            rho = hanging_together(of_pair, size, self.part.pair_speaker, said, lost, heard.expected)
            p = excess_loss(of_pair, size, share, chance, draws_worth(of_pair, size, said, rho))
        if self.options.speakers_in_one_group and groups > 1:
            group = self.part.clean.group_of[self.part.pair_speaker]
            p_group = group_excess(self.part.pair_word, self._size, group, groups, share >= 0.5)
        return p, p_group

    def _first(self, entries: IntArray) -> tuple[IntArray, IntArray]:
        """Return rows and words of the first entries of each (group, word), as many as are kept."""
        key = self.part.clean.group[self.part.row[entries]] * self._size + self.part.word[entries]
        order = np.argsort(key, kind="stable")
        _, starts = np.unique(key[order], return_index=True)
        rank = np.arange(len(order)) - np.repeat(starts, np.diff([*starts, len(order)]))
        chosen = np.sort(entries[order[rank < self.options.examples]])
        return self.part.row[chosen], self.part.word[chosen]

    def _add_sounds(self, heard: Heard, sounds: Sounds) -> None:
        said, lost, expected = (
            self._by_sound(values, sounds) for values in (self.part.said, heard.lost_pairs, heard.expected)
        )
        self._sound_lost.append(self._by_group(lost))
        p = np.full((len(self.groups), len(sounds.phonemes)), np.nan)
        if self.options.speakers_known:
            speaker, sound = np.nonzero(said)
            cell = self.part.clean.group_of[speaker] * len(sounds.phonemes) + sound
            at = (speaker, sound)
            share, chance = lost[at] / said[at], np.minimum(expected[at] / said[at], 1.0)
            rho = hanging_together(cell, p.size, speaker, said[at], lost[at], expected[at])
            draws = draws_worth(cell, p.size, said[at], rho)
            p = excess_loss(cell, p.size, share, chance, draws).reshape(p.shape)
        self._sound_p.append(p)

    def _by_sound(self, values: Any, sounds: Sounds) -> FloatArray:
        """Sum a value of (speaker, word) pairs over the words in which each sound occurs, as often as it does."""
        from scipy.sparse import csr_array

        shape = (len(self.part.clean.group_of), self._size)
        places = (self.part.pair_speaker, self.part.pair_word)
        return np.asarray(csr_array((np.asarray(values, float), places), shape=shape) @ sounds.times)

    def _by_group(self, by_speaker: FloatArray) -> FloatArray:
        sums = np.zeros((len(self.groups), by_speaker.shape[1]))
        np.add.at(sums, self.part.clean.group_of, by_speaker)
        return sums

    def counts(self, **labels: str) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return (originals, counts) as `word_drops` takes them."""
        group, word = self._named()
        original = np.bincount(self._of_pair, self.part.said, self._all)[self._kept].astype(np.int64)
        base = pl.DataFrame({"group": group, "word": word})
        heard = [
            base.with_columns(pl.lit(setting).alias("setting"), pl.Series("count", counts))
            for setting, counts in zip(self._settings, self._counts, strict=True)
        ]
        named = [pl.lit(value).alias(key) for key, value in labels.items()]
        return base.with_columns(*named, pl.Series("original", original)), pl.concat(heard).with_columns(
            *named
        )

    def losses(self) -> pl.DataFrame:
        """Return, for each (group, word), how many said it, how often it was lost at the worst setting, the tests."""
        entries = self.part.clean.group[self.part.row] * self._size + self.part.word
        place = np.searchsorted(self._cells, entries)
        place = np.where(
            self._cells[np.minimum(place, len(self._cells) - 1)] == entries, place, len(self._cells)
        )
        utterances = np.bincount(place, minlength=len(self._cells) + 1)[:-1]
        speakers = np.bincount(self._of_pair, minlength=self._all)[self._kept]
        said = np.bincount(self._of_pair, self.part.said, self._all)[self._kept]
        lost = np.stack(self._lost)
        worst = lost.argmax(axis=0)
        most = lost.max(axis=0)
        return pl.DataFrame(
            {
                "utterances": utterances,
                "speakers": pl.Series(
                    speakers if self.options.speakers_known else [None] * len(speakers), dtype=pl.Int64
                ),
                "lost": most.astype(np.int64),
                "lost_rate": most / said,
                "lost_setting": [self._settings[number] for number in worst],
                "p": _over_settings(self._p),
                "p_group": _over_settings(self._p_group),
            }
        )

    def phonemes(self, **labels: str) -> pl.DataFrame:
        """Return, for each (group, phoneme), its occurrences in clean words, those in lost words, the test."""
        assert self.sounds is not None
        said = self._by_group(self._by_sound(self.part.said, self.sounds))
        lost = np.stack(self._sound_lost)
        names = list(self.sounds.phonemes)
        worst = lost.argmax(axis=0).ravel()
        table = pl.DataFrame(
            {
                "group": np.repeat(self.groups.to_numpy(), len(names)),
                "phoneme": names * len(self.groups),
                "said": said.ravel().astype(np.int64),
                "lost": lost.max(axis=0).ravel().astype(np.int64),
                "lost_setting": [self._settings[number] for number in worst],
                "p": _over_settings([p.ravel() for p in self._sound_p]),
            }
        ).filter(pl.col("said") > 0)
        named = [pl.lit(value).alias(key) for key, value in labels.items()]
        rate = (pl.col("lost") / pl.col("said")).alias("lost_rate")
        return table.select(*named, "group", "phoneme", "said", "lost", rate, "lost_setting", "p")

    def examples(self, utterances: pl.Series, **labels: str) -> pl.DataFrame:
        """Return utterances in which a word was lost: recognizer, group, perturbation, setting, word, utterance."""
        group_of, vocabulary = self.part.clean.group, self.part.clean.vocabulary
        named = [pl.lit(value).alias(key) for key, value in labels.items()]
        parts = [
            pl.DataFrame(
                {
                    "group": self.groups.gather(group_of[rows]),
                    "word": vocabulary.gather(words),
                    "setting": pl.Series([setting] * len(rows), dtype=pl.String),
                    "utterance": utterances.gather(rows),
                }
            )
            for setting, rows, words in self._examples
        ]
        return pl.concat(parts).with_columns(*named)

    def _named(self) -> tuple[pl.Series, pl.Series]:
        group, word = np.divmod(self._cells, self._size)
        return self.groups.gather(group), self.part.clean.vocabulary.gather(word)


def _over_settings(p: list[FloatArray]) -> pl.Series:
    """Return the least p-value over the settings times their number (Bonferroni); null where there was no test."""
    # Who said a word does not depend on the setting: it is tested under all of them or under none.
    return pl.Series(np.minimum(np.stack(p).min(axis=0) * len(p), 1.0)).fill_nan(None)


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
