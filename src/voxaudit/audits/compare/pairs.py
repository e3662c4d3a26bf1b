"""Which trials two runs share: the same utterance, scenario and recognizer on both sides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from voxaudit.errors import VoxauditError, one_line
from voxaudit.registry import suggest
from voxaudit.tables import require_columns

KEYS = ("utterance", "scenario", "recognizer")
_COUNTS = ("substitutions", "deletions", "insertions", "words")


@dataclass(frozen=True)
class Pairs:
    """The shared trials: KEYS, speaker, words, base, new (errors of each side), then the attributes."""

    table: pl.DataFrame
    recognizers: dict[str, str]
    only_base: int
    only_new: int


def match_recognizers(base: Sequence[str], new: Sequence[str], given: Mapping[str, str]) -> dict[str, str]:
    """Return which recognizer of the base is compared with which of the new side.

    Those of the same name belong together; two runs with one each are compared whatever the names; else `given` says.
    """
    if given:
        for names, there, side in ((given, base, "base"), (given.values(), new, "new")):
            for name in names:
                if name not in there:
                    raise VoxauditError(
                        f"the {side} run has no recognizer '{one_line(name, 60)}'.{suggest(name, list(there))}"
                        f" There: {', '.join(there)}"
                    )
        return dict(given)
    if same := [name for name in base if name in new]:
        return {name: name for name in same}
    if len(base) == len(new) == 1:
        return {base[0]: new[0]}
    raise VoxauditError(
        f"no recognizer is in both runs ({', '.join(base)}; {', '.join(new)}). Say which belong together:"
        f" --recognizers {base[0]}={new[0]}"
    )


def pair_trials(
    base: pl.DataFrame, new: pl.DataFrame, *, attributes: Sequence[str], recognizers: Mapping[str, str]
) -> Pairs:
    """Return the trials that both sides have scored; attributes and speakers are the new side's."""
    for table, side in ((base, "base"), (new, "new")):
        require_columns(table, [*KEYS, "speaker", *_COUNTS], f"the {side} scores")
        if table.is_empty():
            raise VoxauditError(
                f"the {side} run has no scored trial: its corpus needs reference texts, or every trial failed"
            )
    require_columns(new, attributes, "the new scores")
    matched = match_recognizers(_names(base), _names(new), recognizers)
    back = {theirs: mine for mine, theirs in matched.items()}
    if len(back) < len(matched):
        raise VoxauditError(
            "a recognizer of the new run is compared with two of the base; compare them one by one"
        )
    left = _side(base.filter(pl.col("recognizer").cast(pl.String).is_in(list(matched))), ["words"], "base")
    right = _side(
        new.filter(pl.col("recognizer").cast(pl.String).is_in(list(back))).with_columns(
            pl.col("recognizer").cast(pl.String).replace(back)
        ),
        ["speaker", "words", *attributes],
        "new",
    )
    shared = right.join(left, on=KEYS, how="inner", suffix="_base", maintain_order="left")
    if shared.is_empty():
        raise VoxauditError(
            "the two runs share no trial: no utterance was heard in the same scenario in both"
        )
    apart = shared.filter(pl.col("words") != pl.col("words_base"))
    if apart.height:
        example = apart["utterance"][0]
        raise VoxauditError(
            f"{apart.height} of {shared.height} shared trials count other reference words in the two runs (such as"
            f" utterance '{one_line(str(example), 60)}'): score both with the same references and normalizer"
        )
    table = shared.drop("words_base")
    if table["speaker"].null_count():
        raise VoxauditError(
            "a comparison needs to know who speaks: give every utterance a speaker (differences between"
            " utterances of one person say little about another)"
        )
    return Pairs(table, matched, left.height - shared.height, right.height - shared.height)


def _names(table: pl.DataFrame) -> list[str]:
    return [str(name) for name in table["recognizer"].unique(maintain_order=True).drop_nulls()]


def _side(table: pl.DataFrame, columns: Sequence[str], name: str) -> pl.DataFrame:
    errors = pl.sum_horizontal("substitutions", "deletions", "insertions").cast(pl.Int64).alias(name)
    side = table.select(pl.col(KEYS).cast(pl.String), *columns, errors)
    twice = side.filter(pl.struct(KEYS).is_duplicated())
    if twice.height:
        row = twice.row(0, named=True)
        raise VoxauditError(
            f"the {name} scores have utterance '{one_line(str(row['utterance']), 60)}' in scenario"
            f" '{one_line(str(row['scenario']), 60)}' twice for one recognizer"
        )
    return side
