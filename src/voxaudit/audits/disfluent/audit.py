"""How recorded disfluent speech is heard, and whether generated cases of the same kinds fail alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import polars as pl

from voxaudit.answer import Answer, Finding, Note, Table, Tables, finding_id, of_row, refuse, tabulate
from voxaudit.audits.audit import asks
from voxaudit.audits.scores import Filters, Transcripts
from voxaudit.corpus.disfluent import CODED, EVENT_LIST, SURFACE, Event, read_events
from voxaudit.errors import VoxauditError
from voxaudit.perturb.scenario_id import is_original
from voxaudit.score import normalizer, total, word_counts
from voxaudit.score.faults import KINDS as FAULTS
from voxaudit.score.faults import find_faults, main_kind
from voxaudit.stats.bootstrap import FEWEST_SPEAKERS, speaker_weights
from voxaudit.stats.rates import rate_intervals
from voxaudit.tables import read_table, require_columns
from voxaudit.wording import counted, percent_interval, spoken

NAME, TITLE = "disfluent", "Real disfluent speech"
STUTTERING = (
    "block",
    "prolongation",
    "sound_repetition",
    "word_repetition",
    "phrase_repetition",
    "broken_word",
)
"""Events that are counted for the rate of stuttering; fillers, fragments and revisions are everybody's."""
BANDS = ((0.0, "none"), (5.0, "under 5"), (20.0, "5 to 20"), (float("inf"), "over 20"))
"""Stuttered events per 100 intended words, up to each limit."""
ALL, FLUENT, UNCODED = "all utterances", "coded, no event", "not coded"
RESAMPLES = 2_000


@asks(NAME)
def disfluent(
    source: Any,
    *,
    beside: str | Path | None = None,
    normalizer: str = "keep-fillers",
    **filters: Unpack[Filters],
) -> Answer:
    """Say how recorded disfluent speech is heard: error rates by kind and by rate of events.

    `source` is a run on a corpus that says what can be heard (`surface`) and which events there are (`events`), as
    transcripts in CHAT, FluencyBank Timestamped and others do, or a table of transcripts with these columns. Rates are
    pooled over utterances, against what is meant (`reference`) and against what can be heard; intervals (95 %) resample
    speakers. Utterances that nobody coded for stuttering are a row of their own, never fluent ones.

    `beside` is the folder of a stutter audit: for each kind, utterances with stuttering of that kind only are set
    beside its generated cases with one event of that kind. Their agreement is the overlap of the two distributions of
    faults (the five kinds and none), from 0 to 1; its interval resamples speakers on both sides.
    """
    trials = Transcripts.of(source, **filters).require("reference", SURFACE, EVENT_LIST)
    table = _table(trials, normalizer)
    if table.is_empty():
        raise refuse(
            "no_references",
            "no utterance has a text of what is meant and an answer",
            about="disfluent speech",
        )
    rows = _rates(table)
    compared = _beside(table, Path(beside), normalizer) if beside is not None else []
    speakers = table["speaker"].drop_nulls().n_unique()
    uncoded = table.filter(pl.col("row") == UNCODED)["utterance"].n_unique()
    notes = []
    if uncoded:
        text = f"{counted(uncoded, 'utterance')} of files that nobody coded for stuttering: there may be some in them"
        notes.append(Note("not_coded", text, {"utterances": uncoded}))
    return Answer(
        NAME,
        TITLE,
        question={"beside": None if beside is None else Path(beside).name},
        lead=f"{counted(table['utterance'].n_unique(), 'utterance')} of"
        f" {_people(speakers)}, as people said them. Errors are counted against what they"
        " mean, and against what can be heard.",
        findings=tuple(_findings(rows)),
        tables=Tables((_rate_table(rows), *_agreement_table(compared))),
        notes=tuple(notes),
    )


