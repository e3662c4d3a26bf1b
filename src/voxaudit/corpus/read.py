"""The way in: a path becomes a checked corpus."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from voxaudit.corpus.base import Corpus, CorpusError
from voxaudit.corpus.build import build
from voxaudit.corpus.formats import FORMATS, detect_format
from voxaudit.corpus.hub import address
from voxaudit.corpus.problems import NO_ROWS, quote, refusal
from voxaudit.corpus.rows import Reader
from voxaudit.files import fetched, url_of
from voxaudit.registry import suggest
from voxaudit.tables import ENDINGS

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
    streamed = address(Path(path))
    if streamed is None and (url := url_of(path)) is not None:
        return _examine_url(url, format, columns, name, check_audio)
    path = Path(path)
    if streamed is None:
        _require(path)
    if format is None:
        reader, notes = detect_format(path)
    else:
        reader, notes = FORMATS.load(format), []
    corpus = _examine(reader, path, columns, name, check_audio)
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
        raise CorpusError(f"{url}: elsewhere only manifests are read: name the file ({', '.join(ENDINGS)})")
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


def _examine(
    reader: Reader, path: Path, columns: Mapping[str, str] | None, name: str | None, check_audio: bool
) -> Corpus:
    rows = reader.rows(path)
    # Full paths: a run is resumed from other folders, and workers may have another.
    rows = replace(rows, root=rows.root.absolute())
    return build(
        rows,
        str(path),
        name=name or _name(path),
        format=reader.name,
        given=columns,
        check_audio=check_audio,
    )


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
    if not exists:
        parent = path.absolute().parent
        near = suggest(path.name, [entry.name for entry in parent.iterdir()]) if parent.is_dir() else ""
        raise CorpusError(f"{path}: no such file or folder.{near}")
