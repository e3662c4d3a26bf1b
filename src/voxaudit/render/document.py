"""What a report consists of: chapters of answers, cases to listen to, gates, and what is needed to repeat it.

HTML, Markdown, JSON and JUnit are views of one `Report`. Everything in it is plain data: text is as users wrote it and
is escaped by the view, never here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from voxaudit.answer import Answer, Figure, Finding, Note, Refusal, Table, Verdict

Said = TypeVar("Said", Note, Refusal)

VERDICT_WORDS: dict[Verdict, str] = {
    "shown": "shown",
    "not_shown": "not shown",
    "alike": "alike",
    "measured": "measured",
    "refused": "no answer",
}
"""What verdicts are called where people read them."""


@dataclass(frozen=True)
class Case:
    """A trial to listen to: what was said, what was heard clean and disturbed.

    `audio` and `original` are encoded files (`media_type`) or None beyond the size budget. `diff` aligns reference and
    `heard`: (operation, reference word, heard word) with operation `=`, `substitution`, `deletion` or `insertion`.
    Of stuttered speech, `surface` is what can be heard, `marks` where something was put in (shares of the recording,
    from and to) and what that is.
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
    surface: str | None = None
    marks: tuple[tuple[float, float, str], ...] = ()

    @property
    def events(self) -> list[str]:
        """What was put in, mark by mark."""
        return [what for _, _, what in self.marks]


@dataclass(frozen=True)
class GateResult:
    """A gate of `[gates]`: what was asked, what was found, and whether it holds.

    `sentence` says what was found, or why nothing could be. What cannot be judged neither passes nor fails, unless
    gates are strict: then it fails.
    """

    name: str
    passed: bool | None
    sentence: str
    limit: float | None = None
    estimate: float | None = None
    """The number that was compared with the limit."""
    finding: str | None = None
    """The id of the finding that it is of."""
    judged: bool = True
    """False where no audit could answer."""

    @property
    def outcome(self) -> Literal["pass", "FAIL", "not judged"]:
        """What it is called wherever people read it."""
        return "not judged" if self.passed is None else "pass" if self.passed else "FAIL"


@dataclass(frozen=True)
class Chapter:
    """What audits answer to one kind of question: words first, then what the answers hold, then cases.

    `tables`, `notes` and `refusals` are those that belong to no answer, such as the refusal of a whole audit.
    """

    id: str
    title: str
    answers: tuple[Answer, ...] = ()
    lead: tuple[str, ...] = ()
    cases: tuple[Case, ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[Note, ...] = ()
    refusals: tuple[Refusal, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, in order."""
        return tuple(finding for answer in self.answers for finding in answer.findings)

    @property
    def all_leads(self) -> tuple[str, ...]:
        """The chapter's own words, then those of its answers, each once."""
        return tuple(dict.fromkeys((*self.lead, *(answer.lead for answer in self.answers if answer.lead))))

    @property
    def figures(self) -> tuple[tuple[Figure, Table], ...]:
        """All figures, in order, each with the table that holds its numbers."""
        return tuple(pair for answer in self.answers for pair in figures_of(answer))

    @property
    def all_tables(self) -> tuple[Table, ...]:
        """All tables, those of figures too, in order."""
        return (*(table for answer in self.answers for table in answer.tables.shown), *self.tables)

    @property
    def all_notes(self) -> tuple[Note, ...]:
        """All notes, in order, each once."""
        return _unique((*(note for answer in self.answers for note in answer.notes), *self.notes))

    @property
    def all_refusals(self) -> tuple[Refusal, ...]:
        """All refusals, in order, each once."""
        return _unique((*(one for answer in self.answers for one in answer.refusals), *self.refusals))


@dataclass(frozen=True)
class Question:
    """A question of the first screen and what answers it: findings, or sentences.

    `chapters` are the ids of those that say more. What is beyond `first` folds away.
    """

    title: str
    answers: tuple[Finding | str, ...]
    chapters: tuple[str, ...] = ()
    first: int | None = None


@dataclass(frozen=True)
class Report:
    """A whole report. `facts` are what is needed to repeat it: (what, value) pairs; `config` is `run.json`."""

    title: str
    subtitle: str
    summary: tuple[Question, ...]
    """The first screen: which recognizer, what breaks it, for whom, and what these data cannot tell."""
    chapters: tuple[Chapter, ...]
    gates: tuple[GateResult, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    config: Mapping[str, Any] = field(default_factory=dict)
    scenarios: Mapping[str, str] = field(default_factory=dict)
    """What scenarios do, in words, by their id: shown above a case."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """What reviewers said of the trials behind findings, by the finding's id: shown where the claim stands."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, in order."""
        return tuple(finding for chapter in self.chapters for finding in chapter.findings)

    @property
    def passed(self) -> bool:
        """True where no gate failed."""
        return all(gate.passed is not False for gate in self.gates)

    def table(self, id_: str) -> Table | None:
        """Return the first table with an id, or None."""
        return next((one for chapter in self.chapters for one in chapter.all_tables if one.id == id_), None)


def figures_of(answer: Answer) -> tuple[tuple[Figure, Table], ...]:
    """Return the figures of an answer, each with the table that holds its numbers."""
    tables = {table.id: table for table in answer.tables.shown}
    return tuple((figure, tables[figure.table]) for figure in answer.figures)


def labels_of(item: Finding | str, report: Report) -> str:
    """Return what reviewers said of the trials behind an item of a summary; nothing where they said nothing."""
    return "" if isinstance(item, str) else report.labels.get(item.id, "")


def sentence_of(item: Finding | str) -> str:
    """Return what an item of a summary says."""
    return item if isinstance(item, str) else item.sentence


def _unique(said: Iterable[Said]) -> tuple[Said, ...]:
    # Facts are mappings, which cannot be hashed: what reads the same is the same.
    found: dict[tuple[str, str, str], Said] = {}
    for one in said:
        found.setdefault((one.code, getattr(one, "about", ""), one.text), one)
    return tuple(found.values())
