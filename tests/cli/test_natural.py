"""Corpora in roles, suites of one's own and slots, as a user of `audit.toml` meets them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import soundfile

import voxaudit
from voxaudit.cli.main import main
from voxaudit.config import load_config
from voxaudit.corpus import read_corpus
from voxaudit.perturb import open_slots, parse_scenarios
from voxaudit.run import run_trials
from voxaudit.run.folder import open_run

ENGINE = '''
def hear(samples, rate):
    """Hear the loudness."""
    return "one two" if abs(samples).max() < 0.5 else "one three"
'''


def make_corpus(folder: Path, level: float, ids: range) -> None:
    folder.mkdir()
    lines = ["id,path,text,speaker"]
    for number in ids:
        soundfile.write(folder / f"{number}.wav", np.full(800, level, np.float32), 16000)
        lines.append(f"u{number},{number}.wav,one two,s{number % 3}")
    (folder / "manifest.csv").write_text("\n".join(lines) + "\n")


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VOXAUDIT_CACHE", str(tmp_path / "cache"))
    make_corpus(tmp_path / "clean", 0.1, range(6))
    make_corpus(tmp_path / "far", 0.9, range(3))
    (tmp_path / "engine.py").write_text(ENGINE)
    return tmp_path


def write(text: str, use: str = '["gain:1"]') -> None:
    Path("audit.toml").write_text(
        '[corpus]\npath = "clean/manifest.csv"\n'
        '[recognizers.mine]\nengine = "python"\ncallable = "engine.py:hear"\n'
        f'[scenarios]\nuse = {use}\n[run]\nout = "out"\nworkers = 1\n{text}\n'
    )


def test_a_corpus_in_a_role_is_a_scenario_of_its_own(home, capsys):
    write('[[corpora]]\nrole = "far_field_kitchen"\npath = "far/manifest.csv"')
    assert main(["run", "audit.toml"]) == 0
    run = open_run("out")
    counts = dict(run.transcripts.group_by("scenario").len().iter_rows())
    assert counts == {"clean": 6, "gain:1": 6, "far_field_kitchen": 3}
    scores = run.scores.group_by("scenario").agg(pl.col("substitutions").sum(), pl.col("words").sum())
    assert {row[0]: row[1:] for row in scores.iter_rows()} == {
        "clean": (0, 12),
        "gain:1": (6, 12),
        "far_field_kitchen": (3, 6),
    }
    # The same id and the same speaker's name in two corpora are two utterances and two people.
    assert run.corpus["id"].n_unique() == 9
    assert run.scores["speaker"].n_unique() == 6
    assert run.config["corpora"]["far_field_kitchen"]["utterances"] == 3


def test_the_same_run_again_hears_nothing_more(home):
    write('[[corpora]]\nrole = "accented"\npath = "far/manifest.csv"')
    assert main(["run", "audit.toml"]) == 0
    before = open_run("out").transcripts
    store = (home / "out" / "trials.sqlite").read_bytes()
    assert main(["run", "audit.toml"]) == 0
    assert open_run("out").transcripts.equals(before)
    assert (home / "out" / "trials.sqlite").read_bytes() == store


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[corpora]]\nrole = "distant"\npath = "far/manifest.csv"', "corpora: 'distant' is not a role"),
        ('[[corpora]]\nrole = "accented"\nformat = "manifest"', "[corpora.1] needs a path"),
        ('[[corpora]]\nrole = "accented"\nspeak = true', 'corpora.1: speak is for role = "synthetic"'),
        ('[[corpora]]\nrole = "synthetic"\npath = "a"\nchange = "pitch"', "change goes with speak = true"),
        ('[[corpora]]\nrole = "accented"\npath = "far/manifest.csv"\nrol = "x"', "unknown key 'rol'"),
        ('[corpora.accented]\npath = "far/manifest.csv"', "further corpora are a list: [[corpora]]"),
        (
            '[[corpora]]\npath = "far/manifest.csv"\nbaseline = "x"',
            "corpora.1: a baseline is for a corpus in a role",
        ),
        (
            '[[corpora]]\nrole = "accented"\npath = "far/manifest.csv"\nbaseline = "cleen"',
            "the baseline of 'far' is not a clean corpus: 'cleen'. Did you mean: clean? There: clean",
        ),
        ('[[corpora]]\nname = "clean"\npath = "far/manifest.csv"', "two corpora are called 'clean'"),
        ('[[corpora]]\nname = "a/b"\npath = "far/manifest.csv"', "corpora.1.name takes letters, digits"),
        ("[corpora]\naccented = 3", "further corpora are a list"),
        ('[suites]\nmine = "gain:1"', "suites.mine must be a list"),
    ],
)
def test_mistakes_are_one_line(home, capsys, text, message):
    write(text)
    assert main(["run", "audit.toml"]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not Path("out").exists()


def test_suites_of_ones_own_are_written_out(home):
    write('[suites]\nmine = ["gain:1", "amp:theta=0.5"]', use='["mine", "clipping:theta=0.02"]')
    assert load_config("audit.toml").scenarios == ("gain:1", "amp:theta=0.5", "clipping:theta=0.02")


def test_srb_has_114_scenarios_of_which_14_are_slots():
    heard = parse_scenarios(["srb"])
    slots = open_slots(["srb"])
    assert len(heard) == 1 + 100
    assert len(slots) == 14
    assert set(open_slots(["srb"], ["accented", "synthetic"])) == set(slots) - {"accented", "synthetic"}
    assert all(need for need in slots.values())


def test_a_slot_that_was_asked_for_by_name_says_what_it_needs(home, capsys):
    write("", use='["accented"]')
    assert main(["run", "audit.toml"]) == 2
    assert "scenario 'accented' needs a corpus in that role: [[corpora]] with role" in capsys.readouterr().err


def test_the_synthetic_role_reads_the_references_aloud(home):
    pytest.importorskip("py_nanotts")
    write('[[corpora]]\nrole = "synthetic"\nspeak = true')
    assert main(["run", "audit.toml"]) == 0
    run = open_run("out")
    spoken = run.corpus.filter(pl.col("id").str.starts_with("synthetic/"))
    assert spoken.height == 12  # one text, twelve voices, each of them named
    assert set(spoken["text"]) == {"one two"}
    assert spoken["voice"].n_unique() == spoken["speaker"].n_unique() == 12
    assert run.transcripts.filter(pl.col("scenario") == "synthetic").height == 12


def test_nothing_is_said_in_silence(home):
    write("", use='["silence"]')
    assert main(["run", "audit.toml"]) == 0
    silent = open_run("out").scores.filter(pl.col("scenario") == "silence")
    assert silent["words"].sum() == 0
    assert silent["insertions"].sum() == 12  # "one two" six times, though nothing was said


TELLS = '''
from dataclasses import dataclass


@dataclass(frozen=True)
class Tells:
    """Answers with the language it was told."""

    language: str = ""
    rate = None
    batch_size = 1

    def fingerprint(self):
        return {"engine": "tells", "language": self.language}

    def load(self):
        from voxaudit.recognize import Transcript

        return lambda batch: [Transcript(f"one {self.language or 'unknown'}") for _ in batch]
'''


def test_several_corpora_and_languages_are_one_run_with_a_baseline(home):
    for name, level in (("talks", 0.2), ("libros", 0.3), ("acentos", 0.9)):
        make_corpus(home / name, level, range(6))
    write(
        """
