"""What a report says, before anybody decides how it looks: sections of words, figures, tables and findings.

HTML, Markdown and JSON are views of one `Document`. Everything in it is plain data: text is as users wrote it and is
escaped by the view, never here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Verdict = Literal["shown", "not_shown", "undecided", "refused", "measured"]
"""shown: the data carry the claim. not_shown: they do not contradict "no difference". undecided: too few speakers to
tell. refused: the audit lacks what it needs. measured: an estimate without a claim, such as an error rate."""

Kind = Literal["text", "count", "percent", "points", "ratio", "number", "p", "interval"]
"""How a column's values are written. percent, points: fractions, shown times 100. interval: (low, high) as
fractions."""


@dataclass(frozen=True)
class Finding:
    """One answer: an estimate, its uncertainty, and a verdict or a refusal, with a sentence a manager understands.

    `estimate`, `low` and `high` are in `unit`: `fraction` (a rate or difference of rates), `ratio`, or a unit in words.
    `id` is stable over runs of the same audit: `audit/recognizer/scenario/attribute/group/measure` without empty parts.
    """

    id: str
    audit: str
    verdict: Verdict
    sentence: str
    measure: str
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    unit: str = "fraction"
    p: float | None = None
    """Adjusted for the family of tests it belongs to."""
    recognizer: str | None = None
    scenario: str | None = None
    attribute: str | None = None
    group: str | None = None
    speakers: int | None = None
    headline: bool = False
    """True where it belongs to the summary at the top."""


@dataclass(frozen=True)
class Column:
    """A column of a table: its name in files, its heading for people, and how its values are written."""

    name: str
    title: str
    kind: Kind = "text"


@dataclass(frozen=True)
class Table:
    """Numbers. `rows` hold one value a column, None where there is none. `id` is unique in the document."""

    id: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]
    note: str = ""


@dataclass(frozen=True)
class Cell:
    """A value with its interval."""

    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class HeatMap:
    """Rows by columns, in several measures to switch between (`wer`, `werd`, `nwerd`); rows stand in groups.

    `cells[measure][row][column]` is None where nothing was heard. Values are fractions.
    """

    rows: tuple[str, ...]
    row_groups: tuple[str, ...]
    """The category of each row; rows of one category are neighbours."""
    columns: tuple[str, ...]
    measures: Mapping[str, str]
    """Name of each measure and what it is called on the switch."""
    cells: Mapping[str, tuple[tuple[Cell | None, ...], ...]]
    x_title: str = "severity"
    """What the columns are."""


@dataclass(frozen=True)
class Series:
    """A line of a curve: one cell for each place on the x axis, None where there is none."""

    label: str
    points: tuple[Cell | None, ...]


@dataclass(frozen=True)
class Curves:
    """Small panels that share their axes: x are ordered settings (severities), y a fraction."""

    panels: tuple[tuple[str, tuple[str, ...], tuple[Series, ...]], ...]
    """(title, x labels, series) of each panel."""
    y_title: str
    x_title: str = "severity"


@dataclass(frozen=True)
class ForestRow:
    """A ratio with its interval; `shown` where the verdict is that it differs."""

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
class Figure:
    """A picture and its numbers. `alt` says in one sentence what it shows, for those who do not see it."""

    id: str
    title: str
    alt: str
    drawing: HeatMap | Curves | Forest | Bars
    table: Table


@dataclass(frozen=True)
class Refusal:
    """Something that was not answered: why, and what would enable it."""

    about: str
    reason: str
    remedy: str = ""


@dataclass(frozen=True)
class Case:
    """A trial to listen to: what was said, what was heard clean and disturbed.

    `audio` and `original` are encoded files (`media_type`) or None beyond the size budget. `diff` aligns reference and
    `heard`: (operation, reference word, heard word) with operation `=`, `substitution`, `deletion` or `insertion`.
    """

    utterance: str
    recognizer: str
    scenario: str
    speaker: str | None
    attributes: Mapping[str, str]
    reference: str | None
    clean: str | None
    heard: str | None
    diff: tuple[tuple[str, str, str], ...]
    wer: float | None
    original: bytes | None = None
    audio: bytes | None = None
    media_type: str = "audio/ogg"


@dataclass(frozen=True)
class Section:
    """A chapter: words first, then findings, figures, further tables, cases, and what was refused."""

    id: str
    title: str
    lead: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    cases: tuple[Case, ...] = ()
    notes: tuple[str, ...] = ()
    refusals: tuple[Refusal, ...] = ()


@dataclass(frozen=True)
class GateResult:
    """A gate of `[gates]`: what was asked, what was found, and whether it holds. `sentence` names what failed."""

    name: str
    passed: bool
    sentence: str
    limit: float | None = None
    found: float | None = None
    skipped: bool = False
    """True where the audit could not answer; a gate that cannot be judged does not pass."""


@dataclass(frozen=True)
class Document:
    """A whole report. `facts` are what is needed to repeat it: (what, value) pairs; `config` is `run.json`."""

    title: str
    subtitle: str
    summary: tuple[str, ...]
    """What breaks, for whom, how sure, what could not be concluded: one sentence each."""
    sections: tuple[Section, ...]
    gates: tuple[GateResult, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    config: Mapping[str, Any] = field(default_factory=dict)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, in order."""
        return tuple(finding for section in self.sections for finding in section.findings)

    @property
    def passed(self) -> bool:
        """True where no gate failed."""
        return all(gate.passed for gate in self.gates)
