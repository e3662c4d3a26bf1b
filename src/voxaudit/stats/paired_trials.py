"""Trials that two runs share (the same utterance, scenario and recognizer), and their sums by slice and speaker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from voxaudit.errors import VoxauditError, one_line
from voxaudit.registry import suggest

KEYS = ("utterance", "scenario", "recognizer")
LABELS = ("recognizer", "scenario", "attribute", "group")
"""What names a slice; null where it is not restricted by it."""


@dataclass(frozen=True)
class PairedTrials:
    """The shared trials: KEYS, speaker, words, before, after (errors of each side), then the groups of attributes.

    `recognizers` maps each of the run before to its counterpart after; in the table they have the name after.
    """

    table: pl.DataFrame
    recognizers: dict[str, str]
    attributes: tuple[str, ...]
    only_before: int
    only_after: int


def match_recognizers(
    before: Sequence[str], after: Sequence[str], given: Mapping[str, str]
) -> dict[str, str]:
    """Return which recognizer before is compared with which after.

    `given` says it for some; the others of the same name belong together; two runs with one each are compared whatever
    the names.
    """
    if given:
        for names, there, side in ((given, before, "before"), (given.values(), after, "after")):
            for name in names:
                if name not in there:
                    raise VoxauditError(
                        f"the run {side} has no recognizer '{one_line(name, 60)}'.{suggest(name, list(there))}"
                        f" There: {', '.join(there)}",
                        see=("renamed",),
                    )
        if len(set(given.values())) < len(given):
            raise VoxauditError(
                "a recognizer after is compared with two before; compare them one by one", see=("renamed",)
            )
    same = [name for name in before if name in after and name not in (*given, *given.values())]
    if given or same:
        return {**given, **{name: name for name in same}}
    if len(before) == len(after) == 1:
        return {before[0]: after[0]}
    raise VoxauditError(
        f"no recognizer is in both runs ({', '.join(before)}; {', '.join(after)}). Say which belong together:"
        f" {before[0]}={after[0]}",
        see=("renamed",),
    )


def choose_recognizers(matched: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """Return the pairs of recognizers that are asked about, by either name."""
    known = list(dict.fromkeys(name for pair in matched.items() for name in pair))
    for name in names:
        if name not in known:
            raise VoxauditError(
                f"no recognizer '{one_line(name, 80)}' is in both runs.{suggest(name, known)} There:"
                f" {', '.join(known)}",
                see=("recognizer",),
            )
    return {old: new for old, new in matched.items() if old in names or new in names}


def pair_trials(
    before: pl.DataFrame,
    after: pl.DataFrame,
    about: pl.DataFrame,
    groups: Mapping[str, pl.Series],
    recognizers: dict[str, str],
) -> PairedTrials:
    """Return the trials that two tables (KEYS, words, errors) share.

    `about` has KEYS and `speaker` of the trials after, `groups` the group of each of its rows by attribute.
    """
    left = (
        before.filter(pl.col("recognizer").is_in(list(recognizers)))
        .with_columns(pl.col("recognizer").replace(recognizers))
        .rename({"errors": "before", "words": "words_before"})
    )
    right = after.filter(pl.col("recognizer").is_in(list(recognizers.values()))).rename({"errors": "after"})
    about = about.with_columns(own.alias(_group(number)) for number, own in enumerate(groups.values()))
    shared = right.join(about, on=KEYS, how="left", maintain_order="left").join(
        left, on=KEYS, how="inner", maintain_order="left"
    )
    if shared.is_empty():
        raise VoxauditError(
            "the two runs share no trial: no utterance was heard in the same scenario in both"
        )
    apart = shared.filter(pl.col("words") != pl.col("words_before"))
    if apart.height:
        raise VoxauditError(
            f"{apart.height} of {shared.height} shared trials count other reference words in the two runs (such as"
            f" utterance '{one_line(str(apart['utterance'][0]), 60)}'): score both with the same references and"
            " normalizer"
        )
    if shared["speaker"].null_count():
        raise VoxauditError(
            "a comparison needs to know who speaks: give every utterance a speaker (differences between"
            " utterances of one person say little about another)"
        )
    alone = left.height - shared.height, right.height - shared.height
    return PairedTrials(shared.drop("words_before"), recognizers, tuple(groups), *alone)


def _group(number: int) -> str:
    """Return the column of an attribute's groups: a user's own names could be those of our columns."""
    return f"group_{number}"


def sum_slices(pairs: PairedTrials) -> pl.DataFrame:
    """Return a row per slice and speaker: LABELS, speaker, trials, words, before, after (errors), change."""
    ways: list[dict[str, Any]] = [{}]
    if pairs.table["scenario"].n_unique() > 1:
        ways.append({"scenario": pl.col("scenario")})
    for number, name in enumerate(pairs.attributes):
        ways.append({"attribute": pl.lit(name), "group": pl.col(_group(number))})
    every = {"recognizer": pl.col("recognizer"), **dict.fromkeys(LABELS[1:], pl.lit(None, dtype=pl.String))}
    parts = [
        pairs.table.group_by(**{**every, **way}, speaker="speaker")
        .agg(pl.len().cast(pl.Int64).alias("trials"), pl.col("words", "before", "after").sum())
        .sort(*LABELS, "speaker", nulls_last=True)
        for way in ways
    ]
    return pl.concat(parts).with_columns(change=pl.col("after") - pl.col("before"))
