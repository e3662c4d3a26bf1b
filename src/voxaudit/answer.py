"""What an audit answers: findings with their uncertainty, tables, figures, notes and refusals.

Values only: no statistics are computed here and nothing is laid out. An audit decides (estimate, interval, correction,
verdict, sentence) and returns an `Answer`; `render` shows it on a terminal, in a report, as Markdown, JSON or in a
notebook; a gate compares one number of a finding with a limit. All text is as users wrote it: whoever shows it escapes
it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import polars as pl

from voxaudit.errors import VoxauditError, arguments_named

if TYPE_CHECKING:
    from pathlib import Path

Verdict = Literal["shown", "not_shown", "alike", "measured", "refused"]
"""shown: the data carry the claim, with everything asked together allowed for. not_shown: they do not contradict "no
difference" (`excludes` says what they rule out). alike: the difference is within a margin that was asked for. measured:
an estimate without a claim, such as an error rate. refused: the data lack what an answer needs; `code` says what."""

_CLAIMS: tuple[Verdict, ...] = ("shown", "alike", "not_shown", "measured", "refused")
"""Verdicts, those first that a reader looks for."""
MOST_SAID = 3
"""Sentences that conclude an answer; its tables have everything."""

Kind = Literal["text", "count", "percent", "points", "ratio", "number", "p"]
"""How the values of a column are written. percent, points: fractions, shown times 100."""


@dataclass(frozen=True)
class Finding:
    """One answer: an estimate, its uncertainty and a verdict, with a sentence that can be quoted alone.

    `estimate`, `low` and `high` are in `unit`: `fraction` (a rate, or a difference of rates), `ratio`, `count`, or a
    unit in words (`dB`). `p` is the p-value of this question alone, `p_adjusted` that within `family`, the set of
    questions that were asked together; `verdict` follows from `p_adjusted`. `id` is stable over runs that ask the same:
    make it with `finding_id`. `command` is the line that prints the finding again; the registry of audits fills it in.
    """

    id: str
    measure: str
    verdict: Verdict
    sentence: str
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    level: float = 0.95
    unit: str = "fraction"
    p: float | None = None
    p_adjusted: float | None = None
    family: str | None = None
    """What was corrected for together: `groups`, `scenarios` ...; None where nothing was corrected."""
    recognizer: str | None = None
    corpus: str | None = None
    language: str | None = None
    scenario: str | None = None
    category: str | None = None
    """Where it is about a category of scenarios."""
    attribute: str | None = None
    group: str | None = None
    against: str | None = None
    """What `group` (or `recognizer`) is compared with."""
    speakers: int | None = None
    speakers_against: int | None = None
    utterances: int | None = None
    words: int | None = None
    excludes: float | None = None
    """Where a difference is not shown: the largest one that the data do not rule out, in `unit`."""
    code: str | None = None
    """Where the verdict is `refused`: why, one of `REMEDIES`."""
    headline: bool = False
    """True where it belongs to the first screen."""
    command: str = ""

    def __post_init__(self) -> None:
        for name in ("estimate", "low", "high", "p", "p_adjusted", "excludes"):
            object.__setattr__(self, name, number_or_none(getattr(self, name)))

    @property
    def audit(self) -> str:
        """The audit that found it: the first part of `id`."""
        return self.id.partition("/")[0]


def finding_id(*parts: object) -> str:
    """Return `audit/recognizer/scenario/attribute/group/measure` of the parts that are there, slashes escaped.

    >>> finding_id("disparity", "moonshine", None, "accent", "A/B", "wer_ratio")
    'disparity/moonshine/accent/A%2FB/wer_ratio'
    """
    return "/".join(str(part).replace("%", "%25").replace("/", "%2F") for part in parts if part is not None)


def of_row(row: Mapping[str, Any], names: str = "low high speakers utterances words") -> dict[str, Any]:
    """Return the fields of a finding that a row of a table has under the same names."""
    return {name: row[name] for name in names.split()}


REMEDIES: dict[str, str] = {
    "not_asked": "",
    "no_attribute": "name the attribute whose groups are compared, such as gender or accent",
    "no_difficulty": "measure the quality of the run's audio (the audit `quality`), then build the report again",
    "no_duration": "run it again: nothing is heard twice, and utterances get their length",
    "no_references": "give the corpus reference texts and run it again: nothing is heard twice",
    "no_speakers": "name the speakers in the corpus, five or more, or let disparity tell them apart by their voices",
    "one_speaker": "record more speakers of these groups",
    "speakers_in_several_groups": "compare an attribute that is the same in all recordings of a speaker",
    "too_few_speakers": "record more speakers of these groups",
    "too_few_errors": "more speech of these groups, or harder speech",
    "no_clean_speech": "let `clean` be among the scenarios and run the audit again",
    "not_heard_alike": "let all recognizers hear the same scenarios and run the audit again",
    "one_group": "add speech of a second group, or compare another attribute",
    "too_many_groups": "give the corpus a coarser column, such as bands of age",
    "too_few_scenarios": "measure three scenarios or more together, or use the published difficulties",
    "too_few_recognizers": "run with two recognizers or more",
    "not_separable": "hold fewer attributes fixed, or collect speech in which they vary independently",
    "texts_differ": "let speakers of all groups read the same texts, or some of them",
    "too_few_utterances": "add more utterances of the same speakers",
    "nothing_disturbed": "run with disturbed scenarios, such as the suite `quick`",
    "not_made": "fix what it names and make the audit again: nothing is heard twice",
    "not_judged": "listen to the suspicious cases and label them",
    "unreadable": "make the audit again; its folder is damaged or was written by another version",
    "stopped_early": "finish the run for claims of every kind, or read what the sequential audit decided",
    "no_harm": "turn the range round, or widen it",
    "unlike_clean": "give reference texts, or use recognizers that work alike for all groups on clean speech",
    "not_measured": "",
    "undefined": "",
    "failed": "look at the recognizer's failures, fix it and run again: finished trials are kept",
}
"""Why an audit refuses, by code, and what would enable the answer. Remedies belong to codes, not to sentences."""


@dataclass(frozen=True)
class Refusal:
    """A question without an answer: `code` (one of `REMEDIES`), what it is about, the facts, and both in words."""

    code: str
    about: str
    text: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    remedy: str = ""
    see: tuple[str, ...] = ()
    """Arguments that would change it."""

    def __post_init__(self) -> None:
        if self.code not in REMEDIES and not self.remedy:
            raise ValueError(f"'{self.code}' is not a known code of a refusal; give it a remedy")
        if not self.remedy:
            object.__setattr__(self, "remedy", REMEDIES[self.code])


class RefusedError(VoxauditError):
    """An audit that cannot answer at all. A report shows the refusal in the audit's place; a command exits with 2."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(
            f"{refusal.about}: {refusal.text}" if refusal.about else refusal.text, see=refusal.see
        )
        self.refusal = refusal

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.refusal,)


