"""What stopping early saves, and whether its verdicts can be trusted: simulated audits with a known truth.

python -m benchmarks.studies.sequential [--audits 500] [--replay RUN --attribute COLUMN]
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from voxaudit.audits.sequential.audit import sequential
from voxaudit.run.order import Order
from voxaudit.stats import sequential as rounds
from voxaudit.stats.anytime import FloatArray
from voxaudit.stats.multiplicity import benjamini_hochberg
from voxaudit.stats.sequential import ALIKE, SHOWN, Goal, Mask, Walk, walk


@dataclass(frozen=True)
class World:
    """Two groups of speakers and several cells, errors as in a mixed-effects Poisson model.

    `ratios` are the second group's error rates over the first's, one a cell; the first group's are drawn from `rates`.
    A speaker's log rate has the standard deviation `spreads` of the group, most of it common to all cells. Numbers of
    utterances are geometric with mean `utterances`, words a Poisson number a piece, the second group saying `longer`
    times as much.
    """

    ratios: Sequence[float]
    speakers: int = 60
    spreads: tuple[float, float] = (0.6, 0.6)
    rates: tuple[float, float] = (0.05, 0.35)
    utterances: float = 9.0
    words: float = 9.0
    longer: float = 1.0


@dataclass(frozen=True)
class Outcome:
    """One simulated audit: verdicts by cell, and trials heard by cell and in each cell's grid.

    `full` is the verdict of a test of all speakers at once, `patient` that of the same e-values where no cell is given
    up before its speakers are all heard.
    """

    shown: list[bool]
    alike: list[bool]
    full: list[bool]
    patient: list[bool]
    trials: FloatArray
    grid: float
    walk: Walk
    truth: FloatArray


def simulate(
    world: World, goal: Goal, generator: np.random.Generator, *, per_speaker: int | None = None
) -> Outcome:
    """Simulate one audit, sequentially and in full.

    The full grid's verdict is Welch's test on the linear form of the ratio of sums, adjusted by Benjamini and Hochberg
    where the goal controls the share of false claims.
    """
    n, cells = world.speakers, len(world.ratios)
    second = np.arange(2 * n) >= n
    said = 1 + generator.geometric(1.0 / max(world.utterances - 1.0, 1.0), 2 * n)
    speaker = np.repeat(np.arange(2 * n), said)
    longer = np.where(second[speaker], world.longer, 1.0)
    words = 1.0 + generator.poisson(world.words * longer)
    common, own = generator.standard_normal(2 * n), generator.standard_normal((cells, 2 * n))
    spread = np.where(second, world.spreads[1], world.spreads[0])
    base = generator.uniform(*world.rates, cells)
    rate = base[:, None] * np.exp(spread * (0.8 * common + 0.6 * own) - spread**2 / 2.0)
    rate = rate * np.where(second, np.array(world.ratios)[:, None], 1.0)
    errors = generator.poisson(rate[:, speaker] * words).astype(np.float64)
    totals = np.add.reduceat(words, np.concatenate([[0], np.cumsum(said)[:-1]]))
    heard = said if per_speaker is None else np.minimum(said, per_speaker)
    place = np.arange(len(speaker)) - np.repeat(np.cumsum(said) - said, said)
    taken = place < heard[speaker]
    share = said / heard
    some_errors = np.stack([np.bincount(speaker[taken], row[taken], 2 * n) for row in errors]) * share
    some_words = np.bincount(speaker[taken], words[taken], 2 * n) * share
    order = Order(
        ("first", "second"),
        tuple(map(str, range(2 * n))),
        (tuple(range(n)), tuple(range(n, 2 * n))),
        tuple(("",) * int(count) for count in heard),
        tuple(int(count) for count in said),
        totals,
    )

    def hear(wanted: Sequence[tuple[int, int]]) -> tuple[FloatArray, FloatArray]:
        cell, who = np.array(wanted).T
        return some_errors[cell, who], some_words[who]

    walked = walk(cells, order, goal, hear)
    all_errors: FloatArray = np.stack([np.bincount(speaker, row, 2 * n) for row in errors], dtype=np.float64)
    stops = walked.gap_stops[:, 0] if goal.decide else np.full(cells, "")
    patient = stops
    if goal.decide and goal.give_up:
        patient = walk(cells, order, replace(goal, give_up=False), hear).gap_stops[:, 0]
    return Outcome(
        [bool(stop) for stop in stops == SHOWN],
        [bool(stop) for stop in stops == ALIKE],
        _full(all_errors, totals, second, goal),
        [bool(stop) for stop in patient == SHOWN],
        (walked.heard * heard).sum(axis=1).astype(np.float64),
        float(said.sum()),
        walked,
        np.stack([base, base * np.array(world.ratios)], axis=1),
    )


def _full(errors: FloatArray, words: FloatArray, second: Mask, goal: Goal) -> list[bool]:
    """Return whether each cell's gap is shown by a test of all speakers at once."""
    from voxaudit.stats.ttests import welch

    def summary(own: Mask) -> tuple[int, FloatArray, FloatArray]:
        e, w = errors[:, own], words[own]
        rate = e.sum(axis=1) / w.sum()
        linear = (e - rate[:, None] * w) / w.mean()
        return e.shape[1], rate, linear.var(axis=1, ddof=1)

    p = welch(*summary(second), *summary(~second)).p.tolist()
    adjusted = benjamini_hochberg(p) if goal.fdr else p
    return [value is not None and value <= goal.alpha for value in adjusted]


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
    parser.add_argument("--attribute", metavar="COLUMN")
    args = parser.parse_args()
    if args.replay:
        for options in ({}, {"each": True}, {"per_speaker": 2}):
            answer = sequential(args.replay, attribute=args.attribute, **options)
            stops = Counter(gap.stopped for gap in answer.detail.gaps)
            print(options or "as it is", answer.findings[0].sentence, stops)
        return
    false_alarms(args.audits)
    savings(max(args.audits // 5, 2))
    equivalence(max(args.audits // 2, 2))
    rates(max(args.audits // 2, 2))


if __name__ == "__main__":
    main()
