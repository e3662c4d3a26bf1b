"""`voxaudit parity`: are groups of speakers treated alike, and can these data tell?"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from voxaudit.cli.arguments import names

if TYPE_CHECKING:
    from voxaudit.audits.parity import Columns, Settings

EXAMPLE = "voxaudit parity scores.parquet --attributes gender,age,accent --plots figures"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "table", metavar="TABLE", help="a run folder, or a table: .csv, .tsv, .jsonl, .parquet"
    )
    parser.add_argument(
        "--attributes", required=True, metavar="COL,...", help="the columns to compare groups by"
    )
    add_table_arguments(parser)
    parser.add_argument(
        "--min-snr",
        default="10",
        metavar="DB",
        help="leave out recordings under this signal-to-noise ratio where it is known (default: 10; none: keep all)",
    )
    parser.add_argument("--text", metavar="COL", help="column of reference texts, for text complexity")
    parser.add_argument("--audio", metavar="COL", help="column of paths to recordings, for their quality")
    parser.add_argument("--no-audio", action="store_true", help="open no recordings")
    parser.add_argument("--dictionary", metavar="FILE", help="word list for the share of unknown words")
    parser.add_argument(
        "--outlier-z", type=float, default=3.0, metavar="Z", help="outliers lie beyond (default: 3)"
    )
    parser.add_argument(
        "--correction",
        choices=("holm", "bh"),
        default="holm",
        help="of all p-values of a table (default: holm)",
    )
    parser.add_argument("--plots", metavar="DIR", help="write figures there (needs 'voxaudit[plot]')")
    parser.add_argument("--full", action="store_true", help="print every table, for every recognizer")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def add_table_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what says how to read a table; shared with `voxaudit power`."""
    parser.add_argument(
        "--speaker", default="speaker", metavar="COL", help="column of the speaker (default: speaker)"
    )
    parser.add_argument(
        "--errors", metavar="COL", help="column of error counts (default: errors, else their three kinds)"
    )
    parser.add_argument(
        "--words", default="words", metavar="COL", help="column of reference words (default: words)"
    )
    parser.add_argument(
        "--wer", default="", metavar="COL,...", help="instead of --errors: columns of rates, one a recognizer"
    )
    parser.add_argument("--recognizer", default="recognizer", metavar="COL", help="column of the recognizer")
    parser.add_argument(
        "--utterance", default="utterance", metavar="COL", help="column of the utterance's id"
    )
    parser.add_argument("--scenario", metavar="ID", help="the scenario to audit (default: clean)")
    parser.add_argument(
        "--speaker-pattern",
        metavar="REGEX",
        help="its first group is the speaker, where it matches --speaker",
    )
    parser.add_argument(
        "--surrogate-speaker",
        action="store_true",
        help="no speakers are known: let all attributes together stand in for one, and mark every result so",
    )
    parser.add_argument(
        "--merge-below",
        type=int,
        default=0,
        metavar="N",
        help="merge groups of fewer than N speakers into 'other'",
    )
    parser.add_argument(
        "--bands",
        action="append",
        default=[],
        metavar="COL=CUT,...",
        help="cut a numeric column: age=18,30,45,65",
    )
    parser.add_argument("--age", metavar="COL", help="the attribute of ages (default: found by name)")
    parser.add_argument(
        "--gap",
        type=float,
        metavar="G",
        help="the gap between groups that matters: 0.1 is ten percentage points of word error rate"
        " (default: 0.1, or half the recognizer's word error rate if less)",
    )
    parser.add_argument("--confidence", type=float, default=0.95, metavar="C", help="default: 0.95")
    parser.add_argument("--power", type=float, default=0.8, metavar="P", help="default: 0.8")


def columns_of(args: argparse.Namespace) -> Columns:
    """Return which column is which."""
    from voxaudit.audits.parity import Columns

    return Columns(
        speaker=args.speaker,
        errors=args.errors,
        words=args.words,
        recognizer=args.recognizer,
        utterance=args.utterance,
        wer=names(args.wer),
        speaker_pattern=args.speaker_pattern,
        surrogate=args.surrogate_speaker,
    )


def settings_of(args: argparse.Namespace) -> Settings:
    """Return how to judge."""
    from voxaudit.audits.parity import Settings
    from voxaudit.errors import VoxauditError

    bands: dict[str, tuple[float, ...]] = {}
    for text in args.bands:
        column, _, cuts = text.partition("=")
        try:
            bands[column.strip()] = tuple(float(cut) for cut in names(cuts))
        except ValueError as error:
            raise VoxauditError(f"--bands takes COL=CUT,CUT (age=18,30,45,65), not '{text}'") from error
    minimum = getattr(args, "min_snr", "none")
    try:
        min_snr = None if minimum.lower() == "none" else float(minimum)
    except ValueError as error:
        raise VoxauditError(f"--min-snr takes a number of dB or none, not '{minimum}'") from error
    return Settings(
        confidence=args.confidence,
        power=args.power,
        gap=args.gap,
        merge_below=args.merge_below,
        bands=bands,
        age=args.age,
        scenario=args.scenario,
        min_snr=min_snr,
        outlier_z=getattr(args, "outlier_z", 3.0),
        correction=getattr(args, "correction", "holm"),
    )


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from voxaudit.audits.parity import audit_file
    from voxaudit.cli.output import note, print_json
    from voxaudit.cli.parity_tables import show

    found = audit_file(
        args.table,
        names(args.attributes),
        columns=columns_of(args),
        settings=settings_of(args),
        text=args.text,
        audio=args.audio,
        measure_audio=not args.no_audio,
        dictionary=args.dictionary,
    )
    if args.json:
        print_json({"table": args.table, **found.to_dict()})
    else:
        show(found, args.table, full=args.full)
    if args.plots:
        from voxaudit.audits.parity.plots import write_plots

        for path in write_plots(found, args.plots):
            note(f"written: {path}")
    return 0
