"""Mean word error rates of groups of speakers compared (Herron et al., Eq. 2 to 6).

Each group with everybody else, two by two, the best with the worst, within strata of alike speakers, and crossed.
Tables in, tables out: one row per recognizer, attribute and group, p-values corrected over a table, and beside each
test what Eq. 1 says about the number of speakers. The column of an attribute is `@NAME`, so that no name can hide one
of ours. What a row allows to conclude is not decided here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voxaudit.errors import VoxauditError
from voxaudit.stats.multiplicity import benjamini_hochberg, holm
from voxaudit.stats.power import smallest_gap, speakers_needed, whole_speakers
from voxaudit.stats.speaker_means import MEAN, combine, pooled_sigma, rest_of, summarize_groups, variance
from voxaudit.stats.ttests import TTest, one_sample, relative_interval, steadied, t_test, welch

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_FULL_LEVERAGE = 1e-9


@dataclass(frozen=True)
class Differences:
    """One entry a comparison; `variance` and `df` are nan where a single speaker decides."""

    estimate: FloatArray
    variance: FloatArray
    df: FloatArray
    speakers: FloatArray
    """How many speakers of the group one simple comparison would need to tell as much, and of the others."""
    others: FloatArray


def stratified_differences(
    comparison: IntArray,
    n: FloatArray,
    mean: FloatArray,
    m2: FloatArray,
    other_n: FloatArray,
    other_mean: FloatArray,
    other_m2: FloatArray,
) -> Differences:
    """Put strata together; `comparison` says which comparison (0, 1, ...) each stratum belongs to.

    A stratum has `n` speakers of the group with mean `mean` and sum of squares about it `m2`, and others likewise; both
    sides have at least one speaker.
    """
    size = int(comparison.max()) + 1

    def total(values: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(comparison, values, size), dtype=np.float64)

    people = n + other_n
    weight = n * other_n / people
    whole = total(weight)
    gap = mean - other_mean
    estimate = total(weight * gap) / whole
    z, other_z = other_n / people, -n / people  # the group's indicator less its mean in the stratum
    off = gap - estimate[comparison]
    free, other_free = (1.0 - 1.0 / people - side**2 / whole[comparison] for side in (z, other_z))
    decided = total(((free < _FULL_LEVERAGE) | (other_free < _FULL_LEVERAGE)).astype(np.float64)) > 0
    free, other_free = np.maximum(free, _FULL_LEVERAGE), np.maximum(other_free, _FULL_LEVERAGE)
    squares = z**2 * (m2 + n * (z * off) ** 2) / free
    other_squares = other_z**2 * (other_m2 + other_n * (other_z * off) ** 2) / other_free
    variance = total(squares + other_squares) / whole**2
    # Bell and McCaffrey: 2 (expected variance)^2 / (its variance), if speakers varied alike everywhere.
    q, other_q = z**2 / free, other_z**2 / other_free
    own = n * q**2 * (2.0 * free - 1.0) + other_n * other_q**2 * (2.0 * other_free - 1.0)
    same_stratum = (n * q + other_n * other_q) ** 2 / people**2
    crossed = 2.0 * (n * q * z + other_n * other_q * other_z) ** 2 / people / whole[comparison]
    everywhere = (total(n * q * z**2 + other_n * other_q * other_z**2) / whole) ** 2
    df = whole**2 / (total(own + same_stratum + crossed) + everywhere)
    return Differences(
        estimate=estimate,
        variance=np.where(decided, np.nan, variance),
        df=np.where(decided, np.nan, df),
        speakers=whole**2 / total(weight**2 / n),
        others=whole**2 / total(weight**2 / other_n),
    )


Order = Mapping[str, Sequence[str]]
"""Attributes and their groups, in the order they are shown."""
Gaps = Mapping[str, float]
"""The gap that each recognizer is asked about: a difference of word error rates."""

KEYS = ("recognizer", "attribute")
MEANS = ("wer", "wer_utterance_mean", "wer_pooled")
"""Three ways of averaging: over speakers, over utterances, over words."""
MOST_PAIRED = 100
"""Groups of one attribute that are compared pair by pair."""
FEWEST_CROSSED = 5
"""Crossed groups of fewer speakers are not tested: two alike by chance would seem sure."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How groups are tested: the level of intervals, the power that counts as enough, the correction of a table."""

    confidence: float = 0.95
    power: float = 0.8
    correction: Literal["holm", "bh"] = "holm"

    def __post_init__(self) -> None:
        for name, value in (("confidence", self.confidence), ("power", self.power)):
            if not 0.0 < value < 1.0:
                raise VoxauditError(f"{name} must lie between 0 and 1, not {value:g}", see=(name,))
        if self.correction not in ("holm", "bh"):
            raise VoxauditError(
                f"the correction is 'holm' or 'bh', not '{self.correction}'", see=("correction",)
            )

    @property
    def alpha(self) -> float:
        """The level of all tests."""
        return 1.0 - self.confidence

    def adjust(
        self, p: FloatArray, recognizers: pl.Series | None = None, same: Sequence[object] | None = None
    ) -> FloatArray:
        """Return the p-values of one table corrected together; nan stays nan.

        The mean of the recognizers repeats what its parts say: its rows are a family of their own, and those of the
        single recognizers are another. Rows with equal `same` test one hypothesis (the two sides of an attribute with
        two groups) and count once.
        """
        keys = list(range(len(p))) if same is None else list(same)
        mean = np.zeros(len(p), dtype=bool) if recognizers is None else (recognizers == MEAN).to_numpy()
        correct = holm if self.correction == "holm" else benjamini_hochberg
        adjusted = np.full(len(p), np.nan)
        for family in (np.flatnonzero(mean), np.flatnonzero(~mean)):
            first = {keys[row]: row for row in reversed(family)}
            values = correct([None if np.isnan(p[row]) else float(p[row]) for row in first.values()])
            by_key = {
                key: np.nan if value is None else value for key, value in zip(first, values, strict=True)
            }
            adjusted[family] = [by_key[keys[row]] for row in family]
        return adjusted

    def enough(
        self, n: FloatArray, rest: FloatArray, sigma: FloatArray, gap: FloatArray
    ) -> dict[str, pl.Series]:
        """Return what Eq. 1 says about groups of `n` speakers against `rest`.

        Columns: sigma; speakers_needed (each side, for `gap`); enough_speakers (both sides reach it); more_needed (in
        this group); smallest_gap (that these speakers would show).
        """
        needed: list[int | None] = []
        smallest: list[float | None] = []
        level: dict[str, Any] = {"confidence": self.confidence, "power": self.power}
        known = np.isfinite(sigma) & (gap > 0)
        for size, others, spread, wanted, usable in zip(n, rest, sigma, gap, known, strict=True):
            needed.append(whole_speakers(speakers_needed(wanted, spread, **level)) if usable else None)
            smallest.append(smallest_gap(size, others, spread, **level) if usable and others > 0 else None)
        wanted_speakers = np.array([np.inf if number is None else number for number in needed])
        more = [
            None if number is None else max(0, number - int(size))
            for number, size in zip(needed, n, strict=True)
        ]
        return {
            "sigma": floats(sigma),
            "enough_speakers": pl.Series((n >= wanted_speakers) & (rest >= wanted_speakers)),
            "speakers_needed": pl.Series(needed, dtype=pl.Int64),
            "more_needed": pl.Series(more, dtype=pl.Int64),
            "smallest_gap": pl.Series(smallest, dtype=pl.Float64),
        }


