"""From the answers of a study to what they say: attention first, then the analysis of its kind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from voxaudit.answer import Answer, Note, tabulate
from voxaudit.errors import VoxauditError, one_line
from voxaudit.review.study.ratings import RATINGS, Comprehensibility, analyze_ratings
from voxaudit.review.study.study import CONFIDENCES, PRACTICE, Item, Study, finding, is_answer, open_answers
from voxaudit.stats.proportions import wilson_of
from voxaudit.stats.ttests import one_sample
from voxaudit.stats.weighted_choices import confidence_kappa
from voxaudit.tables import write_atomically
from voxaudit.wording import counted, p_value, percent, percent_interval


@dataclass(frozen=True)
class Judgment:
    """One answer: which pair, who, which of the two was taken for real, whether that is right, how sure (0 to 1)."""

    pair: str
    participant: str
    choice: int
    correct: bool
    confidence: float


@dataclass(frozen=True)
class PairResult:
    """A pair: how many people judged it, and the share who found the real recording, with Wilson's 95 % interval."""

    pair: str
    judgments: int
    correct: float
    low: float
    high: float


@dataclass(frozen=True)
class Realism:
    """All answers of a realism study.

    `accuracy` is the mean over participants of the share of pairs in which they found the real recording; chance is
    0.5; `t` and `p` test that it is 0.5. `kappa` is Fleiss' kappa with judgments weighted by confidence, near 0 where
    people do not agree on what is real. `real_score` and `generated_score` are the mean shares with which
    recordings of either kind were taken for real; `t_scores` and `p_scores` test over pairs of recordings that they
    are equal.
    """

    participants: int
    judgments: int
    accuracy: float
    low: float | None
    high: float | None
    t: float | None
    p: float | None
    confidence: float
    kappa: float | None
    real_score: float
    generated_score: float
    t_scores: float | None
    p_scores: float | None
    pairs: tuple[PairResult, ...]

    def answer(self) -> Answer:
        """Return everything in a table and sentences."""
        people, judgments = counted(self.participants, "participant"), counted(self.judgments, "judgment")
        told = "tell them apart" if self.accuracy > 0.5 else "take generated recordings for the real ones"
        farther = max((self.low or 0.0, self.high or 1.0), key=lambda limit: abs(limit - 0.5))
        verdict = "not_shown"
        means = f"people are not shown to tell generated recordings from real ones; {percent(farther)} is not excluded"
        if self.p is None:
            verdict, means = (
                "refused",
                "one participant, or all alike, cannot show whether people tell them apart",
            )
        elif self.p < 0.05:
            verdict, means = "shown", f"people {told}"
        p = "" if self.p is None else f", {p_value(self.p)} against 50 %"
        accuracy = finding(
            "accuracy",
            verdict,
            f"The real recording was found in {percent_interval(self.accuracy, self.low, self.high)} of the judgments"
            f" of {people}{p}: {means}.",
            self.accuracy,
            self.low,
            self.high,
            p=self.p,
            p_adjusted=self.p,
            excludes=farther if verdict == "not_shown" else None,
            headline=True,
        )
        test = (
            ""
            if self.p_scores is None
            else f" (t-test over pairs: t = {self.t_scores:.3f}, {p_value(self.p_scores)})"
        )
        scores = finding(
            "taken_for_real",
            "measured",
            f"Taken for real: {percent(self.real_score)} of real and {percent(self.generated_score)} of generated"
            f" recordings{test}.",
            self.real_score - self.generated_score,
            p=self.p_scores,
            headline=True,
        )
        kappa = "not defined here" if self.kappa is None else f"{self.kappa:.3f}"
        agreement = finding(
            "kappa_confidence",
            "refused" if self.kappa is None else "measured",
            f"Agreement, Fleiss' kappa weighted by confidence: {kappa}; mean confidence {self.confidence:.2f} of 1.",
            self.kappa,
            unit="kappa",
            headline=True,
        )
        table = tabulate(
            "pairs",
            "Who found the real recording",
            [asdict(pair) for pair in self.pairs],
            "pair; correct[low,high]: correct, percent; judgments: judgments, count",
        )
        return Answer(
            "study",
            "Listening study: real or generated",
            {"kind": "realism"},
            (accuracy, scores, agreement),
            [table],  # type: ignore[arg-type]
            notes=(
                Note(
                    "judgments",
                    f"{judgments} by {people}",
                    {
                        "judgments": self.judgments,
                        "participants": self.participants,
                        "confidence": self.confidence,
                        "t": self.t,
                        "t_scores": self.t_scores,
                    },
                ),
            ),
        )


