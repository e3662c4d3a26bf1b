"""Planning from a pilot: what the speakers of a table could show, by Eq. 1 and by simulation from the mixed model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from voxaudit.audits.parity.audit import gaps_asked
from voxaudit.audits.parity.groups import assign_groups
from voxaudit.audits.parity.options import MEAN, Columns, Refusal, Settings
from voxaudit.audits.parity.speakers import speaker_table
from voxaudit.audits.parity.trials import make_trials
from voxaudit.audits.parity.univariate import univariate
from voxaudit.errors import VoxauditError
from voxaudit.stats.power_simulation import Test, fitted_population, simulate_power, speakers_by_simulation


@dataclass(frozen=True)
class Plan:
    """What Eq. 1 says of every group, what simulation says, and what could not be said."""

    groups: pl.DataFrame
    """recognizer (their mean last), attribute, group, speakers, sigma, speakers_needed, more_needed, smallest_gap."""
    simulated: pl.DataFrame
    """The same groups: power to find the gap against the rest, and speakers a side that would reach the power."""
    gaps_asked: dict[str, float]
    refusals: tuple[Refusal, ...]


def plan(
    table: pl.DataFrame,
    attributes: Sequence[str],
    *,
    columns: Columns = Columns(),  # noqa: B008 (frozen)
    settings: Settings = Settings(),  # noqa: B008 (frozen)
    simulations: int = 0,
    test: Test = "t",
    seed: int = 0,
    where: str = "table",
) -> Plan:
    """Return what a table's speakers can show. With `simulations`, also draw that many studies a group."""
    settings = settings.with_safe_names()
    trials = make_trials(table, attributes, columns, settings, where)
    grouped = speaker_table(trials.table, trials.attributes, (), settings.outlier_z)
    assigned = assign_groups(grouped.raw, trials.attributes, settings)
    if not assigned.attributes:
        why = "; ".join(f"{one.what}: {one.why}" for one in assigned.refusals)
        raise VoxauditError(f"{where}: no attribute can be compared. {why}")
    speakers = grouped.table.join(assigned.people, on="speaker", how="left", maintain_order="left")
    asked = gaps_asked(speakers, settings)
    keys = ["recognizer", "attribute", "group"]
    groups = univariate(speakers, assigned.order, asked, settings).groups.select(
        *keys,
        "speakers",
        "wer_speaker_mean",
        "sigma",
        "enough_speakers",
        "speakers_needed",
        "more_needed",
        "smallest_gap",
    )
    groups = groups.sort(pl.col("recognizer") == MEAN, maintain_order=True)  # last, as in the audit
    rows: list[dict[str, object]] = []
    refusals = list(assigned.refusals)
    if simulations:
        joined = trials.table.join(assigned.people, on="speaker", how="left", maintain_order="left")
        for (recognizer, attribute), part in groups.filter(pl.col("recognizer") != MEAN).group_by(
            "recognizer", "attribute", maintain_order=True
        ):
            own = joined.filter(pl.col("recognizer") == recognizer)
            try:
                rows += _simulate(
                    own, part, str(attribute), asked[str(recognizer)], settings, simulations, test, seed
                )
            except VoxauditError as error:
                refusals.append(Refusal(f"simulation of '{attribute}' ({recognizer})", str(error)))
    return Plan(groups, pl.DataFrame(rows, infer_schema_length=None), asked, tuple(refusals))


def _simulate(
    trials: pl.DataFrame,
    groups: pl.DataFrame,
    attribute: str,
    gap: float,
    settings: Settings,
    simulations: int,
    test: Test,
    seed: int,
) -> list[dict[str, object]]:
    codes = trials.select(pl.col("speaker", attribute).rank("dense"))
    population = fitted_population(
        trials["errors"].to_numpy().astype(np.float64),
        trials["words"].to_numpy().astype(np.float64),
        codes["speaker"].to_numpy(),
        codes[attribute].to_numpy(),
    )
    needed = speakers_by_simulation(
        population,
        gap,
        power=settings.power,
        confidence=settings.confidence,
        test=test,
        simulations=simulations,
        seed=seed,
    )
    everybody = int(groups["speakers"].sum())
    rows: list[dict[str, object]] = []
    for group, count in groups.select("group", "speakers").iter_rows():
        rest = everybody - count
        found = (
            simulate_power(
                population,
                gap,
                count,
                rest,
                test=test,
                confidence=settings.confidence,
                simulations=simulations,
                seed=seed,
            )
            if count >= 2 and rest >= 2
            else None
        )
        rows.append(
            {
                "recognizer": groups["recognizer"][0],
                "attribute": attribute,
                "group": group,
                "speakers": count,
                "rest_speakers": rest,
                "gap": gap,
                "power": found.power if found else None,
                "power_low": found.low if found else None,
                "power_high": found.high if found else None,
                "speakers_needed": needed.speakers if needed else None,
                "wer": population.wer,
                "sigma_log": population.sigma,
                "dispersion": population.dispersion,
                "test": test,
                "simulations": simulations,
            }
        )
    return rows
