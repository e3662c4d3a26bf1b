"""How comprehensible disturbed speech is to people: mean ratings by perturbation and setting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

import polars as pl

from voxaudit.audits.inputs import with_own_names
from voxaudit.errors import VoxauditError
from voxaudit.perturb.scenario_id import read_setting
from voxaudit.tables import read_table, require_columns


@dataclass(frozen=True)
class Ratings:
    """Mean ratings, 1 (nothing understood) to 10; perturbations in lower case."""

    means: Mapping[tuple[str, float | str | None], float]

    def of(self, perturbation: str, setting: float | str | None) -> float | None:
        """Return the mean rating of a scenario, or None where nobody rated it."""
        return self.means.get((perturbation.lower(), setting))


def read_ratings(path: str | Path) -> Ratings:
    """Read ratings from a table with the columns perturbation, setting, rating; several of one cell are averaged."""
    table = with_own_names(read_table(path))
    require_columns(table, ("perturbation", "setting", "rating"), path)
    rating = table["rating"].cast(pl.Float64, strict=False)
    bad = (rating.is_null() | rating.is_nan()).arg_true()
    if len(bad):
        raise VoxauditError(
            f"{path}, row {bad[0] + 1}, column rating: '{table['rating'][bad[0]]}' is not a number"
        )
    cells: dict[tuple[str, float | str | None], list[float]] = {}
    for perturbation, setting, value in zip(table["perturbation"], table["setting"], rating, strict=True):
        cells.setdefault((str(perturbation).strip().lower(), read_setting(setting)), []).append(value)
    return Ratings({cell: sum(values) / len(values) for cell, values in cells.items()})


def published_ratings() -> Ratings:
    """Return the mean ratings of the 197 participants of Rajan et al. (2022), Table 10, and of Amp 2.0."""
    with as_file(files(__package__).joinpath("ratings.csv")) as path:
        return read_ratings(path)
