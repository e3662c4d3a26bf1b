"""Robustness: what every disturbance costs, who bears it best, and what is heard where nobody speaks."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import polars as pl

from voxaudit.audits.robustness import Robustness
from voxaudit.audits.robustness.groups import SHOWN
from voxaudit.audits.robustness.levels import ALL
from voxaudit.errors import VoxauditError
from voxaudit.report.context import NO_REFERENCES, Context
from voxaudit.report.document import Finding, Section, Table, Verdict
from voxaudit.report.numbers import in_points, percent_interval
from voxaudit.report.parts import Spec, counted, finding_id, listed, refusal, spoken, table_of, unique
from voxaudit.report.remedies import refuse
from voxaudit.report.sections.robustness_figures import figures

AUDIT = "robustness"
NAMES = {"wer": "WER", "werd": "WERD", "nwerd": "NWERD"}
RANKED_BY = {
    "wer": "word error rate",
    "werd": "the errors that disturbances add",
    "nwerd": "the errors that disturbances add, weighed by their difficulty",
}
"""What a measure is called where nobody has explained it yet."""


def section(context: Context) -> Section:
    """Return the chapter."""
    found = context.robustness
    title = "Robustness"
    if isinstance(found, VoxauditError):
        return Section(AUDIT, title, refusals=(refusal(AUDIT, "robustness", found, context.run.folder),))
    disturbed = found.levels.filter((pl.col("level") == "scenario") & (pl.col("name") != "clean"))
    if disturbed.is_empty() and found.inserted.is_empty():
        if context.scores.height:
            how = "add scenarios or a suite to [scenarios] of audit.toml, and run it again"
            none = refuse(AUDIT, "robustness", "only clean speech was heard and scored", how)
        else:
            none = refuse(AUDIT, "robustness", NO_REFERENCES)
        return Section(AUDIT, title, refusals=(none,))
    return Section(
        id=AUDIT,
        title=title,
        lead=_lead(found),
        findings=(
            *_overall(context, found),
            *_ranking(found),
            *_categories(found),
            *_silence(found),
            *_groups(context, found),
        ),
        figures=figures(context, found),
        tables=tuple(_tables(context, found)),
        notes=tuple(f"{note}." for note in found.notes),
        refusals=unique(refuse(AUDIT, one.about, one.reason) for one in found.refusals),
    )


def _lead(found: Robustness) -> tuple[str, ...]:
    lead = [
        "WERD is the word error rate under a disturbance less that on clean speech, in percentage points:"
        " the errors that the disturbance adds. Severities run from mild to harsh. Averages count every category"
        " equally and, within one, every perturbation, whatever the number of its severities."
    ]
    if found.measure == "nwerd":
        lead.append(
            "NWERD divides it by how difficult the disturbed audio is to bear (100 is twice the average difficulty),"
            f" so that scenarios can be compared; difficulties: {found.difficulty_source}."
        )
    return tuple(lead)


def _overall(context: Context, found: Robustness) -> list[Finding]:
    """Return what disturbed speech costs each recognizer on average, and where it costs most."""
    findings = []
    for name in context.recognizers:
        own = found.levels.filter(pl.col("recognizer") == name)
        rows = own.filter(
            (pl.col("level") == "overall") & (pl.col("name") == ALL) & pl.col("werd").is_not_null()
        )
        if rows.is_empty():
            continue
        row = rows.row(0, named=True)
        worst = own.filter((pl.col("level") == "category") & pl.col("werd").is_not_null())
        worst = worst.sort("werd", descending=True, maintain_order=True)
        over, most = counted(row["scenarios"], "scenario"), ""
        if worst.height > 1:
            top = worst.row(0, named=True)
            value = in_points(top["werd"], top["werd_low"], top["werd_high"])
            over = f"{worst.height} categories of disturbance ({over})"
            most = f"; most under {spoken(top['name'])}, {value}"
        cost = in_points(row["werd"], row["werd_low"], row["werd_high"])
        sentence = (
            f"Disturbed speech adds {cost} to the word error rate of {name}, on average over {over}{most}."
        )
        findings.append(_measured(row, name, "werd", sentence, headline=True))
        mean = percent_interval(row["wer"], row["wer_low"], row["wer_high"])
        sentence = f"On average over {over}, {name} gets {mean} of the words wrong."
        findings.append(_measured(row, name, "wer", sentence))
    return findings


def _measured(
    row: dict[str, Any], name: str, measure: str, sentence: str, *, headline: bool = False
) -> Finding:
    level = "overall" if row["level"] == "overall" else row["name"]
    return Finding(
        id=finding_id(AUDIT, name, level, measure),
        audit=AUDIT,
        verdict="measured",
        sentence=sentence,
        measure=measure,
        estimate=row[measure],
        low=row[f"{measure}_low"],
        high=row[f"{measure}_high"],
        recognizer=name,
        scenario=level,
        speakers=row["speakers"],
        headline=headline,
    )


def _categories(found: Robustness) -> list[Finding]:
    rows = found.levels.filter((pl.col("level") == "category") & pl.col("werd").is_not_null())
    findings = []
    for row in rows.iter_rows(named=True):
        measure = "werd" if row[found.measure] is None else found.measure
        value = in_points(row[measure], row[f"{measure}_low"], row[f"{measure}_high"])
        sentence = f"{spoken(row['name'])}: {NAMES[measure]} of {row['recognizer']} is {value}."
        findings.append(_measured(row, row["recognizer"], measure, sentence))
    return findings


def _ranking(found: Robustness) -> list[Finding]:
    """Return who bears disturbed speech best, where the data can tell."""
    ranks = found.ranking.filter((pl.col("name") == ALL) & pl.col("estimate").is_not_null())
    if ranks.height < 2:
        return []
    measure = ranks["measure"][0]
    how = f"by {RANKED_BY[measure]}; all pairs were compared at once"
    rows = ranks.sort("estimate", maintain_order=True).to_dicts()
    first = [row for row in rows if row["rank"] == 1]
    if not first:
        sentence = (
            "Which recognizer bears disturbed speech best cannot be told: fewer than five speakers are known."
        )
        verdict: Verdict = "refused"
    elif len(first) == 1:
        others = listed(row["recognizer"] for row in rows if row["rank"] != 1)
        sentence = f"{first[0]['recognizer']} bears disturbed speech better than {others} ({how})."
        verdict = "shown"
    else:
        *before, last = (row["recognizer"] for row in first)
        sentence = f"Which of {listed(before)} and {last} bears disturbed speech best is not shown ({how})."
        verdict = "not_shown"
    gap = next(pairwise(row["estimate"] for row in rows))
    return [
        Finding(
            id=finding_id(AUDIT, "ranking", measure),
            audit=AUDIT,
            verdict=verdict,
            sentence=sentence,
            measure=measure,
            estimate=gap[1] - gap[0],
            recognizer=first[0]["recognizer"] if len(first) == 1 else None,
            speakers=rows[0]["speakers"],
            headline=True,
        )
    ]


def _silence(found: Robustness) -> list[Finding]:
    findings = []
    for row in found.inserted.iter_rows(named=True):
        limits = (
            "" if row["low"] is None or row["high"] is None else f" ({row['low']:.1f} to {row['high']:.1f})"
        )
        sentence = (
            f"{row['recognizer']} hears {row['per_minute']:.1f}{limits} words a minute under {row['scenario']}, where"
            " nobody speaks."
        )
        findings.append(
            Finding(
                id=finding_id(AUDIT, row["recognizer"], row["scenario"], "words_per_minute"),
                audit=AUDIT,
                verdict="measured",
                sentence=sentence,
                measure="words_per_minute",
                estimate=row["per_minute"],
                low=row["low"],
                high=row["high"],
                unit="words a minute",
                recognizer=row["recognizer"],
                scenario=row["scenario"],
                speakers=row["speakers"],
                headline=row["per_minute"] > 0,
            )
        )
    return findings


def _groups(context: Context, found: Robustness) -> list[Finding]:
    """Return whether the ratio of two groups' error rates changes from clean to disturbed speech."""
    names = {column: name for name, column in context.column.items()}
    rows = found.groups.filter((pl.col("level") == "overall") & (pl.col("name") == ALL)).to_dicts()
    largest: dict[tuple[str, str], float] = {}
    for row in rows:
        if row["verdict"] == SHOWN:
            key = (row["recognizer"], row["attribute"])
            largest[key] = max(largest.get(key, 0.0), abs(row["lwerr"]))
    findings = []
    for row in rows:
        attribute = names[row["attribute"]]
        ratio, low, high = (
            None if v is None else 2.0**v for v in (row["lwerr"], row["lwerr_low"], row["lwerr_high"])
        )
        shown = row["verdict"] == SHOWN
        key = (row["recognizer"], row["attribute"])
        limits = "" if low is None or high is None else f" ({low:.2f} to {high:.2f})"
        sentence = (
            f"Over all disturbances {row['recognizer']} makes {ratio:.2f} times as many errors{limits} for"
            f" {row['group']} ({attribute}) as for {row['against']}: {row['verdict']}."
        )
        findings.append(
            Finding(
                id=finding_id(AUDIT, row["recognizer"], "overall", attribute, row["group"], "ratio"),
                audit=AUDIT,
                verdict="shown" if shown else "not_shown",
                sentence=sentence,
                measure="wer_ratio",
                estimate=ratio,
                low=low,
                high=high,
                unit="ratio",
                p=row["p_holm"],
                recognizer=row["recognizer"],
                scenario="overall",
                attribute=attribute,
                group=row["group"],
                speakers=row["speakers"],
                headline=shown and abs(row["lwerr"]) == largest[key],
            )
        )
    return findings


