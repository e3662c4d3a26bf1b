"""Stuttering as it was measured: sounds, places, lengths against real ones, the checks, and how real a case is."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from voxaudit.align import Phone, Syllable, Timings, Word
from voxaudit.align.syllables import manner
from voxaudit.audio import Audio
from voxaudit.errors import VoxauditError
from voxaudit.perturb.stutter import measured as real
from voxaudit.perturb.stutter.base import Clip, StutterError
from voxaudit.perturb.stutter.chain import Chain
from voxaudit.perturb.stutter.checks import likeness, realism, sound_checks
from voxaudit.perturb.stutter.profiles import draw_events, shares_at, weights
from voxaudit.perturb.stutter.realistic import (
    HeldOnset,
    OnsetBlock,
    OnsetRepetition,
    SaidFiller,
    WordSaidAgain,
)
from voxaudit.perturb.stutter.sample import applicable, sample_chain, sample_operation
from voxaudit.perturb.stutter.sounds import pitch_of, release, room_tone

RATE = 16_000
CORE = ("block", "prolongation", "sound_repetition", "word_repetition")


def word(text, start, *names, at=1):
    """A word of phones of 0.1 s; the syllables part before phone `at` where it has more than one vowel."""
    phones = tuple(Phone(name, start + 0.1 * i, start + 0.1 * (i + 1)) for i, name in enumerate(names))
    vowels = sum(manner(name) == "vowel" for name in names)
    cuts = [(0, at), (at, len(names))] if vowels > 1 else [(0, len(names))]
    parts = tuple(Syllable(text, phones[a].start, phones[b - 1].end, phones[a:b]) for a, b in cuts)
    return Word(text, start, phones[-1].end, parts)


SPOKEN = Timings(
    (
        word("the", 0.2, "DH", "AH"),
        word("weather", 0.4, "W", "EH", "DH", "ER", at=2),
        word("stops", 1.1, "S", "T", "AA", "P", "S"),
        word("people", 1.6, "P", "IY", "P", "AH", "L", at=2),
        word("a", 2.1, "AH"),
    ),
    2.4,
)


def speech(seed=0):
    """Hum where somebody speaks, hiss in /s/, a faint background throughout and a burst in each stop."""
    generator = np.random.default_rng(seed)
    t = np.arange(round(SPOKEN.duration * RATE)) / RATE
    sound = 0.002 * generator.standard_normal(len(t))
    hum = sum(0.08 / k * np.sin(2 * np.pi * 120 * k * t + k) for k in range(1, 12))
    for one in SPOKEN.words:
        for phone in one.phones:
            a, b = round(phone.start * RATE), round(phone.end * RATE)
            kind = manner(phone.name)
            if kind in ("vowel", "voiced"):
                sound[a:b] += hum[a:b]
            elif kind == "fricative":
                sound[a:b] += 0.05 * generator.standard_normal(b - a)
            else:
                burst = a + (b - a) * 6 // 10
                sound[burst : burst + 300] += 0.1 * generator.standard_normal(300)
    return sound.astype(np.float32)


SAMPLES = speech()
UM = Clip("um", Audio((0.3 * np.sin(2 * np.pi * 200 * np.arange(6400) / RATE)).astype(np.float32), RATE))


@pytest.mark.parametrize(
    ("operation", "surface", "measure", "length"),
    [
        (OnsetBlock(1, 700.0), "the weather stops people a", "block", 0.7),
        (OnsetBlock(3, 700.0, release=3.0), "the weather stops people a", "block", 0.7),
        (HeldOnset(2, 900.0), "the weather stops people a", "prolongation", 0.9),
        (HeldOnset(1, 600.0), "the weather stops people a", "prolongation", 0.6),
        (OnsetRepetition(1, 200.0, 2, "0+90"), "the w- w- weather stops people a", "fragment_gap", 0.09),
        (OnsetRepetition(2, 200.0, 1, "50", 2), "the weather st- stops people a", "fragment_gap", 0.05),
        (OnsetRepetition(3, 150.0, 1, "0", 1, 60.0), "the weather stops peo- people a", "fragment_gap", 0.0),
        (WordSaidAgain(0, 2, "70+20", 1.3), "the the the weather stops people a", "word_gap", 0.02),
        (SaidFiller(1, UM.key, 300.0, "100+200"), "the um weather stops people a", "um", 0.3),
    ],
)
def test_what_is_put_in(operation, surface, measure, length):
    edit = operation.edit(SAMPLES, RATE, SPOKEN, [UM])
    samples, after = operation(SAMPLES, RATE, SPOKEN, [UM])
    assert after.surface == surface
    assert after.text == SPOKEN.text
    assert after.duration == pytest.approx(len(samples) / RATE)
    assert dict(edit.measures)[measure] == pytest.approx(length, abs=0.012)
    # Everything outside of the edit stays, bit for bit; the seams are no steps; nothing is digital silence.
    np.testing.assert_array_equal(samples[: edit.start], SAMPLES[: edit.start])
    np.testing.assert_array_equal(samples[edit.start + len(edit.samples) :], SAMPLES[edit.stop :])
    assert sound_checks(SAMPLES, RATE, edit) == []
    assert str(Chain.parse(str(Chain((operation,))))) == str(operation)
    again, _ = Chain.parse(str(operation))(SAMPLES, RATE, SPOKEN, [UM])
    np.testing.assert_array_equal(samples, again)


def test_a_block_lasts_on_room_tone_in_the_closure_of_a_stop():
    edit = OnsetBlock(3, 500.0).edit(SAMPLES, RATE, SPOKEN)
    level = np.sqrt(np.mean(edit.samples[400:-400] ** 2))
    assert level == pytest.approx(0.002, rel=0.2)
    assert edit.start == release(SAMPLES, RATE, SPOKEN.words[3].phones[0]) != round(1.6 * RATE)
    assert edit.timings.words[3].start == pytest.approx(edit.start / RATE + 0.5)


def test_a_held_voice_keeps_its_pitch_and_a_held_hiss_its_level():
    edit = HeldOnset(1, 1000.0).edit(SAMPLES, RATE, SPOKEN)
    assert pitch_of(edit.samples, RATE) == pytest.approx(120, rel=0.02)
    hiss = HeldOnset(2, 1000.0).edit(SAMPLES, RATE, SPOKEN).samples
    assert np.sqrt(np.mean(hiss**2)) == pytest.approx(0.05, rel=0.1)
    # No stretch of it comes again: that would be heard as a buzz.
    assert likeness(hiss[2000:6000], hiss[6000:10000], RATE) < 0.2


def test_copies_differ_and_are_never_the_whole_word():
    edit = OnsetRepetition(1, 200.0, 3, "0+0+0").edit(SAMPLES, RATE, SPOKEN)
    (a, b), (c, d), _ = edit.copies
    assert likeness(edit.samples[a:b], edit.samples[c:d], RATE) < 0.98
    with pytest.raises(StutterError, match="not the whole word"):
        OnsetRepetition(4).edit(SAMPLES, RATE, SPOKEN)
    assert 4 not in weights("sound_repetition", SPOKEN)


def test_no_two_kinds_make_the_same_samples():
    for seed in range(5):
        made = {}
        for kind in CORE:
            operation = sample_operation(kind, SPOKEN, np.random.default_rng(seed))
            made[kind] = operation.edit(SAMPLES, RATE, SPOKEN).samples.tobytes()
        assert len(set(made.values())) == len(CORE)


def test_places_follow_the_rates_that_were_measured():
    assert applicable(SPOKEN) == CORE
    assert set(weights("prolongation", SPOKEN)) == {0, 1, 2, 4}  # never a stop
    assert set(weights("word_repetition", SPOKEN)) == {0, 2, 4}  # function words and words of one syllable
    first = weights("word_repetition", SPOKEN)
    assert first[0] == pytest.approx(3.7 * 2.4)
    sounds = weights("sound_repetition", SPOKEN)
    assert sounds[1] == 5.4 > sounds[2] == 2.6 > sounds[0] == 1.5
    drawn = Counter(
        sample_operation("block", SPOKEN, np.random.default_rng(seed)).target for seed in range(300)
    )
    assert drawn[1] > 2 * drawn[0]


@pytest.mark.slow
def test_lengths_gaps_and_iterations_are_those_of_real_ones():
    generator = np.random.default_rng(3)
    values: dict[str, list[float]] = {}
    inside = 0
    for _ in range(250):
        for kind in CORE:
            edit = sample_operation(kind, SPOKEN, generator).edit(SAMPLES, RATE, SPOKEN)
            inside += edit.place != "sound"
            for name, value in edit.measures:
                values.setdefault(name, []).append(value)
    for name, drawn in values.items():
        assert real.kolmogorov(name, drawn) <= 0.1, name
    assert inside / 1000 <= 0.05
    assert {"block", "prolongation", "fragment", "fragment_gap", "word_gap"} <= set(values)
    # ASTER's blocks are nowhere near.
    assert real.kolmogorov("block", list(generator.uniform(0.05, 0.2, 250))) > 0.5


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mild", "moderate", "severe"])
def test_profiles_have_their_kinds_and_rates(name):
    profile = real.PROFILES[name]
    generator = np.random.default_rng(5)
    long = Timings(
        tuple(
            Word(w.text, w.start + 2.4 * n, w.end + 2.4 * n, tuple(_later(s, 2.4 * n) for s in w.syllables))
            for n in range(20)
            for w in SPOKEN.words
        ),
        48.0,
    )
    kinds: Counter[str] = Counter()
    words: Counter[int] = Counter()
    for _ in range(60):
        events = draw_events(long, profile.rate, generator)
        kinds.update(event.kind for event in events)
        words.update(Counter(event.target for event in events).values())
    total = sum(kinds.values())
    assert total / 60 == pytest.approx(profile.rate, rel=0.12)
    for kind, share in profile.shares.items():
        assert kinds[kind] / total == pytest.approx(share, abs=0.05 + 1.0 / total**0.5)
    assert words[2] > 0  # some words carry two events, none more
    assert max(words) <= 2


def _later(part, by):
    phones = tuple(Phone(p.name, p.start + by, p.end + by) for p in part.phones)
    return Syllable(part.text, part.start + by, part.end + by, phones)


def test_shares_lie_between_mild_and_severe():
    assert shares_at(1.0) == pytest.approx(real.PROFILES["mild"].shares)
    assert shares_at(60.0) == pytest.approx(real.PROFILES["severe"].shares)
    assert sum(shares_at(12.0).values()) == pytest.approx(1.0)


def test_a_filler_is_of_the_speaker_or_brought_to_their_pitch():
    assert "interjection" not in applicable(SPOKEN)
    with pytest.raises(StutterError, match="of this speaker"):
        sample_operation("interjection", SPOKEN, np.random.default_rng(0))
    drawn = sample_operation("interjection", SPOKEN, np.random.default_rng(0), clips=[UM], pitch=120.0)
    assert (drawn.synthetic, drawn.pitch) == (1, pytest.approx(0.6, abs=0.01))
    own = Clip("uh", UM.audio, "s1")
    mine = sample_operation("interjection", SPOKEN, np.random.default_rng(0), clips=[own], pitch=120.0)
    assert (mine.synthetic, mine.pitch) == (0, 1.0)
    conversation = draw_events(SPOKEN, 20.0, np.random.default_rng(1), fillers=100.0, clips=[own])
    assert sum(event.kind == "interjection" for event in conversation) == 5


def test_every_check_can_fail():
    edit = OnsetRepetition(1, 200.0, 2, "0+0").edit(SAMPLES, RATE, SPOKEN)

    def failed(samples, copies=()):
        changed = type(edit)(edit.start, edit.stop, samples, edit.timings, edit.measures, edit.place, copies)
        return sound_checks(SAMPLES, RATE, changed)

    assert failed(np.full(500, 0.9, np.float32)) == ["seam"]
    quiet = edit.samples.copy()
    quiet[100:300] = 0
    assert failed(quiet) == ["zeros"]
    twice = np.concatenate([edit.samples[:3000]] * 2)
    twice[-1] = edit.samples[-1]
    assert "copies" in failed(twice, ((0, 3000), (3000, 6000)))


def test_what_is_rare_is_less_real():
    usual = OnsetBlock(1, 650.0).edit(SAMPLES, RATE, SPOKEN)
    long = OnsetBlock(1, 4800.0).edit(SAMPLES, RATE, SPOKEN)
    assert realism([], 5) == 0
    assert realism([usual], 100) < realism([long], 100)
    assert realism([usual], 100) < realism([usual] * 12, 100)  # so many events are rare too
    assert realism([usual], 100) < realism([usual], 100, loss=5.0)
    later = type(usual)(**{**usual.__dict__, "place": "later"})
    assert realism([later], 100) - realism([usual], 100) == pytest.approx(-np.log10(1 - 0.978))


def test_room_tone_is_as_loud_as_the_background_and_never_silent():
    tone = room_tone(SAMPLES, RATE, 8000, np.random.default_rng(0))
    assert np.std(tone) == pytest.approx(0.002, rel=0.15)
    assert np.count_nonzero(room_tone(np.zeros(8000, np.float32), RATE, 100, np.random.default_rng(0))) == 100


@pytest.mark.parametrize(
    "text",
    [
        "realistic.blok:word=1",
        "realistic.block:word=1,ms=0",
        "realistic.block:word=99",
        "realistic.block:word=1,phone=9",
        "realistic.prolongation:word=3",
        "realistic.sound_repetition:word=1,copies=2,gaps=5",
        "realistic.sound_repetition:word=1,copies=1,gaps=x",
        "realistic.word_repetition:word=0,ratio=9",
        "realistic.interjection:before=1,clip=um.16000.0",
        "realistic.prolongation:word=1,ms=90",
    ],
)
def test_mistakes_are_one_line(text):
    with pytest.raises(VoxauditError) as error:
        Chain.parse(text)(SAMPLES, RATE, SPOKEN)
    assert "\n" not in str(error.value)


def test_a_recording_whose_phones_have_no_times_is_refused():
    bare = Timings((Word("go", 0.1, 0.4, (Syllable("go", 0.1, 0.4),)),), 0.5)
    assert applicable(bare) == ()
    with pytest.raises(StutterError):
        sample_chain(bare, "profile", 100.0, None, np.random.default_rng(0))
