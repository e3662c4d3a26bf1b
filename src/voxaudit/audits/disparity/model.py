"""The regression: the design of a frame, its fit, intervals of every kind, and what it cannot carry."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from voxaudit.answer import Note, refuse
from voxaudit.audits.disparity.frames import Categorical, Frame, Numeric, Question
from voxaudit.audits.disparity.result import (
    Coefficient,
    Contrast,
    FTest,
    Group,
    Interaction,
    Interval,
    RatioTest,
)
from voxaudit.stats.cells import FloatArray, collapse
from voxaudit.stats.labels import Labels
from voxaudit.stats.poisson_glmm import MixedFit
from voxaudit.stats.profile import profile_interval
from voxaudit.stats.regression import (
    Regression,
    Settings,
    likelihood_ratio,
    normal_tails,
    regress,
    without_columns,
)
from voxaudit.stats.robust import Sandwich, robust_test, speaker_freedom, speaker_sandwich

FEWEST_ERRORS = 5
"""With fewer errors in all, no comparison is made."""
FEW_SPEAKERS = 20
"""With fewer speakers in a group, likelihood intervals are noticeably too narrow."""
OVERDISPERSED = 1.25
"""Within-speaker dispersion above this is said."""
FAR_SPEAKER = 0.01
"""A speaker is named who is further from the others than the furthest of so many would be with this probability."""
_Z = 1.959963984540054


@dataclass(frozen=True)
class Term:
    """A column of the design: the intercept, a control, a group, or a group at a scenario."""

    kind: str
    column: str | None = None
    level: str | None = None
    at: str | None = None

    @property
    def name(self) -> str:
        """The name as R writes it: column and level without anything between."""
        return "(Intercept)" if self.column is None else f"{self.column}{self.level or ''}"


@dataclass(frozen=True)
class Model:
    """A fitted frame."""

    terms: tuple[Term, ...]
    regression: Regression
    notes: tuple[Note, ...]

    def columns(self, kind: str) -> tuple[int, ...]:
        """Return the places of the terms of one kind."""
        return tuple(place for place, term in enumerate(self.terms) if term.kind == kind)


def fit_frame(
    frame: Frame,
    attribute: str,
    reference: str,
    settings: Settings,
    *,
    base: str | None = None,
    interact: bool = False,
) -> Model:
    """Fit one frame. `base` is the reference value of its interaction column, which acts apart or, with `interact`,
    differently on every group.
    """
    _refuse_early(frame, attribute, reference, settings)
    if base is not None and frame.interaction is not None and base not in frame.interaction.labels.names:
        raise refuse(
            "no_clean_speech", f"the value '{base}' of {frame.interaction.column} does not occur here"
        )
    terms, columns = _design(frame, attribute, reference, base, interact)
    codes = frame.speaker.codes if frame.speaker is not None and settings.random else None
    speaker = np.zeros(len(frame.errors), dtype=np.int64) if codes is None else codes
    cells = collapse(frame.errors, frame.words, speaker, np.column_stack(columns))
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


def _design(
    frame: Frame, attribute: str, reference: str, base: str | None, interact: bool
) -> tuple[tuple[Term, ...], list[FloatArray]]:
    terms, columns = [Term("intercept")], [np.ones(len(frame.errors))]
    fixed = [*frame.controls, *([] if frame.interaction is None else [frame.interaction])]
    for control in fixed:
        if isinstance(control, Numeric):
            terms.append(Term("control", control.column))
            columns.append(control.values)
            continue
        first = base if control is frame.interaction else None
        for level, column in _dummies(control.labels, first or _base(control, frame)):
            terms.append(Term("control", control.column, level))
            columns.append(column)
    levels = _dummies(frame.attribute, reference)
    for level, column in levels:
        terms.append(Term("attribute", attribute, level))
        columns.append(column)
    if interact and base is not None and frame.interaction is not None:
        for at, where in _dummies(frame.interaction.labels, base):
            for level, column in levels:
                terms.append(Term("interaction", attribute, level, at))
                columns.append(column * where)
    return tuple(terms), columns


def _dummies(labels: Labels, base: str) -> list[tuple[str, FloatArray]]:
    return [
        (name, (labels.codes == code).astype(np.float64))
        for code, name in enumerate(labels.names)
        if name != base
    ]


def _base(control: Categorical, frame: Frame) -> str:
    """Return the first value with errors: against one without, every coefficient would be infinite."""
    labels = control.labels
    errors = np.bincount(labels.codes, frame.errors, len(labels.names))
    return labels.names[int((errors > 0).argmax())]


def _dependence(model: Regression, terms: tuple[Term, ...], attribute: str) -> list[Note]:
    notes = []
    for one in model.dependent:
        term = terms[one.column]
        on = ", ".join(dict.fromkeys(str(terms[index].column) for index in one.on))
        if term.kind in ("attribute", "interaction"):
            what = f"group '{term.level}' of {attribute}" + (f" at '{term.at}'" if term.at else "")
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


def intervals(
    model: Model, place: int, robust: Sandwich | None
) -> tuple[Interval, Interval | None, Interval | None]:
    """Return the profile, the Wald and the speaker-robust interval of one coefficient's ratio."""
    regression = model.regression
    estimate, se = regression.estimate(place)
    found = profile_interval(regression, place)
    profile = Interval(float(np.exp(found.low)), float(np.exp(found.high)), found.p)
    if not np.isfinite(estimate):
        return profile, None, None
    wald = _around(estimate, se, _Z, float(normal_tails(estimate / se)))
    if np.isnan(found.p):
        profile = Interval(profile.low, profile.high, wald.p)
    return profile, wald, None if robust is None else robust_interval(regression, place, robust)


