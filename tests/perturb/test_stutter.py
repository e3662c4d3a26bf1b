"""Stutter operations as ASTER has them, on made-up sound: lengths, seams, timings, text, serialization, sampling."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voxaudit.align import Phone, Syllable, Timings, Word
from voxaudit.audio import Audio
from voxaudit.errors import VoxauditError
from voxaudit.perturb.stutter.aster import (
    Block,
    Interjection,
    Prolongation,
    SoundRepetition,
    WordRepetition,
    continuant,
    fillers,
)
from voxaudit.perturb.stutter.base import Clip, StutterError
from voxaudit.perturb.stutter.chain import KINDS, Chain, parse_operation
from voxaudit.perturb.stutter.profiles import shares_at
from voxaudit.perturb.stutter.sample import MIXTURES
from voxaudit.perturb.stutter.sample import applicable as _applicable
from voxaudit.perturb.stutter.sample import sample_chain as _sample_chain
from voxaudit.perturb.stutter.sample import sample_operation as _sample_operation
from voxaudit.perturb.stutter.splice import cut_near

RATE = 16_000
applicable = partial(_applicable, mode="aster")
sample_chain = partial(_sample_chain, mode="aster")
sample_operation = partial(_sample_operation, mode="aster")


def syllable(text, start, *phones):
    timed = tuple(Phone(name, start + 0.1 * i, start + 0.1 * (i + 1)) for i, name in enumerate(phones))
    return Syllable(text, start, timed[-1].end, timed)


def word(text, *parts):
    return Word(text, parts[0].start, parts[-1].end, parts)


HOW = word("uh", syllable("uh", 0.2, "AH"))
THE = word("the", syllable("the", 0.4, "DH", "AH"))
WEATHER = word("weather", syllable("wea", 0.6, "W", "EH"), syllable("ther", 0.8, "DH", "ER"))
TIMINGS = Timings((HOW, THE, WEATHER), 1.2)
ONE = Timings((word("go", syllable("go", 0.1, "G", "OW")),), 0.5)


def hum(seconds=1.2, pitch=130.0):
    t = np.arange(round(seconds * RATE)) / RATE
    return sum(0.05 / k * np.sin(2 * np.pi * pitch * k * t + k) for k in range(1, 10)).astype(np.float32)


SAMPLES = hum()
UM = Clip("um", Audio(hum(0.2, 100.0) * np.float32(3), 8_000))


@pytest.mark.parametrize(
    ("operation", "surface"),
    [
        (Block(2, 1, 120.0), "uh the weather"),
        (Prolongation(2, 0, 2.5), "uh the weather"),
        (SoundRepetition(2, 0, 2), "uh the wea- wea- weather"),
        (SoundRepetition(2, 1, 2), "uh the wea-ther-ther-ther"),
        (WordRepetition(1, 1), "uh the the weather"),
        (WordRepetition(2, 3), "uh the weather weather weather weather"),
        (Interjection(2, 0, 0, 2), "uh the uh uh weather"),
        (Interjection(3, 0, 0, 1), "uh the weather uh"),
        (Interjection(1, clip=UM.key), "uh um the weather"),
    ],
)
def test_text_length_and_everything_outside_the_edit(operation, surface):
    edit = operation.edit(SAMPLES, RATE, TIMINGS, [UM])
    samples, timings = operation(SAMPLES, RATE, TIMINGS, [UM])
    assert timings.text == "uh the weather"
    assert timings.surface == surface
    assert len(samples) == len(SAMPLES) + edit.growth
    assert timings.duration == pytest.approx(len(samples) / RATE)
    np.testing.assert_array_equal(samples[: edit.start], SAMPLES[: edit.start])
    np.testing.assert_array_equal(samples[edit.start + len(edit.samples) :], SAMPLES[edit.stop :])
    assert samples.dtype == np.float32
    if not getattr(operation, "clip", ""):  # a foreign clip has steps of its own
        assert np.abs(np.diff(samples)).max() <= 1.1 * np.abs(np.diff(SAMPLES)).max()
    for w in timings.words:
        assert all(w.start - 1e-9 <= s.start <= s.end <= w.end + 1e-9 for s in w.syllables)
        assert all(a.end <= b.start + 1e-9 for a, b in zip(w.syllables, w.syllables[1:], strict=False))


def test_lengths_are_those_asked_for():
    assert Block(2, 1, 120.0).edit(SAMPLES, RATE, TIMINGS).growth == 1920
    assert Prolongation(2, 0, 2.5).edit(SAMPLES, RATE, TIMINGS).growth == 4800
    once = WordRepetition(1, 1).edit(SAMPLES, RATE, TIMINGS).growth
    assert WordRepetition(1, 3).edit(SAMPLES, RATE, TIMINGS).growth == 3 * once
    assert once == pytest.approx(0.2 * RATE, abs=0.01 * RATE)


def test_a_block_is_silent_but_for_its_fades():
    edit = Block(2, 1, 120.0).edit(SAMPLES, RATE, TIMINGS)
    assert not edit.samples[80:-80].any()
    assert (edit.samples[0], edit.samples[-1]) == pytest.approx(
        (SAMPLES[edit.start], SAMPLES[edit.start - 1])
    )


def test_copies_are_the_sound_itself():
    edit = WordRepetition(1, 2).edit(SAMPLES, RATE, TIMINGS)
    unit = len(edit.samples) // 2
    own = SAMPLES[edit.start : edit.start + unit]
    np.testing.assert_allclose(edit.samples[: unit - 80], own[:-80], atol=1e-7)
    np.testing.assert_allclose(edit.samples[unit : 2 * unit - 80], own[:-80], atol=1e-7)


def test_prolonging_keeps_the_pitch():
    def pitch(sound):
        spectrum = np.abs(np.fft.rfft(sound * np.hanning(len(sound)), 1 << 18))
        first = slice(round(80 * (1 << 18) / RATE), round(200 * (1 << 18) / RATE))
        return (np.argmax(spectrum[first]) + first.start) * RATE / (1 << 18)

    for hz in (90.0, 133.7, 180.0):
        edit = Prolongation(2, 0, 4.0).edit(hum(pitch=hz), RATE, TIMINGS)
        assert pitch(edit.samples) == pytest.approx(hz, rel=0.01)


def test_only_what_can_be_held_is_stretched():
    assert continuant(syllable("kids", 0.0, "K", "IH", "D", "Z")) == pytest.approx((0.1, 0.2))
    assert continuant(syllable("snow", 0.0, "S", "N", "OW")) == pytest.approx((0.0, 0.3))
    assert continuant(Syllable("x", 0.0, 0.4)) == (0.0, 0.4)


def test_cuts_lie_at_rising_zero_crossings():
    cut = cut_near(SAMPLES, RATE, 0.4)
    assert SAMPLES[cut - 1] <= 0 <= SAMPLES[cut]
    assert abs(cut - 0.4 * RATE) <= 80
    assert cut_near(np.ones(100, np.float32), RATE, 0.003) == pytest.approx(48, abs=80)
    assert cut_near(SAMPLES, RATE, 0.0) == 0
    assert cut_near(SAMPLES, RATE, 9.0) == len(SAMPLES)


def test_chains_replay_bit_for_bit_and_keep_numbers_of_words():
    chain = Chain(
        (
            WordRepetition(1, 2),
            SoundRepetition(2, 0, 2),
            Block(2, 1, 80.0),
            Interjection(2, 0, 0, 1),
            Prolongation(2, 1, 2.25),
        )
    )
    text = str(chain)
    assert Chain.parse(text) == chain
    first, timings = chain(SAMPLES, RATE, TIMINGS)
    second, same = Chain.parse(text)(SAMPLES, RATE, TIMINGS)
    np.testing.assert_array_equal(first, second)
    assert timings == same
    assert timings.surface == "uh the the the uh wea- wea- weather"
    assert len(first) == len(SAMPLES) + sum(edit.growth for edit in chain.edits(SAMPLES, RATE, TIMINGS))
    assert chain.version == "block=1,interjection=1,prolongation=1,sound_repetition=1,word_repetition=1"


def test_strings_are_short_and_mistakes_take_one_line():
    assert str(Block(2, 1, 120.0)) == "block:word=2,ms=120.0"
    assert parse_operation("block:word=2,ms=120") == Block(2, 1, 120.0)
    assert str(Chain()) == ""
    assert Chain.parse("") == Chain()
    for text in (
        "blok:word=1",
        "block",
        "block:wrd=1",
        "block:word=x",
        "block:word=1,ms=0",
        "block:word",
        "prolongation:word=0,factor=nan",
    ):
        with pytest.raises(VoxauditError) as error:
            Chain.parse(text)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "operation",
    [
        Block(0),
        Block(9),
        Prolongation(2, 2),
        SoundRepetition(-1),
        WordRepetition(3),
        Interjection(1, 1, 0),
        Interjection(9, 0),
    ],
)
def test_places_that_are_not_there_are_refused(operation):
    with pytest.raises(StutterError):
        operation(SAMPLES, RATE, TIMINGS)


def test_a_recording_without_a_filler_says_so_and_takes_a_clip():
    assert fillers(ONE) == []
    with pytest.raises(StutterError, match="no filler in this recording"):
        sample_operation("interjection", ONE, np.random.default_rng(0))
    quiet = Timings((THE, WEATHER), 1.2)
    assert "interjection" not in applicable(quiet)
    drawn = sample_operation("interjection", quiet, np.random.default_rng(0), clips=[UM])
    assert drawn.clip == UM.key
    _, timings = drawn(SAMPLES, RATE, quiet, [UM])
    assert timings.surface.startswith("the um")
    with pytest.raises(StutterError, match="was not given"):
        drawn(SAMPLES, RATE, quiet)


def test_one_word_of_one_syllable():
    # A sound repetition would be the repetition of the word.
    assert applicable(ONE) == ("prolongation", "word_repetition")
    for kind in applicable(ONE):
        samples, timings = sample_operation(kind, ONE, np.random.default_rng(1))(SAMPLES[:8000], RATE, ONE)
        assert len(samples) / RATE == pytest.approx(timings.duration)
    with pytest.raises(StutterError, match="two syllables"):
        sample_operation("block", ONE, np.random.default_rng(0))


def test_silence_stays_silence():
    silence = np.zeros_like(SAMPLES)
    for kind in KINDS:
        samples, _ = sample_operation(kind, TIMINGS, np.random.default_rng(2))(silence, RATE, TIMINGS)
        assert len(samples) > len(silence)
        assert not samples.any()


@pytest.mark.parametrize("severity", [1, 2, 3, 4, None])
def test_severity_quarters_the_ranges_of_the_paper(severity):
    generator = np.random.default_rng(3)
    low = 0.0 if severity is None else (severity - 1) / 4
    high = 1.0 if severity is None else severity / 4
    for _ in range(50):
        ms = sample_operation("block", TIMINGS, generator, severity).ms
        assert 50 + 150 * low - 0.5 <= ms <= 50 + 150 * high + 0.5
        factor = sample_operation("prolongation", TIMINGS, generator, severity).factor
        assert 2 + 2 * low - 0.01 <= factor <= 2 + 2 * high + 0.01
        copies = [
            sample_operation(f"{what}_repetition", TIMINGS, np.random.default_rng(seed), severity).copies
            for seed in range(3)
            for what in ("sound", "word")
        ]
        assert copies[::2] == copies[1::2]  # kinds that are compared do not differ in count
        assert set(copies) <= {2, 3, 4}
    with pytest.raises(StutterError, match="severity"):
        sample_operation("block", TIMINGS, generator, 5)


def test_rate_is_events_per_hundred_words():
    generator = np.random.default_rng(4)
    counts = [len(sample_chain(TIMINGS, "even", 50, None, generator)) for _ in range(400)]
    assert set(counts) == {1, 2}
    assert np.mean(counts) == pytest.approx(1.5, abs=0.1)
    assert len(sample_chain(TIMINGS, "even", 0, None, generator)) == 0
    full = sample_chain(TIMINGS, {"word_repetition": 1.0}, 100, 1, generator)
    assert sorted(operation.target for operation in full.operations) == [0, 1, 2]


def test_mixtures_weigh_the_kinds_and_leave_out_what_has_no_place():
    generator = np.random.default_rng(5)
    kinds = [
        o.kind
        for _ in range(300)
        for o in sample_chain(TIMINGS, "fluencybank", 100, None, generator).operations
    ]
    weights = MIXTURES["fluencybank"]
    share = kinds.count("interjection") / len(kinds)
    assert share == pytest.approx(weights["interjection"] / sum(weights.values()), abs=0.05)
    # A profile has the kinds of people who stutter so much, as in the other mode: they interject nothing.
    kinds = [
        o.kind for _ in range(300) for o in sample_chain(TIMINGS, "profile", 100, None, generator).operations
    ]
    for kind, expected in shares_at(100).items():
        assert kinds.count(kind) / len(kinds) == pytest.approx(expected, abs=0.05)
    assert "interjection" not in kinds
    alone = sample_chain(ONE, "sep28k", 300, None, generator)
    assert {o.kind for o in alone.operations} <= {"prolongation", "word_repetition"}
    for mixture in ("sep29k", {"block": 1.0}, {"blok": 1.0}, {"block": -1.0}, {}):
        with pytest.raises(StutterError):
            sample_chain(ONE, mixture, 100, None, generator)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(sorted(MIXTURES)), st.sampled_from([None, 1, 4]))
def test_any_chain_is_sound(seed, mixture, severity):
    chain = sample_chain(TIMINGS, mixture, 250, severity, np.random.default_rng(seed))
    assert Chain.parse(str(chain)) == chain
    assert chain == sample_chain(TIMINGS, mixture, 250, severity, np.random.default_rng(seed))
    samples, timings = chain(SAMPLES, RATE, TIMINGS)
    assert timings.text == TIMINGS.text
    assert len(samples) / RATE == pytest.approx(timings.duration)
    assert np.isfinite(samples).all()
    assert Timings.from_json(timings.to_json()) == timings
