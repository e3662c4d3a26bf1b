"""`voxaudit quality INPUT`: how recordings sound under each scenario, and how difficult that makes it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

    from voxaudit.corpus import Corpus
    from voxaudit.run import Run

EXAMPLE = "voxaudit quality data/manifest.csv --scenarios quick gaussian_noise:4"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "input", metavar="INPUT", nargs="+", help="the folder of a run, a corpus, or audio files"
    )
    parser.add_argument(
        "--scenarios",
        metavar="ID",
        nargs="+",
        action="extend",
        help="scenario ids and suites; a run's own if not given, else clean only",
    )
    parser.add_argument(
        "--utterances",
        metavar="N",
        help="how many to measure, spread over the speakers, or all; as many as the intervals need if not given",
    )
    parser.add_argument(
        "--p835", action="store_true", help="also signal, background and overall MOS, at 12 times the cost"
    )
    parser.add_argument(
        "--windows",
        default="every",
        help="which windows DNSMOS is the mean of: every (default), or speechmos, as that package does",
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of scenarios and choice; a run keeps its own"
    )
    parser.add_argument("--workers", type=int, metavar="N", help="processes (default: one per core)")
    parser.add_argument(
        "--out", metavar="FILE", help="also write one row per utterance and scenario (.csv, .tsv or .parquet)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(args: argparse.Namespace) -> int:
    """Measure, print a table per scenario, and write the rows where asked."""
    from voxaudit.cli.output import note, print_json
    from voxaudit.errors import VoxauditError
    from voxaudit.score.quality import difficulties, measure_quality

    out = _check_out(args.out)
    source = _source(args.input)
    table = measure_quality(
        source,
        args.scenarios,
        utterances=_utterances(args.utterances),
        p835=args.p835,
        windows=args.windows,
        seed=args.seed,
        workers=args.workers,
        progress=not args.json,
    )
    found, refusal = None, None
    try:
        found = difficulties(table)
    except VoxauditError as error:
        refusal = str(error)
    if out is not None:
        _write(table, out)
    document = summarize(table, found, refusal)
    document["of_utterances"] = len(source) if hasattr(source, "__len__") else source.corpus.height
    if args.json:
        print_json(document)
        return 0
    _show(document)
    for line in _notes(document):
        note(line)
    return 0


def summarize(table: pl.DataFrame, found: pl.DataFrame | None, refusal: str | None) -> dict[str, Any]:
    """Return what `--json` prints (docs/quality.md describes it)."""
    import polars as pl

    from voxaudit.score.quality.measures import COLUMNS

    numbers = [column for group in COLUMNS.values() for column in group if column in table.columns]
    scenarios = table.group_by("scenario", maintain_order=True).agg(
        pl.col("dnsmos").count().alias("utterances"), pl.col(numbers).mean(), pl.col("missing").count()
    )
    if found is not None:
        chosen = found.select("scenario", "difficulty", "low", "high", "clusters", "resampled")
        scenarios = scenarios.join(chosen, on="scenario", how="left", maintain_order="left")
    reasons = table["missing"].drop_nulls().value_counts(sort=True, name="count")
    return {
        "utterances": table["utterance"].n_unique(),
        "windows": table["windows"][0] if table.height else None,
        "scenarios": scenarios.to_dicts(),
        "difficulty_refused": refusal,
        "retimed": _retimed(scenarios["scenario"].to_list()),
        "missing": reasons.head(20).to_dicts(),
    }


def _retimed(scenarios: list[str]) -> list[str]:
    """Return the scenarios that change timing, where PESQ reads near its lowest whatever the sound is like."""
    from voxaudit.errors import VoxauditError
    from voxaudit.perturb import parse_scenario

    changed = []
    for id_ in scenarios:
        try:
            perturbation = parse_scenario(id_).perturbation
        except VoxauditError:  # a role: natural speech
            continue
        if perturbation is not None and perturbation.map_time(1.0) != 1.0:
            changed.append(id_)
    return changed


def _source(paths: list[str]) -> Run | Corpus:
    from voxaudit.audio import SUFFIXES
    from voxaudit.audits.inputs import is_run
    from voxaudit.corpus import read_corpus
    from voxaudit.errors import VoxauditError
    from voxaudit.run import Run

    files = [Path(path) for path in paths]
    if all(path.suffix.lower() in SUFFIXES and not path.is_dir() for path in files):
        return _corpus_of_files(files)
    if len(files) > 1:
        raise VoxauditError(f"{files[0]}: give one run, one corpus, or audio files only")
    return Run(files[0]) if is_run(files[0]) else read_corpus(files[0])


def _corpus_of_files(files: list[Path]) -> Corpus:
    import polars as pl

    from voxaudit.corpus import Corpus
    from voxaudit.corpus.base import COLUMNS
    from voxaudit.errors import VoxauditError

    for file in files:
        if not file.is_file():
            raise VoxauditError(f"{file}: no such audio file")
    seconds = ("start", "duration")
    schema = {column: pl.Float64 if column in seconds else pl.String for column in COLUMNS}
    rows = [{"id": str(file), "audio": str(file.absolute())} for file in dict.fromkeys(files)]
    return Corpus("files", "files", pl.DataFrame(rows, schema=schema))


def _utterances(text: str | None) -> int | None:
    from voxaudit.errors import VoxauditError

    if text is None:
        return None
    if text == "all":
        return 2**62
    if not text.isdecimal():
        raise VoxauditError(f"--utterances: a number of utterances or all, not '{text}'")
    return min(int(text), 2**62)


def _check_out(path: str | None) -> Path | None:
    from voxaudit.errors import VoxauditError

    if path is None:
        return None
    out = Path(path)
    if out.suffix.lower() not in (".csv", ".tsv", ".parquet"):
        raise VoxauditError(f"{out}: unknown table format. Use .csv, .tsv or .parquet")
    if not out.absolute().parent.is_dir():
        raise VoxauditError(f"{out}: no such folder as {out.absolute().parent}")
    return out


def _write(table: pl.DataFrame, out: Path) -> None:
    from voxaudit.tables import write_atomically

    if out.suffix.lower() == ".parquet":
        write_atomically(out, table.write_parquet)
    else:
        separator = "\t" if out.suffix.lower() == ".tsv" else ","
        write_atomically(out, lambda path: table.write_csv(path, separator=separator))


def _show(document: dict[str, Any]) -> None:
    from voxaudit.cli.output import print_table

    heads = {
        "dnsmos": "DNSMOS",
        "overall": "overall",
        "signal": "signal",
        "background": "background",
        "pesq": "PESQ",
        "snr": "SNR (dB)",
    }
    rows = document["scenarios"]
    columns = [column for column in heads if rows and column in rows[0]]
    body = []
    for row in rows:
        cells = [_number(row[column], 1 if column == "snr" else 2) for column in columns]
        body.append([row["scenario"], *cells, _difficulty(row), row["utterances"]])
    title = f"Quality of {document['utterances']:,} of {document['of_utterances']:,} utterances"
    print_table(title, ["scenario", *(heads[column] for column in columns), "difficulty", "n"], body)


def _difficulty(row: dict[str, Any]) -> str:
    value, low, high = row.get("difficulty"), row.get("low"), row.get("high")
    if value is None:
        return "-"
    return f"{value:.1f}" if low is None else f"{value:.1f} ({low:.1f} to {high:.1f})"


def _number(value: float | None, decimals: int) -> str:
    return "-" if value is None else f"{value:.{decimals}f}"


def _notes(document: dict[str, Any]) -> list[str]:
    lines = []
    reaches = [(row["high"] - row["low"]) / 2 for row in document["scenarios"] if row.get("low") is not None]
    if reaches:
        resampled = next(row["resampled"] for row in document["scenarios"] if row.get("low") is not None)
        lines.append(
            f"Difficulty is relative to these scenarios; 95 % intervals by resampling {resampled},"
            f" the widest ±{max(reaches):.1f} points."
        )
    if document["difficulty_refused"]:
        lines.append(f"No difficulty: {document['difficulty_refused']}.")
    if document["retimed"] and any(row.get("pesq") is not None for row in document["scenarios"]):
        lines.append(
            f"PESQ cannot follow a change of timing and reads low there: {', '.join(document['retimed'])}."
        )
    missing = document["missing"][:5]
    return [*lines, *(f"Not measured in {one['count']:,} rows: {one['missing']}" for one in missing)]
