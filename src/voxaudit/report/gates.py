"""Gates: what a run must not exceed. A gate compares a number of a finding with a limit; it computes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from voxaudit.answer import Finding, Refusal, RefusedError
from voxaudit.audits.audit import find_audit
from voxaudit.config import GATES, WHOLE_RUN, Gate, Gates
from voxaudit.errors import VoxauditError, one_line
from voxaudit.render.document import GateResult
from voxaudit.run import Run
from voxaudit.wording import counted, percent


def judge(
    run: Run,
    findings: Sequence[Finding],
    gates: Gates,
    *,
    attributes: Sequence[str] = (),
    refusals: Mapping[str, Refusal] | None = None,
) -> tuple[GateResult, ...]:
    """Return what became of every gate: those of recognizers first, then those of the whole run.

    `refusals` say, by audit, why it could not answer at all. What cannot be judged does not fail, unless gates are
    strict or a recognizer it is about never answered.
    """
    why = {audit: refusal.text for audit, refusal in (refusals or {}).items()}
    names = list(run.config["recognizers"])
    results = [
        _settled(_recognizer(findings, name, kind, gate, why), gates, findings, [name])
        for name in names
        for kind, gate in gates.of(name).items()
        if kind not in WHOLE_RUN
    ]
    whole = []
    if "differential" in gates.common:
        whole.append(_differential(findings, gates.common["differential"], why))
    if gates.baseline is not None:
        whole.append(_baseline(run, gates.baseline, attributes))
    return (*results, *(_settled(one, gates, findings, names) for one in whole))


def failed(results: Sequence[GateResult]) -> str | None:
    """Return one line that names what failed, or None."""
    return _named(results, "FAIL", "failed")


def not_judged(results: Sequence[GateResult]) -> str | None:
    """Return one line that names what could not be judged, or None."""
    return _named(results, "not judged", "not judged")


def _named(results: Sequence[GateResult], outcome: str, word: str) -> str | None:
    own = [gate.sentence for gate in results if gate.outcome == outcome]
    return f"{len(own)} of {counted(len(results), 'gate')} {word}: {' '.join(own)}" if own else None


def _settled(
    result: GateResult, gates: Gates, findings: Sequence[Finding], names: Sequence[str]
) -> GateResult:
    """Return what becomes of a gate that was not judged: one of a recognizer that never answered is lost."""
    if result.judged:
        return result
    silent = next(
        (
            one
            for one in findings
            if _is(one, "accuracy", "failures") and one.recognizer in names and one.estimate == 1.0
        ),
        None,
    )
    if silent is not None:
        return replace(result, passed=False, sentence=silent.sentence, finding=silent.id, judged=True)
    if gates.strict:
        sentence = f"{result.sentence.rstrip('.')}; strict gates fail where they cannot be judged."
        return replace(result, passed=False, sentence=sentence)
    return result


def _recognizer(
    findings: Sequence[Finding], name: str, kind: str, gate: Gate, why: Mapping[str, str]
) -> GateResult:
    id_ = f"{kind}/{name}"
    audit, measure = GATES[kind].audit, GATES[kind].measure
    own = [one for one in findings if _is(one, audit, measure) and one.recognizer == name]
    finding = max(own, key=lambda one: one.estimate or 0.0) if measure.startswith("*") and own else None
    finding = finding or next(iter(own), None)
    if finding is None:
        return _cannot(
            id_, f"{name}: {kind} cannot be judged: {why.get(audit, GATES[kind].absent)}", gate.limit
        )
    if finding.verdict == "refused":
        return _cannot(id_, finding.sentence, gate.limit, finding)
    value = {"point": finding.estimate, "lower": finding.low, "upper": finding.high}[gate.bound]
    said = finding.sentence.rstrip(".")
    if value is None:
        side = {"lower": "a lower limit", "upper": "an upper limit", "point": "a value"}[gate.bound]
        return _cannot(id_, f"{said}, without {side} that {kind} could judge", gate.limit, finding)
    passed = not value > gate.limit
    bound = "" if gate.bound == "point" else f" (its {gate.bound} limit counts)"
    limit = f"{gate.limit:g}"
    if finding.unit == "fraction":  # a difference of rates is in points, which have no sign of their own
        points = measure.endswith(("nwerd", "calibration_error"))
        limit = f"{100 * gate.limit:.1f}" if points else percent(gate.limit)
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
    fits = finding.measure.endswith(measure[1:]) if measure.startswith("*") else finding.measure == measure
    if finding.audit != audit or not fits:
        return False
    return measure != "wer" or (finding.attribute is None and finding.scenario == "clean")


def _cannot(id_: str, why: str, limit: float | None, finding: Finding | None = None) -> GateResult:
    about = None if finding is None else finding.id
    return GateResult(id_, None, f"{why.rstrip('.')}.", limit, finding=about, judged=False)


def _differential(findings: Sequence[Finding], gate: Gate, why: Mapping[str, str]) -> GateResult:
    """Add up the comparisons that survive false-discovery control, over all attributes."""
    own = [one for one in findings if _is(one, "differential", "violations")]
    refused = next((one for one in own if one.verdict == "refused"), None)
    if refused is not None or not own:
        absent = f"differential cannot be judged: {why.get('differential', GATES['differential'].absent)}"
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
    except VoxauditError as error:
        text = error.refusal.text if isinstance(error, RefusedError) else error
        return _cannot("baseline", f"baseline cannot be judged: {one_line(text, 300)}", 0.0)
    finding = next(one for one in answer.findings if one.measure == "regressions")
    sentence = f"Compared with {baseline.name}: {finding.sentence}"
    if finding.verdict == "refused":
        return _cannot("baseline", sentence, 0.0, finding)
    count = finding.estimate or 0.0
    return GateResult("baseline", not count, sentence, 0.0, count, finding.id)
