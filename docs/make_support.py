"""Write docs/support.md: which engines and corpora were tried here, and how far.

    python docs/make_support.py [--data FOLDER] [--engines NAME ...]

With `--engines`, the rows of the others stay as they are: no environment has all of them.

Engines: installed or not; a tiny model with random weights of each family saved by its own library, loaded, and put to
`voxaudit recognizers check`; real weights where they are on this machine. Corpora: the tests that read a miniature of
the published layout, and the folders below `--data` that are read as that format. What could not be tried says so.
"""

from __future__ import annotations

import argparse
import importlib
import platform
import re
import sys
import tempfile
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "recognize"), str(ROOT / "src")]

from tiny_models import FAMILIES  # noqa: E402

from voxaudit.corpus import FORMATS, examine_corpus  # noqa: E402
from voxaudit.errors import VoxauditError, one_line  # noqa: E402
from voxaudit.recognize import ENGINES, make_recognizer, require  # noqa: E402
from voxaudit.recognize.check import check_clips, check_recognizer  # noqa: E402
from voxaudit.recognize.files import installed, package_version  # noqa: E402
from voxaudit.recognize.services.service import Service  # noqa: E402

REAL = {
    "moonshine": "moonshine",
    "pocketsphinx": "pocketsphinx",
    "vosk": "vosk",
    "faster_whisper": "faster_whisper:base,language=en,beam_size=1",
    "whisper": "whisper:tiny.en",
    "vosk_streaming": "vosk_streaming",
}
"""Engines with weights in packages: the line that uses them."""
NOTE = """\
The check is `voxaudit recognizers check`: alone, in batches, shuffled, repeated, after odd audio and freshly loaded, a
recording gets the same text. *Protocol only*: asked over HTTP as the vendor documents it, from a server of our own that
answers so; never the vendor."""
STAND_IN = {
    "mlx_whisper": "runs on Apple chips only: against a stand-in",
    "sherpa_onnx_streaming": "no package carries a model: against a stand-in",
}
OWN = {"command": "a program of yours", "python": "a function of yours", "transcripts": "a file of yours"}


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with corpora, one per folder")
    parser.add_argument("--engines", nargs="*", help="engines to try; the rows of the others are kept")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    file = ROOT / "docs" / "support.md"
    before = file.read_text("utf-8").splitlines() if file.is_file() else []
    engines = before[: before.index("## Corpora")] if before else []
    kept = {
        name: [row for row in engines if row.startswith((f"| `{name}` |", f"| `{name}`:"))]
        for name in ENGINES.names()
    }
    asked = set(ENGINES.names() if args.engines is None else args.engines)
    page = [
        "# What was tried",
        "",
        f"Made by `python docs/make_support.py` with Python {platform.python_version()} on {platform.system()}"
        f" {platform.machine()}. It says what was run, not what is good.",
        "",
        "## Engines",
        "",
        "| engine | installed | random weights | passes the check | real weights | protocol only |",
        "|---|---|---|---|---|---|",
        *(row for name in ENGINES.names() for row in (engine_rows(name) if name in asked else kept[name])),
        "",
        NOTE,
        "",
        "## Corpora",
        "",
        "| format | a miniature of the published layout is read by | real files read here |",
        "|---|---|---|",
        *(corpus_rows(args.data) if args.data else [row for row in before if "` | `test_" in row]),
        "",
        "Platforms, and which wheels there are for them: [platforms](platforms.md).",
        "",
    ]
    file.write_text("\n".join(page), encoding="utf-8")


def engine_rows(name: str) -> list[str]:
    """Return the rows of an engine, one per family of models."""
    kind = ENGINES.load(name)
    if name in OWN:
        return [f"| `{name}` | nothing to install | | yes, in the tests | {OWN[name]} | |"]
    needed = getattr(kind, "requires", ())
    there = all(installed(module) for module in needed)
    version = package_version((getattr(kind, "versions", ()) or needed)[0]) if needed and there else "no"
    if issubclass(kind, Service):
        return [f"| `{name}` | {version if needed else 'nothing to install'} | | | | yes |"]
    families = {f: found for f, found in FAMILIES.items() if found[0].partition(":")[0] == name}
    rows = []
    for family, (spec, save, modules) in families.items():
        loads, passes = tried(spec, save, modules) if there else ("not tried", "not tried")
        rows.append(f"| `{name}`: {family} | {version} | {loads} | {passes} | not at hand | |")
    real = real_weights(name) if there else "not tried"
    random, passes = ("not tried: real ones are", real) if name in REAL else ("not tried", "not tried")
    return rows or [f"| `{name}` | {version} | {random} | {passes} | {real} | {STAND_IN.get(name, '')} |"]


def tried(spec, save, modules) -> tuple[str, str]:
    """Return whether random weights load, and whether they pass the check."""
    try:
        for module in modules.split():
            importlib.import_module(module)
        if "torch" in sys.modules:
            sys.modules["torch"].manual_seed(4)
        with tempfile.TemporaryDirectory() as folder:
            save(Path(folder))
            recognizer = make_recognizer(spec.format(folder))
            recognizer.load()
            return "loads", checked(recognizer)
    except Exception as error:
        return f"no: {cell(error)}", "not tried"


def real_weights(name: str) -> str:
    """Return whether real weights pass the check."""
    if name not in REAL:
        return "not at hand"
    try:
        recognizer = make_recognizer(REAL[name])
        require(recognizer)
        return checked(recognizer)
    except Exception as error:
        return f"no: {cell(error)}"


def checked(recognizer) -> str:
    """Return what the check says."""
    clips = check_clips()
    some = dict([*list(clips.items())[:1], *list(clips.items())[-1:]])
    result = check_recognizer(recognizer, some, long_seconds=3)
    failed = [check.name for check in result.checks if not check.passed]
    return "yes" if not failed else f"no: {', '.join(failed)}"


def corpus_rows(data: Path) -> list[str]:
    """Return a row per format."""
    tests = {
        (file.name, name): body
        for file in sorted((ROOT / "tests" / "corpus").glob("test_*.py"))
        for name, body in re.findall(
            r"^def (test_\w+)\(.*?\n(.*?)(?=^\S|\Z)", file.read_text("utf-8"), re.M | re.S
        )
    }
    real: dict[str, list[str]] = {}
    for folder in sorted(data.iterdir()):
        if folder.is_dir():
            try:
                corpus = examine_corpus(folder)
                if corpus.format == "folder":
                    corpus = examine_corpus(next(folder.glob("manifest.csv"), folder))
                real.setdefault(corpus.format, []).append(f"{folder.name} ({len(corpus):,} utterances)")
            except VoxauditError as error:
                print(f"{folder.name}: {cell(error)}", file=sys.stderr)
    rows = []
    for name in FORMATS.names():
        found = [key for key, body in tests.items() if f'"{name}"' in body and "detection" not in key[1]]
        found.sort(key=lambda key: (name.split("_")[0] not in key[1], "real" in key[0]))
        test = f"`{'::'.join(found[0])}`" if found else "no test"
        rows.append(f"| `{name}` | {test} | {', '.join(real.get(name, [])) or 'none at hand'} |")
    return rows


def cell(error: BaseException) -> str:
    """Return an error for a cell of a table."""
    return re.sub(r"(/[^/ ]+)+/", "", one_line(error, 200)).replace("|", "/")[:80]  # no paths of this machine


if __name__ == "__main__":
    main()
