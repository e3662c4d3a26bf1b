"""The differential audit: fairness testing without reference texts (Rajan et al. 2022), with error rates that hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite
from pathlib import Path

import numpy as np
import polars as pl

from voxaudit.audits.differential.agreement import agree
from voxaudit.audits.differential.disagreement import measure_disagreement
from voxaudit.audits.differential.distances import NO_SPEAKERS, is_distances, read_grids
from voxaudit.audits.differential.findings import VIOLATION_SCHEMA, Chance, Findings, View
from voxaudit.audits.differential.intervals import gap_intervals
from voxaudit.audits.differential.permutation import chance_totals
from voxaudit.audits.differential.ratings import Ratings, published_ratings
from voxaudit.audits.differential.selection import select
from voxaudit.audits.differential.sources import open_source
from voxaudit.audits.differential.sums import FloatArray, SpeakerSums, check_taus
from voxaudit.audits.differential.testing import Tested, judge_violations
from voxaudit.audits.differential.violations import Grid, Places, find_violations
from voxaudit.audits.inputs import is_run
from voxaudit.errors import VoxauditError
from voxaudit.perturb.scenario_id import show_setting
from voxaudit.score.normalize import normalizer as find_normalizer
from voxaudit.stats.bootstrap import FEWEST_SPEAKERS
from voxaudit.tables import read_table

TAUS = (0.01, 0.05, 0.1, 0.15)
"""The tolerances of the paper."""

RESAMPLES = 2000
SHUFFLES = 999

UNLIKE_CLEAN = 0.2
"""Groups whose clean distances differ by more than this are not compared without a word about it."""


def differential(
    table: str | Path | pl.DataFrame,
    attribute: str | None = None,
    *,
    taus: Sequence[float] = TAUS,
    exclude: Iterable[str] = (),
    min_comprehensibility: float | None = None,
    ratings: Ratings | None = None,
    corpus: str | None = None,
    speaker: str = "speaker",
    clean: str | None = None,
    normalizer: str = "basic",
    fdr: float = 0.05,
    confidence: float = 0.95,
    seed: int = 0,
) -> list[Findings]:
    """Ask of every two groups whether disturbed speech drives recognizers further apart in one than in the other.

    `table` is a run's folder, transcripts (utterance, scenario, recognizer, text, speaker, reference where known, and
    the column `attribute`), or distances (pair, perturbation, setting, distance, the column `attribute` or `group`,
    perhaps corpus; AequeVox's names of columns will do). Returns one `Findings` a corpus; transcripts are one corpus.

    `exclude` holds scenarios (`scale:0.6`) or perturbations; `min_comprehensibility` keeps scenarios that people rated
    so (1 to 10, the published ratings unless `ratings` are given). `fdr` bounds the expected share of false claims
    among the significant violations. Same input and `seed`, same answer.
    """
    steps = check_taus(tuple(taus))
    for name, value in (("fdr", fdr), ("confidence", confidence)):
        if not 0.0 < value < 1.0:
            raise VoxauditError(f"{name} must lie between 0 and 1, not {value:g}")
    if seed < 0:
        raise VoxauditError(f"the seed must be 0 or more, not {seed}")
    if ratings is not None and min_comprehensibility is None:
        raise VoxauditError(
            "ratings of your own are used with --min-comprehensibility: say how much is enough"
        )
    if min_comprehensibility is not None and not isfinite(min_comprehensibility):
        raise VoxauditError(f"the least comprehensibility must be a number, not {min_comprehensibility}")
    rated = ratings or (published_ratings() if min_comprehensibility is not None else None)
    exclude = tuple(exclude)
    given = _distances(table)
    if given is not None:
        where = "the table" if isinstance(table, pl.DataFrame) else table
        grids = read_grids(given, where, attribute=attribute or "group", corpus=corpus)
        return [
            _from_grid(name, attribute or "group", grid, steps, exclude, min_comprehensibility, rated, fdr)
            for name, grid in grids.items()
        ]
    if corpus is not None:
        raise VoxauditError("--corpus chooses among the corpora of a table of distances; this is none")
    if attribute is None:
        raise VoxauditError("name the column of the groups to compare, e.g. --attribute gender")
    rule = find_normalizer(normalizer)
    measured = measure_disagreement(open_source(table, attribute, speaker=speaker, clean=clean), rule)
    kept, dropped = select(measured.between.scenarios, exclude, min_comprehensibility, rated)
    between = measured.between.with_scenarios(kept)
    view = ask(between, steps, fdr=fdr, confidence=confidence, seed=seed)
    truth = measured.against_truth
    wer = (
        None
        if truth is None
        else ask(truth.with_scenarios(kept), steps, fdr=fdr, confidence=confidence, seed=seed)
    )
    agreement = None
    if truth is not None and wer is not None:
        agreement = agree(
            _grid(between),
            _grid(truth.with_scenarios(kept)),
            steps,
            view.counts()["totals"],
            wer.counts()["totals"],
            (view.claimed(), wer.claimed()) if view.tested else None,
        )
    return [
        Findings(
            "",
            attribute,
            view,
            wer,
            agreement,
            None if between.untestable else dict(zip(between.groups, between.sizes(), strict=True)),
            rule.id,
            fdr,
            {**measured.left_out, **dropped},
            _refusals(view, between.untestable),
            (*_silences(between), *_little_room(view)),
        )
    ]


def _little_room(view: View) -> tuple[str, ...]:
    """Say where groups start from very different distances: who is near the ceiling cannot drift much further."""
    clean = view.degradations.filter(pl.col("original").is_not_null())
    notes = []
    for (pair,), part in clean.group_by("pair", maintain_order=True):
        apart = dict(part.group_by("group", maintain_order=True).agg(pl.col("original").first()).iter_rows())
        if apart and max(apart.values()) - min(apart.values()) > UNLIKE_CLEAN:
            far, near = max(apart, key=apart.__getitem__), min(apart, key=apart.__getitem__)
            notes.append(
                f"on clean speech {pair} are already {100 * apart[far]:.0f} % apart for {far} and"
                f" {100 * apart[near]:.0f} % for {near}: {far} has less room to drift further, so fewer violations of"
                " it do not mean that disturbance hurts it less"
            )
    return tuple(notes)


def ask(
    sums: SpeakerSums, taus: tuple[float, ...], *, fdr: float = 0.05, confidence: float = 0.95, seed: int = 0
) -> View:
    """Apply Algorithm 1 to sums per speaker, and test every violation where speakers are known."""
    grid = _grid(sums)
    found = find_violations(grid, taus)
    tested = judge_violations(sums, grid, found, taus, fdr=fdr, seed=seed)
    low = high = None
    chance = None
    generator = np.random.Generator(np.random.PCG64(seed))
    if sums.untestable is None:
        low, high = gap_intervals(sums, confidence=confidence, resamples=RESAMPLES, generator=generator)
        if min(sums.sizes()) >= FEWEST_SPEAKERS:
            shuffled = chance_totals(sums, taus, SHUFFLES, generator)
            real = np.bincount(found.group, minlength=len(sums.groups))
            chance = {
                group: Chance(
                    float(shuffled[:, place].mean()),
                    float(np.quantile(shuffled[:, place], 0.95)),
                    float(((shuffled[:, place] >= real[place]).sum() + 1) / (SHUFFLES + 1)),
                )
                for place, group in enumerate(sums.groups)
            }
    disturbed, clean = sums.distances()
    return _view(grid, found, taus, tested, (low, high), _degradations(grid, disturbed, clean), chance)


def _distances(table: str | Path | pl.DataFrame) -> pl.DataFrame | None:
    """Return a table of distances, or None where the table holds something else."""
    if isinstance(table, pl.DataFrame):
        return table if is_distances(table.columns) else None
    if is_run(table):
        return None
    path = Path(table)
    if path.suffix.lower() == ".parquet" and path.is_file():
        try:
            columns = pl.scan_parquet(path).collect_schema().names()
        except pl.exceptions.PolarsError:
            return None  # no Parquet file after all: the reader of transcripts says so
        return read_table(path) if is_distances(columns) else None
    if path.suffix.lower() in (".csv", ".tsv") and path.is_file():
        with path.open(encoding="utf-8", errors="replace") as lines:
            if "distance" not in lines.readline():
                return None  # not read twice: transcripts can be long
    read = read_table(path)
    return read if is_distances(read.columns) else None


def _from_grid(
    corpus: str,
    attribute: str,
    grid: Grid,
    taus: tuple[float, ...],
    exclude: tuple[str, ...],
    minimum: float | None,
    ratings: Ratings | None,
    fdr: float,
) -> Findings:
    kept, dropped = select(grid.scenarios, exclude, minimum, ratings)
    chosen = Grid(
        grid.groups,
        grid.pairs,
        tuple(grid.scenarios[place] for place in kept),
        grid.degradations[:, :, kept],
    )
    found = find_violations(chosen, taus)
    nothing = np.full(len(found), np.nan)
    untested = Tested(nothing, nothing, np.zeros(len(found), dtype=np.bool_), 0, ())
    view = _view(chosen, found, taus, untested, (None, None), _degradations(chosen, None, None), None)
    return Findings(corpus, attribute, view, None, None, None, None, fdr, dropped, (NO_SPEAKERS,), ())


def _grid(sums: SpeakerSums) -> Grid:
    return Grid(sums.groups, sums.pairs, sums.scenarios, sums.degradations())


def _view(
    grid: Grid,
    found: Places,
    taus: tuple[float, ...],
    tested: Tested,
    limits: tuple[FloatArray | None, FloatArray | None],
    degradations: pl.DataFrame,
    chance: dict[str, Chance] | None,
) -> View:
    def names(values: Sequence[str], places: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> pl.Series:
        return pl.Series(values, dtype=pl.String).gather(places)

    at = (found.group, found.against, found.pair, found.scenario)
    low, high = (np.full(len(found), np.nan) if side is None else side[at] for side in limits)
    columns = {
        "group": names(grid.groups, found.group),
        "against": names(grid.groups, found.against),
        "pair": names(grid.pairs, found.pair),
        "scenario": names([c.id for c in grid.scenarios], found.scenario),
        "perturbation": names([c.perturbation for c in grid.scenarios], found.scenario),
        "setting": names([show_setting(c.setting) for c in grid.scenarios], found.scenario),
        "tau": np.asarray(taus)[found.tau],
        "gap": found.gap,
        **{
            name: pl.Series(values, dtype=pl.Float64).fill_nan(None)
            for name, values in (("ci_low", low), ("ci_high", high), ("p", tested.p), ("q", tested.q))
        },
    }
    verdicts = pl.when(pl.col("p").is_not_null()).then(pl.Series("verdict", tested.significant))
    violations = pl.DataFrame(columns).with_columns(significant=verdicts)
    return View(
        grid.groups,
        grid.pairs,
        grid.scenarios,
        taus,
        degradations,
        violations.select(pl.col(name).cast(kind) for name, kind in VIOLATION_SCHEMA.items()),
        tested.family,
        tested.comparisons,
        chance,
    )


def _degradations(grid: Grid, disturbed: FloatArray | None, clean: FloatArray | None) -> pl.DataFrame:
    rows = [(g, p, c) for g in grid.groups for p in grid.pairs for c in grid.scenarios]
    parts = {"distance": disturbed, "original": clean, "degradation": grid.degradations}
    return pl.DataFrame(
        {
            "group": [g for g, _, _ in rows],
            "pair": [p for _, p, _ in rows],
            "scenario": [c.id for _, _, c in rows],
            **{
                name: pl.Series(
                    [None] * len(rows) if values is None else values.ravel(), dtype=pl.Float64
                ).fill_nan(None)
                for name, values in parts.items()
            },
        }
    )


def _refusals(view: View, untestable: str | None) -> tuple[str, ...]:
    if untestable:
        return (f"no p-values: {untestable}",)
    return tuple(
        f"{comparison.group} and {comparison.against} are not tested: {comparison.refusal}"
        for comparison in view.comparisons
        if comparison.refusal
    )


def _silences(sums: SpeakerSums) -> tuple[str, ...]:
    """Say where both recognizers heard nothing in a whole group, so that there is no distance."""
    missing = np.argwhere(~np.isfinite(sums.degradations()))
    if not len(missing):
        return ()
    group, pair, scenario = (int(place) for place in missing[0])
    return (
        f"{len(missing)} distance(s) do not exist because both recognizers returned no words, or nothing at all, for a"
        f" whole group: first {sums.groups[group]}, {sums.pairs[pair]}, {sums.scenarios[scenario].id}; not compared",
    )
