"""Groups of speakers compared: one attribute at a time, with all others held fixed, and crossed (Eq. 2 to 6)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, islice, pairwise, product

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voxaudit.answer import Refusal
from voxaudit.audits.parity.speakers import MEAN, OUTLIER_Z, Settings, Speakers, age_range
from voxaudit.stats.multiplicity import benjamini_hochberg, holm
from voxaudit.stats.power import smallest_gap, speakers_needed, whole_speakers
from voxaudit.stats.speaker_means import combine, pooled_sigma, rest_of, summarize_groups, variance
from voxaudit.stats.stratified import stratified_differences
from voxaudit.stats.ttests import TTest, one_sample, relative_interval, steadied, t_test, welch
from voxaudit.wording import listed

FloatArray = NDArray[np.float64]
KEYS = ("recognizer", "attribute")
MEANS = ("wer", "wer_utterance_mean", "wer_pooled")
"""Three ways of averaging: over speakers, over utterances, over words."""
MOST_PAIRED = 100
"""Groups of one attribute that are compared pair by pair."""
FEWEST_CROSSED = 5
"""Crossed groups of fewer speakers are not tested: two alike by chance would seem sure."""
ADULT = (18.0, 65.0)
"""Bands that lie within these ages, in years, are middle-aged here."""

REFUSED = "refused: one speaker, or no spread"
FEW = "not enough speakers"
NONE_SHOWN = "no difference shown"
ALIKE = "alike within the gap"


# From tests to words


def adjust(
    p: FloatArray,
    settings: Settings,
    recognizers: pl.Series | None = None,
    same: Sequence[object] | None = None,
) -> FloatArray:
    """Return the p-values of one table corrected together; nan stays nan.

    The mean of the recognizers repeats what its parts say: its rows are a family of their own, and those of the single
    recognizers are another. Rows with equal `same` test one hypothesis (the two sides of an attribute with two groups)
    and count once.
    """
    keys = list(range(len(p))) if same is None else list(same)
    mean = np.zeros(len(p), dtype=bool) if recognizers is None else (recognizers == MEAN).to_numpy()
    correct = holm if settings.correction == "holm" else benjamini_hochberg
    adjusted = np.full(len(p), np.nan)
    for family in (np.flatnonzero(mean), np.flatnonzero(~mean)):
        first = {keys[row]: row for row in reversed(family)}
        values = correct([None if np.isnan(p[row]) else float(p[row]) for row in first.values()])
        by_key = {key: np.nan if value is None else value for key, value in zip(first, values, strict=True)}
        adjusted[family] = [by_key[keys[row]] for row in family]
    return adjusted


def _one_hypothesis(table: pl.DataFrame, keys: Sequence[str]) -> list[object]:
    """Return labels for `adjust`: groups of an attribute with just two share one, all other rows have their own."""
    counts = table.select(pl.len().over(keys).alias("rows"), pl.struct(keys).hash().alias("key"))
    return [
        ("pair", key) if rows == 2 else ("row", row) for row, (rows, key) in enumerate(counts.iter_rows())
    ]


def _power(
    n: FloatArray, rest: FloatArray, sigma: FloatArray, gap: FloatArray, settings: Settings
) -> dict[str, pl.Series]:
    """Return what Eq. 1 says about groups of `n` speakers against `rest`.

    Columns: sigma; speakers_needed (each side, for `gap`); enough_speakers (both sides reach it); more_needed (in this
    group); smallest_gap (that these speakers would show).
    """
    needed: list[int | None] = []
    smallest: list[float | None] = []
    level, power = settings.confidence, settings.power
    known = np.isfinite(sigma) & (gap > 0)
    for size, others, spread, wanted, usable in zip(n, rest, sigma, gap, known, strict=True):
        exact = speakers_needed(wanted, spread, confidence=level, power=power) if usable else None
        needed.append(None if exact is None else whole_speakers(exact))
        shows = (
            smallest_gap(size, others, spread, confidence=level, power=power)
            if usable and others > 0
            else None
        )
        smallest.append(shows)
    wanted_speakers = np.array([np.inf if number is None else number for number in needed])
    more = [
        None if number is None else max(0, number - int(size)) for number, size in zip(needed, n, strict=True)
    ]
    return {
        "sigma": floats(sigma),
        "enough_speakers": pl.Series((n >= wanted_speakers) & (rest >= wanted_speakers)),
        "speakers_needed": pl.Series(needed, dtype=pl.Int64),
        "more_needed": pl.Series(more, dtype=pl.Int64),
        "smallest_gap": pl.Series(smallest, dtype=pl.Float64),
    }


def _judged(table: pl.DataFrame, settings: Settings, gap: FloatArray) -> pl.DataFrame:
    """Add what each row allows to conclude, from estimate, interval, adjusted p and the number of speakers.

    `verdict` is one of `voxaudit.answer.Verdict`, `conclusion` the same in words, with the direction.
    """
    limit = pl.Series(gap)
    within = (table["low"] > -limit) & (table["high"] < limit)
    direction = pl.when(pl.col("estimate") > 0).then(pl.lit("worse")).otherwise(pl.lit("better"))
    significant, enough = pl.col("p_adjusted") < settings.alpha, pl.col("enough_speakers")
    conclusion = (
        pl.when(pl.col("p").is_null())
        .then(pl.lit(REFUSED))
        .when(significant & enough)
        .then(direction)
        .when(significant)
        .then(direction + pl.lit(" (few speakers)"))
        .when(pl.Series(within).fill_null(False))
        .then(pl.lit(ALIKE))
        .when(enough)
        .then(pl.lit(NONE_SHOWN))
        .otherwise(pl.lit(FEW))
    )
    codes = {ALIKE: "alike", NONE_SHOWN: "not_shown", FEW: "refused", REFUSED: "refused"}
    verdict = pl.col("conclusion").replace_strict(codes, default="shown", return_dtype=pl.String)
    return table.with_columns(conclusion=conclusion).with_columns(verdict=verdict)


def floats(values: FloatArray) -> pl.Series:
    """Return a column of numbers; what is not finite is null."""
    return pl.Series(np.where(np.isfinite(values), values, np.nan), dtype=pl.Float64).fill_nan(None)


def numbers(table: pl.DataFrame, *names: str) -> list[FloatArray]:
    """Return columns as arrays, nan where there is none."""
    return [
        table[name].cast(pl.Float64).fill_null(float("nan")).to_numpy().astype(np.float64) for name in names
    ]


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


def _asked(recognizers: pl.Series, gaps: dict[str, float]) -> FloatArray:
    """Return the gap asked about, one entry per row."""
    return recognizers.replace_strict(list(gaps), list(gaps.values()), return_dtype=pl.Float64).to_numpy()


def _sigma(rows: pl.DataFrame, groups: pl.DataFrame) -> FloatArray:
    """Return the spread between speakers within the groups of each row's attribute."""
    return numbers(
        rows.join(pooled_sigma(groups, KEYS), on=KEYS, how="left", maintain_order="left"), "sigma"
    )[0]


