"""Any program as a recognizer: real child processes, good and bad."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

from voxaudit.audio import Audio
from voxaudit.errors import VoxauditError
from voxaudit.recognize import RecognizerError, Transcript, UtteranceError, Word, make_recognizer, require
from voxaudit.recognize.command import MOST_OUTPUT, Command

pytestmark = pytest.mark.skipif(os.name != "posix", reason="runs POSIX commands")
PYTHON = shlex.quote(sys.executable)
CLIP = Audio(np.linspace(-1.5, 1.5, 3001, dtype=np.float32), 8000)


def program(code: str, **settings) -> Command:
    return Command(f"{PYTHON} -c {shlex.quote(textwrap.dedent(code))} {{audio}}", **settings)


def hear(recognizer: Command, *clips: Audio) -> list[Transcript]:
    return recognizer.load()(clips or [CLIP])


def test_the_program_gets_a_16_bit_wav_that_saturates():
    recognizer = program(
        """
        import struct, sys, wave
        with wave.open(sys.argv[1]) as file:
            data = file.readframes(file.getnframes())
            samples = struct.unpack(f"<{len(data) // 2}h", data)
            print(file.getframerate(), file.getnchannels(), len(samples), min(samples), max(samples), samples[1500])
        """,
        rate=8000,
    )
    assert hear(recognizer) == [Transcript("8000 1 3001 -32768 32767 0")]


def test_each_utterance_of_a_batch_is_heard():
    recognizer = program("import sys, wave; print(wave.open(sys.argv[1]).getnframes())")
    clips = [Audio(np.zeros(n, np.float32), 16000) for n in (1, 20, 300)]
    assert [answer.text for answer in hear(recognizer, *clips)] == ["1", "20", "300"]


def test_output_is_text_as_printed_without_the_last_line_end():
    assert hear(program("print('  Héllo,  wörld\\n\\n')"))[0].text == "Héllo,  wörld"
    assert hear(program("pass"))[0].text == ""


def test_json_output_with_words():
    code = 'print(\'{"text": "hi", "words": [{"word": "hi", "start": 0, "end": 0.5}], "confidence": 0.25}\')'
    assert hear(program(code, output="json")) == [Transcript("hi", (Word("hi", 0.0, 0.5),), 0.25)]


@pytest.mark.parametrize(
    ("code", "settings", "message"),
    [
        ("import sys; sys.exit('first\\nno model')", {}, "the command exited with code 1: no model"),
        ("import sys; sys.exit(3)", {}, "the command exited with code 3 without a message"),
        ("import os; os.kill(os.getpid(), 9)", {}, "the command was killed by signal 9"),
        (
            "import sys; sys.stdout.buffer.write(b'caf\\xe9')",
            {},
            "the command's output is not UTF-8 (byte 3)",
        ),
        (f"print('a' * {MOST_OUTPUT + 1})", {}, "printed more than 800,000 bytes"),
        ("while True: print('na ' * 10000)", {}, "printed more than 800,000 bytes"),
        ("print('hello')", {"output": "json"}, "output is not JSON"),
        ("print('{\"txt\": 1}')", {"output": "json"}, "JSON has no key 'text'"),
        ("print('{\"text\": null}')", {"output": "json"}, "returned None instead of text"),
        ("import sys; sys.stderr.write('x' * 1000000); sys.exit('last')", {}, "exited with code 1: x"),
    ],
)
def test_what_goes_wrong_costs_the_utterance_and_is_one_line(code, settings, message):
    with pytest.raises(UtteranceError) as caught:
        hear(program(code, **settings))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_messages_without_end_do_not_block():
    recognizer = program("import sys; sys.stderr.write('x' * 3000000); print('fine')")
    assert hear(recognizer)[0].text == "fine"


def test_without_a_shell_nothing_is_interpreted():
    recognizer = Command(
        f"{PYTHON} -c 'import sys; print(sys.argv[1:])' '$HOME; |' {{audio}}.txt --in={{audio}}"
    )
    text = hear(recognizer)[0].text
    assert text.startswith("['$HOME; |', '/")
    assert ".wav.txt', '--in=/" in text


def test_with_a_shell_pipes_work_and_the_path_is_quoted(tmp_path, monkeypatch):
    folder = tmp_path / "a b; echo x"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    recognizer = Command("wc -c < {audio} | tr -d ' '", shell=True)
    assert hear(recognizer) == [Transcript(str(44 + 2 * 3001))]


def test_a_missing_program_is_known_before_the_run():
    recognizer = make_recognizer("command:no-such-recognizer-anywhere {audio}")
    for check in (require, lambda recognizer: recognizer.load()):
        with pytest.raises(RecognizerError, match="no program 'no-such-recognizer-anywhere' to run"):
            check(recognizer)


def test_a_program_that_cannot_be_started(tmp_path):
    broken = tmp_path / "broken"
    broken.write_text("not a program")
    broken.chmod(0o755)
    with pytest.raises(UtteranceError, match="could not be started"):
        hear(Command(f"{broken} {{audio}}"))


def test_the_fingerprint_follows_command_settings_and_files(tmp_path):
    script = tmp_path / "asr.py"
    script.write_text("print('a')")
    base = Command(f"{PYTHON} {script} {{audio}}")
    first = base.fingerprint()
    assert first == Command(f"{PYTHON} {script} {{audio}}").fingerprint()
    script.write_text("print('bb')")
    others = [
        base,
        Command(f"{PYTHON} {script} {{audio}}", version="2"),
        Command(f"{PYTHON} {script} {{audio}}", rate=8000),
        Command(f"{PYTHON} {script} -v {{audio}}"),
    ]
    digests = [first, *(other.fingerprint() for other in others)]
    assert len({str(sorted(digest.items())) for digest in digests}) == 5
    assert all(isinstance(value, str) for digest in digests for value in digest.values())


def test_the_temporary_folder_goes_with_the_recognizer(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    transcribe = program("print(1)").load()
    transcribe([CLIP])
    assert len(list(tmp_path.iterdir())) == 1
    del transcribe
    assert list(tmp_path.iterdir()) == []


WORKER = """
import sys
import numpy as np
from voxaudit.audio import Audio
from voxaudit.recognize import make_recognizer
transcribe = make_recognizer({"engine": "command", "command": sys.argv[1]}).load()
transcribe([Audio(np.zeros(100, np.float32), 16000)])
"""


def test_a_child_dies_with_its_worker_even_by_kill_9(tmp_path):
    journal = tmp_path / "pid"
    child = f"import os, time; open({str(journal)!r}, 'w').write(str(os.getpid()) + ' '); time.sleep(600)"
    command = f"{PYTHON} -c {shlex.quote(child)} {{audio}}"
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", WORKER, command], env=environment) as worker:
        try:
            pid = int(
                _wait_for(
                    lambda: journal.exists() and journal.read_text().endswith(" ") and journal.read_text()
                )
            )
            assert _alive(pid)
        finally:
            worker.send_signal(signal.SIGKILL)
    assert _wait_for(lambda: not _alive(pid))
    assert _wait_for(lambda: not list(tmp_path.glob("voxaudit-*")))


def _wait_for(condition, seconds=30.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if result := condition():
            return result
        time.sleep(0.02)
    raise AssertionError("waited in vain")


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # An orphan that nobody has buried yet is dead all the same.
    status = Path(f"/proc/{pid}/stat")
    return not (status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z")


def test_bad_settings_are_refused():
    for settings in ({"rate": 0}, {"output": "xml"}):
        with pytest.raises(VoxauditError, match="recognizer 'command'"):
            Command("asr {audio}", **settings)
