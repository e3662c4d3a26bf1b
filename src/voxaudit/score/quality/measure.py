"""Measure the quality of a corpus or a run: every utterance of a sample under every scenario, each once."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from voxaudit.audio import AudioError, content_hash
from voxaudit.corpus import Corpus, Utterance
from voxaudit.corpus.select import parse_clause, select
from voxaudit.errors import VoxauditError, missing_extra, one_line
from voxaudit.files import cache_folder
from voxaudit.perturb import Scenario, open_slots, parse_scenarios
from voxaudit.perturb.scenario import perturbation_names
from voxaudit.perturb.sources import Source, open_sources, reopen_sources
from voxaudit.recognize.files import installed
from voxaudit.run.database import Database, marks
from voxaudit.run.folder import Run, clean_corpus
from voxaudit.run.progress import Progress
from voxaudit.score.quality.difficulty import FEWEST_SCENARIOS, QUALITY, difficulties
from voxaudit.score.quality.dnsmos import load_dnsmos
from voxaudit.score.quality.measures import COLUMNS, Measured, failed, fingerprint
from voxaudit.score.quality.worker import DIED, Job, Task, measure_here, measure_tasks
from voxaudit.tables import write_atomically

FIRST_SAMPLE = 32
"""Utterances measured before the first look at the intervals; each further look is at twice as many."""

NARROW = 2.5
"""Points of difficulty to either side at which every interval is narrow enough."""

WORTHWHILE = 0.2
"""Twice as many utterances must narrow the widest interval by this share, or no more are measured: where speakers
differ more than their utterances do, further utterances of the same people add nothing."""

CHUNK = 16
"""Scenarios measured between two commits."""

DNSMOS = "dnsmos"
"""The column that is measured where a choice of utterances asks for it."""


@dataclass(frozen=True)
class _Part:
    """Utterances in the order of measuring, and the scenarios they are measured under."""

    corpus: Corpus
    scenarios: tuple[Scenario, ...]


@dataclass(frozen=True)
class _Plan:
    parts: tuple[_Part, ...]
    job: Job
    groups: tuple[str, ...]
    marks: dict[str, str]

    def wanted(self, scenario: Scenario) -> tuple[str, ...]:
        """Return the groups of a scenario: without a clean twin there is no PESQ."""
        twin = scenario.perturbation is not None
        return tuple(group for group in self.groups if group in self.marks and (twin or group != "pesq"))


_Key = tuple[str, str, str]  # utterance, scenario, group


def measure_quality(
    source: Run | Corpus,
    scenarios: Sequence[str] | None = None,
    *,
    utterances: int | None = None,
    p835: bool = False,
    windows: str = "every",
    seed: int = 0,
    workers: int | None = None,
    store: str | Path | None = None,
    progress: bool = False,
) -> pl.DataFrame:
    """Return the quality of utterances under scenarios, one row each; what was measured before is not measured again.

    `scenarios` are ids and suite names, `clean` always among them; a run's own (with its natural ones and its seed)
    if not given. Those that leave no speech are not measured. `utterances` are so many, chosen by `seed` and spread
    over the speakers; without a number 32 are measured, then twice as many, until every difficulty is known to 2.5
    points either way, more utterances stop helping, or there are no more (all of them where fewer than three
    scenarios are asked for). `p835` adds the scores of the dearer DNSMOS model; `windows` is the rule by which DNSMOS
    is averaged over a recording (`every`, `speechmos`). `workers` are processes, as many as cores if not given.
    Numbers are kept in `store`, an SQLite file: in the run's folder, else in the user's cache folder.

    Columns: utterance, speaker, scenario, dnsmos (P.808, overall MOS), with `p835` overall, signal and background,
    pesq (null without a clean twin), snr (dB), windows, missing (what could not be measured, and why). The table of a
    run's own scenarios is also written to its folder as `quality.parquet`.
    """
    if utterances is not None and utterances < 1:
        raise VoxauditError(f"utterances must be at least 1, not {utterances}")
    if workers is not None and workers < 1:
        raise VoxauditError(f"workers must be at least 1, not {workers}")
    load_dnsmos(windows)  # what is missing is said now
    if isinstance(source, Run):
        seed = int(source.config["seed"])
        parts = _parts_of_run(source, scenarios)
        place = Path(store) if store else source.folder / "quality.sqlite"
    else:
        asked = scenarios or ()
        opened = open_sources({}, perturbation_names(asked), source)
        parts = (_Part(source, _without_slots(asked, opened)),)
        place = Path(store) if store else cache_folder() / "quality.sqlite"
    groups = ("p808", *(("p835",) if p835 else ()), "pesq", "snr")
    known = {group: fingerprint(group, windows) for group in groups if group != "pesq" or installed("pesq")}
    plan = _Plan(tuple(_ready(part, seed) for part in parts), Job(seed, windows), groups, known)
    try:
        with ExitStack() as stack:
            kept = stack.enter_context(closing(QualityStore(place)))
            bars = stack.enter_context(Progress(progress))
            table = _measure_enough(plan, kept, utterances, workers or os.cpu_count() or 1, bars)
    except OSError as error:
        raise VoxauditError(f"{error.filename or place}: {error.strerror or one_line(error)}") from error
    if isinstance(source, Run) and scenarios is None:
        write_atomically(source.folder / QUALITY, table.write_parquet)
    return table


def select_measured(
    corpus: Corpus,
    clauses: Sequence[str],
    *,
    workers: int | None = None,
    progress: bool = False,
    report: Callable[[str], None] | None = None,
) -> tuple[Corpus, int]:
    """Return the utterances that meet every clause, and how many had to be measured for that.

    A clause on `dnsmos` is measured where the corpus does not have that column, and only for what the other clauses
    leave; utterances that cannot be measured do not meet it.
    """
    parsed = [parse_clause(text) for text in clauses]
    later = [one for one in parsed if one.column == DNSMOS and DNSMOS not in corpus.table.columns]
    chosen = select(corpus, [one for one in parsed if one not in later])
    if not later:
        return chosen, 0
    if report is not None:
        report(f"measuring the quality of {len(chosen):,} utterances (DNSMOS); kept for the next time")
    quality = measure_quality(chosen, utterances=len(chosen), workers=workers, progress=progress)
    clean = quality.select(pl.col("utterance").alias("id"), pl.col(DNSMOS).round(6).cast(pl.String))
    table = chosen.table.join(clean, on="id", how="left", maintain_order="left")
    return select(replace(chosen, table=table), later), len(chosen)


def _parts_of_run(run: Run, scenarios: Sequence[str] | None) -> tuple[_Part, ...]:
    """Return the clean corpus and, after it in the run's table, the corpus of every role."""
    config: dict[str, Any] = run.config
    roles: dict[str, Any] = config.get("corpora", {})
    wanted = config["scenarios"] if scenarios is None else scenarios
    asked = [id_ for id_ in wanted if id_ not in roles]
    size = int(config["corpus"]["utterances"])
    corpus = clean_corpus(run)
    recorded = config.get("sources", {})
    sources = reopen_sources(recorded, corpus)
    if scenarios is not None:
        sources |= open_sources({}, perturbation_names(asked) - set(recorded), corpus)
    parts = [_Part(corpus, _without_slots(asked, sources))]
    for role, about in roles.items():
        rows = run.corpus.slice(size, int(about["utterances"]))
        if role in wanted:
            parts.append(_Part(_corpus(role, rows), (Scenario(role, None),)))
        size += int(about["utterances"])
    return tuple(parts)


