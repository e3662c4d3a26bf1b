"""Disparity: the question, the decision and the words. The regression is in `model.py`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from voxaudit.answer import (
    Answer,
    Cell,
    Column,
    Figure,
    Finding,
    Forest,
    ForestRow,
    Note,
    Refusal,
    RefusedError,
    Table,
    Verdict,
    finding_id,
    number_or_none,
    refuse,
    tabulate,
)
from voxaudit.audits.audit import asks
from voxaudit.audits.disparity.frames import Question, embedding_controls, frames
from voxaudit.audits.disparity.model import Options, fit_part
from voxaudit.audits.disparity.result import Contrast, Disparity, Effect, Fit, Interaction
from voxaudit.audits.scores import Names, Scores, Source
from voxaudit.errors import VoxauditError
from voxaudit.perturb import CLEAN
from voxaudit.registry import suggest
from voxaudit.stats.group_design import Control, Frame
from voxaudit.stats.labels import natural_order
from voxaudit.stats.multiplicity import benjamini_hochberg, holm
from voxaudit.stats.poisson_glmm import DEFAULT_NODES
from voxaudit.stats.ratio_intervals import lower_together
from voxaudit.stats.regression import Settings
from voxaudit.wording import as_or_than, counted, listed, ratio_interval, times_as_many

INTERVALS = ("robust", "profile", "wald")
LEVEL = 0.05
MEASURE = "typical_speaker_ratio"
LEAD = (
    "How many times as many errors a typical speaker of a group meets as one of the group it is compared with; 1 is no"
    " difference. Speakers differ for reasons of their own, and a gap must be larger than that explains: a Poisson"
    " regression with a random effect for every speaker (Liu et al. 2022). A gap is shown where both the likelihood's"
    " and the speaker-robust p-value stay below 0.05 after Holm's correction for the comparisons of an attribute."
)


# The question


@asks("disparity")
def disparity(
    source: Source,
    *,
    attribute: str | Sequence[str],
    recognizer: Names = None,
    scenario: Names = None,
    corpus: Names = None,
    language: Names = None,
    where: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    against: str | None = None,
    controls: Sequence[str] = (),
    by: Sequence[str] | None = None,
    interaction: str | None = None,
    interaction_against: str | None = None,
    hold_text: str | None = None,
    random: bool = True,
    interval: str = "robust",
    nodes: int = DEFAULT_NODES,
    resamples: int = 0,
    seed: int = 0,
    extra: Sequence[Control] = (),
) -> Answer:
    """Compare the error rates of the groups of sensitive attributes, with `controls` and speakers held fixed.

    The model is `errors ~ Poisson(words * exp(mu_group + theta' x + r_speaker))`, `r ~ N(0, sigma^2)` (Liu et al. 2022,
    Eq. 7), or the same without `r` where `random` is false; a ratio is `exp(mu_group - mu_against)`, that of typical
    speakers. A table needs the columns speaker, words and errors (or substitutions, deletions and insertions).

    Recognizers are answered one by one, on clean speech unless `scenario` says otherwise; `by` names other columns to
    split by. Of two groups the better served one is compared with, of more the one with most speakers, or `against`.
    `interaction` names a column (a scenario, say) and asks whether it hurts one group more than another. `hold_text`
    adds sentence embeddings of a text column to the controls. With `resamples`, the raw ratio of error rates stands
    beside, with bootstrap intervals. `detail` holds every fit (`Disparity`).

    >>> import polars as pl
    >>> rows = [
    ...     {"speaker": f"s{n}", "accent": "ab"[n % 2], "words": 200, "errors": 8 + (n % 5) + 14 * (n % 2)}
    ...     for n in range(24)
    ... ]
    >>> answer = disparity(pl.DataFrame(rows), attribute="accent")
    >>> finding = answer.findings[0]
    >>> finding.group, finding.against, finding.verdict, round(finding.estimate, 2)
    ('b', 'a', 'shown', 2.44)
    """
    if interval not in INTERVALS:
        raise VoxauditError(
            f"unknown interval '{interval}'. Available: {', '.join(INTERVALS)}", see=("interval",)
        )
    if nodes < 1:
        raise VoxauditError(f"the number of quadrature nodes must be at least 1, not {nodes}", see=("nodes",))
    scores = Scores.of(
        source, recognizer=recognizer, corpus=corpus, language=language, where=where, columns=columns
    )
    split = _split(scores, by)
    scores = _heard(scores, scenario, {*split, interaction})
    notes = [Note("selected", text) for text in scores.notes]
    if hold_text is not None:
        extra, said = _text_controls(scores, hold_text, random)
        notes.append(Note("text", said))
    names = (attribute,) if isinstance(attribute, str) else tuple(attribute)
    fits: list[Fit] = []
    plain: list[Fit] = []
    refusals: list[Refusal] = []
    options = Options(Settings(random=random, nodes=nodes), interval, resamples, seed)
    for name in names:
        try:
            question = Question(
                scores.column(name), tuple(controls), split, interaction, random or _all_known(scores)
            )
            found, said_of = _fits(scores, question, against, interaction_against, extra, options)
            heard = () if "scenario" in split else tuple(scores.scenarios)
            fits += _adjusted([replace(fit, attribute=name, scenarios=heard) for fit in found])
            notes += said_of
            if hold_text is not None:
                found, _ = _fits(scores, question, against, None, (), replace(options, resamples=0))
                plain += _adjusted([replace(fit, attribute=name) for fit in found])
        except RefusedError as error:
            if len(names) == 1:
                raise
            refusals.append(error.refusal)
    if not fits:
        raise RefusedError(refusals[0])
    if all(fit.refusal for fit in fits) and len(names) == 1:
        assert fits[0].refusal is not None
        raise RefusedError(replace(fits[0].refusal, about=scores.where))
    return _answer(Disparity(interval, tuple(fits)), split, notes, refusals, plain)


def _split(scores: Scores, by: Sequence[str] | None) -> tuple[str, ...]:
    """Return the columns that split the table: recognizers are never thrown together unless somebody asks for it."""
    if by is not None:
        return (by,) if isinstance(by, str) else tuple(by)
    return ("recognizer",) if "recognizer" in scores.frame.columns else ()


def _heard(scores: Scores, scenario: Names, used: set[str | None]) -> Scores:
    """Return the scenarios asked about: clean speech, unless others were named or the table is split by them."""
    if scenario is not None:
        return scores.select(scenario=scenario)
    if "scenario" not in scores.frame.columns or "scenario" in used:
        return scores
    if CLEAN not in scores.scenarios:
        if len(scores.scenarios) <= 1:
            return scores
        text = f"no clean speech was heard; name one of the scenarios: {listed(scores.scenarios)}"
        raise refuse("no_clean_speech", text, about=scores.where, see=("scenario",))
    return scores.clean


def _all_known(scores: Scores) -> bool:
    """Say whether every row has a speaker: without a speaker effect, they are not needed."""
    if "speaker" not in scores.frame.columns:
        return False
    names = scores.frame["speaker"].cast(pl.String).str.strip_chars()
    return not names.null_count() and not (names == "").any()


def _text_controls(scores: Scores, column: str, random: bool) -> tuple[Sequence[Control], str]:
    """Return the text of utterances as controls; a run keeps it beside the scores, in its corpus."""
    table = scores.frame
    if column not in table.columns and scores.run is not None and column in scores.run.corpus.columns:
        texts = scores.run.corpus.select(utterance="id", **{column: column})
        table = table.join(texts, on="utterance", how="left", maintain_order="left")
    return embedding_controls(table, column, "speaker" if random else None, where=scores.where)


# The decision


def _fits(
    scores: Scores,
    question: Question,
    against: str | None,
    base: str | None,
    extra: Sequence[Control],
    options: Options,
) -> tuple[list[Fit], list[Note]]:
    if scores.frame.height:
        scores.comparable(question.attribute)
    parts = list(frames(scores, question, extra))
    chosen, notes = _against(parts, question.attribute, against, scores.where)
    base = _interaction_base(parts, question.interaction, base, scores.where)
    return [fit_part(part, question, chosen, base, options) for part in parts], notes


def _against(parts: Sequence[Frame], attribute: str, asked: str | None, where: str) -> tuple[str, list[Note]]:
    """Return the group that others are compared with.

    Of two it is the better served that has errors at all: the test is the same, the sentence easier to read. Of more it
    is the one with most speakers that has errors: to pick the best of several would make the others look worse than
    they are.
    """
    totals: dict[str, list[float]] = {}
    people: dict[str, set[str]] = {}
    for part in parts:
        for code, name in enumerate(part.attribute.names):
            here = part.attribute.codes == code
            sums = totals.setdefault(name, [0.0, 0.0, 0.0])
            sums[0] += float(part.errors[here].sum())
            sums[1] += float(part.words[here].sum())
            sums[2] += int(here.sum())
            if part.speaker is not None:
                known = np.unique(part.speaker.codes[here])
                people.setdefault(name, set()).update(part.speaker.names[one] for one in known)
    if asked is not None:
        asked = str(asked).lower() if isinstance(asked, bool) else str(asked)  # labels are text
        if asked not in totals:
            known_names = natural_order(list(totals))
            raise VoxauditError(
                f"{where}: no group '{asked}' of {attribute}.{suggest(asked, known_names)} Groups there:"
                f" {', '.join(known_names)}",
                see=("against",),
            )
        return asked, []
    if len(totals) < 2:
        text = f"only the group '{next(iter(totals))}' can be used" if totals else "no utterance can be used"
        raise refuse(
            "one_group", f"{text}: others lack words, counts, or a control attribute", about=attribute
        )
    wrong = [name for name in natural_order(list(totals)) if totals[name][0]] or natural_order(list(totals))
    if len(totals) == 2:
        chosen = min(wrong, key=lambda name: totals[name][0] / max(totals[name][1], 1.0))
    else:
        chosen = max(wrong, key=lambda name: (len(people.get(name, ())), totals[name][2]))
    text = f"groups of {attribute} are compared with '{chosen}'"
    return chosen, [Note("against", text, {"attribute": attribute, "against": chosen}, see=("against",))]


def _interaction_base(
    parts: Sequence[Frame], column: str | None, asked: str | None, where: str
) -> str | None:
    if column is None:
        return None
    names = sorted({name for part in parts if part.interaction for name in part.interaction.labels.names})
    if len(names) < 2:
        raise VoxauditError(
            f"{where}: column '{column}' needs at least two values for an interaction", see=("interaction",)
        )
    if asked is None:
        return CLEAN if CLEAN in names else names[0]
    if asked not in names:
        raise VoxauditError(
            f"{where}: no value '{asked}' of {column}.{suggest(asked, names)} Values there: {', '.join(names)}",
            see=("interaction_against",),
        )
    return asked


def _adjusted(fits: Sequence[Fit]) -> list[Fit]:
    """Return the fits of one attribute with p-values adjusted over all of them, and the verdicts that follow."""
    effects = [(fit, effect) for fit in fits for effect in fit.effects]
    decided = iter(
        replace(effect, verdict=_verdict(fit, effect, p["p_adjusted"]), **p)
        for (fit, effect), p in zip(effects, _both([_careful(effect) for _, effect in effects]), strict=True)
    )
    fits = [replace(fit, effects=tuple(next(decided) for _ in fit.effects)) for fit in fits]
    tests = _both([None if fit.lrt is None else fit.lrt.p for fit in fits])
    fits = [
        fit if fit.lrt is None else replace(fit, lrt=replace(fit.lrt, **p))
        for fit, p in zip(fits, tests, strict=True)
    ]
    return _adjusted_interactions(fits)


def _careful(effect: Effect) -> float | None:
    """Return the larger of the likelihood's and the robust p-value: a gap has to convince both."""
    known = [one.p for one in (effect.profile, effect.robust) if one is not None and one.p is not None]
    return max(known) if known else effect.p


