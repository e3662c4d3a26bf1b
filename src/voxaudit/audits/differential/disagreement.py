"""Transcripts in, sums per speaker out: how far every two recognizers, or a recognizer and the truth, are apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voxaudit.audits.differential.sources import Source
from voxaudit.audits.differential.sums import FloatArray, IntArray, SpeakerSums
from voxaudit.errors import VoxauditError, one_line
from voxaudit.perturb.scenario_id import read_scenario_id
from voxaudit.score.align import word_counts
from voxaudit.score.normalize import Normalizer, normalize_column

Booleans = NDArray[np.bool_]


@dataclass(frozen=True)
class Disagreement:
    """Sums of the distances between recognizers, of the word errors where references exist, and what is missing."""

    between: SpeakerSums
    against_truth: SpeakerSums | None
    left_out: dict[str, int]


@dataclass(frozen=True)
class _People:
    groups: tuple[str, ...]
    speakers: tuple[str, ...]
    group_of: IntArray
    of_utterance: IntArray
    """The place in `speakers` of every utterance's speaker."""
    untestable: str | None


@dataclass(frozen=True)
class _Edits:
    """Edits, words and whether there is a value: axes scenario, pair (or recognizer), utterance."""

    edits: IntArray
    words: IntArray
    known: Booleans


def measure_disagreement(source: Source, rule: Normalizer) -> Disagreement:
    """Compare the normalised transcripts of every two recognizers, word by word.

    A distance is a ratio of sums: word edits over the words of the longer transcript (Rajan et al.); two empty
    transcripts are 0 edits of 0 words. Every distinct pair of texts is aligned once. Memory is bounded by a few
    scenarios' transcripts.
    """
    about, left_out = _usable(source)
    people = _people(about)
    references = normalize_column(about["reference"], rule).to_list()
    has_truth = any(text is not None for text in references)
    rows = about.select("utterance").with_row_index("row")
    couples = list(combinations(range(len(source.recognizers)), 2))
    clean: tuple[_Edits, _Edits] | None = None
    parts: list[tuple[list[FloatArray], list[FloatArray]]] = []
    lost = failed = 0
    for scenarios, trials in source.batches():
        joined = trials.join(rows, on="utterance", how="inner", maintain_order="left")
        failed += joined["text"].null_count()
        codes, texts = _coded(joined, scenarios, source, rule, about.height)
        said = _reference_codes(references, texts)
        names = list(texts)
        between = _compared([(codes[:, a], codes[:, b]) for a, b in couples], names, longer=True)
        truth = _compared(
            [(np.broadcast_to(said, codes[:, r].shape), codes[:, r]) for r in range(codes.shape[1])]
            if has_truth
            else [],
            names,
            longer=False,
        )
        if clean is None:
            clean = between, truth
            continue
        lost += int((~(between.known & clean[0].known)).sum())
        parts.append((_speaker_sums(between, clean[0], people), _speaker_sums(truth, clean[1], people)))
    if failed:
        left_out["trials without a transcript"] = failed
    if lost:
        left_out["comparisons of two transcripts, one of them missing here or in clean speech"] = lost
    sums = [
        _joined(people, source, [part[kind] for part in parts], kind)
        for kind in ((0, 1) if has_truth else (0,))
    ]
    if not sums[0].words.sum() > 0:
        raise VoxauditError(
            f"{source.where}: no two recognizers have words for the same utterance both clean and disturbed;"
            " check that utterance ids are the same in all scenarios and for all recognizers"
        )
    return Disagreement(sums[0], sums[1] if has_truth else None, left_out)


def _usable(source: Source) -> tuple[pl.DataFrame, dict[str, int]]:
    about, left_out = source.about, {}
    ungrouped = int(about["group"].is_null().sum())
    about = about.filter(pl.col("group").is_not_null())
    if ungrouped:
        left_out["utterances without a group"] = ungrouped
    nameless = int(about["speaker"].is_null().sum())
    if 0 < nameless < about.height:
        left_out["utterances without a speaker"] = nameless
        about = about.filter(pl.col("speaker").is_not_null())
    groups = about["group"].unique().to_list()
    if len(groups) < 2:
        raise VoxauditError(
            f"{source.where}: there is only one group ({', '.join(groups) or 'all empty'}) in the column to group by;"
            " a gap needs two"
        )
    return about, left_out


def _people(about: pl.DataFrame) -> _People:
    """Number groups and speakers; without speakers, or with speakers in several groups, nothing can be permuted."""
    groups = tuple(sorted(about["group"].unique().to_list()))
    untestable = None
    if about["speaker"].null_count():
        about = about.with_columns(speaker=pl.col("group"))
        untestable = "the speakers are unknown, and only whole speakers can be moved between groups"
    several = (
        about.group_by("speaker").agg(pl.col("group").unique().sort()).filter(pl.col("group").list.len() > 1)
    )
    if several.height:
        name, found = several.sort("speaker").row(0)
        untestable = (
            f"speaker '{one_line(name, 60)}' is in the groups {' and '.join(found[:2])}"
            f" ({several.height} such): whole speakers can only be moved where each is in one group"
        )
    keys = about.select("group", "speaker").unique().sort("group", "speaker").with_row_index("place")
    places = about.join(keys, on=["group", "speaker"], how="left", maintain_order="left")["place"]
    order = {group: place for place, group in enumerate(groups)}
    return _People(
        groups,
        tuple(keys["speaker"].to_list()),
        np.array([order[group] for group in keys["group"].to_list()], dtype=np.int64),
        places.to_numpy().astype(np.int64),
        untestable,
    )


