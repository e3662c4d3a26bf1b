"""Hallucination: four rates of words that nobody said, per minute of audio, with speakers as the sample.

Where nobody speaks, in stretches that nothing said there sounds like, in loops, and beyond what can be said in the
time. They are reported apart: on real transcripts loops find one hallucination in fifty, and a run of words where
nobody speaks is of another making than one in the middle of a sentence.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import Unpack

import numpy as np
import polars as pl

from voxaudit.answer import (
    Answer,
    Finding,
    Note,
    Table,
    finding_id,
    number_or_none,
    refuse,
    tabulate,
)
from voxaudit.audits.audit import asks
from voxaudit.audits.heard import spoken_pairs
from voxaudit.audits.ratios import Compared, Ratio, compare_groups, group_finding, sums_by
from voxaudit.audits.scores import Filters, Scores, Source, read_trials, usable_trials
from voxaudit.process import give_back_memory
from voxaudit.run import Run
from voxaudit.score.invented import (
    FASTEST,
    FEWEST_WORDS,
    SLACK,
    find_loops,
    heard_by_most,
    heard_by_nobody_else,
    may_loop,
    unsupported_stretches,
    witnesses,
    words_too_many,
)
from voxaudit.score.pairs import Pairs, of_each
from voxaudit.score.run import silent_scenarios
from voxaudit.score.speech_activity import of_recordings, seconds_of_speech
from voxaudit.score.weight import BoolArray, IntArray
from voxaudit.stats.cells import FloatArray
from voxaudit.stats.rates import rate_intervals
from voxaudit.tables import total
from voxaudit.wording import counted

NAME = "hallucination"
KINDS = ("silence", "unsupported", "loops", "too_fast")
LISTENED = "listened"
SHORTEST_SPEECH = 0.15
"""Seconds of speech under which nobody is taken to speak in a recording."""
CONTEXT = 4
"""Words shown before and behind a case."""
MOST_CASES = 200
"""Cases that are listed."""

TITLES = {
    "silence": "words where nobody speaks",
    "unsupported": "words that nothing said there sounds like",
    "loops": "words in loops",
    "too_fast": "words beyond what can be said in the time",
}
"""What is counted, by kind."""
MEASURES = {kind: f"{kind}_words_per_minute" for kind in KINDS}
LEAD = (
    "Words that nobody said, counted four ways and per minute of audio: where nobody speaks (per minute of such audio),"
    " in stretches that are far in sound from what was said there, in pieces that are repeated again and again, and"
    " beyond what a person can say in the time. In brackets: the 95 % interval, speakers being the sample."
)


@asks(NAME)
def hallucination(
    source: Source,
    *,
    attributes: str | Sequence[str] = (),
    normalizer: str | None = None,
    stretch: int = FEWEST_WORDS,
    vad: bool = False,
    confidence: float = 0.95,
    seed: int = 0,
    **filters: Unpack[Filters],
) -> Answer:
    """Return four rates of words that nobody said, for every recognizer and scenario, and compare groups.

    The source is a run, or a table with utterance, text, duration (seconds), and what there is of recognizer, scenario,
    speaker, reference and attributes. Words are counted per minute of audio. Nobody speaks under scenarios without
    speech, where the reference is empty, and, with `vad`, where a voice activity detector finds no speech in a run's
    recording. Unsupported stretches have at least `stretch` words; without references they are those that no other
    recognizer heard in the same audio (those count that share two words with it), and with them those do not count that
    most of the others heard too. Rates are sums over sums; intervals and tests take speakers as the sample
    (`stats.rates`, `stats.group_ratios`: a Poisson model with minutes as exposure, and clusters). Groups of
    `attributes` are compared with the largest one, all questions being one family.

    >>> rows = {"utterance": ["a", "b"], "duration": [2.0, 4.0], "reference": ["", "good day"]}
    >>> table = pl.DataFrame(rows | {"text": ["thank you", "good day thank you for watching"]})
    >>> for finding in hallucination(table).findings[:2]:
    ...     print(finding.sentence)
    recognizer writes 60.0 words per minute where nobody speaks: 1 case in 0.0 minutes.
    recognizer writes 60.0 words per minute that nothing said there sounds like: 1 case in 0.1 minutes.
    """
    read = read_trials(source, **filters).require("text")
    frame, rows, notes = _usable(read)
    pairs, rules = spoken_pairs(read, rows, normalizer)
    notes = [rules, *notes]
    quiet: Sequence[str] = ()
    if vad:
        quiet, said = silent_utterances(read.run, frame["utterance"].unique().to_list())
        notes.append(Note(LISTENED, said, {"utterances": len(quiet)}))
    trials, cases, more = detect(frame, pairs, stretch, quiet)
    give_back_memory()
    notes += more
    asked = [attributes] if isinstance(attributes, str) else list(attributes)
    columns = {name: read.column(name) for name in asked}
    kept = ("recognizer", "scenario", "speaker")
    fine = _cells(trials, dict.fromkeys((*kept, *columns.values())))
    cells = _coarse(fine, trials, *kept)
    over_all = read.in_order(_rates(cells, ["recognizer"], confidence))
    findings = list(_findings(read, over_all))
    tables = [_rate_table("rates", "Invented words by recognizer", over_all, [])]
    if len(read.scenarios) > 1:
        rates = read.in_order(_rates(cells, ["recognizer", "scenario"], confidence))
        tables.append(_rate_table("scenarios", "Invented words by scenario", rates, ["scenario"]))
    for name, column in columns.items():
        groups = _coarse(fine, trials, *kept, group=pl.col(column).cast(pl.String))
        rates = _rates(groups, ["recognizer", "group"], confidence)
        tables.append(_rate_table(f"groups-{name}", f"Invented words by {name}", rates, ["group"]))
    compared, refusals = compare_groups(read, trials, asked, RATIOS, seed)
    tables.append(_case_table(cases))
    return Answer(
        audit=NAME,
        title="Words that nobody said",
        question={"normalizer": ", ".join(rules.facts["normalizers"])},
        findings=(*findings, *map(_compared, compared)),
        tables=[table for table in tables if table.frame.height],  # type: ignore[arg-type]
        notes=tuple(notes),
        refusals=tuple(refusals),
        lead=LEAD,
        detail=trials,
    )


# What is read


def _usable(read: Scores) -> tuple[pl.DataFrame, IntArray, list[Note]]:
    """Return the trials that were answered and whose length is known; a table without lengths is refused."""
    if "duration" not in read.frame.columns:
        text = "rates per minute need the seconds of every recording, in a column `duration`"
        raise refuse("no_duration", text, about=read.where, see=("columns",))
    frame = read.frame.with_columns(duration=pl.Series(read.numbers("duration")).fill_nan(None))
    if "reference" not in frame.columns:
        frame = frame.with_columns(reference=pl.lit(None, pl.String))
    steps = [("no_duration", "of unknown length", (pl.col("duration") > 0.0).fill_null(False))]
    kept, rows, notes = usable_trials(replace(read, frame=frame), steps)
    if kept.is_empty():
        raise refuse("no_duration", "no trial was answered whose length is known", about=read.where)
    return kept, rows, notes


# What nobody said


def detect(
    frame: pl.DataFrame, pairs: Pairs, fewest: int, quiet: Collection[str] = ()
) -> tuple[pl.DataFrame, pl.DataFrame, list[Note]]:
    """Return the trials with words, cases and minutes of every kind, the cases, and what to know of them.

    `frame` has utterance, scenario, recognizer, reference (null: unknown) and duration; `pairs` are its normalized
    texts, row by row; in `quiet` utterances nobody speaks. The minutes of a kind are 0 where it could not occur: words
    in silence in speech, all others in silence, unsupported words where there is neither a reference nor another
    recognizer.
    """
    silence = _nobody(frame, quiet)
    seconds = frame["duration"].to_numpy()
    differs = ~silence & (pairs.said_text != pairs.heard_text)  # else nothing can be invented
    known = pairs.said_text >= 0
    found = _silent(pairs, np.flatnonzero(silence)) + _too_fast(pairs, seconds, np.flatnonzero(~silence))
    found += _loops(pairs, np.flatnonzero(differs))
    cases, doubtful = _unsupported(frame, pairs, np.flatnonzero(differs & known), fewest)
    more, alone = _nobody_else(frame, pairs, np.flatnonzero(differs & ~known), fewest)
    found = sorted([*found, *cases, *more], key=lambda case: case[0])
    columns = []
    minutes = seconds / 60.0
    quiet_minutes, heard_minutes = (pl.Series(np.where(could, minutes, 0.0)) for could in (silence, ~silence))
    compared = pl.Series(np.where(~silence & ~alone, minutes, 0.0)) if alone.any() else heard_minutes
    minutes_of = {"silence": quiet_minutes, "unsupported": compared}
    for kind in KINDS:
        own = [case for case in found if case[1] == kind]
        rows = np.array([case[0] for case in own], dtype=np.int64)
        words = np.bincount(rows, [case[4] for case in own], frame.height).astype(np.int32)
        columns += [
            pl.Series(f"{kind}_words", words),
            pl.Series(f"{kind}_cases", np.bincount(rows, minlength=frame.height).astype(np.int32)),
            minutes_of.get(kind, heard_minutes).alias(f"{kind}_minutes"),
        ]
    notes = []
    if alone.any():
        text = (
            f"{counted(int(alone.sum()), 'trial')} without reference and without a second recognizer that heard the"
            " same speech: no unsupported words were looked for there"
        )
        notes.append(Note("no_references", text, {"trials": int(alone.sum())}))
    if doubtful:
        text = (
            f"{counted(doubtful, 'stretch')} left out that most other recognizers heard too: there the reference is in"
            " doubt"
        ).replace("stretchs", "stretches")
        notes.append(Note("doubtful_references", text, {"stretches": doubtful}))
    return frame.with_columns(columns), _listed(frame, pairs, found), notes


Case = tuple[int, str, int, int, int]
"""The row of a trial, the kind, the first word and one past the last, and how many words nobody said."""


def _nobody(frame: pl.DataFrame, quiet: Collection[str]) -> BoolArray:
    """Say in which trials nobody speaks."""
    silent = silent_scenarios(frame["scenario"].unique().to_list())
    # "Mhm" is speech, though no word is left of it; a reference of marks alone is none.
    empty = ~pl.col("reference").cast(pl.String).str.contains(r"[\p{L}\p{N}]").fill_null(True)
    quiet_ones = pl.col("scenario").is_in(silent) | pl.col("utterance").is_in(list(quiet))
    return np.asarray(frame.select(quiet_ones | empty).to_series().to_numpy())


def _silent(pairs: Pairs, rows: IntArray) -> list[Case]:
    sizes = pairs.words.spans.lengths[pairs.heard_text[rows]].tolist()
    return [(row, "silence", 0, size, size) for row, size in zip(rows.tolist(), sizes, strict=True) if size]


def _too_fast(pairs: Pairs, seconds: FloatArray, rows: IntArray) -> list[Case]:
    words = pairs.words
    size = np.array([len(word) for word in words.vocabulary], dtype=np.int64)
    letters = np.concatenate(
        [of_each(np.add, size[words.codes[at]], lengths) for _, at, lengths in words.parts()]
    )
    long = letters[pairs.heard_text[rows]] > SLACK + FASTEST * seconds[rows]
    cases = []
    for row in rows[long].tolist():
        text = words.text(int(pairs.heard_text[row]))
        if many := words_too_many(" ".join(text), float(seconds[row])):
            cases.append((row, "too_fast", 0, len(text), many))
    return cases


def _loops(pairs: Pairs, rows: IntArray) -> list[Case]:
    able = may_loop(pairs.words)[pairs.heard_text[rows]]
    cases = []
    for row in rows[able].tolist():
        said = int(pairs.said_text[row])
        text = _text(pairs, int(pairs.heard_text[row]))
        loops = find_loops(text, _text(pairs, said) if said >= 0 else None)
        cases += [(row, "loops", one.start, one.stop, one.words) for one in loops]
    return cases


def _unsupported(frame: pl.DataFrame, pairs: Pairs, rows: IntArray, fewest: int) -> tuple[list[Case], int]:
    """Return the unsupported stretches of trials with references, and how many most others heard, too."""
    stretches = unsupported_stretches(pairs, fewest)
    has = np.zeros(len(pairs), dtype=bool)
    has[list(stretches)] = True
    rows = rows[has[pairs.pair[rows]]]
    others = _others(frame, pairs, rows)
    heard = np.repeat(pairs.heard_text[rows], np.array(list(map(len, others)), dtype=np.int64))
    beside = Pairs.between(pairs.words, np.array(list(chain(*others)), dtype=np.int64), heard)
    without = unsupported_stretches(beside, fewest)
    against = (without.get(pair, []) for pair in beside.pair.tolist())
    cases: list[Case] = []
    doubtful = 0
    for row, rest in zip(rows.tolist(), others, strict=True):
        found = stretches[int(pairs.pair[row])]
        by_others = list(islice(against, len(rest)))
        sure = [one for one in found if not heard_by_most(one, by_others)]
        doubtful += len(found) - len(sure)
        cases += [(row, "unsupported", one.start, one.stop, one.words) for one in sure]
    return cases, doubtful


def _nobody_else(
    frame: pl.DataFrame, pairs: Pairs, rows: IntArray, fewest: int
) -> tuple[list[Case], BoolArray]:
    """Return the stretches of trials without references that no other recognizer heard; which have no witness."""
    alone = np.zeros(frame.height, dtype=bool)
    cases: list[Case] = []
    for row, others in zip(rows.tolist(), _others(frame, pairs, rows), strict=True):
        text = _text(pairs, int(pairs.heard_text[row]))
        rest = witnesses(text, [_text(pairs, other) for other in others])
        alone[row] = not rest
        found = heard_by_nobody_else(text, rest, fewest)
        cases += [(row, "unsupported", one.start, one.stop, one.words) for one in found]
    return cases, alone


def _others(frame: pl.DataFrame, pairs: Pairs, rows: IntArray) -> list[list[int]]:
    """Return the texts, by their numbers, that other recognizers heard in the audio of each of some rows."""
    if frame["recognizer"].n_unique() < 2 or not len(rows):
        return [[] for _ in rows]
    keys = ["utterance", "scenario"]
    table = frame.select(*keys, "recognizer", text=pairs.heard_text)
    asked = table[rows]
    heard: dict[tuple[str, str], list[tuple[str, int]]] = {}
    for utterance, scenario, name, text in table.join(
        asked, on=keys, how="semi", maintain_order="left"
    ).iter_rows():
        heard.setdefault((utterance, scenario), []).append((name, text))
    return [
        [text for who, text in heard[utterance, scenario] if who != name]
        for utterance, scenario, name in asked.select(*keys, "recognizer").iter_rows()
    ]


def _text(pairs: Pairs, number: int) -> str:
    return " ".join(pairs.words.text(number))


def _listed(frame: pl.DataFrame, pairs: Pairs, found: Sequence[Case]) -> pl.DataFrame:
    """Return the largest cases, with `of`, how many there are."""
    largest = sorted(found, key=lambda case: -case[4])[:MOST_CASES]
    rows = [case[0] for case in largest]
    table = frame[rows].select("recognizer", "scenario", "utterance")
    texts = [pairs.words.text(number) for number in pairs.heard_text[rows].tolist()]
    marked = [_marked(text, case[2], case[3]) for text, case in zip(texts, largest, strict=True)]
    return table.with_columns(
        pl.Series("kind", [case[1] for case in largest], dtype=pl.String),
        *(
            pl.Series(name, [case[place] for case in largest], dtype=pl.Int64)
            for place, name in ((4, "words"), (2, "start"), (3, "stop"))
        ),
        pl.Series("heard", marked, dtype=pl.String),
        frame["reference"].gather(rows),
        of=pl.lit(len(found)),
    )


def _marked(words: Sequence[str], start: int, stop: int) -> str:
    """Return a case with the words around it: `... your card [thank you for watching] ...`."""
    before, behind = words[max(start - CONTEXT, 0) : start], words[stop : stop + CONTEXT]
    inside = words[start:stop]
    if len(inside) > 24:
        inside = [*inside[:16], "...", *inside[-4:]]
    parts = ["..." if start > CONTEXT else "", *before, f"[{' '.join(inside)}]", *behind]
    return " ".join(filter(None, [*parts, "..." if stop + CONTEXT < len(words) else ""]))


def silent_utterances(run: Run | None, ids: Sequence[str]) -> tuple[list[str], str]:
    """Return the utterances of a run in whose recordings no speech is detected, and what was done."""
    wanted = set(ids)
    found = of_recordings(run, wanted, seconds_of_speech)
    quiet, unread = (
        [id_ for id_, speech in found.items() if speech < SHORTEST_SPEECH],
        len(wanted) - len(found),
    )
    text = f"nobody speaks in {counted(len(quiet), 'recording')} of {len(wanted):,}, says the voice activity detector"
    return quiet, text + (f"; {counted(unread, 'recording')} could not be read" if unread else "")


# The numbers


def _cells(trials: pl.DataFrame, keys: Collection[str]) -> pl.DataFrame:
    """Return the sums of a speaker's trials, which all tables put together: four kinds of every trial are many."""
    could = {f"{kind}_trials": pl.col(f"{kind}_minutes") > 0.0 for kind in KINDS}
    counts = [f"{kind}_{what}" for kind in KINDS for what in ("words", "cases", "trials")]
    minutes = total(*(f"{kind}_minutes" for kind in KINDS))
    return sums_by(trials.with_columns(**could), keys, pl.col(counts).sum(), minutes)


