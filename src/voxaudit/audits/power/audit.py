"""Power: the question, the decision and the words; from numbers alone, or from a pilot's speakers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import polars as pl

from voxaudit.answer import (
    Answer,
    Bars,
    Cell,
    Figure,
    Finding,
    Note,
    Refusal,
    Series,
    Table,
    Tables,
    finding_id,
    tabulate,
)
from voxaudit.audits.audit import asks
from voxaudit.audits.parity.speakers import (
    UNNAMED,
    Settings,
    Speakers,
    Trials,
    gaps_asked,
    group_speakers,
    read_trials,
)
from voxaudit.audits.scores import Names, Scores, Source
from voxaudit.corpus.bands import Bands, read_bands
from voxaudit.errors import VoxauditError
from voxaudit.stats.group_means import compare_with_rest
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
    recognizer: Names = None,
    scenario: Names = None,
    corpus: Names = None,
    language: Names = None,
    where: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
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
    wanted = 0.1 if gap is None else gap
    draws: dict[str, Any] = {"test": test, "confidence": confidence, "simulations": simulations, "seed": seed}
    parts: list[Answer] = []
    if sigma is not None:
        parts.append(_planned(wanted, sigma, ratio, counts, settings, one_sided))
    if source is not None:
        scores = Scores.of(
            source, recognizer=recognizer, corpus=corpus, language=language, where=where, columns=columns
        )
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
        findings=tuple(finding for part in parts for finding in part.findings),
        tables=Tables(table for part in parts for table in part.tables.shown),
        figures=tuple(figure for part in parts for figure in part.figures),
        notes=tuple(note for part in parts for note in part.notes),
        refusals=tuple(refusal for part in parts for refusal in part.refusals),
        lead=LEAD,
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
        row = {"test": label, "gap": gap, "sigma": sigma, "exact": exact}
        rows.append({**row, "speakers": needed, "speakers_against": others, "power": settings.power})
        sentence = (
            f"To find a gap of {in_points(gap)} between two groups with a {label} takes {needed} and {others} speakers,"
            f" where the word error rates of speakers have a standard deviation of {in_points(sigma)}"
            f" ({_level(settings, one_sided)})."
        )
        findings.append(_needed(name, sentence, needed))
    if counts is None:
        return Answer(AUDIT, TITLE, findings=tuple(findings), tables=Tables([_planned_table(rows)]))
    smallest = smallest_gap(*counts, sigma, power=settings.power, **sides)
    for row, at_hand in zip(
        list(rows),
        (power_z(gap, sigma, *counts, **sides), power_t(gap, sigma, *counts, **sides)),
        strict=True,
    ):
        present = {"speakers": counts[0], "speakers_against": counts[1], "power": at_hand}
        rows.append({**row, "exact": None, **present, "smallest_gap": smallest})
    sentence = (
        f"{counts[0]} and {counts[1]} speakers find a gap of {in_points(gap)} with power {rows[-1]['power']:.2f}"
        f" (t-test); the smallest gap that they show with power {settings.power:g} is {in_points(smallest)}."
    )
    findings.append(
        Finding(
            finding_id(AUDIT, "smallest_gap"),
            "smallest_gap",
            "measured",
            sentence,
            estimate=smallest,
            level=settings.confidence,
            speakers=counts[0],
            speakers_against=counts[1],
        )
    )
    return Answer(AUDIT, TITLE, findings=tuple(findings), tables=Tables([_planned_table(rows)]))


def _needed(name: str, sentence: str, needed: int, **about: Any) -> Finding:
    parts = [about.get(key) for key in ("recognizer", "scenario", "attribute", "group")]
    id_ = finding_id(AUDIT, *parts, name, "speakers_needed")
    return Finding(
        id_, "speakers_needed", "measured", sentence, estimate=float(needed), unit="count", **about
    )


def _level(settings: Settings, one_sided: bool = False) -> str:
    sides = "one-sided" if one_sided else "two-sided"
    return f"{sides}, {100 * settings.confidence:g} % confidence, power {settings.power:g}"


def _planned_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    columns = [
        ("test",),
        ("gap", "gap in WER", "percent"),
        ("sigma", "SD between speakers", "percent"),
        ("speakers", "speakers", "count"),
        ("speakers_against", "and others", "count"),
        ("power", "power", "ratio"),
    ]
    shows = [("smallest_gap", "smallest gap shown", "percent")] if len(rows) > 2 else []
    rows = [{"smallest_gap": None, **row} for row in rows]
    return tabulate(
        "planned", "Speakers needed" + (", and at hand" if shows else ""), rows, [*columns, *shows]
    )


# From a pilot


def _of_pilot(scores: Scores, trials: Trials, settings: Settings, draws: Mapping[str, Any]) -> Answer:
    people = group_speakers(trials, settings, scores.where)
    asked = gaps_asked(people.table, settings)
    groups = _pilot(people, asked, settings)
    tables = [_pilot_table(groups, len(people.single) > 1)]
    refusals = [*people.refusals]
    if draws["simulations"]:
        rows, lost = _simulated(trials, people, groups, asked, settings, draws)
        refusals += lost
        tables += [_simulated_table(rows, draws)] if rows else []
    return Answer(
        AUDIT,
        TITLE,
        question={"scenario": trials.scenario} if trials.scenario else {},
        findings=tuple(_pilot_findings(groups, trials.scenario, settings)),
        tables=Tables(tables),
        figures=(_figure(groups, people),),
        notes=(*(Note("selected", text) for text in scores.notes), *trials.notes, *people.notes),
        refusals=tuple(refusals),
    )


def _pilot(people: Speakers, asked: dict[str, float], settings: Settings) -> pl.DataFrame:
    """Return what Eq. 1 says of every group against all others; the mean of recognizers last."""
    groups = compare_with_rest(people.table, people.order, asked, settings)
    gap = pl.col("recognizer").replace_strict(asked, return_dtype=pl.Float64).alias("gap")
    about: list[Any] = [
        "recognizer",
        "attribute",
        "group",
        "speakers",
        "speakers_against",
        "wer",
        "sigma",
        gap,
    ]
    judged = ["enough_speakers", "speakers_needed", "more_needed", "smallest_gap"]
    return groups.select(*about, *judged).sort(pl.col("recognizer") == MEAN, maintain_order=True)


def _pilot_findings(groups: pl.DataFrame, scenario: str | None, settings: Settings) -> list[Finding]:
    findings = []
    for row in groups.filter(
        pl.col("recognizer") != MEAN, pl.col("speakers_needed").is_not_null()
    ).to_dicts():
        name = row["recognizer"]
        start = "" if name == UNNAMED else f"{name}: "
        lack = f"{row['more_needed']} more than there are" if row["more_needed"] else "and there are as many"
        sentence = (
            f"{start}to show a gap of {in_points(row['gap'])} between {row['group']} ({row['attribute']}) and all"
            f" others takes {row['speakers_needed']} speakers on each side, {lack}; the {row['speakers']} there are,"
            f" against {row['speakers_against']} others, can show one of {in_points(row['smallest_gap'])}"
            f" ({_level(settings)})."
        )
        findings.append(
            _needed(
                "eq1",
                sentence[0].upper() + sentence[1:] if not start else sentence,
                row["speakers_needed"],
                recognizer=None if name == UNNAMED else name,
                scenario=scenario,
                attribute=row["attribute"],
                group=row["group"],
                against="all others",
                speakers=row["speakers"],
                speakers_against=row["speakers_against"],
            )
        )
    return findings


_WHO: list[tuple[Any, ...]] = [("recognizer",), ("attribute",), ("group",)]


def _pilot_table(groups: pl.DataFrame, several: bool) -> Table:
    columns = [
        *_WHO[0 if several else 1 :],
        ("speakers", "speakers", "count"),
        ("sigma", "SD between speakers", "percent"),
        ("gap", "gap in WER", "percent"),
        ("speakers_needed", "speakers needed (Eq. 1)", "count"),
        ("more_needed", "more", "count"),
        ("smallest_gap", "smallest gap shown", "percent"),
    ]
    return tabulate("groups", "Speakers of each group against all others", groups, columns)


def _figure(groups: pl.DataFrame, people: Speakers) -> Figure:
    """Return bars of the smallest gap that each group would show."""
    rows = {(row["recognizer"], row["attribute"], row["group"]): row for row in groups.to_dicts()}
    there = [(name, group) for name, groups_ in people.order.items() for group in groups_][:40]

    def cell(*key: str) -> Cell | None:
        return Cell(rows[key]["smallest_gap"]) if key in rows else None

    series = tuple(Series(name, tuple(cell(name, *group) for group in there)) for name in people.single)
    labels = tuple(f"{attribute}: {group}" for attribute, group in there)
    bars = Bars(labels, series, "smallest gap to all others that would show")
    alt = "Bars of the smallest gap in word error rate that the speakers of each group would show."
    return Figure("groups", "What the speakers at hand can show", alt, bars, "groups")


# By simulation

_DRAWN: list[tuple[Any, ...]] = [
    *_WHO,
    ("speakers", "speakers", "count"),
    ("speakers_against", "others", "count"),
    ("gap", "gap in WER", "percent"),
    ("power", "power", "ratio", "low", "high"),
    ("speakers_needed", "needed per side", "count"),
]


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
        refusal = Refusal(
            "too_few_speakers", "simulation", text, remedy="ask about a larger gap", see=("gap",)
        )
        return Answer(AUDIT, TITLE, refusals=(refusal,))
    row = {"gap": gap, **asdict(result)}
    row["speakers_against"] = row.pop("other_speakers")
    sentence = (
        f"In {result.simulations:,} simulated studies, {result.speakers} and {result.other_speakers} speakers find a"
        f" gap of {in_points(gap)} with power {result.power:.2f} ({result.low:.2f} to {result.high:.2f};"
        f" {result.test} test)."
    )
    finding = Finding(
        finding_id(AUDIT, "simulated_power"),
        "simulated_power",
        "measured",
        sentence,
        estimate=result.power,
        low=result.low,
        high=result.high,
        speakers=result.speakers,
        speakers_against=result.other_speakers,
    )
    table = tabulate("simulated", _drawn_title(draws), [row], _DRAWN[3:-1])
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
    for (name, attribute), part in groups.filter(pl.col("recognizer") != MEAN).group_by(
        "recognizer", "attribute", maintain_order=True
    ):
        heard = joined.filter(pl.col("recognizer") == name)
        codes = heard.select(pl.col("speaker", f"@{attribute}").rank("dense"))
        gap = asked[str(name)]
        try:
            population = fitted_population(
                heard["errors"].to_numpy().astype(np.float64),
                heard["words"].to_numpy().astype(np.float64),
                codes["speaker"].to_numpy(),
                codes[f"@{attribute}"].to_numpy(),
            )
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


def _drawn_title(draws: Mapping[str, Any]) -> str:
    return f"Simulated from the mixed model ({draws['simulations']:,} studies, {draws['test']} test)"


def _simulated_table(rows: Sequence[Mapping[str, Any]], draws: Mapping[str, Any]) -> Table:
    several = len({row["recognizer"] for row in rows}) > 1
    return tabulate("simulated", _drawn_title(draws), rows, _DRAWN[0 if several else 1 :])
