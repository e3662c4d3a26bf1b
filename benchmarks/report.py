"""What a full report costs: a made-up run of any size, then the seconds and bytes of every part of its report.

    python benchmarks/report.py --utterances 1000 --recognizers 3

The run has every scenario of Speech Robust Bench that needs no recordings of the user's. Nothing is heard: texts are
drawn from a Zipf vocabulary and spoilt word by word, more for harsher scenarios and for one of the groups.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl

from voxaudit import __version__
from voxaudit.audits.robustness.settings import describe
from voxaudit.perturb import SUITES, parse_scenarios
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--utterances", type=int, default=1000)
    parser.add_argument("--speakers", type=int, default=100)
    parser.add_argument("--recognizers", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="keep the run here, and use it again if it is there")
    parser.add_argument("--profile", type=int, default=0, metavar="N", help="print the N slowest functions")
    args = parser.parse_args()
    folder = args.folder or Path(tempfile.mkdtemp()) / "run"
    started = time.perf_counter()
    run = (
        Run(folder)
        if (folder / "scores.parquet").exists()
        else make_run(
            folder, utterances=args.utterances, speakers=args.speakers, recognizers=args.recognizers
        )
    )
    trials = run.transcripts.height
    print(f"{trials:,} trials, {len(run.config['scenarios'])} scenarios; made in {_since(started)}")
    profile = cProfile.Profile()
    seconds: dict[str, float] = {}
    started, before = time.perf_counter(), time.process_time()
    if args.profile:
        profile.enable()
    document = build_report(run, attributes=("gender", "accent"), audio_megabytes=0.0, seconds=seconds)
    profile.disable()
    print(f"document: {_since(started)} ({time.process_time() - before:.1f} s of processor time)")
    for name, took in seconds.items():
        print(f"  {name}: {took:.1f} s")
    started, before = time.perf_counter(), time.process_time()
    written = write_report(document, folder)
    print(f"files: {_since(started)} ({time.process_time() - before:.1f} s of processor time)")
    for name, path in written.items():
        print(f"  {name}: {path.stat().st_size / 1e6:.2f} MB")
    if args.profile:
        pstats.Stats(profile).sort_stats("cumulative").print_stats(args.profile)


def _since(started: float) -> str:
    return f"{time.perf_counter() - started:.1f} s"


if __name__ == "__main__":
    main()
