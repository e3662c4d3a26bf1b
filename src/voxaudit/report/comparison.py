"""A comparison of two runs as a document: what got worse, what got better, what is a tie."""

from __future__ import annotations

from collections.abc import Sequence

from voxaudit.audits.compare.result import Comparison, Slice
from voxaudit.report.document import (
    Cell,
    Column,
    Document,
    Figure,
    Finding,
    Forest,
    ForestRow,
    GateResult,
    Refusal,
    Section,
    Table,
    Verdict,
)
from voxaudit.report.numbers import percent

GATE = "no significant regression"
_VERDICTS: dict[str, Verdict] = {
    "worse": "shown",
    "better": "shown",
    "tie": "not_shown",
    "undecided": "undecided",
}
_COLUMNS = (
    Column("recognizer", "recognizer"),
    Column("slice", "slice"),
    Column("wer_base", "WER base", "percent"),
    Column("wer_new", "WER new", "percent"),
    Column("difference", "difference, percentage points", "points"),
    Column("low", "from", "points"),
    Column("high", "to", "points"),
    Column("noise", "noise band, ± percentage points", "points"),
    Column("p", "p, adjusted", "p"),
    Column("verdict", "verdict"),
    Column("trials", "trials", "count"),
    Column("speakers", "speakers", "count"),
)


def gate(comparison: Comparison) -> GateResult:
    """Return the gate of a comparison: no slice is shown to be worse."""
    worst = comparison.regressions
    if not worst:
        return GateResult(GATE, True, "No slice is shown to be worse than in the base run.", 0.0, 0.0)
    said = "; ".join(_sentence(one, comparison) for one in worst[:3])
    more = f"; and {len(worst) - 3} further slices" if len(worst) > 3 else ""
    return GateResult(GATE, False, f"{said}{more}", 0.0, float(len(worst)))


def comparison_document(comparison: Comparison, base: str, new: str, notes: Sequence[str] = ()) -> Document:
    """Return the document of a comparison; `base` and `new` name the two sides."""
    sections = tuple(
        _section(name, [one for one in comparison.slices if one.recognizer == name], comparison)
        for name in comparison.recognizers
    )
    tested = sum(one.verdict != "undecided" for one in comparison.slices)
    return Document(
        title="Comparison of two runs",
        subtitle=f"{new} against {base}",
        summary=tuple(_summary(comparison)),
        sections=(*sections, _method(comparison, tested, notes)),
        gates=(gate(comparison),),
        facts=(
            ("base", base),
            ("new", new),
            *(
                (f"recognizer {mine}", f"compared with {theirs}")
                for mine, theirs in comparison.recognizers.items()
            ),
            ("trials compared", f"{comparison.pairs:,}"),
            ("trials only in the base", f"{comparison.only_base:,}"),
            ("trials only in the new run", f"{comparison.only_new:,}"),
            ("level", f"{comparison.alpha:g}, two-sided, for all {tested} slices together"),
            ("margin", f"{percent(comparison.margin)} of the words"),
        ),
    )


def _summary(comparison: Comparison) -> list[str]:
    lines = [_sentence(one, comparison) + "." for one in comparison.regressions[:8]]
    lines += [_sentence(one, comparison) + "." for one in comparison.improvements[:8]]
    left = len(comparison.regressions[8:]) + len(comparison.improvements[8:])
    if left:
        lines.append(f"{left} further slices differ; the tables have them.")
    ties = sum(one.verdict == "tie" for one in comparison.slices)
    undecided = sum(one.verdict == "undecided" for one in comparison.slices)
    if not lines:
        lines.append("Nothing is shown to have changed: every slice that can be judged is a tie.")
    elif ties:
        lines.append(
            "1 slice is a tie: its difference is within the noise."
            if ties == 1
            else f"{ties} slices are ties: their differences are within the noise."
        )
    if undecided:
        lines.append(
            f"Too few speakers to show any change: {undecided} slice{'' if undecided == 1 else 's'}."
        )
    return lines