def _coarse(cells: pl.DataFrame, trials: pl.DataFrame, *by: str, **groups: pl.Expr) -> pl.DataFrame:
    """Return the sums by fewer keys: mostly the same cells, as speakers have one group each."""
    if cells.select(*by, **groups).is_unique().all():
        return cells.with_columns(**groups)
    return _cells(trials.with_columns(**groups), (*by, *groups))


def _rates(cells: pl.DataFrame, by: Sequence[str], confidence: float) -> pl.DataFrame:
    """Return kind, `by`, cases, words, minutes, rate, low, high, trials, speakers; without kinds that cannot occur.

    Without a case the upper limit is that of cases per minute: so many trials without one leave that many open.
    """
    parts = []
    for kind in KINDS:
        table = cells.filter(pl.col(f"{kind}_trials") > 0).select(
            *by,
            "speaker",
            **{what: pl.col(f"{kind}_{what}") for what in ("words", "cases", "minutes", "trials")},
        )
        if table.is_empty():
            continue
        sums = table.group_by(by, maintain_order=True).agg(total("cases", "words", "minutes", "trials"))
        limits = rate_intervals(
            table,
            by,
            errors="words",
            words="minutes",
            utterances="trials",
            most=np.inf,
            confidence=confidence,
        )
        found = sums.join(limits, on=by, how="left", nulls_equal=True, maintain_order="left").with_columns(
            kind=pl.lit(kind),
            what=pl.lit(TITLES[kind]),
            rate=pl.col("words") / pl.col("minutes"),
            low=pl.col("ci_low"),
            high=pl.when(pl.col("words") == 0)
            .then(pl.col("ci_high") * pl.col("trials") / pl.col("minutes"))
            .otherwise(pl.col("ci_high")),
        )
        parts.append(found.drop("ci_low", "ci_high"))
    return pl.concat(parts)


