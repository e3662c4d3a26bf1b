"""What all statistics of the audit rest on: sums of edits and words per speaker, and how much groups degrade.

They come from transcripts (`measure.py`), or, as degradations without speakers, from a table of distances.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voxaudit.answer import Refusal
from voxaudit.audits.scores import require_comparable
from voxaudit.errors import VoxauditError
from voxaudit.perturb.scenario_id import ScenarioId, is_original, read_setting, show_setting
from voxaudit.tables import require_columns

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Grid:
    """Degradations D(g): axes group, pair, scenario; nan where there is none."""

    groups: tuple[str, ...]
    pairs: tuple[str, ...]
    scenarios: tuple[ScenarioId, ...]
    degradations: FloatArray

    def gaps(self) -> FloatArray:
        """Return D(g) - D(h): axes g, h, pair, scenario."""
        return self.degradations[:, None] - self.degradations[None, :]

    def with_scenarios(self, places: list[int]) -> Grid:
        """Return the degradations of some scenarios only."""
        scenarios = tuple(self.scenarios[place] for place in places)
        return replace(self, scenarios=scenarios, degradations=self.degradations[:, :, places])


@dataclass(frozen=True)
class SpeakerSums:
    """Sums over a speaker's utterances; the four arrays have the axes pair, scenario, speaker.

    `clean_edits` and `clean_words` run over the same utterances as `edits` and `words`: an utterance that one of
    the two recognizers failed on, clean or disturbed, is in neither.
    """

    pairs: tuple[str, ...]
    scenarios: tuple[ScenarioId, ...]
    groups: tuple[str, ...]
    speakers: tuple[str, ...]
    group_of: IntArray
    """The place in `groups` of every speaker."""
    edits: FloatArray
    words: FloatArray
    clean_edits: FloatArray
    clean_words: FloatArray
    untestable: Refusal | None = None
    """Why whole speakers cannot be moved between groups, where they cannot."""

    def members(self, group: int) -> IntArray:
        """Return the places of a group's speakers."""
        return np.flatnonzero(self.group_of == group)

    def sizes(self) -> list[int]:
        """Return the number of speakers of every group."""
        return [int(size) for size in np.bincount(self.group_of, minlength=len(self.groups))]

    def with_scenarios(self, places: list[int]) -> SpeakerSums:
        """Return the sums of some scenarios only."""
        return replace(
            self,
            scenarios=tuple(self.scenarios[place] for place in places),
            edits=self.edits[:, places],
            words=self.words[:, places],
            clean_edits=self.clean_edits[:, places],
            clean_words=self.clean_words[:, places],
        )

    def present(self) -> IntArray:
        """Return how many speakers of each group have any words: axes group, pair, scenario."""
        return self._by_group((self.words + self.clean_words > 0).astype(np.float64)).astype(np.int64)

    def distances(self) -> tuple[FloatArray, FloatArray]:
        """Return the pooled distances, disturbed and clean: axes group, pair, scenario; nan without words."""
        with np.errstate(invalid="ignore", divide="ignore"):
            disturbed = self._by_group(self.edits) / self._by_group(self.words)
            clean = self._by_group(self.clean_edits) / self._by_group(self.clean_words)
        return disturbed, clean

    def degradations(self) -> FloatArray:
        """Return D(g) = d(g, disturbed) - d(g, clean) (Rajan et al., Algorithm 1): axes group, pair, scenario."""
        disturbed, clean = self.distances()
        return disturbed - clean

    def grid(self) -> Grid:
        """Return the degradations by name."""
        return Grid(self.groups, self.pairs, self.scenarios, self.degradations())

    def _by_group(self, values: FloatArray) -> FloatArray:
        member = (self.group_of == np.arange(len(self.groups))[:, None]).astype(np.float64)
        return np.asarray(np.einsum("gs,pcs->gpc", member, values, optimize=True), dtype=np.float64)


COLUMNS = ("pair", "perturbation", "setting", "distance")


def is_distances(columns: tuple[str, ...]) -> bool:
    """Say whether a table's columns are those of distances rather than of transcripts."""
    return "distance" in columns and "text" not in columns


def read_grids(table: pl.DataFrame, where: str, *, attribute: str = "group") -> dict[str, Grid]:
    """Return the degradations of every corpus of a table of distances; without a column `corpus` there is one, ''.

    Undisturbed speech is the perturbation `Original` (or `clean`): one row for every group and pair.
    """
    require_columns(table, (*COLUMNS, attribute), where)
    if "corpus" not in table.columns:
        return {"": _grid(table, where, attribute)}
    as_text = table["corpus"].cast(pl.String).fill_null("None")
    return {
        name: _grid(table.filter(as_text == name), f"{where}, corpus {name}", attribute)
        for name in as_text.unique(maintain_order=True).to_list()
    }


def _grid(table: pl.DataFrame, where: str, attribute: str) -> Grid:
    rows = table.select(
        pair=pl.col("pair").cast(pl.String),
        perturbation=pl.col("perturbation").cast(pl.String),
        setting=pl.col("setting").cast(pl.String),
        group=pl.col(attribute).cast(pl.String),
        distance=pl.col("distance").cast(pl.Float64, strict=False),
    )
    for column in ("pair", "perturbation", "group"):
        if rows[column].null_count():
            row = int(rows[column].is_null().arg_true()[0]) + 1
            named = attribute if column == "group" else column
            raise VoxauditError(f"{where}, row {row}: column {named} is empty; fill it in")
    wrong = (rows["distance"].is_null() | ~rows["distance"].is_finite() | (rows["distance"] < 0)).arg_true()
    if len(wrong):
        value = table["distance"][int(wrong[0])]
        raise VoxauditError(
            f"{where}, row {wrong[0] + 1}, column distance: '{value}' is not a distance (0 or more)"
        )
    groups, pairs = (tuple(rows[name].unique(maintain_order=True).to_list()) for name in ("group", "pair"))
    require_comparable(groups, attribute)
    scenarios: dict[tuple[str, str], ScenarioId] = {}
    values: dict[tuple[str, str, str, str], float] = {}
    for pair, perturbation, text, name, distance in rows.iter_rows():
        original = is_original(perturbation)
        setting = None if original else read_setting(text)
        key = ("", "") if original else (perturbation, show_setting(setting))
        if not original:
            id_ = f"{perturbation}:{key[1]}" if key[1] else perturbation
            scenarios.setdefault(key, ScenarioId(id_, perturbation, setting))
        if (pair, name, *key) in values:
            raise VoxauditError(
                f"{where}: {pair}, {perturbation} {key[1]}, {name} has two rows; keep one".replace("  ", " ")
            )
        values[pair, name, *key] = distance
    missing = [(pair, name) for pair in pairs for name in groups if (pair, name, "", "") not in values]
    if missing:
        which = (
            "no row"
            if len(missing) == len(pairs) * len(groups)
            else f"no row of {missing[0][0]}, {missing[0][1]}"
        )
        raise VoxauditError(
            f"{where}: {which} has the perturbation 'Original'; degradation is measured from undisturbed speech,"
            " one row for every group and pair"
        )
    if not scenarios:
        raise VoxauditError(
            f"{where}: all rows are of undisturbed speech; there is no perturbation to compare"
        )
    degradations = np.array(
        [
            [
                [values.get((pair, name, *key), np.nan) - values[pair, name, "", ""] for key in scenarios]
                for pair in pairs
            ]
            for name in groups
        ]
    )
    return Grid(groups, pairs, tuple(scenarios.values()), degradations)
