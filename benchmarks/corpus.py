"""How long a corpus of a million utterances takes to read, and how much memory: python benchmarks/corpus.py [rows]."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

MEASURE = """
import resource, sys, time
from voxaudit.corpus import read_corpus
start, busy = time.perf_counter(), time.process_time()
corpus = read_corpus(sys.argv[1], check_audio=sys.argv[2] == "look")
seconds, busy = time.perf_counter() - start, time.process_time() - busy
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
facts = (f"{len(corpus):,}", sys.argv[2], f"{seconds:.1f} s", f"{busy:.1f} s of processor", f"{peak:.2f} GB")
print(corpus.format, *facts, sep="\\t")
"""


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
    "manifest": ("manifest.csv", "path,text,speaker,gender,age,accent\n", manifest_row),
    "common_voice": (
        "validated.tsv",
        "client_id\tpath\tsentence_id\tsentence\tsentence_domain\tup_votes\tdown_votes\tage\tgender\taccents\t"
        "variant\tlocale\tsegment\n",
        common_voice_row,
    ),
}


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        clips = Path(folder) / "clips"
        clips.mkdir()
        for number in range(rows):  # empty files: only their names matter here
            os.close(os.open(clips / f"{number}.mp3", os.O_CREAT | os.O_WRONLY))
        for file, header, row in KINDS.values():
            place = Path(folder) / file
            with place.open("w", encoding="utf-8") as out:
                out.write(header)
                out.writelines(row(number) for number in range(rows))
            print(f"{file}: {place.stat().st_size / 1e6:.0f} MB")
            for look in ("rows only", "look"):
                subprocess.run([sys.executable, "-c", MEASURE, place, look], check=True)
            place.unlink()


if __name__ == "__main__":
    main()
