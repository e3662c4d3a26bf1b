"""From scores to speakers in groups: every statistic of the audit starts from one row per speaker and recognizer.

Internally the column of an attribute is `@NAME` and that of a measure `#NAME`, so that no name can hide one of ours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from voxaudit.answer import Bars, Cell, Kind, Note, Refusal, Series, refuse
from voxaudit.audits.scores import COUNTS, Names, Scores, in_several_groups
from voxaudit.corpus.bands import OTHER, cuts_of, group_names, in_order, is_age, merge_rare
from voxaudit.errors import VoxauditError, one_line
from voxaudit.perturb import CLEAN
from voxaudit.score.measures import MEASURE_NAMES, MEASURES, Measured, measure
from voxaudit.stats.group_means import Plan, Sample
from voxaudit.stats.speaker_means import MEAN, SUMS, mean_of_recognizers, speaker_means
from voxaudit.tables import mean_of, require_columns
from voxaudit.wording import MISSING, counted, in_points, listed

MOST_BARS = 40
ASKED = 0.25
"""The gap that is asked about where none is given, as a share of the recognizer's word error rate."""
UNNAMED = "all"
"""What the recognizer of a table without that column is called."""


@dataclass(frozen=True, kw_only=True)
class Settings(Plan):
    """How the audit judges. `gap` is an absolute difference of word error rates (0.1: ten percentage points)."""

    gap: float | None = None
    merge_below: int = 0
    bands: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    age: str | None = None
    canaries: tuple[str, ...] = ()
    min_snr: float = 10.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gap is not None and not 0.0 < self.gap < float("inf"):
            raise VoxauditError(
                f"the gap must be above 0 (0.1 is ten percentage points of word error rate), not {self.gap:g}",
                see=("gap",),
            )


# Trials


@dataclass(frozen=True)
class Trials:
    """One row per trial (recognizer, speaker, utterance, errors, words, `@` attributes, `#` measures)."""

    table: pl.DataFrame
    attributes: tuple[str, ...]
    scenario: str | None
    surrogate: tuple[str, ...]
    """The attributes that stand in for the speaker; empty where speakers are known."""
    left_out: dict[str, int]
    measured: Measured
    notes: tuple[Note, ...]

    @property
    def measures(self) -> list[str]:
        """What is known of recordings and texts."""
        return [name for name in MEASURE_NAMES if f"#{name}" in self.table.columns]


