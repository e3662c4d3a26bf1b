"""What the documentation shows is true: commands parse and run, the reference is up to date, the examples work."""

from __future__ import annotations

import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import jsonschema
import numpy as np
import pytest
import soundfile
from docs_sandbox import ALIKE, COPIES, write_sandbox

from voxaudit.audits.audit import AUDITS
from voxaudit.cli.main import COMMANDS, _parser, main
from voxaudit.config import config_schema, read_config

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
if not DOCS.is_dir():
    pytest.skip("the documentation is not part of this installation", allow_module_level=True)
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]

NOT_RUN = {
    r".*ddm\.csv": "needs data that are not ours to give",
    r".*(runs/)?accents": "needs recordings that are not ours to give",
    r"demo\b": "minutes of real recognition; tests/cli/test_demo_command.py",
    r"keywords .*--judge": "a language model somewhere; tests/audits/test_keywords.py",
    r"models (fetch|path|remove)": "the network, and weights that need not be there; tests/cli/test_models_command.py",
    r"review (?!.*(--agreement|--export))": "a server; tests/review",
    r"study serve": "a server; tests/review/test_study.py",
    r"study analyze": "needs the answers of people; tests/review/test_study.py",
    r".*--ratings": "needs the answers of people; tests/audits/test_differential_command.py",
    r"study create --kind realism": "needs two sets of recordings; tests/review/test_study.py",
    r".*--(executor|ray-address)": "a Ray cluster; tests/run/test_ray.py",
    r"attack": "gradients or thousands of trials; tests/audits/test_attack_command.py",
    r"recognizers check": "minutes of audio; tests/recognize/test_recognizer_check.py",
    r"perturb .*stutter:": "aligns; tests/audits/test_stutter_command.py",
    r"stutter": "aligns and searches with real recognizers; tests/audits/test_stutter_command.py",
    r"breaking (?!field)": "searches with real recognizers; tests/audits/test_breaking.py",
    r"quality": "DNSMOS takes a second of CPU for a few seconds of audio; tests/score",
    r"select .*(srb-accented|dnsmos)": "DNSMOS; tests/corpus/test_select.py",
    r".*disparity.*--hold-text": "an optional model of sentences; tests/audits/test_disparity_command.py",
    r".*disparity.*--estimate-speakers": "a model of voices; tests/audits/test_disparity_again.py",
    r".*disparity.*--scenario synthetic": "a corpus that is read aloud; tests/speak/test_texts.py",
    r"references runs/first": "needs three recognizers; tests/audits/test_references.py",
    r"run .*--log": "a tracker of experiments; tests/report/test_trackers.py",
    r".*--plot": "needs matplotlib; tests/audits",
    r".*\b(distances|word_counts|matched_wer|comprehensibility|koenecke|ravdess16?)\.csv": "published data",
    r".*\bruns/fluencybank\b": "a corpus that is asked for; tests/audits/test_disfluent.py",
    r".*\bruns/accents\b": "recordings of 110 people, which are downloaded",
    r".*\bruns/stutter\b": "the scores of a stutter audit; tests/audits/test_stutter_command.py",
    r".*\b(scores/[\w-]+\.parquet|published/|runs/(disturbed|coraal|told|sounds))": "tests/test_public_audit.py",
    r".*\b(runs/srb|srb\.toml|runs/two|two\.toml|runs/all|all\.toml)\b": "corpora and models that are downloaded",
    r".*(cv-corpus|amicorpus|ESC-50|ravdess/|hf:)": "a corpus that is downloaded; tests/corpus",
    r"run .*--max-cost": "needs a service with a price; tests/run/test_budget.py",
    r"inspect (2025-03|prompts)": "made in a test of its own",
    r"robustness rates\.csv": "made by the page; tests/audits/test_robustness_guide.py",
}
"""Commands that are parsed but not run here, and why."""

