"""What an audit is to the rest of the program: a function that answers, the options it takes, a chapter of the report.

An audit is registered once, here or by the entry point `voxaudit.audits` of another package; it then is a command, a
chapter and a function. `docs/extending.md` shows one.
"""

from __future__ import annotations

import functools
import inspect
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

from voxaudit.audits import AUDITS as AUDITS
from voxaudit.audits import SUMMARIES as SUMMARIES
from voxaudit.errors import VoxauditError
from voxaudit.options import Option as Option
from voxaudit.options import RunOptions, options_of, with_keywords

if TYPE_CHECKING:
    from voxaudit.answer import Answer
    from voxaudit.audits.scores import Scores

P = ParamSpec("P")

OPTIONS: dict[str, Option] = {
    "recognizer": Option("only these recognizers", "names", "NAME,..."),
    "scenario": Option("only these scenarios", "specs", "ID,..."),
    "corpus": Option("only these corpora", "names", "NAME,..."),
    "language": Option("only these languages", "names", "NAME,..."),
    "where": Option(
        "only rows that meet a clause (such as 'age>=18'; repeatable: all must hold)", "clauses", "CLAUSE"
    ),
    "columns": Option(
        "which column is which, for example text=sentence,speaker=client_id", "columns", "NAME=COLUMN,..."
    ),
    "attribute": Option("the sensitive attribute (its gap is measured)", metavar="COLUMN"),
    "attributes": Option("the sensitive attributes (their gaps are measured)", "names", "COLUMN,..."),
    "against": Option("the group that all others are compared with", metavar="GROUP"),
    "controls": Option(
        "attributes held fixed: numbers as they are, text as categories; C(COLUMN) makes numbers categories",
        "names",
        "COLUMN,...",
    ),
    "by": Option("answer for every combination of these columns", "names", "COLUMN,..."),
    "exclude": Option("leave these scenarios out, or whole perturbations: scale:0.6,hp", "specs", "ID,..."),
    "fdr": Option(
        "false-discovery rate: the accepted share of false claims among those made",
        "number",
        "RATE",
        at_least=0.0001,
        at_most=0.5,
    ),
    "alpha": Option("the accepted chance of a false claim", "number", "A"),
    "margin": Option("differences up to this share of the words do not count", "number", "X"),
    "budget": Option("how much is tried", "count", "N", at_least=1),
    "utterances": Option(
        "only this many utterances, of as many speakers and groups as possible", "count", "N", at_least=1
    ),
    "per_speaker": Option("utterances per speaker", "count", "N", at_least=1),
    "seed": Option("seed of everything random", "count", "N", at_least=0),
    "resamples": Option("random draws", "count", "N", at_least=0),
    "confidence": Option("level of the intervals", "number", "LEVEL", at_least=0.5, at_most=0.9999),
    "recognizers": Option(
        "the recognizers that listen (each may have settings: vosk:model=PATH)", "specs", "NAME,..."
    ),
    "workers": Option(
        "processes that work at the same time (default: one per core)", "count", "N", at_least=1
    ),
    "out": Option("the folder to write to (give the same one again to resume)", "file", "FOLDER"),
    "format": Option(
        "the format of the corpus (see `voxaudit list corpora`; default: detected)", metavar="NAME"
    ),
    "skip_bad_rows": Option("leave bad rows of the corpus out instead of stopping at them", "flag"),
    "scenarios": Option("scenarios, and suites of them", "specs", "ID,..."),
    "normalizer": Option("how texts are normalized (`voxaudit list normalizers`)", metavar="NAME"),
    "vad": Option("listen where people speak, by a voice activity detector (a run only)", "flag"),
    "difficulty": Option("difficulties of scenarios: published, measured, none, or a file", metavar="CHOICE"),
}
"""The options that several audits share. An audit's own are declared beside it, under names that are not here."""

FILTERS = tuple(
    inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=() if name == "where" else None, annotation=kind
    )
    for name, kind in {
        **dict.fromkeys(("recognizer", "scenario", "corpus", "language"), "Names"),
        "where": "Sequence[str]",
        "columns": "Mapping[str, str] | None",
    }.items()
)
"""The parameters that choose rows (`scores.Filters`): every audit of scores takes them and passes them on."""


