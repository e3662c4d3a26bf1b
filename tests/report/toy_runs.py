"""Run folders as tests of reports need them, without audio and recognizers."""

from __future__ import annotations

import numpy as np
import polars as pl
import soundfile

from voxaudit.run.folder import Run, write_config
from voxaudit.score.run import score_run

WORDS = ("turn", "the", "lamp", "off", "now")
SCENARIOS = ("clean", "gaussian_noise:1", "gaussian_noise:2", "telephone")


def write_run(
    folder,
    heard,
    *,
    people=None,
    utterances=2,
    text="turn the lamp off now",
    scenarios=SCENARIOS,
    recognizers=("one", "two"),
    audio=False,
    corpus_name="toy",
    ids="{speaker}-{number}",
    speakers=True,
) -> Run:
    """Write a run folder.

    `people` maps speakers to their attributes; `heard(recognizer, scenario, speaker, number)` returns a transcript, or
    an exception whose text is the failure.
    """
    folder.mkdir()
    people = people or {f"s{n}": {"accent": "north" if n % 2 else "south"} for n in range(12)}
    rows, trials = [], []
    for speaker, about in people.items():
        for number in range(utterances):
            id_ = ids.format(speaker=speaker, number=number)
            path = folder / f"{len(rows)}.wav"
            if audio:
                tone = 0.3 * np.sin(np.arange(8000) * (0.05 + 0.01 * len(rows)))
                soundfile.write(path, tone.astype(np.float32), 16000)
            rows.append(
                {
                    "id": id_,
                    "audio": str(path),
                    "speaker": speaker if speakers else None,
                    "text": text,
                    "start": None,
                    "duration": 2.0,
                    **about,
                }
            )
            for recognizer in recognizers:
                for scenario in scenarios:
                    answer = heard(recognizer, scenario, speaker, number)
                    failure = str(answer) if isinstance(answer, Exception) else None
                    said = None if failure else answer
                    trials.append((id_, scenario, recognizer, said, None, None, 0.1, failure))
    corpus = pl.DataFrame(
        rows, schema_overrides={"start": pl.Float64, "text": pl.String, "speaker": pl.String}
    )
    corpus.write_parquet(folder / "corpus.parquet")
    schema = {
        "utterance": pl.String,
        "scenario": pl.String,
        "recognizer": pl.String,
        "text": pl.String,
        "confidence": pl.Float64,
        "word_times": pl.String,
        "seconds": pl.Float64,
        "failure": pl.String,
    }
    pl.DataFrame(trials, schema=schema, orient="row").write_parquet(folder / "transcripts.parquet")
    write_config(
        folder,
        {
            "created": "2026-01-01T00:00:00+0000",
            "voxaudit": "0.1.0",
            "corpus": {
                "name": corpus_name,
                "source": str(folder),
                "format": "manifest",
                "utterances": len(rows),
                "speakers": len(people) if speakers else 0,
                "skipped": 0,
            },
            "recognizers": {
                one: {"settings": {"beam": 3}, "fingerprint": {"engine": "toy"}} for one in recognizers
            },
            "scenarios": list(scenarios),
            "sources": {},
            "corpora": {},
            "seed": 0,
            "versions": {"python": "3.11"},
            "not_heard": {"accented": "a corpus in the role accented"},
        },
    )
    score_run(Run(folder))
    return Run(folder)


def lose_words(recognizer, scenario, speaker, number):
    """Lose more words the harsher the scenario is, and one more for speakers of the north."""
    lost = {"clean": 0, "gaussian_noise:1": 1, "gaussian_noise:2": 2, "telephone": 1}.get(scenario, 1)
    place = int(speaker[1:])
    lost += (recognizer == "two") + (place % 2 and scenario != "clean") + ((place + number) % 5 == 0)
    return " ".join(WORDS[: max(len(WORDS) - lost, 0)])
