"""Accuracy: error rates of every recognizer, scenario and group, with intervals that respect speakers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Unpack

import polars as pl

from voxaudit.answer import (
    Answer,
    Bars,
    Cell,
    Column,
    Figure,
    Finding,
    Note,
    Series,
    Table,
    finding_id,
    number_or_none,
    of_row,
    tabulate,
)
from voxaudit.audits.audit import asks
from voxaudit.audits.concentrated import COLUMNS_SHOWN, NO_ERRORS, concentration_notes, one_utterance
from voxaudit.audits.normalizers import run_sensitivity
from voxaudit.audits.scores import COUNTS, Filters, Scores, Source
from voxaudit.perturb import CLEAN
from voxaudit.perturb.describe import aside
from voxaudit.score.table import SCORE_COLUMNS
from voxaudit.stats.concentration import COLUMNS, concentration
from voxaudit.stats.rates import lower_limits_together, rate_intervals
from voxaudit.tables import in_parts
from voxaudit.wording import counted, listed, named, percent, percent_interval, speakers_of

BY = ("recognizer", "scenario")
SPEAKER = "_speaker"
CHARACTERS = ("characters", "character_errors")
LEAD = (
    "WER, the word error rate, counts wrong, missing and added words per word that was said; it can exceed 100 %. CER"
    " is the same for characters."
)
NOTE = (
    "Rates are ratios of sums over utterances; in intervals speakers are the sample (at least five), and upper limits"
    " allow for a worse speaker than those heard. Where no error was made, the upper limit says how much was heard."
)


# The question


@asks("accuracy")
def accuracy(
    source: Source,
    by: str | Sequence[str] | None = None,
    *,
    confidence: float = 0.95,
    **filters: Unpack[Filters],
) -> Answer:
    """Return word and character error rates for every combination of the columns `by`.

    `by` is one column, several, or `[]` for the whole table; without it recognizers and scenarios are reported as far
    as the table has them. Rates are ratios of sums over utterances: `wer = errors / words`. The interval of a WER
    takes speakers as the sample (`stats.rates`), and its upper limit allows for a worse one than those heard
    (`stats.unseen`); there is none where speakers are unknown or fewer than five. Where nobody met an error it starts
    at 0 and ends where so much speech without one allows. A missing attribute value is a group of its own. The table
    `rates` has the columns of `by`, utterances, speakers, words, errors, wer, low, high and cer, and what share of
    the errors the worst utterance, the worst hundredth of the utterances and the worst speaker make.

    >>> import polars as pl
    >>> rows = {"speaker": list("aabbccddee"), "words": [10] * 10, "errors": [1, 0, 2, 1, 0, 1, 3, 1, 0, 1]}
    >>> answer = accuracy(pl.DataFrame(rows))
    >>> print(answer.findings[0].sentence)
    10.0 % (4.2 to 28.7) of the words are wrong.
    """
    scores = Scores.of(source, **filters)
    asked = [name for name in BY if name in scores.frame.columns] if by is None else by
    names = [asked] if isinstance(asked, str) else list(asked)
    rates = error_rates(scores, names, confidence=confidence)
    names = shown_keys(scores, names)
    chosen = any(filters.get(name) for name in ("recognizer", "scenario", "where"))
    whole = by is None and scores.run is not None and not chosen
    pooled = _pooled(scores, names)
    findings = [*_rates(rates, names, pooled, scores.on_whom), *_worst(scores, rates, names, confidence)]
    if whole:
        findings += [*_unheard(scores), *run_sensitivity(scores)]
    tables = [_table(rates, names), _concentration_table(rates, names)]
    if whole and (failed := _failures(scores)).height:
        tables.append(_failures_table(failed))
    return Answer(
        audit="accuracy",
        title=f"Word error rate by {', '.join(names)}" if names else "Word error rate",
        findings=tuple(findings),
        tables=tables,  # type: ignore[arg-type]
        figures=tuple(_figures(rates, names)),
        notes=tuple(_notes(scores, rates, names, pooled, confidence)),
        lead=LEAD,
    )


def error_rates(scores: Scores, by: Sequence[str], *, confidence: float = 0.95) -> pl.DataFrame:
    """Return the rates themselves: `by`, utterances, speakers, words, errors, wer, low, high, cer, concentration.

    Recognizers and scenarios stand in the run's order, everything else in order of appearance.
    """
    keys = [scores.column(name) for name in by]
    counted_ = _with_speakers(scores.frame).with_columns(
        pl.Series("errors", scores.errors()).fill_nan(None).cast(pl.Int64),
        pl.Series("words", scores.counts("words")).fill_nan(None).cast(pl.Int64),
        pl.lit(0).alias("_all"),
    )
    grouped = keys or ["_all"]
    known = [name for name in ("words", "errors", *CHARACTERS) if name in counted_.columns]
    # Everything but the worst utterance follows from the sums of speakers, which are few.
    people = counted_.lazy().group_by([*grouped, SPEAKER], maintain_order=True)
    sums = in_parts(
        people.agg(
            pl.col(known).sum().name.prefix("_"),
            _utterances=pl.len(),
            _heard=(pl.col("words") > 0).sum(),
        )
    )
    words, errors = pl.col("_words").sum(), pl.col("_errors").sum()
    said, wrong = (pl.col(f"_{name}").sum() for name in CHARACTERS)
    rates = sums.group_by(grouped, maintain_order=True).agg(
        utterances=pl.col("_utterances").sum(),
        _words=words,
        errors=errors,
        wer=errors / words,
        cer=wrong / said if set(CHARACTERS) <= set(known) else pl.lit(None, pl.Float64),
    )
    rates = rates.with_columns(
        pl.when(pl.col(name).is_finite()).then(pl.col(name)).alias(name) for name in ("wer", "cer")
    )
    limits = rate_intervals(
        sums,
        grouped,
        errors="_errors",
        words="_words",
        speaker=SPEAKER,
        utterances="_heard",
        confidence=confidence,
    )
    own = sums.select(*grouped, SPEAKER, errors="_errors")
    where = concentration(counted_, grouped, speaker=SPEAKER, sums=own)
    for frame in (limits, where):
        rates = rates.join(frame, on=grouped, how="left", nulls_equal=True, maintain_order="left")
    ordered = scores.in_order(rates)
    return ordered.select(
        *(pl.col(key).alias(name) for key, name in zip(keys, shown_keys(scores, by), strict=True)),
        "utterances",
        "speakers",
        pl.col("_words").cast(pl.Int64).alias("words"),
        pl.col("errors").cast(pl.Int64),
        "wer",
        pl.col("ci_low").alias("low"),
        pl.col("ci_high").alias("high"),
        "cer",
        *COLUMNS,
    )


def shown_keys(scores: Scores, by: Sequence[str]) -> list[str]:
    """Return what the columns of `by` are called in a table of rates: one that would hide a count keeps its prefix."""
    return [scores.column(name) if name in SCORE_COLUMNS and name not in BY else name for name in by]


def _with_speakers(table: pl.DataFrame) -> pl.DataFrame:
    """Return the table with a column of speakers that a user's own grouping cannot collide with."""
    known = pl.col("speaker") if "speaker" in table.columns else pl.lit(None, pl.String)
    return table.with_columns(known.alias(SPEAKER))


