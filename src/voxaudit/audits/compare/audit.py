"""The comparison of two runs: the same utterances before and after, speakers as the sample, slices as a family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from voxaudit.audits.compare.pairs import pair_trials
from voxaudit.audits.compare.result import Comparison, Slice, Verdict
from voxaudit.errors import VoxauditError
from voxaudit.stats.bootstrap import ratio_intervals
from voxaudit.stats.sign_flips import FloatArray, SignFlips, least_p, sign_flips

_LABELS = ("recognizer", "scenario", "attribute", "group")


def compare(
    base: pl.DataFrame,
    new: pl.DataFrame,
    *,
    attributes: Sequence[str] = (),
    recognizers: Mapping[str, str] | None = None,
    alpha: float = 0.05,
    margin: float = 0.0,
    seed: int = 0,
) -> Comparison:
    """Compare two `scores` tables on the trials they share: overall, by scenario, and by group of each attribute.

    A slice is worse or better only where the change exceeds `margin` (a fraction of the words) beyond chance: signs
    of whole speakers are flipped (see `stats.sign_flips`), and p-values hold for all slices together, so that a
    comparison in which nothing changed shows any difference with probability `alpha`, and a worse slice with half of
    it. `recognizers` maps names of the base to names of the new side where they differ.
    """
    if not 0.0 < alpha < 1.0:
        raise VoxauditError(f"alpha must lie between 0 and 1, not {alpha:g}")
    if not 0.0 <= margin < 1.0:
        raise VoxauditError(f"margin is a fraction of the words from 0 to below 1, not {margin:g}")
    attributes = tuple(dict.fromkeys(attributes))
    pairs = pair_trials(base, new, attributes=attributes, recognizers=recognizers or {})
    sums = _slice_sums(pairs.table, attributes)
    facts = sums.group_by(_LABELS, maintain_order=True).agg(
        pl.col("trials", "words", "base", "new").sum(),
        speakers=(pl.col("words") > 0).sum(),
    )
    able = [least_p(row) <= alpha for row in facts["speakers"]]
    limits = ratio_intervals(
        sums.with_columns(errors=pl.col("new") - pl.col("base")), _LABELS, confidence=0.95, seed=seed
    )
    tested = facts.filter(pl.Series(able, dtype=pl.Boolean))
    change, words = _matrices(sums, tested)
    flips = sign_flips(change, words, margin=margin, alpha=alpha, seed=seed)
    places = iter(range(tested.height))
    slices = [
        _slice(row, limit, flips, next(places) if usable else None, alpha)
        for row, limit, usable in zip(
            facts.iter_rows(named=True), limits.iter_rows(named=True), able, strict=True
        )
    ]
    order = {name: place for place, name in enumerate(pairs.recognizers)}
    return Comparison(
        slices=tuple(sorted(slices, key=lambda one: order[one.recognizer])),
        recognizers=pairs.recognizers,
        attributes=attributes,
        alpha=alpha,
        margin=margin,
        pairs=pairs.table.height,
        only_base=pairs.only_base,
        only_new=pairs.only_new,
        notes=_notes(facts, able, pairs.only_base, pairs.only_new),
    )


def _slice_sums(table: pl.DataFrame, attributes: Sequence[str]) -> pl.DataFrame:
    """Return a row per slice and speaker: the slice's labels, speaker, trials, words, base and new (errors)."""
    empty = pl.lit(None, dtype=pl.String)
    ways: list[dict[str, pl.Expr]] = [{"scenario": empty, "attribute": empty, "group": empty}]
    if table["scenario"].n_unique() > 1:
        ways.append({"scenario": pl.col("scenario"), "attribute": empty, "group": empty})
    ways += [
        {"scenario": empty, "attribute": pl.lit(name), "group": pl.col(name).cast(pl.String)}
        for name in attributes
    ]
    parts = [
        table.group_by(pl.col("recognizer"), *(way[name].alias(name) for name in _LABELS[1:]), "speaker")
        .agg(pl.len().cast(pl.Int64).alias("trials"), pl.col("words", "base", "new").cast(pl.Int64).sum())
        .sort(*_LABELS, "speaker", nulls_last=True)
        for way in ways
    ]
    return pl.concat(parts)


def _matrices(sums: pl.DataFrame, slices: pl.DataFrame) -> tuple[FloatArray, FloatArray]:
    """Return changes of error counts and words, speakers x slices."""
    people = sums.select("speaker").unique(maintain_order=True).with_row_index("row")
    cells = sums.join(people, on="speaker").join(
        slices.select(_LABELS).with_row_index("column"), on=_LABELS, nulls_equal=True
    )
    change = np.zeros((people.height, slices.height))
    words = np.zeros_like(change)
    at = (cells["row"].to_numpy(), cells["column"].to_numpy())
    change[at] = (cells["new"] - cells["base"]).to_numpy()
    words[at] = cells["words"].to_numpy()
    # Who is in no slice that can be tested would only make the flips longer.
    there = (words > 0).any(axis=1) | (change != 0).any(axis=1)
    return change[there], words[there]


def _slice(
    row: dict[str, object], limit: dict[str, object], flips: SignFlips, place: int | None, alpha: float
) -> Slice:
    words, old, late = (int(str(row[name])) for name in ("words", "base", "new"))
    verdict: Verdict = "undecided"
    p = noise = None
    if place is not None:
        p = min(1.0, 2.0 * float(min(flips.family_worse[place], flips.family_better[place])))
        noise = float(flips.band[place])
        verdict = "tie"
        if p <= alpha:
            verdict = "worse" if flips.family_worse[place] <= flips.family_better[place] else "better"
    return Slice(
        **{name: row[name] for name in _LABELS},  # type: ignore[arg-type]
        trials=int(str(row["trials"])),
        speakers=int(str(row["speakers"])),
        words=words,
        wer_base=old / words if words else None,
        wer_new=late / words if words else None,
        difference=(late - old) / words if words else None,
        low=limit["ci_low"],  # type: ignore[arg-type]
        high=limit["ci_high"],  # type: ignore[arg-type]
        noise=noise,
        p=p,
        verdict=verdict,
    )


def _notes(facts: pl.DataFrame, able: Sequence[bool], only_base: int, only_new: int) -> tuple[str, ...]:
    notes = []
    if only_base or only_new:
        notes.append(
            f"{only_base} scored trials are only in the base and {only_new} only in the new run (not heard, failed or"
            " without a reference there): they are not compared"
        )
    few = facts.filter(~pl.Series(able, dtype=pl.Boolean))
    if few.height:
        most = int(str(few["speakers"].max()))
        notes.append(
            f"{few.height} of {facts.height} slices have at most {most} speakers, too few to ever show a change"
        )
    return tuple(notes)
