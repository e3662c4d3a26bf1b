"""Recognizers that misbehave cost their own trials, with a reason, and nothing else."""

from __future__ import annotations

import pytest
from toy_recognizers import Toy, words_for

from voxaudit.errors import VoxauditError
from voxaudit.run import run_trials

SCENARIOS = ["gain:1"]


def outcome(run):
    """Return {(utterance, scenario): text or reason}."""
    return {
        (r["utterance"], r["scenario"]): r["text"] or r["failure"]
        for r in run.transcripts.iter_rows(named=True)
    }


WRONG_ANSWERS = {
    "raises": "ValueError: cannot hear this",
    "exits": "SystemExit: goodbye",
    "none": "None",
    "bytes": "bytes",
    "number": "int",
    "no list": "None",
    "too few": "0",
    "too many": "2",
    "megabyte": "100,000",
    "surrogate": "surrogate",
}
"""What a recognizer does while its process lives on, and what the reason says."""


def check_costs(make_corpus, tmp_path, toy, reasons, workers, scenarios=SCENARIOS):
    """Hear a corpus twice as large as `reasons` has clips: those fail under every scenario, the others do not."""
    conditions = 1 + len(scenarios)
    count = 2 * len(reasons)
    run = run_trials(
        make_corpus(count),
        {"toy": toy},
        scenarios,
        out=tmp_path / "run",
        workers=workers,
        timeout=1.5,
        cache=False,
        progress=False,
    )
    got = outcome(run)
    assert len(got) == conditions * count
    for (utterance, _), text in got.items():
        samples = 101 + int(utterance[1:])
        if samples in reasons:
            assert reasons[samples] in text
            assert "\n" not in text
        else:
            assert text == words_for(samples)
    assert run.failures.height == conditions * len(reasons)


@pytest.mark.parametrize(("workers", "batch_size"), [(1, 1), (2, 4)])
def test_wrong_answers_cost_their_own_trials(make_corpus, tmp_path, workers, batch_size):
    toy = Toy(each=dict(zip(range(103, 200), WRONG_ANSWERS, strict=False)), batch_size=batch_size)
    reasons = {samples: WRONG_ANSWERS[behavior] for samples, behavior in toy.each.items()}
    check_costs(make_corpus, tmp_path, toy, reasons, workers)


@pytest.mark.slow
@pytest.mark.parametrize(("workers", "batch_size"), [(1, 1), (2, 4)])
@pytest.mark.parametrize(
    ("behavior", "reason"),
    [
        ("dies", "exited with code 7"),
        ("killed", "was killed by SIGKILL"),
        ("hangs", "no answer within 1.5 s"),
    ],
)
def test_a_process_that_ends_or_hangs_costs_its_own_trials(
    make_corpus, tmp_path, behavior, reason, workers, batch_size
):
    toy = Toy(behavior, bad=(103, 104), batch_size=batch_size)
    scenarios = [] if behavior == "hangs" else SCENARIOS  # every time that it hangs takes 1.5 s
    check_costs(make_corpus, tmp_path, toy, dict.fromkeys(toy.bad, reason), workers, scenarios)


@pytest.mark.parametrize("behavior", ["raises", "dies", "none"])
def test_a_passing_fault_is_retried(make_corpus, tmp_path, behavior):
    toy = Toy(behavior, bad=(102,), only_once=str(tmp_path / "mark"))
    run = run_trials(
        make_corpus(3), {"toy": toy}, [], out=tmp_path / "run", workers=1, cache=False, progress=False
    )
    assert run.failures.is_empty()


@pytest.mark.parametrize(
    ("behavior", "message"),
    [("cannot load", "the model file is missing"), ("dies loading", "exited with code 3")],
)
def test_a_recognizer_that_cannot_be_loaded_stops_the_run_with_one_line(
    make_corpus, tmp_path, behavior, message
):
    with pytest.raises(VoxauditError) as caught:
        run_trials(
            make_corpus(3), {"toy": Toy(behavior)}, [], out=tmp_path / "run", cache=False, progress=False
        )
    assert "recognizer 'toy'" in str(caught.value)
    assert message in str(caught.value)


def test_a_recognizer_that_gives_up_for_good_stops_the_run_and_keeps_what_it_heard(make_corpus, tmp_path):
    corpus = make_corpus(6)
    toy = Toy("refused", bad=(104,), journal=str(tmp_path / "before"))
    with pytest.raises(VoxauditError, match="recognizer 'toy': the service refused the key"):
        run_trials(corpus, {"toy": toy}, [], out=tmp_path / "run", workers=1, cache=False, progress=False)
    before = set((tmp_path / "before").read_text().split()) - {"104"}
    journal = tmp_path / "journal"
    repaired = Toy(journal=str(journal))
    run = run_trials(
        corpus, {"toy": repaired}, [], out=tmp_path / "run", workers=1, cache=False, progress=False
    )
    assert run.failures.is_empty()
    assert before
    assert sorted(journal.read_text().split()) == sorted({str(101 + n) for n in range(6)} - before)


def test_what_a_recognizer_prints_goes_to_the_log(make_corpus, tmp_path, capfd):
    run = run_trials(
        make_corpus(3), {"toy": Toy("prints")}, [], out=tmp_path / "run", cache=False, progress=False
    )
    assert run.failures.is_empty()
    log = (tmp_path / "run" / "workers.log").read_text()
    assert "noise on standard output" in log
    assert "and on stderr" in log
    assert capfd.readouterr() == ("", "")


def test_a_recognizer_that_never_answers_is_stopped_early(make_corpus, tmp_path):
    bad = tuple(range(101, 161))
    with pytest.raises(VoxauditError, match=r"failed its first \d+ trials"):
        run_trials(
            make_corpus(60),
            {"toy": Toy("raises", bad=bad)},
            [],
            out=tmp_path / "run",
            cache=False,
            progress=False,
        )


def test_unreadable_audio_costs_its_own_trials_and_is_listed(make_corpus, tmp_path):
    corpus = make_corpus(6)
    (tmp_path / "audio" / "clip1.wav").write_text("not audio")
    (tmp_path / "audio" / "clip4.wav").unlink()
    run = run_trials(corpus, {"toy": Toy()}, SCENARIOS, out=tmp_path / "run", cache=False, progress=False)
    failures = run.failures
    assert sorted(set(failures["utterance"])) == ["u1", "u4"]
    assert failures.height == 4
    assert all(reason.startswith("audio: ") and "clip" in reason for reason in failures["failure"])
