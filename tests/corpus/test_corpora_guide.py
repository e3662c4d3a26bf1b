"""The guide does what it says: its example is installed and run, its tables are the code's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from voxaudit.cli.main import main
from voxaudit.corpus import FORMATS, read_corpus
from voxaudit.corpus.columns import USUAL_NAMES
from voxaudit.corpus.read import ROW_CHECKS
from voxaudit.corpus.rows import detection_order

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "corpora.md"


@pytest.fixture(scope="module")
def guide() -> str:
    return GUIDE.read_text(encoding="utf-8")


def install(folder: Path, code: str, entry: str) -> None:
    """Lay a module and its entry point out as pip would."""
    (folder / "my_corpora.py").write_text(code)
    information = folder / "my_corpora-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: my-corpora\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(f"[voxaudit.corpora]\n{entry}\n")


def test_the_example_of_a_new_format_works_once_installed(guide, wavs, tmp_path_factory, monkeypatch, capsys):
    chapter = guide.split("## Add a format")[1]
    assert len(chapter.splitlines()) < 60
    code = re.search(r"```python\n(.*?)```", chapter, re.DOTALL)[1]
    entry = re.search(
        r"```toml\n\[project\.entry-points\.\"voxaudit\.corpora\"\]\n(.*?)\n```", chapter, re.DOTALL
    )[1]
    packages = tmp_path_factory.mktemp("packages")
    install(packages, code, entry.replace('"', ""))
    monkeypatch.syspath_prepend(packages)

    root = wavs("wav/anna_1.wav", "wav/ben_1.wav")
    (root / "prompts.txt").write_text("anna_1.wav\tgood morning\nben_1.wav\tgood night\n")
    corpus = read_corpus(root)
    assert corpus.format == "prompts"
    assert corpus.problems == ()
    assert corpus.table.select("id", "speaker", "text").rows() == [
        ("anna_1", "anna", "good morning"),
        ("ben_1", "ben", "good night"),
    ]
    assert detection_order()[-3:] == ["prompts", "manifest", "folder"]
    assert main(["inspect", str(root)]) == 0
    assert "prompts" in capsys.readouterr().out
    (root / "prompts.txt").write_text("gone.wav\tx\n")
    assert main(["inspect", str(root)]) == 2


def test_a_broken_installed_format_does_not_keep_others_from_being_read(wavs, tmp_path_factory, monkeypatch):
    packages = tmp_path_factory.mktemp("packages")
    install(packages, "", "broken = no_such_module:READER")
    monkeypatch.syspath_prepend(packages)
    root = wavs("a.wav")
    (root / "m.csv").write_text("path,speaker,text\na.wav,s,x\n")
    (problem,) = read_corpus(root / "m.csv").problems
    assert problem.message == "format 'broken' could not be tried: No module named 'no_such_module'"
    assert not problem.fatal


def test_the_guide_lists_the_names_columns_are_found_by(guide):
    for ours, names in USUAL_NAMES.items():
        row = next(
            line for line in guide.splitlines() if line.startswith(f"| `{ours}`") and "found" not in line
        )
        assert row.split("|")[2].strip() == ", ".join(names)


def test_the_guide_lists_the_formats_in_their_order(guide):
    table = guide.split("## Formats")[1].split("## One spelling")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == [
        name for name in FORMATS.names() if name in table
    ]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == set(FORMATS.names())


def test_the_guide_lists_every_kind_of_problem(guide):
    source = "".join(path.read_text() for path in (GUIDE.parents[1] / "src/voxaudit/corpus").rglob("*.py"))
    named = set(re.findall(r'(?:Problem|row_problem|problem)\(\s*"(\w+)"', source)) | {
        check.kind for check in ROW_CHECKS
    }
    assert {"audio_not_found", "duplicate_id", "ragged_row", "no_metadata"} <= named
    for kind in named:
        assert f"`{kind}`" in guide, kind
