"""`voxaudit attack` on models with gradients: a file of the user's own, from the corpus to the tables."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
import soundfile

torch = pytest.importorskip("torch", reason="attacks need torch: pip install 'voxaudit[attack]'")

from voxaudit.audio import read  # noqa: E402
from voxaudit.audits.attack.audit import attack  # noqa: E402
from voxaudit.audits.robustness.audit import robustness  # noqa: E402
from voxaudit.cli.main import main  # noqa: E402
from voxaudit.corpus import read_corpus  # noqa: E402
from voxaudit.perturb.universal import open_universal  # noqa: E402
from voxaudit.recognize.attack.gradient import measured  # noqa: E402
from voxaudit.recognize.attack.models import (  # noqa: E402
    hear,
    open_victim,
)

MODEL = """
import torch
from voxaudit.recognize.attack import CtcModule

class Linear(torch.nn.Module):
    def __init__(self, seed):
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.first = torch.nn.Parameter(2.0 * torch.randn(20, 16, generator=generator))
        self.second = torch.nn.Parameter(torch.randn(16, 5, generator=generator))

    def forward(self, waveforms, lengths):
        frames = torch.nn.functional.pad(waveforms, (0, -waveforms.shape[1] % 20)).unfold(1, 20, 20)
        return torch.tanh(frames @ self.first) @ self.second, -(-lengths // 20)

def first():
    return CtcModule(Linear(0), "abc ", 8000)

def second():
    return CtcModule(Linear(1), "abc ", 8000)

def broken():
    raise FileNotFoundError("weights.pt")

def plain(samples, rate):
    return "abc"
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "plain.py").write_text("def plain(samples, rate):\n    return 'abc'\n")
    model = open_victim(f"{tmp_path / 'model.py'}:first").model
    generator = np.random.default_rng(0)
    rows = ["path,speaker,text"]
    for number in range(12):
        samples = (0.2 * generator.standard_normal(300 + 40 * number)).astype(np.float32)
        soundfile.write(tmp_path / f"{number}.wav", samples, 8000, subtype="FLOAT")
        rows.append(f"{number}.wav,s{number % 6},{hear(model, [samples])[0]}")
    (tmp_path / "manifest.csv").write_text("\n".join(rows) + "\n")
    return tmp_path


def command(folder, *arguments, models=("first",)):
    given = [
        folder / "manifest.csv",
        "--out",
        folder / "out",
        "--recognizers",
        ",".join(f"{folder / 'model.py'}:{name}" for name in models),
    ]
    return main(["attack", *(str(one) for one in [*given, *arguments])])


def kept(folder):
    """Return the rows that the folder keeps."""
    return json.loads((folder / "out" / "attack.json").read_text())["attacks"]


def test_pgd_from_the_corpus_to_the_tables(folder, capsys):
    other = f"{folder / 'model.py'}:second"
    plain = f"python:{folder / 'plain.py'}:plain"
    options = ["--snr", "30,10", "--steps", "12", "--no-cache", "--workers", "1", "--json"]
    assert command(folder, *options, "--transfer", plain, models=["first", "second"]) == 0
    answer = json.loads(capsys.readouterr().out)
    mine = [row for row in kept(folder) if row["recognizer"].endswith("first")]
    (table,) = [one for one in answer["tables"] if one["id"] == "attacks"]
    shown = [dict(zip(table["names"], row, strict=True)) for row in table["rows"]]
    assert [row["low"] for row in shown[:2]] == [row["werd_low"] for row in mine]
    found = {one["id"]: one for one in answer["findings"]}
    name = mine[0]["recognizer"].replace("/", "%2F")
    assert found[f"attack/{name}/pgd:4/werd"]["estimate"] == mine[1]["werd"]
    assert found[f"attack/{name}/pgd:4/werd"]["command"] == "voxaudit attack out"
    assert [row["scenario"] for row in mine] == ["pgd:2", "pgd:4"]
    mild, harsh = mine
    assert mild["wer_clean"] == harsh["wer_clean"] == 0.0
    assert harsh["wer_attacked"] >= mild["wer_attacked"] > 0.0
    assert harsh["werd"] > harsh["wer_noise"]
    assert harsh["snr_measured_min"] >= 10.0
    assert (harsh["interval_by"], harsh["speakers"], harsh["utterances"]) == ("speaker", 6, 12)
    assert harsh["werd_low"] <= harsh["werd"] <= harsh["werd_high"]
    assert set(harsh["transfer"]) == {other, plain}
    # It says the same whatever it hears, so nothing changes.
    assert harsh["transfer"][plain]["werd"] == 0.0
    # The audio on disk is the audio that was measured and heard.
    model = open_victim(f"{folder / 'model.py'}:first").model
    (made,) = (folder / "out" / "audio").glob("*first/pgd_4/manifest.csv")
    heard = []
    for before, after in zip(read_corpus(folder / "manifest.csv"), read_corpus(made), strict=True):
        x, y = read(before.audio), read(after.audio)
        assert measured(x.samples, y.samples) >= 10.0
        assert (before.id, before.text, before.speaker) == (after.id, after.text, after.speaker)
        heard.append(hear(model, [y.samples])[0])
    transcripts = pl.read_parquet(folder / "out" / "transcripts.parquet")
    own = transcripts.filter((pl.col("scenario") == "pgd:4") & pl.col("recognizer").str.ends_with("first"))
    assert own["text"].to_list() == heard
    assert set(transcripts["scenario"]) == {
        *("clean", "pgd:2", "pgd:4", "gaussian_noise:snr=30", "gaussian_noise:snr=10")
    }
    levels = robustness(folder / "out" / "scores.parquet").detail.levels
    found = levels.filter((pl.col("name") == "pgd:4") & pl.col("recognizer").str.ends_with("first"))
    assert found["werd"][0] == pytest.approx(harsh["werd"])


