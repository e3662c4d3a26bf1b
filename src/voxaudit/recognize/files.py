"""Identities for fingerprints: hashes of model files, versions of packages."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from importlib import util
from pathlib import Path

from voxaudit.errors import missing_extra, one_line
from voxaudit.recognize.base import RecognizerError

PACKAGES = {"whisper": "openai-whisper", "nemo": "nemo_toolkit[asr]", "onnx_asr": "onnx-asr"}
"""What to install for a module whose name says otherwise."""


def sha256(*paths: str | Path) -> str:
    """Return one SHA-256 over files and folders: names within a folder and bytes, not where they lie.

    Files are read once a process and again only when their size or time changes.
    """
    parts = [digest for path in paths for digest in _digests(Path(path))]
    return parts[0] if len(parts) == 1 else hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _digests(path: Path) -> Iterable[str]:
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file())
        return [f"{file.relative_to(path).as_posix()} {_digest_now(file)}" for file in files]
    return [_digest_now(path)]


def _digest_now(path: Path) -> str:
    try:
        status = path.stat()
        return _digest(str(path), status.st_size, status.st_mtime_ns)
    except OSError as error:
        raise RecognizerError(
            f"{path}: cannot read this file ({error.strerror or one_line(error)})"
        ) from error


@lru_cache(maxsize=1024)
def _digest(path: str, size: int, modified: int) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def installed(module: str) -> bool:
    """Say whether a top-level module could be imported, without importing it."""
    try:
        return util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def require_packages(engine: type) -> None:
    """Raise the error that names the extra, if one of the modules in an engine's `requires` is not installed."""
    for module in getattr(engine, "requires", ()):
        if not installed(module):
            raise missing_extra(PACKAGES.get(module, module.replace("_", "-")), getattr(engine, "extra", ""))


def package_folder(module: str) -> Path | None:
    """Return the folder of an installed package without importing it, or None."""
    if not installed(module):
        return None
    spec = util.find_spec(module)
    places = list(spec.submodule_search_locations or ()) if spec else []
    return Path(places[0]) if places else None


def package_version(package: str) -> str:
    """Return the version of an installed distribution, or "unknown"."""
    from importlib import metadata  # every worker would take it a tenth longer to start

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "unknown"
