"""The sequential audit: hear speakers until every cell is settled, and say when and why each stopped.

Recognizers listen to a corpus and leave a run's folder with an incomplete grid; or a finished run is replayed, to see
what stopping early would have found and saved.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from voxaudit.answer import (
    Answer,
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
    command_line,
    finding_id,
    number_or_none,
    refuse,
    tabulate,
    with_command,
)
from voxaudit.answer import Cell as Drawn
from voxaudit.audits.audit import FILTERS, asks
from voxaudit.audits.hearing import corpus_to_hear, reading, write_found
from voxaudit.audits.scores import MOST_GROUPS, Filters, Scores, in_several_groups
from voxaudit.audits.sequential import RECORD
from voxaudit.corpus import Corpus
from voxaudit.corpus.select import require_attributes
from voxaudit.errors import VoxauditError
from voxaudit.options import ON_DEMAND, RunOptions, takes_options
from voxaudit.perturb import CLEAN
from voxaudit.perturb.sources import Source as NoiseSource
from voxaudit.recognize import AnswersById
from voxaudit.registry import unknown
from voxaudit.run.folder import Run, make_folder, read_config, write_config
from voxaudit.run.lock import hold
from voxaudit.run.order import Order, order_speakers
from voxaudit.run.plan import Plan
from voxaudit.run.progress import Progress
from voxaudit.run.runner import RecognizerLike, make_plan, prepare_folder
from voxaudit.run.session import Session
from voxaudit.run.store import TRANSCRIPT_COLUMNS, trace_of, transcript_row
from voxaudit.run.trial import Outcome
from voxaudit.score.normalize import normalizer as find_normalizer
from voxaudit.score.run import score_run
from voxaudit.score.speakers import Cell, listening, replaying
from voxaudit.score.table import score_columns
from voxaudit.stats.bootstrap import FEWEST_SPEAKERS
from voxaudit.stats.sequential import ALIKE, EXHAUSTED, HOPELESS, NARROW, SHOWN, Goal, Walk, walk
from voxaudit.tables import write_atomically
from voxaudit.wording import (
    counted,
    listed,
    not_excluded,
    percent,
    percent_interval,
    signed,
    signed_limits,
    speakers_of,
)

NAME, TITLE = "sequential", "Stopped early"
FAMILY = "cells"
ALL = "all"
"""The name of the one group where no attribute is given."""
FEW_PAIRS = 20
"""Pairs of speakers below which the price of looking often is higher than what stopping early can save."""
UNLIKE = 2.5
"""A ratio of spreads beyond which e-values are too large to be taken at their word (see docs/sequential.md)."""
STOPPED = {
    NARROW: "known precisely enough",
    SHOWN: "gap shown",
    ALIKE: "shown to be alike",
    HOPELESS: "out of reach",
    EXHAUSTED: "everybody heard",
}
"""Why a cell stopped, as people read it."""


@dataclass(frozen=True)
class Rate:
    """A cell's word error rate in a group; the limits hold at all looks together (none before 20 speakers)."""

    recognizer: str
    scenario: str
    group: str
    wer: float | None
    low: float | None
    high: float | None
    speakers: int
    stopped: str


@dataclass(frozen=True)
class Gap:
    """A group's word error rate less that of the group it is compared with, in a cell.

    `e_value` is the evidence against "there is no gap"; the limits hold every gap whose e-value is below 1/alpha.
    `spread_ratio` is the standard deviation of the group's speakers over that of the other's.
    """

    recognizer: str
    scenario: str
    group: str
    against: str
    gap: float | None
    low: float | None
    high: float | None
    e_value: float
    pairs: int
    stopped: str
    spread_ratio: float | None

    @property
    def verdict(self) -> Verdict:
        """The claim it stopped with; not shown where it made none."""
        return "shown" if self.stopped == SHOWN else "alike" if self.stopped == ALIKE else "not_shown"

    @property
    def doubtful(self) -> bool:
        """True where skewness can feign the gap: a few very bad speakers, not met yet, make a group look good."""
        if self.stopped != SHOWN or self.gap is None or not self.spread_ratio:
            return False
        return self.spread_ratio < 1.0 / UNLIKE if self.gap > 0 else self.spread_ratio > UNLIKE


