"""Calibration of the differential audit: false alarms where groups do not differ, power where they do, and who is named
where one group starts far better.

    python -m benchmarks.studies.differential --figure docs/differential_calibration.png [--run RUN --group gender]

Made-up speakers, and those of a run if given, whose labels are shuffled.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from voxaudit.audits.differential.measure import measure_disagreement
from voxaudit.audits.differential.views import TAUS, ask
from voxaudit.audits.scores import Transcripts
from voxaudit.perturb.scenario_id import read_scenario_id
from voxaudit.score import normalizer
from voxaudit.stats.speaker_permutations import SpeakerSums

Array = NDArray[Any]
SHUFFLES = 999
SIZES = ((6, 6), (8, 8), (16, 16), (40, 40), (8, 40), (6, 60), (60, 6))
SCALES = {
    "points": lambda p, k: np.clip(p + 0.09 * k, 0.0, 0.97),
    "times": lambda p, k: np.clip(p * (1.0 + 0.3 * k), 0.0, 0.97),
    "logit": lambda p, k: expit(logit(p) + 0.8 * k),
    "room": lambda p, k: 1.0 - (1.0 - p) * np.exp(-0.35 * k),
}
"""What disturbance k (1 to 4) makes of a chance p to lose a word: alike on one scale, whatever p was."""


def _sums(
    pairs: tuple[str, ...], group_of: Array, clean: Array, words: Array, edits: Array, over: Array
) -> SpeakerSums:
    """Return sums of clean speech (axes pair, speaker) and of disturbances (axes pair, scenario, speaker)."""
    scenarios = edits.shape[1]
    before = (np.repeat(values[:, None].astype(float), scenarios, axis=1) for values in (clean, words))
    return SpeakerSums(
        pairs,
        tuple(read_scenario_id(f"t{k % 8}:{k}") for k in range(scenarios)),
        ("a", "b"),
        tuple(map(str, range(len(group_of)))),
        group_of,
        edits.astype(float),
        over.astype(float),
        *before,
    )


def made_up(
    generator: np.random.Generator, sizes: tuple[int, int], gap: float = 0.0, scenarios: int = 41
) -> SpeakerSums:
    """Return sums of two groups of speakers with error rates of their own; the first loses `gap` more."""
    people = sum(sizes)
    group_of = np.repeat([0, 1], sizes)
    talent, frailty = (np.exp(0.5 * generator.standard_normal(people) - 0.125) for _ in range(2))
    over = generator.poisson(60, (1, scenarios, people)) + 1
    clean = generator.binomial(over[:, 0], np.clip(0.15 * talent, 0, 0.95))
    strength = np.linspace(0.05, 0.4, scenarios)[None, :, None]
    rate = np.clip(0.15 * talent + strength * frailty + gap * (group_of == 0), 0, 0.97)
    return _sums(("X_Y",), group_of, clean, over[:, 0], generator.binomial(over, rate), over)


def unlike(
    generator: np.random.Generator, sizes: tuple[int, int], scale: str, more: tuple[float, float] = (1.0, 1.0)
) -> tuple[SpeakerSums, SpeakerSums]:
    """Return distances and word errors of two groups of which 8 and 40 % of the clean words are lost.

    Four disturbances hurt both alike on a scale, or as many times more as `more` says. Lost words are not heard at all,
    by each recognizer for itself: distances saturate.
    """
    group_of = np.repeat([0, 1], sizes)
    people = len(group_of)
    words = generator.integers(30, 90, people)
    common = generator.standard_normal(people)
    start = logit(np.array([0.08, 0.4])[group_of]) + 0.4 * common
    chances = [expit(start + 0.3 * generator.standard_normal(people)) for _ in range(2)]
    heard = []
    for k in range(5):
        now = chances
        if k:
            moved = [expit(logit(p) + 0.15 * generator.standard_normal(people)) for p in chances]
            now = [SCALES[scale](p, k * np.array(more)[group_of]) for p in moved]
        kept = generator.binomial(words, 1.0 - now[0])
        both = generator.binomial(kept, 1.0 - now[1])
        other = both + generator.binomial(words - kept, 1.0 - now[1])
        longer = np.maximum(kept, other)
        heard.append((np.minimum(kept + other - 2 * both, longer), longer, words - kept, words - other))
    apart, longer, *errors = (np.array(values) for values in zip(*heard, strict=True))
    wrong = np.stack(errors)
    total = np.broadcast_to(words, wrong.shape)
    between = _sums(("X_Y",), group_of, apart[:1], longer[:1], apart[None, 1:], longer[None, 1:])
    return between, _sums(("X", "Y"), group_of, wrong[:, 0], total[:, 0], wrong[:, 1:], total[:, 1:])


def null_rates(samples: Iterable[SpeakerSums]) -> dict[str, float]:
    """Return the share of null audits with any violation, with any claim, and the violations a comparison."""
    flagged, claimed, share = [], [], []
    for seed, sums in enumerate(samples):
        [view] = ask(sums, seed=seed, shuffles=SHUFFLES)
        rule = view.violations.filter(view.violations["tau"] == TAUS[0]).height
        flagged.append(rule > 0)
        claimed.append((view.comparisons["verdict"] == "shown").any())
        share.append(rule / view.of("scenario").height)
    return {
        "audits": len(flagged),
        "any_violation": float(np.mean(flagged)),
        "any_shown": float(np.mean(claimed)),
        "violations_per_comparison": float(np.mean(share)),
    }


def named(
    audits: int, sizes: tuple[int, int], scale: str, more: tuple[float, float]
) -> dict[str, list[float]]:
    """Return the shares of audits that name the better and the worse group: by distances, and by error rates."""
    generator = np.random.default_rng([len(scale), *sizes])
    counts = np.zeros((2, 2))
    for seed in range(audits):
        for place, view in enumerate(
            ask(*unlike(generator, sizes, scale, more), seed=seed, shuffles=SHUFFLES)
        ):
            shown = view.comparisons.filter(
                (view.comparisons["verdict"] == "shown") & (view.comparisons["of"] != "clean")
            )
            counts[place] += [group in set(shown["group"]) for group in ("a", "b")]
    distances, rates = (counts / audits).tolist()
    return {"by distances": distances, "by error rates": rates}


def calibration(args: argparse.Namespace) -> None:
    generator = np.random.default_rng(5)
    null = {
        f"made up, {n} + {m}": null_rates(made_up(generator, (n, m)) for _ in range(args.audits))
        for n, m in SIZES
    }
    for folder in args.run:
        null |= _real(folder, args.group, args.audits, generator)
    speakers = (6, 8, 12, 20, 40)
    power: dict[float, list[float]] = {}
    for gap in (0.05, 0.1, 0.2):
        for n in speakers:
            views = [
                ask(made_up(generator, (n, n), gap), seed=seed, shuffles=SHUFFLES)[0]
                for seed in range(max(4, args.audits // 10))
            ]
            shares = [(one.surviving["group"] == "a").sum() / 41 for one in views]
            power.setdefault(gap, []).append(float(np.mean(shares)))
    cases = {f"alike ({scale})": (scale, (1.0, 1.0)) for scale in SCALES}
    cases |= {"the worse more": ("logit", (0.3, 1.2)), "the better more": ("logit", (2.0, 0.2))}
    who = {
        f"{name}, {n} + {m}": named(args.audits, (n, m), *case)
        for name, case in cases.items()
        for n, m in ((8, 8), (16, 16), (8, 40), (40, 8))
    }
    print(
        json.dumps(
            {"null": null, "speakers": speakers, "power": power, "better_and_worse_named": who}, indent=2
        )
    )
    if args.figure:
        _draw(args.figure, null, speakers, power)


def _real(
    folder: str, columns: str, audits: int, generator: np.random.Generator
) -> dict[str, dict[str, float]]:
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
        [row["any_shown"] for row in null.values()],
        0.38,
        label="anything shown",
    )
    left.axvline(0.05, color="black", linestyle=":", label="nominal 5 %")
    left.set_yticks(places, list(null))
    left.invert_yaxis()
    left.set_xlabel("share of audits of data without a gap")
    left.legend(loc="lower center", bbox_to_anchor=(0.4, 1.0), ncols=3, fontsize="small")
    for gap, shares in power.items():
        right.plot(sizes, shares, marker="o", label=f"planted gap {gap:g}")
    right.set_xlabel("speakers in each group")
    right.set_ylabel("share of scenarios in which it is shown")
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
