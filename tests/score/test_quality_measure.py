"""Measuring: PESQ and its refusals, once per utterance and scenario, samples, dying processes, the command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

from voxaudit import audio
from voxaudit.audio import Audio
from voxaudit.audits.quality.audit import quality
from voxaudit.cli.main import main
from voxaudit.corpus import Corpus
from voxaudit.corpus.base import COLUMNS
from voxaudit.errors import VoxauditError
from voxaudit.perturb import Perturbation, Scenario
from voxaudit.recognize.files import installed
from voxaudit.run import Run
from voxaudit.run.folder import write_config
from voxaudit.score.quality import difficulties, measure, measure_quality, pesq_score, worker
from voxaudit.score.quality.measure import sampling_order
from voxaudit.score.quality.measures import LONGEST, PesqRefusedError
from voxaudit.score.quality.measures import measure as measure_groups
from voxaudit.score.quality.worker import Job, Task, measure_tasks

RATE = 16_000
needs_dnsmos = pytest.mark.skipif(
    not (installed("onnxruntime") and installed("speechmos")), reason="voxaudit[quality] is not installed"
)
needs_pesq = pytest.mark.skipif(not installed("pesq"), reason="pesq is not installed")


def speech_like(seconds: float = 1.2, rate: int = RATE, seed: int = 0) -> Audio:
    """Return voiced bursts with pauses: enough for PESQ to find utterances."""
    generator = np.random.default_rng(seed)
    time = np.arange(round(seconds * rate)) / rate
    tone = sum(np.sin(2 * np.pi * 140 * k * time + generator.uniform(0, 6)) / k for k in range(1, 20))
    samples = 0.1 * tone * (np.sin(2 * np.pi * 1.3 * time) > -0.3) + 1e-4 * generator.standard_normal(
        len(time)
    )
    return Audio(samples.astype(np.float32), rate)


@pytest.fixture
def corpus(tmp_path) -> Corpus:
    rows = []
    for number in range(6):
        path = tmp_path / f"{number}.wav"
        audio.write(path, speech_like(0.8 + 0.1 * number, seed=number))
        rows.append({"id": f"u{number}", "audio": str(path), "speaker": f"s{number % 3}"})
    schema = {name: pl.Float64 if name in ("start", "duration") else pl.String for name in COLUMNS}
    return Corpus("made", "made", pl.DataFrame(rows, schema=schema))


@needs_pesq
@pytest.mark.parametrize(("rate", "mode"), [(16_000, "wb"), (8_000, "nb")])
def test_pesq_equals_the_package(rate, mode):
    from pesq import pesq

    clean = speech_like(2.0, rate)
    noisy = clean.samples + 0.01 * np.random.default_rng(1).standard_normal(len(clean.samples)).astype(
        np.float32
    )
    expected = pesq(rate, clean.samples, noisy, mode)
    assert pesq_score(clean, Audio(noisy, rate)) == expected
    assert 1.0 <= expected < 4.6


@needs_pesq
def test_pesq_of_a_long_recording_is_the_mean_of_its_pieces():
    clean = speech_like(2 * LONGEST)
    heard = Audio((clean.samples + np.linspace(0, 0.02, len(clean.samples)) * np.random.default_rng(0).normal(
        size=len(clean.samples))).astype(np.float32), RATE)  # fmt: skip
    half = len(clean.samples) // 2
    parts = [
        pesq_score(Audio(clean.samples[part], RATE), Audio(heard.samples[part], RATE))
        for part in (slice(None, half), slice(half, None))
    ]
    assert parts[0] != parts[1]
    assert pesq_score(clean, heard) == pytest.approx(np.mean(parts))


@needs_pesq
@pytest.mark.parametrize(
    ("clean", "heard", "reason"),
    [
        (np.zeros(RATE), np.ones(RATE) * 0.1, "the clean twin is silent"),
        (speech_like().samples, np.zeros(RATE), "silent"),
        (np.array([0.1]), np.array([0.1]), "quarter of a second"),
        (speech_like().samples, np.full(RATE, np.nan), "NaN"),
    ],
)
def test_pesq_says_why_there_is_no_score(clean, heard, reason):
    with pytest.raises(PesqRefusedError, match=reason):
        pesq_score(Audio(clean.astype(np.float32), RATE), Audio(heard.astype(np.float32), RATE))


@needs_dnsmos
def test_silence_has_reasons_instead_of_numbers():
    silence = Audio(np.zeros(RATE, np.float32), RATE)
    found = measure_groups(speech_like(), silence, ("p808", "snr"), "every")
    assert [(one.values, one.reason) for one in found] == [(None, "silent"), (None, "silent")]
    short = measure_groups(None, Audio(np.full(10, 0.1, np.float32), RATE), ("snr", "pesq"), "every")
    assert [one.reason for one in short] == ["shorter than 0.25 s", "no clean twin"]


def test_samples_are_nested_and_spread_over_speakers():
    table = pl.DataFrame({"id": [f"u{n}" for n in range(40)], "speaker": [f"s{n % 4}" for n in range(40)]})
    order = sampling_order(table, seed=3)
    assert sorted(order["id"]) == sorted(table["id"])
    for size in (4, 8, 20):
        assert order.head(size)["speaker"].value_counts()["count"].to_list() == [size // 4] * 4
    assert sampling_order(table.reverse(), seed=3)["id"].equals(order["id"])
    assert not sampling_order(table, seed=4)["id"].equals(order["id"])


@needs_dnsmos
def test_everything_is_measured_once(corpus, tmp_path, monkeypatch):
    scenarios = ["gaussian_noise:2", "gain:1"]
    store = tmp_path / "q.sqlite"
    first = measure_quality(corpus, scenarios, workers=1, store=store)
    assert first.height == 6 * 3
    assert first["scenario"].unique(maintain_order=True).to_list() == ["clean", *scenarios]
    assert first["dnsmos"].null_count() == first["snr"].null_count() == 0
    assert first.filter(scenario="clean")["pesq"].null_count() == 6
    if installed("pesq"):
        assert first["missing"].null_count() == first.height
        assert first.filter(pl.col("scenario") != "clean")["pesq"].is_between(1.0, 4.65).all()
    assert first["windows"].unique().to_list() == ["every"]

    def not_again(*_: object) -> None:
        raise AssertionError("measured twice")

    monkeypatch.setattr(worker, "measure", not_again)
    monkeypatch.setattr("voxaudit.score.quality.worker.audio.read", not_again)
    assert measure_quality(corpus, scenarios, workers=1, store=store).equals(first)
    smaller = measure_quality(corpus, scenarios, workers=1, store=store, utterances=3)
    assert smaller["speaker"].n_unique() == smaller["utterance"].n_unique() == 3


@needs_dnsmos
def test_processes_give_the_same_and_a_changed_recording_is_measured_again(corpus, tmp_path):
    alone = measure_quality(corpus, ["gaussian_noise:2"], workers=1, store=tmp_path / "one.sqlite")
    shared = measure_quality(corpus, ["gaussian_noise:2"], workers=2, store=tmp_path / "two.sqlite")
    assert shared.equals(alone)
    audio.write(corpus.table["audio"][0], speech_like(0.9, seed=77))
    again = measure_quality(corpus, ["gaussian_noise:2"], workers=1, store=tmp_path / "one.sqlite")
    changed = (again["dnsmos"] != alone["dnsmos"]).to_numpy()
    assert again.filter(pl.Series(changed))["utterance"].unique().to_list() == ["u0"]


@needs_dnsmos
def test_a_recording_that_is_gone_costs_its_own_rows(corpus, tmp_path):
    os.unlink(corpus.table["audio"][2])  # noqa: PTH108
    found = measure_quality(corpus, ["gain:1"], workers=1, store=tmp_path / "q.sqlite")
    lost = found.filter(utterance="u2")
    assert lost["dnsmos"].null_count() == 2
    assert lost["missing"].str.contains("cannot read this audio").all()
    assert found.filter(pl.col("utterance") != "u2")["dnsmos"].null_count() == 0


@needs_dnsmos
def test_the_sample_grows_until_more_does_not_help(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(measure, "FIRST_SAMPLE", 2)
    looks = iter([9.0, 5.0, 4.9])
    monkeypatch.setattr(measure, "_widest", lambda _: next(looks))
    found = measure_quality(corpus, ["gain:1", "gain:2"], workers=1, store=tmp_path / "q.sqlite")
    assert found["utterance"].n_unique() == 6  # 2, 4 (narrower by 4 of 9), then all there are
    monkeypatch.setattr(measure, "_widest", lambda _: 2.4)
    found = measure_quality(corpus, ["gain:1", "gain:2"], workers=1, store=tmp_path / "q.sqlite")
    assert found["utterance"].n_unique() == 2


def test_a_scenario_that_never_has_an_interval_does_not_keep_it_growing():
    """Four synthetic voices have no interval, however many of their utterances are measured."""
    rows = [
        (f"{scenario}{n}", f"{scenario}{n % voices}", scenario, 3.0 - place + 0.01 * (n % 7))
        for place, (scenario, voices) in enumerate(
            {"clean": 8, "music:1": 8, "gain:1": 8, "synthetic": 4}.items()
        )
        for n in range(16)
    ]
    table = pl.DataFrame(rows, orient="row", schema=["utterance", "speaker", "scenario", "dnsmos"])
    assert 0.0 < measure._widest(table) < 10.0


@needs_dnsmos
def test_without_any_difficulty_the_sample_stays_small(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(measure, "FIRST_SAMPLE", 2)
    for path in corpus.table["audio"]:
        audio.write(path, Audio(np.zeros(RATE, np.float32), RATE))
    found = measure_quality(corpus, ["gain:1", "gain:2"], workers=1, store=tmp_path / "q.sqlite")
    assert found["utterance"].n_unique() == 2


@needs_dnsmos
def test_a_slot_cannot_be_measured(corpus, tmp_path):
    with pytest.raises(VoxauditError, match="scenario 'pgd:1' needs an attack"):
        measure_quality(corpus, ["pgd:1"], workers=1, store=tmp_path / "q.sqlite")


@dataclass(frozen=True)
class Deadly(Perturbation):
    """Kills the process that applies it."""

    name: ClassVar[str] = "deadly"
    family: ClassVar[str] = "test"

    def __call__(self, samples, rate, generator):
        os._exit(3)


@needs_dnsmos
def test_a_process_that_dies_costs_the_scenario_that_killed_it(corpus):
    path = str(corpus.table["audio"][0])
    wanted = tuple((Scenario(name, kind), ("snr",)) for name, kind in (("clean", None), ("deadly", Deadly())))
    tasks = [Task(f"u{n}", path, 0.0, None, wanted) for n in range(2)]
    answers = list(measure_tasks(Job(0, "every"), tasks, workers=2))
    assert sorted(task.utterance for task, _ in answers) == ["u0", "u1"]
    for _, answer in answers:
        found = {scenario: some[0] for scenario, some in answer}
        assert found["clean"].values is not None
        assert found["deadly"].reason == "the measuring process died"


@needs_dnsmos
def test_a_script_needs_no_main_guard(corpus, tmp_path):
    corpus.table.select("audio", "speaker").write_csv(tmp_path / "m.csv")
    script = tmp_path / "script.py"
    script.write_text(
        "from voxaudit.corpus import read_corpus\nfrom voxaudit.score.quality import measure_quality\n"
        f"corpus = read_corpus({str(tmp_path / 'm.csv')!r})\n"
        f"print(measure_quality(corpus, workers=2, store={str(tmp_path / 'q.sqlite')!r}).height)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout == "6\n"


@needs_dnsmos
def test_a_run_has_its_own_seed_scenarios_and_roles(corpus, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    extra = corpus.table.head(2).with_columns(
        id="accented/" + pl.col("id"), speaker="accented/" + pl.col("speaker")
    )
    pl.concat([corpus.table, extra]).write_parquet(folder / "corpus.parquet")
    config = {
        "seed": 7,
        "corpus": {"name": "made", "utterances": 6},
        "corpora": {"accented": {"name": "other", "utterances": 2}},
        "scenarios": ["clean", "gaussian_noise:3", "accented"],
    }
    write_config(folder, config)
    found = measure_quality(Run(folder), workers=1)
    assert found.equals(pl.read_parquet(folder / "quality.parquet"))
    assert dict(found["scenario"].value_counts().iter_rows()) == {
        "clean": 6,
        "gaussian_noise:3": 6,
        "accented": 2,
    }
    assert found.filter(scenario="accented")["pesq"].null_count() == 2
    with_seed = measure_quality(corpus, ["gaussian_noise:3"], seed=7, workers=1, store=tmp_path / "q.sqlite")
    chosen = measure_quality(Run(folder), ["accented"], workers=1)
    assert chosen["scenario"].unique(maintain_order=True).to_list() == ["clean", "accented"]
    noisy = {"scenario": "gaussian_noise:3"}
    assert sorted(with_seed.filter(**noisy)["dnsmos"]) == sorted(found.filter(**noisy)["dnsmos"])


@pytest.mark.parametrize(
    ("wrong", "reason"), [({"utterances": 0}, "utterances"), ({"workers": 0}, "workers")]
)
def test_bad_numbers_are_refused(corpus, wrong, reason):
    with pytest.raises(VoxauditError, match=f"{reason} must be at least 1"):
        measure_quality(corpus, **wrong)


def run_command(*arguments: str) -> int:
    return main(["quality", *arguments])


@needs_dnsmos
def test_the_command_prints_one_document_and_writes_the_rows(corpus, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("VOXAUDIT_CACHE", str(tmp_path / "cache"))
    files = corpus.table["audio"].to_list()[:2]
    out = tmp_path / "rows.csv"
    given = (*files, "--scenarios", "gain:2,gaussian_noise:4,speed_up:1", "--rows", str(out))
    assert run_command(*given, "--workers", "1", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    (table,) = document["tables"]
    records = [dict(zip(table["names"], row, strict=True)) for row in table["rows"]]
    rows = {row["scenario"]: row for row in records}
    assert list(rows) == ["clean", "gain:2", "gaussian_noise:4", "speed_up:1"]
    assert rows["gaussian_noise:4"]["difficulty"] > rows["clean"]["difficulty"]
    assert rows["clean"]["pesq"] is None
    assert document["title"] == "Quality of 2 of 2 utterances"
    finding = next(one for one in document["findings"] if one["id"] == "quality/gaussian_noise:4/difficulty")
    assert finding["estimate"] == rows["gaussian_noise:4"]["difficulty"]
    assert finding["sentence"].startswith("The difficulty of gaussian_noise:4 (white Gaussian noise at 0 dB")
    assert pl.read_csv(out).height == 8
    if installed("pesq"):
        retimed = next(note for note in document["notes"] if note["code"] == "retimed")
        assert retimed["facts"]["scenarios"] == ["speed_up:1"]
    assert run_command(*given, "--workers", "1") == 0
    shown = capsys.readouterr().out
    assert "Quality of 2 of 2 utterances" in shown
    assert "95 % intervals" not in shown  # of two utterances there is none
    if installed("pesq"):
        assert "reads low there: speed_up:1" in shown


@needs_dnsmos
def test_a_difficulty_without_a_scale_is_refused(corpus, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("VOXAUDIT_CACHE", str(tmp_path / "cache"))
    assert run_command(corpus.table["audio"][0], "--workers", "1") == 0
    assert (
        "Not answered: difficulty: it is relative: it needs at least 3 scenarios" in capsys.readouterr().out
    )
    answer = quality(corpus, workers=1, store=tmp_path / "q.sqlite")
    (refusal,) = answer.refusals
    assert (refusal.code, refusal.facts["scenarios"]) == ("too_few_scenarios", 1)
    assert [one.measure for one in answer.findings] == ["dnsmos"]
    assert answer.findings[0].estimate == pytest.approx(answer.detail["dnsmos"].mean())


@needs_dnsmos
def test_intervals_of_an_answer_are_those_of_the_difficulties(corpus, tmp_path):
    answer = quality(corpus, scenarios=["gain:1", "gaussian_noise:2"], workers=1, store=tmp_path / "q.sqlite")
    assert answer.detail.height == 6 * 3
    for row in difficulties(answer.detail).iter_rows(named=True):
        finding = answer.finding(f"quality/{row['scenario']}/difficulty")
        assert (finding.estimate, finding.low, finding.high) == (row["difficulty"], row["low"], row["high"])
    labels = answer.figure("difficulty").drawing.labels
    assert labels[-1] == answer.tables["scenarios"].sort("difficulty")["scenario"][-1]
    (hardest,) = (one for one in answer.findings if one.headline)
    assert hardest.scenario == labels[-1]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["nowhere.wav"], "no such audio file"),
        (["nowhere"], "no such file or folder"),
        (["a.wav", "folder"], "give one run, one corpus, or audio files only"),
        (["a.wav", "--rows", "x.xlsx"], "unknown table format"),
        (["a.wav", "--rows", "no/folder/x.csv"], "no such folder"),
    ],
)
def test_the_command_says_what_is_wrong(arguments, reason, capsys):
    assert run_command(*arguments) == 2
    assert reason in capsys.readouterr().err


@needs_dnsmos
def test_utterances_are_a_number_or_all(corpus, tmp_path, capsys):
    file = corpus.table["audio"][0]
    assert run_command(file, "--utterances", "many") == 2
    assert "utterances are a number or all, not 'many' (see --utterances)" in capsys.readouterr().err
    some = quality(corpus, utterances="2", workers=1, store=tmp_path / "q.sqlite")
    assert some.title == "Quality of 2 of 6 utterances"
    assert quality(corpus, utterances="all", workers=1, store=tmp_path / "q.sqlite").detail.height == 6


def test_what_is_no_audio_is_refused():
    with pytest.raises(VoxauditError, match="a run, a corpus, or audio files by their paths"):
        quality(pl.DataFrame({"wer": [1.0]}))
