"""What explains a gap: text, recording or both held fixed on the same speakers; and texts of one group alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from voxaudit.answer import Column, Finding, Note, Refusal, Table, tabulate
from voxaudit.audits.disparity.frames import Question, frames
from voxaudit.audits.disparity.gaps import Gap, Part, held_fixed, shuffles_of
from voxaudit.audits.scores import Scores
from voxaudit.score.measures import ALL_MEASURES
from voxaudit.stats.group_design import Control, Frame, Numeric
from voxaudit.stats.group_ratios import judge
from voxaudit.stats.multiplicity import holm
from voxaudit.stats.permutations import LEVEL
from voxaudit.stats.ttests import satterthwaite
from voxaudit.wording import listed, ratio_interval, speakers_of

if TYPE_CHECKING:
    from voxaudit.audits.disparity.result import Fit

TEXT = ("perplexity_bits", "word_frequency", "text_words", "unknown_words")
"""What is said, the measure that says most first: with few speakers only the first ones are held fixed."""
RECORDING = ("snr", "reverberation", "bandwidth", "clipping")
"""How it was recorded. Speaking rate and pitch are not here: they are the speaker's own."""
SPEAKERS_PER_MEASURE = 5
"""Of measures with one value per speaker, one is held fixed for so many speakers: more would describe each of them."""
MOST_EXPLAINED = 12
"""Gaps of one part that are explained, the widest first."""

Reason = Literal["text", "recording", "together", "either", "unexplained", "unclear"]
WORDS: Mapping[Reason, str] = {
    "text": "explained by what is said",
    "recording": "explained by how it was recorded",
    "either": "explained by what is said, or by how it was recorded: they go together",
    "together": "explained by what is said and how it was recorded, together",
    "unexplained": "not explained by what was measured",
    "unclear": "neither explained nor unexplained: too little is known",
}
KINDS = ("text", "recording", "both")
ALIKE = 0.95
"""Groups read the same texts where so large a share of their words is common to both."""
_Z = 1.959963984540054


@dataclass(frozen=True)
class Held:
    """A ratio with something held fixed, and how many times as high it was before (`change`)."""

    ratio: float
    low: float | None
    high: float | None
    p: float | None
    change: float
    change_low: float
    change_high: float

    @property
    def shown(self) -> bool:
        """Whether the gap is still shown."""
        return self.p is not None and self.p <= LEVEL

    def shrinks(self, ratio: float) -> bool:
        """Say whether holding it fixed is shown to bring a gap nearer to 1."""
        return self.change_low > 1.0 if ratio > 1.0 else self.change_high < 1.0


@dataclass(frozen=True)
class Explanation:
    """A gap that is shown, and what of it stays: `observed` is the ratio on the utterances that all models share."""

    gap: Gap
    observed: float
    held: dict[str, Held] = field(default_factory=dict)
    """By what is held fixed (`KINDS`); what could not be is absent."""
    measures: dict[str, tuple[str, ...]] = field(default_factory=dict)
    refusal: Refusal | None = None

    @property
    def reason(self) -> Reason | None:
        """What explains the gap. What stays with everything held fixed decides first; then what is enough by itself."""
        last = next((self.held[kind] for kind in reversed(KINDS) if kind in self.held), None)
        if last is None:
            return None
        if last.shown:
            return "unexplained"
        enough = [
            kind
            for kind in KINDS
            if kind in self.held and self.held[kind].shrinks(self.observed) and not self.held[kind].shown
        ]
        if "text" in enough and "recording" in enough:
            return "either"
        if not enough:
            return "unclear"
        return "together" if enough[0] == "both" else "text" if enough[0] == "text" else "recording"


def explain(
    scores: Scores,
    questions: Mapping[str, Question],
    gaps: Sequence[Gap],
    extra: Sequence[Control],
    *,
    speakers: bool,
    seed: int,
) -> tuple[list[Explanation], list[Note]]:
    """Explain the gaps that are shown; `questions` are the attributes' own, `extra` further controls of the text."""
    found: list[Explanation] = []
    notes: list[Note] = []
    for name, question in questions.items():
        shown = [gap for gap in gaps if gap.attribute == name and gap.verdict == "shown" and gap.ratio]
        if not shown:
            continue
        chosen, said = _measures(scores, question)
        notes += said
        if not any(chosen.values()) and not extra:
            continue
        own = replace(question, controls=(*question.controls, *chosen["text"], *chosen["recording"]))
        for frame in frames(scores, own, extra):
            here = [gap for gap in shown if gap.by == frame.group]
            here.sort(key=lambda gap: -abs(math.log(gap.ratio or 1.0)))
            base = len(question.controls)
            found += [_explain(frame, gap, base, chosen, speakers, seed) for gap in here[:MOST_EXPLAINED]]
    return found, list({note.text: note for note in notes}.values())


