"""Saved transformers models, small and random: what the engine hears is what the library hears, in any company."""

from __future__ import annotations

import shutil
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch: pip install 'voxaudit[transformers]'")
transformers = pytest.importorskip("transformers", reason="needs pip install 'voxaudit[transformers]'")

from tiny_models import (  # noqa: E402
    save_canary,
    save_ctc,
    save_glm,
    save_granite,
    save_qwen,
    save_transducer,
    save_whisper,
)

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


@newer
@pytest.mark.parametrize("language", ["", "en"])
def test_qwen_is_asked_as_its_processor_does_it(tmp_path, language):
    torch.manual_seed(1)
    save_qwen(tmp_path)
    processor = transformers.AutoProcessor.from_pretrained(tmp_path)
    model = transformers.Qwen3ASRForConditionalGeneration.from_pretrained(tmp_path).eval()
    expected = []
    for audio in clips(3):
        inputs = processor.apply_transcription_request([audio.samples], language=language or None)
        found = model.generate(**inputs, do_sample=False)[:, inputs["input_ids"].shape[1] :]
        expected += processor.decode(found, return_format="transcription_only")
    assert texts(str(tmp_path), clips(3), language=language, batch=2) == [text.strip() for text in expected]
    assert len(set(expected)) == 3


@newer
def test_models_are_asked_in_ones_own_words(tmp_path):
    torch.manual_seed(1)
    save_glm(tmp_path)
    own, other = (texts(str(tmp_path), clips(3), prompt=prompt) for prompt in ("", "What?"))
    assert own != other
    with pytest.raises(RecognizerError, match="cannot be told the language"):
        texts(str(tmp_path), clips(1), language="en")


@newer
def test_a_model_without_a_request_of_its_own_needs_a_question(tmp_path):
    pytest.importorskip("torchaudio", reason="Granite's features need torchaudio", exc_type=Exception)
    torch.manual_seed(0)
    save_granite(tmp_path)
    assert any(texts(str(tmp_path), clips(3), prompt="can you transcribe the speech?"))
    with pytest.raises(RecognizerError, match="give the question of its model card as `prompt`"):
        texts(str(tmp_path), clips(1))


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
    from voxaudit.recognize.pcm import split_at_pauses

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
