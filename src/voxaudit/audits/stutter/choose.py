"""Which utterances of a corpus are made to stutter, where not all of them are: many speakers, every group."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest

import polars as pl

from voxaudit.corpus import Corpus


def choose_utterances(corpus: Corpus, count: int, *, attributes: Sequence[str] = (), seed: int = 0) -> Corpus:
    """Return at most `count` utterances, the same for the same seed, whatever the order of the corpus.

    Groups of the `attributes` take turns, within a group its speakers, so that the speakers, who are the sample, are
    as many as can be. Utterances with a reference text come first: the others can only be aligned with a guess.
    """
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
    return hashlib.sha256(f"{seed}\0stutter\0{name}".encode("utf-8", "surrogatepass")).digest()