def _coded(
    trials: pl.DataFrame, scenarios: Sequence[str], source: Source, rule: Normalizer, utterances: int
) -> tuple[IntArray, dict[str, int]]:
    """Return the number of every normalised text (axes scenario, recognizer, utterance; -1: none) and the texts."""
    distinct = trials["text"].drop_nulls().unique()
    texts: dict[str, int] = {}
    numbers = [texts.setdefault(text, len(texts)) for text in normalize_column(distinct, rule).to_list()]
    table = pl.DataFrame({"text": distinct, "number": pl.Series(numbers, dtype=pl.Int64)})
    kinds = {"scenario": list(scenarios), "recognizer": list(source.recognizers)}
    coded = trials.join(table, on="text", how="left", maintain_order="left")
    at = [
        coded[name].replace_strict(values, list(range(len(values))), return_dtype=pl.Int64).to_numpy()
        for name, values in kinds.items()
    ]
    shape = (len(scenarios), len(source.recognizers), utterances)
    flat = np.ravel_multi_index((at[0], at[1], coded["row"].to_numpy()), shape)
    seen = np.bincount(flat, minlength=int(np.prod(shape)))
    if seen.max(initial=0) > 1:
        twice = trials.row(int(np.flatnonzero(flat == seen.argmax())[1]), named=True)
        raise VoxauditError(
            f"{source.where}: utterance '{one_line(str(twice['utterance']), 80)}', scenario '{twice['scenario']}',"
            f" recognizer '{twice['recognizer']}' is there {seen.max()} times; keep one row a trial"
        )
    codes = np.full(int(np.prod(shape)), -1, dtype=np.int64)
    codes[flat] = coded["number"].fill_null(-1).to_numpy()
    return codes.reshape(shape), texts


def _reference_codes(references: Sequence[str | None], texts: dict[str, int]) -> IntArray:
    return np.array(
        [-1 if text is None else texts.setdefault(text, len(texts)) for text in references], dtype=np.int64
    )


def _compared(sides: Sequence[tuple[IntArray, IntArray]], texts: Sequence[str], *, longer: bool) -> _Edits:
    """Align every distinct pair of texts once; words are the longer text's, or the first one's."""
    if not sides:
        nothing = np.zeros((1, 0, 0), dtype=np.int64)
        return _Edits(nothing, nothing, nothing > 0)
    left, right = (np.stack([side[place] for side in sides], axis=1) for place in (0, 1))
    known = (left >= 0) & (right >= 0)
    keys, back = np.unique(left[known] * len(texts) + right[known], return_inverse=True)
    counts = word_counts(
        [texts[place] for place in (keys // len(texts)).tolist()],
        [texts[place] for place in (keys % len(texts)).tolist()],
    )
    hits, substitutions, deletions, insertions = (column.to_numpy() for column in counts.get_columns())
    words = hits + substitutions + deletions
    if longer:
        words = np.maximum(words, hits + substitutions + insertions)
    edits_all, words_all = np.zeros(left.shape, dtype=np.int64), np.zeros(left.shape, dtype=np.int64)
    edits_all[known] = (substitutions + deletions + insertions)[back]
    words_all[known] = words[back]
    return _Edits(edits_all, words_all, known)


def _speaker_sums(now: _Edits, then: _Edits, people: _People) -> list[FloatArray]:
    """Return edits, words, clean edits, clean words by (pair, scenario, speaker), over what is known in both."""
    both = now.known & then.known
    scenarios, pairs, _ = both.shape
    shape = (scenarios, pairs, len(people.speakers))
    out = []
    for values in (now.edits, now.words, then.edits, then.words):
        kept = np.where(both, values, 0)
        summed = np.zeros(shape)
        for at in np.ndindex(scenarios, pairs):
            summed[at] = np.bincount(people.of_utterance, kept[at], shape[2])
        out.append(summed.transpose(1, 0, 2))
    return out


def _joined(people: _People, source: Source, parts: Sequence[Sequence[FloatArray]], kind: int) -> SpeakerSums:
    names = source.recognizers
    pairs = tuple(f"{a}_{b}" for a, b in combinations(names, 2)) if kind == 0 else names
    edits, words, clean_edits, clean_words = (
        np.concatenate([part[place] for part in parts], axis=1) for place in range(4)
    )
    return SpeakerSums(
        pairs,
        tuple(read_scenario_id(name) for name, _ in source.scenarios),
        people.groups,
        people.speakers,
        people.group_of,
        edits,
        words,
        clean_edits,
        clean_words,
        people.untestable,
    )
