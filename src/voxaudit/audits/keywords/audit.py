"""Keywords: error rates of words by what they weigh, and the share of utterances with an error that matters.

A wrong digit in a phone number and a wrong "the" count the same in a word error rate. Here every word has a class
(`score.weight`): numbers, letters, names, negations and the user's own terms are keywords; then other words with
meaning, and words without. Speakers are the sample everywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Unpack

import numpy as np
import polars as pl

from voxaudit.answer import Answer, Finding, Note, Table, finding_id, number_or_none, refuse, tabulate
from voxaudit.audits.audit import asks
from voxaudit.audits.heard import spoken_pairs
from voxaudit.audits.normalizers import language_codes, spoken
from voxaudit.audits.ratios import Compared, Ratio, compare_groups, group_finding, sums_by
from voxaudit.audits.scores import Filters, Scores, Source, read_trials, usable_trials
from voxaudit.errors import VoxauditError, one_line
from voxaudit.process import give_back_memory
from voxaudit.recognize.base import RecognizerError, UtteranceError
from voxaudit.score.align import differences
from voxaudit.score.pairs import Pairs
from voxaudit.score.run import silent_scenarios
from voxaudit.score.weight import (
    CLASSES,
    HEAVY,
    LEXICONS,
    BoolArray,
    IntArray,
    Lexicon,
    Weighed,
    Weights,
    agreed,
    names_in,
    read_terms,
    weigh,
)
from voxaudit.stats.rates import rate_intervals
from voxaudit.wording import counted, listed, percent, percent_interval

NAME = "keywords"
MOST_CASES = 200
"""Cases that are listed."""
RATIOS = (
    Ratio("serious_error_ratio", "serious", "trials", "serious", share=True),
    Ratio("keyword_error_ratio", "keyword_errors", "keyword_said", "keyword_errors"),
)
SAID = {
    "serious_error_ratio": ("errors that matter", "many per utterance"),
    "keyword_error_ratio": ("errors on keywords", "many per keyword"),
}
"""What is compared between groups, and its unit."""
LEAD = (
    "Words by what they weigh. Keywords are numbers and letters one by one, names, negations and your own terms: a"
    " reader cannot guess them. An utterance has an error that matters where a word with meaning was lost, changed or"
    " added, or a third of its words are gone. In brackets: the 95 % interval, speakers being the sample."
)


@asks(NAME)
def keywords(
    source: Source,
    *,
    attributes: str | Sequence[str] = (),
    normalizer: str | None = None,
    keywords: str | Path | Sequence[str] | None = None,
    judge: Mapping[str, str] | None = None,
    judged: int = 100,
    confidence: float = 0.95,
    seed: int = 0,
    **filters: Unpack[Filters],
) -> Answer:
    """Return error rates by class of words, and the share of utterances with an error that matters.

    The source is a run, or a table with utterance, text, reference, and what there is of recognizer, scenario, speaker,
    language and attributes. Texts are compared in their spoken form. `keywords` are words and phrases of the user's
    own, or the path of a file with one per line; a run's are those of its `audit.toml`. Rates are sums over sums;
    intervals and tests take speakers as the sample; groups of `attributes` are compared with the largest one, all
    questions being one family. `judge` (settings of an OpenAI-compatible service) asks a language model about `judged`
    utterances with errors, too, and shows where it disagrees: it decides nothing.

    >>> rows = {"utterance": ["a", "b"], "reference": ["My code is CN 734.", "Yes, please."]}
    >>> table = pl.DataFrame(rows | {"text": ["my code is c m seven three four", "yeah please"]})
    >>> for finding in keywords(table).findings[:2]:
    ...     print(finding.sentence)
    recognizer makes an error that matters in 50.0 % of the utterances: 1 of 2.
    recognizer gets 20.0 % of the keywords wrong: 1 error on 5 (recall 80.0 %, precision 80.0 %).
    """
    read = read_trials(source, **filters).require("text", "reference")
    frame, rows, notes = _usable(read)
    pairs, rules = spoken_pairs(read, rows, normalizer)
    frame = frame.with_columns(code=language_codes(frame))
    own = keywords if keywords is not None else _run_terms(read)
    own = read_terms(own) if isinstance(own, str | Path) else tuple(own)
    weights = weights_of(frame, own, normalizer)
    notes = [rules, *notes, *_about(weights, frame)]
    trials, cases, found_terms = weighed(frame, weights, pairs)
    give_back_memory()
    asked = [attributes] if isinstance(attributes, str) else list(attributes)
    columns = {name: read.column(name) for name in asked}
    cells = _cells(trials, dict.fromkeys(("recognizer", "scenario", "speaker", *columns.values())))
    compared, refusals = compare_groups(read, cells, asked, RATIOS, seed)
    over_all = read.in_order(_rates(cells, ["recognizer"], confidence))
    tables = [
        _share_table(
            "utterances", "Errors that matter, by recognizer", cells, ["recognizer"], confidence, read
        ),
        _class_table("classes", "Error rates by class of words", over_all),
    ]
    if len(read.scenarios) > 1:
        by = ["recognizer", "scenario"]
        tables.append(
            _share_table("scenarios", "Errors that matter, by scenario", cells, by, confidence, read)
        )
    for name, column in columns.items():
        groups = cells.with_columns(group=pl.col(column).cast(pl.String))
        by = ["recognizer", "group"]
        title = f"Errors that matter, by {name}"
        tables.append(_share_table(f"groups-{name}", title, groups, by, confidence, read))
    if found_terms.height:
        columns_ = [
            "recognizer",
            "term",
            ("said", "", "count"),
            ("kept", "heard right", "count"),
            ("added", "", "count"),
        ]
        tables.append(
            tabulate("terms", "Your own terms", found_terms, columns_, folded=found_terms.height > 24)
        )
    tables.append(_case_table(cases))
    findings = [*_findings(read, tables[0].frame, over_all, confidence), *map(_compared, compared)]
    if judge:
        found, table, note = _opinions(judge, trials.filter(pairs.said_text != pairs.heard_text), judged)
        findings += found
        tables.append(table)
        notes.append(note)
    return Answer(
        audit=NAME,
        title="Errors that matter",
        question={"normalizer": ", ".join(rules.facts["normalizers"])},
        findings=tuple(findings),
        tables=[table for table in tables if table.frame.height],  # type: ignore[arg-type]
        notes=tuple(notes),
        refusals=tuple(refusals),
        lead=LEAD,
        detail=trials,
    )


# What is read


def _usable(read: Scores) -> tuple[pl.DataFrame, IntArray, list[Note]]:
    """Return the trials that were answered and whose words are known, and how many are left out."""
    silent = silent_scenarios(read.frame["scenario"].unique().to_list())
    steps = [
        ("no_references", "without a reference", pl.col("reference").is_not_null()),
        ("no_speech", "without speech", ~pl.col("scenario").is_in(silent)),
    ]
    frame, rows, notes = usable_trials(read, steps)
    if frame.is_empty():
        raise refuse("no_references", "no trial was answered whose words are known", about=read.where)
    return frame, rows, notes


def _run_terms(read: Scores) -> Sequence[str]:
    return read.run.config.get("keywords", ()) if read.run is not None else ()


def weights_of(
    frame: pl.DataFrame, terms: Sequence[str] = (), chosen: str | None = None
) -> dict[str, Weights]:
    """Return what gives words of the `reference`s their class, by the language's `code`."""
    found = {}
    for code in frame["code"].unique(maintain_order=True).to_list():
        lexicon = LEXICONS.get(code, Lexicon(capitals=False))
        references = frame["reference"].filter(frame["code"] == code).unique().to_list()
        (own,), _ = spoken(pl.DataFrame({"text": list(terms), "language": code}), ("text",), chosen)
        phrases = frozenset(tuple(text.split()) for text in own.to_list() if text.strip())
        found[code] = Weights(lexicon, names_in(references, lexicon), phrases)
    return found