def read_trials(
    scores: Scores,
    attributes: Names,
    settings: Settings,
    *,
    scenario: Names = None,
    wer_columns: Sequence[str] = (),
    speaker_pattern: str | None = None,
    surrogate_speaker: bool = False,
    recordings: int = 0,
    dictionary: str | Path | None = None,
) -> Trials:
    """Bring scores into one form. What cannot be used is counted; what makes no sense is refused."""
    names = (attributes,) if isinstance(attributes, str) else tuple(dict.fromkeys(attributes or ()))
    if not names:
        there = [
            name for name in scores.attributes if 2 <= scores.frame[scores.column(name)].n_unique() <= 50
        ]
        could = f"Columns that could be: {', '.join(there[:20])}" if there else "No column looks like one"
        raise refuse(
            "no_attribute", f"{scores.where}: no attributes to compare. {could}", see=("attributes",)
        )
    sources = {name: scores.column(name) for name in names}
    # Counts are checked before anything is left out: a message names the row as the file has it.
    scores = _with_errors(scores, wer_columns)
    scores, heard, notes = _one_scenario(scores, scenario)
    frame = scores.frame
    speaker, surrogate = _speaker(scores, list(sources.values()), speaker_pattern, surrogate_speaker)
    measured = _measure(scores, recordings, dictionary)
    identified = "utterance" in frame.columns
    recognizer = pl.col("recognizer") if "recognizer" in frame.columns else pl.lit(UNNAMED)
    own = [name for name in MEASURE_NAMES if name in frame.columns and frame.schema[name].is_numeric()]
    trials = frame.select(
        recognizer.cast(pl.String).fill_null("(no name)").alias("recognizer"),
        speaker.alias("speaker"),
        *([pl.col("utterance").cast(pl.String)] if identified else []),
        pl.col("__errors").alias("errors"),
        pl.col("__words").alias("words"),
        *(
            _clean(frame, column, name in settings.bands or name == settings.age or is_age(name)).alias(
                f"@{name}"
            )
            for name, column in sources.items()
        ),
        *(pl.col(name).alias(f"__{name}") for name in measured.on),
        *(pl.col(name).cast(pl.Float64).fill_nan(None).alias(f"#{name}") for name in own),
    )
    if measured.on:
        keys = [f"__{name}" for name in measured.on]
        known = measured.frame.rename(dict(zip(measured.on, keys, strict=True)))
        trials = trials.join(known, on=keys, how="left", nulls_equal=True, maintain_order="left").drop(keys)
    if not identified:
        trials = trials.with_columns(utterance=pl.int_range(pl.len()).cast(pl.String))
    unusable = {
        "no count of errors or words": pl.col("errors").is_null() | pl.col("words").is_null(),
        "no reference words": pl.col("words") == 0,
        "no speaker": pl.col("speaker").is_null(),
    }
    if "#snr" in trials.columns:
        unusable[f"signal-to-noise ratio under {settings.min_snr:g} dB"] = pl.col("#snr") < settings.min_snr
    left_out: dict[str, int] = {}
    for reason, condition in unusable.items():
        kept = trials.filter(~condition.fill_null(False))
        if kept.height < trials.height:
            left_out[reason] = trials.height - kept.height
        trials = kept
    if not trials.height:
        why = "; ".join(f"{count} rows: {reason}" for reason, count in left_out.items()) or "it has no rows"
        code = "no_speakers" if "no speaker" in left_out else "no_references"
        raise refuse(code, f"{scores.where}: no row can be used ({why})")
    if left_out:
        said = ", ".join(f"{counted(count, 'row')} ({reason})" for reason, count in left_out.items())
        notes.append(Note("left_out", f"left out: {said}", left_out))
    if measured.unreadable:
        said = counted(measured.unreadable, "recording")
        notes.append(Note("unreadable", f"{said} cannot be read or are silent: their quality is not known"))
    if identified and (repeated := _repeated(trials)):
        said = f"{counted(repeated, 'row')} repeat an utterance of the same recognizer and speaker; each row counts"
        notes.append(Note("repeated", said, {"rows": repeated}))
    surrogates = names if surrogate else ()
    return Trials(trials, names, heard, surrogates, left_out, measured, tuple(notes))


def _with_errors(scores: Scores, wer_columns: Sequence[str]) -> Scores:
    """Add `__errors` and `__words`; columns of rates, one per recognizer, become rows."""
    words = pl.Series("__words", scores.counts("words"), nan_to_null=True)
    names = [wer_columns] if isinstance(wer_columns, str) else list(wer_columns)
    if not names:
        if "errors" not in scores.frame.columns and not set(COUNTS) <= set(scores.frame.columns):
            raise VoxauditError(
                f"{scores.where}: no column of errors (counts), and none of rates was named. Columns there:"
                f" {', '.join(scores.frame.columns[:40])}",
                see=("columns", "wer_columns"),
            )
        errors = pl.Series("__errors", scores.errors(), nan_to_null=True)
        return replace(scores, frame=scores.frame.with_columns(errors, words))
    require_columns(scores.frame, names, scores.where)
    others = scores.frame.drop([*names, "recognizer"], strict=False).with_columns(words)
    parts = []
    for name, label in zip(names, _recognizer_names(names), strict=True):
        rates = scores.numbers(name)
        if (rates < 0).any():
            row = int((rates < 0).argmax())
            raise VoxauditError(
                f"{scores.where}: row {row + 1:,}, column '{name}': {rates[row]:g} is negative; rates are 0 or more"
            )
        errors = (pl.Series("__errors", rates, nan_to_null=True) * words).round().alias("__errors")
        parts.append(others.with_columns(errors, recognizer=pl.lit(label)))
    return replace(scores, frame=pl.concat(parts))


def _recognizer_names(columns: Sequence[str]) -> list[str]:
    """Return what distinguishes column names: `clean_google_wer`, `clean_ibm_wer` are google and ibm."""
    if len(columns) < 2 or len(set(columns)) < len(columns):
        return list(columns)
    parts = [name.split("_") for name in columns]
    shortest = min(len(part) for part in parts)
    start = end = 0
    while start < shortest - 1 and len({part[start] for part in parts}) == 1:
        start += 1
    while end < shortest - 1 - start and len({part[-1 - end] for part in parts}) == 1:
        end += 1
    return ["_".join(part[start : len(part) - end]) for part in parts]


