"""`[stutter]` in audit.toml: part of a run, resumable, and refused without costing the run."""

from __future__ import annotations

import json
import sqlite3
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from voxaudit.cli.main import main
from voxaudit.config import StutterConfig, load_config
from voxaudit.options import RunOptions

ENGINE = '''
def hear(samples, rate):
    """Hear how long it lasts."""
    return "the weather " + "again " * round(3 * len(samples) / rate)
'''
TEXT = "the weather in the mountain village"


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VOXAUDIT_CACHE", str(tmp_path / "cache"))
    (tmp_path / "engine.py").write_text(ENGINE)
    return tmp_path


def corpus(speech: bool) -> None:
    lines = ["id,path,text,speaker"]
    for number in range(6):
        if speech:
            from voxaudit.audio import write
            from voxaudit.speak.base import Voice, speak

            write(f"{number}.wav", speak(Voice(pitch=0.8 + 0.1 * number), TEXT))
        else:
            soundfile.write(f"{number}.wav", np.full(800, 0.1, np.float32), 16000)
        lines.append(f"u{number},{number}.wav,{TEXT},s{number}")
    Path("manifest.csv").write_text("\n".join(lines) + "\n")


def toml(stutter: str = "[stutter]\n", recognizer: str = 'engine = "python"\ncallable = "engine.py:hear"'):
    Path("audit.toml").write_text(
        f'[corpus]\npath = "manifest.csv"\n[recognizers.mine]\n{recognizer}\n'
        f'[scenarios]\nuse = ["clean"]\n[run]\nout = "out"\nworkers = 1\n{stutter}'
    )


def chapter() -> dict | None:
    document = json.loads(Path("out/findings.json").read_text())
    return next((one for one in document["chapters"] if one["id"] == "stutter"), None)


def trials() -> int:
    with sqlite3.connect("out/stutter/trials.sqlite") as store:
        return store.execute("select count(*) from trials").fetchone()[0]


