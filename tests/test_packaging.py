"""What is installed: package data, types, one version, the public names, the command, the extras."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
import tomllib
from importlib import metadata, resources
from pathlib import Path

import pytest

import voxaudit

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "voxaudit"
DATA = (
    "py.typed",
    "perturb/comprehensibility.csv",
    "render/schema.json",
    "render/assets/page.js",
    "render/assets/style.css",
    "render/assets/drawing.css",
    "render/assets/light.css",
    "render/assets/dark.css",
    "review/assets/index.html",
    "review/assets/main.js",
    "review/assets/review.css",
    "review/assets/icon.svg",
    "review/study/assets/study.html",
    "review/study/assets/study.js",
    "review/study/assets/study.css",
    "score/quality/srb_table3.csv",
)
NOT_CODE = {".csv", ".json", ".js", ".css", ".html", ".svg", ".typed"}


@pytest.fixture(scope="module")
def project():
    path = ROOT / "pyproject.toml"
    if not path.is_file():
        pytest.skip("pyproject.toml is not beside the tests")
    return tomllib.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", DATA)
def test_data_comes_with_the_package(name):
    file = resources.files("voxaudit").joinpath(*name.split("/"))
    assert file.is_file()
    assert name == "py.typed" or file.read_bytes().strip()


def test_nothing_else_lies_among_the_code():
    """A wheel holds the whole folder: what is neither code nor known data does not belong there."""
    odd = [
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix not in NOT_CODE | {".py"}
    ]
    assert odd == []


def test_every_folder_with_code_is_a_package():
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    assert [str(folder) for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_the_version_is_written_once(project):
    assert "version" not in project["project"]
    assert project["tool"]["hatch"]["version"]["path"] == "src/voxaudit/__init__.py"
    assert re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", voxaudit.__version__)
    written = [
        path for path in PACKAGE.rglob("*.py") if f'"{voxaudit.__version__}"' in path.read_text("utf-8")
    ]
    assert [path.relative_to(PACKAGE).as_posix() for path in written if _names_version(path)] == [
        "__init__.py"
    ]


def _names_version(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return any(
        isinstance(node, ast.Assign) and any(getattr(t, "id", "") == "__version__" for t in node.targets)
        for node in ast.walk(tree)
    )


def test_the_installed_version_is_the_packages():
    assert metadata.version("voxaudit") == voxaudit.__version__


@pytest.mark.parametrize("name", voxaudit.__all__)
def test_public_names_are_there_documented_and_typed(name):
    thing = getattr(voxaudit, name)
    if name == "__version__":
        return
    assert inspect.getdoc(thing)
    if inspect.isfunction(thing):
        signature = inspect.signature(thing)
        assert signature.return_annotation is not inspect.Signature.empty
        assert [p.name for p in signature.parameters.values() if p.annotation is p.empty] == []


def test_type_checkers_see_the_names_that_programs_get():
    """Names are imported when used; for a type checker they are written down a second time."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    block = next(
        n for n in tree.body if isinstance(n, ast.If) and getattr(n.test, "id", "") == "TYPE_CHECKING"
    )
    seen = {alias.asname: node.module for node in block.body for alias in node.names}
    assert seen == voxaudit._HOMES


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'wer'"):
        _ = voxaudit.wer


def test_the_command_is_installed():
    (script,) = metadata.entry_points(group="console_scripts", name="voxaudit")
    assert script.load().__module__ == "voxaudit.cli.main"


def test_help_imports_nothing_heavy():
    """The time that `voxaudit --help` takes is the time of its imports."""
    code = (
        "import sys; from voxaudit.cli.main import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'polars', 'scipy', 'rich', 'soundfile', 'torch', 'onnxruntime', 'ray'}\n"
        "print('heavy:', sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.rstrip().endswith("heavy: []")


def test_every_extra_that_is_named_somewhere_exists(project):
    extras = set(project["project"]["optional-dependencies"])
    named = {}
    places = [
        *PACKAGE.rglob("*.py"),
        *ROOT.glob("*.md"),
        *(ROOT / "docs").glob("*.md"),
        *ROOT.rglob("tests/**/*.py"),
    ]
    for path in places:
        text = path.read_text(encoding="utf-8")
        for found in re.findall(r"voxaudit\[([a-z][a-z_,-]*)\]", text):
            named |= dict.fromkeys(found.split(","), path.name)
        for found in re.findall(r"""missing_extra\([^()]*, ["']([a-z-]+)["']\)""", text):
            named[found] = path.name
        for found in re.findall(r"""\n    extra(?:: ClassVar\[str\])? = ["']([a-z-]+)["']""", text):
            named[found] = path.name
    assert {"ray", "remote", "plot", "attack"} <= set(named)
    assert {name: place for name, place in named.items() if name not in extras} == {}


def test_extras_name_each_other_rightly(project):
    extras = project["project"]["optional-dependencies"]
    for requirements in extras.values():
        for requirement in requirements:
            if own := re.match(r"voxaudit\[([^\]]+)\]", requirement):
                assert set(own[1].split(",")) <= set(extras)


def test_classifiers_and_required_python_agree(project):
    about = project["project"]
    least = tuple(map(int, re.fullmatch(r">=(\d+)\.(\d+)", about["requires-python"]).groups()))
    versions = [
        tuple(map(int, found.groups()))
        for line in about["classifiers"]
        if (found := re.fullmatch(r"Programming Language :: Python :: (\d+)\.(\d+)", line))
    ]
    assert min(versions) == least
    assert project["tool"]["mypy"]["python_version"] == "{}.{}".format(*least)
    assert "Typing :: Typed" in about["classifiers"]
    assert about["license"] == "Apache-2.0"
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")
