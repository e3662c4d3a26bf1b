"""The checklist: every best practice of Herron et al., section 3, with what this audit can say about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from voxaudit.answer import Note
from voxaudit.audits.parity.compare import PAIR
from voxaudit.audits.parity.speakers import Settings, Speakers, Trials
from voxaudit.corpus.bands import OTHER, middle_bands
from voxaudit.score.measures import COMPLEXITY, MEASURE_NAMES, QUALITY, QUALITY_PART, TEXT_PART
from voxaudit.stats.balance import balance_test
from voxaudit.stats.group_means import FEWEST_CROSSED, Order
from voxaudit.stats.multiplicity import holm
from voxaudit.stats.power import speakers_needed, whole_speakers
from voxaudit.stats.speaker_means import OUTLIER_Z
from voxaudit.wording import counted, in_points, listed, p_value

PASS, CAUTION, CANNOT = "pass", "caution", "cannot be checked"


# Are the groups alike in what they said and how they were recorded?


def balance(people: pl.DataFrame, measures: Sequence[str], order: Order, settings: Settings) -> pl.DataFrame:
    """Compare the speakers' means of each measure between the groups of each attribute."""
    rows = [balance_test(people, measure, name) for measure in measures for name in order]
    if not rows:
        return pl.DataFrame()
    tests = pl.DataFrame(rows, infer_schema_length=None)
    adjusted = pl.Series("p_adjusted", holm(tests["p"].to_list()), dtype=pl.Float64)
    return tests.with_columns(adjusted, balanced=~(adjusted < settings.alpha).fill_null(False))


def imbalances(tests: pl.DataFrame) -> list[Note]:
    """Return the cautions that follow from measures that differ between groups."""
    uneven = tests.filter(~pl.col("balanced")).to_dicts() if tests.height else []
    return [
        Note(
            "imbalance",
            f"{MEASURE_NAMES[row['measure']]} differs between groups of '{row['attribute']}': {row['lowest']} lowest"
            f" ({row['lowest_mean']:.3g}), {row['highest']} highest ({row['highest_mean']:.3g}), adjusted"
            f" {p_value(row['p_adjusted'])}; a difference in word error rate may come from that",
            {"attribute": row["attribute"], "measure": row["measure"], "p_adjusted": row["p_adjusted"]},
        )
        for row in uneven
    ]


# The practices


@dataclass(frozen=True)
class _Facts:
    """What the practices look at: the tables' rows of one recognizer, and what is known of all."""

    trials: Trials
    speakers: Speakers
    settings: Settings
    gap: float
    tables: Mapping[str, pl.DataFrame]
    recognizer: str

    def rows(self, name: str) -> pl.DataFrame:
        """Return the rows of a table that speak of this recognizer."""
        table = self.tables.get(name, pl.DataFrame())
        if table.is_empty() or "recognizer" not in table.columns:
            return table
        return table.filter(pl.col("recognizer") == self.recognizer)


def checklist(
    trials: Trials,
    speakers: Speakers,
    settings: Settings,
    gaps: dict[str, float],
    tables: Mapping[str, pl.DataFrame],
) -> pl.DataFrame:
    """Go through the practices for every recognizer by itself: practice, status, why, recognizer.

    What is the same for all of them is said once, without a recognizer.
    """
    facts = [_Facts(trials, speakers, settings, gaps[name], tables, name) for name in speakers.single]
    rows = []
    for practice, check in _PRACTICES.items():
        answers = [check(own) for own in facts]
        alike = len(set(answers)) == 1
        for own, (status, why) in zip(facts[:1] if alike else facts, answers, strict=False):
            rows.append((practice, status, why, None if alike else own.recognizer))
    schema = dict.fromkeys(("practice", "status", "why", "recognizer"), pl.String)
    return pl.DataFrame(rows, schema=schema, orient="row")


def _quality(facts: _Facts) -> tuple[str, str]:
    return _balanced(facts, QUALITY_PART, QUALITY)


def _complexity(facts: _Facts) -> tuple[str, str]:
    return _balanced(facts, TEXT_PART, COMPLEXITY)


