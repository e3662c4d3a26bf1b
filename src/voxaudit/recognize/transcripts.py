"""Transcripts that exist already, in a file, as a recognizer: nothing is heard, answers are looked up by id."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath

from voxaudit.audio import SUFFIXES
from voxaudit.errors import one_line
from voxaudit.recognize.base import (
    Message,
    RecognizerError,
    Transcriber,
    Transcript,
    UtteranceError,
    as_transcript,
)
from voxaudit.recognize.files import sha256
from voxaudit.recognize.settings import setting

ID_COLUMNS = (
    *("id", "utterance", "utterance_id", "utt_id", "uttid", "utt", "segment_id", "clip_id", "sample_id"),
    *("audio_filepath", "audio", "path", "audio_path", "audio_file", "file_name", "filename", "file", "wav"),
)
TEXT_COLUMNS = (
    *("pred_text", "hypothesis", "hyp", "hyp_text", "prediction", "predicted_text", "predicted", "asr"),
    *("recognized", "transcript", "transcription", "text"),
)
"""Names that columns are found by, in any case, best first: NeMo writes the reference to `text`."""


@dataclass(frozen=True)
class TranscriptFile:
    description = (
        "Transcripts you already have: CSV, TSV, JSON lines (also NeMo's), Parquet or .trn, matched by id."
    )
    main = "path"

    path: str = setting(help="the file", path=True)
    id: str = setting("", help="column of the utterance's id or recording (default: found by its name)")
    text: str = setting("", help="column of the transcript (default: found by its name)")

    @property
    def rate(self) -> None:
        """None: no audio is needed."""
        return

    @property
    def batch_size(self) -> int:
        """1; nothing is heard."""
        return 1

    @property
    def source(self) -> str:
        """The file."""
        return self.path

    def require(self) -> None:
        """Read the file; raise one line if something is wrong with it."""
        self._texts()

    def fingerprint(self) -> dict[str, str]:
        """The file's bytes and the columns."""
        return {"engine": "transcripts", "file": sha256(self.path), "id": self.id, "text": self.text}

    def load(self) -> Transcriber:
        """Raise: the answers of a file are found by id, not by ear."""
        raise RecognizerError(
            f"{self.path}: transcripts from a file are looked up by id; they cannot hear audio"
        )

    def lookup(self, ids: Sequence[str]) -> dict[str, Transcript]:
        """Return the transcripts of those `ids` that the file has.

        An id matches exactly, or without an audio ending (`a/b.wav` and `a/b`), or by the file's name alone
        where only one row has that name.
        """
        texts, names, traces = self._texts()
        found = {}
        for id in ids:
            stem = _stem(id)
            keys = (id if id in texts else None, names.get(stem), names.get(PurePosixPath(stem).name))
            key = next((key for key in keys if key is not None), None)
            if key is not None:
                found[id] = Transcript(texts[key], messages=traces.get(key, ()))
        return found

    def _texts(self) -> tuple[dict[str, str], dict[str, str | None], dict[str, tuple[Message, ...]]]:
        try:
            status = Path(self.path).stat()
        except OSError as error:
            raise RecognizerError(
                f"{self.path}: cannot read this file ({error.strerror or one_line(error)})"
            ) from error
        return _read(self.path, status.st_size, status.st_mtime_ns, self.id, self.text)


@lru_cache(maxsize=8)
def _read(
    path: str, size: int, modified: int, id: str, text: str
) -> tuple[dict[str, str], dict[str, str | None], dict[str, tuple[Message, ...]]]:
    texts = read_transcripts(path, id=id, text=text)
    return texts, _by_name(texts), _traces(Path(path))


def _traces(path: Path) -> dict[str, tuple[Message, ...]]:
    """Return what was said while listening, by utterance, where the file is a trace."""
    from voxaudit.recognize.streaming.trace import as_trials, is_trace
    from voxaudit.tables import read_table

    if path.suffix.lower() not in (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet"):
        return {}
    table = read_table(path, strings=True)
    if not is_trace(table.columns):
        return {}
    trials = as_trials(table, path)
    return {
        str(key): tuple(Message(*one) for one in json.loads(trace))
        for key, trace in zip(trials["utterance"], trials["trace"], strict=True)
    }


def read_transcripts(path: str | Path, *, id: str = "", text: str = "") -> dict[str, str]:
    """Return {utterance id: text} of a file of transcripts; `id` and `text` name columns, else they are found.

    An empty cell of a CSV is an empty transcript; a JSON null is no transcript. An id that comes twice is an error.
    """
    path = Path(path)
    from voxaudit.corpus.nist import read_trn
    from voxaudit.corpus.read import is_timed, read_timed

    if path.suffix.lower() == ".trn":
        rows = read_trn(path).rows()
    else:
        rows = read_timed(path).rows() if is_timed(path) else _table_rows(path, id, text)
    texts: dict[str, str] = {}
    lines: dict[str, int] = {}
    for number, (key, value) in enumerate(rows, start=1):
        if key is None or not key.strip():
            raise RecognizerError(f"{path}: row {number} has no utterance id")
        if key in lines:
            rows_of_both = f"rows {lines[key]} and {number}"
            raise RecognizerError(
                f"{path}: utterance '{one_line(key, 80)}' has two transcripts ({rows_of_both}); keep one"
            )
        lines[key] = number
        if value is not None:
            try:
                texts[key] = as_transcript(value).text
            except UtteranceError as error:
                raise RecognizerError(f"{path}: row {number}, '{one_line(key, 80)}': {error}") from error
    return texts


def _table_rows(path: Path, id: str, text: str) -> list[tuple[str | None, str | None]]:
    from voxaudit.recognize.streaming.trace import as_trials, is_trace
    from voxaudit.tables import read_table, require_columns

    table = read_table(path, strings=True)
    if is_trace(table.columns):
        table = as_trials(table, path)
    keys, values = (
        _column(table.columns, id, ID_COLUMNS, "id", path),
        _column(table.columns, text, TEXT_COLUMNS, "text", path),
    )
    require_columns(table, [keys, values], path)
    if path.suffix.lower() in (".csv", ".tsv"):
        table = table.with_columns(table[values].fill_null(""))
    return list(zip(table[keys].to_list(), table[values].to_list(), strict=True))


def _column(columns: Sequence[str], chosen: str, usual: Sequence[str], setting: str, path: Path) -> str:
    if chosen:
        return chosen
    by_name = {column.strip().lower(): column for column in reversed(columns)}
    for name in usual:
        if name in by_name:
            return by_name[name]
    raise RecognizerError(
        f"{path}: which column is the {setting}? Say {setting}=COLUMN."
        f" Columns there: {one_line(', '.join(columns), 300)}"
    )


def _stem(id: str) -> str:
    path = id.replace("\\", "/")
    ending = PurePosixPath(path).suffix
    return path[: -len(ending)] if ending.lower() in SUFFIXES else path


def _by_name(texts: Mapping[str, str]) -> dict[str, str | None]:
    """Return the keys of texts by path without ending and by bare name; None where a name is not unique."""
    names: dict[str, str | None] = {}
    for key in texts:
        stem = _stem(key)
        for name in {stem, PurePosixPath(stem).name}:
            names[name] = None if name in names else key
    return names
