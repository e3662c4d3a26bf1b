"""`init`, `run` and `list` as a user meets them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import soundfile

import voxaudit
from voxaudit.cli.main import COMMANDS, main
from voxaudit.config import load_config

FUNCTION = '''
def hear(samples, rate):
    """Hear the loudness: quiet clips are "one two", loud ones "one three"."""
    return "one two" if abs(samples).max() < 0.5 else "one three"
'''


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VOXAUDIT_CACHE", str(tmp_path / "cache"))
    (tmp_path / "audio").mkdir()
    lines = ["path,text,speaker,accent,age"]
    for number in range(12):
        level = 0.1 if number % 2 else 0.7
        soundfile.write(tmp_path / "audio" / f"{number}.wav", np.full(800, level, np.float32), 16000)
        lines.append(
            f"audio/{number}.wav,One two.,s{number % 6},{'north' if number % 2 else 'south'},{20 + number}"
        )
    (tmp_path / "manifest.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "engine.py").write_text(FUNCTION)
    return tmp_path


def toml(text: str = "", corpus: str = "") -> None:
    workers = (
        "" if "workers" in text else "workers = 1\n"
    )  # clips here are heard sooner than a second one starts
    Path("audit.toml").write_text(
        f'[corpus]\npath = "manifest.csv"\nattributes = ["accent"]\n{corpus}\n'
        '[recognizers.mine]\nengine = "python"\ncallable = "engine.py:hear"\n'
        f'[scenarios]\nuse = ["gain:2"]\n[run]\nout = "out"\n{workers}{text}\n'
    )


def test_paths_are_relative_to_the_configuration(home, monkeypatch, capsys):
    toml()
    (home / "elsewhere").mkdir()
    monkeypatch.chdir(home / "elsewhere")
    assert main(["run", "../audit.toml"]) == 0
    assert (home / "out" / "scores.parquet").exists()


def test_init_writes_what_run_can_read(home, capsys):
    assert main(["init", "manifest.csv"]) == 0
    assert "12 utterances, 6 speakers" in capsys.readouterr().out
    config = load_config("audit.toml")
    assert config.corpus.path == Path("manifest.csv")
    assert config.corpus.attributes == ("accent", "age")
    assert set(config.recognizers) == {"moonshine", "pocketsphinx"}
    assert main(["init", "manifest.csv"]) == 2
    assert "already exists" in capsys.readouterr().err
    assert main(["init", "manifest.csv", "--force"]) == 0


def test_run_writes_the_folder_and_prints_rates(home, capsys):
    toml()
    assert main(["run", "audit.toml"]) == 0
    out = capsys.readouterr().out
    assert "mine gets 25.0 %" in out
    assert "gain:2" in out
    names = {path.name for path in Path("out").iterdir()}
    assert {
        "run.json",
        "trials.sqlite",
        "corpus.parquet",
        "transcripts.parquet",
        "scores.parquet",
        "summary.md",
        "report.html",
        "findings.json",
        "junit.xml",
    } <= names
    summary = Path("out/summary.md").read_text()
    assert "normalizer basic@1" in summary
    assert "| mine | clean | south | 50.0 % | 57.1 % | 12 | 6 | 3 |" in summary


def test_json_is_one_document_and_nothing_else(home, capfd):
    toml()
    assert main(["run", "audit.toml", "--json"]) == 0
    document = json.loads(capfd.readouterr().out)
    assert document.pop("folder") == "out"
    assert document == json.loads(Path("out/findings.json").read_text())
    clean = next(one for one in document["findings"] if one["id"] == "accuracy/mine/clean/wer")
    assert clean["estimate"] == 6 / 24
    chapters = {chapter["id"]: chapter for chapter in document["chapters"]}
    (groups,) = (
        answer["tables"]
        for answer in chapters["accuracy"]["answers"]
        if answer["question"]["by"] == ["recognizer", "scenario", "accent"]
    )
    assert [table["id"] for table in groups] == ["rates", "concentration"]
    place = [column["name"] for column in groups[0]["columns"]].index("accent")
    assert {row[place] for row in groups[0]["rows"]} == {"north", "south"}
    assert "failures" not in {table["id"] for chapter in document["chapters"] for table in chapter["tables"]}


@pytest.mark.slow
def test_a_gate_that_fails_is_exit_code_1(home, capsys):
    toml("[gates]\nclean_wer = 0.3\nmax_failures = 0\n[gates.mine]\nworst_wer = 0.1")
    assert main(["run", "audit.toml"]) == 1
    out, err = capsys.readouterr()
    assert "gate clean_wer/mine: pass" in out
    assert err.strip().splitlines()[-1].startswith("voxaudit: 1 of 3 gates failed: mine gets ")
    assert "gain:2" in err.strip().splitlines()[-1]
    config = json.loads(Path("out/run.json").read_text())["report"]
    assert config["attributes"] == ["accent"]
    assert config["gates"]["clean_wer"] == {"limit": 0.3, "bound": "point"}
    toml("[gates]\nclean_wer = 0.3")
    assert main(["run", "audit.toml"]) == 0  # nothing is heard again, the new gates count


def test_a_misspelt_gate_stops_before_anything_is_heard(home, capsys):
    toml("[gates]\nclean_ver = 0.3")
    assert main(["run", "audit.toml"]) == 2
    assert "Did you mean: clean_wer" in capsys.readouterr().err
    assert not Path("out").exists()


def test_the_python_interface_gives_the_same(home):
    toml()
    main(["run", "audit.toml"])
    corpus = voxaudit.read_corpus("manifest.csv")
    recognizer = voxaudit.make_recognizer({"engine": "python", "callable": "engine.py:hear"})
    run = voxaudit.run_trials(corpus, {"mine": recognizer}, ["gain:2"], out="again", progress=False)
    scores = voxaudit.score_run(run)
    assert scores.equals(voxaudit.open_run("out").scores)
    rates = voxaudit.accuracy(scores, by=["scenario", "accent"]).tables["rates"]
    assert rates.filter((pl.col("scenario") == "clean") & (pl.col("accent") == "south"))["wer"].item() == 0.5


def test_a_corpus_without_references_is_heard_and_said(home, capsys):
    text = Path("manifest.csv").read_text().replace("One two.", "").replace("text", "note")
    Path("manifest.csv").write_text(text)
    toml()
    assert main(["run", "audit.toml"]) == 0
    assert "12 of 12 utterances have no reference text" in capsys.readouterr().out
    assert voxaudit.open_run("out").transcripts.height == 24


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda: Path("audit.toml").unlink(), "no such file"),
        (lambda: Path("audit.toml").write_text("[corpus\n"), "not valid TOML"),
        (lambda: Path("audit.toml").write_bytes(b"\xff\xfe"), "not valid TOML"),
        (
            lambda: Path("audit.toml").write_text("[corpus]\n[recognizers.moonshine]\n"),
            "[corpus] needs a path",
        ),
        (lambda: Path("audit.toml").write_text('[corpus]\npath = "manifest.csv"\n'), "no recognizer"),
        (lambda: toml("sed = 3"), "unknown key 'sed' in [run]. Did you mean: seed"),
        (lambda: toml("[skore]"), "unknown section [skore]. Did you mean: score"),
        (lambda: toml('seed = "x"'), "run.seed must be a whole number, not 'x'"),
        (lambda: toml("seed = true"), "run.seed must be a whole number, not True"),
        (lambda: toml("seed = -1"), "run.seed must be at least 0, not -1"),
        (lambda: toml("workers = 0"), "audit.toml: run.workers must be at least 1, not 0"),
        (lambda: toml("timeout = -1"), "audit.toml: run.timeout must be above 0, not -1"),
        (lambda: toml('[score]\nnormalizer = "basik"'), "Did you mean: basic"),
        (lambda: toml(corpus='columns = { text = "sentense" }'), "sentense"),
        (lambda: Path("manifest.csv").unlink(), "manifest.csv"),
        (lambda: Path("engine.py").unlink(), "engine.py"),
        (lambda: Path("out").write_text("a file"), "out"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(home, capsys, change, message):
    toml()
    change()
    assert main(["run", "audit.toml"]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.startswith("voxaudit: error: ")
    assert len(error.strip().splitlines()) == 1
    assert not Path("out/transcripts.parquet").exists()


def test_hostile_names_stay_text(home, capsys):
    toml()
    path = Path("manifest.csv")
    path.write_text(path.read_text().replace("north", '"<script>alert(1)</script>|\x1b[31m"'))
    assert main(["run", "audit.toml"]) == 0
    assert "\x1b" not in capsys.readouterr().out
    summary = Path("out/summary.md").read_text()
    assert "<script>" not in summary
    assert "&lt;script&gt;" in summary


@pytest.mark.parametrize("kind", ["scenarios", "suites", "recognizers", "corpora", "normalizers", "audits"])
def test_everything_can_be_listed_in_80_columns(kind, capsys, asked, monkeypatch):
    rows = [row for table in asked("list", kind).tables.values() for row in table]
    assert rows
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["list", kind]) == 0
    table = capsys.readouterr().out
    assert all(str(next(iter(row.values()))) in table for row in rows)
    assert max(map(len, table.splitlines())) <= 80


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command, capsys):
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert f"example:\n  voxaudit {command}" in capsys.readouterr().out


def test_help_imports_nothing_heavy():
    script = (
        "import sys\nfrom voxaudit.cli.main import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print(sorted({'numpy', 'polars', 'scipy', 'rich', 'soundfile', 'onnxruntime'} & set(sys.modules)))\n"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert out.strip().splitlines()[-1] == "[]"