def test_the_section_is_read(home):
    toml("")
    assert load_config("audit.toml").stutter is None
    toml()
    assert load_config("audit.toml").stutter == StutterConfig(8, 4, (), 0.8)
    toml("[stutter]\nutterances = 3\nbudget = 2\ndose = [0, 5.5]\nthreshold = 0.7\n")
    assert load_config("audit.toml").stutter == StutterConfig(3, 2, (0.0, 5.5), 0.7)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("utterance = 3", "unknown key 'utterance' in [stutter]. Did you mean: utterances?"),
        ("utterances = 0", "stutter.utterances must be from 1 to 1,000,000, not 0"),
        ("utterances = true", "stutter.utterances must be a whole number, not True"),
        ("budget = 20000", "stutter.budget must be from 1 to 10,000, not 20000"),
        ("dose = 5", "stutter.dose must be a list of numbers, not 5"),
        ('dose = ["5"]', "stutter.dose must be a list of numbers, not ['5']"),
        ("dose = [nan]", "stutter.dose must be from 0 to 500, not nan"),
        ("threshold = 80", "stutter.threshold must be from 0.01 to 1, not 80"),
    ],
)
def test_a_mistake_in_it_is_one_line(home, capsys, line, said):
    toml(f"[stutter]\n{line}\n")
    assert main(["run", "audit.toml"]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1


def test_init_writes_it_commented_out(home, capsys):
    corpus(speech=False)
    assert main(["init", "manifest.csv"]) == 0
    assert load_config("audit.toml").stutter is None
    text = Path("audit.toml").read_text()
    for line in ("[stutter]", "utterances =", "budget =", "dose =", "threshold ="):
        assert f"# {line}" in text
        text = text.replace(f"# {line}", line)
    Path("audit.toml").write_text(text)
    assert load_config("audit.toml").stutter == StutterConfig(8, 4, (0.0, 5.0, 10.0, 20.0), 0.8)


def test_a_run_without_it_says_how_to_ask(home, capsys):
    corpus(speech=False)
    toml("")
    assert main(["run", "audit.toml"]) == 0
    assert "stutter" not in capsys.readouterr().out
    assert chapter() is None
    assert not Path("out/stutter").exists()
    assert main(["stutter", "out"]) == 2
    assert "add a section `[stutter]` to audit.toml" in capsys.readouterr().err


@pytest.mark.slow
def test_speech_is_made_to_stutter_once(home, capsys):
    for package in ("pocketsphinx", "py_nanotts"):
        pytest.importorskip(package)
    corpus(speech=True)
    toml("[stutter]\nutterances = 5\nbudget = 2\ndose = [20]\n")
    with pytest.MonkeyPatch.context() as without:
        without.setitem(sys.modules, "pocketsphinx", None)
        assert main(["run", "audit.toml"]) == 0
    assert "Not answered: stuttered speech: pocketsphinx is not installed" in capsys.readouterr().out
    assert "pip install 'voxaudit[pocketsphinx]'" in chapter()["refusals"][0]["text"]

    assert main(["run", "audit.toml"]) == 0
    assert "On speech made to stutter, mine gets" in capsys.readouterr().out
    assert chapter()["refusals"] == []
    found = json.loads(Path("out/stutter/stutter.json").read_text())
    assert found["utterances"] == 5
    assert found["recognizers"]["mine"]["speakers"] == 5
    assert found["cases"] == 10
    assert [point["rate"] for point in found["dose"]] == [20.0]
    # What judged how similar answers are is named wherever something is said of it.
    assert found["settings"]["embeddings"] in str(chapter())

    heard = trials()
    assert heard >= 15  # five originals, two cases and a dose of each
    assert main(["run", "audit.toml"]) == 0
    assert trials() == heard
    assert json.loads(Path("out/stutter/stutter.json").read_text()) == found


def test_recordings_that_cannot_be_aligned_cost_the_chapter_only(home, capsys):
    pytest.importorskip("pocketsphinx")
    corpus(speech=False)
    toml("[stutter]\nutterances = 2\nbudget = 1\n")
    assert main(["run", "audit.toml"]) == 0
    assert "mine gets" in capsys.readouterr().out
    assert "no recording can be stuttered" in chapter()["refusals"][0]["text"]


def test_transcripts_from_a_file_cannot_hear_stuttering(home, capsys):
    corpus(speech=False)
    Path("heard.csv").write_text("id,text\n" + "".join(f"u{number},{TEXT}\n" for number in range(6)))
    toml(recognizer='engine = "transcripts"\npath = "heard.csv"')
    assert main(["run", "audit.toml"]) == 0
    assert "transcripts from files cannot answer" in chapter()["refusals"][0]["text"]


def test_services_hear_no_stuttering_under_a_limit(home, monkeypatch):
    monkeypatch.setenv("DEEPGRAM_API_KEY", "not-a-real-key-1234567890")
    from voxaudit import pipeline

    corpus(speech=False)
    toml(recognizer='engine = "deepgram"')
    config = load_config("audit.toml")
    options = RunOptions(max_minutes=1.0, progress=False)
    pipeline._stuttered(config, config.stutter, pipeline.read_inputs(config), options)
    assert "services do not under a limit" in Path("out/stutter/refused.txt").read_text()
    assert not Path("out/stutter/trials.sqlite").exists()


def test_a_dry_run_counts_it(home, capsys, asked):
    corpus(speech=False)
    toml("[stutter]\nutterances = 3\nbudget = 2\ndose = [5]\n")
    assert asked("run", "audit.toml", "--dry-run").notes["stutter"] == {"trials_at_most": 12}
    assert main(["run", "audit.toml", "--dry-run"]) == 0
    assert "at most 12 trials" in capsys.readouterr().out


@pytest.mark.slow
def test_a_run_that_stops_early_hears_it_too(home, capsys):
    for package in ("pocketsphinx", "py_nanotts"):
        pytest.importorskip(package)
    corpus(speech=True)
    toml("[stutter]\nutterances = 5\nbudget = 1\n[gates]\nclean_wer = 0.5\n")
    assert main(["run", "audit.toml", "--precision", "0.2"]) == 0
    said = capsys.readouterr().err
    assert f"Stuttered speech, as [stutter] asks, is in {Path('out') / 'stutter'}" in said
    assert "No gate is judged" in said
    assert json.loads(Path("out/stutter/stutter.json").read_text())["utterances"] == 5
    assert main(["report", "out"]) == 0
    assert chapter()["refusals"] == []


def test_a_run_that_stops_early_says_why_nothing_was_made_to_stutter(home, capsys):
    pytest.importorskip("pocketsphinx")
    corpus(speech=False)
    toml("[stutter]\nutterances = 2\nbudget = 1\n")
    assert main(["run", "audit.toml", "--precision", "0.2"]) == 0
    assert "No gate" not in capsys.readouterr().err
    assert main(["report", "out"]) == 0
    assert "no recording can be stuttered" in chapter()["refusals"][0]["text"]


def test_a_limit_of_cost_is_not_forgotten_by_a_run_that_stops_early(home, capsys):
    corpus(speech=False)
    toml("")
    assert main(["run", "audit.toml", "--precision", "0.2", "--max-cost", "1"]) == 2
    err = capsys.readouterr().err
    assert "keeps no budget" in err
    assert "(see --max-cost)" in err
    assert not Path("out").exists()
