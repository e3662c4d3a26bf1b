"""From a line of text, a section of TOML or a function to a recognizer, with mistakes in one line."""

from __future__ import annotations

import pickle
from dataclasses import MISSING, dataclass, fields
from pathlib import Path

import pytest

from voxaudit.errors import VoxauditError
from voxaudit.options import Range
from voxaudit.recognize import (
    ENGINES,
    Recognizer,
    RecognizerError,
    Transcript,
    anchor,
    describe_engines,
    make_recognizer,
    parse_spec,
    require,
    settings_of,
)
from voxaudit.recognize.base import MissingModelError
from voxaudit.recognize.command import Command
from voxaudit.recognize.local import LocalModel
from voxaudit.recognize.moonshine import Moonshine
from voxaudit.recognize.nemo import Nemo
from voxaudit.recognize.python import PythonFunction
from voxaudit.recognize.services.openai import OpenAI
from voxaudit.recognize.settings import convert
from voxaudit.recognize.speechbrain import SpeechBrain
from voxaudit.recognize.transcripts import TranscriptFile
from voxaudit.recognize.vosk import Vosk
from voxaudit.recognize.whisper import Whisper


@pytest.mark.parametrize(
    ("text", "engine", "settings"),
    [
        ("moonshine", "moonshine", {}),
        ("moonshine:", "moonshine", {}),
        ("moonshine:threads=2", "moonshine", {"threads": "2"}),
        (" moonshine : threads = 2 , model = tiny-en", "moonshine", {"threads": "2", "model": "tiny-en"}),
        ("moonshine:base-en,threads=2", "moonshine", {"model": "base-en", "threads": "2"}),
        ("command:command=my-asr --a=b {audio}", "command", {"command": "my-asr --a=b {audio}"}),
        (
            "command:my-asr -x 1,2 {audio},rate=8000",
            "command",
            {"command": "my-asr -x 1,2 {audio}", "rate": "8000"},
        ),
        (
            'command:"asr --set a=1,b=2 {audio}",shell=yes',
            "command",
            {"command": "asr --set a=1,b=2 {audio}", "shell": "yes"},
        ),
        ("python:my.py:hear", "python", {"callable": "my.py:hear"}),
        ("python:pkg.mod:hear,batched=true", "python", {"callable": "pkg.mod:hear", "batched": "true"}),
        ("openai:url=http://localhost:8000/v1", "openai", {"url": "http://localhost:8000/v1"}),
        (
            "transcripts:C:\\data\\hyp.csv,text=hyp",
            "transcripts",
            {"path": "C:\\data\\hyp.csv", "text": "hyp"},
        ),
    ],
)
def test_parse_spec(text, engine, settings):
    assert parse_spec(text) == (engine, settings)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("wisper", "Unknown recognizer 'wisper'. Did you mean: whisper"),
        ("moonshin", "Unknown recognizer 'moonshin'. Did you mean: moonshine?"),
        ("", "names no recognizer"),
        (":threads=2", "names no recognizer"),
        ("moonshine:thread=2", "unknown setting 'thread'. Did you mean: threads? Settings: model, threads"),
        ("moonshine:threads=two", "threads must be a whole number, not 'two'"),
        ("moonshine:threads=2.0", "threads must be a whole number, not '2.0'"),
        ("moonshine:threads=0", "threads must be at least 1"),
        ("moonshine:threads=1,threads=2", "setting 'threads' is given twice"),
        ("moonshine:a,model=b", "setting 'model' is given twice"),
        ("moonshine:tokens_per_second=nan", "tokens_per_second must be a number, not 'nan'"),
        ("pocketsphinx:fast", "key=value expected, not 'fast'. Settings: hmm, lm, dictionary"),
        ('command:"asr {audio}', "a quote is not closed"),
        ('moonshine:model="x",nonsense', "key=value expected at 'nonsense'"),
        ("command", "needs the setting 'command': what to run, such as: my-asr --model small {audio}"),
        ("command:my-asr", "the command has no {audio}"),
        ("command:my-asr '{audio}", "cannot be split into words"),
        ("command:asr {audio},output=xml", "output must be one of text, json, not 'xml'"),
        ("command:asr {audio},shell=perhaps", "shell must be true or false"),
        ("python:hear", "must be package.module:function"),
        ("python:a:b,batch=0", "batch must be at least 1"),
        ("openai:url=ftp://x", "must start with http"),
        ("openai:response_format=srt", "one of json, verbose_json"),
        ({"threads": 2}, "needs an engine"),
        ({"engine": "moonshine", "threads": "many"}, "threads must be a whole number"),
        ({"engine": "moonshine", "threads": True}, "threads must be a whole number, not True"),
        ({"engine": "moonshine", "model": 3}, "model must be text, not 3"),
        ({"engine": "moonshine", "name": "x"}, "unknown setting 'name'"),
        (42, "not int"),
    ],
)
def test_mistakes_are_one_line(spec, message):
    with pytest.raises(VoxauditError) as caught:
        make_recognizer(spec)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "recognizer"),
    [
        ("moonshine:threads=2", Moonshine(threads=2)),
        ({"engine": "moonshine", "threads": 2}, Moonshine(threads=2)),
        (Moonshine(threads=2), Moonshine(threads=2)),
        ("command:my-asr {audio},shell=yes,rate=8000", Command("my-asr {audio}", rate=8000, shell=True)),
        ({"engine": "openai", "temperature": 1, "timeout": "2.5"}, OpenAI(temperature=1.0, timeout=2.5)),
        ("python:m:f,rate=none", PythonFunction("m:f", rate=None)),
        ("transcripts:hyp.trn", TranscriptFile("hyp.trn")),
    ],
)
def test_every_form_makes_the_same_recognizer(spec, recognizer):
    made = make_recognizer(spec)
    assert made == recognizer
    assert isinstance(made, Recognizer)
    assert pickle.loads(pickle.dumps(made)) == made
    assert (
        make_recognizer({"engine": spec.partition(":")[0], **settings_of(made)}) == made
        if isinstance(spec, str)
        else True
    )


