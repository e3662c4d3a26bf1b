"""The comparison of two runs: the same utterances before and after, speakers as the sample, slices as a family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Unpack

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
    RefusedError,
    Table,
    Tables,
    finding_id,
    tabulate,
)
from voxaudit.audits.audit import asks
from voxaudit.audits.compare import REGRESSIONS
from voxaudit.audits.scores import Filters, Names, Scores, Source
from voxaudit.errors import VoxauditError, one_line
from voxaudit.run.folder import Run
from voxaudit.stats.paired_trials import (
    KEYS,
    PairedTrials,
    Slice,
    choose_recognizers,
    judge_slices,
    match_recognizers,
    pair_trials,
    ways_to_slice,
)
from voxaudit.stats.sign_flips import least_p
from voxaudit.wording import counted, listed, named, p_value, percent, signed, signed_limits

FAMILY = "slices"
TITLE = "Two runs compared"


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

    @property
    def visible(self) -> float | None:
        """The smallest change over all trials that would have been shown four times in five, of every recognizer."""
        sizes = [one.visible for one in self.slices if one.whole]
        return None if None in sizes else max((size for size in sizes if size is not None), default=None)


@asks("compare", sources=2)
def compare(
    before: Source,
    after: Source,
    *,
    attributes: Sequence[str] = (),
    renamed: Mapping[str, str] | None = None,
    margin: float = 0.0,
    alpha: float = 0.05,
    seed: int = 0,
    **filters: Unpack[Filters],
) -> Answer:
    """Compare two runs on the trials they share: overall, by scenario, and by group of each attribute.

    The word error rate of a slice is shown to be worse or better only where its change, `(errors after - errors
    before) / words`, exceeds `margin` (a fraction of the words) beyond chance: the signs of whole speakers are flipped
    (see `stats.sign_flips`), and p-values hold for everything together. All trials are asked about first, with four
    fifths of `alpha`; slices have the rest, and all of it once a change of the whole is shown (a fallback procedure).
    So a comparison in which nothing changed shows any difference with a probability of at most `alpha`, and a worse
    slice, which is what stops a release, with half of it. With a `margin`, a slice is alike where the same test shows
    its change to lie within it on both sides. `renamed` maps recognizers before to those after where names differ.
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
    check_levels(alpha, margin)
    recognizer = filters.pop("recognizer", None)
    sides = []
    for source, side in ((before, "before"), (after, "after")):
        scores = Scores.of(source, **filters)
        sides.append(replace(scores, where=f"the table {side}") if scores.where == "table" else scores)
    old, new = sides
    _require_same_scoring(old, new)
    pairs, refusals = _paired(old, new, attributes, renamed or {}, recognizer)
    slices = judge_slices(pairs.table, ways_to_slice(pairs), alpha=alpha, margin=margin, seed=seed)
    order = list(pairs.recognizers.values())
    found = Comparison(
        slices=tuple(sorted(slices, key=lambda one: order.index(one.recognizer))),
        recognizers=pairs.recognizers,
        alpha=alpha,
        margin=margin,
        trials=pairs.table.height,
        only_before=pairs.only_before,
        only_after=pairs.only_after,
    )
    notes = [
        _shared_note(found),
        *_differences_of_runs(old.run, new.run, found.recognizers),
        *(Note("filter", text) for text in dict.fromkeys((*old.notes, *new.notes))),
    ]
    return Answer(
        audit="compare",
        title=TITLE,
        question={"before": _name(old, new), "after": _name(new, old)},
        findings=_findings(found),
        tables=Tables([_table(found)]),
        figures=tuple(_figures(found)),
        notes=tuple(notes),
        refusals=(*too_few(found.slices, alpha, "change", ", the same in both runs"), *refusals),
        lead=_method(found),
        detail=found,
    )


def check_levels(alpha: float, margin: float) -> None:
    """Raise one line where a chance of false claims or a margin is out of its range."""
    if not 0.0 < alpha < 1.0:
        raise VoxauditError(f"alpha must lie between 0 and 1, not {alpha:g}", see=("alpha",))
    if not 0.0 <= margin < 1.0:
        raise VoxauditError(
            f"margin is a fraction of the words from 0 to below 1, not {margin:g}", see=("margin",)
        )


def _name(scores: Scores, other: Scores) -> str:
    """Return what a side is called in a report, which must not tell where its author keeps files."""
    path, apart = Path(scores.where), Path(other.where)
    return path.name if path.name != apart.name else str(Path(path.parent.name) / path.name)


# The trials that both sides have


