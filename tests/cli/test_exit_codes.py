"""How the program ends: 0, 1 for a gate alone, 2 with one line for what can be foreseen, 70 for what cannot."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from voxaudit.cli.main import main

PROGRAM = [sys.executable, "-c", "import sys; from voxaudit.cli.main import main; sys.exit(main())"]
pytestmark = pytest.mark.skipif(os.name == "nt", reason="pipes, signals and devices as Unix has them")


def voxaudit(*words: str, **settings) -> subprocess.CompletedProcess[str]:
    settings = {
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "text": True,
        "check": False,
        **settings,
    }
    return subprocess.run([*PROGRAM, *words], **settings)


def one_line(said: str) -> str:
    assert said.count("\n") == 1, said
    assert "Traceback" not in said
    assert said.startswith("voxaudit: error: ")
    return said


@pytest.fixture
def named(tmp_path) -> Path:
    """A table whose groups cannot be written in ASCII."""
    rows = "".join(f"s{n},clean,toy,{10 + n},{n % 3},{'é' if n % 2 else 'ü'}\n" for n in range(12))
    (tmp_path / "scores.csv").write_text(
        f"speaker,scenario,recognizer,words,errors,accent\n{rows}", encoding="utf-8"
    )
    return tmp_path


def test_a_reader_who_leaves_is_no_error():
    reading, writing = os.pipe()
    os.close(reading)  # as `| head` does when it has seen enough
    done = voxaudit("list", "scenarios", stdout=writing)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("words", [("list", "scenarios"), ("list", "suites", "--json"), ("--help",)])
def test_a_full_disk_is_one_line(words):
    with Path("/dev/full").open("w") as full:
        done = voxaudit(*words, stdout=full)
    assert done.returncode == 2
    assert "the output cannot be written (No space left on device)" in one_line(done.stderr)


@pytest.mark.slow
def test_an_encoding_without_the_letter_is_one_line(named):
    words = ("accuracy", "scores.csv", "--by", "accent")
    done = voxaudit(*words, cwd=named, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 2
    assert "encoding, ascii, cannot show" in one_line(done.stderr)
    assert "PYTHONIOENCODING=utf-8" in done.stderr
    assert voxaudit(*words, cwd=named, env={**os.environ, "PYTHONIOENCODING": "utf-8"}).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [("list", "scenarios"), ("list", "suites", "--json"), ("inspect", "scores.csv")]
)
@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-", "<&- >&-"])
def test_closed_streams_are_no_defect(named, words, closed):
    script = f'exec "$@" {closed}'
    done = subprocess.run(
        ["sh", "-c", script, "sh", *PROGRAM, *words], capture_output=True, text=True, check=False, cwd=named
    )
    assert done.returncode in (0, 2)
    assert done.stderr == "" or one_line(done.stderr)


def test_a_code_page_without_the_letters_is_one_line(tmp_path):
    rows = "".join(f"s{n},clean,toy,10,{n % 3},{'Москва' if n % 2 else 'Київ'}\n" for n in range(12))
    (tmp_path / "scores.csv").write_text(f"speaker,scenario,recognizer,words,errors,city\n{rows}", "utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": "cp1252"}
    done = voxaudit("accuracy", "scores.csv", "--by", "city", cwd=tmp_path, env=environment)
    assert done.returncode == 2
    assert "PYTHONIOENCODING=utf-8" in one_line(done.stderr)


def test_a_name_that_cannot_be_shown_in_an_error_does_not_hide_it(tmp_path):
    done = voxaudit("inspect", "é.csv", cwd=tmp_path, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 2
    assert "no such file" in one_line(done.stderr)


@pytest.mark.parametrize(
    "line",
    [
        "{long}/run --json", "run {long}", "report {long}", "review {long} --agreement", "score {long} {long}",
        "perturb {long} {long} gain:1", "study analyze {long}", "accuracy {long}", "stutter {long}", "attack {long}",
        "robustness {loop}", "accuracy {loop}/x", "run {loop}",
    ],
)  # fmt: skip
def test_a_name_that_no_file_can_have_is_one_line(tmp_path, capsys, line):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert main(line.format(long="a" * 5000, loop=tmp_path / "loop").split()) == 2
    one_line(capsys.readouterr().err)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("raise RuntimeError('boom')", "RuntimeError: boom"),
        ("import sys; sys.exit(0)", "SystemExit: 0"),  # which would look like a gate that passed
        ("import nowhere", "ModuleNotFoundError: No module named 'nowhere'"),
        ("", "AttributeError"),
        ("AUDIT = 3", "is no Audit but int"),
    ],
)
def test_a_broken_plug_in_is_one_line(tmp_path, content, reason):
    (tmp_path / "broken.py").write_text(content)
    home = tmp_path / "broken-1.dist-info"
    home.mkdir()
    (home / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (home / "entry_points.txt").write_text("[voxaudit.audits]\nbroken = broken:AUDIT\n")
    done = voxaudit("broken", "run", env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert done.returncode == 2
    said = one_line(done.stderr)
    assert "audit 'broken'" in said
    assert reason in said


def test_a_folder_that_was_deleted_is_one_line(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    script = f"cd '{gone}' && rmdir '{gone}' && exec \"$@\""
    done = subprocess.run(
        ["sh", "-c", script, "sh", *PROGRAM, "init", "manifest.csv"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    one_line(done.stderr)


@pytest.mark.parametrize(
    "error",
    [
        "RuntimeError('boom\\nmore')",
        "KeyError('x')",
        "OSError(5, 'odd', 'file')",
        "PanicError('as polars does')",
    ],
)
def test_what_nobody_foresaw_is_70_and_says_how_to_report_it(error):
    program = (
        "import sys\nfrom voxaudit.cli import list as command\nfrom voxaudit.cli.main import main\n"
        f"class PanicError(BaseException): pass\ndef broken(args):\n    raise {error}\n"
        "command.run = broken\nsys.exit(main())\n"
    )
    run = [sys.executable, "-c", program, "list", "suites"]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (70, "")
    assert done.stderr.startswith(f"voxaudit: unforeseen error: {error.partition('(')[0]}: ")
    assert done.stderr.count("\n") == 1
    assert "VOXAUDIT_TRACEBACK=1" in done.stderr
    told = subprocess.run(
        run, capture_output=True, text=True, check=False, env={**os.environ, "VOXAUDIT_TRACEBACK": "1"}
    )
    assert told.returncode == 70
    assert "Traceback (most recent call last)" in told.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_without_a_traceback(number, code, tmp_path):
    program = (
        "import sys, time\nfrom voxaudit.cli import list as command\nfrom voxaudit.cli.main import main\n"
        "def slow(args):\n    print('ready', flush=True)\n    time.sleep(60)\n"
        "command.run = slow\nsys.exit(main())\n"
    )
    run = [sys.executable, "-c", program, "list", "suites"]
    with subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == code
    assert "Traceback" not in errors


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("ru audit.toml", "no command 'ru'. Did you mean: run? `voxaudit --help` lists all of them"),
        ("disparty runs/first", "Did you mean: disparity or parity?"),
        ("accuracy runs/first --atribute x", "has no option --atribute. "),
        ("disparity runs/first --atribute x", "has no option --atribute. Did you mean: --attribute"),
        # A required argument is missing because it was misspelt: said once, and nothing else.
        (
            "study create m.csv --outt x",
            "`voxaudit study create` has no option --outt. Did you mean: --out?",
        ),
        ("study create m.csv", "`voxaudit study create`: the following arguments are required: --out."),
        ("study creat m.csv --out x", "invalid choice: 'creat'"),
        ("list suites --jsno", "`voxaudit list` has no option --jsno. Did you mean: --json?"),
        ("list", "the following arguments are required: kind."),
        ("run audit.toml --seed=-1", "argument --seed: must be at least 0, not -1."),
    ],
)
def test_a_slip_of_the_finger_is_one_line_with_what_was_meant(line, message, capsys):
    assert main(line.split()) == 2
    said = one_line(capsys.readouterr().err)
    assert message in said
    for flag in ("--out", "--attribute?", "--json"):
        assert said.count(f"{flag} ") + said.count(f"{flag}?") + said.count(f"{flag}.") <= 1
