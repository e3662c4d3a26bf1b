"""The pictures of the robustness chapter: heat maps, categories, and curves from mild to harsh by group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from voxaudit.audits.robustness import Robustness
from voxaudit.audits.robustness.settings import Setting, by_harshness
from voxaudit.perturb import CLEAN
from voxaudit.report.context import Context
from voxaudit.report.document import Bars, Cell, Column, Curves, Figure, HeatMap, Series, Table
from voxaudit.report.glossary import unit_of
from voxaudit.report.parts import MOST_ROWS, Spec, cell, named, number_or_none, spoken, table_of

MOST_SERIES = 6
"""Groups that are drawn in one panel; those with most speakers are."""

MOST_BARS = 40
ONE_SETTING = "one setting"
MEASURES = {"wer": "WER", "werd": "WERD", "nwerd": "NWERD"}
ADDED = {
    "wer": "the word error rate",
    "werd": "the percentage points that disturbances add to the word error rate",
    "nwerd": "the percentage points that disturbances add to the word error rate, for their difficulty",
}
SWITCH = {"wer": "WER", "werd": "added (WERD)", "nwerd": "weighed (NWERD)"}
"""What the measures are called on the switch of a heat map."""

Steps = dict[str, list[Setting]]
"""The settings of every perturbation from mild to harsh; those without an order stand alone, by their scenario."""


def figures(context: Context, found: Robustness) -> tuple[Figure, ...]:
    """Return all figures of the chapter."""
    scenarios = found.levels.filter((pl.col("level") == "scenario") & (pl.col("name") != CLEAN))
    steps = ordered_steps(context, set(scenarios["name"].to_list()))
    names = [name for name in context.recognizers if name in set(scenarios["recognizer"].to_list())]
    if all(len(settings) == 1 for settings in steps.values()) and len(steps) <= MOST_BARS:
        # A map of severities would be empty but for one cell a row.
        return (*_categories(found), *_scenario_bars(names, found.levels, steps))
    maps = [
        _heat_map(place, name, scenarios.filter(pl.col("recognizer") == name), steps)
        for place, name in enumerate(names)
    ]
    return (*_categories(found), *maps, *_curves(context, steps))


def ordered_steps(context: Context, heard: set[str]) -> Steps:
    """Return the settings that were heard, by perturbation and in the run's order of perturbations."""
    grouped: Steps = {}
    for scenario, setting in context.settings.items():
        if scenario in heard:
            grouped.setdefault(setting.perturbation, []).append(setting)
    steps: Steps = {}
    for name, settings in grouped.items():
        ordered = by_harshness(settings)
        if ordered:
            steps[name] = ordered
        else:
            steps |= {setting.scenario: [setting] for setting in settings}
    return steps


def _column(setting: Setting, place: int, several: bool) -> str:
    if setting.severity is not None:
        return str(setting.severity)
    return str(place + 1) if several else ONE_SETTING


def _scenario_bars(names: list[str], levels: pl.DataFrame, steps: Steps) -> list[Figure]:
    """Return one set of bars: the error rate in every scenario, clean speech first."""
    own = levels.filter(pl.col("level") == "scenario")
    rows = {(row["recognizer"], row["name"]): row for row in own.iter_rows(named=True)}
    ordered = sorted(steps, key=lambda name: _category_order(steps, name))
    scenarios = [CLEAN, *(steps[name][0].scenario for name in ordered)]
    if not names:
        return []
    series = tuple(
        Series(name, tuple(_measure(rows.get((name, one)), "wer") for one in scenarios)) for name in names
    )
    numbered = [rows[name, one] for name in names for one in scenarios if (name, one) in rows]
    title = "Every disturbance"
    alt = "Bars of the word error rate on clean speech and in every scenario, by recognizer."
    columns: tuple[Spec, ...] = (
        ("recognizer", "recognizer", "text"),
        ("category", "category", "text"),
        ("name", "scenario", "text"),
        *_MEASURED,
        ("difficulty", "difficulty", "number"),
        ("utterances", "utterances", "count"),
        ("speakers", "speakers", "count"),
    )
    frame = pl.DataFrame(numbered, infer_schema_length=None)
    table = table_of("every-scenario-table", title, frame, columns, intervals=_PAIRS)
    return [Figure("every-scenario", title, alt, Bars(tuple(scenarios), series, "word error rate"), table)]


