"""Build the documentation as a site: `python docs/make_site.py site [--demo voxaudit-demo]`.

The pages of this folder, and what is made only here: the Python interface from docstrings, a gallery of every
perturbation to listen to, and the reports of a demo that was run. Needs the extra `docs` and no network.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import soundfile

import voxaudit
from voxaudit.audio import Audio, read
from voxaudit.errors import VoxauditError
from voxaudit.perturb import parse_scenario
from voxaudit.perturb.describe import describe_scenarios
from voxaudit.speak.corpus import VOICES, Clip, clips

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
SPOKEN = "us-3-s05"
"""The recording that the gallery disturbs."""
STYLE = """
.md-grid { max-width: 76rem }
audio { width: 13rem; height: 2rem }
td > code, td:first-child code { white-space: nowrap }
@media (max-width: 45em) { .md-typeset td { min-width: 10rem } }
"""
OUTSIDE = re.compile(
    r"\]\((\.\./)+([A-Z]+\.md|pyproject\.toml|benchmarks[^)]*|tests[^)]*|src[^)]*)(#[^)]*)?\)"
)

CONFIG = """\
[project]
site_name = "voxaudit"
site_description = "Audit a speech recognizer: where it breaks, for whom, and how sure you can be"
docs_dir = "docs"
site_dir = "site"
use_directory_urls = false
extra_css = ["wide.css"]
nav = {nav}

[project.theme]
font = false
icon.logo = "lucide/audio-lines"
features = [
    "content.code.copy", "navigation.footer", "navigation.sections", "navigation.top", "navigation.tracking",
    "search.highlight", "toc.follow",
]

[[project.theme.palette]]
media = "(prefers-color-scheme: light)"
scheme = "default"
toggle.icon = "lucide/sun"
toggle.name = "Dark"

[[project.theme.palette]]
media = "(prefers-color-scheme: dark)"
scheme = "slate"
toggle.icon = "lucide/moon"
toggle.name = "Light"

