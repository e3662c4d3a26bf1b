"""What is said as control attributes: sentence embeddings of the reference text (Liu et al. 2022, section 2.2).

A gap that goes away when the text is held fixed came from what is said. One that stays is not explained by the text as
measured here; that does not make it one of acoustics.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from voxaudit.audits.disparity.frames import Numeric
from voxaudit.errors import VoxauditError
from voxaudit.score.meaning import Encoder, minilm
from voxaudit.stats.cells import FloatArray
from voxaudit.tables import require_columns

SPEAKERS_PER_COMPONENT = 5
"""One principal component for so many speakers: more could describe the speakers one by one."""
MOST_COMPONENTS = 50
ENOUGH_VARIANCE = 0.9


def embedding_controls(
    table: pl.DataFrame,
    text: str,
    speaker: str | None,
    *,
    where: str = "table",
    encode: Encoder | None = None,
) -> tuple[list[Numeric], str]:
    """Return principal components of the embeddings of a text column as controls and what was done in words.

    Components are in units of their standard deviation over the utterances. `encode` turns texts into vectors; the
    default is MiniLM (all-MiniLM-L6-v2). Rows without text get no value and are left out of the fit.
    """
    require_columns(table, [text, *([speaker] if speaker else [])], where)
    texts = table[text].cast(pl.String).str.strip_chars()
    distinct = [one for one in texts.unique(maintain_order=True).to_list() if one]
    if len(distinct) < 3:
        raise VoxauditError(
            f"{where}: column '{text}' has {len(distinct)} different texts, too few to hold fixed"
        )
    units = table[speaker].n_unique() if speaker else len(distinct)
    most = min(MOST_COMPONENTS, units // SPEAKERS_PER_COMPONENT, len(distinct) - 1)
    if most < 1:
        raise VoxauditError(
            f"{where}: {units} speakers are too few to hold fixed what they say; at least"
            f" {SPEAKERS_PER_COMPONENT} are needed for one component of the text"
        )
    vectors = (encode or minilm())(distinct)
    index = {one: row for row, one in enumerate(distinct)}
    rows = np.array([index.get(one, -1) if one is not None else -1 for one in texts.to_list()])
    components, share = principal_components(
        vectors, np.bincount(rows[rows >= 0], minlength=len(distinct)), most
    )
    scores = np.vstack([components, np.full(components.shape[1], np.nan)])[rows]
    names = [f"text{number + 1:02d}" for number in range(components.shape[1])]
    whom = f"the {units:,} speakers" if speaker else f"{units:,} texts"
    said = (
        f"text of column '{text}' held fixed: {vectors.shape[1]}-dimensional sentence embeddings of"
        f" {len(distinct):,} texts, reduced to {len(names)} principal components ({100 * share:.0f} % of their"
        f" variance), at most one for {SPEAKERS_PER_COMPONENT} of {whom}"
    )
    return [Numeric(name, scores[:, number]) for number, name in enumerate(names)], said


def principal_components(vectors: FloatArray, counts: np.ndarray, most: int) -> tuple[FloatArray, float]:
    """Return standardized principal components, one row per vector, and the share of variance they hold.

    `counts` says how often each vector occurs. At most `most` components are kept, and no more than hold 90 % of
    the variance. Signs are fixed: the largest loading of each is positive.
    """
    weight = counts / counts.sum()
    centered = vectors - weight @ vectors
    values, axes = np.linalg.eigh((centered * weight[:, None]).T @ centered)
    values, axes = np.maximum(values[::-1], 0.0), axes[:, ::-1]
    share = np.cumsum(values) / values.sum()
    kept = min(most, int(np.searchsorted(share, ENOUGH_VARIANCE)) + 1)
    axes = axes[:, :kept]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(kept)])
    scores = centered @ axes
    return scores / np.sqrt(weight @ scores**2), float(share[kept - 1])
