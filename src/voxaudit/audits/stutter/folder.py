"""What the folder of a stutter audit holds: findings, the review queue, what a replay needs, or why there is none."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import polars as pl

from voxaudit.audits.stutter import FOUND, REFUSED
from voxaudit.audits.stutter.scoring import (
    Comparison,
    Cost,
    DosePoint,
    by_kind,
    compare,
    cost,
    dose_response,
    score_table,
    trial_table,
)
from voxaudit.audits.stutter.search import NORMALIZER, Case, Found, Settings, aims, front
from voxaudit.corpus.languages import FUNCTION_WORDS
from voxaudit.errors import VoxauditError, one_line
from voxaudit.perturb.stutter.base import Clip, StutterError
from voxaudit.perturb.stutter.chain import Chain
from voxaudit.perturb.stutter.measured import MEASURES, kolmogorov
from voxaudit.perturb.stutter.recordings import Recording
from voxaudit.perturb.stutter.sample import PROFILE
from voxaudit.registry import unknown
from voxaudit.score import normalizer
from voxaudit.score.faults import KINDS, fault_severity, find_faults, main_kind
from voxaudit.stats.proportions import wilson_of
from voxaudit.tables import read_table, require_columns, write_atomically, write_json

CASES, SCORES = "cases.parquet", "scores.parquet"
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
    similarity_intended: float | None = None
    severity: str = ""
    """How bad it is for the person: `score.faults.SEVERITIES`."""

    @property
    def id(self) -> str:
        """What a label refers to."""
        return f"{self.recognizer}|{self.utterance}|{self.chain}"


def suspicious_cases(
    cases: Iterable[Case], originals: dict[str, dict[str, str | None]], threshold: float
) -> list[Suspicious]:
    """Return every (case, recognizer) whose transcript is less similar than `threshold`, least similar first.

    A case that several seeds drew is there once.
    """
    found = []
    seen: set[tuple[str, str, str]] = set()
    for case in cases:
        for name in case.suspicious(threshold):
            if (case.utterance, name, case.chain) in seen:
                continue
            seen.add((case.utterance, name, case.chain))
            heard = case.transcripts[name] or ""
            faults = find_faults(case.intended, heard)
            main = main_kind(faults)
            found.append(
                Suspicious(
                    utterance=case.utterance,
                    recognizer=name,
                    chain=case.chain,
                    intended=case.intended,
                    surface=case.surface,
                    transcript=heard,
                    original=originals[case.utterance][name] or "",
                    similarity=case.similarity[name],
                    fault=main,
                    span=next((one.span for one in faults if one.kind == main), None),
                    faults=tuple(map(asdict, faults)),
                    similarity_intended=case.similarity_intended.get(name),
                    severity=fault_severity(case.intended, heard, FUNCTION_WORDS),
                )
            )
    return sorted(found, key=lambda one: (one.similarity, one.id))


def fault_counts(found: Iterable[Suspicious]) -> dict[str, int]:
    """Return how many suspicious cases have each main kind of fault, all five named."""
    counted = Counter(one.fault for one in found)
    return {kind: counted[kind] for kind in KINDS}


_CASE = ("utterance", "recognizer", "chain", "intended", "surface")
_JUDGED = ("similarity", "similarity_intended", "fault", "severity", "span")
_QUEUED = (
    *(*_CASE, "original", "transcript", "similarity", "similarity_intended"),
    *("fault", "faults", "severity"),
)


def write_queue(folder: Path, found: Sequence[Suspicious]) -> Path:
    """Write the queue, one JSON object per line; labels that people gave an earlier one are kept.

    A case that has a label but is no longer suspicious (another seed, another threshold) stays at the end.
    """
    path = folder / QUEUE
    before = read_labels(path) if path.exists() else {}
    ids = {one.id for one in found}
    kept = read_queue(path) if path.exists() else []
    rows = [
        {"id": one.id, **{name: getattr(one, name) for name in _QUEUED}}
        | {"similarity": round(one.similarity, 6), "label": before.get(one.id, "")}
        for one in found
    ]
    save_queue(path, [*rows, *(row for row in kept if row["id"] in before and row["id"] not in ids)])
    return path


def save_queue(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write the cases of a review queue, a line each."""
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    write_atomically(path, lambda target: target.write_text(text, encoding="utf-8"))


