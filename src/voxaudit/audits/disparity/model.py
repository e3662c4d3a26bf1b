"""The regression of one part of a table: its fit, effects of groups, and what it cannot carry."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from voxaudit.answer import Note, Refusal, RefusedError, refuse
from voxaudit.audits.disparity.frames import Question
from voxaudit.audits.disparity.gaps import FEWEST_ERRORS
from voxaudit.audits.disparity.result import (
    Coefficient,
    Effect,
    Fit,
    Mode,
    RatioTest,
)
from voxaudit.errors import VoxauditError, one_line
from voxaudit.stats.cells import collapse
from voxaudit.stats.dispersion import dispersion
from voxaudit.stats.group_design import Frame, Term, group_design
from voxaudit.stats.labels import Labels
from voxaudit.stats.poisson_glmm import MixedFit, NoFiniteEstimateError
from voxaudit.stats.ratio_bootstrap import RatioBootstrap, ratio_bootstrap
from voxaudit.stats.ratio_intervals import Interval, intervals
from voxaudit.stats.regression import (
    Regression,
    Settings,
    chi2_tail,
    likelihood_ratio,
    regress,
    without_columns,
)
from voxaudit.stats.robust import RobustTest, Sandwich, robust_test, speaker_freedom, speaker_sandwich

if TYPE_CHECKING:
    from voxaudit.stats.crossed_glmm import CrossedFit

FEW_SPEAKERS = 20
"""With fewer speakers in a group, likelihood intervals are noticeably too narrow."""
OVERDISPERSED = 1.25
"""Within-speaker dispersion above this is said."""
FAR_SPEAKER = 0.01
"""A speaker is named who is further from the others than the furthest of so many would be with this probability."""


@dataclass(frozen=True)
class Options:
    """How to fit, which interval to show, and how often the raw ratio is resampled."""

    settings: Settings
    interval: str
    resamples: int
    seed: int


@dataclass(frozen=True)
class Model:
    """A fitted frame."""

    terms: tuple[Term, ...]
    regression: Regression
    notes: tuple[Note, ...]

    def columns(self, kind: str) -> tuple[int, ...]:
        """Return the places of the terms of one kind."""
        return tuple(place for place, term in enumerate(self.terms) if term.kind == kind)


def fit_part(frame: Frame, question: Question, against: str, base: str | None, options: Options) -> Fit:
    """Fit one part of the table, or say why it cannot be; p-values are those of this part alone."""
    settings = options.settings
    shared: dict[str, Any] = {
        "by": frame.group,
        "attribute": question.attribute,
        "against": against,
        "groups": frame.groups,
        "utterances": len(frame.errors),
        "speakers": None if frame.speaker is None else len(frame.speaker.names),
        "left_out": frame.left_out,
    }
    try:
        model = fit_frame(frame, question.attribute, against, settings, base=base)
        regression = model.regression
        lrt, robust, sandwich = _together(model, "attribute")
        effects = tuple(
            _effect(frame, model, index, sandwich, against, options) for index in model.columns("attribute")
        )
    except RefusedError as refused:
        return Fit(**shared, refusal=refused.refusal)
    except NoFiniteEstimateError as error:
        return Fit(**shared, refusal=Refusal("too_few_errors", question.attribute, str(error)))
    spread = asdict(dispersion(regression))
    fit = regression.fit
    mixed: dict[str, Any] = {}
    notes = cautions(frame, model, question.attribute, spread["mixed"])
    loglik = regression.loglik
    if isinstance(fit, MixedFit):
        mixed = {"sigma": fit.sigma, "se_log_sigma": fit.se_log_sigma, "nodes": fit.nodes}
        mixed |= {"sigma_lrt": 2.0 * (fit.loglik - fit.loglik_without_speakers), "modes": _modes(frame, fit)}
        mixed["far"] = tuple(far_speakers(fit, frame.speaker)) if frame.speaker is not None else ()
        if frame.prompt is not None:
            try:
                effects, lrt, fitted = _crossed(frame, question.attribute, against, base, model, effects)
            except (VoxauditError, np.linalg.LinAlgError) as error:
                notes.append(Note("no_prompts", f"no effect of texts: {one_line(error, 200)}"))
            else:
                mixed |= {"sigma": fitted.sigma, "prompt_sigma": fitted.prompt_sigma, "nodes": 1}
                mixed |= {"se_log_sigma": None, "sigma_lrt": None}
                loglik, robust = fitted.loglik, None
    return Fit(
        **shared,
        **mixed,
        effects=effects,
        controls=coefficients(model, sandwich),
        loglik=loglik,
        lrt=lrt,
        robust=robust,
        dispersion=spread,
        cautions=tuple(notes),
    )


def _crossed(
    frame: Frame, attribute: str, against: str, base: str | None, model: Model, effects: tuple[Effect, ...]
) -> tuple[tuple[Effect, ...], RatioTest, CrossedFit]:
    """Fit speakers and texts as crossed effects; return the groups' effects and the test of all of them."""
    from voxaudit.numeric import stdtr, stdtrit
    from voxaudit.stats.crossed_glmm import fit_crossed  # and with it all of scipy's optimizers

    regression = model.regression
    if regression.infinite:
        raise VoxauditError("a group or a control has no errors at all")
    assert frame.prompt is not None
    assert frame.speaker is not None
    _, design = group_design(frame, attribute, against, base=base)
    known = frame.prompt.codes >= 0
    columns = list(regression.finite)
    groups = [place for place, column in enumerate(columns) if model.terms[column].kind == "attribute"]
    kept = [place for place in range(len(columns)) if place not in groups]
    design = design[known][:, columns]
    data = (frame.errors[known], frame.words[known])
    who = (frame.speaker.codes[known], frame.prompt.codes[known])
    fit = fit_crossed(*data, design, *who)
    without = fit_crossed(*data, design[:, kept], *who)
    chi2 = max(0.0, 2.0 * (fit.loglik - without.loglik))
    lrt = RatioTest(chi2=chi2, df=len(groups), p=chi2_tail(chi2, len(groups)))
    people, texts = len(frame.speaker.names), len(frame.prompt.names)
    df = max(1.0, float(people - design.shape[1]))
    if texts > 1 and not _within_texts(frame):
        df = max(1.0, min(df, float(texts - 1)))
    found = []
    for place, effect in zip(groups, effects, strict=True):
        estimate, se = float(fit.coefficients[place]), float(fit.standard_errors[place])
        reach = float(stdtrit(df, 0.975)) * se
        p = 2.0 * float(stdtr(df, -abs(estimate / se)))
        wald = Interval(float(np.exp(estimate - reach)), float(np.exp(estimate + reach)), p, se)
        found.append(
            replace(
                effect,
                estimate=estimate,
                se=se,
                ratio=float(np.exp(estimate)),
                low=wald.low,
                high=wald.high,
                p=p,
                profile=None,
                robust=None,
                wald=wald,
            )
        )
    return tuple(found), lrt, fit


