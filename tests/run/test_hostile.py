"""What broke a run when somebody tried: code in the working folder, forks, leaks, bombs, names that are no text."""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import soundfile
from billed_recognizer import Billed
from toy_recognizers import Toy, words_for

from voxaudit import audio
from voxaudit.audio import AudioError
from voxaudit.errors import VoxauditError
from voxaudit.options import Limits
from voxaudit.process import Child, StrangerError, end_marked, marked, module_path, python_command
from voxaudit.run import run_trials
from voxaudit.run.database import Database
from voxaudit.run.folder import published_files

QUIET = {"cache": False, "progress": False}
PROGRAM = python_command(program="from voxaudit.cli.main import main; sys.exit(main())")
"""As the installed script starts: without the working folder among the places of modules."""


def texts(run) -> dict[str, str]:
    return {row["utterance"]: row["text"] or row["failure"] for row in run.transcripts.iter_rows(named=True)}


# Code in the working folder.


@pytest.fixture(scope="module")
def planted(tmp_path_factory) -> Path:
    """A corpus folder with a file of the name of every module that could be imported, and a wish to be."""
    home = tmp_path_factory.mktemp("downloaded")
    installed = importlib.metadata.packages_distributions()
    for name in {*sys.stdlib_module_names, *installed, "voxaudit", "ray", "torch", "datasets"}:
        if name.isidentifier() and "pytest" not in name:
            (home / f"{name}.py").write_text(f"open({str(home / 'owned')!r}, 'a').write({name + ' '!r})\n")
    rows = ["path,text,speaker,accent"]
    for number in range(6):
        tone = 0.3 * np.sin(np.arange(8000 + number) / 9) * np.hanning(8000 + number)
        soundfile.write(home / f"c{number}.wav", tone, 16000)
        rows.append(f"c{number}.wav,one two,s{number % 3},{'ab'[number % 2]}")
    (home / "manifest.csv").write_text("\n".join(rows) + "\n")
    (home / "audit.toml").write_text(
        '[corpus]\npath = "manifest.csv"\nattributes = ["accent"]\n[recognizers.echo]\nengine = "command"\n'
        'command = "echo one {audio}"\n[scenarios]\nuse = ["gain:1"]\n[run]\nout = "run"\nworkers = 1\n'
    )
    return home


STARTERS = [
    "run audit.toml",
    "quality run --workers 2 --utterances 1",
    "stutter manifest.csv --recognizer command:true --workers 2 --utterances 2 --out stutter",
    "models fetch vosk-small-en-us",
    "select manifest.csv --min-snr 1 --json",
]
"""Commands that start processes of their own."""
OTHERS = [
    "report run",
    "inspect manifest.csv",
    "init manifest.csv other.toml",
    "perturb c0.wav out.wav gaussian_noise:2",
    "demo elsewhere --voices human",
    "study create manifest.csv --scenarios gain:1 --out study",
    "review run --agreement",
    "recognizers check command:echo",
    "list recognizers",
    "completion bash",
    *(
        f"{audit} run"
        for audit in (
            *("accuracy", "versus", "robustness", "slices", "hallucination", "keywords", "references"),
            *("waiting", "confidence", "disfluent"),
        )
    ),
    "disparity run --attribute accent",
    "parity run --attributes accent",
    "differential run --attribute accent",
    "localize run --attribute accent",
    "sequential run --attribute accent --precision 0.1",
    "power run --attributes accent",
    "compare run run",
    "score manifest.csv manifest.csv",
    "attack manifest.csv --recognizers command:true --method blackbox --queries 2 --utterances 1 --out attack",
    "breaking manifest.csv --recognizers command:true --perturbation gain --budget 4 --workers 1 --out breaking",
]


def started(folder: Path, home: Path, line: str) -> None:
    """Run a command where others wrote; nothing that lies there may have been run."""
    environment = {
        **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        "VOXAUDIT_CACHE": str(home / "cache"),
        "VOXAUDIT_MODELS": str(home / "models"),
        "PIP_NO_INDEX": "1",  # a fetch fails at once, after pip was started
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        [*PROGRAM, *line.split()], cwd=folder, env=environment, capture_output=True, timeout=900, check=False
    )
    assert not (folder / "owned").exists(), (folder / "owned").read_text()
    assert done.returncode in (0, 1, 2), done.stderr
    assert b"usage:" not in done.stderr, done.stderr  # a command that was not understood imports little


@pytest.mark.slow
@pytest.mark.parametrize("line", STARTERS, ids=lambda line: line.split()[0])
def test_no_command_runs_what_lies_in_the_working_folder(planted, tmp_path, line):
    started(planted, tmp_path, line)


