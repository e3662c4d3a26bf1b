"""The check any recognizer can be put through finds what it is for."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from voxaudit.audio import Audio, write
from voxaudit.cli.main import main
from voxaudit.errors import VoxauditError
from voxaudit.recognize import Transcript
from voxaudit.recognize.check import check_clips, check_recognizer

CLIPS = {
    name: Audio(np.full(n, 0.1, np.float32), 16000)
    for name, n in (("a", 300), ("b", 200), ("c", 500), ("d", 400))
}


@dataclass(frozen=True)
class Faulty:
    """Answers with the number of samples, but for its fault."""

    fault: str = ""
    rate: int | None = 16000
    batch_size: int = 2

    def fingerprint(self):
        if self.fault == "odd fingerprint":
            return {"engine": 1}
        return {"engine": "faulty", "id": str(id(self)) if self.fault == "changing fingerprint" else ""}

    def load(self):
        heard: list[int] = []

        def transcribe(batch):
            answers = []
            longest = max(len(clip.samples) for clip in batch)
            for number, clip in enumerate(batch):
                n = len(clip.samples)
                text = str(n)
                if self.fault == "remembers" and heard:
                    text += f" after {heard[-1]}"
                if self.fault == "first is special" and not heard:
                    text += " first"
                if self.fault == "pads" and n < longest:
                    text += " padded"
                if self.fault == "swaps" and len(batch) == 3:
                    text = str(len(batch[-1 - number].samples))
                if self.fault == "counts repeats" and heard and heard[-1] == n:
                    text += " again"
                if self.fault == "silence breaks" and not clip.samples.any():
                    raise RuntimeError("no speech\nfound")
                if self.fault == "one sample breaks" and n == 1:
                    raise ValueError("too short")
                if self.fault == "long breaks" and n > 10_000 * 16:
                    raise MemoryError
                if self.fault == "deaf after noise" and 16_000 in heard:
                    text = ""
                if self.fault == "changes audio":
                    clip.samples[0] = 0.0
                heard.append(n)
                answers.append(None if self.fault == "none" else Transcript(text))
            return answers[:1] if self.fault == "too few" else answers

        return transcribe


def failed(fault):
    clips = {name: Audio(clip.samples.copy(), clip.rate) for name, clip in CLIPS.items()}
    result = check_recognizer(Faulty(fault), clips, long_seconds=20)
    assert result.passed == (not any(check.problems for check in result.checks))
    return {check.name: check.problems for check in result.checks if not check.passed}


def test_a_good_recognizer_passes():
    result = check_recognizer(Faulty(), CLIPS, long_seconds=20)
    assert result.passed
    assert (result.clips, result.distinct_answers) == (4, 4)
    assert result.audio_seconds == pytest.approx(1400 / 16000)
    assert len(result.checks) == 11


@pytest.mark.parametrize(
    ("fault", "check", "problem"),
    [
        ("remembers", "freshly loaded, reversed order", "alone it was"),
        ("first is special", "freshly loaded, reversed order", "d: '400 first', alone it was '400'"),
        ("pads", "one batch of all", "b: '200 padded', alone it was '200'"),
        ("swaps", "batches of 3 and 2, shuffled", "alone it was"),
        ("counts repeats", "the same clip three times", "a: '300 again', alone it was '300'"),
        ("silence breaks", "1 s of silence, then a", "RuntimeError: no speech found"),
        ("one sample breaks", "one sample, then b", "ValueError: too short"),
        ("long breaks", "20 s of audio, then d", "MemoryError"),
        ("deaf after noise", "1 s of full-scale noise, then c", "c: '', alone it was '500'"),
        ("changes audio", "audio left as it was", "a: the recognizer changed the samples"),
        ("none", "one by one", "a: the recognizer returned None instead of text"),
        ("too few", "one batch of all", "1 answers to 4 utterances"),
        ("odd fingerprint", "settings", "dict of text to text"),
        ("changing fingerprint", "settings", "not the same for a copy"),
    ],
)
def test_every_fault_is_found(fault, check, problem):
    problems = failed(fault)
    assert any(problem in line for line in problems[check])
    assert all("\n" not in line for lines in problems.values() for line in lines)


@dataclass(frozen=True)
class Unsendable(Faulty):
    lock: object = field(default_factory=lambda: (number for number in ()))


def test_what_cannot_reach_a_worker_is_found():
    result = check_recognizer(Unsendable(), CLIPS, long_seconds=1)
    assert "cannot be sent to worker processes" in result.checks[0].problems[0]


def test_clips_are_resampled_to_the_recognizers_rate_or_left():
    clips = [Audio(np.zeros(800, np.float32), 8000), Audio(np.zeros(400, np.float32), 8000)]
    seen = []

    def load(self):
        return lambda batch: (
            seen.extend((clip.rate, len(clip.samples)) for clip in batch) or [Transcript("")] * len(batch)
        )

    kind = dataclass(frozen=True)(type("Own", (Faulty,), {"load": load}))
    check_recognizer(kind(), clips, long_seconds=1)
    assert seen[:2] == [(16000, 1600), (16000, 800)]
    seen.clear()
    check_recognizer(kind(rate=None), clips, long_seconds=1)
    assert seen[:2] == [(8000, 800), (8000, 400)]


def test_one_clip_is_not_enough():
    with pytest.raises(VoxauditError, match="at least 2 different clips, not 1"):
        check_recognizer(Faulty(), [CLIPS["a"]])


def test_our_own_clips_are_different_and_reproducible():
    clips, again = check_clips(), check_clips()
    assert len(clips) >= 8
    assert len({clip.samples.tobytes() for clip in clips.values()}) == len(clips)
    assert all(np.array_equal(clips[name].samples, again[name].samples) for name in clips)
    assert all(0.5 <= clip.duration <= 6 and np.abs(clip.samples).max() <= 1 for clip in clips.values())


SOURCE = """
heard = 0

