"""Error rates before and after: against what is meant and against what can be heard, fillers kept or removed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from itertools import combinations, product
from typing import Any

import polars as pl

from voxaudit.audits.stutter.search import NORMALIZER, Case, clips_for
from voxaudit.perturb import CLEAN, trial_generator
from voxaudit.perturb.stutter.aster import FILLER_WORDS
from voxaudit.perturb.stutter.base import Clip, StutterError
from voxaudit.perturb.stutter.chain import Chain
from voxaudit.perturb.stutter.measured import FILLER_RATE, PROFILES
from voxaudit.perturb.stutter.profiles import speaker_rate
from voxaudit.perturb.stutter.recordings import Recording
from voxaudit.perturb.stutter.sample import PROFILE, sample_chain
from voxaudit.run.session import Session
from voxaudit.score import Counts, normalizer, score_transcripts, total, word_counts
from voxaudit.stats.paired import Change, mann_whitney, paired_change
from voxaudit.stats.rates import rate_intervals

TARGETS = ("intended", "surface")
FILLERS = ("kept", "removed")

RATES = ("wer", "mer", "wil")


@dataclass(frozen=True)
class Cost:
    """What stuttering costs one recognizer: its rates before (`_original`) and after, and the `Change` between them.

    `_selected` are the rates of the cases that the search kept; `against` those of all cases against the intended and
    the surface text, fillers kept and removed. Without a recording that was heard both ways there is no change.
    """

    cases: int
    wer: float | None
    wer_original: float | None
    werd: float | None
    low: float | None
    high: float | None
    p: float | None
    speakers: int | None
    utterances: int | None = None
    mer: float | None = None
    wil: float | None = None
    mer_original: float | None = None
    wil_original: float | None = None
    wer_selected: float | None = None
    mer_selected: float | None = None
    wil_selected: float | None = None
    against: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    u: float | None = None
    p_u_published: float | None = None
    effect: float | None = None


def cost(table: pl.DataFrame) -> Cost:
    """Return the cost of one recognizer's trials: originals and cases."""
    after, before = table.filter(pl.col("chain") != ""), table.filter(pl.col("chain") == "")
    parts = {"": rates(after), "_original": rates(before), "_selected": rates(after.filter("kept"))}
    moved = change(table)
    return Cost(
        cases=after.height,
        against={
            target: {
                f"fillers_{fillers}": {name: getattr(one, name) for name in (*RATES, "words")}
                for fillers in FILLERS
                for one in [rates(after, target, fillers)]
            }
            for target in TARGETS
        },
        **{f"{name}{part}": getattr(one, name) for part, one in parts.items() for name in RATES},
        **(dict.fromkeys(one.name for one in fields(Change)) if moved is None else asdict(moved)),
    )


def without_fillers(text: str) -> str:
    """Return a normalized text without um, uh, er and the like."""
    return " ".join(word for word in text.split() if word not in FILLER_WORDS)


def trial_table(
    cases: Iterable[Case], originals: Mapping[str, Mapping[str, str | None]], texts: Mapping[str, str]
) -> pl.DataFrame:
    """Return one row per (case or original, recognizer): who said it, what is meant, what can be heard, what was heard.

    `texts` are the intended texts by utterance; the chain of an original is empty. Failed trials are left out. `seed`,
    `m1`, `m2` and `r` are the case's, the similarities this answer's.
    """
    names = ("utterance", "speaker", "recognizer", "chain", "kind", "kept", "intended", "surface", "heard")
    numbers = {"seed": pl.Int64, "m1": pl.Float64, "m2": pl.Float64, "r": pl.Float64}
    alike = {"similarity": pl.Float64, "similarity_intended": pl.Float64}
    schema = {name: pl.Boolean if name == "kept" else pl.String for name in names} | numbers | alike
    rows = []
    speakers: dict[str, str | None] = {}
    for case in cases:
        speakers[case.utterance] = case.speaker
        about: dict[str, Any] = {
            name: getattr(case, name) for name in (*names, *numbers) if name not in ("recognizer", "heard")
        }
        rows += [
            {
                **about,
                "recognizer": name,
                "heard": heard,
                "similarity": case.similarity.get(name),
                "similarity_intended": case.similarity_intended.get(name),
            }
            for name, heard in case.transcripts.items()
        ]
    for id_, said in originals.items():
        if id_ in speakers:
            about = {"utterance": id_, "speaker": speakers[id_], "chain": "", "kind": "", "kept": False}
            about |= {"intended": texts[id_], "surface": texts[id_]}
            rows += [{**about, "recognizer": name, "heard": heard} for name, heard in said.items()]
    return pl.DataFrame([row for row in rows if row["heard"] is not None], schema=schema)


