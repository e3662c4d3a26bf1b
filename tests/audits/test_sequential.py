"""Stopping early: who is heard, when a cell stops, what is left behind."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
import soundfile

from voxaudit.answer import RefusedError
from voxaudit.audits.sequential.audit import Goal, plan_order, sequential
from voxaudit.cli.main import main
from voxaudit.corpus import read_corpus
from voxaudit.errors import VoxauditError
from voxaudit.recognize import make_recognizer
from voxaudit.run import open_run
from voxaudit.run.progress import Progress
from voxaudit.stats.sequential import RATE_LOOK, Rates, walk

WORDS = "one two three four five six seven eight nine ten"
ENGINE = f"""
from pathlib import Path
JOURNAL = Path(__file__).parent / "journal"
WORDS = {WORDS!r}.split()

def hear(samples, rate):
    with JOURNAL.open("a") as file:
        file.write("x\\n")
    wrong = round(float(samples.max()) * 20)
    return " ".join(WORDS[: 10 - wrong])
"""


def scores(people, *, scenarios=("clean",), utterances=2, wrong=None):
    """A scores table: `people` maps speaker to group, `wrong(speaker, group, scenario)` gives errors of 10 words."""
    rows = [
        {
            "utterance": f"{speaker}-{number}",
            "speaker": speaker,
            "scenario": scenario,
            "recognizer": "mine",
            "hits": 10 - wrong(speaker, group, scenario),
            "substitutions": wrong(speaker, group, scenario),
            "deletions": 0,
            "insertions": 0,
            "words": 10,
            "characters": 50,
            "character_errors": 0,
            "group": group,
        }
        for speaker, group in people.items()
        for scenario in scenarios
        for number in range(utterances)
    ]
    return pl.DataFrame(rows)


def people(first, second):
    return {f"a{n:03}": "a" for n in range(first)} | {f"b{n:03}": "b" for n in range(second)}


def planted(speaker, group, scenario):
    """One more error for group b in `noise`; none anywhere else; speakers differ."""
    return int(speaker[1:]) % 3 + (5 if group == "b" and scenario == "noise" else 0)


@pytest.fixture
def corpus(tmp_path):
    (tmp_path / "engine.py").write_text(ENGINE)
    lines = ["id,audio,speaker,text,gender"]
    for speaker, group in people(12, 12).items():
        for number in range(2):
            path = tmp_path / f"{speaker}-{number}.wav"
            wrong = int(speaker[1:]) % 2 + (6 if group == "b" else 0)
            soundfile.write(path, np.full(1600 + len(lines), wrong / 20, np.float32), 16000, subtype="FLOAT")
            lines.append(f"{speaker}-{number},{path.name},{speaker},{WORDS},{group}")
    manifest = tmp_path / "manifest.csv"
    manifest.write_text("\n".join(lines))
    return manifest


def engine(folder):
    return {"mine": make_recognizer({"engine": "python", "callable": str(folder / "engine.py") + ":hear"})}


def calls(folder):
    return len((folder / "journal").read_text().splitlines())


def test_a_planted_gap_is_shown_early_and_its_absence_too():
    table = scores(people(80, 80), scenarios=("clean", "noise"), wrong=planted)
    answer = sequential(table, margin=0.1, attribute="group")
    found = answer.detail
    by = {gap.scenario: gap for gap in found.gaps}
    assert by["noise"].verdict == by["noise"].stopped == "shown"
    assert by["noise"].pairs < 15
    assert by["noise"].gap == pytest.approx(0.5, abs=0.1)
    assert by["noise"].low < 0.5 < by["noise"].high
    assert by["clean"].verdict == "alike"
    assert by["clean"].pairs < 60
    assert found.trials == 2 * 2 * (by["noise"].pairs + by["clean"].pairs)
    assert found.grid == 2 * 2 * 160
    # Findings, tables and sentences say the same.
    shown = answer.finding("sequential/mine/noise/group/b/wer_gap")
    assert (shown.verdict, shown.estimate, shown.low, shown.high) == (
        *("shown", by["noise"].gap),
        *(by["noise"].low, by["noise"].high),
    )
    assert (
        f"gets {100 * shown.estimate:.1f} percentage points more words wrong for b speakers (group)"
        in shown.sentence
    )
    assert f"than for a speakers under noise ({100 * shown.low:+.1f} to" in shown.sentence
    alike = answer.finding("sequential/mine/clean/group/b/wer_gap")
    assert alike.sentence.startswith(
        "mine serves b and a speakers (group) alike on clean speech, within 10 percentage"
    )
    assert answer.finding("sequential/trials").estimate == found.trials
    assert answer.tables["gaps"]["verdict"].to_list() == ["alike", "shown"]
    assert answer.question["against"] == "a"


def test_the_limits_of_a_shown_gap_exclude_zero_and_of_an_open_one_do_not():
    for seed in range(5):
        table = scores(people(30, 30), scenarios=("clean", "noise"), wrong=planted)
        for gap in sequential(table, each=True, margin=None, attribute="group", seed=seed).detail.gaps:
            assert (gap.low is not None and (gap.low > 0 or gap.high < 0)) == (gap.verdict == "shown")


def test_a_patient_audit_hears_all_and_a_hopeless_one_gives_up():
    table = scores(people(30, 30), wrong=lambda speaker, group, scenario: int(speaker[1:]) % 7)
    patient = sequential(table, margin=None, patient=True, attribute="group").detail
    answer = sequential(table, margin=None, attribute="group")
    hasty = answer.detail
    assert (patient.gaps[0].stopped, patient.trials) == ("exhausted", patient.grid)
    assert (hasty.gaps[0].stopped, hasty.gaps[0].verdict) == ("hopeless", "not_shown")
    [finding] = [one for one in answer.findings if one.measure == "wer_gap"]
    assert finding.sentence.endswith("a verdict is out of reach.")
    assert finding.excludes in (finding.low, finding.high)
    assert hasty.trials < patient.trials


def test_precision_stops_a_rate_that_is_known_well_enough():
    table = scores(people(60, 60), wrong=lambda speaker, group, scenario: int(speaker[1:]) % 2)
    answer = sequential(table, precision=0.05)
    [rate] = answer.detail.rates
    finding = answer.finding("sequential/mine/clean/wer")
    assert (finding.verdict, finding.estimate, finding.low) == ("measured", rate.wer, rate.low)
    assert rate.stopped == "narrow"
    assert RATE_LOOK <= rate.speakers < 120
    assert (rate.high - rate.low) / 2 <= 0.05
    assert rate.low < 0.05 < rate.high
    exact = sequential(table, precision=0.001).detail
    assert (exact.rates[0].stopped, exact.rates[0].speakers) == ("exhausted", 120)
    each = sequential(table, precision=0.05, only_precision=True, attribute="group").detail
    assert [rate.group for rate in each.rates] == ["a", "b"]
    assert not each.gaps


def test_speakers_without_an_error_do_not_fix_a_rate_at_once():
    rates = Rates(np.array([[100]]), np.array([[20.0]]), 0.05)
    for _ in range(RATE_LOOK):
        rates.add((np.array([0]), np.array([0])), np.array([0.0]), np.array([20.0]))
    low, high = rates.limits()
    assert low[0, 0] == 0.0
    assert 3.0 / 400 < high[0, 0] < 0.2  # not below the rule of three


def test_fewer_utterances_a_speaker_aim_at_the_same_rate():
    # Speakers who say more are worse: a subsample that forgot it would be far too good.
    rows = []
    for n in range(60):
        said = 1 if n % 2 else 10
        rows.append(
            scores({f"s{n:03}": "a"}, utterances=said, wrong=lambda *_, said=said: 1 if said == 1 else 5)
        )
    table = pl.concat(rows)
    every, some = (sequential(table, precision=1e-6, per_speaker=m).detail for m in (None, 1))
    assert some.trials == 60
    assert every.trials == table.height
    assert some.rates[0].wer == pytest.approx(every.rates[0].wer)
    assert every.rates[0].wer == pytest.approx((30 * 1 + 30 * 50) / (30 * 10 + 30 * 100))


def test_groups_fill_evenly_and_the_seed_fixes_the_order():
    table = pl.DataFrame(
        {
            "id": [str(n) for n in range(40)],
            "speaker": [f"s{n}" for n in range(40)],
            "words": [10] * 40,
            "group": ["a"] * 25 + ["b"] * 12 + ["c"] * 3,
        }
    )
    order, again, other = (plan_order(table, "group", where="t", seed=seed) for seed in (1, 1, 2))
    assert order.speakers == again.speakers
    assert order.speakers != other.speakers
    assert order.names == ("a", "b")
    assert order.left_out == ("c",)
    assert (order.pairs(1), order.rounds) == (12, 25)
    met = []

    def hear(wanted):
        met.append([order.speakers[who] for _, who in wanted])
        return np.array([len(met) % 2 + 0.0 for _ in wanted]), np.full(len(wanted), 10.0)

    walk(1, order, Goal(margin=None, give_up=False), hear)
    assert len(met) == 12  # when the smaller group is used up there are no more pairs
    assert all(len(round_) == 2 for round_ in met)


def test_cells_meet_the_same_speakers_in_the_same_round():
    table = scores(people(40, 40), scenarios=("clean", "noise"), wrong=planted)
    order = plan_order(
        table.unique("utterance").rename({"utterance": "id"}).select("id", "speaker", "words", "group"),
        "group",
        where="t",
    )
    rounds = []

    def hear(wanted):
        rounds.append({who for _, who in wanted})
        return np.array([1.0 + who % 3 for _, who in wanted]), np.full(len(wanted), 20.0)

    walk(2, order, Goal(), hear)
    for number, who in enumerate(rounds):
        assert who <= {group[number] for group in order.groups}


def test_what_nobody_could_hear_is_left_out():
    table = scores(people(30, 30), wrong=planted).filter(pl.col("speaker") != "a003")
    missing = pl.concat([table, scores({"a003": "a"}, scenarios=("noise",), wrong=planted)])
    found = sequential(missing, patient=True, margin=None, attribute="group").detail
    assert found.gaps[0].pairs == 29


@pytest.mark.parametrize(
    ("table", "options", "says"),
    [
        (scores(people(6, 6), wrong=planted), {}, "nothing to stop for"),
        (scores(people(6, 6), wrong=planted), {"attribute": "groop"}, "Did you mean: group"),
        (scores(people(6, 1), wrong=planted), {"attribute": "group"}, "a (6), b (1)"),
        (
            scores(people(6, 6), wrong=planted),
            {"attribute": "group", "against": "c"},
            "no speaker has group 'c'",
        ),
        (
            scores(people(6, 6), wrong=planted),
            {"attribute": "group", "per_speaker": 0},
            "per_speaker must be at least 1, not 0",
        ),
        (
            scores(people(6, 6), wrong=planted).with_columns(speaker=pl.lit(None, pl.String)),
            {"attribute": "group"},
            "needs a speaker column",
        ),
        (
            scores(people(6, 6), wrong=planted).with_columns(group=pl.col("utterance").str.slice(-1)),
            {"attribute": "group"},
            "is in several groups",
        ),
        (scores(people(2, 2), wrong=planted), {"precision": 0.1}, "at least 5"),
        (scores(people(6, 6), wrong=planted).drop("words"), {"precision": 0.1}, "no column 'words'"),
    ],
)
def test_refusals_say_what_is_missing(table, options, says):
    with pytest.raises(VoxauditError, match="(?s)" + says.replace("(", r"\(").replace(")", r"\)")):
        sequential(table, **options)


def test_refusals_have_codes():
    for table, options, code in (
        (scores(people(6, 1), wrong=planted), {"attribute": "group"}, "too_few_speakers"),
        (scores(people(6, 0), wrong=planted), {"attribute": "group"}, "one_group"),
        (
            scores(people(6, 6), wrong=planted).with_columns(group=pl.col("utterance").str.slice(-1)),
            {"attribute": "group"},
            "speakers_in_several_groups",
        ),
        (scores(people(2, 2), wrong=planted), {"precision": 0.1}, "too_few_speakers"),
    ):
        with pytest.raises(RefusedError) as caught:
            sequential(table, **options)
        assert caught.value.refusal.code == code
    three = people(8, 8) | {"c000": "c"}
    answer = sequential(scores(three, wrong=planted), attribute="group")
    assert [(one.code, one.facts["groups"]) for one in answer.refusals] == [("too_few_speakers", ["c"])]


def test_a_live_audit_stops_resumes_and_leaves_a_run_folder(corpus, tmp_path):
    out = tmp_path / "run"

    def audit():
        return sequential(
            read_corpus(corpus),
            engine(tmp_path),
            scenarios=("amp:theta=1",),
            out=out,
            attribute="gender",
            cache=False,
            workers=1,
        )

    answer = audit()
    found = answer.detail
    assert [gap.verdict for gap in found.gaps] == ["shown", "shown"]
    assert calls(tmp_path) == found.trials == found.heard < found.grid == 96
    config = json.loads((out / "run.json").read_text())
    assert config["sequential"]["trials"] == found.trials
    assert {stop["stopped"] for stop in config["sequential"]["stopped"]} == {"shown"}
    assert config["normalizer"].startswith("basic@")
    table = open_run(out).scores
    assert table.height == found.trials
    assert set(table["gender"]) == {"a", "b"}
    again = audit()
    assert (again.detail.trials, again.detail.heard) == (found.trials, 0)
    assert calls(tmp_path) == found.trials  # nothing was heard twice
    assert again.findings == answer.findings
    # Read again, as the command of every finding says, it is the same to the last digit.
    assert {one.command for one in answer.findings} == {"voxaudit sequential RUN"}
    for source in (out, open_run(out)):
        assert sequential(source).findings == answer.findings
    (out / "sequential.json").write_text("[]")
    with pytest.raises(RefusedError, match="not the findings of a run that stopped early"):
        sequential(out)


@pytest.mark.slow
def test_the_same_recording_under_two_names_is_two_trials(corpus, tmp_path):
    (tmp_path / "a000-1.wav").write_bytes((tmp_path / "a000-0.wav").read_bytes())
    out = tmp_path / "run"
    found = sequential(
        read_corpus(corpus),
        engine(tmp_path),
        scenarios=("clean",),
        out=out,
        precision=0.001,
        cache=False,
        workers=1,
    ).detail
    assert found.rates[0].stopped == "exhausted"
    assert found.trials == open_run(out).scores.height == 48
    assert calls(tmp_path) == 47


@pytest.mark.slow
def test_a_failing_speaker_costs_only_itself(corpus, tmp_path):
    (tmp_path / "a003-0.wav").write_bytes(b"not audio")
    (tmp_path / "a003-1.wav").write_bytes(b"not audio")
    found = sequential(
        read_corpus(corpus),
        engine(tmp_path),
        scenarios=("clean",),
        out=tmp_path / "run",
        patient=True,
        alpha=1e-9,
        attribute="gender",
        cache=False,
        workers=1,
    ).detail
    assert found.gaps[0].pairs == 11
    assert found.gaps[0].stopped == "exhausted"


def test_the_command_hears_and_replays(corpus, tmp_path, capsys):
    config = tmp_path / "audit.toml"
    config.write_text(
        f'[corpus]\npath = "manifest.csv"\nattributes = ["gender"]\n'
        f'[scenarios]\nuse = ["clean"]\n[run]\nout = "run"\ncache = false\nworkers = 1\n'
        f'[recognizers.mine]\nengine = "python"\ncallable = "{tmp_path / "engine.py"}:hear"\n'
    )
    # `voxaudit run` with a goal is the audit of a configured run.
    assert main(["run", str(config), "--decide", "gender", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    gap = next(one for one in document["findings"] if one["measure"] == "wer_gap")
    assert gap["verdict"] == "shown"
    found = json.loads((tmp_path / "run" / "sequential.json").read_text())
    assert found["trials"] < found["grid"] == 48
    # The same again hears nothing; neither does reading it again.
    before = calls(tmp_path)
    assert main(["run", str(config), "--decide", "gender", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["findings"] == document["findings"]
    assert calls(tmp_path) == before == found["trials"]
    # The corpus and the recognizer named, the numbers are the same.
    hear = ["sequential", str(corpus), "--recognizers", f"python:{tmp_path / 'engine.py'}:hear"]
    hear += ["--scenarios", "clean", "--attribute", "gender", "--out", str(tmp_path / "other"), "--no-cache"]
    assert main([*hear, "--workers", "1", "--json"]) == 0
    named = json.loads(capsys.readouterr().out)["findings"]
    assert [one["estimate"] for one in named] == [one["estimate"] for one in document["findings"]]
    assert calls(tmp_path) == 2 * before
    # Without a goal the folder is read again; with one it is replayed.
    assert main(["sequential", str(tmp_path / "run"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["findings"] == document["findings"]
    assert main(["sequential", str(tmp_path / "run"), "--attribute", "gender", "--margin", "0.01"]) == 0
    shown = capsys.readouterr().out
    assert "percentage points" in shown
    assert "for b speakers (gender) than for a" in shown or "for a speakers (gender) than for b" in shown
    assert "was stopped early itself" in shown
    assert main(["sequential", str(tmp_path / "run"), "--attribute", "color"]) == 2
    assert "no column 'color'" in capsys.readouterr().err
    assert main(["sequential", str(config), "--attribute", "gender"]) == 2
    assert "`voxaudit run`" in capsys.readouterr().err


def test_each_group_is_compared_with_the_reference():
    three = people(40, 40) | {f"c{n:03}": "c" for n in range(40)}
    table = scores(three, wrong=lambda speaker, group, _: int(speaker[1:]) % 3 + (6 if group == "c" else 0))
    found = sequential(table, margin=0.1, attribute="group", against="b").detail
    assert {(gap.group, gap.against, gap.verdict) for gap in found.gaps} == {
        ("a", "b", "alike"),
        ("c", "b", "shown"),
    }
    # Group c is heard no longer than its own comparison takes.
    heard = {rate.group: rate.speakers for rate in found.rates}
    assert heard["c"] < heard["a"] == heard["b"]


def test_a_gap_that_skewness_can_feign_is_doubtful():
    def feigned(speaker, group, _):
        number = int(speaker[1:])
        return 6 + number % 2 if group == "b" else (8 if number % 4 == 0 else 0)

    def honest(speaker, group, _):
        return 1 + int(speaker[1:]) % 2 + (5 if group == "b" else 0)

    doubtful, sound = (
        sequential(scores(people(40, 40), wrong=wrong), attribute="group") for wrong in (feigned, honest)
    )
    first, second = doubtful.detail.gaps[0], sound.detail.gaps[0]
    assert first.verdict == second.verdict == "shown"
    assert 0.0 < first.spread_ratio < 0.4 < second.spread_ratio < 2.5
    assert [note.text[:22] for note in doubtful.notes if note.code == "doubtful"] == [
        "doubtful: mine clean. "[:22]
    ]
    assert "doubtful" not in {note.code for note in sound.notes}


def test_scenarios_without_words_take_no_part():
    table = scores(people(20, 20), wrong=planted)
    silent = table.with_columns(scenario=pl.lit("silence"), words=pl.lit(0, pl.Int64))
    found = sequential(pl.concat([table, silent]), attribute="group").detail
    assert {gap.scenario for gap in found.gaps} == {"clean"}


@pytest.mark.slow
def test_an_interrupted_audit_goes_on_where_it_was(corpus, tmp_path, monkeypatch):
    def audit():
        return sequential(
            read_corpus(corpus),
            engine(tmp_path),
            scenarios=("clean",),
            out=tmp_path / "run",
            attribute="gender",
            cache=False,
            workers=1,
        ).detail

    def stop(*_, **__):
        if calls(tmp_path) >= 8:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Progress, "advance", stop)
        with pytest.raises(KeyboardInterrupt):
            audit()
    before = calls(tmp_path)
    found = audit()
    assert 8 <= before < found.trials
    assert calls(tmp_path) == found.trials
    assert found.heard == found.trials - before


def test_silence_has_no_error_rate_to_wait_for(corpus, tmp_path):
    with pytest.raises(VoxauditError, match="leaves no speech"):
        sequential(
            read_corpus(corpus),
            engine(tmp_path),
            scenarios=("silence",),
            out=tmp_path / "run",
            attribute="gender",
        )


@pytest.mark.parametrize(
    ("scenarios", "out", "says"),
    [
        (("pgd:1",), "run", "scenario 'pgd:1' needs"),
        (("clean",), "s3://bucket/run", "a run works in a folder on this machine"),
    ],
)
def test_what_a_run_refuses_is_refused_here_too(corpus, tmp_path, monkeypatch, scenarios, out, says):
    monkeypatch.chdir(tmp_path)
    before = set(tmp_path.iterdir())
    with pytest.raises(VoxauditError, match=says):
        sequential(read_corpus(corpus), engine(tmp_path), scenarios=scenarios, out=out, attribute="gender")
    assert {path.name for path in set(tmp_path.iterdir()) - before} <= {"engine.py", "journal"}


def test_workers_and_goals_that_cannot_be_are_told_first(corpus, tmp_path):
    for options, says in (
        ({"workers": 0}, "workers must be at least 1, not 0"),
        ({"timeout": 0.0}, "timeout must be above 0, not 0"),
        ({"per_speaker": 0}, "per_speaker must be at least 1, not 0"),
        ({"attribute": None}, "nothing to stop for: give a precision, an attribute"),
        ({"out": None}, "name a folder"),
        ({"max_cost": 3.0}, "keeps no budget"),
    ):
        with pytest.raises(VoxauditError, match=says):
            sequential(
                read_corpus(corpus),
                engine(tmp_path),
                scenarios=("clean",),
                **{"out": tmp_path / "run", "attribute": "gender", **options},
            )
    with pytest.raises(VoxauditError, match="name the recognizers"):
        sequential(read_corpus(corpus), attribute="gender")
    with pytest.raises(VoxauditError, match="precision must lie between 0 and 1"):
        Goal(precision=2.0)
    assert not (tmp_path / "run").exists()
