"""What would enable an answer that an audit refuses: every refusal in a report says so."""

from __future__ import annotations

import re

from voxaudit.report.document import Refusal

_REMEDIES: tuple[tuple[str, str], ...] = (
    (
        r"difficulty",
        "measure it from the run's audio with `voxaudit quality RUN`, then `voxaudit report RUN`",
    ),
    (
        r"'duration'|score the run again",
        "run it again: nothing is heard twice, and utterances get their length",
    ),
    (
        r"reference text|nothing was scored|no references?\b",
        "give the corpus reference texts and run it again: nothing is heard twice",
    ),
    (
        r"unnamed|no speaker|speaker .*not known|known ones are needed",
        "name the speakers in the corpus, five or more",
    ),
    (
        r"(has|have) \d+ speaker|speakers? cannot|too few speakers|one speaker",
        "record more speakers of these groups",
    ),
    (
        r"no errors?\b|errors in .* too few|same word error rate",
        "more speech of these groups, or harder speech",
    ),
    (
        r"no clean speech|scenario 'clean'|clean twin",
        "let `clean` be among the scenarios and run the audit again",
    ),
    (r"heard by all", "let all recognizers hear the same scenarios: run the audit again"),
    (
        r"fewer than two groups|one group|no value",
        "speech of a second group, or another attribute",
    ),
    (r"two recognizers|another recognizer", "a run with two recognizers or more"),
)
"""What a reason says, and what helps against it; the first that fits counts."""

_OTHERWISE = {
    "robustness": "clean and disturbed speech with reference texts, by five named speakers or more",
    "disparity": "two groups of several speakers each, with reference texts",
    "parity": "more speakers in each group",
    "differential": "two recognizers, and five named speakers in each group",
    "words": "clean and disturbed speech heard by the same recognizer",
    "cases": "disturbed and clean speech with reference texts",
    "stutter": "make the audit again: `voxaudit stutter CORPUS --out RUN/stutter`, then `voxaudit report RUN`",
    "attack": "make the attack again: `voxaudit attack CORPUS --out RUN/attack`, then `voxaudit report RUN`",
}
"""What each chapter needs in general."""


def refuse(chapter: str, about: str, reason: str, remedy: str = "") -> Refusal:
    """Return a refusal of a chapter; where the audit names no remedy, the one that its reason calls for."""
    return Refusal(about, reason, remedy or remedy_for(chapter, reason))


def remedy_for(chapter: str, reason: str) -> str:
    """Return what would help against a reason, else what the chapter needs in general."""
    found = (remedy for pattern, remedy in _REMEDIES if re.search(pattern, reason))
    return next(found, _OTHERWISE.get(chapter, "more speech, by more speakers"))
