"""Disparity: the question, the decision and the words. Gaps between rates: `gaps.py`; the regression: `model.py`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Unpack

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
    Points,
    Refusal,
    RefusedError,
    Table,
    finding_id,
    number_or_none,
    refuse,
    tabulate,
)
from voxaudit.audits.audit import asks
from voxaudit.audits.disparity.explain import (
    Explanation,
    explanation_findings,
    explanation_table,
    with_prompts,
)
from voxaudit.audits.disparity.explain import explain as explain_gaps
from voxaudit.audits.disparity.frames import (
    Question,
    by_voice,
    embedding_controls,
    frames,
    heard_voices,
    prompts_of,
)
from voxaudit.audits.disparity.gaps import Gap, Part, compare
from voxaudit.audits.disparity.model import Options, fit_part
from voxaudit.audits.disparity.result import Disparity, Effect, Fit
from voxaudit.audits.disparity.trend import (
    Slope,
    adjusted,
    curves_table,
    in_bands,
    is_number,
    slope_figures,
    slope_findings,
    slope_of,
    slopes_table,
)
from voxaudit.audits.scores import Filters, Names, Scores, Source
from voxaudit.corpus.bands import Bands, read_bands
from voxaudit.errors import VoxauditError
from voxaudit.perturb import CLEAN
from voxaudit.registry import unknown
from voxaudit.score.meaning import MINILM
from voxaudit.score.measures import ALL_MEASURES
from voxaudit.stats.dispersion import speaker_spread
from voxaudit.stats.group_design import Control, Frame
from voxaudit.stats.labels import natural_order
from voxaudit.stats.multiplicity import holm
from voxaudit.stats.poisson_glmm import DEFAULT_NODES
from voxaudit.stats.regression import Settings
from voxaudit.wording import (
    as_or_than,
    counted,
    listed,
    percent,
    ratio_interval,
    speakers_of,
    times_as_many,
)

INTERVALS = ("robust", "profile", "wald")
MEASURE = "wer_ratio"
TYPICAL = "typical_speaker_ratio"
MOST_POINTS = 500
"""Speakers in a figure; of more, every so many."""
UNLIKE = 1.25
"""Where the ratio of typical speakers is so many times as far from that of the rates, the answer says why."""
ESTIMATED = (
    "speakers are not known: {} were told apart by their voices (a speaker encoder, clusters of recordings that sound"
    " alike). One may be several people, and one person several of them; more of them than people make intervals too"
    " narrow"
)
LEAD = (
    "How many times as many errors per word one group gets as another: the ratio of the two rates in the table."
    " Speakers differ for reasons of their own, and a gap must be larger than that explains: whole speakers are"
    " shuffled between the groups, and a second test guards against groups whose speakers differ unequally. A gap is"
    " shown where p stays at 0.05 or below with all comparisons of the audit taken together."
)


# The question


@asks("disparity")
def disparity(
    source: Source,
    *,
    attribute: str | Sequence[str],
    against: str | None = None,
    controls: Sequence[str] = (),
    by: Sequence[str] | None = None,
    interaction: str | None = None,
    interaction_against: str | None = None,
    hold_text: str | None = None,
    encoder: str = MINILM,
    explain: bool = False,
    prompts: bool = True,
    trend: bool = False,
    bands: Bands = (),
    estimate_speakers: int | None = None,
    without_outliers: bool = False,
    random: bool = True,
    interval: str = "robust",
    nodes: int = DEFAULT_NODES,
    resamples: int = 0,
    seed: int = 0,
    extra: Sequence[Control] = (),
    **filters: Unpack[Filters],
) -> Answer:
    """Compare the error rates of the groups of sensitive attributes, `controls` being held fixed.

    The headline is the ratio of two groups' error rates, `(E1/W1) / (E0/W0)`, E errors and W words; with controls, that
    of difficulty-adjusted rates (`stats.group_ratios`). It is tested by shuffling speakers, all pairs of groups (or all
    groups with `against`), recognizers, scenarios and attributes asked about being one family. A table needs the
    columns speaker, words and errors (or substitutions, deletions and insertions).

    Beside it stands the ratio of *typical speakers*, `exp(mu_group - mu_against)` of the model
    `errors ~ Poisson(words * exp(mu_group + theta' x + r_speaker))`, `r ~ N(0, sigma^2)` (Liu et al. 2022, Eq. 7), or
    the same without `r` where `random` is false; utterances are then taken for independent everywhere. Where several
    speakers read the same texts, texts have an effect, too, unless `prompts` is false: crossed with that of speakers,
    and a gap between groups that read mostly different texts must be larger than those explain. Its reference group is
    `against`, or of two groups the better served one, of more the one with most speakers.

    An attribute in numbers with more values than are compared as groups (age, dialect density), or any number where
    `trend` is true, has a slope, a curve and a test for any trend instead (`stats.trend`); `bands` cuts it into groups.

    Recognizers are answered one by one, on clean speech unless `scenario` says otherwise; `by` names other columns to
    split by. `interaction` names a column (a scenario, say) and asks whether it hurts one group more than another.
    `hold_text` adds sentence embeddings of a text column to the controls, made by the sentence `encoder` of that name.
    `estimate_speakers` tells so many speakers apart by their voices where none are known (0: as many as are heard),
    and the gaps are compared again with half and twice as many; with `without_outliers` again without the speakers
    whose rates lie far out. With `explain`, gaps that are shown are compared again with the text, the recording and
    both held fixed as they were measured (`score.measures`): what is said, how it was recorded, or neither explains
    them. With `resamples`, bootstrap intervals of the ratio of rates stand beside, as Liu et al. have them. `detail`
    holds everything computed (`Disparity`).

    >>> import polars as pl
    >>> rows = [
    ...     {"speaker": f"s{n}", "accent": "ab"[n % 2], "words": 200, "errors": 8 + (n % 5) + 14 * (n % 2)}
    ...     for n in range(24)
    ... ]
    >>> answer = disparity(pl.DataFrame(rows), attribute="accent")
    >>> finding = answer.findings[0]
    >>> finding.measure, finding.group, finding.against, finding.verdict, round(finding.estimate, 2)
    ('wer_ratio', 'b', 'a', 'shown', 2.44)
    """
    if interval not in INTERVALS:
        raise VoxauditError(
            f"unknown interval '{interval}'. Available: {', '.join(INTERVALS)}", see=("interval",)
        )
    if nodes < 1:
        raise VoxauditError(f"the number of quadrature nodes must be at least 1, not {nodes}", see=("nodes",))
    scenario = filters.pop("scenario", None)
    scores = Scores.of(source, **filters)
    scores = _heard(scores, scenario, {*(by or ()), interaction})
    voices = None
    if estimate_speakers is not None:
        voices = heard_voices(scores)
        scores = by_voice(scores, voices, estimate_speakers)
    if explain or set(controls) & set(ALL_MEASURES) - set(scores.frame.columns):
        scores = scores.with_measures()
    split = _split(scores, by, several=scenario is not None and "scenario" not in (interaction, *controls))
    notes = [Note("selected", text) for text in scores.notes]
    if hold_text is not None:
        extra, said = _text_controls(scores, hold_text, random, encoder)
        notes.append(Note("text", said))
    names = (attribute,) if isinstance(attribute, str) else tuple(attribute)
    fits: list[Fit] = []
    refusals: list[Refusal] = []
    parts: list[Part] = []
    options = Options(Settings(random=random, nodes=nodes), interval, resamples, seed)
    base = None
    questions: dict[str, Question] = {}
    slopes: list[Slope] = []
    cuts = read_bands(bands)
    for column in cuts:
        if column not in names:
            raise VoxauditError(f"bands name '{column}', which is not among the attributes", see=("bands",))
        scores = in_bands(scores, scores.column(column), cuts[column])
    held_text = () if explain else extra
    texts = prompts_of(scores) if prompts and random else None
    heard = () if "scenario" in split else tuple(scores.scenarios)
    for name in names:
        try:
            question = Question(
                scores.column(name), tuple(controls), split, interaction, random or _all_known(scores)
            )
            if scores.frame.height and name not in cuts and is_number(scores, question.attribute, trend):
                own = list(frames(scores, question, held_text))
                slopes += [slope_of(part, name, heard, seed) for part in own]
                continue
            if scores.frame.height:
                scores.comparable(question.attribute)
            own = list(frames(scores, question, held_text, texts))
            chosen, said_of = _against(own, question.attribute, against, scores.where)
            base = _interaction_base(own, interaction, interaction_against, scores.where)
            found = [fit_part(part, question, chosen, base, options) for part in own]
            fits += _adjusted([replace(fit, attribute=name, scenarios=heard) for fit in found])
            parts += [Part(part, name, heard) for part in own]
            notes += said_of
            questions[name] = question
            notes += _in_two_groups(own, name)
        except RefusedError as error:
            if len(names) == 1:
                raise
            refusals.append(error.refusal)
    if not fits and not slopes:
        raise RefusedError(refusals[0])
    slopes = adjusted(slopes)
    if not fits and all(one.found is None for one in slopes) and slopes[0].refusal is not None:
        raise RefusedError(replace(slopes[0].refusal, about=scores.where))
    gaps, changes = compare(parts, against=against, speakers=random, seed=seed, base=base)
    if texts is not None:
        gaps, said_of_texts = with_prompts(gaps, parts, fits)
        notes += said_of_texts
    # Where several recognizers refuse, each has its own reason: findings say which.
    if len(parts) == 1 and all(gap.refusal for gap in gaps):
        whys = (*(gap.refusal for gap in gaps), *(fit.refusal for fit in fits))
        first = next((why for why in whys if why is not None), None)
        if first is None:
            first = refuse("one_group", f"no two groups of {names[0]} occur together", about=names[0]).refusal
        raise RefusedError(replace(first, about=scores.where))
    again: dict[str, list[Gap]] = {}

    def once_more(how: str, some: Scores, held: Sequence[Control] = held_text) -> None:
        own = [
            Part(part, name, heard) for name, asked in questions.items() for part in frames(some, asked, held)
        ]
        again[how] = compare(own, against=against, speakers=random, seed=seed, like=gaps)[0]

    if hold_text is not None and not explain:
        once_more("text not held fixed", scores, ())
    if voices is not None:
        count = scores.frame["speaker"].n_unique()
        notes.append(Note("estimated_speakers", ESTIMATED.format(count), {"speakers": count}))
        for other in (max(count // 2, 2), 2 * count):
            if other < voices.height:
                once_more(f"{other} estimated speakers", by_voice(scores, voices, other))
    if without_outliers and (far := sorted({name for fit in fits for name in fit.far})):
        kept = scores.frame.filter(~pl.col("speaker").cast(pl.String).is_in(far))
        once_more(f"without {listed(far, 5)}", replace(scores, frame=kept))
    elif without_outliers:
        notes.append(Note("no_outliers", "no speaker's rate lies far outside those of the others"))
    notes += [_changed(how, gaps, others) for how, others in again.items()]
    explained: list[Explanation] = []
    if explain:
        explained, said_why = explain_gaps(scores, questions, gaps, extra, speakers=random, seed=seed)
        notes += said_why
    result = Disparity(interval, tuple(fits), tuple(gaps), tuple(changes), tuple(explained), tuple(slopes))
    answer = _answer(result, split, notes, refusals, again, parts)
    if voices is None:
        return answer
    marked = (replace(one, sentence=f"{one.sentence} Speakers are estimated.") for one in answer.findings)
    return replace(answer, findings=tuple(marked))


def _split(scores: Scores, by: Sequence[str] | None, *, several: bool) -> tuple[str, ...]:
    """Return the columns that split the table: recognizers and scenarios that were named are not thrown together."""
    if by is not None:
        return (by,) if isinstance(by, str) else tuple(by)
    names = ("recognizer",) if "recognizer" in scores.frame.columns else ()
    return (*names, "scenario") if several and len(scores.scenarios) > 1 else names


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


def _in_two_groups(own: Sequence[Frame], name: str) -> Iterator[Note]:
    """Say how many speakers are in several groups: each is compared with himself."""
    several: set[str] = set()
    for frame in own:
        if frame.speaker is not None:
            pairs = np.unique(np.stack([frame.speaker.codes, frame.attribute.codes]), axis=1)
            codes, groups = np.unique(pairs[0], return_counts=True)
            several.update(frame.speaker.names[code] for code in codes[groups > 1])
    if several:
        are = "is" if len(several) == 1 else "are"
        text = f"{counted(len(several), 'speaker')} {are} in several groups of {name}, and compared with themselves"
        yield Note("speakers_in_several_groups", text, {"attribute": name, "speakers": len(several)})


def _all_known(scores: Scores) -> bool:
    """Say whether every row has a speaker: without a speaker effect, they are not needed."""
    if "speaker" not in scores.frame.columns:
        return False
    names = scores.frame["speaker"].cast(pl.String).str.strip_chars()
    return not names.null_count() and not (names == "").any()


def _text_controls(scores: Scores, column: str, random: bool, encoder: str) -> tuple[Sequence[Control], str]:
    """Return the text of utterances as controls; a run keeps it beside the scores, in its corpus."""
    table = scores.frame
    if column not in table.columns and scores.run is not None and column in scores.run.corpus.columns:
        texts = scores.run.corpus.select(utterance="id", **{column: column})
        table = table.join(texts, on="utterance", how="left", maintain_order="left")
    return embedding_controls(
        table, column, "speaker" if random else None, where=scores.where, encoder=encoder
    )


# The decision


def _against(parts: Sequence[Frame], attribute: str, asked: str | None, where: str) -> tuple[str, list[Note]]:
    """Return the group that the model sets typical speakers of others against.

    Of two it is the better served that has errors at all. Of more it is the one with most speakers that has errors: to
    pick the best of several would make the others look worse than they are.
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
            raise unknown(f"{where}: {attribute} has no group", asked, natural_order(list(totals)), "against")
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
    if len(totals) == 2:
        return chosen, []
    text = f"all pairs of groups of {attribute} are compared; typical speakers are set against those of '{chosen}'"
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
        raise unknown(f"{where}: {column} has no value", asked, names, "interaction_against")
    return asked


