"""Disparity: is the gap between groups on clean speech real? Ratios with intervals over speakers."""

from __future__ import annotations

import math

import polars as pl

from voxaudit.audits.disparity import ONE_SPEAKER, UNDECIDED
from voxaudit.audits.disparity.result import Disparity, Effect, Fit
from voxaudit.errors import VoxauditError
from voxaudit.report.context import Context
from voxaudit.report.document import Cell, Figure, Finding, Forest, ForestRow, Refusal, Section, Verdict
from voxaudit.report.numbers import ratio_interval
from voxaudit.report.parts import Spec, finding_id, listed, number_or_none, refusal, table_of, unique
from voxaudit.report.remedies import refuse

AUDIT = "disparity"
NOT_ASKED = "no attribute was named"
ASK = "name whom to compare: `attributes` of [corpus] in audit.toml, or `voxaudit report RUN --attributes {names}`"


def section(context: Context) -> Section:
    """Return the chapter."""
    findings: list[Finding] = []
    figures: list[Figure] = []
    refusals: list[Refusal] = []
    if not context.attributes:
        refusals.append(ask(context))
    together: dict[str, list[str]] = {}
    warned: dict[str, list[str]] = {}
    for place, (attribute, found) in enumerate(context.disparities.items()):
        if isinstance(found, VoxauditError):
            refusals.append(refusal(AUDIT, attribute, found, "clean speech"))
            together.setdefault(refusals[-1].reason, []).append(attribute)
            continue
        findings += _findings(attribute, found)
        if any(fit.effects for fit in found.fits):
            figures.append(_figure(place, attribute, found))
        for fit in found.fits:
            name = fit.by["recognizer"]
            if fit.refusal:
                refusals.append(refuse(AUDIT, f"{name}: {attribute}", fit.refusal))
            for warning in fit.warnings:
                warned.setdefault(warning, []).append(f"{name} ({attribute})")
    for why, names in together.items():  # what holds for several attributes is said once
        findings += [_refused(listed(names), why, names[0], headline=True)]
        findings += [_refused(name, why, name, headline=False) for name in names[1:]]
    return Section(
        id=AUDIT,
        title="Groups on clean speech",
        lead=(
            "How many times as many errors a group's speech gets as that of the reference group; 1 is no difference."
            " Speakers differ for reasons of their own, and a gap must be larger than that explains: a Poisson"
            " regression with a random effect for every speaker. It counts as shown where both the likelihood's and"
            " the speaker-robust p-value stay below 0.05, corrected for the number of comparisons (Holm); intervals"
            " are the robust ones.",
        )
        if context.attributes
        else (),
        findings=tuple(findings),
        figures=tuple(figures),
        notes=tuple(f"{listed(whom)}: {warning}." for warning, whom in warned.items()),
        refusals=unique(refusals),
    )


def ask(context: Context) -> Refusal:
    """Return that nobody said whom to compare, and how to, with the attributes that there are."""
    from voxaudit.score.table import attribute_names

    known = list(attribute_names(context.run.corpus.columns))
    if not known:
        how = "give the corpus a column of groups, such as gender or accent; " + ASK.format(names="gender")
        return Refusal("groups", f"{NOT_ASKED}, and the corpus has no column of groups", how)
    how = ASK.format(names=",".join(known[:2]))
    return Refusal("groups", f"{NOT_ASKED}; those of this corpus: {', '.join(known[:20])}", how)


def _refused(about: str, why: str, attribute: str, *, headline: bool) -> Finding:
    return Finding(
        id=finding_id(AUDIT, attribute, "wer_ratio"),
        audit=AUDIT,
        verdict="refused",
        sentence=f"No conclusion about {about}: {why.rstrip('.')}.",
        measure="wer_ratio",
        unit="ratio",
        attribute=attribute,
        headline=headline,
    )


def _findings(attribute: str, found: Disparity) -> list[Finding]:
    findings = []
    for fit in found.fits:
        name = str(fit.by["recognizer"])
        if fit.refusal is not None:
            one = _refused(attribute, fit.refusal, attribute, headline=True)
            sentence = f"{name}: no conclusion about {attribute}: {fit.refusal.rstrip('.')}."
            findings.append(_about(one, name, sentence))
        top = _headline(fit)
        findings += [_finding(attribute, fit, effect, headline=effect is top) for effect in fit.effects]
    return findings


def _about(one: Finding, name: str, sentence: str) -> Finding:
    from dataclasses import replace

    id_ = finding_id(AUDIT, name, one.attribute, "wer_ratio")
    return replace(one, id=id_, recognizer=name, sentence=sentence)


