"""Chapters that are no audits: the worst cases to listen to, and what is needed to repeat a run."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import polars as pl

from voxaudit.answer import Column, Note, Refusal, Table, tabulate
from voxaudit.audio import Audio, read, resample
from voxaudit.audits.scores import Scores
from voxaudit.audits.stutter.folder import Stutter, Suspicious
from voxaudit.audits.stutter.search import NORMALIZER as KEEPS_FILLERS
from voxaudit.corpus import Corpus, Utterance
from voxaudit.errors import VoxauditError
from voxaudit.perturb import CLEAN, Scenario, parse_scenario
from voxaudit.perturb.describe import in_words
from voxaudit.perturb.settings import describe_all
from voxaudit.perturb.sources import Source, reopen_sources
from voxaudit.perturb.stutter.chain import Chain
from voxaudit.perturb.stutter.checks import describe_chain
from voxaudit.perturb.stutter.recordings import Marks, read_recordings
from voxaudit.render.document import Case, Chapter
from voxaudit.run import Run
from voxaudit.run.folder import clean_corpus
from voxaudit.score.align import align_words
from voxaudit.score.normalize import Normalizer, normalizer
from voxaudit.score.run import normalizer_of
from voxaudit.tables import total
from voxaudit.wording import named, spoken

RATE = 16000
"""Hz of packed audio: what recognizers mostly hear."""

BLOCK = 8192
"""Samples that are packed at a time."""

LONGEST = 30.0
"""Seconds of a recording that are packed."""

MEDIA_TYPE = "audio/ogg"


@dataclass(frozen=True)
class CaseAudio:
    """A trial's audio, packed: as recorded and as heard; None where it could not be made."""

    original: bytes | None = None
    audio: bytes | None = None
    media_type: str = MEDIA_TYPE

    @property
    def size(self) -> int:
        """Bytes of both."""
        return len(self.original or b"") + len(self.audio or b"")


class Remaker:
    """Makes the audio of a run's trials again: the same seed, the same sources, the same bits.

    Sources whose recordings are no longer those of the run raise one line.
    """

    def __init__(self, run: Run) -> None:
        config = run.config
        self._run = run
        self._seed = int(config["seed"])
        self._roles = set(config.get("corpora", {}))
        self._sources: dict[str, Source] = reopen_sources(config.get("sources", {}), clean_corpus(run))

    def make(self, utterance: str, scenario: str) -> CaseAudio:
        """Return a trial's audio; without what cannot be read, made or packed."""
        found = self._utterance(utterance)
        if found is None:
            return CaseAudio()
        try:
            clip = read(found.audio, start=found.start, duration=found.duration)
            heard = self._scenario(scenario).apply(clip, seed=self._seed, utterance=found.id)
            original = pack(clip)
            return CaseAudio(original, None if scenario == CLEAN else pack(heard))
        except (VoxauditError, ValueError, ImportError):
            return CaseAudio()

    def _utterance(self, id_: str) -> Utterance | None:
        rows = self._run.corpus.filter(pl.col("id") == id_).head(1)
        return next(iter(Corpus("", "run", rows)), None)

    def _scenario(self, id_: str) -> Scenario:
        return Scenario(id_, None) if id_ in self._roles else parse_scenario(id_, self._sources)


def pack(audio: Audio) -> bytes:
    """Return audio as Ogg Vorbis at 16 kHz, at most its first half minute."""
    import numpy as np
    import soundfile

    low = resample(audio, RATE)
    samples = np.clip(low.samples[: int(LONGEST * RATE)], -1.0, 1.0)
    buffer = io.BytesIO()
    try:
        with soundfile.SoundFile(buffer, "w", RATE, 1, format="OGG", subtype="VORBIS") as file:
            for first in range(0, len(samples), BLOCK):  # the encoder keeps a whole call on its stack
                file.write(samples[first : first + BLOCK])
    except (soundfile.SoundFileError, TypeError) as error:
        raise VoxauditError(f"cannot pack audio as Ogg Vorbis ({error})") from error
    return buffer.getvalue()


MOST_CASES = 40
EACH = 2
"""Cases of one recognizer and one family of scenarios."""
_LOOKED_AT = 2000  # of a family, for one of another speaker

OPERATIONS = {"equal": "=", "substitute": "substitution", "delete": "deletion", "insert": "insertion"}


