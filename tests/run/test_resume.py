"""Runs that are repeated, extended, interrupted, killed, or started twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
import soundfile
from toy_recognizers import Toy

from voxaudit.errors import VoxauditError
from voxaudit.run import open_run, run_trials
from voxaudit.run.lock import hold


def heard(journal: Path) -> int:
    return len(journal.read_text().splitlines()) if journal.exists() else 0


def content(folder: Path) -> pl.DataFrame:
    return open_run(folder).transcripts.drop("seconds")


@pytest.fixture
def journal(tmp_path):
    return tmp_path / "journal"


@pytest.fixture
def go(make_corpus, journal, tmp_path):
    corpus = make_corpus(10)

    def run(out="run", scenarios=("gaussian_noise:2",), *, cache=False, toy=None, **options):
        toy = toy or Toy(journal=str(journal))
        return run_trials(
            options.pop("corpus", corpus),
            {"toy": toy},
            list(scenarios),
            out=tmp_path / out,
            cache=cache,
            progress=False,
            **options,
        )

    return run


def test_a_repeated_run_hears_nothing_again(go, journal, tmp_path):
    go()
    before = content(tmp_path / "run")
    assert heard(journal) == 20
    go()
    assert heard(journal) == 20
    assert content(tmp_path / "run").equals(before)


def test_a_new_folder_takes_everything_from_the_cache(go, journal, tmp_path):
    go(cache=tmp_path / "cache")
    go("other", cache=tmp_path / "cache")
    assert heard(journal) == 20
    assert content(tmp_path / "other").equals(content(tmp_path / "run"))


def test_an_extended_run_hears_only_what_is_new(go, journal):
    go()
    run = go(scenarios=("gaussian_noise:2", "gain:1"))
    assert heard(journal) == 30
    assert sorted(set(run.transcripts["scenario"])) == ["clean", "gain:1", "gaussian_noise:2"]
    assert go(scenarios=()).transcripts.height == 10


def test_a_changed_recording_is_heard_again(go, journal, tmp_path):
    go()
    clip = tmp_path / "audio" / "clip3.wav"
    soundfile.write(clip, [0.1] * 500, 16000)
    run = go()
    assert heard(journal) == 22
    row = run.transcripts.filter((pl.col("utterance") == "u3") & (pl.col("scenario") == "clean"))
    assert row["text"].item() == "heard 500 samples"


def test_a_changed_recognizer_is_asked_again(go, journal):
    go()
    go(toy=Toy(journal=str(journal), version=2))
    assert heard(journal) == 40


def test_failures_are_tried_again_only_on_request(go, journal):
    go(toy=Toy("raises", bad=(103,), journal=str(journal)), retries=0)
    assert heard(journal) == 20
    fixed = Toy(journal=str(journal))
    assert go(toy=fixed).failures.height == 2
    assert go(toy=fixed, retry_failed=True).failures.height == 0
    assert heard(journal) == 22


@pytest.mark.parametrize("change", ["seed", "corpus"])
def test_another_run_in_the_same_folder_is_refused(go, make_corpus, change):
    go()
    options = {"seed": 5} if change == "seed" else {"corpus": make_corpus(2, folder="elsewhere")}
    with pytest.raises(VoxauditError, match=f"holds a run with another {change}"):
        go(**options)


def test_one_and_many_workers_any_batch_size_give_the_same(go, tmp_path):
    go("one", workers=1)
    go("three", workers=3, toy=Toy(batch_size=4))
    assert content(tmp_path / "one").equals(content(tmp_path / "three"))


DRIVER = """
import sys
sys.path.insert(0, {tests!r})
from toy_recognizers import Toy
from voxaudit.corpus import Corpus
from voxaudit.run import run_trials
import polars as pl
corpus = Corpus(name="toy", format="manifest", source="s", table=pl.read_parquet({table!r}))
toy = Toy(pause=0.004, batch_size={batch}, journal={journal!r})
run_trials(corpus, {{"toy": toy}}, ["gaussian_noise:1", "gain:1"], out={out!r}, workers=2,
           cache={cache!r}, progress=False)