def _measures(scores: Scores, question: Question) -> tuple[dict[str, tuple[str, ...]], list[Note]]:
    """Return the measures to hold fixed by kind, and why some are not."""
    frame, notes = scores.frame, []
    chosen: dict[str, tuple[str, ...]] = {}
    for kind, names in (("text", TEXT), ("recording", RECORDING)):
        there = [name for name in names if name in frame.columns and frame.schema[name].is_numeric()]
        known = [name for name in there if frame[name].count() and name not in question.controls]
        chosen[kind] = tuple(name for name in known if not _constant(scores, name))
        what = "what is said" if kind == "text" else "how it was recorded"
        absent = [name for name in names if name not in there or not frame[name].count()]
        lacking = {ALL_MEASURES[name]: scores.not_measured(name) for name in absent}
        if not known:
            why = next(
                (one for one in lacking.values() if one),
                f"the table has none of the columns {', '.join(names)}",
            )
            text = f"{what} was not measured, and cannot be held fixed: {why}"
            notes.append(Note("not_measured", text, {"kind": kind}))
        elif not chosen[kind] and kind == "text":
            text = "everybody says the same text: what is said explains nothing of a gap, by design"
            notes.append(Note("same_text", text, {"kind": kind}))
        elif not chosen[kind]:
            text = "recordings do not differ in what was measured"
            notes.append(Note("same_recording", text, {"kind": kind}))
        elif lacking:
            reasons = [f"{name} ({why})" if why else name for name, why in lacking.items()]
            notes.append(Note("not_measured", f"of {what}, not measured: {listed(reasons)}", {"kind": kind}))
    return chosen, notes


def _constant(scores: Scores, name: str) -> bool:
    values = scores.frame[name].drop_nulls()
    low, high = float(values.min()), float(values.max())  # type: ignore[arg-type]
    return high - low <= 1e-9 * max(abs(low), abs(high), 1e-9)


def _explain(
    frame: Frame, gap: Gap, base: int, chosen: Mapping[str, tuple[str, ...]], speakers: bool, seed: int
) -> Explanation:
    controls = frame.controls
    place = base + len(chosen["text"])
    end = place + len(chosen["recording"])
    text = [*controls[base:place], *controls[end:]]
    held = {"text": _few(frame, text), "recording": _few(frame, controls[place:end])}
    held["both"] = [*held["text"], *held["recording"]]
    names = {kind: tuple(one.column for one in some) for kind, some in held.items()}
    if not all(held[kind] for kind in ("text", "recording")):
        held.pop("both")

    part = Part(frame, gap.attribute, gap.scenarios)
    shuffles = shuffles_of([part], speakers, seed)  # the same speakers whatever is held fixed

    def compared(more: Sequence[Control]) -> Any:
        part.frame = replace(frame, controls=(*controls[:base], *more))
        return held_fixed(part, gap, shuffles)

    before = compared(())
    if isinstance(before, Refusal):
        return Explanation(gap, math.nan, refusal=before)
    found: dict[str, Held] = {}
    refusal = None
    for kind, more in held.items():
        if not more:
            continue
        after = compared(more)
        if isinstance(after, Refusal):
            refusal = after
            continue
        [[judged]] = judge([after])
        change = [math.exp(one) for one in before.change(after)]
        found[kind] = Held(judged.ratio, judged.low, judged.high, judged.p, *change)
    return Explanation(gap, float(before.ratio()[0]), found, names, refusal)


