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


STAGES = {
    "starting": "",
    "hearing": "lock",
    "scoring": "transcripts.parquet",
    "reporting": "scores.parquet",
    "stuttering": "stutter/lock",
    "reporting at last": "stutter/stutter.json",
}
"""What a driver does, and the file with which it begins."""
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


def began(folder: Path, since: float) -> dict[str, float]:
    """Return when each stage of a driver began that was started at `since`."""
    times = {
        stage: (folder / name).stat().st_mtime if name and (folder / name).exists() else since
        for stage, name in STAGES.items()
    }
    return {stage: time for stage, time in times.items() if time > since or stage == "starting"}


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
    since = time.time()
    assert start("whole").wait(600) == 0
    stages = began(tmp_path / "whole", since)
    ends = dict(zip(stages, [*list(stages.values())[1:], time.time()], strict=True))
    expected, in_all = open_run(tmp_path / "whole"), committed(tmp_path / "whole")
    assert Counter(heard(tmp_path / "journal-whole")) == in_all
    journal, folder = tmp_path / "journal-killed", tmp_path / "killed"
    chance = random.Random(5)
    repeated, killed = [], Counter[str]()
    for _ in range(KILLS):
        before, lines = committed(folder), len(heard(journal))
        aim = chance.choice(list(stages))
        moment = chance.uniform(stages[aim], ends[aim]) - since
        now = time.time()
        driver = start("killed")
        try:
            driver.wait(moment)
        except subprocess.TimeoutExpired:
            driver.send_signal(signal.SIGKILL)
            driver.wait()
            time.sleep(0.5)  # workers notice and end
            stage = list(began(folder, now))[-1]
            killed[stage] += 1
        else:
            stage = "finished"
            assert driver.returncode == 0, (tmp_path / "said-killed").read_text()[-500:]
        after, new = committed(folder), Counter(heard(journal)[lines:])
        assert before <= after  # nothing is lost
        assert new <= in_all - before  # nothing that was committed is heard again, and nothing twice
        repeated.append((new - (after - before)).total())
        if stage == "finished":
            assert open_run(folder).transcripts.drop("seconds").equals(expected.transcripts.drop("seconds"))
        if stage == "finished" or (stage.startswith("reporting") and chance.random() < 0.5):  # begin anew
            for path in folder.rglob("*"):
                if path.is_file():
                    path.unlink()
            journal.unlink(missing_ok=True)
    assert start("killed").wait(600) == 0
    for table in ("transcripts", "scores"):
        same = (getattr(open_run(out), table) for out in (folder, tmp_path / "whole"))
        one, other = (frame.drop("seconds", strict=False) for frame in same)
        assert one.equals(other)
    assert committed(folder) == in_all
    assert not list(folder.rglob(".*.tmp"))
    where = ", ".join(f"{count} {stage}" for stage, count in killed.items())
    print(
        f"{KILLS} starts, {killed.total()} killed ({where});"
        f" heard again: {sum(repeated)}, at most {max(repeated)} per kill"
    )
    # One chunk per worker is under way, and one more trial of each may have been begun since.
    assert max(repeated) <= WORKERS * (CHUNK / PAUSE + 1)