def _verdict(fit: Fit, effect: Effect, p: float | None) -> Verdict:
    compared = (effect.group, fit.against)
    if fit.sigma is not None and any(one.speakers == 1 for one in fit.groups if one.group in compared):
        return "refused"  # one speaker cannot stand for a group
    return "shown" if p is not None and p < LEVEL else "not_shown"


def _adjusted_interactions(fits: Sequence[Fit]) -> list[Fit]:
    parts = [fit.interaction for fit in fits if fit.interaction is not None]
    each = iter(_both([contrast.p for part in parts for contrast in part.contrasts]))
    whole = iter(_both([(part.robust or part.lrt).p for part in parts]))
    decided = []
    for fit in fits:
        if fit.interaction is None:
            decided.append(fit)
            continue
        part, test = fit.interaction, next(whole)
        shown: Verdict = (
            "shown" if test["p_adjusted"] is not None and test["p_adjusted"] < LEVEL else "not_shown"
        )
        contrasts = tuple(replace(contrast, **next(each)) for contrast in part.contrasts)
        part = replace(part, contrasts=contrasts, verdict=shown)
        if part.robust is not None:
            part = replace(part, robust=replace(part.robust, **test))
        else:
            part = replace(part, lrt=replace(part.lrt, **test))
        decided.append(replace(fit, interaction=part))
    return decided