def crossed_label(attributes: Sequence[str]) -> pl.Expr:
    """Return how a combination of groups is called: `gender=f, age=18-29`."""
    return pl.concat_str([pl.lit(f"{name}=") + pl.col(f"@{name}") for name in attributes], separator=", ")


def named_groups(attribute: str, groups: Sequence[str]) -> str:
    """Return groups of an attribute for a refusal: `'gender' = 'f', 'm'`."""
    return f"'{attribute}' = " + listed(f"'{group}'" for group in groups)


# One attribute at a time


def compare_groups(
    speakers: pl.DataFrame, order: dict[str, tuple[str, ...]], gaps: dict[str, float], settings: Settings
) -> pl.DataFrame:
    """Compare every group of every attribute with all other speakers (Eq. 2 to 4).

    `order` names the attributes and their groups; `gaps` is the gap asked about for each recognizer.
    """
    groups = _summaries(speakers, order)
    n, mean, m2 = numbers(groups, "speakers", "mean", "m2")
    rest = rest_of(groups, KEYS)
    own, others = variance(n, m2), variance(rest.n, rest.m2)
    # Two groups are one comparison, whichever side it is looked at from.
    several = groups.select(pl.len().over(KEYS) > 2).to_series().to_numpy()
    used = np.where(several, steadied(n, own, rest.n, others), own)
    level = settings.confidence
    test = welch(n, mean, used, rest.n, rest.mean, others, confidence=level)
    # The paper's test: the group's speakers against the overall mean as if that were known exactly.
    paper = one_sample(n, mean, own, rest.overall, confidence=level)
    around = one_sample(n, mean, own, 0.0, confidence=level)
    low, high = relative_interval(n, mean, used, rest.n, rest.mean, others, confidence=level)
    gap = _asked(groups["recognizer"], gaps)
    table = groups.select(*KEYS, "group", "speakers", "utterances", "words").with_columns(
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
        p_adjusted=floats(adjust(test.p, settings, groups["recognizer"], _one_hypothesis(groups, KEYS))),
        one_sample_t=floats(paper.t),
        one_sample_df=floats(paper.df),
        one_sample_p=floats(paper.p),
        one_sample_p_adjusted=floats(adjust(paper.p, settings, groups["recognizer"])),
        **_power(n, rest.n, _sigma(groups, groups), gap, settings),
    )
    return _judged(table, settings, gap)


