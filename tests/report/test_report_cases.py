"""Which trials are shown, and the audio that comes with them."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import soundfile

from voxaudit.audio import read
from voxaudit.audits.scores import Scores
from voxaudit.perturb import parse_scenario
from voxaudit.report.chapters import RATE, Remaker, difference, pack, worst_cases, worst_trials
from voxaudit.score.normalize import normalizer

SENTENCE = "turn the lamp off now"


def unpacked(data):
    samples, rate = soundfile.read(io.BytesIO(data))
    assert rate == RATE
    return samples


def test_the_largest_excess_over_clean_speech_wins_not_the_largest_error(make_run):
    """s0 is misheard as much clean as disturbed; s1 loses three words to the disturbance, s2 two."""
    disturbed = {"s0": "", "s1": "turn the", "s2": "turn the lamp"}

    def heard(recognizer, scenario, speaker, number):
        if scenario == "clean":
            return "" if speaker == "s0" else SENTENCE
        return disturbed[speaker]

    people = {name: {"accent": "a"} for name in disturbed}
    run = make_run(
        heard, people=people, utterances=1, recognizers=("one",), scenarios=("clean", "gaussian_noise:1")
    )
    chosen = worst_trials(Scores.of(run))
    assert chosen["speaker"].to_list() == ["s1", "s2"]
    assert chosen["excess"].to_list() == [0.6, 0.4]


def test_speakers_take_turns_and_every_family_is_shown(make_run):
    """s0 is worst in everything, by far; the second case of a family is still somebody else's."""

    def heard(recognizer, scenario, speaker, number):
        return SENTENCE if scenario == "clean" else "" if speaker == "s0" else "turn the lamp off"

    people = {f"s{n}": {"accent": "a"} for n in range(6)}
    run = make_run(
        heard, people=people, recognizers=("one",), scenarios=("clean", "gaussian_noise:1", "telephone")
    )
    chosen = worst_trials(Scores.of(run))
    assert set(chosen["scenario"]) == {"gaussian_noise:1", "telephone"}
    assert chosen.height == 4
    assert chosen["speaker"].n_unique() == 4
    assert worst_trials(Scores.of(run), most=2)["scenario"].n_unique() == 2


def test_the_difference_is_aligned_word_by_word():
    rule = normalizer("basic")
    assert difference("Turn the lamp off!", "turn a lamp off now", rule) == (
        ("=", "turn", "turn"),
        ("substitution", "the", "a"),
        ("=", "lamp", "lamp"),
        ("=", "off", "off"),
        ("insertion", "", "now"),
    )
    assert difference("one two", "one", rule)[1] == ("deletion", "two", "")
    assert difference(None, "one", rule) == ()


def test_audio_is_what_the_trial_heard(make_run, drops):
    run = make_run(drops, audio=True)
    made = Remaker(run).make("s0-0", "gaussian_noise:2")
    clip = read(run.corpus["audio"][0])
    heard = parse_scenario("gaussian_noise:2").apply(clip, seed=0, utterance="s0-0")
    # The stream's serial number differs from file to file; what is heard does not.
    assert np.array_equal(unpacked(made.audio), unpacked(pack(heard)))
    assert np.array_equal(unpacked(made.original), unpacked(pack(clip)))
    samples = unpacked(made.audio)
    assert len(samples) == len(clip.samples)
    assert np.corrcoef(samples, heard.samples)[0, 1] > 0.7


def test_a_missing_recording_leaves_the_case_without_audio(make_run, drops):
    run = make_run(drops, audio=True)
    for path in run.corpus["audio"].to_list()[:-2]:
        Path(path).unlink()
    cases = worst_cases(Scores.of(run), run, (), 4_000_000).cases
    assert cases
    assert any(case.audio is None for case in cases)
    assert all(case.reference == SENTENCE for case in cases)


def test_audio_stays_within_its_budget(make_run, drops):
    run = make_run(drops, audio=True)

    def size(room):
        cases = worst_cases(Scores.of(run), run, (), room).cases
        return sum(len(case.audio or b"") + len(case.original or b"") for case in cases)

    whole = size(4_000_000)
    assert whole > 0
    assert 0 < size(whole // 2) <= whole / 2
    assert size(0) == 0
