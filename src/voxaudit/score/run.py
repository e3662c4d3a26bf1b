"""Score a run: transcripts and references become the `scores` table. Nothing is heard again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import suppress

import polars as pl

from voxaudit.corpus.describe import durations
from voxaudit.perturb import PERTURBATIONS
from voxaudit.run.folder import Run, read_config, write_config
from voxaudit.score.measures import ALL_MEASURES, measure_utterances
from voxaudit.score.normalize import Normalizer
from voxaudit.score.normalize import normalizer as find_normalizer
from voxaudit.score.table import attribute_names, score_schema, score_transcripts
from voxaudit.tables import read_table, require_types, write_atomically, write_parquet

MEASURED = "measures.parquet"
_VERSION = "1"  # raise when measures give other numbers than before


def normalizer_of(run: Run | None) -> Normalizer:
    """Return the normalizer that a run was scored with; `basic` where there is no run."""
    name = "basic" if run is None else str(run.config.get("normalizer", "basic"))
    return find_normalizer(name.partition("@")[0])


def score_run(run: Run, normalizer: str = "basic", *, progress: bool = False) -> pl.DataFrame:
    """Score a run with a named normalizer, write its `scores.parquet` and return that table.

    Failed trials and utterances without a reference are left out (they stay in the transcripts table).
    The normalizer's name and version are recorded in `run.json`. Under scenarios that leave no speech (`silence`,
    `noise_only`) every word heard is an insertion. Measures of texts and recordings (`ALL_MEASURES`) are columns,
    too, as the utterances are before anything disturbs them; they are taken once (`run_measures`).
    """
    chosen = find_normalizer(normalizer)
    corpus = run.corpus
    silent = silent_scenarios(run.config["scenarios"])

    measures = run_measures(run, progress=progress)

    def chunks() -> Iterator[pl.DataFrame]:
        for chunk in run.transcript_chunks():
            scores = score_transcripts(chunk, corpus, normalizer, silent=silent).scores
            yield scores.join(measures, on="utterance", how="left", maintain_order="left")

    schema = score_schema(corpus) | {name: measures.schema[name] for name in measures.columns[1:]}
    write_parquet(run.folder / "scores.parquet", chunks(), schema)
    config = {**read_config(run.folder), "normalizer": chosen.id}
    write_config(run.folder, config)
    return Run(run.folder).scores


def run_measures(run: Run, *, progress: bool = False) -> pl.DataFrame:
    """Return the measures of a run's utterances: `utterance`, then those of `ALL_MEASURES` that no attribute is called.

    They are kept in the run's folder (`measures.parquet`) and made again only where texts or recordings are others.
    What no utterance has is said in `run.json`, with what would enable it.
    """
    corpus = run.corpus
    known = _kept_measures(run)
    if known is None:
        found = measure_utterances(corpus, folder=run.folder, progress=progress)
        known = pl.concat([_keys(corpus), found.table.drop("utterance")], how="horizontal")
        facts = {"sources": found.sources, "missing": found.missing}
        with suppress(OSError):  # a folder that is only read: they are made again the next time
            write_atomically(run.folder / MEASURED, known.write_parquet)
            write_config(run.folder, {**read_config(run.folder), "measures": facts})
    taken = attribute_names(corpus.columns).values()
    return known.select("utterance", *(name for name in ALL_MEASURES if name not in taken))


def run_durations(run: Run) -> pl.Series:
    """Return how many seconds a run's utterances last: as they were measured, else as the corpus says."""
    known = _kept_measures(run)
    if known is not None and not known["duration"].null_count():
        return known["duration"]
    said = durations(run.corpus)
    return said if known is None else known["duration"].fill_null(said)


def _kept_measures(run: Run) -> pl.DataFrame | None:
    """Return the measures in a run's folder, utterance by utterance; None where they are not those of its corpus."""
    path = run.folder / MEASURED
    if not path.exists():
        return None
    known = read_table(path)
    require_types(known.schema, _TYPES, path)
    wanted = _keys(run.corpus)
    known = wanted.join(known, on=["utterance", "key"], how="inner", maintain_order="left")
    return None if known.height < wanted.height else known


def _keys(corpus: pl.DataFrame) -> pl.DataFrame:
    key = [_key(row) for row in corpus.select("audio", "start", "duration", "text").rows()]
    return pl.DataFrame({"utterance": corpus["id"].cast(pl.String), "key": pl.Series(key, dtype=pl.String)})


_TYPES = dict.fromkeys(("utterance", "key"), (pl.String,)) | dict.fromkeys(ALL_MEASURES, (pl.Float64,))


def _key(row: tuple[object, ...]) -> str:
    return hashlib.blake2b(repr((_VERSION, *row)).encode(errors="replace"), digest_size=8).hexdigest()


def silent_scenarios(scenarios: Sequence[str]) -> list[str]:
    """Return the scenarios in which nobody speaks."""
    names = {scenario: scenario.partition(":")[0] for scenario in scenarios}
    known = set(PERTURBATIONS.names())
    return [
        scenario for scenario, name in names.items() if name in known and not PERTURBATIONS.load(name).speech
    ]