def refuse(
    code: str, text: str, *, about: str = "", remedy: str = "", see: tuple[str, ...] = (), **facts: Any
) -> RefusedError:
    """Return the error to raise where an audit cannot answer: `raise refuse("one_group", "...", about="gender")`."""
    return RefusedError(Refusal(code, about, text, facts, remedy, see))


@dataclass(frozen=True)
class Note:
    """Something to know beside the findings: a choice that was made, a caution. `code` names its kind."""

    code: str
    text: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    see: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text + arguments_named(self.see)


@dataclass(frozen=True)
class Column:
    """A column that is shown: its name in the frame, its heading for people, and how values are written.

    `low` and `high` name the columns with the limits of its interval; both are shown together: `12.3 % (10.1 to 14.9)`.
    """

    name: str
    title: str = ""
    kind: Kind = "text"
    low: str = ""
    high: str = ""

    @property
    def heading(self) -> str:
        """The heading; the name with spaces where none was given."""
        return self.title or self.name.replace("_", " ")


@dataclass(frozen=True)
class Cell:
    """A value with its interval, for a figure."""

    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Table:
    """Numbers. `frame` holds the values under the shared names of columns, `columns` says which are shown and how.

    What the frame has beyond them is in JSON and data frames only. `id` is unique in an answer.
    """

    id: str
    title: str
    frame: pl.DataFrame
    columns: tuple[Column, ...]
    note: str = ""
    folded: bool = False
    """True for a table that few need: a page folds it away, a terminal leaves it to the JSON."""

    def __post_init__(self) -> None:
        known = set(self.frame.columns)
        for column in self.columns:
            missing = {name for name in (column.name, column.low, column.high) if name} - known
            if missing:
                raise ValueError(f"table '{self.id}' has no column {', '.join(sorted(missing))}")

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """What is shown: a value per column, or (value, low, high) where a column has limits."""
        names = [
            tuple(name for name in (column.name, column.low, column.high) if name) for column in self.columns
        ]
        series = [[self.frame[name].to_list() for name in group] for group in names]
        return [
            tuple(values[0][row] if len(values) == 1 else tuple(v[row] for v in values) for values in series)
            for row in range(self.frame.height)
        ]


