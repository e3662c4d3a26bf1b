"""What is compared: transcripts as sums per speaker of how far recognizers are apart, or distances made elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any

import numpy as np
import polars as pl

from voxaudit.answer import Refusal, refuse
from voxaudit.audits.scores import KEYS, Transcripts, in_several_groups, require_comparable
from voxaudit.errors import VoxauditError, one_line
from voxaudit.perturb.scenario_id import (
    ScenarioId,
    is_original,
    read_scenario_id,
    read_setting,
    show_setting,
)
from voxaudit.score.normalize import Normalizer, normalize_words
from voxaudit.score.pairs import PairEdits, numbered, pair_edits
from voxaudit.stats.cells import FloatArray, IntArray
from voxaudit.stats.speaker_permutations import Grid, SpeakerSums, sums_by_speaker
from voxaudit.tables import require_columns


@dataclass(frozen=True)
class Disagreement:
    """Sums of the distances between recognizers, of the word errors where references exist, and what is missing.

    `refusal` says why whole speakers cannot be moved between groups, where they cannot.
    """

    between: SpeakerSums
    against_truth: SpeakerSums | None
    left_out: dict[str, int]
    refusal: Refusal | None


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


def measure_disagreement(
    source: Transcripts, attribute: str, rule: Normalizer, shared: dict[str, Any] | None = None
) -> Disagreement:
    """Compare the normalized transcripts of every two recognizers, word by word, and with references where there are.

    A distance is a ratio of sums: word edits over the words of the longer transcript (Rajan et al.); two empty
    transcripts are 0 edits of 0 words. Every distinct pair of texts is aligned once. Memory is bounded by a few
    scenarios' transcripts; what is kept in `shared`, where given, serves other attributes of the same transcripts.
    """
    trials = _opened(source, attribute)
    about, left_out = _usable(trials.about, attribute)
    people = _people(about, attribute)
    axes = [tuple(f"{a} and {b}" for a, b in combinations(trials.recognizers, 2))]
    if about["reference"].count():
        axes.append(trials.recognizers)
    clean: list[PairEdits] = []
    parts: list[list[Sequence[FloatArray]]] = [[] for _ in axes]
    lost = failed = 0
    for found, failures in _edits(trials, about, rule, shared):
        failed += failures
        if not clean:
            clean = found
            continue
        lost += int((~(found[0].known & clean[0].known)).sum())
        for some, now, then in zip(parts, found, clean, strict=False):
            some.append(sums_by_speaker(now, then, people.of_utterance, len(people.speakers)))
    if failed:
        left_out["trials without a transcript"] = failed
    if lost:
        left_out["comparisons of two transcripts, one of them missing here or in clean speech"] = lost
    sums = []
    for pairs, some in zip(axes, parts, strict=True):
        edits, words, clean_edits, clean_words = (np.concatenate(v, axis=1) for v in zip(*some, strict=True))
        sums.append(
            SpeakerSums(
                pairs,
                tuple(read_scenario_id(name) for name in trials.disturbed),
                people.groups,
                people.speakers,
                people.group_of,
                edits,
                words,
                clean_edits,
                clean_words,
                people.untestable.text if people.untestable else None,
            )
        )
    if not sums[0].words.sum() > 0:
        raise VoxauditError(
            f"{source.where}: no two recognizers have words for the same utterance both clean and disturbed;"
            " check that utterance ids are the same in all scenarios and for all recognizers"
        )
    return Disagreement(sums[0], sums[1] if len(axes) > 1 else None, left_out, people.untestable)


def _edits(
    trials: _Trials, about: pl.DataFrame, rule: Normalizer, shared: dict[str, Any] | None
) -> Iterator[tuple[list[PairEdits], int]]:
    """Yield how far the transcripts of some scenarios are apart and how many are missing, clean speech first."""
    if shared is None:
        for found, failed in _compared(trials, about, rule):
            yield found, int(failed.sum())
        return
    key = f"edits {rule.id}"
    if key not in shared:
        shared[key] = list(_compared(trials, trials.about, rule))
    everybody = trials.about.select("utterance").with_row_index("row")
    rows = about.select("utterance").join(everybody, on="utterance", maintain_order="left")["row"].to_numpy()
    for found, failed in shared[key]:
        yield [one.take(rows) for one in found], int(failed[rows].sum())


def _compared(
    trials: _Trials, about: pl.DataFrame, rule: Normalizer
) -> Iterator[tuple[list[PairEdits], IntArray]]:
    """Yield how far recognizers are apart, and from the references where there are any, and the failures of utterances.

    Arrays have the axes scenario, pair (or recognizer), utterance.
    """
    said = about["reference"]
    rows = about.select("utterance").with_row_index("row")
    places = range(len(trials.recognizers))
    left, right = (list(side) for side in zip(*combinations(places, 2), strict=True))
    source = trials.source
    for scenarios, heard in chain(source.batches(trials.clean), source.batches(trials.disturbed)):
        joined = heard.join(rows, on="utterance", how="inner", maintain_order="left")
        none = joined.filter(pl.col("text").is_null())["row"].to_numpy()
        texts, numbers = numbered(pl.concat([said, joined["text"]]))
        codes = _placed(joined, numbers[len(said) :], scenarios, trials, about.height)
        words = normalize_words(texts, rule)
        found = [pair_edits(codes[:, left], codes[:, right], words, longer=True)]
        if said.count():
            references = np.broadcast_to(numbers[: len(said)], codes.shape)
            found.append(pair_edits(references, codes, words))
        yield found, np.bincount(none, minlength=about.height)


def _opened(source: Transcripts, attribute: str) -> _Trials:
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
    about = source.utterances(group=column, speaker="speaker", reference="reference")
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


def _people(about: pl.DataFrame, attribute: str) -> _People:
    """Number groups and speakers; without speakers, or with speakers in several groups, nothing can be permuted."""
    groups = tuple(sorted(about["group"].unique().to_list()))
    untestable = None
    if about["speaker"].null_count():
        about = about.with_columns(speaker=pl.col("group"))
        untestable = Refusal(
            "no_speakers", "", "the speakers are unknown, and only whole speakers can be moved between groups"
        )
    several = about.group_by("speaker").agg(pl.col("group").n_unique()).filter(pl.col("group") > 1)
    if several.height:
        untestable = in_several_groups(several["speaker"].sort().to_list(), attribute)
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


def _placed(
    heard: pl.DataFrame, numbers: IntArray, scenarios: Sequence[str], trials: _Trials, utterances: int
) -> IntArray:
    """Return the numbers of texts at the places of their trials: axes scenario, recognizer, utterance; -1: none."""
    kinds = {"scenario": list(scenarios), "recognizer": list(trials.recognizers)}
    at = [
        heard[name].replace_strict(values, list(range(len(values))), return_dtype=pl.Int64).to_numpy()
        for name, values in kinds.items()
    ]
    shape = (len(scenarios), len(trials.recognizers), utterances)
    flat = np.ravel_multi_index((at[0], at[1], heard["row"].to_numpy()), shape)
    seen = np.bincount(flat, minlength=int(np.prod(shape)))
    if seen.max(initial=0) > 1:
        twice = heard.row(int(np.flatnonzero(flat == seen.argmax())[1]), named=True)
        raise VoxauditError(
            f"{trials.source.where}: utterance '{one_line(str(twice['utterance']), 80)}', scenario"
            f" '{twice['scenario']}', recognizer '{twice['recognizer']}' is there {seen.max()} times;"
            " keep one row per trial"
        )
    codes = np.full(int(np.prod(shape)), -1, dtype=np.int64)
    codes[flat] = numbers
    return codes.reshape(shape)


COLUMNS = ("pair", "perturbation", "setting", "distance")


def is_distances(columns: tuple[str, ...]) -> bool:
    """Say whether a table's columns are those of distances rather than of transcripts."""
    return "distance" in columns and "text" not in columns


