"""Are the groups alike in what they said and how they were recorded? Distributions, and a test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from voxaudit.audits.parity.judge import adjust, floats
from voxaudit.audits.parity.options import NAMES, Caution, Settings
from voxaudit.wording import p_value


@dataclass(frozen=True)
class Balance:
    """Quantiles of every measure by group, a test for each measure and attribute, and the cautions that follow."""

    distributions: pl.DataFrame
    tests: pl.DataFrame
    cautions: tuple[Caution, ...]


def balance(people: pl.DataFrame, order: dict[str, tuple[str, ...]], settings: Settings) -> Balance:
    """Compare the speakers' means of each measure between the groups of each attribute.

    `people` has one row a speaker: groups, and a column for every measure that is known. The test is Kruskal and
    Wallis's, on speakers; `largest_difference` is the largest between two groups' means, in standard deviations
    between speakers.
    """
    measures = [name for name in NAMES if name in people.columns and people[name].count() > 0]
    distributions = [
        _distribution(people, measure, name, groups) for measure in measures for name, groups in order.items()
    ]
    tests = pl.DataFrame(
        [_test(people, measure, name) for measure in measures for name in order], infer_schema_length=None
    )
    if not tests.height:
        return Balance(pl.DataFrame(), pl.DataFrame(), ())
    p = tests["p"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
    tests = tests.with_columns(p_adjusted=floats(adjust(p, settings)))
    tests = tests.with_columns(balanced=~(pl.col("p_adjusted") < settings.alpha).fill_null(False))
    cautions = [
        Caution(
            row["attribute"],
            f"{NAMES[row['measure']]} differs between groups of '{row['attribute']}': {row['lowest']} lowest"
            f" ({row['lowest_mean']:.3g}), {row['highest']} highest ({row['highest_mean']:.3g}), adjusted"
            f" {p_value(row['p_adjusted'])}; a difference in word error rate may come from that",
        )
        for row in tests.filter(~pl.col("balanced")).iter_rows(named=True)
    ]
    return Balance(pl.concat(distributions), tests, tuple(cautions))


def _distribution(people: pl.DataFrame, measure: str, name: str, groups: tuple[str, ...]) -> pl.DataFrame:
    value = pl.col(measure)
    place = pl.DataFrame({name: groups, "place": range(len(groups))}, schema_overrides={name: pl.String})
    return (
        people.filter(value.is_not_null())
        .group_by(name)
        .agg(
            speakers=pl.len().cast(pl.Int64),
            mean=value.mean(),
            sd=value.std(),
            **{f"q{share}": value.quantile(share / 100, "linear") for share in (5, 25, 50, 75, 95)},
        )
        .join(place, on=name)
        .sort("place")
        .drop("place")
        .select(
            pl.lit(measure).alias("measure"),
            pl.lit(name).alias("attribute"),
            pl.col(name).alias("group"),
            pl.exclude(name),
        )
    )


def _test(people: pl.DataFrame, measure: str, name: str) -> dict[str, object]:
    from scipy.stats import kruskal

    known = people.filter(pl.col(measure).is_not_null()).select(name, measure)
    groups = {
        str(group): part[measure].to_numpy() for (group,), part in known.group_by(name, maintain_order=True)
    }
    groups = {group: values for group, values in sorted(groups.items()) if len(values) >= 2}
    row: dict[str, object] = {
        "measure": measure,
        "attribute": name,
        "groups": len(groups),
        "speakers": known.height,
    }
    row |= dict.fromkeys(("statistic", "p", "largest_difference"), None)
    row |= {"lowest": None, "lowest_mean": None, "highest": None, "highest_mean": None}
    row["identical"] = False
    row["fewest_speakers"] = min((len(values) for values in groups.values()), default=0)
    if len(groups) < 2:
        return row
    means = {group: float(values.mean()) for group, values in groups.items()}
    lowest, highest = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
    row |= {"lowest": lowest, "lowest_mean": means[lowest]}
    row |= {"highest": highest, "highest_mean": means[highest]}
    inner = sum(float(((values - values.mean()) ** 2).sum()) for values in groups.values())
    spread = np.sqrt(inner / (sum(map(len, groups.values())) - len(groups)))
    everything = np.concatenate(list(groups.values()))
    if np.ptp(everything) <= 1e-9 * (1.0 + np.abs(everything).max()):
        return row | {"statistic": 0.0, "p": 1.0, "largest_difference": 0.0, "identical": True}
    test = kruskal(*groups.values())
    row |= {"statistic": float(test.statistic), "p": float(test.pvalue)}
    row["largest_difference"] = (means[highest] - means[lowest]) / spread if spread > 1e-12 else None
    return row
