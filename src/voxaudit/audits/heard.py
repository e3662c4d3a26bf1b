"""Transcripts alone: what was said and what recognizers wrote, from one table or several, scored in the spoken form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from voxaudit.answer import Note
from voxaudit.audits.normalizers import language_codes, spoken, spoken_words
from voxaudit.audits.scores import Scores, Source, Transcripts, is_run
from voxaudit.errors import VoxauditError
from voxaudit.perturb import CLEAN
from voxaudit.process import give_back_memory
from voxaudit.score.pairs import Pairs
from voxaudit.score.table import count_columns
from voxaudit.stats.cells import IntArray
from voxaudit.tables import ENDINGS
from voxaudit.wording import counted

ASKED = ("failure", "seconds")
"""What a run's transcripts tell beside the text."""


def is_table(source: Source) -> bool:
    """Say whether a source is a table, or the path of one: a word such as `whisper` is none."""
    if isinstance(source, str | Path):
        return Path(source).suffix.lower() in ENDINGS and not is_run(source)
    return not isinstance(source, Scores) and not is_run(source)


def join_tables(
    sources: Sequence[Source], columns: Mapping[str, str] | None = None
) -> tuple[Transcripts, list[Note]]:
    """Return one table of what was said (the first) and what recognizers wrote (one table each, or several).

    The first has utterance, reference, speaker and what else is known of utterances; each of the others utterance and
    text, and what there is of recognizer (else the name of the file), scenario, failure, seconds or `latency_ms`, cost.
    """
    first, *others = [
        Transcripts.of(one, columns=columns, more=ASKED).require("utterance").scores() for one in sources
    ]
    said = first.frame.with_columns(pl.col("utterance").cast(pl.String))
    if "text" in said.columns:
        others.insert(0, first)
        known = [
            name
            for name in said.columns
            if name not in ("text", "recognizer", "scenario", *ASKED, "latency_ms")
        ]
        said = said.select(known).unique("utterance", keep="first", maintain_order=True)
    first.require("reference")
    twice = said.filter(pl.col("utterance").is_duplicated())
    if twice.height:
        raise VoxauditError(f"{first.where}: utterance '{twice['utterance'][0]}' occurs twice")
    parts = []
    for number, one in enumerate(others, start=1):
        frame = one.require("text").frame.with_columns(pl.col("utterance").cast(pl.String))
        if "recognizer" not in frame.columns:
            name = Path(one.where).stem if one.folder is not None else f"recognizer {number}"
            frame = frame.with_columns(recognizer=pl.lit(name))
        own = [name for name in frame.columns if name == "utterance" or name not in said.columns]
        parts.append(frame.select(own))
    long = pl.concat(parts, how="diagonal_relaxed")
    table = long.join(said, on="utterance", how="inner", maintain_order="left")
    notes = []
    if unknown := long.height - table.height:
        text = f"{counted(unknown, 'answer')} to utterances that {first.where} does not have: left out"
        notes.append(Note("unscored", text, {"rows": unknown}))
    return Transcripts(table.lazy(), tuple(table.columns), first.where, None, first.folder), notes


def score_texts(texts: Transcripts, normalizer: str | None = None) -> tuple[Scores, list[Note]]:
    """Return transcripts with their counts of words and characters, the texts compared (`said`, `heard`), and `failed`.

    An empty text is an answer without words, unless a column `failure` says otherwise: failed trials have no counts.
    An empty reference is a recording in which nobody speaks, and every word heard there an error.
    """
    read = texts.require("utterance", "recognizer", "text", "reference").scores()
    frame = read.frame
    if "scenario" not in frame.columns:
        frame = frame.with_columns(scenario=pl.lit(CLEAN))
    failed = pl.lit(False)
    if "failure" in frame.columns:
        failed = pl.col("failure").cast(pl.String).fill_null("") != ""
    elif read.run is not None:
        failed = pl.col("text").is_null()
    frame = frame.with_columns(failed=failed)
    notes = []
    if read.run is not None:
        frame = frame.drop_nulls("reference")
    elif silent := frame.filter(pl.col("reference").fill_null("").str.strip_chars() == "").height:
        text = f"{counted(silent, 'row')} with an empty reference: nobody speaks there, every word heard is an error"
        notes.append(Note("silent", text, {"rows": silent}))
    if lost := int(frame["failed"].sum()):
        notes.append(
            Note("failures", f"{counted(lost, 'answer')} failed and cannot be scored", {"rows": lost})
        )
    frame = frame.with_columns(pl.col("text", "reference").cast(pl.String).fill_null(""))
    (said, heard), rules = spoken(frame, ("reference", "text"), normalizer)
    counts = count_columns(said, heard).with_columns(
        errors=pl.sum_horizontal("substitutions", "deletions", "insertions")
    )
    counts = counts.select(pl.when(~frame["failed"]).then(pl.all()))
    kept = [name for name in frame.columns if name not in counts.columns]
    about = {"said": said, "heard": heard, "code": language_codes(frame)}
    scored = pl.concat([frame.select(kept).with_columns(**about), counts], how="horizontal")
    return replace(read, frame=scored), [rules, *notes]


def spoken_pairs(read: Scores, rows: IntArray, normalizer: str | None) -> tuple[Pairs, Note]:
    """Return the references and texts of some rows as pairs, normalized, and which rules were used.

    Audits of a whole run share one: its texts are normalized and aligned once.
    """
    found = read.run.found if read.run is not None else {}
    known = found.setdefault("pairs", {}) if found.get("trials") is read else {}
    if normalizer in known:
        pairs, rules = known[normalizer]
        return pairs.take(rows), rules
    frame = read.frame
    if "reference" not in frame.columns:
        frame = frame.with_columns(reference=pl.lit(None, pl.String))
    if read.run is None:
        frame = frame.with_columns(pl.col("text").fill_null(""))
    words, (heard, said), rules = spoken_words(frame, ("text", "reference"), normalizer)
    pairs = Pairs.between(words, said, heard)
    known[normalizer] = pairs, rules
    give_back_memory()  # pairs take a third of what it took to find them
    return pairs.take(rows), rules
