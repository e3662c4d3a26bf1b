"""What the search works on and what it finds: recordings, test cases and their transcripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from voxaudit.align import Timings
from voxaudit.corpus import Utterance
from voxaudit.errors import VoxauditError, one_line
from voxaudit.perturb.stutter import KINDS, SEVERITIES
from voxaudit.registry import suggest
from voxaudit.score.meaning import MINILM

SELECTIONS = ("moo", "random")
NORMALIZER = "keep-fillers"
"""Fillers stay when text is normalised here: deleting them would hide what interjections do."""


@dataclass(frozen=True)
class Settings:
    """How the search goes (Liu et al. 2023, Algorithm 1).

    `budget` is the number of new cases an utterance, `kinds` are those of stuttering (the paper's mutators);
    `selection` keeps the Pareto front (`moo`) or everything (`random`) as seeds; a transcript less similar than
    `threshold` to what the recognizer said of the original is suspicious; `severity` 1 to 4 limits how strong a moment
    of stuttering is (None: the paper's whole range).
    """

    budget: int = 50
    kinds: tuple[str, ...] = tuple(KINDS)
    selection: str = "moo"
    seed: int = 0
    threshold: float = 0.8
    severity: int | None = None
    embeddings: str = MINILM

    def __post_init__(self) -> None:
        if not 1 <= self.budget <= 10_000:
            raise VoxauditError(f"the budget must be from 1 to 10,000 cases an utterance, not {self.budget}")
        if self.seed < 0:
            raise VoxauditError(f"seed must be at least 0, not {self.seed}")
        if self.selection not in SELECTIONS:
            raise VoxauditError(f"unknown selection '{self.selection}'. Choose moo or random")
        if self.severity is not None and self.severity not in SEVERITIES:
            raise VoxauditError(f"severity must be from 1 to {len(SEVERITIES)}, not {self.severity}")
        if not 0.0 < self.threshold <= 1.0:
            raise VoxauditError(f"the threshold must be above 0 and at most 1, not {self.threshold:g}")
        check_kinds(self.kinds)


def check_kinds(kinds: Sequence[str]) -> None:
    """Raise one line unless these are kinds of stuttering, one at least."""
    there = f"Available: {', '.join(KINDS)}"
    for name in kinds:
        if name not in KINDS:
            raise VoxauditError(
                f"unknown kind of stuttering '{one_line(name, 40)}'.{suggest(name, list(KINDS))} {there}"
            )
    if not kinds:
        raise VoxauditError(f"no kind of stuttering chosen. {there}")


@dataclass(frozen=True)
class Recording:
    """An utterance that can be stuttered: when its words are spoken, and what the person means to say."""

    utterance: Utterance
    timings: Timings
    text: str


@dataclass(frozen=True)
class Case:
    """One test case and what became of it.

    `chain` replays it from the original; `parent` is the chain it was made from, `kind` the stuttering added to that.
    `surface` is what a listener would write down, with the repetitions. `transcripts` are as returned, None where a
    recognizer failed. `m1` is the mean pairwise similarity of the transcripts (Eq. 1), `m2` the similarity of the
    surface text to the intended one (Eq. 2). `similarity` compares each transcript with the same recognizer's
    transcript of the original.
    """

    utterance: str
    speaker: str | None
    chain: str
    parent: str
    kind: str
    intended: str
    surface: str
    transcripts: Mapping[str, str | None]
    m1: float
    m2: float
    similarity: Mapping[str, float] = field(default_factory=dict)
    kept: bool = False

    def suspicious(self, threshold: float) -> tuple[str, ...]:
        """Return the recognizers whose transcript no longer says the same."""
        return tuple(name for name, value in self.similarity.items() if value < threshold)
