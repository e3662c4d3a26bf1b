"""How far errors come from few places: one utterance, the worst hundredth of them, one speaker."""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

from voxaudit.tables import added, in_parts

LARGE = 0.2
"""An utterance that makes more than this share of the errors is named."""
FEWEST_ERRORS = 5
"""An utterance with fewer errors is never named: where few were made, somebody has to make a fifth of them."""
COLUMNS = (
    "worst_utterance",
    "worst_utterance_share",
    "worst_percent_share",
    "worst_speaker",
    "worst_speaker_share",
)


def concentration(
    table: pl.DataFrame,
    by: Sequence[str],
    *,
    errors: str = "errors",
    speaker: str = "speaker",
    utterance: str = "utterance",
    sums: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Return where the errors of every combination of `by` come from: `by` and `COLUMNS`.

    Shares are of all errors, null without any: of the utterance with most errors, of the hundredth of the utterances
    with most (rounded up), of the speaker with most. Without a column of utterances or speakers their names are null,
    and so is a speaker's share. Of several that have as many errors the first by name is named. `sums` are those of the
    errors by `by` and speaker, where somebody has them.

    >>> rows = {"of": ["all"] * 4, "utterance": list("abcd"), "speaker": list("xxyy"), "errors": [1, 6, 2, 1]}
    >>> concentration(pl.DataFrame(rows), ["of"]).row(0)
    ('all', 'b', 0.6, 0.6, 'x', 0.7)
    """
    name = pl.col(utterance).cast(pl.String) if utterance in table.columns else pl.lit(None, pl.String)
    rows = table.lazy().select(
        *by, _row=pl.int_range(pl.len()), _name=name, _made=pl.col(errors).fill_null(0)
    )
    # How often each number of errors was made says it all, in few rows.
    alike = rows.group_by(*by, "_made").agg(pl.col("_row", "_name").min(), _times=pl.len().cast(pl.Int64))
    made, times = pl.col("_made"), pl.col("_times")
    # Of the utterances with as many errors, as many as are left of the hundredth.
    taken = ((times.sum() + 99) // 100 - times.cum_sum() + times).clip(0, times)
    found = (
        in_parts(alike)
        .sort("_made", descending=True)
        .group_by(by)
        .agg(
            pl.col("_row").min(),
            _errors=(made * times).sum(),
            worst_utterance=pl.col("_name").first(),
            worst_utterance_share=made.first() / (made * times).sum(),
            worst_percent_share=(made * taken).sum() / (made * times).sum(),
        )
        .sort("_row")
    )
    if sums is None and speaker in table.columns:
        sums = table.group_by([*by, speaker]).agg(added(table, errors))
    if sums is not None:
        people = sums.filter(pl.col(speaker).is_not_null()).rename({errors: "_own"})
        top = pl.col("_own").max()
        people = people.group_by(by).agg(
            worst_speaker=pl.col(speaker).cast(pl.String).filter(pl.col("_own") == top).min(), _own=top
        )
        found = found.join(people, on=by, how="left", nulls_equal=True, maintain_order="left")
    else:
        found = found.with_columns(worst_speaker=pl.lit(None, pl.String), _own=pl.lit(None, pl.Float64))
    found = found.with_columns(worst_speaker_share=pl.col("_own") / pl.col("_errors"))
    known = pl.col("_errors") > 0
    return found.select(*by, *(pl.when(known).then(pl.col(column)).alias(column) for column in COLUMNS))


def one_makes_much(errors: float | None, share: float | None) -> bool:
    """Return whether one utterance makes so many of the errors that it has to be said."""
    return (
        errors is not None
        and share is not None
        and math.isfinite(share)
        and share > LARGE
        and share * errors >= FEWEST_ERRORS - 0.5
    )
