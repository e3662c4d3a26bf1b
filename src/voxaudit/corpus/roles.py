"""Natural scenarios: other corpora heard beside the clean one, each in a role (accented, far field ...)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from voxaudit.corpus.base import Corpus
from voxaudit.errors import VoxauditError, one_line
from voxaudit.registry import suggest

ROLES = {
    "accented": "speech with another accent than the clean corpus",
    "near_field": "conversation, microphone close to the mouth",
    "far_field": "conversation, microphone across the room",
    "synthetic": "text read by a synthetic voice",
}
"""What a corpus beside the clean one can stand for. `near_field_ami` is a corpus of that role with a name."""


def role_of(name: str) -> str:
    """Return the role that a corpus or scenario stands for (`far_field` of `far_field_ami`); empty without one."""
    return next((role for role in ROLES if name == role or name.startswith(f"{role}_")), "")


def check_role(name: str) -> None:
    """Raise one line unless `name` is a role, or a role and a name joined by `_`."""
    if not role_of(name):
        raise VoxauditError(
            f"corpora: '{one_line(name, 60)}' is not a role.{suggest(name, list(ROLES))} Roles: {', '.join(ROLES)},"
            " also with a name of your own (far_field_ami)"
        )


def in_roles(corpora: Mapping[str, Corpus]) -> dict[str, Corpus]:
    """Return the corpora with `role/` put before every utterance id and speaker, so that they never meet.

    A speaker of one corpus is not the speaker of the same name in another.
    """
    for name in corpora:
        check_role(name)
    return {
        name: replace(
            corpus,
            table=corpus.table.with_columns(
                pl.concat_str(pl.lit(f"{name}/"), pl.col(column)).alias(column)
                for column in ("id", "speaker")
            ),
        )
        for name, corpus in corpora.items()
    }


def join_tables(corpus: Corpus, others: Mapping[str, Corpus]) -> pl.DataFrame:
    """Return one table of all utterances: the clean corpus's columns, then the others' where they have more."""
    if not others:
        return corpus.table
    tables = [corpus.table, *(other.table for other in others.values())]
    joined = pl.concat(tables, how="diagonal_relaxed")
    if joined["id"].n_unique() < joined.height:
        twice = joined.filter(pl.col("id").is_duplicated())["id"][0]
        raise VoxauditError(f"the utterance id '{twice}' occurs in two corpora: rename it in one of them")
    return joined
