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


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(HOME)))
def test_no_module_needs_a_table_of_contents(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400
