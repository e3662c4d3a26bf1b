"""Budgets and dry runs: what services would hear is counted before and kept to."""

import numpy as np
import pytest
import soundfile
from billed_recognizer import Billed
from toy_recognizers import Toy

from voxaudit.corpus import read_corpus
from voxaudit.errors import VoxauditError
from voxaudit.run import run_trials
from voxaudit.run.estimate import estimate
from voxaudit.run.runner import make_plan
from voxaudit.run.store import Store

RATE = 8000


@pytest.fixture
def corpus(tmp_path):
    """Six recordings of 1.5 s: 2 s each on the bill, 0.02 dollars each."""
    lines = ["path,text"]
    for number in range(6):
        soundfile.write(
            tmp_path / f"{number}.wav", 0.1 * np.sin(np.arange(12_000) * (0.1 + 0.01 * number)), RATE
        )
        lines.append(f"{number}.wav,heard")
    (tmp_path / "manifest.csv").write_text("\n".join(lines) + "\n")
    return read_corpus(tmp_path / "manifest.csv")


def heard(folder):
    store = Store(folder / "trials.sqlite")
    try:
        [(count,)] = store._database.read("select count(*) from trials where recognizer = 'service'")
        return count
    finally:
        store.close()


def go(corpus, out, **limits):
    return run_trials(
        corpus, {"service": Billed()}, ["clean"], out=out, workers=1, cache=False, progress=False, **limits
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limits", "fits", "message"),
    [
        ({"max_minutes": 0.1}, 3, "0.1 of 0.1 minutes are heard"),
        ({"max_minutes": 0.0}, 0, "0.0 of 0 minutes"),
        ({"max_cost": 0.05}, 2, "0.04 of 0.05 US dollars are spent"),
        ({"max_cost": 0.12}, 6, None),
        ({"max_cost": 1.0, "max_minutes": 0.17}, 5, "minutes are heard"),
    ],
)
def test_a_budget_stops_cleanly_and_the_run_goes_on_later(corpus, tmp_path, limits, fits, message):
    if message is None:
        go(corpus, tmp_path / "run", **limits)
    else:
        with pytest.raises(VoxauditError, match=message) as caught:
            go(corpus, tmp_path / "run", **limits)
        assert "\n" not in str(caught.value)
        assert not (tmp_path / "run" / "transcripts.parquet").exists()
    assert heard(tmp_path / "run") == fits
    run = go(corpus, tmp_path / "run")
    assert run.transcripts["text"].to_list() == ["heard"] * 6


def test_what_is_on_this_machine_costs_nothing(corpus, tmp_path):
    with pytest.raises(VoxauditError, match="budget is used up"):
        run_trials(
            corpus,
            {"service": Billed(), "mine": Toy()},
            ["clean"],
            out=tmp_path / "run",
            workers=1,
            cache=False,
            progress=False,
            max_minutes=0.04,
        )
    store = Store(tmp_path / "run" / "trials.sqlite")
    rows = dict(store._database.read("select recognizer, count(*) from trials group by 1"))
    store.close()
    assert rows == {"service": 1, "mine": 6}


@pytest.mark.parametrize(
    ("recognizer", "limits", "message"),
    [
        (Toy(), {"max_cost": 1.0}, "no recognizer here is one"),
        (Billed(price_per_minute=0.0), {"max_cost": 1.0}, "price_per_minute"),
        (Billed(), {"max_minutes": -1.0}, "max_minutes must be at least 0, not -1"),
        (Billed(), {"max_cost": float("nan")}, "max_cost must be at least 0, not nan"),
    ],
)
def test_a_limit_that_cannot_be_kept_is_refused(corpus, tmp_path, recognizer, limits, message):
    with pytest.raises(VoxauditError, match=message):
        run_trials(corpus, {"one": recognizer}, ["clean"], out=tmp_path / "run", progress=False, **limits)


