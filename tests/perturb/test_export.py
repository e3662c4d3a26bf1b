"""Perturbed audio as files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import soundfile

from voxaudit.audio import read
from voxaudit.cli.main import main
from voxaudit.corpus import read_corpus
from voxaudit.perturb import parse_scenario


@pytest.fixture
def speech(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(3)
    (tmp_path / "in").mkdir()
    for name in ("a", "b"):
        samples = 0.2 * np.convolve(generator.standard_normal(8000), np.ones(8) / 8, "same")
        soundfile.write(tmp_path / "in" / f"{name}.wav", samples.astype(np.float32), 16000, subtype="FLOAT")
    (tmp_path / "m.csv").write_text(
        'id,path,text,speaker,accent\n../../x,in/a.wav,"one, two",s1,north\nb,in/b.wav,three,s2,south\n'
    )
    return tmp_path


def test_one_file(speech, capsys):
    arguments = ["perturb", "in/a.wav", "out.wav", "gaussian_noise:3", "--subtype", "FLOAT", "--seed", "4"]
    assert main([*arguments, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["achieved"]["snr_db"] == pytest.approx(10, abs=0.01)
    heard = parse_scenario("gaussian_noise:3").apply(read("in/a.wav"), seed=4, utterance="a")
    assert np.array_equal(read("out.wav").samples, heard.samples)


def test_a_corpus_becomes_an_audiofolder_with_what_a_run_would_hear(speech, capsys):
    assert main(["perturb", "m.csv", "noisy", "gaussian_noise:2", "--subtype", "FLOAT"]) == 0
    table = pl.read_csv("noisy/metadata.csv")
    assert table["id"].to_list() == ["../../x", "b"]
    assert table["accent"].to_list() == ["north", "south"]
    assert table["achieved_snr_db"].to_list() == pytest.approx([20, 20], abs=0.01)
    corpus = read_corpus("noisy")
    assert corpus.format == "audiofolder"
    assert corpus.table["text"].to_list() == ["one, two", "three"]
    scenario = parse_scenario("gaussian_noise:2")
    for utterance, source in zip(corpus, ("in/a.wav", "in/b.wav"), strict=True):
        expected = scenario.apply(read(source), seed=0, utterance=utterance.id)
        assert np.array_equal(read(utterance.audio).samples, expected.samples)
    # Whatever an id contains, files stay inside the folder.
    assert sorted(path.name for path in (speech / "noisy" / "audio").iterdir()) == ["1_x.wav", "2_b.wav"]


def test_a_folder_of_files(speech):
    assert main(["perturb", "in", "out", "clipping:theta=0.05"]) == 0
    assert pl.read_csv("out/metadata.csv").height == 2
    for file in (speech / "out" / "audio").iterdir():
        assert np.abs(read(file).samples).max() <= 0.0501


def test_integers_saturate_and_never_wrap(speech):
    assert main(["perturb", "in/a.wav", "loud.wav", "gain:4"]) == 0
    loud, quiet = read("loud.wav").samples, read("in/a.wav").samples
    assert (np.sign(loud) * np.sign(quiet) >= 0).all()
    assert loud.max() > 0.999


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.wav", "o.wav", "echo:1"], "no such audio file"),
        (["in/a.wav", "o.mp3", "gain:1"], "name a .wav or .flac file"),
        (["in/a.wav", "o.flac", "gain:1", "--subtype", "FLOAT"], "o.flac: FLAC has no FLOAT samples"),
        (["in/a.wav", "in/a.wav", "gain:1"], "this is the recording itself"),
        (["in/a.wav", "o.wav", "gian:1"], "gain"),
        (["in/a.wav", "o.wav", "gain:9"], "write gain:1 to gain:4"),
        (["m.csv", "in", "gain:1"], "not empty"),
    ],
)
def test_mistakes_are_one_line(speech, capsys, arguments, message):
    assert main(["perturb", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_recording_that_cannot_be_read_costs_itself(speech, capsys):
    (speech / "in" / "b.wav").write_bytes(b"RIFFnonsense")
    assert main(["perturb", "m.csv", "out", "gain:1", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["files"] == 1
    assert list(said["failures"]) == ["b"]


def test_a_corpus_disturbed_twice_says_so(speech):
    assert main(["perturb", "m.csv", "noisy", "gaussian_noise:2"]) == 0
    assert main(["perturb", "noisy", "twice", "gaussian_noise:3", "--seed", "9"]) == 0
    table = pl.read_csv("twice/metadata.csv")
    assert table["scenario"].unique().to_list() == ["gaussian_noise:3"]
    assert table["seed"].unique().to_list() == [9]
    assert table["achieved_snr_db"].to_list() == pytest.approx([10, 10], abs=0.01)
    assert table["source_scenario"].unique().to_list() == ["gaussian_noise:2"]
    assert table["source_achieved_snr_db"].to_list() == pytest.approx([20, 20], abs=0.01)
    assert table["accent"].to_list() == ["north", "south"]


def test_a_recording_that_cannot_be_disturbed_costs_itself(speech, capsys):
    soundfile.write(speech / "in" / "b.wav", np.full(200, 0.1, np.float32), 100)
    assert main(["perturb", "m.csv", "out", "tempo_up:1", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["files"] == 1
    assert "has 100 samples per second, under the limit of 1,000" in said["failures"]["b"]


def test_a_missing_file_is_one_line_also_where_the_target_exists(speech, capsys):
    assert main(["perturb", "in/a.wav", "out.wav", "gain:1"]) == 0
    capsys.readouterr()
    assert main(["perturb", "nowhere.wav", "out.wav", "gain:1"]) == 2
    assert "no such audio file" in capsys.readouterr().err


def test_into_a_folder_that_exists(speech, capsys):
    (speech / "there").mkdir()
    assert main(["perturb", "in/a.wav", "there", "gain:1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["file"] == str(Path("there/a.wav"))
    assert (speech / "there" / "a.wav").is_file()


def test_noise_of_ones_own(speech, capsys):
    soundfile.write(speech / "in" / "noise.flac", np.full(500, 0.1), 16000)
    arguments = ["perturb", "in/a.wav", "out.wav", "music:2", "--source"]
    assert main([*arguments, "in"]) == 0
    assert "snr_db 20.00" in capsys.readouterr().err
    assert main([*arguments, "nowhere"]) == 2
    assert "no such folder" in capsys.readouterr().err
