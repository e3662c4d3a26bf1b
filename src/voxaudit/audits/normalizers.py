"""Normalizers in audits: each row by its language, and how much the choice decides where that is more than a fifth."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from voxaudit.answer import Finding, Note, finding_id
from voxaudit.audits.scores import Scores, Transcripts
from voxaudit.corpus.languages import base_language
from voxaudit.perturb import CLEAN
from voxaudit.score.compare import LARGE_CHANGE, NormalizerRate, disagreement, normalizer_sensitivity
from voxaudit.score.normalize import (
    NORMALIZERS,
    Normalizer,
    language_of,
    normalize_column,
    normalize_words,
    normalizer,
)
from voxaudit.score.pairs import Words, numbered
from voxaudit.stats.cells import IntArray
from voxaudit.wording import listed, percent

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
    tags = corpus["language"].drop_nulls().unique().to_list() if "language" in corpus.columns else []
    codes = {base_language(str(language)) for language in tags} or {"en"}
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


def language_codes(frame: pl.DataFrame) -> pl.Series:
    """Return the language of every row without its region, English where none is named."""
    if "language" not in frame.columns:
        return pl.Series("code", ["en"]).new_from_index(0, frame.height)
    tags = frame["language"].cast(pl.String).fill_null("en")
    codes = {tag: base_language(tag) for tag in tags.unique().to_list()}
    return tags.replace_strict(codes, return_dtype=pl.String).alias("code")


def spoken(
    frame: pl.DataFrame, columns: Sequence[str], chosen: str | None = None
) -> tuple[list[pl.Series], Note]:
    """Return columns of texts normalized, and which rules were used: one that is named, else those of each language.

    Without one a language has its spoken form (`spoken-en`), else `basic`.
    """
    rules, note = _rules(frame, chosen)
    parts = []
    for rows, rule in rules:
        texts = {name: normalize_column(frame[name].cast(pl.String).gather(rows), rule) for name in columns}
        parts.append(pl.DataFrame({"row": rows, **texts}))
    done = pl.concat(parts).sort("row") if parts else pl.DataFrame(schema=dict.fromkeys(columns, pl.String))
    return [done[name] for name in columns], note


def spoken_words(
    frame: pl.DataFrame, columns: Sequence[str], chosen: str | None = None
) -> tuple[Words, list[IntArray], Note]:
    """Return the words of different texts, by column the number of each row's text (-1: none), and the rules.

    The texts are those of `spoken`.
    """
    rules, note = _rules(frame, chosen)
    numbers = [np.full(frame.height, -1, dtype=np.int64) for _ in columns]
    parts, many = [], 0
    for rows, rule in rules:
        for name, number in zip(columns, numbers, strict=True):
            texts, own = numbered(frame[name].gather(rows).cast(pl.String))
            parts.append(normalize_words(texts, rule))
            number[rows] = np.where(own < 0, -1, own + many)
            many += len(texts)
    words, place = Words.together(parts or [Words.of(pl.Series(dtype=pl.String))]).distinct()
    place = np.append(place, -1)
    return words, [place[number] for number in numbers], note


def _rules(frame: pl.DataFrame, chosen: str | None) -> tuple[list[tuple[IntArray, Normalizer]], Note]:
    """Return the rows of every language with their normalizer, `chosen` or its own, and what is said of it."""
    codes = language_codes(frame)
    rules = [
        (
            np.flatnonzero((codes == code).to_numpy()),
            normalizer(chosen or (f"spoken-{code}" if f"spoken-{code}" in NORMALIZERS else "basic")),
        )
        for code in codes.unique(maintain_order=True).to_list()
    ]
    used = list(dict.fromkeys(rule.id for _, rule in rules))
    text = f"texts were made alike with the normalizer{'s' if len(used) > 1 else ''} {listed(used)}"
    return rules, Note("normalizer", text, {"normalizers": used}, see=("normalizer",))