def _both(p_values: Sequence[float | None]) -> list[dict[str, Any]]:
    """Return Holm's and Benjamini and Hochberg's p-values of one family."""
    pairs = zip(holm(p_values), benjamini_hochberg(p_values), strict=True)
    return [{"p_adjusted": p, "p_bh": p_bh} for p, p_bh in pairs]


@dataclass(frozen=True)
class _Gap:
    """Two groups, the worse over the better: the ratio with the outer limits of all intervals."""

    attribute: str
    worse: str
    better: str
    ratio: float
    low: float | None
    high: float | None
    speakers: int


def _gaps(fit: Fit) -> Iterator[_Gap]:
    people = {group.group: group.speakers or 0 for group in fit.groups}
    for effect in fit.effects:
        if effect.verdict == "refused":
            continue
        # A gap has to convince both the likelihood and the robust interval.
        kinds = [one for one in (effect.profile, effect.robust) if one is not None]
        lows = [low for low in (effect.low, *(one.low for one in kinds)) if low is not None]
        highs = [high for high in (effect.high, *(one.high for one in kinds)) if high is not None]
        low, high = min(lows, default=None), max(highs, default=None)
        worse, better, ratio = effect.group, fit.against, effect.ratio
        if ratio < 1.0:
            worse, better = better, worse
            ratio, low, high = _inverse(ratio) or math.inf, _inverse(high), _inverse(low)
        fewest = min(people.get(worse, 0), people.get(better, 0))
        yield _Gap(fit.attribute, worse, better, ratio, low, high, fewest)


