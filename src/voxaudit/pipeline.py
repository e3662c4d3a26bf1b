"""The whole audit in one call: corpus, run, scores, stuttered speech, report. What `voxaudit run` does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from voxaudit.answer import Answer
from voxaudit.audits.sequential.audit import sequential
from voxaudit.audits.stutter.audit import stutter
from voxaudit.audits.stutter.folder import write_refusal
from voxaudit.config import AuditConfig, CorpusConfig, StutterConfig
from voxaudit.corpus import Corpus, read_corpus, select
from voxaudit.corpus.roles import check_role
from voxaudit.errors import VoxauditError
from voxaudit.files import publish, require
from voxaudit.options import ON_DEMAND, RunOptions, takes_options
from voxaudit.recognize import AnswersById, Recognizer, anchor, make_recognizer
from voxaudit.registry import suggest
from voxaudit.render.document import Report
from voxaudit.report.build import build_report, remember, write_report
from voxaudit.run import Run, run_trials
from voxaudit.run.budget import is_remote
from voxaudit.run.estimate import Estimate, estimate
from voxaudit.run.folder import published_files
from voxaudit.run.runner import make_plan
from voxaudit.score.normalize import normalizer
from voxaudit.score.run import score_run

STUTTER = "stutter"
"""Where in a run's folder the stutter audit is; the report looks for it there."""


@dataclass(frozen=True)
class Audit:
    """A finished run, what it found, and the files that say so (`report.html`, `summary.md` ...) by name."""

    run: Run
    report: Report
    files: dict[str, Path]


@dataclass(frozen=True)
class Inputs:
    """What a configuration names, read and checked."""

    corpus: Corpus
    recognizers: dict[str, Recognizer]
    corpora: dict[str, Corpus]


@takes_options()
def run_audit(config: AuditConfig, **given: Any) -> Audit:
    """Audit a corpus as the configuration says and return the run with what it found.

    Options given by name (`workers=2`, see `RunOptions`) count instead of the configuration's. The run folder then
    holds `transcripts.parquet`, `scores.parquet` and the report: `report.html`, `summary.md`, `findings.json` and
    `junit.xml`; all but the store is copied to `publish` if that is given. With `config.stutter` the folder `stutter`
    in it holds that audit, or why it could not be made: the report says so, and the rest stands. `max_cost` (US
    dollars) and `max_minutes` limit what services hear, see `run_trials`; they hear no stuttered speech then.
    """
    options = RunOptions.of(config.options, **given)
    normalizer(config.normalizer)  # a misspelt name is said now, not after hours of listening
    if options.publish is not None:
        require(options.publish)
    inputs = read_inputs(config)
    run = run_trials(
        inputs.corpus,
        inputs.recognizers,
        config.scenarios,
        out=config.out,
        corpora=inputs.corpora,
        sources=config.sources,
        options=options,
        publish=None,  # with the report, when that is written
    )
    score_run(run, config.normalizer)
    if config.stutter is not None:
        _stuttered(config, config.stutter, inputs, options)
    scored = remember(run, config.corpus.attributes, config.gates)
    report = build_report(scored, attributes=config.corpus.attributes, gates=config.gates)
    audit = Audit(scored, report, write_report(report, scored.folder))
    if options.publish is not None:
        publish(published_files(scored.folder), options.publish)
    return audit


@takes_options("progress", "publish", *ON_DEMAND)
def run_sequential(config: AuditConfig, goal: Mapping[str, Any], **given: Any) -> Answer:
    """Hear a configured audit only as far as a goal needs it, and its stuttered speech as ever.

    `goal` has arguments of `sequential` by name: `{"attribute": "gender", "per_speaker": 4}`. No report is made and no
    gate is judged: their intervals do not know that the run was stopped early. Options given by name (`workers=2`, see
    `RunOptions`) count instead of the configuration's.
    """
    options = RunOptions.of(config.options, **given)
    heard_with = replace(options, publish=None)
    heard_with.require_on_demand()
    if options.publish is not None:
        require(options.publish)
    if config.corpora:
        raise VoxauditError(
            f"stopping early hears one corpus; further ones are heard in full by `voxaudit run` (there are:"
            f" {', '.join(config.corpora)})"
        )
    inputs = read_inputs(config)
    answer = sequential(
        inputs.corpus,
        inputs.recognizers,
        scenarios=config.scenarios,
        out=config.out,
        normalizer=config.normalizer,
        sources=config.sources,
        options=heard_with,
        **goal,
    )
    if config.stutter is not None:
        _stuttered(config, config.stutter, inputs, options)
    if options.publish is not None:
        publish(published_files(config.out), options.publish)
    return answer


