"""Universal perturbations in an ordinary run: a slot of the suite that a source fills."""

from __future__ import annotations

import json
import runpy

import numpy as np
import pytest
import soundfile

from voxaudit import run_trials
from voxaudit.audio import Audio
from voxaudit.audits.attack.audit import attack
from voxaudit.audits.robustness.audit import robustness
from voxaudit.cli.main import main
from voxaudit.corpus import read_corpus
from voxaudit.errors import VoxauditError
from voxaudit.perturb import parse_scenario, parse_scenarios
from voxaudit.perturb.universal import open_universal, save_universal
from voxaudit.score.run import score_run

ENGINE = """
def hear(samples, rate):
    return f"{abs(samples).max():.3f}"
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "engine.py").write_text(ENGINE)
    soundfile.write(tmp_path / "a.wav", np.full(1600, 0.1, np.float32), 8000, subtype="FLOAT")
    (tmp_path / "manifest.csv").write_text("path,speaker,text\na.wav,s,hello\n")
    noise = Audio(np.tile(np.array([0.01, -0.01], np.float32), 50), 8000)
    save_universal(tmp_path / "u.wav", noise, {"snr": 10.0, "recognizer": "mine"})
    return tmp_path


def run(folder, scenarios, **settings):
    engine = f"python:{folder / 'engine.py'}:hear,rate=none"
    corpus = read_corpus(folder / "manifest.csv")
    return run_trials(
        corpus,
        {"mine": engine},
        scenarios,
        out=folder / "run",
        cache=False,
        progress=False,
        workers=1,
        **settings,
    )


def test_a_saved_perturbation_fills_its_slots(folder):
    done = run(folder, ["universal:3", "universal:4"], sources={"universal": folder / "u.wav"})
    heard = dict(done.transcripts.select("scenario", "text").iter_rows())
    assert heard == {"clean": "0.100", "universal:3": "0.110", "universal:4": "0.132"}
    assert done.config["sources"]["universal"]["fingerprint"].startswith("universal ")
    assert not any(id_.startswith("universal") for id_ in done.config["not_heard"])


def test_without_one_the_slots_say_what_they_need(folder):
    with pytest.raises(VoxauditError, match="scenario 'universal:3' needs a saved perturbation"):
        run(folder, ["universal:3"])
    with pytest.raises(VoxauditError, match="scenario 'universal:snr=15' needs a saved perturbation"):
        parse_scenario("universal:snr=15")
    with pytest.raises(VoxauditError, match=r"none\.wav"):
        run(folder, ["universal:3"], sources={"universal": folder / "none.wav"})


def test_the_suite_takes_it_where_it_is_given(folder):
    source = {"universal": open_universal(folder / "u.wav")}
    without, with_it = (
        {scenario.id for scenario in parse_scenarios(["srb"], given)} for given in (None, source)
    )
    assert with_it - without == {f"universal:{severity}" for severity in (1, 2, 3, 4)}


@pytest.mark.slow
def test_attacks_join_the_run_whose_recognizers_they_attack(folder):
    done = run(folder, ["gaussian_noise:4"])
    engine = f"python:{folder / 'engine.py'}:hear,rate=none"
    score_run(done)
    asked = {"method": "blackbox", "queries": 2, "snr": [10], "progress": False}
    with pytest.raises(VoxauditError, match="no recognizer 'other' was heard in this run"):
        attack(done.folder, {"other": engine}, **asked)
    answer = attack(done.folder, {"mine": engine}, **asked)
    assert (done.folder / "attack" / "scores.parquet").is_file()
    (scenario,) = {finding.scenario for finding in answer.findings}
    again = attack(done.folder)
    assert [one.estimate for one in again.findings] == [one.estimate for one in answer.findings]
    told = robustness(done.folder, difficulty="none")
    heard = told.tables["scenarios"]["scenario"].to_list()
    assert sorted(heard) == sorted(["clean", "gaussian_noise:4", scenario])
    werd = told.tables["scenarios"].filter(scenario=scenario)["werd"].item()
    assert werd == pytest.approx(answer.findings[0].estimate)
    # Given by its own path as well, it is no second draw.
    twice = robustness([done.folder, done.folder / "attack"], difficulty="none")
    assert twice.tables["scenarios"].filter(scenario=scenario)["werd"].item() == pytest.approx(werd)


def test_where_chooses_what_is_attacked(folder):
    engine = f"python:{folder / 'engine.py'}:hear,rate=none"
    with pytest.raises(VoxauditError, match="none of 1 utterances meets: speaker=nobody"):
        attack(
            folder / "manifest.csv",
            {"mine": engine},
            where=["speaker=nobody"],
            method="blackbox",
            out=folder / "a",
            progress=False,
        )


def test_what_knows_one_language_is_not_attacked_in_another(folder):
    (folder / "manifest.csv").write_text("path,speaker,text,language\na.wav,s,hola,es\n")
    with pytest.raises(VoxauditError, match="in one language that it knows"):
        attack(folder / "manifest.csv", ["pocketsphinx"], method="blackbox", out=folder / "a", progress=False)


VICTIM = """
import json
import runpy