def robust_interval(regression: Regression, place: int, sandwich: Sandwich) -> Interval | None:
    """Return the speaker-robust interval of a coefficient's ratio: t distribution, speakers as the sample."""
    from scipy.special import stdtr, stdtrit

    if place not in regression.finite:
        return None
    estimate, _ = regression.estimate(place)
    at = regression.finite.index(place)
    se, freedom = sandwich.standard_error(at), float(sandwich.freedom[at])
    if not (se > 0.0 and freedom > 0.0):
        return None
    p = 2.0 * float(stdtr(freedom, -abs(estimate / se)))
    return _around(estimate, se, float(stdtrit(freedom, 0.975)), p)


def _around(estimate: float, se: float, reach: float, p: float) -> Interval:
    low, high = np.exp(estimate - reach * se), np.exp(estimate + reach * se)
    return Interval(float(low), float(high), p, se)


def groups(frame: Frame) -> tuple[Group, ...]:
    """Return what was observed in every group."""
    found = []
    for code, group in enumerate(frame.attribute.names):
        here = frame.attribute.codes == code
        errors, words = int(frame.errors[here].sum()), int(frame.words[here].sum())
        people = None if frame.speaker is None else len(np.unique(frame.speaker.codes[here]))
        found.append(Group(group, int(here.sum()), people, words, errors, errors / words))
    return tuple(found)


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
    return notes if fit.boundary else [*notes, *_far_speakers(fit, frame.speaker)]


def _far_speakers(fit: MixedFit, speaker: Labels) -> list[Note]:
    from scipy.special import ndtri

    # Bonferroni over speakers: the furthest of many is far by chance.
    reach = -float(ndtri(0.5 * FAR_SPEAKER / len(fit.modes))) * fit.sigma
    far = np.flatnonzero(np.abs(fit.modes) > reach)
    return [
        Note(
            "far_speaker",
            f"speaker '{speaker.names[index]}' is {fit.modes[index] / fit.sigma:+.1f} sigma from the others: listen to"
            " it, and see whether the result stands without it",
            {"speaker": speaker.names[index]},
        )
        for index in far[np.argsort(-np.abs(fit.modes[far]))][:3]
    ]


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
        against=base,
        contrasts=tuple(_contrast(model, index, robust) for index in columns),
        robust=None if together is None else FTest(**vars(together)),
        lrt=RatioTest(test.chi2, test.df, test.p),
        verdict="measured",
    )


def _contrast(model: Model, index: int, robust: Sandwich | None) -> Contrast:
    term, (estimate, se) = model.terms[index], model.regression.estimate(index)
    shown = None if robust is None else robust_interval(model.regression, index, robust)
    if shown is None:
        shown = intervals(model, index, None)[0]
    return Contrast(
        group=str(term.level),
        at=str(term.at),
        estimate=estimate,
        se=shown.se if shown.se is not None else (None if np.isnan(se) else se),
        ratio=float(np.exp(estimate)),
        low=shown.low,
        high=shown.high,
        p=shown.p,
        p_adjusted=None,
        p_bh=None,
    )