def floats(values: FloatArray) -> pl.Series:
    """Return a column of numbers; what is not finite is null."""
    return pl.Series(np.where(np.isfinite(values), values, np.nan), dtype=pl.Float64).fill_nan(None)


def numbers(table: pl.DataFrame, *names: str) -> list[FloatArray]:
    """Return columns as arrays, nan where there is none."""
    return [
        table[name].cast(pl.Float64).fill_null(float("nan")).to_numpy().astype(np.float64) for name in names
    ]


def gap_of(recognizers: pl.Series, gaps: Gaps) -> FloatArray:
    """Return the gap asked about, one entry per row."""
    return recognizers.replace_strict(list(gaps), list(gaps.values()), return_dtype=pl.Float64).to_numpy()


def crossed_label(attributes: Sequence[str]) -> pl.Expr:
    """Return how a combination of groups is called: `gender=f, age=18-29`."""
    return pl.concat_str([pl.lit(f"{name}=") + pl.col(f"@{name}") for name in attributes], separator=", ")


def determines(cells: pl.DataFrame, other: str, name: str) -> bool:
    """Say whether every group of `other` occurs with one group of `name` only."""
    kinds = cells.select(f"@{other}", f"@{name}").unique().group_by(f"@{other}").agg(pl.len().alias("kinds"))
    return bool((kinds["kinds"] == 1).all())


