"""Who is heard next: speakers in a random order fixed by the seed, the groups filling evenly."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voxaudit.answer import refuse
from voxaudit.audits.scores import MOST_GROUPS
from voxaudit.errors import VoxauditError
from voxaudit.registry import suggest
from voxaudit.stats.bootstrap import FEWEST_SPEAKERS

ALL = "all"
"""The name of the one group where no attribute is given."""


@dataclass(frozen=True)
class Cell:
    """A recognizer under a scenario."""

    recognizer: str
    scenario: str


@dataclass(frozen=True)
class Order:
    """The speakers of a corpus in the order in which they are heard.

    `groups[g]` are rows of `speakers`; the r-th of every group is heard in round r. `utterances[s]` are the ids of
    speaker s that are heard, out of `said[s]`, and `words[s]` the reference words of all he or she says.
    Groups with fewer than five speakers are `left_out`.
    """

    attribute: str | None
    names: tuple[str, ...]
    speakers: tuple[str, ...]
    groups: tuple[tuple[int, ...], ...]
    utterances: tuple[tuple[str, ...], ...]
    said: tuple[int, ...]
    words: NDArray[np.float64]
    left_out: tuple[str, ...] = ()

    @property
    def rounds(self) -> int:
        """Return how many rounds there are at most."""
        return max(len(group) for group in self.groups)

    def pairs(self, group: int) -> int:
        """Return how many pairs with the first group, the reference, a group can give."""
        return min(len(self.groups[0]), len(self.groups[group]))

    def mean_words(self) -> NDArray[np.float64]:
        """Return the mean number of reference words a speaker, by group."""
        return np.array([self.words[list(group)].mean() for group in self.groups])


def plan_order(
    table: pl.DataFrame,
    attribute: str | None,
    *,
    where: str,
    seed: int = 0,
    against: str | None = None,
    per_speaker: int | None = None,
) -> Order:
    """Return the order for a table of utterances: id, speaker, words (of the reference), group (of the attribute).

    Groups are compared with the one that has most speakers unless `against` names another. A speaker in several groups
    is refused; utterances without a group or without words take no part. With `per_speaker`, so many utterances of
    each are drawn.
    """
    if per_speaker is not None and per_speaker < 1:
        raise VoxauditError(f"per_speaker must be at least 1, not {per_speaker}", see=("per_speaker",))
    if table["speaker"].null_count() == table.height:
        raise refuse(
            "no_speakers",
            "no utterance has a speaker. Stopping early needs a speaker column: speakers are the sample",
            about=where,
        )
    known = table.filter(pl.col("speaker").is_not_null() & (pl.col("words") > 0))
    if attribute is None:
        known = known.with_columns(group=pl.lit(ALL))
    else:
        known = known.with_columns(pl.col("group").cast(pl.String)).filter(pl.col("group").is_not_null())
    people = known.group_by("speaker").agg(
        pl.col("group").n_unique().alias("groups"), pl.col("group").first()
    )
    mixed = people.filter(pl.col("groups") > 1)
    if mixed.height:
        name = mixed.sort("speaker")["speaker"][0]
        raise VoxauditError(
            f"{where}: speaker '{name}' is in several groups of '{attribute}'. Groups are compared by speaker:"
            " choose an attribute of the speaker",
            see=("attribute",),
        )
    sizes = dict(
        people.group_by("group").agg(pl.len()).sort(["len", "group"], descending=[True, False]).rows()
    )
    names = _names(sizes, attribute, against, where)
    totals = known.group_by("speaker").agg("id", pl.col("words").sum()).select("speaker", "id", "words")
    by_speaker = {str(name): (ids, float(words)) for name, ids, words in totals.iter_rows()}
    speakers: list[str] = []
    groups: list[tuple[int, ...]] = []
    for name in names:
        members = people.filter(pl.col("group") == name)["speaker"].cast(pl.String).to_list()
        members.sort(key=lambda speaker: _rank(seed, "speaker", speaker))
        groups.append(tuple(range(len(speakers), len(speakers) + len(members))))
        speakers += members
    utterances = [
        tuple(sorted(by_speaker[speaker][0], key=lambda id_: _rank(seed, "utterance", id_))[:per_speaker])
        for speaker in speakers
    ]
    return Order(
        attribute,
        names,
        tuple(speakers),
        tuple(groups),
        tuple(utterances),
        tuple(len(by_speaker[speaker][0]) for speaker in speakers),
        np.array([by_speaker[speaker][1] for speaker in speakers]),
        tuple(name for name in sizes if name not in names),
    )


def _names(sizes: dict[str, int], attribute: str | None, against: str | None, where: str) -> tuple[str, ...]:
    """Return the groups that are compared, the one they are compared with first."""
    if not sizes:
        raise VoxauditError(f"{where}: no utterance has a speaker, a reference text with words and a group")
    if against is not None and against not in sizes:
        raise VoxauditError(
            f"{where}: no speaker has {attribute} '{against}'.{suggest(against, list(sizes))}"
            f" Groups there: {', '.join(sizes)}",
            see=("against",),
        )
    large = [name for name, count in sizes.items() if count >= FEWEST_SPEAKERS]
    if attribute is None and not large:
        text = f"{sizes[ALL]} speakers; at least {FEWEST_SPEAKERS} are needed"
        raise refuse("too_few_speakers", text, about=where, speakers=sizes[ALL], needed=FEWEST_SPEAKERS)
    if attribute is not None and (len(large) < 2 or (against or large[0]) not in large):
        counts = ", ".join(f"{name} ({count})" for name, count in sizes.items())
        raise refuse(
            "too_few_speakers" if len(sizes) > 1 else "one_group",
            f"speakers by '{attribute}': {counts}. A comparison needs two groups of at least {FEWEST_SPEAKERS} speakers"
            " each: merge small ones or choose another attribute",
            about=where,
            see=("attribute",),
            groups=sizes,
            needed=FEWEST_SPEAKERS,
        )
    if len(large) > MOST_GROUPS:
        text = (
            f"{attribute} has {len(large):,} groups, more than the {MOST_GROUPS} that are compared one by one"
        )
        raise refuse("too_many_groups", text, about=where, see=("attribute",), groups=len(large))
    first = against or large[0]
    return (first, *(name for name in large if name != first))


def _rank(seed: int, kind: str, name: str) -> bytes:
    # By hash, not by shuffling: adding a speaker to a corpus leaves the order of the others as it is.
    return hashlib.sha256(f"{seed}\0{kind}\0{name}".encode("utf-8", "surrogatepass")).digest()
