"""Parity: the question, the decision and the words. What is computed is in `compare.py` and `regression.py`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl

from voxaudit.answer import (
    Answer,
    Cell,
    Column,
    Figure,
    Finding,
    Forest,
    ForestRow,
    Note,
    Refusal,
    Table,
    Verdict,
    finding_id,
    tabulate,
)
from voxaudit.audits.audit import asks
from voxaudit.audits.parity.checklist import balance, checklist, imbalances
from voxaudit.audits.parity.compare import (
    canary,
    compare_conditionally,
    compare_groups,
    compare_intersections,
    empty_groups,
    judged,
    named_groups,
    without_outliers,
)
from voxaudit.audits.parity.regression import regressions
from voxaudit.audits.parity.speakers import (
    MOST_BARS,
    UNNAMED,
    Settings,
    Speakers,
    Trials,
    gaps_asked,
    group_speakers,
    read_trials,
)
from voxaudit.audits.scores import Names, Scores, Source
from voxaudit.corpus.bands import Bands, read_bands
from voxaudit.stats.balance import quantiles_by_group
from voxaudit.stats.group_means import MOST_PAIRED, compare_best_and_worst, compare_pairs
from voxaudit.stats.speaker_means import (
    MEAN,
    OUTLIER_Z,
    outlying_utterances,
    spread_between_speakers,
    summarize_groups,
)
from voxaudit.wording import in_points, listed, p_value

AUDIT, TITLE = "parity", "Parity between speakers"
MOST_UTTERANCES = 100
"""Outlying utterances that are listed."""
LEAD = (
    "Every speaker counts once: a group's rate is the mean over its speakers of their mean over utterances, so somebody"
    " who speaks much does not decide what is said of a group. The checklist goes through the good practices of Herron"
    " et al. and says what these data allow."
)
CHECKLIST = (
    "Intersectional groups are those of several attributes at once; conditional parity holds all other attributes"
    " fixed; the canary compares neighboring bands of middle age, whose voices hardly differ: where their error"
    " rates do, something other than age is at work."
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
    recognizer: Names = None,
    scenario: Names = None,
    corpus: Names = None,
    language: Names = None,
    where: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    gap: float | None = None,
    confidence: float = 0.95,
    power: float = 0.8,
    merge_below: int = 0,
    bands: Bands = (),
    age: str | None = None,
    min_snr: float = 10.0,
    recordings: int = 200,
    dictionary: str | Path | None = None,
    wer_columns: Sequence[str] = (),
    speaker_pattern: str | None = None,
    surrogate_speaker: bool = False,
    correction: Literal["holm", "bh"] = "holm",
) -> Answer:
    """Compare groups of speakers as Herron et al. (Responsible Benchmarking of Fairness for ASR) ask for.

    Speakers are the sample. Every group of `attributes` is compared with all others (mean over speakers of their mean
    over utterances, Eq. 3; relative error, Eq. 4), the best with the worst (Eq. 5), with all else held fixed (Eq. 6),
    crossed, and by regression (Eq. 7 and 8); on clean speech unless `scenario` says otherwise. Whether there are enough
    speakers is Eq. 1, `n > 2 (z_alpha + z_beta)^2 sigma^2 / gap^2`, for the `gap` that matters: a difference
    of word error rates as a fraction, by default 0.1 or half the recognizer's rate if less.

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
        correction=correction,
        gap=gap,
        merge_below=merge_below,
        bands=read_bands(bands),
        age=age,
        min_snr=min_snr,
    )
    scores = Scores.of(
        source, recognizer=recognizer, corpus=corpus, language=language, where=where, columns=columns
    )
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
    asked = gaps_asked(speakers.table, settings)
    order = speakers.order
    cells = summarize_groups(speakers.table, ["recognizer", *(f"@{name}" for name in order)])
    groups = compare_groups(speakers.table, order, asked, settings)
    pairs = judged(compare_pairs(speakers.table, order, asked, settings), asked, settings)
    fixed = compare_conditionally(cells, groups, speakers, asked, settings)
    gaps = compare_best_and_worst(groups, settings)
    if fixed.gaps.height:
        gaps = gaps.join(fixed.gaps, on=["recognizer", "attribute"], how="left", maintain_order="left")
    fits = regressions(cells, order, groups, settings)
    outlying, without = without_outliers(speakers.table, groups, order, asked, settings)
    tests = balance(speakers.people, speakers.measures, order, settings)
    cautions = [*_surrogates(trials), *imbalances(tests)]
    gap_asked = pl.col("recognizer").replace_strict(asked, return_dtype=pl.Float64)
    tables = {
        "groups": groups.with_columns(against=pl.lit("all others")),
        "gaps": _gap_verdicts(gaps.with_columns(gap_asked=gap_asked), settings),
        "conditional": _with_held(fixed.groups, fixed.held),
        "intersectional": compare_intersections(cells, order, asked, settings),
        "pairs": pairs,
        "strata": fixed.strata,
        "regression": fits.terms,
        "regression_tests": fits.tests,
        "balance": tests,
        "distributions": quantiles_by_group(speakers.people, speakers.measures, order),
        "canary": canary(pairs, speakers, settings),
        "without_outliers": without,
        "outlying_speakers": outlying,
        "outlying_utterances": outlying_utterances(trials.table),
        "spread": spread_between_speakers(cells, speakers.table).select(
            "recognizer", "speakers", gap_asked.alias("gap_asked"), pl.exclude("recognizer", "speakers")
        ),
    }
    tables |= {id_: _with_cautions(tables[id_], cautions) for id_ in _CAUTIONED}
    tables = {id_: _own_first(table, speakers.recognizers) for id_, table in tables.items()}
    tables["checklist"] = checklist(trials, speakers, settings, asked, tables)
    refusals = (
        *speakers.refusals,
        *_group_refusals(tables["groups"], speakers.table),
        *fixed.refusals,
        *empty_groups(cells, order),
        *fits.refusals,
    )
    detail = Parity(settings, trials, speakers, asked, fixed.held)
    return _answer(detail, tables, (*_notes(detail, scores), *cautions), refusals)


