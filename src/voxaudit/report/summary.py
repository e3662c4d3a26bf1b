"""The summary of a run: a few sentences and two tables, for the terminal and as `summary.md`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from voxaudit.audits.accuracy import accuracy
from voxaudit.audits.disparity import ONE_SPEAKER, UNDECIDED, disparity
from voxaudit.audits.disparity_result import Effect, Fit
from voxaudit.errors import VoxauditError
from voxaudit.perturb import CLEAN
from voxaudit.report.numbers import percent, percent_interval
from voxaudit.run import Run
from voxaudit.tables import write_atomically


@dataclass(frozen=True)
class Summary:
    """What a run found.

    `rates` has a row per recognizer and scenario, `groups` a row per recognizer, scenario, attribute and level
    (columns of `audits.accuracy`); `failures` a row per recognizer and reason with the number of trials; `gaps` says
    in words what the disparity audit finds on clean speech.
    """

    config: dict[str, Any]
    rates: pl.DataFrame
    groups: pl.DataFrame
    failures: pl.DataFrame
    unreferenced: int
    gaps: tuple[str, ...]

    def sentences(self) -> list[str]:
        """Return the findings in words."""
        lines = [self._clean(name) for name in self.config["recognizers"]]
        lines += self.gaps
        if self.unreferenced:
            lines.append(
                f"{self.unreferenced} of {self.config['corpus']['utterances']} utterances have no reference text:"
                " they were heard but not scored."
            )
        lines += [
            f"{row['recognizer']}: {row['trials']} trials failed, the first with: {row['example']}"
            for row in self.failures.iter_rows(named=True)
        ]
        lines += self._made_of()
        few = self.rates["ci_low"].null_count() if self.rates.height else 0
        if few:
            lines.append("No interval is shown where fewer than five speakers are known.")
        return lines

    def _made_of(self) -> list[str]:
        """Return where noise and rooms came from, and what of the suites was not heard, with what it needs."""
        lines = []
        sources = self.config.get("sources", {})
        if sources:
            said = "; ".join(f"{name}: {about['description']}" for name, about in sources.items())
            lines.append(f"Noise and rooms: {said}.")
        missing: dict[str, list[str]] = {}
        for id_, need in self.config.get("not_heard", {}).items():
            missing.setdefault(need.replace(id_, "ROLE"), []).append(id_)
        lines += [f"Not heard: {', '.join(ids)} (each needs {need})." for need, ids in missing.items()]
        return lines

    def _clean(self, recognizer: str) -> str:
        rates = self.rates.filter(pl.col("recognizer") == recognizer)
        clean = rates.filter((pl.col("scenario") == CLEAN) & pl.col("wer").is_not_null())
        if clean.is_empty():
            return f"{recognizer}: no error rate on clean speech (nothing to score)."
        line = f"{recognizer} gets {_rate(clean.row(0, named=True))} of the words wrong on clean speech"
        heard = (pl.col("scenario") != CLEAN) & pl.col("wer").is_not_null()
        worst = rates.filter(heard).sort("wer", descending=True)
        if worst.is_empty():
            return line + "."
        row = worst.row(0, named=True)
        return f"{line}, and {_rate(row)} in its worst scenario, {row['scenario']}."


def summarize(run: Run, attributes: Sequence[str] = ()) -> Summary:
    """Return the summary of a scored run; `attributes` are the groups to compare."""
    order = run.config["scenarios"]
    scores = run.scores
    parts = [
        _ordered(accuracy(scores, ("recognizer", "scenario", attribute)), order)
        .rename({attribute: "level"})
        .insert_column(2, pl.lit(attribute).alias("attribute"))
        for attribute in attributes
    ]
    failures = (
        pl.scan_parquet(run.folder / "transcripts.parquet")
        .filter(pl.col("failure").is_not_null())
        # Reasons differ in file names and the like: the part before the first detail is what they share.
        .group_by("recognizer", reason=pl.col("failure").str.split(": ").list.get(0))
        .agg(trials=pl.len(), example=pl.col("failure").first())
        .sort("recognizer", "reason")
        .collect()
    )
    rates = _ordered(accuracy(scores), order)
    return Summary(
        config=run.config,
        rates=rates,
        groups=pl.concat(parts) if parts else rates.clear(),
        failures=failures,
        unreferenced=run.corpus["text"].null_count(),
        gaps=tuple(line for attribute in attributes for line in _gaps(scores, attribute)),
    )


def _gaps(scores: pl.DataFrame, attribute: str) -> list[str]:
    """Return a sentence per recognizer and group: the disparity audit of clean speech, refusals included."""
    clean = scores.filter(pl.col("scenario") == CLEAN)
    if clean.is_empty():
        return []
    rates = accuracy(clean, [attribute]).filter(pl.col(attribute).is_not_null()).sort("wer")
    # Of two groups the better served is the yardstick: the test is the same, the sentence easier to read.
    reference = rates[attribute][0] if rates.height == 2 else None
    try:
        found = disparity(
            clean,
            factor=attribute,
            reference=reference,
            by=("recognizer",),
            interval="robust",  # the one that keeps its promise with few speakers
            where="clean speech",
        )
    except VoxauditError as refusal:
        return [f"No conclusion about {attribute}: {refusal}."]
    lines = []
    for fit in found.fits:
        if fit.refusal is not None:
            lines.append(f"{fit.by['recognizer']}: no conclusion about {attribute}: {fit.refusal}.")
        lines += [_gap(fit, effect) for effect in fit.effects]
    return lines


def _gap(fit: Fit, effect: Effect) -> str:
    low, high = ("?" if limit is None else f"{limit:.2f}" for limit in (effect.ci_low, effect.ci_high))
    verdict = effect.verdict
    if verdict == ONE_SPEAKER:
        return (
            f"{fit.by['recognizer']}: no conclusion about {fit.factor} {effect.level} against {fit.reference}"
            f" ({verdict})."
        )
    if verdict == UNDECIDED and not (effect.ci_low or 0.0) <= 1.0 <= (effect.ci_high or 1.0):
        verdict += " once several comparisons are allowed for"
    return (
        f"On clean speech {fit.by['recognizer']} makes {effect.ratio:.2f} times as many errors for"
        f" {fit.factor} {effect.level} as for {fit.reference} ({low} to {high}): {verdict}."
    )


def write_summary(run: Run, attributes: Sequence[str] = ()) -> Summary:
    """Write `summary.md` into the run folder and return the summary."""
    summary = summarize(run, attributes)
    text = to_markdown(summary)
    write_atomically(run.folder / "summary.md", lambda path: path.write_text(text, encoding="utf-8"))
    return summary


def to_markdown(summary: Summary) -> str:
    """Return the summary as Markdown that fits a pull request."""
    corpus = summary.config["corpus"]
    lines = [
        f"# Audit of {_cell(corpus['name'])}",
        "",
        f"{corpus['utterances']} utterances, {corpus['speakers']} speakers; seed {summary.config['seed']};"
        f" normaliser {summary.config.get('normalizer', '-')}; voxaudit {summary.config['voxaudit']}.",
        "",
        *(f"- {_cell(sentence)}" for sentence in summary.sentences()),
        "",
        "## Word error rate by scenario",
        "",
        *_table(("recognizer", "scenario"), summary.rates),
    ]
    if summary.groups.height:
        lines += ["", "## Word error rate by group", ""]
        lines += _table(("recognizer", "scenario", "attribute", "level"), summary.groups)
    lines += ["", "Intervals are 95 %, from resampling speakers."]
    return "\n".join(lines) + "\n"


def _table(keys: Sequence[str], rates: pl.DataFrame) -> list[str]:
    head = [*keys, "WER", "95 % interval", "CER", "words", "speakers"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in rates.iter_rows(named=True):
        interval = "-" if row["ci_low"] is None else f"{percent(row['ci_low'])} to {percent(row['ci_high'])}"
        cells = [_cell(row[key]) for key in keys]
        cells += [
            percent(row["wer"]),
            interval,
            percent(row["cer"]),
            str(row["words"]),
            str(row["speakers"]),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _rate(row: dict[str, Any]) -> str:
    return percent_interval(row["wer"], row["ci_low"], row["ci_high"])


def _cell(value: object) -> str:
    """Return text that stays inside a Markdown cell: names come from users' files."""
    text = "(missing)" if value is None else " ".join(str(value).split())
    return (
        text.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace("|", "\\|")
        .replace("`", "\\`")
    )


def _ordered(rates: pl.DataFrame, scenarios: Sequence[str]) -> pl.DataFrame:
    """Return rows with the scenarios in the run's order."""
    rank = pl.col("scenario").replace_strict(
        list(scenarios), list(range(len(scenarios))), default=len(scenarios)
    )
    return rates.with_columns(_rank=rank).sort("recognizer", "_rank", maintain_order=True).drop("_rank")
