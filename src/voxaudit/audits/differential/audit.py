"""Differential: the question, the decision and the words (Rajan et al. 2022, with error rates that hold)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from itertools import pairwise
from math import isfinite
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import polars as pl

from voxaudit.answer import (
    Answer,
    Bars,
    Cell,
    Curves,
    Figure,
    Finding,
    Forest,
    ForestRow,
    Note,
    Refusal,
    Series,
    Table,
    Tables,
    Verdict,
    finding_id,
    refuse,
    tabulate,
)
from voxaudit.audits.audit import asks
from voxaudit.audits.differential.measure import Disagreement, is_distances, measure_disagreement, read_grids
from voxaudit.audits.differential.views import CELL, TAUS, Agreement, View, agree, ask, view_of
from voxaudit.audits.scores import Filters, Source, Transcripts, unchanged_notes
from voxaudit.errors import VoxauditError
from voxaudit.perturb.comprehensibility import Ratings, published_ratings, read_ratings, select
from voxaudit.perturb.scenario_id import show_setting
from voxaudit.registry import unknown
from voxaudit.score.normalize import Normalizer
from voxaudit.score.normalize import normalizer as find_normalizer
from voxaudit.stats.bootstrap import FEWEST_SPEAKERS
from voxaudit.stats.speaker_permutations import Grid, SpeakerSums
from voxaudit.wording import (
    counted,
    in_points,
    listed,
    not_excluded,
    p_value,
    percent,
    points_interval,
    speakers_of,
)

UNLIKE_CLEAN = 0.2
"""Groups whose clean distances differ by more than this are not counted without a word about it."""

MOST_FOREST = 24
"""Surviving gaps that are drawn."""

LEAD = (
    "Where two recognizers drift further apart under a disturbance for one group than for another, by more than a"
    " tolerance, AequeVox's rule counts a violation (Rajan et al. 2022). The rule counts violations where groups"
    " mean nothing, too: `by chance` is what it finds when speakers change groups at random, and only what"
    " survives a test of everything asked together is a finding. To drift apart is not to make more errors: a"
    " group that recognizers get wrong in clean speech already has little room to. Such a gap on clean speech is a"
    " finding of its own; the group that starts better is named only if it also loses more of the room it has, and"
    " never without reference texts once the clean gap is shown. With reference texts the word error rate decides."
)


@dataclass(frozen=True)
class Differential:
    """All that is found in one corpus: distances between recognizers, word error rates where there are references.

    `level` is that of the intervals; one less it is the chance of any false claim among everything asked.
    """

    corpus: str
    attribute: str
    view: View
    level: float
    speakers: Mapping[str, int] | None = None
    normalizer: str | None = None
    wer: View | None = None
    agreement: Agreement | None = None
    left_out: Mapping[str, int] | None = None
    refusals: tuple[Refusal, ...] = ()
    notes: tuple[Note, ...] = ()


# The question


@asks("differential")
def differential(
    source: Source,
    *,
    attribute: str | None = None,
    tau: Sequence[float] = (),
    exclude: Sequence[str] = (),
    min_comprehensibility: float | None = None,
    ratings: str | Path | Ratings | None = None,
    against: str | None = None,
    normalizer: str = "basic",
    full: bool = False,
    confidence: float = 0.95,
    seed: int = 0,
    **filters: Unpack[Filters],
) -> Answer:
    """Ask of every two groups whether disturbed speech drives recognizers further apart in one than in the other.

    `source` holds transcripts of two recognizers or more (utterance, scenario, recognizer, text, speaker, the column
    `attribute`), or distances that somebody measured (pair, perturbation, setting, distance, the column `attribute` or
    `group`, perhaps corpus: each is answered by itself; AequeVox's names of columns will do).

    The degradation of a group is `D(g) = d(g, disturbed) - d(g, clean)`, d being word edits between two recognizers
    over the words of the longer transcript; group g has a violation against h where `D(g) - D(h) > tau` (Rajan et al.
    2022, Algorithm 1). Whether the gap of two groups in a scenario exceeds the smallest tau is tested by shuffling
    whole speakers; so is whether there is one over all scenarios, or on clean speech. All questions are one family: the
    chance of any false claim is at most `1 - confidence`. Where utterances have reference texts, the same is asked of
    word error rates, and these say who is hurt.

    `scenario` chooses disturbed scenarios, `exclude` leaves some out (`scale:0.6`, or a whole perturbation), and
    `min_comprehensibility` keeps those that people rated so (1 to 10; published ratings unless `ratings` are given).
    With a group `against` the others' violations by the plain rule are also given relative to its own, as the paper's
    headline is (109 % more for speakers of other languages than for native ones).
    `detail` holds a `Differential` per corpus.

    >>> import polars as pl
    >>> rows = [("Original", "g", 0.1), ("Original", "h", 0.1), ("Noise", "g", 0.5), ("Noise", "h", 0.2)]
    >>> table = pl.DataFrame(rows, schema=["perturbation", "group", "distance"], orient="row")
    >>> answer = differential(table.with_columns(pair=pl.lit("A_B"), setting=2), tau=[0.25, 0.35])
    >>> answer.tables["groups"].select("group", "violations").rows()
    [('g', 1), ('h', 0)]
    """
    asked = _Asked(
        _checked_taus(tuple(tau)) or TAUS,
        tuple(exclude),
        min_comprehensibility,
        _rated(ratings, min_comprehensibility),
        find_normalizer(normalizer),
        confidence,
        seed,
    )
    read = Transcripts.of(source, **filters)
    if is_distances(read.names):
        attribute = attribute or "group"
        grids = read_grids(read.scores().frame, read.where, attribute=attribute)
        found = [_from_grid(name, attribute, grid, asked) for name, grid in grids.items()]
    elif attribute is None:
        raise refuse("no_attribute", "the column of the groups to compare is not named", see=("attribute",))
    else:
        # Of a whole run, what is compared serves all attributes.
        shared = read.run.found if read.run is not None and not any(filters.values()) else None
        found = [_from_transcripts(read, attribute, asked, shared)]
    notes = [Note("selected", text) for text in read.notes]
    if read.run is not None:
        heard = [one.id for part in found for one in part.view.scenarios]
        notes += unchanged_notes([read.run], heard)
    if against is not None:
        known = list(dict.fromkeys(group for one in found for group in one.view.groups))
        if against not in known:
            raise unknown(f"{attribute}: no group", against, known, "against")
    return _answer(found, attribute, notes, full, against, asked.ratings)


@dataclass(frozen=True)
class _Asked:
    taus: tuple[float, ...]
    exclude: tuple[str, ...]
    minimum: float | None
    ratings: Ratings | None
    rule: Normalizer
    confidence: float
    seed: int

    def __post_init__(self) -> None:
        if not 0.0 < self.confidence < 1.0:
            raise VoxauditError(f"confidence must lie between 0 and 1, not {self.confidence:g}")
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


def _from_transcripts(
    read: Transcripts, attribute: str, asked: _Asked, shared: dict[str, Any] | None
) -> Differential:
    measured = measure_disagreement(read, attribute, asked.rule, shared)
    kept, dropped = select(measured.between.scenarios, asked.exclude, asked.minimum, asked.ratings)
    between = measured.between.with_scenarios(kept)
    truth = None if measured.against_truth is None else measured.against_truth.with_scenarios(kept)
    view, *others = ask(
        between,
        *([] if truth is None else [truth]),
        taus=asked.taus,
        confidence=asked.confidence,
        seed=asked.seed,
    )
    wer = others[0] if others else None
    return Differential(
        "",
        attribute,
        view,
        asked.confidence,
        None if between.untestable else dict(zip(between.groups, between.sizes(), strict=True)),
        asked.rule.id,
        wer,
        None if truth is None or wer is None else agree(between.grid(), truth.grid(), view, wer),
        {**measured.left_out, **dropped},
        (*_refusals(attribute, measured), *_no_room(attribute, view, wer)),
        (*_silences(between), *_little_room(view)),
    )


def _from_grid(corpus: str, attribute: str, grid: Grid, asked: _Asked) -> Differential:
    kept, dropped = select(grid.scenarios, asked.exclude, asked.minimum, asked.ratings)
    chosen = grid.with_scenarios(kept)
    view = view_of(chosen, asked.taus)
    refusal = Refusal(
        "no_speakers",
        ": ".join(filter(None, (corpus, attribute))),
        "a table of distances has no speakers: only the paper's rule can be applied, and no test",
        remedy="give transcripts, with a column `speaker`",
    )
    return Differential(corpus, attribute, view, asked.confidence, left_out=dropped, refusals=(refusal,))


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


def _no_room(attribute: str, *views: View | None) -> Iterator[Refusal]:
    """Say once of every two groups that who is hurt more is left open, because one has less room left."""
    known = [one for one in views if one is not None]
    # Who has reference texts already is not told to give them.
    remedy = (
        "look at clean speech first (the audit `disparity`), or at milder disturbances" if known[1:] else ""
    )
    for place, view in enumerate(known):
        rows = view.comparisons.filter(pl.col("code") == "unlike_clean")
        for row in rows.unique(["group", "against"], keep="last", maintain_order=True).to_dicts():
            facts = {name: row[name] for name in ("group", "against", "clean", "clean_against")}
            yield Refusal("unlike_clean", attribute, _cannot_say(row, truth=place > 0), facts, remedy)


def _cannot_say(row: Mapping[str, Any], *, truth: bool) -> str:
    group, against = row["group"], row["against"]
    clean, other = percent(row["clean"]), percent(row["clean_against"])
    unsaid = f"whether {group} is hurt more than {against} cannot be said"
    if truth:
        return f"{unsaid}: its error rate on clean speech is {clean}, and {against} with {other} has less left to lose"
    return (
        f"{unsaid} by distances: on clean speech recognizers are {clean} apart for {group}, and {against}"
        f" with {other} has less room to drift"
    )


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
    """Say where groups too small for a test start from very different distances: one has less room to drift."""
    rows = view.of("clean").filter(pl.col("p").is_null() & (pl.col("gap") > UNLIKE_CLEAN))
    for row in rows.to_dicts():
        far, near = row["group"], row["against"]
        yield Note(
            "unlike_clean",
            f"on clean speech {row['pair']} are already {100 * row['value']:.0f} % apart for {far} and"
            f" {100 * row['value_against']:.0f} % for {near}: {far} has less room to drift further, so fewer violations"
            " of it do not mean that disturbance hurts it less",
            {"pair": row["pair"], "clean": {far: row["value"], near: row["value_against"]}},
        )


# The words


def _answer(
    found: Sequence[Differential],
    attribute: str,
    notes: list[Note],
    full: bool,
    reference: str | None,
    ratings: Ratings | None,
) -> Answer:
    for one in found:
        notes += one.notes
        notes += [
            Note("left_out", f"left out: {count:,} {what}", {"what": what, "count": count})
            for what, count in (one.left_out or {}).items()
        ]
    taus = found[0].view.taus
    return Answer(
        audit="differential",
        title=f"Groups of {attribute} under disturbance",
        question={"attribute": attribute, "tau": list(taus)},
        findings=tuple(finding for one in found for finding in (*_findings(one), *_more(one, reference))),
        tables=Tables((*_tables(found, full, reference), *_rating_table(ratings))),
        figures=(*_figures(found), *_count_figures(found), *_rating_figure(ratings)),
        notes=tuple(notes),
        refusals=tuple(refusal for one in found for refusal in one.refusals),
        lead=LEAD,
        detail=tuple(found),
    )


def _findings(found: Differential) -> Iterator[Finding]:
    """Yield who is hurt more, by error rates where they are known, then without references; then the gate's count."""
    view, wer = found.view, found.wer
    if view.tested:
        decided = wer is not None and wer.tested
        if wer is not None and decided:
            yield from (_finding(found, row, "wer_growth", headline=True) for row in _told(wer.of("all")))
        for row in _told(view.of("all")):
            yield _finding(found, row, "disagreement_growth", headline=not decided)
        for row in _told(view.of("clean")):
            yield _finding(found, row, "clean_disagreement", headline=not decided)
    yield _violations(found)


def _told(rows: pl.DataFrame) -> list[dict[str, Any]]:
    """Return what is worth a finding: what is shown or left open; if nothing is, what could hide the largest gap."""
    known = rows.filter(pl.col("p").is_not_null())
    claims = known.filter(pl.col("verdict") != "not_shown")
    return (claims if claims.height else known.sort(_FARTHEST, descending=True).head(1)).to_dicts()


def _finding(found: Differential, row: Mapping[str, Any], measure: str, *, headline: bool) -> Finding:
    group, against, sizes = row["group"], row["against"], found.speakers or {}
    limits = [abs(limit) for limit in (row["low"], row["high"]) if limit is not None]
    excludes = max(limits) if row["verdict"] == "not_shown" and len(limits) == 2 else None
    return Finding(
        id=finding_id("differential", row["pair"], found.attribute, *sorted((group, against)), measure),
        measure=measure,
        verdict=row["verdict"],
        sentence=_sentence(found, row, measure, excludes),
        level=found.level,
        family=FAMILY,
        estimate=row["gap"],
        attribute=found.attribute,
        speakers=sizes.get(group),
        speakers_against=sizes.get(against),
        excludes=excludes,
        headline=headline,
        **{name: row[name] for name in ("low", "high", "p", "p_adjusted", "group", "against", "code")},
    )


def _sentence(found: Differential, row: Mapping[str, Any], measure: str, excludes: float | None) -> str:
    """Say who, what, how much, how sure; where nothing is shown, what is not excluded."""
    truth = measure == "wer_growth"
    gap = in_points(row["gap"], row["low"], row["high"])
    own = f"{100 * row['value']:.1f} against {100 * row['value_against']:.1f} points over all disturbances"
    if measure == "clean_disagreement":
        return _disagreement(found, row, excludes)
    if truth:
        claim = f"disturbed speech raises the word error rate by {gap} more"
        doubt = "disturbed speech is not shown to raise the word error rate more"
    else:
        claim = f"disturbed speech drives recognizers {gap} further apart"
        doubt = "disturbed speech is not shown to drive recognizers further apart"
    claim += f" for {speakers_of(row['group'], found.attribute)} than for {speakers_of(row['against'])}"
    if row["verdict"] == "shown":
        text = f"{claim}: {own}, {p_value(row['p_adjusted'])} with everything asked taken together."
    elif row["verdict"] == "refused":
        text = f"{claim}, but {_cannot_say(row, truth=truth)}."
    else:
        text = (
            f"{doubt} for one group of {found.attribute} than for another: {not_excluded(excludes)}"
            f" ({row['group']} over {row['against']}: {points_interval(row['gap'], row['low'], row['high'])})."
        )
    return text[0].upper() + text[1:] if truth else f"Without reference texts: {text}"


def _disagreement(found: Differential, row: Mapping[str, Any], excludes: float | None) -> str:
    """Say on how many words recognizers disagree for two groups, and whether that is shown to differ."""
    sizes = found.speakers or {}
    people = " and ".join(f"{sizes[row[end]]:,}" for end in ("group", "against"))
    text = (
        f"Without reference texts: on clean speech {row['pair']} disagree on {percent(row['value'])} of the words of"
        f" {speakers_of(row['group'], found.attribute)} and on {percent(row['value_against'])} of those of"
        f" {speakers_of(row['against'])} ({people} speakers), {in_points(row['gap'], row['low'], row['high'])} more"
    )
    if row["verdict"] == "shown":
        return f"{text}: a gap is shown, {p_value(row['p_adjusted'])} with everything asked taken together."
    most = "any size" if excludes is None else f"up to {in_points(excludes)}"
    return f"{text}: no gap is shown; one of {most} is not excluded."


def _violations(found: Differential) -> Finding:
    """Return how many comparisons survive, which is what a gate judges."""
    view, attribute = found.view, found.attribute
    each, cells = view.of("scenario"), view.surviving
    barred = each.filter(pl.col("code") == "unlike_clean").height
    verdict: Verdict = "shown" if cells.height else "not_shown" if view.tested and not barred else "refused"
    chance = (
        "" if view.chance is None else f", {sum(c.mean for c in view.chance.values()):.0f} expected by chance"
    )
    rule = f"{counted(sum(view.totals().values()), 'violation')} by the plain rule{chance}"
    asked = f"of {counted(each.height, 'comparison')} of groups of {attribute} under disturbance"
    if not view.tested:
        sentence = f"No conclusion about {attribute} without reference texts: {found.refusals[0].text}."
    elif cells.height:
        named = cells.group_by("group", "against", maintain_order=True).len().rows()
        told = listed(f"{group} against {against} in {count}" for group, against, count in named)
        survive = "survives" if cells.height == 1 else "survive"
        sentence = f"{cells.height} {asked} {survive} the test of everything asked: {told} ({rule})."
    elif barred:
        better = "the group that starts better on clean speech"
        sentence = f"none {asked} can be claimed: {barred} would name {better} ({rule})."
    else:
        left = not_excluded(each.select(_FARTHEST.max()).item())
        sentence = f"none {asked} survives the test of everything asked; {left} ({rule})."
    surest = (cells if cells.height else each).sort("p_adjusted", "p", nulls_last=True).head(1).to_dicts()
    return Finding(
        id=finding_id("differential", found.corpus or None, attribute, "violations"),
        measure="violations",
        verdict=verdict,
        sentence=f"Without reference texts: {sentence}" if view.tested else sentence,
        estimate=None if verdict == "refused" else cells.height,
        unit="count",
        p=surest[0]["p"] if surest else None,
        p_adjusted=surest[0]["p_adjusted"] if surest else None,
        family=FAMILY if view.tested else None,
        corpus=found.corpus or None,
        attribute=attribute,
        speakers=None if found.speakers is None else sum(found.speakers.values()),
        code=None if verdict != "refused" else "unlike_clean" if view.tested else found.refusals[0].code,
        headline=not view.tested,
    )


def _relative(view: View, reference: str | None) -> dict[str, float]:
    """Return by how many times its own the other groups' violations exceed those of the reference (0.5: half more)."""
    totals = view.totals()
    own = totals.pop(reference or "", 0)
    return {group: count / own - 1.0 for group, count in totals.items()} if own else {}


def _more(found: Differential, reference: str | None) -> Iterator[Finding]:
    """Yield the paper's headline: how many more violations the other groups have on average, by the plain rule."""
    more = _relative(found.view, reference)
    if not more:
        return
    mean = sum(more.values()) / len(more)
    others = next(iter(more)) if len(more) == 1 else f"the other {len(more)} groups"
    average = "" if len(more) == 1 else " on average"
    yield Finding(
        id=finding_id("differential", found.corpus or None, found.attribute, "more_violations"),
        measure="more_violations",
        verdict="measured",
        sentence=f"By the plain rule {others} ({found.attribute}) {'has' if len(more) == 1 else 'have'}{average}"
        f" {100 * abs(mean):.1f} % {'more' if mean >= 0 else 'fewer'} violations than {reference}"
        f" ({found.view.totals()[str(reference)]}). The rule counts violations by chance, too.",
        estimate=mean,
        unit="fraction",
        corpus=found.corpus or None,
        attribute=found.attribute,
        group=next(iter(more)) if len(more) == 1 else None,
        against=reference,
    )


FAMILY = "everything asked"
_FARTHEST = pl.max_horizontal(pl.col("low").abs(), pl.col("high").abs())
PLAIN = ("violations", "violations (plain rule)", "count")
SURVIVING = ("surviving", "survive the test", "count")
SIDES = (("value", "grows by", "points"), ("value_against", "the other by", "points"))
MEASURED = ("by", "measured by")
GAP = ("gap", "gap", "points", "low", "high")
TAU = ("tau", "beyond tau", "number")
CORRECTED = ("p_adjusted", "p, corrected", "p")


def _tables(found: Sequence[Differential], full: bool, reference: str | None) -> Iterator[Table]:
    first = found[0]
    names = ["corpus"] if len(found) > 1 else []
    yield _groups(found, names, reference)
    views = [("distances", first.view), *([] if first.wer is None else [("error rates", first.wer)])]
    every = pl.concat(view.comparisons.select(pl.lit(by).alias("by"), pl.all()) for by, view in views)
    tests = [GAP, "p", CORRECTED, "verdict"]
    if first.view.tested:
        yield tabulate(
            "growth",
            "What all disturbances together cost",
            every.filter(pl.col("of") == "all"),
            [MEASURED, "group", "against", *SIDES, *tests],
            note="How much more the one group's distances, or errors, grow, in percentage points. No answer: the group"
            " that starts better on clean speech would be named, and the other has less room left.",
        )
        sides = (("value", "distance", "percent"), ("value_against", "of the other", "percent"))
        yield tabulate(
            "clean",
            "How far recognizers are apart on clean speech",
            first.view.of("clean"),
            ["pair", "group", "against", *sides, *tests],
        )
    cells = _stacked(found, [one.view.surviving for one in found])
    yield tabulate(
        "surviving",
        f"Comparisons by {first.attribute} that survive",
        cells,
        [*names, *CELL, GAP, "p", CORRECTED],
        note="The gap is how much further apart two recognizers drift for the group than for the other, in percentage"
        " points; it survives where it is shown to exceed the smallest tolerance, everything asked taken together.",
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
    if first.agreement is not None:
        yield _agreement(first.agreement)
    yield tabulate(
        "comparisons",
        "Every comparison of two groups",
        every,
        [MEASURED, "of", *CELL, *SIDES, *tests],
        folded=True,
    )
    if full:
        yield tabulate(
            "violations",
            "Every violation",
            _stacked(found, [one.view.violations for one in found]),
            [*names, *CELL, TAU, GAP, "p", CORRECTED, "verdict"],
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


def _stacked(found: Sequence[Differential], frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return the tables of several corpora as one, with a column that says which it is."""
    if len(found) == 1:
        return frames[0]
    corpora = (pl.lit(one.corpus).alias("corpus") for one in found)
    return pl.concat(frame.select(name, pl.all()) for name, frame in zip(corpora, frames, strict=True))


def _groups(found: Sequence[Differential], names: Sequence[str], reference: str | None) -> Table:
    rows = []
    for one in found:
        more = _relative(one.view, reference)
        survived, of_wer = one.view.totals("surviving"), one.wer.totals() if one.wer else {}
        for group, violations in one.view.totals().items():
            chance = None if one.view.chance is None else one.view.chance[group]
            rows.append(
                {
                    "corpus": one.corpus or None,
                    "attribute": one.attribute,
                    "group": group,
                    "speakers": one.speakers and one.speakers[group],
                    "violations": violations,
                    "more": more.get(group),
                    "by_chance": chance and chance.mean,
                    "by_chance_high": chance and chance.upper,
                    "surviving": survived[group] if one.view.tested else None,
                    "wer_violations": of_wer.get(group),
                }
            )
    view = found[0].view
    note = (
        f"{counted(len(view.pairs), 'pair')} of recognizers, {counted(len(view.scenarios), 'scenario')}, tolerances"
        f" {', '.join(f'{100 * tau:g}' for tau in view.taus)} percentage points; a gap counts once for each tolerance"
        " that it exceeds."
    )
    if view.tested:
        note += (
            f" That anything survives where groups do not differ has a chance of {100 * (1 - found[0].level):g} % at"
            " most, everything asked taken together."
        )
    compared = [("more", f"more than {reference}", "percent")] if reference is not None else []
    columns = [
        *names,
        "group",
        "speakers",
        PLAIN,
        *compared,
        ("by_chance", "by chance: mean", "number"),
        ("by_chance_high", "by chance: 95th percentile", "number"),
        SURVIVING,
    ]
    columns += [("wer_violations", "by error rates", "count")] if found[0].wer else []
    return tabulate("groups", f"Violations by {found[0].attribute}", rows, columns, note=note)


def _agreement(agreement: Agreement) -> Table:
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
    return tabulate(
        "agreement",
        "Do distances and error rates agree?",
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


COUNTED = {"tolerance": "tolerances", "pair": "pairs", "perturbation": "perturbations"}
"""The figures of the paper's sensitivity analysis (7 to 9), by what violations are counted by."""


def _count_figures(found: Sequence[Differential]) -> Iterator[Figure]:
    """Yield the violations of every group by tolerance, by pair of recognizers and by perturbation."""
    for one in found:
        counts = one.view.counts()
        for by, id_ in COUNTED.items():
            rows = counts.filter(pl.col("by") == by)
            values = rows["value"].unique(maintain_order=True).to_list()
            if len(values) < 2 or not rows["violations"].sum():
                continue
            series = tuple(
                Series(group, tuple(Cell(float(count)) for count in rows.filter(group=group)["violations"]))
                for group in one.view.groups
            )
            after = f"-{one.corpus}" if len(found) > 1 else ""
            where = f" ({one.corpus})" if len(found) > 1 else ""
            title = f"Violations by the plain rule, by {by}{where}"
            alt = f"Bars of the violations that the plain rule counts for every group of {one.attribute}, by {by}."
            yield Figure(
                id_ + after, title, alt, Bars(tuple(values), series, "violations", "count"), "counts"
            )


def _rating_table(ratings: Ratings | None) -> Iterator[Table]:
    if ratings is not None:
        rows = [
            {"perturbation": perturbation, "setting": show_setting(setting), "rating": rating}
            for (perturbation, setting), rating in ratings.means.items()
        ]
        columns = ["perturbation", "setting", ("rating", "rated", "number")]
        note = "1: nothing is understood, 10: as well as the original."
        yield tabulate("ratings", "How comprehensible people found it", rows, columns, note=note, folded=True)


def _rating_figure(ratings: Ratings | None) -> Iterator[Figure]:
    """Yield the mean ratings of every perturbation, in the order of the table (the paper's Figure 5)."""
    if ratings is None:
        return
    panels: dict[str, list[tuple[str, Cell]]] = {}
    for (perturbation, setting), rating in ratings.means.items():
        panels.setdefault(perturbation, []).append((show_setting(setting), Cell(rating / 10.0)))
    drawn = tuple(
        (name, tuple(tick for tick, _ in cells), (Series("rating", tuple(cell for _, cell in cells)),))
        for name, cells in panels.items()
    )
    alt = "How comprehensible people found speech under every perturbation, as a share of the highest rating."
    curves = Curves(drawn, "mean rating, of 10", "setting")
    yield Figure("comprehensibility", "How comprehensible people found it", alt, curves, "ratings")
