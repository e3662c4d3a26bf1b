"""Small folders to review: a run of four scenarios and a stutter audit, with real audio, written by hand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import soundfile

from voxaudit.align import Timings
from voxaudit.align.timings import Syllable, Word
from voxaudit.corpus import Utterance
from voxaudit.perturb.stutter.recordings import Recording, write_recordings
from voxaudit.run.folder import open_run, write_config
from voxaudit.score.run import score_run

RATE = 16_000
SCENARIOS = ("clean", "clipping:theta=0.05", "noise:theta=2", "scale:theta=0.5")
TEXTS = ("turn the light on", "what is the weather today", "call my sister please")

HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "\"'><script>alert(2)</script>",
    "\u202eright to left\u202c \u2066isolated",
    "\x07bell \x1b[31m null \x00 ☃ \U0001f600",
    "../../../../etc/passwd",
    "=HYPERLINK(1)",
)


def tone(seconds: float, pitch: float) -> np.ndarray:
    """A voice-like tone with a quiet start and end."""
    time = np.arange(round(seconds * RATE)) / RATE
    shape = np.sin(np.pi * time / seconds)
    samples = 0.3 * shape * sum(np.sin(2 * np.pi * pitch * k * time) / k for k in (1, 2, 3))
    return samples.astype(np.float32)


def write_run(folder: Path, *, utterances: int = 6, hostile: bool = False, scenarios=SCENARIOS) -> Path:
    """Write a finished run of two recognizers; nothing is recognized, the transcripts are made up."""
    folder.mkdir(parents=True)
    audio = folder / "audio"
    audio.mkdir()
    ids = [f"u{n}{HOSTILE[n % len(HOSTILE)] if hostile else ''}" for n in range(utterances)]
    for n in range(utterances):
        soundfile.write(audio / f"clip{n}.wav", tone(0.6 + 0.1 * n, 110.0 + 20 * n), RATE)
    texts = [
        HOSTILE[n % len(HOSTILE)].replace("\x00", "") if hostile else TEXTS[n % 3] for n in range(utterances)
    ]
    corpus = pl.DataFrame(
        {
            "id": ids,
            "audio": [str(audio / f"clip{n}.wav") for n in range(utterances)],
            "speaker": [f"s{n % 3}" for n in range(utterances)],
            "text": texts,
            "start": [None] * utterances,
            "duration": [None] * utterances,
            "gender": ["female" if n % 2 else "male" for n in range(utterances)],
            "<b>accent</b>" if hostile else "accent": ["<i>x</i>=y" if hostile else "north"] * utterances,
        },
        schema_overrides={"start": pl.Float64, "duration": pl.Float64},
    )
    corpus.write_parquet(folder / "corpus.parquet")
    rows = []
    for name in ("alpha", "beta"):
        for n, id_ in enumerate(ids):
            for place, scenario in enumerate(scenarios):
                words = texts[n].split()
                heard = {
                    0: " ".join(words),
                    1: " ".join(words[:-1]),
                    2: " ".join(["um", *words]),
                    3: "" if n == 0 else " ".join("wrong" for _ in words),
                }[place % 4]
                failure = "recognizer: it hung" if (name, n, place) == ("beta", 1, 1) else None
                rows.append((id_, scenario, name, None if failure else heard, 0.1, failure))
    columns = ("utterance", "scenario", "recognizer", "text", "seconds", "failure")
    schema = dict.fromkeys(columns, pl.String) | {"seconds": pl.Float64}
    pl.DataFrame(rows, schema=schema, orient="row").write_parquet(folder / "transcripts.parquet")
    write_config(
        folder,
        {
            "corpus": {"name": "made", "utterances": utterances},
            "recognizers": {"alpha": {}, "beta": {}},
            "scenarios": list(scenarios),
            "seed": 3,
            "normalizer": "basic@1",
        },
    )
    score_run(open_run(folder))
    return folder


def write_stutter(folder: Path, *, cases: int = 6, hostile: bool = False, listen: bool = True) -> Path:
    """Write a stutter audit's folder: one recording of three words, and a queue of suspicious cases."""
    folder.mkdir(parents=True, exist_ok=True)
    spoken = [("turn", 0.1, 0.4), ("it", 0.4, 0.6), ("off", 0.6, 0.9)]
    words = tuple(Word(text, a, b, (Syllable(text, a, b),)) for text, a, b in spoken)
    soundfile.write(folder / "clip.wav", tone(1.0, 140.0), RATE)
    utterance = Utterance("clip", folder / "clip.wav", "s1", "turn it off")
    if listen:
        write_recordings(folder, [Recording(utterance, Timings(words, 1.0), "turn it off")], [])
    lines = []
    for n in range(cases):
        chain = f"word_repetition:word={n % 3}" + (";word_repetition:word=2" if n >= 3 else "")
        heard = HOSTILE[n % len(HOSTILE)] if hostile else f"turn it it of {n}"
        row = {
            "id": f"alpha|clip|{chain}{HOSTILE[n % len(HOSTILE)] if hostile else ''}",
            "utterance": "clip",
            "recognizer": "alpha",
            "chain": chain,
            "intended": "turn it off",
            "surface": "turn turn it off",
            "original": "turn it off",
            "transcript": heard,
            "similarity": 0.1 * n,
            "fault": "word_repetition",
            "faults": [],
            "label": "",
        }
        lines.append(json.dumps(row))
    (folder / "suspicious.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder
