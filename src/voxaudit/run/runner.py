"""Run a plan: hear what the store and the cache lack, record every outcome, write the transcripts table."""

from __future__ import annotations

import platform
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from importlib import metadata
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from voxaudit import __version__
from voxaudit.audio import AudioError, read
from voxaudit.corpus import Corpus, labeled
from voxaudit.corpus.roles import in_roles, join_tables
from voxaudit.errors import VoxauditError, one_line
from voxaudit.files import publish
from voxaudit.files import require as require_url
from voxaudit.options import RunOptions, takes_options
from voxaudit.perturb import open_slots, parse_scenarios
from voxaudit.perturb.base import Perturbation
from voxaudit.perturb.scenario import perturbation_names
from voxaudit.perturb.sources import Source, describe_sources, open_sources
from voxaudit.perturb.sources.open import is_given
from voxaudit.recognize import AnswersById, Recognizer, make_recognizer, require, settings_of
from voxaudit.recognize.base import RecognizerError
from voxaudit.run.budget import Budget, Meter, is_remote
from voxaudit.run.cache import Cache, opened_cache
from voxaudit.run.folder import Run, local_folder, make_folder, published_files, read_config, write_config
from voxaudit.run.local import Pool
from voxaudit.run.lock import hold
from voxaudit.run.plan import UNREADABLE, Chunk, Plan, unfinished
from voxaudit.run.progress import Progress
from voxaudit.run.store import TRANSCRIPT_COLUMNS, Store
from voxaudit.run.trial import Outcome, Trial
from voxaudit.run.worker import Job
from voxaudit.tables import remove_half_written, write_atomically, write_parquet

BATCHES_AHEAD = 32
"""Batches among whose trials those of one batch are chosen: what is about equally long is heard together."""

HOPELESS = 25
"""A recognizer whose first trials all fail is stopped after this many: something is wrong with it, not with them."""

RecognizerLike = str | Recognizer | Callable[..., Any]


@takes_options()
def run_trials(
    corpus: Corpus,
    recognizers: Sequence[RecognizerLike] | Mapping[str, RecognizerLike],
    scenarios: Sequence[str] = ("quick",),
    *,
    out: str | Path,
    corpora: Mapping[str, Corpus] | None = None,
    sources: Mapping[str, Source | str | Path] | None = None,
    options: RunOptions | None = None,
    **given: Any,
) -> Run:
    """Hear a corpus: every utterance, under every scenario, by every recognizer.

    `scenarios` are ids (`gaussian_noise:3`) and suite names; `clean` is always heard too. Results are committed to
    the folder `out` as they come: run the same again and only what is missing is heard. `corpora` are further corpora
    by role (`accented`, `far_field_ami`): each is a scenario of that name, heard as it is. `sources` are folders of
    noise or rooms by perturbation, in place of the built-in ones; crosstalk is other speakers of the corpus unless a
    folder is given. Under a scenario's id (`pgd:1`) they are audio that somebody else made in place of it: a folder or
    manifest, whose files have the utterances' ids or names.

    The options of `RunOptions` can be given together as `options`, and each by its name (`workers=2`). `timeout`
    (seconds) and `retries` are per trial; a trial that fails is recorded with its reason and, unless `retry_failed`,
    not tried again. `cache` shares transcripts between runs: True for the user's cache folder, or a folder.
    `max_cost` (US dollars) and `max_minutes` (of audio billed) limit what services hear in this call: what does not
    fit is not sent, and one line says so once everything else is done. With `executor="ray"` the trials are heard on
    the Ray cluster at `ray_address`, by `workers` replicas of the recognizer (default: as many as the cluster holds)
    of `replica_cpus` CPUs and `replica_gpus` GPUs each; the results are the same as on this machine.
    """
    options = RunOptions.of(options, **given)
    if options.publish is not None:
        require_url(options.publish)
    plan, not_heard = make_plan(
        corpus, recognizers, scenarios, corpora=corpora, sources=sources, seed=options.seed
    )
    budget = Budget(options.max_cost, options.max_minutes)
    budget.require(plan.recognizers)
    folder = local_folder(out)
    try:
        with ExitStack() as stack:
            pools = stack.enter_context(open_executor(options, folder / "workers.log"))
            stack.enter_context(hold(make_folder(folder)))
            prepare_folder(folder, plan, not_heard)
            store = stack.enter_context(closing(Store(folder / "trials.sqlite")))
            kept = stack.enter_context(opened_cache(options.cache))
            bars = stack.enter_context(Progress(options.progress))
            for name in plan.recognizers:
                bars.begin(name, plan.trials_of(name))
                for part in plan.by_language(name):
                    _Hearing(
                        part, name, store, kept, pools, options, bars, folder / "workers.log", budget
                    ).run()
            if budget.reached is not None:
                raise VoxauditError(
                    f"the budget is used up: {budget.reached}. What was heard is kept in {folder}; raise the limit and"
                    " run again to go on"
                )
            write_parquet(folder / "transcripts.parquet", _transcripts(plan, store), TRANSCRIPT_COLUMNS)
    except OSError as error:
        raise VoxauditError(f"{error.filename or folder}: {error.strerror or one_line(error)}") from error
    if options.publish is not None:
        publish(published_files(folder), options.publish)
    return Run(folder)


