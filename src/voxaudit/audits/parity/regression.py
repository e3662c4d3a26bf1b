"""Regression of speakers' word error rates on all attributes at once (Herron et al., Eq. 7 and 8).

One row per speaker, so that nobody counts more for having spoken more; robust standard errors with speakers as
clusters. The model of the recognizers' mean equals the stacked model of all recognizers with an effect for each,
clustered by speaker. Reference groups are the most frequent ones. Coefficients, F and p are as published; what is
*shown* has to pass a guard besides, for F takes skewed spread between speakers for a difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl

from voxaudit.answer import Refusal
from voxaudit.audits.parity.speakers import Settings
from voxaudit.corpus.bands import OTHER
from voxaudit.stats.cell_regression import (
    CellDesign,
    Term,
    coefficient_rows,
    columns_of,
    estimable_columns,
    fit_cells,
    guarded,
    joint_rows,
    main_effects,
    pair_effects,
    prepare_cells,
)
from voxaudit.stats.group_means import Order, determines, numbers
from voxaudit.stats.multiplicity import holm
from voxaudit.stats.speaker_means import MEAN

MAIN, PAIRS = "main effects", "interactions"
MOST_COLUMNS = 1500
"""Larger models are refused: nobody reads them."""


@dataclass(frozen=True)
class Regressions:
    """Coefficients, joint tests of each attribute and pair of attributes, and what could not be estimated."""

    terms: pl.DataFrame
    tests: pl.DataFrame
    refusals: tuple[Refusal, ...]


@dataclass(frozen=True)
class _Model:
    name: str
    terms: list[Term]
    cells: CellDesign | None
    """None where the model is refused."""
    refusals: tuple[Refusal, ...]

    @property
    def tested(self) -> list[str]:
        """The terms to test: beside interactions, an attribute's own columns speak of the reference group only."""
        names = dict.fromkeys(term.term for term in self.terms[1:])
        return [name for name in names if self.name == MAIN or " x " in name]


def regressions(cells: pl.DataFrame, order: Order, groups: pl.DataFrame, settings: Settings) -> Regressions:
    """Fit both models for every recognizer.

    `cells` has recognizer, the attributes, and speakers, mean and m2; `groups` the speakers of each group.
    """
    order, refused = _without_nested(cells, order)
    references = {name: _reference(groups, name, there) for name, there in order.items()}
    terms: list[dict[str, object]] = []
    tests: list[dict[str, object]] = []
    refusals = {refusal.about: refusal for refusal in refused}
    prepared: tuple[pl.DataFrame, list[_Model]] | None = None
    for (recognizer,), part in cells.sort(
        "recognizer", *(f"@{name}" for name in order), maintain_order=True
    ).group_by("recognizer", maintain_order=True):
        shape = part.select(*(f"@{name}" for name in order), "speakers")
        # Recognizers that heard the same people share everything but the rates.
        if prepared is None or not prepared[0].equals(shape):
            prepared = shape, _models(part, order, references)
        mean, m2 = numbers(part, "mean", "m2")
        for model in prepared[1]:
            refusals |= {refusal.about: refusal for refusal in model.refusals}
            if model.cells is not None:
                fit = fit_cells(model.cells, mean, m2)
                about = {"recognizer": recognizer, "model": model.name}
                rows = coefficient_rows(model.terms, fit, confidence=settings.confidence)
                terms += [{**about, **row} for row in rows]
                for row in joint_rows(model.terms, fit, model.tested):
                    own = columns_of(model.terms, row["term"])
                    # Interactions are compared with one another, not a group with the rest.
                    guard = guarded(model.cells, mean, m2, own) if model.name == MAIN else None
                    tests.append({**about, **row, "guard": guard})
    table = pl.DataFrame(terms, infer_schema_length=None) if terms else pl.DataFrame()
    return Regressions(table, _judged(tests, settings.alpha), tuple(refusals.values()))


def _without_nested(cells: pl.DataFrame, order: Order) -> tuple[Order, list[Refusal]]:
    """Leave out attributes whose groups each belong to one group of another: their effects are not two effects."""
    kept: list[str] = []
    refusals: list[Refusal] = []
    # Coarse attributes first, so that of two nested ones the finer is left out.
    for name in sorted(order, key=lambda name: len(order[name])):
        above = next((other for other in kept if determines(cells, name, other)), None)
        if above is None:
            kept.append(name)
            continue
        text = (
            f"every group of '{name}' belongs to one group of '{above}', so they cannot both have an effect"
        )
        about = f"'{name}' in the regressions beside '{above}'"
        refusals.append(Refusal("not_separable", about, text, {}, f"leave out '{above}' to see '{name}'"))
    return {name: groups for name, groups in order.items() if name in kept}, refusals