def _paired(
    before: Scores, after: Scores, attributes: Sequence[str], renamed: Mapping[str, str], recognizer: Names
) -> tuple[PairedTrials, list[Refusal]]:
    """Return the trials that both sides have scored; attributes and speakers are those after.

    An attribute whose groups cannot be compared is refused, and the rest is answered.
    """
    old, new = scored_trials(before), scored_trials(after)
    matched = match_recognizers(before.recognizers, after.recognizers, renamed)
    if recognizer is not None:
        matched = choose_recognizers(matched, [recognizer] if isinstance(recognizer, str) else recognizer)
    columns, refusals = comparable_columns(after, attributes)
    groups = {name: after.frame[column].cast(pl.String) for name, column in columns.items()}
    about = after.frame.select(pl.col(*KEYS, "speaker").cast(pl.String))
    return pair_trials(old, new, about, groups, matched), refusals


def comparable_columns(scores: Scores, attributes: Sequence[str]) -> tuple[dict[str, str], list[Refusal]]:
    """Return the columns of attributes whose groups can be compared; the others are refused, and the rest answered."""
    columns, refusals = {}, []
    for name, column in {name: scores.column(name) for name in dict.fromkeys(attributes)}.items():
        try:
            scores.comparable(name)
            columns[name] = column
        except RefusedError as error:
            refusals.append(error.refusal)
    return columns, refusals


def scored_trials(scores: Scores) -> pl.DataFrame:
    """Return KEYS, words and errors of the trials of one side that are scored; each must be there once."""
    return every_trial(scores).drop_nulls("words")


def every_trial(scores: Scores, **more: pl.Expr) -> pl.DataFrame:
    """Return KEYS, words, errors and `more` of the trials of one side; those that are not scored have no counts."""
    scores.require(*KEYS, "speaker", "words")
    trials = scores.frame.select(
        pl.col(KEYS).cast(pl.String),
        words=pl.lit(scores.counts("words")),
        errors=pl.lit(scores.errors()),
        **more,
    )
    known = pl.col("words").is_not_nan() & pl.col("errors").is_not_nan()
    trials = trials.with_columns(pl.when(known).then(pl.col("words", "errors")).cast(pl.Int64))
    side = trials.select(*KEYS, "words").drop_nulls("words").select(KEYS)
    if side.is_empty():
        raise VoxauditError(
            f"{scores.where}: no scored trial: the corpus needs reference texts, or every trial failed"
        )
    # Rows whose hashes all differ are not compared one by one.
    several = side.hash_rows().n_unique() < side.height
    if several and (twice := side.filter(pl.struct(KEYS).is_duplicated()).head(1).to_dicts()):
        utterance, scenario = (one_line(str(twice[0][name]), 60) for name in KEYS[:2])
        raise VoxauditError(
            f"{scores.where}: utterance '{utterance}' occurs twice for one recognizer in scenario '{scenario}'"
        )
    return trials


def _require_same_scoring(before: Scores, after: Scores) -> None:
    """Raise one line where two runs were scored by different normalizers."""
    if before.run is None or after.run is None:
        return
    old, new = (run.config.get("normalizer") for run in (before.run, after.run))
    if old != new:
        raise VoxauditError(
            f"{before.where} was scored with the normalizer {old} and {after.where} with {new}: score both the same way"
        )


def _differences_of_runs(before: Run | None, after: Run | None, recognizers: Mapping[str, str]) -> list[Note]:
    """Return what else differs between two runs and may move the rates; nothing where one is only a table."""
    if before is None or after is None:
        return []
    notes = []
    if before.config["seed"] != after.config["seed"]:
        notes.append(Note("other_seed", "the runs have different seeds: their random noise differs too"))
    if before.config.get("sources") != after.config.get("sources"):
        text = "the runs took noise or rooms from different sources: scenarios of one name differ"
        notes.append(Note("other_sources", text))
    for names in recognizers.items():
        new, both = names[1], list(zip((before, after), names, strict=True))
        failed = [run.failures.filter(pl.col("recognizer") == name).height for run, name in both]
        if any(failed):
            text = f"{new}: {failed[0]} trials failed before and {failed[1]} after"
            facts = {"recognizer": new, "before": failed[0], "after": failed[1]}
            notes.append(Note("failures", text, facts))
        one, other = (run.config["recognizers"].get(name, {}).get("fingerprint") for run, name in both)
        if one == other:
            text = f"{new} is the same recognizer with the same settings in both runs"
            notes.append(Note("same_recognizer", text, {"recognizer": new}))
    return notes


# What is said of it


def _largest_first(slices: Any) -> tuple[Slice, ...]:
    return tuple(sorted(slices, key=lambda one: -abs(one.difference or 0.0)))


def _findings(found: Comparison) -> tuple[Finding, ...]:
    """Return how many slices got worse, then these, then those that got better, then the others."""
    changed = (*found.regressions, *found.improvements)
    others = (one for one in found.slices if one not in changed)
    before = {new: old for old, new in found.recognizers.items()}
    return (_regressions(found), *(_finding(one, found, before) for one in (*changed, *others)))


