"""Go through trials and count what nobody said: words, cases and minutes, by kind."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import polars as pl

from voxaudit.answer import Note
from voxaudit.audio import read
from voxaudit.corpus import Corpus
from voxaudit.errors import VoxauditError
from voxaudit.run import Run
from voxaudit.score.invented import (
    Loop,
    Stretch,
    find_loops,
    heard_by_most,
    heard_by_nobody_else,
    unsupported,
    words_too_many,
)
from voxaudit.score.normalize import Normalizer, normalize_column
from voxaudit.score.run import silent_scenarios
from voxaudit.score.speech_activity import seconds_of_speech
from voxaudit.wording import counted

KINDS = ("silence", "unsupported", "loops", "too_fast")
LISTENED = "listened"
SHORTEST_SPEECH = 0.15
"""Seconds of speech under which nobody is taken to speak in a recording."""
CONTEXT = 4
"""Words shown before and behind a case."""


def detect(
    frame: pl.DataFrame, rule: Normalizer, fewest: int, quiet: Collection[str] = ()
) -> tuple[pl.DataFrame, pl.DataFrame, list[Note]]:
    """Return the trials with words, cases and minutes of every kind, the cases, and what to know of them.

    `frame` has utterance, scenario, recognizer, text, reference (null: unknown) and duration; in `quiet` utterances
    nobody speaks. The minutes of a kind are 0 where it could not occur: words in silence in speech, all others in
    silence, unsupported words where there is neither a reference nor another recognizer.
    """
    heard = normalize_column(frame["text"], rule).to_list()
    said = normalize_column(frame["reference"], rule).to_list()
    scenarios = frame["scenario"].to_list()
    silent = set(silent_scenarios(frame["scenario"].unique().to_list()))
    ids = frame["utterance"].to_list()
    others = _others(frame, heard)
    quiet = set(quiet)
    counts: dict[str, list[float]] = {
        f"{kind}_{what}": [] for kind in KINDS for what in ("words", "cases", "minutes")
    }
    cases: list[dict[str, object]] = []
    alone = doubtful = 0
    # "Mhm" is speech, though no word is left of it; a reference of marks alone is none.
    wordless = [text is not None and not any(map(str.isalnum, text)) for text in frame["reference"].to_list()]
    names = frame["recognizer"].to_list()
    for row, seconds in enumerate(frame["duration"].to_list()):
        text, reference = heard[row], said[row]
        nobody = scenarios[row] in silent or ids[row] in quiet or wordless[row]
        same = others.get((ids[row], scenarios[row]), [])
        rest = [other for name, other in same if name != names[row]]
        found: dict[str, list[tuple[int, int, int]]] = {kind: [] for kind in KINDS}
        minutes = dict.fromkeys(KINDS, 0.0 if nobody else seconds / 60.0)
        if nobody:
            minutes["silence"] = seconds / 60.0
            size = len(text.split())
            found["silence"] = [(0, size, size)] if size else []
        else:
            minutes["silence"] = 0.0
            found["loops"] = _places(find_loops(text, reference))
            if reference is not None:
                stretches = unsupported(reference, text, fewest)
                sure = [one for one in stretches if not heard_by_most(one, text, rest, fewest)]
                doubtful += len(stretches) - len(sure)
                found["unsupported"] = _places(sure)
            elif rest:
                found["unsupported"] = _places(heard_by_nobody_else(text, rest, fewest))
            else:
                minutes["unsupported"] = 0.0
                alone += 1
            many = words_too_many(text, seconds)
            found["too_fast"] = [(0, len(text.split()), many)] if many else []
        for kind in KINDS:
            counts[f"{kind}_words"].append(sum(words for _, _, words in found[kind]))
            counts[f"{kind}_cases"].append(len(found[kind]))
            counts[f"{kind}_minutes"].append(minutes[kind])
            cases += [
                {
                    **{
                        "recognizer": names[row],
                        "scenario": scenarios[row],
                        "utterance": ids[row],
                        "kind": kind,
                    },
                    **{"words": words, "start": start, "stop": stop, "heard": _marked(text, start, stop)},
                    "reference": frame["reference"][row],
                }
                for start, stop, words in found[kind]
            ]
    columns = [
        pl.Series(name, values, dtype=pl.Float64 if name.endswith("minutes") else pl.Int64)
        for name, values in counts.items()
    ]
    notes = []
    if alone:
        text = (
            f"{counted(alone, 'trial')} without reference and without a second recognizer: no unsupported words were"
            " looked for there"
        )
        notes.append(Note("no_references", text, {"trials": alone}))
    if doubtful:
        text = (
            f"{counted(doubtful, 'stretch')} left out that most other recognizers heard too: there the reference is in"
            " doubt"
        ).replace("stretchs", "stretches")
        notes.append(Note("doubtful_references", text, {"stretches": doubtful}))
    texts = dict.fromkeys(("recognizer", "scenario", "utterance", "kind"), pl.String)
    schema = {
        **texts,
        "words": pl.Int64,
        "start": pl.Int64,
        "stop": pl.Int64,
        "heard": pl.String,
        "reference": pl.String,
    }
    return frame.with_columns(columns), pl.DataFrame(cases, schema=schema), notes


def _places(found: Sequence[Stretch] | Sequence[Loop]) -> list[tuple[int, int, int]]:
    return [(one.start, one.stop, one.words) for one in found]


def _others(frame: pl.DataFrame, heard: Sequence[str]) -> dict[tuple[str, str], list[tuple[str, str]]]:
    """Return what was heard in the same audio, (recognizer, text) by utterance and scenario."""
    if frame["recognizer"].n_unique() < 2:
        return {}
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    keys = zip(frame["utterance"], frame["scenario"], frame["recognizer"], heard, strict=True)
    for utterance, scenario, name, text in keys:
        found.setdefault((utterance, scenario), []).append((name, text))
    return found


def _marked(text: str, start: int, stop: int) -> str:
    """Return a case with the words around it: `... your card [thank you for watching] ...`."""
    words = text.split()
    before, behind = words[max(start - CONTEXT, 0) : start], words[stop : stop + CONTEXT]
    inside = words[start:stop]
    if len(inside) > 24:
        inside = [*inside[:16], "...", *inside[-4:]]
    parts = ["..." if start > CONTEXT else "", *before, f"[{' '.join(inside)}]", *behind]
    return " ".join(filter(None, [*parts, "..." if stop + CONTEXT < len(words) else ""]))


def silent_utterances(run: Run | None, ids: Sequence[str]) -> tuple[list[str], str]:
    """Return the utterances of a run whose recordings have no speech by a voice activity detector, and what was done."""
    if run is None:
        raise VoxauditError("only a run has recordings to listen to", see=("listen",))
    rows = run.corpus.filter(pl.col("id").is_in(list(ids)))
    quiet, unread = [], 0
    for utterance in Corpus("", "run", rows):
        try:
            clip = read(utterance.audio, start=utterance.start, duration=utterance.duration)
        except VoxauditError:
            unread += 1
            continue
        if seconds_of_speech(clip) < SHORTEST_SPEECH:
            quiet.append(utterance.id)
    text = f"nobody speaks in {counted(len(quiet), 'recording')} of {rows.height:,}, says the voice activity detector"
    return quiet, text + (f"; {counted(unread, 'recording')} could not be read" if unread else "")
