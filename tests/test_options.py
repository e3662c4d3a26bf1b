"""What users can set: one declaration, the same answer in Python, in audit.toml, by flags and for editors."""

from __future__ import annotations

import argparse
import inspect
import json
import tomllib
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import voxaudit
from voxaudit.cli.arguments import add_run_arguments, options_as_asked
from voxaudit.cli.main import main
from voxaudit.config import GATES, SECTIONS, config_schema, load_config, read_config
from voxaudit.errors import VoxauditError
from voxaudit.options import ON_DEMAND, Limits, RunOptions, options_of

OPTIONS = options_of(RunOptions)
WHOLE = {"corpus": {"path": "manifest.csv"}, "recognizers": {"mine": {"engine": "python"}}}
OTHER = {
    "seed": 3,
    "workers": 2,
    "timeout": 7.5,
    "retries": 0,
    "cache": False,
    "retry_failed": True,
    "max_cost": 1.5,
    "max_minutes": 2.5,
    "executor": "ray",
    "ray_address": "auto",
    "replica_cpus": 0.5,
    "replica_gpus": 0.25,
    "publish": "memory://there",
    "progress": False,
    "limits": Limits(longest=60),
}
"""Another value than the default for every option."""


def valid(document) -> bool:
    return jsonschema.Draft202012Validator(config_schema()).is_valid(document)


def parse(*words: str, only: tuple[str, ...] = ()) -> argparse.Namespace:
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_run_arguments(parser, *only)
    return parser.parse_args(words)


def test_every_option_has_a_meaning_and_a_default_that_it_accepts():
    assert set(OPTIONS) == set(OTHER)
    for name, one in OPTIONS.items():
        assert one.meaning, name
        assert one.problem(one.default) is None, name
        assert one.problem(OTHER[name]) is None, name
        assert OTHER[name] != one.default, name


@pytest.mark.parametrize("name", OTHER)
def test_an_option_counts_wherever_it_is_given(name, tmp_path):
    value, one = OTHER[name], OPTIONS[name]
    rest = {"executor": "ray"} if name == "ray_address" else {}
    expected = RunOptions(**{name: value}, **rest)
    assert RunOptions.of(**{name: value}) == expected
    assert RunOptions.of(RunOptions(seed=9), **{name: value}).seed == (value if name == "seed" else 9)
    document = {**WHOLE, "run": {name: value}}
    assert valid(document) == ("toml" in one.places)
    if "toml" in one.places:
        assert read_config(document, tmp_path / "audit.toml").options == expected
    else:
        with pytest.raises(VoxauditError, match=rf"unknown key '{name}' in \[run\]"):
            read_config(document, tmp_path / "audit.toml")
    flag = name.replace("_", "-")
    switch = f"--no-{flag}" if one.default is True else f"--{flag}"
    words = [switch] if isinstance(value, bool) else [switch, str(value)]
    if "command" in one.places:
        assert options_as_asked(parse(*words)) == expected
        assert options_as_asked(parse(*words), RunOptions(progress=False)).progress is False
    else:
        with pytest.raises((SystemExit, argparse.ArgumentError)):
            parse(*words)


def test_without_flags_what_was_asked_before_stays():
    before = RunOptions(**OTHER)
    assert options_as_asked(parse(), before) == before
    assert options_as_asked(argparse.Namespace(), None) == RunOptions()


def test_a_command_can_offer_some_options_only():
    assert set(vars(parse(only=ON_DEMAND))) == set(ON_DEMAND)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"worker": 2}, "unknown option 'worker'. Did you mean: workers?"),
        ({"workers": 0}, "workers must be at least 1, not 0"),
        ({"workers": 1.5}, "workers must be a whole number, not 1.5"),
        ({"workers": True}, "workers must be a whole number, not True"),
        ({"workers": "2"}, "workers must be a whole number, not '2'"),
        ({"seed": None}, "seed must be a whole number, not None"),
        ({"seed": -1}, "seed must be at least 0, not -1"),
        ({"timeout": 0}, "timeout must be above 0, not 0"),
        ({"timeout": float("nan")}, "timeout must be above 0, not nan"),
        ({"retries": -1}, "retries must be at least 0, not -1"),
        ({"cache": 1}, "cache must be true, false or a path, not 1"),
        ({"executor": "rai"}, "executor must be local or ray, not 'rai'. Did you mean: ray?"),
        ({"replica_gpus": -0.5}, "replica_gpus must be at least 0, not -0.5"),
    ],
)
def test_a_value_that_cannot_be_is_one_line(given, message):
    with pytest.raises(VoxauditError) as caught:
        RunOptions.of(**given)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_numbers_of_numpy_are_numbers():
    options = RunOptions.of(workers=np.int64(2), timeout=np.float32(5), cache=Path("here"))
    assert options.processes == 2
    assert RunOptions.of(cache="here").cache == "here"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--workers", "0"], "must be at least 1, not 0"),
        (["--workers", "two"], "must be a whole number, not 'two'"),
        (["--timeout", "nan"], "must be above 0, not nan"),
        (["--executor", "rai"], "invalid choice: 'rai'"),
    ],
)
def test_a_flag_that_cannot_be_is_said(words, message):
    with pytest.raises(argparse.ArgumentError, match=message):
        parse(*words)


