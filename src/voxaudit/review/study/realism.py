"""Realism: can people tell generated recordings from real ones? (ASTER, RQ1)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from voxaudit.errors import VoxauditError
from voxaudit.review.study.study import CONFIDENCES
from voxaudit.stats.proportions import wilson_of
from voxaudit.stats.ttests import one_sample
from voxaudit.stats.weighted_choices import confidence_kappa


@dataclass(frozen=True)
class Judgement:
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
    judgements: int
    correct: float
    low: float
    high: float


@dataclass(frozen=True)
class Realism:
    """All answers of a realism study.

    `accuracy` is the mean over participants of the share of pairs in which they found the real recording; chance is
    0.5; `t` and `p` test that it is 0.5. `kappa` is Fleiss' kappa with judgements weighted by confidence, near 0 where
    people do not agree on what is real. `real_score` and `generated_score` are the mean shares with which
    recordings of either kind were taken for real; `t_scores` and `p_scores` test over pairs of recordings that they
    are equal.
    """

    participants: int
    judgements: int
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

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {"kind": "realism", **asdict(self)}


def weight_of(level: int) -> float:
    """Return the weight of a level of confidence: 0 for very uncertain to 1 for very certain."""
    return level / (len(CONFIDENCES) - 1)


def analyze_judgements(judgements: Sequence[Judgement]) -> Realism:
    """Return what judgements of pairs say; people are the sample of the accuracy, recordings that of the scores."""
    if not judgements:
        raise VoxauditError("nobody has answered yet")
    people: dict[str, list[bool]] = {}
    pairs: dict[str, list[bool]] = {}
    for one in judgements:
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
        judgements=len(judgements),
        accuracy=accuracy,
        low=_known(test.low + 0.5),
        high=_known(test.high + 0.5),
        t=_known(test.t),
        p=_known(test.p),
        confidence=float(np.mean([one.confidence for one in judgements])),
        kappa=_kappa(judgements, list(pairs), list(people)),
        real_score=float(real.mean()),
        generated_score=1.0 - float(real.mean()),
        t_scores=_known(scores.t),
        p_scores=_known(scores.p),
        pairs=tuple(_pair(name, answers) for name, answers in pairs.items()),
    )


def _pair(name: str, answers: Sequence[bool]) -> PairResult:
    low, high = wilson_of(sum(answers), len(answers))
    return PairResult(name, len(answers), sum(answers) / len(answers), low, high)


def _kappa(judgements: Sequence[Judgement], pairs: Sequence[str], people: Sequence[str]) -> float | None:
    rows = {name: place for place, name in enumerate(pairs)}
    columns = {name: place for place, name in enumerate(people)}
    choices = np.full((len(rows), len(columns)), -1)
    weights = np.zeros(choices.shape)
    for one in judgements:
        at = (rows[one.pair], columns[one.participant])
        choices[at], weights[at] = one.choice, one.confidence
    return confidence_kappa(choices, weights, 2)


def _known(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None
