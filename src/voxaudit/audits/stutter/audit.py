"""The stutter audit: align, search, hear, score, classify; then what is said of it.

Everything lands in one folder and resumes there. The answer is made from what the folder holds, so that it is the same
when it is heard and whenever it is read again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from voxaudit.align import Timings, read_alignments
from voxaudit.answer import (
    Answer,
    Cell,
    Curves,
    Figure,
    Finding,
    Forest,
    ForestRow,
    Note,
    Series,
    Table,
    Tables,
    Verdict,
    finding_id,
    number_or_none,
    refuse,
    tabulate,
)
from voxaudit.audits.audit import asks
from voxaudit.audits.hearing import as_written, corpus_to_hear, finished, left_out, reading
from voxaudit.audits.scores import Scores, is_run
from voxaudit.audits.stutter.folder import (
    FOUND,
    KEPT,
    QUEUE,
    Stutter,
    false_positive_rate,
    fault_counts,
    read_found,
    read_labels,
    read_refusal,
    write_found,
)
from voxaudit.audits.stutter.scoring import Cost, DosePoint, dose_response
from voxaudit.audits.stutter.search import NORMALIZER, Settings, align_recordings, heard_alike, search
from voxaudit.corpus import Corpus
from voxaudit.errors import VoxauditError
from voxaudit.options import ON_DEMAND, RunOptions, takes_options
from voxaudit.perturb.stutter import KINDS, Clip
from voxaudit.perturb.stutter.recordings import write_recordings
from voxaudit.perturb.stutter.scenarios import StutterScenarios
from voxaudit.recognize import AnswersById, Recognizer
from voxaudit.run import Run
from voxaudit.run.progress import Progress
from voxaudit.run.runner import RecognizerLike, named_recognizers
from voxaudit.run.session import Session
from voxaudit.score.meaning import MINILM, Meaning, encoder
from voxaudit.score.normalize import normalizer
from voxaudit.stats.bootstrap import FEWEST_SPEAKERS
from voxaudit.stats.multiplicity import holm
from voxaudit.wording import (
    counted,
    in_points,
    listed,
    not_excluded,
    p_value,
    percent,
    percent_interval,
    spoken,
)

NAME, TITLE, ABOUT = "stutter", "People who stutter", "stuttered speech"
ALL_KINDS = "all kinds"
LEVEL = 0.05


@asks(NAME)
@takes_options("progress", *ON_DEMAND)
def stutter(
    source: Any,
    recognizers: Sequence[RecognizerLike] | Mapping[str, RecognizerLike] = ("moonshine", "pocketsphinx"),
    *,
    out: str | Path | None = None,
    utterances: int | None = None,
    attributes: Sequence[str] = (),
    budget: int = 50,
    kinds: Sequence[str] = tuple(KINDS),
    selection: str = "moo",
    severity: int | None = None,
    threshold: float = 0.8,
    dose: Sequence[float] = (),
    mixture: str = "sep28k",
    embeddings: str = MINILM,
    timings: str | Path | Mapping[str, Timings | str] | None = None,
    clips: Sequence[Clip] = (),
    filler_voice: bool = False,
    only_agreed: bool = False,
    labels: str | Path | None = None,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    skip_bad_rows: bool = False,
    options: RunOptions | None = None,
    **given: Any,
) -> Answer:
    """Say whether people who stutter can use the recognizers, by stuttered speech made from a corpus (ASTER).

    `source` is a corpus, or the path of one: it is made to stutter and heard, and the folder `out` holds the store,
    `cases.parquet`, `suspicious.jsonl` (the review queue), `recordings.parquet` (what makes the cases' audio again) and
    `stutter.json`; the same call again hears nothing twice. A finished audit's folder, or a run with one in its folder
    `stutter`, is read again and nothing is heard.

    Of each of the `utterances` (all of them; else so many, of as many speakers and groups of the `attributes` as
    possible), `budget` new cases are made by the search of Liu et al. 2023, Algorithm 1, with the `kinds` of
    stuttering at the `severity` 1 to 4 (None: the paper's whole range). `selection` keeps the Pareto front (`moo`) or
    everything (`random`) as seeds of further cases. A transcript less similar than `threshold` (0 to 1) to what the
    recognizer said of the original is suspicious. `dose` are rates of stuttering (moments per 100 words) to measure
    the error rate at, with the kinds in the shares of `mixture`. Recordings without a reference text are aligned with
    what the first recognizer heard; `timings` are those of another aligner, by utterance id or by the name of a whole
    recording's file, or the path of its files. `clips` are fillers for recordings that have none of their own, besides
    those of a synthetic voice (`filler_voice`). `only_agreed` takes only recordings that all recognizers hear as their
    text, as the paper does. `labels` is a review queue that people labeled (default: the one in the folder).

    The cost of a recognizer is the change of its pooled word error rate against what the person means, recordings
    paired with their own originals; the interval resamples speakers, the p-value flips the signs of whole speakers, and
    Holm's correction is for the recognizers asked together. A cost is shown where both agree. The options of
    `RunOptions` can be given together as `options`, and some by their names (`workers=2`).
    """
    settings = Settings(budget, tuple(kinds), selection, 0, threshold, severity, embeddings)
    folder = finished(source, NAME, *KEPT)
    if folder is not None:
        if out is not None or settings != Settings() or dose or utterances is not None:
            raise VoxauditError(
                "a finished audit is read again, nothing is heard: give a corpus to hear one", see=("out",)
            )
        return _answer(folder, labels, _heard_in_the_run(source))
    options = RunOptions.of(options, **given)
    options.require_on_demand()
    settings = Settings(budget, tuple(kinds), selection, options.seed, threshold, severity, embeddings)
    if any(not 0 <= rate <= 500 for rate in dose):
        raise VoxauditError("a dose is from 0 to 500 stuttered moments per 100 words", see=("dose",))
    if out is None:
        raise VoxauditError("name a folder for what is found", see=("out",))
    brought = read_alignments(timings) if isinstance(timings, str | Path) else timings or {}
    engines = _listening(recognizers)
    corpus = corpus_to_hear(
        source,
        format=format,
        columns=columns,
        skip_bad_rows=skip_bad_rows,
        utterances=utterances,
        attributes=attributes,
        seed=options.seed,
    )
    folder = Path(out)
    # A mistake in somebody's labels is told before the search, not after it.
    for queue in (labels, folder / QUEUE if (folder / QUEUE).exists() else None):
        if queue is not None:
            read_labels(queue)
    fillers = (*clips, *(_filler_clips() if filler_voice else ()))
    _hear(corpus, engines, folder, settings, dose, mixture, fillers, brought, only_agreed, options)
    said = f"cases.parquet, {QUEUE} (for people to label), {FOUND}"
    return as_written(_answer(folder, labels, ()), folder, said)


def _listening(recognizers: Sequence[RecognizerLike] | Mapping[str, RecognizerLike]) -> dict[str, Recognizer]:
    engines = named_recognizers(recognizers)
    for name, recognizer in engines.items():
        if isinstance(recognizer, AnswersById):
            raise VoxauditError(
                f"recognizer '{name}' only looks up transcripts; a search needs one that listens"
            )
    return engines


def _hear(
    corpus: Corpus,
    recognizers: Mapping[str, Recognizer],
    folder: Path,
    settings: Settings,
    doses: Sequence[float],
    mixture: str,
    clips: Sequence[Clip],
    brought: Mapping[str, Timings | str],
    only_agreed: bool,
    options: RunOptions,
) -> None:
    """Make the corpus stutter, hear it, and leave what was found in the folder."""
    meaning = Meaning(encoder(settings.embeddings))
    recordings, skipped = align_recordings(corpus, recognizers, folder, options, brought)
    if not recordings:
        first = next(iter(skipped.values()), "the corpus is empty")
        raise VoxauditError(f"{corpus.source or corpus.name}: no recording can be stuttered ({first})")
    scenarios = StutterScenarios({r.utterance.id: r.timings for r in recordings}, tuple(clips))
    with (
        Session(folder, recognizers, scenarios, options) as session,
        Progress(options.progress) as bars,
    ):
        if only_agreed:
            recordings = heard_alike(recordings, session, skipped)
        bars.begin("stuttered cases", len(recordings) * settings.budget)
        advance = partial(bars.advance, heard=True)
        found = search(recordings, session, meaning, settings, clips=clips, progress=advance)
        seed, severity = settings.seed, settings.severity
        dose = dose_response(recordings, session, doses, mixture, seed=seed, severity=severity, clips=clips)
    write_recordings(folder, recordings, clips)
    write_found(folder, recordings, found, {**skipped, **found.skipped}, settings, dose)


def _filler_clips() -> tuple[Clip, ...]:
    from voxaudit.speak.base import Voice, speak

    return tuple(Clip(text, speak(Voice(), text)) for text in ("um", "uh"))


# What is said of it.


def _heard_in_the_run(source: Any) -> list[str]:
    """Return the recognizers of the run that the audit belongs to."""
    if isinstance(source, Scores):
        return source.recognizers
    run = source if isinstance(source, Run) else Run(Path(source)) if is_run(source) else None
    return [] if run is None else list(run.config["recognizers"])


def _answer(folder: Path, labels: str | Path | None, recognizers: Sequence[str]) -> Answer:
    """Return what the folder says; damaged content, and a reason in place of findings, are refusals."""
    reason = read_refusal(folder)
    if reason is not None:
        raise refuse("not_made", reason, about=ABOUT)
    path, queue = folder / FOUND, folder / QUEUE
    if not path.is_file():
        raise refuse(
            "not_asked",
            "no stutter audit was made of this run",
            about=ABOUT,
            remedy="add a section `[stutter]` to audit.toml and run it again (the extra `embeddings` is needed), or"
            " let the audit of a corpus write to the folder `stutter` in the run's",
        )
    with reading(path, "a stutter audit", ABOUT):
        found = read_found(folder)
        given = read_labels(labels or queue) if labels or queue.is_file() else {}
        return _said(found, given, recognizers)


def _said(found: Stutter, labels: Mapping[str, str], recognizers: Sequence[str]) -> Answer:
    rows = _costs(found)
    # A chain that was drawn twice counts twice, as in the rates.
    cases = max((one.cases for one in found.recognizers.values()), default=found.cases)
    reasons = Counter(found.skipped.values()).most_common(5)
    points = found.dose
    return Answer(
        NAME,
        TITLE,
        question={
            **asdict(found.settings),
            "recognizers": list(found.recognizers),
            "dose": sorted({point.rate for point in points}),
            "mixture": points[0].mixture if points else None,
        },
        lead=f"{counted(found.utterances, 'utterance')} were made to stutter, {counted(cases, 'case')} in all (blocks,"
        " prolongations, repetitions, interjections). Errors are counted against what the person means to say.",
        findings=(*_findings(rows), *_oracle(found, labels)),
        tables=Tables((_cost_table(rows), *_dose_table(points), *_case_tables(found))),
        figures=(_cost_figure(rows), *_dose_figure(points)),
        notes=(*_example(found), *_no_part(found, recognizers), *left_out(reasons)),
        detail=found,
    )


def _costs(found: Stutter) -> list[dict[str, Any]]:
    """Return what stuttering costs, all cases first, then cases of one kind; each of the two is a family (Holm)."""
    families = {
        "recognizers": [(ALL_KINDS, name, one) for name, one in found.recognizers.items()],
        "kinds": [(kind, name, one) for kind, by in found.kinds.items() for name, one in by.items()],
    }
    rows = []
    for family, members in families.items():
        told = [row for row in members if row[2].cases and row[2].werd is not None]
        for (kind, name, one), p in zip(told, holm([row[2].p for row in told]), strict=True):
            numbers = {key: value for key, value in asdict(one).items() if key != "against"}
            judged = {"p_adjusted": p, "family": family, "verdict": _verdict(one, p)}
            rows.append({"recognizer": name, "kind": spoken(kind), **numbers, **judged})
    return rows


def _verdict(one: Cost, p_adjusted: float | None) -> Verdict:
    """Say whether a cost is shown: by its interval, and by its p-value, adjusted for what it was asked beside."""
    if one.low is None or one.high is None or p_adjusted is None:
        return "refused"
    return "shown" if not one.low <= 0.0 <= one.high and p_adjusted <= LEVEL else "not_shown"


def _findings(rows: Iterable[Mapping[str, Any]]) -> list[Finding]:
    findings = []
    for row in rows:
        if row["kind"] != ALL_KINDS:
            continue
        few = "too_few_speakers" if row["speakers"] < FEWEST_SPEAKERS else "no_speakers"
        limits = row["high"], row["low"]
        same = ("verdict", "low", "high", "p", "p_adjusted", "family", "recognizer", "speakers", "utterances")
        finding = Finding(
            id=finding_id(NAME, row["recognizer"], "werd"),
            measure="werd",
            sentence=_sentence(row),
            estimate=row["werd"],
            excludes=max(limits, key=abs) if row["verdict"] == "not_shown" else None,
            code=few if row["verdict"] == "refused" else None,
            headline=True,
            **{name: row[name] for name in same},
        )
        findings.append(finding)
    return findings


def _sentence(row: Mapping[str, Any]) -> str:
    change, low, high, people = row["werd"], row["low"], row["high"], counted(row["speakers"], "speaker")
    cases = counted(row["cases"], "recording")
    said = (
        f"On speech made to stutter, {row['recognizer']} gets {percent(row['wer'])} of the words wrong instead of"
        f" {percent(row['wer_original'])}"
    )
    if row["verdict"] == "refused":
        why = (
            f"with {people}, fewer than {FEWEST_SPEAKERS}"
            if row["speakers"] < FEWEST_SPEAKERS
            else "without known speakers"
        )
        return f"{said}: {in_points(abs(change))} {_more(change)}; how sure that is cannot be said {why} ({cases})."
    ends = sorted((low, high) if change >= 0 else (-low, -high))
    sure = ""
    if row["verdict"] == "not_shown":
        but = "" if low <= 0.0 <= high else f", but {p_value(row['p_adjusted'])} after Holm's correction"
        sure = f"{but}, so no cost is shown; {not_excluded(max(high, 0.0), 'one')}"
    return f"{said}: {in_points(abs(change), *ends)} {_more(change)}{sure} ({cases} of {people})."


def _more(change: float) -> str:
    return "more" if change >= 0 else "fewer"


def _oracle(found: Stutter, labels: Mapping[str, str]) -> list[Finding]:
    """Return how often a suspicious case was no fault, by the labels people gave."""
    id_, measure = finding_id(NAME, "false_positives"), "false_positive_rate"
    rate = false_positive_rate(labels.values())
    if rate["labeled"]:
        said = percent_interval(rate["rate"], rate["low"], rate["high"])
        sentence = f"Of {rate['labeled']} suspicious cases that people judged, {said} were no fault of the recognizer."
        return [
            Finding(
                id_,
                measure,
                "measured",
                sentence,
                estimate=rate["rate"],
                low=rate["low"],
                high=rate["high"],
                headline=True,
            )
        ]
    if not found.suspicious:
        return []
    sentence = (
        f"No person has judged the {counted(len(found.suspicious), 'suspicious case')} yet: how many are false alarms"
        " is not known. `voxaudit review` plays them."
    )
    return [Finding(id_, measure, "refused", sentence, code="not_judged")]


def _cost_table(rows: list[dict[str, Any]]) -> Table:
    return tabulate(
        "costs",
        "What stuttering costs: all cases together, then cases with one kind of stuttering only",
        rows,
        [
            "recognizer",
            "kind",
            ("wer_original", "WER before", "percent"),
            ("wer", "WER after", "percent"),
            ("werd", "change", "points", "low", "high"),
            "p",
            ("p_adjusted", "p adjusted", "p"),
            ("verdict", "cost"),
            ("cases", "cases", "count"),
            "speakers",
        ],
        note="p is adjusted (Holm) for the recognizers together, and for all rows with one kind of stuttering together."
        f" With fewer than {FEWEST_SPEAKERS} speakers there is no interval.",
    )


def _cost_figure(rows: list[dict[str, Any]]) -> Figure:
    drawn = tuple(
        ForestRow(
            f"{row['recognizer']}, {row['kind']}",
            Cell(*(number_or_none(row[key]) for key in ("werd", "low", "high"))),
            row["verdict"] == "shown",
            f"{row['cases']} cases, {row['speakers']} speakers",
        )
        for row in rows
        if row["kind"] == ALL_KINDS or row["verdict"] != "refused"
    )
    alt = (
        "Change of the word error rate from the original to the stuttered recordings with its interval, by recognizer"
        " and by kind of stuttering."
    )
    axis = "change of the word error rate, in percentage points"
    return Figure("costs", "What stuttering costs", alt, Forest(drawn, axis, 0.0, False), "costs")


def _dose_table(points: Sequence[DosePoint]) -> list[Table]:
    if not points:
        return []
    columns = [
        "recognizer",
        ("rate", "asked, per 100 words", "number"),
        ("events", "put in, per 100 words", "number"),
        *["wer[low,high]", "words", "speakers"],
    ]
    title = f"Errors by amount of stuttering ({points[0].mixture} mixture)"
    names = list(dict.fromkeys(point.recognizer for point in points))
    rows = sorted(points, key=lambda point: (names.index(point.recognizer), point.rate))
    return [tabulate("dose", title, [asdict(point) for point in rows], columns)]


def _dose_figure(points: Sequence[DosePoint]) -> list[Figure]:
    rates = sorted({point.rate for point in points})
    if len(rates) < 2:
        return []
    at = {(point.recognizer, point.rate): Cell(point.wer, point.low, point.high) for point in points}
    names = dict.fromkeys(point.recognizer for point in points)
    series = tuple(Series(name, tuple(at.get((name, rate)) for rate in rates)) for name in names)
    panel = ("all kinds of stuttering", tuple(f"{rate:g}" for rate in rates), series)
    curves = Curves((panel,), "word error rate", "stuttered moments per 100 words")
    alt = "Word error rate against the number of stuttered moments per 100 words, a line for each recognizer."
    return [Figure("dose", "Errors by amount of stuttering", alt, curves, "dose")]


def _case_tables(found: Stutter) -> list[Table]:
    faults = [
        {"fault": spoken(fault), "recognizer": name, "cases": count}
        for name in found.recognizers
        for own in [[one for one in found.suspicious if one.recognizer == name]]
        for fault, count in {
            **fault_counts(own),
            "none: right, the original's was not": sum(one.fault is None for one in own),
        }.items()
    ]
    scored = [
        {"recognizer": name, "against": target, "fillers": fillers.removeprefix("fillers_"), **rates}
        for name, one in found.recognizers.items()
        for target, ways in one.against.items()
        for fillers, rates in ways.items()
    ]
    cases = [
        {
            **{key: value for key, value in asdict(one).items() if key not in ("faults", "span")},
            "fault": spoken(one.fault or "none"),
        }
        for one in sorted(found.suspicious, key=lambda one: one.similarity)
    ]
    below = f"{found.settings.threshold:g}"
    return [
        tabulate(
            "faults",
            f"Suspicious answers (similarity below {below}) by kind of fault",
            faults,
            [("recognizer",), ("fault", "kind of fault"), ("cases", "suspicious cases", "count")],
        ),
        tabulate(
            "scoring",
            "Stuttered cases scored in other ways",
            scored,
            ["recognizer", ("against", "against the text"), *["fillers", "wer", "mer", "wil", "words"]],
            folded=True,
        ),
        tabulate(
            "suspicious",
            "Suspicious cases, the least similar first",
            cases,
            [
                "recognizer",
                ("intended", "meant"),
                ("surface", "said"),
                ("original", "heard in the original"),
                ("transcript", "heard stuttered"),
                ("similarity", "similarity (1: the same)", "number"),
                ("fault", "kind of fault"),
            ],
            folded=True,
        ),
    ]


def _example(found: Stutter) -> list[Note]:
    """Return what became of one case: the fewest words too many, and an original that was heard right."""
    rule = normalizer(NORMALIZER)
    fitting = [
        one for one in found.suspicious if rule(one.original or "") == rule(one.intended) != rule(one.surface)
    ]
    if not fitting:
        return []
    one = min(fitting, key=lambda one: len(one.surface.split()) - len(one.intended.split()))
    said = (
        f"is heard by {one.recognizer} as “{one.transcript}”"
        if one.transcript
        else f"is not heard by {one.recognizer} at all"
    )
    text = (
        f"for example, somebody who means “{one.intended}” and says “{one.surface}” {said}; without the stuttering"
        " every word is right"
    )
    return [Note("example", text, {"utterance": one.utterance, "chain": one.chain})]


def _no_part(found: Stutter, recognizers: Sequence[str]) -> list[Note]:
    absent = [name for name in recognizers if name not in found.recognizers]
    text = f"not part of this audit: {listed(absent)}"
    return [Note("no_part", text, {"recognizers": absent})] if absent else []
