"""Saved transformers models, small and random: what the engine hears is what the library hears, in any company."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch: pip install 'voxaudit[transformers]'")
transformers = pytest.importorskip("transformers", reason="needs pip install 'voxaudit[transformers]'")

from voxaudit.audio import Audio  # noqa: E402
from voxaudit.recognize import RecognizerError, make_recognizer, require  # noqa: E402
from voxaudit.recognize.check import check_recognizer  # noqa: E402
from voxaudit.recognize.transformers import Transformers, architecture  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # the library's own

KINDS = ["group", "layer", "whisper"]
PARAKEET = hasattr(transformers, "ParakeetForTDT") and hasattr(transformers, "CanaryForConditionalGeneration")
newer = pytest.mark.skipif(not PARAKEET, reason="needs a newer transformers: Parakeet TDT, Canary")


def clips(count=5, seconds=0.5):
    generator = np.random.default_rng(1)
    sizes = [round(16_000 * seconds) + 1500 * k for k in range(count)]
    return [Audio((0.1 * generator.standard_normal(size)).astype(np.float32), 16_000) for size in sizes]


def save_ctc(folder, norm):
    """Save a Wav2Vec2 of either kind: normalized over time without a mask, or by layer with one."""
    config = transformers.Wav2Vec2Config(
        vocab_size=12,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=48,
        conv_dim=(16, 16, 16),
        conv_kernel=(10, 8, 4),
        conv_stride=(5, 4, 4),
        num_feat_extract_layers=3,
        num_conv_pos_embeddings=8,
        num_conv_pos_embedding_groups=4,
        feat_extract_norm=norm,
        do_stable_layer_norm=norm == "layer",
        pad_token_id=0,
    )
    model = transformers.Wav2Vec2ForCTC(config)
    torch.nn.init.normal_(model.lm_head.weight, std=1.0)
    model.save_pretrained(folder)
    tokens = ["<pad>", "<s>", "</s>", "<unk>", "|", *"ABCDEFG"]
    (folder / "vocab.json").write_text(json.dumps({token: number for number, token in enumerate(tokens)}))
    tokenizer = transformers.Wav2Vec2CTCTokenizer(str(folder / "vocab.json"))
    extractor = transformers.Wav2Vec2FeatureExtractor(return_attention_mask=norm == "layer")
    transformers.Wav2Vec2Processor(feature_extractor=extractor, tokenizer=tokenizer).save_pretrained(folder)


def save_whisper(folder):
    vocabulary = {token: number for number, token in enumerate([*(chr(n) for n in range(33, 127)), "Ġ"])}
    tokenizer = transformers.WhisperTokenizer(vocab=vocabulary, merges=[])
    special = ["<|endoftext|>", "<|startoftranscript|>", "<|en|>", "<|transcribe|>", "<|translate|>"]
    tokenizer.add_special_tokens({"additional_special_tokens": [*special, "<|notimestamps|>"]})
    start, end = (tokenizer.convert_tokens_to_ids(special[k]) for k in (1, 0))
    sizes = {
        f"{part}_{what}": n for part in ("encoder", "decoder") for what, n in (("layers", 1), ("ffn_dim", 48))
    }
    config = transformers.WhisperConfig(
        vocab_size=len(tokenizer),
        num_mel_bins=16,
        d_model=32,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        max_source_positions=50,
        max_target_positions=32,
        decoder_start_token_id=start,
        pad_token_id=end,
        bos_token_id=end,
        eos_token_id=end,
        suppress_tokens=None,
        begin_suppress_tokens=None,
        init_std=0.6,  # large enough that what is heard decides what is said
        **sizes,
    )
    model = transformers.WhisperForConditionalGeneration(config)
    model.generation_config.max_length = 12
    model.save_pretrained(folder)
    extractor = transformers.WhisperFeatureExtractor(feature_size=16, chunk_length=1)
    transformers.WhisperProcessor(feature_extractor=extractor, tokenizer=tokenizer).save_pretrained(folder)


def make_tokenizer(*special):
    from tokenizers import Tokenizer, decoders, models

    vocabulary = {token: number for number, token in enumerate([*special, *"▁abcdefghijklmnopqrstuvwxyz"])}
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=[], unk_token=special[0]))
    made.decoder = decoders.Metaspace()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, unk_token=special[0], pad_token=special[1], eos_token=special[2]
    )
    tokenizer.add_special_tokens({"additional_special_tokens": list(special[3:])})
    return tokenizer


def make_encoder():
    return transformers.ParakeetEncoderConfig(
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        num_mel_bins=16,
        subsampling_conv_channels=8,
        conv_kernel_size=5,
        initializer_range=0.5,
    )


def save_transducer(folder, kind):
    """Save a Parakeet that predicts tokens and durations (TDT), or tokens (RNNT)."""
    tokenizer = make_tokenizer("<unk>", "<pad>", "<eos>", "<blank>")
    config = getattr(transformers, f"Parakeet{kind}Config")(
        vocab_size=len(tokenizer),
        decoder_hidden_size=16,
        num_decoder_layers=1,
        encoder_config=make_encoder(),
        pad_token_id=1,
        blank_token_id=3,
        max_symbols_per_step=2,
    )
    model = getattr(transformers, f"ParakeetFor{kind}")(config)
    for name, weight in model.named_parameters():
        if not name.startswith("encoder") and weight.ndim > 1:
            torch.nn.init.normal_(weight, std=1.0)
    model.generation_config.decoder_start_token_id = 3
    model.save_pretrained(folder)
    extractor = transformers.ParakeetFeatureExtractor(feature_size=16)
    transformers.ParakeetProcessor(extractor, tokenizer, decoder_type=kind.lower()).save_pretrained(folder)


TEMPLATE = (
    "{% for part in messages[0]['content'] %}{% if part['type'] == 'text' %}<start><{{ part['source_language'] }}>"
    "{% endif %}{% endfor %}"
)


def save_canary(folder, rate):
    """Save a Canary, which is asked in words and hears `rate` samples per second."""
    tokenizer = make_tokenizer("<unk>", "<pad>", "<eos>", "<start>", "<en>", "<de>")
    decoder = transformers.CanaryDecoderConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=8,
        initializer_range=0.9,
        pad_token_id=1,
        bos_token_id=3,
        eos_token_id=2,
    )
    config = transformers.CanaryConfig(
        encoder_config=make_encoder(),
        decoder_config=decoder,
        vocab_size=len(tokenizer),
        pad_token_id=1,
        bos_token_id=3,
        eos_token_id=2,
        decoder_start_token_id=3,
        initializer_range=0.9,
    )
    model = transformers.CanaryForConditionalGeneration(config)
    model.generation_config.max_length = 12
    model.save_pretrained(folder)
    extractor = transformers.ParakeetFeatureExtractor(feature_size=16, sampling_rate=rate)
    transformers.CanaryProcessor(extractor, tokenizer, chat_template=TEMPLATE).save_pretrained(folder)


@newer
@pytest.mark.parametrize("kind", ["TDT", "RNNT"])
def test_transducers_answer_as_the_library_does(tmp_path, kind):
    torch.manual_seed(4)
    save_transducer(tmp_path, kind)
    processor = transformers.AutoProcessor.from_pretrained(tmp_path)
    model = getattr(transformers, f"AutoModelFor{kind}").from_pretrained(tmp_path).eval()
    expected = []
    for audio in clips():
        inputs = processor(audio.samples, sampling_rate=16_000, return_tensors="pt")
        found = model.generate(**inputs, num_beams=1, do_sample=False)
        expected.append(processor.batch_decode(found.sequences, skip_special_tokens=True)[0].strip())
    assert texts(str(tmp_path), clips()) == expected
    assert len(set(expected)) > 1
    assert texts(str(tmp_path), clips(), batch=3) == expected


@newer
def test_models_that_are_asked_in_words_get_their_own_request(tmp_path):
    torch.manual_seed(2)
    save_canary(tmp_path, 24_000)
    assert Transformers(str(tmp_path)).rate == 24_000
    heard = [Audio(audio.samples, 24_000) for audio in clips()]
    processor = transformers.AutoProcessor.from_pretrained(tmp_path)
    model = transformers.CanaryForConditionalGeneration.from_pretrained(tmp_path).eval()
    for language in ("en", "de"):
        expected = []
        for audio in heard:
            inputs = processor.apply_transcription_request(audio=audio.samples, source_language=language)
            found = model.generate(**inputs, num_beams=1, do_sample=False)
            expected.append(processor.batch_decode(found, skip_special_tokens=True)[0].strip())
        assert texts(str(tmp_path), heard, language=language) == expected
        assert texts(str(tmp_path), heard, language=language, batch=3) == expected
        assert any(expected)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    torch.manual_seed(0)
    for name in KINDS:
        (folder / name).mkdir()
        save_whisper(folder / name) if name == "whisper" else save_ctc(folder / name, name)
    return {name: str(folder / name) for name in KINDS}


def texts(model, audio, **settings):
    return [answer.text for answer in Transformers(model, longest=1.0, **settings).load()(audio)]


@pytest.mark.parametrize("kind", ["group", "layer"])
def test_ctc_answers_are_the_librarys_own(saved, kind):
    processor = transformers.AutoProcessor.from_pretrained(saved[kind])
    model = transformers.AutoModelForCTC.from_pretrained(saved[kind]).eval()
    expected = []
    for audio in clips():
        inputs = processor(audio.samples, sampling_rate=16_000, return_tensors="pt")
        with torch.no_grad():
            best = model(**inputs).logits.argmax(-1)
        expected.append(processor.batch_decode(best)[0].strip())
    assert texts(saved[kind], clips()) == expected
    assert len(set(expected)) == 5


def test_whispers_answers_are_the_librarys_own(saved):
    processor = transformers.AutoProcessor.from_pretrained(saved["whisper"])
    model = transformers.WhisperForConditionalGeneration.from_pretrained(saved["whisper"]).eval()
    expected = []
    for audio in clips():
        inputs = processor(
            audio.samples, sampling_rate=16_000, return_tensors="pt", return_attention_mask=True
        )
        tokens = model.generate(**inputs, num_beams=1, do_sample=False)
        expected.append(processor.batch_decode(tokens, skip_special_tokens=True)[0].strip())
    assert texts(saved["whisper"], clips()) == expected
    assert len(set(expected)) > 1


@pytest.mark.parametrize("kind", KINDS)
def test_company_changes_no_answer(saved, kind):
    alone = texts(saved[kind], clips())
    assert texts(saved[kind], clips(), batch=4) == alone
    assert texts(saved[kind], clips()[::-1], batch=8) == alone[::-1]


@pytest.mark.parametrize("kind", ["layer", "whisper"])
def test_the_engine_passes_the_check(saved, kind):
    result = check_recognizer(Transformers(saved[kind], longest=1.0, batch=3), clips(), long_seconds=5)
    assert [(check.name, check.problems) for check in result.checks if not check.passed] == []


@pytest.mark.parametrize("kind", KINDS)
def test_long_audio_is_heard_in_pieces(saved, kind):
    generator = np.random.default_rng(2)
    speech = [0.1 * generator.standard_normal(12_000).astype(np.float32) for _ in range(3)]
    quiet = np.zeros(3_200, np.float32)
    joined = np.concatenate([speech[0], quiet, speech[1], quiet, speech[2]])
    (answer,) = texts(saved[kind], [Audio(joined, 16_000)])
    from voxaudit.recognize.split import split_at_pauses

    pieces = split_at_pauses(joined, 16_000, 1.0)
    assert len(pieces) > 2
    assert answer == " ".join(filter(None, texts(saved[kind], [Audio(piece, 16_000) for piece in pieces])))


def test_the_fingerprint_knows_what_can_change_a_text(saved, tmp_path):
    plain = Transformers(saved["layer"])
    assert plain.fingerprint() == Transformers(saved["layer"], threads=2).fingerprint()
    for change in ({"batch": 2}, {"dtype": "bfloat16"}, {"language": "en"}, {"longest": 20.0}, {"beams": 2}):
        assert Transformers(saved["layer"], **change).fingerprint() != plain.fingerprint()
    copy = shutil.copytree(saved["layer"], tmp_path / "copy")
    assert Transformers(str(copy)).fingerprint() == plain.fingerprint()
    (copy / "model.safetensors").write_bytes(b"other weights")
    assert Transformers(str(copy)).fingerprint() != plain.fingerprint()


def test_a_name_in_the_hubs_cache(saved, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    spec = "transformers:someone/small-ctc"
    with pytest.raises(
        RecognizerError, match=r"is not on this machine. Fetch it with: voxaudit models fetch hf:someone/"
    ):
        require(make_recognizer(spec))
    commit = "0123456789abcdef0123456789abcdef01234567"
    home = tmp_path / "models--someone--small-ctc"
    shutil.copytree(saved["layer"], home / "snapshots" / commit)
    (home / "refs").mkdir()
    (home / "refs" / "main").write_text(commit)
    recognizer = make_recognizer(spec)
    assert recognizer.fingerprint()["model"] == f"someone/small-ctc@{commit}"
    assert [a.text for a in recognizer.load()(clips(2))] == texts(saved["layer"], clips(2))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_other_number_formats_give_an_answer(saved, dtype):
    # Some virtual processors promise instructions that they do not have: torch itself then dies of a linear layer.
    layer = f"import torch; torch.nn.Linear(64, 64).to(torch.{dtype})(torch.ones(3, 64, dtype=torch.{dtype}))"
    if subprocess.run([sys.executable, "-c", layer], check=False, capture_output=True).returncode < 0:
        pytest.skip(f"torch cannot compute with {dtype} on this processor")
    assert all(isinstance(text, str) for text in texts(saved["layer"], clips(2), dtype=dtype))


def test_models_that_cannot_be_used_are_one_line(saved, tmp_path):
    with pytest.raises(RecognizerError, match=r"no config.json"):
        Transformers(str(tmp_path)).load()
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(RecognizerError, match="names no architecture"):
        architecture(tmp_path)
    (tmp_path / "config.json").write_text('{"architectures": ["ModelOfTomorrow"], "model_type": "morrow"}')
    with pytest.raises(RecognizerError, match=r"is a ModelOfTomorrow, which transformers .* does not have"):
        Transformers(str(tmp_path)).load()
    (tmp_path / "config.json").write_text('{"architectures": ["BertForMaskedLM"], "model_type": "bert"}')
    with pytest.raises(RecognizerError, match="cannot be loaded"):
        Transformers(str(tmp_path)).load()
    with pytest.raises(RecognizerError, match=r"'transformers': .*language"):
        texts(saved["whisper"], clips(1), language="Klingon")