@dataclass(frozen=True)
class Sequential:
    """What was found, as `sequential.json` keeps it. `trials` of the full `grid` were asked for.

    `groups` are the groups and their speakers, the one that others are compared with first; those with fewer than five
    speakers are `left_out`. `heard` took a recognizer's time now; `replayed` says that nothing was heard.
    """

    goal: Goal
    attribute: str | None
    groups: Mapping[str, int]
    left_out: tuple[str, ...]
    rates: tuple[Rate, ...]
    gaps: tuple[Gap, ...]
    trials: int
    grid: int
    replayed: bool
    question: Mapping[str, Any]
    heard: int = 0

    @property
    def pairs(self) -> int:
        """The fewest pairs of speakers that a comparison can have."""
        first, *others = self.groups.values()
        return min((min(first, other) for other in others), default=0)


@asks(NAME)
@takes_options("progress", *ON_DEMAND, more=FILTERS)
def sequential(
    source: Any,
    recognizers: Sequence[RecognizerLike] | Mapping[str, RecognizerLike] | None = None,
    *,
    attribute: str | None = None,
    against: str | None = None,
    precision: float | None = None,
    only_precision: bool = False,
    margin: float | None = 0.05,
    alpha: float = 0.05,
    each: bool = False,
    patient: bool = False,
    per_speaker: int | None = None,
    scenarios: Sequence[str] = ("quick",),
    out: str | Path | None = None,
    normalizer: str = "basic",
    sources: Mapping[str, NoiseSource | str | Path] | None = None,
    format: str | None = None,
    skip_bad_rows: bool = False,
    options: RunOptions | None = None,
    **given: Any,
) -> Answer:
    """Hear speaker after speaker and stop every cell (recognizer and scenario) as soon as it is settled.

    Where `recognizers` are named they hear `source`, a corpus or its path, under the `scenarios`. The folder `out`
    becomes a run's folder with an incomplete grid; the same call again resumes. Otherwise `source` is a finished run or
    a table of scores: it is replayed, as if it had been heard in this way, and the filters choose its rows. The folder
    of a run that stopped early, without anything to decide on, is read again.

    A cell is settled where its error rate is known to `precision` (the half-width of the interval, a share of words);
    and, for the groups of `attribute`, where their gap is shown, or shown to be within `margin` (a share of words), or
    can no longer be shown with the speakers left (unless `patient`); with `only_precision` that does not count.
    Groups are compared with `against` (default: the one with most speakers). Claims rest on e-values that hold at all
    looks together; `alpha` is the expected share of false ones over all cells (e-BH, Wang and Ramdas 2022) or, with
    `each`, the chance of one in each cell. `per_speaker` hears so many utterances of each speaker at most, drawn at
    random. The options of `RunOptions` can be given together as `options`, and some by their names (`workers=2`).

    >>> import polars as pl
    >>> rows = [{"speaker": f"{g}{n}", "group": g, "words": 100, "errors": n % 4 + 30 * (g == "b")}
    ...         for g in "ab" for n in range(30)]
    >>> table = pl.DataFrame(rows).with_columns(
    ...     utterance="speaker", scenario=pl.lit("clean"), recognizer=pl.lit("mine"))
    >>> gap = sequential(table, attribute="group").finding("sequential/mine/clean/group/b/wer_gap")
    >>> gap.verdict, gap.speakers < 30
    ('shown', True)
    """
    filters: Filters = {one.name: given.pop(one.name) for one in FILTERS if one.name in given}  # type: ignore[assignment]
    options = RunOptions.of(options, **given)
    options.require_on_demand()
    kept = _kept(source)
    if recognizers is None and kept is not None and attribute is None and precision is None:
        return _answer(_read(kept))
    goal = Goal(precision, attribute is not None and not only_precision, margin, alpha, not each, not patient)
    asked: dict[str, Any] = {"attribute": attribute, "against": against, "per_speaker": per_speaker}
    if recognizers is None:
        _require_scores(source)
        scores = Scores.of(source, **filters)
        answer = _answer(_replay(scores, goal, seed=options.seed, **asked))
        early = "this run was stopped early itself: what it did not hear is missing here"
        notes = [Note("stopped_early", early)] if kept is not None else []
        notes += [Note("filter", text) for text in scores.notes]
        return replace(answer, notes=(*answer.notes, *notes))
    if out is None:
        raise VoxauditError("name a folder for what is heard", see=("out",))
    heard = corpus_to_hear(source, format=format, columns=filters.get("columns"), skip_bad_rows=skip_bad_rows)
    plan, not_heard = make_plan(heard, recognizers, scenarios, sources=sources, seed=options.seed)
    question = {
        **asked,
        **{"recognizers": list(plan.recognizers), "scenarios": [one.id for one in plan.scenarios]},
        **{"precision": precision, "only_precision": only_precision, "margin": margin, "alpha": alpha},
        **{"each": each, "patient": patient, "normalizer": normalizer, "seed": options.seed},
    }
    count = _hear(heard, plan, not_heard, Path(out), goal, normalizer, options, question)
    answer = _answer(replace(_read(Path(out)), heard=count))
    written = f"written to {out}: {RECORD}, scores.parquet, transcripts.parquet, run.json"
    notes = [Note("written", written, {"folder": str(out)})]
    answer = with_command(answer, command_line(NAME, ["RUN"], {}))
    return replace(answer, notes=(*answer.notes, *notes))