def _table(trials: Transcripts, rule: str) -> pl.DataFrame:
    """Return one row per answer: texts made alike, counts against both, the row of its kind and band."""
    kept = ["utterance", "scenario", "recognizer", "text", "speaker", "reference", SURFACE, EVENT_LIST]
    optional = [name for name in ("speaker", CODED) if name not in kept and name in trials.names]
    missing = [] if "speaker" in trials.names else ["speaker"]
    found = trials.collect(*[name for name in kept if name in trials.names], *optional)
    found = found.with_columns(pl.lit(None, pl.String).alias(name) for name in missing)
    found = found.filter(pl.col("text").is_not_null() & pl.col("reference").is_not_null())
    found = found.filter(pl.Series([is_original(name) for name in found["scenario"]], dtype=pl.Boolean))
    if found.is_empty():
        return found
    normalize = normalizer(rule)
    plain = {
        name: found[name].fill_null("").cast(pl.String).map_elements(normalize, return_dtype=pl.String)
        for name in ("reference", SURFACE, "text")
    }
    surface = pl.Series([s or r for s, r in zip(plain[SURFACE], plain["reference"], strict=True)])
    coded = found[CODED] if CODED in found.columns else pl.Series(["yes"]).new_from_index(0, found.height)
    events = [read_events(text) for text in found[EVENT_LIST].cast(pl.String)]
    marks = [
        _mark(own, reference, code)
        for own, reference, code in zip(events, plain["reference"], coded, strict=True)
    ]
    intended, heard = (word_counts(said, plain["text"]) for said in (plain["reference"], surface))
    return pl.DataFrame(
        {
            "utterance": found["utterance"],
            "recognizer": found["recognizer"],
            "speaker": found["speaker"].cast(pl.String),
            "said": plain["reference"],
            "heard": plain["text"],
            "row": [mark[0] for mark in marks],
            "band": [mark[1] for mark in marks],
            "kinds": [mark[2] for mark in marks],
            **{f"intended_{name}": intended[name] for name in intended.columns},
            **{f"surface_{name}": heard[name] for name in heard.columns},
        }
    )


def _mark(events: list[Event] | None, said: str, coded: str | None) -> tuple[str, str, list[str]]:
    """Return what an utterance counts as (coded without events, not coded, with events), its band, its kinds."""
    if events is None or coded == "no":
        return UNCODED, UNCODED, [event.kind for event in events or ()]
    words = max(len(said.split()), 1)
    rate = 100 * sum(event.kind in STUTTERING for event in events) / words
    band = next(name for limit, name in BANDS if rate <= limit)
    return FLUENT if not events else "events", band, [event.kind for event in events]


def _rates(table: pl.DataFrame) -> list[dict[str, Any]]:
    rows = []
    for name in table["recognizer"].unique(maintain_order=True):
        own = table.filter(pl.col("recognizer") == name)
        parts = {("", ALL): own, ("", FLUENT): own.filter(pl.col("row") == FLUENT)}
        parts[("", UNCODED)] = own.filter(pl.col("row") == UNCODED)
        for kind in dict.fromkeys(kind for kinds in own["kinds"] for kind in kinds):
            parts[("kind", spoken(kind))] = own.filter(pl.col("kinds").list.contains(kind))
        for _, band in BANDS:
            parts[("events per 100 words", band)] = own.filter(pl.col("band") == band)
        for (by, group), part in parts.items():
            if part.height:
                rows.append({"recognizer": name, "by": by, "group": group, **_rate(part)})
    return rows


def _rate(part: pl.DataFrame) -> dict[str, Any]:
    found: dict[str, Any] = {
        "utterances": part["utterance"].n_unique(),
        "speakers": part["speaker"].drop_nulls().n_unique(),
    }
    for against in ("intended", "surface"):
        counts = part.select(
            pl.col(f"{against}_{name}").alias(name)
            for name in ("hits", "substitutions", "deletions", "insertions")
        )
        sums = total(counts)
        ready = counts.select(
            errors=pl.sum_horizontal("substitutions", "deletions", "insertions"),
            words=pl.sum_horizontal("hits", "substitutions", "deletions"),
        ).with_columns(part["speaker"], of=pl.lit("all"))
        limits = rate_intervals(ready, ["of"]).row(0, named=True)
        suffix = "" if against == "intended" else "_surface"
        found |= {
            f"wer{suffix}": sums.wer,
            f"low{suffix}": limits["ci_low"],
            f"high{suffix}": limits["ci_high"],
        }
        if not suffix:
            found |= {"mer": sums.mer, "wil": sums.wil, "words": int(ready["words"].sum())}
    return found


def _findings(rows: Iterable[Mapping[str, Any]]) -> list[Finding]:
    findings = []
    for row in rows:
        if row["group"] != ALL:
            continue
        sure = percent_interval(row["wer"], row["low"], row["high"])
        findings.append(
            Finding(
                finding_id(NAME, row["recognizer"], "wer"),
                "wer",
                "measured",
                f"On disfluent speech, {row['recognizer']} gets {sure} of the words wrong that people mean to say"
                f" ({counted(row['utterances'], 'utterance')} of {_people(row['speakers'])}).",
                estimate=row["wer"],
                headline=True,
                **of_row(row, "low high recognizer speakers utterances words"),
            )
        )
    return findings


def _people(speakers: int) -> str:
    return counted(speakers, "speaker") if speakers else "unknown speakers"


def _rate_table(rows: list[dict[str, Any]]) -> Table:
    return tabulate(
        "rates",
        "Errors by kind and by rate of events",
        rows,
        "recognizer; by; group: utterances with; wer[low,high]: WER against what is meant, percent;"
        " wer_surface[low_surface,high_surface]: WER against what can be heard, percent; words; utterances; speakers",
        note="An utterance with several kinds of events is in the row of each.",
    )


