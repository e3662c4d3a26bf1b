"""SpeechBrain and NeMo models, small and random, saved and loaded as the toolkits do it; each where it is installed."""

from __future__ import annotations

import numpy as np
import pytest
from tiny_models import save_nemo, save_speechbrain

from voxaudit.audio import Audio
from voxaudit.recognize import RecognizerError, make_recognizer
from voxaudit.recognize.check import check_recognizer
from voxaudit.recognize.signals import check_clips

pytestmark = pytest.mark.filterwarnings("ignore")  # the toolkits' own


@pytest.fixture(scope="module")
def speechbrain_model(tmp_path_factory):
    pytest.importorskip("torch")
    pytest.importorskip("speechbrain", reason="needs pip install 'voxaudit[speechbrain]'", exc_type=Exception)
    folder = tmp_path_factory.mktemp("speechbrain")
    save_speechbrain(folder)
    return folder


@pytest.fixture(scope="module")
def nemo_model(tmp_path_factory):
    pytest.importorskip("torch")
    pytest.importorskip(
        "nemo.collections.asr", reason="needs pip install 'voxaudit[nemo]'", exc_type=Exception
    )
    folder = tmp_path_factory.mktemp("nemo")
    save_nemo(folder)
    return folder / "tiny.nemo"


def sounds():
    return {name: clip for name, clip in check_clips().items() if ".wav" not in name}


def check(spec):
    result = check_recognizer(make_recognizer(spec), sounds(), long_seconds=20)
    assert [(c.name, c.problems) for c in result.checks if not c.passed] == []
    assert result.distinct_answers >= 3


def test_speechbrain_hears_and_remembers_nothing(speechbrain_model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check(f"speechbrain:{speechbrain_model},kind=EncoderASR")
    assert list(tmp_path.iterdir()) == []  # nothing is linked or copied into the current folder


def test_speechbrain_answers_as_the_toolkit_does(speechbrain_model):
    import torch
    from speechbrain.inference.ASR import EncoderASR

    model = EncoderASR.from_hparams(source=str(speechbrain_model), savedir=None)
    recognizer = make_recognizer(f"speechbrain:{speechbrain_model},kind=EncoderASR")
    clips = list(sounds().values())
    expected = [
        model.transcribe_batch(torch.from_numpy(clip.samples.copy())[None], torch.tensor([1.0]))[0][0]
        for clip in clips
    ]
    assert [answer.text for answer in recognizer.load()(clips)] == expected


def test_speechbrain_of_another_kind_is_one_line(speechbrain_model):
    with pytest.raises(RecognizerError, match=r"cannot be loaded .*no EncoderDecoderASR"):
        make_recognizer(f"speechbrain:{speechbrain_model}").load()


def test_nemo_hears_and_remembers_nothing(nemo_model):
    check(f"nemo:{nemo_model}")


def test_nemo_hears_the_same_in_a_batch(nemo_model):
    clips = list(sounds().values())
    alone, together = (
        [answer.text for answer in make_recognizer(f"nemo:{nemo_model},batch={n}").load()(clips)]
        for n in (1, 4)
    )
    assert alone == together


def test_a_file_that_is_no_nemo_model_is_one_line(nemo_model, tmp_path):
    (tmp_path / "broken.nemo").write_bytes(b"broken")
    with pytest.raises(RecognizerError, match=r"broken.nemo cannot be loaded"):
        make_recognizer(f"nemo:{tmp_path / 'broken.nemo'}").load()


def test_odd_audio_gets_an_answer(nemo_model):
    transcribe = make_recognizer(f"nemo:{nemo_model}").load()
    for samples in (np.zeros(0), np.ones(1), np.zeros(16_000)):
        assert isinstance(transcribe([Audio(samples.astype(np.float32), 16_000)])[0].text, str)
