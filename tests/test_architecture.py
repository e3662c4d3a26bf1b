"""The folder tree is the pipeline: a stage imports only from the stages before it."""

import ast
from pathlib import Path

import pytest

import voxaudit

STAGES = [
    "errors",
    "wording",
    "registry",
    "options",
    "files",
    "tables",
    "audio",
    "config",
    "corpus",
    "align",
    "perturb",
    "recognize",
    "speak",
    "run",
    "score",
    "stats",
    "answer",
    "audits",
    "render",
    "report",
    "review",
    "pipeline",
    "cli",
]
SHOWN_BY = {"answer": {"render"}}
"""An answer knows who shows it, so that it can be printed; it asks only when it is."""
HOME = Path(voxaudit.__file__).parent
MODULES = sorted(path for path in HOME.rglob("*.py") if path != HOME / "__init__.py")


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names if node.module == "voxaudit"}
    return names


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(HOME)))
def test_imports_follow_the_pipeline(path):
    own = path.relative_to(HOME).parts[0].removesuffix(".py")
    allowed = STAGES[: STAGES.index(own) + 1]
    used = {name.split(".")[1] for name in imported(path) if name.startswith("voxaudit.")}
    wrong = {name for name in used if name in STAGES and name not in allowed} - SHOWN_BY.get(own, set())
    assert not wrong, f"{own} must not import {', '.join(sorted(wrong))}"


def test_every_module_has_a_stage():
    assert {path.relative_to(HOME).parts[0].removesuffix(".py") for path in MODULES} <= set(STAGES)


PIECES_ALLOWED = 65
"""Modules that exist for one neighbor only; at 20 or more a newcomer opens ten files to read one idea."""


def test_few_modules_exist_for_one_neighbor_only():
    """A piece that only one module of its own folder imports belongs in that module.

    What a registry names (`module:object`) is a part of its own, as an installed package's would be, and is not
    counted; neither is what a package's `__init__` passes on.
    """
    names = {path: ".".join(("voxaudit", *path.relative_to(HOME).with_suffix("").parts)) for path in MODULES}
    importers: dict[str, set[Path]] = {name: set() for name in names.values()}
    plugged_in = set()
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                for used in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names)):
                    if used in importers and path.name != "__init__.py":
                        importers[used].add(path)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and ":" in node.value:
                plugged_in.add(node.value.partition(":")[0])
    pieces = [
        name
        for path, name in names.items()
        if name not in plugged_in
        and len(importers[name]) == 1
        and path.parent == next(iter(importers[name])).parent
    ]
    assert len(pieces) < PIECES_ALLOWED, ", ".join(pieces)
