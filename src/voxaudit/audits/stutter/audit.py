"""The stutter audit: align, search, hear, score, classify; then what is said of it.

Everything lands in one folder and resumes there. The answer is made from what the folder holds, so that it is the same
when it is heard and whenever it is read again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

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
    of_row,
    refuse,
    tabulate,
)
from voxaudit.audits.audit import asks
from voxaudit.audits.hearing import as_written, corpus_to_hear, finished, left_out, listening, reading
from voxaudit.audits.scores import Scores, is_run
from voxaudit.audits.stutter import FOUND, KEPT
from voxaudit.audits.stutter.folder import (
    CASES,
    QUEUE,
    SCORES,
    Stutter,
    false_positive_rate,
    fault_counts,
    read_cases,
    read_found,
    read_labels,
    read_refusal,
    write_found,
)
from voxaudit.audits.stutter.scoring import Comparison, Cost, DosePoint, hear_doses
from voxaudit.audits.stutter.search import (
    NORMALIZER,
    Settings,
    align_recordings,
    heard_alike,
    replay,
    search,
    speakers_fillers,
)
from voxaudit.corpus import Corpus
from voxaudit.errors import VoxauditError, one_line
from voxaudit.options import ON_DEMAND, RunOptions, takes_options
from voxaudit.perturb.stutter.base import Clip
from voxaudit.perturb.stutter.chain import KINDS, Chain, StutterScenarios
from voxaudit.perturb.stutter.checks import CHECKS, PlaceCheck, describe_chain
from voxaudit.perturb.stutter.measured import PROFILES, STYLES
from voxaudit.perturb.stutter.recordings import read_recordings, write_recordings
from voxaudit.perturb.stutter.sample import MIXTURE_NAMES, PROFILE
from voxaudit.recognize import Recognizer
from voxaudit.run import Run
from voxaudit.run.progress import Progress
from voxaudit.run.runner import RecognizerLike
from voxaudit.run.session import Session
from voxaudit.score.meaning import MINILM, NGRAMS, Meaning, best_model, encoder
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
    points_interval,
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
    mode: str = "realistic",
    selection: str = "moo",
    seeds: Sequence[int] | str = (),
    severity: int | None = None,
    threshold: float = 0.8,
    profiles: Sequence[str] = (),
    dose: Sequence[float] = (),
    mixture: str = "profile",
    style: str = "read",
    embeddings: str | None = None,
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
    """Say whether people who stutter can use the recognizers, by stuttered speech made from a corpus.

    `source` is a corpus, or the path of one: it is made to stutter and heard, and the folder `out` holds the store,
    `cases.parquet`, `scores.parquet` (counts, for other audits), `suspicious.jsonl` (the review queue),
    `recordings.parquet` (what makes the cases' audio again) and `stutter.json`; the same call again hears nothing
    twice. A finished audit's folder, or a run with one in its folder `stutter`, is read again and nothing is heard;
    with `out`, its cases are replayed to the `recognizers` instead.

    `mode` is how speech stutters: `realistic`, as real stuttering was measured (`perturb.stutter.measured`), or
    `aster`, as Liu et al. 2023 publish it. Of each of the `utterances` (all of them; else so many, of as many
    speakers and groups of the `attributes` as possible), `budget` new cases are made by their Algorithm 1, for each
    of the `seeds` (numbers, or "0-9"), with the `kinds` of stuttering at the `severity` 1 to 4 (None: the whole
    range). `selection` keeps as seeds of further cases the Pareto front (`moo`), everything (`random`), or as many as
    the front has, drawn from the original and all cases (`random_subset`). A transcript less similar than `threshold`
    (0 to 1) both to what the recognizer said of the original and to what is meant is suspicious; how similar texts are
    says the model `embeddings` (None: `minilm` where it was fetched, else `ngrams`). `profiles` (mild,
    moderate, severe) and `dose` are rates of stuttering (moments per 100 words) to measure the error rate at, for all
    and by the groups of `attributes`, with the kinds in the shares of `mixture`; in the `style` conversation with
    fillers too. Recordings without a reference text are aligned with what the first recognizer heard; `timings` are
    those of another aligner, by utterance id or by the name of a whole recording's file, or the path of its files.
    `clips` are fillers for speakers who say none of their own, besides those of a synthetic voice (`filler_voice`).
    `only_agreed` takes only recordings that all recognizers hear as their text, as the paper does. `labels` is a
    review queue that people labeled (default: the one in the folder).

    The cost of a recognizer is the change of its pooled word error rate against what the person means, recordings
    paired with their own originals; the interval and the p-value are of one test (`stats.paired`), and
    Holm's correction is for the recognizers asked together. A cost is shown where both agree. The options of
    `RunOptions` can be given together as `options`, and some by their names (`workers=2`).
    """
    folder = finished(source, NAME, *KEPT)
    model = embeddings or best_model()
    settings = Settings(budget, tuple(kinds), selection, (0,), threshold, severity, model, mode)
    if folder is not None and (
        settings != Settings(embeddings=model)
        or any((embeddings, dose, profiles, seeds))
        or utterances is not None
    ):
        raise VoxauditError(
            "a finished audit is read again and nothing is heard: give a corpus to hear one; a replay takes its cases"
            " as they are",
            see=("out",),
        )
    if folder is not None and out is None:
        return _answer(folder, labels, _heard_in_the_run(source))
    options = RunOptions.of(options, **given)
    options.require_on_demand()
    settings = replace(settings, seeds=seed_numbers(seeds) or (options.seed,))
    rates = _rates(profiles, dose)
    for name, value, known in (("mixture", mixture, MIXTURE_NAMES), ("style", style, STYLES)):
        if value not in known:
            raise VoxauditError(f"unknown {name} '{value}'. Choose {listed(known)}", see=(name,))
    if out is None:
        raise VoxauditError("name a folder for what is found", see=("out",))
    engines = listening(recognizers, "a search")
    if folder is not None:
        _replay(folder, engines, Path(out), options)
        return as_written(_answer(Path(out), labels, ()), Path(out), f"{CASES}, {SCORES}, {QUEUE}, {FOUND}")
    brought = read_alignments(timings) if isinstance(timings, str | Path) else timings or {}
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
    fillers = (*clips, *(filler_clips() if filler_voice else ()))
    asked = _Doses(rates, mixture, style, tuple(attributes))
    _hear(corpus, engines, folder, settings, asked, fillers, brought, only_agreed, options)
    said = f"{CASES}, {SCORES}, {QUEUE} (for people to label), {FOUND}"
    return as_written(_answer(folder, labels, ()), folder, said)


@dataclass(frozen=True)
class _Doses:
    rates: tuple[float, ...] = ()
    mixture: str = PROFILE
    style: str = "read"
    attributes: tuple[str, ...] = ()


def seed_numbers(seeds: Sequence[int] | str) -> tuple[int, ...]:
    """Return the numbers that seeds are given as: numbers, or a text such as `0-9` or `1,4,7-8`.

    >>> seed_numbers("0-2,7")
    (0, 1, 2, 7)
    """
    if not isinstance(seeds, str):
        return tuple(seeds)
    found: list[int] = []
    for part in filter(None, (piece.strip() for piece in seeds.split(","))):
        first, dash, last = part.partition("-")
        numbers = [first, last] if dash else [first]
        if not all(map(str.isdecimal, numbers)) or len(part) > 20 or int(numbers[-1]) < int(first):
            raise VoxauditError(
                f"seeds are numbers and ranges such as 0-9, not '{one_line(part, 40)}'", see=("seeds",)
            )
        found += range(int(first), min(int(last), int(first) + 999) + 1) if dash else [int(first)]
    return tuple(dict.fromkeys(found))


def _rates(profiles: Sequence[str], dose: Sequence[float]) -> tuple[float, ...]:
    """Return the rates of profiles and doses, 0 (the originals) first where there is any."""
    for name in profiles:
        if name not in PROFILES:
            raise VoxauditError(
                f"unknown profile '{one_line(name, 40)}'. Choose {listed(PROFILES)}", see=("profiles",)
            )
    if any(not 0 <= rate <= 500 for rate in dose):
        raise VoxauditError("a dose is from 0 to 500 stuttered moments per 100 words", see=("dose",))
    first = [0.0] if profiles and not dose else []
    return tuple(dict.fromkeys([*first, *(PROFILES[name].rate for name in profiles), *dose]))


def _hear(
    corpus: Corpus,
    recognizers: Mapping[str, Recognizer],
    folder: Path,
    settings: Settings,
    doses: _Doses,
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
    if settings.mode == "realistic":
        clips = [*speakers_fillers(recordings), *clips]
    scenarios = StutterScenarios({r.utterance.id: r.timings for r in recordings}, tuple(clips))
    # Words are looked for by the aligner that placed them; it knows English only.
    place = PlaceCheck() if settings.mode == "realistic" and not brought else None
    with (
        Session(folder, recognizers, scenarios, options) as session,
        Progress(options.progress) as bars,
    ):
        if only_agreed:
            recordings = heard_alike(recordings, session, skipped)
        bars.begin("stuttered cases", len(recordings) * settings.budget * len(settings.seeds))
        advance = partial(bars.advance, heard=True)
        found = search(recordings, session, meaning, settings, clips=clips, place=place, progress=advance)
        heard = hear_doses(
            recordings,
            session,
            doses.rates,
            doses.mixture,
            seeds=settings.seeds,
            severity=settings.severity,
            clips=clips,
            mode=settings.mode,
            style=doses.style,
        )
    write_recordings(folder, recordings, clips)
    skipped |= found.skipped
    write_found(folder, recordings, found, skipped, settings, heard, doses.mixture, doses.attributes, clips)


def require_cases(source: str, out: str | None) -> None:
    """Raise one line where cases are to be replayed and none are there, or nothing says where to."""
    if finished(source, NAME, *KEPT) is None:
        raise VoxauditError(
            f"{one_line(source, 200)}: no stutter audit in this folder, so no cases to replay"
        )
    if out is None:
        raise VoxauditError("name a folder for what is heard", see=("out",))


def _replay(folder: Path, recognizers: Mapping[str, Recognizer], out: Path, options: RunOptions) -> None:
    """Let recognizers hear the cases of a finished audit, bit for bit, and leave what was found in another folder."""
    if out.absolute() == folder.absolute():
        raise VoxauditError("name another folder for the replay than the audit's own", see=("out",))
    with reading(folder / FOUND, "a stutter audit", ABOUT):
        before, stored = read_found(folder), read_recordings(folder)
    if stored is None:
        raise VoxauditError(
            f"{folder}: there is no recordings.parquet to make the audio of its cases again from"
        )
    cases = read_cases(folder)
    cases = cases.filter(pl.col("utterance").is_in(list(stored.recordings)))
    recordings = [stored.recordings[id_] for id_ in cases["utterance"].unique(maintain_order=True)]
    scenarios = StutterScenarios({r.utterance.id: r.timings for r in recordings}, stored.clips)
    meaning = Meaning(encoder(before.settings.embeddings))
    with (
        Session(out, recognizers, scenarios, options) as session,
        Progress(options.progress) as bars,
    ):
        bars.begin("replayed cases", cases.height)
        found = replay(recordings, cases, session, meaning, progress=partial(bars.advance, heard=True))
        none = hear_doses(recordings, session, (), PROFILE)
    write_recordings(out, recordings, stored.clips)
    write_found(out, recordings, found, {}, before.settings, none, clips=stored.clips)


def filler_clips() -> tuple[Clip, ...]:
    """Return an um and an uh of a synthetic voice."""
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
            remedy="add a section `[stutter]` to audit.toml and run it again, or"
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
    how = (
        "as real stuttering was measured (mode realistic)"
        if found.settings.mode == "realistic"
        else "as ASTER publishes it (mode aster)"
    )
    return Answer(
        NAME,
        TITLE,
        question={
            **asdict(found.settings),
            "recognizers": list(found.recognizers),
            "dose": sorted({point.rate for point in points}),
            "mixture": points[0].mixture if points else None,
        },
        lead=f"{counted(found.utterances, 'utterance')} were made to stutter {how}, {counted(cases, 'case')} in all"
        f" ({listed([spoken(kind) for kind in found.settings.kinds])}). Errors are counted against what the person"
        f" means to say; how similar answers are is judged by {_judge(found)}.",
        findings=(*_findings(rows), *_oracle(found, labels)),
        tables=Tables(
            (
                _cost_table(rows),
                *_dose_table(points),
                *_comparison_table(found),
                *_case_tables(found),
                *_real_tables(found),
            )
        ),
        figures=(_cost_figure(rows), *_dose_figure(points)),
        notes=(*_example(found), *_lacking(found), *_no_part(found, recognizers), *left_out(reasons)),
        detail=found,
    )


def _judge(found: Stutter) -> str:
    """Return what said how similar answers are, in words."""
    name = found.settings.embeddings
    if name == NGRAMS:
        return f"{NGRAMS} (their letters; `voxaudit models fetch {MINILM}` brings sentence embeddings)"
    return f"{name} (sentence embeddings)"


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


def _verdict(one: Cost | Comparison, p_adjusted: float | None) -> Verdict:
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
        finding = Finding(
            id=finding_id(NAME, row["recognizer"], "werd"),
            measure="werd",
            sentence=_sentence(row),
            estimate=row["werd"],
            excludes=max(limits, key=abs) if row["verdict"] == "not_shown" else None,
            code=few if row["verdict"] == "refused" else None,
            headline=True,
            **of_row(row, "verdict low high p p_adjusted family recognizer speakers utterances"),
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
    said += f": {in_points(abs(change))} {'more' if change >= 0 else 'fewer'}"
    if row["verdict"] == "refused":
        why = (
            f"with {people}, fewer than {FEWEST_SPEAKERS}"
            if row["speakers"] < FEWEST_SPEAKERS
            else "without known speakers"
        )
        return f"{said}; how sure that is cannot be said {why} ({cases})."
    ends = sorted((low, high) if change >= 0 else (-low, -high))
    said += " " + points_interval(change, *ends).partition(" ")[2]
    if row["verdict"] == "not_shown":
        but = "" if low <= 0.0 <= high else f", but {p_value(row['p_adjusted'])} after Holm's correction"
        open_ = not_excluded(max(high, 0.0), "one")
        return f"{said}{but}, so no cost is shown; {open_} ({cases} of {people})."
    return f"{said}, in {cases} of {people}."


def _oracle(found: Stutter, labels: Mapping[str, str]) -> list[Finding]:
    """Return how often a suspicious case was no fault, by the labels people gave."""
    id_, measure = finding_id(NAME, "false_positives"), "false_positive_rate"
    rate = false_positive_rate(labels.values())
    if rate["labeled"]:
        said = percent_interval(rate["rate"], rate["low"], rate["high"])
        sentence = f"Of {rate['labeled']} suspicious cases that people judged, {said} were no fault of the recognizer."
        numbers = {"estimate": rate["rate"], "low": rate["low"], "high": rate["high"]}
        return [Finding(id_, measure, "measured", sentence, headline=True, **numbers)]
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
        "What stuttering costs: all cases together, then cases with one event of one kind",
        rows,
        "recognizer; kind; wer_original: WER before, percent; wer: WER after, percent;"
        " werd[low,high]: change, points; p_adjusted: p, p; verdict: cost; cases: cases, count; speakers",
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
    columns = (
        f"recognizer; {'attribute; group; ' if any(point.group for point in points) else ''}severity;"
        " rate: asked, per 100 words, number; events: put in, per 100 words, number;"
        " wer[low,high]; mer; wil; words; speakers"
    )
    title = f"Errors by amount of stuttering ({points[0].mixture} mixture)"
    names = list(dict.fromkeys(point.recognizer for point in points))
    rows = sorted(
        points,
        key=lambda one: (names.index(one.recognizer), one.attribute or "", one.group or "", one.rate),
    )
    told = [{**asdict(point), "severity": point.severity} for point in rows]
    return [tabulate("dose", title, told, columns)]


def _dose_figure(points: Sequence[DosePoint]) -> list[Figure]:
    rates = sorted({point.rate for point in points})
    if len(rates) < 2:
        return []
    labels = {point.rate: point.severity for point in points}
    ticks = tuple(labels[rate] for rate in rates)

    def panel(
        title: str, part: Sequence[DosePoint], key: str
    ) -> tuple[str, tuple[str, ...], tuple[Series, ...]]:
        at = {(getattr(one, key), one.rate): Cell(one.wer, one.low, one.high) for one in part}
        lines = dict.fromkeys(getattr(one, key) for one in part)
        return title, ticks, tuple(Series(n, tuple(at.get((n, rate)) for rate in rates)) for n in lines)

    panels = [panel("all speakers", [one for one in points if one.group is None], "recognizer")]
    by = dict.fromkeys((one.recognizer, one.attribute) for one in points if one.group is not None)
    for name, attribute in by:
        own = [one for one in points if (one.recognizer, one.attribute) == (name, attribute)]
        panels.append(panel(f"{name}, by {spoken(attribute or '')}", own, "group"))
    curves = Curves(tuple(panels), "word error rate", "severity, or stuttered moments per 100 words")
    alt = "Word error rate against the amount of stuttering, a line for each recognizer, then for each group."
    return [Figure("dose", "Errors by amount of stuttering", alt, curves, "dose")]


def judged(comparisons: Iterable[Comparison]) -> list[dict[str, Any]]:
    """Return comparisons as rows with their verdicts; p is Holm's within a family and recognizer."""
    groups: dict[tuple[str, str], list[Comparison]] = {}
    for one in comparisons:
        groups.setdefault((one.family, one.recognizer), []).append(one)
    return [
        {**asdict(one), "p_adjusted": p, "verdict": _verdict(one, p)}
        for members in groups.values()
        for one, p in zip(members, holm([member.p for member in members]), strict=True)
    ]


def _comparison_table(found: Stutter) -> list[Table]:
    """Return kinds, recognizers and selections against each other."""
    if not found.comparisons:
        return []
    rows = [
        {**row, "one": spoken(row["one"]), "other": spoken(row["other"])} for row in judged(found.comparisons)
    ]
    return [
        tabulate(
            "comparisons",
            "Kinds, recognizers and selections compared on the same recordings",
            rows,
            "family: what is compared; recognizer; one: first; other: second; wer_one: WER of the first, percent;"
            " wer_other: WER of the second, percent; difference[low,high]; p_adjusted: p, p;"
            " verdict: difference shown; speakers",
            note="Kinds: cases with one event each. Selections: the cases kept against as many drawn at random from all"
            " cases and the original. p is adjusted (Holm) for all rows of one family and recognizer; p_runs in the"
            " JSON is the paper's test over the runs, for comparison with it.",
            folded=True,
        )
    ]


def _real_tables(found: Stutter) -> list[Table]:
    """Return how far what was put in lies from real stuttering, and what the checks turned down."""
    tables = []
    if found.real:
        tables.append(
            tabulate(
                "real",
                "How far lengths, gaps and repetitions lie from those of people who stutter",
                [dict(row) for row in found.real],
                "measure; events: events, count; distance: Kolmogorov distance, number;"
                " by_chance: 95 % of samples of this size, number",
                note="The largest difference between the shares of generated and of real ones up to any length.",
                folded=True,
            )
        )
    if found.searched:
        tables.append(
            tabulate(
                "searched",
                "What the search kept and dropped",
                [{**row, "kept": "kept" if row["kept"] else "dropped"} for row in found.searched],
                "kept: cases; cases: number, count; non_dominated: not dominated, count;"
                " non_dominated_strict: not strictly dominated, count; m1: M1, median, number; m2: M2, median, number;"
                " r_50: R (0: usual), median, number; r_25: R, 25 %, number; r_75: R, 75 %, number",
                note="M1: how alike the transcripts are; M2: how alike what is said and meant; R: how unlike real"
                " stuttering.",
                folded=True,
            )
        )
    drawn = found.checks.get("drawn") or 0
    if drawn:
        rejected = found.checks["rejected"]
        rows = [
            {"check": spoken(name), "rejected": rejected.get(name, 0), "share": rejected.get(name, 0) / drawn}
            for name in CHECKS
        ]
        tables.append(
            tabulate(
                "checks",
                f"Events that failed a check and were drawn anew, of {drawn:,}",
                rows,
                "check; rejected: rejected, count; share: share, percent",
                folded=True,
            )
        )
    return tables


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
            "severity": spoken(one.severity or "none"),
            "put_in": describe_chain(Chain.parse(one.chain).operations),
        }
        for one in sorted(found.suspicious, key=lambda one: one.similarity)
    ]
    below = f"{found.settings.threshold:g} by {found.settings.embeddings}"
    return [
        tabulate(
            "faults",
            f"Suspicious answers (similarity below {below}) by kind of fault",
            faults,
            "recognizer; fault: kind of fault; cases: suspicious cases, count",
        ),
        tabulate(
            "scoring",
            "Stuttered cases scored in other ways",
            scored,
            "recognizer; against: against the text; fillers; wer; mer; wil; words",
            folded=True,
        ),
        tabulate(
            "suspicious",
            "Suspicious cases, the least similar first",
            cases,
            "recognizer; intended: meant; surface: said; put_in: what was put in; original: heard in the original;"
            " transcript: heard stuttered; similarity: similarity (1: the same), number; fault: kind of fault;"
            " severity: how bad",
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


def _lacking(found: Stutter) -> list[Note]:
    """Return what stuttering in other languages, or by the timings of another aligner, lacks."""
    if found.settings.mode != "realistic" or not found.checks.get("drawn"):
        return []
    notes = []
    others = [one for one in found.checks.get("languages", ()) if one.lower()[:2] != "en"]
    if others:
        text = (
            f"not English ({listed(others)}): all words count as content words, and lengths, gaps and places are those"
            " of people who stutter in English"
        )
        notes.append(Note("language", text, {"languages": others}))
    if not found.checks.get("placed", True):
        text = (
            "words were not looked for after an event (the check `place`): the timings are another aligner's"
        )
        notes.append(Note("not_placed", text))
    return notes


def _no_part(found: Stutter, recognizers: Sequence[str]) -> list[Note]:
    absent = [name for name in recognizers if name not in found.recognizers]
    text = f"not part of this audit: {listed(absent)}"
    return [Note("no_part", text, {"recognizers": absent})] if absent else []
