"""What all tests share."""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, settings

# Tables and arrays here are small: threads would only get in each other's way. Nothing above imports numpy or polars.
for _name in ("POLARS_MAX_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

# A busy machine is no defect of what is tested.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Let processes begin with one half of the tests each, in their order: what a file's tests share is made once.

    Dealt out singly, as pytest-xdist does unless told, every process would make it. Who is done first takes over.
    """
    if getattr(config.option, "numprocesses", None) and config.option.dist == "no":
        config.option.dist = "worksteal"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """Return how many processes `-n auto` means: one more than there are processors, for tests that wait."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    return (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1) + 1


def pytest_collection_finish() -> None:
    """Keep what was collected out of the collector's sight: thousands of tests stay to the end."""
    gc.freeze()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real recordings beside the repository; tests that need it skip where it is missing."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("no real recordings here: the optional folder ../shared/data is missing")
    return folder


@pytest.fixture
def tmp_path(tmp_path: Path) -> Path:
    """A folder beside which nothing lies: recordings are looked for there, and all other tests' would be listed."""
    alone = tmp_path / "own"
    alone.mkdir()
    return alone


@pytest.fixture
def asked(capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Run a command with --json and return its answer: records of its tables, findings and facts of its notes.

    The document must be one that the published schema allows.
    """
    from voxaudit.cli.main import main
    from voxaudit.render.json import schema

    def ask(*words: object, code: int = 0) -> Any:
        assert main([*map(str, words), "--json"]) == code
        document = json.loads(capsys.readouterr().out)
        jsonschema.Draft202012Validator(schema()).validate(document)
        return SimpleNamespace(
            tables={
                one["id"]: [dict(zip(one["names"], row, strict=True)) for row in one["rows"]]
                for one in document["tables"]
            },
            findings={one["id"]: one for one in document["findings"]},
            notes={one["code"]: one["facts"] for one in document["notes"]},
            document=document,
        )

    return ask


@pytest.fixture(autouse=True)
def _no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are as wide as without a terminal, whatever the test runner says of its own."""
    monkeypatch.delenv("COLUMNS", raising=False)
