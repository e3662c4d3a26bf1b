"""How well the detectors of invented words find what is known to be invented: precision, recall, false alarms.

python -m benchmarks.studies.hallucination [--reference ../shared/reference] [--data ../shared/data] [--docs docs]

Labelled pairs of SHALLOW (made up, by kind of error), pieces planted in real transcripts of services (mu-bench), real
recordings with and without speech, and made-up audits in which there is nothing to find.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from benchmarks.measure import took
from benchmarks.pages import fill

from voxaudit.audio import Audio, read
from voxaudit.audits.hallucination.audit import SHORTEST_SPEECH, detect, hallucination
from voxaudit.audits.normalizers import spoken
from voxaudit.score.invented import (
    FEWEST_WORDS,
    LONGEST_LOOP,
    fewest_times,
    find_loops,
    support_score,
    unsupported,
    words_too_many,
)
from voxaudit.score.normalize import NORMALIZERS
from voxaudit.score.pairs import Pairs
from voxaudit.score.speech_activity import seconds_of_speech
from voxaudit.score.table import count_columns

FABRICATED, MIXED = "lexical_fabrication", "mixed_errors"
PAGE = "hallucination.md"


def auc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """Return the chance that a positive scores above a negative, ties counting half."""
    ours, theirs = np.asarray(positive, dtype=float)[:, None], np.asarray(negative, dtype=float)
    return float(np.mean(ours > theirs) + 0.5 * np.mean(ours == theirs))


def labelled(pairs: pl.DataFrame) -> list[tuple[str, str]]:
    """Return what the detector of unsupported stretches finds in labelled pairs."""
    rule = NORMALIZERS["basic"]
    texts = [(rule(said), rule(heard)) for said, heard in zip(pairs["ref"], pairs["hyp"], strict=True)]
    kinds = np.array(pairs["category"].to_list())
    scores = np.array([support_score(*one) for one in texts])
    flagged = np.array([bool(unsupported(*one)) for one in texts])
    others = ~np.isin(kinds, [FABRICATED, MIXED])
    hits = flagged[kinds == FABRICATED]
    rows = [
        (
            "AUC, fabricated against all other kinds but mixed",
            f"{auc(scores[kinds == FABRICATED], scores[others]):.3f}",
        ),
        (
            "AUC, fabricated against mixed errors",
            f"{auc(scores[kinds == FABRICATED], scores[kinds == MIXED]):.3f}",
        ),
        ("recall of fabricated pairs", f"{hits.mean():.2f}"),
        ("precision among all kinds but mixed", f"{hits.sum() / (hits.sum() + flagged[others].sum()):.2f}"),
        ("mixed errors flagged (they hold invented words, too)", f"{flagged[kinds == MIXED].mean():.2f}"),
    ]
    return [("labelled pairs, unsupported stretches: " + what, value) for what, value in rows]


def planted(calls: pl.DataFrame, generator: random.Random) -> list[tuple[str, str]]:
    """Return what is found of stretches and loops that were put into real transcripts, and what else is."""
    rule = NORMALIZERS["spoken-en"]
    own = calls.filter(pl.col("locale") == "en-US")
    pairs = [(rule(said), rule(heard)) for said, heard in zip(own["reference"], own["text"], strict=True)]
    pairs = [(said, heard) for said, heard in pairs if said and heard]
    words = [word for said, _ in pairs for word in said.split()]
    found = tried = false = 0
    for said, heard in pairs:
        false += bool(unsupported(said, heard))
        size = generator.randint(3, 8)
        start = generator.randrange(len(words) - size)
        piece, text = words[start : start + size], heard.split()
        place = generator.randint(0, len(text))
        tried += 1
        found += bool(unsupported(said, " ".join([*text[:place], *piece, *text[place:]])))
    rows = [
        (
            f"planted in {tried:,} answers of services, 3 to 8 words of other callers: recall",
            f"{found / tried:.2f}",
        ),
        ("the same answers as they are: flagged", f"{false / tried:.4f}"),
    ]
    clean = [rule(text) for text in calls.filter(pl.col("locale") == "en-US")["text"]]
    for size in range(1, LONGEST_LOOP + 1):
        texts = [text for text in clean if len(text.split()) >= size + 2]
        text = generator.choice(texts).split()
        place = generator.randint(0, len(text) - size)
        piece = text[place : place + size]
        if all(word.isdigit() for word in piece):
            piece = ["and", *piece[1:]]
        looped = [*text[:place], *piece * fewest_times(size), *text[place + size :]]
        if not find_loops(" ".join(looped)):
            raise SystemExit(f"a loop of {size} words was not found: {' '.join(looped)}")
    rows.append(
        (f"loops planted with 1 to {LONGEST_LOOP} words, at the fewest times that count: recall", "1.00")
    )
    return rows


def real_loops(calls: pl.DataFrame, more: Sequence[str]) -> list[tuple[str, str]]:
    """Return how many loops and impossible rates real speech has: all are false."""
    frame = calls.rename({"locale": "language"})
    (said, heard), _ = spoken(frame, ("reference", "text"))
    frame = frame.with_columns(reference=said, text=heard)
    people = frame.unique("utterance", maintain_order=True)
    basic = NORMALIZERS["basic"]
    texts = [*people["reference"], *map(basic, more)]
    answers = sum(bool(find_loops(*pair)) for pair in zip(frame["text"], frame["reference"], strict=True))
    rows = [
        (
            f"loops in {len(texts):,} texts of what people said, each by itself: false alarms",
            f"{sum(bool(find_loops(text)) for text in texts)}",
        ),
        (
            f"loops in {frame.height:,} answers of services to real calls, beside what was said: found",
            f"{answers}",
        ),
    ]
    for what, some, column in (("references", people, "reference"), ("answers", frame, "text")):
        pairs = zip(some[column], some["duration"], strict=True)
        found = sum(bool(words_too_many(*pair)) for pair in pairs)
        rows.append((f"impossible speaking rates in {some.height:,} {what}: found", f"{found}"))
    return rows


def activity(data: Path) -> list[tuple[str, str]]:
    """Return in how many recordings no speech is detected: of people, of the world around, of noise."""
    rows = []
    for name in ("ravdess", "accents", "coraal", "esc50"):
        table = pl.read_csv(data / name / "manifest.csv", infer_schema_length=0)
        paths = table["path"].gather_every(max(1, len(table) // 40)).head(40).to_list()
        quiet = sum(seconds_of_speech(_start(read(data / name / path))) < SHORTEST_SPEECH for path in paths)
        rows.append((f"{name}: no speech is detected in, of {len(paths)} recordings", f"{quiet}"))
    generator = np.random.default_rng(0)
    noises = [
        Audio((10 ** (level / 20) * generator.standard_normal(48_000)).astype(np.float32).clip(-1, 1), 16_000)
        for level in (-60, -50, -40, -30)
        for _ in range(5)
    ]
    quiet = sum(seconds_of_speech(noise) < SHORTEST_SPEECH for noise in noises)
    rows.append((f"white noise at -60 to -30 dB: no speech is detected in, of {len(noises)}", f"{quiet}"))
    return rows


def cost(calls: pl.DataFrame) -> list[tuple[str, str]]:
    """Return what the detectors take beside scoring, in CPU seconds for all answers."""
    frame = calls.with_columns(scenario=pl.lit("clean")).rename({"locale": "language"})
    # First of all, and each once: what was met before is looked up.
    scored = took(lambda: count_columns(*spoken(frame, ("reference", "text"))[0]))
    (said, heard), _ = spoken(frame, ("reference", "text"))
    detected = took(lambda: detect(frame, Pairs.of(said, heard), FEWEST_WORDS))
    return [
        (f"{frame.height:,} answers: CPU seconds to normalize and score", f"{scored.cpu:.1f}"),
        ("the same answers: CPU seconds of the detectors, beside it", f"{detected.cpu:.1f}"),
    ]


def _start(audio: Audio) -> Audio:
    return Audio(audio.samples[: 6 * audio.rate], audio.rate)


def nothing_to_find(worlds: int) -> list[tuple[str, str]]:
    """Return how often a difference between groups is claimed where there is none, and where there is a threefold one.

    Made-up audits: 12 and 28 speakers with 10 minutes each in utterances of 20 s; every twentieth utterance has 3 to 12
    invented words, speakers differing log-normally (standard deviation 0.8).
    """
    rows = []
    for factor, what in ((1.0, "nothing to find"), (3.0, "three times as many")):
        claims = 0
        for world in range(worlds):
            generator = np.random.default_rng([world, int(factor)])
            speakers = np.repeat(np.arange(40), 30)
            rate = (
                0.05
                * np.exp(0.8 * generator.standard_normal(40) - 0.32)
                * np.where(np.arange(40) < 12, factor, 1)
            )
            hits = generator.random(1200) < np.minimum(rate[speakers], 1.0)
            words = generator.integers(3, 13, 1200)
            table = pl.DataFrame(
                {
                    "utterance": [f"u{place}" for place in range(1200)],
                    "speaker": [f"s{speaker}" for speaker in speakers],
                    "group": np.where(speakers < 12, "few", "many"),
                    "duration": np.full(1200, 20.0),
                    "reference": ["good day"] * 1200,
                    "text": [
                        "good day " + "elephant " * int(hit and count) + ("zebra" if hit else "")
                        for hit, count in zip(hits, words, strict=True)
                    ],
                }
            )
            answer = hallucination(table, attributes="group", seed=world)
            claims += any(one.verdict == "shown" for one in answer.findings)
        rows.append(
            (
                f"groups of 12 and 28 speakers, {what}: a difference is claimed",
                f"{100 * claims / worlds:.1f} %",
            )
        )
    return rows


def main() -> None:
    """Measure everything and print it as a table; `--docs` writes it into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reference", type=Path, default=Path("../shared/reference"))
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--worlds", type=int, default=100)
    parser.add_argument("--docs", type=Path)
    args = parser.parse_args()
    pairs = pl.read_csv(args.reference / "hallucination" / "shallow_pairs.csv")
    calls = pl.read_csv(args.reference / "mu_bench" / "transcripts.csv.gz").with_columns(
        pl.col("text", "reference").fill_null("")
    )
    people = [
        text
        for name in ("ravdess", "accents")
        for text in pl.read_csv(args.data / name / "manifest.csv", infer_schema_length=0)["text"].drop_nulls()
    ]
    parts: list[Callable[[], list[tuple[str, str]]]] = [
        lambda: labelled(pairs),
        lambda: planted(calls, random.Random(0)),
        lambda: real_loops(calls, people),
        lambda: activity(args.data),
        lambda: nothing_to_find(args.worlds),
    ]
    costs = cost(calls)
    rows = [row for part in parts for row in part()] + costs
    table = "\n".join(["| what | found |", "|---|---|", *(f"| {what} | {value} |" for what, value in rows)])
    print(table)
    if args.docs is not None:
        page = args.docs / PAGE
        page.write_text(fill(page.read_text(encoding="utf-8"), "detectors", table), encoding="utf-8")


if __name__ == "__main__":
    main()