def _kept(source: Any) -> Path | None:
    """Return the folder of a run that stopped early; None where the source is none."""
    folder = source.folder if isinstance(source, Run | Scores) else source
    if isinstance(folder, str | Path) and (Path(folder) / RECORD).is_file():
        return Path(folder)
    return None


def _require_scores(source: Any) -> None:
    if isinstance(source, Corpus):
        raise VoxauditError("name the recognizers that hear this corpus", see=("recognizers",))
    if isinstance(source, str | Path) and Path(source).suffix == ".toml" and Path(source).is_file():
        raise VoxauditError(
            f"{source}: `voxaudit run` hears what such a file asks for, and can stop early too"
        )


# Who is heard


def plan_order(
    table: pl.DataFrame,
    attribute: str | None,
    *,
    where: str,
    seed: int = 0,
    against: str | None = None,
    per_speaker: int | None = None,
) -> Order:
    """Return the order for a table of utterances: id, speaker, words (of the reference), group (of the attribute).

    Groups are compared with the one that has most speakers unless `against` names another. A speaker in several groups
    is refused; utterances without a group or without words take no part. With `per_speaker`, so many utterances of
    each are drawn.
    """
    if per_speaker is not None and per_speaker < 1:
        raise VoxauditError(f"per_speaker must be at least 1, not {per_speaker}", see=("per_speaker",))
    if table["speaker"].null_count() == table.height:
        raise refuse(
            "no_speakers",
            "no utterance has a speaker. Stopping early needs a speaker column: speakers are the sample",
            about=where,
        )
    group = pl.lit(ALL) if attribute is None else pl.col("group").cast(pl.String)
    known = table.with_columns(group=group).filter(
        pl.col("speaker").is_not_null() & (pl.col("words") > 0) & pl.col("group").is_not_null()
    )
    people = known.select("speaker", "group").unique()
    if twice := people.filter(pl.col("speaker").is_duplicated())["speaker"].sort().to_list():
        raise RefusedError(in_several_groups(twice, str(attribute), where))
    sizes = dict(people.group_by("group").len().sort(["len", "group"], descending=[True, False]).rows())
    names = _compared(sizes, attribute, against, where)
    order = order_speakers(known, names, seed=seed, per_speaker=per_speaker)
    return replace(order, left_out=tuple(name for name in sizes if name not in names))


