"""Breaking points by staircase against a fixed grid of settings: coverage, bias and cost on simulated speakers.

python -m benchmarks.studies.breaking [--groups 200]
"""

from __future__ import annotations

import argparse
import math

import numpy as np

from voxaudit.audits.breaking.simulation import Listeners, group_interval, simulate_group, simulate_tracks
from voxaudit.audits.breaking.tracks import thresholds
from voxaudit.stats.censored import permutation_p

WORLDS = {
    "as usual": Listeners(),
    "steep": Listeners(width=0.025),
    "flat": Listeners(width=0.1),
    "unlike speakers": Listeners(spread=0.16),
    "many errors when clean": Listeners(floor=0.25),
    "near the harsh end": Listeners(middle=0.92),
}


def measure(people: Listeners, groups: int, **options: object) -> tuple[float, float, float, float, float]:
    truth = people.truth(0.5)
    covered, found, widths, calls = 0, [], [], 0
    for number in range(groups):
        generator = np.random.default_rng([number, 7])
        places, heard = simulate_group(people, generator, **options)
        value, low, high = group_interval(places, generator)
        covered += low <= truth <= high
        found.append(value)
        widths.append(high - low)
        calls += heard
    error = float(np.std(found))
    return covered / groups, float(np.mean(found)) - truth, error, float(np.mean(widths)), calls / groups / 12


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=200)
    groups = parser.parse_args().groups
    levels(groups)
    differences(groups)


def levels(groups: int) -> None:
    error = 196 * math.sqrt(0.95 * 0.05 / groups)
    print(f"12 speakers of 4 utterances; the axis is 50 dB long; {groups} groups; coverage ± {error:.1f}")
    print("| speakers | trials a speaker | coverage | bias, dB | standard error, dB | interval, dB |")
    print("|---|---|---|---|---|---|")
    for name, people in WORLDS.items():
        covered, bias, spread, width, calls = measure(people, groups)
        print(
            f"| {name}: staircase | {calls:.1f} | {100 * covered:.1f} % | {50 * bias:+.2f} | {50 * spread:.2f}"
            f" | {50 * width:.1f} |",
            flush=True,
        )
    for settings, budget in ((6, 12), (6, 24), (11, 44), (11, 88)):
        grid = np.linspace(0.0, 1.0, settings).tolist()
        covered, bias, spread, width, calls = measure(WORLDS["as usual"], groups, grid=grid, budget=budget)
        print(
            f"| as usual: grid of {settings} | {calls:.1f} | {100 * covered:.1f} % | {50 * bias:+.2f}"
            f" | {50 * spread:.2f} | {50 * width:.1f} |",
            flush=True,
        )


def differences(groups: int) -> None:
    print(f"\nTwo groups of 12, {groups} pairs: how often a difference is shown (p < 0.05, permutation)")
    print("| true difference, dB | shown |")
    print("|---|---|")
    for gap in (0.0, 0.06, 0.12):
        shown = 0
        for number in range(groups):
            generator = np.random.default_rng([number, 8])
            tracks = simulate_tracks(Listeners(), generator)
            tracks += simulate_tracks(Listeners(middle=0.6 - gap), generator)
            first, second = np.split(thresholds(tracks, 0.5), 2)  # fitted together, as in an audit
            shown += permutation_p(first, second, 0.0, 1.0, generator, 500) < 0.05
        rate = shown / groups
        error = 196 * math.sqrt(rate * (1 - rate) / groups)
        print(f"| {50 * gap:g} | {100 * rate:.1f} % ± {error:.1f} |", flush=True)


if __name__ == "__main__":
    main()