# The decision


def _gap_verdicts(gaps: pl.DataFrame, settings: Settings) -> pl.DataFrame:
    """Add the verdict on each gap.

    Where none is shown, too few speakers refuse an answer only if the interval leaves the gap asked about open.
    """
    verdict = (
        pl.when(pl.col("p_adjusted").is_null())
        .then(pl.lit("refused"))
        .when(pl.col("p_adjusted") < settings.alpha)
        .then(pl.lit("shown"))
        .when(pl.col("enough_speakers") | (pl.col("high") < pl.col("gap_asked")))
        .then(pl.lit("not_shown"))
        .otherwise(pl.lit("refused"))
    )
    family = pl.when(pl.col("recognizer") == MEAN).then(pl.lit("gaps of the mean")).otherwise(pl.lit("gaps"))
    return gaps.with_columns(verdict=verdict, family=family)


def _surrogates(trials: Trials) -> list[Note]:
    if not trials.surrogate:
        return []
    text = (
        f"speakers are not known: combinations of {', '.join(trials.surrogate)} stand in for them. Each may be many"
        " people, so intervals and tests are not those of a speaker-level analysis"
    )
    return [Note("surrogate_speakers", text, {"attributes": list(trials.surrogate)})]


def _with_cautions(table: pl.DataFrame, cautions: Sequence[Note]) -> pl.DataFrame:
    """Add a column that lists what each row has to be read with, and say so behind its conclusion.

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
    table = table.with_columns(
        pl.Series("cautions", [touched[name] for name in of], dtype=pl.List(pl.String))
    )
    if "conclusion" not in table.columns:
        return table
    marked = pl.when(pl.col("cautions").list.len() > 0).then(pl.lit(" (caution)")).otherwise(pl.lit(""))
    return table.with_columns(conclusion=pl.col("conclusion") + marked)


def _with_held(table: pl.DataFrame, held: Mapping[str, tuple[str, ...]]) -> pl.DataFrame:
    """Add what was held fixed for each row's attribute."""
    if not table.height:
        return table
    names = {name: ", ".join(others) for name, others in held.items()}
    return table.with_columns(held=pl.col("attribute").replace_strict(names, return_dtype=pl.String))


def _own_first(table: pl.DataFrame, recognizers: Sequence[str]) -> pl.DataFrame:
    """Return a table with the recognizers by themselves first and their mean last: an audit is mostly about one."""
    if "recognizer" not in table.columns:
        return table
    ranks = {name: rank for rank, name in enumerate(recognizers)}
    return table.sort(pl.col("recognizer").replace_strict(ranks, return_dtype=pl.Int64), maintain_order=True)


