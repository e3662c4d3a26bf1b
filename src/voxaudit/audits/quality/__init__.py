"""Quality: how the audio of each scenario sounds, and how difficult that makes it."""

from dataclasses import replace

from voxaudit.audits.audit import OPTIONS, SUMMARIES, Audit, Option

AUDIT = Audit(
    name="quality",
    title="Quality of the audio",
    summary=SUMMARIES["quality"],
    example=("data/manifest.csv", {"scenarios": ("quick", "gaussian_noise:4")}),
    source="INPUT",
    source_help="the folder of a run, a corpus, or audio files",
    several=True,
    options={
        "scenarios": OPTIONS["scenarios"].noting("default: the run's own, else clean alone"),
        "utterances": replace(
            OPTIONS["utterances"].noting("or all; default: as many as the intervals need"), kind="text"
        ),
        "p835": Option("also signal, background and overall MOS, at 12 times the cost", "flag"),
        "windows": Option(
            "which windows DNSMOS is the mean of: every, or as the package speechmos does",
            choices=("every", "speechmos"),
        ),
        "rows": Option(
            "also write one row per utterance and scenario to this file (.csv, .tsv or .parquet)",
            "file",
            "FILE",
        ),
    },
)