def _tested(test: TTest, only: NDArray[np.bool_] | None = None) -> dict[str, pl.Series]:
    """Return the columns of a test: estimate, low, high, t, df, p; all but the estimate where `only` allows."""
    keep = True if only is None else only
    columns = {"low": test.low, "high": test.high, "t": test.t, "df": test.df, "p": test.p}
    return {
        "estimate": floats(test.estimate),
        **{name: floats(np.where(keep, values, np.nan)) for name, values in columns.items()},
    }


def _relative(mean: FloatArray, overall: FloatArray) -> FloatArray:
    """Return Eq. 4, in percent of the overall mean."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(100.0 * (mean - overall) / overall, dtype=np.float64)


def _sigma(rows: pl.DataFrame, groups: pl.DataFrame) -> FloatArray:
    """Return the spread between speakers within the groups of each row's attribute."""
    return numbers(
        rows.join(pooled_sigma(groups, KEYS), on=KEYS, how="left", maintain_order="left"), "sigma"
    )[0]


def _one_hypothesis(table: pl.DataFrame, keys: Sequence[str]) -> list[object]:
    """Return labels for `adjust`: groups of an attribute with just two share one, all other rows have their own."""
    counts = table.select(pl.len().over(keys).alias("rows"), pl.struct(keys).hash().alias("key"))
    return [
        ("pair", key) if rows == 2 else ("row", row) for row, (rows, key) in enumerate(counts.iter_rows())
    ]


# One attribute at a time


def compare_with_rest(speakers: pl.DataFrame, order: Order, gaps: Gaps, plan: Plan) -> pl.DataFrame:
    """Compare every group of every attribute with all other speakers (Eq. 2 to 4)."""
    groups = _summaries(speakers, order)
    n, mean, m2 = numbers(groups, "speakers", "mean", "m2")
    rest = rest_of(groups, KEYS)
    own, others = variance(n, m2), variance(rest.n, rest.m2)
    # Two groups are one comparison, whichever side it is looked at from.
    several = groups.select(pl.len().over(KEYS) > 2).to_series().to_numpy()
    used = np.where(several, steadied(n, own, rest.n, others), own)
    level = plan.confidence
    test = welch(n, mean, used, rest.n, rest.mean, others, confidence=level)
    # The paper's test: the group's speakers against the overall mean as if that were known exactly.
    paper = one_sample(n, mean, own, rest.overall, confidence=level)
    around = one_sample(n, mean, own, 0.0, confidence=level)
    low, high = relative_interval(n, mean, used, rest.n, rest.mean, others, confidence=level)
    return groups.select(*KEYS, "group", "speakers", "utterances", "words").with_columns(
        speakers_against=pl.Series(rest.n).cast(pl.Int64),
        wer=floats(mean),  # Eq. 3
        wer_low=floats(np.maximum(around.low, 0.0)),
        wer_high=floats(around.high),
        wer_utterance_mean=groups["wer_utterance_mean"],
        wer_pooled=groups["wer_pooled"],
        sd=floats(np.sqrt(own)),
        err_rel=floats(_relative(mean, rest.overall)),
        err_rel_low=floats(low),
        err_rel_high=floats(high),
        **_tested(test),
        p_adjusted=floats(plan.adjust(test.p, groups["recognizer"], _one_hypothesis(groups, KEYS))),
        one_sample_t=floats(paper.t),
        one_sample_df=floats(paper.df),
        one_sample_p=floats(paper.p),
        one_sample_p_adjusted=floats(plan.adjust(paper.p, groups["recognizer"])),
        **plan.enough(n, rest.n, _sigma(groups, groups), gap_of(groups["recognizer"], gaps)),
    )