def test_an_attack_joins_a_run_under_the_name_it_has_there(folder, capsys):
    options = ["--snr", "20", "--steps", "4", "--enough", "0", "--json"]
    named = f"mine={folder / 'model.py'}:first"
    given = [folder / "manifest.csv", "--out", folder / "out", "--recognizers", named, *options]
    assert main(["attack", *map(str, given)]) == 0
    capsys.readouterr()
    attacked = pl.read_parquet(folder / "out" / "scores.parquet")
    assert attacked["recognizer"].unique().to_list() == ["mine"]
    assert attacked["corpus"].unique().to_list() == [folder.name]
    noise = attacked.filter(scenario="gaussian_noise:snr=20").with_columns(
        scenario=pl.lit("gaussian_noise:2")
    )
    pl.concat([attacked.filter(scenario="clean"), noise]).write_parquet(folder / "run.parquet")
    sources = [str(folder / "run.parquet"), str(folder / "out" / "scores.parquet")]
    answer = robustness(sources, table="1", scenario=["gaussian_noise:2", "pgd:3"])
    (row,) = answer.tables["table_1"].iter_rows(named=True)
    assert row["recognizer"] == "mine"
    assert row["Adv (US)"] == pytest.approx(kept(folder)[0]["werd"])
    assert row["noise (white)"] is not None


def test_a_target_and_a_table_for_people(folder, capsys):
    assert command(folder, "--snr", "0", "--steps", "100", "--target", "ab", "--utterances", "5") == 0
    shown = capsys.readouterr()
    assert "pgd_targeted:snr=0" in shown.out
    assert "model.py:first" in shown.out
    (row,) = kept(folder)
    assert row["settings"]["target"] == "ab"
    assert 0.0 < row["success_rate"] <= 1.0
    assert row["utterances"] == 5


def test_universal_is_found_on_some_speakers_and_tried_on_others(folder, capsys):
    assert command(folder, "--method", "universal", "--snr", "5", "--epochs", "3", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    (row,) = kept(folder)
    codes = [note["code"] for note in answer["notes"]]
    assert codes == ["made", "by_utterance", "written"]
    assert "universal: found on speakers s" in answer["notes"][0]["text"]
    assert (row["utterances"], row["speakers"], row["settings"]["dev_utterances"]) == (6, 3, 6)
    assert row["interval_by"] == "utterance"
    assert row["snr_measured_median"] == pytest.approx(5.0, abs=1e-3)
    (saved,) = (folder / "out" / "universal").rglob("5dB.wav")
    noise = open_universal(saved).noises[5.0]
    assert noise.rate == 8000
    assert np.abs(noise.samples.astype(np.float64)).max() <= row["settings"]["epsilon"]


def test_a_corpus_of_one_speaker_needs_a_development_corpus(folder, capsys):
    (folder / "manifest.csv").write_text("path,speaker,text\n0.wav,a,abc\n1.wav,a,abc\n")
    assert command(folder, "--method", "universal") == 2
    assert "Give a development corpus (see --dev)" in capsys.readouterr().err


def test_the_black_box_works_on_models_with_gradients_too(folder, capsys):
    assert command(folder, "--method", "blackbox", "--snr", "10", "--queries", "8", "--json") == 0
    capsys.readouterr()
    (row,) = kept(folder)
    assert row["snr_measured_min"] >= 10.0
    assert row["queries"] == 96
    assert row["wer_attacked"] > 0.0


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("broken", "cannot be made (FileNotFoundError: weights.pt)"),
        ("plain", "cannot be made (TypeError"),
        ("frist", "no 'frist' in"),
    ],
)
def test_models_that_cannot_serve_are_one_line(folder, capsys, model, message):
    assert command(folder, models=[model]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_model_of_ones_own_is_attacked_from_python(folder):
    model = open_victim(f"{folder / 'model.py'}:first").model
    answer = attack(folder / "manifest.csv", {"mine": model}, snr=[10], steps=5, out=folder / "out")
    (finding,) = answer.findings
    assert finding.id == "attack/mine/pgd:4/werd"
    (row,) = answer.detail.attacks
    assert (finding.estimate, finding.low, finding.high) == (row.werd, row.werd_low, row.werd_high)
    assert finding.verdict == "shown"
    assert finding.excludes is None
    assert attack(folder / "out").findings == answer.findings
