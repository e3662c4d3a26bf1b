"""The levels of the benchmark: scenarios, perturbations, categories, overall. Each is a plain mean of the one below."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from voxaudit.audits.robustness.cells import Cell
from voxaudit.audits.robustness.resample import Resample, finite
from voxaudit.audits.robustness.settings import Setting
from voxaudit.perturb import CLEAN
from voxaudit.score.quality import nwerd
from voxaudit.stats.bootstrap import FEWEST_SPEAKERS
from voxaudit.stats.cells import FloatArray
from voxaudit.stats.rates import Pulls, log_limits, mean_of

MEASURES = ("wer", "cer", "werd", "nwer", "nwerd")
ALL, ATTACKED = "all", "attacks"
"""Names of the overall level: without attacks, and attacks alone, as in SRB's Table 1."""


@dataclass(frozen=True)
class Node:
    """One level's measures: an array per measure, row 0 the estimate; `speakers` is the fewest in any part.

    Rates (not differences of rates) have `pulls` of the people, which give their intervals.
    """

    level: str
    name: str
    values: Mapping[str, FloatArray]
    speakers: int
    scenarios: int
    normalized: int
    paired: bool
    utterances: int
    pulls: Mapping[str, Pulls] = field(default_factory=dict)

    def __getitem__(self, measure: str) -> FloatArray:
        return self.values[measure]

    def limits(self, measure: str, resample: Resample) -> tuple[float | None, float | None]:
        """Return the interval of a measure: of rates as `stats.rates` has it, of differences by resampling people."""
        if measure not in self.pulls:
            return resample.limits(self[measure], self.speakers)
        if self.speakers < FEWEST_SPEAKERS:
            return None, None
        pull, df = self.pulls[measure].corrected()
        low, high = log_limits(self[measure][:1], np.sum(pull**2, axis=0), df, resample.confidence)
        return finite(low[0]), finite(high[0])


def scenario_nodes(cells: Sequence[Cell], difficulty: Mapping[str, float]) -> dict[str, Node]:
    """Return a node per scenario: the mean over its corpora.

    `WERD = WER(scenario) - WER(clean)`, `NWER = 100 WER / difficulty`, `NWERD = 100 WERD / difficulty` (SRB section
    3.2), all as fractions: 0.112 is the paper's 11.2.
    """
    by_scenario: dict[str, list[Cell]] = {}
    for cell in cells:
        by_scenario.setdefault(cell.scenario, []).append(cell)
    nodes = {}
    for scenario, some in by_scenario.items():
        wer = np.mean([cell.wer for cell in some], axis=0)
        clean = np.mean([cell.clean for cell in some], axis=0)
        hard = difficulty.get(scenario)
        unknown = np.full_like(wer, np.nan)
        werd = np.zeros_like(wer) if scenario == CLEAN else wer - clean
        own = {
            name: mean_of(
                [float(getattr(cell, name)[0]) for cell in some], [cell.pulls[name] for cell in some]
            )
            for name in ("wer", "cer")
        }
        nodes[scenario] = Node(
            "scenario",
            scenario,
            {
                "wer": wer,
                "cer": np.mean([cell.cer for cell in some], axis=0),
                "clean_wer": clean,
                "werd": werd,
                "nwer": unknown if hard is None else nwerd(wer, hard),
                "nwerd": unknown if hard is None else nwerd(werd, hard),
            },
            speakers=min(cell.speakers for cell in some),
            scenarios=1,
            normalized=int(hard is not None),
            paired=all(cell.paired for cell in some),
            utterances=sum(cell.utterances for cell in some),
            pulls=own if hard is None else {**own, "nwer": own["wer"]},
        )
    return nodes


def group_scenarios(names: Iterable[str], settings: Mapping[str, Setting]) -> dict[str, dict[str, list[str]]]:
    """Return {category: {perturbation: [scenario]}} of scenarios other than clean."""
    tree: dict[str, dict[str, list[str]]] = {}
    for name in names:
        if name != CLEAN:
            setting = settings[name]
            tree.setdefault(setting.category, {}).setdefault(setting.perturbation, []).append(name)
    return tree


def climb(nodes: Mapping[str, Node], settings: Mapping[str, Setting]) -> dict[str, list[Node]]:
    """Return the nodes of all levels above the scenarios.

    Averaged over severities, then perturbations, then categories: the paper's category columns are means over all
    perturbations and severities, and its AVG is the mean of the columns (Table 1). Attacks are averaged apart.
    """
    perturbations, categories = [], []
    attacked: dict[bool, list[Node]] = {False: [], True: []}
    for category, members in group_scenarios(nodes, settings).items():
        inside = [mean("perturbation", p, [nodes[s] for s in some]) for p, some in members.items()]
        whole = mean("category", category, inside)
        perturbations += inside
        categories.append(whole)
        attacked[all(settings[s].attack for some in members.values() for s in some)].append(whole)
    overall = [
        mean("overall", name, attacked[attack])
        for attack, name in ((False, ALL), (True, ATTACKED))
        if attacked[attack]
    ]
    return {"perturbation": perturbations, "category": categories, "overall": overall}


def mean(level: str, name: str, parts: Sequence[Node]) -> Node:
    """Return the plain mean of nodes. Normalised measures are the mean over the parts that have a difficulty."""
    values: dict[str, FloatArray] = {}
    for measure in parts[0].values:
        normalized = measure in ("nwer", "nwerd")
        some = [part[measure] for part in parts if not normalized or part.normalized]
        values[measure] = np.mean(some, axis=0) if some else np.full_like(parts[0][measure], np.nan)
    pulls = {}
    for measure in {name for part in parts for name in part.pulls}:
        own = [part for part in parts if measure in part.pulls]
        pulls[measure] = mean_of(
            [float(part[measure][0]) for part in own], [part.pulls[measure] for part in own]
        )
    return Node(
        level,
        name,
        values,
        speakers=min(part.speakers for part in parts),
        scenarios=sum(part.scenarios for part in parts),
        normalized=sum(part.normalized for part in parts),
        paired=all(part.paired for part in parts),
        utterances=sum(part.utterances for part in parts),
        pulls=pulls,
    )


def node_row(node: Node, resample: Resample, **labels: Any) -> dict[str, Any]:
    """Return a row of the `levels` table."""
    row: dict[str, Any] = {**labels, "level": node.level, "name": node.name}
    row |= {
        "scenarios": node.scenarios,
        "normalized": node.normalized,
        "utterances": node.utterances,
        "speakers": node.speakers if node.speakers else None,
        "paired": node.paired,
        "clean_wer": finite(node["clean_wer"][0]),
    }
    for measure in MEASURES:
        row[measure] = finite(node[measure][0])
        low, high = node.limits(measure, resample)
        row[f"{measure}_low"], row[f"{measure}_high"] = low, high
    return row
