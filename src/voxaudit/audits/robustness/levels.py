"""Error rates at every level, with speaker draws: scenarios, perturbations, categories, overall.

Each level is a plain mean of the one below. One set of draws of speakers serves all conditions, so that differences are
paired. Difficulties that were measured are measured again in every draw, on the speakers drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
import polars as pl

from voxaudit.answer import number_or_none
from voxaudit.audits.robustness.trials import COUNTS, Trials
from voxaudit.corpus.roles import role_of
from voxaudit.perturb import CLEAN
from voxaudit.score.quality import nwerd
from voxaudit.stats.bootstrap import FEWEST_SPEAKERS, Resample, by_people
from voxaudit.stats.cells import FloatArray
from voxaudit.stats.rates import Pulls, limits_of, mean_of, pulls
from voxaudit.stats.unseen import without_errors
from voxaudit.tables import added

MEASURES = ("wer", "cer", "werd", "nwer", "nwerd")

TWINS = 0.5
"""A scenario whose utterances have a clean twin in at least this share is compared on the twins alone."""


def moved(rate: FloatArray, by: Pulls) -> FloatArray:
    """Return what people add to a rate (its estimate is the first value) beyond it: a column."""
    # A rate without errors has no pulls, and nobody moves it.
    return np.asarray(np.nan_to_num(rate[0] * by.pull))


@dataclass(frozen=True)
class Cell:
    """Error rates of one scenario; row 0 of each array is the estimate, the others are bootstrap draws.

    `clean` is the rate on clean speech that the scenario is compared with: of the same utterances where `paired`.
    `speakers` is the smaller number of people on either side, 0 where some are unnamed. `left_out` counts
    utterances without a clean twin. `pulls` are those of all people on `wer`, `cer` and `clean`, a column each; `said`
    are the shares of the words that were drawn. `none` is how high the rate may be if no error was made.
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
    said: FloatArray
    none: float

    def moved(self, side: str) -> FloatArray:
        """Return what people add to a rate, `wer` or `clean`, beyond it: a column."""
        return moved(getattr(self, side), self.pulls[side])

    @property
    def change(self) -> Pulls:
        """What people add to the difference of both rates, beyond it, and the shares that they have on either side."""
        shares = (np.nan_to_num(self.pulls[side].share) for side in ("wer", "clean"))
        return Pulls(self.moved("wer") - self.moved("clean"), np.maximum(*shares))

    def fixed(self) -> Cell:
        """Return the cell as if every draw had heard just this."""
        return replace(
            self,
            wer=_still(self.wer),
            cer=_still(self.cer),
            clean=_still(self.clean),
            said=_still(self.said),
            pulls=_nobodys(self.pulls),
        )


def _still(drawn: FloatArray) -> FloatArray:
    """Return the estimate in place of every draw."""
    return np.full_like(drawn, drawn[0])


def _nobodys(moved: Mapping[str, Pulls]) -> dict[str, Pulls]:
    """Return pulls that nobody has."""
    return {name: Pulls(0.0 * own.pull, 0.0 * own.share) for name, own in moved.items()}


