"""Folders of finished stutter audits and attacks, written by hand."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from voxaudit.audits.attack.audit import Attack
from voxaudit.audits.attack.result import Tried, summarize
from voxaudit.audits.stutter.folder import Suspicious, write_queue
from voxaudit.audits.stutter.scoring import Cost, DosePoint
from voxaudit.audits.stutter.search import Settings

CASE = Suspicious(
    utterance="u1",
    recognizer="one",
    chain="block:word=1",
    intended="turn it off",
    surface="turn it it off",
    transcript="burn <it> off",
    original="turn it off",
    similarity=0.3,
    fault="incorrect_word",
)


def cost(**more) -> dict:
    """Return a cost of thirty points, shown by its interval and by its p-value."""
    found = Cost(cases=8, wer=0.4, wer_original=0.1, werd=0.3, low=0.2, high=0.4, p=0.001, speakers=6)
    rates = {"wer": 0.4, "mer": 0.3, "wil": 0.5, "words": 70}
    return {**asdict(found), "against": {"intended": {"fillers_kept": rates}}, **more}


def write_stutter_audit(folder: Path, **more) -> Path:
    """Write a folder as the stutter audit leaves it; `more` replaces parts of `stutter.json`."""
    folder.mkdir(parents=True, exist_ok=True)
    document = {
        "settings": asdict(Settings(budget=2)),
        "utterances": 4,
        "cases": 8,
        "recognizers": {"one": cost(), "two": cost(werd=0.01, low=-0.1, high=0.1, p=0.7)},
        "kinds": {"block": {"one": cost(cases=3)}, "word_repetition": {"one": cost(cases=0)}},
        "suspicious": [
            {
                **{name: getattr(CASE, name) for name in ("utterance", "recognizer", "chain", "intended")},
                "surface": CASE.surface,
                "transcripts": {"original": CASE.original, "case": CASE.transcript},
                "similarity": CASE.similarity,
                "fault": CASE.fault,
                "span": [0, 1],
            }
        ],
        "dose": [
            asdict(DosePoint("one", rate, rate, rate / 100, None, None, 50, 4, "even"))
            for rate in (0.0, 10.0)
        ],
        "skipped": {"u9": "no text", "u8": "no text"},
        **more,
    }
    (folder / "stutter.json").write_text(json.dumps(document))
    write_queue(folder, [CASE])
    return folder


def write_attack(folder: Path, **more) -> Path:
    """Write the folder of an attack: ten utterances of five words, three of them wrong, one in plain noise."""
    folder.mkdir(parents=True, exist_ok=True)
    tried = [
        Tried(f"u{n}", f"s{n}", "a b c d e", "a b c d e", "a b x y z", "a b c d x", snr=20.0, success=True)
        for n in range(10)
    ]
    rows = tuple(
        summarize(
            tried,
            recognizer="one",
            method="pgd",
            queries=1,
            seconds=1.0,
            settings={},
            scenario=f"pgd:{number}",
            snr=snr,
            transfer={"two": {"wer_clean": 0.0, "wer_attacked": 0.5, "werd": 0.5}},
        )
        for number, snr in ((1, 40.0), (2, 30.0))
    )
    document = {**asdict(Attack(rows, {"no text": 2})), **more}
    (folder / "attack.json").write_text(json.dumps(document))
    return folder
