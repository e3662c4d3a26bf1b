"""Hear no more than is needed: speakers one by one, intervals valid at every look, cells stopped when settled."""

from voxaudit.audits.audit import OPTIONS, SUMMARIES, Audit, Option, where_kept

RECORD = "sequential.json"
"""What an audit that stopped early leaves in its run's folder."""


AUDIT = Audit(
    name="sequential",
    title="Stopped early",
    summary=SUMMARIES["sequential"],
    example=("runs/last", {"attribute": "gender", "per_speaker": 4}),
    source="SOURCE",
    source_help="a run's folder or a table of scores, to see what stopping early would have saved; or, where"
    " recognizers are named, a corpus to hear",
    options={
        "recognizers": OPTIONS["recognizers"].noting("default: none, and a finished run is replayed"),
        "attribute": OPTIONS["attribute"].noting(
            "stop when a gap of it is shown, is shown to be small, or is out of reach"
        ),
        "precision": Option(
            "stop when the word error rate is known to this share of words, such as 0.02", "number", "X"
        ),
        "only_precision": Option("stop by the precision alone: decide on no gap between the groups", "flag"),
        "margin": OPTIONS["margin"].noting("default: 0.05"),
        "alpha": OPTIONS["alpha"].noting(
            "of any over all cells; also one minus the level of intervals; default: 0.05"
        ),
        "each": Option("make claims at the level alpha in each cell by itself", "flag"),
        "patient": Option("do not give up on gaps that look out of reach", "flag"),
        "per_speaker": OPTIONS["per_speaker"].noting("at most; default: all"),
    },
    questions=where_kept("", RECORD),
)
