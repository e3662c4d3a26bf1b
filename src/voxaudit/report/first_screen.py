"""The first screen: which findings answer what everybody asks, in which order. Audits decide and word them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from voxaudit.answer import Finding
from voxaudit.perturb import CLEAN
from voxaudit.render.document import Question

MOST_OPEN = 3
"""Lines on what the data cannot tell."""
OPEN = "What these data cannot tell"
ELSE = "What else was found?"


@dataclass(frozen=True)
class Choice:
    """A question, and what answers it: kinds of findings as (audit, measure), the most telling first.

    `clean` is whether they are about clean speech, None where that does not matter. With `by_attribute`, what is shown
    comes first, the widest gap in front, and of an attribute without a gap shown only what leaves most open.
    """

    title: str
    kinds: tuple[tuple[str, str], ...]
    clean: bool | None = None
    by_attribute: bool = False
    leading: int = 1
    """Kinds whose findings stand before what is left open."""
    first: int = 6
    """Answers in sight; the others fold away."""


QUESTIONS: tuple[tuple[Choice, ...], ...] = (
    (
        Choice("Which recognizer?", (("versus", "best"),)),
        Choice("How well does it hear?", (("accuracy", "wer"),), clean=True),
        Choice("How much do recognizers disagree?", (("differential", "clean_disagreement"),)),
    ),
    (
        Choice(
            "Where does it break?",
            (
                ("accuracy", "wer"),
                ("robustness", "werd"),
                ("breaking", ""),
                ("attack", ""),
                ("localize", "words"),
            ),
            clean=False,
            first=2,
        ),
    ),
    (
        Choice(
            "For whom?",
            (
                ("parity", "wer_gap_fixed"),  # what holds with all else fixed comes first
                ("disparity", "wer_ratio"),
                ("parity", "crossed_worst"),
                ("parity", "crossed_best"),
                ("slices", "slice_ratio"),
                ("differential", "clean_disagreement"),
                ("robustness", "wer_ratio"),
                ("differential", "wer_growth"),
                ("differential", "disagreement_growth"),
                ("localize", "group_words"),
            ),
            by_attribute=True,
            leading=2,
        ),
    ),
    (Choice("Can people who stutter use it?", (("stutter", ""),)),),
    (
        Choice(
            "Does it make things up?",
            (
                ("robustness", "words_per_minute"),
                ("hallucination", "unsupported_words_per_minute"),
                ("hallucination", "loops_words_per_minute"),
            ),
        ),
    ),
    (
        Choice(
            "Which errors matter?", (("keywords", "serious_error_rate"), ("keywords", "keyword_error_rate"))
        ),
    ),
    (Choice("How long does one wait?", (("waiting", ""),), first=3),),
    (Choice("Does it know when it is wrong?", (("confidence", ""),), first=3),),
    (Choice("How far can the figures be trusted?", (("accuracy", "normalizer_difference"),)),),
)
"""Of several choices the first that has an answer is asked: which recognizer is better needs two and their words."""


def first_screen(findings: Iterable[Finding]) -> tuple[Question, ...]:
    """Return the questions of the first screen with the findings that answer them; what is left open comes last.

    >>> rate = Finding("accuracy/a/clean/wer", "wer", "measured", "...", 0.1, scenario="clean", headline=True)
    >>> [(one.title, len(one.answers)) for one in first_screen([rate])]
    [('How well does it hear?', 1)]
    """
    headlines = list({one.sentence: one for one in findings if one.headline}.values())
    # A trial that failed is in no rate: like what was refused, it limits what the others say.
    unsaid = [one for one in headlines if one.verdict == "refused" or one.measure == "failures"]
    said = [one for one in headlines if one not in unsaid]
    screen: list[Question] = []
    used: set[str] = set()
    for choices in QUESTIONS:
        for choice in choices:
            answers = [one for one in _answers(choice, said) if one.id not in used]
            if answers:
                used |= {one.id for one in answers}
                screen.append(_question(choice.title, answers, choice.first))
                break
    known = {audit for choices in QUESTIONS for choice in choices for audit, _ in choice.kinds}
    if others := [one for one in said if one.audit not in known]:
        screen.append(_question(ELSE, others))
    if unsaid:
        screen.append(_question(OPEN, unsaid[:MOST_OPEN]))
    return tuple(screen)


def _question(title: str, answers: Sequence[Finding], first: int = MOST_OPEN) -> Question:
    chapters = tuple(dict.fromkeys(one.audit for one in answers))
    return Question(title, tuple(answers), chapters, first)


def _answers(choice: Choice, findings: Sequence[Finding]) -> list[Finding]:
    found = []
    for audit, measure in choice.kinds:
        own = [one for one in findings if one.audit == audit and measure in ("", one.measure)]
        if choice.clean is not None:
            own = [one for one in own if (one.scenario == CLEAN) == choice.clean]
        found += sorted(own, key=lambda one: -_size(one)) if choice.by_attribute else own
    if not choice.by_attribute:
        return found
    shown = [one for one in found if one.verdict == "shown"]
    open_: dict[str | None, Finding] = {}
    for one in found:
        if one.attribute not in {other.attribute for other in shown}:
            first = open_.setdefault(one.attribute, one)
            if (one.audit, one.measure) == (first.audit, first.measure) and _left(one) > _left(first):
                open_[one.attribute] = one
    leading = [one for one in shown if (one.audit, one.measure) in choice.kinds[: choice.leading]]
    return [*leading, *open_.values(), *(one for one in shown if one not in leading)]


def _size(finding: Finding) -> float:
    """Return how far a finding is from no difference; a half is as far as a double, and what has no end farthest."""
    return math.inf if finding.estimate is None else _distance(finding, finding.estimate)


def _left(finding: Finding) -> float:
    return math.inf if finding.excludes is None else _distance(finding, finding.excludes)


def _distance(finding: Finding, value: float) -> float:
    if finding.unit != "ratio":
        return abs(value)
    return abs(math.log(value)) if value > 0.0 else math.inf
