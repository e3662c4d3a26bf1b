"""Disparity: is the gap between groups real, or is it a few speakers and a confounder? (Liu et al. 2022)"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from voxaudit.audits.audit import OPTIONS, SUMMARIES, Audit, Option

if TYPE_CHECKING:
    from voxaudit.audits.scores import Scores


def questions(scores: Scores, attributes: Sequence[str]) -> Iterable[Mapping[str, Any]]:
    """Return what a report asks: all attributes that were named, in one family, and what explains their gaps."""
    if not attributes:
        return []
    measured = {"perplexity_bits", "snr"} & set(scores.frame.columns)
    return [{"attribute": tuple(attributes), **({"explain": True} if measured else {})}]


AUDIT = Audit(
    name="disparity",
    title="Groups on clean speech",
    summary=SUMMARIES["disparity"],
    example=("runs/first", {"attribute": "gender", "controls": "age"}),
    questions=questions,
    options={
        "attribute": replace(OPTIONS["attribute"], kind="names", metavar="COLUMN,..."),
        "interaction": Option(
            "ask whether this column (scenario, say) hurts some groups more", metavar="COLUMN"
        ),
        "interaction_against": Option(
            "its value to compare with (default: clean, or the first)", metavar="VALUE"
        ),
        "hold_text": Option(
            "hold fixed what is said, by sentence embeddings of this column", metavar="COLUMN"
        ),
        "encoder": Option(
            "the encoder: minilm (fetched), ngrams (letters), or any sentence-transformers model by its name or folder",
            metavar="NAME",
        ),
        "explain": Option(
            "say what explains the gaps that are shown: what is said, how it was recorded, or neither",
            kind="flag",
        ),
        "prompts": Option(
            "an effect for every text that several speakers read, crossed with that of speakers", kind="flag"
        ),
        "trend": Option(
            "attributes are numbers: a slope and a curve, in place of groups (default: where there are many values)",
            kind="flag",
        ),
        "bands": Option("cut columns of numbers: age=18,30,45,65", kind="names", metavar="COLUMN=CUT,..."),
        "estimate_speakers": Option(
            "no speakers are known: tell N apart by their voices (0: as many as are heard), and mark every result so",
            kind="count",
            metavar="N",
            at_least=0,
        ),
        "without_outliers": Option(
            "show the gaps a second time, without speakers whose rates lie far out", kind="flag"
        ),
        "random": Option("an effect for every speaker; without it intervals are too narrow", kind="flag"),
        "interval": Option(
            "which interval is shown; the tables have all kinds", choices=("robust", "profile", "wald")
        ),
        "nodes": Option(
            "quadrature nodes per speaker (1 = Laplace); more are taken where they do not suffice",
            kind="count",
            metavar="K",
            at_least=1,
            at_most=200,
        ),
    },
)