def weight_of(level: int) -> float:
    """Return the weight of a level of confidence: 0 for very uncertain to 1 for very certain."""
    return level / (len(CONFIDENCES) - 1)


def analyze_judgments(judgments: Sequence[Judgment]) -> Realism:
    """Return what judgments of pairs say; people are the sample of the accuracy, recordings that of the scores."""
    if not judgments:
        raise VoxauditError("nobody has answered yet")
    people: dict[str, list[bool]] = {}
    pairs: dict[str, list[bool]] = {}
    for one in judgments:
        people.setdefault(one.participant, []).append(one.correct)
        pairs.setdefault(one.pair, []).append(one.correct)
    rates = np.array([np.mean(answers) for answers in people.values()])
    accuracy = float(rates.mean())
    variance = float(rates.var(ddof=1)) if len(rates) > 1 else float("nan")
    test = one_sample(len(rates), accuracy, variance, 0.5)
    real = np.array([np.mean(answers) for answers in pairs.values()])
    spread = float(real.var(ddof=1)) if len(real) > 1 else float("nan")
    # The paper compares both kinds by Welch's test; the two scores of a pair add up to 1, so one of them says it all.
    scores = one_sample(len(real), float(real.mean()), spread, 0.5)
    return Realism(
        participants=len(people),
        judgments=len(judgments),
        accuracy=accuracy,
        # A share has no limits outside of 0 and 1, whatever the t distribution of few people says.
        low=_known(max(float(test.low) + 0.5, 0.0)),
        high=_known(min(float(test.high) + 0.5, 1.0)),
        t=_known(test.t),
        p=_known(test.p),
        confidence=float(np.mean([one.confidence for one in judgments])),
        kappa=_kappa(judgments, list(pairs), list(people)),
        real_score=float(real.mean()),
        generated_score=1.0 - float(real.mean()),
        t_scores=_known(scores.t),
        p_scores=_known(scores.p),
        pairs=tuple(_pair(name, answers) for name, answers in pairs.items()),
    )


def _pair(name: str, answers: Sequence[bool]) -> PairResult:
    low, high = wilson_of(sum(answers), len(answers))
    return PairResult(name, len(answers), sum(answers) / len(answers), low, high)


def _kappa(judgments: Sequence[Judgment], pairs: Sequence[str], people: Sequence[str]) -> float | None:
    rows = {name: place for place, name in enumerate(pairs)}
    columns = {name: place for place, name in enumerate(people)}
    choices = np.full((len(rows), len(columns)), -1)
    weights = np.zeros(choices.shape)
    for one in judgments:
        at = (rows[one.pair], columns[one.participant])
        choices[at], weights[at] = one.choice, one.confidence
    return confidence_kappa(choices, weights, 2)