def _without_slots(asked: Sequence[str], sources: Mapping[str, Source]) -> tuple[Scenario, ...]:
    """Return the scenarios asked for. A suite's slots are left out; one asked for by its own name raises one line."""
    empty = open_slots(asked, sources)
    for id_ in asked:
        if id_ in empty:
            raise VoxauditError(f"scenario '{id_}' needs {empty[id_]}")
    return parse_scenarios(asked, sources)


def _corpus(name: str, table: pl.DataFrame) -> Corpus:
    return Corpus(name, "run", table)


def _ready(part: _Part, seed: int) -> _Part:
    heard = tuple(s for s in part.scenarios if s.perturbation is None or s.perturbation.speech)
    corpus = part.corpus
    ordered = Corpus(corpus.name, corpus.format, sampling_order(corpus.table, seed), source=corpus.source)
    return _Part(ordered, heard)


def _measure_enough(
    plan: _Plan, store: QualityStore, asked: int | None, workers: int, bars: Progress
) -> pl.DataFrame:
    largest = max((len(part.corpus) for part in plan.parts), default=0)
    scenarios = sum(len(part.scenarios) for part in plan.parts)
    size = asked or (FIRST_SAMPLE if scenarios >= FEWEST_SCENARIOS else largest)
    before = math.inf
    while True:
        bars.begin("quality", _cells(plan, size))
        table = _measure_sample(plan, store, size, workers, bars)
        if asked is not None or size >= largest:
            return table
        width = _widest(table)
        # Where there is no interval at all, further utterances give none either.
        if width <= NARROW or not width < (1.0 - WORTHWHILE) * before:
            return table
        before, size = width, 2 * size


