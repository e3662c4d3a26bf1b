"""The way in: a path becomes a checked corpus, with every check made at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from voxaudit.corpus.base import (
    COLUMNS,
    KEPT,
    NO_ROWS,
    Corpus,
    CorpusError,
    Problem,
    quote,
    refusal,
    row_problem,
)
from voxaudit.corpus.columns import USUAL_NAMES, Plan, plan_columns
from voxaudit.corpus.harmonize import harmonize
from voxaudit.corpus.hugging_face import address
from voxaudit.corpus.recordings import default_ids, locate
from voxaudit.corpus.rows import FORMATS, Rows, detect_format
from voxaudit.errors import VoxauditError
from voxaudit.files import fetched, url_of
from voxaudit.registry import suggest
from voxaudit.tables import ENDINGS, plain_names

_PLAIN_NAMES = frozenset({"manifest", "metadata", "validated", "data"})


def read_corpus(
    path: str | Path,
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    skip_bad_rows: bool = False,
    name: str | None = None,
    check_audio: bool = True,
) -> Corpus:
    """Read a corpus and check it.

    `format=None` finds out which format it is. `columns` maps our names (`id`, `audio`, `speaker`, `text`,
    `start`, `end`, `duration`, or a name for an attribute) to the source's: `{"text": "sentence"}`; an empty
    one (`{"id": ""}`) says that there is none. Everything that makes rows unusable is collected and raised as
    one `CorpusError`; with `skip_bad_rows` those rows are left out and counted instead (of rows that share an
    id, the first stays). `check_audio=False` does not look whether the audio files exist.
    """
    corpus = examine_corpus(path, format=format, columns=columns, name=name, check_audio=check_audio)
    if skip_bad_rows:
        corpus = without_bad_rows(corpus)
    if any(problem.fatal for problem in corpus.problems):
        raise refusal(str(path), corpus.problems)
    return corpus


def without_bad_rows(corpus: Corpus) -> Corpus:
    """Return an examined corpus with the problems of its bad rows forgiven, unless nothing is left without them."""
    if any(problem.kind == NO_ROWS for problem in corpus.problems):
        return corpus
    return replace(corpus, problems=tuple(replace(problem, fatal=False) for problem in corpus.problems))


def examine_corpus(
    path: str | Path,
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    name: str | None = None,
    check_audio: bool = True,
) -> Corpus:
    """Return the good rows of a corpus whatever is wrong with the others; fatal problems stay marked fatal.

    For looking at a corpus (`voxaudit inspect`). It raises only where nothing can be read at all.
    """
    if not str(path):  # a shell's unset variable; as a path it would be the current folder
        raise CorpusError("no corpus is named")
    streamed = address(Path(path))
    if streamed is None and (url := url_of(path)) is not None:
        return _examine_url(url, format, columns, name, check_audio)
    path = Path(path)
    if streamed is None:
        _require(path)
    reader, notes = detect_format(path) if format is None else (FORMATS.load(format), [])
    rows = reader.rows(path)
    # Full paths: a run is resumed from other folders, and workers may have another.
    rows = replace(rows, root=rows.root.absolute())
    corpus = build(
        rows, str(path), name=name or _name(path), format=reader.name, given=columns, check_audio=check_audio
    )
    return replace(
        corpus,
        problems=(*corpus.problems, *notes),
        source=str(path.resolve()) if streamed is None else f"hf:{streamed}",
    )


def _examine_url(
    url: str, format: str | None, columns: Mapping[str, str] | None, name: str | None, check_audio: bool
) -> Corpus:
    """Examine a manifest on another filesystem; its relative paths start at its own place."""
    if Path(url).suffix.lower() not in ENDINGS:
        raise CorpusError(
            f"{url}: on remote storage only manifests are read: name the file ({', '.join(ENDINGS)})"
        )
    with fetched(url) as copy:
        try:
            reader, notes = detect_format(copy) if format is None else (FORMATS.load(format), [])
            rows = replace(reader.rows(copy), root=Path(url).parent)
        except CorpusError as error:
            raise CorpusError(str(error).replace(str(copy), url), error.problems) from error
    corpus = build(
        rows, url, name=name or _name(Path(url)), format=reader.name, given=columns, check_audio=check_audio
    )
    return replace(corpus, problems=(*corpus.problems, *notes), source=url)


def _name(path: Path) -> str:
    streamed = address(path)
    if streamed is not None:
        return streamed.partition("?")[0].rsplit("/", 1)[-1]
    full = path.absolute()
    if path.is_dir():
        return full.resolve().name or str(full)
    return full.parent.name if full.stem.lower() in _PLAIN_NAMES else full.stem


def _require(path: Path) -> None:
    try:
        str(path.absolute()).encode()
        usable = "\0" not in str(path)
        exists = usable and path.exists()
    except (UnicodeEncodeError, OSError):
        usable = False
    if not usable:
        raise CorpusError(f"{quote(str(path), 200)}: cannot be used as a path; rename it")
    if exists and not (path.is_file() or path.is_dir()):  # a device or a pipe would be read for ever
        raise CorpusError(f"{path}: is neither a file nor a folder")
    if not exists:
        parent = path.absolute().parent
        near = suggest(path.name, [entry.name for entry in parent.iterdir()]) if parent.is_dir() else ""
        raise CorpusError(f"{path}: no such file or folder.{near}")


# From raw rows to a corpus: columns chosen, values cleaned, audio located, and every check made at once.


@dataclass(frozen=True)
class RowCheck:
    """A check of single rows: `bad` finds them, `shown` is the column whose value the message quotes."""

    kind: str
    bad: pl.Expr
    words: str
    shown: str | None = None
    fatal: bool = True


def _not_a_length(name: str, *, zero: bool) -> pl.Expr:
    number, given = pl.col(f"{name}_number"), pl.col(name).is_not_null()
    too_small = number < 0 if zero else number <= 0
    return given & (number.is_null() | ~number.is_finite() | too_small)


ROW_CHECKS = (
    RowCheck("missing_audio", pl.col("audio").is_null(), "[row names|rows name] no audio"),
    RowCheck(
        "audio_not_found",
        pl.col("audio").is_not_null() & ~pl.col("found"),
        "[audio file does|audio files do] not exist",
        shown="audio",
    ),
    RowCheck("empty_id", pl.col("has_ids") & pl.col("id").is_null(), "[row has|rows have] no id"),
    RowCheck(
        "bad_id",
        pl.col("id").str.contains(r"\p{Cc}"),
        "[id has|ids have] control characters",
        shown="id",
    ),
    RowCheck(
        "bad_start",
        _not_a_length("start", zero=True),
        "[start is not a number|starts are not numbers] of seconds from 0 on",
        shown="start",
    ),
    RowCheck(
        "bad_duration",
        _not_a_length("duration", zero=False),
        "[duration is not a number|durations are not numbers] of seconds above 0",
        shown="duration",
    ),
    RowCheck(
        "bad_end",
        _not_a_length("end", zero=False)
        | (pl.col("end_number") <= pl.col("start_number").fill_null(0.0)).fill_null(False),
        "[end is not a number|ends are not numbers] of seconds after the start",
        shown="end",
    ),
    RowCheck("missing_speaker", pl.col("speaker").is_null(), "[row has|rows have] no speaker", fatal=False),
    RowCheck(
        "missing_text",
        pl.col("text").is_null() & (pl.col("raw_text").fill_null("") == ""),
        "[row has|rows have] no text: not transcribed, so not scored",
        fatal=False,
    ),
    RowCheck(
        "blank_text",
        (pl.col("raw_text").fill_null("") != "") & (pl.col("text").fill_null("") == ""),
        "[text is|texts are] only white space",
        fatal=False,
    ),
    RowCheck(
        "empty_text",
        (pl.col("text") == "") & (pl.col("raw_text") == ""),
        "[text is|texts are] empty: every word heard there will count as inserted",
        fatal=False,
    ),
    RowCheck(
        "unspaced_text",
        pl.col("text").str.contains(
            # Characters with the marks they carry; the prolonged sound mark belongs to no script of its own.
            r"(?:[[\p{Han}\p{Hiragana}\p{Katakana}ーｰ\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]&&\P{M}]\p{M}*){2}"
        ),
        "[text has|texts have] words without spaces between them: the normalizer 'unspaced' counts characters there",
        fatal=False,
    ),
)
"""All checks of single rows; a row that fails a fatal one is left out when bad rows are skipped."""


def build(
    rows: Rows, where: str, *, name: str, format: str, given: Mapping[str, str] | None, check_audio: bool
) -> Corpus:
    """Return the corpus of all good rows. Problems of bad rows are in `problems`, still marked fatal."""
    rows = replace(rows, table=plain_names(rows.table))
    given = given if rows.table.width else None  # nothing was read: that is what has to be said
    plan = plan_columns(rows.table.columns, where, given=given, fixed=rows.columns, guess=rows.guess)
    if "audio" not in plan.fields and rows.table.width:
        raise CorpusError(
            f"{where}: no column looks like the path of the audio; name it in the setting `columns`:"
            f" audio=COLUMN. Columns there: {', '.join(rows.table.columns)[:500]}"
        )
    work = _work_table(rows, plan, check_audio)
    problems = list(rows.problems)
    bad = pl.Series([False]).new_from_index(0, work.height)
    for check, mask in _failed(work, plan):
        problems.append(_describe(check, work, mask, rows))
        if check.fatal:
            bad |= mask
    repeated = work["id"].is_duplicated() & work["id"].is_not_null()
    if repeated.any():
        problems.append(_duplicates(work.filter(repeated), rows))
        bad |= repeated & ~work["id"].is_first_distinct()
    problems += [*plan.problems, *_missing_columns(plan, work)]
    table = harmonize(_corpus_table(rows.table, work, plan), rows.harmonize, given or ())
    table = table.filter(~bad) if bad.any() else table
    if table.is_empty():
        why = "no good row is left" if work.height or rows.lost else "there are no rows: nothing to hear"
        problems.append(Problem(NO_ROWS, why, True))
    skipped = rows.lost + int(bad.sum())
    return Corpus(name, format, table, tuple(problems), skipped, dict(plan.fields))


def _work_table(rows: Rows, plan: Plan, check_audio: bool) -> pl.DataFrame:
    """Return our columns as clean strings, with the numbers parsed, the audio located and ids for all."""
    table = rows.table
    source = {ours: table[plan.fields[ours]] for ours in USUAL_NAMES if ours in plan.fields}
    empty = pl.Series([None], dtype=pl.String).new_from_index(0, table.height)
    work = pl.DataFrame({ours: clean(source.get(ours, empty)) for ours in USUAL_NAMES})
    work = work.with_columns(
        *(
            pl.col(ours).cast(pl.Float64, strict=False).alias(f"{ours}_number")
            for ours in ("start", "end", "duration")
        ),
        raw_text=source.get("text", empty).cast(pl.String),
        has_ids=pl.lit("id" in source),
    )
    if rows.empty_text and work["text"].count():  # all empty, as manifests for inference are: there is none
        work = work.with_columns(text=pl.coalesce("text", pl.col("raw_text").str.strip_chars()))
    located = locate(work["audio"], rows.root, rows.search, check=check_audio)
    if "id" not in source:
        work = work.with_columns(id=default_ids(work["audio"], located["path"], work["start_number"]))
    numbers = (
        rows.numbers
        if rows.numbers is not None
        else pl.Series([None], dtype=pl.UInt32).new_from_index(0, len(work))
    )
    files = rows.files if rows.files is not None else empty
    return work.with_columns(path=located["path"], found=located["found"], row=numbers, row_file=files)


def clean(column: pl.Series) -> pl.Series:
    """Return a column as strings without white space around them; what is empty becomes null."""
    return pl.select(_cleaned(pl.lit(column))).to_series()


def _cleaned(column: pl.Expr) -> pl.Expr:
    stripped = column.cast(pl.String).str.strip_chars()
    return pl.when(stripped != "").then(stripped)


def _failed(work: pl.DataFrame, plan: Plan) -> list[tuple[RowCheck, pl.Series]]:
    masks = work.select(check.bad.fill_null(False).alias(check.kind) for check in ROW_CHECKS)
    # A text or speaker that no row has is said once, not row by row.
    absent = {f"missing_{ours}" for ours in ("text", "speaker") if work[ours].null_count() == work.height}
    return [
        (check, masks[check.kind])
        for check in ROW_CHECKS
        if check.kind not in absent and masks[check.kind].any()
    ]


def _describe(check: RowCheck, work: pl.DataFrame, mask: pl.Series, rows: Rows) -> Problem:
    first = work.filter(mask).head(KEPT)
    values = first[check.shown].to_list() if check.shown else []
    note = f"looked in {url_of(rows.root) or rows.root}" if check.kind == "audio_not_found" else ""
    return row_problem(
        check.kind,
        check.words,
        int(mask.sum()),
        labels(first),
        values,
        unit=rows.unit,
        note=note,
        fatal=check.fatal,
    )


def labels(work: pl.DataFrame) -> list[str]:
    """Return how messages name these rows: "4", or "train/metadata.csv:4"; nothing where rows have no number."""
    pairs = work.select("row_file", "row").rows()
    return [str(row) if file is None else f"{file}:{row}" for file, row in pairs if row is not None]


def _duplicates(repeated: pl.DataFrame, rows: Rows) -> Problem:
    groups = repeated.group_by("id", maintain_order=True).agg(
        pl.struct("row_file", "row").head(KEPT), pl.len()
    )
    shown = []
    for entry in groups.head(3).iter_rows(named=True):
        members = labels(pl.DataFrame(entry["row_file"]))
        if members:
            named = (
                " and ".join((", ".join(members[:-1][:2]), members[-1]))
                if entry["len"] <= 3
                else (f"{', '.join(members[:2])} and {entry['len'] - 2:,} more")
            )
            unit = "" if ":" in members[0] else f"{rows.unit}s "
            shown.append(f"{unit}{named}: {quote(entry['id'])}")
        else:
            shown.append(quote(entry["id"]))
    if groups.height > 3:
        shown.append("...")
    message = f"{groups.height:,} duplicate id{'s' if groups.height > 1 else ''} ({'; '.join(shown)})"
    if not repeated["has_ids"][0]:
        message += ": ids come from the audio paths, and these occur twice; add a column `id`, or `start`"
    return Problem("duplicate_id", message, True, groups.height, tuple(labels(repeated.head(KEPT))))


def _missing_columns(plan: Plan, work: pl.DataFrame) -> list[Problem]:
    remedies = {
        "speaker": "audits that compare groups of people need one and will refuse",
        "text": "only audits that need no reference will run",
    }
    found = []
    for ours, consequence in remedies.items():
        if work.height and work[ours].null_count() == work.height:
            what = f"no row has a {ours}" if ours in plan.fields else f"no {ours} column"
            hint = (
                ""
                if ours in plan.fields or not plan.attributes
                else f" (name it in the setting `columns`: {ours}=COLUMN)"
            )
            found.append(Problem(f"no_{ours}", f"{what}: {consequence}{hint}", False))
    return found


def _corpus_table(source: pl.DataFrame, work: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    start, end = pl.col("start_number"), pl.col("end_number")
    ours = work.select(
        "id",
        pl.col("path").alias("audio"),
        _one_form(pl.col("speaker")),
        "text",
        start.alias("start"),
        pl.coalesce("duration_number", end - start.fill_null(0.0)).alias("duration"),
    ).select(COLUMNS)
    attributes = (_one_form(_cleaned(pl.col(theirs))).alias(name) for name, theirs in plan.attributes.items())
    return ours.hstack(source.select(attributes))


def _one_form(names: pl.Expr) -> pl.Expr:
    # An accent is one character on one machine and two on another: people and groups would fall apart unseen.
    return names.str.normalize("NFC")


# Files of texts with times: sclite's STM and CTM, SegLST. As references or transcripts they are ids and texts.

TIMED = (".stm", ".ctm")


def is_timed(path: Path) -> bool:
    """Say whether a file holds texts with times: by its ending, or (`.json`) by its content."""
    if path.suffix.lower() in TIMED:
        return True
    if path.suffix.lower() != ".json" or not path.is_file():
        return False
    try:
        return detect_format(path)[0].name == "seglst"
    except VoxauditError:
        return False


def read_timed(path: Path) -> pl.DataFrame:
    """Return the columns id and text of such a file; the audio it names need not be there."""
    return read_corpus(path, check_audio=False).table.select("id", "text")
