"""Which words of a clean transcript are lost when the same recording is disturbed, how often, and by whom.

All words are numbers here: (utterance, word) and (speaker, word) become single integers, and counting is `bincount`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voxaudit.align.pronounce import dictionary
from voxaudit.errors import VoxauditError
from voxaudit.score.kernel import Spans, unmatched
from voxaudit.score.normalize import Normalizer, normalize_words
from voxaudit.score.pairs import places
from voxaudit.tables import mean_of

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_ALIGNED = 50_000  # texts aligned at a time: bounds memory

CELL = ("recognizer", "group", "perturbation")

NO_DICTIONARY = "no phonemes: their dictionary comes with pocketsphinx, in the extra 'voxaudit[pocketsphinx]'"


@dataclass(frozen=True, eq=False)
class Words:
    """The words of many texts, one behind the other, as numbers of a vocabulary; those it lacks are one behind it.

    `ends` has where each text ends, `answered` which are no nulls.
    """

    codes: NDArray[np.int32]
    ends: IntArray
    answered: NDArray[np.bool_]

    @property
    def lengths(self) -> IntArray:
        """How many words each text has."""
        return np.diff(self.ends, prepend=0)

    @property
    def row(self) -> IntArray:
        """The text of each word."""
        return np.repeat(np.arange(len(self.ends)), self.lengths)

    def texts(self, first: int, last: int) -> Words:
        """Return those of some texts."""
        start, stop = (int(self.ends[row - 1]) if row else 0 for row in (first, last))
        return Words(self.codes[start:stop], self.ends[first:last] - start, self.answered[first:last])


def words_of(
    texts: pl.Series, rule: Normalizer, vocabulary: pl.Series | None = None
) -> tuple[Words, pl.Series]:
    """Return the words of texts (null: no answer), normalized, and the vocabulary: without one, their own, sorted."""
    found = normalize_words(texts.fill_null(""), rule).in_a_row()
    if vocabulary is None:
        there = np.unique(found.codes).tolist()
        vocabulary = pl.Series(sorted(found.vocabulary[code] for code in there), dtype=pl.String)
    number = {word: place for place, word in enumerate(vocabulary.to_list())}
    place = np.array([number.get(word, len(number)) for word in found.vocabulary], dtype=np.int32)
    return Words(
        place[found.codes], np.cumsum(found.spans.lengths), texts.is_not_null().to_numpy()
    ), vocabulary


@dataclass(frozen=True, eq=False)
class Clean:
    """One recognizer's transcripts of clean speech: the words of each utterance as they were said, and a bag of them.

    `speaker` numbers the speakers within their groups (a speaker in two groups is two), `group_of` gives the group
    of each; `row`, `word`, `times` are the bag: how often an utterance has a word, sorted by row.
    """

    words: Words
    speaker: IntArray
    group_of: IntArray
    vocabulary: pl.Series
    row: IntArray
    word: IntArray
    times: IntArray

    @property
    def group(self) -> IntArray:
        """The group of each utterance."""
        return self.group_of[self.speaker]

    @cached_property
    def entry(self) -> IntArray:
        """Where each of the words is in the bags."""
        size = len(self.vocabulary)
        return np.searchsorted(self.row * size + self.word, self.words.row * size + self.words.codes)


@dataclass(frozen=True, eq=False)
class Sample:
    """What is counted of a recognizer's clean speech: the bags of the utterances that were answered throughout.

    `pair` numbers the (speaker, word) pairs, `pair_of` says which a bag entry belongs to, `cell` the (group, word) of
    each pair as `group * words + word`.
    """

    clean: Clean
    used: NDArray[np.bool_]
    row: IntArray
    word: IntArray
    times: IntArray
    pair_of: IntArray
    pair_speaker: IntArray
    pair_word: IntArray
    said: IntArray

    @cached_property
    def cell(self) -> IntArray:
        """The (group, word) of each (speaker, word)."""
        return self.clean.group_of[self.pair_speaker] * len(self.clean.vocabulary) + self.pair_word

    @cached_property
    def cells(self) -> tuple[IntArray, IntArray]:
        """Every (group, word) there is, and the place of each (speaker, word) among them."""
        present, of_pair = np.unique(self.cell, return_inverse=True)
        return present, of_pair

    @cached_property
    def words(self) -> FloatArray:
        """How many words each utterance has."""
        return sums(self.row, self.times, len(self.clean.words.ends))


@dataclass(frozen=True, eq=False)
class Heard:
    """What became of a sample's words in one scenario.

    `counts` is how often each word of the vocabulary was heard in each group (groups x words), wherever it was heard.
    `lost` says of each bag entry how many of its occurrences the alignment of the clean with the disturbed transcript
    does not match; `lost_pairs` and `expected` sum that, and what chance would give, by (speaker, word).
    """

    counts: IntArray
    lost: IntArray
    lost_pairs: FloatArray
    expected: FloatArray


def clean_words(texts: pl.Series, rule: Normalizer, speaker: IntArray, group_of: IntArray) -> Clean:
    """Return the clean speech of a recognizer from its texts (null: no answer)."""
    words, vocabulary = words_of(texts, rule)
    size = max(1, len(vocabulary))
    keys, times = np.unique(words.row * size + words.codes, return_counts=True)
    row, word = np.divmod(keys, size)
    return Clean(words, speaker, group_of, vocabulary, row, word, times)


def sample(clean: Clean, used: NDArray[np.bool_]) -> Sample:
    """Return the part of the clean speech that consists of the utterances `used`."""
    keep = used[clean.row]
    row, word, times = clean.row[keep], clean.word[keep], clean.times[keep]
    size = max(1, len(clean.vocabulary))
    pairs, pair_of = np.unique(clean.speaker[row] * size + word, return_inverse=True)
    speaker, spoken = np.divmod(pairs, size)
    said = np.bincount(pair_of, times, len(pairs)).astype(np.int64)
    return Sample(clean, used, row, word, times, pair_of, speaker, spoken, said)


def lost_entries(clean: Clean, heard: Words) -> list[IntArray]:
    """Return, for each of several scenarios, the bag entry of every word that was lost in it.

    `heard` has the texts of all utterances, scenario by scenario. The words lost are those that the alignment of
    `score.align` leaves unmatched.
    """
    rows = len(clean.words.ends)
    offset = len(clean.words.codes)
    codes = np.concatenate([clean.words.codes, heard.codes])
    start = clean.words.ends - clean.words.lengths
    found = []
    for first in range(0, len(heard.ends), rows * (step := max(1, _ALIGNED // max(rows, 1)))):
        texts = np.arange(first, min(first + rows * step, len(heard.ends)))
        said = texts % rows
        own, (one, last, _, _) = unmatched(
            codes,
            Spans(start[said], clean.words.lengths[said]),
            Spans(offset + heard.ends[texts] - heard.lengths[texts], heard.lengths[texts]),
        )
        entries = clean.entry[places(start[said[own]] + one, start[said[own]] + last)]
        scenario = np.repeat(own // rows, last - one)
        found += np.split(entries, np.searchsorted(scenario, np.arange(1, len(texts) // rows)))
    return found


def hear(part: Sample, heard: Words, entries: IntArray) -> Heard:
    """Return what became of a sample's words in a scenario: a text for each utterance, and the bag entries lost."""
    clean, size = part.clean, len(part.clean.vocabulary)
    row = heard.row
    known = part.used[row] & (heard.codes < size)
    counts = np.bincount(
        clean.group[row[known]] * size + heard.codes[known], minlength=(int(clean.group_of.max()) + 1) * size
    ).reshape(-1, size)
    lost = np.bincount(entries, minlength=len(clean.row))[part.used[clean.row]]
    rate = sums(part.row, lost, len(clean.words.ends)) / np.maximum(part.words, 1.0)
    pairs = len(part.said)
    return Heard(
        counts,
        lost,
        sums(part.pair_of, lost, pairs),
        sums(part.pair_of, part.times * rate[part.row], pairs),
    )


