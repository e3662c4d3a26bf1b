"""How much the choice of a normalizer decides, said where it is more than a fifth of the word error rate."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from voxaudit.answer import Finding, finding_id
from voxaudit.audits.scores import Scores, Transcripts
from voxaudit.corpus import base_language
from voxaudit.perturb import CLEAN
from voxaudit.score.compare import LARGE_CHANGE, NormalizerRate, disagreement, normalizer_sensitivity
from voxaudit.score.normalize import NORMALIZERS, language_of
from voxaudit.wording import percent

ROWS = 2_000
"""Trials of a run on which normalizers are compared: OpenAI's takes a second for every 5,000 texts."""


def normalizer_finding(audit: str, rates: Sequence[NormalizerRate]) -> list[Finding]:
    """Return the finding that normalizers disagree; none where they do not. The chosen one is the first."""
    found = disagreement(rates)
    if found is None:
        return []
    low, high = found
    least, most = low.wer or 0.0, high.wer or 0.0
    share = (
        f"more than {100 * LARGE_CHANGE:.0f} % of it" if rates[0].wer else "and one of them finds no error"
    )
    sentence = (
        f"The normalizer decides the WER: {percent(least)} with {low.normalizer}, {percent(most)} with"
        f" {high.normalizer}, {share}. Name it with the figure, and compare no figures of different normalizers."
    )
    return [
        Finding(
            finding_id(audit, "normalizer_difference"),
            "normalizer_difference",
            "measured",
            sentence,
            estimate=most - least,
            words=rates[0].words,
            headline=True,
        )
    ]


def run_sensitivity(scores: Scores) -> list[Finding]:
    """Return the finding about a run: its clean trials, or all where none are clean, under every normalizer.

    Rules of a language that the corpus does not have are left out.
    """
    if scores.run is None or scores.others:
        return []
    texts = Transcripts.of(scores.run).lazy.drop_nulls(["text", "reference"])
    names = scores.scenarios
    where = CLEAN if CLEAN in names else names[0] if names else None
    corpus = scores.run.corpus
    spoken = corpus["language"].drop_nulls().unique().to_list() if "language" in corpus.columns else []
    codes = {base_language(str(language)) for language in spoken} or {"en"}
    among = [rule for rule in NORMALIZERS.values() if language_of(rule) in (None, *codes)]
    texts = texts.filter(pl.col("scenario") == where) if where else texts
    rows = texts.select("reference", "text").collect()
    rows = rows.gather_every(-(-rows.height // ROWS)) if rows.height else rows
    if rows.is_empty():
        return []
    chosen = str(scores.run.config.get("normalizer", "basic")).partition("@")[0]
    return normalizer_finding(
        "accuracy", normalizer_sensitivity(rows["reference"], rows["text"], chosen, among)
    )