def _heat_map(place: int, recognizer: str, levels: pl.DataFrame, steps: Steps) -> Figure:
    rows = {row["name"]: row for row in levels.iter_rows(named=True)}
    names = sorted(steps, key=lambda name: _category_order(steps, name))
    names = [name for name in names if any(setting.scenario in rows for setting in steps[name])]
    cells: dict[tuple[str, str], dict[str, Any]] = {}
    numbered: list[dict[str, Any]] = []
    for name in names:
        for step, setting in enumerate(steps[name]):
            row = rows.get(setting.scenario)
            if row is not None:
                column = _column(setting, step, len(steps[name]) > 1)
                cells[name, column] = row
                numbered.append({**row, "column": column})
    used = {column for _, column in cells}
    columns = [*sorted(used - {ONE_SETTING}, key=int), *([ONE_SETTING] if ONE_SETTING in used else [])]
    known = {
        measure: title
        for measure, title in SWITCH.items()
        if any(row[measure] is not None for row in rows.values())
    }
    drawing = HeatMap(
        rows=tuple(names),
        row_groups=tuple(spoken(steps[name][0].category) for name in names),
        columns=tuple(columns),
        measures=known,
        cells={
            measure: tuple(
                tuple(_measure(cells.get((name, column)), measure) for column in columns) for name in names
            )
            for measure in known
        },
    )
    worst = max(rows.values(), key=lambda row: row["wer"] or 0.0, default=None)
    told = (
        ""
        if worst is None or worst["wer"] is None
        else f"; the highest, {100 * worst['wer']:.0f} %, under {worst['name']}"
    )
    title = f"{recognizer}: every disturbance"
    return Figure(
        f"heat-map-{place}",
        title,
        f"Error rates of {recognizer} by perturbation and severity{told}.",
        drawing,
        _levels_table(f"heat-map-{place}-table", title, numbered),
    )


def _category_order(steps: Steps, name: str) -> tuple[str, int]:
    return steps[name][0].category, list(steps).index(name)


def _measure(row: Mapping[str, Any] | None, measure: str) -> Cell | None:
    return None if row is None else cell(row, measure, f"{measure}_low", f"{measure}_high")


_MEASURED: tuple[Spec, ...] = (
    ("wer", "WER", "percent"),
    ("wer_interval", "95 %", "interval"),
    ("werd", "WERD", "points"),
    ("werd_interval", "95 %", "interval"),
    ("nwerd", "NWERD", "points"),
    ("nwerd_interval", "95 %", "interval"),
)
_PAIRS = {f"{measure}_interval": (f"{measure}_low", f"{measure}_high") for measure in MEASURES}


def _levels_table(id_: str, title: str, rows: list[dict[str, Any]]) -> Table:
    columns: tuple[Spec, ...] = (
        ("category", "category", "text"),
        ("name", "scenario", "text"),
        ("column", "severity", "text"),
        *_MEASURED,
        ("difficulty", "difficulty", "number"),
        ("utterances", "utterances", "count"),
        ("speakers", "speakers", "count"),
    )
    return table_of(id_, title, pl.DataFrame(rows, infer_schema_length=None), columns, intervals=_PAIRS)


