"""The sequential audit: hear speakers until every cell is settled, and say when and why each stopped.

Recognizers listen to a corpus and leave a run's folder with an incomplete grid; or a finished run is replayed, to see
what stopping early would have found and saved.
"""

from __future__ import annotations

import json
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
    Table,
    Tables,
    command_line,
    finding_id,
    refuse,
    tabulate,
)
from voxaudit.answer import (
    Cell as Drawn,
)
from voxaudit.audits.audit import asks
from voxaudit.audits.hearing import corpus_to_hear
from voxaudit.audits.scores import Names, Scores
from voxaudit.audits.sequential import RECORD
from voxaudit.audits.sequential.order import Cell, Order, plan_order
from voxaudit.audits.sequential.rounds import (
    ALIKE,
    HOPELESS,
    SHOWN,
    UNLIKE,
    Gap,
    Goal,
    Rate,
    Walk,
    summarize,
    walk,
)
from voxaudit.audits.sequential.sources import cells_of, counts_of, listening, replaying, utterances_of
from voxaudit.corpus import Corpus
from voxaudit.errors import VoxauditError, one_line
from voxaudit.options import ON_DEMAND, RunOptions, takes_options
from voxaudit.perturb import CLEAN, Scenario
from voxaudit.perturb.sources import Source as NoiseSource
from voxaudit.recognize import AnswersById
from voxaudit.run.folder import Run, make_folder, read_config, write_config
from voxaudit.run.lock import hold
from voxaudit.run.plan import Plan
from voxaudit.run.progress import Progress
from voxaudit.run.runner import RecognizerLike, make_plan, prepare_folder
from voxaudit.run.session import Session
from voxaudit.run.store import TRANSCRIPT_COLUMNS, transcript_row
from voxaudit.run.trial import Outcome
from voxaudit.score.normalize import normalizer as find_normalizer
from voxaudit.score.run import score_run
from voxaudit.stats.bootstrap import FEWEST_SPEAKERS
from voxaudit.tables import write_atomically
from voxaudit.wording import counted, listed, percent_interval

NAME, TITLE = "sequential", "Stopped early"
FAMILY = "cells"
FEW_PAIRS = 20
"""Pairs of speakers below which the price of looking often is higher than what stopping early can save."""
STOPPED = {
    "narrow": "known precisely enough",
    "shown": "gap shown",
    "alike": "shown to be alike",
    "hopeless": "out of reach",
    "exhausted": "everybody heard",
}
"""Why a cell stopped, as people read it."""


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
@takes_options("progress", *ON_DEMAND)
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
    recognizer: Names = None,
    scenario: Names = None,
    corpus: Names = None,
    language: Names = None,
    where: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
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
    options = RunOptions.of(options, **given)
    options.require_on_demand()
    kept = _kept(source)
    if recognizers is None and kept is not None and attribute is None and precision is None:
        return _answer(_read(kept))
    decide = attribute is not None and not only_precision
    goal = Goal(precision, decide, margin, alpha, fdr=not each, give_up=not patient)
    asked: dict[str, Any] = {"attribute": attribute, "against": against, "per_speaker": per_speaker}
    if recognizers is None:
        _require_scores(source)
        scores = Scores.of(
            source,
            recognizer=recognizer,
            scenario=scenario,
            corpus=corpus,
            language=language,
            where=where,
            columns=columns,
        )
        found = _replay(scores, goal, options.seed, **asked)
        stopped = (
            [Note("stopped_early", "this run was stopped early itself: what it did not hear is missing here")]
            if kept is not None
            else []
        )
        answer = _answer(found)
        filtered = [Note("filter", text) for text in scores.notes]
        return replace(answer, notes=(*answer.notes, *stopped, *filtered))
    if out is None:
        raise VoxauditError("name a folder for what is heard", see=("out",))
    heard = corpus_to_hear(source, format=format, columns=columns, skip_bad_rows=skip_bad_rows)
    plan, not_heard = make_plan(heard, recognizers, scenarios, sources=sources, seed=options.seed)
    question = {
        **asked,
        "recognizers": list(plan.recognizers),
        "scenarios": [one.id for one in plan.scenarios],
        "precision": precision,
        "only_precision": only_precision,
        "margin": margin,
        "alpha": alpha,
        "each": each,
        "patient": patient,
        "normalizer": normalizer,
        "seed": options.seed,
    }
    found = _hear(heard, plan, not_heard, Path(out), goal, normalizer, options, question, **asked)
    answer = _answer(replace(_read(Path(out)), heard=found.heard))
    command = command_line(NAME, ["RUN"], {})
    written = f"written to {out}: {RECORD}, scores.parquet, transcripts.parquet, run.json"
    return replace(
        answer,
        findings=tuple(replace(one, command=command) for one in answer.findings),
        notes=(*answer.notes, Note("written", written, {"folder": str(out)})),
    )


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


