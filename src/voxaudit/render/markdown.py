"""`summary.md`: what fits a pull request or a model card, with Hugging Face's metadata on top."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs

import polars as pl

from voxaudit.answer import Finding, Table
from voxaudit.perturb import CLEAN
from voxaudit.render.document import Question, Report, labels_of, sentence_of
from voxaudit.render.invisible import printable
from voxaudit.render.numbers import cell_text, headings

MOST_ROWS = 40
"""Rows of a table in the summary."""

SUMMARIZED = ("accuracy", "versus", "robustness", "disparity", "compare")
"""Audits of which the first table is in the summary."""

_WHERE = ("recognizer", "scenario", "corpus", "language")

WORST = 3
"""Scenarios of a recognizer that are named where there are too many for a table."""


def to_markdown(report: Report) -> str:
    """Return the summary: metadata, sentences, gates and compact tables."""
    facts = "; ".join(f"{what} {value}" for what, value in report.facts)
    lines = [
        *model_index(report),
        f"# {escape(report.title)}",
        "",
        f"{escape(report.subtitle.rstrip('.'))}.",
        "",
        *(line for question in report.summary for line in _question(question, report)),
        *_gates(report),
        *_tables(report),
        f"{escape(facts)}. Intervals are 95 %; speakers are the sample.",
    ]
    return "\n".join(lines) + "\n"


def _question(question: Question, report: Report) -> list[str]:
    """Return a question as a heading with its answers below; what stands for itself has no heading."""
    head = [f"## {escape(question.title)}", ""] if question.title else []
    return [*head, *(line for item in question.answers for line in claim(item, report)), ""]


def claim(item: Finding | str, report: Report) -> list[str]:
    """Return a claim and, below it, what reviewers said of the trials behind it."""
    said = labels_of(item, report)
    return [f"- {escape(sentence_of(item))}", *([f"  - {escape(said)}"] if said else [])]


def _gates(report: Report) -> list[str]:
    if not report.gates:
        return []
    rows = [(gate.name, gate.outcome, gate.sentence) for gate in report.gates]
    return ["## Gates", "", *_lines(("gate", "result", "what was found"), rows), ""]


def _tables(report: Report) -> list[str]:
    """Return the first table of each answer that belongs into a summary; of long ones what tells most."""
    lines: list[str] = []
    for answer in (answer for chapter in report.chapters for answer in chapter.answers):
        tables = [table for table in answer.tables.shown if not table.folded and table.frame.height]
        if answer.audit in SUMMARIZED and tables:
            table = tables[0]
            frame, which = _telling(table)
            all_ = f" ({which}; all {table.frame.height:,} rows are in findings.json)" if which else ""
            lines += [f"## {escape(table.title)}{all_}", "", *table_lines(replace(table, frame=frame)), ""]
    return lines


def _telling(table: Table) -> tuple[pl.DataFrame, str]:
    """Return the rows that a summary has room for, and which they are where they are not all."""
    frame = table.frame
    if frame.height <= MOST_ROWS:
        return frame, ""
    if not {"recognizer", "scenario", "wer"} <= set(frame.columns):
        return frame.head(MOST_ROWS), f"the first {MOST_ROWS}"
    clean = pl.col("scenario") == CLEAN
    if any(column.kind == "text" and column.name not in _WHERE for column in table.columns):  # by group
        return frame.filter(clean).head(MOST_ROWS), "clean speech"
    rank = pl.when(~clean).then(pl.col("wer")).rank("ordinal", descending=True).over("recognizer")
    worst = clean | (rank <= WORST).fill_null(False)
    order = frame["recognizer"].unique(maintain_order=True).to_list()
    rows = (
        frame.filter(worst)
        .with_columns(_who=pl.col("recognizer").cast(pl.Enum(order)).to_physical(), _clean=~clean)
        .sort("_who", "_clean", "wer", descending=[False, False, True])
        .drop("_who", "_clean")
    )
    return rows.head(MOST_ROWS), "clean speech and the worst scenarios"


def table_lines(table: Table) -> list[str]:
    """Return a table in Markdown."""
    heads = headings(table.columns)
    rows = [
        [cell_text(value, column, plain=True) for value, column in zip(row, table.columns, strict=True)]
        for row in table.rows
    ]
    return _lines(heads, rows)


def _lines(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    names = list(heads)
    lines = ["| " + " | ".join(map(_inline, names)) + " |", "|" + "---|" * len(names)]
    return lines + ["| " + " | ".join(map(_inline, row)) + " |" for row in rows]


def escape(text: str) -> str:
    """Return text that stays text in Markdown, on one line: no markup, no mention of anybody, no link.

    A mark that would begin a list, a heading or a quotation at the start of a line is none there either.
    """
    return re.sub(
        r"^([-+]|#+|=+)(?=\s|$)", r"\\\1", re.sub(r"^(\d+)([.)])(?=\s|$)", r"\1\\\2", _inline(text))
    )


def _inline(text: str) -> str:
    flat = " ".join(printable(text, " ").split())
    flat = flat.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    flat = re.sub(r"([\\`*\[\]|~])", r"\\\1", flat)
    # Underscores inside a word are no emphasis: names of scenarios stay readable.
    flat = re.sub(r"(?<![^\W_])_|_(?![^\W_])", r"\\_", flat)
    flat = re.sub(r"#(?=\w)", "&#35;", flat)
    flat = re.sub(r"(?<!\w)@(?=\w)", "&#64;", flat)
    flat = re.sub(r"(?i)(https?|ftp|mailto):(?=\S)", r"\1&#58;", flat)
    return re.sub(r"(?i)\bwww\.", "www&#46;", flat)


def model_index(report: Report, recognizer: str | None = None) -> list[str]:
    """Return the metadata of a Hugging Face model card, of all recognizers or one: word error rates in percent."""
    results: dict[str, list[tuple[str, float]]] = {}
    for finding in report.findings:
        label = _sensible(finding)
        if label is None or finding.recognizer is None or finding.estimate is None:
            continue
        if recognizer in (None, finding.recognizer):
            results.setdefault(finding.recognizer, []).append((label, 100 * finding.estimate))
    if not results:
        return []
    dataset = dataset_of(report.config)
    lines = ["---", "model-index:"]
    for name, values in results.items():
        lines += [f"- name: {_yaml(name)}", "  results:"]
        for label, value in values:
            about = {"name": dataset["name"], "type": dataset["type"], "config": label, **dataset}
            lines += [
                "  - task:",
                "      type: automatic-speech-recognition",
                "      name: Automatic Speech Recognition",
                "    dataset:",
                *(f"      {key}: {_yaml(text)}" for key, text in about.items()),
                "    metrics:",
                "    - type: wer",
                f"      name: {_yaml(f'WER ({label})')}",
                f"      value: {value:.2f}",
            ]
    return [*lines, "---", ""]


DATASETS = {
    "librispeech": ("LibriSpeech", "openslr/librispeech_asr"),
    "mls": ("Multilingual LibriSpeech", "facebook/multilingual_librispeech"),
    "common_voice": ("Common Voice", "common_voice"),
    "fleurs": ("FLEURS", "google/fleurs"),
    "vctk": ("VCTK", "CSTR-Edinburgh/vctk"),
    "l2_arctic": ("L2-ARCTIC", "l2_arctic"),
    "accent_archive": ("Speech Accent Archive", "speech_accent_archive"),
    "fair_speech": ("Fair-Speech", "fair_speech"),
    "casual_conversations": ("Casual Conversations", "casual_conversations"),
    "coraal": ("CORAAL", "coraal"),
    "tedlium": ("TED-LIUM", "LIUM/tedlium"),
    "ami": ("AMI", "edinburghcstr/ami"),
    "ami_far": ("AMI, far field", "edinburghcstr/ami"),
    "chime6": ("CHiME-6", "chime6"),
    "chime6_far": ("CHiME-6, far field", "chime6"),
    "ravdess": ("RAVDESS", "ravdess"),
}
"""What published corpora are called, and their id on the Hugging Face Hub (or a plain word where they have none)."""


def dataset_of(config: Mapping[str, Any]) -> dict[str, str]:
    """Return what a corpus is called and which type it is, as model cards have it: `name`, `type`; `config`, `split`.

    The type of a corpus that nobody else has is its name as one word.
    """
    corpus = config.get("corpus", {})
    own, source = str(corpus.get("name") or "corpus"), str(corpus.get("source") or "")
    if source.startswith("hf:"):
        id_, _, query = source.removeprefix("hf:").partition("?")
        asked = {key: values[0] for key, values in parse_qs(query).items() if key in ("config", "split")}
        return {"name": own, "type": id_, **asked}
    if str(corpus.get("format")) in DATASETS:
        name, type_ = DATASETS[str(corpus.get("format"))]
        alike = own.lower() in name.lower() or name.lower() in own.lower()
        return {"name": name if alike else f"{name} ({own})", "type": type_}
    return {"name": own, "type": re.sub(r"[^A-Za-z0-9._+-]+", "-", own).strip("-.") or "corpus"}


def _sensible(finding: Finding) -> str | None:
    """Return what a word error rate is of, where it belongs into the metadata: clean speech and all disturbances."""
    if finding.measure != "wer" or finding.attribute is not None or finding.group is not None:
        return None
    label = {("accuracy", CLEAN): CLEAN, ("robustness", "overall"): "mean of all disturbances"}.get(
        (finding.audit, finding.scenario or "")
    )
    return label and ", ".join(part for part in (label, finding.corpus, finding.language) if part)


def _yaml(text: str) -> str:
    """Return a double-quoted YAML string, whatever is in it; as Markdown, too, it is text alone.

    >>> print(_yaml("<img> for @all: http://x"))
    "\\x3cimg\\x3e for \\x40all\\x3a http\\x3a//x"
    """
    return '"' + "".join(map(_yaml_character, text)) + '"'


def _yaml_character(character: str) -> str:
    code = ord(character)
    if character in '"\\':
        return f"\\{character}"
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    if (
        character.isprintable() and character not in "<>[]@`&#*~|:"
    ):  # a comment shows metadata as if it were text
        return character
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
