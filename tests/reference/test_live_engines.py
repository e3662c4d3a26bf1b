"""Optional engines with their real weights on real speech: how well they hear, and that nothing is remembered.

Fetch the weights first (voxaudit models fetch NAME); what is not installed or fetched is skipped.
"""

from __future__ import annotations

import base64
import csv
import inspect
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from voxaudit.audio import Audio, read
from voxaudit.errors import VoxauditError
from voxaudit.recognize import Recognizer, make_recognizer, require
from voxaudit.recognize.check import check_recognizer
from voxaudit.recognize.files import package_folder, sha256
from voxaudit.recognize.moonshine import read_vocabulary
from voxaudit.recognize.weights.fetch import KNOWN, fetched
from voxaudit.score import Counts, count_words, normalizer

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

ENGINES = {
    "vosk": ("vosk", "vosk-small-en-us", 0.05),
    "faster_whisper:language=en": ("faster_whisper", "faster-whisper-base", 0.05),
    "whisper": ("whisper", "whisper-tiny.en", 0.05),
    "moonshine:base": ("onnxruntime", "moonshine-base", 0.05),
}


def need(*modules: str, model: str = "") -> None:
    for module in modules:
        if find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    if model and fetched(KNOWN[model]) is None:
        pytest.skip(f"no weights: voxaudit models fetch {model}")


