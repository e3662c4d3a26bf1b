"""A full report: all audits and figures of a made-up run of 114 scenarios, then its files.

Nothing is heard: texts are drawn from a Zipf vocabulary and spoilt word by word, more for harsher scenarios and for one
of the groups. In a process of its own; the chapters that take longest are named.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from benchmarks.measure import Row, Settings, alone, row_of, took

from voxaudit import __version__
from voxaudit.perturb import SUITES, parse_scenarios
from voxaudit.perturb.settings import describe
from voxaudit.report.build import build_report, write_report
from voxaudit.run.folder import Run, write_config
from voxaudit.score.run import score_run


def make_run(folder: Path, *, utterances: int, speakers: int, recognizers: int, seed: int = 0) -> Run:
    """Write a run folder whose transcripts are made up."""
    generator = np.random.default_rng(seed)
    scenarios = [scenario.id for scenario in parse_scenarios(SUITES["srb"].scenarios)]
    natural = [f"{role}_{number}" for role in ("accented", "far_field") for number in range(1, 8)]
    scenarios = [*scenarios, *natural][:114]
    names = [f"recognizer {number}" for number in range(1, recognizers + 1)]
    vocabulary = np.array(["".join(generator.choice(list("aeioulmnrst"), 2 + n % 7)) for n in range(3000)])
    lengths = generator.integers(4, 18, utterances)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    words = generator.zipf(1.3, starts[-1]) % len(vocabulary)
    who = np.arange(utterances) % speakers
    corpus = pl.DataFrame(
        {
            "id": [f"utterance {number:05d}" for number in range(utterances)],
            "audio": [str(folder / f"{number}.wav") for number in range(utterances)],
            "speaker": [f"speaker {number:03d}" for number in who],
            "text": _texts(vocabulary[words], starts),
            "start": pl.Series([None] * utterances, dtype=pl.Float64),
            "duration": pl.Series(lengths / 2.5),
            "gender": np.where(who % 2 == 0, "female", "male"),
            "accent": np.array(["north", "south", "east", "west"])[who // 2 % 4],
        }
    )
    folder.mkdir(parents=True, exist_ok=True)
    corpus.write_parquet(folder / "corpus.parquet")
    group = 1.0 + 0.5 * (np.repeat(who, lengths) // 2 % 4 == 3)
    own = np.exp(0.4 * generator.standard_normal(speakers))[np.repeat(who, lengths)]
    tables = []
    for place, name in enumerate(names):
        for scenario in scenarios:
            severity = 0 if scenario == "clean" else describe(scenario).severity or 2
            risk = np.minimum((0.04 + 0.03 * place) * group * own * (1.0 + 1.2 * severity), 0.9)
            draw = generator.random(len(words))
            heard = np.where(draw < risk, generator.permutation(words), words)
            text = np.where(draw < risk / 4, "", vocabulary[heard])
            tables.append(
                pl.DataFrame(
                    {
                        "utterance": corpus["id"],
                        "scenario": scenario,
                        "recognizer": name,
                        "text": _texts(text, starts),
                        "confidence": pl.Series([None] * utterances, dtype=pl.Float64),
                        "word_times": pl.Series([None] * utterances, dtype=pl.String),
                        "seconds": 0.1,
                        "failure": pl.Series([None] * utterances, dtype=pl.String),
                    }
                )
            )
    pl.concat(tables).write_parquet(folder / "transcripts.parquet")
    write_config(
        folder,
        {
            "created": "2026-01-01T00:00:00+0000",
            "voxaudit": __version__,
            "corpus": {
                "name": "made up",
                "source": str(folder),
                "format": "manifest",
                "utterances": utterances,
                "speakers": speakers,
                "skipped": 0,
            },
            "recognizers": {name: {"settings": {}, "fingerprint": {"engine": "none"}} for name in names},
            "scenarios": scenarios,
            "sources": {},
            "corpora": {},
            "seed": seed,
            "versions": {},
            "not_heard": {},
        },
    )
    score_run(Run(folder))
    return Run(folder)


def _texts(words: np.ndarray, starts: np.ndarray) -> list[str]:
    listed = words.tolist()
    return [" ".join(filter(None, listed[first:last])) for first, last in pairwise(starts)]


def report(folder: str) -> dict[str, Any]:
    """Build a report and write its files; return the CPU seconds of both, the chapters' seconds and the files' MB."""
    seconds: dict[str, float] = {}
    built = took(
        lambda: build_report(
            Run(Path(folder)), attributes=("gender", "accent"), audio_megabytes=0.0, seconds=seconds
        )
    )
    written = took(lambda: write_report(built.value, Path(folder)))
    sizes = {name: path.stat().st_size / 1e6 for name, path in written.value.items()}
    return {"build": built.cpu, "write": written.cpu, "chapters": seconds, "megabytes": sizes}


def measure(settings: Settings) -> Iterator[Row]:
    usual = (1000, 3, 3)
    # Utterances, recognizers, rounds; with `--full` also a million trials.
    for utterances, recognizers, rounds in settings.pick([(100, 1, 1)], [usual], [usual, (2925, 3, 1)]):
        with tempfile.TemporaryDirectory() as home:
            folder = Path(home) / "run"
            run = make_run(folder, utterances=utterances, speakers=100, recognizers=recognizers)
            what = f"{run.transcripts.height:,} trials, {recognizers} recognizers, two attributes"
            runs = [alone(report, folder=str(folder)) for _ in range(rounds)]
        last = runs[-1].value
        longest = sorted(last["chapters"].items(), key=lambda item: -item[1])[:2]
        together = sum(last["chapters"].values())
        chapters = ", ".join(f"{name} {100 * seconds / together:.0f} %" for name, seconds in longest)
        built = [one.value["build"] for one in runs]
        yield row_of(f"audits and figures, {what}", "CPU s", built, note=f"longest: {chapters}")
        files = ", ".join(f"{name} {size:.2f} MB" for name, size in last["megabytes"].items())
        written = [one.value["write"] for one in runs]
        yield row_of(f"the files, {run.transcripts.height:,} trials", "CPU s", written, note=files)
        yield row_of(f"audits and figures, {what}", "MB above the imports", [one.added for one in runs])