def _inverse(value: float | None) -> float | None:
    return None if value is None else math.inf if value == 0.0 else 1.0 / value


# The words


def _answer(
    result: Disparity,
    split: tuple[str, ...],
    notes: Sequence[Note],
    refusals: Sequence[Refusal],
    plain: Sequence[Fit],
) -> Answer:
    fits = result.fits
    tables = (
        _groups_table(fits, split),
        _text_table(plain, fits, split),
        _interaction_table(fits, split),
        _baseline_table(fits, split),
        _controls_table(fits, split),
        _fits_table(fits, split),
        _speakers_table(fits, split),
    )
    attributes = listed(dict.fromkeys(fit.attribute for fit in fits))
    refused = [replace(fit.refusal, about=f"{_part(fit)}{fit.attribute}") for fit in fits if fit.refusal]
    return Answer(
        audit="disparity",
        title=f"Errors by {attributes}" + (", what is said held fixed" if plain else ""),
        findings=(*(one for fit in fits for one in _findings(fit)), *_worst(fits, refusals)),
        tables=[table for table in tables if table.frame.height],  # type: ignore[arg-type]
        figures=tuple(_figures(fits)),
        notes=(*notes, *_cautions(fits)),
        refusals=(*refusals, *refused),
        lead=LEAD,
        detail=result,
    )