def _categories(found: Robustness) -> list[Figure]:
    """Return one set of bars: what each category costs each recognizer."""
    table = found.levels.filter(pl.col("level") == "category")
    if table.is_empty():
        return []
    labels = table["name"].unique(maintain_order=True).to_list()
    names = table["recognizer"].unique(maintain_order=True).to_list()
    # A category that cannot be normalised would miss among the others: then all are shown as they are.
    measure = found.measure if table[found.measure].null_count() == 0 else "werd"
    rows = {(row["recognizer"], row["name"]): row for row in table.iter_rows(named=True)}
    series = tuple(
        Series(name, tuple(_measure(rows.get((name, label)), measure) for label in labels)) for name in names
    )
    columns: tuple[Spec, ...] = (
        ("recognizer", "recognizer", "text"),
        ("name", "category", "text"),
        *_MEASURED,
        ("scenarios", "scenarios", "count"),
        ("speakers", "speakers", "count"),
    )
    overall = found.levels.filter(pl.col("level").is_in(["category", "overall"]))
    title = f"What each category of disturbance adds ({MEASURES[measure]})"
    return [
        Figure(
            "categories",
            title,
            f"Bars of {ADDED[measure]}, by category of disturbance and recognizer, with 95 % intervals.",
            Bars(tuple(map(spoken, labels)), series, f"{MEASURES[measure]}, percentage points", "points"),
            table_of("categories-table", title, overall, columns, intervals=_PAIRS),
        )
    ]


def _curves(context: Context, steps: Steps) -> list[Figure]:
    """Return curves by group for every attribute and recognizer; without attributes one figure, by recognizer."""
    several = {name: settings for name, settings in steps.items() if len(settings) > 1}
    if not several:
        return []
    usable = [name for name in context.attributes if context.unfit(name) is None]
    if not usable:
        rates = context.rates
        return [
            _curve_figure("curves", "From mild to harsh", "recognizer", rates, several, context.recognizers)
        ]
    drawn = []
    for place, attribute in enumerate(usable):
        for number, recognizer in enumerate(context.recognizers):
            own = context.groups[attribute].filter(pl.col("recognizer") == recognizer)
            if own.is_empty():
                continue
            groups = context.group_names[attribute][:MOST_SERIES]
            title = f"{recognizer}: from mild to harsh, by {attribute}"
            drawn.append(_curve_figure(f"curves-{place}-{number}", title, "group", own, several, groups))
    return drawn


def _curve_figure(
    id_: str, title: str, by: str, rates: pl.DataFrame, several: Steps, labels: list[str]
) -> Figure:
    rows = {(named(row[by]), row["scenario"]): row for row in rates.iter_rows(named=True)}
    panels, table = [], []
    for name, settings in several.items():
        scenarios = [CLEAN, *(setting.scenario for setting in settings)]
        ticks = [CLEAN, *(_tick(setting, step) for step, setting in enumerate(settings))]
        series = []
        for label in labels:
            points = [_rate(rows.get((label, scenario))) for scenario in scenarios]
            if any(points):
                series.append(Series(label, tuple(points)))
            table += [
                (name, tick, scenario, label, point.value, _limits(point))
                for tick, scenario, point in zip(ticks, scenarios, points, strict=True)
                if point is not None
            ]
        by_value = all(setting.severity is None and setting.value is not None for setting in settings)
        unit = unit_of(settings[0].scenario) if by_value else ""
        panels.append((f"{name}, {unit}" if unit else name, tuple(ticks), tuple(series)))
    columns: tuple[Spec, ...] = (
        ("perturbation", "perturbation", "text"),
        ("step", "severity", "text"),
        ("scenario", "scenario", "text"),
        (by, by, "text"),
        ("wer", "WER", "percent"),
        ("interval", "95 % interval", "interval"),
    )
    note = f"The first {MOST_ROWS:,} of {len(table):,} rows." if len(table) > MOST_ROWS else ""
    numbers = Table(f"{id_}-table", title, tuple(Column(*c) for c in columns), tuple(table[:MOST_ROWS]), note)
    alt = (
        f"Word error rate from clean speech to the harshest setting of {len(panels)} perturbations, a line for each of:"
        f" {', '.join(labels)}."
    )
    return Figure(id_, title, alt, Curves(tuple(panels), "word error rate"), numbers)


def _tick(setting: Setting, step: int) -> str:
    if setting.severity is not None:
        return str(setting.severity)
    return f"{setting.value:g}" if setting.value is not None else str(step + 1)


def _rate(row: Mapping[str, Any] | None) -> Cell | None:
    if row is None or number_or_none(row["wer"]) is None:
        return None
    return Cell(row["wer"], row["ci_low"], row["ci_high"])


def _limits(point: Cell) -> tuple[float | None, float | None] | None:
    return None if point.low is None and point.high is None else (point.low, point.high)
