"""The robustness audit: a `scores` table in, degradation at every level, curves, ranks and refusals out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from voxaudit.audits.robustness.cells import Cell, build_cells, spoken
from voxaudit.audits.robustness.columns import frame
from voxaudit.audits.robustness.correlates import Correlates, correlate, read_facts
from voxaudit.audits.robustness.curves import curve_rows, curves, trend_row
from voxaudit.audits.robustness.difficulty import check_difficulty, listed
from voxaudit.audits.robustness.groups import group_rows
from voxaudit.audits.robustness.levels import ALL, ATTACKED, Node, climb, node_row, scenario_nodes
from voxaudit.audits.robustness.ranking import rank
from voxaudit.audits.robustness.resample import Resample, finite, resample_people
from voxaudit.audits.robustness.result import Refusal, Robustness
from voxaudit.audits.robustness.settings import Setting
from voxaudit.audits.robustness.silence import inserted_words
from voxaudit.audits.robustness.stability import draw_rates, stability_rows
from voxaudit.audits.robustness.trials import Trials, read_trials
from voxaudit.errors import VoxauditError
from voxaudit.perturb import CLEAN
from voxaudit.stats.bootstrap import FEWEST_SPEAKERS

Rows = list[dict[str, Any]]


def robustness(
    scores: pl.DataFrame,
    *,
    difficulty: pl.DataFrame | None = None,
    difficulty_source: str = "as given",
    attributes: Sequence[str] = (),
    by: Sequence[str] = (),
    facts: pl.DataFrame | None = None,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    where: str | Path = "scores",
    facts_where: str | Path = "facts",
) -> Robustness:
    """Measure what every scenario of a `scores` table costs every recognizer, against clean speech.

    `difficulty` has the columns scenario and difficulty (SRB: mean 50, standard deviation 25 over scenarios); without
    it nothing is normalised and recognizers are ranked by WERD. `attributes` are columns whose groups are compared
    (LWERR). `facts` has a column recognizer and what is known about each. Languages and corpora are
    pooled unless `by` names their columns (`language`, `corpus`), and a note says so. A column `draw` or
    `seed` tells random draws of the same perturbation apart. Intervals of differences come from `resamples` draws of
    speakers, the same for clean and disturbed speech and for all recognizers; those of rates and of LWERR need none
    (`stats.rates`).
    """
    if not 0.0 < confidence < 1.0:
        raise VoxauditError(f"confidence must lie between 0 and 1, not {confidence:g}")
    if resamples < 100:
        raise VoxauditError(f"resamples must be at least 100, not {resamples}")
    if seed < 0:
        raise VoxauditError(f"seed must be at least 0, not {seed}")
    attributes = tuple(dict.fromkeys(attributes))
    trials = read_trials(scores, attributes, by, where)
    facts = None if facts is None else read_facts(facts, trials.recognizers, facts_where)
    hard, refusals = (
        ({}, []) if difficulty is None else check_difficulty(difficulty, trials.settings, difficulty_source)
    )
    resample = resample_people(trials.people, resamples, seed, confidence)
    found = _Collected(trials, resample, hard, refusals)
    for recognizer in trials.recognizers:
        found.add(recognizer, build_cells(trials, recognizer, resample))
    measure = found.rank()
    related = Correlates() if facts is None else found.correlate(facts, measure)
    options: dict[str, Any] = {"resamples": resamples, "seed": seed, "confidence": confidence}
    inserted, unfit = inserted_words(trials, confidence=confidence)
    groups: Rows = []
    for attribute in attributes:
        rows, refused = group_rows(trials, attribute, confidence=confidence)
        groups += rows
        refusals += refused
    labels = found.labels
    return Robustness(
        measure=measure,
        levels=frame("levels", labels, found.levels),
        corpora=frame("levels", trials.unit, found.corpora),
        curves=frame("curves", labels, found.curves),
        trends=frame("trends", labels, found.trends),
        ranking=frame("ranking", labels, found.ranking),
        comparisons=frame("comparisons", labels, found.comparisons),
        groups=frame("groups", trials.unit, groups),
        stability=frame("stability", labels, found.stability),
        inserted=inserted,
        correlates=frame("correlates", labels[1:], related.slopes),
        families=frame("families", labels[1:], related.families),
        pareto=frame("pareto", labels[1:], related.pareto),
        difficulty=pl.DataFrame(
            {"scenario": list(hard), "difficulty": list(hard.values())},
            schema={"scenario": pl.String, "difficulty": pl.Float64},
        ),
        difficulty_source="none" if difficulty is None else difficulty_source,
        notes=tuple(found.notes),
        refusals=(*refusals, *unfit, *related.refusals),
        settings={
            **options,
            "attributes": list(attributes),
            "by": list(trials.places),
            "speakers": trials.people.height,
        },
    )


class _Collected:
    """Rows of all tables, gathered one recognizer at a time: only the overall draws of each are kept."""

    def __init__(
        self, trials: Trials, resample: Resample, hard: dict[str, float], refusals: list[Refusal]
    ) -> None:
        self.trials, self.resample, self.hard, self.refusals = trials, resample, hard, refusals
        self.labels = [name for name in trials.unit if name != "corpus"]
        self.levels: Rows = []
        self.corpora: Rows = []
        self.curves: Rows = []
        self.trends: Rows = []
        self.stability: Rows = []
        self.ranking: Rows = []
        self.comparisons: Rows = []
        self.notes: list[str] = []
        self.ranked: dict[tuple[str, str], dict[str, Node]] = {}
        self.clean: dict[tuple[str, str], float] = {}
        self.shared = _shared(trials)
        self.draws = draw_rates(trials) if trials.draw else None
        if trials.places:
            self.notes.append(f"results are set apart by {' and '.join(trials.places)}")
        self.notes += [
            f"column '{name}' has {count} values, which are pooled here; split them with"
            f" `voxaudit robustness --by {name}`"
            for name, count in trials.pooled.items()
        ]

    def add(self, recognizer: str, cells: list[Cell]) -> None:
        """Add one recognizer."""
        self._remark(recognizer, cells)
        for language in sorted({self._language(cell) for cell in cells}):
            some = [cell for cell in cells if self._language(cell) == language]
            labels = {"recognizer": recognizer} | ({"language": language} if language else {})
            if not any(cell.scenario == CLEAN for cell in some):
                about = f"{recognizer}{f', {language}' if language else ''}"
                self.refusals.append(Refusal(about, "no clean speech was heard: WERD and a rank need it"))
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
            self.refusals.append(
                Refusal("ranking", "no scenario but clean speech was heard by all recognizers")
            )
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
                part = correlate(facts, robust, clean, measure, **labels)
                for mine, theirs in zip(
                    (found.slopes, found.families, found.pareto),
                    (part.slopes, part.families, part.pareto),
                    strict=True,
                ):
                    mine.extend(theirs)
                found.refusals.extend(part.refusals)
        return found

    def _language(self, cell: Cell) -> str:
        return cell.place[0] if "language" in self.trials.places else ""

    def _remark(self, recognizer: str, cells: list[Cell]) -> None:
        clean = {cell.place: cell for cell in cells if cell.scenario == CLEAN}
        for cell in clean.values():
            if cell.wer[0] == 0.0:
                self.notes.append(
                    f"{recognizer} makes no error on clean speech{_at(cell)}: the intervals of its WERD know only"
                    " the other side"
                )
        gaps = [
            c for c in cells if c.paired and c.place in clean and c.utterances < clean[c.place].utterances
        ]
        if gaps:
            most = max(clean[cell.place].utterances - cell.utterances for cell in gaps)
            self.notes.append(
                f"{recognizer}: {len(gaps)} scenarios lack utterances that clean speech has (up to {most});"
                " each is compared with clean speech on the utterances both have"
            )
        extra = [cell for cell in cells if cell.left_out]
        if extra:
            self.notes.append(
                f"{recognizer}: {sum(cell.left_out for cell in extra)} trials of {len(extra)} scenarios have no clean"
                " twin and are left out"
            )
        apart = sorted({cell.scenario for cell in cells if not cell.paired})
        if apart:
            self.notes.append(
                f"{recognizer}: {listed(apart)}: other utterances than clean speech, so both sides are drawn by"
                " speaker, each on its own where no speaker is shared"
            )
        few = [cell for cell in cells if not cell.interval]
        if few:
            unnamed = any(cell.speakers == 0 for cell in few)
            count = (
                "some speakers are unnamed" if unnamed else f"{min(cell.speakers for cell in few)} speakers"
            )
            about = (
                "all scenarios" if len(few) == len(cells) else listed(sorted(cell.scenario for cell in few))
            )
            self.refusals.append(
                Refusal(
                    f"{recognizer}: intervals of {about}",
                    f"{count}; at least {FEWEST_SPEAKERS} known ones are needed",
                )
            )
        missing = self._not_shared(cells)
        if missing:
            self.notes.append(
                f"{recognizer}: {listed(missing)} not heard by every recognizer: not part of the ranking"
            )

    def _not_shared(self, cells: list[Cell]) -> list[str]:
        return sorted(
            {
                cell.scenario
                for cell in cells
                if (*cell.place, cell.scenario) not in self.shared.get(self._language(cell), set())
            }
        )


def _shared(trials: Trials) -> dict[str, set[tuple[str, ...]]]:
    """Return, by language, the (places, scenario) that every recognizer heard which heard clean speech there."""
    keys = [*trials.unit, "scenario"]
    heard: dict[str, dict[str, set[tuple[str, ...]]]] = {}
    for recognizer, *place in spoken(trials).select(keys).unique().cast(pl.String).iter_rows():
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


def _at(cell: Cell) -> str:
    return f" ({', '.join(cell.place)})" if cell.place else ""