def _adjusted(fits: Sequence[Fit]) -> list[Fit]:
    """Return the fits of one attribute with the model's p-values adjusted over all of them."""
    effects = iter(holm([_careful(effect) for fit in fits for effect in fit.effects]))
    tests = holm([None if fit.lrt is None else fit.lrt.p for fit in fits])
    return [
        replace(
            fit,
            effects=tuple(replace(effect, p_adjusted=next(effects)) for effect in fit.effects),
            lrt=fit.lrt and replace(fit.lrt, p_adjusted=p),
        )
        for fit, p in zip(fits, tests, strict=True)
    ]


def _careful(effect: Effect) -> float | None:
    """Return the larger of the likelihood's and the robust p-value: a difference has to convince both."""
    known = [one.p for one in (effect.profile, effect.robust) if one is not None and one.p is not None]
    return max(known) if known else effect.p


# The words


def _answer(
    result: Disparity,
    split: tuple[str, ...],
    notes: Sequence[Note],
    refusals: Sequence[Refusal],
    again: Mapping[str, Sequence[Gap]],
    parts: Sequence[Part],
) -> Answer:
    fits, gaps = result.fits, result.gaps
    spreads = {_key(part.attribute, part.frame.group): _spreads(part) for part in parts}
    slopes = result.slopes
    tables = (
        _gaps_table(gaps, split),
        slopes_table(slopes, split),
        curves_table(slopes, split),
        explanation_table(result.explained, split),
        _groups_table(fits, split, spreads),
        _again_table(gaps, again, split),
        _changes_table(result.changes, split),
        _baseline_table(fits, split),
        _controls_table(fits, split),
        _fits_table(fits, split),
        _speakers_table(fits, split),
    )
    refused = [
        replace(gap.refusal, about=f"{_part(gap)}{gap.attribute}") for gap in gaps if gap.refusal is not None
    ]
    # What the model cannot carry is said, but does not take the comparison of the rates away.
    answered = {_key(gap.attribute, gap.by) for gap in gaps if gap.refusal is None}
    for fit in fits:
        if fit.refusal is not None and _key(fit.attribute, fit.by) in answered:
            text = (
                f"{_part(fit)}no model of typical speakers ({fit.attribute}): {fit.refusal.text.rstrip('.')}"
            )
            notes = [*notes, Note("no_model", text, see=fit.refusal.see)]
        elif fit.refusal is not None and not any(_same(fit, gap) for gap in gaps):
            refused.append(replace(fit.refusal, about=f"{_part(fit)}{fit.attribute}"))
    refused += [
        replace(one.refusal, about=f"{_part(one)}{one.attribute}")
        for one in slopes
        if one.refusal is not None
    ]
    # What is the same of several pairs of groups is said once.
    unique = {(one.code, one.about, one.text): one for one in refused}
    asked = [*(fit.attribute for fit in fits), *(one.attribute for one in slopes)]
    attributes = listed(dict.fromkeys(asked))
    return Answer(
        audit="disparity",
        title=f"Errors by {attributes}",
        findings=(
            *_gap_findings(gaps, fits),
            *explanation_findings(result.explained, _id, _keys, _who, _headlines(gaps)),
            *slope_findings(slopes, _keys, _when),
            *_refused_findings(refusals),
            *_change_findings(result.changes),
            *(one for fit in fits for one in _typical_findings(fit)),
            *_worst(gaps, fits, refusals),
        ),
        tables=[table for table in tables if table.frame.height],  # type: ignore[arg-type]
        figures=(*_figures(gaps), *slope_figures(slopes), *_speaker_figures(fits)),
        notes=(*notes, *_unlike(gaps, fits, spreads), *_cautions(fits)),
        refusals=(*refusals, *unique.values()),
        lead=LEAD,
        detail=result,
    )


