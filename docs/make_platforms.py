"""Write docs/platforms.md: which wheels of every dependency exist for which platform.

`python docs/make_platforms.py`, where `voxaudit[demo]` and `packaging` are installed, asks the package index that pip
is set up for; nothing is downloaded but lists of files.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib import metadata
from pathlib import Path

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.tags import Tag, compatible_tags, cpython_tags, mac_platforms
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

ROOT = Path(__file__).resolve().parents[1]
PAGE = Path(__file__).with_name("platforms.md")
PYTHON, NEWEST = (3, 13), (3, 14)


def linux(machine: str) -> list[str]:
    """Return the tags of wheels for a Linux of 2022 or later."""
    old = ["manylinux2014", "manylinux2010", "manylinux1"]
    return [f"{one}_{machine}" for one in (*(f"manylinux_2_{n}" for n in range(34, 4, -1)), *old)]


PLATFORMS = {
    "Linux x86": (linux("x86_64"), "linux", "x86_64", PYTHON),
    "Linux arm": (linux("aarch64"), "linux", "aarch64", PYTHON),
    "macOS arm": (list(mac_platforms((15, 0), "arm64")), "darwin", "arm64", PYTHON),
    "macOS Intel": (list(mac_platforms((15, 0), "x86_64")), "darwin", "x86_64", PYTHON),
    "Windows x86": (["win_amd64"], "win32", "AMD64", PYTHON),
    "Windows arm": (["win_arm64"], "win32", "ARM64", PYTHON),
    "Linux x86, Python 3.14": (linux("x86_64"), "linux", "x86_64", NEWEST),
}
OURS = {"test", "dev", "browser", "docs", "demo"}
"""Extras of those who work on voxaudit, and the one with a table of its own."""


@cache
def tags(platform: str) -> set[Tag]:
    """Return the tags of wheels that a platform takes."""
    names, _, _, python = PLATFORMS[platform]
    return {
        *cpython_tags(python, platforms=names),
        *compatible_tags(python, f"cp{python[0]}{python[1]}", names),
    }


@cache
def files(name: str) -> tuple[str, ...]:
    """Return the names of all files of a package in the index, as pip tells them while it looks for versions."""
    command = [sys.executable, "-m", "pip", "index", "versions", name, "-vvv", "--disable-pip-version-check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.findall(r"[\w.!+-]+\.(?:whl|tar\.gz|zip)\b", done.stdout + done.stderr)
    return tuple(dict.fromkeys(found))


def cell(requirement: Requirement, platform: str) -> str:
    """Return the newest wheel's version for a platform; `source` where one must be built, `-` for neither."""
    _, system, machine, python = PLATFORMS[platform]
    environment = {**default_environment(), "sys_platform": system, "platform_machine": machine}
    environment |= {"python_version": f"{python[0]}.{python[1]}"}
    if requirement.marker is not None and not requirement.marker.evaluate(environment):
        return "left out"
    wheels, source = set(), False
    for file in files(requirement.name):
        try:
            if file.endswith(".whl"):
                _, version, _, own = parse_wheel_filename(file)
                if own & tags(platform):
                    wheels.add(version)
            else:
                stem = re.sub(r"\.(tar\.gz|zip)$", "", file)
                source |= requirement.specifier.contains(Version(stem.rpartition("-")[2]))
        except (InvalidWheelFilename, InvalidVersion):
            continue
    fitting = [one for one in wheels if not one.is_prerelease and requirement.specifier.contains(one)]
    return str(max(fitting)) if fitting else "source" if source else "-"


def closure(name: str, extras: set[str], seen: dict[str, Requirement]) -> dict[str, Requirement]:
    """Return everything that a package installs here, by its name, as its dependents ask for it."""
    for text in metadata.requires(name) or ():
        one = Requirement(text)
        key = canonicalize_name(one.name)
        wanted = one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in extras | {""})
        if wanted and key not in seen:
            seen[key] = Requirement(f"{one.name}{one.specifier}")
            closure(one.name, set(one.extras), seen)
    return seen


def table(rows: dict[str, Requirement]) -> list[str]:
    """Return the lines of a table: a row per requirement, a column per platform."""
    lines = [f"| package | {' | '.join(PLATFORMS)} |", "|---" * (len(PLATFORMS) + 1) + "|"]
    for name, requirement in rows.items():
        lines.append(f"| {name} | {' | '.join(cell(requirement, one) for one in PLATFORMS)} |")
    return lines


def main() -> None:
    """Ask for everything and put the tables into the page."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    demo = dict(sorted(closure("voxaudit", {"demo"}, {}).items()))
    extras = {
        f"{requirement.name} (`{extra}`)": requirement
        for extra, given in project["optional-dependencies"].items()
        if extra not in OURS
        for requirement in map(Requirement, given)
        if canonicalize_name(requirement.name) not in {*demo, "voxaudit"}
    }
    made = [*table(demo), "", "Of what the other extras ask for themselves:", "", *table(extras)]
    block = "<!-- wheels -->\n" + "\n".join(made) + "\n<!-- /wheels -->"
    text = re.sub(r"<!-- wheels -->.*<!-- /wheels -->", block, PAGE.read_text(encoding="utf-8"), flags=re.S)
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