def _within_texts(frame: Frame) -> bool:
    """Say whether every text is read by speakers of all groups: groups are then compared within texts."""
    assert frame.prompt is not None
    known = frame.prompt.codes >= 0
    count = len(frame.attribute.names)
    pairs = np.unique(frame.prompt.codes[known] * count + frame.attribute.codes[known])
    return len(pairs) == count * len(frame.prompt.names)


def _together(model: Model, kind: str) -> tuple[RatioTest, RobustTest | None, Sandwich | None]:
    """Test all terms of one kind: by the likelihood, and with speakers as the sample where they have an effect."""
    regression, columns = model.regression, model.columns(kind)
    lrt = RatioTest(**vars(likelihood_ratio(regression, without_columns(regression, columns))))
    sandwich = speaker_sandwich(regression) if regression.settings.random else None
    return lrt, None if sandwich is None else robust_test(regression, columns, sandwich), sandwich


def _effect(
    frame: Frame, model: Model, index: int, sandwich: Sandwich | None, against: str, options: Options
) -> Effect:
    group = str(model.terms[index].level)
    estimate, se = model.regression.estimate(index)
    profile, wald, robust = intervals(model.regression, index, sandwich)
    # A group without errors has a profile interval only.
    shown = {"profile": profile, "wald": wald, "robust": robust}[options.interval] or profile
    return Effect(
        group=group,
        estimate=estimate,
        se=None if np.isnan(se) else se,
        ratio=float(np.exp(estimate)),
        low=shown.low,
        high=shown.high,
        p=shown.p,
        profile=profile,
        wald=wald,
        robust=robust,
        baseline=_baseline(frame, group, against, options) if options.resamples else None,
    )


