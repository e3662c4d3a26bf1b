"""The differential audit: many transcripts, with references and without, from a file to the findings.

Each in a process of its own. Beside it jiwer, which only counts the word errors of the same pairs of texts: of every
two recognizers, and of each against the reference.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from benchmarks.measure import Row, Settings, absent, apart, compare, named, row_of

from voxaudit.audits.differential.audit import differential
from voxaudit.perturb.suites import AEQUEVOX
from voxaudit.tables import write_parquet

SCENARIOS = ["clean", *(f"{name}:theta={theta:g}" for name, thetas in AEQUEVOX.items() for theta in thetas)]
GROUPS, SPEAKERS, LENGTH = 4, 400, 11


def write_transcripts(path: Path, utterances: int, recognizers: int) -> int:
    """Write transcripts of made-up speech, scenario by scenario as a run does; return their number."""
    columns = ("utterance", "scenario", "recognizer", "text", "speaker", "accent", "reference")
    write_parquet(path, _made_up_transcripts(utterances, recognizers), dict.fromkeys(columns, pl.String))
    return len(SCENARIOS) * recognizers * utterances


def _made_up_transcripts(utterances: int, recognizers: int) -> Iterator[pl.DataFrame]:
    generator = np.random.default_rng(1)
    words = pl.Series([f"w{number:x}" for number in range(5000)])
    said = generator.integers(0, 5000, (utterances, LENGTH))
    speaker = generator.integers(0, SPEAKERS, utterances)
    frailty = np.exp(0.4 * generator.standard_normal(SPEAKERS))
    reference = _texts(words, said)
    for place, scenario in enumerate(SCENARIOS):
        weaker = 1 + 0.2 * (np.arange(SPEAKERS) % GROUPS)
        rate = np.clip(frailty * (0.05 + 0.007 * place * weaker), 0, 0.9)
        for recognizer in range(recognizers):
            wrong = generator.random(said.shape) < rate[speaker][:, None]
            heard = np.where(wrong, generator.integers(0, 5000, said.shape), said)
            yield pl.DataFrame(
                {
                    "utterance": pl.Series(np.arange(utterances)).cast(pl.String),
                    "scenario": pl.Series([scenario]).new_from_index(0, utterances),
                    "recognizer": pl.Series([f"r{recognizer}"]).new_from_index(0, utterances),
                    "text": _texts(words, heard),
                    "speaker": pl.Series(speaker).cast(pl.String),
                    "accent": pl.Series(speaker % GROUPS).cast(pl.String),
                    "reference": reference,
                }
            )


def _texts(words: pl.Series, numbers: np.ndarray[Any, np.dtype[np.int64]]) -> pl.Series:
    flat = words.gather(numbers.ravel())
    return flat.reshape(numbers.shape).arr.join(" ").alias("text")


def audit(path: str) -> int:
    [found] = differential(Path(path), attribute="accent").detail
    return int(found.view.comparisons.height)


def plain_counts(path: str) -> int:
    """Count the word errors of all pairs of texts with jiwer."""
    import jiwer

    table = pl.read_parquet(path)
    errors = 0
    for part in table.partition_by("scenario"):
        texts = {
            name: one.sort("utterance")
            for (name,), one in part.partition_by("recognizer", as_dict=True).items()
        }
        pairs = [(texts[one]["text"], texts[other]["text"]) for one, other in combinations(sorted(texts), 2)]
        pairs += [(one["reference"], one["text"]) for one in texts.values()]
        for first, second in pairs:
            kept = first != ""  # jiwer refuses empty references
            output = jiwer.process_words(first.filter(kept).to_list(), second.filter(kept).to_list())
            errors += output.substitutions + output.deletions + output.insertions
    return errors


def measure(settings: Settings) -> Iterator[Row]:
    utterances = settings.pick(60, 1_500, 20_000)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "transcripts.parquet"
        trials = write_transcripts(path, utterances, 3)
        ours, theirs = apart(audit, path=str(path)), apart(plain_counts, ["jiwer"], path=str(path))
        what = f"{trials:,} transcripts, 42 scenarios, 3 recognizers"
        peers = {f"{named('jiwer')}: word errors alone": absent("jiwer") or theirs}
        yield from compare(
            what, "CPU s", ours, peers, rounds=settings.pick(1, 3, 1), kind="floor", warm=False
        )
        yield row_of(what, "MB above the imports", [one.added for one in ours.took])
