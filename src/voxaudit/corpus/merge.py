"""Several corpora as one: a run hears one clean corpus, whose utterances may come from many."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from voxaudit.corpus.base import COLUMNS, Corpus

CORPUS = "corpus"
"""The attribute that says where an utterance comes from; audits filter by it."""


def merge_corpora(corpora: Sequence[Corpus]) -> Corpus:
    """Return one corpus of all utterances, with the attribute `corpus` that names where each comes from.

    The corpus's name stands before every id and speaker, so that they never meet: a speaker of one corpus is not the
    speaker of the same name in another. An attribute that a corpus lacks has no value there; one that was called
    `corpus` already becomes `source_corpus`.
    """
    names = _names(corpora)
    tables = [_own(corpus.table, name) for corpus, name in zip(corpora, names, strict=True)]
    table = pl.concat(tables, how="diagonal_relaxed")
    attributes = [name for name in table.columns if name not in (*COLUMNS, CORPUS)]
    problems = tuple(
        replace(problem, message=f"{name}: {problem.message}")
        for corpus, name in zip(corpora, names, strict=True)
        for problem in corpus.problems
    )
    return Corpus(
        "+".join(names),
        "merged",
        table.select(*COLUMNS, CORPUS, *attributes),
        problems,
        sum(corpus.skipped for corpus in corpora),
    )


def _own(table: pl.DataFrame, name: str) -> pl.DataFrame:
    if CORPUS in table.columns:
        table = table.rename({CORPUS: f"source_{CORPUS}"})
    return table.with_columns(
        *(pl.concat_str(pl.lit(f"{name}/"), pl.col(column)).alias(column) for column in ("id", "speaker")),
        pl.lit(name).alias(CORPUS),
    )


def _names(corpora: Sequence[Corpus]) -> list[str]:
    """Return a name for each, fit for a file name; of corpora that are called alike, the second gets a `-2`."""
    names: list[str] = []
    for corpus in corpora:
        plain = re.sub(r"[^\w.-]+", "_", corpus.name).strip("._-")[:40] or CORPUS
        name, number = plain, 1
        while name in names:
            number += 1
            name = f"{plain}-{number}"
        names.append(name)
    return names