def _known(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None


ATTENTIVE_HIGH = 8
ATTENTIVE_LOW = 3
FORGIVEN = 1
"""Attention checks that somebody may fail: one slip is human."""


@dataclass(frozen=True)
class Analysis:
    """What a study found, and who was left out for failing the attention checks."""

    result: Comprehensibility | Realism
    finished: int
    """Participants who answered everything."""
    started: int
    inattentive: tuple[str, ...]
    ratings: pl.DataFrame | None
    """The ratings that count, as the differential audit reads them (`ratings`); None for other kinds of study."""

    def answer(self) -> Answer:
        """Return everything in tables and sentences, with who took part."""
        answer = self.result.answer()
        people = [
            Note(
                "participants",
                f"{counted(self.started, 'participant')} began, {self.finished} answered everything",
                {"started": self.started, "finished": self.finished},
            )
        ]
        if self.inattentive:
            people.append(
                Note(
                    "inattentive",
                    f"failed the attention checks: {', '.join(self.inattentive)}",
                    {"participants": list(self.inattentive)},
                    see=("keep_inattentive",),
                )
            )
        return replace(answer, notes=(*people, *answer.notes))


def analyze_study(study: Study, *, keep_inattentive: bool = False, exclude: Iterable[str] = ()) -> Analysis:
    """Return the analysis of all answers so far; a study can be looked at while it runs."""
    items = {item.id: item for item in study.items}
    with open_answers(study.folder) as store:
        rows = [(who, items[item], answer) for who, item, answer in store.all() if item in items]
    if not rows:
        raise VoxauditError(
            f"{study.folder}: nobody has answered yet. `voxaudit study serve` shows the links"
        )
    for who, item, answer in rows:
        if not is_answer(study.kind, answer):
            raise VoxauditError(
                f"{study.folder}: answers.sqlite: the answer of {one_line(who, 40)} to item"
                f" {one_line(item.id, 40)} is not one that this study takes"
            )
    answered: dict[str, int] = {}
    checked: dict[str, list[tuple[Item, dict[str, Any]]]] = {}
    for who, item, answer in rows:
        answered[who] = answered.get(who, 0) + 1
        if item.check and item.check != PRACTICE:
            checked.setdefault(who, []).append((item, answer))
    inattentive = tuple(sorted(who for who, checks in checked.items() if not listened(checks)))
    left = set() if keep_inattentive else set(inattentive)
    kept = [(who, item, answer) for who, item, answer in rows if who not in left and not item.check]
    if not kept:
        raise VoxauditError(
            f"{study.folder}: no answer is left without those who failed the attention checks"
        )
    asked = study.each + len(study.checks) + len(study.practice)
    ratings = _ratings(study, kept) if study.kind == "comprehensibility" else None
    result = _realism(kept) if ratings is None else analyze_ratings(ratings, exclude)
    finished = sum(count >= asked for count in answered.values())
    return Analysis(result, finished, len(answered), inattentive, ratings)


def listened(checks: Sequence[tuple[Item, dict[str, Any]]]) -> bool:
    """Say whether somebody's answers to attention checks are those of a listener: at most one of them is wrong.

    Ratings must also tell the checks apart: the same answer everywhere is none, however few checks there are.
    """
    if sum(not attentive(item, answer) for item, answer in checks) > FORGIVEN:
        return False
    high, low = (
        [answer["rating"] for item, answer in checks if item.check == kind] for kind in ("high", "low")
    )
    return not (high and low) or float(np.mean(low)) < float(np.mean(high))


def attentive(item: Item, answer: dict[str, Any]) -> bool:
    """Say whether an answer is what somebody who listens gives; every answer to a question proper is."""
    if item.check == "high":
        return bool(answer["rating"] >= ATTENTIVE_HIGH)
    if item.check == "low":
        return bool(answer["rating"] <= ATTENTIVE_LOW)
    return item.check != "real" or answer["choice"] == item.real


def write_ratings(ratings: pl.DataFrame, path: str | Path) -> None:
    """Write ratings as CSV for the differential audit."""
    write_atomically(Path(path), ratings.write_csv)


def _ratings(study: Study, kept: list[tuple[str, Item, dict[str, Any]]]) -> pl.DataFrame:
    place = {item.id: number for number, item in enumerate(study.items)}
    ordered = sorted(kept, key=lambda row: (place[row[1].id], row[0]))
    rows = [(item.perturbation, item.setting, who, float(answer["rating"])) for who, item, answer in ordered]
    return pl.DataFrame(
        rows,
        schema=dict(zip(RATINGS, (pl.String, pl.String, pl.String, pl.Float64), strict=True)),
        orient="row",
    )


def _realism(kept: list[tuple[str, Item, dict[str, Any]]]) -> Realism:
    return analyze_judgments(
        [
            Judgment(
                item.utterance,
                who,
                answer["choice"],
                answer["choice"] == item.real,
                weight_of(answer["confidence"]),
            )
            for who, item, answer in kept
        ]
    )