def _judged(rows: list[dict[str, object]], alpha: float) -> pl.DataFrame:
    """Return the joint tests as a table, those of each model judged together (those of the mean apart).

    `p_adjusted` is Holm's of the larger of p and the guard's.
    """
    if not rows:
        return pl.DataFrame()
    larger = pl.when(pl.col("p").is_not_null()).then(pl.max_horizontal("p", "guard")).cast(pl.Float64)
    table = pl.DataFrame(rows, infer_schema_length=None, schema_overrides={"guard": pl.Float64})
    table = table.with_columns(p_adjusted=larger)
    corrected = pl.concat(
        part.with_columns(pl.Series("p_adjusted", holm(part["p_adjusted"].to_list()), dtype=pl.Float64))
        for part in table.with_columns(mean=pl.col("recognizer") == MEAN).partition_by(
            "model", "mean", maintain_order=True
        )
    ).drop("mean")
    adjusted = pl.col("p_adjusted")
    verdict = pl.when(adjusted <= alpha).then(pl.lit("shown")).otherwise(pl.lit("not_shown"))
    return corrected.with_columns(
        verdict=pl.when(adjusted.is_null()).then(pl.lit("refused")).otherwise(verdict)
    )


def _reference(groups: pl.DataFrame, name: str, there: Sequence[str]) -> str:
    own = groups.filter(pl.col("attribute") == name)
    counts = dict(own.group_by("group").agg(pl.col("speakers").max()).iter_rows())
    named = [group for group in there if group != OTHER] or list(there)
    return max(named, key=lambda group: counts.get(group, 0))


def _models(cells: pl.DataFrame, order: Order, references: dict[str, str]) -> list[_Model]:
    count = 1 + sum(len(groups) - 1 for groups in order.values())
    if (refusal := _too_many(cells, count, MAIN)) is not None:
        return [_Model(MAIN, [], None, (refusal,))]
    main = main_effects(cells, order, references)
    models = [_model(cells, main, MAIN)]
    for first, second in combinations(order, 2):
        crossed = [pl.col(f"@{name}") != references[name] for name in (first, second)]
        count += cells.filter(crossed).select(f"@{first}", f"@{second}").unique().height
    if (refusal := _too_many(cells, count, PAIRS)) is not None:
        return [*models, _Model(PAIRS, [], None, (refusal,))]
    pairs = pair_effects(cells, order, references)
    if pairs:
        models.append(_model(cells, [*main, *pairs], PAIRS))
    elif len(order) > 1:
        why = "nobody differs from the reference groups in two attributes at once"
        lost = Refusal("too_few_speakers", f"regression with {PAIRS}", why)
        models.append(_Model(PAIRS, [], None, (lost,)))
    return models


def _too_many(cells: pl.DataFrame, columns: int, name: str) -> Refusal | None:
    """Refuse a model that cannot have two speakers per coefficient, or is too large, before it is built."""
    people = int(cells["speakers"].sum())
    return _few(people, columns, name) if columns > min(people, MOST_COLUMNS) else None


def _few(people: int, columns: int, name: str) -> Refusal:
    text = (
        f"{people} speakers for {columns} coefficients: at least two speakers per coefficient, and no more than"
        f" {MOST_COLUMNS} coefficients"
    )
    remedy = "fewer attributes, coarser groups, or more speakers"
    facts = {"speakers": people, "coefficients": columns}
    return Refusal("too_few_speakers", f"regression with {name}", text, facts, remedy, ("merge_below",))


def _model(cells: pl.DataFrame, terms: list[Term], name: str) -> _Model:
    (n,) = numbers(cells, "speakers")
    design = np.column_stack([term.values for term in terms])
    estimable = estimable_columns(design)
    kept = [terms[index] for index in estimable]
    if n.sum() < 2 * len(kept):
        return _Model(name, kept, None, (_few(int(n.sum()), len(kept), name),))
    lost = [term.name for index, term in enumerate(terms) if index not in set(estimable)]
    refusal = Refusal(
        "too_few_speakers",
        f"terms of the regression with {name}: {'; '.join(lost)}",
        "combinations of groups without speakers leave them undetermined",
        {"terms": lost},
        "more speakers or coarser groups",
        ("merge_below",),
    )
    return _Model(name, kept, prepare_cells(design[:, estimable], n), (refusal,) if lost else ())
