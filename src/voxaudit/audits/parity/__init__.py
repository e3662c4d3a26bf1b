"""Parity: responsible benchmarking of groups of speakers (Herron et al.), and what the data cannot support."""

from voxaudit.audits.parity.audit import parity
from voxaudit.audits.parity.checklist import Check
from voxaudit.audits.parity.findings import Findings
from voxaudit.audits.parity.measures import Measured, add_measures
from voxaudit.audits.parity.options import Caution, Columns, Refusal, Settings
from voxaudit.audits.parity.sources import audit_file

__all__ = [
    "Caution",
    "Check",
    "Columns",
    "Findings",
    "Measured",
    "Refusal",
    "Settings",
    "add_measures",
    "audit_file",
    "parity",
]
