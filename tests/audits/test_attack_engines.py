"""Engines attacked by their gradient: the loss of the model inside, the transcripts of the engine itself."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="attacks need torch: pip install 'voxaudit[attack]'")

from voxaudit.audio import Audio  # noqa: E402
from voxaudit.audits.attack.result import mistakes  # noqa: E402
from voxaudit.recognize import make_recognizer  # noqa: E402
from voxaudit.recognize.attack.engines import engine_with_gradient, token_losses  # noqa: E402
from voxaudit.recognize.attack.gradient import Pgd, measured, pgd  # noqa: E402
from voxaudit.recognize.attack.models import gradient, open_victim, pad  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


def clips(seed=1):
    generator = np.random.default_rng(seed)
    return [(0.1 * generator.standard_normal(size)).astype(np.float32) for size in (4800, 5500)]


@pytest.fixture(scope="module")
def whisper_file(tmp_path_factory):
    whisper = pytest.importorskip("whisper", reason="needs pip install 'voxaudit[whisper]'")
    from whisper.model import ModelDimensions, Whisper

    torch.manual_seed(0)
    dims = ModelDimensions(80, 1500, 16, 2, 1, 51864, 448, 16, 2, 1)
    model = Whisper(dims)
    for weights in model.parameters():  # some are left as they were found in memory
        torch.nn.init.normal_(weights, std=0.2)
    path = tmp_path_factory.mktemp("whisper") / "random.en.pt"
    torch.save({"dims": asdict(dims), "model_state_dict": model.state_dict()}, path)
    assert whisper.load_model(str(path)).dims == dims
    return path


def test_losses_of_tokens_by_hand():
    """Three classes with known logits: only the tokens of each text count, whatever fills the batch up."""
    logits = torch.tensor([0.0, 1.0, 2.0])
    losses = token_losses([2], [[1], [0, 1, 1]], lambda given: logits.expand(*given.shape, 3), "cpu")
    minus_log = -torch.log_softmax(logits, 0)
    expected = torch.stack([minus_log[1], (minus_log[0] + 2 * minus_log[1]) / 3])
    assert torch.allclose(losses, expected)


def test_whisper_has_the_loss_of_its_model_and_the_texts_of_its_engine(whisper_file):
    import whisper
    from whisper.tokenizer import get_tokenizer

    spec = f"whisper:{whisper_file}"
    model = engine_with_gradient(make_recognizer(spec))
    some, texts = clips(), ["hello there", "yes"]
    waves, lengths = pad(some)
    losses, slope = gradient(model, waves.requires_grad_(True), lengths, texts, waves)
    plain = whisper.load_model(str(whisper_file))
    tokenizer = get_tokenizer(False)
    for clip, text, loss in zip(some, texts, losses, strict=True):
        mel = whisper.log_mel_spectrogram(whisper.pad_or_trim(torch.from_numpy(clip)))[None]
        tokens = [
            *tokenizer.sot_sequence_including_notimestamps,
            *tokenizer.encode(f" {text}"),
            tokenizer.eot,
        ]
        with torch.no_grad():
            logits = plain(mel, torch.tensor([tokens[:-1]]))[0]
        start = len(tokenizer.sot_sequence_including_notimestamps)
        wanted = torch.tensor(tokens[start:])
        expected = torch.nn.functional.cross_entropy(logits[start - 1 :], wanted)
        assert float(loss) == pytest.approx(float(expected), rel=1e-3)
    assert torch.all(slope.abs().sum(dim=1) > 0)
    heard = make_recognizer(spec).load()([Audio(some[0], 16000)])[0].text
    assert model.transcribe(waves[:1], lengths[:1]) == [heard]


def test_whisper_is_attacked_within_its_bound(whisper_file):
    victim = open_victim(f"mine=whisper:{whisper_file}").with_gradient("pgd")
    assert victim.name == "mine"
    (clip, _), settings = clips(), Pgd(20.0, steps=2)
    (found,) = pgd(victim.model, [clip], ["hello there"], settings, judge=mistakes)
    assert found.failure is None
    assert measured(clip, found.samples) >= 20.0 - 1e-6
    before, after = (float(victim.model.loss(*pad([one]), ["hello there"])) for one in (clip, found.samples))
    assert after > before


def test_an_engine_without_torch_has_none():
    assert engine_with_gradient(make_recognizer("pocketsphinx")) is None