def _about(weights: Mapping[str, Weights], frame: pl.DataFrame) -> Iterator[Note]:
    unknown = [code for code in weights if code not in LEXICONS]
    if unknown:
        text = (
            f"no list of function words for {listed(unknown)}: all words but digits and letters carry meaning"
        )
        yield Note("no_lexicon", text, {"languages": unknown})
    nameless = [code for code, own in weights.items() if own.lexicon.capitals and not own.names]
    if nameless:
        text = (
            f"no names are told apart in {listed(nameless)}: the references have no capitals inside sentences"
        )
        yield Note("no_names", text, {"languages": nameless})


# What weighs how much


def weighed(
    frame: pl.DataFrame, weights: Mapping[str, Weights], pairs: Pairs
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Return the trials with words, errors and `serious` (0 or 1) of every class; serious cases; the user's terms.

    `frame` has utterance, scenario, recognizer and the language's `code`; `pairs` are its normalized texts, row by row.
    The cases are those with most errors, `MOST_CASES` of them, with `of`, how many there are.
    """
    parts = []
    for code, own in weights.items():
        rows = np.flatnonzero((frame["code"] == code).to_numpy())
        some = pairs.take(rows)
        parts.append((rows, some, weigh(some, own)))
    matters = _matters(frame, parts)
    errors = np.zeros(frame.height, dtype=np.int64)
    for rows, some, found in parts:
        errors[rows] = found.errors.sum(axis=1)[some.pair]
    trials = frame.with_columns(
        pl.Series("serious", matters).cast(pl.Int64),
        pl.lit(1, pl.Int64).alias("trials"),
        *_counts(frame, parts),
    ).with_columns(
        **{
            f"keyword_{what}": pl.sum_horizontal(pl.col(f"{kind}_{what}" for kind in HEAVY).cast(pl.Int32))
            for what in COUNTED
        }
    )
    return trials, _cases(frame, pairs, matters, errors), _found_terms(frame, parts, weights)


COUNTED = ("said", "heard", "kept", "errors")
_Parts = Sequence[tuple[IntArray, Pairs, Weighed]]
"""For each language its rows, their pairs, and what these weigh."""


def _counts(frame: pl.DataFrame, parts: _Parts) -> Iterator[pl.Series]:
    """Yield what is counted of every class, a column each."""
    for what in COUNTED:
        counts = [getattr(found, what) for _, _, found in parts]
        table = np.zeros((frame.height, len(CLASSES)), dtype=np.result_type(np.int8, *counts))
        for (rows, some, _), own in zip(parts, counts, strict=True):
            table[rows] = own[some.pair]
        yield from (
            pl.Series(f"{kind}_{what}", column.copy()) for kind, column in zip(CLASSES, table.T, strict=True)
        )


def _matters(frame: pl.DataFrame, parts: _Parts) -> BoolArray:
    """Say which trials have an error that matters; added words that most others heard, too, are none."""
    serious = np.zeros(frame.height, dtype=bool)
    doubtful = np.zeros(frame.height, dtype=bool)  # what was added decides
    for rows, some, found in parts:
        open_ = np.zeros(len(some), dtype=bool)
        open_[found.added.pair[found.weighty]] = True
        serious[rows] = found.serious[some.pair]
        doubtful[rows] = (open_ & ~found.serious)[some.pair]
    if not doubtful.any():
        return serious
    keys = ["utterance", "scenario"]
    trials = frame.select(*keys, "recognizer").with_row_index("row")
    asked = trials.filter(doubtful).select(keys).unique().with_row_index("cell")
    trials = trials.join(asked, on=keys, nulls_equal=True).select("row", "cell", "recognizer")
    near = np.zeros(frame.height, dtype=bool)
    near[trials["row"].to_numpy()] = True
    added = pl.concat(_added(some, found, rows, near) for rows, some, found in parts)
    added = added.join(trials.with_columns(pl.col("row").cast(pl.Int64)), on="row", maintain_order="left")
    alone = added.filter(~agreed(added, trials) & added["weighty"])["row"].to_numpy()
    serious[alone[doubtful[alone]]] = True
    return serious


def _added(pairs: Pairs, found: Weighed, rows: IntArray, near: BoolArray) -> pl.DataFrame:
    """Return the stretches that were only added in trials that are `near`: row, start, new, weighty."""
    own = pl.DataFrame({"pair": pairs.pair, "row": rows}).filter(near[rows])
    some = np.isin(found.added.pair, own["pair"].unique().to_numpy())
    stretches = found.added[some]
    words = pairs.words
    first = words.spans.starts[pairs.heard[stretches.pair]]
    new = [
        " ".join(map(words.vocabulary.__getitem__, words.codes[start:stop].tolist()))
        for start, stop in zip(first + stretches.first, first + stretches.last, strict=True)
    ]
    table = pl.DataFrame(
        {
            "pair": stretches.pair,
            "start": stretches.start,
            "new": pl.Series(new, dtype=pl.String),
            "weighty": found.weighty[some],
        }
    )
    return own.join(table, on="pair").select("row", "start", "new", "weighty")


def _cases(frame: pl.DataFrame, pairs: Pairs, matters: BoolArray, errors: IntArray) -> pl.DataFrame:
    rows = np.flatnonzero(matters)
    count = len(rows)
    rows = rows[np.argsort(-errors[rows], kind="stable")[:MOST_CASES]]
    differ = []
    for pair in pairs.pair[rows].tolist():
        said, heard = (pairs.words.text(int(side[pair])) for side in (pairs.said, pairs.heard))
        places = differences(said, heard)
        parts = [(" ".join(said[a:b]) or "-", " ".join(heard[c:d]) or "-") for a, b, c, d in places]
        differ.append("; ".join(f"{lost} > {new}" for lost, new in parts))
    return (
        frame[rows]
        .select("recognizer", "scenario", "utterance")
        .with_columns(
            pl.Series("errors", errors[rows], dtype=pl.Int64),
            pl.Series("said > heard", differ, dtype=pl.String),
            of=pl.lit(count),
        )
    )


def _found_terms(frame: pl.DataFrame, parts: _Parts, weights: Mapping[str, Weights]) -> pl.DataFrame:
    """Return how often each term was said, heard right, and heard where it was not said, by recognizer."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for (rows, pairs, _), own in zip(parts, weights.values(), strict=True):
        if not own.terms:
            continue
        asked = pl.DataFrame({"name": frame["recognizer"].gather(rows), "pair": pairs.pair})
        for name, pair, times in asked.group_by("name", "pair", maintain_order=True).len().iter_rows():
            said, heard = (pairs.words.text(int(side[pair])) for side in (pairs.said, pairs.heard))
            spans = differences(said, heard)
            for words, at, what in ((said, 0, "kept"), (heard, 2, "added")):
                for start, stop in own.places(words):
                    touched = any(one[at] < stop and start < one[at + 1] for one in spans)
                    term = " ".join(words[start:stop])
                    if what == "kept":
                        counts[name, term, "said"] += times
                    if touched == (what == "added"):
                        counts[name, term, what] += times
    found = [
        {
            "recognizer": name,
            "term": term,
            **{what: counts[name, term, what] for what in ("said", "kept", "added")},
        }
        for name, term in dict.fromkeys((name, term) for name, term, _ in counts)
    ]
    return pl.DataFrame(found)


# The numbers


def _cells(trials: pl.DataFrame, keys: Collection[str]) -> pl.DataFrame:
    """Return the sums of a speaker's trials, which all tables put together: eight kinds of every trial are many.

    Of a kind those trials count in which it was said.
    """
    counts = [f"{kind}_{what}" for kind in _KINDS for what in COUNTED]
    said = [(pl.col(f"{kind}_said") > 0).sum().alias(f"{kind}_trials") for kind in _KINDS]
    # Nobody says two billion words in a scenario: they are made wide after they are summed.
    return sums_by(trials, keys, pl.col("serious", "trials", *counts).sum().cast(pl.Int64), *said)


_KINDS = ("keyword", *CLASSES)


def _rates(cells: pl.DataFrame, by: Sequence[str], confidence: float) -> pl.DataFrame:
    """Return words, errors, rate with limits, recall and precision of every class and of keywords together."""
    counts = [f"{kind}_{what}" for kind in _KINDS for what in (*COUNTED, "trials")]
    people = cells.group_by(*by, "speaker", maintain_order=True).agg(pl.col(counts).sum())
    long = pl.concat(
        people.select(
            *by,
            "speaker",
            kind=pl.lit(kind),
            **{what: pl.col(f"{kind}_{what}") for what in (*COUNTED, "trials")},
        )
        for kind in _KINDS
    )
    keys = [*by, "kind"]
    sums = long.group_by(keys, maintain_order=True).agg(pl.col(*COUNTED).sum())
    limits = rate_intervals(long, keys, words="said", utterances="trials", confidence=confidence)
    return (
        sums.join(limits, on=keys, how="left", nulls_equal=True, maintain_order="left")
        .filter(pl.col("said") + pl.col("heard") > 0)
        .with_columns(
            rate=pl.when(pl.col("said") > 0).then(pl.col("errors") / pl.col("said")),
            recall=(pl.col("kept") / pl.col("said")).fill_nan(None),
            # Of a class that nobody said no word could be right: that is no precision of 0.
            precision=pl.when(pl.col("said") > 0).then(pl.col("kept") / pl.col("heard")).fill_nan(None),
        )
        .rename({"ci_low": "low", "ci_high": "high"})
    )


def _share_table(
    id_: str, title: str, cells: pl.DataFrame, by: Sequence[str], confidence: float, read: Scores
) -> Table:
    """Return the share of utterances with an error that matters, beside the error rates of keywords and all words."""
    sums = cells.group_by(by, maintain_order=True).agg(
        pl.col("serious", "trials", "keyword_errors", "keyword_said").sum(),
        errors=pl.sum_horizontal(f"{kind}_errors" for kind in CLASSES).sum(),
        words=pl.sum_horizontal(f"{kind}_said" for kind in CLASSES).sum(),
    )
    limits = rate_intervals(
        cells, by, errors="serious", words="trials", utterances="trials", most=1.0, confidence=confidence
    )
    table = sums.join(limits, on=by, how="left", nulls_equal=True, maintain_order="left").with_columns(
        share=pl.col("serious") / pl.col("trials"),
        keyword_rate=pl.when(pl.col("keyword_said") > 0).then(
            pl.col("keyword_errors") / pl.col("keyword_said")
        ),
        wer=pl.when(pl.col("words") > 0).then(pl.col("errors") / pl.col("words")),
        low=pl.col("ci_low"),
        high=pl.col("ci_high").clip(upper_bound=1.0),
    )
    columns = [
        *by,
        ("share", "utterances with an error that matters", "percent", "low", "high"),
        ("keyword_rate", "keyword error rate", "percent"),
        ("wer", "WER", "percent"),
        *(("trials", "utterances", "count"), ("words", "", "count"), ("speakers", "", "count")),
    ]
    return tabulate(id_, title, read.in_order(table.drop("ci_low", "ci_high")), columns)


# What is said of it


def _findings(
    read: Scores, shares: pl.DataFrame, rates: pl.DataFrame, confidence: float
) -> Iterator[Finding]:
    """Return how many utterances have an error that matters, then the error rate of every class."""
    for name in read.recognizers:
        tables = (table.filter(pl.col("recognizer") == name) for table in (shares, rates))
        for row in (row for table in tables for row in table.iter_rows(named=True)):
            kind = row.get("kind", "serious")
            rate = row["share" if kind == "serious" else "rate"]
            if rate is None:
                continue
            shown = percent_interval(rate, row["low"], row["high"])
            sides = [side for side in ("recall", "precision") if row.get(side) is not None]
            heard = ", ".join(f"{side} {percent_interval(row[side], None, None)}" for side in sides)
            yield Finding(
                finding_id(NAME, name, f"{kind}_error_rate"),
                f"{kind}_error_rate",
                "measured",
                f"{name} makes an error that matters in {shown} of the utterances: {row['serious']:,} of"
                f" {row['trials']:,}."
                if kind == "serious"
                else f"{name} gets {shown} of the {_WORDS_OF.get(kind, kind)} wrong:"
                f" {counted(row['errors'], 'error')} on {row['said']:,} ({heard}).",
                estimate=rate,
                low=number_or_none(row["low"]),
                high=number_or_none(row["high"]),
                level=confidence,
                recognizer=name,
                speakers=row["speakers"],
                utterances=row.get("trials"),
                words=row["words" if kind == "serious" else "said"],
                headline=kind in ("serious", "keyword"),
            )


_WORDS_OF = {"keyword": "keywords", "function": "function words", "content": "other content words"}


def _compared(one: Compared) -> Finding:
    what, unit = SAID[one[0].measure]
    return group_finding(NAME, one, f"makes {{more}} {what}", f"is not shown to make {{more}} {what}", unit)


def _class_table(id_: str, title: str, rates: pl.DataFrame) -> Table:
    columns = [
        "recognizer",
        ("kind", "words"),
        ("rate", "error rate", "percent", "low", "high"),
        *(("recall", "", "percent"), ("precision", "", "percent")),
        *(("said", "", "count"), ("errors", "", "count")),
    ]
    note = "Errors count by the word that was said, or by the word added; classes add up to the WER."
    shown = rates.with_columns(
        kind=pl.col("kind").replace({"keyword": "keywords together", "content": "other content"})
    )
    return tabulate(id_, title, shown, columns, note=note)


def _case_table(cases: pl.DataFrame) -> Table:
    columns = ["recognizer", "scenario", "utterance", ("errors", "", "count"), "said > heard"]
    count = int(cases["of"].item(0)) if cases.height else 0
    note = f"The {MOST_CASES} with most errors of {count:,}." if count > MOST_CASES else ""
    title = "Utterances with an error that matters"
    return tabulate("cases", title, cases.drop("of"), columns, note=note, folded=cases.height > 24)


# What a language model says of it


def _opinions(
    settings: Mapping[str, str], wrong: pl.DataFrame, most: int
) -> tuple[list[Finding], Table, Note]:
    """Ask about `most` trials, evenly taken; return how often rules and model agree, and each opinion.

    All trials have errors; their columns are reference, text and serious. Nothing else depends on what the model says.
    """
    from voxaudit.recognize.services.caller import Call
    from voxaudit.recognize.services.gate import Clock
    from voxaudit.recognize.services.judge import PROMPT, PROMPT_VERSION, Judge

    judge = Judge.of(settings)
    asked = wrong.gather_every(-(-wrong.height // most)) if wrong.height else wrong
    caller = judge.client(Clock()).caller

    def opinion(pair: tuple[str, str]) -> tuple[bool, str] | UtteranceError:
        try:
            return judge.opinion(Call(caller), *pair)
        except UtteranceError as error:
            return error

    try:
        with ThreadPoolExecutor(judge.concurrency) as pool:
            opinions = list(pool.map(opinion, asked.select("reference", "text").iter_rows()))
    except RecognizerError as error:
        raise VoxauditError(str(error), see=("judge",)) from error
    known = [one for one in opinions if not isinstance(one, UtteranceError)]
    told = dict.fromkeys(one_line(caller.safe(version), 80) for _, version in known)
    versions = listed(list(told), 3) or judge.model
    table = asked.select(
        *("recognizer", "scenario", "utterance", "reference", "text"),
        rules=pl.col("serious") == 1,
        model=pl.Series(
            [None if isinstance(one, UtteranceError) else one[0] for one in opinions], dtype=pl.Boolean
        ),
    )
    both = table.drop_nulls("model")
    facts = {
        "prompt": PROMPT,
        "prompt_version": PROMPT_VERSION,
        "model": versions,
        "url": judge.fingerprint()["url"],
    }
    facts |= {"asked": asked.height, "failed": asked.height - both.height}
    many = counted(asked.height, "utterance")
    text = f"the language model {versions} was asked about {many} with prompt {PROMPT_VERSION}"
    if facts["failed"]:
        text += f"; {facts['failed']} answers could not be used"
    note = Note("judge", text, facts)
    shown = table.filter(pl.col("rules") != pl.col("model"))
    columns = [
        "recognizer",
        "utterance",
        "reference",
        "text",
        ("rules", "matters by rules"),
        ("model", "by the model"),
    ]
    names = {True: "yes", False: "no"}
    shown = shown.with_columns(
        pl.col("rules", "model").replace_strict(names, default=None, return_dtype=pl.String)
    )
    disagreed = tabulate("judge", "Where rules and language model disagree", shown, columns, folded=True)
    if not both.height:
        return [], disagreed, note
    agree = float((both["rules"] == both["model"]).mean())  # type: ignore[arg-type]
    counts = {name: int(both[name].sum()) for name in ("rules", "model")}
    sentence = (
        f"{versions} finds an error that matters in {counts['model']} of {both.height} utterances with errors, the"
        f" rules in {counts['rules']}; they agree on {percent(agree)}."
    )
    id_ = finding_id("keywords", "judge_agreement")
    return (
        [Finding(id_, "judge_agreement", "measured", sentence, agree, utterances=both.height, headline=True)],
        disagreed,
        note,
    )
