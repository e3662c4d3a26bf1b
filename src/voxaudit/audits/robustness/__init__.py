"""Robustness: what disturbed speech costs a recognizer, by the measures of Speech Robust Bench (Shah et al. 2025)."""

from voxaudit.audits.robustness.audit import robustness
from voxaudit.audits.robustness.result import Refusal, Robustness

__all__ = ["Refusal", "Robustness", "robustness"]
