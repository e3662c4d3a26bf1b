"""Data from strangers: it drives no terminal, leaves no folder, takes no endless time; and keys are shown nowhere."""

from __future__ import annotations

import ast
import functools
import json
import re
import signal
import sys
import tomllib
import unicodedata
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import soundfile

from voxaudit import files
from voxaudit.align.pronounce import spoken_words
from voxaudit.audio import Audio
from voxaudit.audits.attack.campaign import keep_audio
from voxaudit.cli.main import main
from voxaudit.cli.output import note, print_json
from voxaudit.corpus import Corpus, chat, harmonize, nist, read_corpus
from voxaudit.corpus.hugging_face import unpack
from voxaudit.corpus.published import casual_conversations, chime6, coraal, tedlium, vctk
from voxaudit.corpus.published.ami import read_xml
from voxaudit.errors import VoxauditError
from voxaudit.perturb import parse_scenario
from voxaudit.perturb.export import export_corpus
from voxaudit.review.app import review_app
from voxaudit.review.study.app import study_app
from voxaudit.review.study.study import Item, Study, open_answers, participants, read_study, write_study
from voxaudit.review.web import HttpError, Request
from voxaudit.run.folder import open_run, write_config
from voxaudit.score.normalize import NORMALIZERS
from voxaudit.score.run import score_run
from voxaudit.speak.human import WHEEL, fetch_human_corpus

SOURCE = Path(__file__).parent.parent / "src" / "voxaudit"
EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e"
"""Sets a terminal's title, rings, clears the screen, colors it, and turns the direction of writing."""
RATE = 16_000


# What runs code.


