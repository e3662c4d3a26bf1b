"""Real disfluent speech: error rates against what is meant and what can be heard, by kind and rate of events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from voxaudit.audits.audit import OPTIONS, SUMMARIES, Audit, Option

if TYPE_CHECKING:
    from voxaudit.audits.scores import Scores


def questions(scores: Scores, attributes: Sequence[str]) -> list[Mapping[str, Any]]:
    """Return what a report asks: of a run whose corpus says what can be heard and which events there are."""
    from voxaudit.corpus.disfluent import EVENT_LIST, SURFACE

    return [{}] if {SURFACE, EVENT_LIST} <= set(scores.frame.columns) else []


AUDIT = Audit(
    name="disfluent",
    title="Real disfluent speech",
    summary=SUMMARIES["disfluent"],
    example=("runs/fluencybank", {"beside": "runs/stutter"}),
    options={
        "beside": Option(
            "the folder of a stutter audit: do its generated cases fail as the real ones do?",
            "file",
            "FOLDER",
        ),
        "normalizer": OPTIONS["normalizer"].noting("default: keep-fillers"),
    },
    source_help="a run on a corpus with the columns surface and events (chat, fluencybank_timestamped ...), or a"
    " table of transcripts with them",
    questions=questions,
)