def _regressions(found: Comparison) -> Finding:
    worse, slices = found.regressions, counted(found.judged, "slice")
    seen = (
        ""
        if found.visible is None
        else f"; over all trials a rise of {points(found.visible)} would have been shown four times in five"
    )
    sentence = f"Nothing is shown to have got worse in {slices}{seen}."
    if not found.judged:
        sentence = "No slice can be judged: too few speakers to ever show a change."
    elif worse:
        first = "; ".join(
            f"{one.recognizer} on {one.label}, {signed_points(one)}"
            + (
                f", which rests on the utterance {one_line(one.utterance or '', 60)}"
                if one.rests_on_one
                else ""
            )
            for one in worse[:3]
        )
        more = f"; and {len(worse) - 3} more" if len(worse) > 3 else ""
        sentence = f"{len(worse)} of {slices} got significantly worse: {first}{more}."
    return Finding(
        id=REGRESSIONS,
        measure="regressions",
        verdict="measured" if found.judged else "refused",
        code=None if found.judged else "too_few_speakers",
        sentence=sentence,
        estimate=float(len(worse)) if found.judged else None,
        unit="count",
        headline=True,
    )


def _finding(one: Slice, found: Comparison, before: Mapping[str, str]) -> Finding:
    old = before[one.recognizer]
    finding = slice_finding(one, "compare", FAMILY, found.alpha, _sentence(one, found), one.scenario)
    return replace(finding, against=None if old == one.recognizer else old, headline=one.verdict == "shown")


def slice_finding(
    one: Slice, audit: str, family: str, alpha: float, sentence: str, scenario: str | None, *against: str
) -> Finding:
    """Return the finding about the difference of error rates in a slice, `against` another recognizer or none."""
    group = named(one.group) if one.attribute is not None else None
    names = (one.recognizer, *against, scenario, one.attribute, group)
    same = ("verdict", "low", "high", "p", "p_adjusted", "speakers", "words", "recognizer", "attribute")
    about: dict[str, Any] = {name: getattr(one, name) for name in same}
    return Finding(
        id=finding_id(audit, *names, "wer_difference"),
        measure="wer_difference",
        code="too_few_speakers" if one.verdict == "refused" else None,
        sentence=sentence,
        estimate=one.difference,
        level=1.0 - alpha,
        family=None if one.p is None else family,
        utterances=one.trials,
        excludes=one.excludes if one.verdict == "not_shown" else None,
        scenario=scenario,
        group=group,
        **about,
    )


def _sentence(one: Slice, found: Comparison) -> str:
    rates = f"WER {percent(one.wer_before)} before and {percent(one.wer_after)} after, {signed_points(one)}"
    if one.verdict == "refused":
        people = counted(one.speakers, "speaker")
        return f"Whether {one.recognizer} changed on {one.label} cannot be judged: {people}, too few to ever show it."
    several = f", {counted(found.judged, 'slice')} taken together" if found.judged > 1 else ""
    sure = f"{p_value(one.p_adjusted)}{several}"
    if one.verdict == "shown":
        changed = f"{one.recognizer} got {outcome(one)} on {one.label}: {rates}, {sure}."
        return f"{changed}{rests(one)}"
    if one.verdict == "alike":
        return f"{one.recognizer} is alike on {one.label} within {_margin(found)}: {rates}."
    if one.low == one.high == 0.0:
        rate = percent(one.wer_before)
        return f"{one.recognizer} made as many errors on {one.label} before and after, for every speaker: WER {rate}."
    largest = not_excluded([one], "change")
    return f"No change of {one.recognizer} is shown on {one.label}: {rates}, {sure}; {largest}."


def not_excluded(slices: Sequence[Slice], what: str) -> str:
    """Return how large a change (or whatever it is called) of any of some slices may be all the same."""
    sizes = [one.excludes for one in slices]
    known = [abs(size) for size in sizes if size is not None]
    if len(known) < len(sizes):
        return f"how large a {what} may be has no limit here, as too few speakers say most of the words"
    return f"a {what} of up to {points(max(known))} is not excluded"


def outcome(one: Slice) -> str:
    """Return the verdict as a table has it, with the direction where a change is shown."""
    if one.verdict == "shown":
        return "worse" if one.worse else "better"
    return {"not_shown": "not shown", "alike": "alike"}.get(one.verdict, "too few speakers")


def rests(one: Slice) -> str:
    """Return a sentence that says what a change becomes without one utterance; nothing where it rests on none."""
    if not one.rests_on_one or one.difference_without is None:
        return ""
    errors = one.utterance_errors or 0
    alone = f"{counted(abs(errors), 'error')} {'more' if errors > 0 else 'fewer'}"
    utterance = f"the utterance {one_line(one.utterance or '', 60)}"
    left = f"{signed(one.difference_without)} percentage points"
    if errors * (one.difference or 0.0) < 0.0:
        return f" Against it, {utterance} alone has {alone}: without it {left}."
    if one.holds:
        return f" Most of it is {utterance}, which alone has {alone}: without it {left}, still shown."
    return f" It rests on {utterance}, which alone has {alone}: without it {left}, not shown."


