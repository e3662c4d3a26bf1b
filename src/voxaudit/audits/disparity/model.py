"""One disparity model: the design of a frame, its fit, and the refusals and warnings in words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from voxaudit.audits.disparity.result import Coefficient, Group, Interval
from voxaudit.audits.disparity.table import Categorical, Frame, Labels, Numeric
from voxaudit.errors import VoxauditError
from voxaudit.stats.cells import FloatArray, collapse
from voxaudit.stats.poisson_glmm import MixedFit
from voxaudit.stats.profile import profile_interval
from voxaudit.stats.regression import Regression, Settings, normal_tails, regress
from voxaudit.stats.robust import Sandwich, speaker_freedom

FEWEST_ERRORS = 5
"""With fewer errors in all, no comparison is made."""
FEW_SPEAKERS = 20
"""With fewer speakers in a group, likelihood intervals are noticeably too narrow."""
OVERDISPERSED = 1.25
"""Within-speaker dispersion above this is said."""
FAR_SPEAKER = 0.01
"""A speaker is named who is further from the others than the furthest of so many would be with this probability."""
_Z = 1.959963984540054


class RefusalError(VoxauditError):
    """The data cannot carry the conclusion; the message says what is missing."""


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
    warnings: tuple[str, ...]

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
        raise RefusalError(f"the value '{base}' of {frame.interaction.column} does not occur here")
    terms, columns = _design(frame, attribute, reference, base, interact)
    codes = frame.speaker.codes if frame.speaker is not None and settings.random else None
    speaker = np.zeros(len(frame.errors), dtype=np.int64) if codes is None else codes
    cells = collapse(frame.errors, frame.words, speaker, np.column_stack(columns))
    model = regress(cells, settings)
    warnings = _dependence(model, terms, attribute)
    warnings += _infinite(model, terms, reference)
    if settings.random and speaker_freedom(model) < 1:
        people = len(frame.speaker.names) if frame.speaker is not None else 0
        raise RefusalError(
            f"{people} speakers cannot carry {int(model.cells.constant_within.sum())} speaker-level coefficients:"
            " there is nothing left to tell how much speakers differ. Record more speakers or use fewer controls"
        )
    return Model(terms, model, tuple(warnings))


def _refuse_early(frame: Frame, attribute: str, reference: str, settings: Settings) -> None:
    names = frame.attribute.names
    if reference not in names:
        raise RefusalError(f"the reference group '{reference}' of {attribute} does not occur here")
    if len(names) < 2:
        raise RefusalError(f"only one group of {attribute} occurs here, '{names[0]}'")
    total = int(frame.errors.sum())
    if total < FEWEST_ERRORS:
        raise RefusalError(
            f"{total} errors in {int(frame.words.sum()):,} words are too few to compare groups"
        )
    if not frame.errors[frame.attribute.codes == names.index(reference)].sum():
        raise RefusalError(
            f"the reference group '{reference}' has no errors, so every ratio to it is infinite. Choose another"
            " with --reference"
        )
    if settings.random and frame.speaker is not None and len(frame.speaker.names) < 2:
        raise RefusalError(
            "there is one speaker, so nothing can be said about speakers in general. Record more, or give --no-random"
            " for a statement about this speaker alone"
        )


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


def _dependence(model: Regression, terms: tuple[Term, ...], attribute: str) -> list[str]:
    warnings = []
    for one in model.dependent:
        term = terms[one.column]
        on = ", ".join(dict.fromkeys(str(terms[place].column) for place in one.on))
        if term.kind in ("attribute", "interaction"):
            what = f"group '{term.level}' of {attribute}" + (f" at '{term.at}'" if term.at else "")
            raise RefusalError(
                f"{what} cannot be told apart from {on or 'the rest'}: they go together in every utterance. Leave out"
                " the control attribute, or collect data where they do not"
            )
        warnings.append(
            f"control attribute {term.name} left out: it "
            + (f"is determined by {on}" if on else "has the same value in every utterance")
        )
    return warnings


def _infinite(model: Regression, terms: tuple[Term, ...], reference: str) -> list[str]:
    warnings = []
    for place, sign in model.infinite.items():
        term = terms[place]
        if term.kind == "intercept" or (term.kind == "attribute" and sign > 0):
            raise RefusalError(
                f"no comparison with the reference group '{reference}' is possible: wherever it occurs together with"
                " the controls, it has no errors. Use fewer controls or another reference"
            )
        if term.kind == "attribute":
            warnings.append(
                f"group '{term.level}' has no errors: its ratio is 0, with an upper limit from the profile likelihood"
            )
        elif term.kind == "control":
            warnings.append(
                f"control attribute {term.name} has no finite coefficient: utterances without errors are told apart by"
                " it completely; they say nothing about the groups"
            )
    return warnings


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
        profile = Interval(profile.ci_low, profile.ci_high, wald.p)
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


def cautions(frame: Frame, model: Model, attribute: str, mixed_dispersion: float | None) -> list[str]:
    """Return what a reader has to know before trusting the numbers."""
    fit, found = model.regression.fit, list(model.warnings)
    found += [f"{count:,} utterances left out: {reason}" for reason, count in frame.left_out.items()]
    if not isinstance(fit, MixedFit):
        found.append(
            "no random effect: utterances of one speaker are taken for independent, so intervals are too narrow"
        )
        return found
    if frame.speaker is None:
        return found
    groups = len(frame.attribute.names)
    pairs = np.unique(frame.speaker.codes * groups + frame.attribute.codes)
    mixed = len(pairs) - len(frame.speaker.names)
    if mixed:
        found.append(
            f"{mixed} speakers occur with several values of {attribute}: the comparison is partly within them"
        )
    people = np.bincount(pairs % groups, minlength=groups)
    fewest = int(people.min())
    group = frame.attribute.names[int(people.argmin())]
    if fewest < FEW_SPEAKERS:
        rate = "13 %" if fewest <= 3 else "9 %" if fewest <= 6 else "7 %"
        found.append(
            f"group '{group}' has {fewest} speaker{'s' if fewest > 1 else ''}: with so few, likelihood intervals claim"
            f" a gap in about {rate} of cases without one, not 5 %; the robust interval keeps 5 %"
        )
    if fit.boundary:
        found.append(
            "sigma = 0: speakers differ no more than chance, so this is the regression without speakers"
        )
    if mixed_dispersion is not None and mixed_dispersion > OVERDISPERSED:
        found.append(
            f"errors within speakers vary {mixed_dispersion:.1f} times as much as the model says: standard errors of"
            f" whatever varies within speakers are about {np.sqrt(mixed_dispersion):.1f} times too small; the robust"
            " ones allow for it"
        )
    if fit.nodes is None:
        found.append(
            f"sigma is {fit.sigma:.2f}: a wider quadrature rule than the one asked for was needed and used"
        )
    if not fit.boundary:
        from scipy.special import ndtri

        reach = -float(ndtri(0.5 * FAR_SPEAKER / len(fit.modes))) * fit.sigma
        far = np.flatnonzero(np.abs(fit.modes) > reach)
        found += [
            f"speaker '{frame.speaker.names[one]}' is {fit.modes[one] / fit.sigma:+.1f} sigma from the others: listen"
            " to it, and see whether the result stands without it"
            for one in far[np.argsort(-np.abs(fit.modes[far]))][:3]
        ]
    return found
