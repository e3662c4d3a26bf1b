"""What the folder of a stutter audit holds: findings, the review queue, what a replay needs, or why there is none."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import polars as pl

from voxaudit.align import Timings
from voxaudit.audio import Audio, read, write
from voxaudit.audits.stutter.scoring import Cost, DosePoint, by_kind, cost, trial_table
from voxaudit.audits.stutter.search import NORMALIZER, Case, Found, Recording, Settings
from voxaudit.audits.stutter.taxonomy import KINDS, find_faults, main_kind
from voxaudit.corpus import Utterance
from voxaudit.errors import VoxauditError, one_line
from voxaudit.perturb.stutter import Chain, Clip, Edit
from voxaudit.score.normalize import normalizer
from voxaudit.stats.proportions import wilson_of
from voxaudit.tables import read_table, require_columns, write_atomically

FOUND = "stutter.json"
QUEUE = "suspicious.jsonl"
LABELS = ("real_fault", "malformed", "fine")
"""What a person can say of a suspicious case: a fault of the recognizer, a case nobody could understand, no fault."""


@dataclass(frozen=True)
class Suspicious:
    """A case that one recognizer no longer hears as the original, with the kind of fault and where it is."""

    utterance: str
    recognizer: str
    chain: str
    intended: str
    surface: str
    transcript: str
    original: str
    similarity: float
    fault: str | None
    span: tuple[int, int] | None = None
    """Where the main fault stands in the transcript, in words: first, and one past the last."""
    faults: tuple[dict[str, Any], ...] = ()

    @property
    def id(self) -> str:
        """What a label refers to."""
        return f"{self.recognizer}|{self.utterance}|{self.chain}"


def suspicious_cases(
    cases: Iterable[Case], originals: dict[str, dict[str, str | None]], threshold: float
) -> list[Suspicious]:
    """Return every (case, recognizer) whose transcript is less similar than `threshold`, least similar first."""
    found = []
    for case in cases:
        for name in case.suspicious(threshold):
            heard = case.transcripts[name] or ""
            faults = find_faults(case.intended, heard)
            main = main_kind(faults)
            found.append(
                Suspicious(
                    case.utterance,
                    name,
                    case.chain,
                    case.intended,
                    case.surface,
                    heard,
                    originals[case.utterance][name] or "",
                    case.similarity[name],
                    main,
                    next((one.span for one in faults if one.kind == main), None),
                    tuple(
                        {"kind": f.kind, "intended": f.intended, "heard": f.heard, "span": f.span}
                        for f in faults
                    ),
                )
            )
    return sorted(found, key=lambda one: (one.similarity, one.id))


def fault_counts(found: Iterable[Suspicious]) -> dict[str, int]:
    """Return how many suspicious cases have each main kind of fault, all five named."""
    counted = Counter(one.fault for one in found)
    return {kind: counted[kind] for kind in KINDS}


def write_queue(folder: Path, found: Sequence[Suspicious]) -> Path:
    """Write the queue, one JSON object per line; labels that people gave an earlier one are kept.

    A case that has a label but is no longer suspicious (another seed, another threshold) stays at the end.
    """
    path = folder / QUEUE
    before = read_labels(path) if path.exists() else {}
    ids = {one.id for one in found}
    judged = [line for line in _lines(path) if (id_ := json.loads(line)["id"]) in before and id_ not in ids]
    lines = [
        json.dumps(
            {
                "id": one.id,
                "utterance": one.utterance,
                "recognizer": one.recognizer,
                "chain": one.chain,
                "intended": one.intended,
                "surface": one.surface,
                "original": one.original,
                "transcript": one.transcript,
                "similarity": round(one.similarity, 6),
                "fault": one.fault,
                "faults": one.faults,
                "label": before.get(one.id, ""),
            },
            ensure_ascii=False,
        )
        for one in found
    ]
    text = "".join(f"{line}\n" for line in (*lines, *judged))
    write_atomically(path, lambda target: target.write_text(text, encoding="utf-8"))
    return path


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def read_labels(path: str | Path) -> dict[str, str]:
    """Return {case id: label} of a queue that people have labeled; cases without a label are left out."""
    path = Path(path)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise VoxauditError(f"{path}: cannot read this review queue ({one_line(error)})") from error
    labels: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
            id_, label = row["id"], row.get("label") or ""
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise VoxauditError(f"{path}: line {number} is not a case of a review queue") from error
        if label and label not in LABELS:
            raise VoxauditError(
                f"{path}: line {number}: unknown label '{one_line(label, 40)}'. Use one of {', '.join(LABELS)}"
            )
        if label:
            labels[str(id_)] = label
    return labels


def false_positive_rate(labels: Iterable[str]) -> dict[str, Any]:
    """Return how often a suspicious case was no fault of the recognizer (the paper: 31.43 %), with a 95 % interval.

    Malformed and fine cases are false positives. The interval is Wilson's; labels of one recording are not
    independent, so take it for the least it could be.
    """
    counted = Counter(labels)
    total = sum(counted.values())
    if not total:
        return {"labeled": 0, "rate": None, "low": None, "high": None}
    wrong = counted["malformed"] + counted["fine"]
    low, high = wilson_of(wrong, total)
    return {
        "labeled": total,
        **{label: counted[label] for label in LABELS},
        "rate": wrong / total,
        "low": low,
        "high": high,
    }


RECORDINGS = "recordings.parquet"
FILLERS = "fillers"
_COLUMNS = ("id", "audio", "speaker", "text", "start", "duration", "timings")


@dataclass(frozen=True)
class Replay:
    """Makes the audio of cases again, from the recordings and fillers that the audit used."""

    recordings: dict[str, Recording]
    clips: tuple[Clip, ...] = ()

    def original(self, utterance: str) -> Audio:
        """Return the recording as it is."""
        about = self.recordings[utterance].utterance
        return read(about.audio, start=about.start, duration=about.duration)

    def stuttered(self, utterance: str, chain: str) -> tuple[Audio, list[Edit]]:
        """Return the recording after a chain, the same bits as the recognizers heard, and each operation's edit."""
        audio, timings = self.original(utterance), self.recordings[utterance].timings
        edits = Chain.parse(chain).edits(audio.samples, audio.rate, timings, self.clips)
        samples = audio.samples
        for edit in edits:
            samples = edit.apply(samples)
        return Audio(samples, audio.rate), edits