def dotted(node: ast.expr) -> str:
    """Return the name by which a call is made: `os.system`; what is no name stands as a dot."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


DOUBTFUL = re.compile(
    r"(?<![\w.])(eval|exec|compile|__import__)\s*\(|\.(system|popen|mktemp|loads?)\s*\("
    r"|\b(shell|allow_pickle|trust_remote_code)\s*="
)
"""What the text of a module has where it makes one of the calls below: the others need not be parsed."""


@functools.cache
def calls() -> list[tuple[str, str, ast.Call]]:
    return [
        (path.relative_to(SOURCE).as_posix(), dotted(node.func), node)
        for path in sorted(SOURCE.rglob("*.py"))
        if DOUBTFUL.search(text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call)
    ]


def test_no_call_runs_text_as_code_or_through_a_shell():
    forbidden = {"eval", "exec", "compile", "__import__", "os.system", "os.popen", "tempfile.mktemp"}
    forbidden |= {"marshal.load", "marshal.loads", "yaml.load", "torch.load", "np.load", "numpy.load"}
    assert [(path, name) for path, name, _ in calls() if name in forbidden] == []
    shells = [
        path
        for path, _, node in calls()
        for word in node.keywords
        if word.arg in ("shell", "allow_pickle", "trust_remote_code")
        and getattr(word.value, "value", None) is not False
    ]
    assert shells == []


def test_pickles_come_from_our_own_processes_only():
    """Each of these reads a pipe to a process that voxaudit started, or an object that it made itself."""
    own = {
        "process.py", "recognize/check.py", "run/ray_pool.py",
    }  # fmt: skip
    assert {path for path, name, _ in calls() if name in ("pickle.load", "pickle.loads")} == own


# Terminals.


def dangerous(text: str) -> list[str]:
    """Return what a terminal could obey: control characters other than the end of a line, and turned writing."""
    return [c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cs")]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory) -> Path:
    """A run and a corpus whose every name and text tries to drive the terminal."""
    home = tmp_path_factory.mktemp("hostile")
    folder = home / "run"
    (folder / "audio").mkdir(parents=True)
    count = 24
    ids = [f"u{n:02d}{EVIL}" for n in range(count)]
    for n in range(count):
        samples = 0.1 * np.sin(np.arange(4000 + n) / (20 + n))
        soundfile.write(folder / "audio" / f"c{n}.wav", samples, RATE)
    corpus = pl.DataFrame(
        {
            "id": ids,
            "audio": [str(folder / "audio" / f"c{n}.wav") for n in range(count)],
            "speaker": [f"s{n // 2}{EVIL}" for n in range(count)],
            "text": [f"turn {EVIL}the lamp{n} on" for n in range(count)],
            "start": [0.0] * count,
            "duration": [None] * count,
            f"group{EVIL}": [("a", "b")[n // 2 % 2] + EVIL for n in range(count)],
        },
        schema_overrides={"duration": pl.Float64},
    )
    corpus.write_parquet(folder / "corpus.parquet")
    corpus.drop("start", "duration").write_csv(home / "refused.csv")  # ids with control characters
    plain = pl.Series("id", [f"u{n:02d}" for n in range(count)])
    corpus.drop("start", "duration").with_columns(plain).write_csv(home / "manifest.csv")
    scenarios = ("clean", "clipping:theta=0.05", "gaussian_noise:2")
    names = (f"one{EVIL}", f"two{EVIL}")
    rows = [
        (id_, scenario, name, None if failed else heard, 0.1, f"broke {EVIL}" if failed else None)
        for name in names
        for n, id_ in enumerate(ids)
        for place, scenario in enumerate(scenarios)
        for failed in ((name, n, place) == (names[1], 1, 1),)
        for heard in (f"turn {EVIL}the " + ("" if (n + place) % 3 else f"lamp{n} ") + "on" + EVIL,)
    ]
    columns = ("utterance", "scenario", "recognizer", "text", "seconds", "failure")
    schema = dict.fromkeys(columns, pl.String) | {"seconds": pl.Float64}
    pl.DataFrame(rows, schema=schema, orient="row").write_parquet(folder / "transcripts.parquet")
    corpus_facts = {"name": f"made{EVIL}", "source": EVIL, "format": "manifest", "utterances": count}
    config = {
        "corpus": {**corpus_facts, "speakers": count // 2, "skipped": 0},
        "recognizers": {name: {"settings": {}, "fingerprint": {"engine": EVIL}} for name in names},
        "scenarios": list(scenarios),
        "seed": 3,
        "versions": {},
        "voxaudit": "0",
        "normalizer": "basic@1",
    }
    write_config(folder, config)
    score_run(open_run(folder))
    heard = corpus.select(plain, text=pl.col("text") + EVIL + " " + EVIL + "x")
    heard.write_csv(home / "heard.csv")
    trace = [(id_, 0.1 * n, 0.1 * n + 0.2, f"turn {EVIL}", n % 2 == 1) for id_ in ids for n in range(4)]
    schema = ["utterance", "sent_s", "received_s", "text", "final"]
    told = pl.DataFrame(trace, schema=schema, orient="row").with_columns(recognizer=pl.lit(names[0]))
    told.write_ndjson(home / "trace.jsonl")
    return home


COMMANDS = [
    ["score", "{home}/manifest.csv", "{home}/heard.csv", "--alignments", "5", "--by", "{group}"],
    ["report", "{home}/run"],
    ["robustness", "{home}/run", "--resamples", "100"],
    ["disparity", "{home}/run", "--attribute", "{group}", "--by", "recognizer"],
    ["parity", "{home}/run", "--attributes", "{group}", "--min-snr", "-99", "--recordings", "0"],
    ["differential", "{home}/run", "--attribute", "{group}"],
    ["localize", "{home}/run", "--attribute", "{group}"],
    ["power", "{home}/run", "--attributes", "{group}"],
    ["compare", "{home}/run", "{home}/run"],
    ["accuracy", "{home}/run", "--by", "{group}"],
    ["versus", "{home}/run"],
    ["hallucination", "{home}/run", "--attributes", "{group}"],
    ["keywords", "{home}/run", "--attributes", "{group}"],
    ["waiting", "{home}/run"],
    ["waiting", "{home}/trace.jsonl"],
    ["inspect", "{home}/manifest.csv"],
    ["inspect", "{home}/refused.csv"],
    ["init", "{home}/refused.csv", "{tmp}/audit.toml"],
    ["select", "{home}/manifest.csv", "--where", "{group}~a", "--export", "{tmp}/m.csv"],
    ["perturb", "{home}/manifest.csv", "{tmp}/loud{json}", "gain:1"],
    ["sequential", "{home}/run", "--attribute", "{group}", "--precision", "0.1"],
    ["review", "{home}/run", "--agreement"],
    ["init", "{home}/manifest.csv", "{tmp}/audit.toml"],
    ["disparity", "{home}/run", "--attribute", "gr{evil}oup"],
    ["inspect", "{home}/{evil}.csv"],
    ["run", "{home}/{evil}.toml"],
]


@pytest.mark.slow
@pytest.mark.parametrize("line", COMMANDS, ids=lambda line: " ".join(line[:1]))
def test_no_output_drives_the_terminal(hostile, tmp_path, capsys, line):
    names = {"home": hostile, "tmp": tmp_path, "group": f"group{EVIL}", "evil": EVIL}
    for more in ([], ["--json"]):
        arguments = [part.format(**names, json="".join(more)) for part in line]
        try:
            code = main(arguments + more)
        except SystemExit as left:
            code = left.code
        out, err = capsys.readouterr()
        assert dangerous(out + err) == [], (code, out[-300:], err[-300:])
        if more and "has no option --json" in err:
            continue
        refused = line[:2] == ["inspect", "{home}/refused.csv"] or "{evil}" in " ".join(line)
        assert code == (2 if refused else 0), err
        if more and not refused:
            json.loads(out)


def test_json_reads_back_as_the_same_text(capsys):
    document = {"a": f"{EVIL}\n\t é 日本 \U0001f600 \U000e0041 \x7f\x85\u2028", "b": [1.5, None]}
    print_json(document)
    out = capsys.readouterr().out
    assert dangerous(out) == []
    assert "é 日本 \U0001f600" in out
    assert json.loads(out) == document


def test_notes_keep_their_lines(capsys):
    note(f"first\n  second{EVIL}")
    err = capsys.readouterr().err
    assert err.startswith("first\n  second\ufffd")
    assert dangerous(err) == []


def test_a_corpus_cannot_write_settings_of_its_own(tmp_path):
    """`voxaudit init` quotes the names of columns: one of them asks for a command to be run."""
    name = 'x"]\n[recognizers.evil]\nengine = "command"\ncommand = "touch owned {audio}"\n#'
    soundfile.write(tmp_path / "c.wav", np.full(4000, 0.1), RATE)
    quoted = name.replace('"', '""')
    rows = [f'id,path,speaker,text,"{quoted}"', *(f"u{n},c.wav,s{n},hello,g{n % 2}" for n in range(4))]
    (tmp_path / "m.csv").write_text("\n".join(rows) + "\n")
    assert main(["init", str(tmp_path / "m.csv"), str(tmp_path / "audit.toml")]) == 0
    written = tomllib.loads((tmp_path / "audit.toml").read_text(encoding="utf-8"))
    assert set(written["recognizers"]) == {"moonshine", "pocketsphinx"}


# Folders.

OUTSIDE = [
    "../../x",
    "/etc/x",
    "..",
    "a/../../b",
    "..\\..\\x",
    "C:\\x",
    "\x00",
    "-rf",
    "~root",
    "𐐀" * 200,
    "a" * 5000,
]


def tree(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


@pytest.fixture
def hostile_corpus(tmp_path) -> Corpus:
    audio = tmp_path / "in.wav"
    soundfile.write(audio, 0.1 * np.sin(np.arange(4000) / 20), RATE)
    count = len(OUTSIDE)
    table = pl.DataFrame(
        {
            "id": OUTSIDE, "audio": [str(audio)] * count, "speaker": OUTSIDE, "text": OUTSIDE,
            "start": [0.0] * count, "duration": [None] * count,
        },
        schema_overrides={"duration": pl.Float64},
    )  # fmt: skip
    return Corpus(name="../../x", format="manifest", source=str(tmp_path), table=table)


def test_exported_audio_stays_in_its_folder(hostile_corpus, tmp_path):
    before = tree(tmp_path)
    done = export_corpus(hostile_corpus, tmp_path / "deep" / "out", parse_scenario("gain:1"))
    assert done.files == len(OUTSIDE)
    assert done.failures == {}
    new = tree(tmp_path) - before
    assert all(name == "deep" or name.startswith("deep/out") for name in new)
    assert len([name for name in new if name.endswith(".wav")]) == len(OUTSIDE)
    again = read_corpus(tmp_path / "deep" / "out", skip_bad_rows=True)  # an id of "\0" is read by nobody
    assert sorted(again.table["id"]) == sorted(set(OUTSIDE) - {"\x00"})


def test_attacked_audio_stays_in_its_folder(hostile_corpus, tmp_path):
    before = tree(tmp_path)
    utterances = list(hostile_corpus)
    clips = [Audio(np.zeros(100, np.float32), RATE)] * len(utterances)
    for name in OUTSIDE:
        kept = keep_audio(tmp_path / "deep" / "out", name, name, utterances, clips)
        assert all(one.audio.is_file() for one in kept)
    new = tree(tmp_path) - before
    assert all(name == "deep" or name.startswith("deep/out") for name in new)


def test_unpacked_recordings_are_named_by_their_content(tmp_path):
    folder = tmp_path / "cache"
    for name in [*OUTSIDE, "x.wav/../../y", "a.flac\x00.sh", "..wav"]:
        path = unpack(name.encode() + b"RIFF", name, folder)
        assert path.resolve().is_relative_to(folder.resolve())
        assert re.fullmatch(r"[0-9a-f]{64}\.[a-z0-9]+", path.name)
    assert tree(tmp_path) - {"cache"} == {f"cache/{name}" for name in tree(folder)}


@pytest.mark.parametrize("name", ["../x.wav", "/x.wav", "a\\..\\x.wav", "C:x.wav", "link.wav", "bomb.wav"])
def test_an_archive_that_is_not_the_pinned_one_is_not_even_opened(tmp_path, name, monkeypatch):
    """Whatever its names, links and sizes are; of the right size, too."""
    archive = tmp_path / "a.whl"
    entry = zipfile.ZipInfo(f"voice_cloning/speakers/{name}")
    entry.external_attr = 0o120777 << 16 if name == "link.wav" else 0
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(entry, bytes(3_000_000) if name == "bomb.wav" else b"/etc/passwd")
    with pytest.raises(VoxauditError, match="bytes instead of"):
        fetch_human_corpus(tmp_path / "in" / "out", archive=archive)
    monkeypatch.setattr("voxaudit.speak.human.WHEEL", replace(WHEEL, size=archive.stat().st_size))
    with pytest.raises(VoxauditError, match="SHA-256"):
        fetch_human_corpus(tmp_path / "in" / "out", archive=archive)
    assert tree(tmp_path) == {"a.whl"}


def test_entities_are_not_expanded(tmp_path):
    path = tmp_path / "x.xml"
    for declared in ('<!ENTITY a SYSTEM "file:///etc/passwd">', '<!ENTITY a "ha">'):
        path.write_text(f"<!DOCTYPE x [{declared}]><x>&a;</x>")
        with pytest.raises(VoxauditError, match="DOCTYPE"):
            read_xml(path)


def a_study(folder: Path) -> Study:
    (folder / "audio").mkdir(parents=True)
    items = tuple(Item(f"q{n}", (f"{n}a.flac", f"{n}b.flac")) for n in range(2))
    for item in items:
        for name in item.files:
            (folder / "audio" / name).write_bytes(b"fLaC")
    study = Study(folder, "comprehensibility", 1, 2, items)
    write_study(study)
    return study


def test_a_study_serves_no_file_that_a_link_points_to(tmp_path):
    study = a_study(tmp_path / "study")
    private = tmp_path / "private.txt"
    private.write_text("not for participants")
    linked = study.folder / "audio" / "0a.flac"
    linked.unlink()
    linked.symlink_to(private)
    people = participants(study, 1)
    with open_answers(study.folder) as answers:
        ask = study_app(study, people, answers)
        assert ask(Request("GET", "/audio/q1/a", who=people[0].name)).body == b"fLaC"
        with pytest.raises(HttpError, match="link"):
            ask(Request("GET", "/audio/q0/a", who=people[0].name))
        for path in ("/audio/../a", "/audio/q0/../../study.json", "/audio/q1/c", "/participants.json"):
            with pytest.raises(HttpError):
                ask(Request("GET", path, who=people[0].name))


@pytest.mark.parametrize("name", ["../participants.json", "/etc/passwd", "..", "", "a/b.flac"])
def test_a_study_names_files_of_its_own_only(tmp_path, name):
    study = a_study(tmp_path / "study")
    path = study.folder / "study.json"
    path.write_text(path.read_text().replace("0a.flac", name))
    with pytest.raises(VoxauditError, match=r"outside of audio/"):
        read_study(study.folder)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
def test_links_of_participants_are_for_their_owner_only(tmp_path):
    study = a_study(tmp_path / "study")
    participants(study, 2)
    assert (study.folder / "participants.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("url", ["ftp://me:hunter22@host/a.csv", "s3://AKIA:hunter22@bucket/a.csv"])
def test_a_url_with_a_password_is_refused_without_repeating_it(url):
    for use in (files.read_bytes, files.require, read_corpus):
        with pytest.raises(VoxauditError, match="holds a password") as caught:
            use(url)
        assert "hunter22" not in str(caught.value)


# Time. A pattern that goes back over a long text takes ten seconds for one of these, a good one a tenth of a second.

LENGTH = 30_000
ROWS = [
    " ",
    "(",
    "<",
    "[",
    "{",
    "(a ",
    "$",
    ".",
    "-",
    "1",
    "/",
    "\t",
    "a'",
    "…",
    "[x ",
    "&",
    "\x15",
    '"',
    "um ",
    "'",
]
READERS = {
    "trn": nist._TEXT.fullmatch,
    "several values": harmonize._SEVERAL.split,
    "chat": chat.chat_utterance,
    "coraal": lambda text: (coraal._MARKS.sub("", text), coraal._LOST.search(text)),
    "chime6": lambda text: chime6._MARKS.sub("", text),
    "casual conversations": lambda text: casual_conversations._MARKS.sub("", text),
    "tedlium": lambda text: tedlium._MARKS.sub("", text),
    "vctk": lambda text: vctk._REMARK.sub("", text),
    "words to say": spoken_words,
    **{f"normalizer {name}": rule for name, rule in NORMALIZERS.items()},
}
ENOUGH = 2.0
"""Seconds of CPU for one row, however busy the machine is."""


@pytest.fixture
def watched():
    """Return a function that begins the time of a row: patterns look for signals while they search."""

    def stop(*_):
        raise TimeoutError(f"more than {ENOUGH:g} s of CPU")

    before = signal.signal(signal.SIGPROF, stop)
    yield lambda: signal.setitimer(signal.ITIMER_PROF, ENOUGH)
    signal.setitimer(signal.ITIMER_PROF, 0.0)
    signal.signal(signal.SIGPROF, before)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no timer of CPU time")
@pytest.mark.parametrize("name", READERS)
def test_long_rows_of_one_mark_do_not_hang(name, watched):
    for row in ROWS:
        watched()
        READERS[name](row * (LENGTH // len(row)) + "!")


def test_marks_around_words_go_as_before():
    """The pattern that took quadratic time, as a reference."""
    outer = re.compile(r"^[^\w$£€&%@+=']+|[^\w%&@+=']+$")
    from voxaudit.align.pronounce import _bare

    for token in ["..$", "$5.", "'tis!", "“so”…", "--", "$$", "a$", "¿qué?", "(50%)", "", "£", ".'.", "=?=."]:
        assert _bare(token) == outer.sub("", token), token


# Keys.


@pytest.fixture
def services(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "recognize"))
    fake_services = pytest.importorskip("fake_services", reason="tests/recognize is missing")
    for variable, value in fake_services.VARIABLES.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setenv("VOXAUDIT_CACHE", str(tmp_path / "cache"))
    fakes = fake_services.Fakes()
    fakes.secrets = (fake_services.KEY, fake_services.AWS_ID, fake_services.TOKEN)
    fakes.names = list(fake_services.SETTINGS)
    yield fakes
    fakes.close()


def audit_of(services, vendors, folder: Path) -> Path:
    rows = ["path,text,speaker"]
    for n in range(3):
        soundfile.write(folder / f"c{n}.wav", np.zeros(8000 + n, np.float32), RATE)
        rows.append(f"c{n}.wav,heard {8000 + n} samples,s{n}")
    (folder / "manifest.csv").write_text("\n".join(rows) + "\n")
    lines = ["[corpus]", 'path = "manifest.csv"', "[run]", 'out = "run"', "workers = 1", "retries = 0"]
    for vendor in vendors:
        quick = {"timeout": 2.0, "concurrency": 1, "retries": 0}
        lines += [f"[recognizers.{vendor}]", f'engine = "{vendor}"']
        lines += [f"{k} = {json.dumps(v)}" for k, v in services.settings(vendor, **quick).items()]
    path = folder / "audit.toml"
    path.write_text("\n".join(lines) + "\n")
    return path


def assert_nowhere(secrets, folder: Path, *texts: str) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            assert not any(secret.encode() in data for secret in secrets), path
    for text in texts:
        assert not any(secret in text for secret in secrets), text[:300]


def arguments_of_all_processes() -> str:
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
        except OSError:  # it has ended
            continue
    return "\n".join(lines)


@pytest.mark.slow
def test_keys_are_in_no_report_page_message_or_argument(services, tmp_path, capfd):
    """Every service refuses one clip and repeats the key in its complaint; everything made of that is searched."""
    key, id_, token = services.secrets
    seen = []

    def fault(vendor, number):
        seen.append(arguments_of_all_processes())
        if number == 1:
            known = f"{key} of {id_} with {token}" if vendor == "aws" else key
            text = f"the key {known} cannot decode the audio"
            return 400, {"error": {"message": text, "code": 400}, "err_msg": text, "Message": text}
        return ""

    services.fault = fault
    audit = audit_of(services, services.names, tmp_path)
    assert main(["run", str(audit), "--json"]) == 0, capfd.readouterr()
    printed = capfd.readouterr()
    assert {"report.html", "findings.json", "summary.md", "junit.xml"} <= tree(tmp_path / "run")
    assert {vendor for vendor, *_ in services.requests} >= set(services.names)
    failures = open_run(tmp_path / "run").failures
    assert failures.height >= len(services.names) - 2  # those that ask in several steps fail at another one
    assert "***" in " ".join(failures["failure"])
    ask = review_app(tmp_path / "run")
    pages = [ask(Request("GET", path)).body for path in ("/", "/api/about")]
    (source,) = json.loads(pages[1])["sources"]
    pages.append(ask(Request("GET", "/api/cases", {"source": source})).body)
    cases = json.loads(pages[-1])["cases"]
    assert len(cases) >= failures.height
    pages += [ask(Request("GET", "/api/case", {"source": source, "id": case["id"]})).body for case in cases]
    pages += [
        ask(Request("GET", f"/api/{name}", {"source": source})).body for name in ("progress", "agreement")
    ]
    pages += [ask(Request("GET", "/api/export", {"format": ending})).body for ending in ("csv", "jsonl")]
    assert_nowhere(services.secrets, tmp_path, *printed, *(page.decode() for page in pages), *seen)


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["redirect", "401", "html"])
def test_keys_are_not_shown_by_a_run_that_stops(services, tmp_path, capfd, fault):
    key, id_, _ = services.secrets
    vendor = {"redirect": "google", "401": "aws", "html": "azure"}[fault]
    elsewhere = {"Location": f"{services.url}/elsewhere?key={key}&id={id_}"}
    services.fault = lambda vendor, number: (302, {}, elsewhere) if fault == "redirect" else fault
    audit = audit_of(services, [vendor], tmp_path)
    for more in ([], ["--json"]):
        main(["run", str(audit), *more])
        out, err = capfd.readouterr()
        assert err
        assert_nowhere(services.secrets, tmp_path, out, err)
    assert not any("elsewhere" in path for _, _, path, *_ in services.requests)


def test_a_key_in_the_configuration_is_refused_and_not_repeated(services, tmp_path, capfd):
    key = services.secrets[0]
    audit = audit_of(services, ["openai"], tmp_path)
    text = audit.read_text()
    for setting in (f'key_env = "{key}"', f'version = "{key}"'):
        audit.write_text(f"{text}{setting}\n")
        assert main(["run", str(audit)]) == 2
        out, err = capfd.readouterr()
        assert key not in out + err
        assert not (tmp_path / "run").exists()


# Spreadsheets.


def test_labels_for_a_spreadsheet_hold_no_formula_and_json_is_exact(tmp_path):
    from voxaudit.review.labels import COLUMNS, exported

    texts = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "  =1", "plain", "a=1"]
    texts += ["\ufeff=1", "\u200b=1", "\u3000+1", "\uff1d1", " \uff0b1", "\uff0d1", "\uff20x", "\x01=1"]
    table = pl.DataFrame(dict.fromkeys(COLUMNS, texts)).with_columns(final=pl.lit(True))
    rows = pl.read_csv(exported(table, "csv"), schema_overrides={"comment": pl.String})["comment"].to_list()
    assert rows == [text if text in ("plain", "a=1") else f"'{text}" for text in texts]
    lines = exported(table, "jsonl").decode().splitlines()
    assert [json.loads(line)["comment"] for line in lines] == texts


def test_manifests_are_data_and_read_back_exactly(hostile_corpus, tmp_path):
    """A manifest goes into programs: an apostrophe before a text would be a word that nobody said."""
    texts = ["=1+1", "-1", "@x", "+1"]
    table = hostile_corpus.table.head(4).with_columns(pl.Series("text", texts))
    corpus = Corpus(name="x", format="manifest", source=str(tmp_path), table=table)
    export_corpus(corpus, tmp_path / "out", parse_scenario("gain:1"))
    assert read_corpus(tmp_path / "out").table["text"].to_list() == texts