def signed_points(one: Slice) -> str:
    """Return the change with its sign: `+1.2 percentage points (+0.3 to +2.1)`."""
    if one.difference is None:
        return "no words"
    return f"{signed(one.difference)} percentage points{signed_limits(one.low, one.high)}"


def points(size: float) -> str:
    """Return the size of a change: `1.2 percentage points`, with a second digit where it is small.

    >>> points(0.0123), points(0.0004)
    ('1.2 percentage points', '0.04 percentage points')
    """
    return f"{100 * size:.{1 if size >= 0.001 else 2}f} percentage points"


def _margin(found: Comparison) -> str:
    return f"{100 * found.margin:g} percentage points"


def _table(found: Comparison) -> Table:
    rows = [
        asdict(one)
        | {"slice": one.label, "outcome": outcome(one), "family": None if one.p is None else FAMILY}
        for one in found.slices
    ]
    columns = (
        "recognizer; slice; wer_before: before, percent; wer_after: after, percent; difference[low,high]: change;"
        " visible: visible from, percent; p_adjusted: p adj., p; outcome: verdict; speakers"
    )
    title = f"Word error rate before and after, and its change with a {_level(found)} interval"
    note = "Visible from: the smallest change that would have been shown four times in five, in percent of the words."
    return tabulate("slices", title, rows, columns, note=note)


def _level(found: Comparison) -> str:
    return f"{100 * (1 - found.alpha):g} %"


def _figures(found: Comparison) -> list[Figure]:
    figures = []
    for name in found.recognizers.values():
        known = [one for one in found.slices if one.recognizer == name and one.difference is not None]
        if not known:
            continue
        rows = tuple(
            ForestRow(
                one.label, Cell(one.difference, one.low, one.high), one.verdict == "shown", outcome(one)
            )
            for one in known
        )
        axis = "WER after minus before, in percentage points (right: worse)"
        id_ = "changes" if len(found.recognizers) == 1 else f"changes-{name}"
        worse, better = sum(one.worse for one in known), sum(one.better for one in known)
        alt = (
            f"Differences of WER between the two runs for {counted(len(known), 'slice')} with {_level(found)}"
            f" intervals; {worse} shown to be worse, {better} better."
        )
        forest = Forest(rows, axis, no_difference=0.0, log=False)
        figures.append(Figure(id_, f"Change of the word error rate, {name}", alt, forest, "slices"))
    return figures


def _shared_note(found: Comparison) -> Note:
    facts = {"trials": found.trials, "only_before": found.only_before, "only_after": found.only_after}
    text = f"{found.trials:,} trials are compared in pairs"
    if found.only_before or found.only_after:
        text += (
            f"; {found.only_before:,} scored ones are only in the run before and {found.only_after:,} only in the one"
            " after (not heard, failed or without a reference there)"
        )
    return Note("pairs", text, facts)


def too_few(slices: Sequence[Slice], alpha: float, what: str, where: str = "") -> list[Refusal]:
    """Return the refusal of the slices that have too few speakers to show `what`; `where` to record more."""
    few = [one for one in slices if one.verdict == "refused"]
    if not few:
        return []
    needed = next(count for count in range(1, 64) if least_p(count) <= alpha)
    most = max(one.speakers for one in few)
    text = (
        f"{'at most ' if len(few) > 1 else ''}{counted(most, 'speaker')}, and {needed} are needed to ever show a"
        f" {what} at the level {alpha:g}"
    )
    facts = {"slices": len(few), "of": len(slices), "speakers": most, "needed": needed}
    about = listed(dict.fromkeys(one.label for one in few))
    return [Refusal("too_few_speakers", about, text, facts, f"{needed} speakers or more{where}")]


def _method(found: Comparison) -> str:
    beyond = f" by more than {_margin(found)}" if found.margin else ""
    return (
        "Both runs heard the same utterances; trials are compared in pairs, and speakers are the sample. A slice is"
        f" called worse or better where it differs{beyond} beyond what flipping the signs of whole speakers' changes"
        f" explains; p-values hold for all {counted(found.judged, 'slice')} together. All trials are asked about first,"
        " with four fifths of the level; the slices have the rest, and all of it where a change of the whole is"
        f" shown. Two runs that differ only by chance show a worse slice with probability {percent(found.alpha / 2)}."
        " Intervals are of one slice alone. Where one utterance decides, or makes most of a change, the sentence says"
        " so."
    )