def _one_scenario(scores: Scores, scenario: Names) -> tuple[Scores, str | None, list[Note]]:
    """Return the rows of one scenario: the one asked for, else clean speech, else the only one there is."""
    if scenario is not None:
        scores = scores.select(scenario=scenario)
    there = scores.scenarios
    if len(there) < 2:
        return scores, there[0] if there else None, []
    if scenario is not None:
        raise VoxauditError(f"groups are compared under one scenario, not {len(there)}", see=("scenario",))
    if CLEAN not in there:
        raise refuse(
            "no_clean_speech",
            f"{scores.where}: {len(there)} scenarios and none is '{CLEAN}'. Choose one: {listed(there, 10)}",
            see=("scenario",),
        )
    note = Note("scenario", f"clean speech, one of {len(there)} scenarios", see=("scenario",))
    return scores.clean, CLEAN, [note]


def _speaker(
    scores: Scores, attributes: Sequence[str], pattern: str | None, surrogate: bool
) -> tuple[pl.Expr, bool]:
    known = "speaker" in scores.frame.columns
    if surrogate and known:
        raise VoxauditError(
            f"{scores.where}: column 'speaker' has the speakers; nothing needs to stand in for them",
            see=("surrogate_speaker",),
        )
    if surrogate:
        parts = [pl.col(name).cast(pl.String).fill_null(MISSING) for name in attributes]
        return pl.concat_str(parts, separator=" | "), True
    if not known:
        raise refuse(
            "no_speakers",
            f"{scores.where}: no column 'speaker', and utterances of one speaker are not independent. Name the column"
            " of speakers; where they are not known, all attributes together can stand in for one, and every result is"
            f" marked so. Columns there: {', '.join(scores.frame.columns[:40])}",
            see=("columns", "surrogate_speaker"),
        )
    speaker = pl.col("speaker").cast(pl.String)
    if pattern:
        see = ("speaker_pattern",)
        try:
            if re.compile(pattern).groups < 1:
                raise VoxauditError(f"'{pattern}' has no group (...) to take the speaker from", see=see)
            matched = speaker.str.extract(pattern, 1)
            scores.frame.lazy().head(1).select(matched).collect()
        except (re.error, pl.exceptions.PolarsError) as error:
            raise VoxauditError(
                f"'{pattern}' is no regular expression ({one_line(error, 150)})", see=see
            ) from error
        speaker = matched.fill_null(speaker)
    return pl.when(speaker.str.strip_chars() != "").then(speaker), False


def _clean(frame: pl.DataFrame, name: str, cut: bool) -> pl.Expr:
    """Return an attribute without blanks around its texts; an empty text is missing.

    Numbers written as text are numbers where they are to be `cut` into bands: a run keeps all attributes as text.
    """
    kind = frame.schema[name]
    if kind.is_nested():
        raise VoxauditError(f"column '{name}' holds lists or records, not groups. Name another attribute")
    if kind.is_numeric() or kind == pl.Boolean or kind.is_temporal():
        return pl.col(name)
    text = pl.col(name).cast(pl.String).str.strip_chars()
    known = pl.when(text != "").then(text)
    values = frame.lazy().select(known.unique().drop_nulls()).collect().to_series() if cut else None
    if values is None or not values.cast(pl.Float64, strict=False).is_finite().fill_null(False).all():
        return known
    return known.cast(pl.Float64, strict=False)


def _repeated(trials: pl.DataFrame) -> int:
    key = trials.select(pl.struct("recognizer", "speaker", "utterance").hash().alias("key"))["key"]
    return len(key) - int(key.n_unique())


# What the recordings and the texts are like


def _measure(scores: Scores, recordings: int, dictionary: str | Path | None) -> Measured:
    """Measure the texts (`reference` or `text`) and recordings (`audio`) of a table; a run's corpus has both."""
    frame = scores.frame
    if scores.run is not None:
        heard = frame.select("utterance").unique()
        about = scores.run.corpus.rename({"id": "utterance"}).join(heard, on="utterance", how="semi")
        on, text, segment = ["utterance"], "text", ["audio", "start", "duration"]
    else:
        text = next((name for name in ("reference", "text") if name in frame.columns), "")
        segment = ["audio"] if "audio" in frame.columns else []
        on = [name for name in (text, *segment) if name]
        about = frame.select(on).unique(maintain_order=True) if on else pl.DataFrame()
    folder = scores.folder or Path()
    told = {name: scores.not_measured(name) for name in MEASURES if name in frame.columns}
    tried = {name: why for name, why in told.items() if why is not None}
    settings: dict[str, Any] = {
        "folder": folder,
        "most": recordings,
        "dictionary": dictionary,
        "tried": tried,
    }
    return measure(about, on, frame, text=text, segment=segment, **settings)


