"""Are groups of speakers alike in what was measured about them? Kruskal and Wallis's test.

`people` has one row per speaker: `@NAME` is the group of attribute NAME, `#NAME` the speaker's mean of a measure.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voxaudit.numeric import chdtrc


def balance_test(people: pl.DataFrame, measure: str, attribute: str) -> dict[str, Any]:
    """Test that the groups of an attribute are alike in a measure; groups of one speaker take no part.

    `largest_difference` is the largest between two groups' means, in standard deviations between speakers;
    `identical` where nobody differs from anybody.
    """
    known = people.select(group=pl.col(f"@{attribute}"), value=pl.col(f"#{measure}")).drop_nulls("value")
    groups = {str(group): part["value"].to_numpy() for (group,), part in known.group_by("group")}
    groups = {group: values for group, values in sorted(groups.items()) if len(values) >= 2}
    row: dict[str, Any] = {
        "measure": measure,
        "attribute": attribute,
        "groups": len(groups),
        "speakers": known.height,
        "fewest_speakers": min((len(values) for values in groups.values()), default=0),
        "identical": False,
        **dict.fromkeys(("lowest", "lowest_mean", "highest", "highest_mean")),
        **dict.fromkeys(("statistic", "p", "largest_difference")),
    }
    if len(groups) < 2:
        return row
    means = {group: float(values.mean()) for group, values in groups.items()}
    lowest, highest = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
    row |= {"lowest": lowest, "lowest_mean": means[lowest]}
    row |= {"highest": highest, "highest_mean": means[highest]}
    everything = np.concatenate(list(groups.values()))
    if np.ptp(everything) <= 1e-9 * (1.0 + np.abs(everything).max()):
        return row | {"statistic": 0.0, "p": 1.0, "largest_difference": 0.0, "identical": True}
    inner = sum(float(((values - values.mean()) ** 2).sum()) for values in groups.values())
    spread = np.sqrt(inner / (len(everything) - len(groups)))
    statistic = _kruskal_wallis(list(groups.values()))
    row |= {"statistic": statistic, "p": float(chdtrc(len(groups) - 1, statistic))}
    row["largest_difference"] = (means[highest] - means[lowest]) / spread if spread > 1e-12 else None
    return row


def _kruskal_wallis(groups: list[NDArray[np.float64]]) -> float:
    """Return Kruskal and Wallis's H with its correction for ties (`scipy.stats` takes a second to import)."""
    values = pl.Series(np.concatenate(groups))
    count, ranks = len(values), values.rank("average").to_numpy()
    sums = np.add.reduceat(ranks, np.cumsum([0, *map(len, groups[:-1])]))
    between = sum(total**2 / len(group) for total, group in zip(sums, groups, strict=True))
    tied = values.value_counts()["count"].to_numpy().astype(float)
    correction = 1.0 - float((tied**3 - tied).sum()) / (count**3 - count)
    return float(12.0 / (count * (count + 1)) * between - 3 * (count + 1)) / correction
