"""The sequential audit: hear speakers until every cell is settled, and leave a run folder that says why it stopped."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from voxaudit.audits.inputs import read_scores
from voxaudit.audits.sequential.order import check_attribute, plan_order
from voxaudit.audits.sequential.result import Sequential, summarize
from voxaudit.audits.sequential.rounds import Goal, walk
from voxaudit.audits.sequential.sources import Cell, cells_of, listening, replaying, utterance_table
from voxaudit.corpus import Corpus
from voxaudit.errors import VoxauditError
from voxaudit.options import ON_DEMAND, RunOptions, takes_options
from voxaudit.perturb import Scenario
from voxaudit.perturb.sources import Source
from voxaudit.recognize import AnswersById
from voxaudit.run.folder import Run, make_folder, read_config, write_config
from voxaudit.run.lock import hold
from voxaudit.run.plan import Plan
from voxaudit.run.runner import RecognizerLike, make_plan, prepare_folder
from voxaudit.run.session import Session
from voxaudit.run.store import TRANSCRIPT_COLUMNS, transcript_row
from voxaudit.run.trial import Outcome
from voxaudit.score.normalize import normalizer as find_normalizer
from voxaudit.score.run import score_run
from voxaudit.score.table import SCORE_COLUMNS
from voxaudit.tables import write_atomically

FINDINGS = "sequential.json"


@takes_options(*ON_DEMAND)
def sequential(
    corpus: Corpus,
    recognizers: Sequence[RecognizerLike] | Mapping[str, RecognizerLike],
    scenarios: Sequence[str] = ("quick",),
    *,
    out: str | Path,
    goal: Goal = Goal(),  # noqa: B008 (frozen)
    attribute: str | None = None,
    reference: str | None = None,
    per_speaker: int | None = None,
    normalizer: str = "basic",
    sources: Mapping[str, Source | str | Path] | None = None,
    progress: Callable[[int], None] | None = None,
    options: RunOptions | None = None,
    **given: Any,
) -> Sequential:
    """Hear a corpus speaker by speaker and stop every cell (recognizer and scenario) as soon as it is settled.

    `goal` says when that is. Groups are those of `attribute`, compared with `reference` (default: the largest); without
    an attribute all speakers are one group, and the goal must be a precision. The intervals and e-values hold at all
    looks together. `per_speaker` hears so many utterances a speaker at most, drawn at random. The folder `out` becomes
    a run folder with an incomplete grid; the same call again resumes. `progress` is called with numbers of trials.
    The options of a run are those of `RunOptions`, together or by name (`workers=2`).
    """
    rule = find_normalizer(normalizer)
    options = RunOptions.of(options, **given)
    options.require_on_demand()
    where = corpus.source or corpus.name
    _check_groups(goal, attribute, corpus.attributes, where)
    plan, not_heard = make_plan(corpus, recognizers, scenarios, sources=sources, seed=options.seed)
    _check(plan)
    order = plan_order(
        utterance_table(corpus, rule),
        attribute,
        where=where,
        seed=options.seed,
        reference=reference,
        per_speaker=per_speaker,
    )
    cells = [Cell(name, scenario.id) for name in plan.recognizers for scenario in plan.scenarios]
    chosen = {id_ for ids in order.utterances for id_ in ids}
    utterances = {utterance.id: utterance for utterance in corpus if utterance.id in chosen}
    by_id: dict[str, Scenario] = {scenario.id: scenario for scenario in plan.scenarios}
    folder = make_folder(out)
    with hold(folder):
        prepare_folder(folder, plan, not_heard)
    with Session(folder, plan.recognizers, by_id, options) as session:
        rows: list[tuple[object, ...]] = []

        def said(name: str, outcomes: Sequence[Outcome]) -> None:
            rows.extend(outcome_row(name, outcome) for outcome in outcomes)
            if progress is not None:
                progress(len(outcomes))

        hear = listening(session, cells, order, utterances, rule, said)
        walked = walk(len(cells), order, goal, hear)
        heard = session.heard
    grid = sum(order.said) * len(cells)
    found = summarize(walked, cells, order, goal, grid=grid, heard=heard, replayed=False)
    transcripts = pl.DataFrame(rows, schema=TRANSCRIPT_COLUMNS, orient="row")
    with hold(folder):
        write_atomically(folder / "transcripts.parquet", transcripts.write_parquet)
        score_run(Run(folder), normalizer)
        write_config(folder, {**read_config(folder), "sequential": _record(found)})
        document = json.dumps(found.findings, indent=1, ensure_ascii=False) + "\n"
        write_atomically(folder / FINDINGS, lambda path: path.write_text(document, encoding="utf-8"))
    return found


def replay(
    path: str | Path | pl.DataFrame,
    goal: Goal = Goal(),  # noqa: B008 (frozen)
    *,
    attribute: str | None = None,
    reference: str | None = None,
    per_speaker: int | None = None,
    seed: int = 0,
) -> Sequential:
    """Return what `sequential` would have found, and heard, had it made a run that is finished.

    `path` is the run's folder or a `scores` table: what a plan costs can be tried on last month's run.
    """
    scores = path if isinstance(path, pl.DataFrame) else read_scores(path)
    where = "scores" if isinstance(path, pl.DataFrame) else str(path)
    cells = cells_of(scores, where)
    if not cells:
        raise VoxauditError(f"{where}: no scored words")
    _check_groups(goal, attribute, [c for c in scores.columns if c not in SCORE_COLUMNS], where)
    table = scores.group_by("utterance", maintain_order=True).agg(
        pl.col("speaker").first().cast(pl.String),
        pl.col("words").max(),
        *([pl.col(attribute).first()] if attribute else []),
    )
    table = table.rename({"utterance": "id"}).with_columns(pl.col("id").cast(pl.String))
    order = plan_order(table, attribute, where=where, seed=seed, reference=reference, per_speaker=per_speaker)
    walked = walk(len(cells), order, goal, replaying(scores, cells, order))
    grid = sum(order.said) * len(cells)
    return summarize(walked, cells, order, goal, grid=grid, heard=0, replayed=True)


def outcome_row(recognizer: str, outcome: Outcome) -> tuple[object, ...]:
    """Return a row of the `transcripts` table."""
    trial = outcome.trial
    said = transcript_row(outcome.transcript)
    return (trial.utterance, trial.scenario, recognizer, *said, outcome.seconds, outcome.failure)


def _check_groups(goal: Goal, attribute: str | None, attributes: Sequence[str], where: str) -> None:
    if attribute is not None:
        check_attribute(attribute, attributes, where)
    elif goal.decide:
        raise VoxauditError(
            "nothing to stop for: name the attribute whose groups are compared, or give a precision alone"
            " (Goal(precision=0.02, decide=False))"
        )


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
                f"scenario '{scenario.id}' leaves no speech, so there is no error rate to wait for. Leave it out"
            )


def _record(found: Sequential) -> dict[str, object]:
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
