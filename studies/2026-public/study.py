"""The public audit: hear the recordings, keep the scores, ask the questions, write the pages.

python studies/2026-public/study.py                    all of it; what is done is not done again
python studies/2026-public/study.py hear accents       one part (the recordings in `data/`, an hour or so each)
python studies/2026-public/study.py ask pages          from the scores in the repository, in minutes

`README.md` beside this file says what lies where and where the recordings come from.
"""

from __future__ import annotations

import argparse
import fnmatch
import gzip
import json
import re
import resource
import shlex
import sqlite3
import subprocess
import sys
import time
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import polars as pl

HERE = Path(__file__).parent
DATA, PUBLISHED, RUNS, SCORES, ANSWERS = (
    HERE / name for name in ("data", "published", "runs", "scores", "answers")
)
PAGES = HERE.parent.parent / "docs" / "study-2026"
PARTS = ("accents", "digits", "ravdess", "coraal", "disturbed", "spanish", "told", "sounds", "pocketsphinx")
LISTENING: dict[str, str] = tomllib.loads((HERE / "questions.toml").read_text())["parts"]
"""Parts that are no run: audits that hear by themselves, as commands by name."""
SENTENCES = {"accents11.csv": "4-14", "accents8.csv": "27-34"}
"""Words of the passage, counted from 1: "Ask her to bring these things with her from the store" and "and maybe a snack
for her brother Bob"."""
SPANISH_PROMPTS = 40
PROMPTS = Path("/usr/share/asterisk/sounds/es_MX_f_Allison")
PROMPT_TEXTS = "/usr/share/doc/asterisk-core-sounds-es/core-sounds-es.txt.gz"
PACKAGES = (
    *("voxaudit", "numpy", "polars", "scipy", "torch", "onnxruntime", "moonshine-voice", "openai-whisper"),
    *("faster-whisper", "ctranslate2", "vosk", "pocketsphinx"),
)


