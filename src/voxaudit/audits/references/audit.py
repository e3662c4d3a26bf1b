"""References in doubt: spans in which most recognizers hear the same, and not what the reference says.

Nothing is changed: the spans go to a person (`voxaudit review`), and the error rates before and after say how much
hangs on them. Most of them is more than half of three or more, on clean speech only: noise is misheard alike.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Unpack

import polars as pl

from voxaudit.answer import Answer, Finding, Table, finding_id, refuse, tabulate
from voxaudit.audits.audit import asks
from voxaudit.audits.heard import ASKED, score_texts
from voxaudit.audits.scores import Filters, Source, Transcripts
from voxaudit.perturb import CLEAN
from voxaudit.score.pairs import Pairs
from voxaudit.score.table import count_columns
from voxaudit.wording import counted, listed, percent

NAME = "references"
FEWEST = 3
"""Recognizers that must have answered for most of them to say anything."""
MOST_SPANS = 500
"""Spans that are listed."""
LEAD = (
    "Where more than half of three or more recognizers hear the same, and not what the reference says, the reference"
    " may be wrong. Each span is for a person to listen to; nothing is changed. The error rates say what would come of"
    " it if all of them were right against the reference."
)


@asks(NAME)
def references(
    source: Source,
    *,
    attributes: str | Sequence[str] = (),
    normalizer: str | None = None,
    **filters: Unpack[Filters],
) -> Answer:
    """Return the spans in which most recognizers agree against the reference, and the WER before and after.

    The source is a run (its clean speech), or a table with utterance, recognizer, text and reference. Error rates after
    are those that correcting every span as most recognizers heard it would give: the least that may be expected, since
    recognizers can be wrong together.

    >>> heard = ["please open the door", "please open the door", "open a door"]
    >>> rows = {"utterance": ["a"] * 3, "recognizer": list("xyz"), "reference": ["open the door"] * 3, "text": heard}
    >>> answer = references(pl.DataFrame(rows))
    >>> answer.tables["spans"].select("reference says", "most hear", "agree", "of").rows()
    [('', 'please', 2, 3)]
    >>> [round(one.estimate, 3) for one in answer.findings if one.measure == "wer_change"]
    [-0.333, -0.333, 0.167]
    """
    texts = Transcripts.of(source, more=ASKED, **filters)
    scores, notes = score_texts(texts if filters.get("scenario") else texts.clean, normalizer)
    frame = scores.frame.filter(~pl.col("failed"))
    if len(scores.recognizers) < FEWEST or frame.is_empty():
        text = f"{counted(len(scores.recognizers), 'recognizer')}, and most of {FEWEST} or more are asked for"
        raise refuse(
            "too_few_recognizers",
            text,
            about=scores.where,
            remedy=f"run with {FEWEST} recognizers or more",
            recognizers=len(scores.recognizers),
        )
    spans = doubted(frame)
    frame = corrected(frame, spans)
    names = [attributes] if isinstance(attributes, str) else list(attributes)
    rates = scores.in_order(_rates(frame, ["recognizer"]))
    tables = [_rate_table("rates", "WER before and after", rates, ["recognizer"])]
    for name in names:
        groups = frame.with_columns(group=pl.col(scores.column(name)).cast(pl.String))
        by = ["group", "recognizer"]
        rates_ = _rates(groups, by).sort("group", maintain_order=True)
        tables.append(_rate_table(f"groups-{name}", f"WER before and after, by {name}", rates_, by))
    tables.append(_span_table(spans))
    return Answer(
        audit=NAME,
        title="References in doubt",
        findings=(_doubt(spans, frame), *_changes(rates)),
        tables=[table for table in tables if table.frame.height],  # type: ignore[arg-type]
        notes=tuple(notes),
        lead=LEAD,
        detail=spans,
    )


def doubted(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the spans in doubt: utterance, scenario, start, lost and new (words), agree, of; in order of appearance.

    `frame` has utterance, scenario, recognizer and the normalized texts `said` and `heard`; of repeated answers the
    first counts. Where spans overlap, that of more recognizers is taken.
    """
    keys = ["utterance", "scenario"]
    once = frame.unique([*keys, "recognizer"], keep="first", maintain_order=True)
    pairs = Pairs.of(once["said"], once["heard"])
    differ = defaultdict(list)
    for pair, start, stop, first, last in pairs.stretches.rows():
        old = pairs.words.text(int(pairs.said[pair]), start, stop)
        new = pairs.words.text(int(pairs.heard[pair]), first, last)
        differ[pair].append((start, tuple(old), tuple(new)))
    answers = once.with_columns(pair=pairs.pair).group_by(keys, maintain_order=True)
    found = []
    for utterance, scenario, said, heard in answers.agg(pl.col("said").first(), "pair").iter_rows():
        if len(heard) < FEWEST:
            continue
        votes = Counter(one for pair in heard for one in differ[pair])
        taken: list[tuple[int, int]] = []
        for (start, lost, instead), agree in votes.most_common():
            if 2 * agree <= len(heard):
                break
            if all(start >= stop or first >= start + len(lost) for first, stop in taken):
                taken.append((start, start + len(lost)))
                about = {"utterance": utterance, "scenario": scenario, "said": said, "start": start}
                found.append(
                    {**about, "lost": list(lost), "new": list(instead), "agree": agree, "of": len(heard)}
                )
    words = pl.List(pl.String)
    schema = {"utterance": pl.String, "scenario": pl.String, "said": pl.String, "start": pl.Int64}
    return pl.DataFrame(
        found, schema={**schema, "lost": words, "new": words, "agree": pl.Int64, "of": pl.Int64}
    )