def _sentence(one: Slice, comparison: Comparison) -> str:
    name = comparison.recognizers[one.recognizer]
    rates = f"WER {percent(one.wer_base)} to {percent(one.wer_new)}"
    change = "" if one.difference is None else f", {_points(one.difference)} percentage points"
    if one.low is not None and one.high is not None:
        change += f" ({_points(one.low)} to {_points(one.high)})"
    said = {
        "worse": "got worse",
        "better": "got better",
        "tie": "is a tie",
        "undecided": "cannot be judged",
    }[one.verdict]
    return f"{name} {said} on {one.spoken}: {rates}{change}"


def _points(fraction: float) -> str:
    return f"{100 * fraction:+.1f}"


def _section(name: str, slices: Sequence[Slice], comparison: Comparison) -> Section:
    known = [one for one in slices if one.difference is not None]
    table = Table(
        f"slices-{name}",
        f"All slices of {name}",
        _COLUMNS,
        tuple(
            (
                comparison.recognizers[one.recognizer],
                one.label,
                one.wer_base,
                one.wer_new,
                one.difference,
                one.low,
                one.high,
                one.noise,
                one.p,
                one.verdict,
                one.trials,
                one.speakers,
            )
            for one in slices
        ),
    )
    figure = Figure(
        f"differences-{name}",
        f"Change of the word error rate, {name}",
        f"Differences of WER between the two runs for {len(known)} slices, with 95 % intervals;"
        f" {sum(one.verdict == 'worse' for one in known)} are shown to be worse,"
        f" {sum(one.verdict == 'better' for one in known)} better.",
        Forest(
            tuple(
                ForestRow(
                    one.label,
                    Cell(one.difference, one.low, one.high),
                    one.verdict in ("worse", "better"),
                    one.verdict,
                )
                for one in known
            ),
            "WER new minus base, in percentage points (right: worse)",
            no_difference=0.0,
            log=False,
        ),
        table,
    )
    return Section(
        f"recognizer-{name}",
        name if comparison.recognizers[name] == name else f"{name} and {comparison.recognizers[name]}",
        findings=tuple(_finding(one, comparison) for one in slices),
        figures=(figure,) if known else (),
        tables=() if known else (table,),
        refusals=tuple(
            Refusal(
                one.label,
                f"{one.speakers} speakers can never show a change",
                "six speakers or more, the same in both runs",
            )
            for one in slices
            if one.verdict == "undecided"
        ),
    )


def _finding(one: Slice, comparison: Comparison) -> Finding:
    parts = ("compare", one.recognizer, one.scenario, one.attribute, one.group, "wer_difference")
    return Finding(
        id="/".join(part for part in parts if part is not None),
        audit="compare",
        verdict=_VERDICTS[one.verdict],
        sentence=_sentence(one, comparison) + ".",
        measure="wer_difference",
        estimate=one.difference,
        low=one.low,
        high=one.high,
        p=one.p,
        recognizer=one.recognizer,
        scenario=one.scenario,
        attribute=one.attribute,
        group=one.group,
        speakers=one.speakers,
        headline=one.verdict in ("worse", "better"),
    )


def _method(comparison: Comparison, tested: int, notes: Sequence[str]) -> Section:
    beyond = f" by more than {percent(comparison.margin)} of the words" if comparison.margin else ""
    return Section(
        "method",
        "How this was judged",
        lead=(
            f"Both runs heard the same utterances: {comparison.pairs:,} trials are compared in pairs, and speakers are"
            " the sample.",
            f"A slice is called worse or better where it differs{beyond} beyond what flipping the signs of whole"
            f" speakers' changes explains; p-values hold for all {tested} slices together. Two runs that differ only by"
            f" chance show a worse slice with probability {percent(comparison.alpha / 2)}.",
            "The noise band is how far the slices of two such runs stray at most, all together. Intervals are 95 % and"
            " of one slice alone.",
        ),
        notes=(*comparison.notes, *notes),
    )
