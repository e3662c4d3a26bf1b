"""Differential: the question, the decision and the words (Rajan et al. 2022, with error rates that hold)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from itertools import combinations, pairwise, product
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from voxaudit.answer import (
    Answer,
    Cell,
    Figure,
    Finding,
    Forest,
    ForestRow,
    Note,
    Refusal,
    Table,
    Tables,
    Verdict,
    finding_id,
    refuse,
    tabulate,
)
from voxaudit.audits.audit import asks
from voxaudit.audits.differential.measure import Disagreement, is_distances, measure_disagreement, read_grids
from voxaudit.audits.scores import Names, Source, Transcripts
from voxaudit.errors import VoxauditError
from voxaudit.perturb.comprehensibility import Ratings, published_ratings, read_ratings, select
from voxaudit.perturb.scenario_id import ScenarioId, show_setting
from voxaudit.score.normalize import Normalizer
from voxaudit.score.normalize import normalizer as find_normalizer
from voxaudit.stats.agreement import Overlap, overlap, rank_correlation
from voxaudit.stats.bootstrap import FEWEST_SPEAKERS
from voxaudit.stats.cells import FloatArray, IntArray
from voxaudit.stats.speaker_permutations import (
    Comparison,
    Grid,
    Places,
    SpeakerSums,
    Tested,
    chance_totals,
    find_violations,
    gap_intervals,
    judge_violations,
)
from voxaudit.wording import counted, listed, p_value

TAUS = (0.01, 0.05, 0.1, 0.15)
"""The tolerances of the paper."""

MOST_QUESTIONS = 10_000
"""Questions (groups x pairs of recognizers x scenarios x tolerances) that are tested one by one; of a larger grid the
middle two tolerances are asked."""

RESAMPLES = 2000
SHUFFLES = 999

UNLIKE_CLEAN = 0.2
"""Groups whose clean distances differ by more than this are not compared without a word about it."""

MOST_FOREST = 24
"""Surviving gaps that are drawn."""

CELL = ("group", "against", "pair", "scenario")
"""What a violation is about, its tolerance aside."""

LEAD = (
    "Where two recognizers drift further apart under a disturbance for one group than for another, by more than a"
    " tolerance, AequeVox's rule counts a violation (Rajan et al. 2022). The rule counts violations where groups mean"
    " nothing, too: `by chance` is what it finds when speakers change groups at random, and only what survives a test"
    " with false-discovery control is a finding. To drift apart is not to make more errors: a group that both"
    " recognizers get wrong in clean speech has little room to."
)


@dataclass(frozen=True)
class Chance:
    """Violations that the plain rule counts for a group when speakers' labels are shuffled.

    `mean` and `upper` (95th percentile) of the shuffled counts; `p`, the share of them at or above the real count.
    """

    mean: float
    upper: float
    p: float


@dataclass(frozen=True)
class View:
    """One way of asking: distances between recognizers, or word error rates (then a pair is one recognizer)."""

    groups: tuple[str, ...]
    pairs: tuple[str, ...]
    scenarios: tuple[ScenarioId, ...]
    taus: tuple[float, ...]
    degradations: pl.DataFrame
    """One row per group, pair and scenario: `distance`, `clean` (null for a table of distances), `degradation`."""
    violations: pl.DataFrame
    """One row per group, against, pair, scenario and tau with a gap beyond tau: `gap` with `low` and `high`, `p`,
    `p_adjusted`, `verdict` (`shown`, `not_shown`, or `refused` where it could not be tested)."""
    family: int
    comparisons: tuple[Comparison, ...]
    chance: Mapping[str, Chance] | None

    @property
    def tested(self) -> bool:
        """Whether any question could be tested."""
        return self.family > 0

    @property
    def surviving(self) -> pl.DataFrame:
        """The violations that survive, each cell (`CELL`) once, at the largest tau that the data carry."""
        rows = self.violations.filter(pl.col("verdict") == "shown")
        cells = rows.sort("tau", descending=True, maintain_order=True).unique(
            CELL, keep="first", maintain_order=True
        )
        return cells.sort("tau", "gap", descending=True, maintain_order=True)

    def counts(self) -> pl.DataFrame:
        """Return violations by group, all and those that survive: `by` and `value` say of what, zeros included.

        Taus are nested, so a gap beyond all of them counts once for each, as in the paper's Table 4.
        """
        scenarios = self.scenarios
        kinds: dict[str, tuple[list[str], pl.Expr]] = {
            "all": ([""], pl.lit("")),
            "tolerance": (
                shown := [f"{tau:g}" for tau in self.taus],
                pl.col("tau").replace_strict(list(self.taus), shown, return_dtype=pl.String),
            ),
            "pair": (list(self.pairs), pl.col("pair")),
            "perturbation": (list(dict.fromkeys(c.perturbation for c in scenarios)), pl.col("perturbation")),
            "scenario": ([scenario.id for scenario in scenarios], pl.col("scenario")),
        }
        parts = []
        for by, (values, value) in kinds.items():
            found = self.violations.group_by("group", value=value).agg(
                violations=pl.len().cast(pl.Int64),
                surviving=(pl.col("verdict") == "shown").sum().cast(pl.Int64),
            )
            cells = [(by, value, group) for value, group in product(values, self.groups)]
            grid = pl.DataFrame(
                cells, schema=dict.fromkeys(("by", "value", "group"), pl.String), orient="row"
            )
            parts.append(grid.join(found, on=["group", "value"], how="left", maintain_order="left"))
        table = pl.concat(parts).with_columns(pl.col("violations", "surviving").fill_null(0))
        return table if self.tested else table.with_columns(surviving=pl.lit(None, dtype=pl.Int64))

    def totals(self, column: str = "violations") -> dict[str, int]:
        """Return the violations of each group, or with `surviving` those that survive."""
        table = self.counts().filter(pl.col("by") == "all")
        return dict(table.select("group", pl.col(column).fill_null(0)).iter_rows())


@dataclass(frozen=True)
class Differential:
    """All that is found in one corpus: distances between recognizers, word error rates where asked, their agreement."""

    corpus: str
    attribute: str
    view: View
    fdr: float
    speakers: Mapping[str, int] | None = None
    normalizer: str | None = None
    wer: View | None = None
    agreement: Agreement | None = None
    left_out: Mapping[str, int] | None = None
    refusals: tuple[Refusal, ...] = ()
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True)
class Agreement:
    """The two views side by side.

    A cell is (group, against, pair, scenario). Its WER gap is the mean of the pair's two recognizers. `spearman` is
    the rank correlation of the gaps over cells, `spearman_degradation` that of the degradations of each group, and
    `overlap` compares the cells beyond each tau. `significant` compares the (group, against, scenario) with any
    significant violation.
    """

    cells: int
    spearman: float | None
    spearman_degradation: dict[str, float | None]
    overlap: dict[str, Overlap]
    significant: Overlap | None


# The question


@asks("differential")
def differential(
    source: Source,
    *,
    attribute: str | None = None,
    recognizer: Names = None,
    scenario: Names = None,
    corpus: Names = None,
    language: Names = None,
    where: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    tau: Sequence[float] = (),
    exclude: Sequence[str] = (),
    min_comprehensibility: float | None = None,
    ratings: str | Path | Ratings | None = None,
    normalizer: str = "basic",
    wer: bool = False,
    full: bool = False,
    fdr: float = 0.05,
    confidence: float = 0.95,
    seed: int = 0,
) -> Answer:
    """Ask of every two groups whether disturbed speech drives recognizers further apart in one than in the other.

    `source` holds transcripts of two recognizers or more (utterance, scenario, recognizer, text, speaker, the column
    `attribute`), or distances that somebody measured (pair, perturbation, setting, distance, the column `attribute` or
    `group`, perhaps corpus: each is answered by itself; AequeVox's names of columns will do).

    The degradation of a group is `D(g) = d(g, disturbed) - d(g, clean)`, d being word edits between two recognizers
    over the words of the longer transcript; group g has a violation against h where `D(g) - D(h) > tau` (Rajan et al.
    2022, Algorithm 1). Every violation is tested by moving whole speakers between groups; `fdr` bounds the expected
    share of false claims among those that survive (Benjamini and Hochberg over all questions of the grid).

    `scenario` chooses disturbed scenarios, `exclude` leaves some out (`scale:0.6`, or a whole perturbation), and
    `min_comprehensibility` keeps those that people rated so (1 to 10; published ratings unless `ratings` are given).
    With `wer`, the same is asked of word error rates. `detail` holds a `Differential` per corpus.

    >>> import polars as pl
    >>> rows = [("Original", "g", 0.1), ("Original", "h", 0.1), ("Noise", "g", 0.5), ("Noise", "h", 0.2)]
    >>> table = pl.DataFrame(rows, schema=["perturbation", "group", "distance"], orient="row")
    >>> answer = differential(table.with_columns(pair=pl.lit("A_B"), setting=2), tau=[0.25, 0.35])
    >>> answer.tables["groups"].select("group", "violations").rows()
    [('g', 1), ('h', 0)]
    """
    asked = _Asked(
        _checked_taus(tuple(tau)),
        tuple(exclude),
        min_comprehensibility,
        _rated(ratings, min_comprehensibility),
        find_normalizer(normalizer),
        wer,
        fdr,
        confidence,
        seed,
    )
    read = Transcripts.of(
        source,
        recognizer=recognizer,
        scenario=scenario,
        corpus=corpus,
        language=language,
        where=where,
        columns=columns,
    )
    if is_distances(read.names):
        attribute = attribute or "group"
        grids = read_grids(read.scores().frame, read.where, attribute=attribute)
        found = [_from_grid(name, attribute, grid, asked) for name, grid in grids.items()]
    elif attribute is None:
        raise refuse("no_attribute", "the column of the groups to compare is not named", see=("attribute",))
    else:
        found = [_from_transcripts(read, attribute, asked)]
    notes = [Note("selected", text) for text in read.notes]
    return _answer(found, attribute, notes, full)


@dataclass(frozen=True)
class _Asked:
    taus: tuple[float, ...]
    """Empty where the default holds."""
    exclude: tuple[str, ...]
    minimum: float | None
    ratings: Ratings | None
    rule: Normalizer
    wer: bool
    fdr: float
    confidence: float
    seed: int

    def __post_init__(self) -> None:
        for name, value in (("fdr", self.fdr), ("confidence", self.confidence)):
            if not 0.0 < value < 1.0:
                raise VoxauditError(f"{name} must lie between 0 and 1, not {value:g}")
        if self.seed < 0:
            raise VoxauditError(f"the seed must be 0 or more, not {self.seed}")


def _checked_taus(taus: tuple[float, ...]) -> tuple[float, ...]:
    """Return tolerances in rising order, each once; a negative one raises one line."""
    ordered = tuple(sorted(taus))
    text = ", ".join(f"{tau:g}" for tau in taus)
    if not all(0.0 <= tau < 1.0 for tau in ordered):
        raise VoxauditError(f"tau takes numbers from 0 up to 1, not '{text}'", see=("tau",))
    if any(a == b for a, b in pairwise(ordered)):
        raise VoxauditError(f"a tau is named twice in '{text}'", see=("tau",))
    return ordered


def _rated(ratings: str | Path | Ratings | None, minimum: float | None) -> Ratings | None:
    if ratings is not None and minimum is None:
        raise VoxauditError(
            "ratings of your own are used to leave scenarios out: say how comprehensible is enough",
            see=("min_comprehensibility",),
        )
    if minimum is not None and not isfinite(minimum):
        raise VoxauditError(
            f"the least comprehensibility must be a number, not {minimum}", see=("min_comprehensibility",)
        )
    if ratings is None:
        return None if minimum is None else published_ratings()
    return ratings if isinstance(ratings, Ratings) else read_ratings(ratings)


# The decision


def _from_transcripts(read: Transcripts, attribute: str, asked: _Asked) -> Differential:
    measured = measure_disagreement(read, attribute, asked.rule, truth=asked.wer)
    kept, dropped = select(measured.between.scenarios, asked.exclude, asked.minimum, asked.ratings)
    between = measured.between.with_scenarios(kept)
    taus = asked.taus or _default_taus(between)
    options: dict[str, Any] = {"fdr": asked.fdr, "confidence": asked.confidence, "seed": asked.seed}
    view = ask(between, taus, **options)
    wer = agreement = None
    if asked.wer:
        if measured.against_truth is None:
            text = "no utterance has a reference text, so nothing can be said about word error rates"
            raise refuse("no_references", text, about=attribute, see=("wer",))
        truth = measured.against_truth.with_scenarios(kept)
        wer = ask(truth, taus, **options)
        agreement = _agree(between.grid(), truth.grid(), view, wer)
    return Differential(
        "",
        attribute,
        view,
        asked.fdr,
        None if between.untestable else dict(zip(between.groups, between.sizes(), strict=True)),
        asked.rule.id,
        wer,
        agreement,
        {**measured.left_out, **dropped},
        tuple(_refusals(attribute, measured)),
        (*_fewer_taus(taus, asked), *_silences(between), *_little_room(view)),
    )


def _agree(between: Grid, truth: Grid, view: View, wer: View) -> Agreement:
    """Compare degradations of distances with degradations of word error rates, cell by cell."""
    couples = list(combinations(range(len(truth.pairs)), 2))
    rates = np.stack(
        [(truth.degradations[:, a] + truth.degradations[:, b]) / 2.0 for a, b in couples], axis=1
    )
    ours, theirs = between.gaps(), rates[:, None] - rates[None, :]
    first, second = np.triu_indices(len(between.groups), 1)
    known = np.isfinite(ours) & np.isfinite(theirs)
    known[np.diag_indices(len(between.groups))] = False
    significant = None
    if view.tested:
        groups, scenarios = between.groups, [scenario.id for scenario in between.scenarios]
        cells = [(g, h, c) for g, h, c in product(groups, groups, scenarios) if g != h]
        claimed = (set(one.surviving.select("group", "against", "scenario").rows()) for one in (view, wer))
        significant = overlap(*(np.array([cell in claims for cell in cells]) for claims in claimed))
    return Agreement(
        int(known.sum()) // 2,
        rank_correlation(ours[first, second], theirs[first, second]),
        {
            group: rank_correlation(between.degradations[place], rates[place])
            for place, group in enumerate(between.groups)
        },
        {f"{tau:g}": overlap(ours[known] > tau, theirs[known] > tau) for tau in view.taus},
        significant,
    )


def _from_grid(corpus: str, attribute: str, grid: Grid, asked: _Asked) -> Differential:
    if asked.wer:
        raise VoxauditError(
            "a table of distances has no texts: nothing can be said about word error rates", see=("wer",)
        )
    kept, dropped = select(grid.scenarios, asked.exclude, asked.minimum, asked.ratings)
    chosen, taus = grid.with_scenarios(kept), asked.taus or TAUS
    view = _view(chosen, find_violations(chosen, taus), taus)
    refusal = Refusal(
        "no_speakers",
        ": ".join(filter(None, (corpus, attribute))),
        "a table of distances has no speakers: only the paper's rule can be applied, and no test",
        remedy="give transcripts, with a column `speaker`",
    )
    return Differential(corpus, attribute, view, asked.fdr, left_out=dropped, refusals=(refusal,))


def _default_taus(sums: SpeakerSums) -> tuple[float, ...]:
    groups, scenarios = len(sums.groups), len(sums.scenarios) + 1
    cells = groups * (groups - 1) * len(sums.pairs) * scenarios
    return TAUS if cells * len(TAUS) <= MOST_QUESTIONS else TAUS[1:3]


def ask(
    sums: SpeakerSums, taus: tuple[float, ...], *, fdr: float = 0.05, confidence: float = 0.95, seed: int = 0
) -> View:
    """Apply Algorithm 1 to sums per speaker, and test every violation where speakers are known."""
    grid = sums.grid()
    found = find_violations(grid, taus)
    tested = judge_violations(sums, grid, found, taus, fdr=fdr, seed=seed)
    limits = chance = None
    generator = np.random.Generator(np.random.PCG64(seed))
    if sums.untestable is None:
        limits = gap_intervals(sums, confidence=confidence, resamples=RESAMPLES, generator=generator)
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
    return _view(grid, found, taus, tested, limits, sums.distances(), chance)


def _view(
    grid: Grid,
    found: Places,
    taus: tuple[float, ...],
    tested: Tested | None = None,
    limits: tuple[FloatArray, FloatArray] | None = None,
    distances: tuple[FloatArray, FloatArray] | None = None,
    chance: dict[str, Chance] | None = None,
) -> View:
    """Return what was found by name; what is not known is null."""

    def numbers(values: FloatArray | None, size: int) -> pl.Series:
        return pl.Series([None] * size if values is None else values.ravel(), dtype=pl.Float64).fill_nan(None)

    at = (found.group, found.against, found.pair, found.scenario)
    low, high = (None, None) if limits is None else (limits[0][at], limits[1][at])
    p, q = (None, None) if tested is None else (tested.p, tested.q)
    places: list[tuple[str, list[str], IntArray]] = [
        ("group", list(grid.groups), found.group),
        ("against", list(grid.groups), found.against),
        ("pair", list(grid.pairs), found.pair),
        ("scenario", [scenario.id for scenario in grid.scenarios], found.scenario),
        ("perturbation", [scenario.perturbation for scenario in grid.scenarios], found.scenario),
        ("setting", [show_setting(scenario.setting) for scenario in grid.scenarios], found.scenario),
    ]
    violations = pl.DataFrame(
        {name: pl.Series(values, dtype=pl.String).gather(place) for name, values, place in places}
    ).with_columns(
        numbers(np.asarray(taus)[found.tau], len(found)).alias("tau"),
        *(
            numbers(values, len(found)).alias(name)
            for name, values in (
                ("gap", found.gap),
                ("low", low),
                ("high", high),
                ("p", p),
                ("p_adjusted", q),
            )
        ),
        verdict=pl.lit("refused"),
    )
    if tested is not None:
        claimed = pl.when(pl.Series(tested.significant)).then(pl.lit("shown")).otherwise(pl.lit("not_shown"))
        verdict = pl.when(pl.col("p").is_null()).then("verdict").otherwise(claimed)
        violations = violations.with_columns(verdict=verdict)
    cells = [(g, p, c.id) for g, p, c in product(grid.groups, grid.pairs, grid.scenarios)]
    disturbed, clean = distances or (None, None)
    parts = {"distance": disturbed, "clean": clean, "degradation": grid.degradations}
    names = dict.fromkeys(("group", "pair", "scenario"), pl.String)
    return View(
        grid.groups,
        grid.pairs,
        grid.scenarios,
        taus,
        pl.DataFrame(cells, schema=names, orient="row").with_columns(
            numbers(values, len(cells)).alias(name) for name, values in parts.items()
        ),
        violations,
        tested.family if tested else 0,
        tested.comparisons if tested else (),
        chance,
    )


def _refusals(attribute: str, measured: Disagreement) -> Iterator[Refusal]:
    """Say why violations are counted but not tested; one refusal for all groups that have too few speakers."""
    why, sums = measured.refusal, measured.between
    sizes = dict(zip(sums.groups, sums.sizes(), strict=True))
    few = {group: size for group, size in sizes.items() if size < FEWEST_SPEAKERS}
    if why is not None:
        yield Refusal(why.code, attribute, f"no p-values: {why.text}", why.facts)
    elif few:
        names = listed(f"{group} ({counted(size, 'speaker')})" for group, size in few.items())
        text = (
            f"violations of and against {names} are counted but not tested: a test needs {FEWEST_SPEAKERS} speakers in"
            " each group"
        )
        yield Refusal("too_few_speakers", attribute, text, {"speakers": few, "needed": FEWEST_SPEAKERS})


def _fewer_taus(taus: tuple[float, ...], asked: _Asked) -> Iterator[Note]:
    if asked.taus or len(taus) == len(TAUS):
        return
    text = (
        f"of the paper's four tolerances two are asked ({', '.join(f'{tau:g}' for tau in taus)}): with all four there"
        f" would be more than {MOST_QUESTIONS:,} questions"
    )
    yield Note("tolerances", text, {"tau": list(taus)}, see=("tau",))


def _silences(sums: SpeakerSums) -> Iterator[Note]:
    """Say where both recognizers heard nothing in a whole group, so that there is no distance."""
    missing = np.argwhere(~np.isfinite(sums.degradations()))
    if len(missing):
        group, pair, scenario = (int(place) for place in missing[0])
        first = f"{sums.groups[group]}, {sums.pairs[pair]}, {sums.scenarios[scenario].id}"
        yield Note(
            "no_words",
            f"{counted(len(missing), 'distance')} cannot be computed and {'is' if len(missing) == 1 else 'are'} not"
            " compared: both recognizers returned no words, or nothing at all, for a whole group (first:"
            f" {first})",
            {"distances": len(missing)},
        )


def _little_room(view: View) -> Iterator[Note]:
    """Say where groups start from very different distances: who is near the ceiling cannot drift much further."""
    clean = view.degradations.filter(pl.col("clean").is_not_null())
    for (pair,), part in clean.group_by("pair", maintain_order=True):
        apart = dict(part.group_by("group", maintain_order=True).agg(pl.col("clean").first()).iter_rows())
        if apart and max(apart.values()) - min(apart.values()) > UNLIKE_CLEAN:
            far, near = max(apart, key=apart.__getitem__), min(apart, key=apart.__getitem__)
            yield Note(
                "unlike_clean",
                f"on clean speech {pair} are already {100 * apart[far]:.0f} % apart for {far} and"
                f" {100 * apart[near]:.0f} % for {near}: {far} has less room to drift further, so fewer violations of"
                " it do not mean that disturbance hurts it less",
                {"pair": pair, "clean": apart},
            )


# The words


def _answer(found: Sequence[Differential], attribute: str, notes: list[Note], full: bool) -> Answer:
    for one in found:
        notes += one.notes
        notes += [
            Note("left_out", f"left out: {count:,} {what}", {"what": what, "count": count})
            for what, count in (one.left_out or {}).items()
        ]
    taus = found[0].view.taus
    return Answer(
        audit="differential",
        title=f"Groups of {attribute} under disturbance, without reference texts",
        question={"attribute": attribute, "tau": list(taus)},
        findings=tuple(finding for one in found for finding in _findings(one)),
        tables=Tables(_tables(found, full)),
        figures=tuple(_figures(found)),
        notes=tuple(notes),
        refusals=tuple(refusal for one in found for refusal in one.refusals),
        lead=LEAD,
        detail=tuple(found),
    )


def _findings(found: Differential) -> Iterator[Finding]:
    """Yield how many comparisons survive, in all (what a gate judges), then for each group that has any."""
    view, attribute = found.view, found.attribute
    cells, totals = view.surviving, view.totals()
    if not view.tested:
        refusal = found.refusals[0]
        sentence = f"No conclusion about {attribute} without reference texts: {refusal.text}."
        yield _finding(found, None, "refused", sentence, None, headline=True, code=refusal.code)
        return
    expected = (
        "" if view.chance is None else f", {sum(c.mean for c in view.chance.values()):.0f} expected by chance"
    )
    rule = f"{counted(sum(totals.values()), 'violation')} by the plain rule{expected}"
    if cells.is_empty():
        sentence = (
            "Without reference texts: disturbed speech is not shown to drive recognizers further apart for one group"
            f" of {attribute} than for another ({rule}; none survives a false-discovery rate of {100 * found.fdr:g} %)."
        )
        yield _finding(found, None, "not_shown", sentence, 0, headline=True, rows=view.violations)
        return
    pairs = len(view.pairs) * len(view.scenarios)
    asked = pairs * len(view.groups) * (len(view.groups) - 1) // 2
    sentence = (
        f"Without reference texts: {cells.height} of {counted(asked, 'comparison')} of groups of {attribute} under"
        f" disturbance {'survives' if cells.height == 1 else 'survive'} a false-discovery rate of"
        f" {100 * found.fdr:g} % ({rule})."
    )
    yield _finding(found, None, "shown", sentence, cells.height, headline=False, rows=cells)
    for (name,), own in cells.group_by("group", maintain_order=True):
        group = str(name)
        chance = None if view.chance is None else view.chance[group]
        expected = "" if chance is None else f"; {chance.mean:.0f} expected by chance, {p_value(chance.p)}"
        against = own["against"].unique(maintain_order=True).to_list()
        sentence = (
            f"Without reference texts: disturbed speech drives recognizers further apart for {group} ({attribute}) than"
            f" for {listed(against)} in {own.height} of {counted(pairs * len(against), 'comparison')}, at a"
            f" false-discovery rate of {100 * found.fdr:g} % ({counted(totals[group], 'violation')} by the plain"
            f" rule{expected})."
        )
        yield _finding(found, group, "shown", sentence, own.height, headline=True, rows=own)


def _finding(
    found: Differential,
    group: str | None,
    verdict: Verdict,
    sentence: str,
    count: int | None,
    *,
    headline: bool,
    code: str | None = None,
    rows: pl.DataFrame | None = None,
) -> Finding:
    surest = {"p": None, "p_adjusted": None}
    if rows is not None and rows.height:
        surest = rows.sort("p_adjusted", "p", nulls_last=True, maintain_order=True).row(0, named=True)
    measure = "group_violations" if group else "violations"
    return Finding(
        id=finding_id("differential", found.corpus or None, found.attribute, group, measure),
        measure=measure,
        verdict=verdict,
        sentence=sentence,
        estimate=count,
        unit="count",
        p=surest["p"],
        p_adjusted=surest["p_adjusted"],
        family="comparisons" if verdict != "refused" else None,
        corpus=found.corpus or None,
        attribute=found.attribute,
        group=group,
        speakers=None
        if found.speakers is None
        else found.speakers[group]
        if group
        else sum(found.speakers.values()),
        code=code,
        headline=headline,
    )


PLAIN = ("violations", "violations (plain rule)", "count")
BY_CHANCE = ("by_chance", "by chance: mean", "number")
TOTAL = ("p", "p of the total", "p")
SURVIVING = ("surviving", "survive the test", "count")
CELLS = ("group", "against", "pair", "scenario")
GAP = ("gap", "gap", "points", "low", "high")
TAU = ("tau", "beyond tau", "number")
CORRECTED = ("p_adjusted", "p, corrected", "p")


def _tables(found: Sequence[Differential], full: bool) -> Iterator[Table]:
    first = found[0]
    names = ["corpus"] if len(found) > 1 else []
    yield _groups(found, names)
    cells = _stacked(found, [one.view.surviving for one in found])
    yield tabulate(
        "surviving",
        f"Violations by {first.attribute} that survive",
        cells,
        [*names, *CELLS, GAP, TAU, "p", CORRECTED],
        note="The gap is how much further apart two recognizers drift for the group than for the other, in percentage"
        " points; it survives at the largest tolerance beyond which the p-value, corrected for all questions, is small"
        " enough.",
        folded=cells.is_empty(),
    )
    yield tabulate(
        "counts",
        "Where violations are",
        _stacked(found, [one.view.counts().filter(pl.col("by") != "all") for one in found]),
        [*names, ("by", "counted by"), ("value", "which"), "group", PLAIN, SURVIVING],
        # Where nothing could be tested, the rule's counts are all there is.
        folded=any(one.view.tested for one in found),
    )
    if first.wer is not None and first.agreement is not None:
        yield from _beside_wer(first.wer, first.agreement)
    yield tabulate(
        "comparisons",
        "How groups were compared",
        _stacked(found, [_compared(one.view) for one in found]),
        [
            *names,
            "group",
            "against",
            "speakers",
            "speakers_against",
            ("permutations", "ways of dealing the speakers", "count"),
            ("smallest_p", "smallest p there can be", "p"),
            ("refusal", "not tested because"),
        ],
        folded=True,
    )
    if full:
        yield tabulate(
            "violations",
            "Every violation",
            _stacked(found, [one.view.violations for one in found]),
            [*names, *CELLS, TAU, GAP, "p", CORRECTED, "verdict"],
            folded=True,
        )
        yield tabulate(
            "distances",
            "How far recognizers are apart",
            _stacked(found, [one.view.degradations for one in found]),
            [
                *names,
                "group",
                "pair",
                "scenario",
                ("distance", "", "percent"),
                ("clean", "on clean speech", "percent"),
                ("degradation", "", "points"),
            ],
            folded=True,
        )


def _compared(view: View) -> pl.DataFrame:
    kinds = {
        **dict.fromkeys(("group", "against"), pl.String),
        **dict.fromkeys(("speakers", "speakers_against", "permutations"), pl.Int64),
        **{"exact": pl.Boolean, "smallest_p": pl.Float64, "refusal": pl.String},
    }
    return pl.DataFrame([asdict(one) for one in view.comparisons], schema=kinds)


def _stacked(found: Sequence[Differential], frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return the tables of several corpora as one, with a column that says which it is."""
    if len(found) == 1:
        return frames[0]
    corpora = (pl.lit(one.corpus).alias("corpus") for one in found)
    return pl.concat(frame.select(name, pl.all()) for name, frame in zip(corpora, frames, strict=True))


def _rows(view: View) -> Iterator[dict[str, Any]]:
    """Yield, for each group, its violations, how many of them are due to chance, and how many survive."""
    survived = view.totals("surviving")
    for group, violations in view.totals().items():
        chance = None if view.chance is None else view.chance[group]
        yield {
            "group": group,
            "violations": violations,
            "by_chance": chance and chance.mean,
            "by_chance_high": chance and chance.upper,
            "p": chance and chance.p,
            "surviving": survived[group] if view.tested else None,
        }


def _groups(found: Sequence[Differential], names: Sequence[str]) -> Table:
    rows = [
        {
            "corpus": one.corpus or None,
            "attribute": one.attribute,
            "group": row["group"],
            "speakers": one.speakers and one.speakers[row["group"]],
            **row,
        }
        for one in found
        for row in _rows(one.view)
    ]
    view = found[0].view
    note = (
        f"{counted(len(view.pairs), 'pair')} of recognizers, {counted(len(view.scenarios), 'scenario')}, tolerances"
        f" {', '.join(f'{100 * tau:g}' for tau in view.taus)} percentage points; a gap counts once for each tolerance"
        " that it exceeds."
    )
    if view.tested:
        note += (
            f" Of what survives, about {100 * found[0].fdr:g} % at most is by chance (false-discovery rate over"
            f" {view.family:,} questions)."
        )
    high = ("by_chance_high", "by chance: 95th percentile", "number")
    columns = [*names, "group", "speakers", PLAIN, BY_CHANCE, high, TOTAL, SURVIVING]
    return tabulate("groups", f"Violations by {found[0].attribute}", rows, columns, note=note)


def _beside_wer(wer: View, agreement: Agreement) -> Iterator[Table]:
    kept = ("group", "violations", "surviving", "by_chance", "p")
    yield tabulate(
        "wer",
        "The same question with word error rates",
        [
            {name: row[name] for name in kept}
            | {"rank_correlation": agreement.spearman_degradation[row["group"]]}
            for row in _rows(wer)
        ],
        [
            "group",
            PLAIN,
            BY_CHANCE,
            TOTAL,
            SURVIVING,
            ("rank_correlation", "rank correlation of degradations", "ratio"),
        ],
    )
    overlaps = {f"beyond {tau}": one for tau, one in agreement.overlap.items()}
    if agreement.significant is not None:
        overlaps["survive the test"] = agreement.significant
    gaps = "-" if agreement.spearman is None else f"{agreement.spearman:.2f}"
    columns = [
        ("cells", "cells flagged"),
        ("both", "", "count"),
        ("only_differential", "only without references", "count"),
        ("only_wer", "only by WER", "count"),
        ("neither", "", "count"),
        ("kappa", "kappa", "ratio"),
    ]
    names = [column[0] for column in columns]
    yield tabulate(
        "agreement",
        "Do the two agree?",
        [dict(zip(names, (name, *astuple(one)), strict=True)) for name, one in overlaps.items()],
        columns,
        note=f"The rank correlation of {counted(agreement.cells, 'gap')} is {gaps}. A cell is two groups, a pair of"
        " recognizers and a scenario; its WER is the mean of the two recognizers'.",
    )


def _figures(found: Sequence[Differential]) -> Iterator[Figure]:
    rows = [
        ForestRow(
            f"{row['group']} against {row['against']}: {row['scenario']}"
            + (f", {row['pair']}" if len(one.view.pairs) > 1 else ""),
            Cell(row["gap"], row["low"], row["high"]),
            shown=True,
            note=f"beyond {100 * row['tau']:g} points",
        )
        for one in found
        for row in one.view.surviving.head(MOST_FOREST).to_dicts()
    ]
    if rows:
        attribute = found[0].attribute
        yield Figure(
            "gaps",
            f"{attribute}: how much further recognizers drift apart, where it survives the test",
            f"The {len(rows)} largest gaps by {attribute} that survive, with their intervals.",
            Forest(tuple(rows), "further apart than for the other group", no_difference=0.0, log=False),
            "surviving",
        )
