"""Audits that hear by themselves: which recordings they hear, and where what they found is kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from polars.exceptions import PolarsError

from voxaudit.answer import Answer, Note, command_line, refuse, with_command
from voxaudit.audits.scores import Scores, is_run
from voxaudit.corpus import Corpus, read_corpus
from voxaudit.corpus.select import choose_utterances, require_attributes
from voxaudit.errors import VoxauditError, one_line
from voxaudit.recognize import AnswersById, Recognizer
from voxaudit.run.folder import Run
from voxaudit.run.runner import RecognizerLike, named_recognizers
from voxaudit.tables import write_json
from voxaudit.wording import counted


def finished(source: Any, name: str, *files: str) -> Path | None:
    """Return the folder in which a finished audit is kept; None where the source is a corpus to hear.

    The source is that folder itself (it then holds one of `files`), or a run, its folder or its scores: then it is the
    folder called `name` in the run's, whether it exists or not.
    """
    if isinstance(source, Scores):
        return (source.folder or Path()) / name
    if isinstance(source, Run):
        return source.folder / name
    if not isinstance(source, str | Path):
        return None
    path = Path(source)
    if any((path / file).is_file() for file in files):
        return path
    return path / name if is_run(path) else None


def as_written(answer: Answer, folder: Path, files: str) -> Answer:
    """Return an answer with the command that reads it again from the folder it was written to, and what is there."""
    beside = folder.name == answer.audit and is_run(folder.absolute().parent)
    command = command_line(answer.audit, ["RUN" if beside else folder.name], {})
    note = Note("written", f"written to {folder}: {files}", {"folder": str(folder)})
    return replace(with_command(answer, command), notes=(*answer.notes, note))


def corpus_to_hear(
    source: Any,
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    skip_bad_rows: bool = False,
    utterances: int | None = None,
    attributes: Sequence[str] = (),
    seed: int = 0,
) -> Corpus:
    """Return the corpus that a source is, or that lies at its path; only so many `utterances` where that is said."""
    if isinstance(source, str | Path):
        source = read_corpus(source, format=format, columns=columns, skip_bad_rows=skip_bad_rows)
    if not isinstance(source, Corpus):
        raise VoxauditError(f"a corpus is heard, or the path of one, not {type(source).__name__}")
    require_attributes(source, attributes, "attributes")
    if utterances is None:
        return source
    return choose_utterances(source, utterances, attributes=attributes, seed=seed)


def listening(
    recognizers: Sequence[RecognizerLike] | Mapping[str, RecognizerLike], what: str
) -> dict[str, Recognizer]:
    """Return the recognizers by name; `what` needs ones that listen, which those that look up transcripts do not."""
    engines = named_recognizers(recognizers)
    for name, recognizer in engines.items():
        if isinstance(recognizer, AnswersById):
            raise VoxauditError(
                f"recognizer '{name}' only looks up transcripts; {what} needs one that listens"
            )
    return engines


def write_found(path: Path, found: Any) -> None:
    """Write what was found (a dataclass) as JSON; `heard`, which tells what hearing it cost now, is not kept."""
    write_json(path, {name: value for name, value in asdict(found).items() if name != "heard"})


@contextmanager
def reading(path: Path, what: str, about: str) -> Iterator[None]:
    """Let damaged content of a finished audit's file, whatever it raises, be a refusal."""
    try:
        yield
    except VoxauditError as error:
        raise refuse("unreadable", str(error), about=about) from error
    except (
        OSError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        RecursionError,
        PolarsError,
    ) as error:
        text = f"{path}: not the findings of {what} ({one_line(repr(error), 120)})"
        raise refuse("unreadable", text, about=about) from error


def left_out(counts: Iterable[tuple[str, int]]) -> list[Note]:
    """Return how many utterances had no part in it, by the reason."""
    return [
        Note("left_out", f"left out: {counted(count, 'utterance')} ({why})", {"reason": why, "count": count})
        for why, count in counts
    ]
