"""What recordings and texts are like: quality, speaking and complexity, each distinct one measured once."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from voxaudit.audio import Audio, AudioError, Samples, read
from voxaudit.errors import VoxauditError, one_line
from voxaudit.files import place
from voxaudit.run.progress import Progress
from voxaudit.score.snr import SHORTEST, estimate_snr
from voxaudit.wording import counted

# Recordings, measured from their samples: noise, room, bandwidth, clipping, pitch, length.

RECORDING_MEASURES = {
    "snr": "recording quality (SNR, dB)",
    "reverberation": "reverberation (decay time, seconds)",
    "bandwidth": "bandwidth (Hz)",
    "clipping": "share of clipped samples",
    "duration": "duration (seconds)",
    "pitch": "pitch (median, Hz)",
}
"""Columns that are measured from a recording, and what they are called."""

_DECAY = 10.0  # dB that a sound falls by at least before its decay is counted
_LOUD = 20.0  # dB below the loud moments: decays that start lower are lost in noise
_ENERGY = 0.99
_RUN = 3  # samples in a row at the same extreme: one alone is a peak, not a limit
_LIMIT = 0.999
_VOICED = 0.5
_LOWEST, _HIGHEST = 60.0, 400.0  # Hz


def measure_recording(audio: Audio) -> dict[str, float | None]:
    """Return the measures of `RECORDING_MEASURES`; None where a clip is silent or under a quarter of a second.

    `snr` is `estimate_snr`; `reverberation` is the time in which sound falls by 60 dB in the faster quarter of the
    clip's decays, for a room lets none be faster than its own. On 28 clips of real speech it reads 0.20 s as
    recorded, 0.28 (women) and 0.32 (men) with a simulated decay of 0.3 s, 0.34 and 0.40 with 0.6 s, and no more beyond:
    an order, not a ruler. (SRMR, the usual measure, was 70 % higher for the women than for the men of 110 recordings.)

    `bandwidth` is the frequency below which 99 % of the energy lies once each octave has been raised by 6 dB, as speech
    falls by about as much; `clipping` the share of samples in runs at the clip's own extremes; `pitch` the median of
    voiced frames, 60 to 400 Hz.

    >>> time = np.arange(16_000) / 16_000
    >>> tone = Audio(np.sin(2 * np.pi * 200 * time).astype(np.float32), 16_000)
    >>> found = measure_recording(tone)
    >>> round(found["pitch"]), found["duration"], found["clipping"]
    (200, 1.0, 0.0)
    """
    found: dict[str, float | None] = dict.fromkeys(RECORDING_MEASURES)
    found["duration"] = audio.duration
    samples = audio.samples
    if audio.duration < SHORTEST or not samples.any():
        return found
    found["snr"] = estimate_snr(audio)
    found["reverberation"] = _reverberation(samples, audio.rate)
    found["bandwidth"] = _bandwidth(samples, audio.rate)
    found["clipping"] = _clipping(samples)
    found["pitch"] = _pitch(samples, audio.rate)
    return found


def _reverberation(samples: Samples, rate: int) -> float | None:
    size = max(2, round(0.02 * rate))
    frames = np.lib.stride_tricks.sliding_window_view(samples.astype(np.float64), size)[:: size // 2]
    level = 10.0 * np.log10((frames**2).mean(axis=1) + 1e-12)
    floor, loud = np.quantile(level, [0.1, 0.95])
    falling = np.concatenate([[False], np.diff(level) < 0.0, [False]]).astype(np.int8)
    edges = np.flatnonzero(np.diff(falling))
    times = []
    for first, last in zip(edges[::2], edges[1::2], strict=True):
        part = level[first : last + 1]
        part = part[: int((part > floor + 3.0).sum())]
        if len(part) >= 6 and part[0] - part[-1] >= _DECAY and part[0] > loud - _LOUD:
            slope = np.polyfit(np.arange(len(part)) * (size // 2) / rate, part, 1)[0]
            times.append(-60.0 / slope)
    return float(np.quantile(times, 0.25)) if len(times) >= 3 else None


def _bandwidth(samples: Samples, rate: int) -> float:
    raised = np.diff(samples.astype(np.float64))
    size = min(1024, len(raised))
    frames = raised[: len(raised) // size * size].reshape(-1, size)
    share = np.cumsum((np.abs(np.fft.rfft(frames * np.hanning(size), axis=1)) ** 2).sum(axis=0))
    return float(np.searchsorted(share, _ENERGY * share[-1]) * rate / size)


def _clipping(samples: Samples) -> float:
    clipped = 0
    for side in (samples, -samples):
        peak = float(side.max())
        if peak <= 0.0:
            continue
        at = np.concatenate([[False], side >= _LIMIT * peak, [False]]).astype(np.int8)
        edges = np.flatnonzero(np.diff(at))
        # A slow wave lingers near its top, too: only a flat top was cut off.
        for first, last in zip(edges[::2], edges[1::2], strict=True):
            if last - first >= _RUN and np.ptp(samples[first:last]) < 1e-6:
                clipped += int(last - first)
    return clipped / len(samples)


def _pitch(samples: Samples, rate: int) -> float | None:
    """Return the median over voiced frames (40 ms, every 20) of the lag where the autocorrelation peaks."""
    size = round(0.04 * rate)
    if len(samples) < size or rate < 2 * _HIGHEST:
        return None
    frames = np.lib.stride_tricks.sliding_window_view(samples.astype(np.float64), size)[:: size // 2]
    frames = frames - frames.mean(axis=1, keepdims=True)
    energy = (frames**2).sum(axis=1)
    frames = frames[energy > 0.1 * energy.mean()]
    window = np.hanning(size)
    padded = 1 << (2 * size - 1).bit_length()

    def correlation(some: np.ndarray) -> np.ndarray:
        return np.fft.irfft(np.abs(np.fft.rfft(some, padded)) ** 2, padded)[..., :size]

    found = correlation(frames * window)
    # The window's own autocorrelation is divided out (Boersma 1993): long lags would read too low otherwise.
    shape = correlation(window)
    low, high = math.ceil(rate / _HIGHEST), min(int(rate / _LOWEST), size - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        height = found[:, low:high] / found[:, :1] / (shape[low:high] / shape[0])
    # Nearly equal peaks are multiples of one period: the shortest is meant.
    best = height.max(axis=1, initial=-1.0)
    voiced = (best > _VOICED) & np.isfinite(best)
    if not voiced.any():
        return None
    near = height[voiced] >= 0.9 * best[voiced, None]
    rising = np.diff(height[voiced], axis=1, append=-np.inf) <= 0.0
    lags = low + np.argmax(near & rising, axis=1)
    return float(np.median(rate / lags))


# Texts, and both of a whole corpus.

MEASURES = ("text_words", "unknown_words", "word_frequency", "perplexity_bits")
"""Columns of the result: words; share of words outside the dictionary; mean log10 of the words' frequency per
million; log2 of the perplexity per word."""

NO_DICTIONARY = (
    "no dictionary: give a word list in the setting `dictionary`,"
    " or for English install 'voxaudit[pocketsphinx]'"
)
NOT_ENGLISH = "too many words are not in the English dictionary: give a word list of the texts' language"

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_FOREIGN = (
    0.25  # English texts have a tenth of unknown words at most, others share words and names with English
)
_BIGRAM = 0.6  # weight of the bigram in the corpus's own model; the rest is the unigram's


@dataclass(frozen=True)
class TextComplexity:
    """Measures of texts, what each was measured with, and why others are missing."""

    table: pl.DataFrame
    """One row a text, in order; null where a text has no word or was null."""
    sources: dict[str, str]
    missing: dict[str, str]


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case, apostrophes inside kept; what has no letter is no word."""
    found = _WORD.findall(text.lower().replace("\u2019", "'"))
    return [word for word in found if any(character.isalpha() for character in word)]