# Replaying and hearing


def _replay(
    scores: Scores,
    goal: Goal,
    seed: int,
    *,
    attribute: str | None,
    against: str | None,
    per_speaker: int | None,
) -> Sequential:
    """Return what a finished run would have found, and heard, had it stopped early."""
    counts = counts_of(scores, attribute)
    cells = cells_of(counts)
    if not cells:
        raise refuse("no_references", "no scored words", about=scores.where)
    table = counts.group_by("utterance", maintain_order=True).agg(
        pl.col("speaker").first(), pl.col("words").max(), *([pl.col("group").first()] if attribute else [])
    )
    order = plan_order(
        table.rename({"utterance": "id"}),
        attribute,
        where=scores.where,
        seed=seed,
        against=against,
        per_speaker=per_speaker,
    )
    walked = walk(len(cells), order, goal, replaying(counts, cells, order))
    return _found(walked, cells, order, goal, replayed=True, question={"against": _first(order)})


def _hear(
    corpus: Corpus,
    plan: Plan,
    not_heard: Mapping[str, str],
    out: Path,
    goal: Goal,
    normalizer: str,
    options: RunOptions,
    question: Mapping[str, Any],
    *,
    attribute: str | None,
    against: str | None,
    per_speaker: int | None,
) -> Sequential:
    """Hear a corpus until every cell is settled, and leave a run's folder that says so."""
    rule = find_normalizer(normalizer)
    _check(plan)
    order = plan_order(
        utterances_of(corpus, rule, attribute),
        attribute,
        where=corpus.source or corpus.name,
        seed=options.seed,
        against=against,
        per_speaker=per_speaker,
    )
    cells = [Cell(name, scenario.id) for name in plan.recognizers for scenario in plan.scenarios]
    chosen = {id_ for ids in order.utterances for id_ in ids}
    utterances = {utterance.id: utterance for utterance in corpus if utterance.id in chosen}
    by_id: dict[str, Scenario] = {scenario.id: scenario for scenario in plan.scenarios}
    folder = make_folder(out)
    with hold(folder):
        prepare_folder(folder, plan, not_heard)
    with (
        Session(folder, plan.recognizers, by_id, options) as session,
        Progress(options.progress) as bars,
    ):
        rows: list[tuple[object, ...]] = []
        bars.begin("trials, at most", len(chosen) * len(cells))

        def said(name: str, outcomes: Sequence[Outcome]) -> None:
            rows.extend(outcome_row(name, outcome) for outcome in outcomes)
            bars.advance(len(outcomes), heard=True)

        walked = walk(len(cells), order, goal, listening(session, cells, order, utterances, rule, said))
        heard = session.heard
    found = _found(
        walked, cells, order, goal, replayed=False, question={**question, "against": _first(order)}
    )
    transcripts = pl.DataFrame(rows, schema=TRANSCRIPT_COLUMNS, orient="row")
    with hold(folder):
        write_atomically(folder / "transcripts.parquet", transcripts.write_parquet)
        score_run(Run(folder), normalizer)
        write_config(folder, {**read_config(folder), "sequential": _incomplete(found)})
        _write(folder, found)
    return replace(found, heard=heard)


def outcome_row(recognizer: str, outcome: Outcome) -> tuple[object, ...]:
    """Return a row of the `transcripts` table."""
    trial = outcome.trial
    said = transcript_row(outcome.transcript)
    return (trial.utterance, trial.scenario, recognizer, *said, outcome.seconds, outcome.failure)


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


def _first(order: Order) -> str | None:
    return order.names[0] if order.attribute is not None else None