# Speakers


@dataclass(frozen=True)
class Speakers:
    """One row per recognizer and speaker, the groups of each speaker, and what was done to get there.

    Columns: recognizer, speaker, `@` attributes, `SUMS`. Several recognizers are followed by `MEAN`.
    """

    table: pl.DataFrame
    people: pl.DataFrame
    """One row per speaker: `@` attributes and `#` measures."""
    recognizers: tuple[str, ...]
    order: dict[str, tuple[str, ...]]
    """The groups of each attribute that can be compared, in the order they are shown."""
    merged: dict[str, tuple[str, ...]]
    age: str | None
    notes: tuple[Note, ...]
    refusals: tuple[Refusal, ...]

    @property
    def measures(self) -> list[str]:
        """The measures of recordings and texts that are known of somebody."""
        there = [name for name in MEASURE_NAMES if f"#{name}" in self.people.columns]
        return [name for name in there if self.people[f"#{name}"].count()]

    @property
    def single(self) -> list[str]:
        """The recognizers without their mean, which is a claim about speakers and not about any of them."""
        return [name for name in self.recognizers if name != MEAN]

    @cached_property
    def complete(self) -> Speakers:
        """The speakers of whom every attribute is known: groups are crossed among them."""
        known = pl.all_horizontal(pl.col(f"@{name}") != MISSING for name in self.order)
        people = self.people.filter(known)
        there = {name: set(people[f"@{name}"]) for name in self.order}
        order = {
            name: tuple(one for one in groups if one in there[name]) for name, groups in self.order.items()
        }
        order = {name: groups for name, groups in order.items() if len(groups) > 1}
        return replace(self, table=self.table.filter(known), people=people, order=order)

    def sample(self, table: pl.DataFrame | None = None) -> Sample:
        """Return the speakers as a sample to test; `table` has other rates of the same ones, or of some."""
        return Sample.of(self.table if table is None else table, self.people, self.recognizers)

    def bars(self, table: pl.DataFrame, y_title: str, *columns: str, kind: Kind = "percent") -> Bars:
        """Return bars of a table's column (or value, low and high) by group and recognizer, without their mean."""
        rows = {(row["recognizer"], row["attribute"], row["group"]): row for row in table.to_dicts()}
        groups = [(name, group) for name, there in self.order.items() for group in there][:MOST_BARS]

        def cell(*key: str) -> Cell | None:
            return Cell(*(rows[key][column] for column in columns)) if key in rows else None

        names = self.single[:1] if kind == "count" else self.single
        series = tuple(Series(name, tuple(cell(name, *group) for group in groups)) for name in names)
        return Bars(tuple(f"{attribute}: {group}" for attribute, group in groups), series, y_title, kind)


def group_speakers(trials: Trials, settings: Settings, where: str = "table") -> Speakers:
    """Take means over the utterances of each speaker (inner mean of Eq. 3) and give each a group of every attribute."""
    names, measures = [f"@{name}" for name in trials.attributes], [f"#{name}" for name in trials.measures]
    means = speaker_means(trials.table, names, measures)
    raw = means.group_by("speaker", maintain_order=True).agg(
        *(pl.col(name).min() for name in names),
        *(pl.col(f"{name}_max").max() for name in names),
        *(mean_of(name) for name in measures),
    )
    table = means.select("recognizer", "speaker", *SUMS)
    recognizers = tuple(table["recognizer"].unique(maintain_order=True).to_list())
    notes: list[Note] = []
    if len(recognizers) > 1:
        mean = mean_of_recognizers(table)
        if lost := raw.height - mean.height:
            said = f"{counted(lost, 'speaker')} not heard by every recognizer are not in {MEAN}"
            notes.append(Note("not_heard_by_all", said, {"speakers": lost}))
        if table.group_by("recognizer").agg(pl.col("utterances").sum())["utterances"].n_unique() > 1:
            said = (
                "the recognizers did not all hear the same number of utterances; failed trials may be missing"
            )
            notes.append(Note("not_heard_alike", said))
        table = pl.concat([table, mean])
        recognizers = (*recognizers, MEAN) if mean.height else recognizers
    found = _groups(raw, trials.attributes, settings)
    if not found.order:
        why = "; ".join(f"{refusal.about}: {refusal.text}" for refusal in found.refusals)
        first = found.refusals[0]
        raise refuse(first.code, f"{where}: no attribute can be compared. {why}", remedy=first.remedy)
    people = found.people
    return replace(
        found,
        table=table.join(people, on="speaker", how="left", maintain_order="left"),
        people=people.join(raw.select("speaker", *measures), on="speaker"),
        recognizers=recognizers,
        notes=(*notes, *found.notes),
    )


