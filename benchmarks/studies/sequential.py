"""What stopping early saves, and whether its verdicts can be trusted: simulated audits with a known truth.

python -m benchmarks.studies.sequential [--audits 500] [--replay RUN --decide ATTRIBUTE]
"""

from __future__ import annotations

import argparse
import math
from collections import Counter

import numpy as np

from voxaudit.audits.sequential import replay
from voxaudit.audits.sequential.rounds import Goal
from voxaudit.audits.sequential.simulation import World, simulate

NULLS = {
    "like spreads (0.6)": World((1.0,) * 8),
    "small spreads (0.4)": World((1.0,) * 8, spreads=(0.4, 0.4)),
    "large spreads (0.8)": World((1.0,) * 8, spreads=(0.8, 0.8)),
    "unlike spreads (0.4, 0.8), texts 1.5 times as long": World((1.0,) * 8, spreads=(0.4, 0.8), longer=1.5),
    "8 speakers a group (0.6)": World((1.0,) * 8, speakers=8),
    "200 speakers a group (0.8)": World((1.0,) * 8, speakers=200, spreads=(0.8, 0.8)),
    "very unlike spreads (0.3, 1.2)": World((1.0,) * 8, spreads=(0.3, 1.2)),
}
PLANTED = (1.0,) * 10 + (1.25, 1.5, 1.5, 2.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0)


def share(audits: list[float]) -> str:
    """Return the mean of the audits' shares and its Monte Carlo error (95 %); cells of an audit are not independent."""
    error = float(np.std(audits)) / math.sqrt(len(audits))
    return f"{100 * np.mean(audits):.1f} % ± {196 * error:.1f}"


def false_alarms(audits: int) -> None:
    print(
        f"\nNo gap anywhere: false alarms at any time, nominal 5 % (± Monte Carlo, {audits} audits of 8 cells)"
    )
    print("| speakers | in a cell | in any of 8 cells, e-BH |")
    print("|---|---|---|")
    for number, (name, world) in enumerate(NULLS.items()):
        cells, families = [], []
        for audit in range(audits):
            seed = [number, audit]
            # Each cell on its own; then the family. Nobody gives up, so every look counts.
            each = simulate(world, Goal(fdr=False, give_up=False, margin=None), np.random.default_rng(seed))
            cells.append(float(np.mean(each.shown)))
            all_ = simulate(world, Goal(give_up=False, margin=None), np.random.default_rng(seed))
            families.append(float(any(all_.shown)))
        print(f"| {name} | {share(cells)} | {share(families)} |", flush=True)


def savings(audits: int) -> None:
    print(f"\nTen cells without a gap, ten with ratios 1.25 to 3 ({audits} audits a row)")
    head = [
        *("speakers a group", "utterances a speaker", "trials saved", "without gap", "with gap"),
        *("verdict as full grid", "as nobody given up", "shown, full", "shown early"),
        *("false among shown, full", "early"),
    ]
    print(f"| {' | '.join(head)} |")
    print("|---" * len(head) + "|")
    null = np.array(PLANTED) == 1.0
    for speakers in (60, 100, 200):
        for per_speaker in (None, 4):
            calls, grid, rows = np.zeros(len(PLANTED)), 0.0, []
            for audit in range(audits):
                generator = np.random.default_rng([speakers, audit])
                world = World(PLANTED, speakers=speakers)
                one = simulate(world, Goal(), generator, per_speaker=per_speaker)
                calls += one.trials
                grid += one.grid
                early, full, patient = map(np.array, (one.shown, one.full, one.patient))
                rows.append(
                    [
                        *((early == full).mean(), (early == patient).mean()),
                        *(full[~null].mean(), early[~null].mean()),
                        *(verdict[null].sum() / max(verdict.sum(), 1) for verdict in (full, early)),
                    ]
                )
            saved = (
                part.sum() * grid / calls[part].sum() for part in (np.ones(len(PLANTED), bool), null, ~null)
            )
            cells = [f"{ratio:.1f} x" for ratio in saved] + [
                share(list(column)) for column in np.array(rows).T
            ]
            print(f"| {speakers} | {per_speaker or 'all (9)'} | {' | '.join(cells)} |", flush=True)


def equivalence(audits: int) -> None:
    print(f"\nClaims of likeness, margin 5 points ({audits} audits of 8 cells, error rates of 10 to 20 %)")
    print("| true gap | speakers a group | claimed alike | trials saved |")
    print("|---|---|---|---|")
    for speakers in (60, 200):
        for gap in (0.0, 0.05):
            claimed, calls, grid = [], 0.0, 0.0
            for audit in range(audits):
                generator = np.random.default_rng([speakers, audit, 3])
                rate = float(generator.uniform(0.10, 0.20))
                ratios = ((rate + gap) / rate,) * 8
                world = World(ratios, speakers=speakers, rates=(rate, rate), spreads=(0.4, 0.4))
                one = simulate(world, Goal(fdr=False, give_up=False), generator)
                claimed.append(float(np.mean(one.alike)))
                calls += one.trials.sum()
                grid += 8 * one.grid
            where = "0" if gap == 0 else "5 points: a claim is false"
            print(f"| {where} | {speakers} | {share(claimed)} | {grid / calls:.1f} x |", flush=True)


def rates(audits: int) -> None:
    print(
        f"\nIntervals of error rates, nominal 95 %: covered at all looks together ({audits} audits of 8 cells)"
    )
    print("| speakers | spread | covered at all looks | half-width with all, of the rate |")
    print("|---|---|---|---|")
    for speakers, spread in ((30, 0.4), (30, 0.8), (100, 0.6), (200, 0.8)):
        covered, widths = [], []
        for audit in range(audits):
            world = World((1.0,) * 8, speakers=speakers, spreads=(spread, spread))
            covered.append(_covered(world, np.random.default_rng([speakers, audit, 4]), widths))
        print(
            f"| {speakers} | {spread} | {share(covered)} | {100 * np.mean(widths):.0f} % |",
            flush=True,
        )


def _covered(world: World, generator: np.random.Generator, widths: list) -> float:
    """Return the share of cells whose intervals hold the truth at every look."""
    from voxaudit.audits.sequential import rounds

    looks = []
    before = rounds.Rates

    class Watched(before):
        def limits(self):
            low, high = super().limits()
            looks.append((low[:, 0], high[:, 0]))
            return low, high

    rounds.Rates = Watched
    try:
        one = simulate(world, Goal(precision=1e-9, decide=False), generator)
    finally:
        rounds.Rates = before
    truth = one.truth[:, 0]
    good = np.all([(low <= truth) & (truth <= high) for low, high in looks], axis=0)
    low, high = looks[-1]
    widths.append(float(((high - low) / 2 / truth).mean()))
    return float(good.mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--audits", type=int, default=500)
    parser.add_argument("--replay", metavar="RUN")
    parser.add_argument("--decide", metavar="ATTRIBUTE")
    args = parser.parse_args()
    if args.replay:
        for options in ({}, {"goal": Goal(fdr=False)}, {"per_speaker": 2}):
            found = replay(args.replay, attribute=args.decide, **options)
            print(options or "as it is", found.sentences()[0], Counter(gap.stopped for gap in found.gaps))
        return
    false_alarms(args.audits)
    savings(max(args.audits // 5, 2))
    equivalence(max(args.audits // 2, 2))
    rates(max(args.audits // 2, 2))


if __name__ == "__main__":
    main()
