"""Transcripts in, sums per speaker out: how far every two recognizers, or a recognizer and the truth, are apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voxaudit.answer import Refusal, refuse
from voxaudit.audits.differential.sums import FloatArray, IntArray, SpeakerSums
from voxaudit.audits.scores import KEYS, Transcripts, require_comparable
from voxaudit.errors import VoxauditError, one_line
from voxaudit.perturb.scenario_id import is_original, read_scenario_id
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
    untestable: Refusal | None


@dataclass(frozen=True)
class _Trials:
    """Transcripts as they are compared: who listened, to what, and what is known of the utterances.

    `about` has utterance, group, speaker and reference, the last two null where nothing is known; `clean` and
    `disturbed` are scenarios with their numbers of rows.
    """

    source: Transcripts
    about: pl.DataFrame
    recognizers: tuple[str, ...]
    clean: Mapping[str, int]
    disturbed: Mapping[str, int]


@dataclass(frozen=True)
class _Edits:
    """Edits, words and whether there is a value: axes scenario, pair (or recognizer), utterance."""

    edits: IntArray
    words: IntArray
    known: Booleans


def measure_disagreement(
    source: Transcripts, attribute: str, rule: Normalizer, *, truth: bool = False
) -> Disagreement:
    """Compare the normalized transcripts of every two recognizers, word by word, and with the `truth` where asked.

    A distance is a ratio of sums: word edits over the words of the longer transcript (Rajan et al.); two empty
    transcripts are 0 edits of 0 words. Every distinct pair of texts is aligned once. Memory is bounded by a few
    scenarios' transcripts.
    """
    trials = _opened(source, attribute, truth)
    about, left_out = _usable(trials.about, attribute)
    people = _people(about)
    references = normalize_column(about["reference"], rule).to_list()
    has_truth = any(text is not None for text in references)
    rows = about.select("utterance").with_row_index("row")
    couples = list(combinations(range(len(trials.recognizers)), 2))
    clean: tuple[_Edits, _Edits] | None = None
    parts: list[tuple[list[FloatArray], list[FloatArray]]] = []
    lost = failed = 0
    for scenarios, heard in chain(source.batches(trials.clean), source.batches(trials.disturbed)):
        joined = heard.join(rows, on="utterance", how="inner", maintain_order="left")
        failed += joined["text"].null_count()
        codes, texts = _coded(joined, scenarios, trials, rule, about.height)
        said = _reference_codes(references, texts)
        names = list(texts)
        between = _compared([(codes[:, a], codes[:, b]) for a, b in couples], names, longer=True)
        against = _compared(
            [(np.broadcast_to(said, codes[:, r].shape), codes[:, r]) for r in range(codes.shape[1])]
            if has_truth
            else [],
            names,
            longer=False,
        )
        if clean is None:
            clean = between, against
            continue
        lost += int((~(between.known & clean[0].known)).sum())
        parts.append((_speaker_sums(between, clean[0], people), _speaker_sums(against, clean[1], people)))
    if failed:
        left_out["trials without a transcript"] = failed
    if lost:
        left_out["comparisons of two transcripts, one of them missing here or in clean speech"] = lost
    sums = [
        _joined(people, trials, [part[kind] for part in parts], kind)
        for kind in ((0, 1) if has_truth else (0,))
    ]
    if not sums[0].words.sum() > 0:
        raise VoxauditError(
            f"{source.where}: no two recognizers have words for the same utterance both clean and disturbed;"
            " check that utterance ids are the same in all scenarios and for all recognizers"
        )
    return Disagreement(sums[0], sums[1] if has_truth else None, left_out)


def _opened(source: Transcripts, attribute: str, truth: bool) -> _Trials:
    """Find out who listened to what; a table in which nothing can be compared is refused."""
    column = source.require(*KEYS).column(attribute)
    kinds = source.kinds()
    if kinds.height == 0:
        raise VoxauditError(f"{source.where}: there are no transcripts in it")
    recognizers = tuple(sorted(kinds["recognizer"].unique().to_list()))
    if len(recognizers) < 2:
        raise refuse(
            "too_few_recognizers",
            f"all transcripts are by one recognizer ({recognizers[0]}); without reference texts, recognizers are"
            " compared with each other",
            about=attribute,
            recognizers=1,
        )
    counts = kinds.group_by("scenario", maintain_order=True).agg(pl.col("rows").sum())
    rows: dict[str, int] = dict(counts.iter_rows())
    clean = {name: count for name, count in rows.items() if is_original(name)}
    if len(clean) > 1:
        raise VoxauditError(
            f"{source.where}: several scenarios are undisturbed ({', '.join(clean)}); leave one of them"
        )
    if not clean:
        text = (
            "no scenario is called `clean` or `original`, and how far recognizers drift is measured from it"
        )
        raise refuse("no_clean_speech", text, about=attribute)
    disturbed = {name: count for name, count in rows.items() if name not in clean}
    if not disturbed:
        text = f"there is only undisturbed speech (scenario '{next(iter(clean))}')"
        raise refuse("nothing_disturbed", text, about=attribute)
    wanted = {"group": column, "speaker": "speaker"}
    about = source.utterances(**wanted, reference="reference" if truth else "")
    return _Trials(source, _once(source.where, about, attribute), recognizers, clean, disturbed)


def _once(where: str, known: pl.DataFrame, attribute: str) -> pl.DataFrame:
    """Return one row per utterance; its reference may stand in some of its rows only, as those of clean speech."""
    kinds = {
        "group": f"values in column '{one_line(attribute, 80)}'",
        "speaker": "speakers",
        "reference": "references",
    }
    for column, what in kinds.items():
        pairs = known.select("utterance", column).unique()
        pairs = pairs.drop_nulls() if column == "reference" else pairs
        if pairs["utterance"].n_unique() < pairs.height:
            twice = pairs.filter(pl.col("utterance").is_duplicated())["utterance"].sort()[0]
            raise VoxauditError(
                f"{where}: utterance '{one_line(str(twice), 80)}' has several {what}; ids must be unique"
            )
    return known.group_by("utterance", maintain_order=True).agg(
        pl.col("group", "speaker").first(), pl.col("reference").drop_nulls().first()
    )


def _usable(about: pl.DataFrame, attribute: str) -> tuple[pl.DataFrame, dict[str, int]]:
    left_out = {}
    ungrouped = int(about["group"].is_null().sum())
    about = about.filter(pl.col("group").is_not_null())
    if ungrouped:
        left_out["utterances without a group"] = ungrouped
    nameless = int(about["speaker"].is_null().sum())
    if 0 < nameless < about.height:
        left_out["utterances without a speaker"] = nameless
        about = about.filter(pl.col("speaker").is_not_null())
    require_comparable(sorted(about["group"].unique().to_list()), attribute)
    return about, left_out


def _people(about: pl.DataFrame) -> _People:
    """Number groups and speakers; without speakers, or with speakers in several groups, nothing can be permuted."""
    groups = tuple(sorted(about["group"].unique().to_list()))
    untestable = None
    if about["speaker"].null_count():
        about = about.with_columns(speaker=pl.col("group"))
        untestable = Refusal(
            "no_speakers", "", "the speakers are unknown, and only whole speakers can be moved between groups"
        )
    several = (
        about.group_by("speaker").agg(pl.col("group").unique().sort()).filter(pl.col("group").list.len() > 1)
    )
    if several.height:
        name, found = several.sort("speaker").row(0)
        untestable = Refusal(
            "speakers_in_several_groups",
            "",
            f"speaker '{one_line(name, 60)}' is in the groups {' and '.join(found[:2])} ({several.height} such): whole"
            " speakers can only be moved where each is in one group",
            {"speakers": several.height},
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
    heard: pl.DataFrame, scenarios: Sequence[str], trials: _Trials, rule: Normalizer, utterances: int
) -> tuple[IntArray, dict[str, int]]:
    """Return the number of every normalized text (axes scenario, recognizer, utterance; -1: none) and the texts."""
    distinct = heard["text"].drop_nulls().unique()
    texts: dict[str, int] = {}
    numbers = [texts.setdefault(text, len(texts)) for text in normalize_column(distinct, rule).to_list()]
    table = pl.DataFrame({"text": distinct, "number": pl.Series(numbers, dtype=pl.Int64)})
    kinds = {"scenario": list(scenarios), "recognizer": list(trials.recognizers)}
    coded = heard.join(table, on="text", how="left", maintain_order="left")
    at = [
        coded[name].replace_strict(values, list(range(len(values))), return_dtype=pl.Int64).to_numpy()
        for name, values in kinds.items()
    ]
    shape = (len(scenarios), len(trials.recognizers), utterances)
    flat = np.ravel_multi_index((at[0], at[1], coded["row"].to_numpy()), shape)
    seen = np.bincount(flat, minlength=int(np.prod(shape)))
    if seen.max(initial=0) > 1:
        twice = heard.row(int(np.flatnonzero(flat == seen.argmax())[1]), named=True)
        raise VoxauditError(
            f"{trials.source.where}: utterance '{one_line(str(twice['utterance']), 80)}', scenario"
            f" '{twice['scenario']}', recognizer '{twice['recognizer']}' is there {seen.max()} times;"
            " keep one row per trial"
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


def _joined(
    people: _People, trials: _Trials, parts: Sequence[Sequence[FloatArray]], kind: int
) -> SpeakerSums:
    names = trials.recognizers
    pairs = tuple(f"{a}_{b}" for a, b in combinations(names, 2)) if kind == 0 else names
    edits, words, clean_edits, clean_words = (
        np.concatenate([part[place] for part in parts], axis=1) for place in range(4)
    )
    return SpeakerSums(
        pairs,
        tuple(read_scenario_id(name) for name in trials.disturbed),
        people.groups,
        people.speakers,
        people.group_of,
        edits,
        words,
        clean_edits,
        clean_words,
        people.untestable,
    )