def gaps_asked(speakers: pl.DataFrame, settings: Settings) -> dict[str, float]:
    """Return the gap that each recognizer is asked about: as set, else a quarter of its word error rate."""
    means = speakers.group_by("recognizer", maintain_order=True).agg(mean_of("wer"))
    return {name: settings.gap or ASKED * wer for name, wer in means.iter_rows()}


def gap_note(speakers: Speakers, asked: Mapping[str, float], settings: Settings) -> Note:
    """Return which gap is asked about, said once."""
    if settings.gap is not None:
        text = f"the gap asked about is {in_points(settings.gap)}"
    else:
        own = [
            f"{in_points(asked[name])}{'' if name == UNNAMED else f' ({name})'}"
            if asked[name]
            else f"none ({name})"
            for name in speakers.single
        ]
        text = f"the gap asked about is {100 * ASKED:g} % of the word error rate: {listed(own)}"
    return Note("gap", text, {"gap": dict(asked)}, see=("gap",))


# Groups


def _groups(raw: pl.DataFrame, attributes: Sequence[str], settings: Settings) -> Speakers:
    """Give every speaker a group of each attribute.

    `raw` has the smallest and the largest value among the speaker's rows (`@name` and `@name_max`, null where never
    known). A speaker in two groups makes the attribute unusable here: it does not describe speakers.
    """
    for argument, names in (("bands", settings.bands), ("age", [settings.age] if settings.age else [])):
        if unknown := [name for name in names if name not in attributes]:
            raise VoxauditError(
                f"{argument} names '{unknown[0]}', which is not among the attributes", see=(argument,)
            )
    age = settings.age or next((name for name in attributes if is_age(name)), None)
    people = raw.select("speaker")
    order: dict[str, tuple[str, ...]] = {}
    merged: dict[str, tuple[str, ...]] = {}
    notes: list[Note] = []
    refusals: list[Refusal] = []
    for name in attributes:
        low, high = raw[f"@{name}"], raw[f"@{name}_max"]
        cuts = cuts_of(name, low, settings.bands.get(name), age=age == name)
        group, last = group_names(low, cuts), group_names(high, cuts)
        if cuts:
            said = f"'{name}' is cut into bands at {', '.join(f'{cut:g}' for cut in cuts)}"
            notes.append(Note("bands", said, {"attribute": name, "cuts": list(cuts)}, see=("bands",)))
        two = (group != last).fill_null(False)
        if two.any():
            refusals.append(in_several_groups(raw["speaker"].filter(two).to_list(), name))
            continue
        if nobody := group.null_count():
            said = (
                f"'{name}' is not known of {counted(nobody, 'speaker')}: they are in no group of it, and where it is"
                " held fixed they are compared among themselves"
            )
            notes.append(Note("unknown", said, {"attribute": name, "speakers": nobody}))
        group, rare = merge_rare(group.fill_null(MISSING), settings.merge_below)
        if rare:
            merged[name] = rare
            said = f"'{name}': merged into '{OTHER}': {listed(rare)}"
            notes.append(
                Note("merged", said, {"attribute": name, "groups": list(rare)}, see=("merge_below",))
            )
        known = in_order([one for one in group.unique().to_list() if one != MISSING], cuts)
        if len(known) < 2:
            which = f"one group only ('{known[0]}')" if known else "no value"
            text = f"it has {which}: there is nothing to compare"
            refusals.append(Refusal("one_group", name, text, {"groups": len(known)}))
            continue
        order[name] = known
        people = people.with_columns(group.alias(f"@{name}"))
    return Speakers(raw, people, (), order, merged, age, tuple(notes), tuple(refusals))