def read_grids(table: pl.DataFrame, where: str, *, attribute: str = "group") -> dict[str, Grid]:
    """Return the degradations of every corpus of a table of distances; without a column `corpus` there is one, ''.

    Undisturbed speech is the perturbation `Original` (or `clean`): one row for every group and pair.
    """
    require_columns(table, (*COLUMNS, attribute), where)
    if "corpus" not in table.columns:
        return {"": _grid(table, where, attribute)}
    as_text = table["corpus"].cast(pl.String).fill_null("None")
    return {
        name: _grid(table.filter(as_text == name), f"{where}, corpus {name}", attribute)
        for name in as_text.unique(maintain_order=True).to_list()
    }


def _grid(table: pl.DataFrame, where: str, attribute: str) -> Grid:
    rows = table.select(
        pair=pl.col("pair").cast(pl.String),
        perturbation=pl.col("perturbation").cast(pl.String),
        setting=pl.col("setting").cast(pl.String),
        group=pl.col(attribute).cast(pl.String),
        distance=pl.col("distance").cast(pl.Float64, strict=False),
    )
    for column in ("pair", "perturbation", "group"):
        if rows[column].null_count():
            row = int(rows[column].is_null().arg_true()[0]) + 1
            named = attribute if column == "group" else column
            raise VoxauditError(f"{where}, row {row}: column {named} is empty; fill it in")
    wrong = (rows["distance"].is_null() | ~rows["distance"].is_finite() | (rows["distance"] < 0)).arg_true()
    if len(wrong):
        value = table["distance"][int(wrong[0])]
        raise VoxauditError(
            f"{where}, row {wrong[0] + 1}, column distance: '{value}' is not a distance (0 or more)"
        )
    groups, pairs = (tuple(rows[name].unique(maintain_order=True).to_list()) for name in ("group", "pair"))
    require_comparable(groups, attribute)
    scenarios: dict[tuple[str, str], ScenarioId] = {}
    values: dict[tuple[str, str, str, str], float] = {}
    for pair, perturbation, text, name, distance in rows.iter_rows():
        original = is_original(perturbation)
        setting = None if original else read_setting(text)
        key = ("", "") if original else (perturbation, show_setting(setting))
        if not original:
            id_ = f"{perturbation}:{key[1]}" if key[1] else perturbation
            scenarios.setdefault(key, ScenarioId(id_, perturbation, setting))
        if (pair, name, *key) in values:
            raise VoxauditError(
                f"{where}: {pair}, {perturbation} {key[1]}, {name} has two rows; keep one".replace("  ", " ")
            )
        values[pair, name, *key] = distance
    missing = [(pair, name) for pair in pairs for name in groups if (pair, name, "", "") not in values]
    if missing:
        which = (
            "no row"
            if len(missing) == len(pairs) * len(groups)
            else f"no row of {missing[0][0]}, {missing[0][1]}"
        )
        raise VoxauditError(
            f"{where}: {which} has the perturbation 'Original'; degradation is measured from undisturbed speech,"
            " one row for every group and pair"
        )
    if not scenarios:
        raise VoxauditError(
            f"{where}: all rows are of undisturbed speech; there is no perturbation to compare"
        )
    degradations = np.array(
        [
            [
                [values.get((pair, name, *key), np.nan) - values[pair, name, "", ""] for key in scenarios]
                for pair in pairs
            ]
            for name in groups
        ]
    )
    return Grid(groups, pairs, tuple(scenarios.values()), degradations)
