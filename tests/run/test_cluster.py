"""Reaching a Ray cluster: what a wrong address costs."""

from __future__ import annotations

import os
import threading

import pytest

from voxaudit.run import cluster


@pytest.fixture
def screen():
    """A pipe in place of standard error: what is read, what is written."""
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def test_a_connection_that_never_comes_is_said_and_given_up(monkeypatch, screen):
    monkeypatch.setattr(cluster, "SILENT_SECONDS", 0.01)
    monkeypatch.setattr(cluster, "PATIENT_SECONDS", 0.03)
    never = threading.Event()
    with pytest.raises(ConnectionError, match=r"no answer in 0\.03 s"):
        cluster._patiently(never.wait, "head:6379", screen[1])
    never.set()
    assert b"still connecting to the Ray cluster at head:6379" in os.read(screen[0], 1000)


def test_a_connection_that_fails_says_why_and_one_that_holds_says_nothing(screen):
    def refused():
        raise ConnectionError("not today")

    with pytest.raises(ConnectionError, match="not today"):
        cluster._patiently(refused, "head:6379", screen[1])
    cluster._patiently(lambda: None, "head:6379", screen[1])
    os.set_blocking(screen[0], False)
    with pytest.raises(BlockingIOError):
        os.read(screen[0], 1)
