"""The checklist: every best practice of Herron et al., section 3, with what this audit can say about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import polars as pl

from voxaudit.audits.parity.canary import middle_bands
from voxaudit.audits.parity.findings import Findings
from voxaudit.audits.parity.measures import QUALITY_PART, TEXT_PART
from voxaudit.audits.parity.options import COMPLEXITY, MEAN, MISSING, OTHER, QUALITY, percentage_points
from voxaudit.stats.power import speakers_needed, whole_speakers

PASS, CAUTION, CANNOT = "pass", "caution", "cannot be checked"


@dataclass(frozen=True)
class Check:
    """One best practice: its status is pass, caution or cannot be checked."""

    practice: str
    status: str
    why: str
    recognizer: str | None = None
    """Whose results it speaks of, where recognizers differ; None: it holds for all."""


def every_check(found: Findings) -> tuple[Check, ...]:
    """Go through the practices for every recognizer by itself; what is the same for all of them is said once."""
    singles = [name for name in found.recognizers if name != MEAN]
    own = [checklist(replace(found, main=name)) for name in singles]
    rows: list[Check] = []
    for checks in zip(*own, strict=True):
        alike = len(set(checks)) == 1
        named = [replace(check, recognizer=name) for name, check in zip(singles, checks, strict=True)]
        rows += checks[:1] if alike else named
    return tuple(rows)


def checklist(found: Findings) -> tuple[Check, ...]:
    """Go through the practices in the paper's order, with what the results of `found.main` say."""
    checks: tuple[tuple[str, Callable[[Findings], tuple[str, str]]], ...] = (
        ("equal recording quality (3.1)", _quality),
        ("comparable text complexity (3.2)", _complexity),
        ("intersectional groups (3.3.1)", _intersections),
        ("conditional parity (3.3.2)", _conditional),
        ("the middle-age canary (3.3.3)", _canary),
        ("groups measured by speakers (3.4)", _speakers),
        ("enough speakers (3.4.1)", _enough),
        ("rare groups aggregated (3.5.1)", _rare),
        ("no superfluous precision (3.5.2)", _precision),
        ("outliers (3.6)", _outliers),
    )
    return tuple(Check(practice, *check(found)) for practice, check in checks)


def _quality(found: Findings) -> tuple[str, str]:
    return _balanced(found, QUALITY_PART, tuple(QUALITY))


def _complexity(found: Findings) -> tuple[str, str]:
    return _balanced(found, TEXT_PART, tuple(COMPLEXITY))


def _balanced(found: Findings, part: str, measures: tuple[str, ...]) -> tuple[str, str]:
    tests = found.balance_tests
    tests = tests.filter(pl.col("measure").is_in(measures)) if tests.height else tests
    if not tests.height:
        return CANNOT, found.missing.get(part, "nothing was measured")
    lacking = "".join(
        f"; {name} is not known ({why})" for name, why in found.missing.items() if name in measures
    )
    uneven = tests.filter(~pl.col("balanced"))
    if uneven.height:
        where = ", ".join(f"{row['measure']} by {row['attribute']}" for row in uneven.iter_rows(named=True))
        return CAUTION, f"not balanced: {where}; read the affected results with that in mind{lacking}"
    # Balance is only shown where an imbalance as large as the paper's example (2/3 of a standard deviation) would show.
    needed = whole_speakers(
        speakers_needed(2 / 3, 1.0, confidence=found.settings.confidence, power=found.settings.power)
    )
    # Where everybody is alike (all read the same texts), no more speakers are needed to see it.
    unsure = tests.filter(pl.col("fewest_speakers") < needed, ~pl.col("identical"))
    few = unsure["attribute"].unique(maintain_order=True).to_list()
    if few:
        return CAUTION, (
            f"no imbalance found, but groups of {_list(few)} have fewer than the {needed} speakers that would show"
            f" one{lacking}"
        )
    return (
        PASS,
        f"{_list(tests['measure'].unique(maintain_order=True).to_list())} do not differ between groups{lacking}",
    )


def _intersections(found: Findings) -> tuple[str, str]:
    if len(found.attributes) < 2:
        return CANNOT, "there is one attribute: nothing to cross"
    table = found.intersectional.filter(pl.col("recognizer") == found.main)
    enough = int(table["enough_speakers"].sum())
    if not enough:
        return CANNOT, f"none of the {table.height} intersectional groups has enough speakers"
    if enough < table.height:
        return CAUTION, (
            f"{enough} of {table.height} intersectional groups have enough speakers; the others are listed with the"
            " number that is missing. Best and worst were picked among the former: expect them to be less extreme"
        )
    return PASS, f"all {enough} intersectional groups have enough speakers"


def _conditional(found: Findings) -> tuple[str, str]:
    if len(found.attributes) < 2:
        return CANNOT, "there is one attribute: nothing can be held fixed"
    if not found.conditional.height:
        return CANNOT, "no two groups differ in one attribute alone"
    table = found.conditional.filter(pl.col("recognizer") == found.main)
    plain = found.univariate.filter(pl.col("recognizer") == found.main)
    keys = ["attribute", "group"]
    both = plain.select(*keys, "p_adjusted").join(
        table.select(*keys, pl.col("p_adjusted").alias("fixed"), "speakers", "speakers_used"), on=keys
    )
    level = found.settings.alpha
    gone = both.filter(pl.col("p_adjusted") < level, (pl.col("fixed") >= level) | pl.col("fixed").is_null())
    if gone.height:
        names = _list([f"{a} = {b}" for a, b in gone.select(keys).iter_rows()])
        return CAUTION, f"differences that are not shown once the other attributes are held fixed: {names}"
    absent = [name for name in found.attributes if name not in table["attribute"].to_list()]
    thin = both.filter(pl.col("speakers_used") < 0.5 * pl.col("speakers"))
    if absent or thin.height:
        groups = [*absent, *(f"{a} = {b}" for a, b in thin.select(keys).iter_rows())]
        return (
            CAUTION,
            f"with all else fixed, fewer than half of the speakers can be compared for: {_list(groups)}",
        )
    return PASS, "what the univariate comparison shows holds with all other attributes fixed"