[[corpora]]
path = "talks"
language = "en"
[[corpora]]
path = "far"
role = "accented"
language = "en"
[[corpora]]
path = "libros"
language = "es"
[[corpora]]
path = "acentos"
role = "accented"
language = "es"
name = "Acentos"
"""
    )
    text = Path("audit.toml").read_text().replace("[recognizers", 'language = "en"\n[recognizers', 1)
    Path("audit.toml").write_text(text)
    assert main(["run", "audit.toml"]) == 0
    run = open_run("out")
    heard = run.scores.group_by("language", "corpus", "scenario").len().sort(pl.all())
    assert {row[:3]: row[3] for row in heard.iter_rows()} == {
        ("en", "clean", "clean"): 6,
        ("en", "clean", "gain:1"): 6,
        ("en", "talks", "clean"): 6,
        ("en", "talks", "gain:1"): 6,
        ("en", "far", "accented"): 3,
        ("es", "libros", "clean"): 6,
        ("es", "libros", "gain:1"): 6,
        ("es", "Acentos", "accented"): 6,
    }
    assert run.config["baseline"] == {"en": "clean", "es": "libros"}
    found = voxaudit.robustness(run, difficulty="none")
    levels = found.detail.levels.filter(level="scenario", name="accented")
    assert dict(levels.select("language", "werd").iter_rows()) == pytest.approx({"en": 0.5, "es": 0.5})
    assert not any(note.code in ("pooled", "several_baselines") for note in found.notes)


def test_a_recognizer_is_told_the_language_of_the_utterance(home, monkeypatch):
    (home / "tells.py").write_text(TELLS)
    monkeypatch.syspath_prepend(home)
    from tells import Tells

    clean = read_corpus("clean").table.with_columns(
        language=pl.Series(["en", "en", "es-MX", "es-MX", None, "en"])
    )
    corpus = replace(read_corpus("clean"), table=clean)
    run = run_trials(corpus, {"a": Tells(), "b": Tells("fr")}, ["clean"], out="told", workers=1)
    texts = run.transcripts.sort("recognizer", "utterance")["text"].to_list()
    told = ["en", "en", "es", "es", "unknown", "en"]
    assert texts == [f"one {language}" for language in (*told, *["fr"] * 6)]
    before = (home / "told" / "trials.sqlite").read_bytes()
    run_trials(corpus, {"a": Tells(), "b": Tells("fr")}, ["clean"], out="told", workers=1)
    assert (home / "told" / "trials.sqlite").read_bytes() == before
