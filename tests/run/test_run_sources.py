"""Noise from the user's folders and from the corpus, from `run_trials` down to the workers and the cache."""

import shutil
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import soundfile
from toy_recognizers import Toy

from voxaudit.audio import Audio, read
from voxaudit.audits.robustness.audit import robustness
from voxaudit.errors import VoxauditError
from voxaudit.perturb import Scenario, parse_scenario
from voxaudit.perturb.sources import reopen_sources
from voxaudit.recognize import make_recognizer
from voxaudit.run import open_run, run_trials, runner
from voxaudit.run.plan import Plan
from voxaudit.score.run import score_run


@pytest.fixture
def noise(tmp_path):
    folder = tmp_path / "noise"
    folder.mkdir()
    for number in range(3):
        samples = 0.1 * np.random.default_rng(number).standard_normal(2000)
        soundfile.write(folder / f"{number}.wav", samples, 8000, subtype="FLOAT")
    return folder


@pytest.fixture
def go(make_corpus, tmp_path):
    corpus = make_corpus(6)
    journal = tmp_path / "journal"

    def run(out, sources=None, scenarios=("environment_esc50:2", "crosstalk:2")):
        """Return how many clips were heard, and the run's own account of its sources."""
        before = len(journal.read_text().splitlines()) if journal.exists() else 0
        done = run_trials(
            corpus,
            {"toy": Toy(journal=str(journal))},
            list(scenarios),
            out=tmp_path / out,
            cache=tmp_path / "cache",
            progress=False,
            workers=2,
            sources=sources,
        )
        assert done.transcripts["failure"].null_count() == done.transcripts.height
        after = len(journal.read_text().splitlines())
        return after - before, open_run(tmp_path / out).config["sources"]

    return run


@pytest.mark.slow
def test_the_cache_tells_sources_apart_by_content(go, noise, tmp_path):
    heard, sources = go("built-in")
    assert heard == 18
    assert sources["environment_esc50"]["description"].startswith("built-in, made by formula (rain,")
    assert sources["crosstalk"]["description"].startswith(
        "other speakers of the corpus toy: 6 clips of 3 speakers"
    )
    heard, sources = go("folder", {"environment_esc50": noise})
    assert heard == 6  # clean speech and crosstalk are as before
    assert sources["environment_esc50"]["description"] == f"folder {noise}: 3 clips"
    assert sources["environment_esc50"]["folder"] == str(noise)
    moved = shutil.copytree(noise, tmp_path / "moved")
    assert go("moved", {"environment_esc50": str(moved)})[0] == 0
    (moved / "0.wav").unlink()
    assert go("smaller", {"environment_esc50": moved})[0] == 6
    # In a folder that holds a run, what was heard with another source is heard again.
    assert go("folder", {"environment_esc50": moved}) == (0, go("smaller", {"environment_esc50": moved})[1])


def test_a_wrong_source_stops_the_run_before_anything_is_written(go, noise, tmp_path):
    with pytest.raises(VoxauditError, match="'gain' takes no source"):
        go("run", {"gain": noise})
    with pytest.raises(VoxauditError, match="no such folder"):
        go("run", {"environment_esc50": tmp_path / "nowhere"})
    assert not (tmp_path / "run").exists()


def given_audio(corpus, folder, keep=6):
    """Write other audio for the first utterances, named after their ids."""
    folder.mkdir()
    for number, id_ in enumerate(corpus.table["id"].to_list()[:keep]):
        samples = 0.2 * np.random.default_rng(100 + number).standard_normal(3000)
        soundfile.write(folder / f"{id_}.wav", samples, 8000, subtype="FLOAT")
    return folder


@pytest.fixture
def hear_given(make_corpus, tmp_path):
    corpus = make_corpus(6)

    def run(given, scenarios=("gaussian_noise:2",), out="out"):
        return run_trials(
            corpus,
            {"toy": Toy()},
            list(scenarios),
            out=tmp_path / out,
            cache=False,
            progress=False,
            workers=1,
            sources=given,
        )

    return corpus, run


def test_audio_made_elsewhere_stands_for_a_scenario(hear_given, tmp_path):
    corpus, run = hear_given
    folder = given_audio(corpus, tmp_path / "made")
    made = run({"gaussian_noise:2": folder, "pgd:1": folder}, out="given")
    own = run({}, out="own")
    texts = {
        name: dict(one.transcripts.filter(scenario=scenario).select("utterance", "text").iter_rows())
        for name, one, scenario in (
            ("given", made, "gaussian_noise:2"),
            ("slot", made, "pgd:1"),
            ("own", own, "gaussian_noise:2"),
        )
    }
    assert texts["given"] == texts["slot"] != texts["own"]
    assert "pgd:1" in made.config["scenarios"]
    about = made.config["sources"]["pgd:1"]
    assert about["description"] == f"audio made elsewhere ({folder}), for 6 of 6 utterances"
    # What is heard again, to listen to it, is what was heard.
    again = reopen_sources(made.config["sources"], corpus)
    clip = Audio(np.zeros(10, np.float32), 8000)
    first = corpus.table["id"][0]
    heard = parse_scenario("pgd:1", again).apply(clip, seed=0, utterance=first)
    assert np.array_equal(heard.samples, read(folder / f"{first}.wav").samples)
    soundfile.write(folder / f"{first}.wav", np.zeros(3000), 8000, subtype="FLOAT")
    with pytest.raises(VoxauditError, match="are not those of the run"):
        reopen_sources(made.config["sources"], corpus)


