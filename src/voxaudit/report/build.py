"""Which audits are asked of a run and in which order, what stands on the first screen, and the files of a report."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, MutableMapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from voxaudit.answer import Answer, Finding, Refusal, RefusedError
from voxaudit.audits.audit import AUDITS, Audit, find_audit
from voxaudit.audits.scores import Scores
from voxaudit.config import Gates, read_gates
from voxaudit.errors import VoxauditError, one_line
from voxaudit.perturb import CLEAN
from voxaudit.perturb.describe import in_short
from voxaudit.process import give_back_memory
from voxaudit.registry import unknown
from voxaudit.render.document import Chapter, Question, Report
from voxaudit.render.html import render_html
from voxaudit.render.json import to_json
from voxaudit.render.junit import to_junit
from voxaudit.render.markdown import to_markdown
from voxaudit.render.published import published
from voxaudit.render.statements import statements as to_statements
from voxaudit.report.chapters import facts, how_to_repeat, stuttered_cases, worst_cases
from voxaudit.report.gates import judge
from voxaudit.run import Run
from voxaudit.run.folder import read_config, write_config
from voxaudit.tables import write_atomically
from voxaudit.wording import counted

NO_GATES = Gates()
REMEMBERED = "report"
"""The key of `run.json` that keeps what a report was asked."""

SYNTHETIC = "These voices are synthetic: the figures show how an audit works and say nothing about people."
"""Stands at the top of every report on a corpus whose column `synthetic` is `yes` throughout, as the demo's is."""