def _few(frame: Frame, controls: Sequence[Control]) -> list[Control]:
    """Return the controls that vary; of those that do not vary within speakers, a few."""
    kept: list[Control] = []
    most = None
    if frame.speaker is not None:
        most = max(1, len(frame.speaker.names) // SPEAKERS_PER_MEASURE // 2)
    of_speakers = 0
    for one in controls:
        if not isinstance(one, Numeric):
            kept.append(one)
            continue
        if np.ptp(one.values) <= 0.0:
            continue
        if frame.speaker is not None and most is not None and _one_each(one, frame.speaker.codes):
            of_speakers += 1
            if of_speakers > most:
                continue
        kept.append(one)
    return kept


def _one_each(control: Numeric, speaker: np.ndarray[Any, Any]) -> bool:
    order = np.argsort(speaker, kind="stable")
    same = np.diff(speaker[order]) == 0
    return not bool((np.abs(np.diff(control.values[order]))[same] > 0.0).any())


# Texts that several speakers read


def with_prompts(
    gaps: Sequence[Gap], parts: Sequence[Part], fits: Sequence[Fit]
) -> tuple[list[Gap], list[Note]]:
    """Return gaps that allow for the texts: refused where groups read different ones, wider where mostly different.

    Texts are a sample, too. With rho the spread of their log rates (`stats.crossed_glmm`) and s the shares of a group's
    words, unlike texts alone give the log ratio a variance of `rho^2 sum (s_group - s_against)^2` over the texts; the
    interval and p are widened by that much.
    """
    frames = {(part.attribute, *part.frame.group.values()): part.frame for part in parts}
    spread = {(fit.attribute, *fit.by.values()): fit.prompt_sigma for fit in fits}
    changed: list[Gap] = []
    touched: list[bool] = []
    for gap in gaps:
        key = (gap.attribute, *gap.by.values())
        frame = frames[key]
        if frame.prompt is None or gap.verdict == "refused":
            changed.append(gap)
            touched.append(False)
            continue
        shares = _shares(frame, gap)
        common = float(np.minimum(*shares).sum())
        wider = gap
        if common == 0.0:
            wider = replace(gap, refusal=_nested(gap, shares), ratio=None, low=None, high=None)
        elif common < ALIKE and spread[key]:
            wider = _wider(gap, float(spread[key] or 0.0), shares)
        changed.append(wider)
        touched.append(wider is not gap and wider.refusal is None)
    together = holm([None if gap.refusal else gap.p for gap in changed])
    decided = [
        replace(gap, p_adjusted=max(gap.p_adjusted or 0.0, p)) if mine and p is not None else gap
        for gap, mine, p in zip(changed, touched, together, strict=True)
    ]
    return decided, list(_notes(fits, parts))


def _shares(frame: Frame, gap: Gap) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the share of each text in the words of the two groups."""
    assert frame.prompt is not None
    found = []
    for name in (gap.group.group, gap.against.group):
        rows = (frame.attribute.codes == frame.attribute.names.index(name)) & (frame.prompt.codes >= 0)
        words = np.bincount(frame.prompt.codes[rows], frame.words[rows], len(frame.prompt.names))
        found.append(words / max(words.sum(), 1.0))
    return found[0], found[1]


def _nested(gap: Gap, shares: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]) -> Refusal:
    ours, theirs = (int((one > 0.0).sum()) for one in shares)
    text = (
        f"{gap.group.group} and {gap.against.group} speakers read different texts ({ours:,} and {theirs:,}, none in"
        " common): group and text cannot be told apart"
    )
    return Refusal(
        "texts_differ",
        gap.attribute,
        text,
        {"group": gap.group.group, "texts": ours, "texts_against": theirs},
    )


def _wider(gap: Gap, rho: float, shares: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]) -> Gap:
    from voxaudit.numeric import stdtr, stdtrit

    log = math.log(gap.ratio) if gap.ratio and math.isfinite(gap.ratio) else None
    texts = rho**2 * float(((shares[0] - shares[1]) ** 2).sum())
    if log is None or not gap.low or gap.high is None or not math.isfinite(gap.high):
        return gap
    reaches = log - math.log(gap.low), math.log(gap.high) - log
    # The limit on the side of 1 is the one that the verdict hangs on.
    speakers = (reaches[0] if log > 0.0 else reaches[1]) / _Z
    count = int(((shares[0] + shares[1]) > 0.0).sum())
    df = float(
        satterthwaite(np.array(speakers**2), np.array(1e6), np.array(texts), np.array(max(count - 1, 1)))
    )
    more = float(stdtrit(df, 0.975)) * math.sqrt(texts)
    p = 2.0 * float(stdtr(df, -abs(log) / math.sqrt(speakers**2 + texts)))
    low, high = math.exp(log - math.hypot(reaches[0], more)), math.exp(log + math.hypot(reaches[1], more))
    lowest = gap.lowest
    if lowest:
        worse = math.exp(abs(log))
        lowest = worse * math.exp(-math.hypot(math.log(worse / lowest), more))
    return replace(gap, low=low, high=high, p=max(gap.p or 0.0, p), lowest=lowest)


def _notes(fits: Sequence[Fit], parts: Sequence[Part]) -> Iterator[Note]:
    by_part: Mapping[Any, Frame] = {
        (part.attribute, *part.frame.group.values()): part.frame for part in parts
    }
    said = set()
    for fit in fits:
        prompt = by_part[(fit.attribute, *fit.by.values())].prompt
        if prompt is None or fit.prompt_sigma is None:
            continue
        text = (
            f"{len(prompt.names):,} texts are read by several speakers: texts have an effect of their own, crossed with"
            " that of speakers"
        )
        if text not in said:
            yield Note("prompts", text, {"texts": len(prompt.names)}, see=("prompts",))
        said.add(text)


# The words


def explanation_table(found: Sequence[Explanation], split: tuple[str, ...]) -> Table:
    """Return a row per gap: as observed, with each kind held fixed, how it changed, and what explains it."""
    rows = []
    for one in found:
        gap = one.gap
        row = {**gap.by, "attribute": gap.attribute, "group": gap.group.group, "against": gap.against.group}
        row |= {"observed": one.observed}
        for kind in KINDS:
            held = one.held.get(kind)
            row[f"{kind}_held"] = held and held.ratio
            for name in ("low", "high", "p", "change", "change_low", "change_high"):
                row[f"{kind}_{name}"] = held and getattr(held, name)
        row |= {"explained": WORDS[one.reason] if one.reason else None}
        rows.append(row)
    said = {"text": "text held fixed", "recording": "recording held fixed", "both": "both held fixed"}
    columns: list[Any] = [*split, "attribute", "group", "against", Column("observed", "as observed", "ratio")]
    columns += [
        Column(f"{kind}_held", title, "ratio", f"{kind}_low", f"{kind}_high") for kind, title in said.items()
    ]
    columns += [
        Column(f"{kind}_change", title, "ratio", f"{kind}_change_low", f"{kind}_change_high")
        for kind, title in (("text", "change by the text"), ("recording", "change by the recording"))
    ]
    note = (
        "All ratios of a row are of the same utterances. A change is the ratio before over the one after: 1 where what"
        " is held fixed plays no part. A gap that stays is not explained by what was measured here; that does not make"
        " it one of voices."
    )
    return tabulate("explanation", "What explains the gaps", rows, [*columns, "explained"], note=note)


def explanation_findings(
    found: Sequence[Explanation], id_of: Any, keys_of: Any, who: Any, said: set[int]
) -> Iterator[Finding]:
    """Yield what explains each gap, in a sentence."""
    for one in found:
        gap, reason = one.gap, one.reason
        last = next((one.held[kind] for kind in reversed(KINDS) if kind in one.held), None)
        pair = f"{gap.group.group} over {speakers_of(gap.against.group, gap.attribute)}"
        shared: dict[str, Any] = {
            **{name: getattr(gap.group, name) for name in ("group", "speakers", "utterances", "words")},
            "against": gap.against.group,
            "speakers_against": gap.against.speakers,
            "attribute": gap.attribute,
            "unit": "ratio",
            **keys_of(gap),
        }
        id_ = id_of(gap, gap.attribute, gap.group.group, gap.against.group, "gap_left")
        if last is None or reason is None:
            why = one.refusal.text.rstrip(".") if one.refusal else "nothing could be held fixed"
            sentence = f"{who(gap)}: what explains the gap of {pair} cannot be told: {why}."
            code = one.refusal.code if one.refusal else "not_measured"
            yield Finding(id_, "gap_left", "refused", sentence, code=code, **shared)
            continue
        sentence = (
            f"{who(gap)}: the gap of {pair}, {one.observed:.2f} times as many errors, is {WORDS[reason]}:"
            f" {_stays(one)}."
        )
        yield Finding(
            id_,
            "gap_left",
            "shown" if last.shown else "not_shown",
            sentence,
            estimate=last.ratio,
            low=last.low,
            high=last.high,
            p=last.p,
            p_adjusted=last.p,
            family="gaps that are shown, each by itself",
            headline=id(gap) in said,
            **shared,
        )


def _stays(one: Explanation) -> str:
    names = {"text": "the text", "recording": "the recording", "both": "both"}
    held = {kind: one.held[kind] for kind in KINDS if kind in one.held}
    return ", ".join(
        f"{ratio_interval(each.ratio, each.low, each.high)} times with {names[kind]} held fixed"
        for kind, each in held.items()
    )