def corrected(frame: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """Return trials with the words and errors that they would have if every span were as most recognizers heard it.

    Columns: `words_after`, `errors_after`.
    """
    texts: dict[tuple[str, str], str] = {}
    for key, own in spans.group_by("utterance", "scenario", maintain_order=True):
        words = own["said"][0].split()
        for start, lost, new in sorted(own.select("start", "lost", "new").iter_rows(), reverse=True):
            words[start : start + len(lost)] = new
        texts[str(key[0]), str(key[1])] = " ".join(words)
    rows = frame.select("utterance", "scenario", "said").iter_rows()
    after = pl.Series(
        [texts.get((utterance, scenario), said) for utterance, scenario, said in rows], dtype=pl.String
    )
    counts = count_columns(after, frame["heard"])
    return frame.with_columns(
        words_after=counts["words"],
        errors_after=counts["substitutions"] + counts["deletions"] + counts["insertions"],
    )


def doubted_utterances(texts: Transcripts) -> list[str]:
    """Return the utterances of a run whose references are in doubt: what a reviewer is shown first."""
    if "reference" not in texts.names:
        return []
    scores, _ = score_texts(texts.clean)
    return doubted(scores.frame.filter(~pl.col("failed")))["utterance"].unique(maintain_order=True).to_list()


def _rates(frame: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    sums = frame.group_by(by, maintain_order=True).agg(
        pl.col("errors", "words", "errors_after", "words_after").sum(), utterances=pl.len()
    )
    rates = sums.with_columns(
        wer=pl.col("errors") / pl.col("words"), wer_after=pl.col("errors_after") / pl.col("words_after")
    ).with_columns(pl.col("wer", "wer_after").fill_nan(None))
    return rates.with_columns(change=pl.col("wer_after") - pl.col("wer"))


def _rate_table(id_: str, title: str, rates: pl.DataFrame, by: Sequence[str]) -> Table:
    columns = [
        *by,
        *(
            ("wer", "WER", "percent"),
            ("wer_after", "WER after", "percent"),
            ("change", "change, points", "points"),
        ),
        *(("words", "", "count"), ("utterances", "", "count")),
    ]
    return tabulate(id_, title, rates, columns)


def _span_table(spans: pl.DataFrame) -> Table:
    shown = spans.with_columns(
        pl.col("lost").list.join(" ").alias("reference says"), pl.col("new").list.join(" ").alias("most hear")
    ).sort(pl.col("agree") / pl.col("of"), descending=True, maintain_order=True)
    columns = [
        "utterance",
        "reference says",
        "most hear",
        ("agree", "", "count"),
        ("of", "", "count"),
        ("said", "reference"),
    ]
    note = f"The first {MOST_SPANS} of {shown.height:,}." if shown.height > MOST_SPANS else ""
    return tabulate(
        "spans", "Spans in doubt", shown.head(MOST_SPANS), columns, note=note, folded=shown.height > 24
    )


def _doubt(spans: pl.DataFrame, frame: pl.DataFrame) -> Finding:
    utterances, all_ = spans["utterance"].n_unique(), frame["utterance"].n_unique()
    share = utterances / all_
    names = frame["recognizer"].unique(maintain_order=True).to_list()
    sentence = (
        f"The references of {utterances:,} of {counted(all_, 'utterance')} ({percent(share)}) are in doubt: most of"
        f" {listed(names)} hear something else there, and the same; {counted(spans.height, 'span')} to listen to."
    )
    if not spans.height:
        sentence = f"No reference is in doubt: nowhere do most of {listed(names)} agree against one."
    return Finding(finding_id(NAME, "doubted"), "doubted", "measured", sentence, share, utterances=all_)


def _changes(rates: pl.DataFrame) -> list[Finding]:
    return [
        Finding(
            finding_id(NAME, row["recognizer"], "wer_change"),
            "wer_change",
            "measured",
            f"{row['recognizer']}: WER {percent(row['wer'])}, and {percent(row['wer_after'])} if every span in doubt"
            " were as most recognizers hear it.",
            estimate=row["change"],
            recognizer=row["recognizer"],
            scenario=CLEAN,
            utterances=row["utterances"],
            words=row["words"],
        )
        for row in rates.iter_rows(named=True)
    ]
