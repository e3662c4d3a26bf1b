"""Scoring: word errors and whole score tables, beside jiwer on the same pairs, and growth with their number.

Counts are compared before a time is reported. `--full` also streams 10 million pairs.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import polars as pl
from benchmarks.measure import Row, Settings, absent, alone, apart, compare, named, race, row_of

from voxaudit.audits.score.audit import score_files
from voxaudit.score import normalizer, score_transcripts, stream_word_counts, word_counts


def realistic(pairs: int, seed: int = 1) -> Iterator[tuple[str, str]]:
    """Yield sentences of about ten words and what a recognizer with about 15 % errors makes of them."""
    generator = random.Random(seed)
    letters = "abcdefghijklmnopqrstuvwxyz"
    vocabulary = ["".join(generator.choices(letters, k=generator.randint(2, 9))) for _ in range(20_000)]

    def word() -> str:  # few words are frequent, many are rare
        return vocabulary[min(int(generator.paretovariate(0.6)), len(vocabulary)) - 1]

    for _ in range(pairs):
        said = [word() for _ in range(max(1, round(generator.gauss(10, 4))))]
        heard: list[str] = []
        for token in said:
            chance = generator.random()
            if chance < 0.09:
                heard.append(word())
            elif chance < 0.12:
                continue
            else:
                heard += [token, word()] if chance < 0.15 else [token]
        yield " ".join(said), " ".join(heard)


def unrelated(pairs: int, seed: int = 2) -> Iterator[tuple[str, str]]:
    """Yield pairs of up to 20 words out of six: nearly every one has several best alignments."""
    generator = random.Random(seed)
    for _ in range(pairs):
        yield (
            " ".join(generator.choices("abcdef", k=generator.randint(1, 20))),
            " ".join(generator.choices("abcdef", k=generator.randint(0, 20))),
        )


def measure(settings: Settings) -> Iterator[Row]:
    count = settings.pick(5_000, 100_000)
    rounds = settings.pick(2, 4)
    for what, pairs in (
        (f"{count:,} sentences of 10 words, 15 % errors", list(realistic(count))),
        (f"{count:,} unrelated pairs, many best alignments", list(unrelated(count))),
    ):
        yield from against_jiwer(what, pairs, rounds)
    yield from small_calls(rounds)
    yield from growth(settings.pick((1_000, 10_000), (10_000, 300_000), (10_000, 1_000_000)), rounds)
    yield whole_table(count, rounds)
    yield from whole_command(settings.pick(5_000, 200_000), settings.pick(1, 3))
    pairs = settings.pick(10_000, 2_000_000)
    with tempfile.TemporaryDirectory() as folder:
        write_files(folder, pairs)
        peak = alone(command, folder=folder).megabytes
    yield row_of(f"the command, {pairs:,} pairs", "MB at its peak", [peak])
    if settings.size == "full":
        runs = [alone(streamed, pairs=10_000_000)]
        yield row_of("10,000,000 pairs streamed", "CPU s", [one.cpu for one in runs])
        yield row_of("10,000,000 pairs streamed", "MB above the imports", [one.added for one in runs])


def against_jiwer(what: str, pairs: list[tuple[str, str]], rounds: int) -> Iterator[Row]:
    references, hypotheses = map(list, zip(*pairs, strict=True))
    missing = absent("jiwer")
    if missing is None:
        import jiwer

        output = jiwer.process_words(references, hypotheses)
        wanted = (output.hits, output.substitutions, output.deletions, output.insertions)
        found = word_counts(references, hypotheses).sum().row(0)
        if found != wanted:
            raise ValueError(f"{what}: counts differ from jiwer's: {found} against {wanted}")
        del output
    yield from compare(
        what,
        "CPU us per pair",
        lambda: word_counts(references, hypotheses),
        {named("jiwer"): missing or (lambda: jiwer.process_words(references, hypotheses))},
        rounds=rounds,
        scale=1e6 / len(pairs),
        warm=missing is not None,
    )


def small_calls(rounds: int) -> Iterator[Row]:
    """Score 200 pairs at once: here jiwer is at its best, and our fixed cost counts."""
    references, hypotheses = map(list, zip(*realistic(200), strict=True))
    missing = absent("jiwer")
    if missing is None:
        import jiwer
    yield from compare(
        "200 sentences in a call",
        "CPU us per pair",
        lambda: word_counts(references, hypotheses),
        {named("jiwer"): missing or (lambda: jiwer.process_words(references, hypotheses))},
        rounds=3 * rounds,
        scale=1e6 / 200,
    )


def growth(sizes: tuple[int, int], rounds: int) -> Iterator[Row]:
    """Compare the cost of a pair among few and among many, the texts in two columns of a table."""
    table = pl.DataFrame(list(realistic(max(sizes))), schema=["reference", "hypothesis"], orient="row")
    few, many = (table.head(size) for size in sizes)
    found = race(
        {"few": lambda: word_counts(*few.get_columns()), "many": lambda: word_counts(*many.get_columns())},
        rounds,
    )
    yield row_of(
        f"{many.height:,} pairs in columns",
        "CPU us per pair",
        [1e6 * one.cpu / many.height for one in found["many"]],
        [1e6 * one.cpu / few.height for one in found["few"]],
        peer=f"the same on {few.height:,}: 1 is linear",
        kind="floor",
    )


def whole_table(rows: int, rounds: int) -> Row:
    """Make the `scores` table, normalizing and character errors included."""
    pairs = list(realistic(min(rows, 10_000)))
    corpus = pl.DataFrame(
        {"id": [str(row) for row in range(len(pairs))], "speaker": "s", "text": [said for said, _ in pairs]}
    )
    picked = [row % len(pairs) for row in range(rows)]
    transcripts = pl.DataFrame(
        {
            "utterance": [str(row) for row in picked],
            "scenario": "clean",
            "recognizer": "r",
            "text": [f"{pairs[row][1]} {place}" for place, row in enumerate(picked)],
            "failure": "",
        }
    )
    found = race({"": lambda: score_transcripts(transcripts, corpus, "basic")}, rounds)
    note = "normalizing with basic, words and characters"
    return row_of(
        f"scores table of {rows:,} rows",
        "CPU us per row",
        [1e6 * one.cpu / rows for one in found[""]],
        note=note,
    )


def whole_command(pairs: int, rounds: int) -> Iterator[Row]:
    """Score two files, everything that the command prints, beside jiwer on texts that are normalized alike."""
    what = f"the command, {pairs:,} pairs in two files"
    with tempfile.TemporaryDirectory() as folder:
        write_files(folder, pairs)
        ours, theirs = apart(command, folder=folder), apart(jiwer_on_files, ["jiwer"], folder=folder)
        missing = absent("jiwer")
        label = f"{named('jiwer')}: words and characters of the same texts, no more"
        yield from compare(what, "CPU s", ours, {label: missing or theirs}, rounds=rounds, warm=False)
    answers = [[round(rate, 12) for rate in one.value] for one in (*ours.took, *theirs.took)]
    if any(answer != answers[0] for answer in answers):
        raise ValueError(f"{what}: rates differ: {answers}")


def write_files(folder: str, pairs: int) -> None:
    """Write references, as sentences, and what was heard, a line each."""
    with Path(folder, "said.txt").open("w") as said, Path(folder, "heard.txt").open("w") as heard:
        for one, other in realistic(pairs):
            said.write(f"{one.capitalize()}.\n")
            heard.write(f"{other}\n")


def command(folder: str) -> list[float]:
    answer = score_files(Path(folder, "said.txt"), Path(folder, "heard.txt"))
    rates = dict(answer.tables["measures"].select("measure", "rate").iter_rows())
    return [rates["wer"], rates["cer"]]


def jiwer_on_files(folder: str) -> list[float]:
    import jiwer

    rule = normalizer("basic")
    said, heard = (
        [rule(line) for line in Path(folder, name).read_text().splitlines()]
        for name in ("said.txt", "heard.txt")
    )
    return [jiwer.process_words(said, heard).wer, jiwer.process_characters(said, heard).cer]


def streamed(pairs: int) -> int:
    pool = list(realistic(100_000))
    source = (pair for _ in range(-(-pairs // len(pool))) for pair in pool)
    return sum(int(part["hits"].sum()) for part in stream_word_counts(islice(source, pairs)))
