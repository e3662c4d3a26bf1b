"""Names to objects, imported only when used: the way every kind of plug-in part is found."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from typing import Any

from voxaudit.errors import VoxauditError, one_line


def suggest(name: str, known: list[str]) -> str:
    """Return " Did you mean: x?" where a known name is close to `name`, else an empty string."""
    import difflib

    close = difflib.get_close_matches(name, known, n=2, cutoff=0.6)
    return f" Did you mean: {' or '.join(close)}?" if close else ""


def unknown(
    what: str,
    name: str,
    known: Iterable[str],
    *see: str,
    where: str = "",
    there: str = "There",
    error: type[VoxauditError] = VoxauditError,
) -> VoxauditError:
    """Return the error of a name that is not among those known, which says what there is; `where` follows the name.

    >>> str(unknown("no group", "femal", ["female", "male"]))
    "no group 'femal'. Did you mean: female or male? There: female, male"
    """
    names = list(known)
    shown = (", ".join(names[:20]) or "none") + (f" and {len(names) - 20} more" if len(names) > 20 else "")
    text = f"{what} '{one_line(name, 80)}'{where}.{suggest(name, names)} {there}: {one_line(shown, 600)}"
    return error(text, see=see)


class Registry:
    """A table of lazy `module:object` entries of one kind.

    Installed packages can add to it through the entry-point group `group`; a built-in name always wins.
    """

    def __init__(self, kind: str, entries: Mapping[str, str], group: str) -> None:
        self.kind = kind
        self.group = group
        self._entries = dict(entries)

    def names(self) -> list[str]:
        """Return all names, built-in first in their declared order, then plug-ins by name."""
        return [*self._entries, *sorted(name for name in self._plugins() if name not in self._entries)]

    def load(self, name: str) -> Any:
        """Import and return the object called `name`."""
        target = self._entries.get(name) or self._plugins().get(name)
        if target is None:
            names = self.names()
            raise VoxauditError(
                f"Unknown {self.kind} '{one_line(name, 80)}'.{suggest(name, names)} Available: {', '.join(names)}"
            )
        module, _, attribute = target.partition(":")
        if name in self._entries:
            return getattr(import_module(module), attribute)
        try:
            return getattr(import_module(module), attribute)
        except KeyboardInterrupt:
            raise
        except (
            BaseException
        ) as error:  # one that leaves (`sys.exit(0)`) must not look like a gate that passed
            raise VoxauditError(
                f"{self.kind} '{one_line(name, 80)}' cannot be imported from {one_line(target, 80)}"
                f" ({type(error).__name__}: {one_line(error, 200)}); repair the package that adds it, or remove it"
            ) from error

    def _plugins(self) -> dict[str, str]:
        return _declared(self.group, tuple(sys.path))


@lru_cache(maxsize=64)
def _declared(group: str, path: tuple[str, ...]) -> dict[str, str]:
    """Return what installed packages add to a group; looking through all of them takes 0.1 s, so once per path."""
    if not _is_named(group, path):
        return {}
    from importlib.metadata import entry_points

    return {entry.name: entry.value for entry in entry_points(group=group)}


def _is_named(group: str, path: tuple[str, ...]) -> bool:
    """Say whether an installed package may add to a group: to import `importlib.metadata` is half of a start."""
    for folder in path:
        if os.path.isfile(folder):  # noqa: PTH113 (pathlib is a tenth of a start); an archive, into which it can look
            return True
        with suppress(OSError), os.scandir(folder or ".") as found:
            for entry in found:
                if entry.name.endswith((".dist-info", ".egg-info")):
                    with suppress(OSError), open(f"{entry.path}/entry_points.txt", "rb") as file:  # noqa: PTH123
                        if group.encode() in file.read():
                            return True
    return False


def lazy_attributes(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a package's `__getattr__` that imports each name of `homes` ({name: module}) when it is first used."""

    def find(name: str) -> Any:
        if name in homes:
            return getattr(import_module(homes[name]), name)
        raise AttributeError(f"module '{package}' has no attribute '{name}'")

    return find