[project.markdown_extensions]
attr_list = {{}}
md_in_html = {{}}
tables = {{}}
toc.permalink = true
pymdownx.superfences = {{}}
pymdownx.highlight.pygments_lang_class = true
pymdownx.inlinehilite = {{}}
"""


def navigation(index: str) -> list[dict[str, object]]:
    """Return the sections of the first page, which lists every other page, with their links.

    >>> navigation("## Questions\\n\\n- [Parity](parity.md): a\\n\\n## Look-up\\n\\n- [All](all.md): b")
    [{'Questions': [{'Parity': 'parity.md'}]}, {'Look-up': [{'All': 'all.md'}]}]
    """
    found: list[dict[str, object]] = []
    for part in index.split("\n## "):
        title, *lines = part.removeprefix("## ").strip().replace("\n\n", "\n").split("\n")
        links = [re.match(r"- \[(.+?)\]\(([\w/-]+\.md)\)", line) for line in lines]
        if links and all(links):
            found.append({title: [{link[1]: link[2]} for link in links if link]})
    return found


def apart(text: str) -> str:
    """Return Markdown with a blank line before every list, which the site's reader of Markdown asks for.

    >>> apart("Questions\\n- one\\n- two")
    'Questions\\n\\n- one\\n- two'
    """
    lines: list[str] = []
    fenced = False
    item = re.compile(r"\s*([-*]|\d+\.) ")
    for line in text.split("\n"):
        fenced ^= line.lstrip().startswith("```")
        before = lines[-1] if lines else ""
        within = item.match(before) or before.startswith("  ")
        if not fenced and item.match(line) and not line.startswith("    ") and before and not within:
            lines.append("")
        lines.append(line)
    return "\n".join(lines)


def python_page() -> str:
    """Return every public name with its signature and docstring, in the order of the alphabet."""
    lines = ["# Python", "", "The whole public interface, from the docstrings of `import voxaudit`.", ""]
    for name in sorted(voxaudit.__all__, key=str.lower):
        thing = getattr(voxaudit, name)
        if not callable(thing):
            continue
        about = inspect.cleandoc(thing.__doc__ or "")
        about = re.sub(r"(?m)^(>>> (?:.|\n)*?)(?=\n\n|\Z)", r"```python\n\1\n```", about)
        try:
            signature = f"voxaudit.{name}{inspect.signature(thing)}"
            signature = re.sub(r"(: |-> )'([^']*)'", r"\1\2", signature)
        except ValueError:
            signature = f"voxaudit.{name}"
        lines += [f"## {name}", "", "```python", _wrapped(signature), "```", "", about, ""]
    return "\n".join(lines)


def _wrapped(signature: str) -> str:
    head, bracket, rest = signature.partition("(")
    if len(signature) < 100 or not bracket:
        return signature
    inside, _, end = rest.rpartition(")")
    depth, parts, part = 0, [], ""
    for character in inside:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and not depth:
            parts.append(part.strip())
            part = ""
        else:
            part += character
    parts.append(part.strip())
    return f"{head}(\n" + "".join(f"    {one},\n" for one in parts if one) + f"){end}"


def gallery_page(folder: Path) -> str:
    """Write the audio of every scenario that can be made here into the folder; return the page that plays it."""
    said = next(one for one in clips() if one.id == SPOKEN)
    (folder / "audio").mkdir(parents=True)
    lines = [
        "# Perturbations to listen to",
        "",
        f"One synthetic voice ({said.speaker.voice.language}, made by a machine; nobody was recorded) says"
        f' "{said.text}" in every built-in scenario. Built-in noise and rooms stand in for recorded ones'
        " ([sources](sources.md)). `voxaudit perturb` makes the same of your recordings ([scenarios](scenarios.md)).",
    ]
    family = None
    for row in sorted(describe_scenarios(), key=lambda row: (row["scenario"] != "clean", row["family"])):
        id_ = str(row["scenario"])
        if "VALUE" in id_ or row["family"] == "slot":
            continue
        try:
            audio = parse_scenario(id_).apply(_clean(said), seed=0, utterance=said.id)
        except VoxauditError:  # needs files or times of words
            continue
        name = re.sub(r"\W+", "-", id_)
        soundfile.write(folder / "audio" / f"{name}.mp3", audio.samples, audio.rate, format="MP3")
        if row["family"] != family:
            family = row["family"]
            title = str(family).replace("_", " and ").capitalize()
            lines += [
                "",
                f"## {title}",
                "",
                "| scenario | listen | setting | what it does |",
                "|---|---|---|---|",
            ]
        play = f'<audio controls preload="none" src="gallery/audio/{name}.mp3"></audio>'
        what = str(row["what"]).replace("|", "\\|")
        lines.append(f"| `{id_}` | {play} | {row['setting']} | {what} |")
    return "\n".join(lines) + "\n"


def _clean(clip: Clip) -> Audio:
    return read(VOICES / f"{clip.id}.flac")


def reports_page(folder: Path, demo: Path) -> str:
    """Put reports made from a finished demo into the folder; return the page that links them."""
    from voxaudit.corpus import read_corpus
    from voxaudit.pipeline import run_audit
    from voxaudit.review.listen import write_listen

    run, manifest = demo / "run-synthetic", demo / "synthetic-voices" / "manifest.csv"
    folder.mkdir(parents=True)
    shutil.copy(run / "report.html", folder / "demo.html")
    count = write_listen(run / "stutter", folder / "stutter.html")
    heard = voxaudit.open_run(run).transcripts
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        engines = {}
        for recognizer, own in heard.group_by("recognizer"):
            file = home / f"{recognizer[0]}.csv"
            own.filter(own["scenario"] == "clean").select(id="utterance", text="text").write_csv(file)
            engines[f"vendor-{recognizer[0]}"] = {"engine": "transcripts", "path": str(file)}
        corpus = voxaudit.config.CorpusConfig(read_corpus(manifest).source, attributes=("accent", "pitch"))
        config = voxaudit.AuditConfig(
            corpus=corpus, recognizers=engines, scenarios=("clean",), out=home / "run"
        )
        shutil.copy(run_audit(config, progress=False).files["report.html"], folder / "vendors.html")
    return f"""\