def main() -> None:
    """Do what the command line asks."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "what", nargs="*", help="hear, ask, pages (default: all three); parts, questions by name"
    )
    parser.add_argument(
        "--workers", type=int, help="processes that hear at the same time (default: one per core)"
    )
    given = parser.parse_args()
    names = given.what
    steps = [name for name in ("hear", "ask", "pages") if name in names] or ["hear", "ask", "pages"]
    chosen = [name for name in names if name not in steps]
    if "hear" in steps:
        parts = chosen or [*PARTS, *LISTENING]
        prepare(parts)
        for part in parts:
            hear(part, given.workers)
    if "ask" in steps:
        ask(chosen)
        if not chosen or "enough" in chosen:
            ask_enough()
    if "pages" in steps:
        fill_pages()


def prepare(parts: list[str]) -> None:
    """Write the manifests of parts that hear only some recordings, and train the recognizer of digits for its own."""
    sys.path.insert(0, str(HERE))
    from digit_recognizer import HELD_OUT, keep_weights

    folder = RUNS / "manifests"
    folder.mkdir(parents=True, exist_ok=True)
    digits = pl.read_csv(DATA / "fsdd" / "manifest.csv")
    take = pl.col("path").str.extract(r"_(\d+)\.flac$").cast(pl.Int64)
    _from_here(digits.filter(take < HELD_OUT), "fsdd").write_csv(folder / "digits.csv")
    actors = pl.read_csv(DATA / "ravdess" / "manifest.csv").filter(pl.col("emotion") == "neutral")
    one_each = actors.unique("speaker", keep="first", maintain_order=True)
    _from_here(one_each, "ravdess").write_csv(folder / "ravdess16.csv")
    sounds = pl.read_csv(DATA / "esc50" / "manifest.csv").select("path", speaker="category", text=pl.lit(""))
    _from_here(sounds, "esc50").write_csv(folder / "sounds.csv")
    if PROMPTS.exists() and Path(PROMPT_TEXTS).exists():  # some systems install packages without their texts
        with gzip.open(PROMPT_TEXTS, "rt", encoding="utf-8") as file:
            lines = [line.strip().partition(": ") for line in file]
        prompts = [
            {"path": str(PROMPTS / f"{name}.wav"), "text": text, "speaker": "allison", "language": "es"}
            for name, _, text in lines
            if len(text.split()) >= 8 and "[" not in text and (PROMPTS / f"{name}.wav").exists()
        ]
        pl.DataFrame(prompts[:SPANISH_PROMPTS]).write_csv(folder / "spanish.csv")
    for name, words in SENTENCES.items():
        heard = any(name in LISTENING.get(part, "") for part in parts)
        if heard and not (folder / name).exists():
            sentence(folder / name, words)
    if "digits" in parts:
        keep_weights(DATA / "fsdd")


def sentence(manifest: Path, words: str) -> None:
    """Cut some words out of the passage, for everybody."""
    command = ["-m", "benchmarks.studies.stutter", str((DATA / "accents" / "manifest.csv").absolute())]
    command += ["--words", words, "--cut", str(manifest.absolute())]
    subprocess.run([sys.executable, *command], cwd=HERE.parent.parent, check=True)


def koenecke() -> None:
    """Write the published error rates of five services (Koenecke et al. 2020) as a table of scores."""
    wide = pl.read_csv(PUBLISHED / "matched_wer.csv")
    services = [name for name in wide.columns if name.startswith("clean_")]
    kept = [name for name in wide.columns if name not in services]
    long = wide.unpivot(services, index=kept, variable_name="recognizer", value_name="wer")
    long.select(
        utterance="segment_filename",
        # A speaker of CORAAL may have several recordings: the number of the part is not part of the name.
        speaker=pl.col("basefile").str.replace(r"^((?:DCB|PRV|ROC)_.*)_\d+$", "${1}"),
        recognizer=pl.col("recognizer").str.extract("clean_(.*)_wer"),
        errors=(pl.col("wer") * pl.col("wordcount")).round().cast(pl.Int64),
        words="wordcount",
        race=pl.when(pl.col("black_flag") == 1).then(pl.lit("Black")).otherwise(pl.lit("White")),
        gender=pl.when(pl.col("female_flag") == 1).then(pl.lit("female")).otherwise(pl.lit("male")),
        age="age",
    ).write_csv(PUBLISHED / "koenecke.csv")


def _from_here(manifest: pl.DataFrame, corpus: str) -> pl.DataFrame:
    folder = pl.lit(str((DATA / corpus).absolute()))
    return manifest.with_columns(pl.format("{}/{}", folder, "path").alias("path"))


def hear(part: str, workers: int | None = None) -> None:
    """Hear a part, note what it cost, and keep its scores: counts and attributes, no text and no audio."""
    began, before = time.time(), _used()
    command = f"{LISTENING[part]} --out runs/{part}" if part in LISTENING else f"run {part}.toml"
    command += f" --workers {workers}" if workers else ""
    code = subprocess.run(["voxaudit", *shlex.split(command)], cwd=HERE).returncode
    if code not in (0, 1):
        sys.exit(f"voxaudit {command} ended with {code}; run the same again to go on")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    note(part, time.time() - began, _used() - before, peak)
    keep_scores(part)


def _used() -> float:
    """Return the CPU seconds of all commands so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def note(part: str, wall: float, cpu: float, megabytes: float) -> None:
    """Add what hearing a part cost to `lock.json`, with the versions of all that heard."""
    file = HERE / "lock.json"
    lock: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {"parts": {}}
    trials, heard_by = heard(part)
    earlier = lock["parts"].get(part, {"sittings": []})
    sitting = {"wall_s": round(wall), "cpu_s": round(cpu), "peak_mb": round(megabytes)}
    lock["parts"][part] = {
        "trials": trials.height,
        "failures": trials.filter(pl.col("failure") != "").height,
        "recognizers": heard_by,
        "sittings": [*earlier["sittings"], sitting],
    }
    # Packages that are not here now stand as they were when they heard.
    lock["packages"] = {name: _version(name) or lock.get("packages", {}).get(name) for name in PACKAGES}
    file.write_text(json.dumps(lock, indent=1) + "\n")