def test_a_dry_run_counts_calls_minutes_and_money_and_hears_nothing(corpus, tmp_path):
    plan, _ = make_plan(corpus, {"service": Billed(), "mine": Toy()}, ["clean", "speed_up:4"])
    service, mine = estimate(plan, tmp_path / "run", cache=False)
    assert not (tmp_path / "run").exists()
    assert (service.trials, service.finished, service.cached, service.left.trials) == (12, 0, 0, 12)
    fast = plan.scenarios[1].perturbation.length(24_000, 16_000) / 16_000
    assert fast < 1.5
    assert service.left.seconds == pytest.approx(6 * 1.5 + 6 * fast)
    assert service.left.billed_seconds == 6 * 2 + 6 * np.ceil(fast)
    assert service.left.cost == pytest.approx(service.left.billed_seconds / 60 * 0.6)
    assert (mine.left.trials, mine.left.billed_seconds, mine.left.cost) == (12, 0.0, 0.0)


def test_a_dry_run_knows_what_is_done(corpus, tmp_path):
    with pytest.raises(VoxauditError, match="budget"):
        go(corpus, tmp_path / "run", max_minutes=0.1)
    plan, _ = make_plan(corpus, {"service": Billed()}, ["clean"])
    (found,) = estimate(plan, tmp_path / "run", cache=False)
    assert (found.finished, found.left.trials) == (3, 3)
    run_trials(
        corpus,
        {"service": Billed()},
        ["clean"],
        out=tmp_path / "other",
        cache=tmp_path / "cache",
        progress=False,
    )
    (found,) = estimate(plan, tmp_path / "new", cache=tmp_path / "cache")
    assert (found.finished, found.cached, found.left.trials) == (0, 6, 0)


def test_waiting_is_told_from_this_run_from_earlier_ones_or_from_a_test(corpus, tmp_path):
    def estimated(folder, recognizer, **given):
        plan, _ = make_plan(corpus, {"one": recognizer}, ["clean", "gain:1"])
        (found,) = estimate(plan, tmp_path / folder, workers=2, **given)
        return found

    slow = Toy(pause=0.15)
    unknown = estimated("new", slow, cache=False)
    assert (unknown.speed, unknown.speed_from, unknown.waiting) == (None, "", None)
    assert not (tmp_path / "cache").exists()
    tested = estimated("new", slow, cache=tmp_path / "cache", test_speed=True)
    assert tested.speed_from == "a test"
    # At least 0.15 s for each clip of 1.5 s, more on a busy machine; twelve of them, two at a time.
    assert 0.1 <= tested.speed < 1
    assert tested.waiting == pytest.approx(12 * 1.5 * tested.speed / 2)
    earlier = estimated("new", slow, cache=tmp_path / "cache")
    assert (earlier.speed_from, earlier.cached) == ("earlier runs", 2)
    assert 0.1 <= earlier.speed < 1
    run_trials(corpus, {"one": slow}, ["clean"], out=tmp_path / "run", cache=False, progress=False)
    own = estimated("run", slow, cache=False)
    assert (own.speed_from, own.finished) == ("this run", 6)
    assert 0.1 <= own.speed < 1
    assert own.waiting == pytest.approx(6 * 1.5 * own.speed / 2)


@pytest.mark.slow
def test_a_service_is_never_put_to_a_test_and_a_broken_engine_costs_nothing(corpus, tmp_path):
    broken = Toy(behavior="cannot load", version=7)
    plan, _ = make_plan(corpus, {"service": Billed(), "broken": broken}, ["clean"])
    for found in estimate(plan, tmp_path / "run", cache=tmp_path / "cache", test_speed=True):
        assert (found.speed, found.waiting, found.left.trials) == (None, None, 6)


def test_a_price_nobody_knows_is_no_cost_of_nothing(corpus, tmp_path):
    plan, _ = make_plan(corpus, {"service": Billed(price_per_minute=0.0)}, ["clean"])
    (found,) = estimate(plan, tmp_path / "run", cache=False)
    assert found.left.cost is None
    assert found.left.billed_seconds == 12.0


def test_recordings_that_cannot_be_read_are_not_billed(corpus, tmp_path):
    (tmp_path / "3.wav").write_bytes(b"nothing")
    plan, _ = make_plan(corpus, {"service": Billed()}, ["clean"])
    (found,) = estimate(plan, tmp_path / "run", cache=False)
    assert found.left.trials + found.unreadable == 6
    assert found.left.billed_seconds <= 11.0