def _found(
    walked: Walk,
    cells: Sequence[Cell],
    order: Order,
    goal: Goal,
    *,
    replayed: bool,
    question: Mapping[str, Any],
) -> Sequential:
    rates, gaps = summarize(walked, cells, order, goal)
    trials = sum(
        len(ids) * int(count) for ids, count in zip(order.utterances, walked.heard.sum(axis=0), strict=True)
    )
    return Sequential(
        goal=goal,
        attribute=order.attribute,
        groups={name: len(members) for name, members in zip(order.names, order.groups, strict=True)},
        left_out=order.left_out,
        rates=rates,
        gaps=gaps,
        trials=trials,
        grid=sum(order.said) * len(cells),
        replayed=replayed,
        question=question,
    )


# What is kept in the folder


def _incomplete(found: Sequential) -> dict[str, object]:
    """Return what `run.json` says about an incomplete grid."""
    return {
        "trials": found.trials,
        "grid": found.grid,
        "stopped": [
            {
                "recognizer": one.recognizer,
                "scenario": one.scenario,
                "group": one.group,
                "goal": goal,
                "stopped": one.stopped,
            }
            for goal, some in (("precision", found.rates), ("decide", found.gaps))
            for one in some
            if one.stopped
        ],
    }


def _write(folder: Path, found: Sequential) -> None:
    document = asdict(found)
    del document["heard"]
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    write_atomically(folder / RECORD, lambda path: path.write_text(text, encoding="utf-8"))


def _read(folder: Path) -> Sequential:
    """Return what a folder keeps; one that is damaged, or of another version, is refused."""
    try:
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
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        text = f"{RECORD} cannot be read ({one_line(error, 100)})"
        raise refuse("unreadable", text, about=str(folder)) from error


# What is said of it


def _answer(found: Sequential) -> Answer:
    tables = [_gap_table(found)] if found.gaps else []
    # Rates are what was asked for only where a precision was; else they are on the way to the gaps.
    tables.append(_rate_table(found, folded=bool(found.gaps) and found.goal.precision is None))
    left_out = (
        Refusal(
            "too_few_speakers",
            str(found.attribute),
            f"left out, fewer than {FEWEST_SPEAKERS} speakers: {listed(found.left_out)}",
            {"groups": list(found.left_out), "needed": FEWEST_SPEAKERS},
        ),
    )
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
        refusals=left_out if found.left_out else (),
        lead=(
            "Speakers are heard one after another, and a cell (a recognizer under a scenario) stops as soon as its"
            " answer is settled. The evidence holds however often one looks and whatever made a cell stop."
        ),
        detail=found,
    )


def _cost(found: Sequential) -> Finding:
    times = f": {found.grid / found.trials:.1f} times fewer" if found.trials else ""
    done = "needed" if found.replayed else "heard"
    return Finding(
        id=finding_id(NAME, "trials"),
        measure="trials",
        verdict="measured",
        sentence=f"{found.trials:,} of the {found.grid:,} trials of the full grid were {done}{times}.",
        estimate=float(found.trials),
        unit="count",
        headline=True,
    )


def _gap_finding(gap: Gap, found: Sequential) -> Finding:
    limits = [limit for limit in (gap.low, gap.high) if limit is not None]
    return Finding(
        id=finding_id(NAME, gap.recognizer, gap.scenario, found.attribute, gap.group, "wer_gap"),
        measure="wer_gap",
        verdict=gap.verdict,
        sentence=_gap_sentence(gap, found),
        estimate=gap.gap,
        low=gap.low,
        high=gap.high,
        level=1.0 - found.goal.alpha,
        family=FAMILY if found.goal.fdr else None,
        recognizer=gap.recognizer,
        scenario=gap.scenario,
        attribute=found.attribute,
        group=gap.group,
        against=gap.against,
        speakers=gap.pairs,
        speakers_against=gap.pairs,
        excludes=max(limits, key=abs) if gap.verdict == "not_shown" and limits else None,
    )


