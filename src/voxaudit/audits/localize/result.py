"""What the localiser found, as tables and as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from voxaudit.audits.localize.drops import mean_over


@dataclass(frozen=True)
class Localization:
    """Words that get lost, by recognizer, group and perturbation.

    `words`: one row a word with its counts, drop and (from transcripts) losses and tests. `averages`: one row for each
    recognizer, group and perturbation. `phonemes`: the losses of the words that contain each, or None.
    `examples`: utterances in which a non-robust word was lost, to listen to. `settings`: of each perturbation.
    `left_out`: utterances not counted for a recognizer and perturbation because one of its scenarios has no
    answer. `notes`: what a reader should know, such as why there are no tests.
    """

    words: pl.DataFrame
    averages: pl.DataFrame
    phonemes: pl.DataFrame | None
    examples: pl.DataFrame | None
    settings: Mapping[str, Mapping[str, tuple[str, ...]]]
    left_out: tuple[Mapping[str, Any], ...]
    notes: tuple[str, ...]
    omega: float
    fdr: float
    normalizer: str | None

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data: what `--json` prints."""
        words = self._with_settings(self.words)
        examples: list[dict[str, Any]] = [] if self.examples is None else self.examples.to_dicts()
        return {
            "omega": self.omega,
            "fdr": self.fdr,
            "normalizer": self.normalizer,
            "words": words,
            "average_drop": {
                "by_group": dict(mean_over(self.averages, "group").iter_rows()),
                "by_recognizer": _nested(mean_over(self.averages, "recognizer", "group")),
                "by_perturbation": _nested(mean_over(self.averages, "perturbation", "group")),
                "cells": self.averages.to_dicts(),
            },
            "phonemes": None if self.phonemes is None else self.phonemes.to_dicts(),
            "examples": examples,
            "left_out": [dict(row) for row in self.left_out],
            "notes": list(self.notes),
        }

    def _with_settings(self, words: pl.DataFrame) -> list[dict[str, Any]]:
        rows = words.to_dicts()
        for row in rows:
            settings = self.settings[row["recognizer"]][row["perturbation"]]
            row["counts"] = dict(zip(settings, row["counts"], strict=True))
        return rows


def _nested(table: pl.DataFrame) -> dict[str, dict[str, float]]:
    nested: dict[str, dict[str, float]] = {}
    for outer, group, value in table.iter_rows():
        nested.setdefault(outer, {})[group] = value
    return nested