def _compared(
    sizes: dict[str, int], attribute: str | None, against: str | None, where: str
) -> tuple[str, ...]:
    """Return the groups that are compared, the one they are compared with first."""
    if not sizes:
        raise VoxauditError(f"{where}: no utterance has a speaker, a reference text with words and a group")
    if against is not None and against not in sizes:
        raise unknown(f"{where}: no speaker has {attribute}", against, sizes, "against")
    large = [name for name, count in sizes.items() if count >= FEWEST_SPEAKERS]
    if attribute is None and not large:
        text = f"{sizes[ALL]} speakers; at least {FEWEST_SPEAKERS} are needed"
        raise refuse("too_few_speakers", text, about=where, speakers=sizes[ALL], needed=FEWEST_SPEAKERS)
    if attribute is not None and (len(large) < 2 or (against or large[0]) not in large):
        counts = ", ".join(f"{name} ({count})" for name, count in sizes.items())
        raise refuse(
            "too_few_speakers" if len(sizes) > 1 else "one_group",
            f"speakers by '{attribute}': {counts}. A comparison needs two groups of at least {FEWEST_SPEAKERS} speakers"
            " each: merge small ones or choose another attribute",
            about=where,
            see=("attribute",),
            groups=sizes,
            needed=FEWEST_SPEAKERS,
        )
    if len(large) > MOST_GROUPS:
        text = (
            f"{attribute} has {len(large):,} groups, more than the {MOST_GROUPS} that are compared one by one"
        )
        raise refuse("too_many_groups", text, about=where, see=("attribute",), groups=len(large))
    first = against or large[0]
    return (first, *(name for name in large if name != first))


# Replaying and hearing


def _replay(
    scores: Scores,
    goal: Goal,
    *,
    attribute: str | None,
    against: str | None,
    per_speaker: int | None,
    seed: int,
) -> Sequential:
    """Return what a finished run would have found, and heard, had it stopped early."""
    scores.require("utterance", "speaker", "scenario", "recognizer", "words")
    group = [] if attribute is None else [pl.col(scores.column(attribute)).alias("group")]
    names = pl.col("recognizer", "scenario", "utterance", "speaker").cast(pl.String)
    numbers = {"errors": pl.Series(scores.errors()), "words": pl.Series(scores.counts("words"))}
    counts = scores.frame.select(names, *group).with_columns(**numbers)
    counts = counts.filter(pl.col("words").is_not_nan() & pl.col("errors").is_not_nan())
    sums = counts.group_by("recognizer", "scenario", maintain_order=True).agg(pl.col("words").sum())
    cells = [(name, scenario) for name, scenario, words in sums.iter_rows() if words > 0]
    if not cells:
        raise refuse("no_references", "no scored words", about=scores.where)
    about = [pl.col(name).first() for name in ("speaker", *(["group"] if attribute else []))]
    table = counts.group_by(id="utterance", maintain_order=True).agg(*about, pl.col("words").max())
    order = plan_order(
        table, attribute, where=scores.where, seed=seed, against=against, per_speaker=per_speaker
    )
    walked = walk(len(cells), order, goal, replaying(counts, cells, order))
    return _found(walked, cells, order, goal, attribute, {})


def _hear(
    corpus: Corpus,
    plan: Plan,
    not_heard: Mapping[str, str],
    out: Path,
    goal: Goal,
    normalizer: str,
    options: RunOptions,
    question: Mapping[str, Any],
) -> int:
    """Hear a corpus until every cell is settled, leave a run's folder that says so, and return what was heard now."""
    rule, attribute = find_normalizer(normalizer), question["attribute"]
    _check(plan)
    require_attributes(corpus, [attribute] if attribute else [], "attribute")
    spoken = corpus.table.filter(pl.col("text").is_not_null())
    group = [] if attribute is None else [pl.col(attribute).alias("group")]
    words = score_columns(spoken["text"], spoken["text"], rule)["words"]
    order = plan_order(
        spoken.select("id", "speaker", *group).with_columns(words.alias("words")),
        attribute,
        where=corpus.source or corpus.name,
        seed=options.seed,
        against=question["against"],
        per_speaker=question["per_speaker"],
    )
    cells = [(name, scenario.id) for name in plan.recognizers for scenario in plan.scenarios]
    chosen = {id_ for ids in order.utterances for id_ in ids}
    utterances = {utterance.id: utterance for utterance in corpus if utterance.id in chosen}
    by_id = {scenario.id: scenario for scenario in plan.scenarios}
    folder = make_folder(out)
    with hold(folder):
        prepare_folder(folder, plan, not_heard)
    rows: list[tuple[object, ...]] = []
    with (
        Session(folder, plan.recognizers, by_id, options) as session,
        Progress(options.progress) as bars,
    ):
        bars.begin("trials, at most", len(chosen) * len(cells))

        def said(name: str, outcomes: Sequence[Outcome]) -> None:
            for one in outcomes:
                answer = (*transcript_row(one.transcript), one.seconds, one.failure, trace_of(one.transcript))
                rows.append((one.trial.utterance, one.trial.scenario, name, *answer))
            bars.advance(len(outcomes), heard=True)

        walked = walk(len(cells), order, goal, listening(session, cells, order, utterances, rule, said))
    found = _found(walked, cells, order, goal, attribute, question, replayed=False)
    transcripts = pl.DataFrame(rows, schema=TRANSCRIPT_COLUMNS, orient="row")
    with hold(folder):
        write_atomically(folder / "transcripts.parquet", transcripts.write_parquet)
        score_run(Run(folder), normalizer)
        write_config(folder, {**read_config(folder), "sequential": _incomplete(found)})
        write_found(folder / RECORD, found)
    return session.heard