def _summaries(speakers: pl.DataFrame, order: Order) -> pl.DataFrame:
    """Return one row per recognizer, attribute and group: speakers, mean and m2, and the other two averages."""
    parts = []
    for name, groups in order.items():
        by = ["recognizer", f"@{name}"]
        counts = speakers.group_by(by).agg(
            utterances=pl.col("utterances").sum(),
            words=pl.col("words").sum(),
            wer_utterance_mean=pl.col("rate_sum").sum() / pl.col("utterances").sum(),  # Eq. 2
            wer_pooled=pl.col("errors").sum() / pl.col("words").sum(),
        )
        rank = pl.DataFrame({by[1]: groups, "rank": range(len(groups))}, schema_overrides={by[1]: pl.String})
        table = summarize_groups(speakers, by).join(counts, on=by).join(rank, on=by[1])
        parts.append(
            table.sort("recognizer", "rank").select(
                "recognizer",
                pl.lit(name).alias("attribute"),
                pl.col(by[1]).alias("group"),
                pl.col("speakers").cast(pl.Int64),
                "mean",
                "m2",
                pl.col("utterances", "words").round().cast(pl.Int64),
                "wer_utterance_mean",
                "wer_pooled",
            )
        )
    return pl.concat(parts)


def compare_pairs(speakers: pl.DataFrame, order: Order, gaps: Gaps, plan: Plan) -> pl.DataFrame:
    """Compare every two groups of an attribute; groups with one speaker are in no pair.

    Of an attribute with more than `MOST_PAIRED` groups, those with the most speakers are paired.
    """
    groups = _summaries(speakers, order)
    pairs: list[tuple[int, int]] = []
    rows = groups.with_row_index("row").filter(pl.col("speakers") >= 2)
    for _, part in rows.group_by(KEYS, maintain_order=True):
        largest = part.sort("speakers", descending=True, maintain_order=True).head(MOST_PAIRED)
        pairs += combinations(largest["row"].sort().to_list(), 2)
    a, b = (groups[[pair[side] for pair in pairs]] for side in (0, 1))
    sides = [
        (n, mean, variance(n, m2))
        for n, mean, m2 in (numbers(side, "speakers", "mean", "m2") for side in (a, b))
    ]
    test = welch(*sides[0], *sides[1], confidence=plan.confidence)
    table = a.select(*KEYS, "group").with_columns(
        against=b["group"],
        speakers=a["speakers"],
        speakers_against=b["speakers"],
        wer=a["mean"],
        wer_against=b["mean"],
        **_tested(test),
        p_adjusted=floats(plan.adjust(test.p, a["recognizer"])),
        **plan.enough(sides[0][0], sides[1][0], _sigma(a, groups), gap_of(a["recognizer"], gaps)),
    )
    # A pair lacks what its smaller side lacks.
    more = (pl.col("speakers_needed") - pl.min_horizontal("speakers", "speakers_against")).clip(lower_bound=0)
    return table.with_columns(more.alias("more_needed"))


