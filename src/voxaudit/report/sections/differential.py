"""Differential: whom does disturbed speech hurt more? Asked without reference texts, with what survives a test."""

from __future__ import annotations

import polars as pl

from voxaudit.audits.differential import Findings, View
from voxaudit.errors import VoxauditError
from voxaudit.report.context import Context
from voxaudit.report.document import Finding, Refusal, Section, Table
from voxaudit.report.parts import Spec, counted, finding_id, listed, refusal, table_of, unique
from voxaudit.report.remedies import refuse
from voxaudit.report.sections.disparity import ask
from voxaudit.wording import p_value

AUDIT = "differential"
MOST_VIOLATIONS = 200
CELL = ("group", "against", "pair", "scenario")


def section(context: Context) -> Section:
    """Return the chapter."""
    findings: list[Finding] = []
    tables: list[Table] = []
    notes: list[str] = []
    refusals: list[Refusal] = []
    if not context.attributes:
        refusals.append(ask(context))
    for place, (attribute, found) in enumerate(context.differentials.items()):
        if isinstance(found, VoxauditError):
            refusals.append(refusal(AUDIT, attribute, found, "the table"))
            continue
        findings += _findings(attribute, found)
        tables += _tables(place, attribute, found)
        notes += [f"{attribute}: {note}." for note in found.notes]
        notes += [f"{attribute}: left out: {count} {what}." for what, count in found.left_out.items()]
        refusals += [refuse(AUDIT, attribute, why) for why in found.refusals]
    return Section(
        id=AUDIT,
        title="Groups under disturbance, without reference texts",
        lead=(
            "Where two recognizers drift further apart under a disturbance for one group than for another, by more than"
            " a tolerance, AequeVox's rule counts a violation (Rajan et al. 2022). The rule counts violations where"
            " groups mean nothing, too: `by chance` is what it finds when speakers change groups at random, and only"
            " what survives a test with false-discovery control is a finding. To drift apart is not to make more"
            " errors: a group that both recognizers get wrong in clean speech has little room to.",
        )
        if context.attributes
        else (),
        findings=tuple(findings),
        tables=tuple(tables),
        notes=tuple(notes),
        refusals=unique(refusals),
    )


def surviving(view: View) -> pl.DataFrame:
    """Return the cells (group, against, pair, scenario) with a significant violation, at their largest tau."""
    rows = view.violations.filter(pl.col("significant").fill_null(False))
    cells = rows.sort("tau", descending=True, maintain_order=True).unique(
        CELL, keep="first", maintain_order=True
    )
    return cells.sort("tau", "gap", descending=True, maintain_order=True)


def _findings(attribute: str, found: Findings) -> list[Finding]:
    view = found.view
    cells = surviving(view)
    totals = view.counts()["totals"]
    asked = len(view.pairs) * len(view.scenarios)
    if not view.tested:
        why = found.refusals[0] if found.refusals else "no question could be tested"
        sentence = f"Without reference texts: no conclusion about {attribute}: {why.rstrip('.')}."
        return [_finding(attribute, None, "refused", sentence, None, headline=True)]
    counted = sum(totals.values())
    chance = (
        "" if view.chance is None else f", {sum(c.mean for c in view.chance.values()):.0f} expected by chance"
    )
    rule = f"{counted} violations by the plain rule{chance}"
    if cells.is_empty():
        sentence = (
            f"Without reference texts: disturbed speech is not shown to drive recognizers further apart for one group"
            f" of {attribute} than for another ({rule}; none survives a false-discovery rate of {100 * found.fdr:g} %)."
        )
        return [_finding(attribute, None, "not_shown", sentence, 0.0, headline=True)]
    findings = []
    for (group,), own in cells.group_by("group", maintain_order=True):
        one = None if view.chance is None else view.chance[str(group)]
        expected = "" if one is None else f"; {one.mean:.0f} expected by chance, {p_value(one.p)}"
        against = listed(own["against"].unique(maintain_order=True).to_list())
        sentence = (
            f"Without reference texts: disturbed speech drives recognizers further apart for {group} ({attribute}) than"
            f" for {against} in {own.height} of {asked * own['against'].n_unique()} comparisons, at a"
            f" false-discovery rate of {100 * found.fdr:g} % ({totals[group]} violations by the plain rule{expected})."
        )
        findings.append(_finding(attribute, str(group), "shown", sentence, float(own.height), headline=True))
    return findings


