"""The whole audit in one call: corpus, run, scores, stuttered speech, report. What `voxaudit run` does."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from voxaudit.audits.sequential import Goal, Sequential, sequential
from voxaudit.audits.stutter.audit import stutter
from voxaudit.audits.stutter.cases import Settings
from voxaudit.audits.stutter.choose import choose_utterances
from voxaudit.audits.stutter.refused import write_refusal
from voxaudit.config import AuditConfig, CorpusConfig, StutterConfig
from voxaudit.corpus import Corpus, read_corpus, select
from voxaudit.corpus.roles import check_role
from voxaudit.errors import VoxauditError
from voxaudit.files import publish, require
from voxaudit.perturb import CLEAN
from voxaudit.perturb.scenario import written_out
from voxaudit.recognize import AnswersById, Recognizer, anchor, make_recognizer
from voxaudit.registry import suggest
from voxaudit.report.build import build_report, write_report
from voxaudit.report.document import Document
from voxaudit.report.remember import remember
from voxaudit.run import Run, run_trials
from voxaudit.run.budget import is_remote
from voxaudit.run.estimate import Estimate, estimate
from voxaudit.run.folder import published_files
from voxaudit.run.local import Limits
from voxaudit.run.progress import Progress
from voxaudit.run.runner import make_plan
from voxaudit.score.normalize import normalizer
from voxaudit.score.run import score_run

STUTTER = "stutter"
"""Where in a run's folder the stutter audit is; the report looks for it there."""


@dataclass(frozen=True)
class Audit:
    """A finished run, what it found, and the files that say so (`report.html`, `summary.md` ...) by name."""

    run: Run
    document: Document
    files: dict[str, Path]


@dataclass(frozen=True)
class Inputs:
    """What a configuration names, read and checked."""

    corpus: Corpus
    recognizers: dict[str, Recognizer]
    corpora: dict[str, Corpus]


def run_audit(
    config: AuditConfig,
    *,
    retry_failed: bool = False,
    progress: bool = True,
    max_cost: float | None = None,
    max_minutes: float | None = None,
) -> Audit:
    """Audit a corpus as the configuration says and return the run with what it found.

    The run folder then holds `transcripts.parquet`, `scores.parquet` and the report: `report.html`, `summary.md`,
    `findings.json` and `junit.xml`; all but the store is copied to `config.publish` if that is given. With
    `config.stutter` the folder `stutter` in it holds that audit, or why it could not be made: the report says so, and
    the rest stands. `max_cost` (US dollars) and `max_minutes` limit what services hear, see `run_trials`; they hear no
    stuttered speech then.
    """
    normalizer(config.normalizer)  # a misspelt name is said now, not after hours of listening
    if config.publish is not None:
        require(config.publish)
    inputs = read_inputs(config)
    run = run_trials(
        inputs.corpus,
        inputs.recognizers,
        config.scenarios,
        out=config.out,
        corpora=inputs.corpora,
        sources=config.sources,
        seed=config.seed,
        workers=config.workers,
        timeout=config.timeout,
        retries=config.retries,
        cache=config.cache,
        retry_failed=retry_failed,
        progress=progress,
        max_cost=max_cost,
        max_minutes=max_minutes,
        executor=config.executor,
        ray_address=config.ray_address,
        replica_cpus=config.replica_cpus,
        replica_gpus=config.replica_gpus,
    )
    score_run(run, config.normalizer)
    if config.stutter is not None:
        limited = max_cost is not None or max_minutes is not None
        _stuttered(config, config.stutter, inputs, progress=progress, limited=limited)
    scored = remember(run, config.corpus.attributes, config.gates)
    document = build_report(scored, attributes=config.corpus.attributes, gates=config.gates)
    audit = Audit(scored, document, write_report(document, scored.folder))
    if config.publish is not None:
        publish(published_files(scored.folder), config.publish)
    return audit


def run_sequential(
    config: AuditConfig,
    goal: Goal,
    *,
    attribute: str | None = None,
    reference: str | None = None,
    per_speaker: int | None = None,
    progress: bool = True,
) -> Sequential:
    """Hear a configured audit only as far as a goal needs it (see `sequential`), and its stuttered speech as ever.

    No report is made and no gate is judged: their intervals do not know that the run was stopped early.
    """
    if config.publish is not None:
        require(config.publish)
    if config.corpora:
        raise VoxauditError(
            f"stopping early hears one corpus; further ones are heard in full by `voxaudit run` (there are:"
            f" {', '.join(config.corpora)})"
        )
    if config.executor != "local":
        raise VoxauditError("stopping early hears on this machine: leave --executor and --ray-address out")
    inputs = read_inputs(config)
    with Progress(progress) as bars:
        scenarios = {CLEAN, *written_out(config.scenarios)}
        bars.begin("trials, at most", len(inputs.corpus) * len(scenarios) * len(inputs.recognizers))
        found = sequential(
            inputs.corpus,
            inputs.recognizers,
            config.scenarios,
            out=config.out,
            goal=goal,
            attribute=attribute,
            reference=reference,
            per_speaker=per_speaker,
            normalizer=config.normalizer,
            sources=config.sources,
            seed=config.seed,
            workers=config.workers,
            timeout=config.timeout,
            retries=config.retries,
            cache=config.cache,
            progress=lambda count: bars.advance(count, heard=True),
        )
    if config.stutter is not None:
        _stuttered(config, config.stutter, inputs, progress=progress, limited=False)
    if config.publish is not None:
        publish(published_files(config.out), config.publish)
    return found


def estimate_audit(config: AuditConfig, *, retry_failed: bool = False) -> list[Estimate]:
    """Return what an audit would hear and what services would bill for it; nothing is heard."""
    inputs = read_inputs(config)
    plan, _ = make_plan(
        inputs.corpus,
        inputs.recognizers,
        config.scenarios,
        corpora=inputs.corpora,
        sources=config.sources,
        seed=config.seed,
    )
    return estimate(plan, config.out, cache=config.cache, retry_failed=retry_failed)


def _stuttered(
    config: AuditConfig, asked: StutterConfig, inputs: Inputs, *, progress: bool, limited: bool
) -> None:
    """Make part of the corpus stutter and hear it; where that cannot be, leave the reason in place of findings."""
    folder = config.out / STUTTER
    corpus = choose_utterances(
        inputs.corpus, asked.utterances, attributes=config.corpus.attributes, seed=config.seed
    )
    recognizers = {
        name: one
        for name, one in inputs.recognizers.items()
        if not isinstance(one, AnswersById) and not (limited and is_remote(one))
    }
    limits = Limits.asked(config.workers, timeout=config.timeout, retries=config.retries)
    try:
        settings = Settings(budget=asked.budget, threshold=asked.threshold, seed=config.seed)
        if not recognizers:
            raise VoxauditError(
                "none of the recognizers can hear new speech: transcripts from files cannot answer, and services do"
                " not under a limit of cost or minutes. Add a recognizer that listens, or leave the limit out"
            )
        with Progress(progress) as bars:
            bars.begin("stuttered cases", len(corpus) * asked.budget)
            stutter(
                corpus,
                recognizers,
                out=folder,
                settings=settings,
                doses=asked.dose,
                limits=limits,
                cache=config.cache,
                progress=lambda count: bars.advance(count, heard=True),
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