def _cells(plan: _Plan, size: int) -> int:
    return sum(min(size, len(part.corpus)) * len(part.scenarios) for part in plan.parts)


def _widest(table: pl.DataFrame) -> float:
    """Return how far the widest interval of a difficulty reaches to either side; infinity where there is none.

    A scenario with too few speakers for an interval, such as four synthetic voices, does not count: it will never
    have one.
    """
    try:
        found = difficulties(table)
    except VoxauditError:
        return math.inf
    reach = ((found["high"] - found["low"]) / 2.0).drop_nulls().max()
    return reach if isinstance(reach, float) else math.inf


def _measure_sample(
    plan: _Plan, store: QualityStore, size: int, workers: int, bars: Progress
) -> pl.DataFrame:
    """Measure what the store lacks of the first `size` utterances of every part, and return all of it."""
    results: dict[_Key, Measured] = {}
    keys: dict[_Key, bytes] = {}
    tasks: list[Task] = []
    for part in plan.parts:
        for utterance in _first(part.corpus, size):
            tasks += _unmeasured(plan, part.scenarios, utterance, store, keys, results)
    bars.advance(_cells(plan, size) - sum(len(task.wanted) for task in tasks))
    if workers == 1 or len(tasks) == 1:
        answers = measure_here(plan.job, tasks)
    else:
        answers = measure_tasks(plan.job, tasks, workers)
    for task, answer in answers:
        named = [((task.utterance, scenario, one.group), one) for scenario, some in answer for one in some]
        results.update(named)
        # A process may have died for want of memory: that is tried again next time.
        store.add((keys[key], one) for key, one in named if one.reason != DIED)
        bars.advance(len(answer), heard=True)
    rows = [row for part in plan.parts for row in _rows(plan, part, size, results)]
    return pl.DataFrame(rows, schema=_schema(plan.groups), orient="row")


def _first(corpus: Corpus, size: int) -> Iterator[Utterance]:
    return iter(Corpus(corpus.name, corpus.format, corpus.table.head(size)))


def _unmeasured(
    plan: _Plan,
    scenarios: Sequence[Scenario],
    utterance: Utterance,
    store: QualityStore,
    keys: dict[_Key, bytes],
    results: dict[_Key, Measured],
) -> list[Task]:
    """Return what is left to measure of an utterance; what the store knows goes to `results`."""
    try:
        content = content_hash(utterance.audio)
    except AudioError as error:
        for scenario in scenarios:
            for one in failed(plan.wanted(scenario), error):
                results[utterance.id, scenario.id, one.group] = one
        return []
    own: dict[_Key, bytes] = {}
    for scenario in scenarios:
        mark = scenario.fingerprint(seed=plan.job.seed, utterance=utterance.id)
        for group in plan.wanted(scenario):
            own[utterance.id, scenario.id, group] = quality_key(
                content, utterance.start, utterance.duration, mark, plan.marks[group]
            )
    found = store.find(list(own.values()))
    results.update((key, Measured(key[2], *found[bytes_])) for key, bytes_ in own.items() if bytes_ in found)
    keys.update(own)
    left = [
        (scenario, groups)
        for scenario in scenarios
        if (
            groups := tuple(
                g for g in plan.wanted(scenario) if own[utterance.id, scenario.id, g] not in found
            )
        )
    ]
    about = (utterance.id, str(utterance.audio), utterance.start, utterance.duration)
    return [Task(*about, tuple(left[first : first + CHUNK])) for first in range(0, len(left), CHUNK)]