# The findings


def _pooled(scores: Scores, by: Sequence[str]) -> str:
    """Return what a rate is taken over that a reader would not expect: several recognizers or scenarios at once."""
    several = {"recognizer": len(scores.recognizers), "scenario": len(scores.scenarios)}
    said = [counted(count, name) for name, count in several.items() if count > 1 and name not in by]
    return f" over {' and '.join(said)}" if said else ""


def _rates(rates: pl.DataFrame, by: Sequence[str], pooled: str, on_whom: str) -> Iterator[Finding]:
    """Yield a rate for every row; where the table is split by scenarios, of clean speech and the worst one only.

    `on_whom` says on how many speakers rates of all rest.
    """
    attributes = [name for name in by if name not in BY]
    worst_of = {} if attributes else {name: _worst_row(rates, name) for name in _recognizers(rates)}
    for row in rates.iter_rows(named=True):
        worst = worst_of.get(row.get("recognizer"))
        clean = row.get("scenario", CLEAN) == CLEAN
        if not clean and row != worst:
            continue
        who, group = row.get("recognizer"), ", ".join(named(row[name]) for name in attributes) or None
        keys: dict[str, Any] = {
            "recognizer": who,
            "scenario": row.get("scenario"),
            "attribute": ", ".join(attributes) or None,
            "group": group,
        }
        id_ = finding_id("accuracy", *keys.values(), "wer")
        whom = (f" for {speakers_of(group, keys['attribute'])}" if group else "") + pooled
        if row["wer"] is None:
            sentence = (
                f"{who or 'The recognizer'}: no error rate{whom}; it needs speech with reference texts."
            )
            yield Finding(
                id_, "wer", "refused", sentence, code="no_references", headline=not attributes, **keys
            )
            continue
        rate = percent_interval(row["wer"], row["low"], row["high"])
        scenario = keys["scenario"]
        on = {None: "", CLEAN: " on clean speech"}.get(scenario, f" under {scenario}")
        sentence = f"{rate} of the words are wrong{on}{whom}"
        if who is not None:
            sentence = f"{who} gets {rate} of the words wrong{on}{whom}"
        if not clean:
            sentence += f", its worst scenario{aside(scenario)}"
        sentence += "" if attributes else on_whom
        sentence += one_utterance(row)
        yield Finding(
            id_,
            "wer",
            "measured",
            f"{sentence}.",
            estimate=row["wer"],
            headline=not attributes and "scenario" in by,
            **of_row(row),
            **keys,
        )


