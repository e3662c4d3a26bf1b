"""What the audit measures: rates at every level, severity curves, ranks, the spread over random draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import polars as pl

from voxaudit.answer import Note, Refusal
from voxaudit.audits.robustness.correlates import Correlates, correlate
from voxaudit.audits.robustness.groups import group_rates, group_rows
from voxaudit.audits.robustness.levels import (
    ALL,
    ATTACKED,
    MEASURES,
    Cell,
    Node,
    Resample,
    build_cells,
    climb,
    finite,
    group_scenarios,
    limits,
    node_row,
    resample_people,
    scenario_nodes,
    spread,
    t_factor,
)
from voxaudit.audits.robustness.trials import Trials, inserted_words
from voxaudit.perturb import CLEAN
from voxaudit.perturb.settings import Setting, by_harshness
from voxaudit.stats.bootstrap import FEWEST_SPEAKERS
from voxaudit.wording import counted, listed

GROWS, FALLS, FLAT, FEW = "grows", "falls", "no trend shown", "too few speakers"
"""What the error rate does from mild to harsh. These are not corrected for the number of perturbations."""

Rows = list[dict[str, Any]]

_MEASURED = tuple(f"{measure}{end}" for measure in MEASURES for end in ("", "_low", "_high"))
COLUMNS: dict[str, tuple[str, ...]] = {
    "levels": (
        *("level", "name", "category", "perturbation", "scenarios", "normalized", "utterances", "speakers"),
        *("paired", "difficulty", "clean_wer", *_MEASURED),
    ),
    "curves": (
        *("perturbation", "step", "scenario", "severity", "parameter", "value", "wer", "low", "high"),
    ),
    "trends": ("perturbation", "steps", "slope", "low", "high", "trend", "reversals"),
    "ranking": (
        *("name", "rank", "rank_worst", "measure", "estimate", "low", "high", "clean_wer", "wer"),
        *("werd", "werd_low", "werd_high", "scenarios", "speakers"),
    ),
    "comparisons": ("name", "against", "measure", "estimate", "low", "high", "verdict"),
    "groups": (
        *("attribute", "group", "against", "level", "name", "speakers", "lwerr", "lwerr_low", "lwerr_high"),
        *("change", "change_low", "change_high", "p", "p_adjusted", "verdict"),
    ),
    "stability": ("level", "name", "draws", "wer", "wer_min", "wer_max", "draw_sd", "sampling_sd"),
    "correlates": (
        *(
            "fact",
            "measure",
            "recognizers",
            "scale",
            "slope",
            "low",
            "high",
            "tau",
            "p",
            "p_adjusted",
            "verdict",
        ),
    ),
    "families": ("fact", "level", "measure", "recognizers", "median", "best", "worst"),
    "pareto": ("fact", "recognizer", "value", "measure", "estimate", "optimal"),
}
"""Columns after the labels (recognizer, language, corpus), by table."""

_TEXT = (
    *(
        "recognizer",
        "language",
        "corpus",
        "level",
        "name",
        "category",
        "perturbation",
        "scenario",
        "parameter",
    ),
    *("verdict", "trend", "measure", "against", "attribute", "group", "fact", "scale"),
)
_WHOLE = (
    *("scenarios", "normalized", "utterances", "speakers", "step", "steps", "severity", "rank", "rank_worst"),
    *("draws", "recognizers"),
)
_TYPES: dict[str, Any] = {
    **dict.fromkeys(_TEXT, pl.String),
    **dict.fromkeys(_WHOLE, pl.Int64),
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
    inserted: pl.DataFrame
    """Words heard where nobody spoke, per minute."""
    correlates: pl.DataFrame
    families: pl.DataFrame
    """Robustness by the values of categorical facts about recognizers."""
    pareto: pl.DataFrame
    difficulty: dict[str, float]
    difficulty_source: str
    settings: dict[str, Setting]
    labels: tuple[str, ...]
    """What results are set apart by: the recognizer, and the language where that was asked for."""
    notes: tuple[Note, ...]
    refusals: tuple[Refusal, ...]


def measure_robustness(
    trials: Trials,
    *,
    difficulty: Mapping[str, float],
    difficulty_source: str,
    facts: pl.DataFrame | None,
    confidence: float,
    resamples: int,
    seed: int,
) -> Robustness:
    """Measure what every scenario costs every recognizer, against clean speech.

    Intervals of differences come from `resamples` draws of speakers, the same for clean and disturbed speech and for
    all recognizers; those of rates and of LWERR need none (`stats.rates`).
    """
    resample = resample_people(trials.people, resamples, seed, confidence)
    found = _Collected(trials, resample, dict(difficulty))
    for recognizer in trials.recognizers:
        found.add(recognizer, build_cells(trials, recognizer, resample))
    measure = found.rank()
    related = Correlates() if facts is None else found.correlate(facts, measure)
    inserted, unfit = inserted_words(trials, confidence=confidence)
    groups: Rows = []
    for attribute in trials.groups:
        rows, refused = group_rows(trials, attribute, confidence=confidence)
        groups += rows
        found.refusals += refused
    labels = found.labels
    return Robustness(
        measure=measure,
        levels=_frame("levels", labels, found.levels),
        corpora=_frame("levels", trials.unit, found.corpora),
        curves=_frame("curves", labels, found.curves),
        trends=_frame("trends", labels, found.trends),
        ranking=_frame("ranking", labels, found.ranking),
        comparisons=_frame("comparisons", labels, found.comparisons),
        groups=_frame("groups", trials.unit, groups),
        group_rates=group_rates(trials, confidence=confidence),
        stability=_frame("stability", labels, found.stability),
        inserted=inserted,
        correlates=_frame("correlates", labels[1:], related.slopes),
        families=_frame("families", labels[1:], related.families),
        pareto=_frame("pareto", labels[1:], related.pareto),
        difficulty=dict(difficulty),
        difficulty_source=difficulty_source,
        settings=trials.settings,
        labels=tuple(labels),
        notes=tuple(found.notes),
        refusals=(*found.refusals, *unfit, *related.refusals),
    )


def _frame(name: str, labels: Sequence[str], rows: Rows) -> pl.DataFrame:
    """Return the rows of a table of `COLUMNS`, `labels` first; columns are the same whether there are rows or not."""
    columns = [*labels, *(column for column in COLUMNS[name] if column not in labels)]
    return pl.DataFrame(rows, schema={column: _TYPES.get(column, pl.Float64) for column in columns})


class _Collected:
    """Rows of all tables, gathered one recognizer at a time: only the overall draws of each are kept."""

    def __init__(self, trials: Trials, resample: Resample, hard: dict[str, float]) -> None:
        self.trials, self.resample, self.hard = trials, resample, hard
        self.labels = [name for name in trials.unit if name != "corpus"]
        self.levels: Rows = []
        self.corpora: Rows = []
        self.curves: Rows = []
        self.trends: Rows = []
        self.stability: Rows = []
        self.ranking: Rows = []
        self.comparisons: Rows = []
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
        nodes = scenario_nodes(cells, self.hard)
        upper = climb(nodes, settings)
        self.levels += self._rows(nodes, upper, labels)
        if "corpus" in self.trials.places:
            for corpus in sorted({cell.place[-1] for cell in cells}):
                own = scenario_nodes([cell for cell in cells if cell.place[-1] == corpus], self.hard)
                self.corpora += self._rows(own, climb(own, settings), {**labels, "corpus": corpus})
        for curve in curves(nodes, settings):
            self.curves += curve_rows(curve, nodes.get(CLEAN), settings, resample, **labels)
            self.trends.append(trend_row(curve, settings, resample, **labels))
        recognizer, language = labels["recognizer"], labels.get("language", "")
        if self.draws is not None:
            mine = self.draws.filter(*(pl.col(name) == value for name, value in labels.items()))
            overall = {node.name: node for node in upper["overall"]}
            self.stability += stability_rows(mine, nodes, overall, settings, **labels)
        if CLEAN in nodes:
            self.clean[language, recognizer] = float(nodes[CLEAN]["wer"][0])
            common = [cell for cell in cells if (*cell.place, cell.scenario) in self.shared[language]]
            for node in climb(scenario_nodes(common, self.hard), settings)["overall"] if common else []:
                self.ranked.setdefault((language, node.name), {})[recognizer] = node

    def _rows(self, nodes: dict[str, Node], upper: dict[str, list[Node]], labels: dict[str, str]) -> Rows:
        ordered = sorted(nodes.values(), key=lambda node: _order(self.trials.settings[node.name]))
        rows = []
        for node in [*ordered, *upper["perturbation"], *upper["category"], *upper["overall"]]:
            row = node_row(node, self.resample, **labels)
            row |= dict.fromkeys(("category", "perturbation", "difficulty"))
            if node.level == "scenario":
                setting = self.trials.settings[node.name]
                row |= {"category": setting.category, "perturbation": setting.perturbation}
                row["difficulty"] = self.hard.get(node.name)
            elif node.level == "perturbation":
                row["category"] = next(
                    s.category for s in self.trials.settings.values() if s.perturbation == node.name
                )
                row["perturbation"] = node.name
            elif node.level == "category":
                row["category"] = node.name
            rows.append(row)
        return rows

    def rank(self) -> str:
        """Rank the recognizers on the scenarios they share; return the measure used."""
        normalized = any(
            node.normalized
            for (_, name), nodes in self.ranked.items()
            if name == ALL
            for node in nodes.values()
        )
        measure = "nwerd" if normalized else "werd"
        if not self.ranked:
            text = "no scenario but clean speech was heard by all recognizers"
            self.refusals.append(Refusal("not_heard_alike", "ranking", text))
        for (language, name), nodes in sorted(self.ranked.items()):
            labels = {"name": name} | ({"language": language} if language else {})
            by = "werd" if name == ATTACKED or not any(n.normalized for n in nodes.values()) else "nwerd"
            rows, compared = rank(nodes, by, self.resample, **labels)
            for row in rows:
                node = nodes[row["recognizer"]]
                low, high = self.resample.limits(node["werd"], node.speakers)
                row |= {"clean_wer": self.clean[language, row["recognizer"]], "wer": finite(node["wer"][0])}
                row |= {"werd": finite(node["werd"][0]), "werd_low": low, "werd_high": high}
            self.ranking += rows
            self.comparisons += compared
        return measure

    def correlate(self, facts: pl.DataFrame, measure: str) -> Correlates:
        """Relate the facts to the overall measure, a language at a time."""
        found = Correlates()
        for (language, name), nodes in sorted(self.ranked.items()):
            if name == ALL:
                labels = {"language": language} if language else {}
                robust = {recognizer: float(node[measure][0]) for recognizer, node in nodes.items()}
                clean = {recognizer: self.clean[language, recognizer] for recognizer in nodes}
                found.extend(correlate(facts, robust, clean, measure, **labels))
        return found

    def _language(self, cell: Cell) -> str:
        return cell.place[0] if "language" in self.trials.places else ""

    def _note(self, code: str, text: str, recognizer: str, **facts: Any) -> None:
        self.notes.append(Note(code, f"{recognizer}: {text}", {"recognizer": recognizer, **facts}))

    def _remark(self, recognizer: str, cells: list[Cell]) -> None:
        clean = {cell.place: cell for cell in cells if cell.scenario == CLEAN}
        for cell in clean.values():
            if cell.wer[0] == 0.0:
                where = f" ({', '.join(cell.place)})" if cell.place else ""
                self._note(
                    "no_clean_errors",
                    f"no error on clean speech{where}; the intervals of its WERD know only the other side",
                    recognizer,
                )
        gaps = [
            c for c in cells if c.paired and c.place in clean and c.utterances < clean[c.place].utterances
        ]
        if gaps:
            most = max(clean[cell.place].utterances - cell.utterances for cell in gaps)
            self._note(
                "utterances_missing",
                f"{counted(len(gaps), 'scenario')} without some utterances that clean speech has (up to {most});"
                " each is compared with clean speech on the utterances both have",
                recognizer,
                scenarios=len(gaps),
                utterances=most,
            )
        extra = [cell for cell in cells if cell.left_out]
        if extra:
            lost = sum(cell.left_out for cell in extra)
            self._note(
                "no_clean_twin",
                f"{counted(lost, 'trial')} of {counted(len(extra), 'scenario')} left out: no clean twin",
                recognizer,
                trials=lost,
                scenarios=len(extra),
            )
        apart = sorted({cell.scenario for cell in cells if not cell.paired})
        if apart:
            self._note(
                "other_utterances",
                f"{listed(apart, 4)}: other utterances than clean speech, so both sides are drawn by speaker, each on"
                " its own where no speaker is shared",
                recognizer,
                scenarios=apart,
            )
        few = [cell for cell in cells if not cell.interval]
        if few:
            self.refusals.append(_no_interval(recognizer, few, everything=len(few) == len(cells)))
        missing = self._not_shared(cells)
        if missing:
            self._note(
                "not_shared",
                f"{listed(missing, 4)} not heard by every recognizer: not part of the ranking",
                recognizer,
                scenarios=missing,
            )

    def _not_shared(self, cells: list[Cell]) -> list[str]:
        return sorted(
            {
                cell.scenario
                for cell in cells
                if (*cell.place, cell.scenario) not in self.shared.get(self._language(cell), set())
            }
        )


def _no_interval(recognizer: str, few: list[Cell], *, everything: bool) -> Refusal:
    fewest = min(cell.speakers for cell in few)
    names = "all scenarios" if everything else listed(sorted(cell.scenario for cell in few), 4)
    what = counted(fewest, "speaker") if fewest else "some speakers are unnamed"
    return Refusal(
        "too_few_speakers" if fewest else "no_speakers",
        f"{recognizer}: intervals of {names}",
        f"{what}; at least {FEWEST_SPEAKERS} known ones are needed",
        {"recognizer": recognizer, "speakers": fewest, "needed": FEWEST_SPEAKERS},
    )


def _shared(trials: Trials) -> dict[str, set[tuple[str, ...]]]:
    """Return, by language, the (places, scenario) that every recognizer heard which heard clean speech there."""
    keys = [*trials.unit, "scenario"]
    heard: dict[str, dict[str, set[tuple[str, ...]]]] = {}
    for recognizer, *place in trials.spoken.select(keys).unique().cast(pl.String).iter_rows():
        language = place[0] if "language" in trials.places else ""
        heard.setdefault(language, {}).setdefault(recognizer, set()).add(tuple(place))
    shared = {}
    for language, sets in heard.items():
        some = [own for own in sets.values() if any(key[-1] == CLEAN for key in own)]
        shared[language] = set.intersection(*some) if some else set()
    return shared


def _order(setting: Setting) -> tuple[Any, ...]:
    harsh = setting.severity or (setting.harsher or 1) * (setting.value or 0.0)
    return (setting.scenario != CLEAN, setting.category, setting.perturbation, harsh, setting.scenario)


# Severity curves: how the word error rate grows with what is done to the audio, and whether it does.


def curves(nodes: Mapping[str, Node], settings: Mapping[str, Setting]) -> list[list[Node]]:
    """Return, for every perturbation heard at several settings of a known order, its nodes from mild to harsh."""
    found = []
    for members in group_scenarios(nodes, settings).values():
        for names in members.values():
            ordered = by_harshness(settings[name] for name in names)
            if len(ordered) > 1:
                found.append([nodes[setting.scenario] for setting in ordered])
    return found


def curve_rows(
    curve: list[Node], clean: Node | None, settings: Mapping[str, Setting], resample: Resample, **labels: Any
) -> Rows:
    """Return the rows of a curve: step 0 is clean speech, then the settings from mild to harsh."""
    steps = [*([clean] if clean is not None else []), *curve]
    rows = []
    for step, node in enumerate(steps, start=0 if clean is not None else 1):
        low, high = node.limits("wer", resample)
        own = settings[node.name]
        rows.append(
            {
                **labels,
                "perturbation": settings[curve[0].name].perturbation,
                "step": step,
                "scenario": node.name,
                "severity": own.severity,
                "parameter": own.parameter if node.name != CLEAN else None,
                "value": own.value,
                "wer": finite(node["wer"][0]),
                "low": low,
                "high": high,
            }
        )
    return rows


def trend_row(
    curve: list[Node], settings: Mapping[str, Setting], resample: Resample, **labels: Any
) -> dict[str, Any]:
    """Return whether the word error rate grows along a curve, beyond what other speakers could turn round.

    `slope` is the least-squares slope of WER per step. `reversals` names the steps at which WER falls with an interval
    below zero, at the confidence divided by the number of steps.
    """
    rates = np.stack([node["wer"] for node in curve])
    steps = np.arange(len(curve)) - (len(curve) - 1) / 2.0
    slope = steps @ rates / float(steps @ steps)
    speakers = min(node.speakers for node in curve)
    low, high = resample.limits(slope, speakers)
    trend = FEW if low is None or high is None else GROWS if low > 0 else FALLS if high < 0 else FLAT
    reversals = []
    strict = 1.0 - (1.0 - resample.confidence) / (len(curve) - 1)
    for mild, harsh in pairwise(curve):
        _, top = limits(harsh["wer"] - mild["wer"], speakers, strict)
        if top is not None and top < 0.0:
            reversals.append(f"{mild.name} to {harsh.name}")
    return {
        **labels,
        "perturbation": settings[curve[0].name].perturbation,
        "steps": len(curve),
        "slope": finite(slope[0]),
        "low": low,
        "high": high,
        "trend": trend,
        "reversals": reversals,
    }


# The ranking of recognizers: by what disturbed speech costs them, with ties where the data cannot tell.


def rank(overall: Mapping[str, Node], measure: str, resample: Resample, **labels: Any) -> tuple[Rows, Rows]:
    """Return the rows of the ranking and of the comparisons behind it; smaller is better.

    The same speakers are drawn for both sides of a comparison. Intervals hold for all pairs at once: their width is
    the quantile of the largest standardized deviation among the pairs (single-step max-t), widened for few speakers.
    A recognizer's rank is one more than the number that are shown to be better, so those that cannot be told apart
    from the best all share rank 1; `rank_worst` allows for everyone not shown to be worse.
    """
    names = sorted(overall, key=lambda name: (np.nan_to_num(overall[name][measure][0], nan=np.inf), name))
    speakers = min(overall[name].speakers for name in names)
    known = speakers >= FEWEST_SPEAKERS
    pairs = list(combinations(names, 2))
    differences = [overall[a][measure] - overall[b][measure] for a, b in pairs]
    errors = [spread(difference) for difference in differences]
    half = _widths(differences, errors, speakers, resample.confidence) if known and pairs else []
    better: dict[str, set[str]] = {name: set() for name in names}
    compared = []
    for place, (a, b) in enumerate(pairs):
        estimate = float(differences[place][0])
        low = estimate - half[place] if half else None
        high = estimate + half[place] if half else None
        differ = low is not None and high is not None and not low <= 0.0 <= high
        if differ:
            winner, loser = (a, b) if estimate < 0 else (b, a)
            better[loser].add(winner)
        compared.append(
            {
                **labels,
                "recognizer": a,
                "against": b,
                "measure": measure,
                "estimate": finite(estimate),
                "low": low,
                "high": high,
                "verdict": "refused" if not half else "shown" if differ else "not_shown",
            }
        )
    rows = []
    for name in names:
        node = overall[name]
        low, high = resample.limits(node[measure], node.speakers)
        worse = sum(name in others for others in better.values())
        rows.append(
            {
                **labels,
                "recognizer": name,
                "rank": len(better[name]) + 1 if known or len(names) == 1 else None,
                "rank_worst": len(names) - worse if known or len(names) == 1 else None,
                "measure": measure,
                "estimate": finite(node[measure][0]),
                "low": low,
                "high": high,
                "scenarios": node.scenarios if measure == "werd" else node.normalized,
                "speakers": node.speakers or None,
            }
        )
    rows.sort(key=lambda row: row["rank"] or 0)
    return rows, compared


def _widths(differences: list[Any], errors: list[float], speakers: int, confidence: float) -> list[float]:
    drawn = [
        np.abs(difference[1:] - difference[0]) / error if error > 0 else np.zeros(len(difference) - 1)
        for difference, error in zip(differences, errors, strict=True)
    ]
    largest = np.nanmax(np.nan_to_num(np.stack(drawn), nan=0.0), axis=0)
    width = float(np.quantile(largest, confidence)) * t_factor(speakers, confidence)
    return [width * error if error > 0 else 0.0 for error in errors]


# Stability: how much a result moves when a random perturbation is drawn again, beside other speakers.


def draw_rates(trials: Trials) -> pl.DataFrame:
    """Return the word error rate of every draw: recognizer, language (where there are several), scenario, draw, wer.

    Only utterances heard in all draws of a scenario count. Rates are means over corpora. Perturbations that are
    known to draw nothing at random are left out.
    """
    by = [name for name in trials.unit if name != "corpus"]
    random = [name for name, setting in trials.settings.items() if setting.random and name != CLEAN]
    cell = [*trials.unit, "scenario"]
    table = trials.spoken.filter(pl.col("scenario").cast(pl.String).is_in(random))
    table = table.with_columns(draws=pl.col("draw").n_unique().over(cell)).filter(pl.col("draws") > 1)
    table = table.filter(pl.len().over([*cell, "person", "utterance"]) == pl.col("draws"))
    rates = table.group_by([*cell, "draw"]).agg(wer=pl.col("errors").sum() / pl.col("words").sum())
    rates = rates.group_by([*by, "scenario", "draw"]).agg(pl.col("wer").mean())
    return rates.with_columns(pl.col(name).cast(pl.String) for name in [*by, "scenario", "draw"]).sort(
        [*by, "scenario", "draw"]
    )


def stability_rows(
    rates: pl.DataFrame,
    nodes: Mapping[str, Node],
    overall: Mapping[str, Node],
    settings: Mapping[str, Setting],
    **labels: Any,
) -> Rows:
    """Return the spread of WER over draws of one recognizer: of every scenario, then overall.

    `draw_sd` is the standard deviation over draws, `sampling_sd` that over speakers (the bootstrap's). Overall takes
    the scenarios that have every draw, and is compared with the sampling error of all scenarios.
    """
    by_draw: dict[str, dict[str, float]] = {}
    for scenario, draw, wer in rates.select("scenario", "draw", "wer").iter_rows():
        by_draw.setdefault(scenario, {})[draw] = wer
    rows = [
        _spread_row("scenario", name, list(values.values()), spread(nodes[name]["wer"]), labels)
        for name, values in by_draw.items()
        if len(values) > 1 and name in nodes
    ]
    draws = sorted(set().union(*by_draw.values())) if by_draw else []
    whole = [name for name, values in by_draw.items() if len(values) == len(draws)]
    for attack, name in ((False, ALL), (True, ATTACKED)):
        tree = group_scenarios([s for s in whole if settings[s].attack == attack], settings)
        if not tree or name not in overall:
            continue
        means = [
            float(
                np.mean(
                    [
                        np.mean([np.mean([by_draw[s][draw] for s in some]) for some in members.values()])
                        for members in tree.values()
                    ]
                )
            )
            for draw in draws
        ]
        rows.append(_spread_row("overall", name, means, spread(overall[name]["wer"]), labels))
    return rows


def _spread_row(
    level: str, name: str, values: list[float], sampling: float, labels: dict[str, Any]
) -> dict[str, Any]:
    return {
        **labels,
        "level": level,
        "name": name,
        "draws": len(values),
        "wer": float(np.mean(values)),
        "wer_min": float(np.min(values)),
        "wer_max": float(np.max(values)),
        "draw_sd": float(np.std(values, ddof=1)),
        "sampling_sd": finite(sampling),
    }
