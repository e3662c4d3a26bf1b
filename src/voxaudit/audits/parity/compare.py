"""What comparisons of groups allow to conclude: one attribute at a time, with all others held fixed, and crossed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, pairwise, product

import polars as pl

from voxaudit.answer import Refusal
from voxaudit.audits.parity.speakers import Settings, Speakers
from voxaudit.corpus.bands import middle_bands
from voxaudit.stats.group_means import (
    KEYS,
    Gaps,
    Order,
    compare_crossed,
    compare_strata,
    compare_with_rest,
    compare_within_strata,
    crossed_label,
    determines,
    floats,
    gap_of,
    gaps_within_strata,
    numbers,
    strata_of,
)
from voxaudit.stats.speaker_means import OUTLIER_Z
from voxaudit.wording import listed

REFUSED = "refused: one speaker, or no spread"
FEW = "not enough speakers"
NONE_SHOWN = "no difference shown"
ALIKE = "alike within the gap"


def judged(table: pl.DataFrame, gaps: Gaps, settings: Settings) -> pl.DataFrame:
    """Add what each row allows to conclude, from estimate, interval, adjusted p and the number of speakers.

    `verdict` is one of `voxaudit.answer.Verdict`, `conclusion` the same in words, with the direction.
    """
    limit = pl.Series(gap_of(table["recognizer"], gaps))
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


def named_groups(attribute: str, groups: Sequence[str]) -> str:
    """Return groups of an attribute for a refusal: `'gender' = 'f', 'm'`."""
    return f"'{attribute}' = " + listed(f"'{group}'" for group in groups)


def compare_groups(speakers: pl.DataFrame, order: Order, gaps: Gaps, settings: Settings) -> pl.DataFrame:
    """Compare every group of every attribute with all other speakers, and say what that allows to conclude."""
    return judged(compare_with_rest(speakers, order, gaps, settings), gaps, settings)


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
    p = settings.adjust(numbers(table, "p")[0], table["recognizer"])
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
    cells: pl.DataFrame, groups: pl.DataFrame, speakers: Speakers, gaps: Gaps, settings: Settings
) -> Conditional:
    """Compare groups that differ in one attribute while all others are held fixed (Eq. 6).

    Within every combination of the other attributes (a stratum), speakers of a group are compared with the rest.
    `cells` has recognizer, all attributes, and speakers, mean and m2 of each combination; `groups` is the table of
    `compare_groups`.
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
        strata = strata_of(cells, name, held[name])
        if strata.height:
            parts.append(strata)
        else:
            text = f"no combination of {', '.join(held[name])} has speakers of two groups of '{name}'"
            about = f"'{name}' with all other attributes held fixed"
            remedy = "more speakers, coarser groups, or fewer attributes"
            refusals.append(Refusal("too_few_speakers", about, text, {}, remedy, coarse))
    if not parts:
        return Conditional(none, none, none, held, tuple(refusals))
    strata = compare_strata(pl.concat(parts), settings)
    table = judged(compare_within_strata(strata, order, groups, gaps, settings), gaps, settings)
    untested = table.filter(pl.col("p").is_null())
    for (name,), part in untested.group_by("attribute", maintain_order=True):
        there = part["group"].unique(maintain_order=True).to_list()
        about = f"{named_groups(str(name), there)} against the rest with all else fixed"
        text = "a single speaker decides it, or nobody differs: there is no spread to test with"
        facts = {"attribute": name, "groups": there}
        refusals.append(
            Refusal("too_few_speakers", about, text, facts, "more speakers or coarser groups", coarse)
        )
    return Conditional(table, strata, gaps_within_strata(strata, table, settings), held, tuple(refusals))


# Crossed


def compare_intersections(cells: pl.DataFrame, order: Order, gaps: Gaps, settings: Settings) -> pl.DataFrame:
    """Compare every combination of groups with everybody else, the worst treated first.

    Behind the ranked groups stand those that differ all the same, then those that lack the fewest speakers.
    """
    if len(order) < 2:
        return pl.DataFrame()
    table = judged(compare_crossed(cells, list(order), gaps, settings), gaps, settings)
    few = pl.when(pl.col("more_needed") > 0).then(pl.format(FEW + ", {} more needed", "more_needed"))
    unsure = pl.col("conclusion").is_in([FEW, REFUSED]) & ~pl.col("enough_speakers")
    outside = few.otherwise(pl.lit(FEW + " outside the group"))
    conclusion = pl.when(unsure).then(outside).otherwise("conclusion")
    differs = (pl.col("p_adjusted") < settings.alpha).fill_null(False)
    return (
        table.with_columns(conclusion=conclusion)
        .select(pl.exclude("rank"), "rank")
        .sort(
            *("recognizer", "rank", differs, "more_needed"),
            descending=[False, False, True, False],
            nulls_last=True,
            maintain_order=True,
        )
    )


def empty_groups(cells: pl.DataFrame, order: Order) -> list[Refusal]:
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
    speakers: pl.DataFrame, groups: pl.DataFrame, order: Order, gaps: Gaps, settings: Settings
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
