"""What all statistics of the audit rest on: sums of edits and words per speaker, clean and disturbed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from voxaudit.perturb.scenario_id import ScenarioId

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


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
    untestable: str | None = None
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

    def _by_group(self, values: FloatArray) -> FloatArray:
        member = (self.group_of == np.arange(len(self.groups))[:, None]).astype(np.float64)
        return np.asarray(np.einsum("gs,pcs->gpc", member, values, optimize=True), dtype=np.float64)


def check_taus(taus: tuple[float, ...]) -> tuple[float, ...]:
    """Return tolerances in rising order, each once; a negative or missing one raises one line."""
    from voxaudit.errors import VoxauditError

    ordered = tuple(sorted(taus))
    if not ordered or not all(0.0 <= tau < 1.0 for tau in ordered):
        raise VoxauditError(
            f"tau takes numbers from 0 up to 1, not '{', '.join(f'{tau:g}' for tau in taus)}'"
        )
    if any(a == b for a, b in pairwise(ordered)):
        raise VoxauditError(f"a tau is named twice in '{', '.join(f'{tau:g}' for tau in taus)}'")
    return ordered