def _keys(fit: Fit) -> dict[str, Any]:
    """Return the recognizer and scenario of a fit, where it is about one."""
    heard = {"scenario": fit.scenarios[0]} if len(fit.scenarios) == 1 else {}
    keys = {**heard, **fit.by}
    return {name: str(keys[name]) for name in ("recognizer", "scenario") if keys.get(name) is not None}


def _id(fit: Fit, *parts: object) -> str:
    return finding_id("disparity", *fit.by.values(), *fit.scenarios[: len(fit.scenarios) == 1], *parts)


def _part(fit: Fit) -> str:
    return "".join(f"{value}: " for value in fit.by.values())


def _who(fit: Fit, default: str = "The recognizer") -> str:
    return str(fit.by.get("recognizer") or default)


def _when(fit: Fit) -> str:
    """Return the start of a sentence: what was heard, and who listened."""
    scenario = _keys(fit).get("scenario")
    if scenario is None and not fit.scenarios:
        return _who(fit)
    heard = f"Under {scenario}" if scenario else f"Over {counted(len(fit.scenarios), 'scenario')} together"
    return f"{'On clean speech' if scenario == CLEAN else heard} {_who(fit, 'the recognizer')}"


def _by(fits: Iterable[Fit], key: Callable[[Fit], Any]) -> dict[Any, list[Fit]]:
    found: dict[Any, list[Fit]] = {}
    for fit in fits:
        found.setdefault(key(fit), []).append(fit)
    return found


def _findings(fit: Fit) -> Iterator[Finding]:
    about: dict[str, Any] = {"attribute": fit.attribute, "unit": "ratio", **_keys(fit)}
    if fit.refusal is not None:
        sentence = f"{_part(fit)}no conclusion about {fit.attribute}: {fit.refusal.text.rstrip('.')}."
        id_ = _id(fit, fit.attribute, MEASURE)
        yield Finding(id_, MEASURE, "refused", sentence, code=fit.refusal.code, headline=True, **about)
        return
    shown = [effect for effect in fit.effects if effect.verdict == "shown"]
    top = max(shown or fit.effects, key=lambda effect: abs(effect.estimate), default=None)
    observed = {group.group: group for group in fit.groups}
    for effect in fit.effects:
        group = observed[effect.group]
        yield Finding(
            _id(fit, fit.attribute, effect.group, MEASURE),
            MEASURE,
            effect.verdict,
            _sentence(fit, effect),
            **_limits(effect),
            p=_careful(effect),
            p_adjusted=effect.p_adjusted,
            family=f"groups of {fit.attribute}",
            **{name: getattr(group, name) for name in ("group", "speakers", "utterances", "words")},
            against=fit.against,
            speakers_against=observed[fit.against].speakers,
            excludes=_farther(effect.low, effect.high) if effect.verdict == "not_shown" else None,
            code="one_speaker" if effect.verdict == "refused" else None,
            headline=effect is top,
            **about,
        )
    if fit.interaction is not None:
        yield _interaction_finding(fit, fit.interaction, about)


def _limits(one: Effect | Contrast) -> dict[str, Any]:
    return {"estimate": one.ratio, "low": one.low, "high": one.high}


def _farther(low: float | None, high: float | None) -> float | None:
    """Return the limit of a ratio that is farther from 1."""
    known = [limit for limit in map(number_or_none, (low, high)) if limit]
    return max(known, key=lambda limit: abs(math.log(limit)), default=None)


