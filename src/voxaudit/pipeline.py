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
from voxaudit.corpus import Corpus, labeled, merge_corpora, read_corpus, select
from voxaudit.corpus.merge import LANGUAGE
from voxaudit.corpus.roles import check_role
from voxaudit.errors import VoxauditError
from voxaudit.files import publish, require
from voxaudit.options import ON_DEMAND, RunOptions, takes_options
from voxaudit.recognize import AnswersById, Recognizer, anchor, make_recognizer
from voxaudit.registry import unknown
from voxaudit.render.document import Report
from voxaudit.report.build import build_report, remember, write_report
from voxaudit.run import Run, run_trials
from voxaudit.run.budget import is_remote
from voxaudit.run.estimate import Estimate, estimate
from voxaudit.run.folder import published_files, read_config, write_config
from voxaudit.run.runner import make_plan
from voxaudit.score.normalize import normalizer
from voxaudit.score.run import score_run
from voxaudit.score.weight import read_terms

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
    baseline: dict[str, str]
    """By language or corpus, the clean corpus that speech in a role is compared with, where there are several."""


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
    terms = read_terms(config.keywords) if config.keywords is not None else ()
    if options.publish is not None:
        require(options.publish)
    inputs = read_inputs(config)
    run = run_trials(
        inputs.corpus,
        inputs.recognizers,
        config.scenarios,
        out=config.out,
        corpora=inputs.corpora,
        sources=config.heard_from,
        options=options,
        publish=None,  # with the report, when that is written
    )
    write_config(
        run.folder, {**read_config(run.folder), "baseline": inputs.baseline, "keywords": list(terms)}
    )
    score_run(run, config.normalizer, progress=options.progress)
    if config.stutter is not None:
        _stuttered(config, config.stutter, inputs, options)
    scored = remember(run, config.attributes, config.gates)
    report = build_report(scored, attributes=config.attributes, gates=config.gates)
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
            f" {', '.join(one.role or one.name or str(one.path) for one in config.corpora)})"
        )
    inputs = read_inputs(config)
    answer = sequential(
        inputs.corpus,
        inputs.recognizers,
        scenarios=config.scenarios,
        out=config.out,
        normalizer=config.normalizer,
        sources=config.heard_from,
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
        sources=config.heard_from,
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
            attributes=config.attributes,
            budget=asked.budget,
            dose=asked.dose,
            mode=asked.mode,
            threshold=asked.threshold,
            options=options.on_demand(),
        )
    except VoxauditError as error:
        write_refusal(folder, error)


def read_inputs(config: AuditConfig) -> Inputs:
    """Return the corpora and recognizers that a configuration names; nothing heavy is loaded."""
    for one in config.corpora:
        if one.role is not None:
            check_role(one.role)
    # Transcripts from files need no audio: somebody with a vendor's transcripts has none.
    recognizers = recognizers_of(config)
    heard = not all(isinstance(one, AnswersById) for one in recognizers.values())
    several = bool(config.corpora)
    clean = [
        _read(one, rename=several, check_audio=heard)
        for one in (config.corpus, *config.corpora)
        if one.role is None
    ]
    parts = [
        (one, _spoken(one, clean, config.out) if one.speak else _read(one, rename=True, check_audio=True))
        for one in config.corpora
        if one.role is not None
    ]
    _require_names([corpus.name for corpus in (*clean, *(read for _, read in parts))])
    roles: dict[str, list[Corpus]] = {}
    for one, read in parts:
        roles.setdefault(str(one.role), []).append(read)
    return Inputs(
        merge_corpora(clean),
        recognizers,
        {role: merge_corpora(some) for role, some in roles.items()},
        _baseline(clean, parts),
    )


def _require_names(names: list[str]) -> None:
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise VoxauditError(f"two corpora are called '{twice}': give them names of their own (`name`)")


def _baseline(clean: list[Corpus], parts: list[tuple[CorpusConfig, Corpus]]) -> dict[str, str]:
    """Return the clean corpus that speech is compared with, by language and by corpus; empty where there is one."""
    named = {read.name: one.baseline for one, read in parts if one.baseline is not None}
    names = [corpus.name for corpus in clean]
    for name, baseline in named.items():
        if baseline not in names:
            raise unknown(f"corpora: the baseline of '{name}' is not a clean corpus:", baseline, names)
    if len(clean) == 1:
        return {}
    first = {language: corpus.name for corpus in reversed(clean) for language in _languages(corpus)}
    strangers = [read.name for _, read in parts if not set(_languages(read)) & set(first)]
    return {**first, **dict.fromkeys(strangers, names[0]), **named} or {names[0]: names[0]}


def _languages(corpus: Corpus) -> list[str]:
    known = corpus.table[LANGUAGE] if LANGUAGE in corpus.table.columns else None
    return [] if known is None else known.drop_nulls().unique().sort().to_list()


def recognizers_of(config: AuditConfig) -> dict[str, Recognizer]:
    """Return the recognizers that `audit.toml` names; paths in it are looked for beside it."""
    return {
        name: anchor(make_recognizer({"engine": name, **settings}), config.folder)
        for name, settings in config.recognizers.items()
    }


def _read(config: CorpusConfig, *, rename: bool, check_audio: bool) -> Corpus:
    assert config.path is not None
    corpus = read_corpus(
        config.path,
        format=config.format,
        columns=config.columns,
        skip_bad_rows=config.skip_bad_rows,
        name=config.name,
        check_audio=check_audio,
    )
    for attribute in config.attributes:
        if attribute not in corpus.attributes:
            what = f"{config.path}: no attribute"
            raise unknown(what, attribute, corpus.attributes, there="Attributes there")
    return select(labeled(corpus, config.language, rename=rename), config.where)


def _spoken(config: CorpusConfig, clean: list[Corpus], folder: Path) -> Corpus:
    """Return the clean corpora's texts read aloud: of the language that was named, else of the first corpus's."""
    from voxaudit.speak.texts import MOST_CLIPS, matched_voices, speak_texts, voices_of

    wanted = config.language or next(iter(_languages(clean[0])), None)
    texts = [
        text
        for corpus in clean
        if wanted is None or wanted in _languages(corpus)
        for text in corpus.table["text"].drop_nulls().to_list()
    ]
    name = config.name or "synthetic"
    voices, about = (
        (voices_of(wanted), ()) if config.change is None else matched_voices(config.change, wanted)
    )
    if about:  # every voice reads the same texts, both ways
        texts = list(dict.fromkeys(texts))[: MOST_CLIPS // len(voices)]
    spoken = read_corpus(speak_texts(texts, folder / name, voices=voices, about=about), name=name)
    return labeled(spoken, wanted, rename=True)