def _baseline(frame: Frame, group: str, against: str, options: Options) -> RatioBootstrap:
    names, codes = frame.attribute.names, frame.attribute.codes
    return ratio_bootstrap(
        frame.errors,
        frame.words,
        codes == names.index(group),
        codes == names.index(against),
        None if frame.speaker is None else frame.speaker.codes,
        resamples=options.resamples,
        seed=options.seed,
    )


def _modes(frame: Frame, fit: MixedFit) -> tuple[Mode, ...]:
    if frame.speaker is None:
        return ()
    rows = zip(frame.speaker.names, fit.modes, fit.mode_sd, strict=True)
    return tuple(Mode(name, float(mode), float(sd)) for name, mode, sd in rows)


def fit_frame(
    frame: Frame,
    attribute: str,
    reference: str,
    settings: Settings,
    *,
    base: str | None = None,
) -> Model:
    """Fit one frame; `base` is the reference value of its interaction column, which is held fixed."""
    _refuse_early(frame, attribute, reference, settings)
    if base is not None and frame.interaction is not None and base not in frame.interaction.labels.names:
        raise refuse(
            "no_clean_speech", f"the value '{base}' of {frame.interaction.column} does not occur here"
        )
    terms, design = group_design(frame, attribute, reference, base=base)
    codes = frame.speaker.codes if frame.speaker is not None and settings.random else None
    speaker = np.zeros(len(frame.errors), dtype=np.int64) if codes is None else codes
    cells = collapse(frame.errors, frame.words, speaker, design)
    model = regress(cells, settings)
    notes = _dependence(model, terms, attribute)
    notes += _infinite(model, terms, reference)
    if settings.random and speaker_freedom(model) < 1:
        people = len(frame.speaker.names) if frame.speaker is not None else 0
        coefficients_ = int(model.cells.constant_within.sum())
        raise refuse(
            "too_few_speakers",
            f"{people} speakers cannot carry {coefficients_} speaker-level coefficients: there is nothing left to tell"
            " how much speakers differ. Record more speakers or use fewer controls",
            see=("controls",),
            speakers=people,
            coefficients=coefficients_,
        )
    return Model(terms, model, tuple(notes))


def _refuse_early(frame: Frame, attribute: str, reference: str, settings: Settings) -> None:
    names = frame.attribute.names
    if reference not in names:
        raise refuse(
            "one_group", f"the group '{reference}' of {attribute} does not occur here", see=("against",)
        )
    if len(names) < 2:
        raise refuse("one_group", f"only one group of {attribute} occurs here, '{names[0]}'")
    total = int(frame.errors.sum())
    if total < FEWEST_ERRORS:
        words = int(frame.words.sum())
        text = f"{total} errors in {words:,} words are too few to compare groups"
        raise refuse("too_few_errors", text, errors=total, words=words)
    if not frame.errors[frame.attribute.codes == names.index(reference)].sum():
        text = (
            f"the group '{reference}' has no errors, so every ratio to it is infinite. Compare with another"
        )
        raise refuse("too_few_errors", text, see=("against",), group=reference)
    if settings.random and frame.speaker is not None and len(frame.speaker.names) < 2:
        text = (
            "there is one speaker, so nothing can be said about speakers in general. Record more, or leave the"
            " speakers' effect out for a statement about this speaker alone"
        )
        raise refuse("one_speaker", text, see=("random",))


def _dependence(model: Regression, terms: tuple[Term, ...], attribute: str) -> list[Note]:
    notes = []
    for one in model.dependent:
        term = terms[one.column]
        on = ", ".join(dict.fromkeys(str(terms[index].column) for index in one.on))
        if term.kind == "attribute":
            what = f"group '{term.level}' of {attribute}"
            raise refuse(
                "not_separable",
                f"{what} cannot be told apart from {on or 'the rest'}: they go together in every utterance. Leave out"
                " the control attribute, or collect data where they do not",
                see=("controls",),
            )
        why = f"is determined by {on}" if on else "has the same value in every utterance"
        notes.append(Note("control_left_out", f"control attribute {term.name} left out: it {why}"))
    return notes


def _infinite(model: Regression, terms: tuple[Term, ...], reference: str) -> list[Note]:
    notes = []
    for index, sign in model.infinite.items():
        term = terms[index]
        if term.kind == "intercept" or (term.kind == "attribute" and sign > 0):
            raise refuse(
                "too_few_errors",
                f"no comparison with the group '{reference}' is possible: wherever it occurs together with the"
                " controls, it has no errors. Use fewer controls or compare with another group",
                see=("controls", "against"),
            )
        if term.kind == "attribute":
            text = f"group '{term.level}' has no errors: its ratio is 0, the upper limit that of the profile likelihood"
            notes.append(Note("no_errors", text, {"group": term.level}))
        elif term.kind == "control":
            text = (
                f"control attribute {term.name} has no finite coefficient: utterances without errors are told apart by"
                " it completely; they say nothing about the groups"
            )
            notes.append(Note("infinite_control", text))
    return notes


