"""Robustness: the figures. All but `curves` and the maps are those of Speech Robust Bench, by what they show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import log10
from typing import Any

import polars as pl

from voxaudit.answer import Bars, Cell, Curves, Figure, HeatMap, Points, Series
from voxaudit.audits.robustness.measure import DECADE, PUBLISHED, Robustness
from voxaudit.audits.robustness.trials import PLACES
from voxaudit.perturb import CLEAN
from voxaudit.perturb.settings import ALL, ATTACKED, Setting, in_steps
from voxaudit.tables import mean_of
from voxaudit.wording import counted, listed, spoken

LABELS = ("recognizer", *PLACES)
MEASURES = {"wer": "WER", "werd": "WERD", "nwerd": "NWERD"}
OVERALL = {ALL: "all disturbances", ATTACKED: "all attacks"}
WEIGHED = {"werd": "", "nwerd": ", weighed by their difficulty"}
MOST_SERIES = 6
"""Groups that are drawn in one panel; those with most speakers are."""
MOST_BARS = 40
ONE_SETTING = "one setting"
MOST_GROUP_SERIES = 8


def draw_figures(found: Robustness, groups: Mapping[str, list[str]]) -> Iterator[Figure]:
    """Yield every figure that the data allow."""
    yield from _by_severity(found, groups)
    yield from _perturbation_bars(found)
    yield from _language_bars(found)
    yield from _group_bars(found)
    yield from _facts(found)


def _by_severity(found: Robustness, groups: Mapping[str, list[str]]) -> Iterator[Figure]:
    yield from _category_bars(found)
    scenarios = found.levels.filter(pl.col("level") == "scenario")
    disturbed = scenarios.filter(pl.col("name") != CLEAN)
    steps = in_steps(found.settings[name] for name in disturbed["name"].unique(maintain_order=True))
    if steps and all(len(settings) == 1 for settings in steps.values()) and len(steps) <= MOST_BARS:
        # A map of severities would be empty but for one cell in each row.
        names = scenarios["name"].unique(maintain_order=True).to_list()
        names.sort(key=lambda name: name != CLEAN)
        alt = "Bars of the word error rate on clean speech and in every scenario, by recognizer."
        bars = Bars(tuple(names), _series(scenarios, found.labels, names, "wer"), "word error rate")
        yield Figure("scenarios", "Every disturbance", alt, bars, "scenarios")
    else:
        yield from (_heat_map(who, rows, steps) for who, rows in _parts(disturbed, found.labels).items())
    drawn = set(found.curves["perturbation"])  # one recognizer at least heard several of its settings
    several = {name: settings for name, settings in steps.items() if name in drawn}
    if not several:
        return
    lines = {who: _by(rows, "scenario") for who, rows in _parts(found.curves, found.labels).items()}
    yield _curves("curves", "From mild to harsh", several, lines, "curves")
    added = {who: _by(rows, "name") for who, rows in _parts(disturbed, found.labels).items()}
    yield _curves("severity", "What each step adds", several, added, "scenarios", found.measure)
    for attribute, names in groups.items():
        own = found.group_rates.filter(pl.col("attribute") == attribute)
        for who, rows in _parts(own, [name for name in LABELS if name in own.columns]).items():
            lines = {
                group: _by(rows.filter(pl.col("group") == group), "scenario") for group in names[:MOST_SERIES]
            }
            title = f"{who}: from mild to harsh, by {attribute}"
            yield _curves(f"curves-{attribute}-{who}", title, several, lines, "group_rates")


def _parts(frame: pl.DataFrame, labels: Sequence[str]) -> dict[str, pl.DataFrame]:
    """Return the rows of each recognizer (and place), by what they are called."""
    return {", ".join(map(str, key)): part for key, part in frame.group_by(labels, maintain_order=True)}


def _by(frame: pl.DataFrame, column: str) -> dict[str, dict[str, Any]]:
    return {row[column]: row for row in frame.iter_rows(named=True)}


def _cell(row: Mapping[str, Any] | None, measure: str, ends: str = "") -> Cell | None:
    """Return a measure with its limits, whose columns start with `ends`."""
    if row is None or row[measure] is None:
        return None
    return Cell(row[measure], row[f"{ends}low"], row[f"{ends}high"])


def _series(
    frame: pl.DataFrame, labels: Sequence[str], names: Sequence[str], measure: str
) -> tuple[Series, ...]:
    parts = {who: _by(rows, "name") for who, rows in _parts(frame, labels).items()}
    return tuple(
        Series(who, tuple(_cell(rows.get(name), measure, f"{measure}_") for name in names))
        for who, rows in parts.items()
    )


def _drawn(found: Robustness, table: pl.DataFrame) -> tuple[str, pl.DataFrame]:
    """Return what to draw, and the rows that have it.

    Attacks are never normalized and have figures of their own. Anything else that cannot be normalized would be missed
    among the others, so then all are shown as they are.
    """
    attacks = {one.category for one in found.settings.values() if one.attack}
    normal = table.filter(~pl.col("category").is_in(attacks))
    if normal.height and normal[found.measure].null_count() == 0:
        return found.measure, normal
    return "werd", table


def _category_bars(found: Robustness) -> Iterator[Figure]:
    """Yield one set of bars: what each category costs each recognizer."""
    table = found.levels.filter(pl.col("level") == "category")
    if table.is_empty():
        return
    measure, table = _drawn(found, table)
    names = table["name"].unique(maintain_order=True).to_list()
    series = _series(table, found.labels, names, measure)
    yield Figure(
        "categories",
        f"What each category of disturbance adds ({MEASURES[measure]})",
        f"Bars of the percentage points that disturbances add to the word error rate{WEIGHED[measure]}, by category of"
        " disturbance and recognizer, with intervals.",
        Bars(tuple(map(spoken, names)), series, f"{MEASURES[measure]}, percentage points", "points"),
        "categories",
    )


def _heat_map(who: str, levels: pl.DataFrame, steps: Mapping[str, list[Setting]]) -> Figure:
    rows = _by(levels, "name")
    names = [name for name in steps if any(setting.scenario in rows for setting in steps[name])]
    names.sort(key=lambda name: steps[name][0].category)
    cells: dict[tuple[str, str], dict[str, Any]] = {}
    for name in names:
        for step, setting in enumerate(steps[name], start=1):
            if setting.scenario in rows:
                numbered = step if len(steps[name]) > 1 else ONE_SETTING
                column = numbered if setting.severity is None else setting.severity
                cells[name, str(column)] = rows[setting.scenario]
    used = {column for _, column in cells}
    columns = [*sorted(used - {ONE_SETTING}, key=int), *sorted(used & {ONE_SETTING})]
    titles = {"wer": "WER", "werd": "added (WERD)", "nwerd": "weighed (NWERD)"}
    known = {m: title for m, title in titles.items() if any(row[m] is not None for row in rows.values())}
    worst = max(rows.values(), key=lambda row: row["wer"] or 0.0)
    highest = ""
    if worst["wer"] is not None:
        highest = f"; the highest, {100 * worst['wer']:.0f} %, under {worst['name']}"
    values = {
        measure: tuple(
            tuple(_cell(cells.get((name, column)), measure, f"{measure}_") for column in columns)
            for name in names
        )
        for measure in known
    }
    categories = tuple(spoken(steps[name][0].category) for name in names)
    return Figure(
        f"heat-map-{who}",
        f"{who}: every disturbance",
        f"Error rates of {who} by perturbation and severity{highest}.",
        HeatMap(tuple(names), categories, tuple(columns), known, values),
        "scenarios",
    )


def _curves(
    id_: str,
    title: str,
    several: Mapping[str, list[Setting]],
    lines: Mapping[str, Mapping[str, Mapping[str, Any]]],
    table: str,
    measure: str = "wer",
) -> Figure:
    """Return a panel for every perturbation, a line for each of `lines`: {label: {scenario: row}}.

    Error rates begin with that of clean speech; what is added to it (`werd`, `nwerd`) begins with the mildest setting.
    """
    rates = measure == "wer"
    panels = []
    for name, settings in several.items():
        scenarios = [*([CLEAN] if rates else []), *(setting.scenario for setting in settings)]
        steps = (_tick(setting, index) for index, setting in enumerate(settings))
        ticks = (*([CLEAN] if rates else []), *steps)
        ends = "" if rates else f"{measure}_"
        points = {
            label: tuple(_cell(rows.get(one), measure, ends) for one in scenarios)
            for label, rows in lines.items()
        }
        series = tuple(Series(label, some) for label, some in points.items() if any(some))
        by_value = all(setting.severity is None and setting.parameter for setting in settings)
        unit = settings[0].unit or settings[0].parameter
        panels.append((f"{name}, {unit}" if by_value else name, ticks, series))
    what = "word error rate" if rates else f"{MEASURES[measure]}, per cent"
    since = "clean speech" if rates else "the mildest"
    alt = (
        f"{'Word error rate' if rates else MEASURES[measure]} from {since} to the harshest setting of"
        f" {counted(len(panels), 'perturbation')}, a line for each of: {listed(lines, 12)}."
    )
    return Figure(id_, title, alt, Curves(tuple(panels), what), table)


def _tick(setting: Setting, index: int) -> str:
    if setting.severity is not None:
        return str(setting.severity)
    return f"{setting.value:g}" if setting.value is not None else str(index + 1)


def _perturbation_bars(found: Robustness) -> Iterator[Figure]:
    """Yield what each perturbation adds, over its severities, by recognizer (SRB's Figures 3, 9 and 10)."""
    table = found.levels.filter(pl.col("level") == "perturbation").sort("category", maintain_order=True)
    names = table["name"].unique(maintain_order=True).to_list()
    if len(names) < 2 or len(names) > MOST_BARS:
        return
    measure, table = _drawn(found, table)
    names = table["name"].unique(maintain_order=True).to_list()
    alt = (
        f"Bars of the {MEASURES[measure]} of every perturbation, averaged over its severities, by recognizer."
    )
    bars = Bars(
        tuple(names),
        _series(table, found.labels, names, measure),
        f"{MEASURES[measure]}, percentage points",
        "points",
    )
    title = f"What each perturbation adds ({MEASURES[measure]})"
    yield Figure("perturbations", title, alt, bars, "perturbations")


def _language_bars(found: Robustness) -> Iterator[Figure]:
    """Yield what each category adds in each language, of recognizers that were heard in several (SRB's Figure 6)."""
    if "language" not in found.labels:
        return
    table = found.levels.filter(pl.col("level").is_in(["category", "overall"]), pl.col("werd").is_not_null())
    heard = table.group_by("recognizer").agg(pl.col("language").n_unique())
    several = heard.filter(pl.col("language") > 1)["recognizer"].to_list()
    table = table.filter(pl.col("recognizer").is_in(several))
    shared = table.group_by("name").agg(pl.col("language").n_unique()).filter(pl.col("language") > 1)["name"]
    names = [name for name in table["name"].unique(maintain_order=True) if name in set(shared)]
    if not names:
        return
    alt = f"Bars of the WERD of {listed(several, 6)} by category of disturbance, a bar for each language."
    labels = tuple(OVERALL.get(name, spoken(name)) for name in names)
    bars = Bars(labels, _series(table, found.labels, names, "werd"), "WERD, percentage points", "points")
    yield Figure("languages", "Languages compared (WERD)", alt, bars, "categories")


def _group_bars(found: Robustness) -> Iterator[Figure]:
    """Yield LWERR on clean speech, by category and overall, for each attribute (SRB's Figures 7 and 12)."""
    attributes = found.groups["attribute"].unique(maintain_order=True).to_list()
    single = (pl.col("level") == "scenario") & (pl.col("name") != CLEAN)
    for attribute in attributes:
        rows = found.groups.filter(pl.col("attribute") == attribute, ~single)
        names = rows["name"].unique(maintain_order=True).to_list()
        names.sort(key=lambda name: (name in OVERALL, name != CLEAN))
        labels = [name for name in (*LABELS, "group") if name in rows.columns]
        if rows["group"].n_unique() == 1 and len(labels) > 1:
            labels.remove("group")
        series = _series(rows, labels, names, "lwerr")
        against = rows["against"].unique(maintain_order=True).to_list()
        over = f"{listed(rows['group'].unique(maintain_order=True).to_list(), 4)} over {listed(against, 4)}"
        alt = (
            f"Bars of the logarithm of the ratio of error rates, {over}, by category of disturbance and recognizer;"
            " above 0 the first of the two has more errors."
        )
        bars = Bars(
            tuple(OVERALL.get(name, spoken(name)) for name in names),
            series[:MOST_GROUP_SERIES],
            f"LWERR: log2 of the ratio of error rates, {over}",
            "ratio",
        )
        id_ = "groups" if len(attributes) == 1 else f"groups-{attribute}"
        yield Figure(id_, f"Gaps by {attribute} under disturbance (LWERR)", alt, bars, "groups")


MILLIONS = "parameters, millions"
SIZES = {
    "parameters": ("size", "Robustness by size", MILLIONS),
    "hours": ("training", "Robustness by training data", "hours of training data"),
}
"""Facts that are drawn where they are told: the figure, its title and its axis."""
ADDED = {"werd": "WERD, percentage points", "nwerd": "NWERD, percentage points (attacks: WERD)"}


def _facts(found: Robustness) -> Iterator[Figure]:
    """Yield what goes with robustness over recognizers (SRB's Figures 4 and 5), a language at a time."""
    places = [name for name in PLACES if name in found.pareto.columns]
    parts = found.pareto.partition_by(places, maintain_order=True) if places else [found.pareto]
    for part in (one for one in parts if one["recognizer"].n_unique() > 1):
        here = {name: part[name][0] for name in places}
        same = [pl.col(name) == value for name, value in here.items()]
        after = "".join(f"-{value}" for value in here.values()) if len(parts) > 1 else ""
        among = "".join(f" ({value})" for value in here.values())
        for fact, (id_, title, axis) in SIZES.items():
            rows = part.filter(pl.col("fact") == fact)
            if rows["value"].n_unique() < 2:
                continue
            lines = found.correlates.filter(pl.col("fact") == fact, *same)
            alt = f"A point for each recognizer, by {axis} and the errors that are added; lines by Theil and Sen."
            yield Figure(id_ + after, title + among, alt, _scatter(rows, axis, lines), "pareto")
        sized = part.filter(pl.col("fact") == "parameters", pl.col("family").is_not_null())
        for name, suffix in ((ALL, ""), (ATTACKED, "-attacks")):
            rows = sized.filter(pl.col("name") == name)
            rows = rows.filter(pl.col("value").n_unique().over("origin", "family") > 1)
            if rows.height:
                alt = f"A line for each family of recognizers, by parameters and what {OVERALL[name]} add."
                drawing = _family_lines(rows)
                yield Figure(
                    f"families{suffix}{after}", f"Size within a family{among}", alt, drawing, "within"
                )
        rows = part.filter(pl.col("fact") == "clean_wer")
        alt = "A point for each recognizer, by its errors on clean speech and those that disturbances add."
        yield Figure(f"pareto{after}", f"Accuracy and robustness{among}", alt, _front(rows), "pareto")
        kinds = found.families.filter(pl.col("fact") == "architecture", *same)
        if kinds["level"].n_unique() > 1:
            yield _architectures(kinds, f"architecture{after}", among)


def _kind(row: Mapping[str, Any]) -> str:
    """Return what a point is about: disturbances or attacks, and whether it was published."""
    return OVERALL[row["name"]] + (", published" if row["origin"] == PUBLISHED else "")


def _y_title(rows: pl.DataFrame) -> str:
    return ADDED["nwerd" if "nwerd" in rows["measure"].to_list() else "werd"]


def _scatter(rows: pl.DataFrame, axis: str, correlates: pl.DataFrame) -> Points:
    low, high = float(rows["value"].min()), float(rows["value"].max())  # type: ignore[arg-type]
    log = low > 0 and high / low >= 10
    lines = []
    for row in correlates.iter_rows(named=True):
        mine = rows.filter(pl.col("name") == row["name"], pl.col("origin") == row["origin"])["value"]
        ends = (float(mine.min()), float(mine.max()))  # type: ignore[arg-type]
        decade = row["scale"] == DECADE
        drawn = tuple(
            (x, 100.0 * (row["intercept"] + row["slope"] * (log10(x) if decade else x))) for x in ends
        )
        lines.append((_kind(row), drawn))
    scale = 1e-6 if axis == MILLIONS else 1.0
    return Points(
        tuple(scale * rows["value"]),
        tuple(100.0 * rows["estimate"]),
        tuple(_kind(row) for row in rows.iter_rows(named=True)),
        axis,
        _y_title(rows),
        names=tuple(rows["recognizer"]),
        lines=tuple((group, tuple((scale * x, y) for x, y in line)) for group, line in lines),
        log=log,
    )


def _family_lines(rows: pl.DataFrame) -> Points:
    rows = rows.with_columns(
        who=pl.col("family")
        + pl.when(pl.col("origin") == PUBLISHED).then(pl.lit(", published")).otherwise(pl.lit(""))
    ).sort("value", maintain_order=True)
    # Of several recognizers of one size the line takes the mean.
    means = rows.group_by(["who", "value"], maintain_order=True).agg(mean_of("estimate"))
    lines = tuple(
        (str(who), tuple(zip(1e-6 * own["value"], 100.0 * own["estimate"], strict=True)))
        for (who,), own in means.group_by(["who"], maintain_order=True)
    )
    return Points(
        tuple(1e-6 * rows["value"]),
        tuple(100.0 * rows["estimate"]),
        tuple(rows["who"]),
        MILLIONS,
        _y_title(rows),
        names=tuple(rows["recognizer"]),
        lines=lines,
        log=True,
    )


def _front(rows: pl.DataFrame) -> Points:
    groups = [
        _kind(row) + (", beaten by none" if row["optimal"] else "") for row in rows.iter_rows(named=True)
    ]
    return Points(
        tuple(100.0 * rows["value"]),
        tuple(100.0 * rows["estimate"]),
        tuple(groups),
        "word error rate on clean speech, per cent",
        _y_title(rows),
        names=tuple(rows["recognizer"]),
    )


def _architectures(rows: pl.DataFrame, id_: str, among: str) -> Figure:
    levels = rows["level"].unique(maintain_order=True).to_list()
    series = []
    for _, own in rows.group_by(["name", "origin"], maintain_order=True):
        cells = {
            row["level"]: Cell(row["median"], row["best"], row["worst"]) for row in own.iter_rows(named=True)
        }
        series.append(Series(_kind(own.row(0, named=True)), tuple(cells.get(level) for level in levels)))
    alt = "Bars of the median that disturbances and attacks add, by architecture; whiskers from the best to the worst."
    bars = Bars(tuple(levels), tuple(series), f"{_y_title(rows)}: median, from best to worst", "points")
    return Figure(id_, f"Robustness by architecture{among}", alt, bars, "families")
