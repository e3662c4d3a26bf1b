"""Severity curves: how the word error rate grows with what is done to the audio, and whether it does."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from voxaudit.audits.robustness.levels import Node, group_scenarios
from voxaudit.audits.robustness.resample import Resample, finite, limits
from voxaudit.audits.robustness.settings import Setting, by_harshness
from voxaudit.perturb import CLEAN

GROWS, FALLS, FLAT = "grows", "falls", "no trend shown"
FEW = "refused: fewer than five known speakers"


def curves(nodes: Mapping[str, Node], settings: Mapping[str, Setting]) -> list[list[Node]]:
    """Return, for every perturbation heard at several settings of a known order, its nodes from mild to harsh."""
    found = []
    for members in group_scenarios(nodes, settings).values():
        for names in members.values():
            ordered = by_harshness(settings[name] for name in names)
            if len(ordered) > 1:
                found.append([nodes[setting.scenario] for setting in ordered])
    return found


def curve_rows(
    curve: list[Node], clean: Node | None, settings: Mapping[str, Setting], resample: Resample, **labels: Any
) -> list[dict[str, Any]]:
    """Return the rows of a curve: step 0 is clean speech, then the settings from mild to harsh."""
    steps = [*([clean] if clean is not None else []), *curve]
    rows = []
    for step, node in enumerate(steps, start=0 if clean is not None else 1):
        low, high = node.limits("wer", resample)
        own = settings[node.name]
        rows.append(
            {
                **labels,
                "perturbation": settings[curve[0].name].perturbation,
                "step": step,
                "scenario": node.name,
                "severity": own.severity,
                "parameter": own.parameter if node.name != CLEAN else None,
                "value": own.value,
                "wer": finite(node["wer"][0]),
                "wer_low": low,
                "wer_high": high,
            }
        )
    return rows


def trend_row(
    curve: list[Node], settings: Mapping[str, Setting], resample: Resample, **labels: Any
) -> dict[str, Any]:
    """Return whether the word error rate grows along a curve, beyond what other speakers could turn round.

    `slope` is the least-squares slope of WER a step. `reversals` names the steps at which WER falls with an interval
    below zero, at the confidence divided by the number of steps.
    """
    rates = np.stack([node["wer"] for node in curve])
    steps = np.arange(len(curve)) - (len(curve) - 1) / 2.0
    slope = steps @ rates / float(steps @ steps)
    speakers = min(node.speakers for node in curve)
    low, high = resample.limits(slope, speakers)
    verdict = FEW if low is None or high is None else GROWS if low > 0 else FALLS if high < 0 else FLAT
    reversals = []
    strict = 1.0 - (1.0 - resample.confidence) / (len(curve) - 1)
    for mild, harsh in pairwise(curve):
        _, top = limits(harsh["wer"] - mild["wer"], speakers, strict)
        if top is not None and top < 0.0:
            reversals.append(f"{mild.name} to {harsh.name}")
    return {
        **labels,
        "perturbation": settings[curve[0].name].perturbation,
        "steps": len(curve),
        "slope": finite(slope[0]),
        "slope_low": low,
        "slope_high": high,
        "verdict": verdict,
        "reversals": reversals,
    }
