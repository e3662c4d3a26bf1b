"""A Python function as a recognizer: samples and rate in, text out."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from voxaudit.audio import Audio
from voxaudit.errors import one_line
from voxaudit.recognize.base import RecognizerError, Transcriber, Transcript, as_transcript, as_transcripts
from voxaudit.recognize.files import sha256
from voxaudit.recognize.settings import check_settings, setting
from voxaudit.registry import suggest


@dataclass(frozen=True)
class PythonFunction:
    description = "A Python function: it gets float32 samples and their rate in Hz and returns the text."
    main = "callable"

    callable: str = setting(help="package.module:function or path/to/file.py:function", path=True)
    rate: int | None = setting(
        16_000, help="sample rate in Hz it wants; none for the recording's own", above=0
    )
    batched: bool = setting(False, help="it gets lists of samples and of rates, and returns a list")
    batch: int = setting(16, help="utterances per call where batched", at_least=1)
    version: str = setting(
        "", help="yours to raise when answers change in a way the source file does not show"
    )

    def __post_init__(self) -> None:
        place, _, name = self.callable.rpartition(":")
        if not place or not name:
            raise RecognizerError(
                "recognizer 'python': callable must be package.module:function or file.py:function,"
                f" not '{one_line(self.callable, 80)}'"
            )
        check_settings(self, "python")

    @property
    def batch_size(self) -> int:
        """`batch` for a function that takes lists, else 1."""
        return self.batch if self.batched else 1

    def require(self) -> None:
        """Raise one line if there is no such file or module. Nothing of it is run."""
        self._source()

    def fingerprint(self) -> dict[str, str]:
        """The function's name and the bytes of the file it is in: not of what that file imports, see `version`."""
        source = self._source()
        place, _, name = self.callable.rpartition(":")
        return {
            "engine": "python",
            "callable": f"{Path(place).name if place.endswith('.py') else place}:{name}",
            "source": sha256(source) if source else "",
            "rate": str(self.rate),
            "batched": str(self.batched),
            "version": self.version,
        }

    def load(self) -> Transcriber:
        """Import the function; a class is called once without arguments, so that it can load its model."""
        target = resolve(self.callable)
        if isinstance(target, type):
            target = target()
        if not hasattr(target, "__call__"):  # noqa: B004 - `callable` is the name of a setting here
            raise RecognizerError(
                f"recognizer 'python': {self.callable} is not a function but {type(target).__name__}"
            )
        return _Caller(target, self.batched)

    def _source(self) -> Path | None:
        place, _, _ = self.callable.rpartition(":")
        if place.endswith(".py"):
            if not Path(place).is_file():
                raise RecognizerError(f"recognizer 'python': {place}: no such file")
            return Path(place)
        spec = _find_module(place)
        return Path(spec.origin) if spec.has_location and spec.origin else None


class _Caller:
    def __init__(self, function: Callable[..., Any], batched: bool) -> None:
        self._function = function
        self._batched = batched

    def __call__(self, batch: Sequence[Audio]) -> list[Transcript]:
        # Copies: a function that works in place must not change what others hear.
        samples = [audio.samples.copy() for audio in batch]
        if self._batched:
            return as_transcripts(self._function(samples, [audio.rate for audio in batch]), len(batch))
        return [as_transcript(self._function(x, audio.rate)) for x, audio in zip(samples, batch, strict=True)]


def resolve(reference: str) -> Any:
    """Import and return what `package.module:name` or `file.py:name` names."""
    place, _, name = reference.rpartition(":")
    try:
        found: Any = _import_file(Path(place)) if place.endswith(".py") else importlib.import_module(place)
    except RecognizerError:
        raise
    except (Exception, SystemExit) as error:
        raise RecognizerError(
            f"recognizer 'python': {place} cannot be imported ({type(error).__name__}: {one_line(error, 200)})"
        ) from error
    for part in name.split("."):
        if not hasattr(found, part):
            raise RecognizerError(
                f"recognizer 'python': no '{part}' in {place}.{suggest(part, [n for n in dir(found) if n[0] != '_'])}"
            )
        found = getattr(found, part)
    return found


def reference_to(function: Callable[..., Any]) -> str:
    """Return the reference by which a worker process can import a function or class, or raise one line."""
    name = getattr(function, "__qualname__", "")
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    if not name or "<" in name or module is None or _inside(module, name) is not function:
        raise RecognizerError(
            f"recognizer 'python': {one_line(name or repr(function), 80)} cannot be sent to worker processes."
            " Define it with def (or class) at the top level of a module or file"
        )
    spec = getattr(module, "__spec__", None)
    if spec is not None and spec.name != "__main__" and _importable(spec.name):
        return f"{spec.name}:{name}"
    file = getattr(module, "__file__", None)
    if file is None or not file.endswith(".py"):
        raise RecognizerError(
            f"recognizer 'python': {name} was typed into a console; save it in a file.py and give file.py:{name}"
        )
    return f"{Path(file).resolve()}:{name}"


def _inside(module: ModuleType, name: str) -> Any:
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _importable(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _find_module(name: str) -> importlib.machinery.ModuleSpec:
    # As `python -m` does: a module in the current folder counts.
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)
    try:
        spec = importlib.util.find_spec(name)
    except Exception as error:
        raise RecognizerError(
            f"recognizer 'python': module {one_line(name, 80)} cannot be found ({one_line(error, 120)})"
        ) from error
    if spec is None:
        raise RecognizerError(
            f"recognizer 'python': no module '{one_line(name, 80)}'. For a file, give path/to/file.py"
        )
    return spec


def _import_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise RecognizerError(f"recognizer 'python': {path}: no such file")
    path = path.resolve()
    name = f"voxaudit_file_{sha256(path)[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    folder = str(path.parent)
    if folder not in sys.path:  # as for a script: its neighbors can be imported
        sys.path.append(folder)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise RecognizerError(f"recognizer 'python': {path}: not a Python file; its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
