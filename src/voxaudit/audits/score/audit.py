"""Score: error rates of transcripts that somebody has already, and how far the text normalizer moves them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import polars as pl

from voxaudit.answer import Answer, Column, Finding, Note, Table, finding_id, of_row, tabulate
from voxaudit.audits.accuracy.audit import error_rates, shown_keys
from voxaudit.audits.audit import asks
from voxaudit.audits.concentrated import NO_ERRORS, concentration_notes, one_utterance
from voxaudit.audits.normalizers import normalizer_finding
from voxaudit.audits.scores import Scores
from voxaudit.errors import VoxauditError
from voxaudit.score.align import COUNT_COLUMNS, align_words
from voxaudit.score.compare import NormalizerRate, frequent_edits, normalizer_sensitivity
from voxaudit.score.files import Missing, Pairs, read_pairs, scores_of
from voxaudit.score.normalize import UNSPACED, Normalizer, count_unspaced, normalize_column
from voxaudit.score.normalize import normalizer as find_normalizer
from voxaudit.score.show import alignment_block
from voxaudit.score.table import score_columns, total
from voxaudit.stats.bootstrap import FEWEST_SPEAKERS
from voxaudit.tables import require_columns, write_table
from voxaudit.wording import counted, percent_interval

SENSITIVITY_ROWS = 3_000
"""The normalizers are compared on at most so many utterances, the same for all: one takes 0.2 ms for a text."""
EDIT_ROWS = 20_000
"""Frequent errors are taken from at most so many utterances."""
NAMES = {
    "wer": "WER, word error rate",
    "substitutions": "  substitutions",
    "deletions": "  deletions",
    "insertions": "  insertions",
    "cer": "CER, character error rate",
    "mer": "MER, match error rate",
    "wil": "WIL, word information lost",
}


@asks("score", sources=2)
def score_files(
    references: str | Path,
    hypotheses: str | Path | None = None,
    *,
    normalizer: str = "basic",
    by: str | Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    missing: Missing = "error",
    alignments: int = 0,
    scores: str | Path | None = None,
    name: str = "recognizer",
) -> Answer:
    """Score transcripts against references from two files, or from one table that has both.

    Plain text is matched line by line, everything else by id. `columns` says which column is which, where the usual
    names are not used: `reference`, `hypothesis`, `id`, `speaker`. `by` names columns whose groups are reported apart.
    `WER = (S + D + I) / N`, `MER = (S + D + I) / (H + S + D + I)`, `WIL = 1 - (H / N)(H / P)` with N words said and P
    heard. `scores` is a file to write a scores table to, which every audit reads; the recognizer is called `name`
    there.

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "ref.txt").write_text("turn the lamp off\\nopen the door\\n")
    >>> _ = (folder / "hyp.txt").write_text("turn a lamp off\\nopen the door\\n")
    >>> answer = score_files(folder / "ref.txt", folder / "hyp.txt")
    >>> print(answer.findings[0].sentence)
    14.3 % of the words are wrong: 1 error in 7 words of 2 utterances.
    """
    chosen = find_normalizer(normalizer)
    names = dict(columns or {})
    unknown = set(names) - {"reference", "hypothesis", "id", "speaker"}
    if unknown:
        raise VoxauditError(
            f"'{min(unknown)}' is not a column here; give reference, hypothesis, id or speaker",
            see=("columns",),
        )
    pairs = read_pairs(
        references,
        hypotheses,
        id=names.get("id"),
        reference=names.get("reference"),
        hypothesis=names.get("hypothesis"),
        missing=missing,
    )
    split = [by] if isinstance(by, str) else list(by)
    speaker = names.get("speaker")
    require_columns(pairs.columns, [*split, *([speaker] if speaker else [])], str(references))
    counts = score_columns(pairs.references, pairs.hypotheses, chosen)
    notes = [*(Note("pairs", text) for text in pairs.notes), *_unspaced(pairs, chosen.id)]
    worst = _alignments(pairs, chosen, counts, alignments)
    some, more = pairs.sample(SENSITIVITY_ROWS), pairs.sample(EDIT_ROWS)
    ids, about = pairs.ids, pairs.columns
    del pairs  # half of the memory, given back before a table of trials takes as much
    frame = scores_of(counts, ids, about, recognizer=name, speaker=speaker)
    table = Scores(frame, str(references))
    if scores is not None:
        _write(table.frame, Path(scores))
    wordless = int((frame["words"] == 0).sum())
    if wordless:
        text = f"{counted(wordless, 'reference')} without words: what was heard there counts as insertions"
        notes.append(Note("wordless", text, {"utterances": wordless}))
    rates = normalizer_sensitivity(some.references, some.hypotheses, chosen.id)
    frequent = _frequent(more, chosen, frame.height)
    finding, why = _finding(table)
    notes += why
    tables = [_measures(table, finding), frequent]
    if split:
        tables.append(_groups(table, split))
    tables += [_normalizers(rates, len(some)), *worst]
    return Answer(
        audit="score",
        title=f"{counted(frame.height, 'utterance')}, text normalized with {chosen.id}",
        question={"normalizer": chosen.id},
        findings=(finding, *normalizer_finding("score", rates)),
        tables=[one for one in tables if one.frame.height],  # type: ignore[arg-type]
        notes=tuple(notes),
        detail=table,
    )


def _write(table: pl.DataFrame, path: Path) -> None:
    """Write a `scores` table, what every audit reads: one row per utterance, with the files' other columns."""
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise VoxauditError(f"{path}: a scores table is written as .csv or .parquet", see=("scores",))
    write_table(table, path)


