"""Files on other filesystems (`s3://`, `gs://`, `file://` ...), through fsspec. Nothing is imported for local paths."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from voxaudit.errors import VoxauditError, one_line

FEW = 8
"""Up to so many files of a folder are asked for one by one; more, and the folder is listed once instead."""

LARGEST_TABLE = 2_000_000_000
"""Bytes of a table elsewhere that are fetched."""

_PASSWORD = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://[^/@:]*:[^/@]*@")
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/(/?)(/?)(.*)", re.DOTALL)


def cache_folder() -> Path:
    """Return voxaudit's cache folder: $VOXAUDIT_CACHE, else `voxaudit` in the user's cache folder."""
    if chosen := os.environ.get("VOXAUDIT_CACHE"):
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(base) if base else Path.home() / ".cache") / "voxaudit"


def safe_name(text: str) -> str:
    """Return a text as a name of a file or folder."""
    kept = re.sub(r"[^\w.-]+", "_", text).strip("._").encode()[-80:]  # file systems count bytes
    return kept.decode(errors="ignore") or "_"


class RemoteError(VoxauditError):
    """A file elsewhere that cannot be read or written: costs its own trials, not the run."""


def url_of(path: str | Path) -> str | None:
    """Return the URL that a path is, or None for a path on this machine.

    `pathlib` writes `s3://bucket/a.wav` as `s3:/bucket/a.wav`: that is understood, too.
    """
    parts = _URL.fullmatch(path if isinstance(path, str) else path.as_posix())
    if parts is None:
        return None
    scheme, _, third, rest = parts.groups()
    return f"{scheme}://{'/' if third or scheme in ('file', 'tar') else ''}{rest}"


_MEMBER = re.compile(r"tar://(?:/(?=[A-Za-z]:))?(.+)@(\d{1,18})\+(\d{1,18})/.*", re.DOTALL)


def member_url(archive: Path, offset: int, size: int, name: str) -> str:
    """Return the address of a file inside a plain tar archive on this machine: `tar:///a.tar@1536+32044/clip.wav`.

    It says where the bytes are, so that reading them needs neither the archive's index nor a copy.
    """
    return f"tar:///{archive.absolute().as_posix().lstrip('/')}@{offset}+{size}/{safe_name(name)}"


def _member(url: str) -> tuple[Path, int, int] | None:
    parts = _MEMBER.fullmatch(url)
    return None if parts is None else (Path(parts[1]), int(parts[2]), int(parts[3]))


def place(base: Path, text: str) -> Path:
    """Return where `text` points: a URL as it is, another path seen from the folder `base`."""
    return Path(text) if url_of(text) is not None else base / text


def read_bytes(url: str, most: int | None = None) -> bytes:
    """Return the content of a file: all of it, or the first `most` bytes."""
    with _one_line(url, "read"):
        if (member := _member(url)) is not None:
            archive, offset, size = member
            if not archive.is_file():
                raise FileNotFoundError
            with archive.open("rb") as file:
                file.seek(offset)
                there = max(os.fstat(file.fileno()).st_size - offset, 0)
                return file.read(min(size, there, size if most is None else most))
        system, path = _readable(url)
        if "http" not in _protocols(system):
            content: bytes = system.cat_file(path, 0, most)
            return content
        kept = bytearray()
        for block in _blocks(system, path):  # a server need not keep to the part that it was asked for
            kept += block
            if most is not None and len(kept) >= most:
                break
        return bytes(kept[:most])


def stamp(url: str) -> tuple[int, int] | None:
    """Return (size, a number that changes when the file does), or None where the filesystem tells neither."""
    with _one_line(url, "read"):
        if (member := _member(url)) is not None:
            return member[2], member[0].stat().st_mtime_ns
        system, path = _open(url)
        about = system.info(path)
    marks = [about.get(name) for name in ("ETag", "etag", "md5Hash", "LastModified", "mtime", "created")]
    if not any(marks) or about.get("size") is None:
        return None
    digest = hashlib.sha256(repr([str(mark) for mark in marks]).encode()).digest()
    return int(about["size"]), int.from_bytes(digest[:7], "big")


def content_hash(url: str, most: int) -> str:
    """Return the SHA-256 of a file's bytes, read in pieces; one of more than `most` bytes raises one line."""
    if _member(url) is not None:
        return hashlib.sha256(read_bytes(url)).hexdigest()
    digest, size = hashlib.sha256(), 0
    with _one_line(url, "read"):
        for block in _blocks(*_readable(url)):
            size += len(block)
            if size > most:  # a server can send without end
                raise RemoteError(f"{url}: has more than {most / 1e6:,g} MB (`largest`)")
            digest.update(block)
    return digest.hexdigest()