def _sentence(fit: Fit, effect: Effect) -> str:
    if effect.verdict == "refused":
        return (
            f"{_who(fit)}: no conclusion about {effect.group} ({fit.attribute}) against {fit.against}: one speaker"
            " cannot stand for a group."
        )
    claim = (
        f"{_when(fit)} makes {times_as_many(effect.ratio, effect.low, effect.high)} for a typical {effect.group}"
        f" speaker ({fit.attribute}) {as_or_than(effect.ratio)} for a typical {fit.against} one"
    )
    if effect.verdict == "shown":
        return f"{claim}: a gap is shown."
    low, high = number_or_none(effect.low), number_or_none(effect.high)
    if low is not None and high is not None and not low <= 1.0 <= high:
        return f"{claim}: no gap is shown once all comparisons and both tests are allowed for."
    limit = _farther(low, high)
    return f"{claim}: no gap is shown" + (
        f", but {limit:.2f} times as many are not ruled out." if limit else "."
    )


def _interaction_finding(fit: Fit, part: Interaction, about: dict[str, Any]) -> Finding:
    test = part.robust or part.lrt
    largest = max(part.contrasts, key=lambda one: abs(one.estimate))
    shown = part.verdict == "shown"
    does = "hurts the groups differently" if shown else "is not shown to hurt one group more"
    sentence = (
        f"{_who(fit)}: {part.column} {does} ({fit.attribute}, from {part.against}); at most, under {largest.at} the"
        f" errors of {largest.group} grow {ratio_interval(largest.ratio, largest.low, largest.high)} times as much as"
        f" those of {fit.against}."
    )
    return Finding(
        _id(fit, fit.attribute, part.column, "interaction"),
        "interaction",
        part.verdict,
        sentence,
        **_limits(largest),
        p=test.p,
        p_adjusted=test.p_adjusted,
        family=f"interactions with {part.column}",
        group=largest.group,
        against=fit.against,
        speakers=fit.speakers,
        utterances=fit.utterances,
        headline=True,
        **about,
    )


def _worst(fits: Sequence[Fit], refused: Sequence[Refusal]) -> Iterator[Finding]:
    """Yield, for every part of the table, the widest gap between two groups: what a gate looks at.

    The largest of several lower limits would be too high by chance: they are taken together.
    """
    measure = "worst_group_ratio"
    for own in _by(fits, lambda fit: tuple(fit.by.values())).values():
        about: dict[str, Any] = {"unit": "ratio", **_keys(own[0])}
        id_, who = _id(own[0], measure), _who(own[0])
        gaps = [gap for fit in own for gap in _gaps(fit)]
        why = next((one for one in (*(fit.refusal for fit in own), *refused) if one is not None), None)
        if why is not None or not gaps:
            code, text = (why.code, why.text) if why else ("one_speaker", "every group has one speaker only")
            sentence = f"{who}: the widest gap between groups cannot be judged: {text.rstrip('.')}."
            yield Finding(id_, measure, "refused", sentence, code=code, **about)
            continue
        widest = max(gaps, key=lambda gap: gap.ratio)
        lows = [lower_together(gap.ratio, gap.low, len(gaps), gap.speakers) for gap in gaps]
        low = max((low for low in lows if low is not None), default=None)
        together = f" with {len(gaps)} comparisons taken together" if len(gaps) > 1 else ""
        sentence = (
            f"The widest gap of {_who(own[0], 'the recognizer')} is {widest.ratio:.2f} times as many errors for a"
            f" typical {widest.worse} speaker ({widest.attribute}) as for a typical {widest.better} one"
            + ("." if low is None else f", at least {low:.2f} times{together}.")
        )
        yield Finding(
            id_,
            measure,
            "measured",
            sentence,
            estimate=widest.ratio,
            low=low,
            high=max(math.inf if gap.high is None else gap.high for gap in gaps),
            attribute=widest.attribute,
            group=widest.worse,
            against=widest.better,
            speakers=widest.speakers,
            **about,
        )


