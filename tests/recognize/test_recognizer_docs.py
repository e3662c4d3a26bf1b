"""The guide says what the code does: its settings tables are complete, its example engine works."""

from __future__ import annotations

import importlib.util
import re
import sys
from dataclasses import MISSING, fields
from pathlib import Path

import numpy as np
import pytest

from voxaudit.audio import Audio
from voxaudit.corpus import FORMATS
from voxaudit.recognize import ENGINES, make_recognizer, parse_spec
from voxaudit.recognize.check import check_recognizer

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "recognizers.md"


@pytest.fixture(scope="module")
def guide():
    if not GUIDE.is_file():
        pytest.skip("the documentation is not part of this installation")
    return GUIDE.read_text(encoding="utf-8")


SERVICES = "voxaudit.recognize.services."
"""Where the engines are that have a guide of their own."""
LISTENING = [
    name for name in ENGINES.names() if "pace" in {field.name for field in fields(ENGINES.load(name))}
]
LOCAL = [
    name
    for name in ENGINES.names()
    if not ENGINES.load(name).__module__.startswith(SERVICES) and name not in LISTENING
]


@pytest.mark.parametrize("engine", LISTENING)
def test_settings_of_engines_that_listen_are_in_their_guide(engine):
    page = (GUIDE.parent / "streaming.md").read_text(encoding="utf-8")
    section = re.search(rf"^## {engine}\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)[1]
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", section, re.MULTILINE))
    kind = ENGINES.load(engine)
    own = [field for field in fields(kind) if field.name in kind.__annotations__ or field.name in rows]
    shown = {field.name: "required" if field.default is MISSING else f"`{field.default}`" for field in own}
    assert rows == {name: one.lower() if one in ("`True`", "`False`") else one for name, one in shown.items()}


@pytest.mark.parametrize("engine", LOCAL)
def test_every_setting_is_in_the_table_with_its_default(guide, engine):
    section = re.search(rf"^## {engine}\n(.*?)(?=^## )", guide, re.MULTILINE | re.DOTALL)[1]
    rows = re.findall(r"^\| `(\w+)` \|(.*?)\|", section, re.MULTILINE)
    expected = []
    for field in fields(ENGINES.load(engine)):
        default = "required" if field.default is MISSING else str(field.default)
        shown = default.lower() if isinstance(field.default, bool) else default
        expected.append((field.name, shown if shown in ("", "required") else f"`{shown}`"))
    assert [(name, default.strip()) for name, default in rows] == expected


def test_the_lines_under_choosing_one_are_understood(guide):
    lines = re.search(r"not enough\.\n\n((?:    .*\n)+)", guide)[1].splitlines()
    engines = [parse_spec(line.strip())[0] for line in lines]
    assert set(engines) - {"openai"} == set(LOCAL) - {"pocketsphinx"}
    for line in lines:
        make_recognizer(line.strip())


@pytest.fixture
def dial_tones(guide, tmp_path):
    code = re.search(r"```python\n(# dial_tones\.py\n.*?)```", guide, re.DOTALL)[1]
    assert len(code.splitlines()) < 60
    path = tmp_path / "dial_tones.py"
    path.write_text(code, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("dial_tones", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["dial_tones"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["dial_tones"]


def dial(module, digits, rate=8000):
    time = np.arange(rate // 10) / rate
    sound = []
    for digit in digits:
        row = next(number for number, keys in enumerate(module.KEYS) if digit in keys)
        tones = module.LOW[row], module.HIGH[module.KEYS[row].index(digit)]
        sound += [sum(0.3 * np.sin(2 * np.pi * tone * time) for tone in tones), np.zeros(rate // 10)]
    return Audio(np.concatenate(sound).astype(np.float32), rate)


def test_the_example_engine_hears_what_was_dialed_and_passes_the_check(dial_tones):
    recognizer = make_recognizer(dial_tones.DialTones, frame="0.05")
    assert recognizer.load()([dial(dial_tones, "4711#")])[0].text == "four seven one one hash"
    clips = [dial(dial_tones, digits) for digits in ("1", "23", "456", "7890", "*#", "55", "12", "9")]
    result = check_recognizer(recognizer, clips, long_seconds=60)
    assert result.passed
    assert result.distinct_answers == 8


def test_the_page_of_what_was_tried_names_what_there_is():
    page = GUIDE.with_name("support.md")
    if not page.is_file():
        pytest.skip("the documentation is not part of this installation")
    engines, corpora = page.read_text(encoding="utf-8").split("## Corpora")
    tried = set(re.findall(r"^\| `(\w+)`", engines, re.MULTILINE))
    assert tried <= set(ENGINES.names())
    assert {"moonshine", "transformers", "nemo", "onnx_asr", "funasr", "gladia"} <= tried
    assert re.findall(r"^\| `(\w+)`", corpora, re.MULTILINE) == [
        name for name in FORMATS.names() if f"| `{name}`" in corpora
    ]
    assert "no test" not in corpora
