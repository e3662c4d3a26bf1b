"""Whatever a recognizer returns is a transcript or one clear line."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voxaudit.recognize import Transcript, UtteranceError, Word, as_transcript, as_transcripts


@pytest.mark.parametrize(
    ("answer", "transcript"),
    [
        ("", Transcript("")),
        (" Hello,\tworld\n", Transcript(" Hello,\tworld\n")),
        (np.str_("hello"), Transcript("hello")),
        ("日本語 🎙️", Transcript("日本語 🎙️")),
        (Transcript("a", (Word("a", 0, 1),)), Transcript("a", (Word("a", 0.0, 1.0),))),
        ({"text": "hi"}, Transcript("hi")),
        ({"text": "hi", "words": None, "confidence": np.float32(0.5)}, Transcript("hi", (), 0.5)),
        (
            {"text": "hi", "words": [{"word": "hi", "start": 0, "end": 0.25, "confidence": 1}]},
            Transcript("hi", (Word("hi", 0.0, 0.25, 1.0),)),
        ),
    ],
)
def test_good_answers(answer, transcript):
    result = as_transcript(answer)
    assert result == transcript
    assert type(result.text) is str


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (None, "returned None instead of text"),
        (b"hello", "returned bytes instead of text"),
        (3, "returned int instead of text"),
        (["a"], "returned list instead of text"),
        ({"txt": "a"}, "without 'text'"),
        ({"text": None}, "returned None instead of text"),
        (Transcript(b"a"), "returned bytes instead of text"),
        ("a" * 100_001, "returned 100,001 characters; no transcript is longer than 100,000"),
        ("a\0b", "NUL"),
        ("ab\ud800", "lone surrogate (character 3)"),
        ({"text": "a", "words": "a"}, "returned str instead of a list of words"),
        ({"text": "a", "words": ["a"]}, "returned str in the list of words"),
        ({"text": "a", "words": [{"text": "a", "start": 0}]}, "returned None as a word's end"),
        ({"text": "a", "words": [{"text": "a", "start": "0", "end": 1}]}, "returned '0' as a word's start"),
        ({"text": "a", "words": [{"text": "a", "start": 2, "end": 1}]}, "'a' ends before it starts"),
        ({"text": "a", "words": [{"start": 0, "end": 1}]}, "returned None instead of text"),
        ({"text": "a", "confidence": float("nan")}, "returned nan as the confidence"),
        ({"text": "a", "confidence": True}, "returned True as the confidence"),
    ],
)
def test_bad_answers_are_one_line(answer, reason):
    with pytest.raises(UtteranceError) as caught:
        as_transcript(answer)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_longest_text_is_still_taken():
    assert len(as_transcript("a" * 100_000).text) == 100_000


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        (None, "returned None instead of a list of 2 answers"),
        ("ab", "returned str instead of a list of 2 answers"),
        (iter(["a", "b"]), "instead of a list of 2 answers"),
        ([], "0 answers to 2 utterances"),
        (["a", "b", "c"], "3 answers to 2 utterances"),
        (["a", None], "returned None instead of text"),
    ],
)
def test_a_batch_of_answers_is_counted(answers, reason):
    with pytest.raises(UtteranceError, match=reason):
        as_transcripts(answers, 2)


def test_an_exception_in_place_of_an_answer_is_raised():
    with pytest.raises(UtteranceError, match="too loud"):
        as_transcripts(["a", UtteranceError("too loud")], 2)


@given(
    st.one_of(
        st.text(),
        st.none(),
        st.binary(),
        st.floats(),
        st.lists(st.text()),
        st.dictionaries(st.text(), st.text()),
    )
)
def test_nothing_else_can_happen(answer):
    try:
        result = as_transcript(answer)
    except UtteranceError:
        return
    assert isinstance(result, Transcript)
    assert result.text.encode() or result.text == ""
