"""The guide to services says what the code does: complete tables of settings, examples that are understood."""

from __future__ import annotations

import re
import tomllib
from dataclasses import MISSING, fields
from pathlib import Path

import pytest

from voxaudit.recognize import ENGINES, make_recognizer
from voxaudit.recognize.services.service import JobService, Service

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "services.md"
SERVICES = [
    *("openai", "google", "azure", "watson", "aws", "deepgram", "assemblyai"),
    *("elevenlabs", "speechmatics", "gladia", "revai"),
]


@pytest.fixture(scope="module")
def guide():
    if not GUIDE.is_file():
        pytest.skip("the documentation is not part of this installation")
    return GUIDE.read_text(encoding="utf-8")


def section_of(guide, title):
    return re.search(rf"^## {title}\n(.*?)(?=^## )", guide, re.MULTILINE | re.DOTALL)[1]


def rows(section):
    return [(name, default.strip()) for name, default in re.findall(r"^\| `(\w+)` \|(.*?)\|", section, re.M)]


def shown(field):
    default = "required" if field.default is MISSING else str(field.default)
    default = default.lower() if isinstance(field.default, bool) else default
    return field.name, f"`{default}`" if default else ""


def test_these_are_all_services():
    kinds = {name: ENGINES.load(name) for name in ENGINES.names()}
    home = "voxaudit.recognize.services."
    assert [name for name, kind in kinds.items() if kind.__module__.startswith(home)] == SERVICES
    assert all(issubclass(kinds[name], Service) for name in SERVICES)


@pytest.mark.parametrize("engine", SERVICES)
def test_an_engines_own_settings_are_in_its_table(guide, engine):
    kind = ENGINES.load(engine)
    own = [field for field in fields(kind) if field.name in kind.__annotations__]
    assert rows(section_of(guide, engine)) == [shown(field) for field in own]


def test_settings_of_all_are_in_theirs(guide):
    jobs = [field for field in fields(JobService) if field.name in JobService.__annotations__]
    expected = [shown(field) for field in (*fields(Service), *jobs)]
    assert rows(section_of(guide, "Settings of all services")) == expected


@pytest.mark.parametrize("engine", SERVICES)
def test_examples_are_understood(guide, engine):
    (example,) = re.findall(r"```toml\n(.*?)```", section_of(guide, engine), re.DOTALL)
    for name, settings in tomllib.loads(example)["recognizers"].items():
        recognizer = make_recognizer({"engine": name, **settings})
        assert recognizer.fingerprint()["engine"] == engine


def test_every_engine_is_in_the_first_table(guide):
    assert re.findall(r"^\| \[`(\w+)`\]\(#\1\)", guide, re.M) == SERVICES