def build_cells(trials: Trials, recognizer: str, resample: Resample) -> list[Cell]:
    """Return the cells of one recognizer: all scenarios with speech, clean among them."""
    places = list(trials.places)
    rows = trials.utterance_means(trials.spoken.filter(pl.col("recognizer") == recognizer))
    key = [*places, "person", "utterance"]
    clean = rows.filter(pl.col("scenario") == CLEAN).select(
        *key, clean_errors=pl.col("errors"), clean_words=pl.col("words")
    )
    rows = rows.join(clean, on=key, how="left")
    named = [name for name in trials.settings if trials.baseline and _elsewhere(name)]
    twin = pl.col("clean_words").is_not_null() & ~pl.col("scenario").cast(pl.String).is_in(named)
    rows = rows.with_columns(paired=twin.mean().over([*places, "scenario"]) >= TWINS)
    cell = [*places, "scenario", "paired"]
    kept = rows.filter(~pl.col("paired") | twin)
    lost = rows.filter(pl.col("paired") & ~twin).group_by(cell).agg(left_out=pl.len())
    counts = (*COUNTS, "clean_errors", "clean_words")
    heard = (pl.col("words") > 0).sum().cast(pl.Float64)
    sums = kept.group_by([*cell, "person"]).agg(added(kept, *counts), utterances=pl.len(), heard=heard)
    keys = sums.group_by(cell).agg(
        pl.col("utterances", "heard").sum(), squares=pl.col("heard").pow(2).sum(), speakers=pl.len()
    )
    keys = keys.join(lost, on=cell, how="left").with_columns(pl.col("left_out").fill_null(0))
    keys = keys.sort([pl.col(name).cast(pl.String) for name in cell[:-1]]).with_row_index("cell")
    sums = sums.join(keys.select("cell", *cell), on=cell)
    dense = by_people(
        sums.rename({"cell": "_condition", "person": "_speaker"}), counts, keys.height, trials.people.height
    )
    strangers = set(sums.filter(pl.col("person").is_in(list(trials.unnamed)))["cell"].to_list())
    sides = {"wer": dense[:2], "cer": dense[2:4], "clean": dense[4:]}
    rates = {name: resample.rates(*side) for name, side in sides.items()}
    shares = {name: pulls(*side)[1] for name, side in sides.items()}
    said = resample.sums(np.nan_to_num(shares["wer"].share))
    none = without_errors(keys["heard"].to_numpy(), keys["squares"].to_numpy(), resample.confidence)
    cells = [
        Cell(
            scenario=str(row["scenario"]),
            place=tuple(str(row[name]) for name in places),
            paired=row["paired"],
            speakers=0 if number in strangers else row["speakers"],
            utterances=0 if trials.summed else row["utterances"],
            left_out=row["left_out"],
            pulls={name: own.column(number) for name, own in shares.items()},
            said=said[:, number],
            none=np.nan if trials.summed else float(none[number]),
            **{name: drawn[:, number] for name, drawn in rates.items()},
        )
        for number, row in enumerate(keys.iter_rows(named=True))
    ]
    return [cell if cell.paired else _against_home(cell, cells, trials) for cell in cells]


def _elsewhere(scenario: str) -> bool:
    """Say whether a scenario is recordings of their own, accented or social; synthetic speech reads a clean corpus."""
    return role_of(scenario) not in ("", "synthetic")


def references(cell: Cell, cells: Sequence[Cell], trials: Trials) -> list[Cell]:
    """Return the clean speech that a cell of other utterances is compared with (SRB section 3.2).

    Accented and social speech has the baseline of its corpus or language, anything else clean speech of its own corpus,
    else that baseline. Where none is named it is clean speech of its own corpus, else of all corpora of its language.
    """
    place = dict(zip(trials.places, cell.place, strict=True))
    language = 1 if "language" in place else 0
    clean = [
        other
        for other in cells
        if other.scenario == CLEAN and other.place[:language] == cell.place[:language]
    ]
    own = [other for other in clean if other.place == cell.place]
    names = [trials.baseline[one] for one in reversed(cell.place) if one in trials.baseline]
    if not names:
        return own or clean
    named = [other for other in clean if other.place[-1] == names[0]]
    return named if _elsewhere(cell.scenario) else own or named


def _against_home(cell: Cell, cells: list[Cell], trials: Trials) -> Cell:
    """Return a cell of other utterances with the clean speech it is compared with, the mean where it is several."""
    home = references(cell, cells, trials)
    if not home:
        return replace(cell, clean=np.full_like(cell.wer, np.nan))
    theirs = mean_of([float(other.clean[0]) for other in home], [other.pulls["clean"] for other in home])
    return replace(
        cell,
        clean=np.mean([other.clean for other in home], axis=0),
        speakers=min(one.speakers for one in (cell, *home)),
        pulls={**cell.pulls, "clean": theirs},
    )


