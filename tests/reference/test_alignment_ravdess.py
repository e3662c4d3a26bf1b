"""Alignment of 128 recorded sentences against energy onsets that can be checked, and the dictionary's syllables."""

from __future__ import annotations

import numpy as np
import pytest

from voxaudit.align import PocketSphinxAligner, Timings, align_corpus
from voxaudit.align.pronounce import dictionary
from voxaudit.align.syllables import VOWELS
from voxaudit.audio import read
from voxaudit.corpus import read_corpus

CLOSE = 0.05


@pytest.fixture(scope="module")
def aligned(request):
    pytest.importorskip("pocketsphinx")
    shared = request.getfixturevalue("shared_data")
    corpus = list(read_corpus(shared / "ravdess" / "manifest.csv"))[::2]
    return [(read(u.audio), u.text, timings) for u, timings in align_corpus(corpus)]


def level(audio):
    """Moments (every ms) and the level in dB of the 10 ms around them."""
    window, hop = audio.rate // 100, audio.rate // 1000
    total = np.concatenate([[0.0], np.cumsum(audio.samples.astype(float) ** 2)])
    first = np.arange(0, len(audio.samples) - window, hop)
    return (first + window / 2) / audio.rate, 10 * np.log10(
        (total[first + window] - total[first]) / window + 1e-12
    )


def steepest_rise(audio, low, high):
    """The moment between `low` and `high` (s) at which the level rises most within 10 ms."""
    times, decibels = level(audio)
    # The clips have stretches of digital zeros: a step from there to the faintest noise is no onset of speech.
    decibels = np.maximum(decibels, decibels.max() - 40)
    rise, middle = decibels[10:] - decibels[:-10], (times[10:] + times[:-10]) / 2
    inside = (middle > low) & (middle < high)
    return middle[inside][np.argmax(rise[inside])]


@pytest.mark.slow
def test_every_clip_aligns_with_the_dictionary_s_syllables(aligned):
    assert len(aligned) == 64
    for _, text, timings in aligned:
        assert isinstance(timings, Timings), timings
        assert timings.text == text
        for word in timings.words:
            assert len(word.syllables) == sum(phone in VOWELS for phone in dictionary()[word.text].split())


def test_the_first_word_starts_where_the_energy_rises(aligned):
    """`kids` and `dogs` begin after silence: with a burst, or where that is weak, with the voice after it."""
    off, nearest = [], []
    for audio, _, timings in aligned:
        stop, vowel = timings.words[0].phones[:2]
        rise = steepest_rise(audio, stop.start - 0.15, vowel.start + 0.1)
        off.append(stop.start - rise)
        nearest.append(min(abs(off[-1]), abs(vowel.start - rise)))
    print("first word, ms:", np.percentile(off, [5, 25, 50, 75, 95]) * 1000, np.mean(np.abs(off) <= CLOSE))
    print("nearest edge, ms:", np.percentile(nearest, [50, 95]) * 1000, np.mean(np.array(nearest) <= CLOSE))
    assert abs(np.median(off)) < 0.01
    assert np.mean(np.abs(off) <= CLOSE) >= 0.75
    assert np.mean(np.array(nearest) <= CLOSE) >= 0.95


@pytest.mark.parametrize("word", [3, 5])
def test_stops_inside_the_sentence_burst_where_they_were_found(aligned, word):
    """`by` and `door`: the burst lies at an edge of the stop (the closure before it belongs to the stop)."""
    off = []
    for audio, _, timings in aligned:
        stop, vowel = timings.words[word].phones[:2]
        burst = steepest_rise(audio, stop.start - 0.06, vowel.start + 0.06)
        off.append(min(abs(burst - stop.start), abs(burst - vowel.start)))
    print("stop, ms:", np.percentile(off, [50, 75, 95]) * 1000, np.mean(np.array(off) <= CLOSE))
    assert np.mean(np.array(off) <= CLOSE) >= 0.85


def test_snapping_helps(aligned):
    """Without it the first word starts about 40 ms before the energy does."""
    plain = PocketSphinxAligner(snap=False)
    early = []
    for audio, text, timings in aligned[::6]:
        burst = steepest_rise(audio, timings.words[0].start - 0.15, timings.words[0].phones[1].start + 0.1)
        early.append(
            abs(plain.align(audio, text).words[0].start - burst) - abs(timings.words[0].start - burst)
        )
    assert np.median(early) > 0.02
