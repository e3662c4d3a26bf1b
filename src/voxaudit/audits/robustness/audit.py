"""Robustness: the question, the decision and the words. What is measured, and how, is in `measure.py`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

import polars as pl

from voxaudit.answer import (
    Answer,
    Column,
    Finding,
    Note,
    Table,
    finding_id,
    number_or_none,
    refuse,
    tabulate,
)
from voxaudit.audits.audit import asks
from voxaudit.audits.concentrated import COLUMNS_SHOWN, concentration_notes
from voxaudit.audits.robustness.figures import LABELS, MEASURES, OVERALL, WEIGHED, draw_figures
from voxaudit.audits.robustness.measure import (
    FALLS,
    FEW,
    FLAT,
    GROWS,
    MEASURED,
    PUBLISHED,
    Robustness,
    measure_robustness,
)
from voxaudit.audits.robustness.trials import (
    PLACES,
    check_difficulty,
    published_models,
    read_facts,
    read_trials,
    with_attacks,
)
from voxaudit.audits.scores import Filters, Scores, Source, unchanged_notes
from voxaudit.errors import VoxauditError, one_line
from voxaudit.perturb import CLEAN
from voxaudit.perturb.describe import in_short
from voxaudit.perturb.settings import ALL, ATTACKED, CATEGORIES
from voxaudit.registry import unknown
from voxaudit.score.quality.difficulty import choose_difficulties, quality_of
from voxaudit.stats.multiplicity import farther_together
from voxaudit.wording import (
    as_or_than,
    counted,
    in_points,
    listed,
    not_excluded,
    percent,
    percent_interval,
    ratio_interval,
    speakers_of,
    spoken,
    times_as_many,
)

AUDIT = "robustness"
WORST = 5
"""Scenarios of a recognizer that are listed as its worst."""
FAMILY = "pairs of recognizers"
ABOUT = (*LABELS, "attribute", "group", "against", "speakers", "utterances", "p", "p_adjusted")
"""What rows say of themselves under the names that findings have for it."""


LITTLE_LEFT = 0.5
"""Clean word error rate from which on a small loss under disturbance is no merit: there is little left to lose."""

# The question


@asks(AUDIT)
def robustness(
    source: Source,
    *,
    attributes: Sequence[str] = (),
    by: Sequence[str] = (),
    baseline: Mapping[str, str] | None = None,
    reference: Mapping[str, str] | None = None,
    table: str | None = None,
    difficulty: Any = None,
    facts: Any = None,
    published: bool = False,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    **filters: Unpack[Filters],
) -> Answer:
    """Measure what every scenario costs every recognizer, against clean speech.

    `WERD = WER(scenario) - WER(clean)` on the utterances heard both ways, and `NWERD = 100 WERD / difficulty` (Speech
    Robust Bench, section 3.2), both as fractions; averaged over severities, then perturbations, then categories.
    Several sources hold other recognizers, or further random draws of the same scenarios. A table needs the columns
    scenario, recognizer, words and errors (or substitutions, deletions, insertions), and clean speech, which is kept
    whatever `scenario` names. Without a column speaker there are no intervals, without a column utterance rows are
    sums.

    `difficulty` is `published`, `measured`, `none`, a file or a table with the columns scenario and difficulty (and
    language, where they differ by it); without it difficulties are those measured in the run, else the published ones.
    `attributes` are columns whose groups are compared under disturbance: `LWERR = log2(WER of a group / WER of the
    other)` (Eq. 5). Languages and corpora are pooled unless `by` names their columns. `baseline` names the clean corpus
    that accented and social speech is compared with, by language or by corpus (`{"en": "LibriSpeech"}`); a run of
    several clean corpora has one. Languages are then set apart, other scenarios are compared with clean speech of their
    own corpus, and averages are over corpora first. `reference` names the group that others are divided by
    (`{"gender": "male"}`). `table` is the one that is shown: `1` is the paper's Table 1. `facts`, a file or a table,
    says of each recognizer what may go with its robustness (`parameters`, `hours`, `architecture` and `family` are also
    drawn). `published` puts the models of Speech Robust Bench beside, as its authors published them: they are never
    ranked, for they heard other speech. Intervals of differences come from `resamples` draws of
    speakers; groups are compared by shuffling speakers between them. `detail` (`Robustness`) has everything that was
    measured.

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
    read = Scores.of(source, columns=filters.pop("columns", None))
    if (asked := filters.get("scenario")) is not None:  # all are compared with clean speech
        filters["scenario"] = (CLEAN, *(name for name in _names(asked) if name != CLEAN))
    scores = Scores.of(with_attacks(read), **filters)
    if baseline is None:
        baseline = {key: name for run in scores.runs for key, name in run.config.get("baseline", {}).items()}
    trials, unfit = read_trials(scores, _names(attributes), _names(by), baseline)
    if set(trials.settings) == {CLEAN}:
        raise refuse("nothing_disturbed", "only clean speech was heard and scored", about=scores.where)
    folders = [run.folder for run in scores.runs]
    given, origin = choose_difficulties(difficulty, folders, list(trials.settings), trials.languages)
    hard, unknown = ({}, []) if given is None else check_difficulty(given, trials)
    found = measure_robustness(
        trials,
        difficulty=hard,
        difficulty_source=origin,
        quality=quality_of(origin, folders),
        reference=_checked(reference, trials.groups),
        facts=None if facts is None else read_facts(facts, trials.recognizers),
        published=published_models() if published else None,
        confidence=confidence,
        resamples=resamples,
        seed=seed,
    )
    tables = tuple(_tables(found))
    return Answer(
        audit=AUDIT,
        title="Robustness",
        findings=tuple(
            replace(one, level=confidence) for one in _findings(found, confidence, scores.on_whom)
        ),
        tables=tables if table is None else _first(table, tables),  # type: ignore[arg-type]
        figures=tuple(draw_figures(found, trials.groups)),
        notes=(
            *_notes(scores, found),
            *found.notes,
            *concentration_notes(found.concentration, [*found.labels, "scenario"], confidence),
        ),
        refusals=(*unknown, *unfit, *found.refusals),
        lead=_lead(found),
        detail=found,
    )


