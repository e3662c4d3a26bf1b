"""Audits: tables in, findings out. Here is what the list of commands says of each: it needs no more than that."""

from voxaudit.registry import Registry

SUMMARIES = {
    "accuracy": "error rates of every recognizer, scenario and group, with intervals",
    "versus": "which recognizer is better on the same trials: overall, clean, disturbed, by group; ranks with ties",
    "robustness": "what disturbed speech costs a recognizer: severity curves, groups, ranks",
    "disparity": "compare groups by a regression that knows about speakers and confounders",
    "parity": "compare groups speaker by speaker; say what the data cannot show",
    "slices": "find kinds of speech that are served worse, by what was measured: rate, noise, pitch, rarity, room",
    "differential": "groups that disturbed speech hurts more; no references needed",
    "localize": "the words that get lost, for whom, when speech is disturbed; no references needed",
    "hallucination": "words that nobody said: in silence, far from what was said, in loops, too fast; by group",
    "keywords": "errors that matter: numbers, letters, names, negations, your own terms; by recognizer,"
    " scenario, group",
    "references": "references that may be wrong: where most recognizers agree against them, and what that"
    " does to the WER",
    "waiting": "seconds until an answer: median, 95th and 99th percentile, by scenario and group; while listening",
    "confidence": "is it as sure as it is right: reliability, calibration error, which wrong words get"
    " through; by group",
    "stutter": "can people who stutter use it? a search for stuttered speech that is misheard",
    "disfluent": "how people who stutter are heard: errors against what they mean and say, by kind and rate of events",
    "attack": "how little noise, chosen by an adversary, makes a recognizer fail?",
    "breaking": "how much disturbance a recognizer bears, and for whom",
    "sequential": "hear no more than is needed: stop each cell when its answer is settled",
    "compare": "paired comparison of two runs: what got better, what got worse; a gate for CI",
    "quality": "how good the audio of each scenario sounds, and how difficult that makes it",
    "power": "how many speakers a comparison of groups needs, and what yours can show",
    "score": "word and character error rates of transcripts you already have",
}
"""What each audit asks, in the order of a report's chapters; a package of its name holds the rest."""

AUDITS = Registry("audit", {name: f"voxaudit.audits.{name}:AUDIT" for name in SUMMARIES}, "voxaudit.audits")
"""All audits, those that installed packages add included."""
