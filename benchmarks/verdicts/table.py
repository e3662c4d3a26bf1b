"""The figures as Markdown: false alarms and power, a verdict a row."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.verdicts.experiment import Experiment, Tally, Verdict
from benchmarks.verdicts.meaning import MEANING
from benchmarks.verdicts.results import Results

FAR = 3.0
"""Monte Carlo standard errors above nominal beyond which a rate is marked."""


def percent(share: float) -> str:
    """Return a share in percent, with a decimal where it is small."""
    return f"{100 * share:.1f}" if share < 0.0995 else f"{100 * share:.0f}"


def shown(tally: Tally, verdict: Verdict) -> str:
    """Return a rate with its Monte Carlo interval, in bold where it is far above nominal."""
    rate, low, high = tally.rate(verdict)
    text = f"{percent(rate)} ({percent(low)} to {percent(high)})"
    text = f"**{text}**" if tally.excess(verdict) > FAR else text
    several = verdict.over == "each" and tally.questions > 1.0
    return f"{text}; any of {tally.questions:.0f}: {percent(tally.any_rate()[0])}" if several else text


def power_text(experiment: Experiment, verdict: Verdict, results: Results) -> str:
    """Return how often an audit claims at each planted size, in percent."""
    parts = []
    for effect in experiment.effects:
        tally = results.tallies(experiment, experiment.power_at, effect).get(verdict.id)
        if tally is not None and tally.audits:
            parts.append(f"{effect:g}: {percent(tally.rate(verdict)[0])}")
    return ", ".join(parts)


def size_of(experiment: Experiment, setting: str) -> str:
    """Return a size as the experiment counts it: both groups of speakers, or the first number."""
    if experiment.units == "speakers":
        return setting
    first, second = setting.split(" + ")
    return str(int(first) + int(second)) if experiment.units.startswith("cases") else first


def cells_of(experiment: Experiment, verdict: Verdict, results: Results) -> list[str]:
    """Return the cells of a verdict's row: what it says, nominal, false alarms by setting, power."""
    nominal = f"{percent(verdict.nominal)} {'in an audit' if verdict.over == 'any' else 'each'}"
    false = []
    audits = set()
    for setting in experiment.settings:
        tally = results.tallies(experiment, setting, experiment.null).get(verdict.id)
        if tally is not None and tally.audits:
            audits.add(tally.audits)
            size = size_of(experiment, setting)
            false.append(f"{size}: {shown(tally, verdict) if tally.answered else 'always refused'}")
    count = "/".join(str(one) for one in sorted(audits))
    return [
        f"`{verdict.id}`",
        verdict.says,
        nominal,
        "<br>".join(false),
        count,
        power_text(experiment, verdict, results),
    ]


def markdown(experiments: Iterable[Experiment], results: Results) -> str:
    """Return the whole table, an experiment a block."""
    lines = []
    for experiment in experiments:
        place = size_of(experiment, experiment.power_at)
        lines += [
            f"### {experiment.name[0].upper()}{experiment.name[1:]}",
            "",
            f"Sizes are {experiment.units}. Planted: {experiment.planted} (power at {place}).",
            "",
            "| verdict | what is printed | nominal, % | false alarms, % (Monte Carlo interval) | audits | power, % |",
            "|---|---|---|---|---|---|",
        ]
        lines += [f"| {' | '.join(cells_of(experiment, one, results))} |" for one in experiment.verdicts]
        lines += ["", *(f"- `{one.id}` ({one.by}). {MEANING[one.id]}" for one in experiment.verdicts), ""]
    return "\n".join(lines)


def above(experiments: Iterable[Experiment], results: Results) -> str:
    """Return the list of rates that lie far above nominal, with the reasons that are known."""
    lines = []
    for experiment in experiments:
        for verdict in experiment.verdicts:
            places = []
            for setting in experiment.settings:
                tally = results.tallies(experiment, setting, experiment.null).get(verdict.id)
                if tally is not None and tally.excess(verdict) > FAR:
                    rate, low, high = (percent(one) for one in tally.rate(verdict))
                    places.append(f"{rate} % ({low} to {high}) at {size_of(experiment, setting)}")
            if places:
                why = verdict.exception or "No reason is known yet."
                lines.append(
                    f"- `{verdict.id}`, nominal {percent(verdict.nominal)} %: {', '.join(places)}. {why}"
                )
    return "\n".join(lines) or "None."
