"""From scores to speakers in groups: every statistic of the audit starts from one row per speaker and recognizer.

Internally the column of an attribute is `@NAME` and that of a measure `#NAME`, so that no name can hide one of ours.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Literal

import polars as pl

from voxaudit.answer import Note, Refusal, refuse
from voxaudit.audio import AudioError, read
from voxaudit.audits.scores import COUNTS, Names, Scores
from voxaudit.errors import VoxauditError, one_line
from voxaudit.perturb import CLEAN
from voxaudit.score.complexity import MEASURES, text_complexity
from voxaudit.score.snr import estimate_snr
from voxaudit.tables import require_columns
from voxaudit.wording import MISSING, counted, listed

OTHER = "other"
"""The group that rare groups are merged into."""
MEAN = "(mean of recognizers)"
"""The name under which each speaker's mean over all recognizers is analyzed."""
UNNAMED = "all"
"""What the recognizer of a table without that column is called."""
OUTLIER_Z = 3.0
"""Speakers and utterances beyond this many standard deviations are shown with and without."""
AGE_CUTS = (18.0, 30.0, 45.0, 65.0)
"""Lower ends of the bands that ages in years are put into."""
MANY_NUMBERS = 10
"""A numeric attribute with more different values than this is cut into bands."""
QUALITY = {"snr": "recording quality (SNR, dB)"}
COMPLEXITY = {
    "text_words": "words per utterance",
    "unknown_words": "share of words outside the dictionary",
    "word_frequency": "word frequency (log10 per million)",
    "perplexity_bits": "perplexity (bits per word)",
}
MEASURE_NAMES = QUALITY | COMPLEXITY
"""The measures of recordings and texts that are looked at, and what they are called."""
QUALITY_PART, TEXT_PART = "recording quality", "text complexity"

Bands = Mapping[str, Sequence[float]] | Sequence[str]
"""Where attributes are cut: {"age": (18, 30)}, or as it is written on a command line: ("age=18", "30")."""

_DECADES = ("twenties", "thirties", "forties", "fifties", "sixties", "seventies", "eighties", "nineties")
_AGES = {name: (10.0 * tens, 10.0 * tens + 9.0) for tens, name in enumerate(_DECADES, 2)}
_AGES |= {"teens": (13.0, 19.0), "fourties": (40.0, 49.0)}  # the latter as Common Voice spells it


@dataclass(frozen=True)
class Settings:
    """How the audit judges. `gap` is an absolute difference of word error rates (0.1: ten percentage points)."""

    confidence: float = 0.95
    power: float = 0.8
    gap: float | None = None
    merge_below: int = 0
    bands: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    age: str | None = None
    min_snr: float = 10.0
    correction: Literal["holm", "bh"] = "holm"

    def __post_init__(self) -> None:
        for name, value in (("confidence", self.confidence), ("power", self.power)):
            if not 0.0 < value < 1.0:
                raise VoxauditError(f"{name} must lie between 0 and 1, not {value:g}", see=(name,))
        if self.gap is not None and not 0.0 < self.gap < float("inf"):
            raise VoxauditError(
                f"the gap must be above 0 (0.1 is ten percentage points of word error rate), not {self.gap:g}",
                see=("gap",),
            )
        if self.correction not in ("holm", "bh"):
            raise VoxauditError(
                f"the correction is 'holm' or 'bh', not '{self.correction}'", see=("correction",)
            )

    @property
    def alpha(self) -> float:
        """The level of all tests."""
        return 1.0 - self.confidence


def read_bands(bands: Bands) -> dict[str, tuple[float, ...]]:
    """Return the cuts of each attribute.

    >>> read_bands(("age=18", "30", "income=2.5"))
    {'age': (18.0, 30.0), 'income': (2.5,)}
    """
    if isinstance(bands, Mapping):
        return {name: tuple(float(cut) for cut in cuts) for name, cuts in bands.items()}
    cuts: dict[str, tuple[float, ...]] = {}
    name = ""
    for part in (part for text in bands for part in str(text).split(",")):
        head, equals, cut = part.rpartition("=")
        name = head.strip() if equals else name
        try:
            cuts[name] = (*cuts.get(name, ()), float(cut))
        except ValueError:
            name = ""
        if not name:
            raise VoxauditError(
                f"bands are COLUMN=CUT,CUT (age=18,30,45,65), not '{one_line(part, 60)}'", see=("bands",)
            )
    return cuts


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


