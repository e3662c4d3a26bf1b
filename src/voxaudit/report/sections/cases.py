"""Cases: the trials that got worst by being disturbed, to read and to listen to."""

from __future__ import annotations

from typing import Any

import polars as pl

from voxaudit.errors import VoxauditError
from voxaudit.perturb import CLEAN
from voxaudit.report.audio import CaseAudio, Remaker
from voxaudit.report.context import NO_REFERENCES, Context
from voxaudit.report.document import Case, Refusal, Section
from voxaudit.report.parts import attempt, named
from voxaudit.report.remedies import refuse
from voxaudit.score.align import align_words
from voxaudit.score.normalize import Normalizer, normalizer

MOST_CASES = 40
EACH = 2
"""Cases of one recognizer and one family of scenarios."""

OPERATIONS = {"equal": "=", "substitute": "substitution", "delete": "deletion", "insert": "insertion"}


def section(context: Context) -> Section:
    """Return the chapter."""
    title = "Worst cases"
    if context.scores.is_empty():
        return Section("cases", title, refusals=(refuse("cases", "worst cases", NO_REFERENCES),))
    chosen = worst_trials(context)
    if chosen.is_empty():
        none = Refusal("worst cases", "no disturbed trial got worse than its clean twin", "harsher scenarios")
        return Section("cases", title, refusals=(none,))
    remaker = attempt(lambda: Remaker(context.run)) if context.audio_bytes else None
    notes = [
        "Picked by how many more errors there are than in clean speech, up to two a recognizer and family of scenarios,"
        " from different speakers where there are several. They show what happens, not how often."
    ]
    if isinstance(remaker, VoxauditError):
        notes.append(f"No audio: {remaker}.")
        remaker = None
    cases = _cases(context, chosen, remaker)
    if any(case.audio for case in cases):
        notes.append(
            "Audio was made again as it was heard and is packed with loss (Ogg Vorbis); `voxaudit perturb` writes it as"
            " it was."
        )
    return Section("cases", title, cases=tuple(cases), notes=tuple(notes))


def worst_trials(context: Context, most: int = MOST_CASES, each: int = EACH) -> pl.DataFrame:
    """Return the trials to show: recognizer, scenario, utterance, speaker, family, excess, and their counts.

    `excess` is the number of errors beyond those of the same utterance's clean trial, per word said. For every
    recognizer and family of scenarios the worst are taken, a speaker only once a recognizer while there are others; all
    first ones come before the second ones, so that a cut keeps every family.
    """
    errors = pl.sum_horizontal("substitutions", "deletions", "insertions").alias("errors")
    keys = ["utterance", "recognizer"]
    clean = context.clean.select(*keys, errors.alias("clean_errors"), pl.col("words").alias("clean_words"))
    families = {name: setting.category for name, setting in context.settings.items()}
    pool = (
        context.scores.filter(pl.col("scenario") != CLEAN)
        .select(*keys, "scenario", "speaker", "words", errors)
        .join(clean, on=keys)
        .filter(pl.col("clean_words") > 0)
        .with_columns(
            excess=(pl.col("errors") - pl.col("clean_errors")) / pl.col("clean_words"),
            family=pl.col("scenario").replace_strict(families, default="other", return_dtype=pl.String),
        )
        .filter(pl.col("excess") > 0)
        .sort(
            "excess",
            "clean_words",
            "scenario",
            "utterance",
            descending=[True, True, False, False],
        )
    )
    taken: list[tuple[int, dict[str, Any]]] = []
    for name in context.recognizers:
        used: set[str | None] = set()
        said: set[str] = set()
        for (_,), part in sorted(
            pool.filter(pl.col("recognizer") == name).group_by("family"), key=lambda one: str(one[0])
        ):
            part = part.sort(
                "excess", "clean_words", "scenario", "utterance", descending=[True, True, False, False]
            )
            for turn in range(each):
                row = _next(part.head(2000), used, said)
                if row is None:
                    break
                used.add(row["speaker"])
                said.add(row["utterance"])
                taken.append((turn, row))
    taken.sort(key=lambda one: one[0])
    rows = [row for _, row in taken[:most]]
    order = {name: place for place, name in enumerate(context.recognizers)}
    rows.sort(key=lambda row: (order[row["recognizer"]], row["family"], -row["excess"]))
    return pl.DataFrame(rows, schema=pool.schema) if rows else pool.head(0)


def _next(part: pl.DataFrame, used: set[str | None], said: set[str]) -> dict[str, Any] | None:
    """Return the worst trial of a speaker that is not shown yet, else of an utterance that is not."""
    fresh = part.filter(~pl.col("utterance").is_in(list(said)))
    other = fresh.filter(
        pl.col("speaker").is_null() | ~pl.col("speaker").is_in([s for s in used if s is not None])
    )
    chosen = other if other.height else fresh
    return chosen.row(0, named=True) if chosen.height else None


def _cases(context: Context, chosen: pl.DataFrame, remaker: Remaker | None) -> list[Case]:
    wanted = chosen.select("utterance").unique()
    texts = {
        (row["utterance"], row["recognizer"], row["scenario"]): row["text"]
        for row in context.run.transcripts.join(wanted, on="utterance", how="semi").iter_rows(named=True)
    }
    about = {
        row["id"]: row
        for row in context.run.corpus.join(wanted, left_on="id", right_on="utterance", how="semi").iter_rows(
            named=True
        )
    }
    rule = normalizer(str(context.config.get("normalizer", "basic")).partition("@")[0])
    budget = context.audio_bytes
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
                attributes={name: named(utterance[name]) for name in context.attributes},
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


def difference(said: str | None, heard: str | None, rule: Normalizer) -> tuple[tuple[str, str, str], ...]:
    """Return the words of two raw texts, normalised and aligned: (operation, said, heard)."""
    if said is None or heard is None:
        return ()
    pairs: list[tuple[str, str, str]] = []
    for edit in align_words(rule(said), rule(heard)):
        size = max(len(edit.reference), len(edit.hypothesis))
        left = (*edit.reference, *[""] * (size - len(edit.reference)))
        right = (*edit.hypothesis, *[""] * (size - len(edit.hypothesis)))
        pairs += [(OPERATIONS[edit.kind], a, b) for a, b in zip(left, right, strict=True)]
    return tuple(pairs)