def compare_best_and_worst(groups: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    """Return the gap of each attribute (Eq. 5), under three ways of averaging. Groups of one speaker take no part.

    `groups` is the table of `compare_with_rest`. `gap` is Eq. 5, in percent of the overall mean; `estimate` the same in
    word error rate. `group` (the worst) and `against` (the best) were looked for among `pairs` pairs, so `p` is the
    pair's Welch p times that number (Bonferroni), and the interval is as much wider. `choice_matters`: utterance means
    or pooled rates name others.
    """
    usable = groups.filter(pl.col("speakers") >= 2)
    rows = usable.group_by(KEYS, maintain_order=True).agg(
        groups=pl.len(),
        pairs=pl.len() * (pl.len() - 1) // 2,
        gap=pl.col("err_rel").max() - pl.col("err_rel").min(),
        **{f"best_{name}": pl.col("group").sort_by(name, maintain_order=True).first() for name in MEANS},
        **{f"worst_{name}": pl.col("group").sort_by(name, maintain_order=True).last() for name in MEANS},
        **{f"gap_{name}": pl.col(name).max() - pl.col(name).min() for name in MEANS},
    )
    first, *others = MEANS
    differ = [
        pl.col(f"{end}_{first}") != pl.col(f"{end}_{name}") for end in ("best", "worst") for name in others
    ]
    table = (
        groups.select(KEYS)
        .unique(maintain_order=True)
        .join(rows, on=KEYS, how="left", maintain_order="left")
        .with_columns(pl.col("groups", "pairs").fill_null(0), choice_matters=pl.any_horizontal(*differ))
        .rename({f"best_{first}": "against", f"worst_{first}": "group"})
    )
    # A gap has two groups; with a single usable one there is none.
    empty = ("against", "group", "gap", "choice_matters", *(f"gap_{name}" for name in MEANS))
    table = table.with_columns(
        pl.when(pl.col("groups") >= 2).then(pl.col(name)).alias(name) for name in empty
    )
    worst, best = (
        table.select(*KEYS, pl.col(end).alias("group")).join(
            usable, on=[*KEYS, "group"], how="left", maintain_order="left"
        )
        for end in ("group", "against")
    )
    sides = [
        (n, mean, sd**2) for n, mean, sd in (numbers(side, "speakers", "wer", "sd") for side in (worst, best))
    ]
    picked = np.maximum(numbers(table, "pairs")[0], 1.0)
    test = welch(*sides[0], *sides[1], confidence=1.0 - plan.alpha / picked)
    raised = np.minimum(test.p * picked, 1.0)
    enough = [side["enough_speakers"].fill_null(False) for side in (worst, best)]
    return table.select(*KEYS, "group", "against", "groups", "pairs", "gap").with_columns(
        speakers=worst["speakers"],
        speakers_against=best["speakers"],
        enough_speakers=enough[0] & enough[1],
        estimate=table["gap_wer"],
        low=floats(np.maximum(test.low, 0.0)),
        high=floats(test.high),
        gap_utterance_mean=table["gap_wer_utterance_mean"],
        gap_pooled=table["gap_wer_pooled"],
        choice_matters=table["choice_matters"],
        t=floats(test.t),
        df=floats(test.df),
        p_pair=floats(test.p),
        p=floats(raised),
        p_adjusted=floats(plan.adjust(raised, table["recognizer"])),
    )


# With all other attributes held fixed

_SIDES = ("speakers", "wer", "m2", "speakers_against", "wer_against", "m2_against")


def strata_of(cells: pl.DataFrame, name: str, held: Sequence[str]) -> pl.DataFrame:
    """Return one row per stratum (combination of `held`) and group of `name`: its speakers and the rest's.

    `cells` has recognizer, all attributes, and speakers, mean and m2 of each combination. Strata where one side has
    nobody are left out.
    """
    within = ["recognizer", *(f"@{other}" for other in held)]
    groups = combine(cells, [*within, f"@{name}"])
    rest = rest_of(groups, within)
    return (
        groups.select(
            "recognizer",
            pl.lit(name).alias("attribute"),
            pl.col(f"@{name}").alias("group"),
            crossed_label(held).alias("stratum"),
            pl.col("speakers").cast(pl.Int64),
            pl.col("mean").alias("wer"),
            "m2",
        )
        .with_columns(
            speakers_against=pl.Series(rest.n).cast(pl.Int64),
            wer_against=pl.Series(rest.mean),
            m2_against=pl.Series(rest.m2),
            overall=pl.Series(rest.overall),
        )
        .filter(pl.col("speakers_against") > 0)
    )


def compare_strata(table: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    """Add to strata (see `strata_of`) the difference of each group to the rest within its stratum."""
    n, mean, m2, rest_n, rest_mean, rest_m2 = numbers(table, *_SIDES)
    sides = n, mean, variance(n, m2), rest_n, rest_mean, variance(rest_n, rest_m2)
    test = welch(*sides, confidence=plan.confidence)
    same = _one_hypothesis(table, [*KEYS, "stratum"])
    columns = _tested(test)
    return table.with_columns(
        err_rel=floats(_relative(mean, numbers(table, "overall")[0])),
        **{name: columns[name] for name in ("estimate", "low", "high", "p")},
        p_adjusted=floats(plan.adjust(test.p, table["recognizer"], same)),
    )


def compare_within_strata(
    strata: pl.DataFrame, order: Order, groups: pl.DataFrame, gaps: Gaps, plan: Plan
) -> pl.DataFrame:
    """Compare each group with the rest over all strata (Eq. 6).

    The differences are put together in two ways: weighted by what each stratum can tell, with a test whose sample is
    the speakers; and as the paper does, by a one-sample t-test of the strata's relative errors.
    """
    keys = [*KEYS, "group"]
    n, rest = pl.col("speakers"), pl.col("speakers_against")
    table = (
        strata.group_by(keys, maintain_order=True)
        .agg(
            strata=pl.len().cast(pl.Int64),
            speakers_used=n.sum(),
            speakers_against=rest.sum(),
            err_rel=pl.col("err_rel").mean(),
            err_rel_var=pl.col("err_rel").var(),
            err_rel_n=pl.col("err_rel").count(),
            m2=(pl.col("m2") + pl.col("m2_against")).sum(),
            m2_df=(n - 1 + rest - 1).sum(),
        )
        .join(groups.select(*keys, "speakers"), on=keys, how="left", maintain_order="left")
        .with_row_index("comparison")
    )
    codes = strata.join(table.select(*keys, "comparison"), on=keys, how="left", maintain_order="left")
    result = stratified_differences(codes["comparison"].cast(pl.Int64).to_numpy(), *numbers(strata, *_SIDES))
    columns = ("estimate", "variance", "df", "effective", "effective_against")
    values = (result.estimate, result.variance, result.df, result.speakers, result.others)
    rank = {(name, group): (a, b) for a, name in enumerate(order) for b, group in enumerate(order[name])}
    ranks = [rank[row] for row in table.select("attribute", "group").iter_rows()]
    table = table.with_columns(
        *(floats(one).alias(name) for name, one in zip(columns, values, strict=True)),
        turn=pl.Series([a for a, _ in ranks]),
        rank=pl.Series([b for _, b in ranks]),
    ).sort("turn", "recognizer", "rank", maintain_order=True)
    estimate, spread, df, effective, effective_against = numbers(table, *columns)
    test = t_test(estimate, spread, df, confidence=plan.confidence)
    count, relative, relative_variance = numbers(table, "err_rel_n", "err_rel", "err_rel_var")
    paper = one_sample(count, relative, relative_variance, 0.0)
    m2, m2_df = numbers(table, "m2", "m2_df")
    with np.errstate(divide="ignore", invalid="ignore"):
        sigma = np.sqrt(m2 / m2_df)
    return table.select(
        *keys, "speakers", "speakers_used", "speakers_against", "strata", "err_rel"
    ).with_columns(
        # As many speakers per side would tell as much in one simple comparison as the weighted strata do.
        effective_speakers=floats(effective),
        **_tested(test),
        p_adjusted=floats(plan.adjust(test.p, table["recognizer"], _one_hypothesis(table, KEYS))),
        strata_t=floats(paper.t),
        strata_p=floats(paper.p),
        strata_p_adjusted=floats(plan.adjust(paper.p, table["recognizer"])),
        **plan.enough(effective, effective_against, sigma, gap_of(table["recognizer"], gaps)),
    )


def gaps_within_strata(strata: pl.DataFrame, groups: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    """Return the mean over strata of Eq. 5, and whether any group differs from the rest.

    A gap is never negative, so a test that its mean is above 0 (as the paper suggests) would call pure noise unfair.
    `fixed_p` is instead the smallest p of the attribute's groups, corrected for how many there are.
    """
    spread = (
        strata.group_by(*KEYS, "stratum", maintain_order=True)
        .agg(gap=pl.col("err_rel").max() - pl.col("err_rel").min(), groups=pl.len())
        .filter(pl.col("groups") >= 2)
        .group_by(KEYS, maintain_order=True)
        .agg(fixed_gap=pl.col("gap").mean(), fixed_strata=pl.len())
    )
    tests = groups.group_by(KEYS, maintain_order=True).agg("p")
    smallest = []
    for values in tests["p"]:
        p = numbers(values.to_frame("p"), "p")[0]
        adjusted = plan.adjust(p, None, ["one"] * len(p) if len(p) == 2 else None)
        smallest.append(float(np.nanmin(adjusted)) if np.isfinite(adjusted).any() else np.nan)
    tests = tests.select(KEYS).with_columns(fixed_p=floats(np.array(smallest)))
    table = spread.join(tests, on=KEYS, how="left", maintain_order="left")
    p = numbers(table, "fixed_p")[0]
    return table.with_columns(fixed_p_adjusted=floats(plan.adjust(p, table["recognizer"])))


# Crossed


def compare_crossed(cells: pl.DataFrame, attributes: Sequence[str], gaps: Gaps, plan: Plan) -> pl.DataFrame:
    """Compare every combination of groups with everybody else (Eq. 4).

    Groups of `FEWEST_CROSSED` speakers and more are tested. Only those with enough speakers (Eq. 1) are ranked (`rank`
    1 is the worst). Sigma is the spread between speakers within these groups, or over all speakers where every group
    has one. It grows with the error rate, so that Eq. 1 alone would pass over the groups that are treated worst.
    """
    n, mean, m2 = numbers(cells, "speakers", "mean", "m2")
    rest = rest_of(cells, ["recognizer"])
    own, others = variance(n, m2), variance(rest.n, rest.m2)
    over_all = pooled_sigma(combine(cells, ["recognizer"]), ["recognizer"])
    spread = pooled_sigma(cells, ["recognizer"]).join(over_all, on="recognizer", how="left", suffix="_all")
    joined = cells.join(spread, on="recognizer", how="left", maintain_order="left")
    (sigma,) = numbers(joined.with_columns(sigma=pl.coalesce("sigma", "sigma_all")), "sigma")
    tested = (n >= FEWEST_CROSSED) & (rest.n >= FEWEST_CROSSED)
    used = steadied(n, own, rest.n, others)
    test = welch(n, mean, used, rest.n, rest.mean, others, confidence=plan.confidence)
    low, high = relative_interval(n, mean, used, rest.n, rest.mean, others, confidence=plan.confidence)
    rank = pl.col("err_rel").rank("ordinal", descending=True).over("recognizer", "enough_speakers")
    return (
        cells.select(
            "recognizer",
            pl.lit(" x ".join(attributes)).alias("attribute"),
            crossed_label(attributes).alias("group"),
            pl.col("speakers").cast(pl.Int64),
        )
        .with_columns(
            speakers_against=pl.Series(rest.n).cast(pl.Int64),
            wer=floats(mean),
            err_rel=floats(_relative(mean, rest.overall)),
            err_rel_low=floats(np.where(tested, low, np.nan)),
            err_rel_high=floats(np.where(tested, high, np.nan)),
            **_tested(test, tested),
            p_adjusted=floats(plan.adjust(np.where(tested, test.p, np.nan), cells["recognizer"])),
            **plan.enough(n, rest.n, sigma, gap_of(cells["recognizer"], gaps)),
        )
        .with_columns(rank=pl.when("enough_speakers").then(rank).cast(pl.Int64))
    )
