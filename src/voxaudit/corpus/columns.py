"""Which column of a source is which of ours: told by the user, fixed by the format, or found by its usual name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from voxaudit.corpus.base import COLUMNS, CorpusError, Problem
from voxaudit.registry import suggest

USUAL_NAMES: dict[str, tuple[str, ...]] = {
    "id": ("id", "utt_id", "utterance_id", "utterance", "utt", "uttid", "segment_id", "clip_id", "sample_id"),
    "audio": (
        *("audio", "path", "audio_path", "audio_filepath", "audio_file", "audio_filename", "file_name"),
        *("filename", "file", "filepath", "file_path", "wav", "wav_path", "wav_file", "wav_filename", "clip"),
        *("audio_paths", "wav_paths", "clip_path", "recording_path"),
    ),
    "speaker": (
        "speaker",
        "speaker_id",
        "speakerid",
        "spk",
        "spk_id",
        "spkid",
        "client_id",
        "speaker_name",
        "user_id",
        "user_ids",
    ),
    "text": (
        *(
            "text",
            "sentence",
            "transcript",
            "transcription",
            "reference",
            "ref",
            "ref_text",
            "reference_text",
        ),
        *("ground_truth", "groundtruth", "truth", "content", "normalized_text", "transcripts"),
    ),
    "start": ("start", "offset", "start_time", "start_s", "start_sec", "begin", "begin_time", "onset"),
    "end": ("end", "end_time", "end_s", "end_sec", "stop"),
    "duration": ("duration", "duration_s", "duration_sec", "duration_seconds", "dur", "length_s"),
}
"""The names columns are found by, in any case, best first. `end` is no column of ours: it gives the duration."""

TAKEN = frozenset(
    {"utterance", "scenario", "recognizer", "hits", "substitutions", "deletions", "insertions"}
) | {
    *("words", "characters", "seconds", "failure", *COLUMNS),
}
"""Names that no attribute can have: ours, and those of the tables made from a corpus later on."""


@dataclass(frozen=True)
class Plan:
    """Our columns and the source's they come from; attributes likewise; and what was doubtful about it."""

    fields: Mapping[str, str]
    attributes: Mapping[str, str]
    problems: tuple[Problem, ...] = ()


def parse_columns(text: str) -> dict[str, str]:
    """Return "text=sentence,speaker=client_id" as a mapping of our names to the source's."""
    pairs = [pair.partition("=") for pair in text.split(",") if pair.strip()]
    for name, equals, _ in pairs:
        if not equals or not name.strip():
            raise CorpusError(
                f"columns are given as NAME=COLUMN,NAME=COLUMN (text=sentence), not {text[:80]!r}"
            )
    return {name.strip(): column.strip() for name, _, column in pairs}


def plan_columns(
    present: Sequence[str],
    where: str,
    *,
    given: Mapping[str, str] | None = None,
    fixed: Mapping[str, str] | None = None,
    guess: bool = True,
) -> Plan:
    """Decide which of the `present` columns is which. `given` (the user) wins over `fixed` (the format), then names.

    An empty column in `given` (`{"id": ""}`) says that there is none. Everything that is left is an attribute.
    """
    given = dict(given or {})
    _require(given, present, where)
    chosen = {ours: theirs for ours, theirs in (fixed or {}).items() if theirs in present} | given
    problems: list[Problem] = []
    for ours, usual in USUAL_NAMES.items():
        if ours in chosen or (ours == "end" and chosen.get("duration")):
            continue
        # A path that the user makes the id is still the path of the audio.
        used = {theirs for other, theirs in chosen.items() if (ours, other) != ("audio", "id")}
        found = _matches(present, usual if guess else (ours,), used)
        if found:
            chosen[ours] = found[0]
        if len(found) > 1:
            problems.append(_ambiguous(ours, found))
    fields = {ours: theirs for ours, theirs in chosen.items() if theirs and ours in USUAL_NAMES}
    renamed = {theirs: ours for ours, theirs in chosen.items() if theirs and ours not in USUAL_NAMES}
    attributes: dict[str, str] = {}
    known, kept = set(fields.values()), set(renamed.values())
    for column in present:
        if column in known and column not in renamed:
            continue
        name = wanted = renamed.get(column, column)
        while name in TAKEN or name in attributes or (name in kept and column not in renamed):
            name = f"source_{name}"
        if name != wanted:
            message = f"attribute {wanted!r} is called {name!r} here: the name is taken"
            problems.append(Problem("column_name_taken", message, False))
        attributes[name] = column
    return Plan(fields, attributes, tuple(problems))


def _require(given: Mapping[str, str], present: Sequence[str], where: str) -> None:
    missing = [(ours, theirs) for ours, theirs in given.items() if theirs and theirs not in present]
    if missing:
        wanted = ", ".join(f"{theirs!r} (for {ours})" for ours, theirs in missing)
        hints = "".join(suggest(theirs, list(present)) for _, theirs in missing)
        raise CorpusError(f"{where}: no column {wanted}.{hints} Columns there: {', '.join(present)[:500]}")
    twice = [theirs for ours, theirs in given.items() if theirs and ours not in USUAL_NAMES]
    for theirs in twice:
        if twice.count(theirs) > 1:
            raise CorpusError(f"{where}: column {theirs!r} is given as more than one attribute; name it once")


def _matches(present: Sequence[str], usual: Sequence[str], used: set[str]) -> list[str]:
    """Return the unused columns that bear one of the usual names, the most usual first."""
    rank = {name: place for place, name in enumerate(usual)}
    keys = {
        column: column.lower().replace(" ", "_").replace("-", "_") for column in present if column not in used
    }
    return sorted(
        (column for column, key in keys.items() if key in rank), key=lambda column: rank[keys[column]]
    )


def _ambiguous(ours: str, found: Sequence[str]) -> Problem:
    names = (
        f"{', '.join(map(repr, found[:-1]))} and {found[-1]!r} could {'both' if len(found) == 2 else 'all'}"
    )
    choice = f"read {found[0]!r}, the rest as attributes (choose in the setting `columns`: {ours}=COLUMN)"
    return Problem("ambiguous_column", f"columns {names} be the {ours}; {choice}", False)