def _key(attribute: str, by: Mapping[str, Any]) -> tuple[Any, ...]:
    return (attribute, *by.values())


def _same(fit: Fit, gap: Gap) -> bool:
    return _key(fit.attribute, fit.by) == _key(gap.attribute, gap.by)


def _keys(one: Fit | Gap | Slope) -> dict[str, Any]:
    """Return the recognizer and scenario of a part, where it is about one."""
    heard = {"scenario": one.scenarios[0]} if len(one.scenarios) == 1 else {}
    keys = {**heard, **one.by}
    return {name: str(keys[name]) for name in ("recognizer", "scenario") if keys.get(name) is not None}


def _id(one: Fit | Gap, *parts: object) -> str:
    return finding_id("disparity", *one.by.values(), *one.scenarios[: len(one.scenarios) == 1], *parts)


def _part(one: Fit | Gap | Slope) -> str:
    return "".join(f"{value}: " for value in one.by.values())


def _who(one: Fit | Gap | Slope, default: str = "The recognizer") -> str:
    return str(one.by.get("recognizer") or default)


def _when(one: Fit | Gap | Slope) -> str:
    """Return the start of a sentence: what was heard, and who listened."""
    scenario = _keys(one).get("scenario")
    if scenario is None and not one.scenarios:
        return _who(one)
    heard = f"Under {scenario}" if scenario else f"Over {counted(len(one.scenarios), 'scenario')} together"
    return f"{'On clean speech' if scenario == CLEAN else heard} {_who(one, 'the recognizer')}"


