"""The stutter audit: align, search, hear, score, classify. Everything lands in one folder and resumes there."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from voxaudit.align import Timings, align_corpus
from voxaudit.audits.stutter.search import NORMALIZER, Recording, Settings
from voxaudit.audits.stutter.scoring import Dose, dose_response
from voxaudit.audits.stutter.folder import (
    QUEUE,
    Suspicious,
    false_positive_rate,
    fault_counts,
    read_labels,
    suspicious_cases,
    write_queue,
)
from voxaudit.audits.stutter.folder import write_recordings
from voxaudit.audits.stutter.folder import forget_refusal
from voxaudit.audits.stutter.scoring import Change, all_rates, by_kind, change, rates, trial_table
from voxaudit.audits.stutter.search import Found, Progress, search
from voxaudit.corpus import Corpus, Utterance
from voxaudit.errors import VoxauditError, one_line
from voxaudit.options import ON_DEMAND, RunOptions, takes_options
from voxaudit.perturb import CLEAN
from voxaudit.perturb.stutter import Clip
from voxaudit.perturb.stutter.scenarios import StutterScenarios
from voxaudit.recognize import AnswersById, Recognizer, require
from voxaudit.run.session import Session
from voxaudit.score.meaning import Meaning, encoder
from voxaudit.score.normalize import normalizer
from voxaudit.tables import write_atomically

Say = Callable[[str], None]


@dataclass(frozen=True)
class Stutter:
    """What a stutter audit found.

    `table` has one row per trial (an original has an empty chain); `suspicious` are the cases for people to judge,
    least similar first; `skipped` says why a recording was left out; `dose` is the response to the rate of stuttering.
    """

    settings: Settings
    table: pl.DataFrame
    suspicious: list[Suspicious]
    skipped: Mapping[str, str]
    dose: Dose | None
    labels: Mapping[str, str]
    trials_heard: int

    @cached_property
    def findings(self) -> dict[str, Any]:
        """The findings as plain values, as `--json` prints them. Rates are shares; similarity is -1 to 1."""
        return {
            "settings": asdict(self.settings) | {"normalizer": normalizer(NORMALIZER).id},
            "utterances": self.table["utterance"].n_unique(),
            "cases": self.table.filter(pl.col("chain") != "").select("utterance", "chain").unique().height,
            "recognizers": {name: _recognizer(part) for name, part in self._parts()},
            "kinds": self._kinds(),
            "suspicious": [
                {
                    "utterance": one.utterance,
                    "recognizer": one.recognizer,
                    "chain": one.chain,
                    "intended": one.intended,
                    "surface": one.surface,
                    "transcripts": {"original": one.original, "case": one.transcript},
                    "similarity": one.similarity,
                    "fault": one.fault,
                    "span": one.span,
                }
                for one in self.suspicious
            ],
            "faults": fault_counts(self.suspicious),
            "faults_by_recognizer": {
                name: fault_counts(one for one in self.suspicious if one.recognizer == name)
                for name, _ in self._parts()
            },
            "labels": false_positive_rate(self.labels.values()),
            "dose": None if self.dose is None else self.dose.to_list(),
            "skipped": dict(self.skipped),
        }

    def _parts(self) -> list[tuple[str, pl.DataFrame]]:
        names = self.table["recognizer"].unique(maintain_order=True).to_list()
        return [(name, self.table.filter(pl.col("recognizer") == name)) for name in names]

    def _kinds(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for kind, part in by_kind(self.table, self.settings.kinds).items():
            found[kind] = {
                name: _recognizer(own)
                for name, _ in self._parts()
                if not (own := part.filter(pl.col("recognizer") == name)).is_empty()
            }
        return found


@takes_options(*ON_DEMAND)
def stutter(
    corpus: Corpus,
    recognizers: Mapping[str, Recognizer],
    *,
    out: str | Path,
    settings: Settings = Settings(),  # noqa: B008 (frozen)
    doses: Sequence[float] = (),
    mixture: str = "sep28k",
    clips: Sequence[Clip] = (),
    options: RunOptions | None = None,
    timings: Mapping[str, Timings | str] | None = None,
    labels: str | Path | None = None,
    only_agreed: bool = False,
    progress: Progress | None = None,
    say: Say | None = None,
    **given: Any,
) -> Stutter:
    """Audit recognizers with stuttered speech made from a corpus (ASTER).

    Recordings without a reference text are aligned with what the first recognizer heard. `timings` are those of
    another aligner (`read_alignments`), by utterance id or by the name of a whole recording's file. `doses` are rates
    of stuttering (events per 100 words) to measure a dose response at, with the kinds in the shares of `mixture`.
    `only_agreed` takes only recordings that all recognizers hear alike, as the paper does. The folder `out` holds the
    store, `cases.parquet`, `suspicious.jsonl` (the review queue), `recordings.parquet` (what makes the cases' audio
    again) and `stutter.json`; the same call again hears nothing twice.
    """
    options = RunOptions.of(options, **{"seed": settings.seed, **given})
    options.require_on_demand()
    tell = say or (lambda _: None)
    for name, recognizer in recognizers.items():
        if isinstance(recognizer, AnswersById):
            raise VoxauditError(
                f"recognizer '{name}' only looks up transcripts; a search needs one that listens"
            )
        require(recognizer)
    if not recognizers:
        raise VoxauditError("no recognizer given. `voxaudit list recognizers` shows what there is")
    folder = Path(out)
    # A mistake in somebody's labels is told before the search, not after it.
    if labels is not None:
        read_labels(labels)
    if (folder / QUEUE).exists():
        read_labels(folder / QUEUE)
    meaning = Meaning(encoder(settings.embeddings))
    recordings, skipped = _recordings(corpus, recognizers, folder, options, timings or {})
    if not recordings:
        first = next(iter(skipped.values()), "the corpus is empty")
        raise VoxauditError(f"{corpus.source or corpus.name}: no recording can be stuttered ({first})")
    tell(f"{len(recordings)} of {len(corpus)} recordings aligned")
    scenarios = StutterScenarios({r.utterance.id: r.timings for r in recordings}, tuple(clips))
    with Session(folder, recognizers, scenarios, options) as session:
        if only_agreed:
            recordings = _agreed(recordings, session, skipped)
            tell(f"{len(recordings)} recordings are heard alike by all recognizers")
        found = search(recordings, session, meaning, settings, clips=clips, progress=progress)
        dose = (
            dose_response(
                recordings,
                session,
                doses,
                mixture,
                seed=settings.seed,
                severity=settings.severity,
                clips=clips,
            )
            if doses
            else None
        )
        heard = session.heard
    write_recordings(folder, recordings, clips)
    return _finish(folder, recordings, found, skipped, settings, dose, labels, heard)


def _finish(
    folder: Path,
    recordings: Sequence[Recording],
    found: Found,
    skipped: Mapping[str, str],
    settings: Settings,
    dose: Dose | None,
    labels: str | Path | None,
    heard: int,
) -> Stutter:
    normalize = normalizer(NORMALIZER)
    texts = {r.utterance.id: normalize(r.text) for r in recordings}
    originals = {id_: dict(said) for id_, said in found.originals.items()}
    table = trial_table(found.cases, originals, texts)
    if table.is_empty():
        reason = next(iter(found.skipped.values()), "every case failed")
        raise VoxauditError(f"no stuttered case could be heard ({reason})")
    suspects = suspicious_cases(found.cases, originals, settings.threshold)
    queue = write_queue(folder, suspects)
    given = read_labels(labels or queue)
    audit = Stutter(settings, table, suspects, {**skipped, **found.skipped}, dose, given, heard)
    write_atomically(folder / "cases.parquet", table.write_parquet)
    document = json.dumps(audit.findings, indent=1, ensure_ascii=False) + "\n"
    write_atomically(folder / "stutter.json", lambda path: path.write_text(document, encoding="utf-8"))
    forget_refusal(folder)
    return audit


def _recordings(
    corpus: Corpus,
    recognizers: Mapping[str, Recognizer],
    folder: Path,
    options: RunOptions,
    given: Mapping[str, Timings | str],
) -> tuple[list[Recording], dict[str, str]]:
    """Align what no other aligner did; texts that are missing are taken from the first recognizer's transcripts."""
    utterances = list(corpus)
    brought = {u.id: timings for u in utterances if (timings := _brought(u, given)) is not None}
    if given and not brought:
        raise VoxauditError(
            f"none of the {len(given)} timings is called like an utterance or its audio file"
            f" (first: '{one_line(next(iter(given)), 60)}')"
        )
    rest = [u for u in utterances if u.id not in brought]
    texts = {id_: timings.text for id_, timings in brought.items() if isinstance(timings, Timings)}
    texts |= {u.id: u.text for u in utterances if u.text}
    untold = [u for u in rest if not u.text]
    if untold:
        name, first = next(iter(recognizers.items()))
        with Session(folder, {name: first}, StutterScenarios({}), options) as session:
            heard = session.hear([(u, CLEAN) for u in untold])[name]
        texts |= {
            u.id: o.transcript.text for u, o in zip(untold, heard, strict=True) if o.transcript is not None
        }
    normalize = normalizer(NORMALIZER)
    recordings, skipped = [], {}
    found = dict(brought)
    if rest:
        found |= {u.id: answer for u, answer in align_corpus(rest, texts=texts, workers=options.processes)}
    for utterance in utterances:
        timings, text = found[utterance.id], texts.get(utterance.id, "")
        if isinstance(timings, str):
            skipped[utterance.id] = timings
        elif utterance.id in brought and normalize(timings.text) != normalize(text):
            skipped[utterance.id] = "the timings that were given have other words than the text"
        else:
            recordings.append(Recording(utterance, timings, text))
    return recordings, skipped


