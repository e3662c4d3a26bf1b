"""Noise from the user's folders and from the corpus, from `run_trials` down to the workers and the cache."""

import shutil

import numpy as np
import pytest
import soundfile
from toy_recognizers import Toy

from voxaudit.errors import VoxauditError
from voxaudit.run import open_run, run_trials


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