RATIOS = [Ratio(f"{kind}_ratio", f"{kind}_words", f"{kind}_minutes", f"{kind}_cases") for kind in KINDS]


def _compared(one: Compared) -> Finding:
    title = TITLES[one[0].measure.removesuffix("_ratio")]
    verbs = (f"writes {{more}} {title}", f"is not shown to write {{more}} {title}")
    return group_finding(NAME, one, *verbs, "many per minute")


# What is said of it


def _findings(read: Scores, rates: pl.DataFrame) -> Iterator[Finding]:
    for name in read.recognizers:
        for row in rates.filter(pl.col("recognizer") == name).iter_rows(named=True):
            kind, title = row["kind"], TITLES[row["kind"]].removeprefix("words ")
            limits = (
                f" ({row['low']:.1f} to {row['high']:.1f})" if row["low"] is not None and row["high"] else ""
            )
            heard = f"{counted(row['cases'], 'case')} in {row['minutes']:,.1f} minutes"
            sentence = f"{name} writes {row['rate']:.1f}{limits} words per minute {title}: {heard}."
            if not row["words"]:
                at_most = (
                    f"; up to {row['high']:.1f} cases per minute are not excluded" if row["high"] else ""
                )
                sentence = f"{name} writes no {TITLES[kind]} in {row['minutes']:,.1f} minutes{at_most}."
            yield Finding(
                finding_id(NAME, name, MEASURES[kind]),
                MEASURES[kind],
                "measured",
                sentence,
                estimate=number_or_none(row["rate"]),
                low=number_or_none(row["low"]),
                high=number_or_none(row["high"]),
                unit="words per minute",
                recognizer=name,
                speakers=row["speakers"],
                utterances=row["trials"],
                words=row["words"],
                headline=row["words"] > 0,
            )


def _rate_table(id_: str, title: str, rates: pl.DataFrame, keys: Sequence[str]) -> Table:
    columns = [
        "recognizer",
        *keys,
        ("what", "counted"),
        ("rate", "words per minute", "ratio", "low", "high"),
        ("words", "", "count"),
        ("cases", "", "count"),
        ("minutes", "", "count"),
        "trials",
        "speakers",
    ]
    return tabulate(id_, title, rates, columns)


def _case_table(cases: pl.DataFrame) -> Table:
    columns = [
        "recognizer",
        "scenario",
        "utterance",
        ("what", "kind"),
        ("words", "", "count"),
        ("heard", "heard, the words in [ ]"),
    ]
    shown = cases.with_columns(
        what=pl.col("kind").replace_strict(TITLES, default=None, return_dtype=pl.String)
    )
    count = int(cases["of"].item(0)) if cases.height else 0
    note = f"The {MOST_CASES} largest of {count:,}." if count > MOST_CASES else ""
    return tabulate("cases", "What was invented", shown.drop("of"), columns, note=note, folded=count > 24)