def _brought(utterance: Utterance, given: Mapping[str, Timings | str]) -> Timings | str | None:
    whole = utterance.start == 0 and utterance.duration is None
    return given.get(utterance.id) or (given.get(utterance.audio.stem) if whole else None)


def _agreed(recordings: Sequence[Recording], session: Session, skipped: dict[str, str]) -> list[Recording]:
    normalize = normalizer(NORMALIZER)
    heard = session.hear([(r.utterance, CLEAN) for r in recordings])
    kept = []
    for number, recording in enumerate(recordings):
        said = {
            None if (t := outcomes[number].transcript) is None else normalize(t.text)
            for outcomes in heard.values()
        }
        if said == {normalize(recording.text)}:
            kept.append(recording)
        else:
            skipped[recording.utterance.id] = "the recognizers do not all hear the original as its text"
    if not kept:
        raise VoxauditError("no recording is heard alike by all recognizers; leave --only-agreed out")
    return kept


def _recognizer(table: pl.DataFrame) -> dict[str, Any]:
    """Return the rates of one recognizer before and after, and how sure the difference is."""
    after, before = table.filter(pl.col("chain") != ""), table.filter(pl.col("chain") == "")
    plain, original = rates(after), rates(before)
    kept = rates(after.filter("kept"))
    moved = change(table)
    return {
        "wer": plain.wer,
        "mer": plain.mer,
        "wil": plain.wil,
        "wer_original": original.wer,
        "mer_original": original.mer,
        "wil_original": original.wil,
        "wer_selected": kept.wer,
        "mer_selected": kept.mer,
        "wil_selected": kept.wil,
        "against": {
            target: {f"fillers_{fillers}": asdict(one) for fillers, one in ways.items()}
            for target, ways in all_rates(after).items()
        },
        "cases": after.height,
        **(dict.fromkeys(field.name for field in fields(Change)) if moved is None else asdict(moved)),
    }
