"""The trials that two runs share (the same utterance, scenario and recognizer), and their sums by slice and speaker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from voxaudit.answer import Note, Refusal, RefusedError
from voxaudit.audits.scores import Names, Scores
from voxaudit.errors import VoxauditError, one_line
from voxaudit.registry import suggest
from voxaudit.run.folder import Run, require_whole
from voxaudit.stats.sign_flips import FloatArray

KEYS = ("utterance", "scenario", "recognizer")
LABELS = ("recognizer", "scenario", "attribute", "group")
"""What names a slice; null where it is not restricted by it."""


@dataclass(frozen=True)
class Pairs:
    """The shared trials: KEYS, speaker, words, before, after (errors of each side), then the attributes.

    `recognizers` maps each of the run before to its counterpart after; in the table they have the name after.
    """

    table: pl.DataFrame
    recognizers: dict[str, str]
    attributes: tuple[str, ...]
    refusals: tuple[Refusal, ...]
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


def pair_trials(
    before: Scores,
    after: Scores,
    *,
    attributes: Sequence[str] = (),
    renamed: Mapping[str, str] | None = None,
    recognizer: Names = None,
) -> Pairs:
    """Return the trials that both sides have scored; attributes and speakers are those after.

    An attribute whose groups cannot be compared is refused, and the rest is answered.
    """
    sides = []
    for scores in (before, after):
        scores.require(*KEYS, "speaker", "words")
        side = scores.frame.select(
            pl.col(KEYS).cast(pl.String), words=pl.lit(scores.counts("words")), errors=pl.lit(scores.errors())
        )
        side = side.filter(pl.col("words").is_not_nan() & pl.col("errors").is_not_nan())
        if side.is_empty():
            raise VoxauditError(
                f"{scores.where}: no scored trial: the corpus needs reference texts, or every trial failed"
            )
        if twice := side.filter(pl.struct(KEYS).is_duplicated()).head(1).to_dicts():
            raise VoxauditError(
                f"{scores.where}: utterance '{one_line(str(twice[0]['utterance']), 60)}' is there twice for one"
                f" recognizer in scenario '{one_line(str(twice[0]['scenario']), 60)}'"
            )
        sides.append(side.with_columns(pl.col("words", "errors").cast(pl.Int64)))
    matched = match_recognizers(before.recognizers, after.recognizers, renamed or {})
    if recognizer is not None:
        matched = _chosen(matched, [recognizer] if isinstance(recognizer, str) else recognizer)
    fit, refusals = [], []
    columns = {name: after.column(name) for name in dict.fromkeys(attributes)}
    for name in columns:
        try:
            after.comparable(name)
            fit.append(name)
        except RefusedError as error:
            refusals.append(error.refusal)
    about = after.frame.select(
        pl.col(KEYS).cast(pl.String),
        pl.col("speaker").cast(pl.String),
        *(pl.col(columns[name]).cast(pl.String).alias(_group(number)) for number, name in enumerate(fit)),
    )
    left = (
        sides[0]
        .filter(pl.col("recognizer").is_in(list(matched)))
        .with_columns(pl.col("recognizer").replace(matched))
        .rename({"errors": "before", "words": "words_before"})
    )
    right = sides[1].filter(pl.col("recognizer").is_in(list(matched.values()))).rename({"errors": "after"})
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
    return Pairs(
        shared.drop("words_before"),
        matched,
        tuple(fit),
        tuple(refusals),
        left.height - shared.height,
        right.height - shared.height,
    )


def _chosen(matched: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
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


def _group(number: int) -> str:
    """Return the column of an attribute's groups: a user's own names could be those of our columns."""
    return f"group_{number}"


def slice_sums(pairs: Pairs) -> pl.DataFrame:
    """Return a row per slice and speaker: LABELS, speaker, trials, words, before, after (errors)."""
    table, empty = pairs.table, pl.lit(None, dtype=pl.String)
    ways: list[dict[str, pl.Expr]] = [{"scenario": empty, "attribute": empty, "group": empty}]
    if table["scenario"].n_unique() > 1:
        ways.append({"scenario": pl.col("scenario"), "attribute": empty, "group": empty})
    ways += [
        {"scenario": empty, "attribute": pl.lit(name), "group": pl.col(_group(number))}
        for number, name in enumerate(pairs.attributes)
    ]
    parts = [
        table.group_by(pl.col("recognizer"), *(way[name].alias(name) for name in LABELS[1:]), "speaker")
        .agg(pl.len().cast(pl.Int64).alias("trials"), pl.col("words", "before", "after").sum())
        .sort(*LABELS, "speaker", nulls_last=True)
        for way in ways
    ]
    return pl.concat(parts)


def slice_matrices(sums: pl.DataFrame, slices: pl.DataFrame) -> tuple[FloatArray, FloatArray]:
    """Return changes of error counts and words, speakers x slices."""
    people = sums.select("speaker").unique(maintain_order=True).with_row_index("row")
    cells = sums.join(people, on="speaker").join(
        slices.select(LABELS).with_row_index("column"), on=LABELS, nulls_equal=True
    )
    change = np.zeros((people.height, slices.height))
    words = np.zeros_like(change)
    at = (cells["row"].to_numpy(), cells["column"].to_numpy())
    change[at] = (cells["after"] - cells["before"]).to_numpy()
    words[at] = cells["words"].to_numpy()
    # Who is in no slice that can be tested would only make the flips longer.
    there = (words > 0).any(axis=1) | (change != 0).any(axis=1)
    return change[there], words[there]


def require_same_scoring(before: Scores, after: Scores) -> None:
    """Raise one line where two runs were scored by different normalizers."""
    if before.run is None or after.run is None:
        return
    old, new = (scores.run.config.get("normalizer") for scores in (before, after) if scores.run)
    if old != new:
        raise VoxauditError(
            f"{before.where} was scored with the normalizer {old} and {after.where} with {new}: score both the same way"
        )


def differences_of_runs(before: Run | None, after: Run | None, recognizers: Mapping[str, str]) -> list[Note]:
    """Return what else differs between two runs and may move the rates; nothing where one is only a table."""
    if before is None or after is None:
        return []
    for run in (before, after):
        require_whole(run.folder, run.config)
    notes = []
    if before.config["seed"] != after.config["seed"]:
        notes.append(Note("other_seed", "the runs have different seeds: their random noise differs too"))
    if before.config.get("sources") != after.config.get("sources"):
        notes.append(
            Note(
                "other_sources",
                "the runs took noise or rooms from different sources: scenarios of one name differ",
            )
        )
    for old, new in recognizers.items():
        failed = [
            run.failures.filter(pl.col("recognizer") == name).height
            for run, name in ((before, old), (after, new))
        ]
        if any(failed):
            facts = {"recognizer": new, "before": failed[0], "after": failed[1]}
            notes.append(
                Note("failures", f"{new}: {failed[0]} trials failed before and {failed[1]} after", facts)
            )
        settings = [run.config["recognizers"].get(name, {}) for run, name in ((before, old), (after, new))]
        if settings[0].get("fingerprint") == settings[1].get("fingerprint"):
            notes.append(
                Note(
                    "same_recognizer",
                    f"{new} is the same recognizer with the same settings in both runs",
                    {"recognizer": new},
                )
            )
    return notes