def _check(plan: Plan) -> None:
    for name, recognizer in plan.recognizers.items():
        if isinstance(recognizer, AnswersById):
            raise VoxauditError(
                f"recognizer '{name}' only looks up transcripts: there is nothing to save."
                " Score them with `voxaudit score`"
            )
    for scenario in plan.scenarios:
        if scenario.perturbation is not None and not scenario.perturbation.speech:
            raise VoxauditError(
                f"scenario '{scenario.id}' leaves no speech, so there is no error rate to wait for. Leave it out",
                see=("scenarios",),
            )


def _found(
    walked: Walk,
    cells: Sequence[Cell],
    order: Order,
    goal: Goal,
    attribute: str | None,
    question: Mapping[str, Any],
    *,
    replayed: bool = True,
) -> Sequential:
    """Return the rates and gaps that the rounds found, and what they cost."""
    rates, gaps = [], []
    wer, (lows, highs) = walked.rates.rate(), walked.rates.limits()
    e_values, spreads = walked.gaps.log_shown(), walked.rates.spread()
    contrasts = walked.gap_stops.shape[1]
    for c, cell in enumerate(cells):
        for g, name in enumerate(order.names):
            # Before there is an upper limit the lower one says nothing.
            limits = (lows[c, g], highs[c, g]) if math.isfinite(highs[c, g]) else (None, None)
            value, low, high = map(number_or_none, (wer[c, g], *limits))
            speakers, stopped = int(walked.rates.n[c, g]), str(walked.rate_stops[c, g])
            rates.append(Rate(*cell, name, value, low, high, speakers, stopped))
        for k in range(contrasts):
            row = c * contrasts + k
            pairs = int(walked.gaps.n[row])
            gap = walked.gaps.mean[row] if pairs else None
            ratio = spreads[c, k + 1] / spreads[c, 0] if spreads[c, 0] > 0 else None
            value, low, high, unlike = map(number_or_none, (gap, *walked.gaps.limits(row), ratio))
            e_value, stopped = math.exp(min(float(e_values[row]), 700.0)), str(walked.gap_stops[c, k])
            groups = order.names[k + 1], order.names[0]
            gaps.append(Gap(*cell, *groups, value, low, high, e_value, pairs, stopped, unlike))
    times = walked.heard.sum(axis=0).tolist()
    return Sequential(
        goal=goal,
        attribute=attribute,
        groups={name: len(members) for name, members in zip(order.names, order.groups, strict=True)},
        left_out=order.left_out,
        rates=tuple(rates),
        gaps=tuple(gaps),
        trials=sum(len(ids) * count for ids, count in zip(order.utterances, times, strict=True)),
        grid=sum(order.said) * len(cells),
        replayed=replayed,
        question={**question, "against": None if attribute is None else order.names[0]},
    )


def _incomplete(found: Sequential) -> dict[str, object]:
    """Return what `run.json` says about an incomplete grid."""
    stopped = [
        {name: getattr(one, name) for name in ("recognizer", "scenario", "group")}
        | {"goal": goal, "stopped": one.stopped}
        for goal, some in (("precision", found.rates), ("decide", found.gaps))
        for one in some
        if one.stopped
    ]
    return {"trials": found.trials, "grid": found.grid, "stopped": stopped}


