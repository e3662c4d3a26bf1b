"""Parity: responsible benchmarking of groups of speakers (Herron et al.), and what the data cannot support."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from voxaudit.audits.audit import SUMMARIES, Audit, Option

if TYPE_CHECKING:
    from voxaudit.audits.scores import Scores

SPEAKER_OPTIONS = {
    "gap": Option(
        "the gap between groups that matters: 0.1 is ten percentage points of word error rate (default: a quarter of"
        " the word error rate, or 0.1 where none is known)",
        kind="number",
        metavar="GAP",
    ),
    "power": Option("the chance to find that gap that counts as enough", kind="number", metavar="POWER"),
    "merge_below": Option(
        "merge groups of fewer than N speakers into 'other'", kind="count", metavar="N", at_least=0
    ),
    "bands": Option("cut columns of numbers: age=18,30,45,65", kind="names", metavar="COLUMN=CUT,..."),
    "age": Option("the attribute of ages (default: found by name)", metavar="COLUMN"),
    "wer_columns": Option(
        "in place of counts: columns of word error rates, one per recognizer",
        kind="names",
        metavar="COLUMN,...",
    ),
    "speaker_pattern": Option(
        "its first group is the speaker, where it matches the speaker column", metavar="REGEX"
    ),
    "surrogate_speaker": Option(
        "no speakers are known: let all attributes together stand in for one, and mark every result so",
        kind="flag",
    ),
}
"""Options of audits that group speakers: this one and `power`."""


def questions(scores: Scores, attributes: Sequence[str]) -> Iterable[Mapping[str, Any]]:
    """Return what a report asks: all attributes that were named, together."""
    return [{"attributes": tuple(attributes)}] if attributes else []


AUDIT = Audit(
    name="parity",
    title="Parity between speakers",
    summary=SUMMARIES["parity"],
    example=("runs/first", {"attributes": ("gender", "age", "accent")}),
    questions=questions,
    options={
        **SPEAKER_OPTIONS,
        "canaries": Option(
            "attributes that voices have nothing to do with, beside those known by name (handedness, blood group,"
            " session ...): where their groups differ, the corpus is unbalanced",
            kind="names",
            metavar="COLUMN,...",
        ),
        "min_snr": Option(
            "leave out recordings under this signal-to-noise ratio in dB, where it is known; -99 keeps all",
            kind="number",
            metavar="DB",
        ),
        "recordings": Option(
            "open the recordings to compare their quality where there are no more than N; 0 opens none",
            kind="count",
            metavar="N",
            at_least=0,
        ),
        "dictionary": Option("word list for the share of unknown words", kind="file", metavar="FILE"),
    },
)
