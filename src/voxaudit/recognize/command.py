"""Any program as a recognizer: it gets the path of a WAV file and prints the transcript."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import shlex
import shutil
import subprocess
import tempfile
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from voxaudit.audio import Audio
from voxaudit.errors import one_line
from voxaudit.process import end_marked, marked
from voxaudit.recognize.base import (
    LONGEST_TEXT,
    RecognizerError,
    Transcriber,
    Transcript,
    UtteranceError,
    as_transcript,
)
from voxaudit.recognize.files import sha256
from voxaudit.recognize.pcm import wav_bytes
from voxaudit.recognize.settings import check_settings, setting

AUDIO = "{audio}"
LARGEST_HASHED = 200_000_000
MOST_OUTPUT = 8 * LONGEST_TEXT
"""Bytes of output that are read: enough for the longest transcript with its words as JSON."""
LOOK = 0.05
"""Seconds between looks whether a command that prints nothing has ended."""


@dataclass(frozen=True)
class Command:
    description = "Any program: it gets the path of a WAV file and prints the transcript."
    main = "command"

    command: str = setting(help="what to run, such as: my-asr --model small {audio}")
    rate: int = setting(16_000, help="sample rate of the WAV file in Hz", at_least=1_000, at_most=768_000)
    output: str = setting(
        "text",
        help="what it prints: text, or json with the key text and perhaps words",
        choices=("text", "json"),
    )
    shell: bool = setting(False, help="run through the shell, for pipes and variables")
    version: str = setting("", help="yours to raise when the program changes in a way its file does not show")

    def __post_init__(self) -> None:
        problem = ""
        if AUDIO not in self.command:
            problem = f"the command has no {AUDIO}, which stands for the path of the recording"
        else:
            try:
                shlex.split(self.command)
            except ValueError as error:
                problem = f"the command cannot be split into words ({error})"
        if problem:
            raise RecognizerError(f"recognizer 'command': {problem}")
        check_settings(self, "command")

    @property
    def batch_size(self) -> int:
        """1: one utterance, one process."""
        return 1

    def require(self) -> None:
        """Raise one line if there is no such program."""
        program = shlex.split(self.command)[0]
        if not self.shell and shutil.which(program) is None:
            raise RecognizerError(f"recognizer 'command': no program '{one_line(program, 80)}' to run")

    def fingerprint(self) -> dict[str, str]:
        """The command, and the bytes of the program and of every file it names (up to 200 MB each)."""
        files = {}
        for number, word in enumerate(shlex.split(self.command)):
            found = shutil.which(word) if number == 0 else word
            if found and Path(found).is_file():
                path = Path(found)
                size = path.stat().st_size
                files[f"file {number}"] = sha256(path) if size <= LARGEST_HASHED else f"{size} bytes"
        return {
            "engine": "command",
            "command": self.command,
            "shell": str(self.shell),
            "output": self.output,
            "rate": str(self.rate),
            "version": self.version,
            **files,
        }

    def load(self) -> Transcriber:
        """Prepare a temporary folder; the program itself is started once per utterance."""
        self.require()
        return _Runner(self, Keeper())


class _Runner:
    def __init__(self, settings: Command, keeper: Keeper) -> None:
        self._settings = settings
        self._keeper = keeper

    def __call__(self, batch: Sequence[Audio]) -> list[Transcript]:
        return [self._hear(audio) for audio in batch]

    def _hear(self, audio: Audio) -> Transcript:
        path = self._keeper.folder / "utterance.wav"
        path.write_bytes(wav_bytes(audio))
        try:
            code, output, messages = self._keeper.run(self._arguments(str(path)), MOST_OUTPUT)
        except OSError as error:
            raise UtteranceError(
                f"the command could not be started ({error.strerror or one_line(error)})"
            ) from error
        if len(output) > MOST_OUTPUT:
            raise UtteranceError(f"the command printed more than {MOST_OUTPUT:,} bytes and was ended")
        if code != 0:
            ending = f"was killed by signal {-code}" if code < 0 else f"exited with code {code}"
            raise UtteranceError(f"the command {ending}{_last_line(messages)}")
        try:
            text = output.decode()
        except UnicodeDecodeError as error:
            raise UtteranceError(f"the command's output is not UTF-8 (byte {error.start})") from error
        return Transcript(text.strip()) if self._settings.output == "text" else _from_json(text)

    def _arguments(self, path: str) -> list[str]:
        command = self._settings.command
        if self._settings.shell:
            return ["/bin/sh", "-c", command.replace(AUDIO, shlex.quote(path))]
        return [word.replace(AUDIO, path) for word in shlex.split(command)]


def _last_line(messages: bytes) -> str:
    lines = messages.decode("utf-8", "replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return f": {one_line(last, 200)}" if last else " without a message"


def _from_json(text: str) -> Transcript:
    try:
        document = json.loads(text)
    except ValueError as error:
        start = one_line(text, 60) or "nothing"
        raise UtteranceError(f"the command's output is not JSON ({one_line(error, 80)}): {start}") from error
    if not isinstance(document, dict) or "text" not in document:
        raise UtteranceError("the command's JSON has no key 'text'")
    return as_transcript(document)


# Child processes that die with this one, however it dies.

# Sleeps until its standard input ends, which it does when the keeper goes, even by `kill -9`;
# then removes the folder and kills its own process group: every child, and itself.
_WATCH = 'read -r _; rm -rf -- "$1"; kill -9 0'


class Keeper:
    """Runs commands one at a time in a process group that ends with this process, and owns a temporary folder."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="voxaudit-"))
        self._watch: subprocess.Popen[bytes] | None = None
        if os.name == "posix":
            self._watch = subprocess.Popen(
                ["/bin/sh", "-c", _WATCH, "voxaudit", str(self.folder)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                process_group=0,
            )
        self._finalizer = weakref.finalize(self, _end, self._watch, self.folder)

    def close(self) -> None:
        """End what is still running and remove the folder."""
        self._finalizer()

    def run(self, arguments: Sequence[str], most: int) -> tuple[int, bytes, bytes]:
        """Run a command to its end; return its exit code, its output and the end of its messages.

        Of the output `most` bytes are kept, and one more to show that there were too many: then it is killed.
        """
        group = {} if self._watch is None else {"process_group": self._watch.pid}
        mark, environment = marked()
        with subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env=environment,
            **group,  # type: ignore[call-overload]
        ) as process:
            try:
                output, messages, ended = _drain(process, most)
            except BaseException:
                process.kill()
                raise
            if len(output) > most:
                process.kill()
            code = process.wait()
        if not ended:  # something that it started holds its output open
            end_marked(mark)
        return code, output, messages


def _drain(process: subprocess.Popen[bytes], most: int) -> tuple[bytes, bytes, bool]:
    """Return what a process printed until it ended or was too much, and whether that was all that could come."""
    assert process.stdout is not None
    assert process.stderr is not None
    output, messages = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        selector.register(process.stderr, selectors.EVENT_READ)
        while selector.get_map() and len(output) <= most:
            ended = process.poll() is not None
            ready = selector.select(LOOK)
            if ended and not ready:  # what it leaves running may hold its output open for ever
                break
            for key, _ in ready:
                data = os.read(key.fd, 65_536)
                if not data:
                    selector.unregister(key.fileobj)
                elif key.fileobj is process.stdout:
                    output += data[: most + 1 - len(output)]
                else:
                    messages = (messages + data)[-4_096:]
        return bytes(output), bytes(messages), not selector.get_map()


def _end(watch: subprocess.Popen[bytes] | None, folder: Path) -> None:
    if watch is not None and watch.stdin is not None:
        with contextlib.suppress(OSError):
            watch.stdin.close()
        watch.wait()
    shutil.rmtree(folder, ignore_errors=True)