def _rows(plan: _Plan, part: _Part, size: int, results: dict[_Key, Measured]) -> Iterator[tuple[Any, ...]]:
    absent = "" if "pesq" in plan.marks else f"pesq: {missing_extra('pesq', 'quality')}"
    for utterance in _first(part.corpus, size):
        for scenario in part.scenarios:
            values: list[float | None] = []
            reasons = [absent] if absent and scenario.perturbation is not None else []
            for group in plan.groups:
                one = results.get((utterance.id, scenario.id, group))
                numbers = one.values if one else None
                values += numbers if numbers is not None else [None] * len(COLUMNS[group])
                if one and one.reason:
                    reasons.append(f"{group}: {one.reason}")
            missing = "; ".join(reasons) or None
            yield (utterance.id, utterance.speaker, scenario.id, *values, plan.job.rule, missing)


def _schema(groups: Sequence[str]) -> dict[str, type[pl.DataType]]:
    numbers = {column: pl.Float64 for group in groups for column in COLUMNS[group]}
    named: dict[str, type[pl.DataType]] = {
        "utterance": pl.String,
        "speaker": pl.String,
        "scenario": pl.String,
    }
    return {**named, **numbers, "windows": pl.String, "missing": pl.String}


# Which utterances are measured first: a fixed order, spread over the speakers.


def sampling_order(table: pl.DataFrame, seed: int = 0) -> pl.DataFrame:
    """Return a corpus table in the order of measuring: one utterance of every speaker, then a second one, and so on.

    The order depends on the seed and the ids alone, so that a larger sample contains every smaller one.
    """

    def draw(id_: str) -> str:
        return hashlib.sha256(f"{seed}\0{id_}".encode("utf-8", "surrogatepass")).hexdigest()

    drawn = table.with_columns(_draw=table["id"].map_elements(draw, return_dtype=pl.String))
    ranked = drawn.with_columns(_rank=pl.col("_draw").rank("ordinal").over("speaker"))
    return ranked.sort("_rank", "_draw").drop("_rank", "_draw")


# Numbers that were measured before, found by content: nothing is measured twice.

_SCHEMA = """
CREATE TABLE IF NOT EXISTS quality (
    key BLOB PRIMARY KEY, numbers TEXT, reason TEXT
) WITHOUT ROWID;
"""


def quality_key(recording: str, start: float, duration: float | None, scenario: str, group: str) -> bytes:
    """Return the 16-byte identity of a group of numbers.

    It covers the recording's content hash and segment, the scenario's fingerprint and the group's.
    """
    parts = json.dumps([recording, start, duration, scenario, group])
    return hashlib.sha256(parts.encode("utf-8", "surrogatepass")).digest()[:16]


class QualityStore:
    """Numbers by key, in one SQLite file; several processes may use it at once."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._database = Database(path, _SCHEMA)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def find(self, keys: Sequence[bytes]) -> dict[bytes, tuple[tuple[float, ...] | None, str | None]]:
        """Return {key: (numbers, reason why there are none)} of the keys that are known."""
        found: dict[bytes, tuple[tuple[float, ...] | None, str | None]] = {}
        for first in range(0, len(keys), 500):
            some = keys[first : first + 500]
            rows = self._database.read(
                f"SELECT key, numbers, reason FROM quality WHERE key IN ({marks(some)})", some
            )
            for key, numbers, reason in rows:
                with suppress(TypeError, ValueError, RecursionError):  # no numbers of ours: measured again
                    values = None if numbers is None else tuple(map(float, json.loads(numbers)))
                    found[key] = (values, reason)
        return found

    def add(self, measured: Iterable[tuple[bytes, Measured]]) -> None:
        """Keep numbers and reasons, in one transaction."""
        rows = [
            (key, None if one.values is None else json.dumps(one.values), one.reason) for key, one in measured
        ]
        self._database.write("INSERT OR REPLACE INTO quality VALUES (?, ?, ?)", rows)
