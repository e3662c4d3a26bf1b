"""Power: the question, the decision and the words; from numbers alone, or from a pilot's speakers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Unpack

import numpy as np
import polars as pl

from voxaudit.answer import (
    Answer,
    Column,
    Figure,
    Finding,
    Note,
    Refusal,
    Table,
    Tables,
    finding_id,
    tabulate,
)
from voxaudit.audits.audit import asks
from voxaudit.audits.parity.speakers import (
    ASKED,
    UNNAMED,
    Settings,
    Speakers,
    Trials,
    gap_note,
    gaps_asked,
    group_speakers,
    read_trials,
)
from voxaudit.audits.scores import Filters, Names, Scores, Source
from voxaudit.corpus.bands import Bands, read_bands
from voxaudit.errors import VoxauditError
from voxaudit.stats.group_means import describe_groups
from voxaudit.stats.power import (
    power_t,
    power_z,
    smallest_gap,
    speakers_needed,
    speakers_needed_t,
    whole_speakers,
)
from voxaudit.stats.power_simulation import (
    Population,
    SimulatedPower,
    Test,
    fitted_population,
    planned_population,
    simulate_power,
    speakers_by_simulation,
)
from voxaudit.stats.speaker_means import MEAN
from voxaudit.wording import in_points

AUDIT, TITLE = "power", "How many speakers a comparison needs"
DRAWN = 1000
"""Studies that are drawn of a design, unless told otherwise."""
LEAD = (
    "Speakers are the sample: sigma is the standard deviation of word error rates between speakers of a group, the gap"
    " a difference of two groups' rates. More utterances per speaker help only down to what people differ by."
)


# The question


@asks(AUDIT)
def power(
    source: Source = None,
    *,
    gap: float | None = None,
    sigma: float | None = None,
    speakers: Sequence[float] = (),
    ratio: float = 1.0,
    confidence: float = 0.95,
    power: float = 0.8,
    one_sided: bool = False,
    attributes: Names = (),
    merge_below: int = 0,
    bands: Bands = (),
    age: str | None = None,
    wer_columns: Sequence[str] = (),
    speaker_pattern: str | None = None,
    surrogate_speaker: bool = False,
    simulations: int = 0,
    test: Test = "t",
    seed: int = 0,
    base_wer: float | None = None,
    log_sigma: float = 0.5,
    per_speaker: int = 20,
    utterance_words: int = 10,
    dispersion: float = 1.0,
    **filters: Unpack[Filters],
) -> Answer:
    """Say how many speakers a gap between two groups needs, and what those at hand would show.

    From numbers alone: `sigma`, the standard deviation of the word error rate between speakers (a fraction, as `gap`),
    and Eq. 1 of Herron et al., `n > (z_alpha + z_beta)^2 (1 + 1 / ratio) sigma^2 / gap^2`; with `speakers`, what those
    of two groups would show. From a `source`, a pilot: the same for each group of its `attributes`, with its spread.
    With `simulations`, so many studies are drawn from the mixed model, fitted to the pilot or planned (`base_wer`,
    `log_sigma`, `per_speaker` utterances of `utterance_words`, `dispersion`), and put to the `test`.

    >>> answer = power(gap=0.1, sigma=0.15)
    >>> [finding.estimate for finding in answer.findings]
    [36.0, 37.0]
    """
    settings = Settings(
        confidence=confidence,
        power=power,
        gap=gap,
        merge_below=merge_below,
        bands=read_bands(bands),
        age=age,
        min_snr=float("-inf"),  # a pilot is planned with as it is
    )
    if source is None and sigma is None and base_wer is None:
        raise VoxauditError(
            "say how much speakers differ: by numbers, or by a pilot (a run or a table)",
            see=("sigma", "base_wer"),
        )
    if one_sided and (source is not None or simulations):
        raise VoxauditError(
            "groups of a pilot and simulated studies are tested two-sided", see=("one_sided",)
        )
    if simulations and source is None and base_wer is None:
        raise VoxauditError(
            "to simulate without a pilot, give the better group's word error rate", see=("base_wer",)
        )
    counts = _counts(speakers)
    wanted = gap or (ASKED * base_wer if base_wer else 0.1)
    draws: dict[str, Any] = {"test": test, "confidence": confidence, "simulations": simulations, "seed": seed}
    parts: list[Answer] = []
    if sigma is not None:
        parts.append(_planned(wanted, sigma, ratio, counts, settings, one_sided))
    if source is not None:
        scenario = filters.pop("scenario", None)
        scores = Scores.of(source, **filters)
        trials = read_trials(
            scores,
            attributes,
            settings,
            scenario=scenario,
            wer_columns=wer_columns,
            speaker_pattern=speaker_pattern,
            surrogate_speaker=surrogate_speaker,
        )
        parts.append(_of_pilot(scores, trials, settings, draws))
    elif base_wer is not None:
        population = planned_population(
            base_wer, log_sigma, utterances=per_speaker, words=utterance_words, dispersion=dispersion
        )
        draws["simulations"] = simulations or DRAWN
        parts.append(_drawn(population, wanted, counts, {"power": power, "ratio": ratio}, draws))
    return Answer(
        AUDIT,
        TITLE,
        question={key: value for part in parts for key, value in part.question.items()},
        tables=Tables(table for part in parts for table in part.tables.shown),
        lead=LEAD,
        **{
            name: tuple(one for part in parts for one in getattr(part, name))
            for name in ("findings", "figures", "notes", "refusals")
        },
    )


def _counts(speakers: Sequence[float]) -> tuple[int, int] | None:
    if not speakers:
        return None
    if len(speakers) > 2 or any(count < 2 or count != int(count) for count in speakers):
        shown = ", ".join(f"{count:g}" for count in speakers)
        raise VoxauditError(
            f"speakers at hand are one or two whole numbers of at least 2, not {shown}", see=("speakers",)
        )
    return int(speakers[0]), int(speakers[-1])


def _finding(sentence: str, measure: str, *parts: object, **about: Any) -> Finding:
    return Finding(finding_id(AUDIT, *parts, measure), measure, "measured", sentence, **about)


def _level(settings: Settings, one_sided: bool = False) -> str:
    sides = "one-sided" if one_sided else "two-sided"
    return f"{sides}, {100 * settings.confidence:g} % confidence, power {settings.power:g}"


_COLUMNS = {
    "gap": Column("gap", "gap in WER", "percent"),
    "sigma": Column("sigma", "SD between speakers", "percent"),
    "and_others": Column("speakers_against", "and others", "count"),
    "others": Column("speakers_against", "others", "count"),
    "power": Column("power", kind="ratio"),
    "power_interval": Column("power", "power", "ratio", "low", "high"),
    "needed": Column("speakers_needed", "speakers needed (Eq. 1)", "count"),
    "needed_per_side": Column("speakers_needed", "needed per side", "count"),
    "more": Column("more_needed", "more", "count"),
    "smallest_gap": Column("smallest_gap", "smallest gap shown", "percent"),
}


def _table(id_: str, title: str, rows: pl.DataFrame | Sequence[Mapping[str, Any]], columns: str) -> Table:
    return tabulate(id_, title, rows, [_COLUMNS.get(name, name) for name in columns.split()])


# From numbers alone


def _planned(
    gap: float,
    sigma: float,
    ratio: float,
    counts: tuple[int, int] | None,
    settings: Settings,
    one_sided: bool,
) -> Answer:
    sides: dict[str, Any] = {"confidence": settings.confidence, "two_sided": not one_sided}
    options = {"power": settings.power, "ratio": ratio, **sides}
    findings, rows = [], []
    for name, label, exact in (
        ("eq1", "z-test (Eq. 1)", speakers_needed(gap, sigma, **options)),
        ("t_test", "t-test", speakers_needed_t(gap, sigma, **options)),
    ):
        needed, others = whole_speakers(exact), whole_speakers(ratio * exact)
        row = {"smallest_gap": None, "test": label, "gap": gap, "sigma": sigma, "exact": exact}
        rows.append({**row, "speakers": needed, "speakers_against": others, "power": settings.power})
        sentence = (
            f"It takes {needed} and {others} speakers to find a gap of {in_points(gap)} between two groups with a"
            f" {label}, where the word error rates of speakers have a standard deviation of {in_points(sigma)}"
            f" ({_level(settings, one_sided)})."
        )
        findings.append(_finding(sentence, "speakers_needed", name, estimate=needed, unit="count"))
    title, shown = "Speakers needed", "test gap sigma speakers and_others power"
    if counts is not None:
        title, shown = f"{title}, and at hand", f"{shown} smallest_gap"
        smallest = smallest_gap(*counts, sigma, power=settings.power, **sides)
        present = {"smallest_gap": smallest, "speakers": counts[0], "speakers_against": counts[1]}
        at_hand = [chance(gap, sigma, *counts, **sides) for chance in (power_z, power_t)]
        rows += [
            {**row, "exact": None, **present, "power": chance}
            for row, chance in zip(rows, at_hand, strict=True)
        ]
        sentence = (
            f"{counts[0]} and {counts[1]} speakers find a gap of {in_points(gap)} with power {at_hand[1]:.2f}"
            f" (t-test); the smallest gap that they show with power {settings.power:g} is {in_points(smallest)}."
        )
        about: dict[str, Any] = {"speakers": counts[0], "speakers_against": counts[1]}
        about |= {"estimate": smallest, "level": settings.confidence}
        findings.append(_finding(sentence, "smallest_gap", **about))
    tables = Tables([_table("planned", title, rows, shown)])
    return Answer(AUDIT, TITLE, findings=tuple(findings), tables=tables)


# From a pilot


def _of_pilot(scores: Scores, trials: Trials, settings: Settings, draws: Mapping[str, Any]) -> Answer:
    people = group_speakers(trials, settings, scores.where)
    asked = gaps_asked(people.table, settings)
    groups = _pilot(people, asked, settings)
    whose = ("recognizer " if len(people.single) > 1 else "") + "attribute group speakers "
    title = "Speakers of each group against all others"
    tables = [_table("groups", title, groups, whose + "sigma gap needed more smallest_gap")]
    refusals = [*people.refusals]
    if draws["simulations"]:
        rows, lost = _simulated(trials, people, groups, asked, settings, draws)
        refusals += lost
        if rows:
            shown = whose + "others gap power_interval needed_per_side"
            tables.append(_table("simulated", _drawn_title(draws), rows, shown))
    bars = people.bars(groups, "smallest gap to all others that would show", "smallest_gap")
    alt = "Bars of the smallest gap in word error rate that the speakers of each group would show."
    return Answer(
        AUDIT,
        TITLE,
        question={"scenario": trials.scenario} if trials.scenario else {},
        findings=tuple(_pilot_findings(groups, trials.scenario, settings)),
        tables=Tables(tables),
        figures=(Figure("groups", "What the speakers at hand can show", alt, bars, "groups"),),
        notes=(
            gap_note(people, asked, settings),
            *(Note("selected", text) for text in scores.notes),
            *trials.notes,
            *people.notes,
        ),
        refusals=tuple(refusals),
    )


def _pilot(people: Speakers, asked: dict[str, float], settings: Settings) -> pl.DataFrame:
    """Return what Eq. 1 says of every group against all others; the mean of recognizers last."""
    groups = describe_groups(people.table, people.order, asked, settings)
    gap = pl.col("recognizer").replace_strict(asked, return_dtype=pl.Float64).alias("gap")
    return groups.select(
        *("recognizer", "attribute", "group", "speakers", "speakers_against", "wer", "sigma", gap),
        *("enough_speakers", "speakers_needed", "more_needed", "smallest_gap"),
    ).sort(pl.col("recognizer") == MEAN, maintain_order=True)


def _pilot_findings(groups: pl.DataFrame, scenario: str | None, settings: Settings) -> Iterator[Finding]:
    judged = groups.filter(pl.col("recognizer") != MEAN, pl.col("speakers_needed").is_not_null())
    for row in judged.to_dicts():
        name = None if row["recognizer"] == UNNAMED else row["recognizer"]
        lack = f"{row['more_needed']} more than there are" if row["more_needed"] else "and there are as many"
        sentence = (
            f"{f'{name}: to' if name else 'To'} show a gap of {in_points(row['gap'])} between {row['group']}"
            f" ({row['attribute']}) and all others takes {row['speakers_needed']} speakers on each side, {lack}; the"
            f" {row['speakers']} there are, against {row['speakers_against']} others, can show one of"
            f" {in_points(row['smallest_gap'])} ({_level(settings)})."
        )
        yield _finding(
            sentence,
            "speakers_needed",
            *(name, scenario, row["attribute"], row["group"], "eq1"),
            estimate=row["speakers_needed"],
            unit="count",
            recognizer=name,
            scenario=scenario,
            against="all others",
            **{key: row[key] for key in ("attribute", "group", "speakers", "speakers_against")},
        )


# By simulation


def _drawn_title(draws: Mapping[str, Any]) -> str:
    return f"Simulated from the mixed model ({draws['simulations']:,} studies, {draws['test']} test)"


def _drawn(
    population: Population,
    gap: float,
    counts: tuple[int, int] | None,
    wanted: Mapping[str, Any],
    draws: Mapping[str, Any],
) -> Answer:
    """Return the power of a planned study, or the speakers that reach the power that is wanted."""
    result: SimulatedPower | None
    if counts:
        result = simulate_power(population, gap, *counts, **draws)
    else:
        result = speakers_by_simulation(population, gap, **wanted, **draws)
    if result is None:
        text = (
            f"not even 5,000 speakers per group find a gap of {in_points(gap)} with power {wanted['power']:g}"
        )
        remedy = "ask about a larger gap"
        refusal = Refusal("too_few_speakers", "simulation", text, remedy=remedy, see=("gap",))
        return Answer(AUDIT, TITLE, refusals=(refusal,))
    row = {"gap": gap, **asdict(result)}
    row["speakers_against"] = row.pop("other_speakers")
    sentence = (
        f"In {result.simulations:,} simulated studies, {result.speakers} and {result.other_speakers} speakers find a"
        f" gap of {in_points(gap)} with power {result.power:.2f} ({result.low:.2f} to {result.high:.2f};"
        f" {result.test} test)."
    )
    about = {key: row[key] for key in ("low", "high", "speakers", "speakers_against")}
    finding = _finding(sentence, "simulated_power", estimate=result.power, **about)
    table = _table("simulated", _drawn_title(draws), [row], "speakers others gap power_interval")
    return Answer(AUDIT, TITLE, findings=(finding,), tables=Tables([table]))


def _simulated(
    trials: Trials,
    people: Speakers,
    groups: pl.DataFrame,
    asked: Mapping[str, float],
    settings: Settings,
    draws: Mapping[str, Any],
) -> tuple[list[dict[str, Any]], list[Refusal]]:
    """Return the power to find each group's gap to all others, and the speakers per side that would reach it."""
    rows: list[dict[str, Any]] = []
    refusals: list[Refusal] = []
    own = [f"@{name}" for name in people.order]
    joined = trials.table.drop(own, strict=False).join(
        people.people.select("speaker", *own), on="speaker", how="left", maintain_order="left"
    )
    judged = groups.filter(pl.col("recognizer") != MEAN)
    for (name, attribute), part in judged.group_by("recognizer", "attribute", maintain_order=True):
        codes = pl.col("speaker", f"@{attribute}").rank("dense")
        heard = joined.filter(pl.col("recognizer") == name).select("errors", "words", codes)
        gap = asked[str(name)]
        try:
            population = fitted_population(*(column.to_numpy().astype(np.float64) for column in heard))
            needed = speakers_by_simulation(population, gap, power=settings.power, **draws)
            for group, count, others in part.select("group", "speakers", "speakers_against").iter_rows():
                enough = count >= 2 and others >= 2
                drawn = simulate_power(population, gap, count, others, **draws) if enough else None
                rows.append(
                    {
                        **{"recognizer": name, "attribute": attribute, "group": group},
                        **{"speakers": count, "speakers_against": others, "gap": gap},
                        **{key: getattr(drawn, key, None) for key in ("power", "low", "high")},
                        "speakers_needed": needed.speakers if needed else None,
                        **{"wer": population.wer, "sigma_log": population.sigma},
                        **{"dispersion": population.dispersion, "test": draws["test"]},
                        "simulations": draws["simulations"],
                    }
                )
        except VoxauditError as error:
            about = f"simulation of '{attribute}' ({name})"
            refusals.append(Refusal("too_few_errors", about, error.message))
    return rows, refusals