def _headline(fit: Fit) -> Effect | None:
    """Return the effect for the summary: the largest that is shown, else the largest."""
    shown = [effect for effect in fit.effects if _verdict(effect) == "shown"]
    return max(shown or fit.effects, key=lambda effect: abs(effect.estimate), default=None)


def _verdict(effect: Effect) -> Verdict:
    if effect.verdict == ONE_SPEAKER:
        return "refused"
    return "not_shown" if effect.verdict == UNDECIDED else "shown"


def _finding(attribute: str, fit: Fit, effect: Effect, *, headline: bool) -> Finding:
    name = str(fit.by["recognizer"])
    people = [one.speakers for one in fit.groups if one.group in (effect.group, fit.reference)]
    return Finding(
        id=finding_id(AUDIT, name, attribute, effect.group, "wer_ratio"),
        audit=AUDIT,
        verdict=_verdict(effect),
        sentence=_sentence(attribute, fit, effect),
        measure="wer_ratio",
        estimate=number_or_none(effect.ratio),
        low=number_or_none(effect.ci_low),
        high=number_or_none(effect.ci_high),
        unit="ratio",
        p=effect.p_holm,
        recognizer=name,
        scenario="clean",
        attribute=attribute,
        group=effect.group,
        speakers=min((count for count in people if count is not None), default=None),
        headline=headline,
    )


def _sentence(attribute: str, fit: Fit, effect: Effect) -> str:
    name, verdict = fit.by["recognizer"], effect.verdict
    if _verdict(effect) == "shown":
        verdict = "gap shown"  # the ratio itself says whether there are more errors or fewer
    if verdict == ONE_SPEAKER:
        return (
            f"{name}: no conclusion about {effect.group} ({attribute}) against {fit.reference} ({verdict})."
        )
    if verdict == UNDECIDED and not (effect.ci_low or 0.0) <= 1.0 <= (effect.ci_high or math.inf):
        one = effect.profile
        within = one is not None and (one.ci_low or 0.0) <= 1.0 <= (one.ci_high or math.inf)
        verdict += " by the likelihood" if within else " once several comparisons are allowed for"
    value = ratio_interval(effect.ratio, effect.ci_low, effect.ci_high)
    ratio, _, limits = value.partition(" ")
    return (
        f"On clean speech {name} makes {ratio} times as many errors {limits} for {effect.group} ({attribute}) as for"
        f" {fit.reference}: {verdict}."
    )


def _figure(place: int, attribute: str, found: Disparity) -> Figure:
    rows, numbers = [], []
    several = len(found.fits) > 1
    for fit in found.fits:
        name = str(fit.by["recognizer"])
        observed = {one.group: one for one in fit.groups}
        for effect in fit.effects:
            label = f"{name}: {effect.group}" if several else effect.group
            point = Cell(
                number_or_none(effect.ratio), number_or_none(effect.ci_low), number_or_none(effect.ci_high)
            )
            rows.append(ForestRow(label, point, _verdict(effect) == "shown", effect.verdict))
            group, base = observed[effect.group], observed[fit.reference]
            numbers.append(
                {
                    "recognizer": name,
                    "group": effect.group,
                    "against": fit.reference,
                    "ratio": number_or_none(effect.ratio),
                    "low": point.low,
                    "high": point.high,
                    "p": effect.p_holm,
                    "verdict": effect.verdict,
                    "wer": group.wer,
                    "wer_against": base.wer,
                    "speakers": group.speakers,
                    "speakers_against": base.speakers,
                }
            )
    columns: tuple[Spec, ...] = (
        ("recognizer", "recognizer", "text"),
        ("group", "group", "text"),
        ("against", "against", "text"),
        ("ratio", "ratio of errors", "ratio"),
        ("low", "from", "ratio"),
        ("high", "to (95 %, robust)", "ratio"),
        ("p", "robust p (Holm)", "p"),
        ("verdict", "verdict", "text"),
        ("wer", "WER", "percent"),
        ("wer_against", "WER of the other", "percent"),
        ("speakers", "speakers", "count"),
        ("speakers_against", "speakers of the other", "count"),
    )
    title = f"{attribute}: errors relative to {found.reference}"
    shown = sum(row.shown for row in rows)
    alt = f"Ratios of error rates by {attribute} with 95 % intervals; {shown} of {len(rows)} differ from 1."
    table = table_of(
        f"disparity-{place}-table",
        title,
        pl.DataFrame(numbers, infer_schema_length=None),
        columns,
        note="The ratio is adjusted for speakers; WER is as observed.",
    )
    forest = Forest(tuple(rows), f"times as many errors as {found.reference}")
    return Figure(f"disparity-{place}", title, alt, forest, table)
