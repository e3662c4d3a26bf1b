"""What audits of texts share: reading them, their spoken form by language, and comparing groups of speakers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
import polars as pl

from voxaudit.answer import Finding, Note, Refusal, finding_id, number_or_none
from voxaudit.audits.scores import Filters, Scores, Source, Transcripts
from voxaudit.corpus.languages import base_language
from voxaudit.perturb import CLEAN
from voxaudit.score.normalize import NORMALIZERS, Normalizer, normalize_column, normalizer
from voxaudit.stats.bootstrap import FEWEST_SPEAKERS
from voxaudit.stats.group_ratios import Rates, judge
from voxaudit.stats.permutations import LEVEL, Shuffles
from voxaudit.wording import listed, named, p_value

FAMILY = "groups"


def read_texts(
    source: Source, columns: Mapping[str, str] | None, *needed: str, **asked: Unpack[Filters]
) -> Scores:
    """Return texts as trials: a table of one recognizer, or of clean speech only, need not say so."""
    opened = Transcripts.of(source, columns=columns)
    missing = {
        name: value
        for name, value in (("scenario", CLEAN), ("recognizer", "recognizer"))
        if name not in opened.names
    }
    if missing:
        opened = replace(
            opened,
            lazy=opened.lazy.with_columns(**{name: pl.lit(value) for name, value in missing.items()}),
            names=(*opened.names, *missing),
        )
    return opened.require("utterance", "text", *needed).scores().select(**asked).with_durations()


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
    codes = language_codes(frame)
    rules: dict[str, Normalizer] = {
        code: normalizer(chosen or (f"spoken-{code}" if f"spoken-{code}" in NORMALIZERS else "basic"))
        for code in codes.unique(maintain_order=True).to_list()
    }
    used = list(dict.fromkeys(rule.id for rule in rules.values()))
    rows = pl.Series(np.arange(frame.height))
    parts = []
    for code, rule in rules.items():
        own = frame.filter(codes == code)
        texts = {name: normalize_column(own[name].cast(pl.String), rule) for name in columns}
        parts.append(pl.DataFrame({"row": rows.filter(codes == code), **texts}))
    done = pl.concat(parts).sort("row") if parts else pl.DataFrame(schema=dict.fromkeys(columns, pl.String))
    text = f"texts were made alike with the normalizer{'s' if len(used) > 1 else ''} {listed(used)}"
    return [done[name] for name in columns], Note(
        "normalizer", text, {"normalizers": used}, see=("normalizer",)
    )


@dataclass(frozen=True)
class Count:
    """What is counted in trials, and per what: columns of a table. `cases` decide whether there are enough."""

    measure: str
    what: str
    per: str
    counted: str
    exposure: str
    cases: str
    verb: str = "writes"


def compare_groups(
    audit: str,
    read: Scores,
    trials: pl.DataFrame,
    attributes: Sequence[str],
    counts: Sequence[Count],
    *,
    fewest: int,
    seed: int,
) -> tuple[list[Finding], list[Refusal]]:
    """Compare every group with the largest one, by count and recognizer: one family over everything that is asked."""
    if not attributes:
        return [], []
    if trials["speaker"].null_count():
        text = "the speaker of some trials is unknown, and trials of one speaker are not independent"
        return [], [Refusal("no_speakers", "groups", text)]
    people = {name: place for place, name in enumerate(trials["speaker"].unique(maintain_order=True))}
    unit = trials["speaker"].replace_strict(people, return_dtype=pl.Int64).to_numpy()
    shuffles = Shuffles(len(people), seed=seed)
    questions: list[tuple[Count, dict[str, Any], Rates]] = []
    refusals = []
    columns = {name: trials[name].to_numpy().astype(np.float64) for one in counts for name in _columns(one)}

    def sums(one: Count, rows: Any) -> Any:
        """Return what is counted and its exposure by speaker: 2 x speakers x 1."""
        values = (columns[one.counted], columns[one.exposure])
        return np.stack([np.bincount(unit[rows], of[rows], len(people))[:, None] for of in values])

    for attribute in attributes:
        groups = read.comparable(attribute)
        group = trials[read.column(attribute)].cast(pl.String).to_numpy()
        sizes = {one: len(np.unique(unit[group == one])) for one in groups}
        few = [one for one in groups if sizes[one] < FEWEST_SPEAKERS]
        if few:
            text = f"fewer than {FEWEST_SPEAKERS} speakers: {', '.join(map(named, few))}"
            refusals.append(Refusal("too_few_speakers", attribute, text, {"groups": few}))
        groups = [one for one in groups if one not in few]
        for other in groups[1:]:
            for name in read.recognizers:
                own = (trials["recognizer"] == name).to_numpy()
                for one in counts:
                    there = own & (columns[one.exposure] > 0.0)
                    ours, theirs = there & (group == other), there & (group == groups[0])
                    if columns[one.cases][ours | theirs].sum() < fewest:
                        continue
                    about: dict[str, Any] = {
                        **{"recognizer": name, "attribute": attribute, "group": other, "against": groups[0]},
                        **{"speakers": sizes[other], "speakers_against": sizes[groups[0]]},
                    }
                    questions.append((one, about, Rates(sums(one, ours), sums(one, theirs), shuffles)))
    judged = judge([rates for *_, rates in questions])
    found = []
    for (count, about, _), (answer,) in zip(questions, judged, strict=True):
        shown = answer.p_adjusted is not None and answer.p_adjusted <= LEVEL
        ratio = "infinitely" if not np.isfinite(answer.ratio) else f"{answer.ratio:.2f}"
        ends = " to ".join("no limit" if end is None else f"{end:.2f}" for end in (answer.low, answer.high))
        whom = f"{named(about['group'])} than for {named(about['against'])} ({about['attribute']})"
        sure = f"{ratio} times as many per {count.per} ({ends}), {p_value(answer.p_adjusted or 1.0)}"
        verb = count.verb if shown else f"is not shown to {count.verb.removesuffix('s')}"
        more = "more" if answer.ratio >= 1.0 else "fewer"
        found.append(
            Finding(
                finding_id(audit, about["recognizer"], about["attribute"], about["group"], count.measure),
                count.measure,
                "shown" if shown else "not_shown",
                f"{about['recognizer']} {verb} {more} {count.what} for {whom}: {sure}.",
                estimate=number_or_none(answer.ratio),
                low=answer.low,
                high=answer.high,
                unit="ratio",
                p=answer.p,
                p_adjusted=answer.p_adjusted,
                family=FAMILY,
                excludes=None if shown else answer.high,
                headline=shown,
                **about,
            )
        )
    return found, refusals


def _columns(count: Count) -> tuple[str, str, str]:
    return count.counted, count.exposure, count.cases
