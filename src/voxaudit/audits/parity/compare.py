"""What comparisons of groups allow to conclude: pairs, with all else held fixed, crossed, without outliers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import polars as pl

from voxaudit.answer import Refusal
from voxaudit.audits.parity.speakers import Settings, Speakers
from voxaudit.corpus.bands import middle_bands
from voxaudit.stats.group_means import (
    KEYS,
    Gaps,
    Order,
    Sample,
    both_ways,
    compare,
    crossed_label,
    crossed_questions,
    describe_strata,
    determines,
    pairs_of,
)
from voxaudit.stats.multiplicity import holm
from voxaudit.stats.speaker_means import MEAN, OUTLIER_Z, combine, pooled_sigma, rest_of
from voxaudit.wording import MISSING, listed

PAIR = (*KEYS, "group", "against")


def judged(table: pl.DataFrame, settings: Settings, family: str) -> pl.DataFrame:
    """Add the verdict on each row: shown by the p of the family; alike where a gap was asked for and excluded.

    *alike* is two one-sided tests: the whole interval lies within the gap on either side. Nobody is alike by default.
    """
    if not table.height:
        return table
    within = pl.max_horizontal(pl.col("high").abs(), pl.col("low").abs()) < (settings.gap or 0.0)
    verdict = (
        pl.when(pl.col("p").is_null())
        .then(pl.lit("refused"))
        .when(pl.col("p_adjusted") <= settings.alpha)
        .then(pl.lit("shown"))
        .when(within.fill_null(False))
        .then(pl.lit("alike"))
        .otherwise(pl.lit("not_shown"))
    )
    return table.with_columns(verdict=verdict, family=pl.lit(family))


def compare_pairs(sample: Sample, order: Order, settings: Settings, *, limits: bool = True) -> pl.DataFrame:
    """Compare every two groups of every attribute, for all recognizers as one family."""
    return judged(compare(sample, pairs_of(sample, order), settings, limits=limits), settings, "pairs")


CANARIES: Mapping[str, tuple[str, ...]] = {
    "handedness": ("handedness", "hand", "dominant_hand"),
    "color of eyes or hair": ("eye_color", "eye_colour", "hair_color", "hair_colour"),
    "blood group": ("blood_type", "blood_group"),
    "time of birth": ("birth_month", "month_of_birth", "birthday", "zodiac"),
    "collection": ("session", "batch", "split", "fold", "weekday"),
}
"""What voices have nothing to do with, and columns that are called so; beside neighboring bands of middle age."""


def canary(pairs: pl.DataFrame, speakers: Speakers, settings: Settings) -> pl.DataFrame:
    """Return the comparisons whose groups voices do not tell apart, out of the table of pairs, corrected together.

    Voices change little in middle age. If a recognizer seems to treat 31 to 45 years differently from 46 to 65, the
    corpus is more likely to be unbalanced in something else than the recognizer to be unfair about that (Herron et al.,
    section 3.3.3). The same holds of attributes in `CANARIES` and of those that were named as canaries.
    """
    if not pairs.height:
        return pl.DataFrame()
    kinds = {name: kind for kind, names in CANARIES.items() for name in names}
    named = [name for name in speakers.order if name.lower() in kinds or name in settings.canaries]
    found = {name: kinds.get(name.lower(), name) for name in named}
    own = pairs.filter(pl.col("recognizer") != MEAN)
    others = own.filter(pl.col("attribute").is_in(list(found)))
    bands = middle_bands(speakers.order.get(speakers.age or "", ()))
    adjacent = pl.DataFrame(list(pairwise(bands)), {"group": pl.String, "against": pl.String}, orient="row")
    of_age = both_ways(own.filter(pl.col("attribute") == (speakers.age or "")))
    of_age = of_age.join(adjacent, on=["group", "against"], how="semi") if of_age.height else of_age
    table = pl.concat([of_age, others]).drop("verdict", "family")
    kind = pl.col("attribute").replace_strict(found, default="middle age", return_dtype=pl.String)
    p = pl.Series("p_adjusted", holm(table["p"].to_list()), dtype=pl.Float64)
    return table.with_columns(p, canary=kind, differs=(p <= settings.alpha).fill_null(False))


# With all other attributes held fixed


@dataclass(frozen=True)
class Conditional:
    """Every two groups with all else fixed; the strata behind it; what was held; what was refused."""

    pairs: pl.DataFrame
    strata: pl.DataFrame
    held: dict[str, tuple[str, ...]]
    """The attributes that were held fixed for each attribute."""
    refusals: tuple[Refusal, ...]


def compare_conditionally(
    sample: Sample, cells: pl.DataFrame, order: Order, settings: Settings
) -> Conditional:
    """Compare groups that differ in one attribute while all others are held fixed (Eq. 6).

    Within every combination of the other attributes (a stratum), speakers of one group are compared with those of
    another; those of whom another attribute is not known, among themselves. `cells` has recognizer, all attributes,
    and speakers, mean and m2 of each combination.
    """
    if len(order) < 2:
        text, remedy = "there is one attribute: no other can be held fixed", "name a second attribute"
        why = Refusal("no_attribute", "conditional parity", text, remedy=remedy, see=("attributes",))
        return Conditional(pl.DataFrame(), pl.DataFrame(), {}, (why,))
    refusals: list[Refusal] = []
    held: dict[str, tuple[str, ...]] = {}
    for name in order:
        known = cells.filter(pl.col(f"@{name}") != MISSING)
        others = [other for other in order if other != name and known[f"@{other}"].n_unique() > 1]
        deciding = [other for other in others if determines(known, other, name)]
        held[name] = tuple(other for other in others if other not in deciding)
        for other in deciding:
            text = (
                f"every group of '{other}' belongs to one group of '{name}': no two speakers differ in '{name}' alone,"
                " and the two effects cannot be told apart here"
            )
            remedy = f"speakers of one '{other}' on both sides of '{name}'"
            about = f"'{name}' with '{other}' held fixed"
            refusals.append(Refusal("not_separable", about, text, {"attribute": name, "held": other}, remedy))
    table = judged(compare(sample, pairs_of(sample, order, held), settings), settings, "all else fixed")
    for name in order:
        rows = table.filter(pl.col("attribute") == name) if table.height else table
        if held[name] and not (rows.height and rows["p"].count()):
            text = f"too few speakers share {', '.join(held[name])} and differ in '{name}'"
            about = f"'{name}' with all other attributes held fixed"
            remedy = "more speakers, coarser groups, or fewer attributes"
            refusals.append(Refusal("too_few_speakers", about, text, {}, remedy, ("merge_below",)))
    strata = [
        describe_strata(cells.filter(pl.col(f"@{name}") != MISSING), name, others)
        for name, others in held.items()
        if others
    ]
    if table.height:
        names = {name: ", ".join(others) for name, others in held.items()}
        table = table.with_columns(held=pl.col("attribute").replace_strict(names, return_dtype=pl.String))
    return Conditional(table, pl.concat(strata) if strata else pl.DataFrame(), held, tuple(refusals))


# Crossed


def compare_intersections(
    sample: Sample, cells: pl.DataFrame, order: Order, gaps: Gaps, settings: Settings
) -> pl.DataFrame:
    """Compare every combination of groups with everybody else, the worst treated first.

    Only those with enough speakers (Eq. 1) are ranked (`rank` 1 is the worst); behind them stand those that differ all
    the same, then those that lack the fewest speakers. Sigma is the spread between speakers within these groups, or
    over all speakers where every group has one. It grows with the error rate, so that Eq. 1 alone would pass over the
    groups that are treated worst.
    """
    if len(order) < 2:
        return pl.DataFrame()
    names = list(order)
    rest = rest_of(cells, ["recognizer"])
    over_all = pooled_sigma(combine(cells, ["recognizer"]), ["recognizer"])
    spread = pooled_sigma(cells, ["recognizer"]).join(over_all, on="recognizer", how="left", suffix="_all")
    joined = cells.join(spread, on="recognizer", how="left", maintain_order="left")
    sigma = joined.select(pl.coalesce("sigma", "sigma_all").fill_null(float("nan")))["sigma"].to_numpy()
    asked = cells["recognizer"].replace_strict(list(gaps), list(gaps.values()), return_dtype=pl.Float64)
    table = cells.select(
        "recognizer",
        pl.lit(" x ".join(names)).alias("attribute"),
        crossed_label(names).alias("group"),
        pl.lit("all others").alias("against"),
        pl.col("speakers").cast(pl.Int64),
        pl.col("mean").alias("wer"),
    ).with_columns(
        speakers_against=pl.Series(rest.n).cast(pl.Int64),
        err_rel=(100.0 * (pl.col("wer") / pl.Series(rest.overall) - 1.0)).fill_nan(None),
        **settings.enough(cells["speakers"].to_numpy(), rest.n, sigma, asked.to_numpy()),
    )
    tests = compare(sample, crossed_questions(sample, names), settings)
    if tests.height:
        tests = tests.drop("attribute", "against", "speakers", "speakers_against", "wer")
        table = table.join(tests, on=["recognizer", "group"], how="left", maintain_order="left")
    else:
        none = ("wer_against", "estimate", "low", "high", "p", "p_adjusted")
        table = table.with_columns(pl.lit(None, dtype=pl.Float64).alias(name) for name in none)
    rank = pl.col("err_rel").rank("ordinal", descending=True).over("recognizer", "enough_speakers")
    table = judged(table, settings, "crossed groups").with_columns(
        rank=pl.when("enough_speakers").then(rank).cast(pl.Int64)
    )
    return table.sort(
        *("recognizer", "rank", pl.col("verdict") == "shown", "more_needed"),
        descending=[False, False, True, False],
        nulls_last=True,
        maintain_order=True,
    )


# Outliers, and what was not tested


def without_outliers(
    speakers: Speakers, pairs: pl.DataFrame, settings: Settings
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the outlying speakers, and the pairs whose verdict changes without them and outlying utterances.

    An utterance is judged among its speaker's, a speaker among all speakers of a recognizer. Nothing is removed from
    the audit itself: a group that is treated badly can look like a row of outliers, and removing it would hide that.
    """
    wer = pl.col("wer")
    spread = wer.std().over("recognizer")
    z = pl.when(spread > 1e-9).then((wer - wer.mean().over("recognizer")) / spread)
    far = (z.abs() > OUTLIER_Z).fill_null(False)
    outlying = (
        speakers.table.with_columns(z=z)
        .filter(far)
        .select(
            *("recognizer", "speaker", crossed_label(list(speakers.order)).alias("groups")),
            *("utterances", "wer", "z"),
        )
        .sort("recognizer", pl.col("z").abs(), descending=[False, True])
    )
    # Utterances first, then speakers by what is left of theirs.
    plain = speakers.table.with_columns(wer=pl.col("plain_sum") / pl.col("plain_utterances"))
    rest = plain.with_columns(far=far).filter(~pl.col("far").any().over("speaker")).drop("far")
    again = compare_pairs(speakers.sample(rest), speakers.order, settings, limits=False)
    if not pairs.height or not again.height:
        return outlying, pl.DataFrame()
    columns = ("estimate", "p_adjusted")
    table = pairs.select(*PAIR, *columns, "verdict").join(
        again.select(*PAIR, pl.col(*columns, "verdict").name.suffix("_without")),
        on=PAIR,
        how="left",
        maintain_order="left",
    )
    shown, still = pl.col("verdict") == "shown", (pl.col("verdict_without") == "shown").fill_null(False)
    turned = pl.col("estimate").sign() != pl.col("estimate_without").sign()
    changes = (shown != still) | (shown & still & turned)
    return outlying, table.with_columns(changes=changes).drop("verdict", "verdict_without")


