"""Groups compared by their error rates: which are compared, the sums behind it, and one family for the whole audit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from voxaudit.answer import Refusal, Verdict
from voxaudit.stats.cells import FloatArray, IntArray
from voxaudit.stats.group_design import Frame, Group, group_design
from voxaudit.stats.group_ratios import CHANGE, Adjusted, Comparison, Judged, Rates, judge
from voxaudit.stats.permutations import LEVEL, Shuffles

FEWEST_ERRORS = 5
"""With fewer errors in all, no comparison is made."""
_ALIKE = 1e-8  # what is left of a column that others determine, of its own length


@dataclass(frozen=True)
class Gap:
    """Two groups in one part of the table: the ratio of their error rates, the controls held fixed.

    `at` is set where it is about a change: how many times as much the errors of `group` grow from `since` to `at` as
    those of `against`.
    """

    by: dict[str, Any]
    attribute: str
    group: Group
    against: Group
    scenarios: tuple[str, ...] = ()
    controls: tuple[str, ...] = ()
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    lowest: float | None = None
    """A lower limit of the worse group's rate over the better one's that holds for the whole family."""
    rate: float | None = None
    rate_against: float | None = None
    """Error rates whose ratio it is: of words in units of equal difficulty where something is held fixed."""
    at: str | None = None
    since: str | None = None
    family: int = 1
    """How many questions were judged together."""
    refusal: Refusal | None = None

    @property
    def verdict(self) -> Verdict:
        """Whether the groups differ."""
        if self.refusal is not None or self.p_adjusted is None:
            return "refused"
        return "shown" if self.p_adjusted <= LEVEL else "not_shown"


@dataclass
class Part:
    """The utterances of one part of the table, with what it is a part of."""

    frame: Frame
    attribute: str
    scenarios: tuple[str, ...]
    unit: IntArray = field(init=False)
    """The speaker of every utterance, numbered over all parts; the utterance itself where speakers do not count."""


def compare(
    parts: Sequence[Part],
    *,
    against: str | None,
    speakers: bool,
    seed: int,
    base: str | None = None,
    like: Sequence[Gap] = (),
) -> tuple[list[Gap], list[Gap]]:
    """Compare all pairs of groups of every attribute, or each group with `against`, in all parts, as one family.

    The second list are changes from the value `base` of the parts' interaction column, a family of its own. Speakers
    are the sample; where they do not count (`speakers` false) every utterance is taken for one. `like` are gaps whose
    pairs are compared again, the same group first.
    """
    shuffles = shuffles_of(parts, speakers, seed)
    gaps: list[Gap] = []
    questions: list[tuple[Gap, Comparison]] = []
    changes: list[tuple[Gap, Comparison]] = []
    for attribute in dict.fromkeys(part.attribute for part in parts):
        own = [part for part in parts if part.attribute == attribute]
        again = {(gap.group.group, gap.against.group): None for gap in like if gap.attribute == attribute}
        for worse, better in again or _pairs(own, against):
            for part in own:
                gap = _gap(part, worse, better)
                if gap is None:
                    continue
                if gap.refusal is not None:
                    gaps.append(gap)
                    continue
                found = _comparison(part, gap, shuffles)
                if isinstance(found, Refusal):
                    gaps.append(replace(gap, refusal=found))
                    continue
                gap, comparison = found
                gaps.append(gap)
                questions.append((gap, comparison))
                if base is not None and part.frame.interaction is not None:
                    changes += _changes(part, gap, base, shuffles)
    judged = {id(gap): one for gap, one in zip((gap for gap, _ in questions), _judge(questions), strict=True)}
    decided = [judged.get(id(gap), gap) for gap in gaps]
    return decided, _judge(changes)


def _judge(questions: Sequence[tuple[Gap, Comparison]]) -> list[Gap]:
    """Judge comparisons of one cell each as one family; those of the same speakers are taken together first."""
    together: dict[tuple[Any, ...], list[int]] = {}
    for place, (gap, one) in enumerate(questions):
        key = (gap.attribute, gap.group.group, gap.against.group) if isinstance(one, Rates) else (place,)
        together.setdefault(key, []).append(place)
    joined: list[Comparison] = []
    for places in together.values():
        some = [questions[place][1] for place in places]
        first = some[0]
        if len(some) > 1 and isinstance(first, Rates):
            sides = [
                np.concatenate([getattr(one, side) for one in some], axis=2) for side in ("ours", "theirs")
            ]
            joined.append(Rates(sides[0], sides[1], first.shuffles, first.coefficients))
        else:
            joined.append(first)
    found: dict[int, Judged] = {}
    for places, cells in zip(together.values(), judge(joined), strict=True):
        found |= dict(zip(places, cells, strict=True))
    return [
        replace(gap, **vars(found[place]), family=len(questions)) for place, (gap, _) in enumerate(questions)
    ]


def shuffles_of(parts: Sequence[Part], speakers: bool, seed: int) -> Shuffles:
    """Number the speakers over all parts and return the shuffles of them."""
    return Shuffles.affordable(_number(parts, speakers), seed=seed)


def _number(parts: Sequence[Part], speakers: bool) -> int:
    """Number the speakers over all parts, or the utterances where each counts as one."""
    names: dict[str, int] = {}
    start = 0
    for part in parts:
        labels = part.frame.speaker
        if labels is None or not speakers:
            part.unit = np.arange(start, start + len(part.frame.errors))
            start += len(part.frame.errors)
            continue
        codes = np.array([names.setdefault(name, len(names)) for name in labels.names], dtype=np.int64)
        part.unit = codes[labels.codes]
    return max(start, len(names))


def _pairs(parts: Iterable[Part], against: str | None) -> list[tuple[str, str]]:
    """Return the pairs of groups to compare, the one with the higher error rate over all parts first (or with none)."""
    totals: dict[str, FloatArray] = {}
    for part in parts:
        for group in part.frame.groups:
            totals.setdefault(group.group, np.zeros(2))
            totals[group.group] += (group.errors, group.words)
    if against is not None:
        return [(name, against) for name in totals if name != against]
    # A ratio to a group without errors would be infinite: it is the one that is compared.
    order = sorted(totals, key=lambda name: (totals[name][0] > 0, -totals[name][0] / totals[name][1]))
    return list(combinations(order, 2))


def _gap(part: Part, worse: str, better: str) -> Gap | None:
    """Return a comparison that is still to be made, or why it cannot be; None where the part lacks a group."""
    groups = {group.group: group for group in part.frame.groups}
    if worse not in groups or better not in groups:
        return None
    one, other = groups[worse], groups[better]
    names = tuple(control.column for control in part.frame.controls)
    gap = Gap(part.frame.group, part.attribute, one, other, part.scenarios, names)
    errors, words = one.errors + other.errors, one.words + other.words
    if errors < FEWEST_ERRORS:
        text = f"{errors} errors in {words:,} words are too few to compare groups"
        refusal = Refusal(
            "too_few_errors", part.attribute, text, {"errors": errors, "words": words, "group": worse}
        )
        return replace(gap, refusal=refusal)
    for group in (one, other):
        if group.speakers == 1:
            text = f"{group.group} has one speaker, who cannot stand for a group"
            return replace(gap, refusal=Refusal("one_speaker", part.attribute, text, {"group": group.group}))
    return gap


def held_fixed(part: Part, gap: Gap, shuffles: Shuffles) -> Adjusted | Refusal:
    """Return the comparison of a gap's groups with the part's controls held fixed, or as it is where there are none."""
    found = _comparison(part, gap, shuffles, as_adjusted=True)
    if isinstance(found, Refusal):
        return found
    assert isinstance(found[1], Adjusted)
    return found[1]


def _comparison(
    part: Part, gap: Gap, shuffles: Shuffles, *, as_adjusted: bool = False
) -> tuple[Gap, Comparison] | Refusal:
    frame = part.frame
    worse, better = (frame.attribute.names.index(one.group) for one in (gap.group, gap.against))
    if not frame.controls and not as_adjusted:
        sides = [_sums(part, frame.attribute.codes == code, shuffles.speakers) for code in (worse, better)]
        return replace(gap, rate=gap.group.wer, rate_against=gap.against.wer), Rates(
            sides[0], sides[1], shuffles
        )
    terms, design = group_design(frame, part.attribute, gap.against.group)
    # Numbers in units of their spread: the regression climbs badly where a column lies far from 0, as years do.
    for place, term in enumerate(terms):
        if term.kind == "control" and term.level is None and (spread := float(design[:, place].std())) > 0.0:
            design[:, place] = (design[:, place] - design[:, place].mean()) / spread
    held = [
        place
        for place, term in enumerate(terms)
        if not (term.kind == "attribute" and term.level == gap.group.group)
    ]
    held = [held[place] for place in _independent(design[:, held])]
    label = (frame.attribute.codes == worse).astype(np.float64)
    if _left(design[:, held], label) < _ALIKE:
        on = ", ".join(gap.controls)
        text = (
            f"group '{gap.group.group}' of {part.attribute} cannot be told apart from {on}: they go together in every"
            " utterance. Leave out the control attribute, or collect data where they do not"
        )
        return Refusal("not_separable", part.attribute, text, {"group": gap.group.group}, see=("controls",))
    people = len(np.unique(part.unit))
    if people - _of_speakers(design[:, held], part.unit) - 1 < 1:
        text = (
            f"{people} speakers cannot carry {len(held)} coefficients: there is nothing left to tell how much speakers"
            " differ. Record more speakers or use fewer controls"
        )
        return Refusal("too_few_speakers", part.attribute, text, {"speakers": people}, see=("controls",))
    side = np.select([frame.attribute.codes == worse, frame.attribute.codes == better], [1, 0], -1)
    rows = _collapsed(frame.errors, frame.words, part.unit, side, design[:, held])
    adjusted = Adjusted(*rows, shuffles)
    words = adjusted.adjusted_words()
    rates = [
        float(adjusted.errors[adjusted.side == one].sum() / words[adjusted.side == one].sum())
        for one in (1, 0)
    ]
    return replace(gap, rate=rates[0], rate_against=rates[1]), adjusted


def _sums(part: Part, rows: np.ndarray[Any, Any], speakers: int) -> FloatArray:
    """Return errors and words by speaker: 2 x speakers x 1."""
    unit = part.unit[rows]
    return np.stack(
        [
            np.bincount(unit, values[rows], speakers)[:, None]
            for values in (part.frame.errors, part.frame.words)
        ]
    )


def _collapsed(
    errors: FloatArray, words: FloatArray, unit: IntArray, side: IntArray, design: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, IntArray, IntArray]:
    """Return a speaker's utterances that are alike in everything held fixed as one row."""
    if len(errors) < 20_000:
        return errors, words, design, side, unit
    frame = pl.DataFrame(
        {"unit": unit, "side": side, **{f"x{k}": design[:, k] for k in range(design.shape[1])}}
    )
    keys = frame.columns
    frame = frame.with_columns(errors=pl.Series(errors), words=pl.Series(words))
    small = frame.group_by(keys, maintain_order=True).agg(pl.col("errors", "words").sum())
    columns = small.select(keys[2:]).to_numpy()
    return (
        small["errors"].to_numpy(),
        small["words"].to_numpy(),
        np.ascontiguousarray(columns),
        small["side"].to_numpy(),
        small["unit"].to_numpy(),
    )