def _about(gap: Gap, *, refused: bool = False) -> dict[str, Any]:
    """Return what every finding about a gap has: who is compared with whom, and how sure it is."""
    limits = {} if refused else {"estimate": gap.ratio, "low": gap.low, "high": gap.high}
    return {
        **limits,
        **{name: getattr(gap.group, name) for name in ("group", "speakers", "utterances", "words")},
        "p": gap.p,
        "p_adjusted": gap.p_adjusted,
        "against": gap.against.group,
        "speakers_against": gap.against.speakers,
        "excludes": _farther(gap.low, gap.high) if gap.verdict == "not_shown" else None,
        "attribute": gap.attribute,
        "unit": "ratio",
        **_keys(gap),
    }


def _gap_findings(gaps: Sequence[Gap], fits: Sequence[Fit]) -> Iterator[Finding]:
    said = _headlines(gaps)
    for gap in gaps:
        refused = gap.verdict == "refused"
        yield Finding(
            _id(gap, gap.attribute, gap.group.group, gap.against.group, MEASURE),
            MEASURE,
            gap.verdict,
            _sentence(gap),
            family=None if refused else f"{counted(gap.family, 'comparison')} of groups",
            code=gap.refusal.code if gap.refusal else "too_few_errors" if refused else None,
            headline=id(gap) in said,
            **_about(gap, refused=refused),
        )
    heard = {_key(gap.attribute, gap.by) for gap in gaps}
    for fit in fits:
        if fit.refusal is not None and _key(fit.attribute, fit.by) not in heard:
            sentence = f"{_part(fit)}no conclusion about {fit.attribute}: {fit.refusal.text.rstrip('.')}."
            id_ = _id(fit, fit.attribute, MEASURE)
            yield replace(_refused(id_, fit.attribute, fit.refusal, sentence), **_keys(fit))