def _finding(
    attribute: str, group: str | None, verdict: str, sentence: str, count: float | None, *, headline: bool
) -> Finding:
    return Finding(
        id=finding_id(AUDIT, attribute, group, "violations"),
        audit=AUDIT,
        verdict=verdict,  # type: ignore[arg-type]
        sentence=sentence,
        measure="violations",
        estimate=count,
        unit="comparisons",
        attribute=attribute,
        group=group,
        headline=headline,
    )


def _tables(place: int, attribute: str, found: Findings) -> list[Table]:
    view = found.view
    totals, survived = view.counts()["totals"], view.counts(significant=True)["totals"]
    rows = []
    for group in view.groups:
        chance = None if view.chance is None else view.chance[group]
        rows.append(
            {
                "group": group,
                "speakers": None if found.speakers is None else found.speakers[group],
                "violations": totals[group],
                "chance": None if chance is None else round(chance.mean),
                "upper": None if chance is None else round(chance.upper),
                "p": None if chance is None else chance.p,
                "survived": survived[group] if view.tested else None,
            }
        )
    by_group: tuple[Spec, ...] = (
        ("group", "group", "text"),
        ("speakers", "speakers", "count"),
        ("violations", "violations (plain rule)", "count"),
        ("chance", "by chance: mean", "count"),
        ("upper", "by chance: 95th percentile", "count"),
        ("p", "p of the total", "p"),
        ("survived", "survive the test", "count"),
    )
    note = (
        f"{counted(len(view.pairs), 'pair')} of recognizers, {counted(len(view.scenarios), 'scenario')}, tolerances"
        f" {', '.join(f'{100 * tau:g}' for tau in view.taus)} percentage points; of what survives, about"
        f" {100 * found.fdr:g} % at most is by chance (false-discovery rate over {view.family:,} questions)."
    )
    frame = pl.DataFrame(rows, infer_schema_length=None)
    tables = [table_of(f"violations-{place}", f"Violations by {attribute}", frame, by_group, note=note)]
    tables.append(_rules(place, attribute, view))
    cells = surviving(view)
    if cells.height:
        tables.append(_survivors(place, attribute, cells))
    return tables


def _rules(place: int, attribute: str, view: View) -> Table:
    """Return the counts by tolerance, pair and perturbation, one row a group."""
    counts, survived = view.counts(), view.counts(significant=True)
    rows = [
        (kind, _label(kind, label), group, row[group], survived[key][label][group] if view.tested else None)
        for kind, key in (
            ("tolerance", "by_tau"),
            ("pair", "by_pair"),
            ("perturbation", "by_perturbation"),
        )
        for label, row in counts[key].items()
        for group in view.groups
        if row[group]
    ]
    names = {
        "by": pl.String,
        "value": pl.String,
        "group": pl.String,
        "violations": pl.Int64,
        "survived": pl.Int64,
    }
    columns: tuple[Spec, ...] = (
        ("by", "counted by", "text"),
        ("value", "which", "text"),
        ("group", "group", "text"),
        ("violations", "violations (plain rule)", "count"),
        ("survived", "survive the test", "count"),
    )
    frame = pl.DataFrame(rows, schema=names, orient="row")
    return table_of(f"rules-{place}", f"Where violations by {attribute} are", frame, columns)


def _label(kind: str, label: object) -> str:
    return f"{100 * float(str(label)):g} points" if kind == "tolerance" else str(label)


def _survivors(place: int, attribute: str, cells: pl.DataFrame) -> Table:
    columns: tuple[Spec, ...] = (
        ("group", "group", "text"),
        ("against", "against", "text"),
        ("pair", "pair", "text"),
        ("scenario", "scenario", "text"),
        ("gap", "gap", "points"),
        ("interval", "95 % interval", "interval"),
        ("tau", "beyond", "points"),
        ("p", "p", "p"),
        ("q", "q", "p"),
    )
    return table_of(
        f"survivors-{place}",
        f"Violations by {attribute} that survive",
        cells,
        columns,
        intervals={"interval": ("ci_low", "ci_high")},
        most=MOST_VIOLATIONS,
        rest="`voxaudit differential RUN --json`",
        note="The gap is how much further apart two recognizers drift for the group than for the other; it survives"
        " at the largest tolerance beyond which q, the p-value corrected for all questions, is small enough.",
    )