def _group_refusals(groups: pl.DataFrame, speakers: pl.DataFrame) -> list[Refusal]:
    """Say which groups were not tested, and which recognizers made no error."""
    errors = speakers.group_by("recognizer", maintain_order=True).agg(pl.col("errors").sum())
    silent = errors.filter(pl.col("errors") == 0)["recognizer"].to_list()
    text = "it made no error at all: there is nothing to compare"
    refusals = [Refusal("too_few_errors", f"recognizer '{name}'", text, {"errors": 0}) for name in silent]
    alone, others, spread = (
        "one speaker: the group cannot be told from the person",
        "everybody else is one speaker",
        "within each side all speakers have the same word error rate: there is no spread to test with",
    )
    why = pl.when(pl.col("speakers") < 2).then(pl.lit(alone)).when(pl.col("speakers_against") < 2)
    untested = groups.filter(pl.col("p").is_null()).with_columns(
        why=why.then(pl.lit(others)).otherwise(pl.lit(spread))
    )
    for (name, text), part in untested.group_by("attribute", "why", maintain_order=True):
        there = part["group"].unique(maintain_order=True).to_list()
        more = max((int(number) for number in part["more_needed"].drop_nulls()), default=0)
        about = named_groups(str(name), there) + ("" if text == alone else " against the rest")
        facts = {"attribute": name, "groups": there, "more_needed": more}
        remedy = f"{more} more speakers" if more else "more speakers"
        code = "one_speaker" if text == alone else "too_few_speakers"
        refusals.append(Refusal(code, about, str(text), facts, remedy))
    return refusals


# The words


def _answer(
    detail: Parity, tables: Mapping[str, pl.DataFrame], notes: Sequence[Note], refusals: Sequence[Refusal]
) -> Answer:
    speakers = detail.speakers
    return Answer(
        audit=AUDIT,
        title=TITLE,
        question={"scenario": detail.trials.scenario} if detail.trials.scenario else {},
        findings=tuple(_findings(detail, tables)),
        tables=tuple(_tables(tables, len(speakers.single) > 1)),  # type: ignore[arg-type]
        figures=tuple(_figures(tables, speakers)),
        notes=tuple(notes),
        refusals=tuple(refusals),
        lead=LEAD,
        detail=detail,
    )


def _notes(detail: Parity, scores: Scores) -> Iterable[Note]:
    speakers, asked = detail.speakers, detail.gaps_asked
    by_gap: dict[str, list[str]] = {}
    for name in speakers.single:
        by_gap.setdefault(in_points(asked[name]), []).append(name)
    said = [f"{gap} ({', '.join(names)})" if len(by_gap) > 1 else gap for gap, names in by_gap.items()]
    yield Note("gap", f"asked about: a gap of {', '.join(said)}", {"gap": asked}, see=("gap",))
    yield from (Note("selected", text) for text in scores.notes)
    yield from detail.trials.notes
    yield from speakers.notes
    for name, groups in speakers.order.items():
        if len(groups) > MOST_PAIRED:
            text = (
                f"'{name}' has {len(groups)} groups: only the {MOST_PAIRED} with the most speakers are paired"
            )
            yield Note("most_paired", text, {"attribute": name, "groups": len(groups)})


def _findings(detail: Parity, tables: Mapping[str, pl.DataFrame]) -> Iterable[Finding]:
    """Return what is found of each recognizer, then of their mean."""
    gaps = [row for row in tables["gaps"].to_dicts() if row["estimate"] is not None]
    yield from (_gap_finding(row, detail) for row in gaps if row["recognizer"] != MEAN)
    for name in detail.speakers.single:
        short = tables["groups"].filter(pl.col("recognizer") == name, ~pl.col("enough_speakers")).to_dicts()
        if short:
            yield _speakers_finding(name, short, detail)
    yield from (_gap_finding(row, detail) for row in gaps if row["recognizer"] == MEAN)