@dataclass(frozen=True)
class Measured:
    """Measures of recordings and texts: columns of a frame to join on `on`, their sources, and why others lack."""

    frame: pl.DataFrame
    on: tuple[str, ...]
    sources: dict[str, str]
    missing: dict[str, str]
    unreadable: int = 0


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
        raise refuse("no_references", f"{scores.where}: no row can be used ({why})")
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
    """Measure texts (columns `reference` or `text`) and recordings (`audio`); every distinct one once.

    A run's corpus has both. A measure that the table has as a column of numbers is kept.
    """
    frame, folder = scores.frame, scores.folder or Path()
    there = [name for name in MEASURE_NAMES if name in frame.columns]
    sources = {name: "the table's own column" for name in there if frame.schema[name].is_numeric()}
    missing: dict[str, str] = {}
    if scores.run is not None:
        heard = frame.select("utterance").unique()
        about = scores.run.corpus.rename({"id": "utterance"}).join(heard, on="utterance", how="semi")
        on, text, segment = ["utterance"], "text", ["audio", "start", "duration"]
    else:
        text = next((name for name in ("reference", "text") if name in frame.columns), "")
        segment = ["audio"] if "audio" in frame.columns else []
        on = [name for name in (text, *segment) if name]
        about = frame.select(on).unique(maintain_order=True) if on else pl.DataFrame()
    if text and about[text].count():
        result = text_complexity(about[text].cast(pl.String), dictionary)
        new = [name for name in MEASURES if name not in there and name not in result.missing]
        about = about.with_columns(result.table[name].alias(f"#{name}") for name in new)
        sources |= {name: result.sources[name] for name in new}
        missing |= {name: why for name, why in result.missing.items() if name not in there}
    elif not any(name in sources for name in MEASURES):
        missing[TEXT_PART] = "there are no reference texts (a column `reference`)"
    unreadable = 0
    if "snr" in there:
        missing |= {} if "snr" in sources else {QUALITY_PART: "column 'snr' does not hold numbers"}
    elif not segment:
        missing[QUALITY_PART] = "there are no recordings (a column `audio`) and no column `snr`"
    elif (count := about.select(segment).n_unique()) > recordings:
        missing[QUALITY_PART] = (
            f"{counted(count, 'recording')}, of which no more than {recordings} are opened (`recordings`)"
        )
    else:
        about = _with_snr(about, segment, folder)
        unreadable = about["#snr"].null_count()
        sources["snr"] = "estimated from the audio (voxaudit.score.snr)"
        if unreadable == about.height:
            missing[QUALITY_PART] = "no recording could be measured"
    new = [name for name in about.columns if name.startswith("#")]
    return Measured(
        about.select(*on, *new) if new else about, tuple(on) if new else (), sources, missing, unreadable
    )


def _with_snr(about: pl.DataFrame, parts: list[str], folder: Path) -> pl.DataFrame:
    segments = about.select(parts).unique(maintain_order=True)

    def measure(row: tuple[object, ...]) -> float | None:
        audio, start, duration = (*row, None, None)[:3]
        if audio is None:
            return None
        try:
            begin = 0.0 if start is None else float(str(start))
            length = None if duration is None else float(str(duration))
            return estimate_snr(read(folder / str(audio), start=begin, duration=length))
        except AudioError:
            return None

    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        values = list(pool.map(measure, segments.iter_rows()))
    measured = segments.with_columns(pl.Series("#snr", values, dtype=pl.Float64))
    return about.join(measured, on=parts, how="left", nulls_equal=True, maintain_order="left")


# Speakers

_SUMS = ("utterances", "words", "errors", "rate_sum", "wer", "noise", "plain_utterances", "plain_sum")