def _cautions(fits: Sequence[Fit]) -> list[Note]:
    """Return what to know about the fits, each thing once with the parts it holds for."""
    merged: dict[tuple[str, ...], tuple[Note, list[str]]] = {}
    for fit in fits:
        for note in fit.cautions:
            # What differs in its figures alone is one caution: that of the first part it holds for.
            names = (str(value) for value in note.facts.values() if isinstance(value, str))
            key = (fit.attribute, note.code, *names)
            merged.setdefault(key, (note, []))[1].append(_part(fit).rstrip(": "))
    several = len({tuple(fit.by.values()) for fit in fits}) > 1
    return [
        replace(note, text=f"{note.text} ({listed(dict.fromkeys(parts), 3)})") if several else note
        for note, parts in merged.values()
    ]


def _groups_table(fits: Sequence[Fit], split: tuple[str, ...]) -> Table:
    rows = []
    for fit in fits:
        effects = {effect.group: effect for effect in fit.effects}
        for group in sorted(fit.groups, key=lambda one: one.group != fit.against):
            effect = effects.get(group.group)
            against = None if effect is None else fit.against
            row = {**fit.by, "attribute": fit.attribute, **asdict(group), "against": against}
            row |= {
                MEASURE: effect and effect.ratio,
                "low": effect and effect.low,
                "high": effect and effect.high,
            }
            row |= {"p": effect and _careful(effect), "p_adjusted": effect and effect.p_adjusted}
            row |= {"p_bh": effect and effect.p_bh, "verdict": effect and effect.verdict.replace("_", " ")}
            for kind in INTERVALS:  # all kinds are in the JSON
                limits = effect and getattr(effect, kind)
                row |= {f"{kind}_{name}": limits and getattr(limits, name) for name in ("low", "high", "p")}
            rows.append(row)
    ratio = Column(MEASURE, "errors, typical speaker", "ratio", "low", "high")
    columns = [
        *split,
        "attribute",
        "group",
        "against",
        "speakers",
        "wer",
        ratio,
        "p",
        "p_adjusted",
        "verdict",
    ]
    note = (
        "WER is as observed; the ratio is that of typical speakers, with speakers and controls held fixed, and differs"
        " from the ratio of the WERs where the spread between speakers does. p is the larger of the likelihood's and"
        " the speaker-robust one; adjusted is Holm's."
    )
    return tabulate("groups", "Errors by group", rows, columns, note=note)


def _effects(fits: Iterable[Fit]) -> Iterator[tuple[dict[str, Any], Effect]]:
    """Yield every effect with what it is about."""
    for fit in fits:
        for effect in fit.effects:
            about = {"attribute": fit.attribute, "group": effect.group, "against": fit.against}
            yield {**fit.by, **about}, effect


def _text_table(plain: Sequence[Fit], fits: Sequence[Fit], split: tuple[str, ...]) -> Table:
    held = {tuple(about.values()): effect for about, effect in _effects(fits)}
    rows = []
    for row, effect in _effects(plain):
        for name, one in (("as_it_is", effect), ("text_held_fixed", held.get(tuple(row.values())))):
            row |= {name: one and one.ratio}
            row |= {f"{name}_low": one and one.low, f"{name}_high": one and one.high}
        rows.append(row)
    ratios = [(name, "", "ratio", f"{name}_low", f"{name}_high") for name in ("as_it_is", "text_held_fixed")]
    note = "A gap that stays is not explained by the text as measured here; that does not make it one of acoustics."
    columns = [*split, "attribute", "group", "against", *ratios]
    return tabulate("text", "What stays when the text is held fixed", rows, columns, note=note)


def _interaction_table(fits: Sequence[Fit], split: tuple[str, ...]) -> Table:
    rows = [
        {**fit.by, "attribute": fit.attribute, "against": fit.against, **asdict(contrast)}
        for fit in fits
        if fit.interaction is not None
        for contrast in fit.interaction.contrasts
    ]
    columns = [*split, *["attribute", "at", "group", "against", "ratio[low,high]", "p", "p_adjusted"]]
    return tabulate(
        "interaction", "How much more a group's errors grow than those of the other", rows, columns
    )


