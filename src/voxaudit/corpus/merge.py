"""Several corpora as one: a run hears one table of utterances, each of which names its corpus and language."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from voxaudit.corpus.base import COLUMNS, Corpus

CORPUS, LANGUAGE = "corpus", "language"
"""The attributes that say where an utterance comes from and what is spoken; audits filter by them."""


def labeled(corpus: Corpus, language: str | None = None, *, rename: bool = False) -> Corpus:
    """Return a corpus whose utterances name it, and its language where that is given.

    A column `corpus` of its own stays as it is, or is called `source_corpus` with `rename`: where several corpora meet.
    """
    table = corpus.table
    if CORPUS in table.columns and rename:
        table = table.rename({CORPUS: f"source_{CORPUS}"})
    if CORPUS not in table.columns:
        table = table.with_columns(pl.lit(corpus.name).alias(CORPUS))
    if language is not None:
        table = table.with_columns(pl.lit(language).alias(LANGUAGE))
    return replace(corpus, table=table)


def merge_corpora(corpora: Sequence[Corpus]) -> Corpus:
    """Return one corpus of all utterances of corpora that are `labeled` and have names of their own.

    The corpus's name stands before every id and speaker, so that they never meet: a speaker of one corpus is not the
    speaker of the same name in another. An attribute that a corpus lacks has no value there. One corpus stays as it is.
    """
    if len(corpora) == 1:
        return corpora[0]
    tables = [
        corpus.table.with_columns(
            pl.concat_str(pl.lit(f"{corpus.name}/"), pl.col(column)).alias(column)
            for column in ("id", "speaker")
        )
        for corpus in corpora
    ]
    table = pl.concat(tables, how="diagonal_relaxed")
    labels = [name for name in (CORPUS, LANGUAGE) if name in table.columns]
    attributes = [name for name in table.columns if name not in (*COLUMNS, *labels)]
    return Corpus(
        "+".join(corpus.name for corpus in corpora),
        "merged",
        table.select(*COLUMNS, *labels, *attributes),
        tuple(
            replace(problem, message=f"{corpus.name}: {problem.message}")
            for corpus in corpora
            for problem in corpus.problems
        ),
        sum(corpus.skipped for corpus in corpora),
        source="; ".join(corpus.source for corpus in corpora),
    )


def names_of(corpora: Sequence[Corpus]) -> list[str]:
    """Return a plain name for each; of corpora that are called alike, the second gets a `-2`."""
    names: list[str] = []
    for corpus in corpora:
        plain = re.sub(r"[^\w.-]+", "_", corpus.name).strip("._-")[:40] or CORPUS
        name, number = plain, 1
        while name in names:
            number += 1
            name = f"{plain}-{number}"
        names.append(name)
    return names
