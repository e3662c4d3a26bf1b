"""Reading a corpus: a manifest and Common Voice's table, beside Python's csv reading the same rows into dicts.

Each in a process of its own. Ours checks every row, and with `audio looked for` that its file exists.
"""

from __future__ import annotations

import csv
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.measure import Row, Settings, apart, compare, row_of

from voxaudit.corpus import read_corpus


def manifest_row(number: int) -> str:
    gender = ("female", "male")[number % 2]
    return (
        f'clips/{number}.mp3,"a sentence, number {number} of many",s{number % 20000},{gender},twenties,us\n'
    )


def common_voice_row(number: int) -> str:
    gender = ("female_feminine", "male_masculine")[number % 2]
    speaker = f"c{number % 20000:0128d}"
    votes = "2\t0\tfourties"
    accent = "United States English"
    return f'{speaker}\t{number}.mp3\ts{number}\tA "sentence number {number}\t\t{votes}\t{gender}\t{accent}\t\ten\t\n'


KINDS: dict[str, tuple[str, str, Callable[[int], str]]] = {
    "manifest, 6 columns": ("manifest.csv", "path,text,speaker,gender,age,accent\n", manifest_row),
    "Common Voice, 13 columns": (
        "validated.tsv",
        "client_id\tpath\tsentence_id\tsentence\tsentence_domain\tup_votes\tdown_votes\tage\tgender\taccents\t"
        "variant\tlocale\tsegment\n",
        common_voice_row,
    ),
}


def read(path: str, look: bool) -> int:
    return len(read_corpus(path, check_audio=look))


def plain(path: str) -> int:
    """Read the rows with Python's csv and keep them."""
    tabs = path.endswith(".tsv")
    with Path(path).open(encoding="utf-8", newline="") as file:
        reader = (
            csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE) if tabs else csv.DictReader(file)
        )
        return len(list(reader))


def measure(settings: Settings) -> Iterator[Row]:
    rows = settings.pick(5_000, 200_000, 1_000_000)
    rounds = settings.pick(1, 3)
    with tempfile.TemporaryDirectory() as folder:
        clips = Path(folder) / "clips"
        clips.mkdir()
        for number in range(rows):  # empty files: only their names matter here
            os.close(os.open(clips / f"{number}.mp3", os.O_CREAT | os.O_WRONLY))
        for kind, (file, header, row) in KINDS.items():
            path = Path(folder) / file
            with path.open("w", encoding="utf-8") as out:
                out.write(header)
                out.writelines(row(number) for number in range(rows))
            for look in (False, True):
                what = f"{kind}, {rows:,} rows{', audio looked for' if look else ''}"
                ours, theirs = apart(read, path=str(path), look=look), apart(plain, path=str(path))
                yield from compare(
                    *(what, "CPU us per row", ours),
                    {"csv.DictReader": theirs},
                    rounds=rounds,
                    scale=1e6 / rows,
                    kind="floor",
                    warm=False,
                )
            yield row_of(
                what,
                "MB above the imports",
                [one.added for one in ours.took],
                [one.added for one in theirs.took],
                peer="csv.DictReader",
                kind="floor",
            )
            path.unlink()
