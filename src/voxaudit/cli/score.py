"""`voxaudit score`: error rates of transcripts you already have, and how far the text normaliser moves them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voxaudit.cli.arguments import names, natural

if TYPE_CHECKING:
    import polars as pl

    from voxaudit.score.files import Pairs
    from voxaudit.score.normalize import Normalizer

EXAMPLE = "voxaudit score reference.txt hypothesis.txt"

SENSITIVITY_ROWS = 5_000
"""The normalisers are compared on at most so many utterances: OpenAI's takes a second for every 5,000 texts."""
EDIT_ROWS = 50_000
"""Frequent errors are taken from at most so many utterances."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "reference_file", metavar="REF", help="references: text, .trn, .csv, .tsv, .jsonl, .parquet"
    )
    parser.add_argument(
        "hypothesis_file",
        metavar="HYP",
        nargs="?",
        help="hypotheses; left out where REF has both (NeMo's pred_text)",
    )
    parser.add_argument(
        "--normalizer", default="basic", metavar="NAME", help="text normalizer (default: basic)"
    )
    parser.add_argument("--by", default="", metavar="COL,...", help="columns whose groups are reported apart")
    parser.add_argument("--reference", metavar="COL", help="column of the reference text")
    parser.add_argument("--hypothesis", metavar="COL", help="column of the hypothesis text")
    parser.add_argument("--id", metavar="COL", help="column that matches the two files")
    parser.add_argument("--speaker", metavar="COL", help="column of the speaker, for the interval")
    parser.add_argument(
        "--missing",
        choices=("error", "empty", "skip"),
        default="error",
        help="a reference without hypothesis: refuse, count its words as deleted, or leave it out",
    )
    parser.add_argument(
        "--alignments", type=natural, default=0, metavar="N", help="show the N worst utterances"
    )
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="also write a scores table (.csv, .parquet) for the audits"
    )
    parser.add_argument(
        "--recognizer",
        default="recognizer",
        metavar="NAME",
        help="for --out: what the recognizer is called there (default: recognizer)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from voxaudit.cli.output import note, print_json
    from voxaudit.score.files import read_pairs
    from voxaudit.score.normalize import normalizer

    chosen = normalizer(args.normalizer)
    pairs = read_pairs(
        args.reference_file,
        args.hypothesis_file,
        id=args.id,
        reference=args.reference,
        hypothesis=args.hypothesis,
        missing=args.missing,
    )
    by = names(args.by)
    if args.out is not None:
        _write_scores(pairs, chosen, args)
    document = _document(pairs, chosen.id, by, args.speaker, args.alignments)
    for line in document["notes"]:
        note(f"note: {line}")
    if args.json:
        print_json({"reference": args.reference_file, "hypothesis": args.hypothesis_file, **document})
    else:
        _print(document, by)
    return 0


def _write_scores(pairs: Pairs, chosen: Normalizer, args: argparse.Namespace) -> None:
    """Write a `scores` table, what every audit reads: one row an utterance, with the files' other columns."""
    from voxaudit.cli.output import note
    from voxaudit.errors import VoxauditError
    from voxaudit.score.pairs import scores_of
    from voxaudit.tables import write_atomically

    writers = {".csv": "write_csv", ".parquet": "write_parquet"}
    if args.out.suffix.lower() not in writers:
        raise VoxauditError(f"{args.out}: a scores table is written as {' or '.join(writers)}")
    table = scores_of(pairs, chosen, recognizer=args.recognizer, speaker=args.speaker)
    write_atomically(args.out, getattr(table, writers[args.out.suffix.lower()]))
    note(f"Scores of {table.height} utterances written to {args.out}")


def _document(
    pairs: Pairs, chosen: str, by: Sequence[str], speaker: str | None, alignments: int
) -> dict[str, Any]:
    import polars as pl

    from voxaudit.corpus.columns import USUAL_NAMES
    from voxaudit.score.normalize import normalize_column
    from voxaudit.score.table import count_columns
    from voxaudit.tables import require_columns

    require_columns(pairs.columns, [*by, *([speaker] if speaker else [])], "--by and --speaker")
    usual = {column.lower(): column for column in reversed(pairs.columns.columns)}
    speaker = speaker or next((usual[name] for name in USUAL_NAMES["speaker"] if name in usual), None)
    said, heard = normalize_column(pairs.references, chosen), normalize_column(pairs.hypotheses, chosen)
    counts = count_columns(said, heard)
    table = counts.with_columns(
        (pl.col("substitutions") + pl.col("deletions") + pl.col("insertions")).alias("errors"),
        (
            pairs.columns[speaker].cast(pl.String)
            if speaker
            else pl.Series([None] * len(pairs), dtype=pl.String)
        ).alias("speaker"),
        # Under names of our own: a group may be called "words".
        *(pairs.columns[column].alias(f"by:{column}") for column in by),
    )
    whole = _groups(table.with_columns(pl.lit(0).alias("by:")), ["by:"])[0]
    del whole["group"]
    return {
        "normalizer": chosen,
        **whole,
        "no_interval": _no_interval(whole, speaker),
        "wordless": int((counts["words"] == 0).sum()),
        "notes": [*pairs.notes, *_unspaced(pairs, chosen)],
        "frequent": _frequent(said, heard),
        "normalizers": _sensitivity(pairs, chosen),
        "groups": _groups(table, [f"by:{column}" for column in by]) if by else [],
        "alignments": _alignments(pairs, said, heard, counts, alignments),
    }


