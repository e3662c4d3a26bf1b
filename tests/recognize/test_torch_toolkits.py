"""SpeechBrain and NeMo models, small and random, saved and loaded as the toolkits do it; each where it is installed."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from tiny_models import save_nemo, save_speechbrain
from torchaudio_shim import import_torchaudio

from voxaudit.audio import Audio
from voxaudit.recognize import RecognizerError, make_recognizer
from voxaudit.recognize.check import check_clips, check_recognizer

pytestmark = pytest.mark.filterwarnings("ignore")  # the toolkits' own


@pytest.fixture(scope="module")
def speechbrain_model(tmp_path_factory):
    pytest.importorskip("torch")
    with contextlib.suppress(ImportError):
        import_torchaudio()
    pytest.importorskip("speechbrain", reason="needs pip install 'voxaudit[speechbrain]'", exc_type=Exception)
    folder = tmp_path_factory.mktemp("speechbrain")
    save_speechbrain(folder)
    return folder


@pytest.fixture(scope="module")
def nemo_model(tmp_path_factory):
    pytest.importorskip("torch")
    with contextlib.suppress(ImportError):
        import_torchaudio()
    pytest.importorskip(
        "nemo.collections.asr", reason="needs pip install 'voxaudit[nemo]'", exc_type=Exception
    )
    folder = tmp_path_factory.mktemp("nemo")
    save_nemo(folder)
    return folder / "tiny.nemo"


def sounds():
    return {name: clip for name, clip in check_clips().items() if ".flac" not in name}


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
        model.transcribe_batch(torch.from_numpy(clip.samples.copy())[None], torch.tensor([1.0]))[0][0].strip()
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


# Their losses, under attack.

DECODERS = {
    "attention": """
embedding: !new:speechbrain.nnet.embedding.Embedding
  num_embeddings: 8
  embedding_dim: 6
rnn: !new:speechbrain.nnet.RNN.AttentionalRNNDecoder
  enc_dim: 8
  input_size: 6
  rnn_type: gru
  attn_type: location
  hidden_size: 5
  attn_dim: 5
  num_layers: 1
  scaling: 1.0
  channels: 4
  kernel_size: 3
linear: !new:speechbrain.nnet.linear.Linear
  input_size: 5
  n_neurons: 8
decoder: !new:speechbrain.decoders.S2SRNNGreedySearcher
  embedding: !ref <embedding>
  decoder: !ref <rnn>
  linear: !ref <linear>
  bos_index: 1
  eos_index: 2
  min_decode_ratio: 0
  max_decode_ratio: 0.05
""",
    "transducer": """
embedding: !new:speechbrain.nnet.embedding.Embedding
  num_embeddings: 8
  consider_as_one_hot: True
  blank_id: 0
rnn: !new:speechbrain.nnet.RNN.GRU
  input_shape: [1, 40, 7]
  hidden_size: 8
tjoint: !new:speechbrain.nnet.transducer.transducer_joint.Transducer_joint
  joint: sum
linear: !new:speechbrain.nnet.linear.Linear
  input_size: 8
  n_neurons: 8
decoder: !new:speechbrain.decoders.transducer.TransducerBeamSearcher
  decode_network_lst: [!ref <embedding>, !ref <rnn>]
  tjoint: !ref <tjoint>
  classifier_network: [!ref <linear>]
  blank_id: 0
  beam_size: 1
transducer_beam_search: True
""",
}
SPEECHBRAIN = """
encoder: !new:speechbrain.nnet.containers.LengthsCapableSequential
  features: !new:speechbrain.lobes.features.Fbank
    n_mels: 20
  linear: !new:speechbrain.nnet.linear.Linear
    input_size: 20
    n_neurons: 8
{}tokenizer: !new:torch_toolkit_parts.Letters
pretrainer: !new:speechbrain.utils.parameter_transfer.Pretrainer
modules:
  encoder: !ref <encoder>
  decoder: !ref <decoder>
"""


def losses_of(spec, texts):
    """Attack a recognizer by one step of its gradient; return the losses before and after."""
    import torch

    from voxaudit.recognize.attack.engines import engine_with_gradient
    from voxaudit.recognize.attack.models import gradient, pad

    model = engine_with_gradient(make_recognizer(spec))
    generator = np.random.default_rng(0)
    clips = [(0.1 * generator.standard_normal(count)).astype(np.float32) for count in (9000, 7000)]
    waves, lengths = pad(clips)
    before, slope = gradient(model, waves.requires_grad_(True), lengths, texts, waves)
    assert torch.isfinite(before).all()
    assert torch.all(slope.abs().sum(dim=1) > 0)
    assert not slope[1, 7000:].any()  # what is behind an utterance is not heard
    alone = model.loss(*pad(clips[:1]), texts[:1])
    assert float(alone[0]) == pytest.approx(float(before[0]), rel=1e-4)
    after = model.loss((waves + 0.01 * slope.sign()).detach(), lengths, texts)
    assert torch.all(after > before)
    assert all(isinstance(text, str) for text in model.transcribe(waves.detach(), lengths))
    return before


@pytest.mark.parametrize("kind", ["ctc", "attention", "transducer"])
def test_speechbrain_is_attacked_by_its_own_loss(speechbrain_model, tmp_path, kind):
    import torch

    if kind == "ctc":
        losses_of(f"speechbrain:{speechbrain_model},kind=EncoderASR", ["abc", "fed"])
        return
    torch.manual_seed(0)
    (tmp_path / "hyperparams.yaml").write_text(SPEECHBRAIN.format(DECODERS[kind]))
    losses_of(f"speechbrain:{tmp_path}", ["abc", "ed"])


def test_nemo_is_attacked_by_its_own_loss(nemo_model):
    losses_of(f"nemo:{nemo_model}", ["abc", "ba"])