def _unspaced(pairs: Pairs, chosen: str) -> list[Note]:
    """Say where sentences count as words: nearly every rate would be a rate of sentences."""
    count = count_unspaced(pairs.references)
    if not count or chosen.startswith(f"{UNSPACED}@"):
        return []
    text = (
        f"{count:,} of {len(pairs):,} references have no spaces between words, and each counts as one word; the"
        f" normalizer `{UNSPACED}` counts characters instead"
    )
    return [Note("unspaced", text, {"utterances": count}, see=("normalizer",))]


def _finding(table: Scores) -> tuple[Finding, list[Note]]:
    rates = error_rates(table, [])
    row = rates.row(0, named=True)
    rate = percent_interval(row["wer"], row["low"], row["high"])
    errors, words, utterances = (counted(row[f"{what}s"], what) for what in ("error", "word", "utterance"))
    where = f"{errors} in {words} of {utterances}"
    finding = Finding(
        finding_id("score", "wer"),
        "wer",
        "measured" if row["wer"] is not None else "refused",
        f"{rate} of the words are wrong: {where}{one_utterance(row)}."
        if row["wer"] is not None
        else "There are no reference words.",
        estimate=row["wer"],
        **of_row(row),
        code=None if row["wer"] is not None else "no_references",
        headline=True,
    )
    notes = list(concentration_notes(rates, [], finding.level))
    if row["words"] and not row["errors"]:
        notes.append(Note("no_errors", NO_ERRORS))
    if row["low"] is not None:
        return finding, notes
    unknown = table.frame["speaker"].null_count()
    if unknown == table.frame.height:
        why = "there is no speaker column, and utterances of one speaker are not independent"
    elif row["speakers"] < FEWEST_SPEAKERS:
        why = f"there are {row['speakers']} speakers; at least {FEWEST_SPEAKERS} are needed"
    else:
        why = "the speaker is unknown for some utterances, or there are no reference words"
    return finding, [Note("no_interval", f"No interval for the WER: {why}.", see=("columns",)), *notes]