def test_settings_on_top_of_a_recognizer():
    assert make_recognizer("moonshine:threads=2", threads=3) == Moonshine(threads=3)
    assert make_recognizer(Moonshine(threads=2), tokens_per_second="7") == Moonshine(
        threads=2, tokens_per_second=7.0
    )
    assert make_recognizer(Moonshine, threads="4") == Moonshine(threads=4)


@pytest.mark.parametrize(
    ("value", "hint", "result"),
    [
        ("7", int, 7),
        ("-7", int, -7),
        ("1e3", float, 1000.0),
        (3, float, 3.0),
        ("No", bool, False),
        ("none", int | None, None),
        (None, str | None, None),
        ("none", str, "none"),
        ("5", int | None, 5),
        ((1, 2), tuple, (1, 2)),
    ],
)
def test_convert(value, hint, result):
    converted = convert(value, hint, "x")
    assert converted == result
    assert type(converted) is type(result)


@pytest.mark.parametrize(
    ("value", "hint"), [("x", int), (1.5, int), ("inf", float), (2, bool), (b"a", str), (None, int)]
)
def test_convert_refuses(value, hint):
    with pytest.raises(RecognizerError, match="x must be"):
        convert(value, hint, "x")


def test_describe_engines_says_what_list_prints():
    engines = {engine.name: engine for engine in describe_engines()}
    assert list(engines) == ENGINES.names()
    moonshine = engines["moonshine"]
    assert moonshine.installed
    assert moonshine.extra == "moonshine"
    assert moonshine.settings["threads"].endswith("(default 1)")
    assert engines["command"].settings["command"].endswith("(required)")
    for engine in engines.values():
        assert engine.description.endswith(".")
        assert all(engine.settings.values())


@dataclass(frozen=True)
class Plain:
    """A recognizer of somebody else, who wrote no more than the protocol asks."""

    rate: int = 8000
    batch_size: int = 1

    def fingerprint(self):
        return {"engine": "plain"}

    def load(self):
        return lambda batch: [Transcript("") for _ in batch]


def test_a_recognizer_needs_no_more_than_the_protocol():
    recognizer = make_recognizer(Plain, rate="16000")
    assert recognizer == Plain(16000)
    require(recognizer)


MINE = """
from dataclasses import MISSING, dataclass, fields

@dataclass(frozen=True)
class Mine:
    rate: int = 16000
    batch_size: int = 1

    def fingerprint(self):
        return {}

    def load(self):
        return list
"""