def _canary(found: Findings) -> tuple[str, str]:
    if found.age is None or found.age not in found.attributes:
        return CANNOT, "there is no attribute of ages (name it with --age)"
    table = found.canary.filter(pl.col("recognizer") == found.main) if found.canary.height else found.canary
    if not table.height:
        return (
            CANNOT,
            f"'{found.age}' has no two adjacent bands between 18 and 65 years with two speakers each",
        )
    bands = [f"{row['first']} and {row['second']}" for row in table.filter("differs").iter_rows(named=True)]
    if bands:
        return (
            CAUTION,
            f"{_list(bands)} differ, which voices do not explain: look for what else they differ in",
        )
    if not table["enough_speakers"].all():
        short = table.filter(~pl.col("enough_speakers"))
        names = _list([f"{row['first']} and {row['second']}" for row in short.iter_rows(named=True)])
        return CANNOT, f"too few speakers to say that adjacent bands are treated alike: {names}"
    return PASS, f"adjacent adult bands of '{found.age}' show no difference"


def _speakers(found: Findings) -> tuple[str, str]:
    if found.surrogate:
        return CANNOT, (
            f"there are no speakers; combinations of {', '.join(found.surrogate)} stand in for them, and one of those"
            " may be many people"
        )
    chosen = found.gaps.filter(
        (pl.col("recognizer") == found.main) & pl.col("choice_matters").fill_null(False)
    )
    if chosen.height:
        return CAUTION, (
            "another way of averaging (over utterances, or pooled) would name another best or worst group for"
            f" {_list(chosen['attribute'].to_list())}; the speaker mean is the one that is tested"
        )
    lost = found.left_out.get("no speaker", 0)
    if lost:
        return CAUTION, f"{lost} rows without a speaker were left out"
    return (
        PASS,
        "groups are means over speakers of their mean over utterances; the other averages agree on the order",
    )


def _enough(found: Findings) -> tuple[str, str]:
    table = found.univariate.filter(pl.col("recognizer") == found.main)
    short = table.filter(~pl.col("enough_speakers"))
    asked = percentage_points(found.gaps_asked[found.main])
    if short.height:
        names = _list([_shortfall(row) for row in short.iter_rows(named=True)])
        return CAUTION, f"too few speakers to show a gap of {asked}: {names}"
    return PASS, f"every group has the speakers that a gap of {asked} needs (Eq. 1)"


def _shortfall(row: dict[str, object]) -> str:
    name = f"{row['attribute']} = {row['group']}"
    more = row["more_needed"]
    return f"{name} ({more} more needed)" if more else f"{name} (too few others)"


def _rare(found: Findings) -> tuple[str, str]:
    table = found.univariate.filter(pl.col("recognizer") == found.main)
    rare = table.filter((pl.col("more_needed").fill_null(1) > 0) & ~pl.col("group").is_in([OTHER, MISSING]))
    # Merging two groups of two would leave nothing to compare.
    many = [name for name, groups in found.order.items() if len(groups) > 2]
    crowded = rare.filter(pl.len().over("attribute") >= 2).filter(pl.col("attribute").is_in(many))
    merged = ", ".join(f"{len(groups)} of '{name}'" for name, groups in found.merged.items())
    if crowded.height:
        names = _list([f"{a} = {b}" for a, b in crowded.select("attribute", "group").iter_rows()])
        return CAUTION, f"rare groups that could be merged where that makes sense (--merge-below): {names}"
    return PASS, f"merged into '{OTHER}': {merged}" if merged else "no attribute has several rare groups"


def _precision(found: Findings) -> tuple[str, str]:
    if found.age is None or found.age not in found.attributes:
        return CANNOT, "only ages are checked, and there is no attribute of ages (name it with --age)"
    bands = middle_bands(found.order[found.age])
    if len(bands) > 1:
        return CAUTION, (
            f"'{found.age}' splits middle age into {', '.join(bands)}: good for the canary, but in the other"
            " comparisons each band costs speakers; merge them there (--bands)"
        )
    return PASS, f"'{found.age}' does not split middle age"


def _outliers(found: Findings) -> tuple[str, str]:
    far = found.outlier_speakers.filter(pl.col("recognizer") == found.main)
    table = found.outlier_comparison.filter(pl.col("recognizer") == found.main)
    changed = table.filter("changes")
    limit = f"|z| > {found.settings.outlier_z:g}"
    if changed.height:
        names = _list([f"{a} = {b}" for a, b in changed.select("attribute", "group").iter_rows()])
        return CAUTION, f"without speakers and utterances beyond {limit} the verdict changes for: {names}"
    return PASS, f"{far.height} speakers beyond {limit}; no verdict depends on them or on outlying utterances"


def _list(names: list[str], most: int = 6) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
