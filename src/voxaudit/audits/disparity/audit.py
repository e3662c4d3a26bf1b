"""Disparity: is the gap between groups real, or is it a few speakers and a confounder? (Liu et al. 2022)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from voxaudit.audits.disparity.interaction import adjusted as adjust_interactions
from voxaudit.audits.disparity.interaction import interaction as fit_interaction
from voxaudit.audits.disparity.model import (
    Model,
    RefusalError,
    cautions,
    coefficients,
    fit_frame,
    groups,
    intervals,
)
from voxaudit.audits.disparity.result import Disparity, Effect, Fit, FTest, Mode, RatioTest
from voxaudit.audits.disparity.table import Control, Frame, Question, frames
from voxaudit.errors import VoxauditError
from voxaudit.registry import suggest
from voxaudit.stats.dispersion import dispersion
from voxaudit.stats.multiplicity import benjamini_hochberg, holm
from voxaudit.stats.poisson_glmm import DEFAULT_NODES, MixedFit, NoFiniteEstimateError
from voxaudit.stats.ratio_bootstrap import RatioBootstrap, ratio_bootstrap
from voxaudit.stats.regression import Settings, likelihood_ratio, without_columns
from voxaudit.stats.robust import Sandwich, robust_test, speaker_sandwich

INTERVALS = ("profile", "wald", "robust")
LEVEL = 0.05
MORE, FEWER = "more errors", "fewer errors"
UNDECIDED = "no gap shown"
ONE_SPEAKER = "refused: one speaker cannot stand for a group"


def disparity(
    table: pl.DataFrame,
    *,
    attribute: str,
    errors: str = "errors",
    words: str = "words",
    speaker: str | None = "speaker",
    reference: str | None = None,
    controls: Sequence[str] = (),
    by: Sequence[str] = (),
    interaction: str | None = None,
    interaction_reference: str | None = None,
    random: bool = True,
    nodes: int = DEFAULT_NODES,
    interval: str = "profile",
    resamples: int = 2000,
    seed: int = 0,
    modes: bool = False,
    extra: Sequence[Control] = (),
    where: str = "table",
) -> Disparity:
    """Compare the word error rates of the groups of a sensitive attribute, with `controls` and speakers held fixed.

    `table` has one row an utterance with counts of errors and reference words. The model is
    `errors ~ Poisson(words * exp(mu_group + theta' x + r_speaker))`, `r ~ N(0, sigma^2)` (Liu et al. 2022, Eq. 7), or
    the same without `r` where `random` is false. A table of scores needs no `errors` column: substitutions, deletions
    and insertions are added up.

    `by` fits each combination of its columns apart; p-values are adjusted over all of them (Holm, and Benjamini and
    Hochberg). `interaction` adds a column (a scenario, say) and asks whether it hurts one group more than another.
    `interval` chooses what `ci_low`, `ci_high` and `p` of an effect hold; all kinds are in the result. A fit that the
    data cannot carry is a refusal in words; if that holds for every part of the table, it is raised.
    """
    if interval not in INTERVALS:
        raise VoxauditError(f"unknown interval '{interval}'. Available: {', '.join(INTERVALS)}")
    if nodes < 1:
        raise VoxauditError(f"the number of quadrature nodes must be 1 or more, not {nodes}")
    who = speaker if random or _all_known(table, speaker) else None
    question = Question(attribute, errors, words, who, tuple(controls), tuple(by), interaction)
    settings = Settings(random=random, nodes=nodes)
    parts = list(frames(table, question, where, extra))
    chosen, notes = _reference(parts, attribute, reference, where)
    notes += _pooled(table, question)
    base = _interaction_reference(parts, interaction, interaction_reference, where)
    options = _Options(settings, interval, base, resamples, seed, modes)
    fits = [_fit(part, question, chosen, options) for part in parts]
    if all(fit.refusal for fit in fits):
        raise RefusalError(f"{where}: {fits[0].refusal}")
    return _adjusted(Disparity(attribute, chosen, interval, tuple(by), tuple(fits), {}, tuple(notes)))


def _all_known(table: pl.DataFrame, speaker: str | None) -> bool:
    """Say whether every row has a speaker: without a random effect, they are not needed."""
    if speaker is None or speaker not in table.columns:
        return False
    names = table[speaker].cast(pl.String).str.strip_chars()
    return not names.null_count() and not (names == "").any()


@dataclass(frozen=True)
class _Options:
    settings: Settings
    interval: str
    base: str | None
    resamples: int
    seed: int
    modes: bool


def _fit(frame: Frame, question: Question, reference: str, options: _Options) -> Fit:
    settings = options.settings
    shared: dict[str, Any] = {
        "by": frame.group,
        "attribute": question.attribute,
        "reference": reference,
        "groups": groups(frame),
        "utterances": len(frame.errors),
        "speakers": None if frame.speaker is None else len(frame.speaker.names),
        "left_out": frame.left_out,
    }
    try:
        model = fit_frame(frame, question.attribute, reference, settings, base=options.base)
        regression = model.regression
        null = without_columns(regression, model.columns("attribute"))
        robust = speaker_sandwich(regression) if settings.random else None
        effects = _effects(frame, model, robust, reference, options)
        found = None
        if options.base is not None:
            found = fit_interaction(frame, question, reference, options.base, settings)
    except (RefusalError, NoFiniteEstimateError) as refusal:
        return Fit(**shared, **_EMPTY, refusal=str(refusal))
    test = likelihood_ratio(regression, null)
    spread = dispersion(regression)
    fit = regression.fit
    mixed = fit if isinstance(fit, MixedFit) else None
    together = None if robust is None else robust_test(regression, model.columns("attribute"), robust)
    return Fit(
        **shared,
        refusal=None,
        effects=effects,
        controls=coefficients(model, robust),
        sigma=None if mixed is None else mixed.sigma,
        se_log_sigma=None if mixed is None else mixed.se_log_sigma,
        loglik=regression.loglik,
        lrt=RatioTest(test.chi2, test.df, test.p),
        robust=None if together is None else FTest(**vars(together)),
        sigma_lrt=None if mixed is None else 2.0 * (mixed.loglik - mixed.loglik_without_speakers),
        nodes=None if mixed is None else mixed.nodes,
        dispersion={"poisson": spread.poisson, "mixed": spread.mixed},
        interaction=found,
        warnings=tuple(cautions(frame, model, question.attribute, spread.mixed)),
        modes=_modes(frame, mixed) if options.modes else (),
    )


_EMPTY: dict[str, Any] = {
    **dict.fromkeys(("sigma", "se_log_sigma", "loglik", "lrt", "robust", "sigma_lrt", "nodes")),
    **dict.fromkeys(("dispersion", "interaction")),
    **dict.fromkeys(("effects", "controls", "warnings"), ()),
}


def _effects(
    frame: Frame, model: Model, robust: Sandwich | None, reference: str, options: _Options
) -> tuple[Effect, ...]:
    found = []
    for place in model.columns("attribute"):
        group = str(model.terms[place].level)
        estimate, se = model.regression.estimate(place)
        profile, wald, clustered = intervals(model, place, robust)
        kinds = {"profile": profile, "wald": wald, "robust": clustered}
        shown = kinds[options.interval] or profile  # a group without errors has a profile interval only
        found.append(
            Effect(
                group=group,
                estimate=estimate,
                se=None if np.isnan(se) else se,
                ratio=float(np.exp(estimate)),
                ci_low=shown.ci_low,
                ci_high=shown.ci_high,
                p=shown.p,
                p_holm=None,
                p_bh=None,
                verdict="",
                profile=profile,
                wald=wald,
                robust=clustered,
                baseline=_baseline(frame, group, reference, options) if options.resamples else None,
            )
        )
    return tuple(found)


def _baseline(frame: Frame, group: str, reference: str, options: _Options) -> RatioBootstrap:
    names, codes = frame.attribute.names, frame.attribute.codes
    return ratio_bootstrap(
        frame.errors,
        frame.words,
        codes == names.index(group),
        codes == names.index(reference),
        None if frame.speaker is None else frame.speaker.codes,
        resamples=options.resamples,
        seed=options.seed,
    )


def _modes(frame: Frame, fit: MixedFit | None) -> tuple[Mode, ...]:
    if fit is None or frame.speaker is None:
        return ()
    rows = zip(frame.speaker.names, fit.modes, fit.mode_sd, strict=True)
    return tuple(Mode(name, float(mode), float(sd)) for name, mode, sd in rows)


def _reference(
    parts: Sequence[Frame], attribute: str, asked: str | None, where: str
) -> tuple[str, list[str]]:
    """Return the reference group: the one asked for, or the first with errors."""
    counted: dict[str, float] = {}
    for part in parts:
        for code, name in enumerate(part.attribute.names):
            counted[name] = counted.get(name, 0.0) + float(part.errors[part.attribute.codes == code].sum())
    if asked is not None:
        asked = str(asked).lower() if isinstance(asked, bool) else str(asked)  # labels are text
        if asked not in counted:
            known = sorted(counted)
            raise VoxauditError(
                f"{where}: no group '{asked}' of {attribute}.{suggest(asked, known)} Groups there: {', '.join(known)}"
            )
        return asked, []
    names = sorted(counted, key=_natural)
    if len(names) < 2:
        raise VoxauditError(
            f"{where}: column '{attribute}' has one group, '{names[0]}', among the utterances that can be used"
            if names
            else f"{where}: no utterance can be used: each lacks words, counts, a group or a control attribute"
        )
    chosen = next((name for name in names if counted[name]), names[0])
    return chosen, [f"reference group: '{chosen}' (choose with --reference)"]


def _natural(name: str) -> tuple[float, str]:
    try:
        return float(name), name
    except ValueError:
        return float("inf"), name


def _interaction_reference(
    parts: Sequence[Frame], column: str | None, asked: str | None, where: str
) -> str | None:
    if column is None:
        return None
    found = [part.interaction for part in parts if part.interaction is not None]
    names = sorted({name for one in found for name in one.labels.names})
    if len(names) < 2:
        raise VoxauditError(f"{where}: column '{column}' needs at least two values for an interaction")
    if asked is None:
        return "clean" if "clean" in names else names[0]
    if asked not in names:
        raise VoxauditError(
            f"{where}: no value '{asked}' of {column}.{suggest(asked, names)} Values there: {', '.join(names)}"
        )
    return asked


def _pooled(table: pl.DataFrame, question: Question) -> list[str]:
    """Say when different recognizers or scenarios are thrown together."""
    used = {*question.by, question.attribute, question.interaction, *question.controls}
    return [
        f"column '{name}' has {count} values, which are pooled here; split them with --by {name}"
        for name in ("recognizer", "scenario")
        if name in table.columns and name not in used and (count := table[name].n_unique()) > 1
    ]


def _adjusted(result: Disparity) -> Disparity:
    """Fill in the p-values adjusted over all fits, and the verdicts that follow from them."""
    fits = list(result.fits)
    effects = [(i, j) for i, fit in enumerate(fits) for j in range(len(fit.effects))]
    shown = [fits[i].effects[j].p for i, j in effects]
    careful = [_careful(fits[i].effects[j]) for i, j in effects]
    steps = zip(effects, holm(shown), benjamini_hochberg(shown), holm(careful), strict=True)
    for (i, j), p_holm, p_bh, strict in steps:
        effect = fits[i].effects[j]
        compared = (effect.group, fits[i].reference)
        alone = any(one.speakers == 1 for one in fits[i].groups if one.group in compared)
        verdict = ONE_SPEAKER if alone and fits[i].sigma is not None else _verdict(effect, strict)
        changed = replace(effect, p_holm=p_holm, p_bh=p_bh, verdict=verdict)
        fits[i] = replace(fits[i], effects=(*fits[i].effects[:j], changed, *fits[i].effects[j + 1 :]))
    tests = [None if fit.lrt is None else fit.lrt.p for fit in fits]
    for i, (p_holm, p_bh) in enumerate(zip(holm(tests), benjamini_hochberg(tests), strict=True)):
        test = fits[i].lrt
        if test is not None:
            fits[i] = replace(fits[i], lrt=replace(test, p_holm=p_holm, p_bh=p_bh))
    fits = adjust_interactions(fits)
    family = {
        "effects": sum(p is not None for p in shown),
        "tests": sum(p is not None for p in tests),
        "interactions": sum(fit.interaction is not None for fit in fits),
    }
    return replace(result, fits=tuple(fits), family=family)


def _careful(effect: Effect) -> float | None:
    """Return the larger of the likelihood's and the robust p-value: a gap has to convince both."""
    known = [one.p for one in (effect.profile, effect.robust) if one is not None and one.p is not None]
    return max(known) if known else effect.p


def _verdict(effect: Effect, p: float | None) -> str:
    if p is None or not p < LEVEL:
        return UNDECIDED
    return MORE if effect.ratio > 1.0 else FEWER
