"""Stuttering put into real speech: seconds per event, distances to real stuttering, checks, and pictures to look at.

python -m benchmarks.studies.stutter ../shared/data/ravdess/manifest.csv --utterances 32
python -m benchmarks.studies.stutter spoken/manifest.csv --pictures docs/stutter_kinds.png
python -m benchmarks.studies.stutter ../shared/data/accents/manifest.csv --words 4-14 --cut accents11.csv
"""

from __future__ import annotations

import argparse
import struct
import zlib
from collections import Counter, defaultdict
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
from benchmarks.measure import took
from numpy.typing import NDArray

from voxaudit.align import PocketSphinxAligner, align_corpus
from voxaudit.audio import Audio, Samples, write
from voxaudit.audits.stutter.audit import filler_clips
from voxaudit.corpus import read_corpus
from voxaudit.perturb.stutter.checks import PlaceCheck, own_step, sound_checks
from voxaudit.perturb.stutter.measured import MEASURES, PROFILES, kolmogorov
from voxaudit.perturb.stutter.recordings import Recording
from voxaudit.perturb.stutter.sample import MODES, applicable, sample_chain, sample_operation
from voxaudit.perturb.stutter.sounds import room_tone


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--utterances", type=int, default=None)
    parser.add_argument("--repeats", type=int, default=10, help="events of each kind per recording")
    parser.add_argument("--place", type=int, default=2, help="of these, how many are aligned again")
    parser.add_argument(
        "--pictures", type=Path, default=None, help="spectrograms of two cases per kind, as PNG"
    )
    parser.add_argument(
        "--cut", type=Path, help="write some words of each recording instead, and their manifest"
    )
    parser.add_argument("--words", default="1-7", help="which words to cut out, counted from 1")
    args = parser.parse_args()
    utterances = list(read_corpus(args.corpus))[: args.utterances]
    # Words to cut out are known to be said, however unlike the model's they sound.
    aligner = PocketSphinxAligner(least_score=-100.0) if args.cut else None
    recordings = [
        Recording(u, t, u.text or "") for u, t in align_corpus(utterances, aligner) if not isinstance(t, str)
    ]
    print(f"{len(recordings)} of {len(utterances)} recordings can be aligned")
    if args.cut:
        first, last = map(int, args.words.split("-"))
        folder = args.cut.with_suffix("")
        folder.mkdir(parents=True, exist_ok=True)
        pl.DataFrame([cut(one, first - 1, last, folder) for one in recordings]).write_csv(args.cut)
    elif args.repeats:
        measure(recordings, args.repeats, args.place)
    if args.pictures:
        draw(recordings, args.pictures)


def cut(recording: Recording, first: int, last: int, folder: Path) -> dict[str, object]:
    """Write some words of a recording, and return their row of a manifest.

    The cut keeps up to 0.3 s of the pauses around the words and nothing of the words beside them; where the pauses are
    shorter, the recording's own room tone goes on. A cut that ends where the next word begins makes recognizers loop.
    """
    about, words = recording.utterance, [recording.timings.words[at] for at in recording.timings.intended]
    audio = recording.audio()
    before = words[first - 1].end if first else 0.0
    after = words[last].start if last < len(words) else audio.duration
    start, stop = max(before, words[first].start - MARGIN), min(after, words[last - 1].end + MARGIN)
    lead, trail = MARGIN - (words[first].start - start), MARGIN - (stop - words[last - 1].end)
    said = audio.samples[round(start * audio.rate) : round(stop * audio.rate)].astype(np.float64)
    fade = np.linspace(0.0, 1.0, round(FADE * audio.rate))
    said[: len(fade)] *= fade
    said[len(said) - len(fade) :] *= fade[::-1]
    lengths = [round(seconds * audio.rate) for seconds in (lead, trail)]
    tone = room_tone(audio.samples, audio.rate, sum(lengths), np.random.default_rng(0))
    samples = np.concatenate([tone[: lengths[0]], said, tone[lengths[0] :]]).astype(np.float32)
    path = folder / f"{about.audio.stem}.flac"
    write(path, Audio(samples, audio.rate))
    text = " ".join(recording.text.split()[first:last])
    return {"path": str(path.resolve()), "text": text, "speaker": about.speaker} | dict(about.attributes)


