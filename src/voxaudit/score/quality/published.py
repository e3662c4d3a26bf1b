"""The difficulties that Speech Robust Bench published, under our scenario ids."""

from __future__ import annotations

from importlib import resources

import polars as pl

from voxaudit.errors import VoxauditError

LANGUAGES = ("en", "es")


def published_difficulties(language: str = "en") -> pl.DataFrame:
    """Return Table 3 of Shah et al. (Speech Robust Bench, 2025).

    `language` chooses between the paper's two accented and synthetic sets (`en`, `es`); everything else is the
    paper's average over its corpora. Attacks have none: they are reported as plain WERD. The PESQ column has mean
    62.5, not the 50 of the text, so these are about 6 points higher than `difficulties` would give.
    Columns: scenario, difficulty, dnsmos_normalized, pesq_normalized.
    """
    if language not in LANGUAGES:
        raise VoxauditError(f"published difficulties are for {' and '.join(LANGUAGES)}, not '{language}'")
    text = resources.files(__package__).joinpath("srb_table3.csv").read_bytes()
    table = pl.read_csv(text, schema_overrides={"pesq_normalized": pl.Float64})
    chosen = table.filter(pl.col("language").is_null() | (pl.col("language") == language))
    return chosen.drop("language")
