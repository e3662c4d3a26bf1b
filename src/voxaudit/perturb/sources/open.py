"""Which source each perturbation of a run uses: the user's folders, the corpus, or the built-in set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from voxaudit.errors import VoxauditError
from voxaudit.perturb.scenario import PERTURBATIONS, Scenario, source_of, takes_source
from voxaudit.perturb.sources import folder
from voxaudit.perturb.sources.base import Source
from voxaudit.registry import suggest

if TYPE_CHECKING:  # worker processes import this package and must start without the corpus's tables
    from voxaudit.corpus import Corpus

_PARTS = {"music": folder.MUSIC, "crosstalk": folder.SPEECH}
_ROOMS = {"rir": (folder.SIMULATED, "RT60"), "real_rir": (folder.REAL, "SRMR")}


def open_source(name: str, path: str | Path) -> Source:
    """Return a folder as the source of the perturbation called `name`; a folder that cannot serve raises one line."""
    _check(name)
    if name == "universal":
        from voxaudit.perturb.universal import open_universal

        return open_universal(path)
    if name in _ROOMS:
        from voxaudit.perturb.sources.responses import open_rooms

        part, by = _ROOMS[name]
        return open_rooms(path, part, by=by)
    return folder.open_recordings(path, _PARTS.get(name, folder.NOISE))


def open_sources(
    given: Mapping[str, Source | str | Path], used: Iterable[str], corpus: Corpus | None = None
) -> dict[str, Source]:
    """Return the sources of the perturbations in `used` that are not built in.

    Folders that no scenario uses are looked for but not read. Crosstalk comes from the corpus unless given.
    """
    wanted = set(used)
    sources: dict[str, Source] = {}
    for name, source in given.items():
        _check(name)
        if isinstance(source, Source):
            sources[name] = source
        elif name in wanted:
            sources[name] = open_source(name, source)
        elif not Path(source).is_dir() and not (name == "universal" and Path(source).is_file()):
            raise VoxauditError(f"{Path(source).absolute()}: no such folder, for {name} in [sources]")
    if corpus is not None and "crosstalk" in wanted and "crosstalk" not in sources:
        from voxaudit.perturb.sources.talkers import other_speakers

        sources["crosstalk"] = other_speakers(corpus)
    return sources


def describe_sources(scenarios: Iterable[Scenario]) -> dict[str, dict[str, str]]:
    """Return, by perturbation, its source's description, fingerprint and folder, for `run.json` and the report."""
    return {
        scenario.perturbation.name: {
            "description": source.describe(),
            "fingerprint": source.fingerprint(),
            "folder": source.folder,
        }
        for scenario in scenarios
        if scenario.perturbation is not None and (source := source_of(scenario.perturbation)) is not None
    }


def reopen_sources(recorded: Mapping[str, Mapping[str, str]], corpus: Corpus | None) -> dict[str, Source]:
    """Return the sources that `describe_sources` wrote down, to make a run's audio again.

    `corpus` is the run's. A folder whose content is no longer what was heard raises one line.
    """
    folders = {name: entry["folder"] for name, entry in recorded.items() if entry["folder"]}
    sources = open_sources(folders, recorded, corpus)
    for name, source in sources.items():
        if source.fingerprint() != recorded[name]["fingerprint"]:
            raise VoxauditError(
                f"the recordings for {name} are not those of the run ({recorded[name]['description']}):"
                " put them back, or run again"
            )
    return sources


def _check(name: str) -> None:
    there = name in PERTURBATIONS.names()
    if not there or not takes_source(PERTURBATIONS.load(name)):
        what = "takes no source" if there else "is no perturbation"
        raise VoxauditError(
            f"[sources]: '{name}' {what}.{suggest(name, list(_KNOWN))} Known: {', '.join(_KNOWN)}"
        )


_KNOWN = (
    *("environment_ms_snsd", "environment_esc50", "environment_musan", "environment_wham"),
    *("music", "crosstalk", "rir", "real_rir", "universal"),
)
