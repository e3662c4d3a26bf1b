"""`voxaudit simulate`: how often the disparity audit and its rivals claim gaps that do not exist."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from voxaudit.cli.arguments import natural, positive

if TYPE_CHECKING:
    from voxaudit.audits.disparity.checks import CheckRow
    from voxaudit.audits.disparity.simulation import Row

EXAMPLE = "voxaudit simulate liu-table2 --repetitions 200"

TITLES = {
    "liu-table1": "Liu et al. 2022, Table 1: a confounder that is commoner in one group. The true ratio is 1",
    "liu-table2": "Liu et al. 2022, Table 2: speakers differ, groups do not. The true ratio is 1",
    "few-speakers": "How few speakers are enough? Groups that do not differ, 20 utterances a speaker, sigma 0.5",
    "interaction": "Is a scenario blamed wrongly? Four of them hurt both groups alike, 10 utterances a speaker in each",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("simulation", choices=tuple(TITLES), help="which table to repeat")
    parser.add_argument(
        "--repetitions",
        type=positive,
        default=1000,
        metavar="N",
        help="repetitions of each row (default: 1000)",
    )
    parser.add_argument("--seed", type=natural, default=1, metavar="N", help="seed (default: 1)")
    parser.add_argument(
        "--workers",
        type=positive,
        metavar="N",
        help="processes (default: one per core); they change nothing but time",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # thousands of small fits: threads would only wait
    from dataclasses import asdict

    from voxaudit.audits.disparity.checks import CHECKS, check
    from voxaudit.audits.disparity.simulation import as_dict, simulate
    from voxaudit.cli.output import print_json

    workers = args.workers or min(os.cpu_count() or 1, 1 + args.repetitions // 50)
    progress = _progress if sys.stderr.isatty() else None
    known = {"simulation": args.simulation, "repetitions": args.repetitions, "seed": args.seed}
    if args.simulation in CHECKS:
        checks = check(args.simulation, args.repetitions, args.seed, workers, progress)
        if args.json:
            print_json({**known, "rows": [asdict(row) for row in checks]})
        else:
            _print_checks(args.simulation, checks)
        return 0
    rows = simulate(args.simulation, args.repetitions, args.seed, workers, progress)
    if args.json:
        print_json({**known, "rows": [as_dict(row) for row in rows]})
    else:
        _print(args.simulation, rows)
    return 0


def _progress(done: int, total: int) -> None:
    if done == total or done % 50 == 0:
        print(f"\r{done:,} of {total:,}", end="\n" if done == total else "", file=sys.stderr, flush=True)


def _print_checks(simulation: str, rows: tuple[CheckRow, ...]) -> None:
    from voxaudit.cli.output import print_table

    print(TITLES[simulation])
    print_table(
        f"% false positives at 5 %, {rows[0].repetitions:,} repetitions",
        [*rows[0].setting, *rows[0].false_positives],
        [
            [*(f"{value:g}" for value in row.setting.values()), *_percentages(row.false_positives.values())]
            for row in rows
        ],
    )


def _percentages(rates: Iterable[float]) -> list[str]:
    return [f"{100 * rate:.1f}" for rate in rates]


def _print(simulation: str, rows: tuple[Row, ...]) -> None:
    from voxaudit.cli.output import print_table

    names = list(rows[0].setting)
    speakers = rows[0].found.speaker_bootstrap_fp is not None
    print(TITLES[simulation])
    for title, kind in (("mean ratio", "ratio"), ("% false positives", "fp")):
        print_table(
            f"{title} (published / found, {rows[0].repetitions:,} repetitions)",
            [*names, "utterance bootstrap", "model", *_extra_titles(kind, speakers)],
            [[*(f"{row.setting[name]:g}" for name in names), *_cells(row, kind, speakers)] for row in rows],
        )
    print(
        "Utterance bootstrap: the ratio of raw word error rates, utterances resampled (the paper's baseline)."
        " Monte Carlo error of a rate near 5 %:"
        f" {100 * (0.05 * 0.95 / rows[0].repetitions) ** 0.5:.1f} %."
    )


def _extra_titles(kind: str, speakers: bool) -> list[str]:
    if kind == "ratio":
        return []
    return ["model, likelihood ratio", *(["speaker bootstrap"] if speakers else [])]


def _cells(row: Row, kind: str, speakers: bool) -> list[str]:
    old, new = row.published, row.found
    if kind == "ratio":
        return [
            f"{old.baseline_ratio:.3f} / {new.baseline_ratio:.4f}",
            f"{old.model_ratio:.3f} / {new.model_ratio:.4f}",
        ]
    cells = [
        f"{100 * old.baseline_fp:.1f} / {100 * new.baseline_fp:.1f}",
        f"{100 * old.model_fp:.1f} / {100 * new.model_fp:.1f}",
        f"- / {100 * (new.model_fp_lrt or 0.0):.1f}",
    ]
    return [*cells, f"- / {100 * (new.speaker_bootstrap_fp or 0.0):.1f}"] if speakers else cells