@dataclass(frozen=True)
class Speakers:
    """One row per recognizer and speaker, the groups of each speaker, and what was done to get there.

    Columns: recognizer, speaker, `@` attributes; utterances, words, errors; rate_sum (sum of the utterances' rates);
    wer (their mean, the inner mean of Herron et al., Eq. 3); noise (variance of that mean that comes from having few
    utterances, null for one); plain_utterances and plain_sum (the same without outlying utterances). Several
    recognizers are followed by `MEAN`.
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
    def single(self) -> list[str]:
        """The recognizers without their mean, which is a claim about speakers and not about any of them."""
        return [name for name in self.recognizers if name != MEAN]


def group_speakers(trials: Trials, settings: Settings, where: str = "table") -> Speakers:
    """Take means over the utterances of each speaker (inner mean of Eq. 3) and give each a group of every attribute.

    An utterance is an outlier where its rate lies more than `OUTLIER_Z` standard deviations from its speaker's mean.
    """
    rate = pl.col("rate")
    plain = ~((rate - rate.mean()).abs() > OUTLIER_Z * rate.std()).fill_null(False)
    values = [pl.col(f"@{name}") for name in trials.attributes]
    measures = [f"#{name}" for name in trials.measures]
    grouped = (
        trials.table.lazy()
        .with_columns(rate=pl.col("errors") / pl.col("words"))
        .group_by("recognizer", "speaker")
        .agg(
            *(value.min() for value in values),
            *(value.max().name.suffix("_max") for value in values),
            *(pl.col(name).mean() for name in measures),
            utterances=pl.len().cast(pl.Float64),
            words=pl.col("words").sum().cast(pl.Float64),
            errors=pl.col("errors").sum().cast(pl.Float64),
            rate_sum=rate.sum(),
            wer=rate.mean(),
            noise=rate.var() / pl.len(),
            plain_utterances=plain.sum().cast(pl.Float64),
            plain_sum=rate.filter(plain).sum(),
        )
        .sort("recognizer", "speaker")
        .collect()
    )
    raw = grouped.group_by("speaker", maintain_order=True).agg(
        *(pl.col(f"@{name}").min() for name in trials.attributes),
        *(pl.col(f"@{name}_max").max() for name in trials.attributes),
        *(pl.col(name).mean() for name in measures),
    )
    table = grouped.select("recognizer", "speaker", *_SUMS)
    recognizers = tuple(table["recognizer"].unique(maintain_order=True).to_list())
    notes: list[Note] = []
    if len(recognizers) > 1:
        mean = (
            table.group_by("speaker", maintain_order=True)
            .agg(*(pl.col(name).mean() for name in _SUMS), complete=pl.len() == len(recognizers))
            .filter("complete")
            # Recognizers err on the same utterances: the noise of their mean is not the mean of their noise.
            .with_columns(noise=pl.lit(None, dtype=pl.Float64))
            .select(pl.lit(MEAN).alias("recognizer"), "speaker", *_SUMS)
        )
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
    people, order, merged, age, more, refusals = _groups(raw, trials.attributes, settings)
    if not order:
        why = "; ".join(f"{refusal.about}: {refusal.text}" for refusal in refusals)
        raise refuse(
            refusals[0].code, f"{where}: no attribute can be compared. {why}", remedy=refusals[0].remedy
        )
    return Speakers(
        table.join(people, on="speaker", how="left", maintain_order="left"),
        people.join(raw.select("speaker", *measures), on="speaker"),
        recognizers,
        order,
        merged,
        age,
        (*notes, *more),
        tuple(refusals),
    )


def gaps_asked(speakers: pl.DataFrame, settings: Settings) -> dict[str, float]:
    """Return the gap that each recognizer is asked about: as set, else 0.1 or half its word error rate if less.

    That choice is Herron et al.'s, section 3.4.1.
    """
    means = speakers.group_by("recognizer", maintain_order=True).agg(pl.col("wer").mean())
    if settings.gap is not None:
        return dict.fromkeys(means["recognizer"].to_list(), settings.gap)
    return {name: min(0.1, wer / 2.0) if wer > 0.0 else 0.1 for name, wer in means.iter_rows()}


def outlying_utterances(trials: pl.DataFrame) -> pl.DataFrame:
    """Return the utterances far from their speaker's mean, the farthest first."""
    rate, z = pl.col("errors") / pl.col("words"), pl.col("z")
    centered = (pl.col("wer") - pl.col("wer").mean().over("recognizer", "speaker")) / pl.col(
        "wer"
    ).std().over("recognizer", "speaker")
    return (
        trials.lazy()
        .select("recognizer", "speaker", "utterance", wer=rate)
        .with_columns(z=centered)
        .filter(z.abs() > OUTLIER_Z, z.is_finite())
        .sort(z.abs(), descending=True)
        .collect()
    )


# Groups

_Groups = tuple[
    pl.DataFrame,
    dict[str, tuple[str, ...]],
    dict[str, tuple[str, ...]],
    str | None,
    list[Note],
    list[Refusal],
]