@pytest.mark.slow
@pytest.mark.parametrize("line", OTHERS, ids=lambda line: line.split()[0])
def test_nor_does_any_other_command(planted, tmp_path_factory, line):
    home = tmp_path_factory.getbasetemp()
    if not (planted / "run" / "scores.parquet").exists():
        started(planted, home, STARTERS[0])
    started(planted, home, line)


def test_every_command_is_tried_there():
    lines = subprocess.run([*PROGRAM, "--help"], capture_output=True, text=True, check=True).stdout
    commands = set(re.findall(r"^    ([a-z]+)\b", lines, re.MULTILINE))
    assert {line.split()[0] for line in (*STARTERS, *OTHERS)} == commands


def test_every_python_process_is_started_in_the_one_way():
    """Whoever names the interpreter starts it with the working folder among the places of modules."""
    source = Path(audio.__file__).parent
    named = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if "sys.executable" in path.read_text(encoding="utf-8")
    }
    assert named == {"process.py", "recognize/weights/fetch.py"}  # the latter in a message


def test_the_working_folder_is_the_last_place_of_modules(monkeypatch):
    monkeypatch.setattr(sys, "path", ["", "/a"])
    assert module_path() == ["/a", str(Path.cwd())]
    monkeypatch.setattr(sys, "path", ["/a"])
    assert module_path() == ["/a"]


# Answers that are another's.


@pytest.mark.parametrize("batch_size", [1, 3])
@pytest.mark.parametrize("behavior", ["forks", "forks in silence"])
def test_a_fork_cannot_answer_for_its_parent(make_corpus, tmp_path, behavior, batch_size):
    toy = Toy(behavior, bad=(103, 108), batch_size=batch_size)
    run = run_trials(make_corpus(12), {"toy": toy}, [], out=tmp_path / "run", workers=1, **QUIET)
    assert texts(run) == {f"u{n}": words_for(101 + n) for n in range(12)}


def test_a_copy_that_writes_messages_itself_is_found_out():
    child = Child("toy_recognizers:forge")
    with pytest.raises(StrangerError, match=r"\(fork\) answered in its place"):
        child.receive()
    child.end()


def test_an_answer_to_another_trial_is_discarded(make_corpus, tmp_path):
    toy = Toy("answers for another", bad=(103,))
    got = texts(run_trials(make_corpus(5), {"toy": toy}, [], out=tmp_path / "run", workers=1, **QUIET))
    assert "answered for another trial" in got.pop("u2")
    assert got == {f"u{n}": words_for(101 + n) for n in (0, 1, 3, 4)}


def test_a_fork_while_loading_changes_nothing(make_corpus, tmp_path):
    toy = Toy("forks loading")
    got = texts(run_trials(make_corpus(2), {"toy": toy}, [], out=tmp_path / "run", workers=1, **QUIET))
    assert got == {f"u{n}": words_for(101 + n) for n in range(2)}


# Bombs.


