"""Score a run: transcripts and references become the `scores` table. Nothing is heard again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from voxaudit.perturb import PERTURBATIONS
from voxaudit.run.folder import Run, write_config
from voxaudit.score.normalize import normalizer as find_normalizer
from voxaudit.score.table import score_schema, score_transcripts
from voxaudit.tables import write_parquet


def score_run(run: Run, normalizer: str = "basic") -> pl.DataFrame:
    """Score a run with a named normalizer, write its `scores.parquet` and return that table.

    Failed trials and utterances without a reference are left out (they stay in the transcripts table).
    The normalizer's name and version are recorded in `run.json`. Under scenarios that leave no speech (`silence`,
    `noise_only`) every word heard is an insertion.
    """
    chosen = find_normalizer(normalizer)
    corpus = run.corpus
    silent = silent_scenarios(run.config["scenarios"])

    def chunks() -> Iterator[pl.DataFrame]:
        for chunk in run.transcript_chunks():
            yield score_transcripts(chunk, corpus, normalizer, silent=silent).scores

    write_parquet(run.folder / "scores.parquet", chunks(), score_schema(corpus))
    config = {**run.config, "normalizer": chosen.id}
    write_config(run.folder, config)
    return Run(run.folder).scores


def silent_scenarios(scenarios: Sequence[str]) -> list[str]:
    """Return the scenarios in which nobody speaks."""
    names = {scenario: scenario.partition(":")[0] for scenario in scenarios}
    known = set(PERTURBATIONS.names())
    return [
        scenario for scenario, name in names.items() if name in known and not PERTURBATIONS.load(name).speech
    ]
