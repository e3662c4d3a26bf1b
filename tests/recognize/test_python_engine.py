"""A Python function as a recognizer, found again by worker processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from voxaudit.audio import Audio
from voxaudit.recognize import RecognizerError, Transcript, UtteranceError, Word, make_recognizer, require
from voxaudit.recognize.python import PythonFunction, reference_to

CLIPS = [Audio(np.full(n, 0.5, np.float32), 16000) for n in (3, 5)]


def count(samples, rate):
    assert samples.dtype == np.float32
    samples *= 0
    return f"{len(samples)} at {rate}"


def count_all(batch, rates):
    return [f"{len(samples)} at {rate}" for samples, rate in zip(batch, rates, strict=True)]


def rich(samples, rate):
    return {"text": "a", "words": [Word("a", 0, 1)], "confidence": 0.5}


def nothing(samples, rate):
    return None


def breaks(samples, rate):
    raise ValueError("no")


class Model:
    def __init__(self):
        self.offset = 100

    def __call__(self, samples, rate):
        return str(self.offset + len(samples))

    @staticmethod
    def inner(samples, rate):
        return "inner"


def test_a_function_hears_each_utterance_and_cannot_change_it():
    transcribe = make_recognizer(count).load()
    assert transcribe(CLIPS) == [Transcript("3 at 16000"), Transcript("5 at 16000")]
    assert CLIPS[0].samples[0] == 0.5


def test_a_batched_function_gets_lists():
    recognizer = make_recognizer(count_all, batched=True, batch=8)
    assert recognizer.batch_size == 8
    assert make_recognizer(count_all).batch_size == 1
    assert [answer.text for answer in recognizer.load()(CLIPS)] == ["3 at 16000", "5 at 16000"]


def test_a_class_is_made_once_so_that_it_can_load_a_model():
    assert make_recognizer(Model).load()(CLIPS)[1].text == "105"
    assert make_recognizer(Model.inner).load()(CLIPS)[1].text == "inner"


def test_richer_answers_and_wrong_ones():
    assert make_recognizer(rich).load()(CLIPS[:1]) == [Transcript("a", (Word("a", 0.0, 1.0),), 0.5)]
    with pytest.raises(UtteranceError, match="returned None instead of text"):
        make_recognizer(nothing).load()(CLIPS)
    with pytest.raises(ValueError, match="no"):
        make_recognizer(breaks).load()(CLIPS)
    with pytest.raises(UtteranceError, match="returned None instead of a list of 2"):
        make_recognizer(nothing, batched=True).load()(CLIPS)


anonymous = lambda samples, rate: ""  # noqa: E731


@pytest.mark.parametrize(
    "what", [anonymous, Model(), Model().__call__, lambda x, r: "", (lambda: lambda x, r: "")()]
)
def test_what_workers_cannot_import_is_refused_with_the_remedy(what):
    with pytest.raises(RecognizerError, match=r"Define it with def .* at the top level of a module or file"):
        make_recognizer(what)


def test_a_local_function_is_refused():
    def local(samples, rate):
        return ""

    with pytest.raises(RecognizerError, match="cannot be sent to worker processes"):
        make_recognizer(local)


def test_a_function_of_an_installed_module_is_named_by_its_module():
    assert reference_to(np.sum) == "numpy:sum"
    assert reference_to(Path) == f"{Path.__module__}:Path"


@pytest.fixture
def script(tmp_path):
    (tmp_path / "neighbor.py").write_text("WORD = 'from the neighbor'\n")
    path = tmp_path / "my_asr.py"
    path.write_text(
        "from dataclasses import dataclass\n"
        "import neighbor\n\n\n"
        "@dataclass\nclass Thing:\n    word: str = neighbor.WORD\n\n\n"
        "def hear(samples, rate):\n    return Thing().word\n\n\n"
        "if __name__ == '__main__':\n"
        "    from voxaudit.recognize import make_recognizer\n"
        "    print(make_recognizer(hear).callable)\n"
    )
    return path


def test_a_function_in_a_file(script):
    recognizer = make_recognizer(f"python:{script}:hear")
    require(recognizer)
    assert recognizer.load()(CLIPS[:1])[0].text == "from the neighbor"
    sys.path.remove(str(script.parent))
    del sys.modules["neighbor"]


def test_a_function_of_a_running_script_is_named_by_its_file(script):
    result = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == f"{script.resolve()}:hear"


def test_a_module_in_the_current_folder(tmp_path):
    (tmp_path / "here.py").write_text("def hear(samples, rate):\n    return 'here'\n")
    code = (
        "import sys; sys.path.remove(''); import numpy as np\n"
        "from voxaudit.audio import Audio\nfrom voxaudit.recognize import make_recognizer, require\n"
        "r = make_recognizer('python:here:hear'); require(r)\n"
        "print(r.load()([Audio(np.zeros(1, np.float32), 1)])[0].text)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "here"


@pytest.mark.parametrize(
    ("source", "reference", "message"),
    [
        ("def hear(s, r): pass", "asr.py:haer", "no 'haer' in .*asr.py. Did you mean: hear"),
        ("hear = 3", "asr.py:hear", "is not a function but int"),
        ("import no_such_thing", "asr.py:hear", "cannot be imported .ModuleNotFoundError: No module named"),
        ("raise SystemExit(1)", "asr.py:hear", "cannot be imported .SystemExit: 1"),
        ("def (", "asr.py:hear", "cannot be imported .SyntaxError"),
    ],
)
def test_what_cannot_be_loaded_is_one_line(tmp_path, source, reference, message):
    (tmp_path / "asr.py").write_text(source)
    with pytest.raises(RecognizerError, match=message) as caught:
        PythonFunction(str(tmp_path / reference)).load()
    assert "\n" not in str(caught.value)
    sys.path.remove(str(tmp_path))


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("no/such.py:hear", "no/such.py: no such file"),
        ("no_such_module:hear", "no module 'no_such_module'"),
        ("no.such:f", "cannot be found"),
    ],
)
def test_missing_sources_are_known_before_the_run(reference, message):
    with pytest.raises(RecognizerError, match=message):
        require(PythonFunction(reference))


def test_the_fingerprint_follows_the_source_not_the_place(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "asr.py").write_text("def hear(s, r): return 'x'")
    first, second = (PythonFunction(str(tmp_path / folder / "asr.py:hear")) for folder in "ab")
    assert first.fingerprint() == second.fingerprint()
    (tmp_path / "b" / "asr.py").write_text("def hear(s, r): return 'other'")
    assert first.fingerprint() != second.fingerprint()
    assert first.fingerprint() != PythonFunction(first.callable, version="2").fingerprint()
    assert PythonFunction("json:loads").fingerprint()["source"]
