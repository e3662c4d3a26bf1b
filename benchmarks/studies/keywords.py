"""How well rules find the utterances in which a language model graded a major error, on calls heard by services.

python -m benchmarks.studies.keywords [--reference ../shared/reference] [--docs docs]

The conversations of mu-bench are split in two halves by `random.Random(25)`: rules were chosen on the first, and are
judged on the second.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

import numpy as np
import polars as pl
from benchmarks.pages import fill

from voxaudit.audits.keywords.audit import keywords
from voxaudit.audits.references.audit import references
from voxaudit.stats.bootstrap import FEWEST_SPEAKERS

SEED = 25
PAGE = "keywords.md"
DRAWS = 2_000


def _halves(callers: list[str]) -> tuple[set[str], set[str]]:
    """Return the conversations that rules were chosen on, and those that they are judged on."""
    shuffled = sorted(callers)
    random.Random(SEED).shuffle(shuffled)
    half = len(shuffled) // 2
    return set(shuffled[:half]), set(shuffled[half:])


def _rates(trials: pl.DataFrame) -> tuple[float, float]:
    """Return recall and precision of `serious` for `major`."""
    both = int((trials["serious"] & trials["major"]).sum())
    return both / max(1, int(trials["major"].sum())), both / max(1, int(trials["serious"].sum()))


def _limits(trials: pl.DataFrame) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return 95 % limits of recall and precision: conversations drawn again and again."""
    cells = trials.group_by("speaker").agg(
        both=(pl.col("serious") & pl.col("major")).sum(),
        major=pl.col("major").sum(),
        serious=pl.col("serious").sum(),
    )
    sums = cells.select("both", "major", "serious").to_numpy().astype(float)
    assert len(sums) >= FEWEST_SPEAKERS
    weights = np.random.default_rng(0).multinomial(len(sums), np.full(len(sums), 1 / len(sums)), DRAWS) @ sums
    ends = [np.quantile(weights[:, 0] / weights[:, column], (0.025, 0.975)) for column in (1, 2)]
    return (ends[0][0], ends[0][1]), (ends[1][0], ends[1][1])


def main() -> None:
    """Measure it and print it as a table; `--docs` writes it into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reference", type=Path, default=Path("../shared/reference"))
    parser.add_argument("--docs", type=Path)
    args = parser.parse_args()
    calls = pl.read_csv(args.reference / "mu_bench" / "transcripts.csv.gz").with_columns(
        pl.col("text").fill_null(""), major=pl.col("major_errors") > 0
    )
    trials = keywords(calls).detail.with_columns(serious=pl.col("serious") == 1)
    chosen, judged = _halves(calls["speaker"].unique().to_list())
    lines = [
        "| conversations | recall | precision | with a major error | services: errors that matter, WER |",
        "|---|---|---|---|---|",
    ]
    for label, own, codes in (
        ("judged on, all languages", judged, None),
        *((f"judged on, {code}", judged, code) for code in ("en-US", "es-MX", "tr-TR", "vi-VN", "zh-CN")),
        ("chosen on, all languages", chosen, None),
        ("chosen on, en-US", chosen, "en-US"),
    ):
        part = trials.filter(pl.col("speaker").is_in(list(own)))
        part = part if codes is None else part.filter(pl.col("language") == codes)
        (recall, precision), limits = _rates(part), _limits(part)
        services = part.group_by("language", "recognizer").agg(
            pl.col("serious", "major").mean(),
            wer=pl.sum_horizontal(pl.col("^.*_errors$").exclude("major_errors", "keyword_errors")).sum()
            / pl.sum_horizontal(pl.col("^.*_said$").exclude("keyword_said")).sum(),
        )
        r = [services.select(pl.corr(name, "major")).item() for name in ("serious", "wer")]
        said = [
            f"{value:.2f} ({low:.2f} to {high:.2f})"
            for value, (low, high) in zip((recall, precision), limits, strict=True)
        ]
        lines.append(
            f"| {label} | {said[0]} | {said[1]} | {int(part['major'].sum()):,} | {r[0]:.2f}, {r[1]:.2f} |"
        )
    doubts = references(calls).finding("references/doubted").sentence
    content = "\n".join([*lines, "", doubts])
    print(content)
    if args.docs is not None:
        page = args.docs / PAGE
        page.write_text(fill(page.read_text(encoding="utf-8"), "graded", content), encoding="utf-8")


if __name__ == "__main__":
    main()
