"""`voxaudit power`: how many speakers a study needs, and what the speakers one has can show."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from voxaudit.cli.arguments import names, natural
from voxaudit.cli.parity import add_table_arguments, columns_of, settings_of

if TYPE_CHECKING:
    from voxaudit.stats.power_simulation import SimulatedPower

EXAMPLE = "voxaudit power --gap 0.1 --sigma 0.15"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "table",
        metavar="TABLE",
        nargs="?",
        help="a pilot: a run folder or a table; without it, --sigma says it all",
    )
    parser.add_argument("--sigma", type=float, metavar="S", help="standard deviation of WER between speakers")
    parser.add_argument("--speakers", metavar="N[,M]", help="speakers at hand in the two groups")
    parser.add_argument(
        "--ratio", type=float, default=1.0, metavar="R", help="second group's size over the first's"
    )
    parser.add_argument("--one-sided", action="store_true", help="the direction is known beforehand")
    parser.add_argument(
        "--attributes", default="", metavar="COL,...", help="columns of TABLE to compare groups by"
    )
    add_table_arguments(parser)
    parser.add_argument(
        "--simulate",
        type=int,
        nargs="?",
        const=1000,
        default=0,
        metavar="N",
        help="also draw N studies (default: 1000) from the mixed model: fitted to TABLE, or of --base-wer",
    )
    parser.add_argument("--test", choices=("t", "mixed"), default="t", help="test of the simulated studies")
    parser.add_argument("--seed", type=natural, default=0, metavar="N", help="of the simulation (default: 0)")
    parser.add_argument(
        "--base-wer", type=float, metavar="W", help="simulate without TABLE: WER of the better group"
    )
    parser.add_argument(
        "--log-sigma", type=float, default=0.5, metavar="S", help="spread of speakers' log rates"
    )
    parser.add_argument(
        "--per-speaker", type=int, default=20, metavar="N", help="utterances a speaker (default: 20)"
    )
    parser.add_argument(
        "--utterance-words", type=int, default=10, metavar="N", help="words an utterance (default: 10)"
    )
    parser.add_argument(
        "--dispersion", type=float, default=1.0, metavar="D", help="1 is Poisson; real speech has 2 to 3"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from voxaudit.cli.output import print_json
    from voxaudit.errors import VoxauditError

    if args.table is None and args.sigma is None and args.base_wer is None:
        raise VoxauditError(
            "say how much speakers differ: --sigma S, a TABLE with --attributes, or --base-wer W"
        )
    if args.table is not None and not args.attributes:
        raise VoxauditError("name the columns of TABLE to compare groups by with --attributes")
    document: dict[str, Any] = {
        "confidence": args.confidence,
        "power": args.power,
        "two_sided": not args.one_sided,
    }
    if args.sigma is not None:
        document["planned"] = _planned(args)
    if args.table is not None:
        document["table"] = _table(args)
    elif args.simulate:
        document["simulation"] = _simulated(args)
    if args.json:
        print_json(document)
    else:
        _show(document)
    return 0


def _planned(args: argparse.Namespace) -> dict[str, Any]:
    from voxaudit.stats.power import (
        power_t,
        power_z,
        smallest_gap,
        speakers_needed,
        speakers_needed_t,
        whole_speakers,
    )

    gap = 0.1 if args.gap is None else args.gap
    sides: dict[str, Any] = {"confidence": args.confidence, "two_sided": not args.one_sided}
    exact = speakers_needed(gap, args.sigma, power=args.power, ratio=args.ratio, **sides)
    by_t = speakers_needed_t(gap, args.sigma, power=args.power, ratio=args.ratio, **sides)
    result: dict[str, Any] = {"gap": gap, "sigma": args.sigma, "ratio": args.ratio}
    for name, value in (("eq1", exact), ("t_test", by_t)):
        first = whole_speakers(value)
        result[name] = {
            "exact": value,
            "speakers": first,
            "other_speakers": whole_speakers(args.ratio * value),
        }
    counts = _counts(args)
    if counts:
        first, other = counts
        result["present"] = {
            "speakers": first,
            "other_speakers": other,
            "smallest_gap": smallest_gap(first, other, args.sigma, power=args.power, **sides),
            "power_z": power_z(gap, args.sigma, first, other, **sides),
            "power_t": power_t(gap, args.sigma, first, other, **sides),
        }
    return result


def _counts(args: argparse.Namespace) -> tuple[int, int] | None:
    from voxaudit.errors import VoxauditError

    if args.speakers is None:
        return None
    try:
        found = [int(part) for part in names(args.speakers)]
    except ValueError:
        found = []
    if len(found) not in (1, 2) or min(found) < 2:
        raise VoxauditError(
            f"--speakers takes one or two numbers of at least 2 (N or N,M), not '{args.speakers}'"
        )
    return found[0], found[-1]


def _table(args: argparse.Namespace) -> dict[str, Any]:
    from dataclasses import asdict

    from voxaudit.audits.inputs import read_scores
    from voxaudit.audits.parity.planning import plan

    found = plan(
        read_scores(args.table),
        names(args.attributes),
        columns=columns_of(args),
        settings=settings_of(args),
        simulations=args.simulate,
        test=args.test,
        seed=args.seed,
        where=args.table,
    )
    return {
        "gap_asked": found.gaps_asked,
        "groups": found.groups.to_dicts(),
        "simulated": found.simulated.to_dicts(),
        "refusals": [asdict(refusal) for refusal in found.refusals],
    }


def _simulated(args: argparse.Namespace) -> dict[str, Any]:
    from dataclasses import asdict

    from voxaudit.errors import VoxauditError
    from voxaudit.stats.power_simulation import planned_population, simulate_power, speakers_by_simulation

    if args.base_wer is None:
        raise VoxauditError(
            "to simulate without a TABLE, give the better group's word error rate with --base-wer"
        )
    if args.one_sided:
        raise VoxauditError("simulated tests are two-sided: leave out --one-sided")
    gap = 0.1 if args.gap is None else args.gap
    population = planned_population(
        args.base_wer,
        args.log_sigma,
        utterances=args.per_speaker,
        words=args.utterance_words,
        dispersion=args.dispersion,
    )
    options: dict[str, Any] = {
        "test": args.test,
        "confidence": args.confidence,
        "simulations": args.simulate,
        "seed": args.seed,
    }
    counts = _counts(args)
    found: SimulatedPower | None
    if counts:
        found = simulate_power(population, gap, *counts, **options)
    else:
        found = speakers_by_simulation(population, gap, power=args.power, ratio=args.ratio, **options)
    return {"gap": gap, "base_wer": args.base_wer, "found": asdict(found) if found else None}


def _show(document: dict[str, Any]) -> None:
    from voxaudit.cli.output import print_table, printable
    from voxaudit.report.numbers import in_points

    sides = "two-sided" if document["two_sided"] else "one-sided"
    level = f"{sides}, {100 * document['confidence']:g} % confidence, power {document['power']:g}"
    if planned := document.get("planned"):
        print(
            f"A gap of {100 * planned['gap']:g} percentage points of word error rate, speakers with a standard"
            f" deviation of {100 * planned['sigma']:g}; {level}:"
        )
        for name, label in (("eq1", "Eq. 1 (z-test)"), ("t_test", "t-test")):
            part = planned[name]
            print(
                f"  {label}: {part['speakers']} and {part['other_speakers']} speakers ({part['exact']:.1f} exactly)"
            )
        if present := planned.get("present"):
            print(
                f"With {present['speakers']} and {present['other_speakers']} speakers: power {present['power_t']:.2f}"
                f" (t-test) for that gap; the smallest they would show is {in_points(present['smallest_gap'])}"
            )
    if table := document.get("table"):
        rows = [
            [
                *(row[name] for name in ("recognizer", "attribute", "group", "speakers")),
                "-" if row["sigma"] is None else f"{row['sigma']:.3f}",
                "-" if row["speakers_needed"] is None else row["speakers_needed"],
                "-" if row["more_needed"] is None else row["more_needed"],
                "-" if row["smallest_gap"] is None else f"{100 * row['smallest_gap']:.1f}",
            ]
            for row in table["groups"]
        ]
        columns = [
            "recognizer",
            "attribute",
            "group",
            "speakers",
            "sigma",
            "needed (Eq. 1)",
            "more",
            "smallest gap",
        ]
        gaps = sorted({f"{100 * gap:.3g}" for gap in table["gap_asked"].values()})
        print_table(f"Speakers for a gap of {' or '.join(gaps)} percentage points; {level}", columns, rows)
        if table["simulated"]:
            _show_simulated(table["simulated"])
        for refusal in table["refusals"]:
            print(printable(f"refused: {refusal['what']}: {refusal['why']}"))
    if simulation := document.get("simulation"):
        found = simulation["found"]
        if found is None:
            print("Simulation: not even 5,000 speakers a group reach that power")
        else:
            print(
                f"Simulation ({found['simulations']} studies, {found['test']} test): {found['speakers']} and"
                f" {found['other_speakers']} speakers find a gap of {100 * simulation['gap']:g} percentage points"
                f" with power {found['power']:.2f} ({found['low']:.2f} to {found['high']:.2f})"
            )


def _show_simulated(rows: list[dict[str, Any]]) -> None:
    from voxaudit.cli.output import print_table

    first = rows[0]
    print_table(
        f"Simulated from the fitted mixed model ({first['simulations']} studies, {first['test']} test)",
        [
            "recognizer",
            "attribute",
            "group",
            "speakers",
            "rest",
            "gap (% points)",
            "power now",
            "needed a side",
        ],
        [
            [
                *(row[name] for name in ("recognizer", "attribute", "group", "speakers", "rest_speakers")),
                f"{100 * row['gap']:.3g}",
                "-"
                if row["power"] is None
                else f"{row['power']:.2f} ({row['power_low']:.2f} to {row['power_high']:.2f})",
                "-" if row["speakers_needed"] is None else row["speakers_needed"],
            ]
            for row in rows
        ],
    )
