"""Verdicts: a word, a shape and a color, so that none of them is the only signal; and findings as a list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from voxaudit.answer import Finding, Refusal, Verdict
from voxaudit.errors import arguments_named
from voxaudit.render.document import VERDICT_WORDS, GateResult
from voxaudit.render.escape import attribute, fold, marked, shorten, text

FIRST = 10
"""Findings in sight; the rest folds away."""
NONE: Mapping[str, str] = {}

# Shapes on a grid of 16: filled diamond, empty circle, equals sign, half circle, crossed circle, bar, tick, cross.
_SHAPES = {
    "shown": '<path d="M8 1.5 14.5 8 8 14.5 1.5 8Z" fill="currentColor"/>',
    "not_shown": '<circle cx="8" cy="8" r="5.5" fill="none" stroke="currentColor" stroke-width="2"/>',
    "alike": '<path d="M2.5 5.5h11M2.5 10.5h11" fill="none" stroke="currentColor" stroke-width="2.4"/>',
    "caution": '<circle cx="8" cy="8" r="5.5" fill="none" stroke="currentColor" stroke-width="2"/>'
    '<path d="M8 2.5a5.5 5.5 0 0 1 0 11Z" fill="currentColor"/>',
    "refused": '<circle cx="8" cy="8" r="5.5" fill="none" stroke="currentColor" stroke-width="2"/>'
    '<path d="M4 12 12 4" stroke="currentColor" stroke-width="2"/>',
    "measured": '<path d="M2 8h12M2 5v6M14 5v6" stroke="currentColor" stroke-width="2"/>'
    '<circle cx="8" cy="8" r="2.5" fill="currentColor"/>',
    "passed": '<path d="m2.5 8.5 3.5 4 7.5-9" fill="none" stroke="currentColor" stroke-width="2.4"/>',
    "failed": '<path d="m3 3 10 10M13 3 3 13" fill="none" stroke="currentColor" stroke-width="2.4"/>',
}


def sprite() -> str:
    """Return the shapes, once for the page."""
    symbols = "".join(
        f'<symbol id="i-{name}" viewBox="0 0 16 16">{shape}</symbol>' for name, shape in _SHAPES.items()
    )
    return f'<svg class="sprite" width="0" height="0" aria-hidden="true" focusable="false">{symbols}</svg>'


def badge(name: str, words: str, tip: str = "") -> str:
    """Return a badge: shape and (trusted) words in the color of a verdict or gate; `tip` is what a pointer reads."""
    title = f' title="{attribute(shorten(tip, 400))}"' if tip else ""
    return (
        f'<span class="badge v-{name}"{title}><svg class="icon" width="12" height="12" aria-hidden="true">'
        f'<use href="#i-{name}"/></svg>{words}</span>'
    )


def verdict_badge(verdict: Verdict) -> str:
    """Return the badge of a verdict."""
    return badge(verdict, VERDICT_WORDS[verdict])


def verdict_icon(verdict: Verdict) -> str:
    """Return the shape of a verdict alone, its word read aloud; what was only measured gets a plain mark."""
    if verdict == "measured":
        return '<span class="icon plain" aria-hidden="true"></span>'
    said = f'<span class="vh">{VERDICT_WORDS[verdict]}: </span>'
    shape = f'<use href="#i-{verdict}"/>'
    return f'<svg class="icon v-{verdict}" width="15" height="15" aria-hidden="true">{shape}</svg>{said}'


def gate_badge(gate: GateResult) -> str:
    """Return the badge of a gate; one that could not be judged says so."""
    kinds = {"pass": "passed", "FAIL": "failed", "not judged": "refused"}
    return badge(kinds[gate.outcome], gate.outcome)


def finding_list(findings: Sequence[Finding], first: int = FIRST, labels: Mapping[str, str] = NONE) -> str:
    """Return findings as a list: headlines and verdicts in sight, further ones folded away.

    `labels` are what reviewers said, by the id of a finding. Below it folds away how to ask for them again.
    """
    if not findings:
        return ""
    ranked = (
        sorted(findings, key=lambda one: (not one.headline, one.verdict != "shown"))
        if len(findings) > first
        else findings
    )
    claims = [one for one in ranked if one.headline or one.verdict != "measured"]
    told = (claims or ranked)[:first]
    rest = [one for one in ranked if not any(one is other for other in told)]
    more = "1 further finding" if len(rest) == 1 else f"{len(rest):,} further findings"
    folded = fold(more, _items(rest, labels)) if rest else ""
    return _items(told, labels) + folded + _commands(findings)


def _items(findings: Sequence[Finding], labels: Mapping[str, str]) -> str:
    items = "".join(
        f'<li class="finding">{_finding_badge(finding)}<div>{marked(finding.sentence)}'
        f"{reviewed(labels.get(finding.id, ''))}</div></li>"
        for finding in findings
    )
    return f'<ul class="findings">{items}</ul>'


def reviewed(said: str) -> str:
    """Return what reviewers said, to stand behind the claim that they judged."""
    return f' <span class="note">{marked(said, 500)}</span>' if said else ""


def _finding_badge(finding: Finding) -> str:
    tip = f"Ask again: {finding.command}" if finding.command else ""
    return badge(finding.verdict, VERDICT_WORDS[finding.verdict], tip)


def _commands(findings: Sequence[Finding]) -> str:
    """Return the commands that print the findings again, each once, folded away."""
    commands = dict.fromkeys(finding.command for finding in findings if finding.command)
    items = "".join(f"<li><code>{text(command, 600)}</code></li>" for command in commands)
    return fold("Ask again", items and f"<ul>{items}</ul>", "numbers again")


def refused_html(refusal: Refusal) -> str:
    """Return why something was refused, then what would enable it."""
    said = refusal.text + arguments_named(refusal.see)
    if not refusal.remedy:
        return marked(said)
    return f'{marked(said)}<div class="remedy"><b>To get it:</b> {marked(refusal.remedy)}</div>'
