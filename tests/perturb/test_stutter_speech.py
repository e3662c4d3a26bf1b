"""Stutter operations on people's speech: seams, pitch, and timings that still point at the words."""

from __future__ import annotations

import numpy as np
import pytest

from voxaudit.align import PocketSphinxAligner, align_corpus
from voxaudit.audio import Audio, read
from voxaudit.corpus import read_corpus
from voxaudit.perturb.stutter.aster import Prolongation
from voxaudit.perturb.stutter.chain import KINDS, Chain
from voxaudit.perturb.stutter.sample import applicable, sample_chain, sample_operation

VOICED = {"AO", "IH", "AY", "ER", "AA"}


@pytest.fixture(scope="module")
def speech(request):
    pytest.importorskip("pocketsphinx")
    shared = request.getfixturevalue("shared_data")
    corpus = list(read_corpus(shared / "ravdess" / "manifest.csv"))[::6]
    return [(read(u.audio), timings) for u, timings in align_corpus(corpus)]


@pytest.mark.slow
def test_every_kind_on_every_clip(speech):
    generator = np.random.default_rng(7)
    seen = set()
    for audio, timings in speech:
        own = np.abs(np.diff(audio.samples)).max()
        for kind in applicable(timings, mode="aster"):
            seen.add(kind)
            operation = sample_operation(kind, timings, generator, mode="aster")
            edit = operation.edit(audio.samples, audio.rate, timings)
            after = edit.apply(audio.samples)
            end = edit.start + len(edit.samples)
            np.testing.assert_array_equal(after[: edit.start], audio.samples[: edit.start])
            np.testing.assert_array_equal(after[end:], audio.samples[edit.stop :])
            assert len(after) == len(audio.samples) + edit.growth
            steps = np.abs(np.diff(after))
            for seam in (edit.start, end):
                assert steps[seam - 2 : seam + 2].max() <= own
            assert steps.max() <= 1.05 * own
    assert seen == set(KINDS) - {"interjection"}  # nobody says um in these sentences


def pitch(sound, rate):
    """The strongest period of a voiced sound between 70 and 400 Hz by normalized autocorrelation, in Hz; median."""
    found = []
    size = round(0.05 * rate)
    for at in np.linspace(0, len(sound) - size, 9).astype(int):
        frame = sound[at : at + size].astype(float)
        frame -= frame.mean()
        half, lags = size // 2, np.arange(rate // 400, min(rate // 70, size // 2))
        head = frame[:half]
        likeness = np.array(
            [
                head
                @ frame[k : k + half]
                / np.sqrt((head @ head) * (frame[k : k + half] @ frame[k : k + half]) + 1e-12)
                for k in lags
            ]
        )
        peaks = [i for i in range(1, len(lags) - 1) if likeness[i - 1] <= likeness[i] >= likeness[i + 1]]
        best = next((i for i in peaks if likeness[i] >= 0.92 * likeness.max() and likeness[i] > 0.8), None)
        if best is not None:
            a, b, c = likeness[best - 1 : best + 2]
            found.append(rate / (lags[best] + 0.5 * (a - c) / (a - 2 * b + c - 1e-12)))
    return np.median(found) if len(found) >= 7 else None


@pytest.mark.slow
def test_prolonged_vowels_keep_their_pitch(speech):
    ratios = []
    for audio, timings in speech:
        for word in (2, 5):
            vowel = next((p for p in timings.words[word].syllables[0].phones if p.name in VOICED), None)
            if vowel is None or vowel.end - vowel.start < 0.08:
                continue
            after, moved = Prolongation(word, 0, 3.0)(audio.samples, audio.rate, timings)
            held = next(p for p in moved.words[word].syllables[0].phones if p.name == vowel.name)
            # The steady middle: at its edges a vowel glides, and medians of a longer glide need not be equal.
            spans = [
                (s, p.start + 0.15 * (p.end - p.start), p.end - 0.15 * (p.end - p.start))
                for s, p in ((audio.samples, vowel), (after, held))
            ]
            before, later = (
                pitch(s[round(a * audio.rate) : round(b * audio.rate)], audio.rate) if b - a > 0.055 else None
                for s, a, b in spans
            )
            if before and later:
                ratios.append(later / before)
    assert len(ratios) >= 10
    print(len(ratios), np.percentile(ratios, [0, 10, 50, 90, 100]))
    assert np.median(np.abs(np.array(ratios) - 1)) < 0.02
    assert np.mean(np.abs(np.array(ratios) - 1) < 0.03) > 0.8


@pytest.mark.slow
def test_timings_after_a_chain_point_at_the_words(speech):
    """Every intended word, cut out by the carried timings, is where re-aligning the surface text finds it."""
    generator = np.random.default_rng(11)
    aligner = PocketSphinxAligner(least_score=-1000.0)
    far, checked = [], 0
    for audio, timings in speech[:12]:
        chain = sample_chain(
            timings, {"word_repetition": 1, "block": 1, "prolongation": 0.5}, 40, 1, generator, mode="aster"
        )
        samples, after = chain(audio.samples, audio.rate, timings)
        again, _ = Chain.parse(str(chain))(audio.samples, audio.rate, timings)
        np.testing.assert_array_equal(samples, again)
        found = aligner.align(Audio(samples, audio.rate), after.surface)
        assert [w.text for w in found.words] == [w.text for w in after.words]
        far += [abs(a.start - b.start) for a, b in zip(found.words, after.words, strict=True)]
        checked += 1
    print(checked, np.percentile(far, [50, 75, 90, 100]))
    assert checked == 12
    assert np.median(far) < 0.02
    assert np.mean(np.array(far) < 0.1) > 0.85
