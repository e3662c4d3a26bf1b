"""Can people who stutter use it? A search for stuttered test cases, an oracle and the kinds of fault (ASTER)."""

from voxaudit.audits.stutter.audit import Stutter, stutter
from voxaudit.audits.stutter.search import Settings
from voxaudit.audits.stutter.taxonomy import find_faults

__all__ = ["Settings", "Stutter", "find_faults", "stutter"]
