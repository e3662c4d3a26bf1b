"""Audits that hear by themselves: which recordings they hear, and where what they found is kept."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import polars as pl

from voxaudit.answer import Answer, Note, command_line, with_command
from voxaudit.audits.scores import Scores, is_run
from voxaudit.corpus import Corpus, read_corpus
from voxaudit.errors import VoxauditError
from voxaudit.registry import suggest
from voxaudit.run.folder import Run


def finished(source: Any, name: str, *files: str) -> Path | None:
    """Return the folder in which a finished audit is kept; None where the source is a corpus to hear.

    The source is that folder itself (it then holds one of `files`), or a run, its folder or its scores: then it is the
    folder called `name` in the run's, whether it exists or not.
    """
    if isinstance(source, Scores):
        return (source.folder or Path()) / name
    if isinstance(source, Run):
        return source.folder / name
    if not isinstance(source, str | Path):
        return None
    path = Path(source)
    if any((path / file).is_file() for file in files):
        return path
    return path / name if is_run(path) else None


def as_written(answer: Answer, folder: Path, files: str) -> Answer:
    """Return an answer with the command that reads it again from the folder it was written to, and what is there."""
    beside = folder.name == answer.audit and is_run(folder.absolute().parent)
    command = command_line(answer.audit, ["RUN" if beside else folder.name], {})
    note = Note("written", f"written to {folder}: {files}", {"folder": str(folder)})
    return replace(with_command(answer, command), notes=(*answer.notes, note))


def corpus_to_hear(
    source: Any,
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    skip_bad_rows: bool = False,
) -> Corpus:
    """Return the corpus that a source is, or that lies at its path."""
    if isinstance(source, Corpus):
        return source
    if isinstance(source, str | Path):
        return read_corpus(source, format=format, columns=columns, skip_bad_rows=skip_bad_rows)
    raise VoxauditError(f"a corpus is heard, or the path of one, not {type(source).__name__}")


def choose_utterances(corpus: Corpus, count: int, *, attributes: Sequence[str] = (), seed: int = 0) -> Corpus:
    """Return at most `count` utterances, the same for the same seed, whatever the order of the corpus.

    Groups of the `attributes` take turns, within a group its speakers, so that the speakers, who are the sample, are
    as many as can be. Utterances with a reference text come first: the others can only be aligned with a guess.
    """
    if count < 1:
        raise VoxauditError(f"the number of utterances must be at least 1, not {count}", see=("utterances",))
    for name in attributes:
        if name not in corpus.attributes:
            raise VoxauditError(
                f"{corpus.source or corpus.name}: no attribute '{name}'.{suggest(name, corpus.attributes)} Attributes"
                f" there: {', '.join(corpus.attributes) or 'none'}",
                see=("attributes",),
            )
    table = corpus.table
    if table.height <= count:
        return corpus
    keys = table.select("id", "speaker", "text", *attributes)
    groups: dict[tuple[str, ...], dict[str, list[str]]] = {}
    told = keys.with_columns(told=pl.col("text").fill_null("").str.strip_chars() != "")
    ranked = sorted(
        ((not row["told"], _rank(seed, row["id"]), row) for row in told.iter_rows(named=True)),
        key=lambda one: one[:2],
    )
    for _, _, row in ranked:
        group = tuple(str(row[name]) for name in attributes)
        # An unknown speaker is taken for a person of their own.
        speaker = row["id"] if row["speaker"] is None else f"={row['speaker']}"
        groups.setdefault(group, {}).setdefault(speaker, []).append(row["id"])
    lines = [
        _in_turn(list(groups[group].values()))
        for group in sorted(groups, key=lambda group: _rank(seed, repr(group)))
    ]
    chosen = _in_turn(lines)[:count]
    return replace(corpus, table=table.filter(pl.col("id").is_in(chosen)))


def _in_turn(lines: Sequence[Sequence[str]]) -> list[str]:
    """Return the first of every line, then the second of every line, and so on."""
    return [id_ for turn in zip_longest(*lines) for id_ in turn if id_ is not None]


def _rank(seed: int, name: str) -> bytes:
    # The word in the middle is what it was first drawn for; another one would draw other utterances.
    return hashlib.sha256(f"{seed}\0stutter\0{name}".encode("utf-8", "surrogatepass")).digest()
