"""Gates: what a run must not exceed. A gate compares a number of a finding with a limit; it computes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from voxaudit.answer import Finding, Refusal, RefusedError
from voxaudit.audits.audit import find_audit
from voxaudit.config import WHOLE_RUN, Gate, Gates
from voxaudit.errors import VoxauditError, one_line
from voxaudit.render.document import GateResult
from voxaudit.run import Run
from voxaudit.wording import counted, percent

MEASURES = {
    "clean_wer": ("accuracy", "wer"),
    "worst_wer": ("accuracy", "worst_wer"),
    "category_nwerd": ("robustness", "worst_category_nwerd"),
    "worst_group_ratio": ("disparity", "worst_group_ratio"),
    "max_failures": ("accuracy", "failures"),
}
"""Gates of single recognizers, and the finding that each looks at: audit and measure."""

ABSENT = {
    "clean_wer": "there is no error rate on clean speech",
    "worst_wer": "there is no error rate on disturbed speech",
    "category_nwerd": "no category of disturbances has an NWERD; measure difficulties with `voxaudit quality RUN`",
    "worst_group_ratio": "no attribute was named whose groups could be compared",
    "max_failures": "nothing was heard",
    "differential": "no attribute was named whose groups could be compared",
}
"""Why there is no finding to look at."""


def judge(
    run: Run,
    findings: Sequence[Finding],
    gates: Gates,
    *,
    attributes: Sequence[str] = (),
    refusals: Mapping[str, Refusal] | None = None,
) -> tuple[GateResult, ...]:
    """Return what became of every gate: those of recognizers first, then those of the whole run.

    `refusals` say, by audit, why it could not answer at all.
    """
    why = {audit: refusal.text for audit, refusal in (refusals or {}).items()}
    results = [
        _recognizer(findings, name, kind, gate, why)
        for name in run.config["recognizers"]
        for kind, gate in gates.of(name).items()
        if kind not in WHOLE_RUN
    ]
    if "differential" in gates.common:
        results.append(_differential(findings, gates.common["differential"], why))
    if gates.baseline is not None:
        results.append(_baseline(run, gates.baseline, attributes))
    return tuple(results)


def failed(results: Sequence[GateResult]) -> str | None:
    """Return one line that names what failed, or None."""
    lost = [gate.sentence for gate in results if not gate.passed]
    return f"{len(lost)} of {len(results)} gates failed: {' '.join(lost)}" if lost else None


def _recognizer(
    findings: Sequence[Finding], name: str, kind: str, gate: Gate, why: Mapping[str, str]
) -> GateResult:
    id_ = f"{kind}/{name}"
    audit, measure = MEASURES[kind]
    finding = next((one for one in findings if _is(one, audit, measure) and one.recognizer == name), None)
    if finding is None:
        return _cannot(id_, f"{name}: {why.get(audit, ABSENT[kind])}", gate.limit)
    if finding.verdict == "refused":
        return _cannot(id_, finding.sentence, gate.limit, finding)
    value = {"point": finding.estimate, "lower": finding.low, "upper": finding.high}[gate.bound]
    said = finding.sentence.rstrip(".")
    if value is None:
        side = {"lower": "a lower limit", "upper": "an upper limit", "point": "a value"}[gate.bound]
        return _cannot(id_, f"{said}, without {side}", gate.limit, finding)
    passed = not value > gate.limit
    bound = "" if gate.bound == "point" else f" (its {gate.bound} limit counts)"
    limit = f"{gate.limit:g}"
    if finding.unit == "fraction":  # a difference of rates is in points, which have no sign of their own
        limit = f"{100 * gate.limit:.1f}" if measure.endswith("nwerd") else percent(gate.limit)
    return GateResult(
        name=id_,
        passed=passed,
        sentence=f"{said}; {kind} {'allows' if passed else 'allows only'} {limit}{bound}.",
        limit=gate.limit,
        estimate=value,
        finding=finding.id,
    )


def _is(finding: Finding, audit: str, measure: str) -> bool:
    """Say whether a finding is the one that a gate looks at: a rate is that of everybody on clean speech."""
    if finding.audit != audit or finding.measure != measure:
        return False
    return measure != "wer" or (finding.attribute is None and finding.scenario == "clean")


def _cannot(id_: str, why: str, limit: float | None, finding: Finding | None = None) -> GateResult:
    sentence = f"{id_} cannot be judged: {why.rstrip('.')}."
    about = None if finding is None else finding.id
    return GateResult(id_, passed=False, sentence=sentence, limit=limit, finding=about, judged=False)


def _differential(findings: Sequence[Finding], gate: Gate, why: Mapping[str, str]) -> GateResult:
    """Add up the comparisons that survive false-discovery control, over all attributes."""
    own = [one for one in findings if _is(one, "differential", "violations")]
    refused = next((one for one in own if one.verdict == "refused"), None)
    if refused is not None or not own:
        absent = why.get("differential", ABSENT["differential"])
        return _cannot("differential", absent if refused is None else refused.sentence, gate.limit, refused)
    count = int(sum(one.estimate or 0.0 for one in own))
    passed = not count > gate.limit
    sentence = (
        f"{counted(count, 'comparison')} of groups under disturbance {'is' if count == 1 else 'are'} significant;"
        f" differential {'allows' if passed else 'allows only'} {gate.limit:g}."
    )
    return GateResult("differential", passed, sentence, gate.limit, float(count), own[0].id)


def _baseline(run: Run, baseline: Path, attributes: Sequence[str]) -> GateResult:
    """Compare with an earlier run: nothing may be significantly worse."""
    try:
        answer = find_audit("compare").ask(baseline, run, attributes=tuple(attributes))
    except RefusedError as error:
        return _cannot("baseline", one_line(error.refusal.text, 300), 0.0)
    except VoxauditError as error:
        return _cannot("baseline", one_line(error, 300), 0.0)
    finding = next(one for one in answer.findings if one.measure == "regressions")
    if finding.verdict == "refused":
        return _cannot("baseline", finding.sentence, 0.0, finding)
    count = finding.estimate or 0.0
    sentence = f"Compared with {baseline.name}: {finding.sentence}"
    return GateResult("baseline", not count, sentence, 0.0, count, finding.id)