def sums(place: IntArray, values: NDArray[Any], places: int) -> FloatArray:
    """Return the sum of `values` at each of `places`."""
    return np.asarray(np.bincount(place, values, places), dtype=np.float64)


# AequeVox's Algorithm 2: how many times fewer a word is heard


def word_drops(originals: pl.DataFrame, counts: pl.DataFrame, omega: float) -> pl.DataFrame:
    """Return `drop = max(count in original - min over setting of count, 0)` of every word (Algorithm 2).

    `originals` has a row for each recognizer, group, perturbation and word with its count on clean speech,
    `original`; `counts` has recognizer, group, perturbation, setting, word, count, in the order of the settings. A
    word that a setting lacks was heard 0 times there. Added columns: `minimum`, `setting` (of the minimum, the first
    if several), `drop`, `non_robust` (`drop > omega`) and `counts`, one for each of `settings`.
    """
    settings = counts.select(*CELL, "setting").unique(maintain_order=True)
    grid = originals.lazy().join(settings.lazy(), on=CELL, maintain_order="left_right")
    heard = grid.join(
        counts.lazy(), on=[*CELL, "setting", "word"], how="left", maintain_order="left"
    ).with_columns(pl.col("count").fill_null(0))
    by_word = heard.group_by(*CELL, "word", maintain_order=True)
    listed = by_word.agg(pl.col("original").first(), settings=pl.col("setting"), counts=pl.col("count"))
    return drops_of(listed.collect(), omega)


def drops_of(words: pl.DataFrame, omega: float) -> pl.DataFrame:
    """Return what `word_drops` does of words with `original` and lists of `settings` and their `counts`."""
    counts = pl.col("counts").list
    return (
        words.with_columns(
            minimum=counts.min(), setting=pl.col("settings").list.get(counts.arg_min().cast(pl.Int64))
        )
        .with_columns((pl.col("original") - pl.col("minimum")).clip(lower_bound=0).alias("drop"))
        .with_columns((pl.col("drop") > omega).alias("non_robust"))
        .select(*CELL, "word", "original", "minimum", "drop", "setting", "non_robust", "settings", "counts")
    )


def average_drops(words: pl.DataFrame) -> pl.DataFrame:
    """Return the average drop of a word for each recognizer, group and perturbation, unweighted.

    Beside it `words`, how many words that is the average of, and `share`, the drops as a share of the words' counts
    on clean speech: groups that say more, or other, words differ in the first figure without being treated worse.
    """
    return (
        words.group_by(CELL, maintain_order=True)
        .agg(
            pl.len().alias("words"),
            pl.col("original").sum(),
            pl.col("drop").sum().alias("dropped"),
            pl.col("drop").mean().alias("average_drop"),
            pl.col("non_robust").sum(),
        )
        .with_columns((pl.col("dropped") / pl.col("original")).fill_nan(None).alias("share"))
    )


def mean_over(averages: pl.DataFrame, *by: str) -> pl.DataFrame:
    """Return the mean of the average drops over all dimensions but `by` (Table 9: `recognizer` or `perturbation`)."""
    return averages.group_by(by, maintain_order=True).agg(mean_of("average_drop"))


# The sounds of words


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
