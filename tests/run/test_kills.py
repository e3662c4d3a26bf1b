"""Drivers killed at random moments of hearing, scoring and reporting: nothing is lost, and little is heard again."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import soundfile

from voxaudit.process import python_command
from voxaudit.run import open_run

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name == "nt", reason="signals as Unix has them")]

KILLS = int(os.environ.get("VOXAUDIT_KILLS", "8"))
"""How many drivers are killed; 40 for an experiment."""
PAUSE, CHUNK, WORKERS = 0.01, 0.2, 2
HEAR = f"""
import hashlib, os, time
def hear(samples, rate):
    time.sleep({PAUSE})
    mark = hashlib.sha1(samples.tobytes()).hexdigest()
    with open(os.environ["JOURNAL"], "a") as file:
        file.write(mark + "\\n")
    return mark
"""
TOML = f"""
[corpus]
path = "manifest.csv"
attributes = ["accent"]
[recognizers.toy]
engine = "python"
callable = "hear.py:hear"
[scenarios]
use = ["gain:1", "gain:2", "gaussian_noise:2"]
[run]
out = "OUT"
workers = {WORKERS}
cache = false
"""


def committed(folder: Path) -> set[str]:
    if not (folder / "trials.sqlite").exists():
        return set()
    with closing(sqlite3.connect(folder / "trials.sqlite", timeout=30)) as base:
        try:
            return {text for (text,) in base.execute("SELECT text FROM trials")}
        except sqlite3.OperationalError:  # killed before the table was there
            return set()


@pytest.fixture
def start(tmp_path):
    generator = np.random.default_rng(4)
    rows = ["path,text,speaker,accent"]
    for number in range(50):
        soundfile.write(
            tmp_path / f"c{number}.wav", 0.1 * generator.standard_normal(1600), 16000, subtype="FLOAT"
        )
        rows.append(f"c{number}.wav,one two,s{number % 10},{'ab'[number % 2]}")
    (tmp_path / "manifest.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "hear.py").write_text(HEAR)
    program = python_command(program="from voxaudit.cli.main import main; sys.exit(main())")

    def begin(out: str) -> subprocess.Popen[bytes]:
        toml = tmp_path / f"{out}.toml"
        toml.write_text(TOML.replace("OUT", out))
        environment = {**os.environ, "JOURNAL": str(tmp_path / f"journal-{out}")}
        with (tmp_path / f"said-{out}").open("ab") as said:
            return subprocess.Popen([*program, "run", str(toml)], env=environment, stdout=-3, stderr=said)

    return begin


def test_killed_drivers_lose_nothing_and_repeat_little(start, tmp_path):
    began = time.monotonic()
    assert start("whole").wait(300) == 0
    whole = time.monotonic() - began
    expected = open_run(tmp_path / "whole")
    journal, folder = tmp_path / "journal-killed", tmp_path / "killed"
    chance = random.Random(5)
    repeated, finished = [], 0
    for _ in range(KILLS):
        before, lines = committed(folder), len(journal.read_text().split()) if journal.exists() else 0
        driver = start("killed")
        try:
            driver.wait(chance.uniform(0.2, 1.1) * whole)
        except subprocess.TimeoutExpired:
            driver.send_signal(signal.SIGKILL)
            driver.wait()
            time.sleep(0.5)  # workers notice and end
        else:
            assert driver.returncode == 0, (tmp_path / "said-killed").read_text()[-500:]
        after = committed(folder)
        heard = journal.read_text().split()[lines:] if journal.exists() else []
        assert before <= after  # nothing is lost
        assert not before & set(heard)  # nothing that was committed is heard again
        assert len(heard) == len(set(heard))
        repeated.append(len(set(heard) - after))
        if driver.returncode == 0:
            finished += 1
            assert open_run(folder).transcripts.drop("seconds").equals(expected.transcripts.drop("seconds"))
            for path in folder.rglob("*"):
                if path.is_file():
                    path.unlink()
            journal.unlink()
    assert start("killed").wait(300) == 0
    for table in ("transcripts", "scores"):
        same = (getattr(open_run(out), table) for out in (folder, tmp_path / "whole"))
        one, other = (frame.drop("seconds", strict=False) for frame in same)
        assert one.equals(other)
    assert not list(folder.glob(".*.tmp"))
    print(
        f"{KILLS} starts, {KILLS - finished} killed; heard again: {sum(repeated)}, at most {max(repeated)} per kill"
    )
    # One chunk per worker is under way, and one more trial of each may have been begun since.
    assert max(repeated) <= WORKERS * (CHUNK / PAUSE + 1)