EXITS = {
    "voxaudit compare runs/v1 runs/v2 --attributes gender,accent --out runs/v1-v2": 1,
    "voxaudit compare runs/mine runs/v2 --attributes accent --out runs/mine-v2": 1,
    "voxaudit compare runs/accepted runs/candidate --attributes accent --out runs/comparison": 1,
    "voxaudit slices runs/first": 2,  # 16 speakers are too few for two halves
    "voxaudit slices runs/first --attributes gender,accent": 2,
    "voxaudit slices runs/first --attributes gender,accent --fewest 12": 2,
    "voxaudit disparity runs/field --attribute accent": 2,
    "voxaudit breaking field/manifest.csv --attribute accent --out runs/breaking": 2,
}
"""Commands whose page says that they end with another code than 0."""


ADDED = {"sentences"}
"""Commands that a page adds: the audit of docs/extending.md, which a test installs and runs."""


def shown(text: str) -> list[str]:
    """Return the command lines of a page: indented lines and lines of code blocks, continued lines joined."""
    found, fenced = [], False
    for line in re.sub(r"\\\n\s*", " ", text).splitlines():
        if line.lstrip().startswith("```"):
            fenced = not fenced
        start = r"\s*(?:- run: |.*&& )?" if fenced else r"(?: {4,}|\t)(?:.*&& )?"
        if match := re.match(start + r"(voxaudit (?:--)?[a-z].*)", line):
            # What stands behind two spaces, a comment, a redirection or a pipe is no argument.
            found.append(re.split(r"\s{2,}| # | > | \| ", match[1])[0].strip())
    return [line for line in found if line.split()[1] not in ADDED]


def mentioned(text: str) -> list[str]:
    """Return the commands within sentences: `voxaudit ...` in backticks."""
    found = re.findall(r"`(voxaudit [a-z][^`\n]*)`", text)
    return [line for line in found if line.split()[1] not in ADDED]


def flags(command: str) -> set[str]:
    """Return every flag that a command takes, its actions' included."""
    found: set[str] = set()
    todo = [_parser(command)._subparsers._group_actions[0].choices[command]]  # type: ignore[union-attr]
    while todo:
        for action in todo.pop()._actions:
            found.update(action.option_strings)
            if isinstance(action.choices, dict):
                todo.extend(action.choices.values())
    return found


ALL = sorted(
    {(line, page.relative_to(ROOT).as_posix()) for page in PAGES for line in shown(page.read_text("utf-8"))}
)
UNIQUE = dict(reversed(ALL))


def same(line: str) -> str:
    """Return a command with the names that the sandbox's copies are copies of: what it does is the same."""
    line = re.sub(rf"\b({'|'.join(ALIKE)})\.toml\b", "audit.toml", line)
    return re.sub(rf"\bruns/({'|'.join(COPIES)})\b", "RUN", line)


def reason(line: str) -> str | None:
    """Return why a command is not run here, or nothing."""
    rest = line.removeprefix("voxaudit ")
    return next((why for pattern, why in NOT_RUN.items() if re.match(pattern, rest)), None)


def test_commands_were_found():
    assert len(UNIQUE) > 80
    assert {line.split()[1] for line in UNIQUE} >= {*COMMANDS, *AUDITS.names()} - {"recognizers"}


@pytest.mark.parametrize("line", sorted(UNIQUE), ids=lambda line: line[:60])
def test_every_command_shown_is_parsed(line, capsys):
    words = shlex.split(line)[1:]
    if words[0].startswith("-"):
        return
    code: object = 0
    try:
        _parser(words[0]).parse_args(words)
    except SystemExit as stop:
        code = stop.code
    assert code == 0, f"{UNIQUE[line]}: {line}\n{capsys.readouterr().err}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_command_mentioned_has_its_flags(page):
    for line in mentioned(page.read_text("utf-8")):
        command = line.split()[1]
        assert command in COMMANDS or command in AUDITS.names() or command.startswith("-"), line
        for flag in re.findall(r"(?<!\S)--[a-z][\w-]*", line):
            assert flag in flags(command) | {"--help"}, f"{line}: {command} has no {flag}"