def _measures(table: Scores, finding: Finding) -> Table:
    counts = total(table.frame)
    sums = {name: int(table.frame[name].sum()) for name in (*COUNT_COLUMNS, "characters", "character_errors")}
    values = {
        "wer": finding.estimate,
        **{
            name: sums[name] / counts.words if counts.words else None
            for name in ("substitutions", "deletions", "insertions")
        },
        "cer": sums["character_errors"] / sums["characters"] if sums["characters"] else None,
        "mer": counts.mer,
        "wil": counts.wil,
    }
    errors = {"wer": counts.errors, "cer": sums["character_errors"], **sums}
    rows = [
        {
            "measure": measure,
            "what": what,
            "rate": values[measure],
            "low": finding.low if measure == "wer" else None,
            "high": finding.high if measure == "wer" else None,
            "errors": errors.get(measure),
        }
        for measure, what in NAMES.items()
    ]
    columns = [("what", "measure"), ("rate", "", "percent", "low", "high"), ("errors", "", "count")]
    note = "In brackets: the 95 % interval, speakers being the sample." if finding.low else ""
    return tabulate("measures", "Error rates", rows, columns, note=note)


def _frequent(pairs: Pairs, rule: Normalizer, of: int) -> Table:
    said, heard = (normalize_column(texts, rule) for texts in (pairs.references, pairs.hypotheses))
    found = frequent_edits(said, heard)
    edits = [
        *(("substituted", said_, heard_, n) for said_, heard_, n in found.substitutions),
        *(("deleted", word, None, n) for word, n in found.deletions),
        *(("inserted", None, word, n) for word, n in found.insertions),
    ]
    rows = [dict(zip(("kind", "word", "heard", "count"), edit, strict=True)) for edit in edits]
    columns = [("kind",), ("word", "said"), ("heard",), ("count", "times", "count")]
    note = f"Of a sample of {len(pairs):,} utterances." if len(pairs) < of else ""
    return tabulate("frequent", "What is most often wrong", rows, columns, note=note)


def _groups(table: Scores, by: Sequence[str]) -> Table:
    keys, names = [table.column(name) for name in by], shown_keys(table, by)
    rates = error_rates(table, by)
    kinds = table.frame.group_by(keys, maintain_order=True).agg(pl.col(COUNT_COLUMNS).sum())
    kinds = kinds.rename(dict(zip(keys, names, strict=True)))
    frame = rates.join(kinds, on=names, how="left", nulls_equal=True, maintain_order="left")
    columns = [
        *(Column(name, title) for name, title in zip(names, by, strict=True)),
        *(Column(name, kind="count") for name in ("utterances", "words")),
        Column("wer", "WER", "percent", "low", "high"),
        Column("cer", "CER", "percent"),
        *(Column(name, name[0].upper(), "count") for name in ("substitutions", "deletions", "insertions")),
    ]
    return tabulate("groups", f"By {', '.join(by)}", frame, columns)


def _normalizers(rates: Sequence[NormalizerRate], utterances: int) -> Table:
    columns = [
        ("normalizer",),
        ("words", "", "count"),
        ("wer", "WER", "percent"),
        ("cer", "CER", "percent"),
        ("change", "change", "percent"),
    ]
    title = f"The same transcripts under every normalizer ({counted(utterances, 'utterance')})"
    return tabulate("normalizers", title, [asdict(rate) for rate in rates], columns)


def _alignments(pairs: Pairs, rule: Normalizer, counts: pl.DataFrame, number: int) -> list[Table]:
    """Return the worst utterances, each as the lines of its alignment."""
    if not number:
        return []
    errors = counts["substitutions"] + counts["deletions"] + counts["insertions"]
    rows = []
    for index in errors.arg_sort(descending=True).head(number).to_list():
        if not errors[index]:
            continue
        head = f"{errors[index]} errors, {counts['words'][index]} words"
        about = {"utterance": str(pairs.ids[index]), "reference": pairs.references[index]}
        about["hypothesis"] = pairs.hypotheses[index]
        edits = align_words(rule(about["reference"]), rule(about["hypothesis"]))
        for line in alignment_block(edits).split("\n"):
            rows.append({"utterance": about["utterance"], "about": head, "line": line, **about})
            head = ""
    shown = [("utterance",), ("about", " "), ("line", "alignment")]
    return [tabulate("alignments", "The worst utterances", rows, shown)]
