"""What noise and rooms achieve: signal-to-noise ratios, reverberation times and SRMR measured on disturbed speech.

    python -m benchmarks.studies.sources [--speech FOLDER] [--noise FOLDER]

Without --speech, synthetic talkers are disturbed.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from voxaudit import audio
from voxaudit.audio import Audio
from voxaudit.perturb import parse_scenario
from voxaudit.perturb.sources import open_source
from voxaudit.perturb.sources.builtin import make

RATE = 16000
ROOMS = ("rir", "real_rir")


def achieved(clips: list[Audio], sources: dict[str, Any]) -> None:
    for id_ in [f"{name}:{n}" for name in [*ROOMS, "environment_esc50"] for n in (1, 2, 3, 4)]:
        scenario = parse_scenario(id_, sources)
        rows = [scenario.achieved(clip, seed=1, utterance=str(n)) for n, clip in enumerate(clips)]
        for key in rows[0]:
            values = [row[key] for row in rows if key in row]
            print(f"{id_}  {key}: {min(values):.3f} {np.mean(values):.3f} {max(values):.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--speech", type=Path, help="a folder of speech, of which 20 clips are taken")
    parser.add_argument("--noise", type=Path, help="a folder of noise, for environment_esc50")
    args = parser.parse_args()
    sources = {"environment_esc50": open_source("environment_esc50", args.noise)} if args.noise else {}
    if args.speech:
        files = sorted(path for path in args.speech.rglob("*") if path.suffix.lower() in audio.SUFFIXES)
        clips = [audio.read(path, rate=RATE) for path in files[:: max(1, len(files) // 20)][:20]]
    else:
        clips = [Audio(0.1 * make("talker", take, RATE), RATE) for take in range(4)]
    achieved(clips, sources)


if __name__ == "__main__":
    main()
