"""Robustness: the question, the decision and the words. What is measured, and how, is in `measure.py`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from voxaudit.answer import (
    Answer,
    Bars,
    Cell,
    Column,
    Curves,
    Figure,
    Finding,
    HeatMap,
    Note,
    Series,
    Table,
    Verdict,
    finding_id,
    refuse,
    tabulate,
)
from voxaudit.audits.audit import asks
from voxaudit.audits.robustness.levels import ALL, ATTACKED
from voxaudit.audits.robustness.measure import FALLS, FEW, FLAT, GROWS, Robustness, measure_robustness
from voxaudit.audits.robustness.trials import check_difficulty, choose_difficulty, read_facts, read_trials
from voxaudit.audits.scores import Names, Scores, Source
from voxaudit.errors import VoxauditError
from voxaudit.perturb import CLEAN
from voxaudit.perturb.describe import in_short
from voxaudit.perturb.settings import Setting, by_harshness
from voxaudit.stats.multiplicity import farther_together
from voxaudit.wording import as_or_than, counted, in_points, listed, percent_interval, spoken, times_as_many

AUDIT = "robustness"
WORST = 5
"""Scenarios of a recognizer that are listed as its worst."""
MOST_SERIES = 6
"""Groups that are drawn in one panel; those with most speakers are."""
MOST_BARS = 40
ONE_SETTING = "one setting"
MEASURES = {"wer": "WER", "werd": "WERD", "nwerd": "NWERD"}
OVERALL = {ALL: "all disturbances", ATTACKED: "all attacks"}
FAMILY = "pairs of recognizers"


# The question


@asks(AUDIT)
def robustness(
    source: Source,
    *,
    recognizer: Names = None,
    scenario: Names = None,
    corpus: Names = None,
    language: Names = None,
    where: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    attributes: Sequence[str] = (),
    by: Sequence[str] = (),
    difficulty: Any = None,
    facts: Any = None,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Answer:
    """Measure what every scenario costs every recognizer, against clean speech.

    `WERD = WER(scenario) - WER(clean)` on the utterances heard both ways, and `NWERD = 100 WERD / difficulty` (Speech
    Robust Bench, section 3.2), both as fractions; averaged over severities, then perturbations, then categories.
    Several sources hold other recognizers, or further random draws of the same scenarios. A table needs the columns
    utterance, speaker, scenario, recognizer, words and errors (or substitutions, deletions, insertions), and clean
    speech, which is kept whatever `scenario` names.

    `difficulty` is `published`, `measured`, `none`, a file or a table with the columns scenario and difficulty; without
    it difficulties are those measured in the run, else the published ones. `attributes` are columns whose groups are
    compared under disturbance: `LWERR = log2(WER of a group / WER of the other)` (Eq. 5). Languages and corpora are
    pooled unless `by` names their columns. `facts`, a file or a table, says of each recognizer what may go with its
    robustness. Intervals of differences come from `resamples` draws of speakers. `detail` (`Robustness`) has everything
    that was measured.

    >>> import polars as pl
    >>> errors = {"clean": 5, "gaussian_noise:1": 8, "gaussian_noise:3": 20}
    >>> rows = [
    ...     {"recognizer": "r", "scenario": name, "speaker": s, "utterance": s, "errors": count + s % 3, "words": 100}
    ...     for name, count in errors.items()
    ...     for s in range(8)
    ... ]
    >>> answer = robustness(pl.DataFrame(rows), difficulty="none")
    >>> round(answer.finding("robustness/r/overall/werd").estimate, 3)
    0.09
    """
    if not 0.0 < confidence < 1.0:
        raise VoxauditError(f"confidence must lie between 0 and 1, not {confidence:g}", see=("confidence",))
    if resamples < 100:
        raise VoxauditError(f"resamples must be at least 100, not {resamples}", see=("resamples",))
    if seed < 0:
        raise VoxauditError(f"seed must be at least 0, not {seed}", see=("seed",))
    scores = Scores.of(
        source,
        recognizer=recognizer,
        scenario=_with_clean(scenario),
        corpus=corpus,
        language=language,
        where=where,
        columns=columns,
    )
    trials, unfit = read_trials(scores, _names(attributes), _names(by))
    if set(trials.settings) == {CLEAN}:
        raise refuse("nothing_disturbed", "only clean speech was heard and scored", about=scores.where)
    table, origin = choose_difficulty(difficulty, scores.runs, list(trials.settings))
    hard, unknown = ({}, []) if table is None else check_difficulty(table, trials.settings, origin)
    found = measure_robustness(
        trials,
        difficulty=hard,
        difficulty_source=origin,
        facts=None if facts is None else read_facts(facts, trials.recognizers),
        confidence=confidence,
        resamples=resamples,
        seed=seed,
    )
    return Answer(
        audit=AUDIT,
        title="Robustness",
        findings=tuple(replace(one, level=confidence) for one in _findings(found, confidence)),
        tables=tuple(_tables(found)),  # type: ignore[arg-type]
        figures=tuple(_figures(found, trials.groups)),
        notes=(*_notes(scores, found), *found.notes),
        refusals=(*unknown, *unfit, *found.refusals),
        lead=_lead(found),
        detail=found,
    )


def _names(given: Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _with_clean(scenario: Names) -> Names:
    """Return the scenarios asked about and clean speech, which all are compared with."""
    return None if scenario is None else (CLEAN, *(name for name in _names(scenario) if name != CLEAN))


# The findings


def _findings(found: Robustness, confidence: float) -> Iterator[Finding]:
    yield from _overall(found)
    yield from _ranking(found)
    yield from _categories(found)
    yield from _worst_category(found, confidence)
    yield from _trends(found)
    yield from _silence(found)
    yield from _groups(found)
    yield from _slopes(found)


def _lead(found: Robustness) -> str:
    lead = (
        "WERD is the word error rate under a disturbance less that on clean speech, in percentage points: the errors"
        " that the disturbance adds. Severities run from mild to harsh. Averages count every category equally and,"
        " within one, every perturbation, whatever the number of its severities."
    )
    if found.measure == "nwerd":
        lead += (
            " NWERD divides it by how difficult the disturbed audio is to bear (100 is twice the average difficulty),"
            " so that scenarios can be compared."
        )
    return lead


def _who(row: Mapping[str, Any]) -> str:
    """Return the recognizer of a row, with the language and corpus where results are set apart by them."""
    places = [row[name] for name in ("language", "corpus") if row.get(name) is not None]
    return f"{row['recognizer']} ({', '.join(places)})" if places else str(row["recognizer"])


def _id(row: Mapping[str, Any], *parts: str | None) -> str:
    return finding_id(AUDIT, row["recognizer"], row.get("language"), row.get("corpus"), *parts)


def _measured(row: Mapping[str, Any], measure: str, sentence: str, *, headline: bool = False) -> Finding:
    """Return a rate or a cost of a row of `levels`. It is no claim: its interval allows for no others."""
    level = "overall" if row["level"] == "overall" else row["name"]
    return Finding(
        id=_id(row, level, measure),
        measure=measure,
        verdict="measured",
        sentence=sentence,
        estimate=row[measure],
        low=row[f"{measure}_low"],
        high=row[f"{measure}_high"],
        recognizer=row["recognizer"],
        language=row.get("language"),
        scenario=level,
        speakers=row["speakers"],
        utterances=row["utterances"],
        headline=headline,
    )


def _points(row: Mapping[str, Any], measure: str) -> str:
    return in_points(row[measure], row[f"{measure}_low"], row[f"{measure}_high"])


def _overall(found: Robustness) -> Iterator[Finding]:
    """Yield what disturbed speech costs each recognizer on average, and where it costs most."""
    for _, own in found.levels.group_by(found.labels, maintain_order=True):
        known = own.filter(pl.col("werd").is_not_null())
        rows = known.filter((pl.col("level") == "overall") & (pl.col("name") == ALL)).to_dicts()
        if not rows:
            continue
        row = rows[0]
        categories = known.filter(pl.col("level") == "category").sort(
            "werd", descending=True, maintain_order=True
        )
        over, most = counted(row["scenarios"], "scenario"), ""
        if categories.height > 1:
            worst = categories.row(0, named=True)
            over = f"{categories.height} categories of disturbance ({over})"
            most = f"; most under {spoken(worst['name'])}, {_points(worst, 'werd')}"
        sentence = (
            f"Disturbed speech adds {_points(row, 'werd')} to the word error rate of {_who(row)}, on average over"
            f" {over}{most}."
        )
        yield _measured(row, "werd", sentence, headline=True)
        mean = percent_interval(row["wer"], row["wer_low"], row["wer_high"])
        yield _measured(row, "wer", f"On average over {over}, {_who(row)} gets {mean} of the words wrong.")


def _categories(found: Robustness) -> Iterator[Finding]:
    rows = found.levels.filter((pl.col("level") == "category") & pl.col("werd").is_not_null())
    for row in rows.iter_rows(named=True):
        measure = "werd" if row[found.measure] is None else found.measure
        name = spoken(row["name"])
        if measure == "werd":
            capital = name[:1].upper() + name[1:]
            sentence = f"{capital} adds {_points(row, 'werd')} to the word error rate of {_who(row)}."
        else:
            sentence = (
                f"Under {name}, {_who(row)} has an NWERD of {_points(row, 'nwerd')}: the errors that it adds, weighed"
                " by its difficulty."
            )
        yield _measured(row, measure, sentence)


def _worst_category(found: Robustness, confidence: float) -> Iterator[Finding]:
    """Yield the largest NWERD over the categories of each recognizer.

    The largest of several lower limits would be too high by chance, so that they are taken together. An upper limit
    needs nothing of the kind: all categories have to be below; where one has none, neither has the worst.
    """
    known = found.levels.filter((pl.col("level") == "category") & pl.col("nwerd").is_not_null())
    for _, rows in known.group_by(found.labels, maintain_order=True):
        worst = rows.sort("nwerd", descending=True, maintain_order=True).row(0, named=True)
        df = rows["speakers"].fill_null(2).to_numpy() - 1.0  # without speakers there is no limit either
        farther = pl.Series(farther_together(df, rows.height, confidence))
        low = (rows["nwerd"] - farther * (rows["nwerd"] - rows["nwerd_low"])).max()
        high = None if rows["nwerd_high"].null_count() else rows["nwerd_high"].max()
        name = spoken(worst["name"])
        if rows.height == 1:
            sentence = f"NWERD of {_who(worst)} is {_points(worst, 'nwerd')} under {name}, its only category"
        else:
            sentence = (
                f"NWERD of {_who(worst)} is {in_points(worst['nwerd'])} under {name}, its worst category"
            )
            if isinstance(low, float):
                sentence += f"; at least {100 * low:.1f} with {rows.height} categories taken together"
        yield Finding(
            id=_id(worst, "worst_category_nwerd"),
            measure="worst_category_nwerd",
            verdict="measured",
            sentence=f"{sentence}.",
            estimate=worst["nwerd"],
            low=low if isinstance(low, float) else None,
            high=high if isinstance(high, float) else None,
            recognizer=worst["recognizer"],
            language=worst.get("language"),
            scenario=worst["name"],
            speakers=worst["speakers"],
            utterances=worst["utterances"],
        )


def _ranking(found: Robustness) -> Iterator[Finding]:
    """Yield who bears disturbed speech best, where the data can tell; all pairs were compared at once."""
    ranks = found.ranking.filter((pl.col("name") == ALL) & pl.col("estimate").is_not_null())
    compared = found.comparisons.filter(pl.col("name") == ALL)
    for _, part in ranks.group_by(found.labels[1:] or ["name"], maintain_order=True):
        rows = part.sort("estimate", maintain_order=True).to_dicts()
        if len(rows) < 2:
            continue
        measure, language = rows[0]["measure"], rows[0].get("language")
        first = [row["recognizer"] for row in rows if row["rank"] == 1]
        best = first[0] if first else rows[0]["recognizer"]
        second = (
            first[1] if len(first) > 1 else next(r["recognizer"] for r in rows if r["recognizer"] != best)
        )
        own = compared if language is None else compared.filter(pl.col("language") == language)
        gap = own.filter((pl.col("recognizer") == best) & (pl.col("against") == second)).row(0, named=True)
        # By how much the second loses more than the first.
        numbers = [None if gap[one] is None else -gap[one] for one in ("estimate", "high", "low")]
        in_language = "" if language is None else f" ({language})"
        value, bracket, limits = in_points(*numbers).partition(" (")
        value = f"{value} of {MEASURES[measure]}{bracket}{limits}"
        code, excludes = None, None
        verdict: Verdict
        if not first:
            verdict, code = "refused", "too_few_speakers"
            sentence = (
                "Which recognizer bears disturbance best cannot be told: fewer than five speakers are known."
            )
        elif len(first) == 1:
            verdict = "shown"
            others = listed(row["recognizer"] for row in rows if row["recognizer"] != best)
            nearest = f" than {second}, all pairs compared at once" if len(rows) > 2 else ""
            better = f"{best} bears disturbed speech better than {others}{in_language}"
            sentence = f"{better}: it loses {value} less{nearest}."
        else:
            verdict = "not_shown"
            excludes = max((n for n in numbers[1:] if n is not None), key=abs, default=None)
            names = f"{listed(first[:-1])} and {first[-1]}"
            apart = "they differ" if len(first) == 2 else "the best two differ"
            sentence = f"{names} cannot be told apart under disturbance{in_language}: {apart} by {value}"
            lost = own.filter(pl.col("recognizer").is_in(first) & (pl.col("verdict") == "shown"))[
                "against"
            ].to_list()
            worse = [row["recognizer"] for row in rows if lost.count(row["recognizer"]) == len(first)]
            if worse:
                lose = "loses" if len(worse) == 1 else "lose"
                sentence += (
                    f"; {listed(worse)} {lose} more than {'both' if len(first) == 2 else 'each of them'}"
                )
            sentence += "."
        yield Finding(
            id=finding_id(AUDIT, language, "ranking", measure),
            measure=measure,
            verdict=verdict,
            sentence=sentence,
            estimate=numbers[0],
            low=numbers[1],
            high=numbers[2],
            family=FAMILY,
            recognizer=best if first else None,
            language=language,
            against=second if first else None,
            speakers=rows[0]["speakers"],
            excludes=excludes,
            code=code,
            headline=True,
        )


def _trends(found: Robustness) -> Iterator[Finding]:
    """Yield for how many perturbations the error rate grows with severity."""
    for _, part in found.trends.group_by(found.labels, maintain_order=True):
        row = part.row(0, named=True)
        names = {
            trend: part.filter(pl.col("trend") == trend)["perturbation"].to_list()
            for trend in (GROWS, FALLS, FLAT, FEW)
        }
        known = part.height - len(names[FEW])
        if not known:
            continue
        grows = len(names[GROWS])
        of = counted(known, "perturbation")
        sentence = f"The word error rate of {_who(row)} grows with severity for {grows} of {of}"
        if names[FLAT]:
            sentence += f"; no trend is shown for {listed(sorted(names[FLAT]), 8)}"
        if names[FALLS]:
            sentence += f"; it falls for {listed(sorted(names[FALLS]), 8)}"
        reversals = [step for steps in part["reversals"].to_list() for step in steps]
        if reversals:
            sentence += f"; it falls from {listed(reversals, 8)}"
        yield Finding(
            id=_id(row, "growing"),
            measure="growing",
            verdict="measured",
            sentence=f"{sentence}.",
            estimate=float(grows),
            unit="perturbations",
            recognizer=row["recognizer"],
            language=row.get("language"),
        )


def _silence(found: Robustness) -> Iterator[Finding]:
    for row in found.inserted.iter_rows(named=True):
        known = row["low"] is not None and row["high"] is not None
        limits = f" ({row['low']:.1f} to {row['high']:.1f})" if known else ""
        heard = f"{row['words_per_minute']:.1f}{limits} words per minute"
        yield Finding(
            id=_id(row, row["scenario"], "words_per_minute"),
            measure="words_per_minute",
            verdict="measured",
            sentence=f"{_who(row)} hears {heard} under {row['scenario']}, where nobody speaks.",
            estimate=row["words_per_minute"],
            low=row["low"],
            high=row["high"],
            unit="words per minute",
            recognizer=row["recognizer"],
            language=row.get("language"),
            corpus=row.get("corpus"),
            scenario=row["scenario"],
            speakers=row["speakers"],
            utterances=row["utterances"],
            headline=row["words_per_minute"] > 0,
        )


def _groups(found: Robustness) -> Iterator[Finding]:
    """Yield whether a group meets more errors over all disturbances; the widest gap shown is a headline."""
    rows = found.groups.filter((pl.col("level") == "overall") & (pl.col("name") == ALL)).to_dicts()
    largest: dict[tuple[str, str], float] = {}
    for row in rows:
        if row["verdict"] == "shown":
            key = (row["recognizer"], row["attribute"])
            largest[key] = max(largest.get(key, 0.0), abs(row["lwerr"]))
    for row in rows:
        ratio, low, high = (
            None if (v := row[f"lwerr{end}"]) is None else 2.0**v for end in ("", "_low", "_high")
        )
        shown = row["verdict"] == "shown"
        who, attribute = _who(row), row["attribute"]
        times = times_as_many(ratio, low, high) if low is not None else f"{ratio:.2f} times as many errors"
        if shown:
            than = as_or_than(ratio)
            group = f"{row['group']} ({attribute})"
            sentence = f"Over all disturbances, {who} makes {times} for {group} {than} for {row['against']}."
        else:
            sentence = (
                f"Over all disturbances, no gap between {row['group']} and {row['against']} ({attribute}) is shown for"
                f" {who}: {times} for {row['group']}."
            )
        ends = [end for end in (row["lwerr_low"], row["lwerr_high"]) if end is not None]
        yield Finding(
            id=_id(row, "overall", attribute, row["group"], "wer_ratio"),
            measure="wer_ratio",
            verdict="shown" if shown else "not_shown",
            sentence=sentence,
            estimate=ratio,
            low=low,
            high=high,
            unit="ratio",
            p=row["p"],
            p_adjusted=row["p_adjusted"],
            family=f"{attribute} over all disturbances",
            recognizer=row["recognizer"],
            language=row.get("language"),
            corpus=row.get("corpus"),
            scenario="overall",
            attribute=attribute,
            group=row["group"],
            against=row["against"],
            speakers=row["speakers"],
            excludes=None if shown or not ends else 2.0 ** max(ends, key=abs),
            headline=shown and abs(row["lwerr"]) == largest[row["recognizer"], attribute],
        )


def _slopes(found: Robustness) -> Iterator[Finding]:
    """Yield what goes with robustness over recognizers."""
    name = MEASURES[found.measure]
    for row in found.correlates.iter_rows(named=True):
        shown = row["verdict"] == "shown"
        fact, language = row["fact"], row.get("language")
        value = in_points(row["slope"], row["low"], row["high"])
        says = (
            f"More {fact} goes with {'higher' if row['slope'] > 0 else 'lower'} {name}"
            if shown
            else f"No relation of {fact} and {name} is shown"
        )
        in_language = "" if language is None else f" ({language})"
        yield Finding(
            id=finding_id(AUDIT, language, fact, "slope"),
            measure="slope",
            verdict="shown" if shown else "not_shown",
            sentence=f"{says} over {row['recognizers']} recognizers{in_language}: {value} per {row['scale']}.",
            estimate=row["slope"],
            low=row["low"],
            high=row["high"],
            p=row["p"],
            p_adjusted=row["p_adjusted"],
            family="facts about recognizers",
            language=language,
            attribute=fact,
        )


def _notes(scores: Scores, found: Robustness) -> Iterator[Note]:
    yield from (Note("selected", text) for text in scores.notes)
    if found.measure == "nwerd":
        yield Note("difficulty", f"difficulties: {found.difficulty_source}", see=("difficulty",))
    single = found.groups.filter(pl.col("level") == "scenario")
    for (attribute,), part in single.group_by(["attribute"], maintain_order=True):
        gaps = part.filter(pl.col("verdict") == "shown").height
        yield Note(
            "single_scenarios",
            f"a gap by {attribute} is shown in {gaps} of {counted(part.height, 'comparison')} in single scenarios"
            " (p-values adjusted over them)",
            {"attribute": attribute, "shown": gaps, "comparisons": part.height},
        )
    described: dict[str, list[str]] = {}
    for run in scores.runs:
        for name, entry in run.config.get("sources", {}).items():
            described.setdefault(name, []).append(str(entry["description"]))
    for name, texts in described.items():
        text = "; ".join(dict.fromkeys(texts))
        yield Note("sound_source", f"{name}: {text}", {"perturbation": name, "source": text})
    left = list(dict.fromkeys(id_ for run in scores.runs for id_ in run.config.get("not_heard", {})))
    if left:
        text = f"not heard: {listed(left, 4)}; run.json says what each needs"
        yield Note("not_heard", text, {"scenarios": left})


# The tables


_COLUMNS = {
    column.name: column
    for column in (
        Column("wer", "WER", "percent", "wer_low", "wer_high"),
        Column("werd", "WERD", "points", "werd_low", "werd_high"),
        Column("nwerd", "NWERD", "points", "nwerd_low", "nwerd_high"),
        Column("clean_wer", "clean WER", "percent"),
        Column("does", "what it does"),
        Column("rank", "rank, at best", "count"),
        Column("rank_worst", "at worst", "count"),
        Column("wer_ratio", "ratio of WER", "ratio", "low", "high"),
        Column("ratio_change", "times that of clean speech", "ratio", "change_low", "change_high"),
        Column("p", kind="p"),
        Column("p_adjusted", "p (Holm)", "p"),
        *(Column(name, kind="count") for name in ("scenarios", "speakers", "utterances", "words", "minutes")),
        *(Column(name, kind="count") for name in ("step", "draws", "recognizers")),
        *(Column(name, kind="number") for name in ("difficulty", "value")),
        *(Column(name, kind="percent") for name in ("median", "best", "worst")),
    )
}
"""How columns are shown that several tables have, or that need more than their name."""

_RATE = Column("wer", "WER", "percent", "low", "high")


def _columns(*names: str | Column) -> list[Column]:
    return [_COLUMNS.get(name, Column(name)) if isinstance(name, str) else name for name in names]


def _labels(frame: pl.DataFrame) -> list[str]:
    return [name for name in ("recognizer", "language", "corpus") if name in frame.columns]


def _tables(found: Robustness) -> Iterator[Table]:
    rates = ("wer", "werd", "nwerd") if found.measure == "nwerd" else ("wer", "werd")
    tables = (
        *_ranking_tables(found, rates),
        *_level_tables(found, rates),
        *_group_tables(found),
        tabulate(
            "silence",
            "Words heard where nobody speaks",
            found.inserted,
            _columns(
                *(*_labels(found.inserted), "scenario"),
                Column("words_per_minute", "words per minute", "number", "low", "high"),
                *("words", "minutes", "speakers"),
            ),
            note="Every word is made up.",
        ),
        *_curve_tables(found),
        *_other_tables(found),
    )
    return (table for table in tables if table.frame.height)


def _ranking_tables(found: Robustness, rates: Sequence[str]) -> Iterator[Table]:
    over = ["over"] if found.ranking["name"].n_unique() > 1 else []
    named = pl.col("name").replace(OVERALL).alias("over")
    ranked = {"estimate": "nwerd", "low": "nwerd_low", "high": "nwerd_high"}
    nwerd = pl.when(pl.col("measure") == "nwerd")
    weighed = ", weighed by their difficulty" if found.measure == "nwerd" else ""
    yield tabulate(
        "ranking",
        f"Ranking: the errors that disturbances add{weighed}",
        found.ranking.with_columns(named, *(nwerd.then(pl.col(a)).alias(b) for a, b in ranked.items())),
        _columns(
            *(*found.labels, *over, "rank", "rank_worst", "clean_wer"),
            Column("wer", "mean WER", "percent"),
            *(*rates[1:], "scenarios", "speakers"),
        ),
        note=f"By {MEASURES[found.measure]}: less is better. Recognizers that the data cannot tell apart share a rank.",
        folded=found.ranking["recognizer"].n_unique() == 1,
    )
    yield tabulate(
        "comparisons",
        "Recognizers compared in pairs",
        found.comparisons.with_columns(named, family=pl.lit(FAMILY)),
        _columns(
            *(*found.labels, "against", *over, "measure"),
            Column("estimate", "difference", "points", "low", "high"),
            "verdict",
        ),
        note="The limits hold for all pairs at once.",
        folded=True,
    )


def _level_tables(found: Robustness, rates: Sequence[str]) -> Iterator[Table]:
    level, name = pl.col("level"), pl.col("name")
    category = pl.when(level == "overall").then(name.replace(OVERALL)).otherwise(name)
    yield tabulate(
        "categories",
        "What each category of disturbance adds",
        found.levels.filter(level.is_in(["category", "overall"])).with_columns(category=category),
        _columns(*found.labels, "category", *rates, "scenarios", "speakers"),
    )
    scenarios = found.levels.filter(level == "scenario").rename({"name": "scenario"})
    does = {name: in_short(name) for name in scenarios["scenario"].unique()}
    scenarios = scenarios.with_columns(
        does=pl.Series([does[name] for name in scenarios["scenario"]], dtype=pl.String),
        severity=pl.Series([found.settings[name].severity for name in scenarios["scenario"]], dtype=pl.Int64),
    )
    worst = [
        part.sort("werd", descending=True, nulls_last=True, maintain_order=True).head(WORST)
        for _, part in scenarios.filter(pl.col("scenario") != CLEAN).group_by(
            found.labels, maintain_order=True
        )
    ]
    yield tabulate(
        "worst",
        "Worst scenarios",
        # What it does without what that is like: a terminal is narrow.
        pl.concat([scenarios.head(0), *worst]).with_columns(pl.col("does").str.split(": ").list.first()),
        _columns(*found.labels, "scenario", "does", "clean_wer", "wer", "werd"),
    )
    about = ("difficulty", "utterances", "speakers")
    yield tabulate(
        "scenarios",
        "Every scenario",
        scenarios,
        _columns(*found.labels, "category", "scenario", "does", *rates, *about),
        folded=True,
    )
    yield tabulate(
        "perturbations",
        "Every perturbation",
        found.levels.filter(level == "perturbation"),
        _columns(*found.labels, "category", "perturbation", *rates, "scenarios", *about[1:]),
        folded=True,
    )
    yield tabulate(
        "corpora",
        "Every corpus by itself",
        found.corpora,
        _columns(*_labels(found.corpora), "level", "name", *rates, *about),
        folded=True,
    )


def _group_tables(found: Robustness) -> Iterator[Table]:
    ratios = {"lwerr": "wer_ratio", "lwerr_low": "low", "lwerr_high": "high"}
    changes = {"change": "ratio_change", "change_low": "change_low", "change_high": "change_high"}
    overall = pl.col("level") == "overall"
    frame = found.groups.with_columns(
        *((2.0 ** pl.col(old)).alias(new) for old, new in {**ratios, **changes}.items()),
        lwerr_change="change",
        family=pl.format("{} by {}", "attribute", "level"),
        over=pl.when(overall).then(pl.col("name").replace(OVERALL)).otherwise(pl.col("name")),
    ).drop("change")
    columns = _columns(
        *(*_labels(frame), "attribute", "group", "against", "over", "wer_ratio", "ratio_change"),
        *("p", "p_adjusted", "verdict", Column("speakers", "fewest speakers", "count")),
    )
    note = (
        "How many times as many errors the group gets as the other, by their mean word error rates over the scenarios"
        " of a category (2 to the power of Speech Robust Bench's LWERR); 1 is no difference. Verdicts allow for all"
        " comparisons of an attribute at the same level."
    )
    single = (pl.col("level") == "scenario") & (pl.col("name") != CLEAN)
    yield tabulate("groups", "Groups under disturbance", frame.filter(~single), columns, note=note)
    yield tabulate("group_scenarios", "Groups in every scenario", frame.filter(single), columns, folded=True)
    if found.group_rates.height:
        yield tabulate(
            "group_rates",
            "Word error rate by group",
            found.group_rates,
            _columns(
                *(*_labels(found.group_rates), "attribute", "group", "scenario"),
                *(_RATE, "speakers", "utterances", "words"),
            ),
            folded=True,
        )


def _curve_tables(found: Robustness) -> Iterator[Table]:
    yield tabulate(
        "curves",
        "From mild to harsh",
        found.curves,
        _columns(*found.labels, "perturbation", "step", "scenario", "value", _RATE),
        folded=True,
    )
    slope = Column("slope", "WER per step", "points", "low", "high")
    yield tabulate(
        "trends",
        "Does it grow with severity?",
        found.trends,
        _columns(*found.labels, "perturbation", slope, "trend", Column("reversals", "falls from")),
        note="Not corrected for the number of perturbations.",
        folded=True,
    )


def _other_tables(found: Robustness) -> Iterator[Table]:
    name, split = MEASURES[found.measure], found.labels[1:]
    order = [pl.col("level") != "overall", -pl.col("draw_sd")]
    yield tabulate(
        "stability",
        "Stability: standard deviation of WER over random draws, beside that over speakers",
        found.stability.sort(order, maintain_order=True),
        _columns(
            *found.labels,
            *(Column("name", "over"), "draws", Column("wer", "WER", "percent")),
            Column("draw_sd", "over draws", "percent"),
            Column("sampling_sd", "over speakers", "percent"),
        ),
    )
    yield tabulate(
        "correlates",
        f"What goes with {name} over recognizers",
        found.correlates,
        _columns(
            *(*split, "fact", "recognizers"),
            Column("slope", "slope (Theil-Sen)", "points", "low", "high"),
            *(Column("scale", "per"), Column("tau", kind="ratio"), "p", "p_adjusted", "verdict"),
        ),
    )
    yield tabulate(
        "families",
        f"{name} by kind of recognizer",
        found.families,
        _columns(*split, "fact", Column("level", "value"), "recognizers", "median", "best", "worst"),
    )
    yield tabulate(
        "pareto",
        f"Recognizers that none beats in both a fact and {name}",
        found.pareto,
        _columns(
            *(*split, "fact", "recognizer", "value"),
            *(Column("estimate", name, "percent"), Column("optimal", "beaten by none")),
        ),
        note="Less is better in both.",
    )


# The figures


def _figures(found: Robustness, groups: Mapping[str, list[str]]) -> Iterator[Figure]:
    scenarios = found.levels.filter((pl.col("level") == "scenario") & (pl.col("name") != CLEAN))
    yield from _category_bars(found)
    parts = _parts(scenarios, found.labels)
    steps = _steps(scenarios["name"].unique(maintain_order=True).to_list(), found.settings)
    if parts and all(len(settings) == 1 for settings in steps.values()) and len(steps) <= MOST_BARS:
        # A map of severities would be empty but for one cell in each row.
        yield _scenario_bars(found)
    else:
        yield from (_heat_map(name, rows, steps) for name, rows in parts.items())
    drawn = set(
        found.curves["perturbation"].to_list()
    )  # one recognizer at least heard several of its settings
    several = {name: settings for name, settings in steps.items() if name in drawn}
    if not several:
        return
    series = {
        name: {row["scenario"]: row for row in part.iter_rows(named=True)}
        for name, part in _parts(found.curves, found.labels).items()
    }
    yield _curves("curves", "From mild to harsh", several, series, "curves")
    for attribute, names in groups.items():
        own = found.group_rates.filter(pl.col("attribute") == attribute)
        units = [name for name in own.columns if name in ("recognizer", "language", "corpus")]
        for name, part in _parts(own, units).items():
            by_group = {
                group: {
                    row["scenario"]: row
                    for row in part.filter(pl.col("group") == group).iter_rows(named=True)
                }
                for group in names[:MOST_SERIES]
            }
            title = f"{name}: from mild to harsh, by {attribute}"
            yield _curves(f"curves-{attribute}-{name}", title, several, by_group, "group_rates")


def _parts(frame: pl.DataFrame, labels: Sequence[str]) -> dict[str, pl.DataFrame]:
    """Return the rows of each recognizer (and place), by what they are called."""
    return {", ".join(map(str, key)): part for key, part in frame.group_by(labels, maintain_order=True)}


def _steps(scenarios: Iterable[str], settings: Mapping[str, Setting]) -> dict[str, list[Setting]]:
    """Return the settings of every perturbation from mild to harsh; those without an order stand alone."""
    grouped: dict[str, list[Setting]] = {}
    for scenario in scenarios:
        grouped.setdefault(settings[scenario].perturbation, []).append(settings[scenario])
    steps: dict[str, list[Setting]] = {}
    for name, some in grouped.items():
        ordered = by_harshness(some)
        steps |= {name: ordered} if ordered else {one.scenario: [one] for one in some}
    return steps


def _cell(row: Mapping[str, Any] | None, measure: str, low: str, high: str) -> Cell | None:
    if row is None or row[measure] is None:
        return None
    return Cell(row[measure], row[low], row[high])


def _measure(row: Mapping[str, Any] | None, measure: str) -> Cell | None:
    return _cell(row, measure, f"{measure}_low", f"{measure}_high")


def _category_bars(found: Robustness) -> Iterator[Figure]:
    """Yield one set of bars: what each category costs each recognizer."""
    table = found.levels.filter(pl.col("level") == "category")
    if table.is_empty():
        return
    labels = table["name"].unique(maintain_order=True).to_list()
    # A category that cannot be normalized would miss among the others: then all are shown as they are.
    measure = found.measure if table[found.measure].null_count() == 0 else "werd"
    series = []
    for name, part in _parts(table, found.labels).items():
        rows = {row["name"]: row for row in part.iter_rows(named=True)}
        series.append(Series(name, tuple(_measure(rows.get(label), measure) for label in labels)))
    weighed = ", weighed by their difficulty" if measure == "nwerd" else ""
    yield Figure(
        "categories",
        f"What each category of disturbance adds ({MEASURES[measure]})",
        f"Bars of the percentage points that disturbances add to the word error rate{weighed}, by category of"
        " disturbance and recognizer, with intervals.",
        Bars(tuple(map(spoken, labels)), tuple(series), f"{MEASURES[measure]}, percentage points", "points"),
        "categories",
    )


def _scenario_bars(found: Robustness) -> Figure:
    """Return one set of bars: the error rate in every scenario, clean speech first."""
    levels = found.levels.filter(pl.col("level") == "scenario")
    scenarios = levels["name"].unique(maintain_order=True).to_list()
    scenarios.sort(key=lambda name: name != CLEAN)
    series = []
    for name, part in _parts(levels, found.labels).items():
        rows = {row["name"]: row for row in part.iter_rows(named=True)}
        series.append(Series(name, tuple(_measure(rows.get(one), "wer") for one in scenarios)))
    alt = "Bars of the word error rate on clean speech and in every scenario, by recognizer."
    bars = Bars(tuple(scenarios), tuple(series), "word error rate")
    return Figure("scenarios", "Every disturbance", alt, bars, "scenarios")


def _heat_map(who: str, levels: pl.DataFrame, steps: Mapping[str, list[Setting]]) -> Figure:
    rows = {row["name"]: row for row in levels.iter_rows(named=True)}
    names = [name for name in steps if any(setting.scenario in rows for setting in steps[name])]
    names.sort(key=lambda name: steps[name][0].category)
    cells: dict[tuple[str, str], dict[str, Any]] = {}
    for name in names:
        for index, setting in enumerate(steps[name]):
            if setting.scenario in rows:
                cells[name, _column(setting, index, len(steps[name]) > 1)] = rows[setting.scenario]
    used = {column for _, column in cells}
    columns = [*sorted(used - {ONE_SETTING}, key=int), *([ONE_SETTING] if ONE_SETTING in used else [])]
    titles = {"wer": "WER", "werd": "added (WERD)", "nwerd": "weighed (NWERD)"}
    known = {m: title for m, title in titles.items() if any(row[m] is not None for row in rows.values())}
    worst = max(rows.values(), key=lambda row: row["wer"] or 0.0)
    highest = (
        "" if worst["wer"] is None else f"; the highest, {100 * worst['wer']:.0f} %, under {worst['name']}"
    )
    return Figure(
        f"heat-map-{who}",
        f"{who}: every disturbance",
        f"Error rates of {who} by perturbation and severity{highest}.",
        HeatMap(
            rows=tuple(names),
            row_groups=tuple(spoken(steps[name][0].category) for name in names),
            columns=tuple(columns),
            measures=known,
            cells={
                measure: tuple(
                    tuple(_measure(cells.get((name, column)), measure) for column in columns)
                    for name in names
                )
                for measure in known
            },
        ),
        "scenarios",
    )


def _column(setting: Setting, index: int, several: bool) -> str:
    if setting.severity is not None:
        return str(setting.severity)
    return str(index + 1) if several else ONE_SETTING


def _curves(
    id_: str,
    title: str,
    several: Mapping[str, list[Setting]],
    lines: Mapping[str, Mapping[str, Mapping[str, Any]]],
    table: str,
) -> Figure:
    """Return a panel for every perturbation, a line for each of `lines`: {label: {scenario: row}}."""
    panels = []
    for name, settings in several.items():
        scenarios = [CLEAN, *(setting.scenario for setting in settings)]
        ticks = [CLEAN, *(_tick(setting, index) for index, setting in enumerate(settings))]
        series = []
        for label, rows in lines.items():
            points = tuple(_cell(rows.get(scenario), "wer", "low", "high") for scenario in scenarios)
            if any(points):
                series.append(Series(label, points))
        by_value = all(setting.severity is None and setting.parameter for setting in settings)
        unit = settings[0].unit or settings[0].parameter
        panel = f"{name}, {unit}" if by_value else name
        panels.append((panel, tuple(ticks), tuple(series)))
    alt = (
        f"Word error rate from clean speech to the harshest setting of {counted(len(panels), 'perturbation')}, a line"
        f" for each of: {listed(lines, 12)}."
    )
    return Figure(id_, title, alt, Curves(tuple(panels), "word error rate"), table)


def _tick(setting: Setting, index: int) -> str:
    if setting.severity is not None:
        return str(setting.severity)
    return f"{setting.value:g}" if setting.value is not None else str(index + 1)