import numpy as np
import torch

from voxaudit.recognize.attack import CtcModule
from voxaudit.recognize.attack.models import pad

generator = torch.Generator().manual_seed(0)
first, second = (torch.randn(*size, generator=generator) for size in ((20, 16), (16, 4)))


def module(waveforms, lengths):
    frames = torch.nn.functional.pad(waveforms, (0, -waveforms.shape[1] % 20)).unfold(1, 20, 20)
    return torch.tanh(2 * frames @ first) @ second, lengths // 20


model = CtcModule(module, "ab ", 8000)


def hear(samples, rate):
    return model.transcribe(*pad([samples.astype(np.float32)]))[0]


def hears_less(samples, rate):
    return hear(samples, rate)[3:]
"""


def test_attacks_by_gradient_stand_in_the_runs_table_1(tmp_path, capsys):
    pytest.importorskip("torch", reason="attacks by gradient need torch")
    (tmp_path / "victim.py").write_text(VICTIM)
    heard = runpy.run_path(str(tmp_path / "victim.py"))["hear"]
    generator = np.random.default_rng(0)
    rows = ["path,speaker,text"]
    for number in range(8):
        clip = (0.2 * generator.standard_normal(800)).astype(np.float32)
        soundfile.write(tmp_path / f"{number}.wav", clip, 8000, subtype="FLOAT")
        rows.append(f"{number}.wav,s{number},{heard(clip, 8000)}")
    (tmp_path / "manifest.csv").write_text("\n".join(rows) + "\n")
    engines = {
        name: f"python:{tmp_path / 'victim.py'}:{function},rate=none"
        for name, function in (("mine", "hear"), ("other", "hears_less"))
    }
    done = run_trials(
        read_corpus(tmp_path / "manifest.csv"),
        engines,
        ["gaussian_noise:4", "echo:2"],
        out=tmp_path / "run",
        cache=False,
        progress=False,
        workers=1,
    )
    score_run(done)
    asked = ["--method", "pgd", "--snr", "20", "--steps", "10", "--enough", "0"]
    spec = f"mine={tmp_path / 'victim.py'}:model"
    assert main(["attack", str(done.folder), "--recognizers", spec, *asked]) == 0
    capsys.readouterr()
    assert main(["robustness", str(done.folder), "--difficulty", "published", "--table", "1", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    (table,) = [one for one in told["tables"] if one["id"] == "table_1"]
    rows = {
        row["recognizer"]: row for row in (dict(zip(table["names"], r, strict=True)) for r in table["rows"])
    }
    mine, other = rows["mine"], rows["other"]
    assert mine["Adv (US)"] > 0
    assert mine["Adv (US)_low"] <= mine["Adv (US)"] <= mine["Adv (US)_high"]
    assert other["Adv (US)"] is None
    # Who was not attacked is compared by what both heard: the attack takes no part in the average or the ranking.
    assert None not in (mine["AVG_low"], other["AVG_low"])
    (ranking,) = [one for one in told["findings"] if one["id"].endswith("/ranking/nwerd")]
    assert {ranking["recognizer"], ranking["against"]} == {"mine", "other"}
