"""Moonshine and PocketSphinx on real recordings: right, independent of history, unharmed by odd audio."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from voxaudit.audio import Audio
from voxaudit.errors import VoxauditError
from voxaudit.recognize import RecognizerError, make_recognizer, require
from voxaudit.recognize.check import check_recognizer
from voxaudit.recognize.moonshine import Moonshine, read_vocabulary, spell
from voxaudit.recognize.pocketsphinx import PocketSphinx, _Decoder

ENGINES = ["moonshine", "pocketsphinx"]


@pytest.fixture(scope="session")
def loaded():
    """Return the loaded engines by name, each loaded once."""
    for package in ("onnxruntime", "pocketsphinx"):
        pytest.importorskip(package)
    return {name: make_recognizer(name).load() for name in ENGINES}


def wrong_words(pairs) -> tuple[int, int]:
    """Return (word errors, reference words) with the plainest dynamic program there is."""
    errors = words = 0
    for reference, hypothesis in pairs:
        kept = "".join(c if c.isalnum() or c == "'" else " " for c in hypothesis.lower())
        ref, hyp = reference.split(), kept.split()
        row = list(range(len(hyp) + 1))
        for i, word in enumerate(ref, start=1):
            previous, row[0] = row[0], i
            for j, other in enumerate(hyp, start=1):
                previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (word != other))
        errors, words = errors + row[-1], words + len(ref)
    return errors, words


@pytest.fixture(scope="session")
def answers(loaded, ravdess):
    """Return {engine: [(text, audio, answer)]} on a few clips."""
    some = {"moonshine": ravdess, "pocketsphinx": ravdess[:2]}
    heard = {engine: loaded[engine]([audio for _, audio in clips]) for engine, clips in some.items()}
    return {
        engine: [(*clip, answer) for clip, answer in zip(clips, heard[engine], strict=True)]
        for engine, clips in some.items()
    }


@pytest.mark.parametrize(("engine", "at_most"), [("moonshine", 0.10), ("pocketsphinx", 0.60)])
def test_real_speech_is_recognized(answers, engine, at_most):
    errors, words = wrong_words((text, answer.text) for text, _, answer in answers[engine])
    assert errors / words <= at_most


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_answers_do_not_depend_on_batch_order_or_history(ravdess, digits, engine):
    clips = [audio for _, audio in digits[:5]] + [
        audio for _, audio in ravdess[: 8 if engine == "moonshine" else 2]
    ]
    result = check_recognizer(make_recognizer(engine), clips, long_seconds=61 if engine == "moonshine" else 4)
    assert [(check.name, check.problems) for check in result.checks if not check.passed] == []
    assert result.distinct_answers >= 3


class _Remembering(_Decoder):
    """PocketSphinx as it comes: the decoder keeps what it learned about the last speaker."""

    def _make(self):
        decoder = super()._make()

        class Kept:
            def __getattr__(self, name):
                return (lambda: None) if name == "reinit_feat" else getattr(decoder, name)

        return Kept()


class Remembering(PocketSphinx):
    def load(self):
        return _Remembering(*self._files(), maxhmmpf=self.maxhmmpf, ds=self.ds)


@pytest.mark.slow
def test_the_check_notices_when_pocketsphinx_remembers(loaded, digits):
    clips = [audio for _, audio in digits[4:6]]
    result = check_recognizer(Remembering(), clips, long_seconds=0.1)
    assert any("alone it was" in problem for check in result.checks for problem in check.problems)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "samples", [np.zeros(0), np.ones(1), np.zeros(400), np.full(16_000, 3.0), np.zeros(16_000)]
)
def test_odd_audio_gets_an_answer(loaded, engine, samples):
    (answer,) = loaded[engine]([Audio(samples.astype(np.float32), 16_000)])
    assert isinstance(answer.text, str)


def test_pocketsphinx_gives_word_times(answers):
    for _, audio, answer in answers["pocketsphinx"]:
        assert " ".join(word.text for word in answer.words) == answer.text
        ends = [0.0, *(word.end for word in answer.words)]
        assert all(before <= word.start < word.end for before, word in zip(ends, answer.words, strict=False))
        assert ends[-1] <= audio.duration
        assert all(0 <= word.confidence <= 1 for word in answer.words)


@pytest.mark.slow
def test_moonshine_hears_long_audio_in_pieces(loaded, ravdess):
    moonshine = loaded["moonshine"]
    joined = np.concatenate([audio.samples for _, audio in ravdess[:10]])
    assert len(joined) > 32 * 16_000
    (answer,) = moonshine([Audio(joined, 16_000)])
    assert answer.text.lower().count("by the door") >= 9


def test_moonshine_is_sure_of_clean_speech_and_less_so_in_noise(loaded, ravdess):
    noise = np.random.default_rng(0).standard_normal(200_000).astype(np.float32)
    clips = [audio for _, audio in ravdess[:4]]
    noisy = [Audio(clip.samples + 0.05 * noise[: len(clip.samples)], clip.rate) for clip in clips]
    clean, disturbed = (
        np.mean([a.confidence for a in loaded["moonshine"](batch)]) for batch in (clips, noisy)
    )
    assert 0 < disturbed < clean <= 1
    assert clean > 0.8


def test_moonshine_threads_change_no_bit(loaded, ravdess):
    clips = [audio for _, audio in ravdess[:3]]
    two = Moonshine(threads=2)
    assert two.load()(clips) == loaded["moonshine"](clips)
    assert two.fingerprint() == Moonshine().fingerprint()


@pytest.mark.slow
def test_moonshine_cuts_endless_answers(ravdess):
    clips = [audio for _, audio in ravdess[:1]]
    short = Moonshine(tokens_per_second=0.01).load()(clips)[0].text
    assert Moonshine().load()(clips)[0].text.startswith(short)
    assert Moonshine(tokens_per_second=0.01).fingerprint() != Moonshine().fingerprint()


@pytest.mark.parametrize("engine", ENGINES)
def test_recognizers_are_small_values(engine):
    recognizer = make_recognizer(engine)
    require(recognizer)
    assert len(pickle.dumps(recognizer)) < 300
    assert pickle.loads(pickle.dumps(recognizer)) == recognizer
    assert recognizer.fingerprint() == make_recognizer(engine).fingerprint()
    assert len(recognizer.fingerprint()["model"]) == 64


def test_models_that_are_not_there(tmp_path):
    with pytest.raises(RecognizerError, match=r"no file or folder 'huge-en'.* Names: tiny-en, base"):
        require(Moonshine("huge-en"))
    with pytest.raises(RecognizerError, match=r"no encoder_model file there"):
        require(Moonshine(str(tmp_path)))
    with pytest.raises(RecognizerError, match=r"'pocketsphinx': lm: no such file or folder: nowhere.lm"):
        require(PocketSphinx(lm="nowhere.lm"))


def test_another_model_is_another_fingerprint_and_a_broken_one_is_one_line(tmp_path):
    for name in ("encoder_model.ort", "decoder_model_merged.ort", "tokenizer.bin"):
        (tmp_path / name).write_bytes(b"\x01a")
    broken = Moonshine(str(tmp_path))
    assert broken.fingerprint() != Moonshine().fingerprint()
    with pytest.raises(RecognizerError, match=r"onnxruntime cannot load this model"):
        broken.load()
    dictionary = tmp_path / "words.dict"
    dictionary.write_text("door D AO R\n")
    assert PocketSphinx(dictionary=str(dictionary)).fingerprint() != PocketSphinx().fingerprint()
    with pytest.raises(RecognizerError, match="pocketsphinx cannot load"):
        PocketSphinx(lm=str(dictionary)).load()


@pytest.mark.parametrize(
    ("engine", "module", "package"),
    [
        ("moonshine", "onnxruntime", "onnxruntime"),
        ("pocketsphinx", "pocketsphinx", "pocketsphinx"),
    ],
)
def test_a_missing_package_names_its_extra(engine, module, package, monkeypatch):
    from importlib import util

    find = util.find_spec
    monkeypatch.setattr(util, "find_spec", lambda name, *rest: None if name == module else find(name, *rest))
    recognizer = make_recognizer(engine)
    for check in (require, lambda recognizer: recognizer.load(), lambda recognizer: recognizer.fingerprint()):
        with pytest.raises(
            VoxauditError, match=rf"{package} is not installed.*pip install 'voxaudit\[{engine}\]'"
        ):
            check(recognizer)


def test_vocabulary(tmp_path):
    path = tmp_path / "tokenizer.bin"
    pieces = [b"<unk>", b"<s>", b"</s>", b"\xc3", b"\xa9", "\u2581caf".encode(), b"<<ST_0>>", b""]
    path.write_bytes(b"".join(bytes([len(piece)]) + piece for piece in pieces))
    assert read_vocabulary(path) == pieces
    assert spell([5, 3, 4, 6, 7, 2], pieces) == "café"
    assert spell([5, 3], pieces) == "caf\ufffd"
    path.write_bytes(b"\x05ab")
    with pytest.raises(RecognizerError, match=r"tokenizer.bin: not a vocabulary .*at byte 0"):
        read_vocabulary(path)
