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
from voxaudit.recognize.attack.models import (  # noqa: E402
    TransducerModule,
    gradient,
    normalized_log_mel,
    open_loaded,
    open_victim,
    pad,
    transducer_losses,
)

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


def paths(frames, label):
    """Every way through a transducer's lattice: in each frame some tokens, then a blank."""
    if frames == 1:
        yield [[*label]]
        return
    for first in range(len(label) + 1):
        for rest in paths(frames - 1, label[first:]):
            yield [[*label[:first]], *rest]


@pytest.mark.parametrize(("frames", "label"), [(1, []), (1, [2]), (3, [1, 2]), (4, [2, 2, 1])])
def test_the_transducer_loss_sums_over_all_paths(frames, label):
    torch.manual_seed(1)
    logits = torch.randn(1, frames, len(label) + 1, 4, dtype=torch.float64, requires_grad=True)
    scores = logits[0].log_softmax(-1)
    total = []
    for path in paths(frames, label):
        said, score = 0, torch.zeros((), dtype=torch.float64)
        for frame, tokens in enumerate(path):
            for token in tokens:
                score = score + scores[frame, said, token]
                said += 1
            score = score + scores[frame, said, 0]
        total.append(score)
    expected = -torch.logsumexp(torch.stack(total), 0)
    (found,) = transducer_losses(logits, torch.tensor([frames]), [label], 0)
    assert float(found) == pytest.approx(float(expected), rel=1e-10)
    ours, theirs = (torch.autograd.grad(one, logits, retain_graph=True)[0] for one in (found, expected))
    assert torch.allclose(ours, theirs, atol=1e-10)


def test_padding_of_frames_and_tokens_is_not_heard():
    torch.manual_seed(2)
    logits = torch.randn(2, 5, 4, 3)
    alone = transducer_losses(logits[:1, :3, :2], torch.tensor([3]), [[1]], 0)
    together = transducer_losses(logits, torch.tensor([3, 5]), [[1], [2, 1, 2]], 0)
    assert float(together[0]) == pytest.approx(float(alone[0]), rel=1e-5)


class Transducer(torch.nn.Module):
    """An encoder of 20 samples, a memory of the last token, and their sum."""

    def __init__(self):
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.hear = torch.nn.Parameter(3.0 * torch.randn(20, 4, generator=generator))
        self.last = torch.nn.Parameter(torch.randn(4, 4, generator=generator))

    def forward(self, waveforms, lengths, said):
        frames = torch.nn.functional.pad(waveforms, (0, -waveforms.shape[1] % 20)).unfold(1, 20, 20)
        return (frames @ self.hear)[:, :, None] + self.last[said][:, None], -(-lengths // 20)


def test_a_transducer_of_any_toolkit_is_attacked():
    model = TransducerModule(Transducer(), "abc", 8000)
    clip = (0.3 * np.random.default_rng(0).standard_normal(200)).astype(np.float32)
    waves, lengths = pad([clip, clip[:140]])
    (text, short) = model.transcribe(waves, lengths)
    assert text
    assert short == model.transcribe(*pad([clip[:140]]))[0]
    (found,) = pgd(model, [clip], [text], Pgd(10.0, steps=20), judge=mistakes)
    assert found.failure is None
    assert measured(clip, found.samples) >= 10.0 - 1e-6
    assert mistakes(text, found.text).words > 0


@pytest.fixture(scope="module")
def parakeet(tmp_path_factory):
    transformers = pytest.importorskip("transformers", reason="the adapters need transformers")
    if not hasattr(transformers, "ParakeetForRNNT"):
        pytest.skip("this version of transformers has no transducer")
    torch.manual_seed(0)
    config = transformers.ParakeetRNNTConfig(
        vocab_size=12,
        decoder_hidden_size=16,
        num_decoder_layers=1,
        blank_token_id=0,
        pad_token_id=1,
        encoder_config={
            "hidden_size": 16,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "intermediate_size": 16,
            "num_mel_bins": 80,
            "subsampling_conv_channels": 8,
            "conv_kernel_size": 9,
        },
    )
    model = transformers.ParakeetForRNNT(config).eval()
    model.generation_config.decoder_start_token_id = 0  # as saved models have it: the blank
    return model, transformers.ParakeetFeatureExtractor()


class Letters:
    """A tokenizer of a few letters."""

    def __call__(self, text):
        from types import SimpleNamespace

        return SimpleNamespace(input_ids=[2 + "abcdefghij".index(one) for one in text if one in "abcdefghij"])

    def batch_decode(self, tokens, skip_special_tokens=True):
        return ["".join("abcdefghij"[int(k) - 2] for k in row if int(k) > 1) for row in tokens]


def test_parakeets_transducer_is_opened_with_random_weights(parakeet):
    model, extractor = parakeet
    victim = open_loaded(model.requires_grad_(False), extractor, Letters(), "random")
    (clip, other) = clips()
    theirs = extractor([clip], sampling_rate=16000, return_tensors="pt")
    ours = normalized_log_mel(torch.from_numpy(clip), extractor)
    count = int(theirs.attention_mask.sum())
    assert torch.allclose(ours, theirs.input_features[:, :count], atol=1e-3)
    waves, lengths = pad([clip, other])
    losses, slope = gradient(victim, waves.requires_grad_(True), lengths, ["abc", "ba"], waves)
    assert torch.isfinite(losses).all()
    assert torch.all(slope.abs().sum(dim=1) > 0)
    assert len(victim.transcribe(waves.detach(), lengths)) == 2
    alone = victim.loss(*pad([clip]), ["abc"])
    assert float(alone[0]) == pytest.approx(float(losses[0]), rel=1e-4)
