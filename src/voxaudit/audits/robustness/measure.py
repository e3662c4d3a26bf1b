"""What the audit measures: rates at every level, severity curves, ranks, groups, spread over draws, correlates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voxaudit.answer import Note, Refusal, number_or_none
from voxaudit.audits.robustness.levels import (
    MEASURES,
    Cell,
    Node,
    build_cells,
    mean,
    moved,
    references,
    scenario_nodes,
    with_limits,
)
from voxaudit.audits.robustness.trials import Trials, inserted_words
from voxaudit.corpus import base_language
from voxaudit.perturb import CLEAN
from voxaudit.perturb.settings import ALL, ATTACKED, Setting, by_harshness, climb, group_scenarios
from voxaudit.score.quality.difficulty import average, difficulties_drawn
from voxaudit.stats.bootstrap import FEWEST_SPEAKERS, Resample, by_people
from voxaudit.stats.cells import FloatArray, IntArray
from voxaudit.stats.concentration import concentration
from voxaudit.stats.group_ratios import CHANGE, RATE, Judged, Rates, judge
from voxaudit.stats.mean_rates import as_one_rate
from voxaudit.stats.multiplicity import holm
from voxaudit.stats.permutations import LEVEL, Shuffles
from voxaudit.stats.sign_flips import fallback, sign_flips
from voxaudit.stats.theil_sen import pareto_front, theil_sen
from voxaudit.tables import added, mean_of, total
from voxaudit.wording import counted, listed

GROWS, FALLS, FLAT, FEW = "grows", "falls", "no trend shown", "too few speakers"
"""What the error rate does from mild to harsh. These are not corrected for the number of perturbations."""
REST = "the rest"
CLEAN_WER = "clean_wer"
FAMILY = "family"
"""The fact that tells families of recognizers apart, within which other facts are compared."""
DECADE, UNIT = "factor of ten", "unit"
MEASURED, PUBLISHED = "measured", "published"
"""Where a row comes from: these scores, or the tables of Speech Robust Bench."""
PUBLISHED_FACTS = ("parameters", "hours", "architecture", FAMILY)
FEWEST_RECOGNIZERS = 6
"""With fewer, a line through them is drawn by chance more often than not."""

Rows = list[dict[str, Any]]

_LEVELS = (
    "level name category perturbation scenarios normalized utterances speakers paired difficulty clean_wer "
    + " ".join(f"{measure} {measure}_low {measure}_high" for measure in MEASURES)
)
COLUMNS = {
    "levels": _LEVELS,
    "corpora": _LEVELS,
    "curves": "perturbation step scenario severity parameter value wer low high",
    "trends": "perturbation steps slope low high trend reversals",
    "ranking": "name rank rank_worst measure estimate low high clean_wer wer werd werd_low werd_high scenarios"
    " speakers",
    "comparisons": "name against measure estimate low high verdict",
    "groups": "attribute group against level name speakers wer wer_against lwerr lwerr_low lwerr_high p p_adjusted"
    " verdict change change_low change_high change_p change_p_adjusted change_verdict",
    "stability": "level name draws wer wer_min wer_max draw_sd sampling_sd",
    "correlates": "name origin fact measure recognizers scale slope intercept low high tau p p_adjusted verdict",
    "families": "name origin fact level measure recognizers median best worst",
    "within": "name origin family fact measure recognizers scale slope smallest largest",
    "pareto": "name origin fact recognizer family value measure estimate optimal",
}
"""Columns after the labels (recognizer, language, corpus), by table."""

_TEXT = (
    "recognizer language corpus level name category perturbation scenario parameter verdict trend measure against"
    " attribute group fact scale change_verdict origin family"
)
_WHOLE = "scenarios normalized utterances speakers step steps severity rank rank_worst draws recognizers"
_TYPES: dict[str, Any] = {
    **dict.fromkeys(_TEXT.split(), pl.String),
    **dict.fromkeys(_WHOLE.split(), pl.Int64),
    **dict.fromkeys(("paired", "optimal"), pl.Boolean),
    "reversals": pl.List(pl.String),
}


@dataclass(frozen=True)
class Robustness:
    """What was measured. Rates and their differences are fractions; `docs/robustness.md` describes the columns.

    Where results are set apart by language, tables have a column `language`; where by corpus, `corpora` repeats
    `levels` for every corpus, and `levels` has means over corpora.
    """

    measure: str
    """What recognizers are ranked by: `nwerd`, or `werd` without difficulties."""
    levels: pl.DataFrame
    """WER, CER, WERD, NWER and NWERD with intervals: scenario, perturbation, category, overall."""
    corpora: pl.DataFrame
    curves: pl.DataFrame
    trends: pl.DataFrame
    ranking: pl.DataFrame
    comparisons: pl.DataFrame
    groups: pl.DataFrame
    """LWERR by attribute."""
    group_rates: pl.DataFrame
    """Error rates by attribute, group and scenario."""
    stability: pl.DataFrame
    """Spread over random draws of the same perturbation, beside the sampling error."""
    concentration: pl.DataFrame
    """How far the errors of a scenario come from one utterance, the worst hundredth of them, one speaker."""
    inserted: pl.DataFrame
    """Words heard where nobody spoke, per minute."""
    correlates: pl.DataFrame
    families: pl.DataFrame
    """Robustness by the values of categorical facts about recognizers."""
    within: pl.DataFrame
    """Slopes of robustness on a fact within a family of recognizers: a description, without a verdict."""
    pareto: pl.DataFrame
    published: pl.DataFrame
    """The models of Speech Robust Bench in the languages of the scores, where they were asked for."""
    difficulty: dict[str, dict[str, float]]
    """By language, which is empty where results are not set apart by it, and scenario."""
    difficulty_source: str
    settings: dict[str, Setting]
    labels: tuple[str, ...]
    """What results are set apart by: the recognizer, and the language where that was asked for."""
    notes: tuple[Note, ...]
    refusals: tuple[Refusal, ...]


def measure_robustness(
    trials: Trials,
    *,
    difficulty: Mapping[str, Mapping[str, float]],
    difficulty_source: str,
    quality: Sequence[pl.DataFrame] = (),
    reference: Mapping[str, str] | None = None,
    facts: pl.DataFrame | None,
    published: pl.DataFrame | None = None,
    confidence: float,
    resamples: int,
    seed: int,
) -> Robustness:
    """Measure what every scenario costs every recognizer, against clean speech.

    Intervals of differences come from `resamples` draws of speakers, the same for clean and disturbed speech and for
    all recognizers; those of rates need none (`stats.rates`). Groups are compared by shuffling speakers
    (`stats.group_ratios`).
    `quality` are the tables that difficulties were measured on: then they are measured again in every draw.
    `published` are the models of Speech Robust Bench (`published_models`), which are shown beside and never ranked.
    """
    resample = Resample.within(trials.people["stratum"].to_list(), resamples, seed, confidence)
    again = average([_measured_again(table, trials, resample, seed) for table in quality])
    hard = {language: dict(own) for language, own in difficulty.items()}
    found = _Collected(trials, resample, hard, again)
    for recognizer in trials.recognizers:
        found.add(recognizer, build_cells(trials, recognizer, resample))
    measure = found.rank()
    # What is published of all models is WERD: beside it, WERD is what is related.
    unrelated = found.correlate(facts, measure if published is None else "werd", published is not None)
    beside = found.stand_beside(published)
    inserted, unfit = inserted_words(trials, confidence=confidence)
    sums = {attribute: _group_sums(trials, attribute) for attribute in trials.groups}
    found.rows["groups"], refused = group_rows(
        trials, sums, reference or {}, confidence=confidence, seed=seed
    )
    found.refusals += refused
    labels = {**dict.fromkeys(COLUMNS, found.labels), **dict.fromkeys(("corpora", "groups"), trials.unit)}
    labels |= dict.fromkeys(("correlates", "families", "within", "pareto"), found.labels[1:])
    return Robustness(
        measure=measure,
        **{name: _frame(name, labels[name], rows) for name, rows in found.rows.items()},
        group_rates=group_rates(trials, sums, confidence=confidence),
        concentration=where_errors_are(trials, found.labels),
        inserted=inserted,
        published=beside,
        difficulty=hard,
        difficulty_source=difficulty_source,
        settings=trials.settings,
        labels=tuple(found.labels),
        notes=tuple(found.notes),
        refusals=(*found.refusals, *unfit, *unrelated),
    )


def where_errors_are(trials: Trials, labels: Sequence[str]) -> pl.DataFrame:
    """Return where the errors of every scenario with speech are: `labels`, scenario, counts and shares."""
    by = [*labels, "scenario"]
    rows = trials.spoken.clear() if trials.summed else trials.spoken
    table = trials.utterance_means(rows)
    people = table.group_by(*by, "person").agg(added(table, "errors"), utterances=pl.len())
    people = people.join(trials.people.select("person", "speaker"), on="person", how="left")
    counts = people.group_by(by).agg(pl.col("errors", "utterances").sum(), speakers=pl.col("speaker").count())
    found = counts.join(concentration(table, by, sums=people), on=by)
    return found.with_columns(pl.col(by).cast(pl.String)).sort(by)


def _measured_again(
    quality: pl.DataFrame, trials: Trials, resample: Resample, seed: int
) -> dict[str, FloatArray]:
    """Return the difficulties of scenarios in every draw of people: those of the speakers who were drawn.

    Where the speakers of the qualities are not known, or not those of the scores, they are drawn on their own.
    """
    names = trials.people["speaker"].to_list()
    person = {name: number for number, name in enumerate(names) if name is not None}
    known = quality["speaker"].unique().to_list() if "speaker" in quality.columns else [None]
    if len(person) == len(names) and all(name in person for name in known):
        return difficulties_drawn(quality, "speaker", person, resample.sums)
    column = "speaker" if None not in known and len(known) >= FEWEST_SPEAKERS else "utterance"
    number = {name: place for place, name in enumerate(sorted(quality[column].unique().to_list()))}
    own = Resample.within([""] * len(number), len(resample.weights) - 1, seed + 1, resample.confidence)
    return difficulties_drawn(quality, column, number, own.sums)


def _frame(name: str, labels: Sequence[str], rows: Rows) -> pl.DataFrame:
    """Return the rows of a table of `COLUMNS`, `labels` first; columns are the same whether there are rows or not."""
    columns = dict.fromkeys((*labels, *COLUMNS[name].split()))
    return pl.DataFrame(rows, schema={column: _TYPES.get(column, pl.Float64) for column in columns})


class _Collected:
    """Rows of all tables, gathered one recognizer at a time: only the overall draws of each are kept."""

    def __init__(
        self,
        trials: Trials,
        resample: Resample,
        hard: dict[str, dict[str, float]],
        again: Mapping[str, FloatArray],
    ) -> None:
        self.trials, self.resample, self.hard, self.again = trials, resample, hard, again
        self.labels = [name for name in trials.unit if name != "corpus"]
        self.rows: dict[str, Rows] = {name: [] for name in COLUMNS}
        self.refusals: list[Refusal] = []
        self.ranked: dict[tuple[str, str], dict[str, Node]] = {}
        self.clean: dict[tuple[str, str], float] = {}
        self.shared = _shared(trials)
        self.draws = draw_rates(trials) if trials.draw else None
        self.notes = [
            Note(
                "pooled",
                f"column '{name}' has {count} values, which are pooled",
                {"column": name, "values": count},
                ("by",),
            )
            for name, count in trials.pooled.items()
        ]
        if trials.nobody:
            text = "no speaker is named: estimates have no intervals, and no recognizer a rank"
            self.refusals.append(Refusal("no_speakers", "intervals", text, {"speakers": 0}))

    def add(self, recognizer: str, cells: list[Cell]) -> None:
        """Add one recognizer."""
        self._remark(recognizer, cells)
        for language in sorted({self._language(cell) for cell in cells}):
            some = [cell for cell in cells if self._language(cell) == language]
            labels = {"recognizer": recognizer} | ({"language": language} if language else {})
            if not any(cell.scenario == CLEAN for cell in some):
                text = "no clean speech was heard: WERD and a rank need it"
                self.refusals.append(Refusal("no_clean_speech", ", ".join(labels.values()), text))
            self._add_language(labels, some)

    def _add_language(self, labels: dict[str, str], cells: list[Cell]) -> None:
        settings, resample = self.trials.settings, self.resample
        recognizer, language = labels["recognizer"], labels.get("language", "")
        nodes, upper = self._nodes(cells, language)
        self.rows["levels"] += self._rows(nodes, upper, labels)
        if "corpus" in self.trials.places:
            for corpus in sorted({cell.place[-1] for cell in cells}):
                there = [cell for cell in cells if cell.place[-1] == corpus]
                own = self._nodes(there, language)
                self.rows["corpora"] += self._rows(*own, {**labels, "corpus": corpus})
        for curve in curves(nodes, settings):
            self.rows["curves"] += curve_rows(curve, nodes.get(CLEAN), settings, resample, **labels)
            self.rows["trends"].append(trend_row(curve, settings, resample, **labels))
        if self.draws is not None:
            mine = self.draws.filter(*(pl.col(name) == value for name, value in labels.items()))
            overall = {node.name: node for node in upper if node.level == "overall"}
            self.rows["stability"] += stability_rows(mine, nodes, overall, settings, resample, **labels)
        if CLEAN in nodes:
            self.clean[language, recognizer] = float(nodes[CLEAN]["wer"][0])
            common = [cell for cell in cells if (*cell.place, cell.scenario) in self.shared[language]]
            if len(common) < len(cells):
                upper = _upper(self._plain(common, language), settings)
            for node in upper:
                if node.level == "overall":
                    self.ranked.setdefault((language, node.name), {})[recognizer] = node

    def _plain(self, cells: Sequence[Cell], language: str) -> dict[str, Node]:
        return scenario_nodes(cells, self.hard.get(language, {}), self.again)

    def _nodes(self, cells: Sequence[Cell], language: str) -> tuple[dict[str, Node], list[Node]]:
        """Return the scenarios of cells by name, and the levels above them."""
        plain = self._plain(cells, language)
        upper = _upper(plain, self.trials.settings)
        every = with_limits([*plain.values(), *upper], self.resample.confidence)
        return dict(zip(plain, every, strict=False)), every[len(plain) :]

    def _rows(self, nodes: dict[str, Node], upper: list[Node], labels: dict[str, str]) -> Rows:
        settings = self.trials.settings
        rows = []
        for node in [*sorted(nodes.values(), key=lambda node: _order(settings[node.name])), *upper]:
            about: dict[str, Any] = {"category": node.name} if node.level == "category" else {}
            if node.level in ("scenario", "perturbation"):
                own = next(s for s in settings.values() if getattr(s, node.level) == node.name)
                about = {"category": own.category, "perturbation": own.perturbation}
            if node.level == "scenario":
                about["difficulty"] = self.hard.get(labels.get("language", ""), {}).get(node.name)
            rows.append({**labels, **node.row(self.resample), **about})
        return rows

    def rank(self) -> str:
        """Rank the recognizers on the scenarios they share; return the measure used."""
        if not self.ranked:
            text = "no scenario but clean speech was heard by all recognizers"
            self.refusals.append(Refusal("not_heard_alike", "ranking", text))
        measure = "werd"
        for (language, name), nodes in sorted(self.ranked.items()):
            labels = {"name": name} | ({"language": language} if language else {})
            normalized = name == ALL and any(node.normalized for node in nodes.values())
            if normalized:
                measure = "nwerd"
            rows, compared = rank(nodes, "nwerd" if normalized else "werd", self.resample, **labels)
            for row in rows:
                node = nodes[row["recognizer"]]
                row |= {"clean_wer": self.clean[language, row["recognizer"]], "wer": node.estimate("wer")}
                row["werd"] = node.estimate("werd")
                row["werd_low"], row["werd_high"] = node.limits("werd", self.resample)
            self.rows["ranking"] += rows
            self.rows["comparisons"] += compared
        return measure

    def correlate(self, facts: pl.DataFrame | None, measure: str, beside: bool) -> list[Refusal]:
        """Relate facts to the overall measure, and to WERD under attack, a language at a time; return what is refused.

        Without facts, and nothing to stand `beside`, nothing is related.
        """
        refusals: list[Refusal] = []
        if facts is None and not beside:
            return refusals
        known = pl.DataFrame(schema={"recognizer": pl.String}) if facts is None else facts
        for (language, name), nodes in sorted(self.ranked.items()):
            own = measure if name == ALL else "werd"
            robust = {recognizer: float(node[own][0]) for recognizer, node in nodes.items()}
            clean = {recognizer: self.clean[language, recognizer] for recognizer in nodes}
            labels = ({"language": language} if language else {}) | {"name": name, "origin": MEASURED}
            tables, refused = correlate(known, robust, clean, own, **labels)
            # A relation that nobody asked about is not refused.
            refusals += [] if facts is None or name != ALL else refused
            self._take(tables)
        return refusals

    def stand_beside(self, published: pl.DataFrame | None) -> pl.DataFrame:
        """Relate the facts of published models to their published robustness; return those in our languages."""
        if published is None:
            return pl.DataFrame()
        parts = []
        for label, language in self.trials.languages.items():
            labels = {"language": label} if label else {}
            own = published.filter(pl.col("language") == base_language(language or "en")).drop("language")
            parts.append(own.with_columns(pl.lit(value).alias(name) for name, value in labels.items()))
            clean = dict(own.select("recognizer", CLEAN).iter_rows())
            facts = own.select("recognizer", *PUBLISHED_FACTS)
            for name, column in ((ALL, "WERD"), (ATTACKED, "WERD (Adv)")):
                robust = dict(own.drop_nulls(column).select("recognizer", column).iter_rows())
                if robust:
                    about = {**labels, "name": name, "origin": PUBLISHED}
                    self._take(correlate(facts, robust, clean, "werd", **about)[0])
        return pl.concat(parts, how="diagonal_relaxed")

    def _take(self, tables: Mapping[str, Rows]) -> None:
        for table, rows in tables.items():
            self.rows[table] += rows

    def _language(self, cell: Cell) -> str:
        return cell.place[0] if "language" in self.trials.places else ""

    def _remark(self, recognizer: str, cells: list[Cell]) -> None:
        def note(code: str, text: str, **facts: Any) -> None:
            self.notes.append(Note(code, f"{recognizer}: {text}", {"recognizer": recognizer, **facts}))

        clean = {cell.place: cell for cell in cells if cell.scenario == CLEAN}
        for cell in clean.values():
            if cell.wer[0] == 0.0 and not self.trials.nobody:
                where = f" ({', '.join(cell.place)})" if cell.place else ""
                text = f"no error on clean speech{where}; the intervals of its WERD know only the other side"
                note("no_clean_errors", text)
        gaps = [
            clean[cell.place].utterances - cell.utterances
            for cell in cells
            if cell.paired and cell.place in clean and cell.utterances < clean[cell.place].utterances
        ]
        if gaps:
            text = (
                f"{counted(len(gaps), 'scenario')} without some utterances that clean speech has (up to {max(gaps)});"
                " each is compared with clean speech on the utterances both have"
            )
            note("utterances_missing", text, scenarios=len(gaps), utterances=max(gaps))
        extra = [cell.left_out for cell in cells if cell.left_out]
        if extra:
            lost = f"{counted(sum(extra), 'trial')} of {counted(len(extra), 'scenario')}"
            note("no_clean_twin", f"{lost} left out: no clean twin", trials=sum(extra), scenarios=len(extra))
        means = {}
        for cell in cells:
            home = [] if cell.paired else references(cell, cells, self.trials)
            if len(home) > 1:
                means[cell.scenario] = [other.place[-1] for other in home]
        if means:
            text = (
                f"{listed(means, 4)}: compared with the mean over clean speech of"
                f" {listed(dict.fromkeys(name for some in means.values() for name in some), 4)}"
            )
            said = Note("several_baselines", text, {"scenarios": list(means)}, ("baseline",))
            self.notes += [said] if said not in self.notes else []
        apart = sorted({cell.scenario for cell in cells if not cell.paired})
        if apart and not self.trials.nobody:
            text = (
                f"{listed(apart, 4)}: other utterances than clean speech, so both sides are drawn by speaker, each on"
                " its own where no speaker is shared"
            )
            note("other_utterances", text, scenarios=apart)
        few = [cell for cell in cells if cell.speakers < FEWEST_SPEAKERS]
        if few and not self.trials.nobody:
            self.refusals.append(_no_interval(recognizer, few, everything=len(few) == len(cells)))
        missing = sorted(
            {
                cell.scenario
                for cell in cells
                if (*cell.place, cell.scenario) not in self.shared.get(self._language(cell), set())
            }
        )
        if missing:
            text = f"{listed(missing, 4)} not heard by every recognizer: not part of the ranking"
            note("not_shared", text, scenarios=missing)


def _no_interval(recognizer: str, few: list[Cell], *, everything: bool) -> Refusal:
    fewest = min(cell.speakers for cell in few)
    names = "all scenarios" if everything else listed(sorted(cell.scenario for cell in few), 4)
    what = counted(fewest, "speaker") if fewest else "some speakers are unnamed"
    as_is = "" if everything else "; averages take these as they are"
    return Refusal(
        "too_few_speakers" if fewest else "no_speakers",
        f"{recognizer}: intervals of {names}",
        f"{what}; at least {FEWEST_SPEAKERS} known ones are needed{as_is}",
        {"recognizer": recognizer, "speakers": fewest, "needed": FEWEST_SPEAKERS},
    )


def _shared(trials: Trials) -> dict[str, set[tuple[str, ...]]]:
    """Return, by language, the (places, scenario) that every recognizer heard which heard clean speech there."""
    heard: dict[str, dict[str, set[tuple[str, ...]]]] = {}
    for recognizer, *place in (
        trials.spoken.select(*trials.unit, "scenario").unique().cast(pl.String).iter_rows()
    ):
        language = place[0] if "language" in trials.places else ""
        heard.setdefault(language, {}).setdefault(recognizer, set()).add(tuple(place))
    shared = {}
    for language, sets in heard.items():
        some = [own for own in sets.values() if any(key[-1] == CLEAN for key in own)]
        shared[language] = set.intersection(*some) if some else set()
    return shared


def _upper(nodes: Mapping[str, Node], settings: Mapping[str, Setting]) -> list[Node]:
    return [node for *_, node in climb(nodes, settings, mean)]


def _order(setting: Setting) -> tuple[Any, ...]:
    harsh = setting.severity or (setting.harsher or 1) * (setting.value or 0.0)
    return (setting.scenario != CLEAN, setting.category, setting.perturbation, harsh, setting.scenario)


# Severity curves: how the word error rate grows with what is done to the audio, and whether it does.


def curves(nodes: Mapping[str, Node], settings: Mapping[str, Setting]) -> list[list[Node]]:
    """Return, for every perturbation heard at several settings of a known order, its nodes from mild to harsh."""
    ordered = [
        by_harshness(settings[name] for name in names)
        for members in group_scenarios(nodes, settings).values()
        for names in members.values()
    ]
    return [[nodes[setting.scenario] for setting in some] for some in ordered if len(some) > 1]


def curve_rows(
    curve: list[Node], clean: Node | None, settings: Mapping[str, Setting], resample: Resample, **labels: Any
) -> Rows:
    """Return the rows of a curve: step 0 is clean speech, then the settings from mild to harsh."""
    rows = []
    for step, node in enumerate([clean, *curve]):
        if node is None:
            continue
        own = settings[node.name]
        low, high = node.limits("wer", resample)
        row = {"perturbation": settings[curve[0].name].perturbation, "step": step, "scenario": node.name}
        row |= {"severity": own.severity, "parameter": own.parameter, "value": own.value}
        rows.append({**labels, **row, "wer": node.estimate("wer"), "low": low, "high": high})
    return rows


def trend_row(
    curve: list[Node], settings: Mapping[str, Setting], resample: Resample, **labels: Any
) -> dict[str, Any]:
    """Return whether the word error rate grows along a curve, beyond what other speakers could turn round.

    `slope` is the least-squares slope of WER per step. `reversals` names the steps at which WER falls with an interval
    below zero, at the confidence divided by the number of steps.
    """
    steps = np.arange(len(curve)) - (len(curve) - 1) / 2.0
    slope, low, high = _along(curve, np.asarray(steps / float(steps @ steps)), resample)
    trend = FEW if low is None or high is None else GROWS if low > 0 else FALLS if high < 0 else FLAT
    reversals = []
    for mild, harsh in pairwise(curve):
        _, _, top = _along([mild, harsh], np.array([-1.0, 1.0]), resample, tests=len(curve) - 1)
        if top is not None and top < 0.0:
            reversals.append(f"{mild.name} to {harsh.name}")
    row = {"perturbation": settings[curve[0].name].perturbation, "steps": len(curve), "trend": trend}
    row |= {"slope": number_or_none(slope), "low": low, "high": high}
    return {**labels, **row, "reversals": reversals}


def _along(
    curve: Sequence[Node], weights: FloatArray, resample: Resample, *, tests: int = 1
) -> tuple[float | None, float | None, float | None]:
    """Return a weighted sum of the error rates of a curve, and its limits."""
    values = weights @ np.stack([node["wer"] for node in curve])
    each = np.hstack([moved(node["wer"], node.pulls["wer"]) for node in curve])
    share = np.max([np.nan_to_num(node.pulls["wer"].share[:, 0]) for node in curve], axis=0)
    said = np.mean([node["said"] for node in curve], axis=0)
    speakers = min(node.speakers for node in curve)
    low, high = resample.change_limits(values, each @ weights, share, said, speakers, tests=tests)
    return _exact(float(values[0])), _exact(low), _exact(high)


def _exact(value: float | None) -> float | None:
    """Return 0 for what is only a rest of rounding: its sign would be taken for a trend."""
    return 0.0 if value is not None and abs(value) < 1e-12 else value


# The ranking of recognizers: by what disturbed speech costs them, with ties where the data cannot tell.


def rank(overall: Mapping[str, Node], measure: str, resample: Resample, **labels: Any) -> tuple[Rows, Rows]:
    """Return the rows of the ranking and of the comparisons behind it; smaller is better.

    Recognizers are compared on the same speakers, and intervals hold for all pairs at once. A recognizer's rank is one
    more than the number that are shown to be better, so those that cannot be told apart from the best all share rank 1;
    `rank_worst` allows for everyone not shown to be worse.
    """
    names = sorted(overall, key=lambda name: (np.nan_to_num(overall[name][measure][0], nan=np.inf), name))
    speakers = min(overall[name].speakers for name in names)
    known = speakers >= FEWEST_SPEAKERS
    pairs = list(combinations(names, 2))
    told = told_apart([(overall[a], overall[b]) for a, b in pairs], measure, resample) if known else []
    better: dict[str, set[str]] = {name: set() for name in names}
    compared = []
    for place, (a, b) in enumerate(pairs):
        own = told[place] if known else {"low": None, "high": None, "verdict": "refused"}
        if own["verdict"] == "shown":
            better[b].add(a)  # pairs stand in the order of their estimates
        estimate = number_or_none(overall[a][measure][0] - overall[b][measure][0])
        row = {"recognizer": a, "against": b, "measure": measure, "estimate": estimate}
        compared.append({**labels, **row, **own})
    rows = []
    for name in names:
        node = overall[name]
        low, high = node.limits(measure, resample)
        row = {"recognizer": name, "rank": None, "rank_worst": None, "measure": measure}
        if known or len(names) == 1:
            worse = sum(name in others for others in better.values())
            row |= {"rank": len(better[name]) + 1, "rank_worst": len(names) - worse}
        row |= {
            "estimate": node.estimate(measure),
            "low": low,
            "high": high,
            "speakers": node.speakers or None,
        }
        rows.append({**labels, **row, "scenarios": node.scenarios if measure == "werd" else node.normalized})
    rows.sort(key=lambda row: row["rank"] or 0)
    return rows, compared


def told_apart(pairs: Sequence[tuple[Node, Node]], measure: str, resample: Resample) -> Rows:
    """Return limits and verdicts of differences: signs of whole speakers are flipped, all pairs at once.

    Recognizers that are alike might have changed places for any speaker.
    """
    changes, shares = [], []
    for pair in pairs:
        one, other = (node.changes[measure] for node in pair)
        share = np.maximum(one.share, other.share)
        own = one.pull - other.pull + (pair[0][measure][0] - pair[1][measure][0]) * share
        changes.append(np.round(own, 15))  # speakers who differ by rounding do not differ
        shares.append(share)
    if not pairs:
        return []
    alpha = 1.0 - resample.confidence
    found = sign_flips(np.hstack(changes), np.hstack(shares), alpha=alpha, seed=resample.seed)
    told = (np.abs(found.estimate) > found.critical * found.se) & (found.p <= alpha)
    return [
        {"low": number_or_none(low), "high": number_or_none(high), "verdict": "shown" if own else "not_shown"}
        for low, high, own in zip(*found.limits, told.tolist(), strict=True)
    ]


# Stability: how much a result moves when a random perturbation is drawn again, beside other speakers.


def draw_rates(trials: Trials) -> pl.DataFrame:
    """Return the word error rate of every draw: recognizer, language (where there are several), scenario, draw, wer.

    Only utterances heard in all draws of a scenario count. Rates are means over corpora. Perturbations that are
    known to draw nothing at random are left out.
    """
    random = [name for name, setting in trials.settings.items() if setting.random and name != CLEAN]
    cell = [*trials.unit, "scenario"]
    table = trials.spoken.filter(pl.col("scenario").cast(pl.String).is_in(random))
    table = table.with_columns(draws=pl.col("draw").n_unique().over(cell)).filter(pl.col("draws") > 1)
    table = table.filter(pl.len().over([*cell, "person", "utterance"]) == pl.col("draws"))
    rates = table.group_by([*cell, "draw"], maintain_order=True).agg(wer=total("errors") / total("words"))
    by = [*(name for name in cell if name != "corpus"), "draw"]
    rates = rates.group_by(by, maintain_order=True).agg(mean_of("wer"))
    return rates.with_columns(pl.col(by).cast(pl.String)).sort(by)


def stability_rows(
    rates: pl.DataFrame,
    nodes: Mapping[str, Node],
    overall: Mapping[str, Node],
    settings: Mapping[str, Setting],
    resample: Resample,
    **labels: Any,
) -> Rows:
    """Return the spread of WER over draws of one recognizer: of every scenario, then overall.

    `draw_sd` is the standard deviation over draws, `sampling_sd` that over speakers (the bootstrap's). Overall takes
    the scenarios that have every draw, and is compared with the sampling error of all scenarios.
    """
    by_draw: dict[str, dict[str, float]] = {}
    for scenario, draw, wer in rates.select("scenario", "draw", "wer").iter_rows():
        by_draw.setdefault(scenario, {})[draw] = wer
    spreads = [
        (nodes[name], list(values.values()))
        for name, values in by_draw.items()
        if len(values) > 1 and name in nodes
    ]
    draws = sorted(set().union(*by_draw.values()))
    whole = {name: values for name, values in by_draw.items() if len(values) == len(draws)}
    for attack in (False, True):
        some = {
            name: [v[draw] for draw in draws] for name, v in whole.items() if settings[name].attack == attack
        }
        for level, name, means in climb(
            some,
            settings,
            lambda _level, _name, parts: [float(np.mean(one)) for one in zip(*parts, strict=True)],
        ):
            if level == "overall" and name in overall:
                spreads.append((overall[name], means))
    return [
        {
            **labels,
            "level": node.level,
            "name": node.name,
            "draws": len(values),
            "wer": float(np.mean(values)),
            "wer_min": min(values),
            "wer_max": max(values),
            "draw_sd": float(np.std(values, ddof=1)),
            "sampling_sd": number_or_none(resample.standard_error(node["wer"])),
        }
        for node, values in spreads
    ]


# LWERR: the logarithm of the ratio of two groups' word error rates, per scenario and category.


@dataclass(frozen=True)
class _Compared:
    """Two groups in some cells (recognizers x means over scenarios): rows to be filled in, and sums of both sides.

    Sums are errors and words, and errors and words of clean speech: 4 x people x cells. `enough` says where both sides
    have the speakers that a verdict needs: of the ratio, and of its change from clean speech.
    """

    rows: Rows
    ours: FloatArray
    theirs: FloatArray
    enough: NDArray[np.bool_]

    def rates(
        self, coefficients: tuple[float, ...], cells: IntArray, shuffles: Shuffles | None = None
    ) -> Rates:
        """Return the comparison in some of the cells; without shuffles there is no test of it."""
        ours, theirs = (side[: len(coefficients)][:, :, cells] for side in (self.ours, self.theirs))
        return Rates(ours, theirs, shuffles or Shuffles(0), coefficients)

    @classmethod
    def join(cls, parts: Sequence[_Compared]) -> _Compared:
        """Return the cells of all parts."""
        ours, theirs, enough = (
            np.concatenate([getattr(part, name) for part in parts], axis=-1)
            for name in ("ours", "theirs", "enough")
        )
        return cls([row for part in parts for row in part.rows], ours, theirs, enough)


def group_rows(
    trials: Trials,
    sums: Mapping[str, pl.DataFrame],
    reference: Mapping[str, str],
    *,
    confidence: float,
    seed: int,
) -> tuple[Rows, list[Refusal]]:
    """Return LWERR rows of all attributes (`sums` by speaker, of each), and what was refused.

    `LWERR = log2(WER of a group / WER of the other)` (SRB Eq. 5). Groups are divided by the `reference` of their
    attribute; without one, of two groups the first by name by the second, of more, each by all others together. Above
    the scenarios, word error rates are averaged before the ratio is taken, as for the paper's Figure 7. `change` is
    LWERR less LWERR of clean speech. Speakers are shuffled between the groups (`stats.group_ratios`); all comparisons
    of the audit are one family, and all changes another, in which the means over all disturbances are asked first.
    """
    refusals: list[Refusal] = []
    rows: Rows = []
    compared: list[_Compared] = []
    for attribute, own in sums.items():
        some, refused = _group_sides(trials, attribute, own, reference.get(attribute))
        compared += some
        refusals += refused
        labels = [*trials.unit, "group"]
        judged = [row for one in some for row in one.rows]
        rows += sorted(judged, key=lambda row: str([row[label] for label in labels]))
    for name, coefficients in (("lwerr", RATE), ("change", CHANGE)):
        _judge(compared, name, coefficients, trials.people.height, confidence, seed)
    return rows, refusals


def _group_sides(
    trials: Trials, attribute: str, sums: pl.DataFrame, reference: str | None
) -> tuple[list[_Compared], list[Refusal]]:
    """Return what is to be compared by an attribute, the recognizers of a pair of groups together; and refusals."""
    parts: dict[tuple[str, ...], list[_Compared]] = {}
    refusals: dict[tuple[str, str], Refusal] = {}
    for key, part in sorted(sums.group_by(trials.unit), key=lambda item: str(item[0])):
        labels = dict(zip(trials.unit, key, strict=True))
        for group, other, ours, theirs in _sides(part, reference):
            about = f"{attribute} {group}" + "".join(f", {labels[place]}" for place in trials.places)
            few = _too_few(about, ((group, ours), (other, theirs)), trials)
            if few is not None:
                refusals.setdefault((about, few.text), few)
                continue
            fewest = min(ours["person"].n_unique(), theirs["person"].n_unique())
            row = {**labels, "attribute": attribute, "group": group, "against": other, "speakers": fewest}
            found, silent, rare = _compare(ours, theirs, trials, row)
            parts.setdefault((*key[1:], group, other), []).append(found)
            about = f"{labels['recognizer']}: {about}"
            for code, names, text in (
                ("too_few_errors", silent, "one side has no errors"),
                ("too_few_speakers", rare, f"one side has fewer than {FEWEST_SPEAKERS} speakers"),
            ):
                if names:
                    text = f"{text} ({listed(sorted(names), 3)})"
                    refusals.setdefault((about, text), Refusal(code, about, text))
    return [_Compared.join(some) for some in parts.values()], _merged(attribute, list(refusals.values()))


def _group_sums(trials: Trials, attribute: str) -> pl.DataFrame:
    """Return errors, words and utterances of every speaker, by unit, scenario and group."""
    column = f"attribute:{attribute}"
    rows = trials.utterance_means(trials.spoken.filter(pl.col(column).is_not_null()), [column])
    by = [*trials.unit, "scenario", "group"]
    sums = (
        rows.rename({column: "group"})
        .group_by([*by, "person"], maintain_order=True)
        .agg(pl.col("errors", "words").sum(), utterances=pl.len().cast(pl.Int64))
    )
    return sums.with_columns(pl.col(by).cast(pl.String))


def _sides(part: pl.DataFrame, reference: str | None) -> list[tuple[str, str, pl.DataFrame, pl.DataFrame]]:
    groups = sorted(part["group"].unique().to_list())
    two = len(groups) == 2
    own = pl.col("group")
    if reference is not None:
        theirs = part.filter(own == reference)
        others = [group for group in groups if group != reference] if theirs.height else []
        return [(group, reference, part.filter(own == group), theirs) for group in others]
    return [
        (group, groups[1] if two else REST, part.filter(own == group), part.filter(own != group))
        for group in (groups[:1] if two else groups if len(groups) > 1 else [])
    ]


def _too_few(about: str, sides: Iterable[tuple[str, pl.DataFrame]], trials: Trials) -> Refusal | None:
    for name, side in sides:
        people = set(side["person"].unique().to_list())
        if people & trials.unnamed:
            return Refusal("no_speakers", about, f"some speakers of '{name}' are unnamed")
        if len(people) < FEWEST_SPEAKERS:
            text = f"'{name}' has {counted(len(people), 'speaker')}; at least {FEWEST_SPEAKERS} are needed"
            facts = {"group": name, "speakers": len(people), "needed": FEWEST_SPEAKERS}
            return Refusal("too_few_speakers", about, text, facts)
    return None


def _merged(attribute: str, refusals: list[Refusal]) -> list[Refusal]:
    """Return the refusals, those of several small groups in one line."""
    small = {one.facts["group"]: one.facts["speakers"] for one in refusals if "group" in one.facts}
    if len(small) < 2:
        return refusals
    groups = listed([f"{group} ({speakers})" for group, speakers in small.items()], 8)
    text = f"groups of fewer than {FEWEST_SPEAKERS} speakers are not compared: {groups}"
    facts = {"groups": small, "needed": FEWEST_SPEAKERS}
    others = [one for one in refusals if "group" not in one.facts]
    return [Refusal("too_few_speakers", attribute, text, facts), *others]


def _compare(
    ours: pl.DataFrame, theirs: pl.DataFrame, trials: Trials, about: Mapping[str, Any]
) -> tuple[_Compared, list[str], list[str]]:
    """Return two groups in all scenarios that both were heard in and in their means, and what they cannot be told for.

    Those are the means in which one side has no errors, which have no ratio and no row, and those in which fewer than
    five people of a side were heard, which have a row without a verdict.
    """
    shared = sorted(set(ours["scenario"].unique()) & set(theirs["scenario"].unique()))
    single = dict(zip(shared, np.eye(len(shared)), strict=True))
    means = [("scenario", name, weights) for name, weights in single.items()]
    averaged = climb(single, trials.settings, lambda _level, _name, parts: np.mean(parts, axis=0))
    means += [one for one in averaged if one[0] != "perturbation"]
    weights = np.array([one for *_, one in means]).reshape(len(means), len(shared)).T
    number = pl.col("scenario").cast(pl.Enum(shared), strict=False).to_physical()
    clean = shared.index(CLEAN) if CLEAN in shared else None
    sides, enough = [], np.ones((2, len(means)), dtype=bool)
    for side in (ours, theirs):
        sums = side.select("errors", "words", _speaker="person", _condition=number).drop_nulls("_condition")
        errors, words = by_people(sums, ("errors", "words"), len(shared), trials.people.height)
        rates = as_one_rate(errors, words, weights)
        since = np.full_like(rates, np.nan)
        if clean is not None:
            since[:] = rates[:, :, [clean]]
            since[:, :, clean] = np.nan  # it is no change from itself
        sides.append(np.concatenate([rates, since]))
        enough &= ((words @ weights) > 0.0).sum(axis=0) >= FEWEST_SPEAKERS
    if clean is not None:
        enough[1] &= enough[0, clean]
    # A rate of 0 has no logarithm.
    known = np.all([side[0].sum(axis=0) > 0.0 for side in sides], axis=0)
    rows = [{**about, "level": level, "name": name} for level, name, _ in means]
    for rate, sums_of in zip(("wer", "wer_against"), sides, strict=True):
        with np.errstate(invalid="ignore"):
            values = sums_of[0].sum(axis=0) / sums_of[1].sum(axis=0)
        for row, value in zip(rows, values.tolist(), strict=True):
            row[rate] = value
    own, other = (side[:, :, known] for side in sides)
    compared = _Compared([rows[place] for place in np.flatnonzero(known)], own, other, enough[:, known])
    silent, few = (
        [rows[place]["name"] for place in np.flatnonzero(some)] for some in (~known, known & ~enough[0])
    )
    return compared, silent, few


def _judge(
    compared: Sequence[_Compared],
    name: str,
    coefficients: tuple[float, ...],
    people: int,
    confidence: float,
    seed: int,
) -> None:
    """Add ratios (as `log2`) with intervals, p-values and verdicts to the rows, under `name`.

    Means over all disturbances are asked first: one family with hundreds of single scenarios would drown them.
    """
    prefix = "" if name == "lwerr" else f"{name}_"
    rows: Rows = []
    within: list[float] = []
    overall: list[bool] = []
    for first in (True, False):
        asked: list[tuple[_Compared, IntArray]] = []
        some: Rows = []
        for one in compared:
            level = np.array([(row["level"] == "overall") == first for row in one.rows], dtype=bool)
            ratio = one.rates(coefficients, np.arange(len(level))).ratio()
            for place in np.flatnonzero(level & np.isfinite(ratio)):
                one.rows[place] |= {name: math.log2(ratio[place]), f"{prefix}verdict": "refused"}
            cells = np.flatnonzero(level & np.isfinite(ratio) & one.enough[int(name != "lwerr")])
            if len(cells):
                asked.append((one, cells))
                some += [one.rows[place] for place in cells]
        shuffles = Shuffles.affordable(people, len(some), seed=seed)
        comparisons = [one.rates(coefficients, cells, shuffles) for one, cells in asked]
        judged = _flat(judge(comparisons))
        # Verdicts are those of one level, however wide the intervals are asked to be.
        wanted = np.isclose(confidence, 1.0 - LEVEL)
        limits = judged if wanted else _flat(judge(comparisons, level=1.0 - confidence))
        for row, own, ends in zip(some, judged, limits, strict=True):
            row |= {f"{name}_low": _log2(ends.low), f"{name}_high": _log2(ends.high), f"{prefix}p": own.p}
        rows += some
        within += [1.0 if own.p_adjusted is None else own.p_adjusted for own in judged]
        overall += [first] * len(some)
    adjusted = fallback(np.array(within), np.array(overall, dtype=bool)).tolist()
    for row, p in zip(rows, adjusted, strict=True):
        row |= {f"{prefix}p_adjusted": p, f"{prefix}verdict": "shown" if p <= LEVEL else "not_shown"}


def _flat(judged: list[list[Judged]]) -> list[Judged]:
    return [one for some in judged for one in some]


def _log2(ratio: float | None) -> float | None:
    """Return the logarithm of a limit; None where there is no end to it."""
    return math.log2(ratio) if ratio is not None and 0.0 < ratio < math.inf else None


def group_rates(trials: Trials, sums: Mapping[str, pl.DataFrame], *, confidence: float) -> pl.DataFrame:
    """Return error rates by attribute, group, recognizer (and place) and scenario, of `sums` by speaker.

    Columns: recognizer, places, attribute, group, scenario, utterances, speakers, words, wer, low, high.
    """
    columns = [pl.col("group", "scenario", "utterances"), pl.col("speakers").cast(pl.Int64)]
    columns += [pl.col("words"), pl.col("rate").alias("wer"), pl.col("low", "high")]
    frames = []
    for attribute, own in sums.items():
        by = [*trials.unit, "scenario", "group"]
        rates = trials.rates(own, by, confidence=confidence)
        frames.append(rates.select(*trials.unit, pl.lit(attribute).alias("attribute"), *columns))
    return pl.concat(frames) if frames else pl.DataFrame()


# What goes with robustness over recognizers: size, training hours, architecture, accuracy on clean speech.


def correlate(
    facts: pl.DataFrame, robust: Mapping[str, float], clean: Mapping[str, float], measure: str, **labels: Any
) -> tuple[dict[str, Rows], list[Refusal]]:
    """Relate facts of recognizers to their overall measure (smaller is better): rows of tables, and refusals.

    `correlates`: numeric facts, with Theil and Sen's slope and the p-value of Kendall's tau, adjusted by Holm.
    `families`: the others, with the median of each value. `within`: the slopes within each value of the fact `family`
    that several recognizers have. `pareto`: the recognizers that none beats on both counts. The
    recognizers are taken for a sample; their own sampling error is not added. Accuracy on clean speech is always among
    the facts.
    """
    found: dict[str, Rows] = {"correlates": [], "families": [], "within": [], "pareto": []}
    refusals = []
    names = [name for name in robust if np.isfinite(robust[name])]
    own = pl.DataFrame(
        {"recognizer": names, CLEAN_WER: [clean[name] for name in names]},
        schema={"recognizer": pl.String, CLEAN_WER: pl.Float64},
    )
    table = own.join(facts.drop(CLEAN_WER, strict=False), on="recognizer", how="left", maintain_order="left")
    for fact in table.columns[1:]:
        column = table[fact]
        numeric = column.dtype.is_numeric() and column.dtype != pl.Boolean
        known = column.is_not_null() & (column.is_finite() if column.dtype.is_float() else True)
        some = table.filter(known)
        y = np.array([robust[name] for name in some["recognizer"]])
        about = {**labels, "fact": fact, "measure": measure}
        if numeric:
            x = some[fact].cast(pl.Float64).to_numpy()
            kinds = some[FAMILY].cast(pl.String).to_list() if FAMILY in some.columns else [None] * len(x)
            front = zip(
                some["recognizer"], x.tolist(), y.tolist(), pareto_front(x, y).tolist(), kinds, strict=True
            )
            found["pareto"] += [
                {**about, "recognizer": n, "value": v, "estimate": e, "optimal": optimal, FAMILY: kind}
                for n, v, e, optimal, kind in sorted(front, key=lambda row: row[1:3])
            ]
            if fact != CLEAN_WER:
                found["within"] += [{**about, **row} for row in _within(kinds, x, y)]
        if some.height < FEWEST_RECOGNIZERS:
            text = f"{some.height} recognizers with this fact; at least {FEWEST_RECOGNIZERS} are needed"
            more = "let more recognizers hear the same, and say this of each"
            refusals.append(Refusal("too_few_recognizers", f"correlate {fact}", text, remedy=more))
        elif some[fact].n_unique() < 2:
            text = "all recognizers have the same value"
            refusals.append(Refusal("undefined", f"correlate {fact}", text))
        elif numeric:
            line = theil_sen(x, y)
            names_ = ("slope", "intercept", "low", "high", "tau", "p")
            row: dict[str, Any] = {name: number_or_none(getattr(line, name)) for name in names_}
            found["correlates"].append(
                {**about, "recognizers": len(x), "scale": DECADE if line.by_decade else UNIT, **row}
            )
        else:
            values = some[fact].cast(pl.String).to_list()
            for level in sorted(set(values)):
                mine = y[[value == level for value in values]]
                row = {
                    "median": float(np.median(mine)),
                    "best": float(mine.min()),
                    "worst": float(mine.max()),
                }
                found["families"].append({**about, "level": level, "recognizers": len(mine), **row})
    rows = found["correlates"]
    for row, adjusted in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["p_adjusted"] = adjusted
        row["verdict"] = "shown" if adjusted is not None and adjusted < 0.05 else "not_shown"
    return found, refusals


def _within(kinds: Sequence[str | None], x: FloatArray, y: FloatArray) -> Rows:
    """Return the slope of y on x within each family of several recognizers that differ in x (SRB's Figure 4).

    So few recognizers make no test: it is said which way they go, and how far.
    """
    rows = []
    for kind in sorted({one for one in kinds if one is not None}):
        mine = np.array([one == kind for one in kinds])
        if len(np.unique(x[mine])) < 2:
            continue
        # By factors of ten, however few of them a family spans: families are compared with each other.
        decades = bool(x[mine].min() > 0)
        line = theil_sen(np.log10(x[mine]) if decades else x[mine], y[mine])
        row = {FAMILY: kind, "recognizers": int(mine.sum()), "scale": DECADE if decades else UNIT}
        row |= {"slope": number_or_none(line.slope)}
        rows.append({**row, "smallest": float(x[mine].min()), "largest": float(x[mine].max())})
    return rows