def read_queue(path: Path) -> list[dict[str, Any]]:
    """Return the cases of a review queue as they are written; a line that is none raises one line."""
    rows = []
    try:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            try:
                row = json.loads(line)
                rows.append({**row, "id": str(row["id"]), "label": str(row.get("label") or "")})
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
                raise VoxauditError(f"{path}: line {number} is not a case of a review queue") from error
    except (OSError, UnicodeDecodeError) as error:
        raise VoxauditError(f"{path}: cannot read this review queue ({one_line(error)})") from error
    return rows


def read_labels(path: str | Path) -> dict[str, str]:
    """Return {case id: label} of a queue that people have labeled; cases without a label are left out."""
    rows = read_queue(Path(path))
    for number, row in enumerate(rows, start=1):
        if row["label"] not in ("", *LABELS):
            raise unknown(f"{path}: line {number}: unknown label", row["label"], LABELS, there="Use one of")
    return {row["id"]: row["label"] for row in rows if row["label"]}


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
    comparisons: tuple[Comparison, ...] = ()
    """Kinds, recognizers and selections against each other on the same recordings."""
    real: tuple[Mapping[str, Any], ...] = ()
    """How far lengths, gaps and iterations lie from real ones: measure, events, distance."""
    checks: Mapping[str, Any] = field(default_factory=dict)
    """Events drawn, how many failed each check, whether words were looked for and in which languages."""
    searched: tuple[Mapping[str, Any], ...] = ()
    """Cases kept and dropped: how many, how real (R), how many of them no other dominates."""


def write_found(
    folder: Path,
    recordings: Sequence[Recording],
    found: Found,
    skipped: Mapping[str, str],
    settings: Settings,
    doses: pl.DataFrame,
    mixture: str = PROFILE,
    attributes: Sequence[str] = (),
    clips: Sequence[Clip] = (),
) -> None:
    """Score what was heard (`doses` by `hear_doses`), and leave what was found in the folder."""
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
            {name: getattr(one, name) for name in (*_CASE, *_JUDGED)}
            | {"transcripts": {"original": one.original, "case": one.transcript}}
            for one in suspects
        ],
        "dose": [asdict(point) for point in dose_response(doses, recordings, mixture, attributes)] or None,
        "skipped": dict(skipped),
        "comparisons": [asdict(one) for one in compare(table, settings.kinds)],
        "real": against_real(recordings, found.cases, clips),
        "checks": {
            "drawn": found.drawn,
            "placed": found.placed,
            "languages": sorted({str(r.utterance.attributes.get("language") or "en") for r in recordings}),
            "rejected": dict(found.rejected),
        },
        "searched": _searched(found.cases, settings.mode),
    }
    write_atomically(folder / CASES, table.write_parquet)
    write_atomically(folder / SCORES, score_table(table, doses, settings.kinds, recordings).write_parquet)
    write_json(folder / FOUND, document)
    forget_refusal(folder)


def against_real(
    recordings: Sequence[Recording], cases: Iterable[Case], clips: Sequence[Clip] = ()
) -> list[dict[str, Any]]:
    """Return, for every length, gap and number of iterations that was put in, its Kolmogorov distance to real ones.

    Each event counts once, however many cases were made from the one it is in.
    """
    by_id = {recording.utterance.id: recording for recording in recordings}
    values: dict[str, list[float]] = {}
    places: Counter[str] = Counter()
    for case in cases:
        recording = by_id[case.utterance]
        audio = recording.audio()
        last = Chain.parse(case.chain).operations[-1:]
        try:
            edits = Chain(last).edits(audio.samples, audio.rate, recording.timings, clips)
        except StutterError:
            continue
        for edit in edits:
            places[edit.place] += 1
            for name, value in edit.measures:
                values.setdefault(name, []).append(value)
    rows = [
        {
            "measure": MEASURES[name].about,
            "events": len(values[name]),
            "distance": kolmogorov(name, values[name]),
            "by_chance": 1.36 / len(values[name]) ** 0.5,
        }
        for name in MEASURES
        if name in values
    ]
    inside = places["later"] + places["syllable"]
    total_ = inside + places["sound"]
    if total_:
        rows.append(
            {
                "measure": "share that is not word-initial",
                "events": total_,
                "distance": inside / total_,
                "by_chance": None,
            }
        )
    return rows