def _unspaced(pairs: Pairs, chosen: str) -> list[str]:
    """Say where sentences count as words: nearly every rate would be a rate of sentences."""
    from voxaudit.score.normalize import UNSPACED, without_spaces

    count = sum(without_spaces(text) for text in pairs.references.drop_nulls())
    if not count or chosen.startswith(f"{UNSPACED}@"):
        return []
    return [
        f"{count:,} of {len(pairs):,} references have no spaces between words, and each counts as one word; count"
        f" characters instead with --normalizer {UNSPACED}"
    ]


def _groups(table: pl.DataFrame, by: list[str]) -> list[dict[str, Any]]:
    """Return counts, rates and intervals of every combination of the columns `by`, in order of appearance."""
    import polars as pl

    from voxaudit.score.align import COUNT_COLUMNS
    from voxaudit.score.table import total
    from voxaudit.stats.rates import rate_intervals

    limits = {tuple(row[:-3]): row[-3:] for row in rate_intervals(table, by).iter_rows()}
    groups = []
    for key, rows in table.group_by(by, maintain_order=True):
        counts = total(rows)
        characters, errors = (int(rows[name].sum()) for name in ("characters", "character_errors"))
        speakers, low, high = limits[key]
        groups.append(
            {
                "group": {name.removeprefix("by:"): value for name, value in zip(by, key, strict=True)},
                "utterances": rows.height,
                "speakers": speakers,
                "words": counts.words,
                **dict(zip(COUNT_COLUMNS, rows.select(pl.col(*COUNT_COLUMNS).sum()).row(0), strict=True)),
                "errors": counts.errors,
                "characters": characters,
                "character_errors": errors,
                "wer": counts.wer,
                "cer": errors / characters if characters else None,
                "mer": counts.mer,
                "wil": counts.wil,
                "wer_low": low,
                "wer_high": high,
            }
        )
    return groups


def _no_interval(whole: dict[str, Any], speaker: str | None) -> str | None:
    from voxaudit.stats.bootstrap import FEWEST_SPEAKERS

    if whole["wer_low"] is not None:
        return None
    if speaker is None:
        return "there is no speaker column, and utterances of one speaker are not independent; name it with --speaker"
    if whole["speakers"] < FEWEST_SPEAKERS:
        return f"column '{speaker}' has {whole['speakers']} speakers; at least {FEWEST_SPEAKERS} are needed"
    if whole["words"] and not whole["errors"]:
        return "no error was made, and nothing tells how far above 0 the rate may be"
    return f"column '{speaker}' is empty for some utterances, or there are no reference words"