@dataclass(frozen=True)
class Node:
    """One level's measures: an array per measure, row 0 the estimate; `speakers` is the fewest in any part with enough.

    Rates have `pulls` of the people, which give their intervals; differences of rates have `changes`, what people add
    to them. `none` is how high the rate may be if no error was made, in the units of each measure; `unit` is what a
    rate is multiplied by in a measure. `ends` are the limits of rates, as `with_limits` adds them. `hearings` is what
    people add to the rate of each scenario whose recordings were also heard clean (people x scenarios), `quiet` what
    they add to that of clean speech, `weights` how much each scenario counts in a difference.
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
    changes: Mapping[str, Pulls] = field(default_factory=dict)
    none: Mapping[str, float] = field(default_factory=dict)
    unit: Mapping[str, float] = field(default_factory=dict)
    ends: Mapping[str, tuple[float | None, float | None]] = field(default_factory=dict)
    hearings: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    quiet: FloatArray = field(default_factory=lambda: np.zeros((0, 1)))
    weights: Mapping[str, FloatArray] = field(default_factory=dict)

    def fixed(self) -> Node:
        """Return the node as if every draw had heard just this."""
        return replace(
            self,
            values={name: _still(value) for name, value in self.values.items()},
            pulls=_nobodys(self.pulls),
            changes=_nobodys(self.changes),
            hearings=self.hearings[:, :0],
            weights={name: weight[:0] for name, weight in self.weights.items()},
        )

    def __getitem__(self, measure: str) -> FloatArray:
        return self.values[measure]

    def estimate(self, measure: str) -> float | None:
        """Return a measure; None where it is not known."""
        return number_or_none(self[measure][0])

    def limits(self, measure: str, resample: Resample) -> tuple[float | None, float | None]:
        """Return the interval of a measure: of a rate as in `stats.rates`, of a difference as in `stats.bootstrap`.

        Without a single error, or without a single change, how much was heard gives the limits.
        """
        estimate = self.estimate(measure)
        if estimate is None:
            return None, None
        if measure in self.pulls:
            if estimate == 0.0 and np.isfinite(self.none[measure]):
                return 0.0, self.none[measure]
            return (None, None) if self.speakers < FEWEST_SPEAKERS else self.ends[measure]
        own = self.changes[measure]
        deviation, share = own.pull[:, 0], own.share[:, 0]
        if estimate == 0.0 and not deviation.any() and self.name != CLEAN:
            return number_or_none(-self.none[measure]), number_or_none(self.none[measure])
        weight = self.weights[measure]
        # With one scenario, turning hearings round is what halves of the speakers do already.
        turned = (
            resample.turned(self.hearings, self.quiet, weight, share) if (weight > 0.0).sum() > 1 else None
        )
        return resample.change_limits(
            self[measure], deviation, share, self["said"], self.speakers, turned=turned
        )

    def row(self, resample: Resample) -> dict[str, Any]:
        """Return the row of a table of levels."""
        names = ("level", "name", "scenarios", "normalized", "paired")
        row: dict[str, Any] = {name: getattr(self, name) for name in names}
        row |= {name: getattr(self, name) or None for name in ("utterances", "speakers")}
        row["clean_wer"] = self.estimate("clean_wer")
        for measure in MEASURES:
            row[measure] = self.estimate(measure)
            row[f"{measure}_low"], row[f"{measure}_high"] = self.limits(measure, resample)
        return row


def scenario_nodes(
    cells: Sequence[Cell], difficulty: Mapping[str, float], again: Mapping[str, FloatArray]
) -> dict[str, Node]:
    """Return a node per scenario: the mean over its corpora. `again` has difficulties measured anew in every draw.

    `WERD = WER(scenario) - WER(clean)`, `NWER = 100 WER / difficulty`, `NWERD = 100 WERD / difficulty` (SRB section
    3.2), all as fractions: 0.112 is the paper's 11.2.
    """
    by_scenario: dict[str, list[Cell]] = {}
    for cell in cells:
        by_scenario.setdefault(cell.scenario, []).append(cell)
    nodes = {}
    for scenario, heard in by_scenario.items():
        some, speakers = _resampled(heard)
        wer, cer, clean = (
            np.mean([getattr(cell, name) for cell in some], axis=0) for name in ("wer", "cer", "clean")
        )
        werd = np.zeros_like(wer) if scenario == CLEAN else wer - clean
        own = {
            name: mean_of([float(getattr(one, name)[0]) for one in some], [one.pulls[name] for one in some])
            for name in ("wer", "cer")
        }
        said = np.mean([cell.said for cell in some], axis=0)
        values = {"wer": wer, "cer": cer, "clean_wer": clean, "werd": werd, "said": said}
        each = [cell.change for cell in some]
        change = Pulls(*(np.mean([getattr(one, part) for one in each], axis=0) for part in ("pull", "share")))
        changes = {"werd": change if scenario != CLEAN else Pulls(0.0 * change.pull, change.share)}
        same = [cell for cell in some if cell.paired and scenario != CLEAN]
        hearings, quiet = (
            np.sum([one.moved(side) for one in same], axis=0) / len(some) if same else 0.0 * change.pull
            for side in ("wer", "clean")
        )
        hearings = hearings if same else hearings[:, :0]
        weights = {"werd": np.ones(hearings.shape[1])}
        none = dict.fromkeys(("wer", "cer", "werd"), float(np.mean([cell.none for cell in some])))
        unit = {"wer": 1.0, "cer": 1.0}
        hard = difficulty.get(scenario)
        for name, value in (("nwer", wer), ("nwerd", werd)):
            values[name] = np.full_like(wer, np.nan) if hard is None else nwerd(value, hard)
        if hard is not None:
            if scenario in again:
                # A rate over a difficulty of nearly 0 may be anything: such a draw speaks against no limit.
                drawn = np.where(again[scenario] > 0.0, again[scenario], np.nan)
                values["nwerd"] = values["nwerd"] * (hard / drawn)
            changes["nwerd"] = Pulls(nwerd(changes["werd"].pull, hard), change.share)
            weights["nwerd"] = nwerd(weights["werd"], hard)
            none |= dict.fromkeys(("nwer", "nwerd"), nwerd(none["wer"], hard))
            unit["nwer"] = nwerd(1.0, hard)
        nodes[scenario] = Node(
            "scenario",
            scenario,
            values,
            speakers=speakers,
            scenarios=1,
            normalized=int(hard is not None),
            paired=all(cell.paired for cell in some),
            utterances=sum(cell.utterances for cell in some),
            pulls=own if hard is None else {**own, "nwer": own["wer"]},
            changes=changes,
            none=none,
            unit=unit,
            hearings=hearings,
            quiet=quiet,
            weights=weights,
        )
    return nodes


Part = TypeVar("Part", Cell, Node)


def _resampled(parts: Sequence[Part]) -> tuple[list[Part], int]:
    """Return the parts of a mean, and the fewest speakers of those that can be resampled.

    Parts with too few speakers are taken as they are where others have enough: they would cost the mean its interval.
    """
    enough = [part.speakers for part in parts if part.speakers >= FEWEST_SPEAKERS]
    if not enough:
        return list(parts), min(part.speakers for part in parts)
    return [part if part.speakers >= FEWEST_SPEAKERS else part.fixed() for part in parts], min(enough)


def with_limits(nodes: Sequence[Node], confidence: float) -> list[Node]:
    """Return the nodes with the limits of their rates, which are found for all of them at once."""
    ends: list[dict[str, tuple[float | None, float | None]]] = [{} for _ in nodes]
    for measure in dict.fromkeys(name for node in nodes for name in node.pulls):
        some = [place for place, node in enumerate(nodes) if measure in node.pulls]
        rates = np.array([nodes[place][measure][0] for place in some])
        own = [nodes[place].pulls[measure] for place in some]
        together = Pulls(*(np.hstack([getattr(one, part) for one in own]) for part in ("pull", "share")))
        units = np.array([nodes[place].unit[measure] for place in some])
        for place, low, high in zip(some, *limits_of(rates, together, confidence, units), strict=True):
            ends[place][measure] = (number_or_none(low), number_or_none(high))
    return [replace(node, ends=own) for node, own in zip(nodes, ends, strict=True)]


def mean(level: str, name: str, parts: Sequence[Node]) -> Node:
    """Return the plain mean of nodes. Normalized measures are the mean over the parts that have a difficulty."""
    parts, speakers = _resampled(parts)
    values: dict[str, FloatArray] = {}
    for measure in parts[0].values:
        some = [part[measure] for part in parts if part.normalized or measure not in ("nwer", "nwerd")]
        values[measure] = np.mean(some, axis=0) if some else np.full_like(parts[0][measure], np.nan)
    shares = {}
    for measure in {name for part in parts for name in part.pulls}:
        own = [part for part in parts if measure in part.pulls]
        shares[measure] = mean_of(
            [float(one[measure][0]) for one in own], [one.pulls[measure] for one in own]
        )
    changes: dict[str, Pulls] = {}
    none: dict[str, float] = {}
    unit: dict[str, float] = {}
    for measure in dict.fromkeys(name for part in parts for name in part.changes):
        moved = [part.changes[measure] for part in parts if measure in part.changes]
        changes[measure] = Pulls(
            *(np.mean([getattr(one, what) for one in moved], axis=0) for what in ("pull", "share"))
        )
    weights = {}
    for measure in changes:
        count = sum(measure in part.weights for part in parts)
        counted = [part.weights.get(measure, np.zeros(part.hearings.shape[1])) for part in parts]
        weights[measure] = np.concatenate(counted) / count
    for of, means in (("none", none), ("unit", unit)):
        known = [getattr(part, of) for part in parts]
        for measure in dict.fromkeys(name for one in known for name in one):
            means[measure] = float(np.mean([one[measure] for one in known if measure in one]))
    return Node(
        level,
        name,
        values,
        speakers=speakers,
        scenarios=sum(part.scenarios for part in parts),
        normalized=sum(part.normalized for part in parts),
        paired=all(part.paired for part in parts),
        utterances=sum(part.utterances for part in parts),
        pulls=shares,
        changes=changes,
        none=none,
        unit=unit,
        hearings=np.hstack([part.hearings for part in parts]),
        quiet=np.mean([part.quiet for part in parts], axis=0),
        weights=weights,
    )