def _of_speakers(design: FloatArray, unit: IntArray) -> int:
    """Return how many columns have one value a speaker."""
    order = np.argsort(unit, kind="stable")
    same = np.diff(unit[order]) == 0
    return int((~(np.diff(design[order], axis=0)[same] != 0.0).any(axis=0)).sum())


def _independent(design: FloatArray) -> list[int]:
    """Return the columns that earlier ones do not determine."""
    kept: list[int] = []
    for place in range(design.shape[1]):
        if not kept or _left(design[:, kept], design[:, place]) > _ALIKE:
            kept.append(place)
    return kept


def _left(design: FloatArray, column: FloatArray) -> float:
    """Return the share of a column's length that is left when the design is taken out of it."""
    gram, size = design.T @ design, float(column @ column)
    if size == 0.0:
        return 0.0
    slopes = np.linalg.lstsq(gram, design.T @ column, rcond=None)[0]
    return float(np.linalg.norm(column - design @ slopes) / np.sqrt(size))


def _changes(part: Part, gap: Gap, base: str, shuffles: Shuffles) -> list[tuple[Gap, Comparison]]:
    """Return, for every value of the interaction column, how much more a group's errors grow from `base` to it."""
    frame = part.frame
    assert frame.interaction is not None
    labels = frame.interaction.labels
    if base not in labels.names:
        return []
    worse, better = (frame.attribute.names.index(one.group) for one in (gap.group, gap.against))
    found: list[tuple[Gap, Comparison]] = []
    for code, name in enumerate(labels.names):
        if name == base:
            continue
        sides = []
        for group in (worse, better):
            here = frame.attribute.codes == group
            moments = [
                _sums(part, here & (labels.codes == level), shuffles.speakers)
                for level in (code, labels.names.index(base))
            ]
            # Who was heard in one of them only tells nothing about the change.
            heard = (moments[0][1] > 0.0) & (moments[1][1] > 0.0)
            sides.append(np.concatenate(moments) * heard)
        rates = Rates(sides[0], sides[1], shuffles, CHANGE)
        if np.isfinite(rates.ratio()).all() and (rates.ratio() > 0.0).all():
            found.append((replace(gap, at=name, since=base, rate=None, rate_against=None), rates))
    return found