def test_utterances_without_given_audio_are_not_heard_there(hear_given, tmp_path):
    corpus, run = hear_given
    folder = given_audio(corpus, tmp_path / "made", keep=4)
    done = run({"pgd:1": folder})
    counts = dict(done.transcripts["scenario"].value_counts().iter_rows())
    assert counts == {"clean": 6, "gaussian_noise:2": 6, "pgd:1": 4}
    assert "for 4 of 6 utterances" in done.config["sources"]["pgd:1"]["description"]


def test_given_audio_is_checked_against_the_corpus(hear_given, tmp_path):
    corpus, run = hear_given
    folder = given_audio(corpus, tmp_path / "made")
    first = corpus.table["id"][0]
    shutil.copy(folder / f"{first}.wav", folder / "stranger.wav")
    with pytest.raises(VoxauditError, match=r"1 recording given for pgd:1 belong to no utterance.*stranger"):
        run({"pgd:1": folder})
    (folder / "stranger.wav").unlink()
    shutil.copy(folder / f"{first}.wav", folder / f"{first}.flac")
    with pytest.raises(VoxauditError, match=f"two recordings are given for utterance '{first}'"):
        run({"pgd:1": folder})
    (folder / f"{first}.flac").unlink()
    with pytest.raises(VoxauditError, match="Unknown perturbation 'gausian_noise'"):
        run({"gausian_noise:1": folder})
    (tmp_path / "none").mkdir()
    with pytest.raises(VoxauditError, match="no audio for pgd:1 there"):
        run({"pgd:1": tmp_path / "none"})


def test_a_manifest_gives_audio_by_id(hear_given, tmp_path):
    corpus, run = hear_given
    folder = given_audio(corpus, tmp_path / "made", keep=2)
    first, second = corpus.table["id"][:2]
    manifest = tmp_path / "list.csv"
    manifest.write_text(f"id,audio\n{first},made/{second}.wav\n{second},made/{first}.wav\n")
    made, listed = (run({"pgd:1": one}, out=name) for one, name in ((folder, "a"), (manifest, "b")))
    texts, swapped = (
        dict(one.transcripts.filter(scenario="pgd:1").select("utterance", "text").iter_rows())
        for one in (made, listed)
    )
    assert texts == {first: swapped[second], second: swapped[first]}


def test_a_recognizer_hears_only_the_languages_it_knows(make_corpus):
    corpus = make_corpus(6)
    spoken = pl.Series("language", ["en", "en-GB", "es", "es-MX", None, "en"])
    plan = Plan(
        replace(corpus, table=corpus.table.with_columns(spoken)),
        {"english": make_recognizer("pocketsphinx"), "any": Toy()},
        (Scenario("clean", None),),
    )
    assert plan.trials_of("any") == 6
    ((heard, _),) = plan.parts_of("english")
    assert heard.table["language"].to_list() == ["en", "en-GB", None, "en"]
    assert plan.trials_of("english") == 4


def test_a_run_says_how_many_recordings_a_scenario_leaves_as_they_are(make_corpus, tmp_path, monkeypatch):
    corpus = make_corpus(4)
    for number, path in enumerate(corpus.table["audio"]):
        level = 0.01 if number < 3 else 0.9
        soundfile.write(path, level * np.sin(np.linspace(0, 100, 4000)), 8000, subtype="FLOAT")
    ask = ["clipping:theta=0.05", "clipping_peak:theta=0.05"]
    out = {"out": tmp_path / "out", "cache": False, "progress": False, "workers": 1}
    done = run_trials(corpus, {"toy": Toy()}, ask, **out)
    assert done.config["unchanged"] == {"clipping:theta=0.05": {"unchanged": 3, "of": 4}}
    score_run(done)
    (note,) = [one for one in robustness(done, difficulty="none").notes if one.code == "unchanged"]
    assert note.text == "clipping:theta=0.05 left 75 % of the recordings as they are (3 of 4)"
    # Resumed, it reads no recording to say so again; another scenario is counted.
    with monkeypatch.context() as patched:
        patched.setattr(runner, "read", None)
        again = run_trials(corpus, {"toy": Toy()}, ask, **out)
    assert again.config["unchanged"] == done.config["unchanged"]
    more = run_trials(corpus, {"toy": Toy()}, [*ask, "clipping:theta=0.95"], **out)
    assert more.config["unchanged"]["clipping:theta=0.95"] == {"unchanged": 4, "of": 4}
