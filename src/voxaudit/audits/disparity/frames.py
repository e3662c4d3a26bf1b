"""From a table of scores to counts, speakers, groups and controls; what is wrong with a table is said here."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voxaudit.answer import refuse
from voxaudit.audio import Audio
from voxaudit.audits.scores import Scores
from voxaudit.errors import VoxauditError, one_line
from voxaudit.recognize.weights.fetch import fetched, known_model
from voxaudit.run.progress import Progress
from voxaudit.score.meaning import MINILM, Encoder, principal_components
from voxaudit.score.meaning import encoder as find_encoder
from voxaudit.score.measures import measure_recordings
from voxaudit.score.voices import MODEL, WIDTH, cluster, embed
from voxaudit.stats.group_design import Categorical, Control, Frame, Numeric
from voxaudit.stats.labels import IntArray, Labels, labels_of
from voxaudit.tables import require_columns

MOST_VALUES = 100
"""More values of a control attribute are a mistake (an id, free text)."""
SPEAKERS_PER_COMPONENT = 5
"""One principal component of the text for so many speakers: more could describe the speakers one by one."""
MOST_COMPONENTS = 50
SHARED = 0.5
"""Texts are prompts where so large a share of the utterances has a text that several speakers read."""


@dataclass(frozen=True)
class Question:
    """Which columns mean what: the sensitive attribute whose gap is measured, the control attributes held fixed ...

    A control named `C(column)` is categorical even where it looks like numbers. `speakers` is false where a table has
    none and none are needed.
    """

    attribute: str
    controls: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    interaction: str | None = None
    speakers: bool = True


def frames(
    scores: Scores, question: Question, extra: Sequence[Control] = (), prompt: Labels | None = None
) -> Iterator[Frame]:
    """Check the table and yield one frame for every combination of `question.by`, in order of appearance.

    `extra` are control attributes that are not columns of the table; `prompt` names the text of every row.
    """
    _check_names(scores, question)
    table, where = scores.frame, scores.where
    errors, words = scores.errors(), scores.counts("words")
    attribute = scores.labels(question.attribute, ordered=True)
    speaker = _speakers(scores) if question.speakers else None
    controls = [*(_control(scores, name) for name in question.controls), *extra]
    for one in controls:
        if isinstance(one, Categorical) and len(one.labels.names) > MOST_VALUES:
            raise VoxauditError(
                f"{where}: control attribute '{one.column}' has {len(one.labels.names):,} different labels, too many"
                " to hold fixed. Merge them into fewer",
                see=("controls",),
            )
    interaction = None
    if question.interaction:
        interaction = Categorical(question.interaction, scores.labels(question.interaction, ordered=True))
    reasons = {
        "no counts": np.isnan(errors) | np.isnan(words),
        "no reference words": words == 0,
        f"no value of {question.attribute}": attribute.codes < 0,
    }
    for one in (*controls, *([interaction] if interaction else [])):
        reasons[f"no value of {one.column}"] = one.missing
    if (reasons["no counts"] | reasons["no reference words"]).all():
        raise refuse(
            "no_references", "no utterance has reference words, so there is no error rate", about=where
        )
    any_reason = np.logical_or.reduce(list(reasons.values()))
    for group, rows in _groups(table, question.by):
        left_out, keep = _left_out(reasons, any_reason, rows)
        yield Frame(
            group=group,
            errors=errors if keep is None else errors[keep],
            words=words if keep is None else words[keep],
            attribute=attribute.at(keep),
            speaker=None if speaker is None else speaker.at(keep),
            controls=tuple(one.at(keep) for one in controls),
            interaction=None if interaction is None else interaction.at(keep),
            left_out=left_out,
            prompt=None if prompt is None else prompt.at(keep),
        )


def _groups(table: pl.DataFrame, by: Sequence[str]) -> Iterator[tuple[dict[str, Any], IntArray | None]]:
    if not by:
        yield {}, None
        return
    split = table.select(by).with_row_index("_row")
    for key, part in split.group_by(list(by), maintain_order=True):
        yield dict(zip(by, key, strict=True)), part["_row"].to_numpy().astype(np.int64)


def _left_out(
    reasons: dict[str, NDArray[np.bool_]], any_reason: NDArray[np.bool_], rows: IntArray | None
) -> tuple[dict[str, int], IntArray | None]:
    """Return how many rows fall to each reason (the first that holds), and the rows that stay."""
    if not any_reason.any():
        return {}, rows
    rows = np.arange(len(any_reason)) if rows is None else rows
    left, found = np.ones(len(rows), dtype=bool), {}
    for reason, holds in reasons.items():
        hit = holds[rows] & left
        if hit.any():
            found[reason] = int(hit.sum())
            left &= ~hit
    return found, rows[left]


def _check_names(scores: Scores, question: Question) -> None:
    controls = [_plain(name) for name in question.controls]
    interaction = [question.interaction] if question.interaction else []
    roles = [
        ("the sensitive attribute", question.attribute),
        *(("a control attribute", name) for name in controls),
        *(("the interaction", name) for name in interaction),
        *(("a column to split by", name) for name in question.by),
        *([("the speaker", "speaker")] if question.speakers else []),
        ("the errors", "errors"),
        ("the words", "words"),
    ]
    seen: dict[str, str] = {}
    for role, name in roles:
        if name in seen:
            raise VoxauditError(f"{scores.where}: column '{name}' cannot be {seen[name]} and {role} at once")
        seen[name] = role
    scores.require("words", question.attribute, *controls, *interaction, *question.by)
    if question.speakers and "speaker" not in scores.frame.columns:
        raise VoxauditError(
            f"{scores.where}: no column 'speaker'. Utterances of one speaker are not independent: say which column"
            " names the speaker, or leave the speakers' effect out and read the intervals as too narrow",
            see=("columns", "random"),
        )
    if not scores.frame.height:
        text = "the table has no rows: nothing was scored (no reference texts, or no trial was answered)"
        raise refuse("no_references", text, about=scores.where)


def _speakers(scores: Scores) -> Labels:
    labels = scores.labels("speaker")
    missing = labels.codes < 0
    if missing.all():
        text = "no speaker is known, and utterances are not a sample of people"
        raise refuse("no_speakers", text, about=scores.where, see=("estimate_speakers",))
    if missing.any():
        raise VoxauditError(
            f"{scores.where}: row {int(missing.argmax()) + 1:,}, column 'speaker': no speaker"
            f" ({int(missing.sum()):,} such rows). Fill it in, or leave these rows or the speakers' effect out",
            see=("where", "random"),
        )
    return labels


def heard_voices(scores: Scores) -> pl.DataFrame:
    """Return what the voices of a table's recordings are like, a row per recording: keys, then numbers (`embed`).

    They are biometric data: nothing of them is kept.
    """
    frame = scores.frame
    if "speaker" in frame.columns and frame["speaker"].count():
        text = f"{scores.where}: column 'speaker' has the speakers; none need be estimated"
        raise VoxauditError(text, see=("estimate_speakers",))
    if fetched(known_model(MODEL)) is None:
        raise refuse(
            "no_speakers",
            "voices cannot be told apart: the speaker encoder is not on this machine",
            about=scores.where,
            remedy=f"voxaudit models fetch {MODEL}",
        )
    if scores.run is not None:
        heard = frame.select(pl.col("utterance").cast(pl.String)).unique()
        about = scores.run.corpus.rename({"id": "utterance"}).cast({"utterance": pl.String})
        about, segment = about.join(heard, on="utterance", how="semi"), ["audio", "start", "duration"]
    else:
        require_columns(frame, ["audio"], scores.where)
        segment = [name for name in ("audio", "start", "duration") if name in frame.columns]
        about = frame.select(segment).unique(maintain_order=True)
    names = [f"voice_{place}" for place in range(WIDTH)]

    def voice(audio: Audio) -> dict[str, float | None]:
        found = embed(audio)
        return dict(zip(names, [None] * WIDTH if found is None else found.tolist(), strict=True))

    with Progress(sys.stderr.isatty()) as bar:
        bar.begin("voices", about.select(segment).n_unique())
        found = measure_recordings(about, segment, scores.folder or Path(), voice, names, bar)
    keys = ["utterance"] if scores.run is not None else segment
    table = about.join(found, on=segment, how="left", nulls_equal=True, maintain_order="left")
    return table.select(*keys, *names).drop_nulls(names)


def by_voice(scores: Scores, voices: pl.DataFrame, count: int) -> Scores:
    """Return the scores with speakers estimated from voices: `count` of them, or as many as are heard where it is 0.

    Rows whose recording says nothing of a voice are left out.
    """
    keys = [name for name in voices.columns if not name.startswith("voice_")]
    numbers = cluster(voices.drop(keys).to_numpy(), min(count, voices.height) or None)
    speakers = voices.select(*keys, speaker=pl.Series([f"voice {number + 1}" for number in numbers]))
    frame = scores.frame.drop("speaker", strict=False).with_columns(
        pl.col(name).cast(voices.schema[name]) for name in keys
    )
    return replace(scores, frame=frame.join(speakers, on=keys, nulls_equal=True, maintain_order="left"))


def _control(scores: Scores, name: str) -> Control:
    column = scores.frame[_plain(name)]
    if not column.count() and (why := scores.not_measured(name)) is not None:
        raise VoxauditError(f"{scores.where}: '{name}' was not measured: {why}", see=("controls",))
    if name != _plain(name) or column.dtype in (pl.Boolean, pl.Categorical, pl.Enum):
        return Categorical(_plain(name), labels_of(column, ordered=True))
    if column.dtype == pl.String:
        text = column.str.strip_chars()
        known = text.is_not_null() & (text != "")
        other = known & text.cast(pl.Float64, strict=False).is_null()
        if not known.any() or 2 * int(other.sum()) >= int(known.sum()):
            return Categorical(name, labels_of(column, ordered=True))
        if other.any():
            row = int(other.arg_max() or 0)
            raise VoxauditError(
                f"{scores.where}: row {row + 1:,}, column '{name}': '{one_line(text[row], 60)}' among numbers. Leave"
                f" the field empty where the value is unknown, or write C({name}) to compare its values as categories"
            )
    numbers = scores.numbers(name)
    if np.isinf(numbers).any():
        row = int(np.isinf(numbers).argmax()) + 1
        raise VoxauditError(f"{scores.where}: row {row:,}, column '{name}': an infinite value")
    return Numeric(name, numbers)


def _plain(name: str) -> str:
    return name[2:-1].strip() if name.startswith("C(") and name.endswith(")") else name


def embedding_controls(
    table: pl.DataFrame,
    text: str,
    speaker: str | None,
    *,
    where: str = "table",
    encode: Encoder | None = None,
    encoder: str = MINILM,
) -> tuple[list[Numeric], str]:
    """Return what is said as controls (Liu et al. 2022, section 2.2), and what was done in words.

    Controls are principal components of the sentence embeddings of a text column. A gap that goes away when the text is
    held fixed came from what is said. One that stays is not explained by the text as measured here.

    Components are in units of their standard deviation over the utterances. `encode` turns texts into vectors, by
    default the `encoder` of that name. Rows without text get no value and are left out of the fit.
    """
    require_columns(table, [text, *([speaker] if speaker else [])], where)
    texts = table[text].cast(pl.String).str.strip_chars()
    distinct = [one for one in texts.unique(maintain_order=True).to_list() if one]
    if len(distinct) < 3:
        raise VoxauditError(
            f"{where}: column '{text}' has {len(distinct)} different texts, too few to hold fixed"
        )
    several = speaker is not None and table.group_by(speaker).agg(pl.col(text).n_unique())[text].mean() >= 2.0  # type: ignore[operator]
    # Where speakers say several texts, texts are the sample that components are estimated from, not speakers.
    units = table[speaker].n_unique() if speaker and not several else len(distinct)
    most = min(MOST_COMPONENTS, units // SPEAKERS_PER_COMPONENT, len(distinct) - 1)
    if most < 1:
        raise VoxauditError(
            f"{where}: {units} {'texts' if several else 'speakers'} are too few to hold fixed what they say; at least"
            f" {SPEAKERS_PER_COMPONENT} are needed for one component of the text"
        )
    vectors = (encode or find_encoder(encoder))(distinct)
    index = {one: row for row, one in enumerate(distinct)}
    rows = np.array([index.get(one, -1) if one is not None else -1 for one in texts.to_list()])
    components, share = principal_components(
        vectors, np.bincount(rows[rows >= 0], minlength=len(distinct)), most
    )
    scores = np.vstack([components, np.full(components.shape[1], np.nan)])[rows]
    names = [f"text{number + 1:02d}" for number in range(components.shape[1])]
    whom = f"the {units:,} speakers" if speaker and not several else f"{units:,} texts"
    said = (
        f"text of column '{text}' held fixed: {vectors.shape[1]}-dimensional vectors ({one_line(encoder, 80)}) of"
        f" {len(distinct):,} texts, reduced to {len(names)} principal components ({100 * share:.0f} % of their"
        f" variance), at most one for {SPEAKERS_PER_COMPONENT} of {whom}"
    )
    return [Numeric(name, scores[:, number]) for number, name in enumerate(names)], said


def prompts_of(scores: Scores) -> Labels | None:
    """Return the text of every row as a label, where the same texts are read by several speakers; else None.

    Case, marks and spaces make no other text. One text for all is no prompt: nothing varies.
    """
    if "speaker" not in scores.frame.columns:
        return None
    frame = scores.with_texts().frame
    if "reference" not in frame.columns:
        return None
    text = pl.col("reference").cast(pl.String).str.to_lowercase().str.replace_all(r"[^\p{L}\p{N}]+", " ")
    table = frame.select(text.str.strip_chars().alias("text"), "speaker")
    readers = (
        table.group_by("text").agg(speakers=pl.col("speaker").n_unique(), rows=pl.len()).drop_nulls("text")
    )
    shared = readers.filter(pl.col("speakers") > 1)
    if readers.height < 2 or shared["rows"].sum() < SHARED * table.height:
        return None
    return labels_of(table["text"])
