"""Whole runs against services that fail: they end complete or cleanly stopped, and can be taken up again."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import soundfile
from fake_services import AWS_ID, KEY, TOKEN, VARIABLES, Fakes

from voxaudit.corpus import Corpus
from voxaudit.errors import VoxauditError
from voxaudit.run import run_trials

VENDORS = ["openai", "google", "azure", "watson", "aws", "deepgram", "assemblyai"]
FAULTS = ["429", "429 after", "500", "truncated", "reset", "timeout", "html"]
CLIPS = 8


@pytest.fixture
def fakes(monkeypatch):
    for variable, value in VARIABLES.items():
        monkeypatch.setenv(variable, value)
    fakes = Fakes()
    yield fakes
    fakes.close()


@pytest.fixture
def corpus(tmp_path):
    home = tmp_path / "audio"
    home.mkdir()
    for number in range(CLIPS):
        soundfile.write(home / f"clip{number}.wav", np.zeros(10_000 + number, np.float32), 16000)
    ids = [f"u{number}" for number in range(CLIPS)]
    table = pl.DataFrame(
        {
            "id": ids,
            "audio": [str(home / f"clip{number}.wav") for number in range(CLIPS)],
            "speaker": ids,
            "text": [f"heard {10_000 + number} samples" for number in range(CLIPS)],
            "start": [0.0] * CLIPS,
            "duration": [None] * CLIPS,
        },
        schema_overrides={"duration": pl.Float64},
    )
    return Corpus(name="toy", format="manifest", source=str(home), table=table)


@pytest.fixture
def run(fakes, corpus, tmp_path):
    def run(vendor, *, retry_failed=False, tries=1, **settings):
        quick = {"timeout": 0.4, "concurrency": 2, **settings}
        return run_trials(
            corpus,
            {vendor: _recognizer(vendor, fakes.settings(vendor, **quick))},
            (),
            out=tmp_path / "run",
            cache=tmp_path / "cache",
            workers=1,
            retries=tries,
            retry_failed=retry_failed,
            progress=False,
        )

    return run


def _recognizer(vendor, settings):
    from voxaudit.recognize import make_recognizer

    return make_recognizer({"engine": vendor, **settings})


def texts(run):
    return dict(run.transcripts.select("utterance", "text").iter_rows())


RIGHT = {f"u{number}": f"heard {10_000 + number} samples" for number in range(CLIPS)}


def assert_no_secret_under(folder):
    """Look through every byte that a run left: configuration, store, tables, log, cache."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert {"run.json", "trials.sqlite", "workers.log"} <= {path.name for path in files}
    for path in files:
        data = path.read_bytes()
        for secret in (KEY, AWS_ID, TOKEN):
            assert secret.encode() not in data, path


@pytest.mark.slow
@pytest.mark.parametrize("vendor", VENDORS)
def test_a_run_survives_everything_that_passes(fakes, run, tmp_path, vendor):
    """Some of the first requests go wrong, each in its own way; all ways come up, with one service or another."""
    turn = VENDORS.index(vendor)
    faults = {2 * number: FAULTS[(turn + 2 * number) % len(FAULTS)] for number in range(3)}
    fakes.fault = lambda vendor, number: faults.get(number, "")
    done = run(vendor, concurrency=4)
    assert texts(done) == RIGHT
    assert done.failures.is_empty()
    assert len(fakes.of(vendor)) >= CLIPS + len(faults)
    assert_no_secret_under(tmp_path)


def test_a_recording_that_is_refused_costs_itself_and_is_tried_again_on_demand(fakes, run):
    third = 2 * (10_000 + 3) + 44  # bytes of its WAV file
    fakes.fault = lambda vendor, number: "400" if len(fakes.of(vendor)[number][4]) == third else ""
    done = run("deepgram")
    assert done.failures["utterance"].to_list() == ["u3"]
    (reason,) = done.failures["failure"]
    assert reason.endswith("/v1/listen: HTTP 400 Bad Request: cannot decode the audio SOME_CODE")
    fakes.fault = lambda vendor, number: ""
    asked = len(fakes.requests)
    assert texts(run("deepgram")) == {**RIGHT, "u3": None}  # a recorded failure is not tried again by itself
    assert len(fakes.requests) == asked
    assert texts(run("deepgram", retry_failed=True)) == RIGHT
    assert len(fakes.requests) == asked + 1


def test_a_refused_key_stops_the_run_with_one_line(fakes, run, tmp_path):
    fakes.fault = lambda vendor, number: "401"
    with pytest.raises(
        VoxauditError, match=r"^recognizer 'openai': http.*HTTP 401 .*the key \*\*\* of"
    ) as caught:
        run("openai", concurrency=1)
    assert "\n" not in str(caught.value)
    assert KEY not in str(caught.value)
    assert len(fakes.requests) == 1
    assert_no_secret_under(tmp_path)
    fakes.fault = lambda vendor, number: ""
    assert texts(run("openai", concurrency=1)) == RIGHT


def test_a_key_that_is_revoked_half_way_loses_nothing_that_was_heard(fakes, run, tmp_path):
    fakes.fault = lambda vendor, number: "401" if number >= 5 else ""
    with pytest.raises(VoxauditError, match="HTTP 401"):
        run("deepgram", concurrency=2)
    fakes.fault = lambda vendor, number: ""
    assert texts(run("deepgram", concurrency=2)) == RIGHT
    assert len(fakes.requests) <= CLIPS + 3  # the five that were heard are not sent, nor paid for, again
    assert_no_secret_under(tmp_path)


def test_a_service_that_is_down_stops_the_run(fakes, run):
    fakes.fault = lambda vendor, number: "html"
    with pytest.raises(VoxauditError, match=r"recognizer 'google': .*answered with a web page"):
        run("google", retries=1)


def test_failures_are_recorded_one_line_each(fakes, run):
    fakes.fault = lambda vendor, number: "" if number == 0 else "500"
    done = run("watson", retries=0, tries=0)
    assert len(done.failures) == CLIPS - 1
    assert all(
        line.endswith("HTTP 500 Internal Server Error: something broke") for line in done.failures["failure"]
    )


def test_a_budget_is_kept_to_the_cent(fakes, corpus, tmp_path):
    """Clips of 0.6 s are billed as a second each, 0.01 USD here: three of them fit."""
    settings = fakes.settings("deepgram", price_per_minute=0.6)
    with pytest.raises(VoxauditError, match=r"0\.03 of 0\.035 US dollars"):
        run_trials(
            corpus, {"deepgram": _recognizer("deepgram", settings)}, (), out=tmp_path / "run",
            cache=tmp_path / "cache", workers=1, progress=False, max_cost=0.035,
        )  # fmt: skip
    assert len(fakes.requests) == 3


def test_a_missing_key_is_said_before_anything_is_done(run, tmp_path, monkeypatch):
    monkeypatch.delenv("DEEPGRAM_API_KEY")
    with pytest.raises(VoxauditError, match=r"recognizer 'deepgram': .* variable DEEPGRAM_API_KEY"):
        run("deepgram", url="https://api.deepgram.com")
    assert not (tmp_path / "run").exists()


def test_what_is_refused_for_good_is_sent_once(fakes, run):
    fakes.fault = lambda vendor, number: "400" if number == 3 else ""
    found = run("deepgram", concurrency=1)
    assert found.failures.height == 1
    assert "HTTP 400" in found.failures["failure"][0]
    assert len(fakes.requests) == len(RIGHT)
