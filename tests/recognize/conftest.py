"""Real clips for the tests of recognizers."""

from __future__ import annotations

import csv

import pytest

from voxaudit.audio import read


@pytest.fixture(scope="session")
def ravdess(shared_data):
    """Return [(text, audio)] of a few actors, women and men, both sentences."""
    folder = shared_data / "ravdess"
    with (folder / "manifest.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [(row["text"], read(folder / row["path"], rate=16_000)) for row in rows[1::13]]


@pytest.fixture(scope="session")
def digits(shared_data):
    """Return [(text, audio)] of short clips: spoken digits of several speakers."""
    folder = shared_data / "fsdd"
    with (folder / "manifest.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [(row["text"], read(folder / row["path"], rate=16_000)) for row in rows[3::61]]
