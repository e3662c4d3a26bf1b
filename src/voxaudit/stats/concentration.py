"""How far errors come from few places: one utterance, the worst hundredth of them, one speaker."""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

from voxaudit.tables import added

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
    own, most = pl.col(errors).fill_null(0), pl.col(errors).max()
    name = pl.col(utterance) if utterance in table.columns else pl.lit(None, pl.String)
    table = table.with_columns(name.alias("_name"))
    hundredth = pl.col(errors).fill_null(0).sort(descending=True).head((pl.len() + 99) // 100).sum()
    found = table.group_by(by, maintain_order=True).agg(
        _errors=own.sum(),
        worst_utterance=pl.col("_name").filter(pl.col(errors) == most).cast(pl.String).min(),
        worst_utterance_share=most / own.sum(),
        worst_percent_share=hundredth / own.sum(),
    )
    if speaker in table.columns:
        if sums is None:
            sums = table.group_by([*by, speaker]).agg(added(table, errors))
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
