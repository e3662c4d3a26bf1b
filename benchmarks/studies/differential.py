"""Calibration of the differential audit: false alarms where labels are shuffled, power where gaps are planted.

    python -m benchmarks.studies.differential --figure docs/differential_calibration.png [--run RUN --group gender]

Shuffles the group labels of speakers (made-up ones, and those of a run if given) and counts audits with any claim; then
it plants gaps.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np


def made_up(generator: np.random.Generator, speakers: int, gap: float, scenarios: int = 41) -> Any:
    """Return sums of two groups of speakers with error rates of their own; the first loses `gap` more."""
    from voxaudit.perturb.scenario_id import read_scenario_id
    from voxaudit.stats.speaker_permutations import SpeakerSums

    people = 2 * speakers
    group_of = np.repeat([0, 1], speakers)
    talent, frailty = (np.exp(0.5 * generator.standard_normal(people) - 0.125) for _ in range(2))
    size = generator.poisson(60, (1, scenarios, people)) + 1
    first = np.repeat(size[:, :1], scenarios, axis=1)
    clean = generator.binomial(size[:, :1], np.clip(0.15 * talent, 0, 0.95))
    strength = np.linspace(0.05, 0.4, scenarios)[None, :, None]
    rate = np.clip(0.15 * talent + strength * frailty + gap * (group_of == 0), 0, 0.97)
    return SpeakerSums(
        ("X_Y",),
        tuple(read_scenario_id(f"t{k % 8}:{k}") for k in range(scenarios)),
        ("a", "b"),
        tuple(map(str, range(people))),
        group_of,
        generator.binomial(size, rate).astype(float),
        size.astype(float),
        np.repeat(clean, scenarios, axis=1).astype(float),
        first.astype(float),
    )


def _judged(sums: Any, seed: int) -> tuple[Any, Any]:
    from voxaudit.audits.differential.audit import TAUS
    from voxaudit.stats.speaker_permutations import find_violations, judge_violations

    grid = sums.grid()
    found = find_violations(grid, TAUS)
    return found, judge_violations(sums, grid, found, TAUS, fdr=0.05, seed=seed)


def null_rates(samples: Any) -> dict[str, float]:
    """Return the share of null audits with any violation, with any claim, and the violations an audit."""
    flagged, claimed, share = [], [], []
    for seed, sums in enumerate(samples):
        found, tested = _judged(sums, seed)
        flagged.append(len(found) > 0)
        claimed.append(bool(tested.significant.any()))
        share.append(len(found) / max(1, tested.family // 2))
    return {
        "audits": len(flagged),
        "any_violation": float(np.mean(flagged)),
        "any_significant": float(np.mean(claimed)),
        "violations_per_question": float(np.mean(share)),
    }


def calibration(args: argparse.Namespace) -> None:
    generator = np.random.default_rng(5)
    sizes = (6, 8, 12, 20, 40)
    null = {
        f"made up, {n} + {n} speakers": null_rates(made_up(generator, n, 0.0) for _ in range(args.audits))
        for n in sizes
    }
    for folder in args.run:
        null |= _real(folder, args.group, args.audits, generator)
    power: dict[float, list[float]] = {}
    for gap in (0.05, 0.1, 0.2):
        for n in sizes:
            shares = []
            for seed in range(max(4, args.audits // 10)):
                found, tested = _judged(made_up(generator, n, gap), seed)
                shares.append((tested.significant & (found.tau == 0) & (found.group == 0)).sum() / 41)
            power.setdefault(gap, []).append(float(np.mean(shares)))
    print(json.dumps({"null": null, "speakers": sizes, "power": power}, indent=2))
    if args.figure:
        _draw(args.figure, null, sizes, power)


def _real(
    folder: str, columns: str, audits: int, generator: np.random.Generator
) -> dict[str, dict[str, float]]:
    from voxaudit.audits.differential.measure import measure_disagreement
    from voxaudit.audits.scores import Transcripts
    from voxaudit.score import normalizer

    rates = {}
    for column in columns.split(","):
        sums = measure_disagreement(Transcripts.of(folder), column, normalizer("basic")).between
        shuffled = (replace(sums, group_of=generator.permutation(sums.group_of)) for _ in range(audits))
        rates[f"{Path(folder).stem}, {column} shuffled"] = null_rates(shuffled)
    return rates


def _draw(
    path: str, null: dict[str, dict[str, float]], sizes: tuple[int, ...], power: dict[float, list[float]]
) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(13, 4), constrained_layout=True)
    places = np.arange(len(null))
    left.barh(
        places - 0.2,
        [row["any_violation"] for row in null.values()],
        0.38,
        label="the tau rule: any violation",
    )
    left.barh(
        places + 0.2,
        [row["any_significant"] for row in null.values()],
        0.38,
        label="any significant violation",
    )
    left.axvline(0.05, color="black", linestyle=":", label="nominal 5 %")
    left.set_yticks(places, list(null))
    left.invert_yaxis()
    left.set_xlabel("share of audits of data without a gap")
    left.legend(loc="lower center", bbox_to_anchor=(0.4, 1.0), ncols=3, fontsize="small")
    for gap, shares in power.items():
        right.plot(sizes, shares, marker="o", label=f"planted gap {gap:g}")
    right.set_xlabel("speakers in each group")
    right.set_ylabel("share of scenarios significant at tau 0.01")
    right.set_ylim(-0.02, 1.02)
    right.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, fontsize="small")
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--audits", type=int, default=200)
    parser.add_argument("--run", action="append", default=[], help="a run folder whose labels are shuffled")
    parser.add_argument("--group", default="gender", help="columns of its groups, with commas")
    parser.add_argument("--figure")
    calibration(parser.parse_args())


if __name__ == "__main__":
    main()