def text_complexity(texts: pl.Series, dictionary: str | Path | None = None) -> TextComplexity:
    """Measure every text of a column; equal texts are measured once.

    `dictionary` is a file with one word per line (what follows the word is ignored, so a pronunciation dictionary will
    do); without it, PocketSphinx's English one is used if it is installed and fits.
    """
    distinct = texts.drop_nulls().unique(maintain_order=True)
    tokens = [words_of(text) for text in distinct.to_list()]
    sources = {"text_words": "count of words"}
    missing: dict[str, str] = {}
    columns: dict[str, list[float | None]] = {"text_words": [float(len(words)) for words in tokens]}
    english = _english()
    fits = english is not None and _unknown_share(tokens, english.words) <= _FOREIGN
    known = _read_dictionary(dictionary) if dictionary else english.words if english and fits else None
    if known is None:
        missing["unknown_words"] = NOT_ENGLISH if english else NO_DICTIONARY
        columns["unknown_words"] = [None] * len(tokens)
    else:
        columns["unknown_words"] = [_share(words, known) for words in tokens]
        sources["unknown_words"] = str(dictionary) if dictionary else "PocketSphinx's English dictionary"
    if english and fits:
        columns["word_frequency"] = [_mean(words, english.log10_per_million) for words in tokens]
        columns["perplexity_bits"] = [english.bits(words) for words in tokens]
        sources["word_frequency"] = "PocketSphinx's English unigrams"
        sources["perplexity_bits"] = "PocketSphinx's English trigrams, over the words they know"
    else:
        columns["word_frequency"], columns["perplexity_bits"] = _own_model(tokens)
        sources["word_frequency"] = "the corpus's own frequencies, each text left out of its own"
        sources["perplexity_bits"] = "bigrams of the corpus itself, each text left out of its own"
    measured = pl.DataFrame(
        {"text": distinct, **columns}, schema_overrides=dict.fromkeys(columns, pl.Float64)
    )
    table = texts.alias("text").to_frame().join(measured, on="text", how="left", maintain_order="left")
    return TextComplexity(table.select(MEASURES), sources, missing)