def rates(table: pl.DataFrame, target: str = "intended", fillers: str = "kept") -> Counts:
    """Return the pooled counts of a trial table against the intended or the surface text; rates are views of them."""
    return total(_counts(table, target, fillers))


def change(table: pl.DataFrame, *, seed: int = 0) -> Change | None:
    """Return how one recognizer's trials differ between originals and cases; None where there is nothing to pair."""
    return paired_change(scored(table).with_columns(after=pl.col("chain") != ""), seed=seed)


def scored(table: pl.DataFrame) -> pl.DataFrame:
    """Return trials with their counts, `errors` and `words` against what is meant."""
    return pl.concat([table, _counts(table, "intended", "kept")], how="horizontal").with_columns(
        errors=pl.sum_horizontal("substitutions", "deletions", "insertions"),
        words=pl.sum_horizontal("hits", "substitutions", "deletions"),
    )


def _counts(table: pl.DataFrame, target: str, fillers: str) -> pl.DataFrame:
    said, heard = table[target], table["heard"]
    if fillers == "removed":
        said = said.map_elements(without_fillers, return_dtype=pl.String)
        heard = heard.map_elements(without_fillers, return_dtype=pl.String)
    return word_counts(said, heard)


def by_kind(table: pl.DataFrame, kinds: Sequence[str]) -> dict[str, pl.DataFrame]:
    """Return, for each kind of stuttering, the cases with one event, of that kind, with their originals.

    One event each: kinds that are compared must not differ in how many there are.
    """
    chains = table["chain"].unique().to_list()
    held = {chain: [operation.kind for operation in Chain.parse(chain).operations] for chain in chains}
    found = {}
    for name in kinds:
        alone = [chain for chain in chains if held[chain] == [name]]
        cases = table.filter(pl.col("chain").is_in(alone))
        ids = cases["utterance"].unique()
        before = table.filter((pl.col("chain") == "") & pl.col("utterance").is_in(ids.implode()))
        found[name] = pl.concat([cases, before])
    return found


@dataclass(frozen=True)
class Comparison:
    """Two kinds, recognizers or selections on the same recordings: how much higher the error rate of `one` is.

    `difference`, `low`, `high` and `p` are as those of a `Change`, recordings paired and speakers the sample.
    `p_runs` is the paper's Mann-Whitney test over the `runs` (one per seed), for comparison with it.
    """

    family: str
    recognizer: str
    one: str
    other: str
    wer_one: float
    wer_other: float
    difference: float
    low: float | None
    high: float | None
    p: float | None
    speakers: int
    utterances: int
    runs: int
    p_runs: float | None


def compare(table: pl.DataFrame, kinds: Sequence[str]) -> list[Comparison]:
    """Compare kinds (one event each), recognizers and selections, on the recordings that have both.

    Selections are the cases that were kept against a random draw of as many from all cases and the original; the draw
    is replaced by its expectation, a recording's mean over all its cases and the original.
    """
    table = scored(table).with_columns(weight=1.0)
    by_name = {str(name): own for (name,), own in table.group_by("recognizer", maintain_order=True)}
    cases = {name: own.filter(pl.col("chain") != "") for name, own in by_name.items()}
    found = []
    for name, own in by_name.items():
        parts = {kind: part.filter(pl.col("chain") != "") for kind, part in by_kind(own, kinds).items()}
        for other, one in combinations([kind for kind in kinds if parts[kind].height], 2):
            found += _compared("kinds", name, (one, parts[one]), (other, parts[other]))
    for other, one in combinations(cases, 2):
        keys = ("utterance", "chain", "seed")
        pair = [
            (one, cases[one].join(cases[other], keys, "semi")),
            (other, cases[other].join(cases[one], keys, "semi")),
        ]
        found += _compared("recognizers", "", *pair)
    for name, own in cases.items():
        kept = own.filter("kept")
        if 0 < kept.height < own.height:
            originals = by_name[name].filter(pl.col("chain") == "").drop("seed")
            originals = originals.join(own.select("utterance", "seed").unique(), "utterance")
            each = ["utterance", "seed"]
            every = pl.concat([own, originals.select(own.columns)]).join(
                kept.group_by(each).len("kept_"), each
            )
            every = every.with_columns(weight=pl.col("kept_") / pl.len().over(each))
            found += _compared("selections", name, ("front", kept), ("random, as many", every))
    return found


