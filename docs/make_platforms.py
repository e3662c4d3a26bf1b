"""Write docs/platforms.md: which wheels of every dependency exist for which platform.

`python docs/make_platforms.py` asks the package index that pip is set up for (pip 25.1 or newer); nothing is installed.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from packaging.markers import default_environment
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
PAGE = Path(__file__).with_name("platforms.md")
PYTHON = "3.13"
NEWEST = "3.14"
PLATFORMS = {
    "Linux x86": ("manylinux_2_34_x86_64", "linux", "x86_64"),
    "Linux arm": ("manylinux_2_34_aarch64", "linux", "aarch64"),
    "macOS arm": ("macosx_26_0_arm64", "darwin", "arm64"),
    "macOS Intel": ("macosx_15_0_x86_64", "darwin", "x86_64"),
    "Windows x86": ("win_amd64", "win32", "AMD64"),
    "Windows arm": ("win_arm64", "win32", "ARM64"),
}
OURS = {"test", "dev", "browser", "docs"}
"""Extras of those who work on voxaudit."""


def pip(*words: str) -> subprocess.CompletedProcess[str]:
    """Run pip and return what it said."""
    command = [sys.executable, "-m", "pip", *words, "--disable-pip-version-check"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def versions(name: str, *target: str) -> list[str]:
    """Return the versions of a package that pip could install, newest first."""
    done = pip("index", "versions", name, "--json", *target)
    return json.loads(done.stdout)["versions"] if done.returncode == 0 else []


def cell(requirement: Requirement, platform: str, python: str = PYTHON) -> str:
    """Return the newest wheel's version for a platform; `source` where only that could be built, `-` for neither."""
    tag, system, machine = PLATFORMS[platform]
    environment = {**default_environment(), "sys_platform": system, "platform_machine": machine}
    environment["python_version"] = python
    if requirement.marker is not None and not requirement.marker.evaluate(environment):
        return "not asked for"
    target = ("--platform", tag, "--python-version", python, "--only-binary", ":all:")
    found = [one for one in versions(requirement.name, *target) if requirement.specifier.contains(one)]
    if found:
        return found[0]
    source = versions(requirement.name, "--no-binary", ":all:")
    return "source" if any(requirement.specifier.contains(one) for one in source) else "-"


def closure(extra: str) -> dict[str, str]:
    """Return everything that pip would install for an extra here, with versions."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        done = pip(
            *("install", "--dry-run", "--ignore-installed", "--quiet", "--report", str(report)),
            f"{ROOT}[{extra}]",
        )
        if done.returncode:
            raise SystemExit(done.stderr)
        found = [one["metadata"] for one in json.loads(report.read_text(encoding="utf-8"))["install"]]
    return {one["name"].lower(): one["version"] for one in found if one["name"] != "voxaudit"}


def table(rows: dict[str, Requirement]) -> list[str]:
    """Return the lines of a table: a row per requirement, a column per platform."""
    cells = [(row, name) for row in rows for name in (*PLATFORMS, NEWEST)]
    with ThreadPoolExecutor(2) as pool:
        texts = pool.map(
            lambda one: (
                cell(rows[one[0]], "Linux x86", NEWEST) if one[1] == NEWEST else cell(rows[one[0]], one[1])
            ),
            cells,
        )
        found = dict(zip(cells, texts, strict=True))
    lines = [
        f"| package | {' | '.join(PLATFORMS)} | Linux x86, Python {NEWEST} |",
        "|---" * (len(PLATFORMS) + 2) + "|",
    ]
    for row in rows:
        texts = [found[row, name] for name in (*PLATFORMS, NEWEST)]
        lines.append(f"| {row} | {' | '.join(texts)} |")
    return lines


def main() -> None:
    """Ask for everything and put the tables into the page."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = {
        Requirement(one).name.lower(): Requirement(one)
        for one in (*project["dependencies"], *project["optional-dependencies"]["demo"])
    }
    demo = {name: asked.get(name, Requirement(name)) for name in sorted(closure("demo"))}
    extras = {
        f"{requirement.name} (`{extra}`)": requirement
        for extra, given in project["optional-dependencies"].items()
        if extra not in OURS | {"demo"}
        for requirement in map(Requirement, given)
        if requirement.name.lower() not in demo
    }
    top = (
        PAGE.read_text(encoding="utf-8")
        if PAGE.is_file()
        else "# Platforms\n\n<!-- wheels -->\n<!-- /wheels -->\n"
    )
    made = [
        f"Newest wheel for Python {PYTHON} by platform, of everything that `voxaudit[demo]` installs:",
        "",
        *table(demo),
        "",
        "Of what the other extras ask for themselves:",
        "",
        *table(extras),
    ]
    block = "<!-- wheels -->\n" + "\n".join(made) + "\n<!-- /wheels -->"
    PAGE.write_text(
        re.sub(r"<!-- wheels -->.*<!-- /wheels -->", lambda _: block, top, flags=re.S), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