def bomb(path: Path, rate: int, seconds: float, channels: int = 1) -> Path:
    """Write silence without having it in memory."""
    block = np.zeros((min(1_000_000, int(rate * seconds)), channels), np.float32)
    with soundfile.SoundFile(path, "w", rate, channels, format="FLAC", subtype="PCM_16") as file:
        for _ in range(max(1, int(rate * seconds) // len(block))):
            file.write(block)
    return path


def test_a_recording_beyond_the_limits_is_refused_before_it_is_decoded(tmp_path):
    slow = tmp_path / "slow.wav"
    soundfile.write(slow, np.zeros(15_000), 1)
    with pytest.raises(
        AudioError, match=r"has 1 samples per second, under the limit of 1,000 \(`lowest_rate`\)"
    ):
        audio.read(slow, rate=16_000)
    with pytest.raises(
        AudioError, match=r"lasts 15,000 s at 1 Hz, over the limit of 3,600 s .*\(`longest`\)"
    ):
        audio.read(slow, rate=16_000, limits=Limits(lowest_rate=1))
    assert audio.read(slow, start=10, duration=20, limits=Limits(lowest_rate=1)).duration == 20
    silent = bomb(tmp_path / "silent.flac", 8_000, 4_000)
    assert silent.stat().st_size < 3_000_000
    with pytest.raises(AudioError, match="lasts 4,000 s"):
        audio.read(silent)
    assert audio.read(silent, limits=Limits(longest=5_000)).duration == 4_000
    with pytest.raises(AudioError, match=r"larger than the limit of 0.01 MB \(`largest`\)"):
        audio.read(silent, limits=Limits(largest=0.01))
    # A rate that nobody uses does not make a recording short.
    quick = bomb(tmp_path / "quick.flac", 600_000, 5)
    with pytest.raises(AudioError, match="lasts 5 s at 600,000 Hz"):
        audio.read(quick, limits=Limits(longest=6))


def test_channels_are_mixed_without_having_all_of_them(tmp_path):
    generator = np.random.default_rng(1)
    samples = generator.uniform(-0.5, 0.5, (3000, 7)).astype(np.float32)
    soundfile.write(tmp_path / "wide.wav", samples, 16000, subtype="FLOAT")
    before = audio.BLOCK
    audio.BLOCK = 100 * 7
    try:
        assert np.array_equal(
            audio.read(tmp_path / "wide.wav").samples, samples.mean(axis=1, dtype=np.float32)
        )
    finally:
        audio.BLOCK = before


def test_a_bomb_costs_its_own_trials(make_corpus, tmp_path):
    corpus = make_corpus(3)
    soundfile.write(corpus.table["audio"][1], np.zeros(15_000), 1)
    run = run_trials(corpus, {"toy": Toy(rate=16_000)}, [], out=tmp_path / "run", workers=1, **QUIET)
    assert run.failures["utterance"].to_list() == ["u1"]
    assert "`lowest_rate`" in run.failures["failure"][0]
    limited = run_trials(
        corpus, {"toy": Toy()}, [], out=tmp_path / "small", workers=1, limits=Limits(largest=0.001), **QUIET
    )
    assert limited.failures["utterance"].to_list() == ["u1"]
    assert "`largest`" in limited.failures["failure"][0]


def test_a_worker_without_memory_is_replaced_and_the_trial_has_a_reason(make_corpus, tmp_path):
    toy = Toy("takes memory", bad=(102,))
    limits = Limits(memory=6)
    got = texts(
        run_trials(make_corpus(3), {"toy": toy}, [], out=tmp_path / "run", workers=1, limits=limits, **QUIET)
    )
    assert "its process is spent (MemoryError" in got["u1"]
    assert [got["u0"], got["u2"]] == [words_for(101), words_for(103)]


@pytest.mark.slow
@pytest.mark.parametrize("behavior", ["leaks files", "recurses"])
def test_a_process_that_has_nothing_left_is_replaced(make_corpus, tmp_path, behavior):
    """Of the recordings nothing is wrong, and all are heard."""
    mark = "" if behavior == "leaks files" else str(tmp_path / "mark")
    toy = Toy(behavior, bad=(104,) if mark else (), only_once=mark)
    for retries in (0, 1):
        out = tmp_path / f"run{retries}"
        got = texts(
            run_trials(make_corpus(12), {"toy": toy}, [], out=out, workers=1, retries=retries, **QUIET)
        )
        assert got == {f"u{n}": words_for(101 + n) for n in range(12)}
        Path(mark or tmp_path / "none").unlink(missing_ok=True)


# What leaves the machine.


def test_only_what_is_known_is_published(make_corpus, tmp_path):
    run = run_trials(make_corpus(2), {"toy": Toy()}, [], out=tmp_path / "run", workers=1, **QUIET)
    for name in ("review.sqlite", "review.json", ".report.html.0123.tmp", "notes.txt", "review.sqlite-wal"):
        (run.folder / name).write_text("Jane Doe said so")
    (run.folder / "summary.md").symlink_to("/etc/hostname")
    names = {path.name for path in published_files(run.folder)}
    assert names == {"run.json", "corpus.parquet", "transcripts.parquet"}


# Names and messages that are no text.


@pytest.mark.parametrize("behavior", ["odd name", "cannot say"])
def test_a_reason_that_is_no_text_is_kept_as_one(make_corpus, tmp_path, behavior):
    for _ in range(2):
        got = texts(
            run_trials(
                make_corpus(3),
                {"toy": Toy(behavior, bad=(102,))},
                [],
                out=tmp_path / "run",
                workers=1,
                **QUIET,
            )
        )
    assert got["u0"] == words_for(101)
    said = {
        "odd name": "FileNotFoundError: caf\\udce9.wav: no such file",
        "cannot say": "MuteError: its message",
    }
    assert said[behavior] in got["u1"]


# Processes that stay.


def alive(mark: str) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if mark.encode() in path.read_bytes() and int(path.parent.name) != os.getpid():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found as Linux shows them")
@pytest.mark.parametrize("how", ["", "setsid "])
def test_what_a_command_leaves_running_ends_and_holds_nothing_up(make_corpus, tmp_path, how):
    nap = f"3600.{os.getpid()}{len(how)}"
    script = tmp_path / "hear.sh"
    script.write_text(f"#!/bin/sh\n{how}sleep {nap} &\necho heard this\n")
    script.chmod(0o755)
    start = time.monotonic()
    run = run_trials(
        make_corpus(3),
        [f"command:{script} {{audio}}"],
        [],
        out=tmp_path / "run",
        workers=1,
        timeout=20,
        **QUIET,
    )
    assert set(texts(run).values()) == {"heard this"}
    assert time.monotonic() - start < 20
    assert alive(nap) == []


def test_marks_are_of_descendants_only():
    mark, environment = marked()
    other, elsewhere = marked()
    ours = subprocess.Popen(["sleep", "60"], env=environment, start_new_session=True)
    theirs = subprocess.Popen(["sleep", "60"], env=elsewhere)
    end_marked(mark)
    assert ours.wait(10) < 0
    assert theirs.poll() is None
    end_marked(other)
    assert theirs.wait(10) < 0


def test_what_was_paid_for_is_kept_before_more_is_asked_for(make_corpus, tmp_path):
    billed = Billed(store=str(tmp_path / "run" / "trials.sqlite"))
    run = run_trials(make_corpus(8), {"billed": billed}, [], out=tmp_path / "run", workers=1, **QUIET)
    assert sorted(texts(run).values()) == [f"heard after {count}" for count in range(8)]


# What is left of an earlier death, and a cache that others wrote.


def test_half_written_files_of_a_run_that_was_killed_are_removed(make_corpus, tmp_path):
    home = tmp_path / "run"
    home.mkdir()
    (home / ".report.html.0123456789abcdef.tmp").write_text("half")
    (home / ".mine.tmp").write_text("mine")
    run_trials(make_corpus(1), {"toy": Toy()}, [], out=home, workers=1, **QUIET)
    assert sorted(path.name for path in home.glob(".*")) == [".mine.tmp"]


def test_a_log_is_not_written_through_a_link(make_corpus, tmp_path):
    home, precious = tmp_path / "run", tmp_path / "precious"
    home.mkdir()
    precious.write_text("mine")
    (home / "workers.log").symlink_to(precious)
    with pytest.raises(VoxauditError, match=r"workers\.log: cannot write"):
        run_trials(make_corpus(1), {"toy": Toy("prints")}, [], out=home, workers=1, **QUIET)
    assert precious.read_text() == "mine"


POISON = ["[[", '[["a"]]', '[["a", "b", "c", "d"]]', '{"a": 1}', "[3]", '[["a", 2, 1, null]]', "[" * 100_000]


@pytest.mark.slow
def test_a_row_of_the_cache_that_makes_no_sense_is_heard_again(make_corpus, tmp_path):
    import sqlite3

    cache = tmp_path / "cache"
    options = {"workers": 1, "cache": cache, "progress": False}
    corpus = make_corpus(3)
    run_trials(corpus, {"toy": Toy()}, [], out=tmp_path / "first", **options)
    for number, times in enumerate(POISON):
        with sqlite3.connect(cache / "transcripts.sqlite") as base:
            base.execute("UPDATE transcripts SET word_times = ?", [times])
        base.close()
        journal = tmp_path / f"journal{number}"
        toy = Toy(journal=str(journal))
        got = texts(run_trials(corpus, {"toy": toy}, [], out=tmp_path / f"run{number}", **options))
        assert got == {f"u{n}": words_for(101 + n) for n in range(3)}, times
        assert sorted(journal.read_text().split()) == ["101", "102", "103"], times


def test_a_cache_that_cannot_be_written_costs_no_run(make_corpus, tmp_path, capsys, monkeypatch):
    class Full(Database):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            self._connection.execute("PRAGMA max_page_count=1")
            with contextlib.suppress(sqlite3.OperationalError):  # until the one page is full
                for number in range(1000):
                    self._connection.execute(
                        "INSERT INTO transcripts VALUES (?, '', 0, '', 0)", [b"%d" % number]
                    )

    monkeypatch.setattr("voxaudit.run.cache.Database", Full)
    cache = tmp_path / "cache"
    run = run_trials(
        make_corpus(4), {"toy": Toy()}, [], out=tmp_path / "run", workers=1, cache=cache, progress=False
    )
    assert run.failures.is_empty()
    said = capsys.readouterr().err
    assert said.count("without the cache") == 1
    assert "disk is full" in said


def test_a_cache_folder_that_cannot_be_used_costs_no_run_either(make_corpus, tmp_path, capsys, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("VOXAUDIT_CACHE", str(tmp_path / "file" / "cache"))
    how = {"workers": 1, "progress": False}
    run = run_trials(make_corpus(2), {"toy": Toy()}, [], out=tmp_path / "run", **how)
    assert run.failures.is_empty()
    assert capsys.readouterr().err.count("goes on without the cache: ") == 1
    for named in (tmp_path / "file" / "x", "/dev/full", "\0", "a" * 5000):  # these somebody asked for
        with pytest.raises(VoxauditError, match="cannot be the cache"):
            run_trials(make_corpus(2), {"toy": Toy()}, [], out=tmp_path / "run", cache=named, **how)


# Without the rights of root.


@pytest.mark.slow
def test_without_rights_every_refusal_is_one_line(make_corpus, tmp_path):
    """Root gives up what lets it read and write everything."""
    drop = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] if os.getuid() == 0 else []
    if drop and shutil.which("setpriv") is None:
        pytest.skip("no setpriv")
    corpus = make_corpus(3)
    Path(corpus.table["audio"][1]).chmod(0)
    corpus.table.write_csv(tmp_path / "manifest.csv")
    for name in ("readonly", "open"):
        (tmp_path / name).mkdir()
    (tmp_path / "locked.toml").write_text("")
    (tmp_path / "locked.toml").chmod(0)
    toml = '[corpus]\npath = "../manifest.csv"\n[recognizers.echo]\nengine = "command"\ncommand = "echo x {audio}"\n'
    (tmp_path / "open" / "audit.toml").write_text(
        toml + '[scenarios]\nuse = []\n[run]\nworkers = 1\ncache = "cache"\n'
    )
    (tmp_path / "readonly" / "audit.toml").write_text(toml)
    (tmp_path / "readonly").chmod(0o555)

    def said(*words: str) -> tuple[int, str, str]:
        done = subprocess.run([*drop, *PROGRAM, *words], capture_output=True, text=True, check=False)
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, done.stdout, done.stderr

    for words in (
        ("run", str(tmp_path / "readonly" / "audit.toml")),
        ("run", str(tmp_path / "locked.toml")),
        ("init", str(tmp_path / "manifest.csv"), str(tmp_path / "readonly" / "new.toml")),
    ):
        code, _, err = said(*words)
        assert (code, err.count("\n")) == (2, 1), err
        assert "Permission denied" in err
    code, out, err = said("run", str(tmp_path / "open" / "audit.toml"), "--json")
    assert code == 0, err
    failures = pl.read_parquet(tmp_path / "open" / "runs" / "audit" / "transcripts.parquet").filter(
        pl.col("failure").is_not_null()
    )
    assert failures["utterance"].to_list() == ["u1"]
    assert "Permission denied" in failures["failure"][0]
    json.loads(out)


# Other times, and other drivers.


def test_a_clock_that_was_set_back_changes_nothing(make_corpus, tmp_path):
    corpus = make_corpus(3)
    for path, when in zip(corpus.table["audio"], (4e9, -1e9, 0), strict=True):
        os.utime(path, (when, when))
    journal = tmp_path / "journal"
    for _ in range(2):
        run = run_trials(
            corpus, {"toy": Toy(journal=str(journal))}, [], out=tmp_path / "run", workers=1, **QUIET
        )
        for path in run.folder.iterdir():
            os.utime(path, (5e9, 5e9))
    assert texts(run) == {f"u{n}": words_for(101 + n) for n in range(3)}
    assert len(journal.read_text().split()) == 3


@pytest.mark.slow
def test_of_three_drivers_one_works_and_two_are_told_so(make_corpus, tmp_path):
    corpus = make_corpus(3)
    corpus.table.write_csv(tmp_path / "manifest.csv")
    (tmp_path / "audit.toml").write_text(
        '[corpus]\npath = "manifest.csv"\n[recognizers.slow]\nengine = "command"\nshell = true\n'
        'command = "sleep 3; echo x {audio}"\n[scenarios]\nuse = []\n[run]\nworkers = 3\ncache = false\n'
    )
    line = [*PROGRAM, "run", str(tmp_path / "audit.toml")]
    drivers = [subprocess.Popen(line, stdout=-3, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    said = [driver.communicate(timeout=600)[1] for driver in drivers]
    codes = [driver.returncode for driver in drivers]
    assert sorted(codes) == [0, 2, 2], said
    for code, text in zip(codes, said, strict=True):
        if code == 2:
            assert text.count("\n") == 1
            assert "is at work on this run" in text