_WHY = {
    "one_speaker": "one speaker: the group cannot be told from the person",
    "too_few_speakers": "so few speakers show no difference, however large it is",
    "too_few_errors": "no error was made for either group",
    "undefined": "all speakers have the same word error rate: there is no spread to test with",
}


def untested(pairs: pl.DataFrame, speakers: pl.DataFrame) -> list[Refusal]:
    """Say which groups were not compared, and why; of two, the smaller one is why where speakers are few."""
    errors = speakers.group_by("recognizer", maintain_order=True).agg(pl.col("errors").sum())
    silent = errors.filter(pl.col("errors") == 0)["recognizer"].to_list()
    text = "it made no error at all: there is nothing to compare"
    refusals = [Refusal("too_few_errors", f"recognizer '{name}'", text, {"errors": 0}) for name in silent]
    rows = pairs.filter(pl.col("p").is_null(), ~pl.col("recognizer").is_in(silent)) if pairs.height else pairs
    found: dict[tuple[str, str], dict[str, None]] = {}
    for row in rows.to_dicts():
        code, few = why_untested(row)[0], min(row["speakers"], row["speakers_against"])
        for side, count in (("group", row["speakers"]), ("against", row["speakers_against"])):
            if code in ("too_few_errors", "undefined") or count == few:
                found.setdefault((row["attribute"], code), {})[row[side]] = None
    for (name, code), groups in found.items():
        about = f"'{name}' = " + listed(f"'{group}'" for group in groups)
        refusals.append(Refusal(code, about, _WHY[code], {"attribute": name, "groups": list(groups)}))
    return refusals


def why_untested(row: Mapping[str, Any]) -> tuple[str, str]:
    """Return the code and the words for a pair without a test."""
    sizes = row["speakers"], row["speakers_against"]
    if not row["wer"] and not row["wer_against"]:
        code = "too_few_errors"
    elif min(sizes) < 2:
        code = "one_speaker"
    elif math.isclose(row["wer"], row["wer_against"], abs_tol=1e-12):
        code = "undefined"
    else:
        return (
            "too_few_speakers",
            f"{sizes[0]} and {sizes[1]} speakers show no difference, however large it is",
        )
    return code, _WHY[code].partition(":")[0]