@pytest.fixture(scope="module")
def speech(shared_data) -> list[tuple[str, Audio]]:
    """16 clips of RAVDESS, the same as in the guide's table."""
    folder = shared_data / "ravdess"
    with (folder / "manifest.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [(row["text"], read(folder / row["path"], rate=16_000)) for row in rows[:: len(rows) // 16][:16]]


def heard(recognizer: Recognizer, speech) -> list[str]:
    transcribe = recognizer.load()
    return [transcribe([audio])[0].text for _, audio in speech]


def error_rate(speech, answers) -> float:
    normalize = normalizer("whisper-en")
    counts = Counts.zero()
    for (text, _), answer in zip(speech, answers, strict=True):
        counts += count_words(normalize(text), normalize(answer))
    return counts.wer


@pytest.mark.parametrize("spec", ENGINES)
def test_real_speech_is_recognized(speech, spec):
    module, model, at_most = ENGINES[spec]
    need(module, model=model)
    assert error_rate(speech, heard(make_recognizer(spec), speech)) <= at_most


@pytest.mark.parametrize("spec", ENGINES)
def test_nothing_is_remembered(speech, spec):
    module, model, _ = ENGINES[spec]
    need(module, model=model)
    clips = [audio for _, audio in speech[:12:3]]
    result = check_recognizer(make_recognizer(spec), clips, long_seconds=35)
    assert [(check.name, check.problems) for check in result.checks if not check.passed] == []


@pytest.mark.parametrize("spec", ["vosk", "faster_whisper:language=en,words=true", "whisper:words=true"])
def test_word_times_lie_in_order_within_the_recording(speech, spec):
    module, model, _ = next(
        value for key, value in ENGINES.items() if key.split(":")[0] == spec.split(":")[0]
    )
    need(module, model=model)
    _, audio = speech[0]
    (answer,) = make_recognizer(spec).load()([audio])
    assert " ".join(word.text for word in answer.words) == answer.text
    starts = [word.start for word in answer.words]
    assert starts == sorted(starts)
    assert starts[0] >= 0
    assert answer.words[-1].end <= audio.duration + 0.05
    assert all(0 <= word.confidence <= 1 for word in answer.words)


def test_long_audio_is_heard_to_its_end(speech):
    need("vosk", model="vosk-small-en-us")
    joined = Audio(np.concatenate([audio.samples for _, audio in speech[:12]]), 16_000)
    assert joined.duration > 36
    (answer,) = make_recognizer("vosk").load()([joined])
    assert answer.text.count("door") >= 11
    assert answer.words[-1].end > joined.duration - 4


def test_the_fetched_whisper_is_openais():
    need("whisper", model="whisper-tiny.en")
    import whisper

    folder = fetched(KNOWN["whisper-tiny.en"])
    assert folder is not None
    assert sha256(folder / "tiny.en.pt") == whisper._MODELS["tiny.en"].split("/")[-2]


def test_every_model_of_sherpa_has_its_kind_and_parts():
    need("sherpa_onnx")
    import sherpa_onnx

    from voxaudit.recognize.sherpa_onnx import _ARGUMENTS, _TOLD, KINDS

    for name in dir(sherpa_onnx.OfflineRecognizer):
        kind = name.removeprefix("from_")
        if kind == name:
            continue
        parameters = inspect.signature(getattr(sherpa_onnx.OfflineRecognizer, name)).parameters
        needed = {key for key, value in parameters.items() if value.default is value.empty}
        parts = {"paraformer" if kind == "paraformer" else _ARGUMENTS.get(part, part) for part in KINDS[kind]}
        assert parts | (set() if "tokenizer" in parts else {"tokens"}) == needed
        assert (kind in _TOLD) == bool({"language", "src_lang"} & set(parameters))


def test_every_name_of_faster_whisper_is_resolved_as_the_library_does(tmp_path, monkeypatch):
    need("faster_whisper")
    import faster_whisper as library

    monkeypatch.setenv("HF_HOME", str(tmp_path))
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    for name in library.available_models():
        if name != "base":  # a package carries it
            fetch = f"voxaudit models fetch hf:{library.utils._MODELS[name]}"
            with pytest.raises(VoxauditError, match=rf"Fetch it with: {fetch}$"):
                require(make_recognizer(f"faster_whisper:{name}"))
    with pytest.raises(VoxauditError, match=r"no model of that name. Did you mean: large-v3-turbo"):
        require(make_recognizer("faster_whisper:large-v3-turb"))


def test_sherpa_hears_what_moonshine_hears(speech, tmp_path):
    """The same weights behind two programs: ours, and sherpa-onnx."""
    need("sherpa_onnx", "onnxruntime", "moonshine_voice")
    package = package_folder("moonshine_voice")
    assert package is not None
    assets = package / "assets" / "tiny-en"
    for file in assets.glob("*.ort"):
        (tmp_path / file.name).symlink_to(file)
    pieces = enumerate(read_vocabulary(assets / "tokenizer.bin"))
    lines = (f"{base64.b64encode(piece).decode()}\t{number}\n" for number, piece in pieces)
    (tmp_path / "tokens.txt").write_text("".join(lines))
    sherpa = make_recognizer(f"sherpa_onnx:{tmp_path},kind=moonshine_v2")
    ours, theirs = heard(make_recognizer("moonshine"), speech), heard(sherpa, speech)
    assert sum(a == b for a, b in zip(ours, theirs, strict=True)) >= 15
    result = check_recognizer(sherpa, [audio for _, audio in speech[:5]], long_seconds=35)
    assert [(check.name, check.problems) for check in result.checks if not check.passed] == []


def test_transformers_hears_what_openais_own_program_hears(speech, tmp_path):
    """The same weights behind two programs: openai-whisper and transformers, alone and in a batch of four."""
    need("whisper", "transformers", model="whisper-tiny.en")
    sys.path.insert(0, str(Path(__file__).parent))
    import huggingface_whisper

    folder = fetched(KNOWN["whisper-tiny.en"])
    assert folder is not None
    huggingface_whisper.save(folder / "tiny.en.pt", tmp_path)
    some = speech[::2]
    theirs = heard(make_recognizer("whisper"), some)
    ours = heard(make_recognizer(f"transformers:{tmp_path}"), some)
    assert error_rate(some, ours) <= 0.05
    assert sum(a == b for a, b in zip(ours, theirs, strict=True)) >= 7
    batched = make_recognizer(f"transformers:{tmp_path},batch=4").load()
    assert [answer.text for answer in batched([audio for _, audio in some[:4]])] == ours[:4]