def _frequent(said: pl.Series, heard: pl.Series) -> dict[str, Any]:
    from voxaudit.score.compare import frequent_edits

    step = -(-len(said) // EDIT_ROWS)
    found = frequent_edits(said.gather_every(step).to_list(), heard.gather_every(step).to_list())
    return {
        "utterances": -(-len(said) // step),
        "substitutions": [{"reference": a, "hypothesis": b, "count": n} for a, b, n in found.substitutions],
        "deletions": [{"word": word, "count": n} for word, n in found.deletions],
        "insertions": [{"word": word, "count": n} for word, n in found.insertions],
    }


def _sensitivity(pairs: Pairs, chosen: str) -> dict[str, Any]:
    from dataclasses import asdict

    from voxaudit.score.compare import normalizer_sensitivity

    step = -(-len(pairs) // SENSITIVITY_ROWS)
    rates = normalizer_sensitivity(
        pairs.references.gather_every(step), pairs.hypotheses.gather_every(step), chosen
    )
    return {"utterances": -(-len(pairs) // step), "rates": [asdict(rate) for rate in rates]}


def _alignments(
    pairs: Pairs, said: pl.Series, heard: pl.Series, counts: pl.DataFrame, number: int
) -> list[dict[str, Any]]:
    from dataclasses import asdict

    from voxaudit.score.align import align_words

    if not number:
        return []
    errors = counts["substitutions"] + counts["deletions"] + counts["insertions"]
    worst = errors.arg_sort(descending=True).head(number).to_list()
    return [
        {
            "id": pairs.ids[row],
            "reference": pairs.references[row],
            "hypothesis": pairs.hypotheses[row],
            "errors": errors[row],
            "words": counts["words"][row],
            "edits": [asdict(edit) for edit in align_words(said[row], heard[row])],
        }
        for row in worst
        if errors[row]
    ]


def _print(document: dict[str, Any], by: Sequence[str]) -> None:
    from voxaudit.cli.output import print_table, printable
    from voxaudit.report.numbers import percent, percent_interval

    counts = (
        f"{document['utterances']:,} utterances, {document['words']:,} reference words,"
        f" text normalized with {document['normalizer']}"
    )
    print(counts)
    if document["wordless"]:
        print(
            f"References without words: {document['wordless']:,}; what was heard there counts as insertions"
        )
    print()
    words = max(document["words"], 1)
    print(
        f"WER  {percent_interval(document['wer'], document['wer_low'], document['wer_high'])}  word error rate"
    )
    for name in ("substitutions", "deletions", "insertions"):
        rate = percent(document[name] / words) if document["words"] else "-"
        print(f"       {rate:>7}  {name} ({document[name]:,})")
    print(f"CER  {percent(document['cer'])}  character error rate")
    print(f"MER  {percent(document['mer'])}  match error rate")
    print(f"WIL  {percent(document['wil'])}  word information lost")
    if document["no_interval"]:
        print(f"No interval for the WER: {document['no_interval']}.")
    else:
        print(f"In brackets: 95 % interval of the WER, {document['speakers']} speakers being the sample.")
    _print_frequent(document["frequent"], document["utterances"])
    if document["groups"]:
        rows = [
            [
                *("-" if group["group"][name] is None else group["group"][name] for name in by),
                *(f"{group[name]:,}" for name in ("utterances", "words")),
                percent_interval(group["wer"], group["wer_low"], group["wer_high"]),
                *(percent(group["cer"]), group["substitutions"], group["deletions"], group["insertions"]),
            ]
            for group in document["groups"]
        ]
        print(f"\nBy {printable(', '.join(by))}")
        print_table("", [*by, "utterances", "words", "WER", "CER", "S", "D", "I"], rows)
    _print_sensitivity(document["normalizers"], document["utterances"])
    _print_alignments(document["alignments"])


def _print_frequent(frequent: dict[str, Any], utterances: int) -> None:
    from voxaudit.cli.output import printable

    lines = {
        "substituted": [f"{item['reference']} > {item['hypothesis']}" for item in frequent["substitutions"]],
        "deleted": [item["word"] for item in frequent["deletions"]],
        "inserted": [item["word"] for item in frequent["insertions"]],
    }
    numbers = [
        [item["count"] for item in frequent[name]] for name in ("substitutions", "deletions", "insertions")
    ]
    if any(numbers):
        sample = (
            f" (of a sample of {frequent['utterances']:,} utterances)"
            if frequent["utterances"] < utterances
            else ""
        )
        print(f"\nMost often{sample}")
    for (name, words), counts in zip(lines.items(), numbers, strict=True):
        if words:
            shown = ", ".join(
                f"{printable(word)} ({count:,})" for word, count in zip(words, counts, strict=True)
            )
            print(f"  {name + ':':12} {shown}")


def _print_sensitivity(sensitivity: dict[str, Any], utterances: int) -> None:
    from voxaudit.cli.output import print_table
    from voxaudit.report.numbers import percent
    from voxaudit.score.compare import LARGE_CHANGE

    rates = sensitivity["rates"]
    sample = (
        f", on a sample of {sensitivity['utterances']:,} utterances"
        if sensitivity["utterances"] < utterances
        else ""
    )
    rows = [
        [
            *(rate["normalizer"], f"{rate['words']:,}", percent(rate["wer"]), percent(rate["cer"])),
            "-" if rate["change"] is None else f"{100 * rate['change']:+.1f} %",
        ]
        for rate in rates
    ]
    print(f"\nThe same transcripts under every normalizer{sample}")
    print_table("", ["normalizer", "words", "WER", "CER", "change"], rows)
    known = [rate for rate in rates if rate["wer"] is not None]
    if any(_moved(rate) for rate in known):
        low, high = min(known, key=_wer), max(known, key=_wer)
        print(
            f"The choice of normalizer moves the WER by more than {100 * LARGE_CHANGE:.0f} %:"
            f" from {percent(low['wer'])} ({low['normalizer']}) to {percent(high['wer'])} ({high['normalizer']})."
            " Name it with the figure."
        )


def _moved(rate: dict[str, Any]) -> bool:
    from voxaudit.score.compare import LARGE_CHANGE

    # No relative change can be given where the chosen normalizer leaves no error: then any error is a change.
    return bool(rate["wer"]) if rate["change"] is None else abs(rate["change"]) > LARGE_CHANGE


def _wer(rate: dict[str, Any]) -> float:
    return float(rate["wer"])


def _print_alignments(alignments: Sequence[dict[str, Any]]) -> None:
    from voxaudit.cli.output import printable
    from voxaudit.score.align import Edit
    from voxaudit.score.show import alignment_block

    for item in alignments:
        clean = [
            Edit(
                edit["kind"],
                tuple(map(printable, edit["reference"])),
                tuple(map(printable, edit["hypothesis"])),
                edit["reference_start"],
                edit["hypothesis_start"],
            )
            for edit in item["edits"]
        ]
        print(f"\n{printable(str(item['id']))}: {item['errors']} errors, {item['words']} reference words")
        print(alignment_block(clean))