def _names(given: Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _checked(reference: Mapping[str, str] | None, groups: Mapping[str, list[str]]) -> dict[str, str]:
    """Return the groups that others are divided by; one that is not there raises one line."""
    for attribute, group in (reference or {}).items():
        known = groups.get(attribute)
        if known is None:
            raise VoxauditError(
                f"a reference is a group of an attribute that is compared; '{one_line(attribute, 60)}' is not compared",
                see=("attributes", "reference"),
            )
        if group not in known:
            raise unknown(f"{attribute}: no group", group, known, "reference")
    return dict(reference or {})


def _first(name: str, tables: Sequence[Table]) -> tuple[Table, ...]:
    """Return the table of a name, and all others folded away behind it."""
    known = {one.id: one for one in tables}
    name = TABLE_1 if name == "1" else name
    if name not in known:
        raise unknown("no table", name, known, "table")
    others = [replace(one, folded=True) for one in tables if one.id != name]
    return (replace(known[name], folded=False), *others)


# The findings


def _findings(found: Robustness, confidence: float, on_whom: str) -> Iterator[Finding]:
    yield from _overall(found, on_whom)
    yield from _ranking(found)
    yield from _categories(found)
    yield from _worst_category(found, confidence)
    yield from _trends(found)
    yield from _silence(found)
    yield from _groups(found)
    yield from _slopes(found)


def _who(row: Mapping[str, Any]) -> str:
    """Return the recognizer of a row, with the language and corpus where results are set apart by them."""
    places = [row[name] for name in PLACES if row.get(name) is not None]
    return f"{row['recognizer']} ({', '.join(places)})" if places else str(row["recognizer"])


def _finding(
    row: Mapping[str, Any],
    *parts: str,
    measure: str,
    sentence: str,
    numbers: Sequence[float | None] = (),
    **facts: Any,
) -> Finding:
    """Return a finding about a row of a table: what the row says of itself, and `facts` beside it or in its place.

    `numbers` are the estimate and its limits.
    """
    about: dict[str, Any] = {name: row[name] for name in ABOUT if name in row}
    about |= {"measure": measure, "verdict": "measured", "sentence": sentence, **facts}
    about |= dict(zip(("estimate", "low", "high"), numbers, strict=False))
    return Finding(id=finding_id(AUDIT, *(row.get(name) for name in LABELS), *parts, measure), **about)


def _measured(row: Mapping[str, Any], measure: str, sentence: str, **facts: Any) -> Finding:
    """Return a rate or a cost of a row of `levels`. It is no claim: its interval allows for no others."""
    level = "overall" if row["level"] == "overall" else row["name"]
    if row["level"] == "category":
        facts["category"] = level
    ends = row[measure], row[f"{measure}_low"], row[f"{measure}_high"]
    return _finding(row, level, measure=measure, sentence=sentence, scenario=level, numbers=ends, **facts)


def _points(row: Mapping[str, Any], measure: str) -> str:
    return in_points(row[measure], row[f"{measure}_low"], row[f"{measure}_high"])


def _overall(found: Robustness, on_whom: str) -> Iterator[Finding]:
    """Yield what disturbed speech costs each recognizer on average, and where it costs most."""
    if len(found.labels) > 1:
        on_whom = ""  # it counts the speakers of all languages
    attacks = {one.category for one in found.settings.values() if one.attack}
    known = found.levels.filter(
        pl.col("werd").is_not_null(), ~((pl.col("level") == "category") & pl.col("name").is_in(attacks))
    )
    for _, own in known.group_by(found.labels, maintain_order=True):
        categories = own.filter(pl.col("level") == "category").sort(
            "werd", descending=True, maintain_order=True
        )
        for row in own.filter((pl.col("level") == "overall") & (pl.col("name") == ALL)).iter_rows(named=True):
            over, most = counted(row["scenarios"], "scenario"), ""
            if categories.height > 1:
                worst = categories.row(0, named=True)
                over = f"{categories.height} categories of disturbance ({over})"
                most = f"; most under {spoken(worst['name'])}, {_points(worst, 'werd')}"
            sentence = (
                f"Disturbed speech adds {_points(row, 'werd')} to the word error rate of {_who(row)}{on_whom}, on"
                f" average over {over}{most}."
            )
            yield _measured(row, "werd", sentence, headline=True)
            if row["nwerd"] is not None:
                sentence = f"On average over {over}, {_who(row)} has an NWERD of {_points(row, 'nwerd')}."
                yield _measured(row, "nwerd", sentence)
            mean = percent_interval(row["wer"], row["wer_low"], row["wer_high"])
            yield _measured(
                row, "wer", f"On average over {over}, {_who(row)} gets {mean} of the words wrong."
            )


def _categories(found: Robustness) -> Iterator[Finding]:
    rows = found.levels.filter((pl.col("level") == "category") & pl.col("werd").is_not_null())
    for row in rows.iter_rows(named=True):
        name, who = spoken(row["name"]), _who(row)
        if row[found.measure] is None or found.measure == "werd":
            name = name[:1].upper() + name[1:]
            yield _measured(
                row, "werd", f"{name} adds {_points(row, 'werd')} to the word error rate of {who}."
            )
            continue
        sentence = (
            f"Under {name}, {who} has an NWERD of {_points(row, 'nwerd')}: the errors that it adds, weighed by its"
            " difficulty."
        )
        yield _measured(row, "nwerd", sentence)


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
        low = number_or_none((rows["nwerd"] - farther * (rows["nwerd"] - rows["nwerd_low"])).max())
        is_, under = f"NWERD of {_who(worst)} is", f"under {spoken(worst['name'])}, its"
        if rows.height == 1:
            sentence = f"{is_} {_points(worst, 'nwerd')} {under} only category"
        else:
            sentence = f"{is_} {in_points(worst['nwerd'])} {under} worst category"
            if low is not None:
                sentence += f"; at least {100 * low:.1f} with {rows.height} categories taken together"
        yield _finding(
            worst,
            measure="worst_category_nwerd",
            sentence=f"{sentence}.",
            estimate=worst["nwerd"],
            low=low,
            high=None if rows["nwerd_high"].null_count() else rows["nwerd_high"].max(),
            scenario=worst["name"],
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
        names = [row["recognizer"] for row in rows]
        first = [row["recognizer"] for row in rows if row["rank"] == 1]
        best = (first or names)[0]
        second = first[1] if len(first) > 1 else next(name for name in names if name != best)
        own = compared if language is None else compared.filter(pl.col("language") == language)
        gap = own.filter((pl.col("recognizer") == best) & (pl.col("against") == second)).row(0, named=True)
        # By how much the second loses more than the first.
        numbers = [None if gap[one] is None else -gap[one] for one in ("estimate", "high", "low")]
        in_language = "" if language is None else f" ({language})"
        value, bracket, limits = in_points(*numbers).partition(" (")
        value = f"{value} of {MEASURES[measure]}{bracket}{limits}"
        facts: dict[str, Any] = {"verdict": "shown", "recognizer": best, "against": second}
        if not first:
            facts = {"verdict": "refused", "code": "too_few_speakers"}
            sentence = (
                "Which recognizer bears disturbance best cannot be told: fewer than five speakers are known."
            )
        elif len(first) == 1:
            others = listed(name for name in names if name != best)
            nearest = f" than {second}, all pairs compared at once" if len(rows) > 2 else ""
            better = f"{best} bears disturbed speech better than {others}{in_language}"
            sentence = f"{better}: it loses {value} less{nearest}."
        else:
            limits_known = [number for number in numbers[1:] if number is not None]
            facts |= {"verdict": "not_shown", "excludes": max(limits_known, key=abs, default=None)}
            alike, two = f"{listed(first[:-1])} and {first[-1]}", len(first) == 2
            sentence = f"{alike} cannot be told apart under disturbance{in_language}"
            sentence += f": {'they' if two else 'the best two'} differ by {value}, and"
            sentence += f" {not_excluded(facts['excludes'], 'a difference')}"
            beats = own.filter(pl.col("recognizer").is_in(first) & (pl.col("verdict") == "shown"))
            beaten = beats["against"].to_list()
            worse = [name for name in names if beaten.count(name) == len(first)]
            if worse:
                lose = "loses" if len(worse) == 1 else "lose"
                sentence += f"; {listed(worse)} {lose} more than {'both' if two else 'each of them'}"
            sentence += "."
        for row in rows:
            if row["recognizer"] in first and (row["clean_wer"] or 0.0) >= LITTLE_LEFT:
                sentence += f" {row['recognizer']} has little left to lose: on clean speech it gets"
                sentence += f" {percent(row['clean_wer'])} of the words wrong already."
        about = {"language": language, "speakers": rows[0]["speakers"]}
        facts |= {"family": FAMILY, "headline": True, "numbers": numbers}
        yield _finding(about, "ranking", measure=measure, sentence=sentence, **facts)


def _trends(found: Robustness) -> Iterator[Finding]:
    """Yield for how many perturbations the error rate grows with severity."""
    for _, part in found.trends.group_by(found.labels, maintain_order=True):
        row = part.row(0, named=True)
        names = {
            trend: sorted(part.filter(pl.col("trend") == trend)["perturbation"].to_list())
            for trend in (GROWS, FALLS, FLAT, FEW)
        }
        known, grows = part.height - len(names[FEW]), len(names[GROWS])
        if not known:
            continue
        of = counted(known, "perturbation")
        sentence = f"The word error rate of {_who(row)} grows with severity for {grows} of {of}"
        reversals = [step for steps in part["reversals"].to_list() for step in steps]
        for says, some in (
            ("no trend is shown for", names[FLAT]),
            ("it falls for", names[FALLS]),
            ("it falls from", reversals),
        ):
            sentence += f"; {says} {listed(some, 8)}" if some else ""
        yield _finding(
            row, measure="growing", sentence=f"{sentence}.", numbers=[float(grows)], unit="perturbations"
        )


def _silence(found: Robustness) -> Iterator[Finding]:
    for row in found.inserted.iter_rows(named=True):
        known = row["low"] is not None and row["high"] is not None
        limits = f" ({row['low']:.1f} to {row['high']:.1f})" if known else ""
        heard = f"{row['words_per_minute']:.1f}{limits} words per minute"
        if not row["words_per_minute"]:
            heard = "no words" + (f" (up to {row['high']:.1f} per minute are not excluded)" if known else "")
        yield _finding(
            row,
            row["scenario"],
            measure="words_per_minute",
            sentence=f"{_who(row)} hears {heard} under {row['scenario']}, where nobody speaks.",
            numbers=(row["words_per_minute"], row["low"], row["high"]),
            unit="words per minute",
            scenario=row["scenario"],
            headline=True,
        )


def _groups(found: Robustness) -> Iterator[Finding]:
    """Yield whether a group meets more errors over all disturbances; the widest gap shown is a headline.

    And whether the gap is wider or narrower than on clean speech. That is in proportion: who hardly has errors on clean
    speech can have them multiplied by more than others and still lose fewer words, so that both rates are said.
    """
    names = [name for name in (*LABELS, "attribute", "group") if name in found.groups.columns]
    clean = {
        tuple(row[name] for name in names): row
        for row in found.groups.filter(pl.col("name") == CLEAN).iter_rows(named=True)
    }
    rows = found.groups.filter((pl.col("level") == "overall") & (pl.col("name") == ALL)).to_dicts()
    largest: dict[tuple[str, str], float] = {}
    for row in rows:
        if row["verdict"] == "shown":
            key = (row["recognizer"], row["attribute"])
            largest[key] = max(largest.get(key, 0.0), abs(row["lwerr"]))
    asked = {name: found.groups[name].count() for name in ("p", "change_p")}
    for row in rows:
        if row["verdict"] == "refused":  # among the refusals
            continue
        shown, attribute, group, against = (
            row[name] for name in ("verdict", "attribute", "group", "against")
        )
        ratio, low, high = _ratios(row, "lwerr")
        rates = f"{percent(row['wer'])} against {percent(row['wer_against'])} of the words"
        times = times_as_many(ratio, low, high)
        facts: dict[str, Any] = {"family": f"{counted(asked['p'], 'comparison')} of groups under disturbance"}
        if shown == "shown":
            facts["headline"] = abs(row["lwerr"]) == largest[row["recognizer"], attribute]
            than = f"{as_or_than(ratio)} for {speakers_of(against)}"
            sentence = f"{_who(row)} makes {times} for {speakers_of(group, attribute)} {than} ({rates})."
        else:
            facts["excludes"], largest_gap = _not_excluded(low, high, "a gap of up to ", asked["p"])
            gap = f"no gap between {group} and {speakers_of(against, attribute)}"
            sentence = (
                f"{gap} is shown for {_who(row)}: {times} for {speakers_of(group)} ({rates}); {largest_gap}."
            )
        parts = ("overall", attribute, group)
        ends: dict[str, Any] = {"unit": "ratio", "scenario": "overall"}
        yield _finding(
            row,
            *parts,
            measure="wer_ratio",
            verdict=shown,
            sentence=f"Over all disturbances, {sentence}",
            numbers=(ratio, low, high),
            **ends,
            **facts,
        )
        if row["change_p"] is None:
            continue
        since = clean[tuple(row[name] for name in names)]
        before, now = (2.0 ** one["lwerr"] for one in (since, row))
        ratio, low, high = _ratios(row, "change")
        ends["family"] = f"{counted(asked['change_p'], 'change')} of gaps under disturbance"
        gap = f"the gap between {group} and {speakers_of(against, attribute)}"
        rates = (
            f"{group} from {percent(since['wer'])} to {percent(row['wer'])} of the words,"
            f" {against} from {percent(since['wer_against'])} to {percent(row['wer_against'])}"
        )
        change = (
            f"{now:.2f} instead of {before:.2f} times as many errors for {speakers_of(group)},"
            f" {ratio_interval(ratio, low, high)} times that ({rates})"
        )
        if row["change_verdict"] == "shown":
            wider = abs(row["lwerr"]) > abs(since["lwerr"])
            how = "wider in proportion" if wider else "narrower in proportion"
            if row["lwerr"] * since["lwerr"] < 0.0:
                how = "turned round"
            sentence = (
                f"Under disturbance {gap} is {how}, compared with clean speech, for {_who(row)}: {change}"
            )
        else:
            ends["excludes"], largest_gap = _not_excluded(low, high, "up to ", asked["change_p"])
            sentence = f"Disturbance is not shown to change {gap} for {_who(row)}: {change}; {largest_gap}"
        yield _finding(
            row,
            *parts,
            measure="wer_ratio_change",
            verdict=row["change_verdict"],
            sentence=f"{sentence}.",
            numbers=(ratio, low, high),
            p=row["change_p"],
            p_adjusted=row["change_p_adjusted"],
            **ends,
        )


def _ratios(row: Mapping[str, Any], name: str) -> list[float | None]:
    """Return an estimate and its limits as ratios; rows have logarithms."""
    return [
        None if row[f"{name}{end}"] is None else 2.0 ** row[f"{name}{end}"] for end in ("", "_low", "_high")
    ]


def _not_excluded(low: float | None, high: float | None, up_to: str, asked: int) -> tuple[float | None, str]:
    """Return the limit of a ratio that is farther from 1, and what that says; None where there is no end to it."""
    if low is None or high is None:
        return None, "how large a difference could be is not known"
    farther = max(low, high, key=lambda limit: max(limit, 1.0 / limit))
    text = f"{up_to}{max(farther, 1.0 / farther):.2f} times is not excluded"
    if not low <= 1.0 <= high:
        # The interval is that of this comparison alone.
        text = f"not with all {asked} taken together; {text}"
    return farther, text


def _slopes(found: Robustness) -> Iterator[Finding]:
    """Yield what goes with robustness over recognizers: under disturbance, and under attack."""
    for row in found.correlates.iter_rows(named=True):
        fact, language, attacked = row["fact"], row.get("language"), row["name"] == ATTACKED
        name = MEASURES[row["measure"]] + (" under attack" if attacked else "")
        says, left, excludes = f"No relation of {fact} and {name} is shown", "", None
        if row["verdict"] == "shown":
            says = f"More {fact} goes with {'higher' if row['slope'] > 0 else 'lower'} {name}"
        else:
            excludes = None if row["low"] is None else max(row["low"], row["high"], key=abs)
            left = f"; {not_excluded(excludes, 'one')}"
        there = "" if language is None else f" ({language})"
        over = f"{row['recognizers']} recognizers{there}"
        parts = (["attacks"] if attacked else []) + [fact]
        if row["origin"] == PUBLISHED:
            over = f"{row['recognizers']} models that Speech Robust Bench published{there}"
            parts = [PUBLISHED, *parts]
        value = in_points(row["slope"], row["low"], row["high"])
        yield _finding(
            row,
            *parts,
            measure="slope",
            verdict=row["verdict"],
            sentence=f"{says} over {over}: {value} per {row['scale']}{left}.",
            excludes=excludes,
            numbers=(row["slope"], row["low"], row["high"]),
            family="facts about recognizers",
            attribute=fact,
        )


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


def _notes(scores: Scores, found: Robustness) -> Iterator[Note]:
    yield from (Note("selected", text) for text in scores.notes)
    if found.published.height:
        yield Note("published", BESIDE)
    if found.measure == "nwerd":
        yield Note("difficulty", f"difficulties: {found.difficulty_source}", see=("difficulty",))
    single = found.groups.filter(pl.col("level") == "scenario")
    for (attribute,), part in single.group_by(["attribute"], maintain_order=True):
        gaps = part.filter(pl.col("verdict") == "shown").height
        yield Note(
            "single_scenarios",
            f"a gap by {attribute} is shown in {gaps} of {counted(part.height, 'comparison')} in single scenarios"
            " (p-values adjusted over all comparisons of groups)",
            {"attribute": attribute, "shown": gaps, "comparisons": part.height},
        )
    described: dict[str, list[str]] = {}
    for run in scores.runs:
        for name, entry in run.config.get("sources", {}).items():
            described.setdefault(name, []).append(str(entry["description"]))
    for name, texts in described.items():
        text = "; ".join(dict.fromkeys(texts))
        yield Note("sound_source", f"{name}: {text}", {"perturbation": name, "source": text})
    yield from unchanged_notes(scores.runs, scores.scenarios)
    left = list(dict.fromkeys(id_ for run in scores.runs for id_ in run.config.get("not_heard", {})))
    if left:
        text = f"not heard: {listed(left, 4)}; run.json says what each needs"
        yield Note("not_heard", text, {"scenarios": left})


# The tables


_COLUMNS = {
    column.name: column
    for column in (
        Column("clean_wer", "clean WER", "percent"),
        Column("does", "what it does"),
        Column("rank", "rank, at best", "count"),
        Column("rank_worst", "at worst", "count"),
        Column("wer_ratio", "ratio of WER", "ratio", "low", "high"),
        Column("ratio_change", "times that of clean speech", "ratio", "change_low", "change_high"),
        Column("p_adjusted", "p (Holm)", "p"),
        *(Column(name, kind="count") for name in ("scenarios", "minutes", "step", "draws", "recognizers")),
        *(Column(name, kind="percent") for name in ("median", "best", "worst")),
        Column("value", kind="number"),
    )
}
"""How columns are shown that need more than their name, and mean the same in all tables."""


def _table(id_: str, title: str, frame: pl.DataFrame, *columns: str | tuple[str, ...], **more: Any) -> Table:
    """Return a table; `columns` (several in one text) follow those that results are set apart by."""
    names = [one for some in columns for one in (some.split() if isinstance(some, str) else [some])]
    labels = [name for name in LABELS if name in frame.columns and name not in names]
    return tabulate(id_, title, frame, [_COLUMNS.get(str(one), one) for one in (*labels, *names)], **more)


def _tables(found: Robustness) -> Iterator[Table]:
    rates = " ".join(f"{name}[{name}_low,{name}_high]" for name in ("wer", "werd", "nwerd"))
    if found.measure != "nwerd":
        rates = rates.rpartition(" ")[0]
    tables = (
        *_ranking_tables(found, rates),
        *_level_tables(found, rates),
        *_group_tables(found),
        _table(
            "silence",
            "Words heard where nobody speaks",
            found.inserted,
            "scenario",
            ("words_per_minute", "words per minute", "number", "low", "high"),
            "words minutes speakers",
            note="Every word is made up.",
        ),
        *_other_tables(found),
        _table_1(found),
    )
    return (table for table in tables if table.frame.height)


def _ranking_tables(found: Robustness, rates: str) -> Iterator[Table]:
    over = "over" if found.ranking["name"].n_unique() > 1 else ""
    named = pl.col("name").replace(OVERALL).alias("over")
    ranked = {"estimate": "nwerd", "low": "nwerd_low", "high": "nwerd_high"}
    nwerd = pl.when(pl.col("measure") == "nwerd")
    yield _table(
        "ranking",
        f"Ranking: the errors that disturbances add{WEIGHED[found.measure]}",
        found.ranking.with_columns(named, *(nwerd.then(pl.col(a)).alias(b) for a, b in ranked.items())),
        f"{over} rank rank_worst clean_wer",
        ("wer", "mean WER", "percent"),
        f"{rates.partition(' ')[2]} scenarios speakers",
        note=f"By {MEASURES[found.measure]}: less is better. Recognizers that the data cannot tell apart share a rank.",
        folded=found.ranking["recognizer"].n_unique() == 1,
    )
    yield _table(
        "comparisons",
        "Recognizers compared in pairs",
        found.comparisons.with_columns(named, family=pl.lit(FAMILY)),
        f"against {over} measure",
        ("estimate", "difference", "points", "low", "high"),
        "verdict",
        note="The limits hold for all pairs at once.",
        folded=True,
    )


def _level_tables(found: Robustness, rates: str) -> Iterator[Table]:
    level, name = pl.col("level"), pl.col("name")
    category = pl.when(level == "overall").then(name.replace(OVERALL)).otherwise(name)
    tops = found.levels.filter(level.is_in(["category", "overall"])).with_columns(category=category)
    title = "What each category of disturbance adds"
    yield _table("categories", title, tops, f"category {rates} scenarios speakers")
    scenarios = found.levels.filter(level == "scenario").rename({"name": "scenario"})
    names = scenarios["scenario"].to_list()
    scenarios = scenarios.with_columns(
        does=pl.Series([in_short(one) for one in names], dtype=pl.String),
        severity=pl.Series([found.settings[one].severity for one in names], dtype=pl.Int64),
    )
    disturbed = scenarios.filter(pl.col("scenario") != CLEAN)
    worst = [
        part.sort("werd", descending=True, nulls_last=True, maintain_order=True).head(WORST)
        for part in disturbed.partition_by(found.labels, maintain_order=True)
    ]
    # What it does without what that is like: a terminal is narrow.
    brief = pl.concat([disturbed.head(0), *worst]).with_columns(pl.col("does").str.split(": ").list.first())
    shown = "scenario does clean_wer wer[wer_low,wer_high] werd[werd_low,werd_high]"
    yield _table("worst", "Worst scenarios", brief, shown)
    about = "difficulty utterances speakers"
    shown = f"category scenario does {rates} {about}"
    yield _table("scenarios", "Every scenario", scenarios, shown, folded=True)
    perturbations = found.levels.filter(level == "perturbation")
    shown = f"category perturbation {rates} scenarios utterances speakers"
    yield _table("perturbations", "Every perturbation", perturbations, shown, folded=True)
    yield _table(
        "concentration",
        "Where the errors are",
        found.concentration,
        "scenario",
        *COLUMNS_SHOWN,  # type: ignore[arg-type]
        folded=True,
    )
    yield _table(
        "corpora", "Every corpus by itself", found.corpora, f"level name {rates} {about}", folded=True
    )


SHORT = {
    "accented speech": "accent",
    "audio processing": "audio proc",
    "environmental noise": "noise (env)",
    "white noise": "noise (white)",
    "special effects": "sFX",
    "far-field conversation": "social (FF)",
    "near-field conversation": "social (NF)",
    "spatial acoustics": "spatial",
    "synthetic speech": "synth speech",
    ALL: "AVG",
    "utterance-agnostic attack": "Adv (UA)",
    "utterance-specific attack": "Adv (US)",
    ATTACKED: "AVG (Adv)",
}
"""The columns of SRB's Table 1, in its order: NWERD, of attacks WERD."""
TABLE_1 = "table_1"
BESIDE = (
    "Published are the models of Speech Robust Bench as its authors measured them, on other speech: no rank compares"
    " them with the others."
)


ENDS = ("", "_low", "_high")


def _with_ends(name: str, row: Mapping[str, Any], measure: str) -> dict[str, Any]:
    """Return a measure of a row of `levels` and its limits, under another name."""
    return {f"{name}{end}": row.get(f"{measure}{end}") for end in ENDS}


def _table_1(found: Robustness) -> Table:
    """Return SRB's Table 1: utility, NWERD by category and on average, WERD under attack; a line per model."""
    attacks = {*(name for name in CATEGORIES if name.endswith("attack")), ATTACKED}
    rows = []
    for key, part in found.levels.group_by(found.labels, maintain_order=True):
        own = {(row["level"], row["name"]): row for row in part.iter_rows(named=True)}
        row = dict(zip(found.labels, key, strict=True)) | {"origin": MEASURED}
        row |= _with_ends("clean", own.get(("scenario", CLEAN), {}), "wer")
        for name, short in SHORT.items():
            level = "overall" if name in (ALL, ATTACKED) else "category"
            row |= _with_ends(short, own.get((level, name), {}), "werd" if name in attacks else "nwerd")
        rows.append(row)
    rates = [f"{short}{end}" for short in ("clean", *SHORT.values()) for end in ENDS]
    schema = {**dict.fromkeys((*found.labels, "origin"), pl.String), **dict.fromkeys(rates, pl.Float64)}
    frame = pl.DataFrame(rows, schema=schema)
    if found.published.height:
        known = [name for name in schema if name in found.published.columns or name == "origin"]
        beside = found.published.with_columns(origin=pl.lit(PUBLISHED)).drop_nulls("AVG").select(known)
        frame = pl.concat([frame, beside], how="diagonal")
    heard = [short for short in SHORT.values() if frame[short].count()]
    order = [*found.labels[1:], "AVG", "clean"]
    return _table(
        TABLE_1,
        "Table 1 of Speech Robust Bench",
        frame.sort(order, nulls_last=True, maintain_order=True) if heard else frame.clear(),
        *(["origin"] if found.published.height else []),
        ("clean", "clean WER", "percent"),
        *(
            (short, short, "points", *((f"{short}_low", f"{short}_high") if short == "AVG" else ()))
            for short in heard
        ),
        note="NWERD by category of disturbance, and WERD under attack (Adv): less is better.",
        folded=True,
    )


def _group_tables(found: Robustness) -> Iterator[Table]:
    powers = {"lwerr": "wer_ratio", "lwerr_low": "low", "lwerr_high": "high"}
    powers |= {"change": "ratio_change", "change_low": "change_low", "change_high": "change_high"}
    overall = pl.col("level") == "overall"
    frame = found.groups.with_columns(
        *((2.0 ** pl.col(old)).alias(new) for old, new in powers.items()),
        lwerr_change="change",
        family=pl.lit("groups under disturbance"),
        over=pl.when(overall).then(pl.col("name").replace(OVERALL)).otherwise(pl.col("name")),
    ).drop("change")
    columns: tuple[str | tuple[str, ...], ...] = (
        *(
            "attribute group against over",
            ("wer", "its WER", "percent"),
            ("wer_against", "the other's", "percent"),
        ),
        *("wer_ratio p", ("p_adjusted", "p adj.", "p"), "verdict ratio_change"),
        *(("change_p_adjusted", "p adj., change", "p"), ("speakers", "fewest speakers", "count")),
    )
    note = (
        "How many times as many errors the group gets as the other, by their mean word error rates over the scenarios"
        " of a category (2 to the power of Speech Robust Bench's LWERR); 1 is no difference. Verdicts allow for all"
        " comparisons of groups, those over all disturbances being asked first; changes since clean speech likewise."
    )
    single = (pl.col("level") == "scenario") & (pl.col("name") != CLEAN)
    yield _table("groups", "Groups under disturbance", frame.filter(~single), *columns, note=note)
    title = "Groups in every scenario"
    yield _table("group_scenarios", title, frame.filter(single), *columns, folded=True)
    if found.group_rates.height:
        shown = "attribute group scenario wer[low,high] speakers utterances words"
        yield _table("group_rates", "Word error rate by group", found.group_rates, shown, folded=True)


def _other_tables(found: Robustness) -> Iterator[Table]:
    columns = "perturbation step scenario value wer[low,high]"
    yield _table("curves", "From mild to harsh", found.curves, columns, folded=True)
    yield _table(
        "trends",
        "Does it grow with severity?",
        found.trends,
        "perturbation",
        ("slope", "WER per step", "points", "low", "high"),
        "trend",
        ("reversals", "falls from"),
        note="Not corrected for the number of perturbations.",
        folded=True,
    )
    yield _table(
        "stability",
        "Stability: standard deviation of WER over random draws, beside that over speakers",
        found.stability.sort(pl.col("level") != "overall", -pl.col("draw_sd"), maintain_order=True),
        ("name", "over"),
        "draws wer",
        ("draw_sd", "over draws", "percent"),
        ("sampling_sd", "over speakers", "percent"),
    )
    over = pl.col("name").replace(OVERALL).alias("over")
    several = ("over " if found.pareto["name"].n_unique() > 1 else "") + (
        "origin " if found.published.height else ""
    )
    yield _table(
        "correlates",
        "What goes with robustness over recognizers",
        found.correlates.with_columns(over),
        f"{several}fact recognizers measure",
        ("slope", "slope (Theil-Sen)", "points", "low", "high"),
        ("scale", "per"),
        ("tau", "", "ratio"),
        "p p_adjusted verdict",
    )
    yield _table(
        "within",
        "Within a family of recognizers",
        found.within.with_columns(over),
        f"{several}family fact recognizers",
        ("smallest", "smallest", "number"),
        ("largest", "largest", "number"),
        ("slope", "slope (Theil-Sen)", "points"),
        ("scale", "per"),
        note="A description: so few recognizers make no test.",
    )
    values = ("level", "value")
    title = "Robustness by kind of recognizer"
    families = found.families.with_columns(over)
    yield _table("families", title, families, f"{several}fact", values, "recognizers median best worst")
    yield _table(
        "pareto",
        "Recognizers that none beats in both a fact and robustness",
        found.pareto.with_columns(over),
        f"{several}fact recognizer value measure",
        ("estimate", "errors added", "percent"),
        ("optimal", "beaten by none"),
        note="Less is better in both.",
    )