def _recognizers(rates: pl.DataFrame) -> list[str | None]:
    return (
        rates["recognizer"].unique(maintain_order=True).to_list() if "recognizer" in rates.columns else [None]
    )


def _disturbed(rates: pl.DataFrame, recognizer: str | None) -> pl.DataFrame:
    if "scenario" not in rates.columns:
        return rates.head(0)
    rows = rates.filter((pl.col("scenario") != CLEAN) & pl.col("wer").is_not_null())
    return rows if recognizer is None else rows.filter(pl.col("recognizer") == recognizer)


def _worst_row(rates: pl.DataFrame, recognizer: str | None) -> dict[str, Any] | None:
    rows = _disturbed(rates, recognizer)
    return rows.sort("wer", descending=True, maintain_order=True).row(0, named=True) if rows.height else None


def _worst(scores: Scores, rates: pl.DataFrame, by: Sequence[str], confidence: float) -> Iterator[Finding]:
    """Yield the rate in the worst scenario of each recognizer.

    The largest of many lower limits is too high by chance, so that they are taken together. An upper limit needs
    nothing of the kind: all scenarios have to be below; where one has none, neither has the worst.
    """
    if list(by) != list(BY):
        return
    for name in scores.recognizers:
        rows, worst = _disturbed(rates, name), _worst_row(rates, name)
        if worst is None:
            continue
        low = worst["low"]
        if rows.height > 1:
            low = surely_at_least(scores, name, rows["scenario"].to_list(), confidence=confidence)[
                "low"
            ].max()
        high = None if rows["high"].null_count() else rows["high"].max()
        rate = percent_interval(worst["wer"], worst["low"], worst["high"])
        sentence = f"{name} gets {rate} of the words wrong under {worst['scenario']}, its worst scenario"
        if low is not None and rows.height > 1:
            sentence += f"; at least {percent(low)} with {counted(rows.height, 'scenario')} taken together"
        sentence += one_utterance(worst)
        yield Finding(
            finding_id("accuracy", name, "worst_wer"),
            "worst_wer",
            "measured",
            f"{sentence}.",
            estimate=worst["wer"],
            low=low,
            high=number_or_none(high),
            recognizer=name,
            **of_row(worst, "scenario speakers utterances words"),
        )


def surely_at_least(
    scores: Scores, recognizer: str, scenarios: Sequence[str], *, confidence: float = 0.95
) -> pl.DataFrame:
    """Return what the WER of a recognizer surely reaches: lower limits that hold for all scenarios at once.

    Columns: scenario, low (null where there is no interval).
    """
    names = ("recognizer", "scenario", "speaker", "words", "errors", *COUNTS)
    counts = scores.frame.select(name for name in names if name in scores.frame.columns)
    own = replace(scores, frame=counts).select(recognizer=recognizer, scenario=list(scenarios))
    table = own.frame.with_columns(errors=pl.Series(own.errors()))
    if "speaker" not in table.columns:
        table = table.with_columns(speaker=pl.lit(None, pl.String))
    sums = table.group_by("scenario", "speaker", maintain_order=True).agg(pl.col("errors", "words").sum())
    return lower_limits_together(sums, ["scenario"], confidence=confidence)


def _unheard(scores: Scores) -> Iterator[Finding]:
    """Yield what a run has no rate for: recognizers without clean speech, utterances without a text, failures."""
    run = scores.run
    if run is None:
        raise ValueError("only a run knows what was not heard")
    clean = set(scores.clean.recognizers)
    missing, total = run.corpus["text"].null_count(), run.corpus.height
    for name in run.config["recognizers"]:
        if name not in clean:
            sentence = f"{name}: no error rate on clean speech; it needs clean speech with reference texts."
            id_ = finding_id("accuracy", name, CLEAN, "wer")
            yield Finding(
                id_,
                "wer",
                "refused",
                sentence,
                code="no_references",
                recognizer=name,
                scenario=CLEAN,
                headline=missing < total,
            )
    if missing:
        one = missing == 1
        sentence = (
            f"{missing} of {total} utterances {'has' if one else 'have'} no reference text{_textless(run.corpus)}:"
            f" {'it was' if one else 'they were'} heard but not scored."
        )
        yield Finding(
            finding_id("accuracy", "unreferenced"),
            "unreferenced",
            "refused",
            sentence,
            estimate=missing / total,
            code="no_references",
            headline=True,
        )
    totals = dict(run.answers(lambda lazy: lazy.group_by("recognizer").len()).iter_rows())
    failed = {key[0]: part for key, part in _failures(scores).group_by("recognizer", maintain_order=True)}
    for name in run.config["recognizers"]:
        if not totals.get(name):
            continue
        count = int(failed[name]["trials"].sum()) if name in failed else 0
        share = count / totals[name]
        sentence = f"{percent(share)} of the trials of {name} failed"
        if count:
            sentence = (
                f"{name}: {counted(count, 'trial')} failed, the first with: {failed[name]['example'][0]}"
            )
        yield Finding(
            finding_id("accuracy", name, "failures"),
            "failures",
            "measured",
            sentence if sentence.endswith(".") else f"{sentence}.",
            estimate=share,
            recognizer=name,
            headline=count > 0,
        )
    if run.config.get("sequential"):
        sentence = (
            "This run was stopped early, cell by cell: the intervals and tests here do not know that; for claims read"
            " sequential.json."
        )
        yield Finding(
            finding_id("accuracy", "stopped"),
            "stopped",
            "refused",
            sentence,
            code="stopped_early",
            headline=True,
        )