def test_every_reason_and_exit_code_is_needed():
    assert set(EXITS) <= set(UNIQUE)
    lines = [line.removeprefix("voxaudit ") for line in UNIQUE]
    for pattern in NOT_RUN:
        assert any(re.match(pattern, line) for line in lines), f"no command matches {pattern}"


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory):
    """A folder with what the documentation's commands name."""
    return write_sandbox(tmp_path_factory.mktemp("docs") / "home")


@pytest.fixture
def work(sandbox, tmp_path, monkeypatch):
    """A copy of the sandbox that a command may change."""
    home = tmp_path / "work"
    shutil.copytree(sandbox, home)
    monkeypatch.chdir(home)
    monkeypatch.setenv("VOXAUDIT_CACHE", str(tmp_path / "cache"))
    return home


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    sorted({same(line): line for line in sorted(UNIQUE) if reason(line) is None}.values()),
    ids=lambda line: line[:60],
)
def test_commands_that_can_run_exit_as_documented(work, line, capsys):
    words = shlex.split(line)[1:]
    if words[0] == "init":
        (work / "audit.toml").unlink()  # what it writes must not be there
    try:
        code = main(words)
    except SystemExit as stop:  # --version and --help
        code = int(stop.code or 0)
    assert code == EXITS.get(line, 0), f"{UNIQUE[line]}: {line}\n{capsys.readouterr().err}"


def anchors(page: Path) -> set[str]:
    """Return the names of a page's headings, as a link says them."""
    heads = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_to_a_page_and_a_heading(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        path, _, anchor = target.partition("#")
        if path.startswith(("http", "mailto:")):
            continue
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), target
        assert not anchor or anchor in anchors(there), target


@pytest.mark.slow
def test_the_tutorial_says_what_its_commands_print(tmp_path, monkeypatch, capsys):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("py_nanotts")
    from voxaudit.speak.corpus import make_synthetic_corpus

    text = (DOCS / "tutorial.md").read_text("utf-8")
    blocks = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("VOXAUDIT_CACHE", str(tmp_path / "cache"))
    make_synthetic_corpus("speech")
    Path("audit.toml").write_text("\n".join(blocks[:2]))
    assert main(["run", "audit.toml"]) == 0
    printed = {" ".join(line.split()) for line in capsys.readouterr().out.splitlines()}
    shown_lines = [
        line for line in text.splitlines() if re.match(r"- (moonshine|Disturbed|Over|On|gate) ?", line)
    ]
    shown_lines += re.findall(r"^  moonshine    (?:clean|echo|rir).*\)\s+\d.*$", text, re.MULTILINE)
    # What `compare` prints is not printed by `run`.
    compared = re.compile(r"got worse|got significantly worse|(worse|better|not shown)\s+\d+$")
    claims = [line for line in shown_lines if not compared.search(line)]
    assert len(claims) > 9
    claims = [" ".join(line.split()) for line in claims]
    if claims[0] not in printed:
        # Moonshine hears a few words differently on other processors, as the page says: only figures may differ then.
        claims, printed = (
            [re.sub(r"\d+(\.\d+)?", "#", line) for line in lines] for lines in (claims, printed)
        )
    for claim in claims:
        assert claim in printed, claim


def test_python_of_the_walk_runs(work, capsys):
    page = DOCS / "walkthroughs" / "no-references.md"
    (code,) = re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    exec(compile(code, page.name, "exec"), {})
    assert "accented" in capsys.readouterr().out