def _refused_findings(refusals: Sequence[Refusal]) -> Iterator[Finding]:
    """Yield the attributes that cannot be compared at all, where others can."""
    for one in refusals:
        sentence = f"No conclusion about gaps by {one.about}: {one.text.rstrip('.')}."
        yield _refused(finding_id("disparity", one.about, MEASURE), one.about, one, sentence)


def _refused(id_: str, attribute: str, why: Refusal, sentence: str) -> Finding:
    about: dict[str, Any] = {"attribute": attribute, "unit": "ratio", "headline": True}
    return Finding(id_, MEASURE, "refused", sentence, code=why.code, **about)


def _headlines(gaps: Sequence[Gap]) -> set[int]:
    """Return what is said first of every attribute and part: for each group that is shown to be served worse than
    another, the widest gap; where no gap is shown, the widest one.
    """
    said: set[int] = set()
    for own in _by(gaps).values():
        ranked = sorted(own, key=lambda gap: -_distance(gap))
        worse: dict[str, Gap] = {}
        for gap in ranked:
            if gap.verdict == "shown" and gap.ratio is not None:
                worse.setdefault((gap.group if gap.ratio > 1.0 else gap.against).group, gap)
        said |= {id(gap) for gap in worse.values() or ranked[:1]}
    return said


def _distance(gap: Gap) -> float:
    """Return how far a ratio is from 1, a refused one nearest."""
    if gap.verdict == "refused" or gap.ratio is None:
        return -1.0
    return abs(math.log(gap.ratio)) if 0.0 < gap.ratio < math.inf else math.inf


def _by(gaps: Iterable[Gap]) -> dict[Any, list[Gap]]:
    found: dict[Any, list[Gap]] = {}
    for gap in gaps:
        found.setdefault(_key(gap.attribute, gap.by), []).append(gap)
    return found


def _farther(low: float | None, high: float | None) -> float | None:
    """Return the limit of a ratio that is farther from 1."""
    known = [limit for limit in map(number_or_none, (low, high)) if limit]
    return max(known, key=lambda limit: abs(math.log(limit)), default=None)


def _sentence(gap: Gap) -> str:
    if gap.verdict == "refused":
        why = gap.refusal.text.rstrip(".") if gap.refusal else "neither group has errors"
        about = f"{speakers_of(gap.group.group, gap.attribute)} against {speakers_of(gap.against.group)}"
        return f"{_who(gap)}: no conclusion about {about}: {why}."
    low, high = number_or_none(gap.low), number_or_none(gap.high)
    many = times_as_many(gap.ratio, gap.low, gap.high)
    nothing_excluded = high is None and not low
    if nothing_excluded and gap.ratio is not None:
        many = f"{gap.ratio:.2f} times as many errors"
    held = f", {listed(gap.controls, 3)} held fixed" if gap.controls else ""
    sizes = (gap.group.speakers, gap.against.speakers)
    people = "; {:,} and {:,} speakers".format(*sizes) if all(sizes) else ""
    rates = (
        ""
        if gap.rate is None
        else f" ({percent(gap.rate)} against {percent(gap.rate_against)} of the words{held}{people})"
    )
    claim = (
        f"{_when(gap)} makes {many} per word for {speakers_of(gap.group.group, gap.attribute)}"
        f" {as_or_than(gap.ratio)} for {speakers_of(gap.against.group)}{rates}"
    )
    if gap.verdict == "shown":
        return f"{claim}: a gap is shown."
    if nothing_excluded:
        return f"{claim}: no gap is shown, and with so few speakers none is excluded."
    together = ""
    if low is not None and high is not None and not low <= 1.0 <= high:
        together = f" once all {counted(gap.family, 'comparison')} are allowed for"
    limit = _farther(low, high)
    open_ = f"a gap of up to {max(limit, 1.0 / limit):.2f} times" if limit else "a gap of any size"
    return f"{claim}: no gap is shown{together}; {open_} is not excluded."


def _change_findings(changes: Sequence[Gap]) -> Iterator[Finding]:
    """Yield, for every attribute and part, the surest change: where one group's errors grow more than the other's."""
    for own in _by(changes).values():
        top = min(own, key=lambda gap: (gap.p_adjusted is None, gap.p_adjusted, gap.p))
        many = ratio_interval(top.ratio, top.low, top.high)
        whose = speakers_of(top.group.group, top.attribute)
        claim = (
            f"{_who(top)}: from {top.since} to {top.at} the errors of {whose} grow {many} times as much as those of"
            f" {speakers_of(top.against.group)}"
        )
        limit = _farther(top.low, top.high)
        end = "a difference is shown" if top.verdict == "shown" else "no difference is shown"
        if top.verdict != "shown":
            size = f"{max(limit, 1.0 / limit):.2f} times" if limit else "one of any size"
            end += f"; {size} is not excluded"
        yield Finding(
            _id(top, top.attribute, "interaction"),
            "interaction",
            top.verdict,
            f"{claim}: {end}.",
            family=f"{counted(top.family, 'change')} of gaps",
            headline=True,
            **_about(top),
        )


