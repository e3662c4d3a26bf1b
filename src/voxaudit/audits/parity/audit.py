"""Parity: the question, the decision and the words. What is computed is in `compare.py` and `regression.py`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

import polars as pl

from voxaudit.answer import (
    Answer,
    Bars,
    Cell,
    Column,
    Figure,
    Finding,
    Forest,
    ForestRow,
    Note,
    Series,
    Table,
    finding_id,
    tabulate,
)
from voxaudit.audits.audit import asks
from voxaudit.audits.parity.checklist import CAUTION, balance, checklist, imbalances
from voxaudit.audits.parity.compare import (
    canary,
    compare_conditionally,
    compare_intersections,
    compare_pairs,
    untested,
    why_untested,
    without_outliers,
)
from voxaudit.audits.parity.regression import regressions
from voxaudit.audits.parity.speakers import (
    MOST_BARS,
    UNNAMED,
    Settings,
    Speakers,
    Trials,
    gap_note,
    gaps_asked,
    group_speakers,
    read_trials,
)
from voxaudit.audits.scores import Filters, Names, Scores, Source
from voxaudit.corpus.bands import Bands, read_bands
from voxaudit.stats.group_means import FEWEST_CROSSED, MOST_PAIRED, best_and_worst, describe_groups, farthest
from voxaudit.stats.speaker_means import MEAN, OUTLIER_Z, summarize_groups
from voxaudit.wording import (
    counted,
    in_points,
    listed,
    not_excluded,
    p_value,
    percent,
    points_interval,
    signed,
)

AUDIT, TITLE = "parity", "Parity between speakers"
MOST_SHOWN = 12
"""Pairs of groups up to which they and all groups are shown; of more, the best and the worst of each attribute."""
MOST_SAID = 3
"""Findings up to which none sums them up."""
MOST_ENDS = 5
"""Crossed groups served worst, and as many served best, in their figure."""
STARRED = 0.05
LEAD = (
    "Every speaker counts once: a group's rate is the mean over its speakers of their mean over utterances, so somebody"
    " who speaks much does not decide what is said of a group. Two groups are compared by shuffling speakers between"
    " them, all pairs as one family. The checklist goes through the good practices of Herron et al. and says what these"
    " data allow."
)
ESTIMAND = "compared is the mean of the speakers' rates, each speaker counting once; disparity compares rates of words"
CHECKLIST = (
    "Intersectional groups are those of several attributes at once; conditional parity holds all other attributes"
    " fixed; canaries are groups whose voices hardly differ, such as neighboring bands of middle age: where their error"
    " rates do, something else is at work."
)


@dataclass(frozen=True)
class Parity:
    """What stands behind the answer: the trials that were used, the speakers and their groups."""

    settings: Settings
    trials: Trials
    speakers: Speakers
    gaps_asked: dict[str, float]
    """The gap each recognizer is asked about, as a fraction."""
    held: dict[str, tuple[str, ...]]
    """The attributes that were held fixed for each attribute."""


# The question


@asks(AUDIT)
def parity(
    source: Source,
    *,
    attributes: Names = (),
    gap: float | None = None,
    confidence: float = 0.95,
    power: float = 0.8,
    merge_below: int = 0,
    bands: Bands = (),
    age: str | None = None,
    canaries: Sequence[str] = (),
    min_snr: float = 10.0,
    recordings: int = 200,
    dictionary: str | Path | None = None,
    wer_columns: Sequence[str] = (),
    speaker_pattern: str | None = None,
    surrogate_speaker: bool = False,
    **filters: Unpack[Filters],
) -> Answer:
    """Compare groups of speakers as Herron et al. (Responsible Benchmarking of Fairness for ASR) ask for.

    Speakers are the sample, and a group's rate is the mean over them of their mean over utterances (Eq. 3). Every two
    groups of each of `attributes` are compared, for all recognizers as one family, and again with all other attributes
    held fixed (Eq. 6), as another; beside that are relative errors and gaps (Eq. 4 and 5), crossed groups and
    regressions (Eq. 7 and 8); on clean speech unless `scenario` says otherwise. `gap` is the difference that matters, a
    fraction. Where it is given, groups whose difference is shown to be smaller are `alike`; by default it is a quarter
    of the recognizer's word error rate, and only says how many speakers it would take (Eq. 1).

    A table needs speaker, words and errors (or substitutions, deletions and insertions), or `wer_columns` with a rate
    per recognizer. What it lacks of columns `snr`, `reference` and `audio` cannot be checked for balance; a run has
    texts and recordings, which are opened where there are no more than `recordings`. `bands` cuts numbers into groups,
    {"age": (18, 30)}; ages are cut without being asked. `detail` is a `Parity`.

    >>> import polars as pl
    >>> rows = [
    ...     {"speaker": f"s{n}", "accent": "ab"[n % 2], "words": 100, "errors": 8 + n % 5 + 12 * (n % 2)}
    ...     for n in range(40)
    ... ]
    >>> answer = parity(pl.DataFrame(rows), attributes=["accent"])
    >>> finding = answer.findings[0]
    >>> finding.group, finding.against, finding.verdict, round(finding.estimate, 3)
    ('b', 'a', 'shown', 0.12)
    """
    settings = Settings(
        confidence=confidence,
        power=power,
        gap=gap,
        merge_below=merge_below,
        bands=read_bands(bands),
        age=age,
        canaries=(canaries,) if isinstance(canaries, str) else tuple(canaries),
        min_snr=min_snr,
    )
    scenario = filters.pop("scenario", None)
    scores = Scores.of(source, **filters)
    trials = read_trials(
        scores,
        attributes,
        settings,
        scenario=scenario,
        wer_columns=wer_columns,
        speaker_pattern=speaker_pattern,
        surrogate_speaker=surrogate_speaker,
        recordings=recordings,
        dictionary=dictionary,
    )
    speakers = group_speakers(trials, settings, scores.where)
    asked, order, sample = gaps_asked(speakers.table, settings), speakers.order, speakers.sample()
    cells = summarize_groups(speakers.table, ["recognizer", *(f"@{name}" for name in order)])
    known = speakers.complete
    whole = cells.join(
        known.people.select(f"@{name}" for name in order).unique(), on=[f"@{n}" for n in order], how="semi"
    )
    groups = describe_groups(speakers.table, order, asked, settings)
    pairs = compare_pairs(sample, order, settings)
    fixed = compare_conditionally(sample, cells, order, settings)
    fits = regressions(whole, known.order, groups, settings)
    outlying, without = without_outliers(speakers, pairs, settings)
    tests = balance(speakers.people, speakers.measures, order, settings)
    cautions = [*_surrogates(trials), *imbalances(tests)]
    tables = {
        "groups": groups,
        "pairs": pairs,
        "gaps": best_and_worst(groups, pairs, fixed.pairs),
        "conditional": fixed.pairs,
        "intersectional": compare_intersections(known.sample(), whole, known.order, asked, settings),
        "strata": fixed.strata,
        "regression": fits.terms,
        "regression_tests": fits.tests,
        "balance": tests,
        "canary": canary(pairs, speakers, settings),
        "without_outliers": without,
        "outlying_speakers": outlying,
    }
    tables |= {id_: _with_cautions(tables[id_], cautions) for id_ in _CAUTIONED}
    tables = {id_: _own_first(table, speakers.recognizers) for id_, table in tables.items()}
    tables["checklist"] = checklist(trials, speakers, settings, asked, tables)
    refusals = (
        *(scores.without_texts(one.about) or one for one in speakers.refusals),
        *untested(pairs, speakers.table),
        *fixed.refusals,
        *fits.refusals,
    )
    detail = Parity(settings, trials, speakers, asked, fixed.held)
    return Answer(
        audit=AUDIT,
        title=TITLE,
        question={"scenario": trials.scenario} if trials.scenario else {},
        findings=tuple(_findings(detail, tables)),
        tables=tuple(_tables(tables, len(speakers.single) > 1)),  # type: ignore[arg-type]
        figures=tuple(_figures(tables, speakers)),
        notes=(*_notes(detail, scores, tables["checklist"]), *cautions),
        refusals=refusals,
        lead=LEAD,
        detail=detail,
    )


# The decision


def _surrogates(trials: Trials) -> list[Note]:
    if not trials.surrogate:
        return []
    text = (
        f"speakers are not known: combinations of {', '.join(trials.surrogate)} stand in for them. Each may be many"
        " people, so intervals and tests are not those of a speaker-level analysis"
    )
    return [Note("surrogate_speakers", text, {"attributes": list(trials.surrogate)})]


def _with_cautions(table: pl.DataFrame, cautions: Sequence[Note]) -> pl.DataFrame:
    """Add a column that lists what each row has to be read with.

    A caution about an attribute touches its rows and those of what is crossed with it; others touch every row.
    """
    if not table.height:
        return table
    of = table["attribute" if "attribute" in table.columns else "term"].to_list()
    touched = {
        name: [
            note.text
            for note in cautions
            if note.code == "surrogate_speakers" or note.facts["attribute"] in (name, *name.split(" x "))
        ]
        for name in set(of)
    }
    return table.with_columns(pl.Series("cautions", [touched[name] for name in of], dtype=pl.List(pl.String)))


def _own_first(table: pl.DataFrame, recognizers: Sequence[str]) -> pl.DataFrame:
    """Return a table with the recognizers by themselves first and their mean last: an audit is mostly about one."""
    if "recognizer" not in table.columns:
        return table
    ranks = {name: rank for rank, name in enumerate(recognizers)}
    return table.sort(pl.col("recognizer").replace_strict(ranks, return_dtype=pl.Int64), maintain_order=True)


# The words


def _notes(detail: Parity, scores: Scores, checks: pl.DataFrame) -> Iterable[Note]:
    speakers, asked = detail.speakers, detail.gaps_asked
    yield Note("estimand", ESTIMAND)
    yield gap_note(speakers, asked, detail.settings)
    yield from (Note("selected", text) for text in scores.notes)
    yield from detail.trials.notes
    yield from speakers.notes
    for name, groups in speakers.order.items():
        if len(groups) > MOST_PAIRED:
            text = (
                f"'{name}' has {len(groups)} groups: only the {MOST_PAIRED} with the most speakers are paired"
            )
            yield Note("most_paired", text, {"attribute": name, "groups": len(groups)})
    careful = checks.filter(pl.col("status") == CAUTION)["practice"].unique(maintain_order=True).to_list()
    if careful:
        text = f"the checklist advises caution about {listed(careful, 10)}: the table `checklist` says why"
        yield Note("checklist", text, {"practices": careful})


def _findings(detail: Parity, tables: Mapping[str, pl.DataFrame]) -> Iterable[Finding]:
    """Return what holds with all else fixed, the crossed groups served worst and best, then groups as they are.

    Each is the best and the worst group of an attribute, for each recognizer, then for their mean. Of many, one sums
    them up first.
    """
    pairs, fixed = tables["pairs"], tables["conditional"]
    tested = fixed.filter(pl.col("p").is_not_null()) if fixed.height else fixed
    order = [*detail.speakers.recognizers], list(detail.speakers.order)
    held = sorted(
        farthest(tested, pairs, "observed").to_dicts(),
        key=lambda row: (order[0].index(row["recognizer"]), order[1].index(row["attribute"])),
    )
    rows = [_gap_finding(row, detail, pairs) for row in tables["gaps"].to_dicts()]
    if len(rows) > MOST_SAID:
        yield _sum_up(rows, pairs, detail)
    yield from (_gap_finding(row, detail, fixed, fixed=True) for row in held)
    yield from _crossed_findings(detail, tables["intersectional"])
    yield from rows


def _crossed_findings(detail: Parity, table: pl.DataFrame) -> Iterable[Finding]:
    """Yield the crossed group that each recognizer serves worst and the one it serves best, of those tested."""
    tested = table.filter(pl.col("p").is_not_null(), pl.col("recognizer") != MEAN) if table.height else table
    parts = tested.partition_by("recognizer", maintain_order=True) if tested.height > 1 else []
    for own in (part.sort("estimate", descending=True) for part in parts):
        for end, row in (("worst", own.row(0, named=True)), ("best", own.row(-1, named=True))):
            said = (
                f"Of {own.height} crossed groups with {FEWEST_CROSSED} speakers or more, {_who(row['recognizer'])}"
                f" serves {row['group']} {end} ({counted(row['speakers'], 'speaker')}): it gets {percent(row['wer'])}"
                f" of their words wrong and {percent(row['wer_against'])} of everybody else's, averaged over speakers"
            )
            yield _finding(row, detail, said, f"crossed_{end}", own.height, headline=True)


def _who(name: str) -> str:
    return {MEAN: "the average recognizer", UNNAMED: "the recognizer"}.get(name, name)


def _gap_finding(
    row: Mapping[str, Any], detail: Parity, pairs: pl.DataFrame, *, fixed: bool = False
) -> Finding:
    """Return the gap between the best and the worst group of an attribute, as it is or with all else held fixed."""
    attribute, who = row["attribute"], _who(row["recognizer"])
    held = f"With {listed(detail.held[attribute])} held fixed" if attribute in detail.held else ""
    # The name of a recognizer stays as it is written.
    who = f"{held}, {who}" if fixed else who[0].upper() + who[1:] if who != row["recognizer"] else who
    said = (
        f"{who} gets {percent(row['wer'])} of the words of {row['group']} speakers ({attribute}) wrong and"
        f" {percent(row['wer_against'])} of those of {row['against']} speakers, averaged over speakers"
    )
    count = pairs["p"].count() if pairs.height else 0
    more = _others(row, pairs) if row["verdict"] == "shown" else ""
    if fixed:
        more += _beside(row, "observed", "as observed")
    elif held:
        more += _beside(row, "fixed", held[0].lower() + held[1:])
    own = row["recognizer"] != MEAN
    return _finding(row, detail, said, "wer_gap_fixed" if fixed else "wer_gap", count, more, fixed and own)


def _finding(
    row: Mapping[str, Any],
    detail: Parity,
    said: str,
    measure: str,
    count: int,
    more: str = "",
    headline: bool = False,
) -> Finding:
    """Return a comparison in a sentence: what was measured, how sure it is, and what is not excluded."""
    name, scenario, verdict = row["recognizer"], detail.trials.scenario, row["verdict"]
    code = None
    excludes = None if row["low"] is None or row["high"] is None else max(abs(row["low"]), abs(row["high"]))
    among = f" among {count} comparisons" if count > 1 else ""
    if verdict == "refused":
        code, why = why_untested(row)
        said += f"; whether they differ cannot be tested: {why}."
    else:
        gap = in_points(row["estimate"], row["low"], row["high"])
        sure = f"{p_value(row['p_adjusted'])}{among}"
        if verdict == "shown":
            said += f": a gap of {gap} is shown, {sure}"
        elif verdict == "alike":
            within = f"the {in_points(detail.settings.gap)} asked about"
            said += f": they are alike within {within}, {gap} apart, {sure}"
        else:
            alone = (
                f" (by itself it would be, {p_value(row['p'])})" if row["p"] <= detail.settings.alpha else ""
            )
            open_ = not_excluded(excludes, "one")
            said += f"; no gap is shown{alone}: the difference is {gap}, {sure}, and {open_}"
        said += f"{more}."
    return Finding(
        id=finding_id(AUDIT, name, scenario, row["attribute"], measure),
        measure=measure,
        verdict=verdict,
        sentence=said,
        level=detail.settings.confidence,
        recognizer=None if name in (MEAN, UNNAMED) else name,
        scenario=scenario,
        **{key: row[key] for key in ("estimate", "low", "high", "p", "p_adjusted", "family", "attribute")},
        **{key: row[key] for key in ("group", "against", "speakers", "speakers_against")},
        excludes=excludes if verdict == "not_shown" else None,
        code=code,
        headline=headline,
    )


def _others(row: Mapping[str, Any], pairs: pl.DataFrame) -> str:
    """Return the other pairs of the attribute that are shown, the worse group first."""
    own = pairs.filter(
        *(pl.col(name) == row[name] for name in ("recognizer", "attribute")), pl.col("verdict") == "shown"
    )
    said = []
    for other in own.to_dicts():
        if {other["group"], other["against"]} != {row["group"], row["against"]}:
            up = other["estimate"] > 0.0
            worse, better = (other["group"], other["against"]) if up else (other["against"], other["group"])
            said.append(f"{worse} over {better} ({signed(abs(other['estimate']))})")
    return f"; shown too: {listed(said, 3)}" if said else ""


def _beside(row: Mapping[str, Any], name: str, words: str) -> str:
    """Return what the same gap is as observed, or with all else held fixed."""
    verdict = row.get(f"{name}_verdict")
    if verdict in (None, "refused"):
        return ""
    word = {"shown": "shown", "alike": "alike", "not_shown": "not shown"}[verdict]
    also = "" if verdict != row["verdict"] else " either" if verdict == "not_shown" else " too"
    gap = points_interval(*(row[f"{name}_{end}"] for end in ("estimate", "low", "high")))
    return f"; {words} it is {gap}, {word}{also}"


def _sum_up(findings: Sequence[Finding], pairs: pl.DataFrame, detail: Parity) -> Finding:
    """Return in one sentence what many findings come to."""
    own = pairs.filter(pl.col("recognizer") != MEAN, pl.col("p").is_not_null())
    shown = own.filter(pl.col("verdict") == "shown").sort(pl.col("estimate").abs(), descending=True)
    count = f"{shown.height} of {counted(own.height, 'comparison')}"
    sentence = f"A gap is shown in {count} of two groups"
    if shown.height:
        top = shown.row(0, named=True)
        ends = ("group", "against") if top["estimate"] > 0.0 else ("against", "group")
        worse, better = (top[end] for end in ends)
        whose = "" if top["recognizer"] == UNNAMED else f", {top['recognizer']}"
        sentence += (
            f", of up to {in_points(abs(top['estimate']))} of the word error rate averaged over speakers"
            f" ({worse} over {better}, {top['attribute']}{whose})"
        )
    nowhere = [name for name in detail.speakers.order if name not in shown["attribute"].to_list()]
    if nowhere:
        left = [one.excludes for one in findings if one.attribute in nowhere and one.excludes is not None]
        sentence += (
            f"; none is shown for {listed(nowhere)}, and {not_excluded(max(left, default=None), 'one')}"
        )
    return Finding(
        id=finding_id(AUDIT, detail.trials.scenario, "gaps_shown"),
        measure="gaps_shown",
        verdict="shown" if shown.height else "not_shown",
        sentence=f"{sentence}.",
        estimate=shown.height,
        unit="count",
        p_adjusted=min(own["p_adjusted"].to_list(), default=None),
        family="pairs",
        scenario=detail.trials.scenario,
    )


_COLUMNS = {
    "rank": Column("rank", kind="count"),
    "wer": Column("wer", "WER, mean over speakers", "percent"),
    "wer_interval": Column("wer", "WER, mean over speakers", "percent", "wer_low", "wer_high"),
    "wer_pooled": Column("wer_pooled", "WER of all words", "percent"),
    "difference": Column("estimate", "difference", "points", "low", "high"),
    "estimate": Column("estimate", "difference", "points"),
    "estimate_without": Column("estimate_without", "without", "points"),
    "fixed": Column("fixed_estimate", "all else fixed", "points", "fixed_low", "fixed_high"),
    "fixed_p": Column("fixed_p_adjusted", "p, all else fixed", "p"),
    "p": Column("p_adjusted", "p (corrected)", "p"),
    "p_alone": Column("p", "p", "p"),
    "p_without": Column("p_adjusted_without", "p without", "p"),
    "best": Column("against", "best group"),
    "worst": Column("group", "worst group"),
    "coefficients": Column("columns", "coefficients", "count"),
    "f": Column("f", "F", "ratio"),
    "r_squared": Column("r_squared", "R2", "ratio"),
    "lowest_mean": Column("lowest_mean", "its mean", "number"),
    "highest_mean": Column("highest_mean", "its mean", "number"),
    "largest_difference": Column("largest_difference", "difference in SD", "ratio"),
    "z": Column("z", kind="number"),
}
"""Columns that have a heading of their own here."""
_SHOWN = {
    "conditional": (
        "Pairs of groups with all other attributes held fixed",
        "attribute group against speakers speakers_against difference p verdict",
    ),
    "intersectional": (
        "Groups of all attributes at once against everybody else, the worst first",
        "rank group speakers wer difference p verdict",
    ),
    "groups": ("Groups", "attribute group speakers wer_interval wer_pooled"),
    "gaps": (
        "Worst against best group",
        "attribute worst best difference p verdict fixed fixed_p",
    ),
    "pairs": ("Pairs of groups", "attribute group against difference p verdict"),
    "checklist": ("What these data allow (Herron et al., section 3)", "practice status why"),
    "strata": (
        "Groups within each combination of the other attributes",
        "attribute group stratum speakers speakers_against wer",
    ),
    "regression_tests": (
        "Regression of speakers' WER on all attributes: joint tests",
        "model term coefficients f p verdict r_squared",
    ),
    "regression": (
        "Regression of speakers' WER on all attributes: coefficients",
        "model name difference p_alone",
    ),
    "balance": (
        "Balance of recordings and texts between groups (Kruskal and Wallis's test on speakers)",
        "measure attribute lowest lowest_mean highest highest_mean largest_difference p balanced",
    ),
    "canary": ("Canaries: groups that voices do not tell apart", "canary group against difference p differs"),
    "without_outliers": (
        f"With and without speakers and utterances beyond |z| > {OUTLIER_Z:g}",
        "attribute group against estimate p estimate_without p_without changes",
    ),
    "outlying_speakers": (f"Speakers beyond |z| > {OUTLIER_Z:g}", "speaker groups wer z"),
}
"""Title and columns of each table, in the order they are shown: what holds with all else fixed before what does not."""
_TABLE_NOTES = {
    "pairs": "All pairs and recognizers are one family: p holds for them together, an interval for its pair alone.",
    "gaps": "All pairs and recognizers are one family: p holds for them together, an interval for its pair alone.",
    "checklist": CHECKLIST,
    "regression_tests": "F is as published. The corrected p of an attribute is that of F or of a guard against"
    " skewed spread between speakers, whichever is larger.",
}
_CAUTIONED = ("groups", "gaps", "conditional", "intersectional", "pairs", "regression", "regression_tests")
"""Tables whose rows say what they have to be read with."""


def _tables(frames: Mapping[str, pl.DataFrame], several: bool) -> Iterable[Table]:
    # Few pairs are shown themselves, of many the best and the worst group; the rest is folded away.
    unfolded = ("groups", "pairs") if frames["pairs"].height <= MOST_SHOWN else ("gaps",)
    for id_, (title, columns) in _SHOWN.items():
        frame = frames[id_]
        if frame.is_empty():
            continue
        whose = "recognizer " if several and "recognizer" in frame.columns else ""
        named = [_COLUMNS.get(name, name) for name in (whose + columns).split()]
        shown = [one for one in named if isinstance(one, str) or one.name in frame.columns]
        yield tabulate(id_, title, frame, shown, note=_TABLE_NOTES.get(id_, ""), folded=id_ not in unfolded)


def _figures(tables: Mapping[str, pl.DataFrame], speakers: Speakers) -> Iterable[Figure]:
    """Yield Herron et al.'s figures in their order of trust: Figs. 6, 8, 7, 5 and 1."""
    whose = len(speakers.single) > 1
    drawn = (
        (
            "conditional",
            "Two groups with all else held fixed",
            "two groups' mean word error rates, all else fixed",
        ),
        (
            "intersectional",
            "Crossed groups served worst and best",
            "a crossed group's mean rate from all others'",
        ),
    )
    for id_, title, what in drawn:
        rows = [row for row in tables[id_].to_dicts() if row["recognizer"] != MEAN and row["p"] is not None]
        if id_ == "intersectional":
            rows = sorted(rows, key=lambda row: -row["estimate"])
            rows = rows[:MOST_ENDS] + rows[max(MOST_ENDS, len(rows) - MOST_ENDS) :]
        forest = tuple(
            ForestRow(
                (
                    f"{row['attribute']}: {row['group']} over {row['against']}"
                    if id_ == "conditional"
                    else row["group"]
                )
                + (f" ({row['recognizer']})" if whose else ""),
                Cell(row["estimate"], row["low"], row["high"]),
                row["verdict"] == "shown",
                counted(row["speakers"], "speaker"),
            )
            for row in rows[:MOST_BARS]
        )
        if forest:
            drawing = Forest(forest, f"difference of {what}", no_difference=0.0, log=False)
            yield Figure(id_, title, f"Differences of {what}, with intervals.", drawing, id_)
    crossed = tables["intersectional"]
    if crossed.height and crossed["p"].count():
        yield Figure(
            "nested",
            "Mean word error rate of crossed groups; stars where it is shown to differ from all others'",
            "Bars of the mean word error rate of crossed groups, with stars: *** p up to 0.001, ** 0.01, * 0.05.",
            _nested(crossed.filter(pl.col("p").is_not_null()), speakers.single),
            "intersectional",
        )
    groups, mean = tables["groups"], "mean over speakers of the word error rate"
    relative = groups.with_columns(pl.col("err_rel") / 100.0)
    for id_, title, bars in (
        ("groups", f"Groups: {mean}", speakers.bars(groups, mean, "wer", "wer_low", "wer_high")),
        (
            "relative",
            "Groups: error relative to all (Err_rel)",
            speakers.bars(relative, "relative error", "err_rel"),
        ),
        ("labels", "Speakers of each group", speakers.bars(groups, "speakers", "speakers", kind="count")),
    ):
        yield Figure(id_, title, f"{title}, as bars.", bars, "groups")


def _nested(crossed: pl.DataFrame, recognizers: Sequence[str]) -> Bars:
    """Return bars of crossed groups, those of the first attribute's group side by side, with stars on the labels."""
    rows = {(row["recognizer"], row["group"]): row for row in crossed.to_dicts()}
    groups = sorted({group for _, group in rows})[:MOST_BARS]

    def stars(group: str) -> str:
        p = min(row["p_adjusted"] for (name, own), row in rows.items() if own == group and name != MEAN)
        return " " + "*" * sum(p <= level for level in (0.05, 0.01, 0.001)) if p <= STARRED else ""

    series = tuple(
        Series(name, tuple(Cell(rows[name, one]["wer"]) if (name, one) in rows else None for one in groups))
        for name in recognizers
    )
    return Bars(
        tuple(f"{group}{stars(group)}" for group in groups), series, "mean word error rate of speakers"
    )