def _baseline_table(fits: Sequence[Fit], split: tuple[str, ...]) -> Table:
    rows = []
    for row, effect in _effects(fits):
        if effect.baseline is None:
            continue
        row["wer_ratio"] = effect.baseline.ratio
        for kind in ("utterances", "speakers"):
            span = getattr(effect.baseline, kind)
            row |= {f"{kind}_low": span and span.ci_low, f"{kind}_high": span and span.ci_high}
        rows.append(row)
    ratio = ("wer_ratio", "ratio of WERs (speakers resampled)", "ratio", "speakers_low", "speakers_high")
    note = (
        "Nothing is held fixed. The limits from resampled utterances, which are too narrow, are in the JSON."
    )
    columns = [*split, "attribute", "group", "against", ratio]
    return tabulate("baseline", "The ratio of the word error rates beside it", rows, columns, note=note)


def _controls_table(fits: Sequence[Fit], split: tuple[str, ...]) -> Table:
    rows = [
        {**fit.by, "attribute": fit.attribute, **asdict(term)}
        for fit in fits
        if len(fit.controls) > 1
        for term in fit.controls
    ]
    columns = [*split, "attribute", "term", "estimate", "se", ("robust_se", "robust", "number")]
    title = "Held fixed (log-ratios per unit, or against the first value)"
    return tabulate("controls", title, rows, columns, folded=len(fits) > 1)


def _fits_table(fits: Sequence[Fit], split: tuple[str, ...]) -> Table:
    rows = [
        {
            **fit.by,
            **{name: getattr(fit, name) for name in ("attribute", "speakers", "utterances", "sigma")},
            **{name: getattr(fit, name) for name in ("se_log_sigma", "loglik", "sigma_lrt", "nodes")},
            "left_out": sum(fit.left_out.values()),
            "spread": None if fit.sigma is None else math.exp(fit.sigma),
            "dispersion": fit.dispersion and fit.dispersion["poisson"],
            "dispersion_within": fit.dispersion and fit.dispersion["mixed"],
            **({} if fit.lrt is None else asdict(fit.lrt)),
            "p_robust": fit.robust and fit.robust.p,
        }
        for fit in fits
        if fit.refusal is None
    ]
    columns = [
        *(*split, "attribute", "speakers", "utterances", "left_out"),
        ("spread", "speakers differ by a factor of", "ratio"),
        ("dispersion", "", "ratio"),
        ("dispersion_within", "within speakers", "ratio"),
        ("p", "does it matter at all? p (likelihood ratio)", "p"),
        ("p_robust", "p (robust)", "p"),
    ]
    return tabulate("fits", "The regressions", rows, columns, folded=len(rows) > 1)


def _speakers_table(fits: Sequence[Fit], split: tuple[str, ...]) -> Table:
    rows = [{**fit.by, "attribute": fit.attribute, **asdict(mode)} for fit in fits for mode in fit.modes]
    columns = [*split, "attribute", "speaker", ("mode", "log-rate", "number"), ("sd", "sd", "number")]
    title = "Each speaker's own log-rate relative to the model, shrunk toward 0"
    return tabulate("speakers", title, rows, columns, folded=True)


def _figures(fits: Sequence[Fit]) -> Iterator[Figure]:
    for number, (attribute, own) in enumerate(_by(fits, lambda fit: fit.attribute).items()):
        rows = [
            ForestRow(
                f"{_part(fit)}{effect.group}" if len(own) > 1 else effect.group,
                Cell(*map(number_or_none, (effect.ratio, effect.low, effect.high))),
                effect.verdict == "shown",
                effect.verdict.replace("_", " "),
            )
            for fit in own
            for effect in fit.effects
        ]
        if rows:
            shown, against = sum(row.shown for row in rows), own[0].against
            yield Figure(
                "forest" if number == 0 else f"forest-{attribute}",
                f"{attribute}: errors of a typical speaker relative to {against}",
                f"Ratios of errors by {attribute} with 95 % intervals; {shown} of {len(rows)} are shown to differ.",
                Forest(tuple(rows), f"times as many errors as for {against}"),
                "groups",
            )
