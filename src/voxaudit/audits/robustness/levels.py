"""Error rates at every level, with speaker draws: scenarios, perturbations, categories, overall.

Each level is a plain mean of the one below. One set of draws of speakers serves all conditions, so that differences are
paired.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from voxaudit.audits.robustness.trials import COUNTS, Trials
from voxaudit.perturb import CLEAN
from voxaudit.perturb.settings import Setting, group_scenarios
from voxaudit.score.quality import nwerd
from voxaudit.stats.bootstrap import FEWEST_SPEAKERS, speaker_weights, widened_tail
from voxaudit.stats.cells import FloatArray
from voxaudit.stats.rates import Pulls, log_limits, mean_of, pulls

MEASURES = ("wer", "cer", "werd", "nwer", "nwerd")
ALL, ATTACKED = "all", "attacks"
"""Names of the overall level: without attacks, and attacks alone, as in SRB's Table 1."""

TWINS = 0.5
"""A scenario whose utterances have a clean twin in at least this share is compared on the twins alone."""

_SUMS = (*COUNTS, "clean_errors", "clean_words")


@dataclass(frozen=True)
class Resample:
    """How often each person is drawn, one row per resample; row 0 is everybody once, which gives the estimate."""

    weights: FloatArray
    confidence: float

    @property
    def people(self) -> int:
        """The number of people."""
        return int(self.weights.shape[1])

    def limits(self, values: FloatArray, speakers: int) -> tuple[float | None, float | None]:
        """Return the percentile interval of draws (`values[1:]`), widened for few speakers; None without one."""
        return limits(values, speakers, self.confidence)


def resample_people(people: pl.DataFrame, resamples: int, seed: int, confidence: float) -> Resample:
    """Draw people (columns person, stratum) with replacement within their strata, `resamples` times."""
    generator = np.random.Generator(np.random.PCG64(seed))
    weights = np.ones((resamples + 1, people.height))
    for _, group in sorted(people.group_by("stratum"), key=lambda item: str(item[0])):
        members = np.sort(group["person"].to_numpy())
        weights[1:, members] = speaker_weights(len(members), resamples, generator)
    return Resample(weights, confidence)


def limits(values: FloatArray, speakers: int, confidence: float) -> tuple[float | None, float | None]:
    """Return the percentile limits of `values[1:]`, widened to the t distribution's for few speakers.

    None with fewer than five speakers, or where most draws have no value; a limit that is infinite is None too.
    """
    drawn = values[1:]
    drawn = drawn[~np.isnan(drawn)]
    if speakers < FEWEST_SPEAKERS or 2 * len(drawn) < len(values) - 1 or not len(drawn):
        return None, None
    tail = widened_tail(speakers, confidence)
    if np.isfinite(drawn).all():
        low, high = np.quantile(drawn, [tail, 1.0 - tail], method="weibull")  # fair with few draws in a tail
    else:
        low, high = np.quantile(drawn, [tail, 1.0 - tail], method="inverted_cdf")
    return finite(low), finite(high)


def spread(values: FloatArray) -> float:
    """Return the bootstrap standard error: the standard deviation of the finite draws."""
    drawn = values[1:]
    drawn = drawn[np.isfinite(drawn)]
    return float(np.std(drawn, ddof=1)) if len(drawn) > 1 else float("nan")


def t_factor(speakers: int, confidence: float) -> float:
    """Return by how much intervals of the normal distribution widen where `speakers` people were drawn."""
    from scipy.special import ndtri, stdtrit

    upper = 0.5 + confidence / 2.0
    return float(np.sqrt(speakers / (speakers - 1)) * stdtrit(speakers - 1, upper) / ndtri(upper))


def ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    """Return `above / below`; 0/0 and x/0 are not a number: no words were drawn."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(below > 0.0, above / below, np.nan)


def finite(value: float) -> float | None:
    """Return a number, or None in place of infinity and NaN."""
    return float(value) if np.isfinite(value) else None


@dataclass(frozen=True)
class Cell:
    """Error rates of one scenario; row 0 of each array is the estimate, the others are bootstrap draws.

    `clean` is the rate on clean speech that the scenario is compared with: of the same utterances where `paired`.
    `speakers` is the smaller number of people on either side, 0 where some are unnamed. `left_out` counts
    utterances without a clean twin. `pulls` are those of all people on `wer` and `cer`, a column each.
    """

    scenario: str
    place: tuple[str, ...]
    wer: FloatArray
    cer: FloatArray
    clean: FloatArray
    paired: bool
    speakers: int
    utterances: int
    left_out: int
    pulls: Mapping[str, Pulls]

    @property
    def interval(self) -> bool:
        """Say whether there are enough known speakers for an interval."""
        return self.speakers >= FEWEST_SPEAKERS


def build_cells(trials: Trials, recognizer: str, resample: Resample) -> list[Cell]:
    """Return the cells of one recognizer: all scenarios with speech, clean among them."""
    mine = trials.spoken.filter(pl.col("recognizer") == recognizer)
    places = list(trials.places)
    rows = trials.utterance_means(mine)
    key = [*places, "person", "utterance"]
    clean = rows.filter(pl.col("scenario") == CLEAN).select(
        *key, clean_errors=pl.col("errors"), clean_words=pl.col("words")
    )
    rows = rows.join(clean, on=key, how="left")
    twin = pl.col("clean_words").is_not_null()
    rows = rows.with_columns(paired=twin.mean().over([*places, "scenario"]) >= TWINS)
    cell = [*places, "scenario", "paired"]
    kept = rows.filter(~pl.col("paired") | twin)
    lost = rows.filter(pl.col("paired") & ~twin).group_by(cell).agg(left_out=pl.len())
    sums = kept.group_by([*cell, "person"]).agg(*(pl.col(name).sum() for name in _SUMS), utterances=pl.len())
    keys = sums.group_by(cell).agg(pl.col("utterances").sum(), speakers=pl.len())
    keys = keys.join(lost, on=cell, how="left").with_columns(pl.col("left_out").fill_null(0))
    keys = keys.sort([pl.col(name).cast(pl.String) for name in cell[:-1]]).with_row_index("cell")
    sums = sums.join(keys.select("cell", *cell), on=cell)
    dense = _dense(sums, resample.people, keys.height)
    strangers = np.zeros(keys.height, dtype=bool)
    strangers[sums.filter(pl.col("person").is_in(list(trials.unnamed)))["cell"].to_numpy()] = True
    wer = ratio(resample.weights @ dense["errors"], resample.weights @ dense["words"])
    cer = ratio(resample.weights @ dense["character_errors"], resample.weights @ dense["characters"])
    shares = {
        "wer": pulls(dense["errors"], dense["words"])[1],
        "cer": pulls(dense["character_errors"], dense["characters"])[1],
    }
    before = ratio(resample.weights @ dense["clean_errors"], resample.weights @ dense["clean_words"])
    cells = [
        Cell(
            scenario=str(row["scenario"]),
            place=tuple(str(row[name]) for name in places),
            wer=wer[:, row["cell"]],
            cer=cer[:, row["cell"]],
            clean=before[:, row["cell"]],
            paired=row["paired"],
            speakers=0 if strangers[row["cell"]] else row["speakers"],
            utterances=row["utterances"],
            left_out=row["left_out"],
            pulls={name: own.column(row["cell"]) for name, own in shares.items()},
        )
        for row in keys.iter_rows(named=True)
    ]
    return [cell if cell.paired else _against_home(cell, cells, trials.places) for cell in cells]


def _dense(sums: pl.DataFrame, people: int, cells: int) -> dict[str, FloatArray]:
    at = (sums["person"].to_numpy(), sums["cell"].to_numpy())
    dense = {}
    for name in _SUMS:
        dense[name] = np.zeros((people, cells))
        dense[name][at] = sums[name].fill_null(0.0).to_numpy()
    return dense


def _against_home(cell: Cell, cells: list[Cell], places: tuple[str, ...]) -> Cell:
    """Return a cell of other utterances with the clean speech it is compared with.

    That is clean speech of its own corpus where there is some, else the mean over the corpora of its language.
    """
    clean = [other for other in cells if other.scenario == CLEAN]
    home = [other for other in clean if other.place == cell.place]
    if not home:
        language = [place for name, place in zip(places, cell.place, strict=True) if name == "language"]
        home = [
            other
            for other in clean
            if [place for name, place in zip(places, other.place, strict=True) if name == "language"]
            == language
        ]
    rates = np.full_like(cell.wer, np.nan) if not home else np.mean([other.clean for other in home], axis=0)
    fewest = min([cell.speakers, *(other.speakers for other in home)])
    return Cell(**{**cell.__dict__, "clean": rates, "speakers": fewest})


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
    """Return the plain mean of nodes. Normalized measures are the mean over the parts that have a difficulty."""
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
