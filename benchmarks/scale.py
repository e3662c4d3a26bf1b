"""Growth: a run, its scores and its audits for 10,000 and 100,000 utterances, a million with --full.

A recognizer that answers at once stands for yours: what is measured is voxaudit's own cost. Utterances are segments of
a few hundred recordings. Every stage runs in a process of its own; memory is that of the driver, not of its workers.
Beside the larger size stands the smaller one: 1 is linear, above it is what start-up costs.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import soundfile
from benchmarks.instant_recognizer import Instant
from benchmarks.measure import Row, Settings, Took, alone, row_of

import voxaudit

RECORDINGS = 500
STAGES = ("read", "run", "score", "accuracy", "disparity", "parity", "compare")


def make(folder: Path, utterances: int) -> None:
    """Write a manifest of segments, 20 utterances per speaker, two groups."""
    generator = np.random.default_rng(0)
    (folder / "audio").mkdir(parents=True)
    for number in range(RECORDINGS):
        noise = (0.05 * generator.standard_normal(16_000 * 2)).astype(np.float32)
        soundfile.write(folder / "audio" / f"{number}.wav", noise, 16_000)
    places = np.arange(utterances)
    speaker = places // 20
    texts = np.array(["one two three", "one two four", "one two", "one two three four", "five six seven"])
    pl.DataFrame(
        {
            "id": [f"utterance-{place:07d}" for place in places],
            "path": [f"audio/{place % RECORDINGS}.wav" for place in places],
            "start": (places // RECORDINGS) % 180 / 100.0,
            "duration": 0.1,
            "speaker": [f"speaker-{number}" for number in speaker],
            "text": texts[generator.integers(0, len(texts), utterances)],
            "gender": np.where(speaker % 2 == 0, "female", "male"),
            "age": np.where(speaker % 3 == 0, "young", "old"),
        }
    ).write_parquet(folder / "manifest.parquet")


def stage(name: str, folder: str, scenarios: str = "clean") -> None:
    """Do one stage of an audit."""
    manifest, out = Path(folder) / "manifest.parquet", Path(folder) / "run"
    if name in ("read", "run"):
        corpus = voxaudit.read_corpus(manifest)
        if name == "run":
            hearing = {"instant": Instant(batch_size=64)}
            voxaudit.run_trials(corpus, hearing, [scenarios], out=out, cache=False, progress=False)
        return
    if name == "score":
        voxaudit.score_run(voxaudit.open_run(out))
        return
    if name == "report":
        built = voxaudit.build_report(
            voxaudit.open_run(out), attributes=("gender", "age"), audio_megabytes=0.0
        )
        voxaudit.write_report(built, out)
        return
    scores = voxaudit.open_run(out).scores
    if name == "accuracy":
        voxaudit.accuracy(scores, by=["recognizer", "gender"])
    elif name == "disparity":
        voxaudit.disparity(scores, attribute="gender", by=["recognizer"])
    elif name == "parity":
        voxaudit.parity(scores, attributes=["gender", "age"])
    else:
        voxaudit.compare(scores, scores, attributes=["gender", "age"])


def stages(utterances: int, names: Sequence[str], scenarios: str) -> dict[str, Took]:
    """Return what every stage took for so many utterances."""
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder), utterances)
        return {name: alone(stage, name=name, folder=folder, scenarios=scenarios) for name in names}


def measure(settings: Settings) -> Iterator[Row]:
    sizes = settings.pick((600, 1_200), (10_000, 100_000), (100_000, 1_000_000))
    yield from growth(sizes, STAGES, "clean", 1, "utterance")


def growth(
    sizes: tuple[int, int], names: Sequence[str], scenarios: str, each: int, unit: str
) -> Iterator[Row]:
    """Yield a row for every stage: what it takes for the larger number of utterances, beside the smaller one."""
    few, many = (stages(size, names, scenarios) for size in sizes)
    for name in names:
        yield row_of(
            f"{name}, {each * sizes[1]:,} {unit}s",
            f"CPU us per {unit}",
            [1e6 * many[name].cpu / sizes[1] / each],
            [1e6 * few[name].cpu / sizes[0] / each],
            peer=f"the same for {each * sizes[0]:,}",
            kind="floor",
            note=f"{many[name].wall:.1f} s, peak {many[name].megabytes:.0f} MB",
        )