def make_plan(
    corpus: Corpus,
    recognizers: Sequence[RecognizerLike] | Mapping[str, RecognizerLike],
    scenarios: Sequence[str] = ("quick",),
    *,
    corpora: Mapping[str, Corpus] | None = None,
    sources: Mapping[str, Source | str | Path] | None = None,
    seed: int = 0,
) -> tuple[Plan, dict[str, str]]:
    """Return the grid of a run, and {scenario id: what it needs} of the slots that nothing fills."""
    corpus = labeled(corpus)
    natural = in_roles({role: labeled(one) for role, one in (corpora or {}).items()})
    scenarios = [*scenarios, *(name for name in sources or {} if is_given(name) and name not in scenarios)]
    opened = open_sources(sources or {}, perturbation_names(scenarios), corpus)
    plan = Plan(corpus, named_recognizers(recognizers), parse_scenarios(scenarios, opened), seed, natural)
    not_heard = open_slots(scenarios, [*natural, *(scenario.id for scenario in plan.scenarios)])
    for id_ in scenarios:
        if id_ in not_heard:
            raise VoxauditError(f"scenario '{id_}' needs {not_heard[id_]}")
    return plan, not_heard


@dataclass(frozen=True)
class _Hearing:
    """One recognizer's part of a run."""

    plan: Plan
    name: str
    store: Store
    cache: Cache | None
    pools: MakePool
    options: RunOptions
    bars: Progress
    log: Path
    budget: Budget

    def run(self) -> None:
        recognizer = self.plan.recognizers[self.name]
        if isinstance(recognizer, AnswersById):
            self._look_up(recognizer)
            return
        job = Job(recognizer, self.plan.scenarios_by_id(self.name), self.plan.seed, self.options.limits)
        hopeless = _Hopeless(self.name)
        try:
            with self.pools(job, self.options, self.log) as pool:
                for outcomes in pool.hear(self._by_length()):
                    self._record(outcomes, heard=True)
                    hopeless.watch(outcomes)
        except RecognizerError as error:
            raise _named_error(self.name, error) from error

    def _by_length(self) -> Iterator[Trial]:
        """Yield what is to be heard; for an engine that hears batches, clips of like length one after the other.

        A batch costs as much as if all of it were as long as its longest clip.
        """
        trials, recognizer = self._to_hear(), self.plan.recognizers[self.name]
        if recognizer.batch_size <= 1 or is_remote(recognizer):
            yield from trials
            return
        meter = Meter(recognizer, self.plan.scenarios_by_id(self.name))
        while some := list(islice(trials, BATCHES_AHEAD * recognizer.batch_size)):
            yield from sorted(some, key=meter.seconds)

    def _to_hear(self) -> Iterator[Trial]:
        recognizer = self.plan.recognizers[self.name]
        limited = self.budget.limited and is_remote(recognizer)
        meter = Meter(recognizer, self.plan.scenarios_by_id(self.name)) if limited else None
        for chunk in self._unfinished():
            self.bars.advance(chunk.finished)
            self._record(chunk.failed)
            found = self.cache.find([trial.key for trial in chunk.trials]) if self.cache else {}
            self._record([Outcome(trial, *found[trial.key]) for trial in chunk.trials if trial.key in found])
            left = (trial for trial in chunk.trials if trial.key not in found)
            yield from left if meter is None else self.budget.within(left, meter)
            if meter is not None and self.budget.reached is not None:
                return

    def _unfinished(self) -> Iterator[Chunk]:
        options = self.options
        return unfinished(
            self.plan, self.name, self.store, retry_failed=options.retry_failed, limits=options.limits
        )

    def _look_up(self, recognizer: AnswersById) -> None:
        for chunk in self._unfinished():
            self.bars.advance(chunk.finished)
            found = recognizer.lookup([trial.utterance for trial in chunk.trials])
            missing = f"recognizer: no transcript for this utterance in {recognizer.source}"
            self._record(
                [
                    Outcome(
                        trial,
                        found.get(trial.utterance),
                        failure=None if trial.utterance in found else missing,
                    )
                    for trial in chunk.trials
                ]
            )

    def _record(self, outcomes: Sequence[Outcome], *, heard: bool = False) -> None:
        if not outcomes:
            return
        self.store.add(self.name, outcomes)
        if heard and self.cache is not None:
            self.cache.add(outcomes)
        failed = sum(outcome.failure is not None for outcome in outcomes)
        self.bars.advance(len(outcomes), heard=heard, failed=failed)


