"""Recognizers kept warm between questions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import soundfile
from toy_recognizers import Polyglot

from voxaudit.corpus import Utterance
from voxaudit.errors import VoxauditError
from voxaudit.perturb import parse_scenario
from voxaudit.recognize import make_recognizer
from voxaudit.run.lock import hold
from voxaudit.run.session import Session

ENGINE = """
import os
from pathlib import Path
HERE = Path(__file__).parent
(HERE / f"loaded-{os.getpid()}").touch()

def hear(samples, rate):
    if samples.max() > 0.9:
        raise ValueError("too loud")
    return f"{samples.max():.2f}"
"""


@pytest.fixture
def ask(tmp_path):
    (tmp_path / "engine.py").write_text(ENGINE)
    utterances = []
    for number, level in enumerate((0.1, 0.2, 0.4)):
        path = tmp_path / f"{number}.wav"
        soundfile.write(path, np.full(1600, level, np.float32), 16000, subtype="FLOAT")
        utterances.append(Utterance(f"u{number}", path))
    engine = make_recognizer({"engine": "python", "callable": str(tmp_path / "engine.py") + ":hear"})

    def session():
        return Session(tmp_path / "out", {"mine": engine}, _lazy(), cache=False)

    return utterances, session, lambda: len(list(tmp_path.glob("loaded-*")))


def _lazy():
    return {id_: parse_scenario(id_) for id_ in ("clean", "amp:theta=2", "amp:theta=3")}


def test_what_is_asked_next_may_depend_on_what_was_heard(ask):
    utterances, session, loaded = ask
    with session() as listening:
        first = listening.hear([(u, "clean") for u in utterances])["mine"]
        assert [o.transcript.text for o in first] == ["0.10", "0.20", "0.40"]
        second = listening.hear([(utterances[2], "amp:theta=2"), (utterances[0], "amp:theta=2")])["mine"]
        assert [o.transcript.text for o in second] == ["0.80", "0.20"]
        assert listening.heard == 5
        before = loaded()
        listening.hear([(utterances[1], "amp:theta=2")])
        assert loaded() == before  # the workers stayed


def test_nothing_is_heard_twice_and_failures_are_remembered(ask):
    utterances, session, loaded = ask
    asked = [(utterances[0], "clean"), (utterances[2], "amp:theta=3"), (utterances[0], "clean")]
    with session() as listening:
        first = listening.hear(asked)["mine"]
        assert first[1].failure.endswith("too loud")
        assert listening.heard == 2
    count = loaded()
    with session() as listening:
        again = listening.hear(asked)["mine"]
        assert listening.heard == 0
    assert loaded() == count
    assert [(o.transcript, o.failure) for o in again] == [(o.transcript, o.failure) for o in first]


def test_a_recording_that_is_gone_costs_itself(ask, tmp_path):
    utterances, session, _ = ask
    with session() as listening:
        gone = Utterance("gone", tmp_path / "gone.wav")
        outcomes = listening.hear([(gone, "clean"), (utterances[0], "clean")])["mine"]
    assert outcomes[0].failure.startswith("audio: ")
    assert outcomes[1].transcript.text == "0.10"


def test_two_sessions_do_not_share_a_folder(ask):
    _, session, _ = ask
    with session(), pytest.raises(VoxauditError, match="is at work on this run"), session():
        pass


def test_a_lock_that_is_a_link_is_not_followed(tmp_path):
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "lock").symlink_to("precious")
    with pytest.raises(VoxauditError, match="lock: "), hold(tmp_path):
        pass
    assert (tmp_path / "precious").read_text() == "mine"


def test_a_session_works_on_this_machine_like_a_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(VoxauditError, match="s3://bucket/run: a run works in a folder on this machine"):
        Session("s3://bucket/run", {}, {}).__enter__()
    assert not list(tmp_path.iterdir())


def test_a_recognizer_is_told_the_language_of_each_utterance(ask, tmp_path):
    utterances, _, _ = ask
    spoken = [
        replace(one, attributes={"language": language})
        for one, language in zip(utterances, ("es-MX", None, "en"), strict=True)
    ]
    with Session(tmp_path / "told", {"any": Polyglot()}, _lazy(), cache=False, workers=1) as listening:
        heard = listening.hear([(one, "clean") for one in spoken])["any"]
    assert [one.text for one in heard] == ["heard es", "heard something", "heard en"]