def _gap_finding(row: Mapping[str, Any], detail: Parity) -> Finding:
    """Return the gap between the best and the worst group of an attribute."""
    name, attribute, scenario = row["recognizer"], row["attribute"], detail.trials.scenario
    verdict: Verdict = row["verdict"]
    whose = {MEAN: " averaged over the recognizers", UNNAMED: ""}.get(name, f" of {name}")
    gap = in_points(row["estimate"], row["low"], row["high"])
    p = "" if row["p_adjusted"] is None else f" ({p_value(row['p_adjusted'])})"
    sentence = (
        f"Speaker by speaker, the word error rate{whose} is {gap} higher for {row['group']} ({attribute}) than for"
        f" {row['against']}{p}"
    )
    code = None
    if verdict == "shown":
        sentence += ": a gap is shown."
    elif verdict == "not_shown":
        sentence += f": no gap is shown, and one above {in_points(row['high'])} is ruled out."
    elif row["p_adjusted"] is None:
        code = "undefined"
        sentence += ": whether that is more than chance cannot be tested, speakers of a group do not differ."
    else:
        code = "too_few_speakers"
        sentence += f": too few speakers to tell whether there is a gap of {in_points(row['gap_asked'])}."
    return Finding(
        id=finding_id(AUDIT, name, scenario, attribute, "wer_gap"),
        measure="wer_gap",
        verdict=verdict,
        sentence=sentence,
        level=detail.settings.confidence,
        recognizer=None if name in (MEAN, UNNAMED) else name,
        scenario=scenario,
        **{key: row[key] for key in ("estimate", "low", "high", "p", "p_adjusted", "family", "attribute")},
        **{key: row[key] for key in ("group", "against", "speakers", "speakers_against")},
        excludes=row["high"] if verdict == "not_shown" else None,
        code=code,
    )


def _speakers_finding(name: str, short: Sequence[Mapping[str, Any]], detail: Parity) -> Finding:
    """Return what the number of speakers cannot show of a recognizer."""
    lacking = [
        f"{row['group']} ({row['attribute']}) needs {row['more_needed']} more"
        if row["more_needed"]
        else f"those beside {row['group']} ({row['attribute']}) are too few"
        for row in short
    ]
    who = "" if name == UNNAMED else f"{name}: "
    text = f"too few speakers to show a gap of {in_points(detail.gaps_asked[name])} between groups; {listed(lacking)}."
    return Finding(
        id=finding_id(AUDIT, name, detail.trials.scenario, "speakers_missing"),
        measure="speakers_missing",
        verdict="refused",
        sentence=who + text if who else text[0].upper() + text[1:],
        estimate=max((row["more_needed"] for row in short if row["more_needed"] is not None), default=None),
        unit="count",
        recognizer=None if name == UNNAMED else name,
        scenario=detail.trials.scenario,
        code="too_few_speakers",
        headline=True,
    )