def _typical_findings(fit: Fit) -> Iterator[Finding]:
    observed = {group.group: group for group in fit.groups}
    for effect in fit.effects:
        group = observed[effect.group]
        sentence = (
            f"{_when(fit)} makes {times_as_many(effect.ratio, effect.low, effect.high)} for a typical {effect.group}"
            f" speaker ({fit.attribute}) {as_or_than(effect.ratio)} for a typical {fit.against} one."
        )
        yield Finding(
            _id(fit, fit.attribute, effect.group, TYPICAL),
            TYPICAL,
            "measured",
            sentence,
            estimate=effect.ratio,
            low=effect.low,
            high=effect.high,
            p=_careful(effect),
            p_adjusted=effect.p_adjusted,
            family=f"typical speakers of {fit.attribute}",
            **{name: getattr(group, name) for name in ("group", "speakers", "utterances", "words")},
            against=fit.against,
            speakers_against=observed[fit.against].speakers,
            attribute=fit.attribute,
            unit="ratio",
            **_keys(fit),
        )


def _worst(gaps: Sequence[Gap], fits: Sequence[Fit], refused: Sequence[Refusal]) -> Iterator[Finding]:
    """Yield, for every part of the table, the widest gap between two groups: what a gate looks at.

    The largest of several lower limits would be too high by chance: they hold for the whole family.
    """
    measure = "worst_group_ratio"
    parts: dict[tuple[Any, ...], Fit] = {}
    for fit in fits:
        parts.setdefault(tuple(fit.by.values()), fit)
    for key in parts:
        about: dict[str, Any] = {"unit": "ratio", **_keys(parts[key])}
        own = [gap for gap in gaps if tuple(gap.by.values()) == key]
        judged = [gap for gap in own if gap.verdict != "refused"]
        whys = (
            *(gap.refusal for gap in own),
            *(fit.refusal for fit in fits if tuple(fit.by.values()) == key),
            *refused,
        )
        why = next((one for one in whys if one is not None), None)
        id_ = _id(parts[key], measure)
        if not judged:
            code, text = (why.code, why.text) if why else ("one_speaker", "every group has one speaker only")
            sentence = (
                f"{_who(parts[key])}: the widest gap between groups cannot be judged: {text.rstrip('.')}."
            )
            yield Finding(id_, measure, "refused", sentence, code=code, **about)
            continue
        widest = max(judged, key=_distance)
        worse, better, ratio, high = widest.group, widest.against, widest.ratio, widest.high
        if ratio is not None and ratio < 1.0:
            worse, better, ratio, high = better, worse, _inverse(ratio), _inverse(widest.low)
        # A gap that is shown is above 1, though its limit is not so by Bonferroni, which sees less than the test does.
        limits = (
            gap.lowest if gap.verdict != "shown" else max(gap.lowest, 1.0)
            for gap in judged
            if gap.lowest is not None
        )
        low = max(limits, default=None)
        together = f" with {counted(widest.family, 'comparison')} taken together" if widest.family > 1 else ""
        gap = f"{ratio:.2f} times as many errors per word for {worse.group} speakers as for {better.group} speakers"
        if ratio == math.inf:
            gap = (
                f"that of {worse.group} speakers, who meet errors, to {better.group} speakers, who meet none"
            )
        sentence = f"The widest gap of {_who(widest, 'the recognizer')} ({widest.attribute}) is {gap}" + (
            f": at least {low:.2f} times{together}." if low else "."
        )
        yield Finding(
            id_,
            measure,
            "measured",
            sentence,
            estimate=ratio,
            low=low,
            high=high,
            attribute=widest.attribute,
            group=worse.group,
            against=better.group,
            speakers=min(one.speakers or 0 for one in (worse, better)),
            **about,
        )


def _inverse(value: float | None) -> float | None:
    return None if value is None else math.inf if value == 0.0 else 1.0 / value


def _spreads(part: Part) -> dict[str, float]:
    """Return the factor by which speakers of each group differ from one another."""
    codes, found = part.frame.attribute.codes, {}
    for code, name in enumerate(part.frame.attribute.names):
        rows = codes == code
        errors, words = (
            np.asarray(np.bincount(part.unit[rows], values[rows]), dtype=np.float64)
            for values in (part.frame.errors, part.frame.words)
        )
        found[name] = float(np.exp(speaker_spread(errors, words)))
    return found


