"""Conditional parity: groups that differ in one attribute while all others are held fixed (Eq. 6).

Within every combination of the other attributes (a stratum), speakers of a group are compared with the rest. The
differences are put together in two ways: weighted by what each stratum can tell, with a test whose sample is the
speakers; and as the paper does, by a one-sample t-test of the strata's relative errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from voxaudit.audits.parity.judge import FloatArray, adjust, floats, one_hypothesis, power_columns, verdict
from voxaudit.audits.parity.options import Refusal, Settings
from voxaudit.audits.parity.univariate import gap_of
from voxaudit.stats.speaker_means import combine, rest_of, variance
from voxaudit.stats.stratified import stratified_differences
from voxaudit.stats.ttests import one_sample, t_test, welch

STRATUM = "stratum"


@dataclass(frozen=True)
class Conditional:
    """Every group against the rest with all else fixed; the strata behind it; the gaps; what was refused."""

    groups: pl.DataFrame
    strata: pl.DataFrame
    gaps: pl.DataFrame
    held: dict[str, tuple[str, ...]]
    """The attributes that were held fixed for each attribute."""
    refusals: tuple[Refusal, ...]


def conditional(
    cells: pl.DataFrame,
    order: dict[str, tuple[str, ...]],
    totals: pl.DataFrame,
    gaps: dict[str, float],
    settings: Settings,
) -> Conditional:
    """Compare groups within strata.

    `cells` has recognizer, all attributes, and speakers, mean and m2 of each combination; `totals` the speakers of
    every group (recognizer, attribute, group, speakers).
    """
    parts: list[pl.DataFrame] = []
    refusals: list[Refusal] = []
    held: dict[str, tuple[str, ...]] = {}
    for name in order:
        others = [other for other in order if other != name]
        deciding = [other for other in others if determines(cells, other, name)]
        held[name] = tuple(other for other in others if other not in deciding)
        refusals += [
            Refusal(
                f"'{name}' with '{other}' held fixed",
                f"every group of '{other}' belongs to one group of '{name}': no two speakers differ in '{name}' alone,"
                " and the two effects cannot be told apart here",
                f"speakers of one '{other}' on both sides of '{name}'",
            )
            for other in deciding
        ]
        if others and not held[name]:
            continue
        strata = _strata(cells, name, held[name])
        if strata.height:
            parts.append(strata)
        elif held[name]:
            refusals.append(
                Refusal(
                    f"'{name}' with all other attributes held fixed",
                    f"no combination of {', '.join(held[name])} has speakers of two groups of '{name}'",
                    "more speakers, coarser groups (--merge-below), or fewer attributes",
                )
            )
    if not parts:
        return Conditional(pl.DataFrame(), pl.DataFrame(), pl.DataFrame(), held, tuple(refusals))
    strata = _stratum_tests(pl.concat(parts), settings)
    groups = _aggregate(strata, order, totals, gaps, settings)
    untested = groups.filter(pl.col("p").is_null()).select("attribute", "group").unique(maintain_order=True)
    refusals += [
        Refusal(
            f"'{name}' = '{group}' against the rest with all else fixed",
            "a single speaker decides it, or nobody differs: there is no spread to test with",
            "more speakers or coarser groups (--merge-below)",
        )
        for name, group in untested.iter_rows()
    ]
    return Conditional(groups, strata, _gaps(strata, groups, settings), held, tuple(refusals))


def determines(cells: pl.DataFrame, other: str, name: str) -> bool:
    """Whether every group of `other` occurs with one group of `name` only."""
    kinds = cells.select(other, name).unique().group_by(other).agg(pl.len().alias("speakers"))
    return bool((kinds["speakers"] == 1).all())


def _strata(cells: pl.DataFrame, name: str, held: Sequence[str]) -> pl.DataFrame:
    """Return one row a stratum and group: the group's speakers and the rest's, where both have some."""
    within = ["recognizer", *held]
    groups = combine(cells, [*within, name])
    rest = rest_of(groups, within)
    label = (
        pl.concat_str([pl.lit(f"{other}=") + pl.col(other) for other in held], separator=", ")
        if held
        else pl.lit("all speakers")
    )
    table = groups.select(
        "recognizer",
        pl.lit(name).alias("attribute"),
        pl.col(name).alias("group"),
        label.alias(STRATUM),
        pl.col("speakers").cast(pl.Int64),
        "mean",
        "m2",
    ).with_columns(
        rest_speakers=pl.Series(rest.n).cast(pl.Int64),
        rest_mean=pl.Series(rest.mean),
        rest_m2=pl.Series(rest.m2),
        overall=pl.Series(rest.overall),
    )
    return table.filter(pl.col("rest_speakers") > 0)


def _stratum_tests(table: pl.DataFrame, settings: Settings) -> pl.DataFrame:
    n, mean, m2, rest_n, rest_mean, rest_m2, overall = (
        _numbers(table, name)
        for name in ("speakers", "mean", "m2", "rest_speakers", "rest_mean", "rest_m2", "overall")
    )
    test = welch(
        n, mean, variance(n, m2), rest_n, rest_mean, variance(rest_n, rest_m2), confidence=settings.confidence
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = 100.0 * (mean - overall) / overall
    return table.with_columns(
        err_rel=floats(relative),
        difference=floats(test.estimate),
        difference_low=floats(test.low),
        difference_high=floats(test.high),
        p=floats(test.p),
        p_adjusted=floats(
            adjust(
                test.p,
                settings,
                table["recognizer"],
                one_hypothesis(table, ["recognizer", "attribute", STRATUM]),
            )
        ),
    )


def _aggregate(
    strata: pl.DataFrame,
    order: dict[str, tuple[str, ...]],
    totals: pl.DataFrame,
    gaps: dict[str, float],
    settings: Settings,
) -> pl.DataFrame:
    keys = ["recognizer", "attribute", "group"]
    n, rest = pl.col("speakers"), pl.col("rest_speakers")
    table = (
        strata.group_by(keys, maintain_order=True)
        .agg(
            strata=pl.len().cast(pl.Int64),
            used=n.sum(),
            rest_used=rest.sum(),
            err_rel=pl.col("err_rel").mean(),
            err_rel_var=pl.col("err_rel").var(),
            err_rel_n=pl.col("err_rel").count(),
            m2=(pl.col("m2") + pl.col("rest_m2")).sum(),
            m2_df=(n - 1 + rest - 1).sum(),
        )
        .join(
            totals.select(*keys, pl.col("speakers").cast(pl.Int64)),
            on=keys,
            how="left",
            maintain_order="left",
        )
    )
    table = table.with_columns(_differences(strata, table.select(keys)))
    place = {name: {group: i for i, group in enumerate(groups)} for name, groups in order.items()}
    table = (
        table.with_columns(
            place=pl.Series([place[a][b] for a, b in table.select("attribute", "group").iter_rows()])
        )
        .with_columns(turn=pl.Series([list(order).index(name) for name in table["attribute"]]))
        .sort("turn", "recognizer", "place", maintain_order=True)
    )
    effective, rest_effective = _numbers(table, "effective"), _numbers(table, "rest_effective")
    with np.errstate(divide="ignore", invalid="ignore"):
        sigma = np.sqrt(_numbers(table, "m2") / _numbers(table, "m2_df"))
    test = t_test(
        _numbers(table, "difference"),
        _numbers(table, "variance"),
        _numbers(table, "df"),
        confidence=settings.confidence,
    )
    paper = one_sample(
        _numbers(table, "err_rel_n"), _numbers(table, "err_rel"), _numbers(table, "err_rel_var"), 0.0
    )
    gap = gap_of(table["recognizer"], gaps)
    p = test.p
    same = one_hypothesis(table, ["recognizer", "attribute"])
    # What the weighted strata are worth: as many speakers a side as this would tell as much in one simple comparison.
    result = table.select(
        *keys,
        "speakers",
        pl.col("used").alias("speakers_used"),
        pl.col("rest_used").alias("rest_speakers"),
        "strata",
    ).with_columns(
        effective_speakers=floats(effective),
        err_rel=table["err_rel"],
        difference=table["difference"],
        difference_low=floats(test.low),
        difference_high=floats(test.high),
        t=floats(test.t),
        df=floats(test.df),
        p=floats(p),
        p_adjusted=floats(adjust(p, settings, table["recognizer"], same)),
        strata_t=floats(paper.t),
        strata_p=floats(paper.p),
        strata_p_adjusted=floats(adjust(paper.p, settings, table["recognizer"])),
        **power_columns(effective, rest_effective, sigma, gap, settings),
    )
    return result.with_columns(verdict(result, settings, gap))


def _differences(strata: pl.DataFrame, comparisons: pl.DataFrame) -> list[pl.Series]:
    """Return estimate, variance, degrees of freedom and effective speakers of each comparison, in their order."""
    codes = strata.join(
        comparisons.with_row_index("comparison"), on=comparisons.columns, how="left", maintain_order="left"
    )["comparison"]
    names = ("speakers", "mean", "m2", "rest_speakers", "rest_mean", "rest_m2")
    n, mean, m2, rest_n, rest_mean, rest_m2 = (_numbers(strata, name) for name in names)
    found = stratified_differences(codes.cast(pl.Int64).to_numpy(), n, mean, m2, rest_n, rest_mean, rest_m2)
    return [
        pl.Series("difference", found.estimate),
        floats(found.variance).alias("variance"),
        floats(found.df).alias("df"),
        pl.Series("effective", found.speakers),
        pl.Series("rest_effective", found.others),
    ]


def _gaps(strata: pl.DataFrame, groups: pl.DataFrame, settings: Settings) -> pl.DataFrame:
    """Return the mean over strata of Eq. 5, and whether any group differs from the rest.

    A gap is never negative, so a test that its mean is above 0 (as the paper suggests) would call pure noise unfair.
    `p` is instead the smallest p of the attribute's groups, corrected for how many there are.
    """
    keys = ["recognizer", "attribute"]
    spread = (
        strata.group_by(*keys, STRATUM, maintain_order=True)
        .agg(gap=pl.col("err_rel").max() - pl.col("err_rel").min(), groups=pl.len())
        .filter(pl.col("groups") >= 2)
        .group_by(keys, maintain_order=True)
        .agg(gap=pl.col("gap").mean(), strata=pl.len())
    )
    tests = groups.group_by(keys, maintain_order=True).agg("p", kinds=pl.len())
    smallest = []
    for p, kinds in tests.select("p", "kinds").iter_rows():
        known = np.array([value if value is not None else np.nan for value in p])
        adjusted = adjust(known, settings, None, ["one"] * kinds if kinds == 2 else None)
        smallest.append(float(np.nanmin(adjusted)) if np.isfinite(adjusted).any() else np.nan)
    tests = tests.select(keys).with_columns(p=floats(np.array(smallest)))
    found = spread.join(tests, on=keys, how="left", maintain_order="left")
    return found.with_columns(p_adjusted=floats(adjust(_numbers(found, "p"), settings, found["recognizer"])))


def _numbers(table: pl.DataFrame, name: str) -> FloatArray:
    return table[name].cast(pl.Float64).fill_null(float("nan")).to_numpy().astype(np.float64)