def write_recordings(folder: Path, recordings: Sequence[Recording], clips: Sequence[Clip]) -> None:
    """Write `recordings.parquet`, and the fillers as WAV of 32-bit floats: a replay needs the same samples."""
    rows = [
        (u.id, str(u.audio), u.speaker, r.text, u.start, u.duration, r.timings.to_json())
        for r in recordings
        for u in (r.utterance,)
    ]
    kinds = dict.fromkeys(_COLUMNS, pl.String) | {"start": pl.Float64, "duration": pl.Float64}
    table = pl.DataFrame(rows, schema=kinds, orient="row")
    write_atomically(folder / RECORDINGS, table.write_parquet)
    if clips:
        (folder / FILLERS).mkdir(exist_ok=True)
    for number, clip in enumerate(clips):
        write(folder / FILLERS / f"{number:03d}_{quote(clip.text, safe='')}.wav", clip.audio, subtype="FLOAT")


def read_recordings(folder: str | Path) -> Replay | None:
    """Return what `write_recordings` wrote; None where there is nothing."""
    path = Path(folder) / RECORDINGS
    if not path.exists():
        return None
    table = read_table(path)
    require_columns(table, _COLUMNS, path)
    recordings = {}
    for id_, audio, speaker, text, start, duration, timings in table.select(_COLUMNS).iter_rows():
        utterance = Utterance(id_, Path(audio), speaker, text, start or 0.0, duration)
        recordings[id_] = Recording(utterance, Timings.from_json(timings), text or "")
    files = sorted((Path(folder) / FILLERS).glob("[0-9][0-9][0-9]_*.wav"))
    return Replay(recordings, tuple(Clip(unquote(file.stem[4:]), read(file)) for file in files))


@dataclass(frozen=True)
class Stutter:
    """What a stutter audit found, as `stutter.json` keeps it.

    `recognizers` has what all cases together cost, `kinds` what cases with one kind of stuttering only do. `cases` are
    the different ones; a chain that was drawn twice counts twice in the costs. `suspicious` are the cases for people
    to judge, least similar first; `skipped` says why a recording was left out; `dose` is the response to the rate of
    stuttering.
    """

    settings: Settings
    utterances: int
    cases: int
    recognizers: Mapping[str, Cost]
    kinds: Mapping[str, Mapping[str, Cost]]
    suspicious: tuple[Suspicious, ...]
    dose: tuple[DosePoint, ...]
    skipped: Mapping[str, str]