class Tables(Mapping[str, pl.DataFrame]):
    """The tables of an answer: data frames by id; `shown` are the tables with their headings, in order."""

    def __init__(self, shown: Iterable[Table] = ()) -> None:
        self.shown = tuple(shown)
        self._frames = {table.id: table.frame for table in self.shown}
        if len(self._frames) < len(self.shown):
            raise ValueError(f"tables share an id: {', '.join(table.id for table in self.shown)}")

    def __getitem__(self, id_: str) -> pl.DataFrame:
        try:
            return self._frames[id_]
        except KeyError:
            raise KeyError(f"no table '{id_}'; there are: {', '.join(self._frames) or 'none'}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._frames)

    def __len__(self) -> int:
        return len(self._frames)

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"Tables({', '.join(self._frames)})"


@dataclass(frozen=True)
class Series:
    """A line of a curve, or bars of one color: a cell for each position on the x axis, None where there is none."""

    label: str
    points: tuple[Cell | None, ...]


@dataclass(frozen=True)
class HeatMap:
    """Rows by columns, in several measures to switch between (`wer`, `werd`, `nwerd`); rows stand in groups.

    `cells[measure][row][column]` is None where nothing was heard. Values are fractions.
    """

    rows: tuple[str, ...]
    row_groups: tuple[str, ...]
    """The category of each row; rows of one category are neighbors."""
    columns: tuple[str, ...]
    measures: Mapping[str, str]
    """Name of each measure and what it is called on the switch."""
    cells: Mapping[str, tuple[tuple[Cell | None, ...], ...]]
    x_title: str = "severity"


@dataclass(frozen=True)
class Curves:
    """Small panels that share their axes: x are ordered settings (severities), y a fraction."""

    panels: tuple[tuple[str, tuple[str, ...], tuple[Series, ...]], ...]
    """(title, x labels, series) of each panel."""
    y_title: str
    x_title: str = "severity"


@dataclass(frozen=True)
class ForestRow:
    """An estimate with its interval; `shown` where the verdict is that it differs."""

    label: str
    cell: Cell
    shown: bool
    note: str = ""


@dataclass(frozen=True)
class Forest:
    """Estimates with intervals against a line of no difference; a log axis for ratios."""

    rows: tuple[ForestRow, ...]
    x_title: str
    no_difference: float = 1.0
    log: bool = True


@dataclass(frozen=True)
class Bars:
    """Values by label in one or several series, with intervals where there are."""

    labels: tuple[str, ...]
    series: tuple[Series, ...]
    y_title: str
    kind: Kind = "percent"


@dataclass(frozen=True)
class Points:
    """Values scattered over two axes; `groups` gives each point a color and a name in the legend."""

    x: tuple[float, ...]
    y: tuple[float, ...]
    groups: tuple[str, ...]
    x_title: str
    y_title: str
    line: tuple[tuple[float, float], ...] = ()
    """A reference line through these points, such as the diagonal of a QQ plot."""
    names: tuple[str, ...] = ()
    """What each point is called."""
    lines: tuple[tuple[str, tuple[tuple[float, float], ...]], ...] = ()
    """Lines in the color of a group: (group, points)."""
    log: bool = False
    """True where x is drawn by its logarithm; x is positive then."""


Drawing = HeatMap | Curves | Forest | Bars | Points


@dataclass(frozen=True)
class Figure:
    """A picture of numbers that a table holds: `table` is the id of a table of the same answer.

    `alt` says in one sentence what it shows, for those who do not see it.
    """

    id: str
    title: str
    alt: str
    drawing: Drawing
    table: str


@dataclass(frozen=True, repr=False, eq=False)
class Answer:
    """What an audit says about one question. `question` holds what was asked, by the names of its arguments.

    `lead` says in a few sentences how to read it, `detail` is the audit's own result (a fit, cells of a grid) for those
    who want more. `print(answer)` is what the terminal shows; in a notebook it displays as the report does.
    """

    audit: str
    title: str
    question: Mapping[str, Any] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    tables: Tables = field(default_factory=Tables)
    figures: tuple[Figure, ...] = ()
    notes: tuple[Note, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    lead: str = ""
    detail: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.tables, Tables):
            object.__setattr__(self, "tables", Tables(self.tables))
        for figure in self.figures:
            if figure.table not in self.tables:
                raise ValueError(f"figure '{figure.id}' names a table that is not there: '{figure.table}'")
        ids = [finding.id for finding in self.findings]
        if len(set(ids)) < len(ids):
            twice = next(id_ for id_ in ids if ids.count(id_) > 1)
            raise ValueError(f"two findings of {self.audit} share the id '{twice}'")

    def finding(self, id_: str) -> Finding:
        """Return the finding with an id; an unknown one raises `KeyError`."""
        for finding in self.findings:
            if finding.id == id_:
                return finding
        raise KeyError(f"no finding '{id_}'; there are: {', '.join(finding.id for finding in self.findings)}")

    @property
    def conclusion(self) -> tuple[Finding, ...]:
        """What a reader quotes: at most `MOST_SAID` findings in the audit's order, whatever their number.

        Headlines go before others and claims before measurements; of each kind of question one is said before a second
        is. What was only measured and is no headline is said where nothing else is.
        """
        told = [one for one in self.findings if one.headline or one.verdict != "measured"] or self.findings
        ranked = sorted(told, key=lambda one: (not one.headline, _CLAIMS.index(one.verdict)))
        asked: Counter[tuple[bool, str]] = Counter()
        turns: dict[str, tuple[bool, int]] = {}
        for one in ranked:
            turns[one.id] = (not one.headline, asked[one.headline, one.measure])
            asked[one.headline, one.measure] += 1
        said = set(sorted(turns, key=turns.__getitem__)[:MOST_SAID])
        return tuple(one for one in self.findings if one.id in said)

    def figure(self, id_: str) -> Figure:
        """Return the figure with an id; an unknown one raises `KeyError`."""
        for figure in self.figures:
            if figure.id == id_:
                return figure
        raise KeyError(f"no figure '{id_}'; there are: {', '.join(one.id for one in self.figures) or 'none'}")

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: the document that a command prints as JSON. NaN and infinities are None."""
        from voxaudit.render.json import answer_dict

        return answer_dict(self)

    def plot(self, id_: str | None = None, path: str | Path | None = None) -> Any:
        """Return a figure (the first, or the one called `id_`) as SVG that a notebook shows; write it to `path`.

        The ending of `path` decides the format: `.svg`, or `.png` (extra `plot`).
        """
        from voxaudit.render.figures import plot

        return plot(self, id_, path)

    def __str__(self) -> str:
        from voxaudit.render.terminal import answer_text

        return answer_text(self)

    def __repr__(self) -> str:
        return f"<Answer of {self.audit}: {len(self.findings)} findings; print it to read it>"

    def _repr_html_(self) -> str:
        from voxaudit.render.html import answer_html

        return answer_html(self)


_USUAL: dict[str, tuple[str, Kind]] = {
    **dict.fromkeys(("utterances", "speakers", "words", "errors", "trials", "count"), ("", "count")),
    **dict.fromkeys(
        ("speakers_against", "left_out", "substitutions", "deletions", "insertions"), ("", "count")
    ),
    **{name: (name.upper(), "percent") for name in ("wer", "cer", "mer", "wil")},
    **{name: (name.upper(), "points") for name in ("werd", "nwerd")},
    "p": ("p", "p"),
    "p_adjusted": ("p, adjusted", "p"),
    "difference": ("", "points"),
    **dict.fromkeys(("ratio", "wer_ratio"), ("", "ratio")),
    **dict.fromkeys(("estimate", "se", "minutes", "seconds", "difficulty"), ("", "number")),
}
"""The heading and kind of columns whose name says both; every other one is text under its own name."""


def usual_column(spec: str) -> Column:
    """Return a column by its name, with the limits in brackets: what it is called and how it is written is agreed on.

    Another heading, and how it is written where that is not agreed on, stand behind a colon.

    >>> usual_column("wer[low,high]")
    Column(name='wer', title='WER', kind='percent', low='low', high='high')
    >>> usual_column("change[low,high]: change, since then, points")
    Column(name='change', title='change, since then', kind='points', low='low', high='high')
    """
    named, _, said = spec.strip().partition(": ")
    name, _, limits = named.rstrip("]").partition("[")
    low, _, high = limits.partition(",")
    title, kind = _USUAL.get(name, ("", "text"))
    if said:
        first, _, last = said.rpartition(", ")
        title, kind = (first, last) if first and last in get_args(Kind) else (said, kind)  # type: ignore[assignment]
    return Column(name, title, kind, low, high)


def tabulate(
    id_: str,
    title: str,
    rows: pl.DataFrame | Sequence[Mapping[str, Any]],
    columns: str | Sequence[Any],
    *,
    note: str = "",
    folded: bool = False,
) -> Table:
    """Return a table of a frame or of records.

    `columns` are those that are shown: names (see `usual_column`) in one text, between blanks or semicolons, or a list
    of names, `Column`s and tuples of their fields. Records keep everything they hold: what no column shows is in JSON
    and data frames.

    >>> table = tabulate("t", "Rates", [{"group": "a", "wer": 0.1, "low": 0.05, "high": 0.2}], "group wer[low,high]")
    >>> table.rows
    [('a', (0.1, 0.05, 0.2))]
    """
    if isinstance(columns, str):
        columns = columns.split(";" if ";" in columns else None)
    shown = tuple(
        usual_column(one) if isinstance(one, str) else one if isinstance(one, Column) else Column(*one)
        for one in columns
    )
    if isinstance(rows, pl.DataFrame):
        frame = rows
    elif rows:
        frame = pl.DataFrame([dict(row) for row in rows], infer_schema_length=None)
    else:
        names = dict.fromkeys(n for column in shown for n in (column.name, column.low, column.high) if n)
        frame = pl.DataFrame({name: [] for name in names})
    return Table(id_, title, frame, shown, note, folded)


def number_or_none(value: Any) -> float | None:
    """Return a finite number, or None: JSON has neither NaN nor infinity, and a reader has no use for them."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def command_line(command: str, sources: Sequence[str], arguments: Mapping[str, Any]) -> str:
    """Return the line that asks a question again. A flag is the argument's name, so that nothing has to spell it.

    True is the flag alone, False the flag with `no-` before its name, a list and the pairs of a mapping are joined by
    commas, None is left out.

    >>> command_line("disparity", ["RUN"], {"attribute": "accent", "random": False, "controls": ("age", "sex")})
    'voxaudit disparity RUN --attribute accent --no-random --controls age,sex'
    """
    import shlex

    words = ["voxaudit", command, *sources]
    for name, value in arguments.items():
        dashed = name.replace("_", "-")
        if value is None:
            continue
        if isinstance(value, bool):
            words.append(f"--{dashed}" if value else f"--no-{dashed}")
        elif name == "where":
            words += [part for clause in value for part in (f"--{dashed}", shlex.quote(str(clause)))]
        else:
            text = _written(value)
            # A value that starts with a dash would be taken for a flag.
            words += (
                [f"--{dashed}={shlex.quote(text)}"]
                if text.startswith("-")
                else [f"--{dashed}", shlex.quote(text)]
            )
    return " ".join(words)


def _written(value: Any) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{key}={_written(item)}" for key, item in value.items())
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def with_command(answer: Answer, command: str) -> Answer:
    """Return the answer with every finding's `command` filled in; findings that have one already keep it."""
    findings = tuple(
        finding if finding.command else replace(finding, command=command) for finding in answer.findings
    )
    return replace(answer, findings=findings)


FINDING_FIELDS = tuple(one.name for one in fields(Finding))
"""The keys of a finding in JSON, in order."""
