"""Engines whose packages are optional: settings, fingerprints and errors, without a model being heard."""

from __future__ import annotations

import pickle
from importlib import util

import pytest

from voxaudit.errors import VoxauditError
from voxaudit.recognize import ENGINES, RecognizerError, describe_engines, make_recognizer, require
from voxaudit.recognize.moonshine import Moonshine
from voxaudit.recognize.nemo import Nemo, _text
from voxaudit.recognize.sherpa_onnx import SherpaOnnx

PACKAGES = {
    "vosk": ("vosk", "vosk", "vosk"),
    "faster_whisper": ("faster_whisper", "faster-whisper", "faster-whisper"),
    "whisper": ("whisper", "openai-whisper", "whisper"),
    "transformers:some/model": ("transformers", "transformers", "transformers"),
    "sherpa_onnx:folder": ("sherpa_onnx", "sherpa-onnx", "sherpa-onnx"),
    "speechbrain:folder": ("speechbrain", "speechbrain", "speechbrain"),
    "nemo:a.nemo": ("nemo", "nemo_toolkit[asr]", "nemo"),
    "onnx_asr:folder": ("onnx_asr", "onnx-asr", "onnx-asr"),
    "funasr": ("funasr", "funasr", "funasr"),
    "mlx_whisper": ("mlx_whisper", "mlx-whisper", "mlx-whisper"),
}


@pytest.fixture
def no_models(tmp_path, monkeypatch):
    monkeypatch.setenv("VOXAUDIT_MODELS", str(tmp_path / "models"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    return tmp_path


@pytest.fixture
def everything_installed(monkeypatch):
    """Pretend that every package can be found: what comes after that check is what is tested."""
    find = util.find_spec
    names = {module for module, _, _ in PACKAGES.values()} | {"torch"}
    monkeypatch.setattr(
        util, "find_spec", lambda name, *rest: object() if name in names else find(name, *rest)
    )


@pytest.mark.parametrize("spec", PACKAGES)
def test_a_missing_package_names_its_extra(spec, monkeypatch, no_models):
    module, package, extra = PACKAGES[spec]
    find = util.find_spec
    monkeypatch.setattr(util, "find_spec", lambda name, *rest: None if name == module else find(name, *rest))
    recognizer = make_recognizer(spec)
    for check in (require, type(recognizer).load, type(recognizer).fingerprint):
        with pytest.raises(VoxauditError) as caught:
            check(recognizer)
        assert str(caught.value).startswith(f"{package} is not installed.")
        assert f"pip install 'voxaudit[{extra}]'" in str(caught.value)
    engine = next(e for e in describe_engines() if e.name == spec.partition(":")[0])
    assert (engine.installed, engine.extra) == (False, extra)


@pytest.mark.parametrize("spec", [*PACKAGES, "whisper_cpp"])
def test_recognizers_are_small_values_at_16_khz(spec):
    recognizer = make_recognizer(spec)
    assert pickle.loads(pickle.dumps(recognizer)) == recognizer
    assert (recognizer.rate, recognizer.batch_size) == (16_000, 1)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("vosk", "the model 'small-en-us' is not on this machine.*voxaudit models fetch vosk-small-en-us$"),
        ("faster_whisper:base", "voxaudit models fetch faster-whisper-base$"),
        ("whisper:tiny.en", "voxaudit models fetch whisper-tiny.en$"),
        (
            "vosk:huge",
            "no file or folder 'huge', and no model of that name. Names: small-en-us, hf:ORG/NAME$",
        ),
        (
            "whisper:large",
            "no file or folder 'large', and no model of that name. Names: tiny.en, hf:ORG/NAME$",
        ),
        ("sherpa_onnx:nowhere", "no file or folder 'nowhere'"),
        ("nemo:nowhere.nemo", "no file or folder 'nowhere.nemo'"),
        ("nemo:hf:nvidia/parakeet@v2", "voxaudit models fetch hf:nvidia/parakeet@v2$"),
        ("funasr", "voxaudit models fetch hf:FunAudioLLM/SenseVoiceSmall$"),
        ("speechbrain:not a name", "no file or folder 'not a name'"),
    ],
)
def test_a_model_that_is_not_there_is_one_line_with_the_remedy(
    no_models, everything_installed, spec, message
):
    with pytest.raises(RecognizerError, match=message):
        require(make_recognizer(spec))