def coefficients(model: Model, robust: Sandwich | None) -> tuple[Coefficient, ...]:
    """Return the intercept and the controls."""
    regression, found = model.regression, []
    left_out = {one.column for one in regression.dependent}
    for place, term in enumerate(model.terms):
        if term.kind not in ("intercept", "control") or place in left_out:
            continue
        estimate, se = regression.estimate(place)
        spread = None
        if robust is not None and place in regression.finite:
            spread = robust.standard_error(regression.finite.index(place))
        found.append(
            Coefficient(term.name, term.column, term.level, estimate, None if np.isnan(se) else se, spread)
        )
    return tuple(found)


def cautions(frame: Frame, model: Model, attribute: str, mixed_dispersion: float | None) -> list[Note]:
    """Return what a reader has to know before trusting the numbers."""
    fit, notes = model.regression.fit, list(model.notes)
    notes += [
        Note("left_out", f"{count:,} utterances left out: {reason}", {"utterances": count})
        for reason, count in frame.left_out.items()
    ]
    if not isinstance(fit, MixedFit):
        text = "no speaker effect: utterances of one speaker are taken for independent, so intervals are too narrow"
        return [*notes, Note("no_speaker_effect", text)]
    if frame.speaker is None:
        return notes
    count = len(frame.attribute.names)
    pairs = np.unique(frame.speaker.codes * count + frame.attribute.codes)
    mixed = len(pairs) - len(frame.speaker.names)
    if mixed:
        text = (
            f"{mixed} speakers occur with several values of {attribute}: the comparison is partly within them"
        )
        notes.append(Note("within_speakers", text, {"speakers": mixed}))
    people = np.bincount(pairs % count, minlength=count)
    fewest, group = int(people.min()), frame.attribute.names[int(people.argmin())]
    if fewest < FEW_SPEAKERS:
        rate = "13 %" if fewest <= 3 else "9 %" if fewest <= 6 else "7 %"
        text = (
            f"group '{group}' has {fewest} speaker{'s' if fewest > 1 else ''}: with so few, likelihood intervals claim"
            f" a gap in about {rate} of cases without one, not 5 %; the robust interval keeps 5 %"
        )
        notes.append(Note("few_speakers", text, {"group": group, "speakers": fewest}))
    if fit.boundary:
        text = "sigma = 0: speakers differ no more than chance, so this is the regression without speakers"
        notes.append(Note("no_speaker_spread", text))
    if mixed_dispersion is not None and mixed_dispersion > OVERDISPERSED:
        text = (
            f"errors within speakers vary {mixed_dispersion:.1f} times as much as the model says: standard errors of"
            f" whatever varies within speakers are about {np.sqrt(mixed_dispersion):.1f} times too small; the robust"
            " ones allow for it"
        )
        notes.append(Note("overdispersed", text, {"dispersion": mixed_dispersion}))
    if fit.nodes is None:
        text = f"sigma is {fit.sigma:.2f}: a wider quadrature rule than the one asked for was needed and used"
        notes.append(Note("wider_quadrature", text, {"sigma": fit.sigma}))
    return notes + [
        Note(
            "far_speaker",
            f"speaker '{name}' is {far:+.1f} sigma from the others: listen to it, and see whether the result stands"
            " without it",
            {"speaker": name},
            see=("without_outliers",),
        )
        for name, far in list(far_speakers(fit, frame.speaker).items())[:3]
    ]


def far_speakers(fit: MixedFit, speaker: Labels) -> dict[str, float]:
    """Return the speakers that lie far out, the farthest first, and by how many sigma."""
    from voxaudit.numeric import ndtri

    if fit.boundary:
        return {}
    # Bonferroni over speakers: the furthest of many is far by chance.
    sigmas = np.asarray(fit.modes) / fit.sigma
    far = np.flatnonzero(np.abs(sigmas) > -float(ndtri(0.5 * FAR_SPEAKER / len(sigmas))))
    return {speaker.names[index]: float(sigmas[index]) for index in far[np.argsort(-np.abs(sigmas[far]))]}
