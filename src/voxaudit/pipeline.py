"""The whole audit in one call: corpus, run, scores, findings. What `voxaudit run` does."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from voxaudit.config import AuditConfig, CorpusConfig
from voxaudit.corpus import Corpus, read_corpus
from voxaudit.corpus.roles import check_role
from voxaudit.errors import VoxauditError
from voxaudit.recognize import anchor, make_recognizer
from voxaudit.registry import suggest
from voxaudit.report.summary import Summary, write_summary
from voxaudit.run import Run, run_trials
from voxaudit.score.normalize import normalizer
from voxaudit.score.run import score_run


@dataclass(frozen=True)
class Audit:
    """A finished run and what it found."""

    run: Run
    summary: Summary


def run_audit(config: AuditConfig, *, retry_failed: bool = False, progress: bool = True) -> Audit:
    """Audit a corpus as the configuration says and return the run with what it found.

    The run folder then holds `transcripts.parquet`, `scores.parquet` and `summary.md`.
    """
    normalizer(config.normalizer)  # a misspelt name is said now, not after hours of listening
    for role in config.corpora:
        check_role(role)
    corpus = _read(config.corpus)
    for attribute in config.corpus.attributes:
        if attribute not in corpus.attributes:
            raise VoxauditError(
                f"{config.corpus.path}: no attribute '{attribute}'.{suggest(attribute, corpus.attributes)}"
                f" Attributes there: {', '.join(corpus.attributes) or 'none'}"
            )
    recognizers = {
        name: anchor(make_recognizer({"engine": name, **settings}), config.folder)
        for name, settings in config.recognizers.items()
    }
    run = run_trials(
        corpus,
        recognizers,
        config.scenarios,
        out=config.out,
        corpora={role: _natural(other, corpus, config.out) for role, other in config.corpora.items()},
        sources=config.sources,
        seed=config.seed,
        workers=config.workers,
        timeout=config.timeout,
        retries=config.retries,
        cache=config.cache,
        retry_failed=retry_failed,
        progress=progress,
    )
    score_run(run, config.normalizer)
    scored = Run(run.folder)
    return Audit(scored, write_summary(scored, config.corpus.attributes))


def _read(config: CorpusConfig) -> Corpus:
    assert config.path is not None
    return read_corpus(
        config.path, format=config.format, columns=config.columns, skip_bad_rows=config.skip_bad_rows
    )


def _natural(config: CorpusConfig, clean: Corpus, folder: Path) -> Corpus:
    """Return the corpus of a role: the user's, or the clean corpus's texts read aloud."""
    if config.path is not None:
        return _read(config)
    from voxaudit.speak.texts import speak_texts

    return read_corpus(speak_texts(clean.table["text"].drop_nulls().to_list(), folder / "synthetic"))