def build_report(
    run: Run,
    *,
    attributes: Sequence[str] = (),
    gates: Gates = NO_GATES,
    audio_megabytes: float = 4.0,
    seconds: MutableMapping[str, float] | None = None,
) -> Report:
    """Return everything a scored run says, as one report.

    Every registered audit is asked what its `questions` are; what lies in the folders `stutter` and `attack` of the run
    is read back. `attributes` are columns of the corpus whose groups are compared. `audio_megabytes` bounds the audio
    of the worst and of the stuttered cases; 0 leaves it out. An audit that cannot answer is a refusal in its
    chapter. `seconds`, where given, is filled with what each chapter took.
    """
    scores = Scores.of(run)
    asked = tuple(dict.fromkeys(attributes))
    for name in asked:
        if name not in scores.attributes:
            raise unknown(f"{run.folder}: no attribute", name, scores.attributes, "attributes")
    took = seconds if seconds is not None else {}
    room = int(audio_megabytes * 1e6)
    chapters: list[Chapter] = []
    for name in AUDITS.names():
        started = time.perf_counter()
        chapter = _chapter(find_audit(name), run, scores, asked)
        if chapter is not None and name == "stutter" and chapter.answers:
            cases = stuttered_cases(run.folder / name, chapter.answers[0].detail, room // 2)
            room -= sum(len(one.audio or b"") + len(one.original or b"") for one in cases)
            chapter = replace(chapter, cases=cases)
        give_back_memory()
        took[name] = time.perf_counter() - started
        if chapter is not None:
            chapters.append(chapter)
    run.found.clear()  # what audits have shared is large, and no chapter that follows asks for it
    started = time.perf_counter()
    chapters.append(worst_cases(scores, run, asked, room))
    took["cases"] = time.perf_counter() - started
    chapters.append(how_to_repeat(scores, run))
    findings = [finding for chapter in chapters for finding in chapter.findings]
    report = Report(
        title=f"Audit of {run.config['corpus']['name']}",
        subtitle=_subtitle(run),
        summary=first_screen(findings),
        chapters=tuple(chapters),
        gates=judge(
            run,
            findings,
            gates,
            attributes=[name for name in asked if scores.is_comparable(name)],
            refusals={one.id: one.refusals[0] for one in chapters if one.refusals},
        ),
        facts=facts(run, asked),
        config=run.config,
        scenarios={name: in_short(name) for name in run.config["scenarios"]},
        labels=_labels(run, findings),
    )
    return published(report, _roots(run))


def _chapter(audit: Audit, run: Run, scores: Scores, attributes: Sequence[str]) -> Chapter | None:
    """Return an audit's answers as a chapter; None where a report does not ask it."""
    if audit.questions is None:
        return None
    answers: list[Answer] = []
    refusals: list[Refusal] = []
    if audit.name == "disparity" and not attributes:
        refusals.append(_nobody_named(scores))
    for question in audit.questions(scores, attributes):
        try:
            answer = audit.ask(run, **question)
            # Whole tables of trials, which no page shows: a large run would be held several times.
            answers.append(answer if audit.name == "stutter" else replace(answer, detail=None))
        except RefusedError as error:
            refusals.append(replace(error.refusal, about=_about(error.refusal.about, audit, run)))
        except VoxauditError as error:
            refusals.append(Refusal("failed", audit.title.lower(), one_line(error.message, 600)))
    if not answers and not refusals:
        return None
    return Chapter(audit.name, audit.title, tuple(answers), refusals=tuple(refusals))


def _about(about: str, audit: Audit, run: Run) -> str:
    """Return what a refusal is about; the folder of the run says nothing to a reader."""
    return audit.title.lower() if about in ("", str(run.folder)) else about


def _nobody_named(scores: Scores) -> Refusal:
    """Return that nobody said whom to compare, with the attributes that there are."""
    known = scores.attributes
    if not known:
        return Refusal(
            "no_attribute", "groups", "the corpus has no column of groups, such as gender or accent"
        )
    text = f"no attribute was named; this corpus has: {', '.join(known[:20])}"
    return Refusal("no_attribute", "groups", text, {"attributes": known[:20]}, see=("attributes",))


LABELS = {
    "real_fault": "real fault{s}",
    "malformed": "malformed (nobody could understand it)",
    "fine": "fine",
}
"""What reviewers call a trial, as a sentence says it."""


def _labels(run: Run, claims: Sequence[Finding]) -> dict[str, str]:
    """Return what reviewers said of the trials behind claims about a recognizer in a scenario, by the claim's id.

    The labels are those of `review.json`, which a review writes; one that somebody else wrote is not used.
    """
    try:
        rows = json.loads((run.folder / "review.json").read_text(encoding="utf-8"))["trials"]["judged"]
        judged = {
            (str(row["recognizer"]), str(row["scenario"])): {name: int(row[name]) for name in LABELS}
            for row in rows
        }
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return {}
    found = {}
    for claim in claims:
        counts = judged.get((claim.recognizer or "", claim.scenario or ""), {})
        total = sum(counts.values())
        if total and claim.attribute is None:
            said = ", ".join(
                f"{count:,} {LABELS[name].format(s='' if count == 1 else 's')}"
                for name, count in counts.items()
                if count
            )
            found[claim.id] = f"Reviewers judged {total:,} of these trials: {said}."
    return found


def _roots(run: Run) -> list[Path]:
    """Return the folders that paths in a report are shown relative to: the run's, and those of its recordings."""
    audio = run.corpus["audio"].head(1).to_list()
    source = [str(run.config["corpus"].get("source") or "")]
    return [run.folder.resolve(), *(Path(path).parent for path in (*source, *audio) if path)]


def _subtitle(run: Run) -> str:
    config, corpus, table = run.config, run.config["corpus"], run.corpus
    said = (
        f"{', '.join(config['recognizers'])}: {counted(corpus['utterances'], 'utterance')} by"
        f" {counted(corpus['speakers'], 'speaker')} in {counted(len(config['scenarios']), 'scenario')}"
    )
    made = "synthetic" in table.columns and set(table["synthetic"].cast(pl.String).unique()) == {"yes"}
    return f"{said}. {SYNTHETIC}" if made else said


def write_report(report: Report, folder: str | Path, *, statements: bool = False) -> dict[str, Path]:
    """Write `report.html`, `summary.md`, `findings.json` and `junit.xml` into a folder; return their paths by name.

    With `statements`, also what people must hand in: a section of each recognizer's model card, an accessibility and
    fairness statement, a methods paragraph. Each file is complete or what it was before.
    """
    folder = Path(folder)
    report = published(report)
    texts = {
        "report.html": render_html(report),
        "summary.md": to_markdown(report),
        "findings.json": to_json(report),
        "junit.xml": to_junit(report),
        **(to_statements(report) if statements else {}),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise VoxauditError(f"{folder}: cannot make this folder ({error.strerror or error})") from error
    for name, text in texts.items():
        # Lone surrogates, which a file name can hold, have no place in UTF-8.
        data = text.encode("utf-8", "replace")
        write_atomically(folder / name, lambda path, data=data: path.write_bytes(data))  # type: ignore[misc]
    return {name: folder / name for name in texts}


def remember(run: Run, attributes: Sequence[str], gates: Gates) -> Run:
    """Write the groups to compare and the gates into `run.json`, so that the report can be built again without the
    audit's file; return the run as it then is.
    """
    asked = {"attributes": list(attributes), "gates": gates.to_dict()}
    write_config(run.folder, {**read_config(run.folder), REMEMBERED: asked})
    return Run(run.folder)


def remembered(run: Run) -> tuple[tuple[str, ...], Gates]:
    """Return the groups and gates that `remember` wrote; none for a run that was not made by `voxaudit run`."""
    about: dict[str, Any] = run.config.get(REMEMBERED, {})
    gates = read_gates(about.get("gates", {}), run.folder / "run.json", list(run.config["recognizers"]))
    return tuple(about.get("attributes", ())), gates


# The first screen: which findings answer what everybody asks, in which order. Audits decide and word them.


MOST_OPEN = 3
"""Lines on what the data cannot tell."""
OPEN = "What these data cannot tell"
ELSE = "What else was found?"


@dataclass(frozen=True)
class Choice:
    """A question, and what answers it: kinds of findings as (audit, measure), the most telling first.

    `clean` is whether they are about clean speech, None where that does not matter. With `by_attribute`, what is shown
    comes first, the widest gap in front, and of an attribute without a gap shown only what leaves most open.
    """

    title: str
    kinds: tuple[tuple[str, str], ...]
    clean: bool | None = None
    by_attribute: bool = False
    leading: int = 1
    """Kinds whose findings stand before what is left open."""
    first: int = 6
    """Answers in sight; the others fold away."""


QUESTIONS: tuple[tuple[Choice, ...], ...] = (
    (
        Choice("Which recognizer?", (("versus", "best"),)),
        Choice("How well does it hear?", (("accuracy", "wer"),), clean=True),
        Choice("How much do recognizers disagree?", (("differential", "clean_disagreement"),)),
    ),
    (
        Choice(
            "Where does it break?",
            (
                ("accuracy", "wer"),
                ("robustness", "werd"),
                ("breaking", ""),
                ("attack", ""),
                ("localize", "words"),
            ),
            clean=False,
            first=2,
        ),
    ),
    (
        Choice(
            "For whom?",
            (
                ("parity", "wer_gap_fixed"),  # what holds with all else fixed comes first
                ("disparity", "wer_ratio"),
                ("parity", "crossed_worst"),
                ("parity", "crossed_best"),
                ("slices", "slice_ratio"),
                ("differential", "clean_disagreement"),
                ("robustness", "wer_ratio"),
                ("differential", "wer_growth"),
                ("differential", "disagreement_growth"),
                ("localize", "group_words"),
            ),
            by_attribute=True,
            leading=2,
        ),
    ),
    (Choice("Can people who stutter use it?", (("stutter", ""),)),),
    (
        Choice(
            "Does it make things up?",
            (
                ("robustness", "words_per_minute"),
                ("hallucination", "unsupported_words_per_minute"),
                ("hallucination", "loops_words_per_minute"),
            ),
        ),
    ),
    (
        Choice(
            "Which errors matter?", (("keywords", "serious_error_rate"), ("keywords", "keyword_error_rate"))
        ),
    ),
    (Choice("How long does one wait?", (("waiting", ""),), first=3),),
    (Choice("Does it know when it is wrong?", (("confidence", ""),), first=3),),
    (Choice("How far can the figures be trusted?", (("accuracy", "normalizer_difference"),)),),
)
"""Of several choices the first that has an answer is asked: which recognizer is better needs two and their words."""


def first_screen(findings: Iterable[Finding]) -> tuple[Question, ...]:
    """Return the questions of the first screen with the findings that answer them; what is left open comes last.

    >>> rate = Finding("accuracy/a/clean/wer", "wer", "measured", "...", 0.1, scenario="clean", headline=True)
    >>> [(one.title, len(one.answers)) for one in first_screen([rate])]
    [('How well does it hear?', 1)]
    """
    headlines = list({one.sentence: one for one in findings if one.headline}.values())
    # A trial that failed is in no rate: like what was refused, it limits what the others say.
    unsaid = [one for one in headlines if one.verdict == "refused" or one.measure == "failures"]
    said = [one for one in headlines if one not in unsaid]
    screen: list[Question] = []
    used: set[str] = set()
    for choices in QUESTIONS:
        for choice in choices:
            answers = [one for one in _answers(choice, said) if one.id not in used]
            if answers:
                used |= {one.id for one in answers}
                screen.append(_question(choice.title, answers, choice.first))
                break
    known = {audit for choices in QUESTIONS for choice in choices for audit, _ in choice.kinds}
    if others := [one for one in said if one.audit not in known]:
        screen.append(_question(ELSE, others))
    if unsaid:
        screen.append(_question(OPEN, unsaid[:MOST_OPEN]))
    return tuple(screen)


def _question(title: str, answers: Sequence[Finding], first: int = MOST_OPEN) -> Question:
    chapters = tuple(dict.fromkeys(one.audit for one in answers))
    return Question(title, tuple(answers), chapters, first)


def _answers(choice: Choice, findings: Sequence[Finding]) -> list[Finding]:
    found = []
    for audit, measure in choice.kinds:
        own = [one for one in findings if one.audit == audit and measure in ("", one.measure)]
        if choice.clean is not None:
            own = [one for one in own if (one.scenario == CLEAN) == choice.clean]
        found += sorted(own, key=lambda one: -_size(one)) if choice.by_attribute else own
    if not choice.by_attribute:
        return found
    shown = [one for one in found if one.verdict == "shown"]
    open_: dict[str | None, Finding] = {}
    for one in found:
        if one.attribute not in {other.attribute for other in shown}:
            first = open_.setdefault(one.attribute, one)
            if (one.audit, one.measure) == (first.audit, first.measure) and _left(one) > _left(first):
                open_[one.attribute] = one
    leading = [one for one in shown if (one.audit, one.measure) in choice.kinds[: choice.leading]]
    return [*leading, *open_.values(), *(one for one in shown if one not in leading)]


def _size(finding: Finding) -> float:
    """Return how far a finding is from no difference; a half is as far as a double, and what has no end farthest."""
    return math.inf if finding.estimate is None else _distance(finding, finding.estimate)


def _left(finding: Finding) -> float:
    return math.inf if finding.excludes is None else _distance(finding, finding.excludes)


def _distance(finding: Finding, value: float) -> float:
    if finding.unit != "ratio":
        return abs(value)
    return abs(math.log(value)) if value > 0.0 else math.inf