def _textless(corpus: pl.DataFrame) -> str:
    """Return which of several corpora have no text at all, in brackets."""
    if "corpus" not in corpus.columns:
        return ""
    texts = corpus.group_by(pl.col("corpus").cast(pl.String), maintain_order=True).agg(pl.col("text").count())
    none = texts.filter(pl.col("text") == 0)["corpus"].drop_nulls().to_list()
    if not none or texts.height < 2:
        return ""
    return f" ({listed(none)} {'has' if len(none) == 1 else 'have'} none at all)"


def _failures(scores: Scores) -> pl.DataFrame:
    """Return the failed trials of a run by recognizer and reason: trials, example."""
    if scores.run is None:
        raise ValueError("only a run knows what failed")
    return (
        scores.run.failures
        # Reasons differ in file names and the like: the part before the first detail is what they share.
        .group_by("recognizer", reason=pl.col("failure").str.split(": ").list.get(0), maintain_order=True)
        .agg(trials=pl.len(), example=pl.col("failure").first())
        .sort("recognizer", "reason")
    )


# Tables, figures, notes


def _table(rates: pl.DataFrame, by: Sequence[str]) -> Table:
    columns = [
        *(Column(name) for name in by),
        Column("wer", "WER", "percent", "low", "high"),
        Column("cer", "CER", "percent"),
        Column("words", kind="count"),
        Column("utterances", kind="count"),
        Column("speakers", kind="count"),
    ]
    others = [name for name in by if name not in BY]
    title = "Word error rate" + (f" by {', '.join(others)}" if others else "")
    return tabulate("rates", title, rates, columns, note=NOTE)


def _concentration_table(rates: pl.DataFrame, by: Sequence[str]) -> Table:
    columns = [*(Column(name) for name in by), *COLUMNS_SHOWN]
    return tabulate("concentration", "Where the errors are", rates, columns, folded=True)


def _failures_table(frame: pl.DataFrame) -> Table:
    columns = [("recognizer",), ("reason",), ("trials", "", "count"), ("example", "the first")]
    return tabulate(
        "failures", "Trials that failed", frame, columns, note="A trial that failed is in no rate."
    )


def _notes(
    scores: Scores, rates: pl.DataFrame, by: Sequence[str], pooled: str, confidence: float
) -> Iterator[Note]:
    if pooled:
        text = f"Rates are taken{pooled}; split them, or choose one"
        yield Note("pooled", text, see=("by", "recognizer", "scenario"))
    yield from (Note("selected", text) for text in scores.notes)
    if rates.height and rates["low"].null_count():
        yield Note("no_interval", "No interval is given where fewer than five speakers are known.")
    if (rates["errors"] == 0).any():
        yield Note("no_errors", NO_ERRORS)
    yield from concentration_notes(rates, by, confidence)


def _figures(rates: pl.DataFrame, by: Sequence[str]) -> Iterator[Figure]:
    """Yield clean speech beside the worst scenario, by recognizer."""
    if list(by) != list(BY) or not rates.height:
        return
    clean = {row["recognizer"]: row for row in rates.iter_rows(named=True) if row["scenario"] == CLEAN}
    names = [name for name, row in clean.items() if row["wer"] is not None]
    if not names:
        return
    worst = [_worst_row(rates, name) for name in names]
    series = [Series("clean speech", tuple(_cell(clean[name]) for name in names))]
    if any(worst):
        series.append(Series("worst scenario", tuple(_cell(row) for row in worst)))
    alt = "Bars of the word error rate on clean speech and in the worst scenario, by recognizer."
    bars = Bars(tuple(names), tuple(series), "word error rate")
    yield Figure("rates", "Clean speech and the worst scenario", alt, bars, "rates")


def _cell(row: dict[str, Any] | None) -> Cell | None:
    return None if row is None else Cell(row["wer"], row["low"], row["high"])