def _balanced(facts: _Facts, part: str, measures: Mapping[str, str]) -> tuple[str, str]:
    missing = facts.trials.measured.missing
    tests = facts.tables.get("balance", pl.DataFrame())
    tests = tests.filter(pl.col("measure").is_in(list(measures))) if tests.height else tests
    if not tests.height:
        return CANNOT, missing.get(part, "nothing was measured")
    lacking = "".join(
        f"; {measures[name]} is not known ({why})" for name, why in missing.items() if name in measures
    )
    uneven = [
        f"{measures[row['measure']]} by {row['attribute']}"
        for row in tests.filter(~pl.col("balanced")).to_dicts()
    ]
    if uneven:
        return (
            CAUTION,
            f"not balanced: {', '.join(uneven)}; read the affected results with that in mind{lacking}",
        )
    # Balance is only shown where an imbalance as large as the paper's example (2/3 of a standard deviation) would show.
    level, power = facts.settings.confidence, facts.settings.power
    needed = whole_speakers(speakers_needed(2 / 3, 1.0, confidence=level, power=power))
    # Where everybody is alike (all read the same texts), no more speakers are needed to see it.
    unsure = tests.filter(pl.col("fewest_speakers") < needed, ~pl.col("identical"))
    few = unsure["attribute"].unique(maintain_order=True).to_list()
    if few:
        return CAUTION, (
            f"no imbalance found, but groups of {listed(few)} have fewer than the {needed} speakers that would show"
            f" one{lacking}"
        )
    known = tests["measure"].unique(maintain_order=True).to_list()
    return PASS, f"no difference between groups: {', '.join(measures[name] for name in known)}{lacking}"


def _intersections(facts: _Facts) -> tuple[str, str]:
    table = facts.rows("intersectional")
    if not table.height:
        return CANNOT, "no second attribute is known of the same speakers: nothing to cross"
    enough = int(table["enough_speakers"].sum())
    if not enough:
        return CANNOT, f"none of the {table.height} intersectional groups has enough speakers"
    if enough < table.height:
        return CAUTION, (
            f"{enough} of {table.height} intersectional groups have enough speakers; the others are listed with the"
            " number that is missing. Best and worst were picked among the former: expect them to be less extreme"
        )
    return PASS, f"all {enough} intersectional groups have enough speakers"


def _conditional(facts: _Facts) -> tuple[str, str]:
    if len(facts.speakers.order) < 2:
        return CANNOT, "there is one attribute: nothing can be held fixed"
    table = facts.rows("conditional")
    table = table.filter(pl.col("p").is_not_null()) if table.height else table
    if not table.height:
        return CANNOT, "no two groups differ in one attribute alone"
    fixed = table.select(*PAIR, pl.col("verdict").alias("fixed"), pl.col("speakers").alias("used"))
    both = facts.rows("pairs").join(fixed, on=PAIR, how="inner", maintain_order="left")
    shown, still = pl.col("verdict") == "shown", pl.col("fixed") == "shown"
    said = {
        "not shown once the other attributes are held fixed": both.filter(shown & ~still),
        "shown only with the other attributes held fixed": both.filter(~shown & still),
    }
    changed = [f"{what}: {_pairs(rows)}" for what, rows in said.items() if rows.height]
    if changed:
        return CAUTION, "; ".join(changed)
    absent = [name for name in facts.speakers.order if name not in table["attribute"].to_list()]
    names = absent + _names(both.filter(pl.col("used") < 0.5 * pl.col("speakers")))
    if names:
        return CAUTION, (
            "with all else fixed, fewer than half of the speakers can be compared for:"
            f" {listed(dict.fromkeys(names))}"
        )
    return PASS, "what is shown of two groups holds with all other attributes fixed"


def _canary(facts: _Facts) -> tuple[str, str]:
    table = facts.rows("canary")
    if not table.height:
        return CANNOT, (
            "there are no two adjacent bands of age between 18 and 65 years with two speakers each (`age` names the"
            " attribute of ages), and no other attribute that voices have nothing to do with (`canaries`)"
        )

    def bands(rows: pl.DataFrame) -> list[str]:
        return [f"{row['group']} and {row['against']} ({row['canary']})" for row in rows.to_dicts()]

    if differ := bands(table.filter("differs")):
        return (
            CAUTION,
            f"{listed(differ)} differ, which voices do not explain: look for what else they differ in",
        )
    farthest = pl.max_horizontal(pl.col("low").abs(), pl.col("high").abs())
    wide = table.filter(~(farthest < facts.gap).fill_null(False))
    if wide.height:
        return CANNOT, (
            f"no difference is shown, but one of {in_points(facts.gap)} is not excluded either: {listed(bands(wide))}"
        )
    return PASS, f"{listed(bands(table))} differ by less than {in_points(facts.gap)}"


def _speakers(facts: _Facts) -> tuple[str, str]:
    if facts.trials.surrogate:
        return CANNOT, (
            f"there are no speakers; combinations of {', '.join(facts.trials.surrogate)} stand in for them, and one of"
            " those may be many people"
        )
    chosen = facts.rows("gaps").filter(pl.col("choice_matters").fill_null(False))
    if chosen.height:
        return CAUTION, (
            "another way of averaging (over utterances, or pooled) would name another best or worst group for"
            f" {listed(chosen['attribute'].to_list())}; the speaker mean is the one that is tested"
        )
    if lost := facts.trials.left_out.get("no speaker", 0):
        return CAUTION, f"{lost} rows without a speaker were left out"
    return (
        PASS,
        "groups are means over speakers of their mean over utterances; the other averages agree on the order",
    )


