"""Attacks on recognizers: how little noise, chosen by an adversary, is enough to make them fail."""

from voxaudit.audits.audit import OPTIONS, SUMMARIES, Audit, Option, where_kept

FOUND = "attack.json"
"""What was found, in the folder of an attack."""


AUDIT = Audit(
    name="attack",
    title="Attacks",
    summary=SUMMARIES["attack"],
    example=(
        "manifest.csv",
        {"recognizers": "hf:models/wav2vec2", "method": "pgd", "snr": (30, 20), "out": "runs/attack"},
    ),
    source="CORPUS",
    source_help="a corpus with reference texts; a run, of which RECOGNIZERS are attacked; or the folder of a finished"
    " attack, or of a run with one, to read it again",
    options={
        "recognizers": OPTIONS["recognizers"].noting(
            "what is attacked: file.py:object or module:object with gradients, hf:FOLDER; by blackbox, any engine;"
            " NAME=whisper:tiny.en is called as in a run"
        ),
        "where": OPTIONS["where"].noting("such as language=en"),
        "method": Option(
            "noise for each utterance by gradient, one noise for all, or by transcripts alone",
            choices=("pgd", "universal", "blackbox"),
        ),
        "snr": Option("bounds on the noise: dB below the speech", "numbers", "DB,..."),
        "target": Option("pgd: make it hear this", metavar="TEXT"),
        "transfer": Option("recognizers that are not attacked, but hear the result", "specs", "NAME,..."),
        "norm": Option("pgd: the norm of the bound", choices=("l2", "linf")),
        "steps": Option("pgd: steps", "count", "N", at_least=1),
        "restarts": Option("pgd: further random starts", "count", "N", at_least=0),
        "enough": Option(
            "pgd: an utterance is done at this word error rate; 0: never before the last step",
            "number",
            "RATE",
            at_least=0,
        ),
        "dev": Option(
            "universal: the corpus it is found on (default: half of the speakers)", "file", "CORPUS"
        ),
        "epochs": Option("universal: passes over that corpus", "count", "N", at_least=1),
        "queries": Option("blackbox: transcripts per utterance", "count", "N", at_least=1),
        "batch": Option("utterances at a time", "count", "N", at_least=1),
        "attributes": OPTIONS["attributes"].noting(
            "their groups take turns where only some utterances are heard"
        ),
    },
    questions=where_kept("attack", FOUND),
)
