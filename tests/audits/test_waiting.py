"""Waiting: percentiles by hand, trials without an answer, traces, and groups."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import voxaudit
from voxaudit.answer import RefusedError
from voxaudit.config import read_gates
from voxaudit.errors import VoxauditError
from voxaudit.recognize import make_recognizer
from voxaudit.report.gates import judge
from voxaudit.stats.quantiles import quantile_limits


def measured(answer, measure):
    return next(one for one in answer.findings if one.measure == measure)


def test_percentiles_are_order_statistics_of_all_answers():
    rows = {
        "utterance": [f"u{n}" for n in range(100)],
        "latency_ms": np.random.default_rng(1).permutation(100) * 10 + 10,
    }
    rows |= {"duration": [2.0] * 100, "speaker": [f"s{n % 20}" for n in range(100)]}
    answer = voxaudit.waiting(pl.DataFrame(rows))
    assert [measured(answer, f"{name}_seconds").estimate for name in ("p50", "p95", "p99")] == [
        0.5,
        0.95,
        0.99,
    ]
    table = answer.tables["recognizers"].row(0, named=True)
    assert table["speed"] == pytest.approx(0.505 / 2.0)
    assert table["p50_low"] < 0.5 < table["p50_high"]
    assert table["p99_high"] is None, "beyond the slowest of so few there is no limit"


def test_what_never_came_is_later_than_all_that_did():
    rows = {
        "utterance": list("abcdefghij"),
        "seconds": [1.0] * 8 + [0.1, 0.1],
        "failure": [None] * 8 + ["lost"] * 2,
    }
    answer = voxaudit.waiting(pl.DataFrame(rows), give_up=30.0)
    assert measured(answer, "p50_seconds").estimate == 1.0
    assert measured(answer, "p95_seconds").estimate == 30.0
    assert (
        "within 30.00 seconds or more (10 trials, 2 without an answer)"
        in measured(answer, "p95_seconds").sentence
    )
    assert measured(voxaudit.waiting(pl.DataFrame(rows)), "p95_seconds").estimate == 1.0, "the longest of all"


def test_times_that_were_not_measured_are_left_out_and_said():
    rows = {"utterance": list("abc"), "latency_ms": [100, None, 300]}
    answer = voxaudit.waiting(pl.DataFrame(rows))
    assert [str(note) for note in answer.notes] == ["1 trial without a time left out"]
    assert measured(answer, "p50_seconds").utterances == 2
    with pytest.raises(RefusedError, match="there are no times"):
        voxaudit.waiting(pl.DataFrame({"utterance": ["a"], "text": ["yes"]}))


def group_table(longer):
    generator = np.random.default_rng(3)
    speaker = np.repeat(np.arange(40), 6)
    seconds = generator.lognormal(0.0, 0.3, 40)[speaker] * generator.lognormal(0.0, 0.2, 240)
    rows = {"utterance": [f"u{n}" for n in range(240)], "speaker": [f"s{n:02}" for n in speaker]}
    return pl.DataFrame(rows).with_columns(
        accent=pl.Series(np.where(speaker < 22, "native", "other")),
        seconds=pl.Series(np.where(speaker < 22, seconds, longer * seconds)),
        duration=pl.lit(3.0),
    )


def test_a_group_that_waits_twice_as_long_is_shown_and_one_that_does_not_is_not():
    answer = voxaudit.waiting(group_table(2.0), attributes="accent")
    found = measured(answer, "seconds_ratio")
    assert (found.verdict, found.group, found.against) == ("shown", "other", "native")
    assert found.low < 2.0 < found.high
    assert "takes longer to answer for other speakers (accent) than for native speakers" in found.sentence
    alike = measured(voxaudit.waiting(group_table(1.0), attributes="accent"), "seconds_ratio")
    assert alike.verdict == "not_shown"
    assert "is not shown to take longer to answer" in alike.sentence


# Traces

TRACE = [
    ("a", 1.0, 1.1, "turn", False), ("a", 2.0, 2.2, "turn of", False), ("a", 3.0, 3.2, "turn off", False),
    ("a", 3.0, 3.4, "turn off", True), ("a", 4.0, 4.3, "the light", True),
    ("b", 2.0, 2.5, "stop", True), ("b", 3.0, 3.0, "", False),
]  # fmt: skip


def trace_file(path):
    names = ("utterance", "sent_s", "received_s", "text", "final")
    rows = [dict(zip(names, one, strict=True)) | {"recognizer": "live", "speaker": one[0]} for one in TRACE]
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def test_a_trace_of_any_client_tells_first_text_words_taken_back_and_cuts(tmp_path):
    answer = voxaudit.waiting(trace_file(tmp_path / "trace.jsonl"))
    table = answer.tables["listening-recognizers"].row(0, named=True)
    assert table["first_p50"] == 1.1
    assert table["final_p95"] == pytest.approx(0.3), "after the last audio was sent"
    assert table["taken"] == pytest.approx(1 / 5), "of was taken back; five words are final"
    assert table["cut"] == pytest.approx(1 / 2), "the first of two speakers went on after a final text"
    assert measured(answer, "p50_seconds").estimate == 0.0, "stop was final before the recording ended"


def test_audio_sent_faster_than_it_is_spoken_has_no_times_but_words():
    rows = [("a", 5.0, 0.2, "go", False), ("a", 5.0, 0.3, "no", True)]
    frame = pl.DataFrame(rows, schema=["utterance", "sent_s", "received_s", "text", "final"], orient="row")
    answer = voxaudit.waiting(frame.with_columns(seconds=0.4))
    assert [note.code for note in answer.notes] == ["not_live"]
    assert measured(answer, "taken_back").estimate == 1.0
    assert measured(answer, "p50_seconds").estimate == 0.4


@pytest.mark.parametrize("text", ["", "go"])
def test_a_trace_of_which_no_time_is_known_has_no_table_of_waiting(text):
    """Nothing was said, or audio was sent faster than it is spoken, of every utterance."""
    row = {"utterance": "a", "sent_s": 9.0, "received_s": 0.5, "text": text, "final": True}
    answer = voxaudit.waiting(pl.DataFrame([row]))
    assert list(answer.tables) == ["listening-recognizers"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sent_s": "x"}, "row 2, column 'sent_s': 'x' is not a time"),
        ({"received_s": None}, "row 2, column 'received_s': None is not a time"),
        ({"received_s": "inf"}, "row 2, column 'received_s': 'inf' is not a time"),
        ({"text": ["a"]}, "column 'text' of this trace holds List"),
        ({"final": [True]}, "column 'final' of this trace holds List"),
        ({"utterance": ["a"]}, "column 'utterance' of this trace holds List"),
    ],
    ids=range(6),
)
def test_a_trace_that_is_none_is_one_line(tmp_path, change, message):
    good = {"utterance": "a", "sent_s": 1.0, "received_s": 1.2, "text": "go", "final": True}
    rows = [{**good, **({key: [value] for key, value in good.items() if isinstance(change.get(key), list)})}]
    rows.append({**good, **change})
    (tmp_path / "trace.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(VoxauditError) as caught:
        voxaudit.waiting(tmp_path / "trace.jsonl")
    assert message in str(caught.value)


def test_listening_is_set_beside_whole_recordings():
    rows = []
    for n in range(24):
        trace = json.dumps([[1.0, 1.1, "a b", False], [2.0, 2.2, "a b c x" if n % 2 else "a b c d", True]])
        common = {"utterance": f"u{n}", "speaker": f"s{n % 8}", "reference": "a b c d", "duration": 2.0}
        rows += [
            common
            | {"recognizer": "x_streaming", "text": json.loads(trace)[-1][2], "trace": trace, "seconds": 0.1},
            common | {"recognizer": "x", "text": "a b c d", "trace": None, "seconds": 0.1},
        ]
    found = measured(voxaudit.waiting(pl.DataFrame(rows)), "streaming_wer_change")
    assert found.estimate == pytest.approx(0.125)
    assert (found.recognizer, found.against, found.speakers) == ("x_streaming", "x", 8)
    assert "makes 12.5 % word errors while listening, x 0.0 % with whole recordings" in found.sentence


def test_a_trace_goes_into_a_run_as_transcripts_do(tmp_path):
    found = make_recognizer(f"transcripts:{trace_file(tmp_path / 'trace.jsonl')}").lookup(["a", "b", "c"])
    assert {key: one.text for key, one in found.items()} == {"a": "turn off the light", "b": "stop"}
    assert [one.final for one in found["a"].messages] == [False, False, False, True, True]


# Gates and intervals


def test_the_gate_looks_at_the_95th_percentile(tmp_path):
    from types import SimpleNamespace

    answer = voxaudit.waiting(group_table(1.0))
    run = SimpleNamespace(config={"recognizers": {"recognizer": {}}})
    for limit, passed in ((1.0, False), (9.0, True)):
        gates = read_gates({"p95_seconds": limit}, tmp_path / "audit.toml", ["recognizer"])
        [result] = judge(run, answer.findings, gates)
        assert result.passed is passed
        assert f"p95_seconds allows {'' if passed else 'only '}{limit:g}" in result.sentence


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.5, 0.95])
def test_percentile_limits_cover_what_they_say(share):
    generator, speaker, misses = np.random.default_rng(5), np.repeat(np.arange(40), 8), 0
    truth = np.exp(np.sqrt(0.5) * np.quantile(generator.standard_normal(2_000_000), share))
    for _ in range(400):
        values = np.exp(0.5 * generator.standard_normal(40)[speaker] + 0.5 * generator.standard_normal(320))
        _, low, high = quantile_limits(values, speaker, share)
        misses += not (low or 0.0) <= truth <= (high or np.inf)
    assert misses / 400 < 0.08