def _compared(
    family: str, recognizer: str, one: tuple[str, pl.DataFrame], other: tuple[str, pl.DataFrame]
) -> list[Comparison]:
    names = ("errors", "words")
    parts = [
        part.select("utterance", "speaker", "seed", *(pl.col(name) * pl.col("weight") for name in names))
        for _, part in (one, other)
    ]
    first, second = (part.join(parts[1 - n], "utterance", "semi") for n, part in enumerate(parts))
    moved = paired_change(
        pl.concat([first.with_columns(after=pl.lit(True)), second.with_columns(after=pl.lit(False))])
    )
    if moved is None:
        return []
    rate = pl.col("errors").sum() / pl.col("words").sum()
    runs = [part.group_by("seed").agg(rate=rate)["rate"].to_numpy() for part in (first, second)]
    count = min(map(len, runs))
    return [
        Comparison(
            family,
            recognizer,
            one[0],
            other[0],
            float(first.select(rate).item()),
            float(second.select(rate).item()),
            *(moved.werd, moved.low, moved.high, moved.p, moved.speakers, moved.utterances),
            count,
            mann_whitney(*runs) if count >= 3 else None,
        )
    ]


@dataclass(frozen=True)
class DosePoint:
    """The word error rate of one recognizer at one rate; `events` is what was put in per 100 words.

    `attribute` and `group` are those of the speakers, None for all of them.
    """

    recognizer: str
    rate: float
    events: float
    wer: float
    low: float | None
    high: float | None
    words: int
    speakers: int
    mixture: str
    mer: float | None = None
    wil: float | None = None
    attribute: str | None = None
    group: str | None = None

    @property
    def severity(self) -> str:
        """What its rate is called."""
        return severity_name(self.rate, self.mixture)


def severity_name(rate: float, mixture: str) -> str:
    """Return what a rate of stuttering is called: mild, moderate, severe, or the number."""
    named = PROFILES.values() if mixture == PROFILE else ()
    return next((one.name for one in named if one.rate == rate), f"{rate:g}")


def hear_doses(
    recordings: Sequence[Recording],
    session: Session,
    doses: Sequence[float],
    mixture: str,
    *,
    seeds: Sequence[int] = (0,),
    severity: int | None = None,
    clips: Sequence[Clip] = (),
    mode: str = "realistic",
    style: str = "read",
) -> pl.DataFrame:
    """Hear every recording once per seed at each rate (events per 100 words; 0 is the original): one row per answer.

    `mixture` gives the shares of the kinds of stuttering. In the mode `realistic` each speaker has a rate of their own
    about the dose, and the style `conversation` adds fillers.
    """
    normalize = normalizer(NORMALIZER)
    texts = {recording.utterance.id: normalize(recording.text) for recording in recordings}
    fillers = FILLER_RATE if style == "conversation" and mode == "realistic" else 0.0
    rows = []
    for dose, seed in product(doses, seeds):
        asked, events = [], []
        for recording in recordings:
            about = recording.utterance
            generator = trial_generator(seed, f"stutter-dose:{mode}:{dose:g}:{mixture}", about.id)
            rate = dose
            if mode == "realistic" and dose:
                own = trial_generator(seed, f"stutter-speaker:{dose:g}", about.speaker or about.id)
                rate = min(speaker_rate(dose, own), 500.0)
            try:
                chain = sample_chain(
                    recording.timings,
                    mixture,
                    rate,
                    severity,
                    generator,
                    mode=mode,
                    clips=clips_for(recording, clips),
                    fillers=fillers if dose else 0.0,
                )
                audio = recording.audio()
                chain(audio.samples, audio.rate, recording.timings, clips)
            except StutterError:  # no place for any kind of the mixture: said by the search already
                continue
            asked.append((about, str(chain) or CLEAN))
            events.append(len(chain))
        for name, outcomes in session.hear(asked).items():
            called = severity_name(dose, mixture)
            rows += [
                (
                    name,
                    dose,
                    called,
                    seed,
                    u.id,
                    u.speaker,
                    texts[u.id],
                    normalize(one.transcript.text),
                    count,
                )
                for (u, _), one, count in zip(asked, outcomes, events, strict=True)
                if one.transcript is not None
            ]
    numbers = {"rate": pl.Float64, "seed": pl.Int64, "events": pl.Int64}
    names = ("recognizer", "rate", "severity", "seed", "utterance", "speaker", "intended", "heard", "events")
    return pl.DataFrame(rows, {name: numbers.get(name, pl.String) for name in names}, orient="row")