def test_the_walk_without_audio_is_a_run(work):
    text = (DOCS / "walkthroughs" / "vendor-transcripts.md").read_text("utf-8")
    (settings,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    shutil.rmtree(work / "runs" / "vendor")
    (work / "audit.toml").write_text(settings)
    assert main(["run", "audit.toml"]) == 0
    assert (work / "runs" / "vendor" / "report.html").exists()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_settings_shown_are_known(page):
    for block in re.findall(r"```toml\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
        content = tomllib.loads(block)
        if "project" in content:
            continue
        # Most pages show a part of a file: what every file has is added.
        content["corpus"] = {"path": "manifest.csv", **content.get("corpus", {})}
        judged = [name for name, gate in content.get("gates", {}).items() if isinstance(gate, dict)]
        content["recognizers"] = {
            **{name: {} for name in (*judged, "mine")},
            **content.get("recognizers", {}),
        }
        jsonschema.validate(content, config_schema(), jsonschema.Draft202012Validator)
        read_config(content, page)


def test_the_reference_is_up_to_date():
    made = runpy.run_path(str(DOCS / "make_reference.py"))["reference"]()
    assert (DOCS / "reference.md").read_text("utf-8") == made, "run: python docs/make_reference.py"


def test_the_reference_names_every_environment_variable():
    known = runpy.run_path(str(DOCS / "make_reference.py"))["ENVIRONMENT"]
    used = set()
    for path in (ROOT / "src").rglob("*.py"):
        text = path.read_text("utf-8")
        used.update(re.findall(r"environ(?:\.get|\.setdefault)?[\[(]\s*\"([A-Z_]+)\"", text))
        used.update(re.findall(r"_env: str = (?:setting|key_in)\(\s*\"([A-Z_]+)\"", text))
    assert used == set(known)


@pytest.mark.slow
def test_the_reference_names_every_file_of_a_run(work):
    known = set(runpy.run_path(str(DOCS / "make_reference.py"))["FILES"])
    assert main(["run", "audit.toml", "--json"]) == 0
    written = {path.name for path in (work / "runs" / "audit").iterdir()}
    assert written <= known
    assert {"run.json", "scores.parquet", "findings.json", "report.html", "junit.xml"} <= written


def start_of_voxaudit() -> list[str]:
    """Return the words that start the command line in a process of its own."""
    return [sys.executable, "-c", "import sys; from voxaudit.cli.main import main; sys.exit(main())"]


@pytest.mark.slow
def test_the_four_extensions_work(tmp_path):
    text = (DOCS / "extending.md").read_text("utf-8")
    blocks = dict(re.findall(r"```(?:python|toml)\n# (\S+)\n(.*?)```", text, re.DOTALL))
    assert set(blocks) == {
        "pyproject.toml",
        "audit.toml",
        "use.py",
        *(f"my_parts/{name}.py" for name in ("sessions", "beeps", "few_bits", "sentences")),
    }
    for name, code in blocks.items():
        assert len(code.splitlines()) < (80 if name.endswith("sentences.py") else 60), name
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(code, encoding="utf-8")
    (tmp_path / "my_parts" / "__init__.py").touch()
    installed = tmp_path / "my_parts-1.dist-info"  # what pip makes of pyproject.toml
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: my_parts\nVersion: 1\n")
    groups = re.sub(
        r'"', "", re.sub(r'\[project\.entry-points\."(.*?)"\]', r"[\1]", blocks["pyproject.toml"])
    )
    (installed / "entry_points.txt").write_text(groups[groups.index("[voxaudit") :])
    (tmp_path / "2025-03").mkdir()
    sessions = []
    for speaker in range(6):
        clips = []
        for count in (1, 2):
            beep = np.sin(np.arange(800) * 0.5) * 0.5
            samples = np.concatenate(
                [np.concatenate([np.zeros(1600), beep]) for _ in range(count)] + [np.zeros(1600)]
            )
            file = f"{speaker}-{count}.wav"
            soundfile.write(tmp_path / "2025-03" / file, samples, 8000)
            clips.append({"file": file, "said": ("One", "Two")[count - 1]})
        sessions.append({"speaker": f"s{speaker}", "room": ("a", "b")[speaker % 2], "clips": clips})
    (tmp_path / "2025-03" / "sessions.json").write_text(json.dumps(sessions))
    home = {"PYTHONPATH": str(tmp_path), "VOXAUDIT_CACHE": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1"}
    answers = []
    block = re.search(r"```text\n(voxaudit inspect.*?)```", text, re.DOTALL)[1]
    for line in block.splitlines():
        words = line.split()
        start = start_of_voxaudit() if words[0] == "voxaudit" else [sys.executable]
        done = subprocess.run(
            [*start, *words[1:]],
            cwd=tmp_path,
            env=os.environ | home,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
        answers.append(done.stdout)
    assert re.search(r"^  2025-03 +sessions +12 ", answers[0], re.MULTILINE)
    assert "every check passed" in answers[1]
    # The audit is a command, with every format and flag of a command ...
    said = "Of the sentences under clean, beeps gets 0.0 % (0.0 to 28.7) wrong."
    assert f"- {said}" in answers[3]
    assert "no interval" not in answers[3]
    assert "--tolerated N" in answers[4]
    assert "--json" in answers[4]
    # ... a function ...
    assert answers[5].startswith(said)
    # ... and a chapter of the report, whose findings say how to ask again.
    document = json.loads((tmp_path / "runs" / "beeps" / "findings.json").read_text("utf-8"))
    (chapter,) = (one for one in document["chapters"] if one["id"] == "sentences")
    assert chapter["title"] == "Sentences"
    found = {one["id"]: one for one in document["findings"]}
    heard = found["sentences/beeps/few_bits:2/sentence_error_rate"]
    assert heard["command"] == "voxaudit sentences RUN"
    assert heard["speakers"] == 6
    asked = [*start_of_voxaudit(), "sentences", "runs/beeps", "--tolerated", "9", "--json"]
    done = subprocess.run(
        asked, cwd=tmp_path, env=os.environ | home, capture_output=True, text=True, check=True
    )
    answer = json.loads(done.stdout)
    assert answer["audit"] == "sentences"
    assert answer["question"]["tolerated"] == 9
    assert {one["estimate"] for one in answer["findings"]} == {0.0}
    assert "(9 errors tolerated)" in answer["findings"][0]["sentence"]
    few = "".join(f"beeps,clean,u{who},s{who},2,{who % 2}\n" for who in range(4))
    (tmp_path / "few.csv").write_text(f"recognizer,scenario,utterance,speaker,words,errors\n{few}")
    asked = [*start_of_voxaudit(), "sentences", "few.csv"]
    done = subprocess.run(
        asked, cwd=tmp_path, env=os.environ | home, capture_output=True, text=True, check=True
    )
    assert "- Of the sentences under clean, beeps gets 50.0 % wrong." in done.stdout
    assert "beeps clean: no interval: fewer than five speakers" in done.stdout


def test_the_site_has_every_page_of_the_first_one_and_lists_stand_apart():
    site = runpy.run_path(str(DOCS / "make_site.py"))
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    found = {
        path
        for section in site["navigation"](index)
        for links in section.values()
        for one in links
        for path in one.values()
    }
    assert {"corpora.md", "verdicts.md", "platforms.md"} <= found
    assert site["apart"]("a\n- b\n- c\n\n```\nx\n- y\n```") == "a\n\n- b\n- c\n\n```\nx\n- y\n```"
    page = site["python_page"]()
    assert "## disparity" in page
    assert "```python\nvoxaudit.disparity(" in page


def run_notebook(name):
    names: dict[str, object] = {}
    for cell in json.loads((DOCS / "notebooks" / name).read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
    return names


def test_the_notebook_of_transcripts_runs_from_top_to_bottom(capsys):
    names = run_notebook("from-transcripts.ipynb")
    assert names["ranks"].tables["services"].height == 3
    said = capsys.readouterr().out
    assert "gamma writes" in said
    assert "of the keywords wrong" in said


@pytest.mark.slow
def test_the_notebook_of_a_first_audit_runs_from_top_to_bottom(tmp_path, monkeypatch):
    pytest.importorskip("moonshine_voice")
    monkeypatch.chdir(tmp_path)
    run_notebook("first-audit.ipynb")
    assert (tmp_path / "runs" / "notebook" / "report.html").stat().st_size > 100_000
