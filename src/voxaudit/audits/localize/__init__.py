"""Localize: which words, and which sounds, a recognizer loses for whom when speech is disturbed (AequeVox)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from voxaudit.audits.audit import OPTIONS, SUMMARIES, Audit, Option

if TYPE_CHECKING:
    from voxaudit.audits.scores import Scores

MOST_TRIALS = 100_000
"""Trials whose words a report looks at; of more, clean speech and the harshest setting of every perturbation."""


def questions(scores: Scores, attributes: Sequence[str]) -> Iterable[Mapping[str, Any]]:
    """Return what a report asks: once, by the groups of the first attribute that can be compared."""
    from voxaudit.audits.scores import MOST_GROUPS, Transcripts

    question: dict[str, Any] = {}
    # Of a run without reference texts nothing is scored: who its speakers are is in its corpus.
    table = scores.frame if scores.run is None else scores.run.corpus
    for name in attributes:
        if name in table.columns and 2 <= table[name].drop_nulls().n_unique() <= MOST_GROUPS:
            question["attribute"] = name
            break
    kinds = Transcripts.of(scores).kinds()
    if kinds["rows"].sum() > MOST_TRIALS:
        question["scenario"] = tuple(
            _harshest(scores.scenarios or kinds["scenario"].unique(maintain_order=True))
        )
    return [question]


def _harshest(scenarios: Iterable[str]) -> list[str]:
    """Return the harshest setting of every perturbation; all of them where no order of settings is known."""
    from voxaudit.perturb.scenario_id import is_original
    from voxaudit.perturb.settings import describe_all, in_steps

    settings = describe_all([name for name in scenarios if not is_original(name)])
    return [steps[-1].scenario for steps in in_steps(settings.values()).values()]


AUDIT = Audit(
    name="localize",
    title="Words that get lost",
    summary=SUMMARIES["localize"],
    example=("runs/first", {"attribute": "gender", "exclude": ("scale:0.6", "scale:0.5")}),
    questions=questions,
    source_help="a run's folder, a table of transcripts, or one of word counts (csv, tsv, jsonl, parquet)",
    options={
        "scenario": OPTIONS["scenario"].noting("clean speech stays beside them"),
        "attribute": OPTIONS["attribute"].noting("default: everybody is one group"),
        "omega": Option(
            "a word is non-robust where it is heard more than N times fewer than in clean speech",
            "number",
            "N",
        ),
        "vocabulary": Option("look only at these words: a file, separated by spaces", "file", "FILE"),
        "reference_words": Option("look only at words that occur in the reference texts", "flag"),
        "phonemes": Option("also the sounds of lost words, by the dictionary of pocketsphinx", "flag"),
        "examples": Option(
            "name so many utterances in which each non-robust or significant word was lost",
            "count",
            "N",
            at_least=0,
        ),
        "top": Option(
            "words and sounds that are listed: those a test shows first, then those lost most",
            "count",
            "N",
            at_least=1,
        ),
    },
)
