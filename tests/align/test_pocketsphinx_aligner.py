"""The default aligner on hostile input, and a whole corpus through worker processes."""

from __future__ import annotations

import numpy as np
import pytest

from voxaudit.align import Aligner, AlignmentError, PocketSphinxAligner, Timings, align_corpus
from voxaudit.audio import Audio, read
from voxaudit.corpus import Utterance

pytest.importorskip("pocketsphinx")
ALIGNER = PocketSphinxAligner()


def clip(shared_data) -> Audio:
    return read(shared_data / "ravdess" / "audio" / "03-01-01-01-01-01-01.flac")


def test_it_is_an_aligner_that_can_be_written_down():
    assert isinstance(ALIGNER, Aligner)
    assert ALIGNER.fingerprint() != PocketSphinxAligner(snap=False).fingerprint()
    with pytest.raises(AlignmentError, match="no such file"):
        PocketSphinxAligner(hmm="nowhere").fingerprint()


@pytest.mark.parametrize(
    "samples", [np.zeros(16_000), np.zeros(1), np.array([0.5]), np.full(50, 0.1), np.zeros(0)]
)
def test_silence_and_scraps_are_refused(samples):
    with pytest.raises(AlignmentError) as error:
        ALIGNER.align(Audio(samples.astype(np.float32), 16_000), "hello")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["", "  ", "...", "— !"])
def test_no_words(text, shared_data):
    with pytest.raises(AlignmentError, match="no word"):
        ALIGNER.align(clip(shared_data), text)


def test_other_text_and_other_scripts_are_refused(shared_data):
    audio = clip(shared_data)
    with pytest.raises(AlignmentError, match="does not"):
        ALIGNER.align(audio, "she had your dark suit in greasy wash water all year")
    with pytest.raises(AlignmentError, match="no pronunciation for 'привет'"):
        ALIGNER.align(audio, "kids привет")
    assert ALIGNER.align(audio, "kids are talking by the door").text == "kids are talking by the door"


def test_an_answer_does_not_depend_on_what_was_aligned_before(shared_data):
    audio, text = clip(shared_data), "kids are talking by the door"
    before = ALIGNER.align(audio, text)
    with pytest.raises(AlignmentError):
        ALIGNER.align(audio, "a text that is by far too long for it " * 20)
    ALIGNER.align(
        Audio(audio.samples[::-1] * np.float32(0.1) + audio.samples, 16_000), "Kidz are talkin' by the door"
    )
    assert ALIGNER.align(audio, text) == before


def test_spelling_stays_and_unknown_words_are_found(shared_data):
    known = ALIGNER.align(clip(shared_data), "kids are talking by the door")
    odd = ALIGNER.align(clip(shared_data), "Kidz, are talking-by the dorr!")
    assert odd.text == "Kidz are talking-by the dorr"
    assert odd.words[2].start == pytest.approx(known.words[2].start, abs=0.05)
    assert len(odd.words[2].syllables) == 3


def test_a_corpus_in_order_whatever_the_workers(shared_data, tmp_path):
    folder = shared_data / "ravdess" / "audio"
    (tmp_path / "broken.wav").write_bytes(b"no audio")
    corpus = [
        Utterance("a", folder / "03-01-01-01-01-01-01.flac", text="kids are talking by the door"),
        Utterance("b", tmp_path / "broken.wav", text="kids"),
        Utterance("c", folder / "03-01-01-01-02-01-01.flac"),
        Utterance("d", folder / "03-01-01-01-02-01-01.flac", text="dogs are sitting by the door"),
        Utterance("e", folder / "03-01-01-01-01-01-01.flac", text="unrelated", start=0.5, duration=2.5),
    ]
    texts = {"e": "kids are talking by the door"}
    alone = list(align_corpus(corpus, ALIGNER, texts=texts))
    together = list(align_corpus(corpus, ALIGNER, texts=texts, workers=2))
    assert alone == together
    answers = {utterance.id: answer for utterance, answer in alone}
    assert [isinstance(answers[name], Timings) for name in "abcde"] == [True, False, False, True, True]
    assert "broken.wav" in answers["b"]
    assert "no text" in answers["c"]
    assert answers["e"].words[0].start == pytest.approx(answers["a"].words[0].start - 0.5, abs=0.05)