"""


@pytest.fixture
def driver(make_corpus, tmp_path, journal):
    corpus = make_corpus(40)
    corpus.table.write_parquet(tmp_path / "corpus.parquet")

    def start(out: str, batch: int = 3) -> subprocess.Popen:
        script = DRIVER.format(
            tests=str(Path(__file__).parent),
            table=str(tmp_path / "corpus.parquet"),
            journal=str(journal),
            batch=batch,
            out=str(tmp_path / out),
            cache=str(tmp_path / f"cache-{out}"),
        )
        with (tmp_path / "said").open("a") as said:
            return subprocess.Popen(
                [sys.executable, "-c", script], stdout=said, stderr=said, start_new_session=True
            )

    return start


def workers_of(driver: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{driver}/task/{driver}/children").read_text().split()]
    except OSError:
        return []


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux's /proc to find the workers")
@pytest.mark.slow
def test_kill_9_of_driver_or_worker_at_random_moments_loses_nothing(driver, tmp_path, journal):
    undisturbed = driver("undisturbed")
    assert undisturbed.wait() == 0, (tmp_path / "said").read_text()
    expected = content(tmp_path / "undisturbed")
    assert expected.height == 120
    journal.unlink()
    chance = random.Random(4)
    kills = 0
    orphans: list[int] = []
    while kills < 20:
        process = driver("killed")
        time.sleep(chance.uniform(0.05, 1.1))
        victims = workers_of(process.pid)
        if kills % 2 and victims:
            os.kill(chance.choice(victims), signal.SIGKILL)
            kills += 1
            assert process.wait() == 0, (tmp_path / "said").read_text()
        else:
            orphans += victims
            process.kill()
            process.wait()
            kills += 1
        if (tmp_path / "killed" / "transcripts.parquet").exists():
            # finished: begin again, so that every kill disturbs a run at work
            assert content(tmp_path / "killed").equals(expected)
            for path in [*(tmp_path / "killed").iterdir(), *(tmp_path / "cache-killed").iterdir()]:
                path.unlink()
    final = driver("killed")
    assert final.wait() == 0, (tmp_path / "said").read_text()
    assert content(tmp_path / "killed").equals(expected)
    deadline = time.monotonic() + 5
    while any(Path(f"/proc/{pid}").exists() for pid in orphans) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not [pid for pid in orphans if Path(f"/proc/{pid}").exists()]


def test_a_second_driver_is_told_who_holds_the_run(driver, tmp_path):
    (tmp_path / "shared").mkdir()
    with hold(tmp_path / "shared"):  # by this process, so that no driver is too fast for the other
        assert driver("shared").wait() != 0
        assert f"process {os.getpid()} on" in (tmp_path / "said").read_text()
        assert not (tmp_path / "shared" / "trials.sqlite").exists()
    assert driver("shared").wait() == 0


FULL_DISK = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
"""


@pytest.mark.slow
def test_a_full_disk_is_one_line_and_the_run_goes_on_later(make_corpus, tmp_path, journal):
    corpus = make_corpus(200)
    corpus.table.write_parquet(tmp_path / "corpus.parquet")
    script = DRIVER.format(
        tests=str(Path(__file__).parent),
        table=str(tmp_path / "corpus.parquet"),
        journal=str(journal),
        batch=3,
        out=str(tmp_path / "full"),
        cache=False,
    ).replace("pause=0.004, ", "")
    # A limit on the size of a file is what a full disk looks like to one process.
    wrapped = (
        "from voxaudit.errors import VoxauditError\ntry:\n"
        + "".join(f"    {line}\n" for line in script.strip().splitlines())
        + "except VoxauditError as error:\n    sys.exit(f'said: {error}')\n"
    )
    failed = subprocess.run(
        [sys.executable, "-c", FULL_DISK.format(limit=60_000) + wrapped],
        capture_output=True,
        text=True,
        check=False,
    )
    assert failed.returncode == 1
    assert failed.stderr.startswith("said: ")
    assert "Everything written before is safe" in failed.stderr
    assert len(failed.stderr.strip().splitlines()) == 1
    done = subprocess.run([sys.executable, "-c", wrapped], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert content(tmp_path / "full").height == 600
