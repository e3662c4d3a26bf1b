"""The audits that need no references: many transcripts, from a file to the findings, differential and localize.

Each in a process of its own. Beside them a floor: the same texts read, normalized and aligned with our own kernels, and
nothing tested; beside differential also jiwer, which only counts the word errors of the same pairs of texts: of every
two recognizers, and of each against the reference.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from benchmarks.measure import Apart, Peer, Row, Settings, absent, apart, compare, named, row_of

from voxaudit.audits.differential.audit import differential
from voxaudit.audits.localize.audit import localize
from voxaudit.perturb.suites import AEQUEVOX
from voxaudit.score import word_counts
from voxaudit.score.normalize import normalize_column
from voxaudit.score.pairs import Pairs
from voxaudit.tables import write_parquet

SCENARIOS = ["clean", *(f"{name}:theta={theta:g}" for name, thetas in AEQUEVOX.items() for theta in thetas)]
GROUPS, SPEAKERS, LENGTH = 4, 400, 11
FLOOR = "the same texts read, normalized and aligned"


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


def words_lost(path: str) -> int:
    return int(localize(Path(path), attribute="accent").detail.words.height)


def aligned(path: str) -> int:
    """Read, normalize and align the pairs of texts that differential compares; return their word errors."""
    errors = 0
    for scenario in SCENARIOS:
        texts = _normalized(path, scenario)
        pairs = [*combinations(list(texts.values())[:-1], 2)]
        pairs += [(texts[""], text) for name, text in texts.items() if name]
        for one, other in pairs:
            counts = word_counts(one, other)
            errors += int(
                counts.select(pl.col("substitutions", "deletions", "insertions").sum()).sum_horizontal()[0]
            )
    return errors


def aligned_with_clean(path: str) -> int:
    """Read, normalize and align the texts of every recognizer with its clean ones; return in how many places they
    differ.
    """
    clean, *disturbed = (
        {name: text for name, text in _normalized(path, one).items() if name} for one in SCENARIOS
    )
    return sum(
        len(Pairs.of(clean[name], text).stretches) for texts in disturbed for name, text in texts.items()
    )


def _normalized(path: str, scenario: str) -> dict[str, pl.Series]:
    """Return the texts of a scenario by recognizer, and the references as those of ''."""
    table = (
        pl.scan_parquet(path).filter(pl.col("scenario") == scenario).select("recognizer", "text", "reference")
    )
    parts = table.collect().partition_by("recognizer", as_dict=True, maintain_order=True)
    found = {str(name): normalize_column(part["text"], "basic") for (name,), part in parts.items()}
    return {**found, "": normalize_column(next(iter(parts.values()))["reference"], "basic")}


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
    rounds = settings.pick(1, 3, 1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "transcripts.parquet"
        for utterances in settings.pick([60], [1_500, 6_000], [6_000, 20_000]):
            trials = write_transcripts(path, utterances, 3)
            what = f"{trials:,} transcripts, 42 scenarios, 3 recognizers"
            peers: dict[str, Peer] = {FLOOR: apart(aligned, path=str(path))}
            if utterances < 6_000 or settings.size == "full":
                jiwer = apart(plain_counts, ["jiwer"], path=str(path))
                peers[f"{named('jiwer')}: word errors alone"] = absent("jiwer") or jiwer
            yield from _rows(f"differential, {what}", apart(audit, path=str(path)), peers, rounds)
            floor = {FLOOR: apart(aligned_with_clean, path=str(path))}
            yield from _rows(f"localize, {what}", apart(words_lost, path=str(path)), floor, rounds)


def _rows(what: str, ours: Apart, peers: Mapping[str, Peer], rounds: int) -> Iterator[Row]:
    yield from compare(what, "CPU s", ours, peers, rounds=rounds, kind="floor", warm=False)
    yield row_of(what, "MB above the imports", [one.added for one in ours.took])
