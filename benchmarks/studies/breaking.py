"""Breaking points by staircase against a fixed grid of settings: coverage, bias and cost on simulated speakers.

python -m benchmarks.studies.breaking [--groups 200]
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from voxaudit.stats.censored import compare_groups, mean_interval
from voxaudit.stats.psychometric import FloatArray, Track, run_tracks, thresholds


@dataclass(frozen=True)
class Listeners:
    """A population of speakers on the axis of harm.

    Curves are logistic between a floor and 1 with a middle of mean `middle` and standard deviation `spread` over
    speakers. Slopes and floors differ from speaker to speaker, and every utterance is easier or harder as a whole.
    """

    middle: float = 0.6
    spread: float = 0.08
    width: float = 0.05
    floor: float = 0.08
    utterance: float = 0.7
    words: float = 7.0

    def draw(self, count: int, generator: np.random.Generator) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return middles, widths and floors of so many speakers."""
        middles = generator.normal(self.middle, self.spread, count)
        widths = self.width * np.exp(0.3 * generator.standard_normal(count))
        floors = np.clip(self.floor * generator.gamma(2.0, 0.5, count), 0.0, 0.4)
        return middles, widths, floors

    def truth(self, level: float) -> float:
        """Return the mean over speakers of the place where their errors reach the level, in a large sample."""
        middles, widths, floors = self.draw(4000, np.random.default_rng(0))
        nodes, weights = np.polynomial.hermite_e.hermegauss(15)
        low, high = middles - 20.0 * widths, middles + 20.0 * widths
        for _ in range(50):
            place = (low + high) / 2.0
            part = 1.0 / (
                1.0 + np.exp(-(place - middles)[:, None] / widths[:, None] - self.utterance * nodes)
            )
            above = floors + (1.0 - floors) * (part @ weights / weights.sum()) > level
            low, high = np.where(above, low, place), np.where(above, place, high)
        return float(place.mean())


def simulate_tracks(
    people: Listeners,
    generator: np.random.Generator,
    *,
    speakers: int = 12,
    budget: int = 12,
    level: float = 0.5,
    grid: Sequence[float] | None = None,
) -> list[Track]:
    """Return the tracks of simulated speakers.

    With `grid`, every speaker is heard at those places, as often as the budget allows, in place of a staircase.
    """
    middles, widths, floors = people.draw(speakers, generator)
    effects = people.utterance * generator.standard_normal((speakers, 4))

    def ask(asked: Sequence[tuple[int, int, float]]) -> tuple[FloatArray, FloatArray]:
        who = np.array([speaker for speaker, _, _ in asked])
        trial = np.array([number for _, number, _ in asked])
        place = np.array([where for _, _, where in asked])
        logit = (place - middles[who]) / widths[who] + effects[who, trial % 4]
        share = floors[who] + (1.0 - floors[who]) / (1.0 + np.exp(-np.clip(logit, -60.0, 60.0)))
        words = 1 + generator.poisson(people.words - 1.0, len(asked))
        return generator.binomial(words, share).astype(np.float64), words.astype(np.float64)

    if grid is None:
        tracks = run_tracks([level] * speakers, budget, ask)
    else:
        places = np.array([grid[number % len(grid)] for number in range(budget)])
        # Each place meets every utterance before any meets it again.
        turns = [number // len(grid) for number in range(budget)]
        tracks = []
        for speaker in range(speakers):
            wrong, words = ask([(speaker, turn, where) for turn, where in zip(turns, places, strict=True)])
            tracks.append(Track(places, wrong, words))
    return tracks


def simulate_group(
    people: Listeners,
    generator: np.random.Generator,
    *,
    speakers: int = 12,
    budget: int = 12,
    level: float = 0.5,
    grid: Sequence[float] | None = None,
) -> tuple[FloatArray, int]:
    """Return the thresholds found for simulated speakers, and the trials that took."""
    tracks = simulate_tracks(people, generator, speakers=speakers, budget=budget, level=level, grid=grid)
    return thresholds(tracks, level), sum(len(track) for track in tracks)


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
        value, low, high = mean_interval(places, 0.0, 1.0)
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
    print("| speakers | trials per speaker | coverage | bias, dB | standard error, dB | interval, dB |")
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


PAIRS = (
    ((12, 12), (0.08, 0.08), 0.0),
    ((12, 12), (0.08, 0.08), 0.06),
    ((12, 12), (0.08, 0.08), 0.12),
    ((8, 8), (0.08, 0.08), 0.0),
    ((16, 16), (0.08, 0.08), 0.0),
    ((6, 60), (0.08, 0.08), 0.0),
    ((8, 40), (0.08, 0.08), 0.0),
    ((20, 8), (0.04, 0.16), 0.0),
    ((20, 8), (0.16, 0.04), 0.0),
    ((24, 6), (0.04, 0.16), 0.0),
    ((24, 6), (0.16, 0.04), 0.0),
)
"""Speakers of two groups, their spreads, and how much sooner the second one breaks."""


def differences(pairs: int) -> None:
    print(f"\nTwo groups, {pairs} pairs of them: how often a difference is shown (p <= 0.05)\n")
    print("| speakers | spread between speakers, dB | true difference, dB | shown |")
    print("|---|---|---|---|")
    for sizes, spreads, gap in PAIRS:
        shown = 0
        for number in range(pairs):
            generator = np.random.default_rng([number, 8, *sizes, round(100 * spreads[0])])
            tracks: list[Track] = []
            for count, spread, middle in zip(sizes, spreads, (0.6, 0.6 - gap), strict=True):
                tracks += simulate_tracks(Listeners(middle=middle, spread=spread), generator, speakers=count)
            places = thresholds(tracks, 0.5)  # fitted together, as in an audit
            [found] = compare_groups(
                places[None], np.repeat([0, 1], sizes), [(0, 0, 1)], 0.0, 1.0, seed=number, limits=False
            )
            shown += found.p <= 0.05
        rate = shown / pairs
        error = 196 * math.sqrt(rate * (1 - rate) / pairs)
        spread_text = " and ".join(f"{50 * spread:g}" for spread in spreads)
        print(
            f"| {sizes[0]} + {sizes[1]} | {spread_text} | {50 * gap:g} | {100 * rate:.1f} % ± {error:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