def dose_response(
    heard: pl.DataFrame, recordings: Sequence[Recording], mixture: str, attributes: Sequence[str] = ()
) -> tuple[DosePoint, ...]:
    """Return the error rates of what `hear_doses` heard; the groups of `attributes` have points of their own."""
    counted = scored(heard)
    points = _dose_points(counted, mixture, None, None)
    known = {r.utterance.id: r.utterance.attributes for r in recordings}
    for attribute in attributes:
        groups = pl.Series([str(known[id_].get(attribute) or "") for id_ in counted["utterance"]])
        for group in sorted(set(groups.to_list()) - {""}):
            points += _dose_points(counted.filter(groups == group), mixture, attribute, group)
    return tuple(points)


def score_table(
    table: pl.DataFrame, doses: pl.DataFrame, kinds: Sequence[str], recordings: Sequence[Recording]
) -> pl.DataFrame:
    """Return one row of counts per trial, for every audit of scores: `clean`, each kind alone, each dose as scenarios.

    Errors are against what is meant. Cases with several events are not there: the search chose them for their errors.
    """
    originals = table.filter(pl.col("chain") == "").with_columns(scenario=pl.lit(CLEAN))
    parts = [
        one.filter(pl.col("chain") != "").with_columns(scenario=pl.lit(kind))
        for kind, one in by_kind(table, kinds).items()
    ]
    doses = doses.filter(pl.col("rate") > 0).with_columns(scenario="severity")
    trials = pl.concat(
        [
            one.select("utterance", "scenario", "recognizer", "seed", text="heard", failure=pl.lit(""))
            for one in (originals, *parts, doses)
        ]
    )
    names = dict.fromkeys(
        name for r in recordings for name in ("id", "speaker", "text", *r.utterance.attributes)
    )
    corpus = pl.DataFrame(
        [
            {**r.utterance.attributes, "id": r.utterance.id, "speaker": r.utterance.speaker, "text": r.text}
            for r in recordings
        ],
        dict.fromkeys(names, pl.String),
    )
    scores = score_transcripts(trials, corpus, NORMALIZER).scores
    return scores.with_columns(trials["seed"])


def _dose_points(
    counted: pl.DataFrame, mixture: str, attribute: str | None, group: str | None
) -> list[DosePoint]:
    if counted.is_empty():
        return []
    by = ["recognizer", "rate"]
    limits = rate_intervals(counted, by).select(*by, "speakers", low="ci_low", high="ci_high")
    points = []
    for (name, rate), part in counted.group_by(by, maintain_order=True):
        sums = total(part)
        found = limits.filter((pl.col("recognizer") == name) & (pl.col("rate") == rate)).row(0, named=True)
        words = int(part["words"].sum())
        points.append(
            DosePoint(
                str(name),
                float(str(rate)),
                100 * int(part["events"].sum()) / words if words else 0.0,
                float("nan") if sums.wer is None else sums.wer,
                found["low"],
                found["high"],
                words,
                found["speakers"],
                mixture,
                sums.mer,
                sums.wil,
                attribute,
                group,
            )
        )
    return points
