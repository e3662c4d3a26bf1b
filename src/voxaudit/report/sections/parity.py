"""Parity: group means over speakers, gaps between the best and the worst group, and what the data cannot show."""

from __future__ import annotations

import re
from typing import Any

import polars as pl

from voxaudit.audits.parity import Findings, Settings, audit_file
from voxaudit.audits.parity.options import MEAN, NAMES
from voxaudit.errors import VoxauditError
from voxaudit.perturb import CLEAN
from voxaudit.report.context import Context
from voxaudit.report.document import Bars, Figure, Finding, Section, Series, Table, Verdict
from voxaudit.report.numbers import in_points
from voxaudit.report.parts import Spec, attempt, cell, finding_id, listed, refusal, table_of, unique
from voxaudit.report.remedies import refuse
from voxaudit.report.sections.disparity import ask
from voxaudit.wording import p_value

AUDIT = "parity"
MOST_OPENED = 200
"""Recordings that are opened to compare their quality; of a larger corpus `voxaudit parity RUN` does it."""
MOST_BARS = 40
OPTIONS = {
    "name it with --age": "`voxaudit parity RUN --age COLUMN` names it",
    "choose another with --scenario": "`voxaudit parity RUN --scenario ID` looks at another",
    "(--merge-below)": "(`voxaudit parity RUN --merge-below N`)",
    "(--bands)": "(`voxaudit parity RUN --bands COLUMN=CUTS`)",
    "more --attributes": "name further attributes: `voxaudit report RUN --attributes A,B`",
}
CHECKLIST = (
    "Intersectional groups are those of several attributes at once; conditional parity holds all other attributes"
    " fixed; the canary compares neighbouring bands of middle age, whose voices hardly differ: where their error"
    " rates do, something else than age is at work."
)
KEYS: tuple[Spec, ...] = (("recognizer", "recognizer", "text"), ("attribute", "attribute", "text"))


def section(context: Context) -> Section:
    """Return the chapter."""
    title = "Parity between speakers"
    if not context.attributes:
        return Section(AUDIT, title, refusals=(ask(context),))
    found = attempt(lambda: _audit(context))
    if isinstance(found, VoxauditError):
        return Section(AUDIT, title, refusals=(refusal(AUDIT, "groups", found, context.run.folder),))
    names = {column: name for name, column in context.column.items()}
    return Section(
        id=AUDIT,
        title=title,
        lead=(
            "Every speaker counts once: a group's rate is the mean over its speakers of their mean over utterances, on"
            " clean speech. So somebody who speaks much does not decide what is said of a group. The checklist goes"
            " through the good practices of Herron et al. and says what these data allow.",
        ),
        findings=tuple(_findings(found, names)),
        figures=_figure(found, names),
        tables=tuple(_tables(found, names)),
        notes=(
            *(f"{'' if c.attribute is None else f'{c.attribute}: '}{c.text}." for c in found.cautions),
            *(f"{_as_commands(note)}." for note in found.notes),
        ),
        refusals=unique(
            refuse(AUDIT, one.what, _as_commands(one.why), _as_commands(one.remedy)) for one in found.refusals
        ),
    )


def _audit(context: Context) -> Findings:
    if context.clean.is_empty():
        raise VoxauditError("no clean speech with a reference text was heard")
    few = context.clean["utterance"].n_unique() <= MOST_OPENED
    return audit_file(
        context.run.folder,
        list(context.column.values()),
        settings=Settings(scenario=CLEAN),
        measure_audio=few and context.audio_bytes > 0,
    )


def _as_commands(words: str) -> str:
    """Return the audit's words: options are named by its command, not by this report's, and measures by their names."""
    for option, command in OPTIONS.items():
        words = words.replace(option, command)
    return re.sub(r"\w+", lambda found: NAMES.get(found[0], found[0]) if "_" in found[0] else found[0], words)