def write_found(
    folder: Path,
    recordings: Sequence[Recording],
    found: Found,
    skipped: Mapping[str, str],
    settings: Settings,
    dose: Sequence[DosePoint],
) -> None:
    """Score what was heard, and leave what was found in the folder."""
    normalize = normalizer(NORMALIZER)
    texts = {r.utterance.id: normalize(r.text) for r in recordings}
    originals = {id_: dict(said) for id_, said in found.originals.items()}
    table = trial_table(found.cases, originals, texts)
    if table.is_empty():
        reason = next(iter(found.skipped.values()), "every case failed")
        raise VoxauditError(f"no stuttered case could be heard ({reason})")
    suspects = suspicious_cases(found.cases, originals, settings.threshold)
    write_queue(folder, suspects)
    document = {
        "settings": asdict(settings) | {"normalizer": normalizer(NORMALIZER).id},
        "utterances": table["utterance"].n_unique(),
        "cases": table.filter(pl.col("chain") != "").select("utterance", "chain").unique().height,
        "recognizers": _costs_of(table),
        "kinds": {kind: _costs_of(part) for kind, part in by_kind(table, settings.kinds).items()},
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
            for one in suspects
        ],
        "dose": [asdict(point) for point in dose] or None,
        "skipped": dict(skipped),
    }
    write_atomically(folder / "cases.parquet", table.write_parquet)
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    write_atomically(folder / FOUND, lambda path: path.write_text(text, encoding="utf-8"))
    forget_refusal(folder)


def _costs_of(table: pl.DataFrame) -> dict[str, dict[str, Any]]:
    names = table["recognizer"].unique(maintain_order=True).to_list()
    return {name: asdict(cost(table.filter(pl.col("recognizer") == name))) for name in names}


def read_found(folder: Path) -> Stutter:
    """Return what was found; anything else than what `write_found` wrote raises some error."""
    document = json.loads((folder / FOUND).read_text(encoding="utf-8"))
    settings = {one.name: document["settings"][one.name] for one in fields(Settings)}
    return Stutter(
        settings=Settings(**{**settings, "kinds": tuple(settings["kinds"])}),
        utterances=document["utterances"],
        cases=document["cases"],
        recognizers={name: _cost(one) for name, one in document["recognizers"].items()},
        kinds={
            kind: {name: _cost(one) for name, one in by.items()} for kind, by in document["kinds"].items()
        },
        suspicious=tuple(
            Suspicious(
                utterance=one["utterance"],
                recognizer=one["recognizer"],
                chain=one["chain"],
                intended=one["intended"],
                surface=one["surface"],
                transcript=one["transcripts"]["case"],
                original=one["transcripts"]["original"],
                similarity=one["similarity"],
                fault=one["fault"],
                span=None if one["span"] is None else tuple(one["span"]),
            )
            for one in document["suspicious"]
        ),
        dose=tuple(DosePoint(**one) for one in document["dose"] or ()),
        skipped=dict(document["skipped"]),
    )


def _cost(document: Mapping[str, Any]) -> Cost:
    return Cost(**{one.name: document[one.name] for one in fields(Cost)})


REFUSED = "refused.txt"
KEPT = (FOUND, REFUSED)
"""A folder with one of these holds a stutter audit, or why there is none."""


def write_refusal(folder: Path, error: VoxauditError) -> None:
    """Write the reason into the audit's folder."""
    folder.mkdir(parents=True, exist_ok=True)
    text = one_line(error, 600) + "\n"
    write_atomically(folder / REFUSED, lambda path: path.write_bytes(text.encode("utf-8", "replace")))


def forget_refusal(folder: Path) -> None:
    """Remove the reason: the audit was made."""
    (folder / REFUSED).unlink(missing_ok=True)


def read_refusal(folder: Path) -> str | None:
    """Return the reason, or None where there is none."""
    path = folder / REFUSED
    return path.read_text(encoding="utf-8", errors="replace").strip() if path.is_file() else None