def worst_cases(scores: Scores, run: Run, attributes: Sequence[str], audio_bytes: int) -> Chapter:
    """Return the trials that got worst by being disturbed, to read and to listen to."""
    id_, title = "cases", "Worst cases"
    if scores.frame.is_empty():
        why = Refusal("no_references", title.lower(), "no reference text was scored")
        return Chapter(id_, title, refusals=(why,))
    chosen = worst_trials(scores)
    if chosen.is_empty():
        why = Refusal(
            "nothing_disturbed",
            title.lower(),
            "no disturbed trial got worse than its clean twin",
            remedy="harsher scenarios",
        )
        return Chapter(id_, title, refusals=(why,))
    notes = [
        Note(
            "chosen",
            "Chosen by how many more errors there are than in clean speech, up to two per recognizer and family of"
            " scenarios, from different speakers where there are several. They show what happens, not how often.",
        )
    ]
    remaker = None
    if audio_bytes:
        try:
            remaker = Remaker(run)
        except VoxauditError as error:
            notes.append(Note("no_audio", f"No audio: {error}."))
    cases = _cases(run, chosen, attributes, remaker, audio_bytes)
    if any(case.audio for case in cases):
        text = (
            "Audio was made again as it was heard and is packed with loss (Ogg Vorbis); `voxaudit perturb` writes it as"
            " it was."
        )
        notes.append(Note("packed", text))
    return Chapter(id_, title, cases=tuple(cases), notes=tuple(notes))


def worst_trials(scores: Scores, most: int = MOST_CASES, each: int = EACH) -> pl.DataFrame:
    """Return the trials to show: recognizer, scenario, utterance, speaker, family, excess, and their counts.

    `excess` is the number of errors beyond those of the same utterance's clean trial, per word said. For every
    recognizer and family of scenarios the worst are taken, a speaker only once per recognizer while there are others;
    all first ones come before the second ones, so that a cut keeps every family.
    """
    errors = pl.sum_horizontal("substitutions", "deletions", "insertions").alias("errors")
    keys = ["utterance", "recognizer"]
    trials = scores.frame.lazy()
    clean = trials.filter(pl.col("scenario") == CLEAN).select(
        *keys, errors.alias("clean_errors"), pl.col("words").alias("clean_words")
    )
    families = {name: setting.category for name, setting in describe_all(scores.scenarios).items()}
    pool = (
        trials.filter(pl.col("scenario") != CLEAN)
        .select(*keys, "scenario", "speaker", "words", errors)
        .join(clean, on=keys)
        .filter(pl.col("clean_words") > 0)
        .with_columns(
            excess=(pl.col("errors") - pl.col("clean_errors")) / pl.col("clean_words"),
            family=pl.col("scenario").replace_strict(families, default="other", return_dtype=pl.String),
        )
        .filter(pl.col("excess") > 0)
    )
    taken: list[tuple[int, dict[str, Any]]] = []
    for name in scores.recognizers:
        used: set[str | None] = set()
        said: set[str] = set()
        own = pool.filter(pl.col("recognizer") == name).collect()
        for (_,), part in sorted(own.group_by("family"), key=lambda one: str(one[0])):
            least = part["excess"].top_k(_LOOKED_AT).min()
            part = part.filter(pl.col("excess") >= least).sort(
                "excess", "clean_words", "scenario", "utterance", descending=[True, True, False, False]
            )
            for turn in range(each):
                row = _next(part.head(_LOOKED_AT), used, said)
                if row is None:
                    break
                used.add(row["speaker"])
                said.add(row["utterance"])
                taken.append((turn, row))
    taken.sort(key=lambda one: one[0])
    rows = [row for _, row in taken[:most]]
    order = {name: index for index, name in enumerate(scores.recognizers)}
    rows.sort(key=lambda row: (order[row["recognizer"]], row["family"], -row["excess"]))
    return pl.DataFrame(rows, schema=pool.collect_schema())


def _next(part: pl.DataFrame, used: set[str | None], said: set[str]) -> dict[str, Any] | None:
    """Return the worst trial of a speaker that is not shown yet, else of an utterance that is not."""
    fresh = part.filter(~pl.col("utterance").is_in(list(said)))
    other = fresh.filter(
        pl.col("speaker").is_null() | ~pl.col("speaker").is_in([s for s in used if s is not None])
    )
    chosen = other if other.height else fresh
    return chosen.row(0, named=True) if chosen.height else None