@takes_options()
def estimate_audit(config: AuditConfig, *, test_speed: bool = False, **given: Any) -> list[Estimate]:
    """Return what an audit would hear, how long that would take and what services would bill for it.

    Nothing is heard, unless `test_speed` lets recognizers here hear a few trials where their speed is not known.
    """
    options = RunOptions.of(config.options, **given)
    inputs = read_inputs(config)
    plan, _ = make_plan(
        inputs.corpus,
        inputs.recognizers,
        config.scenarios,
        corpora=inputs.corpora,
        sources=config.sources,
        seed=options.seed,
    )
    return estimate(plan, config.out, options, test_speed=test_speed)


def _stuttered(config: AuditConfig, asked: StutterConfig, inputs: Inputs, options: RunOptions) -> None:
    """Make part of the corpus stutter and hear it; where that cannot be, leave the reason in place of findings."""
    folder = config.out / STUTTER
    limited = options.max_cost is not None or options.max_minutes is not None
    recognizers = {
        name: one
        for name, one in inputs.recognizers.items()
        if not isinstance(one, AnswersById) and not (limited and is_remote(one))
    }
    try:
        if not recognizers:
            raise VoxauditError(
                "none of the recognizers can hear new speech: transcripts from files cannot answer, and services do"
                " not under a limit of cost or minutes. Add a recognizer that listens, or leave the limit out"
            )
        stutter(
            inputs.corpus,
            recognizers,
            out=folder,
            utterances=asked.utterances,
            attributes=config.corpus.attributes,
            budget=asked.budget,
            dose=asked.dose,
            threshold=asked.threshold,
            options=options.on_demand(),
        )
    except VoxauditError as error:
        write_refusal(folder, error)


def read_inputs(config: AuditConfig) -> Inputs:
    """Return the corpora and recognizers that a configuration names; nothing heavy is loaded."""
    for role in config.corpora:
        check_role(role)
    # Transcripts from files need no audio: somebody with a vendor's transcripts has none.
    recognizers = _recognizers(config)
    heard = not all(isinstance(one, AnswersById) for one in recognizers.values())
    corpus = _read(config.corpus, check_audio=heard)
    for attribute in config.corpus.attributes:
        if attribute not in corpus.attributes:
            raise VoxauditError(
                f"{config.corpus.path}: no attribute '{attribute}'.{suggest(attribute, corpus.attributes)}"
                f" Attributes there: {', '.join(corpus.attributes) or 'none'}"
            )
    corpora = {role: _natural(other, corpus, config.out) for role, other in config.corpora.items()}
    return Inputs(corpus, recognizers, corpora)


def _recognizers(config: AuditConfig) -> dict[str, Recognizer]:
    return {
        name: anchor(make_recognizer({"engine": name, **settings}), config.folder)
        for name, settings in config.recognizers.items()
    }


def _read(config: CorpusConfig, *, check_audio: bool = True) -> Corpus:
    assert config.path is not None
    corpus = read_corpus(
        config.path,
        format=config.format,
        columns=config.columns,
        skip_bad_rows=config.skip_bad_rows,
        check_audio=check_audio,
    )
    return select(corpus, config.where)


def _natural(config: CorpusConfig, clean: Corpus, folder: Path) -> Corpus:
    """Return the corpus of a role: the user's, or the clean corpus's texts read aloud."""
    if config.path is not None:
        return _read(config)
    from voxaudit.speak.texts import speak_texts

    return read_corpus(speak_texts(clean.table["text"].drop_nulls().to_list(), folder / "synthetic"))
