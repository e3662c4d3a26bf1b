"""From a run's folder to one document, and from the document to files."""

from __future__ import annotations

import time
from collections.abc import MutableMapping, Sequence
from pathlib import Path

import polars as pl

from voxaudit.config import Gates
from voxaudit.errors import VoxauditError
from voxaudit.report.context import Context
from voxaudit.report.document import Document, Section
from voxaudit.report.findings import to_json
from voxaudit.report.gates import judge
from voxaudit.report.html import render_html
from voxaudit.report.junit import to_junit
from voxaudit.report.markdown import to_markdown
from voxaudit.report.published import published
from voxaudit.report.sections import (
    accuracy,
    attack,
    cases,
    differential,
    disparity,
    parity,
    reproduce,
    robustness,
    stutter,
    words,
)
from voxaudit.run import Run
from voxaudit.tables import write_atomically

CHAPTERS = {
    "accuracy": accuracy.section,
    "robustness": robustness.section,
    "disparity": disparity.section,
    "parity": parity.section,
    "differential": differential.section,
    "words": words.section,
    "stutter": stutter.section,
    "attack": attack.section,
    "cases": cases.section,
    "reproduce": reproduce.section,
}
"""The chapters in their order."""

NO_GATES = Gates()
SYNTHETIC = "These voices are synthetic: the figures show how an audit works and say nothing about people."
"""Stands at the top of every report on a corpus whose column `synthetic` is `yes` throughout, as the demo's is."""


def build_report(
    run: Run,
    *,
    attributes: Sequence[str] = (),
    stutter: str | Path | None = None,
    attack: str | Path | None = None,
    gates: Gates = NO_GATES,
    audio_megabytes: float = 4.0,
    seconds: MutableMapping[str, float] | None = None,
) -> Document:
    """Return everything a scored run says, as one document.

    `attributes` are columns of the corpus whose groups are compared. `stutter` and `attack` are folders of those
    audits (default: `stutter` and `attack` in the run's folder). `audio_megabytes` bounds the audio of the worst cases;
    0 leaves it out, and no recording is opened. An audit that cannot answer is a refusal in its chapter. `seconds`,
    where given, is filled with what each chapter took.
    """
    context = Context(
        run=run,
        attributes=tuple(dict.fromkeys(attributes)),
        stutter=Path(stutter) if stutter is not None else run.folder / "stutter",
        attack=Path(attack) if attack is not None else run.folder / "attack",
        audio_bytes=int(audio_megabytes * 1e6),
    )
    took = seconds if seconds is not None else {}
    sections: list[Section] = []
    for name, chapter in CHAPTERS.items():
        started = time.perf_counter()
        sections.append(chapter(context))
        took[name] = time.perf_counter() - started
    corpus = run.config["corpus"]
    headlines = [one for part in sections for one in part.findings if one.headline]
    # What could not be concluded comes last, whichever chapter says so.
    settled = [one for one in headlines if one.verdict not in ("refused", "undecided")]
    open_ = [one for one in headlines if one.verdict in ("refused", "undecided")]
    document = Document(
        title=f"Audit of {corpus['name']}",
        subtitle=_subtitle(context),
        summary=tuple(dict.fromkeys(one.sentence for one in (*settled, *open_))),
        sections=tuple(sections),
        gates=judge(context, gates),
        facts=reproduce.facts(context),
        config=run.config,
    )
    return published(document, _roots(run))


def _roots(run: Run) -> list[Path]:
    """Return the folders that paths in a report are shown relative to: the run's, and those of its recordings."""
    audio = (
        run.corpus["audio"].drop_nulls().cast(pl.String).head(1).to_list()
        if "audio" in run.corpus.columns
        else []
    )
    source = [str(run.config["corpus"].get("source") or "")]
    return [run.folder.resolve(), *(Path(path).parent for path in (*source, *audio) if path)]


def _subtitle(context: Context) -> str:
    corpus = context.config["corpus"]
    said = (
        f"{', '.join(context.recognizers)}: {corpus['utterances']:,} utterances by {corpus['speakers']:,} speakers in"
        f" {len(context.config['scenarios']):,} scenarios"
    )
    table = context.run.corpus
    made = "synthetic" in table.columns and set(table["synthetic"].cast(pl.String).unique()) == {"yes"}
    return f"{said}. {SYNTHETIC}" if made else said


def write_report(document: Document, folder: str | Path) -> dict[str, Path]:
    """Write `report.html`, `summary.md`, `findings.json` and `junit.xml` into a folder; return their paths by name.

    Each file is complete or what it was before.
    """
    folder = Path(folder)
    document = published(document)
    texts = {
        "report.html": render_html(document),
        "summary.md": to_markdown(document),
        "findings.json": to_json(document),
        "junit.xml": to_junit(document),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise VoxauditError(f"{folder}: cannot make this folder ({error.strerror or error})") from error
    for name, text in texts.items():
        # Lone surrogates, which a file name can hold, have no place in UTF-8.
        data = text.encode("utf-8", "replace")
        write_atomically(folder / name, lambda path, data=data: path.write_bytes(data))  # type: ignore[misc]
    return {name: folder / name for name in texts}
