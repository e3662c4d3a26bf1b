"""The attack audit: a corpus and recognizers in, adversarial audio, transcripts and a row of rates per SNR out.

The answer is made from what the folder holds, so that it is the same when it is made and whenever it is read again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from voxaudit.answer import (
    Answer,
    Cell,
    Curves,
    Figure,
    Finding,
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
from voxaudit.audits.attack import FOUND
from voxaudit.audits.attack.campaign import Campaign, Plan
from voxaudit.audits.attack.result import Row, transcript_rows
from voxaudit.audits.audit import asks
from voxaudit.audits.hearing import as_written, corpus_to_hear, finished, left_out, reading
from voxaudit.audits.scores import is_run
from voxaudit.corpus import Corpus, Utterance, base_language, labeled, read_corpus
from voxaudit.corpus.merge import LANGUAGE
from voxaudit.corpus.select import select
from voxaudit.errors import VoxauditError, one_line
from voxaudit.options import ON_DEMAND, RunOptions, takes_options
from voxaudit.recognize.attack.gradient import Norm, Pgd, UniversalSettings
from voxaudit.recognize.attack.models import AttackError, Victim, VictimLike, open_victims
from voxaudit.registry import suggest
from voxaudit.run.folder import Run, clean_corpus, make_folder
from voxaudit.run.plan import in_language, languages_of
from voxaudit.run.progress import Progress
from voxaudit.run.store import TRANSCRIPT_COLUMNS
from voxaudit.score import normalizer, score_transcripts
from voxaudit.tables import write_atomically, write_json
from voxaudit.wording import counted, in_points, not_excluded, percent

NAME, TITLE, ABOUT = "attack", "Attacks", "adversarial noise"


@dataclass(frozen=True)
class Attack:
    """What was found, as `attack.json` keeps it: the rows, and how many utterances were left out and why."""

    attacks: tuple[Row, ...]
    left_out: Mapping[str, int]
    notes: tuple[str, ...] = ()


@asks(NAME)
@takes_options("progress", *ON_DEMAND)
def attack(
    source: Any,
    recognizers: Sequence[VictimLike] | Mapping[str, VictimLike] = (),
    *,
    method: str = "pgd",
    snr: Sequence[float] = (40, 30, 20, 10),
    out: str | Path | None = None,
    target: str | None = None,
    transfer: Sequence[VictimLike] | Mapping[str, VictimLike] = (),
    utterances: int | None = None,
    where: Sequence[str] = (),
    attributes: Sequence[str] = (),
    norm: Norm = "l2",
    steps: int = 50,
    restarts: int = 0,
    enough: float = 1.0,
    dev: str | Path | Corpus | None = None,
    epochs: int = 10,
    queries: int = 200,
    batch: int = 16,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    skip_bad_rows: bool = False,
    options: RunOptions | None = None,
    **given: Any,
) -> Answer:
    """Say how little noise, chosen by an adversary, is enough to make the recognizers fail.

    `source` is a corpus with reference texts, or the path of one: every recognizer is attacked at every signal-to-noise
    ratio `snr` (dB), and the other ones and those of `transfer` hear the result. The folder `out` gets the adversarial
    audio with a manifest, the universal perturbations, `transcripts.parquet`, `scores.parquet` (with SRB's scenario
    ids, so that the robustness audit reads it) and `attack.json`. A finished attack's folder, or a run with one in its
    folder `attack`, is read again and nothing is heard. A run and `recognizers`, under the names they have in it,
    attack the run's clean speech: what is found stays in its folder `attack` and stands in its report and its
    robustness.

    `method` is `pgd` (noise for each utterance by gradient, SRB Eq. 1 to 3: `steps`, `restarts`, a bound in `norm`;
    an utterance is done at a word error rate of `enough`, with 0 never before the last step, as in the paper; `target`
    is a text it shall hear), `universal` (one noise for all, Algorithm 1: found in `epochs` passes over `dev`,
    without one on half of the speakers) or `blackbox` (by `queries` transcripts per utterance; any recognizer).
    `recognizers` are names (`whisper:tiny.en`, `hf:FOLDER`, `file.py:object`, an engine; `NAME=hf:FOLDER` gives it the
    name it has in a run), models with gradients (`Differentiable`) or recognizers. `where` are clauses that choose
    utterances (`language=en`); `utterances` attacks only so many, of as many speakers and groups of the `attributes` as
    possible; `batch` are taken at a time. The options of `RunOptions` can be given together as `options`, and some by
    their names (`workers=2`).

    The harm is the change of the pooled word error rate; its interval resamples speakers, and it is shown where that
    leaves out 0. Where fewer than five speakers are known utterances are resampled, and the harm is only measured: how
    others would bear the noise cannot be known from so few.
    """
    plan = Plan(method, tuple(dict.fromkeys(map(float, snr))), target, queries=queries)
    folder = finished(source, NAME, FOUND)
    run = None if folder is None or not is_run(folder.parent) else Run(folder.parent)
    if folder is not None and (run is None or not recognizers):
        if out is not None or recognizers or utterances is not None or where or plan != Plan():
            raise VoxauditError(
                "a finished attack is read again, nothing is heard: give a corpus to make one, or a run and what is"
                " attacked",
                see=("out", "recognizers"),
            )
        return _answer(folder)
    options = RunOptions.of(options, **given)
    options.require_on_demand()
    plan = replace(
        plan,
        pgd=Pgd(20.0, norm, steps, restarts=restarts, enough=enough or math.inf, batch=batch),
        universal=UniversalSettings(20.0, epochs=epochs, batch=batch),
        dev=None if dev is None else corpus_to_hear(dev),
        seed=options.seed,
    )
    if not recognizers:
        raise VoxauditError("name what is attacked", see=("recognizers",))
    victims = open_victims(recognizers)
    if run is not None:
        source, out = clean_corpus(run), out or folder
        _require_heard([victim.name for victim in victims], run)
    if out is None:
        raise VoxauditError("name a folder for what is found", see=("out",))
    if isinstance(source, str | Path):
        source = read_corpus(source, format=format, columns=columns, skip_bad_rows=skip_bad_rows)
    if where and isinstance(source, Corpus):
        source = select(source, where)
    corpus = labeled(corpus_to_hear(source, utterances=utterances, attributes=attributes, seed=options.seed))
    victims = [_told(victim, corpus) for victim in victims]
    if method != "blackbox":
        victims = [victim.with_gradient(method) for victim in victims]
    spoken, without = _with_reference(corpus, target)
    listeners = open_victims(transfer)
    everyone = [*victims, *(one for one in listeners if one.name not in {v.name for v in victims})]
    folder = make_folder(out)
    rows: list[Row] = []
    heard: list[tuple[Any, ...]] = []
    notes: list[str] = []
    with Progress(options.progress) as bars:
        each = {"pgd": 1, "universal": epochs, "blackbox": 2 * queries}[method]
        bars.begin(method, len(spoken) * len(victims) * len(plan.snrs) * each)
        for victim in victims:
            others = [one for one in everyone if one.name != victim.name]
            advance = partial(bars.advance, heard=True)
            part = Campaign(victim, others, spoken, plan, folder, options, advance, notes, without)
            for row, tried in part.run():
                rows.append(row)
                heard += transcript_rows(row, tried)
    _write(Attack(tuple(rows), without, tuple(notes)), heard, corpus, folder)
    said = f"audio, transcripts.parquet, scores.parquet (for the audit `robustness`), {FOUND}"
    return as_written(_answer(folder), folder, said)


def _require_heard(names: Sequence[str], run: Run) -> None:
    """Raise one line where something is attacked that the run has not heard: it would have nothing to stand beside."""
    known = list(run.config["recognizers"])
    for name in names:
        if name not in known:
            raise VoxauditError(
                f"{run.folder}: no recognizer '{one_line(name, 60)}' was heard in this run.{suggest(name, known)} Give"
                f" what is attacked the name it has there, NAME=..., which is one of: {', '.join(known)}",
                see=("recognizers",),
            )


def _told(victim: Victim, corpus: Corpus) -> Victim:
    """Return what is attacked, told which language is spoken where it can be; several languages raise one line."""
    if victim.recognizer is None:
        return victim
    spoken = corpus.table[LANGUAGE].drop_nulls().unique().to_list() if LANGUAGE in corpus.attributes else []
    languages = sorted({base_language(one) for one in spoken})
    known = languages_of(victim.recognizer)
    if len(languages) > 1 or any(known and one not in known for one in languages):
        raise VoxauditError(
            f"the utterances are in {', '.join(languages)}: attack '{victim.name}' in one language that it knows"
            f" (where language={(*known, *languages)[0]})",
            see=("where",),
        )
    return replace(victim, recognizer=in_language(victim.recognizer, next(iter(languages), None)))


def _with_reference(corpus: Corpus, target: str | None) -> tuple[list[Utterance], dict[str, int]]:
    rule = normalizer("basic")
    spoken: list[Utterance] = []
    without: dict[str, int] = {}
    for utterance in corpus:
        if utterance.text is None:
            why = "the utterance has no reference text"
        elif target is not None and rule(utterance.text) == rule(target):
            why = "the utterance says the target already"
        else:
            spoken.append(utterance)
            continue
        without[why] = without.get(why, 0) + 1
    if not spoken:
        raise AttackError("no utterance can be attacked: " + ("; ".join(without) or "the corpus is empty"))
    return spoken, without


def _write(found: Attack, heard: Sequence[tuple[Any, ...]], corpus: Corpus, folder: Path) -> None:
    names = ("utterance", "scenario", "recognizer", "text", "seconds", "failure")
    schema = {name: TRANSCRIPT_COLUMNS[name] for name in names}
    transcripts = pl.DataFrame(heard, schema=schema, orient="row").unique(
        ["utterance", "scenario", "recognizer"], keep="first", maintain_order=True
    )
    scores = score_transcripts(transcripts, corpus.table).scores
    write_atomically(folder / "transcripts.parquet", transcripts.write_parquet)
    write_atomically(folder / "scores.parquet", scores.write_parquet)
    write_json(folder / FOUND, asdict(found), indent=2)


# What is said of it.


def _answer(folder: Path) -> Answer:
    """Return what the folder says; damaged content is a refusal."""
    path = folder / FOUND
    if not path.is_file():
        raise refuse(
            "not_asked",
            "no attack was made on the recognizers of this run",
            about=ABOUT,
            remedy="let the attack on a corpus write to the folder `attack` in the run's: the method `blackbox` attacks"
            " any recognizer, `pgd` one with gradients",
        )
    with reading(path, "an attack", ABOUT):
        document = json.loads(path.read_text(encoding="utf-8"))
        rows = (Row(**{one.name: row[one.name] for one in fields(Row)}) for row in document["attacks"])
        # The same ratio may have been asked twice.
        attacks = {(row.recognizer, row.scenario): row for row in rows}
        without, notes = dict(document.get("left_out", {})), map(str, document.get("notes", ()))
        return _said(Attack(tuple(attacks.values()), without, tuple(notes)))


def _said(found: Attack) -> Answer:
    rows = found.attacks
    return Answer(
        NAME,
        TITLE,
        question={
            "recognizers": list(dict.fromkeys(row.recognizer for row in rows)),
            "method": next((row.method for row in rows), None),
            "snr": list(dict.fromkeys(row.snr_asked for row in rows)),
        },
        lead="Noise that is chosen to do harm, at a given level below the speech (the signal-to-noise ratio in dB: more"
        " is quieter), beside plain noise of the same level.",
        findings=tuple(_finding(row, rows) for row in rows if row.werd is not None),
        tables=Tables((_table(rows), *_transfer(rows))),
        figures=tuple(_figure(rows)),
        notes=tuple(_notes(found)),
        detail=found,
    )


def _finding(row: Row, rows: Sequence[Row]) -> Finding:
    quietest = max(one.snr_asked for one in rows if one.recognizer == row.recognizer)
    low, high, verdict = row.werd_low, row.werd_high, _verdict(row)
    return Finding(
        id=finding_id(NAME, row.recognizer, row.scenario, "werd"),
        measure="werd",
        verdict=verdict,
        sentence=_sentence(row, verdict),
        estimate=row.werd,
        low=low,
        high=high,
        recognizer=row.recognizer,
        scenario=row.scenario,
        speakers=row.speakers,
        utterances=row.utterances,
        excludes=max(high or 0.0, low or 0.0, key=abs) if verdict == "not_shown" else None,
        code="too_few_utterances" if verdict == "refused" else None,
        headline=row.snr_asked == quietest,
    )


def _verdict(row: Row) -> Verdict:
    if row.werd_low is None or row.werd_high is None:
        return "refused"
    if row.interval_by != "speaker":
        return "measured"
    return "not_shown" if row.werd_low <= 0.0 <= row.werd_high else "shown"


def _sentence(row: Row, verdict: Verdict) -> str:
    change, low, high = row.werd or 0.0, row.werd_low, row.werd_high
    adds, of = ("adds", "to") if change >= 0 else ("takes", "off")
    ends = () if low is None or high is None else sorted((low, high) if change >= 0 else (-low, -high))
    # A search by transcripts is compared with as many draws of plain noise, of which the worst counts.
    tries = "the worst of as much plain noise" if row.method == "blackbox" else "plain noise"
    plain = "" if row.wer_noise is None else f"; {tries} of that level gives {percent(row.wer_noise)}"
    sure = {
        "not_shown": f", so no harm is shown; {not_excluded(max(high or 0.0, 0.0), 'one')}",
        "refused": f", but how sure that is cannot be said with {counted(row.utterances, 'utterance')}",
        "measured": f" (measured on {_whose(row)}: too few to say it of others)",
    }.get(verdict, "")
    return (
        f"Noise chosen by an adversary ({row.method}), {row.snr_asked:g} dB below the speech, {adds}"
        f" {in_points(abs(change), *ends)} {of} the word error rate of {row.recognizer}, from"
        f" {percent(row.wer_clean)} to {percent(row.wer_attacked)}{sure}{plain}."
    )


def _whose(row: Row) -> str:
    """Return whose speech was attacked where speakers are few or not known."""
    said = counted(row.utterances, "utterance")
    return f"{said} of {counted(row.speakers, 'speaker')}" if row.speakers else f"{said} of unknown speakers"


def _table(rows: Sequence[Row]) -> Table:
    ours = {
        "werd_low": "low",
        "werd_high": "high",
        "werd_over_noise_low": "over_noise_low",
        "werd_over_noise_high": "over_noise_high",
    }
    names = [one.name for one in fields(Row) if one.name not in ("failures", "transfer", "settings")]
    records = [
        {name: getattr(row, name) for name in names if name not in ours}
        | {short: getattr(row, name) for name, short in ours.items()}
        | {"verdict": _verdict(row), "failures": sum(row.failures.values())}
        for row in rows
    ]
    noise = "WER worst plain noise" if any(row.method == "blackbox" for row in rows) else "WER plain noise"
    return tabulate(
        "attacks",
        "Every attack",
        records,
        f"recognizer; scenario; snr_asked: dB, number; wer_clean: WER clean, percent; wer_noise: {noise}, percent;"
        " wer_attacked: WER attacked, percent; werd[low,high]; verdict: harm;"
        " werd_over_noise[over_noise_low,over_noise_high]: over plain noise, points;"
        " success_rate: succeeded, percent; utterances; speakers",
    )


def _transfer(rows: Sequence[Row]) -> list[Table]:
    heard = [
        {"recognizer": row.recognizer, "scenario": row.scenario, "listener": name, **rates}
        for row in rows
        for name, rates in row.transfer.items()
    ]
    columns = (
        "recognizer: made on; scenario; listener: heard by; wer_clean: WER clean, percent;"
        " wer_attacked: WER attacked, percent; werd"
    )
    return [tabulate("transfer", "Transfer: made on one, heard by another", heard, columns)] if heard else []


def _figure(rows: Sequence[Row]) -> list[Figure]:
    """Return the error rates against the level of the noise, where there are several, quiet noise first."""
    panels = []
    for name in dict.fromkeys(row.recognizer for row in rows):
        own = sorted((row for row in rows if row.recognizer == name), key=lambda row: -row.snr_asked)
        lines = (("attacked", "wer_attacked"), ("plain noise", "wer_noise"), ("clean", "wer_clean"))
        series = tuple(
            Series(label, tuple(Cell(number_or_none(getattr(row, key))) for row in own))
            for label, key in lines
        )
        panels.append((name, tuple(f"{row.snr_asked:g}" for row in own), series))
    if not any(len(levels) > 1 for _, levels, _ in panels):
        return []
    drawing = Curves(tuple(panels), "word error rate", "signal-to-noise ratio, dB")
    alt = "Word error rate under attack, in plain noise and clean, against the signal-to-noise ratio, by recognizer."
    return [Figure("attacks", "Errors by level of the noise", alt, drawing, "attacks")]


def _notes(found: Attack) -> list[Note]:
    notes = [Note("made", text) for text in found.notes] + left_out(found.left_out.items())
    notes += [
        Note(
            "not_attacked",
            f"{row.recognizer}, {row.scenario}: {counted(count, 'utterance')} not attacked ({why})",
            {"recognizer": row.recognizer, "scenario": row.scenario, "reason": why, "count": count},
        )
        for row in found.attacks
        for why, count in row.failures.items()
    ]
    if any(row.interval_by == "utterance" for row in found.attacks):
        text = (
            "intervals are over utterances where fewer than five speakers are known: they say nothing about other"
            " speakers, and no harm is claimed"
        )
        notes.append(Note("by_utterance", text))
    return notes
