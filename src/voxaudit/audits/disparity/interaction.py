"""Does noise hurt group A *more* than group B? The group x scenario interaction in one model, with its own test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from voxaudit.audits.disparity.model import Model, fit_frame, intervals, robust_interval
from voxaudit.audits.disparity.result import Contrast, Fit, FTest, Interaction, Interval, RatioTest
from voxaudit.audits.disparity.table import Frame, Question
from voxaudit.stats.multiplicity import benjamini_hochberg, holm
from voxaudit.stats.regression import Settings, likelihood_ratio, without_columns
from voxaudit.stats.robust import Sandwich, robust_test, speaker_sandwich

LEVEL = 0.05
DIFFERENT, ALIKE = "the groups are hurt differently", "no difference shown"


def interaction(
    frame: Frame, question: Question, reference: str, base: str, settings: Settings
) -> Interaction:
    """Fit the model with group x column terms and test them all against none.

    A contrast of group g at value s is `[rate(g, s) / rate(g, base)] / [rate(reference, s) / rate(reference, base)]`.
    """
    model = fit_frame(frame, question.attribute, reference, settings, base=base, interact=True)
    columns = model.columns("interaction")
    test = likelihood_ratio(model.regression, without_columns(model.regression, columns))
    robust = speaker_sandwich(model.regression) if settings.random else None
    together = None if robust is None else robust_test(model.regression, columns, robust)
    return Interaction(
        column=str(question.interaction),
        reference=base,
        contrasts=tuple(_contrast(model, place, robust) for place in columns),
        robust=None if together is None else FTest(**vars(together)),
        lrt=RatioTest(test.chi2, test.df, test.p),
        verdict="",
    )


def _contrast(model: Model, place: int, robust: Sandwich | None) -> Contrast:
    term, (estimate, se) = model.terms[place], model.regression.estimate(place)
    shown: Interval | None = None
    if robust is not None:
        shown = robust_interval(model.regression, place, robust)
    if shown is None:
        shown = intervals(model, place, None)[0]
    return Contrast(
        group=str(term.level),
        at=str(term.at),
        estimate=estimate,
        se=shown.se if shown.se is not None else (None if np.isnan(se) else se),
        ratio=float(np.exp(estimate)),
        ci_low=shown.ci_low,
        ci_high=shown.ci_high,
        p=shown.p,
        p_holm=None,
        p_bh=None,
    )


def adjusted(fits: Sequence[Fit]) -> list[Fit]:
    """Fill in p-values adjusted over the interactions of all fits, and the verdicts."""
    found = list(fits)
    here = [i for i, fit in enumerate(found) if fit.interaction is not None]
    parts = [part for fit in found if (part := fit.interaction) is not None]
    pairs = [(a, b) for a, part in enumerate(parts) for b in range(len(part.contrasts))]
    p_values = [parts[a].contrasts[b].p for a, b in pairs]
    contrasts: list[list[Contrast]] = [[] for _ in parts]
    for (a, b), p_holm, p_bh in zip(pairs, holm(p_values), benjamini_hochberg(p_values), strict=True):
        contrasts[a].append(replace(parts[a].contrasts[b], p_holm=p_holm, p_bh=p_bh))
    p_tests = [(part.robust or part.lrt).p for part in parts]
    for place, part, rows, p_holm, p_bh in zip(
        here, parts, contrasts, holm(p_tests), benjamini_hochberg(p_tests), strict=True
    ):
        differs = p_holm is not None and p_holm < LEVEL
        part = replace(part, contrasts=tuple(rows), verdict=DIFFERENT if differs else ALIKE)
        if part.robust is not None:
            part = replace(part, robust=replace(part.robust, p_holm=p_holm, p_bh=p_bh))
        else:
            part = replace(part, lrt=replace(part.lrt, p_holm=p_holm, p_bh=p_bh))
        found[place] = replace(found[place], interaction=part)
    return found