def measure(recordings: list[Recording], repeats: int, placed: int) -> None:
    """Print what each mode puts in, how long that takes, and how far it lies from real stuttering."""
    for mode in MODES:
        seconds: dict[str, list[float]] = defaultdict(list)
        values: dict[str, list[float]] = defaultdict(list)
        failed: dict[str, Counter[str]] = defaultdict(Counter)
        places: Counter[str] = Counter()
        same = pairs = changed = 0
        place, clips = PlaceCheck(), filler_clips()
        for number, recording in enumerate(recordings):
            audio = recording.audio()
            step = own_step(audio.samples)
            for repeat in range(repeats):
                made = {}
                for kind in applicable(recording.timings, clips, mode):
                    generator = np.random.default_rng([number, repeat])
                    operation = sample_operation(kind, recording.timings, generator, mode=mode, clips=clips)
                    call = partial(operation.edit, audio.samples, audio.rate, recording.timings, clips)
                    # The fewest of some times: what others do on the machine only adds.
                    done = min((took(call) for _ in range(TIMES)), key=lambda one: one.cpu)
                    edit = done.value
                    seconds[kind].append(done.cpu)
                    after = edit.apply(audio.samples)
                    made[kind] = after.tobytes()
                    outside = np.array_equal(after[: edit.start], audio.samples[: edit.start])
                    rest = after[edit.start + len(edit.samples) :]
                    changed += not (outside and np.array_equal(rest, audio.samples[edit.stop :]))
                    places[edit.place] += 1
                    for name, value in edit.measures:
                        values[name].append(value)
                    failed[kind]["events"] += 1
                    failed[kind].update(sound_checks(audio.samples, audio.rate, edit, step))
                    if repeat < placed:
                        there, _ = place(
                            audio, recording.timings, Audio(after, audio.rate), edit.timings, operation
                        )
                        failed[kind]["aligned"] += 1
                        failed[kind]["place"] += not there
                for one, other in combinations(made.values(), 2):
                    pairs += 1
                    same += one == other
        print(
            f"\n{mode}: identical samples in {same} of {pairs} pairs of kinds; changed outside of the edit: {changed}"
        )
        within = places["later"] + places["syllable"]
        total = within + places["sound"]
        print(f"word-initial: {100 * (1 - within / max(total, 1)):.1f} % of {total} events")
        for kind, spent in seconds.items():
            median, high = np.quantile(spent, [0.5, 0.95]) * 1000
            told = failed[kind]
            share = ", ".join(
                f"{n} {100 * told[n] / told['events']:.1f} %" for n in ("seam", "zeros", "copies")
            )
            at = 100 * told["place"] / max(told["aligned"], 1)
            print(
                f"  {kind:18} {np.mean(spent) * 1000:5.2f} ms mean, {median:.2f} median, {high:.2f} at 95 %;"
                f" rejected: {share}, place {at:.1f} % (n={told['events']}, {told['aligned']})"
            )
        for name in MEASURES:
            if name in values:
                print(
                    f"  Kolmogorov distance, {MEASURES[name].about}: {kolmogorov(name, values[name]):.3f}"
                    f" (n={len(values[name])})"
                )
    for name, profile in PROFILES.items():
        kinds: Counter[str] = Counter()
        words = 0
        for number, recording in enumerate(recordings):
            for repeat in range(DRAWS // len(recordings)):
                generator = np.random.default_rng([number, repeat, 7])
                chain = sample_chain(recording.timings, "profile", profile.rate, None, generator)
                kinds.update(one.kind for one in chain.operations)
                words += len(recording.timings.intended)
        total = max(sum(kinds.values()), 1)
        away = {kind: 100 * (kinds[kind] / total - share) for kind, share in profile.shares.items()}
        told = ", ".join(f"{kind} {points:+.1f}" for kind, points in away.items())
        print(
            f"{name}: {100 * total / words:.1f} events per 100 words (wanted {profile.rate:g});"
            f" kinds off by points: {told}"
        )


def draw(recordings: list[Recording], target: Path) -> None:
    """Write spectrograms of two cases per kind, a row for each kind; what was put in is underlined in red."""
    clips = filler_clips()
    sheet, order = [], applicable(recordings[0].timings, clips)
    for kind in order:
        tiles = []
        for number in range(2):
            recording = recordings[number % len(recordings)]
            audio = recording.audio()
            generator = np.random.default_rng(number + 1)
            operation = sample_operation(kind, recording.timings, generator, clips=clips)
            edit = operation.edit(audio.samples, audio.rate, recording.timings, clips)
            print(f"  {kind}, {'left' if number == 0 else 'right'}: {operation}")
            tiles.append(
                _tile(edit.apply(audio.samples), audio.rate, edit.start, edit.start + len(edit.samples))
            )
        sheet.append(
            np.concatenate([tiles[0], np.full((tiles[0].shape[0], 8, 3), 255, np.uint8), tiles[1]], axis=1)
        )
        sheet.append(np.full((8, sheet[-1].shape[1], 3), 255, np.uint8))
    _write_png(target, np.concatenate(sheet[:-1]))
    print(f"{target}: {', '.join(order)}, from top to bottom; 4 kHz, {SECONDS:g} s each")


MARGIN = 0.3
"""Seconds of pause or room tone around words that are cut out."""
FADE = 0.005
TIMES = 3
"""How often an event is made, to time it."""
DRAWS = 4_000
"""How often a recording is drawn for a profile: shares of rare kinds need many events."""
SECONDS = 2.4
"""How much of a recording a picture shows."""


def _tile(samples: Samples, rate: int, start: int, stop: int) -> NDArray[np.uint8]:
    low = max(0, start - round(0.4 * rate))
    sound = np.zeros(round(SECONDS * rate))
    part = samples[low : low + len(sound)]
    sound[: len(part)] = part
    size, hop = round(0.016 * rate), round(0.004 * rate)
    frames = np.lib.stride_tricks.sliding_window_view(sound, size)[::hop] * np.hanning(size)
    level = 20 * np.log10(np.abs(np.fft.rfft(frames, 512, axis=1)) + 1e-4).T[: 512 * 4000 // rate][::-1]
    gray = (255 * (1 - np.clip((level - level.max() + 65) / 65, 0, 1))).astype(np.uint8)
    colors = np.stack([gray, gray, gray], axis=-1)
    a, b = (start - low) // hop, min((stop - low) // hop, colors.shape[1] - 1)
    line = np.full((5, colors.shape[1], 3), 255, np.uint8)
    line[1:, max(a, 0) : b + 1] = (200, 40, 20)
    return np.concatenate([colors, line])


def _write_png(target: Path, pixels: NDArray[np.uint8]) -> None:
    height, width, _ = pixels.shape
    raw = b"".join(b"\0" + row.tobytes() for row in pixels)

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b"")
    target.write_bytes(b"\x89PNG\r\n\x1a\n" + body)


if __name__ == "__main__":
    main()