def _gap_sentence(gap: Gap, found: Sequential) -> str:
    where = "on clean speech" if gap.scenario == CLEAN else f"under {gap.scenario}"
    group, pairs = f"{gap.group} ({found.attribute})", f"{counted(gap.pairs, 'pair')} of speakers"
    if gap.gap is None:
        return f"Nothing could be heard of pairs of {group} and {gap.against} for {gap.recognizer} {where}."
    limits = "" if gap.low is None or gap.high is None else f" ({_signed(gap.low)} to {_signed(gap.high)})"
    if gap.stopped == SHOWN:
        return (
            f"{gap.recognizer} gets {100 * abs(gap.gap):.1f} percentage points {'more' if gap.gap > 0 else 'fewer'}"
            f" words wrong for {group} than for {gap.against} {where}{limits}, shown after {pairs}."
        )
    size = f"{_signed(gap.gap)} percentage points{limits} after {pairs}"
    if gap.stopped == ALIKE:
        margin = 100 * (found.goal.margin or 0.0)
        return (
            f"{gap.recognizer} serves {group} and {gap.against} alike {where}, within {margin:g} percentage points:"
            f" {size}."
        )
    why = "a verdict is out of reach" if gap.stopped == HOPELESS else "nobody is left to hear"
    return (
        f"No gap between {group} and {gap.against} is shown for {gap.recognizer} {where}, nor that there is none:"
        f" {size}; {why}."
    )


def _signed(fraction: float) -> str:
    text = f"{100 * fraction:+.1f}"
    return "0.0" if text[1:] == "0.0" else text


def _rate_finding(rate: Rate, found: Sequential) -> Finding:
    where = "on clean speech" if rate.scenario == CLEAN else f"under {rate.scenario}"
    group = None if found.attribute is None else rate.group
    of = "" if group is None else f" of {group} ({found.attribute})"
    value = percent_interval(rate.wer, rate.low, rate.high)
    return Finding(
        id=finding_id(NAME, rate.recognizer, rate.scenario, found.attribute, group, "wer"),
        measure="wer",
        verdict="measured",
        sentence=f"{rate.recognizer} gets {value} of the words{of} wrong {where}, {counted(rate.speakers, 'speaker')}.",
        estimate=rate.wer,
        low=rate.low,
        high=rate.high,
        level=1.0 - found.goal.alpha,
        recognizer=rate.recognizer,
        scenario=rate.scenario,
        attribute=found.attribute,
        group=group,
        speakers=rate.speakers,
    )


def _gap_table(found: Sequential) -> Table:
    rows = [
        {
            **asdict(gap),
            "attribute": found.attribute,
            "verdict": gap.verdict,
            "family": FAMILY if found.goal.fdr else None,
            "why": STOPPED.get(gap.stopped, gap.stopped),
        }
        for gap in found.gaps
    ]
    level = f"{100 * (1 - found.goal.alpha):g} %"
    return tabulate(
        "gaps",
        f"Gaps against {next(iter(found.groups))}, in percentage points ({level} at all looks together)",
        rows,
        [
            ("recognizer",),
            ("scenario",),
            ("group",),
            ("gap", "gap", "points", "low", "high"),
            ("e_value", "e-value", "number"),
            ("pairs", "pairs of speakers", "count"),
            ("why", "stopped"),
            ("verdict",),
        ],
    )


def _rate_table(found: Sequential, *, folded: bool) -> Table:
    rows = [
        {**asdict(rate), "attribute": found.attribute, "why": STOPPED.get(rate.stopped, rate.stopped or "-")}
        for rate in found.rates
    ]
    level = f"{100 * (1 - found.goal.alpha):g} %"
    return tabulate(
        "error_rates",
        f"Word error rates ({level} at all looks together)",
        rows,
        [
            ("recognizer",),
            ("scenario",),
            ("group",),
            ("wer", "WER", "percent", "low", "high"),
            ("speakers", "speakers", "count"),
            ("why", "stopped"),
        ],
        folded=folded,
    )


def _figures(found: Sequential) -> tuple[Figure, ...]:
    known = [gap for gap in found.gaps if gap.gap is not None]
    if not known:
        return ()
    first = next(iter(found.groups))
    return (
        Figure(
            "gaps",
            f"Gaps against {first} when each cell stopped",
            f"Gaps of word error rates against {first} in {counted(len(known), 'cell')};"
            f" {sum(gap.stopped == SHOWN for gap in known)} are shown.",
            Forest(
                tuple(
                    ForestRow(
                        f"{gap.recognizer}, {gap.scenario}, {gap.group}",
                        Drawn(gap.gap, gap.low, gap.high),
                        gap.stopped == SHOWN,
                        STOPPED.get(gap.stopped, ""),
                    )
                    for gap in known
                ),
                "gap of word error rates in percentage points",
                no_difference=0.0,
                log=False,
            ),
            "gaps",
        ),
    )


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