def heard(part: str) -> tuple[pl.DataFrame, dict[str, dict[str, str]]]:
    """Return the trials of a part and the recognizers that heard them, by name with their fingerprints."""
    if part not in LISTENING:
        config = json.loads((RUNS / part / "run.json").read_text())
        names = {name: one["fingerprint"] for name, one in config["recognizers"].items()}
        return pl.read_parquet(RUNS / part / "transcripts.parquet"), names
    from voxaudit.recognize import make_recognizer

    with sqlite3.connect(RUNS / part / "trials.sqlite") as store:
        trials = pl.read_database("SELECT recognizer, failure FROM trials", store)
    return trials, {
        name: make_recognizer(name).fingerprint() for name in trials["recognizer"].unique().sort()
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def scores(part: str) -> pl.DataFrame:
    """Return the scores of a part, as they are in the repository."""
    return pl.read_parquet(SCORES / f"{part}.parquet")


def answer(name: str) -> dict[str, Any]:
    """Return an answer, as it is in the repository."""
    kept: dict[str, Any] = json.loads((ANSWERS / f"{name}.json").read_text(encoding="utf-8"))
    return kept


def keep_answer(name: str, kept: dict[str, Any]) -> None:
    """Write an answer into the repository."""
    ANSWERS.mkdir(exist_ok=True)
    (ANSWERS / f"{name}.json").write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")


def keep_scores(part: str) -> None:
    """Copy the scores of a part into the repository: counts and attributes, no text."""
    source = RUNS / part / "scores.parquet"
    if source.exists():  # there are no scores without references
        SCORES.mkdir(exist_ok=True)
        new = pl.read_parquet(source)
        if part == "told":  # beside the same model that was not told
            new = pl.concat([scores("accents").filter(recognizer="whisper-base"), new], how="diagonal")
        new.write_parquet(SCORES / f"{part}.parquet", compression="zstd", compression_level=19)


def questions() -> list[dict[str, Any]]:
    """Return the questions of the study: name, command, and what a page shows of the answer."""
    asked: list[dict[str, Any]] = tomllib.loads((HERE / "questions.toml").read_text())["questions"]
    return asked


def ask(chosen: list[str]) -> None:
    """Ask the questions, and keep what is said: findings, and the table that the page shows.

    Where a question is about transcripts or audio and these are not here, the answer on file stays.
    """
    if (PUBLISHED / "matched_wer.csv").exists():
        koenecke()
    for question in questions():
        name = question["name"]
        if chosen and name not in chosen:
            continue
        source = shlex.split(question["ask"])[1]
        if not (HERE / source).exists():
            print(f"{name}: {source} is not here; the answer on file stays")
            continue
        plots = ["--plot", f"{question['plot']}={PAGES / name}.png"] if "plot" in question else []
        command = ["voxaudit", *shlex.split(question["ask"]), *plots, "--json"]
        done = subprocess.run(command, cwd=HERE, capture_output=True, text=True)
        if done.returncode not in (0, 1):
            sys.exit(f"{name}: {done.stderr.strip()}")
        said = json.loads(done.stdout)
        kept = {key: said[key] for key in ("audit", "question", "findings", "refusals")}
        wanted = (question.get("table"), *question.get("keep", ()))
        kept["tables"] = [one for one in said["tables"] if one["id"] in wanted]
        keep_answer(name, kept)
        print(f"{name}: {len(kept['findings'])} findings")


def ask_enough() -> None:
    """Ask how many speakers would have been enough, and keep which draws show a gap."""
    sys.path.insert(0, str(HERE))
    from enough import enough

    keep_answer("enough", {"rows": list(enough(scores("accents")))})


def fill_pages() -> None:
    """Write every answer into the pages, between its marks: the command, the table, the sentences."""
    blocks = {question["name"]: block(question) for question in questions()}
    blocks |= {"cost": cost(), "enough": claims(), "methods": methods()}
    blocks |= {
        f"stuttered-{corpus}": stuttered(corpus) for corpus in ("accents", "three", "snack", "ravdess")
    }
    for page in sorted(PAGES.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        filled = re.sub(
            r"(<!-- study ([\w-]+) -->\n).*?(<!-- /study -->)",
            lambda found: f"{found[1]}{blocks[found[2]]}{found[3]}",
            text,
            flags=re.DOTALL,
        )
        page.write_text(filled, encoding="utf-8")


def block(question: dict[str, Any]) -> str:
    """Return what a page shows of an answer, in Markdown."""
    from voxaudit.render.markdown import escape

    kept = answer(question["name"])
    lines = [f"    voxaudit {question['ask']}", ""]
    if kept["tables"]:
        lines += [*table_lines(kept["tables"][0], question), ""]
    said = [
        one["sentence"]
        for pattern in question.get("say", ())
        for one in kept["findings"]
        if fnmatch.fnmatchcase(one["id"], pattern)
    ]
    lines += [f"- {escape(sentence)}" for sentence in said]
    return "\n".join([*lines, *([""] if said else [])])


def table_lines(table: dict[str, Any], question: dict[str, Any]) -> list[str]:
    """Return a table as Markdown: the rows and columns that the question is about."""
    from voxaudit.answer import Column, Table
    from voxaudit.render.markdown import table_lines as lines

    frame = pl.DataFrame(table["rows"], schema=table["names"], orient="row", infer_schema_length=None)
    for name, wanted in question.get("where", {}).items():
        values = pl.col(name).cast(pl.String).fill_null("")  # TOML has no word for none: an empty text
        frame = frame.filter(values.is_in(wanted if isinstance(wanted, list) else [wanted]))
    if "sort" in question:
        frame = frame.sort(question["sort"], maintain_order=True)
    shown = question.get("columns") or [one["name"] for one in table["columns"]]
    known = {one["name"]: Column(**one) for one in table["columns"]}
    return lines(Table(table["id"], table["title"], frame, tuple(known[name] for name in shown)))


def claims() -> str:
    """Return how often each method claims a gap with fewer speakers, as a table."""
    rows = answer("enough")["rows"]
    methods = list(rows[0]["claimed"])
    lines = [
        "| groups | speakers of each |" + "".join(f" {name} |" for name in methods),
        "|---|---|" + "---|" * len(methods),
    ]
    for row in rows:
        shares = "".join(f" {100 * row['claimed'][name]:.0f} % |" for name in methods)
        lines.append(f"| {row['group']} and {row['against']} | {row['speakers']} |{shares}")
    return "\n".join([*lines, ""])


def methods() -> str:
    """Return what disparity and parity say of each recognizer's widest gap, as observed and with more held fixed."""
    said = {
        name: {one["id"]: one for one in answer(name)["findings"]}
        for name in ("accents-gap", "accents-controls", "accents-parity")
    }
    lines = [
        "| recognizer | gap | ratio of WERs | gender and age held fixed | difference of means of speakers, points"
        " | gender held fixed |",
        "|---|---|---|---|---|---|",
    ]
    for id_, gap in said["accents-parity"].items():
        pair = f"{gap['group']}/{gap['against']}"
        ratio = f"disparity/{gap['recognizer']}/clean/native_language/{pair}/wer_ratio"
        if not id_.endswith("/native_language/wer_gap") or ratio not in said["accents-gap"]:
            continue  # the mean of all recognizers has no ratio
        found = [said[name][ratio] for name in ("accents-gap", "accents-controls")]
        found += [said["accents-parity"][name] for name in (id_, f"{id_}_fixed")]
        cells = (_with_verdict(one, 100 if one["unit"] != "ratio" else 1) for one in found)
        lines.append(f"| {gap['recognizer']} | {gap['group']} over {gap['against']} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _with_verdict(finding: dict[str, Any], scale: int) -> str:
    digits = 2 if scale == 1 else 1
    estimate, low, high = (f"{scale * finding[key]:.{digits}f}" for key in ("estimate", "low", "high"))
    return f"{estimate} ({low} to {high}), {finding['verdict'].replace('_', ' ')}"


def stuttered(corpus: str) -> str:
    """Return WER, MER and WIL before, by kind and by severity, realistic and as published side by side, as a table."""
    cells: dict[str, dict[str, str]] = {}
    for mode in ("realistic", "published"):
        name = f"stutter-{corpus}" + ("" if mode == "realistic" else f"-{mode}")
        for table in answer(name)["tables"] if name in LISTENING else ():
            for row in (dict(zip(table["names"], one, strict=True)) for one in table["rows"]):
                column, what = f"{row['recognizer']}, {mode}", row.get("kind") or row["severity"]
                if what == "all kinds":
                    cells.setdefault("before", {})[column] = _rates(row, "_original")
                elif not row.get("group"):
                    cells.setdefault("before" if what == "0" else what, {})[column] = _rates(row, "")
    heard_by = list(dict.fromkeys(name.rpartition(", ")[0] for name in cells["before"]))
    columns = sorted(cells["before"], key=lambda name: heard_by.index(name.rpartition(", ")[0]))
    lines = ["| |" + "".join(f" {name} |" for name in columns), "|---|" + "---|" * len(columns)]
    lines += [
        f"| {row} |" + "".join(f" {own.get(name, '-')} |" for name in columns) for row, own in cells.items()
    ]
    return "\n".join([*lines, ""])


def _rates(row: dict[str, Any], which: str) -> str:
    return ", ".join(f"{100 * row[f'{name}{which}']:.1f}" for name in ("wer", "mer", "wil"))


def cost() -> str:
    """Return what hearing cost, as a table."""
    lock = json.loads((HERE / "lock.json").read_text())
    rows = [
        "| part | recognizers | trials | failures | sittings | wall, minutes | CPU, minutes | most memory, MB |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, part in lock["parts"].items():
        sittings = part["sittings"]
        wall, cpu = (sum(one[key] or 0 for one in sittings) / 60 for key in ("wall_s", "cpu_s"))
        peak = max((one.get("peak_mb", 0) for one in sittings), default=0)
        told = (
            f"{len(sittings)} | {wall:,.0f} | {cpu:,.0f} | {peak}"
            if sittings
            else "not on record | - | - | -"
        )
        shown = name if name in LISTENING else f"{name}.toml"
        failures = "-" if part["failures"] is None else part["failures"]
        rows.append(f"| `{shown}` | {len(part['recognizers'])} | {part['trials']:,} | {failures} | {told} |")
    total = sum(part["trials"] for part in lock["parts"].values())
    all_sittings = [one for part in lock["parts"].values() for one in part["sittings"]]
    wall, cpu = (sum(one[key] or 0 for one in all_sittings) / 3600 for key in ("wall_s", "cpu_s"))
    said = f"{len(all_sittings)} sittings, {wall:.1f} hours, {cpu:.1f} hours of CPU time"
    return "\n".join([*rows, "", f"{total:,} trials in all; on record: {said}.", ""])


if __name__ == "__main__":
    main()