@dataclass(frozen=True)
class _English:
    words: frozenset[str]
    probability: Callable[[Sequence[str]], float | None]
    """log2 of the probability of the first word after the others, latest first; None for an unknown word."""

    def log10_per_million(self, word: str) -> float | None:
        found = self.probability([word])
        return None if found is None else found * math.log10(2.0) + 6.0

    def bits(self, words: Sequence[str]) -> float | None:
        """Return the mean of -log2 of the words' trigram probabilities; unknown words also end the context."""
        total, count = 0.0, 0
        history: list[str] = ["<s>"]
        for word in words:
            found = self.probability([word, *history])
            if found is None:
                history = []
                continue
            total, count = total - found, count + 1
            history = [word, *history[:1]]
        return total / count if count else None


@cache
def _english() -> _English | None:
    try:
        import pocketsphinx
    except ImportError:
        return None
    folder = Path(pocketsphinx.get_model_path()) / "en-us"
    files = folder / "cmudict-en-us.dict", folder / "en-us.lm.bin"
    if not all(file.exists() for file in files):
        return None
    model: Any = pocketsphinx.NGramModel.readfile(str(files[1]))
    step = math.log(1.0001) / math.log(2.0)  # PocketSphinx counts in powers of 1.0001
    nothing = -500_000_000

    def probability(words: Sequence[str]) -> float | None:
        found = model.prob(list(words))
        return None if found <= nothing else found * step

    return _English(_read_dictionary(files[0]), probability)


@cache
def _read_dictionary(path: str | Path) -> frozenset[str]:
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeError) as error:
        raise VoxauditError(f"{path}: cannot read this dictionary ({one_line(error, 200)})") from error
    # Second pronunciations are written `word(2)`.
    words = (line.split(maxsplit=1)[0].partition("(")[0].lower() for line in lines if line.strip())
    found = frozenset(word for word in words if word)
    if not found:
        raise VoxauditError(f"{path}: no words in this dictionary. Give a file with one word per line")
    return found


def _unknown_share(tokens: Sequence[Sequence[str]], known: frozenset[str]) -> float:
    count = sum(len(words) for words in tokens)
    return sum(word not in known for words in tokens for word in words) / count if count else 1.0


def _share(words: Sequence[str], known: frozenset[str]) -> float | None:
    return sum(word not in known for word in words) / len(words) if words else None


def _mean(words: Sequence[str], value: Callable[[str], float | None]) -> float | None:
    found = [number for number in map(value, words) if number is not None]
    return sum(found) / len(found) if found else None


def _own_model(tokens: Sequence[Sequence[str]]) -> tuple[list[float | None], list[float | None]]:
    """Return log10 frequencies per million and perplexities (bits) under the other texts' unigrams and bigrams."""
    single: Counter[str] = Counter()
    double: Counter[tuple[str, str]] = Counter()
    before: Counter[str] = Counter()
    for words in tokens:
        pairs = list(zip(["<s>", *words], words, strict=False))
        single.update(words)
        double.update(pairs)
        before.update(first for first, _ in pairs)
    total, kinds = sum(single.values()), len(single) + 1
    frequency: list[float | None] = []
    bits: list[float | None] = []
    for words in tokens:
        if not words:
            frequency.append(None)
            bits.append(None)
            continue
        pairs = list(zip(["<s>", *words], words, strict=False))
        own, own_pairs, own_before = Counter(words), Counter(pairs), Counter(first for first, _ in pairs)
        left = total - len(words) + kinds
        surprise = rarity = 0.0
        for first, word in pairs:
            alone = (single[word] - own[word] + 1) / left
            context = before[first] - own_before[first]
            after = (double[first, word] - own_pairs[first, word]) / context if context else alone
            surprise -= math.log2(_BIGRAM * after + (1.0 - _BIGRAM) * alone)
            rarity += math.log10(1e6 * alone)
        frequency.append(rarity / len(words))
        bits.append(surprise / len(words))
    return frequency, bits