def _summaries(speakers: pl.DataFrame, order: dict[str, tuple[str, ...]]) -> pl.DataFrame:
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
        table = (
            summarize_groups(speakers, by).join(counts, on=by).join(rank, on=by[1]).sort("recognizer", "rank")
        )
        parts.append(
            table.select(
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


def compare_best_and_worst(groups: pl.DataFrame, settings: Settings) -> pl.DataFrame:
    """Return the gap of each attribute (Eq. 5), under three ways of averaging. Groups of one speaker take no part.

    `gap` is Eq. 5, in percent of the overall mean; `estimate` the same in word error rate. `group` (the worst) and
    `against` (the best) were looked for among `pairs` pairs, so `p` is the pair's Welch p times that number
    (Bonferroni), and the interval is as much wider. `choice_matters`: utterance means or pooled rates name others.
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
        groups.select(KEYS).unique(maintain_order=True).join(rows, on=KEYS, how="left", maintain_order="left")
    )
    table = table.with_columns(
        pl.col("groups", "pairs").fill_null(0), choice_matters=pl.any_horizontal(*differ)
    ).rename({f"best_{first}": "against", f"worst_{first}": "group"})
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
    test = welch(*sides[0], *sides[1], confidence=1.0 - settings.alpha / picked)
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
        p_adjusted=floats(adjust(raised, settings, table["recognizer"])),
    )


def compare_pairs(
    speakers: pl.DataFrame, order: dict[str, tuple[str, ...]], gaps: dict[str, float], settings: Settings
) -> pl.DataFrame:
    """Compare every two groups of an attribute; groups with one speaker are in no pair.

    Of an attribute with more than `MOST_PAIRED` groups, those with the most speakers are paired.
    """
    groups = _summaries(speakers, order)
    first: list[int] = []
    second: list[int] = []
    rows = groups.with_row_index("row").filter(pl.col("speakers") >= 2)
    for _, part in rows.group_by(KEYS, maintain_order=True):
        largest = part.sort("speakers", descending=True, maintain_order=True).head(MOST_PAIRED)
        chosen = list(combinations(largest["row"].sort().to_list(), 2))
        first += [a for a, _ in chosen]
        second += [b for _, b in chosen]
    a, b = groups[first], groups[second]
    sides = [
        (n, mean, variance(n, m2))
        for n, mean, m2 in (numbers(side, "speakers", "mean", "m2") for side in (a, b))
    ]
    test = welch(*sides[0], *sides[1], confidence=settings.confidence)
    gap = _asked(a["recognizer"], gaps)
    table = a.select(*KEYS, "group").with_columns(
        against=b["group"],
        speakers=a["speakers"],
        speakers_against=b["speakers"],
        wer=a["mean"],
        wer_against=b["mean"],
        **_tested(test),
        p_adjusted=floats(adjust(test.p, settings, a["recognizer"])),
        **_power(sides[0][0], sides[1][0], _sigma(a, groups), gap, settings),
    )
    # A pair lacks what its smaller side lacks.
    more = (pl.col("speakers_needed") - pl.min_horizontal("speakers", "speakers_against")).clip(lower_bound=0)
    return _judged(table.with_columns(more.alias("more_needed")), settings, gap)


def middle_bands(groups: Sequence[str]) -> list[str]:
    """Return the bands of adult middle age among an attribute's groups, the youngest first."""
    spans = {group: span for group in groups if (span := age_range(group)) is not None}
    inside = [group for group, (low, high) in spans.items() if low >= ADULT[0] and high <= ADULT[1]]
    return sorted(inside, key=lambda group: spans[group])


def canary(pairs: pl.DataFrame, speakers: Speakers, settings: Settings) -> pl.DataFrame:
    """Return the comparisons of adjacent middle-age bands out of the table of pairs, corrected among themselves.

    Voices change little in middle age. If a recognizer seems to treat 31 to 45 years differently from 46 to 65, the
    corpus is more likely to be unbalanced in something else than the recognizer to be unfair about that (Herron et al.,
    section 3.3.3).
    """
    if speakers.age not in speakers.order or not pairs.height:
        return pl.DataFrame()
    wanted = [frozenset(pair) for pair in pairwise(middle_bands(speakers.order[speakers.age]))]
    own = pairs.filter(pl.col("attribute") == speakers.age)
    keep = [frozenset(row) in wanted for row in own.select("group", "against").iter_rows()]
    table = own.filter(pl.Series(keep, dtype=pl.Boolean)).drop("verdict", "conclusion", "p_adjusted")
    p = adjust(numbers(table, "p")[0], settings, table["recognizer"])
    return table.with_columns(p_adjusted=floats(p)).with_columns(
        differs=(pl.col("p_adjusted") < settings.alpha).fill_null(False)
    )


# With all other attributes held fixed


@dataclass(frozen=True)
class Conditional:
    """Every group against the rest with all else fixed; the strata behind it; the gaps; what was refused."""

    groups: pl.DataFrame
    strata: pl.DataFrame
    gaps: pl.DataFrame
    held: dict[str, tuple[str, ...]]
    """The attributes that were held fixed for each attribute."""
    refusals: tuple[Refusal, ...]


def compare_conditionally(
    cells: pl.DataFrame, groups: pl.DataFrame, speakers: Speakers, gaps: dict[str, float], settings: Settings
) -> Conditional:
    """Compare groups that differ in one attribute while all others are held fixed (Eq. 6).

    Within every combination of the other attributes (a stratum), speakers of a group are compared with the rest. The
    differences are put together in two ways: weighted by what each stratum can tell, with a test whose sample is the
    speakers; and as the paper does, by a one-sample t-test of the strata's relative errors. `cells` has recognizer, all
    attributes, and speakers, mean and m2 of each combination; `groups` is the table of `compare_groups`.
    """
    order = speakers.order
    none = pl.DataFrame()
    if len(order) < 2:
        text = "there is one attribute: no other can be held fixed"
        why = Refusal(
            "no_attribute", "conditional parity", text, remedy="name a second attribute", see=("attributes",)
        )
        return Conditional(none, none, none, {}, (why,))
    parts: list[pl.DataFrame] = []
    refusals: list[Refusal] = []
    held: dict[str, tuple[str, ...]] = {}
    coarse = ("merge_below",)
    for name in order:
        others = [other for other in order if other != name]
        deciding = [other for other in others if determines(cells, other, name)]
        held[name] = tuple(other for other in others if other not in deciding)
        for other in deciding:
            text = (
                f"every group of '{other}' belongs to one group of '{name}': no two speakers differ in '{name}' alone,"
                " and the two effects cannot be told apart here"
            )
            remedy = f"speakers of one '{other}' on both sides of '{name}'"
            about = f"'{name}' with '{other}' held fixed"
            refusals.append(Refusal("not_separable", about, text, {"attribute": name, "held": other}, remedy))
        if not held[name]:
            continue
        strata = _strata(cells, name, held[name])
        if strata.height:
            parts.append(strata)
        else:
            text = f"no combination of {', '.join(held[name])} has speakers of two groups of '{name}'"
            about = f"'{name}' with all other attributes held fixed"
            remedy = "more speakers, coarser groups, or fewer attributes"
            refusals.append(Refusal("too_few_speakers", about, text, {}, remedy, coarse))
    if not parts:
        return Conditional(none, none, none, held, tuple(refusals))
    strata = _stratum_tests(pl.concat(parts), settings)
    table = _aggregate(strata, order, groups, gaps, settings)
    untested = table.filter(pl.col("p").is_null())
    for (name,), part in untested.group_by("attribute", maintain_order=True):
        there = part["group"].unique(maintain_order=True).to_list()
        about = f"{named_groups(str(name), there)} against the rest with all else fixed"
        text = "a single speaker decides it, or nobody differs: there is no spread to test with"
        facts = {"attribute": name, "groups": there}
        refusals.append(
            Refusal("too_few_speakers", about, text, facts, "more speakers or coarser groups", coarse)
        )
    return Conditional(table, strata, _conditional_gaps(strata, table, settings), held, tuple(refusals))


def determines(cells: pl.DataFrame, other: str, name: str) -> bool:
    """Say whether every group of `other` occurs with one group of `name` only."""
    kinds = cells.select(f"@{other}", f"@{name}").unique().group_by(f"@{other}").agg(pl.len().alias("kinds"))
    return bool((kinds["kinds"] == 1).all())


def _strata(cells: pl.DataFrame, name: str, held: Sequence[str]) -> pl.DataFrame:
    """Return one row per stratum and group: the group's speakers and the rest's, where both have some."""
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


_SIDES = ("speakers", "wer", "m2", "speakers_against", "wer_against", "m2_against")


def _stratum_tests(table: pl.DataFrame, settings: Settings) -> pl.DataFrame:
    n, mean, m2, rest_n, rest_mean, rest_m2 = numbers(table, *_SIDES)
    test = welch(
        n, mean, variance(n, m2), rest_n, rest_mean, variance(rest_n, rest_m2), confidence=settings.confidence
    )
    same = _one_hypothesis(table, [*KEYS, "stratum"])
    columns = _tested(test)
    return table.with_columns(
        err_rel=floats(_relative(mean, numbers(table, "overall")[0])),
        **{name: columns[name] for name in ("estimate", "low", "high", "p")},
        p_adjusted=floats(adjust(test.p, settings, table["recognizer"], same)),
    )


def _aggregate(
    strata: pl.DataFrame,
    order: dict[str, tuple[str, ...]],
    groups: pl.DataFrame,
    gaps: dict[str, float],
    settings: Settings,
) -> pl.DataFrame:
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
    codes = strata.join(table.select(*keys, "comparison"), on=keys, how="left", maintain_order="left")[
        "comparison"
    ]
    result = stratified_differences(codes.cast(pl.Int64).to_numpy(), *numbers(strata, *_SIDES))
    columns = ("estimate", "variance", "df", "effective", "effective_against")
    values = (result.estimate, result.variance, result.df, result.speakers, result.others)
    table = table.with_columns(floats(one).alias(name) for name, one in zip(columns, values, strict=True))
    rank = {(name, group): (a, b) for a, name in enumerate(order) for b, group in enumerate(order[name])}
    ranks = [rank[row] for row in table.select("attribute", "group").iter_rows()]
    table = table.with_columns(
        turn=pl.Series([a for a, _ in ranks]), rank=pl.Series([b for _, b in ranks])
    ).sort("turn", "recognizer", "rank", maintain_order=True)
    estimate, spread, df, effective, effective_against = numbers(table, *columns)
    test = t_test(estimate, spread, df, confidence=settings.confidence)
    n_strata, relative, relative_variance = numbers(table, "err_rel_n", "err_rel", "err_rel_var")
    paper = one_sample(n_strata, relative, relative_variance, 0.0)
    m2, m2_df = numbers(table, "m2", "m2_df")
    with np.errstate(divide="ignore", invalid="ignore"):
        sigma = np.sqrt(m2 / m2_df)
    gap = _asked(table["recognizer"], gaps)
    same = _one_hypothesis(table, KEYS)
    table = table.select(
        *keys, "speakers", "speakers_used", "speakers_against", "strata", "err_rel"
    ).with_columns(
        # As many speakers per side would tell as much in one simple comparison as the weighted strata do.
        effective_speakers=floats(effective),
        **_tested(test),
        p_adjusted=floats(adjust(test.p, settings, table["recognizer"], same)),
        strata_t=floats(paper.t),
        strata_p=floats(paper.p),
        strata_p_adjusted=floats(adjust(paper.p, settings, table["recognizer"])),
        **_power(effective, effective_against, sigma, gap, settings),
    )
    return _judged(table, settings, gap)


def _conditional_gaps(strata: pl.DataFrame, groups: pl.DataFrame, settings: Settings) -> pl.DataFrame:
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
        adjusted = adjust(p, settings, None, ["one"] * len(p) if len(p) == 2 else None)
        smallest.append(float(np.nanmin(adjusted)) if np.isfinite(adjusted).any() else np.nan)
    tests = tests.select(KEYS).with_columns(fixed_p=floats(np.array(smallest)))
    table = spread.join(tests, on=KEYS, how="left", maintain_order="left")
    p = numbers(table, "fixed_p")[0]
    return table.with_columns(fixed_p_adjusted=floats(adjust(p, settings, table["recognizer"])))


# Crossed


def compare_crossed(
    cells: pl.DataFrame, attributes: Sequence[str], gaps: dict[str, float], settings: Settings
) -> pl.DataFrame:
    """Compare every combination of groups with everybody else (Eq. 4), the worst treated first.

    `cells` has recognizer, the attributes, and speakers, mean and m2. Groups of `FEWEST_CROSSED` speakers and more are
    tested. Only those with enough speakers (Eq. 1) are ranked (`rank` 1 is the worst); the others say how many more
    are needed. Sigma is the spread between speakers within these groups, or over all speakers where every group has
    one. It grows with the error rate, so that Eq. 1 alone would pass over the groups that are treated worst.
    """
    if len(attributes) < 2:
        return pl.DataFrame()
    n, mean, m2 = numbers(cells, "speakers", "mean", "m2")
    rest = rest_of(cells, ["recognizer"])
    own, others = variance(n, m2), variance(rest.n, rest.m2)
    gap = _asked(cells["recognizer"], gaps)
    over_all = pooled_sigma(combine(cells, ["recognizer"]), ["recognizer"])
    spread = pooled_sigma(cells, ["recognizer"]).join(over_all, on="recognizer", how="left", suffix="_all")
    joined = cells.join(spread, on="recognizer", how="left", maintain_order="left")
    (sigma,) = numbers(joined.with_columns(sigma=pl.coalesce("sigma", "sigma_all")), "sigma")
    tested = (n >= FEWEST_CROSSED) & (rest.n >= FEWEST_CROSSED)
    used = steadied(n, own, rest.n, others)
    test = welch(n, mean, used, rest.n, rest.mean, others, confidence=settings.confidence)
    low, high = relative_interval(n, mean, used, rest.n, rest.mean, others, confidence=settings.confidence)
    columns = _tested(test, tested)
    p = np.where(tested, test.p, np.nan)
    table = cells.select(
        "recognizer",
        pl.lit(" x ".join(attributes)).alias("attribute"),
        crossed_label(attributes).alias("group"),
        pl.col("speakers").cast(pl.Int64),
    ).with_columns(
        speakers_against=pl.Series(rest.n).cast(pl.Int64),
        wer=floats(mean),
        err_rel=floats(_relative(mean, rest.overall)),
        err_rel_low=floats(np.where(tested, low, np.nan)),
        err_rel_high=floats(np.where(tested, high, np.nan)),
        **columns,
        p_adjusted=floats(adjust(p, settings, cells["recognizer"])),
        **_power(n, rest.n, sigma, gap, settings),
    )
    rank = pl.col("err_rel").rank("ordinal", descending=True).over("recognizer", "enough_speakers")
    few = pl.when(pl.col("more_needed") > 0).then(pl.format(FEW + ", {} more needed", "more_needed"))
    unsure = pl.col("conclusion").is_in([FEW, REFUSED]) & ~pl.col("enough_speakers")
    # Behind the ranked groups those that differ all the same, then those that lack the fewest speakers.
    differs = (pl.col("p_adjusted") < settings.alpha).fill_null(False)
    return (
        _judged(table, settings, gap)
        .with_columns(
            rank=pl.when("enough_speakers").then(rank).cast(pl.Int64),
            conclusion=pl.when(unsure)
            .then(few.otherwise(pl.lit(FEW + " outside the group")))
            .otherwise("conclusion"),
        )
        .sort(
            "recognizer",
            "rank",
            differs,
            "more_needed",
            descending=[False, False, True, False],
            nulls_last=True,
            maintain_order=True,
        )
    )


def empty_groups(cells: pl.DataFrame, order: dict[str, tuple[str, ...]]) -> list[Refusal]:
    """Return a refusal for the combinations of groups that no speaker has; none of them can be compared."""
    there = set(cells.select(f"@{name}" for name in order).unique().iter_rows())
    every = math.prod(len(groups) for groups in order.values())
    if len(there) == every or len(order) < 2:
        return []
    absent = islice((group for group in product(*order.values()) if group not in there), 5)
    names = "; ".join(
        ", ".join(f"{name}={value}" for name, value in zip(order, group, strict=True)) for group in absent
    )
    more = every - len(there) - 5
    text = f"no speaker belongs to them: {names}" + (f"; and {more} more" if more > 0 else "")
    about = f"{every - len(there)} of {every} intersectional groups"
    return [
        Refusal("too_few_speakers", about, text, {"groups": every - len(there)}, "speakers of these groups")
    ]


# Outliers


def without_outliers(
    speakers: pl.DataFrame,
    groups: pl.DataFrame,
    order: dict[str, tuple[str, ...]],
    gaps: dict[str, float],
    settings: Settings,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the outlying speakers, and the table `groups` beside the same without them and outlying utterances.

    An utterance is judged among its speaker's, a speaker among all speakers. Nothing is removed from the audit itself:
    a group that is treated badly can look like a row of outliers, and removing it would hide just that.
    """
    wer = pl.col("wer")
    z = ((wer - wer.mean().over("recognizer")) / wer.std().over("recognizer")).fill_nan(None)
    scored = speakers.with_columns(z=z)
    far = (pl.col("z").abs() > OUTLIER_Z).fill_null(False)
    outlying = (
        scored.filter(far)
        .select("recognizer", "speaker", crossed_label(list(order)).alias("groups"), "utterances", "wer", "z")
        .sort("recognizer", pl.col("z").abs(), descending=[False, True])
    )
    # Utterances first, then speakers by what is left of theirs.
    plain = speakers.with_columns(
        utterances=pl.col("plain_utterances"),
        rate_sum=pl.col("plain_sum"),
        wer=pl.col("plain_sum") / pl.col("plain_utterances"),
    )
    rest = plain.filter(~(z.abs() > OUTLIER_Z).fill_null(False))
    keys = [*KEYS, "group"]
    columns = ["speakers", "wer", "err_rel", "p_adjusted", "conclusion"]
    without = compare_groups(rest, order, gaps, settings).select(
        *keys, *(pl.col(name).alias(f"{name}_without") for name in columns)
    )
    shares = pl.concat(
        scored.group_by("recognizer", pl.col(f"@{name}").alias("group"))
        .agg(outliers=far.sum())
        .with_columns(attribute=pl.lit(name))
        for name in order
    )
    significant, still = (pl.col(name) < settings.alpha for name in ("p_adjusted", "p_adjusted_without"))
    turned = significant & still & (pl.col("err_rel").sign() != pl.col("err_rel_without").sign())
    table = groups.select(*keys, *columns).join(without, on=keys, how="left", maintain_order="left")
    return outlying, table.join(shares, on=keys, how="left", maintain_order="left").with_columns(
        changes=(significant.fill_null(False) != still.fill_null(False)) | turned.fill_null(False)
    )
