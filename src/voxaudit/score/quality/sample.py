"""Which utterances are measured first: a fixed order, spread over the speakers."""

from __future__ import annotations

import hashlib

import polars as pl


def sampling_order(table: pl.DataFrame, seed: int = 0) -> pl.DataFrame:
    """Return a corpus table in the order of measuring: one utterance of every speaker, then a second one, and so on.

    The order depends on the seed and the ids alone, so that a larger sample contains every smaller one.
    """

    def draw(id_: str) -> str:
        return hashlib.sha256(f"{seed}\0{id_}".encode("utf-8", "surrogatepass")).hexdigest()

    drawn = table.with_columns(_draw=table["id"].map_elements(draw, return_dtype=pl.String))
    ranked = drawn.with_columns(_rank=pl.col("_draw").rank("ordinal").over("speaker"))
    return ranked.sort("_rank", "_draw").drop("_rank", "_draw")
