"""Word error rate and speed of recognizers on a manifest's recordings, one thread, one after the other.

    python -m benchmarks.studies.recognizers MANIFEST.csv moonshine vosk faster_whisper:language=en
    python -m benchmarks.studies.recognizers MANIFEST.csv --clips 16 --json results.json moonshine

The manifest has columns `path` (from its own folder) and `text`. Clips are taken at equal steps through it. Times are
of the second pass over the clips, without loading; CPU seconds are those of this process, per second of audio.
"""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path
from typing import Any

from benchmarks.measure import took

from voxaudit.audio import Audio, read, resample
from voxaudit.recognize import as_transcripts, make_recognizer
from voxaudit.score import Counts, Normalizer, count_words, normalizer


def clips_of(manifest: Path, count: int) -> list[tuple[str, Audio]]:
    with manifest.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    step = max(1, len(rows) // count)
    return [(row["text"], read(manifest.parent / row["path"])) for row in rows[::step][:count]]


def measure(spec: str, clips: list[tuple[str, Audio]], normalize: Normalizer) -> dict[str, Any]:
    recognizer = make_recognizer(spec)
    loaded = took(recognizer.load)
    transcribe: Any = loaded.value
    heard = [audio if recognizer.rate is None else resample(audio, recognizer.rate) for _, audio in clips]
    transcribe(heard[:1])
    one = took(lambda: [as_transcripts(transcribe([audio]), 1)[0].text for audio in heard])
    answers: Any = one.value
    counts = Counts.zero()
    for (text, _), answer in zip(clips, answers, strict=True):
        counts += count_words(normalize(text), normalize(answer))
    seconds = sum(audio.duration for audio in heard)
    return {
        "recognizer": spec,
        "wer": counts.wer,
        "errors": counts.errors,
        "words": counts.words,
        "load_seconds": loaded.wall,
        "rtf": one.wall / seconds,
        "cpu_rtf": one.cpu / seconds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("manifest", type=Path)
    parser.add_argument("recognizers", nargs="+")
    parser.add_argument("--clips", type=int, default=16)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    clips = clips_of(args.manifest, args.clips)
    normalize = normalizer("whisper-en")
    print(f"{len(clips)} clips, {sum(audio.duration for _, audio in clips):.1f} s")
    results = []
    for spec in args.recognizers:
        row = measure(spec, clips, normalize)
        results.append(row)
        print(
            f"{spec:40} WER {row['wer']:6.1%} ({row['errors']}/{row['words']})"
            f"  CPU {row['cpu_rtf']:.3f}  wall {row['rtf']:.3f} s/s  loaded in {row['load_seconds']:.1f} s"
        )
    if args.json:
        args.json.write_text(json.dumps(results, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
