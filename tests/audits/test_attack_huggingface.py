"""Saved Hugging Face models, small and random: what the adapters make of them equals what the library does."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[1] / "recognize"))

torch = pytest.importorskip("torch", reason="attacks need torch: pip install 'voxaudit[attack]'")
transformers = pytest.importorskip("transformers", reason="the adapters need transformers")

from tiny_models import save_ctc, save_whisper  # noqa: E402

from voxaudit.audits.attack.result import mistakes  # noqa: E402
from voxaudit.recognize.attack import gradient as by_gradient  # noqa: E402
from voxaudit.recognize.attack.gradient import (  # noqa: E402
    Pgd,
    measured,
)
from voxaudit.recognize.attack.models import (  # noqa: E402
    AttackError,
    gradient,
    hear,
    log_mel,
    open_huggingface,
    open_victim,
    pad,
)

pgd = partial(by_gradient.pgd, judge=mistakes)

pytestmark = pytest.mark.filterwarnings("ignore")  # the library's own


def clips(count=3, seconds=0.3, seed=1):
    generator = np.random.default_rng(seed)
    size = round(16000 * seconds)
    return [(0.1 * generator.standard_normal(size + 700 * k)).astype(np.float32) for k in range(count)]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for name in ("group", "layer", "whisper"):
        (folder / name).mkdir()
    torch.manual_seed(0)
    return {
        "group": save_ctc(folder / "group", "group"),
        "layer": save_ctc(folder / "layer", "layer"),
        "whisper": save_whisper(folder / "whisper", 0.02),
    }


KINDS = ["group", "layer", "whisper"]
TEXTS = ["BAD CAB", "FED", "A FACE"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_gradient_equals_finite_differences(saved, kind):
    model = open_huggingface(saved[kind])
    model.model.double()
    audio, lengths = pad(clips(2))
    audio = audio.double().requires_grad_(True)
    _, slope = gradient(model, audio, lengths, TEXTS[:2], audio)
    assert float(slope.abs().max()) > 0.0
    generator = torch.Generator().manual_seed(3)
    mask = torch.arange(audio.shape[1])[None] < lengths[:, None]
    for _ in range(3):
        way = torch.randn(audio.shape, generator=generator, dtype=torch.float64) * mask
        with torch.no_grad():
            up = model.loss(audio + 1e-5 * way, lengths, TEXTS[:2]).sum()
            down = model.loss(audio - 1e-5 * way, lengths, TEXTS[:2]).sum()
        assert float((up - down) / 2e-5) == pytest.approx(float((slope * way).sum()), rel=1e-3)


@pytest.mark.parametrize("kind", ["group", "layer"])
def test_ctc_loss_and_transcripts_are_the_librarys(saved, kind):
    ours = open_huggingface(saved[kind])
    processor = transformers.AutoProcessor.from_pretrained(saved[kind])
    model = transformers.AutoModelForCTC.from_pretrained(saved[kind]).eval()
    heard = clips(3)
    audio, lengths = pad(heard)
    with torch.no_grad():
        losses = ours.loss(audio, lengths, [text.lower() for text in TEXTS])
    texts = hear(ours, heard)
    for clip, text, loss, said in zip(heard, TEXTS, losses, texts, strict=True):
        values = processor(clip, sampling_rate=16000, return_tensors="pt").input_values
        labels = processor.tokenizer(text, return_tensors="pt").input_ids
        model.config.ctc_loss_reduction = "sum"
        with torch.no_grad():
            answer = model(values, labels=labels)
        assert float(loss) == pytest.approx(float(answer.loss), rel=1e-3)
        assert said == processor.decode(answer.logits.argmax(dim=-1)[0])


def test_whispers_features_and_loss_are_the_librarys(saved):
    ours = open_huggingface(saved["whisper"])
    processor = transformers.AutoProcessor.from_pretrained(saved["whisper"])
    model = transformers.WhisperForConditionalGeneration.from_pretrained(saved["whisper"]).eval()
    heard = clips(3)
    theirs = processor(heard, sampling_rate=16000, return_tensors="pt").input_features
    audio, lengths = pad(heard)
    assert torch.allclose(log_mel(audio, lengths, ours.extractor), theirs, atol=1e-4)
    with torch.no_grad():
        losses = ours.loss(audio, lengths, TEXTS)
    for number, text in enumerate(TEXTS):
        labels = torch.tensor([processor.tokenizer(text).input_ids])
        assert int(labels[0, 0]) == model.config.decoder_start_token_id
        with torch.no_grad():
            answer = model(input_features=theirs[number : number + 1], labels=labels[:, 1:])
        assert float(losses[number]) == pytest.approx(float(answer.loss), rel=1e-3)
    expected = processor.batch_decode(model.generate(input_features=theirs), skip_special_tokens=True)
    assert hear(ours, heard) == [text.strip() for text in expected]


@pytest.mark.parametrize("kind", KINDS)
def test_the_loss_moves_as_asked_within_the_bound(saved, kind):
    model = open_victim(f"hf:{saved[kind]}").with_gradient("pgd").model
    heard = clips(2)

    def loss(samples):
        with torch.no_grad():
            return model.loss(*pad(samples), TEXTS[:2]).numpy()

    settings = Pgd(20.0, steps=8, check=0)
    away = pgd(model, heard, TEXTS[:2], settings)
    near = pgd(model, heard, ["X", "X"], settings, targets=TEXTS[:2])
    assert all(one.failure is None for one in [*away, *near])
    assert (loss([one.samples for one in away]) > loss(heard)).all()
    assert (loss([one.samples for one in near]) < loss(heard)).all()
    for x, one in zip([*heard, *heard], [*away, *near], strict=True):
        assert measured(x, one.samples) >= 20.0


@pytest.mark.parametrize("family", ["Hubert", "WavLM", "Data2VecAudio"])
def test_other_ctc_families_are_opened_and_attacked(tmp_path, family):
    model = open_huggingface(save_ctc(tmp_path, "layer", family))
    heard = clips(2)
    away = pgd(model, heard, TEXTS[:2], Pgd(20.0, steps=5, check=0))
    with torch.no_grad():
        before, after = (model.loss(*pad(some), TEXTS[:2]) for some in (heard, [one.samples for one in away]))
    assert bool((after > before).all())
    assert all(measured(x, one.samples) >= 20.0 for x, one in zip(heard, away, strict=True))
    # Company and padding are not heard.
    with torch.no_grad():
        alone = torch.cat([model.loss(*pad([x]), [text]) for x, text in zip(heard, TEXTS, strict=False)])
    assert torch.allclose(alone, before, rtol=1e-3)


def test_an_encoder_decoder_that_takes_waveforms(tmp_path):
    tokenizers = pytest.importorskip("tokenizers", reason="comes with transformers")
    torch.manual_seed(0)
    sizes = {f"{part}_num_hidden_layers": 1 for part in ("encoder", "decoder")}
    heads = {f"{part}_num_attention_heads": 2 for part in ("encoder", "decoder")}
    special = {"bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1, "pad_token_id": 2}
    config = transformers.MoonshineConfig(
        vocab_size=12, hidden_size=32, intermediate_size=48, **sizes, **heads, **special
    )
    model = transformers.MoonshineForConditionalGeneration(config)
    model.generation_config.max_length = 8
    model.save_pretrained(tmp_path)
    vocabulary = {token: number for number, token in enumerate(["<unk>", "<s>", "</s>", *"ABCDEFG"])}
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=words, bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )
    extractor = transformers.Wav2Vec2FeatureExtractor(do_normalize=False, return_attention_mask=True)
    transformers.Wav2Vec2Processor(feature_extractor=extractor, tokenizer=tokenizer).save_pretrained(tmp_path)
    ours = open_huggingface(tmp_path)
    heard, texts = clips(2), ["A", "B"]
    away = pgd(ours, heard, texts, Pgd(20.0, steps=5, check=0))
    with torch.no_grad():
        before, after = (ours.loss(*pad(some), texts) for some in (heard, [one.samples for one in away]))
        alone = torch.cat([ours.loss(*pad([x]), [text]) for x, text in zip(heard, texts, strict=True)])
    assert bool((after > before).all())
    assert torch.allclose(alone, before, rtol=1e-5)
    assert len(hear(ours, heard)) == 2


def test_folders_that_cannot_serve_are_one_line(saved, tmp_path):
    with pytest.raises(AttackError, match=r"no config\.json in this folder"):
        open_huggingface(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "bert", "architectures": ["BertModel"]}')
    with pytest.raises(AttackError, match="cannot be loaded"):
        open_huggingface(tmp_path)
    model = open_huggingface(saved["whisper"])
    with pytest.raises(AttackError, match=r"1\.2 s is longer than this model's window of 1 s"):
        hear(model, clips(1, seconds=1.2))