def test_an_address_alone_asks_for_ray_and_an_executor_wins():
    assert RunOptions.of(ray_address="auto").executor == "ray"
    assert RunOptions.of(ray_address="auto", executor="local").executor == "local"
    assert RunOptions.of(RunOptions.of(ray_address="auto"), executor="local").executor == "local"
    assert RunOptions.of(RunOptions(executor="ray"), workers=2).executor == "ray"


def test_what_only_a_whole_grid_can_keep_is_refused_by_name():
    RunOptions(**{name: OTHER[name] for name in ON_DEMAND}, progress=False).require_on_demand()
    for name in ("executor", "max_cost", "max_minutes", "retry_failed", "publish"):
        options = RunOptions(**{name: OTHER[name]}, seed=5)
        with pytest.raises(VoxauditError) as caught:
            options.require_on_demand()
        assert caught.value.see == (name,)
        assert options.on_demand() == RunOptions(seed=5)


@pytest.mark.parametrize("function", ["run_trials", "run_audit"])
def test_signatures_name_every_option(function):
    shown = inspect.signature(getattr(voxaudit, function)).parameters
    assert {name: shown[name].default for name in OPTIONS} == {
        name: one.default for name, one in OPTIONS.items()
    }
    assert not any(one.kind is inspect.Parameter.VAR_KEYWORD for one in shown.values())


def test_an_unknown_option_of_a_run_is_told_before_anything_is_read(tmp_path):
    with pytest.raises(VoxauditError, match=r"unknown option 'worker'\. Did you mean: workers"):
        voxaudit.run_trials(None, ["none"], out=tmp_path / "run", worker=2)
    assert not (tmp_path / "run").exists()


def test_paths_in_the_file_start_at_its_folder(tmp_path):
    config = read_config(
        {**WHOLE, "run": {"out": "mine", "cache": "kept", "publish": "s3://b/x"}}, tmp_path / "audit.toml"
    )
    assert (config.out, config.options.cache) == (tmp_path / "mine", tmp_path / "kept")
    assert config.options.publish == "s3://b/x"
    assert read_config(WHOLE, tmp_path / "audit.toml").out == tmp_path / "runs" / "audit"


def test_the_schema_is_one_and_has_every_key():
    schema = config_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema == json.loads(json.dumps(schema))
    for section, keys in SECTIONS.items():
        assert set(schema["properties"][section]["properties"]) == set(keys) - (
            {"speak", "role", "baseline", "change"} if section == "corpus" else set()
        )
    assert set(schema["properties"]["gates"]["properties"]) == {*GATES, "baseline", "strict"}


EVERYTHING = """
[corpus]
path = "manifest.csv"
format = "manifest"
columns = { text = "sentence" }
attributes = ["accent"]
where = ["accent!=american"]
skip_bad_rows = true
[[corpora]]
name = "Common Voice"
path = "accented.csv"
language = "es-MX"
role = "accented"
baseline = "MLS"
[[corpora]]
role = "synthetic"
speak = true
[recognizers.mine]
engine = "command"
command = "x"
[suites]
own = ["gain:1"]
[scenarios]
use = ["own", "telephone"]
[sources]
music = "data/musan"
[run]
out = "out"
workers = 2
timeout = 5
cache = "kept"
[limits]
longest = 60
memory = 4
[score]
normalizer = "basic"
[stutter]
utterances = 3
dose = [0, 5.5]
[gates]
clean_wer = 0.2
worst_wer = { limit = 0.6, bound = "upper" }
worst_group_ratio = 1.5
differential = 0
baseline = "runs/before"
[gates.mine]
category_nwerd = 0.3
"""