def _enough(facts: _Facts) -> tuple[str, str]:
    groups = facts.rows("groups")
    if not groups["sigma"].fill_null(0.0).max():
        return (
            CANNOT,
            "speakers do not differ in their errors here, so nothing says how much they do elsewhere",
        )
    needed = dict(groups.drop_nulls("speakers_needed").select("attribute", "speakers_needed").iter_rows())
    several = len(needed) > 1
    said = listed(f"{count} ({name})" if several else str(count) for name, count in needed.items())
    asked = f"a gap of {in_points(facts.gap)} needs about {said} speakers on each side (Eq. 1)"
    # A gap that is shown needs no more speakers.
    shown = facts.rows("pairs").filter(pl.col("verdict") == "shown")
    found = {(row["attribute"], row[end]) for row in shown.to_dicts() for end in ("group", "against")}
    short = [
        f"{row['attribute']} = {row['group']} ({row['speakers']})"
        for row in groups.filter(~pl.col("enough_speakers")).to_dicts()
        if (row["attribute"], row["group"]) not in found
    ]
    if short:
        return CAUTION, f"{asked}; fewer, or against fewer, are: {listed(short)}"
    return PASS, f"{asked}, and every group has them{' or is in a gap that is shown' if found else ''}"


def _rare(facts: _Facts) -> tuple[str, str]:
    few = pl.col("speakers") < FEWEST_CROSSED
    rare = facts.rows("groups").filter(few, pl.col("group") != OTHER)
    # Merging two groups of two would leave nothing to compare.
    many = [name for name, groups in facts.speakers.order.items() if len(groups) > 2]
    crowded = rare.filter(pl.len().over("attribute") >= 2).filter(pl.col("attribute").is_in(many))
    if crowded.height:
        return CAUTION, (
            f"groups of fewer than the {FEWEST_CROSSED} speakers that a comparison needs could be merged where that"
            f" makes sense (`merge_below`): {listed(_names(crowded))}"
        )
    merged = ", ".join(f"{len(groups)} of '{name}'" for name, groups in facts.speakers.merged.items())
    return PASS, f"merged into '{OTHER}': {merged}" if merged else "no attribute has several rare groups"


def _precision(facts: _Facts) -> tuple[str, str]:
    age = facts.speakers.age
    if age not in facts.speakers.order:
        return CANNOT, "only ages are checked, and there is no attribute of ages (`age` can name one)"
    bands = middle_bands(facts.speakers.order[age])
    if len(bands) > 1:
        return CAUTION, (
            f"'{age}' splits middle age into {listed(bands)}: good for the canary, but in the other comparisons each"
            " band costs speakers; wider ones (`bands`) would not"
        )
    return PASS, f"'{age}' does not split middle age"


def _outliers(facts: _Facts) -> tuple[str, str]:
    table = facts.rows("without_outliers")
    changed = table.filter("changes") if table.height else table
    limit = f"|z| > {OUTLIER_Z:g}"
    if changed.height:
        return (
            CAUTION,
            f"without speakers and utterances beyond {limit} the verdict changes for: {_pairs(changed)}",
        )
    far = facts.rows("outlying_speakers").height
    return (
        PASS,
        f"{counted(far, 'speaker')} beyond {limit}; no verdict depends on them or on outlying utterances",
    )


def _names(table: pl.DataFrame) -> list[str]:
    return [f"{attribute} = {group}" for attribute, group in table.select("attribute", "group").iter_rows()]


def _pairs(table: pl.DataFrame) -> str:
    rows = table.select("attribute", "group", "against").iter_rows()
    return listed(f"{attribute} = {group} and {against}" for attribute, group, against in rows)


_PRACTICES: dict[str, Callable[[_Facts], tuple[str, str]]] = {
    "equal recording quality (3.1)": _quality,
    "comparable text complexity (3.2)": _complexity,
    "intersectional groups (3.3.1)": _intersections,
    "conditional parity (3.3.2)": _conditional,
    "canaries of the voice (3.3.3)": _canary,
    "groups measured by speakers (3.4)": _speakers,
    "enough speakers (3.4.1)": _enough,
    "rare groups aggregated (3.5.1)": _rare,
    "no superfluous precision (3.5.2)": _precision,
    "outliers (3.6)": _outliers,
}