def _unlike(
    gaps: Sequence[Gap], fits: Sequence[Fit], spreads: Mapping[tuple[Any, ...], Mapping[str, float]]
) -> Iterator[Note]:
    """Say why typical speakers differ more or less than the rates do, where that is much."""
    for fit in fits:
        for effect in fit.effects:
            for gap in gaps:
                pair = {gap.group.group, gap.against.group}
                if not _same(fit, gap) or pair != {effect.group, fit.against} or not gap.ratio:
                    continue
                typical = effect.ratio if gap.group.group == effect.group else _inverse(effect.ratio)
                apart = (
                    abs(math.log(typical / gap.ratio))
                    if typical and math.isfinite(typical * gap.ratio)
                    else 0.0
                )
                if apart <= math.log(UNLIKE):
                    continue
                spread = spreads[_key(fit.attribute, fit.by)]
                ours, theirs = spread[gap.group.group], spread[gap.against.group]
                text = (
                    f"{_part(gap)}a typical {gap.group.group} speaker meets {typical:.2f} times as many errors as a"
                    f" typical {gap.against.group} one, while the groups' error rates differ {gap.ratio:.2f} times:"
                    f" speakers differ from one another by a factor of {ours:.1f} among {gap.group.group} and of"
                    f" {theirs:.1f} among {gap.against.group}, and in a rate those who are heard worst or speak most"
                    " weigh most"
                )
                facts = {
                    "group": gap.group.group,
                    "spread": ours,
                    "spread_against": theirs,
                    "typical": typical,
                }
                yield Note("unlike_spread", text, facts)


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


def _gap_row(gap: Gap) -> dict[str, Any]:
    groups = {"group": gap.group.group, "against": gap.against.group}
    row = {**gap.by, "attribute": gap.attribute, **groups}
    row |= {"speakers": gap.group.speakers, "speakers_against": gap.against.speakers}
    row |= {"wer": gap.group.wer, "wer_against": gap.against.wer}
    if gap.controls:
        row |= {"adjusted_wer": gap.rate, "adjusted_wer_against": gap.rate_against}
    row |= {MEASURE: gap.ratio, "low": gap.low, "high": gap.high}
    row |= dict(zip(("low_together", "high_together"), _together(gap), strict=True))
    return row | {"p": gap.p, "p_adjusted": gap.p_adjusted, "verdict": gap.verdict.replace("_", " ")}


def _together(gap: Gap) -> tuple[float | None, float | None]:
    """Return limits of a ratio that hold for all comparisons at once: as much farther as `lowest` lies from `low`."""
    ratio, low, high = map(number_or_none, (gap.ratio, gap.low, gap.high))
    if not (ratio and low and high and gap.lowest) or gap.family == 1:
        return low, high
    near = math.log(ratio / low) if ratio >= 1.0 else math.log(high / ratio)
    farther = max(1.0, (abs(math.log(ratio)) - math.log(gap.lowest)) / near) if near > 0.0 else 1.0
    with np.errstate(over="ignore"):  # a limit beyond all numbers is none
        limits = ratio * np.power([low / ratio, high / ratio], farther)
    return number_or_none(limits[0]), number_or_none(limits[1])


def _gaps_table(gaps: Sequence[Gap], split: tuple[str, ...]) -> Table:
    held = any(gap.controls for gap in gaps)
    rates = [("wer", "WER", "percent"), ("wer_against", "WER, against", "percent")]
    if held:
        rates = [("adjusted_wer", "WER, adjusted", "percent"), ("adjusted_wer_against", "against", "percent")]
    ratio = Column(MEASURE, "ratio of WERs", "ratio", "low", "high")
    columns = [*split, "attribute", "group", "against", *rates, ratio, "p", "p_adjusted", "verdict"]
    note = "The ratio is that of the two rates beside it"
    note += ", words being counted in units of equal difficulty. " if held else ". "
    note += "p, adjusted, holds for all comparisons of this answer together."
    return tabulate("gaps", "Gaps between groups", [_gap_row(gap) for gap in gaps], columns, note=note)


def _groups_table(
    fits: Sequence[Fit], split: tuple[str, ...], spreads: Mapping[tuple[Any, ...], Mapping[str, float]]
) -> Table:
    rows = []
    for fit in fits:
        effects = {effect.group: effect for effect in fit.effects}
        for group in sorted(fit.groups, key=lambda one: one.group != fit.against):
            effect = effects.get(group.group)
            against = None if effect is None else fit.against
            row = {**fit.by, "attribute": fit.attribute, **asdict(group), "against": against}
            row |= {"spread": spreads[_key(fit.attribute, fit.by)][group.group]}
            row |= {TYPICAL: effect and effect.ratio, "p": effect and _careful(effect)}
            row |= {name: effect and getattr(effect, name) for name in ("low", "high", "p_adjusted")}
            for kind in INTERVALS:  # all kinds are in the JSON
                limits = effect and getattr(effect, kind)
                row |= {f"{kind}_{name}": limits and getattr(limits, name) for name in ("low", "high", "p")}
            rows.append(row)
    spread = Column("spread", "speakers differ by a factor of", "ratio")
    ratio = Column(TYPICAL, "errors, typical speaker", "ratio", "low", "high")
    columns = [
        *split,
        *("attribute", "group", "speakers", "words", "wer"),
        spread,
        "against",
        ratio,
        "p",
        "p_adjusted",
    ]
    note = (
        "The last columns are the model's: errors of a typical speaker over those of a typical one of the group beside,"
        " controls held fixed. That differs from the ratio of the rates where groups differ in spread. p is the larger"
        " of the likelihood's and the speaker-robust one; adjusted is Holm's within the attribute."
    )
    return tabulate("groups", "Errors by group, and a typical speaker's", rows, columns, note=note)