_COLUMNS = {
    "used": Column("speakers_used", "speakers used", "count"),
    "others": Column("speakers_against", "other speakers", "count"),
    "more_needed": Column("more_needed", "more speakers needed", "count"),
    "rank": Column("rank", kind="count"),
    "wer": Column("wer", "WER, mean over speakers", "percent"),
    "wer_interval": Column("wer", "WER, mean over speakers", "percent", "wer_low", "wer_high"),
    "wer_without": Column("wer_without", "WER without", "percent"),
    "wer_pooled": Column("wer_pooled", "pooled", "percent"),
    "estimate": Column("estimate", "against all others", "points", "low", "high"),
    "difference": Column("estimate", "difference", "points", "low", "high"),
    "gap": Column("estimate", "gap", "points", "low", "high"),
    "p": Column("p_adjusted", "p (corrected)", "p"),
    "p_without": Column("p_adjusted_without", "p without", "p"),
    "conclusion": Column("conclusion", "verdict"),
    "best": Column("against", "best group"),
    "worst": Column("group", "worst group"),
    "choice_matters": Column("choice_matters", "averaging decides"),
    "coefficients": Column("columns", "coefficients", "count"),
    "f": Column("f", "F", "ratio"),
    "r_squared": Column("r_squared", "R2", "ratio"),
    "lowest_mean": Column("lowest_mean", "its mean", "number"),
    "highest_mean": Column("highest_mean", "its mean", "number"),
    "largest_difference": Column("largest_difference", "difference in SD", "ratio"),
    "outliers": Column("outliers", "outlying speakers", "count"),
    "gap_asked": Column("gap_asked", "gap asked about", "percent"),
    "sigma": Column("sigma", "SD between speakers", "percent"),
    "sigma_floor": Column("sigma_floor", "SD with endless utterances", "percent"),
    **{name: Column(name, kind="number") for name in ("z", "mean", "sd", "q5", "q25", "q50", "q75", "q95")},
}
"""Columns that have a heading of their own here."""
_SHOWN = {
    "groups": (
        "Each group against all others",
        "attribute group speakers wer_interval wer_pooled estimate p more_needed conclusion",
    ),
    "gaps": ("Best against worst group", "attribute best worst gap p choice_matters verdict"),
    "conditional": (
        "The same with all other attributes held fixed",
        "attribute group used estimate p conclusion",
    ),
    "checklist": ("What these data allow (Herron et al., section 3)", "practice status why"),
    "intersectional": (
        "Groups of all attributes at once, the worst first",
        "rank group speakers wer estimate p conclusion",
    ),
    "pairs": ("Pairs of groups", "attribute group against difference p conclusion"),
    "strata": (
        "Groups within each combination of the other attributes",
        "attribute group stratum speakers others estimate p",
    ),
    "regression_tests": (
        "Regression of speakers' WER on all attributes: joint tests",
        "model term coefficients f p r_squared",
    ),
    "regression": ("Regression of speakers' WER on all attributes: coefficients", "model name difference p"),
    "balance": (
        "Balance of recordings and texts between groups (Kruskal and Wallis's test on speakers)",
        "measure attribute lowest lowest_mean highest highest_mean largest_difference p balanced",
    ),
    "distributions": (
        "Recordings and texts by group: quantiles over speakers",
        "measure attribute group speakers mean sd q5 q25 q50 q75 q95",
    ),
    "canary": ("The canary: neighboring bands of middle age", "group against difference p differs"),
    "without_outliers": (
        f"With and without speakers and utterances beyond |z| > {OUTLIER_Z:g}",
        "attribute group outliers wer p wer_without p_without changes",
    ),
    "outlying_speakers": (f"Speakers beyond |z| > {OUTLIER_Z:g}", "speaker groups wer z"),
    "outlying_utterances": ("Utterances as far from their speaker's mean", "speaker utterance wer z"),
    "spread": ("Spread between speakers", "speakers gap_asked wer sigma sigma_floor"),
}
"""Title and columns of each table, in the order they are shown."""
_TABLE_NOTES = {
    "gaps": "Best and worst were looked for among all pairs: p and the interval allow for that.",
    "checklist": CHECKLIST,
}
_UNFOLDED = ("groups", "gaps", "conditional", "checklist")
_CAUTIONED = ("groups", "gaps", "conditional", "intersectional", "pairs", "regression", "regression_tests")
"""Tables whose rows say what they have to be read with."""


def _tables(frames: Mapping[str, pl.DataFrame], several: bool) -> Iterable[Table]:
    for id_, (title, columns) in _SHOWN.items():
        frame = frames[id_]
        if frame.is_empty():
            continue
        if id_ == "outlying_utterances" and frame.height > MOST_UTTERANCES:
            title = f"{title}: the farthest of {frame.height:,}"
            frame = frame.head(MOST_UTTERANCES)
        whose = "recognizer " if several and "recognizer" in frame.columns else ""
        shown = [_COLUMNS.get(name, name) for name in (whose + columns).split()]
        note, folded = _TABLE_NOTES.get(id_, ""), id_ not in _UNFOLDED
        yield tabulate(id_, title, frame, shown, note=note, folded=folded)


def _figures(tables: Mapping[str, pl.DataFrame], speakers: Speakers) -> Iterable[Figure]:
    y_title = "mean over speakers of the word error rate"
    bars = speakers.bars(tables["groups"], y_title, "wer", "wer_low", "wer_high")
    alt = "Bars of the mean word error rate over speakers by group and recognizer, with intervals."
    yield Figure("groups", "Mean word error rate of the speakers of each group", alt, bars, "groups")
    fixed = tables["conditional"]
    if fixed.is_empty():
        return
    shown = [row for row in fixed.to_dicts() if row["recognizer"] != MEAN][:MOST_BARS]
    whose = len(speakers.single) > 1
    forest = Forest(
        tuple(
            ForestRow(
                f"{row['attribute']}: {row['group']}" + (f" ({row['recognizer']})" if whose else ""),
                Cell(row["estimate"], row["low"], row["high"]),
                row["verdict"] == "shown",
            )
            for row in shown
        ),
        "points of word error rate against all others, all else fixed",
        no_difference=0.0,
        log=False,
    )
    alt = "Difference of each group's word error rate to all others, all other attributes held fixed, with intervals."
    yield Figure("conditional", "Each group with all else held fixed", alt, forest, "conditional")