def _as_named(frame: pl.DataFrame, names: dict[str, str]) -> pl.DataFrame:
    """Return a table whose attributes are called as in the corpus."""
    return frame.with_columns(pl.col("attribute").replace(names)) if "attribute" in frame.columns else frame


def _findings(found: Findings, names: dict[str, str]) -> list[Finding]:
    """Return what is found of each recognizer, then of their mean."""
    gaps = _gaps(found, names)
    own = [one for one in gaps if one.recognizer is not None]
    return [*own, *_enough(found, names), *(one for one in gaps if one.recognizer is None)]


def _gaps(found: Findings, names: dict[str, str]) -> list[Finding]:
    """Return the gap between the best and the worst group, by recognizer and attribute."""
    enough = {
        (row["recognizer"], row["attribute"], row["group"]): bool(row["enough_speakers"])
        for row in found.univariate.iter_rows(named=True)
    }
    findings = []
    for row in found.gaps.iter_rows(named=True):
        if row["gap_wer"] is None:
            continue
        attribute = names.get(row["attribute"], row["attribute"])
        key = (row["recognizer"], row["attribute"])
        sure = enough[*key, row["best"]] and enough[*key, row["worst"]]
        verdict: Verdict = "not_shown" if sure else "undecided"
        if row["p_adjusted"] is None:
            verdict = "refused"
        elif row["p_adjusted"] < found.settings.alpha:
            verdict = "shown"
        gap = in_points(row["gap_wer"], row["gap_low"], row["gap_high"])
        who = row["recognizer"]
        start = f"Speaker by speaker, the word error rate of {who}"
        if who == MEAN:
            start = "Speaker by speaker, the word error rate averaged over the recognizers"
        told = {"shown": "gap shown", "not_shown": "no gap shown", "undecided": "too few speakers to tell"}
        tested = "" if row["p_adjusted"] is None else f", {p_value(row['p_adjusted'])}"
        sentence = (
            f"{start} is {gap} higher for {row['worst']} ({attribute}) than for {row['best']}{tested}:"
            f" {told.get(verdict, 'refused')}."
        )
        findings.append(
            Finding(
                id=finding_id(AUDIT, row["recognizer"], attribute, "gap"),
                audit=AUDIT,
                verdict=verdict,
                sentence=sentence,
                measure="gap",
                estimate=row["gap_wer"],
                low=row["gap_low"],
                high=row["gap_high"],
                p=row["p_adjusted"],
                recognizer=None if row["recognizer"] == MEAN else row["recognizer"],
                scenario=CLEAN,
                attribute=attribute,
                group=row["worst"],
            )
        )
    return findings


def _enough(found: Findings, names: dict[str, str]) -> list[Finding]:
    """Return, for every recognizer, what the number of speakers cannot show."""
    findings = []
    for name in found.recognizers:
        short = found.univariate.filter((pl.col("recognizer") == name) & ~pl.col("enough_speakers"))
        if short.is_empty() or name == MEAN:
            continue
        gap = in_points(found.gaps_asked[name])
        missing = listed(_missing(row, names) for row in short.iter_rows(named=True))
        sentence = f"{name}: too few speakers to show a gap of {gap} between groups; {missing}."
        id_ = finding_id(AUDIT, name, "speakers")
        findings.append(
            Finding(id_, AUDIT, "undecided", sentence, "speakers", recognizer=name, headline=True)
        )
    return findings


def _missing(row: dict[str, Any], names: dict[str, str]) -> str:
    group = f"{row['group']} ({names.get(row['attribute'], row['attribute'])})"
    more = row["more_needed"]
    return f"{group} needs {more} more" if more else f"those beside {group} are too few"