@pytest.mark.parametrize(("model", "name"), [("base", "moonshine-base"), ("tiny-en", "moonshine-tiny")])
def test_moonshine_is_fetched_and_found_by_name(no_models, monkeypatch, model, name):
    pytest.importorskip("onnxruntime")
    monkeypatch.setattr("voxaudit.recognize.moonshine.package_folder", lambda module: None)
    with pytest.raises(RecognizerError, match=rf"voxaudit models fetch {name}$"):
        require(Moonshine(model))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("faster_whisper:base,beam_size=0", "beam_size must be at least 1"),
        ("faster_whisper:base,task=sing", "task must be one of transcribe, translate, not .sing."),
        ("whisper:threads=0", "threads must be at least 1"),
        ("transformers:x,batch=0", "batch must be at least 1"),
        ("transformers:x,longest=0.5", "longest must be at least 1"),
        ("transformers:x,dtype=int3", "dtype must be one of float32"),
        ("sherpa_onnx:x,kind=magic", "kind must be one of transducer"),
        ("sherpa_onnx:x,threads=0", "at least 1"),
        ("speechbrain:x,kind=Magic", "kind must be one of EncoderASR"),
        ("nemo:x,batch=0", "batch must be at least 1"),
        ("transformers", "needs the setting 'model'"),
    ],
)
def test_settings_that_cannot_be_are_refused(spec, message):
    with pytest.raises(RecognizerError, match=message):
        make_recognizer(spec)


def write(folder, **files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_bytes(content)


def test_sherpa_finds_the_parts_of_a_model_by_their_names(tmp_path, everything_installed):
    write(
        tmp_path,
        encoder_epoch__onnx=b"1",
        encoder_epoch__int8__onnx=b"2",
        decoder_epoch__onnx=b"3",
        joiner__onnx=b"4",
        tokens__txt=b"5",
    )
    plain, small = SherpaOnnx(str(tmp_path)), SherpaOnnx(str(tmp_path), int8=True)
    assert {name: path.read_bytes() for name, path in plain.files(tmp_path).items()} == {
        "encoder": b"1",
        "decoder": b"3",
        "joiner": b"4",
        "tokens": b"5",
    }
    assert small.files(tmp_path)["encoder"].read_bytes() == b"2"
    assert small.files(tmp_path)["decoder"].read_bytes() == b"3"
    assert plain.fingerprint() != small.fingerprint()
    assert SherpaOnnx(str(tmp_path), threads=4).fingerprint() == plain.fingerprint()
    with pytest.raises(RecognizerError, match=r"0 files \*preprocess\*.onnx there.*is `kind` right"):
        require(SherpaOnnx(str(tmp_path), kind="moonshine"))
    write(tmp_path, encoder_other__onnx=b"6")
    with pytest.raises(RecognizerError, match=r"2 files \*encoder\*.onnx there"):
        require(plain)


def test_sherpa_tells_the_two_decoders_of_moonshine_apart(tmp_path, everything_installed):
    parts = ("preprocess", "encode", "uncached_decode", "cached_decode")
    write(tmp_path, tokens__txt=b"", **{f"{part}__int8__onnx": part.encode() for part in parts})
    files = SherpaOnnx(str(tmp_path), kind="moonshine").files(tmp_path)
    assert {name: path.read_bytes().decode() for name, path in files.items()} == {
        "preprocessor": "preprocess",
        "encoder": "encode",
        "uncached_decoder": "uncached_decode",
        "cached_decoder": "cached_decode",
        "tokens": "",
    }


def test_another_model_is_another_fingerprint(tmp_path, everything_installed):
    (tmp_path / "am").mkdir()
    write(tmp_path / "am", final__mdl=b"1")
    before = make_recognizer(f"vosk:{tmp_path}").fingerprint()
    write(tmp_path / "am", final__mdl=b"22")
    assert make_recognizer(f"vosk:{tmp_path}").fingerprint() != before
    write(tmp_path, one__pt=b"1")
    by_folder, by_file = (make_recognizer(f"whisper:{path}") for path in (tmp_path, tmp_path / "one.pt"))
    assert by_folder.fingerprint() == by_file.fingerprint()
    write(tmp_path, two__pt=b"1")
    with pytest.raises(RecognizerError, match=r"2 files \*.pt there; name one"):
        require(by_folder)
    assert (
        Nemo(str(tmp_path / "one.pt")).fingerprint() != Nemo(str(tmp_path / "one.pt"), batch=4).fingerprint()
    )


def test_a_folder_without_a_model_never_reaches_the_library(tmp_path, everything_installed):
    with pytest.raises(RecognizerError, match="no Vosk model there"):
        make_recognizer(f"vosk:{tmp_path}").load()
    with pytest.raises(RecognizerError, match=r"no hyperparams.yaml there"):
        make_recognizer(f"speechbrain:{tmp_path}").load()


class Hypothesis:
    text = "as newer versions answer"


def test_nemo_answers_of_both_forms():
    assert _text(Hypothesis()) == "as newer versions answer"
    assert _text("as older versions answer") == "as older versions answer"
    with pytest.raises(VoxauditError, match="NeMo returned dict instead of text"):
        _text({})


def test_every_engine_of_this_list_is_registered():
    assert {spec.partition(":")[0] for spec in PACKAGES} <= set(ENGINES.names())
