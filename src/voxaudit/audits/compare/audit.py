"""The comparison of two runs: the same utterances before and after, speakers as the sample, slices as a family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from voxaudit.answer import (
    Answer,
    Cell,
    Figure,
    Finding,
    Forest,
    ForestRow,
    Note,
    Refusal,
    Tables,
    Verdict,
    finding_id,
    tabulate,
)
from voxaudit.audits.audit import asks
from voxaudit.audits.compare.pairs import (
    LABELS,
    Pairs,
    differences_of_runs,
    pair_trials,
    require_same_scoring,
    slice_matrices,
    slice_sums,
)
from voxaudit.audits.scores import Names, Scores, Source
from voxaudit.errors import VoxauditError
from voxaudit.stats.bootstrap import ratio_intervals
from voxaudit.stats.sign_flips import SignFlips, least_p, sign_flips
from voxaudit.wording import counted, listed, named, p_value, percent

REGRESSIONS = "compare/regressions"
"""The finding that counts what got worse: what a gate looks at."""
FAMILY = "slices"
TITLE = "Two runs compared"


@dataclass(frozen=True)
class Slice:
    """A part of the trials that both sides have. Rates, their difference and the noise band are fractions.

    `difference` is after minus before; `low` and `high` bound it (95 %, speakers resampled, this slice alone); `noise`
    is the half width of the band in which the differences of all slices together stay when nothing changes. `p` is
    two-sided, `p_adjusted` the same with all slices taken together; None where there are too few speakers.
    """

    recognizer: str
    scenario: str | None
    attribute: str | None
    group: str | None
    trials: int
    speakers: int
    words: int
    wer_before: float | None
    wer_after: float | None
    difference: float | None
    low: float | None
    high: float | None
    noise: float | None
    p: float | None
    p_adjusted: float | None
    verdict: Verdict

    @property
    def label(self) -> str:
        """The slice in words: `native (accent)`, a scenario, or all trials."""
        parts = [] if self.scenario is None else [self.scenario]
        if self.attribute is not None:
            parts.append(f"{named(self.group)} ({self.attribute})")
        return ", ".join(parts) or "all trials"

    @property
    def worse(self) -> bool:
        """True where it is shown to have got worse."""
        return self.verdict == "shown" and (self.difference or 0.0) > 0.0

    @property
    def better(self) -> bool:
        """True where it is shown to have got better."""
        return self.verdict == "shown" and (self.difference or 0.0) < 0.0

    @property
    def outcome(self) -> str:
        """The verdict as a table has it, with the direction where a change is shown."""
        if self.verdict == "shown":
            return "worse" if self.worse else "better"
        return {"not_shown": "not shown", "alike": "alike"}.get(self.verdict, "too few speakers")


@dataclass(frozen=True)
class Comparison:
    """What `Answer.detail` holds: the slices, and the trials that only one side has."""

    slices: tuple[Slice, ...]
    recognizers: Mapping[str, str]
    """Each recognizer before, and its counterpart after."""
    alpha: float
    margin: float
    trials: int
    only_before: int
    only_after: int

    @property
    def regressions(self) -> tuple[Slice, ...]:
        """The slices that are shown to be worse, the largest change first."""
        return _largest_first(one for one in self.slices if one.worse)

    @property
    def improvements(self) -> tuple[Slice, ...]:
        """The slices that are shown to be better, the largest change first."""
        return _largest_first(one for one in self.slices if one.better)

    @property
    def judged(self) -> int:
        """How many slices have enough speakers to show a change."""
        return sum(one.verdict != "refused" for one in self.slices)


@asks("compare", sources=2)
def compare(
    before: Source,
    after: Source,
    *,
    attributes: Sequence[str] = (),
    renamed: Mapping[str, str] | None = None,
    margin: float = 0.0,
    alpha: float = 0.05,
    recognizer: Names = None,
    scenario: Names = None,
    corpus: Names = None,
    language: Names = None,
    where: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    seed: int = 0,
) -> Answer:
    """Compare two runs on the trials they share: overall, by scenario, and by group of each attribute.

    The word error rate of a slice is shown to be worse or better only where its change, `(errors after - errors
    before) / words`, exceeds `margin` (a fraction of the words) beyond chance: the signs of whole speakers are flipped
    (see `stats.sign_flips`), and p-values hold for all slices together (Westfall and Young's step-down). So a
    comparison in which nothing changed shows any difference with a probability of at most `alpha`, and a worse slice,
    which is what stops a release, with half of it. With a `margin`, a slice is alike where the same test shows its
    change to lie within it on both sides. `renamed` maps recognizers before to those after where names differ.
    Filters choose trials on both sides.

    >>> import polars as pl
    >>> table = pl.DataFrame({"speaker": [f"s{n}" for n in range(8)], "words": 100, "errors": range(5, 13)})
    >>> table = table.with_columns(utterance="speaker", scenario=pl.lit("clean"), recognizer=pl.lit("mine"))
    >>> answer = compare(table, table.with_columns(pl.col("errors") + 4))
    >>> finding = answer.finding("compare/mine/wer_difference")
    >>> finding.verdict, finding.estimate
    ('shown', 0.04)
    >>> answer.finding("compare/regressions").estimate
    1.0
    """
    if not 0.0 < alpha < 1.0:
        raise VoxauditError(f"alpha must lie between 0 and 1, not {alpha:g}", see=("alpha",))
    if not 0.0 <= margin < 1.0:
        raise VoxauditError(
            f"margin is a fraction of the words from 0 to below 1, not {margin:g}", see=("margin",)
        )
    chosen: dict[str, Any] = {
        "scenario": scenario,
        "corpus": corpus,
        "language": language,
        "where": where,
        "columns": columns,
    }
    old, new = (_side(source, side, chosen) for source, side in ((before, "before"), (after, "after")))
    require_same_scoring(old, new)
    pairs = pair_trials(old, new, attributes=attributes, renamed=renamed, recognizer=recognizer)
    found = _judge(pairs, alpha, margin, seed)
    notes = [
        _shared_note(found),
        *differences_of_runs(old.run, new.run, found.recognizers),
        *(Note("filter", text) for text in dict.fromkeys((*old.notes, *new.notes))),
    ]
    return Answer(
        audit="compare",
        title=TITLE,
        question={"before": _name(old, new), "after": _name(new, old)},
        findings=_findings(found),
        tables=Tables([_table(found)]),
        figures=_figures(found),
        notes=tuple(notes),
        refusals=(*_too_few(found), *pairs.refusals),
        lead=_method(found),
        detail=found,
    )


def _side(source: Source, side: str, chosen: Mapping[str, Any]) -> Scores:
    scores = Scores.of(source, **chosen)
    return replace(scores, where=f"the table {side}") if scores.where == "table" else scores


def _name(scores: Scores, other: Scores) -> str:
    """Return what a side is called in a report, which must not tell where its author keeps files."""
    path, apart = Path(scores.where), Path(other.where)
    return path.name if path.name != apart.name else str(Path(path.parent.name) / path.name)


def _judge(pairs: Pairs, alpha: float, margin: float, seed: int) -> Comparison:
    sums = slice_sums(pairs)
    facts = sums.group_by(LABELS, maintain_order=True).agg(
        pl.col("trials", "words", "before", "after").sum(), speakers=(pl.col("words") > 0).sum()
    )
    able = np.array([least_p(count) <= alpha for count in facts["speakers"]], dtype=bool)
    limits = ratio_intervals(
        sums.with_columns(errors=pl.col("after") - pl.col("before")), LABELS, confidence=0.95, seed=seed
    )
    change, words = slice_matrices(sums, facts.filter(pl.Series(able)))
    flips = sign_flips(change, words, margin=margin, alpha=alpha, seed=seed)
    # Beyond -margin upwards and beyond +margin downwards: both together are "within the margin".
    within = sign_flips(change, words, margin=-margin, alpha=alpha, seed=seed) if margin else None
    index = iter(range(int(able.sum())))
    slices = [
        _slice(row, limit, flips, within, next(index) if usable else None, alpha)
        for row, limit, usable in zip(
            facts.iter_rows(named=True), limits.iter_rows(named=True), able, strict=True
        )
    ]
    order = {name: number for number, name in enumerate(pairs.recognizers.values())}
    return Comparison(
        slices=tuple(sorted(slices, key=lambda one: order[one.recognizer])),
        recognizers=pairs.recognizers,
        alpha=alpha,
        margin=margin,
        trials=pairs.table.height,
        only_before=pairs.only_before,
        only_after=pairs.only_after,
    )


def _slice(
    row: Mapping[str, Any],
    limit: Mapping[str, Any],
    flips: SignFlips,
    within: SignFlips | None,
    index: int | None,
    alpha: float,
) -> Slice:
    words, old, new = row["words"], row["before"], row["after"]
    verdict: Verdict = "refused"
    p = adjusted = noise = None
    if index is not None:
        p = min(1.0, 2.0 * float(min(flips.p_worse[index], flips.p_better[index])))
        adjusted = min(1.0, 2.0 * float(min(flips.family_worse[index], flips.family_better[index])))
        noise = float(flips.band[index])
        verdict = "shown" if adjusted <= alpha else "not_shown"
        if verdict == "not_shown" and within is not None:
            # Each side at half of alpha, as a change is: no more than alpha for any false claim of likeness.
            inside = 2.0 * float(max(within.family_worse[index], within.family_better[index]))
            verdict = "alike" if inside <= alpha else verdict
    return Slice(
        **{name: row[name] for name in LABELS},
        trials=row["trials"],
        speakers=row["speakers"],
        words=words,
        wer_before=old / words if words else None,
        wer_after=new / words if words else None,
        difference=(new - old) / words if words else None,
        low=limit["ci_low"],
        high=limit["ci_high"],
        noise=noise,
        p=p,
        p_adjusted=adjusted,
        verdict=verdict,
    )


def _largest_first(slices: Any) -> tuple[Slice, ...]:
    return tuple(sorted(slices, key=lambda one: -abs(one.difference or 0.0)))


def _findings(found: Comparison) -> tuple[Finding, ...]:
    """Return how many slices got worse, then these, then those that got better, then the others."""
    changed = (*found.regressions, *found.improvements)
    others = (one for one in found.slices if one not in changed)
    before = {new: old for old, new in found.recognizers.items()}
    return (_regressions(found), *(_finding(one, found, before) for one in (*changed, *others)))


def _regressions(found: Comparison) -> Finding:
    worse = found.regressions
    refused = not found.judged
    if refused:
        sentence = "No slice can be judged: too few speakers to ever show a change."
    elif worse:
        named_ = "; ".join(f"{one.recognizer} on {one.label}, {_points(one)}" for one in worse[:3])
        more = f"; and {len(worse) - 3} more" if len(worse) > 3 else ""
        sentence = (
            f"{len(worse)} of {counted(found.judged, 'slice')} got significantly worse: {named_}{more}."
        )
    else:
        sentence = f"Nothing is shown to have got worse in {counted(found.judged, 'slice')}."
    return Finding(
        id=REGRESSIONS,
        measure="regressions",
        verdict="refused" if refused else "measured",
        code="too_few_speakers" if refused else None,
        sentence=sentence,
        estimate=None if refused else float(len(worse)),
        unit="count",
        headline=True,
    )


def _finding(one: Slice, found: Comparison, before: Mapping[str, str]) -> Finding:
    group = named(one.group) if one.attribute is not None else None
    old = before[one.recognizer]
    limits = [limit for limit in (one.low, one.high) if limit is not None]
    return Finding(
        id=finding_id("compare", one.recognizer, one.scenario, one.attribute, group, "wer_difference"),
        measure="wer_difference",
        verdict=one.verdict,
        code="too_few_speakers" if one.verdict == "refused" else None,
        sentence=_sentence(one, found),
        estimate=one.difference,
        low=one.low,
        high=one.high,
        p=one.p,
        p_adjusted=one.p_adjusted,
        family=None if one.p is None else FAMILY,
        recognizer=one.recognizer,
        against=None if old == one.recognizer else old,
        scenario=one.scenario,
        attribute=one.attribute,
        group=group,
        speakers=one.speakers,
        utterances=one.trials,
        words=one.words,
        excludes=max(limits, key=abs) if one.verdict == "not_shown" and limits else None,
        headline=one.verdict == "shown",
    )


def _sentence(one: Slice, found: Comparison) -> str:
    rates = f"WER {percent(one.wer_before)} before and {percent(one.wer_after)} after, {_points(one)}"
    if one.verdict == "refused":
        people = counted(one.speakers, "speaker")
        return f"Whether {one.recognizer} changed on {one.label} cannot be judged: {people}, too few to ever show it."
    sure = f"{p_value(one.p_adjusted)}, {counted(found.judged, 'slice')} taken together"
    if one.verdict == "shown":
        return f"{one.recognizer} got {one.outcome} on {one.label}: {rates}, {sure}."
    if one.verdict == "alike":
        return f"{one.recognizer} is alike on {one.label} within {_margin(found)}: {rates}."
    return f"No change of {one.recognizer} is shown on {one.label}: {rates}, {sure}."


def _points(one: Slice) -> str:
    """Return the change with its sign: `+1.2 percentage points (+0.3 to +2.1)`."""
    if one.difference is None:
        return "no words"
    limits = "" if one.low is None or one.high is None else f" ({_signed(one.low)} to {_signed(one.high)})"
    return f"{_signed(one.difference)} percentage points{limits}"


def _signed(fraction: float) -> str:
    text = f"{100 * fraction:+.1f}"
    return "0.0" if text[1:] == "0.0" else text


def _margin(found: Comparison) -> str:
    return f"{100 * found.margin:g} percentage points"


def _table(found: Comparison) -> Any:
    rows = [
        {
            **asdict(one),
            "slice": one.label,
            "outcome": one.outcome,
            "family": None if one.p is None else FAMILY,
        }
        for one in found.slices
    ]
    return tabulate(
        "slices",
        "Word error rate before and after, and its change with a 95 % interval",
        rows,
        [
            ("recognizer",),
            ("slice",),
            ("wer_before", "before", "percent"),
            ("wer_after", "after", "percent"),
            ("difference", "change", "points", "low", "high"),
            ("noise", "noise ±", "percent"),
            ("p_adjusted", "p adj.", "p"),
            ("outcome", "verdict"),
            ("speakers", "speakers", "count"),
        ],
    )


def _figures(found: Comparison) -> tuple[Figure, ...]:
    figures = []
    for name in found.recognizers.values():
        known = [one for one in found.slices if one.recognizer == name and one.difference is not None]
        if not known:
            continue
        alone = len(found.recognizers) == 1
        figures.append(
            Figure(
                "changes" if alone else f"changes-{name}",
                f"Change of the word error rate, {name}",
                f"Differences of WER between the two runs for {counted(len(known), 'slice')} with 95 % intervals;"
                f" {sum(one.worse for one in known)} shown to be worse, {sum(one.better for one in known)} better.",
                Forest(
                    tuple(
                        ForestRow(
                            one.label,
                            Cell(one.difference, one.low, one.high),
                            one.verdict == "shown",
                            one.outcome,
                        )
                        for one in known
                    ),
                    "WER after minus before, in percentage points (right: worse)",
                    no_difference=0.0,
                    log=False,
                ),
                "slices",
            )
        )
    return tuple(figures)


def _shared_note(found: Comparison) -> Note:
    facts = {"trials": found.trials, "only_before": found.only_before, "only_after": found.only_after}
    text = f"{found.trials:,} trials are compared in pairs"
    if found.only_before or found.only_after:
        text += (
            f"; {found.only_before:,} scored ones are only in the run before and {found.only_after:,} only in the one"
            " after (not heard, failed or without a reference there)"
        )
    return Note("pairs", text, facts)


def _too_few(found: Comparison) -> tuple[Refusal, ...]:
    few = [one for one in found.slices if one.verdict == "refused"]
    if not few:
        return ()
    needed = next(count for count in range(1, 64) if least_p(count) <= found.alpha)
    most = max(one.speakers for one in few)
    return (
        Refusal(
            "too_few_speakers",
            listed(dict.fromkeys(one.label for one in few)),
            f"{'at most ' if len(few) > 1 else ''}{counted(most, 'speaker')}, and {needed} are needed to ever show a"
            f" change at the level {found.alpha:g}",
            {"slices": len(few), "of": len(found.slices), "speakers": most, "needed": needed},
            remedy=f"{needed} speakers or more, the same in both runs",
        ),
    )


def _method(found: Comparison) -> str:
    beyond = f" by more than {_margin(found)}" if found.margin else ""
    return (
        "Both runs heard the same utterances; trials are compared in pairs, and speakers are the sample. A slice is"
        f" called worse or better where it differs{beyond} beyond what flipping the signs of whole speakers' changes"
        f" explains; p-values hold for all {counted(found.judged, 'slice')} together. Two runs that differ only by"
        f" chance show a worse slice with probability {percent(found.alpha / 2)}. Noise is how far the slices of two"
        " such runs stray at most, all together; intervals are of one slice alone."
    )
