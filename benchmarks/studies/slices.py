"""`voxaudit slices` beside DivExplorer (Pastor et al. 2021) on the same made-up tables: false alarms and power.

python -m benchmarks.studies.slices [--audits 100] [--worlds kind mix] (needs `pip install divexplorer`)

The tables are those of `benchmarks.verdicts` (five measures of every utterance, a region of every speaker, 8 + 40
speakers). DivExplorer is asked for the divergence of the utterances' word error rates over thirds of the measures and
over regions, up to two at a time, in at least 5 % of the utterances. It prints t values and leaves the judgment to
the reader: counted are slices with a higher rate and t above 1.96, and above what Bonferroni over all slices asks for.
"""

from __future__ import annotations

import argparse
from functools import partial

import polars as pl
from benchmarks.measure import took
from benchmarks.verdicts.experiment import generators
from benchmarks.verdicts.explained import EXPERIMENTS, sliced
from benchmarks.verdicts.world import setting
from scipy.special import ndtri

MEASURES = ("speaking_rate", "snr", "pitch", "duration", "word_frequency")
SUPPORT = 0.05
DEPTH = 2


def divexplorer(table: pl.DataFrame) -> list[tuple[frozenset[str], float, float]]:
    """Return DivExplorer's slices: their conditions, divergence and t value."""
    import pandas as pd
    from divexplorer import DivergenceExplorer

    thirds = {
        name: pl.when(pl.col(name) < pl.col(name).quantile(1 / 3))
        .then(pl.lit("low"))
        .when(pl.col(name) > pl.col(name).quantile(2 / 3))
        .then(pl.lit("high"))
        .otherwise(pl.lit("middle"))
        for name in MEASURES
    }
    known = ["errors"] if "errors" in table.columns else ["substitutions", "deletions", "insertions"]
    errors = pl.sum_horizontal(known)
    cut = table.filter(pl.col("words") > 0).select("region", **thirds, wer=errors / pl.col("words"))
    found = DivergenceExplorer(pd.DataFrame(cut.to_dict(as_series=False))).get_pattern_divergence(
        min_support=SUPPORT, quantitative_outcomes=["wer"]
    )
    rows = zip(found["itemset"], found["wer_div"], found["wer_t"], strict=True)
    return [(frozenset(items), float(apart), float(t)) for items, apart, t in rows if 0 < len(items) <= DEPTH]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--audits", type=int, default=100)
    parser.add_argument("--worlds", nargs="+", default=["kind", "mix"])
    parser.add_argument("--ratios", nargs="+", type=float, default=[1.0, 1.5])
    args = parser.parse_args()
    experiment = next(one for one in EXPERIMENTS if one.name == "slices")
    for world in args.worlds:
        for ratio in args.ratios:
            where = setting(world, "8 + 40")
            said = {"slices": 0, "DivExplorer, t > 1.96": 0, "DivExplorer, Bonferroni": 0}
            seconds = dict.fromkeys(("slices", "DivExplorer"), 0.0)
            named = kinds = 0
            for number, own in generators(experiment, where, ratio, range(args.audits)).items():
                ours = took(partial(experiment.audit, own, where, ratio))
                seconds["slices"] += ours.cpu
                said["slices"] += any(ours.value.get("slices.confirmed", ()))
                [again] = generators(experiment, where, ratio, [number]).values()
                table = sliced(again, where, ratio)
                theirs = took(partial(divexplorer, table))
                seconds["DivExplorer"] += theirs.cpu
                every = theirs.value
                worse = [(items, t) for items, apart, t in every if apart > 0.0]
                planted = [
                    (items, t)
                    for items, t in worse
                    if ratio == 1.0 or any(one.startswith("speaking_rate") for one in items)
                ]
                limit = -float(ndtri(0.025 / max(len(every), 1)))
                said["DivExplorer, t > 1.96"] += any(t > 1.96 for _, t in planted)
                said["DivExplorer, Bonferroni"] += any(t > limit for _, t in planted)
                kinds += len(every)
                named += sum(t > 1.96 for _, t in worse)
            rates = ", ".join(f"{name} {100 * count / args.audits:.1f} %" for name, count in said.items())
            spent = ", ".join(
                f"{name} {1000 * one / args.audits:.0f} CPU ms" for name, one in seconds.items()
            )
            print(
                f"{where.name}, x {ratio:g}, {args.audits} audits: {rates}; DivExplorer names"
                f" {named / args.audits:.1f} of {kinds / args.audits:.0f} slices; {spent}",
                flush=True,
            )


if __name__ == "__main__":
    main()