def test_entry_points_add_engines(tmp_path, monkeypatch):
    (tmp_path / "my_engine.py").write_text(MINE)
    info = tmp_path / "my_engine-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-engine\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[voxaudit.recognizers]\nmine = my_engine:Mine\nlost = no_such_module:Lost\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert make_recognizer("mine:rate=8000").rate == 8000
    described = {engine.name: engine for engine in describe_engines()}
    assert described["mine"].installed
    assert not described["lost"].installed
    with pytest.raises(RecognizerError, match="recognizer 'lost' cannot be imported"):
        make_recognizer("lost")


def test_what_is_no_recognizer_is_refused():
    @dataclass(frozen=True)
    class Half:
        def fingerprint(self):
            return {}

    with pytest.raises(RecognizerError, match="is not a recognizer: it needs rate, batch_size"):
        make_recognizer(Half)


def test_anchor_takes_relative_files_from_the_folder_of_the_configuration(tmp_path):
    (tmp_path / "hyp.csv").write_text("id,text\na,b\n")
    (tmp_path / "my.py").write_text("")
    assert anchor(TranscriptFile("hyp.csv"), tmp_path).path == str(tmp_path / "hyp.csv")
    assert anchor(PythonFunction("my.py:hear"), tmp_path).callable == str(tmp_path / "my.py:hear")
    for as_it_is in (TranscriptFile("other.csv"), PythonFunction("json:loads"), Moonshine(), Plain()):
        assert anchor(as_it_is, tmp_path) == as_it_is


@pytest.mark.parametrize(
    ("recognizer", "name"),
    [
        (SpeechBrain, "hf:speechbrain/asr"),
        (Nemo, "hf:nvidia/x.nemo"),
        (Whisper, "tiny.en"),
        (Vosk, "small-en-us"),
    ],
)
def test_what_lies_in_a_folder_under_the_name_of_a_model_is_not_loaded(
    tmp_path, monkeypatch, recognizer, name
):
    """Models are programs: a corpus that was downloaded must not bring one along."""
    (tmp_path / name).mkdir(parents=True)
    (tmp_path / name / "hyperparams.yaml").write_text("x: !apply:os.system [touch owned]")
    monkeypatch.setattr("voxaudit.recognize.local.require_packages", lambda kind: None)
    for folder in ("VOXAUDIT_MODELS", "HF_HUB_CACHE"):
        monkeypatch.setenv(folder, str(tmp_path / "none"))
    monkeypatch.chdir(tmp_path)
    asked = anchor(recognizer(name), tmp_path)
    assert asked == recognizer(name)
    with pytest.raises(MissingModelError, match="is not on this machine"):
        LocalModel.source(asked)
    assert anchor(recognizer(f"./{name}"), tmp_path).model == str(tmp_path / name)
    if not recognizer.one_file:
        assert LocalModel.source(recognizer(f"./{name}"))[0] == Path(name)


LIMITED = [
    (name, field.name, wrong)
    for name in ENGINES.names()
    for field in fields(ENGINES.load(name))
    for known in [field.metadata.get("range", Range())]
    for wrong in (
        *([known.at_least - 1] if known.at_least is not None else []),
        *([known.above] if known.above is not None else []),
        *([known.at_most + 1] if known.at_most is not None else []),
        *(["nonsense"] if field.metadata.get("choices") else []),
    )
]


@pytest.mark.parametrize(("engine", "setting", "wrong"), LIMITED)
def test_no_engine_takes_a_value_that_its_setting_cannot_have(engine, setting, wrong):
    """Also where somebody makes the dataclass in Python, past the reader of settings."""
    kind = ENGINES.load(engine)
    needed = {
        field.name: "python_module:f {audio}"
        for field in fields(kind)
        if field.default is MISSING and field.name != setting
    }
    with pytest.raises(RecognizerError, match=rf"recognizer '{engine}': {setting} must be .*, not '?{wrong}"):
        kind(**needed, **{setting: wrong})


def test_limits_are_declared_where_there_are_any():
    assert {("whisper", "threads", 0), ("nemo", "batch", 0), ("speechbrain", "kind", "nonsense")} <= set(
        LIMITED
    )
