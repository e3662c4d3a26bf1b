from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from toy_runs import lose_words, write_run

from voxaudit.audits.audit import AUDITS
from voxaudit.report.build import build_report


@pytest.fixture
def make_run(tmp_path):
    """Return a function that writes a run folder of this test's own: `write_run` with a name in place of a path."""
    return lambda heard, *, name="run", **about: write_run(tmp_path / name, heard, **about)


@pytest.fixture
def only(monkeypatch):
    """Return a function that leaves reports the audits which a test is about: the others would only take time."""

    def ask(*names):
        left = [name for name in AUDITS.names() if name in names]
        assert len(left) == len(names)
        monkeypatch.setattr("voxaudit.report.build.AUDITS", SimpleNamespace(names=lambda: left))

    return ask


@pytest.fixture(scope="session")
def validate():
    """Return a function that checks the content of findings.json against the published schema."""
    jsonschema = pytest.importorskip("jsonschema")
    from voxaudit.render.json import schema

    jsonschema.Draft202012Validator.check_schema(schema())
    validator = jsonschema.Draft202012Validator(schema())

    def check(text: str) -> dict:
        document = json.loads(text)
        validator.validate(document)
        return document

    return check


@pytest.fixture(scope="session")
def drops():
    """The recognizer of most runs here: see `lose_words`."""
    return lose_words


@pytest.fixture(scope="session")
def toy(tmp_path_factory):
    """The run that `drops` makes, for tests that only read."""
    return write_run(tmp_path_factory.mktemp("toy") / "run", lose_words)


@pytest.fixture(scope="session")
def report(toy):
    """The report of `toy`, by accent."""
    return build_report(toy, attributes=["accent"])


@pytest.fixture(scope="session")
def plain_report(toy):
    """The report of `toy` that compares no groups."""
    return build_report(toy)
