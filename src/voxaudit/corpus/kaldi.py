"""Kaldi data directories: wav.scp with segments, text, utt2spk, spk2gender and their like."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl

from voxaudit.corpus.base import KEPT, Problem, row_problem
from voxaudit.corpus.rows import LINE, Reader, Rows, rows_in
from voxaudit.corpus.text_files import read_keyed

NOT_ATTRIBUTES = frozenset({"utt2spk", "utt2dur", "spk2utt", "utt2num_frames", "utt2max_frames"})
"""Mappings that say something else than what kind of utterance or speaker it is."""

_MAPPING = re.compile(r"^(utt|spk)2([A-Za-z][A-Za-z0-9_]*)$")


_ENTRY = pl.col("audio").fill_null("").str.strip_chars()
_IS_COMMAND = _ENTRY.str.ends_with("|") | _ENTRY.str.starts_with("|") | (_ENTRY == "-")


def _read(path: Path, _: bool) -> Rows:
    """Read the utterances of `segments`, or of wav.scp where there are none. Commands are never run.

    Paths are looked for in the directory, then two folders up, where recipes that write `data/train` run.
    """
    recordings = read_keyed(path / "wav.scp")
    problems = _commands(recordings)
    if (path / "segments").is_file():
        table, lost, broken = _segments(path / "segments", recordings)
        problems += broken
    else:
        table, lost = (
            recordings.select(pl.col("key").alias("id"), pl.col("value").alias("audio"), "number"),
            0,
        )
    # Entries that are commands go: reading a corpus must not be able to run anything.
    usable = table.filter(~_IS_COMMAND)
    lost += table.height - usable.height
    table = usable
    known = {"speaker": "utt2spk", "text": "text"}
    for name, file_name in (known if "end" in table.columns else known | {"duration": "utt2dur"}).items():
        table, notes = _with(table, path / file_name, name, "id")
        problems += notes
    # What is said of an utterance keeps its name before what is said of a speaker.
    for file in sorted(path.iterdir(), key=lambda file: (not file.name.startswith("utt2"), file.name)):
        match = _MAPPING.match(file.name)
        if match is None or file.name in NOT_ATTRIBUTES or not file.is_file():
            continue
        kind, name = match.groups()
        name = name if name not in table.columns else f"{kind}_{name}"
        table, notes = _with(table, file, name, "id" if kind == "utt" else "speaker")
        problems += notes
    return rows_in(
        table.rename({"number": LINE}),
        path,
        search=("../..",),
        unit="segments line" if "recording" in table.columns else "wav.scp line",
        problems=tuple(problems),
        lost=lost,
    )


def _segments(file: Path, recordings: pl.DataFrame) -> tuple[pl.DataFrame, int, list[Problem]]:
    """Return the table of "utterance recording start end" lines, how many do not fit, and what is wrong with those.

    An end of -1 is the end of the recording.
    """
    lines = read_keyed(file)
    parts = lines["value"].fill_null("").str.replace_all("\t", " ", literal=True).str.extract_all(r"[^ ]+")
    lines = lines.with_columns(parts=parts)
    broken = lines.filter(pl.col("parts").list.len() < 3)
    problems = _about(broken, "bad_segment", "[is|are] not 'utterance recording start end'")
    end = pl.col("parts").list.get(2, null_on_oob=True)
    table = lines.filter(pl.col("parts").list.len() >= 3).select(
        pl.col("key").alias("id"),
        pl.col("parts").list.get(0, null_on_oob=True).alias("recording"),
        pl.col("parts").list.get(1, null_on_oob=True).alias("start"),
        pl.when(end.cast(pl.Float64, strict=False) == -1).then(None).otherwise(end).alias("end"),
        "number",
    )
    files = recordings.select(pl.col("key").alias("recording"), pl.col("value").alias("audio")).unique(
        "recording", keep="first", maintain_order=True
    )
    stray = table.join(files, on="recording", how="anti").select(pl.col("recording").alias("key"), "number")
    words = "[names a recording|name recordings] not in wav.scp"
    problems += _about(stray, "unknown_recording", words)
    table = table.join(files, on="recording", how="inner", maintain_order="left")
    return (
        table.select("id", "audio", "recording", "start", "end", "number"),
        broken.height + stray.height,
        problems,
    )


def _commands(recordings: pl.DataFrame) -> list[Problem]:
    commands = recordings.rename({"value": "audio"}).filter(_IS_COMMAND)
    return _about(
        commands.select(pl.col("audio").alias("key"), "number"),
        "command",
        "[is a command, which is|are commands, which are] never run",
        file="wav.scp",
        note="write the audio to files first and name those",
    )


def _with(table: pl.DataFrame, file: Path, name: str, by: str) -> tuple[pl.DataFrame, list[Problem]]:
    """Add what `file` says of each utterance or speaker as column `name`."""
    if not file.is_file() or by not in table.columns:
        return table, []
    lines = read_keyed(file)
    found = lines.select(pl.col("key").alias(by), pl.col("value").alias(name)).unique(by, keep="first")
    table = table.join(found, on=by, how="left", maintain_order="left")
    if by != "id":
        return table, []
    strangers = lines.join(table, left_on="key", right_on="id", how="anti")
    words = "[is about no utterance|are about no utterances] of the corpus"
    return table, _about(strangers, "unknown_utterance", words, file=file.name, fatal=False)


def _about(
    lines: pl.DataFrame,
    kind: str,
    words: str,
    *,
    file: str = "segments",
    note: str = "",
    fatal: bool = True,
) -> list[Problem]:
    """Return the problem of these lines (columns `key` and `number`) of a file, if there are any."""
    shown = lines.head(KEPT)
    problem = row_problem(
        kind,
        f"[line|lines] of {file} {words}",
        lines.height,
        [str(number) for number in shown["number"]],
        shown["key"].to_list(),
        unit="line",
        note=note,
        fatal=fatal,
    )
    return [problem] if lines.height else []


READER = Reader.where(
    lambda path: path.is_dir() and (path / "wav.scp").is_file(),
    _read,
    name="kaldi",
    description="a Kaldi data directory: wav.scp with segments, text, utt2spk, spk2gender, utt2* and spk2*",
    example="data/train with wav.scp, text, utt2spk",
    missing="no wav.scp in this folder",
)