def _blocks(system: Any, path: str) -> Iterator[bytes]:
    """Yield the content of a file in pieces; by HTTP with one request, whatever the server says of the file."""
    how = {"block_size": 0, "size": 1} if "http" in _protocols(system) else {}
    with system.open(path, "rb", **how) as file:
        while block := file.read(1 << 20):
            yield block


def existing(urls: Sequence[str]) -> list[bool]:
    """Return which of these URLs are files. A folder with many of them is listed once, not asked per file."""
    folders = Counter(url.rpartition("/")[0] for url in urls if _member(url) is None)
    listed: dict[str, set[str]] = {}
    for folder, count in folders.items():
        if count > FEW:
            with _one_line(folder, "list"):
                system, path = _open(folder)
                try:
                    names = system.ls(path, detail=False)
                except FileNotFoundError:
                    names = []
                listed[folder] = {str(name).rstrip("/").rpartition("/")[2] for name in names}
    return [_is_file(url, listed) for url in urls]


def _is_file(url: str, listed: dict[str, set[str]]) -> bool:
    if (member := _member(url)) is not None:
        return member[0].is_file()
    folder, _, name = url.rpartition("/")
    if folder in listed:
        return name in listed[folder]
    with _one_line(url, "read"):
        system, path = _open(url)
        return bool(system.isfile(path))


@contextlib.contextmanager
def fetched(url: str) -> Iterator[Path]:
    """Have a copy of a table in a temporary folder, under its own name."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / (url.rstrip("/").rpartition("/")[2] or "file")
        if copy.write_bytes(read_bytes(url, LARGEST_TABLE + 1)) > LARGEST_TABLE:
            raise RemoteError(f"{url}: has more than {LARGEST_TABLE / 1e6:,g} MB; copy it to this machine")
        yield copy


def require(url: str) -> None:
    """Raise one line where a folder cannot be published to: no URL, or no package for its filesystem."""
    if url_of(url) is None:
        raise RemoteError(f"publish: '{one_line(url, 80)}' is no URL such as s3://bucket/folder")
    with _one_line(url, "write"):
        _open(url)


def publish(files: Sequence[Path], url: str) -> None:
    """Copy files into the folder `url`, under their own names; what is there under these names is replaced."""
    require(url)
    with _one_line(url, "write"):
        system, path = _open(url)
        system.makedirs(path, exist_ok=True)
        for file in files:
            system.put_file(str(file), f"{path.rstrip('/')}/{file.name}")


def _open(url: str) -> tuple[Any, str]:
    """Return the filesystem of a URL and the path on it."""
    if _PASSWORD.match(url):  # paths are kept in tables and shown in messages
        raise VoxauditError(
            f"{_PASSWORD.sub('', url)}: the URL holds a password; leave it out, and set it for the filesystem in"
            " the environment (FSSPEC_<PROTOCOL>_PASSWORD)"
        )
    if "::" in url:  # some filesystems take instructions from the file that they are laid over
        raise VoxauditError(f"{url}: a filesystem inside another (`::`) is not opened; name the file itself")
    try:
        core = import_module("fsspec.core")
    except ImportError as error:
        raise VoxauditError(f"{url}: URLs need fsspec: pip install 'voxaudit[remote]'") from error
    system, path = core.url_to_fs(url)
    return system, path


def _readable(url: str) -> tuple[Any, str]:
    """Return the filesystem of a URL and the path on it, unless that is a device or a pipe: such have no end."""
    system, path = _open(url)
    if "file" in _protocols(system) and Path(path).exists() and not Path(path).is_file():
        raise FileNotFoundError
    return system, path


def _protocols(system: Any) -> tuple[str, ...]:
    """Return all names of a filesystem: `file` is `local`, too."""
    return (system.protocol,) if isinstance(system.protocol, str) else tuple(system.protocol)


@contextlib.contextmanager
def _one_line(url: str, what: str) -> Iterator[None]:
    """Turn whatever a filesystem raises into one line: each has errors of its own."""
    try:
        yield
    except VoxauditError:
        raise
    except FileNotFoundError as error:
        raise RemoteError(f"{url}: no such file") from error
    except (ImportError, ValueError) as error:  # a package that is missing, a protocol that nobody knows
        raise VoxauditError(f"{url}: cannot {what} ({one_line(error, 200)})") from error
    except Exception as error:
        raise RemoteError(f"{url}: cannot {what} ({type(error).__name__}: {one_line(error, 200)})") from error
