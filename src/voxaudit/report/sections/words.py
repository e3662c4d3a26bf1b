"""Words: which words get lost when speech is disturbed, and for whom. No reference texts are needed."""

from __future__ import annotations

import polars as pl

from voxaudit.audits.localize import Localization, localize
from voxaudit.errors import VoxauditError
from voxaudit.perturb import CLEAN
from voxaudit.report.context import Context
from voxaudit.report.document import Finding, Section, Table
from voxaudit.report.parts import Spec, attempt, finding_id, listed, refusal, table_of
from voxaudit.report.sections.robustness_figures import ordered_steps

AUDIT = "localize"
MOST_WORDS = 200
MOST_TRIALS = 100_000
"""Trials whose words are all looked at."""

KEYS: tuple[Spec, ...] = (
    ("recognizer", "recognizer", "text"),
    ("group", "group", "text"),
    ("perturbation", "perturbation", "text"),
)


def section(context: Context) -> Section:
    """Return the chapter."""
    title = "Words that get lost"
    attribute = next((name for name in context.attributes if context.unfit(name) is None), None)
    column = None if attribute is None else context.column[attribute]
    table, cut = _transcripts(context)
    found = attempt(lambda: localize(table, attribute=column, phonemes=False, examples=0, where="run"))
    if isinstance(found, VoxauditError):
        return Section("words", title, refusals=(refusal("words", "words", found, "run"),))
    told = "" if attribute is None else f" Groups are those of {attribute}."
    return Section(
        id="words",
        title=title,
        lead=(
            "A word counts as lost where it is heard in clean speech and not under the disturbance. `q` says whether"
            " speakers lose it more often than the words beside it, `q between groups` whether one group loses it more"
            f" than the others, both at a false-discovery rate of {100 * found.fdr:g} %.{told}",
        ),
        findings=tuple(_findings(context, found, attribute)),
        tables=(_words(found), _averages(found)),
        notes=(
            *cut,
            *(f"{note}." for note in found.notes),
            "Sounds, examples and other groups: `voxaudit localize RUN --attribute COLUMN`.",
        ),
    )


def _transcripts(context: Context) -> tuple[pl.DataFrame, list[str]]:
    """Return the transcripts to look at; of a large run, clean speech and the harshest setting of every disturbance."""
    table = context.transcripts
    if table.height <= MOST_TRIALS:
        return table, []
    steps = ordered_steps(context, set(context.settings) - {CLEAN})
    kept = [CLEAN, *(settings[-1].scenario for settings in steps.values())]
    note = f"Of {len(context.settings)} scenarios, {len(kept)}: clean speech and the harshest of each perturbation."
    return table.filter(pl.col("scenario").is_in(kept)), [note]


def _tested(found: Localization) -> pl.DataFrame:
    """Return words with a column `significant`, the surest first, then by how often they are lost."""
    frame = found.words
    missing = [pl.lit(None, pl.Float64).alias(name) for name in ("q", "q_group") if name not in frame.columns]
    frame = frame.with_columns(*missing)
    least = pl.min_horizontal("q", "q_group")
    return frame.with_columns(significant=(least <= found.fdr).fill_null(False)).sort(
        "significant",
        "lost",
        "lost_rate",
        *(name for name, _, _ in KEYS),
        "word",
        descending=[True, True, True, False, False, False, False],
    )


def _findings(context: Context, found: Localization, attribute: str | None) -> list[Finding]:
    findings = []
    frame = _tested(found).filter(pl.col("significant"))
    for name in context.recognizers:
        own = frame.filter(pl.col("recognizer") == name)
        words = own["word"].unique(maintain_order=True).to_list()
        if not words:
            sentence = f"{name}: no word is shown to get lost more than others when speech is disturbed."
        else:
            sentence = (
                f"{name} loses some words more than others when speech is disturbed: {listed(words, 8)}."
            )
        findings.append(
            Finding(
                id=finding_id(AUDIT, name, "words"),
                audit=AUDIT,
                verdict="shown" if words else "not_shown",
                sentence=sentence,
                measure="words",
                estimate=float(len(words)),
                unit="words",
                recognizer=name,
                attribute=attribute,
                headline=bool(words),
            )
        )
    return findings


def _words(found: Localization) -> Table:
    columns: tuple[Spec, ...] = (
        *KEYS,
        ("word", "word", "text"),
        ("original", "heard clean", "count"),
        ("lost", "lost, at worst", "count"),
        ("lost_rate", "share", "percent"),
        ("lost_setting", "at setting", "text"),
        ("drop", "heard less often by", "count"),
        ("speakers", "speakers", "count"),
        ("q", "q", "p"),
        ("q_group", "q between groups", "p"),
    )
    return table_of(
        "lost-words",
        "Words that get lost most",
        _tested(found).filter(pl.col("lost") > 0),
        columns,
        most=MOST_WORDS,
        rest="`voxaudit localize RUN --json`",
        note="Words that a test shows come first. Heard less often by: in the disturbed transcripts of all speakers"
        " together, times (AequeVox, Algorithm 2). q is a p-value corrected for all words.",
    )


def _averages(found: Localization) -> Table:
    columns: tuple[Spec, ...] = (
        *KEYS,
        ("words", "different words", "count"),
        ("original", "heard clean", "count"),
        ("dropped", "heard less often by", "count"),
        ("share", "share", "percent"),
        ("average_drop", "less often, average of a word", "number"),
    )
    return table_of("average-drops", "Average drop by perturbation", found.averages, columns, most=500)
