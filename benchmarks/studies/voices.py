"""How well speakers are estimated from voices, on corpora whose speakers are known.

python -m benchmarks.studies.voices MANIFEST ... [--parts 4] (needs `voxaudit models fetch resemblyzer`)

`--parts` cuts each recording into so many: a corpus with one recording of everybody then has several of each.
Purity is the share of recordings whose estimated speaker is mostly the one they belong to; coverage the share of a
speaker's recordings that one estimated speaker holds.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from voxaudit.audio import Audio, read
from voxaudit.corpus import read_corpus
from voxaudit.score.voices import cluster, embed


def purity(estimated: Sequence[int], known: Sequence[str]) -> float:
    """Return the share of voices whose estimated speaker is mostly the one they belong to.

    >>> purity([0, 0, 0, 1], ["a", "a", "b", "b"])
    0.75
    """
    largest = {}
    for one in set(estimated):
        own = [name for name, voice in zip(known, estimated, strict=True) if voice == one]
        largest[one] = max(own.count(name) for name in set(own))
    return sum(largest.values()) / len(known)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("manifests", nargs="+", type=Path)
    parser.add_argument("--parts", type=int, default=1)
    args = parser.parse_args()
    for manifest in args.manifests:
        heard, who = [], []
        for utterance in read_corpus(manifest):
            whole = read(utterance.audio, start=utterance.start, duration=utterance.duration)
            for part in np.array_split(whole.samples, args.parts):
                voice = embed(Audio(part, whole.rate))
                if voice is not None:
                    heard.append(voice)
                    who.append(str(utterance.speaker))
        people = len(set(who))
        print(f"{manifest.parent.name}: {len(heard)} recordings of {people} speakers")
        for count in (None, people, max(people // 2, 2), 2 * people):
            found = cluster(np.array(heard), count).tolist()
            names = {name: number for number, name in enumerate(dict.fromkeys(who))}
            coverage = purity([names[name] for name in who], [str(one) for one in found])
            said = "as many as are heard" if count is None else f"{count} asked for"
            print(
                f"  {said}: {len(set(found))} estimated, purity {100 * purity(found, who):.0f} %,"
                f" coverage {100 * coverage:.0f} %",
                flush=True,
            )


if __name__ == "__main__":
    main()
