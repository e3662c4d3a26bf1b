"""Error rates before and after: against what is meant and against what can be heard, fillers kept or removed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import polars as pl

from voxaudit.audits.stutter.search import NORMALIZER, Case
from voxaudit.perturb import CLEAN, trial_generator
from voxaudit.perturb.stutter import Chain, Clip, StutterError, sample_chain
from voxaudit.perturb.stutter.interjection import FILLER_WORDS
from voxaudit.perturb.stutter.recordings import Recording
from voxaudit.run.session import Session
from voxaudit.score import Counts, normalizer, total, word_counts
from voxaudit.stats.paired import Change, paired_change
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
                for fillers, one in ways.items()
            }
            for target, ways in all_rates(after).items()
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

    `texts` are the intended texts by utterance; the chain of an original is empty. Failed trials are left out.
    """
    names = ("utterance", "speaker", "recognizer", "chain", "kind", "kept", "intended", "surface", "heard")
    schema = {name: pl.Boolean if name == "kept" else pl.String for name in names}
    rows = []
    speakers: dict[str, str | None] = {}
    for case in cases:
        speakers[case.utterance] = case.speaker
        about: dict[str, Any] = {
            name: getattr(case, name) for name in names if name not in ("recognizer", "heard")
        }
        rows += [{**about, "recognizer": name, "heard": heard} for name, heard in case.transcripts.items()]
    for id_, said in originals.items():
        if id_ in speakers:
            about = {"utterance": id_, "speaker": speakers[id_], "chain": "", "kind": "", "kept": False}
            about |= {"intended": texts[id_], "surface": texts[id_]}
            rows += [{**about, "recognizer": name, "heard": heard} for name, heard in said.items()]
    return pl.DataFrame([row for row in rows if row["heard"] is not None], schema=schema)


def rates(table: pl.DataFrame, target: str = "intended", fillers: str = "kept") -> Counts:
    """Return the pooled counts of a trial table against the intended or the surface text; rates are views of them."""
    return total(_counts(table, target, fillers))


def all_rates(table: pl.DataFrame) -> dict[str, dict[str, Counts]]:
    """Return {target: {fillers: counts}} for all four ways of scoring."""
    return {target: {fillers: rates(table, target, fillers) for fillers in FILLERS} for target in TARGETS}


def change(table: pl.DataFrame, *, seed: int = 0) -> Change | None:
    """Return how one recognizer's trials differ between originals and cases; None where there is nothing to pair."""
    counts = pl.concat([table, _errors(_counts(table, "intended", "kept"))], how="horizontal")
    return paired_change(counts.with_columns(after=pl.col("chain") != ""), seed=seed)


def _errors(counts: pl.DataFrame) -> pl.DataFrame:
    return counts.select(
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
    """Return, for each kind of stuttering, the cases that hold no other, with their originals."""
    chains = table["chain"].unique().to_list()
    held = {chain: {operation.kind for operation in Chain.parse(chain).operations} for chain in chains}
    found = {}
    for name in kinds:
        alone = [chain for chain in chains if held[chain] == {name}]
        cases = table.filter(pl.col("chain").is_in(alone))
        ids = cases["utterance"].unique()
        before = table.filter((pl.col("chain") == "") & pl.col("utterance").is_in(ids.implode()))
        found[name] = pl.concat([cases, before])
    return found


@dataclass(frozen=True)
class DosePoint:
    """The word error rate of one recognizer at one rate; `events` is what was put in per 100 words."""

    recognizer: str
    rate: float
    events: float
    wer: float
    low: float | None
    high: float | None
    words: int
    speakers: int
    mixture: str


def dose_response(
    recordings: Sequence[Recording],
    session: Session,
    doses: Sequence[float],
    mixture: str,
    *,
    seed: int = 0,
    severity: int | None = None,
    clips: Sequence[Clip] = (),
) -> tuple[DosePoint, ...]:
    """Hear every recording once at each rate (events per 100 words; 0 is the original) and score it as intended.

    `mixture` gives the shares of the kinds of stuttering.
    """
    normalize = normalizer(NORMALIZER)
    texts = {recording.utterance.id: normalize(recording.text) for recording in recordings}
    rows = []
    for dose in doses:
        asked, events = [], {}
        for recording in recordings:
            generator = trial_generator(seed, f"stutter-dose:{dose:g}:{mixture}", recording.utterance.id)
            try:
                chain = sample_chain(recording.timings, mixture, dose, severity, generator, clips=clips)
            except StutterError:  # no place for any kind of the mixture: said by the search already
                continue
            asked.append((recording.utterance, str(chain) or CLEAN))
            events[recording.utterance.id] = len(chain)
        for name, outcomes in session.hear(asked).items():
            rows += [
                (name, dose, u.speaker, texts[u.id], normalize(outcome.transcript.text), events[u.id])
                for (u, _), outcome in zip(asked, outcomes, strict=True)
                if outcome.transcript is not None
            ]
    names = ["recognizer", "rate", "speaker", "said", "heard", "events"]
    table = pl.DataFrame(rows, schema=names, orient="row")
    if table.is_empty():
        return ()
    counts = _errors(word_counts(table["said"], table["heard"]))
    counted = pl.concat([table, counts], how="horizontal")
    by = ["recognizer", "rate"]
    limits = rate_intervals(counted, by).select(*by, "speakers", low="ci_low", high="ci_high")
    sums = counted.group_by(by, maintain_order=True).agg(pl.col("errors", "words", "events").sum())
    spoken = pl.col("words") > 0
    points = sums.join(limits, on=by, maintain_order="left").with_columns(
        wer=pl.when(spoken).then(pl.col("errors") / pl.col("words")).otherwise(float("nan")),
        events=pl.when(spoken).then(100 * pl.col("events") / pl.col("words")).otherwise(0.0),
        mixture=pl.lit(mixture),
    )
    return tuple(DosePoint(**row) for row in points.drop("errors").iter_rows(named=True))