def _groups(raw: pl.DataFrame, attributes: Sequence[str], settings: Settings) -> _Groups:
    """Give every speaker a group of each attribute: people, order, merged, age, notes, refusals.

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
        cuts = _cuts(name, low, settings, age == name)
        if cuts:
            group, last = _band(low, cuts), _band(high, cuts)
            said = f"'{name}' is cut into bands at {', '.join(f'{cut:g}' for cut in cuts)}"
            notes.append(Note("bands", said, {"attribute": name, "cuts": list(cuts)}, see=("bands",)))
        else:
            group, last = _label(low), _label(high)
        two = (group != last).fill_null(False)
        if two.any():
            text = (
                f"{counted(int(two.sum()), 'speaker')} are in several groups of it (for example"
                f" '{raw['speaker'].filter(two)[0]}'), so it does not describe speakers"
            )
            refusals.append(Refusal("speakers_in_several_groups", name, text, {"speakers": int(two.sum())}))
            continue
        group, rare = _merge_rare(group.fill_null(MISSING), settings.merge_below)
        if rare:
            merged[name] = rare
            said = f"'{name}': merged into '{OTHER}': {listed(rare)}"
            notes.append(
                Note("merged", said, {"attribute": name, "groups": list(rare)}, see=("merge_below",))
            )
        known = _ordered(group.unique().to_list(), cuts)
        if len(known) < 2:
            text = f"it has one group only ('{known[0]}'): there is nothing to compare"
            refusals.append(Refusal("one_group", name, text, {"groups": 1}))
            continue
        order[name] = known
        people = people.with_columns(group.alias(f"@{name}"))
    return people, order, merged, age, notes, refusals


def is_age(name: str) -> bool:
    """Say whether a column's name says that it holds ages (`age`, `age_group`, `SpeakerAge`)."""
    parts = re.split(r"[^a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())
    return "age" in parts or "ages" in parts


def age_range(group: str) -> tuple[float, float] | None:
    """Return the youngest and oldest age in years of an age band such as `31-45`, `65+`, `<18` or `thirties`."""
    text = group.strip().lower()
    if text in _AGES:
        return _AGES[text]
    if match := re.fullmatch(r"(\d+)\s*(?:-|–|to|_)\s*(\d+)(?:\s*(?:years?|yrs?|y|yo))?", text):  # noqa: RUF001
        return float(match[1]), float(match[2])
    if match := re.fullmatch(r"(?:>=?|over\s+)?(\d+)\s*(\+|and\s+(?:over|older))?", text):
        exact = not match[2] and text[0].isdigit()
        return float(match[1]), float(match[1]) if exact else 150.0
    if match := re.fullmatch(r"(?:<=?|under\s+)\s*(\d+)", text):
        return 0.0, float(match[1])
    return None


def _cuts(name: str, values: pl.Series, settings: Settings, age: bool) -> tuple[float, ...]:
    given = settings.bands.get(name)
    if given is not None:
        if not values.dtype.is_numeric():
            raise VoxauditError(f"bands of '{name}': the column does not hold numbers", see=("bands",))
        if not given or list(given) != sorted(set(given)):
            raise VoxauditError(
                f"bands of '{name}': cuts must be numbers in rising order, not {list(given)}", see=("bands",)
            )
        return given
    if not values.dtype.is_numeric():
        return ()
    kinds = values.drop_nulls().n_unique()
    if age and kinds > len(AGE_CUTS) + 1:
        return AGE_CUTS
    if kinds <= MANY_NUMBERS:
        return ()
    quartiles = [values.quantile(share, "nearest") for share in (0.25, 0.5, 0.75)]
    smallest = values.min()
    return tuple(sorted({float(cut) for cut in quartiles if cut is not None and cut != smallest}))


def _band(values: pl.Series, cuts: tuple[float, ...]) -> pl.Series:
    known = values.drop_nulls()
    whole = bool((known == known.round()).all()) and all(cut == int(cut) for cut in cuts)
    numbers = values.cast(pl.Float64).fill_nan(None)
    index = pl.Series(cuts).search_sorted(numbers.fill_null(0.0), side="right")
    named = pl.Series(band_labels(cuts, whole)).gather(index)
    return pl.select(pl.when(numbers.is_not_null()).then(named)).to_series()


def band_labels(cuts: Sequence[float], whole: bool) -> list[str]:
    """Return the names of the bands that `cuts` make; whole numbers name their last value.

    >>> band_labels((18, 30), True)
    ['<18', '18-29', '30+']
    """

    def middle(low: float, high: float) -> str:
        if not whole:
            return f"{low:g} to {high:g}"
        return f"{low:g}-{high - 1:g}" if high - low > 1 else f"{low:g}"

    return [f"<{cuts[0]:g}", *(middle(low, high) for low, high in pairwise(cuts)), f"{cuts[-1]:g}+"]


def _label(values: pl.Series) -> pl.Series:
    if values.dtype.is_float():
        values = values.fill_nan(None)
        if (values.drop_nulls() == values.drop_nulls().round()).all():
            return values.cast(pl.Int64, strict=False).cast(pl.String)
    return values.cast(pl.String)


def _merge_rare(group: pl.Series, below: int) -> tuple[pl.Series, tuple[str, ...]]:
    counts = group.alias("group").value_counts().sort("group")
    few = counts.filter(pl.col("count") < below, ~pl.col("group").is_in([MISSING, OTHER]))
    rare = few["group"].to_list()
    return group.replace(rare, [OTHER] * len(rare)) if rare else group, tuple(rare)


def _ordered(groups: list[str], cuts: tuple[float, ...]) -> tuple[str, ...]:
    bands = [*band_labels(cuts, True), *band_labels(cuts, False)] if cuts else []

    def key(group: str) -> tuple[int, float, str]:
        last = {OTHER: 1, MISSING: 2}.get(group, 0)
        span = age_range(group)
        return last, float(bands.index(group)) if group in bands else span[0] if span else float("inf"), group

    return tuple(sorted(groups, key=key))