def _cases(
    run: Run, chosen: pl.DataFrame, attributes: Sequence[str], remaker: Remaker | None, budget: int
) -> list[Case]:
    wanted = chosen.select("utterance").unique()
    here = pl.col("utterance").is_in(wanted["utterance"].to_list())
    heard_as = run.answers(
        lambda lazy: lazy.filter(here).select("utterance", "recognizer", "scenario", "text")
    )
    texts = {(utterance, name, scenario): text for utterance, name, scenario, text in heard_as.iter_rows()}
    about = {
        row["id"]: row
        for row in run.corpus.join(wanted, left_on="id", right_on="utterance", how="semi").iter_rows(
            named=True
        )
    }
    rule = normalizer_of(run)
    cases = []
    for row in chosen.iter_rows(named=True):
        utterance = about[row["utterance"]]
        heard = texts.get((row["utterance"], row["recognizer"], row["scenario"]))
        made = remaker.make(row["utterance"], row["scenario"]) if remaker is not None else CaseAudio()
        if made.size > budget:
            made = CaseAudio()
        budget -= made.size
        # Where nothing is left of what was said, every word heard is an insertion.
        said = utterance["text"] if row["words"] else ""
        cases.append(
            Case(
                utterance=row["utterance"],
                recognizer=row["recognizer"],
                scenario=row["scenario"],
                speaker=None if row["speaker"] is None else str(row["speaker"]),
                attributes={name: named(utterance[name]) for name in attributes},
                reference=utterance["text"],
                clean=texts.get((row["utterance"], row["recognizer"], CLEAN)),
                heard=heard,
                diff=difference(said, heard, rule),
                wer=row["errors"] / row["words"] if row["words"] else None,
                original=made.original,
                audio=made.audio,
                media_type=made.media_type,
            )
        )
    return cases


MOST_STUTTERED = 6
"""Stuttered cases that a report plays."""


def stuttered_cases(folder: Path, found: Stutter, audio_bytes: int) -> tuple[Case, ...]:
    """Return suspicious cases to listen to: recognizers and kinds of stuttering in turn, the least similar first."""
    queues: dict[tuple[str, ...], list[Suspicious]] = {}
    for one in found.suspicious:
        kinds = (operation.kind for operation in Chain.parse(one.chain).operations)
        queues.setdefault((one.recognizer, *kinds), []).append(one)
    # Cases with one event first: what becomes of them is that event's doing.
    turns = zip_longest(*(queues[key] for key in sorted(queues, key=len)))
    rule = normalizer(KEEPS_FILLERS)
    cases = []
    for one in [case for turn in turns for case in turn if case is not None][:MOST_STUTTERED]:
        made = CaseAudio()
        marks: Marks = ((0.0, 0.0, describe_chain(Chain.parse(one.chain).operations)),)
        try:
            replay = read_recordings(folder) if audio_bytes else None
            if replay is not None and one.utterance in replay.recordings:
                heard, spans = replay.stuttered(one.utterance, one.chain)
                packed = CaseAudio(pack(replay.original(one.utterance)), pack(heard))
                if packed.size <= audio_bytes:
                    length = min(heard.duration, LONGEST)
                    made = packed
                    marks = tuple((a / length, min(b / length, 1.0), what) for a, b, what in spans)
        except (VoxauditError, ValueError):
            pass  # what cannot be made again is not played
        audio_bytes -= made.size
        diff = difference(one.intended, one.transcript, rule)
        wrong = sum(operation != "=" for operation, _, _ in diff)
        cases.append(
            Case(
                utterance=one.utterance,
                recognizer=one.recognizer,
                scenario=one.chain,
                speaker=None,
                attributes={"fault": spoken(one.fault or "none"), "how bad": spoken(one.severity or "none")},
                reference=one.intended,
                clean=one.original,
                heard=one.transcript,
                diff=diff,
                wer=wrong / max(len(one.intended.split()), 1),
                original=made.original,
                audio=made.audio,
                surface=one.surface,
                marks=marks,
            )
        )
    return tuple(cases)