QUALITY = {name: RECORDING_MEASURES[name] for name in ("snr", "reverberation", "bandwidth", "clipping")}
"""How it was recorded."""
SPEAKING = {
    "speaking_rate": "speaking rate (words per second)",
    "duration": RECORDING_MEASURES["duration"],
    "pitch": RECORDING_MEASURES["pitch"],
}
"""How it was spoken: a speaker's own, and nothing that a recording or a text does to them."""
COMPLEXITY = {
    "text_words": "words per utterance",
    "unknown_words": "share of words outside the dictionary",
    "word_frequency": "word frequency (log10 per million)",
    "perplexity_bits": "perplexity (bits per word)",
}
"""What is said."""
MEASURE_NAMES = QUALITY | COMPLEXITY
"""The measures of recordings and texts that groups should be alike in, and what they are called."""
ALL_MEASURES = QUALITY | SPEAKING | COMPLEXITY
"""The columns of measures that every run's scores have."""
MOST_RECORDINGS = 20_000
"""A run with more recordings does not open them: a recording takes about a tenth of a second of a core."""
QUALITY_PART, TEXT_PART = "recording quality", "text complexity"


@dataclass(frozen=True)
class Measured:
    """Measures of recordings and texts: columns `#NAME` to join on `on`, their sources, and why others lack."""

    frame: pl.DataFrame
    on: tuple[str, ...]
    sources: dict[str, str]
    missing: dict[str, str]
    unreadable: int = 0


def measure(
    about: pl.DataFrame,
    on: Sequence[str],
    known: pl.DataFrame,
    *,
    text: str,
    segment: Sequence[str],
    folder: Path,
    most: int,
    dictionary: str | Path | None,
    tried: Mapping[str, str],
) -> Measured:
    """Measure the texts of a column and the recordings of `segment` (audio, or audio, start and duration).

    `about` has one row for each combination of `on`; a measure that the table `known` has as a column of numbers is not
    made again, nor one of texts that was `tried` in vain (and why). `text` is empty and `segment` has nothing where
    there are none; more recordings than `most` are not opened.
    """
    # Another word list is asked about with a dictionary.
    kept = [name for name in MEASURE_NAMES if dictionary is None or name != "unknown_words"]
    there = [name for name in kept if name in known.columns and known[name].count()]
    sources = {name: "the table's own column" for name in there if known.schema[name].is_numeric()}
    missing = {name: tried[name] for name in kept if name in tried and name in MEASURES and name not in there}
    wanted = [name for name in MEASURES if name not in there and name not in missing]
    if wanted and text and about[text].count():
        result = text_complexity(about[text].cast(pl.String), dictionary)
        new = [name for name in wanted if name not in result.missing]
        about = about.with_columns(result.table[name].alias(f"#{name}") for name in new)
        sources |= {name: result.sources[name] for name in new}
        missing |= {name: result.missing[name] for name in wanted if name in result.missing}
    elif not missing and not any(name in sources for name in MEASURES):
        missing[TEXT_PART] = "there are no reference texts (a column `reference`)"
    unreadable = 0
    if "snr" in there:
        missing |= {} if "snr" in sources else {QUALITY_PART: "column 'snr' does not hold numbers"}
    elif not segment:
        missing[QUALITY_PART] = "there are no recordings (a column `audio`) and no column `snr`"
    elif (count := about.select(segment).n_unique()) > most:
        missing[QUALITY_PART] = (
            f"{counted(count, 'recording')}, of which no more than {most} are opened (`recordings`)"
        )
    else:
        about = _with_snr(about, segment, folder)
        unreadable = about["#snr"].null_count()
        sources["snr"] = "estimated from the audio (voxaudit.score.snr)"
        if unreadable == about.height:
            missing[QUALITY_PART] = "no recording could be measured"
    new = [name for name in about.columns if name.startswith("#")]
    return Measured(
        about.select(*on, *new) if new else about, tuple(on) if new else (), sources, missing, unreadable
    )


def _with_snr(about: pl.DataFrame, segment: Sequence[str], folder: Path) -> pl.DataFrame:
    measured = measure_recordings(
        about, segment, folder, lambda audio: {"snr": estimate_snr(audio)}, ("snr",)
    )
    return about.join(
        measured.rename({"snr": "#snr"}), on=segment, how="left", nulls_equal=True, maintain_order="left"
    )


