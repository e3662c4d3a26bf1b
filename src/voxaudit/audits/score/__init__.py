"""Score: error rates of transcripts that somebody has already, and how far the text normalizer moves them."""

from voxaudit.audits.audit import SUMMARIES, Audit, Option

AUDIT = Audit(
    name="score",
    title="Transcripts",
    summary=SUMMARIES["score"],
    function="voxaudit.audits.score.audit:score_files",
    example=("reference.txt hypothesis.txt", {}),
    source="REF [HYP]",
    source_help="references, then hypotheses (text, .trn, .csv, .tsv, .jsonl, .parquet); one table can have both",
    options={
        "missing": Option(
            "a reference without hypothesis: refuse, count its words as deleted, or leave it out",
            choices=("error", "empty", "skip"),
        ),
        "alignments": Option("show this many of the worst utterances", kind="count", metavar="N", at_least=0),
        "scores": Option(
            "also write a scores table (.csv, .parquet) for the audits", kind="file", metavar="FILE"
        ),
        "name": Option("what the recognizer is called in that table", metavar="NAME"),
    },
)