def _searched(cases: Sequence[Case], mode: str) -> list[dict[str, Any]]:
    """Return, for cases kept and dropped, quartiles of R and medians of M1 and M2, and how many no other dominates.

    Cases of one recording and seed are compared, in the usual (weak) sense and in the strict one.
    """
    table = pl.DataFrame(
        [(c.utterance, c.seed, c.kept, c.m1, c.m2, c.r, *aims(c, mode)) for c in cases], orient="row"
    )
    table.columns = ["utterance", "seed", "kept", "m1", "m2", "r", "x", "y"]
    parts = []
    for _, part in table.group_by("utterance", "seed", maintain_order=True):
        points = part.select("x", "y").rows()
        weak, strict = (front(points, strict=one) for one in (False, True))
        parts.append(part.with_columns(non_dominated=pl.Series(weak), non_dominated_strict=pl.Series(strict)))
    quartiles = {f"r_{level}": pl.col("r").quantile(level / 100, "linear") for level in (25, 50, 75)}
    return (
        pl.concat(parts)
        .group_by("kept")
        .agg(
            pl.len().alias("cases"),
            pl.col("m1", "m2").median(),
            pl.col("non_dominated", "non_dominated_strict").sum(),
            **quartiles,
        )
        .sort("kept", descending=True)
        .to_dicts()
    )


def _costs_of(table: pl.DataFrame) -> dict[str, dict[str, Any]]:
    names = table["recognizer"].unique(maintain_order=True).to_list()
    return {name: asdict(cost(table.filter(pl.col("recognizer") == name))) for name in names}


def read_found(folder: Path) -> Stutter:
    """Return what was found; anything else than what `write_found` wrote raises some error."""
    document = json.loads((folder / FOUND).read_text(encoding="utf-8"))
    kept = document["settings"]
    settings = {one.name: kept[one.name] for one in fields(Settings) if one.name in kept}
    # Audits made before there were modes are ASTER's, with one seed.
    seeds = tuple(settings.get("seeds", (kept.get("seed", 0),)))
    settings |= {"mode": kept.get("mode", "aster"), "seeds": seeds, "kinds": tuple(settings["kinds"])}
    return Stutter(
        settings=Settings(**settings),
        utterances=document["utterances"],
        cases=document["cases"],
        recognizers={name: _cost(one) for name, one in document["recognizers"].items()},
        kinds={
            kind: {name: _cost(one) for name, one in by.items()} for kind, by in document["kinds"].items()
        },
        suspicious=tuple(
            Suspicious(
                **{name: one[name] for name in (*_CASE, "similarity", "fault")},
                similarity_intended=one.get("similarity_intended"),
                severity=one.get("severity", ""),
                transcript=one["transcripts"]["case"],
                original=one["transcripts"]["original"],
                span=None if one["span"] is None else tuple(one["span"]),
            )
            for one in document["suspicious"]
        ),
        dose=tuple(DosePoint(**one) for one in document["dose"] or ()),
        skipped=dict(document["skipped"]),
        comparisons=tuple(Comparison(**one) for one in document.get("comparisons", ())),
        real=tuple(document.get("real", ())),
        checks=dict(document.get("checks", {})),
        searched=tuple(document.get("searched", ())),
    )


def _cost(document: Mapping[str, Any]) -> Cost:
    return Cost(**{one.name: document[one.name] for one in fields(Cost)})


def read_cases(folder: Path) -> pl.DataFrame:
    """Return the distinct cases of a finished audit, for another recognizer to hear."""
    path = folder / CASES
    table = read_table(path)
    columns = ("utterance", "chain", "kind", "kept", "surface", "seed", "m2", "r")
    require_columns(table, columns, path)
    return table.filter(pl.col("chain") != "").select(columns).unique(maintain_order=True)


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