def difference(said: str | None, heard: str | None, rule: Normalizer) -> tuple[tuple[str, str, str], ...]:
    """Return the words of two raw texts, normalized and aligned: (operation, said, heard)."""
    if said is None or heard is None:
        return ()
    edits = align_words(rule(said), rule(heard))
    return tuple((OPERATIONS[edit.kind], *pair) for edit in edits for pair in edit.pairs)


def how_to_repeat(scores: Scores, run: Run) -> Chapter:
    """Return what is needed to do it again, and what was not heard."""
    config = run.config
    sources = [f"{name}: {about['description']}" for name, about in config.get("sources", {}).items()]
    notes = (Note("sources", f"Noise and rooms come from: {'; '.join(sources)}."),) if sources else ()
    text = "not heard: nothing filled their place"
    return Chapter(
        id="reproduce",
        title="How to repeat this",
        lead=(
            "The same corpus, scenarios and seed give the same audio, bit for bit, in any order and on any machine.",
        ),
        tables=(_scenarios(config), _recognizers(config), _trials(scores, run), *_versions(config)),
        notes=notes,
        refusals=tuple(
            Refusal(
                "not_heard",
                f"scenarios {', '.join(ids)}",
                text,
                {"scenarios": ids},
                remedy=f"for each, {need}",
            )
            for need, ids in _not_heard(config).items()
        ),
    )


def facts(run: Run, attributes: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return the (what, value) pairs that identify a run."""
    config, corpus = run.config, run.config["corpus"]
    return (
        ("corpus", str(corpus["name"])),
        ("utterances", f"{corpus['utterances']:,}"),
        ("speakers", f"{corpus['speakers']:,}"),
        ("recognizers", ", ".join(config["recognizers"])),
        ("scenarios", f"{len(config['scenarios']):,}"),
        ("trials", f"{run.answers(lambda lazy: lazy.select(pl.len())).item():,}"),
        ("groups compared", ", ".join(attributes) or "none"),
        ("normalizer", str(config.get("normalizer", "-"))),
        ("seed", str(config["seed"])),
        ("heard", str(config.get("created", "-"))),
        ("voxaudit", str(config["voxaudit"])),
    )


def _not_heard(config: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return {what is needed: scenarios} of what the suites ask for but nothing filled."""
    missing: dict[str, list[str]] = {}
    for id_, need in config.get("not_heard", {}).items():
        missing.setdefault(need.replace(id_, "ROLE"), []).append(id_)
    return missing


def _scenarios(config: Mapping[str, Any]) -> Table:
    rows = [{"scenario": name, "does": in_words(name) or "-"} for name in config["scenarios"]]
    note = "Noise at 20 dB lies 20 dB below the speech: fewer dB are louder noise. A severity runs from 1, mild, up."
    columns = [Column("scenario"), Column("does", "what it does")]
    return tabulate("heard-scenarios", "Scenarios heard", rows, columns, note=note)


def _recognizers(config: Mapping[str, Any]) -> Table:
    rows = []
    for name, about in config["recognizers"].items():
        known = dict(about.get("fingerprint", {}))
        known |= {k: v for k, v in about.get("settings", {}).items() if k not in known and v != ""}
        rows += [{"recognizer": name, "what": key, "value": _text(value)} for key, value in known.items()]
    return tabulate("recognizers", "Recognizers", rows, [("recognizer",), ("what",), ("value",)])


def _trials(scores: Scores, run: Run) -> Table:
    scored = scores.frame.group_by("recognizer").agg(scored=pl.len())
    heard = (
        run.answers(lambda lazy: lazy.select("recognizer", "seconds", failed=pl.col("failure").is_not_null()))
        .group_by("recognizer", maintain_order=True)
        .agg(
            trials=pl.len(),
            failed=pl.col("failed").sum(),
            minutes=(total("seconds") / 60.0).round(1),
        )
        .join(scored, on="recognizer", how="left", maintain_order="left")
        .with_columns(pl.col("scored").fill_null(0))
    )
    columns = [
        ("recognizer",),
        *((name, "", "count") for name in ("trials", "failed", "scored")),
        ("minutes", "minutes the recognizer took", "number"),
    ]
    return tabulate("trials", "Trials", heard, columns)


def _versions(config: Mapping[str, Any]) -> list[Table]:
    rows = [{"what": str(key), "value": str(value)} for key, value in config.get("versions", {}).items()]
    return [tabulate("versions", "Versions", rows, [("what",), ("value",)])] if rows else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