def _pair(gap: Gap) -> tuple[Any, ...]:
    return (*_key(gap.attribute, gap.by), gap.group.group, gap.against.group)


def _changed(how: str, gaps: Sequence[Gap], others: Sequence[Gap]) -> Note:
    """Say which verdicts are others once more is held fixed, left out or taken together."""
    before = {_pair(gap): gap.verdict for gap in gaps}
    turned = [
        f"{_part(gap)}{gap.group.group} and {gap.against.group} ({before[_pair(gap)]} before, now {gap.verdict})"
        for gap in others
        if before.get(_pair(gap), gap.verdict) != gap.verdict
    ]
    said = f"the verdict changes for {listed(turned, 3)}" if turned else "no verdict changes"
    return Note(
        "again", f"{how}: {said}".replace("not_shown", "not shown"), {"how": how, "changed": len(turned)}
    )


def _again_table(gaps: Sequence[Gap], again: Mapping[str, Sequence[Gap]], split: tuple[str, ...]) -> Table:
    rows = [
        {"how": how, **_gap_row(gap)}
        for how, some in ({"as above": gaps, **again} if again else {}).items()
        for gap in some
    ]
    columns = ["how", *split, "attribute", "group", "against", "speakers", "speakers_against"]
    ratio = Column(MEASURE, "ratio of WERs", "ratio", "low", "high")
    note = "A gap that stays with the text held fixed is not explained by it; that does not make it acoustic."
    note = note if any("text" in how for how in again) else ""
    return tabulate(
        "again", "The same gaps, both ways", rows, [*columns, ratio, "p_adjusted", "verdict"], note=note
    )


def _changes_table(changes: Sequence[Gap], split: tuple[str, ...]) -> Table:
    rows = [{**_gap_row(gap), "since": gap.since, "at": gap.at, "ratio": gap.ratio} for gap in changes]
    shown = "attribute since at group against ratio[low,high] p p_adjusted verdict"
    title = "How many times as much a group's errors grow as those of the other"
    return tabulate("interaction", title, rows, [*split, *shown.split()])


def _baseline_table(fits: Sequence[Fit], split: tuple[str, ...]) -> Table:
    rows = []
    for fit, effect in ((one, effect) for one in fits for effect in one.effects):
        if effect.baseline is None:
            continue
        row = {**fit.by, "attribute": fit.attribute, "group": effect.group, "against": fit.against}
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
            "texts": None if fit.prompt_sigma is None else math.exp(fit.prompt_sigma),
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
        *([("texts", "texts differ by a factor of", "ratio")] if any(row["texts"] for row in rows) else []),
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


def _figures(gaps: Sequence[Gap]) -> Iterator[Figure]:
    for number, attribute in enumerate(dict.fromkeys(gap.attribute for gap in gaps)):
        own = [gap for gap in gaps if gap.attribute == attribute and gap.ratio is not None]
        several = len({tuple(gap.by.values()) for gap in own}) > 1
        rows = [
            ForestRow(
                f"{_part(gap) if several else ''}{gap.group.group} / {gap.against.group}",
                Cell(*map(number_or_none, (gap.ratio, gap.low, gap.high))),
                gap.verdict == "shown",
                gap.verdict.replace("_", " "),
            )
            for gap in own
        ]
        if rows:
            shown = sum(row.shown for row in rows)
            yield Figure(
                "forest" if number == 0 else f"forest-{attribute}",
                f"{attribute}: error rate of one group over that of another",
                f"Ratios of error rates by {attribute} with 95 % intervals; {shown} of {len(rows)} gaps are shown.",
                Forest(tuple(rows), "times as many errors per word"),
                "gaps",
            )


def _speaker_figures(fits: Sequence[Fit]) -> Iterator[Figure]:
    """Yield, for the first part of every attribute, speakers' log rates against those of a normal distribution."""
    from voxaudit.numeric import ndtri

    for name in dict.fromkeys(fit.attribute for fit in fits):
        fit = next((one for one in fits if one.attribute == name and one.modes and one.sigma), None)
        if fit is None or not fit.sigma:
            continue
        modes = sorted(fit.modes, key=lambda mode: mode.mode)
        modes = modes[:: -(-len(modes) // MOST_POINTS)]
        values = [mode.mode for mode in modes]
        normal = fit.sigma * ndtri((np.arange(len(values)) + 0.5) / len(values))
        ends = (float(normal[0]), float(normal[-1]))
        part = _part(fit).rstrip(": ") or "all"
        yield Figure(
            f"speakers-{name}",
            f"{name}: speakers' own log rates beside those of a normal distribution ({part})",
            "On the line effects are normal, as the model takes them to be; speakers far off it are worth hearing.",
            Points(
                tuple(map(float, normal)),
                tuple(map(float, values)),
                (part,) * len(values),
                "expected log rate",
                "speaker's log rate",
                tuple(zip(ends, ends, strict=True)),
                tuple(mode.speaker for mode in modes),
            ),
            "speakers",
        )