def _read(folder: Path) -> Sequential:
    """Return what a folder keeps; one that is damaged, or of another version, is refused."""
    with reading(folder / RECORD, "a run that stopped early", str(folder)):
        kept = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        return Sequential(
            goal=Goal(**kept["goal"]),
            attribute=kept["attribute"],
            groups={str(name): int(count) for name, count in kept["groups"].items()},
            left_out=tuple(kept["left_out"]),
            rates=tuple(Rate(**one) for one in kept["rates"]),
            gaps=tuple(Gap(**one) for one in kept["gaps"]),
            trials=int(kept["trials"]),
            grid=int(kept["grid"]),
            replayed=bool(kept["replayed"]),
            question=dict(kept["question"]),
        )


# What is said of it


def _answer(found: Sequential) -> Answer:
    tables = [_gap_table(found)] if found.gaps else []
    # Rates are what was asked for only where a precision was; else they are on the way to the gaps.
    tables.append(_rate_table(found, folded=bool(found.gaps) and found.goal.precision is None))
    refusals: tuple[Refusal, ...] = ()
    if found.left_out:
        text = f"left out, fewer than {FEWEST_SPEAKERS} speakers: {listed(found.left_out)}"
        facts = {"groups": list(found.left_out), "needed": FEWEST_SPEAKERS}
        refusals = (Refusal("too_few_speakers", str(found.attribute), text, facts),)
    return Answer(
        audit=NAME,
        title=TITLE,
        question=found.question,
        findings=(
            _cost(found),
            *(_gap_finding(gap, found) for gap in found.gaps),
            *(_rate_finding(rate, found) for rate in found.rates),
        ),
        tables=Tables(tables),
        figures=_figures(found),
        notes=tuple(_notes(found)),
        refusals=refusals,
        lead=(
            "Speakers are heard one after another, and a cell (a recognizer under a scenario) stops as soon as its"
            " answer is settled. The evidence holds however often one looks and whatever made a cell stop."
        ),
        detail=found,
    )


def _cost(found: Sequential) -> Finding:
    saved = f", which saves {percent(1.0 - found.trials / found.grid)}" if found.trials else ""
    done = "needed" if found.replayed else "heard"
    return Finding(
        id=finding_id(NAME, "trials"),
        measure="trials",
        verdict="measured",
        sentence=f"{found.trials:,} of the {found.grid:,} trials of the full grid were {done}{saved}.",
        estimate=float(found.trials),
        unit="count",
        headline=True,
    )


def _finding(measure: str, one: Rate | Gap, found: Sequential, **more: Any) -> Finding:
    group = None if found.attribute is None else one.group
    names = {
        "recognizer": one.recognizer,
        "scenario": one.scenario,
        "attribute": found.attribute,
        "group": group,
    }
    more |= {**names, "low": one.low, "high": one.high, "level": 1.0 - found.goal.alpha}
    return Finding(id=finding_id(NAME, *names.values(), measure), measure=measure, **more)


def _gap_finding(gap: Gap, found: Sequential) -> Finding:
    limits = [limit for limit in (gap.low, gap.high) if limit is not None]
    excludes = max(limits, key=abs) if gap.verdict == "not_shown" and limits else None
    return _finding(
        "wer_gap",
        gap,
        found,
        verdict=gap.verdict,
        sentence=_gap_sentence(gap, found, excludes),
        estimate=gap.gap,
        family=FAMILY if found.goal.fdr else None,
        against=gap.against,
        speakers=gap.pairs,
        speakers_against=gap.pairs,
        excludes=excludes,
    )


def _gap_sentence(gap: Gap, found: Sequential, excludes: float | None) -> str:
    name, where = gap.recognizer, _where(gap.scenario)
    group, against = speakers_of(gap.group, found.attribute), speakers_of(gap.against)
    both = f"{gap.group} and {speakers_of(gap.against, found.attribute)}"
    pairs = f"{counted(gap.pairs, 'pair')} of speakers"
    if gap.gap is None:
        return f"Nothing could be heard of pairs of {both} for {name} {where}."
    limits = signed_limits(gap.low, gap.high)
    if gap.stopped == SHOWN:
        size = f"{100 * abs(gap.gap):.1f} percentage points {'more' if gap.gap > 0 else 'fewer'} words wrong"
        return f"{name} gets {size} for {group} than for {against} {where}{limits}, shown after {pairs}."
    size = f"{signed(gap.gap)} percentage points{limits} after {pairs}"
    if gap.stopped == ALIKE:
        within = f"within {100 * (found.goal.margin or 0.0):g} percentage points"
        return f"{name} serves {both} alike {where}, {within}: {size}."
    why = "a verdict is out of reach" if gap.stopped == HOPELESS else "nobody is left to hear"
    none = f"No gap between {both} is shown for {name} {where}, nor that there is none"
    return f"{none}: {size}; {not_excluded(excludes, 'one')}; {why}."


