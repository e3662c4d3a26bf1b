"""Drivers killed at random moments of hearing, scoring, the stutter audit and reporting: nothing is lost, and little is
heard again. On Ray: test_ray.py.
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest
import soundfile

from voxaudit.audio import write
from voxaudit.process import python_command
from voxaudit.run import open_run
from voxaudit.speak.base import Voice, speak

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name == "nt", reason="signals as Unix has them")]

KILLS = int(os.environ.get("VOXAUDIT_KILLS", "8"))
"""How many drivers are killed; 40 for an experiment."""
PAUSE, CHUNK, WORKERS = 0.01, 0.2, 2
TEXT = "the weather in the mountain village"
HEAR = f"""
import hashlib, os, time
def hear(samples, rate):
    time.sleep({PAUSE})
    mark = hashlib.sha1(samples.tobytes()).hexdigest()
    with open(os.environ["JOURNAL"], "a") as file:
        file.write(mark + "\\n")
    return "{TEXT} " + mark
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


STUTTER = """
[stutter]
utterances = 6
budget = 3
"""


def committed(folder: Path) -> Counter[str]:
    """Return the marks of what was heard and kept, by the run and by the stutter audit."""
    kept: Counter[str] = Counter()
    for path in (folder / "trials.sqlite", folder / "stutter" / "trials.sqlite"):
        if path.exists():
            # Killed before the table was there, there is none.
            with (
                suppress(sqlite3.OperationalError),
                closing(sqlite3.connect(path, timeout=30)) as base,
            ):
                kept.update(text.split()[-1] for (text,) in base.execute("SELECT text FROM trials"))
    return kept


def heard(journal: Path) -> list[str]:
    return journal.read_text().split() if journal.exists() else []


@pytest.fixture(params=["run", "stutter"])
def start(tmp_path, request):
    generator = np.random.default_rng(4)
    stutter = request.param == "stutter"
    rows = ["path,text,speaker,accent"]
    for number in range(6 if stutter else 50):
        path = tmp_path / f"c{number}.wav"
        if stutter:
            pytest.importorskip("py_nanotts")
            write(path, speak(Voice(pitch=0.8 + 0.1 * number), TEXT))
        else:
            soundfile.write(path, 0.1 * generator.standard_normal(1600), 16000, subtype="FLOAT")
        rows.append(f"c{number}.wav,{TEXT},s{number % 10},{'ab'[number % 2]}")
    (tmp_path / "manifest.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "hear.py").write_text(HEAR)
    program = python_command(program="from voxaudit.cli.main import main; sys.exit(main())")

    def begin(out: str) -> subprocess.Popen[bytes]:
        toml = tmp_path / f"{out}.toml"
        toml.write_text(TOML.replace("OUT", out) + (STUTTER if stutter else ""))
        environment = {**os.environ, "JOURNAL": str(tmp_path / f"journal-{out}")}
        with (tmp_path / f"said-{out}").open("ab") as said:
            return subprocess.Popen([*program, "run", str(toml)], env=environment, stdout=-3, stderr=said)

    return begin


def test_killed_drivers_lose_nothing_and_repeat_little(start, tmp_path):
    began = time.monotonic()
    assert start("whole").wait(600) == 0
    whole = time.monotonic() - began
    expected, in_all = open_run(tmp_path / "whole"), committed(tmp_path / "whole")
    assert Counter(heard(tmp_path / "journal-whole")) == in_all
    journal, folder = tmp_path / "journal-killed", tmp_path / "killed"
    chance = random.Random(5)
    repeated, finished = [], 0
    for _ in range(KILLS):
        before, lines = committed(folder), len(heard(journal))
        driver = start("killed")
        try:
            driver.wait(chance.uniform(0.2, 1.1) * whole)
        except subprocess.TimeoutExpired:
            driver.send_signal(signal.SIGKILL)
            driver.wait()
            time.sleep(0.5)  # workers notice and end
        else:
            assert driver.returncode == 0, (tmp_path / "said-killed").read_text()[-500:]
        after, now = committed(folder), Counter(heard(journal)[lines:])
        assert before <= after  # nothing is lost
        assert now <= in_all - before  # nothing that was committed is heard again, and nothing twice
        repeated.append((now - (after - before)).total())
        if driver.returncode == 0:
            finished += 1
            assert open_run(folder).transcripts.drop("seconds").equals(expected.transcripts.drop("seconds"))
            for path in folder.rglob("*"):
                if path.is_file():
                    path.unlink()
            journal.unlink()
    assert start("killed").wait(600) == 0
    for table in ("transcripts", "scores"):
        same = (getattr(open_run(out), table) for out in (folder, tmp_path / "whole"))
        one, other = (frame.drop("seconds", strict=False) for frame in same)
        assert one.equals(other)
    assert committed(folder) == in_all
    assert not list(folder.rglob(".*.tmp"))
    print(
        f"{KILLS} starts, {KILLS - finished} killed; heard again: {sum(repeated)}, at most {max(repeated)} per kill"
    )
    # One chunk per worker is under way, and one more trial of each may have been begun since.
    assert max(repeated) <= WORKERS * (CHUNK / PAUSE + 1)
