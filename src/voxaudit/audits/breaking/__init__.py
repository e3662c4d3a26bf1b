"""How much disturbance a recognizer bears, for whom: the setting at which errors reach a level, by staircases."""

from voxaudit.audits.audit import OPTIONS, SUMMARIES, Audit, Option, where_kept

RECORD = "breaking.json"
"""What a finished audit leaves in its folder."""


AUDIT = Audit(
    name="breaking",
    title="Breaking points",
    summary=SUMMARIES["breaking"],
    example=(
        "manifest.csv",
        {
            "recognizers": "moonshine",
            "perturbation": "gaussian_noise",
            "attribute": "gender",
            "out": "runs/breaking",
        },
    ),
    source="CORPUS",
    source_help="a corpus with speakers and reference texts; or the folder of a finished breaking audit, or of a run"
    " with one, to read it again",
    options={
        "perturbation": Option(
            "what disturbs; other settings can be fixed: packet_loss:burst=2", metavar="NAME"
        ),
        "parameter": Option("the setting that is turned up (default: the usual one)", metavar="NAME"),
        "ends": Option(
            "the mild and the harsh end of the parameter, such as 40,-10 (default: the usual ones)",
            "numbers",
            "MILD,HARSH",
        ),
        "level": Option("the word error rate that counts as breaking", "number", "X"),
        "rise": Option(
            "in place of a level: this much above each group's error rate on clean speech", "number", "X"
        ),
        "budget": OPTIONS["budget"].noting("trials per speaker and recognizer"),
    },
    questions=where_kept("breaking", RECORD),
)