class _Hopeless:
    """Stops a recognizer that has never answered."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._failures: int | None = 0

    def watch(self, outcomes: Sequence[Outcome]) -> None:
        if self._failures is None:
            return
        if any(outcome.transcript is not None for outcome in outcomes):
            self._failures = None
            return
        reasons = deque(
            o.failure for o in outcomes if o.failure is not None and not o.failure.startswith(UNREADABLE)
        )
        self._failures += len(reasons)
        if self._failures >= HOPELESS:
            raise VoxauditError(
                f"recognizer '{self._name}' failed its first {self._failures} trials and was stopped"
                f" ({reasons[-1]}). Nothing already done is lost; fix it and run again",
                see=("retry_failed",),
            )


def named_recognizers(
    recognizers: Sequence[RecognizerLike] | Mapping[str, RecognizerLike],
) -> dict[str, Recognizer]:
    """Return the recognizers of a run by name, each checked to be usable in worker processes."""
    if isinstance(recognizers, Mapping):
        named = {name: make_recognizer(spec) for name, spec in recognizers.items()}
    else:
        named = {}
        for spec in recognizers:
            name = spec if isinstance(spec, str) else getattr(spec, "__name__", type(spec).__name__.lower())
            if name in named:
                raise VoxauditError(f"two recognizers are called '{name}': give them names of their own")
            named[name] = make_recognizer(spec)
    for name, recognizer in named.items():
        if type(recognizer).__module__ == "__main__":
            raise VoxauditError(
                f"recognizer '{name}': {type(recognizer).__name__} is defined in the script itself, where worker"
                " processes cannot find it. Move it to a module of its own"
            )
        try:
            require(recognizer)
        except RecognizerError as error:
            raise _named_error(name, error) from error
    if not named:
        raise VoxauditError("no recognizer given. `voxaudit list recognizers` shows what there is")
    return named


def _named_error(name: str, error: RecognizerError) -> RecognizerError:
    text = str(error)
    return error if text.startswith("recognizer '") else RecognizerError(f"recognizer '{name}': {text}")


def prepare_folder(folder: Path, plan: Plan, not_heard: Mapping[str, str]) -> None:
    """Write what the run is asked, after checking that the folder does not hold another run."""
    config: dict[str, Any] = {**_config(plan), "not_heard": dict(not_heard)}
    known: Mapping[str, Any] = {}
    if (folder / "run.json").exists():
        before = read_config(folder)
        for what, old, new in (
            ("corpus", before["corpus"]["source"], config["corpus"]["source"]),
            ("seed", before["seed"], config["seed"]),
        ):
            if old != new:
                raise VoxauditError(
                    f"{folder}: holds a run with another {what} ({one_line(str(old), 120)},"
                    f" not {one_line(str(new), 120)}). Choose another folder"
                )
        config["created"] = before["created"]
        if before["corpus"]["utterances"] == len(plan.corpus):
            known = before.get("unchanged", {})
    config["unchanged"] = _unchanged(plan, known)
    remove_half_written(folder)
    # Tables of an earlier state would contradict the new configuration until they are written again.
    for stale in ("transcripts.parquet", "scores.parquet", "quality.parquet"):
        (folder / stale).unlink(missing_ok=True)
    write_atomically(folder / "corpus.parquet", join_tables(plan.corpus, plan.natural).write_parquet)
    write_config(folder, config)


def _config(plan: Plan) -> dict[str, Any]:
    table = plan.corpus.table
    packages = ("numpy", "polars", "soundfile", "soxr", "rapidfuzz", "scipy", "whisper-normalizer")
    return {
        "created": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "voxaudit": __version__,
        "corpus": {
            "name": plan.corpus.name,
            "source": plan.corpus.source,
            "format": plan.corpus.format,
            "utterances": len(plan.corpus),
            "speakers": table["speaker"].drop_nulls().n_unique(),
            "skipped": plan.corpus.skipped,
        },
        "recognizers": {
            name: {"settings": settings_of(recognizer), "fingerprint": recognizer.fingerprint()}
            for name, recognizer in plan.recognizers.items()
        },
        "scenarios": [*(scenario.id for scenario in plan.scenarios), *plan.natural],
        "sources": describe_sources(plan.scenarios),
        "corpora": {
            role: {"name": corpus.name, "source": corpus.source, "utterances": len(corpus)}
            for role, corpus in plan.natural.items()
        },
        "seed": plan.seed,
        "versions": {
            "python": platform.python_version(),
            "platform": sys.platform,
            **{package: metadata.version(package) for package in packages},
        },
    }


LOOKED_AT = 200
"""Recordings that are looked at to say how many a scenario leaves as they are."""


def _unchanged(plan: Plan, known: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """Return, by scenario, how many of some recordings come out as they went in, where that can be.

    Who clips quiet speech at a share of full scale hears clean speech again, and would call it robustness. `known` is
    what was counted when the run was begun: a run that is resumed reads no recording for it.
    """
    asked = {
        one.id: one.perturbation
        for one in plan.scenarios
        if one.perturbation is not None and type(one.perturbation).leaves is not Perturbation.leaves
    }
    if asked.keys() <= known.keys():
        return {name: known[name] for name in asked}
    counts = dict.fromkeys(asked, 0)
    seen = 0
    if asked:
        step = max(1, len(plan.corpus) // LOOKED_AT)
        for utterance in islice(islice(plan.corpus, 0, None, step), LOOKED_AT):
            with suppress(AudioError):
                clip = read(utterance.audio, start=utterance.start, duration=utterance.duration)
                seen += 1
                for name, perturbation in asked.items():
                    counts[name] += perturbation.leaves(clip.samples, clip.rate)
    return {name: {"unchanged": count, "of": seen} for name, count in counts.items()}


def _transcripts(plan: Plan, store: Store) -> Iterator[pl.DataFrame]:
    """Yield the transcripts of this plan: the store may hold more, from an earlier state of the corpus."""
    for name in plan.recognizers:
        parts = [
            ([scenario.id for scenario in scenarios], corpus.table["id"].implode())
            for corpus, scenarios in plan.parts_of(name)
        ]
        wanted = pl.any_horizontal(
            pl.col("scenario").is_in(scenarios) & pl.col("utterance").is_in(ids) for scenarios, ids in parts
        )
        for chunk in store.transcripts([name]):
            yield chunk.filter(wanted)


# Where trials are heard: by processes on this machine, or by replicas on a Ray cluster. Both are used alike.


class Hears(Protocol):
    """Warm recognizers that hear trials."""

    def hear(self, trials: Iterator[Trial]) -> Iterator[list[Outcome]]:
        """Yield the outcomes of trials as they come, every trial exactly once."""


MakePool = Callable[[Job, RunOptions, Path], AbstractContextManager[Hears]]
"""Makes the pool of one recognizer, given how patient to be and where its output goes."""


@contextmanager
def open_executor(options: RunOptions, log: Path) -> Iterator[MakePool]:
    """Open the executor that is asked for: what is yielded makes a pool for each recognizer of a run.

    On Ray, `workers` is the number of replicas (None: as many as the cluster holds); what Ray itself says goes to
    `log`.
    """
    if options.executor == "local":
        yield Pool
        return
    from voxaudit.run.cluster import connect
    from voxaudit.run.ray_pool import RayPool

    with connect(
        options.ray_address,
        log,
        cpus=options.replica_cpus,
        gpus=options.replica_gpus,
        replicas=options.workers,
    ) as cluster:
        yield lambda job, options, log: RayPool(job, options, log, cluster)