# Reports

Pages as `voxaudit` writes them: one file each, which asks nothing of a server. All speech is [synthetic](demo.md).

- [The demo's report](reports/demo.html): two recognizers, clean, disturbed and stuttering speech, two attributes
- [Two vendors' transcripts](reports/vendors.html): the same audit without any audio, from files of transcripts alone
- [Stuttered speech to listen to](reports/stutter.html): {count} cases, with what was put in and what was heard
"""


def notebook_page(path: Path) -> str:
    """Return a notebook as a page: its text and its code, and where to get it."""
    parts = []
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
    return "\n\n".join([*parts, f"[This page as a notebook]({path.name})"]) + "\n"


def build(out: Path, demo: Path | None) -> None:
    """Build the site into the folder `out`."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        pages = home / "docs"
        shutil.copytree(DOCS, pages, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
        for path in pages.rglob("*.md"):
            # What lies outside this folder is no page of the site.
            home_page = "../" * (len(path.relative_to(pages).parts) - 1) + "index.md"
            text = OUTSIDE.sub(f"]({home_page})", path.read_text("utf-8"))
            path.write_text(apart(text), "utf-8")
        index = (DOCS / "index.md").read_text("utf-8")
        notebooks = []
        for path in sorted(pages.glob("notebooks/*.ipynb")):
            page = notebook_page(path)
            path.with_suffix(".md").write_text(page, "utf-8")
            notebooks.append({page.partition("\n")[0].lstrip("# "): f"notebooks/{path.stem}.md"})
        (pages / "wide.css").write_text(STYLE, "utf-8")
        made = [{"Python": "python.md"}, {"Perturbations to listen to": "gallery.md"}]
        (pages / "python.md").write_text(python_page(), "utf-8")
        (pages / "gallery.md").write_text(gallery_page(pages / "gallery"), "utf-8")
        if demo is not None:
            (pages / "reports.md").write_text(reports_page(pages / "reports", demo), "utf-8")
            made.append({"Reports": "reports.md"})
        links = ", ".join(f"[{title}]({path})" for one in made for title, path in one.items())
        (pages / "index.md").write_text(f"{apart(index)}\nMade with this site: {links}\n", "utf-8")
        start = [
            {"Home": "index.md"},
            {"Tutorial": "tutorial.md"},
            *notebooks,
            {"Demo": "demo.md"},
            {"Questions and answers": "faq.md"},
        ]
        walks = [
            {path.read_text("utf-8").partition("\n")[0].lstrip("# "): f"walkthroughs/{path.name}"}
            for path in sorted((pages / "walkthroughs").glob("*.md"))
        ]
        nav = [*start, {"Walks": walks}, *navigation(index), {"Made here": made}]
        (home / "zensical.toml").write_text(CONFIG.format(nav=_toml(nav)), "utf-8")
        subprocess.run([sys.executable, "-m", "zensical", "build", "--clean"], cwd=home, check=True)
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(home / "site", out)


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_toml(one)}" for key, one in value.items()) + " }"
    return "[" + ", ".join(map(_toml, value)) + "]" if isinstance(value, list) else json.dumps(value)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "out", type=Path, metavar="FOLDER", help="where the site goes; what is there is replaced"
    )
    parser.add_argument(
        "--demo", type=Path, metavar="FOLDER", help="what `voxaudit demo` left: its reports are shown"
    )
    given = parser.parse_args()
    build(given.out.resolve(), given.demo)