@dataclass(frozen=True)
class Audit:
    """An audit. `function` is `module:name` of what answers, imported when it is first asked; that of an audit of ours
    has its name, in its module `audit`.

    `title` heads its chapter and `summary` is one line for lists and help. `options` are its own, beside those of
    `OPTIONS`; a keyword argument of the function that is in neither is for Python only. `questions` returns what a
    report asks of a run: keyword arguments, one mapping per answer; None where a report does not ask it.
    """

    name: str
    title: str
    summary: str
    example: tuple[str, Mapping[str, Any]]
    """What to try: the source as one would write it, and arguments by name."""
    function: str = ""
    options: Mapping[str, Option] = field(default_factory=dict)
    questions: Callable[[Scores, Sequence[str]], Iterable[Mapping[str, Any]]] | None = None
    source: str = "RUN"
    """What its source is called on the command line; in brackets where it can be left out."""
    several: bool = False
    """True where several sources can be given."""
    source_help: str = "a run's folder, or a table of scores (csv, tsv, jsonl, parquet)"
    gate: Callable[[Answer], str | None] | None = None
    """Where its command is a gate: returns the sentence that says why an answer fails, None where it passes."""
    page: str = ""
    """`module:name` of what makes a report of an answer, where the command can write one to a folder."""

    @functools.cached_property
    def ask(self) -> Callable[..., Answer]:
        """The function that answers."""
        here = f"voxaudit.audits.{self.name}.audit:{self.name}"
        module, _, name = (self.function or here).partition(":")
        answers: Callable[..., Answer] = getattr(import_module(module), name)
        return answers

    @property
    def arguments(self) -> dict[str, tuple[Option, inspect.Parameter]]:
        """The arguments that the command line offers, in the order of the function's signature."""
        known = {**OPTIONS, **self.options}
        parameters = list(inspect.signature(self.ask).parameters.values())
        return {
            one.name: (known[one.name], one)
            for one in parameters[self.positional :]
            if one.name in known and one.name not in self.run_options
        }

    @property
    def run_options(self) -> tuple[str, ...]:
        """The options of a run (`RunOptions`) that it takes by name: some, where it hears by itself."""
        return _run_options(inspect.signature(self.ask))

    @property
    def positional(self) -> int:
        """How many of the function's arguments are sources."""
        return len(self.source.split())


def where_kept(place: str, *files: str) -> Callable[[Scores, Sequence[str]], Iterable[Mapping[str, Any]]]:
    """Return the questions about an audit that hears by itself: what it found, where it left one of `files`.

    `place` is its folder inside the run's, empty for the run's own.
    """

    def questions(scores: Scores, _: Sequence[str]) -> list[Mapping[str, Any]]:
        folder = None if scores.folder is None else scores.folder / place
        return [{}] if folder is not None and any((folder / file).is_file() for file in files) else []

    return questions


def find_audit(name: str) -> Audit:
    """Return the audit of a name; an unknown one raises one line.

    >>> find_audit("disparity").source
    'RUN'
    """
    audit = AUDITS.load(name)
    if not isinstance(audit, Audit):
        raise VoxauditError(f"audit '{name}' of an installed package is no Audit but {type(audit).__name__}")
    return audit


def asks(
    name: str, *, sources: int = 1, names: int = 0
) -> Callable[[Callable[P, Answer]], Callable[P, Answer]]:
    """Make a function the one that answers an audit's question.

    The answer's `question` then holds every argument, and each finding's `command` the line that prints it again: the
    name of the audit, RUN or TABLE, and the arguments that are not the default. What the function writes into
    `question` itself (a reference group that it chose) wins. The `names` arguments after the sources stand in the line
    without flags.
    """

    def decorate(function: Callable[P, Answer]) -> Callable[P, Answer]:
        signature = inspect.signature(function)
        filtered = "filters" in signature.parameters
        if filtered:  # they are then shown, checked, and flags of the command
            signature = with_keywords(signature, FILTERS)
        # How fast and how patiently it is heard changes no answer.
        unasked = {*_run_options(signature), "options"} - {"seed"}

        @functools.wraps(function)
        def asked(*args: P.args, **kwargs: P.kwargs) -> Answer:
            from voxaudit.answer import command_line, with_command

            known = {key: value for key, value in kwargs.items() if key in signature.parameters}
            bound = signature.bind(*args, **(kwargs if filtered else known))
            answer = function(*args, **kwargs)
            bound.apply_defaults()
            given = list(bound.arguments.items())
            arguments = {key: value for key, value in given[sources:] if _plain(value) and key not in unasked}
            unflagged = [key for key, _ in given[sources : sources + names]]
            unusual = {
                key: value
                for key, value in arguments.items()
                if not _same(value, signature.parameters[key].default) and key not in unflagged
            }
            # Two runs would both be RUN: several sources go by the names of their arguments.
            labels = [
                _label(value) if sources == 1 else key.upper()
                for key, value in given[:sources]
                if value is not None
            ]
            labels += [
                shlex.quote(str(arguments[key])) for key in unflagged if arguments.get(key) is not None
            ]
            line = command_line(name, labels, unusual)
            question = {key: list(v) if isinstance(v, tuple) else v for key, v in arguments.items()}
            return with_command(replace(answer, question={**question, **answer.question}), line)

        asked.__signature__ = signature  # type: ignore[attr-defined]
        return asked

    return decorate


def _run_options(signature: inspect.Signature) -> tuple[str, ...]:
    known = options_of(RunOptions) if "options" in signature.parameters else {}
    return tuple(name for name in signature.parameters if name in known)


def _plain(value: Any) -> bool:
    """Say whether a value can be written on a command line."""
    if isinstance(value, list | tuple):
        return all(_plain(one) for one in value)
    if isinstance(value, Mapping):
        return all(_plain(one) for one in value.values())
    return value is None or isinstance(value, str | int | float | bool)


def _same(value: Any, default: Any) -> bool:
    if isinstance(value, list | tuple) and isinstance(default, list | tuple):
        return list(value) == list(default)
    return type(value) is type(default) and bool(value == default)


def _label(source: Any) -> str:
    """Return how a source is called in a command: a report must not tell where files of its author are."""
    from voxaudit.audits.scores import Scores, is_run

    if isinstance(source, list | tuple):
        return " ".join(_label(one) for one in source)
    if is_run(source) or (isinstance(source, Scores) and source.run is not None):
        return "RUN"
    return Path(source).name if isinstance(source, str | Path) else "TABLE"