def _tables(context: Context, found: Robustness) -> list[Table]:
    tables = []
    ranking: tuple[Spec, ...] = (
        ("recognizer", "recognizer", "text"),
        ("rank", "rank, at best", "count"),
        ("rank_worst", "at worst", "count"),
        ("measure", "ranked by", "text"),
        ("estimate", "value", "points"),
        ("interval", "95 % interval", "interval"),
        ("clean_wer", "clean WER", "percent"),
        ("wer", "mean WER", "percent"),
        ("scenarios", "scenarios", "count"),
        ("speakers", "speakers", "count"),
    )
    if found.ranking.height:
        ranks = found.ranking.filter(pl.col("name") == ALL).with_columns(pl.col("measure").str.to_uppercase())
        note = "Recognizers that the data cannot tell apart share a rank; a smaller value is better."
        tables.append(
            table_of("ranking", "Ranking", ranks, ranking, intervals={"interval": ("low", "high")}, note=note)
        )
    silence: tuple[Spec, ...] = (
        ("recognizer", "recognizer", "text"),
        ("scenario", "scenario", "text"),
        ("per_minute", "words a minute", "number"),
        ("low", "from", "number"),
        ("high", "to (95 %)", "number"),
        ("words", "words heard", "number"),
        ("minutes", "minutes", "number"),
        ("speakers", "speakers", "count"),
    )
    if found.inserted.height:
        tables.append(
            table_of(
                "silence",
                "Words heard where nobody speaks",
                found.inserted,
                silence,
                note="Every word is made up.",
            )
        )
    if found.groups.height:
        names = {column: name for name, column in context.column.items()}
        frame = found.groups.filter(pl.col("level") != "scenario").with_columns(
            pl.col("attribute").replace(names),
            *((2.0 ** pl.col(f"lwerr{end}")).alias(f"ratio{end}") for end in ("", "_low", "_high")),
        )
        tables.append(_ratios(frame))
    return tables


def _ratios(frame: pl.DataFrame) -> Table:
    columns: tuple[Spec, ...] = (
        ("recognizer", "recognizer", "text"),
        ("attribute", "attribute", "text"),
        ("group", "group", "text"),
        ("against", "against", "text"),
        ("name", "category", "text"),
        ("ratio", "ratio of WER", "ratio"),
        ("ratio_low", "from", "ratio"),
        ("ratio_high", "to (95 %)", "ratio"),
        ("p_holm", "p (Holm)", "p"),
        ("verdict", "verdict", "text"),
        ("speakers", "fewest speakers", "count"),
    )
    note = (
        "How many times as many errors the group gets as the other, by their mean word error rates over the scenarios"
        " of a category (2 to the power of Speech Robust Bench's LWERR); 1 is no difference."
    )
    return table_of("group-ratios", "Groups under disturbance", frame, columns, note=note)
