"""From `Scores` to what the audit computes from: checked tables of trials, people, difficulties, facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from voxaudit.answer import Refusal, RefusedError, refuse
from voxaudit.audits.scores import DRAWS, Scores
from voxaudit.errors import VoxauditError, one_line
from voxaudit.perturb import CLEAN
from voxaudit.perturb.settings import Setting, describe_all
from voxaudit.registry import unknown
from voxaudit.score.table import TRIAL_COLUMNS
from voxaudit.stats.rates import rate_intervals
from voxaudit.stats.unseen import MOST
from voxaudit.tables import added, as_frame, mean_of, read_table, require_columns, require_single, total
from voxaudit.wording import MISSING, listed

COUNTS = ("errors", "words", "character_errors", "characters")
PLACES = ("language", "corpus")
"""Columns that can set results apart; pooled unless asked for."""


@dataclass(frozen=True)
class Trials:
    """A checked table: one row per utterance, scenario and recognizer (and draw).

    Columns: recognizer, the `places`, scenario, `person` (a number; the same speaker name in two corpora is two
    people), utterance, the counts, `duration` (seconds, where known), `draw` (where there are several) and the
    attributes (`attribute:NAME`). `pooled` has the columns that could be places, with how many values; `people` has
    person, `stratum` and `speaker`; `unnamed` the people without a name. `groups` are the groups of attributes that
    can be compared, those with most speakers first. `baseline` has the clean corpus that natural speech is compared
    with, by language or corpus; `languages` has, by what results are set apart by, the language whose difficulties
    hold: empty where it is not known, None where several are pooled. Where `summed`, rows are sums over utterances.
    """

    table: pl.DataFrame
    places: tuple[str, ...]
    pooled: dict[str, int]
    people: pl.DataFrame
    unnamed: frozenset[int]
    settings: dict[str, Setting]
    recognizers: tuple[str, ...]
    groups: dict[str, list[str]]
    baseline: Mapping[str, str]
    languages: Mapping[str, str | None]
    summed: bool

    @property
    def nobody(self) -> bool:
        """Whether not a single speaker is known."""
        return len(self.unnamed) == self.people.height

    @property
    def draw(self) -> bool:
        """Whether there are several random draws of the same scenarios."""
        return "draw" in self.table.columns

    @property
    def unit(self) -> list[str]:
        """What a scenario is judged within: the recognizer and the places."""
        return ["recognizer", *self.places]

    @property
    def spoken(self) -> pl.DataFrame:
        """The rows whose scenario leaves something to be recognized."""
        silent = [name for name, setting in self.settings.items() if not setting.speech]
        return self.table.filter(~pl.col("scenario").cast(pl.String).is_in(silent)) if silent else self.table

    def utterance_means(self, table: pl.DataFrame, extra: Sequence[str] = ()) -> pl.DataFrame:
        """Return one row per utterance: random draws are averaged, so that none counts twice."""
        columns = [*self.unit, "scenario", "person", "utterance", *extra]
        if not self.draw:
            return table.select(*columns, *COUNTS)
        return table.group_by(columns, maintain_order=True).agg(mean_of(*COUNTS))

    def rates(
        self, table: pl.DataFrame, by: list[str], *, per: str = "words", confidence: float
    ) -> pl.DataFrame:
        """Return sums of `utterances`, `errors` and `per`, speakers, and the rate with its limits, by condition."""
        table = table.with_columns(
            *(pl.col(name).cast(pl.String) for name in by),
            # Nobody is everybody: a speaker without a name gives no interval.
            person=pl.when(~pl.col("person").is_in(list(self.unnamed))).then(pl.col("person")),
        )
        sums = table.group_by(by).agg(added(table, "utterances", "errors", per))
        limits = rate_intervals(
            table,
            by,
            words=per,
            speaker="person",
            utterances="utterances",
            most=MOST if per == "words" else inf,
            confidence=confidence,
        )
        rates = sums.with_columns(rate=(pl.col("errors") / pl.col(per)).fill_nan(None)).join(limits, on=by)
        rates = rates.rename({"ci_low": "low", "ci_high": "high"}).sort(by)
        if per != "words":  # the limit of no errors is a share of utterances, not a rate per minute
            rates = rates.with_columns(pl.when(pl.col("errors") > 0).then(pl.col("low", "high")))
        return rates


def read_trials(
    scores: Scores,
    attributes: Sequence[str] = (),
    by: Sequence[str] = (),
    baseline: Mapping[str, str] | None = None,
) -> tuple[Trials, list[Refusal]]:
    """Check scores and return them in the form the audit works on, and the attributes that cannot be compared.

    `by` are the columns among `PLACES` that set results apart; others are pooled. A `baseline` sets both apart. Without
    a column `utterance` the rows of a speaker (and of a corpus without speakers) are added up.
    """
    frame, where = scores.frame, scores.where
    scores.require("scenario", "recognizer", "words")
    if frame.is_empty():
        text = "nothing was scored: no reference texts, or no trial was answered"
        raise refuse("no_references", text, about=where)
    columns, groups, refusals = _attributes(scores, attributes)
    baseline = baseline or {}
    places = _places(scores, PLACES if baseline else by, needed=("corpus",) if baseline else by)
    draw = next((name for name in DRAWS if name in frame.columns and frame[name].n_unique() > 1), None)
    speech = all(setting.speech for setting in describe_all(scores.scenarios).values())
    frame = scores.frame if speech else scores.with_durations().frame
    numbers = {"errors": scores.errors(), "words": scores.counts("words")}
    numbers |= {name: scores.counts(name) for name in COUNTS[2:] if name in frame.columns}
    if "duration" in frame.columns:
        numbers["duration"] = replace(scores, frame=frame).numbers("duration")
    summed = "utterance" not in frame.columns
    labels = {"recognizer": "recognizer", "scenario": "scenario"}
    labels |= {name: name for name in ("utterance", "speaker") if name in frame.columns}
    labels |= {"draw": draw} if draw else {}
    labels |= {f"attribute:{name}": column for name, column in columns.items()}
    # Where a speaker's name is valid: the corpus, also where results are not set apart by it.
    home = pl.col("corpus") if "corpus" in frame.columns else pl.lit("")
    kept = [home.alias("home"), *(pl.col(name) for name in places)]
    table = frame.select(
        *(one.cast(pl.String).fill_null(MISSING).cast(pl.Categorical) for one in kept),
        *(pl.col(old).cast(pl.String).cast(pl.Categorical).alias(name) for name, old in labels.items()),
        *(pl.Series(name, values).fill_nan(None) for name, values in numbers.items()),
    ).with_columns(
        *(pl.lit(None, dtype=pl.Float64).alias(name) for name in COUNTS if name not in numbers),
        *(
            pl.lit(value, dtype=pl.Categorical).alias(name)
            for name, value in (("utterance", ""), ("speaker", None))
            if name not in labels
        ),
    )
    _require_values(table, where)
    if summed:
        numbered = [name for name, kind in table.schema.items() if kind == pl.Float64]
        table = table.group_by(pl.col(pl.Categorical), maintain_order=True).agg(total(*numbered))
    pooled = {
        name: count
        for name in PLACES
        if name in frame.columns
        and name not in places
        and (count := frame[name].n_unique()) > 1
        # Of one clean corpus, others in a role beside it are scenarios of their own.
        and frame.filter(pl.col("scenario").cast(pl.String) == CLEAN)[name].n_unique() > 1
    }
    _require_once(table, places, pooled, draw is not None, where)
    _require_baseline(table, baseline, where)
    settings = _settings(table)
    if CLEAN not in settings:
        raise refuse(
            "no_clean_speech",
            f"no row has the scenario '{CLEAN}'. Robustness is measured against clean speech;"
            f" scenarios there: {one_line(', '.join(settings), 120)}",
            about=where,
        )
    people = _people(table)
    keys = ["home", "speaker"]
    joined = table.join(people.select(*keys, "person"), on=keys, how="left", nulls_equal=True)
    trials = Trials(
        table=joined.drop(keys),
        places=places,
        pooled=pooled,
        people=people.select("person", "stratum", pl.col("speaker").cast(pl.String)),
        unnamed=frozenset(people.filter(pl.col("speaker").is_null())["person"].to_list()),
        settings=settings,
        recognizers=tuple(scores.recognizers if scores.run else sorted(scores.recognizers)),
        groups=groups,
        baseline=baseline,
        languages=_languages(frame, places),
        summed=summed,
    )
    return trials, refusals


def _attributes(
    scores: Scores, attributes: Sequence[str]
) -> tuple[dict[str, str], dict[str, list[str]], list[Refusal]]:
    """Return the columns and the groups of the attributes that can be compared, and why others cannot."""
    columns, groups, refusals = {}, {}, []
    for name in dict.fromkeys(attributes):
        column = scores.column(name)
        if column in TRIAL_COLUMNS:
            raise VoxauditError(
                f"{scores.where}: column '{name}' says which trial a row is. Name an attribute of the speakers",
                see=("attributes",),
            )
        try:
            groups[name] = scores.comparable(name)
        except RefusedError as error:
            refusals.append(replace(error.refusal, see=("attributes",)))
        else:
            columns[name] = column
    return columns, groups, refusals


def _places(scores: Scores, by: Sequence[str], needed: Sequence[str]) -> tuple[str, ...]:
    unknown = [name for name in by if name not in PLACES]
    if unknown:
        raise VoxauditError(
            f"results can be set apart by {' and '.join(PLACES)}, not by '{one_line(unknown[0], 80)}';"
            " groups of speakers are compared as attributes",
            see=("by", "attributes"),
        )
    scores.require(*needed)
    there = scores.frame.columns
    return tuple(name for name in PLACES if name in by and name in there and scores.frame[name].count())


def _languages(frame: pl.DataFrame, places: tuple[str, ...]) -> dict[str, str | None]:
    if "language" not in frame.columns:
        return {"": ""}
    known = frame["language"].cast(pl.String).unique().sort().to_list()
    if "language" in places:
        return {MISSING if name is None else name: name or "" for name in known}
    return {"": (known[0] or "") if len(known) == 1 else None}


def _require_baseline(table: pl.DataFrame, baseline: Mapping[str, str], where: str) -> None:
    """Raise one line where a baseline is no corpus with clean speech, or is that of nothing in the table."""
    if not baseline:
        return
    clean = table.filter(pl.col("scenario") == CLEAN)["corpus"].cast(pl.String).unique().sort().to_list()
    places = [name for name in PLACES if name in table.columns]
    there = [one for name in places for one in table[name].cast(pl.String).unique().sort().to_list()]
    for names, known, what in (
        (baseline.values(), clean, "no clean speech of a corpus"),
        (baseline, there, "no language or corpus"),
    ):
        for name in names:
            if name not in known:
                raise unknown(f"{where}: {what}", name, known, "baseline")


def _require_values(table: pl.DataFrame, where: str) -> None:
    for name in ("recognizer", "scenario", "utterance", "errors", "words"):
        column = table[name]
        if column.null_count():
            row = int(column.is_null().arg_max() or 0) + 1
            need = "one" if column.dtype == pl.Categorical else "a count of 0 or more"
            raise VoxauditError(f"{where}: row {row:,}, column '{name}': no value; every trial needs {need}")


def _require_once(
    table: pl.DataFrame, places: tuple[str, ...], pooled: Iterable[str], draw: bool, where: str
) -> None:
    keys = ["recognizer", *places, "scenario", "home", "speaker", "utterance", *(["draw"] if draw else [])]
    # Mostly a few keys tell rows apart, and numbers are compared ten times as fast as rows; where they overflow, two
    # rows may seem one, but never the other way round.
    number = np.zeros(table.height, dtype=np.uint64)
    for name in ("recognizer", "scenario", "utterance"):
        own = table[name].to_physical().to_numpy().astype(np.uint64)
        number = number * (own.max() + np.uint64(1)) + own
    if pl.Series(number).n_unique() == table.height:
        return
    if table.select(pl.struct(keys).n_unique()).item() == table.height:
        return
    twice = table.group_by(keys).len().filter(pl.col("len") > 1).sort(keys).row(0, named=True)
    # Speakers of two corpora are two people anyway.
    split = ", set languages apart" if "language" in pooled else ""
    raise VoxauditError(
        f"{where}: {twice['len']} rows for utterance '{twice['utterance']}', scenario '{twice['scenario']}',"
        f" recognizer '{twice['recognizer']}'. Keep one{split}, or tell random draws apart in a column 'draw'",
        see=("by",) if split else (),
    )


def _settings(table: pl.DataFrame) -> dict[str, Setting]:
    """Return the settings of all scenarios. One without a single reference word is silence, whatever its name."""
    words = table.group_by("scenario").agg(pl.col("words").sum()).sort(pl.col("scenario").cast(pl.String))
    counted = {str(scenario): float(count) for scenario, count in words.iter_rows()}
    return {
        name: replace(setting, speech=setting.speech and counted[name] > 0)
        for name, setting in describe_all(counted).items()
    }


def _people(table: pl.DataFrame) -> pl.DataFrame:
    """Return the speakers with the stratum each is drawn within.

    Speakers of clean speech are one sample (a corpus each, where there are several); people who are only heard in
    another role, such as accented speech, are another: the two sides of an unpaired comparison vary independently.
    """
    scenario = pl.col("scenario").cast(pl.String)
    role = scenario.str.split(":").list.first()
    heard = table.select("home", "speaker", "scenario").unique()
    people = heard.group_by("home", "speaker").agg(clean=(scenario == CLEAN).any(), role=role.min())
    people = people.sort(pl.col("home", "speaker").cast(pl.String), nulls_last=True)
    stratum = pl.when(pl.col("clean")).then(pl.lit(CLEAN)).otherwise(pl.col("role"))
    return people.with_row_index("person").with_columns(
        stratum=stratum + "\0" + pl.col("home").cast(pl.String), person=pl.col("person").cast(pl.Int64)
    )


# Scenarios without speech: a recognizer must say nothing, and is judged by the words it makes up.


def inserted_words(trials: Trials, *, confidence: float) -> tuple[pl.DataFrame, list[Refusal]]:
    """Return inserted words per minute of audio, by recognizer and scenario without speech, with intervals."""
    silent = sorted(name for name, setting in trials.settings.items() if not setting.speech)
    by = [*trials.unit, "scenario"]
    refusals = []
    table = trials.table.filter(pl.col("scenario").cast(pl.String).is_in(silent))
    for name in silent:
        refusal = _unfit(name, table.filter(pl.col("scenario") == name))
        if refusal is not None:
            refusals.append(refusal)
            table = table.filter(pl.col("scenario") != name)
    schema: dict[str, Any] = dict.fromkeys(by, pl.String) | {"utterances": pl.Int64, "speakers": pl.Int64}
    schema |= dict.fromkeys(("words", "minutes", "words_per_minute", "low", "high"), pl.Float64)
    if table.is_empty():
        return pl.DataFrame(schema=schema), refusals
    # Minutes of a speaker first, as `hallucination` adds them up: the same number to the last digit.
    table = table.with_columns(minutes=pl.col("duration") / 60.0, utterances=1)
    table = table.group_by(*by, "person").agg(total("errors", "minutes", "utterances"))
    rates = trials.rates(table, by, per="minutes", confidence=confidence)
    rates = rates.rename({"errors": "words", "rate": "words_per_minute"})
    return rates.select(pl.col(name).cast(kind) for name, kind in schema.items()), refusals


def _unfit(scenario: str, rows: pl.DataFrame) -> Refusal | None:
    if rows["words"].sum() > 0:
        text = "nothing is left of what was said, yet it is scored against the reference text"
        return Refusal("undefined", scenario, text, remedy="score the run again")
    if "duration" not in rows.columns or rows["duration"].null_count() or not rows["duration"].sum() > 0:
        text = "words per minute need a column 'duration' (seconds of audio) without gaps"
        return Refusal("no_duration", scenario, text)
    return None


def with_attacks(scores: Scores) -> Scores:
    """Return scores with those of the attacks in their runs' folders, which were made on the same recognizers.

    Of an attack only its own scenarios count: clean speech is that of the run.
    """
    frames = [scores.frame]
    for run in scores.runs:
        path = run.folder / "attack" / "scores.parquet"
        given = "source" in scores.frame.columns and str(path.parent) in scores.frame["source"].cast(
            pl.String
        )
        if given or not path.is_file():
            continue
        found = read_table(path)
        require_columns(found, ["utterance", "scenario", "recognizer"], path)
        settings = describe_all(found["scenario"].cast(pl.String).unique().to_list())
        attacks = [name for name, one in settings.items() if one.attack]
        own = pl.col("scenario").is_in(attacks) & pl.col("recognizer").is_in(scores.recognizers)
        found = found.with_columns(pl.col("scenario", "recognizer").cast(pl.String)).filter(own)
        if "source" in scores.frame.columns:  # several runs
            draw = str(run.config.get("seed", ""))
            found = found.with_columns(source=pl.lit(str(run.folder)), draw=pl.lit(draw))
        frames.append(found)
    return scores if len(frames) == 1 else replace(scores, frame=pl.concat(frames, how="diagonal_relaxed"))


# Difficulties of scenarios, which are divided by, and facts about recognizers.


def check_difficulty(
    given: Mapping[str, Mapping[str, float | None]], trials: Trials
) -> tuple[dict[str, dict[str, float]], list[Refusal]]:
    """Return {language: {scenario: difficulty}} of the scenarios that are normalized, and why others are not.

    Languages are those that results are set apart by, or empty. Attacks are never normalized. A difficulty of 0 or less
    divides nothing: that scenario is left out.
    """
    normalized: dict[str, dict[str, float]] = {}
    refusals = []
    for language, own in given.items():
        heard = trials.table
        if "language" in trials.places:
            heard = heard.filter(pl.col("language") == language)
        names = sorted(heard["scenario"].cast(pl.String).unique().to_list())
        settings = [trials.settings[name] for name in names]
        wanted = {one.scenario: own.get(one.scenario) for one in settings if one.speech and not one.attack}
        known = {s: value for s, value in wanted.items() if value is not None and 0 < value < inf}
        low = [s for s, value in wanted.items() if value is not None and value <= 0]
        without = [s for s in wanted if s not in known and s not in low and s != CLEAN]
        normalized[language] = known
        refusals += [
            Refusal(
                code,
                f"NWERD of {listed(some, 4)}" + (f" ({language})" if language else ""),
                text,
                {"scenarios": some},
            )
            for code, some, text in (
                ("undefined", low, "a difficulty of 0 or less divides nothing"),
                ("no_difficulty", without, "no difficulty is known"),
            )
            if some
        ]
    return normalized, refusals


def read_facts(facts: Any, recognizers: tuple[str, ...]) -> pl.DataFrame:
    """Return facts about recognizers, of a file or a table: a column `recognizer` and any others, one row each."""
    file = isinstance(facts, str | Path)
    where = str(facts) if file else "facts"
    table = read_table(facts) if file else as_frame(facts)
    require_columns(table, ["recognizer"], where)
    table = table.with_columns(pl.col("recognizer").cast(pl.String))
    require_single(table["recognizer"], where)
    if not set(table["recognizer"].to_list()) & set(recognizers):
        raise VoxauditError(
            f"{where}: none of its recognizers is in the scores, which have {one_line(', '.join(recognizers), 120)}"
        )
    return table


def published_models() -> pl.DataFrame:
    """Return the models that Speech Robust Bench evaluated, in English and in Spanish, as its authors published them.

    Columns: language, recognizer, model, family, architecture (section 4.3), parameters, hours (of training) and clean
    (WER), of Table 5; what Table 1 has, under its names, of the models in it; WERD and WERD (Adv), the averages of
    Table 7 on LibriSpeech and on the Spanish part of Multilingual LibriSpeech. Rates are fractions.

    >>> models = published_models()
    >>> models.filter(recognizer="wsp-lg", language="en").select("parameters", "AVG").row(0)
    (1550000000.0, 0.13)
    """
    source = files("voxaudit.audits.robustness").joinpath("srb_models.csv")
    table = pl.read_csv(source.read_bytes())
    rates = [name for name, kind in table.schema.items() if kind == pl.Float64 and name != "parameters"]
    return table.with_columns(pl.col(rates) / 100.0, parameters=pl.col("parameters") * 1e6)
