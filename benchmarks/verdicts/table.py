"""The figures as Markdown: the worst world of every verdict, power beside simple tests, and all cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.pages import fill
from benchmarks.verdicts.experiment import FIRST_SCREEN, Experiment, Tally, Verdict
from benchmarks.verdicts.meaning import MEANING
from benchmarks.verdicts.resampled import ABOUT, AS_THEY_ARE
from benchmarks.verdicts.results import Results
from benchmarks.verdicts.world import Setting
from benchmarks.verdicts.worlds import WORLDS

FAR = 3.0
"""Monte Carlo standard errors above nominal beyond which a rate is marked."""
EARLIER = Path(__file__).resolve().parents[1] / "results" / "verdicts_earlier.json"
"""Power of the version before, in the same worlds."""


def percent(share: float) -> str:
    """Return a share in percent, with a decimal where it is small."""
    return f"{100 * share:.1f}" if share < 0.0995 else f"{100 * share:.0f}"


def size_of(experiment: Experiment, where: Setting) -> str:
    """Return a size as the experiment counts it: both groups of speakers, or the first number."""
    if experiment.units == "speakers":
        return where.size
    return str(where.people if experiment.units.startswith("cases") else where.sizes[0])


def place_of(experiment: Experiment, where: Setting) -> str:
    """Return a world and its size; the size alone where there is one world."""
    size = size_of(experiment, where)
    return f"{where.world}, {size}" if len(experiment.worlds) > 1 else size


@dataclass(frozen=True)
class Found:
    """What was found of a verdict in one setting."""

    where: Setting
    tally: Tally


def measured(experiment: Experiment, verdict: Verdict, results: Results) -> list[Found]:
    """Return what is on file of a verdict where nothing is to be found."""
    found = []
    for where in experiment.settings:
        tally = results.tallies(experiment, where, experiment.null).get(verdict.id)
        if tally is not None and tally.audits:
            found.append(Found(where, tally))
    return found


def worst(verdict: Verdict, found: Sequence[Found]) -> Found | None:
    """Return the setting with the highest rate of false alarms, among those that answer at all."""
    answered = [one for one in found if one.tally.answered]
    return max(answered, key=lambda one: one.tally.rate(verdict)[0], default=None)


def rate_cell(tally: Tally, verdict: Verdict) -> str:
    """Return a rate with its Monte Carlo interval, in bold where it is far above nominal."""
    rate, low, high = (percent(one) for one in tally.rate(verdict))
    text = f"{rate} ({low} to {high})"
    return f"**{text}**" if tally.excess(verdict) > FAR else text


def nominal_of(verdict: Verdict) -> str:
    """Return what is promised, and of what."""
    return f"{percent(verdict.nominal)} {'in an audit' if verdict.over == 'any' else 'each'}"


def worst_table(experiments: Iterable[Experiment], results: Results, *, first: bool) -> str:
    """Return a line per verdict: its worst world with its rate."""
    lines = [
        "| verdict | what is printed | nominal, % | worst, % (Monte Carlo interval) | in | audits | median cell, % |",
        "|---|---|---|---|---|---|---|",
    ]
    for experiment in experiments:
        if (experiment.audits == FIRST_SCREEN) != first:
            continue
        for verdict in experiment.verdicts:
            found = measured(experiment, verdict, results)
            top = worst(verdict, found)
            head = f"| `{verdict.id}` | {verdict.says} | {nominal_of(verdict)}"
            if top is None:
                lines.append(f"{head} | {'always refused' if found else 'not measured'} | | | |")
                continue
            rates = sorted(one.tally.rate(verdict)[0] for one in found if one.tally.answered)
            middle = percent(rates[len(rates) // 2])
            lines.append(
                f"{head} | {rate_cell(top.tally, verdict)} | {place_of(experiment, top.where)}"
                f" | {top.tally.audits:,} x {len(found)} | {middle} |"
            )
    return "\n".join(lines)


def above(experiments: Iterable[Experiment], results: Results) -> str:
    """Return the list of rates that lie far above nominal, with the reasons that are known."""
    lines = []
    for experiment in experiments:
        for verdict in experiment.verdicts:
            far = [
                one
                for one in measured(experiment, verdict, results)
                if one.tally.answered and one.tally.excess(verdict) > FAR
            ]
            if not far:
                continue
            far.sort(key=lambda one: -one.tally.rate(verdict)[0])
            shown = [
                f"{percent(one.tally.rate(verdict)[0])} % in {place_of(experiment, one.where)}"
                for one in far[:4]
            ]
            more = f" and in {len(far) - 4} more cells" if len(far) > 4 else ""
            why = [one.why for one in verdict.known if any(one.speaks_of(each.where) for each in far)]
            reason = " ".join(dict.fromkeys(why)) or "No reason is known yet."
            lines.append(
                f"- `{verdict.id}`, nominal {percent(verdict.nominal)} %: {', '.join(shown)}{more}. {reason}"
            )
    return "\n".join(lines) or "None."


def power_tables(experiments: Iterable[Experiment], results: Results, earlier: Results) -> tuple[str, str]:
    """Return power, a verdict and setting a line: beside the version before and simple tests, and where neither is.

    The power of a simple test that does not hold its level somewhere is in brackets.
    """
    compared = [
        "| verdict | in | now, % | before, % | simple test, % | its false alarms in its worst world, % |",
        "|---|---|---|---|---|---|",
    ]
    alone = ["| verdict | in | power, % |", "|---|---|---|"]
    for experiment in experiments:
        for verdict in experiment.verdicts:
            for where, effects in experiment.powers:
                now = _powers(experiment, verdict, where, effects, results)
                if not now:
                    continue
                before = _powers(experiment, verdict, where, effects, earlier)
                beside, alarms = [], []
                for other in verdict.others():
                    power = _powers(experiment, other, where, effects, results)
                    top = worst(other, measured(experiment, other, results))
                    valid = top is None or top.tally.excess(other) <= FAR
                    beside.append(power if valid or not power else f"({power})")
                    alarms.append("" if top is None else percent(top.tally.rate(other)[0]))
                cells = [f"`{verdict.id}`", place_of(experiment, where), now]
                if before or beside:
                    cells += [before, "; ".join(beside), "; ".join(alarms)]
                (compared if before or beside else alone).append(f"| {' | '.join(cells)} |")
    return "\n".join(compared), "\n".join(alone)


def _powers(
    experiment: Experiment, verdict: Verdict, where: Setting, effects: Sequence[float], results: Results
) -> str:
    """Return how often a verdict is claimed at each planted size, in percent."""
    parts = []
    for effect in effects:
        tally = results.tallies(experiment, where, effect).get(verdict.id)
        if tally is not None and tally.audits:
            planted = "" if where.world in AS_THEY_ARE.values() else f"{effect:g}: "
            parts.append(f"{planted}{percent(tally.rate(verdict)[0])}")
    return ", ".join(parts)


def simple_tests(experiments: Iterable[Experiment]) -> str:
    """Return which simple test stands beside which verdict."""
    return "\n".join(
        f"- `{verdict.id}`: {', '.join(verdict.beside)}."
        for experiment in experiments
        for verdict in experiment.verdicts
        if verdict.beside
    )


def all_cells(experiments: Iterable[Experiment], results: Results) -> str:
    """Return every rate, an experiment a block that can be opened: worlds down, sizes across."""
    lines = []
    for experiment in experiments:
        lines += [
            f"<details><summary>{experiment.name[0].upper()}{experiment.name[1:]}</summary>",
            "",
            f"Sizes are {experiment.units}. Planted for power: {experiment.planted}.",
            "",
        ]
        for verdict in experiment.verdicts:
            found = measured(experiment, verdict, results)
            audits = "/".join(f"{one:,}" for one in sorted({each.tally.audits for each in found}))
            lines += [
                f"`{verdict.id}` ({verdict.by}; nominal {nominal_of(verdict)}; {audits or 'no'} audits a cell)."
                f" {MEANING[verdict.id]}",
                "",
            ]
            if found:
                lines += [*_matrix(experiment, verdict, found), ""]
        lines += ["</details>", ""]
    return "\n".join(lines)


def _matrix(experiment: Experiment, verdict: Verdict, found: Sequence[Found]) -> list[str]:
    sizes = list(dict.fromkeys(size_of(experiment, one.where) for one in found))
    worlds = list(dict.fromkeys(one.where.world for one in found))
    cells = {(one.where.world, size_of(experiment, one.where)): one.tally for one in found}
    lines = [f"| world | {' | '.join(sizes)} |", "|---" * (len(sizes) + 1) + "|"]
    for world in worlds:
        row = []
        for size in sizes:
            tally = cells.get((world, size))
            if tally is None:
                row.append("")
            elif not tally.answered:
                row.append("refused")
            else:
                rate = percent(tally.rate(verdict)[0])
                row.append(f"**{rate}**" if tally.excess(verdict) > FAR else rate)
        lines.append(f"| {world} | {' | '.join(row)} |")
    return lines


def worlds_table() -> str:
    """Return what the worlds are."""
    lines = ["| world | what is hard about it |", "|---|---|"]
    lines += [f"| {name} | {world.about} |" for name, world in WORLDS.items()]
    lines += [f"| {name} | {about} |" for name, about in ABOUT.items()]
    return "\n".join(lines)


def facts(experiments: Iterable[Experiment], results: Results) -> str:
    """Return when and where the figures were made, and how many audits that took."""
    names = {one.name for one in experiments}
    cells = [cell for key, cell in results.cells.items() if key[0] in names]
    if not cells:
        return "Nothing was measured yet."
    dates = sorted({cell.date for cell in cells})
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    audits = sum(cell.audits for cell in cells)
    hours = sum(cell.seconds for cell in cells) / 3600.0
    machines = "; ".join(sorted({cell.machine for cell in cells}))
    sums = f"{audits:,} made-up audits in {len(cells):,} cells, {hours:.1f} hours of one core"
    return f"Measured {when}: {sums} ({machines})."


def write_page(page: Path, experiments: Sequence[Experiment], results: Results, earlier: Results) -> None:
    """Write the tables of docs/verdicts.md."""
    text = page.read_text(encoding="utf-8")
    compared, alone = power_tables(experiments, results, earlier)
    parts = {
        "facts": facts(experiments, results),
        "worlds": worlds_table(),
        "first": worst_table(experiments, results, first=True),
        "others": worst_table(experiments, results, first=False),
        "above": above(experiments, results),
        "power": compared,
        "power_alone": alone,
        "simple": simple_tests(experiments),
        "cells": all_cells(experiments, results),
    }
    for name, content in parts.items():
        text = fill(text, name, content)
    page.write_text(text, encoding="utf-8")
