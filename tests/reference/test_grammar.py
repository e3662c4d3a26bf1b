"""Sentences around words: the word once, others not at all, always the same."""

import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voxaudit.errors import VoxauditError

sys.path.insert(
    0, str(Path(__file__).resolve().parents[2])
)  # the benchmarks are no part of the installed package

from benchmarks.studies.grammar import (
    FILLERS,
    FRAMES,
    MENTION,
    PART_OF_SPEECH,
    part_of_speech,
    sentences,
)


def plain(text):
    return ["".join(filter(str.isalnum, word)) for word in text.lower().split()]


@pytest.mark.parametrize("part", FRAMES)
def test_every_part_of_speech_has_five_frames_with_one_slot_for_the_word(part):
    assert len(set(FRAMES[part])) == 5
    assert all(frame.count("{word}") == 1 and frame[-1] in ".?" for frame in FRAMES[part])


@settings(deadline=None)
@given(st.sampled_from(sorted(PART_OF_SPEECH)))
def test_ten_sentences_around_every_word_of_the_lexicon(word):
    written = sentences(word, 10)
    assert len(set(written)) == 10
    assert all(plain(text).count(word) == 1 for text in written)
    assert all(text[0].isupper() for text in written)
    assert written == sentences(word, 10)
    assert written[:4] == sentences(word, 4)


def test_frames_take_turns():
    written = sentences("spoon", 5)
    assert len({text.split("spoon")[0][-4:] + text.split("spoon")[1][:4] for text in written}) >= 4


def test_words_to_be_avoided_do_not_occur():
    avoid = ["in", "Karen", "kitchen", "lunch"]
    written = sentences("thick", 12, avoid=avoid)
    assert not {word.lower() for word in avoid} & {word for text in written for word in plain(text)}


def test_an_unknown_word_is_written_about():
    assert part_of_speech("floccinaucin") == MENTION
    assert all("zyx" in plain(text) for text in sentences("zyx", 8))


def test_refusals():
    with pytest.raises(VoxauditError, match="around one word"):
        sentences("two words", 1)
    everything = [word for pool in FILLERS.values() for filler in pool for word in filler.split()]
    with pytest.raises(VoxauditError, match="writes only"):
        sentences("spoon", 5, avoid=everything)