def _figure(found: Findings, attributes: dict[str, str]) -> tuple[Figure, ...]:
    frame = _as_named(found.univariate, attributes)
    if frame.is_empty():
        return ()
    groups = frame.select("attribute", "group").unique(maintain_order=True).rows()[:MOST_BARS]
    # Bars are of recognizers; their mean is in the table.
    names = [name for name in frame["recognizer"].unique(maintain_order=True) if name != MEAN]
    rows = {(r["recognizer"], r["attribute"], r["group"]): r for r in frame.iter_rows(named=True)}
    series = tuple(
        Series(
            name,
            tuple(
                cell(rows[name, *group], "wer_speaker_mean", "wer_low", "wer_high")
                if (name, *group) in rows
                else None
                for group in groups
            ),
        )
        for name in names
    )
    labels = tuple(f"{attribute}: {group}" for attribute, group in groups)
    title = "Mean word error rate of the speakers of each group"
    alt = "Bars of the mean word error rate over speakers by group and recognizer, with 95 % intervals."
    bars = Bars(labels, series, "mean over speakers of the word error rate")
    return (Figure("parity-groups", title, alt, bars, _univariate("parity-groups-table", title, frame)),)


def _univariate(id_: str, title: str, frame: pl.DataFrame) -> Table:
    columns: tuple[Spec, ...] = (
        *KEYS,
        ("group", "group", "text"),
        ("speakers", "speakers", "count"),
        ("wer_speaker_mean", "mean over speakers", "percent"),
        ("interval", "95 % interval", "interval"),
        ("difference", "against the rest", "points"),
        ("difference_interval", "95 % interval", "interval"),
        ("p_adjusted", "p (Holm)", "p"),
        ("more_needed", "more speakers needed", "count"),
        ("verdict", "verdict", "text"),
    )
    pairs = {
        "interval": ("wer_low", "wer_high"),
        "difference_interval": ("difference_low", "difference_high"),
    }
    return table_of(id_, title, frame, columns, intervals=pairs)


def _checks(found: Findings) -> list[tuple[str, str, str]]:
    """Return the checklist: what holds for all recognizers once, what differs under the name of each."""
    return [
        (
            one.practice if one.recognizer is None else f"{one.practice}: {one.recognizer}",
            one.status,
            _as_commands(one.why),
        )
        for one in found.checklist
    ]


def _tables(found: Findings, names: dict[str, str]) -> list[Table]:
    checks = pl.DataFrame(
        _checks(found),
        schema={"practice": pl.String, "status": pl.String, "why": pl.String},
        orient="row",
    )
    spec: tuple[Spec, ...] = (
        ("practice", "practice", "text"),
        ("status", "status", "text"),
        ("why", "why", "text"),
    )
    title = "What these data allow (Herron et al., section 3)"
    tables = [table_of("checklist", title, checks, spec, note=CHECKLIST)]
    gaps: tuple[Spec, ...] = (
        *KEYS,
        ("best", "best group", "text"),
        ("worst", "worst group", "text"),
        ("gap_wer", "gap", "points"),
        ("interval", "95 % interval", "interval"),
        ("p_adjusted", "p (Holm)", "p"),
    )
    note = "Best and worst were looked for among all pairs: p and the interval allow for that."
    if found.gaps.height:
        tables.append(
            table_of(
                "gaps",
                "Best against worst group",
                _as_named(found.gaps, names),
                gaps,
                intervals={"interval": ("gap_low", "gap_high")},
                note=note,
            )
        )
    if found.conditional.height:
        tables.append(_conditional(_as_named(found.conditional, names)))
    return tables


def _conditional(frame: pl.DataFrame) -> Table:
    columns: tuple[Spec, ...] = (
        *KEYS,
        ("group", "group", "text"),
        ("speakers_used", "speakers used", "count"),
        ("difference", "against the rest", "points"),
        ("interval", "95 % interval", "interval"),
        ("p_adjusted", "p (Holm)", "p"),
        ("verdict", "verdict", "text"),
    )
    title = "The same with all other attributes held fixed"
    pairs = {"interval": ("difference_low", "difference_high")}
    return table_of("conditional", title, frame, columns, intervals=pairs)
