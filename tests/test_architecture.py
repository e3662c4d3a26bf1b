"""The folder tree is the pipeline: a stage imports only from the stages before it."""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import voxaudit

STAGES = [
    "errors",
    "wording",
    "registry",
    "options",
    "files",
    "process",
    "numeric",
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


@cache
def parts(path: Path) -> list[ast.AST]:
    """Return the imports and the constants of a module, parsed once for all tests."""
    kinds = (ast.Import, ast.ImportFrom, ast.Constant)
    return [one for one in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(one, kinds)]


def imported(path: Path) -> set[str]:
    names = set()
    for node in parts(path):
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


PIECES_ALLOWED = 20
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
        for node in parts(path):
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


DECIDED_ELSEWHERE = ("render", "report", "cli")
"""What shows answers, asks for them or compares them with limits: no statistics, corrections or verdicts are there."""


@pytest.mark.parametrize("stage", DECIDED_ELSEWHERE)
def test_who_shows_does_not_decide(stage):
    modules = [path for path in MODULES if path.relative_to(HOME).parts[0] == stage]
    assert modules
    for path in modules:
        wrong = {
            name for name in imported(path) if name.split(".")[:2] == ["voxaudit", "stats"] or "scipy" in name
        }
        assert not wrong, f"{path.relative_to(HOME)} imports {', '.join(sorted(wrong))}"


FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
FOREIGN_FLAGS = {
    "config.py": "of a recognizer in the audit.toml that is written",
    "answer.py": "where arguments become flags",
    "recognize/command.py": "those of a user's program",
    "recognize/nemo.py": "the hub's",
    "recognize/weights/": "pip's and the hub's",
    "render/html": "names of CSS and of parts of a page",
    "run/cluster.py": "Ray's",
    "speak/human.py": "pip's",
}
"""Where such words are no flags of ours, and whose they are."""


def test_only_the_command_line_names_flags():
    """A Python user is told about arguments: a message that names a flag would be of no use to them."""
    named = []
    for path in MODULES:
        where = path.relative_to(HOME).as_posix()
        if where.startswith("cli/") or any(where.startswith(one) for one in FOREIGN_FLAGS):
            continue
        named += [
            f"{where}:{node.lineno}: {found}"
            for node in parts(path)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
            for found in FLAG.findall(node.value)
        ]
    assert not named, "\n".join(named)


OPTIMIZED = """
import sys
from voxaudit.cli.main import main
for line in sys.argv[1:]:
    print(line, main(line.split()))
"""


@pytest.mark.slow
def test_python_without_docstrings_changes_nothing(tmp_path):
    lines = ("list scenarios", "list audits", "accuracy scores.csv")
    rows = "".join(f"s{n},clean,toy,{10 + n},{n % 3}\n" for n in range(12))
    (tmp_path / "scores.csv").write_text(f"speaker,scenario,recognizer,words,errors\n{rows}")
    outputs = [
        subprocess.run(
            [sys.executable, *flags, "-c", OPTIMIZED, *lines],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        for flags in ([], ["-OO"])
    ]
    assert outputs[0].returncode == 0, outputs[0].stderr
    assert all(f"{line} 0\n" in outputs[0].stdout for line in lines)
    assert outputs[0].stdout == outputs[1].stdout
    assert outputs[0].returncode == outputs[1].returncode
