"""Confidence: how far a recognizer's own word can be trusted, and whose wrong words it vouches for.

A confidence of a word is that word's; one of a whole answer is that of each of its words. A word is right where the
alignment with the reference says so. Everything takes speakers as the sample.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Unpack

import numpy as np
import polars as pl

from voxaudit.answer import (
    Answer,
    Cell,
    Curves,
    Figure,
    Finding,
    Note,
    Series,
    Table,
    finding_id,
    number_or_none,
    refuse,
    tabulate,
)
from voxaudit.audits.audit import asks
from voxaudit.audits.ratios import Ratio, compare_groups, group_finding
from voxaudit.audits.scores import Filters, Scores, Source, read_trials
from voxaudit.errors import VoxauditError
from voxaudit.score.align import word_counts
from voxaudit.score.normalize import Normalizer, normalize_column
from voxaudit.score.normalize import normalizer as find_normalizer
from voxaudit.score.pairs import Pairs, places
from voxaudit.score.run import normalizer_of, silent_scenarios
from voxaudit.stats.cells import FloatArray, IntArray
from voxaudit.stats.rates import rate_intervals
from voxaudit.stats.reliability import MEASURES, Reliability, reliability
from voxaudit.tables import total
from voxaudit.wording import counted, in_points, percent, points_interval

NAME = "confidence"
SENT = 0.2
"""Share of the words that are sent to a person where no threshold is given."""
LEAD = (
    "How sure a recognizer says it is of its words, beside how often they are right. Words below the threshold would be"
    " sent to a person: in vain where they were right; wrong words above it get through. In brackets: the 95 %"
    " interval, speakers being the sample."
)
RATIOS = (
    Ratio("overconfidence_ratio", "said", "right"),
    Ratio("sent_in_vain_ratio", "sent_right", "right", "sent_right"),
    Ratio("passed_ratio", "passed_wrong", "wrong", "passed_wrong"),
)
SAID = {
    "overconfidence_ratio": (
        "states {much} confidence per right word",
        "is not shown to state {much} confidence per right word",
        "much",
    ),
    "sent_in_vain_ratio": (
        "sends {more} right words to a person",
        "is not shown to send {more} right words to a person",
        "many of them",
    ),
    "passed_ratio": (
        "lets {more} wrong words through",
        "is not shown to let {more} wrong words through",
        "many of them",
    ),
}
"""What is said of a comparison by its measure: shown, not shown, and the unit of its ratio."""


@asks(NAME)
def confidence(
    source: Source,
    *,
    attributes: str | Sequence[str] = (),
    normalizer: str | None = None,
    review_below: float | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    **filters: Unpack[Filters],
) -> Answer:
    """Return how far confidences can be trusted, by recognizer, scenario and group, and compare groups.

    The source is a run, or a table with utterance, text, reference, `confidence` (0 to 1, of the whole answer) or
    `word_times` (JSON, [word, start, end, confidence] each), and what there is of recognizer, scenario, speaker and
    attributes. Words less sure than `review_below` are sent to a person: by default so that one in five is, by
    recognizer. Groups of `attributes` are compared with the largest one by what is said per right word, by the share of
    right words that are sent, and of wrong words that are not.

    >>> rows = {"utterance": ["a", "b"], "reference": ["good day", "yes"], "text": ["good day", "no"]}
    >>> answer = confidence(pl.DataFrame(rows | {"confidence": [0.9, 0.6], "speaker": ["s", "t"]}))
    >>> print(answer.findings[0].sentence)
    recognizer says 0.80 and is right 0.67 of the time: 13.3 percentage points surer than it is right (3 words).
    """
    read = read_trials(source, more=("confidence", "word_times"), **filters)
    rule = normalizer_of(read.run) if normalizer is None else find_normalizer(normalizer)
    asked = [attributes] if isinstance(attributes, str) else list(attributes)
    rows, notes = judged_words(read, rule, asked)
    limits = _thresholds(rows, review_below)
    text = ", ".join(f"{value:.2f} ({name})" for name, value in limits.items())
    notes.append(
        Note("threshold", f"words are sent to a person below {text}", dict(limits), ("review_below",))
    )
    rows = _judged(rows, limits)
    by = {
        "recognizers": ["recognizer"],
        **({"scenarios": ["recognizer", "scenario"]} if rows["scenario"].n_unique() > 1 else {}),
        **{f"groups-{name}": ["recognizer", f"@{name}"] for name in asked},
    }
    tables: list[Table] = []
    findings: list[Finding] = []
    curves = []
    for id_, keys in by.items():
        found = list(_trusted(rows, keys, confidence, seed))
        frame = read.in_order(pl.DataFrame([about for about, _ in found], infer_schema_length=None))
        frame = frame.join(
            _sent(rows, keys, confidence), on=keys, how="left", maintain_order="left", nulls_equal=True
        )
        tables.append(_table(id_, f"Confidence by {keys[-1].removeprefix('@')}", frame, keys))
        findings += [] if len(keys) > 1 else list(_findings(frame, confidence))
        curves += found if id_ == "recognizers" or id_.startswith("groups-") else []
    tables.append(_curve_table(curves))
    speakers = rows.rename({f"@{name}": read.column(name) for name in asked})
    kept = ["recognizer", "speaker", *dict.fromkeys(read.column(name) for name in asked)]
    sums = speakers.group_by(kept, maintain_order=True).agg(
        total("said", "right", "wrong", "sent_right", "passed_wrong")
    )
    compared, refusals = compare_groups(read, sums, asked, RATIOS, seed)
    return Answer(
        audit=NAME,
        title="Confidence",
        question={"normalizer": rule.id},
        findings=(*findings, *(group_finding(NAME, one, *SAID[one[0].measure]) for one in compared)),
        tables=tables,  # type: ignore[arg-type]
        figures=(_figure(curves),),
        notes=tuple(notes),
        refusals=tuple(refusals),
        lead=LEAD,
        detail=rows,
    )


# Which words are sent


def _thresholds(rows: pl.DataFrame, given: float | None) -> dict[str, float]:
    found = {}
    words = rows.select("recognizer", "sure", words=pl.col("right") + pl.col("wrong"))
    for (name,), part in words.sort("sure").group_by("recognizer", maintain_order=True):
        share = part["words"].cum_sum().to_numpy()
        found[str(name)] = (
            given if given is not None else float(part["sure"][int(np.searchsorted(share, SENT * share[-1]))])
        )
    return found


def _judged(rows: pl.DataFrame, limits: Mapping[str, float]) -> pl.DataFrame:
    limit = pl.col("recognizer").replace_strict(limits, return_dtype=pl.Float64)
    sent = (pl.col("sure") < limit).cast(pl.Float64)
    words = pl.col("right") + pl.col("wrong")
    return rows.with_columns(
        words=words,
        said=words * pl.col("sure"),
        sent=words * sent,
        sent_right=pl.col("right") * sent,
        passed_wrong=pl.col("wrong") * (1.0 - sent),
    )


# The numbers


def _trusted(
    rows: pl.DataFrame, keys: Sequence[str], level: float, seed: int
) -> Iterator[tuple[dict[str, Any], Reliability]]:
    for values, part in rows.group_by(keys, maintain_order=True):
        known = not part["speaker"].null_count()
        who = part["speaker"].rank("dense").to_numpy() if known else np.zeros(part.height)
        sure, right, wrong = (part[name].to_numpy() for name in ("sure", "right", "wrong"))
        found = reliability(sure, right, wrong, who.astype(np.int64), level=level, seed=seed)
        about = dict(zip(keys, values, strict=True)) | {
            "speakers": part["speaker"].n_unique() if known else 0
        }
        about["words"] = int(part["words"].sum())
        for name in MEASURES:
            value, low, high = map(number_or_none, found.values[name])
            about |= {name: value, f"{name}_low": low, f"{name}_high": high}
        yield about, found


def _sent(rows: pl.DataFrame, keys: Sequence[str], level: float) -> pl.DataFrame:
    """Return what is sent to a person, of right words in vain, and which wrong words get through, with limits."""
    parts = rows.select(keys).unique(maintain_order=True)
    for name, top, below in (
        ("vain", "sent_right", "right"),
        ("passed", "passed_wrong", "wrong"),
        ("sent", "sent", "words"),
    ):
        share = rows.group_by(keys, maintain_order=True).agg(
            **{name: pl.col(top).sum() / pl.col(below).sum()}
        )
        limits = rate_intervals(rows, keys, errors=top, words=below, most=1.0, confidence=level)
        limits = limits.select(*keys, **{f"{name}_low": "ci_low", f"{name}_high": "ci_high"})
        for table in (share.fill_nan(None), limits):
            parts = parts.join(table, on=keys, how="left", maintain_order="left", nulls_equal=True)
    return parts


# What is said of it


def _findings(frame: pl.DataFrame, level: float) -> Iterator[Finding]:
    for row in frame.iter_rows(named=True):
        gap, error = row["overconfidence"], row["calibration_error"]
        apart = [gap, row["overconfidence_low"], row["overconfidence_high"]]
        surer = "surer"
        if gap < 0:  # points are told without a sign: "less sure" turns it, and the limits change places
            surer = "less sure"
            apart = [None if one is None else -one for one in (apart[0], apart[2], apart[1])]
        sentences = {
            "overconfidence": f"{row['recognizer']} says {row['said']:.2f} and is right {row['right']:.2f} of the time:"
            f" {points_interval(*apart)} percentage points {surer} than it is right",
            "calibration_error": f"{row['recognizer']} is off by {in_points(error)} between what it states and"
            " the share of right words (root mean square, chance removed)",
            "auroc": None
            if row["auroc"] is None
            else f"A right word of {row['recognizer']} is surer than a wrong one in"
            f" {percent(row['auroc'])} of the pairs",
            "nce": None
            if row["nce"] is None
            else f"The confidences of {row['recognizer']} have a normalized cross"
            f" entropy of {row['nce']:.2f} (0: they tell nothing)",
        }
        for name, text in sentences.items():
            if text is None:
                continue
            yield Finding(
                finding_id(NAME, row["recognizer"], name),
                name,
                "measured",
                f"{text} ({counted(row['words'], 'word')}).",
                estimate=row[name],
                low=row[f"{name}_low"],
                high=row[f"{name}_high"],
                level=level,
                unit="ratio" if name in ("auroc", "nce") else "fraction",
                recognizer=row["recognizer"],
                speakers=row["speakers"] or None,
                words=row["words"],
                headline=name == "overconfidence",
            )


def _table(id_: str, title: str, frame: pl.DataFrame, keys: Sequence[str]) -> Table:
    shown = {
        "said": "says",
        "right": "is right",
        "overconfidence": "too sure",
        "calibration_error": "calibration error",
    }
    more = {"auroc": "AUROC", "nce": "NCE"}
    sent = {"sent": "sent to a person", "vain": "right words sent", "passed": "wrong words that get through"}
    columns = [
        *((name, name.removeprefix("@")) for name in keys),
        *(
            (name, text, "points" if name == "overconfidence" else "percent", f"{name}_low", f"{name}_high")
            for name, text in shown.items()
        ),
        *((name, text, "ratio", f"{name}_low", f"{name}_high") for name, text in more.items()),
        *((name, text, "percent", f"{name}_low", f"{name}_high") for name, text in sent.items()),
        "words",
        "speakers",
    ]
    return tabulate(id_, title, frame, columns)


def _label(about: Mapping[str, Any]) -> str:
    return next((str(value) for key, value in about.items() if key.startswith("@")), "all")


def _curve_table(curves: Sequence[tuple[dict[str, Any], Reliability]]) -> Table:
    rows = [
        {
            "recognizer": about["recognizer"],
            "group": _label(about),
            "stretch": n + 1,
            "words": int(words),
            "said": said,
            "right": right,
        }
        for about, found in curves
        for n, (words, said, right) in enumerate(found.curve)
    ]
    columns = [
        "recognizer",
        "group",
        ("stretch", "", "count"),
        ("said", "says", "percent"),
        ("right", "is right", "percent"),
        "words",
    ]
    return tabulate("curve", "Reliability curve", rows, columns, folded=True)


def _figure(curves: Sequence[tuple[dict[str, Any], Reliability]]) -> Figure:
    """Draw the share of right words along the curve, a panel for each recognizer, beside what was said."""
    panels = []
    for name in dict.fromkeys(about["recognizer"] for about, _ in curves):
        own = [(about, found.curve) for about, found in curves if about["recognizer"] == name]
        whole = own[0][1]
        labels = tuple(f"{said:.2f}" for _, said, _ in whole)
        lines = [
            Series("as sure as right", tuple(Cell(said) for _, said, _ in whole)),
            Series("all", tuple(Cell(right) for *_, right in whole)),
        ]
        panels.append((str(name), labels, tuple(lines)))
    alt = "Share of right words by stated confidence, beside the line on which both are the same."
    return Figure(
        "reliability",
        "Is it as sure as it is right?",
        alt,
        Curves(tuple(panels), "right words", "stated confidence"),
        "curve",
    )


# Which words are right, and how sure of each it said it was


def judged_words(
    read: Scores, rule: Normalizer, attributes: Sequence[str]
) -> tuple[pl.DataFrame, list[Note]]:
    """Return right and wrong words by confidence, a row for each word, or for each answer with one confidence."""
    frame, notes = read.require("text", "reference").frame, list[Note]()
    if not {"confidence", "word_times"} & set(frame.columns):
        text = "there are no confidences: neither `confidence` nor `word_times`"
        raise refuse("not_measured", text, about=read.where, remedy="name their column", see=("columns",))
    silent = silent_scenarios(frame["scenario"].unique().to_list())
    frame = frame.with_columns(
        **{f"@{name}": pl.col(read.column(name)).cast(pl.String) for name in attributes},
        reference=pl.when(pl.col("scenario").is_in(silent)).then(pl.lit("")).otherwise("reference"),
        sure=pl.Series(
            read.numbers("confidence") if "confidence" in frame.columns else np.full(frame.height, np.nan)
        ),
    )
    frame = frame.filter(pl.col("text").is_not_null() & pl.col("reference").is_not_null())
    said, heard = (normalize_column(frame[name], rule) for name in ("reference", "text"))
    by_word, sizes, sures, flags = _by_word(read, frame, said, rule)
    whole = ~np.isnan(frame["sure"].to_numpy())
    whole[by_word] = False
    alone = np.flatnonzero(whole)
    counts = word_counts(said[alone], heard[alone])
    right, wrong = counts["hits"].to_numpy(), (counts["substitutions"] + counts["insertions"]).to_numpy()
    kept = ["recognizer", "scenario", "utterance", "speaker", *(f"@{name}" for name in attributes)]
    rows = frame.select(kept)[np.concatenate([np.repeat(by_word, sizes), alone])].with_columns(
        sure=pl.Series(np.concatenate([sures, frame["sure"].to_numpy()[alone]])),
        right=pl.Series(np.concatenate([flags, right])),
        wrong=pl.Series(np.concatenate([1.0 - flags, wrong])),
    )
    rows = rows.filter(pl.col("right") + pl.col("wrong") > 0.0)
    heard_of = set(rows["recognizer"].unique())
    silent_ones = [name for name in read.recognizers if name not in heard_of]
    odd = rows.filter((pl.col("sure") < 0.0) | (pl.col("sure") > 1.0)).unique(
        "recognizer", maintain_order=True
    )
    notes += [
        Note("no_confidence", f"{name}: without confidences", {"recognizer": name}) for name in silent_ones
    ]
    why, remedy = "no answer has a confidence", "use engines that tell it"
    for name, utterance, sure in odd.select("recognizer", "utterance", "sure").reverse().iter_rows():
        why, remedy = (
            f"confidences must lie between 0 and 1, not {sure:g} (utterance '{utterance}')",
            "rescale them",
        )
        notes.append(Note("no_probabilities", f"{name}: left out; its {why}", {"recognizer": name}))
    rows = rows.join(odd, on="recognizer", how="anti", maintain_order="left")
    if rows.is_empty():
        raise refuse("not_measured", why, about=read.where, remedy=remedy)
    return rows, notes


def _by_word(
    read: Scores, frame: pl.DataFrame, said: pl.Series, rule: Normalizer
) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
    """Return the rows whose words have confidences, and how many; then of every word confidence and rightness."""
    if "word_times" not in frame.columns or not frame["word_times"].count():
        none = np.zeros(0)
        return none.astype(np.int64), none.astype(np.int64), none, none
    words = _timed_words(read, frame)
    own = normalize_column(words["word"], rule)
    parts = np.where(own == "", 0, own.str.count_matches(" ", literal=True) + 1)
    answers = words.select("row", own=own).filter(own != "").group_by("row", maintain_order=True)
    heard = answers.agg(pl.col("own").str.join(" "))
    pairs = Pairs.of(said.gather(heard["row"]), heard["own"])
    sizes = pairs.words.spans.lengths[pairs.heard]
    ends = np.cumsum(sizes)
    right = np.ones(sizes.sum())
    found = pairs.stretches
    start = (ends - sizes)[found.pair]
    right[places(start + found.first, start + found.last)] = 0.0
    sizes, ends = sizes[pairs.pair], ends[pairs.pair]
    sures = np.repeat(words["sure"].to_numpy(), parts)
    return heard["row"].to_numpy(), sizes, sures, right[places(ends - sizes, ends)]


def _timed_words(read: Scores, frame: pl.DataFrame) -> pl.DataFrame:
    """Return row, word and `sure` of every word that has a confidence."""
    timed = frame.select("utterance", "word_times").with_row_index("row").drop_nulls("word_times")
    try:
        return _parsed(timed)
    except pl.exceptions.PolarsError:
        for one in timed.iter_slices(1):
            try:
                _parsed(one)
            except pl.exceptions.PolarsError as error:
                text = "word_times is no list of [word, start, end, confidence]"
                raise VoxauditError(f"{read.where}: utterance '{one['utterance'][0]}': {text}") from error
        raise


_NUMBER = r"(?:-?[0-9][-+.0-9eE]*|null)"
_PLAIN_WORD = rf'\["[^"\\\[\],]*", {_NUMBER}, {_NUMBER}, {_NUMBER}\]'
_PLAIN = rf"^\[{_PLAIN_WORD}(?:, {_PLAIN_WORD})*\]$"
"""Words without marks that JSON would quote, as we write them: these can be cut at their commas, five times as fast."""


def _parsed(timed: pl.DataFrame) -> pl.DataFrame:
    plain = timed["word_times"].str.contains(_PLAIN)
    parts = [_cut(timed.filter(plain)), _decoded(timed.filter(~plain))]
    return pl.concat(parts).sort("row", maintain_order=True).drop_nulls("sure")


def _cut(timed: pl.DataFrame) -> pl.DataFrame:
    fields = timed["word_times"].str.split(", ")
    all_ = fields.explode()
    sure = all_.gather_every(4, 3).str.strip_chars("]").replace("null", None)
    return pl.DataFrame(
        {
            "row": np.repeat(timed["row"].to_numpy(), fields.list.len().to_numpy() // 4),
            "word": all_.gather_every(4).str.strip_chars('["'),
            "sure": sure.cast(pl.Float64),
        }
    )


def _decoded(timed: pl.DataFrame) -> pl.DataFrame:
    lists = timed["word_times"].str.json_decode(pl.List(pl.List(pl.String)))
    if len(lists) < timed.height or lists.null_count():  # an empty text is no row at all
        raise pl.exceptions.InvalidOperationError("no list")
    words = timed.select("row", one=lists).filter(lists.list.len() > 0).explode("one")
    if words["one"].null_count():
        raise pl.exceptions.InvalidOperationError("no word")
    word, sure = (pl.col("one").list.get(place, null_on_oob=False) for place in (0, 3))
    return words.select("row", word=word.fill_null(""), sure=sure.cast(pl.Float64))