# Beside generated cases.


def _beside(table: pl.DataFrame, folder: Path, rule: str) -> list[dict[str, Any]]:
    path = folder / "cases.parquet"
    if not path.is_file():
        raise VoxauditError(
            f"{folder}: not the folder of a stutter audit (no cases.parquet)", see=("beside",)
        )
    cases = read_table(path)
    require_columns(cases, ("utterance", "speaker", "recognizer", "chain", "kind", "intended", "heard"), path)
    # One event each: a chain of several has a semicolon.
    cases = cases.filter((pl.col("chain") != "") & ~pl.col("chain").str.contains(";", literal=True))
    normalize = normalizer(rule)
    rows = []
    for name in table["recognizer"].unique(maintain_order=True):
        real = table.filter((pl.col("recognizer") == name) & (pl.col("row") == "events"))
        made = cases.filter(pl.col("recognizer") == name)
        for kind in dict.fromkeys(made["kind"]):
            alone = real.filter(pl.Series([_only(kinds, kind) for kinds in real["kinds"]], dtype=pl.Boolean))
            own = made.filter(pl.col("kind") == kind)
            if alone.is_empty() or own.is_empty():
                continue
            texts = [
                own[name].map_elements(normalize, return_dtype=pl.String) for name in ("intended", "heard")
            ]
            sides = (
                _faults(alone["speaker"], alone["said"], alone["heard"]),
                _faults(own["speaker"], *texts),
            )
            estimate, low, high = _overlap(*sides)
            rows.append(
                {
                    "recognizer": name,
                    "kind": spoken(kind),
                    "agreement": estimate,
                    "low": low,
                    "high": high,
                    "real_faulty": 1 - float(_shares(sides[0])[-1]),
                    "made_faulty": 1 - float(_shares(sides[1])[-1]),
                    "utterances": alone.height,
                    "cases": own.height,
                    "speakers": alone["speaker"].n_unique(),
                }
            )
    return rows


def _only(kinds: Sequence[str], kind: str) -> bool:
    """Say whether an utterance stutters in one kind only; a filler counts as a kind where fillers are asked about."""
    own = {one for one in kinds if one in STUTTERING}
    return own == {kind} if kind in STUTTERING else not own and kind in kinds


def _faults(speakers: pl.Series, said: pl.Series, heard: pl.Series) -> np.ndarray:
    """Return how many answers have each main fault, and none: speakers x (five kinds, none)."""
    by: dict[str, Counter[str]] = {}
    for speaker, meant, text in zip(speakers, said, heard, strict=True):
        by.setdefault(str(speaker), Counter())[main_kind(find_faults(meant, text)) or "none"] += 1
    return np.array([[one[kind] for kind in (*FAULTS, "none")] for one in by.values()], dtype=float)


def _shares(counts: np.ndarray) -> np.ndarray:
    sums = counts.sum(axis=0)
    return np.asarray(sums / sums.sum())


def _overlap(real: np.ndarray, made: np.ndarray) -> tuple[float, float | None, float | None]:
    """Return the overlap of two distributions of faults, and its 95 % interval by resampled speakers.

    Resampling adds scatter, which lowers an overlap: the interval is shifted by what it lowers it on average.
    """
    estimate = float(np.minimum(_shares(real), _shares(made)).sum())
    if min(len(real), len(made)) < FEWEST_SPEAKERS:
        return estimate, None, None
    generator = np.random.Generator(np.random.PCG64(0))
    sides = []
    for counts in (real, made):
        sums = speaker_weights(len(counts), RESAMPLES, generator) @ counts
        sides.append(sums / np.maximum(sums.sum(axis=1, keepdims=True), 1))
    drawn = np.minimum(*sides).sum(axis=1)
    low, high = np.quantile(drawn, [0.025, 0.975]) + (estimate - float(drawn.mean()))
    return estimate, float(max(low, 0.0)), float(min(high, 1.0))


def _agreement_table(rows: list[dict[str, Any]]) -> list[Table]:
    if not rows:
        return []
    return [
        tabulate(
            "agreement",
            "Do generated cases fail as real ones do?",
            rows,
            "recognizer; kind; agreement[low,high]: overlap of faults, percent;"
            " real_faulty: real: with a fault, percent; made_faulty: generated: with a fault, percent;"
            " utterances: real utterances; cases: generated cases, count; speakers: real speakers",
            note="100 %: the kinds of fault, and no fault, are as frequent in both. Real utterances stutter in this"
            " kind only; generated ones have one event.",
        )
    ]
