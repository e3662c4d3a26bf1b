"""The comparison of two runs: the same utterances before and after, speakers as the sample, slices as a family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

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
    Verdict,
    finding_id,
    tabulate,
)
from voxaudit.audits.audit import asks
from voxaudit.audits.scores import Names, Scores, Source
from voxaudit.errors import VoxauditError, one_line
from voxaudit.run.folder import Run, require_whole
from voxaudit.stats.bootstrap import matrix_of, ratio_intervals, speaker_cells
from voxaudit.stats.paired_trials import (
    KEYS,
    LABELS,
    PairedTrials,
    choose_recognizers,
    match_recognizers,
    pair_trials,
    sum_slices,
)
from voxaudit.stats.sign_flips import least_p, sign_flips
from voxaudit.wording import counted, listed, named, p_value, percent, signed, signed_limits

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
    sides = []
    for source, side in ((before, "before"), (after, "after")):
        scores = Scores.of(
            source, scenario=scenario, corpus=corpus, language=language, where=where, columns=columns
        )
        sides.append(replace(scores, where=f"the table {side}") if scores.where == "table" else scores)
    old, new = sides
    _require_same_scoring(old, new)
    pairs, refusals = _paired(old, new, attributes, renamed or {}, recognizer)
    found = _judge(pairs, alpha, margin, seed)
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
        refusals=(*_too_few(found), *refusals),
        lead=_method(found),
        detail=found,
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
    old, new = _scored(before), _scored(after)
    matched = match_recognizers(before.recognizers, after.recognizers, renamed)
    if recognizer is not None:
        matched = choose_recognizers(matched, [recognizer] if isinstance(recognizer, str) else recognizer)
    groups, refusals = {}, []
    columns = {name: after.column(name) for name in dict.fromkeys(attributes)}
    for name, column in columns.items():
        try:
            after.comparable(name)
            groups[name] = after.frame[column].cast(pl.String)
        except RefusedError as error:
            refusals.append(error.refusal)
    about = after.frame.select(pl.col(*KEYS, "speaker").cast(pl.String))
    return pair_trials(old, new, about, groups, matched), refusals


def _scored(scores: Scores) -> pl.DataFrame:
    """Return KEYS, words and errors of the trials of one side that are scored; each must be there once."""
    scores.require(*KEYS, "speaker", "words")
    side = scores.frame.select(
        pl.col(KEYS).cast(pl.String), words=pl.lit(scores.counts("words")), errors=pl.lit(scores.errors())
    )
    side = side.filter(pl.col("words").is_not_nan() & pl.col("errors").is_not_nan())
    if side.is_empty():
        raise VoxauditError(
            f"{scores.where}: no scored trial: the corpus needs reference texts, or every trial failed"
        )
    if twice := side.filter(pl.struct(KEYS).is_duplicated()).head(1).to_dicts():
        utterance, scenario = (one_line(str(twice[0][name]), 60) for name in KEYS[:2])
        raise VoxauditError(
            f"{scores.where}: utterance '{utterance}' is there twice for one recognizer in scenario '{scenario}'"
        )
    return side.with_columns(pl.col("words", "errors").cast(pl.Int64))


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
    for run in (before, after):
        require_whole(run.folder, run.config)
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


# What changed in which slice


def _judge(pairs: PairedTrials, alpha: float, margin: float, seed: int) -> Comparison:
    sums = sum_slices(pairs)
    facts = sums.group_by(LABELS, maintain_order=True).agg(
        pl.col("trials", "words", "before", "after").sum(), speakers=(pl.col("words") > 0).sum()
    )
    limits = ratio_intervals(sums, LABELS, errors="change", confidence=0.95, seed=seed)
    able = [least_p(count) <= alpha for count in facts["speakers"]]
    tested = facts.filter(pl.Series(able, dtype=pl.Boolean)).select(LABELS).with_row_index("_condition")
    cells = speaker_cells(sums, tested, LABELS, ("change", "words"), "speaker")
    change, words = (matrix_of(cells, name, tested.height) for name in ("change", "words"))
    # Who is in no slice that can be tested would only make the flips longer.
    there = (words > 0).any(axis=1) | (change != 0).any(axis=1)
    change, words = change[there], words[there]
    flips = sign_flips(change, words, margin=margin, alpha=alpha, seed=seed)
    tests: dict[str, Any] = {"p": flips.p, "p_adjusted": flips.p_family, "noise": flips.band}
    if margin:
        # Beyond -margin upwards and beyond +margin downwards, each side at half of alpha, as a change is: no more than
        # alpha for any false claim of likeness.
        within = sign_flips(change, words, margin=-margin, alpha=alpha, seed=seed)
        tests["within"] = within.p_family_both
    by_slice = iter(zip(*(values.tolist() for values in tests.values()), strict=True))
    slices = []
    for row, limit, usable in zip(
        facts.iter_rows(named=True), limits.iter_rows(named=True), able, strict=True
    ):
        found = dict(zip(tests, next(by_slice), strict=True)) if usable else {}
        slices.append(_slice(row, limit, found, alpha))
    order = list(pairs.recognizers.values())
    return Comparison(
        slices=tuple(sorted(slices, key=lambda one: order.index(one.recognizer))),
        recognizers=pairs.recognizers,
        alpha=alpha,
        margin=margin,
        trials=pairs.table.height,
        only_before=pairs.only_before,
        only_after=pairs.only_after,
    )


def _slice(
    row: Mapping[str, Any], limit: Mapping[str, Any], found: Mapping[str, float], alpha: float
) -> Slice:
    words, old, new = row["words"], row["before"], row["after"]
    verdict: Verdict = "refused"
    if found:
        alike = found.get("within", 1.0) <= alpha
        verdict = "shown" if found["p_adjusted"] <= alpha else "alike" if alike else "not_shown"
    return Slice(
        **{name: row[name] for name in (*LABELS, "trials", "speakers", "words")},
        wer_before=old / words if words else None,
        wer_after=new / words if words else None,
        difference=(new - old) / words if words else None,
        low=limit["ci_low"],
        high=limit["ci_high"],
        noise=found.get("noise"),
        p=found.get("p"),
        p_adjusted=found.get("p_adjusted"),
        verdict=verdict,
    )


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
    sentence = f"Nothing is shown to have got worse in {slices}."
    if not found.judged:
        sentence = "No slice can be judged: too few speakers to ever show a change."
    elif worse:
        first = "; ".join(f"{one.recognizer} on {one.label}, {_points(one)}" for one in worse[:3])
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
    group = named(one.group) if one.attribute is not None else None
    old = before[one.recognizer]
    limits = [limit for limit in (one.low, one.high) if limit is not None]
    names = {
        "recognizer": one.recognizer,
        "scenario": one.scenario,
        "attribute": one.attribute,
        "group": group,
    }
    about: dict[str, Any] = {name: getattr(one, name) for name in _SAID} | names
    return Finding(
        id=finding_id("compare", *names.values(), "wer_difference"),
        measure="wer_difference",
        code="too_few_speakers" if one.verdict == "refused" else None,
        sentence=_sentence(one, found),
        estimate=one.difference,
        family=None if one.p is None else FAMILY,
        against=None if old == one.recognizer else old,
        utterances=one.trials,
        excludes=max(limits, key=abs) if one.verdict == "not_shown" and limits else None,
        headline=one.verdict == "shown",
        **about,
    )


_SAID = ("verdict", "low", "high", "p", "p_adjusted", "speakers", "words")


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
    return f"{signed(one.difference)} percentage points{signed_limits(one.low, one.high)}"


def _margin(found: Comparison) -> str:
    return f"{100 * found.margin:g} percentage points"


def _table(found: Comparison) -> Table:
    rows = [
        asdict(one)
        | {"slice": one.label, "outcome": one.outcome, "family": None if one.p is None else FAMILY}
        for one in found.slices
    ]
    columns = [
        *("recognizer", "slice", ("wer_before", "before", "percent"), ("wer_after", "after", "percent")),
        *(("difference", "change", "points", "low", "high"), ("noise", "noise ±", "percent")),
        *(("p_adjusted", "p adj.", "p"), ("outcome", "verdict"), "speakers"),
    ]
    title = "Word error rate before and after, and its change with a 95 % interval"
    return tabulate("slices", title, rows, columns)


def _figures(found: Comparison) -> list[Figure]:
    figures = []
    for name in found.recognizers.values():
        known = [one for one in found.slices if one.recognizer == name and one.difference is not None]
        if not known:
            continue
        rows = tuple(
            ForestRow(one.label, Cell(one.difference, one.low, one.high), one.verdict == "shown", one.outcome)
            for one in known
        )
        axis = "WER after minus before, in percentage points (right: worse)"
        id_ = "changes" if len(found.recognizers) == 1 else f"changes-{name}"
        worse, better = sum(one.worse for one in known), sum(one.better for one in known)
        alt = (
            f"Differences of WER between the two runs for {counted(len(known), 'slice')} with 95 % intervals;"
            f" {worse} shown to be worse, {better} better."
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


def _too_few(found: Comparison) -> list[Refusal]:
    few = [one for one in found.slices if one.verdict == "refused"]
    if not few:
        return []
    needed = next(count for count in range(1, 64) if least_p(count) <= found.alpha)
    most = max(one.speakers for one in few)
    about = listed(dict.fromkeys(one.label for one in few))
    text = (
        f"{'at most ' if len(few) > 1 else ''}{counted(most, 'speaker')}, and {needed} are needed to ever show a"
        f" change at the level {found.alpha:g}"
    )
    facts = {"slices": len(few), "of": len(found.slices), "speakers": most, "needed": needed}
    remedy = f"{needed} speakers or more, the same in both runs"
    return [Refusal("too_few_speakers", about, text, facts, remedy)]


def _method(found: Comparison) -> str:
    beyond = f" by more than {_margin(found)}" if found.margin else ""
    return (
        "Both runs heard the same utterances; trials are compared in pairs, and speakers are the sample. A slice is"
        f" called worse or better where it differs{beyond} beyond what flipping the signs of whole speakers' changes"
        f" explains; p-values hold for all {counted(found.judged, 'slice')} together. Two runs that differ only by"
        f" chance show a worse slice with probability {percent(found.alpha / 2)}. Noise is how far the slices of two"
        " such runs stray at most, all together; intervals are of one slice alone."
    )
