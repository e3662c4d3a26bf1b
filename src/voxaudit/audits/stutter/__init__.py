"""Can people who stutter use it? A search for stuttered test cases, an oracle and the kinds of fault (ASTER)."""

from dataclasses import replace

from voxaudit.audits.audit import OPTIONS, SUMMARIES, Audit, Option, where_kept

FOUND, REFUSED = "stutter.json", "refused.txt"
KEPT = (FOUND, REFUSED)
"""A folder with one of these holds a stutter audit, or why there is none."""

AUDIT = Audit(
    name="stutter",
    title="People who stutter",
    summary=SUMMARIES["stutter"],
    example=(
        "manifest.csv",
        {"recognizers": ("moonshine", "pocketsphinx"), "budget": 20, "out": "runs/stutter"},
    ),
    source="CORPUS",
    source_help="a corpus to hear; or the folder of a finished stutter audit, or of a run with one, to read it again;"
    " with another folder to write to, its cases are replayed to the recognizers (`voxaudit stutter replay FOLDER`)",
    options={
        "budget": replace(OPTIONS["budget"].noting("new cases per utterance"), at_most=10_000),
        "kinds": Option(
            "the kinds of stuttering: block, prolongation, sound_repetition, word_repetition, interjection"
            " (default: all)",
            "names",
            "KIND,...",
        ),
        "attributes": OPTIONS["attributes"].noting(
            "their groups take turns where only some utterances are heard, and have doses of their own"
        ),
        "mode": Option(
            "how speech stutters: as real stuttering was measured, or as ASTER publishes it",
            choices=("realistic", "aster"),
        ),
        "selection": Option(
            "seeds of further cases: the Pareto front (moo), all of them (random), or as many as the front has, drawn"
            " from the original and all cases (random_subset)",
            choices=("moo", "random", "random_subset"),
        ),
        "seeds": Option("repeat the search with these seeds, such as 0-9", metavar="N-N"),
        "profiles": Option(
            "also measure the error rate of people who stutter so much: mild, moderate, severe",
            "names",
            "NAME,...",
        ),
        "style": Option(
            "what a profile or dose is: read speech, or conversation, with fillers",
            choices=("read", "conversation"),
        ),
        "severity": Option(
            "how strong each moment of stuttering is, 1 to 4 (default: any)",
            "count",
            "N",
            at_least=1,
            at_most=4,
        ),
        "threshold": Option(
            "an answer less similar than this to the one without stuttering, and to what is meant, is suspicious",
            "number",
            "X",
        ),
        "dose": Option(
            "also measure the error rate at these stuttered moments per 100 words, such as 0,5,10,20,40",
            "numbers",
            "RATE,...",
        ),
        "mixture": Option(
            "shares of the kinds in a dose: of people who stutter so much, alike, or as labeled in two corpora",
            choices=("profile", "even", "sep28k", "fluencybank"),
        ),
        "embeddings": Option(
            "how similar texts are: minilm (fetched), ngrams (letters), or a sentence-transformers model (default:"
            " minilm where it was fetched, else ngrams)",
            metavar="MODEL",
        ),
        "timings": Option(
            "timings by another aligner: a folder of TextGrids, a CTM or a lhotse file (default: PocketSphinx aligns)",
            "file",
            "PATH",
        ),
        "filler_voice": Option(
            "where a recording has no filler of its own, interject one of a synthetic voice (extra `speak`)",
            "flag",
        ),
        "only_agreed": Option("only recordings that all recognizers hear as their text", "flag"),
        "labels": Option("a labeled suspicious.jsonl (default: the one in the folder)", "file", "FILE"),
    },
    questions=where_kept("stutter", *KEPT),
)