def good(samples, rate):
    return str(len(samples))

def forgetful(samples, rate):
    global heard
    heard += 1
    return f"{len(samples)} {heard}"
"""


@pytest.fixture
def functions(tmp_path, monkeypatch):
    (tmp_path / "functions.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))
    return f"python:{tmp_path / 'functions.py'}"


def test_the_command_passes_and_fails(functions, capsys):
    assert main(["recognizers", "check", f"{functions}:good", "--long", "2"]) == 0
    passed = capsys.readouterr()
    assert "every check passed" in passed.out
    assert "FAIL" not in passed.out + passed.err
    assert main(["recognizers", "check", f"{functions}:forgetful", "--long", "2", "--limit", "3"]) == 1
    said = capsys.readouterr()
    assert "FAIL  one batch of all" in said.err
    assert any(line.split()[:5] == ["one", "batch", "of", "all", "FAIL"] for line in said.out.splitlines())
    assert "checks failed" in said.out


def test_the_command_prints_one_json_document(functions, tmp_path, asked):
    for number in (1, 2, 3):
        write(tmp_path / f"{number}.wav", Audio(np.zeros(number * 100, np.float32), 8000))
    answer = asked("recognizers", "check", f"{functions}:good", "--audio", tmp_path, "--long", "1")
    assert answer.notes["verdict"] == {"passed": True, "failed": 0}
    assert answer.tables["speed"][0]["clips"] == 3
    assert answer.tables["speed"][0]["distinct_answers"] == 3
    assert {"check": "one by one", "result": "pass", "problems": []} in answer.tables["checks"]


def test_one_recording_is_enough_for_the_command(functions, tmp_path, asked):
    write(tmp_path / "one.wav", Audio(np.zeros(1000, np.float32), 8000))
    check = ("recognizers", "check", f"{functions}:good", "--audio", tmp_path / "one.wav", "--long", "1")
    assert asked(*check).tables["speed"][0]["clips"] == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no-such"], "Unknown recognizer 'no-such'"),
        (["command:no-such-program-here {audio}"], "no program"),
        (["moonshine", "--limit", "1"], "--limit: must be at least 2, not 1"),
        (["moonshine", "--long", "0"], "--long: must be above 0 and at most 3,600, not 0"),
        (["moonshine", "--audio", "/no/such/file.wav"], "no such audio file"),
    ],
)
def test_bad_input_of_the_command_is_one_line(arguments, message, capsys):
    assert main(["recognizers", "check", *arguments]) == 2
    err = capsys.readouterr().err.strip().splitlines()
    assert len(err) == 1
    assert message in err[0]


def test_an_empty_folder_and_transcripts_from_a_file(tmp_path, capsys):
    assert main(["recognizers", "check", "moonshine", "--audio", str(tmp_path)]) == 2
    (tmp_path / "h.csv").write_text("id,text\na,b\n")
    assert main(["recognizers", "check", f"transcripts:{tmp_path / 'h.csv'}"]) == 2
    err = capsys.readouterr().err
    assert "0 recordings there" in err
    assert "there is nothing to check" in err
