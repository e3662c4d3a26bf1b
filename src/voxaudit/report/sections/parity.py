"""Parity: group means over speakers, gaps between the best and the worst group, and what the data cannot show."""

from __future__ import annotations

import polars as pl

from voxaudit.audits.parity import Findings, Settings, audit_file
from voxaudit.audits.parity.checklist import CAUTION
from voxaudit.audits.parity.options import MEAN
from voxaudit.errors import VoxauditError
from voxaudit.perturb import CLEAN
from voxaudit.report.context import Context
from voxaudit.report.document import Bars, Figure, Finding, Refusal, Section, Series, Table, Verdict
from voxaudit.report.numbers import p_value, points_interval
from voxaudit.report.parts import Spec, attempt, cell, finding_id, refusal, table_of, unique
from voxaudit.report.sections.disparity import ask

AUDIT = "parity"
MOST_OPENED = 200
"""Recordings that are opened to compare their quality; of a larger corpus `voxaudit parity RUN` does it."""
MOST_BARS = 40
OPTIONS = {
    "name it with --age": "`voxaudit parity RUN --age COLUMN` names it",
    "choose another with --scenario": "`voxaudit parity RUN --scenario ID` looks at another",
}
KEYS: tuple[Spec, ...] = (("recognizer", "recognizer", "text"), ("attribute", "attribute", "text"))


def section(context: Context) -> Section:
    """Return the chapter."""
    title = "Parity between speakers"
    if not context.attributes:
        return Section(AUDIT, title, refusals=(Refusal("groups", ask(context)),))
    found = attempt(lambda: _audit(context))
    if isinstance(found, VoxauditError):
        return Section(AUDIT, title, refusals=(refusal("groups", found, context.run.folder),))
    names = {column: name for name, column in context.column.items()}
    return Section(
        id=AUDIT,
        title=title,
        lead=(
            "Every speaker counts once: a group's rate is the mean over its speakers of their mean over utterances, on"
            " clean speech. The checklist goes through the practices of Herron et al. and says what these data allow.",
        ),
        findings=(*_gaps(found, names), *_enough(found)),
        figures=_figure(found),
        tables=tuple(_tables(found)),
        notes=(
            *(f"{'' if c.attribute is None else f'{c.attribute}: '}{c.text}." for c in found.cautions),
            *(f"{_as_commands(note)}." for note in found.notes),
        ),
        refusals=unique(
            Refusal(one.what, f"{one.why}{f' (what would help: {one.remedy})' if one.remedy else ''}")
            for one in found.refusals
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
    """Return the audit's words where an option of its command is named by that command, not by this report's."""
    for option, command in OPTIONS.items():
        words = words.replace(option, command)
    return words


def _gaps(found: Findings, names: dict[str, str]) -> list[Finding]:
    """Return the gap between the best and the worst group, by recognizer and attribute."""
    enough = {
        (row["recognizer"], row["attribute"], row["level"]): bool(row["enough_speakers"])
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
        gap = points_interval(row["gap_wer"], row["gap_low"], row["gap_high"])
        who = "the mean of the recognizers" if row["recognizer"] == MEAN else row["recognizer"]
        told = {"shown": "shown", "not_shown": "no gap shown", "undecided": "too few speakers to tell"}
        sentence = (
            f"Speaker by speaker, {who} is {gap} points of word error rate worse for {attribute} {row['worst']} than"
            f" for {row['best']} ({p_value(row['p_adjusted'])}): {told.get(verdict, 'refused')}."
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


def _enough(found: Findings) -> list[Finding]:
    """Return the one sentence about what the number of speakers cannot show."""
    check = next((one for one in found.checklist if one.practice.startswith("enough speakers")), None)
    if check is None or check.status != CAUTION:
        return []
    gap = found.gaps_asked[found.main]
    reason = check.why.partition(": ")[2]
    sentence = f"Too few speakers to show a gap of {100 * gap:.3g} points of word error rate: {reason}."
    return [
        Finding(
            finding_id(AUDIT, "speakers"),
            AUDIT,
            "undecided",
            sentence,
            "speakers",
            None,
            headline=True,
        )
    ]


def _figure(found: Findings) -> tuple[Figure, ...]:
    frame = found.univariate
    if frame.is_empty():
        return ()
    groups = frame.select("attribute", "level").unique(maintain_order=True).rows()[:MOST_BARS]
    names = frame["recognizer"].unique(maintain_order=True).to_list()
    rows = {(r["recognizer"], r["attribute"], r["level"]): r for r in frame.iter_rows(named=True)}
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
    labels = tuple(f"{attribute}: {level}" for attribute, level in groups)
    title = "Mean word error rate of the speakers of each group"
    alt = "Bars of the mean word error rate over speakers by group and recognizer, with 95 % intervals."
    bars = Bars(labels, series, "mean over speakers of the word error rate")
    return (Figure("parity-groups", title, alt, bars, _univariate("parity-groups-table", title, frame)),)


def _univariate(id_: str, title: str, frame: pl.DataFrame) -> Table:
    columns: tuple[Spec, ...] = (
        *KEYS,
        ("level", "group", "text"),
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


def _tables(found: Findings) -> list[Table]:
    checks = pl.DataFrame(
        [(c.practice, c.status, _as_commands(c.why)) for c in found.checklist],
        schema={"practice": pl.String, "status": pl.String, "why": pl.String},
        orient="row",
    )
    spec: tuple[Spec, ...] = (
        ("practice", "practice", "text"),
        ("status", "status", "text"),
        ("why", "why", "text"),
    )
    tables = [table_of("checklist", "What these data allow (Herron et al., section 3)", checks, spec)]
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
                found.gaps,
                gaps,
                intervals={"interval": ("gap_low", "gap_high")},
                note=note,
            )
        )
    if found.conditional.height:
        tables.append(_conditional(found.conditional))
    return tables


def _conditional(frame: pl.DataFrame) -> Table:
    columns: tuple[Spec, ...] = (
        *KEYS,
        ("level", "group", "text"),
        ("speakers_used", "speakers used", "count"),
        ("difference", "against the rest", "points"),
        ("interval", "95 % interval", "interval"),
        ("p_adjusted", "p (Holm)", "p"),
        ("verdict", "verdict", "text"),
    )
    title = "The same with all other attributes held fixed"
    pairs = {"interval": ("difference_low", "difference_high")}
    return table_of("conditional", title, frame, columns, intervals=pairs)