def test_everything_is_accepted_by_both(tmp_path):
    document = tomllib.loads(EVERYTHING)
    assert set(document) == set(config_schema()["properties"])
    assert valid(document)
    config = read_config(document, tmp_path / "audit.toml")
    assert config.scenarios == ("gain:1", "telephone")
    limits = Limits(longest=60, memory=4)
    assert config.options == RunOptions(workers=2, timeout=5, cache=tmp_path / "kept", limits=limits)
    assert [(one.role, one.path is None) for one in config.corpora] == [
        ("accented", False),
        ("synthetic", True),
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('path = "manifest.csv"\n', "", "[corpus] needs a path"),
        ('path = "manifest.csv"\n', "path = 3\n", "corpus.path must be a path, not 3"),
        ("attributes =", "atributes =", "unknown key 'atributes' in [corpus]. Did you mean: attributes?"),
        (
            'attributes = ["accent"]',
            'attributes = "accent"',
            "corpus.attributes must be a list of texts, not",
        ),
        ('attributes = ["accent"]', "attributes = [3]", "corpus.attributes must be a list of texts, not [3]"),
        ('{ text = "sentence" }', "{ text = 3 }", "corpus.columns must be a table of texts, not"),
        ("skip_bad_rows = true", "skip_bad_rows = 1", "corpus.skip_bad_rows must be true or false, not 1"),
        ('path = "accented.csv"', 'pth = "accented.csv"', "unknown key 'pth' in [corpora.1]. Did you"),
        ('role = "accented"', 'role = "accented"\nspeak = true', 'speak is for role = "synthetic"'),
        ("[corpus]\n", '[corpus]\nrole = "accented"\n', "corpus.role is for further corpora, [[corpora]]"),
        ("[recognizers.mine]", "[recognizrs.mine]", "unknown section [recognizrs]. Did you mean: recog"),
        ('own = ["gain:1"]', 'own = "gain:1"', "suites.own must be a list of scenario ids"),
        ("use = [", "uses = [", "unknown key 'uses' in [scenarios]. Did you mean: use?"),
        ('music = "data/musan"', "music = 3", "sources takes text only, not 3"),
        ("workers = 2", "worker = 2", "unknown key 'worker' in [run]. Did you mean: workers?"),
        ("workers = 2", "workers = 0", "run.workers must be at least 1, not 0"),
        ("workers = 2", 'workers = "2"', "run.workers must be a whole number, not '2'"),
        ("timeout = 5", "timeout = 0", "run.timeout must be above 0, not 0"),
        (
            "timeout = 5",
            'executor = "rai"',
            "run.executor must be local or ray, not 'rai'. Did you mean: ray?",
        ),
        ("[run]", "[runs]", "unknown section [runs]. Did you mean: run"),
        ('normalizer = "basic"', 'normalizr = "basic"', "unknown key 'normalizr' in [score]. Did you mean"),
        ("utterances = 3", "utterances = 0", "stutter.utterances must be from 1 to 1,000,000, not 0"),
        ("dose = [0, 5.5]", "dose = [0, 501]", "stutter.dose must be from 0 to 500, not 501"),
        ("clean_wer = 0.2", "clean_ver = 0.2", "unknown gate or recognizer 'clean_ver'"),
        ("clean_wer = 0.2", "clean_wer = 20", "gates.clean_wer is a fraction: write 0.2 for 20 %"),
        ("clean_wer = 0.2", "clean_wer = -1", "gates.clean_wer must be a number of at least 0, not -1"),
        ("worst_group_ratio = 1.5", "worst_group_ratio = 0.5", "it is never below 1"),
        ('bound = "upper"', 'bound = "uper"', "the bound of gates.worst_wer is one of point, lower, upper"),
        ('bound = "upper"', 'bond = "upper"', "gates.worst_wer takes a number or"),
        ("category_nwerd = 0.3", "category_nwerd = 5", "write 0.05 for 5 percentage points"),
        ("category_nwerd = 0.3", "differential = 0", "unknown gate 'differential' in [gates.mine]"),
        ('baseline = "runs/before"', "baseline = 3", "gates.baseline takes text only, not 3"),
    ],
)
def test_mistakes_are_refused_by_the_schema_and_by_the_reader(tmp_path, old, new, message):
    assert old in EVERYTHING
    path = tmp_path / "audit.toml"
    path.write_text(EVERYTHING.replace(old, new, 1))
    assert not valid(tomllib.loads(path.read_text()))
    with pytest.raises(VoxauditError) as caught:
        load_config(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_init_writes_what_the_schema_and_the_reader_accept(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("a.wav").write_bytes(b"")
    Path("manifest.csv").write_text("path,text,speaker\na.wav,hi,s\n")
    assert main(["init", "--schema"]) == 0
    assert json.loads(capsys.readouterr().out) == config_schema()
    assert main(["init", "manifest.csv", "--schema"]) == 0
    assert json.loads(Path("audit.schema.json").read_text()) == config_schema()
    text = Path("audit.toml").read_text()
    assert text.splitlines()[0] == "#:schema ./audit.schema.json"
    assert valid(tomllib.loads(text))
    assert load_config("audit.toml").options == RunOptions()
    for name in SECTIONS["run"]:
        assert f"\n{name} = " in text or f"\n# {name} = " in text
    # What is commented out is right too.
    lines = [
        line.removeprefix("# ") if " = " in line or line[:3] == "# [" else line for line in text.splitlines()
    ]
    everything = tomllib.loads("\n".join(line for line in lines if not line.startswith("One section")))
    assert {"stutter", "gates"} <= set(everything)
    assert set(everything["run"]) == set(SECTIONS["run"])
    assert valid(everything)
    assert read_config(everything, Path("audit.toml")).options.executor == "ray"


def test_init_writes_no_schema_unless_asked_and_needs_a_corpus(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("manifest.csv").write_text("path,text,speaker\na.wav,hi,s\n")
    assert main(["init", "manifest.csv"]) == 0
    assert not Path("audit.schema.json").exists()
    assert not Path("audit.toml").read_text().startswith("#:schema")
    assert main(["init"]) == 2
    assert "name the corpus to audit: voxaudit init manifest.csv" in capsys.readouterr().err
