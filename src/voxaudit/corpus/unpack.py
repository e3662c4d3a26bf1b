"""Recordings that lie inside a table: written once to files of their own, named by their content."""

from __future__ import annotations

import hashlib
from pathlib import Path, PurePosixPath

from voxaudit.audio import SUFFIXES
from voxaudit.corpus.base import CorpusError
from voxaudit.errors import VoxauditError
from voxaudit.files import cache_folder
from voxaudit.tables import write_atomically

_MAGIC = {
    b"RIFF": ".wav",
    b"fLaC": ".flac",
    b"OggS": ".ogg",
    b"ID3": ".mp3",
    b"\xff\xfb": ".mp3",
    b"\xff\xf3": ".mp3",
    b"FORM": ".aiff",
}


def unpacked_folder() -> Path:
    """Return where unpacked audio is kept: `audio` in voxaudit's cache folder."""
    return cache_folder() / "audio"


def unpack(content: bytes, name: str | None, folder: Path) -> Path:
    """Return the file of this content below `folder`, written if it is not there.

    `name` is what the source calls it: only its ending is used, so that no name can lead out of the folder.
    """
    known = PurePosixPath(name or "").suffix.lower()
    ending = next((ending for magic, ending in _MAGIC.items() if content.startswith(magic)), known)
    digest = hashlib.sha256(content).hexdigest()
    path = folder / digest[:2] / f"{digest}{ending if ending in SUFFIXES else '.wav'}"
    if not path.is_file() or path.stat().st_size != len(content):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, lambda temporary: temporary.write_bytes(content))
        except (OSError, VoxauditError) as error:
            raise CorpusError(f"{folder}: cannot unpack audio here ({error}); set VOXAUDIT_CACHE") from error
    return path