def _where(scenario: str) -> str:
    return "on clean speech" if scenario == CLEAN else f"under {scenario}"


def _rate_finding(rate: Rate, found: Sequential) -> Finding:
    of = "" if found.attribute is None else f" of {speakers_of(rate.group, found.attribute)}"
    value, people = percent_interval(rate.wer, rate.low, rate.high), counted(rate.speakers, "speaker")
    sentence = f"{rate.recognizer} gets {value} of the words{of} wrong {_where(rate.scenario)}, {people}."
    more = {"verdict": "measured", "sentence": sentence, "estimate": rate.wer, "speakers": rate.speakers}
    return _finding("wer", rate, found, **more)


def _gap_table(found: Sequential) -> Table:
    family = FAMILY if found.goal.fdr else None
    rows = [
        {**asdict(gap), "attribute": found.attribute, "verdict": gap.verdict, "family": family}
        | {"why": STOPPED.get(gap.stopped, gap.stopped)}
        for gap in found.gaps
    ]
    columns = (
        "recognizer; scenario; group; gap[low,high]: gap, points; e_value: e-value, number;"
        " pairs: pairs of speakers, count; why: stopped; verdict"
    )
    title = f"Gaps against {next(iter(found.groups))}, in percentage points ({_level(found)})"
    return tabulate("gaps", title, rows, columns)


def _rate_table(found: Sequential, *, folded: bool) -> Table:
    rows = [
        {**asdict(rate), "attribute": found.attribute, "why": STOPPED.get(rate.stopped, rate.stopped or "-")}
        for rate in found.rates
    ]
    columns = ["recognizer", "scenario", "group", "wer[low,high]", "speakers", ("why", "stopped")]
    return tabulate("error_rates", f"Word error rates ({_level(found)})", rows, columns, folded=folded)


def _level(found: Sequential) -> str:
    return f"{100 * (1 - found.goal.alpha):g} % at all looks together"


def _figures(found: Sequential) -> tuple[Figure, ...]:
    known = [gap for gap in found.gaps if gap.gap is not None]
    if not known:
        return ()
    first, shown = next(iter(found.groups)), sum(gap.stopped == SHOWN for gap in known)
    rows = [
        ForestRow(
            f"{gap.recognizer}, {gap.scenario}, {gap.group}",
            Drawn(gap.gap, gap.low, gap.high),
            gap.stopped == SHOWN,
            STOPPED.get(gap.stopped, ""),
        )
        for gap in known
    ]
    title, axis = (
        f"Gaps against {first} when each cell stopped",
        "gap of word error rates in percentage points",
    )
    alt = f"Gaps of word error rates against {first} in {counted(len(known), 'cell')}; {shown} are shown."
    return (Figure("gaps", title, alt, Forest(tuple(rows), axis, no_difference=0.0, log=False), "gaps"),)


def _notes(found: Sequential) -> list[Note]:
    notes = []
    if found.gaps and found.pairs < FEW_PAIRS:
        text = f"with {found.pairs} pairs of speakers little can be shown early; a test of all at once would show more"
        notes.append(Note("few_pairs", text, {"pairs": found.pairs}))
    doubtful = [f"{gap.recognizer} {gap.scenario}" for gap in found.gaps if gap.doubtful]
    if doubtful:
        text = (
            f"doubtful: {', '.join(doubtful)}. Speakers of the better group differ among themselves over {UNLIKE:g}"
            " times as much as those of the worse; false alarms of this kind are two to four times as many as promised"
        )
        notes.append(Note("doubtful", text, {"cells": doubtful}))
    return notes
