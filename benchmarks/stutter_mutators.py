"""Stuttering put into real speech: seconds per event, distances to real stuttering, checks, and pictures to look at.

    python -m benchmarks.stutter_mutators ../shared/data/ravdess/manifest.csv --utterances 32
    python -m benchmarks.stutter_mutators spoken/manifest.csv --pictures docs/stutter_kinds.png
"""

from __future__ import annotations

import argparse
import time
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path

import numpy as np

from voxaudit.align import align_corpus
from voxaudit.audio import Audio
from voxaudit.corpus import read_corpus
from voxaudit.perturb.stutter import MODES, applicable, sample_chain, sample_operation
from voxaudit.perturb.stutter.checks import PlaceCheck, own_step, sound_checks
from voxaudit.perturb.stutter.measured import MEASURES, PROFILES, kolmogorov
from voxaudit.perturb.stutter.recordings import Recording


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--utterances", type=int, default=None)
    parser.add_argument("--repeats", type=int, default=10, help="events of each kind per recording")
    parser.add_argument("--place", type=int, default=2, help="of these, how many are aligned again")
    parser.add_argument("--pictures", type=Path, default=None, help="spectrograms of two cases per kind, as PNG")
    args = parser.parse_args()
    utterances = list(read_corpus(args.corpus))[: args.utterances]
    recordings = [Recording(u, t, u.text or "") for u, t in align_corpus(utterances) if not isinstance(t, str)]
    print(f"{len(recordings)} of {len(utterances)} recordings can be aligned")
    measure(recordings, args.repeats, args.place)
    if args.pictures:
        draw(recordings, args.pictures)


def measure(recordings: list[Recording], repeats: int, placed: int) -> None:
    """Print what each mode puts in, how long that takes, and how far it lies from real stuttering."""
    for mode in MODES:
        seconds: dict[str, list[float]] = defaultdict(list)
        values: dict[str, list[float]] = defaultdict(list)
        failed: dict[str, Counter[str]] = defaultdict(Counter)
        places: Counter[str] = Counter()
        same = pairs = changed = 0
        place = PlaceCheck()
        for number, recording in enumerate(recordings):
            audio = recording.audio()
            step = own_step(audio.samples)
            for repeat in range(repeats):
                made = {}
                for kind in applicable(recording.timings, (), mode):
                    generator = np.random.default_rng([number, repeat])
                    operation = sample_operation(kind, recording.timings, generator, mode=mode)
                    begun = time.process_time()
                    edit = operation.edit(audio.samples, audio.rate, recording.timings)
                    seconds[kind].append(time.process_time() - begun)
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
        print(f"\n{mode}: identical samples in {same} of {pairs} pairs of kinds; changed outside of the edit: {changed}")
        within = places["later"] + places["syllable"]
        total = within + places["sound"]
        print(f"word-initial: {100 * (1 - within / max(total, 1)):.1f} % of {total} events")
        for kind, spent in seconds.items():
            median, high = np.quantile(spent, [0.5, 0.95]) * 1000
            told = failed[kind]
            share = ", ".join(f"{n} {100 * told[n] / told['events']:.1f} %" for n in ("seam", "zeros", "copies"))
            at = 100 * told["place"] / max(told["aligned"], 1)
            print(
                f"  {kind:18} {np.mean(spent) * 1000:5.2f} ms mean, {median:.2f} median, {high:.2f} at 95 %;"
                f" rejected: {share}, place {at:.1f} % (n={told['events']}, {told['aligned']})"
            )
        for name in MEASURES:
            if name in values:
                print(f"  Kolmogorov distance, {MEASURES[name].about}: {kolmogorov(name, values[name]):.3f} (n={len(values[name])})")
    for name, profile in PROFILES.items():
        kinds: Counter[str] = Counter()
        words = 0
        for number, recording in enumerate(recordings):
            for repeat in range(max(repeats, 10)):
                generator = np.random.default_rng([number, repeat, 7])
                chain = sample_chain(recording.timings, "profile", profile.rate, None, generator)
                kinds.update(one.kind for one in chain.operations)
                words += len(recording.timings.intended)
        total = max(sum(kinds.values()), 1)
        away = {kind: 100 * (kinds[kind] / total - share) for kind, share in profile.shares.items()}
        told = ", ".join(f"{kind} {points:+.1f}" for kind, points in away.items())
        print(f"{name}: {100 * total / words:.1f} events per 100 words (wanted {profile.rate:g}); kinds off by points: {told}")


def draw(recordings: list[Recording], target: Path) -> None:
    """Write spectrograms of two cases per kind: the original above, the case below, what was put in marked in red."""
    from PIL import Image, ImageDraw

    rows = []
    for kind in applicable(recordings[0].timings):
        tiles = []
        for number in range(2):
            recording = recordings[number % len(recordings)]
            audio = recording.audio()
            generator = np.random.default_rng(number + 1)
            operation = sample_operation(kind, recording.timings, generator)
            edit = operation.edit(audio.samples, audio.rate, recording.timings)
            after = edit.apply(audio.samples)
            picture = _tile(after, audio.rate, edit.start, edit.start + len(edit.samples))
            brush = ImageDraw.Draw(picture)
            brush.text((4, 2), str(operation)[:90], fill=(255, 255, 255))
            tiles.append(picture)
        rows.append(tiles)
    width, height = rows[0][0].size
    sheet = Image.new("RGB", (2 * width + 4, len(rows) * (height + 4)), (255, 255, 255))
    for number, tiles in enumerate(rows):
        for column, tile in enumerate(tiles):
            sheet.paste(tile, (column * (width + 4), number * (height + 4)))
    sheet.save(target, optimize=True)
    print(f"{target}: two cases of each kind")


def _tile(samples, rate: int, start: int, stop: int):  # type: ignore[no-untyped-def]
    from PIL import Image

    low, high = max(0, start - rate // 2), min(len(samples), stop + rate)
    sound = samples[low:high].astype(float)
    size, hop = 256, 64
    frames = np.lib.stride_tricks.sliding_window_view(sound, size)[::hop] * np.hanning(size)
    level = 20 * np.log10(np.abs(np.fft.rfft(frames, axis=1)) + 1e-4).T[::-1]
    scaled = np.clip((level - level.max() + 70) / 70, 0, 1)
    gray = (255 * scaled).astype(np.uint8)
    colors = np.stack([gray, gray, gray], axis=-1)
    a, b = (start - low) // hop, min((stop - low) // hop, colors.shape[1] - 1)
    colors[-4:, max(a, 0) : b + 1] = (255, 60, 40)
    return Image.fromarray(colors).resize((560, 150))


if __name__ == "__main__":
    main()