def measure_recordings(
    about: pl.DataFrame,
    segment: Sequence[str],
    folder: Path,
    measures: Callable[[Audio], dict[str, float | None]],
    names: Sequence[str],
    bar: Progress | None = None,
) -> pl.DataFrame:
    """Return the measures of every different recording, or part of one; null where it cannot be read."""
    segments = about.select(segment).unique(maintain_order=True)
    nothing: dict[str, float | None] = dict.fromkeys(names)

    def one(row: tuple[object, ...]) -> dict[str, float | None]:
        audio, start, duration = (*row, None, None)[:3]
        if audio is None:
            return nothing
        try:
            begin = 0.0 if start is None else float(str(start))
            length = None if duration is None else float(str(duration))
            return measures(read(place(folder, str(audio)), start=begin, duration=length))
        except AudioError:
            return nothing

    rows = []
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        for row in pool.map(one, segments.iter_rows()):
            rows.append(row)
            if bar is not None:
                bar.advance(1, heard=True)
    values = [pl.Series(name, [row[name] for row in rows], dtype=pl.Float64) for name in names]
    return segments.with_columns(values)


@dataclass(frozen=True)
class UtteranceMeasures:
    """The measures of a corpus's utterances: `table` has `utterance` and `ALL_MEASURES`, null where one is not known.

    `missing` says, for each measure that no utterance has, what would enable it.
    """

    table: pl.DataFrame
    sources: dict[str, str]
    missing: dict[str, str]


def measure_utterances(
    corpus: pl.DataFrame, *, folder: Path | None = None, progress: bool = False
) -> UtteranceMeasures:
    """Measure the texts and recordings of a corpus table (id, audio, text, start, duration), each different one once.

    Texts are measured language by language where there is a column `language`. `folder` is where relative paths of
    recordings start. A corpus with more than `MOST_RECORDINGS` recordings is not listened to.
    """
    segment = ["audio", "start", "duration"]
    languages = corpus["language"].cast(pl.String) if "language" in corpus.columns else None
    rows = corpus.select("id", "text", *segment).with_columns(
        language=pl.lit("") if languages is None else languages.fill_null("")
    )
    sources: dict[str, str] = {}
    missing: dict[str, str] = {}
    parts = []
    for part in rows.partition_by("language", maintain_order=True):
        texts = text_complexity(part["text"].cast(pl.String))
        sources |= texts.sources
        missing |= texts.missing
        parts.append(pl.concat([part, texts.table], how="horizontal"))
    table = pl.concat(parts) if parts else rows.with_columns(pl.lit(None).alias(name) for name in MEASURES)
    names = tuple(RECORDING_MEASURES)
    count = rows.select(segment).n_unique()
    if count > MOST_RECORDINGS:
        why = f"{count:,} recordings, of which no more than {MOST_RECORDINGS:,} are opened"
        missing |= dict.fromkeys(names, why)
        table = table.rename({"duration": "_duration"}).with_columns(
            pl.lit(None, dtype=pl.Float64).alias(name) for name in names
        )
        table = table.with_columns(duration=pl.col("_duration").cast(pl.Float64))
    else:
        with Progress(progress) as bar:
            bar.begin("measuring", count)
            heard = measure_recordings(
                rows.with_columns(_duration="duration"),
                ["audio", "start", "_duration"],
                folder or Path(),
                measure_recording,
                names,
                bar,
            )
        keys = ["audio", "start", "_duration"]
        table = table.rename({"duration": "_duration"})
        table = table.join(heard, on=keys, how="left", nulls_equal=True, maintain_order="left")
        table = table.with_columns(pl.col("duration").fill_null(pl.col("_duration").cast(pl.Float64)))
        sources |= dict.fromkeys(names, "measured from the recordings")
    rate = pl.when(pl.col("duration") > 0.0).then(pl.col("text_words") / pl.col("duration"))
    sources["speaking_rate"] = "words of the reference per second"
    table = table.with_columns(speaking_rate=rate).select(
        pl.col("id").alias("utterance"), *(pl.col(name).cast(pl.Float64) for name in ALL_MEASURES)
    )
    order = rows.select(pl.col("id").alias("utterance"))
    table = order.join(table, on="utterance", how="left", maintain_order="left")
    for name in ALL_MEASURES:
        if not table[name].count() and name not in missing:
            of_text = name in COMPLEXITY or name == "speaking_rate"
            missing[name] = (
                "there are no reference texts"
                if of_text and not table["text_words"].count()
                else "no recording could be read"
            )
    return UtteranceMeasures(table, {name: sources[name] for name in sources if name not in missing}, missing)
